/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_CLIENT_H
#define SIDE_SESSIONS_CLIENT_H

/*
 * Asking the daemon: connect, say what is wanted, get the answer. docs/spec/control-protocol.md says
 * what can be asked.
 *
 *	struct json_object *request = control_request("start", "my-session");
 *	ret = control_call(client, request, CONTROL_FOREVER, &answer, &error);
 *	json_object_put(request);
 *
 * A request is an object with "version", "verb" and, mostly, "session"; its other members have the
 * names of the command line's long options: flags are true, texts and numbers are what they are
 * (sizes in bytes, times in nanoseconds), and what can be given several times is an array.
 *
 * An answer has "ok": true, or it is turned into *error: kind, sentence, mend, and where in the
 * request's text the mistake stands. Lists in answers ("sessions", "processes", "pending") come whole,
 * however many messages they were.
 */

#include <stdbool.h>

#include "sessions/error.h"

struct json_object;
struct control_client;

#define CONTROL_FOREVER (-1)

enum control_where {
	CONTROL_USER,   /* the user's own daemon */
	CONTROL_SYSTEM, /* the one in /run/side */
	CONTROL_ANY,    /* the user's own if it is there, else the system's if we may */
};

/*
 * Connect. CONTROL_NOT_FOUND: there is no daemon; the mend says how to start one. `start`: then start
 * the user's own (never the system's) and wait for it.
 */
int control_connect(enum control_where where, bool start, struct control_client **client,
		struct control_error *error);
void control_close(struct control_client *client);

/* The control socket that we are connected to. */
const char *control_path(const struct control_client *client);

/* A new request; `session` may be NULL. NULL: no memory. The caller puts it. */
struct json_object *control_request(const char *verb, const char *session);

/*
 * Ask and wait for the answer, which the caller puts; NULL is accepted for one that nobody wants.
 * timeout_ms is a limit on our patience (-ETIMEDOUT, and the client can only be closed then); that of
 * the daemon's is "timeout" in the request, in nanoseconds.
 */
int control_call(struct control_client *client, struct json_object *request, int timeout_ms,
		struct json_object **answer, struct control_error *error);

/*
 * The same with a descriptor, which stays the caller's: "enable-probe" comes with a probe table in a
 * memfd that is sealed against writing, growing and shrinking (-1: none).
 *
 *	request = control_request("enable-probe", session);
 *	"event"    ["probe:malloc","probe:malloc_return"]  all that the table makes, as provider:event
 *	"probe"    "--function libc:malloc"                what the user wrote: list, status and save show it
 *	"pid"      4711 and "started" (session_process_start()): this process and what it forks;
 *	           or "exe" "/usr/bin/redis-server": each program of this file, now and later; or neither: all
 *	"channel", "filter", "event-context", "timeout"    as in "enable-event"
 *
 * The answer has "generation", "changed", "pending", "unchanged", and "probes", an array (definition.h,
 * struct definition_probe, with what programs said of it).
 */
int control_call_with(struct control_client *client, struct json_object *request, int fd,
		int timeout_ms, struct json_object **answer, struct control_error *error);

/*
 * The next message of a subscription (verb "top"), which control_call() has begun. -EPIPE: the daemon
 * has gone, or the session ended. control_fd() becomes readable when there is one.
 */
int control_next(struct control_client *client, int timeout_ms, struct json_object **answer,
		struct control_error *error);
int control_fd(const struct control_client *client);

#endif
