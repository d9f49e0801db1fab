/* SPDX-License-Identifier: MIT */
/*
 * Exact values of arenas of trampolines, of springboards and of the table of traps: limits at the
 * last entry and one more, what is freed and used again, and what is found afterwards. The test
 * includes the files, so that it can call their static functions.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/patch/arena.h"

#include "../../resources.h"

/* The number of entries of the last call; the call can be made to fail. */
static size_t asked_entries;
static bool realloc_fails;

static void *hooked_reallocarray(void *old, size_t count, size_t size)
{
	asked_entries = count;
	return realloc_fails ? NULL : reallocarray(old, count, size);
}

/*
 * The mmap() that fails and the one that maps elsewhere, counted from 1 (0: none), and whether the
 * write of an arena's heads fails.
 */
static unsigned int mmap_fails, mmap_at, mmap_moves, write_fails;

static void *hooked_mmap(
		void *address, size_t size, int protection, int flags, int fd, int64_t offset)
{
	mmap_at++;
	if (mmap_at == mmap_fails)
		return MAP_FAILED;
	/* Like a kernel that takes the address as a hint. */
	return mmap(mmap_at == mmap_moves ? NULL : address, size, protection,
			mmap_at == mmap_moves ? flags & ~MAP_FIXED_NOREPLACE : flags, fd, offset);
}

static int hooked_write(
		struct patch_writer *writer, uint64_t address, const void *bytes, size_t size)
{
	return write_fails ? -EIO : patch_write(writer, address, bytes, size);
}

#define mmap hooked_mmap
#define patch_write hooked_write
#define reallocarray hooked_reallocarray
#include "probe/patch/memory.c"
#undef reallocarray
#undef patch_write
#undef mmap

#include "probe/patch/springboards.c"
#undef BREAKPOINT

#include "probe/patch/trap.c"

#include "../../check.h"

static const struct patch_kind small = {.bytes = TRAMPOLINE_BYTES},
			       large = {.bytes = TRAMPOLINE_BYTES_MAX, .follows = true},
			       followed = {.bytes = TRAMPOLINE_BYTES, .follows = true};

/* ---- arenas ---- */

static void test_reaches(void)
{
	CHECK(patch_reaches(1000, 1099, 100) && !patch_reaches(1000, 1100, 100) &&
			patch_reaches(1000, 901, 100) && !patch_reaches(1000, 900, 100));
	/* One byte for 8 bytes, in whole pages. */
	for (uint64_t pages = 1; pages <= 9; pages++) {
		const struct patch_arena arena = {.size = 8 * pages * PATCH_PAGE},
					 more = {.size = 8 * pages * PATCH_PAGE + 8};

		CHECK(patch_taken_bytes(&arena) == pages * PATCH_PAGE &&
				patch_taken_bytes(&more) == (pages + 1) * PATCH_PAGE);
	}
	CHECK(patch_memory_is_same_kind(small, small) &&
			!patch_memory_is_same_kind(small, followed) &&
			!patch_memory_is_same_kind(large, followed));
}

