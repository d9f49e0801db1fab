/* SPDX-License-Identifier: MIT */
/*
 * Memory of sessions and generations (channels and rules), allocated from one end of mapped pages;
 * and single mappings, such as batches of events.
 *
 * Each change of rules allocates some and frees that of the rules before. So one chunk and a few
 * pages are kept for the next change, until no change has come for a while. All of this needs
 * libside's event lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracers/agent/core/memory.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

#define CHUNK_SIZE ((size_t)64 << 10)
#define ALIGNMENT 16

struct agent_memory_chunk {
	struct agent_memory_chunk *next;
	size_t mapped;
	size_t used;
	size_t padding[5];
};
_Static_assert(sizeof(struct agent_memory_chunk) == AGENT_LINE && AGENT_LINE % ALIGNMENT == 0,
		"what follows it is aligned");

/*
 * ThreadSanitizer does not know that no thread reads old rules any more, unless they are unmapped.
 */
#ifdef RAW_IS_WATCHED
#define MAY_KEEP 0
#else
#define MAY_KEEP 1
#endif

#define PAGE_SIZE \
	((size_t)4096)   /* sizes are compared in units of it; the kernel may have larger pages */
#define KEPT_PAGES_MAX 4 /* libraries with events that a change finds memory for */
#define KEPT_SIZE_MAX (4 * PAGE_SIZE)

static struct agent_memory_chunk *kept;
static struct {
	void *at;
	size_t size;
} kept_pages[KEPT_PAGES_MAX];

/* Empty, as new ones are. */
static struct agent_memory_chunk *take_kept(void)
{
	struct agent_memory_chunk *chunk = kept;

	kept = NULL;
	if (chunk)
		memset(chunk, 0, chunk->used);
	return chunk;
}

static bool agent_memory_add_chunk(struct agent_memory *memory, size_t size)
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
	if ((!chunk || chunk->mapped - chunk->used < size) && !agent_memory_add_chunk(memory, size))
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

void agent_memory_trim(void)
{
	uint32_t i;

	if (kept)
		raw_munmap(kept, kept->mapped);
	kept = NULL;
	for (i = 0; i < KEPT_PAGES_MAX; i++) {
		if (kept_pages[i].at)
			raw_munmap(kept_pages[i].at, kept_pages[i].size);
		kept_pages[i].at = NULL;
	}
}

static size_t whole_pages(size_t size)
{
	return (size + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
}

void *agent_pages_take(size_t size)
{
	size_t mapped = whole_pages(size);
	uint32_t i;

	for (i = 0; i < KEPT_PAGES_MAX; i++) {
		void *pages = kept_pages[i].at;

		if (!pages || kept_pages[i].size != mapped)
			continue;
		kept_pages[i].at = NULL;
		return memset(pages, 0, size);
	}
	return raw_mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void agent_pages_give(void *pages, size_t size)
{
	size_t mapped = whole_pages(size);
	uint32_t i;

	for (i = 0; MAY_KEEP && mapped <= KEPT_SIZE_MAX && i < KEPT_PAGES_MAX; i++) {
		if (kept_pages[i].at)
			continue;
		kept_pages[i].at = pages;
		kept_pages[i].size = mapped;
		return;
	}
	raw_munmap(pages, mapped);
}
