/* SPDX-License-Identifier: MIT */
/* The model of `side explore`: the tree of calls, events by number, searches and rows of tables. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/explore.h"
#include "base/error.h"

/* ---- the tree of calls ---- */

/* a has b and d, b has c; e is a second root. */
static const struct calls_branch explore_test_branches[] = {
		{.parent = KEYS_NONE, .function = 0, .depth = 0, .stats = {.calls = 9}},
		{.parent = 0, .function = 1, .depth = 1, .stats = {.calls = 8}},
		{.parent = 1, .function = 2, .depth = 2, .stats = {.calls = 7}},
		{.parent = 0, .function = 3, .depth = 1, .stats = {.calls = 6}},
		{.parent = KEYS_NONE, .function = 4, .depth = 0, .stats = {.calls = 5}},
};
#define EXPLORE_TEST_BRANCHES 5

static void explore_test_make_calls(struct report_calls *calls)
{
	memset(calls, 0, sizeof(*calls));
	for (uint32_t i = 0; i < EXPLORE_TEST_BRANCHES; i++) {
		const char name[2] = {(char)('a' + i), '\0'};

		assert_int_equal(keys_add(&calls->functions, name, sizeof(name)), i);
		assert_int_equal(keys_add(&calls->branch_keys, &i, sizeof(i)), i);
	}
	calls->branches = malloc(sizeof(explore_test_branches));
	calls->stats = calloc(EXPLORE_TEST_BRANCHES, sizeof(*calls->stats));
	assert_true(calls->branches && calls->stats);
	memcpy(calls->branches, explore_test_branches, sizeof(explore_test_branches));
}

/* Compares the visible functions with a text such as "a b". */
static void explore_test_visible(const struct explore_tree *tree, const char *wanted)
{
	char text[2 * EXPLORE_TEST_BRANCHES + 1] = "";

	for (uint32_t i = 0; i < tree->nr_visible; i++) {
		text[i] = (char)('a' + explore_tree_branch(tree, i)->function);
		text[i + 1] = '\0';
	}
	assert_string_equal(text, wanted);
}

static void test_tree(void **unused)
{
	struct explore_tree tree = {.calls = NULL};
	struct report_calls calls;

	(void)unused;
	explore_test_make_calls(&calls);
	assert_int_equal(explore_tree_make(&tree, &calls), 0);
	explore_test_visible(&tree, "ae");
	assert_true(explore_tree_has_children(&tree, 0));
	assert_false(explore_tree_has_children(&tree, 1));
	explore_tree_expand(&tree, 0, true);
	explore_test_visible(&tree, "abde");
	assert_true(explore_tree_is_expanded(&tree, 0));
	assert_false(explore_tree_is_expanded(&tree, 1));
	assert_false(explore_tree_has_children(&tree, 2));
	explore_tree_expand(&tree, 1, true);
	explore_test_visible(&tree, "abcde");
	assert_int_equal(explore_tree_parent(&tree, 2), 1);
	assert_int_equal(explore_tree_parent(&tree, 3), 0);
	assert_int_equal(explore_tree_parent(&tree, 4), 4);
	/* A collapsed branch remembers its expanded children. */
	explore_tree_expand(&tree, 0, false);
	explore_test_visible(&tree, "ae");
	explore_tree_expand(&tree, 0, true);
	explore_test_visible(&tree, "abcde");
	explore_tree_expand_all(&tree, false);
	explore_test_visible(&tree, "ae");
	explore_tree_expand_all(&tree, true);
	explore_test_visible(&tree, "abcde");
	/* Another reading keeps the expanded branches, also if the tree has one more branch. */
	explore_tree_expand(&tree, 1, false);
	assert_int_equal(explore_tree_make(&tree, &calls), 0);
	explore_test_visible(&tree, "abde");
	explore_tree_free(&tree);
	calls_free(&calls);
}

