/* SPDX-License-Identifier: MIT */
/*
 * Implement the verb `trace`: start a program with probes, and record it until it ends, as `side
 * record` does.
 *
 * The agent in the program has the tables before the program's own first instruction. If the
 * program already runs, the agent is attached as by `side attach`, and receives the tables then.
 */
#include "programs/common/command.h"
#include "programs/side/session/helper-program.h"
#include "executable.h"
#include "global.h"
#include "kernel.h"
#include "list.h"
#include "spec-options.h"
#include "programs/common/message.h"
#include "trace-kernel.h"
#include "trace-loaded.h"
#include "trace-starter.h"
#include "analysis/where.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/cli/shell-words.h"

#include "recorder/core/probes.h"
#include "recorder/core/session.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFUSALS_SHOWN 10
#define EVENTS_FEW 4 /* name the events of a table one by one up to this number */

struct tracing {
	const char *filter; /* NULL: none */
	struct spec_options *specs;
	size_t nr_specs;
	char exe[PATH_MAX];
	pid_t files_of; /* with --global: a process that has mapped the files to probe */
	struct session_table tables[PROBE_SPECS_MAX];
	size_t nr_tables;
	int kernel[PROBE_SPECS_MAX]; /* tables of the sites that the kernel watches */
	size_t nr_kernel;
	const char *no_kernel; /* why the kernel may watch no site; NULL: it may */
	char *patterns[2 * PROBE_SPECS_MAX + 2];
	size_t nr_patterns;
	struct text_list contexts,
			/* contexts that any event may have; `contexts` also has those of probes */
			others;
	int status;           /* exit status from the answers of the programs */
	bool running;         /* the program runs already */
	bool starts;          /* side starts the program, with its own environment */
	bool forced;          /* let the kernel watch returns in files that handle exceptions */
	bool is_unreachable;  /* the program runs without probes, and the recorder reports why */
	bool debuginfod;      /* get missing debug files from servers */
	bool accepts_pending; /* `--pending` */
	bool follows_exec;    /* `--follow-exec` */
	bool is_pending;      /* the program may load a library of a spec later */
	struct trace_loaded loaded;
};

/* ---- the program ---- */

/* Find the file in which locations are searched. For a script, that is its interpreter. */
static int trace_find_program(const char *name, char exe[PATH_MAX])
{
	char path[PATH_MAX], text[256];
	int ret = session_program(name, path);
	const char *found;

	if (ret == -ENOENT && !*path)
		return message_error(COMMAND_NOT_FOUND, NULL, "there is no program `%.256s`", name);
	if (ret < 0 && !*path)
		return message_error(COMMAND_FAILED, NULL, "cannot find the program `%.256s`: %s",
				name, strerror(-ret));
	if (ret == -EACCES)
		return message_error(COMMAND_NOT_EXECUTABLE, "`chmod +x` lets it be executed",
				"`%.256s` cannot be run: it is a directory, or you may not execute it",
				format_printable(path, text, sizeof(text)));
	if (ret < 0)
		return message_error(COMMAND_NOT_EXECUTABLE, NULL,
				"`%.256s` cannot be run: its interpreter `%.256s`: %s", name,
				format_printable(path, text, sizeof(text)), strerror(-ret));
	found = realpath(path, exe);
	if (!found && errno == ENOENT)
		return message_error(COMMAND_NOT_FOUND, NULL, "there is no program `%.256s`", path);
	if (!found)
		return message_error(COMMAND_FAILED, NULL, "cannot find the program `%.256s`: %s",
				path, strerror(errno));
	if (ret)
		message_note("%.256s is a script, which %s runs: side searches the locations in the interpreter, not in the programs that the script starts",
				name, format_printable(exe, text, sizeof(text)));
	return COMMAND_DONE;
}

/* ---- probes ---- */

/*
 * Refuse an event with the name of another probe's event: their records could not be distinguished.
 */
static int trace_add_pattern(struct tracing *tracing, const char *provider, const char *event)
{
	char name[600];

	snprintf(name, sizeof(name), "%.250s:%.300s", provider, event);
	for (size_t i = 0; i < tracing->nr_patterns; i++) {
		if (!strcmp(tracing->patterns[i], name))
			return COMMAND_DONE;
	}
	if (tracing->nr_patterns == 2 * PROBE_SPECS_MAX)
		return message_error(COMMAND_USAGE, NULL, "there are too many events");
	tracing->patterns[tracing->nr_patterns] = strdup(name);
	if (!tracing->patterns[tracing->nr_patterns])
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	tracing->nr_patterns++;
	return COMMAND_DONE;
}

