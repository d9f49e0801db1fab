/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_SNAPSHOT_H
#define RECORDER_SNAPSHOT_H

/*
 * Snapshots of rings that overwrite: on request in a directory of their own, at the end of a process in its trace.
 *
 * Drain thread, or a thread that alone has the instance; without the session's lock.
 */
#include <stdbool.h>
#include <stdint.h>

struct instance;
struct session;

/*
 * A snapshot of these instances (next_active). Its name has its number and `suffix`, which may be "". Returns the number; 0: there is none.
 */
uint32_t snapshot_make(struct session *session, struct instance *active, const char *suffix);
/* At an instance's end: the windows of its rings that overwrite, into its trace. False: the disk is full, call again. */
bool snapshot_end(struct session *session, struct instance *instance);

#endif
