/* SPDX-License-Identifier: MIT */
/*
 * Dynamic values and variadic parts: exact node lists of docs/spec/recording.md, section 7.
 * (Written for little-endian hosts.)
 */
#include "expect.h"

#define DYNAMIC make_label(SIDE_TYPE_DYNAMIC)

/* One node: depth, name "", kind, value. */
#define ROOT(kind, value) "01000000 00 00 " kind " " value

static void test_integers(void)
{
	static const char *const kinds[2][5] = {
			{"02", "03", "04", "05", "0a"}, {"06", "07", "08", "09", "0b"}};
	unsigned int k, is_signed, i;

	for (k = 0; k < 5; k++) {
		for (is_signed = 0; is_signed < 2; is_signed++) {
			unsigned int size = 1u << k;
			uint8_t value[16], swapped[16];
			char digits[40] = "", text[128];

			for (i = 0; i < size; i++) {
				value[i] = swapped[size - 1 - i] = (uint8_t)(0xf0 - i);
				sprintf(digits + 2 * i, "%02x", value[i]);
			}
			snprintf(text, sizeof(text), ROOT("%s", "%s"), kinds[is_signed][k], digits);
			expect_field(DYNAMIC, dynamic_integer(size, 0, is_signed, LE, value), text);
			expect_field(DYNAMIC, dynamic_integer(size, 0, is_signed, BE, swapped),
					text);
			expect_field(DYNAMIC,
					dynamic_integer(size, size * 8, is_signed, BE, swapped),
					text);
		}
	}
	/* Partial: normalised to the storage. */
	expect_field(DYNAMIC, dynamic_integer(2, 9, true, LE, "\0\1"), ROOT("07", "00ff"));
	expect_field(DYNAMIC, dynamic_integer(4, 4, false, BE, "\0\0\0\xff"),
			ROOT("04", "0f000000"));
	expect_field(DYNAMIC, dynamic_pointer(0x1122334455667788, HOST),
			ROOT("0d", "8877665544332211"));
	expect_field(DYNAMIC, dynamic_pointer(0x1122334455667788, BE),
			ROOT("0d", "1122334455667788"));
	expect_field(DYNAMIC, dynamic_byte(0xfe), ROOT("0c", "fe"));
	expect_field_refusal(DYNAMIC, dynamic_integer(3, 0, true, LE, "abc"),
			PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(DYNAMIC, dynamic_integer(4, 33, true, LE, "abcd"),
			PLAN_REASON_ARGUMENT_LABEL);
}

static void test_other_scalars(void)
{
	expect_field(DYNAMIC, dynamic_scalar(SIDE_TYPE_DYNAMIC_NULL, NO_ATTRIBUTES),
			ROOT("00", ""));
	expect_field(DYNAMIC, dynamic_bool(1, 0, LE, "\1"), ROOT("01", "01"));
	expect_field(DYNAMIC, dynamic_bool(1, 0, LE, "\x80"), ROOT("01", "80"));
	expect_field(DYNAMIC, dynamic_bool(1, 7, LE, "\x80"), ROOT("01", "00"));
	expect_field(DYNAMIC, dynamic_bool(4, 0, BE, "\0\0\1\0"), ROOT("01", "01"));
	expect_field(DYNAMIC, dynamic_bool(8, 0, BE, "\0\0\0\0\0\0\0\0"), ROOT("01", "00"));
	expect_field(DYNAMIC, dynamic_float(2, LE, "\x00\x3c"), ROOT("10", "0000803f"));
	expect_field(DYNAMIC, dynamic_float(2, BE, "\x3c\x00"), ROOT("10", "0000803f"));
	expect_field(DYNAMIC, dynamic_float(4, LE, "abcd"), ROOT("0e", "'abcd'"));
	expect_field(DYNAMIC, dynamic_float(4, BE, "abcd"), ROOT("0e", "'dcba'"));
	expect_field(DYNAMIC, dynamic_float(8, BE, "abcdefgh"), ROOT("0f", "'hgfedcba'"));
	expect_field(DYNAMIC, dynamic_float(16, LE, "abcdefghijklmnop"),
			ROOT("11", "'abcdefghijklmnop'"));
	expect_field(DYNAMIC, dynamic_float(16, BE, "abcdefghijklmnop"),
			ROOT("11", "'ponmlkjihgfedcba'"));
	expect_field(DYNAMIC, dynamic_string(1, HOST, "text"), ROOT("12", "'text'00"));
	expect_field(DYNAMIC, dynamic_string(2, HOST, (uint16_t[]){'a', 0xd800, 0}),
			ROOT("13", "'a' eda080 00"));
	expect_field(DYNAMIC, dynamic_string(2, BE, "\0x\0"), ROOT("13", "'x'00"));
	expect_field(DYNAMIC, dynamic_string(4, HOST, (uint32_t[]){0x1f600, 0}),
			ROOT("14", "f09f9880 00"));
	expect_field(DYNAMIC, dynamic_string(1, HOST, NULL), ROOT("12", "'(null)'00"));
	expect_field(DYNAMIC, dynamic_string(4, BE, NULL), ROOT("14", "'(null)'00"));
	expect_field_refusal(DYNAMIC, dynamic_string(3, BE, "x"), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(DYNAMIC, dynamic_float(3, BE, "xyz"), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(DYNAMIC, dynamic_bool(3, 0, BE, "xyz"), PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(DYNAMIC, ARG(SIDE_TYPE_U8, uint8_t, 1), PLAN_REASON_ARGUMENT_LABEL);
}

static void test_compounds(void)
{
	static const char *const names[] = {"a", "long name", NULL};
	struct side_arg values[3] = {dynamic_byte(1), dynamic_string(1, HOST, "two"),
			dynamic_scalar(SIDE_TYPE_DYNAMIC_NULL, NO_ATTRIBUTES)};
	struct side_arg list = dynamic_vla(2, values, NO_ATTRIBUTES);
	struct side_arg record = dynamic_struct(3, names, values, NO_ATTRIBUTES);
	struct side_arg both[2] = {list, record};
	struct side_arg_dynamic_vla broken;

	expect_field(DYNAMIC, list, "03000000 00 00 16 02000000 01 00 0c 01 01 00 12 'two'00");
	expect_field(DYNAMIC, dynamic_vla(0, NULL, NO_ATTRIBUTES), ROOT("16", "00000000"));
	expect_field(DYNAMIC, record,
			"04000000 00 00 15 03000000 01 'a'00 0c 01 01 'long name'00 12 'two'00"
			"01 00 00");
	expect_field(DYNAMIC, dynamic_struct(2, names, both, NO_ATTRIBUTES),
			"08000000 00 00 15 02000000"
			"01 'a'00 16 02000000 02 00 0c 01 02 00 12 'two'00"
			"01 'long name'00 15 03000000 02 'a'00 0c 01 02 'long name'00 12 'two'00 "
			"02 00 00");
	memset(&broken, 0, sizeof(broken));
	broken.len = 1;
	expect_field_refusal(DYNAMIC, arg_pointer(SIDE_TYPE_DYNAMIC_VLA, &broken),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(DYNAMIC, arg_pointer(SIDE_TYPE_DYNAMIC_VLA, NULL),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(DYNAMIC, arg_pointer(SIDE_TYPE_DYNAMIC_STRUCT, NULL),
			PLAN_REASON_NULL_POINTER);
	values[1] = ARG(SIDE_TYPE_U8, uint8_t, 1);
	expect_field_refusal(
			DYNAMIC, dynamic_vla(2, values, NO_ATTRIBUTES), PLAN_REASON_ARGUMENT_LABEL);
	/* An element of an array. */
	values[1] = dynamic_byte(2);
	expect_field(make_array(DYNAMIC, 2), arg_vector(SIDE_TYPE_ARRAY, 2, values),
			"01000000 00 00 0c 01 01000000 00 00 0c 02");
}

static void test_attributes(void)
{
	const struct side_attr list[] = {
			make_attribute("n", SIDE_ATTR_TYPE_NULL, "", 0),
			make_attribute("b", SIDE_ATTR_TYPE_BOOL, "\1", 1),
			make_attribute("u", SIDE_ATTR_TYPE_U16, "\1\2", 2),
			make_attribute("w", SIDE_ATTR_TYPE_U128, "abcdefghijklmnop", 16),
			make_attribute("s", SIDE_ATTR_TYPE_S8, "\xff", 1),
			make_attribute("h", SIDE_ATTR_TYPE_FLOAT_BINARY16, "\0\x3c", 2),
			make_attribute("f", SIDE_ATTR_TYPE_FLOAT_BINARY64, "abcdefgh", 8),
			make_attribute("q", SIDE_ATTR_TYPE_FLOAT_BINARY128, "abcdefghijklmnop", 16),
			make_text_attribute("t", "text", 1),
			make_text_attribute("t2", (uint16_t[]){0xe9, 0}, 2),
			make_text_attribute("t4", NULL, 4),
	};
	const struct make_attributes all = {11, list}, one = {1, list + 1};
	const struct side_attr unknown[] = {make_attribute("x", 17, "", 0)};
	const struct make_attributes bad = {1, unknown};
	static const char *const names[] = {"field"};
	struct side_arg scalar = dynamic_byte(9), child = dynamic_byte(1);

	put_attributes(&scalar.u.side_dynamic.side_null, all);
	expect_field(DYNAMIC, scalar,
			"0d000000 00 00 0c 09 01 00 17 0b000000"
			"02 'n'00 00 02 'b'00 01 01 02 'u'00 03 0102 02 'w'00 0a 'abcdefghijklmnop'"
			"02 's'00 06 ff 02 'h'00 10 0000803f 02 'f'00 0f 'abcdefgh'"
			"02 'q'00 11 'abcdefghijklmnop' 02 't'00 12 'text'00 02 't2'00 13 c3a900"
			"02 't4'00 14 '(null)'00");
	put_attributes(&child.u.side_dynamic.side_null, one);
	/* First among the children, and not counted. */
	expect_field(DYNAMIC, dynamic_struct(1, names, &child, one),
			"06000000 00 00 15 01000000 01 00 17 01000000 02 'b'00 01 01"
			"01 'field'00 0c 01 02 00 17 01000000 03 'b'00 01 01");
	expect_field(DYNAMIC, dynamic_vla(1, &child, one),
			"06000000 00 00 16 01000000 01 00 17 01000000 02 'b'00 01 01"
			"01 00 0c 01 02 00 17 01000000 03 'b'00 01 01");
	put_attributes(&scalar.u.side_dynamic.side_null, bad);
	expect_field_refusal(DYNAMIC, scalar, PLAN_REASON_ARGUMENT_LABEL);
}

/* ---- visitors ---- */

struct list {
	uint32_t count;
	const struct side_arg *args;
	bool ignore_errors, fail;
};

static enum side_visitor_status visit_elements(
		const struct side_tracer_visitor_ctx *context, void *app_context)
{
	const struct list *list = app_context;
	uint32_t i;

	for (i = 0; i < list->count; i++) {
		struct side_arg arg = list->args[i];

		if (context->write_elem(context, &arg) != SIDE_VISITOR_STATUS_OK &&
				!list->ignore_errors)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return list->fail ? SIDE_VISITOR_STATUS_ERROR : SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status visit_fields(
		const struct side_tracer_dynamic_struct_visitor_ctx *context, void *app_context)
{
	const struct list *list = app_context;
	uint32_t i;

	for (i = 0; i < list->count; i++) {
		struct side_arg_dynamic_field field = {.elem = list->args[i]};
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		side_ptr_set(field.field_name, name);
		if (context->write_field(context, &field) != SIDE_VISITOR_STATUS_OK &&
				!list->ignore_errors)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return list->fail ? SIDE_VISITOR_STATUS_ERROR : SIDE_VISITOR_STATUS_OK;
}

static void test_visitors(void)
{
	const struct side_attr key[] = {make_attribute("k", SIDE_ATTR_TYPE_BOOL, "\0", 1)};
	const struct make_attributes one = {1, key};
	struct side_arg args[2] = {dynamic_byte(1), dynamic_byte(2)};
	struct side_arg wrong[2] = {dynamic_byte(1), ARG(SIDE_TYPE_U8, uint8_t, 1)};
	struct list good = {2, args, false, false}, careless = {2, wrong, true, false};
	struct list failing = {1, args, false, true};
	struct side_arg nested[2] = {dynamic_vla_visitor(visit_elements, &good, NO_ATTRIBUTES),
			dynamic_struct_visitor(visit_fields, &good, one)};
	struct list outer = {2, nested, false, false};

	expect_field(DYNAMIC, nested[0], "03000000 00 00 16 02000000 01 00 0c 01 01 00 0c 02");
	expect_field(DYNAMIC, nested[1],
			"05000000 00 00 15 02000000 01 00 17 01000000 02 'k'00 01 00"
			"01 'f0'00 0c 01 01 'f1'00 0c 02");
	expect_field(DYNAMIC, dynamic_struct_visitor(visit_fields, &outer, NO_ATTRIBUTES),
			"09000000 00 00 15 02000000"
			"01 'f0'00 16 02000000 02 00 0c 01 02 00 0c 02"
			"01 'f1'00 15 02000000 02 00 17 01000000 03 'k'00 01 00"
			"02 'f0'00 0c 01 02 'f1'00 0c 02");
	expect_field_refusal(DYNAMIC, dynamic_vla_visitor(visit_elements, &careless, NO_ATTRIBUTES),
			PLAN_REASON_ARGUMENT_LABEL);
	expect_field_refusal(DYNAMIC, dynamic_vla_visitor(visit_elements, &failing, NO_ATTRIBUTES),
			PLAN_REASON_VISITOR);
	expect_field_refusal(DYNAMIC, dynamic_struct_visitor(visit_fields, &failing, NO_ATTRIBUTES),
			PLAN_REASON_VISITOR);
	expect_field_refusal(DYNAMIC, dynamic_struct_visitor(NULL, NULL, NO_ATTRIBUTES),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(DYNAMIC, dynamic_vla_visitor(NULL, NULL, NO_ATTRIBUTES),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(DYNAMIC, arg_pointer(SIDE_TYPE_DYNAMIC_VLA_VISITOR, NULL),
			PLAN_REASON_NULL_POINTER);
	expect_field_refusal(DYNAMIC, arg_pointer(SIDE_TYPE_DYNAMIC_STRUCT_VISITOR, NULL),
			PLAN_REASON_NULL_POINTER);
}

/* A visitor that never stops on its own. */
static enum side_visitor_status visit_for_ever(
		const struct side_tracer_visitor_ctx *context, void *app_context)
{
	struct side_arg self = dynamic_vla_visitor(visit_for_ever, app_context, NO_ATTRIBUTES);

	++*(unsigned int *)app_context;
	return context->write_elem(context, &self);
}

static void test_depth(void)
{
	struct side_arg value = dynamic_byte(1), attributed = dynamic_byte(2);
	const struct side_attr key[] = {make_attribute("k", SIDE_ATTR_TYPE_NULL, "", 0)};
	const struct make_attributes one = {1, key};
	char text[8192] = "00010000 ", *at = text + strlen(text);
	unsigned int depth, calls = 0;

	for (depth = 0; depth < 255; depth++) {
		value = dynamic_vla(1, &value, NO_ATTRIBUTES);
		at += sprintf(at, "%02x 00 16 01000000 ", depth);
	}
	sprintf(at, "ff 00 0c 01");
	expect_field(DYNAMIC, value, text);
	expect_field_refusal(DYNAMIC, dynamic_vla(1, &value, NO_ATTRIBUTES), PLAN_REASON_DEPTH);
	/* Attributes are one level deeper than the value that they belong to. */
	put_attributes(&attributed.u.side_dynamic.side_null, one);
	for (depth = 0; depth < 254; depth++)
		attributed = dynamic_vla(1, &attributed, NO_ATTRIBUTES);
	expect_field_refusal(DYNAMIC, attributed, PLAN_REASON_DEPTH);
	expect_field_refusal(DYNAMIC, dynamic_vla_visitor(visit_for_ever, &calls, NO_ATTRIBUTES),
			PLAN_REASON_DEPTH);
}

static void test_variadic(void)
{
	static const char *const names[] = {"x", "y"};
	struct side_arg values[2] = {dynamic_byte(1), dynamic_string(1, HOST, "two")};
	const struct side_attr key[] = {make_attribute("call", SIDE_ATTR_TYPE_BOOL, "\1", 1)};
	const struct make_attributes one = {1, key};
	struct side_type u16 = make_plain(2, false);
	struct side_arg arg = ARG(SIDE_TYPE_U16, uint16_t, 0x0201);
	struct side_event_description *event =
			make_event(1, &u16, NULL, SIDE_EVENT_FLAG_VARIADIC | 1ULL << 40);
	struct side_event_description *bare = make_event(0, NULL, NULL, SIDE_EVENT_FLAG_VARIADIC);
	struct side_arg_vec *vector = make_vector(1, &arg);

	expect_record(event, vector, make_dynamic_struct(2, names, values, one),
			"0102 05000000 00 00 15 02000000 01 00 17 01000000 02 'call'00 01 01"
			"01 'x'00 0c 01 01 'y'00 12 'two'00");
	expect_record(event, vector, make_dynamic_struct(0, NULL, NULL, NO_ATTRIBUTES),
			"0102 01000000 00 00 15 00000000");
	expect_record(bare, NULL, make_dynamic_struct(1, names, values, NO_ATTRIBUTES),
			"02000000 00 00 15 01000000 01 'x'00 0c 01");
	expect_refusal(event, vector, NULL, PLAN_REASON_ARGUMENT_COUNT);
	expect_refusal(event, NULL, make_dynamic_struct(0, NULL, NULL, NO_ATTRIBUTES),
			PLAN_REASON_ARGUMENT_COUNT);
	/* An event that is not variadic cannot have variadic arguments. */
	expect_record(make_event(1, &u16, NULL, 0), vector,
			make_dynamic_struct(2, names, values, one), "0102");
}

int main(void)
{
	test_integers();
	test_other_scalars();
	test_compounds();
	test_attributes();
	test_visitors();
	test_depth();
	test_variadic();
	return expect_end();
}
