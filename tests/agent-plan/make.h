/* SPDX-License-Identifier: MIT */
#ifndef TESTS_AGENT_PLAN_MAKE_H
#define TESTS_AGENT_PLAN_MAKE_H

/*
 * Builds descriptions and arguments without the public macros, because tests need wrong ones, too.
 * All memory comes from one arena, which make_reset() frees.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/abi/attribute.h>
#include <side/abi/event-description.h>
#include <side/abi/type-argument.h>
#include <side/abi/type-description.h>

#define LE SIDE_TYPE_BYTE_ORDER_LE
#define BE SIDE_TYPE_BYTE_ORDER_BE
#define HOST SIDE_TYPE_BYTE_ORDER_HOST
#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define POINTER SIDE_TYPE_GATHER_ACCESS_POINTER

#define MAKE_UNUSED __attribute__((unused))

struct make_chunk {
	struct make_chunk *next;
	char bytes[];
};
static struct make_chunk *make_chunks;

/* Allocates each object on its own, so that the address sanitizer knows its end. */
static MAKE_UNUSED void *make_bytes(size_t size)
{
	struct make_chunk *chunk = calloc(1, sizeof(*chunk) + size);

	if (!chunk)
		abort();
	chunk->next = make_chunks;
	make_chunks = chunk;
	return chunk->bytes;
}

static MAKE_UNUSED void make_reset(void)
{
	while (make_chunks) {
		struct make_chunk *chunk = make_chunks;

		make_chunks = chunk->next;
		free(chunk);
	}
}

static MAKE_UNUSED void *make_copy(const void *from, size_t size)
{
	void *copy = make_bytes(size);

	if (size)
		memcpy(copy, from, size);
	return copy;
}

/* ---- types ---- */

static MAKE_UNUSED struct side_type make_label(unsigned int label)
{
	struct side_type type;

	memset(&type, 0, sizeof(type));
	type.type.v = (uint16_t)label;
	return type;
}

static MAKE_UNUSED struct side_type make_integer(unsigned int label, unsigned int size,
		unsigned int bits, bool is_signed, unsigned int order)
{
	struct side_type type = make_label(label);

	type.u.side_integer.integer_size = (uint16_t)size;
	type.u.side_integer.len_bits = (uint16_t)bits;
	type.u.side_integer.signedness = is_signed;
	type.u.side_integer.byte_order.v = (uint8_t)order;
	return type;
}

/* Returns the label of an integer of this size (1 to 16) and sign. */
static MAKE_UNUSED unsigned int integer_label(unsigned int size, bool is_signed)
{
	return (is_signed ? SIDE_TYPE_S8 : SIDE_TYPE_U8) + (unsigned int)__builtin_ctz(size);
}

static MAKE_UNUSED struct side_type make_plain(unsigned int size, bool is_signed)
{
	return make_integer(integer_label(size, is_signed), size, 0, is_signed, HOST);
}

static MAKE_UNUSED struct side_type make_bool(
		unsigned int size, unsigned int bits, unsigned int order)
{
	struct side_type type = make_label(SIDE_TYPE_BOOL);

	type.u.side_bool.bool_size = (uint16_t)size;
	type.u.side_bool.len_bits = (uint16_t)bits;
	type.u.side_bool.byte_order.v = (uint8_t)order;
	return type;
}

static MAKE_UNUSED struct side_type make_float(unsigned int size, unsigned int order)
{
	struct side_type type = make_label(
			SIDE_TYPE_FLOAT_BINARY16 + (unsigned int)__builtin_ctz(size) - 1);

	type.u.side_float.float_size = (uint16_t)size;
	type.u.side_float.byte_order.v = (uint8_t)order;
	return type;
}

static MAKE_UNUSED struct side_type make_string(unsigned int unit, unsigned int order)
{
	struct side_type type =
			make_label(SIDE_TYPE_STRING_UTF8 + (unsigned int)__builtin_ctz(unit));

	type.u.side_string.unit_size = (uint8_t)unit;
	type.u.side_string.byte_order.v = (uint8_t)order;
	return type;
}

static MAKE_UNUSED const struct side_type *keep_type(struct side_type type)
{
	return make_copy(&type, sizeof(type));
}

