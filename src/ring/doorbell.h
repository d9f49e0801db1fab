/* SPDX-License-Identifier: MIT */
/*
 * The doorbell of a ring memory. Private to this module; ring.h declares the functions for others.
 */
#ifndef SIDE_RING_DOORBELL_H
#define SIDE_RING_DOORBELL_H

#include "ring/ring.h"

/* Alone in its cache line: every producer of the process reads it at each sub-buffer boundary. */
struct ring_doorbell {
	uint32_t sleeping;
	uint32_t sequence; /* The futex. */
	uint32_t reserved[14];
};

/* Full fence: an earlier store before a later load. Each caller names its partner. */
static inline void ring_doorbell_fence(void)
{
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan" /* No data is passed by this fence. */
#endif
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

void ring_doorbell_wake(struct ring_doorbell *doorbell);

/* Whether a publication may make a system call now: see ring_ask_before_calls(). */
bool ring_calls_permitted(void);

/* Call after a record crossed a sub-buffer boundary. doorbell may be NULL. Keeps errno. */
static inline void ring_doorbell_crossed(struct ring_doorbell *doorbell)
{
	if (!doorbell)
		return;
	/*
	 * Full fence: the head is visible before `sleeping` is loaded. Pairs with the fence in
	 * ring_doorbell_arm(), which is between `sleeping` and the heads.
	 */
	ring_doorbell_fence();
	if (__atomic_load_n(&doorbell->sleeping, __ATOMIC_RELAXED) && ring_calls_permitted())
		ring_doorbell_wake(doorbell);
}

#endif /* SIDE_RING_DOORBELL_H */
