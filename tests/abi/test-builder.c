/* SPDX-License-Identifier: MIT */
/*
 * side/builder.h: its descriptions equal those of the macros (compared as JSON), every error has a
 * name, and after the end of an event nothing is left.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/builder.h>
#include <side/tracer-extensions.h>
#include <side/trace.h>

#include "abi/visit.h"
#include "../check.h"

#define HOST SIDE_TYPE_BYTE_ORDER_HOST
#define LE SIDE_TYPE_BYTE_ORDER_LE
#define BE SIDE_TYPE_BYTE_ORDER_BE
#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define BEHIND SIDE_TYPE_GATHER_ACCESS_POINTER

static void same(struct side_event_description *dsl, struct side_builder *b)
{
	struct visit_buffer one, other;
	struct visit_error error;

	if (side_builder_finish(b) != SIDE_ERROR_OK) {
		fprintf(stderr, "not built: %s\n", side_builder_error(b));
		exit(1);
	}
	CHECK(!strcmp(side_builder_error(b), ""));
	visit_buffer_heap(&one);
	visit_buffer_heap(&other);
	CHECK(!visit_description_check(side_builder_description(b), VISIT_CHECK_STRICT, &error));
	CHECK(!visit_description_json(dsl, &one, &error));
	CHECK(!visit_description_json(side_builder_description(b), &other, &error));
	if (one.size != other.size || memcmp(one.data, other.data, one.size)) {
		fprintf(stderr, "macros:  %.*s\nbuilder: %.*s\n", (int)one.size, one.data,
				(int)other.size, other.data);
		exit(1);
	}
	visit_buffer_free(&one);
	visit_buffer_free(&other);
	CHECK(side_builder_destroy(b) == SIDE_ERROR_OK);
}

/* ---- every type ---- */

side_static_event(ev_scalars, "b", "scalars", SIDE_LOGLEVEL_ALERT,
		side_field_list(side_field_null("null"), side_field_bool("bool"),
				side_field_byte("byte"), side_field_u8("u8"), side_field_u16("u16"),
				side_field_u32("u32"), side_field_u64("u64"),
				side_field_u128("u128"), side_field_s8("s8"), side_field_s16("s16"),
				side_field_s32("s32"), side_field_s64("s64"),
				side_field_s128("s128"), side_field_u32_be("u32be"),
				side_field_s64_le("s64le"), side_field_s16_be("s16be"),
				side_field_pointer("pointer"), side_field_pointer_be("pointerbe"),
				side_field_float_binary32("f32"), side_field_float_binary16("f16"),
				side_field_float_binary16_be("f16be"),
				side_field_float_binary128("f128"),
				side_field_float_binary128_le("f128le"),
				side_field_float_binary64_be("f64be"), side_field_string("utf8"),
				side_field_string16("utf16"), side_field_string16_be("utf16be"),
				side_field_string32_le("utf32le"),
				side_field_dynamic("dynamic"), ));

static void scalars(void)
{
	struct side_builder *b = side_builder_create("b", "scalars", SIDE_LOGLEVEL_ALERT, 0);
	static const char *const names[] = {
			"u8", "u16", "u32", "u64", "u128", "s8", "s16", "s32", "s64", "s128"};
	unsigned int i;

	side_builder_add_field(b, NULL, "null", side_builder_null(b));
	side_builder_add_field(b, NULL, "bool", side_builder_bool(b));
	side_builder_add_field(b, NULL, "byte", side_builder_byte(b));
	for (i = 0; i < 10; i++)
		side_builder_add_field(b, NULL, names[i],
				side_builder_integer(b, 1u << i % 5, i >= 5, HOST));
	side_builder_add_field(b, NULL, "u32be", side_builder_integer(b, 4, 0, BE));
	side_builder_add_field(b, NULL, "s64le", side_builder_integer(b, 8, 1, LE));
	side_builder_add_field(b, NULL, "s16be", side_builder_integer(b, 2, 1, BE));
	side_builder_add_field(b, NULL, "pointer", side_builder_pointer(b, HOST));
	side_builder_add_field(b, NULL, "pointerbe", side_builder_pointer(b, BE));
	side_builder_add_field(b, NULL, "f32", side_builder_float(b, 4, HOST));
	side_builder_add_field(b, NULL, "f16", side_builder_float(b, 2, HOST));
	side_builder_add_field(b, NULL, "f16be", side_builder_float(b, 2, BE));
	side_builder_add_field(b, NULL, "f128", side_builder_float(b, 16, HOST));
	side_builder_add_field(b, NULL, "f128le", side_builder_float(b, 16, LE));
	side_builder_add_field(b, NULL, "f64be", side_builder_float(b, 8, BE));
	side_builder_add_field(b, NULL, "utf8", side_builder_string(b, 1, HOST));
	side_builder_add_field(b, NULL, "utf16", side_builder_string(b, 2, HOST));
	side_builder_add_field(b, NULL, "utf16be", side_builder_string(b, 2, BE));
	side_builder_add_field(b, NULL, "utf32le", side_builder_string(b, 4, LE));
	side_builder_add_field(b, NULL, "dynamic", side_builder_dynamic(b));
	same(&ev_scalars, b);
}

