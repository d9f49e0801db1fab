/* SPDX-License-Identifier: MIT */
/*
 * Converts types and values of CTF to types and arguments of SIDE.
 *
 * Arrays of numbers are gathered from the record without a copy; all other values are copied into
 * arguments. A length or a tag precedes the value that it belongs to, and is not a field.
 */
#include "kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE ((size_t)64 << 10)
#define SCRATCH_MAX ((size_t)16 << 20)
#define BITS 8u

/* ---- memory ---- */

struct scratch_block {
	struct scratch_block *next;
	size_t capacity;
	_Alignas(16) unsigned char bytes[];
};

void *scratch_take(struct scratch *scratch, size_t size)
{
	struct scratch_block *block = scratch->blocks;

	size = (size + 15) / 16 * 16;
	if (!block || block->capacity - scratch->used < size) {
		size_t capacity = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		if (capacity > SCRATCH_MAX)
			return NULL;
		block = malloc(sizeof(*block) + capacity);
		if (!block)
			return NULL;
		block->next = scratch->blocks;
		block->capacity = capacity;
		scratch->blocks = block;
		scratch->used = 0;
	}
	scratch->used += size;
	return block->bytes + scratch->used - size;
}

void scratch_reset(struct scratch *scratch)
{
	while (scratch->blocks && scratch->blocks->next) {
		struct scratch_block *next = scratch->blocks->next;

		free(scratch->blocks);
		scratch->blocks = next;
	}
	scratch->used = 0;
}

void scratch_free(struct scratch *scratch)
{
	scratch_reset(scratch);
	free(scratch->blocks);
	scratch->blocks = NULL;
}

/* ---- types ---- */

static enum side_type_label_byte_order side_kernel_value_byte_order(const struct ctf_type *type)
{
	return type->big_endian ? SIDE_TYPE_BYTE_ORDER_BE : SIDE_TYPE_BYTE_ORDER_HOST;
}

/* Arrays of these are gathered. */
static bool side_kernel_value_is_number(const struct ctf_type *type)
{
	return type->kind == CTF_INTEGER || type->kind == CTF_FLOAT || type->kind == CTF_ENUM;
}

static bool side_kernel_value_is_text(const struct ctf_type *type)
{
	return type->kind == CTF_ARRAY && type->element->text;
}

static void side_kernel_value_set_base(
		struct side_builder *builder, struct side_builder_type *type, uint8_t base)
{
	if (base && base != 10)
		(void)side_builder_attr_unsigned(builder, type, "std.integer.base", 1, base);
}

static struct side_builder_type *side_kernel_value_integer_type(
		struct side_builder *builder, const struct ctf_type *type)
{
	struct side_builder_type *integer = side_builder_integer(builder, type->size / BITS,
			type->is_signed, side_kernel_value_byte_order(type));
	struct side_builder_type *bitmap;

	if (!type->bitmap) {
		side_kernel_value_set_base(builder, integer, type->base);
		return integer;
	}
	bitmap = side_builder_enum_bitmap(builder, integer);
	for (uint32_t i = 0; i < type->label_count; i++)
		(void)side_builder_add_bit_label(builder, bitmap, type->labels[i].text,
				type->labels[i].begin, type->labels[i].end);
	return bitmap;
}

static struct side_builder_type *side_kernel_value_enum_type(
		struct side_builder *builder, const struct ctf_type *type)
{
	struct side_builder_type *labelled;

	if (type->boolean)
		return side_builder_bool(builder);
	labelled = side_builder_enum(builder,
			side_builder_integer(builder, type->size / BITS, type->is_signed,
					side_kernel_value_byte_order(type)));
	for (uint32_t i = 0; i < type->label_count; i++)
		(void)side_builder_add_label(builder, labelled, type->labels[i].text,
				(int64_t)type->labels[i].begin, (int64_t)type->labels[i].end);
	return labelled;
}

static struct side_builder_type *side_kernel_value_gather_type(
		struct side_builder *builder, const struct ctf_type *type)
{
	struct side_builder_type *element;

	if (type->kind == CTF_FLOAT)
		return side_builder_gather_float(builder, 0, type->size / BITS,
				SIDE_TYPE_FLOAT_WORD_ORDER_HOST, SIDE_TYPE_GATHER_ACCESS_DIRECT);
	if (type->byte)
		return side_builder_gather_byte(builder, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT);
	element = side_builder_gather_integer(builder, 0, type->size / BITS, type->is_signed, 0, 0,
			side_kernel_value_byte_order(type), SIDE_TYPE_GATHER_ACCESS_DIRECT);
	side_kernel_value_set_base(builder, element, type->base);
	return element;
}

