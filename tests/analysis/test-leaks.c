/* SPDX-License-Identifier: MIT */
/* Plays calls of an allocator: what is alive, freed twice or unknown afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/leaks.h"

/* ---- the table of blocks ---- */

#define ADDRESSES 3000
#define STEPS 200000

/* Compares the table with one that has a place for each address. */
static void leaks_test_random_blocks(size_t limit, bool is_freed_kept)
{
	struct leaks_blocks blocks = {.limit = limit};
	bool alive[2][ADDRESSES] = {0};
	size_t count = 0;
	uint64_t random = 12345;

	for (unsigned int step = 0; step < STEPS; step++) {
		uint32_t image, address;
		struct leaks_block *block;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		image = random >> 40 & 1;
		address = (uint32_t)(random >> 33) % ADDRESSES;
		block = leaks_blocks_find(&blocks, image, (address + 1) * UINT64_C(16));
		assert_int_equal(block && block->state == LEAKS_BLOCK_ALIVE, alive[image][address]);
		if (alive[image][address]) {
			assert_int_equal(block->size, address + 5);
			leaks_blocks_release(&blocks, block, 7, step);
		} else if (block) {
			assert_true(is_freed_kept);
			assert_int_equal(block->freed_by, 7);
			leaks_blocks_revive(&blocks, block);
			block->size = address + 5;
		} else {
			block = leaks_blocks_add(&blocks, image, (address + 1) * UINT64_C(16));
			assert_int_equal(block != NULL, count < limit);
			if (!block)
				continue;
			block->size = address + 5;
		}
		count += alive[image][address] ? -(size_t)1 : 1;
		alive[image][address] = !alive[image][address];
		assert_int_equal(blocks.alive, count);
	}
	leaks_blocks_free(&blocks);
	assert_null(leaks_blocks_find(&blocks, 0, 16));
}

static void test_blocks(void **unused)
{
	(void)unused;
	leaks_test_random_blocks(LEAKS_BLOCKS_MAX, true);
}

/* The table reaches its largest size, and has no freed blocks from then on. */
static void test_largest_table(void **unused)
{
	struct leaks_blocks blocks = {.limit = 3072};

	(void)unused;
	for (uint64_t i = 1; i <= 3072; i++)
		assert_non_null(leaks_blocks_add(&blocks, 3, i * 16));
	assert_int_equal(blocks.capacity, 4096);
	assert_null(leaks_blocks_add(&blocks, 3, 3073 * 16));
	assert_false(blocks.no_memory);
	leaks_blocks_release(&blocks, leaks_blocks_find(&blocks, 3, 99 * 16), 1, 2);
	assert_null(leaks_blocks_find(&blocks, 3, 99 * 16));
	for (uint64_t i = 1; i <= 3072; i++)
		assert_int_equal(leaks_blocks_find(&blocks, 3, i * 16) != NULL, i != 99);
	assert_non_null(leaks_blocks_add(&blocks, 3, 3073 * 16));
	leaks_blocks_free(&blocks);
	leaks_test_random_blocks(3072, true);
}

static void test_images_max(void **unused)
{
	struct leaks_blocks blocks = {0};

	(void)unused;
	assert_non_null(leaks_blocks_add(&blocks, LEAKS_IMAGES_MAX, 16));
	assert_null(leaks_blocks_add(&blocks, LEAKS_IMAGES_MAX + 1, 16));
	assert_int_equal(leaks_blocks_find(&blocks, LEAKS_IMAGES_MAX, 16)->image, LEAKS_IMAGES_MAX);
	leaks_blocks_free(&blocks);
}

/* ---- records ---- */

#define MEMBERS_MAX 6

/* An event whose fields are numbers. */
struct played_event {
	struct ctf_event_class event;
	struct ctf_type type, number;
	struct ctf_member members[MEMBERS_MAX];
	struct ctf_value values[MEMBERS_MAX + 1];
	struct leaks_class class;
	bool known;
};

