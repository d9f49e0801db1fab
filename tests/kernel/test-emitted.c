/* SPDX-License-Identifier: MIT */
/*
 * Events of the kernel as events of side-kernel: their names and levels, fields that are renamed,
 * each call with its time, losses, and the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include <side/builder.h>

#include "programs/side-kernel/kernel.h"

#include "../counted-builders.h"

static unsigned int nr_called; /* number of events, whether a tracer listens or not */

static unsigned int nr_scratch_frees;

static void counted_scratch_free(struct scratch *scratch)
{
	nr_scratch_frees++;
	scratch_free(scratch);
}

#define scratch_free counted_scratch_free
#define side_call(state, arguments) (nr_called++, side_call(state, arguments))
#define calloc counted_calloc
#define free counted_free
#define side_builder_create counted_create
#define side_builder_register counted_register
#define side_builder_destroy counted_destroy
#include "programs/side-kernel/events.c"
#undef side_call
#undef scratch_free
#undef calloc
#undef free
#undef side_builder_create
#undef side_builder_register
#undef side_builder_destroy
#include "ctf/ctf.h"

/* ---- replaced functions ---- */

#include "../called.h"

static bool has_agent, knows_tsc;
static enum ring_clock clock_there;

static void replay(const struct ring_replay *moment)
{
	if (moment)
		called("at %llu cpu %u;", (unsigned long long)moment->ticks, moment->cpu);
	else
		called("now;");
}

agent_replay_fn *agent_find_replay(void)
{
	return has_agent ? replay : NULL;
}

static void count_lost(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count)
{
	called("count %s %d cpu %u %llu;", (const char *)side_ptr_get(event->event_name), named,
			cpu, (unsigned long long)count);
}

agent_lost_fn *agent_find_lost(void)
{
	return has_agent ? count_lost : NULL;
}

uint64_t clock_ticks(uint64_t monotonic_ns)
{
	return monotonic_ns + 1000000;
}

bool kernel_record_knows_tsc(void)
{
	return knows_tsc;
}

enum ring_clock ring_clock_choose(void)
{
	return clock_there;
}

static void heard(const struct side_event_description *desc, const struct side_arg_vec *vec,
		void *private, void *caller)
{
	const struct side_arg *args = side_ptr_get(vec->sav);

	(void)private;
	(void)caller;
	called("%s:%s", (const char *)side_ptr_get(desc->provider_name),
			(const char *)side_ptr_get(desc->event_name));
	for (uint32_t i = 0; i < vec->len; i++) {
		assert_int_equal(args[i].flags, 0);
		switch (side_enum_get(args[i].type)) {
		case SIDE_TYPE_S32:
			called(" %d", args[i].u.side_static.integer_value.side_s32);
			break;
		case SIDE_TYPE_U32:
			called(" %u", args[i].u.side_static.integer_value.side_u32);
			break;
		case SIDE_TYPE_U64:
			called(" %llu",
					(unsigned long long)args[i]
							.u.side_static.integer_value.side_u64);
			break;
		case SIDE_TYPE_STRING_UTF8:
			called(" '%s'",
					(const char *)side_ptr_get(
							args[i].u.side_static.string_value));
			break;
		default: called(" ?"); break;
		}
	}
	called(";");
}

static void listen_to(const struct side_builder *builder, bool on)
{
	struct side_event_description *desc = side_builder_description(builder);

	assert_int_equal(on ? side_tracer_callback_register(desc, heard, NULL, 0)
			    : side_tracer_callback_unregister(desc, heard, NULL, 0),
			SIDE_ERROR_OK);
}

static struct ctf_type *structure(struct ctf_arena *arena, const char *first, const char *second)
{
	struct ctf_type *type = ctf_type_struct(arena, second ? 2 : 1);

	ctf_member_set(&type->members[0], first, ctf_type_integer(arena, 32, false), false);
	if (second)
		ctf_member_set(&type->members[1], second, ctf_type_integer(arena, 32, false),
				false);
	return type;
}

