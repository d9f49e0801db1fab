/* SPDX-License-Identifier: MIT */
/* Reads members of untrusted JSON and checks types before values, and writes members. */
#include "sessions/json.h"
#include "sessions/error.h"
#include "sessions/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int json_set_error(struct error *error, const char *format, const char *name)
		__attribute__((format(printf, 2, 0)));

static int json_set_error(struct error *error, const char *format, const char *name)
{
	char shown[64], text[256];

	snprintf(shown, sizeof(shown), "%.60s", name);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), format, shown);
#pragma GCC diagnostic pop
	return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL, "%s", text);
}

struct json_object *json_read(const char *text, size_t size, struct error *error)
{
	size_t bad = control_text_bad(text, size);
	struct json_object *object;
	char *copy;

	if (bad < size) {
		error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"this is not JSON: byte %zu: invalid utf-8 string", bad + 1);
		return NULL;
	}
	if (!memmem(text, size, "\\u", 2))
		return json_parse_text(text, size, error);
	copy = malloc(size + 1);
	if (!copy) {
		error_set_no_memory(error);
		return NULL;
	}
	memcpy(copy, text, size);
	copy[size] = '\0';
	object = json_parse_text(copy, control_text_restore(copy, size), error);
	free(copy);
	return object;
}

int json_only(struct json_object *object, const char *const *names, const char *what,
		struct error *error)
{
	json_object_object_foreach(object, name, value)
	{
		const char *const *known = names;

		(void)value;
		while (*known && strcmp(*known, name) != 0)
			known++;
		if (!*known)
			return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
					"%s has no member \"%.60s\"", what, name);
	}
	return 0;
}

/* Returns false if the member does not exist or is null. */
static bool member(struct json_object *object, const char *name, struct json_object **value)
{
	return json_object_object_get_ex(object, name, value) && *value;
}

static int json_get_string(struct json_object *value, const char *name, const char **ret_text,
		struct error *error)
{
	size_t size;

	if (!json_object_is_type(value, json_type_string))
		return json_set_error(error, "\"%s\" is not a text", name);
	*ret_text = json_object_get_string(value);
	size = (size_t)json_object_get_string_len(value);
	if (!size)
		return json_set_error(error, "\"%s\" is an empty text", name);
	if (size > JSON_WORD_MAX)
		return json_set_error(error, "\"%s\" is longer than 16 KiB", name);
	if (strlen(*ret_text) != size)
		return json_set_error(error, "\"%s\" contains a NUL", name);
	return 0;
}

int json_text(struct json_object *object, const char *name, const char **ret_text,
		struct error *error)
{
	struct json_object *value;

	return member(object, name, &value) ? json_get_string(value, name, ret_text, error) : 0;
}

int json_number(struct json_object *object, const char *name, uint64_t max, uint64_t *ret_number,
		struct error *error)
{
	struct json_object *value;

	if (!member(object, name, &value))
		return 0;
	/* json-c would return 0 for a negative number. */
	if (!json_object_is_type(value, json_type_int) ||
			(json_object_get_int64(value) < 0 && !json_object_get_uint64(value)))
		return json_set_error(error, "\"%s\" is not an integer of 0 or more", name);
	if (json_object_get_uint64(value) > max)
		return error_set_kind(error, ERROR_USAGE, -ERANGE, NULL,
				"\"%.60s\" is %" PRIu64 ", which is more than %" PRIu64, name,
				json_object_get_uint64(value), max);
	*ret_number = json_object_get_uint64(value);
	return 0;
}

int json_flag(struct json_object *object, const char *name, bool *ret_flag, struct error *error)
{
	struct json_object *value;

	if (!member(object, name, &value))
		return 0;
	if (!json_object_is_type(value, json_type_boolean))
		return json_set_error(error, "\"%s\" is neither true nor false", name);
	*ret_flag = json_object_get_boolean(value);
	return 0;
}

int json_choice(struct json_object *object, const char *name, const char *const *choices,
		unsigned int *ret_choice, struct error *error)
{
	const char *text = NULL;
	unsigned int i;
	int ret = json_text(object, name, &text, error);

	if (ret || !text)
		return ret;
	for (i = 0; choices[i]; i++) {
		if (strcmp(choices[i], text) != 0)
			continue;
		*ret_choice = i;
		return 0;
	}
	return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
			"\"%.60s\" is \"%.60s\", which is not one of its values (\"%s\", ...)",
			name, text, choices[0]);
}

