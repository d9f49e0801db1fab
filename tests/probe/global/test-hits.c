/* SPDX-License-Identifier: MIT */
/*
 * Hits of global probes as events of side-uprobes: descriptions from a table, each type of field,
 * losses, times; queries to the agent; and changes that wait for the main thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <side/builder.h>

/* ---- the agent, as side-uprobes finds it ---- */

#include "../../called.h"

static bool has_agent;
static unsigned int nr_handles;

#include "ring/ring.h"

static void played_replay(const struct ring_replay *moment)
{
	if (moment)
		called("at %llu cpu %u;", (unsigned long long)moment->ticks, moment->cpu);
	else
		called("now;");
}

static void played_lost(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count)
{
	called("count %s %d cpu %u %llu;", (const char *)side_ptr_get(event->event_name), named,
			cpu, (unsigned long long)count);
}

static void (*changed)(bool after);

static void on_change(void (*notify)(bool after))
{
	changed = notify;
}

static void *played_open(const char *name, int flags)
{
	assert_string_equal(name, "libside-agent.so");
	assert_int_equal(flags, RTLD_LAZY | RTLD_NOLOAD);
	nr_handles += has_agent;
	return has_agent ? &has_agent : NULL;
}

static void *played_symbol(void *handle, const char *name)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} symbols[] = {{"side_agent_replay", (void (*)(void))played_replay},
			{"side_agent_lost", (void (*)(void))played_lost},
			{"side_agent_on_change", (void (*)(void))on_change}};
	void *found = NULL;

	assert_ptr_equal(handle, &has_agent);
	for (size_t i = 0; i < 3; i++)
		if (!strcmp(symbols[i].name, name))
			memcpy(&found, &symbols[i].call, sizeof(found));
	return found;
}

static int played_close(void *handle)
{
	assert_ptr_equal(handle, &has_agent);
	nr_handles--;
	return 0;
}

#define dlopen played_open
#define dlsym played_symbol
#define dlclose played_close
#include "programs/replay/agent.c"
#undef dlopen
#undef dlsym
#undef dlclose

/* ---- the clock ---- */

static enum ring_clock clock_there = RING_CLOCK_TSC;
static struct ring_clock_sample sample_there;
static int sample_result;
static unsigned int nr_choices;

enum ring_clock ring_clock_choose(void)
{
	nr_choices++;
	return clock_there;
}

int ring_clock_sample(enum ring_clock clock, struct ring_clock_sample *sample)
{
	assert_int_equal(clock, clock_there);
	*sample = sample_there;
	return sample_result;
}

static void clock_at(uint64_t ticks, int64_t ns)
{
	sample_there = (struct ring_clock_sample){.ticks = ticks, .monotonic_ns = ns};
	clock_check();
}

static void test_clock(void **unused)
{
	(void)unused;
	/* One sample is not enough for a line. */
	clock_at(1000, 5000);
	assert_int_equal(clock_ticks(5010), 5010);
	/* 2 ticks a nanosecond. */
	clock_at(1000 + 200, 5000 + 100);
	assert_int_equal(clock_ticks(5000), 1000);
	assert_int_equal(clock_ticks(5050), 1100);
	assert_int_equal(clock_ticks(5200), 1400);
	assert_int_equal(clock_ticks(4990), 980);
	/* A failed sample changes nothing. */
	sample_result = -1;
	clock_at(77, 88);
	assert_int_equal(clock_ticks(5050), 1100);
	sample_result = 0;
	/*
	 * For half a second the line starts at its first sample; then it goes through the middle
	 * one.
	 */
	clock_at(1000 + 3 * UINT64_C(500000000), 5000 + 500000000);
	assert_int_equal(clock_ticks(5000 + 100), 1000 + 300);
	clock_at(1000 + 3 * UINT64_C(500000001), 5000 + 500000001);
	assert_int_equal(clock_ticks(5000 + 100), 1000 + 300);
	clock_at(1000 + 3 * UINT64_C(500000001) + 4 * UINT64_C(500000001),
			5000 + 2 * INT64_C(500000001));
	assert_int_equal(clock_ticks(5000 + UINT64_C(500000001)), 1000 + 3 * UINT64_C(500000001));
	/* 4 ticks a nanosecond. */
	clock_at(1000 + 3 * UINT64_C(500000001) + 8 * UINT64_C(500000001),
			5000 + 3 * INT64_C(500000001));
	assert_int_equal(clock_ticks(5000 + UINT64_C(500000001) + 10),
			1000 + 3 * UINT64_C(500000001) + 40);
	/* The clock is chosen once. */
	assert_int_equal(nr_choices, 1);
	/* From here on a tick is a nanosecond. */
	for (int i = 0; i < 4; i++)
		clock_at(UINT64_C(1) << 40 | (uint64_t)(i + 10) * 1000000000,
				(int64_t)(i + 10) * 1000000000);
	assert_int_equal(clock_ticks(13000000005), (UINT64_C(1) << 40 | UINT64_C(13000000000)) + 5);
}

