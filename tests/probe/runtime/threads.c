/* SPDX-License-Identifier: MIT */
/*
 * Starts thousands of threads on few stacks, beside two that never pause: joined, detached and
 * canceled ones. Prints how often work() was called, and how many threads were started: threads
 * ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "busy.h"

#define AT_ONCE 6

static long ended;

static void *brief(void *kind)
{
	long n = work(0);

	if (kind)
		n = work(n);
	__atomic_fetch_add(&calls, n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
	while ((long)kind == 2) {
		pthread_testcancel();
		usleep(1000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[AT_ONCE];
	long rounds = argc > 1 ? atol(argv[1]) : 100, started = 0;

	busy_begin();
	for (long round = 0; round < rounds; round++) {
		for (long i = 0; i < AT_ONCE; i++, started++)
			pthread_create(threads + i, NULL, brief, (void *)(i % 3));
		for (long i = 0; i < AT_ONCE; i++) {
			if (i % 3 == 1) {
				pthread_detach(threads[i]);
				continue;
			}
			if (i % 3 == 2)
				pthread_cancel(threads[i]);
			pthread_join(threads[i], NULL);
		}
	}
	while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < rounds * (AT_ONCE - AT_ONCE / 3))
		usleep(1000);
	busy_end();
	printf("%ld %ld\n", calls, started + 2);
	return 0;
}
