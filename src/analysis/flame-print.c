/* SPDX-License-Identifier: MIT */
/* The tree of a flame graph as text and as JSON. */
#include "analysis/flame-print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json-line.h"
#include "analysis/report-table.h"
#include "analysis/report-text.h"

#define FLAME_INDENTS 40 /* Deeper paths have the same indentation and show their depth. */

/* ---- text ---- */

static const struct table_column flame_print_columns[] = {
		{"TOTAL", true, VIEW_COLOUR_NUMBER},
		{"SHARE", true, NULL},
		{"SELF", true, VIEW_COLOUR_NUMBER},
		{"COUNT", true, NULL},
		{"FUNCTION", false, VIEW_COLOUR_NAME},
};
static const struct table_column flame_print_base_columns[] = {
		{"TOTAL", true, VIEW_COLOUR_NUMBER},
		{"BASE", true, NULL},
		{"CHANGE", true, VIEW_COLOUR_NUMBER},
		{"SELF", true, NULL},
		{"FUNCTION", false, VIEW_COLOUR_NAME},
};

const char *flame_print_weight(
		const struct flame *flame, uint64_t weight, char text[FORMAT_NUMBER_MAX])
{
	if (flame_weight_is_time(flame->weight))
		return text_duration((double)weight, text);
	return flame->weight == FLAME_WEIGHT_BYTES ? format_size(weight, text)
						   : format_number(weight, text);
}

static uint64_t flame_print_size(const struct flame_node *node)
{
	return node->total + node->base_total;
}

static int flame_print_compare(const void *one, const void *other)
{
	uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;

	return left > right ? -1 : left < right;
}

/*
 * The smallest weight of a row. A parent weighs at least as much as its children, so the rows above
 * a printed row are printed too. 0: out of memory.
 */
static uint64_t flame_print_least(const struct flame_tree *tree, uint64_t rows)
{
	uint32_t count = flame_tree_count(tree);
	uint64_t *sizes = rows < count ? malloc(count * sizeof(*sizes)) : NULL, least = 0;

	for (uint32_t i = 0; sizes && i < count; i++)
		sizes[i] = flame_print_size(&tree->nodes[i]);
	if (sizes) {
		qsort(sizes, count, sizeof(*sizes), flame_print_compare);
		least = sizes[rows];
	}
	free(sizes);
	return least;
}

static void flame_print_change(const struct flame *flame, struct report_table *table,
		const struct flame_node *node)
{
	bool is_less = node->total < node->base_total;
	uint64_t change = is_less ? node->base_total - node->total : node->total - node->base_total;
	char text[FORMAT_NUMBER_MAX];

	table_format(table, "%s%s", change ? is_less ? "-" : "+" : "",
			flame_print_weight(flame, change, text));
}

static void flame_print_row(
		const struct flame_print *print, struct report_table *table, uint32_t number)
{
	const struct flame_tree *tree = &print->flame->tree;
	const struct flame_node *node = &tree->nodes[number];
	const char *name = flame_tree_frame_of(tree, number)->name;
	uint64_t whole = tree->nodes[FLAME_TREE_ROOT].total;
	char text[FORMAT_NUMBER_MAX];

	table_put(table, flame_print_weight(print->flame, node->total, text));
	if (print->base) {
		table_put(table, flame_print_weight(print->flame, node->base_total, text));
		flame_print_change(print->flame, table, node);
	} else {
		table_format(table, "%.1f%%",
				whole ? (double)node->total * 100 / (double)whole : 0);
	}
	table_put(table, flame_print_weight(print->flame, node->self, text));
	if (!print->base)
		table_put(table, format_number(node->count, text));
	if (node->depth > FLAME_INDENTS)
		table_format(table, "%*s[%u] %s", 2 * FLAME_INDENTS, "", node->depth - 1, name);
	else
		table_format(table, "%*s%s", 2 * (int)(node->depth - 1), "", name);
}

int flame_print_text(const struct flame_print *print, FILE *stream)
{
	const struct flame_tree *tree = &print->flame->tree;
	struct report_table table = {print->base ? flame_print_base_columns : flame_print_columns,
			5, print->colour, NULL, 0, 0, false};
	uint32_t count = flame_tree_count(tree), *order = flame_tree_order(tree, false);
	uint64_t rows = print->rows ? print->rows : FLAME_ROWS_SHOWN, left = rows, hidden = 0;
	/* The root is a node but not a row: count it as well. */
	uint64_t least = flame_print_least(tree, rows + 1);
	struct view_out out = {0};

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		uint64_t size = flame_print_size(&tree->nodes[order[i]]);

		if (size && size >= least && left) {
			flame_print_row(print, &table, order[i]);
			left--;
		} else if (size) {
			hidden++;
		}
	}
	free(order);
	if (left < rows)
		table_print(&table, &out);
	if (hidden)
		view_out_format(&out, "… and %" PRIu64 " smaller\n", hidden);
	out.failed |= table.failed;
	return view_out_end(&out, stream, 0);
}

/* ---- JSON ---- */

static void flame_print_json_summary(const struct flame_print *print, struct view_out *out)
{
	const struct flame *flame = print->flame;
	const struct flame_node *root = &flame->tree.nodes[FLAME_TREE_ROOT];

	json_line_begin(out, "flame");
	json_line_text(out, "dir", flame->walk.options.dir);
	if (print->base)
		json_line_text(out, "base", print->base);
	json_line_text(out, "weight", flame_weight_name(flame->weight));
	json_line_text(out, "unit", flame_weight_unit(flame->weight));
	json_line_number(out, "total", root->total);
	if (print->base)
		json_line_number(out, "base_total", root->base_total);
	json_line_number(out, "count", flame->events);
	json_line_number(out, "lost", flame->lost);
	json_line_number(out, "stackless", flame->stackless);
	json_line_number(out, "unfinished", flame->unfinished);
	json_line_end(out);
}

static void flame_print_json_path(
		const struct flame_print *print, struct view_out *out, uint32_t number)
{
	const struct flame_tree *tree = &print->flame->tree;
	const struct flame_node *node = &tree->nodes[number];
	const struct flame_frame *frame = flame_tree_frame_of(tree, number);

	json_line_begin(out, "path");
	json_line_number(out, "depth", node->depth - 1);
	json_line_text(out, "function", frame->name);
	if (*frame->module)
		json_line_text(out, "module", frame->module);
	if (frame->file)
		json_line_text(out, "file", frame->file);
	json_line_number(out, "total", node->total);
	json_line_number(out, "self", node->self);
	json_line_number(out, "count", node->count);
	if (print->base) {
		json_line_number(out, "base_total", node->base_total);
		json_line_number(out, "base_self", node->base);
	}
	json_line_end(out);
}

int flame_print_json(const struct flame_print *print, FILE *stream)
{
	const struct flame_tree *tree = &print->flame->tree;
	uint32_t count = flame_tree_count(tree), *order = flame_tree_order(tree, false);
	struct view_out out = {0};

	if (!order)
		return -ENOMEM;
	flame_print_json_summary(print, &out);
	for (uint32_t i = 1; i < count; i++) {
		const struct flame_node *node = &tree->nodes[order[i]];

		if (node->total || node->base_total || node->count)
			flame_print_json_path(print, &out, order[i]);
	}
	free(order);
	return view_out_end(&out, stream, 0);
}