static void test_trampolines(void)
{
	uint64_t near = (uint64_t)(uintptr_t)test_trampolines, first, second, third, other, big;
	size_t before = patch_nr_arenas;
	struct patch *patch;

	first = patch_trampoline_memory(near, small);
	second = patch_trampoline_memory(near, small);
	third = patch_trampoline_memory(near, small);
	CHECK(first && second == first + TRAMPOLINE_BYTES && third == second + TRAMPOLINE_BYTES);
	CHECK(first % PATCH_ARENA_BYTES == HEADS_BYTES && patch_nr_arenas == before + 1 &&
			patch_reaches(near, first, NEAR));
	other = patch_trampoline_memory(near, followed);
	big = patch_trampoline_memory(near, large);
	CHECK(other % PATCH_ARENA_BYTES == HEADS_BYTES && big % PATCH_ARENA_BYTES == HEADS_BYTES &&
			patch_nr_arenas == before + 3);
	CHECK(patch_trampoline_memory(near, large) == big + TRAMPOLINE_BYTES_MAX);
	CHECK(patch_memory_is_same_kind(patch_trampoline_kind(first), small) &&
			patch_memory_is_same_kind(patch_trampoline_kind(big), large));
	patch = patch_trampoline_patch(second);
	CHECK(patch == patch_trampoline_patch(first) + 1 &&
			patch->hot == patch_trampoline_patch(first)->hot + 1 &&
			patch_trampoline_past(second) == patch_trampoline_past(first) + 1);
	CHECK(patch_trampoline_patch(big + TRAMPOLINE_BYTES_MAX) ==
					patch_trampoline_patch(big) + 1 &&
			patch_trampoline_patch(big + TRAMPOLINE_BYTES_MAX)->hot ==
					patch_trampoline_patch(big)->hot + 4);
	/*
	 * The last trampoline is free again; others are used again, the latest first, by
	 * trampolines of their kind.
	 */
	patch_trampoline_return(third);
	CHECK(patch_trampoline_memory(near, small) == third);
	patch_trampoline_return(first);
	patch_trampoline_return(second);
	CHECK(patch_trampoline_memory(near, followed) == other + TRAMPOLINE_BYTES);
	CHECK(patch_trampoline_memory(near, small) == second &&
			patch_trampoline_memory(near, small) == first);
	patch_trampoline_return(first);
	CHECK(!patch_memory_reuse_trampoline(near + NEAR + PATCH_ARENA_BYTES * 4, small) &&
			patch_memory_reuse_trampoline(near, small) == first);
	/* Only the latest ones are tried. */
	{
		uint64_t trampolines[REUSE_TRIES + 2];

		for (unsigned int i = 0; i < REUSE_TRIES + 2; i++)
			trampolines[i] = patch_trampoline_memory(near, followed);
		patch_trampoline_return(first);
		for (unsigned int i = 0; i + 1 < REUSE_TRIES; i++)
			patch_trampoline_return(trampolines[i]);
		CHECK(patch_memory_reuse_trampoline(near, small) == first);
		nr_returned = 0;
		patch_trampoline_return(first);
		for (unsigned int i = 0; i < REUSE_TRIES; i++)
			patch_trampoline_return(trampolines[i]);
		CHECK(nr_returned == REUSE_TRIES + 1 &&
				!patch_memory_reuse_trampoline(near, small));
	}
	/*
	 * The list has space for 64, then for twice as many; if it cannot grow, the trampoline is
	 * lost.
	 */
	free(returned);
	returned = NULL;
	nr_returned = returned_capacity = 0;
	for (unsigned int i = 1; i <= 129; i++) {
		realloc_fails = i == 65;
		asked_entries = 0;
		patch_trampoline_return(first);
		CHECK(nr_returned == (i < 65 ? i : i < 66 ? 64 : i - 1));
		CHECK(asked_entries == (i == 1 ? 64 : i == 65 || i == 66 ? 128 : 0));
		CHECK(returned_capacity == (i < 66 ? 64 : 128));
	}
	realloc_fails = false;
	patch_trampoline_return(first);
	CHECK(nr_returned == 129 && returned_capacity == 256 && asked_entries == 256);
	nr_returned = 0;
	{
		uint64_t lowest = UINT64_MAX, highest = 0;

		for (size_t i = 0; i < patch_nr_arenas; i++) {
			lowest = patch_arenas[i].start < lowest ? patch_arenas[i].start : lowest;
			highest = patch_arenas[i].start > highest ? patch_arenas[i].start : highest;
		}
		CHECK(patch_is_trampoline(first) && patch_is_trampoline(lowest) &&
				!patch_is_trampoline(lowest - 1));
		CHECK(patch_is_trampoline(highest + PATCH_ARENA_BYTES - 1) &&
				!patch_is_trampoline(highest + PATCH_ARENA_BYTES));
	}
	/* The arena is full at its last trampoline. */
	{
		struct patch_arena *arena = patch_memory_arena_of(big);
		size_t count = patch_nr_arenas;
		uint64_t last;

		arena->used = arena->size - TRAMPOLINE_BYTES_MAX;
		last = patch_trampoline_memory(near, large);
		CHECK(last == arena->start + arena->size - TRAMPOLINE_BYTES_MAX &&
				patch_nr_arenas == count);
		CHECK(patch_trampoline_memory(near, large) && patch_nr_arenas == count + 1);
	}
}

