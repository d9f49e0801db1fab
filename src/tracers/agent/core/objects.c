/* SPDX-License-Identifier: MIT */
/*
 * Walk the loaded objects so that no child is forked meanwhile.
 *
 * dl_iterate_phdr() holds a lock of the loader, which no fork() resets: a child that is forked
 * while one of our threads walks would wait for ever when it throws an exception or loads a
 * library. So a fork waits for the walk, and a walk for a fork.
 *
 * Both waits are bounded: the walk may wait for a thread that forks with the loader's lock held.
 *
 * Threads of the program can hold that lock, too: while they load a library, or walk. A child that
 * is forked meanwhile must not walk. So the lock is found in the loader's data beforehand: it is the
 * recursive mutex that this thread owns during a walk, but not before.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
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
static bool objects_stuck;      /* a walk in this forked child would wait for ever */

/* ---- the loader's lock ---- */

#ifdef __GLIBC__
static const pthread_mutex_t *objects_lock; /* NULL: not found */

struct objects_search {
	const char *data; /* of the loader */
	size_t size;
	int thread;
	const pthread_mutex_t *before, *found; /* `before`: what the thread owns before the walk */
};

/* Returns the first recursive mutex after `after` that this thread owns once, or NULL. */
static const pthread_mutex_t *objects_owned(
		const struct objects_search *search, const pthread_mutex_t *after)
{
	size_t at = after ? (size_t)((const char *)after - search->data) + sizeof(void *) : 0;

	for (; at + sizeof(pthread_mutex_t) <= search->size; at += sizeof(void *)) {
		const pthread_mutex_t *mutex = (const void *)(search->data + at);

		if (mutex->__data.__owner == search->thread && mutex->__data.__count == 1 &&
				mutex->__data.__lock &&
				mutex->__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP)
			return mutex;
	}
	return NULL;
}

static int objects_search(struct dl_phdr_info *object, size_t size, void *user)
{
	struct objects_search *search = user;

	(void)object;
	(void)size;
	search->found = objects_owned(search, NULL);
	/* The thread loads this library: it owns another lock of the loader, too. */
	while (search->found && search->found == search->before)
		search->found = objects_owned(search, search->found);
	return 1;
}

/* In a forked child, which has one thread. */
static bool objects_are_locked(void)
{
	return objects_lock && objects_lock->__data.__lock;
}
#else
static bool objects_are_locked(void)
{
	return false;
}
#endif

/* ---- walks and forks ---- */

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
	bool is_owner;
	int ret;

	if (objects_stuck)
		return 0;
	is_owner = objects_take();
	ret = dl_iterate_phdr(callback, user);
	if (is_owner)
		objects_give();
	return ret;
}

#ifdef __GLIBC__
void agent_objects_learn(void)
{
	const char *data = dlsym(RTLD_DEFAULT, "_rtld_global");
	struct objects_search search = {.data = data, .thread = (int)raw_call(SYS_gettid)};
	void *symbol = NULL;
	Dl_info info;

	if (!objects_lock && data && dladdr1(data, &info, &symbol, RTLD_DL_SYMENT) && symbol) {
		search.size = ((const ElfW(Sym) *)symbol)->st_size;
		search.before = objects_owned(&search, NULL);
		agent_objects_each(objects_search, &search);
		/* This thread does not own it any more. */
		if (search.found && search.found->__data.__owner != search.thread)
			objects_lock = search.found;
	}
	(void)dlerror();
}
#else
void agent_objects_learn(void) {}
#endif

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
	objects_stuck |= objects_are_locked();
}

bool agent_objects_are_stuck(void)
{
	return objects_stuck;
}
