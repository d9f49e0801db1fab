/* SPDX-License-Identifier: MIT */
/* Values that only CTF 2 has: numbers of variable length, text in other encodings. */
#ifndef SIDE_CTF_READ_DECODE_CTF2_H
#define SIDE_CTF_READ_DECODE_CTF2_H

#include "ctf/read/decode.h"

/* Converted texts of one event. */
struct ctf_text_block {
	struct ctf_text_block *next;
	char text[];
};

/*
 * A number in 7-bit groups at d->at, which goes behind it. Returns how many bits the groups have,
 * as the clock wants to know; 0: why is set.
 */
unsigned int ctf_decode_leb128(
		struct ctf_decoder *d, const struct ctf_type *type, uint64_t *number);

/* A string of 16- or 32-bit units that ends with a zero one, at d->at, which goes behind it. */
int ctf_decode_wide_string(
		struct ctf_decoder *d, const struct ctf_type *type, struct ctf_value *value);

/* Text in `size` bytes; it ends at a zero unit or with them. */
int ctf_decode_wide_text(struct ctf_decoder *d, const struct ctf_type *type,
		struct ctf_value *value, const uint8_t *bytes, uint64_t size);

/* The number with its `size` bits in the other order. */
uint64_t ctf_reverse_bits(uint64_t number, unsigned int size);

/* Free them. */
void ctf_decoder_drop_texts(struct ctf_decoder *d);

#endif /* SIDE_CTF_READ_DECODE_CTF2_H */
