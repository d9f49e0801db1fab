/* SPDX-License-Identifier: MIT */
/* Decodes a description: untrusted bytes to structs of the ABI. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/decode.h"

/*
 * The wrappers recognize a call of the tracer by its return address, so the last call of a function
 * must not be a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

static int decode_type(struct decoder *decoder, struct side_type *type,
		const struct visit_step *step, unsigned int depth);

/* ---- parts ---- */

/* struct side_attr without const members, for writing. */
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

	ret = visit_decoder_get_raw_string(decoder, &attr->key, step);
	if (!ret)
		ret = GET(decoder, 4, type, step);
	if (ret)
		return ret;
	attr->value.type.v = type;
	if (type == SIDE_ATTR_TYPE_STRING)
		return visit_decoder_get_raw_string(decoder, &attr->value.u.string_value, step);
	size = codec_attr_size(type);
	if (size < 0)
		return visit_fail(decoder->error, step, -ENOTSUP,
				"the attribute type %u is unknown", (unsigned int)type);
	if (decoder->left < (size_t)size)
		return visit_decoder_truncated(decoder, step);
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

static int decode_attributes(struct decoder *decoder, const struct side_attr **ret_attributes,
		uint32_t *nr, const struct visit_step *step)
{
	struct attr_fill *fill;
	uint32_t i;
	int ret = visit_decoder_get_count(decoder, 10, nr, step);

	if (ret || !*nr)
		return ret;
	fill = visit_decoder_take(decoder, *nr * sizeof(*fill));
	if (!fill)
		return visit_decoder_no_memory(decoder, step);
	for (i = 0; !ret && i < *nr; i++)
		ret = decode_attribute(decoder, &fill[i], step);
	*ret_attributes = (const struct side_attr *)(const void *)fill;
	return ret;
}

/* Mappings of enumerations and bitmaps have the same layout. */
static int decode_mappings(struct decoder *decoder, const struct side_enum_mappings **ret_mappings,
		const struct visit_step *step)
{
	struct side_enum_mappings *mappings = visit_decoder_take(decoder, sizeof(*mappings));
	struct side_enum_mapping *mapping = NULL;
	uint32_t nr, i;
	int ret;

	if (!mappings)
		return visit_decoder_no_memory(decoder, step);
	ret = visit_decoder_get_count(decoder, 22, &nr, step);
	if (!ret && nr) {
		mapping = visit_decoder_take(decoder, nr * sizeof(*mapping));
		if (!mapping)
			return visit_decoder_no_memory(decoder, step);
	}
	for (i = 0; !ret && i < nr; i++) {
		ret = GET(decoder, 8, mapping[i].range_begin, step);
		if (!ret)
			ret = GET(decoder, 8, mapping[i].range_end, step);
		if (!ret)
			ret = visit_decoder_get_raw_string(decoder, &mapping[i].label, step);
	}
	if (ret)
		return ret;
	side_ptr_set(mappings->mappings.elements, mapping);
	mappings->mappings.length = nr;
	*ret_mappings = mappings;
	return DECODE_ATTRIBUTES(decoder, mappings->attributes, step);
}

static int decode_fields(struct decoder *decoder, const struct side_event_field **ret_fields,
		uint32_t *nr, const struct visit_step *up, unsigned int depth)
{
	struct side_event_field *fields;
	uint32_t i;
	int ret = visit_decoder_get_count(decoder, 6, nr, up);

	if (ret || !*nr)
		return ret;
	fields = visit_decoder_take(decoder, *nr * sizeof(*fields));
	if (!fields)
		return visit_decoder_no_memory(decoder, up);
	for (i = 0; !ret && i < *nr; i++) {
		const void *name = NULL;
		struct visit_step step = {.up = up, .kind = VISIT_STEP_FIELD};

		ret = visit_decoder_get_units(decoder, 1, &name, up);
		if (ret)
			break;
		side_ptr_set(fields[i].field_name, name);
		step.name = name;
		ret = decode_type(decoder, &fields[i].side_type, &step, depth);
	}
	*ret_fields = fields;
	return ret;
}

static int decode_inner(struct decoder *decoder, const struct side_type **ret_type,
		const char *word, const struct visit_step *up, unsigned int depth)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = word};
	struct side_type *type = visit_decoder_take(decoder, sizeof(*type));

	if (!type)
		return visit_decoder_no_memory(decoder, &step);
	*ret_type = type;
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

