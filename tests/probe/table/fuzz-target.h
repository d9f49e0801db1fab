/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROBE_TABLE_FUZZ_TARGET_H
#define TESTS_PROBE_TABLE_FUZZ_TARGET_H

/*
 * Reads the input as a table, for the libFuzzer target and the mutation test: all parts of an
 * accepted table must be readable (the sanitizers watch), and a writer must accept them.
 */

#include "probe/table/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void fuzz_events(const struct probe_table *table, struct probe_table_writer *writer)
{
	struct probe_table_field fields[PROBE_TABLE_FIELDS_MAX];
	struct probe_table_event event;

	for (uint32_t i = 0; i < probe_table_nr_events(table); i++) {
		probe_table_event(table, i, &event);
		for (uint32_t j = 0; j < event.nr_fields; j++)
			probe_table_field(table, &event, j, &fields[j]);
		event.fields = fields;
		if (probe_table_add_event(writer, &event) != i)
			abort();
	}
}

static inline void fuzz_fetches(const struct probe_table *table, uint32_t event, uint32_t first,
		struct probe_fetch *fetches)
{
	struct probe_table_event known;

	if (event == PROBE_TABLE_NONE)
		return;
	probe_table_event(table, event, &known);
	for (uint32_t i = 0; i < known.nr_fields; i++)
		probe_table_fetch(table, first, i, &fetches[i]);
}

static inline void fuzz_probes(const struct probe_table *table, struct probe_table_writer *writer)
{
	struct probe_fetch entry[PROBE_TABLE_FIELDS_MAX], leave[PROBE_TABLE_FIELDS_MAX];
	struct probe_table_probe probe;

	for (uint32_t i = 0; i < probe_table_nr_probes(table); i++) {
		probe_table_probe(table, i, &probe);
		fuzz_fetches(table, probe.entry, probe.first_entry_fetch, entry);
		fuzz_fetches(table, probe.exit, probe.first_exit_fetch, leave);
		probe.entry_fetches = entry;
		probe.exit_fetches = leave;
		if (probe_table_add_probe(writer, &probe) != i)
			abort();
	}
}

/* Returns whether the input is a valid table. */
static inline bool fuzz_table(const uint8_t *data, size_t size)
{
	struct probe_table_writer *writer;
	struct probe_table_module module;
	struct probe_table table;
	const char *reason = NULL;
	/* Aligned, as in a mapping. */
	uint8_t *copy = aligned_alloc(8, (size + 8) & ~(size_t)7);

	if (!copy)
		return false;
	memcpy(copy, data, size);
	if (probe_table_open(&table, copy, size, &reason)) {
		if (!reason || !*reason)
			abort();
		free(copy);
		return false;
	}
	writer = probe_table_writer_new();
	for (uint32_t i = 0; i < probe_table_nr_modules(&table); i++) {
		probe_table_module(&table, i, &module);
		if (probe_table_add_module(writer, &module) != i)
			abort();
	}
	fuzz_events(&table, writer);
	fuzz_probes(&table, writer);
	probe_table_writer_free(writer);
	free(copy);
	return true;
}

#endif /* TESTS_PROBE_TABLE_FUZZ_TARGET_H */
