/* SPDX-License-Identifier: MIT */
/*
 * Values of kernel events: each type name, dimension and label of a format file, short records,
 * records that point outside, and the names of threads at each time.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"
#include "ctf/ctf.h"
#include "kernel-events/bytes.h"
#include "kernel-events/format.h"
#include "kernel-events/layout.h"
#include "kernel-events/tasks.h"
#include "kernel-events/parts.h"

#define HEAD "name: e\nID: 7\nformat:\n"

static int parse(const char *text, struct format *format)
{
	return kernel_format_parse(text, strlen(text), format);
}

static struct format parsed(const char *text)
{
	struct format format;

	assert_int_equal(parse(text, &format), 0);
	return format;
}

/* ---- types ---- */

struct expected {
	const char *declaration;
	uint32_t size;
	bool is_signed;
	enum format_kind kind, element;
	uint32_t unit, count;
	bool relative;
};

static void check_field(const struct expected *expected)
{
	const struct format_field *field;
	struct format format;
	char text[200];

	(void)snprintf(text, sizeof(text), HEAD "\tfield:%s;\toffset:16;\tsize:%u;\tsigned:%d;\n",
			expected->declaration, expected->size, expected->is_signed);
	format = parsed(text);
	assert_int_equal(format.nr_fields, 1);
	field = &format.fields[0];
	assert_string_equal(field->name, "n");
	assert_int_equal(field->offset, 16);
	assert_int_equal(field->size, expected->size);
	assert_int_equal(field->kind, expected->kind);
	if (field->kind == FORMAT_LOCATION)
		assert_int_equal(field->element, expected->element);
	assert_int_equal(field->unit, expected->unit);
	assert_int_equal(field->count, expected->count);
	assert_int_equal(field->relative, expected->relative);
	assert_int_equal(field->nr_labels, 0);
	kernel_format_free(&format);
}