side_static_event_variadic(ev_attributes, "b", "attributes", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u32("x",
						side_attr_list(side_attr("bool", side_attr_bool(3)),
								side_attr("u8", side_attr_u8(255)),
								side_attr("u16",
										side_attr_u16(65535)),
								side_attr("u32", side_attr_u32(3)),
								side_attr("u64",
										side_attr_u64(UINT64_MAX)),
								side_attr("u128",
										side_attr_u128(((unsigned __int128)7
													       << 64) +
												9)),
								side_attr("s8", side_attr_s8(-128)),
								side_attr("s16", side_attr_s16(-2)),
								side_attr("s32", side_attr_s32(-3)),
								side_attr("s64",
										side_attr_s64(INT64_MIN)),
								side_attr("s128",
										side_attr_s128(-1)),
								side_attr("f32",
										side_attr_float_binary32(
												0.5f)),
								side_attr("f64",
										side_attr_float_binary64(
												1e-7)),
								side_attr("s",
										side_attr_string(
												"te"
												"x"
												"t")),
								side_attr("s16",
										side_attr_string16(
												u"\u20ac")),
								side_attr("s32",
										side_attr_string32(
												U"\u20ac")))), ),
		side_attr_list(side_attr("event", side_attr_string("here"))));

static void attributes(void)
{
	struct side_builder *b = side_builder_create(
			"b", "attributes", SIDE_LOGLEVEL_DEBUG, SIDE_EVENT_FLAG_VARIADIC);
	struct side_builder_type *x = side_builder_integer(b, 4, 0, HOST);
	const float f32 = 0.5f;
	const double f64 = 1e-7;
	char key[] = "bool", text[] = "text";

	side_builder_add_field(b, NULL, "x", x);
	CHECK(side_builder_attr_bool(b, x, key, 3) == SIDE_ERROR_OK);
	side_builder_attr_unsigned(b, x, "u8", 1, 255);
	side_builder_attr_unsigned(b, x, "u16", 2, 65535);
	side_builder_attr_unsigned(b, x, "u32", 4, 3);
	side_builder_attr_unsigned(b, x, "u64", 8, UINT64_MAX);
	side_builder_attr_u128(b, x, "u128", 7, 9);
	side_builder_attr_signed(b, x, "s8", 1, -128);
	side_builder_attr_signed(b, x, "s16", 2, -2);
	side_builder_attr_signed(b, x, "s32", 4, -3);
	side_builder_attr_signed(b, x, "s64", 8, INT64_MIN);
	side_builder_attr_s128(b, x, "s128", -1, UINT64_MAX);
	side_builder_attr_float(b, x, "f32", 4, &f32);
	side_builder_attr_float(b, x, "f64", 8, &f64);
	side_builder_attr_string(b, x, "s", text);
	side_builder_attr_text(b, x, "s16", u"\u20ac", 2, HOST);
	side_builder_attr_text(b, x, "s32", U"\u20ac", 4, HOST);
	side_builder_attr_string(b, NULL, "event", "here");
	/* The builder copies all of it. */
	memset(key, '#', 4);
	memset(text, '#', 4);
	same(&ev_attributes, b);
}

static enum side_visitor_status visit_nothing(const struct side_tracer_visitor_ctx *ctx, int *app)
{
	(void)ctx;
	(void)app;
	return SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status visit_nothing_untyped(
		const struct side_tracer_visitor_ctx *ctx, void *app)
{
	return visit_nothing(ctx, app);
}

#define K(n) side_attr_list(side_attr("k", side_attr_u8(n)))

static side_define_struct(st_empty, side_field_list());
static side_define_struct(
		st_pos, side_field_list(side_field_s32("row"), side_field_s32("col")), K(1));
static side_define_array(ar_pos, side_elem(side_type_struct(st_pos)), 3, K(2));
static side_define_vla(
		vl_ar, side_elem(side_type_array(ar_pos)), side_length(side_type_u16()), K(3));
side_define_static_vla_visitor(vv_s32, side_elem(side_type_s32()), side_length(side_type_u64()),
		visit_nothing, int, K(4));
static side_define_optional(op_dyn, side_elem(side_type_dynamic()));
static side_define_variant(va_s8, side_type_s8(),
		side_option_list(side_option(-1, side_type_null()),
				side_option_range(0, 6, side_type_struct(st_pos)), ),
		K(5));
static side_define_enum(en,
		side_enum_mapping_list(side_enum_mapping_value("minus", -1),
				side_enum_mapping_range("all", INT64_MIN, INT64_MAX)),
		K(6));
static side_define_array(ar_u8, side_elem(side_type_u8()), 4);
static side_define_enum_bitmap(bm,
		side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("first", 0),
				side_enum_bitmap_mapping_range("rest", 1, UINT64_MAX)),
		K(7));

side_static_event(ev_compounds, "b", "compounds", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("empty", st_empty),
				side_field_struct("pos", st_pos), side_field_array("array", ar_pos),
				side_field_vla("vla", vl_ar),
				side_field_vla_visitor("visitor", vv_s32),
				side_field_optional("optional", op_dyn),
				side_field_variant("variant", va_s8),
				side_field_enum("enum", &en, side_elem(side_type_s16_be(K(8)))),
				side_field_enum_bitmap("bitmap", &bm, side_elem(side_type_u128())),
				side_field_enum_bitmap("bitmaps", &bm,
						side_elem(side_type_array(ar_u8))), ));

static struct side_builder_type *with_k(
		struct side_builder *b, struct side_builder_type *type, uint8_t k)
{
	side_builder_attr_unsigned(b, type, "k", 1, k);
	return type;
}

