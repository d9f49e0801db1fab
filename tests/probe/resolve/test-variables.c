/* SPDX-License-Identifier: MIT */
/*
 * Expressions of variables, from the text to the operations that fetch them: members, elements,
 * counts, types of C++, Rust and Go libraries, and each refusal. The test writes the debug
 * information. An operation is written as CODE:REGISTER:SIZE:VALUE, with the numbers of
 * probe/table.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "debug-writer.h"
#include "probe/spec/debug.h"
#include "probe/spec/variable.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static struct dwarf dwarf;
static char shown[8192];

/* ---- writing types and variables ---- */

static uint32_t base(const char *name, unsigned int encoding, uint64_t size)
{
	uint32_t offset = dwarf_entry(&dwarf, DW_TAG_base_type, false);

	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_number(&dwarf, DW_AT_encoding, encoding);
	dwarf_number(&dwarf, DW_AT_byte_size, size);
	return offset;
}

static uint32_t of(unsigned int tag, uint32_t type)
{
	uint32_t offset = dwarf_entry(&dwarf, tag, false);

	dwarf_reference(&dwarf, DW_AT_type, type);
	return offset;
}

static uint32_t pointer(uint32_t type)
{
	return of(DW_TAG_pointer_type, type);
}

static uint32_t array(uint32_t type, uint64_t first, uint64_t second)
{
	uint32_t offset = dwarf_entry(&dwarf, DW_TAG_array_type, true);

	dwarf_reference(&dwarf, DW_AT_type, type);
	for (unsigned int i = 0; i < 2 && (!i || second); i++) {
		(void)dwarf_entry(&dwarf, DW_TAG_subrange_type, false);
		dwarf_number(&dwarf, DW_AT_count, i ? second : first);
	}
	dwarf_end_children(&dwarf);
	return offset;
}

static uint32_t begin_structure(unsigned int tag, const char *name, uint64_t size)
{
	uint32_t offset = dwarf_entry(&dwarf, tag, true);

	if (name)
		dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_number(&dwarf, DW_AT_byte_size, size);
	return offset;
}

static void member(const char *name, uint32_t type, uint64_t at)
{
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	if (name)
		dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_reference(&dwarf, DW_AT_type, type);
	dwarf_number(&dwarf, DW_AT_data_member_location, at);
}

static void inherits(uint32_t type, uint64_t at)
{
	(void)dwarf_entry(&dwarf, DW_TAG_inheritance, false);
	dwarf_reference(&dwarf, DW_AT_type, type);
	dwarf_number(&dwarf, DW_AT_data_member_location, at);
}

/* A structure of one or two members. */
static uint32_t structure(const char *name, uint64_t size, const char *first_name, uint32_t first,
		const char *second_name, uint32_t second, uint64_t at)
{
	uint32_t offset = begin_structure(DW_TAG_structure_type, name, size);

	member(first_name, first, 0);
	if (second_name)
		member(second_name, second, at);
	dwarf_end_children(&dwarf);
	return offset;
}

static void template(unsigned int tag, const char *name, uint32_t type, int64_t value)
{
	(void)dwarf_entry(&dwarf, tag, false);
	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_reference(&dwarf, DW_AT_type, type);
	if (tag == DW_TAG_template_value_parameter)
		dwarf_negative(&dwarf, DW_AT_const_value, value);
}

/* Memory at a constant address, which identifies the variable. */
static void at_address(const char *name, uint32_t type, uint64_t address)
{
	uint8_t bytes[9] = {DW_OP_addr};

	memcpy(bytes + 1, &address, 8);
	(void)dwarf_entry(&dwarf, DW_TAG_variable, false);
	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_reference(&dwarf, DW_AT_type, type);
	dwarf_expression(&dwarf, DW_AT_location, bytes, sizeof(bytes));
}

static void in_register(unsigned int tag, const char *name, uint32_t type, uint8_t number)
{
	uint8_t bytes[] = {(uint8_t)(DW_OP_reg0 + number)};

	(void)dwarf_entry(&dwarf, tag, false);
	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_reference(&dwarf, DW_AT_type, type);
	dwarf_expression(&dwarf, DW_AT_location, bytes, sizeof(bytes));
}

static void address(unsigned int name, uint64_t value)
{
	dwarf_attribute(&dwarf, name, DW_FORM_addr);
	dwarf_put(&dwarf, &value, 8);
}

static uint32_t begin_function(const char *name, uint64_t begin, uint32_t type)
{
	uint32_t offset = dwarf_entry(&dwarf, DW_TAG_subprogram, true);

	dwarf_text(&dwarf, DW_AT_name, name);
	address(DW_AT_low_pc, begin);
	dwarf_number(&dwarf, DW_AT_high_pc, 0x40);
	if (type)
		dwarf_reference(&dwarf, DW_AT_type, type);
	return offset;
}

/* ---- the program ---- */

static uint32_t type_char, type_int, type_long, type_short, type_float, type_pair, type_node;

static void write_plain(void)
{
	uint32_t type_byte = base("unsigned char", DW_ATE_unsigned, 1),
		 type_flag = base("bool", DW_ATE_boolean, 1), color, bits, nested, outer, unnamed,
		 text, rows, reference, name, opaque;

	type_char = base("char", DW_ATE_signed_char, 1);
	type_int = base("int", DW_ATE_signed, 4);
	type_long = base("unsigned long", DW_ATE_unsigned, 8);
	type_short = base("short", DW_ATE_signed, 2);
	type_float = base("double", DW_ATE_float, 8);
	text = pointer(type_char);
	color = begin_structure(DW_TAG_enumeration_type, "color", 4);
	(void)dwarf_entry(&dwarf, DW_TAG_enumerator, false);
	dwarf_text(&dwarf, DW_AT_name, "RED");
	dwarf_number(&dwarf, DW_AT_const_value, 5);
	dwarf_end_children(&dwarf);
	type_pair = structure("pair", 16, "one", type_int, "other", text, 8);
	type_node = begin_structure(DW_TAG_structure_type, "node", 80);
	member("next", pointer(type_node), 0);
	member("list", array(type_int, 3, 0), 8);
	member("text", array(type_char, 10, 0), 20);
	member("inner", type_pair, 32);
	member("end", array(type_char, 0, 0), 48);
	dwarf_end_children(&dwarf);
	bits = begin_structure(DW_TAG_structure_type, "bits", 8);
	member("low", type_int, 0);
	dwarf_number(&dwarf, DW_AT_bit_size, 5);
	dwarf_number(&dwarf, DW_AT_data_bit_offset, 0);
	member("high", type_long, 0);
	dwarf_number(&dwarf, DW_AT_bit_size, 7);
	dwarf_number(&dwarf, DW_AT_data_bit_offset, 37);
	dwarf_end_children(&dwarf);
	unnamed = structure(NULL, 8, "left", type_short, "right", type_int, 4);
	nested = begin_structure(DW_TAG_class_type, "nested", 24);
	inherits(type_pair, 0);
	member(NULL, unnamed, 16);
	dwarf_end_children(&dwarf);
	outer = structure("outer", 32, "flag", type_flag, "nested", nested, 8);
	rows = array(type_short, 2, 3);
	reference = of(DW_TAG_reference_type, type_int);
	name = of(DW_TAG_typedef, of(DW_TAG_const_type, type_int));
	dwarf_text(&dwarf, DW_AT_name, "number");
	opaque = begin_structure(DW_TAG_structure_type, "opaque", 0);
	dwarf_flag(&dwarf, DW_AT_declaration);
	dwarf_end_children(&dwarf);
	at_address("count", type_int, 0x100);
	at_address("size", type_long, 0x108);
	at_address("letter", type_char, 0x110);
	at_address("byte", type_byte, 0x111);
	at_address("half", type_short, 0x112);
	at_address("share", type_float, 0x118);
	at_address("flag", type_flag, 0x120);
	at_address("paint", color, 0x124);
	at_address("label", text, 0x128);
	at_address("ints", pointer(type_int), 0x130);
	at_address("anything", dwarf_entry(&dwarf, DW_TAG_pointer_type, false), 0x138);
	at_address("pair", type_pair, 0x140);
	at_address("first", pointer(type_node), 0x150);
	at_address("node", type_node, 0x160);
	at_address("bits", bits, 0x1c0);
	at_address("outer", outer, 0x1d0);
	at_address("rows", rows, 0x200);
	at_address("alias", reference, 0x210);
	at_address("total", name, 0x218);
	at_address("hidden", pointer(opaque), 0x220);
	at_address("pairs", array(type_pair, 4, 0), 0x230);
	at_address("table", pointer(text), 0x280);
}

static void write_libraries(void)
{
	uint32_t ints = pointer(type_int), letters = pointer(type_char), vector, span, fixed, view,
		 string, owned, head, tuple, tuples, shared, optional, payload, payloads, elements,
		 slice, str, vec, inner, rust_string, go_string, go_slice, rc, box;

	inner = begin_structure(DW_TAG_structure_type, "_Vector_impl", 24);
	member("_M_start", ints, 0);
	member("_M_finish", ints, 8);
	dwarf_end_children(&dwarf);
	vector = structure("vector<int>", 24, "_M_impl", inner, NULL, 0, 0);
	span = structure("span<int>", 16, "_M_ptr", ints, "_M_extent",
			structure("extent", 8, "_M_extent_value", type_long, NULL, 0, 0), 8);
	fixed = begin_structure(DW_TAG_structure_type, "span<int, 7>", 8);
	member("_M_ptr", ints, 0);
	template(DW_TAG_template_value_parameter, "_Extent", type_long, 7);
	dwarf_end_children(&dwarf);
	view = structure("basic_string_view<char>", 16, "_M_len", type_long, "_M_str", letters, 8);
	string = structure("basic_string<char, std::char_traits<char> >", 32, "_M_dataplus",
			structure("_Alloc_hider", 8, "_M_p", letters, NULL, 0, 0),
			"_M_string_length", type_long, 8);
	head = structure("_Head_base", 8, "_M_head_impl", pointer(type_pair), NULL, 0, 0);
	tuple = begin_structure(DW_TAG_structure_type, "tuple", 8);
	inherits(head, 0);
	dwarf_end_children(&dwarf);
	tuples = structure("__uniq_ptr_impl", 8, "_M_t", tuple, NULL, 0, 0);
	owned = structure("unique_ptr<pair>", 8, "_M_t", tuples, NULL, 0, 0);
	shared = structure("shared_ptr<pair>", 16, "_M_ptr", pointer(type_pair), "_M_refcount",
			type_long, 8);
	payload = structure("_Storage", 4, "_M_value", type_int, NULL, 0, 0);
	payloads = structure("_Optional_payload", 8, "_M_payload", payload, "_M_engaged",
			base("bool", DW_ATE_boolean, 1), 4);
	optional = structure("optional<int>", 8, "_M_payload", payloads, NULL, 0, 0);
	elements = structure("array<int, 6>", 24, "_M_elems", array(type_int, 6, 0), NULL, 0, 0);
	slice = structure("&[i32]", 16, "data_ptr", ints, "length", type_long, 8);
	str = structure("&str", 16, "data_ptr", pointer(base("u8", DW_ATE_unsigned, 1)), "length",
			type_long, 8);
	inner = structure("RawVec", 16, "ptr",
			structure("Unique", 8, "pointer",
					structure("NonNull", 8, "pointer", letters, NULL, 0, 0),
					NULL, 0, 0),
			NULL, 0, 0);
	vec = begin_structure(DW_TAG_structure_type, "Vec<short>", 24);
	member("buf", inner, 0);
	member("len", type_long, 16);
	template(DW_TAG_template_type_parameter, "T", type_short, 0);
	dwarf_end_children(&dwarf);
	inner = begin_structure(DW_TAG_structure_type, "Vec<u8>", 24);
	member("len", type_long, 8);
	member("buf",
			structure("RawVec", 16, "ptr",
					structure("Unique", 8, "pointer",
							structure("NonNull", 8, "pointer", letters,
									NULL, 0, 0),
							NULL, 0, 0),
					NULL, 0, 0),
			16);
	template(DW_TAG_template_type_parameter, "T", base("u8", DW_ATE_unsigned, 1), 0);
	dwarf_end_children(&dwarf);
	rust_string = structure("String", 24, "vec", inner, NULL, 0, 0);
	go_string = structure("string", 16, "str", letters, "len", type_long, 8);
	go_slice = structure("[]int", 24, "array", ints, "len", type_int, 8);
	inner = begin_structure(DW_TAG_structure_type, "RcBox", 24);
	member("strong", type_long, 0);
	member("value", type_pair, 8);
	dwarf_end_children(&dwarf);
	rc = structure("Rc<pair>", 8, "ptr",
			structure("NonNull", 8, "pointer", pointer(inner), NULL, 0, 0), NULL, 0, 0);
	box = structure("NonNull<pair>", 8, "pointer", pointer(type_pair), NULL, 0, 0);
	at_address("v", vector, 0x1000);
	at_address("s", span, 0x1040);
	at_address("f", fixed, 0x1080);
	at_address("w", view, 0x10c0);
	at_address("t", string, 0x1100);
	at_address("u", owned, 0x1140);
	at_address("h", shared, 0x1180);
	at_address("o", optional, 0x11c0);
	at_address("e", elements, 0x1200);
	at_address("sl", slice, 0x1240);
	at_address("st", str, 0x1280);
	at_address("ve", vec, 0x12c0);
	at_address("rs", rust_string, 0x1300);
	at_address("gs", go_string, 0x1340);
	at_address("gl", go_slice, 0x1380);
	at_address("rc", rc, 0x13c0);
	at_address("nn", box, 0x1400);
	/* Only declared: clang writes no more about the string. */
	(void)dwarf_entry(&dwarf, DW_TAG_namespace, true);
	dwarf_text(&dwarf, DW_AT_name, "__cxx11");
	string = dwarf_entry(&dwarf, DW_TAG_class_type, false);
	dwarf_text(&dwarf, DW_AT_name, "basic_string<char>");
	dwarf_flag(&dwarf, DW_AT_declaration);
	dwarf_end_children(&dwarf);
	at_address("dt", string, 0x1440);
	at_address("dts", array(string, 3, 0), 0x1500);
	at_address("a", structure("atomic<int>", 4, "_M_i", type_int, NULL, 0, 0), 0x1480);
	at_address("ce",
			structure("Cell<short>", 2, "value",
					structure("UnsafeCell<short>", 2, "value", type_short, NULL,
							0, 0),
					NULL, 0, 0),
			0x14c0);
}

