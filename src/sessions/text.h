/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_TEXT_H
#define SIDE_SESSIONS_TEXT_H

/*
 * JSON texts whose strings contain paths and names, which can be any bytes. A byte that is not
 * UTF-8 is written as \udcXX, a lone low surrogate, which no valid text contains (as Python's
 * surrogateescape does).
 */

#include <json-c/json.h>
#include <stddef.h>

struct control_text {
	const char *text; /* terminated by NUL */
	size_t size;
	char *made; /* NULL: the text belongs to the object */
};

/* Prints an object. Returns 0 or -ENOMEM. Adds JSON_C_TO_STRING_NOSLASHESCAPE to the flags. */
int control_text_print(struct json_object *object, int flags, struct control_text *ret_text);
void control_text_free(struct control_text *text);

/* Returns the offset of the first byte that is not UTF-8; `size` if there is none. */
size_t control_text_bad(const char *text, size_t size);

/* Replaces each \udcXX by its byte, in place. Returns the new size; a terminating NUL is kept. */
size_t control_text_restore(char *text, size_t size);

#endif
