/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_PARTS_H
#define SIDE_SESSIONS_PARTS_H

/*
 * Functions shared by the files of this module. Private to it.
 *
 *     error.c              errors as sentences
 *     json.c               reads and writes members
 *     json-parse.c         parses JSON
 *     text.c               JSON texts with strings of any bytes
 *     definition.c         creates and frees definitions, converts them for the session library
 *     definition-json.c    converts from and to JSON
 *     definition-change.c  applies a request
 *     definition-probe.c   reads, writes and changes the probes
 *     frame.c              messages over a socket
 *     client.c             connects to the daemon and sends requests
 *     boot.c               converts the configuration of early boot
 *     rendezvous.c         sockets in the root directories and networks of other programs
 */

#include "sessions/definition-types.h"
#include "sessions/json.h"

void definition_rule_free(struct definition_rule *rule);
void definition_channel_free(struct definition_channel *channel);

/* definition-json.c: parts that requests also contain. */
int definition_read_settings(
		struct definition *definition, struct json_object *json, struct error *error);
int definition_read_rings(
		struct definition_channel *channel, struct json_object *json, struct error *error);
/* Names of enum definition_track_kind, in its order, terminated by NULL. */
extern const char *const definition_track_names[];
/* True if the kind has a number; else it has a glob. */
bool definition_track_is_number(enum definition_track_kind kind);

/* Append an empty element. Return NULL if out of memory. */
struct definition_channel *definition_add_channel(struct definition *definition, const char *name);
struct definition_rule *definition_add_rule(struct definition_channel *channel);
struct definition_track *definition_add_track(struct definition *definition);

/* A request while it is applied. */
struct definition_edit {
	struct definition *definition; /* the copy that is changed */
	struct json_object *request;
	bool fixed;
	bool changed;
	struct error *error;
};

/*
 * Gets the channel that the request names. Returns 0, or a negative errno with change->error filled
 * in.
 */
int change_get_channel(struct definition_edit *change, struct definition_channel **channel);
/* Applies enable-event: gets the channel, or creates it if permitted, and adds a rule. */
int change_enable_rule(struct definition_edit *change, struct definition_channel **channel);
void change_remove_rule(struct definition_channel *channel, size_t index);

/* definition-probe.c */
void definition_probes_free(struct definition *definition);
int definition_read_probes(
		struct definition *definition, struct json_object *json, struct error *error);
bool definition_put_probes(struct json_object *json, const struct definition *definition);
int change_enable_probe(struct definition_edit *change);
int change_disable_probe(struct definition_edit *change);
/*
 * Removes the channel's probes whose events match the pattern, with the rules for these events.
 * Sets *named if the pattern is the name of one of these events; then nothing else must be
 * disabled.
 */
int change_drop_probes(struct definition_edit *change, const struct definition_channel *channel,
		const char *pattern, bool *named);
/* Removes all probes of a channel that is disabled. */
void change_drop_all_probes(
		struct definition_edit *change, const struct definition_channel *channel);

#endif
