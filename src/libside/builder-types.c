/* SPDX-License-Identifier: MIT */
/*
 * Creates the types of a builder. These functions only store their arguments. The checks run when
 * the description is finished, because only then the path to a type is known for the error message.
 */
#include <string.h>

#include "builder-nodes.h"
#include "export.h"

static struct side_builder_type *builder_types_create(
		struct side_builder *builder, enum side_type_label label)
{
	struct side_builder_type *type;

	if (!builder)
		return NULL;
	type = builder_take(builder, sizeof(*type));
	if (!type)
		return NULL;
	type->builder = builder;
	side_enum_set(type->raw.type, label);
	return type;
}

static struct side_builder_type *builder_types_wrap(struct side_builder *builder,
		enum side_type_label label, struct side_builder_type *element,
		struct side_builder_type *length)
{
	struct side_builder_type *type = builder_types_create(builder, label);

	if (type) {
		type->element = element;
		type->length = length;
	}
	return type;
}

/*
 * Limit a value to the 16 bits of a member, so that a too large value does not become a valid one.
 */
static uint16_t builder_types_clip16(unsigned int number)
{
	return number > UINT16_MAX ? UINT16_MAX : (uint16_t)number;
}

static uint8_t builder_types_clip8(unsigned int number)
{
	return number > UINT8_MAX ? UINT8_MAX : (uint8_t)number;
}

static void builder_types_fill_integer(struct side_type_integer *integer, unsigned int size,
		int is_signed, unsigned int len_bits, unsigned int byte_order)
{
	integer->integer_size = builder_types_clip16(size);
	integer->len_bits = builder_types_clip16(len_bits);
	integer->signedness = !!is_signed;
	integer->byte_order.v = builder_types_clip8(byte_order);
}

EXPORT struct side_builder_type *side_builder_null(struct side_builder *builder)
{
	return builder_types_create(builder, SIDE_TYPE_NULL);
}

EXPORT struct side_builder_type *side_builder_bool(struct side_builder *builder)
{
	struct side_builder_type *type = builder_types_create(builder, SIDE_TYPE_BOOL);

	if (type) {
		type->raw.u.side_bool.bool_size = 1;
		type->raw.u.side_bool.byte_order.v = SIDE_TYPE_BYTE_ORDER_HOST;
	}
	return type;
}

EXPORT struct side_builder_type *side_builder_byte(struct side_builder *builder)
{
	return builder_types_create(builder, SIDE_TYPE_BYTE);
}

/* The binary logarithm of a size. */
static unsigned int builder_types_size_index(unsigned int size)
{
	unsigned int index;

	for (index = 0; index < 5; index++) {
		if (size == 1u << index)
			return index;
	}
	return index;
}

EXPORT struct side_builder_type *side_builder_integer(struct side_builder *builder,
		unsigned int size, int is_signed, enum side_type_label_byte_order byte_order)
{
	unsigned int label = (is_signed ? SIDE_TYPE_S8 : SIDE_TYPE_U8) +
			builder_types_size_index(size) % 5;
	struct side_builder_type *type = builder_types_create(builder, (enum side_type_label)label);

	if (type)
		builder_types_fill_integer(
				&type->raw.u.side_integer, size, is_signed, 0, byte_order);
	return type;
}

EXPORT struct side_builder_type *side_builder_pointer(
		struct side_builder *builder, enum side_type_label_byte_order byte_order)
{
	struct side_builder_type *type = builder_types_create(builder, SIDE_TYPE_POINTER);

	if (type)
		builder_types_fill_integer(
				&type->raw.u.side_integer, sizeof(uintptr_t), 0, 0, byte_order);
	return type;
}

EXPORT struct side_builder_type *side_builder_float(struct side_builder *builder, unsigned int size,
		enum side_type_label_byte_order byte_order)
{
	unsigned int label = SIDE_TYPE_FLOAT_BINARY16;
	struct side_builder_type *type;

	if (builder_types_size_index(size) >= 1 && builder_types_size_index(size) <= 4)
		label += builder_types_size_index(size) - 1;
	type = builder_types_create(builder, (enum side_type_label)label);
	if (type) {
		type->raw.u.side_float.float_size = builder_types_clip16(size);
		type->raw.u.side_float.byte_order.v = builder_types_clip8(byte_order);
	}
	return type;
}

