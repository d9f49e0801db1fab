/* SPDX-License-Identifier: MIT */
/*
 * Threads that start and end operations in turns: all start, and then all end, the first one first.
 */
#include <pthread.h>
#include <sched.h>

#define THREADS 4
#define ROUNDS 5

static unsigned int turn;

__attribute__((noinline)) void operation_begin(long thread)
{
	__asm__ volatile("nop; nop; nop; nop; nop" ::"r"(thread));
}

__attribute__((noinline)) void operation_end(long thread)
{
	__asm__ volatile("nop; nop; nop; nop; nop" ::"r"(thread));
}

static void take_turn(unsigned int mine)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != mine)
		sched_yield();
}

static void *work(void *number)
{
	unsigned int mine = (unsigned int)(unsigned long)number, round;

	for (round = 0; round < ROUNDS; round++) {
		take_turn(round * 2 * THREADS + mine);
		operation_begin(mine);
		__atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
		take_turn((round * 2 + 1) * THREADS + mine);
		operation_end(mine);
		__atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned long i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
