/* SPDX-License-Identifier: MIT */
/*
 * Print the results of a request for probes: the locations and their methods, or why they are not
 * set.
 */
#include "results.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "spec-options.h"
#include "programs/common/message.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFUSALS_SHOWN 10

/* "12 jump, 3 breakpoint" */
static void print_methods(FILE *out, struct json_object *program)
{
	struct json_object *methods = NULL;
	bool some = false;

	if (!json_object_object_get_ex(program, "methods", &methods))
		return;
	json_object_object_foreach(methods, name, number)
	{
		char text[FORMAT_NUMBER_MAX];

		fprintf(out, "%s%s %s", some ? ", " : "",
				format_number((uint64_t)json_object_get_int64(number), text), name);
		some = true;
	}
}

/* "malloc of libc.so.6" */
static void probe_report_print_location(
		FILE *out, const struct probe_table_view *view, uint32_t index)
{
	struct probe_table_module module;
	struct probe_table_probe probe;
	char text[512];

	if (index >= probe_table_nr_probes(&view->table))
		return;
	probe_table_probe(&view->table, index, &probe);
	probe_table_module(&view->table, probe.module, &module);
	fprintf(out, "%s of %s, at 0x%" PRIx64,
			format_printable(probe.function, text, sizeof(text)), module.name,
			probe.site.address);
}

/*
 * Prints a line for each location that is refused for this reason. Returns how many lines have been
 * printed.
 */
static uint64_t probe_report_print_refusal(
		struct json_object *refusal, const struct probe_table_view *view, uint64_t shown)
{
	uint64_t first = ask_number(refusal, "first"), count = ask_number(refusal, "count");

	for (uint64_t i = first; i < first + count && shown < REFUSALS_SHOWN; i++, shown++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		if (!out)
			break;
		probe_report_print_location(out, view, (uint32_t)i);
		if (!text_stream_end(out, &text))
			break;
		fprintf(stderr, "%s not set: %s: %s\n", message_label(true), text,
				ask_text(refusal, "why"));
		free(text);
	}
	return shown;
}

static void probe_report_print_refusals(
		struct json_object *program, const struct probe_table_view *view)
{
	struct json_object *refusals = ask_list(program, "refusals");
	size_t count = refusals ? json_object_array_length(refusals) : 0;
	uint64_t shown = 0, refused = ask_number(program, "refused");

	for (size_t i = 0; i < count; i++)
		shown = probe_report_print_refusal(
				json_object_array_get_idx(refusals, i), view, shown);
	if (refused > shown)
		fprintf(stderr,
				"%s not set: %" PRIu64
				" others\n%s `side status --json` lists all\n",
				message_label(true), refused - shown, message_hint_label());
}

static void probe_report_print_program(
		struct json_object *program, const struct probe_table_view *view, const char *event)
{
	uint64_t locations = ask_number(program, ask_renamed(program, "locations", "places")),
		 set = ask_number(program, "set"), absent = ask_number(program, "absent");
	char *text = NULL, name[256], all[FORMAT_NUMBER_MAX], some[FORMAT_NUMBER_MAX];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	if (locations == 1 && set)
		probe_report_print_location(out, view, 0);
	else
		fprintf(out, "%s of %s locations", format_number(set, some),
				format_number(locations, all));
	if (set) {
		fputs(" (", out);
		print_methods(out, program);
		fputc(')', out);
	}
	if (!set && !absent && ask_number(program, "resting") == locations)
		fputs(": no rule records its events (does a filter name fields that they do not have?)",
				out);
	if (absent)
		fprintf(out, "; %" PRIu64 " wait for a library that is not loaded", absent);
	if (!text_stream_end(out, &text)) {
		message_note("out of memory");
		return;
	}
	if (*ask_text(program, "why"))
		message_note("%s: process %" PRIu64 " (%s) cannot use it: %s", event,
				ask_number(program, "pid"),
				format_printable(ask_text(program, "name"), name, sizeof(name)),
				ask_text(program, "why"));
	else if (ask_flag(program, "answered"))
		message_note("%s is set in process %" PRIu64 " (%s): %s", event,
				ask_number(program, "pid"),
				format_printable(ask_text(program, "name"), name, sizeof(name)),
				text);
	free(text);
	probe_report_print_refusals(program, view);
}

