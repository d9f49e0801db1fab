/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HEADERS_USES_H
#define TESTS_HEADERS_USES_H
/*
 * Uses every public macro of the headers.  Compiled in every language mode, with and without the
 * compile-time checks, and run with stub.h instead of the library.
 */
#include <string.h>

#include <side/trace.h>

/* Elements that not every target has. */
#if defined(__SIZEOF_INT128__)
#define IF_HAVE_INT128(...) __VA_ARGS__
#else
#define IF_HAVE_INT128(...)
#endif
#if defined(SIDE_NATIVE_long_double)
#define IF_HAVE_LONG_DOUBLE(...) __VA_ARGS__
#else
#define IF_HAVE_LONG_DOUBLE(...)
#endif
#if SIDE_HAVE_FLOAT16
#define IF_SIDE_HAVE_FLOAT16(...) __VA_ARGS__
#else
#define IF_SIDE_HAVE_FLOAT16(...)
#endif
#if SIDE_HAVE_FLOAT32
#define IF_SIDE_HAVE_FLOAT32(...) __VA_ARGS__
#else
#define IF_SIDE_HAVE_FLOAT32(...)
#endif
#if SIDE_HAVE_FLOAT64
#define IF_SIDE_HAVE_FLOAT64(...) __VA_ARGS__
#else
#define IF_SIDE_HAVE_FLOAT64(...)
#endif
#if SIDE_HAVE_FLOAT128
#define IF_SIDE_HAVE_FLOAT128(...) __VA_ARGS__
#else
#define IF_SIDE_HAVE_FLOAT128(...)
#endif

static const uint16_t utf16[] = {'x', 0};
static const uint32_t utf32[] = {'x', 0};

#define ATTR side_attr_list(side_attr("std.integer.base", side_attr_u8(16)))

