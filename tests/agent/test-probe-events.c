/* SPDX-License-Identifier: MIT */
/*
 * The events that the agent makes for a table of probes: memory for their fields, labels, pairs of
 * one call, and the state after a failure. The test includes the file. It replaces the table, the
 * builder of events and libside, and lets each allocation fail.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <side/builder.h>
#include <side/tracer-extensions.h>

#include "../called.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/probes/probes.h"

#define NR_EVENTS 3

static struct probe_table_event table_events[NR_EVENTS];
static struct probe_table_field table_fields[NR_EVENTS][4];
static struct probe_table_probe table_probes[4];
static uint32_t all_probes, all_events;
static struct side_event_description described[NR_EVENTS];
static struct side_event_state_0 states[NR_EVENTS];

static struct {
	unsigned int failing, nr_takes;
	bool no_handle, unfinished;
} played;

static void *play_take(struct agent_memory *memory, size_t size)
{
	return ++played.nr_takes == played.failing ? NULL : agent_memory_take(memory, size);
}

static void play_event(
		const struct probe_table *table, uint32_t index, struct probe_table_event *event)
{
	assert_true(table && index < NR_EVENTS);
	*event = table_events[index];
}

static void play_field(const struct probe_table *table, const struct probe_table_event *event,
		uint32_t index, struct probe_table_field *field)
{
	assert_non_null(table);
	*field = table_fields[event->first_field][index];
}

static void play_probe(
		const struct probe_table *table, uint32_t index, struct probe_table_probe *probe)
{
	assert_true(table && index < all_probes);
	*probe = table_probes[index];
}

static void play_describe(struct side_builder *builder, const struct probe_table *table,
		const struct probe_table_event *event)
{
	assert_true(builder && table);
	called("describe %s\n", event->name);
}

static void play_labels(const struct probe_table *table, const struct probe_table_event *event,
		const struct side_event_field *fields, uint16_t *labels)
{
	(void)fields;
	assert_non_null(table);
	for (uint32_t i = 0; i < event->nr_fields; i++)
		labels[i] = (uint16_t)(100 * event->first_field + i + 1);
}

/* A builder is the address of its event's description. */
static struct side_builder *play_create(const char *provider, const char *event,
		enum side_loglevel loglevel, uint64_t flags, void *(*take)(void *user, size_t size),
		void *user)
{
	struct probes_table *table = user;
	void *memory;

	assert_int_equal(flags, 0);
	called("create %s:%s %d\n", provider, event, (int)loglevel);
	table->described.used = 1000;
	memory = take(user, 48);
	assert_int_equal(table->described.used, memory ? 48 : 0);
	return memory ? (struct side_builder *)(void *)&described[event[0] - 'a'] : NULL;
}

static int play_finish(struct side_builder *builder)
{
	called("finish %td\n", (struct side_event_description *)(void *)builder - described);
	return played.unfinished ? SIDE_ERROR_INVAL : SIDE_ERROR_OK;
}

static struct side_event_description *play_description(const struct side_builder *builder)
{
	return (struct side_event_description *)(uintptr_t)builder;
}

static const struct side_event_state *play_state(const struct side_builder *builder)
{
	return &states[(const struct side_event_description *)(const void *)builder - described]
				.parent;
}

static int play_destroy(struct side_builder *builder)
{
	called("destroy %td\n",
			builder ? (struct side_event_description *)(void *)builder - described
				: -1);
	return 0;
}

