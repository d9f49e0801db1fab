/* SPDX-License-Identifier: MIT */
/*
 * Parses unwind data byte by byte: numbers of any length, and remembered rows up to the maximal
 * depth and one deeper.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "probe/code/rows.h"

#define STACK_POINTER 7
#define FRAME_POINTER 6
#define RULES_MAX 256

/* ---- numbers ---- */

static void test_numbers(void **unused)
{
	static const struct {
		uint8_t bytes[12];
		size_t size;
		bool is_signed;
		uint64_t value;
	} cases[] = {
			{{0x7f}, 1, false, 127},
			{{0x80, 0x01}, 2, false, 128},
			{{0x40}, 1, true, (uint64_t)-64},
			{{0x3f}, 1, true, 63},
			/* 56 bits, and 63 bits. */
			{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 8, false,
					((uint64_t)1 << 56) - 1},
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}, 9, false,
					(uint64_t)1 << 62},
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}, 9, true,
					(uint64_t)3 << 62},
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x3f}, 9, true,
					(uint64_t)0x3f << 56},
			/* 64 bits: higher bits are ignored. */
			{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 10, false,
					UINT64_MAX},
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 10, false,
					(uint64_t)1 << 63},
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 10, true,
					(uint64_t)1 << 63},
			/* 70 bits and more. */
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 11,
					false, 0},
			{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 11,
					true, 0},
			{{0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f},
					12, true, 1},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct code_cursor cursor = {cases[i].bytes, 0, cases[i].size, 0, false};

		assert_int_equal(code_take_leb(&cursor, cases[i].is_signed), cases[i].value);
		assert_int_equal(cursor.at, cases[i].size);
		assert_false(cursor.bad);
		/* The number lacks its last byte. */
		cursor = (struct code_cursor){cases[i].bytes, 0, cases[i].size - 1, 0, false};
		code_take_leb(&cursor, cases[i].is_signed);
		assert_true(cursor.bad);
	}
}

