/* SPDX-License-Identifier: MIT */
/* Loads scalars from memory of any alignment; private to this module. */
#ifndef SIDE_FILTER_MEMORY_H
#define SIDE_FILTER_MEMORY_H

#include <side/abi/type-description.h>

#include "filter/compute.h"
#include "filter/number.h"
#include "filter/op.h"

struct filter_unaligned {
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
		const void *pointer;
	};
} __attribute__((packed, may_alias));

static inline const struct filter_unaligned *filter_unaligned(const void *at)
{
	return at;
}

/* Load up to 8 bytes. */
static inline uint64_t filter_load_bytes(const void *at, unsigned int size, bool swap)
{
	const struct filter_unaligned *from = filter_unaligned(at);

	switch (size) {
	case 1: return from->u8;
	case 2: return swap ? __builtin_bswap16(from->u16) : from->u16;
	case 4: return swap ? __builtin_bswap32(from->u32) : from->u32;
	default: return swap ? __builtin_bswap64(from->u64) : from->u64;
	}
}

/* Load the two halves of 16 bytes. */
static inline void filter_load_halves(const void *at, bool swap, uint64_t *low, uint64_t *high)
{
	const char *bytes = at;
	bool low_first = (SIDE_TYPE_BYTE_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_LE) != swap;

	*low = filter_load_bytes(bytes + (low_first ? 0 : 8), 8, swap);
	*high = filter_load_bytes(bytes + (low_first ? 8 : 0), 8, swap);
}

/* Load an integer with a leaf's size, bits, shift and flags. */
static inline void filter_load_integer(
		const struct filter_move *leaf, const void *at, struct filter_value *value)
{
	uint64_t low, high;

	value->labels = NULL;
	if (leaf->size == 16) {
		filter_load_halves(at, leaf->flags & FILTER_SWAP, &low, &high);
		filter_set_wide(value, low, high, !(leaf->flags & FILTER_SIGNED));
		return;
	}
	low = filter_load_bytes(at, leaf->size, leaf->flags & FILTER_SWAP) >> leaf->shift;
	low <<= 64 - leaf->bits;
	value->kind = FILTER_INT;
	value->is_unsigned = !(leaf->flags & FILTER_SIGNED);
	if (value->is_unsigned)
		value->u = low >> (64 - leaf->bits);
	else
		value->s = (int64_t)low >> (64 - leaf->bits);
}

static inline void filter_load_float(
		const struct filter_move *leaf, const void *at, struct filter_value *value)
{
	bool swap = leaf->flags & FILTER_SWAP;
	uint64_t low, high;

	value->kind = FILTER_DOUBLE;
	value->labels = NULL;
	switch (leaf->size) {
	case 2: value->u = filter_double_from_16((uint16_t)filter_load_bytes(at, 2, swap)); break;
	case 4: value->u = filter_double_from_32((uint32_t)filter_load_bytes(at, 4, swap)); break;
	case 8: value->u = filter_load_bytes(at, 8, swap); break;
	default:
		filter_load_halves(at, swap, &low, &high);
		value->u = filter_double_from_128(low, high);
		break;
	}
}

/* Set the sizes and bits of a leaf from a scalar's type. False: the type is invalid. */
static inline bool filter_leaf_integer(struct filter_move *leaf,
		const struct side_type_integer *type, unsigned int offset_bits)
{
	unsigned int size = type->integer_size, bits = type->len_bits ? type->len_bits : 8 * size;

	if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)
		return false;
	if (offset_bits + bits > 8 * size || (size == 16 && bits != 128))
		return false;
	leaf->code = FILTER_LEAF_INTEGER;
	leaf->size = (uint8_t)size;
	leaf->bits = (uint8_t)bits;
	leaf->shift = (uint8_t)offset_bits;
	leaf->flags = type->signedness ? FILTER_SIGNED : 0;
	if (side_enum_get(type->byte_order) != SIDE_TYPE_BYTE_ORDER_HOST)
		leaf->flags |= FILTER_SWAP;
	return true;
}

static inline bool filter_leaf_bool(struct filter_move *leaf, const struct side_type_bool *type,
		unsigned int offset_bits)
{
	struct side_type_integer integer = {
			.integer_size = type->bool_size,
			.len_bits = type->len_bits,
	};

	integer.byte_order.v = type->byte_order.v;
	if (type->bool_size == 16 || !filter_leaf_integer(leaf, &integer, offset_bits))
		return false;
	leaf->code = FILTER_LEAF_BOOL;
	return true;
}

static inline bool filter_leaf_float(struct filter_move *leaf, const struct side_type_float *type)
{
	unsigned int size = type->float_size;

	if (size != 2 && size != 4 && size != 8 && size != 16)
		return false;
	leaf->code = FILTER_LEAF_FLOAT;
	leaf->size = (uint8_t)size;
	leaf->flags = 0;
	if (side_enum_get(type->byte_order) != SIDE_TYPE_FLOAT_WORD_ORDER_HOST)
		leaf->flags = FILTER_SWAP;
	return true;
}

static inline bool filter_leaf_text(struct filter_move *leaf, const struct side_type_string *type)
{
	unsigned int size = type->unit_size;

	if (size != 1 && size != 2 && size != 4)
		return false;
	leaf->code = FILTER_LEAF_TEXT;
	leaf->size = (uint8_t)size;
	leaf->flags = 0;
	if (side_enum_get(type->byte_order) != SIDE_TYPE_BYTE_ORDER_HOST)
		leaf->flags = FILTER_SWAP;
	return true;
}

#endif /* SIDE_FILTER_MEMORY_H */