static void assert_described(const struct kernel_event *described, const char *expected)
{
	const struct side_kernel_event *event = described->listener_data;
	const struct side_event_description *desc = side_builder_description(event->builder);
	const struct side_event_field *fields = side_array_elements(&desc->fields);
	char text[400] = "";

	(void)snprintf(text, sizeof(text), "%s:%s %u",
			(const char *)side_ptr_get(desc->provider_name),
			(const char *)side_ptr_get(desc->event_name),
			(unsigned int)side_enum_get(desc->loglevel));
	for (uint32_t i = 0; i < side_array_length(&desc->fields); i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s/%u",
				(const char *)side_ptr_get(fields[i].field_name),
				(unsigned int)side_enum_get(fields[i].side_type.type));
	assert_string_equal(text, expected);
}

static void expect_description(
		const struct kernel_event *described, const char *fields, unsigned int level)
{
	char text[400];

	(void)snprintf(text, sizeof(text), "sys:ev %u %s", level, fields);
	assert_described(described, text);
}

static void test_described(void **unused)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct kernel_event described = {.system = "sys", .name = "ev", .level = -1};
	struct kernel_listener listener;
	struct side_kernel_events *events;
	char fields[200];

	(void)unused;
	assert_int_equal(events_create(false, &events), 0);
	events_listener(events, &listener);
	assert_ptr_equal(listener.user, events);
	described.fields = structure(arena, "_a", "_b");
	assert_int_equal(listener.found(listener.user, &described), 0);
	(void)snprintf(fields, sizeof(fields), "pid/%u tid/%u comm/%u a/%u b/%u", SIDE_TYPE_S32,
			SIDE_TYPE_S32, SIDE_TYPE_STRING_UTF8, SIDE_TYPE_U32, SIDE_TYPE_U32);
	expect_description(&described, fields, SIDE_LOGLEVEL_INFO);
	assert_false(events_wanted(&described));
	listen_to(((struct side_kernel_event *)described.listener_data)->builder, true);
	assert_true(events_wanted(&described));
	listen_to(((struct side_kernel_event *)described.listener_data)->builder, false);
	listener.gone(listener.user, &described);
	/* Level 0 is valid. */
	described.level = 0;
	described.listener_data = NULL;
	assert_int_equal(listener.found(listener.user, &described), 0);
	expect_description(&described, fields, SIDE_LOGLEVEL_EMERG);
	listener.gone(listener.user, &described);
	/*
	 * The event's context and fields keep their names, with and without an underscore in front.
	 * side-kernel's own fields get other names.
	 */
	described.level = 3;
	described.context = structure(arena, "_pid", NULL);
	described.fields = structure(arena, "comm", "tid_");
	described.listener_data = NULL;
	assert_int_equal(listener.found(listener.user, &described), 0);
	(void)snprintf(fields, sizeof(fields),
			"current_pid/%u tid/%u current_comm/%u pid/%u comm/%u tid_/%u",
			SIDE_TYPE_S32, SIDE_TYPE_S32, SIDE_TYPE_STRING_UTF8, SIDE_TYPE_U32,
			SIDE_TYPE_U32, SIDE_TYPE_U32);
	expect_description(&described, fields, 3);
	listener.gone(listener.user, &described);
	described.listener_data = NULL;
	listener.gone(listener.user, &described);
	assert_false(events_wanted(&described));
	/* A name that no event may have. */
	described.system = "";
	described.name = "";
	(void)listener.found(listener.user, &described);
	if (described.listener_data)
		listener.gone(listener.user, &described);
	events_free(events);
	events_free(NULL);
	ctf_arena_destroy(arena);
}

