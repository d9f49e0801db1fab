/* SPDX-License-Identifier: MIT */
/*
 * Every SIDE type once: its description, the bytes that docs/spec/recording.md requires (written by
 * hand), the values that a CTF reader must find in them, and the line that `side view` must print.
 *
 *	sample expected			what readers must find, a line an event
 *	sample view			what the view must print, a line an event
 *	sample write DIR		make the trace
 *	sample read DIR			what side's reader finds
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/ctf.h"
#include "types.h"

#define TICK0 UINT64_C(1000000000000000)

/* ---- types ---- */

static const struct side_type u8 = T_U(8, HOST), u16 = T_U(16, HOST), u32 = T_U(32, HOST);
static const struct side_type u64 = T_U(64, HOST), s8 = T_S(8, HOST), s64 = T_S(64, HOST);
static const struct side_type u16_be = T_U(16, BE), u128 = T_U(128, HOST), s128 = T_S(128, HOST);
static const struct side_type null = T_NULL, byte = T_BYTE, dynamic = T_DYNAMIC;

static const struct side_attr base16[] = {
		{.key = TEXT("std.integer.base"),
				.value = {.type = SIDE_ENUM_INIT(SIDE_ATTR_TYPE_U8),
						.u = {.integer_value = {.side_u8 = 16}}}},
		{.key = TEXT("note"),
				.value = {.type = SIDE_ENUM_INIT(SIDE_ATTR_TYPE_STRING),
						.u = {.string_value = TEXT("a/b */ c")}}},
};

static const struct side_event_field pair_fields[] = {
		FIELD("a", T_U(8, HOST)),
		FIELD("b", T_STRING(8, HOST)),
};
static const struct side_type_struct pair = STRUCT_OF(pair_fields);
static const struct side_type pair_type = T_STRUCT(&pair);

static const struct side_type_vla vla_u16 = VLA_OF(&u16, &u8);
static const struct side_type vla_u16_type = T_VLA(&vla_u16);
static const struct side_type_vla vla_bytes = VLA_OF(&byte, &u32);
static const struct side_type_vla vla_vla = VLA_OF(&vla_u16_type, &u64);
static const struct side_type_vla vla_pair = VLA_OF(&pair_type, &u128);
static const struct side_type_vla_visitor visitor_u16 = VLA_OF(&u16, &u32);
static const struct side_type_array array3 = ARRAY_OF(&u8, 3);
static const struct side_type array3_type = T_ARRAY(&array3);
static const struct side_type_array array2x3 = ARRAY_OF(&array3_type, 2);
static const struct side_type_array array_null = ARRAY_OF(&null, 2);
static const struct side_type_array array_vla = ARRAY_OF(&vla_u16_type, 2);
static const struct side_type_array array0 = ARRAY_OF(&u32, 0);
static const struct side_type_array array_dynamic = ARRAY_OF(&dynamic, 2);
static const struct side_type_vla vla_array = VLA_OF(&array3_type, &u16);

/*
 * Names that are not identifiers, equal names, and a name that equals the generated one of another
 * field.
 */
static const struct side_event_field odd_fields[] = {
		FIELD("x", T_U(8, HOST)),
		FIELD("x", T_U(8, HOST)),
		FIELD("x_2", T_U(8, HOST)),
		FIELD("", T_U(8, HOST)),
		FIELD("a.b c-d", T_U(8, HOST)),
		FIELD("\xc3\xa9", T_U(8, HOST)),
		FIELD("int", T_U(8, HOST)),
		FIELD("_v_length", T_U(8, HOST)),
		FIELD("v", T_VLA(&vla_u16)),
};

static const struct side_type_struct empty_struct = {.fields = NO_LIST};

static const struct side_enum_mapping state_labels[] = {
		MAPPING(0, 0, "off"),
		MAPPING(1, 9,
				"say \"on\"\\\n\t\x01"
				"7"),
		MAPPING(5, 5, ""),
		MAPPING(10, 10, "\xc3\xa9t\xc3\xa9"),
		MAPPING(11, 11,
				"bad\xff"
				"byte"),
		MAPPING(250, 300, "high"),
		MAPPING(-5, -1, "below"),
		MAPPING(400, 500, "never"),
		MAPPING(3, 2, "reversed"),
		MAPPING(12, 12, "integer"),
};
static const struct side_enum_mappings states = {.mappings = LIST(state_labels)};
static const struct side_enum_mapping useless_labels[] = {MAPPING(1000, 2000, "beyond")};
static const struct side_enum_mappings useless = {.mappings = LIST(useless_labels)};
static const struct side_enum_mapping wide_labels[] = {
		MAPPING(INT64_MIN, -1, "upper half"),
		MAPPING(-2, 3, "around zero"),
		MAPPING(INT64_MAX, INT64_MAX, "greatest"),
};
static const struct side_enum_mappings wide = {.mappings = LIST(wide_labels)};
static const uint16_t utf16_text[] = {0x00e9, 0xd83d, 0xde00, 0};
static const struct side_enum_mapping utf16_labels[] = {
		{.range_begin = 1,
				.range_end = 1,
				.label = {.p = SIDE_PTR_INIT(utf16_text),
						.unit_size = 2,
						ORDER(HOST)}},
};
static const struct side_enum_mappings utf16_states = {.mappings = LIST(utf16_labels)};

