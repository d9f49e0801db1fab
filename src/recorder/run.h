/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RUN_H
#define SIDE_RECORDER_RUN_H

/*
 * The main loop: handles connections and messages of agents, exits of processes, signals, and the
 * end of the command.
 *
 * Callers: the session's start and end, and functions that wait while programs need answers. Main
 * thread, without the session's lock.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/session.h"
#include "recorder/core/watch.h"

struct traced_command {
	struct recorder_watch watch; /* watches the pidfd */
	pid_t pid;
	int status; /* -1 while it runs */
	char *name;
	char *never_meets; /* reason why no agent can be loaded, from session_never_meets() */
	bool came;         /* the agent of the probed program has connected */
	const struct session_helper *helper; /* its helper, or NULL */
};

/* Main thread only. */
struct session_loop {
	bool begun; /* run_begin() was called */
	struct event_loop events;
	struct recorder_watch **ready; /* what a wait of run_turn() has found, in its order */
	unsigned int nr_ready;
	struct recorder_watch signals;
	sigset_t old_mask;
	bool mask_is_ours;
	struct sigaction old_child;
	struct sigaction old_user;  /* action of SIGUSR1 to restore for the command */
	struct sigaction old_user2; /* the same of SIGUSR2 */
	bool pass_on;               /* forward SIGINT and SIGQUIT to the command */
	unsigned int interrupts;
	unsigned int message_turns; /* consecutive turns in which exits have waited for messages */
	bool interrupted;
	void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost);
	void *progress_user;
};

#endif
