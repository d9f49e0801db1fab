/* SPDX-License-Identifier: MIT */
/*
 * A tree of call paths with weights, as flame graphs show it.
 *
 * A node is a function that was called along one path. The root has no function; its children are
 * the outermost functions, or processes or threads. Memory is bounded: paths beyond a limit are
 * one node, FLAME_TREE_OTHERS.
 */
#ifndef SIDE_ANALYSIS_FLAME_TREE_H
#define SIDE_ANALYSIS_FLAME_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/report-keys.h"

struct stack_frame;

#define FLAME_NODES_MAX 500000 /* nodes of a tree */
#define FLAME_DEPTH_MAX 1024   /* functions of a path; deeper functions count for the last one */

#define FLAME_TREE_ROOT 0
#define FLAME_TREE_OTHERS 1 /* a child of the root */
#define FLAME_TREE_FIRST 2  /* the first node that was added */

/* A function, a process or a thread. Texts live as long as the tree, `file` as long as its source. */
struct flame_frame {
	const char *name;
	const char *module; /* the path of its file; "": not known */
	const char *file;   /* NULL: not known */
	unsigned int line;  /* of the first address that was seen */
};

struct flame_node {
	uint32_t parent; /* a smaller number; KEYS_NONE: this is the root */
	uint32_t frame;
	uint32_t depth; /* 0: the root */
	uint64_t count; /* calls or events, without the children … */
	uint64_t self;  /* … and their weight */
	uint64_t total; /* set by flame_tree_sum(): with the children */
	uint64_t base;  /* `self` and `total` of the trace that is compared; 0 without one */
	uint64_t base_total;
};

struct flame_tree {
	struct keys frame_keys;
	struct flame_frame *frames;
	struct keys node_keys;
	struct flame_node *nodes;
	uint64_t too_deep; /* attempts to add a node below FLAME_DEPTH_MAX */
};

/* Makes the first two nodes. 0 or -ENOMEM. Call flame_tree_free() in both cases. */
int flame_tree_init(struct flame_tree *tree);
void flame_tree_free(struct flame_tree *tree);

/* The frame with this name. KEYS_NONE: out of memory. */
uint32_t flame_tree_frame(
		struct flame_tree *tree, const char *name, size_t size, const char *module);
/* The frame of a function or of an address. KEYS_NONE: out of memory. */
uint32_t flame_tree_stack_frame(struct flame_tree *tree, const struct stack_frame *frame);
/*
 * The node of a frame below `parent`. A new node is added. Beyond FLAME_NODES_MAX and below
 * FLAME_TREE_OTHERS, it is FLAME_TREE_OTHERS; beyond FLAME_DEPTH_MAX, the parent. KEYS_NONE: out of
 * memory.
 */
uint32_t flame_tree_child(struct flame_tree *tree, uint32_t parent, uint32_t frame);

static inline uint32_t flame_tree_count(const struct flame_tree *tree)
{
	return tree->node_keys.count;
}

/* The name of a node. */
static inline const struct flame_frame *flame_tree_frame_of(
		const struct flame_tree *tree, uint32_t node)
{
	return &tree->frames[tree->nodes[node].frame];
}

/* Adds the weights of `other` as the base. Nodes match if all names are equal. 0 or -ENOMEM. */
int flame_tree_add_base(struct flame_tree *tree, const struct flame_tree *other);
/* Computes the totals. After the last weight. */
void flame_tree_sum(struct flame_tree *tree);
/*
 * The nodes in the order of a printed tree: each one after its parent, siblings by total (or by
 * name). The caller frees the numbers; NULL: out of memory.
 */
uint32_t *flame_tree_order(const struct flame_tree *tree, bool by_name);

#endif /* SIDE_ANALYSIS_FLAME_TREE_H */