static void test_tree_without_calls(void **unused)
{
	const struct report_calls calls = {.branches = NULL};
	struct explore_tree tree = {.calls = NULL};

	(void)unused;
	assert_int_equal(explore_tree_make(&tree, &calls), 0);
	assert_int_equal(tree.nr_visible, 0);
	explore_tree_expand_all(&tree, true);
	assert_int_equal(tree.nr_visible, 0);
	explore_tree_free(&tree);
}

/* ---- marks ---- */

/* With so many events, every second mark is removed twice. */
#define EXPLORE_TEST_MANY UINT64_C(20000000)

static void test_marks_of_many_events(void **unused)
{
	struct explore_events *events = calloc(1, sizeof(*events));
	struct ctf_item item = {.timed = true};

	(void)unused;
	assert_non_null(events);
	/* Three events each have the same time. */
	for (uint64_t i = 0; i < EXPLORE_TEST_MANY; i++) {
		item.ns = (int64_t)(i / 3);
		explore_events_add(events, &item);
	}
	assert_int_equal(events->nr_events, EXPLORE_TEST_MANY);
	assert_false(events->unordered);
	assert_int_equal(events->interval, 4096);
	assert_in_range(events->nr_marks, EXPLORE_MARKS_MAX / 4, EXPLORE_MARKS_MAX);
	for (uint32_t i = 0; i < events->nr_marks; i++) {
		const struct explore_mark *mark = &events->marks[i];

		assert_int_equal(mark->number, 3 * (uint64_t)mark->ns);
		if (i)
			assert_in_range(mark->number - mark[-1].number, 2048, 8192);
	}
	item.ns = 0;
	explore_events_add(events, &item);
	assert_true(events->unordered);
	explore_events_free(events);
	free(events);
}

/* ---- traces ---- */

#define EXPLORE_TEST_EVENTS 20000u
#define EXPLORE_TEST_RANDOM 300u

struct explore_test_trace {
	char dir[64], metadata[96], data[96];
};

struct explore_test_event {
	uint64_t ns;
	uint64_t number;
} __attribute__((packed));

