/* SPDX-License-Identifier: MIT */
/*
 * Memory near code, in gaps of the address space.
 */
#include "parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ULL
#define ARENA_BYTES 65536ULL
#define ARENAS_MAX 1024
#define REACH 0x7fff0000LL
#define NEAR 0x40000000LL /* leaves room for what the code refers to */
/* If there is nothing nearer: kernels put the heap of a program with fixed addresses up to 1 GiB behind it. */
#define FAR 0x70000000LL
#define REUSE_TRIES 64
#define LOWEST 0x10000ULL
#define HIGHEST 0x7ffffffff000ULL
/* The heap grows into the gap behind it. */
#define HEAP_ROOM 0x10000000ULL
/* The first thread's stack grows into the gap before it: what nobody takes, beside what its limit says. */
#define STACK_ROOM 0x40000000ULL

struct arena {
	uint64_t start, size;
	uint64_t used;  /* bodies: bytes from the begin */
	uint8_t *taken; /* slots: one byte each; NULL: an arena of bodies */
	uint64_t full;  /* slots: all of so many bytes from the begin are taken */
};

struct gap {
	uint64_t start, end;
};

static struct arena arenas[ARENAS_MAX];
static size_t nr_arenas;
static size_t last_slots; /* where the last one was found: places beside one another want the like */
static uint64_t *returned; /* bodies */
static size_t nr_returned, returned_room;
static struct gap *gaps; /* in their order */
static size_t nr_gaps, gaps_room;
static bool gaps_known;
static uint64_t address_space;

/* ---- the address space ---- */

/* Those that are too small for an arena are none. */
static bool insert_gap(size_t at, uint64_t start, uint64_t end)
{
	struct gap *more;

	if (start >= end || end - start < ARENA_BYTES)
		return false;
	if (nr_gaps == gaps_room) {
		more = reallocarray(gaps, gaps_room ? gaps_room * 2 : 64, sizeof(*gaps));
		if (!more)
			return false;
		gaps = more;
		gaps_room = gaps_room ? gaps_room * 2 : 64;
	}
	memmove(gaps + at + 1, gaps + at, (nr_gaps - at) * sizeof(*gaps));
	gaps[at] = (struct gap){start, end};
	nr_gaps++;
	return true;
}

/* These addresses are no gap any more. */
static void cut_gap(uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < nr_gaps; i++) {
		struct gap gap = gaps[i];

		if (gap.end <= from || gap.start >= to)
			continue;
		memmove(gaps + i, gaps + i + 1, (--nr_gaps - i) * sizeof(*gaps));
		if (gap.start < from && insert_gap(i, gap.start, from))
			i++;
		if (gap.end > to && insert_gap(i, to, gap.end))
			i++;
		i--;
	}
}

/*
 * Where the stack does not grow to. Kernels put libraries below a gap of that size, so what is left of it is often all that
 * is free near those of a program that has mapped much.
 */
static uint64_t below_stack(uint64_t stack)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > stack / 2 ||
			limit.rlim_cur + STACK_ROOM > stack)
		return 0;
	return (stack - limit.rlim_cur - STACK_ROOM) & ~(PAGE - 1);
}

static void read_gaps(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t last = LOWEST, heap = (uint64_t)syscall(SYS_brk, 0);
	char *line = NULL;
	size_t size = 0;

	nr_gaps = 0;
	while (maps && getline(&line, &size, maps) > 0) {
		unsigned long long start, end;

		if (sscanf(line, "%llx-%llx", &start, &end) != 2 || start >= HIGHEST)
			continue;
		if (start > last)
			insert_gap(nr_gaps, last,
					strstr(line, "[stack]") ? below_stack(start) : start);
		last = end;
	}
	free(line);
	if (maps)
		fclose(maps);
	/* It may not have begun yet. */
	cut_gap(heap, heap + HEAP_ROOM);
	gaps_known = maps != NULL;
}

/* Others map memory, too, so what is known of it is soon old. */
void patch_memory_look(void)
{
	gaps_known = false;
}

static void know_gaps(void)
{
	if (!gaps_known)
		read_gaps();
}

static struct arena *map_arena(uint64_t start, uint64_t size, bool slots)
{
	struct arena *arena = &arenas[nr_arenas];
	void *memory;