/* A piece of a variable: in a register, in memory at register `where` - 100, or nowhere (-1). */
struct piece {
	int where;
	uint8_t size;
};

static void in_pieces(const char *name, uint32_t type, const struct piece *pieces, size_t count)
{
	uint8_t bytes[64];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (pieces[i].where >= 100) {
			bytes[used++] = (uint8_t)(DW_OP_breg0 + pieces[i].where - 100);
			bytes[used++] = 16;
		} else if (pieces[i].where >= 0) {
			bytes[used++] = (uint8_t)(DW_OP_reg0 + pieces[i].where);
		}
		bytes[used++] = DW_OP_piece;
		bytes[used++] = pieces[i].size;
	}
	(void)dwarf_entry(&dwarf, DW_TAG_variable, false);
	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_reference(&dwarf, DW_AT_type, type);
	dwarf_expression(&dwarf, DW_AT_location, bytes, used);
}

#define IN_PIECES(name, type, ...)                                 \
	in_pieces(name, type, (const struct piece[]){__VA_ARGS__}, \
			LENGTH(((const struct piece[]){__VA_ARGS__})))

/* An array whose first index is `lower`. */
static uint32_t array_from(uint32_t type, int64_t lower, uint64_t count)
{
	uint32_t offset = dwarf_entry(&dwarf, DW_TAG_array_type, true);

	dwarf_reference(&dwarf, DW_AT_type, type);
	(void)dwarf_entry(&dwarf, DW_TAG_subrange_type, false);
	dwarf_negative(&dwarf, DW_AT_lower_bound, lower);
	dwarf_number(&dwarf, DW_AT_count, count);
	dwarf_end_children(&dwarf);
	return offset;
}

static uint32_t vector_of(const char *name, uint32_t type, uint32_t end)
{
	uint32_t inner = begin_structure(DW_TAG_structure_type, "_Vector_impl", 24);

	member("_M_start", pointer(type), 0);
	member("_M_finish", end ? end : pointer(type), 8);
	dwarf_end_children(&dwarf);
	return structure(name, 24, "_M_impl", inner, NULL, 0, 0);
}

static uint32_t slice_of(const char *name, uint32_t type)
{
	return structure(name, 16, "data_ptr", pointer(type), "length", type_long, 8);
}

static void make_static(void)
{
	dwarf_flag(&dwarf, DW_AT_external);
}

static void write_letters(void)
{
	uint32_t type;

	at_address("l1", pointer(base("unsigned char", DW_ATE_unsigned_char, 1)), 0x4000);
	at_address("l2", pointer(base("char8_t", DW_ATE_UTF, 1)), 0x4008);
	at_address("l3", pointer(base("char32_t", DW_ATE_UTF, 4)), 0x4010);
	at_address("l4", pointer(base("uint8_t", DW_ATE_unsigned, 1)), 0x4018);
	at_address("l5", pointer(base("u8", DW_ATE_unsigned, 1)), 0x4020);
	at_address("a1", array(base("address", DW_ATE_address, 8), 2, 0), 0x4028);
	at_address("a2", array(base("bool", DW_ATE_boolean, 1), 2, 0), 0x4038);
	type = begin_structure(DW_TAG_enumeration_type, "signed_color", 4);
	dwarf_reference(&dwarf, DW_AT_type, type_int);
	dwarf_end_children(&dwarf);
	at_address("e1", type, 0x4040);
	type = begin_structure(DW_TAG_enumeration_type, "strange", 8);
	dwarf_reference(&dwarf, DW_AT_type, pointer(type_int));
	dwarf_end_children(&dwarf);
	at_address("e2", type, 0x4048);
	at_address("wides", pointer(base("long double", DW_ATE_float, 16)), 0x4050);
	at_address("huge", array(type_char, 5000, 0), 0x4058);
	at_address("hugeints", array(type_int, 1024, 2), 0x6000);
	at_address("endless", array(type_long, 0x40000000, 0x40000000), 0x8000);
	at_address("from5", array_from(type_int, 5, 4), 0x8100);
	type = begin_structure(DW_TAG_union_type, "either", 8);
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	dwarf_text(&dwarf, DW_AT_name, "whole");
	dwarf_reference(&dwarf, DW_AT_type, type_long);
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	dwarf_text(&dwarf, DW_AT_name, "half");
	dwarf_reference(&dwarf, DW_AT_type, type_int);
	dwarf_end_children(&dwarf);
	at_address("either", type, 0x8200);
	type = pointer(type_int);
	dwarf_text(&dwarf, DW_AT_name, "&i32");
	at_address("borrow", type, 0x8208);
	type = pointer(array(type_int, 3, 0));
	dwarf_text(&dwarf, DW_AT_name, "&[i32; 3]");
	at_address("borrows", type, 0x8210);
	at_address("moved", of(DW_TAG_rvalue_reference_type, type_short), 0x8218);
}

static void write_structures(void)
{
	uint32_t type, inner, empty, bits;

	type = begin_structure(DW_TAG_structure_type, "derived", 48);
	member("one", type_pair, 0);
	inherits(type_pair, 16);
	member("one", type_short, 32);
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	dwarf_text(&dwarf, DW_AT_name, "shared");
	dwarf_reference(&dwarf, DW_AT_type, type_int);
	make_static();
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	dwarf_text(&dwarf, DW_AT_name, "_vptr");
	dwarf_reference(&dwarf, DW_AT_type, type_long);
	dwarf_flag(&dwarf, DW_AT_artificial);
	dwarf_end_children(&dwarf);
	at_address("derived", type, 0x9000);
	type = begin_structure(DW_TAG_structure_type, "split", 16);
	member("a", type_int, 0);
	member("text", array(type_char, 12, 0), 4);
	dwarf_end_children(&dwarf);
	IN_PIECES("split", type, {1, 4}, {107, 12});
	IN_PIECES("cut", type, {1, 4}, {107, 11}, {106, 1});
	type = begin_structure(DW_TAG_structure_type, "parts", 20);
	for (unsigned int i = 0; i < 5; i++)
		member((const char *[]){"v", "w", "x", "y", "z"}[i], type_int, 4 * i);
	dwarf_end_children(&dwarf);
	IN_PIECES("parts", type, {1, 4}, {2, 4}, {3, 4}, {-1, 4}, {5, 4});
	type = structure("doubles", 16, "a", type_float, "b", type_float, 8);
	in_register(DW_TAG_variable, "xmm", type, 17);
	empty = begin_structure(DW_TAG_structure_type, "empty", 1);
	dwarf_end_children(&dwarf);
	type = begin_structure(DW_TAG_structure_type, "atomic<long>", 8);
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	dwarf_text(&dwarf, DW_AT_name, "always_lock_free");
	dwarf_reference(&dwarf, DW_AT_type, type_int);
	make_static();
	inherits(empty, 0);
	member("_M_i", type_long, 0);
	dwarf_end_children(&dwarf);
	at_address("at1", type, 0x9100);
	type = structure("atomic<pair>", 16, "_M_i", type_pair, NULL, 0, 0);
	at_address("at2", type, 0x9108);
	at_address("at3", structure("atomic<two>", 8, "a", type_int, "b", type_int, 4), 0x9118);
	at_address("at4", structure("atomic<larger>", 8, "a", type_int, NULL, 0, 0), 0x9120);
	bits = begin_structure(DW_TAG_structure_type, "atomic<bits>", 4);
	member("a", type_int, 0);
	dwarf_number(&dwarf, DW_AT_bit_size, 5);
	dwarf_end_children(&dwarf);
	at_address("at5", bits, 0x9128);
	at_address("plain", structure("holder", 4, "a", type_int, NULL, 0, 0), 0x9130);
	at_address("newtype", structure("Meters", 4, "__0", type_int, NULL, 0, 0), 0x9138);
	inner = type_int;
	for (unsigned int i = 0; i < 8; i++) {
		inner = structure("Cell<i32>", 4, "value", inner, NULL, 0, 0);
		if (i >= 6)
			at_address(i == 6 ? "cells7" : "cells8", inner, 0x9140 + 4 * i);
	}
	/* An enumeration of Rust with its discriminant, and one without it. */
	for (unsigned int i = 0; i < 2; i++) {
		type = begin_structure(DW_TAG_structure_type, "Option", 8);
		inner = (uint32_t)dwarf.info_size;
		member("which", type_int, 4);
		(void)dwarf_entry(&dwarf, DW_TAG_variant_part, true);
		if (!i)
			dwarf_reference(&dwarf, DW_AT_discr, inner);
		(void)dwarf_entry(&dwarf, DW_TAG_variant, true);
		dwarf_number(&dwarf, DW_AT_discr_value, 1);
		member("Some", type_int, 0);
		dwarf_end_children(&dwarf);
		dwarf_end_children(&dwarf);
		dwarf_end_children(&dwarf);
		at_address(i ? "unknown" : "option", type, 0x9180 + 8 * i);
	}
}

/*
 * Bit fields in both forms, members that are too far away or incomplete, and structures that are
 * complete elsewhere.
 */
static void write_members(void)
{
	uint32_t type, far;

	type = begin_structure(DW_TAG_structure_type, "fields", 16);
	member("later", type_int, 0);
	dwarf_number(&dwarf, DW_AT_bit_size, 6);
	dwarf_number(&dwarf, DW_AT_data_bit_offset, 69);
	member("old", type_int, 8);
	dwarf_number(&dwarf, DW_AT_bit_size, 7);
	dwarf_number(&dwarf, DW_AT_byte_size, 4);
	dwarf_number(&dwarf, DW_AT_bit_offset, 20);
	member("older", type_long, 0);
	dwarf_number(&dwarf, DW_AT_bit_size, 64);
	dwarf_number(&dwarf, DW_AT_bit_offset, 0);
	member("none", type_int, 4);
	dwarf_number(&dwarf, DW_AT_bit_size, 0);
	member("first", type_int, 12);
	dwarf_number(&dwarf, DW_AT_bit_size, 9);
	dwarf_end_children(&dwarf);
	at_address("fields", type, 0xc000);
	far = begin_structure(DW_TAG_structure_type, "far", 0x7ffffff0);
	member("near", type_char, 0x7fffffff);
	member("beyond", type_char, 0x80000000);
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	dwarf_text(&dwarf, DW_AT_name, "untyped");
	dwarf_number(&dwarf, DW_AT_data_member_location, 4);
	(void)dwarf_entry(&dwarf, DW_TAG_member, false);
	dwarf_text(&dwarf, DW_AT_name, "constant");
	dwarf_reference(&dwarf, DW_AT_type, type_int);
	dwarf_number(&dwarf, DW_AT_const_value, 3);
	dwarf_end_children(&dwarf);
	at_address("far", far, 0x10);
	at_address("fars", pointer(far), 0xc040);
	type = dwarf_entry(&dwarf, DW_TAG_structure_type, false);
	dwarf_text(&dwarf, DW_AT_name, "complete");
	dwarf_flag(&dwarf, DW_AT_declaration);
	at_address("whole", pointer(type), 0xc048);
	at_address("holder", structure("holds", 16, "a", type_int, "inner", type, 8), 0xc050);
	(void)structure("complete", 8, "a", type_short, "b", type_int, 4);
}

