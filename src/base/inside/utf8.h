/* SPDX-License-Identifier: MIT */
/* Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef SIDE_BASE_INSIDE_UTF8_H
#define SIDE_BASE_INSIDE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_LENGTH_MAX 4 /* bytes of a character */

/*
 * Number of bytes of the character that the text begins with; 0 if it is not well-formed or cut.
 * `left` is at least 1.
 */
static inline unsigned int utf8_length(const unsigned char *text, size_t left)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = text[0];
	unsigned int length = first < 0x80 ? 1
			: first < 0xc2     ? 0
			: first < 0xe0     ? 2
			: first < 0xf0     ? 3
			: first < 0xf5     ? 4
					   : 0;
	uint32_t character;

	if (length < 2)
		return length;
	if (length > left)
		return 0;
	character = first & (0x7fu >> length);
	for (unsigned int i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3fu);
	}
	return character < least[length] || character > 0x10ffff || character >> 11 == 0xd800 >> 11
			? 0
			: length;
}

/*
 * True if a terminal obeys the character instead of showing it: control characters, the separators
 * of lines and paragraphs, and the characters that change the direction of the text (Unicode
 * Standard Annex 9). `length` is what utf8_length() returned, and not 0.
 */
static inline bool utf8_is_control(const unsigned char *text, unsigned int length)
{
	if (length == 1)
		return text[0] < 0x20 || text[0] == 0x7f;
	if (length == 2) /* U+0080 to U+009F, U+061C */
		return (text[0] == 0xc2 && text[1] < 0xa0) || (text[0] == 0xd8 && text[1] == 0x9c);
	if (length != 3 || text[0] != 0xe2)
		return false;
	if (text[1] == 0x80) /* U+200E, U+200F, U+2028 to U+202E */
		return (text[2] | 1) == 0x8f || (text[2] >= 0xa8 && text[2] <= 0xae);
	return text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9; /* U+2066 to U+2069 */
}

#endif /* SIDE_BASE_INSIDE_UTF8_H */
