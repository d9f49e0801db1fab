/* SPDX-License-Identifier: MIT */
/*
 * Starts and ends the library, and handles fork.
 *
 * The start is cheap: no thread, no file, no allocation by the library. The first tracer sets up
 * the remainder. The end removes all events, stops the agent thread and keeps the memory that other
 * threads may still read; threads that emit events while destructors run find no callbacks.
 *
 * Fork: the handlers take all locks, in their order, so that the lists in the child are complete.
 * The owner of a lock never waits for readers, so a fork inside a callback gets the locks. A fork
 * waits 100 ms at most for a notification of a tracer in another thread: the lists are complete
 * then, too.
 *
 * vfork runs no handlers and needs none if the child only emits events before it executes a
 * program: a child that shares memory emits through the reader of its parent's thread, or not at
 * all. The same is true of clone() without a thread library: emitting works, but (un)registering in
 * such a child is not supported. A child of the bare fork system call may emit. Its first
 * unregistration waits until it detects that the parent's other threads do not exist in it, and
 * threads that it creates do not emit.
 */
#include <errno.h>
#include <pthread.h>

#include "armed.h"
#include "export.h"
#include "functions.h"
#include "keys.h"
#include "lifecycle.h"
#include "rcu.h"
#include "registry-lock.h"
#include "registry.h"
#include "report.h"
#include "statedump-states.h"
#include "statedump.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_set_up;

static void lifecycle_fork_prepare(void)
{
	statedump_pause();
	registry_lock_for_fork();
	statedump_lock();
	keys_lock();
}

static void lifecycle_fork_in_parent(void)
{
	keys_unlock();
	statedump_fork_in_parent();
	registry_unlock_in_parent();
}

static void fork_in_child(void)
{
	rcu_after_fork_in_child();
	armed_after_fork_in_child();
	keys_unlock();
	statedump_fork_in_child();
	registry_unlock_in_child(registry_continue_notifications);
}

int lifecycle_watch_forks(lifecycle_register_atfork_func register_atfork)
{
	return register_atfork(
			lifecycle_fork_prepare, lifecycle_fork_in_parent, fork_in_child, NULL);
}

static void lifecycle_init(void)
{
	int saved_errno = errno;

	report_init();
	(void)pthread_atfork(lifecycle_fork_prepare, lifecycle_fork_in_parent, fork_in_child);
	errno = saved_errno;
	/*
	 * Release: the initialized state. Pairs with the acquire in side_init(), which then does
	 * nothing.
	 */
	__atomic_store_n(&is_set_up, true, __ATOMIC_RELEASE);
}

EXPORT void side_init(void)
{
	/* Acquire: the initialized state. Pairs with the release in lifecycle_init(). */
	if (!__atomic_load_n(&is_set_up, __ATOMIC_ACQUIRE))
		(void)pthread_once(&once, lifecycle_init);
}

EXPORT void side_exit(void)
{
	if (registry_finish())
		statedump_finish();
}

/*
 * A separate function: gcc drops the priority of a constructor that was declared without one
 * before.
 */
static __attribute__((LIBRARY_BEGIN)) void library_begins(void)
{
	side_init();
}

#ifdef LIBSIDE_STATIC
static void end_after_destructors(void)
{
	side_exit();
}
#else
/* A function of the C++ ABI in the C library. With NULL as object, `function` runs at exit. */
extern int __cxa_atexit(void (*function)(void *), void *argument, void *object);

static void lifecycle_end(void *unused)
{
	(void)unused;
	side_exit();
}

/*
 * The loader runs destructors of libraries that do not depend on this library in any order. Later
 * destructors still emit events, such as a free() that a wrapper records. A function that is
 * registered within a destructor runs after all destructors. If the C library ignores the
 * function, the process ends at once.
 */
static void end_after_destructors(void)
{
	if (__cxa_atexit(lifecycle_end, NULL, NULL))
		side_exit();
}
#endif

static __attribute__((LIBRARY_END)) void library_ends(void)
{
	end_after_destructors();
}
