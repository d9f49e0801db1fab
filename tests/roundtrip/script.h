/* SPDX-License-Identifier: MIT */
#ifndef TESTS_ROUNDTRIP_SCRIPT_H
#define TESTS_ROUNDTRIP_SCRIPT_H

/*
 * A script (script.py) defines events and the bytes with which they are fired. The C code only puts
 * these bytes where the ABI requires them: their meaning is computed by the Python code only.
 */
#include <json-c/json.h>
#include <stdbool.h>

#include "make.h"

/* Returns a member; if it is missing, the program ends. */
struct json_object *script_get(struct json_object *object, const char *key);
int64_t script_number(struct json_object *object, const char *key);
bool script_flag(struct json_object *object, const char *key);
uint32_t script_count(struct json_object *list);
struct json_object *script_at(struct json_object *list, uint32_t index);

/* Returns memory of exactly the bytes that the hexadecimal digits mean; NULL for null. */
void *script_hex(struct json_object *digits, size_t *size);

struct make_attributes script_attributes(struct json_object *list);
struct side_event_description *script_event(struct json_object *event);

struct side_arg_vec *script_arguments(struct json_object *event, struct json_object *firing);
struct side_arg_dynamic_struct *script_variadic(struct json_object *firing);

/* For static visitors, which have their function in the description. */
enum side_visitor_status script_visit(
		const struct side_tracer_visitor_ctx *context, void *app_context);

#endif /* TESTS_ROUNDTRIP_SCRIPT_H */
