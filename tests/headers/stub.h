/* SPDX-License-Identifier: MIT */
/* Replaces the library: stores the last call, so that the headers are tested alone. */
#ifndef TESTS_HEADERS_STUB_H
#define TESTS_HEADERS_STUB_H

#include <string.h>

#include <side/trace.h>

/* A real call, as into another shared object. */
#ifdef __clang__
#define STUB_CALL __attribute__((noinline))
#else
#define STUB_CALL __attribute__((noipa))
#endif
#define STUB_MAX_ARGS 512

static unsigned int stub_nr_calls, stub_nr_variadic, stub_nr_batches;
static uint32_t stub_nr_events;
static struct side_event_description **stub_events;
static struct side_arg stub_args[STUB_MAX_ARGS];
static uint32_t stub_nr_args, stub_nr_attrs, stub_attrs[2];
static void *stub_key, *stub_caller;
static const struct side_event_state *stub_state;
static struct side_arg_dynamic_struct stub_var;

static void stub_remember(const struct side_event_state *state, const struct side_arg_vec *vec,
	const struct side_arg_dynamic_struct *var, void *key)
{
	uint32_t i;

	stub_nr_calls++;
	stub_state = state;
	stub_nr_args = vec->len;
	for (i = 0; i < vec->len && i < STUB_MAX_ARGS; i++) {
		const struct side_arg *arg = &side_ptr_get(vec->sav)[i];

		memcpy(&stub_args[i], arg, sizeof(stub_args[i]));
		/* Attributes are valid during the call only: check them now. */
		if (side_enum_get(arg->type) == SIDE_TYPE_DYNAMIC_INTEGER) {
			const struct side_type_integer *type = &arg->u.side_dynamic.side_integer.type;

			stub_nr_attrs = type->attributes.length;
			if (stub_nr_attrs == 2) {
				stub_attrs[0] = side_array_at(&type->attributes, 0)
							->value.u.integer_value.side_u8;
				stub_attrs[1] = side_array_at(&type->attributes, 1)
							->value.u.integer_value.side_u16;
			}
		}
	}
	if (var) {
		stub_nr_variadic++;
		memcpy((void *) &stub_var, (const void *) var, sizeof(stub_var));
	}
	stub_key = key;
}

#ifdef __cplusplus
extern "C" {
#endif

extern const char side_empty_callback[3 * sizeof(void *)];
const char side_empty_callback[3 * sizeof(void *)] = {0};

STUB_CALL void side_call(const struct side_event_state *state, const struct side_arg_vec *vec)
{
	stub_caller = __builtin_return_address(0);
	stub_remember(state, vec, NULL, NULL);
}

STUB_CALL void side_call_variadic(const struct side_event_state *state, const struct side_arg_vec *vec,
	const struct side_arg_dynamic_struct *var)
{
	stub_remember(state, vec, var, NULL);
}

STUB_CALL void side_statedump_call(const struct side_event_state *state, const struct side_arg_vec *vec, void *key)
{
	stub_remember(state, vec, NULL, key);
}

STUB_CALL void side_statedump_call_variadic(const struct side_event_state *state, const struct side_arg_vec *vec,
	const struct side_arg_dynamic_struct *var, void *key)
{
	stub_remember(state, vec, var, key);
}

struct side_events_register_handle *side_events_register(
	struct side_event_description **events, uint32_t nr_events)
{
	stub_nr_batches++;
	stub_events = events;
	stub_nr_events = nr_events;
	return (struct side_events_register_handle *) (void *) &stub_nr_events;
}

void side_events_unregister(struct side_events_register_handle *handle)
{
	if (handle)
		stub_nr_batches--;
}

#ifdef __cplusplus
}
#endif

#endif /* TESTS_HEADERS_STUB_H */
