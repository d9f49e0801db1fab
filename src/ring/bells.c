/* SPDX-License-Identifier: MIT */
/*
 * Waits for the doorbells of many ring memories at once.
 *
 * No two processes share a doorbell, so a consumer waits for one futex for each ring memory. The
 * kernel waits for 128 futexes in one call. The thread of the consumer waits for the first group of
 * ring memories and for a doorbell of the set itself. Each further group has a thread that sleeps
 * at the doorbells of the group and rings that of the set:
 *
 *	producer ──► its doorbell ──► thread of the group ──► doorbell of the set ──► consumer
 *
 * The thread of a group reads the sequences for its next wait before it rings the set. A producer
 * that rings after that changes a sequence and so ends the next wait. The consumer finds what a
 * producer did before, because the set is rung later.
 *
 * The cost of a wake grows with the number of ring memories, like that of scanning the rings; the
 * cost of a record does not. A program that rings without having filled a sub-buffer wakes the
 * consumer for nothing. After a few of these false alarms its doorbell is muted for a moment, and
 * its rings are scanned when the consumer wakes for another reason.
 *
 * Only the consumer's thread changes list, nr, capacity and muted, with the lock held; the other
 * threads read them with the lock held. They also hold it while they read a doorbell, so that its
 * memory is not unmapped meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/inside/clock.h"
#include "ring/consumer.h"
#include "ring/doorbell.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define BELLS_WAITS 128 /* futexes that one system call accepts */
#define BELLS_EACH (BELLS_WAITS - 1)
#define BELLS_FALLBACK_MS 10 /* between scans, if the kernel cannot wait for many futexes */
#define BELLS_FALSE_ALARMS 8 /* in a row, before the doorbell is muted */
#define BELLS_MUTED_NS 200000000

/* Like struct futex_waitv of <linux/futex.h>, which older versions lack. */
struct ring_wait {
	uint64_t value, address;
	uint32_t flags, reserved;
};
#define RING_WAIT_32 2 /* 32 bits, possibly shared with another process */

struct ring_bell {
	struct ring_consumer *consumer;
	/* Used by the consumer's thread only: */
	uint32_t seen;
	uint32_t false_alarms;
	bool muted;
};

/* A group with a thread of its own. number counts from 1. */
struct ring_bell_group {
	struct ring_bells *bells;
	uint32_t number;
	/* A futex: the members of the group have changed, or the thread must end. */
	uint32_t changed;
	pthread_t thread;
	struct ring_wait waits[BELLS_WAITS];
};

struct ring_bells {
	struct ring_doorbell own;
	uint32_t own_seen;
	pthread_mutex_t lock;
	struct ring_bell *list;
	size_t nr, capacity;
	struct ring_bell_group **groups;
	size_t nr_groups; /* Groups with a thread. */
	bool ends;
	uint64_t unmute; /* When to unmute, on CLOCK_MONOTONIC; 0: none is muted. */
};

/*
 * Fill `ret_waits` with the current sequences of the unmuted doorbells of a group, and one more
 * futex. Returns their number.
 */
static uint32_t bells_collect(const struct ring_bells *bells, size_t group,
		struct ring_wait *ret_waits, uint32_t *word, uint32_t seen)
{
	size_t at = group * BELLS_EACH, end = at + BELLS_EACH;
	uint32_t nr = 0;

	ret_waits[nr++] = (struct ring_wait){
			.value = seen, .address = (uintptr_t)word, .flags = RING_WAIT_32};
	for (; at < end && at < bells->nr; at++) {
		struct ring_doorbell *bell =
				ring_memory_doorbell(&bells->list[at].consumer->memory);

		if (bells->list[at].muted)
			continue;
		ret_waits[nr++] = (struct ring_wait){/*
				 * Acquire: what the ringing producer did before. Pairs with
				 * ring_doorbell_wake().
				 */
				.value = __atomic_load_n(&bell->sequence, __ATOMIC_ACQUIRE),
				.address = (uintptr_t)&bell->sequence,
				.flags = RING_WAIT_32};
	}
	return nr;
}

/*
 * Wait until one of these futexes changes, or until the time (NULL: no timeout). Returns 0 or a
 * negative errno.
 */
static int bells_wait_for(const struct ring_wait *waits, uint32_t nr, const struct timespec *until)
{
	long ret = syscall(SYS_futex_waitv, waits, nr, 0, until, CLOCK_MONOTONIC);

	return ret >= 0 || errno == EAGAIN ? 0 : -errno;
}

