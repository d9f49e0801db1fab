/* SPDX-License-Identifier: MIT */
/*
 * Exact values of memory for probes: gaps of the address space, distances with chosen bytes, slots
 * of an arena, lines of mappings, and the bytes of a probe. The test includes the files, so that it
 * can call their static functions.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../check.h"

/* The number of entries of the last call; the call can be made to fail. */
static size_t asked_entries;
static bool realloc_fails;

static void *hooked_reallocarray(void *old, size_t count, size_t size)
{
	asked_entries = count;
	return realloc_fails ? NULL : reallocarray(old, count, size);
}

#define reallocarray hooked_reallocarray
#include "probe/patch/gaps.c"
#undef reallocarray
/*
 * A text instead of the mappings of this process, in chunks of this size; then the end, or an
 * error.
 */
static const char *played_maps;
static size_t played_chunk;
static bool maps_fail_at_end, maps_cannot_open;

static ssize_t hooked_read(int fd, void *to, size_t size)
{
	size_t left;

	if (!played_maps)
		return read(fd, to, size);
	left = strlen(played_maps);
	left = left < played_chunk ? left : played_chunk;
	CHECK(size == 1024 && left <= size);
	memcpy(to, played_maps, left);
	played_maps += left;
	return !left && maps_fail_at_end ? -1 : (ssize_t)left;
}

static int hooked_open(const char *path, int flags)
{
	CHECK(!strcmp(path, "/proc/self/maps") && flags == (O_RDONLY | O_CLOEXEC));
	return maps_cannot_open ? -1 : open(path, flags);
}

#define read hooked_read
#define open hooked_open
#include "probe/patch/maps.c"
#undef read
#undef open
#include "probe/patch/pages.c"
#include "probe/patch/installed.c"
#include "probe/patch/slots.c"

#include "../../resources.h"

/* ---- gaps ---- */

static bool is_gap(size_t index, uint64_t start, uint64_t end)
{
	return index < nr_gaps && gaps[index].start == start && gaps[index].end == end;
}

#define AT(n) ((uint64_t)(n)*PATCH_ARENA_BYTES)

static void test_gaps(void)
{
	patch_gaps_forget();
	gaps_known = true;
	CHECK(!patch_gaps_insert(0, AT(10), AT(11) - 1) && !patch_gaps_insert(0, AT(11), AT(10)) &&
			patch_gaps_insert(0, AT(10), AT(11)));
	CHECK(patch_gaps_insert(1, AT(20), AT(30)) && patch_gaps_insert(1, AT(14), AT(16)) &&
			patch_gaps() == 3);
	CHECK(is_gap(0, AT(10), AT(11)) && is_gap(1, AT(14), AT(16)) && is_gap(2, AT(20), AT(30)));
	/* Next to gaps, and between them. */
	patch_gaps_cut(AT(16), AT(20));
	patch_gaps_cut(AT(11), AT(14));
	CHECK(nr_gaps == 3);
	patch_gaps_cut(AT(24), AT(26));
	CHECK(nr_gaps == 4 && is_gap(2, AT(20), AT(24)) && is_gap(3, AT(26), AT(30)));
	patch_gaps_cut(AT(15), AT(21));
	CHECK(nr_gaps == 4 && is_gap(1, AT(14), AT(15)) && is_gap(2, AT(21), AT(24)));
	/* The remaining gap is too small. */
	patch_gaps_cut(AT(10) + 1, AT(10) + 2);
	CHECK(nr_gaps == 3 && is_gap(0, AT(14), AT(15)));
	patch_gaps_cut(AT(21), AT(30));
	CHECK(nr_gaps == 1);
	for (unsigned int i = 1; i < 70; i++)
		CHECK(patch_gaps_insert(i, AT(20 * i), AT(20 * i + 1)));
	CHECK(gaps_capacity == 128 && asked_entries == 128);
	CHECK(nr_gaps == 70 && is_gap(0, AT(14), AT(15)) && is_gap(69, AT(1380), AT(1381)));
	patch_gaps_forget();
	CHECK(!gaps && !nr_gaps);
	/* Space for 64, then for twice as many; if memory cannot be allocated, the gap is lost. */
	for (unsigned int i = 0; i < 64; i++)
		CHECK(patch_gaps_insert(i, AT(20 * i), AT(20 * i + 1)) && gaps_capacity == 64 &&
				asked_entries == 64);
	realloc_fails = true;
	CHECK(!patch_gaps_insert(64, AT(20 * 64), AT(20 * 64 + 1)) && nr_gaps == 64 &&
			gaps_capacity == 64 && asked_entries == 128);
	realloc_fails = false;
	patch_gaps_forget();
	realloc_fails = true;
	CHECK(!patch_gaps_insert(0, AT(10), AT(11)) && !nr_gaps && !gaps && asked_entries == 64);
	realloc_fails = false;
	gaps_known = false;
}

