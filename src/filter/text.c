/* SPDX-License-Identifier: MIT */
/* Reads strings as UTF-8, compares them, and matches globs. */
#include <side/abi/type-description.h>

#include "filter/text.h"
#include "abi/visit.h"

void filter_read_begin(struct filter_reader *reader, const struct filter_value *string)
{
	static const char null[] = "(null)";

	reader->at = string->text;
	reader->left = string->size;
	reader->unit_size = string->unit_size;
	reader->byte_order = string->byte_order;
	reader->nr = 0;
	reader->next = 0;
	if (!string->text) {
		reader->at = (const uint8_t *)null;
		reader->left = FILTER_TERMINATED;
		reader->unit_size = 1;
	}
}

/* The unit at the reader's position, without moving it; 0: the end. */
static uint32_t peek_unit(const struct filter_reader *reader)
{
	unsigned int size = reader->unit_size, i;
	uint32_t unit = 0;

	if (reader->left != FILTER_TERMINATED && reader->left < size)
		return 0;
	for (i = 0; i < size; i++)
		unit = unit << 8 |
				reader->at[reader->byte_order == SIDE_TYPE_BYTE_ORDER_BE
								? i
								: size - 1 - i];
	return unit;
}

static void skip_unit(struct filter_reader *reader)
{
	reader->at += reader->unit_size;
	if (reader->left != FILTER_TERMINATED)
		reader->left -= reader->unit_size;
}

int filter_read_wide(struct filter_reader *reader)
{
	uint32_t unit, low;

	if (reader->next == reader->nr) {
		unit = peek_unit(reader);
		if (!unit)
			return -1;
		skip_unit(reader);
		if (reader->unit_size == 2 && (unit & 0xfc00) == 0xd800) {
			low = peek_unit(reader);
			if ((low & 0xfc00) == 0xdc00) {
				skip_unit(reader);
				unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
			}
		}
		reader->nr = (uint8_t)visit_utf8_encode(unit, reader->pending);
		reader->next = 0;
	}
	return reader->pending[reader->next++];
}
_Static_assert(sizeof(((struct filter_reader *)0)->pending) == VISIT_TEXT_UNIT_MAX, "room");

/* 8-bit text with a NUL behind it, the common case. */
static bool filter_text_is_plain(const struct filter_value *string)
{
	return string->unit_size == 1 && string->size == FILTER_TERMINATED && string->text;
}

bool filter_text_equals(const struct filter_value *wanted, const struct filter_value *string)
{
	const uint8_t *bytes = wanted->text, *at = string->text;
	size_t i;

	if (!filter_text_is_plain(string))
		return !filter_text_compare(wanted, string);
	for (i = 0; i < wanted->size; i++) {
		if (at[i] != bytes[i])
			return false;
	}
	return !at[i];
}

int filter_text_compare(const struct filter_value *a, const struct filter_value *b)
{
	struct filter_reader left, right;
	int x, y;

	filter_read_begin(&left, a);
	filter_read_begin(&right, b);
	do {
		x = filter_read(&left);
		y = filter_read(&right);
	} while (x == y && x >= 0);
	return x - y;
}

/* Skip the remainder of the character whose first byte was c. */
static void skip_character(struct filter_reader *reader, int c)
{
	struct filter_reader ahead;

	if (c < 0xc0)
		return;
	for (;;) {
		ahead = *reader;
		c = filter_read(&ahead);
		if (c < 0x80 || c >= 0xc0)
			return;
		*reader = ahead;
	}
}

bool filter_text_glob(const struct filter_value *pattern, const struct filter_value *string)
{
	const uint8_t *glob = pattern->text, *end = glob + pattern->size, *star = NULL;
	struct filter_reader text, mark;
	int c;

	filter_read_begin(&text, string);
	/* Up to the first wildcard no backtracking is possible. */
	for (; glob < end && *glob != '*' && *glob != '?' && *glob != '\\'; glob++) {
		c = filter_text_is_plain(string) ? *text.at++ : filter_read(&text);
		if (c != *glob)
			return false;
	}
	mark = text;
	for (;;) {
		if (glob < end && *glob == '*') {
			star = ++glob;
			if (glob == end)
				return true;
			mark = text;
			continue;
		}
		c = filter_read(&text);
		if (c < 0) /* a longer match of the star would leave even less */
			return glob == end;
		if (glob < end && *glob == '?') {
			skip_character(&text, c);
			glob++;
			continue;
		}
		if (glob < end && *(glob + (*glob == '\\')) == c) {
			glob += 1 + (*glob == '\\');
			continue;
		}
		if (!star)
			return false;
		/* Extend the match of the last star by one character. */
		skip_character(&mark, filter_read(&mark));
		text = mark;
		glob = star;
	}
}

uint64_t filter_text_length(const struct filter_value *string)
{
	struct filter_reader reader;
	uint64_t size = 0;

	filter_read_begin(&reader, string);
	while (filter_read(&reader) >= 0)
		size++;
	return size;
}
