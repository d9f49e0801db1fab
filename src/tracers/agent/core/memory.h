/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_MEMORY_H
#define SIDE_TRACERS_AGENT_CORE_MEMORY_H

/*
 * Memory of sessions, generations, probe tables and batches: mapped pages, never malloc(), which
 * may be what is being traced.
 *
 * Callers: core and probes. Hold libside's event lock, or be the only thread of the process (before
 * main(), in a forked child). Never call this in a callback of an event or in a probe hit. In a
 * signal handler it is allowed with the lock: it allocates with mmap() alone.
 */

#include <stddef.h>

#define AGENT_RULES_MAX \
	(64u << 20) /* bytes that the rules of one session may take in this process */
#define AGENT_LINE \
	64 /* of the cache; memory of which only multiples of this are taken begins with one each time */

/* Memory that is given back all at once. */
struct agent_memory {
	struct agent_memory_chunk *chunks;
	size_t used;
};

/* Zeroed, 16-byte aligned; NULL: out of memory, or the session has too much. */
void *agent_memory_take(struct agent_memory *memory, size_t size);
void agent_memory_free(struct agent_memory *memory);
/* Zeroed pages. Give them back with the size that they were taken with. */
void *agent_pages_take(size_t size);
void agent_pages_give(void *pages, size_t size);
/* Unmap what is kept for the next change, too. */
void agent_memory_trim(void);

#endif
