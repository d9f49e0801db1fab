/* SPDX-License-Identifier: MIT */
/* Scalars: every size, bit length and offset, byte order; floats; text; digits; labels. */
#include <iconv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "generate.h"

/* Bit number b of a value of size bytes in memory, numbered from the least significant. */
static unsigned int bit_of(
		const unsigned char *bytes, unsigned int size, unsigned int order, unsigned int b)
{
	unsigned int byte = order == SIDE_TYPE_BYTE_ORDER_BE ? size - 1 - b / 8 : b / 8;

	return bytes[byte] >> (b % 8) & 1;
}

static void integers(void)
{
	struct generator random;
	unsigned int log, order, is_signed, offset, len, i;

	generator_init(&random, 1);
	for (log = 0; log < 4; log++)
		for (order = 0; order < 2; order++)
			for (is_signed = 0; is_signed < 2; is_signed++)
				for (offset = 0; offset < 8u << log; offset++)
					for (len = 1; offset + len <= 8u << log; len++) {
						struct side_type_integer type = {
								.integer_size = (uint16_t)(1
										<< log),
								.len_bits = (uint16_t)len,
								.signedness = (uint8_t)is_signed,
								.byte_order = {(uint8_t)order},
						};
						uint64_t noise = generator_next(&random);
						unsigned char bytes[9];
						struct visit_value value;
						uint64_t lo = 0, hi = 0;
						bool negative;

						memcpy(bytes + 1, &noise, 8); /* unaligned */
						for (i = 0; i < len; i++)
							lo |= (uint64_t)bit_of(bytes + 1, 1u << log,
									      order, offset + i)
									<< i;
						negative = is_signed && lo >> (len - 1) & 1;
						for (i = len; negative && i < 64; i++)
							lo |= (uint64_t)1 << i;
						hi = negative ? UINT64_MAX : 0;
						CHECK(!visit_load_integer(
								&type, offset, bytes + 1, &value));
						CHECK(value.lo == lo && value.hi == hi &&
								value.bits == len);
						CHECK(value.kind ==
								(is_signed ? VISIT_SIGNED
									   : VISIT_UNSIGNED));
						type.len_bits = (uint16_t)((8u << log) - offset +
								1);
						CHECK(visit_load_integer(
								&type, offset, bytes + 1, &value));
					}
	generator_fini(&random);
}

static void wide_integers(void)
{
	static const unsigned char bytes[16] = {
			0xfe, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x8f};
	struct side_type_integer type = {.integer_size = 16, .signedness = 1};
	struct visit_value value;
	int64_t s64;

	CHECK(!visit_load_integer(&type, 0, bytes, &value));
	CHECK(value.lo == 0x07060504030201fe && value.hi == 0x8f0e0d0c0b0a0908 &&
			value.bits == 128);
	CHECK(!visit_value_s64(&value, &s64));
	type.byte_order.v = SIDE_TYPE_BYTE_ORDER_BE;
	type.len_bits = 128;
	CHECK(!visit_load_integer(&type, 0, bytes, &value));
	CHECK(value.hi == 0xfe01020304050607 && value.lo == 0x08090a0b0c0d0e8f);
	type.len_bits = 127;
	CHECK(visit_load_integer(&type, 0, bytes, &value));
	type.len_bits = 0;
	CHECK(visit_load_integer(&type, 1, bytes, &value));
	type.integer_size = 3;
	CHECK(visit_load_integer(&type, 0, bytes, &value));
}

/* Returns the value of a binary16, by its definition. */
static double half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31, mantissa = bits & 1023;
	double value;

	if (exponent == 31)
		value = mantissa ? NAN : INFINITY;
	else if (exponent)
		value = ldexp(1024 + mantissa, exponent - 25);
	else
		value = ldexp(mantissa, -24);
	return bits >> 15 ? -value : value;
}

static void floats(void)
{
	unsigned int bits;

	for (bits = 0; bits < 65536; bits++) {
		uint32_t wide = visit_float16_to_32((uint16_t)bits);
		double expected = half_value((uint16_t)bits);
		float as;

		memcpy(&as, &wide, 4);
		if (isnan(expected)) {
			CHECK(isnan(as) &&
					wide ==
							((bits & 0x8000) << 16 | 0x7f800000 |
									(bits & 1023) << 13));
		} else {
			CHECK((double)as == expected && !!signbit(as) == (bits >> 15));
		}
	}
}

