/* SPDX-License-Identifier: MIT */
/*
 * Locks and waits of the library, each with one futex word.
 *
 * They replace those of the C library: they stay usable in the child of a fork, whatever other
 * threads were doing; no wrapper that traces pthread functions interposes them; they keep errno,
 * and are no cancellation points.
 */
#ifndef SIDE_LIBSIDE_LOCK_H
#define SIDE_LIBSIDE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Plain lock: 0 free, 1 held, 2 held and another thread sleeps. */
struct futex_lock {
	uint32_t word;
};

void futex_lock(struct futex_lock *lock);
bool futex_trylock(struct futex_lock *lock); /* never waits, makes no system call */
void futex_unlock(struct futex_lock *lock);

/* Recursive lock. */
struct owned_lock {
	struct futex_lock lock;
	uint32_t depth;
	uintptr_t owner; /* identity of the thread, 0 if free */
};

void owned_lock_acquire(struct owned_lock *lock);
/* Waits for a limited number of sleeps. False: another thread still holds the lock. */
bool owned_lock_acquire_for(struct owned_lock *lock, int sleeps_of_1ms);
bool owned_lock_try(struct owned_lock *lock); /* never waits; false also if this thread holds it */
void owned_lock_release(struct owned_lock *lock);
bool owned_lock_is_mine(const struct owned_lock *lock);

/* The same value before and after a fork, unique among the living threads; never 0. */
uintptr_t thread_identity(void);

/*
 * A counter to wait on. It is raised, with a lock of the caller held, when the state that the
 * waiters check may have changed.
 */
struct turnstile {
	uint32_t turns;
};

void turnstile_turn(struct turnstile *turnstile);

/*
 * Release the lock completely, sleep until the counter is raised or, with timeout_ms >= 0, the
 * timeout has passed, and take the lock again. Spurious wake-ups are possible.
 */
void turnstile_wait(struct turnstile *turnstile, struct owned_lock *lock, int timeout_ms);

/* For waits with a timeout. */
int64_t monotonic_ms(void);

#endif /* SIDE_LIBSIDE_LOCK_H */
