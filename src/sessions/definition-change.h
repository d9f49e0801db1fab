/* SPDX-License-Identifier: MIT */
/* Applies requests to definitions. */
#ifndef SIDE_SESSIONS_DEFINITION_CHANGE_H
#define SIDE_SESSIONS_DEFINITION_CHANGE_H

#include <stdbool.h>

#include "base/error.h"
#include "sessions/definition-types.h"

struct json_object;

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
 * *ret_changed to false if the definition is unchanged. Returns 0, or a negative errno with *error
 * filled in.
 */
int definition_change(struct definition *definition, const char *verb, struct json_object *request,
		bool fixed, bool *ret_changed, struct error *error);
/* True if definition_change() handles this verb. */
bool definition_is_change(const char *verb);

#endif /* SIDE_SESSIONS_DEFINITION_CHANGE_H */
