/* SPDX-License-Identifier: MIT */
/*
 * Conditions that registry-lock.c and armed.c check without a lock and again with it. The calls between
 * the two checks pass through hooks, in which the test acts as another thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libside/lock.h"

enum { NEVER = -1 };

static int tries, fails_from, fails_to; /* Of owned_lock_try(). */
static void (*on_identity)(void);
static int identities, hook_at = NEVER; /* Of thread_identity(). */

static bool hooked_try(struct owned_lock *lock)
{
	int now = tries++;

	return (now < fails_from || now >= fails_to) && owned_lock_try(lock);
}

static uintptr_t hooked_identity(void)
{
	if (identities++ == hook_at && on_identity)
		on_identity();
	return thread_identity();
}

#define owned_lock_try hooked_try
#include "libside/registry-lock.c"
#undef owned_lock_try

/* All system calls of armed.c are sleeps of 1 ms. */
static int sleeps;

static long counted_sleep(long number, const struct timespec *time, void *remaining)
{
	sleeps += number == SYS_nanosleep && !time->tv_sec && time->tv_nsec == 1000000;
	return syscall(number, time, remaining);
}

#define thread_identity hooked_identity
#define syscall(number, time, remaining) counted_sleep(number, time, remaining)
#include "libside/armed.c"
#undef thread_identity
#undef syscall

#include "event.h"

static int nr_hooks, nr_unlocks;

static void count_unlock(void)
{
	nr_unlocks++;
	/* Without the lock. */
	CHECK(registry_is_free());
}

static void count_hook(void)
{
	nr_hooks++;
}

static void fail_tries(int from, int to)
{
	tries = 0;
	fails_from = from;
	fails_to = to;
}

static void check_free(void)
{
	CHECK(lock.depth == 0 && gate.depth == 0);
	CHECK(lock.lock.word == 0 && gate.lock.word == 0);
}

/*
 * The owner unlocks between the first attempt and the mark. The second attempt gets the lock, and
 * the mark causes one superfluous call.
 */
static void test_unlocked_before_mark(void)
{
	side_tracer_unlock_hook(count_unlock);
	fail_tries(0, 1);
	CHECK(side_tracer_trylock());
	CHECK_EQUAL(tries, 3);
	CHECK(lock.depth == 1 && gate.depth == 1 && hook_is_due);
	side_tracer_unlock();
	CHECK_EQUAL(nr_unlocks, 1);
	CHECK(!hook_is_due);
	check_free();
}

/* The owner unlocks after the second attempt, finds the mark, and calls the hook once. */
static void test_unlocked_after_mark(void)
{
	nr_unlocks = 0;
	fail_tries(0, 2);
	CHECK(!side_tracer_trylock());
	CHECK_EQUAL(tries, 2);
	CHECK(hook_is_due);
	check_free();
	side_tracer_lock();
	side_tracer_lock();
	side_tracer_unlock();
	/* Only the outermost unlock calls the hook. */
	CHECK_EQUAL(nr_unlocks, 0);
	side_tracer_unlock();
	CHECK_EQUAL(nr_unlocks, 1);
	side_tracer_lock();
	side_tracer_unlock();
	CHECK_EQUAL(nr_unlocks, 1);
}

/* No attempt has failed: there is no mark and no call. */
static void test_not_missed(void)
{
	nr_unlocks = 0;
	fail_tries(0, 0);
	CHECK(side_tracer_trylock());
	CHECK_EQUAL(tries, 2);
	CHECK(!hook_is_due);
	side_tracer_unlock();
	CHECK_EQUAL(nr_unlocks, 0);
	check_free();
}

