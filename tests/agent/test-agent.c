/* SPDX-License-Identifier: MIT */
/*
 * Tests the agent in this process, with a consumer in another thread: what it records, what it does
 * not record, and how it handles a consumer that is slow, sends invalid messages or has exited.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

#include "abi/visit.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/recycled-ids.h"
#include "consumer.h"

side_static_event(ev_number, "agent", "number", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("thread"), side_field_u64("sequence")));
side_static_event(ev_other, "agent", "other", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("thread"), side_field_u64("sequence")));
side_static_event(ev_text, "agent", "text", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("text")));
side_static_event_variadic(ev_variadic, "agent", "variadic", SIDE_LOGLEVEL_INFO, side_field_list());

static enum side_visitor_status visit_and_emit(
		const struct side_tracer_visitor_ctx *context, unsigned int *depth);

side_define_static_vla_visitor(list_type, side_elem(side_type_u32()), side_length(side_type_u64()),
		visit_and_emit, unsigned int);
side_static_event(ev_visitor, "visitor", "nested", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_vla_visitor("list", list_type)));

static unsigned int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static uint32_t id_of(struct consumer *consumer, const char *name)
{
	return consumer_id(consumer, 0, name);
}

/* ---- threads ---- */

#define THREADS 4
#define EVENTS 5000

static void *fire(void *argument)
{
	uint64_t thread = (uint64_t)(uintptr_t)argument;
	uint64_t i;

	for (i = 0; i < EVENTS; i++) {
		errno = 4711;
		side_event(ev_number, side_arg_list(side_arg_u64(thread), side_arg_u64(i)));
		if (errno != 4711)
			abort();
	}
	return NULL;
}

struct seen {
	uint32_t id;
	uint64_t next[THREADS];
	unsigned char of[THREADS][EVENTS];
};

static void see_number(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload)
{
	struct seen *seen = user;
	uint64_t values[2];

	(void)cpu;
	memcpy(values, payload, sizeof(values));
	assert_int_equal(id, seen->id);
	assert_true(values[0] < THREADS && values[1] < EVENTS);
	seen->of[values[0]][values[1]]++;
}

static void threads_are_recorded(void **state)
{
	static struct seen seen;
	struct consumer consumer = {.patterns = "agent:number", .nr_patterns = 1};
	unsigned int files, threads;
	pthread_t thread[THREADS];
	uintptr_t i;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	consumer_start(&consumer);
	files = count_entries("/proc/self/fd");
	threads = count_entries("/proc/self/task");
	assert_int_equal(agent_start(consumer.path), 0);
	assert_int_equal(count_entries("/proc/self/task"), threads);
	assert_true(side_event_enabled(ev_number));
	assert_false(side_event_enabled(ev_other));
	consumer_sync(&consumer);
	assert_int_equal(consumer.hellos, 1);
	assert_int_equal(consumer.nr_events, 1);
	assert_true(consumer.parent_token == 0);

	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, fire, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	seen.id = id_of(&consumer, "agent:number");
	assert_int_equal(consumer_drain(&consumer, 16, see_number, &seen), THREADS * EVENTS);
	for (i = 0; i < THREADS * EVENTS; i++)
		assert_int_equal(seen.of[i / EVENTS][i % EVENTS], 1);

	agent_stop();
	assert_false(side_event_enabled(ev_number));
	/* The consumer's side of the first connection may take a moment to close. */
	for (i = 0; i < 1000 && count_entries("/proc/self/fd") > files; i++)
		usleep(1000);
	assert_int_equal(count_entries("/proc/self/fd"), files);
	consumer_stop(&consumer);
}

/* ---- events that are not recorded ---- */

static void refused_events_stay_silent(void **state)
{
	struct consumer consumer = {
			.patterns = "agent:number\0agent:other",
			.nr_patterns = 2,
			.refuse = "agent:other",
	};
	struct seen seen = {0};

	(void)state;
	consumer_start(&consumer);
	assert_int_equal(agent_start(consumer.path), 0);
	assert_true(side_event_enabled(ev_number));
	assert_false(side_event_enabled(ev_other));
	side_event(ev_other, side_arg_list(side_arg_u64(0), side_arg_u64(0)));
	side_event(ev_number, side_arg_list(side_arg_u64(1), side_arg_u64(2)));
	seen.id = id_of(&consumer, "agent:number");
	assert_int_equal(consumer_drain(&consumer, 16, see_number, &seen), 1);
	assert_int_equal(seen.of[1][2], 1);
	agent_stop();
	consumer_stop(&consumer);
}

