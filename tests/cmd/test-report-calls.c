/* SPDX-License-Identifier: MIT */
/*
 * Parts of `side report` with calls that the test plays: time ranges in which a trace lost events,
 * callers of events and their notes, tables and trees of calls, symbols of addresses, and filters
 * that fit no event. Each failing allocation is reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include <side/trace.h>

#include "analysis/address.h"
#include "programs/side/processes/filter-fit.h"
#include "analysis/report-gaps.h"
#include "analysis/report-text.h"
#include "analysis/report.h"
#include "base/error.h"
#include "programs/common/message.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/analysis/report-notes.h"
#include "symbolize/symbols.h"

/* ---- what is printed, on both streams ---- */

static int printed_file, saved[2];

static void begin_output(void)
{
	const struct common_options common = {.color = COLOR_NEVER};

	output_start(&common, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 10);
		assert_int_equal(dup2(printed_file, 1 + i), 1 + i);
	}
}

static void assert_output(const char *expected)
{
	static char text[16384];
	ssize_t size;

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dup2(saved[i], 1 + i), 1 + i);
		close(saved[i]);
	}
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	assert_string_equal(text, expected);
}

/* ---- gaps ---- */

static struct ctf_reader *const the_reader = (struct ctf_reader *)(uintptr_t)0x1000;
static const struct ctf_trace traces[] = {{.index = 0}, {.index = 1}, {.index = 2}};
static const struct ctf_item *items;
static size_t nr_items, next_item;
static int open_result, end_result;

static int played_open(const char *dir, struct ctf_reader **reader, struct error *error)
{
	(void)error;
	called("open %s;", dir);
	*reader = open_result ? NULL : the_reader;
	next_item = 0;
	return open_result;
}

static void played_times(struct ctf_reader *reader, int64_t from, int64_t to)
{
	assert_ptr_equal(reader, the_reader);
	assert_true(from == INT64_MAX && to == INT64_MAX);
	called("headers;");
}

static int played_next(struct ctf_reader *reader, struct ctf_item *item)
{
	assert_ptr_equal(reader, the_reader);
	*item = (struct ctf_item){.text = NULL};
	if (next_item == nr_items)
		return end_result;
	*item = items[next_item++];
	return 1;
}

static void played_close(struct ctf_reader *reader)
{
	assert_ptr_equal(reader, the_reader);
	called("close;");
}

#define ctf_reader_open played_open
#define ctf_reader_set_times played_times
#define ctf_reader_next played_next
#define ctf_reader_close played_close
#include "analysis/report-gaps.c"

#define LOST(which, from, to)                                                       \
	{                                                                           \
		.kind = CTF_ITEM_DISCARDED, .timed = true, .trace = &traces[which], \
		.begin_ns = (from), .ns = (to)                                      \
	}

