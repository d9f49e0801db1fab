/* SPDX-License-Identifier: MIT */
/* Emits hits as SIDE events: process, thread and its name, then the fields of the probe. */
#include "uprobes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/builder.h>
#include <side/trace.h>

#define OWN_FIELDS 3 /* pid, tid, comm */

struct uprobes_event {
	struct side_builder *builder;
	uint16_t labels[OWN_FIELDS + PROBE_TABLE_FIELDS_MAX];
	struct probe_table_nest nest; /* of the fields after OWN_FIELDS */
};

struct uprobes_events {
	struct uprobes_event **of_table;
	uint32_t nr_tables, *nr_of_table;
	struct side_builder *hello, *lost;
	uint16_t lost_label, hello_label;
	char name[600];
	agent_replay_fn *replay;
};

/* ---- descriptions ---- */

static bool uprobes_event_has_field(const struct probe_table *table,
		const struct probe_table_event *described, const char *name)
{
	struct probe_table_field field;

	for (uint32_t i = 0; i < described->nr_fields; i++) {
		probe_table_field(table, described, i, &field);
		if (!strcmp(field.name, name))
			return true;
	}
	return false;
}

/*
 * The probe's own fields keep their names; if one is called pid, tid or comm, the field of
 * side-uprobes is renamed.
 */
static void uprobes_event_add_own_fields(struct side_builder *builder,
		const struct probe_table *table, const struct probe_table_event *described,
		const char *name, struct side_builder_type *type)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%s", name);
	if (uprobes_event_has_field(table, described, text))
		(void)snprintf(text, sizeof(text), "hit_%s", name);
	(void)side_builder_add_field(builder, NULL, text, type);
}

static int uprobes_event_make(struct uprobes_events *events, const struct probe_table *table,
		uint32_t index, struct uprobes_event *event)
{
	const struct side_event_description *description;
	const struct side_event_field *fields;
	uint8_t inside[PROBE_TABLE_FIELDS_MAX];
	struct probe_table_event described;
	struct side_builder *builder;

	probe_table_event(table, index, &described);
	builder = side_builder_create(described.provider, described.name,
			described.loglevel > SIDE_LOGLEVEL_DEBUG ? SIDE_LOGLEVEL_DEBUG
								 : described.loglevel,
			0);
	if (!builder)
		return -ENOMEM;
	event->builder = builder;
	uprobes_event_add_own_fields(builder, table, &described, "pid",
			side_builder_integer(builder, 4, 0, SIDE_TYPE_BYTE_ORDER_HOST));
	uprobes_event_add_own_fields(builder, table, &described, "tid",
			side_builder_integer(builder, 4, 0, SIDE_TYPE_BYTE_ORDER_HOST));
	uprobes_event_add_own_fields(builder, table, &described, "comm",
			side_builder_string(builder, 1, SIDE_TYPE_BYTE_ORDER_HOST));
	for (uint32_t i = 0; i < described.nr_fields; i++) {
		struct probe_table_field field;

		probe_table_field(table, &described, i, &field);
		inside[i] = (uint8_t)probe_table_inside(&field);
	}
	probe_table_nest(&event->nest, inside, described.nr_fields);
	probe_table_describe(builder, table, &described);
	if (side_builder_register(builder) != SIDE_ERROR_OK)
		return -EPROTO;
	description = side_builder_description(builder);
	fields = side_array_elements(&description->fields);
	for (uint32_t i = 0; i < OWN_FIELDS; i++)
		event->labels[i] = fields[i].side_type.type.v;
	probe_table_labels(table, &described, fields + OWN_FIELDS, event->labels + OWN_FIELDS);
	if (!*events->name)
		(void)snprintf(events->name, sizeof(events->name), "%.250s:%.300s",
				described.provider, described.name);
	return 0;
}

static int uprobes_event_make_all(struct uprobes_events *events, const struct global *global)
{
	int ret = 0;

	for (uint32_t i = 0; i < events->nr_tables && !ret; i++) {
		const struct probe_table *table = global_table(global, i);
		uint32_t nr = probe_table_nr_events(table);

		events->of_table[i] = calloc(nr + 1u, sizeof(struct uprobes_event));
		if (!events->of_table[i])
			return -ENOMEM;
		events->nr_of_table[i] = nr;
		for (uint32_t j = 0; j < nr && !ret; j++)
			ret = uprobes_event_make(events, table, j, &events->of_table[i][j]);
	}
	return ret;
}

static uint16_t uprobes_event_find_label(const struct side_builder *builder, uint32_t index)
{
	const struct side_event_description *description = side_builder_description(builder);
	const struct side_event_field *fields = side_array_elements(&description->fields);

	return fields[index].side_type.type.v;
}

