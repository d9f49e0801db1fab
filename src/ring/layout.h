/* SPDX-License-Identifier: MIT */
/*
 * The layout of ring memory. Private to this module; both ends and the assembly use it.
 *
 *	0		struct ring_header, never written after the creation
 *	1024		struct ring_doorbell, by which the producer wakes the consumer
 *	2048		struct ring_lease: whether the memory from lost_offset on is present
 *	4096		struct ring_control[rings]
 *	lost_offset	lost[rings][event_slots][RING_LOSS_REASONS]; the counters of each ring begin
 *			on a page. Sparse: only pages with losses use memory
 *	data_offset	data[rings][size], on a huge page if RING_HUGE_PAGES; each ring is mapped
 *			twice in a row, so that neither a record nor a span ever wraps
 *
 * The head word is the commit: one 64-bit store publishes a record. It holds
 *
 *	position << 24 | epoch
 *
 * The upper part is the free-running byte position modulo 2^40 (an addition carries out at the top
 * and never into the epoch). The lower 24 bits are bits 27 to 50 of the timestamp of the last
 * record. A compact or medium record is allowed only if its timestamp has that epoch, so a reader
 * of the word gets position and epoch of the same moment.
 *
 * A ring consists of RING_BLOCKS sub-buffers of equal size.
 */
#ifndef SIDE_RING_LAYOUT_H
#define SIDE_RING_LAYOUT_H

#define RING_EPOCH_BITS 24
#define RING_EPOCH_MASK 0xffffff
/* XORed into an epoch, gives one that is 2^50 ticks away. Alone, the epoch of an unused ring. */
#define RING_EPOCH_FLIP 0x800000
#define RING_TIME_BITS 27 /* Timestamp bits in a compact header. */
#define RING_TAG_BITS 5
#define RING_TAG_MEDIUM 30
#define RING_TAG_EXTENDED 31
#define RING_COMPACT_BYTES 4
#define RING_MEDIUM_BYTES 6
#define RING_EXTENDED_BYTES 13

/* Offsets that the assembly uses; checked below. */
#define RING_CONTROL_HEAD 0
#define RING_CONTROL_LAST 8
#define RING_CONTROL_LIMIT 16
#define RING_CONTROL_CLAIM 24
#define RING_CONTROL_BLOCK_CROSSED 32
#define RING_CONTROL_TAIL 128
#define RING_CONTROL_BLOCKS 512
/* Sub-buffers of a ring. Their boundaries ring the doorbell and are where a snapshot can begin. */
#define RING_BLOCKS 8

#ifndef __ASSEMBLER__

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ring/ring.h"

#define RING_MAGIC UINT64_C(0x474e495245444953) /* "SIDERING" on a little-endian host. */
#define RING_VERSION 3
#define RING_HEADER_BYTES 4096
#define RING_DOORBELL_OFFSET \
	1024 /* Initially zero, as in rings of older producers, which never ring it. */
#define RING_LEASE_OFFSET 2048
#define RING_CONTROL_BYTES 1024
#define RING_LOST_GROUP_SLOTS 64 /* Event slots that share two pages of counters. */
#define RING_POSITION_MASK ((UINT64_C(1) << 40) - 1)

struct ring_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;
	uint32_t control_bytes;
	uint32_t rings;
	uint32_t event_slots;
	uint32_t mode;
	uint32_t clock;
	uint32_t blocks;
	uint64_t size;
	uint64_t lost_offset;
	uint64_t data_offset;
	uint64_t total;
	uint64_t alignment; /* Of data_offset: a page, or a huge page. */
	uint32_t placement;
	uint32_t flags;
	uint32_t block_timeout_us;
	uint32_t storage; /* enum ring_storage */
	uint64_t reserved[52];
};
static_assert(sizeof(struct ring_header) == 512, "ring_header");

enum ring_storage {
	RING_IN_MEMFD = 0,
	RING_IN_FILE = 1, /* Without seals: see truncated.c. */
};

/* The state of a consumer, for its successor. Valid if position == tail. */
struct ring_mark {
	uint64_t position;
	uint64_t end_timestamp;
};

