/* SPDX-License-Identifier: MIT */
/* Programs started by posix_spawn() and system(), beside threads that never pause. Writes how often work() was called: spawn ROUNDS */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;
static long stop, calls;

__attribute__((noinline)) long work(long n)
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

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 10;
	char *words[] = {"true", NULL};
	pthread_t threads[2];
	int status, pid;

	for (int i = 0; i < 2; i++)
		pthread_create(threads + i, NULL, busy, NULL);
	while (rounds--) {
		if (posix_spawnp(&pid, "true", NULL, NULL, words, environ) ||
				waitpid(pid, &status, 0) != pid || status)
			return 1;
		if (system("true"))
			return 2;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", calls);
	return 0;
}
