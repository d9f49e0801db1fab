/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_LOADING_H
#define SIDE_RECORDER_LOADING_H

/*
 * Gets tables of probes for libraries that programs are loading (struct session_loads), and answers
 * when all libraries of a LOADED are handled.
 *
 * Callers: connections, the main loop and the session's end. Main thread. No lock.
 */
#include <stdbool.h>

#include "recorder/core/watch.h"

struct connection;
struct instance;
struct session;
struct session_loads;
struct wire_loaded;

/* Answers a LOADED. May close the connection. */
typedef void loading_answer_fn(struct session *session, struct connection *connection);

struct session_loading {
	const struct session_loads *loads; /* NULL: programs report no libraries */
	loading_answer_fn *answer;
	bool is_busy; /* `watch` waits for the tables of a library */
	struct recorder_watch watch;
};

/* Whether the program reports libraries to this session, which has probes for it. */
bool loading_is_for(struct session *session, struct instance *instance);
/* Takes a LOADED. Calls `answer` now or later. Returns 0 or a negative errno. */
int loading_begin(struct session *session, struct connection *connection,
		const struct wire_loaded *loaded, loading_answer_fn *answer);
/* The tables of a library are ready. */
void loading_ready(struct session *session);
/* When a connection is closed: reports a program that did not wait for the answer or has ended. */
void loading_give_up(struct session *session, struct connection *connection);
void loading_end(struct session *session);

#endif
