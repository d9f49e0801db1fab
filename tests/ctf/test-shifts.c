/* SPDX-License-Identifier: MIT */
/*
 * Numbers that come from a trace, a description, a filter or unwind data and become counts of
 * shifts: all widths, offsets and counts, also those that no writer produces, compared with a loop
 * over single bits. The undefined-behaviour sanitizer runs it, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctf/read/decode.h"
#include "ctf/read/decode-ctf2.h"
#include "filter/compute.h"
#include "abi/visit.h"

#include "../random.h"

#define COUNTS 201

static void fill(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(draw64() >> 24);
}

/* ---- bit fields of traces ---- */

/* Returns bit `at` in the order in which fields use bits. */
static unsigned int bit_of(const uint8_t *bytes, uint64_t at, bool big_endian)
{
	return bytes[at / 8] >> (big_endian ? 7 - at % 8 : at % 8) & 1;
}

static uint64_t bits_of(const uint8_t *bytes, uint64_t at, const struct ctf_type *type)
{
	uint64_t number = 0;

	for (unsigned int i = 0; i < type->size; i++) {
		/* The first bit of a big-endian field is the highest one. */
		unsigned int to = type->big_endian ? type->size - 1u - i : i;

		to = type->reversed ? type->size - 1u - to : to;
		number |= (uint64_t)bit_of(bytes, at + i, type->big_endian) << to;
	}
	if (type->is_signed && number >> (type->size - 1) & 1)
		for (unsigned int i = type->size; i < 64; i++)
			number |= UINT64_C(1) << i;
	return number;
}

static void test_bit_fields(void **context)
{
	(void)context;
	for (unsigned int size = 1; size <= 64; size++) {
		for (unsigned int at = 0; at < 72; at++) {
			/* The last byte of the field is the last byte that may be read. */
			size_t limit = (at + size + 7) / 8;
			uint8_t *bytes = test_malloc(limit);

			fill(bytes, limit);
			for (unsigned int kind = 0; kind < 8; kind++) {
				const struct ctf_type type = {.kind = CTF_INTEGER,
						.size = (uint8_t)size,
						.is_signed = kind & 1,
						.big_endian = kind & 2,
						.reversed = kind & 4};

				assert_true(ctf_read_integer(bytes, limit, at, &type) ==
						bits_of(bytes, at, &type));
			}
			test_free(bytes);
		}
	}
}

/* ---- numbers of variable length ---- */

static void check_leb128(const uint8_t *bytes, size_t size, bool is_signed)
{
	const struct ctf_type type = {
			.kind = CTF_INTEGER, .size = 64, .leb128 = true, .is_signed = is_signed};
	struct ctf_decoder decoder = {.base = bytes, .limit = size, .end = size * 8};
	uint64_t number = 0, wanted = 0;
	unsigned int bits = ctf_decode_leb128(&decoder, &type, &number);
	size_t last = 0;

	if (!bits) {
		assert_non_null(decoder.why);
		return;
	}
	while (bytes[last] & 0x80)
		last++;
	assert_true(last < size && last < 10);
	for (unsigned int i = 0; i < (last + 1) * 7 && i < 64; i++)
		wanted |= (uint64_t)(bytes[i / 7] >> i % 7 & 1) << i;
	for (unsigned int i = (unsigned int)(last + 1) * 7;
			i < 64 && is_signed && bytes[last] & 0x40; i++)
		wanted |= UINT64_C(1) << i;
	assert_true(number == wanted);
}

static void test_variable_numbers(void **context)
{
	uint8_t bytes[COUNTS];

	(void)context;
	for (unsigned int size = 1; size < COUNTS; size++) {
		for (unsigned int round = 0; round < 16; round++) {
			fill(bytes, size);
			for (unsigned int i = 0; i < size; i++)
				bytes[i] = round & 1        ? bytes[i] | 0x80
						: round & 2 ? 0xff
							    : bytes[i];
			if (round & 4)
				bytes[size - 1] &= 0x7f;
			check_leb128(bytes, size, round & 8);
		}
	}
}

static void test_reversed(void **context)
{
	(void)context;
	for (unsigned int size = 0; size <= 64; size++) {
		uint64_t number = draw64(),
			 mask = size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX;

		assert_true(ctf_reverse_bits(ctf_reverse_bits(number & mask, size), size) ==
				(number & mask));
	}
}

/* ---- integers of descriptions ---- */