int json_array(struct json_object *object, const char *name, size_t max,
		struct json_object **ret_array, struct error *error)
{
	*ret_array = NULL;
	if (!member(object, name, ret_array)) {
		*ret_array = NULL;
		return 0;
	}
	if (!json_object_is_type(*ret_array, json_type_array))
		return json_set_error(error, "\"%s\" is not an array", name);
	if (json_object_array_length(*ret_array) > max)
		return error_set_kind(error, ERROR_USAGE, -E2BIG, NULL,
				"\"%.60s\" has more than %zu elements", name, max);
	return 0;
}

int json_get_strings(struct json_object *object, const char *name,
		struct definition_strings *strings, struct error *error)
{
	struct json_object *value;
	const char *text = NULL;
	size_t i;
	int ret;

	if (!member(object, name, &value))
		return 0;
	if (json_object_is_type(value, json_type_string)) {
		ret = json_get_string(value, name, &text, error);
		if (!ret && (!text || !strings_add(strings, text)))
			ret = error_set_no_memory(error);
		return ret;
	}
	ret = json_array(object, name, JSON_STRINGS_MAX, &value, error);
	for (i = 0; !ret && i < json_object_array_length(value); i++) {
		ret = json_get_string(json_object_array_get_idx(value, i), name, &text, error);
		if (!ret && (!text || !strings_add(strings, text)))
			ret = error_set_no_memory(error);
	}
	return ret;
}

/* ---- writing ---- */

bool json_put(struct json_object *object, const char *name, struct json_object *value)
{
	if (value && object && !json_object_object_add(object, name, value))
		return true;
	json_object_put(value);
	return false;
}

bool json_put_text(struct json_object *object, const char *name, const char *text)
{
	return json_put(object, name, json_object_new_string(text));
}

bool json_put_number(struct json_object *object, const char *name, uint64_t number)
{
	return json_put(object, name, json_object_new_uint64(number));
}

bool json_put_flag(struct json_object *object, const char *name, bool flag)
{
	return json_put(object, name, json_object_new_boolean(flag));
}

bool json_put_strings(struct json_object *object, const char *name,
		const struct definition_strings *strings)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; array && i < strings->count; i++) {
		struct json_object *text = json_object_new_string(strings->items[i]);

		if (text && !json_object_array_add(array, text))
			continue;
		json_object_put(text);
		json_object_put(array);
		return false;
	}
	return json_put(object, name, array);
}

struct json_object *json_error(const struct error *error)
{
	struct json_object *answer = json_object_new_object();

	if (json_put_flag(answer, "ok", false) &&
			json_put_text(answer, "kind", control_kind_name(error->kind)) &&
			json_put_text(answer, "error", error->text) &&
			json_put_text(answer, "hint", error->hint) &&
			/* Its name in earlier releases: the next release does not send it. */
			json_put_text(answer, "mend", error->hint) &&
			(!*error->input ||
					(json_put_text(answer, "where", error->input) &&
							json_put_number(answer, "column",
									error->column))))
		return answer;
	json_object_put(answer);
	return NULL;
}

static const char *json_get_text(struct json_object *object, const char *name)
{
	struct json_object *value;

	return member(object, name, &value) ? json_object_get_string(value) : "";
}

int json_answer(struct json_object *answer, struct error *error)
{
	struct json_object *value;

	if (member(answer, "ok", &value) && json_object_get_boolean(value))
		return 0;
	/* A daemon of an earlier release has "mend" only. */
	error_set_kind(error, control_kind_of(json_get_text(answer, "kind")), -EREMOTEIO,
			json_get_text(answer, member(answer, "hint", &value) ? "hint" : "mend"),
			"%s", json_get_text(answer, "error"));
	error_set_position(error, json_get_text(answer, "where"), 0,
			member(answer, "column", &value) ? (unsigned int)json_object_get_int(value)
							 : 0);
	return error->code;
}
