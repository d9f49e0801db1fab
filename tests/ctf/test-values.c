/* SPDX-License-Identifier: MIT */
/*
 * Values decoded from bytes: values that end with the packet, values that end beyond it, and values
 * that are refused with a reason of their own.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctf/read/decode.h"
#include "ctf/read/decode-ctf2.h"
#include "ctf/type.h"

static struct ctf_arena *arena;
static struct ctf_decoder decoder;
static uint64_t slots[4];

/* Decodes a type from this many bits. Values stay valid until the next call. */
static int decode_bits(const struct ctf_type *type, const void *bytes, uint64_t bits)
{
	uint32_t index = 9;
	int ret;

	free(decoder.values);
	decoder = (struct ctf_decoder){
			.base = bytes, .limit = (bits + 7) / 8, .end = bits, .slots = slots};
	ret = ctf_decode(&decoder, type, &index);
	assert_int_equal(index, 0);
	return ret;
}

static void assert_refused(const struct ctf_type *type, const void *bytes, uint64_t bits,
		const char *why, bool beyond)
{
	assert_int_equal(decode_bits(type, bytes, bits), -EINVAL);
	assert_string_equal(decoder.why, why);
	assert_int_equal(decoder.beyond, beyond);
}

static struct ctf_type *bits_of(unsigned int size, bool big_endian)
{
	struct ctf_type *type = ctf_type_integer(arena, size, false);

	type->align = 1;
	type->big_endian = big_endian;
	return type;
}

static struct ctf_type *structure(struct ctf_type *one, struct ctf_type *other)
{
	struct ctf_type *type = ctf_type_struct(arena, 2);

	ctf_member_set(&type->members[0], "one", one, false);
	ctf_member_set(&type->members[1], "other", other, false);
	return type;
}

static void test_byte_orders(void **state)
{
	static const unsigned char bytes[] = {0xa5, 0x3c, 0x77};
	const char *why = "the byte order changes within a byte";
	struct ctf_type *array = ctf_type_array(arena, bits_of(4, true), 3);

	(void)state;
	for (unsigned int order = 0; order < 4; order++) {
		const struct ctf_type *type =
				structure(bits_of(3, order & 1), bits_of(9, order & 2));

		if ((order & 1) == order >> 1)
			assert_int_equal(decode_bits(type, bytes, 24), 0);
		else
			assert_refused(type, bytes, 24, why, false);
	}
	/* At the begin of a byte the byte order may change. */
	assert_int_equal(decode_bits(structure(bits_of(8, false), bits_of(9, true)), bytes, 24), 0);
	assert_int_equal(decoder.values[2].u, 0x3c << 1);
	assert_refused(structure(bits_of(4, false), array), bytes, 24, why, false);
	assert_int_equal(decode_bits(structure(bits_of(4, true), array), bytes, 24), 0);
	assert_int_equal(decode_bits(structure(array, bits_of(4, true)), bytes, 24), 0);
	assert_refused(structure(array, bits_of(4, false)), bytes, 24, why, false);
	array->length = 0;
	assert_int_equal(decode_bits(structure(bits_of(4, false), array), bytes, 24), 0);
}

static void test_ends(void **state)
{
	static const unsigned char bytes[] = "abc\0def";
	struct ctf_type *u24 = bits_of(24, false), *string = ctf_type_string(arena);
	struct ctf_type *packed = ctf_type_array(arena, ctf_type_integer(arena, 16, false), 3);
	struct ctf_type *strings = ctf_type_array(arena, string, 2);

	(void)state;
	assert_int_equal(decode_bits(u24, bytes, 24), 0);
	assert_int_equal(decoder.values[0].u, 0x636261);
	assert_refused(u24, bytes, 23, "a number is beyond the end of the packet", true);
	u24->align = 32;
	assert_refused(structure(bits_of(1, false), u24), bytes, 31,
			"a field is beyond the end of the packet", true);
	assert_refused(structure(bits_of(1, false), u24), bytes, 32,
			"a number is beyond the end of the packet", true);
	assert_int_equal(decode_bits(string, bytes, 32), 0);
	assert_int_equal(decoder.values[0].size, 3);
	assert_true(decoder.values[0].is_text);
	assert_int_equal(decoder.at, 32);
	assert_refused(string, bytes, 31, "a string has no end in the packet", true);
	assert_int_equal(decode_bits(packed, bytes, 48), 0);
	assert_int_equal(decoder.at, 48);
	assert_int_equal(decoder.values[0].count, 3);
	assert_refused(packed, bytes, 47, "an array is longer than the packet", true);
	string->min_bits = 8;
	assert_int_equal(decode_bits(strings, bytes, 64), 0);
	assert_int_equal(decoder.values[0].count, 2);
	assert_int_equal(decoder.values[0].span, 3);
	assert_int_equal(decoder.values[2].size, 3);
	strings->length = 9;
	assert_refused(strings, bytes, 64, "an array is longer than the packet", true);
	strings->length = 8;
	assert_refused(strings, bytes, 64, "a string has no end in the packet", true);
	packed->length = (uint64_t)UINT32_MAX + 1;
	assert_refused(packed, bytes, 64, "an array is longer than the packet", false);
	packed->length = UINT32_MAX;
	assert_refused(packed, bytes, 64, "an array is longer than the packet", true);
	strings->element = ctf_type_struct(arena, 0);
	strings->length = (1u << 20) + 1;
	assert_refused(strings, bytes, 64, "an array of empty elements is too long", false);
	strings->length = 1000;
	assert_int_equal(decode_bits(strings, bytes, 64), 0);
	assert_int_equal(decoder.values[0].span, 1001);
	/* A length in an option that was not selected. */
	strings->kind = CTF_SEQUENCE;
	strings->slot = 2;
	slots[2] = UINT64_MAX;
	assert_refused(strings, bytes, 64,
			"the length of an array is in a variant option that is not selected",
			false);
	slots[2] = 3;
	assert_int_equal(decode_bits(strings, bytes, 64), 0);
	assert_int_equal(decoder.count, 4);
}