/* Every scalar: field, type, argument. */
side_static_event(use_scalars, "use", "scalars", SIDE_LOGLEVEL_DEBUG, side_field_list(
	side_field_null("null", ATTR),
	side_field_bool("bool"),
	side_field_byte("byte", ATTR),
	side_field_u8("u8"),
	side_field_u16("u16", ATTR),
	side_field_u16_le("u16_le"),
	side_field_u16_be("u16_be", ATTR),
	side_field_u32("u32"),
	side_field_u32_le("u32_le", ATTR),
	side_field_u32_be("u32_be"),
	side_field_u64("u64", ATTR),
	side_field_u64_le("u64_le"),
	side_field_u64_be("u64_be", ATTR),
	IF_HAVE_INT128(side_field_u128("u128"),)
	IF_HAVE_INT128(side_field_u128_le("u128_le", ATTR),)
	IF_HAVE_INT128(side_field_u128_be("u128_be"),)
	side_field_s8("s8", ATTR),
	side_field_s8_le("s8_le"),
	side_field_s8_be("s8_be", ATTR),
	side_field_s16("s16"),
	side_field_s16_le("s16_le", ATTR),
	side_field_s16_be("s16_be"),
	side_field_s32("s32", ATTR),
	side_field_s32_le("s32_le"),
	side_field_s32_be("s32_be", ATTR),
	side_field_s64("s64"),
	side_field_s64_le("s64_le", ATTR),
	side_field_s64_be("s64_be"),
	IF_HAVE_INT128(side_field_s128("s128", ATTR),)
	IF_HAVE_INT128(side_field_s128_le("s128_le"),)
	IF_HAVE_INT128(side_field_s128_be("s128_be", ATTR),)
	side_field_pointer("pointer"),
	side_field_pointer_le("pointer_le", ATTR),
	side_field_pointer_be("pointer_be"),
	IF_SIDE_HAVE_FLOAT16(side_field_float_binary16("float_binary16", ATTR),)
	IF_SIDE_HAVE_FLOAT16(side_field_float_binary16_le("float_binary16_le"),)
	IF_SIDE_HAVE_FLOAT16(side_field_float_binary16_be("float_binary16_be", ATTR),)
	side_field_float_binary32("float_binary32"),
	side_field_float_binary32_le("float_binary32_le", ATTR),
	side_field_float_binary32_be("float_binary32_be"),
	side_field_float_binary64("float_binary64", ATTR),
	side_field_float_binary64_le("float_binary64_le"),
	side_field_float_binary64_be("float_binary64_be", ATTR),
	IF_SIDE_HAVE_FLOAT128(side_field_float_binary128("float_binary128"),)
	IF_SIDE_HAVE_FLOAT128(side_field_float_binary128_le("float_binary128_le", ATTR),)
	IF_SIDE_HAVE_FLOAT128(side_field_float_binary128_be("float_binary128_be"),)
	side_field_string("string", ATTR),
	side_field_string16("string16"),
	side_field_string16_le("string16_le", ATTR),
	side_field_string16_be("string16_be"),
	side_field_string32("string32", ATTR),
	side_field_string32_le("string32_le"),
	side_field_string32_be("string32_be", ATTR),
	side_field_char("char"),
	side_field_schar("schar", ATTR),
	side_field_uchar("uchar"),
	side_field_short("short", ATTR),
	side_field_ushort("ushort"),
	side_field_int("int", ATTR),
	side_field_uint("uint"),
	side_field_long("long", ATTR),
	side_field_ulong("ulong"),
	side_field_long_long("long_long", ATTR),
	side_field_ulong_long("ulong_long"),
	side_field_float("float", ATTR),
	side_field_double("double"),
	IF_HAVE_LONG_DOUBLE(side_field_long_double("long_double", ATTR),)
	side_field_dynamic("dynamic")
));
static side_define_variant(use_types, side_type_u8(), side_option_list(
	side_option(0, side_type_null()),
	side_option(1, side_type_bool(ATTR)),
	side_option(2, side_type_byte()),
	side_option(3, side_type_u8(ATTR)),
	side_option(4, side_type_u16()),
	side_option(5, side_type_u16_le(ATTR)),
	side_option(6, side_type_u16_be()),
	side_option(7, side_type_u32(ATTR)),
	side_option(8, side_type_u32_le()),
	side_option(9, side_type_u32_be(ATTR)),
	side_option(10, side_type_u64()),
	side_option(11, side_type_u64_le(ATTR)),
	side_option(12, side_type_u64_be()),
	IF_HAVE_INT128(side_option(13, side_type_u128(ATTR)),)
	IF_HAVE_INT128(side_option(14, side_type_u128_le()),)
	IF_HAVE_INT128(side_option(15, side_type_u128_be(ATTR)),)
	side_option(16, side_type_s8()),
	side_option(19, side_type_s16(ATTR)),
	side_option(20, side_type_s16_le()),
	side_option(21, side_type_s16_be(ATTR)),
	side_option(22, side_type_s32()),
	side_option(23, side_type_s32_le(ATTR)),
	side_option(24, side_type_s32_be()),
	side_option(25, side_type_s64(ATTR)),
	side_option(26, side_type_s64_le()),
	side_option(27, side_type_s64_be(ATTR)),
	IF_HAVE_INT128(side_option(28, side_type_s128()),)
	IF_HAVE_INT128(side_option(29, side_type_s128_le(ATTR)),)
	IF_HAVE_INT128(side_option(30, side_type_s128_be()),)
	side_option(31, side_type_pointer(ATTR)),
	side_option(32, side_type_pointer_le()),
	side_option(33, side_type_pointer_be(ATTR)),
	IF_SIDE_HAVE_FLOAT16(side_option(34, side_type_float_binary16()),)
	IF_SIDE_HAVE_FLOAT16(side_option(35, side_type_float_binary16_le(ATTR)),)
	IF_SIDE_HAVE_FLOAT16(side_option(36, side_type_float_binary16_be()),)
	side_option(37, side_type_float_binary32(ATTR)),
	side_option(38, side_type_float_binary32_le()),
	side_option(39, side_type_float_binary32_be(ATTR)),
	side_option(40, side_type_float_binary64()),
	side_option(41, side_type_float_binary64_le(ATTR)),
	side_option(42, side_type_float_binary64_be()),
	IF_SIDE_HAVE_FLOAT128(side_option(43, side_type_float_binary128(ATTR)),)
	IF_SIDE_HAVE_FLOAT128(side_option(44, side_type_float_binary128_le()),)
	IF_SIDE_HAVE_FLOAT128(side_option(45, side_type_float_binary128_be(ATTR)),)
	side_option(46, side_type_string()),
	side_option(47, side_type_string16(ATTR)),
	side_option(48, side_type_string16_le()),
	side_option(49, side_type_string16_be(ATTR)),
	side_option(50, side_type_string32()),
	side_option(51, side_type_string32_le(ATTR)),
	side_option(52, side_type_string32_be()),
	side_option(53, side_type_char(ATTR)),
	side_option(54, side_type_schar()),
	side_option(55, side_type_uchar(ATTR)),
	side_option(56, side_type_short()),
	side_option(57, side_type_ushort(ATTR)),
	side_option(58, side_type_int()),
	side_option(59, side_type_uint(ATTR)),
	side_option(60, side_type_long()),
	side_option(61, side_type_ulong(ATTR)),
	side_option(62, side_type_long_long()),
	side_option(63, side_type_ulong_long(ATTR)),
	side_option(64, side_type_float()),
	side_option(65, side_type_double(ATTR)),
	IF_HAVE_LONG_DOUBLE(side_option(66, side_type_long_double()),)
	side_option_range(200, 255, side_type_dynamic())
), side_attr_list(
	side_attr("null", side_attr_null()),
	side_attr("bool", side_attr_bool(true)),
	side_attr("u8", side_attr_u8(1)),
	side_attr("u16", side_attr_u16(1)),
	side_attr("u32", side_attr_u32(1)),
	side_attr("u64", side_attr_u64(1)),
	IF_HAVE_INT128(side_attr("u128", side_attr_u128(1)),)
	side_attr("s8", side_attr_s8(1)),
	side_attr("s16", side_attr_s16(1)),
	side_attr("s32", side_attr_s32(1)),
	side_attr("s64", side_attr_s64(1)),
	IF_HAVE_INT128(side_attr("s128", side_attr_s128(1)),)
	IF_SIDE_HAVE_FLOAT16(side_attr("float_binary16", side_attr_float_binary16(1)),)
	IF_SIDE_HAVE_FLOAT32(side_attr("float_binary32", side_attr_float_binary32(1)),)
	IF_SIDE_HAVE_FLOAT64(side_attr("float_binary64", side_attr_float_binary64(1)),)
	IF_SIDE_HAVE_FLOAT128(side_attr("float_binary128", side_attr_float_binary128(1)),)
	side_attr("string", side_attr_string("x")),
	side_attr("string16", side_attr_string16(utf16)),
	side_attr("string32", side_attr_string32(utf32)),
));
side_static_event(use_variant, "use", "variant", SIDE_LOGLEVEL_DEBUG,
	side_field_list(side_field_variant("v", use_types)), ATTR);

