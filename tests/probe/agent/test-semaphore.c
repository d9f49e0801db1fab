/* SPDX-License-Identifier: MIT */
/*
 * Semaphores of markers, both halves of a word: the test changes them while threads change them and
 * their neighbours, as other tracers do. No change may be lost, and a semaphore that a listener has
 * raised must never be 0. Memory that is missing or read-only must not be changed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../../check.h"
#include "tracers/agent/probes/probes.h"

#define ROUNDS 20000
#define THREADS 2

static _Alignas(8) _Atomic uint16_t semaphores[4];
static atomic_bool ends, seen_zero;

static void *other(void *nothing)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		for (unsigned int k = 0; k < 4; k++)
			atomic_fetch_add(&semaphores[k], 1);
		for (unsigned int k = 0; k < 4; k++)
			atomic_fetch_sub(&semaphores[k], 1);
	}
	return nothing;
}

/* Acts as the traced program: a listener exists all the time. */
static void *watch_semaphore(void *nothing)
{
	while (!atomic_load(&ends))
		for (unsigned int k = 0; k < 4; k++)
			if (!atomic_load(&semaphores[k]))
				atomic_store(&seen_zero, true);
	return nothing;
}

static uint64_t address_of(unsigned int k)
{
	return (uintptr_t)&semaphores[k];
}

static void many(void)
{
	pthread_t threads[THREADS + 1];

	for (unsigned int k = 0; k < 4; k++)
		CHECK(probe_semaphore_change(address_of(k), true));
	for (unsigned int i = 0; i < THREADS + 1; i++)
		CHECK(!pthread_create(
				&threads[i], NULL, i < THREADS ? other : watch_semaphore, NULL));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		CHECK(probe_semaphore_change(address_of(i % 4), true));
		CHECK(probe_semaphore_change(address_of(i % 4), false));
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&ends, true);
	pthread_join(threads[THREADS], NULL);
	CHECK(!atomic_load(&seen_zero));
	for (unsigned int k = 0; k < 4; k++) {
		CHECK(semaphores[k] == 1);
		CHECK(probe_semaphore_change(address_of(k), false) && !semaphores[k]);
	}
}

static void at_its_edges(void)
{
	semaphores[0] = 0xffff;
	semaphores[1] = 7;
	CHECK(!probe_semaphore_change(address_of(2), false));
	CHECK(!semaphores[2] && !semaphores[3]);
	CHECK(probe_semaphore_change(address_of(0), false) && semaphores[0] == 0xfffe &&
			semaphores[1] == 7);
	CHECK(probe_semaphore_change(address_of(1), false) && semaphores[0] == 0xfffe &&
			semaphores[1] == 6);
	CHECK(!probe_semaphore_change(address_of(0) + 1, true));
}

static void nowhere(void)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	CHECK(!probe_semaphore_change((uintptr_t)page, true));
	munmap(page, 4096);
	CHECK(!probe_semaphore_change((uintptr_t)page, true));
	CHECK(!probe_semaphore_change((uintptr_t)page + 2, false));
}

int main(void)
{
	many();
	at_its_edges();
	nowhere();
	return 0;
}
