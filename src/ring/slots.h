/* SPDX-License-Identifier: MIT */
/* The assignment of rings to threads, with rings per thread. Private to this module. */
#ifndef SIDE_RING_SLOTS_H
#define SIDE_RING_SLOTS_H

#include "ring/section.h"

#define RING_SLOT_TABLE 64 /* Producers with rings per thread that a process can have at a time. */
#define RING_SLOT_SHIFT 32 /* The word of a thread: key << 32 | ring. */
#define RING_SLOT_NONE UINT32_MAX
#define RING_LOCK_WORDS 8 /* Of the lock of a ring: one lock a cache line. */

/*
 * Reserve a word in the table of each thread for this producer, and return its key. -EMFILE: none
 * free.
 */
int ring_slots_open(uint64_t *ret_offset, uint64_t *ret_key);
void ring_slots_close(uint64_t key);

/* The word of this thread for this producer. */
static inline uint64_t *ring_slot_word(const struct ring_producer *producer)
{
	return (uint64_t *)((uintptr_t)__builtin_thread_pointer() +
			(uintptr_t)producer->slot_offset);
}

/* The ring of this thread, or RING_SLOT_NONE. */
static inline uint32_t ring_slot(const struct ring_producer *producer)
{
	/* A signal handler of this thread may write it; the thread itself reads it whole. */
	uint64_t ring = __atomic_load_n(ring_slot_word(producer), __ATOMIC_RELAXED) ^
			producer->slot_key;

	return ring < producer->rings ? (uint32_t)ring : RING_SLOT_NONE;
}

/* Find a ring for this thread. False: all rings are in use. */
bool ring_slot_take(struct ring_producer *producer);

/* Keep the ring, but make the next publication of this thread search for it. */
void ring_slot_forget(struct ring_producer *producer);

/*
 * Take a free ring for one publication by a signal handler that interrupts a publication of its
 * thread (portable path). Returns its number, or RING_SLOT_NONE.
 */
uint32_t ring_slot_borrow(struct ring_producer *producer);
void ring_slot_give_back(struct ring_producer *producer, uint32_t ring);

#endif /* SIDE_RING_SLOTS_H */
