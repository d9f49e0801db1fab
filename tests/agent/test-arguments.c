/* SPDX-License-Identifier: MIT */
/*
 * Arguments that a hit of a probe builds from the fields of its event, and the memory that they
 * use. The test includes the file. It replaces the fetch and the callbacks of libside.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <side/builder.h>
#include <side/tracer-extensions.h>

#include "../called.h"
#include "../resources.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/record.h"
#include "tracers/agent/probes/probes.h"
#include "base/inside/raw.h"

static struct probes_scratch scratch_memory;
static struct {
	bool cannot_read, no_scratch, no_pages, is_loud;
	uint64_t values[16], length, nr_calls;
	uint32_t unreadable; /* fields that the fetch cannot read */
} played;
static struct probe_fetch all_fetches[16];
static uint32_t taken_in_call;

static bool play_read_string(
		struct probes_event_hit *event_hit, char *to, uint64_t from, size_t size)
{
	assert_non_null(event_hit);
	called("string %u %zu\n", (unsigned int)from, size);
	if (!played.cannot_read)
		strcpy(to, "text");
	return !played.cannot_read;
}

static bool play_read(struct probes_event_hit *event_hit, void *to, uint64_t from, size_t size)
{
	assert_non_null(event_hit);
	called("bytes %u %zu\n", (unsigned int)from, size);
	if (!played.cannot_read)
		memset(to, 'b', size);
	return !played.cannot_read;
}

static uint32_t play_calls(uint64_t *to, uint32_t most, const struct patch_hit *hit, bool leaves,
		struct probes_block *block, struct probes_window *window)
{
	assert_true(to && hit && window && leaves);
	called("calls %u %s\n", most, probe_hit_memory(block) ? "with memory" : "without");
	return (uint32_t)played.nr_calls;
}

static uint64_t play_value(struct probes_event_hit *event_hit, const struct probe_fetch *fetch)
{
	assert_ptr_equal(fetch, &all_fetches[event_hit->field]);
	event_hit->upper = 0x9988;
	event_hit->length = played.length;
	event_hit->unreadable |= played.unreadable;
	return played.values[event_hit->field];
}

static void *play_scratch(void)
{
	return played.no_scratch ? NULL : &scratch_memory;
}

static void play_functions(uintptr_t *begin, uintptr_t *end)
{
	*begin = 11;
	*end = 22;
}

static void *play_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	assert_true(!at && fd == -1 && protection == (PROT_READ | PROT_WRITE));
	called("map\n");
	return played.no_pages ? NULL : raw_mmap(at, size, protection, flags, fd);
}

static void print(const struct side_arg *argument);

static bool play_call(const struct side_event_state *state, const struct side_arg_vec *arguments,
		void *caller, const struct side_tracer_functions *only);

#define probe_read_string play_read_string
#define probe_read_as_program play_read
#define probe_calls play_calls
#define probe_fetch_value play_value
#define patch_hit_scratch play_scratch
#define agent_record_functions play_functions
#define probe_fetch_start() called("fetch\n")
#define probe_record_start() called("record\n")
#define probe_count_unseen(event) called("unseen %d\n", (int)(event)->nr_top)
#define side_tracer_call play_call
#define raw_mmap play_mmap
#include "tracers/agent/probes/hit.c"

#undef raw_mmap

static bool play_call(const struct side_event_state *state, const struct side_arg_vec *arguments,
		void *caller, const struct side_tracer_functions *only)
{
	float other = 7;

	assert_int_equal((uintptr_t)state, 99);
	assert_int_equal((uintptr_t)caller, 4711);
	if (only) {
		assert_true(only->begin == 11 && only->end == 22);
		called("quiet:");
		for (uint32_t i = 0; i < arguments->len; i++)
			print(&side_ptr_get(arguments->sav)[i]);
		called("\n");
		return !played.is_loud;
	}
	called("saved %u\n", arguments->len);
	taken_in_call = blocks_taken;
	/* Callbacks of other tracers use all registers. */
	__asm__ volatile("movss %0, %%xmm9" : : "m"(other));
	return true;
}

