/* SPDX-License-Identifier: MIT */
/*
 * SIDE ABI: attributes, named constants attached to events, types and values.
 *
 * Keys need not be unique. Values are in host byte order; strings carry their own.
 */
#ifndef SIDE_ABI_ATTRIBUTE_H
#define SIDE_ABI_ATTRIBUTE_H

#pragma GCC system_header

#include <stdint.h>

#include <side/abi/type-value.h>
#include <side/macros.h>

enum side_attr_type {
	SIDE_ATTR_TYPE_NULL = 0,
	SIDE_ATTR_TYPE_BOOL = 1,
	SIDE_ATTR_TYPE_U8 = 2,
	SIDE_ATTR_TYPE_U16 = 3,
	SIDE_ATTR_TYPE_U32 = 4,
	SIDE_ATTR_TYPE_U64 = 5,
	SIDE_ATTR_TYPE_U128 = 6,
	SIDE_ATTR_TYPE_S8 = 7,
	SIDE_ATTR_TYPE_S16 = 8,
	SIDE_ATTR_TYPE_S32 = 9,
	SIDE_ATTR_TYPE_S64 = 10,
	SIDE_ATTR_TYPE_S128 = 11,
	SIDE_ATTR_TYPE_FLOAT_BINARY16 = 12,
	SIDE_ATTR_TYPE_FLOAT_BINARY32 = 13,
	SIDE_ATTR_TYPE_FLOAT_BINARY64 = 14,
	SIDE_ATTR_TYPE_FLOAT_BINARY128 = 15,
	SIDE_ATTR_TYPE_STRING = 16,

	_NR_SIDE_ATTR_TYPE, /* number of types; new types go before it, old ones never change */
};

struct side_attr_value {
	side_enum_t(enum side_attr_type, uint32_t) type; /* selects the member of u */
	union {
		uint8_t bool_value; /* 0 or 1 */
		struct side_type_raw_string string_value;
		union side_integer_value integer_value;
		union side_float_value float_value;
		side_padding(32);
	} SIDE_PACKED u;
} SIDE_PACKED;
side_check_size(struct side_attr_value, 36);

struct side_attr {
	const struct side_type_raw_string key;
	const struct side_attr_value value;
} SIDE_PACKED;
side_check_size(struct side_attr, 54);

#endif /* SIDE_ABI_ATTRIBUTE_H */
