/* SPDX-License-Identifier: MIT */
/* Prints the description of an event when it is registered. */
#include "tracers/console/description.h"
#include "tracers/console/scalar.h"

#define PRINT(line, ...) visit_buffer_printf(&(line)->text, __VA_ARGS__)

static void console_description_print_type(struct console_line *line, const struct side_type *type);

/* { [attrs, ]type: T } */
static void console_description_put_braced_type(
		struct console_line *line, const struct side_type *type)
{
	CONSOLE_PUT(line, "{ ");
	console_description_print_type(line, type);
	CONSOLE_PUT(line, " }");
}

static void console_description_print_fields(
		struct console_line *line, const struct side_event_field *fields, uint32_t nr)
{
	uint32_t i;

	CONSOLE_PUT(line, "fields: {");
	for (i = 0; i < nr; i++) {
		CONSOLE_PUT(line, " ");
		console_put_name(line, side_ptr_get(fields[i].field_name));
		CONSOLE_PUT(line, ": ");
		console_description_put_braced_type(line, &fields[i].side_type);
		if (i + 1 < nr)
			CONSOLE_PUT(line, ",");
	}
	CONSOLE_PUT(line, " }");
}

static void console_description_print_byte_order(struct console_line *line, unsigned int byte_order)
{
	PRINT(line, ", byte_order: \"%s\"", byte_order == SIDE_TYPE_BYTE_ORDER_BE ? "be" : "le");
}

static void console_description_print_len_bits(struct console_line *line, unsigned int len_bits)
{
	if (len_bits)
		PRINT(line, ", len_bits: %u", len_bits);
}

/* The contents of the braces of scalar types, which their gather forms share. */

static void console_description_print_integer(
		struct console_line *line, const struct side_type_integer *type)
{
	PRINT(line, "size: %u, signedness: %s", type->integer_size,
			type->signedness ? "true" : "false");
	console_description_print_byte_order(line, type->byte_order.v);
	console_description_print_len_bits(line, type->len_bits);
}

static void console_description_print_bool(
		struct console_line *line, const struct side_type_bool *type)
{
	PRINT(line, "size: %u", type->bool_size);
	console_description_print_len_bits(line, type->len_bits);
}

static void console_description_print_float(
		struct console_line *line, const struct side_type_float *type)
{
	PRINT(line, "size: %u", type->float_size);
	console_description_print_byte_order(line, type->byte_order.v);
}

static void console_description_print_string(
		struct console_line *line, const struct side_type_string *type)
{
	PRINT(line, "unit_size: %u", type->unit_size);
	if (type->unit_size > 1)
		console_description_print_byte_order(line, type->byte_order.v);
}

static void console_description_print_access(
		struct console_line *line, uint64_t offset, unsigned int mode)
{
	PRINT(line, "offset: %llu, access_mode: \"%s\"", (unsigned long long)offset,
			mode == SIDE_TYPE_GATHER_ACCESS_POINTER ? "pointer" : "direct");
}

static void console_description_put_bit_access(struct console_line *line, uint64_t offset,
		unsigned int offset_bits, unsigned int mode)
{
	PRINT(line, ", offset: %llu, offset_bits: %u, access_mode: \"%s\"",
			(unsigned long long)offset, offset_bits,
			mode == SIDE_TYPE_GATHER_ACCESS_POINTER ? "pointer" : "direct");
}

static void console_description_print_enum(
		struct console_line *line, const char *word, const struct side_type_enum *type)
{
	const struct side_enum_mappings *mappings = side_ptr_get(type->mappings);
	const struct side_enum_mapping *mapping = side_array_elements(&mappings->mappings);
	uint32_t i;

	PRINT(line, "%s { labels: {", word);
	for (i = 0; i < side_array_length(&mappings->mappings); i++) {
		PRINT(line, "%s [ %lld", i ? "," : "", (long long)mapping[i].range_begin);
		if (mapping[i].range_end != mapping[i].range_begin)
			PRINT(line, " - %lld", (long long)mapping[i].range_end);
		CONSOLE_PUT(line, " ]: ");
		console_put_raw_string(line, &mapping[i].label);
	}
	CONSOLE_PUT(line, " }, element: {  ");
	console_description_put_braced_type(line, side_ptr_get(type->elem_type));
	CONSOLE_PUT(line, " } }");
}

static void console_description_print_bitmap(
		struct console_line *line, const struct side_type_enum_bitmap *type)
{
	const struct side_enum_bitmap_mappings *mappings = side_ptr_get(type->mappings);
	const struct side_enum_bitmap_mapping *mapping = side_array_elements(&mappings->mappings);
	uint32_t i;

