/* SPDX-License-Identifier: MIT */
/*
 * Converts the nodes of a builder to the structures of the ABI, checks all rules of the ABI for
 * descriptions, and reports the path to an error.
 */
#include <string.h>

#include "builder-check.h"

/* The types that are allowed in a position. */
enum builder_allowed {
	ALLOW_ANY,
	ALLOW_INTEGER,
	ALLOW_BITMAP,
	ALLOW_STRUCT,
	ALLOW_GATHER,
	ALLOW_GATHER_ELEMENT,
	ALLOW_GATHER_INTEGER,
};

static const char *const allowed_flags[] = {
		[ALLOW_ANY] = "a type",
		[ALLOW_INTEGER] = "an integer",
		[ALLOW_BITMAP] = "a byte, an unsigned integer, or an array or VLA of these",
		[ALLOW_STRUCT] = "a structure",
		[ALLOW_GATHER] = "a gather type",
		[ALLOW_GATHER_ELEMENT] = "a gather type other than VLA",
		[ALLOW_GATHER_INTEGER] = "a gather integer",
};

static int builder_layout_type(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step);

/* ---- types inside another type ---- */

static bool builder_layout_is_bitmap_item(unsigned int label)
{
	return label == SIDE_TYPE_BYTE || (label >= SIDE_TYPE_U8 && label <= SIDE_TYPE_U128);
}

static bool builder_layout_is_allowed(
		const struct side_builder_type *type, enum builder_allowed allowed)
{
	unsigned int label = type->raw.type.v;
	bool is_gather = label >= SIDE_TYPE_GATHER_BOOL && label <= SIDE_TYPE_GATHER_ENUM;

	switch (allowed) {
	case ALLOW_ANY: return true;
	case ALLOW_INTEGER: return label >= SIDE_TYPE_U8 && label <= SIDE_TYPE_S128;
	case ALLOW_BITMAP:
		if (label == SIDE_TYPE_ARRAY || label == SIDE_TYPE_VLA)
			return !type->element ||
					builder_layout_is_bitmap_item(type->element->raw.type.v);
		return builder_layout_is_bitmap_item(label);
	case ALLOW_STRUCT: return label == SIDE_TYPE_STRUCT;
	case ALLOW_GATHER: return is_gather;
	case ALLOW_GATHER_ELEMENT: return is_gather && label != SIDE_TYPE_GATHER_VLA;
	case ALLOW_GATHER_INTEGER: return label == SIDE_TYPE_GATHER_INTEGER;
	}
	return false;
}

static int builder_layout_inner(struct side_builder *builder, struct side_builder_type *outer,
		struct side_builder_type *type, enum builder_allowed allowed,
		const struct builder_step *step)
{
	int result;

	if (!type)
		return builder_fail_at(builder, step, "the type is NULL");
	if (type->builder != builder)
		return builder_fail_at(builder, step, "the type belongs to another builder");
	if (!builder_layout_is_allowed(type, allowed))
		return builder_fail_at(
				builder, step, "the type must be %s", allowed_flags[allowed]);
	if (type->busy)
		return builder_fail_at(builder, step, "the type contains itself");
	if (step->level > DEPTH_MAX)
		return builder_fail_at(
				builder, step, "types are nested more than %u deep", DEPTH_MAX);
	result = builder_layout_type(builder, type, step);
	if (result)
		return result;
	if (type->depth >= outer->depth)
		outer->depth = type->depth + 1;
	outer->parts += type->parts;
	/* The depth does not count the root. */
	if (type->depth > DEPTH_MAX)
		return builder_fail_at(
				builder, step, "types are nested more than %u deep", DEPTH_MAX);
	if (outer->parts > PARTS_MAX)
		return builder_fail_at(
				builder, step, "the description has more than %u parts", PARTS_MAX);
	return SIDE_ERROR_OK;
}

static int builder_layout_element(struct side_builder *builder, struct side_builder_type *type,
		enum builder_allowed allowed, const char *word, const struct builder_step *up)
{
	struct builder_step step = {.up = up, .word = word, .level = up->level + 1};

	return builder_layout_inner(builder, type, type->element, allowed, &step);
}

