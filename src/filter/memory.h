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
static inline void filter_load_halves(
		const void *at, bool swap, uint64_t *ret_low, uint64_t *ret_high)
{
	const char *bytes = at;
	bool low_first = (SIDE_TYPE_BYTE_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_LE) != swap;

	*ret_low = filter_load_bytes(bytes + (low_first ? 0 : 8), 8, swap);
	*ret_high = filter_load_bytes(bytes + (low_first ? 8 : 0), 8, swap);
}

/* Load an integer with a leaf's size, bits, shift and flags. */
static inline void filter_load_integer(
		const struct filter_move *leaf, const void *at, struct filter_value *ret_value)
{
	uint64_t low, high;

	ret_value->labels = NULL;
	if (leaf->size == 16) {
		filter_load_halves(at, leaf->flags & FILTER_SWAP, &low, &high);
		filter_set_wide(ret_value, low, high, !(leaf->flags & FILTER_SIGNED));
		return;
	}
	low = filter_load_bytes(at, leaf->size, leaf->flags & FILTER_SWAP) >> leaf->shift;
	low <<= 64 - leaf->bits;
	ret_value->kind = FILTER_INT;
	ret_value->is_unsigned = !(leaf->flags & FILTER_SIGNED);
	if (ret_value->is_unsigned)
		ret_value->u = low >> (64 - leaf->bits);
	else
		ret_value->s = (int64_t)low >> (64 - leaf->bits);
}

static inline void filter_load_float(
		const struct filter_move *leaf, const void *at, struct filter_value *ret_value)
{
	bool swap = leaf->flags & FILTER_SWAP;
	uint64_t low, high;

	ret_value->kind = FILTER_DOUBLE;
	ret_value->labels = NULL;
	switch (leaf->size) {
	case 2:
		ret_value->u = filter_double_from_16((uint16_t)filter_load_bytes(at, 2, swap));
		break;
	case 4:
		ret_value->u = filter_double_from_32((uint32_t)filter_load_bytes(at, 4, swap));
		break;
	case 8: ret_value->u = filter_load_bytes(at, 8, swap); break;
	default:
		filter_load_halves(at, swap, &low, &high);
		ret_value->u = filter_double_from_128(low, high);
		break;
	}
}

/* Set the sizes and bits of a leaf from a scalar's type. False: the type is invalid. */
static inline bool filter_leaf_integer(struct filter_move *ret_leaf,
		const struct side_type_integer *type, unsigned int offset_bits)
{
	unsigned int size = type->integer_size, bits = type->len_bits ? type->len_bits : 8 * size;

	if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)
		return false;
	if (offset_bits + bits > 8 * size || (size == 16 && bits != 128))
		return false;
	ret_leaf->code = FILTER_LEAF_INTEGER;
	ret_leaf->size = (uint8_t)size;
	ret_leaf->bits = (uint8_t)bits;
	ret_leaf->shift = (uint8_t)offset_bits;
	ret_leaf->flags = type->signedness ? FILTER_SIGNED : 0;
	if (side_enum_get(type->byte_order) != SIDE_TYPE_BYTE_ORDER_HOST)
		ret_leaf->flags |= FILTER_SWAP;
	return true;
}

static inline bool filter_leaf_bool(struct filter_move *ret_leaf, const struct side_type_bool *type,
		unsigned int offset_bits)
{
	struct side_type_integer integer = {
			.integer_size = type->bool_size,
			.len_bits = type->len_bits,
	};

	integer.byte_order.v = type->byte_order.v;
	if (type->bool_size == 16 || !filter_leaf_integer(ret_leaf, &integer, offset_bits))
		return false;
	ret_leaf->code = FILTER_LEAF_BOOL;
	return true;
}

static inline bool filter_leaf_float(
		struct filter_move *ret_leaf, const struct side_type_float *type)
{
	unsigned int size = type->float_size;

	if (size != 2 && size != 4 && size != 8 && size != 16)
		return false;
	ret_leaf->code = FILTER_LEAF_FLOAT;
	ret_leaf->size = (uint8_t)size;
	ret_leaf->flags = 0;
	if (side_enum_get(type->byte_order) != SIDE_TYPE_FLOAT_WORD_ORDER_HOST)
		ret_leaf->flags = FILTER_SWAP;
	return true;
}

static inline bool filter_leaf_text(
		struct filter_move *ret_leaf, const struct side_type_string *type)
{
	unsigned int size = type->unit_size;

	if (size != 1 && size != 2 && size != 4)
		return false;
	ret_leaf->code = FILTER_LEAF_TEXT;
	ret_leaf->size = (uint8_t)size;
	ret_leaf->flags = 0;
	if (side_enum_get(type->byte_order) != SIDE_TYPE_BYTE_ORDER_HOST)
		ret_leaf->flags = FILTER_SWAP;
	return true;
}

#endif /* SIDE_FILTER_MEMORY_H */