static int trace_add_events(struct tracing *tracing, int table)
{
	struct probe_table_view view;
	int status = probe_table_view_open(table, &view);

	if (status)
		return status;
	/*
	 * With an event for each function, one pattern for the provider is enough: the provider is
	 * side's own.
	 */
	if (probe_table_nr_events(&view.table) > EVENTS_FEW)
		status = trace_add_pattern(tracing, RESOLVE_PROVIDER, "*");
	for (uint32_t i = 0; i < probe_table_nr_events(&view.table) && !status; i++) {
		struct probe_table_event event;

		probe_table_event(&view.table, i, &event);
		if (probe_table_nr_events(&view.table) <= EVENTS_FEW)
			status = trace_add_pattern(tracing, event.provider, event.name);
	}
	probe_table_view_close(&view);
	return status;
}

/* The arguments of two functions are not the fields of one event. */
static bool wants_all_arguments(const struct probe_spec *spec)
{
	for (size_t i = 0; i < spec->nr_arguments; i++)
		if (resolve_is_several(spec->arguments[i]))
			return spec->kind == RESOLVE_FUNCTION;
	return false;
}

static int trace_defer_to_kernel(struct tracing *tracing, const struct probe_target *target,
		struct session_table *table, const struct probe_table_view *view)
{
	struct probe_kernel kernel;
	int status = probe_kernel_choose(
			target, tracing->no_kernel, &table->fd, view, tracing->nr_tables, &kernel);

	if (!status && kernel.table >= 0)
		tracing->kernel[tracing->nr_kernel++] = kernel.table;
	if (!status && kernel.others >= 0) {
		table->has_others = true;
		table->others = kernel.others;
	}
	return status;
}

/*
 * Called when all tables are known: the kernel must not watch a site that one of the probes needs
 * in the process.
 */
static int leave_all_to_kernel(struct tracing *tracing, const struct probe_target *target)
{
	struct probe_table_view *view = calloc(tracing->nr_tables + 1, sizeof(*view));
	int status = COMMAND_DONE;
	size_t nr = 0;

	if (!view)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	/* Use the tables before any of them is replaced by one that leaves sites to the kernel. */
	for (; nr < tracing->nr_tables && !status; nr += !status)
		status = probe_table_view_open(tracing->tables[nr].fd, &view[nr]);
	for (size_t i = 0; i < tracing->nr_tables && !status; i++)
		status = trace_defer_to_kernel(tracing, target, &tracing->tables[i], view);
	while (nr--)
		probe_table_view_close(&view[nr]);
	free(view);
	return status;
}

/* Makes the tables of all specs. */
static int trace_make_tables(
		struct tracing *tracing, const struct probe_target *target, bool global)
{
	const struct probe_spec *specs[PROBE_SPECS_MAX];
	int fds[PROBE_SPECS_MAX], status;

	for (size_t i = 0; i < tracing->nr_specs; i++) {
		struct probe_spec *spec = &tracing->specs[i].spec;

		spec->kernel = global;
		spec->forced = tracing->forced;
		spec->separate = wants_all_arguments(spec);
		specs[i] = spec;
	}
	status = probe_resolve_all(target, specs, tracing->nr_specs, fds, &tracing->nr_tables);
	for (size_t i = 0; i < tracing->nr_tables; i++)
		tracing->tables[i] = (struct session_table){
				.number = (uint32_t)i + 1,
				.fd = fds[i],
		};
	return status;
}

/*
 * The events in a library that is loaded later have names that are not all known yet: each function
 * of a glob has its own.
 */
static int trace_add_later_events(struct tracing *tracing, const struct probe_spec *spec)
{
	const char *marker = strchr(spec->location_text, ':') + 1, *end = strrchr(marker, ':');
	char provider[256];

	if (spec->kind != RESOLVE_MARKER || !end)
		return trace_add_pattern(tracing, RESOLVE_PROVIDER, "*");
	snprintf(provider, sizeof(provider), "%.*s", (int)(end - marker), marker);
	return trace_add_pattern(tracing, provider, "*");
}

static bool trace_has_library_glob(const struct probe_spec *spec)
{
	char *library = resolve_library(spec);
	bool is_glob = library && strpbrk(library, "*?[");

	free(library);
	return is_glob;
}

static int trace_prepare_loaded(struct tracing *tracing)
{
	int status;

	for (size_t i = 0; i < tracing->nr_specs; i++)
		tracing->is_pending |= trace_has_library_glob(&tracing->specs[i].spec);
	if (!tracing->is_pending)
		return COMMAND_DONE;
	status = trace_loaded_begin(&tracing->loaded, tracing->specs, tracing->nr_specs,
			tracing->tables, tracing->nr_tables);
	for (size_t i = 0; i < tracing->nr_specs && !status; i++) {
		if (tracing->loaded.libraries[i])
			status = trace_add_later_events(tracing, &tracing->specs[i].spec);
	}
	return status;
}

