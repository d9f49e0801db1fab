/* SPDX-License-Identifier: MIT */
/*
 * --check: reports errors in the descriptions of files, for use before a release. Errors confuse
 * tracers and readers; warnings are probably unintended.
 */
#include "check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* different findings that are printed for one event */
#define FINDINGS_MAX 100

/* A finding, and the number of further fields of the event with the same one. */
struct check_finding {
	enum visit_severity severity;
	char *location, *text;
	char *hint; /* may be empty */
	unsigned int more;
};

static const char *const severity_names[] = {
		[VISIT_REMARK] = "warning",
		[VISIT_WARNING] = "warning",
		[VISIT_ERROR] = "error",
};

struct check {
	FILE *out;
	bool json;
	bool strict; /* warnings affect the exit status, too */
	size_t nr_events, nr_errors, nr_warnings;
	bool trouble; /* a file could not be read */
	const struct readside_event *event;
	struct check_finding findings[FINDINGS_MAX]; /* of the current event */
	unsigned int nr_findings;
	bool has_more; /* there are more findings than FINDINGS_MAX */
	/* Names of the events of one file, to find duplicates. */
	char *path;
	char **names;
	size_t nr_names, names_capacity;
};

struct check *check_open(FILE *out, bool json, bool strict)
{
	struct check *check = calloc(1, sizeof(*check));

	if (!check)
		message_out_of_memory();
	else
		*check = (struct check){.out = out, .json = json, .strict = strict};
	return check;
}

/* ---- output ---- */

static void readside_check_print_problem(const struct check *check, enum visit_severity severity,
		const char *path, const char *event, const char *location, const char *text,
		const char *hint)
{
	FILE *out = check->out;

	if (check->json) {
		fprintf(out, "{\"schema\":%d,\"type\":\"problem\",\"severity\":\"%s\",\"source\":",
				READSIDE_JSON_SCHEMA, severity_names[severity]);
		put_json_text(out, path);
		fputs(",\"event\":", out);
		put_json_text(out, event);
		fputs(",\"field\":", out);
		put_json_text(out, location);
		fputs(",\"text\":", out);
		put_json_text(out, text);
		if (hint) {
			fputs(",\"hint\":", out);
			put_json_text(out, hint);
		}
		fputs("}\n", out);
		return;
	}
	put_printable(out, path, strlen(path));
	fprintf(out, ": %s: ", severity_names[severity]);
	if (*event) {
		put_printable(out, event, strlen(event));
		fputs(": ", out);
	}
	put_at_field(out, location, text);
	if (hint)
		put_hint(out, hint);
}

static void readside_check_count_findings(struct check *check, enum visit_severity severity)
{
	if (severity == VISIT_ERROR)
		check->nr_errors++;
	else
		check->nr_warnings++;
}

/* Returns "provider:event", which the caller frees, or NULL. */
static char *readside_check_event_name(const struct side_event_description *description)
{
	char *name;

	if (asprintf(&name, "%s:%s", side_ptr_get(description->provider_name),
			    side_ptr_get(description->event_name)) >= 0)
		return name;
	message_out_of_memory();
	return NULL;
}

/* Fields of one type have the same findings: print each finding once. */
static bool check_has_finding(struct check *check, enum visit_severity severity, const char *text,
		const char *hint)
{
	for (unsigned int i = 0; i < check->nr_findings; i++) {
		struct check_finding *finding = &check->findings[i];

		if (finding->severity == severity && !strcmp(finding->text, text) &&
				!strcmp(finding->hint, hint)) {
			finding->more++;
			return true;
		}
	}
	return false;
}

