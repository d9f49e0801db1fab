/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_OUTPUT_H
#define SIDE_RECORDER_STORAGE_OUTPUT_H

/*
 * The directory that holds the traces of a session.
 *
 * Callers: the life of a session and recoveries; trace.c for output_traces_path(). Main thread, before the drain thread runs. No lock.
 */
#include <stdbool.h>

#include "ctf/ctf.h"
#include "recorder/core/session.h"

/* The output directory. Set before the drain thread runs; constant then. */
struct session_output {
	char *path;
	int lock; /* held while traces are written: `side view --follow` checks it */
	enum ctf_format format;
	int compress; /* level of zstd; 0: none */
};

int output_create(struct session *session, const char *output, bool force,
		struct session_error *error);
/* Lock the directory: a reader that follows the trace sees by this lock that more may come. */
void output_lock(struct session *session);
/* The directory for new traces, once it exists: the output directory, or the chunk that is being written. Drain thread. */
const char *output_traces_path(const struct session *session);

#endif