static void test_records(void **unused)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct kernel_event described = {.system = "sys", .name = "ev", .level = -1};
	const struct kernel_moment moment = {
			.ticks = 70, .cpu = 3, .pid = 11, .tid = 13, .comm = "name"};
	const uint32_t context[1] = {17}, fields[2] = {19, 23};
	const struct kernel_payload context_bytes = {(const uint8_t *)context, 4},
				    bytes = {(const uint8_t *)fields, 8};
	struct kernel_listener listener;
	struct side_kernel_events *events;
	uint64_t nr_reported, nr_lost;

	(void)unused;
	has_agent = true;
	assert_int_equal(events_create(false, &events), 0);
	events_listener(events, &listener);
	described.context = structure(arena, "_c", NULL);
	described.fields = structure(arena, "_a", "_b");
	/* An event that could not be described. */
	listener.record(listener.user, &described, &moment, context_bytes, bytes);
	assert_called("");
	assert_int_equal(listener.found(listener.user, &described), 0);
	listener.record(listener.user, &described, &moment, context_bytes, bytes);
	assert_called("");
	listen_to(((struct side_kernel_event *)described.listener_data)->builder, true);
	listener.record(listener.user, &described, &moment, context_bytes, bytes);
	assert_called("at 70 cpu 3;sys:ev 11 13 'name' 17 19 23;now;");
	/* A record with fewer bytes than the context or the fields need is a loss. */
	listener.record(listener.user, &described, &moment,
			(struct kernel_payload){context_bytes.data, 3}, bytes);
	assert_called("count ev 1 cpu 3 1;");
	listener.record(listener.user, &described, &moment, context_bytes,
			(struct kernel_payload){bytes.data, 7});
	assert_called("count ev 1 cpu 3 1;");
	events_stats(events, &nr_reported, &nr_lost);
	assert_int_equal(nr_reported, 1);
	assert_int_equal(nr_lost, 2);
	/* Losses are also emitted as an event, if a session records that event. */
	listen_to(events->lost, true);
	listener.lost(listener.user, &described, 5, 29);
	assert_called("count ev 1 cpu 5 29;side_kernel:lost 'sys:ev' 29;");
	listener.lost(listener.user, NULL, 6, 31);
	assert_called("count lost 0 cpu 6 31;side_kernel:lost '' 31;");
	has_agent = false;
	listener.lost(listener.user, &described, 5, 37);
	assert_called("side_kernel:lost 'sys:ev' 37;");
	listen_to(events->lost, false);
	nr_called = 0;
	listener.lost(listener.user, &described, 5, 41);
	assert_called("");
	assert_int_equal(nr_called, 0);
	events_stats(events, &nr_reported, &nr_lost);
	assert_int_equal(nr_lost, 2 + 29 + 31 + 37 + 41);
	listen_to(((struct side_kernel_event *)described.listener_data)->builder, false);
	listener.gone(listener.user, &described);
	events_free(events);
	/* Times of another clock; no agent. */
	assert_int_equal(events_create(true, &events), 0);
	events_listener(events, &listener);
	assert_int_equal(listener.found(listener.user, &described), 0);
	listen_to(((struct side_kernel_event *)described.listener_data)->builder, true);
	listener.record(listener.user, &described, &moment, context_bytes, bytes);
	assert_called("sys:ev 11 13 'name' 17 19 23;");
	has_agent = true;
	listener.record(listener.user, &described, &moment, context_bytes, bytes);
	assert_called("at 1000070 cpu 3;sys:ev 11 13 'name' 17 19 23;now;");
	nr_called = 0;
	events_hello(events, "this way", "for this");
	assert_called("");
	assert_int_equal(nr_called, 0);
	listen_to(events->hello, true);
	events_hello(events, "this way", "for this");
	assert_called("side_kernel:listens 'this way' 'for this' 'this way' 'for this';");
	listen_to(events->hello, false);
	listen_to(((struct side_kernel_event *)described.listener_data)->builder, false);
	listener.gone(listener.user, &described);
	events_free(events);
	ctf_arena_destroy(arena);
}