static void test_fields(void **unused)
{
	static const struct expected fields[] = {
			{"char n", 1, false, FORMAT_INTEGER, 0, 1, 0, false},
			{"unsigned long long n", 8, false, FORMAT_INTEGER, 0, 8, 0, false},
			{"enum x n", 4, true, FORMAT_INTEGER, 0, 4, 0, false},
			{"u32 n", 3, false, FORMAT_BYTES, 0, 1, 3, false},
			{"struct x n", 8, false, FORMAT_BYTES, 0, 1, 8, false},
			{"const struct f64 n", 8, false, FORMAT_FLOAT, 0, 8, 0, false},
			{"struct f64 n", 4, false, FORMAT_BYTES, 0, 1, 4, false},
			{"float n", 4, false, FORMAT_FLOAT, 0, 4, 0, false},
			{"f128 n", 16, false, FORMAT_FLOAT128, 0, 16, 0, false},
			{"u128 n", 16, false, FORMAT_INT128, 0, 16, 0, false},
			{"s128 n", 16, true, FORMAT_INT128, 0, 16, 0, false},
			{"bool n", 1, false, FORMAT_BOOL, 0, 1, 0, false},
			{"void * n", 8, false, FORMAT_POINTER, 0, 8, 0, false},
			{"void *n", 4, false, FORMAT_POINTER, 0, 4, 0, false},
			{"void *n", 3, false, FORMAT_BYTES, 0, 1, 3, false},
			{"char n[5]", 5, false, FORMAT_TEXT, 0, 1, 5, false},
			{"char[5] n", 5, false, FORMAT_TEXT, 0, 1, 5, false},
			{"u16 n[0x3]", 6, false, FORMAT_INTEGER, 0, 2, 3, false},
			{"u16 n[0]", 6, false, FORMAT_INTEGER, 0, 2, 3, false},
			{"u16 n[7]", 6, false, FORMAT_INTEGER, 0, 2, 3, false},
			{"u16 n[]", 5, false, FORMAT_BYTES, 0, 1, 5, false},
			{"what n[2]", 6, false, FORMAT_BYTES, 0, 1, 6, false},
			{"what n[2]", 16, false, FORMAT_INTEGER, 0, 8, 2, false},
			{"cpumask_t n[2]", 2 * sizeof(long), false, FORMAT_INTEGER, 0, sizeof(long),
					2, false},
			{"__data_loc char[] n", 4, false, FORMAT_LOCATION, FORMAT_TEXT, 1, 0,
					false},
			{"__rel_loc char[] n", 4, false, FORMAT_LOCATION, FORMAT_TEXT, 1, 0, true},
			{"__rel_loc u16[] n", 4, false, FORMAT_LOCATION, FORMAT_INTEGER, 2, 0,
					true},
			{"__data_loc f64[] n", 4, false, FORMAT_LOCATION, FORMAT_FLOAT, 8, 0,
					false},
			{"__data_loc what[] n", 4, false, FORMAT_LOCATION, FORMAT_BYTES, 1, 0,
					false},
			{"__data_loc what *[] n", 4, false, FORMAT_LOCATION, FORMAT_INTEGER,
					sizeof(long), 0, false},
			{"__data_loc u64[] n", 8, false, FORMAT_BYTES, FORMAT_INTEGER, 8, 0, false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		check_field(&fields[i]);
}

/* Each type name has a size, also as the element of an array outside of the fixed part. */
static void test_words(void **unused)
{
	static const struct {
		const char *word;
		uint32_t unit;
		bool is_signed;
	} argv[] = {{"unsigned char", 1, false}, {"signed char", 1, true}, {"u8", 1, false},
			{"__u8", 1, false}, {"uint8_t", 1, false}, {"s8", 1, true},
			{"u16", 2, false}, {"__u16", 2, false}, {"unsigned short", 2, false},
			{"s16", 2, true}, {"short", 2, true}, {"u32", 4, false},
			{"__u32", 4, false}, {"uint32_t", 4, false}, {"unsigned int", 4, false},
			{"s32", 4, true}, {"int", 4, true}, {"u64", 8, false}, {"__u64", 8, false},
			{"uint64_t", 8, false}, {"unsigned long", sizeof(long), false},
			{"unsigned long long", 8, false}, {"s64", 8, true},
			{"long", sizeof(long), true}, {"long long", 8, true},
			{"cpumask_t", sizeof(long), false}};

	(void)unused;
	for (size_t i = 0; i < sizeof(argv) / sizeof(argv[0]); i++) {
		struct format format;
		char text[200];

		(void)snprintf(text, sizeof(text),
				HEAD "\tfield:__data_loc %s[] n;\toffset:8;\tsize:4;\tsigned:%d;\n",
				argv[i].word, !argv[i].is_signed);
		format = parsed(text);
		assert_int_equal(format.fields[0].element, FORMAT_INTEGER);
		assert_int_equal(format.fields[0].unit, argv[i].unit);
		assert_int_equal(format.fields[0].is_signed, argv[i].is_signed);
		kernel_format_free(&format);
	}
}

static void refused(const char *text)
{
	struct format format;

	assert_int_equal(parse(text, &format), -EINVAL);
	kernel_format_free(&format);
}

static void test_files(void **unused)
{
	size_t space = 1 << 20, used;
	char *text = malloc(space);
	struct format format;

	(void)unused;
	assert_non_null(text);
	refused("");
	refused("name: e\n");
	refused("ID: 7\n");
	refused("name: e\nID: x\n");
	format = parsed("name: e\nID: 65535\n");
	assert_int_equal(format.id, 65535);
	kernel_format_free(&format);
	refused("name: e\nID: 65536\n");
	refused("name: e\nID: 4294967303\n");
	/* Common fields, fields without a size, and fields after the end of the largest record. */
	format = parsed(HEAD
			"\tfield:int n;\toffset:7;\tsize:1;\n\tfield:int n;\toffset:8;\tsize:0;\n");
	assert_int_equal(format.nr_fields, 0);
	kernel_format_free(&format);
	format = parsed(HEAD "\tfield:int n;\toffset:65535;\tsize:65535;\tsigned:1;\n");
	assert_int_equal(format.nr_fields, 1);
	assert_int_equal(format.fields[0].size, 65535);
	kernel_format_free(&format);
	refused(HEAD "\tfield:int n;\toffset:65536;\tsize:4;\n");
	refused(HEAD "\tfield:int n;\toffset:8;\tsize:65536;\n");
	refused(HEAD "\tfield:int n;\toffset:8;\n");
	refused(HEAD "\tfield:int n;\tsize:8;\n");
	refused(HEAD "\tfield:n;\toffset:8;\tsize:4;\n");
	refused(HEAD "\tfield:int ;\toffset:8;\tsize:4;\n");
	refused(HEAD "\tfield:int n];\toffset:8;\tsize:4;\n");
	/* The number of fields. */
	for (unsigned int nr = FORMAT_FIELDS_MAX; nr <= FORMAT_FIELDS_MAX + 1; nr++) {
		used = (size_t)snprintf(text, space, HEAD);
		for (unsigned int i = 0; i < nr; i++)
			used += (size_t)snprintf(text + used, space - used,
					"\tfield:int n%u;\toffset:8;\tsize:4;\n", i);
		assert_int_equal(parse(text, &format), nr == FORMAT_FIELDS_MAX ? 0 : -EINVAL);
		kernel_format_free(&format);
	}
	free(text);
}

static const char *const header_names[] = {
		"eventheader_flags", "version", "id", "tag", "opcode", "level"};

/* Whether these are the six fields of an EventHeader record; `wrong` has another size. */
static bool is_header(unsigned int nr, unsigned int wrong, const char *first)
{
	static const unsigned int sizes[] = {1, 1, 2, 2, 1, 1, 1};
	unsigned int offset = 8;
	struct format format;
	char text[600];
	int used = snprintf(text, sizeof(text), HEAD);
	bool is;

	for (unsigned int i = 0; i < nr; i++) {
		used += snprintf(text + used, sizeof(text) - (size_t)used,
				"\tfield:u8 %s;\toffset:%u;\tsize:%u;\n",
				!i                      ? first
						: i < 6 ? header_names[i]
							: "more",
				offset, sizes[i] + (i == wrong));
		offset += sizes[i];
	}
	format = parsed(text);
	is = format.event_header;
	kernel_format_free(&format);
	return is;
}

static void test_event_headers(void **unused)
{
	(void)unused;
	assert_true(is_header(6, 9, header_names[0]));
	assert_false(is_header(5, 9, header_names[0]));
	assert_false(is_header(7, 9, header_names[0]));
	assert_false(is_header(6, 9, "flags"));
	for (unsigned int wrong = 0; wrong < 6; wrong++)
		assert_false(is_header(6, wrong, header_names[0]));
}

/* ---- labels ---- */

static struct format labelled(const char *print)
{
	char text[700];

	(void)snprintf(text, sizeof(text),
			HEAD
			"\tfield:u8 mode;\toffset:8;\tsize:1;\tsigned:0;\n\tfield:int signed_;\toffset:12;\tsize:4;\tsigned:1;\n"
			"\tfield:u8 list[4];\toffset:16;\tsize:4;\tsigned:0;\nprint fmt: %s\n",
			print);
	return parsed(text);
}

static void test_labels(void **unused)
{
	static const char *const none[] = {
			"__print_symbolic(mode, {1, \"A\"})",
			"__print_symbolic(REC->mode + 1, {1, \"A\"})",
			"__print_symbolic(REC->mod, {1, \"A\"})",
			"__print_symbolic(REC->modes, {1, \"A\"})",
			"__print_symbolic(REC->list, {1, \"A\"})",
			"__print_symbolic(REC->mode, {1, \"A\"}",
			"__print_symbolic(REC->mode, {1, \"A\"}, {X, \"B\"})",
			"__print_symbolic(REC->mode, {1 + 1, \"A\"})",
			"__print_symbolic(REC->mode, {1, A})",
			"__print_symbolic(REC->mode, {1, \"A})",
			"__print_symbolic(REC->mode, {1, \"\"})",
			"__print_symbolic(REC->mode, {99999999999999999999, \"A\"})",
			"__print_flags(REC->mode, {1, \"A\"})",
			"__print_flags(REC->mode, \"|)",
			"__print_flags(REC->mode, x\", {1, \"A\"})",
	};
	struct format format;
	const struct format_field *field;

	(void)unused;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		format = labelled(none[i]);
		assert_int_equal(format.fields[0].nr_labels, 0);
		assert_false(format.fields[0].flags);
		kernel_format_free(&format);
	}
	format = labelled(
			"\"%s\", __print_symbolic(REC->mode, {0x1UL, \"A\\\"B\"},{ 2 , \"C\" } ), "
			"__print_flags( REC->signed_ , \"|\", { -5, \"D\" }, { 4ll, \"E\" }), __print_symbolic(REC->mode, {9, \"Z\"})");
	field = &format.fields[0];
	assert_int_equal(field->nr_labels, 2);
	assert_false(field->flags);
	assert_int_equal(field->labels[0].value, 1);
	assert_string_equal(field->labels[0].text, "A\\\"B");
	assert_int_equal(field->labels[1].value, 2);
	assert_string_equal(field->labels[1].text, "C");
	field = &format.fields[1];
	assert_int_equal(field->nr_labels, 2);
	assert_true(field->flags);
	assert_true(field->labels[0].value == (uint64_t)-5);
	assert_string_equal(field->labels[0].text, "D");
	assert_int_equal(field->labels[1].value, 4);
	kernel_format_free(&format);
}

/* The greatest number of labels, and one more: then there are none. */
static void test_many_labels(void **unused)
{
	size_t space = 1 << 16, used;
	char *text = malloc(space);

	(void)unused;
	assert_non_null(text);
	for (unsigned int nr = FORMAT_LABELS_MAX; nr <= FORMAT_LABELS_MAX + 1; nr++) {
		struct format format;

		used = (size_t)snprintf(text, space,
				HEAD
				"\tfield:u16 mode;\toffset:8;\tsize:2;\nprint fmt: __print_symbolic(REC->mode");
		for (unsigned int i = 0; i < nr; i++)
			used += (size_t)snprintf(
					text + used, space - used, ", {%u, \"L%u\"}", i, i);
		(void)snprintf(text + used, space - used, ")\n");
		format = parsed(text);
		assert_int_equal(format.fields[0].nr_labels, nr == FORMAT_LABELS_MAX ? nr : 0);
		kernel_format_free(&format);
	}
	free(text);
}

/* ---- types and bytes of a record ---- */

/* The labels that readers see. */
static void check_kept(const char *field, const char *print, bool is_bitmap, uint32_t base,
		const char *expected)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct format format;
	struct layout layout;
	struct ctf_type *type;
	char text[500], kept[200] = "";
	size_t used = 0;

	assert_non_null(arena);
	(void)snprintf(text, sizeof(text), HEAD "\tfield:%s\nprint fmt: %s\n", field, print);
	format = parsed(text);
	assert_int_equal(layout_make(&format, false, arena, &layout, &type), 0);
	assert_int_equal(type->member_count, 1);
	type = type->members[0].type;
	for (uint32_t i = 0; i < type->label_count; i++)
		used += (size_t)snprintf(kept + used, sizeof(kept) - used, "%s=%lld-%lld ",
				type->labels[i].text, (long long)type->labels[i].begin,
				(long long)type->labels[i].end);
	assert_string_equal(kept, expected);
	assert_int_equal(type->bitmap, is_bitmap);
	if (base)
		assert_int_equal(type->base, base);
	layout_free(&layout);
	kernel_format_free(&format);
	ctf_arena_destroy(arena);
}

