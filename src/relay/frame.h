/* SPDX-License-Identifier: MIT */
/* Frames of a byte stream: docs/spec/byte-stream.md. Numbers are little-endian. */
#ifndef SIDE_RELAY_FRAME_H
#define SIDE_RELAY_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_VERSION 1
#define FRAME_HEAD 32
#define FRAME_TAIL 4                   /* CRC of the payload. */
#define FRAME_PAYLOAD_MAX (256u << 10) /* That a receiver takes. */
#define FRAME_PIECE (64u << 10)        /* Of a packet or a file in one frame, on fast ways … */
#define FRAME_PIECE_SERIAL (2u << 10)  /* … and on slow ones. */
#define FRAME_NAME_MAX 4095

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_FILE = 2,
	FRAME_PACKET = 3,
	FRAME_TRACE_END = 4,
	FRAME_END = 5,
	FRAME_ACK = 6, /* From the receiver. */
};

/* FRAME_HELLO: flags. */
#define FRAME_HELLO_RESUMED 1u      /* Frames of an earlier connection may be sent again … */
#define FRAME_HELLO_ACKNOWLEDGED 2u /* … except for a beginning that a receiver has acknowledged. */

struct relay_frame {
	uint8_t type;
	uint64_t session;
	uint64_t sequence;
	const unsigned char *payload;
	uint32_t size;
};

/* Castagnoli's polynomial, as in iSCSI; crc is 0 at first. */
uint32_t framing_crc(uint32_t crc, const void *bytes, size_t size);

/* Head (FRAME_HEAD bytes) and tail of a frame around its payload. */
void framing_head(unsigned char *head, uint8_t type, uint64_t session, uint64_t sequence,
		uint32_t size);

enum frame_found {
	FRAME_MORE,    /* All that is there is the beginning of a frame, or of nothing. */
	FRAME_WHOLE,   /* *frame points into the bytes. */
	FRAME_DAMAGED, /* A frame stood here whose payload is wrong. */
	FRAME_GARBAGE, /* No frame. */
};

/*
 * Look at the bytes: *used of them are done with, whatever was found. A length is believed only when
 * the sum over the head is right, and never beyond FRAME_PAYLOAD_MAX.
 */
enum frame_found framing_find(
		const unsigned char *bytes, size_t size, size_t *used, struct relay_frame *frame);

/* ---- payloads ---- */

/* Put one behind the other; `at` moves. Never beyond `end`: then `full` is set. */
struct frame_writer {
	unsigned char *at;
	unsigned char *end;
	bool full;
};

void framing_put(struct frame_writer *writer, const void *bytes, size_t size);
void framing_put_u8(struct frame_writer *writer, uint8_t number);
void framing_put_u32(struct frame_writer *writer, uint32_t number);
void framing_put_u64(struct frame_writer *writer, uint64_t number);
void framing_put_name(struct frame_writer *writer, const char *name);

/* And take them off again: beyond the end everything is 0 and `bad` is set. */
struct frame_reader {
	const unsigned char *at;
	const unsigned char *end;
	bool bad;
};

uint8_t framing_get_u8(struct frame_reader *reader);
uint32_t framing_get_u32(struct frame_reader *reader);
uint64_t framing_get_u64(struct frame_reader *reader);
const unsigned char *framing_get(struct frame_reader *reader, size_t size);
/* At most room - 1 bytes without a NUL among them; else `bad`. */
void framing_get_name(struct frame_reader *reader, char *name, size_t capacity);

/* FRAME_FILE: a piece of a file of a trace. */
enum frame_file_kind { FRAME_METADATA = 0, FRAME_MAPS = 1 };
struct frame_file {
	uint32_t trace;
	uint8_t kind;
	uint32_t generation; /* Another one: the file is a new one. */
	uint64_t total;      /* Its size, as far as the sender knows. */
	uint64_t offset;
	char name[FRAME_NAME_MAX + 1]; /* Of the trace: a path below the output. */
	const unsigned char *bytes;
	size_t size;
};

/* FRAME_PACKET: a piece of a packet. */
struct frame_packet {
	uint32_t trace;
	uint32_t stream;
	uint64_t number;         /* Of the packet in its stream. */
	uint64_t events_before;  /* In all packets before it that the sender did not drop. */
	uint64_t dropped_before; /* In those that it did. */
	uint64_t events;         /* In this one. */
	uint8_t header_size;     /* Of the packet. */
	uint64_t total;          /* Its bytes. */
	uint64_t offset;
	char trace_name[FRAME_NAME_MAX + 1];
	char stream_name[256];
	const unsigned char *bytes;
	size_t size;
};

void framing_put_file(struct frame_writer *writer, const struct frame_file *file);
int framing_get_file(const struct relay_frame *frame, struct frame_file *file);
void framing_put_packet(struct frame_writer *writer, const struct frame_packet *packet);
int framing_get_packet(const struct relay_frame *frame, struct frame_packet *packet);

#endif /* SIDE_RELAY_FRAME_H */
