/* SPDX-License-Identifier: MIT */
/*
 * Descriptions combined with field classes.
 *
 * Both come from a file and can be wrong. If they do not fit each other, the event is shown as
 * plain CTF.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view-show.h"
#include "sessions/json.h"
#include "ctf/arena.h"

/* A type of SIDE needs up to three levels of JSON. */
#define DESCRIPTION_DEPTH_MAX 1024

struct shower {
	struct ctf_arena *arena;
	struct view_sink sink; /* writes into `out`, for bytes that are always the same */
	struct view_out out;
};

static struct view_show *show_type(struct shower *s, struct json_object *json,
		const struct ctf_type *type, bool element);

/* ---- JSON ---- */

static struct json_object *get(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(json, key, &value) ? value : NULL;
}

static const char *get_text(struct json_object *json, const char *key)
{
	struct json_object *value = get(json, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static uint64_t get_number(struct json_object *json, const char *key)
{
	return json_object_get_uint64(get(json, key));
}

static struct json_object *get_array(struct json_object *json, const char *key)
{
	struct json_object *value = get(json, key);

	return json_object_is_type(value, json_type_array) ? value : NULL;
}

static uint32_t array_length(struct json_object *array)
{
	return array ? (uint32_t)json_object_array_length(array) : 0;
}

/* "gather_u8" is shown like "u8". */
static bool is_type(const char *name, const char *wanted)
{
	return strcmp(name, wanted) == 0 ||
			(strncmp(name, "gather_", 7) == 0 && strcmp(name + 7, wanted) == 0);
}

static bool is_list_type(const char *name)
{
	return is_type(name, "vla") || is_type(name, "vla_visitor");
}

/* Whether a hidden field precedes the value. */
static bool view_show_has_related_field(struct json_object *json)
{
	const char *name = get_text(json, "type");

	if (is_type(name, "enum_bitmap"))
		return is_list_type(get_text(get(json, "element"), "type"));
	return is_list_type(name) || is_type(name, "optional") || is_type(name, "variant") ||
			is_type(name, "dynamic");
}

static unsigned int view_show_number_base(struct json_object *json, unsigned int otherwise)
{
	struct json_object *attributes = get_array(json, "attributes");

	for (uint32_t i = 0; i < array_length(attributes); i++) {
		struct json_object *attribute = json_object_array_get_idx(attributes, i);
		uint64_t base = get_number(attribute, "value");

		if (strcmp(get_text(attribute, "key"), "std.integer.base") != 0)
			continue;
		return base == 2 || base == 8 || base == 10 || base == 16 ? (unsigned int)base
									  : otherwise;
	}
	return otherwise;
}

static bool has_attribute(struct json_object *json, const char *key)
{
	struct json_object *attributes = get_array(json, "attributes");

	for (uint32_t i = 0; i < array_length(attributes); i++)
		if (!strcmp(get_text(json_object_array_get_idx(attributes, i), "key"), key))
			return true;
	return false;
}

/* The value of the attribute side.address of a type or event. */
static enum address_kind view_show_field_address(struct json_object *json)
{
	struct json_object *attributes = get_array(json, "attributes");

	for (uint32_t i = 0; i < array_length(attributes); i++) {
		struct json_object *attribute = json_object_array_get_idx(attributes, i);

		if (strcmp(get_text(attribute, "key"), ADDRESS_ATTRIBUTE) != 0)
			continue;
		return address_kind_of_attribute(get_text(attribute, "value"),
				json_object_get_boolean(get(attribute, "value")));
	}
	return ADDRESS_NONE;
}

static void set_address(struct shower *s, struct view_show *show, enum address_kind kind)
{
	show->address = (uint8_t)kind;
	show->is_pointer |= kind != ADDRESS_NONE;
	/* No reader knows an address by its decimal number. */
	if (kind && show->base == 10)
		show->base = 16;
	if ((kind && s->sink.symbols) || (show->is_pointer && s->sink.addresses))
		show->plain = false;
}

/* Keeps the bytes that were written into the sink. */
static struct view_word view_show_store_text(struct shower *s)
{
	struct view_word word = {"", view_out_size(&s->out)};

	if (word.size)
		word.text = ctf_arena_copy(s->arena, s->out.begin, word.size);
	s->out.failed |= !word.text;
	if (!word.text)
		word.size = 0;
	s->out.at = s->out.begin;
	return word;
}

static struct view_word keep_attributes(struct shower *s, struct json_object *json)
{
	struct json_object *attributes = get_array(json, "attributes");

	if (s->sink.attributes && array_length(attributes))
		view_static_attributes(&s->sink, attributes);
	return view_show_store_text(s);
}

/* ---- scalars ---- */

static bool view_show_is_number(const struct ctf_type *type)
{
	return type->kind == CTF_INTEGER || type->kind == CTF_ENUM;
}

static bool is_int128(const struct ctf_type *type)
{
	return type->kind == CTF_STRUCT && type->member_count == 2 &&
			view_show_is_number(type->members[0].type) &&
			view_show_is_number(type->members[1].type);
}

static bool is_float128(const struct ctf_type *type)
{
	const struct ctf_type *bytes = type->kind == CTF_STRUCT && type->member_count == 1
			? type->members[0].type
			: NULL;

	return bytes && bytes->kind == CTF_ARRAY && bytes->length == 16 &&
			view_show_is_number(bytes->element) && !bytes->element->text;
}

static bool show_integer(struct view_show *show, struct json_object *json,
		const struct ctf_type *type, unsigned int base)
{
	show->base = (uint8_t)view_show_number_base(json, base);
	show->kind = VIEW_SHOW_INTEGER;
	if (is_int128(type))
		show->kind = VIEW_SHOW_INT128;
	return show->kind == VIEW_SHOW_INT128 || view_show_is_number(type);
}

static bool show_float(
		struct view_show *show, struct json_object *json, const struct ctf_type *type)
{
	show->kind = VIEW_SHOW_FLOAT;
	show->single = type->size == 32;
	if (type->kind == CTF_FLOAT)
		return true;
	show->kind = VIEW_SHOW_FLOAT128;
	show->big_endian = strcmp(get_text(json, "byte_order"), "be") == 0;
	return is_float128(type);
}

/* ---- compounds ---- */

/* The members in the order of the description, each after its hidden field if it has one. */
static bool show_members(struct shower *s, struct view_show *show, struct json_object *fields,
		const struct ctf_type *type)
{
	uint32_t count = array_length(fields), at = 0, shown = 0;

	show->kind = VIEW_SHOW_STRUCT;
	show->part_count = type->member_count;
	show->parts = ctf_arena_alloc(s->arena, type->member_count, sizeof(struct view_show *));
	if (!show->parts || type->kind != CTF_STRUCT)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct json_object *field = json_object_array_get_idx(fields, i);
		struct json_object *inner = get(field, "type");
		struct view_show *part;

		at += view_show_has_related_field(inner);
		if (at >= type->member_count)
			return false;
		part = show_type(s, inner, type->members[at].type, false);
		if (!part)
			return false;
		part->name = get_text(field, "name");
		if (part->kind == VIEW_SHOW_INTEGER && !part->address &&
				is_type(get_text(inner, "type"), "pointer"))
			set_address(s, part, address_kind_of_name(part->name));
		part->copy = 1;
		/*
		 * Of many members with the same name, only the nearest are counted. The numbers
		 * only help the reader.
		 */
		for (uint32_t k = at; k-- > 0 && at - k < 256;) {
			if (show->parts[k] && strcmp(show->parts[k]->name, part->name) == 0) {
				part->copy = show->parts[k]->copy + 1;
				break;
			}
		}
		s->sink.ops->member(&s->sink, shown++, part->name, strlen(part->name), part->copy);
		part->prefix = view_show_store_text(s);
		show->parts[at++] = part;
	}
	show->part_count = at;
	return true;
}

static bool view_show_list(struct shower *s, struct view_show *show, struct json_object *json,
		const struct ctf_type *type)
{
	show->kind = VIEW_SHOW_LIST;
	if (type->kind != CTF_ARRAY && type->kind != CTF_SEQUENCE)
		return false;
	show->element = show_type(s, get(json, "element"), type->element, true);
	return show->element;
}

static bool view_show_labels(struct shower *s, struct view_show *show, struct json_object *json)
{
	struct json_object *mappings = get_array(json, "mappings");

	show->label_count = array_length(mappings);
	show->labels = ctf_arena_alloc(s->arena, show->label_count, sizeof(*show->labels));
	if (!show->labels)
		return false;
	for (uint32_t i = 0; i < show->label_count; i++) {
		struct json_object *mapping = json_object_array_get_idx(mappings, i);
		bool is_signed = show->kind == VIEW_SHOW_ENUM;

		show->labels[i].text = get_text(mapping, "label");
		show->labels[i].begin = is_signed
				? (uint64_t)json_object_get_int64(get(mapping, "begin"))
				: get_number(mapping, "begin");
		show->labels[i].end = is_signed
				? (uint64_t)json_object_get_int64(get(mapping, "end"))
				: get_number(mapping, "end");
	}
	return true;
}

static bool is_integer_show(const struct view_show *show)
{
	return show && (show->kind == VIEW_SHOW_INTEGER || show->kind == VIEW_SHOW_INT128);
}

static bool view_show_enum(struct shower *s, struct view_show *show, struct json_object *json,
		const struct ctf_type *type)
{
	show->kind = VIEW_SHOW_ENUM;
	show->element = show_type(s, get(json, "element"), type, false);
	return is_integer_show(show->element) && view_show_labels(s, show, json);
}

static bool view_show_bitmap(struct shower *s, struct view_show *show, struct json_object *json,
		const struct ctf_type *type)
{
	struct view_show *item;

	show->kind = VIEW_SHOW_BITMAP;
	show->element = show_type(s, get(json, "element"), type, false);
	if (!show->element)
		return false;
	item = show->element->kind == VIEW_SHOW_LIST ? show->element->element : show->element;
	if (!is_integer_show(item))
		return false;
	if (item->base == 10)
		item->base = 16;
	return view_show_labels(s, show, json);
}

/* The JSON that describes the option with this name. */
static bool show_option(struct shower *s, struct view_show *show, const struct ctf_type *type,
		const char *name, struct json_object *json)
{
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (strcmp(type->members[i].name, name) != 0)
			continue;
		show->parts[i] = show_type(s, json, type->members[i].type, true);
		return show->parts[i];
	}
	return true; /* It can never be chosen. */
}

