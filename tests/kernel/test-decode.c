/* SPDX-License-Identifier: MIT */
/*
 * Records that describe themselves (EventHeader): the type of each encoding and format, the bytes
 * of each value in both byte orders, and each record that is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel-events/bytes.h"
#include "kernel-events/eventheader.h"
#include "kernel-events/eventheader-parts.h"

#define COUNTED 0x40
#define FIXED 0x20
#define MORE 0x80

/* ---- a record ---- */

static uint8_t at[8192];
static size_t size, metadata_at;
static bool foreign; /* in the other byte order */

static void put(unsigned int byte)
{
	assert_true(size < sizeof(at));
	at[size++] = (uint8_t)byte;
}

static void put16(unsigned int word)
{
	put(foreign ? word >> 8 : word & 0xff);
	put(foreign ? word & 0xff : word >> 8);
}

static void put_bytes(const void *from, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		put(((const uint8_t *)from)[i]);
}

/* Begins a record with metadata that start with the name of the event. */
static void begin(void)
{
	size = 0;
	put(foreign ? 4 : 6);
	put_bytes("\0\0\0\0\0\0\0", 7);
	put16(0);
	put16(1);
	metadata_at = size;
	put_bytes("ev;id=1", 8);
}

static void field(const char *name, unsigned int encoding, unsigned int format)
{
	put_bytes(name, strlen(name) + 1);
	put(encoding | (format ? MORE : 0));
	if (format)
		put(format);
}

/* Ends the metadata: the values follow. */
static void end(void)
{
	size_t nr = size - metadata_at, whole = size;

	size = metadata_at - 4;
	put16((unsigned int)nr);
	size = whole;
}

/* ---- the result ---- */

static char shown[4000];
static struct byte_buffer values;
static struct eventheader header;

static void show(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void show(const char *format, ...)
{
	size_t used = strlen(shown);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(shown + used, sizeof(shown) - used, format, arguments);
	va_end(arguments);
}

/*
 * u8, s16, x32 (hexadecimal), x8b (a byte), >u16 (big-endian), e8 (with labels), f64, t (text),
 * {NAME TYPE ...}; a hidden member has a * behind its name. Of arrays and sequences the element is
 * before [LENGTH], of options ?TAG is.
 */
static void show_type(const struct ctf_type *type)
{
	switch (type->kind) {
	case CTF_INTEGER:
		show("%s%c%u%s", type->big_endian ? ">" : "",
				type->base == 16                  ? 'x'
						: type->is_signed ? 's'
								  : 'u',
				type->size, type->byte ? "b" : "");
		break;
	case CTF_ENUM:
		show("e%u", type->size);
		for (uint32_t i = 0; i < type->label_count; i++)
			show(",%s=%d-%d", type->labels[i].text, (int)type->labels[i].begin,
					(int)type->labels[i].end);
		break;
	case CTF_FLOAT: show("f%u", type->size); break;
	case CTF_STRING: show("t"); break;
	case CTF_ARRAY:
		show_type(type->element);
		show("[%u]", (unsigned int)type->length);
		break;
	case CTF_SEQUENCE:
		show_type(type->element);
		show("[%s]", type->reference);
		break;
	case CTF_VARIANT:
		assert_true(type->optional);
		assert_int_equal(type->member_count, 2);
		assert_string_equal(type->members[0].name, "none");
		assert_int_equal(type->members[0].type->member_count, 0);
		assert_string_equal(type->members[1].name, "some");
		show("?%s:", type->reference);
		show_type(type->members[1].type);
		break;
	case CTF_STRUCT:
		show("{");
		for (uint32_t i = 0; i < type->member_count; i++) {
			show("%s%s%s ", i ? " " : "", type->members[i].name,
					type->members[i].hidden ? "*" : "");
			show_type(type->members[i].type);
		}
		show("}");
		break;
	}
}

static int decode_bytes(const uint8_t *record, size_t nr)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct eventheader_class class;
	int ret;

	assert_non_null(arena);
	*shown = '\0';
	values.size = 0;
	bytes_put(&values, "before", 6);
	ret = eventheader_split(record, nr, &header);
	if (!ret)
		ret = eventheader_parse(&header, arena, &class);
	if (!ret) {
		assert_string_equal(class.name, "ev");
		show_type(class.type);
		ret = eventheader_convert(&class, &header, &values);
	}
	ctf_arena_destroy(arena);
	return ret;
}

