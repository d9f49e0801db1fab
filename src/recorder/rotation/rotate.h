/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_ROTATE_H
#define SIDE_RECORDER_ROTATION_ROTATE_H

/*
 * Chunks: a recording that goes on for long is cut into directories that are complete in themselves.
 *
 * rotate_take() and rotate_free(): main thread, while the drain thread does not run. All others: drain thread, without the session's lock.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "recorder/core/session.h"
#include "recorder/storage/trace.h"

/* The drain thread's; `done` is written under the lock. */
struct rotation {
	uint64_t size, period_ns; /* 0: no limit */
	bool on_request;
	bool chunks;         /* traces go into chunks */
	bool looked;         /* at numbers that are taken */
	char *path;          /* of the chunk that is being written, or NULL */
	unsigned int number; /* of the last one */
	uint64_t bytes;      /* of it */
	uint64_t next;       /* when it ends, 0: no limit */
	uint32_t done;       /* requests */
	char **flat;         /* traces that are in no chunk */
	size_t nr_flat;
	atomic_uint wanted;       /* requests, by any thread */
	atomic_bool clear_wanted; /* by the last of them */
};

int rotate_take(struct session *session, const struct session_options *options,
		struct session_error *error);
/* Make the directory for new traces. */
int rotate_prepare(struct session *session, struct ctf_error *error);
/* So many bytes come now: begin the next chunk, if this one would become too large. */
void rotate_for(struct session *session, uint64_t bytes);
/* For struct session: calls the functions above, and retain_apply(). */
extern const struct trace_hooks rotate_trace_hooks;
/* Once a round: all of `wanted` was wanted before the round. */
uint32_t rotate_wanted(const struct session *session);
void rotate_turn(struct session *session, uint32_t wanted);
bool rotate_is_called(const struct session *session);
int rotate_timeout(const struct session *session, int timeout_ms);
void rotate_end(struct session *session);
void rotate_free(struct session *session);
/* A trace that is in no chunk, for a later request for chunks. */
void rotate_note_flat(struct session *session, const char *directory);

#endif
