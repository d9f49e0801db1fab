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

struct session;

/* Runs one turn of the loop. Returns the number of events, or a negative errno. */
int run_turn(struct session *session, int timeout_ms);
/* Prepares the loop once the command exists. Returns 0 or a negative errno. */
int run_begin(struct session *session);
/* Returns the signals that the loop handles. */
sigset_t session_signals(const struct session *session);

#endif /* SIDE_RECORDER_RUN_TURN_H */
