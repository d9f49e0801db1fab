/* SPDX-License-Identifier: MIT */
/*
 * --check: what is wrong with the descriptions of files, so that a release can be checked before it is
 * one. Errors are what tracers and readers stumble over; warnings what is probably not meant.
 */
#include "check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Of one event. */
#define SAID_MAX 100

static const char *const severity_names[] = {
		[SEVERITY_WARNING] = "warning",
		[SEVERITY_ERROR] = "error",
};

struct check *check_open(FILE *out, bool json, bool strict)
{
	struct check *check = calloc(1, sizeof(*check));

	if (check)
		*check = (struct check){.out = out, .json = json, .strict = strict};
	return check;
}

/* ---- saying ---- */

static void put_problem(const struct check *check, enum severity severity, const char *path,
		const char *event, const char *place, const char *text)
{
	FILE *out = check->out;

	if (check->json) {
		fprintf(out, "{\"schema\":%d,\"type\":\"problem\",\"severity\":\"%s\",\"source\":",
				READSIDE_JSON_SCHEMA, severity_names[severity]);
		put_json_text(out, path);
		fputs(",\"event\":", out);
		put_json_text(out, event);
		fputs(",\"field\":", out);
		put_json_text(out, place);
		fputs(",\"text\":", out);
		put_json_text(out, text);
		fputs("}\n", out);
		return;
	}
	put_printable(out, path, strlen(path));
	fprintf(out, ": %s: ", severity_names[severity]);
	if (*event) {
		put_printable(out, event, strlen(event));
		fputs(": ", out);
	}
	put_at_field(out, place, text);
}

static void count(struct check *check, enum severity severity)
{
	if (severity == SEVERITY_ERROR)
		check->nr_errors++;
	else
		check->nr_warnings++;
}

/* "provider:event", to be freed. */
static char *name_of(const struct side_event_description *description)
{
	char *name;

	return asprintf(&name, "%s:%s", side_ptr_get(description->provider_name),
			       side_ptr_get(description->event_name)) < 0
			? NULL
			: name;
}

void check_say(struct check *check, enum severity severity, const struct visit_node *node,
		const char *format, ...)
{
	char *name;
	char text[1024], place[512];
	va_list arguments;

	count(check, severity);
	if (++check->nr_said > SAID_MAX)
		return;
	name = name_of(check->event->description);
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	put_problem(check, severity, check->event->path, name ? name : "",
			place_text(node, place, sizeof(place)), text);
	if (check->nr_said == SAID_MAX)
		put_problem(check, severity, check->event->path, name ? name : "", "",
				"what else is wrong with it is counted, not shown");
	free(name);
}

void check_say_call(
		struct check *check, const struct event *event, const char *field, const char *text)
{
	char *name = name_of(event->description);

	count(check, SEVERITY_ERROR);
	put_problem(check, SEVERITY_ERROR, event->path, name ? name : "", field, text);
	free(name);
}

void check_broken(struct check *check, const struct broken *broken)
{
	char *name;

	if (broken->kind != BROKEN_EVENT) {
		check->trouble = true;
		say_error("cannot check %s: %s", broken->path, broken->sentence);
		return;
	}
	if (asprintf(&name, "%s:%s", broken->provider, broken->event) < 0)
		name = NULL;
	put_problem(check, SEVERITY_ERROR, broken->path, name ? name : "", "", broken->sentence);
	count(check, SEVERITY_ERROR);
	free(name);
}

/* ---- the event itself ---- */

static void check_state(struct check *check)
{
	const struct image_state *state = &check->event->state;

	if (!state->there) {
		check_say(check, SEVERITY_ERROR, NULL,
				"it has no state, so that nobody can enable it");
	} else if (!state->readable && state->version) {
		check_say(check, SEVERITY_ERROR, NULL,
				"its state has a version (%" PRIu32 ") that is not known",
				state->version);
	} else if (!state->readable) {
		check_say(check, SEVERITY_ERROR, NULL, "its state cannot be read");
	} else if (state->description != check->event->address) {
		check_say(check, SEVERITY_ERROR, NULL,
				"its state is that of another description (at 0x%" PRIx64
				", not 0x%" PRIx64 ")",
				state->description, check->event->address);
	} else if (state->enabled || state->nr_callbacks) {
		check_say(check, SEVERITY_ERROR, NULL,
				"it is enabled already, by nobody; its state must begin with "
				"zeros");
	}
}

