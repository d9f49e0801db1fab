/* SPDX-License-Identifier: MIT */
/* Parse unwind tables byte by byte: numbers of any length, and remembered rows up to the maximal depth and one deeper. */
#include <setjmp.h>
#include <stdarg.h>
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
			code_pass(&cursor, width);
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
	assert_int_equal(row->begin, CODE_BEGIN_PLAIN);
	assert_int_equal(row->reg, depth ? FRAME_POINTER : STACK_POINTER);
	assert_int_equal(row->offset, offset_of(depth));
}

/* One address for each row: rows are remembered and replaced `nested` times, then all are restored. */
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
			assert_int_equal(row->begin, CODE_BEGIN_UNKNOWN);
		else
			assert_plain(row, i);
		assert_int_equal(rows.nr_kept, i);
	}
	/* Restore one row more than was remembered. */
	assert_int_equal(code_rows_at(&rows, ++address)->begin, CODE_BEGIN_UNKNOWN);
	assert_false(code_rows_next(&rows, &next));
	assert_false(rows.rules.bad);
}

static void test_nested(void **unused)
{
	(void)unused;
	for (unsigned int nested = 0; nested <= CODE_ROWS_KEPT + 4; nested++)
		nest(nested);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_ends),
			cmocka_unit_test(test_nested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
