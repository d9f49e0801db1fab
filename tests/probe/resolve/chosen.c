/* SPDX-License-Identifier: MIT */
/*
 * Calls of which filters select some: four threads, recursion, jumps out of calls.
 *
 *	chosen ROUNDS [wait]	waits for each byte of standard input, and runs once for it
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

static int rounds;
static __thread jmp_buf back;

__attribute__((noinline)) int chosen_work(int number)
{
	__asm__ volatile("");
	return number % 2 ? -number : number;
}

/* From `depth` down to 0. */
__attribute__((noinline)) int chosen_deep(int depth)
{
	__asm__ volatile("");
	return depth ? chosen_deep(depth - 1) + 1 : 0;
}

/* Every third call does not return. */
__attribute__((noinline)) int chosen_leap(int number)
{
	__asm__ volatile("");
	if (number % 3 == 0)
		longjmp(back, 1);
	return number;
}

static void *run(void *user)
{
	for (volatile int i = 0; i < rounds; i++) {
		chosen_work(i);
		chosen_deep(i % 10);
		if (!setjmp(back))
			chosen_leap(i);
	}
	return user;
}

static void run_all(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atoi(argv[1]) : 0;
	if (argc < 3) {
		run_all();
		return 0;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		run_all();
	return 0;
}