#ifdef __SIZEOF_FLOAT128__
static void one_binary128(__float128 number)
{
	struct side_type_float type = {.float_size = 16};
	struct visit_value value;
	unsigned char bytes[16], swapped[16];
	long double as, expected = (long double)number;
	unsigned int i;

	memcpy(bytes, &number, 16);
	for (i = 0; i < 16; i++)
		swapped[i] = bytes[15 - i];
	type.byte_order.v = SIDE_TYPE_FLOAT_WORD_ORDER_HOST;
	CHECK(!visit_load_float(&type, bytes, &value) && !memcmp(value.bytes, bytes, 16));
	as = visit_value_long_double(&value);
	CHECK(as == expected || (isnan(as) && isnan(expected)));
	CHECK(!!signbit(as) == !!signbit(expected));
	type.byte_order.v = !SIDE_TYPE_FLOAT_WORD_ORDER_HOST;
	CHECK(!visit_load_float(&type, swapped, &value) && !memcmp(value.bytes, bytes, 16));
}

static void binary128(void)
{
	struct generator random;
	unsigned int i;

	one_binary128(0);
	one_binary128(-(__float128)0);
	one_binary128(1);
	one_binary128((__float128)1 / 3);
	one_binary128((__float128)INFINITY);
	one_binary128(-(__float128)INFINITY);
	one_binary128((__float128)NAN);
	generator_init(&random, 2);
	for (i = 0; i < 100000; i++) {
		uint64_t halves[2] = {generator_next(&random), generator_next(&random)};
		__float128 number;

		/* Also ties and overflowing mantissas of the rounding to 64 bits. */
		if (i % 3 == 0)
			halves[0] = (halves[0] & ~(((uint64_t)1 << 49) - 1)) | (uint64_t)1 << 48;
		if (i % 5 == 0)
			halves[1] |= 0xffffffffffff, halves[0] |= (uint64_t)0x7fff << 49;
		memcpy(&number, halves, 16);
		if (!isnan((double)number))
			one_binary128(number);
	}
	generator_fini(&random);
}
#else
static void binary128(void) {}
#endif

static bool float_prints(const void *bytes, uint16_t size, int precision, const char *expected)
{
	struct side_type_float type = {.float_size = size};
	char digits[VISIT_FLOAT_DIGITS_MAX];
	struct visit_value value;

	type.byte_order.v = SIDE_TYPE_FLOAT_WORD_ORDER_HOST;
	CHECK(!visit_load_float(&type, bytes, &value));
	visit_value_float_digits(&value, precision, digits);
	return !strcmp(digits, expected);
}

static void float_digits(void)
{
	const uint16_t half = 0xc500;
	const float single = 0.1f;
	const double number = 1e-5, infinite = -INFINITY;

	CHECK(float_prints(&half, 2, 6, "-5"));
	CHECK(float_prints(&single, 4, 6, "0.1"));
	CHECK(float_prints(&number, 8, 6, "1e-05"));
	CHECK(float_prints(&infinite, 8, 17, "-inf"));
}

/* ---- text ---- */

static bool text_is(const void *string, unsigned int unit, unsigned int order, const char *expected)
{
	char out[64];
	size_t size = visit_text_utf8(string, unit, order, out, sizeof(out));

	return size == strlen(expected) && !memcmp(out, expected, size);
}

