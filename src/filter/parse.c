/* SPDX-License-Identifier: MIT */
/*
 * Parses an expression into a tree, by recursive descent: C's operators with C's precedence.
 *
 * Where C's precedence often misleads users (`a & 1 == 0`, `!a == b`, `a < b < c`), the parser
 * reports an error that asks for parentheses. Constants are folded, so that an error in a constant
 * expression is reported here, with its column.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/compute.h"
#include "filter/lex.h"
#include "filter/suggest.h"
#include "filter/tree.h"

/* Nesting of parentheses and signs. */
#define PARSE_DEPTH_MAX 100
#define SHOWN_MAX 64

struct filter_parser {
	struct filter_lexer lexer;
	struct filter_tree *tree;
	unsigned int depth;
	int failed; /* set by the first error */
};

struct binary {
	int op;
	uint8_t level; /* 1 has the lowest precedence */
	uint8_t code;
};

enum filter_precedence {
	LEVEL_OR = 1,
	LEVEL_AND,
	LEVEL_BIT_OR,
	LEVEL_BIT_XOR,
	LEVEL_BIT_AND,
	LEVEL_EQUAL,
	LEVEL_LESS,
	LEVEL_SHIFT,
	LEVEL_ADD,
	LEVEL_MULTIPLY,
	LEVEL_UNARY,
};

static const struct binary operators[] = {
		{FILTER_OP_OR, LEVEL_OR, FILTER_CODE_OR},
		{FILTER_OP_AND, LEVEL_AND, FILTER_CODE_AND},
		{'|', LEVEL_BIT_OR, FILTER_CODE_BIT_OR},
		{'^', LEVEL_BIT_XOR, FILTER_CODE_BIT_XOR},
		{'&', LEVEL_BIT_AND, FILTER_CODE_BIT_AND},
		{FILTER_OP_EQUAL, LEVEL_EQUAL, FILTER_CODE_EQUAL},
		{FILTER_OP_UNEQUAL, LEVEL_EQUAL, FILTER_CODE_UNEQUAL},
		{'<', LEVEL_LESS, FILTER_CODE_LESS},
		{FILTER_OP_LESS_EQUAL, LEVEL_LESS, FILTER_CODE_LESS_EQUAL},
		{'>', LEVEL_LESS, FILTER_CODE_GREATER},
		{FILTER_OP_GREATER_EQUAL, LEVEL_LESS, FILTER_CODE_GREATER_EQUAL},
		{FILTER_OP_LEFT, LEVEL_SHIFT, FILTER_CODE_LEFT},
		{FILTER_OP_RIGHT, LEVEL_SHIFT, FILTER_CODE_RIGHT},
		{'+', LEVEL_ADD, FILTER_CODE_ADD},
		{'-', LEVEL_ADD, FILTER_CODE_SUBTRACT},
		{'*', LEVEL_MULTIPLY, FILTER_CODE_MULTIPLY},
		{'/', LEVEL_MULTIPLY, FILTER_CODE_DIVIDE},
		{'%', LEVEL_MULTIPLY, FILTER_CODE_REMAINDER},
};

static struct filter_node *filter_parse_level(struct filter_parser *parser, unsigned int level);

