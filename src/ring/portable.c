/* SPDX-License-Identifier: MIT */
/*
 * The writer for systems without restartable sequences: other CPUs, old C libraries, emulators.
 *
 * Memory, order of stores and commit are those of the sections. A lock for each ring replaces rseq.
 * A writer only ever tries a lock: a signal handler that interrupts the holder uses another CPU's
 * ring or gives up. Other threads use another ring, too; if none is free, they yield and sleep a
 * bounded number of times before they count the record as lost. The locks are in private memory, so
 * they disappear with a killed process.
 *
 * The ring of a thread (RING_PER_THREAD) is locked in the same way. A signal handler of that thread
 * that finds it locked borrows a free ring for one record.
 *
 * A signal handler that leaves a publication by longjmp() leaves that ring locked; the process uses
 * the other rings from then on.
 */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "ring/clock.h"
#include "ring/copy.h"
#include "ring/doorbell.h"
#include "ring/portable.h"
#include "ring/slots.h"

/* Tests replace this to act between two accesses to shared memory. */
#ifndef RING_PRODUCER_STEP
#define RING_PRODUCER_STEP() ((void)0)
#endif

#define RING_TRIED_MAX 16 /* Rings that one publication tries. */
#define RING_YIELDS 64    /* How often it yields while other threads hold all rings, */
#define RING_SLEEPS 50    /* and how often it sleeps after that: 5 ms, longer than a time slice. */
#define RING_SLEEP_NS 100000

uint64_t ring_thread_token(void)
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

bool ring_portable_nested(const struct ring_producer *producer)
{
	uint64_t self = ring_thread_token();

	/* Relaxed: only this thread stores this value. */
	for (uint32_t ring = 0; ring < producer->rings; ring++) {
		if (__atomic_load_n(&producer->locks[(size_t)ring * RING_LOCK_WORDS],
				    __ATOMIC_RELAXED) == self)
			return true;
	}
	return false;
}

/*
 * Whether the ring has space for `word` (bytes << 24) after head. Reads the tail only if the cached
 * one does not suffice. A tail that gives more space than the ring has is invalid.
 */
static bool ring_portable_has_space(const struct ring_producer *producer,
		struct ring_control *control, uint64_t head, uint64_t word)
{
	uint64_t limit = control->limit;

	if (limit - head >= word)
		return true;
	/* Acquire: the consumer's reads of the old bytes. Pairs with ring_consumer_release(). */
	limit = __atomic_load_n(&control->tail, __ATOMIC_ACQUIRE) << RING_EPOCH_BITS;
	limit = (limit + producer->size_word) | RING_EPOCH_MASK;
	if (limit - head < word || limit - head - RING_EPOCH_MASK > producer->size_word)
		return false;
	control->limit = limit;
	return true;
}

/* Overwrite mode, before the first byte: store the end of the record. See section-x86_64.S. */
static void ring_portable_claim(struct ring_control *control, uint64_t end)
{
	uint64_t claim = __atomic_load_n(&control->claim, __ATOMIC_RELAXED);

	if ((int64_t)(end - claim) > 0)
		__atomic_store_n(&control->claim, end, __ATOMIC_RELAXED);
	/* Full fence: the claim before the bytes. Pairs with the fence in ring_snapshot_once(). */
	ring_doorbell_fence();
	RING_PRODUCER_STEP();
}

/* The record crosses a sub-buffer boundary: mark the sub-buffers after the first. */
static void ring_portable_mark(const struct ring_producer *producer, struct ring_control *control,
		uint64_t head, uint64_t next)
{
	uint64_t block = head >> producer->block_shift, last = next >> producer->block_shift;
	uint64_t block_crossed = __atomic_load_n(&control->block_crossed, __ATOMIC_RELAXED);
	int64_t further = (int64_t)(next - (block_crossed << RING_EPOCH_BITS)) >> RING_EPOCH_BITS;

	block_crossed += (uint64_t)further;
	/* Relaxed, all of them: the release of the head follows. */
	__atomic_store_n(&control->block_crossed, block_crossed, __ATOMIC_RELAXED);
	do {
		block++;
		RING_PRODUCER_STEP();
		__atomic_store_n(&control->blocks[block % RING_BLOCKS].position, block_crossed,
				__ATOMIC_RELAXED);
	} while ((block ^ last) % RING_BLOCKS);
	RING_PRODUCER_STEP();
}

static void ring_portable_copy(unsigned char *to, const struct ring_two_part *parts)
{
	ring_copy(ring_copy(to, parts->head, parts->head_size), parts->body, parts->body_size);
}

/*
 * The epoch of the head equals the current one only by chance, 2^51 ticks later: see
 * section-x86_64.S.
 */
static uint64_t ring_portable_invalidate(struct ring_control *control, uint64_t head)
{
	head ^= RING_EPOCH_FLIP;
	/* Release: what was written before. Pairs with the acquire in ring_view_find_end_once(). */
	__atomic_store_n(&control->head, head, __ATOMIC_RELEASE);
	RING_PRODUCER_STEP();
	return head;
}

