/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_LISTENER_H
#define SIDE_RECORDER_LISTENER_H

/*
 * The socket that agents connect to.
 *
 * Callers: the session's start and end. Main thread. No lock.
 */
#include <stdbool.h>

#include "recorder/core/session.h"
#include "recorder/core/watch.h"

/* Main thread only. */
struct session_listener {
	char directory[96];
	int directory_fd; /* holds the lock on the directory */
	char path[104];
	/* the name is secret: a process that knows it belongs to the session, whatever its user */
	bool is_secret;
	struct recorder_watch watch;
	bool refuses_fds; /* result of peer_refuse_fds() */
};

int listener_open(struct session *session, struct error *error);
/* Opens the socket of a live session, at a path that other processes know. */
int listener_open_at(struct session *session, const char *path, struct error *error);
void listener_close(struct session *session);

#endif