static struct filter_node *filter_parse_set_error(struct filter_parser *parser, unsigned int column,
		const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Store an error. Returns NULL, for "return filter_parse_set_error(…)" in functions that return a
   node. */
static struct filter_node *filter_parse_set_error(
		struct filter_parser *parser, unsigned int column, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	parser->failed = filter_fail_list(parser->lexer.error, column, format, list);
	va_end(list);
	return NULL;
}

static void filter_parse_next_token(struct filter_parser *parser)
{
	if (!parser->failed)
		parser->failed = filter_lex(&parser->lexer);
}

static bool is_op(const struct filter_parser *parser, int op)
{
	const struct filter_token *token = &parser->lexer.token;

	return token->kind == FILTER_TOKEN_OPERATOR && token->op == op;
}

/* `expected WHAT, not "token"` */
static struct filter_node *fail_expected(
		struct filter_parser *parser, const char *what, const char *hint)
{
	char shown[SHOWN_MAX];

	filter_parse_set_error(parser, parser->lexer.token.column, "expected %s, not %s", what,
			filter_token_text(&parser->lexer, shown, sizeof(shown)));
	filter_hint_set(parser->lexer.error, hint);
	return NULL;
}

/* ---- nodes ---- */

static struct filter_node *new_node(
		struct filter_parser *parser, unsigned int code, unsigned int column)
{
	struct filter_tree *tree = parser->tree;
	struct filter_node *node;

	if (parser->failed)
		return NULL;
	if (tree->nr == FILTER_INSTRUCTIONS_MAX) {
		filter_parse_set_error(parser, column, "the expression has more than %d parts",
				FILTER_INSTRUCTIONS_MAX);
		parser->failed = -E2BIG;
		return NULL;
	}
	node = &tree->nodes[tree->nr++];
	node->code = (uint8_t)code;
	node->column = (uint16_t)column;
	return node;
}

static struct filter_node *new_integer(struct filter_parser *parser, unsigned int column,
		uint64_t number, bool is_unsigned)
{
	struct filter_node *node = new_node(parser, FILTER_CODE_INT, column);

	if (node) {
		node->sort = FILTER_SORT_NUMBER;
		node->value = number;
		node->flag = is_unsigned && number > INT64_MAX;
	}
	return node;
}

static uint8_t *pool_take(struct filter_parser *parser, unsigned int column, size_t size)
{
	struct filter_tree *tree = parser->tree;
	uint8_t *at = tree->pool + tree->pool_size;

	if (parser->failed)
		return NULL;
	if (sizeof(tree->pool) - tree->pool_size < size) {
		filter_parse_set_error(
				parser, column, "the names and strings are too long in total");
		parser->failed = -E2BIG;
		return NULL;
	}
	tree->pool_size += (uint32_t)size;
	return at;
}

static void pool_text(struct filter_parser *parser)
{
	const struct filter_token *token = &parser->lexer.token;
	uint8_t *at = pool_take(parser, token->column, token->size + 3);

	if (!at)
		return;
	at[0] = (uint8_t)token->size;
	at[1] = (uint8_t)(token->size >> 8);
	memcpy(at + 2, token->text, token->size + 1);
}

/* ---- constants ---- */

static bool filter_parse_is_constant(const struct filter_node *node)
{
	return node->code <= FILTER_CODE_TEXT;
}

static void constant_value(const struct filter_parser *parser, const struct filter_node *node,
		struct filter_value *ret_value)
{
	const uint8_t *text;

	memset(ret_value, 0, sizeof(*ret_value));
	ret_value->is_unsigned = node->flag;
	ret_value->u = node->value;
	switch (node->code) {
	case FILTER_CODE_INT: ret_value->kind = FILTER_INT; break;
	case FILTER_CODE_DOUBLE: ret_value->kind = FILTER_DOUBLE; break;
	default:
		text = parser->tree->pool + node->value;
		ret_value->kind = FILTER_STRING;
		ret_value->unit_size = 1;
		ret_value->text = text + 2;
		ret_value->size = filter_get16(text);
		break;
	}
}

static const char *code_text(unsigned int code)
{
	static const char *const texts[FILTER_NR_CODES] = {
			[FILTER_CODE_NEGATE] = "-",
			[FILTER_CODE_INVERT] = "~",
			[FILTER_CODE_NOT] = "!",
			[FILTER_CODE_ADD] = "+",
			[FILTER_CODE_SUBTRACT] = "-",
			[FILTER_CODE_MULTIPLY] = "*",
			[FILTER_CODE_DIVIDE] = "/",
			[FILTER_CODE_REMAINDER] = "%",
			[FILTER_CODE_BIT_AND] = "&",
			[FILTER_CODE_BIT_OR] = "|",
			[FILTER_CODE_BIT_XOR] = "^",
			[FILTER_CODE_LEFT] = "<<",
			[FILTER_CODE_RIGHT] = ">>",
			[FILTER_CODE_EQUAL] = "==",
			[FILTER_CODE_UNEQUAL] = "!=",
			[FILTER_CODE_LESS] = "<",
			[FILTER_CODE_LESS_EQUAL] = "<=",
			[FILTER_CODE_GREATER] = ">",
			[FILTER_CODE_GREATER_EQUAL] = ">=",
			[FILTER_CODE_AND] = "&&",
			[FILTER_CODE_OR] = "||",
	};

	return texts[code];
}

static bool needs_integers(unsigned int code)
{
	return code == FILTER_CODE_INVERT ||
			(code >= FILTER_CODE_REMAINDER && code <= FILTER_CODE_RIGHT);
}

/* Report why a calculation with constants has no value. */
static struct filter_node *fail_constant(struct filter_parser *parser,
		const struct filter_node *node, const struct filter_value *right)
{
	unsigned int code = node->code;

	if ((code == FILTER_CODE_DIVIDE || code == FILTER_CODE_REMAINDER) &&
			(right->kind == FILTER_DOUBLE ? !(right->u << 1) : !right->u))
		return filter_parse_set_error(parser, node->column, "a division by zero");
	if ((code == FILTER_CODE_LEFT || code == FILTER_CODE_RIGHT) && !right->is_unsigned &&
			right->s < 0)
		return filter_parse_set_error(parser, node->column, "a shift by a negative number");
	return filter_parse_set_error(parser, node->column, "the result does not fit 64 bits");
}

static struct filter_node *fold_unary(struct filter_parser *parser, struct filter_node *node)
{
	struct filter_node *left = node->left;
	struct filter_value value;

	if (!filter_parse_is_constant(left))
		return node;
	constant_value(parser, left, &value);
	if (needs_integers(node->code) && value.kind == FILTER_DOUBLE)
		return filter_parse_set_error(parser, node->column,
				"\"%s\" needs integers, and this is a float",
				code_text(node->code));
	filter_unary(node->code, &value);
	if (value.kind == FILTER_NONE || value.kind == FILTER_WIDE)
		return fail_constant(parser, node, &value);
	node->code = value.kind == FILTER_DOUBLE ? FILTER_CODE_DOUBLE : FILTER_CODE_INT;
	node->flag = value.kind == FILTER_INT && value.is_unsigned;
	node->value = value.u;
	node->left = NULL;
	return node;
}

static struct filter_node *fold_binary(struct filter_parser *parser, struct filter_node *node)
{
	struct filter_value a, b;
	unsigned int code = node->code;

	if (!filter_parse_is_constant(node->left) || !filter_parse_is_constant(node->right))
		return node;
	constant_value(parser, node->left, &a);
	constant_value(parser, node->right, &b);
	if (needs_integers(code) && (a.kind == FILTER_DOUBLE || b.kind == FILTER_DOUBLE))
		return filter_parse_set_error(parser, node->column,
				"\"%s\" needs integers, and one side is a float", code_text(code));
	if (filter_code_compares(code))
		filter_set_truth(&a, filter_compare(code, &a, &b, NULL));
	else
		filter_binary(code, &a, &b);
	if (a.kind == FILTER_NONE || a.kind == FILTER_WIDE)
		return fail_constant(parser, node, &b);
	node->code = a.kind == FILTER_DOUBLE ? FILTER_CODE_DOUBLE : FILTER_CODE_INT;
	node->flag = a.kind == FILTER_INT && a.is_unsigned;
	node->value = a.u;
	node->left = NULL;
	node->right = NULL;
	return node;
}

/* True if the constant is true. */
static bool constant_truth(const struct filter_parser *parser, const struct filter_node *node)
{
	struct filter_value value;

	constant_value(parser, node, &value);
	return filter_truth(&value) > 0;
}

/* ---- operations ---- */

static struct filter_node *make_unary(struct filter_parser *parser, unsigned int code,
		unsigned int column, struct filter_node *left)
{
	struct filter_node *node;

	if (parser->failed)
		return NULL;
	if (left->sort == FILTER_SORT_TEXT)
		return filter_parse_set_error(parser, left->column,
				"\"%s\" needs a number, and this is a string", code_text(code));
	node = new_node(parser, code, column);
	if (!node)
		return NULL;
	node->left = left;
	node->sort = code == FILTER_CODE_NOT ? FILTER_SORT_TRUTH : FILTER_SORT_NUMBER;
	return fold_unary(parser, node);
}

/* Convert a node to a truth: unchanged if it is one, else !!node. */
static struct filter_node *make_truth(struct filter_parser *parser, struct filter_node *node)
{
	if (parser->failed || node->sort == FILTER_SORT_TRUTH)
		return node;
	return make_unary(parser, FILTER_CODE_NOT, node->column,
			make_unary(parser, FILTER_CODE_NOT, node->column, node));
}

static struct filter_node *make_logic(struct filter_parser *parser, unsigned int code,
		unsigned int column, struct filter_node *left, struct filter_node *right)
{
	struct filter_node *sides[2] = {left, right}, *node;
	int i;

	for (i = 0; i < 2; i++) {
		if (sides[i]->sort == FILTER_SORT_TEXT)
			return filter_parse_set_error(parser, sides[i]->column,
					"a string is neither true nor false: compare it with something");
	}
	/* true && x is x, false && x is false; the other way round for ||. */
	for (i = 0; i < 2; i++) {
		if (!filter_parse_is_constant(sides[i]))
			continue;
		if (constant_truth(parser, sides[i]) == (code == FILTER_CODE_AND))
			return make_truth(parser, sides[1 - i]);
		return make_truth(parser, sides[i]);
	}
	node = new_node(parser, code, column);
	if (!node)
		return NULL;
	node->left = left;
	node->right = right;
	node->sort = FILTER_SORT_TRUTH;
	return node;
}

static bool filter_parse_is_glob(const struct filter_node *node)
{
	return node->code == FILTER_CODE_TEXT && node->flag;
}

/* Check operations with strings: the other operand and the operator. */
static bool check_sorts(struct filter_parser *parser, const struct filter_node *node)
{
	const struct filter_node *left = node->left, *right = node->right;
	bool text = left->sort == FILTER_SORT_TEXT || right->sort == FILTER_SORT_TEXT;
	const struct filter_node *string = left->sort == FILTER_SORT_TEXT ? left : right;
	const struct filter_node *other = string == left ? right : left;

	if (!text)
		return true;
	if (!filter_code_compares(node->code)) {
		filter_parse_set_error(parser, string->column,
				"\"%s\" needs numbers, and this is a string",
				code_text(node->code));
		return false;
	}
	if (other->sort == FILTER_SORT_NUMBER || other->sort == FILTER_SORT_TRUTH) {
		filter_parse_set_error(parser, node->column, "a string is compared with a number");
		return false;
	}
	if (node->code > FILTER_CODE_UNEQUAL &&
			(filter_parse_is_glob(left) || filter_parse_is_glob(right))) {
		filter_parse_set_error(parser,
				filter_parse_is_glob(left) ? left->column : right->column,
				"patterns are compared by == and != only");
		filter_hint_set(parser->lexer.error, "write \\* and \\? for the characters");
		return false;
	}
	if (filter_parse_is_glob(left) && filter_parse_is_glob(right)) {
		filter_parse_set_error(
				parser, node->column, "two patterns are compared with each other");
		return false;
	}
	return true;
}

static struct filter_node *make_binary(struct filter_parser *parser, unsigned int code,
		unsigned int column, struct filter_node *left, struct filter_node *right)
{
	struct filter_node *node;

	if (parser->failed)
		return NULL;
	if (code == FILTER_CODE_AND || code == FILTER_CODE_OR)
		return make_logic(parser, code, column, left, right);
	node = new_node(parser, code, column);
	if (!node)
		return NULL;
	node->left = left;
	node->right = right;
	node->sort = filter_code_compares(code) ? FILTER_SORT_TRUTH : FILTER_SORT_NUMBER;
	if (!check_sorts(parser, node))
		return NULL;
	return fold_binary(parser, node);
}

/* ---- paths and functions ---- */

static void path_name(struct filter_parser *parser)
{
	uint8_t *kind = pool_take(parser, parser->lexer.token.column, 1);

	if (kind)
		*kind = 0;
	pool_text(parser);
	filter_parse_next_token(parser);
}

static void path_index(struct filter_parser *parser)
{
	const struct filter_token *token = &parser->lexer.token;
	uint8_t *at;
	int i;

	if (parser->failed)
		return;
	if (token->kind != FILTER_TOKEN_INT) {
		fail_expected(parser, "an index, a constant number", "");
		return;
	}
	if (token->number > UINT32_MAX) {
		filter_parse_set_error(parser, token->column, "an index larger than any array");
		return;
	}
	at = pool_take(parser, token->column, 5);
	if (!at)
		return;
	*at++ = 1;
	for (i = 0; i < 4; i++)
		at[i] = (uint8_t)(token->number >> (8 * i));
	filter_parse_next_token(parser);
	if (!parser->failed && !is_op(parser, ']'))
		fail_expected(parser, "\"]\"", "");
	filter_parse_next_token(parser);
}

/* Parse a path: the current token is a name or a context. */
static struct filter_node *filter_parse_path(struct filter_parser *parser, enum filter_ask ask)
{
	const struct filter_token *token = &parser->lexer.token;
	unsigned int nr = 1, column = token->column;
	bool is_context = token->kind == FILTER_TOKEN_CONTEXT;
	struct filter_node *node = new_node(parser, FILTER_CODE_FIELD, column);
	uint8_t *head;

	if (!node)
		return NULL;
	node->flag = (uint8_t)ask;
	node->sort = ask == FILTER_ASK_VALUE       ? FILTER_SORT_ANY
			: ask == FILTER_ASK_LENGTH ? FILTER_SORT_NUMBER
						   : FILTER_SORT_TRUTH;
	node->value = parser->tree->pool_size;
	head = pool_take(parser, column, 2);
	path_name(parser);
	while (!parser->failed && (is_op(parser, '.') || is_op(parser, '['))) {
		bool index = is_op(parser, '[');

		if (is_context)
			return filter_parse_set_error(parser, token->column,
					"a context has no members or elements");
		if (nr++ == FILTER_STEPS_MAX)
			return filter_parse_set_error(parser, token->column,
					"more than %d names and indexes", FILTER_STEPS_MAX);
		filter_parse_next_token(parser);
		if (index)
			path_index(parser);
		else if (!parser->failed && token->kind != FILTER_TOKEN_NAME)
			return fail_expected(parser, "the name of a member", "");
		else
			path_name(parser);
	}
	if (parser->failed)
		return NULL;
	head[0] = is_context ? FILTER_CONTEXT : FILTER_FIELD;
	head[1] = (uint8_t)nr;
	return node;
}

/* Names of the functions in other languages. */
static const char *function_hint(const char *name, char hint[FILTER_HINT_MAX])
{
	static const char *const names[] = {"has", "len", NULL};
	static const char *const others[][2] = {
			{"exists", "has"},
			{"present", "has"},
			{"defined", "has"},
			{"isset", "has"},
			{"length", "len"},
			{"size", "len"},
			{"sizeof", "len"},
			{"strlen", "len"},
			{"count", "len"},
	};
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (filter_distance(name, others[i][0]) <= (strlen(others[i][0]) > 5))
			return filter_hint_word(others[i][1], "", hint);
	}
	return filter_hint(name, names, "", hint);
}