	if (nr_arenas == ARENAS_MAX)
		return NULL;
	/* Ours now, or somebody else's since the gaps were read. */
	cut_gap(start, start + size);
	memory = mmap((void *)start, size, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if ((uint64_t)memory != start) {
		/* A kernel that takes it for a hint. */
		munmap(memory, size);
		return NULL;
	}
	*arena = (struct arena){.start = start, .size = size};
	if (slots) {
		arena->taken = calloc(1, size);
		if (!arena->taken) {
			munmap(memory, size);
			return NULL;
		}
	} else {
		patch_frames_add(start, size);
	}
	nr_arenas++;
	address_space += size;
	return arena;
}

static bool reaches(uint64_t from, uint64_t to, int64_t reach)
{
	int64_t away = (int64_t)(to - from);

	return away > -reach && away < reach;
}

uint64_t patch_memory_bytes(void)
{
	return address_space;
}

void *patch_memory_anywhere(size_t size, int protection)
{
	void *memory = mmap(
			NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	address_space += size;
	return memory;
}

/* ---- bodies ---- */

static struct arena *new_bodies(uint64_t near, int64_t reach)
{
	struct arena *arena = NULL;

	know_gaps();
	/* Below, from the nearest on; then above. */
	for (size_t i = nr_gaps; !arena && i-- > 0;) {
		uint64_t start = (gaps[i].end - ARENA_BYTES) & ~(ARENA_BYTES - 1);

		if (gaps[i].end <= near && start >= gaps[i].start && reaches(near, start, reach))
			arena = map_arena(start, ARENA_BYTES, false);
	}
	for (size_t i = 0; !arena && i < nr_gaps; i++) {
		uint64_t start = (gaps[i].start + ARENA_BYTES - 1) & ~(ARENA_BYTES - 1);

		if (gaps[i].start > near && start + ARENA_BYTES <= gaps[i].end &&
				reaches(near, start, reach))
			arena = map_arena(start, ARENA_BYTES, false);
	}
	return arena;
}

static struct arena *find_bodies(uint64_t near, int64_t reach)
{
	for (size_t i = 0; i < nr_arenas; i++) {
		struct arena *arena = &arenas[i];

		if (!arena->taken && arena->used + BODY_BYTES <= arena->size &&
				reaches(near, arena->start, reach))
			return arena;
	}
	return new_bodies(near, reach);
}

/* One that was given back, of those that were last. */
static uint64_t reuse_body(uint64_t near)
{
	for (size_t i = nr_returned; i > 0 && i + REUSE_TRIES > nr_returned; i--) {
		uint64_t body = returned[i - 1];

		if (reaches(near, body, NEAR)) {
			returned[i - 1] = returned[--nr_returned];
			return body;
		}
	}
	return 0;
}

uint64_t patch_body_memory(uint64_t near)
{
	uint64_t body = reuse_body(near);
	struct arena *found = body ? NULL : find_bodies(near, NEAR);

	if (body)
		return body;
	if (!found)
		found = find_bodies(near, FAR);
	if (!found)
		return 0;
	found->used += BODY_BYTES;
	return found->start + found->used - BODY_BYTES;
}

void patch_body_return(uint64_t body)
{
	uint64_t *more;

	for (size_t i = 0; i < nr_arenas; i++) {
		if (!arenas[i].taken && body == arenas[i].start + arenas[i].used - BODY_BYTES) {
			arenas[i].used -= BODY_BYTES;
			return;
		}
	}
	if (nr_returned == returned_room) {
		more = reallocarray(
				returned, returned_room ? returned_room * 2 : 64, sizeof(*more));
		if (!more)
			return;
		returned = more;
		returned_room = returned_room ? returned_room * 2 : 64;
	}
	returned[nr_returned++] = body;
}

/* ---- slots ---- */

/* The smallest distance that is not below this one and has the fixed bytes; false: none. */
static bool next_distance(const struct patch_distance *wanted, int64_t from, int32_t *result)
{
	/* Unsigned, so that all bytes count alike. */
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
			/* The bytes above grow by one, and are looked at again. */
			value += unit * 256;
			i = 4;
			if (value >= limit)
				return false;
		}
	}
	if (value >= limit)
		return false;
	*result = (int32_t)(uint32_t)(value ^ 0x80000000u);
	return true;
}

