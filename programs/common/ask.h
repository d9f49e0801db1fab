/* SPDX-License-Identifier: MIT */
/*
 * Requests to the daemon, for all verbs about sessions: find or start the daemon, find the session
 * that the command line means, print answers. The protocol is docs/spec/control-protocol.md.
 */
#ifndef PROGRAMS_COMMON_ASK_H
#define PROGRAMS_COMMON_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sessions/client.h"

struct json_object;
struct text_list;

/* Size of a session's name, with the NUL. */
#define ASK_NAME_MAX 65

/* A connection to a daemon. */
struct ask {
	struct control_client *client;
	bool system;    /* the system's daemon, not the user's own */
	bool no_daemon; /* never start a daemon */
};

/* Functions that return int return an exit status. They have printed the error then. */

/* Connects. If no daemon runs, starts the user's own, unless no_daemon. */
int ask_connect(struct ask *ask, bool system, bool no_daemon);
/* Connects for a verb that changes nothing: never starts a daemon. */
int ask_connect_only(struct ask *ask, bool system);
/*
 * Writes the names of sessions that a killed daemon left in files; the next daemon reads them.
 * False if there are none.
 */
bool ask_kept_sessions(bool system, char *names, size_t size);
/*
 * Connects without messages, and never starts a daemon. `error`, which may be NULL, receives the
 * reason of a failure.
 */
int ask_connect_silently(struct ask *ask, bool system, struct error *error);
void ask_close(struct ask *ask);

/*
 * Adds a member to a request. Takes ownership of the value; NULL means that its allocation failed.
 * After a failed allocation ask_call() does not send the request.
 */
void ask_add(struct json_object *request, const char *name, struct json_object *value);

/* True after a failed allocation for the request: members may be missing. ask_call() reports it. */
bool ask_is_cut_off(void);

/*
 * Sends the request and waits for the answer. Takes ownership of the request; NULL means that its
 * allocation failed. The caller puts the answer. `timeout_ms` limits the time in which the daemon
 * sends nothing.
 */
int ask_call(struct ask *ask, struct json_object *request, int timeout_ms,
		struct json_object **ret_answer);
/* The same with a descriptor, or -1. The caller keeps the descriptor and closes it. */
int ask_call_with(struct ask *ask, struct json_object *request, int fd, int timeout_ms,
		struct json_object **ret_answer);
#define ASK_TIMEOUT_MS 60000

/*
 * Prints the programs that have not switched to the new rules yet, and those that never check for
 * them. Returns COMMAND_PENDING or 0.
 */
int ask_pending(struct json_object *answer);

/*
 * Prints the answer as a line of JSON on standard output. Returns 0 or an exit status, after a
 * message.
 */
int ask_print_json(const char *type, struct json_object *answer);

/* Members of answers. A missing member reads as "", 0 or false. The text belongs to the object. */
const char *ask_text(struct json_object *object, const char *name);
uint64_t ask_number(struct json_object *object, const char *name);
bool ask_flag(struct json_object *object, const char *name);
/* Returns `name` if the object has it, else `former`, its name in the earlier release. */
const char *ask_renamed(struct json_object *object, const char *name, const char *former);
/* An array, or NULL. It belongs to the object. */
struct json_object *ask_list(struct json_object *object, const char *name);

/*
 * Prints the first messages of a session, the number of the others, and the number of those that
 * are only in the daemon's log.
 */
void ask_print_messages(struct json_object *session);

/* Adds a text to the array `name` of the request, and the array if it is missing. */
void ask_add_text(struct json_object *request, const char *name, const char *text);

/* ---- current.c: the session of commands that name none ---- */

/* False if no session is current. Prints a note if the name cannot be read. */
bool current_read(const struct ask *ask, char name[ASK_NAME_MAX]);
/* The same without a note. */
bool current_read_silently(const struct ask *ask, char name[ASK_NAME_MAX]);
/* Returns 0 or an exit status, after a message. */
int current_write(const struct ask *ask, const char *name);
/* Does the same for a new session. A failure is only a note, because the session exists. */
void current_try_write(const struct ask *ask, const char *name);
/*
 * If the session is the current one, no session is current afterwards. `is_noted`: a note names the
 * remaining sessions.
 */
void current_forget(const struct ask *ask, const char *name, bool is_noted);

/*
 * Finds the session of a command line: the operand, else the option -s, else the current session,
 * whose name is then in `buffer`. Returns 0 or an exit status, after a message.
 */
int ask_which(const struct ask *ask, const char *operand, const char *option,
		char buffer[ASK_NAME_MAX], const char **ret_name);

#endif /* PROGRAMS_COMMON_ASK_H */
