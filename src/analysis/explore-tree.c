/* SPDX-License-Identifier: MIT */
/* The tree of calls with branches that are expanded or collapsed. */
#include "analysis/explore-tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t explore_tree_number(const struct explore_tree *tree, uint32_t row)
{
	return tree->order[tree->visible[row]];
}

const struct calls_branch *explore_tree_branch(const struct explore_tree *tree, uint32_t row)
{
	return &tree->calls->branches[explore_tree_number(tree, row)];
}

/* A branch is followed by its first child. */
bool explore_tree_has_children(const struct explore_tree *tree, uint32_t row)
{
	uint32_t next = tree->visible[row] + 1;

	return next < tree->calls->branch_keys.count &&
			tree->calls->branches[tree->order[next]].parent ==
			explore_tree_number(tree, row);
}

bool explore_tree_is_expanded(const struct explore_tree *tree, uint32_t row)
{
	return tree->expanded[explore_tree_number(tree, row)];
}

/* Skips all branches below a collapsed branch: they follow it, and are deeper. */
static void explore_tree_collect(struct explore_tree *tree)
{
	const struct calls_branch *branches = tree->calls->branches;
	uint32_t count = tree->calls->branch_keys.count, hidden = UINT32_MAX;

	tree->nr_visible = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = tree->order[i], depth = branches[number].depth;

		if (depth > hidden)
			continue;
		hidden = tree->expanded[number] ? UINT32_MAX : depth;
		tree->visible[tree->nr_visible++] = i;
	}
}

int explore_tree_make(struct explore_tree *tree, const struct report_calls *calls)
{
	uint32_t count = calls->branch_keys.count, before = 0;
	uint32_t *order = calls_branch_order(calls);
	uint32_t *visible = calloc((size_t)count + 1, sizeof(*visible));
	bool *expanded = calloc((size_t)count + 1, sizeof(*expanded));

	if (!order || !visible || !expanded) {
		free(order);
		free(visible);
		free(expanded);
		return -ENOMEM;
	}
	if (tree->expanded)
		before = tree->nr_branches;
	if (before)
		memcpy(expanded, tree->expanded,
				(before < count ? before : count) * sizeof(*expanded));
	explore_tree_free(tree);
	*tree = (struct explore_tree){calls, order, visible, 0, count, expanded};
	explore_tree_collect(tree);
	return 0;
}

void explore_tree_free(struct explore_tree *tree)
{
	free(tree->order);
	free(tree->visible);
	free(tree->expanded);
	*tree = (struct explore_tree){.calls = NULL};
}

void explore_tree_expand(struct explore_tree *tree, uint32_t row, bool expanded)
{
	tree->expanded[explore_tree_number(tree, row)] = expanded;
	explore_tree_collect(tree);
}

void explore_tree_expand_all(struct explore_tree *tree, bool expanded)
{
	memset(tree->expanded, expanded, tree->nr_branches * sizeof(*tree->expanded));
	explore_tree_collect(tree);
}

uint32_t explore_tree_parent(const struct explore_tree *tree, uint32_t row)
{
	uint32_t parent = explore_tree_branch(tree, row)->parent;

	for (uint32_t above = row; parent != KEYS_NONE && above-- > 0;)
		if (explore_tree_number(tree, above) == parent)
			return above;
	return row;
}
