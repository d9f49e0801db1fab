/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_EXIT_STATUS_H
#define SIDE_RECORDER_CORE_EXIT_STATUS_H

/*
 * The status with which a process died.
 *
 * Callers: the loop (run.c), snapshots for the name of a signal. Main thread, without the session's lock; crash_of() and crash_name() by any
 * thread.
 */
#include <sys/types.h>

struct instance;
struct session;

/* A process has died. Takes the lock. */
void crash_check(struct session *session, struct instance *instance);
/* A process has died with this status. Takes the lock. */
void crash_note(struct session *session, pid_t pid, int status);
/* The signal, if it died of a fault, or 0; its name without "SIG". */
int crash_of(int status);
const char *crash_name(int number);

#endif