/* Parse a call: the name was read, and the current token is the parenthesis behind it. */
static struct filter_node *parse_function(
		struct filter_parser *parser, const char *name, unsigned int column)
{
	const struct filter_token *token = &parser->lexer.token;
	enum filter_ask ask = FILTER_ASK_LENGTH;
	char hint[FILTER_HINT_MAX];
	struct filter_node *node;

	if (!strcmp(name, "has"))
		ask = FILTER_ASK_PRESENCE;
	else if (strcmp(name, "len") != 0) {
		filter_parse_set_error(parser, column, "unknown function \"%.40s\"", name);
		filter_hint_set(parser->lexer.error, function_hint(name, hint));
		return NULL;
	}
	filter_parse_next_token(parser);
	if (parser->failed)
		return NULL;
	if (token->kind != FILTER_TOKEN_NAME && token->kind != FILTER_TOKEN_CONTEXT)
		return fail_expected(parser, "a field or a context", "");
	node = filter_parse_path(parser, ask);
	if (!parser->failed && !is_op(parser, ')'))
		return fail_expected(parser, "\")\" after the field", "");
	filter_parse_next_token(parser);
	return node;
}

/* Parse a name: a constant, a function or a field. A parenthesis behind it makes it a function. */
static struct filter_node *parse_name(struct filter_parser *parser)
{
	struct filter_token *token = &parser->lexer.token;
	unsigned int column = token->column;
	struct filter_node *node;
	char name[48];
	const char *behind = parser->lexer.text + parser->lexer.at;

