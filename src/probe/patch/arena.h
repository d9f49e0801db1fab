/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_ARENA_H
#define SIDE_PROBE_PATCH_ARENA_H

/* Memory near code, as the files know it that give it out: gaps.c where it can be, memory.c, slots.c. */

#include "parts.h"

#define PATCH_PAGE 4096ULL

struct patch_arena {
	uint64_t start, size;
	uint64_t used;  /* trampolines: bytes from the begin */
	uint8_t *taken; /* slots: one bit for each byte; NULL: an arena of trampolines */
	uint64_t full;  /* slots: all of so many bytes from the begin are taken */
	/* Bodies: of which kind; and one of each for each of them, but `hot`, of which there is one for each line. */
	struct patch_kind kind;
	struct patch_past *past;
	struct patch_hot *hot;
	struct patch *probes;
};

/* Memory that can be mapped, from `start` on; at least an arena. */
struct patch_gap {
	uint64_t start, end;
};

/* ---- gaps.c ---- */

/* How many there are, in the order of their addresses, and one of them; false: there are no more. */
size_t patch_gaps(void);
bool patch_gap(size_t index, struct patch_gap *gap);
/* These addresses are no gap any more. */
void patch_gaps_cut(uint64_t from, uint64_t to);
/* Gives back the memory of this. */
void patch_gaps_forget(void);

/* ---- memory.c ---- */

extern struct patch_arena patch_arenas[];
extern size_t patch_nr_arenas;

/* Within a gap, of trampolines of that kind, or with none (PATCH_SLOTS) of slots; NULL: there is none, or no memory. */
#define PATCH_SLOTS ((struct patch_kind){.bytes = 0})
struct patch_arena *patch_arena_map(uint64_t start, uint64_t size, struct patch_kind kind);

/* Of `taken`: whole pages. */
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