static int resolve_all(struct tracing *tracing, pid_t pid, bool global)
{
	const struct probe_target target = {.pid = global ? tracing->files_of : pid,
			.exe = pid || tracing->files_of ? NULL : tracing->exe,
			.preloads = tracing->starts,
			.debuginfod = tracing->debuginfod,
			.pending = global                          ? PROBE_PENDING_NEVER
					: tracing->accepts_pending ? PROBE_PENDING_ACCEPTED
								   : PROBE_PENDING_OFFERED,
			.ret_is_pending = &tracing->is_pending};
	uint64_t started = 0;
	int status = pid ? probe_started(pid, &started) : COMMAND_DONE;

	if (!status)
		status = trace_make_tables(tracing, &target, global);
	for (size_t i = 0; i < tracing->nr_tables && !status; i++) {
		/* Programs that it executes join by the socket that it passes on. */
		tracing->tables[i].target.pid = tracing->follows_exec ? 0 : (uint32_t)pid;
		tracing->tables[i].target.started = tracing->follows_exec ? 0 : started;
		/* Modules are identified by their files: a program gets no probes of other files. */
		tracing->tables[i].target.exe =
				tracing->follows_exec ? NULL : (char *)(uintptr_t)target.exe;
		status = trace_add_events(tracing, tracing->tables[i].fd);
	}
	if (!status && !global)
		status = trace_prepare_loaded(tracing);
	return status || global ? status : leave_all_to_kernel(tracing, &target);
}

/* ---- results ---- */

struct trace_answers {
	struct session_probe_answer *list;
	size_t count;
};

/* The table with this number; -1: there is none. */
static int trace_find_table(const struct tracing *tracing, uint32_t number)
{
	const struct trace_loaded_table *loaded = trace_loaded_find(&tracing->loaded, number);

	if (loaded)
		return loaded->fd;
	return number && number <= tracing->nr_tables ? tracing->tables[number - 1].fd : -1;
}

/* The index of the table's spec, or that of none. */
static size_t trace_find_spec(const struct tracing *tracing, uint32_t number)
{
	const struct trace_loaded_table *loaded = trace_loaded_find(&tracing->loaded, number);

	if (loaded)
		return loaded->spec;
	return number && number <= tracing->nr_specs ? number - 1 : tracing->nr_specs;
}

static const char *trace_probe_spec_text(const struct tracing *tracing, uint32_t number)
{
	size_t spec = trace_find_spec(tracing, number);

	return spec < tracing->nr_specs ? tracing->specs[spec].spec.location_text : "?";
}

/* Prints a line for each location. Returns how many lines have been printed. */
static uint64_t trace_report_refusal(const struct probe_table_view *view,
		const struct session_probe_refusal *refusal, uint64_t shown)
{
	uint64_t end = (uint64_t)refusal->first + refusal->count;

	for (uint64_t i = refusal->first; i < end && shown < REFUSALS_SHOWN; i++) {
		struct probe_table_probe probe;

		if (i >= probe_table_nr_probes(&view->table))
			break;
		probe_table_probe(&view->table, (uint32_t)i, &probe);
		fprintf(stderr, "%s %s: %s, at 0x%" PRIx64 ": %s\n", message_label(true),
				refusal->error == ECANCELED ? "removed" : "not set", probe.function,
				probe.site.address, wire_probe_error_text(refusal->error));
		shown++;
	}
	return shown;
}

static void trace_report_refusals(
		const struct tracing *tracing, const struct session_probe_answer *answer)
{
	int table = trace_find_table(tracing, answer->number);
	uint64_t shown = 0;
	struct probe_table_view view;

	if (!answer->nr_refusals || table < 0 || probe_table_view_open(table, &view))
		return;
	for (uint32_t i = 0; i < answer->nr_refusals; i++)
		shown = trace_report_refusal(&view, &answer->refusals[i], shown);
	if (answer->states[WIRE_PROBE_REFUSED] > shown)
		fprintf(stderr, "%s not set: %" PRIu64 " others\n", message_label(true),
				(uint64_t)answer->states[WIRE_PROBE_REFUSED] - shown);
	probe_table_view_close(&view);
}

static bool trace_are_refused_by(const struct session_probe_answer *answer, uint32_t error)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < answer->nr_refusals; i++)
		count += answer->refusals[i].error == error ? answer->refusals[i].count : 0;
	return count && count == answer->states[WIRE_PROBE_REFUSED];
}

/* The probes were set until the program entered a sandbox. */
static bool were_removed(const struct session_probe_answer *answer)
{
	return trace_are_refused_by(answer, ECANCELED);
}

/*
 * No rule records the events of this answer, because the filter names fields that they do not have.
 */
static bool is_filtered_out(const struct session_probe_answer *answer)
{
	return !answer->error && answer->locations &&
			answer->states[WIRE_PROBE_RESTS] == answer->locations;
}

/* Whether a filter may have named fields of the entry and of the return. */
static bool trace_may_have_exit(
		const struct tracing *tracing, const struct session_probe_answer *answer)
{
	struct probe_table_probe probe = {.exit = PROBE_TABLE_NONE};
	int table = trace_find_table(tracing, answer->number);
	struct probe_table_view view;

	if (table < 0 || probe_table_view_open(table, &view))
		return false;
	if (probe_table_nr_probes(&view.table))
		probe_table_probe(&view.table, 0, &probe);
	probe_table_view_close(&view);
	return probe.exit != PROBE_TABLE_NONE;
}

