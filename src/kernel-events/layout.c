/* SPDX-License-Identifier: MIT */
/*
 * Builds the CTF type of a kernel event's fields, and copies the fields of its records.
 */
#include <errno.h>
#include <stdio.h>

#include "ctf/write/describe.h"
#include "ctf/names.h"
#include "kernel-events/layout.h"

#include <side/abi/type-description.h>

#define BITS 8

/* ---- types ---- */

/* CTF readers need distinct labels: one name for each value, one value for each name. */
static bool kernel_layout_is_label_repeated(const struct format_field *field, uint32_t index)
{
	uint32_t i;

	for (i = 0; i < index; i++)
		if (field->labels[i].value == field->labels[index].value ||
				!strcmp(field->labels[i].text, field->labels[index].text))
			return true;
	return false;
}

static bool kernel_layout_value_fits(const struct format_field *field, uint64_t value)
{
	unsigned int bits = field->unit * BITS;

	if (bits >= 64)
		return true;
	if (field->is_signed)
		return (int64_t)value >= -((int64_t)1 << (bits - 1)) &&
				(int64_t)value < (int64_t)1 << (bits - 1);
	return value < (uint64_t)1 << bits;
}

/* Returns the number of the only bit that is set, or -1. */
static int kernel_layout_single_bit(uint64_t value)
{
	return value && !(value & (value - 1)) ? __builtin_ctzll(value) : -1;
}

static struct ctf_type *kernel_layout_label_values(
		struct ctf_arena *arena, const struct format_field *field, struct ctf_type *integer)
{
	struct ctf_type *type = ctf_type_enum(arena, integer, field->nr_labels);
	uint32_t i, kept = 0;

	for (i = 0; type && i < field->nr_labels; i++) {
		const char *text;
		uint64_t value = field->labels[i].value;

		if (kernel_layout_is_label_repeated(field, i) ||
				!kernel_layout_value_fits(field, value))
			continue;
		text = ctf_describe_text(
				arena, field->labels[i].text, 1, SIDE_TYPE_BYTE_ORDER_HOST);
		if (!text)
			return NULL;
		type->labels[kept++] = (struct ctf_label){text, value, value};
	}
	if (!type)
		return NULL;
	type->label_count = kept;
	return kept ? type : integer;
}

static struct ctf_type *kernel_layout_label_bits(
		struct ctf_arena *arena, const struct format_field *field, struct ctf_type *integer)
{
	struct ctf_label *labels = ctf_arena_alloc(arena, field->nr_labels, sizeof(*labels));
	uint32_t i, kept = 0;

	if (!labels)
		return NULL;
	for (i = 0; i < field->nr_labels; i++) {
		int bit = kernel_layout_single_bit(field->labels[i].value);
		const char *text;

		if (bit < 0 || bit >= integer->size || kernel_layout_is_label_repeated(field, i))
			continue;
		text = ctf_describe_text(
				arena, field->labels[i].text, 1, SIDE_TYPE_BYTE_ORDER_HOST);
		if (!text)
			return NULL;
		labels[kept++] = (struct ctf_label){text, (uint64_t)bit, (uint64_t)bit};
	}
	integer->base = 16;
	/* In CTF 2, only unsigned numbers can have names of bits. */
	if (!kept || integer->is_signed)
		return integer;
	integer->bitmap = true;
	integer->labels = labels;
	integer->label_count = kept;
	return integer;
}

static struct ctf_type *kernel_layout_byte_type(struct ctf_arena *arena)
{
	struct ctf_type *byte = ctf_type_integer(arena, 8, false);

	if (byte) {
		byte->base = 16;
		byte->byte = true;
	}
	return byte;
}

static struct ctf_type *kernel_layout_value_type(
		struct ctf_arena *arena, const struct format_field *field, enum format_kind kind)
{
	struct ctf_type *type;

