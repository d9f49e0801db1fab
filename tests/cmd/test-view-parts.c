/* SPDX-License-Identifier: MIT */
/*
 * The output of values in `side view` and `side export`, each part alone, with exact texts:
 * numbers, floats, labels, bitmaps, arguments of system calls, expressions over records, and the
 * progress line on a terminal.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/side/attach/attach.h"
#include "export/export.h"
#include "programs/common/command.h"
#include "programs/common/progress.h"
#include "analysis/view-syscall.h"
#include "protocol/pattern.h"

static struct view_out out;

static struct view_sink sink_of(bool json)
{
	out.at = out.begin;
	return (struct view_sink){.ops = json ? &view_json_ops : &view_text_ops, .out = &out};
}

static void written(const char *text)
{
	view_out_char(&out, '\0');
	assert_string_equal(out.begin, text);
	out.at = out.begin;
}

static int free_out(void **unused)
{
	(void)unused;
	view_out_free(&out);
	return 0;
}

/* ---- numbers ---- */

static void test_integers(void **unused)
{
	static const struct {
		uint64_t number;
		bool is_signed;
		unsigned int bits, base;
		const char *text, *json;
	} numbers[] = {
			{0, false, 8, 10, "0", "0"},
			{200, false, 8, 16, "0xc8", "200"},
			{UINT64_MAX, true, 8, 16, "0xff", "-1"},
			{UINT64_MAX, true, 63, 16, "0x7fffffffffffffff", "-1"},
			{UINT64_MAX, true, 64, 16, "0xffffffffffffffff", "-1"},
			{(uint64_t)INT64_MIN, true, 64, 10, "-9223372036854775808",
					"-9223372036854775808"},
			{UINT64_MAX, false, 64, 10, "18446744073709551615", "18446744073709551615"},
			{8, false, 8, 8, "0o10", "8"},
			{5, false, 8, 2, "0b00000101", "5"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		for (int json = 0; json < 2; json++) {
			struct view_sink sink = sink_of(json);

			view_put_integer(&sink, numbers[i].number, numbers[i].is_signed,
					numbers[i].bits, numbers[i].base);
			written(json ? numbers[i].json : numbers[i].text);
		}
	}
}

static void real_is(double number, uint8_t bits, const char *text)
{
	const struct ctf_type type = {.kind = CTF_FLOAT, .size = bits};
	const struct ctf_value value = {.type = &type, .f = number};
	const struct visit_value shown = view_number_of(&value);
	char digits[VISIT_FLOAT_DIGITS_MAX];
	size_t size = view_real_digits(&shown, digits);

	digits[size] = '\0';
	assert_string_equal(digits, text);
}

static void test_reals(void **unused)
{
	(void)unused;
	real_is(0.5, 64, "0.5");
	real_is(-0.5, 64, "-0.5");
	real_is(1, 64, "1");
	real_is(123456.75, 64, "123456.75");
	real_is(0.0001, 64, "0.0001");
	real_is(0.1, 64, "0.1");
	real_is(0.000099, 64, "9.9e-05");
	real_is(0.123456789, 64, "0.123456789");
	real_is(0.1234567891, 64, "0.1234567891");
	real_is(999999999999999, 64, "999999999999999");
	real_is(1e15, 64, "1e+15");
	real_is(1.0 / 3, 64, "0.3333333333333333");
	real_is(0.1 + 0.2, 64, "0.30000000000000004");
	real_is((double)0.1f, 32, "0.1");
	real_is((double)16777216.0f, 32, "16777216");
	real_is((double)3.4028235e38f, 32, "3.4028235e+38");
}

static void test_number_sizes(void **unused)
{
	static const struct {
		uint8_t bits;
		uint16_t bytes;
	} sizes[] = {{1, 1}, {8, 1}, {9, 2}, {16, 2}, {17, 4}, {32, 4}, {33, 8}, {64, 8}};

	(void)unused;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct ctf_type type = {
				.kind = CTF_INTEGER, .size = sizes[i].bits, .is_signed = true};
		struct ctf_value value = {.type = &type, .s = -1};

		assert_int_equal(view_number_of(&value).size, sizes[i].bytes);
		assert_int_equal(view_number_of(&value).bits, sizes[i].bits);
		assert_int_equal(view_number_of(&value).hi, UINT64_MAX);
		value.s = 0;
		assert_int_equal(view_number_of(&value).hi, 0);
	}
}