static const struct side_enum_bitmap_mapping flag_labels[] = {
		MAPPING(0, 0, "read"),
		MAPPING(1, 1, "write"),
		MAPPING(2, 4, "mode"),
		MAPPING(9, 9, "ninth"),
};
static const struct side_enum_bitmap_mappings flags = {.mappings = LIST(flag_labels)};
static const struct side_type_array array2_byte = ARRAY_OF(&byte, 2);
static const struct side_type array2_byte_type = T_ARRAY(&array2_byte);
static const struct side_type vla_bytes_type = T_VLA(&vla_bytes);

static const struct side_type_optional optional_u16 = OPTIONAL_OF(&u16);
static const struct side_type optional_u16_type = T_OPTIONAL(&optional_u16);
static const struct side_type_optional optional_optional = OPTIONAL_OF(&optional_u16_type);
static const struct side_type_optional optional_vla = OPTIONAL_OF(&vla_u16_type);
static const struct side_type_optional optional_dynamic = OPTIONAL_OF(&dynamic);
static const struct side_type_array array_optional = ARRAY_OF(&optional_u16_type, 3);

static const struct side_variant_option options[] = {
		OPTION(1, 1, T_U(8, HOST)),
		OPTION(0, 9, T_STRING(8, HOST)),
		OPTION(1, 5, T_U(64, HOST)), /* Never chosen. */
		OPTION(-3, -1, T_VLA(&vla_u16)),
		OPTION(20, 10, T_NULL), /* Its range has no value. */
		OPTION(127, 127, T_OPTIONAL(&optional_u16)),
};
static const struct side_type_variant variant_s8 = {
		.options = LIST(options), .selector = T_S(8, HOST)};
static const struct side_type variant_s8_type = T_VARIANT(&variant_s8);
static const struct side_type_variant variant_u64 = {
		.options = LIST(options), .selector = T_U(64, BE)};
static const struct side_type_variant variant_s128 = {
		.options = LIST(options), .selector = T_S(128, BE)};
static const struct side_type_variant variant_bits = {
		.options = LIST(options), .selector = T_INTEGER(S32, 4, 1, BE, 6)};
static const struct side_variant_option all_options[] = {OPTION(0, 255, T_STRUCT(&pair))};
static const struct side_type_variant variant_full = {
		.options = LIST(all_options), .selector = T_U(8, HOST)};
static const struct side_type_variant variant_empty = {
		.options = NO_LIST, .selector = T_U(8, HOST)};
static const struct side_type_array array_variant = ARRAY_OF(&variant_s8_type, 2);

#define GATHER_INTEGER_BODY(_size, _sign, _order, _bits, _shift) \
	.side_integer = {.offset_bits = _shift,                  \
			.type = {.integer_size = _size,          \
					.len_bits = _bits,       \
					.signedness = _sign,     \
					ORDER(_order)}}
static const struct side_type gather_u16 = T_GATHER(INTEGER, GATHER_INTEGER_BODY(2, 0, HOST, 0, 0));
static const struct side_type gather_s32_bits =
		T_GATHER(INTEGER, GATHER_INTEGER_BODY(4, 1, BE, 5, 3));
static const struct side_event_field gather_fields[] = {
		FIELD("i", T_GATHER(INTEGER, GATHER_INTEGER_BODY(2, 0, BE, 0, 0))),
		FIELD("p", T_GATHER(POINTER, GATHER_INTEGER_BODY(8, 0, HOST, 0, 0))),
		FIELD("b",
				T_GATHER(BOOL,
						.side_bool = {.offset_bits = 3,
								.type = {.bool_size = 4,
										.len_bits = 1,
										ORDER(HOST)}})),
		FIELD("y", T_GATHER(BYTE, .side_byte = {.offset = 3})),
		FIELD("f", T_GATHER(FLOAT, .side_float = {.type = {.float_size = 4, ORDER(BE)}})),
		FIELD("s", T_GATHER(STRING, .side_string = {.type = {.unit_size = 2, ORDER(BE)}})),
};
static const struct side_type_struct gather_struct = STRUCT_OF(gather_fields);

static const struct side_event_field several_fields[] = {
		FIELD("name", T_STRING(8, HOST)),
		FIELD("count", T_U(32, HOST)),
		FIELD("data", T_VLA(&vla_bytes)),
};
static const struct side_event_field variadic_fields[] = {FIELD("variadic", T_U(8, HOST))};

/* ---- the cases ---- */

struct sample {
	const char *name;
	const struct side_event_field *fields;
	uint32_t field_count;
	bool variadic;
	const char *bytes;
	size_t size;
	const char *ctf; /* NULL: the test only checks that it can be read. */
	const char *view;
};

#define CASE(_name, _bytes, _ctf, _view, ...)                                                \
	{                                                                                    \
		_name, (const struct side_event_field[]){FIELD("x", __VA_ARGS__)}, 1, false, \
				_bytes, sizeof(_bytes) - 1, _ctf, _view                      \
	}
#define EVENT(_name, _fields, _variadic, _bytes, _ctf, _view)                                      \
	{                                                                                          \
		_name, _fields, COUNT(_fields), _variadic, _bytes, sizeof(_bytes) - 1, _ctf, _view \
	}
#define MAX64 "\xff\xff\xff\xff\xff\xff\xff\xff"
#define BYTES16 "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"

