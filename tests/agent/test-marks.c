/* SPDX-License-Identifier: MIT */
/*
 * Exact bytes of the steps that make a record of a hit, and the bits by which filters select calls.
 * Between a check and the exchange that follows it, the test acts as another thread. The file is
 * included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tracers/agent/probes/probes.h"
#include "protocol/protocol.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/vfork.h"
#include "tracers/agent/core/recording.h"
#include "libside/section.h"

static uint64_t fetched = 0x1122334455667788;
static unsigned int nr_taken, nr_fetches;
static uint32_t is_allocated;
static uint8_t free_mark;
static void (*beside)(void); /* acts as another thread while a bit is taken */
static struct probes_scratch scratch_memory;
static bool has_scratch = true, has_marks = true;
static uint16_t call_marks[2];

static uint64_t fake_value(struct probes_event_hit *event_hit, const struct probe_fetch *fetch)
{
	(void)fetch;
	nr_fetches++;
	event_hit->upper = 0x99;
	if (event_hit->field == 3)
		event_hit->unreadable |= UINT64_C(1) << 3;
	return fetched;
}

static void fake_text(struct probes_event_hit *event_hit, const struct probe_table_field *field,
		uint64_t address, char *to)
{
	assert_true(event_hit && field->limit == 9 && address == fetched);
	strcpy(to, "text");
}

static uint64_t fake_several(struct probes_event_hit *event_hit,
		const struct probe_table_field *field, uint64_t address, void *to)
{
	assert_true(event_hit && field && address == fetched);
	memcpy(to, "abcdef", 6);
	return 3;
}

static uint8_t fake_take(struct probes_location *location)
{
	assert_non_null(location);
	nr_taken++;
	if (beside)
		beside();
	return free_mark;
}

static void fake_give(struct probes_location *location, uint32_t marks)
{
	assert_non_null(location);
	is_allocated |= marks;
}

static void *fake_scratch(void)
{
	return has_scratch ? &scratch_memory : NULL;
}

static uint16_t *fake_marks(const struct patch_hit *hit, bool leaves)
{
	assert_non_null(hit);
	return has_marks ? &call_marks[leaves] : NULL;
}

static unsigned int nr_ends;
static size_t end_size;

static void fake_end(const struct agent_event *event, const uint8_t *buffer, const uint8_t *end,
		uint64_t ticks)
{
	(void)ticks;
	assert_true(event && buffer == scratch_memory.record);
	nr_ends++;
	end_size = (size_t)(end - buffer);
}

#define recording_end fake_end
#define probe_fetch_value fake_value
#define probe_hit_text fake_text
#define probe_hit_several fake_several
#define probes_mark_take fake_take
#define probes_marks_give fake_give
#define patch_hit_scratch fake_scratch
#define patch_hit_marks fake_marks
#include "tracers/agent/probes/record.c"

/* ---- one spec ---- */

static struct {
	_Alignas(AGENT_LINE) unsigned char bytes[4 * AGENT_LINE];
} lines;
static struct probes_spec_details details;
static struct probes_location location;
static uint64_t unseen[PROBES_NR_UNSEEN];
static struct probes_field fields[6];
static struct probes_event event = {.fields = fields};
static struct probes_step steps[6];
static struct probes_layout layout = {.event = &event, .steps = steps};
static struct patch_hit hit;

static struct probes_spec *begin(void)
{
	struct probes_spec *spec = (void *)lines.bytes;

	memset(&lines, 0, sizeof(lines));
	memset(&details, 0, sizeof(details));
	memset(&scratch_memory, 0, sizeof(scratch_memory));
	memset(unseen, 0, sizeof(unseen));
	memset(call_marks, 0, sizeof(call_marks));
	spec->lines = 3;
	spec->mark = 2;
	spec->exit = &layout;
	*probes_details_of(spec) = &details;
	assert_ptr_equal(probes_details_of(spec), lines.bytes + 3 * AGENT_LINE - sizeof(void *));
	details.spec = spec;
	details.location = &location;
	details.function = "name";
	details.function_bytes = 5;
	scratch_memory.event_hit.details = &details;
	scratch_memory.event_hit.hit = &hit;
	hit.call = 1;
	event.unseen = unseen;
	nr_taken = is_allocated = 0;
	free_mark = 7;
	beside = NULL;
	has_scratch = has_marks = true;
	return spec;
}