	while (*behind && strchr(" \t\r\n", *behind))
		behind++;
	if (*behind == '(' && !token->is_quoted) {
		snprintf(name, sizeof(name), "%.40s", token->text);
		filter_parse_next_token(parser);
		return parser->failed ? NULL : parse_function(parser, name, column);
	}
	if (!token->is_quoted && (!strcmp(token->text, "true") || !strcmp(token->text, "false"))) {
		node = new_integer(parser, column, token->text[0] == 't', false);
		if (node)
			node->sort = FILTER_SORT_TRUTH;
		filter_parse_next_token(parser);
		return node;
	}
	return filter_parse_path(parser, FILTER_ASK_VALUE);
}

/* ---- expressions ---- */

static struct filter_node *filter_parse_string(struct filter_parser *parser)
{
	const struct filter_token *token = &parser->lexer.token;
	struct filter_node *node = new_node(parser, FILTER_CODE_TEXT, token->column);

	if (!node)
		return NULL;
	node->sort = FILTER_SORT_TEXT;
	node->flag = token->is_glob;
	node->value = parser->tree->pool_size;
	pool_text(parser);
	filter_parse_next_token(parser);
	return node;
}

static struct filter_node *parse_parentheses(struct filter_parser *parser)
{
	struct filter_node *node;

