/* SPDX-License-Identifier: MIT */
/*
 * EventHeader as exact bytes: names and types of fields, values, and records that are truncated at
 * their limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <side/trace.h>

#include "tracers/user-events/user-events.h"

/* ---- metadata as text ---- */

static char text[8192];

/*
 * Returns NAME:ENCODING/FORMAT of each field; for a structure the format is the number of its
 * members.
 */
static const char *shown(const struct user_event_bytes *bytes)
{
	size_t at = 0, used = 0;

	assert_true(bytes->size <= bytes->capacity);
	while (at < bytes->size) {
		size_t length = strnlen((const char *)bytes->at + at, bytes->size - at);

		assert_true(at + length + 2 < bytes->size);
		assert_true(bytes->at[at + length + 1] & 0x80);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%x/%u",
				used ? " " : "", bytes->at + at, bytes->at[at + length + 1] & 0x7f,
				bytes->at[at + length + 2]);
		at += length + 3;
	}
	assert_int_equal(at, bytes->size);
	return text;
}

/* The same, with a number for adjacent fields that are not structures. */
static const char *counted(const struct user_event_bytes *bytes)
{
	static char counts[400];
	size_t used = 0;
	unsigned int plain = 0;
	char *remainder, *word;

	(void)shown(bytes);
	*counts = '\0';
	for (word = strtok_r(text, " ", &remainder); word; word = strtok_r(NULL, " ", &remainder)) {
		if (!strstr(word, ":1/")) {
			plain++;
			continue;
		}
		if (plain)
			used += (size_t)snprintf(
					counts + used, sizeof(counts) - used, "%u ", plain);
		used += (size_t)snprintf(counts + used, sizeof(counts) - used, "%s ", word);
		plain = 0;
	}
	(void)snprintf(counts + used, sizeof(counts) - used, "%u", plain);
	return counts;
}

static unsigned char metadata_at[KERNEL_RECORD_MAX];

static struct user_event_bytes new_metadata(size_t capacity)
{
	memset(metadata_at, 0x55, sizeof(metadata_at));
	return (struct user_event_bytes){.at = metadata_at, .capacity = capacity};
}

static const char *field_shown(const struct side_event_description *desc, uint32_t i)
{
	const struct side_event_field *field = side_array_at(&desc->fields, i);
	struct user_event_bytes bytes = new_metadata(sizeof(metadata_at));

	metadata_field(&bytes, side_ptr_get(field->field_name), &field->side_type);
	return shown(&bytes);
}

static void check_fields(
		const struct side_event_description *desc, const char *const *expected, size_t nr)
{
	assert_int_equal(side_array_length(&desc->fields), nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_string_equal(field_shown(desc, i), expected[i]);
}

/* ---- scalars and texts ---- */

#define HEX side_attr_list(side_attr("std.integer.base", side_attr_u8(16)))
#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT

side_static_event(ev_scalars, "k", "scalars", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_null("n"), side_field_bool("b"), side_field_u8("u8"),
				side_field_u16("u;16;"), side_field_u32("u32"),
				side_field_u64("u64"), side_field_u128("u128"), side_field_s8("s8"),
				side_field_s16("s16"), side_field_s32("s32"), side_field_s64("s64"),
				side_field_s128("s128"), side_field_u16("xu", HEX),
				side_field_s64("xs", HEX), side_field_pointer("p"),
				side_field_float_binary16("h"), side_field_float_binary32("f"),
				side_field_float_binary64("d"), side_field_byte("y"),
				side_field_string("t8"), side_field_string16("t16"),
				side_field_string32("t32")));

static const char *const scalars[] = {"n:d/1", "b:2/7", "u8:2/1", "u,16,:3/1", "u32:4/1", "u64:5/1",
		"u128:6/9", "s8:2/2", "s16:3/2", "s32:4/2", "s64:5/2", "s128:6/9", "xu:3/3",
		"xs:5/3", "p:5/3", "h:4/8", "f:4/8", "d:5/8", "y:2/9", "t8:7/11", "t16:8/11",
		"t32:9/11"};

/* ---- compounds ---- */

static int no_elements(const struct side_tracer_visitor_ctx *ctx, void *app)
{
	(void)ctx;
	(void)app;
	return 0;
}

static side_define_struct(st_empty, side_field_list());
static side_define_struct(st_two, side_field_list(side_field_u8("a"), side_field_string("c")));
static side_define_array(ar_u16, side_elem(side_type_u16()), 3);
static side_define_array(ar_hex, side_elem(side_type_u16(HEX)), 3);
static side_define_array(ar_byte, side_elem(side_type_byte()), 3);
static side_define_array(ar_text, side_elem(side_type_string()), 2);
static side_define_array(ar_struct, side_elem(side_type_struct(st_two)), 2);
static side_define_array(ar_empty, side_elem(side_type_struct(st_empty)), 2);
static side_define_array(ar_array, side_elem(side_type_array(ar_u16)), 2);
static side_define_vla(vl_s8, side_elem(side_type_s8()), side_length(side_type_u8()));
side_define_static_vla_visitor(
		vv_s32, side_elem(side_type_s32()), side_length(side_type_u8()), no_elements, int);
