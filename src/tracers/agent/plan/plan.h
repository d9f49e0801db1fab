/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_PLAN_PLAN_H
#define SIDE_TRACERS_AGENT_PLAN_PLAN_H

/*
 * Plans: how the arguments of one event become the bytes of one record.
 *
 * plan_compile() turns a description into a short array of operations, once, when the event is
 * enabled; plan_serialize() runs them for each event. The bytes are those of
 * docs/spec/recording.md, sections 3, 5 and 7, without the record header.
 *
 * Serialising is async-signal-safe and reentrant, allocates nothing, calls nothing in the C
 * library, keeps errno and uses general-purpose registers only (what an application's visitor does
 * is its own affair). Arguments that do not match the description make the record invalid; they
 * never crash as long as every non-NULL pointer in them is readable. Memory that changes while it
 * is read (strings, gathered memory) yields some value of it, but always a well-formed record.
 *
 * Stack: about 200 bytes for scalars, strings and gathered memory without nesting, and
 * PLAN_STACK_PER_LEVEL more for each level of nesting; visitors come on top.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracers/agent/plan/plan-types.h"

struct side_event_description;

/* An upper bound of what a level costs in builds with optimisation. */
#define PLAN_STACK_PER_LEVEL 256

/* A few words for people, never NULL ("an argument has another type"). */
const char *plan_reason_text(enum plan_reason reason);

/*
 * Compile the plan of an event into memory of its own (mapped pages, not malloc).
 *
 * Returns 0, -EINVAL (the description is broken), -EOPNOTSUPP (it uses a type or version unknown
 * here), -E2BIG (nested too deeply or too large) or -ENOMEM, with a sentence in error when given.
 * The plan needs the description no more, but it calls the visitors that were in it.
 */
int plan_compile(const struct side_event_description *description, struct plan **ret_plan,
		char *error, size_t error_size);
void plan_free(struct plan *plan);

/*
 * The same in two steps, for who has many events and memory of their own: plan_size() gives the
 * bytes that plan_build() needs (8-byte aligned) or a negative errno as above. plan_free() leaves
 * such memory alone.
 */
ssize_t plan_size(const struct side_event_description *description, char *error, size_t error_size);
int plan_build(const struct side_event_description *description, void *memory, size_t size,
		struct plan **ret_plan);

/* The size of every record of this event, or -1 when it depends on the arguments. */
ssize_t plan_fixed_size(const struct plan *plan);

static inline ssize_t plan_serialize_reason(const struct plan *plan,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity,
		enum plan_reason *ret_reason)
{
	return plan->serialize(plan, arguments, variadic, buffer, capacity, ret_reason);
}

static inline ssize_t plan_serialize(const struct plan *plan, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity)
{
	return plan_serialize_reason(
			plan, arguments, variadic, buffer, capacity, (enum plan_reason *)0);
}

/*
 * PLAN_KIND_SPAN: serialise all but the last field's bytes, which *ret_span then tells, so that
 * large ones are copied once. Results as above; -E2BIG is about the buffer, not the span.
 */
ssize_t plan_serialize_span(const struct plan *plan, const struct side_arg_vec *arguments,
		void *buffer, size_t capacity, struct plan_span *ret_span);

#endif /* SIDE_TRACERS_AGENT_PLAN_PLAN_H */
