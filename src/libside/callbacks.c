/* SPDX-License-Identifier: MIT */
/*
 * Changes callback arrays.
 *
 * An array is never changed, but replaced: the new one is published, and the old one is retired
 * with the epoch of its retirement. It is freed after a grace period that began later. Registration
 * never waits for that. Unregistration waits, after it has released the lock, because it promises
 * that the callback is no longer running. A thread that must not wait (in a callback, in a
 * notification) gets a weaker promise.
 */
#include "callbacks.h"

#include <stddef.h>
#include <string.h>

#include "arrays.h"
#include "export.h"
#include "keys.h"
#include "rcu.h"
#include "registry-lock.h"
#include "report.h"

enum {
	RECLAIM_EVERY = 64, /* retirements between two attempts */
};

struct callback_array {
	struct callback_array *next_retired;
	uintptr_t retired_at;
	size_t size;
	struct side_callback entries[]; /* the last one is zeroed */
};

/* Protected by the lock of the registry. */
static struct callback_array *first_retired;
static struct callback_array **retired_end = &first_retired;
static uint32_t retired_since; /* number of retirements since the last attempt */
static uintptr_t grace_period; /* begun for them and not known to have passed, or 0 */

/*
 * Number of events that have callbacks. If it is 0, a batch is dropped without reading its events.
 */
static uint64_t nr_enabled_events;

EXPORT const char side_empty_callback[2 * sizeof(void *) + sizeof(uint64_t)]
		__attribute__((aligned(sizeof(void *))));
_Static_assert(offsetof(struct side_callback, priv) <= sizeof(side_empty_callback),
		"the functions of an ending entry must be readable");

static struct callback_array *callback_array_of(const struct side_event_state_0 *state)
{
	return (struct callback_array *)((uintptr_t)state->callbacks -
			offsetof(struct callback_array, entries));
}

static void callback_retire(struct callback_array *array)
{
	array->retired_at = rcu_now();
	array->next_retired = NULL;
	*retired_end = array;
	retired_end = &array->next_retired;
	retired_since++;
}

/* Remove the arrays from the list whose grace period has passed. */
static struct callback_array *callback_take_unreachable(void)
{
	uintptr_t completed = rcu_last_elapsed();
	struct callback_array *array, **end = &first_retired;

	while (*end && (intptr_t)((*end)->retired_at - completed) < 0)
		end = &(*end)->next_retired;
	if (end == &first_retired)
		return NULL;
	array = first_retired;
	first_retired = *end;
	if (!first_retired)
		retired_end = &first_retired;
	*end = NULL;
	return array;
}

void callbacks_reclaim(void)
{
	struct callback_array *array, *next;

	if (grace_period && rcu_has_elapsed(grace_period))
		grace_period = 0;
	for (array = callback_take_unreachable(); array; array = next) {
		next = array->next_retired;
		arrays_give_back(array, array->size);
	}
	if (!first_retired || retired_since < RECLAIM_EVERY)
		return;
	retired_since = 0;
	if (grace_period)
		rcu_free_exited(grace_period);
	else
		grace_period = rcu_begin_grace_period();
}

struct side_event_state_0 *event_state(struct side_event_description *desc)
{
	struct side_event_state *state;

	if (!desc)
		return NULL;
	if (desc->version != SIDE_EVENT_DESCRIPTION_ABI_VERSION) {
		report_once(REPORT_DESCRIPTION_VERSION);
		return NULL;
	}
	if (desc->struct_size < side_offsetofend(struct side_event_description,
						side_event_description_orig_abi_last)) {
		report_once(REPORT_DESCRIPTION_SIZE);
		return NULL;
	}
	state = side_ptr_get(desc->state);
	if (!state)
		return NULL;
	if (state->version != SIDE_EVENT_STATE_ABI_VERSION) {
		report_once(REPORT_STATE_VERSION);
		return NULL;
	}
	return (struct side_event_state_0 *)(void *)state;
}

