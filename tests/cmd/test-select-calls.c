/* SPDX-License-Identifier: MIT */
/* Patterns and filters that select nothing: the test plays the trace, and compares the notes. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "printed.h"

#include "analysis/missing.h"
#include "analysis/report-walk.h"
#include "analysis/where.h"
#include "base/error.h"
#include "ctf/ctf.h"
#include "protocol/pattern.h"

/* ---- the trace ---- */

static struct ctf_event_class classes[3] = {{.name = "p:one", .loglevel = 5},
		{.name = "p:two", .loglevel = 6}, {.name = "q:one", .loglevel = -1}};
static const struct ctf_trace traces[2] = {{.index = 0}, {.index = 1}};

static const struct ctf_trace *played_trace(const struct ctf_reader *reader, uint32_t index)
{
	assert_null(reader);
	return &traces[index];
}

/* The first trace has the first class. */
static struct ctf_event_class *played_event(const struct ctf_trace *trace, uint32_t index)
{
	return &classes[trace == &traces[0] ? index : 1 + index];
}

static unsigned int nr_walks, nr_events, binds_at, nr_bounds, nr_wheres;
static bool no_walk, no_filter, is_missing;
static char memory;

static int played_open(
		struct report_walk *walk, const struct report_walk *first, struct error *error)
{
	called("again %s;", first->options.dir);
	*walk = (struct report_walk){.options = first->options};
	if (no_walk)
		return error_set(error, -ENOENT, NULL, "no walk");
	nr_walks++;
	nr_events = 0;
	return 0;
}

/* Events of three classes, one each. */
static int played_next(
		const struct report_walk *walk, struct ctf_item *item, struct walk_class **class)
{
	static struct walk_class known;

	if (nr_events == 3)
		return 0;
	*item = (struct ctf_item){.event = &classes[nr_events++]};
	known = (struct walk_class){.view = (struct view_event *)(void *)&memory};
	known.user_data = walk->create_user_data(walk->user, &known, item);
	*class = &known;
	return 1;
}

static void played_close(const struct report_walk *walk)
{
	(void)walk;
	nr_walks--;
}

static int played_bind(struct missing *missing, const struct where *where,
		const struct ctf_item *item, const struct view_event *event,
		struct where_bound **bound)
{
	assert_ptr_equal(event, &memory);
	assert_string_equal(where->text, "x > 1");
	called("bind %s;", item->event->name);
	if (nr_events != binds_at)
		return -1;
	missing->is_bound = true;
	nr_bounds++;
	*bound = (struct where_bound *)(void *)&memory;
	return 0;
}

static int played_parse(const char *option, const char *text, struct where *where)
{
	assert_string_equal(option, "filter");
	*where = (struct where){.text = text};
	nr_wheres += !no_filter;
	return no_filter ? COMMAND_USAGE : 0;
}

static bool played_known(const struct missing *missing)
{
	(void)missing;
	return is_missing;
}

static const char *played_text(const struct missing *missing, char text[MISSING_TEXT_SIZE])
{
	(void)missing;
	strcpy(text, "no event has `x`");
	return text;
}

static const char *played_hint(const struct missing *missing, char hint[NEAREST_TEXT_SIZE])
{
	(void)missing;
	strcpy(hint, "did you mean `y`?");
	return hint;
}

#define ctf_reader_trace played_trace
#define ctf_reader_trace_count(reader) 2
#define ctf_trace_event played_event
#define ctf_trace_event_count(trace) ((trace) == &traces[0] ? 1u : 2u)
#define walk_open_again played_open
#define walk_next played_next
#define walk_close played_close
#define missing_bind played_bind
#define missing_is_known played_known
#define missing_text played_text
#define missing_hint played_hint
#define command_parse_where played_parse
#define where_free(where) (nr_wheres--)
#define where_bound_free(bound) (nr_bounds--)
#include "programs/side/analysis/select.c"

static void reset(void)
{
	no_walk = no_filter = is_missing = false;
	binds_at = 0;
	printed_options = (struct common_options){.color = COLOR_NEVER};
	*calls = '\0';
}

