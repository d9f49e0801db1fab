/* SPDX-License-Identifier: MIT */
/* Encodes a description: structs of the ABI, possibly in foreign memory, to bytes. */
#include <errno.h>
#include <string.h>

#include "abi/encode.h"

static int encode_type(struct encoder *encoder, const struct side_type *type,
		const struct visit_step *step, unsigned int depth);

/* ---- names of steps, for errors ---- */

/* Without printf(): a tracer that changes what is recorded encodes descriptions frequently. */
static void encode_name_number(char *name, uint32_t number)
{
	char digits[10];
	unsigned int nr = 0;

	*name++ = '#';
	do {
		digits[nr++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (nr)
		*name++ = digits[--nr];
	*name = 0;
}

/* Copy the text that begins at this position of the output, truncated to the capacity. */
static void encode_name_text(char *name, size_t capacity, const struct encoder *encoder, size_t at)
{
	const char *text = (const char *)encoder->out->data + at;
	size_t size = strnlen(text, encoder->out->size - at);

	size = size < capacity ? size : capacity - 1;
	memcpy(name, text, size);
	name[size] = 0;
}

/* ---- parts ---- */

static int encode_attribute(struct encoder *encoder, const struct side_attr *attr,
		const struct visit_step *step)
{
	uint32_t type = visit_encoder_m32(encoder, attr->value.type.v);
	int size = codec_attr_size(type), i, ret;
	unsigned char bytes[16];

	ret = visit_encoder_put_raw_string(encoder, &attr->key, step);
	if (!ret)
		ret = visit_encoder_put_number(encoder, type, 4, step);
	if (ret)
		return ret;
	if (type == SIDE_ATTR_TYPE_STRING)
		return visit_encoder_put_raw_string(encoder, &attr->value.u.string_value, step);
	if (size < 0)
		return visit_fail(encoder->error, step, -ENOTSUP,
				"the attribute type %u is unknown\n"
				"use a type of enum side_attr_type, or a newer libside",
				(unsigned int)type);
	memcpy(bytes, &attr->value.u, size);
	if ((SIDE_TYPE_BYTE_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_BE) != encoder->swap) {
		for (i = 0; i < size / 2; i++) {
			unsigned char byte = bytes[i];

			bytes[i] = bytes[size - 1 - i];
			bytes[size - 1 - i] = byte;
		}
	}
	return visit_encoder_put(encoder, bytes, size, step);
}

static int encode_attributes(struct encoder *encoder, uint64_t address, uint32_t nr,
		const struct visit_step *step)
{
	struct side_attr_copy {
		unsigned char bytes[sizeof(struct side_attr)];
	} copy;
	uint32_t i;
	int ret = visit_encoder_put_number(encoder, nr, 4, step);

	for (i = 0; !ret && i < nr; i++) {
		ret = visit_encoder_spend(encoder, step);
		if (!ret)
			ret = visit_encoder_get(encoder, address + (uint64_t)i * sizeof(copy),
					&copy, sizeof(copy), step);
		if (!ret)
			ret = encode_attribute(
					encoder, (const struct side_attr *)(void *)&copy, step);
	}
	return ret;
}

/* Mappings of enumerations and bitmaps have the same layout. */
static int encode_mappings(struct encoder *encoder, uint64_t address, const struct visit_step *step)
{
	struct side_enum_mappings mappings;
	struct side_enum_mapping mapping;
	uint64_t elements;
	uint32_t nr, i;
	int ret;

	ret = visit_encoder_get(encoder, address, &mappings, sizeof(mappings), step);
	if (ret)
		return ret;
	elements = SLOT(encoder, mappings.mappings.elements);
	nr = visit_encoder_m32(encoder, mappings.mappings.length);
	ret = visit_encoder_put_number(encoder, nr, 4, step);
	for (i = 0; !ret && i < nr; i++) {
		ret = visit_encoder_spend(encoder, step);
		if (!ret)
			ret = visit_encoder_get(encoder, elements + (uint64_t)i * sizeof(mapping),
					&mapping, sizeof(mapping), step);
		if (!ret)
			ret = visit_encoder_put_number(encoder,
					visit_encoder_m64(encoder, mapping.range_begin), 8, step);
		if (!ret)
			ret = visit_encoder_put_number(encoder,
					visit_encoder_m64(encoder, mapping.range_end), 8, step);
		if (!ret)
			ret = visit_encoder_put_raw_string(encoder, &mapping.label, step);
	}
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, mappings.attributes), step);
}

