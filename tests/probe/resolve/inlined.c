/* SPDX-License-Identifier: MIT */
/* A function that exists only inlined in two others, once in each. */
#include <stdio.h>

#define FUNCTION __attribute__((noinline, noipa))

static volatile int total;

static inline __attribute__((always_inline)) void piece(int number)
{
	total += number * 3;
	total ^= 1;
}

FUNCTION static int first(int number)
{
	total++;
	piece(number + 10);
	return total;
}

FUNCTION static int second(int number)
{
	total--;
	piece(number + 20);
	return total;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		printf("%d\n", first(i) + second(i));
	return 0;
}