static bool view_show_variant(struct shower *s, struct view_show *show, struct json_object *json,
		const struct ctf_type *type, bool optional)
{
	struct json_object *options = get_array(json, "options");
	char name[16];

	show->kind = optional ? VIEW_SHOW_OPTIONAL : VIEW_SHOW_VARIANT;
	if (type->kind != CTF_VARIANT)
		return false;
	show->base = (uint8_t)view_show_number_base(get(json, "selector"), 10);
	show->part_count = type->member_count;
	show->parts = ctf_arena_alloc(s->arena, type->member_count, sizeof(struct view_show *));
	if (!show->parts)
		return false;
	show->unreadable = optional && has_attribute(json, "side.unreadable");
	if (optional)
		return show_option(s, show, type, "some", get(json, "element"));
	for (uint32_t i = 0; i < array_length(options); i++) {
		snprintf(name, sizeof(name), "o%u", i);
		if (!show_option(s, show, type, name,
				    get(json_object_array_get_idx(options, i), "type")))
			return false;
	}
	return true;
}

/* ---- all types ---- */

static bool show_by_name(struct shower *s, struct view_show *show, const char *name,
		struct json_object *json, const struct ctf_type *type)
{
	if (is_type(name, "null")) {
		show->kind = VIEW_SHOW_NULL;
		return type->kind == CTF_STRUCT;
	}
	if (is_type(name, "bool")) {
		show->kind = VIEW_SHOW_BOOL;
		return view_show_is_number(type);
	}
	show->is_pointer = is_type(name, "pointer");
	if (is_type(name, "byte") || show->is_pointer)
		return show_integer(show, json, type, 16);
	if (is_type(name, "integer") ||
			((*name == 'u' || *name == 's') && name[1] >= '1' && name[1] <= '9'))
		return show_integer(show, json, type, 10);
	if (strncmp(name, "float", 5) == 0 || is_type(name, "float"))
		return show_float(show, json, type);
	if (strncmp(name, "string", 6) == 0 || is_type(name, "string")) {
		show->kind = VIEW_SHOW_STRING;
		return type->kind == CTF_STRING;
	}
	if (is_type(name, "struct"))
		return show_members(s, show, get_array(json, "fields"), type);
	if (is_type(name, "array") || is_list_type(name))
		return view_show_list(s, show, json, type);
	if (is_type(name, "enum"))
		return view_show_enum(s, show, json, type);
	if (is_type(name, "enum_bitmap"))
		return view_show_bitmap(s, show, json, type);
	if (is_type(name, "optional") || is_type(name, "variant"))
		return view_show_variant(s, show, json, type, is_type(name, "optional"));
	show->kind = VIEW_SHOW_DYNAMIC;
	return is_type(name, "dynamic") && type->kind == CTF_SEQUENCE;
}

