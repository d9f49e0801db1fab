/* SPDX-License-Identifier: MIT */
/* The tree of calls with branches that are expanded or collapsed, for `side explore`. */
#ifndef SIDE_ANALYSIS_EXPLORE_TREE_H
#define SIDE_ANALYSIS_EXPLORE_TREE_H

#include "analysis/report-calls.h"

/* All zero is an empty one. */
struct explore_tree {
	const struct report_calls *calls;
	uint32_t *order;   /* all branches, each after its parent */
	uint32_t *visible; /* positions in `order` of the branches whose parents are expanded */
	uint32_t nr_visible, nr_branches;
	bool *expanded; /* for each branch */
};

/* Keeps the expanded branches of an earlier tree of the same trace. 0 or -ENOMEM. */
int explore_tree_make(struct explore_tree *tree, const struct report_calls *calls);
void explore_tree_free(struct explore_tree *tree);

/* The branch in a visible row. */
const struct calls_branch *explore_tree_branch(const struct explore_tree *tree, uint32_t row);
bool explore_tree_has_children(const struct explore_tree *tree, uint32_t row);
bool explore_tree_is_expanded(const struct explore_tree *tree, uint32_t row);
void explore_tree_expand(struct explore_tree *tree, uint32_t row, bool expanded);
void explore_tree_expand_all(struct explore_tree *tree, bool expanded);
/* The row of the parent; the row itself if it has none. */
uint32_t explore_tree_parent(const struct explore_tree *tree, uint32_t row);

#endif /* SIDE_ANALYSIS_EXPLORE_TREE_H */