static const struct sample samples[] = {
		CASE("null", "", "{\"x\": {}}", "{ x = null }", T_NULL),
		CASE("bool", "\x01", "{\"x\": 1}", "{ x = true }", T_BOOL(1, 0)),
		CASE("bool7", "\x07", "{\"x\": 7}", "{ x = true }", T_BOOL(1, 0)),
		CASE("bool32", "\x00", "{\"x\": 0}", "{ x = false }", T_BOOL(4, 0)),
		CASE("byte", "\xfe", "{\"x\": 254}", "{ x = 0xfe }", T_BYTE),
		CASE("u8", "\xff", "{\"x\": 255}", "{ x = 255 }", T_U(8, HOST)),
		CASE("u16", "\x01\xff", "{\"x\": 65281}", "{ x = 65281 }", T_U(16, LE)),
		CASE("u16be", "\x01\xff", "{\"x\": 511}", "{ x = 511 }", T_U(16, BE)),
		CASE("u32be", "\x01\x02\x03\x04", "{\"x\": 16909060}", "{ x = 16909060 }",
				T_U(32, BE)),
		CASE("u64", MAX64, "{\"x\": 18446744073709551615}", "{ x = 18446744073709551615 }",
				T_U(64, LE)),
		CASE("u64be", "\x01\x02\x03\x04\x05\x06\x07\x08", "{\"x\": 72623859790382856}",
				"{ x = 72623859790382856 }", T_U(64, BE)),
		CASE("s8", "\x80", "{\"x\": -128}", "{ x = -128 }", T_S(8, HOST)),
		CASE("s16be", "\xff\xfe", "{\"x\": -2}", "{ x = -2 }", T_S(16, BE)),
		CASE("s32", "\xfe\xff\xff\x7f", "{\"x\": 2147483646}", "{ x = 2147483646 }",
				T_S(32, LE)),
		CASE("s64", "\x00\x00\x00\x00\x00\x00\x00\x80", "{\"x\": -9223372036854775808}",
				"{ x = -9223372036854775808 }", T_S(64, LE)),
		CASE("partial", "\xf1\xff\xff\xff", "{\"x\": -15}", "{ x = -15 }",
				T_INTEGER(S32, 4, 1, BE, 5)),
		CASE("base16", "\xff\x00", "{\"x\": 255}", "{ x = 0xff }",
				T_INTEGER_FULL(U16, 2, 0, LE, 0, LIST(base16))),
		CASE("u128", BYTES16,
				"{\"x\": {\"lo\": 506097522914230528, \"hi\": "
				"1084818905618843912}}",
				"{ x = 20011376718272490338853433276725592320 }", T_U(128, LE)),
		CASE("s128be", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe",
				"{\"x\": {\"hi\": -1, \"lo\": 18446744073709551614}}", "{ x = -2 }",
				T_S(128, BE)),
		CASE("pointer", "\x88\x77\x66\x55\x44\x33\x22\x11", "{\"x\": 1234605616436508552}",
				"{ x = 0x1122334455667788 }", T_POINTER),
		CASE("float32be", "\x3f\x80\x00\x00", "{\"x\": 1}", "{ x = 1 }", T_FLOAT(32, BE)),
		CASE("float64", "\x9a\x99\x99\x99\x99\x99\xb9\x3f", "{\"x\": 0.10000000000000001}",
				"{ x = 0.1 }", T_FLOAT(64, LE)),
		CASE("float64nan", "\x00\x00\x00\x00\x00\x00\xf8\x7f", "{\"x\": NaN}",
				"{ x = nan }", T_FLOAT(64, LE)),
		CASE("float16", "\x00\x00\xc0\x3f", "{\"x\": 1.5}", "{ x = 1.5 }", T_FLOAT(16, BE)),
		CASE("float128", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x20\x01\x40",
				"{\"x\": {\"bytes\": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, "
				"1, 64]}}",
				"{ x = 4.5 }", T_FLOAT(128, LE)),
		CASE("string", "a\"\\\n\x01\xc3\xa9\0", "{\"x\": \"a\\\"\\\\\\n\\u0001\\u00e9\"}",
				"{ x = \"a\\\"\\\\\\n\\x01\xc3\xa9\" }", T_STRING(8, HOST)),
		CASE("string0", "\0", "{\"x\": \"\"}", "{ x = \"\" }", T_STRING(8, HOST)),
		CASE("string16", "\xf0\x9f\x98\x80\0", "{\"x\": \"\\ud83d\\ude00\"}",
				"{ x = \"\xf0\x9f\x98\x80\" }", T_STRING(16, BE)),
		CASE("struct",
				"\x05"
				"hi\0",
				"{\"x\": {\"a\": 5, \"b\": \"hi\"}}",
				"{ x = { a = 5, b = \"hi\" } }", T_STRUCT(&pair)),
		CASE("emptystruct", "", "{\"x\": {}}", "{ x = { } }", T_STRUCT(&empty_struct)),
		EVENT("odd", odd_fields, false,
				"\x01\x02\x03\x04\x05\x06\x07\x08\x02\x01\x00\x02\x00",
				"{\"x\": 1, \"x_2\": 2, \"x_2_2\": 3, \"unnamed\": 4, \"a_b_c_d\": "
				"5, \"__\": 6, "
				"\"int\": 7, \"_v_length\": 8, \"_v_length_2\": 2, \"v\": [1, 2]}",
				"{ x = 1, x = 2, x_2 = 3, \"\" = 4, \"a.b c-d\" = 5, \xc3\xa9 = 6, "
				"int = 7, _v_length = 8, "
				"v = [ 1, 2 ] }"),
		CASE("array", "\x01\x02\x03", "{\"x\": [1, 2, 3]}", "{ x = [ 1, 2, 3 ] }",
				T_ARRAY(&array3)),
		CASE("array2x3", "\x01\x02\x03\x04\x05\x06", "{\"x\": [[1, 2, 3], [4, 5, 6]]}",
				"{ x = [ [ 1, 2, 3 ], [ 4, 5, 6 ] ] }", T_ARRAY(&array2x3)),
		CASE("arraynull", "", "{\"x\": [{}, {}]}", "{ x = [ null, null ] }",
				T_ARRAY(&array_null)),
		CASE("array0", "", "{\"x\": []}", "{ x = [ ] }", T_ARRAY(&array0)),
		CASE("arrayvla", "\x01\x05\x00\x02\x06\x00\x07\x00",
				"{\"x\": [{\"length\": 1, \"elements\": [5]}, {\"length\": 2, "
				"\"elements\": [6, 7]}]}",
				"{ x = [ [ 5 ], [ 6, 7 ] ] }", T_ARRAY(&array_vla)),
		CASE("vla", "\x02\x01\x00\xff\xff", "{\"_x_length\": 2, \"x\": [1, 65535]}",
				"{ x = [ 1, 65535 ] }", T_VLA(&vla_u16)),
		CASE("vla0", "\x00", "{\"_x_length\": 0, \"x\": []}", "{ x = [ ] }",
				T_VLA(&vla_u16)),
		CASE("vlabytes",
				"\x03\x00\x00\x00"
				"abc",
				"{\"_x_length\": 3, \"x\": [97, 98, 99]}",
				"{ x = [ 0x61, 0x62, 0x63 ] }", T_VLA(&vla_bytes)),
		CASE("vlavla", "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x09\x00",
				"{\"_x_length\": 2, \"x\": [{\"length\": 0, \"elements\": []}, "
				"{\"length\": 1, \"elements\": [9]}]}",
				"{ x = [ [ ], [ 9 ] ] }", T_VLA(&vla_vla)),
		CASE("vlapair", "\x01\x00\x00\x00\x00\x00\x00\x00\x07q\0",
				"{\"_x_length\": 1, \"x\": [{\"a\": 7, \"b\": \"q\"}]}",
				"{ x = [ { a = 7, b = \"q\" } ] }", T_VLA(&vla_pair)),
		CASE("vlaarray", "\x02\x00\x01\x02\x03\x04\x05\x06",
				"{\"_x_length\": 2, \"x\": [[1, 2, 3], [4, 5, 6]]}",
				"{ x = [ [ 1, 2, 3 ], [ 4, 5, 6 ] ] }", T_VLA(&vla_array)),
		CASE("visitor", "\x01\x00\x00\x00\x2a\x00", "{\"_x_length\": 1, \"x\": [42]}",
				"{ x = [ 42 ] }", T_VLA_VISITOR(&visitor_u16)),
		CASE("enum", "\x01", "{\"x\": [1, \"say \\\"on\\\"\\\\\\n\\t\\u00017\"]}",
				"{ x = \"say \\\"on\\\"\\\\\\n\\t\\x017\" (1) }",
				T_ENUM(&states, &u8)),
		CASE("enumtwo", "\x05", "{\"x\": [5, \"\", \"say \\\"on\\\"\\\\\\n\\t\\u00017\"]}",
				"{ x = \"say \\\"on\\\"\\\\\\n\\t\\x017\" | \"\" (5) }",
				T_ENUM(&states, &u8)),
		CASE("enumclip", "\xff", "{\"x\": [255, \"high\"]}", "{ x = \"high\" (255) }",
				T_ENUM(&states, &u8)),
		CASE("enumbad", "\x0b", "{\"x\": [11, \"bad\\u00ffbyte\"]}",
				"{ x = \"bad\xc3\xbf"
				"byte\" (11) }",
				T_ENUM(&states, &u8)),
		CASE("enumutf8", "\x0a", "{\"x\": [10, \"\\u00e9t\\u00e9\"]}",
				"{ x = \"\xc3\xa9t\xc3\xa9\" (10) }", T_ENUM(&states, &u8)),
		CASE("enums8", "\xfe", "{\"x\": [-2, \"below\"]}", "{ x = \"below\" (-2) }",
				T_ENUM(&states, &s8)),
		CASE("enumunknown", "\x63", "{\"x\": [99]}", "{ x = <unknown> (99) }",
				T_ENUM(&states, &u8)),
		CASE("enumuseless", "\x63", "{\"x\": 99}", "{ x = <unknown> (99) }",
				T_ENUM(&useless, &u8)),
		CASE("enumbe", "\x00\x0c", "{\"x\": [12, \"integer\"]}", "{ x = \"integer\" (12) }",
				T_ENUM(&states, &u16_be)),
		CASE("enumutf16", "\x01", "{\"x\": [1, \"\\u00e9\\ud83d\\ude00\"]}",
				"{ x = \"\xc3\xa9\xf0\x9f\x98\x80\" (1) }",
				T_ENUM(&utf16_states, &u8)),
		CASE("enumu64", "\xfe\xff\xff\xff\xff\xff\xff\xff",
				"{\"x\": [18446744073709551614, \"around zero\", \"upper half\"]}",
				"{ x = \"upper half\" | \"around zero\" (18446744073709551614) }",
				T_ENUM(&wide, &u64)),
		CASE("enums64", "\xff\xff\xff\xff\xff\xff\xff\x7f",
				"{\"x\": [9223372036854775807, \"greatest\"]}",
				"{ x = \"greatest\" (9223372036854775807) }", T_ENUM(&wide, &s64)),
		CASE("enums128", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
				"{\"x\": {\"lo\": 18446744073709551615, \"hi\": -1}}",
				"{ x = \"upper half\" | \"around zero\" (-1) }",
				T_ENUM(&wide, &s128)),
		CASE("bitmap", "\x05\x00\x00\x00", "{\"x\": 5}",
				"{ x = \"read\" | \"mode\" (0x5) }", T_BITMAP(&flags, &u32)),
		CASE("bitmap0", "\x00\x00\x00\x00", "{\"x\": 0}", "{ x = <none> (0x0) }",
				T_BITMAP(&flags, &u32)),
		CASE("bitmapbe", "\x02\x02", "{\"x\": 514}",
				"{ x = \"write\" | \"ninth\" (0x202) }", T_BITMAP(&flags, &u16_be)),
		CASE("bitmaparray", "\x02\x02", "{\"x\": [2, 2]}",
				"{ x = \"write\" | \"ninth\" ([ 0x2, 0x2 ]) }",
				T_BITMAP(&flags, &array2_byte_type)),
		CASE("bitmapvla", "\x01\x00\x00\x00\x10", "{\"_x_length\": 1, \"x\": [16]}",
				"{ x = \"mode\" ([ 0x10 ]) }", T_BITMAP(&flags, &vla_bytes_type)),
		CASE("bitmap128",
				"\x00\x02\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00",
				"{\"x\": {\"lo\": 512, \"hi\": 1}}",
				"{ x = \"ninth\" (0x10000000000000200) }", T_BITMAP(&flags, &u128)),
		CASE("optional", "\x01\x34\x12", "{\"_x_tag\": [1, \"some\"], \"x\": 4660}",
				"{ x = 4660 }", T_OPTIONAL(&optional_u16)),
		CASE("absent", "\x00", "{\"_x_tag\": [0, \"none\"], \"x\": {}}", "{ x = <absent> }",
				T_OPTIONAL(&optional_u16)),
		CASE("optional2", "\x01\x00",
				"{\"_x_tag\": [1, \"some\"], \"x\": {\"tag\": [0, \"none\"], "
				"\"value\": {}}}",
				"{ x = <absent> }", T_OPTIONAL(&optional_optional)),
		CASE("optionalvla", "\x01\x01\x07\x00",
				"{\"_x_tag\": [1, \"some\"], \"x\": {\"length\": 1, \"elements\": "
				"[7]}}",
				"{ x = [ 7 ] }", T_OPTIONAL(&optional_vla)),
		CASE("optionaldynamic", "\x01\x01\x00\x00\x00\x00\x00\x02\x07",
				"{\"_x_tag\": [1, \"some\"], \"x\": {\"length\": 1, \"nodes\": "
				"[{\"depth\": 0, "
				"\"name\": \"\", \"kind\": [2, \"uint8\"], \"value\": 7}]}}",
				"{ x = 7 }", T_OPTIONAL(&optional_dynamic)),
		CASE("arrayoptional", "\x00\x01\x02\x00\x00",
				"{\"x\": [{\"tag\": [0, \"none\"], \"value\": {}}, {\"tag\": [1, "
				"\"some\"], \"value\": 2}, "
				"{\"tag\": [0, \"none\"], \"value\": {}}]}",
				"{ x = [ <absent>, 2, <absent> ] }", T_ARRAY(&array_optional)),
		CASE("variant", "\x01\x63", "{\"_x_selector\": [1, \"o0\"], \"x\": 99}",
				"{ x = 99 }", T_VARIANT(&variant_s8)),
		CASE("variant1",
				"\x05"
				"five\0",
				"{\"_x_selector\": [5, \"o1\"], \"x\": \"five\"}",
				"{ x = \"five\" }", T_VARIANT(&variant_s8)),
		CASE("variant3", "\xfe\x01\x08\x00",
				"{\"_x_selector\": [-2, \"o3\"], \"x\": {\"length\": 1, "
				"\"elements\": [8]}}",
				"{ x = [ 8 ] }", T_VARIANT(&variant_s8)),
		CASE("variant5", "\x7f\x00",
				"{\"_x_selector\": [127, \"o5\"], \"x\": {\"tag\": [0, \"none\"], "
				"\"value\": {}}}",
				"{ x = <absent> }", T_VARIANT(&variant_s8)),
		CASE("variantnone", "\x40", "{\"_x_selector\": [64, \"none\"], \"x\": {}}",
				"{ x = <no option> (64) }", T_VARIANT(&variant_s8)),
		CASE("variantu64", "\xff\xff\xff\xff\xff\xff\xff\xfd\x00",
				"{\"_x_selector\": [18446744073709551613, \"o3\"], \"x\": "
				"{\"length\": 0, \"elements\": []}}",
				"{ x = [ ] }", T_VARIANT(&variant_u64)),
		CASE("variants128", "\x00\x00\x00\x00\x00\x00\x00\x00\0",
				"{\"_x_selector\": [0, \"o1\"], \"x\": \"\"}", "{ x = \"\" }",
				T_VARIANT(&variant_s128)),
		CASE("variantbits", "\xfd\xff\xff\xff\x00",
				"{\"_x_selector\": [-3, \"o3\"], \"x\": {\"length\": 0, "
				"\"elements\": []}}",
				"{ x = [ ] }", T_VARIANT(&variant_bits)),
		CASE("variantfull", "\xc8\x01q\0",
				"{\"_x_selector\": [200, \"o0\"], \"x\": {\"a\": 1, \"b\": \"q\"}}",
				"{ x = { a = 1, b = \"q\" } }", T_VARIANT(&variant_full)),
		CASE("variantempty", "\x09", "{\"_x_selector\": [9, \"none\"], \"x\": {}}",
				"{ x = <no option> (9) }", T_VARIANT(&variant_empty)),
		CASE("arrayvariant", "\x01\x05\x02w\0",
				"{\"x\": [{\"selector\": [1, \"o0\"], \"value\": 5}, "
				"{\"selector\": [2, \"o1\"], \"value\": \"w\"}]}",
				"{ x = [ 5, \"w\" ] }", T_ARRAY(&array_variant)),
		CASE("gatherstruct",
				"\x01\x02\x01\x00\x00\x00\x00\x00\x00\x00\x01\x7e\x3f\x80\x00\x00ok"
				"\0",
				"{\"x\": {\"i\": 258, \"p\": 1, \"b\": 1, \"y\": 126, \"f\": 1, "
				"\"s\": \"ok\"}}",
				"{ x = { i = 258, p = 0x1, b = true, y = 0x7e, f = 1, s = \"ok\" } "
				"}",
				T_GATHER(STRUCT,
						.side_struct = {.type = SIDE_PTR_INIT(
										&gather_struct),
								.size = 40})),
		CASE("gatherbits", "\xfe\xff\xff\xff", "{\"x\": -2}", "{ x = -2 }",
				T_GATHER(INTEGER, GATHER_INTEGER_BODY(4, 1, BE, 5, 3))),
		CASE("gatherarray", "\x01\x00\x02\x00", "{\"x\": [1, 2]}", "{ x = [ 1, 2 ] }",
				T_GATHER(ARRAY, .side_array = {.type = ARRAY_OF(&gather_u16, 2)})),
		CASE("gathervla", "\x02\x00\x01\x00\x02\x00", "{\"_x_length\": 2, \"x\": [1, 2]}",
				"{ x = [ 1, 2 ] }",
				T_GATHER(VLA,
						.side_vla = {.type = VLA_OF(&gather_u16,
									     &gather_u16)})),
		CASE("gatherenum", "\xff\xff\xff\xff", "{\"x\": [-1, \"below\"]}",
				"{ x = \"below\" (-1) }",
				{LABEL(GATHER_ENUM),
						.u = {.side_enum = {.mappings = SIDE_PTR_INIT(
										    &states),
								      .elem_type = SIDE_PTR_INIT(
										      &gather_s32_bits)}}}),
		CASE("dynamicnull", "\x01\x00\x00\x00\x00\0\x00",
				"{\"_x_length\": 1, \"x\": [{\"depth\": 0, \"name\": \"\", "
				"\"kind\": [0, \"nothing\"], "
				"\"value\": {}}]}",
				"{ x = null }", T_DYNAMIC),
		CASE("dynamic",
				"\x18\x00\x00\x00"
				"\x00\0\x15\x15\x00\x00\x00"
				"\x01"
				"b\0\x01\x01"
				"\x01"
				"u8\0\x02\xff"
				"\x01"
				"u16\0\x03\xff\xff"
				"\x01"
				"u32\0\x04\xff\xff\xff\xff"
				"\x01"
				"u64\0\x05" MAX64 "\x01"
				"s8\0\x06\xff"
				"\x01"
				"s16\0\x07\xff\xff"
				"\x01"
				"s32\0\x08\xff\xff\xff\xff"
				"\x01"
				"s64\0\x09" MAX64 "\x01"
				"u128\0\x0a" MAX64 MAX64 "\x01"
				"s128\0\x0b" MAX64 MAX64 "\x01"
				"y\0\x0c\xff"
				"\x01"
				"p\0\x0d\x01\x00\x00\x00\x00\x00\x00\x00"
				"\x01"
				"f32\0\x0e\x00\x00\xc0\x3f"
				"\x01"
				"f64\0\x0f\x00\x00\x00\x00\x00\x00\xf8\x3f"
				"\x01"
				"f16\0\x10\x00\x00\xc0\x3f"
				"\x01"
				"f128\0\x11\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x20"
				"\x01\x40"
				"\x01"
				"t8\0\x12"
				"a\0"
				"\x01"
				"t16\0\x13"
				"b\0"
				"\x01"
				"t32\0\x14"
				"c\0"
				"\x01"
				"list\0\x16\x02\x00\x00\x00"
				"\x02\0\x02\x07"
				"\x02\0\x15\x00\x00\x00\x00",
				NULL,
				"{ x = { b = true, u8 = 255, u16 = 65535, u32 = 4294967295, u64 = "
				"18446744073709551615, "
				"s8 = -1, s16 = -1, s32 = -1, s64 = -1, u128 = "
				"340282366920938463463374607431768211455, "
				"s128 = -1, y = 0xff, p = 0x1, f32 = 1.5, f64 = 1.5, f16 = 1.5, "
				"f128 = 4.5, t8 = \"a\", "
				"t16 = \"b\", t32 = \"c\", list = [ 7, { } ] } }",
				T_DYNAMIC),
		CASE("dynamicattributes",
				"\x05\x00\x00\x00"
				"\x00\0\x16\x01\x00\x00\x00"
				"\x01\0\x17\x01\x00\x00\x00"
				"\x02"
				"key\0\x02\x05"
				"\x01\0\x02\x09"
				"\x02\0\x17\x00\x00\x00\x00",
				NULL, "{ x = [ 9 ] }", T_DYNAMIC),
		CASE("arraydynamic", "\x01\x00\x00\x00\x00\0\x02\x01\x01\x00\x00\x00\x00\0\x12z\0",
				NULL, "{ x = [ 1, \"z\" ] }", T_ARRAY(&array_dynamic)),
		EVENT("several", several_fields, false, "n\0\x05\x00\x00\x00\x01\x00\x00\x00\x41",
				"{\"name\": \"n\", \"count\": 5, \"_data_length\": 1, \"data\": "
				"[65]}",
				"{ name = \"n\", count = 5, data = [ 0x41 ] }"),
		EVENT("variadic", variadic_fields, true,
				"\x09\x02\x00\x00\x00\x00\0\x15\x01\x00\x00\x00\x01"
				"k\0\x02\x05",
				"{\"variadic\": 9, \"_variadic_2_length\": 2, \"variadic_2\": "
				"[{\"depth\": 0, \"name\": \"\", "
				"\"kind\": [21, \"structure\"], \"value\": {\"count\": 1}}, "
				"{\"depth\": 1, \"name\": \"k\", "
				"\"kind\": [2, \"uint8\"], \"value\": 5}]}",
				"{ variadic = 9 }, { k = 5 }"),
		{"nofields", NULL, 0, false, "", 0, "{}", "{ }"},
};

