/* SPDX-License-Identifier: MIT */
/*
 * A program that calls functions of the C library through its PLT, with known numbers of calls: as
 * often as the first argument states. If there is a second argument, it first waits for a line.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int count;

/* A call, and the address, which some linkers put in another section than other entries. */
int (*volatile imported_taken)(int) = isatty;

__attribute__((noinline)) void imported_work(void)
{
	char name[32];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "/nowhere/%d", i);
		(void)!access(name, F_OK);
	}
	(void)isatty(count);
	(void)imported_taken(0);
}

static void *imported_run(void *argument)
{
	imported_work();
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	count = argc > 1 ? atoi(argv[1]) : 1;
	if (argc > 2) {
		puts("w");
		fflush(stdout);
		(void)getchar();
	}
	imported_work();
	if (pthread_create(&thread, NULL, imported_run, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
