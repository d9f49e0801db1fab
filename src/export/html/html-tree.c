/* SPDX-License-Identifier: MIT */
/* Trees of functions for flame graphs and call trees. */
#include "export/html/html-tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report-calls.h"
#include "analysis/stacks.h"
#include "analysis/view-out.h"
#include "analysis/view-sink.h"
#include "export/html/html-lines.h"

/* ---- nodes ---- */

static uint32_t html_tree_name(struct html_tree *tree, const char *name)
{
	return keys_add(&tree->names, name, strnlen(name, HTML_FUNCTION_SIZE - 1));
}

/* KEYS_NONE: the table is full, or out of memory. */
static uint32_t html_tree_child(struct html_tree *tree, uint32_t parent, uint32_t name)
{
	uint32_t key[2] = {parent, name}, number;

	tree->node_keys.limit = HTML_NODES_MAX;
	tree->nodes = keys_add_item(&tree->node_keys, tree->nodes, sizeof(*tree->nodes), key,
			sizeof(key), &number);
	if (number != KEYS_NONE) {
		tree->nodes[number].parent = parent;
		tree->nodes[number].name = name;
	}
	return number;
}

static bool html_tree_has_memory(const struct html_tree *tree)
{
	return !tree->names.no_memory && !tree->node_keys.no_memory;
}

void html_tree_free(struct html_tree *tree)
{
	keys_free(&tree->names);
	keys_free(&tree->node_keys);
	free(tree->nodes);
}

/* ---- calls ---- */

/*
 * Gives a call without a return the time of its callees, so that its box contains theirs. 0 or
 * -ENOMEM.
 */
static int html_tree_weigh_callees(struct html_tree *tree)
{
	uint64_t *callees = calloc((size_t)tree->node_keys.count + 1, sizeof(*callees));

	if (!callees)
		return -ENOMEM;
	for (uint32_t i = tree->node_keys.count; i-- > 0;) {
		struct html_node *node = &tree->nodes[i];

		if (node->total < node->self + callees[i])
			node->total = node->self + callees[i];
		if (node->parent == KEYS_NONE)
			tree->weight += node->total;
		else
			callees[node->parent] += node->total;
	}
	free(callees);
	return 0;
}

int html_tree_of_calls(struct html_tree *tree, const struct report_calls *calls)
{
	uint32_t count = calls->branch_keys.count;

	/* A branch has a larger number than the one that it was called from. */
	for (uint32_t i = 0; i < count && i < HTML_NODES_MAX; i++) {
		const struct calls_branch *branch = &calls->branches[i];
		uint32_t name = html_tree_name(tree, calls_name(calls, branch->function));
		uint32_t number = i;
		struct html_node *node;

		tree->nodes = keys_add_item(&tree->node_keys, tree->nodes, sizeof(*tree->nodes), &i,
				sizeof(i), &number);
		if (name == KEYS_NONE || number == KEYS_NONE)
			return -ENOMEM;
		node = &tree->nodes[number];
		node->parent = branch->parent;
		node->name = name;
		node->total = branch->stats.total_ns;
		node->self = branch->stats.self_ns;
		node->count = branch->stats.calls;
	}
	return html_tree_weigh_callees(tree);
}

/* ---- stacks ---- */

static uint32_t html_tree_frame_name(struct html_tree *tree, const struct stack_frame *frame)
{
	char text[HTML_FUNCTION_SIZE];

	stacks_frame_name(frame, text, sizeof(text));
	return html_tree_name(tree, text);
}

int html_tree_add_stack(
		struct html_tree *tree, const struct stacks *stacks, uint32_t named, uint64_t count)
{
	uint32_t depth, parent = KEYS_NONE;
	const uint32_t *frames = stacks_frames(stacks, named, &depth);

	while (depth--) {
		uint32_t name = html_tree_frame_name(tree, stacks_frame(stacks, frames[depth]));
		uint32_t child =
				name == KEYS_NONE ? KEYS_NONE : html_tree_child(tree, parent, name);

		if (child == KEYS_NONE)
			break;
		parent = child;
	}
	if (parent == KEYS_NONE && html_tree_has_memory(tree))
		parent = html_tree_child(tree, KEYS_NONE, html_tree_name(tree, "(unknown)"));
	if (!html_tree_has_memory(tree))
		return -ENOMEM;
	if (parent != KEYS_NONE)
		tree->nodes[parent].self += count;
	tree->weight += count;
	return 0;
}

void html_tree_finish(struct html_tree *tree)
{
	for (uint32_t i = tree->node_keys.count; i-- > 0;) {
		struct html_node *node = &tree->nodes[i];

		node->total += node->self;
		node->count = node->total;
		if (node->parent != KEYS_NONE)
			tree->nodes[node->parent].total += node->total;
	}
}

/* ---- printing ---- */

static int html_tree_compare_totals(const void *one, const void *other)
{
	const uint64_t *left = one, *right = other;

	return (*left < *right) - (*left > *right);
}

