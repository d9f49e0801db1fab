/* SPDX-License-Identifier: MIT */
/* Sets the guard of the process and asks it about calls and events (guard.h). */
#include "guard.h"

#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "export.h"
#include "registry-lock.h"

const struct side_tracer_guard *guard_of_process;

bool guard_passes(const struct side_tracer_guard *guard, const struct side_event_state_0 *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *caller)
{
	const struct side_callback *cb = section_callbacks(state), *own = NULL;
	bool others = section_is_shared(state);

	/*
	 * Also callbacks of the other type of call: their arguments cannot match the description of
	 * the event.
	 */
	for (; cb->call || cb->call_variadic; cb++) {
		if (guard_is_own(guard, cb))
			own = cb;
		else
			others = true;
	}
	return !own || guard->passes(state->desc, args, var, own->priv, caller, others);
}

struct side_event_description **guard_shows(
		struct side_event_description **events, uint32_t *nr_events)
{
	const struct side_tracer_guard *guard = guard_get();
	struct side_event_description **shown;
	uint32_t i, hidden = 0;

	if (!guard || !*nr_events)
		return events;
	if (!guard->shows(events, *nr_events, NULL)) {
		*nr_events = 0;
		return events;
	}
	shown = malloc(*nr_events * sizeof(*shown));
	if (!shown) {
		*nr_events = 0;
		return events;
	}
	memcpy(shown, events, *nr_events * sizeof(*shown));
	for (i = 0; i < *nr_events; i++) {
		if (!shown[i] || guard->shows(events, *nr_events, shown[i]))
			continue;
		shown[i] = NULL;
		hidden++;
	}
	if (hidden)
		return shown;
	free(shown);
	return events;
}

/* Hide the batches that the new guard does not accept. With the lock of the registry held. */
static void guard_hide_batches(void)
{
	struct side_events_register_handle *batch;

	for (batch = batches_first(); batch; batch = batch->next) {
		struct side_event_description **events = batch->shown.events;
		uint32_t nr_events = batch->shown.nr_events;

		if (batch->leaving || batch->own)
			continue;
		batch->shown.events = guard_shows(events, &nr_events);
		batch->shown.nr_events = nr_events;
		batch->own = batch->shown.events != events ? batch->shown.events : NULL;
	}
}

EXPORT int side_tracer_guard(const struct side_tracer_guard *guard)
{
	int result = SIDE_ERROR_OK;

	side_init();
	if (!guard || !guard->call || !guard->call_variadic || !guard->passes || !guard->shows)
		return SIDE_ERROR_INVAL;
	registry_lock();
	if (registry_is_finished()) {
		result = SIDE_ERROR_EXITING;
	} else if (guard_of_process) {
		result = SIDE_ERROR_EXIST;
	} else {
		/* Release: the guard's data. Pairs with the acquire in guard_get(). */
		__atomic_store_n(&guard_of_process, guard, __ATOMIC_RELEASE);
		guard_hide_batches();
	}
	registry_unlock();
	return result;
}