static void test_kept_labels(void **unused)
{
	(void)unused;
	check_kept("u8 mode;\toffset:8;\tsize:1;\tsigned:0;",
			"__print_symbolic(REC->mode, {1, \"A\"}, {1, \"B\"}, {2, \"A\"}, {255, \"C\"}, {256, \"D\"}, {-1, \"E\"})",
			false, 0, "A=1-1 C=255-255 ");
	check_kept("signed char mode;\toffset:8;\tsize:1;\tsigned:1;",
			"__print_symbolic(REC->mode, {-128, \"A\"}, {-129, \"B\"}, {127, \"C\"}, {128, \"D\"})",
			false, 0, "A=-128--128 C=127-127 ");
	check_kept("u64 mode;\toffset:8;\tsize:8;\tsigned:0;",
			"__print_symbolic(REC->mode, {0xffffffffffffffff, \"A\"})", false, 0,
			"A=-1--1 ");
	check_kept("u8 mode;\toffset:8;\tsize:1;\tsigned:0;",
			"__print_symbolic(REC->mode, {256, \"D\"})", false, 0, "");
	check_kept("u8 mode;\toffset:8;\tsize:1;\tsigned:0;",
			"__print_flags(REC->mode, \"|\", {0, \"Z\"}, {1, \"A\"}, {3, \"B\"}, {128, \"C\"}, {256, \"D\"}, {1, \"E\"})",
			true, 16, "A=0-0 C=7-7 ");
	check_kept("signed char mode;\toffset:8;\tsize:1;\tsigned:1;",
			"__print_flags(REC->mode, \"|\", {1, \"A\"})", false, 16, "");
	check_kept("u8 mode;\toffset:8;\tsize:1;\tsigned:0;",
			"__print_flags(REC->mode, \"|\", {3, \"A\"})", false, 16, "");
}