/* Replace the array of an event by one of nr entries, or by NULL. */
static void callback_publish(
		struct side_event_state_0 *state, struct callback_array *array, uint32_t nr)
{
	struct callback_array *old = state->nr_callbacks ? callback_array_of(state) : NULL;
	const struct side_callback *entries = array
			? array->entries
			: (const struct side_callback *)(const void *)side_empty_callback;

	/*
	 * Release: the entries before the pointer. Pairs with the acquire in section_callbacks().
	 */
	__atomic_store_n(&state->callbacks, entries, __ATOMIC_RELEASE);
	__atomic_store_n(&state->nr_callbacks, nr, __ATOMIC_RELAXED);
	/*
	 * Atomic, because the kernel and a debugger change other bits of the word. Relaxed: a call
	 * site that sees the change early finds an empty array, and one that sees it late was
	 * called before the change.
	 */
	if (!old && nr) {
		nr_enabled_events++;
		(void)__atomic_add_fetch(&state->enabled, 1, __ATOMIC_RELAXED);
	} else if (old && !nr) {
		nr_enabled_events--;
		(void)__atomic_sub_fetch(&state->enabled, 1, __ATOMIC_RELAXED);
	}
	if (old)
		callback_retire(old);
}

static bool callback_is_same(const struct side_callback *a, const struct side_callback *b)
{
	return a->call == b->call && a->call_variadic == b->call_variadic && a->priv == b->priv &&
			a->key == b->key;
}

/* Index of the callback in the array, or nr_callbacks. */
static uint32_t callback_find(
		const struct side_event_state_0 *state, const struct side_callback *wanted)
{
	uint32_t i;

	for (i = 0; i < state->nr_callbacks; i++) {
		if (callback_is_same(&state->callbacks[i], wanted))
			break;
	}
	return i;
}

/* Allocate an array of nr entries and the end entry. */
static struct callback_array *callback_new_array(uint32_t nr)
{
	struct callback_array *array;
	size_t size;

	if (__builtin_mul_overflow((size_t)nr + 1, sizeof(struct side_callback), &size) ||
			size > SIZE_MAX / 2)
		return NULL;
	size += sizeof(*array);
	array = arrays_take(size);
	if (array)
		array->size = size;
	return array;
}

static int callback_add(struct side_event_state_0 *state, const struct side_callback *added)
{
	struct callback_array *array;
	uint32_t nr = state->nr_callbacks;

	if (nr == UINT32_MAX)
		return SIDE_ERROR_INVAL;
	if (callback_find(state, added) < nr)
		return SIDE_ERROR_EXIST;
	array = callback_new_array(nr + 1);
	if (!array)
		return SIDE_ERROR_NOMEM;
	if (nr)
		memcpy(array->entries, state->callbacks, nr * sizeof(*added));
	array->entries[nr] = *added;
	callback_publish(state, array, nr + 1);
	return SIDE_ERROR_OK;
}

static int callback_remove(struct side_event_state_0 *state, const struct side_callback *removed)
{
	struct callback_array *array = NULL;
	uint32_t nr = state->nr_callbacks;
	uint32_t at = callback_find(state, removed);

	if (at == nr)
		return SIDE_ERROR_NOENT;
	if (nr > 1) {
		array = callback_new_array(nr - 1);
		if (!array)
			return SIDE_ERROR_NOMEM;
		memcpy(array->entries, state->callbacks, at * sizeof(*removed));
		memcpy(array->entries + at, state->callbacks + at + 1,
				(nr - at - 1) * sizeof(*removed));
	}
	callback_publish(state, array, nr - 1);
	return SIDE_ERROR_OK;
}

