/* SPDX-License-Identifier: MIT */
/* Keeps the registered states, queues their requests, and runs the dumps (statedump-states.h). */
#include "statedump-states.h"

#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "keys.h"
#include "lock.h"
#include "registry-lock.h"
#include "statedump-events.h"

/*
 * The wrappers recognize a call of the tracer by its return address, so the last call of a function
 * must not be a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

static struct owned_lock lock;
static struct turnstile changes;

static struct side_statedump_request_handle *first_handle;
static uint64_t last_request;
static uint64_t ended_dumps;

void statedump_lock(void)
{
	owned_lock_acquire(&lock);
}

bool statedump_try_lock(void)
{
	return owned_lock_try(&lock);
}

void statedump_unlock(void)
{
	owned_lock_release(&lock);
}

void statedump_wait(int timeout_ms)
{
	turnstile_wait(&changes, &lock, timeout_ms);
}

void statedump_changed(void)
{
	turnstile_turn(&changes);
}

static bool statedump_is_queued(const struct side_statedump_request_handle *handle, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < handle->queued; i++) {
		if (handle->queue[i].key == key)
			return true;
	}
	return false;
}

/*
 * Allocate capacity for one more request. The allocation may be traced, and the tracer may make
 * requests meanwhile, so the state is checked again afterwards.
 */
static bool statedump_reserve(struct side_statedump_request_handle *handle)
{
	struct statedump_request *queue;
	uint32_t capacity;

	while (handle->queued == handle->capacity) {
		capacity = handle->capacity ? handle->capacity * 2 : 4;
		if (capacity > STATEDUMP_QUEUE_MAX)
			return false;
		queue = calloc(capacity, sizeof(*queue));
		if (!queue)
			return false;
		if (handle->capacity < capacity) {
			struct statedump_request *old = handle->queue;

			if (old)
				memcpy(queue, old, handle->queued * sizeof(*queue));
			handle->queue = queue;
			handle->capacity = capacity;
			queue = old;
		}
		/*
		 * A call of free(), even with NULL, would appear in a trace as one of the
		 * program's.
		 */
		if (queue)
			free(queue);
	}
	return true;
}

static void statedump_enqueue(struct side_statedump_request_handle *handle, uint64_t key)
{
	if (statedump_is_queued(handle, key))
		return;
	handle->queue[handle->queued++] = (struct statedump_request){key, ++last_request};
}

static void statedump_remove_request(struct side_statedump_request_handle *handle, uint32_t at)
{
	handle->queued--;
	memmove(&handle->queue[at], &handle->queue[at + 1],
			(handle->queued - at) * sizeof(*handle->queue));
}

bool statedump_reserve_for_all(uint64_t key)
{
	struct side_statedump_request_handle *handle;

	for (handle = first_handle; handle; handle = handle->next) {
		if (!handle->dead && !statedump_is_queued(handle, key) &&
				!statedump_reserve(handle))
			return false;
	}
	return true;
}

bool statedump_has_capacity_for_all(uint64_t key)
{
	const struct side_statedump_request_handle *handle;

	for (handle = first_handle; handle; handle = handle->next)
		if (!handle->dead && !statedump_is_queued(handle, key) &&
				handle->queued == handle->capacity)
			return false;
	return true;
}

void statedump_enqueue_for_all(uint64_t key)
{
	struct side_statedump_request_handle *handle;

	for (handle = first_handle; handle; handle = handle->next) {
		if (!handle->dead)
			statedump_enqueue(handle, key);
	}
}

struct side_statedump_request_handle *statedump_oldest(enum side_statedump_mode mode)
{
	struct side_statedump_request_handle *handle, *oldest = NULL;

	for (handle = first_handle; handle; handle = handle->next) {
		if (handle->mode != mode || handle->dead || !handle->queued)
			continue;
		if (!oldest || handle->queue[0].number < oldest->queue[0].number)
			oldest = handle;
	}
	return oldest;
}

bool statedump_has_agent_handle(void)
{
	struct side_statedump_request_handle *handle;

	for (handle = first_handle; handle; handle = handle->next) {
		if (handle->mode == SIDE_STATEDUMP_MODE_AGENT_THREAD && !handle->dead)
			return true;
	}
	return false;
}

static void statedump_unlink_handle(struct side_statedump_request_handle *handle)
{
	if (handle->previous)
		handle->previous->next = handle->next;
	else
		first_handle = handle->next;
	if (handle->next)
		handle->next->previous = handle->previous;
}

void statedump_free_handle(struct side_statedump_request_handle *handle)
{
	free(handle->queue);
	free(handle->name);
	free(handle);
	NO_TAIL_CALL();
}

static void statedump_unlink_run(
		struct side_statedump_request_handle *handle, struct statedump_run *run)
{
	struct statedump_run **link = &handle->runs;

	while (*link != run)
		link = &(*link)->next;
	*link = run->next;
}

