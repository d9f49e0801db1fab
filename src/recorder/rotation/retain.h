/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_RETAIN_H
#define SIDE_RECORDER_ROTATION_RETAIN_H

/*
 * Limits the size of a long recording: removes the oldest finished chunks.
 *
 * retain_take() and retain_free(): main thread, while the drain thread does not run. All others:
 * drain thread, without the session's lock, which they take.
 */
#include <stdint.h>

#include "recorder/core/session.h"

/* Drain thread only, except the members marked below. */
struct retention {
	uint64_t size, age_ns;
	uint32_t count;
	/* finished chunks that still exist, oldest first */
	struct retained_chunk *chunks, *newest_chunk;
	uint32_t nr;
	uint64_t bytes; /* of these chunks */
	/* Written with the lock held: */
	uint32_t made, removed;
	uint64_t removed_bytes;
	char newest[64]; /* name of the newest finished chunk */
};

int retain_take(struct session *session, const struct session_options *options,
		struct error *error);
void retain_add(struct session *session, const char *name, uint64_t bytes);
void retain_apply(struct session *session);
void retain_free(struct session *session);
/* Removes a directory with its content; follows no links. Returns 0 or a negative errno. */
int retain_remove_tree(const char *path);

#endif
