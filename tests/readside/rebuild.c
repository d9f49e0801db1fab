/* SPDX-License-Identifier: MIT */
/*
 * Builds descriptions from standard input, one JSON object a line (docs/spec/description-json.md),
 * with libside's builder, and prints the result in the same form. What JSON has lost, or the
 * builder cannot make, is a difference.
 */
#include <side/builder.h>

#include "abi/visit.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct side_builder *builder;

static struct side_builder_type *build_type(struct json_object *json);

/* ---- members ---- */

static struct json_object *member(struct json_object *json, const char *name)
{
	struct json_object *value;

	if (json_object_object_get_ex(json, name, &value))
		return value;
	fprintf(stderr, "there is no \"%s\" in %s\n", name, json_object_to_json_string(json));
	exit(1);
}

static const char *text(struct json_object *json, const char *name)
{
	return json_object_get_string(member(json, name));
}

static int64_t number(struct json_object *json, const char *name)
{
	return json_object_get_int64(member(json, name));
}

static unsigned int small(struct json_object *json, const char *name)
{
	return (unsigned int)number(json, name);
}

static struct side_builder_type *inner(struct json_object *json, const char *name)
{
	return build_type(member(json, name));
}

static enum side_type_label_byte_order order(struct json_object *json)
{
	return strcmp(text(json, "byte_order"), "be") ? SIDE_TYPE_BYTE_ORDER_LE
						      : SIDE_TYPE_BYTE_ORDER_BE;
}

static enum side_type_gather_access_mode mode(struct json_object *json)
{
	return strcmp(text(json, "access_mode"), "pointer") ? SIDE_TYPE_GATHER_ACCESS_DIRECT
							    : SIDE_TYPE_GATHER_ACCESS_POINTER;
}

static bool begins(const char *whole, const char *part)
{
	return !strncmp(whole, part, strlen(part));
}

/* ---- attributes ---- */

/* Converts well-formed UTF-8 to units of 2 or 4 bytes with a terminator. */
static void *widen(const char *utf8, unsigned int unit, bool big)
{
	unsigned char *units = calloc(strlen(utf8) + 1, 4), *to = units;

	while (*utf8) {
		unsigned char first = (unsigned char)*utf8;
		unsigned int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
		uint32_t code = more ? first & (0x3fu >> more) : first, parts[2], nr = 1;

		for (utf8++; more; more--, utf8++)
			code = code << 6 | ((unsigned char)*utf8 & 0x3fu);
		parts[0] = code;
		if (unit == 2 && code > 0xffff) {
			parts[0] = 0xd800 + ((code - 0x10000) >> 10);
			parts[1] = 0xdc00 + ((code - 0x10000) & 0x3ff);
			nr = 2;
		}
		for (uint32_t i = 0; i < nr; i++) {
			for (unsigned int k = 0; k < unit; k++)
				to[big ? unit - 1 - k : k] = (unsigned char)(parts[i] >> (8 * k));
			to += unit;
		}
	}
	return units;
}

static void add_string(struct side_builder_type *on, const char *key, struct json_object *json)
{
	struct json_object *encoding;
	const char *name;
	void *units;

	if (!json_object_object_get_ex(json, "value_encoding", &encoding)) {
		side_builder_attr_string(builder, on, key, text(json, "value"));
		return;
	}
	name = json_object_get_string(encoding);
	units = widen(text(json, "value"), begins(name, "utf16") ? 2 : 4, !strcmp(name + 5, "be"));
	side_builder_attr_text(builder, on, key, units, begins(name, "utf16") ? 2 : 4,
			strcmp(name + 5, "be") ? SIDE_TYPE_BYTE_ORDER_LE : SIDE_TYPE_BYTE_ORDER_BE);
	free(units);
}

static void add_float(struct side_builder_type *on, const char *key, struct json_object *json)
{
	const char *digits = text(json, "bits") + 2;
	unsigned int size = (unsigned int)strlen(digits) / 2;
	unsigned char bytes[16];

	for (unsigned int i = 0; i < size; i++) {
		unsigned int at = SIDE_TYPE_FLOAT_WORD_ORDER_HOST == SIDE_TYPE_BYTE_ORDER_LE
				? size - 1 - i
				: i;
		unsigned int byte;

		sscanf(digits + (size_t)2 * i, "%2x", &byte);
		bytes[at] = (unsigned char)byte;
	}
	side_builder_attr_float(builder, on, key, size, bytes);
}

