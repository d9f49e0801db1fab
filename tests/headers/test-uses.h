/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HEADERS_TEST_USES_H
#define TESTS_HEADERS_TEST_USES_H
/*
 * Behaviour of the macros: registration, descriptions, arguments byte by byte, evaluation. Included
 * by a C and by a C++ file, with and without the compile-time checks.
 */
#include <stdio.h>

#include "stub.h"
#include "uses.h"

static int failures;

/* Not that of check.h: conditions contain commas outside of parentheses, and one run reports all failures. */
#define CHECK(...) \
	do { \
		if (!(__VA_ARGS__)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
			failures++; \
		} \
	} while (0)

/* The reference bytes; -1 is an unspecified byte (pointer of an empty list). */
#define XX -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
static void check_bytes(const char *what, const void *object, const short *bytes, size_t nr, size_t zero_to)
{
	const unsigned char *p = (const unsigned char *) object;
	size_t i;

	for (i = 0; i < zero_to; i++) {
		short want = i < nr ? bytes[i] : 0;

		if (want >= 0 && p[i] != want) {
			fprintf(stderr, "%s: byte %zu is %02x, not %02x\n", what, i, p[i], want);
			failures++;
		}
	}
}
#define BYTES(what, object, zero_to, ...) \
	do { \
		static const short bytes_[] = {__VA_ARGS__}; \
		check_bytes(what, object, bytes_, sizeof(bytes_) / sizeof(bytes_[0]), \
			(zero_to) ? (zero_to) : sizeof(bytes_) / sizeof(bytes_[0])); \
	} while (0)

side_static_event(golden_types, "golden", "types", SIDE_LOGLEVEL_INFO, side_field_list(
	side_field_u32_be("u32"), side_field_string16("string16"), side_field_bool("bool"),
	side_field_float_binary64("float"),
	side_field_gather_signed_integer("gather", 0x11, 2, 4, 5, SIDE_TYPE_GATHER_ACCESS_POINTER),
	side_field_s16_be("s16"), side_field_s32_be("s32"), side_field_s64_be("s64"),
	side_field_s128_be("s128"), side_field_pointer_le("p")));
side_static_event(golden_args, "golden", "args", SIDE_LOGLEVEL_INFO, side_field_list(side_field_s16("a"),
	side_field_bool("b"), side_field_pointer("c"), side_field_float_binary64("d"),
	side_field_gather_vla("e", WORD, 0, DIRECT, LENGTH), side_field_dynamic("f"), side_field_dynamic("g"),
	side_field_dynamic("h"), side_field_dynamic("i")));

side_static_event(use_four, "use", "four", SIDE_LOGLEVEL_INFO, side_field_list(side_field_int("a"),
	side_field_int("b"), side_field_int("c"), side_field_int("d")));
side_static_event(use_any, "use", "any", SIDE_LOGLEVEL_INFO, side_field_list(side_field_dynamic("a")));

#ifdef __SIZEOF_INT128__
#define SIDE_U128_OR_NULL side_arg_dynamic_u128_be(7)
#else
#define SIDE_U128_OR_NULL side_arg_dynamic_null()
#endif

