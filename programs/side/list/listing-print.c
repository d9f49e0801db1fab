/* SPDX-License-Identifier: MIT */
/* Prints a listing: as text for people, as names, or as JSON. */
#include "programs/side/processes/descriptions.h"

#include "programs/side/processes/running.h"
#include "programs/common/message.h"

#include "abi/visit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Colours of the text output; all empty without colours. */
struct palette {
	const char *source;
	const char *name;
	const char *type;
	const char *note;
	const char *severe;
	const char *on;
	const char *off;
};

static const struct palette palettes[] = {
		{"", "", "", "", "", "", ""},
		{"\033[4m", "\033[1m", "\033[36m", "\033[2m", "\033[31m", "\033[32m", "\033[0m"},
};

static void listing_print_value(FILE *out, const struct visit_value *value)
{
	char digits[VISIT_DIGITS_MAX];
	char text[1024];
	size_t size;

	switch (value->kind) {
	case VISIT_NULL: fputs("null", out); return;
	case VISIT_BOOL: fputs(value->lo || value->hi ? "true" : "false", out); return;
	case VISIT_FLOAT: fprintf(out, "%.17g", visit_value_double(value)); return;
	case VISIT_STRING:
		size = visit_text_utf8(value->text.at, value->text.unit_size,
				value->text.byte_order, text, sizeof(text) - 1);
		text[size < sizeof(text) ? size : sizeof(text) - 1] = '\0';
		print_json_string(out, text);
		return;
	case VISIT_UNSIGNED:
	case VISIT_SIGNED:
	case VISIT_BYTE:
	case VISIT_POINTER:
		size = visit_value_digits(value, 10, false, digits);
		fprintf(out, "%.*s", (int)size, digits);
		return;
	}
}

static void listing_print_attributes(
		FILE *out, struct visit_attributes attributes, const struct palette *palette)
{
	if (!attributes.nr)
		return;
	fprintf(out, "  %s[", palette->note);
	for (uint32_t i = 0; i < attributes.nr; i++) {
		const struct side_attr *attribute = &attributes.attr[i];
		struct visit_value value;
		char key[512];
		size_t size = visit_text_utf8(side_ptr_get(attribute->key.p),
				attribute->key.unit_size, side_enum_get(attribute->key.byte_order),
				key, sizeof(key) - 1);

		key[size < sizeof(key) ? size : sizeof(key) - 1] = '\0';
		if (i)
			fputs(", ", out);
		print_printable(out, key);
		fputs(" = ", out);
		if (visit_load_attribute(&attribute->value, &value))
			fputs("?", out);
		else
			listing_print_value(out, &value);
	}
	fprintf(out, "]%s", palette->off);
}

static int listing_print_field(
		FILE *out, const struct side_event_field *field, const struct palette *palette)
{
	struct visit_buffer buffer;
	int result;

	visit_buffer_heap(&buffer);
	fputs("    ", out);
	print_printable(out, side_ptr_get(field->field_name));
	fprintf(out, ": %s", palette->type);
	result = visit_type_text(&field->side_type, &buffer);
	if (!result)
		result = visit_buffer_append(&buffer, "", 1);
	if (!result)
		print_printable(out, (const char *)buffer.data);
	fputs(palette->off, out);
	listing_print_attributes(out, visit_type_attributes(&field->side_type), palette);
	putc('\n', out);
	visit_buffer_free(&buffer);
	/* A type that cannot be printed is omitted; a failed allocation is an error. */
	return result == -ENOMEM ? result : 0;
}

static void listing_print_state(
		FILE *out, const struct listing_state *state, const struct palette *palette)
{
	const char *separator = "";

	if (!state->known)
		return;
	if (!state->enabled) {
		fprintf(out, "  %sdisabled%s", palette->note, palette->off);
		return;
	}
	fprintf(out, "  %senabled: ", palette->on);
	if (state->tracers) {
		fprintf(out, "%" PRIu32 " tracer%s", state->tracers,
				state->tracers == 1 ? "" : "s");
		separator = ", ";
	}
	if (state->kernel) {
		fprintf(out, "%skernel", separator);
		separator = ", ";
	}
	if (state->debugger) {
		fprintf(out, "%sdebugger", separator);
		separator = ", ";
	}
	if (!*separator)
		fputs("manually", out);
	fputs(palette->off, out);
}

static void listing_print_name(FILE *out, const struct side_event_description *description)
{
	print_printable(out, side_ptr_get(description->provider_name));
	putc(':', out);
	print_printable(out, side_ptr_get(description->event_name));
}

