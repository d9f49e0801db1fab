/* SPDX-License-Identifier: MIT */
/*
 * Values as Perfetto's DebugAnnotation messages, nested as in the event. They follow the
 * description if there is one, and the field classes otherwise.
 *
 * Enumerations become {label, value}. An absent optional value and a null become the text "null". A
 * value without members or elements becomes "{}" or "[]", because readers ignore empty annotations.
 */
#include <string.h>

#include "base/inside/utf8.h"
#include "export/export.h"

/* Field numbers of DebugAnnotation. */
enum {
	NAME_NUMBER = 1,
	BOOL = 2,
	UINT = 3,
	INT = 4,
	DOUBLE = 5,
	STRING = 6,
	NAME = 10,
	DICT_ENTRIES = 11,
	ARRAY_VALUES = 12,
};
#define EVENT_ANNOTATIONS 4 /* Field number of TrackEvent. */
#define NAMES_MAX 65536

/* ---- protocol buffers ---- */

static void put_varint(struct view_out *out, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		view_out_char(out, (char)(number | 0x80));
	view_out_char(out, (char)number);
}

void proto_number(struct view_out *out, unsigned int field, uint64_t number)
{
	put_varint(out, (uint64_t)field << 3);
	put_varint(out, number);
}

void proto_bytes(struct view_out *out, unsigned int field, const char *bytes, size_t size)
{
	put_varint(out, (uint64_t)field << 3 | 2);
	put_varint(out, size);
	view_out_put(out, bytes, size);
}

void proto_double(struct view_out *out, unsigned int field, double number)
{
	uint64_t bits;
	char bytes[8];

	memcpy(&bits, &number, sizeof(bits));
	for (unsigned int i = 0; i < 8; i++)
		bytes[i] = (char)(bits >> 8 * i);
	put_varint(out, (uint64_t)field << 3 | 1);
	view_out_put(out, bytes, sizeof(bytes));
}

/* The size always has 4 bytes, because it is known only at the end. */
size_t proto_begin(struct view_out *out, unsigned int field)
{
	put_varint(out, (uint64_t)field << 3 | 2);
	view_out_put(out, "\x80\x80\x80", 4);
	return view_out_size(out);
}

