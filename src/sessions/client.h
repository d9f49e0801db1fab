/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_CLIENT_H
#define SIDE_SESSIONS_CLIENT_H

/*
 * Client of the daemon: connects, sends requests and receives answers.
 * docs/spec/control-protocol.md describes the requests.
 *
 *     struct json_object *request = control_request("start", "my-session");
 *     ret = control_call(client, request, CONTROL_FOREVER, &answer, &error);
 *     json_object_put(request);
 *
 * A request is an object with "version", "verb" and, usually, "session". Its other members have the
 * names of the command line's long options. Flags are true; texts and numbers are unchanged (sizes
 * in bytes, times in nanoseconds); options that can be repeated are arrays.
 *
 * A successful answer has "ok": true. Another one is converted to *error: kind, sentence, hint, and
 * the position of the mistake in the request's text. Lists in answers ("sessions", "processes",
 * "pending") are complete, even if they were sent in several messages.
 */

#include <stdbool.h>

#include "base/error.h"

struct json_object;
struct control_client;

#define CONTROL_FOREVER (-1)

/*
 * argv[0] with which the daemon starts `side-more` to resolve pending probes, with the arguments
 * enable-event -s SESSION --exe FILE --pid PID '*'. FILE was executed if PID is 0; otherwise it is a
 * library that PID loads.
 */
#define CONTROL_SET_PENDING "side-set-pending"

enum control_where {
	CONTROL_USER,   /* the user's own daemon */
	CONTROL_SYSTEM, /* the one in /run/side */
	CONTROL_ANY,    /* the user's own if it runs, else the system's if permitted */
};

/*
 * Connects to a daemon. Returns 0, or a negative errno with *error filled in. With
 * ERROR_NOT_FOUND there is no daemon, and the hint names the command that starts one. With
 * `start`, it then starts the user's own daemon (never the system's) and waits for it.
 */
int control_connect(enum control_where where, bool start, struct control_client **ret_client,
		struct error *error);
void control_close(struct control_client *client);

/* Returns the path of the connected control socket. */
const char *control_path(const struct control_client *client);

/* Returns a new request, or NULL if out of memory. `session` can be NULL. The caller puts it. */
struct json_object *control_request(const char *verb, const char *session);

/*
 * Sends a request and waits for the answer, which the caller puts; `ret_answer` can be NULL.
 * timeout_ms limits the wait of this function: after -ETIMEDOUT the client can only be closed. The timeout of
 * the daemon is "timeout" in the request, in nanoseconds.
 */
int control_call(struct control_client *client, struct json_object *request, int timeout_ms,
		struct json_object **ret_answer, struct error *error);

/*
 * The same with a descriptor, which the caller keeps (-1: none). "enable-probe" sends a probe table
 * in a memfd that is sealed against writing, growing and shrinking:
 *
 *     request = control_request("enable-probe", session);
 *     "event"    ["probe:malloc","probe:malloc_return"]  all events of the table, as provider:event
 *     "probe"    "--function libc:malloc"    the user's text, for list, status and save
 *     "pid"      4711 and "started" (session_process_start()): this process and its children; or
 *                "exe" "/usr/bin/redis-server": each program of this file; or neither: all
 *     "channel", "filter", "event-context", "timeout"    as in "enable-event"
 *
 *     "pending"  true, with "exe" and without a descriptor: the file does not exist yet. The daemon
 *                starts CONTROL_SET_PENDING when a program executes the file
 *
 *     "library"  LIB, with "unloaded" true if the table is empty: the daemon starts CONTROL_SET_PENDING
 *                when a program loads a file of LIB. That requests a probe for the file, with
 *                "loaded" (the path in the program) and "loaded-file"
 *
 * The answer has "generation", "changed", "pending", "unchanged", and the array "probes"
 * (definition.h, struct definition_probe, with the reports of programs).
 */
int control_call_with(struct control_client *client, struct json_object *request, int fd,
		int timeout_ms, struct json_object **ret_answer, struct error *error);

/*
 * Receives the next message of a subscription (verb "top") that control_call() has begun. Returns
 * -EPIPE if the daemon has exited or the session has ended. control_fd() becomes readable when
 * there is a message.
 */
int control_next(struct control_client *client, int timeout_ms, struct json_object **ret_answer,
		struct error *error);
int control_fd(const struct control_client *client);

#endif