static side_define_optional(op_u32, side_elem(side_type_u32()));
static side_define_optional(op_text, side_elem(side_type_string()));
static side_define_optional(op_struct, side_elem(side_type_struct(st_two)));
static side_define_optional(op_array, side_elem(side_type_array(ar_u16)));
static side_define_array(ar_op, side_elem(side_type_optional(op_u32)), 2);
static side_define_array(ar3, side_elem(side_type_u16()), 3);
static side_define_array(ar_ar3, side_elem(side_type_array(ar3)), 2);
static side_define_array(ar_op_text, side_elem(side_type_optional(op_text)), 2);
static side_define_enum(en, side_enum_mapping_list(side_enum_mapping_value("one", 1)));
static side_define_enum_bitmap(
		bm, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("0", 0)));
static side_define_struct(st_gather,
		side_field_list(side_field_gather_bool("b", 0, 2, 0, 0, DIRECT),
				side_field_gather_unsigned_integer("u", 0, 4, 0, 0, DIRECT),
				side_field_gather_signed_integer("s", 0, 2, 0, 0, DIRECT),
				side_field_gather_pointer("p", 0, DIRECT),
				side_field_gather_byte("y", 0, DIRECT),
				side_field_gather_float("f", 0, 8, DIRECT),
				side_field_gather_string("t", 0, DIRECT),
				side_field_gather_array("a",
						side_elem(side_type_gather_unsigned_integer(
								0, 2, 0, 0, DIRECT)),
						2, 2, DIRECT),
				side_field_gather_vla("v",
						side_elem(side_type_gather_signed_integer(
								0, 1, 0, 0, DIRECT)),
						24, DIRECT,
						side_length(side_type_gather_unsigned_integer(
								16, 1, 0, 0, DIRECT))),
				side_field_gather_enum("e", en,
						side_elem(side_type_gather_unsigned_integer(
								0, 8, 0, 0, DIRECT)))));

side_static_event(ev_compounds, "k", "compounds", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("none", st_empty),
				side_field_struct("two", st_two), side_field_array("u16", ar_u16),
				side_field_array("hex", ar_hex), side_field_array("byte", ar_byte),
				side_field_array("text", ar_text),
				side_field_array("struct", ar_struct),
				side_field_array("empty", ar_empty),
				side_field_array("array", ar_array), side_field_vla("vla", vl_s8),
				side_field_vla_visitor("visitor", vv_s32),
				side_field_optional("maybe", op_u32),
				side_field_optional("maybe_text", op_text),
				side_field_optional("maybe_struct", op_struct),
				side_field_optional("maybe_array", op_array),
				side_field_array("maybes", ar_op),
				side_field_array("maybe_texts", ar_op_text),
				side_field_enum("enum", &en, side_elem(side_type_s16())),
				side_field_enum_bitmap("bits", &bm, side_elem(side_type_u8())),
				side_field_enum_bitmap(
						"many", &bm, side_elem(side_type_array(ar_u16))),
				side_field_gather_struct("gather", st_gather, 0, 32, DIRECT)));

static const char *const compounds[] = {"none:d/1", "two:1/2 a:2/1 c:7/11", "u16:43/1", "hex:43/3",
		"byte:d/9", "text:47/11", "struct:41/2 a:2/1 c:7/11", "empty:4d/1",
		"array:41/1 value:43/1", "vla:42/2", "visitor:44/2", "maybe:d/1",
		"maybe_text:47/11", "maybe_struct:41/2 a:2/1 c:7/11", "maybe_array:41/1 value:43/1",
		"maybes:4d/1", "maybe_texts:41/1 value:47/11", "enum:3/2", "bits:2/3", "many:43/3",
		"gather:1/10 b:2/7 u:4/1 s:3/2 p:5/3 y:2/9 f:5/8 t:7/11 a:43/1 v:42/2 e:5/1"};

static side_define_variant(va, side_type_u8(),
		side_option_list(side_option(1, side_type_u16()),
				side_option(2, side_type_dynamic()),
				side_option(3, side_type_struct(st_two))));
static side_define_array(ar_va, side_elem(side_type_variant(va)), 2);
static side_define_optional(op_dyn, side_elem(side_type_dynamic()));
static side_define_struct(st_dyn, side_field_list(side_field_u8("x"), side_field_dynamic("y")));

side_static_event(ev_open, "k", "open", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_variant("a", va), side_field_dynamic("b"),
				side_field_array("c", ar_va), side_field_optional("d", op_dyn),
				side_field_struct("e", st_dyn)));

static void test_metadata(void **unused)
{
	struct user_event_bytes bytes;
	size_t whole;

	(void)unused;
	check_fields(&ev_scalars, scalars, sizeof(scalars) / sizeof(scalars[0]));
	check_fields(&ev_compounds, compounds, sizeof(compounds) / sizeof(compounds[0]));
	for (uint32_t i = 0; i < sizeof(compounds) / sizeof(compounds[0]); i++)
		assert_true(shape_is_static(&side_array_at(&ev_compounds.fields, i)->side_type));
	for (uint32_t i = 0; i < 5; i++)
		assert_false(shape_is_static(&side_array_at(&ev_open.fields, i)->side_type));
	/* The event's name is before its fields. */
	bytes = new_metadata(sizeof(metadata_at));
	metadata_event(&bytes, &ev_scalars);
	assert_memory_equal(bytes.at, "scalars\0n\0\x8d\1b\0\x82\7u8\0\x82\1u,16,\0\x83\1", 29);
	whole = bytes.size;
	/* The last byte of the capacity is used, and the size includes the bytes beyond it. */
	bytes = new_metadata(3);
	bytes_put(&bytes, "abc", 3);
	assert_int_equal(bytes.size, 3);
	assert_memory_equal(bytes.at, "abc\x55", 4);
	bytes = new_metadata(3);
	bytes_put(&bytes, "a", 1);
	bytes_put(&bytes, "bcd", 3);
	bytes_put_u16(&bytes, 1);
	assert_int_equal(bytes.size, 6);
	assert_memory_equal(bytes.at, "a\x55\x55\x55", 4);
	bytes = new_metadata(7);
	metadata_event(&bytes, &ev_scalars);
	assert_int_equal(bytes.size, whole);
	assert_memory_equal(bytes.at, "scalars\x55", 8);
}