/* The caller has this ring exclusively, but may be killed at any point. */
int ring_portable_write(const struct ring_producer *producer, const struct ring_location *location,
		uint32_t event_id, const struct ring_two_part *parts, uint64_t now)
{
	struct ring_control *control = location->control;
	uint64_t head = __atomic_load_n(&control->head, __ATOMIC_RELAXED);
	uint64_t last = __atomic_load_n(&control->last_timestamp, __ATOMIC_RELAXED);
	unsigned char *record = location->data + (ring_head_position(head) & producer->mask);
	bool over = producer->mode == RING_MODE_OVERWRITE;
	uint64_t epoch, word, next;
	bool same_time, same_epoch;
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
	word = (uint64_t)(header + parts->head_size + parts->body_size) << RING_EPOCH_BITS;
	if (over)
		ring_portable_claim(control, head + word);
	else if (!ring_portable_has_space(producer, control, head, word))
		return RING_SECTION_FULL;
	if (!same_time && same_epoch)
		head = ring_portable_invalidate(control, head);
	ring_header_write(record, header, event_id, now);
	ring_portable_copy(record + header, parts);
	RING_PRODUCER_STEP();
	next = ((head + word) & ~(uint64_t)RING_EPOCH_MASK) | epoch;
	if (over && (head ^ next) >= producer->block_word) {
		ring_portable_mark(producer, control, head, next);
		next ^= RING_EPOCH_FLIP;
	}
	/* Release: the time before the head. Pairs with the acquire in ring_view_find_end_once(). */
	__atomic_store_n(&control->last_timestamp, now, __ATOMIC_RELEASE);
	RING_PRODUCER_STEP();
	/* Release: the record before the head. Pairs with the acquire in ring_consumer_peek(). */
	__atomic_store_n(&control->head, next, __ATOMIC_RELEASE);
	return !over && (head ^ next) >= producer->block_word ? RING_SECTION_CROSSED
							      : RING_SECTION_DONE;
}

/* Write into this ring unless it is locked. *ret_nested is set if this thread holds the lock. */
static int ring_portable_try(struct ring_producer *producer, uint32_t ring, uint32_t event_id,
		const struct ring_two_part *parts, uint64_t self, bool *ret_nested)
{
	uint64_t *lock = &producer->locks[(size_t)ring * RING_LOCK_WORDS];
	const struct ring_replay *replay = ring_portable_replay(self);
	uint64_t holder = 0;
	int code;

	/* Acquire: the last holder's accesses. Pairs with the release in ring_portable_try(). */
	if (!__atomic_compare_exchange_n(
			    lock, &holder, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		*ret_nested |= holder == self;
		return RING_SECTION_BUSY;
	}
	code = ring_portable_write(producer, &producer->locations[ring], event_id, parts,
			replay ? replay->ticks : ring_clock_read((enum ring_clock)producer->clock));
	/*
	 * Release: our accesses before the next holder's. Pairs with the acquire in
	 * ring_portable_try().
	 */
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
	return code;
}

/*
 * Try each ring once, beginning with that of this CPU. *ret_nested: this thread holds one of them,
 * further up its stack. It must not wait then: another holder may be interrupted in the same way
 * and wait for it.
 */
static int ring_portable_any(struct ring_producer *producer, uint32_t event_id,
		const struct ring_two_part *parts, uint64_t self, bool *ret_nested)
{
	const struct ring_replay *replay = ring_portable_replay(self);
	uint32_t tries = producer->rings < RING_TRIED_MAX ? producer->rings : RING_TRIED_MAX;
	uint32_t ring = replay ? replay->cpu % producer->rings : ring_portable_cpu(producer);
	int code = RING_SECTION_BUSY;

	*ret_nested = false;
	for (; tries > 0 && code == RING_SECTION_BUSY; tries--, ring = (ring + 1) % producer->rings)
		code = ring_portable_try(producer, ring, event_id, parts, self, ret_nested);
	return code;
}

/* Try the ring of this thread. Only its own signal handlers can find it locked. */
static int ring_portable_own(struct ring_producer *producer, uint32_t event_id,
		const struct ring_two_part *parts, uint64_t self)
{
	uint32_t ring = ring_slot(producer);
	bool nested = false;
	int code;

	if (ring == RING_SLOT_NONE)
		return RING_SECTION_NO_RING;
	code = ring_portable_try(producer, ring, event_id, parts, self, &nested);
	if (code != RING_SECTION_BUSY)
		return code;
	ring = ring_slot_borrow(producer);
	if (ring == RING_SLOT_NONE)
		return RING_SECTION_BUSY;
	code = ring_portable_try(producer, ring, event_id, parts, self, &nested);
	ring_slot_give_back(producer, ring);
	return code;
}

int ring_portable_publish(struct ring_producer *producer, uint32_t event_id,
		const struct ring_two_part *parts)
{
	const struct timespec pause = {.tv_nsec = RING_SLEEP_NS};
	uint64_t self = ring_thread_token();
	int code = RING_SECTION_BUSY;
	int saved = errno;
	bool nested = false;

	/* Only if the kernel cannot wipe memory on fork. */
	if (producer->owner && producer->owner != getpid())
		code = RING_SECTION_FORKED;
	else if (producer->placement == RING_PER_THREAD) {
		code = ring_portable_own(producer, event_id, parts, self);
		nested = true;
	}
	for (int round = 0; code == RING_SECTION_BUSY && !nested; round++) {
		if (round && !ring_calls_permitted())
			break;
		if (round > RING_YIELDS)
			nanosleep(&pause, NULL);
		else if (round)
			sched_yield();
		code = ring_portable_any(producer, event_id, parts, self, &nested);
		if (round >= RING_YIELDS + RING_SLEEPS)
			break;
	}
	errno = saved;
	return code;
}