/*
 * `way` and `why` are the former names of `method` and `reason`. They are deprecated: the next
 * release does not have them.
 */
static const char *const hello_fields[] = {"method", "reason", "way", "why"};
#define NR_HELLO (sizeof(hello_fields) / sizeof(hello_fields[0]))

/* Create the events about side-uprobes itself. */
static int uprobes_event_make_own(struct uprobes_events *events)
{
	char provider[256], name[320];

	(void)snprintf(provider, sizeof(provider), "%.*s", (int)strcspn(events->name, ":"),
			events->name);
	(void)snprintf(name, sizeof(name), "%.300s_lost", strchr(events->name, ':') + 1);
	events->lost = side_builder_create(provider, name, SIDE_LOGLEVEL_WARNING, 0);
	events->hello = side_builder_create("side", "uprobes", SIDE_LOGLEVEL_INFO, 0);
	if (!events->lost || !events->hello)
		return -ENOMEM;
	(void)side_builder_add_field(events->lost, NULL, "count",
			side_builder_integer(events->lost, 8, 0, SIDE_TYPE_BYTE_ORDER_HOST));
	for (size_t i = 0; i < NR_HELLO; i++)
		(void)side_builder_add_field(events->hello, NULL, hello_fields[i],
				side_builder_string(events->hello, 1, SIDE_TYPE_BYTE_ORDER_HOST));
	if (side_builder_register(events->lost) != SIDE_ERROR_OK ||
			side_builder_register(events->hello) != SIDE_ERROR_OK)
		return -EPROTO;
	events->lost_label = uprobes_event_find_label(events->lost, 0);
	events->hello_label = uprobes_event_find_label(events->hello, 0);
	return 0;
}

int events_open(const struct global *global, struct uprobes_events **ret_events,
		struct error *error)
{
	struct uprobes_events *events = calloc(1, sizeof(*events));
	int ret = -ENOMEM;

	if (events) {
		events->nr_tables = global_nr_tables(global);
		events->of_table = calloc(events->nr_tables + 1u, sizeof(*events->of_table));
		events->nr_of_table = calloc(events->nr_tables + 1u, sizeof(*events->nr_of_table));
	}
	if (events && events->of_table && events->nr_of_table)
		ret = uprobes_event_make_all(events, global);
	if (!ret)
		ret = uprobes_event_make_own(events);
	*ret_events = events;
	if (!ret)
		return 0;
	return error_set(error, ret, NULL, "cannot create the events: %s", strerror(-ret));
}

void events_close(struct uprobes_events *events)
{
	if (!events)
		return;
	for (uint32_t i = 0; events->of_table && events->nr_of_table && i < events->nr_tables;
			i++) {
		for (uint32_t j = 0; j < events->nr_of_table[i]; j++)
			(void)side_builder_destroy(events->of_table[i][j].builder);
		free(events->of_table[i]);
	}
	(void)side_builder_destroy(events->lost);
	(void)side_builder_destroy(events->hello);
	free(events->of_table);
	free(events->nr_of_table);
	free(events);
}

bool events_wanted(const struct uprobes_events *events)
{
	for (uint32_t i = 0; i < events->nr_tables; i++)
		for (uint32_t j = 0; j < events->nr_of_table[i]; j++)
			if (side_builder_enabled(events->of_table[i][j].builder))
				return true;
	return false;
}

const char *events_name(const struct uprobes_events *events)
{
	return events->name;
}

/* ---- calls ---- */

static void uprobes_event_emit(
		const struct side_builder *builder, struct side_arg *args, uint32_t nr)
{
	struct side_arg_vec arguments = {.len = nr};

	side_ptr_set(arguments.sav, args);
	side_call(side_builder_state(builder), &arguments);
}

void events_hello(const struct uprobes_events *events, const char *method, const char *reason)
{
	struct side_arg args[NR_HELLO] = {{.flags = 0}};

	if (!side_builder_enabled(events->hello))
		return;
	for (size_t i = 0; i < NR_HELLO; i++) {
		args[i].type.v = events->hello_label;
		side_ptr_set(args[i].u.side_static.string_value, i % 2 ? reason : method);
	}
	uprobes_event_emit(events->hello, args, NR_HELLO);
}

void events_lost(const struct uprobes_events *events, uint64_t lost)
{
	agent_lost_fn *count_lost = agent_find_lost();
	struct side_arg arg = {.flags = 0};

	/* The kernel does not report the event or the CPU of a lost hit. */
	if (count_lost)
		count_lost(side_builder_description(events->lost), false, 0, lost);
	if (!side_builder_enabled(events->lost))
		return;
	arg.type.v = events->lost_label;
	arg.u.side_static.integer_value.side_u64 = lost;
	uprobes_event_emit(events->lost, &arg, 1);
}

