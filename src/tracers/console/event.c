/* SPDX-License-Identifier: MIT */
/*
 * Prints the line of an event. Allocates nothing but pages for long lines, and takes only the lock
 * of the output.
 */
#include <errno.h>
#include <unistd.h>

#include "tracers/console/event.h"
#include "tracers/console/scalar.h"

/* Print the attributes of the following item: "attr: [ ... ], ". */
static void console_event_print_attributes(struct console_line *line,
		const struct visit_location *location, struct visit_attributes attributes)
{
	if (!attributes.nr)
		return;
	console_put_attributes(line, attributes,
			location->dynamic ? "attr::" : "attr:", location->dynamic);
	CONSOLE_PUT(line, ", ");
}

static int console_event_begin(void *priv, const struct visit_location *location)
{
	struct console_line *line = priv;
	struct visit_attributes attributes = visit_attributes_of(&location->desc->attributes);

	CONSOLE_PUT(line, "provider: ");
	console_put_name(line, side_ptr_get(location->desc->provider_name));
	CONSOLE_PUT(line, ", event: ");
	console_put_name(line, side_ptr_get(location->desc->event_name));
	if (attributes.nr)
		CONSOLE_PUT(line, ", ");
	console_put_attributes(line, attributes, "attr:", false);
	return 0;
}

static int console_event_end(void *priv, const struct visit_location *location)
{
	(void)location;
	return CONSOLE_PUT((struct console_line *)priv, "\n");
}

static int console_event_fields_begin(
		void *priv, const struct visit_location *location, uint32_t nr)
{
	(void)location;
	(void)nr;
	return CONSOLE_PUT((struct console_line *)priv, ", fields: {");
}

static int console_event_fields_end(void *priv, const struct visit_location *location)
{
	(void)location;
	return CONSOLE_PUT((struct console_line *)priv, " }");
}

static int console_event_variadic_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	struct console_line *line = priv;

	(void)location;
	if (attributes.nr)
		CONSOLE_PUT(line, ", ");
	console_put_attributes(line, attributes, "attr ::", true);
	if (nr)
		CONSOLE_PUT(line, ", fields:: {");
	return line->text.error;
}

static int console_event_variadic_end(
		void *priv, const struct visit_location *location, uint32_t nr)
{
	(void)location;
	return nr ? CONSOLE_PUT((struct console_line *)priv, " }") : 0;
}

static int console_event_field_begin(void *priv, const struct visit_location *location)
{
	struct console_line *line = priv;

	if (location->index)
		CONSOLE_PUT(line, ",");
	CONSOLE_PUT(line, " ");
	console_put_name(line, location->name);
	return visit_buffer_printf(&line->text, "%s { ", console_colon(location->dynamic));
}

static int console_event_end_brace(void *priv, const struct visit_location *location)
{
	(void)location;
	return CONSOLE_PUT((struct console_line *)priv, " }");
}

static int console_event_element_begin(void *priv, const struct visit_location *location)
{
	struct console_line *line = priv;

	if (location->index)
		CONSOLE_PUT(line, ",");
	return CONSOLE_PUT(line, " { ");
}

static int console_event_visit_value(void *priv, const struct visit_location *location,
		const struct visit_value *scalar, struct visit_attributes attributes)
{
	struct console_line *line = priv;

	console_event_print_attributes(line, location, attributes);
	visit_buffer_printf(&line->text, "value%s ", console_colon(location->dynamic));
	console_put_value(line, scalar, attributes);
	return line->text.error;
}

static int console_event_struct_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	struct console_line *line = priv;

	(void)nr;
	console_event_print_attributes(line, location, attributes);
	return visit_buffer_printf(&line->text, "fields%s {", console_colon(location->dynamic));
}

static int console_event_struct_end(void *priv, const struct visit_location *location, uint32_t nr)
{
	(void)nr;
	return console_event_end_brace(priv, location);
}

static int console_event_array_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	struct console_line *line = priv;

	(void)nr;
	console_event_print_attributes(line, location, attributes);
	return visit_buffer_printf(&line->text, "elements%s [", console_colon(location->dynamic));
}

