/* SPDX-License-Identifier: MIT */
/* Descriptions of events for the kernel as exact texts, bytes of records, records that are truncated at their limits, and settings. */
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

#include "kernel/kernel.h"

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
	/* FNV-1a of "a" and "foobar". */
	assert_int_equal(name_hash(2166136261u, "a"), 0xe40c292c);
	assert_int_equal(name_hash(2166136261u, "foobar"), 0xbf9cf968);
}

/* ---- descriptions ---- */

static side_define_struct(st, side_field_list(side_field_u8("a-b"), side_field_string("c")));
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
side_static_event(ev_parts, "k", "parts", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("t"), side_field_struct("s", st),
				side_field_array("a", numbers), side_field_optional("o", maybe)));
side_static_event(ev_odd, "k", "odd", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("1x"), side_field_u8("common_x"),
				side_field_u8("common"), side_field_u8("a b")));
side_static_event(ev_twice, "k", "twice", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("a.b"), side_field_u8("a:b")));
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
	described(&ev_parts,
			"k_name __rel_loc char[] t; u8 s_a_b; __rel_loc char[] s_c; __rel_loc u16[] a; u8 o_present; u32 o",
			4 + 1 + 4 + 4 + 1 + 4);
	described(&ev_odd, "k_name u8 _1x; u8 _common_x; u8 common; u8 a_b", 4);
	described(&ev_alike, "k_name u8 ab; u8 a; u8 b; u8 u8", 4);
	described(&ev_none, "k_name", 0);
	refused(&ev_twice, "two of its fields have the same name for the kernel");
	refused(&ev_texts, "it has an array of something else than scalars");
	refused(&ev_maybe, "it has an optional value that is no scalar");
	refused(&ev_dynamic, "it has values whose type only the call determines");
	refused(&ev_variadic, "it is variadic");
}

/* ---- records ---- */

side_static_event(ev_record, "k", "record", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("x"), side_field_string("t"), side_field_u16("y")));
side_static_event(ev_array, "k", "array", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_array("a", numbers), side_field_optional("o", maybe),
				side_field_u8("x")));

static unsigned char at[CAPACITY];

static void prepare(struct kernel_event *event, const struct side_event_description *desc)
{
	char text[KERNEL_DESCRIPTION_SIZE] = "k";
	const char *reason;

	*event = (struct kernel_event){.desc = desc};
	assert_true(native_describe(desc, text, sizeof(text), &event->fixed_size, &reason));
	quick_prepare(event);
}

static void check_bytes(
		const struct kernel_record *record, const char *expected, size_t size, bool cut)
{
	assert_int_equal(record->bytes.size, size);
	assert_memory_equal(record->bytes.at, expected, size);
	assert_int_equal(record->cut, cut);
}

static struct kernel_record new_record(size_t room, size_t limit)
{
	memset(at, 0x55, sizeof(at));
	return (struct kernel_record){.bytes = {.at = at, .room = room}, .limit = limit};
}

static void test_records(void **unused)
{
	side_arg_define_vec(vec,
			side_arg_list(side_arg_u8(1), side_arg_string("h\xc3\xa9llo"),
					side_arg_u16(0x203)));
	struct kernel_event event;
	struct kernel_call call = {.event = &event, .args = &vec};
	struct kernel_record record;

	(void)unused;
	prepare(&event, &ev_record);
	assert_int_equal(event.nr_quick, 3);
	/* Both functions make the same record. The first one leaves events that it does not support to the other. */
	for (size_t room = 13; room <= 15; room++) {
		record = new_record(room, UINT16_MAX);
		assert_int_equal(quick_record(&call, &record.bytes), room >= 14);
		if (room >= 14)
			check_bytes(&record, "\1\2\0\7\0\3\2h\xc3\xa9llo", 14, false);
		record = new_record(room, UINT16_MAX);
		assert_int_equal(native_record(&call, &record), 0);
		assert_int_equal(record.bytes.size, 14);
		if (room >= 14)
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
	struct kernel_event event;
	struct kernel_call call = {.event = &event, .args = &vec};
	struct kernel_record record = new_record(CAPACITY, 3);

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
			"not auto, native or eventheader: \"utf\"",
			"neither events nor encoding: \"event\"",
			"pattern \"[\", column 1: a set that is not closed by \"]\""};

	(void)unused;
	config("1", NULL, NULL, KERNEL_AUTO, 1);
	config("all", "", NULL, KERNEL_AUTO, 1);
	config("a:*, b ,c\td", "native", NULL, KERNEL_NATIVE, 4);
	config("a", "eventheader", NULL, KERNEL_EVENTHEADER, 1);
	config("a", "auto", NULL, KERNEL_AUTO, 1);
	config("a", "Auto", "not auto, native or eventheader: \"Auto\"", 0, 0);
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
			cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
