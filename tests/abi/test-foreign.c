/* SPDX-License-Identifier: MIT */
/*
 * Descriptions in memory of the other byte order: the test swaps each member of a description in
 * place, and reading it must give the same bytes as before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

static void swap(void *at, size_t size)
{
	unsigned char *bytes = at, byte;
	size_t i;

	for (i = 0; i < size / 2; i++) {
		byte = bytes[i];
		bytes[i] = bytes[size - 1 - i];
		bytes[size - 1 - i] = byte;
	}
}

#define SWAP(member) swap(&(member), sizeof(member))
/* The descriptions belong to the test and are writable. */
#define MUTABLE(pointer) ((void *)(uintptr_t)(pointer))

static void swap_type(struct side_type *type);

/* Pointer slots are integers of 128 bits; slot, then length. */
#define SWAP_ARRAY(array)               \
	do {                            \
		SWAP((array).elements); \
		SWAP((array).length);   \
	} while (0)

static void swap_attributes(const struct side_attr *attributes, uint32_t nr)
{
	static const uint8_t sizes[] = {0, 1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 2, 4, 8, 16};
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct side_attr *attr = MUTABLE(&attributes[i]);
		struct side_attr_value *value = MUTABLE(&attr->value);
		struct side_type_raw_string *key = MUTABLE(&attr->key);

		if (value->type.v == SIDE_ATTR_TYPE_STRING)
			SWAP(value->u.string_value.p);
		else
			swap(&value->u, sizes[value->type.v]);
		SWAP(key->p);
		SWAP(value->type.v);
	}
}

#define SWAP_ATTRIBUTES(array)                                                  \
	do {                                                                    \
		swap_attributes(side_array_elements(&(array)), (array).length); \
		SWAP_ARRAY(array);                                              \
	} while (0)

static void swap_fields(const struct side_event_field *fields, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct side_event_field *field = MUTABLE(&fields[i]);

		swap_type(&field->side_type);
		SWAP(field->field_name);
	}
}

static void swap_struct(const struct side_type_struct *type)
{
	struct side_type_struct *structure = MUTABLE(type);

	swap_fields(side_array_elements(&structure->fields), structure->fields.length);
	SWAP_ARRAY(structure->fields);
	SWAP_ATTRIBUTES(structure->attributes);
}

static void swap_integer(struct side_type_integer *type)
{
	SWAP_ATTRIBUTES(type->attributes);
	SWAP(type->integer_size);
	SWAP(type->len_bits);
}

static void swap_bool(struct side_type_bool *type)
{
	SWAP_ATTRIBUTES(type->attributes);
	SWAP(type->bool_size);
	SWAP(type->len_bits);
}

static void swap_float(struct side_type_float *type)
{
	SWAP_ATTRIBUTES(type->attributes);
	SWAP(type->float_size);
}

static void swap_enum(struct side_type_enum *type)
{
	struct side_enum_mappings *table = MUTABLE(side_ptr_get(type->mappings));
	struct side_enum_mapping *mapping = MUTABLE(side_array_elements(&table->mappings));
	uint32_t i;

	for (i = 0; i < table->mappings.length; i++) {
		SWAP(mapping[i].range_begin);
		SWAP(mapping[i].range_end);
		SWAP(mapping[i].label.p);
	}
	SWAP_ARRAY(table->mappings);
	SWAP_ATTRIBUTES(table->attributes);
	swap_type(MUTABLE(side_ptr_get(type->elem_type)));
	SWAP(type->mappings);
	SWAP(type->elem_type);
}

static void swap_array(struct side_type_array *array)
{
	swap_type(MUTABLE(side_ptr_get(array->elem_type)));
	SWAP(array->elem_type);
	SWAP(array->length);
	SWAP_ATTRIBUTES(array->attributes);
}

static void swap_vla(struct side_type_vla *vla)
{
	swap_type(MUTABLE(side_ptr_get(vla->elem_type)));
	swap_type(MUTABLE(side_ptr_get(vla->length_type)));
	SWAP(vla->elem_type);
	SWAP(vla->length_type);
	SWAP_ATTRIBUTES(vla->attributes);
}

static void swap_visitor(struct side_type_vla_visitor *visitor)
{
	swap_type(MUTABLE(side_ptr_get(visitor->elem_type)));
	swap_type(MUTABLE(side_ptr_get(visitor->length_type)));
	SWAP(visitor->elem_type);
	SWAP(visitor->length_type);
	SWAP(visitor->visitor);
	SWAP_ATTRIBUTES(visitor->attributes);
}

static void swap_variant(struct side_type_variant *variant)
{
	const struct side_variant_option *options = side_array_elements(&variant->options);
	uint32_t i;

	for (i = 0; i < variant->options.length; i++) {
		struct side_variant_option *option = MUTABLE(&options[i]);

		SWAP(option->range_begin);
		SWAP(option->range_end);
		swap_type(MUTABLE(&option->side_type));
	}
	SWAP_ARRAY(variant->options);
	swap_type(MUTABLE(&variant->selector));
	SWAP_ATTRIBUTES(variant->attributes);
}

