/* SPDX-License-Identifier: MIT */
/*
 * Cached rows equal the rows that a search finds. The test walks random stacks with and without the
 * cache: so many that entries are replaced all the time, and in threads that replace each other's
 * entries.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/unwind/unwind.h"

#define MODULES 3
#define ROWS 5000
#define WORDS 512
#define MOST 64
#define TURNS 3000
#define THREADS 4

static struct unwind_row rows[MODULES][ROWS];
static struct unwind_module modules[MODULES];
static uint64_t known[UNWIND_KNOWN];

static uint64_t next_of(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 20;
}

static void make_modules(void)
{
	uint64_t state = 1;

	for (unsigned int m = 0; m < MODULES; m++) {
		uint32_t at = 0;

		for (unsigned int i = 0; i < ROWS; i++) {
			rows[m][i] = (struct unwind_row){.at = at,
					.distance = (int16_t)(next_of(&state) % 9),
					.kind = (uint8_t)(next_of(&state) % 8 ? UNWIND_STACK
									      : UNWIND_FRAME),
					.frame = next_of(&state) % 3 ? UNWIND_FRAME_SAME : 2};
			at += 1 + (uint32_t)(next_of(&state) % 40);
		}
		/* The last module is at the end of the address space of programs. */
		modules[m] = (struct unwind_module){.start = m + 1 < MODULES
						? UINT64_C(0x400000) << m * 10
						: (UINT64_C(1) << 47) - at,
				.rows = rows[m],
				.nr_rows = ROWS};
		modules[m].end = modules[m].start + at;
	}
}

static bool nothing(void *user, uint64_t address, uint64_t *value)
{
	(void)user;
	(void)address;
	(void)value;
	return false;
}

static uint64_t as_it_is(uint64_t address)
{
	return address;
}

static uint64_t some_address(uint64_t *state)
{
	const struct unwind_module *module = &modules[next_of(state) % MODULES];

	return module->start + next_of(state) % (module->end - module->start);
}

static void *compare(void *argument)
{
	const struct unwind_modules with = {.modules = modules, .nr = MODULES, .known = known},
				    without = {.modules = modules, .nr = MODULES};
	uint64_t stack[WORDS], state = (uintptr_t)argument, frames = 0;
	struct unwind_memory memory = {.low = (uintptr_t)stack,
			.high = (uintptr_t)(stack + WORDS),
			.read = nothing};

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		uint64_t right[MOST], got[MOST];
		struct unwind_state begin = {.stack = (uintptr_t)stack, .exact = true};
		uint32_t nr;

		begin.pc = some_address(&state);
		begin.frame = (uintptr_t)(stack + next_of(&state) % WORDS);
		for (unsigned int i = 0; i < WORDS; i++)
			stack[i] = next_of(&state) % 7
					? some_address(&state)
					: (uintptr_t)(stack + next_of(&state) % WORDS);
		nr = unwind_walk(&without, &begin, &memory, as_it_is, right, MOST);
		/* The second time most rows are in the cache. */
		for (unsigned int again = 0; again < 2; again++) {
			if (unwind_walk(&with, &begin, &memory, as_it_is, got, MOST) != nr ||
					memcmp(got, right, nr * sizeof(*got)) != 0) {
				printf("another walk of %u frames\n", nr);
				exit(1);
			}
		}
		frames += nr;
	}
	return (void *)(uintptr_t)frames;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint64_t frames = 0;

	make_modules();
	for (unsigned int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, compare, (void *)(uintptr_t)(i + 77)))
			return 1;
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		frames += (uintptr_t)result;
	}
	printf("%lu frames are the same\n", (unsigned long)frames);
	return frames < (uint64_t)THREADS * TURNS;
}
