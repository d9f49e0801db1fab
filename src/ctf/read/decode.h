/* SPDX-License-Identifier: MIT */
/* Decodes bits to values. */
#ifndef SIDE_CTF_READ_DECODE_H
#define SIDE_CTF_READ_DECODE_H

#include "ctf/read/decoder.h"

/* Decode one scope; *ret_index is the index of its value. 0, -EINVAL (why is set) or -ENOMEM. */
int ctf_decode(struct ctf_decoder *decoder, const struct ctf_type *type, uint32_t *ret_index);

/* Read an integer of the type at a bit position; the caller has checked that it is within the
   limit. */
uint64_t ctf_read_integer(
		const uint8_t *base, uint64_t limit, uint64_t at, const struct ctf_type *type);

/* Distance of the elements of a packed array in bits. */
static inline uint64_t ctf_packed_stride(const struct ctf_type *element)
{
	return (element->size + (uint64_t)element->align - 1) & ~((uint64_t)element->align - 1);
}

/* Store the number in the value, according to its type. */
void ctf_value_set(struct ctf_value *value, const struct ctf_type *type, uint64_t number);

#endif /* SIDE_CTF_READ_DECODE_H */
