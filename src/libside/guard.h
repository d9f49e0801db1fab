/* SPDX-License-Identifier: MIT */
/*
 * The guard of the process (side_tracer_guard()), if there is one. It must accept a call or an
 * event before the library passes it to any other tracer.
 *
 * A process without a guard has no extra cost. The guard makes its own callbacks the first of two
 * of an event, or the only one, so an event with other callbacks is never on the fast path for a
 * single callback.
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
	/* Acquire: the guard's data. Pairs with the release in side_tracer_guard(). */
	return __atomic_load_n(&guard_of_process, __ATOMIC_ACQUIRE);
}

/* Whether the callback belongs to the guard, which was asked already. */
static inline bool guard_is_own(
		const struct side_tracer_guard *guard, const struct side_callback *cb)
{
	return guard &&
			(cb->call ? cb->call == guard->call
				  : cb->call_variadic == guard->call_variadic);
}

/* Whether the guard accepts the call for the other callbacks and shared tracers. In a section. */
bool guard_passes(const struct side_tracer_guard *guard, const struct side_event_state_0 *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *caller);

/*
 * The events that tracers may see: `events` itself, or memory of malloc() that has NULL for the
 * others. Call with the lock of the registry held.
 */
struct side_event_description **guard_shows(
		struct side_event_description **events, uint32_t *nr_events);

#endif /* SIDE_LIBSIDE_GUARD_H */