static void test_real_gaps(void)
{
	static char mapped;
	struct patch_gap gap, before = {0, LOWEST};
	uint64_t here = (uint64_t)(uintptr_t)&mapped, heap = (uint64_t)syscall(SYS_brk, 0);
	size_t i;

	CHECK(patch_gaps() > 1);
	for (i = 0; patch_gap(i, &gap); i++) {
		CHECK(gap.start >= before.end && gap.end - gap.start >= PATCH_ARENA_BYTES &&
				gap.end <= HIGHEST);
		CHECK(here < gap.start || here >= gap.end);
		CHECK(heap + HEAP_SPACE <= gap.start || heap >= gap.end);
		before = gap;
	}
	CHECK(i == patch_gaps() && !patch_gap(i, &gap));
	CHECK(patch_gaps_below_stack(0x10000) == 0);
	patch_gaps_forget();
}

static void test_stack_space(void)
{
	struct rlimit limit, kept;
	const uint64_t stack = 0x7ffd00000000;

	CHECK(!getrlimit(RLIMIT_STACK, &kept));
	limit = kept;
	limit.rlim_cur = 8 << 20;
	CHECK(!setrlimit(RLIMIT_STACK, &limit));
	CHECK(patch_gaps_below_stack(stack) == stack - (8 << 20) - STACK_SPACE &&
			patch_gaps_below_stack(stack + 5) == stack - (8 << 20) - STACK_SPACE);
	CHECK(patch_gaps_below_stack((8 << 20) + STACK_SPACE) == 0 &&
			patch_gaps_below_stack((8 << 20) + STACK_SPACE - 1) == 0);
	CHECK(!setrlimit(RLIMIT_STACK, &kept));
}

/* ---- distances ---- */

static bool is_distance(struct patch_distance wanted, int64_t from, int64_t expected)
{
	int32_t found = 0;

	if (!patch_slots_next_distance(&wanted, from, &found))
		return expected == INT64_MAX;
	if (found != expected)
		fprintf(stderr, "%x instead of %lx\n", (unsigned int)found,
				(unsigned long)expected);
	return found == expected;
}

static void test_distances(void)
{
	const struct patch_distance any = {.fixed = {0}};
	const struct patch_distance low = {.fixed = {1}, .value = {0x11}};
	const struct patch_distance high = {.fixed = {0, 0, 0, 1}, .value = {0, 0, 0, 0x12}};
	const struct patch_distance negative = {.fixed = {0, 0, 0, 1}, .value = {0, 0, 0, 0xff}};
	const struct patch_distance all = {
			.fixed = {1, 1, 1, 1}, .value = {0x44, 0x33, 0x22, 0x11}};

	CHECK(is_distance(any, 5, 5) && is_distance(any, -5, -5) &&
			is_distance(any, INT32_MAX, INT32_MAX));
	CHECK(is_distance(any, INT64_C(0x80000000), INT64_MAX) &&
			is_distance(any, INT64_MIN / 2, INT32_MIN));
	CHECK(is_distance(low, 0, 0x11) && is_distance(low, 0x11, 0x11) &&
			is_distance(low, 0x12, 0x111));
	CHECK(is_distance(low, -1, 0x11) && is_distance(low, -0x100, -0xef));
	CHECK(is_distance(low, 0x7fffff12, INT64_MAX) && is_distance(low, 0x7fffff11, 0x7fffff11));
	CHECK(is_distance(high, 0, 0x12000000) && is_distance(high, 0x12345678, 0x12345678) &&
			is_distance(high, 0x13000000, INT64_MAX));
	CHECK(is_distance(negative, INT32_MIN, -0x1000000) && is_distance(negative, -1, -1) &&
			is_distance(negative, 0, INT64_MAX));
	CHECK(is_distance(all, 0x11223344, 0x11223344) && is_distance(all, 0x11223345, INT64_MAX) &&
			is_distance(all, -7, 0x11223344));
}

