/* SPDX-License-Identifier: MIT */
/*
 * Makes JSON members and lists fail for lack of memory: the test arms a number, and the call with
 * that number fails. A test includes this header once and is linked with `failing_json` of
 * meson.build.
 */
#ifndef TESTS_SIDED_FAILING_JSON_H
#define TESTS_SIDED_FAILING_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "sessions/json.h"

static unsigned int failing_json; /* 0: no call fails */

static inline bool failing_json_is_due(void)
{
	return failing_json && !--failing_json;
}

#define FAILING_JSON(type, name, ...)    \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

FAILING_JSON(struct json_object *, json_object_new_object, void);
FAILING_JSON(struct json_object *, json_object_new_array, void);
FAILING_JSON(int, json_object_array_add, struct json_object *list, struct json_object *value);
FAILING_JSON(bool, json_put, struct json_object *object, const char *name,
		struct json_object *value);
FAILING_JSON(bool, json_put_text, struct json_object *object, const char *name, const char *text);
FAILING_JSON(bool, json_put_number, struct json_object *object, const char *name, uint64_t number);
FAILING_JSON(bool, json_put_flag, struct json_object *object, const char *name, bool flag);

struct json_object *__wrap_json_object_new_object(void)
{
	return failing_json_is_due() ? NULL : __real_json_object_new_object();
}

struct json_object *__wrap_json_object_new_array(void)
{
	return failing_json_is_due() ? NULL : __real_json_object_new_array();
}

int __wrap_json_object_array_add(struct json_object *list, struct json_object *value)
{
	return failing_json_is_due() ? -1 : __real_json_object_array_add(list, value);
}

bool __wrap_json_put(struct json_object *object, const char *name, struct json_object *value)
{
	if (!failing_json_is_due())
		return __real_json_put(object, name, value);
	/* The function takes ownership of the value even if it fails. */
	json_object_put(value);
	return false;
}

bool __wrap_json_put_text(struct json_object *object, const char *name, const char *text)
{
	return !failing_json_is_due() && __real_json_put_text(object, name, text);
}

bool __wrap_json_put_number(struct json_object *object, const char *name, uint64_t number)
{
	return !failing_json_is_due() && __real_json_put_number(object, name, number);
}

bool __wrap_json_put_flag(struct json_object *object, const char *name, bool flag)
{
	return !failing_json_is_due() && __real_json_put_flag(object, name, flag);
}

#endif /* TESTS_SIDED_FAILING_JSON_H */
