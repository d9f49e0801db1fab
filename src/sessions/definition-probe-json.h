/* SPDX-License-Identifier: MIT */
/* Converts the probes of a definition from and to JSON. */
#ifndef SIDE_SESSIONS_DEFINITION_PROBE_JSON_H
#define SIDE_SESSIONS_DEFINITION_PROBE_JSON_H

#include <stdbool.h>

#include "base/error.h"
#include "sessions/definition-types.h"

/* Provider of an event name without a colon. */
#define DEFINITION_PROBE_PROVIDER "probe:"

struct json_object;

/* Both return 0, or a negative errno with *error filled in. */

/* Reads a probe of a definition, or of a request, which has no table. */
int definition_read_probe(
		struct definition_probe *probe, struct json_object *json, struct error *error);
/* Reads all probes of a definition whose channels have been read. */
int definition_read_probes(
		struct definition *definition, struct json_object *json, struct error *error);

/* Returns an object that the caller puts, or NULL if out of memory. */
struct json_object *definition_probe_json(const struct definition_probe *probe);
/* Adds all probes to the JSON of the definition. Returns false if out of memory. */
bool definition_put_probes(struct json_object *json, const struct definition *definition);

#endif /* SIDE_SESSIONS_DEFINITION_PROBE_JSON_H */