static MAKE_UNUSED struct side_event_field *make_fields(
		uint32_t count, const struct side_type *types, const char *const *names)
{
	struct side_event_field *fields = make_bytes(count * sizeof(*fields));
	uint32_t i;

	for (i = 0; i < count; i++) {
		side_ptr_set(fields[i].field_name, names ? names[i] : "f");
		fields[i].side_type = types[i];
	}
	return fields;
}

static MAKE_UNUSED struct side_type_struct *make_members(
		uint32_t count, const struct side_type *types, const char *const *names)
{
	struct side_type_struct *members = make_bytes(sizeof(*members));

	side_ptr_set(members->fields.elements, make_fields(count, types, names));
	members->fields.length = count;
	return members;
}

static MAKE_UNUSED struct side_type make_struct(
		uint32_t count, const struct side_type *types, const char *const *names)
{
	struct side_type type = make_label(SIDE_TYPE_STRUCT);

	side_ptr_set(type.u.side_struct, make_members(count, types, names));
	return type;
}

static MAKE_UNUSED struct side_type make_array(struct side_type element, uint32_t length)
{
	struct side_type_array *array = make_bytes(sizeof(*array));
	struct side_type type = make_label(SIDE_TYPE_ARRAY);

	side_ptr_set(array->elem_type, keep_type(element));
	array->length = length;
	side_ptr_set(type.u.side_array, array);
	return type;
}

static MAKE_UNUSED struct side_type make_vla(struct side_type element, struct side_type length)
{
	struct side_type_vla *vla = make_bytes(sizeof(*vla));
	struct side_type type = make_label(SIDE_TYPE_VLA);

	side_ptr_set(vla->elem_type, keep_type(element));
	side_ptr_set(vla->length_type, keep_type(length));
	side_ptr_set(type.u.side_vla, vla);
	return type;
}

static MAKE_UNUSED struct side_type make_vla_visitor(
		struct side_type element, struct side_type length, side_visitor_func visitor)
{
	struct side_type_vla_visitor *vla = make_bytes(sizeof(*vla));
	struct side_type type = make_label(SIDE_TYPE_VLA_VISITOR);

	side_ptr_set(vla->elem_type, keep_type(element));
	side_ptr_set(vla->length_type, keep_type(length));
	side_ptr_set(vla->visitor, visitor);
	side_ptr_set(type.u.side_vla_visitor, vla);
	return type;
}

static MAKE_UNUSED struct side_type make_optional(struct side_type element)
{
	struct side_type_optional *optional = make_bytes(sizeof(*optional));
	struct side_type type = make_label(SIDE_TYPE_OPTIONAL);

	side_ptr_set(optional->elem_type, keep_type(element));
	side_ptr_set(type.u.side_optional, optional);
	return type;
}

struct make_option {
	int64_t begin, end;
	struct side_type type;
};

static MAKE_UNUSED struct side_type make_variant(
		struct side_type selector, uint32_t count, const struct make_option *options)
{
	struct side_type_variant *variant = make_bytes(sizeof(*variant));
	struct side_variant_option *list = make_bytes(count * sizeof(*list));
	struct side_type type = make_label(SIDE_TYPE_VARIANT);
	uint32_t i;

	for (i = 0; i < count; i++) {
		list[i].range_begin = options[i].begin;
		list[i].range_end = options[i].end;
		memcpy((void *)&list[i].side_type, &options[i].type, sizeof(struct side_type));
	}
	side_ptr_set(variant->options.elements, list);
	variant->options.length = count;
	memcpy((void *)&variant->selector, &selector, sizeof(selector));
	side_ptr_set(type.u.side_variant, variant);
	return type;
}

struct make_mapping {
	int64_t begin, end;
	const char *label;
};

static MAKE_UNUSED struct side_enum_mappings *make_mappings(
		uint32_t count, const struct make_mapping *mappings)
{
	struct side_enum_mappings *list = make_bytes(sizeof(*list));
	struct side_enum_mapping *elements = make_bytes(count * sizeof(*elements));
	uint32_t i;

	for (i = 0; i < count; i++) {
		elements[i].range_begin = mappings[i].begin;
		elements[i].range_end = mappings[i].end;
		side_ptr_set(elements[i].label.p, mappings[i].label);
		elements[i].label.unit_size = 1;
	}
	side_ptr_set(list->mappings.elements, elements);
	list->mappings.length = count;
	return list;
}

static MAKE_UNUSED struct side_type make_enum(
		struct side_type element, uint32_t count, const struct make_mapping *mappings)
{
	struct side_type type = make_label(SIDE_TYPE_ENUM);

