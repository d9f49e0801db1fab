/* SPDX-License-Identifier: MIT */
/* Walks over a description and passes its parts to an output format. */
#include "form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void readside_describe_inside(struct form *form, const struct side_type *type);

void form_scalar(FILE *out, const struct visit_value *value)
{
	char digits[VISIT_DIGITS_MAX];
	char point[VISIT_FLOAT_DIGITS_MAX];
	size_t size;

	switch (value->kind) {
	case VISIT_BOOL: fputs(value->lo || value->hi ? "true" : "false", out); return;
	case VISIT_FLOAT:
		size = visit_value_float_digits(value, value->size == 16 ? 36 : 17, point);
		/* JSON has no numbers for infinity and NaN. */
		if (strpbrk(point, "infa"))
			fprintf(out, "\"%.*s\"", (int)size, point);
		else
			fprintf(out, "%.*s", (int)size, point);
		return;
	default:
		size = visit_value_digits(value, 10, false, digits);
		fprintf(out, "%.*s", (int)size, digits);
		return;
	}
}

/* ---- parts ---- */

static void readside_describe_attributes(
		struct form *form, const char *key, struct visit_attributes attributes)
{
	form->ops->open(form, FORM_ATTRIBUTES, key, attributes.nr);
	for (uint32_t i = 0; i < attributes.nr; i++) {
		const struct side_attr *attribute = &attributes.attr[i];
		const struct visit_text key_text = {side_ptr_get(attribute->key.p),
				attribute->key.unit_size, side_enum_get(attribute->key.byte_order)};
		struct visit_value value = {.kind = VISIT_NULL};
		size_t size;
		char *name = form_utf8(&key_text, &size);

		visit_load_attribute(&attribute->value, &value);
		form->ops->attribute(form, name ? name : "", size, &value);
		free(name);
	}
	form->ops->close(form, FORM_ATTRIBUTES, attributes.nr);
}

static void readside_describe_byte_order(struct form *form, unsigned int byte_order)
{
	form->ops->word(form, "byte-order",
			byte_order == SIDE_TYPE_BYTE_ORDER_BE ? "big" : "little");
}

static void readside_describe_integer(struct form *form, const struct side_type_integer *type)
{
	form->ops->number(form, "integer-size", type->integer_size);
	form->ops->number(form, "len-bits", type->len_bits);
	form->ops->flag(form, "signed", type->signedness != 0);
	readside_describe_byte_order(form, side_enum_get(type->byte_order));
}

static void readside_describe_bool(struct form *form, const struct side_type_bool *type)
{
	form->ops->number(form, "bool-size", type->bool_size);
	form->ops->number(form, "len-bits", type->len_bits);
	readside_describe_byte_order(form, side_enum_get(type->byte_order));
}

static void readside_describe_float(struct form *form, const struct side_type_float *type)
{
	form->ops->number(form, "float-size", type->float_size);
	readside_describe_byte_order(form, side_enum_get(type->byte_order));
}

static void readside_describe_string(struct form *form, const struct side_type_string *type)
{
	form->ops->number(form, "unit-size", type->unit_size);
	readside_describe_byte_order(form, side_enum_get(type->byte_order));
}

/* Write a type, its attributes and its properties into the open list. */
static void readside_describe_type(struct form *form, const struct side_type *type)
{
	form->ops->word(form, "type", visit_label_name(side_enum_get(type->type)));
	if (side_enum_get(type->type) != SIDE_TYPE_OPTIONAL)
		readside_describe_attributes(form, "attributes", visit_type_attributes(type));
	readside_describe_inside(form, type);
}

static void readside_describe_inner(
		struct form *form, const char *key, const struct side_type *type)
{
	form->ops->open(form, FORM_OBJECT, key, 1);
	readside_describe_type(form, type);
	form->ops->close(form, FORM_OBJECT, 1);
}

static void readside_describe_fields(
		struct form *form, const struct side_event_field *fields, uint32_t nr)
{
	if (!nr)
		return;
	form->ops->open(form, FORM_FIELDS, "fields", nr);
	for (uint32_t i = 0; i < nr && !ferror(form->out); i++) {
		form->ops->open(form, FORM_FIELD, side_ptr_get(fields[i].field_name), 1);
		readside_describe_type(form, &fields[i].side_type);
		form->ops->close(form, FORM_FIELD, 1);
	}
	form->ops->close(form, FORM_FIELDS, nr);
}

static void readside_describe_struct(struct form *form, const struct side_type_struct *type)
{
	readside_describe_fields(
			form, side_array_elements(&type->fields), side_array_length(&type->fields));
}

/* ---- compound types ---- */

static void readside_describe_array(struct form *form, const struct side_type_array *type)
{
	form->ops->number(form, "length", type->length);
	readside_describe_inner(form, "element", side_ptr_get(type->elem_type));
}

