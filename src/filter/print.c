/* SPDX-License-Identifier: MIT */
/*
 * Prints an expression in another language.
 *
 * Omitting an operand of && only makes the text true more often.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/tree.h"

struct filter_printer {
	const struct filter_language *language;
	const struct filter_tree *tree;
	char *text;
	size_t capacity, used;
	bool full;
};

enum filter_print_result {
	TRANSLATED_NONE,
	TRANSLATED_WIDER, /* true of more than the node */
	TRANSLATED_EXACTLY,
};

static void filter_print_append(struct filter_printer *filter_printer, const char *text)
{
	size_t size = strlen(text);

	if (filter_printer->capacity - filter_printer->used <= size) {
		filter_printer->full = true;
		return;
	}
	memcpy(filter_printer->text + filter_printer->used, text, size + 1);
	filter_printer->used += size;
}

static void filter_print_truncate(struct filter_printer *filter_printer, size_t used)
{
	filter_printer->used = used;
	filter_printer->text[used] = '\0';
}

/* ---- comparisons ---- */

static const char *relation_of(unsigned int code)
{
	switch (code) {
	case FILTER_CODE_EQUAL: return "==";
	case FILTER_CODE_UNEQUAL: return "!=";
	case FILTER_CODE_LESS: return "<";
	case FILTER_CODE_LESS_EQUAL: return "<=";
	case FILTER_CODE_GREATER: return ">";
	case FILTER_CODE_GREATER_EQUAL: return ">=";
	case FILTER_CODE_BIT_AND: return "&";
	default: return NULL;
	}
}

/* The name of a field of the event itself; NULL: the node is something else. */
static const char *plain_field(
		const struct filter_printer *filter_printer, const struct filter_node *node)
{
	const uint8_t *path = filter_printer->tree->pool + node->value;

	if (node->code != FILTER_CODE_FIELD || node->flag != FILTER_ASK_VALUE ||
			path[0] != FILTER_FIELD || path[1] != 1 || path[2] != 0)
		return NULL;
	return (const char *)path + 5; /* skips root, steps, the tag of a name, its size */
}

static bool filter_print_is_constant(const struct filter_node *node)
{
	return node->code == FILTER_CODE_INT || (node->code == FILTER_CODE_TEXT && !node->flag);
}

static enum filter_print_result filter_print_comparison(
		struct filter_printer *filter_printer, const struct filter_node *node)
{
	const struct filter_node *field = node->left, *constant = node->right;
	struct filter_comparison comparison = {.relation = relation_of(node->code)};

	if (filter_print_is_constant(field)) {
		field = node->right;
		constant = node->left;
		comparison.relation = relation_of(filter_code_mirror(node->code));
	}
	comparison.field = plain_field(filter_printer, field);
	if (!comparison.field || !filter_print_is_constant(constant))
		return TRANSLATED_NONE;
	if (constant->code == FILTER_CODE_TEXT)
		comparison.text = (const char *)filter_printer->tree->pool + constant->value + 2;
	comparison.number = constant->value;
	comparison.is_unsigned = constant->flag;
	if (!filter_printer->language->compare(filter_printer->language->user, &comparison,
			    filter_printer->text + filter_printer->used,
			    filter_printer->capacity - filter_printer->used)) {
		filter_print_truncate(filter_printer, filter_printer->used);
		return TRANSLATED_NONE;
	}
	filter_printer->used += strlen(filter_printer->text + filter_printer->used);
	return TRANSLATED_EXACTLY;
}

/* ---- other nodes ---- */

static enum filter_print_result filter_print_format_node(
		struct filter_printer *filter_printer, const struct filter_node *node);

static enum filter_print_result filter_print_both(
		struct filter_printer *filter_printer, const struct filter_node *node)
{
	bool all = node->code == FILTER_CODE_OR;
	size_t begin = filter_printer->used, between;
	enum filter_print_result left, right;

	filter_print_append(filter_printer, "(");
	left = filter_print_format_node(filter_printer, node->left);
	if (!left && all) {
		filter_print_truncate(filter_printer, begin);
		return TRANSLATED_NONE;
	}
	between = filter_printer->used;
	if (left)
		filter_print_append(filter_printer, all ? ") || (" : ") && (");
	right = filter_print_format_node(filter_printer, node->right);
	if (!right && (all || !left)) {
		filter_print_truncate(filter_printer, begin);
		return TRANSLATED_NONE;
	}
	if (!right)
		filter_print_truncate(filter_printer, between);
	filter_print_append(filter_printer, ")");
	return left == TRANSLATED_EXACTLY && right == TRANSLATED_EXACTLY ? TRANSLATED_EXACTLY
									 : TRANSLATED_WIDER;
}

static enum filter_print_result filter_print_not(
		struct filter_printer *filter_printer, const struct filter_node *node)
{
	size_t begin = filter_printer->used;

	filter_print_append(filter_printer, "!(");
	/* The negation of a wider text would be narrower than the node. */
	if (filter_print_format_node(filter_printer, node->left) != TRANSLATED_EXACTLY) {
		filter_print_truncate(filter_printer, begin);
		return TRANSLATED_NONE;
	}
	filter_print_append(filter_printer, ")");
	return TRANSLATED_EXACTLY;
}

static enum filter_print_result filter_print_format_node(
		struct filter_printer *filter_printer, const struct filter_node *node)
{
	if (filter_printer->full)
		return TRANSLATED_NONE;
	if (node->code == FILTER_CODE_AND || node->code == FILTER_CODE_OR)
		return filter_print_both(filter_printer, node);
	if (node->code == FILTER_CODE_NOT)
		return filter_print_not(filter_printer, node);
	return relation_of(node->code) ? filter_print_comparison(filter_printer, node)
				       : TRANSLATED_NONE;
}

int filter_print(const char *expression, const struct filter_language *language, char *text,
		size_t capacity)
{
	struct filter_printer filter_printer = {
			.language = language, .text = text, .capacity = capacity};
	struct filter_tree *tree;
	struct filter_node *root;
	enum filter_print_result result;
	int ret;

	if (!capacity)
		return -E2BIG;
	ret = filter_parse_tree(expression, &tree, &root, NULL);
	if (ret)
		return ret;
	*text = '\0';
	filter_printer.tree = tree;
	result = filter_print_format_node(&filter_printer, root);
	free(tree);
	return filter_printer.full ? -E2BIG : result ? 0 : -ENOENT;
}