/* ---- depth and number of members ---- */

static side_define_struct(s1, side_field_list(side_field_u8("a")));
static side_define_struct(s2, side_field_list(side_field_u8("a"), side_field_struct("s", s1)));
static side_define_struct(s3, side_field_list(side_field_struct("s", s2), side_field_u8("a")));
static side_define_struct(s4, side_field_list(side_field_struct("s", s3)));
static side_define_struct(s5, side_field_list(side_field_struct("s", s4)));
static side_define_struct(s6, side_field_list(side_field_struct("s", s5)));
static side_define_struct(s7, side_field_list(side_field_struct("s", s6)));
static side_define_struct(s8, side_field_list(side_field_struct("s", s7)));
static side_define_struct(s9, side_field_list(side_field_struct("s", s8)));
static side_define_array(ar_s2, side_elem(side_type_struct(s2)), 1);
static side_define_array(ar_ar_s2, side_elem(side_type_array(ar_s2)), 1);

side_static_event(ev_depths, "k", "depths", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("d0"), side_field_struct("d1", s1),
				side_field_struct("d3", s3), side_field_struct("d8", s8),
				side_field_array("ar2", ar_s2), side_field_array("arar3", ar_ar_s2),
				side_field_array("ar1", ar_array),
				side_field_optional("op1", op_array),
				side_field_array("aro1", ar_op_text),
				side_field_array("ar0", ar_op), side_field_struct("d9", s9)));

static const unsigned int depths[] = {0, 1, 3, 8, 2, 3, 1, 1, 1, 0, 9};

/* A structure of this many bytes. */
static struct side_event_field wide_fields[600];
static struct side_type_struct wide_struct;
static struct side_event_field wide_field;

static struct side_event_description wide(uint32_t nr)
{
	struct side_event_description desc = ev_depths;

	for (uint32_t i = 0; i < nr; i++)
		memcpy(&wide_fields[i], side_array_at(&ev_depths.fields, 0), sizeof(wide_field));
	memcpy(&wide_struct, &st_two, sizeof(wide_struct));
	wide_struct.fields.elements =
			(typeof(wide_struct.fields.elements))SIDE_PTR_INIT(wide_fields);
	wide_struct.fields.length = nr;
	memcpy(&wide_field, side_array_at(&ev_depths.fields, 1), sizeof(wide_field));
	wide_field.side_type.u.side_struct =
			(typeof(wide_field.side_type.u.side_struct))SIDE_PTR_INIT(&wide_struct);
	desc.fields.elements = (typeof(desc.fields.elements))SIDE_PTR_INIT(&wide_field);
	desc.fields.length = 1;
	return desc;
}

static void test_depths(void **unused)
{
	static const struct {
		uint32_t members;
		unsigned int depth;
		const char *expected;
	} widths[] = {{126, 1, "d1:1/126 126"}, {127, 2, "d1:1/127 126 ...:1/1 1"},
			{252, 2, "d1:1/127 126 ...:1/126 126"},
			{253, 3, "d1:1/127 126 ...:1/127 126 ...:1/1 1"},
			{378, 3, "d1:1/127 126 ...:1/127 126 ...:1/126 126"},
			{379, 4, "d1:1/127 126 ...:1/127 126 ...:1/127 126 ...:1/1 1"}};
	struct side_event_description desc;
	struct user_event_bytes bytes;

	(void)unused;
	for (uint32_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		assert_int_equal(shape_depth(&side_array_at(&ev_depths.fields, i)->side_type),
				depths[i]);
	assert_string_equal(metadata_refusal(&ev_depths),
			"it has structures or arrays nested more than 8 deep, which decoders refuse");
	desc = ev_depths;
	desc.fields.length--;
	assert_null(metadata_refusal(&desc));
	/* The first field alone. */
	desc.fields.elements = (typeof(desc.fields.elements))SIDE_PTR_INIT(
			side_array_at(&ev_depths.fields, 10));
	desc.fields.length = 1;
	assert_non_null(metadata_refusal(&desc));
	/* Types that the call determines are truncated by each record. */
	assert_null(metadata_refusal(&ev_open));
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		desc = wide(widths[i].members);
		bytes = new_metadata(sizeof(metadata_at));
		metadata_field(&bytes, "d1", &wide_field.side_type);
		assert_string_equal(counted(&bytes), widths[i].expected);
		assert_int_equal(shape_depth(&wide_field.side_type), widths[i].depth);
	}
}

/* ---- records ---- */

static unsigned char payload_at[KERNEL_RECORD_MAX];
static struct user_event_record record;
static struct user_event_bytes metadata;

static int recorded(const struct side_event_description *desc, const struct side_arg_vec *vec,
		const struct side_arg_dynamic_struct *variadic, bool is_static, size_t limit)
{
	struct user_event event = {.desc = desc, .is_static = is_static};
	const struct kernel_call call = {.event = &event, .args = vec, .variadic = variadic};

	memset(payload_at, 0x55, sizeof(payload_at));
	record = (struct user_event_record){
			.bytes = {.at = payload_at, .capacity = sizeof(payload_at)},
			.limit = limit};
	metadata = new_metadata(sizeof(metadata_at));
	return header_record(&call, &record, &metadata);
}

