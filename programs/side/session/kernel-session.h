/* SPDX-License-Identifier: MIT */
/* The kernel's events in sessions: what `side` has to do with the program side-kernel, which says them (programs/side-kernel). */
#ifndef PROGRAMS_SIDE_SESSION_KERNEL_SESSION_H
#define PROGRAMS_SIDE_SESSION_KERNEL_SESSION_H

#include <stdbool.h>

struct ask;
struct json_object;
struct parsed;

/*
 * Both in the directory of the daemon's socket. A connection takes a line, a word, and gets a line, an object:
 *
 *	look            the sessions may want something else: answered when that is so
 *	drain           all that has happened until now is in the rings
 *	knows PATTERN   {"known":true}: the kernel has such an event, or may get one
 *	status          "way", "why" (it is not the other one), "events" known, "on", "said", "lost"
 *
 * The answer to the first two is that to the last one.
 */
#define KERNEL_SESSION_SOCKET "kernel.sock"
#define KERNEL_SESSION_LOCK "kernel.lock"
#define KERNEL_SESSION_REFRESH "look"
#define KERNEL_SESSION_DRAIN "drain"
#define KERNEL_SESSION_KNOWS "knows"
#define KERNEL_SESSION_STATUS "status"

/* Before `enable-event --kernel`: the program runs, and knows these patterns (of the request). 0 or an exit status: said. */
int kernel_session_prepare(
		struct ask *ask, const struct parsed *parsed, struct json_object *request);
/* After a change of rules. */
int kernel_session_refresh(struct ask *ask);
/* Before `start`, and after `load`: if the session (NULL: any) has such events, the program runs. What is wrong is said, and no more. */
bool kernel_session_ensure(struct ask *ask, const char *session);
/* Before `snapshot` and `rotate`: what has happened until now is in them. */
void kernel_session_drain(struct ask *ask);
/* What the program says of itself, or NULL: there is none. The caller puts it. */
struct json_object *kernel_session_status(struct ask *ask);
/* Does a definition have such events? */
bool kernel_session_has(struct json_object *definition);

#endif /* PROGRAMS_SIDE_SESSION_KERNEL_SESSION_H */
