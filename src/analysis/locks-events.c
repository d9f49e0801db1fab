/* SPDX-License-Identifier: MIT */
/*
 * What one event changes: attempts begin and end, locks are taken and released.
 *
 * The wrappers emit the result after the call and a release before the call. So in the trace a lock
 * is free before its next owner has it. An event that contradicts the known holders wins: its lock
 * has changed hands in a way that was not recorded.
 */
#include <errno.h>
#include <string.h>

#include "analysis/locks-state.h"

/* Numbers of Linux, because the trace can be of another machine. */
#define LOCKS_EBUSY 16
#define LOCKS_ETIMEDOUT 110
#define LOCKS_EOWNERDEAD 130

/* Why locks_get() found nothing: it is out of memory, or at its limit. */
static int locks_no_memory(const struct locks *locks)
{
	return locks->nr_all < LOCKS_ALIVE_MAX ? -ENOMEM : 0;
}

/* ---- attempts ---- */

/* Where the attempt is, from the innermost one outwards; or NULL. */
static struct locks_pending *locks_find_pending(
		struct locks_thread *thread, const struct locks_event *event)
{
	for (uint32_t i = thread->depth; i-- > 0;) {
		struct locks_pending *pending = &thread->pending[i];

		if (pending->operation == event->operation && pending->call == event->call &&
				(!event->has_object || pending->address == event->object))
			return pending;
	}
	return NULL;
}

static void locks_push(struct locks_thread *thread, const struct locks_pending *pending)
{
	struct locks_pending *top = thread->depth ? &thread->pending[thread->depth - 1] : NULL;

	/* The result of the earlier attempt was lost, or never came. */
	if (top && top->operation == pending->operation && top->address == pending->address) {
		*top = *pending;
		return;
	}
	if (thread->depth == LOCKS_NESTED_MAX) {
		memmove(thread->pending, thread->pending + 1,
				(LOCKS_NESTED_MAX - 1) * sizeof(*thread->pending));
		thread->depth--;
	}
	thread->pending[thread->depth++] = *pending;
}

/* ---- holds ---- */

/* The thread releases the lock once. */
static int locks_release(struct locks *locks, uint32_t lock, const struct locks_event *event)
{
	uint32_t hold = locks_hold_of(locks, lock, event->thread);
	bool is_write = true;
	int ret = 0;

	if (hold == LOCKS_NONE) {
		/* Another thread took it, or the trace begins later. Who holds it is not known. */
		locks->unknown_ends++;
		locks->all[lock].release_stack = LOCKS_NONE;
		while (locks->all[lock].kind != LOCKS_RWLOCK &&
				locks->all[lock].first_hold != LOCKS_NONE)
			locks_unhold(locks, locks->all[lock].first_hold);
	} else if (--locks->holds[hold].depth) {
		return 0;
	} else {
		is_write = locks->holds[hold].is_write;
		locks->all[lock].release_stack = locks->holds[hold].stack;
		ret = locks_add_hold(locks, locks->all[lock].row, locks->holds[hold].ns, event->ns);
		locks_unhold(locks, hold);
	}
	locks->all[lock].released_ns = event->ns;
	if (is_write)
		locks->all[lock].unlocked_ns = event->ns;
	return ret;
}

/* The thread has taken the lock. */
static int locks_own(
		struct locks *locks, uint32_t lock, const struct locks_event *event, bool is_read)
{
	uint32_t other, hold = locks_hold_of(locks, lock, event->thread);

	/* Without releases, a lock would seem to be held forever. */
	if (!(locks->releases[event->trace] >> locks->all[lock].kind & 1))
		return 0;
	while ((other = locks_conflict(locks, lock, event->thread, is_read)) != LOCKS_NONE) {
		locks->contradictory++;
		locks_unhold(locks, other);
	}
	if (hold == LOCKS_NONE)
		return locks_hold(locks, lock, event, !is_read);
	locks->holds[hold].depth++;
	return 0;
}

/* ---- operations ---- */

static int locks_request(struct locks *locks, const struct locks_event *event)
{
	const struct locks_operation *operation = event->operation;
	struct locks_pending pending = {
			.operation = operation,
			.address = event->object,
			.second = event->mutex,
			.call = event->call,
			.ns = event->ns,
			.stack = event->stack,
			.blocker_stack = LOCKS_NONE,
	};
	uint32_t lock = locks_get(locks, event, operation->kind, event->object, false), hold;

	if (lock == LOCKS_NONE)
		return locks_no_memory(locks);
	hold = locks_conflict(locks, lock, event->thread, operation->is_read);
	if (hold != LOCKS_NONE) {
		pending.is_blocked = true;
		pending.blocker_stack = locks->holds[hold].stack;
	}
	locks_push(&locks->threads[event->thread], &pending);
	if (operation->kind != LOCKS_CONDITION || !event->mutex)
		return 0;
	lock = locks_get(locks, event, LOCKS_MUTEX, event->mutex, false);
	return lock == LOCKS_NONE ? locks_no_memory(locks) : locks_release(locks, lock, event);
}

