/* SPDX-License-Identifier: MIT */
/*
 * Gather types: exact bytes for every access mode, and the same bytes whether fields are joined
 * into one copy or not. (Written for little-endian hosts.)
 */
#include <stddef.h>

#include "expect.h"

#define INTEGER(base) arg_pointer(SIDE_TYPE_GATHER_INTEGER, base)
#define STRUCT(base) arg_pointer(SIDE_TYPE_GATHER_STRUCT, base)
#define ARRAY(base) arg_pointer(SIDE_TYPE_GATHER_ARRAY, base)

static void test_scalars(void)
{
	struct {
		uint32_t before;
		uint32_t value;
		uint32_t *to;
	} *data = make_bytes(sizeof(*data)), *null = make_bytes(sizeof(*null));
	uint32_t *there = make_bytes(4);
	float *real = make_bytes(4);

	data->value = 0x04030201;
	*there = 0x08070605;
	*real = 1.5f;
	data->to = there;
	expect_everywhere(gather_integer(4, 4, 0, 0, false, LE, DIRECT), INTEGER(data), "01020304");
	expect_everywhere(gather_integer(4, 4, 0, 0, true, BE, DIRECT), INTEGER(data), "01020304");
	expect_everywhere(
			gather_integer(8, 4, 0, 0, false, LE, POINTER), INTEGER(data), "05060708");
	expect_everywhere(gather_integer(5, 2, 0, 0, false, LE, DIRECT), INTEGER(data), "0203");
	expect_everywhere(gather_byte(6, DIRECT), arg_pointer(SIDE_TYPE_GATHER_BYTE, data), "03");
	expect_everywhere(gather_byte(8, POINTER), arg_pointer(SIDE_TYPE_GATHER_BYTE, data), "05");
	expect_everywhere(gather_float(0, 4, LE, DIRECT), arg_pointer(SIDE_TYPE_GATHER_FLOAT, real),
			"0000c03f");
	expect_everywhere(gather_integer(0, 16, 0, 0, false, LE, DIRECT),
			INTEGER(make_copy("ABCDEFGHIJKLMNOP", 16)), "'ABCDEFGHIJKLMNOP'");
	expect_everywhere(gather_enum(gather_integer(4, 4, 0, 0, false, LE, DIRECT), 0, NULL),
			INTEGER(data), "01020304");
	data->to = (uint32_t *)(uintptr_t)0x1122334455667788;
	expect_everywhere(gather_pointer(8, HOST, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_POINTER, data), "8877665544332211");
	/* Nothing to read from. */
	expect_field_refusal(gather_integer(4, 4, 0, 0, false, LE, DIRECT), INTEGER(NULL),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(gather_integer(8, 4, 0, 0, false, LE, POINTER), INTEGER(null),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(gather_integer(8, 4, 0, 0, false, LE, POINTER), INTEGER(NULL),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(gather_byte(4, DIRECT), INTEGER(data), PLAN_REASON_ARGUMENT_LABEL);
}

/* Compares every bit-field of every storage size with a result that is computed bit by bit. */
static void test_bit_fields(void)
{
	static const uint64_t patterns[] = {0, UINT64_MAX, 0xa5c3f00f12345678, 0x8000000000000001};
	unsigned int size, offset, bits, order, p;

	for (size = 1; size <= 8; size *= 2) {
		unsigned int width = size * 8, step = size == 8 ? 7 : size == 4 ? 3 : 1;

		for (offset = 0; offset < width; offset += step) {
			for (bits = 1; bits + offset <= width; bits += step) {
				for (order = LE; order <= BE; order++) {
					for (p = 0; p < 4; p++) {
						uint64_t value = 0, raw = patterns[p];
						uint8_t bytes[8];
						char text[32] = "", sign_text[32] = "";
						unsigned int i;

						for (i = 0; i < size; i++)
							bytes[i] = (uint8_t)(raw >>
									8 * (order ? size - 1 - i : i));
						for (i = 0; i < bits; i++)
							value |= (raw >> (offset + i) & 1) << i;
						for (i = 0; i < size; i++)
							sprintf(text + 2 * i, "%02x",
									(uint8_t)(value >> 8 * i));
						if (value >> (bits - 1) & 1)
							for (i = bits; i < 64; i++)
								value |= 1ULL << i;
						for (i = 0; i < size; i++)
							sprintf(sign_text + 2 * i, "%02x",
									(uint8_t)(value >> 8 * i));
						/* Whole values keep their bytes. */
						if (bits == width)
							for (i = 0; i < size; i++)
								sprintf(text + 2 * i, "%02x",
										bytes[i]);
						if (bits == width)
							strcpy(sign_text, text);
						expect_field(gather_integer(0, size, offset, bits,
									     false, order, DIRECT),
								INTEGER(make_copy(bytes, size)),
								text);
						expect_field(gather_integer(0, size, offset, bits,
									     true, order, DIRECT),
								INTEGER(make_copy(bytes, size)),
								sign_text);
						if (size > 1 || bits < 8)
							expect_field(gather_bool(0, size, offset,
										     bits, order,
										     DIRECT),
									arg_pointer(SIDE_TYPE_GATHER_BOOL,
											make_copy(bytes,
													size)),
									value ? "01" : "00");
					}
				}
			}
			make_reset();
		}
	}
	expect_field(gather_bool(0, 1, 0, 0, LE, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_BOOL, make_copy("\x40", 1)), "40");
}

static void test_strings(void)
{
	struct {
		char text[8];
		const char *to;
		const char *null;
	} *data = make_bytes(sizeof(*data));
	struct side_type elements;

	strcpy(data->text, "inline");
	data->to = "elsewhere";
	expect_everywhere(gather_string(0, 1, HOST, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_STRING, data), "'inline'00");
	expect_everywhere(gather_string(2, 1, HOST, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_STRING, data), "'line'00");
	expect_everywhere(gather_string(8, 1, HOST, POINTER),
			arg_pointer(SIDE_TYPE_GATHER_STRING, data), "'elsewhere'00");
	expect_everywhere(gather_string(16, 1, HOST, POINTER),
			arg_pointer(SIDE_TYPE_GATHER_STRING, data), "'(null)'00");
	expect_everywhere(gather_string(0, 1, HOST, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_STRING, NULL), "'(null)'00");
	expect_field_refusal(gather_string(8, 1, HOST, POINTER),
			arg_pointer(SIDE_TYPE_GATHER_STRING, NULL), PLAN_REASON_NULL_POINTER);
	expect_field_refusal(gather_string(8, 1, HOST, DIRECT),
			arg_pointer(SIDE_TYPE_GATHER_STRING, NULL), PLAN_REASON_NULL_POINTER);
	/* Adjacent elements: an element extends to the end of its string. */
	elements = gather_array(gather_string(0, 1, HOST, DIRECT), 3, 0, DIRECT);
	expect_everywhere(elements, ARRAY(make_copy("one\0\0three", 11)), "'one'00 00 'three'00");
	expect_everywhere(gather_array(gather_string(1, 1, HOST, DIRECT), 2, 0, DIRECT),
			ARRAY(make_copy("xone\0two", 9)), "'one'00 'two'00");
	expect_everywhere(gather_array(elements, 2, 1, DIRECT),
			ARRAY(make_copy(".a\0b\0c\0d\0e\0f", 13)),
			"'a'00 'b'00 'c'00 'd'00 'e'00 'f'00");
	expect_everywhere(gather_array(gather_string(0, 2, BE, DIRECT), 2, 0, DIRECT),
			ARRAY(make_copy("\0a\0\0\0b\0c\0\0", 10)), "'a'00 'bc'00");
	expect_everywhere(gather_array(gather_string(0, 1, HOST, POINTER), 2, 0, DIRECT),
			ARRAY(make_copy((const char *[]){"first", NULL}, 16)),
			"'first'00 '(null)'00");
}

struct inner {
	uint16_t a;
	uint8_t b;
	uint8_t c;
	uint32_t d;
};

struct outer {
	uint64_t head;
	struct inner direct;
	struct inner *pointer;
	uint8_t bytes[3];
	struct inner list[2];
	uint16_t *numbers;
	uint16_t length;
};

static void test_structures(void)
{
	struct side_type inner_types[4] = {
			gather_integer(0, 2, 0, 0, false, LE, DIRECT),
			gather_byte(2, DIRECT),
			gather_bool(3, 1, 0, 0, LE, DIRECT),
			gather_integer(4, 4, 0, 0, true, LE, DIRECT),
	};
	struct side_type_struct *inner = make_members(4, inner_types, NULL);
	struct side_type outer_types[7] = {
			gather_integer(0, 8, 0, 0, false, LE, DIRECT),
			gather_struct(inner, offsetof(struct outer, direct), sizeof(struct inner),
					DIRECT),
			gather_struct(inner, offsetof(struct outer, pointer), sizeof(struct inner),
					POINTER),
			gather_array(gather_byte(0, DIRECT), 3, offsetof(struct outer, bytes),
					DIRECT),
			gather_array(gather_struct(inner, 0, sizeof(struct inner), DIRECT), 2,
					offsetof(struct outer, list), DIRECT),
			gather_vla(gather_integer(0, 2, 0, 0, false, LE, DIRECT),
					offsetof(struct outer, numbers), POINTER,
					gather_integer(offsetof(struct outer, length), 2, 0, 0,
							false, LE, DIRECT)),
			gather_integer(4, 4, 9, 7, false, LE, DIRECT),
	};
	struct side_type_struct *members = make_members(7, outer_types, NULL);
	struct side_type type = gather_struct(members, 0, sizeof(struct outer), DIRECT);
	struct outer *outer = make_bytes(sizeof(*outer));
	struct outer **pointer = make_copy(&outer, sizeof(outer));
	static const char text[] =
			"0100000002d20100 0500 06 01 fcffffff 0900 0a 00 0b000000 'xyz'"
			"0100 02 01 03000000 0400 05 01 06000000 0300 070008000900 69000000";

	outer->head = 0x0001d20200000001;
	outer->direct = (struct inner){5, 6, 1, (uint32_t)-4};
	outer->pointer = make_copy(&(struct inner){9, 10, 0, 11}, sizeof(struct inner));
	memcpy(outer->bytes, "xyz", 3);
	outer->list[0] = (struct inner){1, 2, 1, 3};
	outer->list[1] = (struct inner){4, 5, 1, 6};
	outer->numbers = make_copy((uint16_t[]){7, 8, 9}, 6);
	outer->length = 3;
	expect_everywhere(type, STRUCT(outer), text);
	type = gather_struct(members, 0, sizeof(struct outer), POINTER);
	expect_everywhere(type, STRUCT(pointer), text);
	/* A pointer inside that is NULL. */
	outer->pointer = NULL;
	expect_field_refusal(type, STRUCT(pointer), PLAN_REASON_NULL_POINTER);
	outer->pointer = &outer->direct;
	outer->numbers = NULL;
	expect_field_refusal(type, STRUCT(pointer), PLAN_REASON_NULL_POINTER);
	/* But an empty list needs no memory. */
	outer->length = 0;
	expect_field(gather_struct(make_members(1, &outer_types[5], NULL), 0, sizeof(struct outer),
				     DIRECT),
			STRUCT(outer), "0000");
	expect_field(gather_struct(make_members(0, NULL, NULL), 8, 0, POINTER), STRUCT(NULL), "");
}

static void test_arrays(void)
{
	struct side_type u16 = gather_integer(0, 2, 0, 0, false, LE, DIRECT);
	struct side_type odd = gather_integer(2, 2, 0, 0, false, LE, DIRECT);
	uint16_t numbers[] = {1, 2, 3, 4, 5, 6};
	uint16_t *copy = make_copy(numbers, sizeof(numbers));
	uint16_t *pointers[] = {copy + 2, copy};
	struct side_type part[1] = {gather_integer(2, 2, 0, 0, false, LE, DIRECT)};
	struct side_type_struct *members = make_members(1, part, NULL);

	expect_everywhere(gather_array(u16, 6, 0, DIRECT), ARRAY(copy), "010002000300040005000600");
	expect_everywhere(gather_array(u16, 2, 4, DIRECT), ARRAY(copy), "03000400");
	/* The offset of an element moves the read, but does not change the stride. */
	expect_everywhere(gather_array(odd, 5, 0, DIRECT), ARRAY(copy), "02000300040005000600");
	expect_everywhere(gather_array(gather_array(u16, 3, 0, DIRECT), 2, 0, DIRECT), ARRAY(copy),
			"010002000300040005000600");
	expect_everywhere(gather_array(gather_array(u16, 2, 2, DIRECT), 2, 0, DIRECT), ARRAY(copy),
			"0200 0300 0400 0500");
	/* Structures of four bytes, two of which are described. */
	expect_everywhere(gather_array(gather_struct(members, 0, 4, DIRECT), 3, 0, DIRECT),
			ARRAY(copy), "0200 0400 0600");
	expect_everywhere(
			gather_array(gather_integer(0, 2, 0, 0, false, LE, POINTER), 2, 0, DIRECT),
			ARRAY(make_copy(pointers, sizeof(pointers))), "0300 0100");
	expect_everywhere(gather_array(gather_array(u16, 2, 0, POINTER), 2, 0, DIRECT),
			ARRAY(make_copy(pointers, sizeof(pointers))), "03000400 01000200");
	expect_everywhere(gather_array(u16, 2, 8, POINTER),
			ARRAY(make_copy(pointers, sizeof(pointers))), "01000200");
	expect_everywhere(gather_array(gather_integer(0, 2, 1, 3, false, LE, DIRECT), 3, 0, DIRECT),
			ARRAY(copy), "0000 0100 0100");
	expect_everywhere(gather_array(gather_bool(0, 2, 0, 0, LE, DIRECT), 2, 0, DIRECT),
			ARRAY(copy), "01 01");
	expect_everywhere(gather_array(u16, 0, 0, DIRECT), ARRAY(NULL), "");
	expect_everywhere(gather_array(u16, 0, 0, POINTER), ARRAY(NULL), "");
	expect_field_refusal(
			gather_array(u16, 1, 0, DIRECT), ARRAY(NULL), PLAN_REASON_NULL_POINTER);
	/* Long enough for the string instruction. */
	{
		char *long_copy = make_bytes(3000), text[8192] = "";
		unsigned int i;

		for (i = 0; i < 3000; i++) {
			long_copy[i] = (char)(i % 251);
			sprintf(text + 2 * i, "%02x", i % 251);
		}
		expect_field(gather_array(gather_byte(0, DIRECT), 3000, 0, DIRECT),
				ARRAY(long_copy), text);
	}
}

static void test_vlas(void)
{
	struct side_type u16 = gather_integer(0, 2, 0, 0, false, LE, DIRECT);
	struct side_type length = gather_integer(0, 2, 0, 0, false, LE, DIRECT);
	uint16_t *data = make_copy((uint16_t[]){1, 2, 3}, 6);
	uint16_t *two = make_copy((uint16_t[]){2}, 2);
	uint16_t **pointer = make_copy(&two, sizeof(two));
	int8_t *minus = make_copy((int8_t[]){-1}, 1);
	uint64_t *huge = make_copy((uint64_t[]){1ULL << 32, 0}, 16);

	expect_everywhere(gather_vla(u16, 0, DIRECT, length), arg_gather_vla(data, two),
			"0200 01000200");
	expect_everywhere(gather_vla(u16, 2, DIRECT, length), arg_gather_vla(data, two),
			"0200 02000300");
	expect_everywhere(
			gather_vla(u16, 0, POINTER, gather_integer(0, 2, 0, 0, false, LE, POINTER)),
			arg_gather_vla(make_copy(&data, 8), pointer), "0200 01000200");
	/* The length is normalised to host order; a length of 16 bytes becomes 8. */
	expect_everywhere(gather_vla(u16, 0, DIRECT, gather_integer(0, 2, 8, 4, true, BE, DIRECT)),
			arg_gather_vla(data, make_copy("\x01\xff", 2)), "0100 0100");
	expect_everywhere(
			gather_vla(u16, 0, DIRECT, gather_integer(0, 16, 0, 0, false, LE, DIRECT)),
			arg_gather_vla(data, make_copy("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16)),
			"0100000000000000 0100");
	expect_everywhere(gather_vla(gather_string(0, 1, HOST, DIRECT), 0, DIRECT, length),
			arg_gather_vla(make_copy("ab\0cd", 6), two), "0200 'ab'00 'cd'00");
	expect_everywhere(gather_vla(gather_struct(make_members(0, NULL, NULL), 0, 8, DIRECT), 0,
					  DIRECT, length),
			arg_gather_vla(NULL, two), "0200");
	expect_field_refusal(
			gather_vla(u16, 0, DIRECT, gather_integer(0, 1, 0, 0, true, LE, DIRECT)),
			arg_gather_vla(data, minus), PLAN_REASON_LENGTH);
	expect_field_refusal(
			gather_vla(u16, 0, DIRECT, gather_integer(0, 8, 0, 0, true, LE, DIRECT)),
			arg_gather_vla(data, huge), PLAN_REASON_LENGTH);
	huge[0] = 1;
	huge[1] = 1;
	expect_field_refusal(
			gather_vla(u16, 0, DIRECT, gather_integer(0, 16, 0, 0, true, LE, DIRECT)),
			arg_gather_vla(data, huge), PLAN_REASON_LENGTH);
	expect_field_refusal(gather_vla(u16, 0, DIRECT, length), arg_gather_vla(data, NULL),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(gather_vla(u16, 0, DIRECT, length), arg_gather_vla(NULL, two),
			PLAN_REASON_NULL_POINTER);
}

/*
 * An absurd length, and no memory after the array: the plan must not read more than fits the
 * record.
 */
static void test_absurd_length(void)
{
	struct side_type type = gather_vla(gather_integer(0, 2, 0, 0, false, LE, DIRECT), 0, DIRECT,
			gather_integer(0, 4, 0, 0, false, LE, DIRECT));
	struct plan *plan = expect_plan(make_event(1, &type, NULL, 0), __LINE__);
	uint32_t *length = make_copy((uint32_t[]){UINT32_MAX}, 4);
	struct side_arg arg = arg_gather_vla(length, length);
	uint8_t buffer[64];
	int line = __LINE__;

	EXPECT(plan_serialize(plan, make_vector(1, &arg), NULL, buffer, sizeof(buffer)) == -E2BIG,
			"an absurd length passed");
	plan_free(plan);
}

/* A long last field after others: each of them makes the head longer. */
static void test_spans(void)
{
	struct side_type types[3] = {make_plain(2, false), make_string(1, HOST),
			gather_array(gather_byte(1, DIRECT), 100, 0, DIRECT)};
	struct side_arg args[3] = {ARG(SIDE_TYPE_U16, uint16_t, 0x2211),
			arg_pointer(SIDE_TYPE_STRING_UTF8, "end")};
	char *bytes = make_bytes(101), text[512] = "11 22 'end' 00 ";
	unsigned int before = expect_spans, i;
	struct plan *plan;

	for (i = 0; i < 101; i++) {
		bytes[i] = (char)(i + 7);
		if (i)
			sprintf(text + strlen(text), "%02x", i + 7);
	}
	args[2] = ARRAY(bytes);
	expect_record(make_event(3, types, NULL, 0), make_vector(3, args), NULL, text);
	if (expect_spans != before + 1)
		exit(1);
	/* No span if another field follows, or if the field is short. */
	types[2] = types[0];
	types[0] = gather_array(gather_byte(0, DIRECT), 100, 0, DIRECT);
	plan = expect_plan(make_event(3, types, NULL, 0), __LINE__);
	if (plan->kind != PLAN_KIND_GP_ONLY)
		exit(1);
	plan_free(plan);
	types[0] = gather_array(gather_byte(0, DIRECT), 10, 0, DIRECT);
	plan = expect_plan(make_event(1, types, NULL, 0), __LINE__);
	if (plan->kind != PLAN_KIND_GP_ONLY)
		exit(1);
	plan_free(plan);
}

int main(void)
{
	test_scalars();
	test_bit_fields();
	test_strings();
	test_structures();
	test_arrays();
	test_vlas();
	test_absurd_length();
	test_spans();
	return expect_end();
}
