/* SPDX-License-Identifier: MIT */
/* Writes a description as JSON, schema 1, as specified in docs/spec/description-json.md. */
#include <stdio.h>
#include <string.h>

#include "abi/visit.h"
#include "base/inside/json-escape.h"

#define PUT(out, literal) visit_buffer_append(out, literal, sizeof(literal) - 1)

static void abi_json_append_type(struct visit_buffer *out, const struct side_type *type);

static void abi_json_put(void *out, const char *bytes, size_t size)
{
	visit_buffer_append(out, bytes, size);
}

int visit_json_string(struct visit_buffer *out, const void *utf8, size_t size)
{
	PUT(out, "\"");
	json_escape_text(utf8, size, 0, abi_json_put, out);
	PUT(out, "\"");
	return out->error;
}

static void abi_json_append_name(struct visit_buffer *out, const char *name)
{
	visit_json_string(out, name, strlen(name));
}

/* "name":"..." and, unless it is UTF-8, "name_encoding":"utf16le" */
static void abi_json_append_text(struct visit_buffer *out, const char *name,
		const struct side_type_raw_string *string)
{
	struct visit_text text = {
			.at = side_ptr_get(string->p),
			.unit_size = string->unit_size,
			.byte_order = string->byte_order.v,
	};
	struct visit_buffer utf8;
	unsigned char memory[256], unit[VISIT_TEXT_UNIT_MAX];
	unsigned int size;
	size_t whole;

	visit_buffer_printf(out, "\"%s\":", name);
	if (!text.at) {
		PUT(out, "null");
		return;
	}
	/* Short text, the usual case, stays on the stack. */
	whole = visit_text_utf8(text.at, text.unit_size, text.byte_order, memory, sizeof(memory));
	if (whole <= sizeof(memory)) {
		visit_json_string(out, memory, whole);
	} else {
		visit_buffer_pages(&utf8);
		while ((size = visit_text_next(&text, unit)) != 0)
			visit_buffer_append(&utf8, unit, size);
		if (utf8.error)
			out->error = utf8.error;
		visit_json_string(out, utf8.data, utf8.size);
		visit_buffer_free(&utf8);
	}
	if (string->unit_size != 1)
		visit_buffer_printf(out, ",\"%s_encoding\":\"utf%u%s\"", name,
				8u * string->unit_size,
				string->byte_order.v == SIDE_TYPE_BYTE_ORDER_BE ? "be" : "le");
}

/* Append the decimal number that converts back to the same double, and always the bits. */
static void abi_json_append_float(struct visit_buffer *out, const struct visit_value *value)
{
	char digits[VISIT_FLOAT_DIGITS_MAX];
	unsigned int i;

	visit_value_float_digits(value, value->size == 16 ? 36 : 17, digits);
	visit_buffer_printf(out, "\"value\":\"%s\"", digits);
	PUT(out, ",\"bits\":\"0x");
	for (i = 0; i < value->size; i++)
		visit_buffer_printf(out, "%02x",
				value->bytes[SIDE_TYPE_FLOAT_WORD_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_LE
								? value->size - 1 - i
								: i]);
	PUT(out, "\"");
}

static void abi_json_append_lower(struct visit_buffer *out, const char *name)
{
	for (; *name; name++) {
		char lower = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;

		visit_buffer_append(out, &lower, 1);
	}
}

static void abi_json_append_attribute(struct visit_buffer *out, const struct side_attr *attr)
{
	char digits[VISIT_DIGITS_MAX];
	struct visit_value value;
	const char *quote;

	PUT(out, "{");
	abi_json_append_text(out, "key", &attr->key);
	PUT(out, ",\"type\":\"");
	abi_json_append_lower(out, visit_attribute_type_name(attr->value.type.v));
	PUT(out, "\",");
	visit_load_attribute(&attr->value, &value);
	switch (value.kind) {
	case VISIT_BOOL:
		visit_buffer_printf(out, "\"value\":%s", value.lo ? "true" : "false");
		break;
	case VISIT_UNSIGNED:
	case VISIT_SIGNED:
		visit_value_digits(&value, 10, false, digits);
		quote = value.size == 16 ? "\"" : "";
		visit_buffer_printf(out, "\"value\":%s%s%s", quote, digits, quote);
		break;
	case VISIT_FLOAT: abi_json_append_float(out, &value); break;
	case VISIT_STRING: abi_json_append_text(out, "value", &attr->value.u.string_value); break;
	default: PUT(out, "\"value\":null"); break;
	}
	PUT(out, "}");
}