	CONSOLE_PUT(line, "enum_bitmap { labels: {");
	for (i = 0; i < side_array_length(&mappings->mappings); i++) {
		PRINT(line, "%s [ %llu", i ? "," : "", (unsigned long long)mapping[i].range_begin);
		if (mapping[i].range_end != mapping[i].range_begin)
			PRINT(line, " - %llu", (unsigned long long)mapping[i].range_end);
		CONSOLE_PUT(line, " ]: ");
		console_put_raw_string(line, &mapping[i].label);
	}
	CONSOLE_PUT(line, " }, element: {  ");
	console_description_put_braced_type(line, side_ptr_get(type->elem_type));
	CONSOLE_PUT(line, " } }");
}

static void console_description_print_variant(
		struct console_line *line, const struct side_type_variant *type)
{
	const struct side_variant_option *options = side_array_elements(&type->options);
	uint32_t i;

	CONSOLE_PUT(line, "variant { options: {");
	console_description_print_type(line, &type->selector);
	for (i = 0; i < side_array_length(&type->options); i++) {
		PRINT(line, "%s [ %lld", i ? "," : "", (long long)options[i].range_begin);
		if (options[i].range_end != options[i].range_begin)
			PRINT(line, " - %lld", (long long)options[i].range_end);
		CONSOLE_PUT(line, " ]: ");
		console_description_put_braced_type(line, &options[i].side_type);
	}
	CONSOLE_PUT(line, " } }");
}

/* length: { type: T }, element: { type: T } } */
static void console_description_print_vla(struct console_line *line, const struct side_type *length,
		const struct side_type *element)
{
	CONSOLE_PUT(line, "length: ");
	console_description_put_braced_type(line, length);
	CONSOLE_PUT(line, ", element: ");
	console_description_put_braced_type(line, element);
	CONSOLE_PUT(line, " }");
}

static void console_description_print_array(
		struct console_line *line, const struct side_type *element)
{
	CONSOLE_PUT(line, ", element: ");
	console_description_put_braced_type(line, element);
	CONSOLE_PUT(line, " }");
}

static void console_description_print_struct(
		struct console_line *line, const struct side_type_struct *type)
{
	console_description_print_fields(
			line, side_array_elements(&type->fields), side_array_length(&type->fields));
	CONSOLE_PUT(line, " }");
}

static void console_description_print_gather(
		struct console_line *line, const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		CONSOLE_PUT(line, "gather_bool { ");
		console_description_print_bool(line, &gather->u.side_bool.type);
		console_description_put_bit_access(line, gather->u.side_bool.offset,
				gather->u.side_bool.offset_bits, gather->u.side_bool.access_mode.v);
		CONSOLE_PUT(line, " }");
		break;
	case SIDE_TYPE_GATHER_BYTE:
		CONSOLE_PUT(line, "gather_byte { ");
		console_description_print_access(line, gather->u.side_byte.offset,
				gather->u.side_byte.access_mode.v);
		CONSOLE_PUT(line, " }");
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		CONSOLE_PUT(line, "gather_float { ");
		console_description_print_float(line, &gather->u.side_float.type);
		CONSOLE_PUT(line, ", ");
		console_description_print_access(line, gather->u.side_float.offset,
				gather->u.side_float.access_mode.v);
		CONSOLE_PUT(line, " }");
		break;
	case SIDE_TYPE_GATHER_STRING:
		CONSOLE_PUT(line, "gather_string { ");
		console_description_print_string(line, &gather->u.side_string.type);
		CONSOLE_PUT(line, ", ");
		console_description_print_access(line, gather->u.side_string.offset,
				gather->u.side_string.access_mode.v);
		CONSOLE_PUT(line, " }");
		break;
	case SIDE_TYPE_GATHER_STRUCT:
		PRINT(line, "gather_struct { size: %u, ", gather->u.side_struct.size);
		console_description_print_access(line, gather->u.side_struct.offset,
				gather->u.side_struct.access_mode.v);
		CONSOLE_PUT(line, ", ");
		console_description_print_struct(line, side_ptr_get(gather->u.side_struct.type));
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		PRINT(line, "gather_array { length: %u, ", gather->u.side_array.type.length);
		console_description_print_access(line, gather->u.side_array.offset,
				gather->u.side_array.access_mode.v);
		console_description_print_array(
				line, side_ptr_get(gather->u.side_array.type.elem_type));
		break;
	case SIDE_TYPE_GATHER_VLA:
		CONSOLE_PUT(line, "gather_vla { ");
		console_description_print_access(
				line, gather->u.side_vla.offset, gather->u.side_vla.access_mode.v);
		CONSOLE_PUT(line, ", ");
		console_description_print_vla(line,
				side_ptr_get(gather->u.side_vla.type.length_type),
				side_ptr_get(gather->u.side_vla.type.elem_type));
		break;
	case SIDE_TYPE_GATHER_ENUM:
		console_description_print_enum(line, "gather_enum", &type->u.side_enum);
		break;
	default: /* GATHER_INTEGER, GATHER_POINTER */
		PRINT(line, "%s { ",
				side_enum_get(type->type) == SIDE_TYPE_GATHER_POINTER
						? "gather_pointer"
						: "gather_integer");
		console_description_print_integer(line, &gather->u.side_integer.type);
		console_description_put_bit_access(line, gather->u.side_integer.offset,
				gather->u.side_integer.offset_bits,
				gather->u.side_integer.access_mode.v);
		CONSOLE_PUT(line, " }");
		break;
	}
}