static void compounds(void)
{
	struct side_builder *b = side_builder_create("b", "compounds", SIDE_LOGLEVEL_INFO, 0);
	struct side_builder_type *s32 = side_builder_integer(b, 4, 1, HOST);
	struct side_builder_type *pos = side_builder_struct(b), *array, *variant, *enumeration;
	struct side_builder_type *bitmap[2];
	unsigned int i;

	side_builder_add_field(b, NULL, "empty", side_builder_struct(b));
	side_builder_add_field(b, NULL, "pos", pos);
	array = with_k(b, side_builder_array(b, pos, 3), 2);
	side_builder_add_field(b, NULL, "array", array);
	/* A structure may still be filled after it was used. */
	side_builder_add_field(b, pos, "row", s32);
	side_builder_add_field(b, pos, "col", s32);
	with_k(b, pos, 1);
	side_builder_add_field(b, NULL, "vla",
			with_k(b, side_builder_vla(b, array, side_builder_integer(b, 2, 0, HOST)),
					3));
	side_builder_add_field(b, NULL, "visitor",
			with_k(b,
					side_builder_vla_visitor(b, s32,
							side_builder_integer(b, 8, 0, HOST),
							visit_nothing_untyped),
					4));
	side_builder_add_field(
			b, NULL, "optional", side_builder_optional(b, side_builder_dynamic(b)));
	variant = with_k(b, side_builder_variant(b, side_builder_integer(b, 1, 1, HOST)), 5);
	side_builder_add_option(b, variant, -1, -1, side_builder_null(b));
	side_builder_add_option(b, variant, 0, 6, pos);
	side_builder_add_field(b, NULL, "variant", variant);
	enumeration = side_builder_enum(b, with_k(b, side_builder_integer(b, 2, 1, BE), 8));
	side_builder_add_label(b, with_k(b, enumeration, 6), "minus", -1, -1);
	side_builder_add_label(b, enumeration, "all", INT64_MIN, INT64_MAX);
	side_builder_add_field(b, NULL, "enum", enumeration);
	bitmap[0] = side_builder_enum_bitmap(b, side_builder_integer(b, 16, 0, HOST));
	bitmap[1] = side_builder_enum_bitmap(
			b, side_builder_array(b, side_builder_integer(b, 1, 0, HOST), 4));
	for (i = 0; i < 2; i++) {
		side_builder_add_bit_label(b, with_k(b, bitmap[i], 7), "first", 0, 0);
		side_builder_add_bit_label(b, bitmap[i], "rest", 1, UINT64_MAX);
		side_builder_add_field(b, NULL, i ? "bitmaps" : "bitmap", bitmap[i]);
	}
	same(&ev_compounds, b);
}

static side_define_struct(st_gather,
		side_field_list(side_field_gather_bool("bool", 1, 2, 3, 4, DIRECT, K(1)),
				side_field_gather_bool_be("boolbe", 1, 8, 0, 0, BEHIND),
				side_field_gather_byte("byte", 5, BEHIND, K(2)),
				side_field_gather_unsigned_integer(
						"u", UINT64_MAX, 4, 1, 31, DIRECT, K(3)),
				side_field_gather_signed_integer_be("s", 0, 16, 0, 0, DIRECT),
				side_field_gather_pointer("pointer", 8, DIRECT),
				side_field_gather_float("float", 8, 8, BEHIND, K(4)),
				side_field_gather_string("utf8", 8, DIRECT, K(5)),
				side_field_gather_string16_be("utf16be", 8, BEHIND),
				side_field_gather_array("array",
						side_elem(side_type_gather_unsigned_integer(
								0, 2, 0, 0, DIRECT)),
						3, 16, DIRECT, K(6)),
				side_field_gather_vla("vla",
						side_elem(side_type_gather_byte(0, DIRECT)), 24,
						BEHIND,
						side_length(side_type_gather_signed_integer(
								32, 8, 0, 0, DIRECT)),
						K(7)),
				side_field_gather_enum("enum", en,
						side_elem(side_type_gather_unsigned_integer(
								0, 1, 4, 4, DIRECT))), ),
		K(9));
side_static_event(ev_gather, "b", "gather", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_gather_struct("g", st_gather, 16, 100, BEHIND)));

static void gathers(void)
{
	struct side_builder *b = side_builder_create("b", "gather", SIDE_LOGLEVEL_INFO, 0);
	struct side_builder_type *s = side_builder_struct(b), *g, *enumeration;

	side_builder_add_field(b, s, "bool",
			with_k(b, side_builder_gather_bool(b, 1, 2, 3, 4, HOST, DIRECT), 1));
	side_builder_add_field(b, s, "boolbe", side_builder_gather_bool(b, 1, 8, 0, 0, BE, BEHIND));
	side_builder_add_field(b, s, "byte", with_k(b, side_builder_gather_byte(b, 5, BEHIND), 2));
	side_builder_add_field(b, s, "u",
			with_k(b,
					side_builder_gather_integer(
							b, UINT64_MAX, 4, 0, 1, 31, HOST, DIRECT),
					3));
	side_builder_add_field(
			b, s, "s", side_builder_gather_integer(b, 0, 16, 1, 0, 0, BE, DIRECT));
	side_builder_add_field(b, s, "pointer", side_builder_gather_pointer(b, 8, HOST, DIRECT));
	side_builder_add_field(b, s, "float",
			with_k(b, side_builder_gather_float(b, 8, 8, HOST, BEHIND), 4));
	side_builder_add_field(b, s, "utf8",
			with_k(b, side_builder_gather_string(b, 8, 1, HOST, DIRECT), 5));
	side_builder_add_field(b, s, "utf16be", side_builder_gather_string(b, 8, 2, BE, BEHIND));
	side_builder_add_field(b, s, "array",
			with_k(b,
					side_builder_gather_array(b,
							side_builder_gather_integer(b, 0, 2, 0, 0,
									0, HOST, DIRECT),
							3, 16, DIRECT),
					6));
	side_builder_add_field(b, s, "vla",
			with_k(b,
					side_builder_gather_vla(b,
							side_builder_gather_byte(b, 0, DIRECT),
							side_builder_gather_integer(b, 32, 8, 1, 0,
									0, HOST, DIRECT),
							24, BEHIND),
					7));
	enumeration = side_builder_gather_enum(
			b, side_builder_gather_integer(b, 0, 1, 0, 4, 4, HOST, DIRECT));
	side_builder_add_label(b, with_k(b, enumeration, 6), "minus", -1, -1);
	side_builder_add_label(b, enumeration, "all", INT64_MIN, INT64_MAX);
	side_builder_add_field(b, s, "enum", enumeration);
	g = side_builder_gather_struct(b, s, 16, 100, BEHIND);
	/* The attributes belong to the structure. */
	with_k(b, g, 9);
	side_builder_add_field(b, NULL, "g", g);
	same(&ev_gather, b);
}

