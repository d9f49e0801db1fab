/* SPDX-License-Identifier: MIT */
/*
 * Memory near code, in gaps of the address space, and what belongs to it: for each body there is a probe and what is to be
 * known of it while nothing is set. All of it is mapped, and none is the program's heap's, so that it can be given back.
 */
#include "parts.h"

#include <errno.h>
#include <link.h>
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
#define OWNED_MAX (ARENAS_MAX + 64)
#define LOOK_PAGES 256
#define LOWEST 0x10000ULL
#define HIGHEST 0x7ffffffff000ULL
/* The heap grows into the gap behind it. */
#define HEAP_ROOM 0x10000000ULL
/* The first thread's stack grows into the gap before it: what nobody takes, beside what its limit says. */
#define STACK_ROOM 0x40000000ULL

struct arena {
	uint64_t start, size;
	uint64_t used;  /* bodies: bytes from the begin */
	uint8_t *taken; /* slots: one bit for each byte; NULL: an arena of bodies */
	uint64_t full;  /* slots: all of so many bytes from the begin are taken */
	/* Bodies: one of each for each of them. */
	struct patch_past *past;
	struct patch_probe *probes;
};

#define BODIES (ARENA_BYTES / BODY_BYTES)
#define PAST_BYTES ((BODIES * sizeof(struct patch_past) + PAGE - 1) & ~(PAGE - 1))
#define PROBES_BYTES ((BODIES * sizeof(struct patch_probe) + PAGE - 1) & ~(PAGE - 1))

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

/* All that was mapped, but arenas. */
static struct {
	void *at;
	size_t size;
} owned[OWNED_MAX];
static size_t nr_owned;

uint64_t side_probe_kept;

