/* SPDX-License-Identifier: MIT */
/*
 * Compound stack-copy types, enumerations, variants, optionals, visitors: exact bytes. (Written for
 * little-endian hosts.)
 */
#include "expect.h"

#define U8(value) ARG(SIDE_TYPE_U8, uint8_t, value)
#define U16(value) ARG(SIDE_TYPE_U16, uint16_t, value)
#define U32(value) ARG(SIDE_TYPE_U32, uint32_t, value)
#define TEXT(text) arg_pointer(SIDE_TYPE_STRING_UTF8, text)

static void test_structures(void)
{
	struct side_type inner[2] = {make_plain(1, false), make_string(1, HOST)};
	struct side_type outer[3] = {
			make_plain(2, false), make_struct(2, inner, NULL), make_plain(2, false)};
	struct side_arg inner_args[2] = {U8(1), TEXT("x")};
	struct side_arg args[3] = {U16(2), arg_vector(SIDE_TYPE_STRUCT, 2, inner_args), U16(3)};

	expect_everywhere(make_struct(3, outer, NULL), arg_vector(SIDE_TYPE_STRUCT, 3, args),
			"0200 01 'x'00 0300");
	expect_everywhere(make_struct(0, NULL, NULL), arg_vector(SIDE_TYPE_STRUCT, 0, NULL), "");
	expect_field_refusal(make_struct(3, outer, NULL), arg_vector(SIDE_TYPE_STRUCT, 2, args),
			PLAN_REASON_ARGUMENT_COUNT);
	expect_field_refusal(make_struct(3, outer, NULL), arg_pointer(SIDE_TYPE_STRUCT, NULL),
			PLAN_REASON_NULL_POINTER);
}

static void test_arrays(void)
{
	struct side_type bytes = make_array(make_plain(1, false), 5);
	struct side_type texts = make_array(make_string(1, HOST), 2);
	struct side_arg args[5] = {U8(1), U8(2), U8(3), U8(4), U8(5)};
	struct side_arg text_args[2] = {TEXT("one"), TEXT(NULL)};
	struct side_arg rows[2] = {
			arg_vector(SIDE_TYPE_ARRAY, 5, args), arg_vector(SIDE_TYPE_ARRAY, 5, args)};
	struct side_arg broken = arg_vector(SIDE_TYPE_ARRAY, 5, args);

	expect_everywhere(bytes, arg_vector(SIDE_TYPE_ARRAY, 5, args), "0102030405");
	expect_everywhere(texts, arg_vector(SIDE_TYPE_ARRAY, 2, text_args), "'one'00 '(null)'00");
	expect_everywhere(make_array(bytes, 2), arg_vector(SIDE_TYPE_ARRAY, 2, rows),
			"0102030405 0102030405");
	expect_everywhere(make_array(texts, 0), arg_vector(SIDE_TYPE_ARRAY, 0, NULL), "");
	expect_field_refusal(bytes, arg_vector(SIDE_TYPE_ARRAY, 4, args), PLAN_REASON_LENGTH);
	expect_field_refusal(
			texts, arg_vector(SIDE_TYPE_ARRAY, 2, args), PLAN_REASON_ARGUMENT_LABEL);
	side_ptr_set(((struct side_arg_vec *)side_ptr_get(broken.u.side_static.side_array))->sav,
			NULL);
	expect_field_refusal(bytes, broken, PLAN_REASON_NULL_POINTER);
	args[4] = U16(5);
	expect_field_refusal(
			bytes, arg_vector(SIDE_TYPE_ARRAY, 5, args), PLAN_REASON_ARGUMENT_LABEL);
}