/* 0, or the error. */
static int decode(void)
{
	return decode_bytes(at, size);
}

/* The values are appended to the existing bytes; an error leaves those unchanged. */
static void check_values(const void *expected, size_t nr)
{
	assert_int_equal(values.size, 6 + nr);
	assert_memory_equal(values.data, "before", 6);
	assert_memory_equal(values.data + 6, expected, nr);
}

static void check_refused(void)
{
	assert_int_equal(decode(), -EINVAL);
	check_values("", 0);
}

/* ---- types ---- */

static const char *const types[14] = {
		[EH_VALUE8] = "u8 u8 s8 x8 u8 u8 u8 B8 u8 x8b[1] u8 u8 u8 u8 u8 u8 u8 u8 u8 u8",
		[EH_VALUE16] = "u16 u16 s16 x16 u16 u16 u16 B16 u16 x8b[2] u16 u16 u16 u16 u16 u16 >u16 u16 u16 u16",
		[EH_VALUE32] = "u32 u32 s32 x32 s32 s32 s32 B32 f32 x8b[4] u32 u32 u32 u32 u32 u32 u32 x8b[4] x8b[4] u32",
		[EH_VALUE64] = "u64 u64 s64 x64 s64 s64 s64 u64 f64 x8b[8] u64 u64 u64 u64 u64 u64 u64 u64 u64 u64",
		[EH_VALUE128] = "x8b[16]",
		[EH_ZERO8] = "t",
		[EH_ZERO16] = "t",
		[EH_ZERO32] = "t",
		[EH_COUNTED8] = "t ?u64 ?s64 ?x64 ?s64 ?s64 ?s64 ?B8 ?f64 L t t t t t L L L L L",
		[EH_COUNTED16] = "t",
		[EH_COUNTED32] = "t",
		[EH_BINARY] = "L ?u64 ?s64 ?x64 ?s64 ?s64 ?s64 ?B8 ?f64 L t t t t t L L L L L",
};

static const char *expected_type(const char *word)
{
	static char text[200];
	const char *plain = *word == '?' ? word + 1 : word;
	char whole[64];

	(void)snprintf(whole, sizeof(whole), "%s", plain);
	if (!strcmp(plain, "B8"))
		(void)snprintf(whole, sizeof(whole), "e8,false=0-0,true=1-255");
	else if (*plain == 'B')
		(void)snprintf(whole, sizeof(whole), "e%s,false=0-0,true=1-1", plain + 1);
	if (*plain == 'L')
		(void)snprintf(text, sizeof(text), "{_a_length* u16 _a x8b[_a_length]}");
	else if (*word == '?')
		(void)snprintf(text, sizeof(text), "{_a_tag* e8,none=0-0,some=1-1 _a ?_a_tag:%s}",
				whole);
	else
		(void)snprintf(text, sizeof(text), "{_a %s}", whole);
	return text;
}

static void test_types(void **unused)
{
	char argv[300], *remainder, *word;

	(void)unused;
	for (unsigned int encoding = EH_VALUE8; encoding <= EH_BINARY; encoding++) {
		(void)snprintf(argv, sizeof(argv), "%s", types[encoding]);
		word = strtok_r(argv, " ", &remainder);
		for (unsigned int format = 0; format < 20; format++) {
			char *next;

			begin();
			field("a;x=1", encoding, format);
			end();
			(void)decode();
			assert_string_equal(shown, expected_type(word));
			next = strtok_r(NULL, " ", &remainder);
			word = next ? next : word;
		}
	}
}

/* ---- values ---- */

#define CHECK_VALUE(encoding, format, payload, expected)      \
	do {                                                  \
		begin();                                      \
		field("a", encoding, format);                 \
		end();                                        \
		put_bytes(payload, sizeof(payload) - 1);      \
		assert_int_equal(decode(), 0);                \
		check_values(expected, sizeof(expected) - 1); \
		/* Without its last byte it is refused. */    \
		size--;                                       \
		check_refused();                              \
	} while (0)

static void check_wrong(unsigned int encoding, unsigned int format, const void *payload, size_t nr)
{
	begin();
	field("a", encoding, format);
	end();
	put_bytes(payload, nr);
	check_refused();
}