static void test_gaps(void **unused)
{
	static const struct ctf_item lost[] = {
			LOST(1, 500, 600),
			{.kind = CTF_ITEM_DISCARDED,
					.trace = &traces[1],
					.begin_ns = 1,
					.ns = 1000},
			{.kind = CTF_ITEM_EVENT,
					.timed = true,
					.trace = &traces[1],
					.begin_ns = 1,
					.ns = 1000},
			LOST(2, 100, 200),
			{.kind = CTF_ITEM_LOST_PACKETS,
					.timed = true,
					.trace = &traces[1],
					.begin_ns = 300,
					.ns = 400},
			/* Longer than the gaps that end before it. */
			LOST(1, 350, 700),
			LOST(2, 50, 60),
	};
	static const struct {
		uint32_t trace;
		int64_t begin, end;
		bool overlaps;
	} cases[] = {
			{2, 0, 49, false},
			{2, 0, 50, true},
			{2, 60, 60, true},
			{2, 61, 99, false},
			{2, 61, 100, true},
			{2, 200, 300, true},
			{2, 201, 999, false},
			{1, 0, 299, false},
			{1, 0, 300, true},
			{1, 400, 450, true},
			{1, 401, 410, true},
			{1, 401, 349, false},
			{1, 601, 700, true},
			{1, 701, 9999, false},
			{0, 0, 9999, false},
	};
	struct gaps gaps = {.count = 0};

	(void)unused;
	assert_false(gaps_overlap(&gaps, 0, 0, 100));
	items = lost;
	nr_items = sizeof(lost) / sizeof(lost[0]);
	assert_int_equal(gaps_read(&gaps, "dir"), 0);
	assert_called("open dir;headers;close;");
	assert_int_equal(gaps.count, 5);
	for (size_t i = 0; i < 5; i++)
		called("%u %d-%d %d;", gaps.spans[i].trace, (int)gaps.spans[i].begin,
				(int)gaps.spans[i].end, (int)gaps.spans[i].least_begin);
	assert_called("1 300-400 300;1 500-600 350;1 350-700 350;2 50-60 50;2 100-200 100;");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(gaps_overlap(&gaps, cases[i].trace, cases[i].begin, cases[i].end),
				cases[i].overlaps);
	gaps_free(&gaps);
	gaps = (struct gaps){.count = 0};
	nr_items = 0;
	assert_int_equal(gaps_read(&gaps, "dir"), 0);
	assert_int_equal(gaps.count, 0);
	end_result = -ENOMEM;
	assert_int_equal(gaps_read(&gaps, "dir"), -ENOMEM);
	end_result = 0;
	assert_called("open dir;headers;close;open dir;headers;close;");
	open_result = -ENOMEM;
	assert_int_equal(gaps_read(&gaps, "dir"), -ENOMEM);
	/* Other errors are printed by the caller of the report. */
	open_result = -ENOENT;
	assert_int_equal(gaps_read(&gaps, "dir"), 0);
	assert_called("open dir;open dir;");
	open_result = 0;
	/* The list grows before its second, third and fifth gap. */
	nr_items = sizeof(lost) / sizeof(lost[0]);
	for (unsigned int i = 1; i <= 5; i++) {
		static const size_t counts[] = {0, 1, 2, 4, 5};

		gaps = (struct gaps){.count = 0};
		failing_arm(i);
		assert_int_equal(gaps_read(&gaps, "dir"), i < 5 ? -ENOMEM : 0);
		assert_int_equal(failing_has_failed(), i < 5);
		assert_int_equal(gaps.count, counts[i - 1]);
		gaps_free(&gaps);
	}
	*calls = '\0';
}

static void test_many_gaps(void **unused)
{
	struct gaps gaps = {.count = 0};
	size_t memory = resources_memory();

	(void)unused;
	for (int i = 99; i >= 0; i--)
		assert_int_equal(gaps_add(&gaps, &(struct gap){(uint32_t)i % 2, i, i + 1, -1}), 0);
	assert_int_equal(gaps.count, 100);
	gaps_sort(&gaps);
	for (int i = 0; i < 100; i++) {
		const struct gap *gap = &gaps.spans[i];

		assert_int_equal(gap->trace, i / 50);
		assert_int_equal(gap->begin, i % 50 * 2 + i / 50);
		assert_int_equal(gap->end, gap->begin + 1);
		assert_int_equal(gap->least_begin, gap->begin);
	}
	gaps_free(&gaps);
	assert_int_equal(resources_memory(), memory);
}

/* ---- callers ---- */

static int parse_result, bind_result, symbols_read;
static bool no_symbols;
static struct where_bound *const the_bound = (struct where_bound *)(uintptr_t)0x2000;
static struct symbols *const the_symbols = (struct symbols *)(uintptr_t)0x3000;
static bool has_value[CALLER_SOURCES];
static uint8_t form_address;
static enum filter_kind value_kind;

static int played_parse(
		const char *option, const char *text, struct where *where, struct error *error)
{
	(void)error;
	called("parse %s %s;", option, text);
	where->text = text;
	return parse_result;
}

static void played_where_free(struct where *where)
{
	called("free %s;", where->text ? where->text : "-");
}

static int played_bind(const struct where *where, const struct ctf_item *item,
		const struct view_event *event, struct where_bound **bound,
		struct where_reason *why)
{
	(void)item;
	(void)event;
	assert_null(why);
	called("bind %s;", where->text);
	*bound = the_bound;
	return bind_result;
}

static struct where_form played_form(const struct where *where, const struct where_bound *bound,
		const struct ctf_item *item, const struct view_event *event)
{
	(void)item;
	(void)event;
	assert_ptr_equal(bound, the_bound);
	return (struct where_form){.address = *where->text == 'c' ? form_address : ADDRESS_NONE};
}