static struct side_builder_type *side_kernel_value_make_type(struct side_builder *builder,
		const struct ctf_type *type, const struct ctf_type *before);

static int side_kernel_value_add_fields(struct side_builder *builder,
		struct side_builder_type *into, const struct ctf_type *type)
{
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct ctf_member *member = &type->members[i];
		const char *name = member->name;

		if (member->hidden)
			continue;
		name += *name == '_';
		if (side_builder_add_field(builder, into, name,
				    side_kernel_value_make_type(builder, member->type,
						    i ? type->members[i - 1].type : NULL)) !=
				SIDE_ERROR_OK)
			return -EINVAL;
	}
	return 0;
}

/* `before` is the member before this one, which may be its length. */
static struct side_builder_type *side_kernel_value_list_type(struct side_builder *builder,
		const struct ctf_type *type, const struct ctf_type *before)
{
	const struct ctf_type *element = type->element;
	unsigned int size;

	if (type->kind == CTF_ARRAY)
		return side_kernel_value_is_text(type)
				? side_builder_string(builder, 1, SIDE_TYPE_BYTE_ORDER_HOST)
				: side_kernel_value_is_number(element)
				? side_builder_gather_array(builder,
						  side_kernel_value_gather_type(builder, element),
						  (uint32_t)type->length, 0,
						  SIDE_TYPE_GATHER_ACCESS_DIRECT)
				: side_builder_array(builder,
						  side_kernel_value_make_type(
								  builder, element, NULL),
						  (uint32_t)type->length);
	if (!before)
		return NULL;
	size = before->size / BITS;
	if (!side_kernel_value_is_number(element))
		return side_builder_vla(builder,
				side_kernel_value_make_type(builder, element, NULL),
				side_builder_integer(builder, 4, 0, SIDE_TYPE_BYTE_ORDER_HOST));
	return side_builder_gather_vla(builder, side_kernel_value_gather_type(builder, element),
			side_builder_gather_integer(builder, 0, size, 0, 0, 0,
					SIDE_TYPE_BYTE_ORDER_HOST, SIDE_TYPE_GATHER_ACCESS_DIRECT),
			size, SIDE_TYPE_GATHER_ACCESS_DIRECT);
}

/* Returns the type of an optional value: this program gets no other variants. */
static struct side_builder_type *side_kernel_value_option_type(
		struct side_builder *builder, const struct ctf_type *type)
{
	return side_builder_optional(
			builder, side_kernel_value_make_type(builder, type->members[1].type, NULL));
}

/* Returns the element of a structure that only adds its length or tag, or NULL. */
static const struct ctf_type *side_kernel_value_unwrap(const struct ctf_type *type)
{
	return type->member_count == 2 && type->members[0].hidden ? type->members[1].type : NULL;
}

static struct side_builder_type *side_kernel_value_make_type(struct side_builder *builder,
		const struct ctf_type *type, const struct ctf_type *before)
{
	struct side_builder_type *structure;

	switch (type->kind) {
	case CTF_INTEGER:
		return type->byte ? side_builder_byte(builder)
				  : side_kernel_value_integer_type(builder, type);
	case CTF_ENUM: return side_kernel_value_enum_type(builder, type);
	case CTF_FLOAT:
		return side_builder_float(
				builder, type->size / BITS, SIDE_TYPE_FLOAT_WORD_ORDER_HOST);
	case CTF_STRING: return side_builder_string(builder, 1, SIDE_TYPE_BYTE_ORDER_HOST);
	case CTF_ARRAY:
	case CTF_SEQUENCE: return side_kernel_value_list_type(builder, type, before);
	case CTF_VARIANT: return side_kernel_value_option_type(builder, type);
	case CTF_STRUCT: break;
	}
	if (side_kernel_value_unwrap(type))
		return side_kernel_value_make_type(
				builder, side_kernel_value_unwrap(type), type->members[0].type);
	structure = side_builder_struct(builder);
	return side_kernel_value_add_fields(builder, structure, type) ? NULL : structure;
}

int values_add_fields(struct side_builder *builder, const struct ctf_type *type)
{
	return type ? side_kernel_value_add_fields(builder, NULL, type) : 0;
}

uint32_t values_count(const struct ctf_type *type)
{
	uint32_t count = 0;

	for (uint32_t i = 0; type && i < type->member_count; i++)
		count += !type->members[i].hidden;
	return count;
}