static void test_ends(void **unused)
{
	static const uint8_t bytes[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

	(void)unused;
	for (unsigned int width = 1; width <= 8; width++) {
		for (size_t size = width - 1; size <= width; size++) {
			struct code_cursor cursor = {bytes, 0, size, 0, false};
			uint64_t value = code_take(&cursor, width);

			assert_int_equal(cursor.bad, size < width);
			assert_int_equal(value, size < width ? 0 : code_read(bytes, width));
			cursor = (struct code_cursor){bytes, 0, size, 0, false};
			code_skip(&cursor, width);
			assert_int_equal(cursor.bad, size < width);
			assert_int_equal(cursor.at, size < width ? 0 : width);
		}
	}
}

/* ---- rows ---- */

struct rules {
	uint8_t bytes[RULES_MAX];
	size_t size;
};

static void add(struct rules *rules, uint8_t operation)
{
	assert_true(rules->size < RULES_MAX);
	rules->bytes[rules->size++] = operation;
}

static void define(struct rules *rules, uint8_t reg, uint8_t offset)
{
	add(rules, 0x0c);
	add(rules, reg);
	add(rules, offset);
}

/* The offset of each depth differs from all others. */
static uint8_t offset_of(unsigned int depth)
{
	return (uint8_t)(8 + 8 * depth);
}

static void assert_plain(const struct code_row *row, unsigned int depth)
{
	assert_int_equal(row->base, CODE_BASE_PLAIN);
	assert_int_equal(row->reg, depth ? FRAME_POINTER : STACK_POINTER);
	assert_int_equal(row->offset, offset_of(depth));
}

/*
 * One address for each row: rows are remembered and replaced `nested` times, then all are restored.
 */
static void nest(unsigned int nested)
{
	struct rules rules = {.size = 0};
	struct code_cursor all = {rules.bytes, 0, sizeof(rules.bytes), 0, false};
	struct code_entry entry = {.address = 0x1000};
	struct code_rows rows;
	uint64_t address = 0x1000, next;

	entry.cie = (struct code_cie){.code_factor = 1, .data_factor = -8};
	define(&rules, STACK_POINTER, offset_of(0));
	entry.cie.rules_end = entry.rules = rules.size;
	for (unsigned int i = 1; i <= nested; i++) {
		add(&rules, 0x41);
		add(&rules, 0x0a);
		define(&rules, FRAME_POINTER, offset_of(i));
	}
	for (unsigned int i = 0; i <= nested; i++) {
		add(&rules, 0x41);
		add(&rules, 0x0b);
	}
	entry.rules_end = rules.size;
	code_rows_begin(&all, &entry, &rows);
	assert_plain(code_rows_at(&rows, address), 0);
	for (unsigned int i = 1; i <= nested; i++) {
		assert_true(code_rows_next(&rows, &next));
		assert_int_equal(next, ++address);
		assert_plain(code_rows_at(&rows, address), i);
	}
	for (unsigned int i = nested; i-- > 0;) {
		const struct code_row *row = code_rows_at(&rows, ++address);

		if (i >= CODE_ROWS_KEPT)
			assert_int_equal(row->base, CODE_BASE_UNKNOWN);
		else
			assert_plain(row, i);
		assert_int_equal(rows.nr_kept, i);
	}
	/* Restore one row more than was remembered. */
	assert_int_equal(code_rows_at(&rows, ++address)->base, CODE_BASE_UNKNOWN);
	assert_false(code_rows_next(&rows, &next));
	assert_false(rows.rules.bad);
}

static void test_nested(void **unused)
{
	(void)unused;
	for (unsigned int nested = 0; nested <= CODE_ROWS_KEPT + 4; nested++)
		nest(nested);
}

/* ---- operations ---- */

/*
 * Prints a row as BASE REGISTER+OFFSET SLOT, two flags (the return address is known, it is the
 * outermost frame), and the frame pointer.
 */
static void show_row(const struct code_row *row, char *text)
{
	sprintf(text, "%u %u%+lld %u %d%d %u%+lld", row->base, row->reg, (long long)row->offset,
			row->slot, row->returns, row->last, row->frame_pointer,
			(long long)row->frame_pointer_at);
}

static void test_operations(void **unused)
{
	/* After the rules: rsp + 8, return address at -8, frame pointer at -16. */
	static const struct {
		uint8_t bytes[20];
		size_t size;
		const char *row;
	} cases[] = {
			{{0}, 1, "1 7+8 0 10 1-16"}, {{0x0c, 6, 16}, 3, "1 6+16 0 10 1-16"},
			{{0x12, 3, 0x7e}, 3, "1 3+16 0 10 1-16"}, {{0x0d, 6}, 2, "1 6+8 0 10 1-16"},
			{{0x0e, 24}, 2, "1 7+24 0 10 1-16"}, {{0x13, 0x7d}, 2, "1 7+24 0 10 1-16"},
			{{0x86, 3}, 2, "1 7+8 0 10 1-24"}, {{0x83, 3}, 2, "1 7+8 0 10 1-16"},
			{{0x90, 2}, 2, "1 7+8 0 00 1-16"}, {{0x90, 1}, 2, "1 7+8 0 10 1-16"},
			{{0x05, 6, 4}, 3, "1 7+8 0 10 1-32"}, {{0x05, 16, 4}, 3, "1 7+8 0 00 1-16"},
			{{0x11, 6, 0x7f}, 3, "1 7+8 0 10 1+8"}, {{0x07, 6}, 2, "1 7+8 0 10 3-16"},
			{{0x07, 16}, 2, "1 7+8 0 01 1-16"},
			{{0x07, 16, 0x90, 1}, 4, "1 7+8 0 10 1-16"},
			{{0x07, 16, 0xd0}, 3, "1 7+8 0 10 1-16"},
			{{0x07, 16, 0x06, 16}, 4, "1 7+8 0 10 1-16"},
			{{0x08, 6}, 2, "1 7+8 0 10 0-16"}, {{0x08, 6, 0xc6}, 3, "1 7+8 0 10 1-16"},
			{{0x86, 9, 0x06, 6}, 4, "1 7+8 0 10 1-16"},
			{{0x09, 6, 3}, 3, "1 7+8 0 10 3-16"}, {{0x09, 16, 3}, 3, "1 7+8 0 00 1-16"},
			{{0x14, 6, 3}, 3, "1 7+8 0 10 3-16"}, {{0x15, 6, 3}, 3, "1 7+8 0 10 3-16"},
			{{0x10, 6, 2, 0x76, 0}, 5, "1 7+8 0 10 2-16"},
			{{0x10, 6, 2, 0x76, 1}, 5, "1 7+8 0 10 3-16"},
			{{0x10, 6, 2, 0x75, 0}, 5, "1 7+8 0 10 3-16"},
			{{0x10, 6, 3, 0x76, 0, 0}, 6, "1 7+8 0 10 3-16"},
			{{0x16, 6, 2, 0x76, 0}, 5, "1 7+8 0 10 3-16"},
			{{0x2e, 5}, 2, "1 7+8 0 10 1-16"},
			{{0x0f, 3, 0x76, 0x78, 0x06}, 5, "2 6-8 0 10 1-16"},
			{{0x0f, 3, 0x70, 8, 0x06}, 5, "2 0+8 0 10 1-16"},
			{{0x0f, 3, 0x7f, 8, 0x06}, 5, "2 15+8 0 10 1-16"},
			{{0x0f, 3, 0x6f, 8, 0x06}, 5, "0 7+8 0 10 1-16"},
			{{0x0f, 3, 0x80, 8, 0x06}, 5, "0 7+8 0 10 1-16"},
			{{0x0f, 3, 0x76, 8, 0x07}, 5, "0 6+8 0 10 1-16"},
			{{0x0f, 4, 0x76, 8, 0x06, 0}, 6, "0 6+8 0 10 1-16"},
			{{0x0f, 2, 0x76, 8}, 4, "0 6+8 0 10 1-16"},
			{{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, 13,
					"3 7+8 11 10 1-16"},
			{{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x31, 0x2a, 0x33, 0x24, 0x22}, 13,
					"3 7+8 1 10 1-16"},
			{{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3f, 0x2a, 0x33, 0x24, 0x22}, 13,
					"3 7+8 15 10 1-16"},
			{{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22}, 13,
					"0 7+8 0 10 1-16"},
			{{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x40, 0x2a, 0x33, 0x24, 0x22}, 13,
					"0 7+8 0 10 1-16"},
			{{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x23}, 13,
					"0 7+8 0 10 1-16"},
			{{0x0f, 12, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
					 0x06},
					14, "0 7+8 0 10 1-16"},
			{{0x3f}, 1, "0 7+8 0 10 1-16"}, /* unknown */
			{{0x01}, 1, "0 7+8 0 10 1-16"}, {{0x0c, 6}, 2, "0 6+0 0 10 1-16"}, /* cut */
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const uint8_t first[] = {0x0c, 7, 8, 0x90, 1, 0x86, 2};
		uint8_t bytes[sizeof(first) + 20];
		const struct code_cursor all = {bytes, 0, sizeof(bytes), 0, false};
		struct code_entry entry = {.address = 0x1000,
				.rules = sizeof(first),
				.rules_end = sizeof(first) + cases[i].size};
		struct code_rows rows;
		char shown[128];

		memcpy(bytes, first, sizeof(first));
		memcpy(bytes + sizeof(first), cases[i].bytes, sizeof(cases[i].bytes));
		entry.cie = (struct code_cie){
				.code_factor = 1, .data_factor = -8, .rules_end = sizeof(first)};
		code_rows_begin(&all, &entry, &rows);
		show_row(code_rows_at(&rows, 0x1000), shown);
		if (strcmp(shown, cases[i].row) != 0)
			fail_msg("case %zu: %s, expected %s", i, shown, cases[i].row);
	}
}

/* Each encoding of the start of the next row, in units of 4 bytes. */
static void test_advances(void **unused)
{
	static const struct {
		uint8_t bytes[5];
		size_t size;
		uint64_t next;
	} cases[] = {{{0x41}, 1, 0x1004}, {{0x7f}, 1, 0x1000 + 4 * 63}, {{0x02, 0x80}, 2, 0x1200},
			{{0x03, 0x01, 0x02}, 3, 0x1000 + 4 * 0x201},
			{{0x04, 1, 0, 1, 0}, 5, 0x1000 + 4 * 0x10001}, {{0x02}, 1, 0},
			{{0x0e, 8}, 2, 0}, {{0x40}, 0, 0}};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct code_cursor all = {cases[i].bytes, 0, cases[i].size, 0, false};
		struct code_entry entry = {.address = 0x1000, .rules_end = cases[i].size};
		struct code_rows rows;
		uint64_t next = 0;

		entry.cie.code_factor = 4;
		code_rows_begin(&all, &entry, &rows);
		assert_int_equal(code_rows_next(&rows, &next), cases[i].next != 0);
		assert_int_equal(next, cases[i].next);
	}
}

/* ---- entries ---- */

static void test_pointers(void **unused)
{
	static const uint8_t bytes[10] = {0, 0, 0xf0, 0xff, 0xff, 0xff, 0x81, 0x7f, 0x80, 0xff};
	static const struct {
		uint8_t encoding;
		size_t size;
		uint64_t value;
		bool bad;
	} cases[] = {{0x00, 8, 0xff807f81fffffff0, false}, {0x04, 8, 0xff807f81fffffff0, false},
			{0x0c, 8, 0xff807f81fffffff0, false}, {0x02, 2, 0xfff0, false},
			{0x03, 4, 0xfffffff0, false}, {0x0a, 2, (uint64_t)-16, false},
			{0x0b, 4, (uint64_t)-16, false}, {0x1b, 4, 0x5002 - 16, false},
			{0x10, 8, 0xff807f81fffffff0 + 0x5002, false}, {0x05, 0, 0, true},
			{0x20, 8, 0, true}, {0x30, 8, 0, true}, {0xff, 0, 0, false}};
	static const uint8_t nothing[8] = {0};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct code_cursor cursor = {bytes, 2, sizeof(bytes), 0x5000, false};

		assert_int_equal(code_take_pointer(&cursor, cases[i].encoding), cases[i].value);
		assert_int_equal(cursor.bad, cases[i].bad);
		assert_int_equal(cursor.at, 2 + cases[i].size);
	}
	for (unsigned int i = 0; i < 2; i++) {
		struct code_cursor cursor = {bytes, 6, sizeof(bytes), 0x5000, false};

		assert_int_equal(code_take_pointer(&cursor, i ? 0x09 : 0x01),
				i ? (uint64_t)-127 : 127 * 128 + 1);
		assert_int_equal(cursor.at, 8);
		/* 0 means no address, with any base. */
		cursor = (struct code_cursor){nothing, 0, sizeof(nothing), 0x5000, false};
		assert_int_equal(code_take_pointer(&cursor, 0x1b), 0);
		assert_false(cursor.bad);
	}
}