static const char record_format[] =
		HEAD "\tfield:u16 a;\toffset:8;\tsize:2;\tsigned:0;\n"
		     "\tfield:u16 b;\toffset:10;\tsize:2;\tsigned:0;\n"
		     "\tfield:u16 c;\toffset:14;\tsize:2;\tsigned:0;\n"
		     "\tfield:__data_loc char[] text;\toffset:16;\tsize:4;\tsigned:0;\n"
		     "\tfield:__rel_loc u16[] list;\toffset:20;\tsize:4;\tsigned:0;\n";

#define FIXED 24

/* The words of the record, and the resulting bytes. */
static void check_record(bool with_remainder, size_t size, uint32_t text_word, uint32_t list_word,
		const char *expected, size_t expected_size)
{
	uint8_t *record = calloc(1, size ? size : 1), whole[FIXED + 8];
	struct ctf_arena *arena = ctf_arena_create();
	struct format format = parsed(record_format);
	struct byte_buffer to = {.data = NULL};
	struct layout layout;
	struct ctf_type *type;

	assert_true(arena && record);
	for (size_t i = 0; i < sizeof(whole); i++)
		whole[i] = (uint8_t)(i + 'A');
	memcpy(whole + 16, &text_word, sizeof(text_word));
	memcpy(whole + 20, &list_word, sizeof(list_word));
	whole[28] = 0;
	memcpy(record, whole, size);
	assert_int_equal(layout_make(&format, with_remainder, arena, &layout, &type), 0);
	/* a and b are copied together. */
	assert_int_equal(layout.nr_steps, with_remainder ? 5 : 4);
	assert_int_equal(layout.steps[0].size, 4);
	layout_run(&layout, record, size, &to);
	assert_int_equal(to.size, expected_size);
	assert_memory_equal(to.data, expected, expected_size);
	free(to.data);
	layout_free(&layout);
	kernel_format_free(&format);
	ctf_arena_destroy(arena);
	free(record);
}