static int console_event_array_end(void *priv, const struct visit_location *location, uint32_t nr)
{
	(void)location;
	(void)nr;
	return CONSOLE_PUT((struct console_line *)priv, " ]");
}

static int console_event_enum_begin(void *priv, const struct visit_location *location,
		struct visit_attributes attributes)
{
	struct console_line *line = priv;

	console_event_print_attributes(line, location, attributes);
	return CONSOLE_PUT(line, "{ ");
}

/* Print one label of the list, with a separator if it is not the first. */
static void console_event_print_label(struct console_line *line,
		const struct side_type_raw_string *label, unsigned int *nr)
{
	if ((*nr)++)
		CONSOLE_PUT(line, ", ");
	console_put_raw_string(line, label);
}

static int console_event_enum_end(void *priv, const struct visit_location *location,
		const struct side_enum_mappings *mappings, const struct visit_value *scalar)
{
	struct console_line *line = priv;
	unsigned int nr = 0;
	uint32_t i;

	(void)location;
	CONSOLE_PUT(line, " }, labels: [ ");
	for (i = 0; i < side_array_length(&mappings->mappings); i++) {
		const struct side_enum_mapping *mapping = side_array_at(&mappings->mappings, i);

		if (visit_enum_matches(mapping, scalar))
			console_event_print_label(line, &mapping->label, &nr);
	}
	if (!nr)
		CONSOLE_PUT(line, "<NO LABEL>");
	return CONSOLE_PUT(line, " ]");
}

static int console_event_visit_bitmap(void *priv, const struct visit_location *location,
		const struct side_enum_bitmap_mappings *mappings, const struct visit_bitmap *bits)
{
	struct console_line *line = priv;
	unsigned int nr = 0;
	uint32_t i;

	console_event_print_attributes(line, location, visit_attributes_of(&mappings->attributes));
	CONSOLE_PUT(line, "labels: [ ");
	for (i = 0; i < side_array_length(&mappings->mappings); i++) {
		const struct side_enum_bitmap_mapping *mapping =
				side_array_at(&mappings->mappings, i);

		if (visit_bitmap_matches(mapping, bits))
			console_event_print_label(line, &mapping->label, &nr);
	}
	if (!nr)
		CONSOLE_PUT(line, "<NO LABEL>");
	return CONSOLE_PUT(line, " ]");
}

static const struct visit_argument_ops ops = {
		.event_begin = console_event_begin,
		.event_end = console_event_end,
		.fields_begin = console_event_fields_begin,
		.fields_end = console_event_fields_end,
		.variadic_begin = console_event_variadic_begin,
		.variadic_end = console_event_variadic_end,
		.field_begin = console_event_field_begin,
		.field_end = console_event_end_brace,
		.element_begin = console_event_element_begin,
		.element_end = console_event_end_brace,
		.value = console_event_visit_value,
		.struct_begin = console_event_struct_begin,
		.struct_end = console_event_struct_end,
		.array_begin = console_event_array_begin,
		.array_end = console_event_array_end,
		.enum_begin = console_event_enum_begin,
		.enum_end = console_event_enum_end,
		.bitmap = console_event_visit_bitmap,
};

/* Print a separator, the error, and the path to it, one step a line. */
static void console_event_print_error(struct console_line *line, const struct visit_error *error)
{
	const char *at;

	CONSOLE_PUT(line,
			"----------------------------------------------------------\n"
			"ERROR: ");
	console_put_name(line, error->what);
	CONSOLE_PUT(line, "\n\t");
	for (at = error->where; *at; at++) {
		visit_buffer_append(&line->text, at, 1);
		if (*at == '\n')
			CONSOLE_PUT(line, "\t");
	}
	CONSOLE_PUT(line, "\n----------------------------------------------------------\n");
	console_line_end(line, STDERR_FILENO);
}

void console_print_event(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic)
{
	struct visit_error error = {.what = "out of memory for the line of an event"};
	struct console_line line;
	int saved = errno;

	console_line_begin(&line);
	if (!visit_arguments(desc, args, variadic, &ops, &line, &error)) {
		console_line_end(&line, STDOUT_FILENO);
	} else {
		console_line_drop(&line);
		console_line_begin(&line);
		console_event_print_error(&line, &error);
	}
	errno = saved;
}