static void assert_nothing_is_held(void)
{
	assert_int_equal(nr_walks, 0);
	assert_int_equal(nr_bounds, 0);
	assert_int_equal(nr_wheres, 0);
}

static void test_select(void **unused)
{
	const char *args[] = {"p:*", "!q:a", "r:\\"};
	struct text_list list = {(void *)args, 0};
	struct pattern *patterns = (struct pattern *)(void *)&memory;
	size_t before = 0;

	(void)unused;
	reset();
	assert_int_equal(command_select(&list, &patterns), COMMAND_DONE);
	assert_null(patterns);
	list.count = 2;
	assert_int_equal(command_select(&list, &patterns), COMMAND_DONE);
	assert_true(pattern_set_wants(patterns, 2, "p", "x", 0));
	assert_false(pattern_set_wants(patterns, 2, "q", "a", 0));
	free(patterns);
	list.count = 3;
	for (int i = 0; i < 20; i++) {
		before = i == 12 ? resources_memory() : before;
		begin_output();
		assert_int_equal(command_select(&list, &patterns), COMMAND_USAGE);
		assert_null(patterns);
		assert_output("side: pattern \"r:\\\", column 3: missing character after the \"\\\"\nhint: `side help patterns` explains them\n");
	}
	assert_int_equal(resources_memory(), before);
	begin_output();
	failing_arm(1);
	assert_int_equal(command_select(&list, &patterns), COMMAND_FAILED);
	assert_true(failing_has_failed());
	assert_null(patterns);
	assert_output("side: cannot read the patterns: out of memory\n");
}

/* Compares the output for the values of `-e`. */
static void assert_note(const char *first, const char *second, const char *filter,
		struct time_range times, const char *expected)
{
	const char *args[] = {first, second};
	const struct text_list list = {(void *)args, (first != NULL) + (size_t)(second != NULL)};
	const struct report_walk_options options = {
			.verb = "view", .dir = "/dir", .patterns = &list, .times = times};

	begin_output();
	command_note_no_match(NULL, &options, filter);
	assert_output(expected);
	assert_nothing_is_held();
}

static const struct time_range all = {.from = NULL};

static void test_patterns(void **unused)
{
	struct time_range some = all;
	struct trace_names names = {.count = 0};
	size_t before = 0;

	(void)unused;
	reset();
	some.from = "1";
	select_read_names(NULL, &names);
	assert_int_equal(names.count, 3);
	assert_string_equal(names.names[0], "p:one");
	assert_string_equal(names.names[1], "p:two");
	assert_string_equal(names.names[2], "q:one");
	assert_note(NULL, NULL, NULL, all, "");
	assert_note("p:*", NULL, NULL, all,
			"side: no event that `-e p:*` selects happened in /dir\n");
	assert_note("q:*", "p:x", NULL, some,
			"side: no event that `-e q:*` selects happened in /dir at that time\n");
	assert_note("p:one@=warning", NULL, NULL, all,
			"side: no event in /dir matched `-e p:one@=warning`: no event of that name has that log level: the trace has 3 event classes: p:one, p:two, q:one\n");
	classes[0].loglevel = 4;
	assert_note("p:one@=warning", NULL, NULL, all,
			"side: no event that `-e p:one@=warning` selects happened in /dir\n");
	classes[0].loglevel = 5;
	{
		const char *args[] = {"p:tow", "a b"};
		const struct text_list list = {(void *)args, 2};
		const struct report_walk_options options = {.dir = "/dir", .patterns = &list};
		const char *text;

		begin_output();
		command_note_no_match(NULL, &options, "x > 1");
		text = end_output();
		assert_int_equal(
				strncmp(text, "side: no event in /dir matched `-e p:tow -e 'a b'`: the trace has 3 event classes",
						79),
				0);
		assert_non_null(strstr(text, "\nhint: did you mean `-e p:two`?\n"));
		for (int i = 0; i < 20; i++) {
			before = i == 12 ? resources_memory() : before;
			begin_output();
			command_note_no_match(NULL, &options, NULL);
			(void)end_output();
			assert_note("p:*", NULL, NULL, all,
					"side: no event that `-e p:*` selects happened in /dir\n");
		}
		assert_int_equal(resources_memory(), before);
		begin_output();
		failing_arm(2);
		command_note_no_match(NULL, &options, NULL);
		(void)failing_has_failed();
		(void)end_output();
	}
	assert_called("");
}