static void check_payload(const void *expected, size_t size, bool cut)
{
	assert_int_equal(record.bytes.size, size);
	assert_memory_equal(record.bytes.at, expected, size);
	assert_int_equal(record.cut, cut);
}

/* For an event that is not static: its name, then its fields. */
static const char *described(const char *name)
{
	struct user_event_bytes fields = metadata;

	assert_memory_equal(metadata.at, name, strlen(name) + 1);
	fields.at += strlen(name) + 1;
	fields.size -= strlen(name) + 1;
	return shown(&fields);
}

side_static_event(ev_texts, "k", "texts", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("a"), side_field_string16("b"),
				side_field_string16_be("c"), side_field_string32("d"),
				side_field_string32_be("e")));

static void test_texts(void **unused)
{
	static const uint16_t two_be[] = {0x4100, 0xac20, 0};
	static const uint32_t four_be[] = {0x41000000, 0x04f60100, 0};

	side_arg_define_vec(vec,
			side_arg_list(side_arg_string("abcde"), side_arg_string16(u"fg\u20acz"),
					side_arg_string16_be(two_be),
					side_arg_string32(U"h\U0001f604"),
					side_arg_string32_be(four_be)));
	side_arg_define_vec(none,
			side_arg_list(side_arg_string(NULL), side_arg_string16(NULL),
					side_arg_string16_be(NULL), side_arg_string32(NULL),
					side_arg_string32_be(NULL)));
	struct user_event event = {.desc = &ev_texts, .is_static = true};
	const struct kernel_call call = {.event = &event, .args = &vec};

	(void)unused;
	assert_int_equal(recorded(&ev_texts, &vec, NULL, true, 5), 0);
	assert_int_equal(metadata.size, 0);
	check_payload("abcde\0"
		      "f\0g\0\xac\x20z\0\0\0"
		      "A\0\xac\x20\0\0"
		      "h\0\0\0\x04\xf6\1\0\0\0\0\0"
		      "A\0\0\0\x04\xf6\1\0\0\0\0",
			6 + 10 + 6 + 12 + 12, false);
	assert_int_equal(recorded(&ev_texts, &vec, NULL, true, 4), 0);
	check_payload("abcd...\0"
		      "f\0g\0\xac\x20z\0\0\0"
		      "A\0\xac\x20\0\0"
		      "h\0\0\0\x04\xf6\1\0\0\0\0\0"
		      "A\0\0\0\x04\xf6\1\0\0\0\0",
			8 + 10 + 6 + 12 + 12, true);
	/* A unit that is not an ASCII character is counted like all others. */
	assert_int_equal(recorded(&ev_texts, &vec, NULL, true, 1), 0);
	check_payload("a...\0"
		      "f\0.\0.\0.\0\0\0"
		      "A\0.\0.\0.\0\0\0"
		      "h\0\0\0.\0\0\0.\0\0\0.\0\0\0\0\0\0\0"
		      "A\0\0\0.\0\0\0.\0\0\0.\0\0\0\0\0\0",
			5 + 10 + 10 + 20 + 20, true);
	assert_int_equal(recorded(&ev_texts, &none, NULL, true, 6), 0);
	check_payload("(null)\0"
		      "(\0n\0u\0l\0l\0)\0\0\0"
		      "(\0n\0u\0l\0l\0)\0\0\0"
		      "(\0\0\0n\0\0\0u\0\0\0l\0\0\0l\0\0\0)\0\0\0\0\0\0\0"
		      "(\0\0\0n\0\0\0u\0\0\0l\0\0\0l\0\0\0)\0\0\0\0\0\0",
			7 + 14 + 14 + 28 + 28, false);
	/*
	 * A text that does not fit is not copied to its end: the size is one more than the
	 * capacity.
	 */
	record = (struct user_event_record){.bytes = {.at = payload_at, .capacity = 3}, .limit = 9};
	metadata = new_metadata(9);
	event.desc = &ev_texts;
	assert_int_equal(header_record(&call, &record, &metadata), 0);
	assert_int_equal(record.bytes.size, 4);
	record = (struct user_event_record){.bytes = {.at = payload_at, .capacity = 5}, .limit = 9};
	assert_int_equal(header_record(&call, &record, &metadata), 0);
	assert_int_equal(record.bytes.size, 6);
}

static side_define_array(
		ar_bm, side_elem(side_type_enum_bitmap(&bm, side_elem(side_type_u16()))), 3);
side_static_event(ev_values, "k", "values", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_array("a", ar3), side_field_array("b", ar_struct),
				side_field_struct("c", st_empty), side_field_array("d", ar_ar3),
				side_field_array("e", ar_op), side_field_array("f", ar_op_text),
				side_field_enum_bitmap("g", &bm, side_elem(side_type_array(ar3))),
				side_field_enum_bitmap("h", &bm, side_elem(side_type_u8())),
				side_field_u8("i"), side_field_array("j", ar_bm)));

