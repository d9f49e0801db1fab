/* SPDX-License-Identifier: MIT */
/*
 * The counts of `side report` and `side top`, each part alone, with distinct values: pairs, calls,
 * processes, the slowest, events over time, and the output of `side top`.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/report.h"
#include "base/error.h"
#include "programs/side/watch/top-print.h"

/* ---- records ---- */

#define MEMBERS_MAX 4

/* A structure whose members take one value each. */
struct structure {
	struct ctf_type type, types[MEMBERS_MAX];
	struct ctf_member members[MEMBERS_MAX];
	struct ctf_value values[MEMBERS_MAX + 1];
};

static void structure_begin(struct structure *structure)
{
	memset(structure, 0, sizeof(*structure));
	structure->type = (struct ctf_type){.kind = CTF_STRUCT, .members = structure->members};
	structure->values[0] = (struct ctf_value){.type = &structure->type, .span = 1};
}

static struct ctf_value *add(struct structure *structure, const char *name, enum ctf_kind kind)
{
	uint32_t i = structure->type.member_count++;

	structure->types[i] = (struct ctf_type){.kind = kind, .size = 64, .base = 10};
	structure->members[i] = (struct ctf_member){.name = name, .type = &structure->types[i]};
	structure->values[i + 1] = (struct ctf_value){
			.type = &structure->types[i], .member = &structure->members[i], .span = 1};
	structure->values[0].count++;
	structure->values[0].span++;
	return &structure->values[i + 1];
}

static void add_number(struct structure *structure, const char *name, uint64_t number)
{
	add(structure, name, CTF_INTEGER)->u = number;
}

static void add_text(struct structure *structure, const char *name, const char *text)
{
	struct ctf_value *value = add(structure, name, CTF_STRING);

	value->text = text;
	value->size = strlen(text);
	value->is_text = true;
}

/* ---- pairs ---- */

static struct pair_key key_of(uint64_t high, uint64_t low)
{
	return (struct pair_key){.high = high, .low = low, .there = true};
}

static void begin(struct report_pairs *pairs, unsigned int rule, struct pair_key key, int64_t ns)
{
	const struct pair_open open = {.ns = ns, .number = (uint64_t)ns + 7};

	assert_int_equal(pairs_begin(pairs, rule, &key, &open), 0);
}

/* The time of the begin, or -1. */
static int64_t end(struct report_pairs *pairs, unsigned int rule, struct pair_key key)
{
	struct pair_open open = {.ns = -2};

	if (!pairs_end(pairs, rule, &key, &open))
		return -1;
	assert_int_equal(open.number, open.ns + 7);
	return open.ns;
}

static void test_pairs(void **unused)
{
	const struct pair_key one = key_of(1, 2), other = key_of(1, 3), none = {.there = false};
	struct pair_key unknown = key_of(0, 0);
	struct report_pairs pairs = {.rule_count = 2};
	struct pair_open top = {.ns = 0};

	(void)unused;
	assert_int_equal(end(&pairs, 0, one), -1);
	assert_false(pairs_is_open(&pairs, 0, &one));
	begin(&pairs, 0, one, 10);
	begin(&pairs, 0, one, 11);
	begin(&pairs, 0, one, 12);
	begin(&pairs, 0, other, 20);
	begin(&pairs, 1, one, 30);
	assert_int_equal(pairs.open, 5);
	assert_int_equal(pairs.used, 3);
	assert_true(pairs_top(&pairs, 0, &one, &top));
	assert_int_equal(top.ns, 12);
	assert_int_equal(end(&pairs, 0, one), 12);
	assert_int_equal(end(&pairs, 0, one), 11);
	assert_true(pairs_is_open(&pairs, 0, &one));
	assert_int_equal(end(&pairs, 0, one), 10);
	assert_false(pairs_is_open(&pairs, 0, &one));
	assert_false(pairs_top(&pairs, 0, &one, &top));
	assert_int_equal(top.ns, 12);
	assert_int_equal(end(&pairs, 0, one), -1);
	assert_int_equal(pairs.rules[0].unbegun, 2);
	assert_int_equal(end(&pairs, 1, one), 30);
	assert_int_equal(pairs.open, 1);
	assert_int_equal(pairs.used, 1);
	/* No key, no thread. */
	begin(&pairs, 1, none, 1);
	assert_int_equal(end(&pairs, 1, none), -1);
	assert_false(pairs_is_open(&pairs, 1, &none));
	assert_int_equal(pairs.rules[1].no_key, 2);
	assert_int_equal(pairs.rules[1].unbegun, 0);
	unknown.no_thread = true;
	begin(&pairs, 1, unknown, 40);
	assert_int_equal(end(&pairs, 1, unknown), 40);
	assert_int_equal(pairs.rules[1].no_thread, 2);
	assert_int_equal(pairs.rules[0].no_thread, 0);
	begin(&pairs, 1, unknown, 41);
	begin(&pairs, 1, unknown, 42);
	pairs_finish(&pairs);
	assert_int_equal(pairs.rules[0].unfinished, 1);
	assert_int_equal(pairs.rules[1].unfinished, 2);
	pairs_free(&pairs);
	assert_int_equal(pair_duration(&pairs.rules[0], 5, 5), 0);
	assert_int_equal(pairs.rules[0].negative, 0);
	assert_int_equal(pair_duration(&pairs.rules[0], 5, 12), 7);
	assert_int_equal(pair_duration(&pairs.rules[0], INT64_MIN, INT64_MAX), UINT64_MAX);
	assert_int_equal(pair_duration(&pairs.rules[0], 6, 5), 0);
	assert_int_equal(pairs.rules[0].negative, 1);
}