#define WORD(length, at) ((uint32_t)(length) << 16 | (at))
#define RECORD(with_remainder, size, text, list, bytes) \
	check_record(with_remainder, size, text, list, bytes, sizeof(bytes) - 1)

static void test_records(void **unused)
{
	(void)unused;
	/*
	 * The texts are at the record's bytes 24 to 27 (YZ[\) and end with a 0 at 28; 29 to 31 are
	 * ^_`.
	 */
	RECORD(false, 32, WORD(8, 24), WORD(4, 0), "IJKLOPYZ[\\\0\2\0\0\0YZ[\\");
	RECORD(false, 32, WORD(3, 25), WORD(3, 1), "IJKLOPZ[\\\0\1\0\0\0Z[");
	RECORD(true, 32, WORD(0, 0), WORD(0, 0), "IJKLOP\0\0\0\0\0\x8\0\0\0YZ[\\\0^_`");
	/* Texts up to the end of the record and after it, and truncated words. */
	RECORD(false, 32, WORD(9, 30), WORD(9, 6), "IJKLOP_`\0\1\0\0\0_`");
	RECORD(false, 32, WORD(9, 32), WORD(9, 8), "IJKLOP\0\0\0\0\0");
	RECORD(false, 32, WORD(9, 33), WORD(9, 9), "IJKLOP\0\0\0\0\0");
	RECORD(true, 24, WORD(2, 8), WORD(0, 0), "IJKLOPIJ\0\0\0\0\0\0\0\0\0");
	RECORD(true, 23, WORD(2, 8), WORD(2, 8), "IJKLOPIJ\0\0\0\0\0\0\0\0\0");
	RECORD(true, 19, WORD(2, 8), WORD(2, 8), "IJKLOP\0\0\0\0\0\0\0\0\0");
	RECORD(false, 15, 0, 0, "IJKLO\0\0\0\0\0\0");
	RECORD(false, 9, 0, 0, "I\0\0\0\0\0\0\0\0\0\0");
	RECORD(false, 0, 0, 0, "\0\0\0\0\0\0\0\0\0\0\0");
}