/* Numbers of variable length: at most 64 bits, in at most ten bytes. */
static void test_long_numbers(void **state)
{
	unsigned char bytes[12];
	struct ctf_type *type = ctf_type_integer(arena, 64, false);

	(void)state;
	type->leb128 = true;
	memset(bytes, 0xff, sizeof(bytes));
	bytes[9] = 1;
	assert_int_equal(decode_bits(type, bytes, 80), 0);
	assert_int_equal(decoder.values[0].u, UINT64_MAX);
	assert_refused(type, bytes, 79, "a number is beyond the end of the packet", true);
	bytes[9] = 2;
	assert_refused(type, bytes, 80, "a number has more than 64 bits", false);
	bytes[9] = 0x7f;
	assert_refused(type, bytes, 80, "a number has more than 64 bits", false);
	type->is_signed = true;
	assert_int_equal(decode_bits(type, bytes, 80), 0);
	assert_int_equal(decoder.values[0].s, -1);
	bytes[9] = 0x7e;
	assert_refused(type, bytes, 80, "a number has more than 64 bits", false);
	bytes[9] = 0x81;
	assert_refused(type, bytes, 96, "a number takes more than ten bytes", false);
	/* The sign is the highest existing bit. */
	for (unsigned int size = 1; size < 10; size++) {
		memset(bytes, 0x80, sizeof(bytes));
		bytes[size - 1] = 0x40;
		assert_int_equal(decode_bits(type, bytes, 96), 0);
		assert_true(decoder.values[0].s == -(INT64_C(1) << (7 * size - 1)));
		bytes[size - 1] = 0x3f;
		assert_int_equal(decode_bits(type, bytes, 96), 0);
		assert_true(decoder.values[0].s == INT64_C(0x3f) << 7 * (size - 1));
	}
}

/* Elements by a cursor, and many at once. */
static void test_elements(void **state)
{
	static const unsigned char bytes[] = {0x12, 0xf4, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1};
	static const unsigned int sizes[] = {8, 12, 16, 5};

	(void)state;
	for (unsigned int form = 0; form < 16; form++) {
		struct ctf_type *element = bits_of(sizes[form % 4], form & 8);
		struct ctf_type *array = ctf_type_array(arena, element, 4);
		const struct ctf_value *value;
		struct ctf_cursor cursor;
		uint64_t numbers[6];

		element->is_signed = form & 4;
		assert_int_equal(decode_bits(array, bytes, 72), 0);
		for (uint32_t from = 0; from < 6; from++) {
			for (uint32_t capacity = 0; capacity < 6; capacity++) {
				uint32_t left = from < 4 ? 4 - from : 0, count;

				memset(numbers, 0x77, sizeof(numbers));
				count = ctf_value_integers(decoder.values, from, numbers, capacity);
				assert_int_equal(count, left < capacity ? left : capacity);
				assert_int_equal(numbers[count], 0x7777777777777777);
				ctf_cursor_start(&cursor, decoder.values);
				for (uint32_t i = 0; i < from; i++)
					(void)ctf_cursor_next(&cursor);
				for (uint32_t i = 0; i < count; i++) {
					value = ctf_cursor_next(&cursor);
					assert_non_null(value);
					assert_true(value->u == numbers[i]);
					assert_true(value->u ==
							ctf_read_integer(bytes, sizeof(bytes),
									(uint64_t)(from + i) *
											element->size,
									element));
				}
				if (count == left)
					assert_null(ctf_cursor_next(&cursor));
			}
		}
	}
}

/*
 * An array of fixed-size numbers is one value. Other elements are one value each, up to the limit.
 */