/* Whether the attempt has ended with the lock, or with what the thread waited for. */
static bool locks_has_succeeded(const struct locks_event *event)
{
	switch (event->operation->kind) {
	case LOCKS_MUTEX: return !event->result || event->result == LOCKS_EOWNERDEAD;
	case LOCKS_BARRIER: return !event->result || event->result == -1;
	case LOCKS_RWLOCK:
	case LOCKS_SPIN:
	case LOCKS_CONDITION:
	case LOCKS_SEMAPHORE:
	case LOCKS_JOIN:
	case LOCKS_KINDS: break;
	}
	return !event->result;
}

static void locks_count_failure(struct locks_row *row, const struct locks_event *event)
{
	/* Functions of semaphores return -1; the reason is not recorded. */
	if (event->result == LOCKS_ETIMEDOUT || (event->result == -1 && event->operation->is_timed))
		row->timeouts++;
	else
		row->errors++;
}

/* Adds the time of an attempt. */
static int locks_end_wait(struct locks *locks, uint32_t number, const struct locks_event *event,
		const struct locks_pending *pending)
{
	const struct locks_lock *lock = &locks->all[number];
	int64_t released = event->operation->is_read ? lock->unlocked_ns : lock->released_ns;
	bool was_released = released > pending->ns;
	uint32_t holder = pending->is_blocked ? pending->blocker_stack
			: was_released        ? lock->release_stack
					      : LOCKS_NONE;
	bool has_holder = locks_has_owner(lock->kind) || lock->kind == LOCKS_SEMAPHORE;

	return locks_add_wait(locks, lock->row, pending, event->ns,
			pending->is_blocked || was_released || !has_holder, holder);
}

/* A condition returns with its mutex locked, whatever its result is. */
static int locks_own_again(struct locks *locks, const struct locks_event *event)
{
	uint32_t lock = event->mutex ? locks_get(locks, event, LOCKS_MUTEX, event->mutex, false)
				     : LOCKS_NONE;

	if (lock == LOCKS_NONE)
		return event->mutex ? locks_no_memory(locks) : 0;
	return locks_own(locks, lock, event, false);
}

static int locks_result(struct locks *locks, struct locks_event *event)
{
	struct locks_thread *thread = &locks->threads[event->thread];
	struct locks_pending *found = locks_find_pending(thread, event), pending;
	uint32_t lock;
	int ret = 0;

	if (!found && !event->has_object)
		return 0;
	if (found) {
		pending = *found;
		thread->depth = (uint32_t)(found - thread->pending);
		event->object = pending.address;
		event->mutex = pending.second;
		event->stack = pending.stack;
	} else {
		locks->unknown_ends++;
	}
	lock = locks_get(locks, event, event->operation->kind, event->object, false);
	if (lock == LOCKS_NONE)
		return locks_no_memory(locks);
	if (found)
		ret = locks_end_wait(locks, lock, event, &pending);
	if (!locks_has_succeeded(event))
		locks_count_failure(&locks->rows[locks->all[lock].row], event);
	else if (!ret && locks_has_owner(event->operation->kind))
		ret = locks_own(locks, lock, event, event->operation->is_read);
	if (!ret && event->operation->kind == LOCKS_CONDITION)
		ret = locks_own_again(locks, event);
	/* The thread exists no more. */
	if (event->operation->kind == LOCKS_JOIN) {
		locks_forget(locks, lock);
		if (!event->result)
			locks_note_join(locks, event);
	}
	return ret;
}

static int locks_try(struct locks *locks, struct locks_event *event)
{
	uint32_t lock = locks_get(locks, event, event->operation->kind, event->object, false);
	struct locks_row *row;

	if (lock == LOCKS_NONE)
		return locks_no_memory(locks);
	row = &locks->rows[locks->all[lock].row];
	row->attempts++;
	if (event->result == LOCKS_EBUSY ||
			(event->operation->kind == LOCKS_SEMAPHORE && event->result)) {
		row->contended++;
		row->busy++;
	} else if (!locks_has_succeeded(event)) {
		row->errors++;
	} else if (locks_has_owner(event->operation->kind)) {
		return locks_own(locks, lock, event, event->operation->is_read);
	}
	return 0;
}

/* The return of a probed function that does not wait: the entry had the object. */
static int locks_try_result(struct locks *locks, struct locks_event *event)
{
	struct locks_thread *thread = &locks->threads[event->thread];
	const struct locks_pending *found = locks_find_pending(thread, event);

	if (!found)
		return 0;
	thread->depth = (uint32_t)(found - thread->pending);
	event->object = found->address;
	event->stack = found->stack;
	return locks_try(locks, event);
}