static int listing_print_text(
		FILE *out, const struct listing_event *event, const struct palette *palette)
{
	const struct side_event_description *description = event->description;
	unsigned int level = side_enum_get(description->loglevel);
	int result = 0;

	fputs(palette->name, out);
	listing_print_name(out, description);
	fprintf(out, "%s (%s%s%s)", palette->off,
			level <= SIDE_LOGLEVEL_WARNING ? palette->severe : "",
			visit_loglevel_name(level), palette->off);
	listing_print_state(out, &event->state, palette);
	listing_print_attributes(out, visit_attributes_of(&description->attributes), palette);
	putc('\n', out);
	for (uint32_t i = 0; !result && i < side_array_length(&description->fields); i++)
		result = listing_print_field(out, side_array_at(&description->fields, i), palette);
	if (description->flags & SIDE_EVENT_FLAG_VARIADIC)
		fprintf(out, "    %s...%s\n", palette->type, palette->off);
	return result;
}

static int listing_print_json_name(FILE *out, const struct side_event_description *description)
{
	char *name;

	if (asprintf(&name, "%s:%s", side_ptr_get(description->provider_name),
			    side_ptr_get(description->event_name)) < 0)
		return -ENOMEM;
	print_json_string(out, name);
	free(name);
	return 0;
}

static void listing_print_json_process(FILE *out, pid_t pid)
{
	char name[RUNNING_NAME_MAX];

	if (!pid)
		return;
	fprintf(out, ",\"pid\":%d,\"process\":", (int)pid);
	print_json_string(out, running_name(pid, name));
}

/* `found` is the former name of `origin`. It is deprecated: the next release does not print it. */
static void listing_print_json_origin(FILE *out, enum listing_origin origin)
{
	const char *name = origin == LISTING_SECTION ? "section" : "registry";

	fprintf(out, ",\"origin\":\"%s\",\"found\":\"%s\"", name, name);
}

static int listing_print_json(
		FILE *out, const struct listing *listing, const struct listing_event *event)
{
	const struct listing_state *state = &event->state;
	struct visit_buffer buffer;
	int result;

	visit_buffer_heap(&buffer);
	result = visit_description_json(event->description, &buffer, NULL);
	if (!result) {
		fprintf(out, "{\"schema\":%d,\"type\":\"event\",\"event\":", OUTPUT_JSON_SCHEMA);
		result = listing_print_json_name(out, event->description);
		fputs(",\"source\":", out);
		print_json_string(out, listing->sources[event->source].path);
		listing_print_json_process(out, listing->sources[event->source].pid);
		if (event->origin != LISTING_UNKNOWN)
			listing_print_json_origin(out, event->origin);
		if (state->known)
			fprintf(out,
					",\"enabled\":%s,\"tracers\":%" PRIu32
					",\"kernel\":%s,\"debugger\":%s",
					state->enabled ? "true" : "false", state->tracers,
					state->kernel ? "true" : "false",
					state->debugger ? "true" : "false");
		fputs(",\"description\":", out);
		fwrite(buffer.data, buffer.size, 1, out);
		fputs("}\n", out);
	}
	visit_buffer_free(&buffer);
	return result;
}

/* Prints "app (process 2099)" above the sources of a process. */
static void listing_print_process(FILE *out, pid_t pid, const struct palette *palette)
{
	char name[RUNNING_NAME_MAX];

	fputs(palette->source, out);
	print_printable(out, *running_name(pid, name) ? name : "program that has exited");
	fprintf(out, " (process %d)%s\n", (int)pid, palette->off);
}

/*
 * Prints a heading for each new process and source if there are several, and an empty line between
 * providers.
 */
static void listing_print_break(
		FILE *out, const struct listing *listing, size_t at, const struct palette *palette)
{
	const struct listing_source *sources = listing->sources;
	const struct listing_event *event = &listing->events[at];
	const struct listing_event *before = at ? &listing->events[at - 1] : NULL;
	bool source = !before || before->source != event->source;
	bool provider = source ||
			strcmp(side_ptr_get(before->description->provider_name),
					side_ptr_get(event->description->provider_name));

	if (before && provider)
		putc('\n', out);
	if (source && sources[event->source].pid &&
			(!before || sources[before->source].pid != sources[event->source].pid))
		listing_print_process(out, sources[event->source].pid, palette);
	if (source && listing->nr_sources > 1) {
		fputs(sources[event->source].pid ? "  " : "", out);
		fputs(palette->source, out);
		print_printable(out, sources[event->source].path);
		fprintf(out, "%s\n", palette->off);
	}
}

int listing_print(const struct listing *listing, FILE *out, enum listing_form form, bool color)
{
	const struct palette *palette = &palettes[color];

	for (size_t i = 0; i < listing->nr_events && !ferror(out); i++) {
		const struct listing_event *event = &listing->events[i];
		int error = 0;

		switch (form) {
		case LISTING_TEXT:
			listing_print_break(out, listing, i, palette);
			error = listing_print_text(out, event, palette);
			break;
		case LISTING_NAMES:
			listing_print_name(out, event->description);
			putc('\n', out);
			break;
		case LISTING_JSON: error = listing_print_json(out, listing, event); break;
		}
		if (error)
			return error;
	}
	return 0;
}
