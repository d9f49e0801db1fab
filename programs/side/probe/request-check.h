/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_REQUEST_CHECK_H
#define PROGRAMS_SIDE_PROBE_REQUEST_CHECK_H

struct ask;
struct json_object;
struct parsed;
struct probe_target;

/*
 * Programs in the control modes sync and signal have no thread of ours. They notice a change of
 * probes only where they may wait: when they start, at one of their events (signal), or when `side
 * attach` makes them check their sessions.
 */

/*
 * Get an array of the selected programs in such a mode; the caller puts it. Returns 0 or an exit
 * status, after printing a message.
 */
int probe_modes(struct ask *ask, const struct probe_target *target, struct json_object **ret_modes);
/*
 * Make these programs check their sessions, and replace their entries in the answer to the request
 * (NULL: no answer). Returns 0 or an exit status, after printing a message with process, mode and
 * hint.
 */
int probe_check(const struct parsed *parsed, struct ask *ask, const char *session,
		struct json_object *modes, struct json_object *answer);

#endif /* PROGRAMS_SIDE_PROBE_REQUEST_CHECK_H */