static void test_quoted(void **unused)
{
	const char *args[] = {"abc", "de"};
	const struct text_list list = {(void *)args, 2};
	char text[20];

	(void)unused;
	select_quote_patterns(&list, text, sizeof(text));
	assert_string_equal(text, "-e abc -e de");
	memset(text, '#', sizeof(text));
	select_quote_patterns(&list, text, 6);
	assert_string_equal(text, "-e ab");
	assert_int_equal(text[6], '#');
	memset(text, '#', sizeof(text));
	select_quote_patterns(&list, text, 9);
	assert_string_equal(text, "-e abc -");
	assert_int_equal(text[9], '#');
}

static void test_pair(void **unused)
{
	struct pattern pattern;
	struct pattern_error error;
	const char *text;

	(void)unused;
	reset();
	assert_int_equal(pattern_parse("q:one", &pattern, &error), 0);
	begin_output();
	assert_false(command_note_pair(NULL, "/dir", &pattern, "q:one"));
	assert_output("");
	assert_int_equal(pattern_parse("q:oen", &pattern, &error), 0);
	begin_output();
	assert_true(command_note_pair(NULL, "/dir", &pattern, "q:oen"));
	text = end_output();
	assert_int_equal(
			strncmp(text, "side: no event in /dir matched q:oen of `--pair`: the trace has 3 event classes",
					77),
			0);
	assert_non_null(strstr(text, "\nhint: did you mean `q:one`?\n"));
}

static void test_filters(void **unused)
{
	struct time_range some = all;
	size_t before = 0;

	(void)unused;
	reset();
	some.last = "1";
	assert_note(NULL, NULL, "x > 1", all, "side: no event in /dir matched `--filter x > 1`\n");
	assert_called("again /dir;bind p:one;bind p:two;bind q:one;");
	assert_note("p:*", NULL, "x > 1", some,
			"side: no event in /dir matched `--filter x > 1` and `-e` at that time\n");
	*calls = '\0';
	is_missing = true;
	assert_note("p:*", NULL, "x > 1", some,
			"side: no event in /dir matched `--filter x > 1` and `-e` at that time: no event has `x`\nhint: did you mean `y`?\n");
	is_missing = false;
	*calls = '\0';
	/* Until an event class has the fields of the filter. */
	binds_at = 2;
	for (int i = 0; i < 20; i++) {
		before = i == 12 ? resources_memory() : before;
		assert_note(NULL, NULL, "x > 1", all,
				"side: no event in /dir matched `--filter x > 1`\n");
		assert_called("again /dir;bind p:one;bind p:two;");
	}
	assert_int_equal(resources_memory(), before);
	no_walk = true;
	assert_note(NULL, NULL, "x > 1", all,
			"side: no walk\nside: no event in /dir matched `--filter x > 1`\n");
	assert_called("again /dir;");
	no_filter = true;
	for (int i = 0; i < 20; i++) {
		before = i == 12 ? resources_memory() : before;
		assert_note(NULL, NULL, "x > 1", all, "");
	}
	assert_int_equal(resources_memory(), before);
	no_filter = false;
	failing_arm(1);
	assert_note(NULL, NULL, "x > 1", all, "");
	assert_true(failing_has_failed());
	assert_called("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_select, show_output),
			cmocka_unit_test_teardown(test_patterns, show_output),
			cmocka_unit_test_teardown(test_quoted, show_output),
			cmocka_unit_test_teardown(test_pair, show_output),
			cmocka_unit_test_teardown(test_filters, show_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
