/* SPDX-License-Identifier: MIT */
/* The portable writer. Private to this module and its tests. */
#ifndef SIDE_RING_PORTABLE_H
#define SIDE_RING_PORTABLE_H

#include "ring/section.h"

/* A payload in two pieces. */
struct ring_two_part {
	const void *head;
	size_t head_size;
	const void *body;
	size_t body_size;
};

/* Publish in any ring; returns a RING_SECTION_ code. */
int ring_portable_publish(struct ring_producer *producer, uint32_t event_id,
		const struct ring_two_part *parts);

/* Write one record with the time `now` into a ring that no other thread writes. */
int ring_portable_write(const struct ring_producer *producer, const struct ring_location *location,
		uint32_t event_id, const struct ring_two_part *parts, uint64_t now);

/* Whether this thread holds a ring further up its stack, on which other threads may wait. */
bool ring_portable_nested(const struct ring_producer *producer);

/* The ring that this thread tries first. */
uint32_t ring_portable_cpu(const struct ring_producer *producer);
/* In replay.c: the time and CPU that the thread with this token replays; NULL: none. */
const struct ring_replay *ring_portable_replay(uint64_t self);
/* A value that is unique among the living threads. */
uint64_t ring_thread_token(void);

#endif /* SIDE_RING_PORTABLE_H */
