/* SPDX-License-Identifier: MIT */
/*
 * Block mode: a producer waits, for a bounded time, until the consumer releases records.
 *
 * The producer sets `waiting`, checks the tail once more and waits on the futex `space`. The
 * consumer stores the tail and then checks `waiting`. Both have a full fence between store and
 * load, so at least one of them sees the store of the other. The consumer clears `waiting` and
 * changes `space` before it wakes all producers; a producer that still has no space sets `waiting`
 * again.
 *
 * No thread waits twice for a dead consumer. After a wait that timed out, the producer notes the
 * tail of this ring (`stalled`) and the number of spans released in all rings (`stalled_releases`).
 * As long as one of them is unchanged, it does not wait again. So a dead consumer costs the process
 * one timeout for each thread that is waiting at that time. A ring that the consumer has given up
 * costs one timeout, too.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring/clock.h"
#include "ring/doorbell.h"
#include "ring/space.h"

/* Tests replace this to act between two accesses to shared memory. */
#ifndef RING_PRODUCER_STEP
#define RING_PRODUCER_STEP() ((void)0)
#endif

static bool ring_space_is(const struct ring_producer *producer, const struct ring_control *control,
		uint64_t bytes)
{
	/*
	 * Acquire: the consumer's reads before the space is used again. Pairs with the release in
	 * ring_consumer_release().
	 */
	uint64_t tail = __atomic_load_n(&control->tail, __ATOMIC_ACQUIRE);
	uint64_t head = ring_head_position(__atomic_load_n(&control->head, __ATOMIC_RELAXED));
	uint64_t used = (head - tail) & RING_POSITION_MASK;

	return used + bytes <= producer->mask + 1;
}

static void ring_space_sleep(struct ring_control *control, uint32_t seen, uint64_t ns)
{
	struct timespec timeout = {
			.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};

	/*
	 * Not FUTEX_PRIVATE: the consumer is another process. A signal ends the wait: the caller
	 * checks again.
	 */
	syscall(SYS_futex, &control->space, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

bool ring_space_wait(struct ring_producer *producer, uint32_t ring, uint64_t bytes,
		struct ring_timeout *timeout)
{
	struct ring_control *control = producer->locations[ring].control;
	const uint64_t *all = &producer->locations[0].control->releases;
	/* Relaxed, here and below: these are only compared with themselves. */
	uint64_t tail = __atomic_load_n(&control->tail, __ATOMIC_RELAXED);
	uint64_t releases = __atomic_load_n(all, __ATOMIC_RELAXED);
	uint64_t now;
	uint32_t seen;

	/*
	 * Not in a sandbox, nor in a child of vfork(), whose parent sleeps until the child is done.
	 */
	if (!producer->block_timeout_us || !ring_calls_permitted() || producer->pid != getpid() ||
			__atomic_load_n(&producer->stalled[ring], __ATOMIC_RELAXED) == tail + 1 ||
			__atomic_load_n(&producer->stalled_releases, __ATOMIC_RELAXED) ==
					releases + 1)
		return false;
	/* The consumer may be asleep although it was rung before: wake it. */
	ring_doorbell_crossed(producer->doorbell);
	now = (uint64_t)ring_clock_read_ns(CLOCK_MONOTONIC);
	if (!timeout->deadline_ns)
		timeout->deadline_ns = now + (uint64_t)producer->block_timeout_us * 1000;
	for (; now < timeout->deadline_ns; now = (uint64_t)ring_clock_read_ns(CLOCK_MONOTONIC)) {
		__atomic_store_n(&control->waiting, 1, __ATOMIC_RELAXED);
		RING_PRODUCER_STEP();
		/*
		 * Full fence: waiting before the tail. Pairs with the fence in
		 * ring_space_released().
		 */
		ring_doorbell_fence();
		/*
		 * Acquire: the tail of the last release. Pairs with the release in
		 * ring_space_released().
		 */
		seen = __atomic_load_n(&control->space, __ATOMIC_ACQUIRE);
		RING_PRODUCER_STEP();
		if (ring_space_is(producer, control, bytes))
			return true;
		RING_PRODUCER_STEP();
		ring_space_sleep(control, seen, timeout->deadline_ns - now);
		RING_PRODUCER_STEP();
	}
	/* Relaxed: compared with what was loaded at the beginning. */
	if (__atomic_load_n(&control->tail, __ATOMIC_RELAXED) == tail)
		__atomic_store_n(&producer->stalled[ring], tail + 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(all, __ATOMIC_RELAXED) == releases)
		__atomic_store_n(&producer->stalled_releases, releases + 1, __ATOMIC_RELAXED);
	return false;
}

void ring_space_released(const struct ring_memory *memory, uint32_t ring)
{
	struct ring_control *control = ring_memory_control(memory, ring);
	int saved = errno;

	__atomic_fetch_add(&ring_memory_control(memory, 0)->releases, 1, __ATOMIC_RELAXED);
	/* Full fence: the tail before `waiting`. Pairs with the fence in ring_space_wait(). */
	ring_doorbell_fence();
	if (!__atomic_load_n(&control->waiting, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&control->waiting, 0, __ATOMIC_RELAXED);
	/* Release: the tail before the number. Pairs with the acquire in ring_space_wait(). */
	__atomic_fetch_add(&control->space, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &control->space, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}