struct ring_control {
	/* Written by the producer on the CPU of this ring. */
	uint64_t head;
	/* Of the last record, or of a later attempt that was not published. */
	uint64_t last_timestamp;
	/* (cached tail + size) << 24 | epoch mask: the largest permitted head. */
	uint64_t limit;
	/* Overwrite mode: end of the furthest record that was begun, << 24, with any epoch. */
	uint64_t claim;
	/*
	 * Overwrite mode: end of the last record that crossed a sub-buffer boundary, in all 64
	 * bits.
	 */
	uint64_t block_crossed;
	uint64_t producer_reserved[3];
	uint32_t waiting; /* Block mode: a producer waits for space. */
	uint32_t waiting_reserved[15];

	/* Written by the consumer. */
	uint64_t tail; /* Free-running position, all 64 bits. */
	struct ring_mark marks[2];
	uint64_t releases; /* Block mode, in the first ring only: spans released in any ring. */
	uint32_t space;    /* Block mode: the futex on which producers wait. */
	uint32_t absent;   /* The data could not be imported. */
	uint64_t consumer_reserved[9];

	/* Any thread of the producer counts these atomically. */
	uint64_t lost[RING_LOSS_REASONS];
	/* A bit for each group of event slots whose counters were ever changed. */
	uint64_t lost_groups[RING_EVENT_SLOTS_MAX / RING_LOST_GROUP_SLOTS / 64];

	/*
	 * Overwrite mode: position of the first record that begins in this sub-buffer, in all 64
	 * bits. Initially zero, which is correct: a snapshot can begin at position 0.
	 */
	struct ring_mark blocks[RING_BLOCKS];
	uint64_t reserved[48];
};
static_assert(sizeof(struct ring_control) == RING_CONTROL_BYTES, "ring_control");
static_assert(offsetof(struct ring_control, head) == RING_CONTROL_HEAD, "head");
static_assert(offsetof(struct ring_control, last_timestamp) == RING_CONTROL_LAST, "last");
static_assert(offsetof(struct ring_control, limit) == RING_CONTROL_LIMIT, "limit");
static_assert(offsetof(struct ring_control, claim) == RING_CONTROL_CLAIM, "claim");
static_assert(offsetof(struct ring_control, block_crossed) == RING_CONTROL_BLOCK_CROSSED,
		"reached");
static_assert(offsetof(struct ring_control, blocks) == RING_CONTROL_BLOCKS, "blocks");
static_assert(sizeof(struct ring_mark) == 16, "ring_mark");
static_assert(offsetof(struct ring_control, waiting) == 64, "waiting");
static_assert(offsetof(struct ring_control, tail) == RING_CONTROL_TAIL, "tail");
static_assert(offsetof(struct ring_control, lost) % 64 == 0, "lost");

/* Offsets of the parts, for a geometry that passed ring_geometry_check(). */
struct ring_layout {
	uint64_t alignment;
	uint64_t lost_offset;
	uint64_t lost_stride; /* Of one ring. */
	uint64_t data_offset;
	uint64_t total;
};

/* The rings as mapped in this process. */
struct ring_memory {
	struct ring_geometry geometry;
	struct ring_layout layout;
	unsigned char *base;
	size_t mapped;
	/* Of a consumer whose rings are in a file; else NULL. */
	struct ring_truncation *truncation;
	/* Of a producer whose rings are in a file, see dumped.c; else NULL. */
	unsigned char *dumped;
	size_t dumped_size;
};

/*
 * Compute the layout. alignment: a page, or the huge page. -EINVAL for a geometry that is
 * impossible on any machine.
 */
int ring_layout_compute(const struct ring_geometry *geometry, uint64_t alignment,
		struct ring_layout *ret_layout);
/* Compute the layout that this machine creates. */
int ring_geometry_layout(const struct ring_geometry *geometry, struct ring_layout *ret_layout);
/* Fill the header as ring_memory_create() writes it. */
void ring_header_fill(struct ring_header *header, const struct ring_geometry *geometry,
		const struct ring_layout *layout, enum ring_storage storage);
/* Read the geometry from an untrusted header: 0, -EPROTO or -ENOTSUP. */
int ring_header_check(const struct ring_header *header, struct ring_geometry *ret_geometry,
		struct ring_layout *ret_layout);
/* Initialize the first words of each ring, in memory that is zero. */
void ring_controls_fill(unsigned char *base, const struct ring_geometry *geometry);

/* The end that maps the memory. */
enum ring_end { RING_END_PRODUCER, RING_END_CONSUMER };

