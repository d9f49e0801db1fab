/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_SNAPSHOT_H
#define SIDE_RECORDER_ROTATION_SNAPSHOT_H

/*
 * Snapshots of rings that overwrite: on request in a directory of their own, at the end of a process in its trace.
 *
 * Drain thread, or a thread that alone has the instance; without the session's lock.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/core/session.h"

struct instance;
struct session;

struct session_snapshots {
	atomic_uint wanted;
	uint32_t nr; /* made (lock) */
	int error;   /* of the last attempt: 0 or a negative errno (lock) */
	char first[SESSION_SNAPSHOT_NAME_MAX]; /* names, "": none (lock) */
	char last[SESSION_SNAPSHOT_NAME_MAX];
	_Atomic uint64_t recorded; /* in all snapshots; an event can be in several */
	uint64_t first_recorded;   /* in the first one (lock) */
	uint64_t last_recorded;    /* in the last one (lock) */
};

/*
 * A snapshot of these instances (next_active). Its name has its number and `suffix`, which may be "". Returns the number; 0: there is none.
 */
uint32_t snapshot_make(struct session *session, struct instance *active, const char *suffix);
/* At an instance's end: the windows of its rings that overwrite, into its trace. False: the disk is full, call again. */
bool snapshot_end(struct session *session, struct instance *instance);

#endif