	switch (kind) {
	case FORMAT_BOOL: return ctf_describe_bool(arena);
	case FORMAT_FLOAT: return ctf_type_float(arena, field->unit * BITS);
	case FORMAT_FLOAT128: return ctf_describe_float128(arena);
	case FORMAT_INT128:
		return ctf_describe_int128(arena, field->is_signed, CTF_HOST_BIG_ENDIAN, 10);
	case FORMAT_TEXT:
		type = ctf_type_integer(arena, 8, false);
		if (type)
			type->text = true;
		return type;
	case FORMAT_POINTER:
		type = ctf_type_integer(arena, field->unit * BITS, false);
		if (type)
			type->base = 16;
		return type;
	case FORMAT_INTEGER:
		type = ctf_type_integer(arena, field->unit * BITS, field->is_signed);
		if (!type || !field->nr_labels)
			return type;
		return field->flags ? kernel_layout_label_bits(arena, field, type)
				    : kernel_layout_label_values(arena, field, type);
	case FORMAT_BYTES:
	case FORMAT_LOCATION: break;
	}
	return kernel_layout_byte_type(arena);
}

/* ---- building ---- */

struct layout_builder {
	struct ctf_arena *arena;
	struct ctf_names names;
	struct layout *layout;
	struct ctf_type *type;
};

static int kernel_layout_add_member(struct layout_builder *builder, const char *name,
		struct ctf_type *type, bool hidden)
{
	if (!name || !type)
		return -ENOMEM;
	ctf_member_set(&builder->type->members[builder->type->member_count++], name, type, hidden);
	return 0;
}

/* Add a step. Adjacent fields are copied by one step. */
static void kernel_layout_add_step(struct layout_builder *builder, struct layout_step step)
{
	struct layout *layout = builder->layout;

	if (layout->nr_steps && step.kind == LAYOUT_COPY) {
		struct layout_step *last = &layout->steps[layout->nr_steps - 1];

		if (last->kind == LAYOUT_COPY && last->offset + last->size == step.offset) {
			last->size += step.size;
			return;
		}
	}
	layout->steps[layout->nr_steps++] = step;
}

static int kernel_layout_add_sequence(
		struct layout_builder *builder, const char *name, struct ctf_type *element)
{
	size_t size = strlen(name), with = size + sizeof("_length");
	char *text = ctf_arena_alloc(builder->arena, with, 1);
	const char *length;
	int ret;

	if (!text || !element)
		return -ENOMEM;
	(void)snprintf(text, with, "%s_length", name);
	length = ctf_names_reserve(&builder->names, text);
	ret = kernel_layout_add_member(
			builder, length, ctf_type_integer(builder->arena, 32, false), true);
	return ret ? ret
		   : kernel_layout_add_member(builder, name,
				     ctf_type_sequence(builder->arena, element, length), false);
}

static int kernel_layout_make_field(
		struct layout_builder *builder, const struct format_field *field)
{
	const char *name = ctf_name_escape(builder->arena, field->name);
	struct layout_step step = {.kind = LAYOUT_COPY,
			.relative = field->relative,
			.offset = field->offset,
			.size = field->size};
	struct ctf_type *type;

	name = name ? ctf_names_reserve(&builder->names, name) : NULL;
	if (!name)
		return -ENOMEM;
	if (field->kind != FORMAT_LOCATION) {
		type = kernel_layout_value_type(builder->arena, field, field->kind);
		if (type && field->count)
			type = ctf_type_array(builder->arena, type, field->count);
		kernel_layout_add_step(builder, step);
		return kernel_layout_add_member(builder, name, type, false);
	}
	if (field->element == FORMAT_TEXT) {
		step.kind = LAYOUT_TEXT;
		kernel_layout_add_step(builder, step);
		return kernel_layout_add_member(
				builder, name, ctf_type_string(builder->arena), false);
	}
	step.kind = LAYOUT_ARRAY;
	step.size = field->unit;
	kernel_layout_add_step(builder, step);
	return kernel_layout_add_sequence(builder, name,
			kernel_layout_value_type(builder->arena, field, field->element));
}

