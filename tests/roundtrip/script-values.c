/* SPDX-License-Identifier: MIT */
/* Makes arguments from a script. */
#include "script.h"

#define NUMBER(json, key) ((unsigned int)script_number(json, key))

/* Memory for gather types: the firing's blocks, which point to each other. */
static struct {
	uint32_t count;
	uint8_t **blocks;
} memory;

static void take_memory(struct json_object *list)
{
	uint32_t i, k;
	size_t size;

	memory.count = script_count(list);
	memory.blocks = make_bytes(memory.count * sizeof(*memory.blocks));
	for (i = 0; i < memory.count; i++)
		memory.blocks[i] = script_hex(script_get(script_at(list, i), "hex"), &size);
	for (i = 0; i < memory.count; i++) {
		struct json_object *pointers = script_get(script_at(list, i), "pointers");

		for (k = 0; k < script_count(pointers); k++) {
			struct json_object *entry = script_at(pointers, k);
			uint8_t *to = memory.blocks[json_object_get_int(script_at(entry, 1))] +
					json_object_get_int(script_at(entry, 2));

			memcpy(memory.blocks[i] + json_object_get_int(script_at(entry, 0)), &to,
					sizeof(to));
		}
	}
}

static const void *place_of(struct json_object *place)
{
	if (!place)
		return NULL;
	return memory.blocks[json_object_get_int(script_at(place, 0))] +
			json_object_get_int(script_at(place, 1));
}

static struct side_arg argument_of(struct json_object *type, struct json_object *value);

/* The values that a visitor visits: of one described type, or dynamic ones (type NULL). */
struct walk {
	struct json_object *type;
	struct json_object *values;
};

static struct walk *make_walk(struct json_object *type, struct json_object *values)
{
	struct walk *walk = make_bytes(sizeof(*walk));

	walk->type = type;
	walk->values = values;
	return walk;
}

static struct side_arg dynamic_of(struct json_object *json);

