/* SPDX-License-Identifier: MIT */
/*
 * Prints the probes of a session for `status`: the spec, the target programs, and the result in
 * each of them.
 */
#include "status.h"

#include "programs/common/ask.h"
#include "programs/common/message.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The methods of probes: the name in the protocol, and the text. */
static const struct {
	const char *name, *text;
} methods[] = {
		{"jump", "by jump"},
		{"padding", "by jump into padding"},
		{"short", "by short jump"},
		{"punned", "by punned jump"},
		{"breakpoint", "by breakpoint"},
		{"uprobe", "by uprobe"},
};

/* Statistics that are printed if they are not zero. */
static const struct {
	const char *name, *text;
	bool bad;
} counts[] = {
		{"absent", "not loaded", false},
		{"resting", "idle", false},
		{"refused", "refused", true},
		{"cut", "nested hits not recorded", false},
		{"lost", "hits lost", true},
		{"unseen", "returns not recorded", true},
};

static void status_probes_print_probe_stats(
		struct json_object *program, const char *strong, const char *plain)
{
	struct json_object *method_counts = NULL;
	char number[FORMAT_NUMBER_MAX];
	const char *comma = "";

	json_object_object_get_ex(program, "methods", &method_counts);
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		uint64_t count = method_counts ? ask_number(method_counts, methods[i].name) : 0;

		if (!count)
			continue;
		printf("%s%s %s", comma, format_number(count, number), methods[i].text);
		comma = ", ";
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		uint64_t count = ask_number(program, counts[i].name);

		if (!count)
			continue;
		printf("%s%s%s %s%s", comma, counts[i].bad ? strong : "",
				format_number(count, number), counts[i].text,
				counts[i].bad ? plain : "");
		comma = ", ";
	}
	if (!*comma)
		fputs("nothing to set", stdout);
}

static void status_probes_print_refusals(struct json_object *refusals)
{
	for (size_t i = 0; refusals && i < json_object_array_length(refusals); i++) {
		struct json_object *refusal = json_object_array_get_idx(refusals, i);
		uint64_t first = ask_number(refusal, "first"), count = ask_number(refusal, "count");

		printf("        location %" PRIu64, first);
		if (count > 1)
			printf(" to %" PRIu64, first + count - 1);
		printf(": %s\n", ask_text(refusal, "why"));
	}
}

static void status_probes_print_program(
		struct json_object *program, const char *strong, const char *plain)
{
	char name[128];

	printf("      %s %" PRIu64 ": ",
			format_printable(ask_text(program, "name"), name, sizeof(name)),
			ask_number(program, "pid"));
	if (*ask_text(program, "why"))
		printf("%snot set: %s%s", strong, ask_text(program, "why"), plain);
	else if (!ask_flag(program, "answered"))
		fputs("no answer yet", stdout);
	else
		status_probes_print_probe_stats(program, strong, plain);
	putchar('\n');
	status_probes_print_refusals(ask_list(program, "refusals"));
}

static void status_probes_print_target(struct json_object *probe)
{
	char exe[4096];

	if (ask_number(probe, "pid"))
		printf("in process %" PRIu64, ask_number(probe, "pid"));
	else if (*ask_text(probe, "exe"))
		printf("in %s", format_printable(ask_text(probe, "exe"), exe, sizeof(exe)));
	else
		fputs("in all programs", stdout);
	if (*ask_text(probe, "loaded"))
		printf(", %s", format_printable(ask_text(probe, "loaded"), exe, sizeof(exe)));
}

/* A session that was never started has probes without a state. */
static bool status_probes_is_pending(struct json_object *probe)
{
	const char *state = ask_text(probe, "state");

	if (*ask_text(probe, "library"))
		return !strcmp(state, "pending");
	return *ask_text(probe, "exe") &&
			(*state ? !strcmp(state, "pending") : !ask_number(probe, "table"));
}

static const char *status_probes_pending_reason(struct json_object *probe)
{
	struct stat file;

	if (*ask_text(probe, "why"))
		return ask_text(probe, "why");
	if (*ask_text(probe, "library"))
		return "no process has loaded the library";
	return stat(ask_text(probe, "exe"), &file) ? "no such file" : "no process yet";
}

/* Programs that start from the file: whether they are attached to, and the results. */
static void status_probes_print_exec(
		struct json_object *probe, const char *strong, const char *plain)
{
	struct json_object *exec = NULL;
	char text[1024], number[FORMAT_NUMBER_MAX];

	if (!json_object_object_get_ex(probe, "exec", &exec))
		return;
	if (!ask_flag(exec, "possible")) {
		printf("      later programs: only those that join by themselves: %s\n",
				format_printable(ask_text(exec, "why"), text, sizeof(text)));
		return;
	}
	printf("      later programs: attach %s exec, %s attached",
			ask_flag(exec, "after") ? "after" : "on",
			format_number(ask_number(exec, "attached"), number));
	if (ask_flag(exec, "after"))
		printf(", first calls and short programs can be missing (%s)",
				format_printable(ask_text(exec, "less"), text, sizeof(text)));
	if (ask_number(exec, "joined"))
		printf(", %s joined by themselves",
				format_number(ask_number(exec, "joined"), number));
	if (ask_number(exec, "failed"))
		printf(", %s%s not attached%s: %s", strong,
				format_number(ask_number(exec, "failed"), number), plain,
				format_printable(ask_text(exec, "failure"), text, sizeof(text)));
	if (ask_number(exec, "restarts"))
		printf(", the helper process was restarted %s times: programs of these moments are not counted",
				format_number(ask_number(exec, "restarts"), number));
	putchar('\n');
}

static void status_probes_print_probe(
		struct json_object *probe, const char *strong, const char *plain)
{
	struct json_object *events = ask_list(probe, "event");
	struct json_object *programs = ask_list(probe, "programs");
	const char *state = ask_text(probe, "state");
	char text[4096];

	fputs("    ", stdout);
	for (size_t i = 0; events && i < json_object_array_length(events); i++) {
		const char *event = json_object_get_string(json_object_array_get_idx(events, i));

		printf("%s%s", i ? " " : "",
				format_printable(event ? event : "", text, sizeof(text)));
	}
	printf("  %s  ", format_printable(ask_text(probe, "probe"), text, sizeof(text)));
	status_probes_print_target(probe);
	if (!strcmp(state, "no table"))
		printf("  %snot resolved: enable it again%s", strong, plain);
	else if (status_probes_is_pending(probe))
		printf("  pending: %s",
				format_printable(status_probes_pending_reason(probe), text,
						sizeof(text)));
	else if (*state)
		printf("  %s", state);
	if (!status_probes_is_pending(probe) && *ask_text(probe, "why"))
		printf(*ask_text(probe, "library")
						? "; cannot set it in another file: %s"
						: "; cannot set it in the file that has changed: %s",
				format_printable(ask_text(probe, "why"), text, sizeof(text)));
	putchar('\n');
	status_probes_print_exec(probe, strong, plain);
	/* An empty table has no results. */
	if (ask_flag(probe, "unloaded"))
		return;
	for (size_t i = 0; programs && i < json_object_array_length(programs); i++)
		status_probes_print_program(json_object_array_get_idx(programs, i), strong, plain);
}

void status_print_probes(struct json_object *probes, bool color)
{
	const char *strong = color ? "\033[1;31m" : "", *plain = color ? "\033[0m" : "";

	for (size_t i = 0; probes && i < json_object_array_length(probes); i++)
		status_probes_print_probe(json_object_array_get_idx(probes, i), strong, plain);
}