/* ---- changes ---- */

static unsigned int nr_locks, nr_unlocks, nr_signals;

static int counted_lock(pthread_mutex_t *mutex)
{
	int ret = pthread_mutex_lock(mutex);

	nr_locks++;
	return ret;
}

static int counted_unlock(pthread_mutex_t *mutex)
{
	nr_unlocks++;
	return pthread_mutex_unlock(mutex);
}

static int counted_signal(pthread_cond_t *condition)
{
	nr_signals++;
	return pthread_cond_signal(condition);
}

#define pthread_mutex_lock counted_lock
#define pthread_mutex_unlock counted_unlock
#define pthread_cond_signal counted_signal
#include "programs/replay/change.c"
#undef pthread_mutex_lock
#undef pthread_mutex_unlock
#undef pthread_cond_signal

static enum change_state seen[4];
static unsigned int nr_seen;
static uint32_t stages;

static void *notify_both(void *unused)
{
	(void)unused;
	changed(false);
	__atomic_add_fetch(&stages, 1, __ATOMIC_SEQ_CST);
	changed(true);
	__atomic_add_fetch(&stages, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void test_changes(void **unused)
{
	sigset_t set;
	pthread_t thread;
	siginfo_t info;

	(void)unused;
	has_agent = false;
	change_open();
	assert_null(changed);
	has_agent = true;
	sigemptyset(&set);
	sigaddset(&set, CHANGE_SIGNAL);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	change_open();
	assert_non_null(changed);
	assert_int_equal(nr_handles, 0);
	assert_int_equal(change_get(), CHANGE_NONE);
	/* Changes in the main thread do not wait. */
	changed(false);
	assert_int_equal(change_get(), CHANGE_NONE);
	assert_int_equal(pthread_create(&thread, NULL, notify_both, NULL), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(sigwaitinfo(&set, &info), CHANGE_SIGNAL);
		seen[nr_seen++] = change_get();
		/* The other thread waits for the answer. */
		usleep(20000);
		assert_int_equal(__atomic_load_n(&stages, __ATOMIC_SEQ_CST), i);
		change_done();
		while (__atomic_load_n(&stages, __ATOMIC_SEQ_CST) == i)
			usleep(1000);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(seen[0], CHANGE_BEGINS);
	assert_int_equal(seen[1], CHANGE_ENDS);
	/*
	 * Each call holds the lock once: change_get() and change_done() here, change_notify() in
	 * the other thread.
	 */
	assert_int_equal(nr_locks, 2 + 2 * 3);
	assert_int_equal(nr_unlocks, nr_locks);
	assert_int_equal(nr_signals, 2);
	state = CHANGE_ENDS;
	change_done();
	assert_int_equal(state, CHANGE_NONE);
	assert_int_equal(change_get(), CHANGE_NONE);
}

static void test_agent(void **unused)
{
	(void)unused;
	has_agent = false;
	assert_null(agent_find_replay());
	assert_null(agent_find_lost());
	has_agent = true;
	assert_ptr_equal(agent_find_replay(), played_replay);
	assert_ptr_equal(agent_find_lost(), played_lost);
	assert_int_equal(nr_handles, 0);
}

/* ---- events ---- */

#include "../../counted-builders.h"

static unsigned int nr_called; /* events, whether a tracer listens or not */

#define side_call(state, arguments) (nr_called++, side_call(state, arguments))
#define calloc counted_calloc
#define free counted_free
#define side_builder_create counted_create
#define side_builder_register counted_register
#define side_builder_destroy counted_destroy
#include "programs/side-uprobes/events.c"
#undef side_call
#undef calloc
#undef free
#undef side_builder_create
#undef side_builder_register
#undef side_builder_destroy

static struct probe_table table, other_table;
static uint32_t nr_tables = 2;

uint32_t global_nr_tables(const struct global *global)
{
	(void)global;
	return nr_tables;
}

const struct probe_table *global_table(const struct global *global, uint32_t number)
{
	(void)global;
	return number ? &other_table : &table;
}

static const struct probe_table_field fields_there[] = {
		{.name = "pid", .type = PROBE_FIELD_UNSIGNED, .size = 4, .labels = ""},
		{.name = "text", .type = PROBE_FIELD_STRING, .size = 1, .limit = 16, .labels = ""},
		{.name = "flag", .type = PROBE_FIELD_BOOL, .size = 1, .labels = ""},
		{.name = "bytes", .type = PROBE_FIELD_BYTES, .size = 1, .limit = 8, .labels = ""},
		{.name = "st", .type = PROBE_FIELD_STRUCT, .size = 2, .labels = ""},
		{.name = "inner", .type = PROBE_FIELD_SIGNED, .size = 8, .labels = ""},
		{.name = "maybe",
				.type = PROBE_FIELD_UNSIGNED,
				.size = 8,
				.labels = "",
				.guarded = true},
		{.name = "call", .type = PROBE_FIELD_UNSIGNED, .size = 8, .labels = ""},
		{.name = "took", .type = PROBE_FIELD_UNSIGNED, .size = 8, .labels = ""},
		{.name = "bad", .type = PROBE_FIELD_HEX, .size = 8, .labels = ""},
		{.name = "fixed", .type = PROBE_FIELD_UNSIGNED, .size = 8, .labels = ""},
		{.name = "function",
				.type = PROBE_FIELD_STRING,
				.size = 1,
				.limit = 16,
				.labels = ""}};

#define NR_FIELDS 12

static void *make_table(struct probe_table *made, const char *name, uint32_t level,
		const struct probe_table_field *fields, uint32_t nr)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	const struct probe_table_event event = {.provider = "prov",
			.name = name,
			.loglevel = level,
			.nr_fields = nr,
			.fields = fields};
	const char *reason = "";
	void *bytes;
	size_t size;

	assert_int_equal(probe_table_add_event(writer, &event), 0);
	assert_int_equal(probe_table_bytes(writer, &bytes, &size), 0);
	if (probe_table_open(made, bytes, size, &reason))
		fail_msg("%s", reason);
	probe_table_writer_free(writer);
	return bytes;
}

static void show(const struct side_arg *arg);

static void show_vec(const struct side_arg_vec *vec)
{
	const struct side_arg *args = side_ptr_get(vec->sav);

	for (uint32_t i = 0; i < vec->len; i++)
		show(&args[i]);
}

static void show(const struct side_arg *arg)
{
	const struct side_arg_optional *optional;
	const uint64_t *argv;

	assert_int_equal(arg->flags, 0);
	switch (side_enum_get(arg->type)) {
	case SIDE_TYPE_U32: called(" %u", arg->u.side_static.integer_value.side_u32); break;
	case SIDE_TYPE_U64:
		called(" %llu", (unsigned long long)arg->u.side_static.integer_value.side_u64);
		break;
	case SIDE_TYPE_S64:
		called(" %lld", (long long)arg->u.side_static.integer_value.side_s64);
		break;
	case SIDE_TYPE_BOOL: called(" b%u", arg->u.side_static.bool_value.side_bool8); break;
	case SIDE_TYPE_STRING_UTF8:
		called(" '%s'", (const char *)side_ptr_get(arg->u.side_static.string_value));
		break;
	case SIDE_TYPE_STRUCT:
		called(" {");
		show_vec(side_ptr_get(arg->u.side_static.side_struct));
		called(" }");
		break;
	case SIDE_TYPE_OPTIONAL:
		optional = side_ptr_get(arg->u.side_static.side_optional);
		if (optional->selector == SIDE_OPTIONAL_ENABLED) {
			const struct side_arg inner = {.type = optional->side_static.type,
					.u.side_static = optional->side_static.u.side_static};

			assert_int_equal(optional->side_static.flags, 0);
			called(" some");
			show(&inner);
		} else {
			called(" none");
		}
		break;
	case SIDE_TYPE_GATHER_VLA:
		argv = side_ptr_get(arg->u.side_static.side_vla_gather.ptr);
		assert_ptr_equal(argv, side_ptr_get(arg->u.side_static.side_vla_gather.length_ptr));
		called(" %llu:%.*s", (unsigned long long)*argv, (int)*argv,
				(const char *)(argv + 1));
		break;
	default: called(" type%u", (unsigned int)side_enum_get(arg->type)); break;
	}
}

static void heard(const struct side_event_description *desc, const struct side_arg_vec *vec,
		void *private, void *caller)
{
	(void)private;
	(void)caller;
	called("%s:%s", (const char *)side_ptr_get(desc->provider_name),
			(const char *)side_ptr_get(desc->event_name));
	show_vec(vec);
	called(";");
}

static void listen_to(const struct side_builder *builder, bool on)
{
	struct side_event_description *desc = side_builder_description(builder);

	assert_int_equal(on ? side_tracer_callback_register(desc, heard, NULL, 0)
			    : side_tracer_callback_unregister(desc, heard, NULL, 0),
			SIDE_ERROR_OK);
}

static void assert_described(const struct side_builder *builder, const char *expected)
{
	const struct side_event_description *desc = side_builder_description(builder);
	const struct side_event_field *fields = side_array_elements(&desc->fields);
	char text[500] = "";

	(void)snprintf(text, sizeof(text), "%s:%s %u",
			(const char *)side_ptr_get(desc->provider_name),
			(const char *)side_ptr_get(desc->event_name),
			(unsigned int)side_enum_get(desc->loglevel));
	for (uint32_t i = 0; i < side_array_length(&desc->fields); i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
				(const char *)side_ptr_get(fields[i].field_name));
	assert_string_equal(text, expected);
}

/* Fill the stack below the caller, where later calls have their variables. */
static __attribute__((noinline)) void fill_stack(void)
{
	volatile unsigned char bytes[32768];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0x55;
}

static unsigned char values[200];
static uint32_t used;

static uint32_t put_values(uint64_t number, const char *text)
{
	uint32_t at = used;

	memcpy(values + used, &number, sizeof(number));
	used += 8;
	if (text) {
		(void)strcpy((char *)values + used, text);
		used += (uint32_t)(strlen(text) + 8) & ~7u;
	}
	return at;
}

static void test_events(void **unused)
{
	static const struct probe_table_field two[] = {
			{.name = "comm", .type = PROBE_FIELD_UNSIGNED, .size = 8, .labels = ""},
			{.name = "tid", .type = PROBE_FIELD_UNSIGNED, .size = 8, .labels = ""}};
	struct global_field fields[NR_FIELDS];
	struct global_side side = {.table = 0,
			.event = 0,
			.function = "func",
			.fields = fields,
			.nr_fields = NR_FIELDS};
	struct global_hit hit = {.side = &side,
			.time = 13000000005,
			.cpu = 3,
			.pid = 11,
			.tid = 13,
			.comm = "name",
			.call = 17,
			.duration = 19,
			.values = values};
	void *bytes = make_table(&table, "ev", SIDE_LOGLEVEL_DEBUG, fields_there, NR_FIELDS);
	void *other = make_table(&other_table, "more", SIDE_LOGLEVEL_DEBUG - 1, two, 2);
	struct error error = {.text = ""};
	struct uprobes_events *events;

	(void)unused;
	has_agent = true;
	assert_int_equal(events_open(NULL, &events, &error), 0);
	assert_string_equal(events_name(events), "prov:ev");
	assert_described(events->of_table[0][0].builder,
			"prov:ev 7 hit_pid tid comm pid text flag bytes st call took bad fixed function");
	assert_described(events->of_table[1][0].builder,
			"prov:more 6 pid hit_tid hit_comm comm tid");
	assert_described(events->lost, "prov:ev_lost 4 count");
	assert_described(events->hello, "side:uprobes 6 method reason way why");
	assert_int_equal(side_enum_get(side_array_at(
					 &side_builder_description(events->lost)->fields, 0)
							 ->side_type.type),
			SIDE_TYPE_U64);
	assert_false(events_wanted(events));
	memset(fields, 0, sizeof(fields));
	for (uint32_t i = 0; i < NR_FIELDS; i++)
		fields[i].field = fields_there[i];
	fields[0].at = put_values(0x100000000 + 23, NULL);
	fields[1].at = put_values(3, "abc");
	fields[2].at = put_values(0x100, NULL);
	fields[3].at = put_values(2, "xyz");
	fields[5].at = put_values((uint64_t)-29, NULL);
	fields[6].at = put_values(31, NULL);
	fields[7].source = GLOBAL_CALL;
	fields[8].source = GLOBAL_DURATION;
	fields[9].source = GLOBAL_UNREADABLE;
	fields[10].source = GLOBAL_CONSTANT;
	fields[10].constant = 37;
	fields[11].source = GLOBAL_FUNCTION;
	events_hit(events, &hit);
	assert_called("");
	listen_to(events->of_table[1][0].builder, true);
	assert_true(events_wanted(events));
	listen_to(events->of_table[1][0].builder, false);
	listen_to(events->of_table[0][0].builder, true);
	assert_true(events_wanted(events));
	assert_int_equal(nr_called, 0);
	fill_stack();
	events_hit(events, &hit);
	assert_int_equal(nr_called, 1);
	assert_called("at 1112511627781 cpu 3;prov:ev 11 13 'name' 23 'abc' b0 2:xy { -29 some 31 } 17 19 0 37 'func';now;");
	/*
	 * Unreadable values: a string and bytes with a negative length, and an unreadable number.
	 */
	hit.unreadable = 1 << 6;
	memcpy(values + fields[1].at, &(int64_t){-14}, 8);
	memcpy(values + fields[3].at, &(int64_t){-14}, 8);
	memcpy(values + fields[2].at, &(int64_t){2}, 8);
	events_hit(events, &hit);
	assert_called("at 1112511627781 cpu 3;prov:ev 11 13 'name' 23 '' b1 0: { -29 none } 17 19 64 37 'func';now;");
	/* Empty values, and no agent: each hit searches it again until it is loaded. */
	memcpy(values + fields[1].at, &(int64_t){0}, 8);
	memcpy(values + fields[3].at, &(int64_t){0}, 8);
	events->replay = NULL;
	has_agent = false;
	events_hit(events, &hit);
	assert_called("prov:ev 11 13 'name' 23 '' b1 0: { -29 none } 17 19 64 37 'func';");
	listen_to(events->of_table[0][0].builder, false);
	/* Losses, and the method of recording. */
	events_lost(events, 41);
	assert_called("");
	has_agent = true;
	nr_called = 0;
	events_lost(events, 43);
	assert_called("count ev_lost 0 cpu 0 43;");
	assert_int_equal(nr_called, 0);
	listen_to(events->lost, true);
	events_lost(events, 47);
	assert_called("count ev_lost 0 cpu 0 47;prov:ev_lost 47;");
	listen_to(events->lost, false);
	nr_called = 0;
	events_hello(events, "method", "reason");
	assert_called("");
	assert_int_equal(nr_called, 0);
	listen_to(events->hello, true);
	events_hello(events, "a", "b");
	assert_called("side:uprobes 'a' 'b' 'a' 'b';");
	listen_to(events->hello, false);
	events_close(events);
	events_close(NULL);
	free(bytes);
	free(other);
	/* An unknown level becomes the last one. */
	bytes = make_table(&table, "ev", SIDE_LOGLEVEL_DEBUG, two, 2);
	other = make_table(&other_table, "second", SIDE_LOGLEVEL_EMERG, two, 0);
	assert_int_equal(events_open(NULL, &events, &error), 0);
	assert_described(events->of_table[1][0].builder, "prov:second 0 pid tid comm");
	events_close(events);
	free(bytes);
	free(other);
}

/*
 * Each call that can fail fails once. The error is that of the call, and everything else is
 * released.
 */
static void test_failures(void **unused)
{
	static const struct probe_table_field one[] = {
			{.name = "x", .type = PROBE_FIELD_UNSIGNED, .size = 8, .labels = ""}};
	/*
	 * The order: all blocks of the list, then those of each table, then the two other events.
	 */
	static const char calls_made[] = "mmmmcrmcrccrr";
	void *bytes = make_table(&table, "ev", SIDE_LOGLEVEL_DEBUG, one, 1);
	void *other = make_table(&other_table, "more", SIDE_LOGLEVEL_DEBUG, one, 1);
	struct uprobes_events *events;
	unsigned int failures = 0;

	(void)unused;
	for (failing_at = 1;; failing_at++) {
		struct error error = {.text = "none"};
		char made = failing_at <= strlen(calls_made) ? calls_made[failing_at - 1] : '-';
		int ret;

		failing_seen = nr_blocks = nr_builders = 0;
		nr_elements = 0;
		ret = events_open(NULL, &events, &error);
		if (!ret) {
			assert_int_equal(failing_seen, failing_at - 1);
			assert_string_equal(error.text, "none");
			assert_int_equal(nr_blocks, 5);
			/* Each list has space for one more, so that none is empty. */
			assert_int_equal(nr_elements, 1 + 3 + 3 + 2 + 2);
			assert_int_equal(nr_builders, 4);
		} else {
			failures++;
			assert_int_equal(ret, made == 'r' ? -EPROTO : -ENOMEM);
			assert_string_equal(error.text,
					made == 'r' ? "cannot create the events: Protocol error"
						    : "cannot create the events: Cannot allocate memory");
		}
		events_close(events);
		assert_int_equal(nr_blocks, 0);
		assert_int_equal(nr_builders, 0);
		if (!ret)
			break;
	}
	assert_int_equal(failures, failing_at - 1);
	failing_at = 0;
	free(bytes);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_clock),
			cmocka_unit_test(test_changes),
			cmocka_unit_test(test_agent),
			cmocka_unit_test(test_events),
			cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