static void rude_consumers(void **state)
{
	static const struct {
		enum consumer_answer answer;
		int result;
	} rows[] = {
			{ANSWER_REFUSE, -EACCES},
			{ANSWER_HANG_UP, -ECONNRESET},
			{ANSWER_GARBAGE, -EPROTO},
			{ANSWER_NO_FDS, -EPROTO},
			{ANSWER_WRONG_FDS, -EPROTO},
			{ANSWER_NOTHING, -ETIMEDOUT},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct consumer consumer = {.to_hello = rows[i].answer};
		unsigned int files, mappings;
		int ret;

		consumer_start(&consumer);
		files = count_entries("/proc/self/fd");
		mappings = count_entries("/proc/self/map_files");
		ret = agent_start(consumer.path);
		if (ret != rows[i].result)
			fail_msg("answer %d: %d instead of %d", (int)rows[i].answer, ret,
					rows[i].result);
		assert_false(side_event_enabled(ev_number));
		side_event(ev_number, side_arg_list(side_arg_u64(0), side_arg_u64(0)));
		assert_true(count_entries("/proc/self/fd") <= files + 1);
		assert_true(count_entries("/proc/self/map_files") <= mappings + 2);
		agent_stop();
		consumer_stop(&consumer);
	}
	assert_int_equal(agent_start("/no/such/socket"), -ENOENT);
	assert_int_equal(agent_start(""), -ENAMETOOLONG);
	agent_stop();
}

static void no_acknowledgement(void **state)
{
	static const enum consumer_answer answers[] = {ANSWER_HANG_UP, ANSWER_NOTHING};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct consumer consumer = {
				.to_events = answers[i],
				.patterns = "agent:*",
				.nr_patterns = 1,
		};
		uint64_t begin = wire_deadline(0);

		consumer_start(&consumer);
		assert_int_equal(agent_start(consumer.path), 0);
		assert_false(side_event_enabled(ev_number));
		assert_true(wire_deadline(0) - begin < 4000000000u);
		/* Losses of agent:number, other, text and variadic, one each. */
		assert_int_equal(consumer_lost(&consumer, UINT32_MAX, RING_LOST_OTHER), 4);
		agent_stop();
		consumer_stop(&consumer);
	}
}

/* ---- sizes ---- */

static void large_records(void **state)
{
	struct consumer consumer = {
			.patterns = "agent:text\0agent:variadic",
			.nr_patterns = 2,
			.ring_size = 1 << 20,
	};
	static char text[70001];
	size_t sizes[] = {511, 512, 10000, 65535};
	size_t i;
	uint32_t id;

	(void)state;
	consumer_start(&consumer);
	assert_int_equal(agent_start(consumer.path), 0);
	id = id_of(&consumer, "agent:text");
	for (i = 0; i < 4; i++) {
		memset(text, 'x', sizes[i]);
		text[sizes[i]] = 0;
		side_event(ev_text, side_arg_list(side_arg_string(text)));
		assert_int_equal(consumer_drain(&consumer, sizes[i] + 1, NULL, NULL), 1);
	}
	memset(text, 'x', 70000);
	side_event(ev_text, side_arg_list(side_arg_string(text)));
	assert_int_equal(consumer_drain(&consumer, 1, NULL, NULL), 0);
	assert_int_equal(consumer_lost(&consumer, id, RING_LOST_TOO_BIG), 1);

	/* Wrong arguments are counted, too, and have no other effect. */
	side_call(side_ptr_get(ev_text.state), &(struct side_arg_vec){0});
	assert_int_equal(consumer_lost(&consumer, id, RING_LOST_INVALID), 1);
	side_event_variadic(ev_variadic, side_arg_list(),
			side_arg_list(side_arg_dynamic_field("x", side_arg_dynamic_u32(1))));
	assert_int_equal(consumer_lost(&consumer, id_of(&consumer, "agent:variadic"),
					 RING_LOST_INVALID),
			0);
	agent_stop();
	consumer_stop(&consumer);
}

/* Each level uses a buffer while the next one emits: more levels than there are buffers. */
#define LEVELS 40

static unsigned int level, deepest;

