/* SPDX-License-Identifier: MIT */
/*
 * The events side:library_load and side:library_unload.
 *
 * The agent registers them when it starts. They are written without the macros, so that programs
 * that contain this file (tests) do not have them among their own events. Emitting runs with the
 * event lock, maybe on the small stack of a signal handler: so large buffers are not on the stack.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/api.h>

#include "tracers/agent/core/library-events.h"
#include "tracers/agent/core/library-files.h"

#define PATH_SIZE 4096

/* clang-format off */
static const struct side_type byte_type = _side_type_u8();
static const struct side_type length_type = _side_type_u32();
static _side_define_vla(build_id_type, &byte_type, &length_type, SIDE_NO_ATTR);

static const struct side_event_field load_fields[] = {
	_side_field("path", _side_type_string()),
	_side_field("base", _side_type_pointer()),
	_side_field("size", _side_type_u64()),
	_side_field("build_id", _side_type_vla(build_id_type)),
	_side_field("debug_link", _side_type_string()),
};
static const struct side_event_field unload_fields[] = {
	_side_field("path", _side_type_string()),
	_side_field("base", _side_type_pointer()),
};

static struct side_event_description load_event, unload_event;

#define STATE(_event)                                                                              \
	{                                                                                          \
		.parent = {.version = SIDE_EVENT_STATE_ABI_VERSION},                               \
		.callbacks = (const struct side_callback *) (const void *) side_empty_callback,    \
		.desc = &(_event),                                                                 \
	}

#define DESCRIPTION(_name, _state, _fields)                                                        \
	{                                                                                          \
		.struct_size = offsetof(struct side_event_description, end),                       \
		.version = SIDE_EVENT_DESCRIPTION_ABI_VERSION,                                     \
		.state = SIDE_PTR_INIT(&(_state).parent),                                          \
		.provider_name = SIDE_PTR_INIT("side"),                                            \
		.event_name = SIDE_PTR_INIT(_name),                                                \
		.fields = {.elements = SIDE_PTR_INIT(_fields),                                     \
			   .length = sizeof(_fields) / sizeof((_fields)[0])},                      \
		.nr_side_type_label = _NR_SIDE_TYPE_LABEL,                                         \
		.nr_side_attr_type = _NR_SIDE_ATTR_TYPE,                                           \
		.loglevel = SIDE_ENUM_INIT(SIDE_LOGLEVEL_INFO),                                    \
	}

static struct side_event_state_0 load_state = STATE(load_event);
static struct side_event_state_0 unload_state = STATE(unload_event);
static struct side_event_description load_event =
		DESCRIPTION("library_load", load_state, load_fields);
static struct side_event_description unload_event =
		DESCRIPTION("library_unload", unload_state, unload_fields);
/* clang-format on */

static struct side_event_description *events[] = {&load_event, &unload_event};

bool base_events_register(void)
{
	return side_events_register(events, 2) != NULL;
}

bool base_is_event(const struct side_event_description *event)
{
	return event == &load_event || event == &unload_event;
}

static bool library_event_is_enabled(const struct side_event_state_0 *state)
{
	/* Relaxed: as at every call site. */
	return __atomic_load_n(&state->enabled, __ATOMIC_RELAXED) != 0;
}

bool base_wanted(void)
{
	return library_event_is_enabled(&load_state) || library_event_is_enabled(&unload_state);
}

/* With the event lock. */
static struct {
	char path[PATH_SIZE];
	struct base_identity identity;
	struct side_arg bytes[BASE_BUILD_ID_MAX];
} scratch;

static const char *library_event_get_path(const struct base_library *library)
{
	size_t size = library->path_size < PATH_SIZE ? library->path_size : PATH_SIZE - 1;

	memcpy(scratch.path, library->path, size);
	scratch.path[size] = '\0';
	return scratch.path;
}

static struct side_arg library_event_arg_string(const char *text)
{
	struct side_arg argument = {.type = SIDE_ENUM_INIT(SIDE_TYPE_STRING_UTF8)};

	side_ptr_set(argument.u.side_static.string_value, text);
	return argument;
}

static struct side_arg library_event_arg_address(uint64_t base)
{
	struct side_arg argument = {.type = SIDE_ENUM_INIT(SIDE_TYPE_POINTER)};

	argument.u.side_static.integer_value.side_uptr = (uintptr_t)base;
	return argument;
}

static void library_event_emit(struct side_event_state_0 *state, struct side_arg *arguments,
		uint32_t count, uint64_t *key)
{
	struct side_arg_vec vector = {.len = count};

	side_ptr_set(vector.sav, arguments);
	if (key)
		side_statedump_call(&state->parent, &vector, key);
	else
		side_call(&state->parent, &vector);
}

void base_record_load(const struct base_library *library, uint64_t *key)
{
	struct base_identity *identity = &scratch.identity;
	struct side_arg *bytes = scratch.bytes, arguments[5];
	struct side_arg_vec build_id = {.len = 0};
	uint32_t i;

	if (!library_event_is_enabled(&load_state))
		return;
	base_identify(library, library_event_get_path(library), identity);
	for (i = 0; i < identity->build_id_size; i++) {
		bytes[i] = (struct side_arg){.type = SIDE_ENUM_INIT(SIDE_TYPE_U8)};
		bytes[i].u.side_static.integer_value.side_u8 = identity->build_id[i];
	}
	build_id.len = identity->build_id_size;
	side_ptr_set(build_id.sav, bytes);
	arguments[0] = library_event_arg_string(scratch.path);
	arguments[1] = library_event_arg_address(library->base);
	arguments[2] = (struct side_arg){.type = SIDE_ENUM_INIT(SIDE_TYPE_U64)};
	arguments[2].u.side_static.integer_value.side_u64 = library->end - library->base;
	arguments[3] = (struct side_arg){.type = SIDE_ENUM_INIT(SIDE_TYPE_VLA)};
	side_ptr_set(arguments[3].u.side_static.side_vla, &build_id);
	arguments[4] = library_event_arg_string(identity->debug_link);
	library_event_emit(&load_state, arguments, 5, key);
}

void base_record_unload(const struct base_library *library)
{
	struct side_arg arguments[2];

	if (!library_event_is_enabled(&unload_state))
		return;
	arguments[0] = library_event_arg_string(library_event_get_path(library));
	arguments[1] = library_event_arg_address(library->base);
	library_event_emit(&unload_state, arguments, 2, NULL);
}