static void test_many_arenas(void)
{
	size_t before = patch_nr_arenas;

	/* The last arena, and no free one. */
	patch_nr_arenas = ARENAS_MAX - 1;
	CHECK(patch_memory_new_trampolines((uint64_t)(uintptr_t)test_reaches, NEAR, small) ==
					&patch_arenas[ARENAS_MAX - 1] &&
			patch_nr_arenas == ARENAS_MAX);
	CHECK(!patch_memory_new_trampolines((uint64_t)(uintptr_t)test_reaches, NEAR, small));
	CHECK(!patch_arena_map(0x10000000, PATCH_ARENA_BYTES, small));
	patch_nr_arenas = before;
	/* Mapped memory is no gap. */
	CHECK(!patch_arena_map(patch_arenas[0].start, PATCH_ARENA_BYTES, small) &&
			patch_nr_arenas == before);
}

/* A failed arena leaves nothing: its memory, its data or its heads cannot be made. */
static void test_failed_arenas(void)
{
	const struct patch_kind slots = {0};
	uint64_t start =
			patch_memory_new_trampolines((uint64_t)(uintptr_t)test_reaches, NEAR, small)
					->start;
	size_t before = patch_nr_arenas, owned_before = nr_owned;
	uint64_t bytes = patch_memory_bytes();
	struct resources now;

	/* Its address is free again. */
	patch_nr_arenas--;
	before--;
	munmap((void *)start, PATCH_ARENA_BYTES);
	now = resources_now();
	for (unsigned int call = 1; call <= 4; call++) {
		mmap_at = 0;
		mmap_fails = call <= 2 ? call : 0;
		mmap_moves = call == 3;
		write_fails = call == 4;
		CHECK(!patch_arena_map(start, PATCH_ARENA_BYTES, small) &&
				patch_nr_arenas == before && nr_owned == owned_before &&
				patch_memory_bytes() == bytes);
		CHECK(call != 2 || mmap_at == 2);
		CHECK(resources_are_same(now, resources_now()));
		if (call > 2)
			continue;
		mmap_at = 0;
		CHECK(!patch_arena_map(start, PATCH_ARENA_BYTES, slots) &&
				resources_are_same(now, resources_now()));
	}
	mmap_fails = mmap_moves = 0;
	/* Slots have no head. */
	CHECK(patch_arena_map(start, PATCH_ARENA_BYTES, slots) && patch_nr_arenas == before + 1 &&
			patch_arenas[before].taken && !patch_arenas[before].used &&
			nr_owned == owned_before + 1);
	write_fails = 0;
	patch_nr_arenas--;
	munmap((void *)start, PATCH_ARENA_BYTES);
	CHECK(patch_arena_map(start, PATCH_ARENA_BYTES, small) &&
			patch_arenas[before].used == HEADS_BYTES && nr_owned == owned_before + 2);
}

/* ---- tables that the test fills, up to their last entry ---- */

static uint64_t reported[4];
static unsigned int nr_reported;

static void report_address(uint64_t address)
{
	CHECK(nr_reported < 4);
	reported[nr_reported++] = address;
}