static bool slot_is_free(const struct arena *arena, uint64_t at)
{
	for (unsigned int i = 0; i < SLOT_BYTES; i++) {
		if (arena->taken[at + i])
			return false;
	}
	return true;
}

static uint64_t slot_in(struct arena *arena, uint64_t base, const struct patch_distance *distance)
{
	uint64_t from = arena->start + arena->full;
	int32_t away;

	/* Each try that fails has met a slot. */
	while (next_distance(distance, (int64_t)(from - base), &away)) {
		uint64_t slot = base + (uint64_t)(int64_t)away;

		if (slot < arena->start || slot + SLOT_BYTES > arena->start + arena->size)
			return 0;
		if (slot_is_free(arena, slot - arena->start)) {
			memset(arena->taken + (slot - arena->start), 1, SLOT_BYTES);
			while (arena->full < arena->size && arena->taken[arena->full])
				arena->full++;
			return slot;
		}
		from = slot + 1;
	}
	return 0;
}

static struct arena *new_slots(uint64_t base, uint64_t body, const struct patch_distance *distance)
{
	struct arena *arena = NULL;

	know_gaps();
	for (size_t i = 0; !arena && i < nr_gaps; i++) {
		uint64_t from = gaps[i].start, start, end, slot;
		int32_t away;

		if (!reaches(base, from, REACH)) {
			if (gaps[i].end <= base - (uint64_t)REACH || from > base)
				continue;
			from = base - (uint64_t)REACH;
		}
		if (!next_distance(distance, (int64_t)(from - base), &away))
			continue;
		slot = base + (uint64_t)(int64_t)away;
		if (slot < from || slot + SLOT_BYTES > gaps[i].end || !reaches(body, slot, REACH))
			continue;
		start = slot & ~(ARENA_BYTES - 1);
		end = start + ARENA_BYTES + (slot + SLOT_BYTES > start + ARENA_BYTES ? PAGE : 0);
		if (start < gaps[i].start)
			start = (gaps[i].start + PAGE - 1) & ~(PAGE - 1);
		if (end > gaps[i].end)
			end = gaps[i].end & ~(PAGE - 1);
		if (start <= slot && slot + SLOT_BYTES <= end)
			arena = map_arena(start, end - start, true);
	}
	return arena;
}

static uint64_t slot_of_arena(
		size_t index, uint64_t base, uint64_t body, const struct patch_distance *distance)
{
	struct arena *arena = &arenas[index];
	uint64_t slot;

	if (!arena->taken || !reaches(base, arena->start, REACH) ||
			!reaches(body, arena->start, REACH) ||
			!reaches(body, arena->start + arena->size, REACH))
		return 0;
	slot = slot_in(arena, base, distance);
	if (slot)
		last_slots = index;
	return slot;
}

uint64_t patch_slot_memory(uint64_t site, uint64_t body, const struct patch_distance *distance)
{
	uint64_t base = site + PROBE_JUMP_BYTES, slot = 0;

	if (nr_arenas)
		slot = slot_of_arena(last_slots, base, body, distance);
	for (size_t i = 0; !slot && i < nr_arenas; i++)
		slot = slot_of_arena(i, base, body, distance);
	if (!slot && new_slots(base, body, distance))
		slot = slot_of_arena(nr_arenas - 1, base, body, distance);
	return slot;
}

void patch_slot_return(uint64_t slot)
{
	for (size_t i = 0; i < nr_arenas; i++) {
		uint64_t at = slot - arenas[i].start;

		if (!arenas[i].taken || slot < arenas[i].start || at + SLOT_BYTES > arenas[i].size)
			continue;
		memset(arenas[i].taken + at, 0, SLOT_BYTES);
		if (at < arenas[i].full)
			arenas[i].full = at;
	}
}

int patch_start(bool plain)
{
	static bool started;
	int ret;

	patch_writer_plain = plain;
	if (started)
		return 0;
	patch_frames_start();
	ret = patch_hit_start();
	if (!ret)
		ret = patch_trap_start();
	started = !ret;
	return ret;
}