	side_ptr_set(type.u.side_enum.mappings, make_mappings(count, mappings));
	side_ptr_set(type.u.side_enum.elem_type, keep_type(element));
	return type;
}

/* Ranges of bits: the same layout with unsigned ends. */
static MAKE_UNUSED struct side_type make_bitmap(
		struct side_type element, uint32_t count, const struct make_mapping *mappings)
{
	struct side_type type = make_label(SIDE_TYPE_ENUM_BITMAP);

	side_ptr_set(type.u.side_enum_bitmap.mappings,
			(const struct side_enum_bitmap_mappings *)(const void *)make_mappings(
					count, mappings));
	side_ptr_set(type.u.side_enum_bitmap.elem_type, keep_type(element));
	return type;
}

/* ---- gather types ---- */

static MAKE_UNUSED struct side_type gather_integer(uint64_t offset, unsigned int size,
		unsigned int offset_bits, unsigned int bits, bool is_signed, unsigned int order,
		unsigned int mode)
{
	struct side_type type = make_label(SIDE_TYPE_GATHER_INTEGER);
	struct side_type_gather_integer *integer = &type.u.side_gather.u.side_integer;

	integer->offset = offset;
	integer->offset_bits = (uint16_t)offset_bits;
	integer->access_mode.v = (uint8_t)mode;
	integer->type.integer_size = (uint16_t)size;
	integer->type.len_bits = (uint16_t)bits;
	integer->type.signedness = is_signed;
	integer->type.byte_order.v = (uint8_t)order;
	return type;
}

static MAKE_UNUSED struct side_type gather_pointer(
		uint64_t offset, unsigned int order, unsigned int mode)
{
	struct side_type type = gather_integer(offset, sizeof(void *), 0, 0, false, order, mode);

	type.type.v = SIDE_TYPE_GATHER_POINTER;
	return type;
}

static MAKE_UNUSED struct side_type gather_bool(uint64_t offset, unsigned int size,
		unsigned int offset_bits, unsigned int bits, unsigned int order, unsigned int mode)
{
	struct side_type type = make_label(SIDE_TYPE_GATHER_BOOL);
	struct side_type_gather_bool *boolean = &type.u.side_gather.u.side_bool;

	boolean->offset = offset;
	boolean->offset_bits = (uint16_t)offset_bits;
	boolean->access_mode.v = (uint8_t)mode;
	boolean->type.bool_size = (uint16_t)size;
	boolean->type.len_bits = (uint16_t)bits;
	boolean->type.byte_order.v = (uint8_t)order;
	return type;
}

static MAKE_UNUSED struct side_type gather_byte(uint64_t offset, unsigned int mode)
{
	struct side_type type = make_label(SIDE_TYPE_GATHER_BYTE);

	type.u.side_gather.u.side_byte.offset = offset;
	type.u.side_gather.u.side_byte.access_mode.v = (uint8_t)mode;
	return type;
}

static MAKE_UNUSED struct side_type gather_float(
		uint64_t offset, unsigned int size, unsigned int order, unsigned int mode)
{
	struct side_type type = make_label(SIDE_TYPE_GATHER_FLOAT);

	type.u.side_gather.u.side_float.offset = offset;
	type.u.side_gather.u.side_float.access_mode.v = (uint8_t)mode;
	type.u.side_gather.u.side_float.type.float_size = (uint16_t)size;
	type.u.side_gather.u.side_float.type.byte_order.v = (uint8_t)order;
	return type;
}

static MAKE_UNUSED struct side_type gather_string(
		uint64_t offset, unsigned int unit, unsigned int order, unsigned int mode)
{
	struct side_type type = make_label(SIDE_TYPE_GATHER_STRING);

	type.u.side_gather.u.side_string.offset = offset;
	type.u.side_gather.u.side_string.access_mode.v = (uint8_t)mode;
	type.u.side_gather.u.side_string.type.unit_size = (uint8_t)unit;
	type.u.side_gather.u.side_string.type.byte_order.v = (uint8_t)order;
	return type;
}

