/* SPDX-License-Identifier: MIT */
/*
 * Deferred work that arrives between the last element and the sleep of its thread: the thread must
 * not sleep. The system calls of thread.c pass through a hook, which adds that work.
 */
#include <errno.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

static long hooked_futex(void *word, int operation, uint32_t value);

#define syscall(number, word, operation, value, ...) hooked_futex(word, operation, value)
#include "recorder/core/thread.c"
#undef syscall

enum { ROUNDS = 100, TIMEOUT_S = 20 };

static void run_one(struct deferred *deferred);

static struct deferred elements[ROUNDS + 1];
static uint32_t nr_run;
static sem_t done;

static void run_one(struct deferred *deferred)
{
	CHECK(deferred == &elements[nr_run]);
	CHECK(is_deferred_thread);
	if (++nr_run == ROUNDS + 1)
		sem_post(&done);
}

/*
 * Each time before the thread sleeps, the next element arrives. The word has then changed, so the
 * kernel returns immediately.
 */
static long hooked_futex(void *word, int operation, uint32_t value)
{
	const struct timespec timeout = {.tv_sec = TIMEOUT_S};
	long ret;

	CHECK(word == &deferred_calls);
	if (operation == FUTEX_WAKE_PRIVATE) {
		CHECK(value == 1);
		return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
	}
	CHECK(operation == FUTEX_WAIT_PRIVATE);
	/* The main thread adds the first element. */
	if (!nr_run || nr_run > ROUNDS)
		return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
	CHECK(thread_defer(&elements[nr_run]) == 0);
	ret = syscall(SYS_futex, word, operation, value, &timeout, NULL, 0);
	CHECK(ret == -1 && errno == EAGAIN);
	return ret;
}

int main(void)
{
	struct timespec until;

	sem_init(&done, 0, 0);
	for (uint32_t i = 0; i <= ROUNDS; i++)
		elements[i].run = run_one;
	CHECK(thread_defer(&elements[0]) == 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2 * TIMEOUT_S;
	CHECK(sem_timedwait(&done, &until) == 0);
	CHECK(nr_run == ROUNDS + 1);
	return 0;
}