/* ---- values ---- */

struct value_reader {
	struct scratch *scratch;
	const uint8_t *at, *end;
	const uint8_t *before; /* the address of the last length or tag */
	uint64_t number;       /* its value */
};

static bool side_kernel_value_read(
		struct value_reader *reader, const struct ctf_type *type, struct side_arg *ret_arg);

static const uint8_t *side_kernel_value_read_bytes(struct value_reader *reader, size_t size)
{
	if ((size_t)(reader->end - reader->at) < size)
		return NULL;
	reader->at += size;
	return reader->at - size;
}

static bool side_kernel_value_read_number(
		struct value_reader *reader, const struct ctf_type *type, struct side_arg *ret_arg)
{
	static const uint16_t labels[2][9] = {{[1] = SIDE_TYPE_U8,
							      [2] = SIDE_TYPE_U16,
							      [4] = SIDE_TYPE_U32,
							      [8] = SIDE_TYPE_U64},
			{[1] = SIDE_TYPE_S8,
					[2] = SIDE_TYPE_S16,
					[4] = SIDE_TYPE_S32,
					[8] = SIDE_TYPE_S64}};
	size_t size = type->size / BITS;
	const uint8_t *from = side_kernel_value_read_bytes(reader, size);

	if (!from)
		return false;
	if (type->kind == CTF_FLOAT) {
		ret_arg->type.v = size == 8 ? SIDE_TYPE_FLOAT_BINARY64
				: size == 4 ? SIDE_TYPE_FLOAT_BINARY32
					    : SIDE_TYPE_FLOAT_BINARY16;
		memcpy(&ret_arg->u.side_static.float_value, from, size);
	} else if (type->boolean) {
		ret_arg->type.v = SIDE_TYPE_BOOL;
		ret_arg->u.side_static.bool_value.side_bool8 = *from != 0;
	} else if (type->byte) {
		ret_arg->type.v = SIDE_TYPE_BYTE;
		ret_arg->u.side_static.byte_value = *from;
	} else {
		ret_arg->type.v = labels[type->is_signed][size];
		memcpy(&ret_arg->u.side_static.integer_value, from, size);
	}
	return true;
}

static bool side_kernel_value_read_string(struct value_reader *reader, struct side_arg *ret_arg)
{
	const uint8_t *zero = memchr(reader->at, 0, (size_t)(reader->end - reader->at));

	if (!zero)
		return false;
	ret_arg->type.v = SIDE_TYPE_STRING_UTF8;
	side_ptr_set(ret_arg->u.side_static.string_value, (const void *)reader->at);
	reader->at = zero + 1;
	return true;
}

/* Copy the text: one that fills its array has no terminating zero. */
static bool side_kernel_value_read_text(
		struct value_reader *reader, const struct ctf_type *type, struct side_arg *ret_arg)
{
	const uint8_t *from = side_kernel_value_read_bytes(reader, type->length);
	char *text = from ? scratch_take(reader->scratch, type->length + 1) : NULL;

	if (!text)
		return false;
	memcpy(text, from, type->length);
	text[type->length] = '\0';
	ret_arg->type.v = SIDE_TYPE_STRING_UTF8;
	side_ptr_set(ret_arg->u.side_static.string_value, (const void *)text);
	return true;
}

static struct side_arg *side_kernel_value_read_elements(
		struct value_reader *reader, const struct ctf_type *element, uint64_t count)
{
	struct side_arg *arguments;

	if (count > SCRATCH_MAX / sizeof(*arguments))
		return NULL;
	arguments = scratch_take(reader->scratch, (count + 1) * sizeof(*arguments));
	for (uint64_t i = 0; arguments && i < count; i++)
		if (!side_kernel_value_read(reader, element, &arguments[i]))
			return NULL;
	return arguments;
}

static struct side_arg_vec *side_kernel_value_make_vector(
		struct value_reader *reader, struct side_arg *arguments, uint64_t count)
{
	struct side_arg_vec *vector =
			arguments ? scratch_take(reader->scratch, sizeof(*vector)) : NULL;

	if (vector) {
		side_ptr_set(vector->sav, arguments);
		vector->len = (uint32_t)count;
	}
	return vector;
}

static bool side_kernel_value_read_list(
		struct value_reader *reader, const struct ctf_type *type, struct side_arg *ret_arg)
{
	bool counted = type->kind == CTF_SEQUENCE;
	const uint8_t *before = reader->before, *from;
	uint64_t count = counted ? reader->number : type->length;
	struct side_arg_vec *vector;

