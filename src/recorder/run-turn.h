/* SPDX-License-Identifier: MIT */
/*
 * Turns of the main loop: handles connections and messages of agents, exits of processes, signals,
 * and the end of the command.
 *
 * Callers: the session's start and end, and functions that wait while programs need answers. Main
 * thread, without the session's lock.
 */
#ifndef SIDE_RECORDER_RUN_TURN_H
#define SIDE_RECORDER_RUN_TURN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/core/watch.h"

struct session;

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

/* Runs one turn of the loop. Returns the number of events, or a negative errno. */
int run_turn(struct session *session, int timeout_ms);
/* Prepares the loop once the command exists. Returns 0 or a negative errno. */
int run_begin(struct session *session);
/* Returns the signals that the loop handles. */
sigset_t session_signals(const struct session *session);

#endif /* SIDE_RECORDER_RUN_TURN_H */