static void explore_test_write(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* The event's name has an escape sequence; `clock` is the type of its time. */
static void explore_test_write_metadata(const char *path, const char *time)
{
	char text[2048];
	int size = snprintf(text, sizeof(text),
			"/* CTF 1.8 */\n"
			"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
			"trace { major = 1; minor = 8; byte_order = le; };\n"
			"env { hostname = \"host\"; vpid = 7; procname = \"pro\\033[2Jgram\"; };\n"
			"clock { name = \"k\"; freq = 1000000000; offset_s = 1700000000; };\n"
			"typealias integer { size = 64; align = 8; signed = false; map = clock.k.value; } := time;\n"
			"stream {\n"
			"	packet.context := struct { u64 content_size; u64 packet_size; };\n"
			"	event.header := struct { %s timestamp; };\n"
			"};\n"
			"event { name = \"test:\\033[31mred\"; fields := struct { u64 _n; }; };\n",
			time);

	explore_test_write(path, text, (size_t)size);
}

static void explore_test_create(struct explore_test_trace *trace, const char *time)
{
	const uint64_t bits = (16 + EXPLORE_TEST_EVENTS * sizeof(struct explore_test_event)) * 8;
	struct {
		uint64_t content_size, packet_size;
		struct explore_test_event events[EXPLORE_TEST_EVENTS];
	} *packet = calloc(1, sizeof(*packet));

	assert_non_null(packet);
	packet->content_size = packet->packet_size = bits;
	/* Runs of up to 2,000 events have the same time. */
	for (uint64_t i = 0, ns = 0; i < EXPLORE_TEST_EVENTS; i++) {
		if (i % 7 == 0 && i % 5000 >= 2000)
			ns += 3;
		packet->events[i] = (struct explore_test_event){ns, i};
	}
	strcpy(trace->dir, "/tmp/side-explore-XXXXXX");
	assert_non_null(mkdtemp(trace->dir));
	snprintf(trace->metadata, sizeof(trace->metadata), "%s/metadata", trace->dir);
	snprintf(trace->data, sizeof(trace->data), "%s/data", trace->dir);
	explore_test_write_metadata(trace->metadata, time);
	explore_test_write(trace->data, packet, sizeof(*packet));
	free(packet);
}

static void explore_test_remove(const struct explore_test_trace *trace)
{
	assert_int_equal(unlink(trace->metadata), 0);
	assert_int_equal(unlink(trace->data), 0);
	assert_int_equal(rmdir(trace->dir), 0);
}

static struct explore *explore_test_load(const struct explore_test_trace *trace, const char *filter,
		const struct explore *before)
{
	const struct analysis_listener listener = {.report = NULL};
	struct error error = {.code = 0};
	struct explore *explore = NULL;
	int ret = explore_load(trace->dir, filter, &listener, before, &explore, &error);

	if (ret)
		fail_msg("%s", error.text);
	return explore;
}

/* ---- events by number ---- */

static void explore_test_line(struct explore *explore, uint64_t number, uint64_t wanted)
{
	const char *line = explore_events_line(&explore->events, number);
	char end[64];

	snprintf(end, sizeof(end), "n = %" PRIu64 " }", wanted);
	assert_non_null(line);
	assert_non_null(strstr(line, end));
}

static void explore_test_all_lines(struct explore *explore)
{
	uint64_t random = 12345;

	for (uint64_t i = 0; i < EXPLORE_TEST_EVENTS; i++)
		explore_test_line(explore, i, i);
	for (unsigned int i = 0; i < EXPLORE_TEST_RANDOM; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		explore_test_line(explore, (random >> 33) % EXPLORE_TEST_EVENTS,
				(random >> 33) % EXPLORE_TEST_EVENTS);
	}
	for (uint64_t i = 4000; i-- > 0;)
		explore_test_line(explore, i, i);
	assert_null(explore_events_line(&explore->events, EXPLORE_TEST_EVENTS));
	assert_null(explore_events_line(&explore->events, UINT64_MAX));
}

static void test_events_by_number(void **unused)
{
	static const char *const times[] = {"time", "u64"};

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		struct explore_test_trace trace;
		struct explore *explore;

		explore_test_create(&trace, times[i]);
		explore = explore_test_load(&trace, NULL, NULL);
		assert_int_equal(explore_row_count(explore, EXPLORE_EVENTS), EXPLORE_TEST_EVENTS);
		assert_int_equal(explore->events.unordered, i == 1);
		assert_int_equal(explore->events.nr_marks > 5, i == 0);
		explore_test_all_lines(explore);
		explore_free(explore);
		explore_test_remove(&trace);
	}
}

static void test_filtered_events(void **unused)
{
	struct explore_test_trace trace;
	struct explore *explore;

	(void)unused;
	explore_test_create(&trace, "time");
	explore = explore_test_load(&trace, "n >= 700 && n < 19000", NULL);
	assert_int_equal(explore_row_count(explore, EXPLORE_EVENTS), 18300);
	for (uint64_t i = 18300; i > 0; i -= 61)
		explore_test_line(explore, i - 1, i - 1 + 700);
	explore_free(explore);
	explore_test_remove(&trace);
}

/* If the file of a trace is removed meanwhile, its events have no lines. */
static void test_events_of_a_removed_trace(void **unused)
{
	struct explore_test_trace trace;
	struct view_out out = {.begin = NULL};
	struct explore *explore;
	uint64_t number = 0;

	(void)unused;
	explore_test_create(&trace, "time");
	explore = explore_test_load(&trace, NULL, NULL);
	explore_test_remove(&trace);
	assert_null(explore_events_line(&explore->events, 5));
	assert_false(explore_events_find(&explore->events, 0, "n", NULL, NULL, &number));
	explore_row(explore, EXPLORE_EVENTS, 5, &out);
	view_out_char(&out, '\0');
	assert_string_equal(out.begin, "(this event cannot be read again)");
	view_out_free(&out);
	explore_free(explore);
}

/* ---- search ---- */

/* Stops at the call with this number. */
static bool explore_test_stops(void *user)
{
	unsigned int *calls = user;

	return --*calls == 0;
}

