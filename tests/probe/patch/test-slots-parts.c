/* SPDX-License-Identifier: MIT */
/*
 * Exact addresses of new memory for jumps: which gap, the position in it, and the size. The test
 * includes the file, and plays the gaps and the mappings.
 */
#include <stdio.h>
#include <string.h>

#include "probe/patch/arena.h"

#include "../../check.h"

static struct patch_gap fake_gaps[4];
static size_t nr_fake_gaps;
static struct patch_arena fake_arenas[4];
static size_t nr_fake_arenas;
static uint8_t fake_taken[4][4 * PATCH_ARENA_BYTES / 8];
static bool fails;
static unsigned int nr_maps;

static bool fake_gap(size_t index, struct patch_gap *gap)
{
	if (index >= nr_fake_gaps)
		return false;
	*gap = fake_gaps[index];
	return true;
}

static struct patch_arena *fake_map(uint64_t start, uint64_t size, struct patch_kind kind)
{
	struct patch_arena *arena = &fake_arenas[nr_fake_arenas];

	nr_maps++;
	CHECK(!kind.bytes && !kind.follows && nr_fake_arenas < 4 && size <= 2 * PATCH_ARENA_BYTES);
	if (fails)
		return NULL;
	memset(fake_taken[nr_fake_arenas], 0, sizeof(fake_taken[0]));
	*arena = (struct patch_arena){
			.start = start, .size = size, .taken = fake_taken[nr_fake_arenas++]};
	return arena;
}

#define patch_arenas fake_arenas
#define patch_nr_arenas nr_fake_arenas
#define patch_gap(index, gap) fake_gap(index, gap)
#define patch_arena_map fake_map
#include "probe/patch/slots.c"
#undef patch_gap

#define SITE UINT64_C(0x200000000)
#define BASE (SITE + PROBE_JUMP_BYTES)
#define ARENA ((uint64_t)PATCH_ARENA_BYTES)
#define FAR UINT64_C(0x7fff0000)

static const struct patch_distance any = {.fixed = {0}};

static void begin(uint64_t start, uint64_t end)
{
	nr_fake_gaps = 1;
	fake_gaps[0] = (struct patch_gap){start, end};
	nr_fake_arenas = nr_maps = 0;
	last_slots = 0;
}

static bool is_arena(unsigned int index, uint64_t start, uint64_t size)
{
	if (index < nr_fake_arenas && fake_arenas[index].start == start &&
			fake_arenas[index].size == size)
		return true;
	fprintf(stderr, "%u of %zu: %lx+%lx\n", index, nr_fake_arenas, fake_arenas[index].start,
			fake_arenas[index].size);
	return false;
}

static uint64_t slot(const struct patch_distance *distance)
{
	return patch_slot_memory(SITE, SITE, distance);
}

/* The begin of a gap, or as far below the location as a jump reaches. */
static void test_reach(void)
{
	const uint64_t low = BASE - FAR, first = (low + ARENA) & ~(ARENA - 1);

	begin(SITE + 8 * ARENA, SITE + 16 * ARENA);
	CHECK(slot(&any) == SITE + 8 * ARENA && is_arena(0, SITE + 8 * ARENA, ARENA));
	/* A gap that begins below; its last bytes can be reached, or cannot. */
	begin(SITE - 4 * FAR, SITE);
	CHECK(slot(&any) == first && nr_maps == 1 && is_arena(0, first, ARENA));
	begin(SITE - 4 * FAR, first + SLOT_BYTES - 1);
	CHECK(!slot(&any) && !nr_maps);
	begin(SITE + 2 * FAR, SITE + 3 * FAR);
	CHECK(!slot(&any) && !nr_maps);
	/* The first gap is too far away, the second one is not. */
	begin(SITE - 4 * FAR, SITE - 3 * FAR);
	fake_gaps[nr_fake_gaps++] = (struct patch_gap){SITE + ARENA, SITE + 4 * ARENA};
	fake_gaps[nr_fake_gaps++] = (struct patch_gap){SITE + 8 * ARENA, SITE + 9 * ARENA};
	CHECK(slot(&any) == SITE + ARENA && is_arena(0, SITE + ARENA, ARENA));
	/* The trampoline must reach it too, and may be above the location. */
	begin(SITE - 4 * FAR, SITE);
	CHECK(patch_slot_memory(SITE, SITE + 0x12345678, &any) ==
			((SITE + 0x12345678 - FAR + ARENA) & ~(ARENA - 1)));
	begin(SITE - 4 * FAR, SITE);
	CHECK(patch_slot_memory(SITE, SITE - 0x12345678, &any) == first);
	begin(SITE + 8 * ARENA, SITE + 16 * ARENA);
	CHECK(!patch_slot_memory(SITE, SITE + 16 * ARENA + FAR, &any) && !nr_maps);
	CHECK(!patch_slot_memory(SITE, SITE + 8 * ARENA - FAR, &any) && !nr_maps);
	/* Without memory there is no slot, in none of the gaps. */
	begin(SITE + 8 * ARENA, SITE + 16 * ARENA);
	fake_gaps[nr_fake_gaps++] = (struct patch_gap){SITE + 32 * ARENA, SITE + 33 * ARENA};
	fails = true;
	CHECK(!slot(&any) && nr_maps == 2 && !nr_fake_arenas);
	fails = false;
}