/* ---- bytes ---- */

static size_t put(uint8_t kind, uint8_t size, uint16_t from, unsigned int at, uint8_t *to)
{
	struct probe_fetch fetches[6] = {{0}};
	struct probes_event_hit event_hit = {.layout = &layout, .details = &details, .hit = &hit};

	details.entry_fetches = fetches;
	memset(to, 0xee, 64);
	steps[at] = (struct probes_step){.kind = kind, .size = size, .from = from};
	return (size_t)(record_write_field(&event_hit, &steps[at], to) - to);
}

static void test_steps(void **state)
{
	uint8_t bytes[64];

	(void)state;
	begin();
	fields[1].field.limit = 9;
	fields[2].field.size = 2;
	assert_int_equal(put(PROBES_STEP_VALUE, 3, 0, 0, bytes), 3);
	assert_memory_equal(bytes, "\x88\x77\x66", 3);
	assert_int_equal(put(PROBES_STEP_BOOL, 1, 0, 0, bytes), 1);
	assert_int_equal(bytes[0], 1);
	fetched = 0x100;
	assert_int_equal(put(PROBES_STEP_BOOL, 1, 0, 0, bytes), 1);
	assert_int_equal(bytes[0], 0);
	fetched = 0x1122334455667788;
	assert_int_equal(put(PROBES_STEP_WIDE, 16, 0, 0, bytes), 16);
	assert_memory_equal(bytes, "\x88\x77\x66\x55\x44\x33\x22\x11\x99\0\0\0\0\0\0\0", 16);
	nr_fetches = 0;
	assert_int_equal(put(PROBES_STEP_NAME, 0, 0, 0, bytes), 5);
	assert_string_equal((const char *)bytes, "name");
	assert_int_equal(nr_fetches, 0);
	assert_int_equal(put(PROBES_STEP_STRING, 0, 0, 1, bytes), 5);
	assert_string_equal((const char *)bytes, "text");
	assert_int_equal(put(PROBES_STEP_GATHERED, 0, 0, 2, bytes), 8 + 6);
	assert_memory_equal(bytes, "\3\0\0\0\0\0\0\0abcdef", 14);
	assert_int_equal(put(PROBES_STEP_NOTHING, 0, 0, 0, bytes), 0);
	/* Guarded: a selector, and nothing else if the value could not be read. */
	assert_int_equal(put(PROBES_STEP_VALUE, 2, 1, 0, bytes), 3);
	assert_memory_equal(bytes, "\1\x88\x77", 3);
	assert_int_equal(put(PROBES_STEP_VALUE, 2, 1, 3, bytes), 1);
	assert_int_equal(bytes[0], 0);
	/* Unguarded steps: words first, then the others. */
	hit.registers.rax = 0x0102030405060708;
	hit.registers.rdx = 0x1112131415161718;
	steps[0] = steps[1] = (struct probes_step){
			.size = 8, .from = offsetof(struct patch_hit, registers.rax)};
	steps[1].from = offsetof(struct patch_hit, registers.rdx);
	steps[2] = (struct probes_step){
			.size = 2, .from = offsetof(struct patch_hit, registers.rdx)};
	layout.nr_words = 2;
	layout.nr_plain = 3;
	assert_ptr_equal(record_write_plain_fields(&hit, &layout, bytes), bytes + 18);
	assert_memory_equal(
			bytes, "\x08\7\6\5\4\3\2\1\x18\x17\x16\x15\x14\x13\x12\x11\x18\x17", 18);
	layout.nr_words = layout.nr_plain = 0;
	/* Names count with their length. */
	layout.most = 40;
	assert_int_equal(most_bytes(details.spec, &layout), 40);
	layout.nr_names = 2;
	assert_int_equal(most_bytes(details.spec, &layout), 40 + 2 * 5);
	layout.nr_names = 0;
}

