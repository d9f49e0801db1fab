/* SPDX-License-Identifier: MIT */
#ifndef CONTROL_PARTS_H
#define CONTROL_PARTS_H

/*
 * What the files of the room share. Private to it.
 *
 *	error.c              sentences
 *	json.c               reading and writing members
 *	definition.c         life of a definition, its form for the session library
 *	definition-json.c    from and to JSON
 *	definition-change.c  what a request changes
 *	frame.c              messages over a socket
 *	client.c             asking the daemon
 */

#include "control/json.h"

void definition_rule_free(struct definition_rule *rule);
void definition_channel_free(struct definition_channel *channel);

/* definition-json.c: parts of it that requests have, too. */
int definition_read_settings(struct definition *definition, struct json_object *json,
		struct control_error *error);
int definition_read_rings(struct definition_channel *channel, struct json_object *json,
		struct control_error *error);
/* The names of kinds of tracking, in their order, ends with NULL. */
extern const char *const definition_track_words[];
/* Is it a number? Else a glob. */
bool definition_track_is_number(enum definition_track_kind kind);

/* An empty one at the end, or NULL: no memory. */
struct definition_channel *definition_add_channel(struct definition *definition, const char *name);
struct definition_rule *definition_add_rule(struct definition_channel *channel);
struct definition_track *definition_add_track(struct definition *definition);

#endif