void *patch_memory_anywhere(size_t size, int protection)
{
	void *memory = mmap(
			NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (nr_owned < OWNED_MAX) {
		owned[nr_owned].at = memory;
		owned[nr_owned++].size = size;
	}
	address_space += size;
	return memory;
}

/* Of these pages, what stands in memory. */
static uint64_t resident(uintptr_t at, size_t size)
{
	unsigned char there[LOOK_PAGES];
	uint64_t bytes = 0;

	for (size_t done = 0; done < size; done += LOOK_PAGES * PAGE) {
		size_t some = size - done < LOOK_PAGES * PAGE ? size - done : LOOK_PAGES * PAGE;

		if (mincore((void *)(at + done), some, there))
			break;
		for (size_t i = 0; i < (some + PAGE - 1) / PAGE; i++)
			bytes += there[i] & 1 ? PAGE : 0;
	}
	return bytes;
}

void patch_memory_drop(void *memory, size_t size)
{
	uintptr_t begin = ((uintptr_t)memory + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t end = ((uintptr_t)memory + size) & ~(uintptr_t)(PAGE - 1);

	/* Memory that the program has locked stays, and what stands there. */
	if (begin < end && madvise((void *)begin, end - begin, MADV_DONTNEED))
		memset((void *)begin, 0, end - begin);
}

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

/* Whole pages. */
static size_t taken_bytes(const struct arena *arena)
{
	return (arena->size / 8 + PAGE - 1) & ~(PAGE - 1);
}

/* What belongs to one, from the same number on. */
static bool map_beside(struct arena *arena, bool slots)
{
	uint8_t *beside;

	if (slots) {
		arena->taken = patch_memory_anywhere(taken_bytes(arena), PROT_READ | PROT_WRITE);
		return arena->taken != NULL;
	}
	beside = patch_memory_anywhere(PAST_BYTES + PROBES_BYTES, PROT_READ | PROT_WRITE);
	arena->past = (struct patch_past *)(void *)beside;
	arena->probes = (struct patch_probe *)(void *)(beside ? beside + PAST_BYTES : NULL);
	return beside != NULL;
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
	if (!map_beside(arena, slots)) {
		munmap(memory, size);
		return NULL;
	}
	if (!slots)
		patch_frames_add(start, size);
	address_space += size;
	/* Release: all of it. Pairs with the acquire in patch_was_place(). */
	__atomic_store_n(&nr_arenas, nr_arenas + 1, __ATOMIC_RELEASE);
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

struct patch_probe *patch_body_probe(uint64_t body)
{
	for (size_t i = 0; i < nr_arenas; i++) {
		if (!arenas[i].taken && body - arenas[i].start < arenas[i].size)
			return &arenas[i].probes[(body - arenas[i].start) / BODY_BYTES];
	}
	return NULL;
}

struct patch_past *patch_body_past(uint64_t body)
{
	for (size_t i = 0; i < nr_arenas; i++) {
		if (!arenas[i].taken && body - arenas[i].start < arenas[i].size)
			return &arenas[i].past[(body - arenas[i].start) / BODY_BYTES];
	}
	return NULL;
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

static bool is_taken(const struct arena *arena, uint64_t at)
{
	return arena->taken[at / 8] >> (at % 8) & 1;
}

static bool slot_is_free(const struct arena *arena, uint64_t at)
{
	for (unsigned int i = 0; i < SLOT_BYTES; i++) {
		if (is_taken(arena, at + i))
			return false;
	}
	return true;
}

static void take_slot(struct arena *arena, uint64_t at, bool take)
{
	for (unsigned int i = 0; i < SLOT_BYTES; i++) {
		uint8_t bit = (uint8_t)(1U << ((at + i) % 8)), *byte = &arena->taken[(at + i) / 8];

		*byte = (uint8_t)(take ? *byte | bit : *byte & ~bit);
	}
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
			take_slot(arena, slot - arena->start, true);
			while (arena->full < arena->size && is_taken(arena, arena->full))
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

static struct arena *slots_with(uint64_t slot)
{
	for (size_t i = 0; i < nr_arenas; i++) {
		uint64_t at = slot - arenas[i].start;

		if (arenas[i].taken && slot >= arenas[i].start && at + SLOT_BYTES <= arenas[i].size)
			return &arenas[i];
	}
	return NULL;
}

void patch_slot_return(uint64_t slot)
{
	struct arena *arena = slots_with(slot);

	if (!arena)
		return;
	take_slot(arena, slot - arena->start, false);
	if (slot - arena->start < arena->full)
		arena->full = slot - arena->start;
}

void patch_slot_recall(uint64_t slot)
{
	struct arena *arena = slots_with(slot);

	if (arena)
		take_slot(arena, slot - arena->start, true);
}

/* ---- while nothing is set ---- */

/* Of the library that this is part of. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static uint64_t own_variables(void)
{
	uintptr_t start = (uintptr_t)&__ehdr_start;
	const ElfW(Phdr) *parts = (const ElfW(Phdr) *)(const void *)(start + __ehdr_start.e_phoff);
	/* Addresses are the file's own in a library, and not in a program with fixed ones. */
	uintptr_t bias = __ehdr_start.e_type == ET_DYN ? start : 0;
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < __ehdr_start.e_phnum; i++) {
		uintptr_t from = bias + parts[i].p_vaddr, page = from & ~(uintptr_t)(PAGE - 1);

		if (parts[i].p_type == PT_LOAD && (parts[i].p_flags & PF_W))
			bytes += resident(page, from + parts[i].p_memsz - page);
	}
	return bytes;
}

/* What is left of all this. */
static void tell_kept(uint64_t kept_code)
{
	uint64_t bytes = kept_code + own_variables();

	for (size_t i = 0; i < nr_arenas; i++)
		bytes += resident(arenas[i].start, arenas[i].size);
	for (size_t i = 0; i < nr_owned; i++)
		bytes += resident((uintptr_t)owned[i].at, owned[i].size);
	/* Relaxed: a figure, for whoever looks at it from outside. */
	__atomic_store_n(&side_probe_kept, bytes, __ATOMIC_RELAXED);
}

void patch_memory_rest(uint64_t kept_code)
{
	for (size_t i = 0; i < nr_arenas; i++) {
		if (!arenas[i].taken)
			patch_memory_drop(arenas[i].probes, PROBES_BYTES);
		else
			patch_memory_drop(arenas[i].taken, taken_bytes(&arenas[i]));
		arenas[i].full = 0;
	}
	free(gaps);
	gaps = NULL;
	nr_gaps = gaps_room = 0;
	gaps_known = false;
	tell_kept(kept_code);
}

void patch_memory_recall(void (*tell)(struct patch_past *past, uint64_t body))
{
	for (size_t i = 0; i < nr_arenas; i++) {
		for (uint64_t at = 0; !arenas[i].taken && at < arenas[i].used; at += BODY_BYTES) {
			if (arenas[i].past[at / BODY_BYTES].what)
				tell(&arenas[i].past[at / BODY_BYTES], arenas[i].start + at);
		}
	}
	/* Relaxed: as above. */
	__atomic_store_n(&side_probe_kept, 0, __ATOMIC_RELAXED);
}

bool patch_was_place(uint64_t address)
{
	/* Acquire: pairs with the release in map_arena(). */
	size_t count = __atomic_load_n(&nr_arenas, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < count; i++) {
		for (size_t at = 0; !arenas[i].taken && at < BODIES; at++) {
			/* Relaxed: those of the last rest are there before any trap is not. */
			uint64_t what = __atomic_load_n(&arenas[i].past[at].what, __ATOMIC_RELAXED);
			uint64_t site = what & ((UINT64_C(1) << PATCH_PAST_BITS) - 1);

			if (site &&
					(address - site < PROBE_JUMP_BYTES ||
							address ==
									__atomic_load_n(&arenas[i].past[at]
													 .slot,
											__ATOMIC_RELAXED)))
				return true;
		}
	}
	return false;
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
		ret = patch_places_start();
	if (!ret)
		ret = patch_trap_start();
	started = !ret;
	return ret;
}
