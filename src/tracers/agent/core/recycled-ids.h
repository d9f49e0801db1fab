/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_RECYCLED_IDS_H
#define SIDE_TRACERS_AGENT_CORE_RECYCLED_IDS_H

/*
 * Ids of events that were unregistered, for when the same events are registered again.
 *
 * Callers: batch.c, renew.c and session-end.c, with libside's event lock or as the only thread of
 * the process. agent_hash() may be called anywhere. Nothing here is called in a callback of an
 * event or in a probe hit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of an encoded description and its contexts, or of all rules of a generation. */
struct agent_hash {
	uint64_t low, high;
};

struct agent_recycled_ids {
	struct agent_recycled_id *table;
	size_t capacity; /* a power of two, or 0 */
	size_t nr_used;
};

struct agent_hash agent_hash(const void *bytes, size_t size);
void agent_recycled_ids_put(struct agent_recycled_ids *ids, struct agent_hash hash, uint32_t id);
bool agent_recycled_ids_take(
		struct agent_recycled_ids *ids, struct agent_hash hash, uint32_t *ret_id);
void agent_recycled_ids_forget(struct agent_recycled_ids *ids);

#endif
