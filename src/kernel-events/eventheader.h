/* SPDX-License-Identifier: MIT */
/*
 * EventHeader records, read: each brings the names and types of its fields. Any program that may write user_events may
 * have made them up.
 */
#ifndef SIDE_KERNEL_EVENTS_EVENTHEADER_H
#define SIDE_KERNEL_EVENTS_EVENTHEADER_H

#include "ctf/type.h"
#include "kernel-events/bytes.h"

/* Deeper structures are refused by other readers as well. */
#define EVENTHEADER_DEPTH_MAX 8
#define EVENTHEADER_NODES_MAX 8192
#define EVENTHEADER_BYTES_MAX ((size_t)1 << 20) /* that one record may become */

/* A record, without the kernel's common bytes, taken apart; all points into it. */
struct eventheader {
	uint8_t flags, version, opcode, level;
	uint16_t id, tag;
	const uint8_t *metadata;
	size_t metadata_size;
	const uint8_t *activity; /* 16 or 32 bytes, or NULL */
	size_t activity_size;
	const uint8_t *payload;
	size_t payload_size;
	bool foreign; /* numbers have the byte order that this machine has not */
};

struct eventheader_node; /* a field, as the metadata has it */

/* What the metadata says. */
struct eventheader_class {
	const char *name; /* of the event, in the arena */
	struct eventheader_node *nodes;
	uint32_t nr_nodes;
	struct ctf_type *type;
};

/* 0 or -EINVAL. */
int eventheader_split(const uint8_t *record, size_t size, struct eventheader *header);

/* 0, -ENOMEM, or -EINVAL: that is no metadata. All is in the arena. */
int eventheader_describe(const struct eventheader *header, struct ctf_arena *arena,
		struct eventheader_class *class);

/* The values, as the type has them. 0, or -EINVAL: the payload does not fit; `to` is as before. */
int eventheader_convert(const struct eventheader_class *class, const struct eventheader *header,
		struct byte_buffer *to);

#endif /* SIDE_KERNEL_EVENTS_EVENTHEADER_H */
