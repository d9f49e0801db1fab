/* SPDX-License-Identifier: MIT */
/* Writes and reads the frames of a byte stream (docs/spec/byte-stream.md). Numbers are
   little-endian. */
#ifndef SIDE_RELAY_FRAME_H
#define SIDE_RELAY_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_VERSION 1
#define FRAME_HEAD 32
#define FRAME_TAIL 4                   /* CRC of the payload. */
#define FRAME_PAYLOAD_MAX (256u << 10) /* Largest payload that a receiver accepts. */
#define FRAME_PIECE (64u << 10)       /* Bytes per frame of a packet or a file, on fast lines … */
#define FRAME_PIECE_SERIAL (2u << 10) /* … and on slow ones. */
#define FRAME_NAME_MAX 4095

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_FILE = 2,
	FRAME_PACKET = 3,
	FRAME_TRACE_END = 4,
	FRAME_END = 5,
	FRAME_ACK = 6, /* Sent by the receiver. */
};

/* Flags of FRAME_HELLO. */
#define FRAME_HELLO_RESUMED 1u      /* Frames of an earlier connection may be sent again … */
#define FRAME_HELLO_ACKNOWLEDGED 2u /* … except for a beginning that a receiver has acknowledged. */

struct relay_frame {
	uint8_t type;
	uint64_t session;
	uint64_t sequence;
	const unsigned char *payload;
	uint32_t size;
};

/* CRC with Castagnoli's polynomial, as in iSCSI. Start with crc 0. */
uint32_t framing_crc(uint32_t crc, const void *bytes, size_t size);

/* Write the head (FRAME_HEAD bytes) of a frame. */
void framing_head(unsigned char *head, uint8_t type, uint64_t session, uint64_t sequence,
		uint32_t size);

enum frame_found {
	FRAME_MORE,    /* The bytes are at most the beginning of a frame; more bytes are needed. */
	FRAME_WHOLE,   /* A valid frame: *frame points into the bytes. */
	FRAME_DAMAGED, /* A valid head whose payload has a wrong CRC. */
	FRAME_GARBAGE, /* No frame starts at the first byte. */
};

/*
 * Find a frame. Sets *ret_used to the number of bytes that the caller can discard, whatever was
 * found. Uses a length only if the CRC of the head is right, and never beyond FRAME_PAYLOAD_MAX.
 */
enum frame_found framing_find(const unsigned char *bytes, size_t size, size_t *ret_used,
		struct relay_frame *ret_frame);

/* ---- payloads ---- */

/* Appends values to a payload; `at` moves. Does not write beyond `end`: then it sets `full`. */
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

/* Reads them in the same order. Beyond the end every value is 0 and `bad` is set. */
struct frame_reader {
	const unsigned char *at;
	const unsigned char *end;
	bool bad;
};

uint8_t framing_get_u8(struct frame_reader *reader);
uint32_t framing_get_u32(struct frame_reader *reader);
uint64_t framing_get_u64(struct frame_reader *reader);
const unsigned char *framing_get(struct frame_reader *reader, size_t size);
/* Reads at most capacity - 1 bytes without a NUL among them; else sets `bad`. */
void framing_get_name(struct frame_reader *reader, char *name, size_t capacity);

/* FRAME_FILE: a piece of a file of a trace. */
enum frame_file_kind { FRAME_METADATA = 0, FRAME_MAPS = 1 };
struct frame_file {
	uint32_t trace;
	uint8_t kind;
	uint32_t generation; /* A different generation is a new file. */
	uint64_t total;      /* Size of the file, as far as the sender knows. */
	uint64_t offset;
	char name[FRAME_NAME_MAX + 1]; /* Name of the trace: a path below the output. */
	const unsigned char *bytes;
	size_t size;
};

/* FRAME_PACKET: a piece of a packet. */
struct frame_packet {
	uint32_t trace;
	uint32_t stream;
	uint64_t number;         /* Number of the packet in its stream. */
	uint64_t events_before;  /* Events in all earlier packets that the sender did not drop. */
	uint64_t dropped_before; /* Events in the packets that it dropped. */
	uint64_t events;         /* Events in this packet. */
	uint8_t header_size;     /* Size of the packet's header. */
	uint64_t total;          /* Size of the packet. */
	uint64_t offset;
	char trace_name[FRAME_NAME_MAX + 1];
	char stream_name[256];
	const unsigned char *bytes;
	size_t size;
};

/* The getters return 0, or -EBADMSG for an invalid payload. `bytes` points into the frame. */
void framing_put_file(struct frame_writer *writer, const struct frame_file *file);
int framing_get_file(const struct relay_frame *frame, struct frame_file *ret_file);
void framing_put_packet(struct frame_writer *writer, const struct frame_packet *packet);
int framing_get_packet(const struct relay_frame *frame, struct frame_packet *ret_packet);

#endif /* SIDE_RELAY_FRAME_H */