static void print(const struct side_arg *argument)
{
	const struct side_arg_optional *optional;
	const struct side_arg_vec *members;
	const uint64_t *gathered;

	called(" %u", argument->type.v);
	assert_int_equal(argument->flags, 0);
	switch (argument->type.v) {
	case SIDE_TYPE_BOOL: called("=%u", argument->u.side_static.bool_value.side_bool8); break;
	case SIDE_TYPE_STRING_UTF8:
		called("=\"%s\"", (const char *)side_ptr_get(argument->u.side_static.string_value));
		break;
	case SIDE_TYPE_STRUCT:
		members = side_ptr_get(argument->u.side_static.side_struct);
		called("={");
		for (uint32_t i = 0; i < members->len; i++)
			print(&side_ptr_get(members->sav)[i]);
		called(" }");
		break;
	case SIDE_TYPE_OPTIONAL:
		optional = side_ptr_get(argument->u.side_static.side_optional);
		called("=%s", optional->selector == SIDE_OPTIONAL_ENABLED ? "some" : "none");
		print(&optional->side_static);
		break;
	case SIDE_TYPE_GATHER_VLA:
		gathered = side_ptr_get(argument->u.side_static.side_vla_gather.ptr);
		assert_ptr_equal(side_ptr_get(argument->u.side_static.side_vla_gather.length_ptr),
				gathered);
		called("=%u:%.3s", (unsigned int)gathered[0], (const char *)(gathered + 1));
		break;
	case SIDE_TYPE_U128:
		called("=%x",
				(unsigned int)argument->u.side_static.integer_value
						.side_u128_split[SIDE_INTEGER128_SPLIT_HIGH]);
		break;
	default: called("=%u", (unsigned int)argument->u.side_static.integer_value.side_u64); break;
	}
}

/* ---- the environment ---- */

static struct {
	_Alignas(AGENT_LINE) unsigned char bytes[2 * AGENT_LINE];
} lines;
static struct probes_spec_details details;
static struct probes_field fields[16];
static uintptr_t enabled;
static uint64_t unseen[PROBES_NR_UNSEEN];
static struct probes_event event_of_hit;
static struct probes_layout layout;
static struct patch_hit hit = {.address = 4711};

static void reset(void)
{
	struct probes_spec *spec = (void *)lines.bytes;

	memset(&played, 0, sizeof(played));
	memset(fields, 0, sizeof(fields));
	memset(unseen, 0, sizeof(unseen));
	memset(&details, 0, sizeof(details));
	memset(&layout, 0, sizeof(layout));
	memset(&event_of_hit, 0, sizeof(event_of_hit));
	played.length = UINT64_MAX;
	event_of_hit.enabled = &enabled;
	event_of_hit.fields = fields;
	event_of_hit.unseen = unseen;
	event_of_hit.state = (const struct side_event_state *)(uintptr_t)99;
	enabled = 1;
	layout.event = &event_of_hit;
	spec->lines = 2;
	*probes_details_of(spec) = &details;
	details.entry_fetches = all_fetches;
	details.exit_fetches = all_fetches;
	details.function = "function";
	blocks_taken = 0;
	probe_hit_lost = 0;
	*calls = '\0';
}

static void add(uint8_t type, uint16_t label, uint8_t size, uint16_t limit, uint64_t value)
{
	uint32_t i = event_of_hit.nr_fields++;

	fields[i] = (struct probes_field){.field = {.type = type, .size = size, .limit = limit},
			.label = label,
			.arg = (uint8_t)i};
	played.values[i] = value;
	event_of_hit.nr_top++;
}

static void happen(const char *wanted)
{
	probe_hit_by_arguments(
			&hit, (const struct probes_spec *)(const void *)lines.bytes, &layout);
	assert_called(wanted);
	assert_int_equal(blocks_taken, 0);
}

/* ---- blocks ---- */