static int trace_print_filtered_out(
		const struct tracing *tracing, const struct session_probe_answer *answer)
{
	return message_error(COMMAND_FAILED,
			trace_may_have_exit(tracing, answer)
					? "`--args` records the arguments if there is debug information\nto filter by the entry and by the return, filter the entry here and the return with `side view --filter`"
					: "`--args` records the arguments if there is debug information\n`--arg s32:x:%edi` names a register",
			"nothing was recorded: no event of %s has the fields that `--filter %.256s` names",
			trace_probe_spec_text(tracing, answer->number), tracing->filter);
}

/*
 * Whether another table of the spec was set in the process: that of another file. `in_any`: or in
 * another process.
 */
static bool trace_is_set_elsewhere(const struct tracing *tracing,
		const struct trace_answers *answers, const struct session_probe_answer *answer,
		bool in_any)
{
	for (size_t i = 0; i < answers->count; i++) {
		const struct session_probe_answer *other = &answers->list[i];

		if ((in_any || other->pid == answer->pid) && other->was_set &&
				trace_find_spec(tracing, other->number) ==
						trace_find_spec(tracing, answer->number))
			return true;
	}
	return false;
}

/* Whether LIB of the spec looks like a program, which COMMAND may execute: the path of no library. */
static bool trace_names_program(const struct tracing *tracing, uint32_t number)
{
	size_t spec = trace_find_spec(tracing, number);
	char *library = spec < tracing->nr_specs ? resolve_library(&tracing->specs[spec].spec)
						 : NULL;
	bool is_program = library && strchr(library, '/') && !strstr(library, ".so");

	free(library);
	return is_program;
}

/* A command has ended, so its answers are final: its libraries may have been unloaded again. */
static void trace_print_absent(const struct tracing *tracing, const struct trace_answers *answers,
		const struct session_probe_answer *answer)
{
	const char *spec = trace_probe_spec_text(tracing, answer->number);

	if (trace_is_set_elsewhere(tracing, answers, answer, false))
		return;
	if (tracing->running)
		message_note("%s is not in process %" PRId32
			     " yet: it is set when its library is loaded",
				spec, answer->pid);
	else if (trace_is_set_elsewhere(tracing, answers, answer, true))
		message_detail("%s was never set in process %" PRId32, spec, answer->pid);
	else if (tracing->starts && !tracing->follows_exec &&
			trace_names_program(tracing, answer->number))
		message_note_hint("`--follow-exec` sets probes in programs that COMMAND executes",
				"%s was never set in process %" PRId32
				": the process did not load the file",
				spec, answer->pid);
	else
		message_note("%s was never set in process %" PRId32
			     ": its library was not loaded, or its probes were not ready in time",
				spec, answer->pid);
}

static void trace_print_answer(struct tracing *tracing, const struct trace_answers *answers,
		const struct session_probe_answer *answer)
{
	uint64_t set = 0;
	char text[256] = "", number[FORMAT_NUMBER_MAX];
	size_t used = 0;

	/* The program has loaded another file by that path, and that file has probes. */
	if (trace_are_refused_by(answer, ENOTUNIQ) &&
			trace_is_set_elsewhere(tracing, answers, answer, false))
		return;
	for (unsigned int i = WIRE_PROBE_JUMP; i < WIRE_NR_PROBE_STATES; i++) {
		if ((i > WIRE_PROBE_BREAKPOINT && i != WIRE_PROBE_UPROBE) || !answer->states[i])
			continue;
		set += answer->states[i];
		if (used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
					used ? ", " : "", format_number(answer->states[i], number),
					i == WIRE_PROBE_UPROBE ? PROBE_UPROBE_NAME
							       : probe_method_name(i));
	}
	if (answer->error)
		message_note("%s: process %" PRId32 " cannot use it: %s",
				trace_probe_spec_text(tracing, answer->number), answer->pid,
				wire_probe_error_text(answer->error));
	else if (!set && answer->states[WIRE_PROBE_RESTS] && !answer->states[WIRE_PROBE_REFUSED])
		message_note("%s is set in process %" PRId32 ": 0 of %" PRIu32
			     " locations: no rule records its events (does a filter name fields that they do not have?)",
				trace_probe_spec_text(tracing, answer->number), answer->pid,
				answer->locations);
	else if (!set && (answer->states[WIRE_PROBE_ABSENT] || !answer->locations))
		trace_print_absent(tracing, answers, answer);
	else
		(tracing->running ? message_note : message_detail)("%s is set in process %" PRId32
								   ": %" PRIu64 " of %" PRIu32
								   " locations%s%s",
				trace_probe_spec_text(tracing, answer->number), answer->pid, set,
				answer->locations, used ? ": " : "", text);
	if (answer->error || (answer->states[WIRE_PROBE_REFUSED] && !set && !were_removed(answer)))
		tracing->status = COMMAND_FAILED;
	trace_report_refusals(tracing, answer);
}