/* Of the begins of one key, 1,024 are pending; the next one drops the older half. */
static void test_pairs_of_one_key(void **unused)
{
	const struct pair_key key = key_of(5, 6);
	struct report_pairs pairs = {.rule_count = 1};

	(void)unused;
	for (int64_t i = 0; i < 1024; i++)
		begin(&pairs, 0, key, i);
	assert_int_equal(pairs.open, 1024);
	assert_int_equal(pairs.rules[0].not_kept, 0);
	begin(&pairs, 0, key, 1024);
	assert_int_equal(pairs.open, 513);
	assert_int_equal(pairs.rules[0].not_kept, 512);
	assert_int_equal(pairs.rules[0].unfinished, 512);
	for (int64_t i = 1024; i >= 512; i--)
		assert_int_equal(end(&pairs, 0, key), i);
	assert_int_equal(end(&pairs, 0, key), -1);
	assert_int_equal(pairs.open, 0);
	pairs_free(&pairs);
}

/* At most 524,288 begins are pending. */
static void test_pairs_at_the_limit(void **unused)
{
	struct report_pairs pairs = {.rule_count = 1};

	(void)unused;
	for (uint64_t i = 0; i < 1u << 19; i++)
		begin(&pairs, 0, key_of(7, i >> 9), (int64_t)i);
	assert_int_equal(pairs.open, 1u << 19);
	assert_int_equal(pairs.used, 1u << 10);
	assert_int_equal(pairs.rules[0].not_kept, 0);
	begin(&pairs, 0, key_of(7, 1), -5);
	begin(&pairs, 0, key_of(8, 1), -5);
	assert_int_equal(pairs.open, 1u << 19);
	assert_int_equal(pairs.rules[0].not_kept, 2);
	assert_int_equal(pairs.rules[0].unfinished, 2);
	assert_int_equal(end(&pairs, 0, key_of(7, 1)), 1023);
	begin(&pairs, 0, key_of(8, 1), 99);
	assert_int_equal(end(&pairs, 0, key_of(8, 1)), 99);
	pairs_finish(&pairs);
	assert_int_equal(pairs.rules[0].unfinished, 2 + (1u << 19) - 1);
	pairs_free(&pairs);
}

/* Removing keys from the table leaves the others in it. */
static void test_many_keys(void **unused)
{
	enum { KEYS = 3000 };
	static int64_t open[KEYS];
	struct report_pairs pairs = {.rule_count = 1};
	uint32_t random = 1;

	(void)unused;
	memset(open, 0, sizeof(open));
	for (int64_t i = 1; i < 60000; i++) {
		uint32_t key;

		random = random * 1664525 + 1013904223;
		key = (random >> 8) % KEYS;
		if (open[key]) {
			assert_int_equal(end(&pairs, 0, key_of(key % 7, key)), open[key]);
			open[key] = 0;
		} else {
			begin(&pairs, 0, key_of(key % 7, key), i);
			open[key] = i;
		}
	}
	for (uint32_t key = 0; key < KEYS; key++) {
		const struct pair_key one = key_of(key % 7, key);

		assert_int_equal(pairs_is_open(&pairs, 0, &one), open[key] != 0);
	}
	assert_int_equal(pairs.capacity & (pairs.capacity - 1), 0);
	assert_true(pairs.used * 2 <= pairs.capacity);
	pairs_free(&pairs);
}

static void test_pair_rules(void **unused)
{
	static const char *args[2 * (PAIR_RULES_MAX + 1)];
	struct text_list list = {args, (size_t)2 * PAIR_RULES_MAX};
	struct report_pairs pairs;
	struct error error;

	(void)unused;
	for (size_t i = 0; i < 2 * (PAIR_RULES_MAX + 1); i++)
		args[i] = i % 2 ? "a:end" : "a:begin";
	assert_int_equal(pairs_create(&pairs, &list, "id", true, NULL), 0);
	assert_int_equal(pairs.rule_count, 64);
	assert_string_equal(pairs.rules[63].begin_text, "a:begin");
	assert_string_equal(pairs.rules[63].end_text, "a:end");
	assert_true(pairs.has_key && pairs.across);
	pairs_free(&pairs);
	list.count = (size_t)2 * (PAIR_RULES_MAX + 1);
	assert_int_equal(pairs_create(&pairs, &list, NULL, false, &error), -E2BIG);
	assert_int_equal(error.kind, ERROR_USAGE);
	assert_string_equal(error.text, "`--pair` is given more than 64 times");
	assert_string_equal(error.hint, "run `side report` several times");
	assert_int_equal(pairs.rule_count, 0);
	pairs_free(&pairs);
}