/* One trace of one process. */
struct played {
	struct leaks_options options;
	struct leaks leaks;
	struct ctf_trace trace;
	struct ctf_environment environment;
	struct played_event events[16];
	int64_t ns;
};

static void played_begin(struct played *played)
{
	memset(played, 0, sizeof(*played));
	played->leaks.options = &played->options;
	played->trace.vpid = 4711;
	played->ns = 1000;
}

static void played_end(struct played *played)
{
	leaks_free(&played->leaks);
}

static struct played_event *played_class(struct played *played, const char *name)
{
	struct played_event *event = played->events;

	while (event->event.name && strcmp(event->event.name, name) != 0)
		event++;
	event->event.name = name;
	event->type = (struct ctf_type){.kind = CTF_STRUCT, .members = event->members};
	event->number = (struct ctf_type){.kind = CTF_INTEGER, .size = 64};
	event->values[0] = (struct ctf_value){.type = &event->type, .span = 1};
	return event;
}

/* Plays an event a microsecond after the previous one: pairs of a name and a number, then NULL. */
static void play(struct played *played, const char *name, ...)
{
	struct played_event *event = played_class(played, name);
	struct ctf_item item = {.kind = CTF_ITEM_EVENT,
			.ns = played->ns += 1000,
			.timed = true,
			.trace = &played->trace,
			.event = &event->event,
			.fields = event->values};
	const char *member;
	va_list arguments;

	va_start(arguments, name);
	while ((member = va_arg(arguments, const char *))) {
		uint32_t i = event->type.member_count++;

		event->members[i] = (struct ctf_member){.name = member, .type = &event->number};
		event->values[i + 1] = (struct ctf_value){.type = &event->number,
				.member = &event->members[i],
				.u = va_arg(arguments, uint64_t),
				.span = 1};
		event->values[0].count++;
		event->values[0].span++;
	}
	va_end(arguments);
	if (!event->known) {
		leaks_form_find(&event->class.form, &item);
		event_stack_bind(&event->class.stack, &item, NULL);
	}
	event->known = true;
	assert_int_equal(leaks_take(&played->leaks, &event->class, &item), 0);
}

#define N(number) ((uint64_t)(number))

static void play_malloc(struct played *played, uint64_t size, uint64_t result, uint64_t caller)
{
	play(played, "libc:malloc", "_size", size, "_result", result, "_caller", caller, NULL);
}

static void play_free(struct played *played, uint64_t block)
{
	play(played, "libc:free", "_ptr", block, "_caller", N(0x900), NULL);
}

static void play_realloc(struct played *played, uint64_t block, uint64_t size, uint64_t result)
{
	play(played, "libc:realloc", "_ptr", block, "_size", size, "_result", result, "_caller",
			N(0x800), NULL);
}

/* ---- calls ---- */

static void test_functions(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	play_malloc(&played, 100, 0x1000, 0x10);
	play_malloc(&played, 0, 0x1100, 0x10);
	play(&played, "libc:calloc", "count", N(3), "size", N(7), "result", N(0x2000), "caller",
			N(0x20), NULL);
	play(&played, "libc:aligned_alloc", "alignment", N(64), "size", N(640), "result", N(0x3000),
			"caller", N(0x30), NULL);
	play(&played, "libc:posix_memalign", "alignment", N(64), "size", N(64), "ptr", N(0x4000),
			"result", N(0), "caller", N(0x40), NULL);
	play(&played, "libc:posix_memalign", "alignment", N(3), "size", N(64), "ptr", N(0),
			"result", N(22), "caller", N(0x40), NULL);
	play(&played, "libc:reallocarray", "ptr", N(0), "count", N(5), "size", N(5), "result",
			N(0x5000), "caller", N(0x50), NULL);
	play(&played, "libc:open", "result", N(0x6000), "size", N(5), NULL);
	play(&played, "other:malloc", "result", N(0x7000), "size", N(5), NULL);
	play_free(&played, 0);
	assert_int_equal(leaks_finish(&played.leaks), 0);
	assert_int_equal(played.leaks.allocations, 6);
	assert_int_equal(played.leaks.blocks_alive, 6);
	assert_int_equal(played.leaks.bytes_alive, 100 + 21 + 640 + 64 + 25);
	assert_int_equal(played.leaks.failed, 1);
	assert_int_equal(played.leaks.nr_frees, 0);
	assert_true(leaks_is_exact(&played.leaks));
	played_end(&played);
}

