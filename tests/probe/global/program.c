/* SPDX-License-Identifier: MIT */
/*
 * What global probes are put into: calls with known arguments, in as many processes as are wanted, and a marker with a semaphore. Knows
 * nothing of SIDE, and says at its end what it has done.
 *
 *	program ROUNDS [CHILDREN] [wait]	wait: for a line on standard input before each turn, and end when that ends
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct order {
	int32_t id;
	uint16_t table;
	int8_t mood;
	const char *dish;
	double hours;
	int64_t list[3];
};

int64_t orders_taken;
void serve(int64_t number);
int32_t cook(const struct order *order, int32_t guests, const char *who);
static volatile int64_t sink;

/* As <sys/sdt.h> makes it. */
__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.popsection\n");
volatile uint16_t served_semaphore __attribute__((section(".probes"), used));

__attribute__((noinline)) void serve(int64_t number)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b, _.stapsdt.base, served_semaphore\n"
			 ".asciz \"kitchen\"\n.asciz \"served\"\n.asciz \"-8@%0 4@$7\"\n"
			 "994: .balign 4\n.popsection\n" ::"r"(number));
	sink += number;
}

__attribute__((noinline)) int32_t cook(const struct order *order, int32_t guests, const char *who)
{
	sink += order->id + guests + *who;
	orders_taken += guests;
	return order->id * 10 - guests;
}

__attribute__((noinline)) int64_t deep(int64_t depth);

/* No compiler makes a loop of that. */
static int64_t (*volatile again)(int64_t depth) = deep;

int64_t deep(int64_t depth)
{
	sink += depth;
	return depth ? again(depth - 1) + depth : 0;
}

static void work(int rounds)
{
	static const struct order order = {.id = -3,
			.table = 65535,
			.mood = -7,
			.dish = "soup of the day",
			.hours = 1.5,
			.list = {7, -8, 9}};

	for (int i = 0; i < rounds; i++) {
		sink += cook(&order, i, "guest");
		serve(i);
	}
	sink += deep(3);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, children = argc > 2 ? atoi(argv[2]) : 0;
	char line[16];

	for (int i = 0; i < children; i++) {
		if (!fork()) {
			work(rounds);
			_exit(0);
		}
	}
	if (argc > 3 && !strcmp(argv[3], "wait")) {
		while (fgets(line, sizeof(line), stdin)) {
			work(rounds);
			printf("%ld %d\n", (long)orders_taken, served_semaphore);
			fflush(stdout);
		}
		return 0;
	}
	work(rounds);
	while (wait(NULL) > 0)
		;
	printf("%ld %d\n", (long)orders_taken, served_semaphore);
	return 0;
}