/* ---- errors ---- */

static void expect(struct side_builder *b, const char *sentence)
{
	int result = side_builder_register(b);

	if (result != SIDE_ERROR_INVAL || strcmp(side_builder_error(b), sentence)) {
		fprintf(stderr, "%d: %s\nexpected: %s\n", result, side_builder_error(b), sentence);
		exit(1);
	}
	CHECK(!side_builder_description(b) && !side_builder_state(b) && !side_builder_enabled(b));
	CHECK(side_builder_finish(b) == SIDE_ERROR_INVAL);
	CHECK(side_builder_destroy(b) == SIDE_ERROR_OK);
}

static struct side_builder *fresh(void)
{
	return side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0);
}

/* A description with one field "f" of this type is refused with this sentence. */
#define REFUSED(type, sentence)                             \
	do {                                                \
		struct side_builder *b = fresh();           \
		side_builder_add_field(b, NULL, "f", type); \
		expect(b, "p:e, field \"f\"" sentence);     \
	} while (0)

static void wrong_types(void)
{
	REFUSED(NULL, ": the type is NULL");
	REFUSED(side_builder_integer(b, 3, 0, HOST), ": an integer cannot have 3 bytes");
	REFUSED(side_builder_integer(b, 65537, 0, HOST), ": an integer cannot have 65535 bytes");
	REFUSED(side_builder_integer(b, 4, 0, (enum side_type_label_byte_order)2),
			": the byte order 2 is unknown");
	REFUSED(side_builder_float(b, 1, HOST), ": a float cannot have 1 bytes");
	REFUSED(side_builder_float(b, 10, HOST), ": a float cannot have 10 bytes");
	REFUSED(side_builder_string(b, 8, HOST), ": a unit of a string cannot have 8 bytes");
	REFUSED(side_builder_array(b, NULL, 1), ", element: the type is NULL");
	REFUSED(side_builder_vla(b, side_builder_null(b), side_builder_byte(b)),
			", length: the type must be an integer");
	REFUSED(side_builder_vla_visitor(
				b, side_builder_null(b), side_builder_integer(b, 1, 0, HOST), NULL),
			": the visitor function is NULL");
	REFUSED(side_builder_optional(b, side_builder_optional(b, NULL)),
			", optional, optional: the type is NULL");
	REFUSED(side_builder_variant(b, side_builder_pointer(b, HOST)),
			", selector: the type must be an integer");
	REFUSED(side_builder_enum(b, side_builder_bool(b)),
			", element: the type must be an integer");
	REFUSED(side_builder_enum_bitmap(b, side_builder_integer(b, 1, 1, HOST)),
			", element: the type must be a byte, an unsigned integer, or an array or "
			"VLA of these");
	REFUSED(side_builder_enum_bitmap(b, side_builder_array(b, side_builder_null(b), 1)),
			", element: the type must be a byte, an unsigned integer, or an array or "
			"VLA of these");
	REFUSED(side_builder_gather_enum(b, side_builder_integer(b, 1, 0, HOST)),
			", element: the type must be a gather integer");
	REFUSED(side_builder_gather_integer(b, 0, 4, 0, 1, 0, HOST, DIRECT),
			": 32 bits from bit 1 on exceed the 32 bits of the value");
	REFUSED(side_builder_gather_integer(b, 0, 16, 0, 0, 5, HOST, DIRECT),
			": a 128-bit integer must use all of its bits, not 5");
	REFUSED(side_builder_gather_bool(b, 0, 16, 0, 0, HOST, DIRECT),
			": a boolean cannot have 16 bytes");
	REFUSED(side_builder_gather_byte(b, 0, (enum side_type_gather_access_mode)7),
			": the access mode 7 is unknown");
	REFUSED(side_builder_gather_array(b, side_builder_byte(b), 1, 0, DIRECT),
			", element: the type must be a gather type other than VLA");
	REFUSED(side_builder_gather_struct(b, side_builder_byte(b), 0, 1, DIRECT),
			", structure: the type must be a structure");
	REFUSED(side_builder_gather_vla(b, side_builder_gather_byte(b, 0, DIRECT),
				side_builder_integer(b, 1, 0, HOST), 0, DIRECT),
			", length: the type must be a gather integer");
}

#define WRONG_ORDER ((enum side_type_label_byte_order)2)
#define WRONG_ACCESS ((enum side_type_gather_access_mode)2)