static void special_text(void)
{
	static const uint16_t lone_high[] = {0xd800, 0}, lone_low[] = {0xdfff, 'x', 0};
	static const uint16_t two_high[] = {0xd800, 0xd800, 0xdc00, 0};
	static const uint32_t big[] = {0x10ffff, 0x110000, 0x1fffff, 0x200000, 0x3ffffff, 0x4000000,
			0x7fffffff, 0x80000000, 0xffffffff, 0};
	static const uint32_t surrogate32[] = {0xd800, 0xdc00, 0};
	char out[8] = "########";

	CHECK(text_is(lone_high, 2, SIDE_TYPE_BYTE_ORDER_HOST, "\xed\xa0\x80"));
	CHECK(text_is(lone_low, 2, SIDE_TYPE_BYTE_ORDER_HOST, "\xed\xbf\xbfx"));
	CHECK(text_is(two_high, 2, SIDE_TYPE_BYTE_ORDER_HOST, "\xed\xa0\x80\xf0\x90\x80\x80"));
	CHECK(text_is(surrogate32, 4, SIDE_TYPE_BYTE_ORDER_HOST, "\xed\xa0\x80\xed\xb0\x80"));
	CHECK(text_is(big, 4, SIDE_TYPE_BYTE_ORDER_HOST,
			"\xf4\x8f\xbf\xbf"
			"\xf4\x90\x80\x80"
			"\xf7\xbf\xbf\xbf"
			"\xf8\x88\x80\x80\x80"
			"\xfb\xbf\xbf\xbf\xbf"
			"\xfc\x84\x80\x80\x80\x80"
			"\xfd\xbf\xbf\xbf\xbf\xbf"
			"\xfe\x82\x80\x80\x80\x80\x80"
			"\xfe\x83\xbf\xbf\xbf\xbf\xbf"));
	CHECK(text_is(NULL, 1, 0, "(null)") && text_is(NULL, 2, 0, "(null)") &&
			text_is(NULL, 4, 1, "(null)"));
	CHECK(text_is("\xff\xfe", 1, 0, "\xff\xfe"));
	/* Never writes behind the capacity. */
	CHECK(visit_text_utf8("abcdef", 1, 0, out, 3) == 6 && !memcmp(out, "abc#####", 8));
	CHECK(visit_text_utf8(big, 4, SIDE_TYPE_BYTE_ORDER_HOST, out, 2) == 48 &&
			!memcmp(out,
					"\xf4\x8f"
					"c###",
					6));
	CHECK(visit_text_bytes(big, 4) == 40 && visit_text_bytes(lone_low, 2) == 6 &&
			visit_text_bytes("", 1) == 1);
}

/* All characters of Unicode, in both byte orders, compared with the C library. */
static void all_text(void)
{
	static const struct {
		const char *name;
		unsigned int unit, order;
	} forms[] = {
			{"UTF-16LE", 2, SIDE_TYPE_BYTE_ORDER_LE},
			{"UTF-16BE", 2, SIDE_TYPE_BYTE_ORDER_BE},
			{"UTF-32LE", 4, SIDE_TYPE_BYTE_ORDER_LE},
			{"UTF-32BE", 4, SIDE_TYPE_BYTE_ORDER_BE},
	};
	unsigned int i;

	for (i = 0; i < 4; i++) {
		iconv_t to = iconv_open(forms[i].name, "UTF-8");
		uint32_t code;

		CHECK(to != (iconv_t)-1);
		for (code = 1; code < 0x110000; code += code < 0x3000 ? 1 : 13) {
			unsigned char utf8[VISIT_TEXT_UNIT_MAX], units[8] = {0};
			char *in = (char *)utf8, *out = (char *)units;
			size_t in_size = visit_utf8_encode(code, utf8), out_size = 8,
			       size = in_size;
			char expected[8] = {0};

			if (code >= 0xd800 && code < 0xe000)
				continue;
			memcpy(expected, utf8, size);
			CHECK(!iconv(to, &in, &in_size, &out, &out_size));
			memset(out, 0, out_size);
			CHECK(text_is(units, forms[i].unit, forms[i].order, expected));
		}
		iconv_close(to);
	}
}

/* ---- digits ---- */

static bool digits_are(uint64_t hi, uint64_t lo, bool is_signed, unsigned int bits,
		unsigned int base, const char *expected)
{
	struct visit_value value = {
			.kind = is_signed ? VISIT_SIGNED : VISIT_UNSIGNED,
			.bits = (uint16_t)bits,
			.lo = lo,
			.hi = hi,
	};
	char digits[VISIT_DIGITS_MAX];
	size_t size = visit_value_digits(&value, base, true, digits);

	return size == strlen(expected) && !strcmp(digits, expected);
}