static enum side_visitor_status visit_and_emit(
		const struct side_tracer_visitor_ctx *context, unsigned int *depth)
{
	const struct side_arg element = side_visit_dynamic_arg(side_arg_u32, 7);
	unsigned int i;

	for (i = 0; i < 500; i++)
		if (context->write_elem(context, &element) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	level++;
	deepest = level > deepest ? level : deepest;
	if (*depth) {
		unsigned int less = *depth - 1;

		side_arg_define_vla_visitor(list, &less);

		side_event_call(ev_visitor, side_arg_list(side_arg_vla_visitor(list)));
	}
	level--;
	return SIDE_VISITOR_STATUS_OK;
}

static void emit_nested(unsigned int depth)
{
	side_arg_define_vla_visitor(list, &depth);

	side_event(ev_visitor, side_arg_list(side_arg_vla_visitor(list)));
}

static void buffers_run_out(void **state)
{
	struct consumer consumer = {.patterns = "visitor:*", .nr_patterns = 1};
	uint64_t lost;
	uint32_t id;
	uint64_t nr;

	(void)state;
	consumer_start(&consumer);
	assert_int_equal(agent_start(consumer.path), 0);
	id = id_of(&consumer, "visitor:nested");
	emit_nested(0); /* would not fit the stack */
	assert_int_equal(consumer_drain(&consumer, 8 + 2000, NULL, NULL), 1);
	emit_nested(LEVELS - 1);
	nr = consumer_drain(&consumer, 8 + 2000, NULL, NULL);
	lost = consumer_lost(&consumer, id, RING_LOST_NO_BUFFER);
	assert_int_equal(nr, 32);
	assert_int_equal(deepest, 32);
	/* The first level that found no buffer ended the descent. */
	assert_int_equal(lost, 1);
	/* All buffers are free again. */
	emit_nested(31);
	assert_int_equal(consumer_drain(&consumer, 8 + 2000, NULL, NULL), 32);
	agent_stop();
	consumer_stop(&consumer);
}

/* ---- batches and forks ---- */

/* Ids arrive in the order in which they were assigned. */
static void see_id(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload)
{
	uint32_t *last = user;

	(void)cpu;
	(void)payload;
	*last = id > *last ? id : *last;
}

/* An event made by hand, which the compile-time checks of the macros have not seen. */
static void call_late(const struct side_event_state_0 *event, uint64_t value)
{
	side_arg_define_struct(args, side_arg_list(side_arg_u64(0), side_arg_u64(value)));

	/* Relaxed: as at every call site, the word orders nothing. */
	if (__atomic_load_n(&event->enabled, __ATOMIC_RELAXED))
		side_call(&event->parent, &args);
}

static void batches_come_and_go(void **state)
{
	struct consumer consumer = {.patterns = "agent:other\0late:*", .nr_patterns = 2};
	static struct side_event_state_0 side_event_state__late;
	static struct side_event_description late;
	struct side_event_description *list[] = {&late, NULL};
	struct side_events_register_handle *handle;
	uint32_t last_id = 0;
	char name[32];
	unsigned int i;

	(void)state;
	late = ev_number;
	side_event_state__late = (struct side_event_state_0){
			.callbacks = (const struct side_callback *)(const void *)
					side_empty_callback,
			.desc = &late,
	};
	side_ptr_set(late.state, &side_event_state__late.parent);
	side_ptr_set(late.provider_name, "late");
	consumer_start(&consumer);
	assert_int_equal(agent_start(consumer.path), 0);
	for (i = 0; i < 100; i++) {
		handle = side_events_register(list, 2);
		assert_non_null(handle);
		assert_int_equal(side_event_state__late.enabled, 1);
		call_late(&side_event_state__late, i);
		side_events_unregister(handle);
		assert_int_equal(side_event_state__late.enabled, 0);
	}
	assert_int_equal(consumer_drain(&consumer, 16, NULL, NULL), 100);
	/* agent:other, and late:number once: an event that is registered again has the same id. */
	consumer_sync(&consumer);
	assert_int_equal(consumer.nr_events, 2);
	consumer_sync(&consumer);
	/* In the end no id is left: events are counted as lost, without a message. */
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "number%u", i);
		side_ptr_set(late.event_name, name);
		side_events_unregister(side_events_register(list, 2));
	}
	consumer_sync(&consumer);
	assert_int_equal(consumer.nr_events, CONSUMER_EVENTS_MAX);
	assert_int_equal(consumer_lost(&consumer, UINT32_MAX, RING_LOST_OTHER),
			300 - (CONSUMER_EVENTS_MAX - 2));
	/* Events with an id are still recorded. */
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "number%u", i);
		handle = side_events_register(list, 2);
		call_late(&side_event_state__late, i);
		side_events_unregister(handle);
	}
	assert_int_equal(consumer_drain(&consumer, 16, see_id, &last_id), CONSUMER_EVENTS_MAX - 2);
	assert_int_equal(last_id, CONSUMER_EVENTS_MAX - 1);
	agent_stop();
	consumer_stop(&consumer);
}