static uint64_t uprobes_event_field_number(
		const struct global_hit *hit, const struct global_field *field)
{
	uint64_t value;

	switch (field->source) {
	case GLOBAL_CONSTANT: return field->constant;
	case GLOBAL_CALL: return hit->call;
	case GLOBAL_DURATION: return hit->duration;
	case GLOBAL_UNREADABLE: return hit->unreadable;
	default: break;
	}
	memcpy(&value, hit->values + field->at, sizeof(value));
	return value;
}

/* Fill an argument from the hit; pointers refer to memory that is unchanged during the call. */
static void uprobes_event_fill_field(const struct global_hit *hit, const struct global_field *field,
		struct side_arg *arg)
{
	static const uint64_t none;
	uint64_t value = field->source == GLOBAL_FUNCTION ? 0
							  : uprobes_event_field_number(hit, field);
	const unsigned char *at = hit->values + field->at;

	if (probe_field_is_array(&field->field)) {
		if ((int64_t)value <= 0)
			at = (const unsigned char *)&none;
		side_ptr_set(arg->u.side_static.side_vla_gather.ptr, at);
		side_ptr_set(arg->u.side_static.side_vla_gather.length_ptr, at);
		return;
	}
	switch (field->field.type) {
	case PROBE_FIELD_STRING:
		side_ptr_set(arg->u.side_static.string_value,
				field->source == GLOBAL_FUNCTION ? (const void *)hit->side->function
						: (int64_t)value > 0 ? (const void *)(at + 8)
								     : (const void *)"");
		break;
	case PROBE_FIELD_BOOL:
		arg->u.side_static.bool_value.side_bool8 = (value & 0xff) != 0;
		break;
	default: arg->u.side_static.integer_value.side_u64 = value; break;
	}
}

/* Move the label into the optional value: the argument itself has type optional. */
static void uprobes_event_fill_optional(const struct global_hit *hit, uint32_t index,
		struct side_arg *arg, struct side_arg_optional *optional)
{
	optional->side_static.type = arg->type;
	optional->side_static.flags = 0;
	uprobes_event_fill_field(hit, &hit->side->fields[index], &optional->side_static);
	optional->selector = hit->unreadable >> index & 1 ? SIDE_OPTIONAL_DISABLED
							  : SIDE_OPTIONAL_ENABLED;
	arg->type.v = SIDE_TYPE_OPTIONAL;
	side_ptr_set(arg->u.side_static.side_optional, optional);
}

void events_hit(void *user, const struct global_hit *hit)
{
	struct uprobes_events *events = user;
	const struct global_side *side = hit->side;
	const struct uprobes_event *event = &events->of_table[side->table][side->event];
	struct side_arg args[OWN_FIELDS + PROBE_TABLE_FIELDS_MAX];
	const struct ring_replay replay = {.ticks = clock_ticks(hit->time), .cpu = hit->cpu};
	struct side_arg_vec members[PROBE_TABLE_FIELDS_MAX];
	struct side_arg_optional guards[PROBE_TABLE_FIELDS_MAX];

	if (!side_builder_enabled(event->builder))
		return;
	for (uint32_t i = 0; i < OWN_FIELDS; i++) {
		args[i].type.v = event->labels[i];
		args[i].flags = 0;
	}
	for (uint32_t i = 0; i < side->nr_fields; i++) {
		struct side_arg *arg = &args[OWN_FIELDS + event->nest.arg[i]];

		arg->type.v = event->labels[OWN_FIELDS + i];
		arg->flags = 0;
		if (side->fields[i].field.guarded) {
			uprobes_event_fill_optional(hit, i, arg, &guards[i]);
			continue;
		}
		if (side->fields[i].field.type != PROBE_FIELD_STRUCT) {
			uprobes_event_fill_field(hit, &side->fields[i], arg);
			continue;
		}
		side_ptr_set(members[i].sav, &args[OWN_FIELDS + event->nest.first[i]]);
		members[i].len = event->nest.number[i];
		side_ptr_set(arg->u.side_static.side_struct, &members[i]);
	}
	args[0].u.side_static.integer_value.side_u64 = hit->pid;
	args[1].u.side_static.integer_value.side_u64 = hit->tid;
	side_ptr_set(args[2].u.side_static.string_value, (const void *)hit->comm);
	if (!events->replay)
		events->replay = agent_find_replay();
	if (events->replay)
		events->replay(&replay);
	uprobes_event_emit(event->builder, args, OWN_FIELDS + event->nest.nr_top);
	if (events->replay)
		events->replay(NULL);
}