static int trace_check_started(void *user, struct session *session)
{
	struct tracing *tracing = user;
	struct trace_answers answers;
	size_t filtered_out = 0;

	if (tracing->is_unreachable ||
			session_probe_answers(session, &answers.list, &answers.count))
		return COMMAND_DONE;
	for (size_t i = 0; i < answers.count; i++) {
		trace_print_answer(tracing, &answers, &answers.list[i]);
		filtered_out += is_filtered_out(&answers.list[i]);
	}
	if (answers.count && filtered_out == answers.count && tracing->filter && !tracing->status)
		tracing->status = trace_print_filtered_out(tracing, &answers.list[0]);
	if (!answers.count)
		tracing->status = message_error(COMMAND_FAILED,
				tracing->running
						? NULL
						: "programs without the C library, and set-user-ID programs, cannot be traced this way; use `--global`",
				"the program installed none of its probes");
	session_probe_answers_free(answers.list, answers.count);
	return tracing->status;
}

/* The recording of a running program has ended. */
static void trace_check_ended(void *user, struct session *session)
{
	struct tracing *tracing = user;
	struct trace_answers answers;

	if (session_probe_answers(session, &answers.list, &answers.count))
		return;
	tracing->running = false;
	for (size_t i = 0; i < answers.count; i++) {
		const struct session_probe_answer *answer = &answers.list[i];

		if (!answer->error && !answer->was_set &&
				answer->states[WIRE_PROBE_ABSENT] == answer->locations)
			trace_print_absent(tracing, &answers, answer);
	}
	session_probe_answers_free(answers.list, answers.count);
}

/* ---- the verb ---- */

/* What a recording of probes records: the channels refer to the rule beside them. */
struct trace_channels {
	struct session_rule rule;
	struct session_channel items[2];
};

/* Returns the number of channels. */
static size_t trace_make_channels(const struct tracing *tracing, const struct record_options *asked,
		struct trace_channels *ret_channels)
{
	/* Without a rule, the session would record all events. No started program has this one. */
	static const char *const nothing[] = {"side:uprobes"};

	*ret_channels = (struct trace_channels){
			.rule = {.patterns = tracing->is_unreachable
							? nothing
							: (const char *const *)tracing->patterns,
					.nr_patterns = tracing->is_unreachable
							? 1
							: tracing->nr_patterns,
					.filter = asked->filter},
			.items = {{.name = SESSION_CHANNEL_NAME,
						  .ring_size = asked->buffer_size,
						  .rules = &ret_channels->rule,
						  .nr_rules = 1,
						  .contexts = tracing->others.items,
						  .nr_contexts = tracing->others.count},
					session_symbols_channel}};
	return 1 + asked->symbols;
}

static int trace_start_program(
		struct tracing *tracing, const struct parsed *parsed, char **args, size_t count)
{
	struct trace_kernel kernel;
	struct trace_channels channels;
	const size_t nr_channels = trace_make_channels(tracing, &parsed->options.record, &channels);
	const struct session_options options = {.mode = SESSION_RECORD,
			.output = parsed->options.record.output,
			.force = parsed->options.record.force,
			.wait_all = parsed->options.record.wait_all,
			.channels = channels.items,
			.nr_channels = nr_channels,
			.probes = tracing->tables,
			.nr_probes = tracing->nr_tables,
			.loads = trace_loaded_loads(&tracing->loaded),
			.helper = trace_kernel_helper(
					&kernel, tracing->kernel, tracing->nr_kernel)};
	struct parsed command = *parsed;

	command.operands = args;
	command.operand_count = (int)count;
	return command_record(&command, &options, trace_check_started, tracing);
}

static int start_running(struct tracing *tracing, const struct parsed *parsed)
{
	const struct record_options *asked = &parsed->options.record;
	struct trace_channels channels;
	const size_t nr_channels = trace_make_channels(tracing, asked, &channels);
	const struct attach_options options = {.pid = asked->pid,
			.output = asked->output,
			.force = asked->force,
			.duration = asked->duration,
			.in_sandbox = asked->in_sandbox,
			.follow_exec = asked->follow_exec,
			.print = asked->print};
	const struct attach_recording recording = {.channels = channels.items,
			.nr_channels = nr_channels,
			.probes = tracing->tables,
			.nr_probes = tracing->nr_tables,
			.kernel = tracing->kernel,
			.nr_kernel = tracing->nr_kernel,
			.check = trace_check_started,
			.finish = trace_check_ended,
			.user = tracing,
			.loads = trace_loaded_loads(&tracing->loaded)};

	int status = probe_sees_proc((pid_t)asked->pid,
			"use `side trace --global --exe FILE --pid PID`: the kernel watches the location");

	tracing->running = true;
	return status ? status : command_attach_recording(parsed, &options, &recording);
}