/* ---- labels ---- */

static struct view_show integer_show = {.kind = VIEW_SHOW_INTEGER, .base = 10, .plain = true};

static bool has_label(enum view_show_kind kind, uint64_t number, uint64_t begin, uint64_t end)
{
	const struct ctf_type type = {
			.kind = CTF_INTEGER, .size = 16, .is_signed = kind == VIEW_SHOW_ENUM};
	const struct ctf_value value = {.type = &type, .u = number, .span = 1};
	const struct view_show show = {.kind = kind, .element = &integer_show};
	const struct view_label label = {.text = "x", .begin = begin, .end = end};

	return view_label_matches(&show, &value, &label);
}

static void test_labels(void **unused)
{
	(void)unused;
	assert_true(has_label(VIEW_SHOW_ENUM, 5, 5, 7));
	assert_true(has_label(VIEW_SHOW_ENUM, 7, 5, 7));
	assert_false(has_label(VIEW_SHOW_ENUM, 4, 5, 7));
	assert_false(has_label(VIEW_SHOW_ENUM, 8, 5, 7));
	assert_true(has_label(VIEW_SHOW_ENUM, UINT64_MAX, (uint64_t)-2, 0));
	assert_true(has_label(VIEW_SHOW_BITMAP, 0x10, 4, 4));
	assert_false(has_label(VIEW_SHOW_BITMAP, 0x10, 3, 3));
	assert_false(has_label(VIEW_SHOW_BITMAP, 0x10, 5, 5));
	assert_true(has_label(VIEW_SHOW_BITMAP, 0x10, 0, 4));
	assert_true(has_label(VIEW_SHOW_BITMAP, 0x10, 4, 15));
	assert_false(has_label(VIEW_SHOW_BITMAP, 0x10, 4, 3));
	assert_true(has_label(VIEW_SHOW_BITMAP, 0x8000, 15, 15));
	assert_true(has_label(VIEW_SHOW_BITMAP, 0x8000, 15, 99));
	assert_false(has_label(VIEW_SHOW_BITMAP, 0xffff, 16, 99));
}

/* A bitmap of three items of 8 bits: bits 8 to 15 are those of the second. */
static void test_bitmaps_of_lists(void **unused)
{
	struct ctf_type item = {.kind = CTF_INTEGER, .size = 8},
			list = {.kind = CTF_ARRAY, .length = 3, .element = &item};
	const struct ctf_value values[] = {{.type = &list, .count = 3, .span = 4},
			{.type = &item, .u = 0x01, .span = 1},
			{.type = &item, .u = 0x82, .span = 1},
			{.type = &item, .u = 0x40, .span = 1}};
	struct view_show element = {.kind = VIEW_SHOW_LIST, .element = &integer_show};
	const struct view_show show = {.kind = VIEW_SHOW_BITMAP, .element = &element};

	(void)unused;
	for (uint64_t bit = 0; bit < 26; bit++) {
		const struct view_label label = {.text = "x", .begin = bit, .end = bit};

		assert_int_equal(view_label_matches(&show, values, &label),
				bit == 0 || bit == 9 || bit == 15 || bit == 22);
	}
	assert_true(view_label_matches(
			&show, values, &(const struct view_label){.begin = 10, .end = 15}));
	assert_false(view_label_matches(
			&show, values, &(const struct view_label){.begin = 10, .end = 14}));
	assert_true(view_label_matches(
			&show, values, &(const struct view_label){.begin = 16, .end = UINT64_MAX}));
	assert_false(view_label_matches(
			&show, values, &(const struct view_label){.begin = 23, .end = UINT64_MAX}));
}

