/* SPDX-License-Identifier: MIT */
/*
 * A recorder with probes: reads probe specs from standard input, writes a table, records a command
 * with it, and prints the state of each probe.
 *
 *	probe-record [-2] [-w] [-l] [-f FILTER] OUT COMMAND... < SPECS
 *
 *	-2: the same table twice; -w: rings that overwrite; -l: prints addresses of libraries, too
 *
 *	event PROVIDER NAME
 *	field NAME TYPE SIZE LIMIT		of the last event; TYPE as enum probe_field_type
 *	probe FILE FUNCTION ENTRY EXIT FLAGS	events by number, -1: none
 *	fetch entry|exit CODE SIZE REG VALUE ...	of the last probe; consecutive operations
 *	end					of a probe
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/code/code.h"
#include "probe/table/table.h"
#include "recorder/core/probes.h"
#include "recorder/core/session.h"

struct specs {
	struct probe_table_writer *writer;
	struct code_file *file;
	char path[4096];
	int64_t module;
	struct probe_table_event event;
	struct probe_table_field fields[PROBE_TABLE_FIELDS_MAX];
	char provider[64], name[64], names[PROBE_TABLE_FIELDS_MAX][64], function[256];
	bool has_event, has_probe;
	struct probe_table_probe probe;
	struct probe_fetch fetches[2][PROBE_TABLE_FIELDS_MAX];
	struct probe_fetch_op ops[2][PROBE_TABLE_FIELDS_MAX][PROBE_TABLE_OPS_MAX];
	unsigned int nr_fetches[2];
};

static void die(const char *what, int64_t error)
{
	fprintf(stderr, "probe-record: %s: %s\n", what, strerror((int)-error));
	exit(1);
}

static void finish(struct specs *specs)
{
	if (specs->has_event) {
		int64_t index;

		specs->event.fields = specs->fields;
		index = probe_table_add_event(specs->writer, &specs->event);
		if (index < 0)
			die(specs->name, index);
	}
	if (specs->has_probe) {
		int64_t index;

		specs->probe.entry_fetches = specs->fetches[0];
		specs->probe.exit_fetches = specs->fetches[1];
		index = probe_table_add_probe(specs->writer, &specs->probe);
		if (index < 0)
			die(specs->function, index);
	}
	specs->has_event = specs->has_probe = false;
}

static void open_file(struct specs *specs, const char *path)
{
	struct probe_table_module module = {.path = path, .name = path};
	struct error error;

	if (!strcmp(specs->path, path))
		return;
	if (code_open(path, &specs->file, &error)) {
		fprintf(stderr, "probe-record: %s\n", error.text);
		exit(1);
	}
	snprintf(specs->path, sizeof(specs->path), "%s", path);
	specs->module = probe_table_add_module(specs->writer, &module);
}

static bool find_site(struct specs *specs, const char *name, struct probe_site *site)
{
	const struct code_function *functions;
	size_t nr = code_functions(specs->file, &functions);

	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < functions[i].nr_names; j++)
			if (!strcmp(code_name(specs->file, &functions[i], j), name))
				return !code_entry(specs->file, &functions[i], site);
	return false;
}

static void take_probe(struct specs *specs, const char *line)
{
	char path[4096], name[256];
	int entry, leave;
	unsigned int flags;

	if (sscanf(line, "probe %4095s %255s %d %d %u", path, name, &entry, &leave, &flags) != 5)
		die(line, -EINVAL);
	open_file(specs, path);
	snprintf(specs->function, sizeof(specs->function), "%s", name);
	specs->probe = (struct probe_table_probe){.module = (uint32_t)specs->module,
			.entry = (uint32_t)entry,
			.exit = (uint32_t)leave,
			.flags = flags,
			.function = specs->function};
	if (!find_site(specs, name, &specs->probe.site))
		die(name, -ENOENT);
	specs->nr_fetches[0] = specs->nr_fetches[1] = 0;
	specs->has_probe = true;
}

static void take_fetch(struct specs *specs, char *line)
{
	unsigned int which = !strncmp(line + 6, "exit", 4), nr = specs->nr_fetches[which]++, n = 0;
	struct probe_fetch_op *ops = specs->ops[which][nr];
	char *word = strtok(line + 6, " \n");

	memset(ops, 0, sizeof(specs->ops[which][nr]));
	while ((word = strtok(NULL, " \n"))) {
		ops[n].code = (uint8_t)atoi(word);
		ops[n].size = (uint8_t)atoi(strtok(NULL, " \n"));
		ops[n].reg = (uint8_t)atoi(strtok(NULL, " \n"));
		ops[n++].value = strtoll(strtok(NULL, " \n"), NULL, 0);
	}
	specs->fetches[which][nr] = (struct probe_fetch){ops, n};
}

static void take_line(struct specs *specs, char *line)
{
	if (!strncmp(line, "fetch ", 6)) {
		take_fetch(specs, line);
	} else if (!strncmp(line, "field ", 6)) {
		struct probe_table_field *field = &specs->fields[specs->event.nr_fields];
		char *name = specs->names[specs->event.nr_fields++];
		unsigned int type, size, limit;

		if (sscanf(line, "field %63s %u %u %u", name, &type, &size, &limit) != 4)
			die(line, -EINVAL);
		*field = (struct probe_table_field){.name = name,
				.type = (uint8_t)type,
				.size = (uint8_t)size,
				.limit = (uint16_t)limit};
	} else {
		finish(specs);
		if (!strncmp(line, "probe ", 6))
			take_probe(specs, line);
		if (sscanf(line, "event %63s %63s", specs->provider, specs->name) == 2) {
			specs->event = (struct probe_table_event){.provider = specs->provider,
					.name = specs->name,
					.loglevel = 6};
			specs->has_event = true;
		}
	}
}

static int read_table(void)
{
	static struct specs specs;
	char line[8192];
	int fd;

	specs.writer = probe_table_writer_new();
	while (fgets(line, sizeof(line), stdin))
		take_line(&specs, line);
	finish(&specs);
	fd = probe_table_memfd(specs.writer);
	if (fd < 0)
		die("the table", fd);
	probe_table_writer_free(specs.writer);
	return fd;
}

static void print_answers(struct session *session)
{
	struct session_probe_answer *answers;
	size_t nr;

	if (session_probe_answers(session, &answers, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		printf("table %u places %u error %u", answers[i].number, answers[i].locations,
				answers[i].error);
		for (uint32_t state = 0; state < WIRE_NR_PROBE_STATES; state++)
			if (answers[i].states[state])
				printf(" %s %u", wire_probe_state_text(state),
						answers[i].states[state]);
		printf("\ncut %" PRIu64 " lost %" PRIu64 " unseen %" PRIu64 " abandoned %" PRIu64
		       "\n",
				answers[i].cut, answers[i].lost, answers[i].unseen,
				answers[i].abandoned);
		for (uint32_t j = 0; j < answers[i].nr_refusals; j++)
			printf("refused %u %s\n", answers[i].refusals[j].first,
					wire_probe_error_text(answers[i].refusals[j].error));
	}
	session_probe_answers_free(answers, nr);
}

int main(int argc, char **argv)
{
	struct session_rule rules[] = {{0}, session_symbols_rule};
	struct session_channel channel = {
			.name = SESSION_CHANNEL_NAME, .rules = rules, .nr_rules = 1};
	struct session_table probes[2] = {{.number = 1}, {.number = 2}};
	struct session_options options = {.mode = SESSION_RECORD,
			.probes = probes,
			.nr_probes = 1,
			.channels = &channel,
			.nr_channels = 1,
			.wait_all = true};
	struct error error;
	struct session *session;
	int status, option;

	while ((option = getopt(argc, argv, "+2wlf:")) > 0)
		switch (option) {
		case '2': options.nr_probes = 2; break;
		case 'w': channel.mode = SESSION_OVERWRITE; break;
		case 'l': channel.nr_rules = 2; break;
		case 'f': rules[0].filter = optarg; break;
		default: return 2;
		}
	if (argc < optind + 2)
		return 2;
	options.output = argv[optind];
	probes[0].fd = probes[1].fd = read_table();
	if (session_create(&options, &session, &error) ||
			session_spawn(session, argv + optind + 1, &error) ||
			session_run(session, &error)) {
		fprintf(stderr, "probe-record: %s\n", error.text);
		return 1;
	}
	print_answers(session);
	status = session_summary(session)->status;
	session_destroy(session);
	/* The status of the program, so that the test sees an end by a signal. */
	return status != 0;
}
