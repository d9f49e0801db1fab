/* SPDX-License-Identifier: MIT */
/* An expression as a tree, between parser and generator; private to this module. */
#ifndef SIDE_FILTER_TREE_H
#define SIDE_FILTER_TREE_H

#include "filter/program.h"

/* The type of a value, as far as it is known without an event. */
enum filter_sort {
	FILTER_SORT_ANY,
	FILTER_SORT_NUMBER,
	FILTER_SORT_TRUTH, /* 0 or 1 */
	FILTER_SORT_TEXT,
};

struct filter_node {
	uint8_t code; /* enum filter_code: a push, or an operation with the child nodes */
	uint8_t flag; /* of a push */
	uint8_t sort; /* enum filter_sort */
	/* How the text has it, to detect misleading precedence. */
	bool in_parentheses, compares, negates;
	uint16_t column;
	uint64_t value; /* of a push */
	struct filter_node *left, *right;
};

struct filter_tree {
	struct filter_node nodes[FILTER_INSTRUCTIONS_MAX];
	uint32_t nr;
	uint8_t pool[FILTER_PROGRAM_MAX];
	uint32_t pool_size;
};

/* 0 and a tree, free() it; or an error of filter_parse(). */
int filter_parse_tree(const char *text, struct filter_tree **ret_tree,
		struct filter_node **ret_root, struct filter_error *error);

/* Generate the bytes of a program. 0, -E2BIG with the error filled in, or -ENOMEM. */
int filter_generate(const struct filter_tree *tree, const struct filter_node *root,
		void **ret_program, size_t *ret_size, struct filter_error *error);

#endif /* SIDE_FILTER_TREE_H */
