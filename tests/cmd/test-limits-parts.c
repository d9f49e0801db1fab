/* SPDX-License-Identifier: MIT */
/*
 * Limits of the commands at the last permitted value and one more: the registry of a program,
 * listings, files of definitions, starters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "programs/side/processes/descriptions.h"
#include "programs/side/processes/registry.h"
#include "programs/side/probe/trace-starter.h"
#include "elf/addresses.h"
#include "protocol/pattern.h"
/* The limits of a file are in static functions. */
#include "programs/side/session/save.c"

#include <side/trace.h>

side_hidden_event(
		event, "limits", "event", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("a")));

/* ---- the registry of a program ---- */

#define HEAD 0x1000
#define BLOCKS 0x100000
#define BLOCK_DISTANCE 0x1000
#define ARRAY UINT64_C(0x700000000000)

/* A registry in memory that exists only as these numbers. */
static struct registry {
	uint32_t size, block_size, nr_events;
	uint16_t width, batch_size;
	uint64_t nr_blocks, nr_slots; /* number of entries of each block */
	uint64_t missing;             /* an address that cannot be read */
	bool is_gone;                 /* the batch has another id when it is read again */
} registry;

static void put(void *to, size_t size, size_t at, const void *from, size_t from_size)
{
	assert_true(at + from_size <= size);
	memcpy((char *)to + at, from, from_size);
}

static int read_registry(void *unused, uint64_t address, void *to, size_t size)
{
	const uint64_t blocks = BLOCKS, offset = BLOCKS + registry.block_size, id = 7,
		       array = ARRAY;
	uint64_t block = (address - BLOCKS) / BLOCK_DISTANCE, next;

	(void)unused;
	if (address == registry.missing)
		return -EFAULT;
	memset(to, 0, size);
	if (address == HEAD) {
		put(to, size, 0, &registry.size, 4);
		put(to, size, 4, &registry.width, 2);
		put(to, size, 6, &registry.batch_size, 2);
		put(to, size, 8, &registry.block_size, 4);
		put(to, size, 24, &blocks, 8);
	} else if (size == 12 && address >= BLOCKS && block < registry.nr_blocks) {
		next = block + 1 < registry.nr_blocks ? BLOCKS + (block + 1) * BLOCK_DISTANCE : 0;
		put(to, size, 0, &next, 8);
		put(to, size, 8, &registry.nr_slots, 4);
	} else if (address == offset && registry.nr_events && !(size == 8 && registry.is_gone)) {
		put(to, size, 0, &id, 8);
		if (size > 8) {
			put(to, size, 8, &array, 8);
			put(to, size, 16, &registry.nr_events, 4);
		}
	}
	return 0;
}

/* Returns the result and the number of reports. */
static int list_registry(size_t *ret_failures)
{
	struct addresses seen = {0};
	const struct listing_memory from = {
			.memory = {.read = read_registry, .byte_order = SIDE_TYPE_BYTE_ORDER_HOST},
			.pointer_size = 8,
			.seen = &seen};
	struct listing listing = {.is_silent = true};
	int ret;

	assert_int_equal(listing_source(&listing, "program"), 0);
	ret = registry_list(&listing, &from, HEAD);
	*ret_failures = listing.nr_failures;
	assert_int_equal(listing.nr_events, 0);
	listing_free(&listing);
	addresses_free(&seen);
	return ret;
}

static const struct registry good = {
		.size = 32, .width = 8, .batch_size = 20, .block_size = 12, .nr_blocks = 1};

#define LISTS(result, failures, ...)                                   \
	do {                                                           \
		size_t nr_failures;                                    \
		registry = good;                                       \
		__VA_ARGS__;                                           \
		assert_int_equal(list_registry(&nr_failures), result); \
		assert_int_equal(nr_failures, failures);               \
	} while (0)

static void test_registry(void **unused)
{
	(void)unused;
	LISTS(0, 0, (void)0);
	/* Sizes that a later version may have, and smaller ones, which no version has. */
	LISTS(0, 0, registry.batch_size = 1024);
	LISTS(0, 1, registry.batch_size = 1025);
	LISTS(0, 1, registry.batch_size = 19);
	LISTS(0, 0, registry.block_size = 4096);
	LISTS(0, 1, registry.block_size = 4097);
	LISTS(0, 1, registry.block_size = 11);
	LISTS(0, 1, registry.size = 31);
	LISTS(0, 0, registry.size = 33);
	LISTS(0, 1, registry.width = 4);
	/* More than a program can have. */
	LISTS(0, 0, registry.nr_blocks = 65536);
	LISTS(-E2BIG, 0, registry.nr_blocks = 65537);
	LISTS(0, 0, registry.nr_slots = 1 << 20);
	LISTS(-E2BIG, 0, registry.nr_slots = (1 << 20) + 1);
	LISTS(0, 0, registry.nr_slots = 1 << 19, registry.nr_blocks = 2);
	LISTS(-E2BIG, 0, registry.nr_slots = (1 << 19) + 1, registry.nr_blocks = 2);
	LISTS(0, 0, registry.nr_slots = 1, registry.nr_events = 1 << 22);
	LISTS(-E2BIG, 0, registry.nr_slots = 1, registry.nr_events = (1 << 22) + 1);
	/* A missing part is reported, unless the batch was removed meanwhile. */
	LISTS(0, 1, registry.missing = HEAD);
	LISTS(0, 1, registry.missing = BLOCKS);
	LISTS(0, 1, registry.nr_slots = 1, registry.missing = BLOCKS + 12);
	LISTS(0, 1, registry.nr_slots = 1, registry.nr_events = 3, registry.missing = ARRAY);
	LISTS(0, 0, registry.nr_slots = 1, registry.nr_events = 3, registry.missing = ARRAY,
			registry.is_gone = true);
}

