/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVER_H
#define SIDE_RECORDER_RECOVER_H

/*
 * Recovers traces that no recorder could write: from directories of `--buffers` after a recorder
 * was killed or its machine failed, and from core dumps of traced programs. Changes nothing there.
 * The data is not trusted: the program or another process may have written anything into it.
 *
 * This is a separate header because recovery needs no session, only its summary.
 */

#include "recorder/core/session.h"

struct session_recover_options {
	/* Called when the output directory exists and nothing was read yet; NULL: not needed. */
	void (*ready)(const char *output);
	const char *const *paths; /* directories of --buffers, folders in them, core dumps */
	size_t nr_paths;
	const char *output; /* as in struct session_options */
	bool force;
	enum session_format format;
	int compress;
	/* NULL, or called after each process, like the function of session_on_progress(). */
	void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost);
	void *progress_user;
};

/*
 * Writes a trace for each process found. Returns a negative errno if nothing could be read at all;
 * if only a part could not be read, the summary has a message. *ret_session can be passed only to
 * session_summary() and session_destroy().
 */
int session_recover(const struct session_recover_options *options, struct session **ret_session,
		struct error *error);

#endif