static int builder_layout_length(struct side_builder *builder, struct side_builder_type *type,
		enum builder_allowed allowed, const struct builder_step *up)
{
	struct builder_step step = {.up = up, .word = "length", .level = up->level + 1};

	return builder_layout_inner(builder, type, type->length, allowed, &step);
}

#define SET_ATTRIBUTES(type, array)                                                                \
	do {                                                                                       \
		side_ptr_set((array).elements,                                                     \
				(const struct side_attr *)(const void *)(type)->attributes.items); \
		(array).length = (type)->attributes.nr;                                            \
	} while (0)

/* ---- compound types ---- */

static int builder_layout_fields(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *up, struct side_event_field **ret_fields)
{
	const struct builder_field *items = type->items.items;
	uint32_t i, j, nr = type->items.nr;
	int result;

	if (!nr)
		return SIDE_ERROR_OK;
	*ret_fields = builder_take(builder, nr * sizeof(**ret_fields));
	if (!*ret_fields)
		return builder->result;
	for (i = 0; i < nr; i++) {
		struct builder_step step = {
				.up = up,
				.word = "field",
				.name = items[i].name,
				.index = i,
				.level = up ? up->level + 1 : 1,
		};

		if (!items[i].name || !*items[i].name)
			return builder_fail_at(builder, up, "the name of field %u is %s", i,
					items[i].name ? "empty" : "NULL");
		for (j = 0; j < i; j++) {
			if (!strcmp(items[i].name, items[j].name))
				return builder_fail_at(builder, up,
						"two fields are called \"%.60s\"", items[i].name);
		}
		result = builder_layout_inner(builder, type, items[i].type, ALLOW_ANY, &step);
		if (result)
			return result;
		side_ptr_set((*ret_fields)[i].field_name, items[i].name);
		(*ret_fields)[i].side_type = items[i].type->raw;
	}
	return SIDE_ERROR_OK;
}

static int builder_layout_struct(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	struct side_type_struct *structure = builder_take(builder, sizeof(*structure));
	struct side_event_field *fields = NULL;
	int result;

	if (!structure)
		return builder->result;
	result = builder_layout_fields(builder, type, step, &fields);
	if (result)
		return result;
	side_ptr_set(structure->fields.elements, fields);
	structure->fields.length = type->items.nr;
	SET_ATTRIBUTES(type, structure->attributes);
	side_ptr_set(type->raw.u.side_struct, structure);
	type->structure = structure;
	return SIDE_ERROR_OK;
}

static int builder_layout_gather_struct(struct side_builder *builder,
		struct side_builder_type *type, const struct builder_step *up)
{
	struct builder_step step = {.up = up, .word = "structure", .level = up->level + 1};
	const struct builder_field *items;
	uint32_t i;
	int result = builder_layout_element(builder, type, ALLOW_STRUCT, "structure", up);

	if (result)
		return result;
	items = type->element->items.items;
	for (i = 0; i < type->element->items.nr; i++) {
		struct builder_step member = {.up = &step, .word = "field", .name = items[i].name};

		if (!builder_layout_is_allowed(items[i].type, ALLOW_GATHER))
			return builder_fail_at(builder, &member,
					"the members of a gather struct must be gather types");
	}
	side_ptr_set(type->raw.u.side_gather.u.side_struct.type, type->element->structure);
	return SIDE_ERROR_OK;
}

static int builder_layout_variant(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *up)
{
	const struct builder_option *items = type->items.items;
	struct builder_variant_fill *variant = builder_take(builder, sizeof(*variant));
	struct builder_option_fill *options = NULL;
	uint32_t i, nr = type->items.nr;
	int result;

	if (!variant)
		return builder->result;
	if (nr) {
		options = builder_take(builder, nr * sizeof(*options));
		if (!options)
			return builder->result;
	}
	result = builder_layout_element(builder, type, ALLOW_INTEGER, "selector", up);
	if (result)
		return result;
	for (i = 0; i < nr; i++) {
		struct builder_step step = {
				.up = up, .word = "option", .index = i, .level = up->level + 1};

		if (items[i].begin > items[i].end)
			return builder_fail_at(builder, &step, "the range ends before it begins");
		result = builder_layout_inner(builder, type, items[i].type, ALLOW_ANY, &step);
		if (result)
			return result;
		options[i].range_begin = items[i].begin;
		options[i].range_end = items[i].end;
		options[i].side_type = items[i].type->raw;
	}
	side_ptr_set(variant->options.elements,
			(const struct side_variant_option *)(const void *)options);
	variant->options.length = nr;
	variant->selector = type->element->raw;
	SET_ATTRIBUTES(type, variant->attributes);
	side_ptr_set(type->raw.u.side_variant, (const struct side_type_variant *)(void *)variant);
	return SIDE_ERROR_OK;
}

