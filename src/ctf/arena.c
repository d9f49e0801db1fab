/* SPDX-License-Identifier: MIT */
/* Allocates memory that is freed all at once. */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/arena.h"

/* Blocks are as large as all earlier ones together: there may be thousands of small arenas. */
#define CTF_ARENA_BLOCK_MIN ((size_t)2 << 10)
#define CTF_ARENA_BLOCK_MAX ((size_t)64 << 10)

struct ctf_arena_block {
	struct ctf_arena_block *next;
	size_t used;
	size_t size;
	alignas(max_align_t) unsigned char bytes[];
};

struct ctf_arena {
	struct ctf_arena_block *blocks; /* Allocations use the first one. */
	size_t used;
	bool has_failed;
};

struct ctf_arena *ctf_arena_create(void)
{
	return calloc(1, sizeof(struct ctf_arena));
}

void ctf_arena_destroy(struct ctf_arena *arena)
{
	if (!arena)
		return;
	while (arena->blocks) {
		struct ctf_arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	free(arena);
}

static size_t arena_block_size(const struct ctf_arena *arena)
{
	if (arena->used < CTF_ARENA_BLOCK_MIN)
		return CTF_ARENA_BLOCK_MIN;
	return arena->used < CTF_ARENA_BLOCK_MAX ? arena->used : CTF_ARENA_BLOCK_MAX;
}

static struct ctf_arena_block *arena_new_block(size_t size)
{
	struct ctf_arena_block *block = calloc(1, sizeof(*block) + size);

	if (block)
		block->size = size;
	return block;
}

void *ctf_arena_alloc(struct ctf_arena *arena, size_t count, size_t size)
{
	const size_t unit = alignof(max_align_t);
	struct ctf_arena_block *block = arena->blocks;
	void *memory;

	if (__builtin_mul_overflow(count, size, &size) || size > SIZE_MAX / 4) {
		arena->has_failed = true;
		return NULL;
	}
	size = (size + unit - 1) & ~(unit - 1);
	if (!block || block->size - block->used < size) {
		size_t normal = arena_block_size(arena);
		bool large = size > normal / 4;
		struct ctf_arena_block *fresh = arena_new_block(large ? size : normal);

		if (!fresh) {
			arena->has_failed = true;
			return NULL;
		}
		if (large && block) {
			/* Continue to use the old one. */
			fresh->next = block->next;
			block->next = fresh;
		} else {
			fresh->next = block;
			arena->blocks = fresh;
		}
		block = fresh;
	}
	memory = block->bytes + block->used;
	block->used += size;
	arena->used += size;
	return memory;
}

char *ctf_arena_copy(struct ctf_arena *arena, const char *text, size_t size)
{
	char *copy = ctf_arena_alloc(arena, size + 1, 1);

	if (copy && size)
		memcpy(copy, text, size);
	return copy;
}

size_t ctf_arena_used(const struct ctf_arena *arena)
{
	return arena->used;
}

void ctf_arena_fail(struct ctf_arena *arena)
{
	arena->has_failed = true;
}

bool ctf_arena_has_failed(const struct ctf_arena *arena)
{
	return arena->has_failed;
}
