/* SPDX-License-Identifier: MIT */
/*
 * Scalars and strings: the exact bytes of docs/spec/recording.md, section 3. (Written for
 * little-endian hosts.)
 */
#include "expect.h"

static void test_integers(void)
{
	unsigned int size, order;

	for (size = 1; size <= 16; size *= 2) {
		for (order = LE; order <= BE; order++) {
			struct side_type type = make_integer(
					integer_label(size, false), size, 0, false, order);
			uint8_t value[16];
			char text[64] = "";
			unsigned int i;

			for (i = 0; i < size; i++) {
				value[i] = (uint8_t)(0x11 * (i + 1));
				sprintf(text + strlen(text), "%02x", value[i]);
			}
			/* Not partial: the bytes are copied in either byte order. */
			expect_everywhere(type, arg_value(type.type.v, value, size), text);
			type.u.side_integer.len_bits = (uint16_t)(size * 8);
			expect_everywhere(type, arg_value(type.type.v, value, size), text);
			type.type.v = (uint16_t)integer_label(size, true);
			type.u.side_integer.signedness = 1;
			expect_everywhere(type, arg_value(type.type.v, value, size), text);
		}
	}
	expect_everywhere(make_integer(SIDE_TYPE_POINTER, sizeof(void *), 0, false, HOST),
			ARG(SIDE_TYPE_POINTER, uintptr_t, 0x0102030405060708), "0807060504030201");
	expect_everywhere(make_label(SIDE_TYPE_BYTE), ARG(SIDE_TYPE_BYTE, uint8_t, 0xfe), "fe");
	expect_everywhere(make_label(SIDE_TYPE_NULL), arg_value(SIDE_TYPE_NULL, NULL, 0), "");
	/* The type in the description decides, not the label. */
	expect_everywhere(make_integer(SIDE_TYPE_U8, 4, 0, false, HOST),
			ARG(SIDE_TYPE_U8, uint32_t, 0x01020304), "04030201");
}

/* len_bits: the bits are extracted, extended to the storage, and written in host order. */
static void test_partial_integers(void)
{
	expect_everywhere(make_integer(SIDE_TYPE_U16, 2, 9, false, LE),
			ARG(SIDE_TYPE_U16, uint16_t, 0xfeff), "ff00");
	expect_everywhere(make_integer(SIDE_TYPE_U16, 2, 9, false, BE),
			ARG(SIDE_TYPE_U16, uint16_t, 0xff7f), "ff01");
	expect_everywhere(make_integer(SIDE_TYPE_S16, 2, 9, true, LE),
			ARG(SIDE_TYPE_S16, uint16_t, 0x0100), "00ff");
	expect_everywhere(make_integer(SIDE_TYPE_S32, 4, 1, true, LE),
			ARG(SIDE_TYPE_S32, uint32_t, 0x7fffffff), "ffffffff");
	expect_everywhere(make_integer(SIDE_TYPE_S32, 4, 31, true, BE),
			ARG(SIDE_TYPE_S32, uint32_t, 0xffffff3f), "ffffff3f");
	expect_everywhere(make_integer(SIDE_TYPE_U8, 1, 3, false, LE),
			ARG(SIDE_TYPE_U8, uint8_t, 0xfd), "05");
	expect_everywhere(make_integer(SIDE_TYPE_U64, 8, 63, false, LE),
			ARG(SIDE_TYPE_U64, uint64_t, UINT64_MAX), "ffffffffffffff7f");
	expect_everywhere(make_integer(SIDE_TYPE_S64, 8, 33, true, BE),
			ARG(SIDE_TYPE_S64, uint64_t, __builtin_bswap64(0x100000000)),
			"00000000ffffffff");
	/* Never for 16 bytes. */
	expect_everywhere(make_integer(SIDE_TYPE_U128, 16, 5, false, LE),
			arg_value(SIDE_TYPE_U128, "ABCDEFGHIJKLMNOP", 16), "'ABCDEFGHIJKLMNOP'");
}

static void test_bools(void)
{
	expect_everywhere(make_bool(1, 0, LE), ARG(SIDE_TYPE_BOOL, uint8_t, 1), "01");
	expect_everywhere(make_bool(1, 8, BE), ARG(SIDE_TYPE_BOOL, uint8_t, 0x80), "80");
	expect_everywhere(make_bool(1, 7, LE), ARG(SIDE_TYPE_BOOL, uint8_t, 0x80), "00");
	expect_everywhere(make_bool(1, 7, LE), ARG(SIDE_TYPE_BOOL, uint8_t, 0xc0), "01");
	expect_everywhere(make_bool(2, 0, LE), ARG(SIDE_TYPE_BOOL, uint16_t, 0x100), "01");
	expect_everywhere(make_bool(2, 0, LE), ARG(SIDE_TYPE_BOOL, uint16_t, 0), "00");
	expect_everywhere(make_bool(4, 0, BE), ARG(SIDE_TYPE_BOOL, uint32_t, 0x80000000), "01");
	expect_everywhere(make_bool(4, 24, BE), ARG(SIDE_TYPE_BOOL, uint32_t, 0x000000ff), "00");
	expect_everywhere(make_bool(8, 0, LE), ARG(SIDE_TYPE_BOOL, uint64_t, 1ULL << 63), "01");
	expect_everywhere(make_bool(8, 63, LE), ARG(SIDE_TYPE_BOOL, uint64_t, 1ULL << 63), "00");
}