static void swap_gather(struct side_type *type)
{
	struct side_type_gather *gather = &type->u.side_gather;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		SWAP(gather->u.side_bool.offset);
		SWAP(gather->u.side_bool.offset_bits);
		swap_bool(&gather->u.side_bool.type);
		break;
	case SIDE_TYPE_GATHER_BYTE:
		SWAP(gather->u.side_byte.offset);
		SWAP_ATTRIBUTES(gather->u.side_byte.type.attributes);
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		SWAP(gather->u.side_float.offset);
		swap_float(&gather->u.side_float.type);
		break;
	case SIDE_TYPE_GATHER_STRING:
		SWAP(gather->u.side_string.offset);
		SWAP_ATTRIBUTES(gather->u.side_string.type.attributes);
		break;
	case SIDE_TYPE_GATHER_STRUCT:
		swap_struct(side_ptr_get(gather->u.side_struct.type));
		SWAP(gather->u.side_struct.type);
		SWAP(gather->u.side_struct.offset);
		SWAP(gather->u.side_struct.size);
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		SWAP(gather->u.side_array.offset);
		swap_array(&gather->u.side_array.type);
		break;
	case SIDE_TYPE_GATHER_VLA:
		SWAP(gather->u.side_vla.offset);
		swap_vla(&gather->u.side_vla.type);
		break;
	case SIDE_TYPE_GATHER_ENUM: swap_enum(&type->u.side_enum); break;
	default:
		SWAP(gather->u.side_integer.offset);
		SWAP(gather->u.side_integer.offset_bits);
		swap_integer(&gather->u.side_integer.type);
		break;
	}
}

static void swap_scalar(struct side_type *type)
{
	struct side_type_optional *optional;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_NULL:
	case SIDE_TYPE_BYTE: SWAP_ATTRIBUTES(type->u.side_null.attributes); break;
	case SIDE_TYPE_BOOL: swap_bool(&type->u.side_bool); break;
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128: swap_float(&type->u.side_float); break;
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: SWAP_ATTRIBUTES(type->u.side_string.attributes); break;
	case SIDE_TYPE_STRUCT:
		swap_struct(side_ptr_get(type->u.side_struct));
		SWAP(type->u.side_struct);
		break;
	case SIDE_TYPE_VARIANT:
		swap_variant(MUTABLE(side_ptr_get(type->u.side_variant)));
		SWAP(type->u.side_variant);
		break;
	case SIDE_TYPE_OPTIONAL:
		optional = MUTABLE(side_ptr_get(type->u.side_optional));
		swap_type(MUTABLE(side_ptr_get(optional->elem_type)));
		SWAP(optional->elem_type);
		SWAP_ATTRIBUTES(optional->attributes);
		SWAP(type->u.side_optional);
		break;
	case SIDE_TYPE_ARRAY:
		swap_array(MUTABLE(side_ptr_get(type->u.side_array)));
		SWAP(type->u.side_array);
		break;
	case SIDE_TYPE_VLA:
		swap_vla(MUTABLE(side_ptr_get(type->u.side_vla)));
		SWAP(type->u.side_vla);
		break;
	case SIDE_TYPE_VLA_VISITOR:
		swap_visitor(MUTABLE(side_ptr_get(type->u.side_vla_visitor)));
		SWAP(type->u.side_vla_visitor);
		break;
	case SIDE_TYPE_ENUM:
	case SIDE_TYPE_ENUM_BITMAP: swap_enum(&type->u.side_enum); break;
	case SIDE_TYPE_DYNAMIC: break;
	default: swap_integer(&type->u.side_integer); break;
	}
}

static void swap_type(struct side_type *type)
{
	if (visit_label_is_gather(type->type.v))
		swap_gather(type);
	else
		swap_scalar(type);
	SWAP(type->type.v);
}

static void swap_event(struct side_event_description *desc)
{
	swap_fields(side_array_elements(&desc->fields), desc->fields.length);
	SWAP_ARRAY(desc->fields);
	SWAP_ATTRIBUTES(desc->attributes);
	SWAP(desc->struct_size);
	SWAP(desc->version);
	SWAP(desc->state);
	SWAP(desc->provider_name);
	SWAP(desc->event_name);
	SWAP(desc->flags);
	SWAP(desc->nr_side_type_label);
	SWAP(desc->nr_side_attr_type);
	SWAP(desc->loglevel.v);
}

static int read_block(void *priv, uint64_t address, void *to, size_t size)
{
	const struct generator *generator = priv;
	uint64_t start = (uintptr_t)generator->block;

	if (address < start || address - start > generator->used ||
			size > generator->used - (address - start))
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return 0;
}

int main(void)
{
	unsigned int seed, made = 0, rounds = getenv("SIDE_TEST_LONG") ? 100000 : 2000;

	for (seed = 0; seed < rounds; seed++) {
		struct visit_memory memory = {
				.read = read_block,
				.byte_order = SIDE_TYPE_BYTE_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_LE
						? SIDE_TYPE_BYTE_ORDER_BE
						: SIDE_TYPE_BYTE_ORDER_LE,
		};
		struct side_event_description *desc;
		struct generator generator;
		struct visit_buffer native, foreign;
		struct visit_error error = {.what = ""};

		generator_init(&generator, seed + 1000000);
		memory.priv = &generator;
		desc = generate_description(&generator);
		visit_buffer_heap(&native);
		visit_buffer_heap(&foreign);
		if (desc) {
			made++;
			if (visit_description_encode(desc, &native, &error))
				return 1;
			swap_event(desc);
			if (visit_description_read(&memory, (uintptr_t)desc, &foreign, &error) ||
					native.size != foreign.size ||
					memcmp(native.data, foreign.data, native.size)) {
				fprintf(stderr,
						"seed %u: the other byte order reads differently: "
						"%s\n",
						seed, error.what);
				return 1;
			}
		}
		visit_buffer_free(&native);
		visit_buffer_free(&foreign);
		generator_fini(&generator);
	}
	return made < rounds / 2;
}
