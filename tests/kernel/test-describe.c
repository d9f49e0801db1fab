/* SPDX-License-Identifier: MIT */
/*
 * Descriptions of events for the kernel as exact texts, bytes of records, records that are
 * truncated at their limits, and settings.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <side/trace.h>

#include "tracers/user-events/user-events.h"

#define CAPACITY KERNEL_RECORD_MAX

/* ---- names ---- */

static void test_names(void **unused)
{
	char name[8] = "x";

	(void)unused;
	name_append(name, sizeof(name), "aZ0_:/");
	assert_string_equal(name, "xaZ0___");
	name_append(name, sizeof(name), "b");
	assert_string_equal(name, "xaZ0___");
	name[6] = '\0';
	name_append(name, sizeof(name), "bc");
	assert_string_equal(name, "xaZ0__b");
	name[0] = '\0';
	name_append(name, sizeof(name), "{@[`/:z9A");
	assert_string_equal(name, "______z");
	name[0] = '\0';
	name_append(name, sizeof(name), "09azAZ_");
	assert_string_equal(name, "09azAZ_");
}

/* ---- descriptions ---- */

static side_define_struct(st, side_field_list(side_field_u8("a-b"), side_field_string("c")));
static side_define_struct(alike, side_field_list(side_field_u8("a-b"), side_field_u8("a+b")));
static side_define_array(numbers, side_elem(side_type_u16()), 3);
static side_define_array(texts, side_elem(side_type_string()), 3);
static side_define_optional(maybe, side_elem(side_type_u32()));
static side_define_optional(maybe_text, side_elem(side_type_string()));

side_static_event(ev_scalars, "k", "scalars", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_bool("b"), side_field_u8("u8"), side_field_s16("s16"),
				side_field_u32("u32"), side_field_s64("s64"),
				side_field_u128("u128"), side_field_s128("s128"),
				side_field_pointer("p"), side_field_float_binary32("f"),
				side_field_float_binary64("d"), side_field_byte("y"),
				side_field_null("n")));
side_static_event(ev_signed, "k", "signed", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_s8("a"), side_field_s32("b"), side_field_u16("c"),
				side_field_u64("d")));
side_static_event(ev_parts, "k", "parts", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("t"), side_field_struct("s", st),
				side_field_array("a", numbers), side_field_optional("o", maybe)));
side_static_event(ev_odd, "k", "odd", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("1x"), side_field_u8("common_x"),
				side_field_u8("common"), side_field_u8("a b"), side_field_u8("0y"),
				side_field_u8("9z"), side_field_u8(":w")));
side_static_event(ev_twice, "k", "twice", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("a.b"), side_field_u8("a:b")));
side_static_event(ev_twice_apart, "k", "twice", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("a.b"), side_field_u8("c"), side_field_u8("a:b")));
side_static_event(ev_twice_wide, "k", "twice", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u128("a.b"), side_field_u8("a:b")));
side_static_event(ev_twice_within, "k", "twice", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("s", alike), side_field_u8("x")));
side_static_event(ev_alike, "k", "alike", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("ab"), side_field_u8("a"), side_field_u8("b"),
				side_field_u8("u8")));
side_static_event(ev_texts, "k", "texts", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_array("a", texts)));
side_static_event(ev_maybe, "k", "maybe", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_optional("a", maybe_text)));
side_static_event(ev_dynamic, "k", "dynamic", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("x"), side_field_dynamic("a")));
side_static_event_variadic(ev_variadic, "k", "variadic", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("x")));
side_static_event(ev_none, "k", "none", SIDE_LOGLEVEL_INFO, side_field_list());

static void described(
		const struct side_event_description *desc, const char *expected, uint32_t size)
{
	char text[KERNEL_DESCRIPTION_SIZE] = "k_name";
	const char *reason = NULL;
	uint32_t fixed_size = 12345;

	if (!native_describe(desc, text, sizeof(text), &fixed_size, &reason))
		fail_msg("%s", reason);
	assert_string_equal(text, expected);
	assert_int_equal(fixed_size, size);
	/* The last byte of the description is its NUL. */
	memcpy(text, "k_name", 7);
	assert_true(native_describe(desc, text, strlen(expected) + 1, &fixed_size, &reason));
	if (!size)
		return;
	memcpy(text, "k_name", 7);
	assert_false(native_describe(desc, text, strlen(expected), &fixed_size, &reason));
	assert_string_equal(reason, "its fields need more than 511 bytes of description");
}

