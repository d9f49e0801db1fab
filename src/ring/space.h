/* SPDX-License-Identifier: MIT */
/* Makes a producer wait until a full ring has space (block mode). */
#ifndef SIDE_RING_SPACE_H
#define SIDE_RING_SPACE_H

#include "ring/section.h"

/* The timeout of one publication. */
struct ring_timeout {
	uint64_t deadline_ns; /* 0: it has not waited yet. */
};

/*
 * Waits until this ring has space for `bytes`, or its state has changed. True: try again. False: no
 * space can be expected, or the timeout is over. May change errno.
 */
bool ring_space_wait(struct ring_producer *producer, uint32_t ring, uint64_t bytes,
		struct ring_timeout *timeout);

/* Wake the producers that wait for space in `ring`. The consumer calls this after a release. */
void ring_space_released(const struct ring_memory *memory, uint32_t ring);

#endif /* SIDE_RING_SPACE_H */
