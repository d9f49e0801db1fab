/* SPDX-License-Identifier: MIT */
/*
 * Walk the loaded objects so that no child is forked meanwhile.
 *
 * dl_iterate_phdr() holds a lock of the loader, which no fork() resets: a child that is forked
 * while one of our threads walks would wait for ever when it throws an exception or loads a
 * library. So a fork waits for the walk, and a walk for a fork.
 *
 * Both waits are bounded: the walk may wait for a thread that forks with the loader's lock held.
 */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracers/agent/core/objects.h"
#include "protocol/protocol.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"

#define OBJECTS_WAIT_MS 100

static uintptr_t objects_owner; /* the thread that walks or forks, or 0 */
static bool objects_forking;    /* the owner is in a fork; written by the owner */

/*
 * Make this thread the owner. Makes no system call unless it must wait. It never waits in a
 * sandbox: a sandbox can permit fork() and end the program at the system calls of a wait. False:
 * another thread is the owner, or this thread already is.
 */
static bool objects_take(void)
{
	uintptr_t me = (uintptr_t)__builtin_thread_pointer(), seen = 0;
	uint64_t deadline = 0;

	/*
	 * Acquire: pairs with the release in objects_give(), so this thread sees what the last
	 * owner did.
	 */
	while (!__atomic_compare_exchange_n(
			&objects_owner, &seen, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		const struct timespec pause = {.tv_nsec = 1000000};

		if (seen == me || !context_may_ask())
			return false;
		if (!deadline)
			deadline = wire_deadline(agent_scale_timeout(OBJECTS_WAIT_MS));
		else if (wire_deadline(0) >= deadline)
			return false;
		raw_call(SYS_nanosleep, &pause, NULL);
		seen = 0;
	}
	return true;
}

static void objects_give(void)
{
	/*
	 * Release: pairs with the acquire in objects_take(), so the next owner sees what this one
	 * did.
	 */
	__atomic_store_n(&objects_owner, 0, __ATOMIC_RELEASE);
}

int agent_objects_each(
		int (*callback)(struct dl_phdr_info *object, size_t size, void *user), void *user)
{
	bool is_owner = objects_take();
	int ret = dl_iterate_phdr(callback, user);

	if (is_owner)
		objects_give();
	return ret;
}

void agent_objects_fork(void)
{
	if (objects_take())
		objects_forking = true;
}

void agent_objects_fork_done(void)
{
	/* Relaxed: only this thread stores itself there. */
	if (__atomic_load_n(&objects_owner, __ATOMIC_RELAXED) !=
					(uintptr_t)__builtin_thread_pointer() ||
			!objects_forking)
		return;
	objects_forking = false;
	objects_give();
}

void agent_objects_forked(void)
{
	objects_forking = false;
	objects_give();
}