/* ---- plain values ---- */

static void test_plain_values(void **unused)
{
	static struct ctf_label labels[] = {{"idle", 0, 0}, {"busy", 1, 3}, {"all", 0, 9}};
	static struct ctf_type byte = {.kind = CTF_INTEGER, .size = 8, .base = 16},
			       state = {.kind = CTF_ENUM,
					       .size = 8,
					       .base = 10,
					       .labels = labels,
					       .label_count = 3},
			       truth = {.kind = CTF_ENUM, .size = 8, .boolean = true},
			       real = {.kind = CTF_FLOAT, .size = 64}, text = {.kind = CTF_STRING},
			       list = {.kind = CTF_ARRAY, .length = 2, .element = &byte},
			       none = {.kind = CTF_STRUCT},
			       maybe = {.kind = CTF_VARIANT, .optional = true};
	static struct ctf_member options[] = {{.name = "none", .type = &none},
			{.name = "some", .type = &byte}},
				 members[] = {{.name = "_size", .type = &byte},
						 {.name = "__opt_tag", .type = &state},
						 {.name = "_opt", .type = &maybe},
						 {.name = "state", .type = &state},
						 {.name = "_ok", .type = &truth},
						 {.name = "_f", .type = &real},
						 {.name = "_s", .type = &text},
						 {.name = "_l", .type = &list}};
	static struct ctf_type structure = {
			.kind = CTF_STRUCT, .members = members, .member_count = 8};
	struct ctf_value values[] = {{.type = &structure, .count = 8, .span = 12},
			{.type = &byte, .member = &members[0], .u = 200, .span = 1},
			{.type = &state, .member = &members[1], .u = 0, .span = 1},
			{.type = &maybe, .member = &members[2], .count = 1, .span = 2},
			{.type = &none, .member = &options[0], .span = 1},
			{.type = &state, .member = &members[3], .u = 2, .span = 1},
			{.type = &truth, .member = &members[4], .u = 1, .span = 1},
			{.type = &real, .member = &members[5], .f = 2.5, .span = 1},
			{.type = &text,
					.member = &members[6],
					.text = "a\"\n",
					.size = 3,
					.is_text = true,
					.span = 1},
			{.type = &list, .member = &members[7], .count = 2, .span = 3},
			{.type = &byte, .u = 7, .span = 1}, {.type = &byte, .u = 8, .span = 1}};
	struct view_sink sink = sink_of(true);

	(void)unused;
	maybe.members = options;
	maybe.member_count = 2;
	assert_false(view_is_tag(&structure, 0));
	assert_true(view_is_tag(&structure, 1));
	assert_false(view_is_tag(&structure, 2));
	assert_false(view_is_tag(&structure, 7));
	view_plain_value(&sink, values);
	written("{\"size\":200,\"opt\":null,\"state\":{\"labels\":[\"busy\",\"all\"],\"value\":2},\"ok\":true,\"f\":2.5,\"s\":\"a\\\"\\u000a\",\"l\":[7,8]}");
	values[4] = (struct ctf_value){.type = &byte, .member = &options[1], .u = 9, .span = 1};
	values[6].u = 0;
	sink = sink_of(false);
	view_plain_value(&sink, values);
	written("{ size = 0xc8, opt = 0x9, state = \"busy\" | \"all\" (2), ok = false, f = 2.5, s = \"a\\\"\\n\", l = [ 0x7, 0x8 ] }");
}

/* Colored text ends with the code that resets the color. */
static void test_colours(void **unused)
{
	static const struct ctf_type text = {.kind = CTF_STRING},
				     number = {.kind = CTF_INTEGER, .size = 8, .base = 10};
	const struct ctf_value values[] = {
			{.type = &text, .text = "ab", .size = 2, .is_text = true, .span = 1},
			{.type = &number, .u = 7, .span = 1}};
	struct view_sink sink = sink_of(false);
	char wanted[128];

	(void)unused;
	sink.ops = &view_colour_ops;
	assert_true(view_colour_ops.text_begin.size && view_colour_ops.text_end.size);
	assert_true(view_colour_ops.number_begin.size && view_colour_ops.number_end.size);
	view_plain_value(&sink, &values[0]);
	view_plain_value(&sink, &values[1]);
	snprintf(wanted, sizeof(wanted), "%s\"ab\"%s%s7%s", view_colour_ops.text_begin.text,
			view_colour_ops.text_end.text, view_colour_ops.number_begin.text,
			view_colour_ops.number_end.text);
	written(wanted);
}

