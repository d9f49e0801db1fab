/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_DEFINITION_H
#define SIDE_SESSIONS_DEFINITION_H

/*
 * The definition of a session as data: its channels and rules, the processes that it tracks, the
 * directory of its traces. The daemon stores it in a file and sends it to the process that records;
 * `side save` and `side load` print and read it. docs/spec/control-protocol.md describes its JSON
 * form; members have the names of the command line's options.
 *
 *     definition_parse() -> definition_options() -> session_open()
 *
 * Input is not trusted: definition_parse() and the functions that change a definition accept
 * exactly what a session would accept, and change nothing on an error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessions/definition-types.h"
#include "base/error.h"

struct json_object;

/* Default limit of local files in a directory that the daemon has chosen only for sending. */
#define DEFINITION_SPOOL_STANDARD (UINT64_C(1) << 30)
#define DEFINITION_SEND_TIMEOUT_STANDARD_NS UINT64_C(60000000000)

/* True if local traces are kept only until they are sent. */
static inline bool definition_is_spooled(const struct definition *definition)
{
	return definition->to && !definition->output;
}

/*
 * True for 1 to DEFINITION_NAME_MAX bytes of letters, digits, "_", "." and "-" that do not begin
 * with "." or "-".
 */
bool definition_is_name(const char *name);

/* All of these functions return 0, or a negative errno with *error filled in. */

/* Creates a definition without channels. */
int definition_create(const char *name, struct definition **definition, struct error *error);
void definition_free(struct definition *definition);
int definition_copy(const struct definition *from, struct definition **to, struct error *error);

/*
 * Convert from and to JSON. definition_json() returns an object that the caller puts, or NULL if
 * out of memory.
 */
int definition_parse(struct json_object *json, struct definition **definition, struct error *error);
struct json_object *definition_json(const struct definition *definition);
/* The same for one of its probes. */
struct json_object *definition_probe_json(const struct definition_probe *probe);

/*
 * Checks that a session would accept the whole definition: patterns, filters, contexts, sizes,
 * number of rules. Uses the same code as the start of `side record`.
 */
int definition_check(const struct definition *definition, struct error *error);

/* Converts a session's error. Returns error->code. */
int definition_session_error(const struct session_error *from, struct error *error);

/*
 * Applies a request to a definition. The request is JSON with the names of the command line's
 * options. `fixed`: the session has been started once, so its channels cannot be changed any more.
 *
 *     create           output format compress memory-limit huge-pages prefault symbols
 *                      rotate-size rotate-time retain-size retain-age retain-chunks trigger[]
 *                      to spool speed send-timeout
 *     enable-channel   channel mode buffer-size per-thread block-timeout context[] event[] filter
 *     disable-channel  channel                 the channel records nothing any more
 *     enable-event     channel event[] filter event-context[]
 *     disable-event    channel event[]         none: all events; also removes their probes
 *     enable-probe     as enable-event, and probe pid started exe; its table becomes last_table
 *     disable-probe    channel event[] pid     probes with matching events (only in process pid)
 *     add-context      channel context[] event[]
 *     track, untrack   pid[] uid[] gid[] name[] cgroup[] container[] exclude all
 *
 * The default channel is SESSION_CHANNEL_NAME; enable-event creates it if it does not exist. Sets
 * *changed to false if the definition is unchanged.
 */
int definition_change(struct definition *definition, const char *verb, struct json_object *request,
		bool fixed, bool *changed, struct error *error);
/* True if definition_change() handles this verb. */
bool definition_is_change(const char *verb);

/*
 * The form for the session library. Its pointers refer to *view and to the definition;
 * definition_view_free() frees `view`.
 */
struct definition_view {
	struct session_options options;
	struct session_channel *channels; /* options.channels */
	struct session_rule **rules;      /* of each channel */
};
int definition_options(const struct definition *definition, struct definition_view *view,
		struct error *error);
void definition_view_free(struct definition_view *view);

#endif
