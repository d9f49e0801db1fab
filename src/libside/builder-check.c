/* SPDX-License-Identifier: MIT */
/* Checks scalar types of a builder, and reports errors with the path to the type. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "builder-check.h"

static size_t builder_check_format_path(const struct builder_step *step, char *path, size_t size)
{
	size_t used = step->up ? builder_check_format_path(step->up, path, size) : 0;
	const char *comma = step->up ? ", " : "";
	int written;

	if (used + 1 >= size)
		return used;
	if (step->name)
		written = snprintf(path + used, size - used, "%s%s \"%.60s\"", comma, step->word,
				step->name);
	else if (!strcmp(step->word, "option"))
		written = snprintf(path + used, size - used, "%soption %u", comma, step->index);
	else
		written = snprintf(path + used, size - used, "%s%s", comma, step->word);
	used += written > 0 ? (size_t)written : 0;
	return used < size ? used : size - 1;
}

/* Format for example: "provider:event, field "x", element: an integer cannot have 3 bytes" */
int builder_fail_at(struct side_builder *builder, const struct builder_step *step,
		const char *format, ...)
{
	char what[160], path[300] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (step)
		builder_check_format_path(step, path, sizeof(path));
	return builder_fail(builder, SIDE_ERROR_INVAL, "%.80s:%.80s%s%s: %s",
			side_ptr_get(builder->desc.provider_name),
			side_ptr_get(builder->desc.event_name), step ? ", " : "", path, what);
}

int builder_check_byte_order(struct side_builder *builder, const struct builder_step *step,
		unsigned int byte_order)
{
	if (byte_order > SIDE_TYPE_BYTE_ORDER_BE)
		return builder_fail_at(builder, step, "the byte order %u is unknown", byte_order);
	return SIDE_ERROR_OK;
}

int builder_check_access(
		struct side_builder *builder, const struct builder_step *step, unsigned int mode)
{
	if (mode > SIDE_TYPE_GATHER_ACCESS_POINTER)
		return builder_fail_at(builder, step, "the access mode %u is unknown", mode);
	return SIDE_ERROR_OK;
}

/* Check a size. Bit n of `sizes` is set if n bytes are possible. */
int builder_check_size(struct side_builder *builder, const struct builder_step *step,
		const char *what, unsigned int size, uint32_t sizes)
{
	if (size > 16 || !(sizes & 1u << size))
		return builder_fail_at(builder, step, "%s cannot have %u bytes", what, size);
	return SIDE_ERROR_OK;
}

int builder_check_bits(struct side_builder *builder, const struct builder_step *step,
		unsigned int size, unsigned int offset_bits, unsigned int len_bits)
{
	unsigned int len = len_bits ? len_bits : 8 * size;

	if (offset_bits + len > 8 * size)
		return builder_fail_at(builder, step,
				"%u bits from bit %u on exceed the %u bits of the value", len,
				offset_bits, 8 * size);
	if (size == 16 && len != 128)
		return builder_fail_at(builder, step,
				"a 128-bit integer must use all of its bits, not %u", len);
	return SIDE_ERROR_OK;
}

int builder_check_integer(struct side_builder *builder, const struct builder_step *step,
		const struct side_type_integer *type, unsigned int offset_bits)
{
	int result = builder_check_size(
			builder, step, "an integer", type->integer_size, SIZES_INTEGER);

	if (!result)
		result = builder_check_byte_order(builder, step, type->byte_order.v);
	if (!result)
		result = builder_check_bits(
				builder, step, type->integer_size, offset_bits, type->len_bits);
	return result;
}

int builder_check_float(struct side_builder *builder, const struct builder_step *step,
		const struct side_type_float *type)
{
	int result = builder_check_size(builder, step, "a float", type->float_size, SIZES_FLOAT);

	return result ? result : builder_check_byte_order(builder, step, type->byte_order.v);
}

int builder_check_string(struct side_builder *builder, const struct builder_step *step,
		const struct side_type_string *type)
{
	int result = builder_check_size(
			builder, step, "a unit of a string", type->unit_size, SIZES_UNIT);

	return result ? result : builder_check_byte_order(builder, step, type->byte_order.v);
}