static void test_packed(void **state)
{
	static unsigned char bytes[(1 << 20) + 2];
	struct ctf_type *element = ctf_type_integer(arena, 8, false),
			*string = ctf_type_string(arena);
	struct ctf_type *array = ctf_type_array(arena, element, 3);

	(void)state;
	for (unsigned int kind = CTF_INTEGER; kind <= CTF_FLOAT; kind++) {
		element->kind = kind;
		if (kind != CTF_INTEGER && kind != CTF_ENUM && kind != CTF_FLOAT)
			continue;
		assert_int_equal(decode_bits(array, bytes, 24), 0);
		assert_int_equal(decoder.count, 1);
		assert_true(decoder.values[0].packed);
	}
	element->kind = CTF_INTEGER;
	element->leb128 = true;
	assert_int_equal(decode_bits(array, bytes, 24), 0);
	assert_int_equal(decoder.count, 4);
	assert_false(decoder.values[0].packed);
	assert_int_equal(decoder.values[0].count, 3);
	/* The limit for elements without bits does not apply to elements with bits. */
	string->min_bits = 8;
	array = ctf_type_array(arena, string, sizeof(bytes) - 1);
	assert_int_equal(decode_bits(array, bytes, 8 * sizeof(bytes)), 0);
	assert_int_equal(decoder.count, sizeof(bytes));
	array->element = ctf_type_struct(arena, 0);
	array->length = 1 << 20;
	assert_int_equal(decode_bits(array, bytes, 0), 0);
	assert_int_equal(decoder.count, (1 << 20) + 1);
}

/* A text ends at its NUL, even if its array continues. */
static void test_wide_arrays(void **state)
{
	struct ctf_type *type = ctf_type_string(arena);
	struct ctf_value value;

	(void)state;
	type->encoding = CTF_UTF16LE;
	assert_int_equal(ctf_decode_wide_text(&decoder, type, &value,
					 (const uint8_t *)"a\0b\0\0\0c\0", 8),
			0);
	assert_int_equal(value.size, 2);
	assert_true(value.is_text);
	assert_memory_equal(value.text, "ab", 2);
	assert_int_equal(ctf_decode_wide_text(&decoder, type, &value,
					 (const uint8_t *)"a\0b\0\0\0c\0", 7),
			-EINVAL);
	assert_string_equal(decoder.why,
			"the length of a text is not a multiple of its character size");
	/* The first half of a pair at the end. */
	assert_int_equal(ctf_decode_wide_text(&decoder, type, &value,
					 (const uint8_t *)"\0\xd8\0\xdc", 2),
			0);
	assert_int_equal(value.size, 3);
	ctf_decoder_drop_texts(&decoder);
	assert_null(decoder.texts);
}

/* One text in each encoding; invalid code points become U+FFFD. */
static void test_encodings(void **state)
{
	static const struct {
		enum ctf_encoding encoding;
		const char *bytes;
		uint64_t size; /* with the terminator */
		const char *text;
	} cases[] = {{CTF_UTF16LE, "a\0\xe9\0\xac\x20\x3d\xd8\xe6\xdc\0\xd8\0\0", 14,
				     "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x93\xa6\xef\xbf\xbd"},
			{CTF_UTF16BE, "\0a\0\xe9\x20\xac\xd8\x3d\xdc\xe6\xd8\0\0\0", 14,
					"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x93\xa6\xef\xbf\xbd"},
			{CTF_UTF32LE, "a\0\0\0\xe6\xf4\1\0\0\0\x11\0\0\0\0\0", 16,
					"a\xf0\x9f\x93\xa6\xef\xbf\xbd"},
			{CTF_UTF32BE, "\0\0\0a\0\1\xf4\xe6\0\x10\xff\xff\0\0\0\0", 16,
					"a\xf0\x9f\x93\xa6\xf4\x8f\xbf\xbf"}};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ctf_type *type = ctf_type_string(arena);

		type->encoding = cases[i].encoding;
		assert_int_equal(decode_bits(type, cases[i].bytes, 8 * cases[i].size), 0);
		assert_int_equal(decoder.at, 8 * cases[i].size);
		assert_int_equal(decoder.values[0].size, strlen(cases[i].text));
		assert_memory_equal(decoder.values[0].text, cases[i].text, strlen(cases[i].text));
		ctf_decoder_drop_texts(&decoder);
		assert_refused(type, cases[i].bytes, 8 * cases[i].size - 8,
				"a string has no end in the packet", true);
	}
}

static void test_members(void **state)
{
	static const unsigned char bytes[] = {3, 7, 9};
	struct ctf_type *type = structure(
			structure(bits_of(8, false), bits_of(8, false)), bits_of(8, false));

	(void)state;
	assert_int_equal(decode_bits(type, bytes, 24), 0);
	assert_int_equal(ctf_value_member(decoder.values, "other")->u, 9);
	assert_int_equal(ctf_value_member(ctf_value_member(decoder.values, "one"), "other")->u, 7);
	assert_null(ctf_value_member(decoder.values, "no"));
	assert_null(ctf_value_member(ctf_value_member(decoder.values, "other"), "one"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_byte_orders),
			cmocka_unit_test(test_ends),
			cmocka_unit_test(test_long_numbers),
			cmocka_unit_test(test_elements),
			cmocka_unit_test(test_packed),
			cmocka_unit_test(test_wide_arrays),
			cmocka_unit_test(test_encodings),
			cmocka_unit_test(test_members),
	};
	int ret;

	arena = ctf_arena_create();
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	free(decoder.values);
	ctf_arena_destroy(arena);
	return ret;
}
