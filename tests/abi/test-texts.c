/* SPDX-License-Identifier: MIT */
/*
 * The text and the JSON of each type, as a list of fields prints it. The other byte order is that
 * of big-endian machines.
 */
#include <stdio.h>
#include <string.h>

#include <side/builder.h>

#include "abi/visit.h"
#include "../check.h"

#define HOST SIDE_TYPE_BYTE_ORDER_HOST
#define OTHER SIDE_TYPE_BYTE_ORDER_BE
#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define BEHIND SIDE_TYPE_GATHER_ACCESS_POINTER

#define EIGHT "f: enum u8 { l = 0, l = 1, l = 2, l = 3, l = 4, l = 5, l = 6, l = 7"

static struct side_builder *b;

static void begin(void)
{
	b = side_builder_create("texts", "event", SIDE_LOGLEVEL_INFO, 0);
	CHECK(b);
}

static void is_text(struct side_builder_type *type, const char *expected)
{
	struct visit_buffer out;

	side_builder_add_field(b, NULL, "f", type);
	if (side_builder_finish(b) != SIDE_ERROR_OK)
		fprintf(stderr, "%s\n", side_builder_error(b));
	CHECK(side_builder_description(b));
	visit_buffer_heap(&out);
	visit_fields_text(side_builder_description(b), &out);
	if (out.size != strlen(expected) || memcmp(out.data, expected, out.size))
		fprintf(stderr, "\"%.*s\", expected \"%s\"\n", (int)out.size, out.data, expected);
	CHECK(out.size == strlen(expected) && !memcmp(out.data, expected, out.size));
	visit_buffer_free(&out);
	CHECK(side_builder_destroy(b) == SIDE_ERROR_OK);
	begin();
}