static void test_search(void **unused)
{
	struct explore_test_trace trace;
	struct explore *explore;
	unsigned int calls = UINT32_MAX;
	uint64_t number = 0;

	(void)unused;
	explore_test_create(&trace, "time");
	explore = explore_test_load(&trace, NULL, NULL);
	assert_true(explore_events_find(
			&explore->events, 0, "N = 12345 ", explore_test_stops, &calls, &number));
	assert_int_equal(number, 12345);
	/* Continues with the first event after the last one. */
	assert_true(explore_events_find(&explore->events, 12346, "n = 12345 ", explore_test_stops,
			&calls, &number));
	assert_int_equal(number, 12345);
	assert_true(explore_events_find(&explore->events, EXPLORE_TEST_EVENTS, "n = 0 ",
			explore_test_stops, &calls, &number));
	assert_int_equal(number, 0);
	assert_false(explore_events_find(
			&explore->events, 7, "n = 20000 ", explore_test_stops, &calls, &number));
	calls = 2;
	assert_false(explore_events_find(
			&explore->events, 7, "n = 19999 ", explore_test_stops, &calls, &number));
	assert_int_equal(calls, 0);
	explore_free(explore);
	explore_test_remove(&trace);
}

/* ---- rows ---- */

static void explore_test_row(
		struct explore *explore, enum explore_view view, uint64_t row, const char *wanted)
{
	struct view_out out = {.begin = NULL};

	explore_row(explore, view, row, &out);
	view_out_char(&out, '\0');
	assert_false(out.failed);
	for (const char *at = out.begin; *at; at++)
		assert_true(*at >= ' ');
	assert_non_null(strstr(out.begin, wanted));
	view_out_free(&out);
}

static void test_rows(void **unused)
{
	struct explore_test_trace trace;
	struct explore *explore, *again;

	(void)unused;
	explore_test_create(&trace, "time");
	explore = explore_test_load(&trace, NULL, NULL);
	assert_int_equal(explore_row_count(explore, EXPLORE_CLASSES), 1);
	explore_test_row(explore, EXPLORE_CLASSES, 0, "       20,000 ");
	explore_test_row(explore, EXPLORE_CLASSES, 0, "test:\\x1b[31mred");
	explore_test_row(explore, EXPLORE_THREADS, 0, "(thread not recorded)");
	explore_test_row(explore, EXPLORE_EVENTS, 1, "test:\\x1b[31mred");
	explore_test_row(explore, EXPLORE_SUMMARY, 1, "Events     20,000");
	explore_test_row(explore, EXPLORE_SUMMARY, explore_row_count(explore, EXPLORE_SUMMARY) - 1,
			"pro\\x1b[2Jgram");
	for (uint64_t i = 0; i < explore_row_count(explore, EXPLORE_SUMMARY); i++)
		explore_test_row(explore, EXPLORE_SUMMARY, i, "");
	assert_int_equal(explore_row_count(explore, EXPLORE_FUNCTIONS), 0);
	assert_int_equal(explore_row_count(explore, EXPLORE_TREE), 0);
	explore_sort(explore, EXPLORE_CALLS);
	again = explore_test_load(&trace, "n == 3", explore);
	assert_int_equal(again->sort, EXPLORE_CALLS);
	explore_test_row(again, EXPLORE_CLASSES, 0, "            1 ");
	explore_free(explore);
	explore_free(again);
	explore_test_remove(&trace);
}

static int explore_test_create_answers(
		const char *dir, struct explore_answers **ret_answers, struct error *error)
{
	const char *const dirs[EXPLORE_ANSWERS] = {dir, dir, dir};

	return explore_answers_create(dirs, ret_answers, error);
}

