/* SPDX-License-Identifier: MIT */
/*
 * Runs the real code of the ring on the machine of explore.h: portable.c, space.c, doorbell.c,
 * consumer.c and snapshot.c are included below, after macros that turn each access to shared memory
 * into a step. Also the mutations of the protocol, which the exploration must find.
 *
 * The bytes of a record bypass the store buffer: they are in memory at once, as if they had
 * overtaken all earlier stores. That is harder for the ring than the real machine. A reader that
 * relies on the bytes reads the head first, which is stored after them and always leaves the buffer
 * after them. The only other reader of the bytes copies a window that is being overwritten; its
 * worst case is to read them before the claim.
 *
 * Included by explore-real.c only, which defines explore_access() and the two functions next to it.
 */
#ifndef TESTS_RING_EXPLORE_CODE_H
#define TESTS_RING_EXPLORE_CODE_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "decode.h"
#include "explore-cases.h"

/* Replacements of the compiler's builtins and of the C library for the code below. */
static uint64_t explore_load(const volatile void *at, size_t size);
static void explore_store(volatile void *at, size_t size, uint64_t value);
static uint64_t explore_add(volatile void *at, size_t size, uint64_t by);
static void explore_fence(void);
static void explore_copy(void *to, const void *from, size_t size);
static unsigned char *explore_copy_part(unsigned char *to, const void *from, size_t size);
static void explore_header(unsigned char *to, size_t size, uint32_t event_id, uint64_t timestamp);
static int explore_clock(clockid_t id, struct timespec *now);
static long explore_futex(const volatile void *at, int operation, uint32_t value,
		const struct timespec *timeout);

#undef memcpy
#define memcpy(to, from, size) explore_copy((to), (from), (size))
#define __atomic_load_n(at, order) ((__typeof__(+*(at)))explore_load((at), sizeof(*(at))))
#define __atomic_store_n(at, value, order) explore_store((at), sizeof(*(at)), (uint64_t)(value))
#define __atomic_fetch_add(at, by, order) explore_add((at), sizeof(*(at)), (uint64_t)(by))
#define __atomic_thread_fence(order) explore_fence()
#define syscall(number, at, operation, value, timeout, ...) \
	explore_futex((at), (operation), (uint32_t)(value), (timeout))
#define clock_gettime(id, now) explore_clock((id), (now))
#define getpid() 1

/*
 * Tiny rings: the code reads the size from the geometry, but the number of sub-buffers from this
 * constant.
 */
#include "ring/copy.h"
#include "ring/doorbell.h"
#include "ring/layout.h"
#define ring_copy(to, from, size) explore_copy_part((to), (from), (size))
#undef RING_BLOCKS
#define RING_BLOCKS 4
#define ring_header_write(to, size, event_id, timestamp) \
	explore_header((to), (size), (event_id), (timestamp))
#define SIZE 64
#define BLOCK (SIZE / RING_BLOCKS)
#define CHUNK 16 /* Bytes of a window that are copied in one step. */

static enum mutation mutation;

/* Shared memory. */
static struct {
	/* Lets ring_memory_control() find the control data behind it. */
	unsigned char header[RING_HEADER_BYTES];
	struct ring_control control;
	unsigned char data[2 * SIZE]; /* The data is mapped twice in a row. */
	struct ring_doorbell bell;
} shared;
/* The record or store that a mutation holds back, and its other state. */
static struct {
	uint32_t stores;
	uint32_t bytes, bytes_at;
	uint64_t *at[4];
	uint64_t value[4];
	unsigned char held[SIZE / 2];
	uint64_t claim;
	const volatile void *stored[THREADS]; /* The last store of each thread. */
	bool copied;
} odd;
static uint64_t clock_ns;

/* Waits for the search, which may perform other actions at this point. */
static void explore_access(enum machine_what what, const volatile void *at);
/* Returns false after a timeout. */
static bool explore_slept(const volatile void *at);
/* Called when the producer publishes with this word. */
static void explore_committing(uint64_t word);

static bool is_in(const volatile void *at, const void *begin, size_t size)
{
	return (uintptr_t)at - (uintptr_t)begin < size;
}