static void refused(const struct side_event_description *desc, const char *expected)
{
	char text[KERNEL_DESCRIPTION_SIZE] = "k_name";
	const char *reason = NULL;
	uint32_t fixed_size;

	assert_false(native_describe(desc, text, sizeof(text), &fixed_size, &reason));
	assert_string_equal(reason, expected);
}

static void test_descriptions(void **unused)
{
	(void)unused;
	described(&ev_scalars,
			"k_name u8 b; u8 u8; s16 s16; u32 u32; s64 s64; struct u128 u128 16; struct s128 s128 16; u64 p; struct f32 f 4; "
			"struct f64 d 8; u8 y",
			1 + 1 + 2 + 4 + 8 + 16 + 16 + 8 + 4 + 8 + 1);
	described(&ev_signed, "k_name s8 a; s32 b; u16 c; u64 d", 1 + 4 + 2 + 8);
	described(&ev_parts,
			"k_name __rel_loc char[] t; u8 s_a_b; __rel_loc char[] s_c; __rel_loc u16[] a; u8 o_present; u32 o",
			4 + 1 + 4 + 4 + 1 + 4);
	described(&ev_odd, "k_name u8 _1x; u8 _common_x; u8 common; u8 a_b; u8 _0y; u8 _9z; u8 _w",
			7);
	described(&ev_alike, "k_name u8 ab; u8 a; u8 b; u8 u8", 4);
	described(&ev_none, "k_name", 0);
	refused(&ev_twice, "two of its fields have the same name for the kernel");
	refused(&ev_twice_apart, "two of its fields have the same name for the kernel");
	refused(&ev_twice_wide, "two of its fields have the same name for the kernel");
	refused(&ev_twice_within, "two of its fields have the same name for the kernel");
	refused(&ev_texts, "it has an array whose elements are not scalars");
	refused(&ev_maybe, "it has an optional value that is not a scalar");
	refused(&ev_dynamic, "it has values whose type is only known at the call");
	refused(&ev_variadic, "it is variadic");
}

/* ---- records ---- */

side_static_event(ev_record, "k", "record", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("x"), side_field_string("t"), side_field_u16("y")));
side_static_event(ev_array, "k", "array", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_array("a", numbers), side_field_optional("o", maybe),
				side_field_u8("x")));

static unsigned char at[CAPACITY];

static void prepare(struct user_event *event, const struct side_event_description *desc)
{
	char text[KERNEL_DESCRIPTION_SIZE] = "k";
	const char *reason;

	*event = (struct user_event){.desc = desc};
	assert_true(native_describe(desc, text, sizeof(text), &event->fixed_size, &reason));
	quick_prepare(event);
}

static void check_bytes(
		const struct user_event_record *record, const char *expected, size_t size, bool cut)
{
	assert_int_equal(record->bytes.size, size);
	assert_memory_equal(record->bytes.at, expected, size);
	assert_int_equal(record->cut, cut);
}

static struct user_event_record new_record(size_t capacity, size_t limit)
{
	memset(at, 0x55, sizeof(at));
	return (struct user_event_record){
			.bytes = {.at = at, .capacity = capacity}, .limit = limit};
}