static void test_resized(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	play_malloc(&played, 100, 0x1000, 0x10);
	play_realloc(&played, 0x1000, 200, 0x1000); /* in place */
	play_realloc(&played, 0x1000, 300, 0x2000); /* moved */
	play_realloc(&played, 0x2000, 400, 0);      /* failed */
	play_malloc(&played, 10, 0x1000, 0x10);
	play_realloc(&played, 0x1000, 0, 0); /* freed */
	play_realloc(&played, 0, 50, 0x3000);
	assert_int_equal(leaks_finish(&played.leaks), 0);
	assert_int_equal(played.leaks.blocks_alive, 2);
	assert_int_equal(played.leaks.bytes_alive, 350);
	assert_int_equal(played.leaks.allocations, 5);
	assert_int_equal(played.leaks.nr_frees, 3);
	assert_int_equal(played.leaks.failed, 1);
	assert_int_equal(played.leaks.peak_bytes, 350);
	assert_int_equal(played.leaks.double_frees + played.leaks.unknown_frees, 0);
	played_end(&played);
}

/* Another thread gets the address of a block before the event of the realloc() that moved it. */
static void test_realloc_race(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	play_malloc(&played, 100, 0x1000, 0x10);
	play_malloc(&played, 20, 0x1000, 0x20);
	play_realloc(&played, 0x1000, 300, 0x2000);
	assert_int_equal(played.leaks.live_bytes, 320);
	play_free(&played, 0x1000);
	play_free(&played, 0x2000);
	/* Much later, the realloc() is that of the second block. */
	play_malloc(&played, 100, 0x1000, 0x10);
	play_malloc(&played, 20, 0x1000, 0x20);
	played.ns += 1000000000;
	play_realloc(&played, 0x1000, 300, 0x2000);
	assert_int_equal(leaks_finish(&played.leaks), 0);
	assert_int_equal(played.leaks.reused, 1);
	assert_false(leaks_is_exact(&played.leaks));
	assert_int_equal(played.leaks.bytes_alive, 300);
	assert_int_equal(played.leaks.double_frees + played.leaks.unknown_frees, 0);
	played_end(&played);
}

/* The innermost address of a stack. */
static uint64_t played_address(struct played *played, uint32_t stack)
{
	uint32_t named = leaks_stack_named(&played->leaks, stack), count;
	const uint32_t *frames = stacks_frames(&played->leaks.stacks, named, &count);

	assert_true(count > 0);
	return stacks_frame(&played->leaks.stacks, frames[0])->address;
}

static void test_double_and_unknown_frees(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	play_malloc(&played, 100, 0x1000, 0x10);
	play_free(&played, 0x1000);
	play_free(&played, 0x1000);
	play_free(&played, 0x1000);
	play_free(&played, 0x9000);
	play_malloc(&played, 100, 0x9000, 0x10);
	play_free(&played, 0x9000);
	play_free(&played, 0x9000);
	assert_int_equal(leaks_finish(&played.leaks), 0);
	assert_int_equal(played.leaks.double_frees, 3);
	assert_int_equal(played.leaks.unknown_frees, 1);
	assert_int_equal(played.leaks.blocks_alive, 0);
	assert_int_equal(played.leaks.free_keys.count, 2);
	assert_int_equal(played.leaks.frees[0].count, 3);
	assert_int_equal(played_address(&played, played.leaks.frees[0].allocated_by), 0x10);
	assert_int_equal(played_address(&played, played.leaks.frees[0].freed_by), 0x900);
	assert_int_equal(played.leaks.frees[1].freed_by, LEAKS_STACK_NONE);
	played_end(&played);
}

