/* SPDX-License-Identifier: MIT */
/*
 * Counts the JSON objects that the code under test makes and puts. A test includes this header
 * before that code, and compares the number of remaining objects. tests/resources-at-exit.c does
 * not count objects that json-c allocates.
 */
#ifndef TESTS_COUNTED_JSON_H
#define TESTS_COUNTED_JSON_H

#include "sessions/client.h"
#include "sessions/json.h"

#include <json-c/json.h>

static int nr_objects;

static inline struct json_object *counted_made(struct json_object *object)
{
	nr_objects += object != NULL;
	return object;
}

static inline int counted_put(struct json_object *object)
{
	nr_objects -= object != NULL;
	return json_object_put(object);
}

/* Objects that belong to no other one. */
#define control_request(...) counted_made(control_request(__VA_ARGS__))
#define json_parse_deep(...) counted_made(json_parse_deep(__VA_ARGS__))
#define json_tokener_parse(text) counted_made(json_tokener_parse(text))
#define json_object_new_object() counted_made(json_object_new_object())
#define json_object_put(object) counted_put(object)

#endif /* TESTS_COUNTED_JSON_H */