static MAKE_UNUSED struct side_type gather_struct(const struct side_type_struct *members,
		uint64_t offset, uint32_t size, unsigned int mode)
{
	struct side_type type = make_label(SIDE_TYPE_GATHER_STRUCT);

	side_ptr_set(type.u.side_gather.u.side_struct.type, members);
	type.u.side_gather.u.side_struct.offset = offset;
	type.u.side_gather.u.side_struct.access_mode.v = (uint8_t)mode;
	type.u.side_gather.u.side_struct.size = size;
	return type;
}

static MAKE_UNUSED struct side_type gather_array(
		struct side_type element, uint32_t length, uint64_t offset, unsigned int mode)
{
	struct side_type type = make_label(SIDE_TYPE_GATHER_ARRAY);

	type.u.side_gather.u.side_array.offset = offset;
	type.u.side_gather.u.side_array.access_mode.v = (uint8_t)mode;
	side_ptr_set(type.u.side_gather.u.side_array.type.elem_type, keep_type(element));
	type.u.side_gather.u.side_array.type.length = length;
	return type;
}

static MAKE_UNUSED struct side_type gather_vla(struct side_type element, uint64_t offset,
		unsigned int mode, struct side_type length)
{
	struct side_type type = make_label(SIDE_TYPE_GATHER_VLA);

	type.u.side_gather.u.side_vla.offset = offset;
	type.u.side_gather.u.side_vla.access_mode.v = (uint8_t)mode;
	side_ptr_set(type.u.side_gather.u.side_vla.type.elem_type, keep_type(element));
	side_ptr_set(type.u.side_gather.u.side_vla.type.length_type, keep_type(length));
	return type;
}

static MAKE_UNUSED struct side_type gather_enum(
		struct side_type integer, uint32_t count, const struct make_mapping *mappings)
{
	struct side_type type = make_label(SIDE_TYPE_GATHER_ENUM);

	side_ptr_set(type.u.side_gather.u.side_enum.mappings, make_mappings(count, mappings));
	side_ptr_set(type.u.side_gather.u.side_enum.elem_type, keep_type(integer));
	return type;
}

/* ---- arguments ---- */

/*
 * Returns a scalar with only label, flags and value set; all other bytes are arbitrary, as at real
 * call sites.
 */
static MAKE_UNUSED struct side_arg arg_value(unsigned int label, const void *value, size_t size)
{
	struct side_arg arg;

	memset(&arg, 0xa5, sizeof(arg));
	arg.type.v = (uint16_t)label;
	arg.flags = 0;
	if (size)
		memcpy(&arg.u, value, size);
	return arg;
}

#define ARG(label, ctype, value) arg_value(label, &(ctype){value}, sizeof(ctype))

static MAKE_UNUSED struct side_arg arg_pointer(unsigned int label, const void *pointer)
{
	struct side_arg arg = arg_value(label, NULL, 0);

	side_ptr_set(arg.u.side_static.string_value, pointer);
	return arg;
}

static MAKE_UNUSED struct side_arg_vec *make_vector(uint32_t count, const struct side_arg *args)
{
	struct side_arg_vec *vector = make_bytes(sizeof(*vector));

	side_ptr_set(vector->sav, make_copy(args, count * sizeof(*args)));
	vector->len = count;
	return vector;
}

static MAKE_UNUSED struct side_arg arg_vector(
		unsigned int label, uint32_t count, const struct side_arg *args)
{
	return arg_pointer(label, make_vector(count, args));
}

static MAKE_UNUSED struct side_arg arg_optional(struct side_arg value, uint8_t selector)
{
	struct side_arg_optional *optional = make_bytes(sizeof(*optional));

	optional->side_static = value;
	optional->selector = selector;
	return arg_pointer(SIDE_TYPE_OPTIONAL, optional);
}

static MAKE_UNUSED struct side_arg arg_variant(struct side_arg selector, struct side_arg option)
{
	struct side_arg_variant *variant = make_bytes(sizeof(*variant));

	variant->selector = selector;
	variant->option = option;
	return arg_pointer(SIDE_TYPE_VARIANT, variant);
}

static MAKE_UNUSED struct side_arg arg_vla_visitor(void *context)
{
	struct side_arg_vla_visitor *visitor = make_bytes(sizeof(*visitor));

	side_ptr_set(visitor->app_ctx, context);
	return arg_pointer(SIDE_TYPE_VLA_VISITOR, visitor);
}

static MAKE_UNUSED struct side_arg arg_gather_vla(const void *base, const void *length)
{
	struct side_arg arg = arg_pointer(SIDE_TYPE_GATHER_VLA, base);

	side_ptr_set(arg.u.side_static.side_vla_gather.length_ptr, length);
	return arg;
}

