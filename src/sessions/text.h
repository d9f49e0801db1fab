/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_TEXT_H
#define SIDE_SESSIONS_TEXT_H

/*
 * JSON texts whose strings hold paths and names, which may be any bytes. A byte that is no UTF-8 is written as \udcXX, a
 * lone low surrogate, which no other text has (Python's surrogateescape reads and writes the same).
 */

#include <json-c/json.h>
#include <stddef.h>

struct control_text {
	const char *text; /* ends with NUL */
	size_t size;
	char *made; /* NULL: the text belongs to the object */
};

/* 0 or -ENOMEM. JSON_C_TO_STRING_NOSLASHESCAPE is added to the flags. */
int control_text_print(struct json_object *object, int flags, struct control_text *ret_text);
void control_text_free(struct control_text *text);

/* Bytes of the UTF-8 character that begins the text, 0 if it is none. Overlong forms and surrogates are none. Of a text that ends with a NUL: CONTROL_TEXT_CHARACTER_MAX. */
#define CONTROL_TEXT_CHARACTER_MAX 4
size_t control_text_character(const unsigned char *text, size_t size);

/* The first byte that is no UTF-8; `size`: there is none. */
size_t control_text_bad(const char *text, size_t size);

/* In place: each \udcXX becomes its byte. The size afterwards; the text ends with NUL if it did before. */
size_t control_text_restore(char *text, size_t size);

#endif /* SIDE_SESSIONS_TEXT_H */
