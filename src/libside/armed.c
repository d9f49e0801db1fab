/* SPDX-License-Identifier: MIT */
/* Arms and disarms the process, and runs the hook of the armed process (armed.h). */
#include "armed.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <side/tracer-extensions.h>

#include "batches.h"
#include "export.h"
#include "lock.h"
#include "rcu.h"
#include "registry-lock.h"

enum {
	HOOK_WAIT_MS = 100, /* for another thread that runs the hook */
	HOOK_SPINS = 1000,  /* before that wait sleeps: most hooks take microseconds */
};

static void (*armed_hook)(void);
static uintptr_t busy; /* the thread that runs the hook, or 0 */

static void armed_set_bits(struct side_event_description **events, uint32_t nr_events, void *unused)
{
	struct side_event_state_0 *state;
	uint32_t i;

	(void)unused;
	for (i = 0; i < nr_events; i++) {
		state = event_state(events[i]);
		/*
		 * Atomic, because the kernel and a debugger change other bits. Relaxed: no data
		 * depends on the bit.
		 */
		if (state)
			(void)__atomic_or_fetch(
					&state->enabled, SIDE_ENABLED_ARMED, __ATOMIC_RELAXED);
	}
}

static void armed_clear_bits(
		struct side_event_description **events, uint32_t nr_events, void *unused)
{
	struct side_event_state_0 *state;
	uint32_t i;

	(void)unused;
	for (i = 0; i < nr_events; i++) {
		state = event_state(events[i]);
		if (state)
			(void)__atomic_and_fetch(
					&state->enabled, ~SIDE_ENABLED_ARMED, __ATOMIC_RELAXED);
	}
}

void armed_batch_comes(struct side_event_description **events, uint32_t nr_events)
{
	/* Relaxed: the registry is locked. */
	if (__atomic_load_n(&armed_hook, __ATOMIC_RELAXED))
		armed_set_bits(events, nr_events, NULL);
}

void armed_batch_goes(struct side_event_description **events, uint32_t nr_events)
{
	/*
	 * Clear the bits: if the batch is registered again, it gets them only if the process is
	 * armed then.
	 */
	if (__atomic_load_n(&armed_hook, __ATOMIC_RELAXED))
		armed_clear_bits(events, nr_events, NULL);
}

EXPORT int side_tracer_arm(void (*hook)(void))
{
	int result = SIDE_ERROR_OK;

	if (!hook)
		return SIDE_ERROR_INVAL;
	side_init();
	registry_lock();
	if (registry_is_finished()) {
		result = SIDE_ERROR_EXITING;
	} else {
		/* Release: the data of the hook. Pairs with the acquire in armed_call(). */
		__atomic_store_n(&armed_hook, hook, __ATOMIC_RELEASE);
		batches_each(armed_set_bits, NULL);
	}
	registry_unlock();
	return result;
}

static bool armed_is_in_hook(void)
{
	/* Relaxed: only this thread stores its own identity. */
	return __atomic_load_n(&busy, __ATOMIC_RELAXED) == thread_identity();
}

static void armed_release_waiters(void)
{
	uintptr_t me = thread_identity();

	/*
	 * Release: what the hook did, before the waiting threads continue. Pairs with the acquire
	 * in armed_begin_hook().
	 */
	(void)__atomic_compare_exchange_n(&busy, &me, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

EXPORT void side_tracer_disarm(void)
{
	registry_lock();
	/* Relaxed, both: the registry is locked, and a removed hook needs no data. */
	if (__atomic_load_n(&armed_hook, __ATOMIC_RELAXED)) {
		__atomic_store_n(&armed_hook, NULL, __ATOMIC_RELAXED);
		batches_each(armed_clear_bits, NULL);
	}
	registry_unlock();
	/* Called by the hook: waiting threads need not wait for the remainder of the hook. */
	armed_release_waiters();
}

static void armed_sleep_1ms(void)
{
	const struct timespec time = {.tv_nsec = 1000000};

	/* The system call, because nanosleep() of the C library is a cancellation point. */
	(void)syscall(SYS_nanosleep, &time, NULL);
}

static void armed_relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Acquire: what the hook did. Pairs with the release in armed_release_waiters(). */
static bool armed_hook_is_running(void)
{
	return __atomic_load_n(&busy, __ATOMIC_ACQUIRE) != 0;
}

/*
 * Become the thread that runs the hook. False: another thread runs it or has run it, and this one
 * has waited for that. The wait is bounded, because that thread may need a lock that this one
 * holds.
 */
static bool armed_begin_hook(void)
{
	uintptr_t unowned = 0;
	unsigned int spins, ms;

	/* Acquire: as in armed_hook_is_running(). */
	if (__atomic_compare_exchange_n(&busy, &unowned, thread_identity(), false, __ATOMIC_ACQUIRE,
			    __ATOMIC_RELAXED))
		return true;
	for (spins = 0; spins < HOOK_SPINS && armed_hook_is_running(); spins++)
		armed_relax_cpu();
	for (ms = 0; ms < HOOK_WAIT_MS && armed_hook_is_running(); ms++)
		armed_sleep_1ms();
	return false;
}

/*
 * Wait while another thread registers events. Bounded for the same reason. False: the registry is
 * still locked.
 */
static bool armed_wait_for_registry(void)
{
	unsigned int ms;

	for (ms = 0; ms < HOOK_WAIT_MS && !registry_is_free(); ms++)
		armed_sleep_1ms();
	return ms < HOOK_WAIT_MS;
}

static void armed_run_hook(void)
{
	/* Acquire: the data of the hook. Pairs with the release in side_tracer_arm(). */
	void (*hook)(void) = __atomic_load_n(&armed_hook, __ATOMIC_ACQUIRE);

	if (hook && armed_wait_for_registry())
		hook();
	armed_release_waiters();
}

void armed_call(void)
{
	int saved_errno = errno;

	/*
	 * Not where the hook could not register anything: in a callback, or if this thread, or the
	 * code that a signal handler has interrupted, holds the lock of the registry. A later event
	 * calls the hook.
	 */
	if (!__atomic_load_n(&armed_hook, __ATOMIC_RELAXED) || armed_is_in_hook() ||
			!registry_may_wait())
		return;
	if (armed_begin_hook())
		armed_run_hook();
	errno = saved_errno;
}

void armed_after_fork_in_child(void)
{
	/* The hook of another thread does not run in the child. */
	if (!armed_is_in_hook())
		busy = 0;
}
