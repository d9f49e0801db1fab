/* SPDX-License-Identifier: MIT */
/*
 * The SIDE events of a table of probes: made at run time, registered all at once. From here on they are events like any other;
 * who listens to them is looked at elsewhere.
 */
#include <errno.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "agent/probes.h"

#define LOGLEVEL_LAST SIDE_LOGLEVEL_DEBUG

/* What strings and arrays of one field are read into. */
static uint32_t scratch_bytes(const struct probe_table_field *field)
{
	if (!field->limit)
		return 0;
	return (field->limit * field->size + 8u + 8u) & ~7u;
}

static int make_fields(struct probes_table *table, const struct probe_table_event *said,
		struct probes_event *event)
{
	struct probes_field *fields =
			agent_memory_take(&table->memory, (said->nr_fields + 1) * sizeof(*fields));
	uint32_t i;

	if (!fields)
		return -ENOMEM;
	for (i = 0; i < said->nr_fields; i++) {
		struct probe_table_field *field = &fields[i].field;

		probe_table_field(&table->table, said, i, field);
		event->scratch += scratch_bytes(field);
		event->wants_calls |= field->type == PROBE_FIELD_BACKTRACE;
		(void)side_builder_add_field(event->builder, NULL, field->name,
				probe_table_describe(event->builder, field));
	}
	event->fields = fields;
	event->nr_fields = said->nr_fields;
	table->wants_calls |= event->wants_calls;
	return 0;
}

/* Arguments are labelled as the description says. */
static void take_labels(
		const struct side_event_description *description, struct probes_event *event)
{
	const struct side_event_field *described = side_array_elements(&description->fields);
	struct probes_field *fields = (struct probes_field *)(uintptr_t)event->fields;
	uint32_t i;

	for (i = 0; i < event->nr_fields; i++) {
		const struct side_type *type = &described[i].side_type;

		/* That of an enumeration is what its values are. */
		if (*fields[i].field.labels)
			type = side_ptr_get(type->u.side_enum.elem_type);
		fields[i].label = type->type.v;
	}
}

static int make_event(struct probes_table *table, uint32_t index)
{
	struct probes_event *event = &table->events[index];
	struct side_event_description *description;
	struct probe_table_event said;
	int ret;

	probe_table_event(&table->table, index, &said);
	event->builder = side_builder_create(said.provider, said.name,
			said.loglevel > LOGLEVEL_LAST ? LOGLEVEL_LAST : said.loglevel, 0);
	if (!event->builder)
		return -ENOMEM;
	ret = make_fields(table, &said, event);
	if (ret)
		return ret;
	if (side_builder_finish(event->builder) != SIDE_ERROR_OK) {
		agent_debug("an event of probes: %s", side_builder_error(event->builder));
		return -EPROTO;
	}
	description = side_builder_description(event->builder);
	take_labels(description, event);
	event->state = side_builder_state(event->builder);
	event->enabled = &((const struct side_event_state_0 *)(const void *)event->state)->enabled;
	table->descriptions[index] = description;
	return 0;
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
		ret = make_event(table, i);
	if (ret)
		return ret;
	table->handle = side_events_register(table->descriptions, nr);
	return table->handle ? 0 : -ENOMEM;
}

/* Nobody hits them any more. */
void probes_events_free(struct probes_table *table)
{
	uint32_t nr = table->events ? probe_table_nr_events(&table->table) : 0, i;

	if (table->handle)
		side_events_unregister(table->handle);
	table->handle = NULL;
	for (i = 0; i < nr; i++)
		(void)side_builder_destroy(table->events[i].builder);
	table->events = NULL;
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