static void wrong_gather_types(void)
{
	REFUSED(side_builder_gather_bool(b, 0, 1, 0, 0, HOST, WRONG_ACCESS),
			": the access mode 2 is unknown");
	REFUSED(side_builder_gather_bool(b, 0, 1, 0, 0, WRONG_ORDER, DIRECT),
			": the byte order 2 is unknown");
	REFUSED(side_builder_gather_bool(b, 0, 1, 4, 5, HOST, DIRECT),
			": 5 bits from bit 4 on exceed the 8 bits of the value");
	REFUSED(side_builder_gather_integer(b, 0, 4, 0, 0, 0, HOST, WRONG_ACCESS),
			": the access mode 2 is unknown");
	REFUSED(side_builder_gather_integer(b, 0, 4, 0, 0, 0, WRONG_ORDER, DIRECT),
			": the byte order 2 is unknown");
	REFUSED(side_builder_gather_integer(b, 0, 17, 0, 0, 0, HOST, DIRECT),
			": an integer cannot have 17 bytes");
	REFUSED(side_builder_gather_integer(b, 0, 33, 0, 0, 0, HOST, DIRECT),
			": an integer cannot have 33 bytes");
	REFUSED(side_builder_gather_integer(b, 0, 2, 0, 65537, 1, HOST, DIRECT),
			": 1 bits from bit 65535 on exceed the 16 bits of the value");
	REFUSED(side_builder_gather_integer(b, 0, 2, 0, 0, 17, HOST, DIRECT),
			": 17 bits from bit 0 on exceed the 16 bits of the value");
	REFUSED(side_builder_gather_float(b, 0, 4, HOST, WRONG_ACCESS),
			": the access mode 2 is unknown");
	REFUSED(side_builder_gather_float(b, 0, 4, WRONG_ORDER, DIRECT),
			": the byte order 2 is unknown");
	REFUSED(side_builder_gather_float(b, 0, 3, HOST, DIRECT), ": a float cannot have 3 bytes");
	REFUSED(side_builder_gather_string(b, 0, 1, HOST, WRONG_ACCESS),
			": the access mode 2 is unknown");
	REFUSED(side_builder_gather_string(b, 0, 1, WRONG_ORDER, DIRECT),
			": the byte order 2 is unknown");
	REFUSED(side_builder_gather_string(b, 0, 257, HOST, DIRECT),
			": a unit of a string cannot have 255 bytes");
	REFUSED(side_builder_gather_pointer(b, 0, WRONG_ORDER, DIRECT),
			": the byte order 2 is unknown");
	REFUSED(side_builder_gather_struct(b, side_builder_struct(b), 0, 1, WRONG_ACCESS),
			": the access mode 2 is unknown");
	REFUSED(side_builder_gather_array(
				b, side_builder_gather_byte(b, 0, DIRECT), 1, 0, WRONG_ACCESS),
			": the access mode 2 is unknown");
	REFUSED(side_builder_gather_vla(b, side_builder_gather_byte(b, 0, DIRECT),
				side_builder_gather_integer(b, 0, 1, 0, 0, 0, HOST, DIRECT), 0,
				WRONG_ACCESS),
			": the access mode 2 is unknown");
	REFUSED(side_builder_gather_vla(b, side_builder_byte(b),
				side_builder_gather_integer(b, 0, 1, 0, 0, 0, HOST, DIRECT), 0,
				DIRECT),
			", element: the type must be a gather type other than VLA");
	REFUSED(side_builder_string(b, 1, WRONG_ORDER), ": the byte order 2 is unknown");
	REFUSED(side_builder_float(b, 4, WRONG_ORDER), ": the byte order 2 is unknown");
	REFUSED(side_builder_float(b, 32, HOST), ": a float cannot have 32 bytes");
	REFUSED(side_builder_pointer(b, WRONG_ORDER), ": the byte order 2 is unknown");
	REFUSED(side_builder_integer(b, 32, 0, HOST), ": an integer cannot have 32 bytes");
	REFUSED(side_builder_vla(b, NULL, side_builder_integer(b, 1, 0, HOST)),
			", element: the type is NULL");
	REFUSED(side_builder_vla_visitor(b, NULL, side_builder_integer(b, 1, 0, HOST),
				visit_nothing_untyped),
			", element: the type is NULL");
	REFUSED(side_builder_vla_visitor(b, side_builder_null(b), side_builder_byte(b),
				visit_nothing_untyped),
			", length: the type must be an integer");
}

/* A bit field can have all bits of a value, or its last bit. */
static void last_bits(void)
{
	struct side_builder *b = fresh();

	side_builder_add_field(b, NULL, "f",
			side_builder_gather_struct(b, side_builder_struct(b), 0, 1, DIRECT));
	side_builder_add_field(
			b, NULL, "a", side_builder_gather_integer(b, 0, 2, 0, 15, 1, HOST, DIRECT));
	side_builder_add_field(
			b, NULL, "b", side_builder_gather_integer(b, 0, 2, 0, 0, 16, HOST, DIRECT));
	side_builder_add_field(b, NULL, "c",
			side_builder_gather_integer(b, 0, 16, 0, 0, 128, HOST, DIRECT));
	CHECK(side_builder_finish(b) == SIDE_ERROR_OK);
	CHECK(side_builder_destroy(b) == SIDE_ERROR_OK);
}

/* The last value that fits `size` bytes is accepted, and the next one is refused. */
static void fits(unsigned int size, int64_t last, int64_t next)
{
	struct side_builder *b = fresh();
	char sentence[64];

	CHECK(side_builder_attr_signed(b, NULL, "k", size, last) == SIDE_ERROR_OK);
	CHECK(side_builder_attr_signed(b, NULL, "k", size, -last - 1) == SIDE_ERROR_OK);
	CHECK(side_builder_attr_unsigned(b, NULL, "k", size, (uint64_t)last * 2 + 1) ==
			SIDE_ERROR_OK);
	CHECK(side_builder_attr_signed(b, NULL, "k", size, next) == SIDE_ERROR_INVAL);
	snprintf(sentence, sizeof(sentence), "attribute \"k\": the value does not fit %u bytes",
			size);
	expect(b, sentence);
	b = fresh();
	CHECK(side_builder_attr_unsigned(b, NULL, "k", size, (uint64_t)last * 2 + 2) ==
			SIDE_ERROR_INVAL);
	expect(b, sentence);
	b = fresh();
	CHECK(side_builder_attr_signed(b, NULL, "k", size, -last - 2) == SIDE_ERROR_INVAL);
	expect(b, sentence);
}