/* At most `shown` nodes have this weight or more. UINT64_MAX: out of memory. */
static uint64_t html_tree_threshold(const struct html_tree *tree, uint32_t shown)
{
	uint32_t count = tree->node_keys.count;
	uint64_t *totals, threshold;

	if (count <= shown)
		return 0;
	totals = malloc(count * sizeof(*totals));
	if (!totals)
		return UINT64_MAX;
	for (uint32_t i = 0; i < count; i++)
		totals[i] = tree->nodes[i].total;
	qsort(totals, count, sizeof(*totals), html_tree_compare_totals);
	threshold = totals[shown] + 1;
	free(totals);
	return threshold;
}

struct html_tree_writer {
	const struct html_tree *tree;
	struct view_out *out;
	uint32_t *numbers; /* of each node: its number in the page, or KEYS_NONE */
	uint32_t *names;   /* of each name: its number in the page plus one, or 0 */
};

/* Writes parent, name, total, self, count. Returns the number of nodes. */
static uint32_t html_tree_put_nodes(struct html_tree_writer *writer, uint64_t threshold)
{
	const struct html_tree *tree = writer->tree;
	uint32_t count = 0, nr_names = 0;

	view_out_text(writer->out, ",\"nodes\":[");
	for (uint32_t i = 0; i < tree->node_keys.count; i++) {
		const struct html_node *node = &tree->nodes[i];
		bool is_outermost = node->parent == KEYS_NONE;

		writer->numbers[i] = KEYS_NONE;
		if (node->total < threshold ||
				(!is_outermost && writer->numbers[node->parent] == KEYS_NONE))
			continue;
		if (!writer->names[node->name])
			writer->names[node->name] = ++nr_names;
		view_out_text(writer->out, count ? ",\n" : "");
		view_out_signed(writer->out,
				is_outermost ? -1 : (int64_t)writer->numbers[node->parent]);
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, writer->names[node->name] - 1);
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, node->total);
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, node->self);
		view_out_char(writer->out, ',');
		view_out_unsigned(writer->out, node->count);
		writer->numbers[i] = count++;
	}
	view_out_text(writer->out, "],\"nr_nodes\":");
	view_out_unsigned(writer->out, count);
	return nr_names;
}

/* The names in the order of their numbers. */
static int html_tree_put_names(struct html_tree_writer *writer, uint32_t nr_names)
{
	const struct keys *names = &writer->tree->names;
	uint32_t *order = malloc(((size_t)nr_names + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->count; i++)
		if (writer->names[i])
			order[writer->names[i] - 1] = i;
	view_out_text(writer->out, ",\"names\":[");
	for (uint32_t i = 0; i < nr_names; i++) {
		const struct keys_entry *name = &names->entries[order[i]];

		if (i)
			view_out_char(writer->out, ',');
		view_json_quoted(writer->out, (const char *)name->bytes, name->size);
	}
	view_out_char(writer->out, ']');
	free(order);
	return 0;
}

static int html_tree_print_once(struct html_tree_writer *writer, const char *id, const char *unit,
		uint64_t threshold)
{
	const struct html_tree *tree = writer->tree;
	uint32_t nr_names;
	int ret;

	memset(writer->names, 0, ((size_t)tree->names.count + 1) * sizeof(*writer->names));
	view_out_text(writer->out, "{\"id\":");
	view_json_quoted(writer->out, id, strlen(id));
	view_out_text(writer->out, ",\"unit\":");
	view_json_quoted(writer->out, unit, strlen(unit));
	view_out_text(writer->out, ",\"weight\":");
	view_out_unsigned(writer->out, tree->weight);
	view_out_text(writer->out, ",\"all_nodes\":");
	view_out_unsigned(writer->out, tree->node_keys.count);
	nr_names = html_tree_put_nodes(writer, threshold);
	ret = html_tree_put_names(writer, nr_names);
	view_out_char(writer->out, '}');
	return ret;
}

int html_tree_print(const struct html_tree *tree, const char *id, const char *unit,
		struct view_out *out, size_t size_max)
{
	struct html_tree_writer writer = {
			.tree = tree,
			.out = out,
			.numbers = calloc((size_t)tree->node_keys.count + 1, sizeof(uint32_t)),
			.names = calloc((size_t)tree->names.count + 1, sizeof(uint32_t)),
	};
	size_t before = view_out_size(out);
	int ret = writer.numbers && writer.names ? 0 : -ENOMEM;

	for (uint32_t shown = HTML_NODES_SHOWN; !ret; shown /= 2) {
		ret = html_tree_print_once(&writer, id, unit, html_tree_threshold(tree, shown));
		if (ret || out->failed || !shown ||
				html_escaped_size(out->begin + before,
						view_out_size(out) - before) <= size_max)
			break;
		out->at = out->begin + before;
	}
	free(writer.numbers);
	free(writer.names);
	return !ret && out->failed ? -ENOMEM : ret;
}