static void test_numbers(void **unused)
{
	(void)unused;
	foreign = false;
	CHECK_VALUE(EH_VALUE8, 0, "\1", "\1");
	CHECK_VALUE(EH_VALUE16, 0, "\1\2", "\1\2");
	CHECK_VALUE(EH_VALUE32, 2, "\1\2\3\4", "\1\2\3\4");
	CHECK_VALUE(EH_VALUE64, 3, "\1\2\3\4\5\6\7\x08", "\1\2\3\4\5\6\7\x08");
	CHECK_VALUE(EH_VALUE128, 0, "0123456789abcdef", "0123456789abcdef");
	foreign = true;
	CHECK_VALUE(EH_VALUE8, 0, "\1", "\1");
	CHECK_VALUE(EH_VALUE16, 0, "\1\2", "\2\1");
	CHECK_VALUE(EH_VALUE32, EH_FORMAT_FLOAT, "\1\2\3\4", "\4\3\2\1");
	CHECK_VALUE(EH_VALUE64, 3, "\1\2\3\4\5\6\7\x08", "\x08\7\6\5\4\3\2\1");
	CHECK_VALUE(EH_VALUE128, 0, "0123456789abcdef", "0123456789abcdef");
	/* Bytes, addresses and ports have one order on all machines. */
	CHECK_VALUE(EH_VALUE32, EH_FORMAT_HEX_BYTES, "\1\2\3\4", "\1\2\3\4");
	CHECK_VALUE(EH_VALUE32, EH_FORMAT_IP, "\1\2\3\4", "\1\2\3\4");
	CHECK_VALUE(EH_VALUE32, EH_FORMAT_IP_OLD, "\1\2\3\4", "\1\2\3\4");
	CHECK_VALUE(EH_VALUE16, EH_FORMAT_IP, "\1\2", "\2\1");
	CHECK_VALUE(EH_VALUE16, EH_FORMAT_PORT, "\1\2", "\1\2");
	CHECK_VALUE(EH_VALUE32, EH_FORMAT_PORT, "\1\2\3\4", "\4\3\2\1");
	foreign = false;
}

static void test_texts(void **unused)
{
	(void)unused;
	CHECK_VALUE(EH_ZERO8, EH_FORMAT_TEXT_UTF, "ab\xe9\0", "ab\xe9\0");
	CHECK_VALUE(EH_ZERO8, EH_FORMAT_TEXT8, "a\x7f\x80\xe9\0", "a\x7f\xc2\x80\xc3\xa9\0");
	CHECK_VALUE(EH_ZERO8, 0, "\0", "\0");
	CHECK_VALUE(EH_ZERO16, 0, "\x7f\0\x80\0\xff\7\0\x08\xff\xff\0\0",
			"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\0");
	/* Pairs of surrogates, and lone ones. */
	CHECK_VALUE(EH_ZERO16, 0, "\x3d\xd8\x04\xde\0\xd8\0\xdc\xff\xdb\xff\xdf\0\0",
			"\xf0\x9f\x98\x84\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\0");
	CHECK_VALUE(EH_ZERO16, 0, "\x3d\xd8\x41\0\x3d\xd8\0\0",
			"\xed\xa0\xbd"
			"A\xed\xa0\xbd\0");
	CHECK_VALUE(EH_ZERO16, 0, "\x3d\xd8\0\xe0\0\xdc\x3d\xd8\xff\xdb\0\0",
			"\xed\xa0\xbd\xee\x80\x80\xed\xb0\x80\xed\xa0\xbd\xed\xaf\xbf\0");
	CHECK_VALUE(EH_ZERO32, 0, "\xff\xff\0\0\0\0\1\0\xff\xff\x10\0\0\0\x11\0\0\0\0\0",
			"\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbd\0");
	/* Counted texts end at their first zero, but use as many bytes as their number. */
	CHECK_VALUE(EH_COUNTED8, 0, "\3\0abc", "abc\0");
	CHECK_VALUE(EH_COUNTED8, 0, "\3\0a\0c", "a\0");
	CHECK_VALUE(EH_COUNTED8, EH_FORMAT_TEXT8, "\1\0\xe9", "\xc3\xa9\0");
	CHECK_VALUE(EH_COUNTED16, 0, "\2\0A\0\x3d\xd8", "A\xed\xa0\xbd\0");
	CHECK_VALUE(EH_COUNTED32, 0, "\1\0A\0\0\0", "A\0");
	CHECK_VALUE(EH_COUNTED32, 0, "\0\0", "\0");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_TEXT_UTF, "\2\0xy", "xy\0");
	foreign = true;
	CHECK_VALUE(EH_ZERO16, 0, "\0A\xd8\x3d\xde\x04\0\0", "A\xf0\x9f\x98\x84\0");
	CHECK_VALUE(EH_COUNTED32, 0, "\0\1\0\1\xf6\4", "\xf0\x9f\x98\x84\0");
	foreign = false;
	/* The field after a text begins after the text. */
	begin();
	field("a", EH_ZERO16, 0);
	field("b", EH_VALUE8, 0);
	field("c", EH_COUNTED16, 0);
	field("d", EH_VALUE8, 0);
	end();
	put_bytes("A\0\0\0\7\2\0\0\0C\0\x08", 12);
	assert_int_equal(decode(), 0);
	check_values("A\0\7\0\x08", 5);
}

