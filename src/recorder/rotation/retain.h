/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_ROTATION_RETAIN_H
#define SIDE_RECORDER_ROTATION_RETAIN_H

/*
 * How much of a long recording is kept: the oldest finished chunks are removed.
 *
 * retain_take() and retain_free(): main thread, while the drain thread does not run. All others: drain thread, without the session's lock,
 * which they take.
 */
#include <stdint.h>

#include "recorder/core/session.h"

/* The drain thread's. */
struct retention {
	uint64_t size, age_ns;
	uint32_t count;
	struct retained_chunk *chunks, *newest_chunk; /* finished and kept, oldest first */
	uint32_t nr;
	uint64_t bytes; /* of them */
	/* Under the lock: */
	uint32_t made, removed;
	uint64_t removed_bytes;
	char newest[64]; /* name */
};

int retain_take(struct session *session, const struct session_options *options,
		struct session_error *error);
void retain_add(struct session *session, const char *name, uint64_t bytes);
void retain_apply(struct session *session);
void retain_free(struct session *session);
/* 0 or a negative errno. Follows no links. */
int retain_remove_tree(const char *path);

#endif
