/* SPDX-License-Identifier: MIT */
/* Calls a function faster than a recorder can write, and counts the calls itself. */
#include <stdio.h>
#include <stdlib.h>

static unsigned long calls;

__attribute__((noinline, noclone)) unsigned long overload_call(unsigned long value)
{
	calls++;
	return value * 3;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1, sum = 0;

	puts("ready");
	fflush(stdout);
	getchar();
	for (unsigned long i = 0; i < rounds; i++)
		sum += overload_call(i);
	printf("%lu\n", sum == rounds * (rounds - 1) / 2 * 3 ? calls : 0);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
