/* SPDX-License-Identifier: MIT */
/* Values as text. */
#include <string.h>

#include "analysis/view-colours.h"
#include "analysis/view-sink.h"
#include "base/inside/utf8.h"

/* ---- strings ---- */

/* The length of a UTF-8 character. 0: it is not valid, or must not be written to a terminal. */
static unsigned int shown_length(const unsigned char *at, size_t left)
{
	unsigned int length = utf8_length(at, left);

	return length && utf8_is_control(at, length) ? 0 : length;
}

static void view_text_write_escaped(struct view_out *out, unsigned char c)
{
	static const char from[] = "\n\t\r", to[] = "ntr";
	const char *found = c ? strchr(from, c) : NULL;

	view_out_char(out, '\\');
	if (found) {
		view_out_char(out, to[found - from]);
		return;
	}
	view_out_char(out, 'x');
	view_out_char(out, "0123456789abcdef"[c >> 4]);
	view_out_char(out, "0123456789abcdef"[c & 15]);
}

/* Most characters: printable ASCII except the two that are escaped between quotes. */
static inline bool view_text_is_plain_char(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/*
 * How a text is separated from its surroundings: not at all, by quotes, or as a field of a table.
 */
enum enclosure {
	IN_LINE,
	IN_QUOTES,
	IN_FIELD, /* keeps line feeds and tabs */
};

static void view_text_write_quoted(
		struct view_out *out, const char *text, size_t size, enum enclosure enclosure)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t run = 0;

	for (size_t i = 0; i < size;) {
		unsigned int length =
				view_text_is_plain_char(at[i]) ? 1 : shown_length(at + i, size - i);
		bool mark = enclosure == IN_QUOTES && length == 1 &&
				(at[i] == '"' || at[i] == '\\');

		if (!length && enclosure == IN_FIELD && (at[i] == '\n' || at[i] == '\t'))
			length = 1;
		if (length && !mark) {
			run += length;
			i += length;
			continue;
		}
		view_out_put(out, text + i - run, run);
		run = 0;
		if (mark) {
			view_out_char(out, '\\');
			view_out_char(out, (char)at[i]);
		} else {
			view_text_write_escaped(out, at[i]);
		}
		i++;
	}
	view_out_put(out, text + size - run, run);
}

void view_text_plain(struct view_out *out, const char *text, size_t size)
{
	view_text_write_quoted(out, text, size, IN_LINE);
}

void view_text_field(struct view_out *out, const char *text, size_t size)
{
	view_text_write_quoted(out, text, size, IN_FIELD);
}

void view_text_quoted(struct view_out *out, const char *text, size_t size)
{
	view_out_char(out, '"');
	view_text_write_quoted(out, text, size, IN_QUOTES);
	view_out_char(out, '"');
}

