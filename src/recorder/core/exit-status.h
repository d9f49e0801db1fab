/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_EXIT_STATUS_H
#define SIDE_RECORDER_CORE_EXIT_STATUS_H

/*
 * Finds the exit status of a process that died.
 *
 * Callers: the main loop (run-turn.c), and snapshots for the name of a signal. Main thread, without
 * the session's lock; crash_of() and crash_name() from any thread.
 */
#include <sys/types.h>

struct instance;
struct session;

/*
 * Checks whether the instance's process, which has exited, died of a fault, and records this. Takes
 * the lock.
 */
void crash_check(struct session *session, struct instance *instance);
/* Records that a process exited with this wait status. Takes the lock. */
void crash_note(struct session *session, pid_t pid, int status);
/*
 * crash_of() returns the signal if the process died of a fault, else 0. crash_name() returns its
 * name without "SIG".
 */
int crash_of(int status);
const char *crash_name(int number);

#endif