static void write_strange_libraries(void)
{
	uint32_t type,
			view = structure("basic_string_view<char>", 16, "_M_len", type_long,
					"_M_str", pointer(type_char), 8);

	at_address("v2", vector_of("vector<short>", type_short, 0), 0xa000);
	at_address("v1", vector_of("vector<char>", type_char, 0), 0xa020);
	at_address("v0", vector_of("vector<?>", type_int, type_long), 0xa040);
	at_address("s1", slice_of("*const [i32]", type_int), 0xa060);
	at_address("s2", slice_of("*mut [i32]", type_int), 0xa080);
	at_address("s3", slice_of("alloc::boxed::Box<[i32]>", type_int), 0xa0a0);
	at_address("s4", slice_of("some::Box<[i32]>", type_int), 0xa0c0);
	type = base("byte", DW_ATE_unsigned, 1);
	at_address("t1", slice_of("&mut str", type), 0xa0e0);
	at_address("t2", slice_of("alloc::boxed::Box<str>", type), 0xa100);
	at_address("t3", slice_of("&str", type), 0xa120);
	at_address("t4", slice_of("&[byte]", type), 0xa140);
	type = begin_structure(DW_TAG_structure_type, "span<int>", 8);
	member("_M_ptr", pointer(type_int), 0);
	dwarf_end_children(&dwarf);
	at_address("noextent", type, 0xa160);
	type = begin_structure(DW_TAG_structure_type, "other<int, 5>", 8);
	member("_M_array", pointer(type_int), 0);
	template(DW_TAG_template_value_parameter, "_Extent", type_long, 5);
	dwarf_end_children(&dwarf);
	at_address("nospan", type, 0xa168);
	at_address("noptr", structure("view", 16, "_M_str", type_long, "_M_len", type_long, 8),
			0xa170);
	at_address("flipped",
			structure("basic_string<char>", 32, "_M_string_length", type_long,
					"_M_dataplus",
					structure("_Alloc_hider", 8, "_M_p", pointer(type_char),
							NULL, 0, 0),
					8),
			0xa180);
	at_address("el0",
			structure("array<int, 0>", 1, "_M_elems", array(type_int, 0, 0), NULL, 0,
					0),
			0xa1a0);
	at_address("el2", structure("array<?>", 24, "_M_elems", array(type_int, 2, 3), NULL, 0, 0),
			0xa1b0);
	IN_PIECES("lost", vector_of("vector<int>", type_int, 0), {3, 8}, {-1, 8}, {-1, 8});
	IN_PIECES("inregs", view, {3, 8}, {4, 8});
	IN_PIECES("pad", structure("padded", 24, "pad", type_long, "view", view, 8), {6, 8}, {3, 8},
			{4, 8});
	type = structure("basic_string<char>", 16, "_M_dataplus",
			structure("_Alloc_hider", 8, "_M_p", pointer(type_char), NULL, 0, 0),
			"_M_string_length", type_long, 8);
	IN_PIECES("lostring", type, {-1, 8}, {2, 8});
	IN_PIECES("string", type, {3, 8}, {2, 8});
	type = dwarf_entry(&dwarf, DW_TAG_class_type, false);
	dwarf_text(&dwarf, DW_AT_name, "basic_string<char, other>");
	dwarf_flag(&dwarf, DW_AT_declaration);
	at_address("declared", type, 0xa200);
}

/*
 * The argument registers that the function reads, instead of its code: a bit for each; -ENOMEM: out
 * of memory.
 */
static int read_registers;
static const struct code_function played_function = {.address = 0x1234};

int code_reads_argument(struct code_file *file, uint64_t begin, unsigned int reg, bool vector)
{
	assert_null(file);
	assert_int_equal(begin, 0x1234);
	assert_false(vector);
	return read_registers < 0 ? read_registers : read_registers >> reg & 1;
}

static struct resolve_module module = {.name = "kitchen", .fd = -1, .debug_tried = true};
static struct debug debug = {.owner = &module};
static struct location location = {.module = &module,
		.function = &played_function,
		.address = 0x2000,
		.name = "_ZN4stew3Pot4cookEi",
		.entry = true};

static void parameter(const char *name, uint32_t type, const uint8_t *bytes, size_t size)
{
	(void)dwarf_entry(&dwarf, DW_TAG_formal_parameter, false);
	dwarf_text(&dwarf, DW_AT_name, name);
	dwarf_reference(&dwarf, DW_AT_type, type);
	if (bytes)
		dwarf_expression(&dwarf, DW_AT_location, bytes, size);
}

/*
 * Arguments whose location is missing, empty, or only known in part, in a function that other files
 * may call.
 */
static void write_passed(void)
{
	static const uint8_t frame[] = {DW_OP_fbreg, 0x6c}, base_pointer[] = {DW_OP_reg6},
			     lower[] = {DW_OP_reg8, DW_OP_piece, 4, DW_OP_piece, 4},
			     first[] = {DW_OP_reg3, DW_OP_piece, 8},
			     whole[] = {DW_OP_reg10, DW_OP_piece, 4, DW_OP_reg11, DW_OP_piece, 4};
	uint32_t wide = base("__int128", DW_ATE_signed, 16), ints, large, opaque;

	ints = structure("ints", 8, "x", type_int, "y", type_int, 4);
	large = structure("large", 24, "a", type_pair, "b", type_long, 16);
	opaque = dwarf_entry(&dwarf, DW_TAG_structure_type, false);
	dwarf_text(&dwarf, DW_AT_name, "unknown");
	dwarf_flag(&dwarf, DW_AT_declaration);
	(void)begin_function("passed", 0x2200, 0);
	dwarf_flag(&dwarf, DW_AT_external);
	parameter("unused", type_int, NULL, 0);
	parameter("invalid", type_long, base_pointer, 0);
	parameter("both", wide, first, sizeof(first));
	parameter("half", ints, lower, sizeof(lower));
	parameter("apart", ints, NULL, 0);
	parameter("last", type_pair, NULL, 0);
	parameter("behind", large, NULL, 0);
	parameter("full", ints, whole, sizeof(whole));
	dwarf_end_children(&dwarf);
	/* Called by this file only. */
	(void)begin_function("own", 0x2240, 0);
	parameter("invalid", type_long, base_pointer, 0);
	dwarf_end_children(&dwarf);
	/* Not optimized: arguments are stored later. */
	(void)begin_function("stored", 0x2280, 0);
	dwarf_expression(&dwarf, DW_AT_frame_base, base_pointer, sizeof(base_pointer));
	parameter("number", type_int, frame, sizeof(frame));
	parameter("thing", opaque, frame, sizeof(frame));
	(void)dwarf_entry(&dwarf, DW_TAG_variable, false);
	dwarf_text(&dwarf, DW_AT_name, "local");
	dwarf_reference(&dwarf, DW_AT_type, type_int);
	dwarf_expression(&dwarf, DW_AT_location, frame, sizeof(frame));
	dwarf_end_children(&dwarf);
}

static const char *producer = "GNU C++17 12";

static void begin(void)
{
	uint32_t pot;

	dwarf_begin_unit(&dwarf, DW_LANG_C_plus_plus_14, producer);
	address(DW_AT_low_pc, 0x2000);
	dwarf_number(&dwarf, DW_AT_high_pc, 0x1000);
	write_plain();
	write_libraries();
	write_letters();
	write_structures();
	write_members();
	write_strange_libraries();
	pot = structure("Pot", 16, "depth", type_int, "lid", pointer(type_pair), 8);
	(void)dwarf_entry(&dwarf, DW_TAG_namespace, true);
	dwarf_text(&dwarf, DW_AT_name, "stew");
	at_address("salt", type_int, 0x300);
	(void)dwarf_entry(&dwarf, DW_TAG_namespace, true);
	dwarf_text(&dwarf, DW_AT_name, "Pot");
	at_address("pepper", type_int, 0x308);
	dwarf_end_children(&dwarf);
	dwarf_end_children(&dwarf);
	(void)begin_function("cook", 0x2000, pointer(type_pair));
	in_register(DW_TAG_formal_parameter, "this", pointer(pot), 5);
	in_register(DW_TAG_formal_parameter, "n", type_int, 4);
	in_register(DW_TAG_formal_parameter, "p", pointer(type_node), 1);
	in_register(DW_TAG_variable, "wide", type_long, 2);
	(void)dwarf_entry(&dwarf, DW_TAG_variable, false);
	dwarf_text(&dwarf, DW_AT_name, "typeless");
	(void)dwarf_entry(&dwarf, DW_TAG_lexical_block, true);
	address(DW_AT_low_pc, 0x2000);
	dwarf_number(&dwarf, DW_AT_high_pc, 0x10);
	in_register(DW_TAG_variable, "inside", type_short, 8);
	in_register(DW_TAG_variable, "n", type_short, 9);
	dwarf_end_children(&dwarf);
	dwarf_end_children(&dwarf);
	(void)begin_function("nothing", 0x2040, 0);
	dwarf_end_children(&dwarf);
	(void)begin_function("pair", 0x2080, type_pair);
	dwarf_end_children(&dwarf);
	(void)begin_function("share", 0x20c0, type_float);
	dwarf_end_children(&dwarf);
	(void)begin_function("precise", 0x2100, base("long double", DW_ATE_float, 16));
	dwarf_end_children(&dwarf);
	(void)begin_function("complex", 0x2140, base("complex double", DW_ATE_complex_float, 16));
	dwarf_end_children(&dwarf);
	write_passed();
	dwarf_open(&dwarf);
	debug.dwarf = dwarf.handle;
	module.debug = &debug;
}

static void end(void)
{
	scope_index_free(debug.scopes);
	debug.scopes = NULL;
	dwarf_close(&dwarf);
}

/* ---- finding values ---- */

static void show_value(const struct value *value)
{
	sprintf(shown + strlen(shown), "%s%.200s %u/%u/%u%s%s:", *shown ? "; " : "", value->name,
			value->type, value->size, value->limit, value->guarded ? "?" : "",
			value->enumeration.addr ? " enumeration" : "");
	for (uint32_t i = 0; i < value->fetch.nr_ops; i++)
		sprintf(shown + strlen(shown), " %u:%u:%u:%lld", value->fetch.ops[i].code,
				value->fetch.ops[i].reg, value->fetch.ops[i].size,
				(long long)value->fetch.ops[i].value);
}

static void find(const char *text, bool exit, size_t capacity)
{
	static struct value values[PROBE_TABLE_FIELDS_MAX];
	struct error error = {.text = ""};
	bool left_out = true;
	size_t count = 0;
	int ret = variable_values(
			&location, text, exit, values, capacity, &count, &left_out, &error);

	*shown = '\0';
	if (ret) {
		(void)snprintf(shown, sizeof(shown), "%d %s | %s", ret, error.text, error.hint);
		return;
	}
	for (size_t i = 0; i < count; i++)
		show_value(&values[i]);
	if (left_out)
		strcat(shown, " ...");
}

struct expected {
	const char *text, *wanted;
};

static unsigned int differing;

static void compare(const char *text, const char *wanted)
{
	if (!strcmp(shown, wanted))
		return;
	print_message("\t\t{\"%s\", \"%s\"},\n", text, shown);
	differing++;
}

static void find_all(const struct expected *all, size_t count, bool exit)
{
	differing = 0;
	begin();
	for (size_t i = 0; i < count; i++) {
		find(all[i].text, exit, 40);
		compare(all[i].text, all[i].wanted);
	}
	end();
	assert_int_equal(differing, 0);
}

#define FIND_ALL(all, exit) find_all(all, LENGTH(all), exit)

#define WRITE \
	" | write a variable, with ->member, .member, [number], * and & as in C; `string(p, n)` and `bytes(p, n)` have a length, `*p@n` is an array"
#define NO_CALL \
	" | a probe does not call functions; `size()`, `length()`, `data()`, `get()` and `has_value()` of standard libraries are supported"
#define WRITE_ADDRESS " | write it as TYPE:NAME:ADDR, as in `s32:n:%eax`"

