/* SPDX-License-Identifier: MIT */
/*
 * The fences of the ring, each between a store and a load of another word (litmus.h). A missing
 * fence loses a wake-up, or leaves stopped rings open. The test atomics-ring compares orders that
 * x86 never shows, and the models of the ring try them.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <time.h>
#include <unistd.h>

#include "ring/layout.h"

#include "litmus.h"

static uint32_t nr_sleeps, slept_with, nr_times;

/*
 * Of space.c: the value with which the thread would sleep, and the point at which both threads wait
 * for each other.
 */
static void hooked_call(
		const uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
	(void)word;
	(void)timeout;
	if (operation != FUTEX_WAIT)
		return;
	nr_sleeps++;
	slept_with = value;
}

static int64_t hooked_time(void)
{
	/* The second call comes after a sleep: then the timeout has expired. */
	if (nr_times++)
		return INT64_MAX / 2;
	litmus_align(false);
	return 0;
}

#include "ring/clock.h"
#define ring_clock_read_ns(clock) hooked_time()
#define syscall(number, word, operation, value, timeout, ...) \
	hooked_call(word, operation, value, timeout)
#define ring_space_wait litmus_space_wait
#define ring_space_released litmus_space_released
#include "ring/space.c"
#undef syscall
#undef ring_clock_read_ns

#include "decode.h"
#include "ring/lease.h"

static struct ring_producer *producer;
static struct ring_consumer *consumer;
static struct ring_bells *bells;

/* ---- a record that reaches into another sub-buffer, and a consumer that goes to sleep ---- */

static struct ring_doorbell *bell;
static uint32_t rung;
static uint64_t head __attribute__((aligned(64))), seen_head __attribute__((aligned(64)));

static void bell_reset(void)
{
	ring_doorbell_disarm(bell);
	rung = __atomic_load_n(&bell->sequence, __ATOMIC_RELAXED);
	__atomic_store_n(&head, 0, __ATOMIC_RELAXED);
}

static void bell_touch(void)
{
	(void)__atomic_load_n(&bell->sleeping, __ATOMIC_RELAXED);
	(void)__atomic_load_n(&head, __ATOMIC_RELAXED);
}

static void bell_cross(void)
{
	__atomic_store_n(&head, 1, __ATOMIC_RELEASE);
	ring_doorbell_crossed(bell);
}

static void bell_arm(void)
{
	ring_doorbell_arm(bell);
	seen_head = __atomic_load_n(&head, __ATOMIC_ACQUIRE);
}

static void bells_arm(void)
{
	ring_bells_arm(bells);
	seen_head = __atomic_load_n(&head, __ATOMIC_ACQUIRE);
}

static bool bell_is_lost(void)
{
	return !seen_head && __atomic_load_n(&bell->sequence, __ATOMIC_RELAXED) == rung;
}

/* ---- a producer that waits for space, and a consumer that releases some ---- */

static struct ring_memory memory;
static uint32_t space;

static void space_reset(void)
{
	struct ring_control *control = producer->locations[0].control;

	__atomic_store_n(&control->tail, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&control->waiting, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&control->head, (producer->mask + 1) << RING_EPOCH_BITS, __ATOMIC_RELAXED);
	producer->stalled[0] = producer->stalled_releases = 0;
	space = __atomic_load_n(&control->space, __ATOMIC_RELAXED);
	nr_sleeps = nr_times = 0;
}

static void space_touch(void)
{
	(void)__atomic_load_n(&producer->locations[0].control->waiting, __ATOMIC_RELAXED);
	(void)__atomic_load_n(&producer->locations[0].control->tail, __ATOMIC_RELAXED);
}

static void space_wait(void)
{
	struct ring_timeout timeout = {1};

	litmus_space_wait(producer, 0, 1, &timeout);
}

static void space_release(void)
{
	litmus_align(true);
	__atomic_store_n(&producer->locations[0].control->tail, 4096, __ATOMIC_RELEASE);
	litmus_space_released(&memory, 0);
}

/*
 * The producer sleeps, the tail has moved, and the futex still has the value with which the
 * producer sleeps.
 */
static bool space_is_lost(void)
{
	return nr_sleeps && slept_with == space &&
			__atomic_load_n(&producer->locations[0].control->space, __ATOMIC_RELAXED) ==
			space;
}

/* ---- rings that are opened and stopped ---- */

static void stop_reset(void)
{
	ring_producer_stop(producer, false);
	ring_producer_close(producer);
}

static void stop_touch(void)
{
	(void)__atomic_load_n(&producer->stopped, __ATOMIC_RELAXED);
	(void)__atomic_load_n(&producer->payload_limit, __ATOMIC_RELAXED);
}

static void stop_open(void)
{
	ring_producer_open(producer);
}

static void stop_stop(void)
{
	ring_producer_stop(producer, true);
}

static bool stop_is_open(void)
{
	return __atomic_load_n(&producer->payload_limit, __ATOMIC_RELAXED) ||
			__atomic_load_n(&producer->usable, __ATOMIC_RELAXED);
}

static const struct litmus tests[] = {
		{"doorbell: crossed, arm", bell_reset, bell_touch, bell_cross, bell_arm,
				bell_is_lost, false},
		{"doorbells: crossed, arm", bell_reset, bell_touch, bell_cross, bells_arm,
				bell_is_lost, false},
		{"space: wait, released", space_reset, space_touch, space_wait, space_release,
				space_is_lost, true},
		{"rings: open, stop", stop_reset, stop_touch, stop_open, stop_stop, stop_is_open,
				false},
};

int main(void)
{
	struct ring_geometry geometry = {.rings = 1,
			.event_slots = 1,
			.size = 4096,
			.mode = RING_MODE_BLOCK,
			.block_timeout_us = 1000000};
	uint32_t failures = 0;
	int fd;

	CHECK(ring_memory_create(&geometry, &fd) == 0, "create");
	CHECK(ring_producer_map(fd, &producer) == 0, "map");
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	CHECK(ring_bells_create(&bells) == 0 && ring_bells_add(bells, consumer) == 0, "doorbells");
	bell = ring_consumer_doorbell(consumer);
	CHECK(ring_memory_map(fd, RING_END_CONSUMER, &memory) == 0, "map");
	setlinebuf(stdout);
	litmus_run(&litmus_plain);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		failures += litmus_run(&tests[i]) != 0;
	CHECK(!failures, "%u of these saw a store after a later load", failures);
	ring_bells_destroy(bells);
	ring_memory_unmap(&memory);
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
	return 0;
}