static int builder_layout_array(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	struct side_type_array *array = builder_take(builder, sizeof(*array));
	int result;

	if (!array)
		return builder->result;
	result = builder_layout_element(builder, type, ALLOW_ANY, "element", step);
	if (result)
		return result;
	side_ptr_set(array->elem_type, &type->element->raw);
	array->length = type->array_length;
	SET_ATTRIBUTES(type, array->attributes);
	side_ptr_set(type->raw.u.side_array, array);
	return SIDE_ERROR_OK;
}

static int builder_layout_vla(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	struct side_type_vla *vla = builder_take(builder, sizeof(*vla));
	int result;

	if (!vla)
		return builder->result;
	result = builder_layout_length(builder, type, ALLOW_INTEGER, step);
	if (!result)
		result = builder_layout_element(builder, type, ALLOW_ANY, "element", step);
	if (result)
		return result;
	side_ptr_set(vla->elem_type, &type->element->raw);
	side_ptr_set(vla->length_type, &type->length->raw);
	SET_ATTRIBUTES(type, vla->attributes);
	side_ptr_set(type->raw.u.side_vla, vla);
	return SIDE_ERROR_OK;
}

static int builder_layout_vla_visitor(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	struct side_type_vla_visitor *visitor = builder_take(builder, sizeof(*visitor));
	int result;

	if (!visitor)
		return builder->result;
	if (!type->visitor)
		return builder_fail_at(builder, step, "the visitor function is NULL");
	result = builder_layout_length(builder, type, ALLOW_INTEGER, step);
	if (!result)
		result = builder_layout_element(builder, type, ALLOW_ANY, "element", step);
	if (result)
		return result;
	side_ptr_set(visitor->elem_type, &type->element->raw);
	side_ptr_set(visitor->length_type, &type->length->raw);
	side_ptr_set(visitor->visitor, type->visitor);
	SET_ATTRIBUTES(type, visitor->attributes);
	side_ptr_set(type->raw.u.side_vla_visitor, visitor);
	return SIDE_ERROR_OK;
}

static int builder_layout_optional(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	struct side_type_optional *optional = builder_take(builder, sizeof(*optional));
	int result;

	if (!optional)
		return builder->result;
	result = builder_layout_element(builder, type, ALLOW_ANY, "optional", step);
	if (result)
		return result;
	side_ptr_set(optional->elem_type, &type->element->raw);
	SET_ATTRIBUTES(type, optional->attributes);
	side_ptr_set(type->raw.u.side_optional, optional);
	return SIDE_ERROR_OK;
}

/* Enumerations, gather enumerations and bitmaps have the same layout. */
static int builder_layout_enum(struct side_builder *builder, struct side_builder_type *type,
		enum builder_allowed allowed, const struct builder_step *step)
{
	struct side_enum_mappings *mappings = builder_take(builder, sizeof(*mappings));
	const struct side_enum_mapping *items = type->items.items;
	bool is_bitmap = allowed == ALLOW_BITMAP;
	uint32_t i;
	int result;

