/* SPDX-License-Identifier: MIT */
/* A kernel event's fields as CTF: the types, and the copying of each record. */
#ifndef SIDE_KERNEL_EVENTS_LAYOUT_H
#define SIDE_KERNEL_EVENTS_LAYOUT_H

#include "ctf/type.h"
#include "kernel-events/bytes.h"
#include "kernel-events/format.h"

enum layout_step_kind {
	LAYOUT_COPY,      /* as it stands */
	LAYOUT_TEXT,      /* of the place that a word tells: up to its zero */
	LAYOUT_ARRAY,     /* the same: a count of elements, and these */
	LAYOUT_REMAINDER, /* what stands behind the fields: a count of bytes, and these */
};

struct layout_step {
	enum layout_step_kind kind;
	bool relative;
	uint32_t offset; /* in the record, common bytes included */
	uint32_t size;   /* LAYOUT_ARRAY: of an element */
};

struct layout {
	struct layout_step *steps;
	uint32_t nr_steps;
};

/*
 * Steps and types, the latter in the arena. `remainder`: a last field for the bytes behind the others. 0 or -ENOMEM;
 * layout_free() in any case.
 */
int layout_make(const struct format *format, bool remainder, struct ctf_arena *arena,
		struct layout *layout, struct ctf_type **type);
void layout_free(struct layout *layout);

/* The fields of a record, common bytes included, whatever is in it. What is too short ends in zeros. */
void layout_run(const struct layout *layout, const uint8_t *record, size_t size,
		struct byte_buffer *to);

#endif /* SIDE_KERNEL_EVENTS_LAYOUT_H */
