/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_ADOPT_MAPPED_H
#define SIDE_RECORDER_RECOVERY_ADOPT_MAPPED_H

/*
 * Recordings in the memory of processes that live, which are in no state directory.
 *
 * Callers: adopt.c and connections. Main thread, without the session's lock.
 */
#include <sys/types.h>

struct session;

/* The number of recordings, or a negative errno: the process must not be read. */
int adopt_mapped(struct session *session, pid_t pid);
void adopt_mapped_all(struct session *session);

#endif