/* ---- system calls ---- */

static void note_is(const char *event, const char *name, uint64_t number, const char *note)
{
	const struct ctf_type type = {.kind = CTF_INTEGER, .size = 64};
	const struct ctf_member member = {.name = name};
	const struct ctf_value value = {.type = &type, .member = &member, .u = number};
	struct view_sink sink = sink_of(false);

	sink.call = view_call_of(event);
	view_call_note(&sink, &value);
	written(note);
}

static void test_system_calls(void **unused)
{
	(void)unused;
	assert_int_equal(view_call_of("syscalls:sys_exit_read"), VIEW_CALL_EXIT);
	assert_int_equal(view_call_of("raw_syscalls:sys_exit"), VIEW_CALL_EXIT);
	assert_int_equal(view_call_of("raw_syscalls:sys_enter"), VIEW_CALL_NONE);
	assert_int_equal(view_call_of("syscalls:sys_enter_openat"), VIEW_CALL_OPEN);
	assert_int_equal(view_call_of("syscalls:sys_enter_read"), VIEW_CALL_ENTER);
	assert_int_equal(view_call_of("sched:x"), VIEW_CALL_NONE);
	note_is("syscalls:sys_exit_read", "_ret", (uint64_t)-2, " (ENOENT)");
	note_is("syscalls:sys_exit_read", "ret", (uint64_t)-1, " (EPERM)");
	note_is("syscalls:sys_exit_read", "ret", (uint64_t)-133, " (EHWPOISON)");
	note_is("syscalls:sys_exit_read", "ret", (uint64_t)-4095, "");
	note_is("syscalls:sys_exit_read", "ret", 2, "");
	note_is("syscalls:sys_exit_read", "_return", (uint64_t)-2, "");
	note_is("syscalls:sys_enter_openat", "dfd", 0xffffff9c, " (AT_FDCWD)");
	note_is("syscalls:sys_enter_read", "fd", 0xffffffff, " (-1)");
	note_is("syscalls:sys_enter_read", "fd", 0, "");
	note_is("syscalls:sys_enter_read", "d", 0xffffffff, "");
	note_is("syscalls:sys_enter_openat", "flags", 0, " (O_RDONLY)");
	note_is("syscalls:sys_enter_openat", "flags", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			" (O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC)");
	note_is("syscalls:sys_enter_openat", "flags", O_RDWR | 0100000 | O_SYNC,
			" (O_RDWR|O_SYNC)");
	note_is("syscalls:sys_enter_openat", "flags", O_DSYNC | 0x40000000,
			" (O_RDONLY|O_DSYNC|0x40000000)");
	note_is("syscalls:sys_enter_openat", "flags", 3, "");
	note_is("syscalls:sys_enter_read", "flags", 1, "");
	note_is("syscalls:sys_enter_mkdir", "mode", 0755, " (0755)");
	note_is("syscalls:sys_enter_mkdir", "mode", 8, " (010)");
	note_is("syscalls:sys_enter_mkdir", "mode", 7, "");
}

/* ---- expressions over records ---- */

static struct ctf_type number_type = {.kind = CTF_INTEGER, .size = 32, .base = 10},
		       hex_type = {.kind = CTF_INTEGER, .size = 64, .base = 16},
		       text_type = {.kind = CTF_STRING},
		       list_type = {.kind = CTF_ARRAY, .length = 3, .element = &number_type};
static struct ctf_member inner_members[] = {
		{.name = "_a", .type = &number_type}, {.name = "b", .type = &text_type}};