void probe_report_later(struct json_object *answer, const char *event, const char *missing)
{
	struct json_object *exec = NULL;
	char hint[1024];

	if (!json_object_object_get_ex(answer, "exec", &exec)) {
		message_note("%s is part of the session; %s", event, missing);
		return;
	}
	if (ask_flag(exec, "possible") && ask_flag(exec, "after"))
		snprintf(hint, sizeof(hint),
				"programs that start from the file get it: attach after exec, so first calls and short programs can be missing (%.500s)",
				ask_text(exec, "less"));
	else if (ask_flag(exec, "possible"))
		snprintf(hint, sizeof(hint),
				"programs that start from the file get it: attach on exec");
	else
		snprintf(hint, sizeof(hint),
				"`side run -- COMMAND` starts programs that get the probe, also without libside, and after `side system on`, each program does (no attach on exec: %.500s)",
				ask_text(exec, "why"));
	message_note_hint(hint, "%s is part of the session; %s", event, missing);
}

static int probe_report_print_probe(struct json_object *probe, const struct probe_table_view *view,
		struct json_object *answer)
{
	struct json_object *programs = ask_list(probe, "programs"),
			   *events = ask_list(probe, "event");
	size_t count = programs ? json_object_array_length(programs) : 0;
	struct json_object *exec = NULL;
	uint64_t set = 0, refused = 0;
	char file[4096];
	const char *event = events && json_object_array_length(events)
			? json_object_get_string(json_object_array_get_idx(events, 0))
			: "it";

	(void)json_object_object_get_ex(answer, "exec", &exec);
	for (size_t i = 0; i < count; i++) {
		struct json_object *program = json_object_array_get_idx(programs, i);

		probe_report_print_program(program, view, event);
		set += ask_number(program, "set") + ask_number(program, "absent");
		refused += ask_number(program, "refused") + (*ask_text(program, "why") != '\0');
	}
	if (!strcmp(ask_text(probe, "state"), "stopped"))
		message_note_hint("`side start` sets it",
				"%s is part of the session, which is stopped", event);
	else if (!count)
		probe_report_later(answer, event, "no program has it yet");
	else if (ask_flag(exec, "possible"))
		message_note("programs that start from %s later get it, too: attach %s exec",
				format_printable(ask_text(probe, "exe"), file, sizeof(file)),
				ask_flag(exec, "after") ? "after" : "on");
	return refused && !set ? COMMAND_FAILED : COMMAND_DONE;
}

/* A session that was never started has no program that could report results. */
static void probe_report_print_defined(const struct probe_table_view *view)
{
	struct probe_table_event event;
	char text[600];

	if (!probe_table_nr_events(&view->table))
		return;
	probe_table_event(&view->table, 0, &event);
	snprintf(text, sizeof(text), "%.250s:%.300s", event.provider, event.name);
	if (probe_table_nr_probes(&view->table) > 1)
		message_note_hint("`side start` sets it",
				"%s is part of the session, at %" PRIu32 " locations", text,
				probe_table_nr_probes(&view->table));
	else
		message_note_hint("`side start` sets it", "%s is part of the session", text);
}

int probe_report(struct json_object *answer, int table)
{
	struct json_object *probes = ask_list(answer, "probes");
	struct probe_table_view view;
	int worst = probe_table_view_open(table, &view);

	if (worst)
		return worst;
	if (!probes || !json_object_array_length(probes))
		probe_report_print_defined(&view);
	for (size_t i = 0; probes && i < json_object_array_length(probes); i++) {
		int status = probe_report_print_probe(
				json_object_array_get_idx(probes, i), &view, answer);

		worst = status > worst ? status : worst;
	}
	probe_table_view_close(&view);
	return worst;
}