static int callback_replace(struct side_event_state_0 *state, const struct side_callback *old,
		const struct side_callback *new)
{
	struct callback_array *array;
	uint32_t nr = state->nr_callbacks;
	uint32_t at = callback_find(state, old);

	if (at == nr)
		return SIDE_ERROR_NOENT;
	if (callback_find(state, new) < nr)
		return SIDE_ERROR_EXIST;
	array = callback_new_array(nr);
	if (!array)
		return SIDE_ERROR_NOMEM;
	memcpy(array->entries, state->callbacks, nr * sizeof(*new));
	array->entries[at] = *new;
	callback_publish(state, array, nr);
	return SIDE_ERROR_OK;
}

void callbacks_drop(struct side_event_description **events, uint32_t nr_events)
{
	struct side_event_state_0 *state;
	uint32_t i;

	for (i = 0; i < nr_events && nr_enabled_events; i++) {
		state = event_state(events[i]);
		if (state && state->nr_callbacks)
			callback_publish(state, NULL, 0);
	}
	callbacks_reclaim();
}

static int check_callback(struct side_event_description *desc, const struct side_callback *callback,
		bool variadic, struct side_event_state_0 **ret_state)
{
	*ret_state = event_state(desc);
	if (!*ret_state || !!(desc->flags & SIDE_EVENT_FLAG_VARIADIC) != variadic)
		return SIDE_ERROR_INVAL;
	if (!callback->call && !callback->call_variadic)
		return SIDE_ERROR_INVAL;
	if (key_is_reserved(callback->key))
		return SIDE_ERROR_INVAL;
	return SIDE_ERROR_OK;
}

static int callback_register(struct side_event_description *desc,
		const struct side_callback *callback, bool variadic)
{
	struct side_event_state_0 *state;
	int result;

	side_init();
	result = check_callback(desc, callback, variadic, &state);
	if (result == SIDE_ERROR_OK && !key_is_allocated(callback->key))
		result = SIDE_ERROR_INVAL;
	if (result != SIDE_ERROR_OK)
		return result;
	registry_lock();
	if (registry_is_finished()) {
		result = SIDE_ERROR_EXITING;
	} else {
		rcu_start();
		result = callback_add(state, callback);
		callbacks_reclaim();
	}
	registry_unlock();
	return result;
}

static int callback_unregister(struct side_event_description *desc,
		const struct side_callback *callback, bool variadic)
{
	struct side_event_state_0 *state;
	int result;

	result = check_callback(desc, callback, variadic, &state);
	if (result != SIDE_ERROR_OK)
		return result;
	registry_lock();
	if (registry_is_finished()) {
		result = SIDE_ERROR_EXITING;
	} else {
		result = callback_remove(state, callback);
		callbacks_reclaim();
	}
	registry_unlock();
	return result;
}

static int callback_swap(struct side_event_description *desc, const struct side_callback *old,
		const struct side_callback *new, bool variadic)
{
	struct side_event_state_0 *state;
	int result = check_callback(desc, new, variadic, &state);

	if (result == SIDE_ERROR_OK && !key_is_allocated(new->key))
		result = SIDE_ERROR_INVAL;
	if (result != SIDE_ERROR_OK)
		return result;
	registry_lock();
	if (registry_is_finished()) {
		result = SIDE_ERROR_EXITING;
	} else {
		result = callback_replace(state, old, new);
		callbacks_reclaim();
	}
	registry_unlock();
	return result;
}

EXPORT int side_tracer_callback_replace(struct side_event_description *desc,
		side_tracer_callback_func old_call, void *old_priv, side_tracer_callback_func call,
		void *priv, uint64_t key)
{
	const struct side_callback old = {.call = old_call, .priv = old_priv, .key = key};
	const struct side_callback new = {.call = call, .priv = priv, .key = key};

	return callback_swap(desc, &old, &new, false);
}

EXPORT int side_tracer_callback_variadic_replace(struct side_event_description *desc,
		side_tracer_callback_variadic_func old_call, void *old_priv,
		side_tracer_callback_variadic_func call, void *priv, uint64_t key)
{
	const struct side_callback old = {.call_variadic = old_call, .priv = old_priv, .key = key};
	const struct side_callback new = {.call_variadic = call, .priv = priv, .key = key};

	return callback_swap(desc, &old, &new, true);
}

