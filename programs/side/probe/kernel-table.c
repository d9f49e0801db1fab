/* SPDX-License-Identifier: MIT */
/*
 * Copy a probe table with only the chosen probes, or with all of them and the chosen ones marked.
 */
#include "kernel.h"

static int64_t probe_kernel_table_copy_event(
		struct probe_table_writer *writer, const struct probe_table *table, uint32_t index)
{
	struct probe_table_field fields[PROBE_TABLE_FIELDS_MAX];
	struct probe_table_event event;

	probe_table_event(table, index, &event);
	for (uint32_t i = 0; i < event.nr_fields; i++)
		probe_table_field(table, &event, i, &fields[i]);
	event.fields = fields;
	return probe_table_add_event(writer, &event);
}

static void get_fetches(const struct probe_table *table, uint32_t number, uint32_t first,
		struct probe_fetch ret_fetches[PROBE_TABLE_FIELDS_MAX])
{
	struct probe_table_event event;

	if (number == PROBE_TABLE_NONE)
		return;
	probe_table_event(table, number, &event);
	for (uint32_t i = 0; i < event.nr_fields; i++)
		probe_table_fetch(table, first, i, &ret_fetches[i]);
}

static int64_t copy_probe(struct probe_table_writer *writer, const struct probe_table *table,
		const struct probe_table_probe *of)
{
	struct probe_table_probe probe = *of;
	struct probe_fetch entry[PROBE_TABLE_FIELDS_MAX], exit[PROBE_TABLE_FIELDS_MAX];

	get_fetches(table, probe.entry, probe.first_entry_fetch, entry);
	get_fetches(table, probe.exit, probe.first_exit_fetch, exit);
	probe.entry_fetches = entry;
	probe.exit_fetches = exit;
	return probe_table_add_probe(writer, &probe);
}

static uint32_t mark_of(enum probe_kernel_copy copy)
{
	return copy == PROBE_KERNEL_OTHERS ? PROBE_ENTRY_KERNEL | PROBE_ENTRY_ELSEWHERE
					   : PROBE_ENTRY_KERNEL;
}

int probe_kernel_copy(
		const struct probe_table *table, const bool *chosen, enum probe_kernel_copy copy)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	int64_t ret = writer ? 0 : -1;

	for (uint32_t i = 0; ret >= 0 && i < probe_table_nr_modules(table); i++) {
		struct probe_table_module module;

		probe_table_module(table, i, &module);
		ret = probe_table_add_module(writer, &module);
	}
	for (uint32_t i = 0; ret >= 0 && i < probe_table_nr_events(table); i++)
		ret = probe_kernel_table_copy_event(writer, table, i);
	for (uint32_t i = 0; ret >= 0 && i < probe_table_nr_probes(table); i++) {
		struct probe_table_probe probe;

		if (copy == PROBE_KERNEL_ALONE && !chosen[i])
			continue;
		probe_table_probe(table, i, &probe);
		/* The agent in the process changes the semaphore. */
		if (copy == PROBE_KERNEL_ALONE)
			probe.semaphore = 0;
		else if (chosen[i])
			probe.flags |= mark_of(copy);
		ret = copy_probe(writer, table, &probe);
	}
	if (ret >= 0)
		ret = probe_table_memfd(writer);
	probe_table_writer_free(writer);
	return (int)ret;
}
