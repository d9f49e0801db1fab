/* SPDX-License-Identifier: MIT */
/*
 * --diff: reports whether readers of the old file's events can read those of the new file.
 *
 * Readers know events and fields by their names, and take values as numbers, text, lists and
 * structures. How a program passes them (byte order, offset, gathered or copied) does not concern
 * readers.
 */
#include "diff.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* changes of one event */
#define REPORTED_MAX 100

static const char *const verdict_names[] = {
		[VERDICT_SAME] = "unchanged",
		[VERDICT_COMPATIBLE] = "compatible",
		[VERDICT_INCOMPATIBLE] = "not compatible",
};

struct diff_totals {
	size_t of[3]; /* number of events by verdict */
	size_t added, removed;
};

int diff_add(struct diff_side *side, struct readside_event *event)
{
	if (side->nr == side->capacity) {
		size_t capacity = side->capacity ? side->capacity * 2 : 64;
		struct readside_event *events =
				reallocarray(side->events, capacity, sizeof(*events));

		if (!events) {
			message_out_of_memory();
			visit_owned_free(event->owned);
			return -1;
		}
		side->events = events;
		side->capacity = capacity;
	}
	side->events[side->nr++] = *event;
	return 0;
}

void diff_free(struct diff_side *side)
{
	for (size_t i = 0; i < side->nr; i++)
		visit_owned_free(side->events[i].owned);
	free(side->events);
}

/* ---- output ---- */

static void diff_report_change(
		struct diff *diff, enum verdict verdict, const char *location, const char *text)
{
	FILE *out = diff->out;

	if (diff->json) {
		fprintf(out, "{\"schema\":%d,\"type\":\"change\",\"event\":", READSIDE_JSON_SCHEMA);
		put_json_text(out, diff->event);
		fputs(",\"field\":", out);
		put_json_text(out, location);
		fprintf(out, ",\"compatible\":%s,\"text\":",
				verdict == VERDICT_INCOMPATIBLE ? "false" : "true");
		put_json_text(out, text);
		fputs("}\n", out);
		return;
	}
	put_printable(out, diff->event, strlen(diff->event));
	fprintf(out, ": %s: ", verdict_names[verdict]);
	put_at_field(out, location, text);
}

void diff_report(struct diff *diff, enum verdict verdict, const char *location, const char *format,
		...)
{
	char text[1024];
	va_list arguments;

	if (verdict > diff->verdict)
		diff->verdict = verdict;
	/* The limit must not hide an incompatible change. */
	if (++diff->nr_reported > REPORTED_MAX && verdict != VERDICT_INCOMPATIBLE)
		return;
	if (diff->nr_reported > 2 * REPORTED_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	diff_report_change(diff, verdict, location, text);
}

/* ---- events ---- */

static void diff_event(struct diff *diff, const struct side_event_description *before,
		const struct side_event_description *after)
{
	bool was = before->flags & SIDE_EVENT_FLAG_VARIADIC;
	bool is = after->flags & SIDE_EVENT_FLAG_VARIADIC;
	unsigned int old_level = side_enum_get(before->loglevel);
	unsigned int new_level = side_enum_get(after->loglevel);

	diff->verdict = VERDICT_SAME;
	diff->nr_reported = 0;
	diff->work = 0;
	if (was != is)
		diff_report(diff, was ? VERDICT_INCOMPATIBLE : VERDICT_COMPATIBLE, "",
				was ? "it no longer has variadic fields"
				    : "it has variadic fields now");
	if (old_level != new_level)
		diff_report(diff, VERDICT_COMPATIBLE, "", "its log level was %s, is %s",
				visit_loglevel_name(old_level), visit_loglevel_name(new_level));
	diff_attributes(diff, "", visit_attributes_of(&before->attributes),
			visit_attributes_of(&after->attributes));
	diff_fields(diff, "", side_array_elements(&before->fields),
			side_array_length(&before->fields), side_array_elements(&after->fields),
			side_array_length(&after->fields));
}

/* List the names of all events. Returns false if out of memory. */
static bool diff_name_events(struct diff_names *ret_names, const struct diff_side *side)
{
	if (side->nr > UINT32_MAX || !names_start(ret_names, (uint32_t)side->nr))
		return false;
	for (size_t i = 0; i < side->nr; i++) {
		const struct side_event_description *description = side->events[i].description;
		char *name;
		int size = asprintf(&name, "%s:%s", side_ptr_get(description->provider_name),
				side_ptr_get(description->event_name));

		if (size < 0) {
			message_out_of_memory();
			names_free(ret_names);
			return false;
		}
		names_add(ret_names, name, (size_t)size);
	}
	names_sort(ret_names);
	return true;
}

/*
 * Compare two sorted lists of names. Events with the same name are compared in the order of their
 * files.
 */
static void diff_sides(struct diff *diff, const struct diff_side *before,
		const struct diff_names *was, const struct diff_side *after,
		const struct diff_names *is, struct diff_totals *totals)
{
	uint32_t i = 0, k = 0;

	while (i < was->nr || k < is->nr) {
		int order = 0;

		if (i < was->nr && k < is->nr)
			order = strcmp(was->names[i].text, is->names[k].text);
		if (k == is->nr || order < 0) {
			diff->event = was->names[i++].text;
			diff_report_change(diff, VERDICT_INCOMPATIBLE, "", "the event was removed");
			totals->removed++;
		} else if (i == was->nr || order > 0) {
			diff->event = is->names[k++].text;
			diff_report_change(diff, VERDICT_COMPATIBLE, "", "the event is new");
			totals->added++;
		} else {
			diff->event = was->names[i].text;
			diff_event(diff, before->events[was->names[i++].index].description,
					after->events[is->names[k++].index].description);
			totals->of[diff->verdict]++;
		}
	}
}

static void diff_print_totals(
		const struct diff *diff, const struct diff_totals *totals, bool compatible)
{
	if (diff->json)
		fprintf(diff->out,
				"{\"schema\":%d,\"type\":\"summary\",\"compatible\":%s,"
				"\"unchanged\":%zu,\"changed\":%zu,\"incompatible\":%zu,"
				"\"added\":%zu,\"removed\":%zu}\n",
				READSIDE_JSON_SCHEMA, compatible ? "true" : "false",
				totals->of[VERDICT_SAME], totals->of[VERDICT_COMPATIBLE],
				totals->of[VERDICT_INCOMPATIBLE], totals->added, totals->removed);
	else
		fprintf(diff->out,
				"%s: %zu unchanged, %zu changed compatibly, %zu changed incompatibly, %zu added, %zu removed\n",
				compatible ? "compatible" : "not compatible",
				totals->of[VERDICT_SAME], totals->of[VERDICT_COMPATIBLE],
				totals->of[VERDICT_INCOMPATIBLE], totals->added, totals->removed);
}

int diff_show(FILE *out, bool json, struct diff_side *before, struct diff_side *after)
{
	struct diff diff = {.out = out, .json = json};
	struct diff_totals totals = {{0}, 0, 0};
	struct diff_names was, is;
	bool compatible;

	if (!diff_name_events(&was, before))
		return READSIDE_TROUBLE;
	if (!diff_name_events(&is, after)) {
		names_free(&was);
		return READSIDE_TROUBLE;
	}
	diff_sides(&diff, before, &was, after, &is, &totals);
	compatible = !totals.of[VERDICT_INCOMPATIBLE] && !totals.removed;
	diff_print_totals(&diff, &totals, compatible);
	names_free(&was);
	names_free(&is);
	return compatible ? READSIDE_DONE : READSIDE_FOUND;
}