EXPORT struct side_builder_type *side_builder_string(struct side_builder *builder,
		unsigned int unit_size, enum side_type_label_byte_order byte_order)
{
	unsigned int label = SIDE_TYPE_STRING_UTF8 + builder_types_size_index(unit_size) % 3;
	struct side_builder_type *type = builder_types_create(builder, (enum side_type_label)label);

	if (type) {
		type->raw.u.side_string.unit_size = builder_types_clip8(unit_size);
		type->raw.u.side_string.byte_order.v = builder_types_clip8(byte_order);
	}
	return type;
}

EXPORT struct side_builder_type *side_builder_dynamic(struct side_builder *builder)
{
	return builder_types_create(builder, SIDE_TYPE_DYNAMIC);
}

EXPORT struct side_builder_type *side_builder_enum(
		struct side_builder *builder, struct side_builder_type *element)
{
	return builder_types_wrap(builder, SIDE_TYPE_ENUM, element, NULL);
}

EXPORT struct side_builder_type *side_builder_enum_bitmap(
		struct side_builder *builder, struct side_builder_type *element)
{
	return builder_types_wrap(builder, SIDE_TYPE_ENUM_BITMAP, element, NULL);
}

EXPORT struct side_builder_type *side_builder_gather_enum(
		struct side_builder *builder, struct side_builder_type *element)
{
	return builder_types_wrap(builder, SIDE_TYPE_GATHER_ENUM, element, NULL);
}

EXPORT struct side_builder_type *side_builder_struct(struct side_builder *builder)
{
	return builder_types_create(builder, SIDE_TYPE_STRUCT);
}

EXPORT struct side_builder_type *side_builder_array(
		struct side_builder *builder, struct side_builder_type *element, uint32_t length)
{
	struct side_builder_type *type =
			builder_types_wrap(builder, SIDE_TYPE_ARRAY, element, NULL);

	if (type)
		type->array_length = length;
	return type;
}

EXPORT struct side_builder_type *side_builder_vla(struct side_builder *builder,
		struct side_builder_type *element, struct side_builder_type *length)
{
	return builder_types_wrap(builder, SIDE_TYPE_VLA, element, length);
}

EXPORT struct side_builder_type *side_builder_vla_visitor(struct side_builder *builder,
		struct side_builder_type *element, struct side_builder_type *length,
		side_visitor_func visitor)
{
	struct side_builder_type *type =
			builder_types_wrap(builder, SIDE_TYPE_VLA_VISITOR, element, length);

	if (type)
		type->visitor = visitor;
	return type;
}

EXPORT struct side_builder_type *side_builder_optional(
		struct side_builder *builder, struct side_builder_type *element)
{
	return builder_types_wrap(builder, SIDE_TYPE_OPTIONAL, element, NULL);
}

EXPORT struct side_builder_type *side_builder_variant(
		struct side_builder *builder, struct side_builder_type *selector)
{
	return builder_types_wrap(builder, SIDE_TYPE_VARIANT, selector, NULL);
}

/* ---- gather types ---- */

EXPORT struct side_builder_type *side_builder_gather_bool(struct side_builder *builder,
		uint64_t offset, unsigned int size, unsigned int offset_bits, unsigned int len_bits,
		enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode)
{
	struct side_builder_type *type = builder_types_create(builder, SIDE_TYPE_GATHER_BOOL);
	struct side_type_gather_bool *gather;

	if (!type)
		return NULL;
	gather = &type->raw.u.side_gather.u.side_bool;
	gather->offset = offset;
	gather->offset_bits = builder_types_clip16(offset_bits);
	gather->access_mode.v = builder_types_clip8(access_mode);
	gather->type.bool_size = builder_types_clip16(size);
	gather->type.len_bits = builder_types_clip16(len_bits);
	gather->type.byte_order.v = builder_types_clip8(byte_order);
	return type;
}

static struct side_builder_type *builder_types_gather_integer(struct side_builder *builder,
		enum side_type_label label, uint64_t offset, unsigned int size, int is_signed,
		unsigned int offset_bits, unsigned int len_bits, unsigned int byte_order,
		unsigned int access_mode)
{
	struct side_builder_type *type = builder_types_create(builder, label);
	struct side_type_gather_integer *gather;

	if (!type)
		return NULL;
	gather = &type->raw.u.side_gather.u.side_integer;
	gather->offset = offset;
	gather->offset_bits = builder_types_clip16(offset_bits);
	gather->access_mode.v = builder_types_clip8(access_mode);
	builder_types_fill_integer(&gather->type, size, is_signed, len_bits, byte_order);
	return type;
}

