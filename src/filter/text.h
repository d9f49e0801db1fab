/* SPDX-License-Identifier: MIT */
/* Strings of any encoding read as UTF-8 byte by byte, private to this room. */
#ifndef SIDE_FILTER_TEXT_H
#define SIDE_FILTER_TEXT_H

#include "filter/filter.h"

struct filter_reader {
	const uint8_t *at;
	size_t left; /* bytes, or FILTER_TERMINATED */
	uint8_t unit_size;
	uint8_t byte_order;
	uint8_t nr, next;   /* bytes of the character that is being given out */
	uint8_t pending[7]; /* its UTF-8 */
};

/* A NULL string reads as "(null)", as it is recorded. */
void filter_read_begin(struct filter_reader *reader, const struct filter_value *string);
/* The next unit of more than a byte. */
int filter_read_wide(struct filter_reader *reader);

/* The next byte, or -1 at the end. */
static inline int filter_read(struct filter_reader *reader)
{
	if (__builtin_expect(reader->unit_size != 1, 0))
		return filter_read_wide(reader);
	if (reader->left == FILTER_TERMINATED)
		return *reader->at ? *reader->at++ : -1;
	if (!reader->left)
		return -1;
	reader->left--;
	return *reader->at++;
}

/* Less than, equal to or greater than 0, byte by byte. */
int filter_text_compare(const struct filter_value *a, const struct filter_value *b);
/* Is it that text (sized UTF-8)? */
bool filter_text_equals(const struct filter_value *wanted, const struct filter_value *string);
/* Does the pattern (a glob with backslashes, ASCII or UTF-8, sized) match all of the string? */
bool filter_text_glob(const struct filter_value *pattern, const struct filter_value *string);
/* Bytes as UTF-8. */
uint64_t filter_text_length(const struct filter_value *string);

#endif /* SIDE_FILTER_TEXT_H */
