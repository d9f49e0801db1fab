/* SPDX-License-Identifier: MIT */
/* Values as JSON: docs/spec/view-json.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side/view-sink.h"

static void put(struct view_sink *sink, const char *text)
{
	fputs_unlocked(text, sink->out);
}

/* Length of a valid UTF-8 character, or 0. */
static unsigned int utf8_length(const unsigned char *at, size_t left)
{
	unsigned int length, c = at[0];
	uint32_t code;

	if (c < 0x80)
		return 1;
	length = c >= 0xf0 && c < 0xf5          ? 4
			: c >= 0xe0 && c < 0xf0 ? 3
			: c >= 0xc2 && c < 0xe0 ? 2
						: 0;
	if (!length || length > left)
		return 0;
	code = c & (0xffu >> (length + 1));
	for (unsigned int i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	if ((length == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
			(length == 4 && (code < 0x10000 || code > 0x10ffff)))
		return 0;
	return length;
}

/* Bytes that are no UTF-8 become U+0080 to U+00FF, as in descriptions. */
void view_json_quoted(FILE *out, const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t run = 0;

	putc_unlocked('"', out);
	for (size_t i = 0; i < size;) {
		unsigned int length = utf8_length(at + i, size - i);
		bool escape = !length || at[i] < 0x20 || at[i] == 0x7f;
		bool mark = at[i] == '"' || at[i] == '\\';

		if (!escape && !mark) {
			run += length;
			i += length;
			continue;
		}
		fwrite_unlocked(at + i - run, 1, run, out);
		run = 0;
		fprintf(out, mark ? "\\%c" : "\\u%04x", at[i]);
		i++;
	}
	fwrite_unlocked(at + size - run, 1, run, out);
	putc_unlocked('"', out);
}

static void json_null(struct view_sink *sink)
{
	put(sink, "null");
}

static void json_boolean(struct view_sink *sink, bool value)
{
	put(sink, value ? "true" : "false");
}

static void json_digits(struct view_sink *sink, const char *digits, bool quoted)
{
	if (quoted)
		put(sink, "\"");
	put(sink, digits);
	if (quoted)
		put(sink, "\"");
}

static void json_number(struct view_sink *sink, const struct visit_value *value, unsigned int base)
{
	char digits[VISIT_DIGITS_MAX];

	(void)base;
	visit_value_digits(value, 10, false, digits);
	json_digits(sink, digits, value->size == 16);
}

/* JSON has no NaN and no infinity, and no 128-bit floats. */
static void json_real(struct view_sink *sink, const struct visit_value *value)
{
	char digits[VISIT_FLOAT_DIGITS_MAX];

	view_real_digits(value, digits);
	json_digits(sink, digits, value->size == 16 || !isfinite(visit_value_double(value)));
}

static void json_text(struct view_sink *sink, const char *text, size_t size)
{
	view_json_quoted(sink->out, text, size);
}

static void json_struct_begin(struct view_sink *sink)
{
	put(sink, "{");
}

/* The second member of one name is called name#2: keys of an object should differ. */
static void json_member(struct view_sink *sink, uint32_t index, const char *name, size_t size,
		unsigned int copy)
{
	if (index)
		put(sink, ",");
	if (copy > 1) {
		char *suffixed;
		int length = asprintf(&suffixed, "%.*s#%u", (int)size, name, copy);

		if (length >= 0) {
			view_json_quoted(sink->out, suffixed, (size_t)length);
			free(suffixed);
		}
	} else {
		view_json_quoted(sink->out, name, size);
	}
	put(sink, ":");
}

static void json_struct_end(struct view_sink *sink, uint32_t count)
{
	(void)count;
	put(sink, "}");
}

static void json_list_begin(struct view_sink *sink)
{
	put(sink, "[");
}

static void json_item(struct view_sink *sink, uint32_t index)
{
	if (index)
		put(sink, ",");
}

static void json_list_end(struct view_sink *sink, uint32_t count)
{
	(void)count;
	put(sink, "]");
}

static void json_labels_begin(struct view_sink *sink)
{
	put(sink, "{\"labels\":[");
}

static void json_label(struct view_sink *sink, uint32_t index, const char *text, size_t size)
{
	if (index)
		put(sink, ",");
	view_json_quoted(sink->out, text, size);
}

static void json_labels_end(struct view_sink *sink, uint32_t count, bool bitmap)
{
	(void)count;
	(void)bitmap;
	put(sink, "],\"value\":");
}

static void json_close(struct view_sink *sink)
{
	put(sink, "}");
}

static void json_no_option_begin(struct view_sink *sink)
{
	put(sink, "{\"option\":null,\"selector\":");
}

static void json_attributed_begin(struct view_sink *sink)
{
	put(sink, "{\"value\":");
}

static void json_attributes_begin(struct view_sink *sink)
{
	put(sink, ",\"attributes\":[");
}

static void json_attribute_begin(
		struct view_sink *sink, uint32_t index, const char *key, size_t size)
{
	put(sink, index ? ",{\"key\":" : "{\"key\":");
	view_json_quoted(sink->out, key, size);
	put(sink, ",\"value\":");
}

static void json_attributes_end(struct view_sink *sink)
{
	put(sink, "]}");
}

const struct view_sink_ops view_json_ops = {
		.null = json_null,
		.absent = json_null,
		.boolean = json_boolean,
		.number = json_number,
		.real = json_real,
		.text = json_text,
		.digits = json_digits,
		.struct_begin = json_struct_begin,
		.member = json_member,
		.struct_end = json_struct_end,
		.list_begin = json_list_begin,
		.item = json_item,
		.list_end = json_list_end,
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
