/* SPDX-License-Identifier: MIT */
/*
 * Threads that run code of side: their calls of functions with probes are not the program's, and
 * are not recorded.
 *
 *	control thread            from its first instruction in the C library to its last
 *	thread of `side attach`   likewise; in the first attach, from when the agent is loaded
 *	thread that it borrows    while it creates that thread; its signals are blocked
 *	thread of the program     before main(), while the agent starts, and while it exchanges messages with the daemon;
 *	                          its signals are blocked during the exchange
 *
 * A hit compares nothing for that: the thread has another entry than the table has
 * (probe/patch/hit.c). The wrapper libraries of `side record -w` compare how deep their events are
 * nested already.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracers/agent/core/own-threads.h"
#include "probe/patch/patch.h"
#include "base/inside/raw.h"

#define SIGNAL_IDS 33 /* glibc's SIGSETXID */
#define EXPORT __attribute__((visibility("default")))

/* Called by injected code (attach/code.c), by their names. */
EXPORT uint64_t *side_agent_own_begin(uint64_t *ret_before);
EXPORT void side_agent_own_end(uint64_t before, int error);
EXPORT void side_agent_own_thread(void);

/* Of the wrapper libraries, if they are preloaded. */
extern void side_wrap_own_libc(bool begins) __attribute__((weak));
extern void side_wrap_own_pthread(bool begins) __attribute__((weak));

static void own_threads_notify_wrappers(bool begins)
{
	if (side_wrap_own_libc)
		side_wrap_own_libc(begins);
	if (side_wrap_own_pthread)
		side_wrap_own_pthread(begins);
	/* No jump to another library: a wrapper knows its callers by their return addresses. */
	__asm__ volatile("");
}

static void *own_threads_begin_region(void)
{
	own_threads_notify_wrappers(true);
	return patch_own_begin();
}

static void own_threads_end_region(void *before)
{
	patch_own_end(before);
	own_threads_notify_wrappers(false);
}

EXPORT uint64_t *side_agent_own_begin(uint64_t *ret_before)
{
	*ret_before = (uintptr_t)own_threads_begin_region();
	return &patch_own_threads[PATCH_OWN_ATTACH];
}

EXPORT void side_agent_own_end(uint64_t before, int error)
{
	/* No thread clears it. Relaxed: another one may only compare it. */
	if (error)
		__atomic_store_n(&patch_own_threads[PATCH_OWN_ATTACH], 0, __ATOMIC_RELAXED);
	own_threads_end_region((void *)(uintptr_t)before);
}

static void own_threads_mark_thread(enum patch_own which)
{
	(void)own_threads_begin_region();
	/* Relaxed, as above: from here on this thread's hits do not compare it. */
	__atomic_store_n(&patch_own_threads[which], 0, __ATOMIC_RELAXED);
}

EXPORT void side_agent_own_thread(void)
{
	own_threads_mark_thread(PATCH_OWN_ATTACH);
}

unsigned long *agent_own_control(void)
{
	return &patch_own_threads[PATCH_OWN_CONTROL];
}

void agent_own_control_begins(void)
{
	own_threads_mark_thread(PATCH_OWN_CONTROL);
}

void agent_own_task_begins(void)
{
	(void)own_threads_begin_region();
}

void agent_own_begin(struct agent_own *own)
{
	/*
	 * A breakpoint ends a thread that blocks its signal; faults of reads in hits are caught.
	 * setuid() in another thread waits until this one has taken SIGNAL_IDS, possibly with a
	 * lock that this one waits for.
	 */
	uint64_t blocked = ~(1ull << (SIGTRAP - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGSEGV - 1) |
			1ull << (SIGBUS - 1) | 1ull << (SIGNAL_IDS - 1));

	raw_call(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &own->mask, sizeof(own->mask));
	own->blocks = true;
	own->before = own_threads_begin_region();
}

void agent_own_begin_start(struct agent_own *own)
{
	own->blocks = false;
	own->before = own_threads_begin_region();
}

void agent_own_end(const struct agent_own *own)
{
	own_threads_end_region(own->before);
	if (own->blocks)
		raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &own->mask, NULL, sizeof(own->mask));
}
