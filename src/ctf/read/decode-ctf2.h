/* SPDX-License-Identifier: MIT */
/* Decodes values that only CTF 2 has: numbers of variable length, text in other encodings. */
#ifndef SIDE_CTF_READ_DECODE_CTF2_H
#define SIDE_CTF_READ_DECODE_CTF2_H

#include "ctf/read/decoder.h"

/* Converted texts of one event. */
struct ctf_text_block {
	struct ctf_text_block *next;
	char text[];
};

/*
 * Read a number in 7-bit groups at d->at, and advance. Returns the number of bits in the groups,
 * which a clock value needs; 0: error, `why` is set.
 */
unsigned int ctf_decode_leb128(
		struct ctf_decoder *d, const struct ctf_type *type, uint64_t *number);

/* Read a string of 16- or 32-bit units that ends with a zero unit, at d->at, and advance. */
int ctf_decode_wide_string(
		struct ctf_decoder *d, const struct ctf_type *type, struct ctf_value *value);

/* Convert text in `size` bytes; it ends at a zero unit or with the last byte. */
int ctf_decode_wide_text(struct ctf_decoder *d, const struct ctf_type *type,
		struct ctf_value *value, const uint8_t *bytes, uint64_t size);

/* The number with its lowest `size` bits reversed. */
uint64_t ctf_reverse_bits(uint64_t number, unsigned int size);

/* Free the converted texts. */
void ctf_decoder_drop_texts(struct ctf_decoder *d);

#endif /* SIDE_CTF_READ_DECODE_CTF2_H */
