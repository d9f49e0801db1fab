/* SPDX-License-Identifier: MIT */
/* Frames byte by byte, names at their limits, and the UUID that is replaced in metadata. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "relay/frame.h"
#include "relay/identity.h"

static const unsigned char payload[] = "a payload of 29 bytes, no mor";

#define PAYLOAD (sizeof(payload) - 1)
#define WHOLE (FRAME_HEAD + PAYLOAD + FRAME_TAIL)

/* The sum of RFC 3720 for each length: full words with the table, and single bytes. */
static uint32_t plain_crc(const unsigned char *bytes, size_t size)
{
	uint32_t crc = ~0u;

	while (size--) {
		crc ^= *bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void test_crc(void **unused)
{
	(void)unused;
	assert_int_equal(framing_crc(0, "123456789", 9), 0xe3069283);
	for (size_t size = 0; size <= PAYLOAD; size++) {
		assert_int_equal(framing_crc(0, payload, size), plain_crc(payload, size));
		assert_int_equal(framing_crc(framing_crc(0, payload, size), payload + size,
						 PAYLOAD - size),
				plain_crc(payload, PAYLOAD));
	}
}

static void make_frame(unsigned char *frame, uint32_t size)
{
	struct frame_writer tail = {
			frame + FRAME_HEAD + size, frame + FRAME_HEAD + size + FRAME_TAIL, false};

	framing_head(frame, 3, UINT64_C(0x0102030405060708), UINT64_C(0x1112131415161718), size);
	framing_put_u32(&tail, framing_crc(0, frame + FRAME_HEAD, size));
	assert_false(tail.full);
}

/* The offsets of docs/spec/byte-stream.md. */
static void test_head(void **unused)
{
	static const unsigned char numbers[16] = {
			8, 7, 6, 5, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
	unsigned char frame[WHOLE], summed[28];
	uint32_t crc;

	(void)unused;
	memset(frame, 0x77, sizeof(frame));
	memcpy(frame + FRAME_HEAD, payload, PAYLOAD);
	make_frame(frame, PAYLOAD);
	assert_memory_equal(frame, "\xf5Sd\xe1\x01\x03\0\0\x1d\0\0\0", 12);
	assert_memory_equal(frame + 16, numbers, sizeof(numbers));
	memcpy(summed, frame, 12);
	memcpy(summed + 12, frame + 16, 16);
	crc = plain_crc(summed, sizeof(summed));
	for (int i = 0; i < 4; i++)
		assert_int_equal(frame[12 + i], crc >> 8 * i & 0xff);
}

static void found(const unsigned char *bytes, size_t size, enum frame_found what, size_t used)
{
	struct relay_frame frame = {0};
	size_t got = 12345;

	assert_int_equal(framing_find(bytes, size, &got, &frame), what);
	assert_int_equal(got, used);
	if (what != FRAME_WHOLE)
		return;
	assert_int_equal(frame.type, 3);
	assert_true(frame.session == UINT64_C(0x0102030405060708));
	assert_true(frame.sequence == UINT64_C(0x1112131415161718));
	assert_ptr_equal(frame.payload, bytes + FRAME_HEAD);
	assert_int_equal(frame.size, used - FRAME_HEAD - FRAME_TAIL);
}

static void test_find(void **unused)
{
	unsigned char bytes[WHOLE + 8];
	unsigned char *large = calloc(1, FRAME_HEAD + FRAME_PAYLOAD_MAX + 1 + FRAME_TAIL);

	(void)unused;
	assert_non_null(large);
	memset(bytes, 0x20, sizeof(bytes));
	memcpy(bytes + FRAME_HEAD, payload, PAYLOAD);
	make_frame(bytes, PAYLOAD);
	for (size_t size = 0; size < WHOLE; size++)
		found(bytes, size, FRAME_MORE, 0);
	found(bytes, WHOLE, FRAME_WHOLE, WHOLE);
	found(bytes, WHOLE + 8, FRAME_WHOLE, WHOLE);
	/* Skip garbage up to the next byte that can begin a frame. */
	found(bytes + 1, WHOLE - 1, FRAME_GARBAGE, WHOLE - 1);
	bytes[FRAME_HEAD + 5] = 0xf5;
	found(bytes, WHOLE, FRAME_DAMAGED, FRAME_HEAD + 5);
	found(bytes + 1, FRAME_HEAD + 4, FRAME_GARBAGE, FRAME_HEAD + 4);
	found(bytes + 1, FRAME_HEAD + 5, FRAME_GARBAGE, FRAME_HEAD + 4);
	found((const unsigned char *)"x", 1, FRAME_GARBAGE, 1);
	found((const unsigned char *)"\xf5\xf5", 2, FRAME_GARBAGE, 1);
	/* Each byte of the head. */
	memcpy(bytes + FRAME_HEAD, payload, PAYLOAD);
	for (size_t at = 0; at < WHOLE; at++) {
		bytes[at] ^= 0x40;
		found(bytes, WHOLE, at < FRAME_HEAD ? FRAME_GARBAGE : FRAME_DAMAGED, WHOLE);
		bytes[at] ^= 0x40;
	}
	/* Another version, whose sum is right. */
	bytes[4] = FRAME_VERSION + 1;
	{
		uint32_t crc = framing_crc(framing_crc(0, bytes, 12), bytes + 16, 16);

		for (int i = 0; i < 4; i++)
			bytes[12 + i] = (unsigned char)(crc >> 8 * i);
	}
	found(bytes, WHOLE, FRAME_GARBAGE, WHOLE);
	/* The largest payload, and one byte more. */
	make_frame(large, FRAME_PAYLOAD_MAX);
	found(large, FRAME_HEAD + FRAME_PAYLOAD_MAX + FRAME_TAIL, FRAME_WHOLE,
			FRAME_HEAD + FRAME_PAYLOAD_MAX + FRAME_TAIL);
	make_frame(large, FRAME_PAYLOAD_MAX + 1);
	found(large, FRAME_HEAD + FRAME_PAYLOAD_MAX + 1 + FRAME_TAIL, FRAME_GARBAGE,
			FRAME_HEAD + FRAME_PAYLOAD_MAX + 1 + FRAME_TAIL);
	free(large);
}

static void test_numbers(void **unused)
{
	unsigned char bytes[15];
	struct frame_writer writer = {bytes, bytes + sizeof(bytes), false};
	struct frame_reader reader = {bytes, bytes + 13, false};

	(void)unused;
	framing_put_u8(&writer, 0x81);
	framing_put_u32(&writer, 0x82838485);
	framing_put_u64(&writer, UINT64_C(0x9192939495969798));
	assert_int_equal(writer.at - bytes, 13);
	assert_memory_equal(bytes, "\x81\x85\x84\x83\x82\x98\x97\x96\x95\x94\x93\x92\x91", 13);
	framing_put_u32(&writer, 1);
	assert_true(writer.full);
	assert_int_equal(writer.at - bytes, 13);
	assert_int_equal(framing_get_u8(&reader), 0x81);
	assert_int_equal(framing_get_u32(&reader), 0x82838485);
	assert_true(framing_get_u64(&reader) == UINT64_C(0x9192939495969798));
	assert_false(reader.bad);
	assert_int_equal(framing_get_u8(&reader), 0);
	assert_true(reader.bad);
	/* A damaged frame remains damaged. */
	reader.at = bytes;
	assert_int_equal(framing_get_u8(&reader), 0);
	reader = (struct frame_reader){bytes, bytes + 3, false};
	assert_int_equal(framing_get_u32(&reader), 0);
	assert_true(reader.bad);
	reader = (struct frame_reader){bytes, bytes + 7, false};
	assert_true(framing_get_u64(&reader) == 0);
	assert_true(reader.bad);
}

static void get_name(const char *bytes, size_t size, size_t capacity, const char *expected)
{
	struct frame_reader reader = {
			(const unsigned char *)bytes, (const unsigned char *)bytes + size, false};
	char *name = malloc(capacity);

	assert_non_null(name);
	framing_get_name(&reader, name, capacity);
	assert_int_equal(reader.bad, !expected);
	assert_string_equal(name, expected ? expected : "");
	free(name);
}

static void test_names(void **unused)
{
	unsigned char bytes[304];
	struct frame_writer writer = {bytes, bytes + sizeof(bytes), false};
	char name[303];

	(void)unused;
	get_name("\3\0abc", 5, 4, "abc");
	get_name("\3\0abc", 5, 3, NULL);
	get_name("\3\0abc", 4, 4, NULL);
	get_name("\3\0a\0c", 5, 4, NULL);
	get_name("\3", 1, 4, NULL);
	get_name("\0\0", 2, 4, "");
	/* Both bytes of the length. */
	memset(name, 'n', 302);
	name[302] = '\0';
	framing_put_name(&writer, name);
	assert_int_equal(writer.at - bytes, 304);
	assert_false(writer.full);
	assert_memory_equal(bytes, "\x2e\x01", 2);
	get_name((const char *)bytes, 304, 303, name);
}

/* All members differ. */
static void test_pieces(void **unused)
{
	static unsigned char bytes[8192];
	static struct frame_packet packet, got_packet;
	static struct frame_file file, got_file;
	struct frame_writer writer = {bytes, bytes + sizeof(bytes), false};
	struct relay_frame frame = {.payload = bytes};

	(void)unused;
	packet = (struct frame_packet){.trace = 1,
			.stream = 2,
			.number = 3,
			.events_before = 4,
			.dropped_before = 5,
			.events = 6,
			.header_size = 7,
			.total = 8,
			.offset = 9,
			.trace_name = "ten",
			.stream_name = "eleven",
			.bytes = payload,
			.size = 12};
	framing_put_packet(&writer, &packet);
	assert_memory_equal(bytes,
			"\1\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\7"
			"\x8\0\0\0\0\0\0\0\x9\0\0\0\0\0\0\0\3\0ten\6\0elevena payload of",
			57 + 5 + 8 + 12);
	frame.size = (uint32_t)(writer.at - bytes);
	assert_int_equal(frame.size, 57 + 5 + 8 + 12);
	assert_int_equal(framing_get_packet(&frame, &got_packet), 0);
	assert_ptr_equal(got_packet.bytes, bytes + 70);
	got_packet.bytes = packet.bytes;
	assert_memory_equal(&got_packet, &packet, sizeof(packet));
	frame.size = 69;
	assert_int_equal(framing_get_packet(&frame, &got_packet), -EBADMSG);

	writer.at = bytes;
	file = (struct frame_file){.trace = 1,
			.kind = 2,
			.generation = 3,
			.total = 4,
			.offset = 5,
			.name = "six",
			.bytes = payload,
			.size = 7};
	framing_put_file(&writer, &file);
	assert_memory_equal(bytes,
			"\1\0\0\0\2\3\0\0\0\4\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\3\0sixa paylo", 30 + 7);
	frame.size = (uint32_t)(writer.at - bytes);
	assert_int_equal(frame.size, 37);
	assert_int_equal(framing_get_file(&frame, &got_file), 0);
	assert_ptr_equal(got_file.bytes, bytes + 30);
	got_file.bytes = file.bytes;
	assert_memory_equal(&got_file, &file, sizeof(file));
	frame.size = 29;
	assert_int_equal(framing_get_file(&frame, &got_file), -EBADMSG);
}

/* ---- the UUID ---- */

/* Digits of each byte of the UUID below, which differ. */
static const unsigned char uuid[16] = {
		0, 9, 10, 99, 100, 255, 0x4f, 7, 0xb2, 42, 5, 200, 11, 8, 98, 254};
#define TSDL "/* CTF 1.8 */ trace { uuid = \"00090a63-64ff-4f07-B22A-05c80b0862fe\"; };"
#define JSON "{\"uuid\":[0,9,10,99,100,255,79,7,178,42,5,200,11,8,98,254],\"x\":1}"

static unsigned int digits(unsigned int number)
{
	return number < 10 ? 1 : number < 100 ? 2 : 3;
}

static void check_own(const struct identity *identity)
{
	unsigned int changed = 0;

	assert_true(identity->is_known);
	assert_memory_equal(identity->sender, uuid, sizeof(uuid));
	for (int i = 0; i < 16; i++) {
		assert_int_equal(digits(identity->own[i]), digits(uuid[i]));
		changed += identity->own[i] != uuid[i];
	}
	assert_int_equal(identity->own[6], uuid[6]);
	assert_int_equal(identity->own[8], uuid[8]);
	assert_true(changed > 3);
}

static void test_identity_of_packets(void **unused)
{
	struct identity identity = {.is_own = false};
	unsigned char bytes[16], first[16];

	(void)unused;
	memcpy(bytes, uuid, sizeof(bytes));
	identity_replace(&identity, bytes);
	assert_false(identity.is_known);
	assert_memory_equal(bytes, uuid, sizeof(bytes));
	identity.is_own = true;
	identity_replace(&identity, bytes);
	check_own(&identity);
	assert_memory_equal(bytes, identity.own, sizeof(bytes));
	memcpy(first, bytes, sizeof(first));
	/* The same UUID gets the same replacement; another one, none. */
	memcpy(bytes, uuid, sizeof(bytes));
	identity_replace(&identity, bytes);
	assert_memory_equal(bytes, first, sizeof(bytes));
	memcpy(bytes, uuid, sizeof(bytes));
	bytes[15]++;
	memcpy(first, bytes, sizeof(first));
	identity_replace(&identity, bytes);
	assert_memory_equal(bytes, first, sizeof(bytes));
	/* All values at both ends of a range occur, and none beyond it. */
	for (int round = 0; round < 300; round++) {
		struct identity each = {.is_own = true};

		memcpy(bytes, uuid, sizeof(bytes));
		identity_replace(&each, bytes);
		for (int i = 0; i < 16; i++)
			assert_int_equal(digits(bytes[i]), digits(uuid[i]));
	}
}

static void replaced(const char *before, const char *after)
{
	struct identity identity = {.is_own = true};
	char text[200], expected[200] = "";
	size_t size = strlen(before), used;

	(void)snprintf(text, sizeof(text), "%s", before);
	identity_replace_in_metadata(&identity, (unsigned char *)text, size);
	check_own(&identity);
	used = (size_t)snprintf(expected, sizeof(expected), "%.*s",
			(int)(strstr(before, after) - before), before);
	for (int i = 0; i < 16; i++)
		if (*after == '[')
			used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%c%u",
					i ? ',' : '[', identity.own[i]);
		else
			used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s%02x",
					i == 4 || i == 6 || i == 8 || i == 10 ? "-"
							: i                   ? ""
									      : "\"",
					identity.own[i]);
	(void)snprintf(expected + used, sizeof(expected) - used, "%s", before + used);
	assert_string_equal(text, expected);
}

static void unchanged(const char *before, size_t size)
{
	struct identity identity = {.is_own = true};
	char text[200];

	(void)snprintf(text, sizeof(text), "%s", before);
	identity_replace_in_metadata(&identity, (unsigned char *)text, size);
	assert_string_equal(text, before);
	assert_false(identity.is_known);
}

static void test_identity_of_metadata(void **unused)
{
	static unsigned char large[4096 + sizeof(JSON)];
	struct identity identity = {.is_own = false};
	char text[] = TSDL;

	(void)unused;
	replaced(TSDL, "\"00090a");
	replaced(JSON, "[0,9");
	identity_replace_in_metadata(&identity, (unsigned char *)text, strlen(text));
	assert_string_equal(text, TSDL);
	unchanged("no UUID", 7);
	/* Truncated before the last digit. */
	unchanged(TSDL, (size_t)(strstr(TSDL, "\"; };") - TSDL) - 1);
	unchanged(JSON, (size_t)(strchr(JSON, ']') - JSON));
	/*
	 * A byte that is too large, one without digits, too many bytes, other separators, 15 and 17
	 * bytes.
	 */
#define REMAINDER "9,10,99,100,255,79,7,178,42,5,200,11,8,98"
	unchanged("{\"uuid\":[256," REMAINDER ",254]}", 60);
	unchanged("{\"uuid\":[," REMAINDER ",254]}", 60);
	unchanged("{\"uuid\":[0000," REMAINDER ",254]}", 62);
	unchanged("{\"uuid\":[0;" REMAINDER ",254]}", 60);
	unchanged("{\"uuid\":[" REMAINDER ",254]}", 58);
	unchanged("{\"uuid\":[1,2," REMAINDER ",254]}", 62);
	unchanged("{ uuid = \"00090a63-64ff-4f07-B22A-05c80b0862fg\"; }", 50);
	unchanged("{ uuid = \"00090a63-64ff-4f07-B22A-05c80b0862f-\"; }", 50);
	unchanged("{ uuid = \"00090a63064ff-4f07-B22A-05c80b0862fe\"; }", 50);
	/* The first block of 4096 bytes. */
	for (size_t beyond = 0; beyond < 2; beyond++) {
		size_t at = 4096 - (size_t)(strchr(JSON, ']') - JSON) - 1 + beyond;

		memset(large, ' ', sizeof(large));
		memcpy(large + at, JSON, sizeof(JSON));
		identity = (struct identity){.is_own = true};
		identity_replace_in_metadata(&identity, large, at + sizeof(JSON));
		assert_int_equal(identity.is_known, !beyond);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_crc),
			cmocka_unit_test(test_head),
			cmocka_unit_test(test_find),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_pieces),
			cmocka_unit_test(test_identity_of_packets),
			cmocka_unit_test(test_identity_of_metadata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