/* Add a finding to the current event. `node` is the field, or NULL for the event itself. */
static void readside_check_add_finding(struct check *check, enum visit_severity severity,
		const struct visit_node *node, const char *text, const char *hint)
{
	struct check_finding finding = {.severity = severity};
	char location[512];

	if (check_has_finding(check, severity, text, hint))
		return;
	readside_check_count_findings(check, severity);
	if (check->nr_findings == FINDINGS_MAX) {
		check->has_more = true;
		return;
	}
	finding.location = strdup(location_text(node, location, sizeof(location)));
	finding.text = strdup(text);
	finding.hint = strdup(hint);
	if (finding.location && finding.text && finding.hint) {
		check->findings[check->nr_findings++] = finding;
		return;
	}
	message_out_of_memory();
	free(finding.location);
	free(finding.text);
	free(finding.hint);
	check->has_more = true;
}

static void check_print_finding(
		const struct check *check, const char *event, const struct check_finding *finding)
{
	char more[1200];

	if (finding->more)
		snprintf(more, sizeof(more), "%s (and the same at %u more field%s)", finding->text,
				finding->more, finding->more == 1 ? "" : "s");
	readside_check_print_problem(check, finding->severity, check->event->path, event,
			finding->location, finding->more ? more : finding->text,
			*finding->hint ? finding->hint : NULL);
}

/* Print and free the findings of the event. */
static void check_print_findings(struct check *check)
{
	char *name = check->nr_findings || check->has_more
			? readside_check_event_name(check->event->description)
			: NULL;

	for (unsigned int i = 0; i < check->nr_findings; i++) {
		check_print_finding(check, name ? name : "", &check->findings[i]);
		free(check->findings[i].location);
		free(check->findings[i].text);
		free(check->findings[i].hint);
	}
	if (check->has_more)
		readside_check_print_problem(check, VISIT_WARNING, check->event->path,
				name ? name : "", "", "more findings are counted, but not printed",
				NULL);
	check->nr_findings = 0;
	check->has_more = false;
	free(name);
}

__attribute__((format(printf, 4, 5))) static void readside_check_report(struct check *check,
		enum visit_severity severity, const char *hint, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	readside_check_add_finding(check, severity, NULL, text, hint);
}

/* The path is printed from the node instead of the error. */
static void readside_check_report_finding(void *opaque, enum visit_severity severity,
		const struct visit_node *node, const struct visit_error *error)
{
	struct visit_error nowhere = *error;
	char text[1024];

	nowhere.where[0] = '\0';
	readside_check_add_finding(opaque, severity, node,
			visit_error_problem(&nowhere, text, sizeof(text)), error->hint);
}

void check_report_call(struct check *check, const struct readside_event *event, const char *field,
		const char *text)
{
	char *name = readside_check_event_name(event->description);

	readside_check_count_findings(check, VISIT_ERROR);
	readside_check_print_problem(
			check, VISIT_ERROR, event->path, name ? name : "", field, text, NULL);
	free(name);
}

void check_broken(struct check *check, const struct broken *broken)
{
	char *name;

	if (broken->kind != BROKEN_EVENT) {
		check->trouble = true;
		message_error("cannot check %s: %s", broken->path, broken->sentence);
		return;
	}
	if (asprintf(&name, "%s:%s", broken->provider, broken->event) < 0) {
		message_out_of_memory();
		name = NULL;
	}
	readside_check_print_problem(check, VISIT_ERROR, broken->path, name ? name : "", "",
			broken->sentence, broken->hint);
	readside_check_count_findings(check, VISIT_ERROR);
	free(name);
}

/* ---- the event itself ---- */

static void readside_check_state(struct check *check)
{
	const struct image_state *state = &check->event->state;

	if (!state->there) {
		readside_check_report(check, VISIT_ERROR, "give it a struct side_event_state_0",
				"it has no state, so no tracer can enable it");
	} else if (!state->readable && state->version) {
		readside_check_report(check, VISIT_ERROR, "use a newer libside",
				"its state has the unknown version %" PRIu32, state->version);
	} else if (!state->readable) {
		readside_check_report(check, VISIT_ERROR, "point at a struct side_event_state_0",
				"its state cannot be read");
	} else if (state->description != check->event->address) {
		readside_check_report(check, VISIT_ERROR, "give each event a state of its own",
				"its state belongs to another description (at 0x%" PRIx64
				", not 0x%" PRIx64 ")",
				state->description, check->event->address);
	} else if (state->enabled || state->nr_callbacks) {
		readside_check_report(check, VISIT_ERROR, "its state must begin with zeros",
				"it is enabled although no tracer enabled it");
	}
}

