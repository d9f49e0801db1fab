/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RUN_H
#define SIDE_RECORDER_RUN_H

/*
 * The loop: agents that connect and send, processes that end, signals, and the command's end.
 *
 * Callers: the life of a session, and what waits for programs meanwhile. Main thread, without the session's lock.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/session.h"
#include "recorder/core/watch.h"

struct traced_command {
	struct recorder_watch watch; /* the pidfd */
	pid_t pid;
	int status; /* -1 while it runs */
	char *name;
	char *never_meets; /* why no agent can be loaded, as from session_never_meets() */
	bool came;         /* the agent of the probed program has connected */
	const struct session_helper *helper; /* its helper process, or NULL */
};

/* The main thread's. */
struct session_loop {
	bool begun; /* run_begin() */
	int epoll;
	struct recorder_watch signals;
	sigset_t old_mask;
	bool mask_is_ours;
	struct sigaction old_child;
	struct sigaction old_user;  /* of SIGUSR1, for the command */
	struct sigaction old_user2; /* of SIGUSR2 */
	bool pass_on;               /* interrupts, to the command */
	unsigned int interrupts;
	unsigned int message_turns; /* in which deaths have waited */
	bool interrupted;
	void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost);
	void *progress_user;
};

/* One turn of the loop. The number of events, or a negative errno. */
int run_turn(struct session *session, int timeout_ms);
/* Of a session with a command, which exists: what the loop needs, once. 0 or a negative errno. */
int run_begin(struct session *session);

#endif
