/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_OUTPUT_H
#define SIDE_RECORDER_STORAGE_OUTPUT_H

/*
 * The output directory: it contains the traces of a session.
 *
 * Callers: the session's start and recovery; trace.c for output_traces_path(). Main thread, before
 * the drain thread runs. No lock.
 */
#include <stdbool.h>

#include "ctf/ctf.h"
#include "recorder/core/session.h"

/* Set before the drain thread runs, then constant. */
struct session_output {
	char *path;
	int lock; /* held while traces are written; `side view --follow` checks it */
	enum ctf_format format;
	int compress; /* level of zstd; 0: none */
};

int output_create(struct session *session, const char *output, bool force, struct error *error);
/* Locks the directory, so that a reader that follows a trace knows that it can still grow. */
void output_lock(struct session *session);
/*
 * Returns the directory for new traces: the output directory, or the current chunk if one exists.
 * Drain thread.
 */
const char *output_traces_path(const struct session *session);

#endif