/* The key is the thread, the number of a call, or the process. */
static void test_pair_keys(void **unused)
{
	struct report_pairs pairs = {.by_call = true};
	struct pair_class class = {.has_call = true};
	struct structure fields;
	struct ctf_item item = {.fields = fields.values};
	struct pair_key thread, call, process;

	(void)unused;
	structure_begin(&fields);
	add_number(&fields, "call", UINT64_C(3) << 48 | 9);
	thread = pairs_key(&pairs, &class, &item, 4, 0);
	assert_true(thread.there && !thread.no_thread);
	assert_int_equal(thread.low, 0);
	assert_int_equal(thread.high, UINT64_C(1) << 32 | 4);
	call = pairs_key(&pairs, &class, &item, 4, -1);
	assert_true(call.there && !call.no_thread);
	assert_int_equal(call.low, 3);
	assert_int_equal(call.high, UINT64_C(2) << 32 | 4);
	fields.values[1].u = 0;
	process = pairs_key(&pairs, &class, &item, 4, -1);
	assert_true(process.there && process.no_thread);
	assert_int_equal(process.low, 0);
	assert_int_equal(process.high, 4);
	fields.values[1].u = 1;
	class.has_call = false;
	assert_true(pairs_key(&pairs, &class, &item, 4, -1).no_thread);
	class.has_call = true;
	pairs.by_call = false;
	assert_true(pairs_key(&pairs, &class, &item, 4, -1).no_thread);
	/* An expression that no event of the class has. */
	pairs.has_key = true;
	assert_false(pairs_key(&pairs, &class, &item, 4, 5).there);
}

/* ---- calls ---- */

static const struct gaps no_gaps;

struct calls_test {
	struct report_calls calls;
	struct calls_class classes[16];
	struct ctf_event_class events[16];
	struct ctf_trace trace;
	int64_t thread;
};

static struct calls_test calls_test = {
		.calls.gaps = &no_gaps,
		.thread = -1,
};

static void event(
		unsigned int number, const char *name, uint64_t call, int64_t ns, int64_t duration)
{
	struct structure fields;
	struct ctf_item item = {.trace = &calls_test.trace,
			.event = &calls_test.events[number],
			.fields = fields.values,
			.ns = ns};

	structure_begin(&fields);
	add_number(&fields, "_call", call);
	if (duration >= 0)
		add_number(&fields, "duration", (uint64_t)duration);
	calls_test.events[number].name = name;
	assert_int_equal(calls_take(&calls_test.calls, &calls_test.classes[number], &item, 1,
					 calls_test.thread),
			0);
}

static void check_function(uint32_t number, const char *name, uint64_t nr_calls, uint64_t timed,
		uint64_t total, uint64_t self, uint64_t least, uint64_t most, uint64_t sum,
		uint64_t unfinished)
{
	const struct calls_stats *stats = &calls_test.calls.stats[number];

	assert_string_equal(calls_name(&calls_test.calls, number), name);
	assert_int_equal(stats->calls, nr_calls);
	assert_int_equal(stats->timed, timed);
	assert_int_equal(stats->total_ns, total);
	assert_int_equal(stats->self_ns, self);
	assert_int_equal(stats->min_ns, least);
	assert_int_equal(stats->max_ns, most);
	assert_int_equal(stats->sum_ns, sum);
	assert_int_equal(stats->unfinished, unfinished);
	assert_int_equal(stats->lost, 0);
}

static void test_calls(void **unused)
{
	static const struct {
		const char *name;
		uint32_t depth;
		uint64_t total, calls;
	} branches[] = {{"a", 0, 100, 1}, {"b", 1, 50, 1}, {"a", 2, 20, 1}, {"c", 1, 0, 1},
			{"e", 0, 0, 1}, {"f", 1, 0, 1}};
	static const char *const functions[] = {"a", "b", "d", "c", "e", "f"};
	struct report_calls *calls = &calls_test.calls;
	uint32_t *order;

	(void)unused;
	event(0, "p:a", 1, 100, -1);
	event(1, "p:b", 2, 110, -1);
	event(0, "p:a", 3, 120, -1);
	event(2, "p:a_return", 3, 140, 20);
	event(3, "p:b_return", 2, 160, 50);
	event(4, "p:c", 0, 165, -1);
	event(2, "p:a_return", 1, 200, 100);
	/* Without its entry. */
	event(5, "p:d_return", 77, 210, 9);
	assert_int_equal(calls->unbegun, 1);
	/* Without a return. */
	event(6, "p:e", 8, 300, -1);
	event(7, "p:f", 9, 310, -1);
	calls_finish(calls);
	assert_int_equal(calls->functions.count, 6);
	check_function(0, "a", 2, 2, 100, 70, 20, 100, 120, 0);
	check_function(1, "b", 1, 1, 50, 30, 50, 50, 50, 0);
	check_function(2, "c", 1, 0, 0, 0, 0, 0, 0, 0);
	check_function(3, "d", 1, 1, 9, 9, 9, 9, 9, 0);
	check_function(4, "e", 1, 0, 0, 0, 0, 0, 0, 1);
	check_function(5, "f", 1, 0, 0, 0, 0, 0, 0, 1);
	order = calls_function_order(calls);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(calls_name(calls, order[i]), functions[i]);
	free(order);
	order = calls_branch_order(calls);
	assert_int_equal(calls->branch_keys.count, 6);
	for (size_t i = 0; i < 6; i++) {
		const struct calls_branch *branch = &calls->branches[order[i]];

		assert_string_equal(calls_name(calls, branch->function), branches[i].name);
		assert_int_equal(branch->depth, branches[i].depth);
		assert_int_equal(branch->stats.total_ns, branches[i].total);
		assert_int_equal(branch->stats.calls, branches[i].calls);
	}
	free(order);
	calls_free(calls);
}

/*
 * A return ends the inner calls that have no return. Threads are distinguished by their ID, or by
 * that of the call.
 */
