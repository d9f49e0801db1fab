/* SPDX-License-Identifier: MIT */
/* Writes the names and types of the fields that each EventHeader record contains. */
#include <string.h>

#include "tracers/user-events/user-events.h"

void bytes_put(struct user_event_bytes *bytes, const void *from, size_t size)
{
	if (bytes->size + size <= bytes->capacity)
		memcpy(bytes->at + bytes->size, from, size);
	bytes->size += size;
}

void bytes_put_u8(struct user_event_bytes *bytes, unsigned int value)
{
	uint8_t byte = (uint8_t)value;

	bytes_put(bytes, &byte, 1);
}

void bytes_put_u16(struct user_event_bytes *bytes, unsigned int value)
{
	uint16_t word = (uint16_t)value;

	bytes_put(bytes, &word, 2);
}

/* Replace semicolons: they would start an attribute. */
static void user_events_metadata_append_name(struct user_event_bytes *to, const char *name)
{
	for (; *name; name++)
		bytes_put_u8(to, *name == ';' ? ',' : (unsigned char)*name);
	bytes_put_u8(to, 0);
}

static unsigned int user_events_metadata_encoding_of_size(unsigned int size)
{
	switch (size) {
	case 1: return HEADER_VALUE8;
	case 2: return HEADER_VALUE16;
	case 4: return HEADER_VALUE32;
	case 8: return HEADER_VALUE64;
	default: return HEADER_VALUE128;
	}
}

static unsigned int user_events_metadata_format_of_shape(const struct field_shape *shape)
{
	if (shape->kind == SHAPE_STRING)
		return FORMAT_UTF;
	if (shape->kind == SHAPE_NULL)
		return FORMAT_UNSIGNED;
	if (shape->size == 16 || shape->scalar == VISIT_BYTE)
		return FORMAT_BYTES;
	switch (shape->scalar) {
	case VISIT_BOOL: return FORMAT_BOOLEAN;
	case VISIT_FLOAT: return FORMAT_FLOAT;
	case VISIT_POINTER: return FORMAT_HEX;
	case VISIT_SIGNED: return shape->hex ? FORMAT_HEX : FORMAT_SIGNED;
	default: return shape->hex ? FORMAT_HEX : FORMAT_UNSIGNED;
	}
}

static unsigned int user_events_metadata_encoding_of_shape(const struct field_shape *shape)
{
	switch (shape->kind) {
	case SHAPE_NULL: return HEADER_BINARY;
	case SHAPE_STRING: return HEADER_CHAR8 + (shape->size == 1 ? 0 : shape->size / 2);
	default: return user_events_metadata_encoding_of_size(shape->size);
	}
}

static void user_events_metadata_append_type(
		struct user_event_bytes *to, unsigned int encoding, unsigned int format)
{
	bytes_put_u8(to, encoding | HEADER_HAS_FORMAT);
	bytes_put_u8(to, format);
}

void metadata_scalar(struct user_event_bytes *to, const char *name, const struct field_shape *shape)
{
	user_events_metadata_append_name(to, name);
	user_events_metadata_append_type(to, user_events_metadata_encoding_of_shape(shape),
			user_events_metadata_format_of_shape(shape));
}

static void user_events_metadata_put_typed(struct user_event_bytes *to, const char *name,
		const struct field_shape *shape, unsigned int array);

/*
 * Write the type of an array's element. An element that is or may be an array needs a structure
 * around it.
 */
static void user_events_metadata_put_element(
		struct user_event_bytes *to, const char *name, const struct field_shape *shape)
{
	bool optional = shape->kind == SHAPE_OPTIONAL &&
			shape_of(shape->element).kind != SHAPE_SCALAR;

	if (shape->kind != SHAPE_ARRAY && !optional) {
		user_events_metadata_put_typed(to, name, shape, HEADER_ARRAY);
		return;
	}
	user_events_metadata_append_name(to, name);
	user_events_metadata_append_type(to, HEADER_STRUCT | HEADER_ARRAY, 1);
	user_events_metadata_put_typed(to, "value", shape, 0);
}