static int encode_fields(struct encoder *encoder, uint64_t address, uint32_t nr,
		const struct visit_step *up, unsigned int depth)
{
	struct side_event_field field;
	uint32_t i;
	int ret = visit_encoder_put_number(encoder, nr, 4, up);

	for (i = 0; !ret && i < nr; i++) {
		char name[48];
		struct visit_step step = {.up = up, .kind = VISIT_STEP_FIELD, .name = name};
		size_t name_at;

		encode_name_number(name, i);
		ret = visit_encoder_spend(encoder, &step);
		if (!ret)
			ret = visit_encoder_get(encoder, address + (uint64_t)i * sizeof(field),
					&field, sizeof(field), &step);
		name_at = encoder->out->size + 4;
		if (!ret)
			ret = visit_encoder_put_units(
					encoder, SLOT(encoder, field.field_name), 1, &step);
		if (ret)
			break;
		if (encoder->out->size > name_at)
			encode_name_text(name, sizeof(name), encoder, name_at);
		ret = encode_type(encoder, &field.side_type, &step, depth);
	}
	return ret;
}

static int encode_inner(struct encoder *encoder, uint64_t address, const char *word,
		const struct visit_step *up, unsigned int depth)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = word};
	struct side_type type;
	int ret = visit_encoder_get(encoder, address, &type, sizeof(type), &step);

	return ret ? ret : encode_type(encoder, &type, &step, depth + 1);
}

/* ---- payload types, shared by stack-copy and gather forms ---- */

static int encode_integer(struct encoder *encoder, const struct side_type_integer *type,
		const struct visit_step *step)
{
	int ret = visit_encoder_put_number(
			encoder, visit_encoder_m16(encoder, type->integer_size), 2, step);

	if (!ret)
		ret = visit_encoder_put_number(
				encoder, visit_encoder_m16(encoder, type->len_bits), 2, step);
	if (!ret)
		ret = visit_encoder_put_number(encoder, type->signedness, 1, step);
	if (!ret)
		ret = visit_encoder_put_number(encoder, type->byte_order.v, 1, step);
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, type->attributes), step);
}

static int encode_bool(struct encoder *encoder, const struct side_type_bool *type,
		const struct visit_step *step)
{
	int ret = visit_encoder_put_number(
			encoder, visit_encoder_m16(encoder, type->bool_size), 2, step);

	if (!ret)
		ret = visit_encoder_put_number(
				encoder, visit_encoder_m16(encoder, type->len_bits), 2, step);
	if (!ret)
		ret = visit_encoder_put_number(encoder, type->byte_order.v, 1, step);
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, type->attributes), step);
}

static int encode_float(struct encoder *encoder, const struct side_type_float *type,
		const struct visit_step *step)
{
	int ret = visit_encoder_put_number(
			encoder, visit_encoder_m16(encoder, type->float_size), 2, step);

	if (!ret)
		ret = visit_encoder_put_number(encoder, type->byte_order.v, 1, step);
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, type->attributes), step);
}

static int encode_string(struct encoder *encoder, const struct side_type_string *type,
		const struct visit_step *step)
{
	int ret = visit_encoder_put_number(encoder, type->unit_size, 1, step);

	if (!ret)
		ret = visit_encoder_put_number(encoder, type->byte_order.v, 1, step);
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, type->attributes), step);
}

