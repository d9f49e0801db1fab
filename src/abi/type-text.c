/* SPDX-License-Identifier: MIT */
/* Writes types for people: short, C-like, one line. */
#include <string.h>

#include "abi/visit.h"

#define PUT(out, literal) visit_buffer_append(out, literal, sizeof(literal) - 1)

/* The labels of an enumeration that are printed; the JSON has the whole table. */
#define LABELS_MAX 8

static void abi_type_text_append_any(struct visit_buffer *out, const struct side_type *type);

static void abi_type_text_append_foreign(struct visit_buffer *out, unsigned int byte_order)
{
	if (byte_order != SIDE_TYPE_BYTE_ORDER_HOST)
		visit_buffer_printf(out, "%s", byte_order == SIDE_TYPE_BYTE_ORDER_BE ? "be" : "le");
}

static void abi_type_text_append_len_bits(
		struct visit_buffer *out, unsigned int len_bits, unsigned int size)
{
	if (len_bits && len_bits != 8 * size)
		visit_buffer_printf(out, ":%u", len_bits);
}

static void abi_type_text_append_integer(
		struct visit_buffer *out, const struct side_type_integer *type)
{
	visit_buffer_printf(out, "%c%u", type->signedness ? 's' : 'u', 8u * type->integer_size);
	if (type->integer_size > 1)
		abi_type_text_append_foreign(out, type->byte_order.v);
	abi_type_text_append_len_bits(out, type->len_bits, type->integer_size);
}

static void abi_type_text_append_pointer(
		struct visit_buffer *out, const struct side_type_integer *type)
{
	PUT(out, "pointer");
	abi_type_text_append_foreign(out, type->byte_order.v);
	abi_type_text_append_len_bits(out, type->len_bits, type->integer_size);
}

static void abi_type_text_append_bool(struct visit_buffer *out, const struct side_type_bool *type)
{
	PUT(out, "bool");
	abi_type_text_append_len_bits(out, type->len_bits, type->bool_size);
}

static void abi_type_text_append_float(struct visit_buffer *out, const struct side_type_float *type)
{
	visit_buffer_printf(out, "f%u", 8u * type->float_size);
	abi_type_text_append_foreign(out, type->byte_order.v);
}

static void abi_type_text_append_string(
		struct visit_buffer *out, const struct side_type_string *type)
{
	PUT(out, "string");
	if (type->unit_size > 1) {
		visit_buffer_printf(out, "%u", 8u * type->unit_size);
		abi_type_text_append_foreign(out, type->byte_order.v);
	}
}

static void abi_type_text_append_fields(
		struct visit_buffer *out, const struct side_event_field *fields, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr && !out->error; i++) {
		if (i)
			PUT(out, ", ");
		visit_field_text(&fields[i], out);
	}
}

static void abi_type_text_append_struct(
		struct visit_buffer *out, const struct side_type_struct *type)
{
	uint32_t nr = side_array_length(&type->fields);

	PUT(out, "struct {");
	if (nr)
		PUT(out, " ");
	abi_type_text_append_fields(out, side_array_elements(&type->fields), nr);
	PUT(out, " }");
}

static void abi_type_text_append_label(
		struct visit_buffer *out, const struct side_type_raw_string *label)
{
	struct visit_text text = {
			.at = side_ptr_get(label->p),
			.unit_size = label->unit_size,
			.byte_order = label->byte_order.v,
	};
	unsigned char unit[VISIT_TEXT_UNIT_MAX];
	unsigned int size;

	while ((size = visit_text_next(&text, unit)) != 0)
		visit_buffer_append(out, unit, size);
}

static void abi_type_text_append_number(
		struct visit_buffer *out, const char *before, int64_t number, bool is_unsigned)
{
	if (is_unsigned)
		visit_buffer_printf(out, "%s%llu", before, (unsigned long long)number);
	else
		visit_buffer_printf(out, "%s%lld", before, (long long)number);
}

/* label = 1, label = 1..3; the tables of enumerations and bitmaps have the same layout. */
static void abi_type_text_append_mappings(
		struct visit_buffer *out, const struct side_enum_mappings *mappings, bool is_bitmap)
{
	const struct side_enum_mapping *mapping = side_array_elements(&mappings->mappings);
	uint32_t i, nr = side_array_length(&mappings->mappings);

	PUT(out, " {");
	for (i = 0; i < nr && i < LABELS_MAX; i++) {
		visit_buffer_printf(out, "%s ", i ? "," : "");
		abi_type_text_append_label(out, &mapping[i].label);
		abi_type_text_append_number(out, " = ", mapping[i].range_begin, is_bitmap);
		if (mapping[i].range_end != mapping[i].range_begin)
			abi_type_text_append_number(out, "..", mapping[i].range_end, is_bitmap);
	}
	if (i < nr)
		PUT(out, ", ...");
	PUT(out, " }");
}

static void abi_type_text_append_enum(struct visit_buffer *out, const struct side_type_enum *type)
{
	PUT(out, "enum ");
	abi_type_text_append_any(out, side_ptr_get(type->elem_type));
	abi_type_text_append_mappings(out, side_ptr_get(type->mappings), false);
}

static void abi_type_text_append_bitmap(
		struct visit_buffer *out, const struct side_type_enum_bitmap *type)
{
	PUT(out, "bitmap ");
	abi_type_text_append_any(out, side_ptr_get(type->elem_type));
	abi_type_text_append_mappings(out,
			(const struct side_enum_mappings *)(const void *)side_ptr_get(
					type->mappings),
			true);
}

