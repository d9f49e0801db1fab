/* SPDX-License-Identifier: MIT */
/*
 * Resolves a probe spec and prints the table, one line for each item. Tests compare it with other
 * readers of the same files.
 *
 *	usage: probe-show FILE|PID probe|function|sdt SPEC [exit|each] [ARGUMENT...]
 *
 * each: every argument alone, with the error of each that is invalid.
 */
#include "probe/spec/resolve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show_fetch(const struct probe_table *table, uint32_t first, uint32_t index)
{
	struct probe_fetch fetch;

	probe_table_fetch(table, first, index, &fetch);
	for (uint32_t i = 0; i < fetch.nr_ops; i++)
		printf(" %u:%u:%u:%" PRId64, fetch.ops[i].code, fetch.ops[i].reg, fetch.ops[i].size,
				fetch.ops[i].value);
	putchar('\n');
}

static void show_fields(const struct probe_table *table, uint32_t event_index, uint32_t first)
{
	struct probe_table_event event;

	probe_table_event(table, event_index, &event);
	for (uint32_t i = 0; i < event.nr_fields; i++) {
		struct probe_table_field field;

		probe_table_field(table, &event, i, &field);
		printf("field %s %u %u %u", field.name, field.type, field.size, field.limit);
		show_fetch(table, first, i);
	}
}

static void show_table(const struct probe_table *table)
{
	for (uint32_t i = 0; i < probe_table_nr_events(table); i++) {
		struct probe_table_event event;

		probe_table_event(table, i, &event);
		printf("event %s:%s\n", event.provider, event.name);
	}
	for (uint32_t i = 0; i < probe_table_nr_probes(table); i++) {
		struct probe_table_probe probe;
		struct probe_table_module module;

		probe_table_probe(table, i, &probe);
		probe_table_module(table, probe.module, &module);
		printf("probe %s 0x%" PRIx64 " method %u flags %u semaphore 0x%" PRIx64
		       " exit %d %s\n",
				module.name, probe.site.address, probe.site.method, probe.flags,
				probe.semaphore, probe.exit != PROBE_TABLE_NONE, probe.function);
		if (i)
			continue;
		show_fields(table, probe.entry, probe.first_entry_fetch);
		if (probe.exit != PROBE_TABLE_NONE)
			show_fields(table, probe.exit, probe.first_exit_fetch);
	}
}

static void show_refused(void *user, const struct resolve_refusal *refusal)
{
	(void)user;
	if (refusal->what == RESOLVE_NOTE) {
		printf("told %s\n", refusal->reason);
		return;
	}
	printf("refused %s 0x%" PRIx64 " %s: %s\n", refusal->module, refusal->address,
			refusal->function, refusal->reason);
}

static int show(struct resolve *resolve, const struct probe_spec *request)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	struct error error = {.text = ""};
	struct probe_table table;
	const char *reason = "";
	void *bytes = NULL;
	size_t size;
	int ret = resolve_spec(resolve, request, writer, show_refused, NULL, &error);

	if (ret) {
		printf("error %s; %s\n", error.text, error.hint);
	} else if (probe_table_bytes(writer, &bytes, &size) ||
			probe_table_open(&table, bytes, size, &reason)) {
		printf("error no table: %s\n", reason);
		ret = 1;
	} else {
		show_table(&table);
	}
	free(bytes);
	probe_table_writer_free(writer);
	return ret ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct probe_spec request = {.kind = RESOLVE_LOCATION};
	struct resolve *resolve = resolve_new();
	struct error error;
	const char *file;
	bool each;
	char *end;
	long pid;
	int ret;

	if (argc < 4 || !resolve)
		return 2;
	request.kind = !strcmp(argv[2], "sdt")         ? RESOLVE_MARKER
			: !strcmp(argv[2], "function") ? RESOLVE_FUNCTION
						       : RESOLVE_LOCATION;
	request.location_text = argv[3];
	argv += 4;
	file = argv[-3];
	request.exits = *argv && !strcmp(*argv, "exit");
	each = *argv && !strcmp(*argv, "each");
	argv += request.exits || each;
	request.arguments = (const char *const *)argv;
	while (!each && argv[request.nr_arguments])
		request.nr_arguments++;
	pid = strtol(file, &end, 10);
	ret = *end ? resolve_add_file(resolve, file, &error)
		   : resolve_add_process(resolve, (pid_t)pid, &error);
	if (ret)
		printf("error %s; %s\n", error.text, error.hint);
	else if (!each)
		ret = show(resolve, &request);
	for (request.nr_arguments = 1; !ret && each && *request.arguments; request.arguments++)
		(void)show(resolve, &request);
	resolve_free(resolve);
	return ret ? 1 : 0;
}