static void test_times(void **state)
{
	uint64_t began = 0;

	(void)state;
	hit.now = 77;
	hit.began = &began;
	assert_true(clock_of(&hit, true) == 77 && !began && ticks_of(&hit, true) == 77);
	hit.call = 0;
	assert_true(clock_of(&hit, false) == 0 && ticks_of(&hit, false) > 77 && !began);
	hit.call = 1;
	assert_true(clock_of(&hit, false) == began && began > 77);
	began = 0;
	assert_true(ticks_of(&hit, false) == began && began > 77);
}

/* ---- bits ---- */

static void other_channel_took_the_same(void)
{
	details.marks[5] = 12;
}

static void spec_is_removed(void)
{
	details.marks[5] = PROBES_MARKS_RETURNED;
}

static void test_marks(void **state)
{
	(void)state;
	/* The first channel gets the bit of the spec, others take one. */
	begin();
	assert_int_equal(probes_record_claim_channel_bit(&details, 4), 3);
	assert_true(details.mark_owner == 5 && details.marks[4] == 3 && !nr_taken);
	assert_int_equal(probes_record_claim_channel_bit(&details, 5), 8);
	assert_true(details.marks[5] == 8 && nr_taken == 1 && !is_allocated);
	/* The owner once more, after another thread stored its bit. */
	assert_int_equal(probes_record_claim_channel_bit(&details, 4), 3);
	assert_int_equal(nr_taken, 1);
	details.marks[4] = PROBES_MARKS_RETURNED;
	assert_int_equal(probes_record_claim_channel_bit(&details, 4), 0);
	/* A handler or another thread is faster: the reserved bit is released. */
	begin();
	details.mark_owner = 1;
	beside = other_channel_took_the_same;
	assert_int_equal(probes_record_claim_channel_bit(&details, 5), 12);
	assert_int_equal(is_allocated, 1u << 7);
	begin();
	details.mark_owner = 1;
	beside = spec_is_removed;
	assert_int_equal(probes_record_claim_channel_bit(&details, 5), 0);
	assert_int_equal(is_allocated, 1u << 7);
	/*
	 * No bit is free: the one that another thread reserved at the same time, if there is one.
	 */
	begin();
	details.mark_owner = 1;
	free_mark = PATCH_MARKS;
	assert_int_equal(probes_record_claim_channel_bit(&details, 5), 0);
	beside = other_channel_took_the_same;
	assert_int_equal(probes_record_claim_channel_bit(&details, 5), 12);
	beside = spec_is_removed;
	assert_int_equal(probes_record_claim_channel_bit(&details, 5), 0);
	assert_int_equal(is_allocated, 0);
	/* The last bit. */
	begin();
	details.mark_owner = 1;
	free_mark = PATCH_MARKS - 1;
	assert_int_equal(probes_record_claim_channel_bit(&details, 5), PATCH_MARKS);
	begin()->mark = PATCH_MARKS;
	assert_int_equal(probes_record_claim_channel_bit(&details, 4), 8);
	assert_int_equal(details.mark_owner, 0);
}

static void test_calls(void **state)
{
	struct agent_channel channel = {.index = 4}, other = {.index = 5},
			     beyond = {.index = WIRE_CHANNELS_MAX};

	(void)state;
	begin();
	assert_false(agent_probes_is_marked(&channel));
	assert_int_equal(details.marks[4], 0);
	call_marks[0] = 1;
	agent_probes_mark_call(&channel);
	assert_int_equal(call_marks[0], 1 | 1 << 2);
	agent_probes_mark_call(&other);
	assert_int_equal(call_marks[0], 1 | 1 << 2 | 1 << 7);
	call_marks[1] = 1 << 7;
	assert_true(!agent_probes_is_marked(&channel) && agent_probes_is_marked(&other));
	assert_false(agent_probes_is_marked(&beyond));
	details.marks[5] = PROBES_MARKS_RETURNED;
	assert_false(agent_probes_is_marked(&other));
	/* Calls that cannot be marked are losses of the event at their end. */
	assert_int_equal(unseen[PROBES_UNSEEN_MEMORY], 0);
	agent_probes_mark_call(&other);
	assert_int_equal(unseen[PROBES_UNSEEN_MEMORY], 1);
	has_marks = false;
	agent_probes_mark_call(&channel);
	assert_int_equal(unseen[PROBES_UNSEEN_MEMORY], 2);
	hit.call = 0;
	agent_probes_mark_call(&channel);
	has_scratch = false;
	hit.call = 1;
	agent_probes_mark_call(&channel);
	assert_false(agent_probes_is_marked(&channel));
	assert_int_equal(unseen[PROBES_UNSEEN_MEMORY], 2);
	assert_true(!agent_probes_buffer() && !agent_probes_filter_memory());
	has_scratch = true;
	assert_ptr_equal(agent_probes_buffer(), scratch_memory.record);
	assert_ptr_equal(agent_probes_filter_memory(), scratch_memory.values);
}