static void test_cies(void **unused)
{
	/*
	 * After the lengths: 4 bytes, a version, letters, factors, the column of the return
	 * address.
	 */
	static const struct {
		uint8_t bytes[40];
		size_t size;
		bool ok, signal, augmented;
		uint8_t pointer, lsda;
		size_t rules;
	} cases[] = {
			{"\0\0\0\0\1\0\2\x78\x10", 9, true, false, false, 0, 0xff, 9},
			/* The column is one byte in the first version. */
			{"\0\0\0\0\1\0\2\x78\x90\0", 10, true, false, false, 0, 0xff, 9},
			{"\0\0\0\0\3\0\2\x78\x90\0", 10, true, false, false, 0, 0xff, 10},
			{"\0\0\0\0\2\0\2\x78\x10", 9, false, false, false, 0, 0xff, 0},
			{"\0\0\0\0\4\0\2\x78\x10", 9, false, false, false, 0, 0xff, 0},
			{"\0\0\0\0\1zR\0\2\x78\x10\1\x1b", 13, true, false, true, 0x1b, 0xff, 13},
			{"\0\0\0\0\1zRS\0\2\x78\x10\1\x1b", 14, true, true, true, 0x1b, 0xff, 14},
			{"\0\0\0\0\1zPLR\0\2\x78\x10\7\3aaaa\x1c\x1b", 21, true, false, true, 0x1b,
					0x1c, 21},
			{"\0\0\0\0\1zB\0\2\x78\x10\2\0\0", 14, true, false, true, 0, 0xff, 14},
			{"\0\0\0\0\1zX\0\2\x78\x10\1\0", 13, false, false, true, 0, 0xff, 12},
			{"\0\0\0\0\1R\0\2\x78\x10\1", 11, false, false, false, 0, 0xff, 10},
			{"\0\0\0\0\1zR\0\2\x78\x10\2\x1b", 13, false, false, true, 0x1b, 0xff, 12},
			{"\0\0\0\0\1zR\0\2\x78\x10\1", 12, false, false, true, 0, 0xff, 12},
			{"\0\0\0\0\1zR", 7, false, false, false, 0, 0xff, 0},
			{"\0\0\0\0\1\0\2\x78", 8, false, false, false, 0, 0xff, 8},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct code_cursor all = {cases[i].bytes, 0, cases[i].size, 0x5000, false};
		const struct code_cie cie = code_read_cie(&all, 0, cases[i].size);

		if (cie.ok != cases[i].ok || cie.signal != cases[i].signal ||
				cie.augmented != cases[i].augmented ||
				cie.pointer != cases[i].pointer || cie.lsda != cases[i].lsda)
			fail_msg("case %zu: %d %d %d %x %x", i, cie.ok, cie.signal, cie.augmented,
					cie.pointer, cie.lsda);
		if (!cie.ok)
			continue;
		assert_int_equal(cie.rules, cases[i].rules);
		assert_int_equal(cie.rules_end, cases[i].size);
		assert_int_equal(cie.code_factor, 2);
		assert_int_equal(cie.data_factor, -8);
	}
}

