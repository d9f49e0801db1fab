/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "generate.h"

#define BLOCK_SIZE (512 << 10)

/* The layouts of the structures with const members, without const. */
struct attr_fill {
	struct side_type_raw_string key;
	struct side_attr_value value;
} SIDE_PACKED;

struct option_fill {
	int64_t range_begin, range_end;
	struct side_type side_type;
} SIDE_PACKED;

struct variant_fill {
	side_array_t(const struct side_variant_option) options;
	struct side_type selector;
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;

void generator_init(struct generator *generator, uint64_t seed)
{
	generator->state = seed * 0x9e3779b97f4a7c15 + 1;
	generator->size = BLOCK_SIZE;
	generator->used = 0;
	generator->block = aligned_alloc(4096, BLOCK_SIZE);
	if (!generator->block)
		abort();
}

void generator_fini(struct generator *generator)
{
	free(generator->block);
}

uint64_t generator_next(struct generator *generator)
{
	uint64_t x = generator->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	generator->state = x;
	return x * 0x2545f4914f6cdd1d;
}

uint32_t generator_below(struct generator *generator, uint32_t below)
{
	return (uint32_t)((generator_next(generator) >> 32) * below >> 32);
}

static void *take(struct generator *generator, size_t size)
{
	void *memory;

	size = (size + 15) & ~(size_t)15;
	if (generator->size - generator->used < size)
		return NULL;
	memory = generator->block + generator->used;
	generator->used += size;
	return memset(memory, 0, size);
}

/* Returns a string of 0 to 7 units, with any values but zero. */
static const void *units(struct generator *generator, unsigned int unit)
{
	unsigned int length = generator_below(generator, 8), i;
	unsigned char *string = take(generator, (size_t)(length + 1) * unit);

	for (i = 0; string && i < length * unit; i++)
		string[i] = (unsigned char)(1 + generator_below(generator, 255));
	return string;
}

static void raw_string(struct generator *generator, struct side_type_raw_string *string)
{
	unsigned int unit = 1u << generator_below(generator, 3);

	side_ptr_set(string->p, units(generator, unit));
	string->unit_size = (uint8_t)unit;
	string->byte_order.v = (uint8_t)generator_below(generator, 2);
}

static uint32_t attributes(struct generator *generator, const struct side_attr **result)
{
	static const uint8_t sizes[] = {0, 1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 2, 4, 8, 16};
	uint32_t nr = generator_below(generator, 4) ? 0 : 1 + generator_below(generator, 3), i, j;
	struct attr_fill *attr = take(generator, nr * sizeof(*attr));

	*result = (const struct side_attr *)(void *)attr;
	if (!attr)
		return 0;
	for (i = 0; i < nr; i++) {
		unsigned int type = generator_below(generator, _NR_SIDE_ATTR_TYPE);

		raw_string(generator, &attr[i].key);
		attr[i].value.type.v = type;
		if (type == SIDE_ATTR_TYPE_STRING)
			raw_string(generator, &attr[i].value.u.string_value);
		for (j = 0; type < SIDE_ATTR_TYPE_STRING && j < sizes[type]; j++)
			attr[i].value.u.padding[j] = (char)generator_next(generator);
	}
	return nr;
}

#define ATTRIBUTES(generator, array)                            \
	do {                                                    \
		const struct side_attr *attr_;                  \
		(array).length = attributes(generator, &attr_); \
		side_ptr_set((array).elements, attr_);          \
	} while (0)

static bool type(struct generator *generator, struct side_type *made, unsigned int label,
		unsigned int depth);

static uint8_t order(struct generator *generator)
{
	return (uint8_t)generator_below(generator, 2);
}

/* Returns sizes and numbers of bits that match. */
static unsigned int bits(struct generator *generator, unsigned int size, unsigned int *offset)
{
	unsigned int len;

	*offset = 0;
	if (size == 16)
		return generator_below(generator, 2) * 128;
	if (!generator_below(generator, 2))
		return 0;
	len = 1 + generator_below(generator, 8 * size);
	*offset = generator_below(generator, 8 * size - len + 1);
	return len;
}

static unsigned int integer(struct generator *generator, struct side_type_integer *integer,
		unsigned int size, bool is_signed)
{
	unsigned int offset;

	integer->integer_size = (uint16_t)size;
	integer->len_bits = (uint16_t)bits(generator, size, &offset);
	integer->signedness = is_signed;
	integer->byte_order.v = order(generator);
	ATTRIBUTES(generator, integer->attributes);
	return offset;
}

static const struct side_type *inner(
		struct generator *generator, unsigned int label, unsigned int depth)
{
	struct side_type *made = take(generator, sizeof(*made));

