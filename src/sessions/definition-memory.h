/* SPDX-License-Identifier: MIT */
/* Creates and frees definitions and their parts. */
#ifndef SIDE_SESSIONS_DEFINITION_MEMORY_H
#define SIDE_SESSIONS_DEFINITION_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "sessions/definition-types.h"

/*
 * True for 1 to DEFINITION_NAME_MAX bytes of letters, digits, "_", "." and "-" that do not begin
 * with "." or "-".
 */
bool definition_is_name(const char *name);

/*
 * Creates a definition without channels. Returns 0, or a negative errno with *error filled in.
 */
int definition_create(const char *name, struct definition **ret_definition, struct error *error);
void definition_free(struct definition *definition);

/* Free the content of a part, which the caller then removes from its array. */
void definition_rule_free(struct definition_rule *rule);
void definition_channel_free(struct definition_channel *channel);
void definition_probe_free(struct definition_probe *probe);

/* Returns NULL if the definition has no channel of that name. */
struct definition_channel *definition_find_channel(
		const struct definition *definition, const char *name);

/* Append an empty element. Return NULL if out of memory. */
struct definition_channel *definition_add_channel(struct definition *definition, const char *name);
struct definition_rule *definition_add_rule(struct definition_channel *channel);
struct definition_track *definition_add_track(struct definition *definition);
/* Returns NULL with *error filled in if out of memory, or if there are too many probes. */
struct definition_probe *definition_add_probe(struct definition *definition, struct error *error);

void definition_remove_rule(struct definition_channel *channel, size_t index);

#endif /* SIDE_SESSIONS_DEFINITION_MEMORY_H */
