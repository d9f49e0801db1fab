/* SPDX-License-Identifier: MIT */
/* The encoder: reads untrusted memory, and writes to a buffer. */
#ifndef SIDE_ABI_ENCODE_H
#define SIDE_ABI_ENCODE_H

#include <string.h>

#include "abi/codec.h"

struct encoder {
	const struct visit_memory *memory; /* NULL: this process */
	struct visit_buffer *out;
	size_t start;   /* offset of this description in out */
	bool swap;      /* members are not in host byte order */
	uint32_t nodes; /* remaining budget */
	struct visit_error *error;
};

/* Copy out of the memory; an error names the address. */
int visit_encoder_get(struct encoder *encoder, uint64_t address, void *to, size_t size,
		const struct visit_step *step);

/* Append to the buffer, within the budget. */
int visit_encoder_put(struct encoder *encoder, const void *bytes, size_t size,
		const struct visit_step *step);
int visit_encoder_put_number(struct encoder *encoder, uint64_t number, unsigned int size,
		const struct visit_step *step);

/* Take one node from the budget. -E2BIG if none is left. */
int visit_encoder_spend(struct encoder *encoder, const struct visit_step *step);

/* Follow a pointer to a string with units of this size. Appends u32 bytes (CODEC_NULL), units. */
int visit_encoder_put_units(struct encoder *encoder, uint64_t address, unsigned int unit,
		const struct visit_step *step);
/* The same after u8 unit size, u8 byte order. */
int visit_encoder_put_raw_string(struct encoder *encoder, const struct side_type_raw_string *string,
		const struct visit_step *step);

/* Convert members from the byte order of the memory. */

static inline uint16_t visit_encoder_m16(const struct encoder *encoder, uint16_t value)
{
	return encoder->swap ? __builtin_bswap16(value) : value;
}

static inline uint32_t visit_encoder_m32(const struct encoder *encoder, uint32_t value)
{
	return encoder->swap ? __builtin_bswap32(value) : value;
}

static inline uint64_t visit_encoder_m64(const struct encoder *encoder, uint64_t value)
{
	return encoder->swap ? __builtin_bswap64(value) : value;
}

/*
 * The address in a pointer slot. On all hosts a slot holds the pointer in the low-order bytes of a
 * 128-bit integer in host byte order, and zero in the other bytes.
 */
static inline uint64_t visit_encoder_slot(const struct encoder *encoder, const void *slot)
{
	bool is_be = (SIDE_TYPE_BYTE_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_BE) != encoder->swap;
	uint64_t address;

	memcpy(&address, (const char *)slot + (is_be ? 8 : 0), 8);
	return visit_encoder_m64(encoder, address);
}

#define SLOT(encoder, slot) visit_encoder_slot(encoder, &(slot))
/* Address and length of a side_array_t, as two arguments. */
#define ARRAY(encoder, array) \
	visit_encoder_slot(encoder, &(array).elements), visit_encoder_m32(encoder, (array).length)

#endif /* SIDE_ABI_ENCODE_H */
