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
struct snapshot;

struct session_snapshots {
	atomic_uint wanted;
	atomic_uint begins_wanted;   /* first phases of snapshots with a state dump */
	atomic_uint finishes_wanted; /* second phases of automatic snapshots */
	atomic_bool state_wanted;    /* an automatic snapshot has begun: programs must be asked */
	uint32_t spare_files;        /* that it may open (drain thread) */
	struct snapshot *open;       /* one between both phases (drain thread) */
	uint32_t nr;                 /* snapshots made (lock) */
	int error;                   /* result of the last attempt: 0 or a negative errno (lock) */
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
 * A snapshot with a state dump: snapshot_begin() copies the rings. When the programs have recorded
 * their state, snapshot_finish() adds what they recorded since then, and gives the directory its
 * name. It returns false if no snapshot was begun. snapshot_turn() finishes one that waits too long;
 * `last`: in any case. Meanwhile it has up to `max_files` open files; snapshot_files() counts them.
 */
void snapshot_begin(struct session *session, struct instance *active, uint32_t max_files);
uint32_t snapshot_files(const struct session *session);
bool snapshot_finish(struct session *session, struct instance *active);
void snapshot_turn(struct session *session, struct instance *active, bool last);
/*
 * Likewise for a trigger, with the names of snapshot_make(). Reports `cause` when the snapshot has
 * its name. session_wants_state() is then true once.
 */
void snapshot_begin_automatic(struct session *session, struct instance *active, const char *suffix,
		const char *cause);
/* Finishes the snapshot that is open if a trigger has begun it. */
void snapshot_finish_automatic(struct session *session, struct instance *active);
/* Call before the rings of an ended instance are freed: adds them to the snapshot that was begun. */
void snapshot_instance_ends(struct session *session, struct instance *instance);
/*
 * Writes the windows of an ended instance's overwrite rings to its trace. Returns false if the disk
 * is full; then call it again.
 */
bool snapshot_end(struct session *session, struct instance *instance);

#endif
