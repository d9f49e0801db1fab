/* SPDX-License-Identifier: MIT */
/*
 * Converts CTF 2 field classes to the types of TSDL.
 *
 * A class that TSDL does not have becomes an equivalent one: an optional is a variant of `none` and
 * `some`, a BLOB or a string with a length is an array of bytes or characters, a bit array is an
 * integer. In event scopes names get TSDL's leading underscore, so that all users see one form.
 */
#include <inttypes.h>
#include <string.h>

#include "ctf/read/ctf2-types.h"

static struct ctf_type *parse_class(
		struct ctf2_reader *r, const struct ctf2_json *json, enum ctf_role *ret_role);

static bool ctf2_type_is_keyword(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

/* ---- locations ---- */

static int parse_origin(struct ctf2_reader *r, const char *text)
{
	static const char *const names[CTF_SCOPE_COUNT] = {
			[CTF_SCOPE_PACKET_HEADER] = "packet-header",
			[CTF_SCOPE_PACKET_CONTEXT] = "packet-context",
			[CTF_SCOPE_EVENT_HEADER] = "event-record-header",
			[CTF_SCOPE_STREAM_EVENT_CONTEXT] = "event-record-common-context",
			[CTF_SCOPE_EVENT_CONTEXT] = "event-record-specific-context",
			[CTF_SCOPE_EVENT_FIELDS] = "event-record-payload",
	};

	if (!text)
		return -1;
	for (int i = 0; i < CTF_SCOPE_COUNT; i++) {
		if (strcmp(text, names[i]) == 0)
			return i;
	}
	ctf2_error(r, "the origin \"%s\" is not known", text);
	return -1;
}

/* A `null` in the path goes one structure up: behind a name it removes the name, so that all that
   remain are at the beginning. */
static struct ctf_location *parse_location(
		struct ctf2_reader *r, const struct ctf2_json *json, const char *key)
{
	const struct ctf2_json *object = json_member(json, key);
	const struct ctf2_json *path = json_member(object, "path");
	struct ctf_location *location = ctf2_alloc(r, 1, sizeof(*location));
	enum ctf_scope scope;

	if (!location)
		return NULL;
	if (!path || path->kind != JSON_ARRAY || !path->count)
		return ctf2_error(r, "\"%s\" with a path is missing", key);
	location->origin = parse_origin(r, ctf2_text(r, object, "origin"));
	scope = location->origin < 0 ? r->scope : (enum ctf_scope)location->origin;
	location->path = ctf2_alloc(r, path->count, sizeof(*location->path));
	for (const struct ctf2_json *step = path->first; step && !r->first_error;
			step = step->next) {
		if (step->kind == JSON_STRING)
			location->path[location->count++] =
					ctf2_tree_name(r, step->text, ctf2_is_event_scope(scope));
		else if (step->kind != JSON_NULL || !step->next)
			return ctf2_error(r, "a step of \"%s\" is not a name", key);
		else if (location->count && location->path[location->count - 1])
			location->count--;
		else
			location->path[location->count++] = NULL;
	}
	return r->first_error ? NULL : location;
}

static uint32_t count_ranges(const struct ctf2_json *json)
{
	return json && json->kind == JSON_ARRAY ? json->count : 0;
}

static void parse_ranges(struct ctf2_reader *r, const struct ctf2_json *json, uint32_t option,
		struct ctf_location *location)
{
	const struct ctf2_json *range = json && json->kind == JSON_ARRAY ? json->first : NULL;

	if (!range)
		ctf2_error(r, "an option has no selector-field-ranges");
	for (; range && !r->first_error; range = range->next) {
		struct ctf2_bounds bounds;

		if (ctf2_bounds(r, range, &bounds))
			location->ranges[location->range_count++] =
					(struct ctf_wide_range){bounds.begin, bounds.end, option};
	}
}

/* ---- compounds ---- */

static void ctf2_type_set_depth(
		struct ctf2_reader *r, struct ctf_type *holder, const struct ctf_type *type)
{
	if (type->depth >= holder->depth)
		holder->depth = type->depth + 1;
	if (holder->depth > CTF_DEPTH_MAX)
		ctf2_error(r, "field classes are nested deeper than %d", CTF_DEPTH_MAX);
}

/* Parse a field class with a name: a member or an option. */
static bool ctf2_type_parse_member(struct ctf2_reader *r, const struct ctf2_json *json,
		const char *name, struct ctf_type *holder, struct ctf_member *ret_member)
{
	enum ctf_role role = CTF_ROLE_NONE;
	const struct ctf2_json *class = json_member(json, "field-class");
	const struct ctf2_json *attributes =
			json_member(json_member(json, "attributes"), "babeltrace.org,2020");
	const struct ctf2_json *hidden = json_member(attributes, "is-key-only");
	struct ctf_type *type;

	if (!class) {
		ctf2_error(r, "a member or option has no field-class");
		return false;
	}
	type = parse_class(r, class, &role);
	if (!type || !name)
		return false;
	ctf_member_set(ret_member, name, type, hidden && hidden->kind == JSON_TRUE);
	ret_member->role = role;
	ctf2_type_set_depth(r, holder, type);
	return !r->first_error;
}

static struct ctf_type *ctf2_type_parse_struct(struct ctf2_reader *r, const struct ctf2_json *json)
{
	const struct ctf2_json *list = json_member(json, "member-classes");
	struct ctf_type *type =
			ctf2_new_type(r, CTF_STRUCT, ctf2_align(r, json, "minimum-alignment"));

	if (!type)
		return NULL;
	if (list && list->kind != JSON_ARRAY)
		return ctf2_error(r, "the members of a structure must be an array");
	type->members = ctf2_alloc(r, list ? list->count : 0, sizeof(*type->members));
	for (const struct ctf2_json *item = list ? list->first : NULL; item && !r->first_error;
			item = item->next) {
		const char *name = ctf2_text(r, item, "name");

		if (!name)
			return ctf2_error(r, "a member has no name");
		if (!ctf2_type_parse_member(r, item,
				    ctf2_tree_name(r, name, ctf2_is_event_scope(r->scope)), type,
				    &type->members[type->member_count]))
			return NULL;
		type->member_count++;
	}
	return type;
}

/* A static array has a length, a dynamic one the location of its length. */
static struct ctf_type *ctf2_type_new_array(struct ctf2_reader *r, const struct ctf2_json *json,
		bool dynamic, struct ctf_type *element)
{
	const struct ctf2_json *length = json_member(json, "length");
	struct ctf_type *type;

	if (!element)
		return NULL;
	type = ctf2_new_type(r, dynamic ? CTF_SEQUENCE : CTF_ARRAY, element->align);
	if (!type)
		return NULL;
	type->element = element;
	ctf2_type_set_depth(r, type, element);
	if (dynamic)
		type->location = parse_location(r, json, "length-field-location");
	else if (!length)
		return ctf2_error(r, "an array has no length");
	else
		type->length = ctf2_number(r, json, "length", 0);
	return type;
}

static struct ctf_type *parse_array(
		struct ctf2_reader *r, const struct ctf2_json *json, bool dynamic)
{
	enum ctf_role role;
	const struct ctf2_json *class = json_member(json, "element-field-class");
	uint32_t align = ctf2_align(r, json, "minimum-alignment");
	struct ctf_type *type =
			class ? ctf2_type_new_array(r, json, dynamic, parse_class(r, class, &role))
			      : ctf2_error(r, "an array has no element-field-class");

	if (type && type->align < align)
		type->align = align;
	return type;
}

static struct ctf_type *parse_bytes(
		struct ctf2_reader *r, const struct ctf2_json *json, bool dynamic, bool text)
{
	struct ctf_type *byte = ctf2_new_type(r, CTF_INTEGER, 8), *type;
	const char *media = text ? NULL : ctf2_text(r, json, "media-type");

	if (!byte)
		return NULL;
	byte->size = 8;
	byte->text = text;
	byte->byte = !text;
	byte->base = text ? 10 : 16;
	type = ctf2_type_new_array(r, json, dynamic, byte);
	if (!type)
		return NULL;
	type->encoding = text ? ctf2_encoding(r, json) : CTF_UTF8;
	type->media_type = media ? ctf2_copy(r, media) : NULL;
	return type;
}

static struct ctf_type *ctf2_type_parse_string(struct ctf2_reader *r, const struct ctf2_json *json)
{
	struct ctf_type *type = ctf2_new_type(r, CTF_STRING, 8);

	if (type)
		type->encoding = ctf2_encoding(r, json);
	return type;
}

/* Without ranges the selector is a boolean. */
static struct ctf_type *parse_optional(struct ctf2_reader *r, const struct ctf2_json *json)
{
	struct ctf_type *type = ctf2_new_type(r, CTF_VARIANT, 1),
			*none = ctf2_new_type(r, CTF_STRUCT, 1);
	struct ctf_location *location = parse_location(r, json, "selector-field-location");
	const struct ctf2_json *ranges = json_member(json, "selector-field-ranges");

	if (!type || !none || !location)
		return NULL;
	type->optional = true;
	type->location = location;
	type->member_count = 2;
	type->members = ctf2_alloc(r, 2, sizeof(*type->members));
	none->members = ctf2_alloc(r, 0, sizeof(*none->members));
	location->ranges = ctf2_alloc(r, count_ranges(ranges), sizeof(*location->ranges));
	if (r->first_error)
		return NULL;
	ctf_member_set(&type->members[0], "none", none, false);
	ctf2_type_set_depth(r, type, none);
	if (ranges)
		parse_ranges(r, ranges, 1, location);
	return ctf2_type_parse_member(r, json, "some", type, &type->members[1]) ? type : NULL;
}

static struct ctf_type *ctf2_type_parse_variant(struct ctf2_reader *r, const struct ctf2_json *json)
{
	struct ctf_type *type = ctf2_new_type(r, CTF_VARIANT, 1);
	struct ctf_location *location = parse_location(r, json, "selector-field-location");
	const struct ctf2_json *options = json_member(json, "options"), *option;
	uint32_t ranges = 0;

	if (!type || !location)
		return NULL;
	if (!options || options->kind != JSON_ARRAY || !options->count)
		return ctf2_error(r, "a variant has no options");
	for (option = options->first; option; option = option->next)
		ranges += count_ranges(json_member(option, "selector-field-ranges"));
	type->location = location;
	type->members = ctf2_alloc(r, options->count, sizeof(*type->members));
	location->ranges = ctf2_alloc(r, ranges, sizeof(*location->ranges));
	for (option = options->first; option && !r->first_error; option = option->next) {
		const char *name = ctf2_text(r, option, "name");
		char number[16];

		snprintf(number, sizeof(number), "%" PRIu32, type->member_count);
		name = ctf2_tree_name(r, name ? name : number, name && *name == '_');
		parse_ranges(r, json_member(option, "selector-field-ranges"), type->member_count,
				location);
		if (r->first_error ||
				!ctf2_type_parse_member(r, option, name, type,
						&type->members[type->member_count]))
			return NULL;
		type->member_count++;
	}
	return r->first_error ? NULL : type;
}

/* ---- all classes ---- */

/* Parse static-length-…, dynamic-length-…: arrays, strings and BLOBs. */
static struct ctf_type *parse_length_class(struct ctf2_reader *r, const struct ctf2_json *json,
		const char *name, enum ctf_role *ret_role)
{
	bool dynamic = *name == 'd';
	const char *what = name + strlen(dynamic ? "dynamic-length-" : "static-length-");
	struct ctf_type *type;

	if (ctf2_type_is_keyword(what, "array"))
		return parse_array(r, json, dynamic);
	if (ctf2_type_is_keyword(what, "string"))
		return parse_bytes(r, json, dynamic, true);
	if (!ctf2_type_is_keyword(what, "blob"))
		return ctf2_error(r, "the field class \"%s\" is not known", name);
	type = parse_bytes(r, json, dynamic, false);
	if (type) {
		*ret_role = ctf2_roles(r, json, type);
		if (*ret_role != CTF_ROLE_UUID || dynamic || type->length != 16)
			*ret_role = CTF_ROLE_NONE;
	}
	return type;
}

static struct ctf_type *parse_named_class(struct ctf2_reader *r, const struct ctf2_json *json,
		const char *name, enum ctf_role *ret_role)
{
	const struct ctf2_json *flags = json_member(json, "flags");

	if (ctf2_type_is_keyword(name, "fixed-length-unsigned-integer"))
		return ctf2_fixed_integer(r, json, false, ret_role);
	if (ctf2_type_is_keyword(name, "fixed-length-signed-integer"))
		return ctf2_fixed_integer(r, json, true, ret_role);
	if (ctf2_type_is_keyword(name, "variable-length-unsigned-integer"))
		return ctf2_variable_integer(r, json, false, ret_role);
	if (ctf2_type_is_keyword(name, "variable-length-signed-integer"))
		return ctf2_variable_integer(r, json, true, ret_role);
	if (ctf2_type_is_keyword(name, "fixed-length-boolean"))
		return ctf2_boolean(r, json);
	if (ctf2_type_is_keyword(name, "fixed-length-bit-array"))
		return ctf2_bits(r, json, NULL);
	if (ctf2_type_is_keyword(name, "fixed-length-bit-map"))
		return flags ? ctf2_bits(r, json, flags) : ctf2_error(r, "a bit map has no flags");
	if (ctf2_type_is_keyword(name, "fixed-length-floating-point-number"))
		return ctf2_float(r, json);
	if (ctf2_type_is_keyword(name, "null-terminated-string"))
		return ctf2_type_parse_string(r, json);
	if (ctf2_type_is_keyword(name, "structure"))
		return ctf2_type_parse_struct(r, json);
	if (ctf2_type_is_keyword(name, "optional"))
		return parse_optional(r, json);
	if (ctf2_type_is_keyword(name, "variant"))
		return ctf2_type_parse_variant(r, json);
	if (strncmp(name, "static-length-", 14) == 0 || strncmp(name, "dynamic-length-", 15) == 0)
		return parse_length_class(r, json, name, ret_role);
	return ctf2_error(r, "the field class \"%s\" is not known", name);
}

static const struct ctf2_json *find_alias(const struct ctf2_reader *r, const char *name)
{
	for (const struct ctf2_alias *alias = r->aliases; alias; alias = alias->next) {
		if (strcmp(alias->name, name) == 0)
			return alias->class;
	}
	return NULL;
}

/* Parse any class. An alias is parsed again at each use; it can only use earlier ones, so the
   recursion ends. */
static struct ctf_type *parse_class(
		struct ctf2_reader *r, const struct ctf2_json *json, enum ctf_role *ret_role)
{
	struct ctf_type *type = NULL;
	const char *name;

	*ret_role = CTF_ROLE_NONE;
	if (++r->depth > CTF_DEPTH_MAX) {
		ctf2_error(r, "field classes are nested deeper than %d", CTF_DEPTH_MAX);
	} else if (json->kind == JSON_STRING) {
		const struct ctf2_json *class = find_alias(r, json->text);

		type = class ? parse_class(r, class, ret_role)
			     : ctf2_error(r, "the field class alias \"%s\" is not known",
					       json->text);
	} else {
		name = ctf2_text(r, json, "type");
		ctf2_check_extensions(r, json);
		type = name ? parse_named_class(r, json, name, ret_role)
			    : ctf2_error(r, "a field class has no type");
	}
	r->depth--;
	return r->first_error ? NULL : type;
}

struct ctf_type *ctf2_scope_type(struct ctf2_reader *r, const struct ctf2_json *class,
		enum ctf_scope scope, const struct ctf_clock *clock)
{
	enum ctf_role role;
	struct ctf_type *type;

	r->scope = scope;
	r->clock = clock;
	r->depth = 0;
	type = parse_class(r, class, &role);
	if (type && type->kind != CTF_STRUCT)
		return ctf2_error(r, "a scope must be a structure");
	return type;
}