static void digits(void)
{
	struct generator random;
	char expected[32];
	unsigned int i;

	CHECK(digits_are(0, 0, false, 8, 10, "0"));
	CHECK(digits_are(0, 5, false, 3, 2, "0b101"));
	CHECK(digits_are(UINT64_MAX, UINT64_MAX, true, 5, 2, "0b11111"));
	CHECK(digits_are(UINT64_MAX, UINT64_MAX, true, 5, 8, "0o37"));
	CHECK(digits_are(UINT64_MAX, UINT64_MAX, true, 5, 10, "-1"));
	CHECK(digits_are(UINT64_MAX, UINT64_MAX - 1, true, 128, 16,
			"0xfffffffffffffffffffffffffffffffe"));
	CHECK(digits_are(UINT64_MAX, UINT64_MAX, false, 128, 10,
			"340282366920938463463374607431768211455"));
	CHECK(digits_are((uint64_t)1 << 63, 0, true, 128, 10,
			"-170141183460469231731687303715884105728"));
	CHECK(digits_are((uint64_t)1 << 63, 0, true, 128, 8,
			"0o2000000000000000000000000000000000000000000"));
	generator_init(&random, 3);
	for (i = 0; i < 20000; i++) {
		uint64_t number = generator_next(&random) >> generator_below(&random, 64);

		snprintf(expected, sizeof(expected), "%llu", (unsigned long long)number);
		CHECK(digits_are(0, number, false, 64, 10, expected));
		snprintf(expected, sizeof(expected), "%lld", (long long)number);
		CHECK(digits_are((int64_t)number < 0 ? UINT64_MAX : 0, number, true, 64, 10,
				expected));
		snprintf(expected, sizeof(expected), "0x%llx", (unsigned long long)number);
		CHECK(digits_are(0, number, false, 64, 16, expected));
		snprintf(expected, sizeof(expected), "0o%llo", (unsigned long long)number);
		CHECK(digits_are(0, number, false, 64, 8, expected));
	}
	generator_fini(&random);
}

/* ---- bitmaps ---- */

static void bitmaps(void)
{
	struct generator random;
	unsigned int round, i, b;

	generator_init(&random, 4);
	for (round = 0; round < 20000; round++) {
		unsigned int log = generator_below(&random, 6);
		struct side_type item;
		struct side_arg items[4];
		struct visit_bitmap bitmap = {&item, items, generator_below(&random, 5)};
		struct side_enum_bitmap_mapping mapping;
		unsigned int size = log == 5 ? 1 : 1u << log, nr_bits = 8 * size * bitmap.nr_items;
		bool expected = false;

		memset(&item, 0, sizeof(item));
		memset(items, 0, sizeof(items));
		memset(&mapping, 0, sizeof(mapping));
		item.type.v = (uint16_t)(log == 5 ? SIDE_TYPE_BYTE : SIDE_TYPE_U8 + log);
		if (log < 5) {
			item.u.side_integer.integer_size = (uint16_t)size;
			item.u.side_integer.byte_order.v = (uint8_t)generator_below(&random, 2);
		}
		/* Few bits, so that some ranges contain none. */
		for (i = 0; i < 4; i++)
			((unsigned char *)&items[i].u)[generator_below(&random, size)] =
					(unsigned char)(1u << generator_below(&random, 8));
		mapping.range_begin = generator_below(&random, 8 * size * 5);
		mapping.range_end = generator_below(&random, 4)
				? mapping.range_begin + generator_below(&random, 3 * size * 8)
				: generator_below(&random, 2) ? UINT64_MAX
							      : 0;
		for (b = 0; b < nr_bits; b++) {
			unsigned int order = log < 5 ? item.u.side_integer.byte_order.v : 0;

			if (b >= mapping.range_begin && b <= mapping.range_end)
				expected |= bit_of((const unsigned char *)&items[b / (8 * size)].u,
						size, order, b % (8 * size));
		}
		CHECK(visit_bitmap_matches(&mapping, &bitmap) == expected);
	}
	generator_fini(&random);
}

int main(void)
{
	integers();
	wide_integers();
	floats();
	binary128();
	float_digits();
	special_text();
	all_text();
	digits();
	bitmaps();
	return 0;
}