static struct side_events_register_handle *play_register(
		struct side_event_description **events, uint32_t nr)
{
	called("register %u\n", nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_ptr_equal(events[i], &described[i]);
	return played.no_handle ? NULL : (struct side_events_register_handle *)(void *)&played;
}

static void play_unregister(struct side_events_register_handle *handle)
{
	assert_ptr_equal(handle, &played);
	called("unregister\n");
}

#define agent_memory_take play_take
#define probe_table_event(table, index, event) play_event(table, index, event)
#define probe_table_field(table, event, index, field) play_field(table, event, index, field)
#define probe_table_probe(table, index, probe) play_probe(table, index, probe)
#define probe_table_nr_events(table) ((void)(table), all_events)
#define probe_table_nr_probes(table) ((void)(table), all_probes)
#define probe_table_describe play_describe
#define probe_table_labels play_labels
#define side_tracer_builder_create play_create
#define side_builder_finish play_finish
#define side_builder_description play_description
#define side_builder_state play_state
#define side_builder_destroy play_destroy
#define side_builder_error(builder) ((void)(builder), "played")
#define side_events_register play_register
#define side_events_unregister play_unregister
#include "tracers/agent/probes/events.c"

static void begin(struct probes_table *table)
{
	static const char *const names[NR_EVENTS] = {"a", "b", "c"};

	memset(table, 0, sizeof(*table));
	memset(&played, 0, sizeof(played));
	memset(table_fields, 0, sizeof(table_fields));
	all_events = NR_EVENTS;
	all_probes = 0;
	for (uint32_t i = 0; i < NR_EVENTS; i++)
		table_events[i] = (struct probe_table_event){.provider = "p",
				.name = names[i],
				.loglevel = i == 0 ? LOGLEVEL_LAST + 1u
						   : (uint32_t)LOGLEVEL_LAST + 1 - i,
				.first_field = i};
	*calls = '\0';
}

static void end(struct probes_table *table)
{
	probes_events_free(table);
	agent_memory_free(&table->memory);
	agent_memory_trim();
	*calls = '\0';
}

static void test_scratch(void **unused)
{
	struct probe_table_field field = {.type = PROBE_FIELD_STRUCT, .limit = 9};

	(void)unused;
	assert_int_equal(scratch_bytes(&field), (sizeof(struct side_arg_vec) + 7) / 8 * 8);
	field = (struct probe_table_field){.type = PROBE_FIELD_UNSIGNED, .size = 8};
	assert_int_equal(scratch_bytes(&field), 0);
	field.guarded = true;
	assert_int_equal(scratch_bytes(&field), (sizeof(struct side_arg_optional) + 7) / 8 * 8);
	/* A number before the elements, and a byte after them. */
	field = (struct probe_table_field){.type = PROBE_FIELD_BYTES, .size = 2, .limit = 3};
	assert_int_equal(scratch_bytes(&field), 16);
	field.limit = 4;
	assert_int_equal(scratch_bytes(&field), 24);
	field.guarded = true;
	assert_int_equal(
			scratch_bytes(&field), 24 + (sizeof(struct side_arg_optional) + 7) / 8 * 8);
}

static void test_make(void **unused)
{
	struct probes_table table;

	(void)unused;
	begin(&table);
	/* A structure with two members, which are after the other field. */
	table_events[1].nr_fields = 4;
	table_fields[1][0] = (struct probe_table_field){.type = PROBE_FIELD_STRUCT, .size = 2};
	table_fields[1][1].type = table_fields[1][2].type = PROBE_FIELD_UNSIGNED;
	table_fields[1][3] = (struct probe_table_field){
			.type = PROBE_FIELD_BACKTRACE, .size = 8, .limit = 4};
	assert_int_equal(probe_table_inside(&table_fields[1][0]), 2);
	table_events[2].nr_fields = 1;
	table_fields[2][0] = (struct probe_table_field){
			.type = PROBE_FIELD_STRING, .size = 1, .limit = 20};
	assert_int_equal(probes_events_make(&table), 0);
	assert_called("create p:a 7\ndescribe a\nfinish 0\ncreate p:b 7\ndescribe b\nfinish 1\n"
		      "create p:c 6\ndescribe c\nfinish 2\nregister 3\n");
	assert_true(table.wants_calls && table.events[1].wants_calls &&
			!table.events[0].wants_calls && !table.events[2].wants_calls);
	assert_true(table.events[1].nr_fields == 4 && table.events[1].nr_top == 2 &&
			table.events[0].nr_fields == 0 && table.events[2].nr_top == 1);
	assert_int_equal(table.events[1].scratch,
			(sizeof(struct side_arg_vec) + 7) / 8 * 8 + (4 * 8 + 16) / 8 * 8);
	assert_int_equal(table.events[2].scratch, 32);
	assert_true(table.events[1].fields[0].first_member == 2 &&
			table.events[1].fields[0].nr_members == 2 &&
			table.events[1].fields[0].arg == 0 && table.events[1].fields[3].arg == 1 &&
			table.events[1].fields[1].arg == 2 && table.events[1].fields[2].arg == 3);
	assert_true(table.events[1].fields[0].label == 101 &&
			table.events[1].fields[3].label == 104 &&
			table.events[2].fields[0].label == 201);
	for (uint32_t i = 0; i < NR_EVENTS; i++) {
		assert_ptr_equal(table.descriptions[i], &described[i]);
		assert_ptr_equal(table.events[i].state, &states[i].parent);
		assert_ptr_equal(table.events[i].enabled, &states[i].enabled);
		assert_true(table.events[i].unseen &&
				!table.events[i].unseen[PROBES_NR_UNSEEN - 1]);
		assert_true(table.events[i].entry_event == PROBE_TABLE_NONE &&
				table.events[i].exit_event == PROBE_TABLE_NONE);
	}
	probes_events_free(&table);
	assert_called("unregister\ndestroy 0\ndestroy 1\ndestroy 2\n");
	assert_true(!table.handle && !table.events && !table.described.chunks);
	probes_events_free(&table);
	assert_called("");
	end(&table);
}

static void test_failing(void **unused)
{
	struct probes_table table;
	unsigned int most;

	(void)unused;
	begin(&table);
	table_events[0].nr_fields = 1;
	assert_int_equal(probes_events_make(&table), 0);
	most = played.nr_takes;
	/*
	 * The events, their descriptions, and of each event its builder, its fields and its
	 * counters.
	 */
	assert_int_equal(most, 2 + 3 * NR_EVENTS);
	end(&table);
	for (unsigned int i = 1; i <= most; i++) {
		bool counts = i > 2 && (i - 2) % 3 == 0;

		begin(&table);
		played.failing = i;
		assert_int_equal(probes_events_make(&table), counts ? 0 : -ENOMEM);
		assert_int_equal(table.handle != NULL, counts);
		assert_int_equal(strstr(calls, "register") != NULL, counts);
		/* Hits that are not seen are not counted, either. */
		if (counts)
			assert_null(table.events[(i - 3) / 3].unseen);
		end(&table);
	}
	begin(&table);
	played.unfinished = true;
	assert_int_equal(probes_events_make(&table), -EPROTO);
	assert_called("create p:a 7\ndescribe a\nfinish 0\n");
	probes_events_free(&table);
	assert_called("destroy 0\ndestroy -1\ndestroy -1\n");
	end(&table);
	begin(&table);
	played.no_handle = true;
	assert_int_equal(probes_events_make(&table), -ENOMEM);
	probes_events_free(&table);
	assert_null(strstr(calls, "unregister"));
	end(&table);
}

static void test_pairs(void **unused)
{
	struct probes_table table, second;

	(void)unused;
	begin(&table);
	table_probes[0] = (struct probe_table_probe){.entry = 1, .exit = PROBE_TABLE_NONE};
	table_probes[1] = (struct probe_table_probe){.entry = PROBE_TABLE_NONE, .exit = 0};
	table_probes[2] = (struct probe_table_probe){.entry = 2, .exit = 0};
	all_probes = 3;
	assert_int_equal(probes_events_make(&table), 0);
	assert_true(table.events[2].exit_event == 0 && table.events[0].entry_event == 2);
	assert_true(table.events[1].exit_event == PROBE_TABLE_NONE &&
			table.events[0].exit_event == PROBE_TABLE_NONE &&
			table.events[2].entry_event == PROBE_TABLE_NONE);
	memset(&second, 0, sizeof(second));
	second.next = &table; /* has no events */
	assert_ptr_equal(probes_events_other(&second, &described[0], true), &described[2]);
	assert_ptr_equal(probes_events_other(&second, &described[2], false), &described[0]);
	assert_null(probes_events_other(&second, &described[2], true));
	assert_null(probes_events_other(&second, &described[0], false));
	assert_null(probes_events_other(&second, (void *)&table, true));
	assert_null(probes_events_other(NULL, &described[0], true));
	assert_true(probes_events_has(&second, &described[0]) &&
			probes_events_has(&second, &described[2]));
	assert_false(probes_events_has(&second, (void *)&table));
	all_events = 2;
	assert_false(probes_events_has(&table, &described[2]));
	assert_null(probes_events_other(&table, &described[2], false));
	all_events = NR_EVENTS;
	assert_false(probes_events_has(NULL, &described[0]));
	end(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_scratch),
			cmocka_unit_test(test_make),
			cmocka_unit_test(test_failing),
			cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
