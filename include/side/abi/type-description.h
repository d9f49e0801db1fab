/* SPDX-License-Identifier: MIT */
/*
 * SIDE ABI: descriptions of types.
 *
 * Descriptions are immutable and exist until their event is unregistered. Sizes are in bytes unless
 * the name contains bits. All structures are packed, and the same for 32-bit and 64-bit processes;
 * the only exception is the tail padding of struct side_type_optional.
 */
#ifndef SIDE_ABI_TYPE_DESCRIPTION_H
#define SIDE_ABI_TYPE_DESCRIPTION_H

#pragma GCC system_header

#include <stdint.h>

#include <side/abi/attribute.h>
#include <side/abi/type-value.h>
#include <side/abi/visitor.h>
#include <side/macros.h>

struct side_type;
struct side_event_field;

enum side_type_gather_access_mode {
	SIDE_TYPE_GATHER_ACCESS_DIRECT = 0,  /* the value is at base + offset */
	SIDE_TYPE_GATHER_ACCESS_POINTER = 1, /* a native pointer to it is at base + offset */
};

/* Basic types */

struct side_type_null {
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct side_type_null, 20);

struct side_type_bool {
	side_array_t(const struct side_attr) attributes;
	uint16_t bool_size; /* 1, 2, 4, 8 */
	uint16_t len_bits;  /* significant bits; 0: all */
	side_enum_t(enum side_type_label_byte_order, uint8_t) byte_order;
} SIDE_PACKED;
side_check_size(struct side_type_bool, 25);

struct side_type_byte {
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct side_type_byte, 20);

struct side_type_string {
	side_array_t(const struct side_attr) attributes;
	uint8_t unit_size; /* 1, 2, 4 */
	side_enum_t(enum side_type_label_byte_order, uint8_t) byte_order;
} SIDE_PACKED;
side_check_size(struct side_type_string, 22);

struct side_type_integer {
	side_array_t(const struct side_attr) attributes;
	uint16_t integer_size; /* 1, 2, 4, 8, 16 */
	uint16_t len_bits;     /* significant bits; 0: all */
	uint8_t signedness;    /* 0 or 1 */
	side_enum_t(enum side_type_label_byte_order, uint8_t) byte_order;
} SIDE_PACKED;
side_check_size(struct side_type_integer, 26);

struct side_type_float {
	side_array_t(const struct side_attr) attributes;
	uint16_t float_size; /* 2, 4, 8, 16: IEEE binary16 ... binary128 */
	side_enum_t(enum side_type_label_byte_order, uint8_t) byte_order;
} SIDE_PACKED;
side_check_size(struct side_type_float, 23);

/* Enumerations; ranges are inclusive and may overlap. */

struct side_enum_mapping {
	int64_t range_begin;
	int64_t range_end;
	struct side_type_raw_string label;
} SIDE_PACKED;
side_check_size(struct side_enum_mapping, 34);

struct side_enum_mappings {
	side_array_t(const struct side_enum_mapping) mappings;
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct side_enum_mappings, 40);

struct side_enum_bitmap_mapping {
	uint64_t range_begin; /* index of a bit */
	uint64_t range_end;
	struct side_type_raw_string label;
} SIDE_PACKED;
side_check_size(struct side_enum_bitmap_mapping, 34);

struct side_enum_bitmap_mappings {
	side_array_t(const struct side_enum_bitmap_mapping) mappings;
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct side_enum_bitmap_mappings, 40);

struct side_type_enum {
	side_ptr_t(const struct side_enum_mappings) mappings;
	side_ptr_t(const struct side_type) elem_type; /* U8 ... S128 */
} SIDE_PACKED;
side_check_size(struct side_type_enum, 32);

struct side_type_enum_bitmap {
	side_ptr_t(const struct side_enum_bitmap_mappings) mappings;
	side_ptr_t(const struct side_type) elem_type; /* BYTE, U8 ... U128, ARRAY or VLA of them */
} SIDE_PACKED;
side_check_size(struct side_type_enum_bitmap, 32);

/* Compound types */

struct side_type_struct {
	side_array_t(const struct side_event_field) fields;
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct side_type_struct, 40);

struct side_type_array {
	side_ptr_t(const struct side_type) elem_type;
	uint32_t length; /* elements */
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct side_type_array, 40);

struct side_type_vla {
	side_ptr_t(const struct side_type) elem_type;
	side_ptr_t(const struct side_type) length_type; /* the type that encodes the length */
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct side_type_vla, 52);

struct side_type_vla_visitor {
	side_ptr_t(const struct side_type) elem_type;
	side_ptr_t(const struct side_type) length_type; /* the type that encodes the length */
	side_func_ptr_t(side_visitor_func) visitor;
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct side_type_vla_visitor, 68);

/* Not packed in the ABI. The padding at the end (64-bit only) is not read. */
struct side_type_optional {
	side_ptr_t(const struct side_type) elem_type;
	side_array_t(const struct side_attr) attributes;
} __attribute__((aligned(__SIZEOF_POINTER__)));
side_check_size(struct side_type_optional, (__SIZEOF_POINTER__ == 4 ? 36 : 40));

