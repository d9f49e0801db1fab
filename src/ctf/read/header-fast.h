/* SPDX-License-Identifier: MIT */
/*
 * Fast path for the event header of nearly all records of SIDE and LTTng-UST: a tag of a few bits,
 * which is the event id, and the low bits of the time, in one 32-bit word. Reads it without making
 * values of its parts.
 */
#ifndef SIDE_CTF_READ_HEADER_FAST_H
#define SIDE_CTF_READ_HEADER_FAST_H

#include <string.h>

#include "ctf/read/decode.h"

struct ctf_fast_header {
	uint64_t compact; /* Bit t is set if a header with the tag t has this form. 0: none. */
	uint8_t tag_bits; /* At most 6; the remaining bits are the time. */
	int32_t slot;     /* The slot that stores the tag for references, or -1. */
};

void ctf_fast_header_make(struct ctf_fast_header *fast, const struct ctf_type *header);

/* Read a header; false: nothing is changed, the caller must decode it as usual. */
static inline bool ctf_fast_header_read(const struct ctf_fast_header *fast, struct ctf_decoder *d)
{
	uint64_t at = (d->at + 7) & ~UINT64_C(7), step, low;
	uint32_t word, tag;

	if (!fast->compact || at > d->end || d->end - at < 32)
		return false;
	memcpy(&word, d->base + at / 8, 4);
	tag = word & ((1u << fast->tag_bits) - 1);
	if (!(fast->compact >> tag & 1))
		return false;
	if (fast->slot >= 0)
		d->slots[fast->slot] = tag;
	/* The low bits replace those of the clock; a smaller value means that they wrapped once. */
	step = UINT64_C(1) << (32 - fast->tag_bits);
	low = word >> fast->tag_bits;
	d->clock = (d->clock & ~(step - 1)) + low + (low < (d->clock & (step - 1)) ? step : 0);
	d->event_id = tag;
	d->at = at + 32;
	return true;
}

#endif /* SIDE_CTF_READ_HEADER_FAST_H */
