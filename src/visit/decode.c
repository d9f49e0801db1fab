/* SPDX-License-Identifier: MIT */
/*
 * Bytes to a description. The bytes come from another process and may be anything. Every count is
 * compared with the bytes that are left before memory is taken for it, so memory is bounded by a
 * small multiple of the input.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "visit/codec.h"

/* Memory in pieces that never move, freed all at once. */
struct chunk {
	struct chunk *next;
	size_t used, size;
	unsigned char bytes[] __attribute__((aligned(16)));
};

struct owned {
	struct visit_owned public; /* first */
	struct chunk *chunks;
};

struct decoder {
	const unsigned char *at;
	size_t left;
	struct owned *owned;
	uint32_t nodes; /* left of the budget */
	struct visit_error *error;
};

static int decode_type(struct decoder *decoder, struct side_type *type,
		const struct visit_step *step, unsigned int depth);

/* ---- memory ---- */

static void *take(struct decoder *decoder, size_t size)
{
	struct chunk *chunk = decoder->owned->chunks;
	size_t wanted;
	void *memory;

	size = (size + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < size) {
		wanted = size > 4096 ? size : 4096;
		chunk = malloc(sizeof(*chunk) + wanted);
		if (!chunk)
			return NULL;
		chunk->next = decoder->owned->chunks;
		chunk->used = 0;
		chunk->size = wanted;
		decoder->owned->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	return memset(memory, 0, size);
}

static int no_memory(struct decoder *decoder, const struct visit_step *step)
{
	return visit_fail(decoder->error, step, -ENOMEM, "no memory for the description");
}

/* ---- numbers and strings ---- */

static int truncated(struct decoder *decoder, const struct visit_step *step)
{
	return visit_fail(decoder->error, step, -EINVAL, "the encoded description is cut off");
}

static int get_number(struct decoder *decoder, unsigned int size, uint64_t *number,
		const struct visit_step *step)
{
	unsigned int i;

	if (decoder->left < size)
		return truncated(decoder, step);
	*number = 0;
	for (i = 0; i < size; i++)
		*number |= (uint64_t)decoder->at[i] << (8 * i);
	decoder->at += size;
	decoder->left -= size;
	return 0;
}

#define GET(decoder, size, member, step)                              \
	__extension__({                                               \
		uint64_t number_ = 0;                                 \
		int ret_ = get_number(decoder, size, &number_, step); \
		(member) = (__typeof__(member))number_;               \
		ret_;                                                 \
	})

/* A count of things of which each takes at least min bytes of input. */
static int get_count(
		struct decoder *decoder, size_t min, uint32_t *count, const struct visit_step *step)
{
	int ret = GET(decoder, 4, *count, step);

	if (ret)
		return ret;
	if (*count > decoder->left / min)
		return truncated(decoder, step);
	if (*count > decoder->nodes)
		return visit_fail(decoder->error, step, -E2BIG,
				"the description has more than %u parts", VISIT_NODES_MAX);
	decoder->nodes -= *count;
	return 0;
}

static int get_units(struct decoder *decoder, unsigned int unit, const void **string,
		const struct visit_step *step)
{
	uint32_t length, i;
	unsigned char *copy;
	int ret = GET(decoder, 4, length, step);

	if (ret)
		return ret;
	if (length == CODEC_NULL) {
		*string = NULL;
		return 0;
	}
	if (length > decoder->left)
		return truncated(decoder, step);
	if (length % unit)
		return visit_fail(decoder->error, step, -EINVAL,
				"a string of %u bytes does not hold units of %u bytes", length,
				unit);
	copy = take(decoder, (size_t)length + unit);
	if (!copy)
		return no_memory(decoder, step);
	memcpy(copy, decoder->at, length);
	for (i = 0; i < length; i += unit) {
		static const unsigned char zero[4];

		if (!memcmp(copy + i, zero, unit))
			return visit_fail(decoder->error, step, -EINVAL,
					"a string holds a terminator");
	}
	decoder->at += length;
	decoder->left -= length;
	*string = copy;
	return 0;
}

static int get_raw_string(struct decoder *decoder, struct side_type_raw_string *string,
		const struct visit_step *step)
{
	const void *units;
	int ret = GET(decoder, 1, string->unit_size, step);

	if (!ret)
		ret = GET(decoder, 1, string->byte_order.v, step);
	if (ret)
		return ret;
	if (string->unit_size != 1 && string->unit_size != 2 && string->unit_size != 4)
		return visit_fail(decoder->error, step, -EINVAL,
				"a string has units of %u bytes, not 1, 2 or 4", string->unit_size);
	ret = get_units(decoder, string->unit_size, &units, step);
	if (!ret)
		side_ptr_set(string->p, units);
	return ret;
}

/* ---- parts ---- */

/* The members of struct side_attr are const; this is the same, to write to. */
struct attr_fill {
	struct side_type_raw_string key;
	struct side_attr_value value;
} SIDE_PACKED;
_Static_assert(sizeof(struct attr_fill) == sizeof(struct side_attr), "one layout");

static int decode_attribute(
		struct decoder *decoder, struct attr_fill *attr, const struct visit_step *step)
{
	unsigned char bytes[16];
	uint32_t type;
	int size, i, ret;

	ret = get_raw_string(decoder, &attr->key, step);
	if (!ret)
		ret = GET(decoder, 4, type, step);
	if (ret)
		return ret;
	attr->value.type.v = type;
	if (type == SIDE_ATTR_TYPE_STRING)
		return get_raw_string(decoder, &attr->value.u.string_value, step);
	size = codec_attr_size(type);
	if (size < 0)
		return visit_fail(decoder->error, step, -ENOTSUP,
				"the attribute type %u is unknown", (unsigned int)type);
	if (decoder->left < (size_t)size)
		return truncated(decoder, step);
	for (i = 0; i < size; i++)
		bytes[SIDE_TYPE_BYTE_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_LE ? i : size - 1 - i] =
				decoder->at[i];
	memcpy(&attr->value.u, bytes, size);
	decoder->at += size;
	decoder->left -= size;
	return 0;
}

#define DECODE_ATTRIBUTES(decoder, array, step)                            \
	__extension__({                                                    \
		const struct side_attr *attr_ = NULL;                      \
		uint32_t nr_ = 0;                                          \
		int ret_ = decode_attributes(decoder, &attr_, &nr_, step); \
		side_ptr_set((array).elements, attr_);                     \
		(array).length = nr_;                                      \
		ret_;                                                      \
	})

static int decode_attributes(struct decoder *decoder, const struct side_attr **attr, uint32_t *nr,
		const struct visit_step *step)
{
	struct attr_fill *fill;
	uint32_t i;
	int ret = get_count(decoder, 10, nr, step);

	if (ret || !*nr)
		return ret;
	fill = take(decoder, *nr * sizeof(*fill));
	if (!fill)
		return no_memory(decoder, step);
	for (i = 0; !ret && i < *nr; i++)
		ret = decode_attribute(decoder, &fill[i], step);
	*attr = (const struct side_attr *)(const void *)fill;
	return ret;
}

/* Mappings of enumerations and bitmaps have one layout. */
static int decode_mappings(struct decoder *decoder, const struct side_enum_mappings **result,
		const struct visit_step *step)
{
	struct side_enum_mappings *mappings = take(decoder, sizeof(*mappings));
	struct side_enum_mapping *mapping = NULL;
	uint32_t nr, i;
	int ret;

	if (!mappings)
		return no_memory(decoder, step);
	ret = get_count(decoder, 22, &nr, step);
	if (!ret && nr) {
		mapping = take(decoder, nr * sizeof(*mapping));
		if (!mapping)
			return no_memory(decoder, step);
	}
	for (i = 0; !ret && i < nr; i++) {
		ret = GET(decoder, 8, mapping[i].range_begin, step);
		if (!ret)
			ret = GET(decoder, 8, mapping[i].range_end, step);
		if (!ret)
			ret = get_raw_string(decoder, &mapping[i].label, step);
	}
	if (ret)
		return ret;
	side_ptr_set(mappings->mappings.elements, mapping);
	mappings->mappings.length = nr;
	*result = mappings;
	return DECODE_ATTRIBUTES(decoder, mappings->attributes, step);
}

static int decode_fields(struct decoder *decoder, const struct side_event_field **result,
		uint32_t *nr, const struct visit_step *up, unsigned int depth)
{
	struct side_event_field *fields;
	uint32_t i;
	int ret = get_count(decoder, 6, nr, up);

	if (ret || !*nr)
		return ret;
	fields = take(decoder, *nr * sizeof(*fields));
	if (!fields)
		return no_memory(decoder, up);
	for (i = 0; !ret && i < *nr; i++) {
		const void *name = NULL;
		struct visit_step step = {.up = up, .kind = VISIT_STEP_FIELD};

		ret = get_units(decoder, 1, &name, up);
		if (ret)
			break;
		side_ptr_set(fields[i].field_name, name);
		step.name = name;
		ret = decode_type(decoder, &fields[i].side_type, &step, depth);
	}
	*result = fields;
	return ret;
}

static int decode_inner(struct decoder *decoder, const struct side_type **result, const char *word,
		const struct visit_step *up, unsigned int depth)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = word};
	struct side_type *type = take(decoder, sizeof(*type));

	if (!type)
		return no_memory(decoder, &step);
	*result = type;
	return decode_type(decoder, type, &step, depth + 1);
}