static void abi_json_append_attributes(struct visit_buffer *out, struct visit_attributes attributes)
{
	uint32_t i;

	PUT(out, "\"attributes\":[");
	for (i = 0; i < attributes.nr; i++) {
		if (i)
			PUT(out, ",");
		abi_json_append_attribute(out, &attributes.attr[i]);
	}
	PUT(out, "]");
}

static void abi_json_append_fields(
		struct visit_buffer *out, const struct side_event_field *fields, uint32_t nr)
{
	uint32_t i;

	PUT(out, "\"fields\":[");
	for (i = 0; i < nr && !out->error; i++) {
		if (i)
			PUT(out, ",");
		PUT(out, "{\"name\":");
		abi_json_append_name(out, side_ptr_get(fields[i].field_name));
		PUT(out, ",\"type\":");
		abi_json_append_type(out, &fields[i].side_type);
		PUT(out, "}");
	}
	PUT(out, "]");
}

/* Each of these ends in a comma, because the attributes follow. */

static void abi_json_append_byte_order(struct visit_buffer *out, unsigned int byte_order)
{
	visit_buffer_printf(out, "\"byte_order\":\"%s\",",
			byte_order == SIDE_TYPE_BYTE_ORDER_BE ? "be" : "le");
}

static void abi_json_append_integer(struct visit_buffer *out, const struct side_type_integer *type)
{
	visit_buffer_printf(out, "\"size\":%u,\"len_bits\":%u,\"signed\":%s,", type->integer_size,
			type->len_bits, type->signedness ? "true" : "false");
	abi_json_append_byte_order(out, type->byte_order.v);
}

static void abi_json_append_bool(struct visit_buffer *out, const struct side_type_bool *type)
{
	visit_buffer_printf(out, "\"size\":%u,\"len_bits\":%u,", type->bool_size, type->len_bits);
	abi_json_append_byte_order(out, type->byte_order.v);
}

static void abi_json_append_float_type(struct visit_buffer *out, const struct side_type_float *type)
{
	visit_buffer_printf(out, "\"size\":%u,", type->float_size);
	abi_json_append_byte_order(out, type->byte_order.v);
}

static void abi_json_append_string(struct visit_buffer *out, const struct side_type_string *type)
{
	visit_buffer_printf(out, "\"unit_size\":%u,", type->unit_size);
	abi_json_append_byte_order(out, type->byte_order.v);
}

static void abi_json_append_inner(
		struct visit_buffer *out, const char *name, const struct side_type *type)
{
	visit_buffer_printf(out, "\"%s\":", name);
	abi_json_append_type(out, type);
	PUT(out, ",");
}

static void abi_json_append_access(struct visit_buffer *out, uint64_t offset, unsigned int mode)
{
	visit_buffer_printf(out, "\"offset\":%llu,\"access_mode\":\"%s\",",
			(unsigned long long)offset,
			mode == SIDE_TYPE_GATHER_ACCESS_POINTER ? "pointer" : "direct");
}

static void abi_json_append_struct(struct visit_buffer *out, const struct side_type_struct *type)
{
	abi_json_append_fields(
			out, side_array_elements(&type->fields), side_array_length(&type->fields));
	PUT(out, ",");
}

static void abi_json_append_variant(struct visit_buffer *out, const struct side_type_variant *type)
{
	const struct side_variant_option *options = side_array_elements(&type->options);
	uint32_t i;

	abi_json_append_inner(out, "selector", &type->selector);
	PUT(out, "\"options\":[");
	for (i = 0; i < side_array_length(&type->options) && !out->error; i++) {
		visit_buffer_printf(out, "%s{\"begin\":%lld,\"end\":%lld,\"type\":", i ? "," : "",
				(long long)options[i].range_begin, (long long)options[i].range_end);
		abi_json_append_type(out, &options[i].side_type);
		PUT(out, "}");
	}
	PUT(out, "],");
}

static void abi_json_append_enum(struct visit_buffer *out, const struct side_type_enum *type)
{
	const struct side_enum_mappings *mappings = side_ptr_get(type->mappings);
	const struct side_enum_mapping *mapping = side_array_elements(&mappings->mappings);
	uint32_t i;

	PUT(out, "\"mappings\":[");
	for (i = 0; i < side_array_length(&mappings->mappings) && !out->error; i++) {
		visit_buffer_printf(out, "%s{\"begin\":%lld,\"end\":%lld,", i ? "," : "",
				(long long)mapping[i].range_begin, (long long)mapping[i].range_end);
		abi_json_append_text(out, "label", &mapping[i].label);
		PUT(out, "}");
	}
	PUT(out, "],");
	abi_json_append_inner(out, "element", side_ptr_get(type->elem_type));
}

