/* SPDX-License-Identifier: MIT */
/*
 * Memory that lives as long as a session: channels and rules. Mapped pages, handed out from one end.
 *
 * Each change of rules takes some and gives back those of before: one chunk is kept for the next, as all
 * of this is under libside's event lock, until nothing has changed for a while.
 */
#include <string.h>

#include "agent/agent.h"
#include "wire/raw.h"

#include <sys/mman.h>

#define CHUNK_SIZE ((size_t)64 << 10)
#define ALIGNMENT 16

struct agent_memory_chunk {
	struct agent_memory_chunk *next;
	size_t mapped;
	size_t used;
	size_t padding;
};
_Static_assert(sizeof(struct agent_memory_chunk) % ALIGNMENT == 0, "what follows it is aligned");

/* The checker of races does not see that nobody reads old rules any more, unless they are unmapped. */
#ifdef RAW_MAPPINGS_ARE_SEEN
#define MAY_KEEP 0
#else
#define MAY_KEEP 1
#endif

static struct agent_memory_chunk *kept;

/* Empty, as new ones are. */
static struct agent_memory_chunk *take_kept(void)
{
	struct agent_memory_chunk *chunk = kept;

	kept = NULL;
	if (chunk)
		memset(chunk, 0, chunk->used);
	return chunk;
}

static bool add_chunk(struct agent_memory *memory, size_t size)
{
	size_t mapped = sizeof(struct agent_memory_chunk) + size;
	struct agent_memory_chunk *chunk = NULL;

	if (mapped < CHUNK_SIZE)
		mapped = CHUNK_SIZE;
	if (mapped == CHUNK_SIZE)
		chunk = take_kept();
	if (!chunk)
		chunk = raw_mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1);
	if (!chunk)
		return false;
	*chunk = (struct agent_memory_chunk){
			.next = memory->chunks,
			.mapped = mapped,
			.used = sizeof(*chunk),
	};
	memory->chunks = chunk;
	return true;
}

void *agent_memory_take(struct agent_memory *memory, size_t size)
{
	struct agent_memory_chunk *chunk = memory->chunks;
	void *taken;

	if (size > AGENT_RULES_MAX - memory->used)
		return NULL;
	size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if ((!chunk || chunk->mapped - chunk->used < size) && !add_chunk(memory, size))
		return NULL;
	chunk = memory->chunks;
	taken = (char *)chunk + chunk->used;
	chunk->used += size;
	memory->used += size;
	return taken;
}

void agent_memory_free(struct agent_memory *memory)
{
	while (memory->chunks) {
		struct agent_memory_chunk *chunk = memory->chunks;

		memory->chunks = chunk->next;
		if (MAY_KEEP && chunk->mapped == CHUNK_SIZE && !kept)
			kept = chunk;
		else
			raw_munmap(chunk, chunk->mapped);
	}
	memory->used = 0;
}

void agent_memory_rest(void)
{
	if (kept)
		raw_munmap(kept, kept->mapped);
	kept = NULL;
}