static void console_description_put_compound(
		struct console_line *line, const struct side_type *type)
{
	const struct side_type_vla_visitor *visitor;
	const struct side_type_vla *vla;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_STRUCT:
		CONSOLE_PUT(line, "struct { ");
		console_description_print_struct(line, side_ptr_get(type->u.side_struct));
		break;
	case SIDE_TYPE_VARIANT:
		console_description_print_variant(line, side_ptr_get(type->u.side_variant));
		break;
	case SIDE_TYPE_OPTIONAL:
		CONSOLE_PUT(line, "optional {");
		console_description_print_type(
				line, side_ptr_get(side_ptr_get(type->u.side_optional)->elem_type));
		CONSOLE_PUT(line, " }");
		break;
	case SIDE_TYPE_ARRAY:
		PRINT(line, "array { length: %u", side_ptr_get(type->u.side_array)->length);
		console_description_print_array(
				line, side_ptr_get(side_ptr_get(type->u.side_array)->elem_type));
		break;
	case SIDE_TYPE_VLA:
		vla = side_ptr_get(type->u.side_vla);
		CONSOLE_PUT(line, "vla { ");
		console_description_print_vla(
				line, side_ptr_get(vla->length_type), side_ptr_get(vla->elem_type));
		break;
	default: /* VLA_VISITOR */
		visitor = side_ptr_get(type->u.side_vla_visitor);
		CONSOLE_PUT(line, "vla_visitor { ");
		console_description_print_vla(line, side_ptr_get(visitor->length_type),
				side_ptr_get(visitor->elem_type));
		break;
	}
}

/* [attrs, ]type: T */
static void console_description_print_type(struct console_line *line, const struct side_type *type)
{
	struct visit_attributes attributes = visit_type_attributes(type);
	unsigned int label = type->type.v;

	console_put_attributes(line, attributes, "attr:", false);
	if (attributes.nr)
		CONSOLE_PUT(line, ", ");
	CONSOLE_PUT(line, "type: ");
	switch (label) {
	case SIDE_TYPE_NULL: CONSOLE_PUT(line, "null"); break;
	case SIDE_TYPE_BYTE: CONSOLE_PUT(line, "byte"); break;
	case SIDE_TYPE_DYNAMIC: CONSOLE_PUT(line, "dynamic"); break;
	case SIDE_TYPE_BOOL:
		CONSOLE_PUT(line, "bool { ");
		console_description_print_bool(line, &type->u.side_bool);
		CONSOLE_PUT(line, " }");
		break;
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128:
		CONSOLE_PUT(line, "float { ");
		console_description_print_float(line, &type->u.side_float);
		CONSOLE_PUT(line, " }");
		break;
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32:
		CONSOLE_PUT(line, "string { ");
		console_description_print_string(line, &type->u.side_string);
		CONSOLE_PUT(line, " }");
		break;
	case SIDE_TYPE_ENUM:
		console_description_print_enum(line, "enum", &type->u.side_enum);
		break;
	case SIDE_TYPE_ENUM_BITMAP:
		console_description_print_bitmap(line, &type->u.side_enum_bitmap);
		break;
	default:
		if (visit_label_is_gather(label)) {
			console_description_print_gather(line, type);
		} else if (label >= SIDE_TYPE_STRUCT) {
			console_description_put_compound(line, type);
		} else {
			PRINT(line, "%s { ", label == SIDE_TYPE_POINTER ? "pointer" : "integer");
			console_description_print_integer(line, &type->u.side_integer);
			CONSOLE_PUT(line, " }");
		}
		break;
	}
}

void console_put_description(struct console_line *line, const struct side_event_description *desc)
{
	struct visit_attributes attributes = visit_attributes_of(&desc->attributes);
	uint32_t nr = side_array_length(&desc->fields);

	CONSOLE_PUT(line, "event description: provider: ");
	console_put_name(line, side_ptr_get(desc->provider_name));
	CONSOLE_PUT(line, ", event: ");
	console_put_name(line, side_ptr_get(desc->event_name));
	if (attributes.nr)
		CONSOLE_PUT(line, ", ");
	console_put_attributes(line, attributes, "attr:", false);
	if (nr) {
		CONSOLE_PUT(line, ", ");
		console_description_print_fields(line, side_array_elements(&desc->fields), nr);
	}
	if (desc->flags & SIDE_EVENT_FLAG_VARIADIC)
		CONSOLE_PUT(line, ", <variadic fields>");
	CONSOLE_PUT(line, "\n");
}
