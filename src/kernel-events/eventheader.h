/* SPDX-License-Identifier: MIT */
/*
 * Decodes EventHeader records, each of which contains the names and types of its fields.
 *
 * Any program that may write user_events can write such a record: nothing in it is trusted.
 */
#ifndef SIDE_KERNEL_EVENTS_EVENTHEADER_H
#define SIDE_KERNEL_EVENTS_EVENTHEADER_H

#include "ctf/type.h"
#include "kernel-events/bytes.h"

/* Other decoders of EventHeader also refuse structures that are nested deeper than this. */
#define EVENTHEADER_DEPTH_MAX 8
#define EVENTHEADER_NODES_MAX 8192
#define EVENTHEADER_BYTES_MAX ((size_t)1 << 20) /* output bytes of one record */

/*
 * A record without the kernel's common bytes, split into its parts. The pointers point into the
 * record.
 */
struct eventheader {
	uint8_t flags, version, opcode, level;
	uint16_t id, tag;
	const uint8_t *metadata;
	size_t metadata_size;
	const uint8_t *activity; /* 16 or 32 bytes, or NULL */
	size_t activity_size;
	const uint8_t *payload;
	size_t payload_size;
	bool is_swapped; /* numbers have the other byte order than this machine */
};

struct eventheader_node; /* a field of the metadata */

/* A parsed description. */
struct eventheader_class {
	const char *name; /* of the event; in the arena */
	struct eventheader_node *nodes;
	uint32_t nr_nodes;
	struct ctf_type *type;
};

/* Splits a record. Returns 0 or -EINVAL. */
int eventheader_split(const uint8_t *record, size_t size, struct eventheader *ret_header);

/*
 * Parses the metadata. Returns 0, -ENOMEM, or -EINVAL if it is malformed. All memory is in the
 * arena.
 */
int eventheader_parse(const struct eventheader *header, struct ctf_arena *arena,
		struct eventheader_class *ret_class);

/*
 * Appends the values in the form of the class's type. Returns 0, or -EINVAL if the payload does not
 * match; `to` is then unchanged.
 */
int eventheader_convert(const struct eventheader_class *class, const struct eventheader *header,
		struct byte_buffer *to);

#endif /* SIDE_KERNEL_EVENTS_EVENTHEADER_H */