/* ---- slots ---- */

static void test_slots(void)
{
	uint8_t taken[64] = {0};
	struct patch_arena arena = {.start = 0x100000, .size = 512, .taken = taken};
	const struct patch_distance any = {.fixed = {0}}, low = {.fixed = {1}, .value = {0x20}};
	const uint64_t base = 0x100000;

	CHECK(patch_slots_take_in(&arena, base, &any) == 0x100000 && arena.full == SLOT_BYTES);
	CHECK(patch_slots_take_in(&arena, base, &any) == 0x100000 + SLOT_BYTES &&
			arena.full == 2 * SLOT_BYTES);
	CHECK(patch_slots_take_in(&arena, base, &low) == 0x100020 && arena.full == 2 * SLOT_BYTES);
	CHECK(patch_slots_take_in(&arena, base, &low) == 0x100120 &&
			patch_slots_take_in(&arena, base, &low) == 0);
	CHECK(!patch_slots_is_free(&arena, 0x20 - SLOT_BYTES + 1) &&
			patch_slots_is_free(&arena, 0x20 - SLOT_BYTES));
	CHECK(!patch_slots_is_free(&arena, 0x20 + SLOT_BYTES - 1) &&
			patch_slots_is_free(&arena, 0x20 + SLOT_BYTES));
	patch_slots_set_used(&arena, 0x20, false);
	CHECK(patch_slots_is_free(&arena, 0x20) && !patch_slots_is_free(&arena, 0x120) &&
			patch_slots_take_in(&arena, base, &low) == 0x100020);
	/* The last slot that fits, and no slot after it. */
	for (unsigned int i = 0; i < 512; i++)
		taken[i / 8] |= (uint8_t)(1 << i % 8);
	arena.full = 0;
	patch_slots_set_used(&arena, 512 - SLOT_BYTES, false);
	CHECK(patch_slots_take_in(&arena, base, &any) == 0x100000 + 512 - SLOT_BYTES &&
			arena.full == 512);
	patch_slots_set_used(&arena, 512 - SLOT_BYTES + 1, false);
	arena.full = 0;
	CHECK(patch_slots_take_in(&arena, base, &any) == 0);
}

/* An arena of this process, whose slots are freed and reused. */
static void test_returned_slots(void)
{
	static uint8_t taken[PATCH_ARENA_BYTES / 8];
	const struct patch_distance any = {.fixed = {0}};
	const uint64_t start = 0x40000000, base = start + PROBE_JUMP_BYTES;
	const size_t before = patch_nr_arenas;
	struct patch_arena *arena = &patch_arenas[before];

	memset(taken, 0xff, sizeof(taken));
	*arena = (struct patch_arena){.start = start,
			.size = PATCH_ARENA_BYTES,
			.taken = taken,
			.full = PATCH_ARENA_BYTES};
	patch_nr_arenas = before + 1;
	CHECK(patch_slots_arena_of(start) == arena && !patch_slots_arena_of(start - 1));
	CHECK(patch_slots_arena_of(start + PATCH_ARENA_BYTES - SLOT_BYTES) == arena);
	CHECK(!patch_slots_arena_of(start + PATCH_ARENA_BYTES - SLOT_BYTES + 1));
	patch_slot_return(start + 100);
	CHECK(arena->full == 100 && patch_slots_is_free(arena, 100) &&
			patch_slots_is_used(arena, 99) &&
			patch_slots_is_used(arena, 100 + SLOT_BYTES));
	patch_slot_return(start + 200);
	CHECK(arena->full == 100 && patch_slots_is_free(arena, 200));
	patch_slot_recall(start + 100);
	CHECK(!patch_slots_is_free(arena, 100) && patch_slots_is_used(arena, 104));
	CHECK(patch_slot_memory(start, base, &any) == start + 200 && last_slots == before);
	patch_slot_return(start + 300);
	last_slots = 0;
	CHECK(patch_slot_memory(start, base, &any) == start + 300);
	/* Too far from the trampoline, or from the location. */
	patch_slot_return(start + 300);
	CHECK(patch_slots_take(before, base, base + UINT64_C(0x80000000), &any) == 0);
	CHECK(patch_slots_take(before, base + UINT64_C(0x80000000), base, &any) == 0);
	CHECK(patch_slots_take(before, base, base, &any) == start + 300);
	arena->taken = NULL;
	CHECK(patch_slots_take(before, base, base, &any) == 0 && !patch_slots_arena_of(start));
	patch_nr_arenas = before;
	last_slots = 0;
}