#define DECODE_INNER(decoder, slot, word, step, depth)                       \
	__extension__({                                                      \
		const struct side_type *type_ = NULL;                        \
		int ret_ = decode_inner(decoder, &type_, word, step, depth); \
		side_ptr_set(slot, type_);                                   \
		ret_;                                                        \
	})

/* ---- payload types ---- */

static int decode_integer(struct decoder *decoder, struct side_type_integer *type,
		const struct visit_step *step)
{
	int ret = GET(decoder, 2, type->integer_size, step);

	if (!ret)
		ret = GET(decoder, 2, type->len_bits, step);
	if (!ret)
		ret = GET(decoder, 1, type->signedness, step);
	if (!ret)
		ret = GET(decoder, 1, type->byte_order.v, step);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

static int decode_bool(
		struct decoder *decoder, struct side_type_bool *type, const struct visit_step *step)
{
	int ret = GET(decoder, 2, type->bool_size, step);

	if (!ret)
		ret = GET(decoder, 2, type->len_bits, step);
	if (!ret)
		ret = GET(decoder, 1, type->byte_order.v, step);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

static int decode_float(struct decoder *decoder, struct side_type_float *type,
		const struct visit_step *step)
{
	int ret = GET(decoder, 2, type->float_size, step);

	if (!ret)
		ret = GET(decoder, 1, type->byte_order.v, step);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

static int decode_string(struct decoder *decoder, struct side_type_string *type,
		const struct visit_step *step)
{
	int ret = GET(decoder, 1, type->unit_size, step);

	if (!ret)
		ret = GET(decoder, 1, type->byte_order.v, step);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

static int decode_struct(struct decoder *decoder, const struct side_type_struct **result,
		const struct visit_step *up, unsigned int depth)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "struct"};
	struct side_type_struct *type = take(decoder, sizeof(*type));
	const struct side_event_field *fields = NULL;
	uint32_t nr;
	int ret;

	if (!type)
		return no_memory(decoder, &step);
	ret = decode_fields(decoder, &fields, &nr, &step, depth + 1);
	if (ret)
		return ret;
	side_ptr_set(type->fields.elements, fields);
	type->fields.length = nr;
	*result = type;
	return DECODE_ATTRIBUTES(decoder, type->attributes, &step);
}

static int decode_array(struct decoder *decoder, struct side_type_array *type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = GET(decoder, 4, type->length, step);

	if (!ret)
		ret = DECODE_INNER(decoder, type->elem_type, "element", step, depth);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

static int decode_vla(struct decoder *decoder, struct side_type_vla *type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = DECODE_INNER(decoder, type->length_type, "length", step, depth);

	if (!ret)
		ret = DECODE_INNER(decoder, type->elem_type, "element", step, depth);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

static int decode_vla_visitor(struct decoder *decoder, struct side_type_vla_visitor *type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = DECODE_INNER(decoder, type->length_type, "length", step, depth);

	if (!ret)
		ret = DECODE_INNER(decoder, type->elem_type, "element", step, depth);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

/* Const-free images of the two structures with const type cells inside. */
struct option_fill {
	int64_t range_begin;
	int64_t range_end;
	struct side_type side_type;
} SIDE_PACKED;
_Static_assert(sizeof(struct option_fill) == sizeof(struct side_variant_option), "one layout");

struct variant_fill {
	side_array_t(const struct side_variant_option) options;
	struct side_type selector;
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
_Static_assert(sizeof(struct variant_fill) == sizeof(struct side_type_variant), "one layout");

static int decode_variant(struct decoder *decoder, struct variant_fill *type,
		const struct visit_step *up, unsigned int depth)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "selector"};
	struct option_fill *options = NULL;
	uint32_t nr, i;
	int ret;

	ret = decode_type(decoder, &type->selector, &step, depth + 1);
	if (!ret)
		ret = get_count(decoder, 18, &nr, up);
	if (ret)
		return ret;
	if (nr) {
		options = take(decoder, nr * sizeof(*options));
		if (!options)
			return no_memory(decoder, up);
	}
	step.kind = VISIT_STEP_OPTION;
	for (i = 0; !ret && i < nr; i++) {
		step.index = i;
		ret = GET(decoder, 8, options[i].range_begin, &step);
		if (!ret)
			ret = GET(decoder, 8, options[i].range_end, &step);
		if (!ret)
			ret = decode_type(decoder, &options[i].side_type, &step, depth + 1);
	}
	if (ret)
		return ret;
	side_ptr_set(type->options.elements, (const struct side_variant_option *)(void *)options);
	type->options.length = nr;
	return DECODE_ATTRIBUTES(decoder, type->attributes, up);
}

static int decode_enum(struct decoder *decoder, struct side_type_enum *type,
		const struct visit_step *step, unsigned int depth)
{
	const struct side_enum_mappings *mappings = NULL;
	int ret = decode_mappings(decoder, &mappings, step);

	side_ptr_set(type->mappings, mappings);
	return ret ? ret : DECODE_INNER(decoder, type->elem_type, "element", step, depth);
}

/* ---- types ---- */

#define GET_GATHER(decoder, member, bits, step) \
	get_gather(decoder, &(member).offset, bits, &(member).access_mode.v, step)

/* offset and its kind may stand at any address: they are members of packed structures. */
static int get_gather(struct decoder *decoder, void *offset, void *offset_bits,
		uint8_t *access_mode, const struct visit_step *step)
{
	uint64_t bytes = 0, bits = 0;
	uint16_t bits16;
	int ret = get_number(decoder, 8, &bytes, step);

	if (!ret)
		ret = get_number(decoder, 2, &bits, step);
	if (ret)
		return ret;
	if (!offset_bits && bits)
		return visit_fail(decoder->error, step, -EINVAL,
				"a bit offset stands where none can be");
	memcpy(offset, &bytes, 8);
	bits16 = (uint16_t)bits;
	if (offset_bits)
		memcpy(offset_bits, &bits16, 2);
	return GET(decoder, 1, *access_mode, step);
}

static int decode_gather(struct decoder *decoder, struct side_type *type,
		const struct visit_step *step, unsigned int depth)
{
	struct side_type_gather *gather = &type->u.side_gather;
	const struct side_type_struct *structure = NULL;
	int ret;

	switch (type->type.v) {
	case SIDE_TYPE_GATHER_BOOL:
		ret = GET_GATHER(decoder, gather->u.side_bool, &gather->u.side_bool.offset_bits,
				step);
		return ret ? ret : decode_bool(decoder, &gather->u.side_bool.type, step);
	case SIDE_TYPE_GATHER_BYTE:
		ret = GET_GATHER(decoder, gather->u.side_byte, NULL, step);
		return ret ? ret
			   : DECODE_ATTRIBUTES(decoder, gather->u.side_byte.type.attributes, step);
	case SIDE_TYPE_GATHER_FLOAT:
		ret = GET_GATHER(decoder, gather->u.side_float, NULL, step);
		return ret ? ret : decode_float(decoder, &gather->u.side_float.type, step);
	case SIDE_TYPE_GATHER_STRING:
		ret = GET_GATHER(decoder, gather->u.side_string, NULL, step);
		return ret ? ret : decode_string(decoder, &gather->u.side_string.type, step);
	case SIDE_TYPE_GATHER_STRUCT:
		ret = GET_GATHER(decoder, gather->u.side_struct, NULL, step);
		if (!ret)
			ret = GET(decoder, 4, gather->u.side_struct.size, step);
		if (!ret)
			ret = decode_struct(decoder, &structure, step, depth);
		side_ptr_set(gather->u.side_struct.type, structure);
		return ret;
	case SIDE_TYPE_GATHER_ARRAY:
		ret = GET_GATHER(decoder, gather->u.side_array, NULL, step);
		return ret ? ret : decode_array(decoder, &gather->u.side_array.type, step, depth);
	case SIDE_TYPE_GATHER_VLA:
		ret = GET_GATHER(decoder, gather->u.side_vla, NULL, step);
		return ret ? ret : decode_vla(decoder, &gather->u.side_vla.type, step, depth);
	case SIDE_TYPE_GATHER_ENUM: return decode_enum(decoder, &type->u.side_enum, step, depth);
	default: /* GATHER_INTEGER, GATHER_POINTER */
		ret = GET_GATHER(decoder, gather->u.side_integer,
				&gather->u.side_integer.offset_bits, step);
		return ret ? ret : decode_integer(decoder, &gather->u.side_integer.type, step);
	}
}

/* Take memory for the structure behind a type cell, point the cell at it, and decode it. */
#define DECODE_BEHIND(decoder, slot, fill_type, slot_type, function, step, depth)             \
	__extension__({                                                                       \
		fill_type *memory_ = take(decoder, sizeof(*memory_));                         \
		side_ptr_set(slot, (const slot_type *)(void *)memory_);                       \
		memory_ ? function(decoder, memory_, step, depth) : no_memory(decoder, step); \
	})

static int decode_optional(struct decoder *decoder, struct side_type_optional *type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = DECODE_INNER(decoder, type->elem_type, "optional", step, depth);

	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

static int decode_behind_pointer(struct decoder *decoder, struct side_type *type,
		const struct visit_step *step, unsigned int depth)
{
	const struct side_type_struct *structure = NULL;
	int ret;

	switch (type->type.v) {
	case SIDE_TYPE_STRUCT:
		ret = decode_struct(decoder, &structure, step, depth);
		side_ptr_set(type->u.side_struct, structure);
		return ret;
	case SIDE_TYPE_VARIANT:
		return DECODE_BEHIND(decoder, type->u.side_variant, struct variant_fill,
				struct side_type_variant, decode_variant, step, depth);
	case SIDE_TYPE_OPTIONAL:
		return DECODE_BEHIND(decoder, type->u.side_optional, struct side_type_optional,
				struct side_type_optional, decode_optional, step, depth);
	case SIDE_TYPE_ARRAY:
		return DECODE_BEHIND(decoder, type->u.side_array, struct side_type_array,
				struct side_type_array, decode_array, step, depth);
	case SIDE_TYPE_VLA:
		return DECODE_BEHIND(decoder, type->u.side_vla, struct side_type_vla,
				struct side_type_vla, decode_vla, step, depth);
	default: /* VLA_VISITOR */
		return DECODE_BEHIND(decoder, type->u.side_vla_visitor,
				struct side_type_vla_visitor, struct side_type_vla_visitor,
				decode_vla_visitor, step, depth);
	}
}

static int decode_type(struct decoder *decoder, struct side_type *type,
		const struct visit_step *step, unsigned int depth)
{
	unsigned int label;
	int ret;

	if (depth >= VISIT_DEPTH_MAX)
		return visit_fail(decoder->error, step, -ELOOP,
				"types are nested more than %u deep", VISIT_DEPTH_MAX);
	ret = GET(decoder, 2, label, step);
	if (ret)
		return ret;
	type->type.v = (uint16_t)label;
	switch (label) {
	case SIDE_TYPE_NULL:
	case SIDE_TYPE_BYTE: /* the same layout */
		return DECODE_ATTRIBUTES(decoder, type->u.side_null.attributes, step);
	case SIDE_TYPE_BOOL: return decode_bool(decoder, &type->u.side_bool, step);
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128: return decode_float(decoder, &type->u.side_float, step);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: return decode_string(decoder, &type->u.side_string, step);
	case SIDE_TYPE_STRUCT:
	case SIDE_TYPE_VARIANT:
	case SIDE_TYPE_OPTIONAL:
	case SIDE_TYPE_ARRAY:
	case SIDE_TYPE_VLA:
	case SIDE_TYPE_VLA_VISITOR: return decode_behind_pointer(decoder, type, step, depth);
	case SIDE_TYPE_ENUM:
	case SIDE_TYPE_ENUM_BITMAP: /* the same layout */
		return decode_enum(decoder, &type->u.side_enum, step, depth);
	case SIDE_TYPE_DYNAMIC: return 0;
	default:
		if (visit_label_is_gather(label))
			return decode_gather(decoder, type, step, depth);
		if (label == SIDE_TYPE_POINTER || visit_label_is_integer(label))
			return decode_integer(decoder, &type->u.side_integer, step);
		return visit_fail(decoder->error, step,
				label < _NR_SIDE_TYPE_LABEL ? -EINVAL : -ENOTSUP,
				"the type label %u cannot stand in a description", label);
	}
}

/* ---- the event ---- */

int64_t visit_description_encoded_size(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint32_t encoded;

	if (size < CODEC_HEADER_SIZE || memcmp(at, CODEC_MAGIC, 4))
		return -EINVAL;
	if (at[4] != CODEC_VERSION || at[5] || at[6] || at[7])
		return -ENOTSUP;
	encoded = at[8] | (uint32_t)at[9] << 8 | (uint32_t)at[10] << 16 | (uint32_t)at[11] << 24;
	if (encoded < CODEC_HEADER_SIZE || encoded > size || encoded > VISIT_ENCODED_MAX)
		return -EINVAL;
	return encoded;
}

static int decode_event(struct decoder *decoder)
{
	struct side_event_description *desc = take(decoder, sizeof(*desc));
	const void *provider = NULL, *event = NULL;
	const struct side_event_field *fields = NULL;
	struct visit_step step = {.kind = VISIT_STEP_EVENT};
	uint32_t nr;
	int ret;

	if (!desc)
		return no_memory(decoder, NULL);
	decoder->owned->public.desc = desc;
	ret = get_units(decoder, 1, &provider, NULL);
	if (!ret)
		ret = get_units(decoder, 1, &event, NULL);
	if (ret)
		return ret;
	step.name = provider;
	step.name2 = event;
	desc->struct_size = sizeof(*desc);
	desc->version = SIDE_EVENT_DESCRIPTION_ABI_VERSION;
	side_ptr_set(desc->provider_name, provider);
	side_ptr_set(desc->event_name, event);
	ret = GET(decoder, 8, desc->flags, &step);
	if (!ret)
		ret = GET(decoder, 2, desc->nr_side_type_label, &step);
	if (!ret)
		ret = GET(decoder, 2, desc->nr_side_attr_type, &step);
	if (!ret)
		ret = GET(decoder, 4, desc->loglevel.v, &step);
	if (!ret)
		ret = DECODE_ATTRIBUTES(decoder, desc->attributes, &step);
	if (!ret)
		ret = decode_fields(decoder, &fields, &nr, &step, 0);
	if (ret)
		return ret;
	side_ptr_set(desc->fields.elements, fields);
	desc->fields.length = nr;
	if (decoder->left)
		return visit_fail(decoder->error, &step, -EINVAL,
				"%zu bytes stand behind the description", decoder->left);
	return visit_description_check(desc, 0, decoder->error);
}

int visit_description_decode(const void *bytes, size_t size, struct visit_owned **owned,
		struct visit_error *error)
{
	int64_t encoded = visit_description_encoded_size(bytes, size);
	struct decoder decoder = {.nodes = VISIT_NODES_MAX, .error = error};
	int ret;

	*owned = NULL;
	if (encoded < 0)
		return visit_fail(error, NULL, (int)encoded,
				encoded == -ENOTSUP
						? "the encoded description has an unknown version"
						: "this is not an encoded description");
	if ((size_t)encoded != size)
		return visit_fail(error, NULL, -EINVAL, "%zu bytes stand behind the description",
				size - (size_t)encoded);
	decoder.owned = calloc(1, sizeof(*decoder.owned));
	if (!decoder.owned)
		return no_memory(&decoder, NULL);
	decoder.at = (const unsigned char *)bytes + CODEC_HEADER_SIZE;
	decoder.left = size - CODEC_HEADER_SIZE;
	ret = decode_event(&decoder);
	if (ret) {
		visit_owned_free(&decoder.owned->public);
		return ret;
	}
	*owned = &decoder.owned->public;
	return 0;
}

void visit_owned_free(struct visit_owned *owned)
{
	struct owned *whole = (struct owned *)(void *)owned;
	struct chunk *chunk;

	if (!whole)
		return;
	while ((chunk = whole->chunks)) {
		whole->chunks = chunk->next;
		free(chunk);
	}
	free(whole);
}