static struct view_show *show_type(struct shower *s, struct json_object *json,
		const struct ctf_type *type, bool element)
{
	struct view_show *show = ctf_arena_alloc(s->arena, 1, sizeof(*show));

	if (!show)
		return NULL;
	if (element && view_show_has_related_field(json)) {
		if (type->kind != CTF_STRUCT || type->member_count != 2)
			return NULL;
		show->wrapped = true;
		type = type->members[1].type;
	}
	show->attributes = keep_attributes(s, json);
	show->plain = !show->wrapped && !show->attributes.size;
	if (!show_by_name(s, show, get_text(json, "type"), json, type))
		return NULL;
	if (show->kind == VIEW_SHOW_INTEGER)
		set_address(s, show, view_show_field_address(json));
	return show;
}

/* ---- events ---- */

/* Without a valid description, the event is shown as its types say. False: out of memory. */
static bool read_description(struct view_event *event, const char *text)
{
	struct error error = {.kind = ERROR_NONE};
	size_t size;

	event->description =
			json_parse_deep(text, strlen(text), DESCRIPTION_DEPTH_MAX, &size, &error);
	return event->description || error.kind != ERROR_FAILED;
}

/* Attributes of events and fields: the text is a format of printf(). */
#define VIEW_SHOW_FORMAT "lang.c.format_string"

