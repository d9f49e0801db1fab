/* SPDX-License-Identifier: MIT */
/* The portable writer: private to the room and its tests. */
#ifndef SIDE_RING_PORTABLE_H
#define SIDE_RING_PORTABLE_H

#include "ring/section.h"

#define RING_LOCK_WORDS 8 /* One lock a cache line. */

/* A payload in two pieces. */
struct ring_parts {
	const void *head;
	size_t head_size;
	const void *body;
	size_t body_size;
};

/* Publish in any ring; a RING_SECTION_ code. */
int ring_portable_publish(
		struct ring_producer *producer, uint32_t event_id, const struct ring_parts *parts);

/* Write one record of the time `now` into a ring that nobody else writes. */
int ring_portable_write(const struct ring_producer *producer, const struct ring_location *location,
		uint32_t event_id, const struct ring_parts *parts, uint64_t now);

/* Whether this thread holds a ring further up its stack, for others to wait for. */
bool ring_portable_nested(const struct ring_producer *producer);

/* The ring that this thread should try first. */
uint32_t ring_portable_cpu(const struct ring_producer *producer);
/* replay.c: what the thread of this token records in the place of somebody else; NULL: nothing. */
const struct ring_replay *ring_portable_replay(uint64_t self);
/* A value that no other living thread has. */
uint64_t ring_thread_token(void);

#endif /* SIDE_RING_PORTABLE_H */