	if (!side_kernel_value_is_number(type->element)) {
		vector = side_kernel_value_make_vector(reader,
				side_kernel_value_read_elements(reader, type->element, count),
				count);
		ret_arg->type.v = counted ? SIDE_TYPE_VLA : SIDE_TYPE_ARRAY;
		side_ptr_set(ret_arg->u.side_static.side_vla, vector);
		return vector;
	}
	from = count <= (uint64_t)(reader->end - reader->at)
			? side_kernel_value_read_bytes(
					  reader, (size_t)count * (type->element->size / BITS))
			: NULL;
	ret_arg->type.v = counted ? SIDE_TYPE_GATHER_VLA : SIDE_TYPE_GATHER_ARRAY;
	if (counted) {
		side_ptr_set(ret_arg->u.side_static.side_vla_gather.ptr, (const void *)before);
		side_ptr_set(ret_arg->u.side_static.side_vla_gather.length_ptr,
				(const void *)before);
	} else {
		side_ptr_set(ret_arg->u.side_static.side_array_gather_ptr, (const void *)from);
	}
	return from;
}

static bool side_kernel_value_read_variant(
		struct value_reader *reader, const struct ctf_type *type, struct side_arg *ret_arg)
{
	struct side_arg_optional *option = scratch_take(reader->scratch, sizeof(*option));

	if (!option)
		return false;
	option->selector = reader->number != 0;
	ret_arg->type.v = SIDE_TYPE_OPTIONAL;
	side_ptr_set(ret_arg->u.side_static.side_optional, option);
	return !option->selector ||
			side_kernel_value_read(reader, type->members[1].type, &option->side_static);
}

/* Read a length or a tag for the value that follows. */
static bool side_kernel_value_read_related_field(
		struct value_reader *reader, const struct ctf_type *type)
{
	size_t size = type->size / BITS;
	const uint8_t *from = side_kernel_value_read_bytes(reader, size);

	if (!from)
		return false;
	reader->before = from;
	reader->number = 0;
	for (size_t i = 0; i < size; i++)
		reader->number |=
				(uint64_t)from[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? size - 1 - i
										      : i]
				<< BITS * i;
	return true;
}

static bool side_kernel_value_read_members(
		struct value_reader *reader, const struct ctf_type *type, struct side_arg *to)
{
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct ctf_member *member = &type->members[i];

		if (member->hidden ? !side_kernel_value_read_related_field(reader, member->type)
				   : !side_kernel_value_read(reader, member->type, to++))
			return false;
	}
	return true;
}

static bool side_kernel_value_read_struct(
		struct value_reader *reader, const struct ctf_type *type, struct side_arg *ret_arg)
{
	uint32_t count = values_count(type);
	struct side_arg_vec *vector;
	struct side_arg *arguments;

	if (side_kernel_value_unwrap(type))
		return side_kernel_value_read_members(reader, type, ret_arg);
	arguments = scratch_take(reader->scratch, (count + 1) * sizeof(*arguments));
	vector = side_kernel_value_make_vector(reader, arguments, count);
	ret_arg->type.v = SIDE_TYPE_STRUCT;
	side_ptr_set(ret_arg->u.side_static.side_struct, vector);
	return vector && side_kernel_value_read_members(reader, type, arguments);
}

static bool side_kernel_value_read(
		struct value_reader *reader, const struct ctf_type *type, struct side_arg *ret_arg)
{
	ret_arg->flags = 0;
	switch (type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
	case CTF_FLOAT: return side_kernel_value_read_number(reader, type, ret_arg);
	case CTF_STRING: return side_kernel_value_read_string(reader, ret_arg);
	case CTF_ARRAY:
		return side_kernel_value_is_text(type)
				? side_kernel_value_read_text(reader, type, ret_arg)
				: side_kernel_value_read_list(reader, type, ret_arg);
	case CTF_SEQUENCE: return side_kernel_value_read_list(reader, type, ret_arg);
	case CTF_VARIANT: return side_kernel_value_read_variant(reader, type, ret_arg);
	case CTF_STRUCT: break;
	}
	return side_kernel_value_read_struct(reader, type, ret_arg);
}

bool values_take(struct scratch *scratch, const struct ctf_type *type, struct kernel_payload bytes,
		struct side_arg *arguments)
{
	struct value_reader reader = {
			.scratch = scratch, .at = bytes.data, .end = bytes.data + bytes.size};

	return !type || side_kernel_value_read_members(&reader, type, arguments);
}