static void check_head(struct check *check)
{
	const struct side_event_description *description = check->event->description;
	uint64_t unknown = description->flags & ~(uint64_t)SIDE_EVENT_FLAG_VARIADIC;

	if (!*(const char *)side_ptr_get(description->provider_name))
		check_say(check, SEVERITY_ERROR, NULL, "the name of its provider is empty");
	if (!*(const char *)side_ptr_get(description->event_name))
		check_say(check, SEVERITY_ERROR, NULL, "its name is empty");
	if (side_enum_get(description->loglevel) > SIDE_LOGLEVEL_DEBUG)
		check_say(check, SEVERITY_ERROR, NULL,
				"the log level %u is unknown; DEBUG, the last one, is %d",
				(unsigned int)side_enum_get(description->loglevel),
				SIDE_LOGLEVEL_DEBUG);
	if (unknown)
		check_say(check, SEVERITY_WARNING, NULL, "the flags 0x%" PRIx64 " are unknown",
				unknown);
	if (check->event->struct_size != sizeof(*description))
		check_say(check, SEVERITY_WARNING, NULL,
				"the description has %" PRIu32 " bytes, not %zu: it is newer, or "
				"damaged",
				check->event->struct_size, sizeof(*description));
	if (description->nr_side_type_label > _NR_SIDE_TYPE_LABEL ||
			description->nr_side_attr_type > _NR_SIDE_ATTR_TYPE)
		check_say(check, SEVERITY_WARNING, NULL,
				"it was made for %u types and %u attribute types, of which %u and "
				"%u are known",
				description->nr_side_type_label, description->nr_side_attr_type,
				_NR_SIDE_TYPE_LABEL, _NR_SIDE_ATTR_TYPE);
}

/* ---- events of the same name ---- */

static int compare_names(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* The file ends: which of its events have the same name. */
static void check_names(struct check *check)
{
	if (check->nr_names)
		qsort(check->names, check->nr_names, sizeof(*check->names), compare_names);
	for (size_t i = 1; i < check->nr_names; i++) {
		if (strcmp(check->names[i - 1], check->names[i]))
			continue;
		/* Once for all that are called so. */
		if (i >= 2 && !strcmp(check->names[i - 2], check->names[i]))
			continue;
		put_problem(check, SEVERITY_WARNING, check->path, check->names[i], "",
				"another event of the file has the same name; whoever reads a "
				"trace cannot tell them apart");
		count(check, SEVERITY_WARNING);
	}
	for (size_t i = 0; i < check->nr_names; i++)
		free(check->names[i]);
	check->nr_names = 0;
	free(check->path);
	check->path = NULL;
}

static void note_name(struct check *check, const struct event *event)
{
	char *name = name_of(event->description);

	if (check->path && strcmp(check->path, event->path))
		check_names(check);
	if (!check->path)
		check->path = strdup(event->path);
	if (check->nr_names == check->names_room) {
		size_t room = check->names_room ? check->names_room * 2 : 64;
		char **names = reallocarray(check->names, room, sizeof(*names));

		if (!names) {
			free(name);
			return;
		}
		check->names = names;
		check->names_room = room;
	}
	if (name)
		check->names[check->nr_names++] = name;
}

/* ---- all of it ---- */

void check_event(struct check *check, const struct event *event)
{
	const struct side_event_description *description = event->description;
	size_t errors = check->nr_errors;
	struct visit_error error;
	char sentence[1024];

	note_name(check, event);
	check->nr_events++;
	check->event = event;
	check->nr_said = 0;
	check_head(check);
	check_state(check);
	check_attributes(check, visit_attributes_of(&description->attributes), NULL);
	if (check_fields(check, side_array_elements(&description->fields),
			    side_array_length(&description->fields), NULL))
		check_types(check);
	/* Whatever the visitors would refuse besides. */
	if (check->nr_errors == errors &&
			visit_description_check(description, VISIT_CHECK_STRICT, &error))
		check_say(check, SEVERITY_ERROR, NULL, "%s",
				visit_error_sentence(&error, sentence, sizeof(sentence)));
	check->event = NULL;
}

static const char *plural(size_t nr)
{
	return nr == 1 ? "" : "s";
}

int check_close(struct check *check)
{
	int status = READSIDE_DONE;

	check_names(check);
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
