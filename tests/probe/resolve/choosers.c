/* SPDX-License-Identifier: MIT */
/*
 * An IFUNC (a function that a resolver chooses when the program is loaded), and calls of some
 * IFUNCs of libc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int choosers_mark;

__attribute__((noinline, noipa)) static int fast_way(int n)
{
	choosers_mark = n;
	return n + 1;
}

__attribute__((noinline, noipa)) static int slow_way(int n)
{
	choosers_mark = n + 1;
	return n + 1;
}

/* No processor has both. */
__attribute__((used)) static int (*choosers_choose(void))(int)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512er") && __builtin_cpu_supports("avx512vbmi2")
			? slow_way
			: fast_way;
}

int chosen_way(int n) __attribute__((ifunc("choosers_choose")));

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, sum = 0, letter = 0;
	char copy[32];

	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		letter = getchar();
	}
	for (int i = 0; i < rounds && letter != EOF; i++) {
		char text[] = "the needle ?";

		text[11] = (char)('a' + i);
		sum += chosen_way(i) + (int)strlen(text);
		memcpy(copy, text, (size_t)(12 + sum % 2));
	}
	if (argc > 2) {
		puts("done");
		fflush(stdout);
		while (letter != EOF)
			letter = getchar();
	}
	return sum + copy[0] < 0;
}
