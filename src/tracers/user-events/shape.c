/* SPDX-License-Identifier: MIT */
/*
 * Derives the shape of a type after its values are loaded: a gathered integer and an integer
 * argument have the same shape, and an enumeration has the shape of its integer.
 */
#include <string.h>

#include "tracers/user-events/user-events.h"

enum { HEX_BASE = 16 };

static bool user_events_shape_wants_hex(struct visit_attributes attributes)
{
	return visit_attribute_base(attributes, 10) == HEX_BASE;
}

static struct field_shape user_events_shape_scalar(
		enum visit_kind kind, unsigned int size, struct visit_attributes attributes)
{
	struct field_shape shape = {
			.kind = SHAPE_SCALAR,
			.scalar = kind,
			.size = (uint8_t)size,
			.hex = user_events_shape_wants_hex(attributes),
	};

	if (kind == VISIT_BOOL)
		shape.size = 1;
	if (kind == VISIT_FLOAT && size == 2)
		shape.size = 4;
	return shape;
}

static struct field_shape user_events_shape_integer(
		const struct side_type_integer *type, bool pointer)
{
	enum visit_kind kind = type->signedness ? VISIT_SIGNED : VISIT_UNSIGNED;

	return user_events_shape_scalar(pointer ? VISIT_POINTER : kind, type->integer_size,
			visit_attributes_of(&type->attributes));
}

static struct field_shape user_events_shape_from_string(const struct side_type_string *type)
{
	return (struct field_shape){.kind = SHAPE_STRING, .size = type->unit_size};
}

static struct field_shape user_events_shape_array(const struct side_type *element)
{
	return (struct field_shape){.kind = SHAPE_ARRAY, .element = element};
}

static struct field_shape user_events_shape_structure(const struct side_type_struct *type)
{
	return (struct field_shape){.kind = SHAPE_STRUCT, .structure = type};
}

static struct field_shape user_events_shape_hexadecimal(struct field_shape shape)
{
	shape.hex = true;
	return shape;
}

static const struct visit_attributes no_attributes;

static struct field_shape user_events_shape_from_gather(const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		return user_events_shape_scalar(
				VISIT_BOOL, gather->u.side_bool.type.bool_size, no_attributes);
	case SIDE_TYPE_GATHER_INTEGER:
		return user_events_shape_integer(&gather->u.side_integer.type, false);
	case SIDE_TYPE_GATHER_POINTER:
		return user_events_shape_integer(&gather->u.side_integer.type, true);
	case SIDE_TYPE_GATHER_BYTE: return user_events_shape_scalar(VISIT_BYTE, 1, no_attributes);
	case SIDE_TYPE_GATHER_FLOAT:
		return user_events_shape_scalar(
				VISIT_FLOAT, gather->u.side_float.type.float_size, no_attributes);
	case SIDE_TYPE_GATHER_STRING:
		return user_events_shape_from_string(&gather->u.side_string.type);
	case SIDE_TYPE_GATHER_STRUCT:
		return user_events_shape_structure(side_ptr_get(gather->u.side_struct.type));
	case SIDE_TYPE_GATHER_ARRAY:
		return user_events_shape_array(side_ptr_get(gather->u.side_array.type.elem_type));
	case SIDE_TYPE_GATHER_VLA:
		return user_events_shape_array(side_ptr_get(gather->u.side_vla.type.elem_type));
	default: return shape_of(side_ptr_get(gather->u.side_enum.elem_type));
	}
}

struct field_shape shape_of(const struct side_type *type)
{
	unsigned int label = side_enum_get(type->type);

	switch (label) {
	case SIDE_TYPE_NULL: return (struct field_shape){.kind = SHAPE_NULL};
	case SIDE_TYPE_BOOL:
		return user_events_shape_scalar(
				VISIT_BOOL, type->u.side_bool.bool_size, no_attributes);
	case SIDE_TYPE_BYTE: return user_events_shape_scalar(VISIT_BYTE, 1, no_attributes);
	case SIDE_TYPE_POINTER: return user_events_shape_integer(&type->u.side_integer, true);
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
		return user_events_shape_scalar(
				VISIT_FLOAT, type->u.side_float.float_size, no_attributes);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: return user_events_shape_from_string(&type->u.side_string);
	case SIDE_TYPE_STRUCT:
		return user_events_shape_structure(side_ptr_get(type->u.side_struct));
	case SIDE_TYPE_ARRAY:
		return user_events_shape_array(
				side_ptr_get(side_ptr_get(type->u.side_array)->elem_type));
	case SIDE_TYPE_VLA:
		return user_events_shape_array(
				side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type));
	case SIDE_TYPE_VLA_VISITOR:
		return user_events_shape_array(
				side_ptr_get(side_ptr_get(type->u.side_vla_visitor)->elem_type));
	case SIDE_TYPE_ENUM: return shape_of(side_ptr_get(type->u.side_enum.elem_type));
	case SIDE_TYPE_ENUM_BITMAP:
		return user_events_shape_hexadecimal(
				shape_of(side_ptr_get(type->u.side_enum_bitmap.elem_type)));
	case SIDE_TYPE_OPTIONAL:
		return (struct field_shape){.kind = SHAPE_OPTIONAL,
				.element = side_ptr_get(
						side_ptr_get(type->u.side_optional)->elem_type)};
	case SIDE_TYPE_VARIANT:
		return (struct field_shape){.kind = SHAPE_VARIANT,
				.variant = side_ptr_get(type->u.side_variant)};
	case SIDE_TYPE_DYNAMIC: return (struct field_shape){.kind = SHAPE_DYNAMIC};
	default:
		return visit_label_is_gather(label)
				? user_events_shape_from_gather(type)
				: user_events_shape_integer(&type->u.side_integer, false);
	}
}