static void played_unbind(const struct where_bound *bound)
{
	called("unbind %d;", bound == the_bound);
}

static bool played_evaluate(const struct where_bound *bound, const struct ctf_item *item,
		struct filter_value *value)
{
	size_t which = (size_t)((uintptr_t)bound - (uintptr_t)the_bound);

	(void)item;
	*value = (struct filter_value){.kind = value_kind, .u = 1000 + which};
	return has_value[which];
}

static const struct analysis_listener *symbols_listener;

static struct symbols *played_symbols(bool debuginfod, const struct analysis_listener *listener)
{
	called("symbols %d;", debuginfod);
	symbols_listener = listener;
	return no_symbols ? NULL : the_symbols;
}

static int played_symbols_read(struct symbols *symbols, const char *dir)
{
	assert_ptr_equal(symbols, the_symbols);
	called("read %s;", dir);
	return symbols_read;
}

static void played_symbols_free(struct symbols *symbols)
{
	called("forget %d;", symbols == the_symbols);
}

static const struct symbol *played_find(struct symbols *symbols, uint32_t trace, int64_t ns,
		uint64_t address, bool is_return)
{
	assert_ptr_equal(symbols, the_symbols);
	called("find %u %lld %llu %d;", trace, (long long)ns, (unsigned long long)address,
			is_return);
	return NULL;
}

#define where_parse played_parse
#define where_free played_where_free
#define where_bind played_bind
#define where_form(...) played_form(__VA_ARGS__)
#define where_bound_free played_unbind
#define where_evaluate played_evaluate
#define trace_symbols_start played_symbols
#define trace_symbols_read played_symbols_read
#define symbols_free played_symbols_free
#define symbols_find played_find
#include "analysis/report-caller.c"
#undef where_form
#include "analysis/address.c"

static void test_address(void **unused)
{
	const struct address of_call = {ADDRESS_RETURN, 3, 5, 7},
			     of_probe = {ADDRESS_EXACT, 4, 6, 8};

	(void)unused;
	address_symbol(the_symbols, &of_call);
	address_symbol(the_symbols, &of_probe);
	assert_called("find 3 5 7 1;find 4 6 8 0;");
	assert_int_equal(address_kind_of_name("ip"), ADDRESS_RETURN);
	assert_int_equal(address_kind_of_name("caller"), ADDRESS_RETURN);
	assert_int_equal(address_kind_of_name("callers"), ADDRESS_NONE);
	assert_int_equal(address_kind_of_attribute("call", false), ADDRESS_RETURN);
	assert_int_equal(address_kind_of_attribute("x", true), ADDRESS_EXACT);
	assert_int_equal(address_kind_of_attribute("x", false), ADDRESS_NONE);
}

#define PARSE "parse callers caller;parse callers backtrace[0];parse callers $ctx.ip;"

static void test_callers_start(void **unused)
{
	struct report_options options = {.debuginfod = true};
	struct report report = {.options = &options,
			.by = BY_VALUE,
			.walk.options.listener = command_listener(NULL)};
	struct error error;

	(void)unused;
	assert_int_equal(report_callers_start(&report, &error), 0);
	assert_called("symbols 1;");
	assert_ptr_equal(report.symbols, the_symbols);
	assert_ptr_equal(symbols_listener, &report.walk.options.listener);
	begin_output();
	symbols_listener->report(symbols_listener->user, ANALYSIS_NOTE, NULL, "100 % done");
	assert_output("side: 100 % done\n");
	report.by = BY_CPU;
	report.symbols = NULL;
	assert_int_equal(report_callers_start(&report, &error), 0);
	assert_called("");
	options = (struct report_options){.callers = 1};
	assert_int_equal(report_callers_start(&report, &error), 0);
	assert_called(PARSE "symbols 0;");
	report_callers_free(&report);
	assert_called("free caller;free backtrace[0];free $ctx.ip;forget 1;");
	no_symbols = true;
	assert_int_equal(report_callers_start(&report, &error), -ENOMEM);
	assert_string_equal(error.text, "out of memory");
	assert_called(PARSE "symbols 0;");
	no_symbols = false;
	parse_result = 43;
	assert_int_equal(report_callers_start(&report, &error), 43);
	assert_called("parse callers caller;");
	parse_result = 0;
}