static void readside_check_size(struct check *check)
{
	uint32_t size = check->event->struct_size;

	if (size != sizeof(*check->event->description))
		readside_check_report(check, VISIT_WARNING,
				"set struct_size to the offset of its member end",
				"the description has %" PRIu32
				" bytes, not %zu: it is newer, or damaged",
				size, sizeof(*check->event->description));
}

/* ---- duplicate names ---- */

static int readside_check_compare_names(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Report the events of a file that have the same name, at its end. */
static void readside_check_names(struct check *check)
{
	if (check->nr_names)
		qsort(check->names, check->nr_names, sizeof(*check->names),
				readside_check_compare_names);
	for (size_t i = 1; i < check->nr_names; i++) {
		if (strcmp(check->names[i - 1], check->names[i]))
			continue;
		/* Report each name once. */
		if (i >= 2 && !strcmp(check->names[i - 2], check->names[i]))
			continue;
		readside_check_print_problem(check, VISIT_WARNING, check->path, check->names[i], "",
				"another event of the file has the same name: a reader of a trace cannot tell them apart",
				NULL);
		readside_check_count_findings(check, VISIT_WARNING);
	}
	for (size_t i = 0; i < check->nr_names; i++)
		free(check->names[i]);
	check->nr_names = 0;
	free(check->path);
	check->path = NULL;
}

static void readside_check_add_name(struct check *check, const struct readside_event *event)
{
	char *name = readside_check_event_name(event->description);

	if (check->path && strcmp(check->path, event->path))
		readside_check_names(check);
	if (!check->path)
		check->path = strdup(event->path);
	if (!check->path)
		message_out_of_memory();
	if (check->nr_names == check->names_capacity) {
		size_t capacity = check->names_capacity ? check->names_capacity * 2 : 64;
		char **names = reallocarray(check->names, capacity, sizeof(*names));

		if (!names) {
			message_out_of_memory();
			free(name);
			return;
		}
		check->names = names;
		check->names_capacity = capacity;
	}
	if (name)
		check->names[check->nr_names++] = name;
}

/* ---- interface ---- */

void check_event(struct check *check, const struct readside_event *event)
{
	readside_check_add_name(check, event);
	check->nr_events++;
	check->event = event;
	readside_check_size(check);
	readside_check_state(check);
	visit_description_lint(event->description, event->pointer_size,
			readside_check_report_finding, check);
	check_print_findings(check);
	check->event = NULL;
}

static const char *plural(size_t nr)
{
	return nr == 1 ? "" : "s";
}

int check_close(struct check *check)
{
	int status = READSIDE_DONE;

	readside_check_names(check);
	if (check->json)
		fprintf(check->out,
				"{\"schema\":%d,\"type\":\"summary\",\"events\":%zu,\"errors\":%zu,"
				"\"warnings\":%zu}\n",
				READSIDE_JSON_SCHEMA, check->nr_events, check->nr_errors,
				check->nr_warnings);
	else
		fprintf(check->out, "%zu event%s, %zu error%s, %zu warning%s\n", check->nr_events,
				plural(check->nr_events), check->nr_errors,
				plural(check->nr_errors), check->nr_warnings,
				plural(check->nr_warnings));
	if (check->nr_errors || (check->strict && check->nr_warnings))
		status = READSIDE_FOUND;
	if (check->trouble)
		status = READSIDE_TROUBLE;
	free(check->names);
	free(check);
	return status;
}
