/* SPDX-License-Identifier: MIT */
/*
 * Asking the daemon, as all verbs for sessions do: find or start it, know which session is meant, say
 * what it answered. The protocol is docs/spec/control-protocol.md.
 */
#ifndef PROGRAMS_COMMON_ASK_H
#define PROGRAMS_COMMON_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sessions/client.h"

struct json_object;
struct text_list;

/* Of a session's name, with the NUL. */
#define ASK_NAME_MAX 65

/* Whom to ask. */
struct ask {
	struct control_client *client;
	bool system;    /* it is the system's daemon, not the user's own */
	bool no_daemon; /* start none */
};

/* All of these return an exit status; what went wrong has been said. */

/* Connect; where no daemon runs, start the user's own, unless no_daemon. */
int ask_connect(struct ask *ask, bool system, bool no_daemon);
/* Connect for a verb that changes nothing: it never starts a daemon. */
int ask_connect_only(struct ask *ask, bool system);
/* The names of sessions that a killed daemon left in files, which the next daemon reads. False: none. */
bool ask_kept_sessions(bool system, char *names, size_t size);
/* The same, but without a word and without starting one; @error (or NULL) says why not. */
int ask_connect_silently(struct ask *ask, bool system, struct control_error *error);
void ask_close(struct ask *ask);

/*
 * Add a member to a request. Takes ownership of the value; NULL means that its allocation failed. After a failed allocation, ask_call()
 * does not send the request.
 */
void ask_add(struct json_object *request, const char *name, struct json_object *value);

/* An allocation for the request has failed: members can be missing. ask_call() reports it. */
bool ask_is_cut_off(void);

/*
 * Ask (and put the request, which may be NULL: no memory). The caller puts the answer. `timeout_ms`
 * is how long the daemon may be silent.
 */
int ask_call(struct ask *ask, struct json_object *request, int timeout_ms,
		struct json_object **answer);
/* The same with a descriptor, which stays the caller's (-1: none). */
int ask_call_with(struct ask *ask, struct json_object *request, int fd, int timeout_ms,
		struct json_object **answer);
#define ASK_TIMEOUT_MS 60000

/* The sentence of an error, its place included. */
int ask_error(const struct control_error *error);

/* Say who has not switched over, and who never looks: COMMAND_PENDING or 0. */
int ask_pending(struct json_object *answer);

/* The answer as a line of JSON on standard output. 0, or an exit status: reported. */
int ask_print_json(const char *type, struct json_object *answer);

/* Members of answers. Never NULL; 0 and "" where there is none. */
const char *ask_text(struct json_object *object, const char *name);
uint64_t ask_number(struct json_object *object, const char *name);
bool ask_flag(struct json_object *object, const char *name);
/* An array, or NULL. */
struct json_object *ask_list(struct json_object *object, const char *name);

/* Print the messages of a session, the first ones of many, and how many are in the log of the daemon only. */
void ask_print_messages(struct json_object *session);

/* Add a text to the array `name` of the request, which is made. */
void ask_add_text(struct json_object *request, const char *name, const char *text);

/* ---- current.c: the session that is meant when none is named ---- */

/* False: no session is current. If the name cannot be read, a note reports that. */
bool current_read(const struct ask *ask, char name[ASK_NAME_MAX]);
/* The same without notes. */
bool current_read_silently(const struct ask *ask, char name[ASK_NAME_MAX]);
/* 0, or an exit status: reported. */
int current_write(const struct ask *ask, const char *name);
/* For a session that was created: a failure is a note, because the session exists. */
void current_try_write(const struct ask *ask, const char *name);
/* If it is this one, there is none any more; is_noted: a note names the sessions that are left. */
void current_forget(const struct ask *ask, const char *name, bool is_noted);

/*
 * The session that a command line means: its operand, -s, or the current one, whose name is put into
 * `buffer`. 0 or an exit status: said.
 */
int ask_which(const struct ask *ask, const char *operand, const char *option,
		char buffer[ASK_NAME_MAX], const char **name);

#endif /* PROGRAMS_COMMON_ASK_H */