static void test_last_entries(void)
{
	static struct patch_past pasts[2][PATCH_ARENA_BYTES / TRAMPOLINE_BYTES];
	static struct patch_hot hots[2];
	static struct patch some[2];
	struct patch_arena *saved = malloc(2 * sizeof(*saved));
	const size_t nr = patch_nr_arenas, nr_all = nr_owned,
		     nr_springboards_visited = nr_springboards;
	const __typeof__(owned[0]) one = owned[0], other = owned[1];
	const struct springboard springboard = springboards[0], second = springboards[1];

	CHECK(saved);
	memcpy(saved, patch_arenas, 2 * sizeof(*saved));
	for (unsigned int i = 0; i < 2; i++)
		patch_arenas[i] = (struct patch_arena){.start = 0x10000 * (i + 1),
				.size = PATCH_ARENA_BYTES,
				.kind = small,
				.past = pasts[i],
				.hot = &hots[i],
				.patches = &some[i]};
	/* One arena begins where another one ends. */
	CHECK(PATCH_ARENA_BYTES == 0x10000 && patch_memory_arena_of(0x10000) == &patch_arenas[0] &&
			patch_memory_arena_of(0x1ffff) == &patch_arenas[0] &&
			patch_memory_arena_of(0x20000) == &patch_arenas[1]);
	patch_nr_arenas = 1;
	CHECK(patch_is_trampoline(0x10000) && patch_is_trampoline(0x1ffff) &&
			!patch_is_trampoline(0x20000) && !patch_is_trampoline(0xffff));
	pasts[0][0].packed = 0x7000;
	pasts[0][PATCH_ARENA_BYTES / TRAMPOLINE_BYTES - 1].packed = 0x8000;
	pasts[1][3].packed = 0x9000;
	CHECK(patch_was_location(0x7000) && patch_was_location(0x8004) &&
			!patch_was_location(0x9000));
	patch_nr_arenas = 2;
	CHECK(patch_was_location(0x9000) && !patch_was_location(0x9005));
	memcpy(patch_arenas, saved, 2 * sizeof(*saved));
	patch_nr_arenas = nr;
	free(saved);
	/* Memory. */
	owned[0].at = (void *)0x5000;
	owned[0].size = 0x100;
	owned[1].at = (void *)0x9000;
	owned[1].size = 0x10;
	nr_owned = 1;
	CHECK(!patch_is_memory(0x4fff) && patch_is_memory(0x5000) && patch_is_memory(0x50ff) &&
			!patch_is_memory(0x5100) && !patch_is_memory(0x9000));
	nr_owned = 2;
	CHECK(patch_is_memory(0x9000) && patch_is_memory(0x900f) && !patch_is_memory(0x9010));
	owned[0] = one;
	owned[1] = other;
	nr_owned = nr_all;
	/* Springboards. */
	springboards[0] = (struct springboard){.address = 0x1111, .is_written = true};
	springboards[1] = (struct springboard){.address = 0x2222, .is_written = true};
	nr_springboards = 1;
	CHECK(springboard_find(0x1111) == &springboards[0] && !springboard_find(0x2222));
	patch_springboards_each(report_address);
	CHECK(!nr_reported);
	patch_springboards_settle();
	CHECK(springboards[0].copied && !springboards[1].copied);
	springboards[1].copied = true;
	patch_springboards_each(report_address);
	CHECK(nr_reported == 1 && reported[0] == 0x1111);
	springboards[0].is_written = false;
	nr_springboards = 2;
	patch_springboards_settle();
	CHECK(!springboards[0].copied && springboards[1].copied &&
			springboard_find(0x2222) == &springboards[1]);
	patch_springboards_each(report_address);
	CHECK(nr_reported == 2 && reported[1] == 0x2222);
	/* A springboard that unwinders know by its number keeps its address. */
	springboards[0] = (struct springboard){.address = 0x1111, .is_written = true, .frames = -1};
	springboards[1].frames = patch_frames_springboard(-1, 0x2222, 0x3333);
	CHECK(springboards[1].frames >= 0);
	patch_springboard_forget(0x1111);
	patch_springboard_forget(0x2222);
	CHECK(!springboards[0].address && !springboards[0].is_written &&
			springboards[1].address == 0x2222 && !springboards[1].is_written);
	springboards[0] = springboard;
	springboards[1] = second;
	nr_springboards = nr_springboards_visited;
}