/* ---- writing ---- */

/* All three forms of the record header are used. */
static uint32_t sample_id(uint32_t index)
{
	return index < 30 ? index : index < 60 ? index + 100 : index + 70000;
}

static int failed(const struct error *error)
{
	fprintf(stderr, "sample: %s\n", error->text);
	return 1;
}

static size_t put_record(unsigned char *to, uint32_t index, uint64_t tick)
{
	const struct sample *sample = &samples[index];
	uint32_t id = sample_id(index), tag = id < 30 ? id : id < 65536 ? 30 : 31;
	uint32_t word = tag | (uint32_t)(tick << 5);
	uint16_t id16 = (uint16_t)id;
	size_t at = 0;

	/* The first record of a ring is extended, whatever its id is. */
	if (!index || tag == 31) {
		to[at++] = 31;
		memcpy(to + at, &id, 4);
		memcpy(to + at + 4, &tick, 8);
		at += 12;
	} else {
		memcpy(to + at, &word, 4);
		at += 4;
		if (tag == 30) {
			memcpy(to + at, &id16, 2);
			at += 2;
		}
	}
	memcpy(to + at, sample->bytes, sample->size);
	return at + sample->size;
}

static int write_trace(const char *dir, enum ctf_format format, int compression)
{
	struct ctf_writer_config config = {
			.dir = dir,
			.clock = {.frequency = 1000000000, .offset_s = 1600000000, .offset = 5},
			.hostname = "host",
			.procname = "sample \"quoted\"",
			.exe = "/bin/sample",
			.vpid = 4711,
			.version = {0, 1, 0},
			.format = format,
			.compression = compression,
	};
	static unsigned char records[1 << 16];
	struct error error;
	struct ctf_writer *writer;
	struct ctf_stream *stream;
	struct ctf_span span = {.records = records, .timestamp_begin = TICK0 + 10};

	if (ctf_writer_create(&config, &writer, &error))
		return failed(&error);
	if (ctf_writer_open_stream(writer, 0, 3, TICK0, &stream, &error))
		return failed(&error);
	for (uint32_t i = 0; i < COUNT(samples); i++) {
		struct side_event_description description = {
				.struct_size = sizeof(description),
				.provider_name = SIDE_PTR_INIT("sample"),
				.event_name = SIDE_PTR_INIT(samples[i].name),
				.fields = {.elements = SIDE_PTR_INIT(samples[i].fields),
						.length = samples[i].field_count},
				.flags = samples[i].variadic ? SIDE_EVENT_FLAG_VARIADIC : 0,
				.nr_side_type_label = _NR_SIDE_TYPE_LABEL,
				.nr_side_attr_type = _NR_SIDE_ATTR_TYPE,
				.loglevel = SIDE_ENUM_INIT(i % 8),
		};

		if (ctf_writer_add_event(writer, 0, sample_id(i), &description, NULL, 0, &error))
			return failed(&error);
		span.timestamp_end = TICK0 + 10 + i;
		span.size += put_record(records + span.size, i, span.timestamp_end);
	}
	if (ctf_stream_append(stream, &span, &error) || ctf_writer_close(writer, &error))
		return failed(&error);
	return 0;
}