static void assert_own(const struct side_builder *builder, const char *name, const char *first,
		const char *second, uint32_t nr_fields, unsigned int type)
{
	const struct side_event_description *desc = side_builder_description(builder);
	const struct side_event_field *fields = side_array_elements(&desc->fields);

	assert_string_equal(side_ptr_get(desc->provider_name), "side_kernel");
	assert_string_equal(side_ptr_get(desc->event_name), name);
	assert_int_equal(side_enum_get(desc->loglevel), SIDE_LOGLEVEL_WARNING);
	assert_int_equal(side_array_length(&desc->fields), nr_fields);
	assert_string_equal(side_ptr_get(fields[0].field_name), first);
	assert_string_equal(side_ptr_get(fields[1].field_name), second);
	assert_int_equal(side_enum_get(fields[0].side_type.type), SIDE_TYPE_STRING_UTF8);
	assert_int_equal(side_enum_get(fields[1].side_type.type), type);
}

static void test_own(void **unused)
{
	struct side_kernel_events *events;

	(void)unused;
	assert_int_equal(events_create(false, &events), 0);
	assert_own(events->lost, "lost", "event", "count", 2, SIDE_TYPE_U64);
	assert_own(events->hello, "listens", "method", "reason", 4, SIDE_TYPE_STRING_UTF8);
	events_free(events);
}

/* Each call that can fail fails once. Everything that was made before is released. */
static void test_failures(void **unused)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct kernel_event described = {.system = "sys", .name = "ev", .level = -1};
	struct kernel_listener listener;
	struct side_kernel_events *events;

	(void)unused;
	for (failing_at = 1; failing_at <= 6; failing_at++) {
		int ret;

		failing_seen = nr_blocks = nr_builders = 0;
		ret = events_create(true, &events);
		assert_int_equal(ret, failing_at <= 5 ? -ENOMEM : 0);
		assert_int_equal(events != NULL, failing_at > 1);
		assert_int_equal(nr_builders, failing_at > 5 ? 2 : failing_at > 1 ? 1 : 0);
		nr_scratch_frees = 0;
		events_free(events);
		assert_int_equal(nr_scratch_frees, failing_at > 1);
		assert_int_equal(nr_blocks, 0);
		assert_int_equal(nr_builders, 0);
	}
	assert_int_equal(failing_seen, 5);
	failing_at = 0;
	nr_blocks = nr_builders = 0;
	assert_int_equal(events_create(false, &events), 0);
	events_listener(events, &listener);
	described.context = structure(arena, "_c", NULL);
	described.fields = structure(arena, "_a", "_b");
	for (failing_at = 1; failing_at <= 4; failing_at++) {
		failing_seen = 0;
		assert_int_equal(listener.found(listener.user, &described),
				failing_at == 1                   ? -ENOMEM
						: failing_at <= 3 ? -EINVAL
								  : 0);
		assert_int_equal(described.listener_data != NULL, failing_at == 4);
		assert_int_equal(nr_blocks, failing_at == 4 ? 2 : 1);
		assert_int_equal(nr_builders, failing_at == 4 ? 3 : 2);
	}
	failing_at = 0;
	listener.gone(listener.user, &described);
	assert_int_equal(nr_blocks, 1);
	assert_int_equal(nr_builders, 2);
	events_free(events);
	assert_int_equal(nr_blocks, 0);
	ctf_arena_destroy(arena);
}

static void check_clock(
		enum ring_clock clock, enum kernel_record_backend backend, bool tsc, bool monotonic)
{
	struct kernel_record_options options = {.backend = backend};

	clock_there = clock;
	knows_tsc = tsc;
	assert_int_equal(events_choose_clock(&options), monotonic);
	assert_int_equal(options.clock, monotonic ? RING_CLOCK_MONOTONIC : clock);
}

static void test_clock(void **unused)
{
	(void)unused;
	check_clock(RING_CLOCK_TSC, KERNEL_RECORD_BEST, true, false);
	check_clock(RING_CLOCK_TSC, KERNEL_RECORD_BEST, false, true);
	check_clock(RING_CLOCK_TSC, KERNEL_RECORD_PERF, false, true);
	check_clock(RING_CLOCK_TSC, KERNEL_RECORD_TRACEFS, false, false);
	check_clock(RING_CLOCK_MONOTONIC, KERNEL_RECORD_BEST, false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_described),
			cmocka_unit_test(test_records),
			cmocka_unit_test(test_own),
			cmocka_unit_test(test_failures),
			cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
