/* SPDX-License-Identifier: MIT */
/* What another language can say of an expression. What is left out of an && only makes the rest true more often. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/tree.h"

struct saying {
	const struct filter_language *language;
	const struct filter_tree *tree;
	char *text;
	size_t room, used;
	bool full;
};

enum said {
	SAID_NOTHING,
	SAID_MORE, /* true of more than the node */
	SAID_EXACTLY,
};

static void filter_print_append(struct saying *saying, const char *text)
{
	size_t size = strlen(text);

	if (saying->room - saying->used <= size) {
		saying->full = true;
		return;
	}
	memcpy(saying->text + saying->used, text, size + 1);
	saying->used += size;
}

static void filter_print_truncate(struct saying *saying, size_t used)
{
	saying->used = used;
	saying->text[used] = '\0';
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

/* The name of a field of the event itself; NULL: it is something else. */
static const char *plain_field(const struct saying *saying, const struct filter_node *node)
{
	const uint8_t *path = saying->tree->pool + node->value;

	if (node->code != FILTER_CODE_FIELD || node->flag != FILTER_ASK_VALUE ||
			path[0] != FILTER_FIELD || path[1] != 1 || path[2] != 0)
		return NULL;
	return (const char *)path + 5; /* root, steps, a name, its size */
}

static bool filter_print_is_constant(const struct filter_node *node)
{
	return node->code == FILTER_CODE_INT || (node->code == FILTER_CODE_TEXT && !node->flag);
}

static enum said say_comparison(struct saying *saying, const struct filter_node *node)
{
	const struct filter_node *field = node->left, *constant = node->right;
	struct filter_comparison comparison = {.relation = relation_of(node->code)};

	if (filter_print_is_constant(field)) {
		field = node->right;
		constant = node->left;
		comparison.relation = relation_of(filter_code_mirror(node->code));
	}
	comparison.field = plain_field(saying, field);
	if (!comparison.field || !filter_print_is_constant(constant))
		return SAID_NOTHING;
	if (constant->code == FILTER_CODE_TEXT)
		comparison.text = (const char *)saying->tree->pool + constant->value + 2;
	comparison.number = constant->value;
	comparison.is_unsigned = constant->flag;
	if (!saying->language->compare(saying->language->user, &comparison,
			    saying->text + saying->used, saying->room - saying->used)) {
		filter_print_truncate(saying, saying->used);
		return SAID_NOTHING;
	}
	saying->used += strlen(saying->text + saying->used);
	return SAID_EXACTLY;
}

/* ---- the rest ---- */

static enum said filter_print_format_node(struct saying *saying, const struct filter_node *node);

static enum said say_both(struct saying *saying, const struct filter_node *node)
{
	bool all = node->code == FILTER_CODE_OR;
	size_t begin = saying->used, between;
	enum said left, right;

	filter_print_append(saying, "(");
	left = filter_print_format_node(saying, node->left);
	if (!left && all) {
		filter_print_truncate(saying, begin);
		return SAID_NOTHING;
	}
	between = saying->used;
	if (left)
		filter_print_append(saying, all ? ") || (" : ") && (");
	right = filter_print_format_node(saying, node->right);
	if (!right && (all || !left)) {
		filter_print_truncate(saying, begin);
		return SAID_NOTHING;
	}
	if (!right)
		filter_print_truncate(saying, between);
	filter_print_append(saying, ")");
	return left == SAID_EXACTLY && right == SAID_EXACTLY ? SAID_EXACTLY : SAID_MORE;
}

static enum said say_not(struct saying *saying, const struct filter_node *node)
{
	size_t begin = saying->used;

	filter_print_append(saying, "!(");
	/* More of what is not is less. */
	if (filter_print_format_node(saying, node->left) != SAID_EXACTLY) {
		filter_print_truncate(saying, begin);
		return SAID_NOTHING;
	}
	filter_print_append(saying, ")");
	return SAID_EXACTLY;
}

static enum said filter_print_format_node(struct saying *saying, const struct filter_node *node)
{
	if (saying->full)
		return SAID_NOTHING;
	if (node->code == FILTER_CODE_AND || node->code == FILTER_CODE_OR)
		return say_both(saying, node);
	if (node->code == FILTER_CODE_NOT)
		return say_not(saying, node);
	return relation_of(node->code) ? say_comparison(saying, node) : SAID_NOTHING;
}

int filter_say(const char *expression, const struct filter_language *language, char *text,
		size_t room)
{
	struct saying saying = {.language = language, .text = text, .room = room};
	struct filter_tree *tree;
	struct filter_node *root;
	enum said said;
	int ret;

	if (!room)
		return -E2BIG;
	ret = filter_parse_tree(expression, &tree, &root, NULL);
	if (ret)
		return ret;
	*text = '\0';
	saying.tree = tree;
	said = filter_print_format_node(&saying, root);
	free(tree);
	return saying.full ? -E2BIG : said ? 0 : -ENOENT;
}