static int abi_decode_string(struct decoder *decoder, struct side_type_string *type,
		const struct visit_step *step)
{
	int ret = GET(decoder, 1, type->unit_size, step);

	if (!ret)
		ret = GET(decoder, 1, type->byte_order.v, step);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

static int abi_decode_struct(struct decoder *decoder, const struct side_type_struct **ret_type,
		const struct visit_step *up, unsigned int depth)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "struct"};
	struct side_type_struct *type = visit_decoder_take(decoder, sizeof(*type));
	const struct side_event_field *fields = NULL;
	uint32_t nr;
	int ret;

	if (!type)
		return visit_decoder_no_memory(decoder, &step);
	ret = decode_fields(decoder, &fields, &nr, &step, depth + 1);
	if (ret)
		return ret;
	side_ptr_set(type->fields.elements, fields);
	type->fields.length = nr;
	*ret_type = type;
	return DECODE_ATTRIBUTES(decoder, type->attributes, &step);
}

static int abi_decode_array(struct decoder *decoder, struct side_type_array *type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = GET(decoder, 4, type->length, step);

	if (!ret)
		ret = DECODE_INNER(decoder, type->elem_type, "element", step, depth);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

static int decode_vla(struct decoder *decoder, struct side_type_vla *ret_type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = DECODE_INNER(decoder, ret_type->length_type, "length", step, depth);

	if (!ret)
		ret = DECODE_INNER(decoder, ret_type->elem_type, "element", step, depth);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, ret_type->attributes, step);
}

static int decode_vla_visitor(struct decoder *decoder, struct side_type_vla_visitor *type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = DECODE_INNER(decoder, type->length_type, "length", step, depth);

	if (!ret)
		ret = DECODE_INNER(decoder, type->elem_type, "element", step, depth);
	return ret ? ret : DECODE_ATTRIBUTES(decoder, type->attributes, step);
}

/* The two structs that contain const types, without const, for writing. */
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