/* Returns whether only this thread writes the address. */
static bool is_own(const volatile void *at)
{
	if (!is_in(at, &shared.control, sizeof(shared.control)))
		return !is_in(at, &shared.bell, sizeof(shared.bell));
	if (machine_current() == CONSUMER)
		return is_in(at, &shared.control.tail,
				offsetof(struct ring_control, space) - RING_CONTROL_TAIL);
	return is_in(at, &shared.control, offsetof(struct ring_control, waiting)) ||
			is_in(at, shared.control.blocks, sizeof(shared.control.blocks));
}

/* ---- Accesses ---- */

static uint64_t explore_load(const volatile void *at, size_t size)
{
	bool producer = machine_current() == PRODUCER;

	if (producer && mutation == CLAIM_FALLS && at == &shared.control.claim)
		at = &shared.control.head;
	if (producer && mutation == TAIL_IGNORED && at == &shared.control.tail)
		return machine_read(&shared.control.head, sizeof(shared.control.head)) >>
				RING_EPOCH_BITS;
	explore_access(is_own(at) ? STEP_OWN : STEP_SHARED, at);
	if (!producer && at == &shared.control.block_crossed)
		odd.copied = false;
	if (!producer && at == &shared.control.claim && odd.copied && mutation == CLAIM_EARLY)
		return odd.claim;
	if (!producer && at == &shared.control.claim && odd.copied && mutation == CLAIM_NOT)
		at = &shared.control.head;
	return machine_read(at, size);
}

static void put_store(volatile void *at, size_t size, uint64_t value)
{
	explore_access(STEP_STORE, at);
	machine_store(at, size, value);
	odd.stored[machine_current()] = at;
	if (machine_current() == PRODUCER && at == &shared.control.head)
		explore_committing(value);
}

static void hold_store(volatile void *at, uint64_t value)
{
	odd.at[odd.stores] = (uint64_t *)(uintptr_t)at;
	odd.value[odd.stores++] = value;
}

static void put_bytes(uint32_t at, const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		shared.data[(at + i) % SIZE] = bytes[i];
		shared.data[(at + i) % SIZE + SIZE] = bytes[i];
	}
}

/* Performs the store that was held back. */
static void release_odd(void)
{
	for (uint32_t i = 0; i < odd.stores; i++)
		put_store(odd.at[i], 8, odd.value[i]);
	odd.stores = 0;
	if (odd.bytes) {
		explore_access(STEP_SHARED, &shared.data[odd.bytes_at]);
		put_bytes(odd.bytes_at, odd.held, odd.bytes);
		odd.bytes = 0;
	}
}

static bool is_mark(const volatile void *at)
{
	return is_in(at, shared.control.blocks, sizeof(shared.control.blocks));
}

/* Returns true if this store is held back, or left out. */
static bool store_is_odd(volatile void *at, uint64_t value)
{
	const volatile struct ring_mark *mark = at;

	switch (mutation) {
	case CLAIM_DROPPED: return at == &shared.control.claim;
	case ALIAS_KEPT:
		return at == &shared.control.head &&
				(value ^ machine_read(at, 8)) >> RING_EPOCH_BITS == 0;
	case MARK_ONE:
		return is_mark(at) &&
				(size_t)(mark - shared.control.blocks) !=
				value / BLOCK % RING_BLOCKS;
	case CLAIM_LATE:
		if (at == &shared.control.last_timestamp)
			release_odd();
		if (at != &shared.control.claim)
			return false;
		break;
	case TIME_LATE:
		if (at != &shared.control.last_timestamp)
			return false;
		break;
	case NOTE_LATE:
		if ((at != &shared.control.marks[0].position &&
				    at != &shared.control.marks[1].position) ||
				value == UINT64_MAX)
			return false;
		break;
	default: return false;
	}
	hold_store(at, value);
	return true;
}

static void explore_store(volatile void *at, size_t size, uint64_t value)
{
	if (store_is_odd(at, value))
		return;
	if (mutation == NOT_EXTENDED && at == &shared.control.head)
		value = (value & ~(uint64_t)RING_EPOCH_MASK) |
				ring_timestamp_epoch(
						machine_read(&shared.control.last_timestamp, 8));
	put_store(at, size, value);
	if (at == &shared.control.head || at == &shared.control.tail)
		release_odd();
}

