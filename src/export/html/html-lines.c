/* SPDX-License-Identifier: MIT */
/* JSON lines within budgets of bytes. */
#include "export/html/html-lines.h"

#include <string.h>

#include "analysis/view-sink.h"

static const struct {
	const char *type;
	size_t size_max;
} html_budgets[] = {
		{"overview", 20000},
		{"process", 150000},
		{"count", 250000},
		{"histogram", 200000},
		{"durations", 200000},
		{"pair", 50000},
		{"slow", 150000},
		{"function", 250000},
		{"caller", 100000},
		{"lost", 100000},
		{"lost_packets", 50000},
		{"leaks", 20000},
		{"leaks_process", 50000},
		{"leak", 300000},
		{"double_free", 50000},
		{"unknown_free", 50000},
		{"locks", 20000},
		{"lock", 300000},
		{"deadlock", 80000},
		{"waiting", 50000},
};

/* Of all types that are not in the table together, and of the objects `omitted`. */
#define HTML_BUDGET_OTHERS 20000

size_t html_lines_size_max(void)
{
	size_t size = 2 * HTML_BUDGET_OTHERS;

	for (size_t i = 0; i < sizeof(html_budgets) / sizeof(*html_budgets); i++)
		size += html_budgets[i].size_max;
	return size;
}

static size_t html_lines_budget(const char *type)
{
	for (size_t i = 0; i < sizeof(html_budgets) / sizeof(*html_budgets); i++)
		if (!strcmp(html_budgets[i].type, type))
			return html_budgets[i].size_max;
	return HTML_BUDGET_OTHERS / HTML_LINE_TYPES_MAX;
}

/* ---- lines ---- */

void html_put_escaped(struct view_out *out, const char *json, size_t size)
{
	const char *end = json + size;

	/* In JSON, the character can be in strings only. */
	while (json < end) {
		const char *found = memchr(json, '<', (size_t)(end - json));

		view_out_put(out, json, (size_t)((found ? found : end) - json));
		if (!found)
			return;
		view_out_text(out, "\\u003c");
		json = found + 1;
	}
}

size_t html_escaped_size(const char *json, size_t size)
{
	const char *end = json + size, *found;
	size_t escaped = size;

	while ((found = memchr(json, '<', (size_t)(end - json)))) {
		escaped += strlen("\\u003c") - 1;
		json = found + 1;
	}
	return escaped;
}

/* The type of a line. NULL: it has none, or there are too many types. */
static struct html_line_type *html_lines_type(
		struct html_lines *lines, const char *line, size_t size)
{
	static const char begin[] = "{\"schema\":1,\"type\":\"";
	const size_t skip = sizeof(begin) - 1;
	struct html_line_type *type;
	const char *quote;
	size_t length;

	if (size < skip || memcmp(line, begin, skip) != 0)
		return NULL;
	quote = memchr(line + skip, '"', size - skip);
	length = quote ? (size_t)(quote - line) - skip : sizeof(type->name);
	if (length >= sizeof(type->name))
		return NULL;
	for (unsigned int i = 0; i < lines->nr_types; i++)
		if (strlen(lines->types[i].name) == length &&
				!memcmp(lines->types[i].name, line + skip, length))
			return &lines->types[i];
	if (lines->nr_types == HTML_LINE_TYPES_MAX)
		return NULL;
	type = &lines->types[lines->nr_types++];
	memcpy(type->name, line + skip, length);
	type->size_max = html_lines_budget(type->name);
	return type;
}

static void html_lines_add_line(struct html_lines *lines, const char *line, size_t size)
{
	struct html_line_type *type = html_lines_type(lines, line, size);
	size_t before = view_out_size(&lines->out), added;

	if (!type)
		return;
	if (type->omitted) {
		type->omitted++;
		return;
	}
	if (before)
		view_out_text(&lines->out, ",\n");
	html_put_escaped(&lines->out, line, size);
	added = view_out_size(&lines->out) - before;
	if (type->size + added > type->size_max) {
		lines->out.at = lines->out.begin + before;
		type->omitted++;
		return;
	}
	type->size += added;
}

void html_lines_add(struct html_lines *lines, const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		const char *feed = memchr(text, '\n', (size_t)(end - text));

		if (!feed)
			feed = end;
		html_lines_add_line(lines, text, (size_t)(feed - text));
		text = feed + 1;
	}
}

void html_lines_add_omitted(struct html_lines *lines)
{
	for (unsigned int i = 0; i < lines->nr_types; i++) {
		const struct html_line_type *type = &lines->types[i];

		if (!type->omitted)
			continue;
		if (view_out_size(&lines->out))
			view_out_text(&lines->out, ",\n");
		view_out_text(&lines->out, "{\"schema\":1,\"type\":\"omitted\",\"of\":");
		view_json_quoted(&lines->out, type->name, strlen(type->name));
		view_out_text(&lines->out, ",\"count\":");
		view_out_unsigned(&lines->out, type->omitted);
		view_out_char(&lines->out, '}');
	}
}

void html_lines_free(struct html_lines *lines)
{
	view_out_free(&lines->out);
}
