/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_ARENA_H
#define SIDE_PROBE_PATCH_ARENA_H

/*
 * Memory near code, shared by the files that allocate it: gaps.c finds it, memory.c and slots.c
 * allocate in it.
 */

#include "parts.h"

#define PATCH_PAGE 4096ULL

struct patch_arena {
	uint64_t start, size;
	uint64_t used;  /* bytes in use, from the begin */
	uint8_t *taken; /* slots: one bit for each byte; NULL: an arena of trampolines */
	uint64_t full;  /* slots: all bytes before this one are in use */
	/*
	 * Trampolines: their properties, and arrays with an element for each of them; of `hot`, an
	 * element for each cache line.
	 */
	struct patch_kind kind;
	struct patch_past *past;
	struct patch_hot *hot;
	struct patch *patches;
};

/* Unmapped addresses from `start` on, at least the size of an arena. */
struct patch_gap {
	uint64_t start, end;
};

/* ---- gaps.c ---- */

/*
 * The number of gaps, and one of them, in the order of their addresses. False: the index is too
 * large.
 */
size_t patch_gaps(void);
bool patch_gap(size_t index, struct patch_gap *ret_gap);
/* Removes these addresses from the gaps. */
void patch_gaps_cut(uint64_t from, uint64_t to);
/* Frees the list of gaps; it is read again when it is needed. */
void patch_gaps_forget(void);

/* ---- memory.c ---- */

extern struct patch_arena patch_arenas[];
extern size_t patch_nr_arenas;

/*
 * Maps an arena within a gap: of trampolines of that kind, or with PATCH_SLOTS of slots. NULL: the
 * addresses are in use, or out of memory.
 */
#define PATCH_SLOTS ((struct patch_kind){.bytes = 0})
struct patch_arena *patch_arena_map(uint64_t start, uint64_t size, struct patch_kind kind);

/* Size of `taken`, in whole pages. */
static inline size_t patch_taken_bytes(const struct patch_arena *arena)
{
	return (arena->size / 8 + PATCH_PAGE - 1) & ~(PATCH_PAGE - 1);
}

static inline bool patch_reaches(uint64_t from, uint64_t to, int64_t reach)
{
	int64_t away = (int64_t)(to - from);

	return away > -reach && away < reach;
}

#endif /* SIDE_PROBE_PATCH_ARENA_H */
