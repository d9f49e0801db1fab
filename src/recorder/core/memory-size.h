/* SPDX-License-Identifier: MIT */
/*
 * The size of the rings of a process.
 *
 * Callers: memory and leases, in any thread. No lock: channels do not change.
 */
#ifndef SIDE_RECORDER_CORE_MEMORY_SIZE_H
#define SIDE_RECORDER_CORE_MEMORY_SIZE_H

#include <stdint.h>

#include "ring/ring.h"

struct channel;
struct session;

/* Returns the geometry of a channel whose rings are halved `halvings` times. */
struct ring_geometry memory_size_geometry(const struct session *session,
		const struct channel *channel, unsigned int halvings);
/* Returns the memory of one process whose rings are halved `halvings` times; 0 on overflow. */
uint64_t memory_size_of_process(const struct session *session, unsigned int halvings);
/* Returns the memory of one process with the requested rings. */
uint64_t memory_most(const struct session *session);

#endif /* SIDE_RECORDER_CORE_MEMORY_SIZE_H */
