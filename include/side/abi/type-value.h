/* SPDX-License-Identifier: MIT */
/*
 * SIDE ABI: labels of types, and the unions that hold values.
 *
 * Structure members are in host byte order and may have any address. The bytes of a union after the
 * active member are unspecified: never read, compare or hash them.
 */
#ifndef SIDE_ABI_TYPE_VALUE_H
#define SIDE_ABI_TYPE_VALUE_H

#pragma GCC system_header

#include <stdint.h>
#include <stdlib.h> /* __HAVE_FLOATnn of the C library */

#include <side/endian.h>
#include <side/macros.h>

/*
 * The float members exist only if the C library announces the type; the layout does not depend on
 * it. (glibc: never _Float16; _Float128 with GCC only.)
 */
#if defined(__HAVE_FLOAT16) && __HAVE_FLOAT16
#define SIDE_HAVE_FLOAT16 1
#else
#define SIDE_HAVE_FLOAT16 0
#endif
#if defined(__HAVE_FLOAT32) && __HAVE_FLOAT32
#define SIDE_HAVE_FLOAT32 1
#else
#define SIDE_HAVE_FLOAT32 0
#endif
#if defined(__HAVE_FLOAT64) && __HAVE_FLOAT64
#define SIDE_HAVE_FLOAT64 1
#else
#define SIDE_HAVE_FLOAT64 0
#endif
#if defined(__HAVE_FLOAT128) && __HAVE_FLOAT128
#define SIDE_HAVE_FLOAT128 1
#else
#define SIDE_HAVE_FLOAT128 0
#endif

enum side_type_label {
	/* Stack-copy basic types */
	SIDE_TYPE_NULL = 0,
	SIDE_TYPE_BOOL = 1,
	SIDE_TYPE_U8 = 2,
	SIDE_TYPE_U16 = 3,
	SIDE_TYPE_U32 = 4,
	SIDE_TYPE_U64 = 5,
	SIDE_TYPE_U128 = 6,
	SIDE_TYPE_S8 = 7,
	SIDE_TYPE_S16 = 8,
	SIDE_TYPE_S32 = 9,
	SIDE_TYPE_S64 = 10,
	SIDE_TYPE_S128 = 11,
	SIDE_TYPE_BYTE = 12,
	SIDE_TYPE_POINTER = 13,
	SIDE_TYPE_FLOAT_BINARY16 = 14,
	SIDE_TYPE_FLOAT_BINARY32 = 15,
	SIDE_TYPE_FLOAT_BINARY64 = 16,
	SIDE_TYPE_FLOAT_BINARY128 = 17,
	SIDE_TYPE_STRING_UTF8 = 18,
	SIDE_TYPE_STRING_UTF16 = 19,
	SIDE_TYPE_STRING_UTF32 = 20,
	/* Stack-copy compound types */
	SIDE_TYPE_STRUCT = 21,
	SIDE_TYPE_VARIANT = 22,
	SIDE_TYPE_OPTIONAL = 23,
	SIDE_TYPE_ARRAY = 24,
	SIDE_TYPE_VLA = 25,
	SIDE_TYPE_VLA_VISITOR = 26,
	/* Stack-copy enumerations: in descriptions only, the argument is that of the element */
	SIDE_TYPE_ENUM = 27,
	SIDE_TYPE_ENUM_BITMAP = 28,
	/* Position of a dynamic value: in descriptions only */
	SIDE_TYPE_DYNAMIC = 29,
	/* Gather basic types */
	SIDE_TYPE_GATHER_BOOL = 30,
	SIDE_TYPE_GATHER_INTEGER = 31,
	SIDE_TYPE_GATHER_BYTE = 32,
	SIDE_TYPE_GATHER_POINTER = 33,
	SIDE_TYPE_GATHER_FLOAT = 34,
	SIDE_TYPE_GATHER_STRING = 35,
	/* Gather compound types */
	SIDE_TYPE_GATHER_STRUCT = 36,
	SIDE_TYPE_GATHER_ARRAY = 37,
	SIDE_TYPE_GATHER_VLA = 38,
	/* Gather enumeration: in descriptions only */
	SIDE_TYPE_GATHER_ENUM = 39,
	/* Dynamic basic types: in arguments only */
	SIDE_TYPE_DYNAMIC_NULL = 40,
	SIDE_TYPE_DYNAMIC_BOOL = 41,
	SIDE_TYPE_DYNAMIC_INTEGER = 42,
	SIDE_TYPE_DYNAMIC_BYTE = 43,
	SIDE_TYPE_DYNAMIC_POINTER = 44,
	SIDE_TYPE_DYNAMIC_FLOAT = 45,
	SIDE_TYPE_DYNAMIC_STRING = 46,
	/* Dynamic compound types: in arguments only */
	SIDE_TYPE_DYNAMIC_STRUCT = 47,
	SIDE_TYPE_DYNAMIC_STRUCT_VISITOR = 48,
	SIDE_TYPE_DYNAMIC_VLA = 49,
	SIDE_TYPE_DYNAMIC_VLA_VISITOR = 50,

