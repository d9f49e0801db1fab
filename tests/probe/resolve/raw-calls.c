/* SPDX-License-Identifier: MIT */
/*
 * Calls functions of libc exactly as often as requested, and no other ones after main() has
 * started: it waits by bare system calls. Each line of standard input has the number of calls and
 * the number of new threads that make them at the same time; 0: the main thread.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 8

static long bare_call(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

__attribute__((noinline, noclone)) long own_function(long round)
{
	__asm__ volatile("" : "+r"(round));
	return round + 1;
}

static void *work(void *calls)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	long i;
	void *volatile memory;
	char byte;

	for (i = 0; i < (long)calls; i++) {
		own_function(i);
		memory = malloc(100);
		free(memory);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		(void)!read(-1, &byte, 1);
		(void)!write(-1, &byte, 1);
		poll(NULL, 0, 0);
	}
	return NULL;
}

static void work_in(long calls, long nr_threads)
{
	pthread_t threads[THREADS_MAX];
	long i;

	if (!nr_threads)
		work((void *)calls);
	for (i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, work, (void *)calls);
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	long numbers[2] = {0}, which = 0;
	char byte;

	while (bare_call(SYS_read, 0, (long)&byte, 1) == 1) {
		if (byte == ' ') {
			which = 1;
		} else if (byte != '\n') {
			numbers[which] = numbers[which] * 10 + byte - '0';
		} else {
			work_in(numbers[0], numbers[1]);
			numbers[0] = numbers[1] = which = 0;
			bare_call(SYS_write, 1, (long)&byte, 1);
		}
	}
	return 0;
}