/* ---- dynamic arguments ---- */

struct make_attributes {
	uint32_t count;
	const struct side_attr *list;
};

#define NO_ATTRIBUTES ((struct make_attributes){0, NULL})

/* Builds an attribute. It is constant afterwards. */
static MAKE_UNUSED void make_attribute_at(struct side_attr *to,
		const struct side_type_raw_string *key, uint32_t type, const void *value,
		size_t size)
{
	memset((void *)to, 0xa5, sizeof(*to));
	memcpy((void *)&to->key, key, sizeof(*key));
	memcpy((char *)&to->value, &type, sizeof(type));
	memcpy((char *)&to->value + sizeof(type), value, size);
}

static MAKE_UNUSED struct side_attr make_attribute(
		const char *key, unsigned int type, const void *value, size_t size)
{
	struct side_attr attribute;
	struct side_type_raw_string name = {.unit_size = 1};

	side_ptr_set(name.p, key);
	make_attribute_at(&attribute, &name, type, value, size);
	return attribute;
}

static MAKE_UNUSED struct side_attr make_text_attribute(
		const char *key, const void *text, unsigned int unit)
{
	struct side_type_raw_string value = {.unit_size = (uint8_t)unit};

	value.byte_order.v = HOST;
	side_ptr_set(value.p, text);
	return make_attribute(key, SIDE_ATTR_TYPE_STRING, &value, sizeof(value));
}

/* The first member of every scalar dynamic type. */
static MAKE_UNUSED void put_attributes(void *array, struct make_attributes attributes)
{
	struct side_type_null *list = array;

	side_ptr_set(list->attributes.elements,
			(const struct side_attr *)make_copy(attributes.list,
					attributes.count * sizeof(struct side_attr)));
	list->attributes.length = attributes.count;
}

static MAKE_UNUSED struct side_arg dynamic_scalar(
		unsigned int label, struct make_attributes attributes)
{
	struct side_arg arg = arg_value(label, NULL, 0);

	put_attributes(&arg.u.side_dynamic.side_null, attributes);
	return arg;
}

static MAKE_UNUSED struct side_arg dynamic_integer(unsigned int size, unsigned int bits,
		bool is_signed, unsigned int order, const void *value)
{
	struct side_arg arg = dynamic_scalar(SIDE_TYPE_DYNAMIC_INTEGER, NO_ATTRIBUTES);

	arg.u.side_dynamic.side_integer.type.integer_size = (uint16_t)size;
	arg.u.side_dynamic.side_integer.type.len_bits = (uint16_t)bits;
	arg.u.side_dynamic.side_integer.type.signedness = is_signed;
	arg.u.side_dynamic.side_integer.type.byte_order.v = (uint8_t)order;
	memcpy(&arg.u.side_dynamic.side_integer.value, value, size > 32 ? 32 : size);
	return arg;
}

static MAKE_UNUSED struct side_arg dynamic_bool(
		unsigned int size, unsigned int bits, unsigned int order, const void *value)
{
	struct side_arg arg = dynamic_scalar(SIDE_TYPE_DYNAMIC_BOOL, NO_ATTRIBUTES);

	arg.u.side_dynamic.side_bool.type.bool_size = (uint16_t)size;
	arg.u.side_dynamic.side_bool.type.len_bits = (uint16_t)bits;
	arg.u.side_dynamic.side_bool.type.byte_order.v = (uint8_t)order;
	memcpy(&arg.u.side_dynamic.side_bool.value, value, size);
	return arg;
}

static MAKE_UNUSED struct side_arg dynamic_float(
		unsigned int size, unsigned int order, const void *value)
{
	struct side_arg arg = dynamic_scalar(SIDE_TYPE_DYNAMIC_FLOAT, NO_ATTRIBUTES);

	arg.u.side_dynamic.side_float.type.float_size = (uint16_t)size;
	arg.u.side_dynamic.side_float.type.byte_order.v = (uint8_t)order;
	memcpy(&arg.u.side_dynamic.side_float.value, value, size);
	return arg;
}