static unsigned __int128 wide(const char *digits)
{
	bool negative = *digits == '-';
	unsigned __int128 value = 0;

	for (digits += negative; *digits; digits++)
		value = value * 10 + (unsigned int)(*digits - '0');
	return negative ? -value : value;
}

static void add_integer(struct side_builder_type *on, const char *key, const char *type,
		struct json_object *json)
{
	unsigned int bits = (unsigned int)atoi(type + 1);
	unsigned __int128 value;

	if (bits == 128) {
		value = wide(text(json, "value"));
		if (*type == 'u')
			side_builder_attr_u128(
					builder, on, key, (uint64_t)(value >> 64), (uint64_t)value);
		else
			side_builder_attr_s128(
					builder, on, key, (int64_t)(value >> 64), (uint64_t)value);
	} else if (*type == 'u') {
		side_builder_attr_unsigned(builder, on, key, bits / 8,
				json_object_get_uint64(member(json, "value")));
	} else {
		side_builder_attr_signed(builder, on, key, bits / 8, number(json, "value"));
	}
}

static void add_attributes(struct side_builder_type *on, struct json_object *json)
{
	struct json_object *list = member(json, "attributes");

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *attribute = json_object_array_get_idx(list, i);
		const char *key = text(attribute, "key"), *type = text(attribute, "type");

		if (!strcmp(type, "null"))
			side_builder_attr_null(builder, on, key);
		else if (!strcmp(type, "bool"))
			side_builder_attr_bool(builder, on, key,
					json_object_get_boolean(member(attribute, "value")));
		else if (!strcmp(type, "string"))
			add_string(on, key, attribute);
		else if (begins(type, "float"))
			add_float(on, key, attribute);
		else
			add_integer(on, key, type, attribute);
	}
}

/* ---- types ---- */

static void add_fields(struct side_builder_type *into, struct json_object *json)
{
	struct json_object *list = member(json, "fields");

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *field = json_object_array_get_idx(list, i);

		side_builder_add_field(builder, into, text(field, "name"), inner(field, "type"));
	}
}

static struct side_builder_type *build_struct(struct json_object *json)
{
	struct side_builder_type *structure = side_builder_struct(builder);

	add_fields(structure, json);
	return structure;
}

static struct side_builder_type *build_variant(struct json_object *json)
{
	struct side_builder_type *variant = side_builder_variant(builder, inner(json, "selector"));
	struct json_object *list = member(json, "options");

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *option = json_object_array_get_idx(list, i);

		side_builder_add_option(builder, variant, number(option, "begin"),
				number(option, "end"), inner(option, "type"));
	}
	return variant;
}

static struct side_builder_type *build_enum(struct json_object *json, const char *label)
{
	struct side_builder_type *element = inner(json, "element");
	bool bitmap = !strcmp(label, "enum_bitmap");
	struct side_builder_type *type = bitmap  ? side_builder_enum_bitmap(builder, element)
			: !strcmp(label, "enum") ? side_builder_enum(builder, element)
						 : side_builder_gather_enum(builder, element);
	struct json_object *list = member(json, "mappings");

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *mapping = json_object_array_get_idx(list, i);
		const char *name = text(mapping, "label");

		if (bitmap)
			side_builder_add_bit_label(builder, type, name,
					json_object_get_uint64(member(mapping, "begin")),
					json_object_get_uint64(member(mapping, "end")));
		else
			side_builder_add_label(builder, type, name, number(mapping, "begin"),
					number(mapping, "end"));
	}
	return type;
}

static struct side_builder_type *build_gather(struct json_object *json, const char *label)
{
	uint64_t offset = (uint64_t)number(json, "offset");
	struct side_builder_type *structure;

	if (!strcmp(label, "byte"))
		return side_builder_gather_byte(builder, offset, mode(json));
	if (!strcmp(label, "bool"))
		return side_builder_gather_bool(builder, offset, small(json, "size"),
				small(json, "offset_bits"), small(json, "len_bits"), order(json),
				mode(json));
	if (!strcmp(label, "integer"))
		return side_builder_gather_integer(builder, offset, small(json, "size"),
				json_object_get_boolean(member(json, "signed")),
				small(json, "offset_bits"), small(json, "len_bits"), order(json),
				mode(json));
	if (!strcmp(label, "pointer"))
		return side_builder_gather_pointer(builder, offset, order(json), mode(json));
	if (!strcmp(label, "float"))
		return side_builder_gather_float(
				builder, offset, small(json, "size"), order(json), mode(json));
	if (!strcmp(label, "string"))
		return side_builder_gather_string(
				builder, offset, small(json, "unit_size"), order(json), mode(json));
	if (!strcmp(label, "array"))
		return side_builder_gather_array(builder, inner(json, "element"),
				small(json, "length"), offset, mode(json));
	if (!strcmp(label, "vla"))
		return side_builder_gather_vla(builder, inner(json, "element"),
				inner(json, "length"), offset, mode(json));
	structure = build_struct(json);
	/* Its attributes belong to the structure. */
	add_attributes(structure, json);
	return side_builder_gather_struct(
			builder, structure, offset, small(json, "size"), mode(json));
}