/* Values of static types: arrays have a count, an absent optional has the count 0. */
static void test_static(void **unused)
{
	side_arg_define_array(items,
			side_arg_list(side_arg_u16(0x101), side_arg_u16(0x202),
					side_arg_u16(0x303)));
	side_arg_define_struct(two, side_arg_list(side_arg_u8(7), side_arg_string("in")));
	side_arg_define_struct(other, side_arg_list(side_arg_u8(8), side_arg_string("")));
	side_arg_define_array(structs, side_arg_list(side_arg_struct(two), side_arg_struct(other)));
	side_arg_define_struct(empty, side_arg_list());
	side_arg_define_array(arrays, side_arg_list(side_arg_array(items), side_arg_array(items)));
	side_arg_define_optional(number, side_arg_u32(9), SIDE_OPTIONAL_ENABLED);
	side_arg_define_optional(no_number, side_arg_u32(9), SIDE_OPTIONAL_DISABLED);
	side_arg_define_optional(some_text, side_arg_string("o"), SIDE_OPTIONAL_ENABLED);
	side_arg_define_optional(no_text, side_arg_string("o"), SIDE_OPTIONAL_DISABLED);
	side_arg_define_array(numbers,
			side_arg_list(side_arg_optional(number), side_arg_optional(no_number)));
	side_arg_define_array(maybe_texts,
			side_arg_list(side_arg_optional(some_text), side_arg_optional(no_text)));
	side_arg_define_array(bits,
			side_arg_list(side_arg_u16(0x41), side_arg_u16(0x42), side_arg_u16(0x43)));
	side_arg_define_vec(vec,
			side_arg_list(side_arg_array(items), side_arg_array(structs),
					side_arg_struct(empty), side_arg_array(arrays),
					side_arg_array(numbers), side_arg_array(maybe_texts),
					side_arg_array(items), side_arg_u8(11), side_arg_u8(12),
					side_arg_array(bits)));

	struct side_event_field field;
	struct side_type item;
	struct side_event_description desc;
	side_arg_define_vec(bitmap, side_arg_list(side_arg_u8(1)));

	(void)unused;
	assert_int_equal(recorded(&ev_values, &vec, NULL, true, 3), 0);
	check_payload("\3\0\1\1\2\2\3\3"
		      "\2\0\7in\0\x08\0"
		      "\0\0"
		      "\2\0\3\0\1\1\2\2\3\3\3\0\1\1\2\2\3\3"
		      "\2\0\4\0\x9\0\0\0\0\0"
		      "\2\0\1\0o\0\0\0"
		      "\3\0\1\1\2\2\3\3"
		      "\x0b\x0c\3\0A\0B\0C\0",
			8 + 8 + 2 + 18 + 10 + 8 + 8 + 10, false);
	assert_int_equal(recorded(&ev_values, &vec, NULL, true, 2), 0);
	check_payload("\2\0\1\1\2\2"
		      "\2\0\7in\0\x08\0"
		      "\0\0"
		      "\2\0\2\0\1\1\2\2\2\0\1\1\2\2"
		      "\2\0\4\0\x9\0\0\0\0\0"
		      "\2\0\1\0o\0\0\0"
		      "\2\0\1\1\2\2"
		      "\x0b\x0c\2\0A\0B\0",
			6 + 8 + 2 + 14 + 10 + 8 + 6 + 8, true);
	/* Elements beyond the limit are left out, with everything in them. */
	assert_int_equal(recorded(&ev_values, &vec, NULL, true, 0), 0);
	check_payload("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0b\x0c\0\0", 18, true);
	/* No integer has three bytes. */
	memcpy(&field, side_array_at(&ev_values.fields, 7), sizeof(field));
	memcpy(&item, side_ptr_get(field.side_type.u.side_enum_bitmap.elem_type), sizeof(item));
	item.u.side_integer.integer_size = 3;
	field.side_type.u.side_enum_bitmap.elem_type =
			(typeof(field.side_type.u.side_enum_bitmap.elem_type))SIDE_PTR_INIT(&item);
	desc = ev_values;
	desc.fields.elements = (typeof(desc.fields.elements))SIDE_PTR_INIT(&field);
	desc.fields.length = 1;
	assert_int_equal(recorded(&desc, &bitmap, NULL, true, 9), -1);
}

/* ---- types that the call determines ---- */

side_static_event_variadic(
		ev_any, "k", "any", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u16("x")));

static void test_dynamic(void **unused)
{
	side_arg_define_vec(vec, side_arg_list(side_arg_u16(0x102)));
	side_arg_dynamic_define_struct(inner,
			side_arg_list(side_arg_dynamic_field("q", side_arg_dynamic_s16(-2))));
	side_arg_dynamic_define_struct(empty, side_arg_list());
	side_arg_dynamic_define_vec(list,
			side_arg_list(side_arg_dynamic_u8(1), side_arg_dynamic_string("a"),
					side_arg_dynamic_struct(&inner)));
	side_arg_dynamic_define_struct(all,
			side_arg_list(side_arg_dynamic_field("i", side_arg_dynamic_u8(5)),
					side_arg_dynamic_field("t", side_arg_dynamic_string("hi")),
					side_arg_dynamic_field("l", side_arg_dynamic_vla(&list)),
					side_arg_dynamic_field(
							"o", side_arg_dynamic_struct(&inner)),
					side_arg_dynamic_field(
							"e", side_arg_dynamic_struct(&empty)),
					side_arg_dynamic_field("n", side_arg_dynamic_null()),
					side_arg_dynamic_field("z", side_arg_dynamic_bool(1))));

	(void)unused;
	assert_int_equal(recorded(&ev_any, &vec, &all, false, 3), 0);
	assert_string_equal(described("any"),
			"x:3/1 i:2/1 t:7/11 l:1/3 0:2/1 1:7/11 2:1/1 q:3/2 o:1/1 q:3/2 e:d/1 n:d/1 z:2/7");
	check_payload("\2\1\5hi\0\1a\0\xfe\xff\xfe\xff\0\0\0\0\1", 18, false);
	/* The element beyond the limit and its content are left out, and nothing else. */
	assert_int_equal(recorded(&ev_any, &vec, &all, false, 2), 0);
	assert_string_equal(described("any"),
			"x:3/1 i:2/1 t:7/11 l:1/2 0:2/1 1:7/11 o:1/1 q:3/2 e:d/1 n:d/1 z:2/7");
	check_payload("\2\1\5hi\0\1a\0\xfe\xff\0\0\0\0\1", 16, true);
	assert_int_equal(recorded(&ev_any, &vec, &all, false, 0), 0);
	assert_string_equal(
			described("any"), "x:3/1 i:2/1 t:7/11 l:d/1 o:1/1 q:3/2 e:d/1 n:d/1 z:2/7");
	check_payload("\2\1\5...\0\0\0\xfe\xff\0\0\0\0\1", 16, true);
}