static MAKE_UNUSED struct side_arg dynamic_string(
		unsigned int unit, unsigned int order, const void *text)
{
	struct side_arg arg = dynamic_scalar(SIDE_TYPE_DYNAMIC_STRING, NO_ATTRIBUTES);

	arg.u.side_dynamic.side_string.type.unit_size = (uint8_t)unit;
	arg.u.side_dynamic.side_string.type.byte_order.v = (uint8_t)order;
	arg.u.side_dynamic.side_string.value = (uintptr_t)text;
	return arg;
}

static MAKE_UNUSED struct side_arg dynamic_byte(uint8_t value)
{
	struct side_arg arg = dynamic_scalar(SIDE_TYPE_DYNAMIC_BYTE, NO_ATTRIBUTES);

	arg.u.side_dynamic.side_byte.value = value;
	return arg;
}

static MAKE_UNUSED struct side_arg dynamic_pointer(uintptr_t value, unsigned int order)
{
	struct side_arg arg = dynamic_integer(sizeof(value), 0, false, order, &value);

	arg.type.v = SIDE_TYPE_DYNAMIC_POINTER;
	return arg;
}

/* `fields`: names and values in turn. */
static MAKE_UNUSED struct side_arg_dynamic_struct *make_dynamic_struct(uint32_t count,
		const char *const *names, const struct side_arg *values,
		struct make_attributes attributes)
{
	struct side_arg_dynamic_struct *fields = make_bytes(sizeof(*fields));
	struct side_arg_dynamic_field *list = make_bytes(count * sizeof(*list));
	uint32_t i;

	for (i = 0; i < count; i++) {
		side_ptr_set(list[i].field_name, names[i]);
		memcpy((void *)&list[i].elem, &values[i], sizeof(values[i]));
	}
	side_ptr_set(fields->fields, list);
	fields->len = count;
	put_attributes(&fields->attributes, attributes);
	return fields;
}

static MAKE_UNUSED struct side_arg dynamic_struct(uint32_t count, const char *const *names,
		const struct side_arg *values, struct make_attributes attributes)
{
	return arg_pointer(SIDE_TYPE_DYNAMIC_STRUCT,
			make_dynamic_struct(count, names, values, attributes));
}

static MAKE_UNUSED struct side_arg dynamic_vla(
		uint32_t count, const struct side_arg *values, struct make_attributes attributes)
{
	struct side_arg_dynamic_vla *vla = make_bytes(sizeof(*vla));

	side_ptr_set(vla->sav, make_copy(values, count * sizeof(*values)));
	vla->len = count;
	put_attributes(&vla->attributes, attributes);
	return arg_pointer(SIDE_TYPE_DYNAMIC_VLA, vla);
}

static MAKE_UNUSED struct side_arg dynamic_vla_visitor(
		side_visitor_func visitor, void *context, struct make_attributes attributes)
{
	struct side_arg_dynamic_vla_visitor *argument = make_bytes(sizeof(*argument));

	side_ptr_set(argument->visitor, visitor);
	side_ptr_set(argument->app_ctx, context);
	put_attributes(&argument->attributes, attributes);
	return arg_pointer(SIDE_TYPE_DYNAMIC_VLA_VISITOR, argument);
}

static MAKE_UNUSED struct side_arg dynamic_struct_visitor(side_dynamic_struct_visitor_func visitor,
		void *context, struct make_attributes attributes)
{
	struct side_arg_dynamic_struct_visitor *argument = make_bytes(sizeof(*argument));

	side_ptr_set(argument->visitor, visitor);
	side_ptr_set(argument->app_ctx, context);
	put_attributes(&argument->attributes, attributes);
	return arg_pointer(SIDE_TYPE_DYNAMIC_STRUCT_VISITOR, argument);
}

/* ---- events ---- */

static MAKE_UNUSED struct side_event_description *make_event(uint32_t count,
		const struct side_type *types, const char *const *names, uint64_t flags)
{
	struct side_event_description *event = make_bytes(sizeof(*event));

	event->struct_size = sizeof(*event);
	side_ptr_set(event->provider_name, "test");
	side_ptr_set(event->event_name, "event");
	side_ptr_set(event->fields.elements, make_fields(count, types, names));
	event->fields.length = count;
	event->flags = flags;
	event->nr_side_type_label = _NR_SIDE_TYPE_LABEL;
	event->nr_side_attr_type = _NR_SIDE_ATTR_TYPE;
	event->loglevel.v = SIDE_LOGLEVEL_INFO;
	return event;
}

#endif /* TESTS_AGENT_PLAN_MAKE_H */