EXPORT uint64_t side_tracer_grace_begin(void)
{
	/* 0 is not a grace period: they begin with RCU_STEP. */
	return rcu_is_started() ? rcu_begin_grace_period() : 0;
}

EXPORT bool side_tracer_grace_passed(uint64_t grace)
{
	uintptr_t grace_period_of_caller = (uintptr_t)grace;

	if (!grace || rcu_has_elapsed(grace_period_of_caller))
		return true;
	rcu_free_exited(grace_period_of_caller);
	return rcu_has_elapsed(grace_period_of_caller);
}

/* Number of sandboxes that have begun. */
static uint32_t sandboxes;

bool callbacks_in_sandbox(void)
{
	/* Relaxed: a thread of a sandbox was created after the store, or made it. */
	return __atomic_load_n(&sandboxes, __ATOMIC_RELAXED) != 0;
}

EXPORT void side_tracer_sandbox_begins(void)
{
	(void)__atomic_add_fetch(&sandboxes, 1, __ATOMIC_RELAXED);
	rcu_sandbox_begins();
}

EXPORT void side_tracer_sandbox_failed(void)
{
	if (callbacks_in_sandbox())
		(void)__atomic_sub_fetch(&sandboxes, 1, __ATOMIC_RELAXED);
	rcu_sandbox_failed();
}

EXPORT int side_tracer_synchronize(void)
{
	if (!registry_may_wait())
		return SIDE_ERROR_INVAL;
	if (!rcu_is_started())
		return SIDE_ERROR_OK;
	rcu_synchronize();
	registry_lock();
	callbacks_reclaim();
	registry_unlock();
	return SIDE_ERROR_OK;
}

static int callback_unregister_and_wait(struct side_event_description *desc,
		const struct side_callback *callback, bool variadic)
{
	int result = callback_unregister(desc, callback, variadic);

	if (result == SIDE_ERROR_OK)
		(void)side_tracer_synchronize();
	return result;
}

EXPORT int side_tracer_callback_register(struct side_event_description *desc,
		side_tracer_callback_func call, void *priv, uint64_t key)
{
	const struct side_callback callback = {.call = call, .priv = priv, .key = key};

	return callback_register(desc, &callback, false);
}

EXPORT int side_tracer_callback_variadic_register(struct side_event_description *desc,
		side_tracer_callback_variadic_func call_variadic, void *priv, uint64_t key)
{
	const struct side_callback callback = {
			.call_variadic = call_variadic, .priv = priv, .key = key};

	return callback_register(desc, &callback, true);
}

EXPORT int side_tracer_callback_unregister(struct side_event_description *desc,
		side_tracer_callback_func call, void *priv, uint64_t key)
{
	const struct side_callback callback = {.call = call, .priv = priv, .key = key};

	return callback_unregister_and_wait(desc, &callback, false);
}

EXPORT int side_tracer_callback_variadic_unregister(struct side_event_description *desc,
		side_tracer_callback_variadic_func call_variadic, void *priv, uint64_t key)
{
	const struct side_callback callback = {
			.call_variadic = call_variadic, .priv = priv, .key = key};

	return callback_unregister_and_wait(desc, &callback, true);
}

EXPORT int side_tracer_callback_unregister_async(struct side_event_description *desc,
		side_tracer_callback_func call, void *priv, uint64_t key)
{
	const struct side_callback callback = {.call = call, .priv = priv, .key = key};

	return callback_unregister(desc, &callback, false);
}

EXPORT int side_tracer_callback_variadic_unregister_async(struct side_event_description *desc,
		side_tracer_callback_variadic_func call_variadic, void *priv, uint64_t key)
{
	const struct side_callback callback = {
			.call_variadic = call_variadic, .priv = priv, .key = key};

	return callback_unregister(desc, &callback, true);
}