static void test_records(void **unused)
{
	side_arg_define_vec(vec,
			side_arg_list(side_arg_u8(1), side_arg_string("h\xc3\xa9llo"),
					side_arg_u16(0x203)));
	struct user_event event;
	struct kernel_call call = {.event = &event, .args = &vec};
	struct user_event_record record;

	(void)unused;
	prepare(&event, &ev_record);
	assert_int_equal(event.nr_quick, 3);
	/*
	 * Both functions make the same record. The first one leaves events that it does not support
	 * to the second.
	 */
	for (size_t capacity = 13; capacity <= 15; capacity++) {
		record = new_record(capacity, UINT16_MAX);
		assert_int_equal(quick_record(&call, &record.bytes), capacity >= 14);
		if (capacity >= 14)
			check_bytes(&record, "\1\2\0\7\0\3\2h\xc3\xa9llo", 14, false);
		record = new_record(capacity, UINT16_MAX);
		assert_int_equal(native_record(&call, &record), 0);
		assert_int_equal(record.bytes.size, 14);
		if (capacity >= 14)
			check_bytes(&record, "\1\2\0\7\0\3\2h\xc3\xa9llo", 14, false);
	}
	/* Texts are truncated, never within a character. */
	record = new_record(CAPACITY, 6);
	assert_int_equal(native_record(&call, &record), 0);
	check_bytes(&record, "\1\2\0\7\0\3\2h\xc3\xa9llo", 14, false);
	record = new_record(CAPACITY, 5);
	assert_int_equal(native_record(&call, &record), 0);
	assert_true(record.cut);
	record = new_record(CAPACITY, 2);
	assert_int_equal(native_record(&call, &record), 0);
	check_bytes(&record, "\1\2\0\5\0\3\2h...", 12, true);
	record = new_record(CAPACITY, 0);
	assert_int_equal(native_record(&call, &record), 0);
	check_bytes(&record, "\1\2\0\4\0\3\2...", 11, true);
}

static void test_arrays(void **unused)
{
	side_arg_define_array(items,
			side_arg_list(side_arg_u16(0x101), side_arg_u16(0x202),
					side_arg_u16(0x303)));
	side_arg_define_optional(present, side_arg_u32(7), SIDE_OPTIONAL_ENABLED);
	side_arg_define_optional(absent, side_arg_u32(7), SIDE_OPTIONAL_DISABLED);
	side_arg_define_vec(vec,
			side_arg_list(side_arg_array(items), side_arg_optional(present),
					side_arg_u8(9)));
	side_arg_define_vec(without,
			side_arg_list(side_arg_array(items), side_arg_optional(absent),
					side_arg_u8(9)));
	struct user_event event;
	struct kernel_call call = {.event = &event, .args = &vec};
	struct user_event_record record = new_record(CAPACITY, 3);

	(void)unused;
	prepare(&event, &ev_array);
	assert_int_equal(event.nr_quick, 0);
	assert_int_equal(quick_record(&call, &record.bytes), false);
	assert_int_equal(native_record(&call, &record), 0);
	check_bytes(&record, "\6\0\6\0\1\7\0\0\0\x9\1\1\2\2\3\3", 16, false);
	record = new_record(CAPACITY, 2);
	assert_int_equal(native_record(&call, &record), 0);
	check_bytes(&record, "\6\0\4\0\1\7\0\0\0\x9\1\1\2\2", 14, true);
	call.args = &without;
	record = new_record(CAPACITY, 3);
	assert_int_equal(native_record(&call, &record), 0);
	check_bytes(&record, "\6\0\6\0\0\0\0\0\0\x9\1\1\2\2\3\3", 16, false);
	/* An event without fields has one byte. */
	{
		struct side_arg_vec none = {.len = 0};

		prepare(&event, &ev_none);
		call.args = &none;
		record = new_record(CAPACITY, 3);
		assert_int_equal(native_record(&call, &record), 0);
		check_bytes(&record, "", 1, false);
	}
}

/* ---- numbers, bits, and the capacity ---- */

static side_define_enum_bitmap(
		bits, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("0", 0)));
side_static_event(ev_bits, "k", "bits", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u128("a"), side_field_s128("b"),
				side_field_enum_bitmap(
						"c", &bits, side_elem(side_type_array(numbers))),
				side_field_enum_bitmap("d", &bits, side_elem(side_type_u8())),
				side_field_float_binary64("e"), side_field_null("f"),
				side_field_optional("g", maybe), side_field_s64("h")));

