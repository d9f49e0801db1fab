/* SPDX-License-Identifier: MIT */
/*
 * Rings per thread: who has which.
 *
 * A thread takes a ring with its first record and notes its number in thread-local memory, under
 * the producer's key, where the sections look. There is no destructor, which could not be had where
 * this runs: the ring of a thread that is gone is found when another needs one.
 *
 * owners[ring] = times taken << 32 | thread id, 0 in the lower half for a free one. It is private
 * memory, wiped by fork like all of struct ring_producer. The upper half lets one of two win that
 * take the same ring of a dead thread, also when a new thread has the dead one's id.
 *
 * A handler that interrupts its thread while it takes a ring finds either nothing and takes one
 * itself, which the thread finds and gives its own back; or the thread's id, and takes that ring.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/clock.h"
#include "ring/doorbell.h"
#include "ring/portable.h"
#include "ring/slots.h"

#define RING_SLOTS_AGAIN_NS 10000000 /* When all were taken: how soon to look again. */

/*
 * Initial-exec: reached without a call that could allocate, in a library that is there from the
 * program's start. Zero matches no key.
 */
static __thread uint64_t ring_slot_words[RING_SLOT_TABLE]
		__attribute__((tls_model("initial-exec")));

/* Places in that table, and the last key. A key's low bits are its place's number. */
static uint64_t ring_slots_used;
static uint32_t ring_slots_key;

int ring_slots_open(uint64_t *offset, uint64_t *key)
{
	uint64_t used = __atomic_load_n(&ring_slots_used, __ATOMIC_RELAXED);
	unsigned int index;

	/* Nothing else is ordered by this: a place is whose bit it is. */
	do {
		if (used == UINT64_MAX)
			return -EMFILE;
		index = (unsigned int)__builtin_ctzll(~used);
	} while (!__atomic_compare_exchange_n(&ring_slots_used, &used, used | UINT64_C(1) << index,
			false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*offset = (uint64_t)((uintptr_t)&ring_slot_words[index] -
			(uintptr_t)__builtin_thread_pointer());
	*key = (uint64_t)(__atomic_add_fetch(&ring_slots_key, 1, __ATOMIC_RELAXED) *
					       RING_SLOT_TABLE +
			       index)
			<< RING_SLOT_SHIFT;
	return 0;
}

void ring_slots_close(uint64_t key)
{
	unsigned int index = key >> RING_SLOT_SHIFT & (RING_SLOT_TABLE - 1);

	__atomic_fetch_and(&ring_slots_used, ~(UINT64_C(1) << index), __ATOMIC_RELAXED);
}

static void ring_slot_note(struct ring_producer *producer, uint32_t ring)
{
	__atomic_store_n(ring_slot_word(producer), producer->slot_key | ring, __ATOMIC_RELAXED);
}

static uint32_t ring_thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* Not of this process any more. Whoever is dying has written its last record. */
static bool ring_thread_gone(uint32_t thread)
{
	return syscall(SYS_tgkill, getpid(), thread, 0) && errno == ESRCH;
}

/* Make it ours, if its owner is still who it was. */
static bool ring_slot_change(
		struct ring_producer *producer, uint32_t ring, uint64_t owner, uint32_t thread)
{
	uint64_t mine = ((owner >> 32) + 1) << 32 | thread;

	/* Acquire: what the one before wrote. Pairs with the release of ring_slot_give_back(). */
	if (!__atomic_compare_exchange_n(&producer->owners[ring], &owner, mine, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	/* The one before may have been cancelled while it wrote. */
	__atomic_store_n(&producer->locks[(size_t)ring * RING_LOCK_WORDS], 0, __ATOMIC_RELAXED);
	return true;
}

/* Whether it is worth while to look: a search that finds nothing takes a system call a ring. */
static bool ring_slots_worth(struct ring_producer *producer)
{
	uint64_t looked = __atomic_load_n(&producer->slots_looked_ns, __ATOMIC_RELAXED);

	return !looked ||
			(uint64_t)ring_clock_read_ns(CLOCK_MONOTONIC) - looked >
			RING_SLOTS_AGAIN_NS;
}

/* A ring that is free, or whose owner is gone. */
static uint32_t ring_slot_search(struct ring_producer *producer, uint32_t thread)
{
	for (int dead = 0; dead < 2; dead++) {
		for (uint32_t ring = 0; ring < producer->rings; ring++) {
			uint64_t owner = __atomic_load_n(&producer->owners[ring], __ATOMIC_RELAXED);

			if (dead ? !ring_thread_gone((uint32_t)owner) : (uint32_t)owner != 0)
				continue;
			if (ring_slot_change(producer, ring, owner, thread))
				return ring;
		}
	}
	__atomic_store_n(&producer->slots_looked_ns, (uint64_t)ring_clock_read_ns(CLOCK_MONOTONIC),
			__ATOMIC_RELAXED);
	return RING_SLOT_NONE;
}

/* This thread's id stands at a ring already: see the top of the file. */
static uint32_t ring_slot_find_own(struct ring_producer *producer, uint32_t thread)
{
	for (uint32_t ring = 0; ring < producer->rings; ring++) {
		uint64_t owner = __atomic_load_n(&producer->owners[ring], __ATOMIC_RELAXED);

		if ((uint32_t)owner == thread && ring_slot_change(producer, ring, owner, thread))
			return ring;
	}
	return RING_SLOT_NONE;
}

bool ring_slot_take(struct ring_producer *producer)
{
	unsigned char *data;
	uint32_t thread, ring;

	/* A child of vfork() has its parent's words; what it took would be its own, and then nobody's. */
	if (!ring_calls_permitted() || !ring_slots_worth(producer) || producer->pid != getpid())
		return false;
	thread = ring_thread_id();
	ring = ring_slot_find_own(producer, thread);
	if (ring == RING_SLOT_NONE)
		ring = ring_slot_search(producer, thread);
	if (ring == RING_SLOT_NONE)
		return false;
	if (ring_slot(producer) != RING_SLOT_NONE && ring_slot(producer) != ring) {
		/* A handler was faster. */
		ring_slot_give_back(producer, ring);
		return true;
	}
	ring_slot_note(producer, ring);
	data = producer->locations[ring].data;
	madvise(data, (size_t)producer->mask + 1, MADV_DODUMP);
	return true;
}

void ring_slot_forget(struct ring_producer *producer)
{
	__atomic_store_n(ring_slot_word(producer), 0, __ATOMIC_RELAXED);
}

uint32_t ring_slot_borrow(struct ring_producer *producer)
{
	return ring_calls_permitted() && ring_slots_worth(producer)
			? ring_slot_search(producer, ring_thread_id())
			: RING_SLOT_NONE;
}

void ring_slot_give_back(struct ring_producer *producer, uint32_t ring)
{
	/* Relaxed: the ring is this thread's own. */
	uint64_t owner = __atomic_load_n(&producer->owners[ring], __ATOMIC_RELAXED);

	/* Release: what we wrote. Pairs with the acquire in ring_slot_change(). */
	__atomic_store_n(&producer->owners[ring], owner >> 32 << 32, __ATOMIC_RELEASE);
}
