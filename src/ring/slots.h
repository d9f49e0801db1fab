/* SPDX-License-Identifier: MIT */
/* Which ring a thread has, in rings per thread. Private to the room. */
#ifndef SIDE_RING_SLOTS_H
#define SIDE_RING_SLOTS_H

#include "ring/section.h"

#define RING_SLOT_TABLE 64 /* Producers with rings per thread, at one time in one process. */
#define RING_SLOT_SHIFT 32 /* A thread's word: key << 32 | ring. */
#define RING_SLOT_NONE UINT32_MAX

/* Take a place in every thread's table for this producer; its key. -EMFILE: there is none. */
int ring_slots_open(uint64_t *offset, uint64_t *key);
void ring_slots_close(uint64_t key);

/* This thread's word for this producer. */
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

/* Find a ring for this thread: false when all are taken. */
bool ring_slot_take(struct ring_producer *producer);

/* The ring stays this thread's, but the next publication has to find it again. */
void ring_slot_forget(struct ring_producer *producer);

/*
 * A free ring for one publication by a handler that interrupts its thread's own (portable path):
 * its number, or RING_SLOT_NONE.
 */
uint32_t ring_slot_borrow(struct ring_producer *producer);
void ring_slot_give_back(struct ring_producer *producer, uint32_t ring);

#endif /* SIDE_RING_SLOTS_H */