static const struct expected plain_values[] = {
		{"count", "count 2/4/0: 4:0:0:256 34:0:4:0"},
		{"size", "size 1/8/0: 4:0:0:264 34:0:8:0"},
		{"letter", "letter 2/1/0: 4:0:0:272 34:0:1:0"},
		{"byte", "byte 1/1/0: 4:0:0:273 34:0:1:0"},
		{"half", "half 2/2/0: 4:0:0:274 34:0:2:0"},
		{"share", "share 5/8/0: 4:0:0:280 34:0:8:0"},
		{"flag", "flag 4/1/0: 4:0:0:288 34:0:1:0"},
		{"paint", "paint 1/4/0 enumeration: 4:0:0:292 34:0:4:0"},
		{"label", "label 6/1/256: 4:0:0:296 34:0:8:0"},
		{"ints", "ints 3/8/0: 4:0:0:304 34:0:8:0"},
		{"anything", "anything 3/8/0: 4:0:0:312 34:0:8:0"},
		{"pair", "pair 9/2/0:; one 2/4/0: 4:0:0:320 34:0:4:0; other 6/1/256: 4:0:0:328 34:0:8:0"},
		{"first", "first 3/8/0: 4:0:0:336 34:0:8:0"},
		{"node", "node 9/7/0:; next 3/8/0: 4:0:0:352 34:0:8:0; list 2/4/3: 4:0:0:360; text 6/1/10: 4:0:0:372; inner 9/2/0:; one 2/4/0: 4:0:0:384 34:0:4:0; other 6/1/256: 4:0:0:392 34:0:8:0; end 6/1/256: 4:0:0:400"},
		{"bits.low", "bits_low 2/4/0: 4:0:0:448 34:0:4:0 37:0:5:0"},
		{"bits.high", "bits_high 1/8/0: 4:0:0:448 34:0:8:0 35:0:37:0 36:0:7:0"},
		{"bits", "bits 9/2/0:; low 2/4/0: 4:0:0:448 34:0:4:0 37:0:5:0; high 1/8/0: 4:0:0:448 34:0:8:0 35:0:37:0 36:0:7:0"},
		{"outer", "outer 9/6/0:; flag 4/1/0: 4:0:0:464 34:0:1:0; nested 9/4/0:; one 2/4/0: 4:0:0:472 34:0:4:0; other 6/1/256: 4:0:0:480 34:0:8:0; left 2/2/0: 4:0:0:488 34:0:2:0; right 2/4/0: 4:0:0:492 34:0:4:0"},
		{"outer.nested.one", "outer_nested_one 2/4/0: 4:0:0:472 34:0:4:0"},
		{"outer.nested.left", "outer_nested_left 2/2/0: 4:0:0:488 34:0:2:0"},
		{"outer.nested.right", "outer_nested_right 2/4/0: 4:0:0:492 34:0:4:0"},
		{"outer.nested.other", "outer_nested_other 6/1/256: 4:0:0:480 34:0:8:0"},
		{"rows", "rows 2/2/6: 4:0:0:512"},
		{"rows[1]", "rows_1 2/2/3: 4:0:0:518"},
		{"rows[1][2]", "rows_1_2 2/2/0: 4:0:0:522 34:0:2:0"},
		{"rows[0][3]", "rows_0_3 2/2/0: 4:0:0:518 34:0:2:0"},
		{"alias", "alias 2/4/0?: 4:0:0:528 34:0:8:0 34:0:4:0"},
		{"total", "total 2/4/0: 4:0:0:536 34:0:4:0"},
		{"hidden", "hidden 3/8/0: 4:0:0:544 34:0:8:0"},
		{"pairs", "pairs 7/1/64: 4:0:0:560"},
		{"pairs[3]", "pairs_3 9/2/0:; one 2/4/0: 4:0:0:608 34:0:4:0; other 6/1/256: 4:0:0:616 34:0:8:0"},
		{"pairs[3].one", "pairs_3_one 2/4/0: 4:0:0:608 34:0:4:0"},
		{"pairs[0x2].other", "pairs_0x2_other 6/1/256: 4:0:0:600 34:0:8:0"},
		{"first->next", "first_next 3/8/0?: 4:0:0:336 34:0:8:0 34:0:8:0"},
		{"first.next.next->inner.one",
				"first_next_next_inner_one 2/4/0?: 4:0:0:336 34:0:8:0 34:0:8:0 34:0:8:0 32:0:0:32 34:0:4:0"},
		{"first->list", "first_list 2/4/3?: 4:0:0:336 34:0:8:0 32:0:0:8"},
		{"first->list[2]", "first_list_2 2/4/0?: 4:0:0:336 34:0:8:0 32:0:0:16 34:0:4:0"},
		{"*first->list", "first_list 2/4/0?: 4:0:0:336 34:0:8:0 32:0:0:8 34:0:4:0"},
		{"first->text", "first_text 6/1/10?: 4:0:0:336 34:0:8:0 32:0:0:20"},
		{"first->end", "first_end 6/1/256?: 4:0:0:336 34:0:8:0 32:0:0:48"},
		{"*first", "first 9/7/0:; next 3/8/0?: 4:0:0:336 34:0:8:0 34:0:8:0; list 2/4/3?: 4:0:0:336 34:0:8:0 32:0:0:8; text 6/1/10?: 4:0:0:336 34:0:8:0 32:0:0:20; inner 9/2/0:; one 2/4/0?: 4:0:0:336 34:0:8:0 32:0:0:32 34:0:4:0; other 6/1/256?: 4:0:0:336 34:0:8:0 32:0:0:40 34:0:8:0; end 6/1/256?: 4:0:0:336 34:0:8:0 32:0:0:48"},
		{"(*first).inner.other",
				"first_inner_other 6/1/256?: 4:0:0:336 34:0:8:0 32:0:0:40 34:0:8:0"},
		{"&node", "node 3/8/0: 4:0:0:352"},
		{"&node.inner", "node_inner 3/8/0: 4:0:0:384"},
		{"*&node.inner.one", "node_inner_one 2/4/0: 4:0:0:384 34:0:4:0"},
		{"*label", "label 2/1/0?: 4:0:0:296 34:0:8:0 34:0:1:0"},
		{"label[3]", "label_3 2/1/0?: 4:0:0:296 34:0:8:0 32:0:0:3 34:0:1:0"},
		{"*ints", "ints 2/4/0?: 4:0:0:304 34:0:8:0 34:0:4:0"},
		{"ints[5]", "ints_5 2/4/0?: 4:0:0:304 34:0:8:0 32:0:0:20 34:0:4:0"},
		{"ints[0x1fffffff]",
				"ints_0x1fffffff 2/4/0?: 4:0:0:304 34:0:8:0 32:0:0:2147483644 34:0:4:0"},
		{"*ints@4", "ints 2/4/4: 4:0:0:304 34:0:8:0"},
		{"ints[1]@3", "ints_1 2/4/3: 4:0:0:304 34:0:8:0 32:0:0:4"},
		{"*ints@count", "ints 2/4/64: 4:0:0:256 34:0:4:0 37:0:32:0 40:0:0:0 4:0:0:304 34:0:8:0"},
		{"*label@size", "label 6/1/256: 4:0:0:264 34:0:8:0 40:0:0:0 4:0:0:296 34:0:8:0"},
		{"string(label)", "label 6/1/256: 4:0:0:296 34:0:8:0"},
		{"string(label, 7)", "label 6/1/7: 4:0:0:296 34:0:8:0"},
		{"string(label, count)",
				"label 6/1/256: 4:0:0:256 34:0:4:0 37:0:32:0 40:0:0:0 4:0:0:296 34:0:8:0"},
		{"string(label, size)",
				"label 6/1/256: 4:0:0:264 34:0:8:0 40:0:0:0 4:0:0:296 34:0:8:0"},
		{"string(node.text)", "node_text 6/1/10: 4:0:0:372"},
		{"string(node.text, 4)", "node_text 6/1/4: 4:0:0:372"},
		{"bytes(label, 9)", "label 7/1/9: 4:0:0:296 34:0:8:0"},
		{"bytes(pair)", "pair 7/1/16: 4:0:0:320"},
		{"bytes(ints, 300)", "ints 7/1/300: 4:0:0:304 34:0:8:0"},
		{"bytes(ints, half)",
				"ints 7/1/256: 4:0:0:274 34:0:2:0 37:0:16:0 40:0:0:0 4:0:0:304 34:0:8:0"},
		{"string(ints)", "ints 6/1/256: 4:0:0:304 34:0:8:0"},
		{"*table", "table 6/1/256?: 4:0:0:640 34:0:8:0 34:0:8:0"},
		{"table[2]", "table_2 6/1/256?: 4:0:0:640 34:0:8:0 32:0:0:16 34:0:8:0"},
		{"**table", "table 2/1/0?: 4:0:0:640 34:0:8:0 34:0:8:0 34:0:1:0"},
		{"*table@3", "table 3/8/3: 4:0:0:640 34:0:8:0"},
		{"x=count", "x 2/4/0: 4:0:0:256 34:0:4:0"},
		{"name = first->inner.one", "name 2/4/0?: 4:0:0:336 34:0:8:0 32:0:0:32 34:0:4:0"},
		{"r=*ints@2", "r 2/4/2: 4:0:0:304 34:0:8:0"},
		{"s=string(label,2)", "s 6/1/2: 4:0:0:296 34:0:8:0"},
		{"errno", "errno 2/4/0: 13:0:0:0 34:0:4:0"},
		{"e=errno", "e 2/4/0: 13:0:0:0 34:0:4:0"},
		{"stew::salt", "stew_salt 2/4/0: 4:0:0:768 34:0:4:0"},
		{"salt", "salt 2/4/0: 4:0:0:768 34:0:4:0"},
		{"stew::Pot::pepper", "stew_Pot_pepper 2/4/0: 4:0:0:776 34:0:4:0"},
		{"pepper", "pepper 2/4/0: 4:0:0:776 34:0:4:0"},
		{"depth", "depth 2/4/0?: 2:5:0:0 34:0:4:0"},
		{"lid->one", "lid_one 2/4/0?: 2:5:0:0 32:0:0:8 34:0:8:0 34:0:4:0"},
		{"this->depth", "this_depth 2/4/0?: 2:5:0:0 34:0:4:0"},
		{"n", "n 2/4/0: 2:4:0:0"},
		{"p->inner.one", "p_inner_one 2/4/0?: 2:1:0:0 32:0:0:32 34:0:4:0"},
		{"wide", "wide 1/8/0: 2:2:0:0"},
		{"inside", "inside 2/2/0: 2:8:0:0"},
		{"(count)", "count 2/4/0: 4:0:0:256 34:0:4:0"},
		{"((count))", "count 2/4/0: 4:0:0:256 34:0:4:0"},
};

