/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_SNAPSHOT_H
#define SIDE_RECORDER_ROTATION_SNAPSHOT_H

/*
 * Snapshots of overwrite rings: on request in a directory of their own, and at the end of a process
 * in its trace.
 *
 * Drain thread, or the only thread that uses the instance; without the session's lock.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/core/session.h"

struct instance;
struct session;

struct session_snapshots {
	atomic_uint wanted;
	uint32_t nr; /* snapshots made (lock) */
	int error;   /* result of the last attempt: 0 or a negative errno (lock) */
	char first[SESSION_SNAPSHOT_NAME_MAX]; /* names; "": none (lock) */
	char last[SESSION_SNAPSHOT_NAME_MAX];
	_Atomic uint64_t recorded; /* records in all snapshots; an event can be in several */
	uint64_t first_recorded;   /* records in the first one (lock) */
	uint64_t last_recorded;    /* records in the last one (lock) */
};

/*
 * Makes a snapshot of these instances (linked by next_active). Its name contains its number and
 * `suffix`, which can be "". Returns the number, or 0 on failure.
 */
uint32_t snapshot_make(struct session *session, struct instance *active, const char *suffix);
/*
 * Writes the windows of an ended instance's overwrite rings to its trace. Returns false if the disk
 * is full; then call it again.
 */
bool snapshot_end(struct session *session, struct instance *instance);

#endif
