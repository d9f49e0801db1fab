/* SPDX-License-Identifier: MIT */
/* Makes descriptions from a script. */
#include "script.h"

struct json_object *script_get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value)) {
		fprintf(stderr, "script: no %s in %s\n", key, json_object_to_json_string(object));
		exit(2);
	}
	return value;
}

int64_t script_number(struct json_object *object, const char *key)
{
	return json_object_get_int64(script_get(object, key));
}

bool script_flag(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(object, key, &value) && json_object_get_int64(value);
}

uint32_t script_count(struct json_object *list)
{
	return list ? (uint32_t)json_object_array_length(list) : 0;
}

struct json_object *script_at(struct json_object *list, uint32_t index)
{
	return json_object_array_get_idx(list, index);
}

static unsigned int digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
}

void *script_hex(struct json_object *digits, size_t *size)
{
	const char *text = json_object_get_string(digits);
	uint8_t *bytes;
	size_t i;

	if (!text)
		return NULL;
	*size = strlen(text) / 2;
	bytes = make_bytes(*size);
	for (i = 0; i < *size; i++)
		bytes[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
	return bytes;
}

static struct side_type_raw_string raw_text(struct json_object *text)
{
	struct side_type_raw_string raw;
	size_t size;

	memset(&raw, 0, sizeof(raw));
	side_ptr_set(raw.p, script_hex(script_get(text, "hex"), &size));
	raw.unit_size = (uint8_t)script_number(text, "unit");
	raw.byte_order.v = script_flag(text, "be");
	return raw;
}

struct make_attributes script_attributes(struct json_object *list)
{
	struct make_attributes attributes = {script_count(list), NULL};
	struct side_attr *copies = make_bytes(attributes.count * sizeof(*copies));
	uint32_t i;

	for (i = 0; i < attributes.count; i++) {
		struct json_object *attribute = script_at(list, i);
		uint32_t type = (uint32_t)script_number(attribute, "type");
		struct side_type_raw_string text;
		struct side_type_raw_string value;
		const void *bytes = &value;
		size_t size = sizeof(value);

		text = raw_text(script_get(attribute, "key"));
		if (type == SIDE_ATTR_TYPE_STRING)
			value = raw_text(script_get(attribute, "text"));
		else
			bytes = script_hex(script_get(attribute, "hex"), &size);
		make_attribute_at(copies + i, &text, type, bytes, size);
	}
	attributes.list = copies;
	return attributes;
}

static void take_attributes(struct json_object *object, void *array)
{
	struct json_object *list = NULL;

	if (json_object_object_get_ex(object, "a", &list))
		put_attributes(array, script_attributes(list));
}

static struct side_type type_of(struct json_object *json);

static struct side_type_struct *members_of(struct json_object *json)
{
	struct json_object *list = script_get(json, "m");
	uint32_t count = script_count(list), i;
	struct side_type *types = make_bytes(count * sizeof(*types));
	const char **names = make_bytes(count * sizeof(*names));
	struct side_type_struct *members;

	for (i = 0; i < count; i++) {
		names[i] = json_object_get_string(script_at(script_at(list, i), 0));
		types[i] = type_of(script_at(script_at(list, i), 1));
	}
	members = make_members(count, types, names);
	take_attributes(json, &members->attributes);
	return members;
}

static const struct make_mapping *mappings_of(struct json_object *list)
{
	uint32_t count = script_count(list), i;
	struct make_mapping *mappings = make_bytes(count * sizeof(*mappings));

	for (i = 0; i < count; i++) {
		struct json_object *mapping = script_at(list, i);

		/* Bitmaps have unsigned ends, which the script has as signed numbers. */
		mappings[i].begin = json_object_get_int64(script_at(mapping, 0));
		mappings[i].end = json_object_get_int64(script_at(mapping, 1));
		mappings[i].label = json_object_get_string(script_at(mapping, 2));
	}
	return mappings;
}

static struct side_type variant_of(struct json_object *json)
{
	struct json_object *list = script_get(json, "o");
	uint32_t count = script_count(list), i;
	struct make_option *options = make_bytes(count * sizeof(*options));
	struct side_type type;

	for (i = 0; i < count; i++) {
		struct json_object *option = script_at(list, i);

		options[i].begin = json_object_get_int64(script_at(option, 0));
		options[i].end = json_object_get_int64(script_at(option, 1));
		options[i].type = type_of(script_at(option, 2));
	}
	type = make_variant(type_of(script_get(json, "sel")), count, options);
	take_attributes(json, (void *)&side_ptr_get(type.u.side_variant)->attributes);
	return type;
}

static struct side_type gather_of(struct json_object *json)
{
	const char *kind = json_object_get_string(script_get(json, "g"));
	uint64_t offset = (uint64_t)script_number(json, "off");
	unsigned int mode = script_flag(json, "ptr");
	struct side_type type;

#define NUMBER(key) ((unsigned int)script_number(json, key))
	if (!strcmp(kind, "int"))
		type = gather_integer(offset, NUMBER("size"), NUMBER("shift"), NUMBER("bits"),
				script_flag(json, "signed"), NUMBER("be"), mode);
	else if (!strcmp(kind, "pointer"))
		type = gather_pointer(offset, NUMBER("be"), mode);
	else if (!strcmp(kind, "bool"))
		type = gather_bool(offset, NUMBER("size"), NUMBER("shift"), NUMBER("bits"),
				NUMBER("be"), mode);
	else if (!strcmp(kind, "byte"))
		type = gather_byte(offset, mode);
	else if (!strcmp(kind, "float"))
		type = gather_float(offset, NUMBER("size"), NUMBER("be"), mode);
	else if (!strcmp(kind, "str"))
		type = gather_string(offset, NUMBER("unit"), NUMBER("be"), mode);
	else if (!strcmp(kind, "struct"))
		return gather_struct(members_of(json), offset, NUMBER("size"), mode);
	else if (!strcmp(kind, "array"))
		type = gather_array(type_of(script_get(json, "e")), NUMBER("n"), offset, mode);
	else if (!strcmp(kind, "vla"))
		type = gather_vla(type_of(script_get(json, "e")), offset, mode,
				type_of(script_get(json, "l")));
	else
		return gather_enum(type_of(script_get(json, "e")),
				script_count(script_get(json, "m")),
				mappings_of(script_get(json, "m")));
	if (!strcmp(kind, "array"))
		take_attributes(json, &type.u.side_gather.u.side_array.type.attributes);
	else if (!strcmp(kind, "vla"))
		take_attributes(json, &type.u.side_gather.u.side_vla.type.attributes);
	else if (!strcmp(kind, "str"))
		take_attributes(json, &type.u.side_gather.u.side_string.type.attributes);
	else if (!strcmp(kind, "float"))
		take_attributes(json, &type.u.side_gather.u.side_float.type.attributes);
	else if (!strcmp(kind, "byte"))
		take_attributes(json, &type.u.side_gather.u.side_byte.type.attributes);
	else if (!strcmp(kind, "bool"))
		take_attributes(json, &type.u.side_gather.u.side_bool.type.attributes);
	else
		take_attributes(json, &type.u.side_gather.u.side_integer.type.attributes);
	return type;
}

static struct side_type type_of(struct json_object *json)
{
	const char *kind = json_object_get_string(script_get(json, "t"));
	struct side_type type;

	if (!strcmp(kind, "gather"))
		return gather_of(json);
	if (!strcmp(kind, "variant"))
		return variant_of(json);
	if (!strcmp(kind, "dyn"))
		return make_label(SIDE_TYPE_DYNAMIC);
	if (!strcmp(kind, "struct")) {
		type = make_label(SIDE_TYPE_STRUCT);
		side_ptr_set(type.u.side_struct, members_of(json));
	} else if (!strcmp(kind, "array")) {
		type = make_array(type_of(script_get(json, "e")), NUMBER("n"));
		take_attributes(json, (void *)&side_ptr_get(type.u.side_array)->attributes);
	} else if (!strcmp(kind, "vla")) {
		type = make_vla(type_of(script_get(json, "e")), type_of(script_get(json, "l")));
		take_attributes(json, (void *)&side_ptr_get(type.u.side_vla)->attributes);
	} else if (!strcmp(kind, "visitor")) {
		type = make_vla_visitor(type_of(script_get(json, "e")),
				type_of(script_get(json, "l")), script_visit);
		take_attributes(json, (void *)&side_ptr_get(type.u.side_vla_visitor)->attributes);
	} else if (!strcmp(kind, "opt")) {
		type = make_optional(type_of(script_get(json, "e")));
		take_attributes(json, (void *)&side_ptr_get(type.u.side_optional)->attributes);
	} else if (!strcmp(kind, "enum")) {
		type = make_enum(type_of(script_get(json, "e")),
				script_count(script_get(json, "m")),
				mappings_of(script_get(json, "m")));
		take_attributes(json, (void *)&side_ptr_get(type.u.side_enum.mappings)->attributes);
	} else if (!strcmp(kind, "bitmap")) {
		type = make_bitmap(type_of(script_get(json, "e")),
				script_count(script_get(json, "m")),
				mappings_of(script_get(json, "m")));
		take_attributes(json,
				(void *)&side_ptr_get(type.u.side_enum_bitmap.mappings)
						->attributes);
	} else {
		/* Scalars: the attributes are their first member. */
		if (!strcmp(kind, "int"))
			type = make_integer(NUMBER("label"), NUMBER("size"), NUMBER("bits"),
					script_flag(json, "signed"), NUMBER("be"));
		else if (!strcmp(kind, "bool"))
			type = make_bool(NUMBER("size"), NUMBER("bits"), NUMBER("be"));
		else if (!strcmp(kind, "float"))
			type = make_float(NUMBER("size"), NUMBER("be"));
		else if (!strcmp(kind, "str"))
			type = make_string(NUMBER("unit"), NUMBER("be"));
		else
			type = make_label(!strcmp(kind, "byte") ? SIDE_TYPE_BYTE : SIDE_TYPE_NULL);
		take_attributes(json, &type.u.side_null);
	}
	return type;
}

struct side_event_description *script_event(struct json_object *json)
{
	struct side_event_description *event =
			make_event(0, NULL, NULL, script_flag(json, "variadic"));
	struct side_type_struct *members = members_of(json);

	side_ptr_set(event->provider_name, json_object_get_string(script_get(json, "provider")));
	side_ptr_set(event->event_name, json_object_get_string(script_get(json, "event")));
	event->loglevel.v = (uint32_t)script_number(json, "loglevel");
	memcpy(&event->fields, &members->fields, sizeof(event->fields));
	take_attributes(json, &event->attributes);
	return event;
}
