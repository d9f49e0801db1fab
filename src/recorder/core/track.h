/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_TRACK_H
#define SIDE_RECORDER_CORE_TRACK_H

/*
 * Decides which processes a live session records: those that match all given properties.
 *
 * Callers: connections, and the session's start and changes. Main thread only, so no lock is
 * needed.
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

/*
 * Copies the list and its texts. Returns 0, or a negative errno with *error filled in; free
 * `*ret_copy` with track_free().
 */
int track_take(const struct session_track *track, size_t nr, struct session_track **ret_copy,
		struct error *error);
void track_free(struct session_track *track, size_t nr);
bool track_wants(const struct session_track *track, size_t nr, const struct track_peer *peer);
/* Exported for tests. */
bool track_container_fits(const char *text, const char *path);

#endif
