/* SPDX-License-Identifier: MIT */
/* Writes and reads JSON texts with strings of any bytes: escapes bytes that are not UTF-8. */
#include "sessions/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/utf8.h"

#define ESCAPE_SIZE 6 /* \udcXX */

size_t control_text_bad(const char *text, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t at = 0, length;

	while (at < size && (length = utf8_length(bytes + at, size - at)))
		at += length;
	return at;
}

int control_text_print(struct json_object *object, int flags, struct control_text *ret_text)
{
	size_t size = 0, at, bad = 0, used = 0;
	const char *text;

	/*
	 * If an allocation fails, json-c omits a part of the text and reports success, so check
	 * errno.
	 */
	errno = 0;
	text = json_object_to_json_string_length(
			object, flags | JSON_C_TO_STRING_NOSLASHESCAPE, &size);
	*ret_text = (struct control_text){.text = text, .size = size};
	if (!text || errno == ENOMEM)
		return -ENOMEM;
	at = control_text_bad(text, size);
	if (at == size)
		return 0;
	for (size_t from = at; from < size;
			from += 1 + control_text_bad(text + from + 1, size - from - 1))
		bad++;
	ret_text->made = malloc(size + bad * (ESCAPE_SIZE - 1) + 1);
	if (!ret_text->made)
		return -ENOMEM;
	for (size_t from = 0; from <= size; from += at + 1) {
		at = control_text_bad(text + from, size - from);
		memcpy(ret_text->made + used, text + from, at);
		used += at;
		if (from + at < size)
			used += (size_t)sprintf(ret_text->made + used, "\\udc%02x",
					(unsigned char)text[from + at]);
	}
	ret_text->made[used] = '\0';
	ret_text->text = ret_text->made;
	ret_text->size = used;
	return 0;
}

void control_text_free(struct control_text *text)
{
	free(text->made);
	text->made = NULL;
}

static int text_digit(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	character |= 0x20;
	return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

/* Returns the number of the escape \uXXXX at the beginning of the text, or -1. */
static int text_escape(const char *text, size_t size)
{
	int number = 0;

	if (size < ESCAPE_SIZE || text[1] != 'u')
		return -1;
	for (int i = 2; i < ESCAPE_SIZE; i++) {
		int digit = text_digit(text[i]);

		if (digit < 0)
			return -1;
		number = number << 4 | digit;
	}
	return number;
}

size_t control_text_restore(char *text, size_t size)
{
	/* The previous escape begins a pair, and the next one can be its other half. */
	bool is_high = false;
	size_t from = 0, used = 0;

	while (from < size) {
		bool was_high = is_high;
		size_t length = 1;
		int number;

		is_high = false;
		if (text[from] == '\\') {
			number = text_escape(text + from, size - from);
			length = number >= 0 ? ESCAPE_SIZE : size - from < 2 ? 1 : 2;
			is_high = number >> 10 == 0xd800 >> 10;
			if (!was_high && number >= 0xdc80 && number <= 0xdcff) {
				text[used++] = (char)(number & 0xff);
				from += length;
				continue;
			}
		}
		memmove(text + used, text + from, length);
		used += length;
		from += length;
	}
	if (used < size)
		text[used] = '\0';
	return used;
}
