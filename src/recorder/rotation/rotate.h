/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_ROTATE_H
#define SIDE_RECORDER_ROTATION_ROTATE_H

/*
 * Chunks: splits a long recording into directories that are each complete.
 *
 * rotate_take() and rotate_free(): main thread, while the drain thread does not run. All others:
 * drain thread, without the session's lock.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "recorder/core/session.h"
#include "recorder/storage/trace.h"

/* Drain thread only; it writes `done` with the lock held. */
struct rotation {
	uint64_t size, period_ns; /* 0: no limit */
	bool on_request;
	bool chunks;         /* traces go into chunks */
	bool numbers_read;   /* existing numbers of chunks were read */
	char *path;          /* path of the chunk that is being written, or NULL */
	unsigned int number; /* of the last chunk */
	uint64_t bytes;      /* bytes of the current chunk */
	uint64_t next;       /* end of the current chunk; 0: no limit */
	uint32_t done;       /* number of the last request that was handled */
	char **flat;         /* traces outside of chunks */
	size_t nr_flat;
	atomic_uint wanted;       /* number of the last request, incremented by any thread */
	atomic_bool clear_wanted; /* the last request is from session_clear() */
};

int rotate_take(struct session *session, const struct session_options *options,
		struct error *error);
/* Creates the directory for new traces. Returns 0 or a negative errno. */
int rotate_prepare(struct session *session, struct error *error);
/*
 * Call before a packet of this size is written: begins the next chunk if this one would become too
 * large.
 */
void rotate_for(struct session *session, uint64_t bytes);
/* For struct session: calls the functions above, and retain_apply(). */
extern const struct trace_hooks rotate_trace_hooks;
/*
 * rotate_wanted() returns the last request before a round, and rotate_turn() handles it after the
 * round.
 */
uint32_t rotate_wanted(const struct session *session);
void rotate_turn(struct session *session, uint32_t wanted);
bool rotate_is_called(const struct session *session);
int rotate_timeout(const struct session *session, int timeout_ms);
void rotate_end(struct session *session);
void rotate_free(struct session *session);
/* Remembers a trace outside of chunks: a later request for chunks moves it into the first one. */
void rotate_note_flat(struct session *session, const char *directory);

#endif