static void test_past(void)
{
	uint64_t trampoline = patch_trampoline_memory((uint64_t)(uintptr_t)test_past, small);
	struct patch_past *past = patch_trampoline_past(trampoline);
	const uint64_t site = 0x7123456789ab;

	CHECK(!patch_was_location(site) && !patch_was_location(0) && !patch_was_location(0x999));
	past->packed = site | UINT64_C(0x1234) << PATCH_PAST_BITS;
	past->slot = 0x999;
	CHECK(patch_was_location(site) && patch_was_location(site + 4) &&
			!patch_was_location(site + 5) && !patch_was_location(site - 1));
	CHECK(patch_was_location(0x999) && !patch_was_location(0x99a));
	past->packed = past->slot = 0;
	CHECK(!patch_was_location(0x999));
}

static void test_owned(void)
{
	size_t page = PATCH_PAGE;
	uint64_t bytes = patch_memory_bytes();
	uint8_t *memory = patch_memory_anywhere(3 * page, PROT_READ | PROT_WRITE), *low;

	CHECK(memory && patch_memory_bytes() == bytes + 3 * page);
	CHECK(patch_is_memory((uint64_t)(uintptr_t)memory) &&
			patch_is_memory((uint64_t)(uintptr_t)memory + 3 * page - 1) &&
			!patch_is_memory((uint64_t)(uintptr_t)memory + 3 * page));
	low = patch_memory_low(page, PROT_READ | PROT_WRITE);
	CHECK(low && (uint64_t)(uintptr_t)low < UINT64_C(1) << 31 &&
			patch_memory_bytes() == bytes + 4 * page);
	/* Whole pages become zeros; adjacent bytes are not changed. */
	memset(memory, 7, 3 * page);
	CHECK(patch_memory_resident((uintptr_t)memory, 3 * page) == 3 * page);
	patch_memory_drop(memory + 1, 3 * page - 1);
	CHECK(memory[0] == 7 && memory[page - 1] == 7 && !memory[page] && !memory[3 * page - 1]);
	memset(memory, 7, 3 * page);
	patch_memory_drop(memory, 2 * page - 1);
	CHECK(!memory[0] && !memory[page - 1] && memory[page] == 7);
	patch_memory_drop(memory + 1, page - 2);
	CHECK(!memory[1] && memory[page] == 7);
	memset(memory, 7, 3 * page);
	patch_memory_drop(memory + page, 2 * page);
	CHECK(patch_memory_resident((uintptr_t)memory, 3 * page) == page &&
			patch_memory_resident((uintptr_t)memory + page, 2 * page) == 0);
	/* Addresses only: not counted before they can be used. */
	bytes = patch_memory_bytes();
	low = patch_memory_reserve((uint64_t)(uintptr_t)test_owned, 5 * page);
	CHECK(low && !((uintptr_t)low % page) && patch_memory_bytes() == bytes &&
			patch_reaches((uint64_t)(uintptr_t)test_owned, (uint64_t)(uintptr_t)low,
					FAR));
	patch_memory_accessible(5 * page);
	CHECK(patch_memory_bytes() == bytes + 5 * page);
	munmap(low, 5 * page);
}

/* Memory of other parts is counted up to the last entry. */
static void test_counted(void)
{
	static uint8_t pages[(COUNTED_MAX + 2) * 4096] __attribute__((aligned(4096)));
	uint64_t before;

	memset(pages, 1, sizeof(pages));
	nr_counted = 0;
	before = patch_memory_counted_bytes();
	CHECK(before == 0);
	for (unsigned int i = 0; i < COUNTED_MAX; i++) {
		patch_memory_count(pages + i * 4096 + 5, 10);
		CHECK(patch_memory_counted_bytes() == (i + 1) * 4096);
	}
	patch_memory_count(pages + COUNTED_MAX * 4096, 10);
	CHECK(patch_memory_counted_bytes() == COUNTED_MAX * 4096);
	/* The kept code is reduced by the bytes that were returned. */
	kept_code = 3 * 4096;
	patch_memory_returned(4096);
	CHECK(kept_code == 2 * 4096);
	patch_memory_returned(9 * 4096);
	CHECK(kept_code == 0 && side_probe_kept >= COUNTED_MAX * 4096);
	nr_counted = 0;
	memset(counted, 0, sizeof(counted));
}