/* ---- reading ---- */

static void print_string(const char *text, uint64_t size)
{
	putchar('"');
	for (uint64_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		unsigned int code = c, length = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

		for (unsigned int k = 0; k < length; k++)
			code = k ? code << 6 | (text[i + k + 1] & 0x3fu)
				 : (c & (0x3fu >> length)) << 6 | (text[i + 1] & 0x3fu);
		i += length;
		if (code == '"' || code == '\\')
			printf("\\%c", (char)code);
		else if (code == '\n')
			printf("\\n");
		else if (code == '\t')
			printf("\\t");
		else if (code > 0xffff)
			printf("\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
		else if (code < 0x20 || code > 0x7e)
			printf("\\u%04x", code);
		else
			putchar((char)code);
	}
	putchar('"');
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_labels(const struct ctf_value *value)
{
	const char *labels[16];
	uint32_t at = 0, count = 0;

	while (count < 16 && (labels[count] = ctf_value_label(value, &at)))
		count++;
	qsort(labels, count, sizeof(*labels), compare_text);
	for (uint32_t i = 0; i < count; i++) {
		printf(", ");
		print_string(labels[i], strlen(labels[i]));
	}
}

static bool is_bool(const struct ctf_type *type)
{
	return type->label_count == 2 && strcmp(type->labels[0].text, "false") == 0;
}

static void print_value(const struct ctf_value *value);

static void print_inner(const struct ctf_value *value, char open, char close)
{
	const struct ctf_value *inner;
	struct ctf_cursor cursor;
	const char *comma = "";

	putchar(open);
	ctf_cursor_start(&cursor, value);
	while ((inner = ctf_cursor_next(&cursor))) {
		printf("%s", comma);
		if (open == '{') {
			const char *name = inner->member->name + (inner->member->name[0] == '_');

			print_string(name, strlen(name));
			printf(": ");
		}
		print_value(inner);
		comma = ", ";
	}
	putchar(close);
}

static void print_value(const struct ctf_value *value)
{
	struct ctf_cursor cursor;

	if (value->is_text) {
		print_string(value->text, value->size);
		return;
	}
	switch (value->type->kind) {
	case CTF_INTEGER: printf(value->type->is_signed ? "%" PRId64 : "%" PRIu64, value->u); break;
	case CTF_ENUM:
		if (!is_bool(value->type))
			putchar('[');
		printf(value->type->is_signed ? "%" PRId64 : "%" PRIu64, value->u);
		if (!is_bool(value->type)) {
			print_labels(value);
			putchar(']');
		}
		break;
	case CTF_FLOAT:
		if (isnan(value->f))
			printf("NaN");
		else
			printf("%.17g", value->f);
		break;
	case CTF_STRING: break; /* It is text. */
	case CTF_STRUCT: print_inner(value, '{', '}'); break;
	case CTF_VARIANT:
		ctf_cursor_start(&cursor, value);
		print_value(ctf_cursor_next(&cursor));
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE: print_inner(value, '[', ']'); break;
	}
}

static int read_trace(const char *dir, bool contexts)
{
	struct error error;
	struct ctf_reader *reader;
	struct ctf_item item;

	if (ctf_reader_open(dir, &reader, &error))
		return failed(&error);
	while (ctf_reader_next(reader, &item) > 0) {
		if (item.kind != CTF_ITEM_EVENT) {
			if (item.kind == CTF_ITEM_DISCARDED)
				printf("discarded %" PRIu64 "\n", item.count);
			else
				printf("kind %d %s\n", item.kind, item.text ? item.text : "");
			continue;
		}
		printf("%s %" PRId64 " ", item.event->name, item.ns);
		if (contexts && item.common_context) {
			print_value(item.common_context);
			putchar(' ');
		}
		if (contexts && item.context) {
			print_value(item.context);
			putchar(' ');
		}
		if (item.fields)
			print_value(item.fields);
		else
			printf("{}");
		putchar('\n');
	}
	ctf_reader_close(reader);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "write") == 0)
		return write_trace(argv[2], CTF_FORMAT_1, 0);
	if (argc == 3 && strcmp(argv[1], "write2") == 0)
		return write_trace(argv[2], CTF_FORMAT_2, 0);
	if (argc == 3 && strcmp(argv[1], "write-zstd") == 0)
		return write_trace(argv[2], CTF_FORMAT_1, 3);
	if (argc == 3 && strcmp(argv[1], "read") == 0)
		return read_trace(argv[2], false);
	if (argc == 3 && strcmp(argv[1], "read-contexts") == 0)
		return read_trace(argv[2], true);
	for (uint32_t i = 0; i < COUNT(samples); i++) {
		uint64_t ns = TICK0 + 10 + i + 5 + UINT64_C(1600000000) * 1000000000;

		if (argc == 2 && strcmp(argv[1], "expected") == 0)
			printf("sample:%s %" PRIu64 " %s\n", samples[i].name, ns,
					samples[i].ctf ? samples[i].ctf : "-");
		else
			printf("sample:%s: %s\n", samples[i].name, samples[i].view);
	}
	return 0;
}
