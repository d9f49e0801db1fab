/* SPDX-License-Identifier: MIT */
/* Functions with all types of results. Waits as markers.c does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
	int32_t count;
	const char *name;
	struct node *next;
};

struct pair {
	int64_t left;
	double right;
};

struct large {
	int64_t numbers[5];
};

#define FUNCTION __attribute__((noinline, noipa))

FUNCTION struct node *make_node(int count)
{
	static struct node last = {.count = -7, .name = "last"},
			   node = {.name = "first", .next = &last};

	node.count = count;
	return &node;
}

FUNCTION struct pair make_pair(int number)
{
	return (struct pair){.left = number * 1000000000000, .right = number + 0.5};
}

FUNCTION struct large make_large(int number)
{
	return (struct large){.numbers = {number, 2, 3, number * 2, 5}};
}

FUNCTION void make_nothing(int number)
{
	__asm__ volatile("" ::"r"(number) : "memory");
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	int letter = 0;

	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		letter = getchar();
	}
	for (int i = 0; i < rounds && letter != EOF; i++) {
		if (make_node(i)->count != i || make_pair(i).right != i + 0.5 ||
				make_large(i).numbers[3] != 2 * i)
			return 1;
		make_nothing(i);
	}
	if (argc > 2) {
		puts("done");
		fflush(stdout);
		while (letter != EOF)
			letter = getchar();
	}
	return 0;
}