/* Check the memory of fd and map it. A consumer maps the data read-only. */
int ring_memory_map(int fd, enum ring_end end, struct ring_memory *memory);
void ring_memory_unmap(struct ring_memory *memory);

/* Create a memfd of `size` zero bytes that can neither shrink nor grow. */
int ring_memfd_create(const char *name, uint64_t size, unsigned int flags);
/*
 * Return 0 if the descriptor is such a memfd of at least `minimum` bytes, else -EPROTO or the
 * error.
 */
int ring_memfd_check(int fd, uint64_t minimum, uint64_t *ret_size);

/*
 * Map the file once more for core dumps. Without the memory for that, dumps do not contain the
 * rings.
 */
void ring_dumped_open(struct ring_memory *memory, int fd);
void ring_dumped_close(struct ring_memory *memory);

/* Mappings of files that may be truncated: see truncated.c. */
int ring_truncation_watch(const void *base, size_t size, struct ring_truncation **ret_truncation);
void ring_truncation_forget(struct ring_truncation *truncation);
void ring_truncation_forget_at(const void *base);
bool ring_truncation_seen(const struct ring_truncation *truncation);

static inline struct ring_doorbell *ring_memory_doorbell(const struct ring_memory *memory)
{
	return (struct ring_doorbell *)(memory->base + RING_DOORBELL_OFFSET);
}

static inline struct ring_lease *ring_memory_lease(const struct ring_memory *memory)
{
	return (struct ring_lease *)(memory->base + RING_LEASE_OFFSET);
}

static inline struct ring_control *ring_memory_control(
		const struct ring_memory *memory, uint32_t ring)
{
	return (struct ring_control *)(memory->base + RING_HEADER_BYTES) + ring;
}

/* The counters of this ring: [event_slots][RING_LOSS_REASONS]. */
static inline uint64_t *ring_memory_lost(const struct ring_memory *memory, uint32_t ring)
{
	return (uint64_t *)(memory->base + memory->layout.lost_offset +
			ring * memory->layout.lost_stride);
}

static inline unsigned char *ring_memory_data(const struct ring_memory *memory, uint32_t ring)
{
	return memory->base + memory->layout.data_offset + ring * 2 * memory->geometry.size;
}

static inline uint64_t ring_head_position(uint64_t head)
{
	return head >> RING_EPOCH_BITS;
}

/* The first word of a header. The tag is in the bits that CTF reads first. */
static inline uint32_t ring_header_word(uint32_t tag, uint64_t timestamp)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return (uint32_t)timestamp << RING_TAG_BITS | tag;
#else
	return tag << RING_TIME_BITS | ((uint32_t)timestamp & ((1u << RING_TIME_BITS) - 1));
#endif
}

static inline uint32_t ring_header_tag(const unsigned char *record)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return record[0] & 31;
#else
	return record[0] >> 3;
#endif
}

/* The low 27 bits of the timestamp in a compact or medium header. */
static inline uint32_t ring_header_time(const unsigned char *record)
{
	uint32_t word;

	memcpy(&word, record, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return word >> RING_TAG_BITS;
#else
	return word & ((1u << RING_TIME_BITS) - 1);
#endif
}

/* Write a header. Its size determines its form. */
static inline void ring_header_write(
		unsigned char *record, size_t bytes, uint32_t event_id, uint64_t timestamp)
{
	uint16_t short_id = (uint16_t)event_id;
	uint32_t word;

	if (bytes == RING_EXTENDED_BYTES) {
		word = ring_header_word(RING_TAG_EXTENDED, 0);
		memcpy(record, &word, 1);
		memcpy(record + 1, &event_id, sizeof(event_id));
		memcpy(record + 5, &timestamp, sizeof(timestamp));
		return;
	}
	word = ring_header_word(bytes == RING_MEDIUM_BYTES ? RING_TAG_MEDIUM : event_id, timestamp);
	memcpy(record, &word, sizeof(word));
	if (bytes == RING_MEDIUM_BYTES)
		memcpy(record + RING_COMPACT_BYTES, &short_id, sizeof(short_id));
}

static inline uint64_t ring_timestamp_epoch(uint64_t timestamp)
{
	return timestamp >> RING_TIME_BITS & RING_EPOCH_MASK;
}

#endif /* __ASSEMBLER__ */
#endif /* SIDE_RING_LAYOUT_H */
