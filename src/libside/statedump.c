/* SPDX-License-Identifier: MIT */
/* Registers states, requests dumps, and stops dumps around a fork and at exit (statedump.h). */
#include "statedump.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "armed.h"
#include "export.h"
#include "functions.h"
#include "keys.h"
#include "lock.h"
#include "registry-lock.h"
#include "statedump-agent.h"
#include "statedump-states.h"

enum {
	EXIT_WAIT_MS = 2000,
	STUCK_MS = 5000, /* if no dump has ended for this long */
	/*
	 * if the agent has waited for this lock for this long; a registration then ends within 100
	 * ms
	 */
	LOCKED_MS = 80,
	LOCKED_POLL_MS = 10,
};

EXPORT int side_tracer_statedump_request(uint64_t key)
{
	int result = SIDE_ERROR_OK;

	if (key == SIDE_KEY_MATCH_ALL || !key_is_allocated(key))
		return SIDE_ERROR_INVAL;
	if (registry_is_finished())
		return SIDE_ERROR_EXITING;
	statedump_lock();
	/* Queue it for all states or for none. */
	if (statedump_reserve_for_all(key))
		statedump_enqueue_for_all(key);
	else
		result = SIDE_ERROR_NOMEM;
	/* A forked child has no agent thread before its first request. */
	if (result == SIDE_ERROR_OK && statedump_has_agent_handle() && !statedump_thread_start())
		result = SIDE_ERROR_NOMEM;
	statedump_changed();
	statedump_unlock();
	return result;
}

/* Whether a request is possible without allocation: free capacity, and a running thread. */
static bool statedump_can_request(uint64_t key)
{
	return statedump_has_capacity_for_all(key) &&
			(!statedump_has_agent_handle() || statedump_thread_runs());
}

EXPORT bool side_tracer_statedump_request_try(uint64_t key)
{
	bool result;

	if (key == SIDE_KEY_MATCH_ALL || !key_is_allocated(key) || registry_is_finished() ||
			!statedump_try_lock())
		return false;
	result = statedump_can_request(key);
	if (result)
		statedump_enqueue_for_all(key);
	statedump_changed();
	statedump_unlock();
	return result;
}

/*
 * Do not wait where that could be a deadlock: in the agent thread, or with the lock of the
 * registry, which its dumps may need. Nor if the agent waits for a lock all the time: the caller
 * may hold the loader's lock (a constructor in dlopen), and a dump, or a tracer that receives it,
 * may call the loader. The wait ends if there is no progress.
 */
static void statedump_wait_for_first_dump(const struct side_statedump_request_handle *handle)
{
	int64_t end = monotonic_ms() + STUCK_MS;
	uint64_t ended_before = statedump_nr_ended();
	struct statedump_thread_sleep sleep = {.since = monotonic_ms()};

	if (statedump_thread_is_me() || !registry_may_wait())
		return;
	while (!handle->first_done && !registry_is_finished() && monotonic_ms() < end) {
		statedump_wait(LOCKED_POLL_MS);
		if (statedump_nr_ended() != ended_before) {
			ended_before = statedump_nr_ended();
			end = monotonic_ms() + STUCK_MS;
		}
		if (!handle->first_done && statedump_thread_lock_wait_ms(&sleep) >= LOCKED_MS)
			break;
	}
}

EXPORT struct side_statedump_request_handle *side_statedump_request_notification_register(
		const char *state_name, void (*statedump_cb)(void *statedump_request_key),
		enum side_statedump_mode mode)
{
	struct side_statedump_request_handle *handle;

	side_init();
	if (!state_name || !statedump_cb || registry_is_finished() ||
			(mode != SIDE_STATEDUMP_MODE_POLLING &&
					mode != SIDE_STATEDUMP_MODE_AGENT_THREAD))
		return NULL;
	handle = statedump_new_handle(state_name, statedump_cb, mode);
	if (!handle)
		return NULL;
	statedump_lock();
	if (mode == SIDE_STATEDUMP_MODE_AGENT_THREAD && !statedump_thread_start()) {
		statedump_unlock();
		statedump_free_handle(handle);
		return NULL;
	}
	statedump_add_handle(handle);
	statedump_changed();
	if (mode == SIDE_STATEDUMP_MODE_AGENT_THREAD)
		statedump_wait_for_first_dump(handle);
	statedump_unlock();
	/* The tracer that armed the process must know a new state, even before an event. */
	armed_call();
	return handle;
}

EXPORT void side_statedump_request_notification_unregister(
		struct side_statedump_request_handle *handle)
{
	if (!handle || registry_is_finished())
		return;
	statedump_lock();
	handle->queued = 0;
	handle->dead = true;
	if (!registry_is_mine()) {
		/* Inside its own dump, the last run frees it. */
		while (handle->runs && !statedump_runs_here(handle))
			statedump_wait(-1);
	}
	statedump_remove_handle(handle);
	if (!statedump_has_agent_handle())
		statedump_thread_stop(registry_is_mine() ? 0 : -1);
	statedump_unlock();
}

/*
 * Called before a fork: end the dumps of the agent, so that the child does not inherit locks of a
 * dump. Called before any lock is taken, because the dump may need it.
 */
void statedump_pause(void)
{
	statedump_lock();
	statedump_thread_pause();
	statedump_unlock();
}

void statedump_fork_in_parent(void)
{
	statedump_thread_resume();
	statedump_unlock();
}

void statedump_fork_in_child(void)
{
	statedump_forget_runs();
	statedump_thread_forget();
	statedump_unlock();
}

void statedump_finish(void)
{
	statedump_lock();
	statedump_thread_stop(EXIT_WAIT_MS);
	statedump_changed();
	statedump_unlock();
}