/* Names of fields have quotes only if they could be mistaken for another token. */
static bool view_text_is_plain_name(const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c < 0x80 && c != '_' && !(c >= '0' && c <= '9') &&
				!((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
			return false;
	}
	return size;
}

/* ---- values ---- */

static void view_text_write_raw(struct view_sink *sink, const char *text)
{
	view_out_put(sink->out, text, strlen(text));
}

static void view_text_write_colour(struct view_sink *sink, const char *colour)
{
	if (sink->colour)
		view_text_write_raw(sink, colour);
}

static void view_text_write_keyword(struct view_sink *sink, const char *word)
{
	view_text_write_colour(sink, VIEW_COLOUR_WORD);
	view_text_write_raw(sink, word);
	view_text_write_colour(sink, VIEW_COLOUR_END);
}

static void text_digits(struct view_sink *sink, const char *digits, bool quoted)
{
	(void)quoted;
	view_text_write_colour(sink, VIEW_COLOUR_NUMBER);
	view_text_write_raw(sink, digits);
	view_text_write_colour(sink, VIEW_COLOUR_END);
}

static void text_number(struct view_sink *sink, const struct visit_value *value, unsigned int base)
{
	char digits[VISIT_DIGITS_MAX];

	visit_value_digits(value, base, true, digits);
	text_digits(sink, digits, false);
}

static void text_real(struct view_sink *sink, const struct visit_value *value)
{
	char digits[VISIT_FLOAT_DIGITS_MAX];

	view_real_digits(value, digits);
	text_digits(sink, digits, false);
}

/* ---- members ---- */

void view_text_assign(struct view_sink *sink, const char *name, size_t size)
{
	view_text_write_colour(sink, VIEW_COLOUR_NAME);
	if (view_text_is_plain_name(name, size))
		view_text_plain(sink->out, name, size);
	else
		view_text_quoted(sink->out, name, size);
	view_text_write_colour(sink, VIEW_COLOUR_END);
	view_text_write_raw(sink, " = ");
}

static void text_member(struct view_sink *sink, uint32_t index, const char *name, size_t size,
		unsigned int copy)
{
	(void)copy;
	view_text_write_raw(sink, index ? ", " : " ");
	view_text_assign(sink, name, size);
}

/* ---- labels ---- */

static void text_label(struct view_sink *sink, uint32_t index, const char *text, size_t size)
{
	if (index)
		view_text_write_raw(sink, " | ");
	view_text_write_colour(sink, VIEW_COLOUR_LABEL);
	view_text_quoted(sink->out, text, size);
	view_text_write_colour(sink, VIEW_COLOUR_END);
}

static void text_labels_end(struct view_sink *sink, uint32_t count, bool bitmap)
{
	if (!count)
		view_text_write_keyword(sink, bitmap ? "<none>" : "<unknown>");
	view_text_write_raw(sink, " (");
}

static void text_close(struct view_sink *sink)
{
	view_text_write_raw(sink, ")");
}

static void text_no_option_begin(struct view_sink *sink)
{
	view_text_write_keyword(sink, "<no option>");
	view_text_write_raw(sink, " (");
}

/* ---- attributes ---- */

static void text_nothing(struct view_sink *sink)
{
	(void)sink;
}

static void text_attributes_begin(struct view_sink *sink)
{
	view_text_write_raw(sink, " @{");
}

static void text_attribute_begin(
		struct view_sink *sink, uint32_t index, const char *key, size_t size)
{
	view_text_write_raw(sink, index ? ", " : " ");
	view_text_write_colour(sink, VIEW_COLOUR_NAME);
	view_text_plain(sink->out, key, size);
	view_text_write_colour(sink, VIEW_COLOUR_END);
	view_text_write_raw(sink, " = ");
}

static void text_attributes_end(struct view_sink *sink)
{
	view_text_write_raw(sink, " }");
}

#define COMMON_OPS                                                                   \
	.struct_begin = VIEW_WORD("{"), .struct_end = VIEW_WORD(" }"),               \
	.list_begin = VIEW_WORD("["), .list_end = VIEW_WORD(" ]"),                   \
	.item = {VIEW_WORD(" "), VIEW_WORD(", ")}, .member = text_member,            \
	.quoted = view_text_quoted, .number = text_number, .real = text_real,        \
	.digits = text_digits, .labels_begin = text_nothing, .label = text_label,    \
	.labels_end = text_labels_end, .labelled_end = text_close,                   \
	.no_option_begin = text_no_option_begin, .no_option_end = text_close,        \
	.attributed_begin = text_nothing, .attributes_begin = text_attributes_begin, \
	.attribute_begin = text_attribute_begin, .attribute_end = text_nothing,      \
	.attributes_end = text_attributes_end

const struct view_sink_ops view_text_ops = {
		COMMON_OPS,
		.null = VIEW_WORD("null"),
		.absent = VIEW_WORD("<absent>"),
		.unreadable = VIEW_WORD("<unreadable>"),
		.bool_words = {VIEW_WORD("false"), VIEW_WORD("true")},
};

#define COLOURED(word) VIEW_WORD(VIEW_COLOUR_WORD word VIEW_COLOUR_END)

const struct view_sink_ops view_colour_ops = {
		COMMON_OPS,
		.number_begin = VIEW_WORD(VIEW_COLOUR_NUMBER),
		.number_end = VIEW_WORD(VIEW_COLOUR_END),
		.text_begin = VIEW_WORD(VIEW_COLOUR_STRING),
		.text_end = VIEW_WORD(VIEW_COLOUR_END),
		.null = COLOURED("null"),
		.absent = COLOURED("<absent>"),
		.unreadable = COLOURED("<unreadable>"),
		.bool_words = {COLOURED("false"), COLOURED("true")},
};