static void test_entries(void **unused)
{
	/*
	 * After the length: the position of the CIE, an address, a size, the augmentation data, and
	 * a rule.
	 */
	static const uint8_t bytes[] = {0, 0, 0, 0, 9, 9, 9, 9, 0x10, 0, 0, 0, 0x20, 0, 0, 0, 4,
			0x30, 0, 0, 0, 0x41};
	const struct code_cursor all = {bytes, 0, sizeof(bytes), 0x5000, false};
	struct code_cie cie = {.pointer = 0x1b, .lsda = 0x1b, .augmented = true, .ok = true};
	struct code_entry entry;

	(void)unused;
	assert_true(code_read_entry(&all, 4, sizeof(bytes) - 4, &cie, &entry));
	assert_int_equal(entry.address, 0x5000 + 8 + 0x10);
	assert_int_equal(entry.size, 0x20);
	assert_int_equal(entry.landings, 0x5000 + 17 + 0x30);
	assert_int_equal(entry.rules, 21);
	assert_int_equal(entry.rules_end, 22);
	cie.lsda = CODE_ENCODING_OMIT;
	assert_true(code_read_entry(&all, 4, sizeof(bytes) - 4, &cie, &entry));
	assert_int_equal(entry.landings, 0);
	assert_int_equal(entry.rules, 21);
	cie.augmented = false;
	assert_true(code_read_entry(&all, 4, sizeof(bytes) - 4, &cie, &entry));
	assert_int_equal(entry.rules, 16);
	cie.augmented = true;
	for (size_t length = 0; length < 17; length++)
		assert_false(code_read_entry(&all, 4, length, &cie, &entry));
	assert_true(code_read_entry(&all, 4, 17, &cie, &entry));
	cie.ok = false;
	assert_false(code_read_entry(&all, 4, sizeof(bytes) - 4, &cie, &entry));
	/* After the end. */
	{
		struct code_cursor cursor = {bytes, 3, 5, 0, true};

		code_skip(&cursor, 1);
		assert_int_equal(cursor.at, 3);
		assert_int_equal(code_take(&cursor, 1), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_ends),
			cmocka_unit_test(test_nested),
			cmocka_unit_test(test_operations),
			cmocka_unit_test(test_advances),
			cmocka_unit_test(test_pointers),
			cmocka_unit_test(test_cies),
			cmocka_unit_test(test_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