	filter_parse_next_token(parser);
	node = filter_parse_level(parser, LEVEL_OR);
	if (!node)
		return NULL;
	if (!is_op(parser, ')'))
		return fail_expected(parser, "an operator or \")\"", "");
	filter_parse_next_token(parser);
	node->in_parentheses = true;
	return node;
}

static struct filter_node *parse_primary(struct filter_parser *parser)
{
	const struct filter_token *token = &parser->lexer.token;
	struct filter_node *node;

	switch (token->kind) {
	case FILTER_TOKEN_INT:
		node = new_integer(parser, token->column, token->number, true);
		filter_parse_next_token(parser);
		return node;
	case FILTER_TOKEN_DOUBLE:
		node = new_integer(parser, token->column, token->number, false);
		if (node)
			node->code = FILTER_CODE_DOUBLE;
		filter_parse_next_token(parser);
		return node;
	case FILTER_TOKEN_STRING: return filter_parse_string(parser);
	case FILTER_TOKEN_NAME: return parse_name(parser);
	case FILTER_TOKEN_CONTEXT: return filter_parse_path(parser, FILTER_ASK_VALUE);
	default:
		if (is_op(parser, '('))
			return parse_parentheses(parser);
		return fail_expected(parser, "a value", "");
	}
}

static struct filter_node *parse_unary(struct filter_parser *parser)
{
	const struct filter_token *token = &parser->lexer.token;
	unsigned int column = token->column;
	struct filter_node *node;
	int op = token->kind == FILTER_TOKEN_OPERATOR ? token->op : 0;
	bool negates;

