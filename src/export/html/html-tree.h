/* SPDX-License-Identifier: MIT */
/*
 * Trees of functions for flame graphs and call trees: of calls by their time, and of events by
 * their stack.
 *
 * A node follows its parent. Branches with little weight are left out of the page; the weight of
 * their parents includes them.
 */
#ifndef SIDE_EXPORT_HTML_HTML_TREE_H
#define SIDE_EXPORT_HTML_HTML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/report-keys.h"

struct report_calls;
struct stacks;
struct view_out;

#define HTML_NODES_MAX 200000  /* nodes that are counted; deeper ones count for their parent */
#define HTML_NODES_SHOWN 8000  /* nodes in the page: the largest weights */
#define HTML_FUNCTION_SIZE 256 /* bytes of the name of a function, which is cut there */

struct html_node {
	uint32_t parent; /* KEYS_NONE: the outermost function */
	uint32_t name;
	uint64_t total, self, count;
};

/* All zero is an empty one. */
struct html_tree {
	struct keys names;
	struct keys node_keys;
	struct html_node *nodes;
	uint64_t weight; /* of all outermost functions */
};

/* Makes the tree of calls: weights are ns. 0 or -ENOMEM. */
int html_tree_of_calls(struct html_tree *tree, const struct report_calls *calls);
/*
 * Adds `count` events with one stack, whose number is one of stacks_named(). STACK_NONE: without a
 * known stack. 0 or -ENOMEM.
 */
int html_tree_add_stack(struct html_tree *tree, const struct stacks *stacks, uint32_t named,
		uint64_t count);
/* Adds the weights of callees to their callers. After the last stack. */
void html_tree_finish(struct html_tree *tree);
void html_tree_free(struct html_tree *tree);

/*
 * Writes `{"id":…,"unit":…,"weight":…,"names":[…],"nodes":[…],…}` in at most `size_max` bytes, with
 * fewer nodes if necessary. 0 or -ENOMEM.
 */
int html_tree_print(const struct html_tree *tree, const char *id, const char *unit,
		struct view_out *out, size_t size_max);

#endif /* SIDE_EXPORT_HTML_HTML_TREE_H */
