/* SPDX-License-Identifier: MIT */
/*
 * A program that does on request what `side explore -p` shows: each line of its input is a request,
 * and it prints a line when the request is done.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The blocks stay reachable. */
static void *explored_blocks[4096];
static unsigned int explored_count;

static pthread_mutex_t explored_first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t explored_second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t explored_barrier;

__attribute__((noinline)) static void explored_keep(void *block)
{
	explored_blocks[explored_count++ % 4096] = block;
}

__attribute__((noinline)) static void explored_probe(void)
{
	explored_keep(malloc(16));
	pthread_mutex_lock(&explored_first);
	pthread_mutex_unlock(&explored_first);
}

__attribute__((noinline)) static void explored_leak(void)
{
	for (int i = 0; i < 7; i++)
		explored_keep(malloc(1111));
}

static void *explored_take_both(void *backwards)
{
	pthread_mutex_lock(backwards ? &explored_second : &explored_first);
	pthread_barrier_wait(&explored_barrier);
	pthread_mutex_lock(backwards ? &explored_first : &explored_second);
	return NULL;
}

static int explored_deadlock(void)
{
	static int backwards;
	pthread_t threads[2];

	return pthread_barrier_init(&explored_barrier, NULL, 2) ||
			pthread_create(&threads[0], NULL, explored_take_both, NULL) ||
			pthread_create(&threads[1], NULL, explored_take_both, &backwards);
}

int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "probe\n"))
			explored_probe();
		else if (!strcmp(line, "leak\n"))
			explored_leak();
		else if (strcmp(line, "deadlock\n") != 0 || explored_deadlock())
			return 1;
		puts("done");
	}
	_Exit(0);
}
