/* SPDX-License-Identifier: MIT */
/*
 * Changes random descriptions so that arguments can be made for them: short lists, a defined layout
 * of memory.
 */
#include <stdio.h>
#include <string.h>

#include "mutate-parts.h"

static bool tame(struct side_type *type);
static size_t tame_gather(struct side_type *type, uint64_t offset);

/* The block of the generator is writable. */
#define MINE(pointer) ((void *)(uintptr_t)(pointer))

static bool tame_fields(const struct side_event_field *const_fields, uint32_t nr)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
	struct side_event_field *fields = MINE(const_fields);
	uint32_t i;

	for (i = 0; i < nr; i++) {
		side_ptr_set(fields[i].field_name, names[i]);
		if (!tame(&fields[i].side_type))
			return false;
	}
	return true;
}

static void tame_integer(const struct side_type *type)
{
	struct side_type *integer = MINE(type);

	integer->u.side_integer.len_bits = 0;
}

static bool tame_variant(struct variant_image *variant)
{
	struct option_image *options = MINE(side_array_elements(&variant->options));
	uint32_t i;

	tame_integer(&variant->selector);
	for (i = 0; i < side_array_length(&variant->options); i++) {
		options[i].range_begin = 10 * (int64_t)i;
		options[i].range_end = 10 * (int64_t)i + 5;
		if (!tame(&options[i].side_type))
			return false;
	}
	return i > 0;
}

static bool tame_visitor(struct side_type_vla_visitor *visitor)
{
	side_ptr_set(visitor->visitor, mutate_visit);
	return tame(MINE(side_ptr_get(visitor->elem_type)));
}

static bool tame(struct side_type *type)
{
	const struct side_type_struct *structure;
	struct side_type_array *array;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_STRUCT:
		structure = side_ptr_get(type->u.side_struct);
		return tame_fields(side_array_elements(&structure->fields),
				side_array_length(&structure->fields));
	case SIDE_TYPE_VARIANT: return tame_variant(MINE(side_ptr_get(type->u.side_variant)));
	case SIDE_TYPE_OPTIONAL:
		return tame(MINE(side_ptr_get(side_ptr_get(type->u.side_optional)->elem_type)));
	case SIDE_TYPE_ARRAY:
		array = MINE(side_ptr_get(type->u.side_array));
		array->length %= 4;
		return tame(MINE(side_ptr_get(array->elem_type)));
	case SIDE_TYPE_VLA:
		return tame(MINE(side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type)));
	case SIDE_TYPE_VLA_VISITOR:
		return tame_visitor(MINE(side_ptr_get(type->u.side_vla_visitor)));
	default:
		if (visit_label_is_gather(side_enum_get(type->type)))
			(void)tame_gather(type, 24);
		return true;
	}
}

/* ---- gathered memory: adjacent members, elements without space in between ---- */

static size_t tame_gather_struct(struct side_type_gather_struct *gather)
{
	static const char *const names[] = {"ga", "gb", "gc", "gd", "ge", "gf"};
	const struct side_type_struct *structure = side_ptr_get(gather->type);
	struct side_event_field *fields = MINE(side_array_elements(&structure->fields));
	size_t size = 0;
	uint32_t i;

	for (i = 0; i < side_array_length(&structure->fields); i++) {
		side_ptr_set(fields[i].field_name, names[i]);
		size += tame_gather(&fields[i].side_type, size);
	}
	gather->size = (uint32_t)size;
	return size;
}

static size_t tame_gather_vla(struct side_type_gather_vla *gather, bool is_direct)
{
	struct side_type *length = MINE(side_ptr_get(gather->type.length_type));
	size_t element = tame_gather(MINE(side_ptr_get(gather->type.elem_type)), 0), size;

	size = is_direct ? MUTATE_GATHERED * element : sizeof(void *);
	length->u.side_gather.u.side_integer.offset_bits = 0;
	length->u.side_gather.u.side_integer.type.len_bits = 0;
	length->u.side_gather.u.side_integer.access_mode.v = SIDE_TYPE_GATHER_ACCESS_DIRECT;
	/* In a structure it is after the elements, otherwise in memory of its own. */
	length->u.side_gather.u.side_integer.offset = gather->offset + size;
	return size + length->u.side_gather.u.side_integer.type.integer_size;
}

/* Bytes from its offset on. */
static size_t tame_gather(struct side_type *type, uint64_t offset)
{
	struct side_type_gather *gather = &type->u.side_gather;
	bool is_direct = true;
	size_t size;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		gather->u.side_bool.offset = offset;
		is_direct = !gather->u.side_bool.access_mode.v;
		size = gather->u.side_bool.type.bool_size;
		break;
	case SIDE_TYPE_GATHER_BYTE:
		gather->u.side_byte.offset = offset;
		is_direct = !gather->u.side_byte.access_mode.v;
		size = 1;
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		gather->u.side_float.offset = offset;
		is_direct = !gather->u.side_float.access_mode.v;
		size = gather->u.side_float.type.float_size;
		break;
	case SIDE_TYPE_GATHER_STRING:
		gather->u.side_string.offset = offset;
		is_direct = !gather->u.side_string.access_mode.v;
		size = (size_t)MUTATE_UNITS * gather->u.side_string.type.unit_size;
		break;
	case SIDE_TYPE_GATHER_ENUM:
		return tame_gather(MINE(side_ptr_get(gather->u.side_enum.elem_type)), offset);
	case SIDE_TYPE_GATHER_STRUCT:
		gather->u.side_struct.offset = offset;
		is_direct = !gather->u.side_struct.access_mode.v;
		size = tame_gather_struct(&gather->u.side_struct);
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		gather->u.side_array.offset = offset;
		gather->u.side_array.type.length %= 4;
		is_direct = !gather->u.side_array.access_mode.v;
		size = gather->u.side_array.type.length *
				tame_gather(MINE(side_ptr_get(gather->u.side_array.type.elem_type)),
						0);
		break;
	case SIDE_TYPE_GATHER_VLA:
		gather->u.side_vla.offset = offset;
		return tame_gather_vla(&gather->u.side_vla, !gather->u.side_vla.access_mode.v);
	default: /* GATHER_INTEGER, GATHER_POINTER */
		gather->u.side_integer.offset = offset;
		is_direct = !gather->u.side_integer.access_mode.v;
		size = gather->u.side_integer.type.integer_size;
		break;
	}
	return is_direct ? size : sizeof(void *);
}

bool mutate_tame(struct side_event_description *desc, const char *event)
{
	side_ptr_set(desc->provider_name, "mutate");
	side_ptr_set(desc->event_name, event);
	return tame_fields(side_array_elements(&desc->fields), side_array_length(&desc->fields));
}
