/* SPDX-License-Identifier: MIT */
/* Implements the locks and waits of the library with futexes (lock.h). */
#include "lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void futex_sleep(uint32_t *word, uint32_t value, const struct timespec *timeout)
{
	int saved_errno = errno;

	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
	errno = saved_errno;
}

static void futex_rouse(uint32_t *word, int threads)
{
	int saved_errno = errno;

	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
	errno = saved_errno;
}

void futex_lock(struct futex_lock *lock)
{
	uint32_t seen = 0;

	/* Acquire: what the last owner did. Pairs with the release in futex_unlock(). */
	if (__atomic_compare_exchange_n(
			    &lock->word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	/*
	 * From here on the word is 2, so that the owner wakes the next thread. Acquire: what the
	 * last owner did. Pairs with the release in futex_unlock().
	 */
	while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
		futex_sleep(&lock->word, 2, NULL);
}

bool futex_trylock(struct futex_lock *lock)
{
	uint32_t seen = 0;

	/* Acquire: as in futex_lock(). */
	return __atomic_compare_exchange_n(
			&lock->word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void futex_unlock(struct futex_lock *lock)
{
	/*
	 * Sequentially consistent: our changes before the lock is free, which futex_lock needs, and
	 * before the later loads of the caller. Pairs with the access in owned_lock_try(). The
	 * caller checks whether that access failed (registry_unlock()).
	 */
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_SEQ_CST) == 2)
		futex_rouse(&lock->word, 1);
}

uintptr_t thread_identity(void)
{
#if defined(__x86_64__) && defined(__LP64__)
	uintptr_t self;

	/*
	 * The value of pthread_self(), whose call would appear in a trace as one of the program's.
	 */
	__asm__("movq %%fs:0x10, %0" : "=r"(self));
	return self;
#else
	return (uintptr_t)pthread_self();
#endif
}

bool owned_lock_is_mine(const struct owned_lock *lock)
{
	/* Relaxed: only the owner's own stores can make this true. */
	return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == thread_identity();
}

void owned_lock_acquire(struct owned_lock *lock)
{
	if (!owned_lock_is_mine(lock)) {
		futex_lock(&lock->lock);
		__atomic_store_n(&lock->owner, thread_identity(), __ATOMIC_RELAXED);
	}
	lock->depth++;
}

/* The timeout counts sleeps, because a program may be forbidden to read clocks. */
bool owned_lock_acquire_for(struct owned_lock *lock, int sleeps_of_1ms)
{
	const struct timespec timeout = {.tv_nsec = 1000000};

	if (!owned_lock_is_mine(lock)) {
		/*
		 * Acquire: as in futex_lock(). After a failure, the next unlock may wake a sleeper
		 * that does not exist.
		 */
		while (__atomic_exchange_n(&lock->lock.word, 2, __ATOMIC_ACQUIRE) != 0) {
			if (!sleeps_of_1ms--)
				return false;
			futex_sleep(&lock->lock.word, 2, &timeout);
		}
		__atomic_store_n(&lock->owner, thread_identity(), __ATOMIC_RELAXED);
	}
	lock->depth++;
	return true;
}

bool owned_lock_try(struct owned_lock *lock)
{
	uint32_t seen = 0;

	/*
	 * Sequentially consistent, also if it fails: our earlier stores before the attempt. Pairs
	 * with the access in futex_unlock().
	 */
	if (!__atomic_compare_exchange_n(
			    &lock->lock.word, &seen, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	__atomic_store_n(&lock->owner, thread_identity(), __ATOMIC_RELAXED);
	lock->depth = 1;
	return true;
}

void owned_lock_release(struct owned_lock *lock)
{
	if (--lock->depth)
		return;
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELAXED);
	futex_unlock(&lock->lock);
}

void turnstile_turn(struct turnstile *turnstile)
{
	/*
	 * Relaxed: the waiter checks the state with the lock held, and the futex orders the sleep.
	 */
	(void)__atomic_add_fetch(&turnstile->turns, 1, __ATOMIC_RELAXED);
	futex_rouse(&turnstile->turns, INT_MAX);
}

void turnstile_wait(struct turnstile *turnstile, struct owned_lock *lock, int timeout_ms)
{
	struct timespec timeout = {
			.tv_sec = timeout_ms / 1000,
			.tv_nsec = (timeout_ms % 1000) * 1000000L,
	};
	/*
	 * Read with the lock held: a change after the lock is released makes the futex return at
	 * once.
	 */
	uint32_t turns = __atomic_load_n(&turnstile->turns, __ATOMIC_RELAXED);
	uint32_t depth = lock->depth;

	lock->depth = 1;
	owned_lock_release(lock);
	futex_sleep(&turnstile->turns, turns, timeout_ms < 0 ? NULL : &timeout);
	owned_lock_acquire(lock);
	lock->depth = depth;
}

int64_t monotonic_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