static struct ctf_type inner_type = {
		.kind = CTF_STRUCT, .members = inner_members, .member_count = 2};
static struct ctf_member field_members[] = {{.name = "_size", .type = &number_type},
		{.name = "inner", .type = &inner_type}, {.name = "_list", .type = &list_type},
		{.name = "ip", .type = &hex_type}};
static struct ctf_type field_type = {
		.kind = CTF_STRUCT, .members = field_members, .member_count = 4};

static void evaluates(const struct ctf_item *item, const char *expression, const char *wanted)
{
	struct where_bound *bound = NULL;
	struct filter_value value;
	struct where_reason why;
	struct where where;
	char got[160];

	assert_int_equal(where_parse("by", expression, &where, NULL), 0);
	assert_int_equal(where_bind(&where, item, NULL, &bound, &why), 0);
	if (!bound)
		snprintf(got, sizeof(got), "missing %s", why.missing);
	else if (!where_evaluate(bound, item, &value))
		snprintf(got, sizeof(got), "none");
	else if (value.kind == FILTER_STRING)
		snprintf(got, sizeof(got), "%.*s",
				value.size == FILTER_TERMINATED ? 99 : (int)value.size,
				(const char *)value.text);
	else
		snprintf(got, sizeof(got), "%" PRId64 " base %u address %u", value.s,
				where_form(&where, bound, item, NULL).base,
				where_form(&where, bound, item, NULL).address);
	assert_string_equal(got, wanted);
	where_bound_free(bound);
	where_free(&where);
}

static void test_expressions(void **unused)
{
	static const struct ctf_value fields[] = {{.type = &field_type, .count = 4, .span = 10},
			{.type = &number_type, .member = &field_members[0], .u = 11, .span = 1},
			{.type = &inner_type, .member = &field_members[1], .count = 2, .span = 3},
			{.type = &number_type, .member = &inner_members[0], .u = 12, .span = 1},
			{.type = &text_type,
					.member = &inner_members[1],
					.text = "thirteen",
					.size = 4,
					.is_text = true,
					.span = 1},
			{.type = &list_type, .member = &field_members[2], .count = 3, .span = 4},
			{.type = &number_type, .u = 14, .span = 1},
			{.type = &number_type, .u = 15, .span = 1},
			{.type = &number_type, .u = 16, .span = 1},
			{.type = &hex_type, .member = &field_members[3], .u = 17, .span = 1}};
	static struct ctf_member context_members[] = {{.name = "_vtid", .type = &number_type},
			{.name = "_ip", .type = &hex_type}};
	static struct ctf_type context_type = {
			.kind = CTF_STRUCT, .members = context_members, .member_count = 2};
	static const struct ctf_value context[] = {{.type = &context_type, .count = 2, .span = 3},
			{.type = &number_type, .member = &context_members[0], .u = 18, .span = 1},
			{.type = &hex_type, .member = &context_members[1], .u = 19, .span = 1}};
	struct ctf_trace trace = {.vpid = 20, .procname = "own"};
	struct ctf_stream_info stream = {.cpu = 21};
	const struct ctf_item item = {.trace = &trace,
			.stream = &stream,
			.fields = fields,
			.common_context = context};

	(void)unused;
	evaluates(&item, "size", "11 base 10 address 0");
	evaluates(&item, "_size", "11 base 10 address 0");
	evaluates(&item, "sizes", "missing sizes");
	evaluates(&item, "inner.a", "12 base 10 address 0");
	evaluates(&item, "inner.b", "thir");
	evaluates(&item, "inner.c", "missing inner.c");
	evaluates(&item, "size.a", "missing size.a");
	evaluates(&item, "list[0]", "14 base 10 address 0");
	evaluates(&item, "list[2]", "16 base 10 address 0");
	evaluates(&item, "list[3]", "none");
	evaluates(&item, "inner[0]", "missing inner");
	evaluates(&item, "ip", "17 base 16 address 2");
	evaluates(&item, "ip + 1", "18 base 10 address 0");
	evaluates(&item, "$ctx.vtid", "18 base 10 address 0");
	evaluates(&item, "$ctx.ip", "19 base 16 address 2");
	evaluates(&item, "$ctx.vpid", "20 base 10 address 0");
	evaluates(&item, "$ctx.procname", "own");
	evaluates(&item, "$ctx.cpu_id", "21 base 10 address 0");
	evaluates(&item, "$ctx.nothing", "missing $ctx.nothing");
	stream.cpu = 0;
	evaluates(&item, "$ctx.cpu_id", "0 base 10 address 0");
	stream.cpu = -1;
	evaluates(&item, "$ctx.cpu_id", "none");
	trace.vpid = 0;
	evaluates(&item, "$ctx.vpid", "0 base 10 address 0");
	trace.vpid = -1;
	trace.procname = NULL;
	evaluates(&item, "$ctx.vpid", "missing $ctx.vpid");
	evaluates(&item, "$ctx.procname", "missing $ctx.procname");
}

