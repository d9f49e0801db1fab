/* SPDX-License-Identifier: MIT */
/* Reads strings of any encoding as UTF-8, byte by byte; private to this module. */
#ifndef SIDE_FILTER_TEXT_H
#define SIDE_FILTER_TEXT_H

#include "filter/filter.h"

struct filter_reader {
	const uint8_t *at;
	size_t left; /* bytes, or FILTER_TERMINATED */
	uint8_t unit_size;
	uint8_t byte_order;
	uint8_t nr, next;   /* bytes of the current character, and the next one to return */
	uint8_t pending[7]; /* its UTF-8 */
};

/* Start reading. A NULL string reads as "(null)", as it is recorded. */
void filter_read_begin(struct filter_reader *reader, const struct filter_value *string);
/* The next byte of a string whose unit size is not 1. */
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

/* Compare byte by byte: less than, equal to or greater than 0. */
int filter_text_compare(const struct filter_value *a, const struct filter_value *b);
/* True if the string equals the text (sized UTF-8). */
bool filter_text_equals(const struct filter_value *wanted, const struct filter_value *string);
/* True if the pattern (a glob with backslashes, ASCII or UTF-8, sized) matches all of the
   string. */
bool filter_text_glob(const struct filter_value *pattern, const struct filter_value *string);
/* Length in bytes of UTF-8. */
uint64_t filter_text_length(const struct filter_value *string);

#endif /* SIDE_FILTER_TEXT_H */