static int abi_decode_variant(struct decoder *decoder, struct variant_fill *type,
		const struct visit_step *up, unsigned int depth)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "selector"};
	struct option_fill *options = NULL;
	uint32_t nr, i;
	int ret;

	ret = decode_type(decoder, &type->selector, &step, depth + 1);
	if (!ret)
		ret = visit_decoder_get_count(decoder, 18, &nr, up);
	if (ret)
		return ret;
	if (nr) {
		options = visit_decoder_take(decoder, nr * sizeof(*options));
		if (!options)
			return visit_decoder_no_memory(decoder, up);
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

static int decode_enum(struct decoder *decoder, struct side_type_enum *ret_type,
		const struct visit_step *step, unsigned int depth)
{
	const struct side_enum_mappings *mappings = NULL;
	int ret = decode_mappings(decoder, &mappings, step);

	side_ptr_set(ret_type->mappings, mappings);
	return ret ? ret : DECODE_INNER(decoder, ret_type->elem_type, "element", step, depth);
}

/* ---- types ---- */

#define GET_GATHER(decoder, member, bits, step) \
	decode_gather_head(decoder, &(member).offset, bits, &(member).access_mode.v, step)

/* offset and offset_bits may be at any address: they are members of packed structs. */
static int decode_gather_head(struct decoder *decoder, void *offset, void *offset_bits,
		uint8_t *ret_access_mode, const struct visit_step *step)
{
	uint64_t bytes = 0, bits = 0;
	uint16_t bits16;
	int ret = visit_decoder_get_number(decoder, 8, &bytes, step);

	if (!ret)
		ret = visit_decoder_get_number(decoder, 2, &bits, step);
	if (ret)
		return ret;
	if (!offset_bits && bits)
		return visit_fail(decoder->error, step, -EINVAL,
				"a bit offset where none is possible");
	memcpy(offset, &bytes, 8);
	bits16 = (uint16_t)bits;
	if (offset_bits)
		memcpy(offset_bits, &bits16, 2);
	return GET(decoder, 1, *ret_access_mode, step);
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
		return ret ? ret : abi_decode_string(decoder, &gather->u.side_string.type, step);
	case SIDE_TYPE_GATHER_STRUCT:
		ret = GET_GATHER(decoder, gather->u.side_struct, NULL, step);
		if (!ret)
			ret = GET(decoder, 4, gather->u.side_struct.size, step);
		if (!ret)
			ret = abi_decode_struct(decoder, &structure, step, depth);
		side_ptr_set(gather->u.side_struct.type, structure);
		return ret;
	case SIDE_TYPE_GATHER_ARRAY:
		ret = GET_GATHER(decoder, gather->u.side_array, NULL, step);
		return ret ? ret
			   : abi_decode_array(decoder, &gather->u.side_array.type, step, depth);
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

/* Allocate the struct that a type points to, set the pointer, and decode the struct. */
#define DECODE_BEHIND(decoder, slot, fill_type, slot_type, function, step, depth)   \
	__extension__({                                                             \
		fill_type *memory_ = visit_decoder_take(decoder, sizeof(*memory_)); \
		side_ptr_set(slot, (const slot_type *)(void *)memory_);             \
		memory_ ? function(decoder, memory_, step, depth)                   \
			: visit_decoder_no_memory(decoder, step);                   \
	})

static int decode_optional(struct decoder *decoder, struct side_type_optional *ret_type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = DECODE_INNER(decoder, ret_type->elem_type, "optional", step, depth);

	return ret ? ret : DECODE_ATTRIBUTES(decoder, ret_type->attributes, step);
}

static int decode_behind_pointer(struct decoder *decoder, struct side_type *type,
		const struct visit_step *step, unsigned int depth)
{
	const struct side_type_struct *structure = NULL;
	int ret;

	switch (type->type.v) {
	case SIDE_TYPE_STRUCT:
		ret = abi_decode_struct(decoder, &structure, step, depth);
		side_ptr_set(type->u.side_struct, structure);
		return ret;
	case SIDE_TYPE_VARIANT:
		return DECODE_BEHIND(decoder, type->u.side_variant, struct variant_fill,
				struct side_type_variant, abi_decode_variant, step, depth);
	case SIDE_TYPE_OPTIONAL:
		return DECODE_BEHIND(decoder, type->u.side_optional, struct side_type_optional,
				struct side_type_optional, decode_optional, step, depth);
	case SIDE_TYPE_ARRAY:
		return DECODE_BEHIND(decoder, type->u.side_array, struct side_type_array,
				struct side_type_array, abi_decode_array, step, depth);
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
	case SIDE_TYPE_STRING_UTF32: return abi_decode_string(decoder, &type->u.side_string, step);
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
				"the type label %u is not possible in a description", label);
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
	struct side_event_description *desc = visit_decoder_take(decoder, sizeof(*desc));
	const void *provider = NULL, *event = NULL;
	const struct side_event_field *fields = NULL;
	struct visit_step step = {.kind = VISIT_STEP_EVENT};
	uint32_t nr;
	int ret;

	if (!desc)
		return visit_decoder_no_memory(decoder, NULL);
	decoder->owned->public.desc = desc;
	ret = visit_decoder_get_units(decoder, 1, &provider, NULL);
	if (!ret)
		ret = visit_decoder_get_units(decoder, 1, &event, NULL);
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
				"%zu bytes follow the description", decoder->left);
	return visit_description_check(desc, 0, decoder->error);
}

int visit_description_decode(const void *bytes, size_t size, struct visit_owned **ret_owned,
		struct visit_error *error)
{
	int64_t encoded = visit_description_encoded_size(bytes, size);
	struct decoder decoder = {.nodes = VISIT_NODES_MAX, .error = error};
	int ret;

	*ret_owned = NULL;
	if (encoded < 0)
		return visit_fail(error, NULL, (int)encoded,
				encoded == -ENOTSUP
						? "the encoded description has an unknown version"
						: "this is not an encoded description");
	if ((size_t)encoded != size)
		return visit_fail(error, NULL, -EINVAL, "%zu bytes follow the description",
				size - (size_t)encoded);
	decoder.owned = calloc(1, sizeof(*decoder.owned));
	if (!decoder.owned)
		return visit_decoder_no_memory(&decoder, NULL);
	decoder.at = (const unsigned char *)bytes + CODEC_HEADER_SIZE;
	decoder.left = size - CODEC_HEADER_SIZE;
	ret = decode_event(&decoder);
	if (ret) {
		visit_owned_free(&decoder.owned->public);
		return ret;
	}
	*ret_owned = &decoder.owned->public;
	return 0;
}

void visit_owned_free(struct visit_owned *owned)
{
	struct owned *whole = (struct owned *)(void *)owned;
	struct decode_chunk *chunk;

	if (!whole)
		return;
	while ((chunk = whole->chunks)) {
		whole->chunks = chunk->next;
		free(chunk);
	}
	free(whole);
	NO_TAIL_CALL();
}