struct field_shape shape_of_value(
		const struct visit_value *value, struct visit_attributes attributes)
{
	switch (value->kind) {
	case VISIT_NULL: return (struct field_shape){.kind = SHAPE_NULL};
	case VISIT_STRING:
		return (struct field_shape){.kind = SHAPE_STRING, .size = (uint8_t)value->size};
	default: return user_events_shape_scalar(value->kind, value->size, attributes);
	}
}

bool shape_is_static(const struct side_type *type)
{
	struct field_shape shape = shape_of(type);
	uint32_t i;

	switch (shape.kind) {
	case SHAPE_VARIANT:
	case SHAPE_DYNAMIC: return false;
	case SHAPE_ARRAY:
	case SHAPE_OPTIONAL: return shape_is_static(shape.element);
	case SHAPE_STRUCT:
		for (i = 0; i < side_array_length(&shape.structure->fields); i++) {
			if (!shape_is_static(
					    &side_array_at(&shape.structure->fields, i)->side_type))
				return false;
		}
		return true;
	default: return true;
	}
}

/*
 * Returns 1 if the element needs a structure around it: an array cannot be an element of an array
 * (metadata.c).
 */
static unsigned int user_events_shape_needs_structure(const struct side_type *element)
{
	struct field_shape shape = shape_of(element);

	if (shape.kind == SHAPE_OPTIONAL)
		return shape_of(shape.element).kind != SHAPE_SCALAR;
	return shape.kind == SHAPE_ARRAY;
}

unsigned int shape_depth(const struct side_type *type)
{
	struct field_shape shape = shape_of(type);
	unsigned int depth = 0, deepest = 0;
	uint32_t i;

	switch (shape.kind) {
	case SHAPE_ARRAY:
	case SHAPE_OPTIONAL:
		return shape_depth(shape.element) +
				user_events_shape_needs_structure(shape.element);
	case SHAPE_STRUCT:
		for (i = 0; i < side_array_length(&shape.structure->fields); i++) {
			depth = shape_depth(&side_array_at(&shape.structure->fields, i)->side_type);
			if (depth > deepest)
				deepest = depth;
		}
		/* More members than a structure can have are in nested structures (metadata.c). */
		return deepest + 1 + (i ? (i - 1) / (HEADER_MEMBERS_MAX - 1) : 0);
	default: return 0;
	}
}

static void user_events_shape_reverse_bytes(unsigned char bytes[16])
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		unsigned char byte = bytes[i];

		bytes[i] = bytes[15 - i];
		bytes[15 - i] = byte;
	}
}

static void user_events_shape_store_number(
		unsigned int size, const struct visit_value *value, unsigned char *to)
{
	const bool little = SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN;
	uint8_t one = (uint8_t)value->lo;
	uint16_t two = (uint16_t)value->lo;
	uint32_t four = (uint32_t)value->lo;

	switch (size) {
	case 1: memcpy(to, &one, 1); break;
	case 2: memcpy(to, &two, 2); break;
	case 4: memcpy(to, &four, 4); break;
	case 8: memcpy(to, &value->lo, 8); break;
	default:
		memcpy(to, little ? &value->lo : &value->hi, 8);
		memcpy(to + 8, little ? &value->hi : &value->lo, 8);
		break;
	}
}

void shape_store(const struct field_shape *shape, const struct visit_value *value,
		bool big_endian_128, unsigned char to[16])
{
	uint16_t half;
	uint32_t bits;

	if (value->kind == VISIT_BOOL) {
		to[0] = value->lo != 0;
	} else if (value->kind != VISIT_FLOAT) {
		user_events_shape_store_number(shape->size, value, to);
	} else if (value->size == 2) {
		memcpy(&half, value->bytes, 2);
		bits = visit_float16_to_32(half);
		memcpy(to, &bits, 4);
	} else {
		memcpy(to, value->bytes, value->size);
	}
	if (shape->size == 16 && big_endian_128 == (SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN))
		user_events_shape_reverse_bytes(to);
}
