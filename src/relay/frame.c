/* SPDX-License-Identifier: MIT */
/*
 * Writes and reads the frames of a byte stream (docs/spec/byte-stream.md).
 *
 *   0   4  magic
 *   4   1  version
 *   5   1  type
 *   6   2  0
 *   8   4  bytes of the payload
 *   12  4  CRC-32C of the other bytes of the head
 *   16  8  session
 *   24  8  sequence
 *   32     payload, and its CRC-32C
 *
 * Nothing is escaped: a reader that has lost synchronization searches for the magic, and accepts it
 * if the CRC of the head is right.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "relay/frame.h"

static const unsigned char MAGIC[4] = {0xf5, 'S', 'd', 0xe1};

/* ---- CRC-32C, eight bytes at a time ---- */

#define CRC_POLYNOMIAL 0x82f63b78u

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC_POLYNOMIAL : 0);
		crc_table[0][i] = crc;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int slice = 1; slice < 8; slice++)
			crc_table[slice][i] = crc_table[slice - 1][i] >> 8 ^
					crc_table[0][crc_table[slice - 1][i] & 0xff];
}

uint32_t framing_crc(uint32_t crc, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	pthread_once(&crc_once, crc_make_table);
	crc = ~crc;
	for (; size >= 8; size -= 8, at += 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		word = le64toh(word) ^ crc;
		crc = crc_table[7][word & 0xff] ^ crc_table[6][word >> 8 & 0xff] ^
				crc_table[5][word >> 16 & 0xff] ^ crc_table[4][word >> 24 & 0xff] ^
				crc_table[3][word >> 32 & 0xff] ^ crc_table[2][word >> 40 & 0xff] ^
				crc_table[1][word >> 48 & 0xff] ^ crc_table[0][word >> 56];
	}
	for (; size; size--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *at++) & 0xff];
	return ~crc;
}

/* ---- heads ---- */

static void put_le32(unsigned char *to, uint32_t number)
{
	number = htole32(number);
	memcpy(to, &number, sizeof(number));
}

static void put_le64(unsigned char *to, uint64_t number)
{
	number = htole64(number);
	memcpy(to, &number, sizeof(number));
}

static uint32_t le32_at(const unsigned char *from)
{
	uint32_t number;

	memcpy(&number, from, sizeof(number));
	return le32toh(number);
}

static uint64_t le64_at(const unsigned char *from)
{
	uint64_t number;

	memcpy(&number, from, sizeof(number));
	return le64toh(number);
}

static uint32_t head_crc(const unsigned char *head)
{
	return framing_crc(framing_crc(0, head, 12), head + 16, FRAME_HEAD - 16);
}

void framing_head(unsigned char *head, uint8_t type, uint64_t session, uint64_t sequence,
		uint32_t size)
{
	memcpy(head, MAGIC, sizeof(MAGIC));
	head[4] = FRAME_VERSION;
	head[5] = type;
	head[6] = head[7] = 0;
	put_le32(head + 8, size);
	put_le64(head + 16, session);
	put_le64(head + 24, sequence);
	put_le32(head + 12, head_crc(head));
}

/* The number of bytes before the next possible start of a frame, which is not the first byte. */
static size_t relay_frame_find_next_start(const unsigned char *bytes, size_t size)
{
	const unsigned char *next = size > 1 ? memchr(bytes + 1, MAGIC[0], size - 1) : NULL;

	return next ? (size_t)(next - bytes) : size;
}

enum frame_found framing_find(const unsigned char *bytes, size_t size, size_t *ret_used,
		struct relay_frame *ret_frame)
{
	size_t compared = size < sizeof(MAGIC) ? size : sizeof(MAGIC);
	uint32_t length;

	*ret_used = 0;
	if (!size)
		return FRAME_MORE;
	if (memcmp(bytes, MAGIC, compared) != 0) {
		*ret_used = relay_frame_find_next_start(bytes, size);
		return FRAME_GARBAGE;
	}
	if (size < FRAME_HEAD)
		return FRAME_MORE;
	length = le32_at(bytes + 8);
	if (le32_at(bytes + 12) != head_crc(bytes) || bytes[4] != FRAME_VERSION ||
			length > FRAME_PAYLOAD_MAX) {
		*ret_used = relay_frame_find_next_start(bytes, size);
		return FRAME_GARBAGE;
	}
	if (size < FRAME_HEAD + (size_t)length + FRAME_TAIL)
		return FRAME_MORE;
	*ret_frame = (struct relay_frame){
			.type = bytes[5],
			.session = le64_at(bytes + 16),
			.sequence = le64_at(bytes + 24),
			.payload = bytes + FRAME_HEAD,
			.size = length,
	};
	if (le32_at(ret_frame->payload + length) != framing_crc(0, ret_frame->payload, length)) {
		/* Bytes may be missing in it, so the next frame can start within. */
		*ret_used = relay_frame_find_next_start(bytes, size);
		return FRAME_DAMAGED;
	}
	*ret_used = FRAME_HEAD + (size_t)length + FRAME_TAIL;
	return FRAME_WHOLE;
}

/* ---- payloads ---- */