/* ---- mappings ---- */

static void test_lines(void)
{
	struct patch_mapping mapping;
	struct page_mapping whole;
	char line[] = "7f0000-7f1000 r-xp 00002000 fe:01 77     /a b/c\n",
	     none[] = "7f0000-7f1000 r-xp 0 fe:01 77\n";

	CHECK(patch_maps_read_line("7f00-8f00 rwxp 0", &mapping) && mapping.start == 0x7f00 &&
			mapping.end == 0x8f00);
	CHECK(mapping.readable && mapping.writable && mapping.executable &&
			!strcmp(mapping.remainder, "p 0"));
	CHECK(patch_maps_read_line("1-2 r--p", &mapping) && mapping.readable && !mapping.writable &&
			!mapping.executable);
	CHECK(patch_maps_read_line("1-2 -w-p", &mapping) && !mapping.readable && mapping.writable &&
			!mapping.executable);
	CHECK(patch_maps_read_line("1-2 --xp", &mapping) && !mapping.readable &&
			!mapping.writable && mapping.executable);
	CHECK(patch_maps_read_line("1-2 ---p", &mapping) && !mapping.readable &&
			!mapping.writable && !mapping.executable);
	CHECK(!patch_maps_read_line("1-2 r-", &mapping) && !patch_maps_read_line("1-2", &mapping) &&
			!patch_maps_read_line("1+2 rwx", &mapping));
	CHECK(patch_pages_read_line(line, &whole) && whole.start == 0x7f0000 &&
			whole.end == 0x7f1000 && whole.offset == 0x2000);
	CHECK(!strcmp(whole.rights, "r-xp") && !strcmp(whole.identity, "fe:01 77") &&
			!strcmp(whole.path, "/a b/c"));
	CHECK(!patch_pages_read_line(none, &whole) || !*whole.path);
}

static unsigned int nr_mappings;

static bool count_mappings(const struct patch_mapping *mapping, void *user)
{
	uint64_t here = (uint64_t)(uintptr_t)count_mappings;

	CHECK(mapping->start < mapping->end);
	nr_mappings++;
	if (here >= mapping->start && here < mapping->end) {
		CHECK(mapping->executable && mapping->readable && !mapping->writable);
		*(bool *)user = true;
	}
	return true;
}

static bool refuse_mapping(const struct patch_mapping *mapping, void *user)
{
	(void)mapping;
	return ++*(unsigned int *)user < 2;
}

static void test_maps(void)
{
	unsigned long lines = resources_now().mappings;
	unsigned int calls = 0;
	bool found = false;

	CHECK(patch_maps_each(count_mappings, &found) && found && nr_mappings >= lines - 2 &&
			nr_mappings <= lines + 2);
	CHECK(!patch_maps_each(refuse_mapping, &calls) && calls == 2);
}

static char mappings_seen[600];

static bool note_mapping(const struct patch_mapping *mapping, void *user)
{
	size_t used = strlen(mappings_seen);

	CHECK(user == &played_chunk);
	snprintf(mappings_seen + used, sizeof(mappings_seen) - used, "%x-%x %zu %s|",
			(unsigned int)mapping->start, (unsigned int)mapping->end,
			strlen(mapping->remainder), mapping->remainder);
	return true;
}

/*
 * Lines across the ends of chunks, long ones, other lines that are no mappings, and one without an
 * end.
 */