static int encode_struct(struct encoder *encoder, uint64_t address, const struct visit_step *up,
		unsigned int depth)
{
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "struct"};
	struct side_type_struct type;
	int ret = visit_encoder_get(encoder, address, &type, sizeof(type), &step);

	if (!ret)
		ret = encode_fields(encoder, ARRAY(encoder, type.fields), &step, depth + 1);
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, type.attributes), &step);
}

static int encode_array(struct encoder *encoder, const struct side_type_array *type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = visit_encoder_put_number(
			encoder, visit_encoder_m32(encoder, type->length), 4, step);

	if (!ret)
		ret = encode_inner(encoder, SLOT(encoder, type->elem_type), "element", step, depth);
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, type->attributes), step);
}

static int encode_vla(struct encoder *encoder, const struct side_type_vla *type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = encode_inner(encoder, SLOT(encoder, type->length_type), "length", step, depth);

	if (!ret)
		ret = encode_inner(encoder, SLOT(encoder, type->elem_type), "element", step, depth);
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, type->attributes), step);
}

/* ---- compound types behind a pointer ---- */

static int encode_vla_visitor(struct encoder *encoder, uint64_t address,
		const struct visit_step *step, unsigned int depth)
{
	struct side_type_vla_visitor type;
	struct side_type_vla vla;
	int ret = visit_encoder_get(encoder, address, &type, sizeof(type), step);

	if (ret)
		return ret;
	memcpy(&vla.elem_type, &type.elem_type, sizeof(vla.elem_type));
	memcpy(&vla.length_type, &type.length_type, sizeof(vla.length_type));
	memcpy(&vla.attributes, &type.attributes, sizeof(vla.attributes));
	return encode_vla(encoder, &vla, step, depth);
}

static int encode_variant(struct encoder *encoder, uint64_t address, const struct visit_step *up,
		unsigned int depth)
{
	struct side_type_variant type;
	struct side_variant_option option;
	struct visit_step step = {.up = up, .kind = VISIT_STEP_WORD, .name = "selector"};
	uint64_t options;
	uint32_t nr, i;
	int ret = visit_encoder_get(encoder, address, (void *)&type, sizeof(type), up);

	if (!ret)
		ret = encode_type(encoder, &type.selector, &step, depth + 1);
	if (ret)
		return ret;
	options = SLOT(encoder, type.options.elements);
	nr = visit_encoder_m32(encoder, type.options.length);
	ret = visit_encoder_put_number(encoder, nr, 4, up);
	step.kind = VISIT_STEP_OPTION;
	for (i = 0; !ret && i < nr; i++) {
		step.index = i;
		ret = visit_encoder_spend(encoder, &step);
		if (!ret)
			ret = visit_encoder_get(encoder, options + (uint64_t)i * sizeof(option),
					(void *)&option, sizeof(option), &step);
		if (!ret)
			ret = visit_encoder_put_number(encoder,
					visit_encoder_m64(encoder, option.range_begin), 8, &step);
		if (!ret)
			ret = visit_encoder_put_number(encoder,
					visit_encoder_m64(encoder, option.range_end), 8, &step);
		if (!ret)
			ret = encode_type(encoder, &option.side_type, &step, depth + 1);
	}
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, type.attributes), up);
}

static int encode_optional(struct encoder *encoder, uint64_t address, const struct visit_step *step,
		unsigned int depth)
{
	/*
	 * Packed, because the tail padding of the ABI's struct depends on the word size of its
	 * producer.
	 */
	struct {
		side_ptr_t(const struct side_type) elem_type;
		side_array_t(const struct side_attr) attributes;
	} SIDE_PACKED copy;
	int ret = visit_encoder_get(encoder, address, &copy, sizeof(copy), step);

	_Static_assert(sizeof(copy) == 36 && offsetof(struct side_type_optional, attributes) == 16,
			"ABI reference, section 2.6");
	if (!ret)
		ret = encode_inner(encoder, SLOT(encoder, copy.elem_type), "optional", step, depth);
	return ret ? ret : encode_attributes(encoder, ARRAY(encoder, copy.attributes), step);
}

