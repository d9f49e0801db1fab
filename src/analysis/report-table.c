/* SPDX-License-Identifier: MIT */
/* Tables of text whose columns are as wide as their widest field. */
#include "analysis/report-table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "analysis/view-colours.h"

void table_put(struct report_table *table, const char *text)
{
	size_t size = strlen(text) * 4 + 1;
	char *entry = malloc(size);

	if (table->used == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : 64;
		char **entries = realloc(table->entries, capacity * sizeof(*entries));

		if (entries) {
			table->entries = entries;
			table->capacity = capacity;
		} else {
			table->failed = true;
		}
	}
	if (!entry || table->failed) {
		table->failed = true;
		free(entry);
		return;
	}
	format_printable(text, entry, size);
	table->entries[table->used++] = entry;
}

void table_format(struct report_table *table, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	table_put(table, text);
}

/* The number of characters. It equals the number of terminal columns, except for wide scripts. */
static size_t report_table_get_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

static void report_table_end_line(struct view_out *out)
{
	while (out->at > out->begin && out->at[-1] == ' ')
		out->at--;
	view_out_char(out, '\n');
}

static void report_table_print_column(const struct report_table *table, struct view_out *out,
		unsigned int column, const char *text, size_t width, bool title)
{
	const struct table_column *how = &table->columns[column];
	size_t blanks = width - report_table_get_width(text);
	const char *colour = !table->colour || !*text ? NULL
			: title                       ? VIEW_COLOUR_TIME
						      : how->colour;

	if (column)
		view_out_text(out, "  ");
	if (how->right && *text)
		view_out_fill(out, ' ', blanks);
	if (colour)
		view_out_put(out, colour, strlen(colour));
	view_out_put(out, text, strlen(text));
	if (colour)
		view_out_text(out, VIEW_COLOUR_END);
	if ((!how->right || !*text) && column + 1 < table->count)
		view_out_fill(out, ' ', blanks);
}

void table_print(struct report_table *table, struct view_out *out)
{
	size_t *widths = calloc(table->count, sizeof(*widths));

	for (unsigned int i = 0; widths && i < table->count; i++)
		widths[i] = report_table_get_width(table->columns[i].title);
	for (size_t i = 0; widths && i < table->used; i++) {
		size_t width = report_table_get_width(table->entries[i]);

		if (width > widths[i % table->count])
			widths[i % table->count] = width;
	}
	for (unsigned int i = 0; widths && i < table->count; i++)
		report_table_print_column(table, out, i, table->columns[i].title, widths[i], true);
	report_table_end_line(out);
	for (size_t i = 0; widths && i < table->used; i++) {
		unsigned int column = (unsigned int)(i % table->count);

		report_table_print_column(
				table, out, column, table->entries[i], widths[column], false);
		if (column + 1 == table->count)
			report_table_end_line(out);
	}
	if (!widths || table->failed)
		out->failed = true;
	for (size_t i = 0; i < table->used; i++)
		free(table->entries[i]);
	free(table->entries);
	free(widths);
	*table = (struct report_table){
			table->columns, table->count, table->colour, NULL, 0, 0, false};
}