static void test_callers_bound(void **unused)
{
	struct report_options options = {.callers = 1};
	struct report report = {.options = &options};
	struct view_event probe = {.ip = ADDRESS_EXACT}, call = {.ip = ADDRESS_RETURN};
	struct report_class *own = calloc(1, sizeof(*own));
	const struct ctf_item item = {.kind = CTF_ITEM_EVENT};

	(void)unused;
	assert_non_null(own);
	for (unsigned int i = 0; i < CALLER_SOURCES; i++)
		report.caller_sources[i].text = sources[i];
	form_address = ADDRESS_EXACT;
	assert_int_equal(report_callers_bind(&report, own, &item, &call), 0);
	assert_called("bind caller;bind backtrace[0];bind $ctx.ip;");
	assert_false(report.any_probe);
	assert_int_equal(own->caller_kinds[CALLER_FIELD], ADDRESS_EXACT);
	assert_int_equal(own->caller_kinds[CALLER_FRAME], ADDRESS_RETURN);
	assert_int_equal(own->caller_kinds[CALLER_IP], ADDRESS_RETURN);
	report_callers_unbind(own);
	assert_called("unbind 1;unbind 1;unbind 1;");
	assert_int_equal(report_callers_bind(&report, own, &item, &probe), 0);
	assert_true(report.any_probe);
	assert_int_equal(report_callers_bind(&report, own, &item, NULL), 0);
	assert_true(report.any_probe);
	*calls = '\0';
	bind_result = -ENOMEM;
	assert_int_equal(report_callers_bind(&report, own, &item, &call), -ENOMEM);
	assert_called("bind caller;");
	bind_result = 0;
	options.callers = 0;
	assert_int_equal(report_callers_bind(&report, own, &item, &call), 0);
	assert_called("");
	free(own);
}

static void test_callers_taken(void **unused)
{
	struct report_options options = {.callers = 1};
	struct report report = {.options = &options};
	struct report_class *own = calloc(1, sizeof(*own));
	struct ctf_item item = {.kind = CTF_ITEM_EVENT, .trace = &traces[2], .ns = 99};

	(void)unused;
	assert_non_null(own);
	own->caller_kinds[0] = own->caller_kinds[2] = ADDRESS_RETURN;
	own->caller_kinds[1] = ADDRESS_EXACT;
	/* No context has a value. */
	assert_int_equal(report_take_caller(&report, own, &item, 5), 0);
	for (size_t i = 0; i < CALLER_SOURCES; i++)
		own->callers[i] = (struct where_bound *)((uintptr_t)the_bound + i);
	value_kind = FILTER_INT;
	assert_int_equal(report_take_caller(&report, own, &item, 5), 0);
	assert_int_equal(report.caller_events, 0);
	/* The first one that has a number. */
	has_value[1] = has_value[2] = true;
	value_kind = FILTER_STRING;
	assert_int_equal(report_take_caller(&report, own, &item, 5), 0);
	assert_int_equal(report.caller_events, 0);
	value_kind = FILTER_INT;
	assert_int_equal(report_take_caller(&report, own, &item, 5), 0);
	item.ns = 100;
	assert_int_equal(report_take_caller(&report, own, &item, 5), 0);
	assert_int_equal(report.caller_keys.count, 1);
	/* Other processes, traces, kinds and addresses are other callers. */
	assert_int_equal(report_take_caller(&report, own, &item, 6), 0);
	item.trace = &traces[1];
	assert_int_equal(report_take_caller(&report, own, &item, 6), 0);
	own->caller_kinds[1] = ADDRESS_RETURN;
	assert_int_equal(report_take_caller(&report, own, &item, 6), 0);
	has_value[1] = false;
	assert_int_equal(report_take_caller(&report, own, &item, 6), 0);
	assert_int_equal(report.caller_keys.count, 5);
	assert_int_equal(report.caller_events, 6);
	assert_int_equal(report.exact_events, 4);
	for (size_t i = 0; i < 5; i++)
		called("%d %u: %d %u %d %d;", (int)report.callers[i].count,
				report.callers[i].process, (int)report.callers[i].address.kind,
				report.callers[i].address.trace, (int)report.callers[i].address.ns,
				(int)report.callers[i].address.address);
	assert_called("2 5: 1 2 99 1001;1 6: 1 2 100 1001;1 6: 1 1 100 1001;1 6: 2 1 100 1001;1 6: 2 1 100 1002;");
	/* At most the limit. */
	report.caller_keys.limit = 5;
	assert_int_equal(report_take_caller(&report, own, &item, 7), 0);
	assert_int_equal(report.caller_keys.count, 5);
	assert_int_equal(report.caller_events, 7);
	keys_free(&report.caller_keys);
	free(report.callers);
	free(own);
}