static void test_played_maps(void)
{
	static const char first[] = "1000-2000 r-xp 0 a\nnothing\n3000-4000 r-xp 0 ",
			  last[] = "\n5000-6000 rw-p 0 b\n7000-8000 r-xp 0 c";
	char text[600], expected[600], path[300];
	unsigned int descriptors = resources_descriptors();

	for (size_t length = 140; length < 150; length++) {
		/* The third line has 17 bytes before the path, and 160 are kept. */
		size_t kept = length < 143 ? length : 143;

		memset(path, 'x', length);
		path[length] = '\0';
		snprintf(text, sizeof(text), "%s%s%s", first, path, last);
		snprintf(expected, sizeof(expected),
				"1000-2000 5 p 0 a|3000-4000 %zu p 0 %.*s|5000-6000 5 p 0 b|",
				kept + 4, (int)kept, path);
		for (played_chunk = 1; played_chunk < 400; played_chunk += 1 + played_chunk / 3) {
			for (int fails = 0; fails < 2; fails++) {
				played_maps = text;
				maps_fail_at_end = fails;
				*mappings_seen = '\0';
				CHECK(patch_maps_each(note_mapping, &played_chunk) == !fails);
				CHECK(!strcmp(mappings_seen, expected));
			}
		}
	}
	played_maps = NULL;
	maps_cannot_open = true;
	*mappings_seen = '\0';
	CHECK(!patch_maps_each(note_mapping, &played_chunk) && !*mappings_seen);
	maps_cannot_open = false;
	CHECK(resources_descriptors() == descriptors);
}

/* ---- bytes of probes ---- */

static void test_occupied(void)
{
	struct patch patch = {.site = {.runtime = 0x1003, .patched = 5, .displaced = 7},
			.method = PROBE_JUMP,
			.armed = true};

	/* Called once for each process. */
	CHECK((lists || !patch_locations_start()) && !patch_is_occupied(0x1003, 1) &&
			!patch_any_armed());
	*patch_location_list(0x1003) = &patch;
	CHECK(patch_location_list(0x1000) == patch_location_list(0x1003) &&
			patch_location_list(0x1004) != patch_location_list(0x1003));
	CHECK(patch_bytes(&patch) == 5 && patch_site_extent(&patch) == 7);
	CHECK(patch_is_occupied(0x1003, 1) && patch_is_occupied(0x1009, 1) &&
			!patch_is_occupied(0x100a, 1));
	CHECK(!patch_is_occupied(0x1002, 1) && patch_is_occupied(0x1002, 2) &&
			patch_is_occupied(0xff0, 0x14) && !patch_is_occupied(0xff0, 0x13));
	CHECK(patch_any_armed() && !patch_any_breakpoint());
	patch.method = PROBE_BREAKPOINT;
	patch.site.displaced = 1;
	CHECK(patch_bytes(&patch) == 1 && patch_is_occupied(0x1003, 1) &&
			!patch_is_occupied(0x1004, 1) && patch_any_breakpoint());
	patch.method = PROBE_PUNNED;
	patch.site.patched = 2;
	CHECK(patch_bytes(&patch) == 2 && patch_is_occupied(0x1007, 1) &&
			!patch_is_occupied(0x1008, 1));
	patch.armed = false;
	CHECK(!patch_is_occupied(0x1003, 1) && !patch_any_armed() && !patch_any_breakpoint());
	patch.armed = true;
	patch_locations_forget();
	CHECK(!*patch_location_list(0x1003) && !patch_any_armed());
}

/* Expected bytes, other bytes, and memory that is not mapped. */
static void test_intact(void)
{
	static uint8_t code[16] = {0xe9, 1, 2, 3, 4, 5};
	struct patch patch = {.site = {.runtime = (uint64_t)(uintptr_t)code,
					      .patched = 5,
					      .nr_pieces = 2},
			.method = PROBE_JUMP,
			.bytes = {0xe9, 1, 2, 3, 4}};

	patch.site.pieces[1].at = 3;
	CHECK(patch_is_intact(&patch) && !patch.is_unmapped && patch_leaves_traps(&patch));
	code[3] = 9;
	CHECK(!patch_is_intact(&patch) && !patch.is_unmapped && !patch_leaves_traps(&patch));
	code[3] = 3;
	patch.site.pieces[1].at = 5;
	CHECK(!patch_leaves_traps(&patch));
	patch.site.runtime = 4096;
	CHECK(!patch_is_intact(&patch) && patch.is_unmapped && !patch_leaves_traps(&patch));
}

int main(void)
{
	struct resources before = {0};

	for (int round = 0; round < 3; round++) {
		test_gaps();
		test_real_gaps();
		test_stack_space();
		test_distances();
		test_slots();
		test_returned_slots();
		test_lines();
		test_maps();
		test_played_maps();
		test_occupied();
		test_intact();
		if (round == 1)
			before = resources_now();
		nr_mappings = 0;
	}
	CHECK(resources_are_same(before, resources_now()));
	return 0;
}