static bool view_show_is_format(struct json_object *json)
{
	struct json_object *attributes = get_array(json, "attributes");

	for (uint32_t i = 0; i < array_length(attributes); i++) {
		struct json_object *attribute = json_object_array_get_idx(attributes, i);

		if (!strcmp(get_text(attribute, "key"), VIEW_SHOW_FORMAT))
			return json_object_get_boolean(get(attribute, "value"));
	}
	return false;
}

/*
 * The text that is the format of a variadic event: one with the attribute, the first one if the
 * event has it, or one with the name `fmt` or `format`.
 */
static uint32_t view_show_find_format(const struct view_event *event, const struct view_show *show)
{
	struct json_object *fields = get_array(event->description, "fields");
	bool of_event = view_show_is_format(event->description);
	uint32_t shown = 0;

	for (uint32_t i = 0; i < show->part_count; i++) {
		const struct view_show *part = show->parts[i];
		struct json_object *type;

		if (!part)
			continue;
		type = get(json_object_array_get_idx(fields, shown++), "type");
		if (part->kind == VIEW_SHOW_STRING &&
				(of_event || view_show_is_format(type) ||
						strcmp(part->name, "fmt") == 0 ||
						strcmp(part->name, "format") == 0))
			return i;
	}
	return UINT32_MAX;
}

static void lay_over(
		struct shower *s, struct view_event *event, const struct ctf_event_class *class)
{
	struct view_show *show = ctf_arena_alloc(event->arena, 1, sizeof(*show));

	if (*get_text(event->description, "loglevel"))
		event->loglevel = get_text(event->description, "loglevel");
	event->attributes = keep_attributes(s, event->description);
	event->ip = view_show_field_address(event->description)
			? (uint8_t)view_show_field_address(event->description)
			: ADDRESS_RETURN;
	event->variadic = json_object_get_boolean(get(event->description, "variadic"));
	if (!show || !show_members(s, show, get_array(event->description, "fields"), class->fields))
		return;
	if (event->variadic) {
		event->variadic_index =
				show->part_count + 1; /* The elements follow their length. */
		if (event->variadic_index >= class->fields->member_count ||
				class->fields->members[event->variadic_index].type->kind !=
						CTF_SEQUENCE)
			return;
	}
	event->fields = show;
	if (event->variadic)
		event->format_index = view_show_find_format(event, show);
}

struct view_event *view_event_create(
		const struct ctf_event_class *class, const struct view_sink *sink)
{
	struct view_event *event = calloc(1, sizeof(*event));
	struct shower s = {.sink = *sink};

	if (!event)
		return NULL;
	event->arena = ctf_arena_create();
	if (!event->arena) {
		free(event);
		return NULL;
	}
	event->ip = ADDRESS_RETURN;
	event->format_index = UINT32_MAX;
	if (class->side_event && class->fields && !read_description(event, class->side_event)) {
		view_event_free(event);
		return NULL;
	}
	if (!event->description)
		return event;
	s.arena = event->arena;
	s.sink.out = &s.out;
	lay_over(&s, event, class);
	if (s.out.failed || ctf_arena_has_failed(event->arena)) {
		view_event_free(event);
		event = NULL;
	}
	view_out_free(&s.out);
	return event;
}

void view_event_free(struct view_event *event)
{
	if (!event)
		return;
	if (event->description)
		json_object_put(event->description);
	ctf_arena_destroy(event->arena);
	free(event);
}
