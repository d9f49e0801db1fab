/* SPDX-License-Identifier: MIT */
/*
 * Describes and emits the two events of the library.
 *
 * They are written without the macros of side/api.h, because they must be in the registry before
 * any constructor runs. They are in the sections where tools that read the file search for events.
 */
#include "statedump-events.h"

#include <stddef.h>

#define SECTION(name) __attribute__((section(name), used))

/* clang-format off */
static const struct side_event_field name_field[] = {
	{
		.field_name = SIDE_PTR_INIT("name"),
		.side_type = {
			.type = SIDE_ENUM_INIT(SIDE_TYPE_STRING_UTF8),
			.u.side_string = {
				.unit_size = 1,
				.byte_order = SIDE_ENUM_INIT(SIDE_TYPE_BYTE_ORDER_HOST),
			},
		},
	},
};

extern const char side_empty_callback[];
static struct side_event_description begin_event, end_event;

#define STATE(_event)                                                                              \
	{                                                                                          \
		.callbacks = (const struct side_callback *) (const void *) side_empty_callback,    \
		.desc = &(_event),                                                                 \
	}

#define DESCRIPTION(_name, _state)                                                                 \
	{                                                                                          \
		.struct_size = offsetof(struct side_event_description, end),                       \
		.version = SIDE_EVENT_DESCRIPTION_ABI_VERSION,                                     \
		.state = SIDE_PTR_INIT(&(_state).parent),                                          \
		.provider_name = SIDE_PTR_INIT("side"),                                            \
		.event_name = SIDE_PTR_INIT(_name),                                                \
		.fields = {.elements = SIDE_PTR_INIT(name_field), .length = 1},                    \
		.nr_side_type_label = _NR_SIDE_TYPE_LABEL,                                         \
		.nr_side_attr_type = _NR_SIDE_ATTR_TYPE,                                           \
		.loglevel = SIDE_ENUM_INIT(SIDE_LOGLEVEL_INFO),                                    \
	}

static struct side_event_state_0 SECTION("side_event_state") begin_state = STATE(begin_event);
static struct side_event_state_0 SECTION("side_event_state") end_state = STATE(end_event);
static struct side_event_description SECTION("side_event_description") begin_event =
		DESCRIPTION("statedump_begin", begin_state);
static struct side_event_description SECTION("side_event_description") end_event =
		DESCRIPTION("statedump_end", end_state);

struct side_event_description *statedump_events[STATEDUMP_NR_EVENTS]
		SECTION("side_event_description_ptr") = {
	[STATEDUMP_BEGIN] = &begin_event,
	[STATEDUMP_END] = &end_event,
};
/* clang-format on */

void statedump_emit(enum statedump_event event, const char *name, uint64_t key)
{
	struct side_event_state_0 *state = event == STATEDUMP_BEGIN ? &begin_state : &end_state;
	struct side_arg argument = {.type = SIDE_ENUM_INIT(SIDE_TYPE_STRING_UTF8)};
	struct side_arg_vec arguments = {.sav = SIDE_PTR_INIT(&argument), .len = 1};

	/* Relaxed: as at every call site. */
	if (!__atomic_load_n(&state->enabled, __ATOMIC_RELAXED))
		return;
	side_ptr_set(argument.u.side_static.string_value, name);
	side_statedump_call(&state->parent, &arguments, &key);
}