static int locks_init(struct locks *locks, const struct locks_event *event)
{
	uint32_t lock = locks_find(locks, event, event->operation->kind, event->object);

	if (event->result)
		return 0;
	if (lock != LOCKS_NONE)
		locks_forget(locks, lock);
	lock = locks_get(locks, event, event->operation->kind, event->object, true);
	return lock == LOCKS_NONE ? locks_no_memory(locks) : 0;
}

static int locks_single(struct locks *locks, struct locks_event *event)
{
	const struct locks_operation *operation = event->operation;
	uint32_t lock;

	switch (operation->action) {
	case LOCKS_INIT: return locks_init(locks, event);
	case LOCKS_TRY: return locks_try(locks, event);
	case LOCKS_DESTROY:
		lock = locks_find(locks, event, operation->kind, event->object);
		if (lock != LOCKS_NONE && !event->result)
			locks_forget(locks, lock);
		return 0;
	case LOCKS_RELEASE:
		lock = locks_get(locks, event, operation->kind, event->object, false);
		if (lock == LOCKS_NONE)
			return locks_no_memory(locks);
		if (locks_has_owner(operation->kind))
			return locks_release(locks, lock, event);
		locks->all[lock].release_stack = event->stack;
		locks->all[lock].released_ns = event->ns;
		return 0;
	case LOCKS_WAIT:
	case LOCKS_CREATE:
	case LOCKS_EXIT: break;
	}
	return 0;
}

int locks_take(struct locks *locks, const struct locks_class *class, struct locks_event *event)
{
	switch (class->phase) {
	case LOCKS_REQUEST: return event->has_object ? locks_request(locks, event) : 0;
	case LOCKS_RESULT:
		return event->operation->action == LOCKS_TRY ? locks_try_result(locks, event)
							     : locks_result(locks, event);
	case LOCKS_SINGLE: return event->has_object ? locks_single(locks, event) : 0;
	}
	return 0;
}

/* ---- the end of the trace ---- */

uint32_t locks_obstacle_of(const struct locks *locks, const struct locks_thread *thread,
		const struct locks_pending *pending)
{
	const struct locks_event event = {.process = thread->process, .trace = thread->trace};
	const struct locks_operation *operation = pending->operation;
	uint32_t number = (uint32_t)(thread - locks->threads);
	uint32_t lock = locks_find(locks, &event, operation->kind, pending->address), hold;

	if (lock == LOCKS_NONE)
		return LOCKS_NONE;
	hold = locks_conflict(locks, lock, number, operation->is_read);
	/* If no other thread holds the lock, this thread may wait for its own lock. */
	return hold == LOCKS_NONE && !operation->is_read ? locks->all[lock].first_hold : hold;
}

const struct locks_row *locks_awaited_row(
		const struct locks *locks, const struct locks_thread *thread)
{
	const struct locks_pending *pending = &thread->pending[thread->depth - 1];
	const struct locks_event event = {.process = thread->process, .trace = thread->trace};
	uint32_t lock = locks_find(locks, &event, pending->operation->kind, pending->address);

	return lock == LOCKS_NONE ? NULL : &locks->rows[locks->all[lock].row];
}

/* Counts an attempt as if it ended with the trace. */
static int locks_count_open_of(
		struct locks *locks, const struct locks_thread *thread, uint32_t attempt)
{
	const struct locks_pending *pending = &thread->pending[attempt];
	const struct locks_event event = {.process = thread->process, .trace = thread->trace};
	uint32_t lock = locks_find(locks, &event, pending->operation->kind, pending->address);
	uint32_t hold = locks_obstacle_of(locks, thread, pending);
	struct locks_row *row;
	uint64_t counted, waited_ns;
	int ret;

	if (lock == LOCKS_NONE)
		return 0;
	row = &locks->rows[locks->all[lock].row];
	counted = row->contended + row->unexplained;
	waited_ns = row->waited_ns;
	ret = locks_add_wait(locks, locks->all[lock].row, pending, locks_end_ns(locks),
			hold != LOCKS_NONE || pending->is_blocked || !locks_has_owner(row->kind),
			hold != LOCKS_NONE ? locks->holds[hold].stack : LOCKS_NONE);
	row->open += row->contended + row->unexplained - counted;
	row->open_ns += row->waited_ns - waited_ns;
	return ret;
}

int locks_count_open(struct locks *locks)
{
	int ret = 0;

	for (uint32_t i = 0; i < locks->thread_keys.count && !ret; i++) {
		bool is_waiting = locks_is_waiting(locks, i);

		for (uint32_t at = 0; is_waiting && at < locks->threads[i].depth && !ret; at++)
			ret = locks_count_open_of(locks, &locks->threads[i], at);
	}
	return ret;
}
