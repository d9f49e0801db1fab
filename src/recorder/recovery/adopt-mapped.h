/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_ADOPT_MAPPED_H
#define SIDE_RECORDER_RECOVERY_ADOPT_MAPPED_H

/*
 * Finds recordings in the memory of running processes that are in no state directory.
 *
 * Callers: adopt.c and connections. Main thread, without the session's lock.
 */
#include <sys/types.h>

struct session;

/* Returns the number of recordings, or a negative errno if the process cannot be read. */
int adopt_mapped(struct session *session, pid_t pid);
void adopt_mapped_all(struct session *session);

#endif