	if (op != '!' && op != '~' && op != '-' && op != '+')
		return parse_primary(parser);
	filter_parse_next_token(parser);
	node = filter_parse_level(parser, LEVEL_UNARY);
	if (!node)
		return NULL;
	switch (op) {
	case '!':
		negates = !node->in_parentheses;
		node = make_unary(parser, FILTER_CODE_NOT, column, node);
		if (node)
			node->negates = negates;
		return node;
	case '~': return make_unary(parser, FILTER_CODE_INVERT, column, node);
	case '-': return make_unary(parser, FILTER_CODE_NEGATE, column, node);
	default: break;
	}
	/* +x is x if that is a number, else it has no value. */
	if (filter_parse_is_constant(node) && node->sort != FILTER_SORT_TEXT) {
		node->negates = false;
		return node;
	}
	return make_binary(parser, FILTER_CODE_ADD, column, new_integer(parser, column, 0, false),
			node);
}

/* Report a comparison or ! without parentheses where C's precedence misleads. */
static bool check_precedence(struct filter_parser *parser, const struct binary *op,
		const struct filter_node *side, bool is_left, unsigned int column)
{
	if (side->in_parentheses || op->level < LEVEL_BIT_OR)
		return true;
	if (side->compares && op->level >= LEVEL_EQUAL) {
		filter_parse_set_error(parser, column,
				"comparisons cannot be chained: write a < b && b < c, or add parentheses");
		return false;
	}
	if (side->compares || (side->negates && is_left)) {
		filter_parse_set_error(parser, column,
				"%s has a higher precedence than \"%s\": add parentheses",
				side->compares ? "a comparison" : "\"!\"", code_text(op->code));
		return false;
	}
	return true;
}