static int kernel_layout_make_remainder(struct layout_builder *builder, const struct format *format)
{
	struct layout_step step = {
			.kind = LAYOUT_REMAINDER, .offset = FORMAT_COMMON_SIZE, .size = 1};
	const char *name = ctf_names_reserve(&builder->names, "_rest");
	uint32_t i;

	for (i = 0; i < format->nr_fields; i++) {
		const struct format_field *field = &format->fields[i];

		if (field->offset + field->size > step.offset)
			step.offset = field->offset + field->size;
	}
	if (!name)
		return -ENOMEM;
	kernel_layout_add_step(builder, step);
	return kernel_layout_add_sequence(builder, name, kernel_layout_byte_type(builder->arena));
}

int layout_make(const struct format *format, bool remainder, struct ctf_arena *arena,
		struct layout *layout, struct ctf_type **ret_type)
{
	uint32_t members = (format->nr_fields + 1) * 2, i;
	struct layout_builder builder = {.arena = arena, .layout = layout};
	int ret = ctf_names_init(&builder.names, arena, members * 2);

	*layout = (struct layout){.steps = calloc(format->nr_fields + 1, sizeof(*layout->steps))};
	builder.type = ctf_type_struct(arena, members);
	if (ret || !layout->steps || !builder.type) {
		ctf_names_free(&builder.names);
		return -ENOMEM;
	}
	builder.type->member_count = 0;
	for (i = 0; i < format->nr_fields && !ret; i++)
		ret = kernel_layout_make_field(&builder, &format->fields[i]);
	if (!ret && remainder)
		ret = kernel_layout_make_remainder(&builder, format);
	ctf_names_free(&builder.names);
	*ret_type = builder.type;
	return ret;
}

void layout_free(struct layout *layout)
{
	free(layout->steps);
	*layout = (struct layout){.steps = NULL};
}

/* ---- running ---- */

/*
 * Returns the data that the location word of this step points to. If it leads out of the record,
 * `*ret_length` is 0.
 */
static const uint8_t *kernel_layout_locate(const struct layout_step *step, const uint8_t *record,
		size_t size, size_t *ret_length)
{
	uint32_t word = 0;
	size_t begin;

	*ret_length = 0;
	if (size < sizeof(word) || step->offset > size - sizeof(word))
		return record;
	memcpy(&word, record + step->offset, sizeof(word));
	begin = (word & UINT16_MAX) + (step->relative ? step->offset + sizeof(word) : 0);
	if (begin > size)
		return record;
	*ret_length = word >> 16;
	if (*ret_length > size - begin)
		*ret_length = size - begin;
	return record + begin;
}

static void kernel_layout_append_copy(const struct layout_step *step, const uint8_t *record,
		size_t size, struct byte_buffer *to)
{
	size_t there = step->offset < size ? size - step->offset : 0;

	if (there > step->size)
		there = step->size;
	bytes_put(to, record + step->offset, there);
	bytes_put_zeros(to, step->size - there);
}

static void kernel_layout_add_array(
		const uint8_t *from, size_t length, uint32_t unit, struct byte_buffer *to)
{
	uint32_t count = (uint32_t)(length / unit);

	bytes_put(to, &count, sizeof(count));
	bytes_put(to, from, (size_t)count * unit);
}

void layout_run(const struct layout *layout, const uint8_t *record, size_t size,
		struct byte_buffer *to)
{
	uint32_t i;

	for (i = 0; i < layout->nr_steps; i++) {
		const struct layout_step *step = &layout->steps[i];
		const uint8_t *from = record;
		size_t length;

		switch (step->kind) {
		case LAYOUT_COPY: kernel_layout_append_copy(step, record, size, to); break;
		case LAYOUT_TEXT:
			from = kernel_layout_locate(step, record, size, &length);
			bytes_put(to, from, strnlen((const char *)from, length));
			bytes_put_zeros(to, 1);
			break;
		case LAYOUT_ARRAY:
			from = kernel_layout_locate(step, record, size, &length);
			kernel_layout_add_array(from, length, step->size, to);
			break;
		case LAYOUT_REMAINDER:
			length = step->offset < size ? size - step->offset : 0;
			kernel_layout_add_array(
					record + (length ? step->offset : 0), length, 1, to);
			break;
		}
	}
}
