/* SPDX-License-Identifier: MIT */
/*
 * Dynamic values: a tree made of the flat list of nodes (docs/spec/recording.md, section 7).
 *
 * Depths and counts come from a file and can be wrong. A node is a child only if it is exactly one
 * level deeper than its parent. So the recursion is no deeper than the 255 levels that a depth can
 * express. An invalid node ends the value.
 */
#include <string.h>

#include "analysis/view-show.h"

/* The types that are not scalars. */
enum view_node_kind {
	NODE_NULL = 0,
	NODE_BOOL = 1,
	NODE_INT128_FIRST = 10,
	NODE_INT128_LAST = 11,
	NODE_FLOAT16 = 16,
	NODE_FLOAT128 = 17,
	NODE_STRUCT = 21,
	NODE_ARRAY = 22,
	NODE_ATTRIBUTES = 23,
};

/* A position in the list. Copies are independent positions. */
struct view_node_cursor {
	struct ctf_cursor cursor;
	const struct ctf_value *node; /* the next node to show, or NULL */
};

struct dynamic_node {
	uint64_t depth;
	uint64_t kind;
	const struct ctf_value *name;
	const struct ctf_value *value; /* the chosen option */
};

static void view_dynamic_next_node(struct view_node_cursor *nodes)
{
	nodes->node = ctf_cursor_next(&nodes->cursor);
}

/* Reads the node at this position. False: the list ends, or the node is invalid. */
static bool view_dynamic_read_node(
		const struct view_node_cursor *nodes, struct dynamic_node *ret_node)
{
	const struct ctf_value *at = nodes->node, *kind, *variant;

	if (!at || at->type->kind != CTF_STRUCT || at->count != 4)
		return false;
	ret_node->depth = at[1].u;
	ret_node->name = &at[2];
	kind = &at[3];
	variant = &at[4];
	if (at[1].type->kind != CTF_INTEGER || !ret_node->name->is_text ||
			kind->type->kind != CTF_ENUM || variant->type->kind != CTF_VARIANT)
		return false;
	ret_node->kind = kind->u;
	ret_node->value = variant + 1;
	return true;
}

static uint64_t count_of(const struct dynamic_node *node)
{
	return node->value->type->kind == CTF_STRUCT && node->value->count == 1 ? node->value[1].u
										: 0;
}

static void show_node(struct view_sink *sink, struct view_node_cursor *nodes,
		const struct dynamic_node *node);

/* Whether the attributes of a value at `depth` are at this position. */
static bool at_attributes(
		const struct view_node_cursor *nodes, uint64_t depth, struct dynamic_node *ret_node)
{
	return view_dynamic_read_node(nodes, ret_node) && ret_node->kind == NODE_ATTRIBUTES &&
			ret_node->depth == depth + 1;
}

/* Skips a node and all nodes below it. */
static void skip_node(struct view_node_cursor *nodes, uint64_t depth)
{
	struct dynamic_node node;

	do
		view_dynamic_next_node(nodes);
	while (view_dynamic_read_node(nodes, &node) && node.depth > depth);
}

static void show_attributes(struct view_sink *sink, struct view_node_cursor nodes,
		const struct dynamic_node *list)
{
	uint64_t count = count_of(list);
	uint32_t shown = 0;
	struct dynamic_node node;

	view_dynamic_next_node(&nodes);
	sink->ops->attributes_begin(sink);
	while (shown < count && view_dynamic_read_node(&nodes, &node) &&
			node.depth == list->depth + 1) {
		sink->ops->attribute_begin(sink, shown++, node.name->text, node.name->size);
		show_node(sink, &nodes, &node);
		sink->ops->attribute_end(sink);
	}
	sink->ops->attributes_end(sink);
}

/* Fields of a structure can have the same name. Of many fields only the first ones are compared. */
static unsigned int copies_before(struct view_node_cursor nodes, uint64_t depth, uint32_t index,
		const struct dynamic_node *wanted)
{
	unsigned int copy = 1;
	struct dynamic_node node;

	for (uint32_t i = 0; i < index && i < 256 && view_dynamic_read_node(&nodes, &node) &&
			node.depth == depth;
			i++) {
		if (node.name->size == wanted->name->size &&
				memcmp(node.name->text, wanted->name->text, node.name->size) == 0)
			copy++;
		skip_node(&nodes, depth);
	}
	return copy;
}

static void show_children(struct view_sink *sink, struct view_node_cursor *nodes,
		const struct dynamic_node *parent)
{
	bool is_struct = parent->kind == NODE_STRUCT;
	uint64_t count = count_of(parent);
	struct view_node_cursor first = *nodes;
	uint32_t shown = 0;
	struct dynamic_node node;

	if (is_struct)
		view_put_word(sink, &sink->ops->struct_begin);
	else
		view_put_word(sink, &sink->ops->list_begin);
	while (shown < count && view_dynamic_read_node(nodes, &node) &&
			node.depth == parent->depth + 1) {
		if (is_struct)
			sink->ops->member(sink, shown, node.name->text, node.name->size,
					count > 256 ? 1
						    : copies_before(first, node.depth, shown,
								      &node));
		else
			view_put_word(sink, &sink->ops->item[shown > 0]);
		shown++;
		show_node(sink, nodes, &node);
	}
	if (is_struct)
		view_put_word(sink, &sink->ops->struct_end);
	else
		view_put_word(sink, &sink->ops->list_end);
}