static bool bells_group_collect(struct ring_bell_group *group, uint32_t *ret_nr)
{
	struct ring_bells *bells = group->bells;
	bool ends;

	pthread_mutex_lock(&bells->lock);
	*ret_nr = bells_collect(
			bells, group->number, group->waits, &group->changed, group->changed);
	ends = bells->ends;
	pthread_mutex_unlock(&bells->lock);
	return !ends;
}

static void *bells_thread(void *argument)
{
	const struct timespec pause = {0, BELLS_FALLBACK_MS * 1000000L};
	struct ring_bell_group *group = argument;
	uint32_t nr;
	int ret = 0;

	while (bells_group_collect(group, &nr)) {
		/* After reading the sequences: see the top of the file. */
		ring_doorbell_ring(&group->bells->own);
		ret = bells_wait_for(group->waits, nr, NULL);
		/* A truncated file, or a kernel without the call: scan the rings now and then. */
		if (ret && ret != -EINTR)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Make the thread of the group with this member read its members again. With the lock held. */
static void bells_group_changed(struct ring_bells *bells, size_t at)
{
	size_t number = at / BELLS_EACH;
	struct ring_bell_group *group;

	if (!number || number > bells->nr_groups)
		return;
	group = bells->groups[number - 1];
	__atomic_fetch_add(&group->changed, 1, __ATOMIC_RELAXED);
	syscall(SYS_futex, &group->changed, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
}

/*
 * Block all signals in the thread but those of its own faults: the consumer chooses which thread
 * handles signals.
 */
static int bells_start_thread(struct ring_bell_group *group)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = -pthread_create(&group->thread, NULL, bells_thread, group);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

static int bells_add_group(struct ring_bells *bells)
{
	struct ring_bell_group **more =
			realloc(bells->groups, (bells->nr_groups + 1) * sizeof(*more));
	struct ring_bell_group *group = more ? calloc(1, sizeof(*group)) : NULL;
	int ret;

	if (more)
		bells->groups = more;
	if (!group)
		return -ENOMEM;
	group->bells = bells;
	group->number = (uint32_t)bells->nr_groups + 1;
	ret = bells_start_thread(group);
	if (ret) {
		free(group);
		return ret;
	}
	bells->groups[bells->nr_groups++] = group;
	return 0;
}

int ring_bells_create(struct ring_bells **ret_bells)
{
	struct ring_bells *bells = calloc(1, sizeof(*bells));

	if (!bells)
		return -ENOMEM;
	pthread_mutex_init(&bells->lock, NULL);
	*ret_bells = bells;
	return 0;
}

void ring_bells_destroy(struct ring_bells *bells)
{
	if (!bells)
		return;
	pthread_mutex_lock(&bells->lock);
	bells->ends = true;
	for (size_t i = 0; i < bells->nr_groups; i++)
		bells_group_changed(bells, (i + 1) * BELLS_EACH);
	pthread_mutex_unlock(&bells->lock);
	for (size_t i = 0; i < bells->nr_groups; i++) {
		pthread_join(bells->groups[i]->thread, NULL);
		free(bells->groups[i]);
	}
	free(bells->groups);
	free(bells->list);
	pthread_mutex_destroy(&bells->lock);
	free(bells);
}

int ring_bells_add(struct ring_bells *bells, struct ring_consumer *consumer)
{
	int ret = 0;

	pthread_mutex_lock(&bells->lock);
	if (bells->nr == bells->capacity) {
		size_t capacity = bells->capacity ? bells->capacity * 2 : 16;
		struct ring_bell *more = realloc(bells->list, capacity * sizeof(*more));

		ret = more ? 0 : -ENOMEM;
		bells->list = more ? more : bells->list;
		bells->capacity = more ? capacity : bells->capacity;
	}
	if (!ret && bells->nr / BELLS_EACH > bells->nr_groups)
		ret = bells_add_group(bells);
	if (!ret) {
		bells->list[bells->nr] = (struct ring_bell){.consumer = consumer};
		bells_group_changed(bells, bells->nr++);
	}
	pthread_mutex_unlock(&bells->lock);
	return ret;
}

void ring_bells_remove(struct ring_bells *bells, const struct ring_consumer *consumer)
{
	size_t at = 0;

	while (at < bells->nr && bells->list[at].consumer != consumer)
		at++;
	if (at == bells->nr)
		return;
	pthread_mutex_lock(&bells->lock);
	bells->list[at] = bells->list[--bells->nr];
	bells_group_changed(bells, at);
	bells_group_changed(bells, bells->nr);
	pthread_mutex_unlock(&bells->lock);
}

void ring_bells_ring(struct ring_bells *bells)
{
	ring_doorbell_ring(&bells->own);
}

static void bells_mute(struct ring_bells *bells, size_t at, bool mute)
{
	pthread_mutex_lock(&bells->lock);
	bells->list[at].muted = mute;
	bells_group_changed(bells, at);
	pthread_mutex_unlock(&bells->lock);
}

static void bells_unmute(struct ring_bells *bells)
{
	if (!bells->unmute || clock_monotonic_ns() < bells->unmute)
		return;
	bells->unmute = 0;
	for (size_t at = 0; at < bells->nr; at++)
		if (bells->list[at].muted)
			bells_mute(bells, at, false);
}

void ring_bells_arm(struct ring_bells *bells)
{
	bells_unmute(bells);
	/* Acquire: pairs with ring_doorbell_wake(). */
	bells->own_seen = __atomic_load_n(&bells->own.sequence, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < bells->nr; i++) {
		struct ring_bell *bell = &bells->list[i];
		struct ring_doorbell *doorbell = ring_memory_doorbell(&bell->consumer->memory);

		/*
		 * Acquire: what the ringing producer did before. Pairs with ring_doorbell_wake().
		 */
		bell->seen = __atomic_load_n(&doorbell->sequence, __ATOMIC_ACQUIRE);
		/*
		 * Rings in overwrite mode ring only to ask for leased memory, not when a sub-buffer
		 * is full.
		 */
		if (bell->consumer->memory.geometry.mode != RING_MODE_OVERWRITE)
			__atomic_store_n(&doorbell->sleeping, 1, __ATOMIC_RELAXED);
	}
	/*
	 * Full fence: sleeping before the heads that the caller reads next. Pairs with the fence in
	 * ring_doorbell_crossed().
	 */
	ring_doorbell_fence();
}

void ring_bells_disarm(struct ring_bells *bells)
{
	for (size_t i = 0; i < bells->nr; i++)
		__atomic_store_n(&ring_memory_doorbell(&bells->list[i].consumer->memory)->sleeping,
				0, __ATOMIC_RELAXED);
}

/* Find the doorbells that were rung, and mute those with false alarms. */
static void bells_hear(struct ring_bells *bells)
{
	for (size_t at = 0; at < bells->nr; at++) {
		struct ring_bell *bell = &bells->list[at];
		struct ring_doorbell *doorbell = ring_memory_doorbell(&bell->consumer->memory);

		/*
		 * Acquire: what the ringing producer did before. Pairs with ring_doorbell_wake().
		 */
		if (bell->muted ||
				__atomic_load_n(&doorbell->sequence, __ATOMIC_ACQUIRE) ==
						bell->seen)
			continue;
		if (ring_consumer_pending(bell->consumer))
			bell->false_alarms = 0;
		else
			bell->false_alarms++;
		if (bell->false_alarms < BELLS_FALSE_ALARMS)
			continue;
		bell->false_alarms = 0;
		bells_mute(bells, at, true);
		if (!bells->unmute)
			bells->unmute = clock_monotonic_ns() + BELLS_MUTED_NS;
	}
}

int ring_bells_wait(struct ring_bells *bells, int timeout_ms)
{
	struct ring_wait waits[BELLS_WAITS];
	struct timespec until;
	uint64_t end;
	uint32_t nr;
	int ret;

	if (timeout_ms < 0)
		return -EINVAL;
	end = clock_monotonic_ns() + (uint64_t)timeout_ms * CLOCK_NS_PER_MS;
	until = clock_timespec_from_ns(end);
	nr = bells_collect(bells, 0, waits, &bells->own.sequence, bells->own_seen);
	/*
	 * The sequences of ring_bells_arm(): a doorbell that was rung since then ends the wait at
	 * once.
	 */
	for (uint32_t at = 0, i = 1; i < nr; at++)
		if (!bells->list[at].muted)
			waits[i++].value = bells->list[at].seen;
	ret = bells_wait_for(waits, nr, &until);
	if (ret && ret != -ETIMEDOUT && ret != -EINTR)
		ret = ring_doorbell_wait(&bells->own, bells->own_seen,
				timeout_ms < BELLS_FALLBACK_MS ? timeout_ms : BELLS_FALLBACK_MS);
	bells_hear(bells);
	return ret;
}

size_t ring_bells_muted(const struct ring_bells *bells)
{
	size_t muted = 0;

	for (size_t i = 0; i < bells->nr; i++)
		muted += bells->list[i].muted;
	return muted;
}
