/* SPDX-License-Identifier: MIT */
/*
 * A program that counts its own calls of library functions and of its own functions, and prints the
 * numbers. With the argument "run" it runs until its standard input ends, with "burst" it makes many
 * calls at once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Local functions with a symbol and calls of their own. */
#ifdef __clang__
#define OWN static __attribute__((optnone))
#else
#define OWN static __attribute__((noipa))
#endif

static struct {
	unsigned long close_good, close_bad, strdup, qsort, compare, usleep;
	unsigned long outer, inner, recurse, doze;
} counts;

static void *volatile kept;

OWN int counted_compare(const void *one, const void *other)
{
	counts.compare++;
	return *(const int *)one - *(const int *)other;
}

OWN void counted_inner(void)
{
	counts.inner++;
	kept = strdup("a text");
	counts.strdup++;
	free(kept);
}

OWN void counted_outer(void)
{
	counts.outer++;
	for (int i = 0; i < 3; i++)
		counted_inner();
}

OWN int counted_recurse(int depth)
{
	counts.recurse++;
	return depth ? counted_recurse(depth - 1) + 1 : 0;
}

OWN void counted_doze(void)
{
	counts.doze++;
	counts.usleep++;
	usleep(2000);
}

OWN void counted_round(void)
{
	int numbers[] = {3, 1, 2, 5, 4};

	counted_outer();
	counts.qsort++;
	qsort(numbers, 5, sizeof(*numbers), counted_compare);
	(void)counted_recurse(4);
	counts.close_bad++;
	(void)!close(-1);
	counts.close_good++;
	(void)!close(dup(0));
	counted_doze();
}

static int counted_run_until_end(void)
{
	char byte;

	puts("ready");
	fflush(stdout);
	if (fcntl(0, F_SETFL, O_NONBLOCK))
		return 1;
	while (read(0, &byte, 1))
		counted_round();
	return 0;
}

/* More calls than the smallest ring can hold while the recorder reads it. */
static int counted_burst(void)
{
	for (int i = 0; i < 100000; i++)
		(void)counted_recurse(9);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return !strcmp(argv[1], "burst") ? counted_burst() : counted_run_until_end();
	for (int i = 0; i < 20; i++)
		counted_round();
	printf("{\"close\":%lu,\"close_bad\":%lu,\"strdup\":%lu,\"qsort\":%lu,\"usleep\":%lu,",
			counts.close_good + counts.close_bad, counts.close_bad, counts.strdup,
			counts.qsort, counts.usleep);
	printf("\"counted_compare\":%lu,\"counted_inner\":%lu,\"counted_outer\":%lu,",
			counts.compare, counts.inner, counts.outer);
	printf("\"counted_recurse\":%lu,\"counted_doze\":%lu,\"counted_round\":20}\n",
			counts.recurse, counts.doze);
	return 7;
}