void framing_put(struct frame_writer *writer, const void *bytes, size_t size)
{
	if (size > (size_t)(writer->end - writer->at)) {
		writer->full = true;
		return;
	}
	if (size)
		memcpy(writer->at, bytes, size);
	writer->at += size;
}

void framing_put_u8(struct frame_writer *writer, uint8_t number)
{
	framing_put(writer, &number, sizeof(number));
}

void framing_put_u32(struct frame_writer *writer, uint32_t number)
{
	number = htole32(number);
	framing_put(writer, &number, sizeof(number));
}

void framing_put_u64(struct frame_writer *writer, uint64_t number)
{
	number = htole64(number);
	framing_put(writer, &number, sizeof(number));
}

void framing_put_name(struct frame_writer *writer, const char *name)
{
	uint16_t size = htole16((uint16_t)strlen(name));

	framing_put(writer, &size, sizeof(size));
	framing_put(writer, name, strlen(name));
}

const unsigned char *framing_get(struct frame_reader *reader, size_t size)
{
	const unsigned char *at = reader->at;

	if (reader->bad || size > (size_t)(reader->end - reader->at)) {
		reader->bad = true;
		return NULL;
	}
	reader->at += size;
	return at;
}

uint8_t framing_get_u8(struct frame_reader *reader)
{
	const unsigned char *at = framing_get(reader, 1);

	return at ? *at : 0;
}

uint32_t framing_get_u32(struct frame_reader *reader)
{
	const unsigned char *at = framing_get(reader, 4);

	return at ? le32_at(at) : 0;
}

uint64_t framing_get_u64(struct frame_reader *reader)
{
	const unsigned char *at = framing_get(reader, 8);

	return at ? le64_at(at) : 0;
}

void framing_get_name(struct frame_reader *reader, char *name, size_t capacity)
{
	const unsigned char *at = framing_get(reader, 2);
	size_t size = at ? (size_t)at[0] | (size_t)at[1] << 8 : 0;

	at = framing_get(reader, size);
	*name = '\0';
	if (!at)
		return;
	if (size >= capacity || memchr(at, 0, size)) {
		reader->bad = true;
		return;
	}
	memcpy(name, at, size);
	name[size] = '\0';
}

void framing_put_file(struct frame_writer *writer, const struct frame_file *file)
{
	framing_put_u32(writer, file->trace);
	framing_put_u8(writer, file->kind);
	framing_put_u32(writer, file->generation);
	framing_put_u64(writer, file->total);
	framing_put_u64(writer, file->offset);
	framing_put_name(writer, file->name);
	framing_put(writer, file->bytes, file->size);
}

/* The remaining bytes of the payload. */
static int frame_take_remainder(
		struct frame_reader *reader, const unsigned char **ret_bytes, size_t *ret_size)
{
	if (reader->bad)
		return -EBADMSG;
	*ret_bytes = reader->at;
	*ret_size = (size_t)(reader->end - reader->at);
	return 0;
}

int framing_get_file(const struct relay_frame *frame, struct frame_file *ret_file)
{
	struct frame_reader reader = {frame->payload, frame->payload + frame->size, false};

	ret_file->trace = framing_get_u32(&reader);
	ret_file->kind = framing_get_u8(&reader);
	ret_file->generation = framing_get_u32(&reader);
	ret_file->total = framing_get_u64(&reader);
	ret_file->offset = framing_get_u64(&reader);
	framing_get_name(&reader, ret_file->name, sizeof(ret_file->name));
	return frame_take_remainder(&reader, &ret_file->bytes, &ret_file->size);
}

void framing_put_packet(struct frame_writer *writer, const struct frame_packet *packet)
{
	framing_put_u32(writer, packet->trace);
	framing_put_u32(writer, packet->stream);
	framing_put_u64(writer, packet->number);
	framing_put_u64(writer, packet->events_before);
	framing_put_u64(writer, packet->dropped_before);
	framing_put_u64(writer, packet->events);
	framing_put_u8(writer, packet->header_size);
	framing_put_u64(writer, packet->total);
	framing_put_u64(writer, packet->offset);
	framing_put_name(writer, packet->trace_name);
	framing_put_name(writer, packet->stream_name);
	framing_put(writer, packet->bytes, packet->size);
}

int framing_get_packet(const struct relay_frame *frame, struct frame_packet *ret_packet)
{
	struct frame_reader reader = {frame->payload, frame->payload + frame->size, false};

	ret_packet->trace = framing_get_u32(&reader);
	ret_packet->stream = framing_get_u32(&reader);
	ret_packet->number = framing_get_u64(&reader);
	ret_packet->events_before = framing_get_u64(&reader);
	ret_packet->dropped_before = framing_get_u64(&reader);
	ret_packet->events = framing_get_u64(&reader);
	ret_packet->header_size = framing_get_u8(&reader);
	ret_packet->total = framing_get_u64(&reader);
	ret_packet->offset = framing_get_u64(&reader);
	framing_get_name(&reader, ret_packet->trace_name, sizeof(ret_packet->trace_name));
	framing_get_name(&reader, ret_packet->stream_name, sizeof(ret_packet->stream_name));
	return frame_take_remainder(&reader, &ret_packet->bytes, &ret_packet->size);
}
