/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVER_H
#define SIDE_RECORDER_RECOVER_H

/*
 * Traces out of what is left when no recorder could write them: directories of `--buffers` after a
 * recorder was killed or its machine went down, and core dumps of traced programs. Nothing there is
 * changed. All of it is hostile: whoever left it may have written anything into it.
 *
 * A header of its own: who recovers needs no session, only its summary.
 */

#include "recorder/core/session.h"

struct session_recover_options {
	/* Called when the output exists and nothing has been read; NULL: not needed. */
	void (*ready)(const char *output);
	const char *const *paths; /* directories of --buffers, folders in them, core dumps */
	size_t nr_paths;
	const char *output; /* as in struct session_options */
	bool force;
	enum session_format format;
	int compress;
	/* NULL, or called after each process, as that of session_on_progress(). */
	void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost);
	void *progress_user;
};

/*
 * Writes a trace for each process that is found. Fails when nothing could be read at all; what could
 * not be read beside other things is a message of the summary. *session is for session_summary() and
 * session_destroy() only.
 */
int session_recover(const struct session_recover_options *options, struct session **session,
		struct session_error *error);

#endif