bool statedump_runs_here(const struct side_statedump_request_handle *handle)
{
	const struct statedump_run *run;

	for (run = handle->runs; run; run = run->next) {
		if (run->thread == thread_identity())
			return true;
	}
	return false;
}

void statedump_run_one(struct side_statedump_request_handle *handle)
{
	struct statedump_run run = {.next = handle->runs, .thread = thread_identity()};
	struct statedump_request request = handle->queue[0];
	uint64_t key = request.key; /* a copy for the callback, which may change it */

	statedump_remove_request(handle, 0);
	handle->runs = &run;
	statedump_unlock();

	statedump_emit(STATEDUMP_BEGIN, handle->name, request.key);
	handle->cb(&key);
	statedump_emit(STATEDUMP_END, handle->name, request.key);

	statedump_lock();
	statedump_unlink_run(handle, &run);
	ended_dumps++;
	if (request.number >= handle->first_request)
		handle->first_done = true;
	statedump_changed();
	if (handle->orphaned && !handle->runs) {
		statedump_unlink_handle(handle);
		statedump_free_handle(handle);
	}
}

uint64_t statedump_nr_ended(void)
{
	return ended_dumps;
}

struct side_statedump_request_handle *statedump_new_handle(const char *name,
		void (*cb)(void *statedump_request_key), enum side_statedump_mode mode)
{
	struct side_statedump_request_handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	handle->name = strdup(name);
	handle->cb = cb;
	handle->mode = mode;
	if (!handle->name || !statedump_reserve(handle)) {
		statedump_free_handle(handle);
		return NULL;
	}
	return handle;
}

void statedump_add_handle(struct side_statedump_request_handle *handle)
{
	handle->next = first_handle;
	if (first_handle)
		first_handle->previous = handle;
	first_handle = handle;
	statedump_enqueue(handle, SIDE_KEY_MATCH_ALL);
	handle->first_request = last_request;
}

void statedump_remove_handle(struct side_statedump_request_handle *handle)
{
	if (handle->runs) {
		handle->orphaned = true;
	} else {
		statedump_unlink_handle(handle);
		statedump_free_handle(handle);
	}
}

void statedump_forget_runs(void)
{
	struct side_statedump_request_handle *handle;
	struct statedump_run **link;

	for (handle = first_handle; handle; handle = handle->next) {
		link = &handle->runs;
		while (*link) {
			if ((*link)->thread == thread_identity())
				link = &(*link)->next;
			else
				*link = (*link)->next;
		}
	}
}

EXPORT void side_tracer_statedump_run(
		const char *state_name, void (*dump)(void *statedump_request_key), uint64_t key)
{
	uint64_t copy = key; /* for the function, which may change it */

	if (!state_name || !dump || registry_is_finished())
		return;
	statedump_emit(STATEDUMP_BEGIN, state_name, key);
	dump(&copy);
	statedump_emit(STATEDUMP_END, state_name, key);
}

EXPORT int side_tracer_statedump_request_cancel(uint64_t key)
{
	struct side_statedump_request_handle *handle;
	uint32_t i;

	if (key == SIDE_KEY_MATCH_ALL || key_is_reserved(key))
		return SIDE_ERROR_INVAL;
	if (registry_is_finished())
		return SIDE_ERROR_EXITING;
	statedump_lock();
	for (handle = first_handle; handle; handle = handle->next) {
		for (i = 0; i < handle->queued; i++) {
			if (handle->queue[i].key == key) {
				statedump_remove_request(handle, i);
				break; /* a key is queued once only */
			}
		}
	}
	statedump_unlock();
	return SIDE_ERROR_OK;
}

EXPORT bool side_statedump_poll_pending_requests(struct side_statedump_request_handle *handle)
{
	bool pending;

	if (!handle || registry_is_finished())
		return false;
	statedump_lock();
	pending = handle->mode == SIDE_STATEDUMP_MODE_POLLING && handle->queued;
	statedump_unlock();
	return pending;
}

/* Run the requests that are queued now, not those that its callbacks add, which might never end. */
EXPORT int side_statedump_run_pending_requests(struct side_statedump_request_handle *handle)
{
	struct statedump_run pin;
	uint64_t newest;

	if (!handle)
		return SIDE_ERROR_INVAL;
	if (registry_is_finished())
		return SIDE_ERROR_EXITING;
	statedump_lock();
	if (handle->mode != SIDE_STATEDUMP_MODE_POLLING) {
		statedump_unlock();
		return SIDE_ERROR_INVAL;
	}
	/* A run of our own around all of them keeps the state until the check below. */
	pin = (struct statedump_run){.next = handle->runs, .thread = thread_identity()};
	handle->runs = &pin;
	newest = last_request;
	while (!handle->dead && handle->queued && handle->queue[0].number <= newest)
		statedump_run_one(handle);
	statedump_unlink_run(handle, &pin);
	statedump_changed();
	if (handle->orphaned && !handle->runs) {
		statedump_unlink_handle(handle);
		statedump_free_handle(handle);
	}
	statedump_unlock();
	return SIDE_ERROR_OK;
}
