/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_TRACK_H
#define SIDE_RECORDER_CORE_TRACK_H

/*
 * Decides which processes a live session records: those that all given properties fit.
 *
 * Callers: connections and the life of a session. Main thread. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "recorder/core/live.h"

struct track_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	const char *name;
};

/* Texts are copied. */
int track_take(const struct session_track *track, size_t nr, struct session_track **result,
		struct session_error *error);
void track_free(struct session_track *track, size_t nr);
bool track_wants(const struct session_track *track, size_t nr, const struct track_peer *peer);
/* For tests. */
bool track_container_fits(const char *text, const char *path);

#endif