	if (!mappings)
		return builder->result;
	for (i = 0; i < type->items.nr; i++) {
		int64_t begin = items[i].range_begin, end = items[i].range_end;

		if (!side_ptr_get(items[i].label.p))
			return builder_fail_at(builder, step, "label %u is NULL", i);
		if (is_bitmap ? (uint64_t)begin > (uint64_t)end : begin > end)
			return builder_fail_at(builder, step,
					"the range of label \"%.60s\" ends before it begins",
					(const char *)side_ptr_get(items[i].label.p));
	}
	result = builder_layout_element(builder, type, allowed, "element", step);
	if (result)
		return result;
	side_ptr_set(mappings->mappings.elements, items);
	mappings->mappings.length = type->items.nr;
	SET_ATTRIBUTES(type, mappings->attributes);
	type->parts += type->items.nr;
	side_ptr_set(type->raw.u.side_enum.mappings, mappings);
	side_ptr_set(type->raw.u.side_enum.elem_type, &type->element->raw);
	return SIDE_ERROR_OK;
}

/* ---- gather types ---- */

static int builder_layout_gather_array(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	struct side_type_gather_array *gather = &type->raw.u.side_gather.u.side_array;
	int result = builder_check_access(builder, step, gather->access_mode.v);

	if (!result)
		result = builder_layout_element(
				builder, type, ALLOW_GATHER_ELEMENT, "element", step);
	if (result)
		return result;
	side_ptr_set(gather->type.elem_type, &type->element->raw);
	SET_ATTRIBUTES(type, gather->type.attributes);
	return SIDE_ERROR_OK;
}

static int builder_layout_gather_vla(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	struct side_type_gather_vla *gather = &type->raw.u.side_gather.u.side_vla;
	int result = builder_check_access(builder, step, gather->access_mode.v);

	if (!result)
		result = builder_layout_length(builder, type, ALLOW_GATHER_INTEGER, step);
	if (!result)
		result = builder_layout_element(
				builder, type, ALLOW_GATHER_ELEMENT, "element", step);
	if (result)
		return result;
	side_ptr_set(gather->type.elem_type, &type->element->raw);
	side_ptr_set(gather->type.length_type, &type->length->raw);
	SET_ATTRIBUTES(type, gather->type.attributes);
	return SIDE_ERROR_OK;
}

static int builder_layout_gather(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	struct side_type_gather *gather = &type->raw.u.side_gather;
	int result;

	switch (side_enum_get(type->raw.type)) {
	case SIDE_TYPE_GATHER_BOOL:
		SET_ATTRIBUTES(type, gather->u.side_bool.type.attributes);
		result = builder_check_access(builder, step, gather->u.side_bool.access_mode.v);
		if (!result)
			result = builder_check_byte_order(
					builder, step, gather->u.side_bool.type.byte_order.v);
		if (!result)
			result = builder_check_size(builder, step, "a boolean",
					gather->u.side_bool.type.bool_size, SIZES_BOOL);
		return result ? result
			      : builder_check_bits(builder, step,
						gather->u.side_bool.type.bool_size,
						gather->u.side_bool.offset_bits,
						gather->u.side_bool.type.len_bits);
	case SIDE_TYPE_GATHER_BYTE:
		SET_ATTRIBUTES(type, gather->u.side_byte.type.attributes);
		return builder_check_access(builder, step, gather->u.side_byte.access_mode.v);
	case SIDE_TYPE_GATHER_FLOAT:
		SET_ATTRIBUTES(type, gather->u.side_float.type.attributes);
		result = builder_check_access(builder, step, gather->u.side_float.access_mode.v);
		return result ? result
			      : builder_check_float(builder, step, &gather->u.side_float.type);
	case SIDE_TYPE_GATHER_STRING:
		SET_ATTRIBUTES(type, gather->u.side_string.type.attributes);
		result = builder_check_access(builder, step, gather->u.side_string.access_mode.v);
		return result ? result
			      : builder_check_string(builder, step, &gather->u.side_string.type);
	case SIDE_TYPE_GATHER_STRUCT:
		result = builder_check_access(builder, step, gather->u.side_struct.access_mode.v);
		return result ? result : builder_layout_gather_struct(builder, type, step);
	case SIDE_TYPE_GATHER_ARRAY: return builder_layout_gather_array(builder, type, step);
	case SIDE_TYPE_GATHER_VLA: return builder_layout_gather_vla(builder, type, step);
	case SIDE_TYPE_GATHER_ENUM:
		return builder_layout_enum(builder, type, ALLOW_GATHER_INTEGER, step);
	default: /* GATHER_INTEGER, GATHER_POINTER */
		SET_ATTRIBUTES(type, gather->u.side_integer.type.attributes);
		result = builder_check_access(builder, step, gather->u.side_integer.access_mode.v);
		return result ? result
			      : builder_check_integer(builder, step, &gather->u.side_integer.type,
						gather->u.side_integer.offset_bits);
	}
}