static void readside_describe_vla(
		struct form *form, const struct side_type *length, const struct side_type *element)
{
	form->ops->open(form, FORM_OBJECT, "length", 1);
	readside_describe_inner(form, "element", length);
	form->ops->close(form, FORM_OBJECT, 1);
	readside_describe_inner(form, "element", element);
}

static void readside_describe_variant(struct form *form, const struct side_type_variant *type)
{
	uint32_t nr = side_array_length(&type->options);

	readside_describe_inner(form, "selector", &type->selector);
	form->ops->open(form, FORM_OPTIONS, "options", nr);
	for (uint32_t i = 0; i < nr && !ferror(form->out); i++) {
		const struct side_variant_option *option = side_array_at(&type->options, i);
		char range[48];

		snprintf(range, sizeof(range), "%" PRId64 "-%" PRId64, option->range_begin,
				option->range_end);
		form->ops->open(form, FORM_OPTION, range, 1);
		readside_describe_type(form, &option->side_type);
		form->ops->close(form, FORM_OPTION, 1);
	}
	form->ops->close(form, FORM_OPTIONS, nr);
}

/*
 * The properties of the element follow its label directly. An element that is optional itself gets
 * an object, otherwise its own label would be lost.
 */
static void readside_describe_optional(struct form *form, const struct side_type_optional *type)
{
	const struct side_type *element = side_ptr_get(type->elem_type);

	if (side_array_length(&type->attributes))
		readside_describe_attributes(form, "optional-attributes",
				visit_attributes_of(&type->attributes));
	form->ops->word(form, "element-type", visit_label_name(side_enum_get(element->type)));
	if (side_enum_get(element->type) == SIDE_TYPE_OPTIONAL) {
		readside_describe_inner(form, "element", element);
		return;
	}
	readside_describe_attributes(form, "attributes", visit_type_attributes(element));
	readside_describe_inside(form, element);
}

static void readside_describe_mappings(
		struct form *form, const struct side_enum_mappings *mappings, bool is_bitmap)
{
	uint32_t nr = side_array_length(&mappings->mappings);

	form->ops->open(form, FORM_MAPPINGS, "mappings", nr);
	for (uint32_t i = 0; i < nr; i++) {
		const struct side_enum_mapping *mapping = side_array_at(&mappings->mappings, i);
		const struct visit_text text = {side_ptr_get(mapping->label.p),
				mapping->label.unit_size, side_enum_get(mapping->label.byte_order)};
		char begin[24], end[24];
		size_t size;
		char *label = form_utf8(&text, &size);

		if (is_bitmap) {
			snprintf(begin, sizeof(begin), "%" PRIu64, (uint64_t)mapping->range_begin);
			snprintf(end, sizeof(end), "%" PRIu64, (uint64_t)mapping->range_end);
		} else {
			snprintf(begin, sizeof(begin), "%" PRId64, mapping->range_begin);
			snprintf(end, sizeof(end), "%" PRId64, mapping->range_end);
		}
		form->ops->mapping(form, label ? label : "", size, begin, end);
		free(label);
	}
	form->ops->close(form, FORM_MAPPINGS, nr);
}

static void readside_describe_enum(struct form *form, const struct side_type_enum *type)
{
	readside_describe_mappings(form, side_ptr_get(type->mappings), false);
	readside_describe_inner(form, "element", side_ptr_get(type->elem_type));
}

static void readside_describe_bitmap(struct form *form, const struct side_type_enum_bitmap *type)
{
	/* Both kinds of tables have the same layout. */
	readside_describe_mappings(form,
			(const struct side_enum_mappings *)(const void *)side_ptr_get(
					type->mappings),
			true);
	readside_describe_inner(form, "element", side_ptr_get(type->elem_type));
}

/* ---- gather types ---- */

#define ACCESS(member, bits, bytes) \
	((struct form_access){(member).offset, (member).access_mode.v, bits, bytes})

struct form_access form_access(const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		return ACCESS(gather->u.side_bool, gather->u.side_bool.offset_bits, -1);
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		return ACCESS(gather->u.side_integer, gather->u.side_integer.offset_bits, -1);
	case SIDE_TYPE_GATHER_BYTE: return ACCESS(gather->u.side_byte, -1, -1);
	case SIDE_TYPE_GATHER_FLOAT: return ACCESS(gather->u.side_float, -1, -1);
	case SIDE_TYPE_GATHER_STRING: return ACCESS(gather->u.side_string, -1, -1);
	case SIDE_TYPE_GATHER_STRUCT:
		return ACCESS(gather->u.side_struct, -1, gather->u.side_struct.size);
	case SIDE_TYPE_GATHER_ARRAY: return ACCESS(gather->u.side_array, -1, -1);
	case SIDE_TYPE_GATHER_VLA: return ACCESS(gather->u.side_vla, -1, -1);
	default: return (struct form_access){.bits = -1, .bytes = -1};
	}
}