static void test_blocks(void **unused)
{
	struct resources before;
	struct probes_block block = {.index = -1};

	(void)unused;
	reset();
	before = resources_now();
	assert_int_equal(probes_hit_allocate_block(), -1);
	played.no_pages = true;
	probe_hit_start();
	assert_called("map\nfetch\nrecord\n");
	assert_int_equal(probes_hit_allocate_block(), -1);
	played.no_pages = false;
	probe_hit_start();
	assert_called("map\nfetch\nrecord\n");
	probe_hit_start();
	assert_called("fetch\nrecord\n");
	assert_int_equal(resources_now().bytes - before.bytes,
			(32 * (size_t)BLOCK_SIZE + 4095) / 4096 * 4096);
	for (int i = 0; i < 32; i++)
		assert_int_equal(probes_hit_allocate_block(), i);
	assert_int_equal(probes_hit_allocate_block(), -1);
	assert_null(probe_hit_memory(&block));
	assert_int_equal(block.index, -1);
	give_block(31);
	give_block(5);
	assert_ptr_equal(probe_hit_memory(&block), blocks + 5 * (size_t)BLOCK_SIZE);
	assert_int_equal(block.index, 5);
	/* The block is used once. */
	assert_ptr_equal(probe_hit_memory(&block), blocks + 5 * (size_t)BLOCK_SIZE);
	assert_int_equal(probes_hit_allocate_block(), 31);
	blocks_taken = 0;
	block.memory = NULL;
	assert_ptr_equal(probe_hit_memory(&block), blocks);
	assert_int_equal(block.index, 0);
	blocks_taken = 0;
}

/* ---- fields ---- */

static void test_values(void **unused)
{
	char wanted[256], one[64], two[160];

	snprintf(one, sizeof(one), "quiet: %d=12\n", SIDE_TYPE_U64);
	snprintf(two, sizeof(two), "%s%s", one, one);
	(void)unused;
	reset();
	add(PROBE_FIELD_UNSIGNED, SIDE_TYPE_U64, 8, 0, 12);
	add(PROBE_FIELD_BOOL, SIDE_TYPE_BOOL, 1, 0, 0x1ff00);
	add(PROBE_FIELD_BOOL, SIDE_TYPE_BOOL, 1, 0, 0x80);
	add(PROBE_FIELD_UNSIGNED, SIDE_TYPE_U128, 16, 0, 12);
	snprintf(wanted, sizeof(wanted), "quiet: %d=12 %d=0 %d=1 %d=9988\n", SIDE_TYPE_U64,
			SIDE_TYPE_BOOL, SIDE_TYPE_BOOL, SIDE_TYPE_U128);
	happen(wanted);
	/* The enabled word of an event whose probe is only armed. */
	enabled = (uintptr_t)1 << 56;
	happen("");
	enabled = 0;
	happen("");
	enabled = (uintptr_t)2 << 56;
	event_of_hit.nr_top = 1;
	happen(one);
	played.no_scratch = true;
	happen(one);
	/* Ten fields need no block, eleven do. */
	enabled = 1;
	reset();
	for (int i = 0; i < 10; i++)
		add(PROBE_FIELD_UNSIGNED, SIDE_TYPE_U64, 8, 0, 12);
	event_of_hit.nr_top = 1;
	probe_hit_by_arguments(
			&hit, (const struct probes_spec *)(const void *)lines.bytes, &layout);
	blocks_taken = UINT32_MAX;
	probe_hit_by_arguments(
			&hit, (const struct probes_spec *)(const void *)lines.bytes, &layout);
	assert_called(two);
	add(PROBE_FIELD_UNSIGNED, SIDE_TYPE_U64, 8, 0, 12);
	probe_hit_by_arguments(
			&hit, (const struct probes_spec *)(const void *)lines.bytes, &layout);
	assert_called("unseen 2\n");
	assert_true(probe_hit_lost == 1 && unseen[PROBES_UNSEEN_MEMORY] == 1);
	event_of_hit.unseen = NULL;
	probe_hit_by_arguments(
			&hit, (const struct probes_spec *)(const void *)lines.bytes, &layout);
	assert_called("unseen 2\n");
	assert_int_equal(probe_hit_lost, 2);
	blocks_taken = 0;
	snprintf(two, sizeof(two), "quiet: %d=12 %d=12\n", SIDE_TYPE_U64, SIDE_TYPE_U64);
	happen(two);
}