static const struct binary *current_operator(const struct filter_parser *parser)
{
	size_t i;

	if (parser->lexer.token.kind != FILTER_TOKEN_OPERATOR)
		return NULL;
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (operators[i].op == parser->lexer.token.op)
			return &operators[i];
	}
	return NULL;
}

/* Parse one operand and all operators of at least this precedence. */
static struct filter_node *parse_operations(struct filter_parser *parser, unsigned int level)
{
	struct filter_node *left = parse_unary(parser), *right;
	const struct binary *op;

	while (left && (op = current_operator(parser)) && op->level >= level) {
		unsigned int column = parser->lexer.token.column;

		if (!check_precedence(parser, op, left, true, column))
			return NULL;
		filter_parse_next_token(parser);
		right = filter_parse_level(parser, op->level + 1u);
		if (!right || !check_precedence(parser, op, right, false, column))
			return NULL;
		left = make_binary(parser, op->code, column, left, right);
		if (left)
			left->compares = filter_code_compares(op->code);
	}
	return left;
}

static struct filter_node *filter_parse_level(struct filter_parser *parser, unsigned int level)
{
	struct filter_node *node;

	if (parser->failed)
		return NULL;
	if (parser->depth == PARSE_DEPTH_MAX) {
		filter_parse_set_error(parser, parser->lexer.token.column,
				"the expression is nested too deeply here");
		parser->failed = -E2BIG;
		return NULL;
	}
	parser->depth++;
	node = level == LEVEL_UNARY ? parse_unary(parser) : parse_operations(parser, level);
	parser->depth--;
	return parser->failed ? NULL : node;
}

/* ---- the whole expression ---- */

/* The hint for a word in the position of an operator. */
static const char *operator_hint(const struct filter_parser *parser, char hint[FILTER_HINT_MAX])
{
	static const char *const names[][2] = {
			{"and", "&&"},
			{"or", "||"},
			{"xor", "^"},
			{"mod", "%"},
			{"div", "/"},
			{"is", "=="},
			{"eq", "=="},
			{"ne", "!="},
			{"lt", "<"},
			{"le", "<="},
			{"gt", ">"},
			{"ge", ">="},
			{"like", "=="},
			{"matches", "=="},
	};
	const struct filter_token *token = &parser->lexer.token;
	size_t i;

	if (token->kind == FILTER_TOKEN_NAME && !token->is_quoted) {
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (!filter_distance(token->text, names[i][0]))
				return filter_hint_word(names[i][1], "", hint);
		}
	}
	hint[0] = '\0';
	return hint;
}

int filter_parse_tree(const char *text, struct filter_tree **ret_tree,
		struct filter_node **ret_root, struct filter_error *error)
{
	struct filter_parser parser = {.lexer = {.text = text, .error = error}};
	char hint[FILTER_HINT_MAX];

	*ret_tree = NULL;
	if (error)
		*error = (struct filter_error){.column = 0};
	if (strlen(text) > FILTER_PROGRAM_MAX) {
		filter_fail(error, FILTER_PROGRAM_MAX + 1, "longer than %d bytes",
				FILTER_PROGRAM_MAX);
		return -E2BIG;
	}
	parser.tree = calloc(1, sizeof(*parser.tree));
	if (!parser.tree) {
		filter_fail(error, 0, "out of memory for the expression");
		return -ENOMEM;
	}
	filter_parse_next_token(&parser);
	*ret_root = filter_parse_level(&parser, LEVEL_OR);
	if (!parser.failed && parser.lexer.token.kind != FILTER_TOKEN_END)
		fail_expected(&parser, "an operator or the end", operator_hint(&parser, hint));
	if (!parser.failed && (*ret_root)->sort == FILTER_SORT_TEXT)
		filter_parse_set_error(&parser, (*ret_root)->column,
				"a string is neither true nor false: compare it with something");
	if (parser.failed)
		free(parser.tree);
	else
		*ret_tree = parser.tree;
	return parser.failed;
}

int filter_parse(const char *text, void **ret_program, size_t *ret_size, struct filter_error *error)
{
	struct filter_node *root;
	struct filter_tree *tree;
	int ret;

	*ret_program = NULL;
	*ret_size = 0;
	ret = filter_parse_tree(text, &tree, &root, error);
	if (ret)
		return ret;
	ret = filter_generate(tree, root, ret_program, ret_size, error);
	free(tree);
	return ret;
}