static void test_vlas(void)
{
	struct side_arg *many = make_bytes(70000 * sizeof(*many));
	struct side_arg args[3] = {U16(1), U16(2), U16(3)};
	struct side_type u16 = make_plain(2, false);
	struct side_arg nested[2] = {
			arg_vector(SIDE_TYPE_VLA, 2, args), arg_vector(SIDE_TYPE_VLA, 0, NULL)};
	uint32_t i;

	expect_everywhere(make_vla(u16, make_plain(1, false)), arg_vector(SIDE_TYPE_VLA, 3, args),
			"03 010002000300");
	expect_everywhere(make_vla(u16, make_plain(2, true)), arg_vector(SIDE_TYPE_VLA, 3, args),
			"0300 010002000300");
	expect_everywhere(make_vla(u16, make_integer(SIDE_TYPE_U32, 4, 0, false, BE)),
			arg_vector(SIDE_TYPE_VLA, 1, args), "01000000 0100");
	expect_everywhere(make_vla(u16, make_plain(8, false)), arg_vector(SIDE_TYPE_VLA, 0, NULL),
			"0000000000000000");
	expect_everywhere(make_vla(u16, make_plain(16, true)), arg_vector(SIDE_TYPE_VLA, 1, args),
			"0100000000000000 0100");
	expect_everywhere(make_vla(make_vla(u16, make_plain(1, false)), make_plain(4, false)),
			arg_vector(SIDE_TYPE_VLA, 2, nested), "02000000 02 01000200 00");
	expect_field_refusal(make_vla(u16, make_plain(1, false)), arg_pointer(SIDE_TYPE_VLA, NULL),
			PLAN_REASON_NULL_POINTER);
	/*
	 * A length that its type cannot hold. The elements are null, so that the record fits the
	 * buffer.
	 */
	for (i = 0; i < 70000; i++)
		many[i] = arg_value(SIDE_TYPE_NULL, NULL, 0);
	expect_everywhere(make_vla(make_label(SIDE_TYPE_NULL), make_plain(1, true)),
			arg_vector(SIDE_TYPE_VLA, 255, many), "ff");
	expect_field_refusal(make_vla(make_label(SIDE_TYPE_NULL), make_plain(1, false)),
			arg_vector(SIDE_TYPE_VLA, 256, many), PLAN_REASON_LENGTH);
	expect_field(make_vla(make_label(SIDE_TYPE_NULL), make_plain(2, false)),
			arg_vector(SIDE_TYPE_VLA, 65535, many), "ffff");
	expect_field_refusal(make_vla(make_label(SIDE_TYPE_NULL), make_plain(2, false)),
			arg_vector(SIDE_TYPE_VLA, 65536, many), PLAN_REASON_LENGTH);
	expect_field(make_vla(make_label(SIDE_TYPE_NULL), make_plain(4, false)),
			arg_vector(SIDE_TYPE_VLA, 65536, many), "00000100");
}

static void test_enumerations(void)
{
	static const struct make_mapping labels[] = {{0, 1, "low"}, {5, 2, "empty"}};
	struct side_type u8 = make_plain(1, false);
	struct side_arg items[2] = {U8(0x80), U8(1)};

	expect_everywhere(make_enum(make_plain(2, true), 2, labels),
			ARG(SIDE_TYPE_S16, int16_t, -2), "feff");
	expect_everywhere(make_enum(make_integer(SIDE_TYPE_U32, 4, 0, false, BE), 0, NULL),
			U32(0x01020304), "04030201");
	expect_everywhere(make_bitmap(u8, 2, labels), U8(0x81), "81");
	expect_everywhere(make_bitmap(make_label(SIDE_TYPE_BYTE), 2, labels),
			ARG(SIDE_TYPE_BYTE, uint8_t, 3), "03");
	expect_everywhere(make_bitmap(make_array(u8, 2), 2, labels),
			arg_vector(SIDE_TYPE_ARRAY, 2, items), "8001");
	expect_everywhere(make_bitmap(make_vla(u8, make_plain(1, false)), 2, labels),
			arg_vector(SIDE_TYPE_VLA, 2, items), "02 8001");
	expect_field_refusal(make_enum(u8, 2, labels), U16(1), PLAN_REASON_ARGUMENT_LABEL);
}

