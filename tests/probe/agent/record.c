/* SPDX-License-Identifier: MIT */
/*
 * A recorder with probes: reads what is wanted from standard input, makes a table of it, records a command with it and says
 * what has become of each.
 *
 *	probe-record [-2] [-w] [-l] [-f FILTER] OUT COMMAND... < WISHES
 *
 *	-2: the same table twice; -w: rings that overwrite; -l: where libraries are, too
 *
 *	event PROVIDER NAME
 *	field NAME TYPE SIZE LIMIT                     of the last event; TYPE as enum probe_field_type
 *	probe FILE FUNCTION ENTRY EXIT FLAGS           events by number, -1: none
 *	fetch entry|exit CODE SIZE REG VALUE ...       of the last probe; operations behind each other
 *	end                                            of a probe
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

struct wishes {
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

static void finish(struct wishes *wishes)
{
	if (wishes->has_event) {
		int64_t index;

		wishes->event.fields = wishes->fields;
		index = probe_table_add_event(wishes->writer, &wishes->event);
		if (index < 0)
			die(wishes->name, index);
	}
	if (wishes->has_probe) {
		int64_t index;

		wishes->probe.entry_fetches = wishes->fetches[0];
		wishes->probe.exit_fetches = wishes->fetches[1];
		index = probe_table_add_probe(wishes->writer, &wishes->probe);
		if (index < 0)
			die(wishes->function, index);
	}
	wishes->has_event = wishes->has_probe = false;
}

static void open_file(struct wishes *wishes, const char *path)
{
	struct probe_table_module module = {.path = path, .name = path};
	struct code_error error;

	if (!strcmp(wishes->path, path))
		return;
	if (code_open(path, &wishes->file, &error)) {
		fprintf(stderr, "probe-record: %s\n", error.text);
		exit(1);
	}
	snprintf(wishes->path, sizeof(wishes->path), "%s", path);
	wishes->module = probe_table_add_module(wishes->writer, &module);
}

static bool find_site(struct wishes *wishes, const char *name, struct probe_site *site)
{
	const struct code_function *functions;
	size_t nr = code_functions(wishes->file, &functions);

	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < functions[i].nr_names; j++)
			if (!strcmp(code_name(wishes->file, &functions[i], j), name))
				return !code_entry(wishes->file, &functions[i], site);
	return false;
}

static void take_probe(struct wishes *wishes, const char *line)
{
	char path[4096], name[256];
	int entry, leave;
	unsigned int flags;

	if (sscanf(line, "probe %4095s %255s %d %d %u", path, name, &entry, &leave, &flags) != 5)
		die(line, -EINVAL);
	open_file(wishes, path);
	snprintf(wishes->function, sizeof(wishes->function), "%s", name);
	wishes->probe = (struct probe_table_probe){.module = (uint32_t)wishes->module,
			.entry = (uint32_t)entry,
			.exit = (uint32_t)leave,
			.flags = flags,
			.function = wishes->function};
	if (!find_site(wishes, name, &wishes->probe.site))
		die(name, -ENOENT);
	wishes->nr_fetches[0] = wishes->nr_fetches[1] = 0;
	wishes->has_probe = true;
}

static void take_fetch(struct wishes *wishes, char *line)
{
	unsigned int which = !strncmp(line + 6, "exit", 4), nr = wishes->nr_fetches[which]++, n = 0;
	struct probe_fetch_op *ops = wishes->ops[which][nr];
	char *word = strtok(line + 6, " \n");

	memset(ops, 0, sizeof(wishes->ops[which][nr]));
	while ((word = strtok(NULL, " \n"))) {
		ops[n].code = (uint8_t)atoi(word);
		ops[n].size = (uint8_t)atoi(strtok(NULL, " \n"));
		ops[n].reg = (uint8_t)atoi(strtok(NULL, " \n"));
		ops[n++].value = strtoll(strtok(NULL, " \n"), NULL, 0);
	}
	wishes->fetches[which][nr] = (struct probe_fetch){ops, n};
}

static void take_line(struct wishes *wishes, char *line)
{
	if (!strncmp(line, "fetch ", 6)) {
		take_fetch(wishes, line);
	} else if (!strncmp(line, "field ", 6)) {
		struct probe_table_field *field = &wishes->fields[wishes->event.nr_fields];
		char *name = wishes->names[wishes->event.nr_fields++];
		unsigned int type, size, limit;

		if (sscanf(line, "field %63s %u %u %u", name, &type, &size, &limit) != 4)
			die(line, -EINVAL);
		*field = (struct probe_table_field){.name = name,
				.type = (uint8_t)type,
				.size = (uint8_t)size,
				.limit = (uint16_t)limit};
	} else {
		finish(wishes);
		if (!strncmp(line, "probe ", 6))
			take_probe(wishes, line);
		if (sscanf(line, "event %63s %63s", wishes->provider, wishes->name) == 2) {
			wishes->event = (struct probe_table_event){.provider = wishes->provider,
					.name = wishes->name,
					.loglevel = 6};
			wishes->has_event = true;
		}
	}
}

static int read_table(void)
{
	static struct wishes wishes;
	char line[8192];
	int fd;

	wishes.writer = probe_table_writer_new();
	while (fgets(line, sizeof(line), stdin))
		take_line(&wishes, line);
	finish(&wishes);
	fd = probe_table_memfd(wishes.writer);
	if (fd < 0)
		die("the table", fd);
	probe_table_writer_free(wishes.writer);
	return fd;
}

static void say_answers(struct session *session)
{
	struct session_probe_answer *answers;
	size_t nr;

	if (session_probe_answers(session, &answers, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		printf("table %u places %u error %u", answers[i].number, answers[i].places,
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
	struct session_probe probes[2] = {{.number = 1}, {.number = 2}};
	struct session_options options = {.mode = SESSION_RECORD,
			.probes = probes,
			.nr_probes = 1,
			.channels = &channel,
			.nr_channels = 1,
			.wait_all = true};
	struct session_error error;
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
	probes[0].table = probes[1].table = read_table();
	if (session_create(&options, &session, &error) ||
			session_spawn(session, argv + optind + 1, &error) ||
			session_run(session, &error)) {
		fprintf(stderr, "probe-record: %s\n", error.text);
		return 1;
	}
	say_answers(session);
	status = session_summary(session)->status;
	session_destroy(session);
	/* The program's own, so that its end by a signal is seen. */
	return status != 0;
}