static void test_options(void **unused)
{
	(void)unused;
	CHECK_VALUE(EH_BINARY, EH_FORMAT_UNSIGNED, "\0\0", "\0");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_UNSIGNED, "\1\0\xfe", "\1\xfe\0\0\0\0\0\0\0");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_SIGNED, "\1\0\xfe", "\1\xfe\xff\xff\xff\xff\xff\xff\xff");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_SIGNED, "\1\0\x7e", "\1\x7e\0\0\0\0\0\0\0");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_HEX, "\2\0\1\xfe", "\1\1\xfe\0\0\0\0\0\0");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_ERRNO, "\2\0\1\xfe", "\1\1\xfe\xff\xff\xff\xff\xff\xff");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_PID, "\4\0\1\2\3\xfe", "\1\1\2\3\xfe\xff\xff\xff\xff");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_TIME, "\4\0\1\2\3\xfe", "\1\1\2\3\xfe\xff\xff\xff\xff");
	CHECK_VALUE(EH_COUNTED8, EH_FORMAT_SIGNED, "\x08\0\1\2\3\4\5\6\7\xfe",
			"\1\1\2\3\4\5\6\7\xfe");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_FLOAT, "\4\0\0\0\xc0\x3f", "\1\0\0\0\0\0\0\xf8\x3f");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_FLOAT, "\x08\0\0\0\0\0\0\0\4\x40", "\1\0\0\0\0\0\0\4\x40");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_BOOLEAN, "\1\0\2", "\1\2");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_BOOLEAN, "\2\0\xff\0", "\1\xff");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_BOOLEAN, "\2\0\0\1", "\1\xff");
	check_wrong(EH_BINARY, EH_FORMAT_UNSIGNED, "\3\0\1\2\3", 5);
	check_wrong(EH_BINARY, EH_FORMAT_UNSIGNED,
			"\x10\0"
			"0123456789abcdef",
			18);
	check_wrong(EH_BINARY, EH_FORMAT_FLOAT, "\2\0\1\2", 4);
	check_wrong(EH_BINARY, EH_FORMAT_FLOAT, "\1\0\1", 3);
	CHECK_VALUE(EH_BINARY, 0, "\3\0a\0c", "\3\0a\0c");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_UUID, "\0\0", "\0\0");
	foreign = true;
	CHECK_VALUE(EH_BINARY, EH_FORMAT_SIGNED, "\0\2\xfe\1", "\1\1\xfe\xff\xff\xff\xff\xff\xff");
	CHECK_VALUE(EH_BINARY, EH_FORMAT_FLOAT, "\0\4\x3f\xc0\0\0", "\1\0\0\0\0\0\0\xf8\x3f");
	CHECK_VALUE(EH_BINARY, 0, "\0\3abc", "\3\0abc");
	foreign = false;
}

/* ---- arrays and structures ---- */

