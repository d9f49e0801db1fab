/* SPDX-License-Identifier: MIT */
/* The order in which a tree is printed: each node before its children, siblings sorted. */
#ifndef SIDE_ANALYSIS_TREE_ORDER_H
#define SIDE_ANALYSIS_TREE_ORDER_H

#include <stdint.h>

#include "analysis/report-keys.h"

/* Nodes are numbers. All functions get `tree`. */
struct tree_order {
	const void *tree;
	uint32_t count;
	/* KEYS_NONE: the node is a root. Following parents ends at a root. */
	uint32_t (*parent)(const void *tree, uint32_t node);
	/* Compares two siblings. */
	int (*compare)(const void *tree, uint32_t node, uint32_t other);
};

/* Returns the nodes, which the caller frees; NULL: out of memory. */
uint32_t *tree_order_make(const struct tree_order *order);

#endif /* SIDE_ANALYSIS_TREE_ORDER_H */