static void test_variants(void **unused)
{
	side_arg_define_struct(two, side_arg_list(side_arg_u8(7), side_arg_string("in")));
	side_arg_define_variant(number, side_arg_u8(1), side_arg_u16(0x304));
	side_arg_define_variant(any, side_arg_u8(2), side_arg_dynamic_s8(-3));
	side_arg_define_variant(record_of_two, side_arg_u8(3), side_arg_struct(two));
	side_arg_define_array(
			variants, side_arg_list(side_arg_variant(any), side_arg_variant(number)));
	side_arg_define_optional(some, side_arg_dynamic_u32(6), SIDE_OPTIONAL_ENABLED);
	side_arg_define_optional(none, side_arg_dynamic_u32(6), SIDE_OPTIONAL_DISABLED);
	side_arg_define_struct(dyn, side_arg_list(side_arg_u8(9), side_arg_dynamic_string("y")));
	side_arg_define_vec(vec,
			side_arg_list(side_arg_variant(record_of_two), side_arg_dynamic_u8(4),
					side_arg_array(variants), side_arg_optional(some),
					side_arg_struct(dyn)));
	side_arg_define_vec(without,
			side_arg_list(side_arg_variant(number), side_arg_dynamic_u8(4),
					side_arg_array(variants), side_arg_optional(none),
					side_arg_struct(dyn)));

	(void)unused;
	assert_int_equal(recorded(&ev_open, &vec, NULL, false, 9), 0);
	assert_string_equal(described("open"),
			"a:1/2 tag:2/1 value:1/2 a:2/1 c:7/11 b:2/1 c:1/2 0:1/2 tag:2/1 value:2/2 1:1/2 tag:2/1 value:3/1 d:4/1 e:1/2 x:2/1 y:7/11");
	check_payload("\3\7in\0\4\2\xfd\1\4\3\6\0\0\0\x9y\0", 18, false);
	assert_int_equal(recorded(&ev_open, &without, NULL, false, 9), 0);
	assert_string_equal(described("open"),
			"a:1/2 tag:2/1 value:3/1 b:2/1 c:1/2 0:1/2 tag:2/1 value:2/2 1:1/2 tag:2/1 value:3/1 d:d/1 e:1/2 x:2/1 y:7/11");
	check_payload("\1\4\3\4\2\xfd\1\4\3\0\0\x9y\0", 14, false);
	/* A variant in an element that is left out. */
	assert_int_equal(recorded(&ev_open, &without, NULL, false, 1), 0);
	assert_string_equal(described("open"),
			"a:1/2 tag:2/1 value:3/1 b:2/1 c:1/1 0:1/2 tag:2/1 value:2/2 d:d/1 e:1/2 x:2/1 y:7/11");
	check_payload("\1\4\3\4\2\xfd\0\0\x9y\0", 11, true);
}

/* ---- numbers ---- */

side_static_event(ev_numbers, "k", "numbers", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u128("a"), side_field_s128("b"), side_field_u128_be("c"),
				side_field_float_binary16("d"), side_field_bool("e"),
				side_field_null("f"), side_field_s16_be("g"),
				side_field_pointer("h"), side_field_float_binary64_be("i")));

static void test_numbers(void **unused)
{
	const unsigned __int128 number =
			(unsigned __int128)0x0102030405060708u << 64 | 0x090a0b0c0d0e0f10u;
	const uint64_t swapped = 0x0440; /* 2.5 */
	double big_endian;
	struct side_arg args[9];
	struct side_arg_vec changed;

	memcpy(&big_endian, &swapped, sizeof(swapped));
	{
		side_arg_define_vec(vec,
				side_arg_list(side_arg_u128(number), side_arg_s128(-2),
						side_arg_u128_be(number), side_arg_u16(0x3e00),
						side_arg_bool(1), side_arg_null(),
						side_arg_s16_be(0x0102),
						side_arg_pointer((void *)0x1122334455667788),
						side_arg_float_binary64_be(big_endian)));

		memcpy(args, vec_vec, sizeof(args));
		memcpy(&changed, &vec, sizeof(vec));
	}
	/* Compilers without _Float16 have no macro for it. */
	args[3].type = (typeof(args[3].type))SIDE_ENUM_INIT(SIDE_TYPE_FLOAT_BINARY16);
	changed.sav = (typeof(changed.sav))SIDE_PTR_INIT(args);
	(void)unused;
	/* Numbers of 16 bytes have the most significant one first. */
	assert_int_equal(recorded(&ev_numbers, &changed, NULL, true, 9), 0);
	check_payload("\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
		      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe"
		      "\x10\x0f\x0e\x0d\x0c\x0b\x0a\x09\x08\7\6\5\4\3\2\1"
		      "\0\0\xc0\x3f\1\0\0\1\2"
		      "\x88\x77\x66\x55\x44\x33\x22\x11"
		      "\0\0\0\0\0\0\4\x40",
			16 + 16 + 16 + 4 + 1 + 2 + 2 + 8 + 8, false);
}

