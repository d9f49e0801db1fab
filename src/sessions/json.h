/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_JSON_H
#define SIDE_SESSIONS_JSON_H

/*
 * Reads and writes JSON; the reader does not trust its input and reports each error as a sentence.
 * A missing member leaves the value unchanged.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "sessions/strings.h"

#define JSON_DEPTH_MAX 16
#define JSON_STRINGS_MAX 1024
#define JSON_WORD_MAX 16384 /* maximum bytes of one text: a filter, a pattern, a path */

/* Parses one object with nothing after it. Returns NULL with *error filled in on failure. */
struct json_object *json_read(const char *text, size_t size, struct error *error);

/* The same for a text whose strings have been checked (text.h). In json-parse.c. */
struct json_object *json_parse_text(const char *text, size_t size, struct error *error);

/*
 * The same with another limit of nesting. ret_size: bytes of the object; other bytes can follow it.
 * NULL: none may follow.
 */
struct json_object *json_parse_deep(const char *text, size_t size, unsigned int depth,
		size_t *ret_size, struct error *error);

/* All of these functions return 0, or a negative errno with *error filled in. */

/*
 * Checks that the object has only members with these names (terminated by NULL). `what` names the
 * object in the error.
 */
int json_only(struct json_object *object, const char *const *names, const char *what,
		struct error *error);
/* Gets a text of 1 to JSON_WORD_MAX bytes without a NUL; it belongs to the object. */
int json_text(struct json_object *object, const char *name, const char **ret_text,
		struct error *error);
int json_number(struct json_object *object, const char *name, uint64_t max, uint64_t *ret_number,
		struct error *error);
int json_flag(struct json_object *object, const char *name, bool *ret_flag, struct error *error);
/* Gets the index of one of these words (terminated by NULL). */
int json_choice(struct json_object *object, const char *name, const char *const *choices,
		unsigned int *ret_choice, struct error *error);
/* Adds the texts of an array, or a single text, to `strings`. */
int json_get_strings(struct json_object *object, const char *name,
		struct definition_strings *strings, struct error *error);
/* Gets an array, or NULL if it does not exist. */
int json_array(struct json_object *object, const char *name, size_t max,
		struct json_object **ret_array, struct error *error);

/*
 * Writing. These functions return false if out of memory. They take ownership of `value` in any
 * case.
 */
bool json_put(struct json_object *object, const char *name, struct json_object *value);
bool json_put_text(struct json_object *object, const char *name, const char *text);
bool json_put_number(struct json_object *object, const char *name, uint64_t number);
bool json_put_flag(struct json_object *object, const char *name, bool flag);
bool json_put_strings(struct json_object *object, const char *name,
		const struct definition_strings *strings);

/* Returns an answer that contains the error, or NULL if out of memory. */
struct json_object *json_error(const struct error *error);
/* Returns 0 if an answer has "ok", else a negative errno with *error filled in from the answer. */
int json_answer(struct json_object *answer, struct error *error);

#endif