static void test_bits(void **unused)
{
	const unsigned __int128 number =
			(unsigned __int128)0x0102030405060708u << 64 | 0x090a0b0c0d0e0f10u;
	side_arg_define_array(items,
			side_arg_list(side_arg_u16(0x101), side_arg_u16(0x202),
					side_arg_u16(0x303)));
	side_arg_define_optional(absent, side_arg_u32(7), SIDE_OPTIONAL_DISABLED);
	side_arg_define_vec(vec,
			side_arg_list(side_arg_u128(number), side_arg_s128(-2),
					side_arg_array(items), side_arg_u8(9),
					side_arg_float_binary64(1.5), side_arg_null(),
					side_arg_optional(absent), side_arg_s64(-3)));
	static const char expected[] =
			"\x10\x0f\x0e\x0d\x0c\x0b\x0a\x09\x08\7\6\5\4\3\2\1"
			"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
			"\x16\0\6\0\x09\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\xfd\xff\xff\xff\xff\xff\xff\xff"
			"\1\1\2\2\3\3";
	struct user_event event;
	struct kernel_call call = {.event = &event, .args = &vec};
	struct user_event_record record = new_record(CAPACITY, 3);
	struct side_event_description desc = ev_bits;
	struct side_event_field field;
	struct side_type item;

	(void)unused;
	prepare(&event, &ev_bits);
	assert_int_equal(event.fixed_size, 58);
	assert_int_equal(native_record(&call, &record), 0);
	check_bytes(&record, expected, 64, false);
	/* Each field that fits is there, and no byte after the capacity is written. */
	for (size_t capacity = 16; capacity <= 64; capacity++) {
		static const size_t ends[] = {16, 32, 36, 37, 45, 46, 50, 58};
		size_t whole = 0;

		record = new_record(capacity, 3);
		assert_int_equal(native_record(&call, &record), 0);
		assert_int_equal(record.bytes.size, 64);
		for (size_t i = capacity; i < CAPACITY; i++)
			assert_int_equal(at[i], 0x55);
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			whole = ends[i] <= capacity ? ends[i] : whole;
		assert_memory_equal(at, expected, whole);
	}
	record = new_record(CAPACITY, 2);
	assert_int_equal(native_record(&call, &record), 0);
	assert_int_equal(record.bytes.size, 62);
	assert_true(record.cut);
	assert_memory_equal(at + 32, "\x16\0\4\0\x09", 5);
	assert_memory_equal(at + 58, "\1\1\2\2\x55", 5);
	/* A scalar of bits cannot be an element. */
	record = new_record(CAPACITY, 0);
	assert_int_equal(native_record(&call, &record), 0);
	assert_int_equal(record.bytes.size, 58);
	assert_memory_equal(at + 32, "\x16\0\0\0\x09", 5);
	/* No integer has three bytes: the result is the error of the value. */
	memcpy(&field, side_array_at(&ev_bits.fields, 3), sizeof(field));
	memcpy(&item, side_ptr_get(field.side_type.u.side_enum_bitmap.elem_type), sizeof(item));
	item.u.side_integer.integer_size = 3;
	field.side_type.u.side_enum_bitmap.elem_type =
			(typeof(field.side_type.u.side_enum_bitmap.elem_type))SIDE_PTR_INIT(&item);
	desc.fields.elements = (typeof(desc.fields.elements))SIDE_PTR_INIT(&field);
	desc.fields.length = 1;
	event = (struct user_event){.desc = &desc, .fixed_size = 1};
	{
		side_arg_define_vec(one, side_arg_list(side_arg_u8(9)));

		call.args = &one;
		record = new_record(CAPACITY, 3);
		assert_int_equal(native_record(&call, &record), -EINVAL);
	}
}

side_static_event(
		ev_text, "k", "text", SIDE_LOGLEVEL_INFO, side_field_list(side_field_string("t")));

static void check_cut(const char *text, size_t limit, const char *expected)
{
	side_arg_define_vec(vec, side_arg_list(side_arg_string(text)));
	struct user_event event;
	struct kernel_call call = {.event = &event, .args = &vec};
	struct user_event_record record = new_record(CAPACITY, limit);

	prepare(&event, &ev_text);
	assert_int_equal(native_record(&call, &record), 0);
	assert_int_equal(record.bytes.size, 4 + strlen(expected) + 1);
	assert_string_equal((const char *)at + 4, expected);
	assert_int_equal(record.cut, strlen(text) > limit);
}

