/* SPDX-License-Identifier: MIT */
/* Allocates slots for single jumps, at distances of which some bytes are fixed. */
#include "arena.h"

#define REACH 0x7fff0000LL

/* Where the last one was found, because neighbouring sites have similar constraints. */
static size_t last_slots;

/* Returns the smallest distance that is not below `from` and has the fixed bytes; false: none. */
static bool patch_slots_next_distance(
		const struct patch_distance *wanted, int64_t from, int32_t *ret_distance)
{
	/* Unsigned, so that all bytes are compared in the same way. */
	uint64_t value = (uint64_t)(from + 0x80000000LL), limit = 0x100000000ULL;
	uint8_t fixed[4];

	if (from < -0x80000000LL)
		value = 0;
	for (int i = 0; i < 4; i++)
		fixed[i] = wanted->value[i] ^ (i == 3 ? 0x80 : 0);
	for (int i = 3; i >= 0; i--) {
		uint64_t unit = 1ULL << (8 * i), have = value / unit % 256;

		if (!wanted->fixed[i] || have == fixed[i])
			continue;
		value -= value % (unit * 256);
		value += fixed[i] * unit;
		if (have > fixed[i]) {
			/* The bytes above grow by one, and are checked again. */
			value += unit * 256;
			i = 4;
			if (value >= limit)
				return false;
		}
	}
	if (value >= limit)
		return false;
	*ret_distance = (int32_t)(uint32_t)(value ^ 0x80000000u);
	return true;
}

static bool patch_slots_is_used(const struct patch_arena *arena, uint64_t at)
{
	return arena->taken[at / 8] >> (at % 8) & 1;
}

static bool patch_slots_is_free(const struct patch_arena *arena, uint64_t at)
{
	for (unsigned int i = 0; i < SLOT_BYTES; i++) {
		if (patch_slots_is_used(arena, at + i))
			return false;
	}
	return true;
}

static void patch_slots_set_used(struct patch_arena *arena, uint64_t at, bool take)
{
	for (unsigned int i = 0; i < SLOT_BYTES; i++) {
		uint8_t bit = (uint8_t)(1U << ((at + i) % 8)), *byte = &arena->taken[(at + i) / 8];

		*byte = (uint8_t)(take ? *byte | bit : *byte & ~bit);
	}
}

static uint64_t patch_slots_take_in(
		struct patch_arena *arena, uint64_t base, const struct patch_distance *distance)
{
	uint64_t from = arena->start + arena->full;
	int32_t away;

	/* Each try that fails has met a used slot. */
	while (patch_slots_next_distance(distance, (int64_t)(from - base), &away)) {
		uint64_t slot = base + (uint64_t)(int64_t)away;

		if (slot < arena->start || slot + SLOT_BYTES > arena->start + arena->size)
			return 0;
		if (patch_slots_is_free(arena, slot - arena->start)) {
			patch_slots_set_used(arena, slot - arena->start, true);
			while (arena->full < arena->size && patch_slots_is_used(arena, arena->full))
				arena->full++;
			return slot;
		}
		from = slot + 1;
	}
	return 0;
}

/*
 * True if a jump from the location reaches each slot of the arena, and the jump of each slot
 * reaches the trampoline.
 */
static bool patch_slots_reach(uint64_t base, uint64_t trampoline, uint64_t start, uint64_t end)
{
	return patch_reaches(base, start, REACH) && patch_reaches(trampoline, start, REACH) &&
			patch_reaches(trampoline, end, REACH);
}

static struct patch_arena *patch_slots_map(
		uint64_t base, uint64_t trampoline, const struct patch_distance *distance)
{
	const uint64_t upper = base > trampoline ? base : trampoline;
	struct patch_arena *arena = NULL;
	struct patch_gap gap;

	for (size_t i = 0; !arena && patch_gap(i, &gap); i++) {
		uint64_t from = gap.start, start, end, slot;
		int32_t away;

		/*
		 * The arena of the slot begins at a multiple of its size, which must be in reach
		 * too.
		 */
		if (!patch_reaches(upper, from, REACH)) {
			if (from > upper)
				continue;
			from = ((upper - (uint64_t)REACH) / PATCH_ARENA_BYTES + 1) *
					PATCH_ARENA_BYTES;
		}
		if (!patch_slots_next_distance(distance, (int64_t)(from - base), &away))
			continue;
		slot = base + (uint64_t)(int64_t)away;
		if (slot < from || slot + SLOT_BYTES > gap.end)
			continue;
		start = slot & ~(PATCH_ARENA_BYTES - 1);
		end = start + PATCH_ARENA_BYTES +
				(slot + SLOT_BYTES > start + PATCH_ARENA_BYTES ? PATCH_PAGE : 0);
		if (start < gap.start)
			start = (gap.start + PATCH_PAGE - 1) & ~(PATCH_PAGE - 1);
		if (end > gap.end)
			end = gap.end & ~(PATCH_PAGE - 1);
		if (start <= slot && slot + SLOT_BYTES <= end &&
				patch_slots_reach(base, trampoline, start, end))
			arena = patch_arena_map(start, end - start, PATCH_SLOTS);
	}
	return arena;
}

static uint64_t patch_slots_take(size_t index, uint64_t base, uint64_t trampoline,
		const struct patch_distance *distance)
{
	struct patch_arena *arena = &patch_arenas[index];
	uint64_t slot;

	if (!arena->taken ||
			!patch_slots_reach(
					base, trampoline, arena->start, arena->start + arena->size))
		return 0;
	slot = patch_slots_take_in(arena, base, distance);
	if (slot)
		last_slots = index;
	return slot;
}

uint64_t patch_slot_memory(
		uint64_t site, uint64_t trampoline, const struct patch_distance *distance)
{
	uint64_t base = site + PROBE_JUMP_BYTES, slot = 0;

	if (patch_nr_arenas)
		slot = patch_slots_take(last_slots, base, trampoline, distance);
	for (size_t i = 0; !slot && i < patch_nr_arenas; i++)
		slot = patch_slots_take(i, base, trampoline, distance);
	if (!slot && patch_slots_map(base, trampoline, distance))
		slot = patch_slots_take(patch_nr_arenas - 1, base, trampoline, distance);
	return slot;
}

static struct patch_arena *patch_slots_arena_of(uint64_t slot)
{
	for (size_t i = 0; i < patch_nr_arenas; i++) {
		uint64_t at = slot - patch_arenas[i].start;

		if (patch_arenas[i].taken && slot >= patch_arenas[i].start &&
				at + SLOT_BYTES <= patch_arenas[i].size)
			return &patch_arenas[i];
	}
	return NULL;
}

void patch_slot_return(uint64_t slot)
{
	struct patch_arena *arena = patch_slots_arena_of(slot);

	if (!arena)
		return;
	patch_slots_set_used(arena, slot - arena->start, false);
	if (slot - arena->start < arena->full)
		arena->full = slot - arena->start;
}

void patch_slot_recall(uint64_t slot)
{
	struct patch_arena *arena = patch_slots_arena_of(slot);

	if (arena)
		patch_slots_set_used(arena, slot - arena->start, true);
}
