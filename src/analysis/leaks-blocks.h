/* SPDX-License-Identifier: MIT */
/*
 * Blocks of memory by process and address: those that are allocated, and the last ones that were
 * freed.
 *
 * A freed block keeps its entry until the table grows, so that a second free can be reported with
 * the stack of the first one. The next allocation at the address reuses the entry. A table of the
 * largest size has no space for freed blocks.
 */
#ifndef SIDE_ANALYSIS_LEAKS_BLOCKS_H
#define SIDE_ANALYSIS_LEAKS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks that are allocated at the same time, in all processes of a trace. */
#define LEAKS_BLOCKS_MAX 6291456
/* Images of processes: an index has 24 bits in a block. */
#define LEAKS_IMAGES_MAX ((1u << 24) - 1)

enum leaks_block_state {
	LEAKS_BLOCK_NONE, /* an unused slot */
	LEAKS_BLOCK_ALIVE,
	LEAKS_BLOCK_FREED,
};

struct leaks_block {
	uint64_t address; /* never 0 in an entry */
	union {
		uint64_t size;     /* LEAKS_BLOCK_ALIVE */
		uint32_t freed_by; /* LEAKS_BLOCK_FREED: the stack that freed it */
	};
	int64_t ns;          /* of the allocation, or of the free */
	uint32_t stack;      /* the stack that allocated it */
	uint32_t image : 24; /* the image of the process */
	uint32_t reused : 6; /* how often the address was allocated while it was in use */
	uint32_t state : 2;  /* enum leaks_block_state */
};

/* All zero is an empty table. */
struct leaks_blocks {
	struct leaks_block *slots;
	size_t capacity; /* a power of two */
	size_t used;     /* entries, freed ones included */
	size_t alive;    /* entries in the state LEAKS_BLOCK_ALIVE */
	size_t limit;    /* of `alive`: three quarters of a power of two; 0: LEAKS_BLOCKS_MAX */
	bool no_memory;  /* an entry is missing because an allocation failed */
};

/* NULL: there is no entry. */
struct leaks_block *leaks_blocks_find(
		const struct leaks_blocks *blocks, uint32_t image, uint64_t address);
/*
 * Adds the entry of an address other than 0 that has none, in the state LEAKS_BLOCK_ALIVE. Other
 * entries move. NULL: the table is full, or out of memory.
 */
struct leaks_block *leaks_blocks_add(struct leaks_blocks *blocks, uint32_t image, uint64_t address);
/* The block is freed by a stack. Other entries may move. */
void leaks_blocks_release(
		struct leaks_blocks *blocks, struct leaks_block *block, uint32_t stack, int64_t ns);
/* A freed block is allocated again. */
void leaks_blocks_revive(struct leaks_blocks *blocks, struct leaks_block *block);
void leaks_blocks_free(struct leaks_blocks *blocks);

#endif /* SIDE_ANALYSIS_LEAKS_BLOCKS_H */