static void test_calls_that_are_left(void **unused)
{
	struct report_calls *calls = &calls_test.calls;

	(void)unused;
	memset(&calls_test, 0, sizeof(calls_test));
	calls->gaps = &no_gaps;
	calls_test.thread = -1;
	event(0, "p:a", 1, 1000, -1);
	event(1, "p:b", 2, 1100, -1);
	event(4, "p:c", UINT64_C(5) << 48 | 3, 1200, -1);
	event(2, "p:a_return", 1, 1500, 450);
	calls_test.thread = 6;
	event(6, "p:e", 4, 1600, -1);
	event(7, "p:f", 5, 1650, -1);
	assert_int_equal(calls->thread_keys.count, 3);
	calls_finish(calls);
	check_function(0, "a", 1, 1, 450, 450, 450, 450, 450, 0);
	check_function(1, "b", 1, 0, 0, 0, 0, 0, 0, 1);
	check_function(2, "c", 1, 0, 0, 0, 0, 0, 0, 1);
	check_function(3, "e", 1, 0, 0, 0, 0, 0, 0, 1);
	check_function(4, "f", 1, 0, 0, 0, 0, 0, 0, 1);
	calls_free(calls);
}

/*
 * Events of a function that longjmp() left, and of later calls. The later calls have times, and the
 * caller's time without callees does not include them. A later call of the same function counts in
 * the total, although the first call seems to be open.
 */
static void test_calls_after_a_jump(void **unused)
{
	struct report_calls *calls = &calls_test.calls;

	(void)unused;
	memset(&calls_test, 0, sizeof(calls_test));
	calls->gaps = &no_gaps;
	calls_test.thread = -1;
	event(0, "p:main", 1, 1000, -1);
	event(1, "p:jump", 2, 1010, -1);
	event(1, "p:jump", 3, 1011, -1);
	event(4, "p:work", 4, 1100, -1);
	event(5, "p:work_return", 4, 1400, 300);
	event(1, "p:jump", 5, 1500, -1);
	event(1, "p:jump", 6, 1510, -1);
	event(3, "p:jump_return", 6, 1520, 10);
	event(3, "p:jump_return", 5, 1540, 40);
	event(2, "p:main_return", 1, 2000, 1000);
	calls_finish(calls);
	check_function(0, "main", 1, 1, 1000, 1000 - 300 - 40, 1000, 1000, 1000, 0);
	check_function(1, "jump", 4, 2, 40, 40, 10, 40, 50, 2);
	check_function(2, "work", 1, 1, 300, 300, 300, 300, 300, 0);
	calls_free(calls);
}

/* 16,384 calls are open at most; deeper ones are counted, and take no time. */
static void test_deep_calls(void **unused)
{
	struct report_calls *calls = &calls_test.calls;

	(void)unused;
	memset(&calls_test, 0, sizeof(calls_test));
	calls->gaps = &no_gaps;
	calls_test.thread = -1;
	for (uint64_t i = 1; i <= CALLS_DEPTH_MAX; i++)
		event(0, "p:a", i, (int64_t)i, -1);
	assert_int_equal(calls->too_deep, 0);
	assert_int_equal(calls->branch_keys.count, CALLS_DEPTH_MAX);
	event(0, "p:a", CALLS_DEPTH_MAX + 1, 20000, -1);
	assert_int_equal(calls->too_deep, 1);
	assert_int_equal(calls->stats[0].calls, CALLS_DEPTH_MAX + 1);
	/* The entry of this return was not kept. */
	event(2, "p:a_return", CALLS_DEPTH_MAX + 1, 20005, 5);
	assert_int_equal(calls->unbegun, 0);
	assert_int_equal(calls->stats[0].timed, 1);
	assert_int_equal(calls->stats[0].calls, CALLS_DEPTH_MAX + 1);
	event(2, "p:a_return", CALLS_DEPTH_MAX, 20010, 7);
	assert_int_equal(calls->stats[0].timed, 2);
	assert_int_equal(calls->stats[0].self_ns, 5 + 2);
	event(2, "p:a_return", 99999, 20011, 1);
	assert_int_equal(calls->unbegun, 1);
	calls_finish(calls);
	assert_int_equal(calls->stats[0].unfinished, CALLS_DEPTH_MAX - 1);
	calls_free(calls);
}

/* ---- details of functions ---- */

static void test_errors_of_functions(void **unused)
{
	static const struct {
		const char *function;
		int64_t result;
		uint64_t results, errors;
	} rows[] = {
			{"close", -1, 1, 1},
			{"close", 0, 1, 0},
			/* The upper half of the register is arbitrary. */
			{"accept", 0x12345678ffffffff, 1, 1},
			{"write", 0xffffffff, 1, 0},
			{"write", -1, 1, 1},
			{"malloc", 0, 1, 1},
			{"malloc", -1, 1, 0},
			{"mmap", -1, 1, 1},
			{"mmap", 0, 1, 0},
			{"posix_memalign", 12, 1, 1},
			{"posix_memalign", 0, 1, 0},
			{"wait4", -1, 1, 1},
			{"getenv", 0, 0, 0},
			{"realloc", 0, 0, 0},
			{"", -1, 0, 0},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct calls_detail *detail = calls_detail_create(rows[i].function);

		assert_non_null(detail);
		calls_detail_add_result(detail, rows[i].result);
		assert_int_equal(detail->results, rows[i].results);
		assert_int_equal(detail->errors, rows[i].errors);
		calls_detail_free(detail);
	}
}

