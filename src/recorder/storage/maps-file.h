/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_MAPS_FILE_H
#define SIDE_RECORDER_STORAGE_MAPS_FILE_H

/*
 * Writes the file that lists the code a process has mapped.
 *
 * Callers: trace.c. Drain thread, or the only thread that uses the instance; without the session's
 * lock, which it takes.
 */

struct instance;
struct session;

void maps_write(struct session *session, struct instance *instance);

#endif