/* ---- nested values ---- */

/* Returns this many nested structures around the value, each with another value after it. */
static const struct side_arg_dynamic_struct *nested(
		unsigned int depth, const struct side_arg_dynamic_field *innermost, uint32_t nr)
{
	static struct side_arg_dynamic_field fields[16][2];
	static struct side_arg_dynamic_struct structs[16];
	side_arg_dynamic_define_struct(
			behind, side_arg_list(side_arg_dynamic_field("z", side_arg_dynamic_u8(1))));

	for (unsigned int i = 0; i < depth; i++) {
		const struct side_arg_dynamic_field inner = side_arg_dynamic_field(
				"s", side_arg_dynamic_struct(&structs[i + 1]));

		memcpy(&fields[i][0], &inner, sizeof(inner));
		memcpy(&fields[i][1], &behind_fields[0], sizeof(inner));
		memcpy(&structs[i], &behind, sizeof(behind));
		structs[i].fields = (typeof(structs[i].fields))SIDE_PTR_INIT(fields[i]);
		structs[i].len = 2;
	}
	memcpy(&structs[depth], &behind, sizeof(behind));
	structs[depth].fields = (typeof(structs[depth].fields))SIDE_PTR_INIT(innermost);
	structs[depth].len = nr;
	return &structs[0];
}

static void test_nested(void **unused)
{
	const struct side_arg_dynamic_field value =
			side_arg_dynamic_field("v", side_arg_dynamic_u8(4));
	side_arg_define_vec(vec, side_arg_list(side_arg_u16(0x102)));

	(void)unused;
	assert_int_equal(recorded(&ev_any, &vec, nested(8, &value, 1), false, 9), 0);
	assert_string_equal(described("any"),
			"x:3/1 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/1 v:2/1 z:2/1 z:2/1 z:2/1 z:2/1 z:2/1 z:2/1 z:2/1 z:2/1");
	check_payload("\2\1\4\1\1\1\1\1\1\1\1", 11, false);
	/* The ninth one is null, and the value after it is there. */
	assert_int_equal(recorded(&ev_any, &vec, nested(9, &value, 1), false, 9), 0);
	assert_string_equal(described("any"),
			"x:3/1 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:d/1 z:2/1 z:2/1 z:2/1 z:2/1 z:2/1 z:2/1 z:2/1 z:2/1 z:2/1");
	check_payload("\2\1\0\0\1\1\1\1\1\1\1\1\1", 13, true);
	assert_int_equal(recorded(&ev_any, &vec, nested(10, &value, 1), false, 9), 0);
	check_payload("\2\1\0\0\1\1\1\1\1\1\1\1\1", 13, true);
}

/* Static types within others: described as a whole, or null where they would be too deep. */
static side_define_struct(t1,
		side_field_list(side_field_dynamic("d"), side_field_struct("s", s1),
				side_field_variant("v", va)));
static side_define_struct(t2, side_field_list(side_field_struct("t", t1)));
static side_define_struct(t3, side_field_list(side_field_struct("t", t2)));
static side_define_struct(t4, side_field_list(side_field_struct("t", t3)));
static side_define_struct(t5, side_field_list(side_field_struct("t", t4)));
static side_define_struct(t6, side_field_list(side_field_struct("t", t5)));
static side_define_struct(t7, side_field_list(side_field_struct("t", t6)));
static side_define_struct(t8, side_field_list(side_field_struct("t", t7)));
side_static_event(ev_six, "k", "six", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("t", t6)));
side_static_event(ev_seven, "k", "seven", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("t", t7)));
side_static_event(ev_eight, "k", "eight", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("t", t8)));

static void check_deep(const struct side_event_description *desc, const struct side_arg *innermost,
		unsigned int depth, const char *expected, const char *payload, size_t size,
		bool cut)
{
	struct side_arg args[10];
	struct side_arg_vec vecs[10], all;
	const char *name = side_ptr_get(desc->event_name);
	char before[100] = "";

	side_arg_define_struct(any, side_arg_list(side_arg_u8(0)));
	const struct side_arg template = side_arg_struct(any);

	for (unsigned int i = depth; i--;) {
		memcpy(&vecs[i], &any, sizeof(any));
		vecs[i].sav = (typeof(vecs[i].sav))SIDE_PTR_INIT(
				i == depth - 1 ? innermost : &args[i + 1]);
		vecs[i].len = i == depth - 1 ? 3 : 1;
		memcpy(&args[i], &template, sizeof(template));
		args[i].u.side_static.side_struct =
				(typeof(args[i].u.side_static.side_struct))SIDE_PTR_INIT(&vecs[i]);
	}
	for (unsigned int i = 0; i + 1 < depth; i++)
		strcat(before, "t:1/1 ");
	strcat(before, expected);
	memcpy(&all, &any, sizeof(any));
	all.sav = (typeof(all.sav))SIDE_PTR_INIT(&args[0]);
	assert_int_equal(recorded(desc, &all, NULL, false, 9), 0);
	assert_string_equal(described(name), before);
	check_payload(payload, size, cut);
}

