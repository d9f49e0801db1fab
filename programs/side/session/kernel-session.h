/* SPDX-License-Identifier: MIT */
/* The kernel's events in sessions: how `side` starts and asks the program side-kernel, which records them. */
#ifndef PROGRAMS_SIDE_SESSION_KERNEL_SESSION_H
#define PROGRAMS_SIDE_SESSION_KERNEL_SESSION_H

#include <stdbool.h>

#include "programs/common/kernel-commands.h"

struct ask;
struct json_object;
struct parsed;

/* Before `enable-event --kernel`: the program runs, and knows these patterns (of the request). 0 or an exit status: said. */
int kernel_session_prepare(
		struct ask *ask, const struct parsed *parsed, struct json_object *request);
/* After a change of rules. */
int kernel_session_refresh(struct ask *ask);
/*
 * Start side-kernel if the session (NULL: any session) has kernel events. Called before `start` and
 * after `load`. An error is printed and does not fail the verb.
 */
bool kernel_session_ensure(struct ask *ask, const char *session);
/* Before `snapshot` and `rotate`: what has happened until now is in them. */
void kernel_session_drain(struct ask *ask);
/* What the program says of itself, or NULL: there is none. The caller puts it. */
struct json_object *kernel_session_status(struct ask *ask);
/* Does a definition have such events? */
bool kernel_session_has(struct json_object *definition);

#endif /* PROGRAMS_SIDE_SESSION_KERNEL_SESSION_H */