static void abi_json_append_bitmap(
		struct visit_buffer *out, const struct side_type_enum_bitmap *type)
{
	const struct side_enum_bitmap_mappings *mappings = side_ptr_get(type->mappings);
	const struct side_enum_bitmap_mapping *mapping = side_array_elements(&mappings->mappings);
	uint32_t i;

	PUT(out, "\"mappings\":[");
	for (i = 0; i < side_array_length(&mappings->mappings) && !out->error; i++) {
		visit_buffer_printf(out, "%s{\"begin\":%llu,\"end\":%llu,", i ? "," : "",
				(unsigned long long)mapping[i].range_begin,
				(unsigned long long)mapping[i].range_end);
		abi_json_append_text(out, "label", &mapping[i].label);
		PUT(out, "}");
	}
	PUT(out, "],");
	abi_json_append_inner(out, "element", side_ptr_get(type->elem_type));
}

static void abi_json_append_vla(struct visit_buffer *out, const struct side_type *length,
		const struct side_type *element)
{
	abi_json_append_inner(out, "length", length);
	abi_json_append_inner(out, "element", element);
}

static void abi_json_append_gather(struct visit_buffer *out, const struct side_type *type)
{
	const struct side_type_gather *gather = &type->u.side_gather;

	switch (side_enum_get(type->type)) {
	case SIDE_TYPE_GATHER_BOOL:
		abi_json_append_access(
				out, gather->u.side_bool.offset, gather->u.side_bool.access_mode.v);
		visit_buffer_printf(out, "\"offset_bits\":%u,", gather->u.side_bool.offset_bits);
		abi_json_append_bool(out, &gather->u.side_bool.type);
		break;
	case SIDE_TYPE_GATHER_BYTE:
		abi_json_append_access(
				out, gather->u.side_byte.offset, gather->u.side_byte.access_mode.v);
		break;
	case SIDE_TYPE_GATHER_FLOAT:
		abi_json_append_access(out, gather->u.side_float.offset,
				gather->u.side_float.access_mode.v);
		abi_json_append_float_type(out, &gather->u.side_float.type);
		break;
	case SIDE_TYPE_GATHER_STRING:
		abi_json_append_access(out, gather->u.side_string.offset,
				gather->u.side_string.access_mode.v);
		abi_json_append_string(out, &gather->u.side_string.type);
		break;
	case SIDE_TYPE_GATHER_STRUCT:
		abi_json_append_access(out, gather->u.side_struct.offset,
				gather->u.side_struct.access_mode.v);
		visit_buffer_printf(out, "\"size\":%u,", gather->u.side_struct.size);
		abi_json_append_struct(out, side_ptr_get(gather->u.side_struct.type));
		break;
	case SIDE_TYPE_GATHER_ARRAY:
		abi_json_append_access(out, gather->u.side_array.offset,
				gather->u.side_array.access_mode.v);
		visit_buffer_printf(out, "\"length\":%u,", gather->u.side_array.type.length);
		abi_json_append_inner(
				out, "element", side_ptr_get(gather->u.side_array.type.elem_type));
		break;
	case SIDE_TYPE_GATHER_VLA:
		abi_json_append_access(
				out, gather->u.side_vla.offset, gather->u.side_vla.access_mode.v);
		abi_json_append_vla(out, side_ptr_get(gather->u.side_vla.type.length_type),
				side_ptr_get(gather->u.side_vla.type.elem_type));
		break;
	case SIDE_TYPE_GATHER_ENUM: abi_json_append_enum(out, &type->u.side_enum); break;
	default: /* GATHER_INTEGER, GATHER_POINTER */
		abi_json_append_access(out, gather->u.side_integer.offset,
				gather->u.side_integer.access_mode.v);
		visit_buffer_printf(out, "\"offset_bits\":%u,", gather->u.side_integer.offset_bits);
		abi_json_append_integer(out, &gather->u.side_integer.type);
		break;
	}
}

