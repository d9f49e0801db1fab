/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_REQUEST_CHECK_H
#define PROGRAMS_SIDE_PROBE_REQUEST_CHECK_H

struct ask;
struct json_object;
struct parsed;
struct probe_target;

/*
 * Programs that no thread of ours is in, in control mode sync or signal, hear of probes where they may wait: when they
 * start, at an event of their own (signal), or when somebody attaches and makes them look.
 */

/* Those among the programs that are meant: an array to be put. 0 or an exit status: said. */
int probe_modes(struct ask *ask, const struct probe_target *target, struct json_object **modes);
/*
 * Makes them look, and puts what they say into the answer to the request, in place of what it had of them (NULL: there is
 * none). 0 or an exit status: said, with process, mode and mend.
 */
int probe_check(const struct parsed *parsed, struct ask *ask, const char *session,
		struct json_object *modes, struct json_object *answer);

#endif /* SIDE_CMD_PROBE_LOOK_H */
