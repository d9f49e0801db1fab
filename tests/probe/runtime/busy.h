/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROBE_RUNTIME_BUSY_H
#define TESTS_PROBE_RUNTIME_BUSY_H

/* Threads that call work() without a pause, beside the main program. */
#include <pthread.h>

#define BUSY_THREADS 2

static long stop, calls; /* the number of calls of work() is printed at the end */
static pthread_t busy_threads[BUSY_THREADS];

__attribute__((noinline)) long work(long n);
long work(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static void *busy(void *unused)
{
	long n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		n = work(n);
		for (volatile int i = 0; i < 2000; i++)
			;
	}
	__atomic_fetch_add(&calls, n, __ATOMIC_RELAXED);
	return unused;
}

static void busy_begin(void)
{
	for (int i = 0; i < BUSY_THREADS; i++)
		pthread_create(&busy_threads[i], NULL, busy, NULL);
}

static void busy_end(void)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < BUSY_THREADS; i++)
		pthread_join(busy_threads[i], NULL);
}

#endif