static void test_strings(void **unused)
{
	struct probes_event_hit event_hit = {.length = 5, .field = 3};
	const struct probe_table_field field = {.type = PROBE_FIELD_STRING, .limit = 7};
	char to[16] = "x";

	(void)unused;
	reset();
	probe_hit_text(&event_hit, &field, 80, to);
	assert_called("string 80 6\n");
	assert_string_equal(to, "text");
	event_hit.length = 7;
	probe_hit_text(&event_hit, &field, 80, to);
	event_hit.length = 8;
	probe_hit_text(&event_hit, &field, 80, to);
	assert_called("string 80 8\nstring 80 8\n");
	event_hit.length = 0;
	probe_hit_text(&event_hit, &field, 80, to);
	assert_called("");
	assert_true(!*to && !event_hit.unreadable);
	event_hit.length = 1;
	played.cannot_read = true;
	probe_hit_text(&event_hit, &field, 80, to);
	assert_true(!*to && event_hit.unreadable == 8);
	/* As arguments; the name of the function is not copied. */
	reset();
	event_of_hit.scratch = 1;
	add(PROBE_FIELD_STRING, SIDE_TYPE_STRING_UTF8, 1, 7, 80);
	add(PROBE_FIELD_STRING, SIDE_TYPE_STRING_UTF8, 1, 8, (uintptr_t)details.function);
	add(PROBE_FIELD_STRING, SIDE_TYPE_STRING_UTF8, 1, 9, 90);
	probe_hit_by_arguments(
			&hit, (const struct probes_spec *)(const void *)lines.bytes, &layout);
	assert_non_null(strstr(calls, "string 80 8\nstring 90 10\nquiet:"));
	assert_non_null(strstr(calls, "=\"text\""));
	assert_non_null(strstr(calls, "=\"function\""));
	*calls = '\0';
}

static void test_several(void **unused)
{
	uint64_t to[8];
	struct probes_scratch scratch;
	struct probe_table_field field = {.type = PROBE_FIELD_BYTES, .size = 2, .limit = 3};
	struct probes_event_hit event_hit = {.length = 9,
			.field = 5,
			.hit = &hit,
			.layout = &layout,
			.window = &scratch.window};

	(void)unused;
	reset();
	layout.leaves = true;
	assert_int_equal(probe_hit_several(&event_hit, &field, 80, to), 3);
	event_hit.length = 2;
	assert_int_equal(probe_hit_several(&event_hit, &field, 80, to), 2);
	assert_called("bytes 80 6\nbytes 80 4\n");
	event_hit.length = 0;
	assert_int_equal(probe_hit_several(&event_hit, &field, 80, to), 0);
	assert_called("");
	assert_int_equal(event_hit.unreadable, 0);
	event_hit.length = 2;
	played.cannot_read = true;
	assert_int_equal(probe_hit_several(&event_hit, &field, 80, to), 0);
	assert_int_equal(event_hit.unreadable, 32);
	*calls = '\0';
	/* Calls with memory of a block, which is returned. */
	event_hit.unreadable = 0;
	field.type = PROBE_FIELD_BACKTRACE;
	played.nr_calls = 2;
	assert_int_equal(probe_hit_several(&event_hit, &field, 80, to), 2);
	assert_called("calls 3 with memory\n");
	assert_int_equal(blocks_taken, 0);
	event_hit.calls_memory = to;
	blocks_taken = 1;
	assert_int_equal(probe_hit_several(&event_hit, &field, 80, to), 2);
	assert_int_equal(blocks_taken, 1);
	event_hit.calls_memory = NULL;
	blocks_taken = UINT32_MAX;
	assert_int_equal(probe_hit_several(&event_hit, &field, 80, to), 2);
	assert_called("calls 3 with memory\ncalls 3 without\n");
	assert_true(!event_hit.unreadable && blocks_taken == UINT32_MAX);
	blocks_taken = 0;
	played.nr_calls = 0;
	assert_int_equal(probe_hit_several(&event_hit, &field, 80, to), 0);
	assert_int_equal(event_hit.unreadable, 32);
}

