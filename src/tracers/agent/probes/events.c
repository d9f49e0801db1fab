/* SPDX-License-Identifier: MIT */
/*
 * Create the events of a probe table at run time, and register all of them with libside at once.
 *
 * After that they are events like any other. sites.c checks whether they have callbacks.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/probes/probes.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/memory.h"

#define LOGLEVEL_LAST SIDE_LOGLEVEL_DEBUG

/*
 * Returns the bytes for a field's text or array, the location of an optional value, and the
 * locations of a structure's members.
 */
static uint32_t scratch_bytes(const struct probe_table_field *field)
{
	uint32_t bytes;

	if (field->type == PROBE_FIELD_STRUCT)
		return (sizeof(struct side_arg_vec) + 7u) & ~7u;
	bytes = field->guarded ? (sizeof(struct side_arg_optional) + 7u) & ~7u : 0;
	return bytes + (field->limit ? (field->limit * field->size + 8u + 8u) & ~7u : 0);
}

static int make_fields(struct probes_table *table, const struct probe_table_event *table_event,
		struct probes_event *event)
{
	struct probes_field *fields = agent_memory_take(
			&table->memory, (table_event->nr_fields + 1) * sizeof(*fields));
	uint8_t inside[PROBE_TABLE_FIELDS_MAX];
	struct probe_table_nest nest;
	uint32_t i;

	if (!fields)
		return -ENOMEM;
	for (i = 0; i < table_event->nr_fields; i++) {
		struct probe_table_field *field = &fields[i].field;

		probe_table_field(&table->table, table_event, i, field);
		event->scratch += scratch_bytes(field);
		event->wants_calls |= field->type == PROBE_FIELD_BACKTRACE;
		inside[i] = (uint8_t)probe_table_inside(field);
	}
	probe_table_describe(event->builder, &table->table, table_event);
	probe_table_nest(&nest, inside, table_event->nr_fields);
	for (i = 0; i < table_event->nr_fields; i++) {
		fields[i].arg = nest.arg[i];
		fields[i].first_member = nest.first[i];
		fields[i].nr_members = nest.number[i];
	}
	event->nr_top = nest.nr_top;
	event->fields = fields;
	event->nr_fields = table_event->nr_fields;
	table->wants_calls |= event->wants_calls;
	return 0;
}

/* Copy the labels of the description to the arguments. */
static void probes_event_copy_labels(const struct probe_table *table,
		const struct probe_table_event *table_event,
		const struct side_event_description *description, struct probes_event *event)
{
	struct probes_field *fields = (struct probes_field *)(uintptr_t)event->fields;
	uint16_t labels[PROBE_TABLE_FIELDS_MAX];

	probe_table_labels(table, table_event, side_array_elements(&description->fields), labels);
	for (uint32_t i = 0; i < event->nr_fields; i++)
		fields[i].label = labels[i];
}

/*
 * Do not use the program's allocator: a leak checker would report the memory as leaked. The size of
 * the table bounds it.
 */
static void *take_described(void *user, size_t size)
{
	struct probes_table *table = user;

	table->described.used = 0;
	return agent_memory_take(&table->described, size);
}

static int probes_event_make(struct probes_table *table, uint32_t index)
{
	struct probes_event *event = &table->events[index];
	struct side_event_description *description;
	struct probe_table_event table_event;
	int ret;

	probe_table_event(&table->table, index, &table_event);
	event->builder = side_tracer_builder_create(table_event.provider, table_event.name,
			table_event.loglevel > LOGLEVEL_LAST ? LOGLEVEL_LAST : table_event.loglevel,
			0, take_described, table);
	if (!event->builder)
		return -ENOMEM;
	ret = make_fields(table, &table_event, event);
	if (ret)
		return ret;
	if (side_builder_finish(event->builder) != SIDE_ERROR_OK) {
		agent_debug("cannot create the event of a probe: %s",
				side_builder_error(event->builder));
		return -EPROTO;
	}
	description = side_builder_description(event->builder);
	probes_event_copy_labels(&table->table, &table_event, description, event);
	/* Without this memory, unseen hits are not counted. */
	event->unseen = agent_memory_take(
			&table->memory, PROBES_NR_UNSEEN * sizeof(*event->unseen));
	event->state = side_builder_state(event->builder);
	event->enabled = &((const struct side_event_state_0 *)(const void *)event->state)->enabled;
	table->descriptions[index] = description;
	return 0;
}

/* The entry event and the exit event of a call belong to the same probes. */
static void pair_events(struct probes_table *table)
{
	uint32_t nr_events = probe_table_nr_events(&table->table),
		 nr = probe_table_nr_probes(&table->table), i;
	struct probe_table_probe probe;

	for (i = 0; i < nr_events; i++)
		table->events[i].entry_event = table->events[i].exit_event = PROBE_TABLE_NONE;
	for (i = 0; i < nr; i++) {
		probe_table_probe(&table->table, i, &probe);
		if (probe.entry == PROBE_TABLE_NONE || probe.exit == PROBE_TABLE_NONE)
			continue;
		table->events[probe.entry].exit_event = probe.exit;
		table->events[probe.exit].entry_event = probe.entry;
	}
}

int probes_events_make(struct probes_table *table)
{
	uint32_t nr = probe_table_nr_events(&table->table), i;
	int ret = 0;

	table->events = agent_memory_take(&table->memory, (nr + 1) * sizeof(*table->events));
	table->descriptions =
			agent_memory_take(&table->memory, (nr + 1) * sizeof(*table->descriptions));
	if (!table->events || !table->descriptions)
		return -ENOMEM;
	for (i = 0; !ret && i < nr; i++)
		ret = probes_event_make(table, i);
	if (ret)
		return ret;
	pair_events(table);
	table->handle = side_events_register(table->descriptions, nr);
	return table->handle ? 0 : -ENOMEM;
}

/* No thread can be in a hit of these events any more. */
void probes_events_free(struct probes_table *table)
{
	uint32_t nr = table->events ? probe_table_nr_events(&table->table) : 0, i;

	if (table->handle)
		side_events_unregister(table->handle);
	table->handle = NULL;
	for (i = 0; i < nr; i++)
		(void)side_builder_destroy(table->events[i].builder);
	agent_memory_free(&table->described);
	table->events = NULL;
}

const struct side_event_description *probes_events_other(const struct probes_table *tables,
		const struct side_event_description *event, bool leaves)
{
	for (; tables; tables = tables->next) {
		uint32_t nr = tables->events ? probe_table_nr_events(&tables->table) : 0, i = 0;

		while (i < nr && tables->descriptions[i] != event)
			i++;
		if (i == nr)
			continue;
		i = leaves ? tables->events[i].entry_event : tables->events[i].exit_event;
		return i == PROBE_TABLE_NONE ? NULL : tables->descriptions[i];
	}
	return NULL;
}

bool probes_events_has(
		const struct probes_table *tables, const struct side_event_description *event)
{
	uint32_t i;

	for (; tables; tables = tables->next)
		for (i = 0; tables->events && i < probe_table_nr_events(&tables->table); i++)
			if (tables->descriptions[i] == event)
				return true;
	return false;
}