static int encode_enum(struct encoder *encoder, const struct side_type_enum *type,
		const struct visit_step *step, unsigned int depth)
{
	int ret = encode_mappings(encoder, SLOT(encoder, type->mappings), step);

	return ret ? ret
		   : encode_inner(encoder, SLOT(encoder, type->elem_type), "element", step, depth);
}

/*
 * u64 offset, u16 offset_bits, u8 access mode: at the beginning of every gather type but the
 * enumeration.
 */
static int abi_encode_gather(struct encoder *encoder, uint64_t offset, uint16_t offset_bits,
		unsigned int mode, const struct visit_step *step)
{
	int ret = visit_encoder_put_number(encoder, visit_encoder_m64(encoder, offset), 8, step);

	if (!ret)
		ret = visit_encoder_put_number(
				encoder, visit_encoder_m16(encoder, offset_bits), 2, step);
	return ret ? ret : visit_encoder_put_number(encoder, mode, 1, step);
}

static int encode_gather(struct encoder *encoder, const struct side_type *type, unsigned int label,
		const struct visit_step *step, unsigned int depth)
{
	const struct side_type_gather *gather = &type->u.side_gather;
	int ret;

	switch (label) {
	case SIDE_TYPE_GATHER_BOOL:
		ret = abi_encode_gather(encoder, gather->u.side_bool.offset,
				gather->u.side_bool.offset_bits, gather->u.side_bool.access_mode.v,
				step);
		return ret ? ret : encode_bool(encoder, &gather->u.side_bool.type, step);
	case SIDE_TYPE_GATHER_BYTE:
		ret = abi_encode_gather(encoder, gather->u.side_byte.offset, 0,
				gather->u.side_byte.access_mode.v, step);
		return ret ? ret
			   : encode_attributes(encoder,
					     ARRAY(encoder, gather->u.side_byte.type.attributes),
					     step);
	case SIDE_TYPE_GATHER_FLOAT:
		ret = abi_encode_gather(encoder, gather->u.side_float.offset, 0,
				gather->u.side_float.access_mode.v, step);
		return ret ? ret : encode_float(encoder, &gather->u.side_float.type, step);
	case SIDE_TYPE_GATHER_STRING:
		ret = abi_encode_gather(encoder, gather->u.side_string.offset, 0,
				gather->u.side_string.access_mode.v, step);
		return ret ? ret : encode_string(encoder, &gather->u.side_string.type, step);
	case SIDE_TYPE_GATHER_STRUCT:
		ret = abi_encode_gather(encoder, gather->u.side_struct.offset, 0,
				gather->u.side_struct.access_mode.v, step);
		if (!ret)
			ret = visit_encoder_put_number(encoder,
					visit_encoder_m32(encoder, gather->u.side_struct.size), 4,
					step);
		return ret ? ret
			   : encode_struct(encoder, SLOT(encoder, gather->u.side_struct.type), step,
					     depth);
	case SIDE_TYPE_GATHER_ARRAY:
		ret = abi_encode_gather(encoder, gather->u.side_array.offset, 0,
				gather->u.side_array.access_mode.v, step);
		return ret ? ret : encode_array(encoder, &gather->u.side_array.type, step, depth);
	case SIDE_TYPE_GATHER_VLA:
		ret = abi_encode_gather(encoder, gather->u.side_vla.offset, 0,
				gather->u.side_vla.access_mode.v, step);
		return ret ? ret : encode_vla(encoder, &gather->u.side_vla.type, step, depth);
	case SIDE_TYPE_GATHER_ENUM: return encode_enum(encoder, &type->u.side_enum, step, depth);
	default: /* GATHER_INTEGER, GATHER_POINTER */
		ret = abi_encode_gather(encoder, gather->u.side_integer.offset,
				gather->u.side_integer.offset_bits,
				gather->u.side_integer.access_mode.v, step);
		return ret ? ret : encode_integer(encoder, &gather->u.side_integer.type, step);
	}
}