static void test_cuts(void **unused)
{
	(void)unused;
	check_cut("abc", 3, "abc");
	check_cut("abcd", 3, "abc...");
	/* Bytes that begin a character are left out with it. */
	check_cut("a\xc0\x80zz", 2, "a...");
	check_cut("a\xc0\x80zz", 3, "a...");
	check_cut("a\xc0\x80zz", 4, "a\xc0\x80z...");
	check_cut("a\xbf\xbfzz", 3, "a...");
	check_cut("\xbf\xbf\xbfzz", 3, "...");
	check_cut("a\x7f\x7fzz", 3, "a\x7f\x7f...");
	check_cut("a\xe2\x82\xaczz", 3, "a...");
	check_cut("a\xff\xffzz", 2, "a...");
}

/* A text without space in the record is not written. */
static void test_full(void **unused)
{
	side_arg_define_vec(vec, side_arg_list(side_arg_string("abc")));
	struct user_event event;
	struct kernel_call call = {.event = &event, .args = &vec};

	(void)unused;
	prepare(&event, &ev_text);
	for (size_t space = 4; space <= 8; space++) {
		struct user_event_record record = new_record(space, 100);

		memset(at, 0x77, sizeof(at));
		(void)native_record(&call, &record);
		assert_int_equal(record.bytes.size > space, space < 8);
		for (size_t i = space; i < sizeof(at); i++)
			assert_int_equal(at[i], 0x77);
	}
}

/* ---- fields that are copied ---- */

side_static_event(ev_quick, "k", "quick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u16("a"), side_field_u64("b"), side_field_u128("c"),
				side_field_float_binary32("d"), side_field_float_binary64("e"),
				side_field_float_binary64_be("f"), side_field_byte("g"),
				side_field_pointer("h"), side_field_string("i"),
				side_field_string16("j"), side_field_bool("k"),
				side_field_u32_be("l"), side_field_null("m")));

static const struct {
	bool is_quick;
	uint8_t size;
} quick_fields[] = {{true, 2}, {true, 8}, {false, 0}, {true, 4}, {true, 8}, {false, 0}, {true, 1},
		{true, sizeof(void *)}, {true, 0}, {false, 0}, {false, 0}, {false, 0}, {false, 0}};

static unsigned int quick_of(const struct side_event_field *fields, uint32_t nr)
{
	struct side_event_description desc = ev_quick;
	struct user_event event = {.desc = &desc, .nr_quick = 99};

	desc.fields.elements = (typeof(desc.fields.elements))SIDE_PTR_INIT(fields);
	desc.fields.length = nr;
	quick_prepare(&event);
	if (event.nr_quick == 1)
		return 1 + event.quick[0].size;
	return event.nr_quick;
}

static void test_quick(void **unused)
{
	side_arg_define_vec(vec,
			side_arg_list(side_arg_u8(1), side_arg_string("ab"), side_arg_u16(0x203)));
	side_arg_define_vec(other,
			side_arg_list(side_arg_u8(1), side_arg_string("ab"), side_arg_s16(0x203)));
	side_arg_define_vec(shorter, side_arg_list(side_arg_u8(1), side_arg_string("ab")));
	side_arg_define_vec(null,
			side_arg_list(side_arg_u8(1), side_arg_string(NULL), side_arg_u16(0x203)));
	struct side_arg_vec nowhere = vec;
	static struct side_event_field fields[KERNEL_QUICK_MAX + 1];
	struct user_event event;
	struct kernel_call call = {.event = &event, .args = &vec};
	struct user_event_record record = new_record(CAPACITY, 3);
	struct side_event_field field;

	(void)unused;
	for (uint32_t i = 0; i < sizeof(quick_fields) / sizeof(quick_fields[0]); i++)
		assert_int_equal(quick_of(side_array_at(&ev_quick.fields, i), 1),
				quick_fields[i].is_quick ? 1 + quick_fields[i].size : 0);
	/* All bits of the integer, or as many as it has. */
	memcpy(&field, side_array_at(&ev_quick.fields, 0), sizeof(field));
	field.side_type.u.side_integer.len_bits = 0;
	assert_int_equal(quick_of(&field, 1), 3);
	field.side_type.u.side_integer.len_bits = 16;
	assert_int_equal(quick_of(&field, 1), 3);
	field.side_type.u.side_integer.len_bits = 10;
	assert_int_equal(quick_of(&field, 1), 0);
	field.side_type.u.side_integer.len_bits = 15;
	assert_int_equal(quick_of(&field, 1), 0);
	/* Floats of these two sizes. */
	memcpy(&field, side_array_at(&ev_quick.fields, 3), sizeof(field));
	field.side_type.u.side_float.float_size = 5;
	assert_int_equal(quick_of(&field, 1), 0);
	for (uint32_t i = 0; i < KERNEL_QUICK_MAX + 1; i++)
		memcpy(&fields[i], side_array_at(&ev_quick.fields, 0), sizeof(field));
	assert_int_equal(quick_of(fields, KERNEL_QUICK_MAX), 16);
	assert_int_equal(quick_of(fields, KERNEL_QUICK_MAX + 1), 0);
	/* Arguments that do not match the description are left to the general function. */
	prepare(&event, &ev_record);
	assert_true(quick_record(&call, &record.bytes));
	check_bytes(&record, "\1\2\0\3\0\3\2ab", 10, false);
	call.args = &other;
	assert_false(quick_record(&call, &record.bytes));
	call.args = &shorter;
	assert_false(quick_record(&call, &record.bytes));
	call.args = &null;
	assert_false(quick_record(&call, &record.bytes));
	nowhere.sav = (typeof(nowhere.sav))SIDE_PTR_INIT(NULL);
	call.args = &nowhere;
	assert_false(quick_record(&call, &record.bytes));
}

