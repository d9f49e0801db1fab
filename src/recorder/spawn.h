/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_SPAWN_H
#define SIDE_RECORDER_SPAWN_H

/*
 * Starts the command with the signal mask, dispositions and limits that the recorder was started
 * with.
 *
 * Callers: the session's start, and the main loop. Main thread. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "recorder/core/session.h"
#include "recorder/core/watch.h"

struct traced_command {
	struct recorder_watch watch; /* watches the pidfd */
	pid_t pid;
	int status; /* -1 while it runs */
	char *name;
	char *never_meets;  /* reason why no agent can be loaded, from session_never_meets() */
	uint32_t survivors; /* processes that still run although the command has ended */
	bool came;          /* the agent of the probed program has connected */
	const struct session_helper *helper; /* its helper, or NULL */
};

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
int spawn_sockets(struct session *session, struct error *error);
/* Changes ASAN_OPTIONS of this process, which is about to execute a program. Also for `side run`. */
void spawn_let_sanitizer_be_second(void);
/* The error of exec() for a command of this name, with its errno `code`. Also for `side run`. */
int spawn_exec_error(struct error *error, const char *name, int code);

#endif