/* A forked child frees what its parent allocated. */
static void test_forked(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	played.environment = (struct ctf_environment){.key = "forked_from", .number = 17};
	played.trace.environment = &played.environment;
	played.trace.environment_count = 1;
	play_free(&played, 0x1000);
	play_free(&played, 0x1000);
	assert_int_equal(played.leaks.unknown_frees, 0);
	assert_int_equal(played.leaks.double_frees, 1);
	assert_int_equal(played.leaks.images[0].parent, 17);
	assert_int_equal(played.leaks.images[0].unknown_frees, 1);
	played_end(&played);
}

/* ---- probes ---- */

static void play_begin(
		struct played *played, const char *name, uint64_t call, uint64_t size, uint64_t ptr)
{
	play(played, name, "call", call, "ptr", ptr, "size", size, NULL);
}

static void play_return(struct played *played, const char *name, uint64_t call, uint64_t value)
{
	play(played, name, "call", call, "duration", N(5), "return_value", value, NULL);
}

static void test_probes(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	/* Two threads, and a realloc() that calls malloc() and free(). */
	play_begin(&played, "probe:malloc", 1, 100, 0);
	play_begin(&played, "probe:malloc", 2, 200, 0);
	play_return(&played, "probe:malloc_return", 1, 0x1000);
	play_return(&played, "probe:malloc_return", 2, 0x2000);
	play_begin(&played, "probe:realloc", 3, 300, 0x1000);
	play_begin(&played, "probe:malloc", 4, 300, 0);
	play_return(&played, "probe:malloc_return", 4, 0x3000);
	play(&played, "probe:free", "ptr", N(0x1000), NULL);
	play_return(&played, "probe:realloc_return", 3, 0x3000);
	assert_int_equal(played.leaks.blocks.alive, 2);
	assert_int_equal(played.leaks.live_bytes, 500);
	assert_int_equal(played.leaks.allocations, 3);
	assert_int_equal(played.leaks.double_frees + played.leaks.unknown_frees, 0);
	assert_true(leaks_is_exact(&played.leaks));
	/* The trace does not contain the begin of this call. */
	play_return(&played, "probe:malloc_return", 9, 0x9000);
	assert_int_equal(played.leaks.unbegun, 1);
	assert_false(leaks_is_exact(&played.leaks));
	played_end(&played);
}

/* The block of posix_memalign() is not in the events of a probe. */
static void test_hidden_blocks(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	play_begin(&played, "probe:posix_memalign", 1, 100, 0);
	play_return(&played, "probe:posix_memalign_return", 1, 0);
	assert_int_equal(played.leaks.hidden, 1);
	assert_int_equal(played.leaks.blocks.alive, 0);
	assert_false(leaks_is_exact(&played.leaks));
	played_end(&played);
}

/* ---- the end ---- */

static void test_older_and_growth(void **unused)
{
	struct played played;
	const struct leaks_site *site;

	(void)unused;
	played_begin(&played);
	played.options.older_ns = 4000;
	for (unsigned int i = 0; i < 8; i++)
		play_malloc(&played, 10, 0x1000 + N(i) * 16, 0x10);
	assert_int_equal(leaks_finish(&played.leaks), 0);
	assert_int_equal(played.leaks.blocks_alive, 8);
	/* The last event is at 9000 ns, the blocks at 2000 to 9000 ns. */
	assert_int_equal(played.leaks.blocks_counted, 4);
	assert_int_equal(played.leaks.bytes_counted, 40);
	site = &played.leaks.sites[1];
	assert_int_equal(site->allocations, 8);
	assert_int_equal(site->oldest_ns, 2000);
	assert_int_equal(site->newest_ns, 5000);
	for (unsigned int part = 0; part < LEAKS_GROWTH; part++)
		assert_int_equal(site->growth[part], part < 4 ? 10 : 0);
	played_end(&played);
}