/* ---- listings ---- */

static int own_memory = -1;

/* Texts are read in pieces, which can be longer than the text. */
static int read_own(void *unused, uint64_t address, void *to, size_t size)
{
	(void)unused;
	return pread(own_memory, to, size, (off_t)address) == (ssize_t)size ? 0 : -EFAULT;
}

static void test_listing(void **unused)
{
	const struct listing_memory from = {
			.memory = {.read = read_own, .byte_order = SIDE_TYPE_BYTE_ORDER_HOST},
			.pointer_size = 8};
	struct listing listing = {.is_silent = true};
	struct pattern_error error;
	struct pattern pattern;

	(void)unused;
	own_memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(own_memory >= 0);
	assert_int_equal(listing_source(&listing, "program"), 0);
	/* 256 MiB of descriptions. */
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		struct listing_found found;

		assert_int_equal(listing_read(&from, (uint64_t)(uintptr_t)&event, &found), 0);
		assert_true(found.bytes > 0);
		listing.bytes = (256u << 20) - found.bytes + beyond;
		assert_int_equal(listing_add_found(&listing, &from, &found, LISTING_SECTION),
				beyond ? -E2BIG : 0);
	}
	assert_int_equal(listing.nr_events, 2);
	/* 100 failures. */
	for (unsigned int i = 0; i < 101; i++)
		assert_int_equal(listing_fail(&listing, "a", "b"), i < 100 ? 0 : -E2BIG);
	/* 4,096 names of events that no pattern selects. */
	assert_int_equal(pattern_parse("nothing:*", &pattern, &error), 0);
	listing.patterns = &pattern;
	listing.nr_patterns = 1;
	for (unsigned int i = 0; i < 4097; i++)
		assert_int_equal(listing_add(&listing, &event, NULL, LISTING_SECTION, NULL), 0);
	assert_int_equal(listing.nr_others, 4096);
	assert_string_equal(listing.others[4095], "limits:event");
	assert_int_equal(listing.nr_events, 2);
	assert_int_equal(listing.nr_seen, 4099);
	listing_free(&listing);
	close(own_memory);
}

/* ---- files of definitions ---- */

static int file_of_size(size_t size)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static void test_files(void **unused)
{
	(void)unused;
	for (size_t size = 4u << 20; size <= (4u << 20) + 1; size++) {
		int fd = file_of_size(size), status;
		char *text;
		size_t found;

		status = save_read_all(fd, "file", &text, &found);
		assert_int_equal(status, size > 4u << 20 ? COMMAND_FAILED : COMMAND_DONE);
		assert_int_equal(found, size);
		free(text);
		close(fd);
	}
	/* 64 levels: 63 objects and the number in the innermost one. */
	for (unsigned int levels = 63; levels <= 64; levels++) {
		struct json_object *objects = json_object_new_array();
		char text[1024] = " \n";

		for (unsigned int i = 0; i < levels; i++)
			strcat(text, "{\"a\":");
		strcat(text, "1");
		for (unsigned int i = 0; i < levels; i++)
			strcat(text, "}");
		assert_int_equal(load_parse_text("file", text, strlen(text), objects),
				levels > 63 ? COMMAND_FAILED : COMMAND_DONE);
		assert_int_equal(json_object_array_length(objects), levels > 63 ? 0 : 1);
		json_object_put(objects);
	}
}

/* ---- starters ---- */

/* `nice nice … true`: 32 starters are recognized. */
static void test_starters(void **unused)
{
	static char nice_word[] = "nice", true_word[] = "true";

	(void)unused;
	for (unsigned int nr = 31; nr <= 33; nr++) {
		char *args[36], program[PATH_MAX];
		size_t at = 99;

		for (unsigned int i = 0; i < nr; i++)
			args[i] = nice_word;
		args[nr] = true_word;
		args[nr + 1] = NULL;
		assert_int_equal(starter_follow(args, nr + 1, true, &at, program), 0);
		assert_int_equal(at, nr < 32 ? nr : 32);
		assert_string_equal(program, nr <= 32 ? "true" : "nice");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_registry),
			cmocka_unit_test(test_listing),
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_starters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