static void test_floats(void)
{
	expect_everywhere(make_float(4, HOST), ARG(SIDE_TYPE_FLOAT_BINARY32, float, 1.5f),
			"0000c03f");
	expect_everywhere(make_float(4, BE), arg_value(SIDE_TYPE_FLOAT_BINARY32, "\x3f\xc0\0\0", 4),
			"3fc00000");
	expect_everywhere(make_float(8, HOST), ARG(SIDE_TYPE_FLOAT_BINARY64, double, -2.0),
			"00000000000000c0");
	expect_everywhere(make_float(16, HOST),
			arg_value(SIDE_TYPE_FLOAT_BINARY128, "ABCDEFGHIJKLMNOP", 16),
			"'ABCDEFGHIJKLMNOP'");
}

static void expect_half(uint16_t half, uint32_t single)
{
	uint8_t *bytes = (uint8_t *)&single;
	uint16_t swapped = (uint16_t)(half << 8 | half >> 8);
	char text[16];

	sprintf(text, "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
	expect_field(make_float(2, LE), arg_value(SIDE_TYPE_FLOAT_BINARY16, &half, 2), text);
	expect_field(make_float(2, BE), arg_value(SIDE_TYPE_FLOAT_BINARY16, &swapped, 2), text);
	expect_field(gather_float(0, 2, LE, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_FLOAT, make_copy(&half, 2)), text);
	expect_field(gather_float(0, 2, BE, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_FLOAT, make_copy(&swapped, 2)), text);
}

/* All 65536 values, compared with arithmetic: value = fraction * 2^exponent. */
static void test_half_floats(void)
{
	struct side_type type = make_float(2, HOST);
	struct plan *plan = expect_plan(make_event(1, &type, NULL, 0), __LINE__);
	int line = __LINE__;
	uint32_t half;

	expect_half(0x3c00, 0x3f800000); /* 1 */
	expect_half(0x0001, 0x33800000); /* 2^-24 */
	expect_half(0x83ff, 0xb87fc000); /* largest subnormal, negative */
	expect_half(0x7bff, 0x477fe000); /* 65504 */
	expect_half(0xfc00, 0xff800000); /* minus infinity */
	expect_half(0x7e01, 0x7fc02000); /* quiet NaN with payload */
	expect_half(0xfd55, 0xffaaa000); /* signalling NaN with payload */
	for (half = 0; half < 0x10000; half++) {
		uint16_t value = (uint16_t)half;
		struct side_arg arg = arg_value(SIDE_TYPE_FLOAT_BINARY16, &value, 2);
		struct side_arg_vec vector = {.sav = SIDE_PTR_INIT(&arg), .len = 1};
		int exponent = (value >> 10) & 31;
		float expected, got;

		if (exponent == 31)
			continue;
		EXPECT(plan_serialize(plan, &vector, NULL, &got, 4) == 4, "half %x", half);
		expected = exponent ? (float)(1024 + (value & 1023)) : (float)(value & 1023);
		expected = __builtin_ldexpf(expected, (exponent ? exponent : 1) - 25);
		if (value & 0x8000)
			expected = -expected;
		EXPECT(!memcmp(&expected, &got, 4), "half %x is %a, not %a", half, (double)expected,
				(double)got);
	}
	plan_free(plan);
}

/* Strings of every length at every alignment, in buffers of every size. */
static void test_strings(void)
{
	struct side_type type = make_string(1, HOST);
	unsigned int length, offset, i;

	for (length = 0; length <= 40; length++) {
		char text[256] = "";
		char *copy = make_bytes(length + 9);

		for (i = 0; i < length; i++)
			sprintf(text + strlen(text), "%02x", 0xff - i % 255);
		strcat(text, "00");
		for (offset = 0; offset < 8; offset++) {
			for (i = 0; i < length; i++)
				copy[offset + i] = (char)(0xff - i % 255);
			copy[offset + length] = '\0';
			expect_field(type, arg_pointer(SIDE_TYPE_STRING_UTF8, copy + offset), text);
		}
	}
	expect_everywhere(type, arg_pointer(SIDE_TYPE_STRING_UTF8, "\x01\x80\x7f"), "01807f00");
	expect_everywhere(type, arg_pointer(SIDE_TYPE_STRING_UTF8, NULL), "'(null)'00");
	expect_everywhere(make_string(2, HOST), arg_pointer(SIDE_TYPE_STRING_UTF16, NULL),
			"'(null)'00");
	expect_everywhere(make_string(4, BE), arg_pointer(SIDE_TYPE_STRING_UTF32, NULL),
			"'(null)'00");
}

/* Units in host order, including the NUL, checked in both orders. */
static void expect_16(const uint16_t *units, unsigned int count, const char *text)
{
	uint16_t *swapped = make_bytes(count * 2);
	unsigned int i;

	for (i = 0; i < count; i++)
		swapped[i] = (uint16_t)(units[i] << 8 | units[i] >> 8);
	expect_everywhere(make_string(2, LE),
			arg_pointer(SIDE_TYPE_STRING_UTF16, make_copy(units, count * 2)), text);
	expect_everywhere(make_string(2, BE), arg_pointer(SIDE_TYPE_STRING_UTF16, swapped), text);
	expect_field(gather_string(0, 2, BE, DIRECT), arg_pointer(SIDE_TYPE_GATHER_STRING, swapped),
			text);
}

static void expect_32(const uint32_t *units, unsigned int count, const char *text)
{
	uint32_t *swapped = make_bytes(count * 4);
	unsigned int i;

	for (i = 0; i < count; i++)
		swapped[i] = __builtin_bswap32(units[i]);
	expect_everywhere(make_string(4, LE),
			arg_pointer(SIDE_TYPE_STRING_UTF32, make_copy(units, count * 4)), text);
	expect_everywhere(make_string(4, BE), arg_pointer(SIDE_TYPE_STRING_UTF32, swapped), text);
	expect_field(gather_string(0, 4, LE, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_STRING, make_copy(units, count * 4)), text);
}

static void test_wide_strings(void)
{
	expect_16((uint16_t[]){0}, 1, "00");
	expect_16((uint16_t[]){'a', 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0}, 7,
			"61 7f c280 dfbf e0a080 efbfbf 00");
	/* A pair, also at both ends of the planes. */
	expect_16((uint16_t[]){0xd83d, 0xde00, 0xd800, 0xdc00, 0xdbff, 0xdfff, 0}, 7,
			"f09f9880 f0908080 f48fbfbf 00");
	/* Lone surrogates: high at the end, high before a letter, low alone, low before high. */
	expect_16((uint16_t[]){0xd800, 0}, 2, "eda080 00");
	expect_16((uint16_t[]){0xdbff, 'x', 0}, 3, "edafbf 78 00");
	expect_16((uint16_t[]){0xdc00, 0}, 2, "edb080 00");
	expect_16((uint16_t[]){0xdfff, 0xd800, 0}, 3, "edbfbf eda080 00");
	expect_16((uint16_t[]){0xd800, 0xd801, 0xdc01, 0}, 4, "eda080 f0909081 00");
	expect_32((uint32_t[]){0}, 1, "00");
	expect_32((uint32_t[]){'a', 0x80, 0x800, 0xd800, 0xdc00, 0xffff, 0x10000, 0}, 8,
			"61 c280 e0a080 eda080 edb080 efbfbf f0908080 00");
	expect_32((uint32_t[]){0x10ffff, 0x110000, 0x1fffff, 0x200000, 0x3ffffff, 0}, 6,
			"f48fbfbf f4908080 f7bfbfbf f888808080 fbbfbfbfbf 00");
	expect_32((uint32_t[]){0x4000000, 0x7fffffff, 0x80000000, 0xffffffff, 0}, 5,
			"fc8480808080 fdbfbfbfbfbf fe828080808080 fe83bfbfbfbfbf 00");
}

/* Runs, blocks, and strings among them. */
static void test_mixtures(void)
{
	static const unsigned int sizes[] = {1, 8, 2, 4, 16, 4, 4, 1, 1, 1, 1, 1, 8, 8, 2};
	enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
	struct side_type types[2 * COUNT + 2];
	struct side_arg args[2 * COUNT + 2];
	char text[2048] = "";
	unsigned int i, k, count;

	for (i = 0; i < COUNT; i++) {
		uint8_t value[16];

		for (k = 0; k < sizes[i]; k++) {
			value[k] = (uint8_t)(i * 16 + k);
			sprintf(text + strlen(text), "%02x", value[k]);
		}
		types[i] = make_plain(sizes[i], i & 1);
		args[i] = arg_value(types[i].type.v, value, sizes[i]);
		expect_record(make_event(i + 1, types, NULL, 0), make_vector(i + 1, args), NULL,
				text);
	}
	types[COUNT] = make_label(SIDE_TYPE_NULL);
	args[COUNT] = arg_value(SIDE_TYPE_NULL, NULL, 0);
	types[COUNT + 1] = make_string(1, HOST);
	args[COUNT + 1] = arg_pointer(SIDE_TYPE_STRING_UTF8, "middle");
	strcat(text, "'middle'00");
	count = COUNT + 2;
	expect_record(make_event(count, types, NULL, 0), make_vector(count, args), NULL, text);
	for (i = 0; i < COUNT; i++) {
		uint8_t value[16];

		memset(value, (int)i, sizeof(value));
		for (k = 0; k < sizes[i]; k++)
			sprintf(text + strlen(text), "%02x", i);
		types[count] = make_plain(sizes[i], false);
		args[count] = arg_value(types[count].type.v, value, sizes[i]);
		count++;
	}
	expect_record(make_event(count, types, NULL, 0), make_vector(count, args), NULL, text);
	/* The same as members, which another interpreter records. */
	expect_field(make_struct(count, types, NULL), arg_vector(SIDE_TYPE_STRUCT, count, args),
			text);
	for (i = 0; i < count; i++) {
		struct side_arg kept = args[i];

		args[i].type.v = 50;
		expect_refusal(make_event(count, types, NULL, 0), make_vector(count, args), NULL,
				PLAN_REASON_ARGUMENT_LABEL);
		args[i] = kept;
	}
	expect_record(make_event(0, NULL, NULL, 0), make_vector(0, NULL), NULL, "");
	expect_record(make_event(0, NULL, NULL, 0), NULL, NULL, "");
}

/* More scalars of one type than the loops copy at once, and more operations than steps. */
static void test_many(void)
{
	struct side_type types[300];
	struct side_arg args[300];
	char text[4096] = "";
	uint32_t i;

	for (i = 0; i < 300; i++) {
		types[i] = make_plain(2, false);
		args[i] = ARG(SIDE_TYPE_U16, uint16_t, (uint16_t)i);
		sprintf(text + strlen(text), "%02x%02x", i & 255, i >> 8);
		if (i % 37 < 9)
			expect_record(make_event(i + 1, types, NULL, 0), make_vector(i + 1, args),
					NULL, text);
	}
	text[0] = '\0';
	for (i = 0; i < 300; i++) {
		types[i] = i & 1 ? make_string(1, HOST) : make_plain(1, false);
		args[i] = i & 1 ? arg_pointer(SIDE_TYPE_STRING_UTF8, "y")
				: ARG(SIDE_TYPE_U8, uint8_t, (uint8_t)i);
		sprintf(text + strlen(text), i & 1 ? "7900" : "%02x", i & 255);
	}
	expect_record(make_event(300, types, NULL, 0), make_vector(300, args), NULL, text);
	expect_record(make_event(60, types, NULL, 0), make_vector(60, args), NULL,
			(text[60 * 3] = '\0', text));
}

/*
 * Nulls have no bytes: one null and several, at the end of a record of full size, and after
 * strings.
 */
static void test_nulls(void)
{
	struct side_type null = make_label(SIDE_TYPE_NULL), types[12];
	struct side_arg args[12];

	types[0] = make_plain(2, false);
	args[0] = ARG(SIDE_TYPE_U16, uint16_t, 0x2211);
	for (uint32_t i = 1; i < 12; i++) {
		types[i] = null;
		args[i] = arg_value(SIDE_TYPE_NULL, NULL, 0);
		expect_record(make_event(i + 1, types, NULL, 0), make_vector(i + 1, args), NULL,
				"11 22");
	}
	types[3] = types[0];
	args[3] = ARG(SIDE_TYPE_U16, uint16_t, 0x4433);
	expect_record(make_event(6, types, NULL, 0), make_vector(6, args), NULL, "11 22 33 44");
	types[3] = make_string(1, HOST);
	args[3] = arg_pointer(SIDE_TYPE_STRING_UTF8, "end");
	for (uint32_t i = 4; i <= 6; i++)
		expect_record(make_event(i, types, NULL, 0), make_vector(i, args), NULL,
				"11 22 'end' 00");
	/* The first and the last null of several. */
	for (uint32_t i = 1; i < 6; i += i == 1 ? 1 : 3) {
		struct side_arg was = args[i];

		args[i] = ARG(SIDE_TYPE_U8, uint8_t, 5);
		expect_refusal(make_event(6, types, NULL, 0), make_vector(6, args), NULL,
				PLAN_REASON_ARGUMENT_LABEL);
		args[i] = was;
	}
}

int main(void)
{
	test_integers();
	test_nulls();
	test_partial_integers();
	test_bools();
	test_floats();
	test_half_floats();
	test_strings();
	test_wide_strings();
	test_mixtures();
	test_many();
	/* Plans of one scalar use a method of their own, which this test must have checked. */
	return expect_end() || !nr_scalar_plans;
}