static void test_static_within(void **unused)
{
	side_arg_define_struct(one, side_arg_list(side_arg_u8(2)));
	side_arg_define_struct(two, side_arg_list(side_arg_u8(7), side_arg_string("in")));
	side_arg_define_variant(number, side_arg_u8(1), side_arg_u16(0x304));
	side_arg_define_variant(whole, side_arg_u8(3), side_arg_struct(two));
	const struct side_arg with_number[] = {
			side_arg_dynamic_u8(6), side_arg_struct(one), side_arg_variant(number)};
	const struct side_arg with_struct[] = {
			side_arg_dynamic_u8(6), side_arg_struct(one), side_arg_variant(whole)};

	(void)unused;
	check_deep(&ev_six, with_struct, 6,
			"t:1/3 d:2/1 s:1/1 a:2/1 v:1/2 tag:2/1 value:1/2 a:2/1 c:7/11",
			"\6\2\3\7in", 7, false);
	check_deep(&ev_seven, with_number, 7, "t:1/3 d:2/1 s:1/1 a:2/1 v:1/2 tag:2/1 value:3/1",
			"\6\2\1\4\3", 5, false);
	check_deep(&ev_seven, with_struct, 7, "t:1/3 d:2/1 s:1/1 a:2/1 v:d/1", "\6\2\0", 4, true);
	check_deep(&ev_eight, with_number, 8, "t:1/3 d:2/1 s:d/1 v:d/1", "\6\0\0\0", 5, true);
}

/* The number of members is not written beyond the capacity. */
static void test_capacity(void **unused)
{
	const struct side_arg_dynamic_field value =
			side_arg_dynamic_field("v", side_arg_dynamic_u8(4));
	side_arg_define_vec(vec, side_arg_list(side_arg_u16(0x102)));
	struct user_event event = {.desc = &ev_any};
	const struct kernel_call call = {
			.event = &event, .args = &vec, .variadic = nested(1, &value, 1)};

	(void)unused;
	/* "any", "x", "s" with their zeros, and two bytes for each of the fields. */
	for (size_t capacity = 11; capacity <= 13; capacity++) {
		memset(payload_at, 0x55, sizeof(payload_at));
		record = (struct user_event_record){
				.bytes = {.at = payload_at, .capacity = sizeof(payload_at)},
				.limit = 9};
		metadata = new_metadata(capacity);
		/* The first bytes of the structure would be beyond the capacity. */
		assert_int_equal(header_record(&call, &record, &metadata), 0);
		assert_int_equal(metadata.size, 20);
		assert_memory_equal(metadata.at, "any\0x\0\x83\1s", 9);
		for (size_t i = capacity; i < capacity + 20; i++)
			assert_int_equal(metadata.at[i], 0x55);
		if (capacity > 11)
			assert_memory_equal(metadata.at + 9, "\0\x81\1", 3);
	}
}

/*
 * A structure has 127 members at most. Further ones are in a structure that is its last member, or
 * are left out if that would be too deep.
 */
static void test_members(void **unused)
{
	static const struct {
		unsigned int depth;
		uint32_t members;
		const char *expected;
		size_t size;
	} rows[] = {{1, 126, "1 s:1/126 127", 126}, {1, 127, "1 s:1/127 126 ...:1/1 2", 127},
			{1, 252, "1 s:1/127 126 ...:1/126 127", 252},
			{1, 253, "1 s:1/127 126 ...:1/127 126 ...:1/1 2", 253},
			{8, 126, "1 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/126 134", 126},
			/* One null represents all that are left out. */
			{8, 127, "1 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/127 135", 128},
			{8, 128, "1 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/127 135", 128},
			{8, 255, "1 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/2 s:1/127 135", 128}};
	static struct side_arg_dynamic_field many[256];
	side_arg_define_vec(vec, side_arg_list(side_arg_u16(0x102)));

	(void)unused;
	for (unsigned int i = 0; i < 256; i++) {
		const struct side_arg_dynamic_field value =
				side_arg_dynamic_field("v", side_arg_dynamic_u8((uint8_t)(i + 1)));

		memcpy(&many[i], &value, sizeof(value));
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct user_event_bytes fields;

		assert_int_equal(recorded(&ev_any, &vec,
						 nested(rows[i].depth, many, rows[i].members),
						 false, 9),
				0);
		fields = metadata;
		fields.at += 4;
		fields.size -= 4;
		assert_string_equal(counted(&fields), rows[i].expected);
		assert_int_equal(record.bytes.size, 2 + rows[i].size + rows[i].depth);
		assert_int_equal(record.cut, rows[i].size < rows[i].members || rows[i].size == 128);
		for (uint32_t j = 0; j < (record.cut ? 126 : rows[i].members); j++)
			assert_int_equal(payload_at[2 + j], j + 1);
		/* The values after it. */
		for (uint32_t j = 0; j < rows[i].depth; j++)
			assert_int_equal(payload_at[2 + rows[i].size + j], 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_metadata),
			cmocka_unit_test(test_depths),
			cmocka_unit_test(test_texts),
			cmocka_unit_test(test_static),
			cmocka_unit_test(test_dynamic),
			cmocka_unit_test(test_variants),
			cmocka_unit_test(test_nested),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_static_within),
			cmocka_unit_test(test_capacity),
			cmocka_unit_test(test_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
