/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_PARTS_H
#define SIDE_SESSIONS_PARTS_H

/*
 * What the files of the room share. Private to it.
 *
 *	error.c              sentences
 *	json.c               reading and writing members
 *	definition.c         life of a definition, its form for the session library
 *	definition-json.c    from and to JSON
 *	definition-change.c  what a request changes
 *	definition-probe.c   probes of it: read, written, changed
 *	frame.c              messages over a socket
 *	client.c             asking the daemon
 *	door.c               sockets where programs of other roots see them
 */

#include "sessions/json.h"

void definition_rule_free(struct definition_rule *rule);
void definition_channel_free(struct definition_channel *channel);

/* definition-json.c: parts of it that requests have, too. */
int definition_read_settings(struct definition *definition, struct json_object *json,
		struct control_error *error);
int definition_read_rings(struct definition_channel *channel, struct json_object *json,
		struct control_error *error);
/* The names of kinds of tracking, in their order, ends with NULL. */
extern const char *const definition_track_names[];
/* Is it a number? Else a glob. */
bool definition_track_is_number(enum definition_track_kind kind);

/* An empty one at the end, or NULL: no memory. */
struct definition_channel *definition_add_channel(struct definition *definition, const char *name);
struct definition_rule *definition_add_rule(struct definition_channel *channel);
struct definition_track *definition_add_track(struct definition *definition);

/* A request while it is being dealt with. */
struct definition_edit {
	struct definition *definition; /* the copy */
	struct json_object *request;
	bool fixed;
	bool changed;
	struct control_error *error;
};

/* The channel that the request means, or an error. */
int change_get_channel(struct definition_edit *change, struct definition_channel **channel);
/* As enable-event does it: the channel, which is made where that may be, with one more rule. */
int change_enable_rule(struct definition_edit *change, struct definition_channel **channel);
void change_remove_rule(struct definition_channel *channel, size_t index);

/* definition-probe.c */
void definition_probes_free(struct definition *definition);
int definition_read_probes(struct definition *definition, struct json_object *json,
		struct control_error *error);
bool definition_put_probes(struct json_object *json, const struct definition *definition);
int change_enable_probe(struct definition_edit *change);
int change_disable_probe(struct definition_edit *change);
/*
 * Probes of the channel whose events this pattern matches go, and what rules say of them. *named: the
 * pattern is the name of one of these events, and there is nothing else to be disabled.
 */
int change_drop_probes(struct definition_edit *change, const struct definition_channel *channel,
		const char *pattern, bool *named);
/* All of the channel, which records nothing any more. */
void change_drop_all_probes(
		struct definition_edit *change, const struct definition_channel *channel);

#endif