static void readside_describe_gathered(struct form *form, const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;

	form->ops->open(form, FORM_OBJECT, "gather", 1);
	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL: readside_describe_bool(form, &gather->u.side_bool.type); break;
	case SIDE_TYPE_GATHER_INTEGER:
	case SIDE_TYPE_GATHER_POINTER:
		readside_describe_integer(form, &gather->u.side_integer.type);
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		readside_describe_float(form, &gather->u.side_float.type);
		break;
	case SIDE_TYPE_GATHER_STRING:
		readside_describe_string(form, &gather->u.side_string.type);
		break;
	case SIDE_TYPE_GATHER_STRUCT:
		readside_describe_struct(form, side_ptr_get(gather->u.side_struct.type));
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		readside_describe_array(form, &gather->u.side_array.type);
		break;
	case SIDE_TYPE_GATHER_VLA:
		readside_describe_vla(form, side_ptr_get(gather->u.side_vla.type.length_type),
				side_ptr_get(gather->u.side_vla.type.elem_type));
		break;
	default: /* GATHER_BYTE has no properties. */ break;
	}
	form->ops->close(form, FORM_OBJECT, 1);
}

static void readside_describe_gather(struct form *form, const struct side_type *type)
{
	struct form_access access = form_access(type);

	form->ops->number(form, "offset", access.offset);
	if (access.bits >= 0)
		form->ops->number(form, "offset-bits", (uint64_t)access.bits);
	if (access.bytes >= 0)
		form->ops->number(form, "size", (uint64_t)access.bytes);
	form->ops->word(form, "access-mode",
			access.mode == SIDE_TYPE_GATHER_ACCESS_POINTER ? "pointer" : "direct");
	readside_describe_gathered(form, type);
}

/* ---- all types ---- */

static void readside_describe_inside(struct form *form, const struct side_type *type)
{
	const struct side_type_vla_visitor *visitor;
	const struct side_type_vla *vla;
	unsigned int label = side_enum_get(type->type);

	switch (label) {
	case SIDE_TYPE_NULL:
	case SIDE_TYPE_BYTE:
	case SIDE_TYPE_DYNAMIC: return;
	case SIDE_TYPE_BOOL: readside_describe_bool(form, &type->u.side_bool); return;
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128: readside_describe_float(form, &type->u.side_float); return;
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: readside_describe_string(form, &type->u.side_string); return;
	case SIDE_TYPE_STRUCT:
		readside_describe_struct(form, side_ptr_get(type->u.side_struct));
		return;
	case SIDE_TYPE_VARIANT:
		readside_describe_variant(form, side_ptr_get(type->u.side_variant));
		return;
	case SIDE_TYPE_OPTIONAL:
		readside_describe_optional(form, side_ptr_get(type->u.side_optional));
		return;
	case SIDE_TYPE_ARRAY:
		readside_describe_array(form, side_ptr_get(type->u.side_array));
		return;
	case SIDE_TYPE_VLA:
		vla = side_ptr_get(type->u.side_vla);
		readside_describe_vla(
				form, side_ptr_get(vla->length_type), side_ptr_get(vla->elem_type));
		return;
	case SIDE_TYPE_VLA_VISITOR:
		visitor = side_ptr_get(type->u.side_vla_visitor);
		readside_describe_vla(form, side_ptr_get(visitor->length_type),
				side_ptr_get(visitor->elem_type));
		return;
	case SIDE_TYPE_ENUM:
	case SIDE_TYPE_GATHER_ENUM: readside_describe_enum(form, &type->u.side_enum); return;
	case SIDE_TYPE_ENUM_BITMAP:
		readside_describe_bitmap(form, &type->u.side_enum_bitmap);
		return;
	default: break;
	}
	if (visit_label_is_gather(label))
		readside_describe_gather(form, type);
	else
		readside_describe_integer(form, &type->u.side_integer);
}

void form_event(struct form *form, const struct readside_event *event)
{
	const struct side_event_description *description = event->description;
	unsigned int level = side_enum_get(description->loglevel);
	char digits[16];

	form->ops->event_begin(form, event->path);
	form->ops->number(form, "version", description->version);
	if (event->state.there)
		form->ops->number(form, "state-version", event->state.version);
	form->ops->name(form, "provider", side_ptr_get(description->provider_name));
	form->ops->name(form, "event", side_ptr_get(description->event_name));
	snprintf(digits, sizeof(digits), "%u", level);
	form->ops->word(form, "loglevel",
			level <= SIDE_LOGLEVEL_DEBUG ? visit_loglevel_name(level) : digits);
	readside_describe_attributes(
			form, "attributes", visit_attributes_of(&description->attributes));
	readside_describe_fields(form, side_array_elements(&description->fields),
			side_array_length(&description->fields));
	form->ops->event_end(form);
}
