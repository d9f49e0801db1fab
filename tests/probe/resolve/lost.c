/* SPDX-License-Identifier: MIT */
/*
 * A program that knows how often it calls its function step(), and loses some of that, or ought not to:
 *
 *	lost fork N	in N children of fork(), 10 times each, and in itself; getenv() is its own, as bash's is
 *	lost vfork N	in N children of vfork(), 5 times each, and in itself
 *	lost flood N	N times while the recorder sleeps
 *	lost all N	in 100 children of vfork(), and then flood N
 *	lost bursts N	N times again and again, until it is killed
 *
 * It says how often in children of vfork(), and how often elsewhere.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile unsigned long steps, borrowed;

__attribute__((noinline)) void step(void)
{
	steps = steps + 1;
}

/* Whoever calls it gets here, the recorder's library too. */
char *getenv(const char *name)
{
	size_t size = strlen(name);
	char **each;

	for (each = environ; each && *each; each++)
		if (!strncmp(*each, name, size) && (*each)[size] == '=')
			return *each + size + 1;
	return NULL;
}

static void forks(unsigned long children)
{
	unsigned long i, k;

	for (i = 0; i < children; i++) {
		step();
		if (!fork()) {
			for (k = 0; k < 10; k++)
				step();
			_exit(0);
		}
		wait(NULL);
		steps += 10;
	}
}

static void vforks(unsigned long children)
{
	unsigned long i, k;

	for (i = 0; i < children; i++) {
		step();
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
		if (!vfork()) {
			for (k = 0; k < 5; k++) {
				step();
				borrowed++;
			}
			_exit(0);
		}
		wait(NULL);
	}
}

static void flood(unsigned long times)
{
	kill(getppid(), SIGSTOP);
	while (times--)
		step();
	kill(getppid(), SIGCONT);
}

static void bursts(unsigned long times)
{
	unsigned long i;

	for (;;) {
		for (i = 0; i < times; i++)
			step();
		usleep(100000);
	}
}

int main(int argc, char **argv)
{
	unsigned long number = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "fork"))
		forks(number);
	if (!strcmp(argv[1], "vfork") || !strcmp(argv[1], "all"))
		vforks(!strcmp(argv[1], "all") ? 100 : number);
	if (!strcmp(argv[1], "flood") || !strcmp(argv[1], "all"))
		flood(number);
	if (!strcmp(argv[1], "bursts"))
		bursts(number);
	printf("%lu %lu\n", borrowed, steps - borrowed);
	return 0;
}