static void test_optionals(void)
{
	struct side_type type = make_optional(make_string(1, HOST));

	expect_everywhere(type, arg_optional(TEXT("here"), 1), "01 'here'00");
	expect_everywhere(type, arg_optional(TEXT("here"), 0x80), "01 'here'00");
	/* If the optional is absent, its value and its label are ignored. */
	expect_everywhere(type, arg_optional(U8(1), 0), "00");
	expect_field_refusal(type, arg_optional(U8(1), 1), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(type, arg_pointer(SIDE_TYPE_OPTIONAL, NULL), PLAN_REASON_NULL_POINTER);
	expect_everywhere(make_optional(make_optional(make_plain(2, false))),
			arg_optional(arg_optional(U16(7), 1), 1), "01 01 0700");
}

static void test_variants(void)
{
	const struct make_option options[] = {
			{3, 2, make_plain(8, false)}, /* an event without fields */
			{-5, 5, make_plain(2, false)},
			{0, 10, make_string(1, HOST)}, /* 6 to 10: the first match wins */
			{11, 11, make_label(SIDE_TYPE_NULL)},
			{INT64_MIN, -6, make_plain(1, false)},
			{INT64_MAX, INT64_MAX, make_array(make_plain(1, false), 0)},
	};
	struct side_type s8 = make_variant(make_plain(1, true), 6, options);
	struct side_type u64 = make_variant(make_plain(8, false), 6, options);
	struct side_type big =
			make_variant(make_integer(SIDE_TYPE_S32, 4, 0, true, BE), 6, options);
	struct side_type bits =
			make_variant(make_integer(SIDE_TYPE_S16, 2, 5, true, BE), 6, options);
	struct side_type s128 = make_variant(make_plain(16, true), 6, options);
	struct side_type u128 =
			make_variant(make_integer(SIDE_TYPE_U128, 16, 0, false, BE), 6, options);
	uint64_t wide[2] = {(uint64_t)-7, UINT64_MAX};

#define S8(value) ARG(SIDE_TYPE_S8, int8_t, value)
#define U64(value) ARG(SIDE_TYPE_U64, uint64_t, value)
	expect_everywhere(s8, arg_variant(S8(-5), U16(1)), "fb 0100");
	expect_everywhere(s8, arg_variant(S8(5), U16(1)), "05 0100");
	expect_everywhere(s8, arg_variant(S8(6), TEXT("t")), "06 't'00");
	expect_everywhere(s8, arg_variant(S8(11), arg_value(SIDE_TYPE_NULL, NULL, 0)), "0b");
	expect_everywhere(s8, arg_variant(S8(-128), U8(9)), "80 09");
	/*
	 * Unknown selector: the record has only the selector, whatever the argument of the option
	 * is.
	 */
	expect_everywhere(s8, arg_variant(S8(12), U16(1)), "0c");
	/* Unsigned 64-bit selectors compare as signed. */
	expect_everywhere(u64, arg_variant(U64(UINT64_MAX), U16(1)), "ffffffffffffffff 0100");
	expect_everywhere(u64, arg_variant(U64(1ULL << 63), U8(2)), "0000000000000080 02");
	expect_everywhere(u64, arg_variant(U64(INT64_MAX), arg_vector(SIDE_TYPE_ARRAY, 0, NULL)),
			"ffffffffffffff7f");
	/* The bytes are copied, the value is swapped. */
	expect_everywhere(big, arg_variant(ARG(SIDE_TYPE_S32, uint32_t, 0xfbffffff), U16(1)),
			"fffffffb 0100");
	/* Partial: -5 in five bits, recorded in host order. */
	expect_everywhere(bits, arg_variant(ARG(SIDE_TYPE_S16, uint16_t, 0x1b00), U16(1)),
			"fbff 0100");
	/* 128 bits: the low half when it fits. */
	expect_everywhere(s128, arg_variant(arg_value(SIDE_TYPE_S128, wide, 16), U8(3)),
			"f9ffffffffffffff 03");
	wide[1] = 0;
	expect_field_refusal(s128, arg_variant(arg_value(SIDE_TYPE_S128, wide, 16), U8(3)),
			PLAN_REASON_SELECTOR);
	expect_everywhere(u128,
			arg_variant(arg_value(SIDE_TYPE_U128, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5",
						    16),
					U16(1)),
			"0500000000000000 0100");
	expect_field_refusal(u128,
			arg_variant(arg_value(SIDE_TYPE_U128, "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\5",
						    16),
					U16(1)),
			PLAN_REASON_SELECTOR);
	expect_field_refusal(s8, arg_variant(U8(1), U16(1)), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(s8, arg_variant(S8(1), U8(1)), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(s8, arg_pointer(SIDE_TYPE_VARIANT, NULL), PLAN_REASON_NULL_POINTER);
	expect_everywhere(make_variant(make_plain(1, false), 0, NULL), arg_variant(U8(1), U8(1)),
			"01");
}

/* ---- visitors ---- */

struct list {
	uint32_t count;
	const struct side_arg *args;
	bool ignore_errors, fail;
};

static enum side_visitor_status visit_list(
		const struct side_tracer_visitor_ctx *context, void *app_context)
{
	const struct list *list = app_context;
	uint32_t i;

	for (i = 0; i < list->count; i++) {
		/* The elements must live only during the call. */
		struct side_arg arg = list->args[i];

		if (context->write_elem(context, &arg) != SIDE_VISITOR_STATUS_OK &&
				!list->ignore_errors)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return list->fail ? SIDE_VISITOR_STATUS_ERROR : SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status visit_null(
		const struct side_tracer_visitor_ctx *context, void *app_context)
{
	(void)app_context;
	context->write_elem(context, NULL);
	return SIDE_VISITOR_STATUS_OK;
}

static void test_visitors(void)
{
	struct side_arg args[3] = {U16(1), U16(2), U8(3)};
	struct list good = {2, args, false, false}, bad = {3, args, false, false};
	struct list careless = {3, args, true, false}, failing = {2, args, false, true};
	struct list none = {0, NULL, false, false};
	struct side_type inner =
			make_vla_visitor(make_plain(2, false), make_plain(1, false), visit_list);
	struct side_type outer = make_vla_visitor(inner, make_plain(4, false), visit_list);
	struct side_arg lists[3] = {
			arg_vla_visitor(&good), arg_vla_visitor(&none), arg_vla_visitor(&good)};
	struct list nested = {3, lists, false, false};
	struct side_arg texts[2] = {TEXT("a"), TEXT("b")};
	struct list text_list = {2, texts, false, false};
	struct side_arg *many = make_bytes(256 * sizeof(*many));
	struct list long_list = {256, many, false, false};
	uint32_t i;

	expect_everywhere(inner, arg_vla_visitor(&good), "02 01000200");
	expect_everywhere(inner, arg_vla_visitor(&none), "00");
	expect_everywhere(outer, arg_vla_visitor(&nested), "03000000 02 01000200 00 02 01000200");
	expect_everywhere(make_vla_visitor(make_string(1, HOST), make_plain(2, false), visit_list),
			arg_vla_visitor(&text_list), "0200 'a'00 'b'00");
	expect_field_refusal(inner, arg_vla_visitor(&bad), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(inner, arg_vla_visitor(&careless), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(inner, arg_vla_visitor(&failing), PLAN_REASON_VISITOR);
	expect_field_refusal(
			inner, arg_pointer(SIDE_TYPE_VLA_VISITOR, NULL), PLAN_REASON_NULL_POINTER);
	expect_field_refusal(
			make_vla_visitor(make_plain(1, false), make_plain(1, false), visit_null),
			arg_vla_visitor(NULL), PLAN_REASON_NULL_POINTER);
	for (i = 0; i < 256; i++)
		many[i] = arg_value(SIDE_TYPE_NULL, NULL, 0);
	expect_field_refusal(make_vla_visitor(make_label(SIDE_TYPE_NULL), make_plain(1, false),
					     visit_list),
			arg_vla_visitor(&long_list), PLAN_REASON_LENGTH);
}

static void test_event_arguments(void)
{
	struct side_type types[2] = {make_plain(2, false), make_plain(2, false)};
	struct side_type mixed[2] = {make_plain(2, false), make_string(1, HOST)};
	struct side_event_description *event = make_event(2, types, NULL, 0);
	struct side_arg args[2] = {U16(1), U16(2)};
	struct side_arg_vec *vector = make_vector(2, args);

	expect_refusal(event, NULL, NULL, PLAN_REASON_ARGUMENT_COUNT);
	expect_refusal(event, make_vector(1, args), NULL, PLAN_REASON_ARGUMENT_COUNT);
	expect_refusal(make_event(2, mixed, NULL, 0), make_vector(1, args), NULL,
			PLAN_REASON_ARGUMENT_COUNT);
	side_ptr_set(vector->sav, NULL);
	expect_refusal(event, vector, NULL, PLAN_REASON_NULL_POINTER);
	expect_refusal(make_event(2, mixed, NULL, 0), vector, NULL, PLAN_REASON_NULL_POINTER);
}

int main(void)
{
	test_structures();
	test_arrays();
	test_vlas();
	test_enumerations();
	test_optionals();
	test_variants();
	test_visitors();
	test_event_arguments();
	return expect_end();
}