/* ---- threads ---- */

static unsigned int nr_alive;

static void count_alive(void *user, pid_t tid)
{
	nr_alive += tid == *(pid_t *)user;
}

static bool is_alive(struct tasks *tasks, pid_t tid)
{
	nr_alive = 0;
	tasks_each_alive(tasks, count_alive, &tid);
	assert_true(nr_alive <= 1);
	return nr_alive;
}

static void named(struct tasks *tasks, pid_t tid, uint64_t time, const char *name, pid_t expected)
{
	pid_t pid = -7;

	assert_string_equal(tasks_comm(tasks, tid, time, 3, &pid), name);
	assert_int_equal(pid, expected);
}

#define THREAD 100000000 /* no thread of this machine */

static void test_names(void **unused)
{
	struct tasks *tasks = tasks_create();

	(void)unused;
	assert_non_null(tasks);
	named(tasks, 0, 5, "swapper/3", 0);
	/* Names that arrive in another order than their times. */
	tasks_named(tasks, THREAD, 77, 20, "second");
	tasks_named(tasks, THREAD, 77, 10, "first");
	tasks_named(tasks, THREAD, 78, 30, "0123456789abcdefg");
	/* In the same bucket. */
	tasks_named(tasks, THREAD + 4096, 99, 1, "other");
	named(tasks, THREAD, 9, "first", 78);
	named(tasks, THREAD, 10, "first", 78);
	named(tasks, THREAD, 19, "first", 78);
	named(tasks, THREAD, 20, "second", 78);
	named(tasks, THREAD, 30, "0123456789abcde", 78);
	named(tasks, THREAD + 4096, 30, "other", 99);
	assert_string_equal(tasks_comm(tasks, THREAD, 25, 0, NULL), "second");
	/* A new thread has its parent's name at that time. */
	tasks_forked(tasks, THREAD, THREAD + 1, 55, 15);
	named(tasks, THREAD + 1, 15, "first", 55);
	/* Names are kept only for the round in which they were followed. */
	tasks_settle(tasks);
	named(tasks, THREAD, 9, "first", 78);
	tasks_named(tasks, THREAD, 78, 40, "last");
	tasks_settle(tasks);
	named(tasks, THREAD, 9, "0123456789abcde", 78);
	tasks_settle(tasks);
	named(tasks, THREAD, 9, "last", 78);
	/* An end, and a name that is earlier or later than it. */
	assert_true(is_alive(tasks, THREAD));
	tasks_ended(tasks, THREAD, 50);
	tasks_ended(tasks, THREAD + 2, 50);
	assert_false(is_alive(tasks, THREAD));
	tasks_named(tasks, THREAD, 78, 50, "ended");
	assert_false(is_alive(tasks, THREAD));
	tasks_named(tasks, THREAD, 78, 51, "again");
	assert_true(is_alive(tasks, THREAD));
	tasks_ended(tasks, THREAD, 60);
	/* The thread is removed after 64 rounds. */
	for (int round = 0; round < 64; round++)
		tasks_settle(tasks);
	named(tasks, THREAD, 60, "again", 78);
	tasks_settle(tasks);
	named(tasks, THREAD, 60, "", -1);
	named(tasks, THREAD + 4096, 60, "other", 99);
	tasks_free(tasks);
}

