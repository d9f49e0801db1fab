/* SPDX-License-Identifier: MIT */
/*
 * The writer for where there are no restartable sequences: other CPUs, old C libraries, emulators.
 *
 * The same memory, the same order of stores, the same commit. What rseq gives for nothing, a lock
 * for each ring gives here. Locks are only ever tried: a signal handler that interrupts the holder
 * takes another CPU's ring or gives up; other threads take another one too, and when none can be
 * had they yield and sleep a bounded number of times before the record is counted as lost. The
 * locks stand in private memory, so a killed process takes them with it.
 *
 * A handler that leaves by longjmp() out of the middle of a publication leaves that ring locked;
 * the process uses the other rings from then on.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "ring/clock.h"
#include "ring/portable.h"

#define RING_TRIED_MAX 16 /* Rings that one publication tries. */
#define RING_YIELDS 64    /* How often it yields for other threads that hold them all, */
#define RING_SLEEPS 50    /* and how often it sleeps then: 5 ms, longer than a time slice. */
#define RING_SLEEP_NS 100000

/* A value that no other living thread has. */
static uint64_t ring_thread_token(void)
{
#if defined(__x86_64__) && defined(__LP64__)
	uint64_t self;

	__asm__("movq %%fs:0, %0" : "=r"(self));
	return self;
#else
	return (uintptr_t)__builtin_thread_pointer();
#endif
}

uint32_t ring_portable_cpu(const struct ring_producer *producer)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (uint32_t)cpu % producer->rings;
}

/*
 * The room in the ring for `word` (bytes << 24) more after head. Looks at the tail only if the
 * cached one does not suffice. A tail that gives more room than there is, is nonsense.
 */
static bool ring_portable_room(const struct ring_producer *producer, struct ring_control *control,
		uint64_t head, uint64_t word)
{
	uint64_t limit = control->limit;

	if (limit - head >= word)
		return true;
	/* Acquire: the consumer has read the old bytes. Pairs with ring_consumer_release(). */
	limit = __atomic_load_n(&control->tail, __ATOMIC_ACQUIRE) << RING_EPOCH_BITS;
	limit = (limit + producer->size_word) | RING_EPOCH_MASK;
	if (limit - head < word || limit - head - RING_EPOCH_MASK > producer->size_word)
		return false;
	control->limit = limit;
	return true;
}

/* The caller is alone on this ring, but may be killed at any point. */
int ring_portable_write(const struct ring_producer *producer, const struct ring_place *place,
		uint32_t event_id, const void *payload, size_t size, uint64_t now)
{
	struct ring_control *control = place->control;
	uint64_t head = __atomic_load_n(&control->head, __ATOMIC_RELAXED);
	uint64_t last = __atomic_load_n(&control->last_timestamp, __ATOMIC_RELAXED);
	unsigned char *record = place->data + (ring_head_position(head) & producer->mask);
	bool same_time, same_epoch;
	uint64_t epoch, word;
	size_t header;

	if (now < last)
		now = last;
	epoch = ring_timestamp_epoch(now);
	same_time = now >> RING_TIME_BITS == last >> RING_TIME_BITS;
	same_epoch = (head & RING_EPOCH_MASK) == epoch;
	if (!same_time || !same_epoch || event_id > UINT16_MAX)
		header = RING_EXTENDED_BYTES;
	else
		header = event_id < RING_TAG_MEDIUM ? RING_COMPACT_BYTES : RING_MEDIUM_BYTES;
	word = (uint64_t)(header + size) << RING_EPOCH_BITS;
	if (!ring_portable_room(producer, control, head, word))
		return RING_SECTION_FULL;
	if (!same_time && same_epoch) {
		/* The same epoch only by chance, 2^51 ticks later: see section-x86_64.S. */
		head ^= RING_EPOCH_FLIP;
		__atomic_store_n(&control->head, head, __ATOMIC_RELEASE);
	}
	ring_header_write(record, header, event_id, now);
	memcpy(record + header, payload, size);
	/* Release, with the acquire of last_timestamp in ring_consumer_peek(). */
	__atomic_store_n(&control->last_timestamp, now, __ATOMIC_RELEASE);
	word = ((head + word) & ~(uint64_t)RING_EPOCH_MASK) | epoch;
	/* Release: the record before the head. Pairs with the acquire in ring_consumer_peek(). */
	__atomic_store_n(&control->head, word, __ATOMIC_RELEASE);
	return (head ^ word) >= producer->block_word ? RING_SECTION_CROSSED : RING_SECTION_DONE;
}

/*
 * Try the rings once, from this CPU's on. *nested: this thread holds one of them, further up its
 * stack. It must not wait then: the other holder may be interrupted just so and wait for it.
 */
static int ring_portable_try(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size, uint64_t self, bool *nested)
{
	uint32_t tries = producer->rings < RING_TRIED_MAX ? producer->rings : RING_TRIED_MAX;
	uint32_t cpu = ring_portable_cpu(producer);

	*nested = false;
	for (; tries > 0; tries--, cpu = (cpu + 1) % producer->rings) {
		uint64_t *lock = &producer->locks[cpu * RING_LOCK_WORDS];
		uint64_t holder = 0;
		int code;

		/* Acquire and release order one holder's accesses before the next one's. */
		if (!__atomic_compare_exchange_n(lock, &holder, self, false, __ATOMIC_ACQUIRE,
				    __ATOMIC_RELAXED)) {
			*nested |= holder == self;
			continue;
		}
		code = ring_portable_write(producer, &producer->places[cpu], event_id, payload,
				size, ring_clock_read((enum ring_clock)producer->clock));
		__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
		return code;
	}
	return RING_SECTION_BUSY;
}

int ring_portable_publish(
		struct ring_producer *producer, uint32_t event_id, const void *payload, size_t size)
{
	const struct timespec pause = {.tv_nsec = RING_SLEEP_NS};
	uint64_t self = ring_thread_token();
	int code = RING_SECTION_BUSY;
	int saved = errno;
	bool nested = false;

	/* Only where the kernel cannot wipe memory on fork. */
	if (producer->owner && producer->owner != getpid())
		code = RING_SECTION_FORKED;
	for (int round = 0; code == RING_SECTION_BUSY && !nested; round++) {
		if (round > RING_YIELDS)
			nanosleep(&pause, NULL);
		else if (round)
			sched_yield();
		code = ring_portable_try(producer, event_id, payload, size, self, &nested);
		if (round >= RING_YIELDS + RING_SLEEPS)
			break;
	}
	errno = saved;
	return code;
}