/* The debug levels of LTTng, 7 to 14, are one. */
static void test_levels_of_patterns(void **unused)
{
	struct pattern warning, provider;
	struct pattern_error error;

	(void)unused;
	assert_int_equal(pattern_parse("db:*@warning", &warning, &error), 0);
	assert_int_equal(pattern_parse("db", &provider, &error), 0);
	assert_true(walk_pattern_wants(&warning, 1, "db:x", 4));
	assert_false(walk_pattern_wants(&warning, 1, "db:x", 5));
	assert_false(walk_pattern_wants(&warning, 1, "db:x", -1));
	assert_false(walk_pattern_wants(&warning, 1, "db:x", 14));
	assert_true(walk_pattern_wants(&warning, 1, "db:x", 0));
	assert_true(walk_pattern_wants(&provider, 1, "db:x", -1));
	assert_false(walk_pattern_wants(&provider, 1, "dbx:db", 3));
	assert_false(walk_pattern_wants(&provider, 1, "x", 3));
}

/* ---- exports ---- */

static void test_protocol_buffers(void **unused)
{
	size_t at;

	(void)unused;
	out.at = out.begin;
	proto_number(&out, 1, 127);
	proto_number(&out, 2, 128);
	proto_number(&out, 15, UINT64_MAX);
	proto_text(&out, 16, "ab", 2);
	at = proto_begin(&out, 3);
	proto_double(&out, 4, 1.5);
	proto_end(&out, at);
	assert_int_equal(view_out_size(&out), 2 + 3 + 11 + 8 + 5 + 9);
	assert_memory_equal(out.begin,
			"\x08\x7f\x10\x80\x01\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x82\x01\x82\x80\x80\x00"
			"ab\x1a\x89\x80\x80\x00\x21\x00\x00\x00\x00\x00\x00\xf8\x3f",
			38);
	out.at = out.begin;
	export_put_utf8(&out, "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\x80\xc1\xbf\xed\xa0\x80\xff",
			17);
	written("a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\xc2\x80\xc3\x81\xc2\xbf\xc3\xad\xc2\xa0\xc2\x80\xc3\xbf");
}

static void test_exported_processes(void **unused)
{
	struct identity_process processes[] = {{.name = "a", .pid = 0},
			{.name = "b", .pid = 31, .repeated = true, .hostname = "h"}, {.pid = -1},
			{.pid = 32, .repeated = true}};
	struct export export = {.identity.processes = processes};
	struct ctf_stream_info stream = {.cpu = 3};
	const struct ctf_item item = {.stream = &stream};
	char text[64];

	(void)unused;
	assert_int_equal(export_pid(&export, 0), 0);
	assert_int_equal(export_pid(&export, 1), 10000001);
	assert_int_equal(export_pid(&export, 2), 10000002);
	assert_int_equal(export_tid(&item, 0), 0);
	assert_int_equal(export_tid(&item, -1), 10000003);
	stream.cpu = 0;
	assert_int_equal(export_tid(&item, -1), 10000000);
	stream.cpu = -1;
	assert_int_equal(export_tid(&item, -1), 10999999);
	export_process_name(&export, 0, text, sizeof(text));
	assert_string_equal(text, "a");
	export_process_name(&export, 1, text, sizeof(text));
	assert_string_equal(text, "b:31 on h");
	export_process_name(&export, 2, text, sizeof(text));
	assert_string_equal(text, "?");
	export_process_name(&export, 3, text, sizeof(text));
	assert_string_equal(text, "?:32 on ?");
}