/* Apostrophes stand for quotation marks. The type has an attribute. */
static void is_json(struct side_builder_type *type, const char *expected)
{
	static const char head[] =
			"{'schema':1,'provider':'texts','event':'event','loglevel':'INFO','variadic':false,"
			"'flags':0,'type_labels':51,'attribute_types':17,'attributes':[],"
			"'fields':[{'name':'f','type':{";
	static const char tail[] = ",'attributes':[{'key':'k','type':'string','value':'v'}]}}]}";
	struct visit_buffer out;
	char text[1024];

	side_builder_attr_string(b, type, "k", "v");
	side_builder_add_field(b, NULL, "f", type);
	CHECK(side_builder_finish(b) == SIDE_ERROR_OK);
	snprintf(text, sizeof(text), "%s%s%s", head, expected, tail);
	for (char *at = text; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	visit_buffer_heap(&out);
	CHECK(!visit_description_json(side_builder_description(b), &out, NULL));
	if (out.size != strlen(text) || memcmp(out.data, text, out.size))
		fprintf(stderr, "\"%.*s\", expected \"%s\"\n", (int)out.size, out.data, text);
	CHECK(out.size == strlen(text) && !memcmp(out.data, text, out.size));
	visit_buffer_free(&out);
	CHECK(side_builder_destroy(b) == SIDE_ERROR_OK);
	begin();
}

#define U8 "{'type':'u8','size':1,'len_bits':0,'signed':false,'byte_order':'le','attributes':[]}"
#define U16 "{'type':'u16','size':2,'len_bits':0,'signed':false,'byte_order':'le','attributes':[]}"
#define BYTE "{'type':'byte','attributes':[]}"

static struct side_builder_type *with_fields(unsigned int nr);

/* On little-endian machines of 64 bits. */
static void test_json(void)
{
	struct side_builder_type *type;

	is_json(side_builder_integer(b, 2, 1, OTHER),
			"'type':'s16','size':2,'len_bits':0,'signed':true,'byte_order':'be'");
	is_json(side_builder_pointer(b, HOST),
			"'type':'pointer','size':8,'len_bits':0,'signed':false,'byte_order':'le'");
	is_json(side_builder_bool(b), "'type':'bool','size':1,'len_bits':0,'byte_order':'le'");
	is_json(side_builder_float(b, 4, OTHER),
			"'type':'float_binary32','size':4,'byte_order':'be'");
	is_json(side_builder_string(b, 2, OTHER),
			"'type':'string_utf16','unit_size':2,'byte_order':'be'");
	is_json(with_fields(1), "'type':'struct','fields':[{'name':'x','type':" U8 "}]");
	is_json(side_builder_array(b, side_builder_byte(b), 7),
			"'type':'array','length':7,'element':" BYTE);
	is_json(side_builder_vla(b, side_builder_byte(b), side_builder_integer(b, 2, 0, HOST)),
			"'type':'vla','length':" U16 ",'element':" BYTE);
	type = side_builder_enum_bitmap(b, side_builder_integer(b, 1, 0, HOST));
	side_builder_add_bit_label(b, type, "more", 3, 6);
	is_json(type, "'type':'enum_bitmap','mappings':[{'begin':3,'end':6,'label':'more'}],'element':" U8);
	type = side_builder_variant(b, side_builder_integer(b, 2, 0, HOST));
	side_builder_add_option(b, type, -4, 9, side_builder_byte(b));
	is_json(type,
			"'type':'variant','selector':" U16
			",'options':[{'begin':-4,'end':9,'type':" BYTE "}]");
	is_json(side_builder_gather_integer(b, 12, 4, 1, 3, 20, HOST, BEHIND),
			"'type':'gather_integer','offset':12,'access_mode':'pointer','offset_bits':3,'size':4,"
			"'len_bits':20,'signed':true,'byte_order':'le'");
	is_json(side_builder_gather_bool(b, 3, 2, 1, 5, HOST, DIRECT),
			"'type':'gather_bool','offset':3,'access_mode':'direct','offset_bits':1,'size':2,"
			"'len_bits':5,'byte_order':'le'");
}

static struct side_builder_type *with_fields(unsigned int nr)
{
	struct side_builder_type *type = side_builder_struct(b);

	for (unsigned int i = 0; i < nr; i++)
		side_builder_add_field(b, type, i ? i > 1 ? "z" : "y" : "x",
				side_builder_integer(b, 1u << i, i == 1, HOST));
	return type;
}

int main(void)
{
	struct side_builder_type *type;

	begin();
	is_text(side_builder_null(b), "f: null");
	is_text(side_builder_bool(b), "f: bool");
	is_text(side_builder_byte(b), "f: byte");
	is_text(side_builder_dynamic(b), "f: dynamic");
	is_text(side_builder_integer(b, 1, 0, HOST), "f: u8");
	is_text(side_builder_integer(b, 1, 1, OTHER), "f: s8");
	is_text(side_builder_integer(b, 2, 1, OTHER), "f: s16be");
	is_text(side_builder_integer(b, 8, 0, HOST), "f: u64");
	is_text(side_builder_integer(b, 16, 1, HOST), "f: s128");
	is_text(side_builder_pointer(b, HOST), "f: pointer");
	is_text(side_builder_pointer(b, OTHER), "f: pointerbe");
	is_text(side_builder_float(b, 2, OTHER), "f: f16be");
	is_text(side_builder_float(b, 8, HOST), "f: f64");
	is_text(side_builder_string(b, 1, HOST), "f: string");
	is_text(side_builder_string(b, 2, HOST), "f: string16");
	is_text(side_builder_string(b, 4, OTHER), "f: string32be");
	is_text(with_fields(0), "f: struct { }");
	is_text(with_fields(1), "f: struct { x: u8 }");
	is_text(with_fields(3), "f: struct { x: u8, y: s16, z: u32 }");
	is_text(side_builder_array(b, side_builder_integer(b, 4, 0, HOST), 7), "f: u32[7]");
	is_text(side_builder_vla(b, side_builder_byte(b), side_builder_integer(b, 2, 0, HOST)),
			"f: byte[]");
	is_text(side_builder_optional(b, side_builder_float(b, 4, HOST)), "f: f32?");
	type = side_builder_enum(b, side_builder_integer(b, 4, 1, HOST));
	side_builder_add_label(b, type, "low", -5, -1);
	side_builder_add_label(b, type, "zero", 0, 0);
	is_text(type, "f: enum s32 { low = -5..-1, zero = 0 }");
	type = side_builder_enum_bitmap(b, side_builder_integer(b, 1, 0, HOST));
	side_builder_add_bit_label(b, type, "one", 1, 1);
	side_builder_add_bit_label(b, type, "more", 3, 6);
	is_text(type, "f: bitmap u8 { one = 1, more = 3..6 }");
	/* Eight labels, and one more. */
	for (int nr = 8; nr < 10; nr++) {
		type = side_builder_enum(b, side_builder_integer(b, 1, 0, HOST));
		for (int i = 0; i < nr; i++)
			side_builder_add_label(b, type, "l", i, i);
		is_text(type, nr == 8 ? EIGHT " }" : EIGHT ", ... }");
	}
	type = side_builder_variant(b, side_builder_integer(b, 2, 0, HOST));
	side_builder_add_option(b, type, 1, 1, side_builder_bool(b));
	side_builder_add_option(b, type, 4, 9, side_builder_byte(b));
	is_text(type, "f: variant (u16) { 1: bool, 4..9: byte }");
	is_text(side_builder_gather_integer(b, 12, 4, 1, 3, 20, HOST, DIRECT), "f: s32:20");
	is_text(side_builder_gather_integer(b, 12, 4, 0, 0, 0, OTHER, BEHIND), "f: u32be");
	is_text(side_builder_gather_bool(b, 3, 2, 1, 5, HOST, DIRECT), "f: bool:5");
	is_text(side_builder_gather_float(b, 8, 4, HOST, DIRECT), "f: f32");
	is_text(side_builder_gather_string(b, 6, 2, HOST, BEHIND), "f: string16");
	is_text(side_builder_gather_array(b, side_builder_gather_byte(b, 2, DIRECT), 5, 9, DIRECT),
			"f: byte[5]");
	if (HOST == SIDE_TYPE_BYTE_ORDER_LE && sizeof(void *) == 8)
		test_json();
	CHECK(side_builder_destroy(b) == SIDE_ERROR_OK);
	return 0;
}