static void test_proc(void **unused)
{
	struct resources before = resources_now();
	struct tasks *tasks = tasks_create();
	pid_t tid = getpid(), pid = -1;

	(void)unused;
	assert_non_null(tasks);
	assert_int_equal(prctl(PR_SET_NAME, "a name"), 0);
	assert_string_equal(tasks_comm(tasks, tid, 5, 0, &pid), "a name");
	assert_int_equal(pid, tid);
	assert_int_equal(prctl(PR_SET_NAME, "another"), 0);
	/* Known names are not read again. */
	tasks_scan(tasks);
	named(tasks, tid, 5, "a name", tid);
	assert_true(is_alive(tasks, tid));
	assert_true(is_alive(tasks, 1));
	tasks_free(tasks);
	/* The name of a kernel worker is recorded without its current work. */
	assert_int_equal(prctl(PR_SET_NAME, "kworker/0:1-x"), 0);
	tasks = tasks_create();
	named(tasks, tid, 5, "kworker/0:1", tid);
	tasks_free(tasks);
	tasks_free(NULL);
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

/* ---- files of tracefs, replaced by ordinary files ---- */

static void test_tracefs(void **unused)
{
	static const size_t sizes[] = {0, 1, 8190, 8191, 8192, 16383, 16384, 100000};
	char path[] = "/tmp/side-tracefs-XXXXXX", *bytes = calloc(1, 100001), *text = bytes;
	struct resources before;
	int fd = mkstemp(path);

	(void)unused;
	assert_true(fd >= 0 && bytes);
	before = resources_now();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t at = 0; at < sizes[i]; at++)
			bytes[at] = (char)('a' + (at * 7 + at / 100) % 26);
		bytes[sizes[i]] = '\0';
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(tracefs_write(path, bytes), 0);
		assert_int_equal(tracefs_read(path, &text), sizes[i]);
		assert_string_equal(text, bytes);
		free(text);
	}
	assert_int_equal(tracefs_write("/nowhere/at-all", "x"), -ENOENT);
	assert_int_equal(tracefs_read("/nowhere/at-all", &text), -ENOENT);
	assert_null(text);
	assert_int_equal(tracefs_write("/dev/full", "x"), -ENOSPC);
	assert_int_equal(tracefs_read("/", &text), -EISDIR);
	assert_null(text);
	assert_int_equal(resources_now().descriptors, before.descriptors);
	/* A file beyond the limit is not a text. */
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(tracefs_read(path, &text), 1 << 20);
	free(text);
	assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
	assert_int_equal(tracefs_read(path, &text), -EFBIG);
	assert_null(text);
	assert_int_equal(tracefs_read("/dev/zero", &text), -EFBIG);
	assert_null(text);
	close(fd);
	unlink(path);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_fields),
			cmocka_unit_test(test_words),
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_event_headers),
			cmocka_unit_test(test_labels),
			cmocka_unit_test(test_many_labels),
			cmocka_unit_test(test_kept_labels),
			cmocka_unit_test(test_records),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_proc),
			cmocka_unit_test(test_tracefs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
