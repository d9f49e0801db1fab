/* SPDX-License-Identifier: MIT */
/* Values as JSON: docs/spec/view-json.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view-sink.h"
#include "base/inside/json-escape.h"

static void view_json_write_text(struct view_sink *sink, const char *text)
{
	view_out_put(sink->out, text, strlen(text));
}

static void view_json_put(void *out, const char *bytes, size_t size)
{
	view_out_put(out, bytes, size);
}

/*
 * Invalid UTF-8 becomes U+0080 to U+00FF, as in descriptions. All characters that terminals obey
 * are escaped.
 */
void view_json_quoted(struct view_out *out, const char *text, size_t size)
{
	view_out_char(out, '"');
	json_escape_text(text, size, JSON_ESCAPE_CONTROLS, view_json_put, out);
	view_out_char(out, '"');
}

static void json_digits(struct view_sink *sink, const char *digits, bool quoted)
{
	if (quoted)
		view_json_write_text(sink, "\"");
	view_json_write_text(sink, digits);
	if (quoted)
		view_json_write_text(sink, "\"");
}

static void json_number(struct view_sink *sink, const struct visit_value *value, unsigned int base)
{
	char digits[VISIT_DIGITS_MAX];

	(void)base;
	visit_value_digits(value, 10, false, digits);
	json_digits(sink, digits, value->size == 16);
}

/* JSON has no NaN, no infinity, and no 128-bit floats. */
static void json_real(struct view_sink *sink, const struct visit_value *value)
{
	char digits[VISIT_FLOAT_DIGITS_MAX];

	view_real_digits(value, digits);
	json_digits(sink, digits, value->size == 16 || !isfinite(visit_value_double(value)));
}

/*
 * A second member with the same name becomes name#2, because keys of a JSON object should differ.
 */
static void json_member(struct view_sink *sink, uint32_t index, const char *name, size_t size,
		unsigned int copy)
{
	if (index)
		view_json_write_text(sink, ",");
	if (copy > 1) {
		char *suffixed;
		int length = asprintf(&suffixed, "%.*s#%u", (int)size, name, copy);

		if (length >= 0) {
			view_json_quoted(sink->out, suffixed, (size_t)length);
			free(suffixed);
		} else {
			sink->out->failed = true;
		}
	} else {
		view_json_quoted(sink->out, name, size);
	}
	view_json_write_text(sink, ":");
}

static void json_labels_begin(struct view_sink *sink)
{
	view_json_write_text(sink, "{\"labels\":[");
}

static void json_label(struct view_sink *sink, uint32_t index, const char *text, size_t size)
{
	if (index)
		view_json_write_text(sink, ",");
	view_json_quoted(sink->out, text, size);
}

static void json_labels_end(struct view_sink *sink, uint32_t count, bool bitmap)
{
	(void)count;
	(void)bitmap;
	view_json_write_text(sink, "],\"value\":");
}

static void json_close(struct view_sink *sink)
{
	view_json_write_text(sink, "}");
}

static void json_no_option_begin(struct view_sink *sink)
{
	view_json_write_text(sink, "{\"option\":null,\"selector\":");
}

static void json_attributed_begin(struct view_sink *sink)
{
	view_json_write_text(sink, "{\"value\":");
}

static void json_attributes_begin(struct view_sink *sink)
{
	view_json_write_text(sink, ",\"attributes\":[");
}

static void json_attribute_begin(
		struct view_sink *sink, uint32_t index, const char *key, size_t size)
{
	view_json_write_text(sink, index ? ",{\"key\":" : "{\"key\":");
	view_json_quoted(sink->out, key, size);
	view_json_write_text(sink, ",\"value\":");
}

static void json_attributes_end(struct view_sink *sink)
{
	view_json_write_text(sink, "]}");
}

const struct view_sink_ops view_json_ops = {
		.json = true,
		.null = VIEW_WORD("null"),
		.absent = VIEW_WORD("null"),
		.unreadable = VIEW_WORD("null"),
		.bool_words = {VIEW_WORD("false"), VIEW_WORD("true")},
		.struct_begin = VIEW_WORD("{"),
		.struct_end = VIEW_WORD("}"),
		.list_begin = VIEW_WORD("["),
		.list_end = VIEW_WORD("]"),
		.item = {VIEW_WORD(""), VIEW_WORD(",")},
		.member = json_member,
		.quoted = view_json_quoted,
		.number = json_number,
		.real = json_real,
		.digits = json_digits,
		.labels_begin = json_labels_begin,
		.label = json_label,
		.labels_end = json_labels_end,
		.labelled_end = json_close,
		.no_option_begin = json_no_option_begin,
		.no_option_end = json_close,
		.attributed_begin = json_attributed_begin,
		.attributes_begin = json_attributes_begin,
		.attribute_begin = json_attribute_begin,
		.attribute_end = json_close,
		.attributes_end = json_attributes_end,
};
