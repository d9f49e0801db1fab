/* SPDX-License-Identifier: MIT */
/* The lock of the registry: for the library, for tracers, and around a fork (registry-lock.h). */
#include "registry-lock.h"

#include <stddef.h>

#include "export.h"
#include "functions.h"
#include "lock.h"
#include "rcu.h"

enum {
	FORK_SLEEPS = 100, /* of 1 ms: how long a fork waits for a notification in another thread */
};

static struct owned_lock lock;

/*
 * Taken after the lock, and released while a notification of a tracer runs: the lists are complete
 * then. A fork that cannot take the lock takes only the gate (registry_lock_for_fork()).
 */
static struct owned_lock gate;
static bool fork_has_gate_only; /* the thread that forks holds only the gate */
/* In a child: notifies tracers of what the notifying thread did not; NULL: nothing is pending. */
static void (*pending_notifications)(void);
static bool finished;

/* The function to call when the lock is free, and whether side_tracer_trylock() has failed. */
static void (*unlock_hook)(void);
static bool hook_is_due;

static void registry_call_pending(void)
{
	void (*continues)(void) = pending_notifications;

	pending_notifications = NULL;
	continues();
}

void registry_lock(void)
{
	owned_lock_acquire(&lock);
	owned_lock_acquire(&gate);
	if (pending_notifications)
		registry_call_pending();
}

/* Without the lock, so that the hook may do what the failed side_tracer_trylock() was for. */
static __attribute__((noinline, cold)) void registry_call_hook(void)
{
	/* Acquire: pairs with the release in side_tracer_unlock_hook(). */
	void (*hook)(void) = __atomic_load_n(&unlock_hook, __ATOMIC_ACQUIRE);

	/*
	 * Sequentially consistent: the mark before what the hook does. Pairs with the store in
	 * side_tracer_trylock().
	 */
	if (__atomic_exchange_n(&hook_is_due, false, __ATOMIC_SEQ_CST) && hook)
		hook();
}

void registry_unlock(void)
{
	bool outermost = lock.depth == 1;

	/* First, because owned_lock_try() of the lock must not succeed while the gate is held. */
	owned_lock_release(&gate);
	owned_lock_release(&lock);
	/*
	 * Sequentially consistent: the release of the lock before this load. Pairs with the store
	 * in side_tracer_trylock(), after which a second attempt follows. Either that attempt finds
	 * the lock free, or this load finds the mark.
	 */
	if (outermost && __atomic_load_n(&hook_is_due, __ATOMIC_SEQ_CST))
		registry_call_hook();
}

void registry_lock_for_fork(void)
{
	if (owned_lock_acquire_for(&lock, FORK_SLEEPS)) {
		owned_lock_acquire(&gate);
		return;
	}
	/* The owner holds it only while the lists change, not while a notification runs. */
	owned_lock_acquire(&gate);
	fork_has_gate_only = true;
}

void registry_unlock_in_parent(void)
{
	if (!fork_has_gate_only) {
		registry_unlock();
		return;
	}
	fork_has_gate_only = false;
	owned_lock_release(&gate);
	/*
	 * Sequentially consistent: as in registry_unlock(). A trylock may have failed because of
	 * the gate only. If the lock has an owner, that owner calls the hook.
	 */
	if (__atomic_load_n(&hook_is_due, __ATOMIC_SEQ_CST) && registry_is_free())
		registry_call_hook();
}

void registry_unlock_in_child(void (*continues)(void))
{
	/* Relaxed: a child has one thread. */
	__atomic_store_n(&hook_is_due, false, __ATOMIC_RELAXED);
	if (fork_has_gate_only) {
		/* The owner does not exist in the child, so its remaining work is not done here. */
		fork_has_gate_only = false;
		lock = (struct owned_lock){.depth = 0};
		pending_notifications = continues;
	} else {
		owned_lock_release(&lock);
	}
	owned_lock_release(&gate);
}

uint32_t registry_open_gate(void)
{
	uint32_t depth = gate.depth;

	gate.depth = 1;
	owned_lock_release(&gate);
	return depth;
}

void registry_close_gate(uint32_t depth)
{
	owned_lock_acquire(&gate);
	gate.depth = depth;
}

EXPORT void side_tracer_lock(void)
{
	side_init();
	registry_lock();
}

/* Take both locks or none. */
static bool registry_try_locks(void)
{
	if (!owned_lock_try(&lock))
		return false;
	if (owned_lock_try(&gate))
		return true;
	owned_lock_release(&lock);
	return false;
}

EXPORT bool side_tracer_trylock(void)
{
	if (registry_try_locks())
		return true;
	/*
	 * Sequentially consistent: the mark before the second attempt. Pairs with the load in
	 * registry_unlock().
	 */
	__atomic_store_n(&hook_is_due, true, __ATOMIC_SEQ_CST);
	/*
	 * The owner may have read the mark before. Then the mark stays, and the hook is called once
	 * too often.
	 */
	return registry_try_locks();
}

EXPORT void side_tracer_unlock(void)
{
	registry_unlock();
}

EXPORT void side_tracer_unlock_hook(void (*hook)(void))
{
	/* Release: the data of the hook. Pairs with the acquire in registry_call_hook(). */
	__atomic_store_n(&unlock_hook, hook, __ATOMIC_RELEASE);
}

bool registry_is_mine(void)
{
	return owned_lock_is_mine(&lock);
}

bool registry_may_wait(void)
{
	return !rcu_inside() && !registry_is_mine();
}

bool registry_is_free(void)
{
	/*
	 * Relaxed: a hint. A signal handler may interrupt the owner before it has stored its
	 * identity, so only the word is checked.
	 */
	return __atomic_load_n(&lock.lock.word, __ATOMIC_RELAXED) == 0;
}

bool registry_is_finished(void)
{
	/* Relaxed: a hint without the lock, exact with it. */
	return __atomic_load_n(&finished, __ATOMIC_RELAXED);
}

void registry_set_finished(void)
{
	/* Relaxed: as in registry_is_finished(). */
	__atomic_store_n(&finished, true, __ATOMIC_RELAXED);
}
