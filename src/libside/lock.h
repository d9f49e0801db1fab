/* SPDX-License-Identifier: MIT */
/*
 * Locks and waits of the library, made of one futex word each.
 *
 * Not those of the C library, because these stay usable in the child of a fork whatever other
 * threads were doing, are never interposed by a wrapper that traces pthread functions, keep errno,
 * and are no cancellation points.
 */
#ifndef SIDE_LIBSIDE_LOCK_H
#define SIDE_LIBSIDE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Plain lock: 0 free, 1 held, 2 held and somebody sleeps. */
struct futex_lock {
	uint32_t word;
};

void futex_lock(struct futex_lock *lock);
bool futex_trylock(struct futex_lock *lock); /* never waits, makes no system call */
void futex_unlock(struct futex_lock *lock);

/* Lock that its owner may take again. */
struct owned_lock {
	struct futex_lock lock;
	uint32_t depth;
	uintptr_t owner; /* identity of the thread, 0 when free */
};

void owned_lock_acquire(struct owned_lock *lock);
/* False: another thread still holds it after that many sleeps. */
bool owned_lock_acquire_for(struct owned_lock *lock, int sleeps_of_1ms);
bool owned_lock_try(struct owned_lock *lock); /* never waits; false also when it is mine */
void owned_lock_release(struct owned_lock *lock);
bool owned_lock_is_mine(const struct owned_lock *lock);

/* The same value before and after a fork, different for each living thread; never 0. */
uintptr_t thread_identity(void);

/*
 * Something to wait for: a counter that is raised, under a lock of the caller's, when what the
 * waiters look at may have changed.
 */
struct turnstile {
	uint32_t turns;
};

void turnstile_turn(struct turnstile *turnstile);

/*
 * Release the lock (however often it is held), sleep until the turnstile turns or, with timeout_ms
 * >= 0, the time is over, and take the lock again.  Wakes up for no reason too.
 */
void turnstile_wait(struct turnstile *turnstile, struct owned_lock *lock, int timeout_ms);

/* For those who wait for a limited time. */
int64_t monotonic_ms(void);

#endif /* SIDE_LIBSIDE_LOCK_H */