static void view_dynamic_show_scalar(struct view_sink *sink, const struct dynamic_node *node)
{
	const struct ctf_value *value = node->value;
	struct view_show show = {.kind = VIEW_SHOW_NULL, .base = 10};

	if (node->kind == NODE_BOOL && value->type->kind == CTF_ENUM)
		show.kind = VIEW_SHOW_BOOL;
	else if (value->type->kind == CTF_INTEGER)
		show = (struct view_show){.kind = VIEW_SHOW_INTEGER,
				.base = value->type->base,
				.is_pointer = value->type->base == 16 && value->type->size == 64};
	else if (value->type->kind == CTF_FLOAT)
		show.kind = VIEW_SHOW_FLOAT;
	else if (value->type->kind == CTF_STRING)
		show.kind = VIEW_SHOW_STRING;
	else if ((node->kind == NODE_INT128_FIRST || node->kind == NODE_INT128_LAST) &&
			value->type->kind == CTF_STRUCT && value->count == 2)
		show.kind = VIEW_SHOW_INT128;
	else if (node->kind == NODE_FLOAT128 && value->type->kind == CTF_STRUCT &&
			value->count == 1 && value[1].packed)
		show = (struct view_show){.kind = VIEW_SHOW_FLOAT128,
				.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__};
	else if (node->kind != NODE_NULL) {
		view_plain_value(sink, value);
		return;
	}
	view_side_value(sink, &show, value, NULL);
}

/* Shows the node at this position, and moves behind it and all nodes below it. */
static void show_node(struct view_sink *sink, struct view_node_cursor *nodes,
		const struct dynamic_node *node)
{
	struct view_node_cursor attributes;
	struct dynamic_node list = {0};
	bool attributed;

	view_dynamic_next_node(nodes);
	attributed = at_attributes(nodes, node->depth, &list);
	attributes = *nodes;
	if (attributed)
		skip_node(nodes, list.depth);
	attributed = attributed && sink->attributes;
	if (attributed)
		sink->ops->attributed_begin(sink);
	if (node->kind == NODE_STRUCT || node->kind == NODE_ARRAY)
		show_children(sink, nodes, node);
	else
		view_dynamic_show_scalar(sink, node);
	if (attributed)
		show_attributes(sink, attributes, &list);
}

/* False: the value has no text of a conversion. */
static bool view_dynamic_read_argument(
		const struct dynamic_node *node, struct view_format_argument *ret_argument)
{
	const struct ctf_value *value = node->value;

	*ret_argument = (struct view_format_argument){.bits = (uint8_t)value->type->size};
	if (value->is_text) {
		ret_argument->type = VIEW_FORMAT_TEXT;
		ret_argument->text = value->text;
		ret_argument->size = value->size;
	} else if (value->type->kind == CTF_FLOAT) {
		ret_argument->type = VIEW_FORMAT_REAL;
		ret_argument->real = value->f;
	} else if (value->type->kind == CTF_INTEGER ||
			(node->kind == NODE_BOOL && value->type->kind == CTF_ENUM)) {
		ret_argument->type =
				value->type->is_signed ? VIEW_FORMAT_SIGNED : VIEW_FORMAT_UNSIGNED;
		ret_argument->number = value->u;
	} else {
		return false;
	}
	return true;
}

uint32_t view_dynamic_arguments(const struct ctf_value *list,
		struct view_format_argument arguments[VIEW_FORMAT_ARGUMENTS_MAX])
{
	struct view_node_cursor nodes;
	struct dynamic_node root, node;
	uint32_t count = 0;

	ctf_cursor_start(&nodes.cursor, list);
	view_dynamic_next_node(&nodes);
	if (!view_dynamic_read_node(&nodes, &root) || root.kind != NODE_STRUCT)
		return UINT32_MAX;
	view_dynamic_next_node(&nodes);
	if (at_attributes(&nodes, root.depth, &node))
		skip_node(&nodes, node.depth);
	while (count < count_of(&root)) {
		if (count == VIEW_FORMAT_ARGUMENTS_MAX || !view_dynamic_read_node(&nodes, &node) ||
				node.depth != root.depth + 1 ||
				!view_dynamic_read_argument(&node, &arguments[count]))
			return UINT32_MAX;
		count++;
		skip_node(&nodes, node.depth);
	}
	return count;
}

void view_dynamic_value(struct view_sink *sink, const struct ctf_value *list)
{
	struct view_node_cursor nodes;
	struct dynamic_node node;

	ctf_cursor_start(&nodes.cursor, list);
	view_dynamic_next_node(&nodes);
	if (view_dynamic_read_node(&nodes, &node) && node.kind != NODE_ATTRIBUTES)
		show_node(sink, &nodes, &node);
	else
		view_put_word(sink, &sink->ops->null);
}