static enum side_visitor_status visit_nothing(
		const struct side_tracer_visitor_ctx *tracer, void *application)
{
	(void)tracer;
	(void)application;
	return SIDE_VISITOR_STATUS_OK;
}

static struct side_builder_type *build_compound(struct json_object *json, const char *label)
{
	if (!strcmp(label, "struct"))
		return build_struct(json);
	if (!strcmp(label, "array"))
		return side_builder_array(builder, inner(json, "element"), small(json, "length"));
	if (!strcmp(label, "vla"))
		return side_builder_vla(builder, inner(json, "element"), inner(json, "length"));
	if (!strcmp(label, "vla_visitor"))
		return side_builder_vla_visitor(builder, inner(json, "element"),
				inner(json, "length"), visit_nothing);
	if (!strcmp(label, "optional"))
		return side_builder_optional(builder, inner(json, "element"));
	if (!strcmp(label, "variant"))
		return build_variant(json);
	fprintf(stderr, "the type %s is not known\n", label);
	exit(1);
}

static struct side_builder_type *build_plain(struct json_object *json, const char *label)
{
	if (!strcmp(label, "null"))
		return side_builder_null(builder);
	if (!strcmp(label, "bool"))
		return side_builder_bool(builder);
	if (!strcmp(label, "byte"))
		return side_builder_byte(builder);
	if (!strcmp(label, "pointer"))
		return side_builder_pointer(builder, order(json));
	if (begins(label, "float_"))
		return side_builder_float(builder, small(json, "size"), order(json));
	if (begins(label, "string_"))
		return side_builder_string(builder, small(json, "unit_size"), order(json));
	if ((*label == 'u' || *label == 's') && label[1] >= '0' && label[1] <= '9')
		return side_builder_integer(
				builder, small(json, "size"), *label == 's', order(json));
	return build_compound(json, label);
}

static struct side_builder_type *build_type(struct json_object *json)
{
	const char *label = text(json, "type");
	struct side_builder_type *type;

	if (!strcmp(label, "dynamic"))
		return side_builder_dynamic(builder);
	if (!strcmp(label, "gather_struct"))
		return build_gather(json, "struct");
	if (!strcmp(label, "enum") || !strcmp(label, "enum_bitmap") ||
			!strcmp(label, "gather_enum"))
		type = build_enum(json, label);
	else if (begins(label, "gather_"))
		type = build_gather(json, label + 7);
	else
		type = build_plain(json, label);
	add_attributes(type, json);
	return type;
}

/* ---- events ---- */

static enum side_loglevel loglevel(const char *name)
{
	unsigned int level = 0;

	while (level < SIDE_LOGLEVEL_DEBUG && strcmp(visit_loglevel_name(level), name))
		level++;
	return (enum side_loglevel)level;
}

static int rebuild(const char *line)
{
	struct json_object *json = json_tokener_parse(line);
	struct visit_buffer buffer;
	int failed = 1;

	if (!json) {
		fprintf(stderr, "no JSON: %s", line);
		return 1;
	}
	builder = side_builder_create(text(json, "provider"), text(json, "event"),
			loglevel(text(json, "loglevel")), (uint64_t)number(json, "flags"));
	add_fields(NULL, json);
	add_attributes(NULL, json);
	visit_buffer_heap(&buffer);
	if (side_builder_finish(builder) != SIDE_ERROR_OK)
		fprintf(stderr, "%s\n", side_builder_error(builder));
	else if (!visit_description_json(side_builder_description(builder), &buffer, NULL))
		failed = 0;
	if (!failed)
		printf("%.*s\n", (int)buffer.size, (const char *)buffer.data);
	visit_buffer_free(&buffer);
	side_builder_destroy(builder);
	json_object_put(json);
	return failed;
}

int main(void)
{
	char *line = NULL;
	size_t capacity = 0;
	int failed = 0;

	while (getline(&line, &capacity, stdin) > 0)
		failed |= rebuild(line);
	free(line);
	return failed;
}