/* Compares the table of recycled ids with a plain list, with hashes that collide on purpose. */
static void spare_ids(void **state)
{
	enum { KEYS = 500, ROUNDS = 200000 };
	struct agent_recycled_ids spares = {0};
	static uint32_t held[KEYS][8];
	unsigned int nr[KEYS] = {0};
	uint64_t seed = 17;
	uint32_t next = 0;
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ROUNDS; i++) {
		unsigned int key, put;
		struct agent_hash hash;
		uint32_t id;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		key = (unsigned int)(seed >> 33) % KEYS;
		/* Fill the table for some time, then empty it. */
		put = (seed >> 20) % 8 < (i / 20000 % 2 ? 3 : 5);
		hash = (struct agent_hash){.low = key % 7 + (key % 3 ? 0 : 1020), .high = key};
		if (put && nr[key] < 8) {
			held[key][nr[key]++] = next;
			agent_recycled_ids_put(&spares, hash, next++);
			continue;
		}
		assert_int_equal(agent_recycled_ids_take(&spares, hash, &id), nr[key] > 0);
		if (!nr[key])
			continue;
		for (k = 0; k < nr[key] && held[key][k] != id; k++)
			;
		assert_true(k < nr[key]);
		held[key][k] = held[key][--nr[key]];
	}
	agent_recycled_ids_forget(&spares);
	assert_false(agent_recycled_ids_take(&spares, (struct agent_hash){0, 0}, &next));
	/* A hash that differs in one bit is another event. */
	assert_true(agent_hash("abc", 3).low != agent_hash("abc", 4).low);
	assert_true(agent_hash("abcdefgh1", 9).high != agent_hash("abcdefgh3", 9).high);
}

static void a_child_is_an_instance_of_its_own(void **state)
{
	struct consumer consumer = {.patterns = "agent:number", .nr_patterns = 1};
	struct seen seen = {0};
	int status;
	pid_t child;

	(void)state;
	consumer_start(&consumer);
	assert_int_equal(agent_start(consumer.path), 0);
	side_event(ev_number, side_arg_list(side_arg_u64(0), side_arg_u64(0)));
	seen.id = id_of(&consumer, "agent:number");
	assert_int_equal(consumer_drain(&consumer, 16, see_number, &seen), 1);
	child = fork();
	if (!child) {
		side_event(ev_number, side_arg_list(side_arg_u64(3), side_arg_u64(4)));
		_exit(side_event_enabled(ev_number) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	consumer_sync(&consumer);
	assert_int_equal(consumer.hellos, 2);
	assert_true(consumer.parent_token == agent.process.sessions[0].token);
	/* The consumer reads the child's rings now. */
	assert_int_equal(consumer_drain(&consumer, 16, see_number, &seen), 1);
	assert_int_equal(seen.of[3][4], 1);

	/* A child that finds no consumer runs on without a message. */
	consumer_sync(&consumer);
	consumer.to_hello = ANSWER_HANG_UP;
	consumer_sync(&consumer);
	child = fork();
	if (!child) {
		side_event(ev_number, side_arg_list(side_arg_u64(1), side_arg_u64(1)));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	agent_stop();
	consumer_stop(&consumer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(threads_are_recorded),
			cmocka_unit_test(refused_events_stay_silent),
			cmocka_unit_test(rude_consumers),
			cmocka_unit_test(no_acknowledgement),
			cmocka_unit_test(large_records),
			cmocka_unit_test(buffers_run_out),
			cmocka_unit_test(batches_come_and_go),
			cmocka_unit_test(spare_ids),
			cmocka_unit_test(a_child_is_an_instance_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