/* ---- springboards ---- */

static uint8_t *code;

static void put_springboard_jump(uint64_t at, uint64_t to)
{
	int32_t away = (int32_t)(to - (at + PROBE_JUMP_BYTES));

	*(uint8_t *)(uintptr_t)at = JUMP;
	memcpy((uint8_t *)(uintptr_t)at + 1, &away, 4);
}

static void test_springboards(void)
{
	uint64_t base, trampoline;
	struct patch patch = {.site = {.address = 0x1000, .springboard = 0x1040}};
	bool is_written = true, is_covered = false;
	struct springboard *springboard;

	code = patch_memory_reserve((uint64_t)(uintptr_t)test_springboards, 4096);
	CHECK(code && !mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	base = (uint64_t)(uintptr_t)code;
	trampoline = patch_trampoline_memory(base, small);
	CHECK(trampoline);
	patch.site.runtime = base;
	memcpy(patch.site.springboard_bytes, "\x90\x90\x90\x90\xcc", 5);
	memcpy(patch.site.bytes, "\x11\x22", 2);
	memset(code, 0x90, 4096);
	/* The bytes differ from those of the file. */
	CHECK(patch_springboard_claim(&patch, &is_written) == -ERANGE && !is_written &&
			!nr_springboards);
	code[0x44] = 0xcc;
	CHECK(patch_springboard_claim(&patch, &is_written) == 0 && !is_written &&
			nr_springboards == 1);
	springboard = springboard_find(base + 0x40);
	CHECK(springboard && springboard->is_written && springboard->copied &&
			springboard->site == base &&
			!memcmp(springboard->site_bytes, "\x11\x22", 2) &&
			!memcmp(springboard->bytes, "\x90\x90\x90\x90\xcc", 5));
	for (uint64_t i = 0x3e; i < 0x47; i++)
		CHECK(patch_is_springboard(base + i) == (i >= 0x40 && i < 0x45));
	CHECK(!springboard_is_free(base + 0x3c) && springboard_is_free(base + 0x3b) &&
			!springboard_is_free(base + 0x44) && springboard_is_free(base + 0x45));
	/* The jump is in place: the same site gets it, another one does not. */
	put_springboard_jump(base + 0x40, trampoline);
	CHECK(springboard_has_jump(springboard, &is_covered) && !is_covered);
	CHECK(patch_springboard_claim(&patch, &is_written) == 0 && is_written);
	code[0x40] = 0xcc;
	CHECK(springboard_has_jump(springboard, &is_covered) && is_covered);
	code[0x40] = 0xe8;
	CHECK(!springboard_has_jump(springboard, &is_covered) && !is_covered);
	code[0x40] = JUMP;
	put_springboard_jump(base + 0x40, base + 0x900);
	CHECK(!springboard_has_jump(springboard, &is_covered));
	{
		uint64_t address = 0, site = 0;

		CHECK(patch_springboard_at(0, &address, &site) && address == base + 0x40 &&
				site == base && !patch_springboard_at(1, &address, &site));
	}
	/* The probe is gone, and the jump as well: the entry can be used for another one. */
	memcpy(code + 0x40, "\x90\x90\x90\x90\xcc", 5);
	CHECK(patch_springboards_remain() && side_probe_pads == 1);
	CHECK(!springboard_choose_removable() && !springboard->is_written &&
			!patch_springboards_remain() && !side_probe_pads);
	/* A probe that was removed: the location is as in the file. */
	CHECK(patch_springboard_claim(&patch, &is_written) == 0 && !is_written);
	put_springboard_jump(base + 0x40, trampoline);
	springboard = springboard_find(base + 0x40);
	CHECK(!springboard_choose_removable() && !springboard->is_removable);
	memcpy(code, "\x11\x22", 2);
	CHECK(springboard_choose_removable() && springboard->is_removable && nr_removable == 1 &&
			removable[0] == base + 0x40);
	CHECK(!springboard_is_at_removable(base + 0x3f) &&
			springboard_is_at_removable(base + 0x40) &&
			springboard_is_at_removable(base + 0x44) &&
			!springboard_is_at_removable(base + 0x45));
	removable[1] = base + 0x50;
	removable[2] = base + 0x60;
	nr_removable = 3;
	CHECK(springboard_is_at_removable(base + 0x44) &&
			!springboard_is_at_removable(base + 0x4f) &&
			springboard_is_at_removable(base + 0x50) &&
			springboard_is_at_removable(base + 0x54) &&
			!springboard_is_at_removable(base + 0x55));
	CHECK(springboard_is_at_removable(base + 0x60) &&
			springboard_is_at_removable(base + 0x64) &&
			!springboard_is_at_removable(base + 0x65));
	code[0x40] = 0xcc;
	CHECK(!springboard_choose_removable());
	code[0x40] = JUMP;
	CHECK(patch_springboards_return(NULL) == 0 &&
			!memcmp(code + 0x40, "\x90\x90\x90\x90\xcc", 5) &&
			!springboard->is_written && springboard->copied);
	patch_springboards_settle();
	CHECK(!springboard->copied);
	patch_springboard_drop(base + 0x999);
	patch_springboard_forget(base + 0x999);
}

/* The last entry, and no free entry. */
static void test_many_springboards(void)
{
	nr_springboards = SPRINGBOARDS_MAX - 1;
	for (size_t i = 0; i < nr_springboards; i++)
		springboards[i].address = 0x1000 + 16 * i;
	CHECK(springboard_find_or_add(0x900000) == &springboards[SPRINGBOARDS_MAX - 1] &&
			nr_springboards == SPRINGBOARDS_MAX &&
			springboards[SPRINGBOARDS_MAX - 1].frames == -1);
	CHECK(!springboard_find_or_add(0x900010) && nr_springboards == SPRINGBOARDS_MAX);
	CHECK(springboard_find_or_add(0x900000) == &springboards[SPRINGBOARDS_MAX - 1]);
	springboards[7].address = 0;
	CHECK(springboard_find_or_add(0x900010) == &springboards[7] &&
			springboards[7].address == 0x900010);
	nr_springboards = 0;
	memset(springboards, 0, sizeof(springboards));
}

/* ---- traps ---- */

static void test_traps(void)
{
	uint64_t address = 0x5000;

	CHECK(!patch_trap_find_target(address));
	patch_trap_remove(address);
	for (uint64_t i = 1; i <= 3 * FIRST_SIZE; i++) {
		CHECK(!patch_trap_add(0x5000 + i * 0x1000, i));
		CHECK(table->used == i && table->used <= table->size / 2);
	}
	CHECK(table->size == 8 * FIRST_SIZE);
	for (uint64_t i = 1; i <= 3 * FIRST_SIZE; i++)
		CHECK(patch_trap_find_target(0x5000 + i * 0x1000) == i &&
				!patch_trap_find_target(0x5001 + i * 0x1000));
	/* Again, with another target. */
	CHECK(!patch_trap_add(0x6000, 99) && patch_trap_find_target(0x6000) == 99 &&
			table->used == 3 * FIRST_SIZE);
	patch_trap_remove(0x6000);
	CHECK(!patch_trap_find_target(0x6000) && patch_trap_find_target(0x7000) == 2);
	/* Entries with the same hash are removed one by one. */
	for (uint64_t i = 3; i <= 3 * FIRST_SIZE; i += 2)
		patch_trap_remove(0x5000 + i * 0x1000);
	for (uint64_t i = 3; i <= 3 * FIRST_SIZE; i++)
		CHECK(patch_trap_find_target(0x5000 + i * 0x1000) == (i % 2 ? 0 : i));
	/* The smallest table grows when one half is used. */
	patch_trap_quiesce();
	CHECK(!table->used && !patch_trap_find_target(0x7000) && nr_quiescences == 1);
	for (size_t i = 0; i < table->size; i++)
		CHECK(!table->entries[i].address && !table->entries[i].target);
}

static void test_kinds(void)
{
	CHECK(patch_trap_is_of_instruction(SIGTRAP, SI_KERNEL) &&
			patch_trap_is_of_instruction(SIGTRAP, TRAP_BRKPT) &&
			!patch_trap_is_of_instruction(SIGTRAP, TRAP_TRACE) &&
			!patch_trap_is_of_instruction(SIGTRAP, SI_USER) &&
			!patch_trap_is_of_instruction(SIGTRAP, SI_TKILL));
	CHECK(patch_trap_is_of_instruction(SIGILL, ILL_ILLOPN) &&
			patch_trap_is_of_instruction(SIGILL, 1) &&
			!patch_trap_is_of_instruction(SIGILL, 0) &&
			!patch_trap_is_of_instruction(SIGILL, SI_QUEUE));
	{
		struct sigaction behind = {.sa_handler = SIG_DFL};
		siginfo_t info = {.si_code = SI_USER};

		CHECK(patch_trap_is_default(&behind, &info));
		behind.sa_handler = SIG_IGN;
		CHECK(!patch_trap_is_default(&behind, &info));
		info.si_code = 1;
		CHECK(patch_trap_is_default(&behind, &info));
		behind.sa_handler = (void (*)(int))(uintptr_t)0x1234;
		CHECK(!patch_trap_is_default(&behind, &info));
	}
}

/* A trap at a location whose probe is gone: the thread continues there, once. */
static void test_late_trap(void)
{
	uint64_t trampoline = patch_trampoline_memory((uint64_t)(uintptr_t)test_late_trap, small);
	struct patch_past *past = patch_trampoline_past(trampoline);
	uint64_t site = (uint64_t)(uintptr_t)code + 0x800;

	memset(code + 0x7f0, 0x90, 64);
	nr_quiescences = 0;
	CHECK(!patch_trap_is_over(SIGTRAP, SI_KERNEL, site));
	past->packed = site;
	CHECK(!patch_trap_is_over(SIGTRAP, SI_KERNEL, site));
	nr_quiescences = 1;
	CHECK(!patch_trap_is_over(SIGTRAP, SI_KERNEL, site + 5) &&
			!patch_trap_is_over(SIGTRAP, TRAP_TRACE, site));
	code[0x800] = 0xcc;
	CHECK(!patch_trap_is_over(SIGTRAP, SI_KERNEL, site));
	code[0x800] = 3;
	code[0x7ff] = 0xcd;
	CHECK(!patch_trap_is_over(SIGTRAP, SI_KERNEL, site));
	code[0x7ff] = 0x90;
	CHECK(patch_trap_is_over(SIGTRAP, SI_KERNEL, site) &&
			!patch_trap_is_over(SIGTRAP, SI_KERNEL, site));
	CHECK(patch_trap_is_over(SIGILL, 1, site + 1) &&
			patch_trap_is_over(SIGTRAP, SI_KERNEL, site));
	nr_quiescences = 2;
	CHECK(patch_trap_is_over(SIGTRAP, SI_KERNEL, site));
	past->packed = 0;
	CHECK(!patch_trap_is_over(SIGTRAP, SI_KERNEL, site + 1));
}

int main(void)
{
	CHECK(!patch_locations_start());
	test_reaches();
	test_trampolines();
	test_many_arenas();
	test_past();
	test_owned();
	test_counted();
	test_springboards();
	test_many_springboards();
	test_traps();
	test_kinds();
	test_late_trap();
	test_last_entries();
	test_failed_arenas();
	return 0;
}
