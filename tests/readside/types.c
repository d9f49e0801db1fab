/* SPDX-License-Identifier: MIT */
/*
 * Events with a type of each label, for readside. With -DIN_PROCESS the program prints its own
 * descriptions as JSON. The name of a field shows its byte order: `_le`, `_be`, or that of the
 * machine. Offsets are written as numbers: they are the same on each machine.
 */
#include <side/trace.h>

#define KEYS(value) side_attr_list(side_attr("key", value))
#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define POINTER SIDE_TYPE_GATHER_ACCESS_POINTER

side_static_event(scalars, "types", "scalars", SIDE_LOGLEVEL_EMERG,
		side_field_list(side_field_null("null"), side_field_bool("bool"),
				side_field_byte("byte"), side_field_u8("u8"), side_field_u16("u16"),
				side_field_u32("u32"), side_field_u64("u64"), side_field_s8("s8"),
				side_field_s16("s16"), side_field_s32("s32"), side_field_s64("s64"),
				side_field_pointer("pointer"), side_field_float_binary32("f32"),
				side_field_float_binary64("f64"), side_field_string("utf8"),
				side_field_string16("utf16"), side_field_string32("utf32"),
				side_field_dynamic("dynamic")));

side_static_event(orders, "types", "orders", SIDE_LOGLEVEL_ALERT,
		side_field_list(side_field_u16_le("u16_le"), side_field_u16_be("u16_be"),
				side_field_u32_le("u32_le"), side_field_u32_be("u32_be"),
				side_field_s64_le("s64_le"), side_field_s64_be("s64_be"),
				side_field_float_binary32_le("f32_le"),
				side_field_float_binary64_be("f64_be"),
				side_field_string16_le("utf16_le"),
				side_field_string32_be("utf32_be")));

#ifdef __SIZEOF_INT128__
side_static_event(wide, "types", "wide", SIDE_LOGLEVEL_CRIT,
		side_field_list(side_field_u128("u128"), side_field_s128("s128"),
				side_field_u128_be("u128_be")),
		side_attr_list(side_attr("u128", side_attr_u128(((unsigned __int128)5 << 64) + 7)),
				side_attr("s128", side_attr_s128(-(__int128)3))));
#endif

#if __HAVE_FLOAT128
side_static_event(quad, "types", "quad", SIDE_LOGLEVEL_CRIT,
		side_field_list(side_field_float_binary128("f128")));
#endif

side_static_event(attributes, "types", "attributes", SIDE_LOGLEVEL_ERR,
		side_field_list(side_field_bool("bool", KEYS(side_attr_bool(1))),
				side_field_byte("byte", KEYS(side_attr_u8(200))),
				side_field_u8("u8", KEYS(side_attr_u16(50000))),
				side_field_u16("u16", KEYS(side_attr_u32(4000000000u))),
				side_field_u32("u32", KEYS(side_attr_u64(UINT64_MAX))),
				side_field_s8("s8", KEYS(side_attr_s8(-8))),
				side_field_s16("s16", KEYS(side_attr_s16(-1600))),
				side_field_s32("s32", KEYS(side_attr_s32(-320000))),
				side_field_s64("s64", KEYS(side_attr_s64(INT64_MIN))),
				side_field_float_binary32(
						"f32", KEYS(side_attr_float_binary32(1.5f))),
				side_field_float_binary64(
						"f64", KEYS(side_attr_float_binary64(-0.1))),
				side_field_string("utf8",
						KEYS(side_attr_string("q\"uo\\te\n\xc3\xa9"))),
				side_field_null("null", KEYS(side_attr_string16(u"\u20ac"))),
				side_field_pointer("pointer",
						side_attr_list(side_attr("one", side_attr_u8(1)),
								side_attr("two",
										side_attr_string32(
												U"\U0001f600"))))),
		side_attr_list(side_attr("event.key", side_attr_string("event \"value\""))));

static side_define_struct(inner_struct,
		side_field_list(side_field_u16("x"), side_field_string("name")),
		KEYS(side_attr_u8(1)));
static side_define_struct(empty_struct, side_field_list());
static side_define_array(
		struct_array, side_elem(side_type_struct(inner_struct)), 3, KEYS(side_attr_u8(2)));
static side_define_vla(array_vla, side_elem(side_type_array(struct_array)),
		side_length(side_type_u16()), KEYS(side_attr_u8(3)));
static side_define_optional(string_optional, side_elem(side_type_string()));
static side_define_optional(vla_optional, side_elem(side_type_vla(array_vla)));
static side_define_variant(choice_variant, side_type_s8(),
		side_option_list(side_option(-1, side_type_null()),
				side_option_range(-5, -2, side_type_struct(inner_struct)),
				side_option_range(0, 100, side_type_vla(array_vla))),
		KEYS(side_attr_u8(4)));