/* Without thread-local memory of its own the process only counts: both events of each spec. */
static void test_unseen(void **state)
{
	struct probes_spec *spec = begin();
	struct probes_layout entry = layout;
	struct probes_event first = event;
	uint64_t of_first[PROBES_NR_UNSEEN] = {0};

	(void)state;
	first.unseen = of_first;
	entry.event = &first;
	spec->entry = &entry;
	hit.user = spec;
	probe_hit_unseen(&hit, PATCH_UNSEEN_PROCESS);
	assert_true(of_first[PATCH_UNSEEN_PROCESS] == 1 && unseen[PATCH_UNSEEN_PROCESS] == 1);
	spec->exit = NULL;
	probe_hit_unseen(&hit, PATCH_UNSEEN_PROCESS);
	assert_true(of_first[PATCH_UNSEEN_PROCESS] == 2 && unseen[PATCH_UNSEEN_PROCESS] == 1);
	note_unseen(NULL, PATCH_UNSEEN_FULL);
	first.unseen = NULL;
	note_unseen(&entry, PATCH_UNSEEN_FULL);
	/* libside is not initialised: the loss stays counted until it is. */
	spec->exit = &layout;
	probe_hit_unseen(&hit, PATCH_UNSEEN_FULL);
	assert_true(unseen[PATCH_UNSEEN_FULL] == 1 && !of_first[PATCH_UNSEEN_FULL]);
	event.unseen = NULL;
	probe_hit_unseen(&hit, PATCH_UNSEEN_FULL);
	probe_count_unseen(&event);
	probe_count_unseen_locked(&event);
	assert_int_equal(unseen[PATCH_UNSEEN_FULL], 1);
	agent_vforked = CONTEXT_VFORKED;
	assert_true(probe_hit_is_vforked());
	agent_vforked = 0;
	assert_false(probe_hit_is_vforked());
}

/* Steps that store more bytes than the record has are left to the callback. */
static void test_records(void **state)
{
	const struct agent_event recorded = {.straight = true, .producer = (void *)&lines};
	struct probes_spec *spec = begin();

	(void)state;
	layout = (struct probes_layout){.event = &event, .steps = steps, .most = 512};
	nr_ends = 0;
	assert_true(record_in(&recorded, &hit, spec, &layout, &scratch_memory) && nr_ends == 1 &&
			!end_size);
	layout.most = 513;
	assert_false(record_in(&recorded, &hit, spec, &layout, &scratch_memory));
	layout.most = 512 - 2 * 5;
	layout.nr_names = 2;
	assert_true(record_in(&recorded, &hit, spec, &layout, &scratch_memory) && nr_ends == 2);
	layout.most++;
	assert_false(record_in(&recorded, &hit, spec, &layout, &scratch_memory));
	assert_int_equal(nr_ends, 2);
	/* A name and words behind it always have enough space. */
	layout.named = true;
	spec->name_bytes = 5;
	memcpy(spec->name, "name", 5);
	layout.nr_behind = 1;
	layout.words[0] = 0;
	memcpy(&hit, "\1\2\3\4\5\6\7\10", 8);
	assert_true(record_in(&recorded, &hit, spec, &layout, &scratch_memory) && nr_ends == 3 &&
			end_size == 13);
	assert_memory_equal(scratch_memory.record, "name\0\1\2\3\4\5\6\7\10", 13);
	memset(&hit, 0, sizeof(hit));
	layout = (struct probes_layout){.event = &event, .steps = steps};
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_steps),
			cmocka_unit_test(test_times),
			cmocka_unit_test(test_marks),
			cmocka_unit_test(test_calls),
			cmocka_unit_test(test_unseen),
			cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
