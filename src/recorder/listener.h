/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_LISTENER_H
#define SIDE_RECORDER_LISTENER_H

/*
 * The socket that agents find.
 *
 * Callers: the life of a session. Main thread. No lock.
 */
#include <stdbool.h>

#include "recorder/core/session.h"
#include "recorder/core/watch.h"

/* The main thread's. */
struct session_listener {
	char directory[96];
	int directory_fd; /* its lock */
	char path[104];
	bool is_secret; /* a process that knows its name belongs to the session, whatever its user */
	struct recorder_watch watch;
	bool refuses_fds; /* peer_refuse_fds() */
};

int listener_open(struct session *session, struct session_error *error);
/* Under a name that other processes know. */
int listener_open_at(struct session *session, const char *path, struct session_error *error);
void listener_close(struct session *session);

#endif
