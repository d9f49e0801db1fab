/* SPDX-License-Identifier: MIT */
/*
 * Litmus tests: two threads run one step each at the same moment, many times, on different
 * processors. A test counts the rounds with an outcome that the fences forbid. A correct program
 * has none on any machine, under any load. Without a fence, such outcomes occur if there are two
 * processors.
 */
#ifndef TESTS_LITMUS_H
#define TESTS_LITMUS_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum {
	LITMUS_ROUNDS = 100000,
	LITMUS_CPU_MS = 400,
	LITMUS_MS = 2500,
	LITMUS_SPINS = 2000,
	LITMUS_DISTANCES = 128
};

struct litmus {
	const char *name;
	void (*reset)(void); /* Before each round, by one thread. */
	/*
	 * Then by both: loads the words that are stored later, so that each store waits for the
	 * other processor.
	 */
	void (*touch)(void);
	void (*left)(void);
	void (*right)(void);
	bool (*is_forbidden)(void);
	bool aligns; /* The steps call litmus_align() themselves, where it matters. */
};

static const struct litmus *litmus_test;
static uint32_t litmus_begun, litmus_ended, litmus_here, litmus_round;
static bool litmus_is_over;

static inline void litmus_pause(unsigned int *spins)
{
	if (++*spins % LITMUS_SPINS == 0)
		sched_yield();
}

/*
 * Returns when the other thread has called it, too. One of the two returns some loops later, in
 * turns.
 */
static inline void litmus_align(bool is_right)
{
	uint32_t both = 2 * litmus_round + 2, half = LITMUS_DISTANCES / 2,
		 turn = litmus_round % half;
	uint32_t distance = is_right == (litmus_round / half % 2 != 0) ? turn : 0;
	unsigned int spins = 0;

	__atomic_add_fetch(&litmus_here, 1, __ATOMIC_SEQ_CST);
	while ((int32_t)(__atomic_load_n(&litmus_here, __ATOMIC_ACQUIRE) - both) < 0)
		litmus_pause(&spins);
	for (volatile uint32_t i = 0; i < distance; i++)
		;
}

static void litmus_pin(int which)
{
	static cpu_set_t all;
	cpu_set_t one;

	/* A thread inherits the processors of its creator, so only the first call reads them. */
	if (!CPU_COUNT(&all) && sched_getaffinity(0, sizeof(all), &all))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || which--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		(void)sched_setaffinity(0, sizeof(one), &one);
	}
}

static void *litmus_right(void *unused)
{
	(void)unused;
	litmus_pin(1);
	for (uint32_t round = 0;; round++) {
		unsigned int spins = 0;

		while (__atomic_load_n(&litmus_begun, __ATOMIC_ACQUIRE) == round)
			litmus_pause(&spins);
		if (litmus_is_over)
			return NULL;
		litmus_test->touch();
		if (!litmus_test->aligns)
			litmus_align(true);
		litmus_test->right();
		__atomic_store_n(&litmus_ended, round + 1, __ATOMIC_RELEASE);
	}
}

static inline int64_t litmus_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the number of forbidden outcomes. A slow machine runs fewer rounds. */
static uint32_t litmus_run(const struct litmus *test)
{
	int64_t until = litmus_ms(CLOCK_MONOTONIC) + LITMUS_MS,
		until_cpu = litmus_ms(CLOCK_THREAD_CPUTIME_ID) + LITMUS_CPU_MS;
	uint32_t seen = 0, round = 0;
	pthread_t thread;

	litmus_test = test;
	litmus_begun = litmus_ended = litmus_here = litmus_round = 0;
	litmus_is_over = false;
	litmus_pin(0);
	if (pthread_create(&thread, NULL, litmus_right, NULL))
		return UINT32_MAX;
	for (; round < LITMUS_ROUNDS &&
			(round % 256 ||
					(litmus_ms(CLOCK_MONOTONIC) < until &&
							litmus_ms(CLOCK_THREAD_CPUTIME_ID) <
									until_cpu));
			round++) {
		unsigned int spins = 0;

		test->reset();
		litmus_round = round;
		__atomic_store_n(&litmus_begun, round + 1, __ATOMIC_RELEASE);
		test->touch();
		if (!test->aligns)
			litmus_align(false);
		test->left();
		while (__atomic_load_n(&litmus_ended, __ATOMIC_ACQUIRE) == round)
			litmus_pause(&spins);
		seen += test->is_forbidden();
	}
	litmus_is_over = true;
	__atomic_store_n(&litmus_begun, round + 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	printf("%s: %u of %u rounds\n", test->name, seen, round);
	return seen;
}

/* Runs without a fence, to find whether this machine shows the outcome at present. */
static uint32_t litmus_x __attribute__((aligned(64))), litmus_y __attribute__((aligned(64)));
static uint32_t litmus_seen_x __attribute__((aligned(64))),
		litmus_seen_y __attribute__((aligned(64)));

static void litmus_plain_reset(void)
{
	__atomic_store_n(&litmus_x, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&litmus_y, 0, __ATOMIC_RELAXED);
}

static void litmus_plain_touch(void)
{
	(void)__atomic_load_n(&litmus_x, __ATOMIC_RELAXED);
	(void)__atomic_load_n(&litmus_y, __ATOMIC_RELAXED);
}

static void litmus_plain_left(void)
{
	__atomic_store_n(&litmus_x, 1, __ATOMIC_RELAXED);
	litmus_seen_y = __atomic_load_n(&litmus_y, __ATOMIC_RELAXED);
}

static void litmus_plain_right(void)
{
	__atomic_store_n(&litmus_y, 1, __ATOMIC_RELAXED);
	litmus_seen_x = __atomic_load_n(&litmus_x, __ATOMIC_RELAXED);
}

static bool litmus_plain_is_forbidden(void)
{
	return !litmus_seen_x && !litmus_seen_y;
}

static const struct litmus litmus_plain = {"without a fence (permitted)", litmus_plain_reset,
		litmus_plain_touch, litmus_plain_left, litmus_plain_right,
		litmus_plain_is_forbidden, false};

#endif /* TESTS_LITMUS_H */