/* Returns the number of members in the part of a structure that begins with member `first`. */
static unsigned int user_events_metadata_members_from(uint32_t nr, uint32_t first)
{
	uint32_t left = nr - first;

	/* A part that is continued has the next part as its last member. */
	return left < HEADER_MEMBERS_MAX ? left : HEADER_MEMBERS_MAX;
}

/*
 * Write the members. A structure has at most 127 members: the further ones are in another
 * structure, its last member.
 */
static void user_events_metadata_append_members(
		struct user_event_bytes *to, const struct side_type_struct *structure)
{
	uint32_t i, nr = side_array_length(&structure->fields);

	for (i = 0; i < nr; i++) {
		const struct side_event_field *field = side_array_at(&structure->fields, i);

		if (i && i % (HEADER_MEMBERS_MAX - 1) == 0) {
			user_events_metadata_append_name(to, "...");
			user_events_metadata_append_type(to, HEADER_STRUCT,
					user_events_metadata_members_from(nr, i));
		}
		metadata_field(to, side_ptr_get(field->field_name), &field->side_type);
	}
}

static void user_events_metadata_put_structure(struct user_event_bytes *to, const char *name,
		const struct field_shape *shape, unsigned int array)
{
	uint32_t nr = side_array_length(&shape->structure->fields);

	user_events_metadata_append_name(to, name);
	/* A structure needs at least one member: without any, write null. */
	if (nr)
		user_events_metadata_append_type(to, HEADER_STRUCT | array,
				user_events_metadata_members_from(nr, 0));
	else
		user_events_metadata_append_type(to, HEADER_BINARY | array, FORMAT_UNSIGNED);
	user_events_metadata_append_members(to, shape->structure);
}

static void user_events_metadata_append_array(
		struct user_event_bytes *to, const char *name, const struct field_shape *shape)
{
	struct field_shape element = shape_of(shape->element);

	element.hex |= shape->hex;
	if (element.kind == SHAPE_SCALAR && element.scalar == VISIT_BYTE) {
		user_events_metadata_append_name(to, name);
		user_events_metadata_append_type(to, HEADER_BINARY, FORMAT_BYTES);
	} else {
		user_events_metadata_put_element(to, name, &element);
	}
}

static void user_events_metadata_put_typed(struct user_event_bytes *to, const char *name,
		const struct field_shape *shape, unsigned int array)
{
	struct field_shape element;

	switch (shape->kind) {
	case SHAPE_STRUCT: user_events_metadata_put_structure(to, name, shape, array); break;
	case SHAPE_ARRAY: user_events_metadata_append_array(to, name, shape); break;
	case SHAPE_OPTIONAL:
		element = shape_of(shape->element);
		if (element.kind == SHAPE_SCALAR) {
			/* Binary data of length 0 is null. */
			user_events_metadata_append_name(to, name);
			user_events_metadata_append_type(to, HEADER_BINARY | array,
					user_events_metadata_format_of_shape(&element));
		} else {
			user_events_metadata_put_element(to, name, &element);
		}
		break;
	default:
		user_events_metadata_append_name(to, name);
		user_events_metadata_append_type(to,
				user_events_metadata_encoding_of_shape(shape) | array,
				user_events_metadata_format_of_shape(shape));
		break;
	}
}

void metadata_field(struct user_event_bytes *to, const char *name, const struct side_type *type)
{
	struct field_shape shape = shape_of(type);

	user_events_metadata_put_typed(to, name, &shape, 0);
}

void metadata_event(struct user_event_bytes *to, const struct side_event_description *desc)
{
	uint32_t i;

	user_events_metadata_append_name(to, side_ptr_get(desc->event_name));
	for (i = 0; i < side_array_length(&desc->fields); i++) {
		const struct side_event_field *field = side_array_at(&desc->fields, i);

		metadata_field(to, side_ptr_get(field->field_name), &field->side_type);
	}
}

const char *metadata_refusal(const struct side_event_description *desc)
{
	uint32_t i;

	for (i = 0; i < side_array_length(&desc->fields); i++) {
		const struct side_type *type = &side_array_at(&desc->fields, i)->side_type;

		if (!shape_is_static(type))
			continue;
		if (shape_depth(type) > HEADER_DEPTH_MAX)
			return "it has structures or arrays nested more than 8 deep, which decoders refuse";
	}
	return NULL;
}