static void explore_fence(void)
{
	const volatile void *stored = odd.stored[machine_current()];

	if ((mutation == CLAIM_UNFENCED && machine_current() == PRODUCER) ||
			(mutation == WAITER_UNFENCED && stored == &shared.control.waiting &&
					machine_current() == PRODUCER) ||
			(mutation == ARM_UNFENCED && machine_current() == CONSUMER &&
					!is_in(stored, &shared.control, sizeof(shared.control))) ||
			(mutation == RING_UNFENCED && stored == &shared.control.head) ||
			(mutation == RELEASE_UNFENCED && stored == &shared.control.releases))
		return;
	explore_access(STEP_FENCE, NULL);
}

static uint64_t explore_add(volatile void *at, size_t size, uint64_t by)
{
	uint64_t value;

	/* A locked operation is a fence, too. */
	if (mutation == RELEASE_UNFENCED && at == &shared.control.releases) {
		value = machine_read(at, size);
		put_store(at, size, value + by);
		return value;
	}
	explore_access(STEP_FENCE, at);
	value = machine_read(at, size);
	machine_write(at, size, value + by);
	return value;
}

static void write_record(uint32_t at, const unsigned char *from, size_t size)
{
	if (mutation == HEAD_EARLY) {
		if (!odd.bytes)
			odd.bytes_at = at;
		(memcpy)(odd.held + odd.bytes, from, size);
		odd.bytes += (uint32_t)size;
		return;
	}
	explore_access(STEP_SHARED, &shared.data[at]);
	put_bytes(at, from, size);
}

static void copy_window(unsigned char *to, const unsigned char *from, size_t size)
{
	odd.copied = true;
	odd.claim = shared.control.claim;
	for (size_t at = 0; at < size; at += CHUNK) {
		explore_access(STEP_SHARED, from + at);
		(memcpy)(to + at, from + at, size - at < CHUNK ? size - at : CHUNK);
	}
}

/* A header is written in one step, and a payload in one. */
static void explore_header(unsigned char *to, size_t size, uint32_t event_id, uint64_t timestamp)
{
	unsigned char header[RING_EXTENDED_BYTES];

	(ring_header_write)(header, size, event_id, timestamp);
	write_record((uint32_t)(to - shared.data), header, size);
}

static __attribute__((noinline)) void explore_copy(void *to, const void *from, size_t size)
{
	if (size == 0)
		return;
	if (is_in(to, shared.data, sizeof(shared.data))) {
		write_record((uint32_t)((unsigned char *)to - shared.data), from, size);
	} else if (size > 8 && is_in(from, shared.data, sizeof(shared.data))) {
		copy_window(to, from, size);
	} else {
		/* One read of a record by the consumer. */
		if (is_in(from, shared.data, sizeof(shared.data)))
			explore_access(STEP_SHARED, from);
		(memcpy)(to, from, size);
	}
}

static unsigned char *explore_copy_part(unsigned char *to, const void *from, size_t size)
{
	explore_copy(to, from, size);
	return to + size;
}

/* ---- The kernel ---- */

static int explore_clock(clockid_t id, struct timespec *now)
{
	(void)id;
	*now = (struct timespec){.tv_sec = (time_t)(clock_ns / 1000000000),
			.tv_nsec = (long)(clock_ns % 1000000000)};
	return 0;
}

/* Every system call acts as a fence, especially these two. */
static long explore_futex(const volatile void *at, int operation, uint32_t value,
		const struct timespec *timeout)
{
	(void)timeout; /* The search detects when no other thread can continue. */
	explore_access(STEP_FENCE, at);
	if (operation == FUTEX_WAKE) {
		machine_wake(at);
		return 0;
	}
	if (mutation != WAIT_UNSEEN && machine_read(at, 4) != value) {
		errno = EAGAIN;
		return -1;
	}
	if (explore_slept(at))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

/* ---- The code ---- */

#include "ring/portable.c"
#undef RING_PRODUCER_STEP
#include "ring/space.c"
#include "ring/doorbell.c"
#include "ring/consumer.c"
#include "ring/snapshot.c"

#undef __atomic_load_n
#undef __atomic_store_n
#undef __atomic_fetch_add
#undef __atomic_thread_fence
#undef memcpy
#undef syscall
#undef clock_gettime
#undef getpid
#undef ring_header_write
#undef ring_copy

#endif /* TESTS_RING_EXPLORE_CODE_H */