static void abi_json_append_type(struct visit_buffer *out, const struct side_type *type)
{
	unsigned int label = type->type.v;

	PUT(out, "{\"type\":\"");
	abi_json_append_lower(out, visit_label_name(label));
	PUT(out, "\",");
	switch (label) {
	case SIDE_TYPE_NULL:
	case SIDE_TYPE_BYTE:
	case SIDE_TYPE_DYNAMIC: break;
	case SIDE_TYPE_BOOL: abi_json_append_bool(out, &type->u.side_bool); break;
	case SIDE_TYPE_FLOAT_BINARY16:
	case SIDE_TYPE_FLOAT_BINARY32:
	case SIDE_TYPE_FLOAT_BINARY64:
	case SIDE_TYPE_FLOAT_BINARY128: abi_json_append_float_type(out, &type->u.side_float); break;
	case SIDE_TYPE_STRING_UTF8:
	case SIDE_TYPE_STRING_UTF16:
	case SIDE_TYPE_STRING_UTF32: abi_json_append_string(out, &type->u.side_string); break;
	case SIDE_TYPE_STRUCT:
		abi_json_append_struct(out, side_ptr_get(type->u.side_struct));
		break;
	case SIDE_TYPE_VARIANT:
		abi_json_append_variant(out, side_ptr_get(type->u.side_variant));
		break;
	case SIDE_TYPE_OPTIONAL:
		abi_json_append_inner(out, "element",
				side_ptr_get(side_ptr_get(type->u.side_optional)->elem_type));
		break;
	case SIDE_TYPE_ARRAY:
		visit_buffer_printf(
				out, "\"length\":%u,", side_ptr_get(type->u.side_array)->length);
		abi_json_append_inner(out, "element",
				side_ptr_get(side_ptr_get(type->u.side_array)->elem_type));
		break;
	case SIDE_TYPE_VLA:
		abi_json_append_vla(out, side_ptr_get(side_ptr_get(type->u.side_vla)->length_type),
				side_ptr_get(side_ptr_get(type->u.side_vla)->elem_type));
		break;
	case SIDE_TYPE_VLA_VISITOR:
		abi_json_append_vla(out,
				side_ptr_get(side_ptr_get(type->u.side_vla_visitor)->length_type),
				side_ptr_get(side_ptr_get(type->u.side_vla_visitor)->elem_type));
		break;
	case SIDE_TYPE_ENUM: abi_json_append_enum(out, &type->u.side_enum); break;
	case SIDE_TYPE_ENUM_BITMAP: abi_json_append_bitmap(out, &type->u.side_enum_bitmap); break;
	default:
		if (visit_label_is_gather(label))
			abi_json_append_gather(out, type);
		else
			abi_json_append_integer(out, &type->u.side_integer);
		break;
	}
	abi_json_append_attributes(out, visit_type_attributes(type));
	PUT(out, "}");
}

int visit_description_json(const struct side_event_description *desc, struct visit_buffer *out,
		struct visit_error *error)
{
	size_t before = out->size;
	int ret = visit_description_check(desc, 0, error);

	if (ret)
		return ret;
	PUT(out, "{\"schema\":1,\"provider\":");
	abi_json_append_name(out, side_ptr_get(desc->provider_name));
	PUT(out, ",\"event\":");
	abi_json_append_name(out, side_ptr_get(desc->event_name));
	if (desc->loglevel.v <= SIDE_LOGLEVEL_DEBUG)
		visit_buffer_printf(
				out, ",\"loglevel\":\"%s\"", visit_loglevel_name(desc->loglevel.v));
	else
		visit_buffer_printf(out, ",\"loglevel\":\"%u\"", desc->loglevel.v);
	visit_buffer_printf(out,
			",\"variadic\":%s,\"flags\":%llu,\"type_labels\":%u,"
			"\"attribute_types\":%u,",
			desc->flags & SIDE_EVENT_FLAG_VARIADIC ? "true" : "false",
			(unsigned long long)desc->flags, desc->nr_side_type_label,
			desc->nr_side_attr_type);
	abi_json_append_attributes(out, visit_attributes_of(&desc->attributes));
	PUT(out, ",");
	abi_json_append_fields(
			out, side_array_elements(&desc->fields), side_array_length(&desc->fields));
	PUT(out, "}");
	ret = out->error;
	if (ret) {
		out->size = before;
		if (error) {
			snprintf(error->what, sizeof(error->what),
					"out of memory for the JSON text");
			error->where[0] = '\0';
		}
	}
	return ret;
}