static const struct expected refused[] = {
		{"*hidden", "-61 the debug information does not contain the members of `opaque` | compile with -fstandalone-debug, or install the debug symbols of the library that has it"},
		{"ints[2147483647]", "-34 the element is too far away | "},
		{"ints[0x20000000]", "-34 the element is too far away | "},
		{"*pairs@2", "-95 each of them is a pair, not a number | request one of them, as in `a[0]`, or their members"},
		{"bytes(first)",
				"-22 the number of bytes that the pointer leads to is unknown | write `bytes(p, 16)`, or `bytes(p, n)`"},
		{"bytes(count)", "-22 a number is not the address of bytes | "},
		{"string(count)", "-22 a number is not the address of a text | "},
		{"count==1", "-22 there is an unknown character in `count==1`, at ==1" WRITE},
		{"typeless", "-22 there is a variable without a type in `typeless`" WRITE},
		{"&n", "-22 a value in a register has no address | leave the `&` out"},
		{"&wide", "-22 a value in a register has no address | leave the `&` out"},
		{"*n", "-22 it is not a pointer | "},
		{"n->x", "-22 it is not a pointer | "},
		{"p->nothing", "-2 node has no member `nothing` | "},
		{"p->inne", "-2 node has no member `inne` | did you mean `inner`?"},
		{"coun", "-2 there is no variable `coun` in stew::Pot::cook(int) | did you mean `count`?"},
		{"zzzzzzzzz", "-2 there is no variable `zzzzzzzzz` in stew::Pot::cook(int) | "},
		{"*anything", "-22 a pointer to void has no type that could be recorded | "},
		{"&bits.low", "-22 a value in a register has no address | leave the `&` out"},
		{"&&node", "-22 a value in a register has no address | leave the `&` out"},
		{"*outer", "-22 it is not a pointer | "},
		{"pair[1]", "-22 it is not a pointer | "},
		{"count[0]", "-22 it is not a pointer | "},
		{"", "-22 a name is missing in ``" WRITE},
		{"*", "-22 a name is missing in `*`" WRITE},
		{"(", "-22 a name is missing in `(`" WRITE},
		{"(count", "-22 a parenthesis is missing in `(count`" WRITE},
		{"count)", "-22 there is an unknown character in `count)`, at )" WRITE},
		{"count+1", "-22 there is an unknown character in `count+1`, at +1" WRITE},
		{"p->", "-22 a name is missing in `p->`" WRITE},
		{"p.", "-22 a name is missing in `p.`" WRITE},
		{"p->list[", "-22 the index is not a number in `p->list[`" WRITE},
		{"p->list[]", "-22 the index is not a number in `p->list[]`, at ]" WRITE},
		{"p->list[1", "-22 the index is not a number in `p->list[1`, at 1" WRITE},
		{"p->list[x]", "-22 the index is not a number in `p->list[x]`, at x]" WRITE},
		{"p->list[n]", "-22 the index is not a number in `p->list[n]`, at n]" WRITE},
		{"rows[-1]", "-22 the index is not a number in `rows[-1]`, at -1]" WRITE},
		{"9", "-22 a name is missing in `9`, at 9" WRITE},
		{"string(label", "-22 a parenthesis is missing in `string(label`" WRITE},
		{"string(label,)", "-22 a name is missing in `string(label,)`, at )" WRITE},
		{"string(label,0)",
				"-22 the length is not a number in `string(label,0)`, at 0)" WRITE},
		{"string(label,5", "-22 a parenthesis is missing in `string(label,5`" WRITE},
		{"string(label 5)",
				"-2 there is no variable `label5` in stew::Pot::cook(int) | did you mean `label`?"},
		{"string()", "-22 a name is missing in `string()`, at )" WRITE},
		{"bytes(", "-22 a name is missing in `bytes(`" WRITE},
		{"*ints@", "-22 a name is missing in `*ints@`" WRITE},
		{"*ints@0", "-22 the length is not a number in `*ints@0`, at 0" WRITE},
		{"*ints@share", "-22 the length is not an integer in `*ints@share`" WRITE},
		{"*ints@label", "-22 the length is not an integer in `*ints@label`" WRITE},
		{"*ints@nowhere", "-2 there is no variable `nowhere` in stew::Pot::cook(int) | "},
		{"count@2@2", "-22 there is an unknown character in `count@2@2`, at @2" WRITE},
		{"p->1", "-2 node has no member `__1` | "},
		{"stew:salt", "-2 there is no variable `stew` in stew::Pot::cook(int) | "},
		{"p->get()", "-95 the result of `get()` is not known" NO_CALL},
		{"p->list()", "-95 the result of `list()` is not known" NO_CALL},
};

static const struct expected library_values[] = {
		{"v", "v 2/4/64: 4:0:0:4104 34:0:8:0 38:0:0:0 4:0:0:4096 34:0:8:0 39:0:2:0 38:0:0:0 1:0:0:4 39:0:4:0 40:0:0:0 4:0:0:4096 34:0:8:0"},
		{"v[2]", "v_2 2/4/0?: 4:0:0:4096 34:0:8:0 32:0:0:8 34:0:4:0"},
		{"*v", "v 2/4/0?: 4:0:0:4096 34:0:8:0 34:0:4:0"},
		{"v.size()", "v_size 1/8/0: 4:0:0:4104 34:0:8:0 38:0:0:0 4:0:0:4096 34:0:8:0 39:0:2:0 38:0:0:0 1:0:0:4 39:0:4:0"},
		{"v.data()", "v_data 3/8/0?: 4:0:0:4096 34:0:8:0"},
		{"v.begin()", "v_begin 3/8/0?: 4:0:0:4096 34:0:8:0"},
		{"s", "s 2/4/64: 4:0:0:4168 34:0:8:0 40:0:0:0 4:0:0:4160 34:0:8:0"},
		{"s[1]", "s_1 2/4/0?: 4:0:0:4160 34:0:8:0 32:0:0:4 34:0:4:0"},
		{"s.size()", "s_size 1/8/0: 4:0:0:4168 34:0:8:0"},
		{"s.length()", "s_length 1/8/0: 4:0:0:4168 34:0:8:0"},
		{"f", "f 2/4/7: 4:0:0:4224 34:0:8:0"},
		{"f.size()", "f_size 1/8/0: 1:0:0:7"},
		{"f[6]", "f_6 2/4/0?: 4:0:0:4224 34:0:8:0 32:0:0:24 34:0:4:0"},
		{"w", "w 6/1/256: 4:0:0:4288 34:0:8:0 40:0:0:0 4:0:0:4296 34:0:8:0"},
		{"w.size()", "w_size 1/8/0: 4:0:0:4288 34:0:8:0"},
		{"w.data()", "w_data 3/8/0?: 4:0:0:4296 34:0:8:0"},
		{"t", "t 6/1/256: 4:0:0:4352 34:0:8:0"},
		{"t.size()", "t_size 1/8/0: 4:0:0:4360 34:0:8:0"},
		{"t.length()", "t_length 1/8/0: 4:0:0:4360 34:0:8:0"},
		{"t.c_str()", "t_c_str 6/1/256: 4:0:0:4352 34:0:8:0"},
		{"t.has_value()", "t_has_value 1/8/0: 4:0:0:4360 34:0:8:0"},
		{"u", "u 3/8/0: 4:0:0:4416 34:0:8:0"},
		{"u->one", "u_one 2/4/0?: 4:0:0:4416 34:0:8:0 34:0:4:0"},
		{"*u", "u 9/2/0:; one 2/4/0?: 4:0:0:4416 34:0:8:0 34:0:4:0; other 6/1/256?: 4:0:0:4416 34:0:8:0 32:0:0:8 34:0:8:0"},
		{"u.get()", "u_get 3/8/0: 4:0:0:4416 34:0:8:0"},
		{"u->other", "u_other 6/1/256?: 4:0:0:4416 34:0:8:0 32:0:0:8 34:0:8:0"},
		{"h", "h 3/8/0: 4:0:0:4480 34:0:8:0"},
		{"h->one", "h_one 2/4/0?: 4:0:0:4480 34:0:8:0 34:0:4:0"},
		{"h.get()", "h_get 3/8/0: 4:0:0:4480 34:0:8:0"},
		{"o", "o 2/4/1: 4:0:0:4548 34:0:1:0 36:0:8:0 40:0:0:0 4:0:0:4544"},
		{"*o", "o 2/4/0: 4:0:0:4544 34:0:4:0"},
		{"o.has_value()", "o_has_value 1/8/0: 4:0:0:4548 34:0:1:0 36:0:8:0"},
		{"o.is_some()", "o_is_some 1/8/0: 4:0:0:4548 34:0:1:0 36:0:8:0"},
		{"e", "e 2/4/6: 4:0:0:4608"},
		{"e[5]", "e_5 2/4/0: 4:0:0:4628 34:0:4:0"},
		{"e.size()", "e_size 1/8/0: 1:0:0:6"},
		{"e.data()", "e_data 3/8/0: 4:0:0:4608"},
		{"sl", "sl 2/4/64: 4:0:0:4680 34:0:8:0 40:0:0:0 4:0:0:4672 34:0:8:0"},
		{"sl.len()", "sl_len 1/8/0: 4:0:0:4680 34:0:8:0"},
		{"sl[3]", "sl_3 2/4/0?: 4:0:0:4672 34:0:8:0 32:0:0:12 34:0:4:0"},
		{"sl.as_ptr()", "sl_as_ptr 3/8/0?: 4:0:0:4672 34:0:8:0"},
		{"st", "st 6/1/256: 4:0:0:4744 34:0:8:0 40:0:0:0 4:0:0:4736 34:0:8:0"},
		{"st.len()", "st_len 1/8/0: 4:0:0:4744 34:0:8:0"},
		{"ve", "ve 2/2/64: 4:0:0:4816 34:0:8:0 40:0:0:0 4:0:0:4800 34:0:8:0"},
		{"ve[4]", "ve_4 2/2/0?: 4:0:0:4800 34:0:8:0 32:0:0:8 34:0:2:0"},
		{"ve.len()", "ve_len 1/8/0: 4:0:0:4816 34:0:8:0"},
		{"rs", "rs 6/1/256: 4:0:0:4872 34:0:8:0 40:0:0:0 4:0:0:4880 34:0:8:0"},
		{"rs.len()", "rs_len 1/8/0: 4:0:0:4872 34:0:8:0"},
		{"gs", "gs 6/1/256: 4:0:0:4936 34:0:8:0 40:0:0:0 4:0:0:4928 34:0:8:0"},
		{"gs.len()", "gs_len 1/8/0: 4:0:0:4936 34:0:8:0"},
		{"gl", "gl 2/4/64: 4:0:0:5000 34:0:4:0 36:0:32:0 40:0:0:0 4:0:0:4992 34:0:8:0"},
		{"gl.len()", "gl_len 1/8/0: 4:0:0:5000 34:0:4:0 36:0:32:0"},
		{"gl[1]", "gl_1 2/4/0?: 4:0:0:4992 34:0:8:0 32:0:0:4 34:0:4:0"},
		{"rc->one", "rc_one 2/4/0?: 4:0:0:5056 34:0:8:0 32:0:0:8 34:0:4:0"},
		{"rc", "rc 3/8/0: 4:0:0:5056 34:0:8:0"},
		{"*rc", "rc 9/2/0:; one 2/4/0?: 4:0:0:5056 34:0:8:0 32:0:0:8 34:0:4:0; other 6/1/256?: 4:0:0:5056 34:0:8:0 32:0:0:16 34:0:8:0"},
		{"nn->other", "nn_other 6/1/256?: 4:0:0:5120 34:0:8:0 32:0:0:8 34:0:8:0"},
		{"nn.as_ptr()", "nn_as_ptr 3/8/0: 4:0:0:5120 34:0:8:0"},
		{"string(w)", "w 6/1/256: 4:0:0:4288 34:0:8:0 40:0:0:0 4:0:0:4296 34:0:8:0"},
		{"bytes(v)", "v 7/1/256: 4:0:0:4104 34:0:8:0 38:0:0:0 4:0:0:4096 34:0:8:0 39:0:2:0 38:0:0:0 1:0:0:4 39:0:4:0 38:0:0:0 1:0:0:4 39:0:3:0 40:0:0:0 4:0:0:4096 34:0:8:0"},
		{"bytes(v, 3)", "v 7/1/3: 4:0:0:4096 34:0:8:0"},
		{"string(t)", "t 6/1/256: 4:0:0:4352 34:0:8:0"},
		{"string(t, 3)", "t 6/1/3: 4:0:0:4352 34:0:8:0"},
		{"bytes(rs)", "rs 7/1/256: 4:0:0:4872 34:0:8:0 40:0:0:0 4:0:0:4880 34:0:8:0"},
		{"v@2", "-95 each of them is a vector<int>, not a number | request one of them, as in `a[0]`, or their members"},
		{"*v@2", "v 2/4/2: 4:0:0:4096 34:0:8:0"},
		{"v.nothing()", "-95 the result of `nothing()` is not known" NO_CALL},
		{"pair.size()", "-95 the result of `size()` is not known" NO_CALL},
		{"count.size()", "-95 the result of `size()` is not known" NO_CALL},
		{"s.at()", "-95 the result of `at()` is not known" NO_CALL},
		{"string(&t)", "t 6/1/256: 4:0:0:4352"},
		{"bytes(t)", "t 7/1/256: 4:0:0:4360 34:0:8:0 40:0:0:0 4:0:0:4352 34:0:8:0"},
		{"bytes(t, 3)", "t 7/1/3: 4:0:0:4352 34:0:8:0"},
		{"bytes(&t, 4)", "t 7/1/4: 4:0:0:4352"},
		{"string(&node.text)", "node_text 6/1/256: 4:0:0:372"},
		{"bytes(&pair, 4)", "pair 7/1/4: 4:0:0:320"},
		{"bytes(&pair)",
				"-22 the number of bytes that the pointer leads to is unknown | write `bytes(p, 16)`, or `bytes(p, n)`"},
		{"bytes(s)", "s 7/1/256: 4:0:0:4168 34:0:8:0 38:0:0:0 1:0:0:4 39:0:3:0 40:0:0:0 4:0:0:4160 34:0:8:0"},
		{"bytes(f)", "f 7/1/28: 4:0:0:4224 34:0:8:0"},
		{"bytes(e)", "e 7/1/24: 4:0:0:4608"},
		{"string(sl)", "sl 6/1/256: 4:0:0:4680 34:0:8:0 40:0:0:0 4:0:0:4672 34:0:8:0"},
		{"string(ve, 6)", "ve 6/1/6: 4:0:0:4800 34:0:8:0"},
		{"bytes(o)", "o 7/1/256: 4:0:0:4548 34:0:1:0 36:0:8:0 38:0:0:0 1:0:0:4 39:0:3:0 40:0:0:0 4:0:0:4544"},
		{"&v", "v 3/8/0: 4:0:0:4096"},
		{"&t", "t 3/8/0: 4:0:0:4352"},
		{"*t", "-22 it is not a pointer | "},
		{"t[1]", "-22 it is not a pointer | "},
		{"u[1]", "u_1 9/2/0:; one 2/4/0?: 4:0:0:4416 34:0:8:0 32:0:0:16 34:0:4:0; other 6/1/256?: 4:0:0:4416 34:0:8:0 32:0:0:24 34:0:8:0"},
		{"rc.value", "-2 pair has no member `value` | "},
		{"*o@1", "o 2/4/1: 4:0:0:4544"},
		{"string(dt)", "dt 6/1/256: 4:0:0:5184 34:0:8:0"},
		{"string(dt, 5)", "dt 6/1/5: 4:0:0:5184 34:0:8:0"},
		{"bytes(dt, 5)",
				"-2 the compiler has optimized a part of it out at this location | probe another location, or compile with -O0 or -Og"},
		{"dt", "dt 6/1/256: 4:0:0:5184 34:0:8:0"},
		{"a", "a 2/4/0: 4:0:0:5248 34:0:4:0"},
		{"ce", "ce 2/2/0: 4:0:0:5312 34:0:2:0"},
};

