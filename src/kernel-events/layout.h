/* SPDX-License-Identifier: MIT */
/* The CTF type of a kernel event's fields, and the steps that copy a record's fields. */
#ifndef SIDE_KERNEL_EVENTS_LAYOUT_H
#define SIDE_KERNEL_EVENTS_LAYOUT_H

#include "ctf/type.h"
#include "kernel-events/bytes.h"
#include "kernel-events/format.h"

enum layout_step_kind {
	LAYOUT_COPY,      /* bytes, unchanged */
	LAYOUT_TEXT,      /* a string at the offset in a location word, up to its zero */
	LAYOUT_ARRAY,     /* an array at such an offset: a count of elements, then the elements */
	LAYOUT_REMAINDER, /* the bytes after the fields: a count of bytes, then the bytes */
};

struct layout_step {
	enum layout_step_kind kind;
	bool relative;
	uint32_t offset; /* in the record, including the common bytes */
	uint32_t size;   /* LAYOUT_ARRAY: of one element */
};

struct layout {
	struct layout_step *steps;
	uint32_t nr_steps;
};

/*
 * Create steps and type; the type is in the arena. `remainder`: add a last field for the bytes
 * after the fields. Returns 0 or -ENOMEM. Call layout_free() in any case.
 */
int layout_make(const struct format *format, bool remainder, struct ctf_arena *arena,
		struct layout *layout, struct ctf_type **ret_type);
void layout_free(struct layout *layout);

/*
 * Append the fields of a record, whose `size` includes the common bytes. Any contents are safe.
 * Missing bytes become zeros.
 */
void layout_run(const struct layout *layout, const uint8_t *record, size_t size,
		struct byte_buffer *to);

#endif /* SIDE_KERNEL_EVENTS_LAYOUT_H */
