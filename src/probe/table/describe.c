/* SPDX-License-Identifier: MIT */
/* Describes the fields of a table as types and arguments of SIDE events. */
#include "table.h"

#include <side/builder.h>
#include <string.h>

#define ADDRESS "side.address"

static struct side_builder_type *make_element(
		struct side_builder *builder, const struct probe_table_field *field)
{
	struct side_builder_type *element;

	if (field->type == PROBE_FIELD_FLOAT)
		return side_builder_gather_float(builder, 0, field->size,
				SIDE_TYPE_FLOAT_WORD_ORDER_HOST, SIDE_TYPE_GATHER_ACCESS_DIRECT);
	element = side_builder_gather_integer(builder, 0, field->size,
			field->type == PROBE_FIELD_SIGNED, 0, 0, SIDE_TYPE_BYTE_ORDER_HOST,
			SIDE_TYPE_GATHER_ACCESS_DIRECT);
	if (field->type != PROBE_FIELD_SIGNED && field->type != PROBE_FIELD_UNSIGNED)
		(void)side_builder_attr_unsigned(builder, element, "std.integer.base", 1, 16);
	if (field->type == PROBE_FIELD_BACKTRACE)
		(void)side_builder_attr_string(builder, element, ADDRESS, "call");
	return element;
}

/* A length of 64 bits, followed by its elements: the format in which the agent records hits. */
static struct side_builder_type *make_gathered(
		struct side_builder *builder, const struct probe_table_field *field)
{
	struct side_builder_type *length = side_builder_gather_integer(builder, 0, 8, 0, 0, 0,
			SIDE_TYPE_BYTE_ORDER_HOST, SIDE_TYPE_GATHER_ACCESS_DIRECT);
	struct side_builder_type *element = make_element(builder, field);

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

static bool is_caller(const struct probe_table_field *field)
{
	return (field->type == PROBE_FIELD_HEX || field->type == PROBE_FIELD_UNSIGNED) &&
			field->size == 8 && !*field->labels && !strcmp(field->name, "caller");
}

static struct side_builder_type *make_plain(
		struct side_builder *builder, const struct probe_table_field *field)
{
	struct side_builder_type *type;

	if (probe_field_is_array(field))
		return make_gathered(builder, field);
	switch (field->type) {
	case PROBE_FIELD_BOOL: return side_builder_bool(builder);
	case PROBE_FIELD_FLOAT:
		return side_builder_float(builder, field->size, SIDE_TYPE_FLOAT_WORD_ORDER_HOST);
	case PROBE_FIELD_STRING: return side_builder_string(builder, 1, SIDE_TYPE_BYTE_ORDER_HOST);
	case PROBE_FIELD_STRUCT: return side_builder_struct(builder);
	default: break;
	}
	type = side_builder_integer(builder, field->size, field->type == PROBE_FIELD_SIGNED,
			SIDE_TYPE_BYTE_ORDER_HOST);
	if (field->type == PROBE_FIELD_HEX)
		(void)side_builder_attr_unsigned(builder, type, "std.integer.base", 1, 16);
	/*
	 * The wrappers of `side record -w` mark the return address of a function in the same way.
	 */
	if (is_caller(field))
		(void)side_builder_attr_string(builder, type, ADDRESS, "call");
	return *field->labels ? make_enumeration(builder, type, field->labels) : type;
}

/* Readers show an absent value as unreadable. */
static struct side_builder_type *table_describe_make_type(
		struct side_builder *builder, const struct probe_table_field *field)
{
	struct side_builder_type *type = make_plain(builder, field);

	if (!field->guarded)
		return type;
	type = side_builder_optional(builder, type);
	(void)side_builder_attr_bool(builder, type, PROBE_TABLE_GUARDED, 1);
	return type;
}

/* Adds each member to its structure: the innermost one that is not complete. */
void probe_table_describe(struct side_builder *builder, const struct probe_table *table,
		const struct probe_table_event *event)
{
	struct side_builder_type *into[PROBE_TABLE_FIELDS_MAX] = {NULL};
	struct probe_table_field field;

	/* The context `ip` is the location of the probe, not an address to which a call returns. */
	(void)side_builder_attr_bool(builder, NULL, ADDRESS, 1);
	for (uint32_t i = 0; i < event->nr_fields; i++) {
		struct side_builder_type *type;

		probe_table_field(table, event, i, &field);
		type = table_describe_make_type(builder, &field);
		(void)side_builder_add_field(builder, into[i], field.name, type);
		for (uint32_t j = 0; j < probe_table_inside(&field); j++)
			into[i + 1 + j] = type;
	}
}

static const struct side_event_field *table_describe_members(const struct side_type *type)
{
	const struct side_type_struct *structure = side_ptr_get(type->u.side_struct);

	return side_array_elements(&structure->fields);
}

void probe_table_labels(const struct probe_table *table, const struct probe_table_event *event,
		const struct side_event_field *described, uint16_t *ret_labels)
{
	/*
	 * For each open structure: the description of its next member, and the index after its last
	 * one.
	 */
	struct {
		const struct side_event_field *next;
		uint32_t end;
	} levels[PROBE_TABLE_FIELDS_MAX + 1] = {{described, event->nr_fields}};
	uint32_t depth = 0;

	for (uint32_t i = 0; i < event->nr_fields; i++) {
		struct probe_table_field field;
		const struct side_type *type;

		while (depth && i == levels[depth].end)
			depth--;
		type = &levels[depth].next++->side_type;
		probe_table_field(table, event, i, &field);
		if (field.guarded)
			type = side_ptr_get(side_ptr_get(type->u.side_optional)->elem_type);
		ret_labels[i] = type->type.v;
		if (field.type == PROBE_FIELD_STRUCT) {
			levels[++depth].next = table_describe_members(type);
			levels[depth].end = i + 1 + probe_table_inside(&field);
		} else if (*field.labels) {
			/* The argument of an enumeration has the label of its values. */
			type = side_ptr_get(type->u.side_enum.elem_type);
			ret_labels[i] = type->type.v;
		}
	}
}

/* ---- positions of arguments ---- */

/*
 * Numbers the arguments of a range of fields from `*next`, the first free number. Returns their
 * count.
 */
static uint32_t probe_table_nest_put_range(struct probe_table_nest *nest, const uint8_t *inside,
		uint32_t at, uint32_t end, uint8_t *next)
{
	uint32_t count = 0;

	for (uint32_t i = at; i < end; i += 1u + inside[i], count++)
		nest->arg[i] = (*next)++;
	return count;
}

void probe_table_nest(struct probe_table_nest *nest, const uint8_t *inside, uint32_t nr_fields)
{
	uint8_t next = 0;

	nest->nr_top = (uint8_t)probe_table_nest_put_range(nest, inside, 0, nr_fields, &next);
	for (uint32_t i = 0; i < nr_fields; i++) {
		nest->first[i] = next;
		nest->number[i] = (uint8_t)probe_table_nest_put_range(
				nest, inside, i + 1, i + 1 + inside[i], &next);
	}
}