static void test_off_cpu_time(void **unused)
{
	struct calls_detail detail = {.convention = CALLS_ERRORS_UNKNOWN};

	(void)unused;
	calls_detail_add_cpu(&detail, 100, CALLS_CPU_UNKNOWN, 50);
	calls_detail_add_cpu(&detail, 100, 50, CALLS_CPU_UNKNOWN);
	calls_detail_add_cpu(&detail, 100, 50, 49);
	assert_int_equal(detail.measured_ns, 0);
	calls_detail_add_cpu(&detail, 100, 50, 80);
	assert_int_equal(detail.measured_ns, 100);
	assert_int_equal(detail.off_cpu_ns, 70);
	/* The two clocks differ by little. */
	calls_detail_add_cpu(&detail, 10, 80, 95);
	assert_int_equal(detail.measured_ns, 110);
	assert_int_equal(detail.off_cpu_ns, 70);
}

/* Percentiles of 1 to 100 ns, and recursive calls, which all count. */
static void test_details(void **unused)
{
	struct report_calls *calls = &calls_test.calls;
	const struct calls_detail *detail;
	uint32_t *order;

	(void)unused;
	memset(&calls_test, 0, sizeof(calls_test));
	calls->gaps = &no_gaps;
	calls->detailed = true;
	calls_test.thread = -1;
	for (uint64_t i = 1; i <= 100; i++) {
		event(0, "p:a", i, (int64_t)i * 1000, -1);
		event(2, "p:a_return", i, (int64_t)(i * 1000 + i), (int64_t)i);
	}
	event(1, "p:b", 101, 200000, -1);
	event(0, "p:a", 102, 200000, -1);
	event(2, "p:a_return", 102, 206000, 6000);
	event(3, "p:b_return", 101, 206010, 6010);
	calls_finish(calls);
	detail = calls->stats[0].detail;
	assert_int_equal(detail->durations.count, 101);
	assert_int_equal(report_stats_percentile(&detail->durations, 50000), 51);
	assert_int_equal(report_stats_percentile(&detail->durations, 99000), 100);
	assert_int_equal(detail->durations.most, 6000);
	/* b has the larger total, a the larger self time. */
	order = calls_self_order(calls);
	assert_string_equal(calls_name(calls, order[0]), "a");
	assert_string_equal(calls_name(calls, order[1]), "b");
	free(order);
	calls_free(calls);
}

static void test_details_of_many_functions(void **unused)
{
	struct report_calls *calls = &calls_test.calls;
	char name[32];

	(void)unused;
	memset(&calls_test, 0, sizeof(calls_test));
	calls->gaps = &no_gaps;
	calls->detailed = true;
	calls_test.thread = -1;
	for (uint32_t i = 0; i < CALLS_DETAILS_MAX + 1; i++) {
		memset(&calls_test.classes[2], 0, sizeof(calls_test.classes[2]));
		snprintf(name, sizeof(name), "p:f%u_return", i);
		assert_int_equal(calls->undetailed, 0);
		event(2, name, 1, 1000 + i, 5);
	}
	assert_int_equal(calls->undetailed, 1);
	assert_int_equal(calls->nr_details, CALLS_DETAILS_MAX);
	assert_non_null(calls->stats[CALLS_DETAILS_MAX - 1].detail);
	assert_null(calls->stats[CALLS_DETAILS_MAX].detail);
	assert_int_equal(calls->stats[CALLS_DETAILS_MAX].sum_ns, 5);
	calls_free(calls);
}

/* ---- processes and threads ---- */

static void test_processes(void **unused)
{
	const struct ctf_trace alpha = {.index = 0, .hostname = "alpha", .vpid = -1},
			       beta = {.index = 1,
					       .hostname = "beta",
					       .vpid = 7,
					       .procname = "own"},
			       nothing = {.index = 2, .vpid = -1}, other = {.index = 3, .vpid = -1};
	struct structure context, numbers;
	struct ctf_item item = {.trace = &alpha, .common_context = context.values};
	struct identity identity = {.processes = NULL};
	struct identity_class class = {.known = false}, fixed = {.known = false},
			      bare = {.known = false};
	const char *name;
	char text[64];
	size_t size = 0;

	(void)unused;
	structure_begin(&context);
	add_text(&context, "_procname", "server");
	add_number(&context, "_vpid", 31);
	add_number(&context, "tid", 32);
	add_text(&context, "pthread_name", "worker");
	assert_int_equal(identity_process(&identity, &class, &item), 0);
	assert_int_equal(identity_thread(&class, &item), 32);
	name = identity_thread_name(&class, &item, &size);
	assert_int_equal(size, 6);
	assert_memory_equal(name, "worker", 6);
	/* The process keeps its first name; another process ID is another process. */
	context.values[1].text = "execed";
	assert_int_equal(identity_process(&identity, &class, &item), 0);
	context.values[2].u = 33;
	assert_int_equal(identity_process(&identity, &class, &item), 1);
	identity_text(&identity, 0, text, sizeof(text));
	assert_string_equal(text, "server:31");
	identity_text(&identity, 1, text, sizeof(text));
	assert_string_equal(text, "execed:33");
	identity_text(&identity, 2, text, sizeof(text));
	assert_string_equal(text, "?");
	/* The trace knows its process. */
	item.trace = &beta;
	assert_int_equal(identity_process(&identity, &fixed, &item), 2);
	assert_true(fixed.fixed);
	assert_int_equal(identity_of_trace(&identity, &beta), 2);
	identity_text(&identity, 2, text, sizeof(text));
	assert_string_equal(text, "own:7");
	/* Traces without a process ID are separate processes. */
	assert_int_equal(identity_of_trace(&identity, &nothing), 3);
	assert_int_equal(identity_of_trace(&identity, &other), 4);
	assert_int_equal(identity_of_trace(&identity, &nothing), 3);
	identity_text(&identity, 3, text, sizeof(text));
	assert_string_equal(text, "?");
	/* The same number and name on another host. */
	structure_begin(&numbers);
	add_number(&numbers, "vpid", 33);
	add_text(&numbers, "procname", "execed");
	item = (struct ctf_item){.trace = &(const struct ctf_trace){.index = 4,
						 .hostname = "gamma",
						 .vpid = -1},
			.context = numbers.values};
	assert_int_equal(identity_process(&identity, &bare, &item), 5);
	assert_int_equal(identity_thread(&bare, &item), -1);
	assert_null(identity_thread_name(&bare, &item, &size));
	identity_text(&identity, 5, text, sizeof(text));
	assert_string_equal(text, "execed:33 on gamma");
	identity_text(&identity, 1, text, sizeof(text));
	assert_string_equal(text, "execed:33 on alpha");
	identity_text(&identity, 0, text, sizeof(text));
	assert_string_equal(text, "server:31");
	assert_true(identity.processes[5].repeated && !identity.processes[1].repeated &&
			!identity.processes[0].ambiguous);
	identity_free(&identity);
}