/* Gather types: the argument is a base pointer, the description has the offset of the value. */

struct side_type_gather_bool {
	uint64_t offset;      /* bytes from the base pointer */
	uint16_t offset_bits; /* right shift after the load */
	side_enum_t(enum side_type_gather_access_mode, uint8_t) access_mode;
	struct side_type_bool type;
} SIDE_PACKED;
side_check_size(struct side_type_gather_bool, 36);

struct side_type_gather_byte {
	uint64_t offset;
	side_enum_t(enum side_type_gather_access_mode, uint8_t) access_mode;
	struct side_type_byte type;
} SIDE_PACKED;
side_check_size(struct side_type_gather_byte, 29);

struct side_type_gather_integer {
	uint64_t offset;
	uint16_t offset_bits; /* right shift after the load */
	side_enum_t(enum side_type_gather_access_mode, uint8_t) access_mode;
	struct side_type_integer type;
} SIDE_PACKED;
side_check_size(struct side_type_gather_integer, 37);

struct side_type_gather_float {
	uint64_t offset;
	side_enum_t(enum side_type_gather_access_mode, uint8_t) access_mode;
	struct side_type_float type;
} SIDE_PACKED;
side_check_size(struct side_type_gather_float, 32);

struct side_type_gather_string {
	uint64_t offset;
	side_enum_t(enum side_type_gather_access_mode, uint8_t) access_mode;
	struct side_type_string type;
} SIDE_PACKED;
side_check_size(struct side_type_gather_string, 31);

struct side_type_gather_enum {
	side_ptr_t(const struct side_enum_mappings) mappings;
	side_ptr_t(const struct side_type) elem_type; /* GATHER_INTEGER */
} SIDE_PACKED;
side_check_size(struct side_type_gather_enum, 32);

struct side_type_gather_struct {
	side_ptr_t(const struct side_type_struct) type; /* members are all gather types */
	uint64_t offset;
	side_enum_t(enum side_type_gather_access_mode, uint8_t) access_mode;
	uint32_t size; /* of the structure in memory: the stride in an array */
} SIDE_PACKED;
side_check_size(struct side_type_gather_struct, 29);

struct side_type_gather_array {
	uint64_t offset;
	side_enum_t(enum side_type_gather_access_mode, uint8_t) access_mode;
	struct side_type_array type;
} SIDE_PACKED;
side_check_size(struct side_type_gather_array, 49);

struct side_type_gather_vla {
	uint64_t offset;
	side_enum_t(enum side_type_gather_access_mode, uint8_t) access_mode;
	struct side_type_vla type;
} SIDE_PACKED;
side_check_size(struct side_type_gather_vla, 61);

struct side_type_gather {
	union {
		struct side_type_gather_bool side_bool;
		struct side_type_gather_byte side_byte;
		struct side_type_gather_integer side_integer; /* and pointers */
		struct side_type_gather_float side_float;
		struct side_type_gather_string side_string;
		struct side_type_gather_enum side_enum;
		struct side_type_gather_array side_array;
		struct side_type_gather_vla side_vla;
		struct side_type_gather_struct side_struct;
		side_padding(61);
	} SIDE_PACKED u;
} SIDE_PACKED;
side_check_size(struct side_type_gather, 61);

/* Any type */

struct side_type {
	side_enum_t(enum side_type_label, uint16_t) type; /* selects the member of u */
	union {
		struct side_type_null side_null;
		struct side_type_bool side_bool;
		struct side_type_byte side_byte;
		struct side_type_string side_string;
		struct side_type_integer side_integer; /* and pointers */
		struct side_type_float side_float;
		side_ptr_t(const struct side_type_array) side_array;
		side_ptr_t(const struct side_type_vla) side_vla;
		side_ptr_t(const struct side_type_vla_visitor) side_vla_visitor;
		side_ptr_t(const struct side_type_struct) side_struct;
		side_ptr_t(const struct side_type_variant) side_variant;
		side_ptr_t(const struct side_type_optional) side_optional;
		struct side_type_enum side_enum;
		struct side_type_enum_bitmap side_enum_bitmap;
		struct side_type_gather side_gather;
		side_padding(62);
	} SIDE_PACKED u;
} SIDE_PACKED;
side_check_size(struct side_type, 64);

struct side_variant_option {
	int64_t range_begin; /* of the selector, inclusive */
	int64_t range_end;
	const struct side_type side_type;
} SIDE_PACKED;
side_check_size(struct side_variant_option, 80);

struct side_type_variant {
	side_array_t(const struct side_variant_option) options; /* the first match wins */
	const struct side_type selector;                        /* U8 ... S128 */
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct side_type_variant, 104);

struct side_event_field {
	side_ptr_t(const char) field_name; /* UTF-8 */
	struct side_type side_type;
} SIDE_PACKED;
side_check_size(struct side_event_field, 80);

#endif /* SIDE_ABI_TYPE_DESCRIPTION_H */