EXPORT struct side_builder_type *side_builder_gather_integer(struct side_builder *builder,
		uint64_t offset, unsigned int size, int is_signed, unsigned int offset_bits,
		unsigned int len_bits, enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode)
{
	return builder_types_gather_integer(builder, SIDE_TYPE_GATHER_INTEGER, offset, size,
			is_signed, offset_bits, len_bits, byte_order, access_mode);
}

EXPORT struct side_builder_type *side_builder_gather_pointer(struct side_builder *builder,
		uint64_t offset, enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode)
{
	return builder_types_gather_integer(builder, SIDE_TYPE_GATHER_POINTER, offset,
			sizeof(uintptr_t), 0, 0, 0, byte_order, access_mode);
}

EXPORT struct side_builder_type *side_builder_gather_byte(struct side_builder *builder,
		uint64_t offset, enum side_type_gather_access_mode access_mode)
{
	struct side_builder_type *type = builder_types_create(builder, SIDE_TYPE_GATHER_BYTE);

	if (type) {
		type->raw.u.side_gather.u.side_byte.offset = offset;
		type->raw.u.side_gather.u.side_byte.access_mode.v =
				builder_types_clip8(access_mode);
	}
	return type;
}

EXPORT struct side_builder_type *side_builder_gather_float(struct side_builder *builder,
		uint64_t offset, unsigned int size, enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode)
{
	struct side_builder_type *type = builder_types_create(builder, SIDE_TYPE_GATHER_FLOAT);
	struct side_type_gather_float *gather;

	if (!type)
		return NULL;
	gather = &type->raw.u.side_gather.u.side_float;
	gather->offset = offset;
	gather->access_mode.v = builder_types_clip8(access_mode);
	gather->type.float_size = builder_types_clip16(size);
	gather->type.byte_order.v = builder_types_clip8(byte_order);
	return type;
}

EXPORT struct side_builder_type *side_builder_gather_string(struct side_builder *builder,
		uint64_t offset, unsigned int unit_size, enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode)
{
	struct side_builder_type *type = builder_types_create(builder, SIDE_TYPE_GATHER_STRING);
	struct side_type_gather_string *gather;

	if (!type)
		return NULL;
	gather = &type->raw.u.side_gather.u.side_string;
	gather->offset = offset;
	gather->access_mode.v = builder_types_clip8(access_mode);
	gather->type.unit_size = builder_types_clip8(unit_size);
	gather->type.byte_order.v = builder_types_clip8(byte_order);
	return type;
}

EXPORT struct side_builder_type *side_builder_gather_struct(struct side_builder *builder,
		struct side_builder_type *structure, uint64_t offset, uint32_t size,
		enum side_type_gather_access_mode access_mode)
{
	struct side_builder_type *type =
			builder_types_wrap(builder, SIDE_TYPE_GATHER_STRUCT, structure, NULL);

	if (type) {
		type->raw.u.side_gather.u.side_struct.offset = offset;
		type->raw.u.side_gather.u.side_struct.size = size;
		type->raw.u.side_gather.u.side_struct.access_mode.v =
				builder_types_clip8(access_mode);
	}
	return type;
}

EXPORT struct side_builder_type *side_builder_gather_array(struct side_builder *builder,
		struct side_builder_type *element, uint32_t length, uint64_t offset,
		enum side_type_gather_access_mode access_mode)
{
	struct side_builder_type *type =
			builder_types_wrap(builder, SIDE_TYPE_GATHER_ARRAY, element, NULL);

	if (type) {
		type->raw.u.side_gather.u.side_array.offset = offset;
		type->raw.u.side_gather.u.side_array.access_mode.v =
				builder_types_clip8(access_mode);
		type->raw.u.side_gather.u.side_array.type.length = length;
	}
	return type;
}

EXPORT struct side_builder_type *side_builder_gather_vla(struct side_builder *builder,
		struct side_builder_type *element, struct side_builder_type *length,
		uint64_t offset, enum side_type_gather_access_mode access_mode)
{
	struct side_builder_type *type =
			builder_types_wrap(builder, SIDE_TYPE_GATHER_VLA, element, length);

	if (type) {
		type->raw.u.side_gather.u.side_vla.offset = offset;
		type->raw.u.side_gather.u.side_vla.access_mode.v = builder_types_clip8(access_mode);
	}
	return type;
}