static void limits_of_attributes(void)
{
	struct side_builder *b = fresh(), *other = fresh();

	fits(1, INT8_MAX, (int64_t)INT8_MAX + 1);
	fits(2, INT16_MAX, (int64_t)INT16_MAX + 1);
	fits(4, INT32_MAX, (int64_t)INT32_MAX + 1);
	CHECK(side_builder_attr_null(b, NULL, "") == SIDE_ERROR_INVAL);
	expect(b, "the key of an attribute is empty");
	b = fresh();
	CHECK(side_builder_attr_null(b, side_builder_null(other), "k") == SIDE_ERROR_INVAL);
	expect(b, "a type of another builder cannot be used");
	b = fresh();
	CHECK(side_builder_attr_float(b, NULL, "k", 4, NULL) == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": the float of 4 bytes is NULL");
	b = fresh();
	CHECK(side_builder_attr_float(b, NULL, "k", 32, "") == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": a float cannot have 32 bytes");
	b = fresh();
	CHECK(side_builder_attr_float(b, NULL, NULL, 1, "") == SIDE_ERROR_INVAL);
	expect(b, "attribute \"(null)\": a float cannot have 1 bytes");
	b = fresh();
	CHECK(side_builder_attr_text(b, NULL, "k", "", 1, WRONG_ORDER) == SIDE_ERROR_INVAL);
	/* The first error stays. */
	CHECK(side_builder_attr_null(b, NULL, NULL) == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": the string is NULL or of unknown byte order");
	side_builder_destroy(other);
}

/* Each function returns an error if there is no builder. */
static void no_builder(void)
{
	CHECK(side_builder_add_option(NULL, NULL, 0, 0, NULL) == SIDE_ERROR_INVAL);
	CHECK(side_builder_add_label(NULL, NULL, "l", 0, 0) == SIDE_ERROR_INVAL);
	CHECK(side_builder_add_bit_label(NULL, NULL, "l", 0, 0) == SIDE_ERROR_INVAL);
	CHECK(side_builder_attr_null(NULL, NULL, "k") == SIDE_ERROR_INVAL);
	CHECK(side_builder_attr_unsigned(NULL, NULL, "k", 1, 0) == SIDE_ERROR_INVAL);
	CHECK(side_builder_attr_float(NULL, NULL, "k", 4, "") == SIDE_ERROR_INVAL);
	CHECK(side_builder_attr_string(NULL, NULL, "k", "") == SIDE_ERROR_INVAL);
	CHECK(side_builder_finish(NULL) == SIDE_ERROR_INVAL);
	CHECK(side_builder_unregister(NULL) == SIDE_ERROR_INVAL);
	CHECK(!side_builder_description(NULL) && !side_builder_state(NULL));
	CHECK(!side_builder_enabled(NULL) && !side_builder_gather_byte(NULL, 0, DIRECT));
	CHECK(!side_builder_gather_bool(NULL, 0, 1, 0, 0, HOST, DIRECT));
	CHECK(!side_builder_gather_integer(NULL, 0, 1, 0, 0, 0, HOST, DIRECT));
	CHECK(!side_builder_gather_float(NULL, 0, 4, HOST, DIRECT));
	CHECK(!side_builder_gather_string(NULL, 0, 1, HOST, DIRECT));
	CHECK(!side_builder_array(NULL, NULL, 1) && !side_builder_integer(NULL, 1, 0, HOST));
	CHECK(!side_tracer_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0, NULL, NULL));
}

/* ---- memory of the caller ---- */

static struct {
	size_t left, nr, bytes;
	void *pieces[16];
} store;

static void *take(void *user, size_t size)
{
	CHECK(user == &store);
	if (!store.left)
		return NULL;
	CHECK(store.nr < 16);
	store.left--;
	store.bytes += size;
	return store.pieces[store.nr++] = malloc(size);
}

static int build_in_store(void)
{
	static char text[6000];
	struct side_builder *b;
	int result;

	memset(text, 'x', sizeof(text) - 1);
	b = side_tracer_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 0, take, &store);
	if (!b)
		return SIDE_ERROR_NOMEM;
	side_builder_attr_string(b, NULL, "k", text);
	for (char name[] = "a"; *name <= 'z'; ++*name)
		side_builder_add_field(b, NULL, name,
				side_builder_optional(b, side_builder_integer(b, 4, 0, HOST)));
	result = side_builder_finish(b);
	if (result)
		CHECK(!strcmp(side_builder_error(b), "out of memory for the description") &&
				!side_builder_description(b));
	else
		CHECK(side_builder_description(b)->fields.length == 26);
	CHECK(side_builder_destroy(b) == SIDE_ERROR_OK);
	return result;
}

/*
 * If there is only memory for this number of pieces, the builder returns an error and no partial
 * result. The caller frees the pieces.
 */
static int build_with(size_t pieces)
{
	int result;

	memset(&store, 0, sizeof(store));
	store.left = pieces;
	result = build_in_store();
	for (size_t i = 0; i < store.nr; i++)
		free(store.pieces[i]);
	return result;
}

static void own_memory(void)
{
	size_t needed;

	CHECK(build_with(1000) == SIDE_ERROR_OK);
	needed = store.nr;
	/* The builder, its first piece, one for the text, and some more. */
	CHECK(needed > 4 && needed < 10 && store.bytes > 6000 + 1000);
	for (size_t pieces = 0; pieces < needed; pieces++)
		CHECK(build_with(pieces) == SIDE_ERROR_NOMEM);
	CHECK(build_with(needed) == SIDE_ERROR_OK);
}

