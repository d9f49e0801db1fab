/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_WATCH_H
#define SIDE_RECORDER_CORE_WATCH_H

/*
 * A descriptor of the main loop (run-turn.c). The struct that owns the descriptor contains it.
 *
 * Main thread only, so no lock is needed.
 */
#include "base/event-loop.h"

struct session;

enum watch_kind {
	WATCH_LISTENER,
	WATCH_SIGNALS,
	WATCH_COMMAND,
	WATCH_CONNECTION,
	WATCH_PEER,
	WATCH_INSTANCE,
	WATCH_LOADING
};

struct recorder_watch {
	enum watch_kind kind;
	int fd;
	struct event_source source;
};

/*
 * Adds the descriptor to the session's loop. When it is readable, run_turn() handles the watch.
 * Returns 0 or a negative errno.
 */
int watch_add(struct session *session, struct recorder_watch *watch);
/*
 * Call before the descriptor is closed, if another one of the same file may stay open. Does nothing
 * if it was not added.
 */
void watch_remove(struct session *session, struct recorder_watch *watch);

#endif