/* Compounds */
static side_define_struct(use_empty_struct, side_field_list());
static side_define_struct(use_struct, side_field_list(side_field_u8("a"), side_field_string("b"),), ATTR);
static side_define_array(use_array, side_elem(side_type_struct(use_struct)), 2, ATTR);
static side_define_array(use_array_0, side_elem(side_type_u8()), 0);
static side_define_array(use_bytes, side_elem(side_type_byte()), 2);
static side_define_vla(use_vla, side_elem(side_type_array(use_array)), side_length(side_type_u32()), ATTR);
static side_define_vla(use_vla_vla, side_elem(side_type_vla(use_vla)), side_length(side_type_u8()));
static side_define_optional(use_optional, side_elem(side_type_vla(use_vla)), ATTR);
static side_define_optional(use_optional_2, side_elem(side_type_optional(use_optional)));
static side_define_variant(use_variant_2, side_type_s16(ATTR), side_option_list(
	side_option(-1, side_type_optional(use_optional)),
	side_option_range(0, 9, side_type_variant(use_types)),
	side_option(10, side_type_struct(use_struct)),));
static side_define_vla(use_vla_variant, side_elem(side_type_variant(use_types)), side_length(side_type_u8()));
static side_define_enum(use_enum, side_enum_mapping_list(
	side_enum_mapping_value("one", 1), side_enum_mapping_range("few", -2, 2),), ATTR);
static side_define_enum_bitmap(use_bitmap, side_enum_bitmap_mapping_list(
	side_enum_bitmap_mapping_value("zero", 0), side_enum_bitmap_mapping_range("high", 4, 7),), ATTR);
static side_define_array(use_enums, side_elem(side_type_enum(&use_enum, side_elem(side_type_s8()))), 1);
static side_define_array(use_bitmaps,
	side_elem(side_type_enum_bitmap(&use_bitmap, side_elem(side_type_u8()))), 1);
static side_define_array(use_gather_enums, side_elem(side_type_gather_enum(use_enum,
	side_elem(side_type_gather_signed_integer(0, 4, 0, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT)))), 1);

struct use_node {
	int value;
	struct use_node *next;
};