static void test_exec(void **unused)
{
	struct played played;
	struct ctf_trace before;

	(void)unused;
	played_begin(&played);
	play_malloc(&played, 10, 0x1000, 0x10);
	before = played.trace;
	played.trace.index = 1;
	memset(played.events, 0, sizeof(played.events));
	play_malloc(&played, 20, 0x1000, 0x10);
	assert_int_equal(before.vpid, played.trace.vpid);
	assert_int_equal(leaks_finish(&played.leaks), 0);
	assert_int_equal(played.leaks.blocks_alive, 1);
	assert_int_equal(played.leaks.bytes_alive, 20);
	assert_int_equal(played.leaks.blocks_replaced, 1);
	assert_int_equal(played.leaks.bytes_replaced, 10);
	played_end(&played);
}

/* ---- limits ---- */

/* Stacks beyond the limit are one group. */
static void test_other_stacks(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	played.leaks.stacks.limit = 2;
	for (uint64_t i = 1; i <= 5; i++)
		play_malloc(&played, i, i * 16, i);
	assert_int_equal(leaks_finish(&played.leaks), 0);
	assert_int_equal(leaks_group(&played.leaks), 0);
	assert_int_equal(played.leaks.group_count, 3);
	assert_int_equal(played.leaks.groups[0].named, STACK_NONE);
	assert_int_equal(played.leaks.groups[0].blocks, 3);
	assert_int_equal(played.leaks.groups[0].bytes, 12);
	assert_int_equal(played.leaks.groups[1].bytes, 2);
	assert_int_equal(played.leaks.groups[2].bytes, 1);
	assert_false(played.leaks.groups[0].is_shared);
	played_end(&played);
}

/* The same stack in two processes is one group. */
static void test_shared_stacks(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	play_malloc(&played, 10, 0x1000, 0x10);
	play_malloc(&played, 10, 0x1010, 0x20);
	played.trace.index = 1;
	played.trace.vpid = 4712;
	memset(played.events, 0, sizeof(played.events));
	play_malloc(&played, 30, 0x1000, 0x10);
	assert_int_equal(leaks_finish(&played.leaks), 0);
	assert_int_equal(leaks_group(&played.leaks), 0);
	assert_int_equal(played.leaks.blocks_alive, 3);
	assert_int_equal(played.leaks.group_count, 2);
	assert_int_equal(played.leaks.groups[0].bytes, 40);
	assert_int_equal(played.leaks.groups[0].blocks, 2);
	assert_int_equal(played.leaks.groups[0].allocations, 2);
	assert_true(played.leaks.groups[0].is_shared);
	assert_int_equal(played.leaks.groups[1].bytes, 10);
	assert_false(played.leaks.groups[1].is_shared);
	played_end(&played);
}

static void test_frees_max(void **unused)
{
	struct played played;

	(void)unused;
	played_begin(&played);
	for (uint64_t i = 1; i <= LEAKS_FREES_MAX + 1; i++)
		play(&played, "libc:free", "_ptr", i * 16, "_caller", i, NULL);
	assert_int_equal(played.leaks.unknown_frees, LEAKS_FREES_MAX + 1);
	assert_int_equal(played.leaks.free_keys.count, LEAKS_FREES_MAX);
	played_end(&played);
}

/* Calls that do not return replace one another; those that do are found. */
static void test_calls_max(void **unused)
{
	struct leaks_calls calls = {0};
	struct leaks_call call = {0};

	(void)unused;
	for (uint64_t i = 1; i <= LEAKS_CALLS_MAX + 1; i++) {
		call.number = i;
		call.ns = (int64_t)i;
		assert_int_equal(leaks_calls_begin(&calls, &call), 0);
	}
	assert_true(calls.dropped > 0);
	assert_true(leaks_calls_return(&calls, 0, LEAKS_CALLS_MAX + 1, &call));
	assert_int_equal(call.ns, LEAKS_CALLS_MAX + 1);
	assert_false(leaks_calls_return(&calls, 0, LEAKS_CALLS_MAX + 1, &call));
	assert_false(leaks_calls_return(&calls, 0, 0, &call));
	leaks_calls_free(&calls);
}

/* ---- mappings ---- */