static void test_callers_printed(void **unused)
{
	struct report_options options = {.callers = 1};
	struct report report = {.options = &options,
			.symbols = the_symbols,
			.walk = {.options.dir = "dir"}};
	struct symbol symbol = {
			.module = "libc.so", .offset = 0x1234, .function = "read", .inside = 0x56};
	const size_t few = 6;
	char text[64] = "none";

	(void)unused;
	symbols_read = -ENOMEM;
	assert_int_equal(report_symbols_read(&report), -ENOMEM);
	options.callers = 0;
	report.any_address_group = true;
	assert_int_equal(report_symbols_read(&report), -ENOMEM);
	assert_called("read dir;read dir;");
	report.any_address_group = false;
	assert_int_equal(report_symbols_read(&report), 0);
	assert_called("");
	assert_true(report_symbol_text(&symbol, text, sizeof(text)));
	assert_string_equal(text, "read+0x56 (libc.so)");
	symbol.function = NULL;
	assert_true(report_symbol_text(&symbol, text, sizeof(text)));
	assert_string_equal(text, "libc.so+0x1234");
	assert_true(report_symbol_text(&symbol, text, *(const volatile size_t *)&few));
	assert_string_equal(text, "libc.");
	symbol.module = NULL;
	assert_false(report_symbol_text(&symbol, text, sizeof(text)));
	assert_string_equal(text, "libc.");
	/* Notes. */
	begin_output();
	report.walk.nr_events = 1;
	report_callers_note(&report);
	options.callers = 1;
	report.walk.nr_events = 0;
	report_callers_note(&report);
	report.walk.nr_events = report.caller_events = 1;
	report_callers_note(&report);
	assert_output("");
	begin_output();
	report.exact_events = 1;
	report_callers_note(&report);
	assert_output("side: the table has the locations of probes, not their callers\nhint: record callers with `side trace --context backtrace`\n");
	report.exact_events = report.caller_events = 0;
	begin_output();
	report_callers_note(&report);
	assert_output("side: no event has its caller\nhint: record with `--context ip`, or `-w libc`\n");
	report.any_probe = true;
	begin_output();
	report_callers_note(&report);
	assert_output("side: no event has its caller\nhint: record with `side trace --context backtrace`\n");
}

/* ---- calls of functions ---- */

static struct calls_stats report_count_get_stats(uint64_t number)
{
	return (struct calls_stats){.calls = number,
			.timed = 4,
			.total_ns = number * 1000,
			.self_ns = number * 10,
			.min_ns = number,
			.max_ns = number * 100,
			.sum_ns = number * 200};
}

static void assert_text(struct report_text_writer *text, const char *expected)
{
	called("%.*s", (int)view_out_size(&text->out), text->out.begin);
	text->out.at = text->out.begin;
	assert_called(expected);
}

