/* SPDX-License-Identifier: MIT */
/*
 * Kernel events in sessions: starts the program side-kernel, which records them, and sends requests
 * to it.
 */
#ifndef PROGRAMS_SIDE_SESSION_KERNEL_SESSION_H
#define PROGRAMS_SIDE_SESSION_KERNEL_SESSION_H

#include <stdbool.h>

#include "programs/common/kernel-commands.h"

struct ask;
struct json_object;
struct parsed;

/*
 * Call it before `enable-event --kernel`: starts side-kernel if necessary, and checks that it knows
 * the patterns of the request. Returns 0 or an exit status, after a message.
 */
int kernel_session_prepare(
		struct ask *ask, const struct parsed *parsed, struct json_object *request);
/* Makes side-kernel read the changed rules. Returns 0. */
int kernel_session_refresh(struct ask *ask);
/*
 * Starts side-kernel if the session (NULL: any session) has kernel events. Call it before `start`
 * and after `load`. Prints an error, which does not fail the verb. True if there are kernel events.
 */
bool kernel_session_ensure(struct ask *ask, const char *session);
/* Call it before `snapshot` and `rotate`, so that they contain all kernel events until now. */
void kernel_session_drain(struct ask *ask);
/* The status of side-kernel, which the caller puts. NULL: it does not run. */
struct json_object *kernel_session_status(struct ask *ask);
/* True if a definition has kernel events. */
bool kernel_session_has(struct json_object *definition);

#endif /* PROGRAMS_SIDE_SESSION_KERNEL_SESSION_H */