/* ---- settings ---- */

static void config(const char *text, const char *encoding, const char *expected,
		enum kernel_encoding wanted, size_t nr)
{
	struct kernel_config read;
	char reason[300] = "";
	bool good = kernel_config_read(text, encoding, &read, reason, sizeof(reason));

	assert_int_equal(good, !expected);
	if (expected)
		assert_string_equal(reason, expected);
	else
		assert_int_equal(read.encoding, wanted);
	assert_true(expected || read.nr_patterns == nr);
	free(read.patterns);
}

static void test_settings(void **unused)
{
	char path[] = "/tmp/side-config-XXXXXX", expected[100];
	int fd = mkstemp(path);
	static const char *const files[] = {
			"# x\n\n  events a:*,b:c\t!d\r\nencoding native\nevents e\n",
			"encoding eventheader\nevents 1",
			"encoding auto\n",
			"encoding utf\n",
			"event a\n",
			"events [\n",
	};
	static const char *const reasons[] = {NULL, NULL, "",
			"unknown encoding, expected auto, native or eventheader: \"utf\"",
			"unknown keyword, expected events or encoding: \"event\"",
			"pattern \"[\", column 1: a set that is not closed by \"]\""};

	(void)unused;
	config("1", NULL, NULL, KERNEL_AUTO, 1);
	config("all", "", NULL, KERNEL_AUTO, 1);
	config("a:*, b ,c\td", "native", NULL, KERNEL_NATIVE, 4);
	config("a", "eventheader", NULL, KERNEL_EVENTHEADER, 1);
	config("a", "auto", NULL, KERNEL_AUTO, 1);
	config("a", "Auto", "unknown encoding, expected auto, native or eventheader: \"Auto\"", 0,
			0);
	config("", NULL, "no events in \"\"", 0, 0);
	config(" , ", NULL, "no events in \" , \"", 0, 0);
	config("/nowhere/at-all", NULL, "No such file or directory \"/nowhere/at-all\"", 0, 0);
	assert_true(fd >= 0);
	(void)snprintf(expected, sizeof(expected), "no events in \"%s\"", path);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, files[i], strlen(files[i]), 0), strlen(files[i]));
		config(path, NULL,
				!reasons[i]                   ? NULL
						: *reasons[i] ? reasons[i]
							      : expected,
				i ? KERNEL_EVENTHEADER : KERNEL_NATIVE, i ? 1 : 4);
		/* The environment overrides the file. */
		if (!reasons[i])
			config(path, "auto", NULL, KERNEL_AUTO, i ? 1 : 4);
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_descriptions),
			cmocka_unit_test(test_records),
			cmocka_unit_test(test_arrays),
			cmocka_unit_test(test_bits),
			cmocka_unit_test(test_cuts),
			cmocka_unit_test(test_full),
			cmocka_unit_test(test_quick),
			cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