/* ---- the slowest, and events over time ---- */

static void test_slowest(void **unused)
{
	static const uint64_t durations[] = {5, 40, 7, 40, 90, 1, 40, 60};
	static const struct {
		uint64_t duration, order;
	} kept[] = {{90, 4}, {60, 7}, {40, 1}, {40, 3}};
	struct report_slowest slowest = {.items = NULL};
	struct report_options options = {.slowest = 4};
	struct report report = {.options = &options, .slowest = &slowest};

	(void)unused;
	for (uint64_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		const struct report_slow slow = {.duration = durations[i], .order = i};

		assert_int_equal(report_slow_add(&report, 0, &slow), 0);
		assert_int_equal(slowest.count, i < 4 ? i + 1 : 4);
	}
	report_slow_sort(&slowest);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(slowest.items[i].duration, kept[i].duration);
		assert_int_equal(slowest.items[i].order, kept[i].order);
	}
	free(slowest.items);
	slowest = (struct report_slowest){.items = NULL};
	options.slowest = 0;
	assert_int_equal(
			report_slow_add(&report, 0, &(const struct report_slow){.duration = 1}), 0);
	assert_null(slowest.items);
}

static void test_lines_around(void **unused)
{
	struct report_line lines[] = {{.scope = 1, .number = 4}, {.scope = 1, .number = 5},
			{.scope = 1, .number = 9}, {.scope = 3, .number = 2},
			{.scope = 3, .number = 3}};
	const struct report_around around = {.lines = lines, .count = 5};

	(void)unused;
	assert_int_equal(report_around_find(&around, 0, 9), 0);
	assert_int_equal(report_around_find(&around, 1, 4), 0);
	assert_int_equal(report_around_find(&around, 1, 5), 1);
	assert_int_equal(report_around_find(&around, 1, 6), 2);
	assert_int_equal(report_around_find(&around, 1, 10), 3);
	assert_int_equal(report_around_find(&around, 2, 0), 3);
	assert_int_equal(report_around_find(&around, 3, 3), 4);
	assert_int_equal(report_around_find(&around, 3, 4), 5);
	assert_int_equal(report_around_find(&around, 4, 0), 5);
}

static void test_timeline(void **unused)
{
	struct timeline timeline = {.started = false};

	(void)unused;
	for (int64_t i = 0; i < 64; i++)
		timeline_add(&timeline, 1000 + i);
	assert_int_equal(timeline.begin, 1000);
	assert_int_equal(timeline.shift, 0);
	assert_int_equal(timeline.used, 64);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(timeline.bins[i], 1);
	timeline_add(&timeline, 1064);
	assert_int_equal(timeline.shift, 1);
	assert_int_equal(timeline.used, 33);
	for (size_t i = 0; i < 32; i++)
		assert_int_equal(timeline.bins[i], 2);
	assert_int_equal(timeline.bins[32], 1);
	/* Before the beginning: the first bin. */
	timeline_add(&timeline, 5);
	assert_int_equal(timeline.bins[0], 3);
	assert_int_equal(timeline.used, 33);
	timeline_add(&timeline, 1000 + 64 * 16);
	assert_int_equal(timeline.shift, 5);
	assert_int_equal(timeline.used, 33);
	assert_int_equal(timeline.bins[0], 33);
	assert_int_equal(timeline.bins[1], 32);
	assert_int_equal(timeline.bins[2], 1);
	assert_int_equal(timeline.bins[32], 1);
	assert_int_equal(timeline.bins[31], 0);
}

static void time_is(int64_t ns, bool utc, const char *text)
{
	struct view_out out = {.begin = NULL};

	walk_put_time(&out, ns, utc);
	view_out_char(&out, '\0');
	assert_string_equal(out.begin, text);
	view_out_free(&out);
}

