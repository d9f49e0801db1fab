/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_SPAWN_H
#define SIDE_RECORDER_SPAWN_H

/*
 * Starts the command with the signal mask, dispositions and limits that the recorder was started
 * with.
 *
 * Callers: the session's start, and the main loop. Main thread. No lock.
 */
#include <signal.h>
#include <stddef.h>

#include "recorder/core/session.h"

/* The environment of the command. Main thread only. */
struct session_spawn {
	char *preload;      /* value of LD_PRELOAD */
	char *sockets;      /* value of SIDE_AGENT_SOCKET */
	char **environment; /* "NAME=VALUE" */
	size_t nr_environment;
};

void spawn_ignore_requests(struct session *session);
/*
 * Makes the value of SIDE_AGENT_SOCKET: the recordings that the recorder itself runs in, and its
 * own.
 */
int spawn_sockets(struct session *session, struct session_error *error);

#endif
