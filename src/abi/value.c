/* SPDX-License-Identifier: MIT */
/* Loads one scalar in any form of the ABI into a struct visit_value in host byte order. */
#include <errno.h>
#include <string.h>

#include "abi/visit.h"

/* Load size bytes, least significant first. */
static void value_load_bytes(const void *from, unsigned int size, unsigned int byte_order,
		uint64_t *ret_low, uint64_t *ret_high)
{
	const unsigned char *bytes = from;
	unsigned int i;

	*ret_low = 0;
	*ret_high = 0;
	for (i = 0; i < size; i++) {
		uint64_t byte = bytes[byte_order == SIDE_TYPE_BYTE_ORDER_BE ? size - 1 - i : i];

		if (i < 8)
			*ret_low |= byte << (8 * i);
		else
			*ret_high |= byte << (8 * (i - 8));
	}
}

/* ABI reference, section 8.2: shift, keep len_bits, extend. Storage is at most 64 bits wide. */
static int value_extract_bits(struct visit_value *value, unsigned int storage_bits,
		unsigned int offset_bits, unsigned int len_bits, bool is_signed)
{
	if (!len_bits)
		len_bits = storage_bits;
	if (offset_bits + len_bits > storage_bits)
		return -EINVAL;
	value->bits = (uint16_t)len_bits;
	value->lo >>= offset_bits;
	if (len_bits < 64)
		value->lo &= ((uint64_t)1 << len_bits) - 1;
	if (is_signed && value->lo >> (len_bits - 1) & 1) {
		if (len_bits < 64)
			value->lo |= ~(uint64_t)0 << len_bits;
		value->hi = ~(uint64_t)0;
	}
	return 0;
}

int visit_load_integer(const struct side_type_integer *type, unsigned int offset_bits,
		const void *bytes, struct visit_value *value)
{
	unsigned int size = type->integer_size;

	value->kind = type->signedness ? VISIT_SIGNED : VISIT_UNSIGNED;
	value->size = (uint16_t)size;
	switch (size) {
	case 1:
	case 2:
	case 4:
	case 8:
		value_load_bytes(bytes, size, side_enum_get(type->byte_order), &value->lo,
				&value->hi);
		return value_extract_bits(
				value, 8 * size, offset_bits, type->len_bits, type->signedness);
	case 16:
		if (offset_bits || (type->len_bits && type->len_bits != 128))
			return -EINVAL;
		value_load_bytes(bytes, size, side_enum_get(type->byte_order), &value->lo,
				&value->hi);
		value->bits = 128;
		return 0;
	default: return -EINVAL;
	}
}

int visit_load_bool(const struct side_type_bool *type, unsigned int offset_bits, const void *bytes,
		struct visit_value *value)
{
	unsigned int size = type->bool_size;

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return -EINVAL;
	value->kind = VISIT_BOOL;
	value->size = (uint16_t)size;
	value_load_bytes(bytes, size, side_enum_get(type->byte_order), &value->lo, &value->hi);
	return value_extract_bits(value, 8 * size, offset_bits, type->len_bits, false);
}

static void abi_value_reverse_bytes(unsigned char *to, const unsigned char *from, unsigned int size)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		to[i] = from[size - 1 - i];
}

int visit_load_float(const struct side_type_float *type, const void *bytes,
		struct visit_value *ret_value)
{
	unsigned int size = type->float_size;

	if (size != 2 && size != 4 && size != 8 && size != 16)
		return -EINVAL;
	ret_value->kind = VISIT_FLOAT;
	ret_value->size = (uint16_t)size;
	ret_value->bits = (uint16_t)(8 * size);
	if (side_enum_get(type->byte_order) == SIDE_TYPE_FLOAT_WORD_ORDER_HOST)
		memcpy(ret_value->bytes, bytes, size);
	else
		abi_value_reverse_bytes(ret_value->bytes, bytes, size);
	return 0;
}

void visit_load_byte(const void *bytes, struct visit_value *ret_value)
{
	ret_value->kind = VISIT_BYTE;
	ret_value->size = 1;
	ret_value->bits = 8;
	ret_value->lo = *(const unsigned char *)bytes;
	ret_value->hi = 0;
}

void visit_load_string(const struct side_type_string *type, const void *string,
		struct visit_value *ret_value)
{
	ret_value->kind = VISIT_STRING;
	ret_value->size = type->unit_size;
	ret_value->bits = 8 * type->unit_size;
	ret_value->text.at = string;
	ret_value->text.unit_size = type->unit_size;
	ret_value->text.byte_order = side_enum_get(type->byte_order);
}

int visit_load_argument(
		const struct side_type *type, const struct side_arg *arg, struct visit_value *value)
{
	unsigned int label = side_enum_get(type->type);
	int ret = 0;

	switch (label) {
	case SIDE_TYPE_NULL:
		memset(value, 0, sizeof(*value));
		value->kind = VISIT_NULL;
		break;
	case SIDE_TYPE_BOOL:
		ret = visit_load_bool(&type->u.side_bool, 0, &arg->u.side_static.bool_value, value);
		break;
	case SIDE_TYPE_BYTE: visit_load_byte(&arg->u.side_static.byte_value, value); break;
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
		ret = visit_load_float(&type->u.side_float, &arg->u.side_static.float_value, value);
		break;
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32:
		visit_load_string(&type->u.side_string,
				side_ptr_get(arg->u.side_static.string_value), value);
		break;
	default:
		if (label != SIDE_TYPE_POINTER && !visit_label_is_integer(label))
			return -EINVAL;
		ret = visit_load_integer(
				&type->u.side_integer, 0, &arg->u.side_static.integer_value, value);
		if (label == SIDE_TYPE_POINTER)
			value->kind = VISIT_POINTER;
		break;
	}
	return ret;
}