static void wrong_members(void)
{
	struct side_builder *b = fresh(), *other = fresh();
	struct side_builder_type *s = side_builder_struct(b), *v;

	side_builder_add_field(b, NULL, "f", side_builder_gather_struct(b, s, 0, 1, DIRECT));
	side_builder_add_field(b, s, "m", side_builder_byte(b));
	expect(b,
			"p:e, field \"f\", structure, field \"m\": "
			"the members of a gather struct must be gather types");
	b = fresh();
	s = side_builder_struct(b);
	side_builder_add_field(b, NULL, "f", s);
	side_builder_add_field(b, s, "m", side_builder_array(b, s, 2));
	expect(b, "p:e, field \"f\", field \"m\", element: the type contains itself");
	b = fresh();
	s = side_builder_struct(b);
	side_builder_add_field(b, NULL, "f", s);
	side_builder_add_field(b, s, "m", side_builder_null(b));
	side_builder_add_field(b, s, "m", side_builder_null(b));
	expect(b, "p:e, field \"f\": two fields are called \"m\"");
	b = fresh();
	side_builder_add_field(b, NULL, "", side_builder_null(b));
	expect(b, "p:e: the name of field 0 is empty");
	b = fresh();
	side_builder_add_field(b, NULL, NULL, side_builder_null(b));
	expect(b, "p:e: the name of field 0 is NULL");
	b = fresh();
	side_builder_add_field(b, NULL, "f", side_builder_null(other));
	expect(b, "p:e, field \"f\": the type belongs to another builder");
	b = fresh();
	CHECK(side_builder_add_field(b, side_builder_struct(other), "f", side_builder_null(b)) ==
			SIDE_ERROR_INVAL);
	expect(b, "a type of another builder cannot be used");
	b = fresh();
	CHECK(side_builder_add_field(b, side_builder_null(b), "f", side_builder_null(b)) ==
			SIDE_ERROR_INVAL);
	expect(b, "a field was added to a type that accepts none");
	b = fresh();
	v = side_builder_variant(b, side_builder_integer(b, 1, 0, HOST));
	side_builder_add_field(b, NULL, "f", v);
	side_builder_add_option(b, v, 0, 0, side_builder_null(b));
	side_builder_add_option(b, v, 2, 1, side_builder_null(b));
	expect(b, "p:e, field \"f\", option 1: the range ends before it begins");
	b = fresh();
	side_builder_add_option(b, NULL, 0, 0, side_builder_null(b));
	expect(b, "an option was added to the type NULL");
	b = fresh();
	v = side_builder_enum(b, side_builder_integer(b, 1, 0, HOST));
	side_builder_add_field(b, NULL, "f", v);
	side_builder_add_label(b, v, "l", 1, -1);
	expect(b, "p:e, field \"f\": the range of label \"l\" ends before it begins");
	b = fresh();
	v = side_builder_enum(b, side_builder_integer(b, 1, 0, HOST));
	side_builder_add_field(b, NULL, "f", v);
	side_builder_add_label(b, v, NULL, 1, 1);
	expect(b, "p:e, field \"f\": label 0 is NULL");
	b = fresh();
	side_builder_add_bit_label(b, side_builder_enum(b, NULL), "l", 1, 1);
	expect(b, "a bit label was added to a type that accepts none");
	side_builder_destroy(other);
}

static void wrong_attributes(void)
{
	struct side_builder *b = fresh();

	CHECK(side_builder_attr_null(b, NULL, NULL) == SIDE_ERROR_INVAL);
	expect(b, "the key of an attribute is NULL");
	b = fresh();
	CHECK(side_builder_attr_null(b, side_builder_dynamic(b), "k") == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": a dynamic field has no attributes");
	b = fresh();
	CHECK(side_builder_attr_unsigned(b, NULL, "k", 1, 256) == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": the value does not fit 1 bytes");
	b = fresh();
	CHECK(side_builder_attr_signed(b, NULL, "k", 2, -32769) == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": the value does not fit 2 bytes");
	b = fresh();
	CHECK(side_builder_attr_signed(b, NULL, "k", 16, 0) == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": an integer cannot have 16 bytes");
	b = fresh();
	CHECK(side_builder_attr_float(b, NULL, "k", 10, "") == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": a float cannot have 10 bytes");
	b = fresh();
	CHECK(side_builder_attr_text(b, NULL, "k", "", 3, HOST) == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": a string cannot have units of 3 bytes");
	b = fresh();
	CHECK(side_builder_attr_string(b, NULL, "k", NULL) == SIDE_ERROR_INVAL);
	expect(b, "attribute \"k\": the string is NULL or of unknown byte order");
}

