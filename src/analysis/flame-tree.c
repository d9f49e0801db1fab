/* SPDX-License-Identifier: MIT */
/* Trees of call paths with weights. */
#include "analysis/flame-tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stacks.h"
#include "analysis/tree-order.h"

#define FLAME_TREE_NAME_SIZE 4096 /* longer names are cut */
#define FLAME_TREE_OTHERS_FRAME 1 /* the frame of FLAME_TREE_OTHERS */

/* ---- frames ---- */

/* The key is the name and the module, each with its NUL. */
uint32_t flame_tree_frame(
		struct flame_tree *tree, const char *name, size_t size, const char *module)
{
	char key[2 * FLAME_TREE_NAME_SIZE];
	size_t length = strnlen(
			name, size < FLAME_TREE_NAME_SIZE - 1 ? size : FLAME_TREE_NAME_SIZE - 1);
	uint32_t known = tree->frame_keys.count, number;

	memcpy(key, name, length);
	key[length] = '\0';
	snprintf(key + length + 1, FLAME_TREE_NAME_SIZE, "%s", module);
	tree->frames = keys_add_item(&tree->frame_keys, tree->frames, sizeof(*tree->frames), key,
			length + 1 + strlen(key + length + 1) + 1, &number);
	if (number == KEYS_NONE)
		return tree->frame_keys.no_memory ? KEYS_NONE : FLAME_TREE_OTHERS_FRAME;
	if (number == known) {
		tree->frames[number].name = (const char *)tree->frame_keys.entries[number].bytes;
		tree->frames[number].module = tree->frames[number].name + length + 1;
	}
	return number;
}

uint32_t flame_tree_stack_frame(struct flame_tree *tree, const struct stack_frame *frame)
{
	const char *module = frame->module ? frame->module : "";
	uint32_t known = tree->frame_keys.count, number;
	char name[FLAME_TREE_NAME_SIZE];

	stacks_frame_name(frame, name, sizeof(name));
	number = flame_tree_frame(tree, name, strlen(name), module);
	if (number != KEYS_NONE && number == known) {
		tree->frames[number].file = frame->file;
		tree->frames[number].line = frame->line;
	}
	return number;
}

/* ---- nodes ---- */

int flame_tree_init(struct flame_tree *tree)
{
	static const char others[] = "(others)";
	uint32_t root_key[2] = {KEYS_NONE, 0},
		 others_key[2] = {FLAME_TREE_ROOT, FLAME_TREE_OTHERS_FRAME};
	uint32_t root, other;

	tree->node_keys.limit = FLAME_NODES_MAX;
	tree->frame_keys.limit = FLAME_NODES_MAX;
	if (flame_tree_frame(tree, "", 0, "") == KEYS_NONE ||
			flame_tree_frame(tree, others, strlen(others), "") == KEYS_NONE)
		return -ENOMEM;
	tree->nodes = keys_add_item(&tree->node_keys, tree->nodes, sizeof(*tree->nodes), root_key,
			sizeof(root_key), &root);
	tree->nodes = keys_add_item(&tree->node_keys, tree->nodes, sizeof(*tree->nodes), others_key,
			sizeof(others_key), &other);
	if (root != FLAME_TREE_ROOT || other != FLAME_TREE_OTHERS)
		return -ENOMEM;
	tree->nodes[root].parent = KEYS_NONE;
	tree->nodes[other] = (struct flame_node){.frame = FLAME_TREE_OTHERS_FRAME, .depth = 1};
	return 0;
}

void flame_tree_free(struct flame_tree *tree)
{
	keys_free(&tree->frame_keys);
	keys_free(&tree->node_keys);
	free(tree->frames);
	free(tree->nodes);
	*tree = (struct flame_tree){0};
}

uint32_t flame_tree_child(struct flame_tree *tree, uint32_t parent, uint32_t frame)
{
	uint32_t key[2] = {parent, frame}, known = tree->node_keys.count, number;

	if (parent == KEYS_NONE || frame == KEYS_NONE)
		return KEYS_NONE;
	if (parent == FLAME_TREE_OTHERS)
		return parent;
	if (tree->nodes[parent].depth == FLAME_DEPTH_MAX) {
		tree->too_deep++;
		return parent;
	}
	tree->nodes = keys_add_item(&tree->node_keys, tree->nodes, sizeof(*tree->nodes), key,
			sizeof(key), &number);
	if (number == KEYS_NONE)
		return tree->node_keys.no_memory ? KEYS_NONE : FLAME_TREE_OTHERS;
	if (number == known) {
		tree->nodes[number].parent = parent;
		tree->nodes[number].frame = frame;
		tree->nodes[number].depth = tree->nodes[parent].depth + 1;
	}
	return number;
}

int flame_tree_add_base(struct flame_tree *tree, const struct flame_tree *other)
{
	uint32_t count = flame_tree_count(other), *map = malloc(((size_t)count + 1) * sizeof(*map));
	uint32_t node = FLAME_TREE_ROOT;

	for (uint32_t i = 0; map && i < count && node != KEYS_NONE; i++) {
		const struct flame_frame *frame = flame_tree_frame_of(other, i);

		node = i; /* The first two nodes are the same ones in each tree. */
		if (i >= FLAME_TREE_FIRST)
			node = flame_tree_child(tree, map[other->nodes[i].parent],
					flame_tree_frame(tree, frame->name, strlen(frame->name),
							frame->module));
		map[i] = node;
		if (node != KEYS_NONE)
			tree->nodes[node].base += other->nodes[i].self;
	}
	if (map && node != KEYS_NONE)
		flame_tree_sum(tree);
	free(map);
	return map && node != KEYS_NONE ? 0 : -ENOMEM;
}

void flame_tree_sum(struct flame_tree *tree)
{
	for (uint32_t i = 0; i < flame_tree_count(tree); i++) {
		tree->nodes[i].total = tree->nodes[i].self;
		tree->nodes[i].base_total = tree->nodes[i].base;
	}
	/* A parent has a smaller number than its children. */
	for (uint32_t i = flame_tree_count(tree); i-- > 1;) {
		struct flame_node *parent = &tree->nodes[tree->nodes[i].parent];

		parent->total += tree->nodes[i].total;
		parent->base_total += tree->nodes[i].base_total;
	}
}

/* ---- the order ---- */

static uint32_t flame_tree_parent(const void *tree, uint32_t node)
{
	const struct flame_tree *flame = tree;

	return flame->nodes[node].parent;
}

static int flame_tree_compare_names(const void *tree, uint32_t node, uint32_t other)
{
	int names = strcmp(flame_tree_frame_of(tree, node)->name,
			flame_tree_frame_of(tree, other)->name);

	return names ? names : node < other ? -1 : node > other;
}

static int flame_tree_compare_totals(const void *tree, uint32_t node, uint32_t other)
{
	const struct flame_tree *flame = tree;
	uint64_t left = flame->nodes[node].total + flame->nodes[node].base_total;
	uint64_t right = flame->nodes[other].total + flame->nodes[other].base_total;

	if (left != right)
		return left > right ? -1 : 1;
	return flame_tree_compare_names(tree, node, other);
}

uint32_t *flame_tree_order(const struct flame_tree *tree, bool by_name)
{
	const struct tree_order order = {
			.tree = tree,
			.count = flame_tree_count(tree),
			.parent = flame_tree_parent,
			.compare = by_name ? flame_tree_compare_names : flame_tree_compare_totals,
	};

	return tree_order_make(&order);
}