void proto_end(struct view_out *out, size_t begin_offset)
{
	size_t size = view_out_size(out) - begin_offset;

	if (out->failed)
		return;
	if (size >= 1u << 28)
		out->failed = true; /* Larger than any record. */
	for (unsigned int i = 0; i < 4; i++)
		out->begin[begin_offset - 4 + i] =
				(char)((size >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
}

void export_put_utf8(struct view_out *out, const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t run = 0;

	for (size_t i = 0; i < size;) {
		unsigned int length = utf8_length(at + i, size - i);

		if (length) {
			run += length;
			i += length;
			continue;
		}
		view_out_put(out, text + i - run, run);
		run = 0;
		view_out_char(out, (char)(0xc0 | at[i] >> 6));
		view_out_char(out, (char)(0x80 | (at[i] & 0x3f)));
		i++;
	}
	view_out_put(out, text + size - run, run);
}

void proto_text(struct view_out *out, unsigned int field, const char *text, size_t size)
{
	size_t begin_offset = proto_begin(out, field);

	export_put_utf8(out, text, size);
	proto_end(out, begin_offset);
}

uint64_t export_intern(
		struct export_names *names, struct view_out *fresh, const char *text, size_t size)
{
	uint32_t known = names->keys.count, number;
	size_t begin_offset;

	names->keys.limit = NAMES_MAX;
	number = keys_add(&names->keys, text, size);
	if (names->keys.no_memory)
		fresh->failed = true;
	if (number == KEYS_NONE)
		return 0;
	if (number == known) {
		begin_offset = proto_begin(fresh, names->field);
		proto_number(fresh, 1, (uint64_t)number + 1);
		proto_text(fresh, 2, text, size);
		proto_end(fresh, begin_offset);
	}
	return (uint64_t)number + 1;
}

/* ---- annotations ---- */

/* `field` is the field number of the annotation in the message around it. */
static size_t export_values_begin_annotation(
		struct export_annotations *to, unsigned int field, const char *name, size_t size)
{
	size_t begin_offset = proto_begin(to->out, field);
	uint64_t number;

	if (name) {
		number = export_intern(to->names, to->fresh, name, size);
		if (number)
			proto_number(to->out, NAME_NUMBER, number);
		else
			proto_text(to->out, NAME, name, size);
	}
	return begin_offset;
}

static size_t begin_copy(struct export_annotations *to, unsigned int field, const char *name,
		size_t size, unsigned int copy)
{
	char numbered[1100];

	if (copy < 2)
		return export_values_begin_annotation(to, field, name, size);
	return export_values_begin_annotation(to, field, numbered,
			(size_t)snprintf(numbered, sizeof(numbered), "%.*s#%u",
					size > 1024 ? 1024 : (int)size, name, copy));
}

static void put_null(struct export_annotations *to)
{
	proto_bytes(to->out, STRING, "null", 4);
}

/*
 * Writes an address as text, "name+0x12 (file:line)" or "0x7f…". Viewers print integers in decimal,
 * and in browsers (WebAssembly) they keep only 32 bits of pointers.
 */
static void export_values_add_address(
		struct export_annotations *to, uint64_t number, enum address_kind kind)
{
	struct view_out *text = to->sink.addresses;

	text->at = text->begin;
	view_address_text(&to->sink, text, number, kind);
	to->out->failed |= text->failed;
	proto_text(to->out, STRING, text->begin, view_out_size(text));
}

static void export_values_add_integer(
		struct export_annotations *to, uint64_t number, bool is_signed)
{
	proto_number(to->out, is_signed ? INT : UINT, number);
}

static void export_values_add(struct export_annotations *to, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related);
static void export_values_add_scalar(struct export_annotations *to, const struct ctf_value *value);

/* A value without a form of its own is written as in the view. */
static void put_as_json(struct export_annotations *to, const struct view_show *show,
		const struct ctf_value *value)
{
	struct view_out json = {0};
	struct view_sink sink = {.ops = &view_json_ops, .out = &json};
	struct view_show bare = *show;
	size_t size;

	bare.wrapped = false;
	view_side_value(&sink, &bare, value, NULL);
	size = view_out_size(&json);
	if (size >= 2 && *json.begin == '"')
		proto_text(to->out, STRING, json.begin + 1, size - 2);
	else
		proto_text(to->out, STRING, json.begin, size);
	if (json.failed)
		to->out->failed = true;
	view_out_free(&json);
}

/* ---- labels ---- */

static void export_values_add_labels(struct export_annotations *to, const struct view_show *show,
		const struct ctf_value *value)
{
	struct view_out *out = to->out;
	size_t begin_offset = export_values_begin_annotation(to, DICT_ENTRIES, "label", 5),
	       text = proto_begin(out, STRING);

	for (uint32_t i = 0; i < show->label_count; i++) {
		const char *label = show->labels[i].text;

		if (!view_label_matches(show, value, &show->labels[i]))
			continue;
		if (view_out_size(out) > text)
			view_out_char(out, '|');
		export_put_utf8(out, label, strlen(label));
	}
	proto_end(out, text);
	proto_end(out, begin_offset);
}

static void put_labelled(struct export_annotations *to, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related)
{
	size_t begin_offset;

	export_values_add_labels(to, show, value);
	begin_offset = export_values_begin_annotation(to, DICT_ENTRIES, "value", 5);
	export_values_add(to, show->element, value, related);
	proto_end(to->out, begin_offset);
}

/* ---- compounds ---- */

/* Members as annotations, which are `field` of the current message. */
static void export_values_add_members(struct export_annotations *to, unsigned int field,
		const struct view_show *show, const struct ctf_value *value)
{
	const struct ctf_value *member, *before = NULL;
	struct ctf_cursor cursor;

	ctf_cursor_start(&cursor, value);
	for (uint32_t i = 0; i < show->part_count && (member = ctf_cursor_next(&cursor)); i++) {
		const struct view_show *part = show->parts[i];

		if (part) {
			size_t begin_offset = begin_copy(
					to, field, part->name, strlen(part->name), part->copy);

			export_values_add(to, part, member, before);
			proto_end(to->out, begin_offset);
		}
		before = member;
	}
}

static void put_empty(struct export_annotations *to, const char *text)
{
	proto_bytes(to->out, STRING, text, 2);
}

static bool has_members(const struct view_show *show)
{
	for (uint32_t i = 0; i < show->part_count; i++) {
		if (show->parts[i])
			return true;
	}
	return false;
}

static void put_elements(struct export_annotations *to, const struct view_show *show,
		const struct ctf_value *value)
{
	const struct ctf_value *element;
	struct ctf_cursor cursor;

	if (!value->count)
		put_empty(to, "[]");

	ctf_cursor_start(&cursor, value);
	while ((element = ctf_cursor_next(&cursor))) {
		size_t begin_offset = export_values_begin_annotation(to, ARRAY_VALUES, NULL, 0);

		if (show)
			export_values_add(to, show, element, NULL);
		else
			export_values_add_scalar(to, element);
		proto_end(to->out, begin_offset);
	}
}

static void export_values_add_variant(struct export_annotations *to, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *selector)
{
	const struct ctf_value *option = value + 1;
	const struct view_show *part = show->parts[option->member - value->type->members];
	size_t begin_offset;

	if (part) {
		export_values_add(to, part, option, NULL);
	} else if (show->kind == VIEW_SHOW_OPTIONAL || !selector) {
		put_null(to);
	} else {
		begin_offset = export_values_begin_annotation(to, DICT_ENTRIES, "selector", 8);
		export_values_add_integer(to, selector->u, selector->type->is_signed);
		proto_end(to->out, begin_offset);
	}
}

static void export_values_add(struct export_annotations *to, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related)
{
	if (show->wrapped) {
		related = value + 1;
		value = related + related->span;
	}
	switch (show->kind) {
	case VIEW_SHOW_NULL: put_null(to); break;
	case VIEW_SHOW_BOOL: proto_number(to->out, BOOL, value->u != 0); break;
	case VIEW_SHOW_INTEGER:
		if (show->is_pointer)
			export_values_add_address(to, value->u, show->address);
		else
			export_values_add_integer(to, value->u, value->type->is_signed);
		break;
	case VIEW_SHOW_FLOAT: proto_double(to->out, DOUBLE, value->f); break;
	case VIEW_SHOW_INT128:
	case VIEW_SHOW_FLOAT128: put_as_json(to, show, value); break;
	case VIEW_SHOW_STRING: proto_text(to->out, STRING, value->text, (size_t)value->size); break;
	case VIEW_SHOW_STRUCT:
		if (has_members(show))
			export_values_add_members(to, DICT_ENTRIES, show, value);
		else
			put_empty(to, "{}");
		break;
	case VIEW_SHOW_LIST: put_elements(to, show->element, value); break;
	case VIEW_SHOW_ENUM:
	case VIEW_SHOW_BITMAP: put_labelled(to, show, value, related); break;
	case VIEW_SHOW_OPTIONAL:
	case VIEW_SHOW_VARIANT: export_values_add_variant(to, show, value, related); break;
	case VIEW_SHOW_DYNAMIC: export_annotate_dynamic(to, DICT_ENTRIES, value); break;
	}
}

/* ---- field classes ---- */

/* The return addresses of the context `backtrace`. */
static void export_values_add_backtrace(struct export_annotations *to, const struct ctf_value *list)
{
	const struct ctf_value *element;
	struct ctf_cursor cursor;

	if (!list->count)
		put_empty(to, "[]");
	ctf_cursor_start(&cursor, list);
	while ((element = ctf_cursor_next(&cursor))) {
		size_t begin_offset = export_values_begin_annotation(to, ARRAY_VALUES, NULL, 0);

		export_values_add_address(to, element->u, ADDRESS_RETURN);
		proto_end(to->out, begin_offset);
	}
}

static void export_values_add_plain(
		struct export_annotations *to, const struct ctf_value *value, const char *name)
{
	enum address_kind kind;

	if (view_plain_is_address(&to->sink, value, name, &kind))
		export_values_add_address(to, value->u, kind);
	else if (view_plain_is_backtrace(value, name))
		export_values_add_backtrace(to, value);
	else
		export_values_add_scalar(to, value);
}

static void put_plain_members(
		struct export_annotations *to, unsigned int field, const struct ctf_value *value)
{
	const struct ctf_value *member;
	struct ctf_cursor cursor;
	uint32_t index = 0;

	ctf_cursor_start(&cursor, value);
	while ((member = ctf_cursor_next(&cursor))) {
		const char *name = member->member->name + (member->member->name[0] == '_');
		size_t begin_offset;

		if (view_is_tag(value->type, index++))
			continue;
		begin_offset = export_values_begin_annotation(to, field, name, strlen(name));
		export_values_add_plain(to, member, name);
		proto_end(to->out, begin_offset);
	}
}

/* The option of a variant that means no value. */
static bool is_nothing(const struct ctf_value *option)
{
	return option->type->kind == CTF_STRUCT && !option->type->member_count &&
			strcmp(option->member->name, "none") == 0;
}

static void put_plain_enum(struct export_annotations *to, const struct ctf_value *value)
{
	struct view_out *out = to->out;
	size_t begin_offset = export_values_begin_annotation(to, DICT_ENTRIES, "label", 5),
	       text = proto_begin(out, STRING);
	const char *label;
	uint32_t at = 0;

	while ((label = ctf_value_label(value, &at))) {
		if (view_out_size(out) > text)
			view_out_char(out, '|');
		export_put_utf8(out, label, strlen(label));
	}
	proto_end(out, text);
	proto_end(out, begin_offset);
	begin_offset = export_values_begin_annotation(to, DICT_ENTRIES, "value", 5);
	export_values_add_integer(to, value->u, value->type->is_signed);
	proto_end(out, begin_offset);
}

static void export_values_add_scalar(struct export_annotations *to, const struct ctf_value *value)
{
	enum address_kind kind;

	if (value->is_text) {
		proto_text(to->out, STRING, value->text, (size_t)value->size);
		return;
	}
	switch (value->type->kind) {
	case CTF_INTEGER:
		if (value->type->bitmap && value->type->label_count)
			put_plain_enum(to, value);
		else if (view_plain_is_address(&to->sink, value, "", &kind))
			export_values_add_address(to, value->u, kind);
		else
			export_values_add_integer(to, value->u, value->type->is_signed);
		break;
	case CTF_FLOAT: proto_double(to->out, DOUBLE, value->f); break;
	case CTF_ENUM:
		if (value->type->boolean)
			proto_number(to->out, BOOL, value->u != 0);
		else
			put_plain_enum(to, value);
		break;
	case CTF_STRING: break; /* It is text. */
	case CTF_STRUCT:
		if (value->count)
			put_plain_members(to, DICT_ENTRIES, value);
		else
			put_empty(to, "{}");
		break;
	case CTF_VARIANT:
		if (is_nothing(value + 1))
			put_null(to);
		else
			export_values_add_scalar(to, value + 1);
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE: put_elements(to, NULL, value); break;
	}
}

/* ---- dynamic values ---- */

enum { NODE_STRUCT = 21, NODE_ARRAY = 22, NODE_ATTRIBUTES = 23 };

/* A position in the list of nodes (docs/spec/recording.md, section 7). */
struct export_node_cursor {
	struct ctf_cursor cursor;
	const struct ctf_value *node; /* NULL: the list ends, or the node is invalid */
};

static void export_values_next_node(struct export_node_cursor *nodes)
{
	const struct ctf_value *node = ctf_cursor_next(&nodes->cursor);

	if (node &&
			(node->type->kind != CTF_STRUCT || node->count != 4 ||
					node[1].type->kind != CTF_INTEGER || !node[2].is_text ||
					node[3].type->kind != CTF_ENUM ||
					node[4].type->kind != CTF_VARIANT))
		node = NULL;
	nodes->node = node;
}

static void put_scalar_node(struct export_annotations *to, const struct ctf_value *node)
{
	const struct ctf_value *value = &node[4] + 1;
	struct view_show show = {.kind = VIEW_SHOW_INT128, .base = 10, .plain = true};

	if (node[3].u == 0) {
		put_null(to);
	} else if (node[3].u == 1) {
		proto_number(to->out, BOOL, value->u != 0);
	} else if (value->type->kind == CTF_STRUCT && value->count == 2) {
		put_as_json(to, &show, value);
	} else if (value->type->kind == CTF_STRUCT && value->count == 1 && value[1].packed) {
		show.kind = VIEW_SHOW_FLOAT128;
		show.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
		put_as_json(to, &show, value);
	} else {
		export_values_add_scalar(to, value);
	}
}

/* Whether more than attributes is below the node before this position. */
static bool has_children(const struct export_node_cursor *at, uint64_t depth)
{
	struct export_node_cursor nodes = *at;

	for (; nodes.node && nodes.node[1].u > depth; export_values_next_node(&nodes)) {
		if (nodes.node[1].u == depth + 1 && nodes.node[3].u != NODE_ATTRIBUTES)
			return true;
	}
	return false;
}

/* Writes the node at this position and all nodes below it, and moves behind them. */
static void put_node(
		struct export_annotations *to, struct export_node_cursor *nodes, unsigned int field)
{
	const struct ctf_value *node = nodes->node;
	uint64_t depth = node[1].u, kind = node[3].u;

	if (kind != NODE_STRUCT && kind != NODE_ARRAY)
		put_scalar_node(to, node);
	export_values_next_node(nodes);
	if (field == DICT_ENTRIES && (kind == NODE_STRUCT || kind == NODE_ARRAY) &&
			!has_children(nodes, depth))
		put_empty(to, kind == NODE_STRUCT ? "{}" : "[]");
	while (nodes->node && nodes->node[1].u > depth) {
		const struct ctf_value *child = nodes->node;
		size_t begin_offset;

		if (child[1].u > depth + 1 || child[3].u == NODE_ATTRIBUTES ||
				(kind != NODE_STRUCT && kind != NODE_ARRAY)) {
			export_values_next_node(nodes); /* Attributes are not exported. */
			continue;
		}
		if (kind == NODE_STRUCT)
			begin_offset = export_values_begin_annotation(
					to, field, child[2].text, (size_t)child[2].size);
		else
			begin_offset = export_values_begin_annotation(to, ARRAY_VALUES, NULL, 0);
		put_node(to, nodes, DICT_ENTRIES);
		proto_end(to->out, begin_offset);
	}
}

void export_annotate_dynamic(
		struct export_annotations *to, unsigned int field, const struct ctf_value *list)
{
	struct export_node_cursor nodes;

	ctf_cursor_start(&nodes.cursor, list);
	export_values_next_node(&nodes);
	if (nodes.node && nodes.node[3].u != NODE_ATTRIBUTES)
		put_node(to, &nodes, field);
	else if (field == DICT_ENTRIES)
		put_null(to);
}

/* ---- events ---- */

void export_annotate(struct export_annotations *to, const struct walk_class *class,
		const struct ctf_item *item)
{
	const struct view_event *event = class->view;

	if (item->common_context)
		put_plain_members(to, EVENT_ANNOTATIONS, item->common_context);
	if (item->context)
		put_plain_members(to, EVENT_ANNOTATIONS, item->context);
	if (!item->fields)
		return;
	if (!event || !event->fields) {
		put_plain_members(to, EVENT_ANNOTATIONS, item->fields);
		return;
	}
	export_values_add_members(to, EVENT_ANNOTATIONS, event->fields, item->fields);
	if (event->variadic)
		export_annotate_dynamic(to, EVENT_ANNOTATIONS,
				walk_member_at(item->fields, event->variadic_index));
}

void export_annotate_number(struct export_annotations *to, const char *name, uint64_t number)
{
	size_t begin_offset =
			export_values_begin_annotation(to, EVENT_ANNOTATIONS, name, strlen(name));

	proto_number(to->out, UINT, number);
	proto_end(to->out, begin_offset);
}

void export_annotate_text(
		struct export_annotations *to, const char *name, const char *text, size_t size)
{
	size_t begin_offset =
			export_values_begin_annotation(to, EVENT_ANNOTATIONS, name, strlen(name));

	proto_text(to->out, STRING, text, size);
	proto_end(to->out, begin_offset);
}