static int encode_behind_pointer(struct encoder *encoder, const struct side_type *type,
		unsigned int label, const struct visit_step *step, unsigned int depth)
{
	uint64_t address = SLOT(encoder, type->u.side_struct); /* all have the same offset */
	struct side_type_array array;
	struct side_type_vla vla;
	int ret;

	switch (label) {
	case SIDE_TYPE_STRUCT: return encode_struct(encoder, address, step, depth);
	case SIDE_TYPE_VARIANT: return encode_variant(encoder, address, step, depth);
	case SIDE_TYPE_OPTIONAL: return encode_optional(encoder, address, step, depth);
	case SIDE_TYPE_ARRAY:
		ret = visit_encoder_get(encoder, address, &array, sizeof(array), step);
		return ret ? ret : encode_array(encoder, &array, step, depth);
	case SIDE_TYPE_VLA:
		ret = visit_encoder_get(encoder, address, &vla, sizeof(vla), step);
		return ret ? ret : encode_vla(encoder, &vla, step, depth);
	default: /* VLA_VISITOR */ return encode_vla_visitor(encoder, address, step, depth);
	}
}

/* type is a copy in trusted memory. */
static int encode_type(struct encoder *encoder, const struct side_type *type,
		const struct visit_step *step, unsigned int depth)
{
	unsigned int label = visit_encoder_m16(encoder, type->type.v);
	int ret;

	if (depth >= VISIT_DEPTH_MAX)
		return visit_fail(encoder->error, step, -ELOOP,
				"types are nested more than %u deep\na type must not contain itself",
				VISIT_DEPTH_MAX);
	ret = visit_encoder_spend(encoder, step);
	if (!ret)
		ret = visit_encoder_put_number(encoder, label, 2, step);
	if (ret)
		return ret;
	switch (label) {
	case SIDE_TYPE_NULL:
	case SIDE_TYPE_BYTE: /* the same layout */
		return encode_attributes(
				encoder, ARRAY(encoder, type->u.side_null.attributes), step);
	case SIDE_TYPE_BOOL: return encode_bool(encoder, &type->u.side_bool, step);
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128: return encode_float(encoder, &type->u.side_float, step);
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: return encode_string(encoder, &type->u.side_string, step);
	case SIDE_TYPE_STRUCT:
	case SIDE_TYPE_VARIANT:
	case SIDE_TYPE_OPTIONAL:
	case SIDE_TYPE_ARRAY:
	case SIDE_TYPE_VLA:
	case SIDE_TYPE_VLA_VISITOR: return encode_behind_pointer(encoder, type, label, step, depth);
	case SIDE_TYPE_ENUM:
	case SIDE_TYPE_ENUM_BITMAP: /* the same layout */
		return encode_enum(encoder, &type->u.side_enum, step, depth);
	case SIDE_TYPE_DYNAMIC: return 0;
	default:
		if (visit_label_is_gather(label))
			return encode_gather(encoder, type, label, step, depth);
		if (label == SIDE_TYPE_POINTER || visit_label_is_integer(label))
			return encode_integer(encoder, &type->u.side_integer, step);
		if (label >= _NR_SIDE_TYPE_LABEL)
			return visit_fail(encoder->error, step, -ENOTSUP,
					"the type label %u is unknown\n"
					"use a label of enum side_type_label, or a newer libside",
					label);
		return visit_fail(encoder->error, step, -EINVAL,
				"%s is not possible in a description\n"
				"use a type that is possible there",
				visit_label_name(label));
	}
}

/* ---- the event ---- */