/* Add the patterns of side-uprobes' own events. */
static int add_own_patterns(struct tracing *tracing)
{
	char *lost = NULL, *hello = strdup("side:uprobes");

	if (asprintf(&lost, "%s_lost", tracing->patterns[0]) < 0)
		lost = NULL;
	if (!lost || !hello) {
		free(lost);
		free(hello);
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	tracing->patterns[tracing->nr_patterns++] = lost;
	tracing->patterns[tracing->nr_patterns++] = hello;
	return COMMAND_DONE;
}

/* Record side-uprobes, which starts the requested program. */
static int trace_start_global(struct tracing *tracing, const struct parsed *parsed, char **command)
{
	/*
	 * Only this session records its hits: other sessions with the same patterns mean the events
	 * of programs.
	 */
	static const char portable[] = "SIDE_RING_PORTABLE=1", ours[] = "SIDE_AGENT_SESSION=";
	const struct record_options *asked = &parsed->options.record;
	const char *preload = getenv("LD_PRELOAD");
	const char *const environment[] = {portable, ours};
	char **args = NULL;
	/* The requested events, and side-uprobes' own. */
	struct session_rule rules[2] = {{.patterns = (const char *const *)tracing->patterns,
			.nr_patterns = tracing->nr_patterns,
			.filter = asked->filter}};
	const struct session_channel channel = {.name = SESSION_CHANNEL_NAME,
			.ring_size = asked->buffer_size,
			.rules = rules,
			.nr_rules = 2};
	struct session_options options = {.mode = SESSION_RECORD,
			.output = asked->output,
			.force = asked->force,
			.channels = &channel,
			.nr_channels = 1,
			.environment = environment,
			.nr_environment = 2,
			.pass_on = !command};
	struct parsed recorder = *parsed;
	int tables[PROBE_SPECS_MAX], status = add_own_patterns(tracing);

	rules[1].patterns = rules[0].patterns + rules[0].nr_patterns;
	rules[1].nr_patterns = tracing->nr_patterns - rules[0].nr_patterns;
	for (size_t i = 0; i < tracing->nr_tables; i++)
		tables[i] = tracing->tables[i].fd;
	if (!status)
		status = probe_global_args(
				&asked->global, asked->pid, tables, tracing->nr_tables, &args);
	if (!status) {
		bool fits = (!preload || probe_global_add(&args, "--preload", preload)) &&
				(!asked->duration ||
						helper_add_number(&args, "--duration",
								asked->duration));

		status = fits ? COMMAND_DONE : message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	if (!status && command) {
		bool fits = probe_global_add(&args, "--", NULL);

		for (char **word = command; *word && fits; word++)
			fits = probe_global_add(&args, *word, NULL);
		status = fits ? COMMAND_DONE : message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	recorder.operands = args;
	recorder.operand_count = 1;
	if (!status)
		status = command_record(&recorder, &options, NULL, NULL);
	probe_global_free(args);
	return status;
}

static int find_contexts(struct tracing *tracing, const struct record_options *options)
{
	int status = probe_contexts(&options->contexts, NULL, &tracing->contexts);

	if (status)
		return status;
	tracing->others.items = calloc(tracing->contexts.count + 1, sizeof(const char *));
	if (!tracing->others.items)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	for (size_t i = 0; i < tracing->contexts.count; i++) {
		if (!resolve_is_context(tracing->contexts.items[i]))
			tracing->others.items[tracing->others.count++] = tracing->contexts.items[i];
	}
	return COMMAND_DONE;
}

static int no_program(const struct record_options *options)
{
	return message_error(COMMAND_USAGE, "write `-c \"COMMAND\"`, or `-p PID`",
			options->command ? "`-c` has no command, or a quote without an end"
					 : "missing command to trace");
}

static int check_global(const struct record_options *options, size_t count)
{
	if (options->symbols)
		return message_error(COMMAND_USAGE, "leave `--symbols` out",
				"cannot use `--symbols` with `--global`: the kernel does not report where libraries are loaded");
	if (options->pid > INT_MAX)
		return message_error(COMMAND_USAGE, NULL, "`-p` is not the number of a process");
	return count || ((options->exe || options->pid) && !options->command) ? COMMAND_DONE
									      : no_program(options);
}

static int trace_check_options(const struct parsed *parsed, size_t count)
{
	const struct record_options *options = &parsed->options.record;

	if (options->duration && (options->command || (!options->pid && !options->global.on)))
		return message_error(COMMAND_USAGE, "let `timeout` end the command",
				"cannot use `--duration` with a command: it needs `-p PID`, or `--global` with `--exe FILE`");
	if (options->wait_all && (options->global.on || !options->command))
		return message_error(COMMAND_USAGE, "leave `--wait` out",
				"cannot use `--wait`: it needs `-c COMMAND`, and does not work with `--global`");
	if (options->follow_exec && options->global.on)
		return message_error(COMMAND_USAGE, "leave `--follow-exec` out",
				"cannot use `--follow-exec` with `--global`: global probes are in all programs");
	if (options->global.on)
		return check_global(options, count);
	if (options->exe)
		return message_error(COMMAND_USAGE, "write `--global`, too",
				"cannot use `--exe` without `--global`");
	if (options->pid && options->command)
		return message_error(COMMAND_USAGE, "leave one of them out",
				"cannot use `-p` with COMMAND: `-p` traces a running program, and COMMAND starts one");
	if (options->pid > INT_MAX)
		return message_error(COMMAND_USAGE, NULL, "`-p` is not the number of a process");
	return count || options->pid ? COMMAND_DONE : no_program(options);
}

/*
 * Find the file to probe, which may be a library. `args` is the command; this refuses a command
 * that cannot be used.
 */
static int trace_find_probed_file(struct tracing *tracing, const struct record_options *options,
		char **args, size_t count)
{
	char program[PATH_MAX];
	struct probe_exe exe;
	size_t at;
	int status;

	if (!options->exe) {
		tracing->files_of = (pid_t)options->pid;
		return COMMAND_DONE;
	}
	status = count ? starter_follow(args, count, true, &at, program) : COMMAND_DONE;
	if (!status)
		status = probe_exe_find(options->exe, &exe);
	if (status)
		return status;
	snprintf(tracing->exe, sizeof(tracing->exe), "%s", exe.path);
	tracing->files_of = exe.runs;
	if (exe.pid)
		message_detail("opening %.256s through process %d: it is readable only while that process runs",
				options->exe, (int)exe.pid);
	return COMMAND_DONE;
}

/* Report errors before the program is started. */
static int trace_check_filter(const char *text)
{
	struct where where;
	int status = text ? command_parse_where("filter", text, &where) : COMMAND_DONE;

	if (text && !status)
		where_free(&where);
	return status;
}

/* Check before the program runs: if it cannot be probed, its work would be lost. */
static int check_reachable(const char *program, const char *exe)
{
	const char *hint = probe_other_processor(exe)
			? NULL
			: "use `side trace --global`: the kernel watches its functions";
	char *why = session_never_meets(program), *own = why ? strchr(why, '\n') : NULL;
	int status = COMMAND_DONE;

	if (own) {
		*own = '\0';
		hint = own + 1;
	}
	if (why)
		status = message_error(COMMAND_FAILED, hint, "%s", why);
	free(why);
	return status;
}

/* Find the program that COMMAND runs in the end. */
static int find_traced(
		struct tracing *tracing, const struct parsed *parsed, char **args, size_t count)
{
	const struct record_options *options = &parsed->options.record;
	char program[PATH_MAX];
	size_t at;
	int status = starter_follow(args, count, options->global.on, &at, program);

	if (!status)
		status = trace_find_program(program, tracing->exe);
	/* The user named no location: `side slow` and `side calls` run each program, like others. */
	tracing->is_unreachable = !status && parsed->for_answer && session_is_foreign(program);
	if (!status && !options->global.on && !tracing->is_unreachable)
		status = check_reachable(program, tracing->exe);
	if (status || !at)
		return status;
	/* The kernel watches the process that executes the command's first program. */
	tracing->no_kernel = "another program starts the traced one";
	message_detail("the program to trace is %.256s, which %.64s starts", tracing->exe, args[0]);
	return COMMAND_DONE;
}

/*
 * Two locations are often the beginning and the end of one operation, and the thread pairs them.
 * One function with its exit needs no context for that: the number of the call identifies the
 * thread. Two functions need it, with exits or without; so does a glob whose functions are events
 * of their own. Locations that the kernel watches cannot have the context.
 */
static void add_threads(struct tracing *tracing)
{
	bool are_several = tracing->nr_specs > 1;

	if (tracing->others.count || tracing->nr_kernel)
		return;
	for (size_t i = 0; i < tracing->nr_specs; i++) {
		const struct probe_spec *spec = &tracing->specs[i].spec;

		if (spec->kernel)
			return;
		are_several = are_several ||
				(spec->separate && strpbrk(spec->location_text, "*?["));
	}
	if (!are_several)
		return;
	tracing->others.items[tracing->others.count++] = "vtid"; /* There is space for one more. */
}

/* Whether the directory contains anything. If so, `--force` only permits to overwrite it. */
static bool trace_dir_has_entries(const char *output)
{
	DIR *directory = output ? opendir(output) : NULL;
	const struct dirent *entry;
	bool is_empty = true;

	while (directory && is_empty && (entry = readdir(directory)))
		is_empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (directory)
		closedir(directory);
	return !is_empty;
}

static int trace_run(
		struct tracing *tracing, const struct parsed *parsed, char **args, size_t count)
{
	const struct record_options *options = &parsed->options.record;
	int status = trace_check_options(parsed, count);

	tracing->filter = options->filter;
	tracing->debuginfod = options->debuginfod;
	tracing->accepts_pending = options->pending;
	tracing->follows_exec = options->follow_exec;
	tracing->forced = options->allow_unsafe_exit ||
			(options->force && !trace_dir_has_entries(options->output));
	tracing->starts = count > 0;
	/* The kernel watches only the process that executes COMMAND. */
	tracing->no_kernel =
			options->follow_exec ? "`--follow-exec` probes other programs, too" : NULL;
	if (!status)
		status = probe_global_check(&options->global);
	if (!status)
		status = trace_check_filter(options->filter);
	if (!status)
		status = find_contexts(tracing, options);
	if (!status && options->global.on && tracing->others.count)
		status = message_error(COMMAND_USAGE, "the event has pid, tid and comm",
				"cannot record `--context %.64s` with a global probe: the kernel reads only registers and memory",
				tracing->others.items[0]);
	if (!status)
		status = probe_specs_read(&options->probes, &tracing->contexts, &tracing->specs,
				&tracing->nr_specs);
	if (!status && options->global.on && (options->exe || !count))
		status = trace_find_probed_file(tracing, options, args, count);
	else if (!status && count)
		status = find_traced(tracing, parsed, args, count);
	tracing->no_kernel = tracing->no_kernel
			? tracing->no_kernel
			: probe_kernel_refusal(options->global.never, tracing->others.count > 0,
					  options->filter);
	if (!status && !tracing->is_unreachable)
		status = resolve_all(tracing, options->global.on ? 0 : (pid_t)options->pid,
				options->global.on);
	if (!status && !parsed->no_threads)
		add_threads(tracing);
	if (!status && options->global.on)
		return trace_start_global(tracing, parsed, count ? args : NULL);
	if (!status && options->pid)
		return start_running(tracing, parsed);
	return status ? status : trace_start_program(tracing, parsed, args, count);
}

/* The program gets shell syntax, such as a pipe, as ordinary arguments. */
static void note_shell(const char *command, const char *program)
{
	const char *sign = shell_syntax_in(command);
	char text[64], name[128];

	if (!sign)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(sign, " \t\n"), sign);
	message_note_hint("write it after the closing quote, where your shell interprets it",
			"no shell reads the command, so `%s` is an argument of %s", text,
			format_printable(program, name, sizeof(name)));
}

/* Join the operands to one text, quoted as for `-c`; free() it. NULL: out of memory. */
static char *join_operands(const struct parsed *parsed)
{
	size_t size = 1, used = 0;
	char *text;

	for (int i = 0; i < parsed->operand_count; i++)
		size += 4 * strlen(parsed->operands[i]) + 4;
	text = malloc(size);
	for (int i = 0; text && i < parsed->operand_count; i++) {
		if (i)
			text[used++] = ' ';
		used += strlen(format_quoted(parsed->operands[i], text + used, size - used));
	}
	return text;
}

static int trace_command(const struct parsed *parsed, bool is_shell_text)
{
	const char *command = parsed->options.record.command;
	struct tracing *tracing = calloc(1, sizeof(*tracing));
	size_t count = 0;
	char **args = shell_split(command ? command : "", &count);
	int status;

	if (!tracing || (!args && errno == ENOMEM)) {
		free(tracing);
		free(args);
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	if (args && count && is_shell_text)
		note_shell(command, *args);
	status = trace_run(tracing, parsed, args, args ? count : 0);
	for (size_t i = 0; i < tracing->nr_tables; i++) {
		close(tracing->tables[i].fd);
		if (tracing->tables[i].has_others)
			close(tracing->tables[i].others);
	}
	trace_loaded_end(&tracing->loaded);
	for (size_t i = 0; i < tracing->nr_kernel; i++)
		close(tracing->kernel[i]);
	for (size_t i = 0; i < tracing->nr_patterns; i++)
		free(tracing->patterns[i]);
	free(tracing->contexts.items);
	free(tracing->others.items);
	free(tracing->specs);
	free(tracing);
	free(args);
	return status;
}

/* `side trace ./server --function NAME` is the same as `side trace -c ./server --function NAME`. */
int cmd_trace(const struct parsed *parsed)
{
	struct parsed joined = *parsed;
	char hint[64], *command;
	int status;

	if (!parsed->operand_count)
		return trace_command(parsed, true);
	if (parsed->options.record.command)
		return message_error(COMMAND_USAGE,
				"leave `-c` out, or quote COMMAND and its arguments as one",
				"two commands are given: that of `-c`, and `%.128s`",
				parsed->operands[0]);
	if (!parsed->dashes && parsed->operand_count == 1 && access(parsed->operands[0], F_OK) &&
			parsed->operands[0][strspn(parsed->operands[0], "0123456789")] == '\0') {
		snprintf(hint, sizeof(hint), "`side trace -p %.20s`", parsed->operands[0]);
		return message_error(COMMAND_USAGE, hint, "there is no program `%.128s`",
				parsed->operands[0]);
	}
	command = join_operands(parsed);
	if (!command)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	joined.options.record.command = command;
	joined.operand_count = 0;
	status = trace_command(&joined, false);
	free(command);
	return status;
}
