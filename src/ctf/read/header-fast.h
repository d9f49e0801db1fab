/* SPDX-License-Identifier: MIT */
/*
 * The event header that nearly every record of SIDE and LTTng-UST has: a tag of a few bits, which
 * is the event id, and the low bits of the time, in one 32-bit word. It is read without making
 * values of its parts.
 */
#ifndef SIDE_CTF_READ_HEADER_FAST_H
#define SIDE_CTF_READ_HEADER_FAST_H

#include <string.h>

#include "ctf/read/decode.h"

struct ctf_fast_header {
	uint64_t compact; /* Bit t: a header with the tag t is such a word. 0: none is. */
	uint8_t tag_bits; /* At most 6; the rest is the time. */
	int32_t slot;     /* Where the tag is kept for references, or -1. */
};

void ctf_fast_header_make(struct ctf_fast_header *fast, const struct ctf_type *header);

/* Read a header; false: nothing is touched, it must be decoded in the usual way. */
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
	/* The low bits replace those of the clock; going back means that they wrapped once. */
	step = UINT64_C(1) << (32 - fast->tag_bits);
	low = word >> fast->tag_bits;
	d->clock = (d->clock & ~(step - 1)) + low + (low < (d->clock & (step - 1)) ? step : 0);
	d->event_id = tag;
	d->at = at + 32;
	return true;
}

#endif /* SIDE_CTF_READ_HEADER_FAST_H */
