/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_JSON_H
#define SIDE_SESSIONS_JSON_H

/*
 * Reading JSON that somebody else wrote: strictly, and with sentences. A sub-header of the room, and of
 * the daemon. A member that is not there leaves the value as it is.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessions/definition.h"
#include "sessions/error.h"

#define JSON_DEPTH_MAX 16
#define JSON_STRINGS_MAX 1024
#define JSON_WORD_MAX 16384 /* bytes of one text: a filter, a pattern, a path */

/* One object and nothing behind it. NULL with *error filled in. */
struct json_object *json_read(const char *text, size_t size, struct control_error *error);

/* The same of a text whose strings have been checked (text.h): json-parse.c. */
struct json_object *json_parse_text(const char *text, size_t size, struct control_error *error);

/* With another limit of nesting. ret_size: of the object; other bytes can be behind it. NULL: then none can. */
struct json_object *json_parse_deep(const char *text, size_t size, unsigned int depth,
		size_t *ret_size, struct control_error *error);

/* All of these: 0 or a negative errno with *error filled in. */

/* Has it only members with these names (ends with NULL)? `what` names it in the sentence. */
int json_only(struct json_object *object, const char *const *names, const char *what,
		struct control_error *error);
/* A text of 1 to JSON_WORD_MAX bytes without a NUL; it belongs to the object. */
int json_text(struct json_object *object, const char *name, const char **text,
		struct control_error *error);
int json_number(struct json_object *object, const char *name, uint64_t max, uint64_t *number,
		struct control_error *error);
int json_flag(struct json_object *object, const char *name, bool *flag,
		struct control_error *error);
/* One of these words (ends with NULL), by its index. */
int json_choice(struct json_object *object, const char *name, const char *const *choices,
		unsigned int *choice, struct control_error *error);
/* An array of texts, or one text alone; added to `strings`. */
int json_get_strings(struct json_object *object, const char *name,
		struct definition_strings *strings, struct control_error *error);
/* The array's object, or NULL when it is not there. */
int json_array(struct json_object *object, const char *name, size_t max, struct json_object **array,
		struct control_error *error);

/* Writing: false when out of memory. `value` is put in any case. */
bool json_put(struct json_object *object, const char *name, struct json_object *value);
bool json_put_text(struct json_object *object, const char *name, const char *text);
bool json_put_number(struct json_object *object, const char *name, uint64_t number);
bool json_put_flag(struct json_object *object, const char *name, bool flag);
bool json_put_strings(struct json_object *object, const char *name,
		const struct definition_strings *strings);

/* An answer that says what is wrong, or NULL. */
struct json_object *json_error(const struct control_error *error);
/* What an answer says is wrong: 0 when it says "ok", else negative with *error filled in. */
int json_answer(struct json_object *answer, struct control_error *error);

/* Texts. False: no memory, and nothing changed. */
bool strings_add(struct definition_strings *strings, const char *text);
bool strings_copy(struct definition_strings *to, const struct definition_strings *from);
bool strings_have(const struct definition_strings *strings, const char *text);
bool strings_same(const struct definition_strings *one, const struct definition_strings *other);
bool strings_remove(struct definition_strings *strings, const char *text);
void strings_free(struct definition_strings *strings);

#endif