enum side_visitor_status script_visit(
		const struct side_tracer_visitor_ctx *context, void *app_context)
{
	const struct walk *walk = app_context;
	uint32_t i;

	for (i = 0; i < script_count(walk->values); i++) {
		struct json_object *value = script_at(walk->values, i);
		struct side_arg arg =
				walk->type ? argument_of(walk->type, value) : dynamic_of(value);

		if (context->write_elem(context, &arg) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status visit_fields(
		const struct side_tracer_dynamic_struct_visitor_ctx *context, void *app_context)
{
	const struct walk *walk = app_context;
	uint32_t i;

	for (i = 0; i < script_count(walk->values); i++) {
		struct json_object *entry = script_at(walk->values, i);
		struct side_arg_dynamic_field field = {.elem = dynamic_of(script_at(entry, 1))};

		side_ptr_set(field.field_name, json_object_get_string(script_at(entry, 0)));
		if (context->write_field(context, &field) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

static struct make_attributes attributes_of(struct json_object *json)
{
	struct json_object *list = NULL;

	json_object_object_get_ex(json, "a", &list);
	return script_attributes(list);
}

static struct side_arg_dynamic_struct *dynamic_fields(
		struct json_object *list, struct make_attributes attributes)
{
	uint32_t count = script_count(list), i;
	const char **names = make_bytes(count * sizeof(*names));
	struct side_arg *values = make_bytes(count * sizeof(*values));

	for (i = 0; i < count; i++) {
		names[i] = json_object_get_string(script_at(script_at(list, i), 0));
		values[i] = dynamic_of(script_at(script_at(list, i), 1));
	}
	return make_dynamic_struct(count, names, values, attributes);
}

static struct side_arg dynamic_of(struct json_object *json)
{
	const char *kind = json_object_get_string(script_get(json, "d"));
	struct make_attributes attributes = attributes_of(json);
	struct json_object *list = NULL;
	struct side_arg *values, arg;
	uint32_t i;
	size_t size;

	json_object_object_get_ex(json, "c", &list);
	if (!strcmp(kind, "struct"))
		return arg_pointer(SIDE_TYPE_DYNAMIC_STRUCT, dynamic_fields(list, attributes));
	if (!strcmp(kind, "struct visitor"))
		return dynamic_struct_visitor(visit_fields, make_walk(NULL, list), attributes);
	if (!strcmp(kind, "vla visitor"))
		return dynamic_vla_visitor(script_visit, make_walk(NULL, list), attributes);
	if (!strcmp(kind, "vla")) {
		values = make_bytes(script_count(list) * sizeof(*values));
		for (i = 0; i < script_count(list); i++)
			values[i] = dynamic_of(script_at(list, i));
		return dynamic_vla(script_count(list), values, attributes);
	}
	if (!strcmp(kind, "null")) {
		arg = dynamic_scalar(SIDE_TYPE_DYNAMIC_NULL, attributes);
	} else {
		uint8_t *hex = script_hex(script_get(json, "hex"), &size);

		if (!strcmp(kind, "bool"))
			arg = dynamic_bool(NUMBER(json, "size"), NUMBER(json, "bits"),
					NUMBER(json, "be"), hex);
		else if (!strcmp(kind, "int") || !strcmp(kind, "pointer"))
			arg = dynamic_integer(NUMBER(json, "size"), NUMBER(json, "bits"),
					script_flag(json, "signed"), NUMBER(json, "be"), hex);
		else if (!strcmp(kind, "float"))
			arg = dynamic_float(NUMBER(json, "size"), NUMBER(json, "be"), hex);
		else if (!strcmp(kind, "str"))
			arg = dynamic_string(NUMBER(json, "unit"), NUMBER(json, "be"), hex);
		else
			arg = dynamic_byte(hex[0]);
		if (!strcmp(kind, "pointer"))
			arg.type.v = SIDE_TYPE_DYNAMIC_POINTER;
	}
	put_attributes(&arg.u.side_dynamic.side_null, attributes);
	return arg;
}

static struct side_arg gather_argument(struct json_object *type, struct json_object *value)
{
	static const struct {
		const char *kind;
		unsigned int label;
	} labels[] = {
			{"bool", SIDE_TYPE_GATHER_BOOL},
			{"int", SIDE_TYPE_GATHER_INTEGER},
			{"enum", SIDE_TYPE_GATHER_INTEGER},
			{"byte", SIDE_TYPE_GATHER_BYTE},
			{"pointer", SIDE_TYPE_GATHER_POINTER},
			{"float", SIDE_TYPE_GATHER_FLOAT},
			{"str", SIDE_TYPE_GATHER_STRING},
			{"struct", SIDE_TYPE_GATHER_STRUCT},
			{"array", SIDE_TYPE_GATHER_ARRAY},
	};
	const char *kind = json_object_get_string(script_get(type, "g"));
	const void *base = place_of(script_get(value, "base"));
	unsigned int i;

	if (!strcmp(kind, "vla"))
		return arg_gather_vla(base, place_of(script_get(value, "length")));
	for (i = 0; strcmp(labels[i].kind, kind); i++)
		;
	return arg_pointer(labels[i].label, base);
}

static struct side_arg *arguments_of(
		struct json_object *type, struct json_object *values, bool members)
{
	uint32_t count = script_count(values), i;
	struct side_arg *args = make_bytes(count * sizeof(*args));

	for (i = 0; i < count; i++)
		args[i] = argument_of(members ? script_at(script_at(type, i), 1) : type,
				script_at(values, i));
	return args;
}

/* Returns an argument that must not be read. */
static struct side_arg rubbish(void)
{
	return arg_value(60000, NULL, 0);
}

static struct side_arg variant_argument(struct json_object *type, struct json_object *value)
{
	int chosen = json_object_get_int(script_at(value, 1));
	struct json_object *options = script_get(type, "o");
	struct side_arg selector = argument_of(script_get(type, "sel"), script_at(value, 0));

	if (chosen < 0)
		return arg_variant(selector, rubbish());
	return arg_variant(selector,
			argument_of(script_at(script_at(options, (uint32_t)chosen), 2),
					script_at(value, 2)));
}

static struct side_arg argument_of(struct json_object *type, struct json_object *value)
{
	const char *kind = json_object_get_string(script_get(type, "t"));
	unsigned int label;
	size_t size = 0;
	void *hex;

	if (!strcmp(kind, "gather"))
		return gather_argument(type, value);
	if (!strcmp(kind, "dyn"))
		return dynamic_of(value);
	if (!strcmp(kind, "enum") || !strcmp(kind, "bitmap"))
		return argument_of(script_get(type, "e"), value);
	if (!strcmp(kind, "variant"))
		return variant_argument(type, value);
	if (!strcmp(kind, "struct"))
		return arg_vector(SIDE_TYPE_STRUCT, script_count(value),
				arguments_of(script_get(type, "m"), value, true));
	if (!strcmp(kind, "array") || !strcmp(kind, "vla"))
		return arg_vector(kind[0] == 'a' ? SIDE_TYPE_ARRAY : SIDE_TYPE_VLA,
				script_count(value),
				arguments_of(script_get(type, "e"), value, false));
	if (!strcmp(kind, "visitor"))
		return arg_vla_visitor(make_walk(script_get(type, "e"), value));
	if (!strcmp(kind, "opt"))
		return arg_optional(json_object_get_int(script_at(value, 0))
						? argument_of(script_get(type, "e"),
								  script_at(value, 1))
						: rubbish(),
				(uint8_t)json_object_get_int(script_at(value, 0)));
	if (!strcmp(kind, "null"))
		return arg_value(SIDE_TYPE_NULL, NULL, 0);
	hex = script_hex(value, &size);
	if (!strcmp(kind, "str"))
		return arg_pointer(SIDE_TYPE_STRING_UTF8 +
						(unsigned int)__builtin_ctz(NUMBER(type, "unit")),
				hex);
	if (!strcmp(kind, "int"))
		label = NUMBER(type, "label");
	else if (!strcmp(kind, "float"))
		label = SIDE_TYPE_FLOAT_BINARY16 +
				(unsigned int)__builtin_ctz(NUMBER(type, "size")) - 1;
	else
		label = !strcmp(kind, "bool") ? SIDE_TYPE_BOOL : SIDE_TYPE_BYTE;
	return arg_value(label, hex, size);
}

struct side_arg_vec *script_arguments(struct json_object *event, struct json_object *firing)
{
	struct json_object *values = script_get(firing, "args");

	take_memory(script_get(firing, "blocks"));
	return make_vector(
			script_count(values), arguments_of(script_get(event, "m"), values, true));
}

struct side_arg_dynamic_struct *script_variadic(struct json_object *firing)
{
	struct json_object *variadic = NULL;

	if (!json_object_object_get_ex(firing, "variadic", &variadic))
		return NULL;
	return dynamic_fields(script_get(variadic, "c"), attributes_of(variadic));
}