struct removed_parts {
	unsigned int parts, whole;
	uint64_t bytes;
};

static void note_removed(
		void *user, const struct leaks_mapping *mapping, uint64_t bytes, bool is_whole)
{
	struct removed_parts *removed = user;

	assert_true(mapping->end - mapping->begin >= bytes);
	removed->parts++;
	removed->whole += is_whole;
	removed->bytes += bytes;
}

#define MAPPINGS_PAGES 200

/* Compares the table with an array that has the owner of each page, for two processes. */
static void test_mappings(void **unused)
{
	struct leaks_mappings mappings = {.count = 0};
	uint32_t owners[2][MAPPINGS_PAGES] = {{0}};
	uint64_t random = 1;

	(void)unused;
	for (uint32_t step = 1; step < 50000; step++) {
		struct removed_parts removed = {0};
		uint32_t image, begin, length, pages = 0;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		image = random >> 60 & 1;
		begin = (uint32_t)(random >> 40) % (MAPPINGS_PAGES - 30);
		length = 1 + (uint32_t)(random >> 33 & 127) % 30;
		for (uint32_t page = begin; page < begin + length; page++) {
			const struct leaks_mapping *found =
					leaks_mappings_find(&mappings, image, page);

			assert_int_equal(found ? found->stack : 0, owners[image][page]);
			pages += owners[image][page] != 0;
			owners[image][page] = step % 3 ? step : 0;
		}
		assert_int_equal(leaks_mappings_remove(&mappings, image, begin, begin + length,
						 note_removed, &removed),
				0);
		assert_int_equal(removed.bytes, pages);
		if (step % 3)
			assert_int_equal(leaks_mappings_add(&mappings,
							 &(struct leaks_mapping){.begin = begin,
									 .end = begin + length,
									 .image = image,
									 .stack = step}),
					0);
	}
	leaks_mappings_free(&mappings);
}

static void test_mappings_max(void **unused)
{
	struct leaks_mappings mappings = {.count = 0};
	struct removed_parts removed = {0};

	(void)unused;
	for (uint64_t i = 0; i < LEAKS_MAPPINGS_MAX; i++)
		assert_int_equal(leaks_mappings_add(&mappings,
						 &(struct leaks_mapping){.begin = 10 * i,
								 .end = 10 * i + 9}),
				0);
	assert_int_equal(mappings.refused, 0);
	assert_int_equal(leaks_mappings_add(
					 &mappings, &(struct leaks_mapping){.image = 1, .end = 9}),
			0);
	/* The table is full: the second remainder is not added. */
	assert_int_equal(leaks_mappings_remove(&mappings, 0, 13, 14, note_removed, &removed), 0);
	assert_int_equal(mappings.count, LEAKS_MAPPINGS_MAX);
	assert_int_equal(mappings.refused, 2);
	assert_non_null(leaks_mappings_find(&mappings, 0, 12));
	assert_null(leaks_mappings_find(&mappings, 0, 14));
	assert_int_equal(leaks_mappings_remove(&mappings, 0, 0, UINT64_MAX, note_removed, &removed),
			0);
	assert_int_equal(mappings.count, 0);
	leaks_mappings_free(&mappings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_blocks),
			cmocka_unit_test(test_largest_table),
			cmocka_unit_test(test_images_max),
			cmocka_unit_test(test_functions),
			cmocka_unit_test(test_resized),
			cmocka_unit_test(test_realloc_race),
			cmocka_unit_test(test_double_and_unknown_frees),
			cmocka_unit_test(test_forked),
			cmocka_unit_test(test_probes),
			cmocka_unit_test(test_hidden_blocks),
			cmocka_unit_test(test_older_and_growth),
			cmocka_unit_test(test_exec),
			cmocka_unit_test(test_other_stacks),
			cmocka_unit_test(test_shared_stacks),
			cmocka_unit_test(test_frees_max),
			cmocka_unit_test(test_calls_max),
			cmocka_unit_test(test_mappings),
			cmocka_unit_test(test_mappings_max),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