static void test_times(void **unused)
{
	(void)unused;
	setenv("TZ", "UTC", 1);
	time_is(0, true, "1970-01-01T00:00:00.000000000Z");
	time_is(INT64_C(1700000000123456789), true, "2023-11-14T22:13:20.123456789Z");
	time_is(INT64_C(1700000000000000007), false, "22:13:20.000000007");
	time_is(-1, true, "1969-12-31T23:59:59.999999999Z");
	time_is(-1000000000, true, "1969-12-31T23:59:59.000000000Z");
}

/* ---- `side top` ---- */

static struct top_process top_processes[] = {
		{.name = "server",
				.pid = 310,
				.vpid = 31,
				.bytes = 9000,
				.recorded = 77,
				.lost = 12,
				.bytes_before = 4904,
				.lost_before = 4},
		{.name = "a\x1b",
				.pid = 41,
				.vpid = 41,
				.bytes = 50000,
				.recorded = 88,
				.lost = 0,
				.bytes_before = 30000},
		{.name = "idle",
				.pid = 51,
				.vpid = 51,
				.bytes = 600,
				.recorded = 3,
				.bytes_before = 600},
		{.name = "idle",
				.pid = 50,
				.vpid = 50,
				.bytes = 600,
				.recorded = 4,
				.bytes_before = 600},
		{.name = "more",
				.pid = 61,
				.vpid = 61,
				.bytes = 700,
				.recorded = 5,
				.bytes_before = 700},
};

static struct top_event top_events[] = {{30, 2000}, {50, 1000}, {30, 3000}, {30, 2000}};
static struct top_event top_by_process[] = {{24, 1024}, {7, 555}, {11, 6}};
static struct identity_process named_processes[] = {
		{.name = "server", .pid = 31}, {.name = "other", .pid = 31}, {.pid = 41}};

static void top_begin(struct top_view *view)
{
	static const char *const names[] = {"db:open", "db:read", "net:x", "db:close"};

	*view = (struct top_view){.session = "mine",
			.state = "active",
			.seconds = 2,
			.event_seconds = 4,
			.bytes = 70000,
			.recorded = 1234,
			.lost = 21,
			.bytes_before = 59760,
			.lost_before = 11,
			.processes = top_processes,
			.nr_processes = 5};
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(keys_add(&view->trace.names, names[i], strlen(names[i]) + 1), i);
	view->trace.events = top_events;
	view->trace.by_process = top_by_process;
	view->trace.process_capacity = 3;
	view->trace.identity.processes = named_processes;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(keys_add(&view->trace.identity.keys, &i, sizeof(i)), i);
	view->trace.pairs.rule_count = 2;
	view->trace.pairs.rules[0].begin_text = "db:open";
	view->trace.pairs.rules[0].end_text = "db:close";
	view->trace.pairs.rules[1].begin_text = "a";
	view->trace.pairs.rules[1].end_text = "b";
	for (uint64_t i = 1; i <= 200; i++)
		report_stats_add(&view->trace.durations[0], i == 200 ? 10000000 : i * 2);
}

static void top_end(struct top_view *view)
{
	report_stats_free(&view->trace.durations[0]);
	keys_free(&view->trace.names);
	keys_free(&view->trace.identity.keys);
}

static void top_prints(const struct top_view *view, bool json, const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(json ? top_print_json(view, out) : top_print_text(view, out), 0);
	fclose(out);
	if (strcmp(text, wanted) != 0)
		fputs(text, stderr);
	assert_string_equal(text, wanted);
	free(text);
}

#define TOP_HEAD "mine  active  1,234 events, 68.4 KiB, 5.0 KiB/s  lost 21, 5/s\n"
#define TOP_PAIRS                                                                                      \
	"\nPAIR                                            PAIRS/S        P50        P99        MAX\n" \
	"db:open .. db:close                                  50     200 ns     396 ns    10.0 ms\n"   \
	"a .. b                                                0          -          -          -\n"
#define TOP_PROCESSES                                                                              \
	"\nPROCESS                        PID     EVENTS/S        BYTES/S     LOST/S       LOST\n" \
	"a\\x1b                           41            3        9.8 KiB          0          0\n"  \
	"server                         310            6        2.0 KiB          4         12\n"

static void test_top_text(void **unused)
{
	struct top_view view;

	(void)unused;
	top_begin(&view);
	top_prints(&view, false,
			TOP_HEAD TOP_PAIRS TOP_PROCESSES
			"more                            61            0        0 bytes          0          0\n"
			"idle                            50            0        0 bytes          0          0\n"
			"idle                            51            0        0 bytes          0          0\n"
			"\nEVENT                                              EVENTS/S           EVENTS\n"
			"db:read                                                  13            1,000\n"
			"net:x                                                     8            3,000\n"
			"db:close                                                  8            2,000\n"
			"db:open                                                   8            2,000\n");
	/* At most as many lines as the terminal has, minus one. */
	view.rows = 10;
	top_prints(&view, false, TOP_HEAD TOP_PAIRS TOP_PROCESSES);
	view.rows = 3;
	top_prints(&view, false, TOP_HEAD);
	view.rows = 1;
	top_prints(&view, false, TOP_HEAD);
	view.rows = 4;
	top_prints(&view, false,
			TOP_HEAD
			"\nPAIR                                            PAIRS/S        P50        P99        MAX\n");
	view.rows = 0;
	view.trace.pairs.rule_count = 1;
	view.trace.pairs.rules[0].no_thread = 3;
	view.nr_processes = 0;
	view.color = true;
	view.lost = view.bytes = view.seconds = 0;
	view.trace.names.count = 0;
	top_prints(&view, false,
			"\033[1mmine\033[0m  active  1,234 events, 0 bytes, 0 bytes/s  lost 0, 0/s\n"
			"\n\033[1mPAIR                                            PAIRS/S        P50        P99        MAX\033[0m\n"
			"db:open .. db:close                                  50     200 ns     396 ns    10.0 ms\n" PAIRS_NO_THREAD
			"\n\n\033[1mPROCESS                        PID     EVENTS/S        BYTES/S     LOST/S       LOST\033[0m\n");
	view.trace.names.count = 4;
	top_end(&view);
}