int visit_load_dynamic(const struct side_arg *arg, struct visit_value *value)
{
	const union side_arg_dynamic *u = &arg->u.side_dynamic;
	unsigned int label = side_enum_get(arg->type);
	int ret = 0;

	switch (label) {
	case SIDE_TYPE_DYNAMIC_NULL:
		memset(value, 0, sizeof(*value));
		value->kind = VISIT_NULL;
		break;
	case SIDE_TYPE_DYNAMIC_BOOL:
		ret = visit_load_bool(&u->side_bool.type, 0, &u->side_bool.value, value);
		break;
	case SIDE_TYPE_DYNAMIC_INTEGER:
	case SIDE_TYPE_DYNAMIC_POINTER:
		ret = visit_load_integer(&u->side_integer.type, 0, &u->side_integer.value, value);
		if (label == SIDE_TYPE_DYNAMIC_POINTER)
			value->kind = VISIT_POINTER;
		break;
	case SIDE_TYPE_DYNAMIC_BYTE: visit_load_byte(&u->side_byte.value, value); break;
	case SIDE_TYPE_DYNAMIC_FLOAT:
		ret = visit_load_float(&u->side_float.type, &u->side_float.value, value);
		break;
	case SIDE_TYPE_DYNAMIC_STRING:
		switch (u->side_string.type.unit_size) {
		case 1:
		case 2:
		case 4: break;
		default: return -EINVAL;
		}
		visit_load_string(&u->side_string.type,
				(const void *)(uintptr_t)u->side_string.value, value);
		break;
	default: return -EINVAL;
	}
	return ret;
}

int visit_load_attribute(const struct side_attr_value *attr, struct visit_value *ret_value)
{
	static const struct {
		uint8_t kind, size;
	} scalars[] = {
			[SIDE_ATTR_TYPE_U8] = {VISIT_UNSIGNED, 1},
			[SIDE_ATTR_TYPE_U16] = {VISIT_UNSIGNED, 2},
			[SIDE_ATTR_TYPE_U32] = {VISIT_UNSIGNED, 4},
			[SIDE_ATTR_TYPE_U64] = {VISIT_UNSIGNED, 8},
			[SIDE_ATTR_TYPE_U128] = {VISIT_UNSIGNED, 16},
			[SIDE_ATTR_TYPE_S8] = {VISIT_SIGNED, 1},
			[SIDE_ATTR_TYPE_S16] = {VISIT_SIGNED, 2},
			[SIDE_ATTR_TYPE_S32] = {VISIT_SIGNED, 4},
			[SIDE_ATTR_TYPE_S64] = {VISIT_SIGNED, 8},
			[SIDE_ATTR_TYPE_S128] = {VISIT_SIGNED, 16},
			[SIDE_ATTR_TYPE_FLOAT_BINARY16] = {VISIT_FLOAT, 2},
			[SIDE_ATTR_TYPE_FLOAT_BINARY32] = {VISIT_FLOAT, 4},
			[SIDE_ATTR_TYPE_FLOAT_BINARY64] = {VISIT_FLOAT, 8},
			[SIDE_ATTR_TYPE_FLOAT_BINARY128] = {VISIT_FLOAT, 16},
	};
	unsigned int type = side_enum_get(attr->type);

	memset(ret_value, 0, sizeof(*ret_value));
	switch (type) {
	case SIDE_ATTR_TYPE_NULL: ret_value->kind = VISIT_NULL; return 0;
	case SIDE_ATTR_TYPE_BOOL:
		ret_value->kind = VISIT_BOOL;
		ret_value->size = 1;
		ret_value->bits = 8;
		ret_value->lo = attr->u.bool_value;
		return 0;
	case SIDE_ATTR_TYPE_STRING:
		ret_value->kind = VISIT_STRING;
		ret_value->size = attr->u.string_value.unit_size;
		ret_value->bits = 8 * ret_value->size;
		ret_value->text.at = side_ptr_get(attr->u.string_value.p);
		ret_value->text.unit_size = attr->u.string_value.unit_size;
		ret_value->text.byte_order = side_enum_get(attr->u.string_value.byte_order);
		return 0;
	default: break;
	}
	if (type >= sizeof(scalars) / sizeof(scalars[0]) || !scalars[type].size)
		return -EINVAL;
	ret_value->kind = scalars[type].kind;
	ret_value->size = scalars[type].size;
	ret_value->bits = 8 * ret_value->size;
	if (ret_value->kind == VISIT_FLOAT) {
		memcpy(ret_value->bytes, &attr->u.float_value, ret_value->size);
		return 0;
	}
	value_load_bytes(&attr->u.integer_value, ret_value->size, SIDE_TYPE_BYTE_ORDER_HOST,
			&ret_value->lo, &ret_value->hi);
	if (ret_value->size <= 8)
		return value_extract_bits(
				ret_value, ret_value->bits, 0, 0, ret_value->kind == VISIT_SIGNED);
	return 0;
}

bool visit_value_s64(const struct visit_value *value, int64_t *ret_number)
{
	*ret_number = (int64_t)value->lo;
	if (value->kind == VISIT_SIGNED)
		return value->hi == (value->lo >> 63 ? ~(uint64_t)0 : 0);
	return !value->hi;
}