	_NR_SIDE_TYPE_LABEL, /* number of labels; new labels go before it, old ones never change */
};

enum side_type_label_byte_order {
	SIDE_TYPE_BYTE_ORDER_LE = 0,
	SIDE_TYPE_BYTE_ORDER_BE = 1,
};

#if SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN
#define SIDE_TYPE_BYTE_ORDER_HOST SIDE_TYPE_BYTE_ORDER_LE
#else
#define SIDE_TYPE_BYTE_ORDER_HOST SIDE_TYPE_BYTE_ORDER_BE
#endif
#if SIDE_FLOAT_WORD_ORDER == SIDE_LITTLE_ENDIAN
#define SIDE_TYPE_FLOAT_WORD_ORDER_HOST SIDE_TYPE_BYTE_ORDER_LE
#else
#define SIDE_TYPE_FLOAT_WORD_ORDER_HOST SIDE_TYPE_BYTE_ORDER_BE
#endif

/* The two halves of a 128-bit integer: the pair has the memory image of a native one. */
enum side_integer128_split_index {
#if SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN
	SIDE_INTEGER128_SPLIT_LOW = 0,
	SIDE_INTEGER128_SPLIT_HIGH = 1,
#else
	SIDE_INTEGER128_SPLIT_HIGH = 0,
	SIDE_INTEGER128_SPLIT_LOW = 1,
#endif
	NR_SIDE_INTEGER128_SPLIT,
};

union side_integer_value {
	uint8_t side_u8;
	uint16_t side_u16;
	uint32_t side_u32;
	uint64_t side_u64;
	int8_t side_s8;
	int16_t side_s16;
	int32_t side_s32;
	int64_t side_s64;
	uintptr_t side_uptr;
	uint64_t side_u128_split[NR_SIDE_INTEGER128_SPLIT];
	int64_t side_s128_split[NR_SIDE_INTEGER128_SPLIT];
#ifdef __SIZEOF_INT128__
	__extension__ unsigned __int128 side_u128;
	__extension__ __int128 side_s128;
#endif
	side_padding(32);
} SIDE_PACKED;
side_check_size(union side_integer_value, 32);

union side_bool_value {
	uint8_t side_bool8;
	uint16_t side_bool16;
	uint32_t side_bool32;
	uint64_t side_bool64;
	side_padding(32);
} SIDE_PACKED;
side_check_size(union side_bool_value, 32);

union side_float_value {
#if SIDE_HAVE_FLOAT16
	__extension__ _Float16 side_float_binary16;
#endif
#if SIDE_HAVE_FLOAT32
	__extension__ _Float32 side_float_binary32;
#endif
#if SIDE_HAVE_FLOAT64
	__extension__ _Float64 side_float_binary64;
#endif
#if SIDE_HAVE_FLOAT128
	__extension__ _Float128 side_float_binary128;
#endif
	side_padding(32);
} SIDE_PACKED;
side_check_size(union side_float_value, 32);

/* NUL-terminated string of code units of 1, 2 or 4 bytes (UTF-8, UTF-16, UTF-32). */
struct side_type_raw_string {
	side_ptr_t(const void) p;
	uint8_t unit_size; /* bytes */
	side_enum_t(enum side_type_label_byte_order, uint8_t) byte_order;
} SIDE_PACKED;
side_check_size(struct side_type_raw_string, 18);

#endif /* SIDE_ABI_TYPE_VALUE_H */