static void check_golden(void)
{
	const struct side_event_field *f = side_array_elements(&golden_types.fields);
	int i;

	BYTES("u32 be", &f[0].side_type, 64, 0x04, 0, XX, 0, 0, 0, 0, 4, 0, 0, 0, 0, 1);
	BYTES("string16", &f[1].side_type, 64, 0x13, 0, XX, 0, 0, 0, 0, 2, 0);
	BYTES("bool", &f[2].side_type, 64, 0x01, 0, XX, 0, 0, 0, 0, 1, 0, 0, 0, 0);
	BYTES("float", &f[3].side_type, 64, 0x10, 0, XX, 0, 0, 0, 0, 8, 0, 0);
	BYTES("gather", &f[4].side_type, 64, 0x1f, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, XX, 0, 0, 0, 0, 2, 0,
		5, 0, 1, 0);
	for (i = 5; i < 9; i++) {
		CHECK(f[i].side_type.u.side_integer.signedness == 1);
		CHECK(side_enum_get(f[i].side_type.u.side_integer.byte_order) == SIDE_TYPE_BYTE_ORDER_BE);
	}
	CHECK(side_enum_get(f[9].side_type.type) == SIDE_TYPE_POINTER);

	side_event_call(golden_args, side_arg_list(side_arg_s16(-2), side_arg_bool(7),
		side_arg_pointer((uintptr_t) 0x1122334455667788ULL), side_arg_float_binary64(1.0),
		side_arg_gather_vla((void *) 0x1000, (void *) 0x2000), side_arg_dynamic_u16(0x0102),
		side_arg_dynamic_bool(1), SIDE_U128_OR_NULL, side_arg_dynamic_s64_le(-1)));
	BYTES("s16", &stub_args[0], 0, 0x08, 0, 0, 0, 0xfe, 0xff);
	BYTES("bool", &stub_args[1], 0, 0x01, 0, 0, 0, 1);
	BYTES("double", &stub_args[3], 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f);
	BYTES("gather vla", &stub_args[4], 0, 0x26, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	BYTES("dynamic u16", &stub_args[5], 0, 0x2a, 0, 0, 0, XX, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 2, 1);
	BYTES("dynamic bool", &stub_args[6], 0, 0x29, 0, 0, 0, XX, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
#if __SIZEOF_POINTER__ == 8
	BYTES("pointer", &stub_args[2], 0, 0x0d, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11);
#endif
#ifdef __SIZEOF_INT128__
	/* 128 bits, big endian, not a u16. */
	BYTES("dynamic u128 be", &stub_args[7], 0, 0x2a, 0, 0, 0, XX, 0, 0, 0, 0, 16, 0, 0, 0, 0, 1, 7, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
#endif
}

/*
 * Every statement enables and disables, evaluates its arguments once, in order, and only when
 * enabled.
 */
static int order[8], nr_order;

static int next_value(int value)
{
	order[nr_order++ & 7] = value;
	return value;
}

static void emit_four(void)
{
	side_event(use_four, side_arg_list(side_arg_int(next_value(1)), side_arg_int(next_value(2)),
		side_arg_int(next_value(3)), side_arg_int(next_value(4)),));
}

static void check_emission(void)
{
	void *first, *second;
	unsigned int calls = stub_nr_calls;
	uint8_t eleven = 11;
	uint16_t twelve = 12;
	int i, key = 0;

	emit_four();
	CHECK(nr_order == 0 && stub_nr_calls == calls);
	CHECK(!side_event_enabled(use_four));
	side_event_state__use_four.enabled = (uintptr_t) 1 << (sizeof(uintptr_t) * 8 - 2);
	CHECK(side_event_enabled(use_four) == 1);
	emit_four();
	CHECK(nr_order == 4 && stub_nr_calls == calls + 1 && stub_nr_args == 4);
	for (i = 0; i < 4; i++) {
		CHECK(order[i] == i + 1);
		CHECK(stub_args[i].u.side_static.integer_value.side_s32 == i + 1);
	}
	CHECK(stub_state == &side_event_state__use_four.parent);

	/* The caller address is that of the site. */
	side_event(use_four, side_arg_list(side_arg_int(1), side_arg_int(2), side_arg_int(3), side_arg_int(4)));
	first = stub_caller;
	side_event(use_four, side_arg_list(side_arg_int(1), side_arg_int(2), side_arg_int(3), side_arg_int(4)));
	second = stub_caller;
	CHECK(first != second);

	/* Attributes with run-time values, also in a loop. */
	for (i = 0; i < 3; i++) {
		side_event_call(use_any, side_arg_list(side_arg_dynamic_u32(1, side_dynamic_attr_list(
			side_attr("a", side_attr_u8(eleven)), side_attr("b", side_attr_u16(twelve))))));
		CHECK(stub_nr_attrs == 2 && stub_attrs[0] == 11 && stub_attrs[1] == 12);
	}
	side_event_state__use_any.enabled = 1;
	side_event(use_any, side_arg_list(side_arg_dynamic_u32(1, side_dynamic_attr_list(
		side_attr("a", side_attr_u8(eleven)), side_attr("b", side_attr_u16(twelve))))));
	CHECK(stub_nr_attrs == 2 && stub_attrs[0] == 11 && stub_attrs[1] == 12);

	/* A state dump passes its key on, tested or not. */
	side_statedump_event(use_any, &key, side_arg_list(side_arg_dynamic_u8(1)));
	CHECK(stub_key == &key);
	side_statedump_event_call_variadic(use_static_variadic, &key, side_arg_list(side_arg_u8(1)),
		side_arg_list(side_arg_dynamic_field("a", side_arg_dynamic_u8(1)),
			side_arg_dynamic_field("b", side_arg_dynamic_u8(2))));
	CHECK(stub_key == &key && stub_var.len == 2);
	calls = stub_nr_calls;
	side_statedump_event_variadic(use_static_variadic, &key, side_arg_list(side_arg_u8(1)), side_arg_list());
	CHECK(stub_nr_calls == calls);
}

static void check_registration(void)
{
	uint32_t i, found = 0;

	CHECK(stub_nr_batches == 1);
	for (i = 0; i < stub_nr_events; i++) {
		const struct side_event_description *desc = stub_events[i];

		if (!desc)
			continue;
		found += desc == &use_hidden || desc == &use_export || desc == &use_static ||
			desc == &use_scalars;
		CHECK(desc->struct_size == 112 && desc->version == 0);
		CHECK(desc->nr_side_type_label == 51 && desc->nr_side_attr_type == 17);
		CHECK(side_ptr_get(desc->state)->version == 0);
	}
	CHECK(found == 4);
	/* By hand, in pairs: the counter balances. */
	side_event_description_ptr_init();
	CHECK(stub_nr_batches == 1);
	side_event_description_ptr_exit();
	CHECK(stub_nr_batches == 1);
	CHECK(use_static_variadic.flags == SIDE_EVENT_FLAG_VARIADIC && use_static.flags == 0);
	CHECK(side_enum_get(use_hidden.loglevel) == SIDE_LOGLEVEL_CRIT);
	CHECK(side_array_length(&use_scalars.fields) > 50 && side_array_length(&use_static.fields) == 0);
	CHECK(side_array_length(&use_user.fields) == 3);
	CHECK(side_array_length(&use_export.attributes) == 1);
	CHECK((const void *) side_event_state__use_static.callbacks == &side_empty_callback[0]);
	CHECK(side_event_state__use_export.desc == &use_export);
}

static int test_uses(void)
{
	check_registration();
	check_golden();
	check_emission();
	CHECK(use_everything(NULL));
	/* Everything again, enabled. */
	side_event_state__use_scalars.enabled = side_event_state__use_variant.enabled = 1;
	side_event_state__use_compounds.enabled = side_event_state__use_gather.enabled = 1;
	side_event_state__use_static_variadic.enabled = side_event_state__use_hidden_variadic.enabled = 1;
	side_event_state__use_static.enabled = side_event_state__use_user.enabled = 1;
	CHECK(use_everything(NULL));
	return failures ? 1 : 0;
}

#endif