static void test_arrays(void **unused)
{
	(void)unused;
	for (int i = 0; i < 2; i++) {
		foreign = i;
		begin();
		field("a", EH_VALUE16 | FIXED, EH_FORMAT_SIGNED);
		put16(3);
		field("a", EH_VALUE16 | COUNTED, 0);
		field("c", EH_BINARY | COUNTED, EH_FORMAT_UNSIGNED);
		field("d", EH_BINARY | FIXED, 0);
		put16(1);
		field("e", EH_STRUCT | FIXED, 2);
		put16(2);
		field("f", EH_VALUE8, 0);
		field("g", EH_STRUCT, 1);
		field("h", EH_ZERO8, 0);
		field("i", EH_VALUE8, 0);
		end();
		put16(0x102);
		put16(0x304);
		put16(0x506);
		put16(2);
		put16(0x708);
		put16(0x90a);
		put16(2);
		put16(0);
		put16(1);
		put(0x77);
		put16(2);
		put_bytes("xy", 2);
		put_bytes("\x11one\0\x22two\0\x33", 11);
		assert_int_equal(decode(), 0);
		assert_string_equal(shown,
				"{_a s16[3] _a_2_length* u16 _a_2 u16[_a_2_length] _c_length* u16 "
				"_c {_tag* e8,none=0-0,some=1-1 _value ?_tag:u64}[_c_length] "
				"_d {_length* u16 _elements x8b[_length]}[1] "
				"_e {_f u8 _g {_h t}}[2] _i u8}");
		check_values("\2\1\4\3\6\5\2\0\x08\7\x0a\x09\2\0\0\1\x77\0\0\0\0\0\0\0\2\0xy\x11one\0\x22two\0\x33",
				39);
		size--;
		check_refused();
	}
	foreign = false;
}

/* If one part of the metadata is missing, the record is refused. */
static void test_metadata(void **unused)
{
	static const unsigned int wrong[] = {0, EH_BINARY + 1, 31, EH_VALUE8 | COUNTED | FIXED};

	(void)unused;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		begin();
		field("a", wrong[i], 0);
		if (wrong[i] & FIXED)
			put16(1);
		end();
		put_bytes("12345678", 8);
		check_refused();
	}
	/* No elements; one; no number of elements. */
	for (unsigned int count = 0; count < 2; count++) {
		begin();
		field("a", EH_VALUE8 | FIXED, 0);
		put16(count);
		end();
		put(7);
		assert_int_equal(decode(), count ? 0 : -EINVAL);
	}
	begin();
	field("a", EH_VALUE8 | FIXED, 0);
	put(1);
	end();
	put(7);
	check_refused();
	/* The number of elements ends within its two bytes. */
	begin();
	field("a", EH_VALUE8 | COUNTED, 0);
	end();
	put(0);
	check_refused();
	begin();
	field("a", EH_BINARY, 0);
	end();
	put(0);
	check_refused();
	/* A name without a terminator, without an encoding, without a format, without a tag. */
	begin();
	put('a');
	end();
	check_refused();
	begin();
	put_bytes("a", 2);
	end();
	check_refused();
	begin();
	put_bytes("a\0\x82", 3);
	end();
	put(7);
	check_refused();
	for (unsigned int nr = 0; nr < 3; nr++) {
		begin();
		put_bytes("a\0\x82\x83", 4);
		put_bytes("\5\6", nr);
		end();
		put(7);
		assert_int_equal(decode(), nr == 2 ? 0 : -EINVAL);
		if (nr == 2)
			assert_string_equal(shown, "{_a x8}");
	}
	/* The metadata of a structure gives the number of its members. */
	for (unsigned int members = 0; members < 4; members++) {
		begin();
		field("a", EH_STRUCT, members | MORE);
		put16(9);
		field("b", EH_VALUE8, 0);
		field("c", EH_VALUE16, 0);
		end();
		put_bytes("\1\2\3", 3);
		assert_int_equal(decode(), members == 0 || members == 3 ? -EINVAL : 0);
		if (members && members < 3)
			assert_string_equal(shown,
					members == 1 ? "{_a {_b u8} _c u16}"
						     : "{_a {_b u8 _c u16}}");
	}
	/* An event without fields, and one whose name has no end. */
	begin();
	end();
	assert_int_equal(decode(), 0);
	assert_string_equal(shown, "{}");
	check_values("", 0);
	size = 0;
	put_bytes("\6\0\0\0\0\0\0\0\2\0\1\0ev", 14);
	check_refused();
}

/* ---- the parts of a record ---- */

static int split(const void *record, size_t nr)
{
	return eventheader_split(record, nr, &header);
}