static void abi_type_text_append_variant(
		struct visit_buffer *out, const struct side_type_variant *type)
{
	const struct side_variant_option *options = side_array_elements(&type->options);
	uint32_t i, nr = side_array_length(&type->options);

	PUT(out, "variant (");
	abi_type_text_append_any(out, &type->selector);
	PUT(out, ") {");
	for (i = 0; i < nr && !out->error; i++) {
		visit_buffer_printf(
				out, "%s %lld", i ? "," : "", (long long)options[i].range_begin);
		if (options[i].range_end != options[i].range_begin)
			visit_buffer_printf(out, "..%lld", (long long)options[i].range_end);
		PUT(out, ": ");
		abi_type_text_append_any(out, &options[i].side_type);
	}
	PUT(out, " }");
}

static void abi_type_text_append_array(struct visit_buffer *out, const struct side_type_array *type)
{
	abi_type_text_append_any(out, side_ptr_get(type->elem_type));
	visit_buffer_printf(out, "[%u]", type->length);
}

static void abi_type_text_append_vla(struct visit_buffer *out, const struct side_type *element)
{
	abi_type_text_append_any(out, element);
	PUT(out, "[]");
}

static void abi_type_text_append_gather(struct visit_buffer *out, const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		abi_type_text_append_bool(out, &gather->u.side_bool.type);
		break;
	case SIDE_TYPE_GATHER_INTEGER:
		abi_type_text_append_integer(out, &gather->u.side_integer.type);
		break;
	case SIDE_TYPE_GATHER_POINTER:
		abi_type_text_append_pointer(out, &gather->u.side_integer.type);
		break;
	case SIDE_TYPE_GATHER_BYTE: PUT(out, "byte"); break;
	case SIDE_TYPE_GATHER_FLOAT:
		abi_type_text_append_float(out, &gather->u.side_float.type);
		break;
	case SIDE_TYPE_GATHER_STRING:
		abi_type_text_append_string(out, &gather->u.side_string.type);
		break;
	case SIDE_TYPE_GATHER_STRUCT:
		abi_type_text_append_struct(out, side_ptr_get(gather->u.side_struct.type));
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		abi_type_text_append_array(out, &gather->u.side_array.type);
		break;
	case SIDE_TYPE_GATHER_VLA:
		abi_type_text_append_vla(out, side_ptr_get(gather->u.side_vla.type.elem_type));
		break;
	default: /* GATHER_ENUM */ abi_type_text_append_enum(out, &type->u.side_enum); break;
	}
}

static void abi_type_text_append_any(struct visit_buffer *out, const struct side_type *type)
{
	unsigned int label = type->type.v;

	switch (label) {
	case SIDE_TYPE_NULL: PUT(out, "null"); break;
	case SIDE_TYPE_BOOL: abi_type_text_append_bool(out, &type->u.side_bool); break;
	case SIDE_TYPE_BYTE: PUT(out, "byte"); break;
	case SIDE_TYPE_POINTER: abi_type_text_append_pointer(out, &type->u.side_integer); break;
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128: abi_type_text_append_float(out, &type->u.side_float); break;
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: abi_type_text_append_string(out, &type->u.side_string); break;
	case SIDE_TYPE_STRUCT:
		abi_type_text_append_struct(out, side_ptr_get(type->u.side_struct));
		break;
	case SIDE_TYPE_VARIANT:
		abi_type_text_append_variant(out, side_ptr_get(type->u.side_variant));
		break;
	case SIDE_TYPE_OPTIONAL:
		abi_type_text_append_any(
				out, side_ptr_get(side_ptr_get(type->u.side_optional)->elem_type));
		PUT(out, "?");
		break;
	case SIDE_TYPE_ARRAY:
		abi_type_text_append_array(out, side_ptr_get(type->u.side_array));
		break;
	case SIDE_TYPE_VLA:
		abi_type_text_append_vla(
				out, side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type));
		break;
	case SIDE_TYPE_VLA_VISITOR:
		abi_type_text_append_vla(out,
				side_ptr_get(side_ptr_get(type->u.side_vla_visitor)->elem_type));
		break;
	case SIDE_TYPE_ENUM: abi_type_text_append_enum(out, &type->u.side_enum); break;
	case SIDE_TYPE_ENUM_BITMAP:
		abi_type_text_append_bitmap(out, &type->u.side_enum_bitmap);
		break;
	case SIDE_TYPE_DYNAMIC: PUT(out, "dynamic"); break;
	default:
		if (visit_label_is_gather(label))
			abi_type_text_append_gather(out, type);
		else
			abi_type_text_append_integer(out, &type->u.side_integer);
		break;
	}
}

int visit_type_text(const struct side_type *type, struct visit_buffer *out)
{
	abi_type_text_append_any(out, type);
	return out->error;
}

int visit_field_text(const struct side_event_field *field, struct visit_buffer *out)
{
	const char *name = side_ptr_get(field->field_name);

	visit_buffer_append(out, name, strlen(name));
	PUT(out, ": ");
	return visit_type_text(&field->side_type, out);
}

int visit_fields_text(const struct side_event_description *desc, struct visit_buffer *out)
{
	uint32_t nr = side_array_length(&desc->fields);

	abi_type_text_append_fields(out, side_array_elements(&desc->fields), nr);
	if (desc->flags & SIDE_EVENT_FLAG_VARIADIC) {
		if (nr)
			PUT(out, ", ");
		PUT(out, "...");
	}
	return out->error;
}
