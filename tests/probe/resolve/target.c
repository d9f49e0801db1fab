/* SPDX-License-Identifier: MIT */
/*
 * A program for tests of resolving, which also run it with probes: functions with arguments of many
 * types.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum color { RED = 1, GREEN = 7 };

struct item {
	int32_t number;
	char name[16];
	const char *text;
	struct item *next;
	unsigned int low : 3, high : 5;
	union {
		uint64_t whole;
		uint32_t half;
	};
	double weight;
};

struct pair {
	int32_t first, second;
};

struct large {
	int64_t values[5];
};

volatile uint64_t target_counter = 4711;
/* Each call writes another mark, so that no compiler merges two of these functions. */
volatile int target_mark;

__attribute__((noinline, noipa)) int target_scalars(int8_t small, uint16_t middle, int32_t number,
		uint64_t large, bool flag, enum color color)
{
	target_mark = 1;
	return small + middle + number + (int)large + flag + (int)color;
}

__attribute__((noinline, noipa)) double target_floats(float narrow, int between, double wide)
{
	target_mark = 2;
	return (double)narrow * between + wide;
}

__attribute__((noinline, noipa)) int64_t target_item(struct item *item, const char *text)
{
	int64_t sum = item->number;

	target_mark = 3;
	sum += (int64_t)strlen(text);
	sum += item->next ? item->next->number : 0;
	target_mark = (int)sum; /* line of the sum */
	return sum;
}

__attribute__((noinline, noipa)) int target_pair(struct pair pair, int last)
{
	target_mark = 4;
	return pair.first - pair.second + last;
}

__attribute__((noinline, noipa)) struct large target_many(
		int a, int b, int c, int d, int e, int f, int g, int64_t h)
{
	struct large large = {{a + b, c + d, e + f, g, h}};

	target_mark = 5;
	return large;
}

__attribute__((noinline, noipa)) static void target_static(const char *text)
{
	target_mark = 6 + *text;
}

int main(int argc, char **argv)
{
	struct item second = {.number = 20, .name = "second", .text = "two"};
	struct item first = {.number = -10,
			.name = "first",
			.text = "one",
			.next = &second,
			.low = 5,
			.high = 17,
			.whole = 0x1122334455667788,
			.weight = 2.5};
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	int letter = 0;

	/* Waits for the test, which sets probes first. */
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		letter = getchar();
	}
	for (long i = 0; i < rounds && letter != EOF; i++) {
		struct pair pair = {(int32_t)i, 3};

		target_scalars(-5, 60000, (int32_t)i, 1ull << 40, i & 1, GREEN);
		target_floats(1.5f, 2, 0.25);
		target_item(&first, argv[0] ? "hello" : "");
		target_pair(pair, 9);
		target_many(1, 2, 3, 4, 5, 6, 7, 8);
		target_static("x");
	}
	if (argc > 2) {
		puts("done");
		fflush(stdout);
		while (letter != EOF)
			letter = getchar();
	}
	return 0;
}