static void test_parts(void **unused)
{
	static const char id[] = "0123456789abcdefghijklmnopqrstuv";
	char record[100];

	(void)unused;
	assert_int_equal(split("\7\1\2\3\4\5\6\7\3\0\1\0evnp", 16), 0);
	assert_int_equal(header.flags, 7);
	assert_int_equal(header.version, 1);
	assert_int_equal(header.id, 0x302);
	assert_int_equal(header.tag, 0x504);
	assert_int_equal(header.opcode, 6);
	assert_int_equal(header.level, 7);
	assert_int_equal(header.metadata_size, 3);
	assert_memory_equal(header.metadata, "evn", 3);
	assert_int_equal(header.payload_size, 1);
	assert_int_equal(*header.payload, 'p');
	assert_null(header.activity);
	assert_int_equal(header.activity_size, 0);
	assert_false(header.is_swapped);
	assert_int_equal(split("\4\1\2\3\4\5\6\7\0\3\0\1evnp", 16), 0);
	assert_true(header.is_swapped);
	assert_int_equal(header.id, 0x203);
	assert_int_equal(header.tag, 0x405);
	assert_int_equal(header.metadata_size, 3);
	/* An unknown bit; no extension; records that end within their parts. */
	assert_int_equal(split("\x0e\1\2\3\4\5\6\7\3\0\1\0evnp", 16), -EINVAL);
	assert_int_equal(split("\2\1\2\3\4\5\6\7\3\0\1\0evnp", 16), -EINVAL);
	for (size_t nr = 0; nr <= 15; nr++)
		assert_int_equal(split("\6\1\2\3\4\5\6\7\3\0\1\0evn", nr), nr < 15 ? -EINVAL : 0);
	/*
	 * An extension without a type, one that comes twice, and one of an unknown type, which is
	 * ignored.
	 */
	assert_int_equal(split("\6\1\2\3\4\5\6\7\1\0\0\x80x\3\0\1\0evn", 20), -EINVAL);
	assert_int_equal(split("\6\1\2\3\4\5\6\7\1\0\1\x80x\3\0\1\0evn", 20), -EINVAL);
	assert_int_equal(split("\6\1\2\3\4\5\6\7\1\0\5\x80x\3\0\1\0evn", 20), 0);
	assert_memory_equal(header.metadata, "evn", 3);
	assert_int_equal(split("\6\1\2\3\4\5\6\7\1\0\5\0x\3\0\1\0evn", 20), -EINVAL);
	/* An activity, and another one. */
	for (unsigned int twice = 0; twice < 2; twice++) {
		size_t nr = 8;

		memcpy(record, "\6\1\2\3\4\5\6\7", 8);
		for (unsigned int i = 0; i <= twice; i++) {
			memcpy(record + nr, "\x10\0\2\x80", 4);
			memcpy(record + nr + 4, id, 16);
			nr += 20;
		}
		memcpy(record + nr, "\1\0\1\0e", 5);
		assert_int_equal(split(record, nr + 5), twice ? -EINVAL : 0);
		if (!twice) {
			assert_int_equal(header.activity_size, 16);
			assert_memory_equal(header.activity, id, 16);
		}
	}
}

/* ---- the largest result ---- */

static void test_largest(void **unused)
{
	static uint8_t record[EVENTHEADER_BYTES_MAX + 1000];
	const size_t last = EVENTHEADER_BYTES_MAX - 15 * 65537 - 2;

	(void)unused;
	for (size_t more = 0; more < 2; more++) {
		size_t nr;
		uint16_t whole = 65535, part = (uint16_t)(last + more);

		begin();
		for (unsigned int i = 0; i < 16; i++)
			field("a", EH_BINARY, 0);
		field("b", EH_VALUE8, 0);
		end();
		memcpy(record, at, size);
		nr = size;
		for (unsigned int i = 0; i < 16; i++) {
			memcpy(record + nr, i < 15 ? &whole : &part, 2);
			nr += 2 + (size_t)(i < 15 ? whole : part);
		}
		record[nr++] = 9;
		assert_int_equal(decode_bytes(record, nr), more ? -EINVAL : 0);
		assert_int_equal(values.size, more ? 6 : 6 + EVENTHEADER_BYTES_MAX + 1);
		if (!more)
			assert_int_equal(values.data[values.size - 1], 9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_types),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_texts),
			cmocka_unit_test(test_options),
			cmocka_unit_test(test_arrays),
			cmocka_unit_test(test_metadata),
			cmocka_unit_test(test_parts),
			cmocka_unit_test(test_largest),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	free(values.data);
	return ret;
}