static enum side_visitor_status use_visit(const struct side_tracer_visitor_ctx *ctx, struct use_node *node)
{
	for (; node; node = node->next) {
		const struct side_arg elem = side_visit_dynamic_arg(side_arg_int, node->value);

		if (ctx->write_elem(ctx, &elem) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

side_define_static_vla_visitor(use_visitor, side_elem(side_type_int()), side_length(side_type_u32()),
	use_visit, struct use_node, ATTR);
static side_define_vla(use_visitors, side_elem(side_type_vla_visitor(use_visitor)),
	side_length(side_type_u8()));

static enum side_visitor_status use_visit_any(const struct side_tracer_visitor_ctx *ctx, void *app)
{
	const struct side_arg elem = side_visit_dynamic_arg(side_arg_dynamic_string, (const char *) app,
		side_dynamic_attr_list(side_attr("k", side_attr_u8(1))));

	return ctx->write_elem(ctx, &elem);
}

static enum side_visitor_status use_visit_fields(
	const struct side_tracer_dynamic_struct_visitor_ctx *ctx, void *app)
{
	const struct side_arg_dynamic_field field =
		side_visit_dynamic_field(side_arg_dynamic_pointer, "p", app);

	return ctx->write_field(ctx, &field);
}

side_static_event(use_compounds, "use", "compounds", SIDE_LOGLEVEL_INFO, side_field_list(
	side_field_struct("struct", use_struct),
	side_field_struct("empty_struct", use_empty_struct),
	side_field_array("array", use_array),
	side_field_array("array_0", use_array_0),
	side_field_vla("vla", use_vla),
	side_field_vla("empty_vla", use_vla),
	side_field_vla("vla_vla", use_vla_vla),
	side_field_optional("optional", use_optional),
	side_field_optional("optional_2", use_optional_2),
	side_field_optional_literal("optional_literal", side_elem(side_type_u8())),
	side_field_optional_literal("optional_literal_2", side_elem(side_type_u8()), ATTR),
	side_field_variant("variant", use_variant_2),
	side_field_vla("vla_variant", use_vla_variant),
	side_field_enum("enum", &use_enum, side_elem(side_type_s8())),
	side_field_enum_bitmap("bitmap", &use_bitmap, side_elem(side_type_array(use_bytes))),
	side_field_array("enums", use_enums),
	side_field_array("bitmaps", use_bitmaps),
	side_field_array("gather_enums", use_gather_enums),
	side_field_vla_visitor("visitor", use_visitor),
	side_field_vla("visitors", use_visitors),
));

/* Gather */
struct use_memory {
	uint8_t byte, flags;
	uint16_t word;
	double number;
	char text[4];
	const char *pointer;
	uint32_t words[2];
	uint32_t length;
};
#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define POINTER SIDE_TYPE_GATHER_ACCESS_POINTER
#define WORD side_elem(side_type_gather_unsigned_integer(0, sizeof(uint32_t), 0, 0, DIRECT))
#define LENGTH side_length(side_type_gather_unsigned_integer(offsetof(struct use_memory, length), \
		side_struct_field_sizeof(struct use_memory, length), 0, 0, DIRECT))
static side_define_struct(use_memory, side_field_list(
	side_field_gather_byte("byte", offsetof(struct use_memory, byte), DIRECT)));
side_static_event(use_gather, "use", "gather", SIDE_LOGLEVEL_INFO, side_field_list(
	side_field_gather_byte("byte", 0, DIRECT),
	side_field_gather_bool("bool", 1, 1, 3, 1, DIRECT, ATTR),
	side_field_gather_unsigned_integer("unsigned_integer", offsetof(struct use_memory, word), 2, 0, 0, DIRECT),
	side_field_gather_signed_integer("signed_integer", offsetof(struct use_memory, word), 2, 0, 0, DIRECT, ATTR),
	side_field_gather_pointer("pointer", offsetof(struct use_memory, pointer), DIRECT),
	side_field_gather_float("float", offsetof(struct use_memory, number), sizeof(double), DIRECT, ATTR),
	side_field_gather_string16("string16", 0, POINTER),
	side_field_gather_string32("string32", 0, POINTER, ATTR),
	side_field_gather_bool_le("bool_le", 1, 1, 3, 1, DIRECT),
	side_field_gather_unsigned_integer_le("unsigned_integer_le", offsetof(struct use_memory, word), 2, 0, 0, DIRECT, ATTR),
	side_field_gather_signed_integer_le("signed_integer_le", offsetof(struct use_memory, word), 2, 0, 0, DIRECT),
	side_field_gather_pointer_le("pointer_le", offsetof(struct use_memory, pointer), DIRECT, ATTR),
	side_field_gather_float_le("float_le", offsetof(struct use_memory, number), sizeof(double), DIRECT),
	side_field_gather_string16_le("string16_le", 0, POINTER, ATTR),
	side_field_gather_string32_le("string32_le", 0, POINTER),
	side_field_gather_bool_be("bool_be", 1, 1, 3, 1, DIRECT, ATTR),
	side_field_gather_unsigned_integer_be("unsigned_integer_be", offsetof(struct use_memory, word), 2, 0, 0, DIRECT),
	side_field_gather_signed_integer_be("signed_integer_be", offsetof(struct use_memory, word), 2, 0, 0, DIRECT, ATTR),
	side_field_gather_pointer_be("pointer_be", offsetof(struct use_memory, pointer), DIRECT),
	side_field_gather_float_be("float_be", offsetof(struct use_memory, number), sizeof(double), DIRECT, ATTR),
	side_field_gather_string16_be("string16_be", 0, POINTER),
	side_field_gather_string32_be("string32_be", 0, POINTER, ATTR),
	side_field_gather_string("string", offsetof(struct use_memory, pointer), POINTER),
	side_field_gather_array("array", WORD, 2, offsetof(struct use_memory, words), DIRECT, ATTR),
	side_field_gather_vla("vla", WORD, offsetof(struct use_memory, words), DIRECT, LENGTH),
	side_field_gather_struct("struct", use_memory, 0, sizeof(struct use_memory), DIRECT),
	side_field_gather_enum("enum", use_enum, WORD),
));
static side_define_variant(use_gather_types, side_type_u8(), side_option_list(
	side_option(0, side_type_gather_byte(0, DIRECT, ATTR)),
	side_option(1, side_type_gather_bool(1, 1, 3, 1, DIRECT)),
	side_option(2, side_type_gather_unsigned_integer(offsetof(struct use_memory, word), 2, 0, 0, DIRECT, ATTR)),
	side_option(3, side_type_gather_signed_integer(offsetof(struct use_memory, word), 2, 0, 0, DIRECT)),
	side_option(4, side_type_gather_pointer(offsetof(struct use_memory, pointer), DIRECT, ATTR)),
	side_option(5, side_type_gather_float(offsetof(struct use_memory, number), sizeof(double), DIRECT)),
	side_option(6, side_type_gather_string16(0, POINTER, ATTR)),
	side_option(7, side_type_gather_string32(0, POINTER)),
	side_option(8, side_type_gather_bool_le(1, 1, 3, 1, DIRECT, ATTR)),
	side_option(9, side_type_gather_unsigned_integer_le(offsetof(struct use_memory, word), 2, 0, 0, DIRECT)),
	side_option(10, side_type_gather_signed_integer_le(offsetof(struct use_memory, word), 2, 0, 0, DIRECT, ATTR)),
	side_option(11, side_type_gather_pointer_le(offsetof(struct use_memory, pointer), DIRECT)),
	side_option(12, side_type_gather_float_le(offsetof(struct use_memory, number), sizeof(double), DIRECT, ATTR)),
	side_option(13, side_type_gather_string16_le(0, POINTER)),
	side_option(14, side_type_gather_string32_le(0, POINTER, ATTR)),
	side_option(15, side_type_gather_bool_be(1, 1, 3, 1, DIRECT)),
	side_option(16, side_type_gather_unsigned_integer_be(offsetof(struct use_memory, word), 2, 0, 0, DIRECT, ATTR)),
	side_option(17, side_type_gather_signed_integer_be(offsetof(struct use_memory, word), 2, 0, 0, DIRECT)),
	side_option(18, side_type_gather_pointer_be(offsetof(struct use_memory, pointer), DIRECT, ATTR)),
	side_option(19, side_type_gather_float_be(offsetof(struct use_memory, number), sizeof(double), DIRECT)),
	side_option(20, side_type_gather_string16_be(0, POINTER, ATTR)),
	side_option(21, side_type_gather_string32_be(0, POINTER)),
	side_option(22, side_type_gather_string(offsetof(struct use_memory, pointer), POINTER, ATTR)),
	side_option(23, side_type_gather_array(WORD, 2, offsetof(struct use_memory, words), DIRECT)),
	side_option(24, side_type_gather_vla(WORD, offsetof(struct use_memory, words), DIRECT, LENGTH, ATTR)),
	side_option(100, side_type_gather_struct(use_memory, 0, sizeof(struct use_memory), POINTER)),
	side_option(101, side_type_gather_enum(use_enum, WORD)),
));

/* Linkage and event classes */
side_declare_event(use_hidden);
side_static_event(use_static, "use", "static", SIDE_LOGLEVEL_EMERG, side_field_list());
side_static_event_variadic(use_static_variadic, "use", "static_variadic", SIDE_LOGLEVEL_ALERT,
	side_field_list(side_field_u8("a")));
side_hidden_event(use_hidden, "use", "hidden", SIDE_LOGLEVEL_CRIT, side_field_list(side_field_u8("a")));
side_hidden_event_variadic(use_hidden_variadic, "use", "hidden_variadic", SIDE_LOGLEVEL_ERR,
	side_field_list());
side_export_event(use_export, "use", "export", SIDE_LOGLEVEL_WARNING, side_field_list(), ATTR);
side_export_event_variadic(use_export_variadic, "use", "export_variadic", SIDE_LOGLEVEL_NOTICE,
	side_field_list(), ATTR);

/* User macros: one or several elements, an identifier, a whole list. */
#define USER_FIELDS side_field_u8("first"), side_field_u8("second")
#define USER_ARGS side_arg_u8(1), side_arg_u8(2)
#define USER_EVENT use_user
#define USER_LIST side_field_list(USER_FIELDS, side_field_u8("third"))
side_static_event(USER_EVENT, "use", "user", SIDE_LOGLEVEL_DEBUG, USER_LIST);

static void use_scalar_arguments(void)
{
	side_event(use_scalars, side_arg_list(
	side_arg_null(),
	side_arg_bool(256),
	side_arg_byte(1),
	side_arg_u8(1),
	side_arg_u16(1),
	side_arg_u16_le(1),
	side_arg_u16_be(1),
	side_arg_u32(1),
	side_arg_u32_le(1),
	side_arg_u32_be(1),
	side_arg_u64(1),
	side_arg_u64_le(1),
	side_arg_u64_be(1),
	IF_HAVE_INT128(side_arg_u128(1),)
	IF_HAVE_INT128(side_arg_u128_le(1),)
	IF_HAVE_INT128(side_arg_u128_be(1),)
	side_arg_s8(1),
	side_arg_s8_le(1),
	side_arg_s8_be(1),
	side_arg_s16(1),
	side_arg_s16_le(1),
	side_arg_s16_be(1),
	side_arg_s32(1),
	side_arg_s32_le(1),
	side_arg_s32_be(1),
	side_arg_s64(1),
	side_arg_s64_le(1),
	side_arg_s64_be(1),
	IF_HAVE_INT128(side_arg_s128(1),)
	IF_HAVE_INT128(side_arg_s128_le(1),)
	IF_HAVE_INT128(side_arg_s128_be(1),)
	side_arg_pointer(utf16),
	side_arg_pointer_le(utf16),
	side_arg_pointer_be(utf16),
	IF_SIDE_HAVE_FLOAT16(side_arg_float_binary16(1),)
	IF_SIDE_HAVE_FLOAT16(side_arg_float_binary16_le(1),)
	IF_SIDE_HAVE_FLOAT16(side_arg_float_binary16_be(1),)
	side_arg_float_binary32(1),
	side_arg_float_binary32_le(1),
	side_arg_float_binary32_be(1),
	side_arg_float_binary64(1),
	side_arg_float_binary64_le(1),
	side_arg_float_binary64_be(1),
	IF_SIDE_HAVE_FLOAT128(side_arg_float_binary128(1),)
	IF_SIDE_HAVE_FLOAT128(side_arg_float_binary128_le(1),)
	IF_SIDE_HAVE_FLOAT128(side_arg_float_binary128_be(1),)
	side_arg_string("x"),
	side_arg_string16(utf16),
	side_arg_string16_le(utf16),
	side_arg_string16_be(utf16),
	side_arg_string32(utf32),
	side_arg_string32_le(utf32),
	side_arg_string32_be(utf32),
	side_arg_char(1),
	side_arg_schar(1),
	side_arg_uchar(1),
	side_arg_short(1),
	side_arg_ushort(1),
	side_arg_int(1),
	side_arg_uint(1),
	side_arg_long(1),
	side_arg_ulong(1),
	side_arg_long_long(1),
	side_arg_ulong_long(1),
	side_arg_float(1),
	side_arg_double(1),
	IF_HAVE_LONG_DOUBLE(side_arg_long_double(1),)
		side_arg_dynamic_u8(1)));
	{
		side_arg_define_variant(v, side_arg_u8(1), side_arg_bool(1));
		side_event(use_variant, side_arg_list(side_arg_variant(v)));
	}
}

static void use_compound_arguments(void)
{
	struct use_node node = {1, NULL};
	int number = 1;
	side_arg_define_struct(s, side_arg_list(side_arg_u8(1), side_arg_string("b"),));
	side_arg_define_struct(s0, side_arg_list());
	side_arg_define_array(a, side_arg_list(side_arg_struct(s), side_arg_struct(s)));
	side_arg_define_array(a0, side_arg_list());
	side_arg_define_array(bytes, side_arg_list(side_arg_byte(1), side_arg_byte(2)));
	side_arg_define_vla(v, side_arg_list(side_arg_array(a)));
	side_arg_define_vla(v0, side_arg_list());
	side_arg_define_vla(vv, side_arg_list(side_arg_vla(v), side_arg_vla(v0)));
	side_arg_define_optional(o, side_arg_vla(v), SIDE_OPTIONAL_ENABLED);
	side_arg_define_optional(oo, side_arg_optional(o), SIDE_OPTIONAL_DISABLED);
	side_arg_define_optional(literal, side_arg_u8(1), SIDE_OPTIONAL_ENABLED);
	side_arg_define_variant(va, side_arg_s16(10), side_arg_struct(s));
	side_arg_define_variant(vb, side_arg_u8(1), side_arg_bool(1));
	side_arg_define_vla(vva, side_arg_list(side_arg_variant(vb)));
	side_arg_define_array(e, side_arg_list(side_arg_s8(1)));
	side_arg_define_array(b, side_arg_list(side_arg_u8(1)));
	side_arg_define_array(ge, side_arg_list(side_arg_gather_enum(&number)));
	side_arg_define_vla_visitor(visitor, &node);
	side_arg_define_vla(visitors, side_arg_list(side_arg_vla_visitor(visitor)));
	side_arg_define_vec(raw, side_arg_list(side_arg_u8(1), side_arg_string("b")));

	(void) raw;
	side_event(use_compounds, side_arg_list(side_arg_struct(s), side_arg_struct(s0), side_arg_array(a),
		side_arg_array(a0), side_arg_vla(v), side_arg_vla(v0), side_arg_vla(vv), side_arg_optional(o),
		side_arg_optional(oo), side_arg_optional(literal), side_arg_optional(literal),
		side_arg_variant(va), side_arg_vla(vva), side_arg_s8(1), side_arg_array(bytes),
		side_arg_array(e), side_arg_array(b), side_arg_array(ge), side_arg_vla_visitor(visitor),
		side_arg_vla(visitors)));
}

static void use_gather_arguments(void)
{
	struct use_memory memory = {1, 2, 3, 4.0, "abc", "text", {1, 2}, 2};
	const uint16_t *p16 = utf16;

	side_event(use_gather, side_arg_list(
		side_arg_gather_byte(&memory),
		side_arg_gather_bool(&memory),
		side_arg_gather_integer(&memory),
		side_arg_gather_integer(&memory),
		side_arg_gather_pointer(&memory),
		side_arg_gather_float(&memory),
		side_arg_gather_string(&p16),
		side_arg_gather_string(&p16),
		side_arg_gather_bool(&memory),
		side_arg_gather_integer(&memory),
		side_arg_gather_integer(&memory),
		side_arg_gather_pointer(&memory),
		side_arg_gather_float(&memory),
		side_arg_gather_string(&p16),
		side_arg_gather_string(&p16),
		side_arg_gather_bool(&memory),
		side_arg_gather_integer(&memory),
		side_arg_gather_integer(&memory),
		side_arg_gather_pointer(&memory),
		side_arg_gather_float(&memory),
		side_arg_gather_string(&p16),
		side_arg_gather_string(&p16),
		side_arg_gather_string(&memory),
		side_arg_gather_array(&memory),
		side_arg_gather_vla(&memory, &memory),
		side_arg_gather_struct(&memory), side_arg_gather_integer(&memory)));
}

static void use_dynamic_arguments(void)
{
	char text[] = "text";
	uint8_t base = 16;
#define DYNAMIC_ATTR side_dynamic_attr_list(side_attr("std.integer.base", side_attr_u8(base)))
	side_arg_dynamic_define_vec(list, side_arg_list(
		side_arg_dynamic_null(), side_arg_dynamic_null(DYNAMIC_ATTR),
		side_arg_dynamic_bool(256),
		side_arg_dynamic_byte(1),
		side_arg_dynamic_pointer(utf16),
		side_arg_dynamic_pointer_le(utf16, DYNAMIC_ATTR),
		side_arg_dynamic_pointer_be(utf16),
		side_arg_dynamic_u8(1),
		side_arg_dynamic_u16(1),
		side_arg_dynamic_u16_le(1, DYNAMIC_ATTR),
		side_arg_dynamic_u16_be(1),
		side_arg_dynamic_u32(1),
		side_arg_dynamic_u32_le(1),
		side_arg_dynamic_u32_be(1, DYNAMIC_ATTR),
		side_arg_dynamic_u64(1),
		side_arg_dynamic_u64_le(1),
		side_arg_dynamic_u64_be(1),
	IF_HAVE_INT128(	side_arg_dynamic_u128(1, DYNAMIC_ATTR),)
	IF_HAVE_INT128(	side_arg_dynamic_u128_le(1),)
	IF_HAVE_INT128(	side_arg_dynamic_u128_be(1),)
		side_arg_dynamic_s8(1),
		side_arg_dynamic_s16(1, DYNAMIC_ATTR),
		side_arg_dynamic_s16_le(1),
		side_arg_dynamic_s16_be(1),
		side_arg_dynamic_s32(1),
		side_arg_dynamic_s32_le(1, DYNAMIC_ATTR),
		side_arg_dynamic_s32_be(1),
		side_arg_dynamic_s64(1),
		side_arg_dynamic_s64_le(1),
		side_arg_dynamic_s64_be(1, DYNAMIC_ATTR),
	IF_HAVE_INT128(	side_arg_dynamic_s128(1),)
	IF_HAVE_INT128(	side_arg_dynamic_s128_le(1),)
	IF_HAVE_INT128(	side_arg_dynamic_s128_be(1),)
	IF_SIDE_HAVE_FLOAT16(	side_arg_dynamic_float_binary16(1, DYNAMIC_ATTR),)
	IF_SIDE_HAVE_FLOAT16(	side_arg_dynamic_float_binary16_le(1),)
	IF_SIDE_HAVE_FLOAT16(	side_arg_dynamic_float_binary16_be(1),)
		side_arg_dynamic_float_binary32(1),
		side_arg_dynamic_float_binary32_le(1, DYNAMIC_ATTR),
		side_arg_dynamic_float_binary32_be(1),
		side_arg_dynamic_float_binary64(1),
		side_arg_dynamic_float_binary64_le(1),
		side_arg_dynamic_float_binary64_be(1, DYNAMIC_ATTR),
	IF_SIDE_HAVE_FLOAT128(	side_arg_dynamic_float_binary128(1),)
	IF_SIDE_HAVE_FLOAT128(	side_arg_dynamic_float_binary128_le(1),)
	IF_SIDE_HAVE_FLOAT128(	side_arg_dynamic_float_binary128_be(1),)
		side_arg_dynamic_string("x", DYNAMIC_ATTR),
		side_arg_dynamic_string16(utf16),
		side_arg_dynamic_string16_le(utf16),
		side_arg_dynamic_string16_be(utf16),
		side_arg_dynamic_string32(utf32, DYNAMIC_ATTR),
		side_arg_dynamic_string32_le(utf32),
		side_arg_dynamic_string32_be(utf32),
		side_unwrap_dynamic(u8, 1),
	), DYNAMIC_ATTR);
	side_arg_dynamic_define_vec(empty, side_arg_list());
	side_arg_dynamic_define_vla_visitor(vla_visitor, use_visit_any, text, DYNAMIC_ATTR);
	side_arg_dynamic_define_struct_visitor(struct_visitor, use_visit_fields, text);
	side_arg_dynamic_define_struct(object, side_arg_list(
		side_arg_dynamic_field("list", side_arg_dynamic_vla(&list)),
		side_arg_dynamic_field("empty", side_arg_dynamic_vla(&empty)),
		side_arg_dynamic_field("vla_visitor", side_arg_dynamic_vla_visitor(vla_visitor)),
		side_arg_dynamic_field("struct_visitor", side_arg_dynamic_struct_visitor(&struct_visitor)),
		side_unwrap_dynamic_field(u16, "field", 1),
	), side_dynamic_attr_list(side_attr("a", side_attr_u8(base)), side_attr("b", side_attr_u16(base)),));
	const struct side_arg plain = side_unwrap_dynamic(u8, 1);
	const struct side_arg_dynamic_field plain_field = side_unwrap_dynamic_field(u16, "field", 1);

	(void) plain;
	(void) plain_field;
	if (side_event_enabled(use_static_variadic))
		side_event_call_variadic(use_static_variadic, side_arg_list(side_arg_u8(1)), side_arg_list());
	side_event_variadic(use_static_variadic, side_arg_list(side_arg_u8(1)), side_arg_list(
		side_arg_dynamic_field("object", side_arg_dynamic_struct(&object)),
		side_arg_dynamic_field("number", side_arg_dynamic_u8(1, DYNAMIC_ATTR))), DYNAMIC_ATTR);
}

/* Each statement as the only body of an if with an else, twice in a block. */
static void use_statements(int yes, void *key)
{
#define EITHER(...) \
	do { \
		if (yes) \
			__VA_ARGS__; \
		else \
			__VA_ARGS__; \
	} while (0)
	EITHER(side_event(use_static, side_arg_list()));
	EITHER(side_event_call(use_static, side_arg_list()));
	EITHER(side_event_call(use_hidden, side_arg_list(side_arg_u8(1))));
	EITHER(side_event_call(use_export, side_arg_list()));
	EITHER(side_event(use_user, side_arg_list(USER_ARGS, side_arg_u8(3))));
	EITHER(side_event_variadic(use_hidden_variadic, side_arg_list(), side_arg_list()));
	EITHER(side_event_call_variadic(use_export_variadic, side_arg_list(), side_arg_list()));
	EITHER(side_statedump_event(use_static, key, side_arg_list()));
	EITHER(side_statedump_event_call(use_static, key, side_arg_list()));
	EITHER(side_statedump_event_variadic(use_hidden_variadic, key, side_arg_list(), side_arg_list()));
	EITHER(side_statedump_event_call_variadic(use_hidden_variadic, key, side_arg_list(),
		side_arg_list(side_arg_dynamic_field("f", side_arg_dynamic_bool(256))),
		side_dynamic_attr_list(side_attr("k", side_attr_bool(1)))));
}

/* Helpers */
SIDE_PUSH_DIAGNOSTIC()
SIDE_DIAGNOSTIC(ignored "-Wunused-variable")
SIDE_DIAGNOSTIC_C(ignored "-Wunused-parameter")
SIDE_DIAGNOSTIC_CXX(ignored "-Wunused-parameter")
SIDE_DIAGNOSTIC_CXX(ignored "-Wpedantic") /* g++ and the array without elements in side_enum_t */
typedef void (*use_function)(void);
struct use_slots {
	side_ptr_t(const char) text;
	side_func_ptr_t(use_function) function;
	side_raw_ptr_t(void *) raw;
	side_array_t(const int) numbers;
	side_padding(3);
	side_enum_t(enum side_loglevel, uint8_t) level;
} SIDE_PACKED;
SIDE_POP_DIAGNOSTIC()
side_check_size(struct use_slots, 72);
side_static_assert(side_offsetofend(struct use_slots, level) == 72, "offset", use_offset);
side_static_assert(side_offsetofend(struct side_event_description,
	side_event_description_orig_abi_last) == 112, "description", use_description);
static const struct use_slots use_slots_object = {
	SIDE_PTR_INIT("text"), SIDE_PTR_INIT(NULL), SIDE_PTR_INIT(NULL),
	SIDE_LITERAL_ARRAY(const int, 1, 2, 3), {0}, SIDE_ENUM_INIT(SIDE_LOGLEVEL_INFO)};
#define USE_ID SIDE_CAT(use_, identifier)
#define USE_ID_2 SIDE_CAT2(use_, identifier_2)
SIDE_EXPECT_SEMICOLON();
typedef int SIDE_MAKE_ID(use_unique);
typedef int SIDE_MAKE_ID(use_unique);

static int use_helpers(void)
{
	struct use_slots slots;
	const int *it;
	int sum = 0, USE_ID = 1, USE_ID_2 = 2, host = -1;
	unsigned int i = 0, right = 0, reversed = 0;
	char bytes[16];
	/* clang 16 warns about constant operands of &&. */
	const int constants[] = {SIDE_BITS_PER_LONG == sizeof(long) * 8,
		SIDE_FLOAT_WORD_ORDER == SIDE_BYTE_ORDER,
		SIDE_TYPE_FLOAT_WORD_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_HOST, SIDE_ARRAY_SIZE(utf16) == 2,
		sizeof(SIDE_STR(a, b)) == 5, SIDE_PARAM_SELECT_ARG1(0, 1, 2) == 1,
		SIDE_DEFAULT_ATTR(0, 1, 2) == 1, side_bswap_16(0x0102) == 0x0201,
		side_bswap_32(0x01020304U) == 0x04030201U,
		side_bswap_64(0x0102030405060708ULL) == 0x0807060504030201ULL, side_likely(1),
		!side_unlikely(0), SIDE_COMPOUND_LITERAL(const int, 1, 2)[SIDE_PARAM(1)] == 2};
	const struct side_type_vla_visitor *visitor =
		side_container_of(&use_visitor.attributes, struct side_type_vla_visitor, attributes);
	struct use_numbers {
		side_array_t(const int) numbers;
	} dynamic = {SIDE_DYNAMIC_LITERAL_ARRAY(const int, sum, USE_ID)};

	memset(&slots, 0xff, sizeof(slots));
	side_ptr_set(slots.text, "x");
	side_enum_set(slots.level, SIDE_LOGLEVEL_ERR);
	side_for_each_element_in_array(it, &use_slots_object.numbers)
		sum += *it * (int) side_array_index_of_element(&use_slots_object.numbers, it);
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char) i;
	side_bswap_128p(bytes);
	for (i = 0; i < sizeof(bytes); i++)
		reversed += bytes[i] == (char) (15 - i);
	for (i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		right += constants[i] != 0;
	host = SIDE_TYPE_BYTE_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_LE ? SIDE_LITTLE_ENDIAN : SIDE_BIG_ENDIAN;
	return visitor == &use_visitor && sum == 2 + 6 && reversed == sizeof(bytes) &&
		side_ptr_get(slots.text)[0] == 'x' && slots.text.v[SIDE_U128_PTR_IDX(1)] == NULL &&
		side_enum_get(slots.level) == SIDE_LOGLEVEL_ERR &&
		side_array_length(&use_slots_object.numbers) == 3 &&
		*side_array_at(&use_slots_object.numbers, 2) == 3 &&
		side_array_elements(&use_slots_object.numbers)[0] == 1 &&
		side_array_length(&dynamic.numbers) == 2 && *side_array_at(&dynamic.numbers, 1) == 1 &&
		USE_ID + USE_ID_2 == 3 && host == SIDE_BYTE_ORDER &&
		side_bswap_pointer(side_bswap_pointer((uintptr_t) &sum)) == (uintptr_t) &sum &&
		right == sizeof(constants) / sizeof(constants[0]);
}

static int use_everything(void *key)
{
	(void) use_gather_types;
	use_scalar_arguments();
	use_compound_arguments();
	use_gather_arguments();
	use_dynamic_arguments();
	use_statements(1, key);
	use_statements(0, key);
	return use_helpers();
}

#endif