/* Events without stacks, allocations and locks: answers without rows. */
static void test_answers_without_rows(void **unused)
{
	const struct analysis_listener listener = {.report = NULL};
	struct explore_answers *answers = NULL;
	struct error error = {.code = 0};
	struct explore_test_trace trace;
	struct explore *explore;

	(void)unused;
	explore_test_create(&trace, "time");
	explore = explore_test_load(&trace, NULL, NULL);
	assert_int_equal(explore_test_create_answers(trace.dir, &answers, &error), 0);
	assert_int_equal(explore_row_count(explore, EXPLORE_LEAKS), 0);
	explore->answers = answers;
	for (unsigned int i = 0; i < EXPLORE_ANSWERS; i++) {
		assert_false(explore_answers_is_open(answers, (enum explore_answer)i));
		assert_int_equal(explore_answers_open(answers, (enum explore_answer)i, &listener,
						 &error),
				0);
		assert_true(explore_answers_is_open(answers, (enum explore_answer)i));
		assert_int_equal(
				explore_row_count(explore, (enum explore_view)(EXPLORE_STACKS + i)),
				0);
	}
	explore_answers_set_filter(answers, "n == 3");
	assert_false(explore_answers_is_open(answers, EXPLORE_ANSWER_STACKS));
	assert_true(explore_answers_is_open(answers, EXPLORE_ANSWER_LEAKS));
	assert_int_equal(
			explore_answers_open(answers, EXPLORE_ANSWER_STACKS, &listener, &error), 0);
	for (unsigned int i = 0; i < EXPLORE_ANSWERS; i++) {
		enum explore_answer answer = (enum explore_answer)i;

		explore_answers_forget(answers, answer, 0);
		assert_false(explore_answers_is_open(answers, answer));
		assert_int_equal(explore_answers_open(answers, answer, &listener, &error), 0);
	}
	explore_answers_free(answers);
	explore_free(explore);
	explore_test_remove(&trace);
}

/*
 * The error is reported once. A trace that is recorded appears later: then it can be read, and only
 * the answers that are asked again read it.
 */
static void test_answers_of_a_removed_trace(void **unused)
{
	const struct analysis_listener listener = {.report = NULL};
	struct explore_answers *answers = NULL;
	struct error error = {.code = 0};
	struct explore_test_trace trace;

	(void)unused;
	explore_test_create(&trace, "time");
	assert_int_equal(explore_test_create_answers(trace.dir, &answers, &error), 0);
	explore_test_remove(&trace);
	for (unsigned int i = 0; i < EXPLORE_ANSWERS; i++) {
		enum explore_answer answer = (enum explore_answer)i;

		assert_true(explore_answers_open(answers, answer, &listener, &error) < 0);
		assert_true(*error.text);
		assert_int_equal(explore_answers_open(answers, answer, &listener, &error), 0);
		assert_int_equal(explore_answers_row_count(answers, answer), 0);
		error_clear(&error);
		explore_answers_forget(answers, answer, 0);
		assert_int_equal(explore_answers_open(answers, answer, &listener, &error), -ENOENT);
		error_clear(&error);
	}
	explore_answers_free(answers);
}

static void test_errors(void **unused)
{
	const struct analysis_listener listener = {.report = NULL};
	struct explore *explore = NULL;
	struct explore_test_trace trace;
	struct error error = {.code = 0};

	(void)unused;
	assert_true(explore_load("/no/such/trace", NULL, &listener, NULL, &explore, &error) < 0);
	error_clear(&error);
	explore_test_create(&trace, "time");
	assert_true(explore_load(trace.dir, "n ==", &listener, NULL, &explore, &error) < 0);
	assert_int_equal(error.kind, ERROR_USAGE);
	error_clear(&error);
	assert_null(explore);
	explore_test_remove(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_tree),
			cmocka_unit_test(test_tree_without_calls),
			cmocka_unit_test(test_marks_of_many_events),
			cmocka_unit_test(test_events_by_number),
			cmocka_unit_test(test_filtered_events),
			cmocka_unit_test(test_events_of_a_removed_trace),
			cmocka_unit_test(test_search),
			cmocka_unit_test(test_rows),
			cmocka_unit_test(test_answers_without_rows),
			cmocka_unit_test(test_answers_of_a_removed_trace),
			cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
