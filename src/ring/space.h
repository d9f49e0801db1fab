/* SPDX-License-Identifier: MIT */
/* Waiting for room in a full ring (block mode). Private to the room. */
#ifndef SIDE_RING_SPACE_H
#define SIDE_RING_SPACE_H

#include "ring/section.h"

/* One publication's patience. */
struct ring_timeout {
	uint64_t deadline_ns; /* 0: it has not waited yet. */
};

/*
 * Wait until there is room for `bytes` in this ring, or something has changed: true, try again. False:
 * there is no hope, or the time is up. errno may change.
 */
bool ring_space_wait(struct ring_producer *producer, uint32_t ring, uint64_t bytes,
		struct ring_timeout *timeout);

/* The consumer has released something of `ring`. */
void ring_space_released(const struct ring_memory *memory, uint32_t ring);

#endif /* SIDE_RING_ROOM_H */
