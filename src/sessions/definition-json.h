/* SPDX-License-Identifier: MIT */
/* Converts a definition from and to JSON, in the form of docs/spec/control-protocol.md. */
#ifndef SIDE_SESSIONS_DEFINITION_JSON_H
#define SIDE_SESSIONS_DEFINITION_JSON_H

#include <stdbool.h>

#include "base/error.h"
#include "sessions/definition-types.h"

struct json_object;

/* Functions that read return 0, or a negative errno with *error filled in. */

int definition_parse(
		struct json_object *json, struct definition **ret_definition, struct error *error);
/* Returns an object that the caller puts, or NULL if out of memory. */
struct json_object *definition_json(const struct definition *definition);

/* Parts that requests also contain. */
int definition_read_settings(
		struct definition *definition, struct json_object *json, struct error *error);
int definition_read_rings(
		struct definition_channel *channel, struct json_object *json, struct error *error);

/* Names of enum definition_track_kind, in its order, terminated by NULL. */
extern const char *const definition_track_names[];
/* True if the kind has a number; else it has a glob. */
bool definition_track_is_number(enum definition_track_kind kind);

#endif /* SIDE_SESSIONS_DEFINITION_JSON_H */