static void test_top_json(void **unused)
{
	struct top_view view;

	(void)unused;
	top_begin(&view);
	view.nr_processes = 2;
	view.trace.pairs.rules[1].no_thread = 9;
	top_prints(&view, true,
			"{\"schema\":1,\"type\":\"top\",\"session\":\"mine\",\"state\":\"active\",\"seconds\":2.000,\"recorded\":1234,\"bytes\":70000,\"lost\":21,\"byte_rate\":5120.000,\"loss_rate\":5.000}\n"
			"{\"schema\":1,\"type\":\"process\",\"session\":\"mine\",\"name\":\"server\",\"pid\":310,\"events\":1024,\"recorded\":77,\"bytes\":9000,\"lost\":12,\"event_rate\":6.000,\"byte_rate\":2048.000,\"loss_rate\":4.000}\n"
			"{\"schema\":1,\"type\":\"process\",\"session\":\"mine\",\"name\":\"a\\u001b\",\"pid\":41,\"events\":6,\"recorded\":88,\"bytes\":50000,\"lost\":0,\"event_rate\":2.750,\"byte_rate\":10000.000,\"loss_rate\":0.000}\n"
			"{\"schema\":1,\"type\":\"durations\",\"session\":\"mine\",\"begin\":\"db:open\",\"end\":\"db:close\",\"count\":200,\"p50\":200,\"p99\":396,\"max\":10000000}\n"
			"{\"schema\":1,\"type\":\"durations\",\"session\":\"mine\",\"begin\":\"a\",\"end\":\"b\",\"count\":0,\"without_thread\":9}\n"
			"{\"schema\":1,\"type\":\"count\",\"session\":\"mine\",\"event\":\"db:read\",\"count\":1000,\"rate\":12.500}\n"
			"{\"schema\":1,\"type\":\"count\",\"session\":\"mine\",\"event\":\"net:x\",\"count\":3000,\"rate\":7.500}\n"
			"{\"schema\":1,\"type\":\"count\",\"session\":\"mine\",\"event\":\"db:close\",\"count\":2000,\"rate\":7.500}\n"
			"{\"schema\":1,\"type\":\"count\",\"session\":\"mine\",\"event\":\"db:open\",\"count\":2000,\"rate\":7.500}\n");
	top_end(&view);
}

/* Durations are shown with the unit that leaves at most four digits. */
static void test_top_durations(void **unused)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} durations[] = {{9999, "9999 ns"}, {10000, "10.0 us"}, {9999949, "9999.9 us"},
			{10000000, "10.0 ms"}, {9999949999, "9999.9 ms"}, {10000000000, "10.0 s"},
			{123456000000, "123.5 s"}};
	struct top_view view = {.seconds = 1, .event_seconds = 1, .session = "s", .state = "t"};

	(void)unused;
	view.trace.pairs.rule_count = 1;
	view.trace.pairs.rules[0].begin_text = "a";
	view.trace.pairs.rules[0].end_text = "b";
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		char wanted[512];

		report_stats_add(&view.trace.durations[0], durations[i].ns);
		snprintf(wanted, sizeof(wanted),
				"s  t  0 events, 0 bytes, 0 bytes/s  lost 0, 0/s\n"
				"\nPAIR                                            PAIRS/S        P50        P99        MAX\n"
				"a .. b                                                1 %10s %10s %10s\n"
				"\nPROCESS                        PID     EVENTS/S        BYTES/S     LOST/S       LOST\n",
				durations[i].text, durations[i].text, durations[i].text);
		top_prints(&view, false, wanted);
		report_stats_free(&view.trace.durations[0]);
		view.trace.durations[0] = (struct stats){0};
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_pairs),
			cmocka_unit_test(test_pairs_of_one_key),
			cmocka_unit_test(test_pairs_at_the_limit),
			cmocka_unit_test(test_many_keys),
			cmocka_unit_test(test_pair_rules),
			cmocka_unit_test(test_pair_keys),
			cmocka_unit_test(test_calls),
			cmocka_unit_test(test_calls_that_are_left),
			cmocka_unit_test(test_calls_after_a_jump),
			cmocka_unit_test(test_deep_calls),
			cmocka_unit_test(test_errors_of_functions),
			cmocka_unit_test(test_off_cpu_time),
			cmocka_unit_test(test_details),
			cmocka_unit_test(test_details_of_many_functions),
			cmocka_unit_test(test_processes),
			cmocka_unit_test(test_slowest),
			cmocka_unit_test(test_lines_around),
			cmocka_unit_test(test_timeline),
			cmocka_unit_test(test_times),
			cmocka_unit_test(test_top_text),
			cmocka_unit_test(test_top_json),
			cmocka_unit_test(test_top_durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