/* A slot with a fixed distance: where its arena begins and ends. */
static void test_fixed(void)
{
	const uint64_t at = SITE + 40 * ARENA;
	struct patch_distance wanted = {.fixed = {1, 1, 1, 1}};
	int32_t away;

	for (unsigned int i = 0; i < 8; i++) {
		/*
		 * From the last slot in an arena of a page on to the first bytes of the next arena.
		 */
		const uint64_t to = at + ARENA - SLOT_BYTES - 3 + i;
		bool crosses = to + SLOT_BYTES > at + ARENA && to < at + ARENA;

		begin(at, at + 4 * ARENA);
		away = (int32_t)(to - BASE);
		memcpy(wanted.value, &away, 4);
		CHECK(slot(&wanted) == to);
		CHECK(is_arena(0, to < at + ARENA ? at : at + ARENA, ARENA + (crosses ? 4096 : 0)));
		/* The same bytes are in use by now. */
		nr_fake_gaps = 0;
		CHECK(!slot(&wanted) && nr_maps == 1);
	}
	/* The gap begins within the arena, at no page, or ends there. */
	begin(at + 0x1800, at + 4 * ARENA);
	away = (int32_t)(at + 0x2000 - BASE);
	memcpy(wanted.value, &away, 4);
	CHECK(slot(&wanted) == at + 0x2000 && is_arena(0, at + 0x2000, ARENA - 0x2000));
	begin(at + 0x1800, at + 4 * ARENA);
	away--;
	memcpy(wanted.value, &away, 4);
	CHECK(!slot(&wanted) && !nr_maps);
	begin(at, at + 0x5800);
	away = (int32_t)(at + 0x5000 - SLOT_BYTES - BASE);
	memcpy(wanted.value, &away, 4);
	CHECK(slot(&wanted) == at + 0x5000 - SLOT_BYTES && is_arena(0, at, 0x5000));
	begin(at, at + 0x5800);
	away++;
	memcpy(wanted.value, &away, 4);
	CHECK(!slot(&wanted) && !nr_maps);
	/* Before the gap, and after its last slot. */
	begin(at, at + ARENA);
	away = (int32_t)(at - 1 - BASE);
	memcpy(wanted.value, &away, 4);
	CHECK(!slot(&wanted) && !nr_maps);
	away = (int32_t)(at + ARENA - SLOT_BYTES + 1 - BASE);
	memcpy(wanted.value, &away, 4);
	CHECK(!slot(&wanted) && !nr_maps);
}

/* The arena of the last slot is tried first, then the others, and then there is a new one. */
static void test_order(void)
{
	begin(SITE + 8 * ARENA, SITE + 9 * ARENA);
	CHECK(slot(&any) == SITE + 8 * ARENA && last_slots == 0);
	fake_gaps[0] = (struct patch_gap){SITE + 16 * ARENA, SITE + 17 * ARENA};
	CHECK(slot(&any) == SITE + 8 * ARENA + SLOT_BYTES && nr_maps == 1);
	memset(fake_taken[0], 0xff, sizeof(fake_taken[0]));
	fake_arenas[0].full = ARENA;
	CHECK(slot(&any) == SITE + 16 * ARENA && nr_maps == 2 && last_slots == 1);
	patch_slot_return(SITE + 8 * ARENA + 64);
	CHECK(slot(&any) == SITE + 16 * ARENA + SLOT_BYTES && last_slots == 1);
	last_slots = 0;
	CHECK(slot(&any) == SITE + 8 * ARENA + 64 && last_slots == 0);
	CHECK(slot(&any) == SITE + 16 * ARENA + 2 * SLOT_BYTES && last_slots == 1 && nr_maps == 2);
	/* Unknown slots are ignored. */
	patch_slot_return(SITE);
	patch_slot_recall(SITE);
}

int main(void)
{
	test_reach();
	test_fixed();
	test_order();
	return 0;
}
