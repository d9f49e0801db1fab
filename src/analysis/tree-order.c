/* SPDX-License-Identifier: MIT */
/* Sorts nodes by their parents, and walks down from the roots. */
#include "analysis/tree-order.h"

#include <stdlib.h>

#include "base/inside/search.h"

/* KEYS_NONE + 1 is 0, so the roots come first. */
static int tree_order_compare(const void *one, const void *other, void *user)
{
	const struct tree_order *order = user;
	uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
	uint32_t left_parent = order->parent(order->tree, left) + 1;
	uint32_t right_parent = order->parent(order->tree, right) + 1;

	if (left_parent != right_parent)
		return left_parent < right_parent ? -1 : 1;
	return order->compare(order->tree, left, right);
}

/* The index of the first child of `node` in the array sorted by parents. */
static uint32_t tree_order_first_child(
		const struct tree_order *order, const uint32_t *sorted, uint32_t node)
{
	return search_leading(
			i, order->count, order->parent(order->tree, sorted[i]) + 1 < node + 1);
}

/*
 * `next` has the index of the next child of each node. Without recursion, because the traced program
 * determines the depth.
 */
static void tree_order_walk(const struct tree_order *order, const uint32_t *sorted, uint32_t *next,
		uint32_t *ret_nodes)
{
	uint32_t parent = KEYS_NONE, done = 0, roots = 0;

	while (done < order->count) {
		uint32_t at = parent == KEYS_NONE ? roots : next[parent];

		if (at < order->count && order->parent(order->tree, sorted[at]) == parent) {
			if (parent == KEYS_NONE)
				roots++;
			else
				next[parent]++;
			parent = sorted[at];
			ret_nodes[done++] = parent;
		} else if (parent == KEYS_NONE) {
			break;
		} else {
			parent = order->parent(order->tree, parent);
		}
	}
}

uint32_t *tree_order_make(const struct tree_order *order)
{
	size_t size = ((size_t)order->count + 1) * sizeof(uint32_t);
	uint32_t *sorted = malloc(size), *next = malloc(size);
	uint32_t *nodes = calloc((size_t)order->count + 1, sizeof(*nodes));

	if (sorted && next && nodes) {
		for (uint32_t i = 0; i < order->count; i++)
			sorted[i] = i;
		qsort_r(sorted, order->count, sizeof(*sorted), tree_order_compare,
				(void *)(uintptr_t)order);
		for (uint32_t i = 0; i < order->count; i++)
			next[i] = tree_order_first_child(order, sorted, i);
		tree_order_walk(order, sorted, next, nodes);
	} else {
		free(nodes);
		nodes = NULL;
	}
	free(sorted);
	free(next);
	return nodes;
}