	return made && type(generator, made, label, depth + 1) ? made : NULL;
}

static unsigned int pick_integer(struct generator *generator)
{
	return SIDE_TYPE_U8 + generator_below(generator, 10);
}

static unsigned int pick_gather(struct generator *generator, bool vla, unsigned int depth)
{
	unsigned int label;

	if (depth > 5)
		return SIDE_TYPE_GATHER_INTEGER;
	do {
		label = SIDE_TYPE_GATHER_BOOL + generator_below(generator, 10);
	} while (!vla && label == SIDE_TYPE_GATHER_VLA);
	return label;
}

static unsigned int pick(struct generator *generator, unsigned int depth)
{
	if (depth > 5)
		return generator_below(generator, SIDE_TYPE_STRUCT);
	return generator_below(generator, SIDE_TYPE_GATHER_ENUM + 1);
}

static uint32_t fields(struct generator *generator, const struct side_event_field **result,
		bool gather, unsigned int depth)
{
	uint32_t nr = generator_below(generator, depth ? 4 : 6), i;
	struct side_event_field *field = take(generator, nr * sizeof(*field));

	*result = field;
	for (i = 0; field && i < nr; i++) {
		unsigned int label = gather ? pick_gather(generator, true, depth)
					    : pick(generator, depth);

		side_ptr_set(field[i].field_name, units(generator, 1));
		if (!side_ptr_get(field[i].field_name) ||
				!type(generator, &field[i].side_type, label, depth))
			return UINT32_MAX;
	}
	return field ? nr : UINT32_MAX;
}

static const struct side_type_struct *structure(
		struct generator *generator, bool gather, unsigned int depth)
{
	struct side_type_struct *structure = take(generator, sizeof(*structure));
	const struct side_event_field *field;

