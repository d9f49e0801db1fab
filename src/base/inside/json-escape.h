/* SPDX-License-Identifier: MIT */
/*
 * Strings of JSON: which bytes need no escape, and the escapes of the others.
 *
 * A byte that is not UTF-8 becomes the character of the same number (U+0080 to U+00FF).
 */
#ifndef SIDE_BASE_INSIDE_JSON_ESCAPE_H
#define SIDE_BASE_INSIDE_JSON_ESCAPE_H

#include <stdbool.h>

#include "base/inside/utf8.h"

#define JSON_ESCAPE_BYTES 6 /* \uXXXX */

enum json_escape_flags {
	/* Escape all characters that a terminal obeys: utf8_is_control(). */
	JSON_ESCAPE_CONTROLS = 1,
	/* Write the end of a line as \n, not as \u000a. */
	JSON_ESCAPE_NEWLINE_SHORT = 2,
};

/*
 * Number of bytes at the beginning of the text that need no escape. Most texts are printable ASCII:
 * a comparison for each byte.
 */
static inline size_t json_plain(const char *text, size_t size, unsigned int flags)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t at = 0;

	while (at < size) {
		unsigned char byte = bytes[at];
		unsigned int length = 1;

		if (byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\')
			break;
		if (byte >= 0x80) {
			length = utf8_length(bytes + at, size - at);
			if (!length ||
					((flags & JSON_ESCAPE_CONTROLS) &&
							utf8_is_control(bytes + at, length)))
				break;
		}
		at += length;
	}
	return at;
}

/* The character of that length (1 to 3). */
static inline unsigned int json_character(const unsigned char *text, unsigned int length)
{
	if (length == 1)
		return text[0];
	if (length == 2)
		return (text[0] & 0x1fu) << 6 | (text[1] & 0x3fu);
	return (text[0] & 0xfu) << 12 | (text[1] & 0x3fu) << 6 | (text[2] & 0x3fu);
}

/*
 * Escape the character that the text begins with, for which json_plain() returned 0. Returns how
 * many bytes of the text the escape stands for. `left` is at least 1.
 */
static inline size_t json_escape(const char *text, size_t left, unsigned int flags,
		char ret_escape[JSON_ESCAPE_BYTES], size_t *ret_length)
{
	const unsigned char *bytes = (const unsigned char *)text;
	unsigned int length = (flags & JSON_ESCAPE_CONTROLS) ? utf8_length(bytes, left) : 1;
	unsigned int number;

	/* A byte that is not UTF-8 becomes the character of the same number. */
	if (!length || !utf8_is_control(bytes, length))
		length = 1;
	number = json_character(bytes, length);
	ret_escape[0] = '\\';
	*ret_length = 2;
	if (number == '"' || number == '\\') {
		ret_escape[1] = (char)number;
	} else if (number == '\n' && (flags & JSON_ESCAPE_NEWLINE_SHORT)) {
		ret_escape[1] = 'n';
	} else {
		ret_escape[1] = 'u';
		for (int i = 0; i < 4; i++)
			ret_escape[2 + i] = "0123456789abcdef"[number >> (12 - 4 * i) & 15];
		*ret_length = JSON_ESCAPE_BYTES;
	}
	return length;
}

/* Receives bytes of a string. */
typedef void json_put_fn(void *user, const char *bytes, size_t size);

/* Write a text with its escapes, without the quotes, in pieces that are not empty. */
static inline void json_escape_text(
		const char *text, size_t size, unsigned int flags, json_put_fn *put, void *user)
{
	while (size) {
		size_t used = json_plain(text, size, flags), length;
		char escape[JSON_ESCAPE_BYTES];

		if (used) {
			put(user, text, used);
		} else {
			used = json_escape(text, size, flags, escape, &length);
			put(user, escape, length);
		}
		text += used;
		size -= used;
	}
}

#endif /* SIDE_BASE_INSIDE_JSON_ESCAPE_H */