/* A fork holds the second of the two locks: the first one is released. */
static void test_gate_is_held(void)
{
	nr_unlocks = 0;
	fail_tries(1, 2);
	CHECK(!registry_try_locks());
	CHECK_EQUAL(tries, 2);
	check_free();
	/* A fork that holds only the gate calls the hook if the lock is free. */
	hook_is_due = true;
	owned_lock_acquire(&gate);
	fork_has_gate_only = true;
	registry_unlock_in_parent();
	CHECK_EQUAL(nr_unlocks, 1);
	CHECK(!hook_is_due && !fork_has_gate_only);
	check_free();
	hook_is_due = true;
	CHECK(owned_lock_try(&lock));
	owned_lock_acquire(&gate);
	fork_has_gate_only = true;
	registry_unlock_in_parent();
	CHECK_EQUAL(nr_unlocks, 1);
	CHECK(hook_is_due && lock.depth == 1 && gate.depth == 0);
	owned_lock_release(&lock);
	hook_is_due = false;
}

/* ---- the hook of an armed process ---- */

static void other_thread_runs(void)
{
	busy = 1;
}

static void other_thread_ends(void)
{
	busy = 0;
}

static void test_armed(void)
{
	CHECK_EQUAL(side_tracer_arm(NULL), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_tracer_arm(count_hook), SIDE_ERROR_OK);
	armed_call();
	CHECK_EQUAL(nr_hooks, 1);
	CHECK_EQUAL(busy, 0);
}

/*
 * Another thread disarms after the first check, when this thread is about to run the hook: the hook
 * is not called.
 */
static void test_disarmed_meanwhile(void)
{
	nr_hooks = identities = 0;
	/* The first call checks whether this thread runs the hook, the second one sets its mark. */
	hook_at = 1;
	on_identity = side_tracer_disarm;
	armed_call();
	CHECK_EQUAL(nr_hooks, 0);
	CHECK_EQUAL(busy, 0);
	CHECK(!armed_hook);
	hook_at = NEVER;
}

/*
 * Another thread begins to run the hook after the first check: this thread waits for a bounded
 * time, and does not call the hook again.
 */
static void test_busy_meanwhile(void)
{
	int64_t begun;

	CHECK_EQUAL(side_tracer_arm(count_hook), SIDE_ERROR_OK);
	nr_hooks = identities = 0;
	hook_at = 0;
	on_identity = other_thread_runs;
	begun = monotonic_ms();
	armed_call();
	CHECK_EQUAL(nr_hooks, 0);
	CHECK(monotonic_ms() - begun >= HOOK_WAIT_MS);
	CHECK_EQUAL(sleeps, HOOK_WAIT_MS);
	CHECK_EQUAL(busy, 1);
	/* A call by that thread does not wait. */
	other_thread_ends();
	hook_at = NEVER;
	busy = thread_identity();
	armed_call();
	CHECK_EQUAL(nr_hooks, 0);
	armed_after_fork_in_child();
	CHECK(busy == thread_identity());
	/* A child does not have the other thread that runs it. */
	busy = 1;
	armed_after_fork_in_child();
	CHECK_EQUAL(busy, 0);
	armed_call();
	CHECK_EQUAL(nr_hooks, 1);
}

/*
 * Another thread holds the registry: the hook waits, and gives up. If this thread holds it, the
 * hook is not called immediately.
 */
static void test_registry_is_held(void)
{
	nr_hooks = identities = 0;
	registry_lock();
	armed_call();
	CHECK_EQUAL(nr_hooks, 0);
	/* The call only checked whether it runs the hook. */
	CHECK_EQUAL(identities, 1);
	registry_unlock();
	lock.lock.word = 1;
	sleeps = 0;
	armed_run_hook();
	CHECK_EQUAL(nr_hooks, 0);
	CHECK_EQUAL(sleeps, HOOK_WAIT_MS);
	lock.lock.word = 0;
	armed_run_hook();
	CHECK_EQUAL(nr_hooks, 1);
	CHECK_EQUAL(sleeps, HOOK_WAIT_MS);
}

int main(void)
{
	side_init();
	test_not_missed();
	test_unlocked_before_mark();
	test_unlocked_after_mark();
	test_gate_is_held();
	side_tracer_unlock_hook(NULL);
	test_armed();
	test_disarmed_meanwhile();
	test_busy_meanwhile();
	test_registry_is_held();
	return 0;
}