	if (!structure)
		return NULL;
	structure->fields.length = fields(generator, &field, gather, depth + 1);
	if (structure->fields.length == UINT32_MAX)
		return NULL;
	side_ptr_set(structure->fields.elements, field);
	ATTRIBUTES(generator, structure->attributes);
	return structure;
}

/* For an enumeration or a bitmap: the layout is the same. */
static const struct side_enum_mappings *mappings(struct generator *generator)
{
	struct side_enum_mappings *table = take(generator, sizeof(*table));
	uint32_t nr = generator_below(generator, 5), i;
	struct side_enum_mapping *mapping = take(generator, nr * sizeof(*mapping));

	if (!table || !mapping)
		return NULL;
	for (i = 0; i < nr; i++) {
		mapping[i].range_begin = (int64_t)generator_next(generator);
		mapping[i].range_end = (int64_t)generator_next(generator);
		raw_string(generator, &mapping[i].label);
		if (!side_ptr_get(mapping[i].label.p))
			return NULL;
	}
	side_ptr_set(table->mappings.elements, mapping);
	table->mappings.length = nr;
	ATTRIBUTES(generator, table->attributes);
	return table;
}

static bool enumeration(struct generator *generator, struct side_type *made, unsigned int element,
		unsigned int depth)
{
	side_ptr_set(made->u.side_enum.mappings, mappings(generator));
	side_ptr_set(made->u.side_enum.elem_type, inner(generator, element, depth));
	return side_ptr_get(made->u.side_enum.mappings) &&
			side_ptr_get(made->u.side_enum.elem_type);
}

static bool bitmap(struct generator *generator, struct side_type *made, unsigned int depth)
{
	unsigned int item = generator_below(generator, 2)
			? SIDE_TYPE_BYTE
			: SIDE_TYPE_U8 + generator_below(generator, 5);
	struct side_type_array *array;
	struct side_type *element;

	if (generator_below(generator, 2))
		return enumeration(generator, made, item, depth);
	element = take(generator, sizeof(*element));
	array = take(generator, sizeof(*array));
	if (!element || !array)
		return false;
	side_enum_set(element->type, SIDE_TYPE_ARRAY);
	array->length = generator_below(generator, 5);
	side_ptr_set(array->elem_type, inner(generator, item, depth));
	ATTRIBUTES(generator, array->attributes);
	side_ptr_set(element->u.side_array, array);
	side_ptr_set(made->u.side_enum.mappings, mappings(generator));
	side_ptr_set(made->u.side_enum.elem_type, element);
	return side_ptr_get(array->elem_type) && side_ptr_get(made->u.side_enum.mappings);
}

static bool variant(struct generator *generator, struct side_type *made, unsigned int depth)
{
	struct variant_fill *fill = take(generator, sizeof(*fill));
	uint32_t nr = generator_below(generator, 4), i;
	struct option_fill *options = take(generator, nr * sizeof(*options));

	if (!fill || !options ||
			!type(generator, &fill->selector, pick_integer(generator), depth + 1))
		return false;
	for (i = 0; i < nr; i++) {
		options[i].range_begin = (int64_t)generator_next(generator) >> 40;
		options[i].range_end = options[i].range_begin + generator_below(generator, 9);
		if (!type(generator, &options[i].side_type, pick(generator, depth + 1), depth + 1))
			return false;
	}
	side_ptr_set(fill->options.elements, (const struct side_variant_option *)(void *)options);
	fill->options.length = nr;
	ATTRIBUTES(generator, fill->attributes);
	side_ptr_set(made->u.side_variant, (const struct side_type_variant *)(void *)fill);
	return true;
}

static bool array(struct generator *generator, struct side_type_array *array, bool gather,
		unsigned int depth)
{
	unsigned int label = gather ? pick_gather(generator, false, depth + 1)
				    : pick(generator, depth + 1);

	array->length = generator_below(generator, 1000);
	side_ptr_set(array->elem_type, inner(generator, label, depth));
	ATTRIBUTES(generator, array->attributes);
	return side_ptr_get(array->elem_type);
}

static bool vla(struct generator *generator, struct side_type_vla *vla, bool gather,
		unsigned int depth)
{
	unsigned int label = gather ? pick_gather(generator, false, depth + 1)
				    : pick(generator, depth + 1);

	side_ptr_set(vla->elem_type, inner(generator, label, depth));
	side_ptr_set(vla->length_type,
			inner(generator,
					gather ? SIDE_TYPE_GATHER_INTEGER : pick_integer(generator),
					depth));
	ATTRIBUTES(generator, vla->attributes);
	return side_ptr_get(vla->elem_type) && side_ptr_get(vla->length_type);
}

static enum side_visitor_status no_elements(const struct side_tracer_visitor_ctx *ctx, void *app)
{
	(void)ctx;
	(void)app;
	return SIDE_VISITOR_STATUS_OK;
}

static bool visitor(struct generator *generator, struct side_type *made, unsigned int depth)
{
	struct side_type_vla_visitor *visitor = take(generator, sizeof(*visitor));
	struct side_type_vla image;

	memset(&image, 0, sizeof(image));
	if (!visitor || !vla(generator, &image, false, depth))
		return false;
	memcpy(&visitor->elem_type, &image.elem_type, sizeof(image.elem_type));
	memcpy(&visitor->length_type, &image.length_type, sizeof(image.length_type));
	memcpy(&visitor->attributes, &image.attributes, sizeof(image.attributes));
	side_ptr_set(visitor->visitor, no_elements);
	side_ptr_set(made->u.side_vla_visitor, visitor);
	return true;
}

static bool gather(struct generator *generator, struct side_type *made, unsigned int label,
		unsigned int depth)
{
	struct side_type_gather *gather = &made->u.side_gather;
	uint64_t offset = generator_next(generator) >> generator_below(generator, 64);
	uint8_t mode = (uint8_t)generator_below(generator, 2);
	unsigned int offset_bits;

	switch (label) {
	case SIDE_TYPE_GATHER_BOOL:
		gather->u.side_bool.offset = offset;
		gather->u.side_bool.access_mode.v = mode;
		gather->u.side_bool.type.bool_size = (uint16_t)(1 << generator_below(generator, 4));
		gather->u.side_bool.type.len_bits = (uint16_t)bits(
				generator, gather->u.side_bool.type.bool_size, &offset_bits);
		gather->u.side_bool.offset_bits = (uint16_t)offset_bits;
		gather->u.side_bool.type.byte_order.v = order(generator);
		ATTRIBUTES(generator, gather->u.side_bool.type.attributes);
		return true;
	case SIDE_TYPE_GATHER_BYTE:
		gather->u.side_byte.offset = offset;
		gather->u.side_byte.access_mode.v = mode;
		ATTRIBUTES(generator, gather->u.side_byte.type.attributes);
		return true;
	case SIDE_TYPE_GATHER_FLOAT:
		gather->u.side_float.offset = offset;
		gather->u.side_float.access_mode.v = mode;
		gather->u.side_float.type.float_size =
				(uint16_t)(2 << generator_below(generator, 4));
		gather->u.side_float.type.byte_order.v = order(generator);
		ATTRIBUTES(generator, gather->u.side_float.type.attributes);
		return true;
	case SIDE_TYPE_GATHER_STRING:
		gather->u.side_string.offset = offset;
		gather->u.side_string.access_mode.v = mode;
		gather->u.side_string.type.unit_size =
				(uint8_t)(1 << generator_below(generator, 3));
		gather->u.side_string.type.byte_order.v = order(generator);
		ATTRIBUTES(generator, gather->u.side_string.type.attributes);
		return true;
	case SIDE_TYPE_GATHER_STRUCT:
		gather->u.side_struct.offset = offset;
		gather->u.side_struct.access_mode.v = mode;
		gather->u.side_struct.size = (uint32_t)generator_next(generator);
		side_ptr_set(gather->u.side_struct.type, structure(generator, true, depth));
		return side_ptr_get(gather->u.side_struct.type);
	case SIDE_TYPE_GATHER_ARRAY:
		gather->u.side_array.offset = offset;
		gather->u.side_array.access_mode.v = mode;
		return array(generator, &gather->u.side_array.type, true, depth);
	case SIDE_TYPE_GATHER_VLA:
		gather->u.side_vla.offset = offset;
		gather->u.side_vla.access_mode.v = mode;
		return vla(generator, &gather->u.side_vla.type, true, depth);
	case SIDE_TYPE_GATHER_ENUM:
		return enumeration(generator, made, SIDE_TYPE_GATHER_INTEGER, depth);
	default:
		gather->u.side_integer.offset = offset;
		gather->u.side_integer.access_mode.v = mode;
		gather->u.side_integer.offset_bits = (uint16_t)integer(generator,
				&gather->u.side_integer.type,
				label == SIDE_TYPE_GATHER_POINTER
						? sizeof(void *)
						: 1u << generator_below(generator, 5),
				label != SIDE_TYPE_GATHER_POINTER && generator_below(generator, 2));
		return true;
	}
}

static bool compound(struct generator *generator, struct side_type *made, unsigned int label,
		unsigned int depth)
{
	struct side_type_optional *optional;
	struct side_type_array *array_type;
	struct side_type_vla *vla_type;

	switch (label) {
	case SIDE_TYPE_STRUCT:
		side_ptr_set(made->u.side_struct, structure(generator, false, depth));
		return side_ptr_get(made->u.side_struct);
	case SIDE_TYPE_VARIANT: return variant(generator, made, depth);
	case SIDE_TYPE_OPTIONAL:
		optional = take(generator, sizeof(*optional));
		side_ptr_set(made->u.side_optional, optional);
		if (!optional)
			return false;
		side_ptr_set(optional->elem_type,
				inner(generator, pick(generator, depth + 1), depth));
		ATTRIBUTES(generator, optional->attributes);
		return side_ptr_get(optional->elem_type);
	case SIDE_TYPE_ARRAY:
		array_type = take(generator, sizeof(*array_type));
		side_ptr_set(made->u.side_array, array_type);
		return array_type && array(generator, array_type, false, depth);
	case SIDE_TYPE_VLA:
		vla_type = take(generator, sizeof(*vla_type));
		side_ptr_set(made->u.side_vla, vla_type);
		return vla_type && vla(generator, vla_type, false, depth);
	case SIDE_TYPE_VLA_VISITOR: return visitor(generator, made, depth);
	case SIDE_TYPE_ENUM: return enumeration(generator, made, pick_integer(generator), depth);
	default: return bitmap(generator, made, depth);
	}
}

static bool type(struct generator *generator, struct side_type *made, unsigned int label,
		unsigned int depth)
{
	side_enum_set(made->type, (enum side_type_label)label);
	if (visit_label_is_gather(label))
		return gather(generator, made, label, depth);
	switch (label) {
	case SIDE_TYPE_NULL:
	case SIDE_TYPE_BYTE: ATTRIBUTES(generator, made->u.side_null.attributes); return true;
	case SIDE_TYPE_BOOL:
		made->u.side_bool.bool_size = 1;
		made->u.side_bool.len_bits = (uint16_t)generator_below(generator, 9);
		made->u.side_bool.byte_order.v = order(generator);
		ATTRIBUTES(generator, made->u.side_bool.attributes);
		return true;
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
		made->u.side_float.float_size = (uint16_t)(2 << (label - SIDE_TYPE_FLOAT_BINARY16));
		made->u.side_float.byte_order.v = order(generator);
		ATTRIBUTES(generator, made->u.side_float.attributes);
		return true;
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32:
		made->u.side_string.unit_size = (uint8_t)(1 << (label - SIDE_TYPE_STRING_UTF8));
		made->u.side_string.byte_order.v = order(generator);
		ATTRIBUTES(generator, made->u.side_string.attributes);
		return true;
	case SIDE_TYPE_DYNAMIC: return true;
	case SIDE_TYPE_POINTER:
		integer(generator, &made->u.side_integer, sizeof(void *), false);
		made->u.side_integer.len_bits = 0;
		return true;
	default:
		if (label >= SIDE_TYPE_STRUCT)
			return compound(generator, made, label, depth);
		integer(generator, &made->u.side_integer,
				1u << (label >= SIDE_TYPE_S8 ? label - SIDE_TYPE_S8
							     : label - SIDE_TYPE_U8),
				label >= SIDE_TYPE_S8);
		return true;
	}
}

struct side_event_description *generate_description(struct generator *generator)
{
	const struct side_event_field *field;
	const struct side_attr *attr;
	struct side_event_description *desc;
	const char *provider, *event;

	generator->used = 0;
	desc = take(generator, sizeof(*desc));
	provider = units(generator, 1);
	event = units(generator, 1);
	desc->struct_size = sizeof(*desc);
	side_ptr_set(desc->provider_name, provider);
	side_ptr_set(desc->event_name, event);
	desc->flags = generator_below(generator, 2);
	desc->nr_side_type_label = _NR_SIDE_TYPE_LABEL;
	desc->nr_side_attr_type = _NR_SIDE_ATTR_TYPE;
	desc->loglevel.v = generator_below(generator, 8);
	desc->attributes.length = attributes(generator, &attr);
	side_ptr_set(desc->attributes.elements, attr);
	desc->fields.length = fields(generator, &field, false, 0);
	side_ptr_set(desc->fields.elements, field);
	return desc->fields.length == UINT32_MAX ? NULL : desc;
}