static void test_tables(void **unused)
{
	struct report_options options = {.rows = 10};
	struct report report = {.options = &options};
	struct report_text_writer text = {.report = &report};
	struct calls_stats stats[3] = {
			report_count_get_stats(7), report_count_get_stats(9), {.calls = 3}};
	struct calls_branch branches[4] = {
			{.parent = KEYS_NONE, .function = 1, .stats = report_count_get_stats(5)},
			{.parent = 0, .depth = 1, .stats = report_count_get_stats(2)},
			{.parent = 1, .function = 2, .depth = 40, .stats = {.calls = 1}},
			{.parent = 2, .function = 1, .depth = 41, .stats = {.calls = 8}}};
	char expected[1000];

	(void)unused;
	/* Nothing. */
	assert_int_equal(text_print_calls(&text), 0);
	assert_int_equal(text_print_tree(&text), 0);
	assert_text(&text, "");
	keys_add(&report.calls.functions, "seven", 5);
	keys_add(&report.calls.functions, "nine", 4);
	keys_add(&report.calls.functions, "untimed", 7);
	keys_add(&report.calls.branch_keys, "0", 1);
	keys_add(&report.calls.branch_keys, "1", 1);
	keys_add(&report.calls.branch_keys, "2", 1);
	keys_add(&report.calls.branch_keys, "3", 1);
	report.calls.stats = stats;
	report.calls.branches = branches;
	assert_int_equal(text_print_calls(&text), 0);
	assert_text(&text,
			"   TOTAL   SELF  CALLS   MIN    MEAN     MAX  FUNCTION\n"
			"9.000 us  90 ns      9  9 ns  450 ns  900 ns  nine\n"
			"7.000 us  70 ns      7  7 ns  350 ns  700 ns  seven\n"
			"       -      -      3     -       -       -  untimed\n");
	/* Below it an empty line. 40 levels are indented. */
	assert_int_equal(text_print_tree(&text), 0);
	snprintf(expected, sizeof(expected),
			"\n   TOTAL   SELF  CALLS   MIN    MEAN     MAX  FUNCTION\n"
			"5.000 us  50 ns      5  5 ns  250 ns  500 ns  nine\n"
			"2.000 us  20 ns      2  2 ns  100 ns  200 ns    seven\n"
			"       -      -      1     -       -       -  %80suntimed\n"
			"       -      -      8     -       -       -  %80s[41] nine\n",
			"", "");
	assert_text(&text, expected);
	options.rows = 1;
	assert_int_equal(text_print_calls(&text), 0);
	assert_text(&text,
			"\n   TOTAL   SELF  CALLS   MIN    MEAN     MAX  FUNCTION\n"
			"9.000 us  90 ns      9  9 ns  450 ns  900 ns  nine\n… and 2 more\n");
	failing_arm(1);
	assert_int_equal(text_print_calls(&text), -ENOMEM);
	assert_true(failing_has_failed());
	failing_arm(1);
	assert_int_equal(text_print_tree(&text), -ENOMEM);
	assert_true(failing_has_failed());
	assert_text(&text, "");
	keys_free(&report.calls.functions);
	keys_free(&report.calls.branch_keys);
	view_out_free(&text.out);
}

/* ---- filters ---- */

side_static_event(ev_rows, "p", "rows", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("rows"), side_field_u32("columns")));
side_static_event(ev_other, "p", "other", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("x")));

static void test_fit(void **unused)
{
	struct filter_fit fit;

	(void)unused;
	assert_false(filter_fit_begin(&fit, "rows =="));
	assert_null(fit.program);
	filter_fit_event(&fit, &ev_rows);
	assert_int_equal(fit.nr_events, 1);
	assert_false(fit.fits);
	assert_string_equal(fit.reason, "");
	filter_fit_end(&fit);
	assert_true(filter_fit_begin(&fit, "rowz == 1"));
	assert_int_equal(fit.nr_events, 0);
	filter_fit_event(&fit, &ev_other);
	assert_string_equal(fit.reason, "the event has no field \"rowz\"");
	assert_string_equal(fit.hint, "");
	/* The reason with a suggestion stays. */
	filter_fit_event(&fit, &ev_rows);
	assert_string_equal(fit.reason, "the event has no field \"rowz\"");
	assert_string_equal(fit.hint, "did you mean `rows`?");
	filter_fit_event(&fit, &ev_other);
	assert_string_equal(fit.hint, "did you mean `rows`?");
	assert_int_equal(fit.nr_events, 3);
	assert_false(fit.fits);
	filter_fit_end(&fit);
	assert_null(fit.program);
	assert_true(filter_fit_begin(&fit, "rows == 1 && $ctx.vtid == 2"));
	filter_fit_event(&fit, &ev_rows);
	assert_true(fit.fits);
	filter_fit_event(&fit, &ev_other);
	assert_true(fit.fits);
	assert_string_equal(fit.reason, "");
	assert_int_equal(fit.nr_events, 2);
	filter_fit_end(&fit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_gaps),
			cmocka_unit_test(test_many_gaps),
			cmocka_unit_test(test_address),
			cmocka_unit_test(test_callers_start),
			cmocka_unit_test(test_callers_bound),
			cmocka_unit_test(test_callers_taken),
			cmocka_unit_test(test_callers_printed),
			cmocka_unit_test(test_tables),
			cmocka_unit_test(test_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