static side_define_enum(color_enum,
		side_enum_mapping_list(side_enum_mapping_value("minus \"one\"", -1),
				side_enum_mapping_range("low", INT64_MIN, -2),
				side_enum_mapping_range("high", 1, INT64_MAX)),
		KEYS(side_attr_u8(5)));
static side_define_enum_bitmap(flag_bitmap,
		side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("first", 0),
				side_enum_bitmap_mapping_range("rest", 1, UINT64_MAX)),
		KEYS(side_attr_u8(6)));
static side_define_array(byte_array, side_elem(side_type_byte()), 4);
static side_define_vla(u64_vla, side_elem(side_type_u64()), side_length(side_type_u8()));

static enum side_visitor_status visit_nothing(
		const struct side_tracer_visitor_ctx *tracer, int *application)
{
	(void)tracer;
	(void)application;
	return SIDE_VISITOR_STATUS_OK;
}
side_define_static_vla_visitor(nothing_visitor, side_elem(side_type_u32()),
		side_length(side_type_u8()), visit_nothing, int, KEYS(side_attr_u8(7)));

side_static_event_variadic(compounds, "types", "compounds", SIDE_LOGLEVEL_WARNING,
		side_field_list(side_field_struct("struct", inner_struct),
				side_field_struct("empty", empty_struct),
				side_field_array("array", struct_array),
				side_field_vla("vla", array_vla),
				side_field_vla_visitor("visitor", nothing_visitor),
				side_field_optional("optional", string_optional),
				side_field_optional("optional_vla", vla_optional),
				side_field_variant("variant", choice_variant),
				side_field_enum("enum", &color_enum, side_elem(side_type_s32())),
				side_field_enum_bitmap(
						"bitmap", &flag_bitmap, side_elem(side_type_u16())),
				side_field_enum_bitmap("bitmap_array", &flag_bitmap,
						side_elem(side_type_array(byte_array))),
				side_field_enum_bitmap("bitmap_vla", &flag_bitmap,
						side_elem(side_type_vla(u64_vla)))));

static side_define_struct(gathered_struct,
		side_field_list(side_field_gather_byte("byte", 1, DIRECT),
				side_field_gather_bool("bool", 2, 2, 3, 5, POINTER),
				side_field_gather_unsigned_integer("bits", 4, 4, 5, 6, DIRECT),
				side_field_gather_signed_integer_be(
						"signed_be", 8, 8, 0, 0, DIRECT)),
		KEYS(side_attr_u8(8)));

side_static_event(gathers, "types", "gathers", SIDE_LOGLEVEL_NOTICE,
		side_field_list(side_field_gather_byte("byte", 0, DIRECT, KEYS(side_attr_u8(9))),
				side_field_gather_bool("bool", 16, 1, 0, 0, POINTER),
				side_field_gather_unsigned_integer("unsigned", 4, 4, 0, 0, DIRECT),
				side_field_gather_unsigned_integer_le(
						"unsigned_le", 4, 4, 0, 0, DIRECT),
				side_field_gather_signed_integer("signed", 8, 2, 3, 9, POINTER),
				side_field_gather_float("float", 8, 8, DIRECT),
				side_field_gather_float_be("float_be", 8, 4, DIRECT),
				side_field_gather_pointer("pointer", 8, DIRECT),
				side_field_gather_string("utf8", 0, POINTER),
				side_field_gather_string16("utf16", 2, DIRECT),
				side_field_gather_string32_be("utf32_be", 4, DIRECT),
				side_field_gather_struct("struct", gathered_struct, 0, 32, POINTER),
				side_field_gather_array("array",
						side_elem(side_type_gather_struct(
								gathered_struct, 0, 32, DIRECT)),
						5, 64, DIRECT),
				side_field_gather_vla("vla",
						side_elem(side_type_gather_unsigned_integer(
								0, 4, 0, 0, DIRECT)),
						24, POINTER,
						side_length(side_type_gather_unsigned_integer(
								16, 1, 0, 0, DIRECT))),
				side_field_gather_enum("enum", color_enum,
						side_elem(side_type_gather_signed_integer(
								0, 4, 0, 0, DIRECT)))));

side_hidden_event(hidden, "other", "hidden", SIDE_LOGLEVEL_INFO, side_field_list());
side_export_event(exported, "other", "exported", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u8("with space and \"quotes\"")));

#ifdef IN_PROCESS
#include "abi/visit.h"

int main(void)
{
	for (struct side_event_description **at = __start_side_event_description_ptr;
			at < __stop_side_event_description_ptr; at++) {
		struct visit_buffer buffer;

		if (!*at)
			continue;
		visit_buffer_heap(&buffer);
		if (visit_description_json(*at, &buffer, NULL))
			return 1;
		fwrite(buffer.data, buffer.size, 1, stdout);
		putchar('\n');
		visit_buffer_free(&buffer);
	}
	return 0;
}
#else
int main(void);

int main(void)
{
	return 0;
}
#endif