static void wrong_events(void)
{
	struct side_builder_type *type;
	struct side_builder *b;
	unsigned int i;

	expect(side_builder_create(NULL, "e", SIDE_LOGLEVEL_INFO, 0),
			":e: the provider or event name is empty or NULL");
	expect(side_builder_create("p", "e", (enum side_loglevel)8, 0),
			"p:e: the log level 8 is unknown");
	expect(side_builder_create("p", "e", SIDE_LOGLEVEL_INFO, 2),
			"p:e: the flags 0x2 are unknown");
	/* As deep as readers go, and one level deeper. */
	for (i = 127; i <= 128; i++) {
		unsigned int j;

		b = fresh();
		type = side_builder_null(b);
		for (j = 0; j < i; j++)
			type = side_builder_optional(b, type);
		side_builder_add_field(b, NULL, "f", type);
		CHECK(side_builder_finish(b) == (i == 127 ? SIDE_ERROR_OK : SIDE_ERROR_INVAL));
		if (i == 127)
			CHECK(!visit_description_check(side_builder_description(b), 0, NULL));
		else
			CHECK(strstr(side_builder_error(b), "types are nested more than 128 deep"));
		side_builder_destroy(b);
	}
	/* A chain that would overflow the stack of a reader that followed it to its end. */
	b = fresh();
	type = side_builder_null(b);
	for (i = 0; i < 200000; i++)
		type = side_builder_optional(b, type);
	side_builder_add_field(b, NULL, "f", type);
	CHECK(side_builder_finish(b) == SIDE_ERROR_INVAL);
	side_builder_destroy(b);
	/* Twice the type before, sixty times. */
	b = fresh();
	type = side_builder_null(b);
	for (i = 0; i < 60; i++) {
		struct side_builder_type *twice = side_builder_struct(b);

		side_builder_add_field(b, twice, "a", type);
		side_builder_add_field(b, twice, "b", type);
		type = twice;
	}
	side_builder_add_field(b, NULL, "f", type);
	CHECK(side_builder_finish(b) == SIDE_ERROR_INVAL);
	CHECK(strstr(side_builder_error(b), "the description has more than"));
	side_builder_destroy(b);
	/* After the end nothing is added. */
	b = fresh();
	CHECK(side_builder_finish(b) == SIDE_ERROR_OK && side_builder_finish(b) == SIDE_ERROR_OK);
	CHECK(side_builder_add_field(b, NULL, "f", side_builder_null(b)) == SIDE_ERROR_INVAL);
	CHECK(!strcmp(side_builder_error(b), "the description is finished: nothing can be added"));
	side_builder_destroy(b);
	/* Without a builder. */
	CHECK(!side_builder_null(NULL) && side_builder_destroy(NULL) == SIDE_ERROR_OK);
	CHECK(side_builder_register(NULL) == SIDE_ERROR_INVAL && side_builder_error(NULL)[0]);
	CHECK(side_builder_add_field(NULL, NULL, "f", NULL) == SIDE_ERROR_INVAL);
}

/* ---- life ---- */

static uint64_t key;
static unsigned int inserted, removed, called;
static struct side_builder *living;
static int destroyed_inside;

static void on_event(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)priv;
	(void)caller;
	CHECK(desc == side_builder_description(living) && args->len == 1);
	__atomic_add_fetch(&called, 1, __ATOMIC_RELAXED);
	if (destroyed_inside)
		CHECK(side_builder_destroy(living) == SIDE_ERROR_INVAL);
}

static void on_batch(enum side_tracer_notification what, struct side_event_description **events,
		uint32_t nr, void *priv)
{
	(void)priv;
	if (!nr || !living || events[0] != side_builder_description(living))
		return;
	if (what == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS) {
		CHECK(side_tracer_callback_register(events[0], on_event, NULL, key) ==
				SIDE_ERROR_OK);
		inserted++;
	} else {
		removed++;
	}
}

static void fire(struct side_builder *b)
{
	struct side_arg arg;
	struct side_arg_vec vec;

	memset(&arg, 0, sizeof(arg));
	memset(&vec, 0, sizeof(vec));
	side_enum_set(arg.type, SIDE_TYPE_U32);
	arg.u.side_static.integer_value.side_u32 = 7;
	side_ptr_set(vec.sav, &arg);
	vec.len = 1;
	if (side_builder_enabled(b))
		side_call(side_builder_state(b), &vec);
}

static int stop;

static void *fire_until_stopped(void *priv)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		fire(priv);
	return NULL;
}

static void life(void)
{
	struct side_tracer_handle *tracer;
	pthread_t threads[2];
	unsigned int round, i;

	CHECK(side_tracer_request_key(&key) == SIDE_ERROR_OK);
	tracer = side_tracer_event_notification_register(on_batch, NULL);
	CHECK(tracer);
	for (round = 0; round < 50; round++) {
		called = 0;
		living = fresh();
		side_builder_add_field(living, NULL, "x", side_builder_integer(living, 4, 0, HOST));
		fire(living);
		CHECK(side_builder_register(living) == SIDE_ERROR_OK && inserted == 2 * round + 1);
		CHECK(side_builder_register(living) == SIDE_ERROR_EXIST);
		CHECK(side_builder_enabled(living));
		__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
		for (i = 0; i < 2; i++)
			CHECK(!pthread_create(&threads[i], NULL, fire_until_stopped, living));
		while (!__atomic_load_n(&called, __ATOMIC_RELAXED))
			;
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		for (i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		destroyed_inside = 1;
		fire(living);
		destroyed_inside = 0;
		CHECK(side_builder_unregister(living) == SIDE_ERROR_OK && removed == 2 * round + 1);
		CHECK(!side_builder_enabled(living));
		CHECK(side_builder_register(living) == SIDE_ERROR_OK);
		CHECK(side_builder_destroy(living) == SIDE_ERROR_OK && removed == 2 * round + 2);
		living = NULL;
	}
	side_tracer_event_notification_unregister(tracer);
}

static void after_the_end(void)
{
	struct side_builder *b = fresh(), *registered = fresh();

	CHECK(side_builder_register(registered) == SIDE_ERROR_OK);
	side_exit();
	CHECK(side_builder_register(b) == SIDE_ERROR_EXITING);
	CHECK(side_builder_destroy(b) == SIDE_ERROR_OK);
	CHECK(side_builder_destroy(registered) == SIDE_ERROR_OK);
}

int main(void)
{
	scalars();
	attributes();
	compounds();
	gathers();
	wrong_types();
	wrong_gather_types();
	last_bits();
	limits_of_attributes();
	no_builder();
	own_memory();
	wrong_members();
	wrong_attributes();
	wrong_events();
	life();
	after_the_end();
	return 0;
}