static int encode_event(struct encoder *encoder, uint64_t address)
{
	static const unsigned char header[CODEC_HEADER_SIZE] = {
			CODEC_MAGIC[0],
			CODEC_MAGIC[1],
			CODEC_MAGIC[2],
			CODEC_MAGIC[3],
			CODEC_VERSION,
	};
	char names[2][48] = {"?", "?"};
	struct visit_step step = {
			.kind = VISIT_STEP_EVENT,
			.name = names[0],
			.name2 = names[1],
	};
	struct side_event_description desc;
	uint64_t name[2];
	unsigned int i;
	int ret;

	ret = visit_encoder_get(encoder, address, &desc, sizeof(desc), NULL);
	if (ret)
		return ret;
	if (visit_encoder_m32(encoder, desc.version) != SIDE_EVENT_DESCRIPTION_ABI_VERSION)
		return visit_fail(encoder->error, NULL, -ENOTSUP,
				"the description has version %u, only %u is known\n"
				"use a newer libside",
				visit_encoder_m32(encoder, desc.version),
				SIDE_EVENT_DESCRIPTION_ABI_VERSION);
	if (visit_encoder_m32(encoder, desc.struct_size) < sizeof(desc))
		return visit_fail(encoder->error, NULL, -EINVAL,
				"the description has only %u bytes\n"
				"set struct_size to the offset of its member end",
				visit_encoder_m32(encoder, desc.struct_size));
	ret = visit_encoder_put(encoder, header, sizeof(header), &step);
	name[0] = SLOT(encoder, desc.provider_name);
	name[1] = SLOT(encoder, desc.event_name);
	for (i = 0; !ret && i < 2; i++) {
		size_t at = encoder->out->size + 4;

		ret = visit_encoder_put_units(encoder, name[i], 1, &step);
		if (!ret && encoder->out->size > at)
			encode_name_text(names[i], sizeof(names[i]), encoder, at);
	}
	if (!ret)
		ret = visit_encoder_put_number(
				encoder, visit_encoder_m64(encoder, desc.flags), 8, &step);
	if (!ret)
		ret = visit_encoder_put_number(encoder,
				visit_encoder_m16(encoder, desc.nr_side_type_label), 2, &step);
	if (!ret)
		ret = visit_encoder_put_number(encoder,
				visit_encoder_m16(encoder, desc.nr_side_attr_type), 2, &step);
	if (!ret)
		ret = visit_encoder_put_number(
				encoder, visit_encoder_m32(encoder, desc.loglevel.v), 4, &step);
	if (!ret)
		ret = encode_attributes(encoder, ARRAY(encoder, desc.attributes), &step);
	return ret ? ret : encode_fields(encoder, ARRAY(encoder, desc.fields), &step, 0);
}

static int abi_encode_value(const struct visit_memory *memory, uint64_t address,
		struct visit_buffer *out, struct visit_error *error)
{
	struct encoder encoder = {
			.memory = memory && memory->read ? memory : NULL,
			.out = out,
			.start = out->size,
			.swap = memory && memory->byte_order != SIDE_TYPE_BYTE_ORDER_HOST,
			.nodes = VISIT_NODES_MAX,
			.error = error,
	};
	size_t size, i;
	int ret;

	if (out->error)
		return visit_fail(error, NULL, out->error, "out of memory for the description");
	ret = encode_event(&encoder, address);
	if (ret) {
		out->size = encoder.start;
		out->error = 0;
		return ret;
	}
	size = out->size - encoder.start;
	for (i = 0; i < 4; i++)
		out->data[encoder.start + CODEC_SIZE_AT + i] = (unsigned char)(size >> (8 * i));
	return 0;
}

int visit_description_read(const struct visit_memory *memory, uint64_t address,
		struct visit_buffer *out, struct visit_error *error)
{
	return abi_encode_value(memory, address, out, error);
}

int visit_description_encode(const struct side_event_description *desc, struct visit_buffer *out,
		struct visit_error *error)
{
	int ret = visit_description_check(desc, 0, error);

	return ret ? ret : abi_encode_value(NULL, (uintptr_t)desc, out, error);
}