static void test_composed(void **unused)
{
	char wanted[256];

	(void)unused;
	/* A structure with two members in other scalars, and an optional value after it. */
	reset();
	event_of_hit.scratch = 1;
	add(PROBE_FIELD_STRUCT, SIDE_TYPE_STRUCT, 0, 0, 0);
	add(PROBE_FIELD_UNSIGNED, SIDE_TYPE_U64, 8, 0, 3);
	add(PROBE_FIELD_UNSIGNED, SIDE_TYPE_U64, 8, 0, 4);
	add(PROBE_FIELD_UNSIGNED, SIDE_TYPE_U64, 8, 0, 5);
	add(PROBE_FIELD_BYTES, SIDE_TYPE_GATHER_VLA, 1, 3, 80);
	fields[0].arg = 0;
	fields[0].first_member = 3;
	fields[0].nr_members = 2;
	fields[1].arg = 3;
	fields[2].arg = 4;
	fields[3].arg = 1;
	fields[3].field.guarded = true;
	fields[4].arg = 2;
	event_of_hit.nr_top = 3;
	snprintf(wanted, sizeof(wanted),
			"bytes 80 3\nquiet: %d={ %d=3 %d=4 } %d=some %d=5 %d=3:bbb\n",
			SIDE_TYPE_STRUCT, SIDE_TYPE_U64, SIDE_TYPE_U64, SIDE_TYPE_OPTIONAL,
			SIDE_TYPE_U64, SIDE_TYPE_GATHER_VLA);
	happen(wanted);
	played.unreadable = 8;
	snprintf(wanted, sizeof(wanted),
			"bytes 80 3\nquiet: %d={ %d=3 %d=4 } %d=none %d=5 %d=3:bbb\n",
			SIDE_TYPE_STRUCT, SIDE_TYPE_U64, SIDE_TYPE_U64, SIDE_TYPE_OPTIONAL,
			SIDE_TYPE_U64, SIDE_TYPE_GATHER_VLA);
	happen(wanted);
}

static void test_scratch(void **unused)
{
	static char memory[64];
	struct probes_event_hit event_hit = {.scratch = memory};

	(void)unused;
	assert_ptr_equal(take_scratch(&event_hit, 1), memory);
	assert_ptr_equal(take_scratch(&event_hit, 8), memory + 8);
	assert_ptr_equal(take_scratch(&event_hit, 9), memory + 16);
	assert_ptr_equal(take_scratch(&event_hit, 0), memory + 32);
	assert_ptr_equal(event_hit.scratch, memory + 32);
}

/* ---- registers ---- */

static void clobber(void)
{
	float other = 8;

	called("plain\n");
	taken_in_call = blocks_taken;
	__asm__ volatile("movss %0, %%xmm9" : : "m"(other) : "xmm9");
}

static float saved_vector(void (*call)(void))
{
	float before = 5, after;

	__asm__ volatile("movss %0, %%xmm9" : : "m"(before) : "xmm9");
	call();
	__asm__ volatile("movss %%xmm9, %0" : "=m"(after));
	return after;
}

static void call_plain(void)
{
	probe_hit_saved(clobber);
}

static void call_loud(void)
{
	probe_hit_by_arguments(
			&hit, (const struct probes_spec *)(const void *)lines.bytes, &layout);
}

static void test_saved(void **unused)
{
	(void)unused;
	reset();
	assert_true(saved_vector(call_plain) == 5);
	assert_called("plain\n");
	assert_true(taken_in_call == 1 && blocks_taken == 0);
	blocks_taken = UINT32_MAX;
	assert_true(saved_vector(call_plain) == 5);
	assert_called("plain\n");
	assert_int_equal(blocks_taken, UINT32_MAX);
	/* Tracers other than the recorder listen. */
	reset();
	played.is_loud = true;
	add(PROBE_FIELD_UNSIGNED, SIDE_TYPE_U64, 8, 0, 12);
	assert_true(saved_vector(call_loud) == 5);
	assert_non_null(strstr(calls, "=12\nsaved 1\n"));
	assert_true(taken_in_call == 1 && blocks_taken == 0);
	*calls = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_blocks),
			cmocka_unit_test(test_values),
			cmocka_unit_test(test_strings),
			cmocka_unit_test(test_several),
			cmocka_unit_test(test_composed),
			cmocka_unit_test(test_scratch),
			cmocka_unit_test(test_saved),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	raw_munmap(blocks, BLOCKS * BLOCK_SIZE);
	return ret;
}