static void check_integer(
		const struct side_type_integer *type, unsigned int offset, const uint8_t *bytes)
{
	unsigned int size = type->integer_size, bits = type->len_bits ? type->len_bits : 8 * size;
	bool is_big = side_enum_get(type->byte_order) == SIDE_TYPE_BYTE_ORDER_BE;
	struct visit_value value = {.lo = 0};
	unsigned __int128 wanted = 0;
	int ret = visit_load_integer(type, offset, bytes, &value);

	if ((size != 1 && size != 2 && size != 4 && size != 8 && size != 16) ||
			offset + bits > 8 * size || (size == 16 && bits != 128)) {
		assert_true(ret < 0);
		return;
	}
	assert_int_equal(ret, 0);
	for (unsigned int i = 0; i < bits; i++) {
		unsigned int from = (i + offset) / 8;

		wanted |= (unsigned __int128)(bytes[is_big ? size - 1 - from : from] >>
							  (i + offset) % 8 &
					  1)
				<< i;
	}
	if (type->signedness && wanted >> (bits - 1) & 1)
		for (unsigned int i = bits; i < 128; i++)
			wanted |= (unsigned __int128)1 << i;
	assert_true(value.lo == (uint64_t)wanted);
	/* The high half of a signed 64-bit number is its sign; an unsigned one has none. */
	assert_true(value.hi == (uint64_t)(wanted >> 64));
}

static void test_descriptions(void **context)
{
	uint8_t bytes[64];

	(void)context;
	fill(bytes, sizeof(bytes));
	for (unsigned int size = 0; size <= 33; size++) {
		for (unsigned int bits = 0; bits < COUNTS; bits++) {
			for (unsigned int offset = 0; offset < COUNTS; offset += 1 + draw64() % 3) {
				struct side_type_integer type = {.integer_size = (uint16_t)size,
						.len_bits = (uint16_t)bits,
						.signedness = draw64() & 1};

				side_enum_set(type.byte_order,
						draw64() & 1 ? SIDE_TYPE_BYTE_ORDER_BE
							     : SIDE_TYPE_BYTE_ORDER_LE);
				check_integer(&type, offset, bytes);
			}
		}
	}
}

/* ---- filters ---- */

static struct filter_value value_of(__int128 number, bool is_unsigned)
{
	struct filter_value value = {.kind = FILTER_INT, .is_unsigned = is_unsigned};

	filter_set_wide(&value, (uint64_t)number, (uint64_t)((unsigned __int128)number >> 64),
			is_unsigned);
	return value;
}

static __int128 number_of(const struct filter_value *value)
{
	if (value->kind == FILTER_WIDE)
		return (__int128)((unsigned __int128)value->high << 64 | value->u);
	return value->is_unsigned ? (__int128)value->u : (__int128)value->s;
}

static __int128 shifted_right(__int128 number, unsigned int count, bool is_unsigned)
{
	for (unsigned int i = 0; i < count && i < 128; i++)
		number = is_unsigned ? (__int128)((unsigned __int128)number >> 1) : number >> 1;
	return number;
}

static void check_shifts(__int128 number, bool is_unsigned, unsigned int by)
{
	struct filter_value a = value_of(number, is_unsigned), count = value_of(by, true);
	__int128 expected = number_of(&a);
	bool wide_unsigned = a.is_unsigned;

	filter_binary(FILTER_CODE_RIGHT, &a, &count);
	assert_true(a.kind == FILTER_INT || a.kind == FILTER_WIDE);
	assert_true(number_of(&a) == shifted_right(expected, by, wide_unsigned));
	/* A value that cannot be represented is no value. */
	a = value_of(number, is_unsigned);
	filter_binary(FILTER_CODE_LEFT, &a, &count);
	if (a.kind != FILTER_NONE && by < 127)
		assert_true(shifted_right(number_of(&a), by, a.is_unsigned) == expected);
	if (by > 63 && expected)
		assert_true(a.kind == FILTER_NONE || a.kind == FILTER_WIDE);
}

static void test_filters(void **context)
{
	(void)context;
	for (unsigned int by = 0; by < COUNTS; by++) {
		for (unsigned int width = 1; width <= 128; width++) {
			unsigned __int128 number = (unsigned __int128)draw64() << 64 | draw64();

			number >>= 128 - width;
			check_shifts((__int128)number, true, by);
			check_shifts((__int128)number, false, by);
		}
		check_shifts(0, true, by);
		check_shifts(-1, false, by);
		check_shifts(INT64_MIN, false, by);
	}
	/* A negative count has no result. */
	for (unsigned int code = FILTER_CODE_LEFT; code;
			code = code == FILTER_CODE_LEFT ? FILTER_CODE_RIGHT : 0) {
		struct filter_value a = value_of(5, false), count = value_of(-1, false);

		filter_binary(code, &a, &count);
		assert_int_equal(a.kind, FILTER_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_bit_fields),
			cmocka_unit_test(test_variable_numbers),
			cmocka_unit_test(test_reversed),
			cmocka_unit_test(test_descriptions),
			cmocka_unit_test(test_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
