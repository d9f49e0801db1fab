/* SPDX-License-Identifier: MIT */
/* The fields of a table as types of SIDE events: the same for the agent inside a program and for who records from outside. */
#include "table.h"

#include <side/builder.h>

/* A length of 64 bits, and behind it what it counts: whoever records hits writes it so. */
static struct side_builder_type *make_gathered(
		struct side_builder *builder, const struct probe_table_field *field)
{
	struct side_builder_type *length = side_builder_gather_integer(builder, 0, 8, 0, 0, 0,
			SIDE_TYPE_BYTE_ORDER_HOST, SIDE_TYPE_GATHER_ACCESS_DIRECT);
	struct side_builder_type *element = side_builder_gather_integer(builder, 0, field->size, 0,
			0, 0, SIDE_TYPE_BYTE_ORDER_HOST, SIDE_TYPE_GATHER_ACCESS_DIRECT);

	(void)side_builder_attr_unsigned(builder, element, "std.integer.base", 1, 16);
	return side_builder_gather_vla(builder, element, length, 8, SIDE_TYPE_GATHER_ACCESS_DIRECT);
}

/* A number whose values have names. */
static struct side_builder_type *make_enumeration(
		struct side_builder *builder, struct side_builder_type *element, const char *labels)
{
	struct side_builder_type *type = side_builder_enum(builder, element);
	char name[PROBE_TABLE_LABEL_MAX + 1];
	int64_t value;

	while (probe_table_label(&labels, name, &value))
		(void)side_builder_add_label(builder, type, name, value, value);
	return type;
}

struct side_builder_type *probe_table_describe(
		struct side_builder *builder, const struct probe_table_field *field)
{
	struct side_builder_type *type;

	switch (field->type) {
	case PROBE_FIELD_BOOL: return side_builder_bool(builder);
	case PROBE_FIELD_FLOAT:
		return side_builder_float(builder, field->size, SIDE_TYPE_FLOAT_WORD_ORDER_HOST);
	case PROBE_FIELD_STRING: return side_builder_string(builder, 1, SIDE_TYPE_BYTE_ORDER_HOST);
	case PROBE_FIELD_BYTES:
	case PROBE_FIELD_BACKTRACE: return make_gathered(builder, field);
	default: break;
	}
	type = side_builder_integer(builder, field->size, field->type == PROBE_FIELD_SIGNED,
			SIDE_TYPE_BYTE_ORDER_HOST);
	if (field->type == PROBE_FIELD_HEX)
		(void)side_builder_attr_unsigned(builder, type, "std.integer.base", 1, 16);
	return *field->labels ? make_enumeration(builder, type, field->labels) : type;
}
