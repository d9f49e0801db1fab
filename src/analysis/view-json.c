/* SPDX-License-Identifier: MIT */
/* Values as JSON: docs/spec/view-json.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view-sink.h"

static void view_json_write_text(struct view_sink *sink, const char *text)
{
	view_out_put(sink->out, text, strlen(text));
}

/* The length of a valid UTF-8 character, or 0. */
static unsigned int view_json_utf8_length(const unsigned char *at, size_t left)
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

/* Most characters: printable ASCII except the two that are escaped. */
static inline bool view_json_is_plain_char(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Terminals also obey the control characters U+0080 to U+009F: 0xc2 and a byte below 0xa0. */
static bool view_json_is_c1_control(const unsigned char *at)
{
	return at[0] == 0xc2 && at[1] < 0xa0;
}

static bool must_escape(const unsigned char *at)
{
	return at[0] < 0x20 || at[0] == 0x7f || at[0] == '"' || at[0] == '\\' ||
			view_json_is_c1_control(at);
}

static void view_json_write_escaped(struct view_out *out, unsigned char c)
{
	view_out_char(out, '\\');
	if (c == '"' || c == '\\') {
		view_out_char(out, (char)c);
		return;
	}
	view_out_text(out, "u00");
	view_out_char(out, "0123456789abcdef"[c >> 4]);
	view_out_char(out, "0123456789abcdef"[c & 15]);
}

/* Invalid UTF-8 becomes U+0080 to U+00FF, as in descriptions. */
void view_json_quoted(struct view_out *out, const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t run = 0;

	view_out_char(out, '"');
	for (size_t i = 0; i < size;) {
		unsigned int length = view_json_is_plain_char(at[i])
				? 1
				: view_json_utf8_length(at + i, size - i);

		if (length && !must_escape(at + i)) {
			run += length;
			i += length;
			continue;
		}
		view_out_put(out, text + i - run, run);
		run = 0;
		i += length == 2; /* C1: the number of the character is its second byte. */
		view_json_write_escaped(out, at[i]);
		i++;
	}
	view_out_put(out, text + size - run, run);
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

/* A second member with the same name becomes name#2, because keys of a JSON object should differ. */
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