/* ---- a terminal, and descriptors ---- */

static bool is_drawn(int master)
{
	struct pollfd readable = {.fd = master, .events = POLLIN};
	char text[256];

	progress_show("%d events", 7);
	if (poll(&readable, 1, 0) != 1)
		return false;
	assert_int_equal(read(master, text, sizeof(text)), 13);
	assert_memory_equal(text, "\r7 events\033[K\r", 13);
	return true;
}

static void test_progress(void **unused)
{
	const struct common_options options = {.color = COLOR_NEVER}, quiet = {.quiet = true},
				    json = {.json = true}, off = {.no_progress = true};
	int master, slave, saved = dup(STDERR_FILENO);
	struct termios modes, changed;

	(void)unused;
	assert_true(saved >= 0);
	setenv("TERM", "xterm", 1);
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	assert_int_equal(dup2(slave, STDERR_FILENO), STDERR_FILENO);
	progress_start(&quiet);
	progress_start(&json);
	progress_start(&off);
	assert_false(is_drawn(master));
	setenv("TERM", "dumb", 1);
	progress_start(&options);
	assert_false(is_drawn(master));
	setenv("TERM", "xterm", 1);
	progress_start(&options);
	assert_false(progress_is_due());
	assert_true(is_drawn(master));
	assert_int_equal(tcgetattr(slave, &modes), 0);
	changed = modes;
	changed.c_lflag &= ~(tcflag_t)ICANON;
	assert_int_equal(tcsetattr(slave, TCSANOW, &changed), 0);
	assert_false(is_drawn(master));
	changed = modes;
	changed.c_lflag &= ~(tcflag_t)ECHO;
	assert_int_equal(tcsetattr(slave, TCSANOW, &changed), 0);
	assert_false(is_drawn(master));
	assert_int_equal(tcsetattr(slave, TCSANOW, &modes), 0);
	assert_true(is_drawn(master));
	progress_end();
	assert_false(progress_is_due());
	assert_int_equal(read(master, &changed, sizeof(changed)), 4);
	assert_false(is_drawn(master));
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	close(slave);
	close(master);
}

/* Descriptor 0 is a valid descriptor: a command can run without standard input. */
static void test_descriptor_zero(void **unused)
{
	struct attached attached = {.dir = {.parent = -1, .own = -1, .network = -1}};
	int *const fields[] = {&attached.dir.parent, &attached.dir.own, &attached.dir.network};
	int saved = dup(STDIN_FILENO), null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)unused;
	assert_true(null >= 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(dup2(null, STDIN_FILENO), STDIN_FILENO);
		*fields[i] = STDIN_FILENO;
		attach_dir_forget(&attached);
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
		assert_int_equal(*fields[i], -1);
	}
	if (saved >= 0) {
		dup2(saved, STDIN_FILENO);
		close(saved);
	}
	close(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_integers),
			cmocka_unit_test(test_reals),
			cmocka_unit_test(test_number_sizes),
			cmocka_unit_test(test_labels),
			cmocka_unit_test(test_bitmaps_of_lists),
			cmocka_unit_test(test_plain_values),
			cmocka_unit_test(test_colours),
			cmocka_unit_test(test_system_calls),
			cmocka_unit_test(test_expressions),
			cmocka_unit_test(test_levels_of_patterns),
			cmocka_unit_test(test_protocol_buffers),
			cmocka_unit_test(test_exported_processes),
			cmocka_unit_test(test_progress),
			cmocka_unit_test(test_descriptor_zero),
	};

	return cmocka_run_group_tests(tests, NULL, free_out);
}