/* ---- all types ---- */

static int builder_layout_stack_copy(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	struct side_type *raw = &type->raw;

	switch (side_enum_get(raw->type)) {
	case SIDE_TYPE_NULL:
		SET_ATTRIBUTES(type, raw->u.side_null.attributes);
		return SIDE_ERROR_OK;
	case SIDE_TYPE_BOOL:
		SET_ATTRIBUTES(type, raw->u.side_bool.attributes);
		return SIDE_ERROR_OK;
	case SIDE_TYPE_BYTE:
		SET_ATTRIBUTES(type, raw->u.side_byte.attributes);
		return SIDE_ERROR_OK;
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
		SET_ATTRIBUTES(type, raw->u.side_float.attributes);
		return builder_check_float(builder, step, &raw->u.side_float);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32:
		SET_ATTRIBUTES(type, raw->u.side_string.attributes);
		return builder_check_string(builder, step, &raw->u.side_string);
	case SIDE_TYPE_STRUCT: return builder_layout_struct(builder, type, step);
	case SIDE_TYPE_VARIANT: return builder_layout_variant(builder, type, step);
	case SIDE_TYPE_OPTIONAL: return builder_layout_optional(builder, type, step);
	case SIDE_TYPE_ARRAY: return builder_layout_array(builder, type, step);
	case SIDE_TYPE_VLA: return builder_layout_vla(builder, type, step);
	case SIDE_TYPE_VLA_VISITOR: return builder_layout_vla_visitor(builder, type, step);
	case SIDE_TYPE_ENUM: return builder_layout_enum(builder, type, ALLOW_INTEGER, step);
	case SIDE_TYPE_ENUM_BITMAP: return builder_layout_enum(builder, type, ALLOW_BITMAP, step);
	case SIDE_TYPE_DYNAMIC: return SIDE_ERROR_OK;
	default: /* integers, POINTER */
		SET_ATTRIBUTES(type, raw->u.side_integer.attributes);
		return builder_check_integer(builder, step, &raw->u.side_integer, 0);
	}
}

static int builder_layout_type(struct side_builder *builder, struct side_builder_type *type,
		const struct builder_step *step)
{
	unsigned int label = type->raw.type.v;
	int result;

	if (type->done)
		return SIDE_ERROR_OK;
	type->busy = true;
	type->depth = 1;
	type->parts = 1 + type->attributes.nr;
	if (label >= SIDE_TYPE_GATHER_BOOL)
		result = builder_layout_gather(builder, type, step);
	else
		result = builder_layout_stack_copy(builder, type, step);
	type->busy = false;
	type->done = result == SIDE_ERROR_OK;
	return result;
}

int builder_lay_out(struct side_builder *builder)
{
	struct side_event_description *desc = &builder->desc;
	struct side_builder_type *root = &builder->root;
	struct side_event_field *fields = NULL;
	int result;

	if (!*side_ptr_get(desc->provider_name) || !*side_ptr_get(desc->event_name))
		return builder_fail_at(
				builder, NULL, "the provider or event name is empty or NULL");
	if (desc->flags & ~(uint64_t)SIDE_EVENT_FLAG_VARIADIC)
		return builder_fail_at(builder, NULL, "the flags 0x%llx are unknown",
				(unsigned long long)desc->flags);
	if (desc->loglevel.v > SIDE_LOGLEVEL_DEBUG)
		return builder_fail_at(
				builder, NULL, "the log level %u is unknown", desc->loglevel.v);
	root->busy = true;
	root->parts = 1 + root->attributes.nr;
	result = builder_layout_fields(builder, root, NULL, &fields);
	if (result)
		return result;
	side_ptr_set(desc->fields.elements, fields);
	desc->fields.length = root->items.nr;
	SET_ATTRIBUTES(root, desc->attributes);
	return SIDE_ERROR_OK;
}
