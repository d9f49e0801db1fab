/* SPDX-License-Identifier: MIT */
/*
 * The guard of the process (side_tracer_guard()), if it has one: who is asked before any tracer is given a call, or shown an
 * event. Nobody pays for it who has none: it makes its own callbacks the first of two of an event, or the only
 * one, so that a call with somebody to be guarded is never one with a single callback.
 */
#ifndef SIDE_LIBSIDE_GUARD_H
#define SIDE_LIBSIDE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "callbacks.h"
#include "functions.h"

extern __attribute__((visibility("hidden"))) const struct side_tracer_guard *guard_of_process;

static inline const struct side_tracer_guard *guard_get(void)
{
	/* Acquire: what it points to. Pairs with the release in side_tracer_guard(). */
	return __atomic_load_n(&guard_of_process, __ATOMIC_ACQUIRE);
}

/* Is the callback one of the guard, which has been asked already? */
static inline bool guard_is_own(
		const struct side_tracer_guard *guard, const struct side_callback *cb)
{
	return guard &&
			(cb->call ? cb->call == guard->call
				  : cb->call_variadic == guard->call_variadic);
}

/* May the callbacks of the event, and whoever shares it, be given the call? In a section. */
bool guard_passes(const struct side_tracer_guard *guard, const struct side_event_state_0 *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *caller);

/*
 * The events that tracers may be shown: events itself, or memory of malloc() that has NULL for the others. With the
 * registry's lock held.
 */
struct side_event_description **guard_shows(
		struct side_event_description **events, uint32_t *nr_events);

#endif /* SIDE_LIBSIDE_GUARD_H */