#define OTHER_LOCATION " | probe another location, or compile with -O0 or -Og"

/* Other types, and variables that are not in memory. */
static const struct expected forms[] = {
		{"l1", "l1 6/1/256: 4:0:0:16384 34:0:8:0"},
		{"l2", "l2 6/1/256: 4:0:0:16392 34:0:8:0"},
		{"l3", "l3 3/8/0: 4:0:0:16400 34:0:8:0"},
		{"l4", "l4 3/8/0: 4:0:0:16408 34:0:8:0"},
		{"l5", "l5 3/8/0: 4:0:0:16416 34:0:8:0"},
		{"*l5@2", "l5 6/1/2: 4:0:0:16416 34:0:8:0"},
		{"*l4@2", "l4 1/1/2: 4:0:0:16408 34:0:8:0"},
		{"a1", "a1 3/8/2: 4:0:0:16424"},
		{"a2", "a2 1/1/2: 4:0:0:16440"},
		{"e1", "e1 2/4/0 enumeration: 4:0:0:16448 34:0:4:0"},
		{"e2", "e2 1/8/0 enumeration: 4:0:0:16456 34:0:8:0"},
		{"*wides", "wides 5/8/0?: 4:0:0:16464 34:0:8:0 41:0:0:0"},
		{"*wides@2", "-95 each of them is a long double, not a number | request one of them, as in `a[0]`, or their members"},
		{"huge", "huge 6/1/4096: 4:0:0:16472"},
		{"hugeints", "hugeints 2/4/1024: 4:0:0:24576"},
		{"endless", "endless 1/8/512: 4:0:0:32768"},
		{"endless[1]", "-22 the size of the elements is unknown | "},
		{"endless[0][1]", "-22 the size of the elements is unknown | "},
		{"from5", "from5 2/4/4: 4:0:0:33024"},
		{"from5[5]", "from5_5 2/4/0: 4:0:0:33024 34:0:4:0"},
		{"from5[8]", "from5_8 2/4/0: 4:0:0:33036 34:0:4:0"},
		{"from5[0]", "from5_0 2/4/0: 4:0:0:33004 34:0:4:0"},
		{"either", "either 9/2/0:; whole 1/8/0: 4:0:0:33280 34:0:8:0; half 2/4/0: 4:0:0:33280 34:0:4:0"},
		{"either.whole", "either_whole 1/8/0: 4:0:0:33280 34:0:8:0"},
		{"either.half", "either_half 2/4/0: 4:0:0:33280 34:0:4:0"},
		{"borrow", "borrow 2/4/0?: 4:0:0:33288 34:0:8:0 34:0:4:0"},
		{"*borrow", "borrow 2/4/0?: 4:0:0:33288 34:0:8:0 34:0:4:0"},
		{"**borrow", "-22 it is not a pointer | "},
		{"borrows", "borrows 2/4/3?: 4:0:0:33296 34:0:8:0"},
		{"borrows[1]", "borrows_1 2/4/0?: 4:0:0:33296 34:0:8:0 32:0:0:4 34:0:4:0"},
		{"*borrows", "borrows 2/4/0?: 4:0:0:33296 34:0:8:0 34:0:4:0"},
		{"moved", "moved 2/2/0?: 4:0:0:33304 34:0:8:0 34:0:2:0"},
		{"*ints@100000", "ints 2/4/1024: 4:0:0:304 34:0:8:0"},
		{"string(label, 5000)", "label 6/1/4096: 4:0:0:296 34:0:8:0"},
		{"string(label,4096)", "label 6/1/4096: 4:0:0:296 34:0:8:0"},
		{"n@2", "-95 they are in registers, which a field cannot hold | request single ones, as in `a[0]`"},
		{"*l3@2", "l3 1/4/2: 4:0:0:16400 34:0:8:0"},
		{"derived", "derived 9/6/0:; one 9/2/0:; one 2/4/0: 4:0:0:36864 34:0:4:0; other 6/1/256: 4:0:0:36872 34:0:8:0; one_2 2/4/0: 4:0:0:36880 34:0:4:0; other 6/1/256: 4:0:0:36888 34:0:8:0; one_3 2/2/0: 4:0:0:36896 34:0:2:0"},
		{"derived.one", "derived_one 9/2/0:; one 2/4/0: 4:0:0:36864 34:0:4:0; other 6/1/256: 4:0:0:36872 34:0:8:0"},
		{"derived.other", "derived_other 6/1/256: 4:0:0:36888 34:0:8:0"},
		{"split", "split 9/2/0:; a 2/4/0: 2:1:0:0; text 6/1/12: 2:7:0:0 32:0:0:16"},
		{"split.text", "split_text 6/1/12: 2:7:0:0 32:0:0:16"},
		{"split.a", "split_a 2/4/0: 2:1:0:0"},
		{"split.text[2]", "split_text_2 2/1/0: 2:7:0:0 32:0:0:18 34:0:1:0"},
		{"cut.text", "-95 it is text in registers, which a field cannot hold | request its elements, as in `a[0]`"},
		{"cut.text[11]", "cut_text_11 2/1/0: 2:6:0:0 32:0:0:16 34:0:1:0"},
		{"bytes(split)",
				"-95 they are in registers, which a field cannot hold | request single ones, as in `a[0]`"},
		{"parts", "parts 9/4/0:; v 2/4/0: 2:1:0:0; w 2/4/0: 2:2:0:0; x 2/4/0: 2:3:0:0; z 2/4/0: 2:5:0:0 ..."},
		{"parts.y", "-2 the compiler has optimized this part of it out at this location" OTHER_LOCATION},
		{"parts.z", "parts_z 2/4/0: 2:5:0:0"},
		{"bytes(parts)",
				"-95 they are in registers, which a field cannot hold | request single ones, as in `a[0]`"},
		{"parts@2", "-95 they are in registers, which a field cannot hold | request single ones, as in `a[0]`"},
		{"xmm", "xmm 9/2/0:; a 5/8/0: 3:0:0:0; b 5/8/0: 3:0:0:8"},
		{"xmm.a", "xmm_a 5/8/0: 3:0:0:0"},
		{"xmm.b", "xmm_b 5/8/0: 3:0:0:8"},
		{"at1", "at1 1/8/0: 4:0:0:37120 34:0:8:0"},
		{"at2", "at2 9/3/0:; _M_i 9/2/0:; one 2/4/0: 4:0:0:37128 34:0:4:0; other 6/1/256: 4:0:0:37136 34:0:8:0"},
		{"at3", "at3 9/2/0:; a 2/4/0: 4:0:0:37144 34:0:4:0; b 2/4/0: 4:0:0:37148 34:0:4:0"},
		{"at4", "at4 9/1/0:; a 2/4/0: 4:0:0:37152 34:0:4:0"},
		{"at5", "at5 9/1/0:; a 2/4/0: 4:0:0:37160 34:0:4:0 37:0:5:0"},
		{"plain", "plain 9/1/0:; a 2/4/0: 4:0:0:37168 34:0:4:0"},
		{"newtype", "newtype 2/4/0: 4:0:0:37176 34:0:4:0"},
		{"cells7", "cells7 2/4/0: 4:0:0:37208 34:0:4:0"},
		{"cells8", "cells8 9/1/0:; value 2/4/0: 4:0:0:37212 34:0:4:0"},
		{"option", "option 1/4/0 enumeration: 4:0:0:37252 34:0:4:0"},
		{"option.which", "option_which 2/4/0: 4:0:0:37252 34:0:4:0"},
		{"option.Some", "option_Some 2/4/0: 4:0:0:37248 34:0:4:0"},
		{"unknown", "unknown 9/1/0:; which 2/4/0: 4:0:0:37260 34:0:4:0"},
		{"v2", "v2 2/2/64: 4:0:0:40968 34:0:8:0 38:0:0:0 4:0:0:40960 34:0:8:0 39:0:2:0 38:0:0:0 1:0:0:2 39:0:4:0 40:0:0:0 4:0:0:40960 34:0:8:0"},
		{"v2.size()", "v2_size 1/8/0: 4:0:0:40968 34:0:8:0 38:0:0:0 4:0:0:40960 34:0:8:0 39:0:2:0 38:0:0:0 1:0:0:2 39:0:4:0"},
		{"v1", "v1 6/1/256: 4:0:0:41000 34:0:8:0 38:0:0:0 4:0:0:40992 34:0:8:0 39:0:2:0 40:0:0:0 4:0:0:40992 34:0:8:0"},
		{"v1.size()", "v1_size 1/8/0: 4:0:0:41000 34:0:8:0 38:0:0:0 4:0:0:40992 34:0:8:0 39:0:2:0"},
		{"v1.data()", "v1_data 3/8/0?: 4:0:0:40992 34:0:8:0"},
		{"v0", "v0 9/3/0:; _M_impl 9/2/0:; _M_start 3/8/0: 4:0:0:41024 34:0:8:0; _M_finish 1/8/0: 4:0:0:41032 34:0:8:0"},
		{"v0.size()", "-95 the result of `size()` is not known" NO_CALL},
		{"s1", "s1 2/4/64: 4:0:0:41064 34:0:8:0 40:0:0:0 4:0:0:41056 34:0:8:0"},
		{"s2", "s2 2/4/64: 4:0:0:41096 34:0:8:0 40:0:0:0 4:0:0:41088 34:0:8:0"},
		{"s3", "s3 2/4/64: 4:0:0:41128 34:0:8:0 40:0:0:0 4:0:0:41120 34:0:8:0"},
		{"s4", "s4 9/2/0:; data_ptr 3/8/0: 4:0:0:41152 34:0:8:0; length 1/8/0: 4:0:0:41160 34:0:8:0"},
		{"s4.len()", "-95 the result of `len()` is not known" NO_CALL},
		{"t1", "t1 6/1/256: 4:0:0:41192 34:0:8:0 40:0:0:0 4:0:0:41184 34:0:8:0"},
		{"t2", "t2 6/1/256: 4:0:0:41224 34:0:8:0 40:0:0:0 4:0:0:41216 34:0:8:0"},
		{"t3", "t3 6/1/256: 4:0:0:41256 34:0:8:0 40:0:0:0 4:0:0:41248 34:0:8:0"},
		{"t4", "t4 1/1/64: 4:0:0:41288 34:0:8:0 40:0:0:0 4:0:0:41280 34:0:8:0"},
		{"noextent", "noextent 3/8/0: 4:0:0:41312 34:0:8:0"},
		{"noextent.size()", "-95 the result of `size()` is not known" NO_CALL},
		{"nospan", "nospan 9/1/0:; _M_array 3/8/0: 4:0:0:41320 34:0:8:0"},
		{"noptr", "noptr 9/2/0:; _M_str 1/8/0: 4:0:0:41328 34:0:8:0; _M_len 1/8/0: 4:0:0:41336 34:0:8:0"},
		{"noptr.size()", "-95 the result of `size()` is not known" NO_CALL},
		{"flipped", "flipped 6/1/256: 4:0:0:41352 34:0:8:0"},
		{"flipped.c_str()", "flipped_c_str 6/1/256: 4:0:0:41352 34:0:8:0"},
		{"flipped.size()", "flipped_size 1/8/0: 4:0:0:41344 34:0:8:0"},
		{"flipped.data()", "flipped_data 6/1/256: 4:0:0:41352 34:0:8:0"},
		{"bytes(flipped)",
				"flipped 7/1/256: 4:0:0:41344 34:0:8:0 40:0:0:0 4:0:0:41352 34:0:8:0"},
		{"el0", "el0 7/1/1: 4:0:0:41376"},
		{"el2", "el2 9/1/0:; _M_elems 2/4/6: 4:0:0:41392"},
		{"el2[1]", "-22 it is not a pointer | "},
		{"lost", "-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"lost.size()", "-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"lost[1]", "-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"bytes(lost)", "-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"string(lost)",
				"-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"lost@2", "-95 they are in registers, which a field cannot hold | request single ones, as in `a[0]`"},
		{"*lost", "-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"inregs", "inregs 6/1/256: 2:3:0:0 40:0:0:0 2:4:0:0"},
		{"inregs.size()", "inregs_size 1/8/0: 2:3:0:0"},
		{"inregs[2]", "inregs_2 2/1/0?: 2:4:0:0 32:0:0:2 34:0:1:0"},
		{"inregs.data()", "inregs_data 3/8/0?: 2:4:0:0"},
		{"pad", "pad 9/2/0:; pad 1/8/0: 2:6:0:0; view 6/1/256: 2:3:0:0 40:0:0:0 2:4:0:0"},
		{"pad.view", "pad_view 6/1/256: 2:3:0:0 40:0:0:0 2:4:0:0"},
		{"pad.view.size()", "pad_view_size 1/8/0: 2:3:0:0"},
		{"pad.view.data()", "pad_view_data 3/8/0?: 2:4:0:0"},
		{"pad.pad", "pad_pad 1/8/0: 2:6:0:0"},
		{"lostring", "-95 it is a structure in registers, which a field cannot hold | request its members: `_M_dataplus`, `_M_string_length`"},
		{"string(lostring, 3)",
				"-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"bytes(lostring)",
				"-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"string", "string 6/1/256: 2:3:0:0"},
		{"string(string, 3)", "string 6/1/3: 2:3:0:0"},
		{"string.size()", "string_size 1/8/0: 2:2:0:0"},
		{"string.c_str()", "string_c_str 6/1/256: 2:3:0:0"},
		{"string(string)", "string 6/1/256: 2:3:0:0"},
		{"declared", "-61 the debug information does not contain the members of `basic_string<char, other>` | compile with -fstandalone-debug, or install the debug symbols of the library that has it"},
		{"string(declared, 2)",
				"-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"bytes(declared)",
				"-2 the compiler has optimized a part of it out at this location" OTHER_LOCATION},
		{"bytes(*hidden)",
				"-22 the number of bytes that the pointer leads to is unknown | write `bytes(p, 16)`, or `bytes(p, n)`"},
		{"string(*hidden)", "hidden 6/1/256: 4:0:0:544 34:0:8:0"},
		{"hidden->x", "-2 opaque has no member `x` | "},
		{"outer.shared", "-2 outer has no member `shared` | "},
};

static const struct expected members[] = {
		{"fields", "fields 9/5/0:; later 2/4/0: 4:0:0:49160 34:0:4:0 35:0:5:0 37:0:6:0; old 2/4/0: 4:0:0:49160 34:0:4:0 35:0:5:0 37:0:7:0; older 1/8/0: 4:0:0:49152 34:0:8:0 36:0:64:0; none 2/4/0: 4:0:0:49156 34:0:4:0; first 2/4/0: 4:0:0:49164 34:0:4:0 37:0:9:0"},
		{"fields.later", "fields_later 2/4/0: 4:0:0:49160 34:0:4:0 35:0:5:0 37:0:6:0"},
		{"fields.old", "fields_old 2/4/0: 4:0:0:49160 34:0:4:0 35:0:5:0 37:0:7:0"},
		{"fields.older", "fields_older 1/8/0: 4:0:0:49152 34:0:8:0 36:0:64:0"},
		{"fields.none", "fields_none 2/4/0: 4:0:0:49156 34:0:4:0"},
		{"fields.first", "fields_first 2/4/0: 4:0:0:49164 34:0:4:0 37:0:9:0"},
		{"far.near", "far_near 2/1/0: 4:0:0:2147483663 34:0:1:0"},
		{"far.beyond", "-22 the member `beyond` is too far away | "},
		{"far.untyped", "-22 the member `untyped` has no type | "},
		{"far.constant", "-2 far has no member `constant` | "},
		{"fars->near", "fars_near 2/1/0?: 4:0:0:49216 34:0:8:0 32:0:0:2147483647 34:0:1:0"},
		{"far", "far 9/1/0:; near 2/1/0: 4:0:0:2147483663 34:0:1:0 ..."},
		{"whole->b", "whole_b 2/4/0?: 4:0:0:49224 34:0:8:0 32:0:0:4 34:0:4:0"},
		{"*whole", "whole 9/2/0:; a 2/2/0?: 4:0:0:49224 34:0:8:0 34:0:2:0; b 2/4/0?: 4:0:0:49224 34:0:8:0 32:0:0:4 34:0:4:0"},
		{"whole.a", "whole_a 2/2/0?: 4:0:0:49224 34:0:8:0 34:0:2:0"},
		{"holder", "holder 9/4/0:; a 2/4/0: 4:0:0:49232 34:0:4:0; inner 9/2/0:; a 2/2/0: 4:0:0:49240 34:0:2:0; b 2/4/0: 4:0:0:49244 34:0:4:0"},
		{"holder.inner",
				"holder_inner 9/2/0:; a 2/2/0: 4:0:0:49240 34:0:2:0; b 2/4/0: 4:0:0:49244 34:0:4:0"},
		{"holder.inner.b", "holder_inner_b 2/4/0: 4:0:0:49244 34:0:4:0"},
		{"dts", "-22 its size is unknown | "},
		{"dts[2]", "dts_2 6/1/256: 4:0:0:5440 34:0:8:0"},
		{"dts[3]", "dts_3 6/1/256: 4:0:0:5472 34:0:8:0"},
		{"&holder.inner.b", "holder_inner_b 3/8/0: 4:0:0:49244"},
		{"*&holder", "holder 9/4/0:; a 2/4/0: 4:0:0:49232 34:0:4:0; inner 9/2/0:; a 2/2/0: 4:0:0:49240 34:0:2:0; b 2/4/0: 4:0:0:49244 34:0:4:0"},
		{"holder->a", "-22 it is not a pointer | "},
		{"derived.shared", "-2 derived has no member `shared` | "},
		{"derived.share", "-2 derived has no member `share` | "},
		{"at1.always_lock_free", "-2 atomic<long> has no member `always_lock_free` | "},
};

static const struct expected results[] = {
		{"return", "return 3/8/0: 2:0:0:0"},
		{"return->one", "return_one 2/4/0?: 2:0:0:0 34:0:4:0"},
		{"return->other", "return_other 6/1/256?: 2:0:0:0 32:0:0:8 34:0:8:0"},
		{"*return", "return 9/2/0:; one 2/4/0?: 2:0:0:0 34:0:4:0; other 6/1/256?: 2:0:0:0 32:0:0:8 34:0:8:0"},
		{"n", "-22 cannot record `n` at the return: it no longer exists when _ZN4stew3Pot4cookEi has returned | the returned value is called `return`, as in `return->name`; `--arg` is for variables at the entry"},
		{"r=return", "r 3/8/0: 2:0:0:0"},
		{"errno", "errno 2/4/0: 13:0:0:0 34:0:4:0"},
};

static const struct expected in_block[] = {
		{"inside", "inside 2/2/0: 2:8:0:0"},
		{"n", "n 2/2/0: 2:9:0:0"},
		{"p->inner.one", "p_inner_one 2/4/0?: 2:1:0:0 32:0:0:32 34:0:4:0"},
		{"stew::salt", "stew_salt 2/4/0: 4:0:0:768 34:0:4:0"},
		{"depth", "depth 2/4/0?: 2:5:0:0 34:0:4:0"},
		{"p", "p 3/8/0: 2:1:0:0"},
};

static const struct expected in_no_function[] = {
		{"count", "-61 there is no debug information for the code at this location of kitchen | write it as TYPE:NAME:ADDR, as in `s32:n:%edi`"},
		{"n", "-61 there is no debug information for the code at this location of kitchen | write it as TYPE:NAME:ADDR, as in `s32:n:%edi`"},
};

static const struct expected in_function_without_name[] = {
		{"count", "count 2/4/0: 4:0:0:256 34:0:4:0"},
		{"n", "-2 there is no variable `n` in that code | "},
};

static const struct expected nothing_returned[] = {
		{"return", "-22 that function returns nothing | leave it out"},
		{"return->one", "-22 that function returns nothing | leave it out"},
		{"return->other", "-22 that function returns nothing | leave it out"},
		{"n", "-22 cannot record `n` at the return: it no longer exists when that function has returned | the returned value is called `return`, as in `return->name`; `--arg` is for variables at the entry"},
		{"r=return", "-22 that function returns nothing | leave it out"},
};

static const struct expected in_no_unit[] = {
		{"count", "-61 there is no debug information for the code at this location of kitchen | write it as TYPE:NAME:ADDR, as in `s32:n:%edi`"},
		{"n", "-61 there is no debug information for the code at this location of kitchen | write it as TYPE:NAME:ADDR, as in `s32:n:%edi`"},
};

static const struct expected unknown_results[] = {
		{"return", "-61 there is no debug information for that function of kitchen" WRITE_ADDRESS},
		{"return->one", "-61 there is no debug information for that function of kitchen" WRITE_ADDRESS},
		{"n", "-22 cannot record `n` at the return: it no longer exists when that function has returned | the returned value is called `return`, as in `return->name`; `--arg` is for variables at the entry"},
		{"r=return", "-61 there is no debug information for that function of kitchen" WRITE_ADDRESS},
};

#define NO_MEMORY "-12 cannot read the debug information of kitchen: out of memory | "

static const struct expected passed_by_gcc[] = {
		{"unused", "unused 2/4/0: 2:5:0:0"},
		{"invalid", "invalid 1/8/0: 2:4:0:0"},
		{"both", "both 2/16/0: 2:1:0:0 38:0:0:0 2:2:0:0 44:0:0:0"},
		{"half", "half 9/2/0:; x 2/4/0: 2:8:0:0; y 2/4/0: 2:8:0:0 35:0:32:0"},
		{"half.x", "half_x 2/4/0: 2:8:0:0"},
		{"half.y", "half_y 2/4/0: 2:8:0:0 35:0:32:0"},
		{"apart", "apart 9/2/0:; x 2/4/0: 2:9:0:0; y 2/4/0: 2:9:0:0 35:0:32:0"},
		{"apart.x", "apart_x 2/4/0: 2:9:0:0"},
		{"apart.y", "apart_y 2/4/0: 2:9:0:0 35:0:32:0"},
		{"last", "last 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"last.one", "last_one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0"},
		{"last.other", "last_other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"behind", "behind 9/4/0:; a 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:24 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:32 34:0:8:0; b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"behind.b", "behind_b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"full", "full 9/2/0:; x 2/4/0: 2:10:0:0; y 2/4/0: 2:11:0:0"},
};

static const struct expected argument[] = {
		{"unused", "-2 the compiler has optimized `unused` out at this location" OTHER_LOCATION},
		{"invalid", "invalid 1/8/0: 2:4:0:0"},
		{"both", "-2 the compiler has optimized this part of it out at this location" OTHER_LOCATION},
		{"half", "half 9/2/0:; x 2/4/0: 2:8:0:0; y 2/4/0: 2:8:0:0 35:0:32:0"},
		{"half.x", "half_x 2/4/0: 2:8:0:0"},
		{"half.y", "half_y 2/4/0: 2:8:0:0 35:0:32:0"},
		{"apart", "apart 9/2/0:; x 2/4/0: 2:9:0:0; y 2/4/0: 2:9:0:0 35:0:32:0"},
		{"apart.x", "apart_x 2/4/0: 2:9:0:0"},
		{"apart.y", "apart_y 2/4/0: 2:9:0:0 35:0:32:0"},
		{"last", "last 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"last.one", "last_one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0"},
		{"last.other", "last_other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"behind", "behind 9/4/0:; a 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:24 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:32 34:0:8:0; b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"behind.b", "behind_b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"full", "full 9/2/0:; x 2/4/0: 2:10:0:0; y 2/4/0: 2:11:0:0"},
};

static const struct expected passed_and_not_read[] = {
		{"unused", "-2 the compiler has optimized `unused` out at this location" OTHER_LOCATION},
		{"invalid", "-2 the compiler has optimized `invalid` out at this location" OTHER_LOCATION},
		{"both", "-2 the compiler has optimized this part of it out at this location" OTHER_LOCATION},
		{"half", "half 9/1/0:; x 2/4/0: 2:8:0:0 ..."},
		{"half.x", "half_x 2/4/0: 2:8:0:0"},
		{"half.y", "-2 the compiler has optimized this part of it out at this location" OTHER_LOCATION},
		{"apart", "-2 the compiler has optimized `apart` out at this location" OTHER_LOCATION},
		{"apart.x", "-2 the compiler has optimized `apart` out at this location" OTHER_LOCATION},
		{"apart.y", "-2 the compiler has optimized `apart` out at this location" OTHER_LOCATION},
		{"last", "last 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"last.one", "last_one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0"},
		{"last.other", "last_other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"behind", "behind 9/4/0:; a 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:24 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:32 34:0:8:0; b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"behind.b", "behind_b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"full", "full 9/2/0:; x 2/4/0: 2:10:0:0; y 2/4/0: 2:11:0:0"},
};

static const struct expected passed_in_part[] = {
		{"unused", "-2 the compiler has optimized `unused` out at this location" OTHER_LOCATION},
		{"invalid", "-2 the compiler has optimized `invalid` out at this location" OTHER_LOCATION},
		{"both", "-2 the compiler has optimized this part of it out at this location" OTHER_LOCATION},
		{"half", "half 9/1/0:; x 2/4/0: 2:8:0:0 ..."},
		{"half.x", "half_x 2/4/0: 2:8:0:0"},
		{"half.y", "-2 the compiler has optimized this part of it out at this location" OTHER_LOCATION},
		{"apart", "apart 9/2/0:; x 2/4/0: 2:9:0:0; y 2/4/0: 2:9:0:0 35:0:32:0"},
		{"apart.x", "apart_x 2/4/0: 2:9:0:0"},
		{"apart.y", "apart_y 2/4/0: 2:9:0:0 35:0:32:0"},
		{"last", "last 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"last.one", "last_one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0"},
		{"last.other", "last_other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"behind", "behind 9/4/0:; a 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:24 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:32 34:0:8:0; b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"behind.b", "behind_b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"full", "full 9/2/0:; x 2/4/0: 2:10:0:0; y 2/4/0: 2:11:0:0"},
};

static const struct expected passed_without_memory[] = {
		{"unused", "-2 the compiler has optimized `unused` out at this location" OTHER_LOCATION},
		{"invalid", NO_MEMORY},
		{"both", "-2 the compiler has optimized this part of it out at this location" OTHER_LOCATION},
		{"half", NO_MEMORY},
		{"half.x", NO_MEMORY},
		{"half.y", NO_MEMORY},
		{"apart", NO_MEMORY},
		{"apart.x", NO_MEMORY},
		{"apart.y", NO_MEMORY},
		{"last", "last 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"last.one", "last_one 2/4/0: 2:7:0:0 32:0:0:8 34:0:4:0"},
		{"last.other", "last_other 6/1/256: 2:7:0:0 32:0:0:16 34:0:8:0"},
		{"behind", "behind 9/4/0:; a 9/2/0:; one 2/4/0: 2:7:0:0 32:0:0:24 34:0:4:0; other 6/1/256: 2:7:0:0 32:0:0:32 34:0:8:0; b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"behind.b", "behind_b 1/8/0: 2:7:0:0 32:0:0:40 34:0:8:0"},
		{"full", "full 9/2/0:; x 2/4/0: 2:10:0:0; y 2/4/0: 2:11:0:0"},
};

static const struct expected after_the_beginning[] = {
		{"unused", "-2 the compiler has optimized `unused` out at this location" OTHER_LOCATION},
		{"invalid", "-2 the compiler has optimized `invalid` out at this location" OTHER_LOCATION},
		{"both", "-2 the compiler has optimized this part of it out at this location" OTHER_LOCATION},
		{"half", "half 9/1/0:; x 2/4/0: 2:8:0:0 ..."},
		{"half.x", "half_x 2/4/0: 2:8:0:0"},
		{"half.y", "-2 the compiler has optimized this part of it out at this location" OTHER_LOCATION},
		{"apart", "-2 the compiler has optimized `apart` out at this location" OTHER_LOCATION},
		{"apart.x", "-2 the compiler has optimized `apart` out at this location" OTHER_LOCATION},
		{"apart.y", "-2 the compiler has optimized `apart` out at this location" OTHER_LOCATION},
		{"last", "-2 the compiler has optimized `last` out at this location" OTHER_LOCATION},
		{"last.one", "-2 the compiler has optimized `last` out at this location" OTHER_LOCATION},
		{"last.other", "-2 the compiler has optimized `last` out at this location" OTHER_LOCATION},
		{"behind", "-2 the compiler has optimized `behind` out at this location" OTHER_LOCATION},
		{"behind.b", "-2 the compiler has optimized `behind` out at this location" OTHER_LOCATION},
		{"full", "full 9/2/0:; x 2/4/0: 2:10:0:0; y 2/4/0: 2:11:0:0"},
};

static const struct expected of_one_file[] = {
		{"invalid", "-2 the compiler has optimized `invalid` out at this location" OTHER_LOCATION},
};

static const struct expected stored_later[] = {
		{"number", "number 2/4/0: 2:5:0:0"},
		{"thing", "-95 it is unknown where callers pass `thing` | record it with `--probe FILE:LINE` inside the function, where it has been stored, or write it as TYPE:NAME:ADDR"},
		{"local", "local 2/4/0: 2:6:0:0 32:0:0:-20 34:0:4:0"},
};

static const struct expected stored[] = {
		{"number", "number 2/4/0: 2:6:0:0 32:0:0:-20 34:0:4:0"},
		{"thing", "-61 the debug information does not contain the members of `unknown` | compile with -fstandalone-debug, or install the debug symbols of the library that has it"},
		{"local", "local 2/4/0: 2:6:0:0 32:0:0:-20 34:0:4:0"},
};

static void test_values(void **unused)
{
	(void)unused;
	FIND_ALL(plain_values, false);
	FIND_ALL(library_values, false);
	FIND_ALL(forms, false);
	FIND_ALL(members, false);
	FIND_ALL(results, true);
}

static void test_refusals(void **unused)
{
	(void)unused;
	FIND_ALL(refused, false);
}

/* Locations after the start of a function, and functions and code without debug information. */
static void test_locations(void **unused)
{
	const struct location before = location;

	(void)unused;
	location.address = 0x2005;
	location.entry = false;
	FIND_ALL(in_block, false);
	location.address = 0x2190;
	FIND_ALL(in_no_function, false);
	location.name = "";
	FIND_ALL(unknown_results, true);
	location.address = 0x2045;
	FIND_ALL(in_function_without_name, false);
	FIND_ALL(nothing_returned, true);
	location.address = 0x4045;
	FIND_ALL(in_no_unit, false);
	FIND_ALL(unknown_results, true);
	location = before;
}

/*
 * Arguments by the calling convention, if callers set the register: compilers other than GCC omit
 * arguments that the function does not read.
 */
static void test_passed(void **unused)
{
	const struct location before = location;

	(void)unused;
	location.address = 0x2200;
	read_registers = 0;
	FIND_ALL(passed_by_gcc, false);
	producer = "clang version 14";
	FIND_ALL(passed_and_not_read, false);
	read_registers = 0x3ff;
	FIND_ALL(argument, false);
	read_registers = 1 << 2 | 1 << 9;
	FIND_ALL(passed_in_part, false);
	read_registers = -ENOMEM;
	FIND_ALL(passed_without_memory, false);
	read_registers = 0x3ff;
	location.entry = false;
	FIND_ALL(after_the_beginning, false);
	location.entry = true;
	location.address = 0x2240;
	FIND_ALL(of_one_file, false);
	producer = "GNU C++17 12";
	FIND_ALL(of_one_file, false);
	location.address = 0x2280;
	FIND_ALL(stored_later, false);
	location.address = 0x2285;
	location.entry = false;
	FIND_ALL(stored, false);
	location = before;
}

/* ---- limits ---- */

static void expect_text(const char *text, size_t capacity, const char *wanted)
{
	find(text, false, capacity);
	assert_string_equal(shown, wanted);
}

static void expect_start(const char *text, const char *wanted)
{
	find(text, false, 40);
	if (strncmp(shown, wanted, strlen(wanted)) != 0)
		fail_msg("%s instead of %s", shown, wanted);
}

static void test_limits(void **unused)
{
	char text[600], wanted[600];

	(void)unused;
	begin();
	/* Parentheses. */
	for (int i = 32; i <= 33; i++) {
		snprintf(text, sizeof(text), "%.*scount%.*s", i,
				"(((((((((((((((((((((((((((((((((", i,
				")))))))))))))))))))))))))))))))))");
		expect_start(text,
				i == 32 ? "count 2/4/0: " : "-22 there are too many parts in `(");
	}
	/* Letters of a name, and digits of a member. */
	for (int i = 255; i <= 256; i++) {
		memset(text, 'q', (size_t)i);
		text[i] = '\0';
		snprintf(wanted, sizeof(wanted),
				i == 255 ? "-2 there is no variable `%.128s` in "
					 : "-22 a name is missing in `%.128s`",
				text);
		expect_start(text, wanted);
	}
	expect_start("outer.1234", "-2 outer has no member `__1234`");
	expect_start("outer.12345", "-22 a name is missing in `outer.12345`, at 12345 |");
	/* Elements. */
	expect_start("label[2147483647]",
			"label_2147483647 2/1/0?: 4:0:0:296 34:0:8:0 32:0:0:2147483647 34:0:1:0");
	expect_start("label[2147483648]", "-22 the index is not a number in ");
	/* Members and their structure, with as much space as they need, with less, and as bytes. */
	expect_text("pair", 3,
			"pair 9/2/0:; one 2/4/0: 4:0:0:320 34:0:4:0; other 6/1/256: 4:0:0:328 34:0:8:0");
	expect_text("pair", 2, "pair 9/1/0:; one 2/4/0: 4:0:0:320 34:0:4:0 ...");
	expect_text("pair", 1, "pair 7/1/16: 4:0:0:320");
	end();
}

/* Without debug information. */
static void test_no_debug_information(void **unused)
{
	(void)unused;
	module.debug = NULL;
	find("count", false, 40);
	assert_string_equal(shown,
			"-61 there is no debug information for kitchen, so it is unknown where `count` is | compile it with -g or install its package of debug symbols; without, write it as TYPE:NAME:ADDR, as in `s32:n:%edi`");
	find("errno", false, 40);
	assert_string_equal(shown, "errno 2/4/0: 13:0:0:0 34:0:4:0");
}

/* ---- return values ---- */

static void expect_result(uint64_t at, int known, const char *wanted)
{
	struct value values[VARIABLE_RESULT_MAX] = {{.name = "result"}};
	const struct location of = {.module = &module, .address = at};
	struct error error = {.text = ""};
	bool nothing, left_out;

	assert_int_equal(variable_result(&of, values, &nothing, &left_out, &error), known);
	*shown = '\0';
	for (size_t i = 0;
			known && !nothing && i < (values[0].type == PROBE_FIELD_STRUCT ? 3u : 1u);
			i++)
		show_value(&values[i]);
	if (nothing)
		strcat(shown, left_out ? "left out" : "nothing");
	assert_string_equal(shown, wanted);
}

static void test_return_values(void **unused)
{
	(void)unused;
	begin();
	expect_result(0x2000, 1, "result 3/8/0: 2:0:0:0");
	expect_result(0x2040, 0, "nothing");
	expect_result(0x2080, 0, "");
	expect_result(0x20c0, 1, "result 5/8/0: 3:0:0:0");
	expect_result(0x2100, 1, "left out");
	expect_result(0x2140, 1, "result 9/2/0:; real 5/8/0: 3:0:0:0; imag 5/8/0: 3:1:0:0");
	expect_result(0x2180, 0, "");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_values),
			cmocka_unit_test(test_refusals),
			cmocka_unit_test(test_locations),
			cmocka_unit_test(test_passed),
			cmocka_unit_test(test_limits),
			cmocka_unit_test(test_no_debug_information),
			cmocka_unit_test(test_return_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
