/* SPDX-License-Identifier: MIT */
/* A hash table of blocks: open addressing, linear probing. */
#include "analysis/leaks-blocks.h"

#include <stdlib.h>

#define LEAKS_BLOCKS_FIRST 1024 /* slots of the first table */

_Static_assert(sizeof(struct leaks_block) == 32, "the largest table has 256 MiB");
_Static_assert(LEAKS_BLOCKS_MAX % 3 == 0, "a quarter of the largest table remains free");

static size_t leaks_blocks_limit(const struct leaks_blocks *blocks)
{
	return blocks->limit ? blocks->limit : LEAKS_BLOCKS_MAX;
}

/* The largest table has this size; it contains no freed blocks. */
static bool leaks_blocks_is_largest(const struct leaks_blocks *blocks, size_t capacity)
{
	return capacity >= leaks_blocks_limit(blocks) / 3 * 4;
}

static size_t leaks_blocks_hash(uint32_t image, uint64_t address)
{
	/* Allocators align blocks to 16 bytes: the lowest four bits are 0. */
	uint64_t hash = (address >> 4 ^ (uint64_t)image << 40 ^ address << 60) *
			UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash ^ hash >> 29);
}

/* The slot of an entry, or the free slot where it belongs. */
static struct leaks_block *leaks_blocks_slot(
		struct leaks_block *slots, size_t capacity, uint32_t image, uint64_t address)
{
	size_t mask = capacity - 1;

	for (size_t at = leaks_blocks_hash(image, address) & mask;; at = (at + 1) & mask) {
		struct leaks_block *slot = &slots[at];

		if (slot->state == LEAKS_BLOCK_NONE ||
				(slot->address == address && slot->image == image))
			return slot;
	}
}

struct leaks_block *leaks_blocks_find(
		const struct leaks_blocks *blocks, uint32_t image, uint64_t address)
{
	struct leaks_block *slot;

	if (!blocks->capacity)
		return NULL;
	slot = leaks_blocks_slot(blocks->slots, blocks->capacity, image, address);
	return slot->state == LEAKS_BLOCK_NONE ? NULL : slot;
}

/* Copies the entries to a new table; freed blocks are dropped if they are the majority. */
static bool leaks_blocks_rehash(struct leaks_blocks *blocks)
{
	bool drop = blocks->alive < blocks->used / 2;
	size_t capacity = !blocks->capacity ? LEAKS_BLOCKS_FIRST
			: drop              ? blocks->capacity
					    : blocks->capacity * 2;
	struct leaks_block *slots = calloc(capacity, sizeof(*slots));
	size_t used = 0;

	if (!slots) {
		blocks->no_memory = true;
		return false;
	}
	drop |= leaks_blocks_is_largest(blocks, capacity);
	for (size_t i = 0; i < blocks->capacity; i++) {
		const struct leaks_block *block = &blocks->slots[i];

		if (block->state == LEAKS_BLOCK_NONE || (drop && block->state == LEAKS_BLOCK_FREED))
			continue;
		*leaks_blocks_slot(slots, capacity, block->image, block->address) = *block;
		used++;
	}
	free(blocks->slots);
	blocks->slots = slots;
	blocks->capacity = capacity;
	blocks->used = used;
	return true;
}

struct leaks_block *leaks_blocks_add(struct leaks_blocks *blocks, uint32_t image, uint64_t address)
{
	struct leaks_block *slot;

	if (blocks->alive >= leaks_blocks_limit(blocks) || image > LEAKS_IMAGES_MAX)
		return NULL;
	if (blocks->used >= blocks->capacity / 4 * 3 && !leaks_blocks_rehash(blocks))
		return NULL;
	slot = leaks_blocks_slot(blocks->slots, blocks->capacity, image, address);
	*slot = (struct leaks_block){.address = address,
			.image = image & LEAKS_IMAGES_MAX,
			.state = LEAKS_BLOCK_ALIVE};
	blocks->used++;
	blocks->alive++;
	return slot;
}

/*
 * Removes an entry: later entries of its chain move towards their first slots, because a search
 * ends at a free slot.
 */
static void leaks_blocks_remove(struct leaks_blocks *blocks, struct leaks_block *block)
{
	size_t mask = blocks->capacity - 1, hole = (size_t)(block - blocks->slots), at = hole;

	for (;;) {
		const struct leaks_block *next;
		size_t first;

		at = (at + 1) & mask;
		next = &blocks->slots[at];
		if (next->state == LEAKS_BLOCK_NONE)
			break;
		first = leaks_blocks_hash(next->image, next->address) & mask;
		if (((at - first) & mask) < ((at - hole) & mask))
			continue;
		blocks->slots[hole] = *next;
		hole = at;
	}
	blocks->slots[hole] = (struct leaks_block){0};
	blocks->used--;
}

void leaks_blocks_release(
		struct leaks_blocks *blocks, struct leaks_block *block, uint32_t stack, int64_t ns)
{
	blocks->alive -= block->state == LEAKS_BLOCK_ALIVE;
	if (leaks_blocks_is_largest(blocks, blocks->capacity)) {
		leaks_blocks_remove(blocks, block);
		return;
	}
	block->state = LEAKS_BLOCK_FREED;
	block->freed_by = stack;
	block->ns = ns;
	block->reused = 0;
}

void leaks_blocks_revive(struct leaks_blocks *blocks, struct leaks_block *block)
{
	block->state = LEAKS_BLOCK_ALIVE;
	block->reused = 0;
	blocks->alive++;
}

void leaks_blocks_free(struct leaks_blocks *blocks)
{
	free(blocks->slots);
	*blocks = (struct leaks_blocks){.limit = blocks->limit};
}
