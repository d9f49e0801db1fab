/* SPDX-License-Identifier: MIT */
/*
 * Generates the bytes of a program from a tree.
 *
 * The result of a filter is true or false, so && || ! outside of calculations become jumps: the
 * right operand is evaluated only if the left one did not decide. A negation is moved down to the
 * tests. A test of a missing value jumps to "no" even if it is negated, so `!(a > 5)` and `a <= 5`
 * are equivalent, and neither matches an event without a.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filter/lex.h"
#include "filter/tree.h"

struct generator {
	const struct filter_tree *tree;
	struct filter_error *error;
	struct filter_instruction code[FILTER_INSTRUCTIONS_MAX];
	uint16_t positions[FILTER_INSTRUCTIONS_MAX]; /* of labels */
	uint32_t nr;
	uint16_t nr_labels;
	unsigned int depth;
	int failed;
};

static void emit(struct generator *generator, const struct filter_instruction *instruction)
{
	if (generator->failed)
		return;
	if (generator->nr == FILTER_INSTRUCTIONS_MAX) {
		filter_fail(generator->error, instruction->column,
				"the expression has too many parts");
		generator->failed = -E2BIG;
		return;
	}
	generator->depth -= filter_code_takes(instruction->code);
	if (!filter_code_ends(instruction->code) && ++generator->depth > FILTER_STACK_MAX) {
		filter_fail(generator->error, instruction->column,
				"nested too deeply: more than %d values at a time here",
				FILTER_STACK_MAX);
		generator->failed = -E2BIG;
		return;
	}
	generator->code[generator->nr++] = *instruction;
}

/* Push the value of a node. */
static void emit_value(struct generator *generator, const struct filter_node *node)
{
	struct filter_instruction instruction = {
			.code = node->code,
			.column = node->column,
	};

	if (node->left)
		emit_value(generator, node->left);
	if (node->right)
		emit_value(generator, node->right);
	if (node->code <= FILTER_CODE_FIELD) {
		instruction.flag = node->flag;
		instruction.value = node->value;
	}
	emit(generator, &instruction);
}

static uint16_t new_label(struct generator *generator)
{
	if (generator->nr_labels == FILTER_INSTRUCTIONS_MAX - 1)
		generator->failed = -E2BIG; /* there are fewer labels than nodes */
	else
		generator->nr_labels++;
	return generator->nr_labels - 1;
}

static void filter_generate_put_label(struct generator *generator, uint16_t label)
{
	generator->positions[label] = (uint16_t)generator->nr;
}

/* Jump to the label yes if the node is true (negated: false), to no if it is not. */
static void emit_test(struct generator *generator, const struct filter_node *node, bool negated,
		uint16_t yes, uint16_t no)
{
	struct filter_instruction test = {
			.code = FILTER_CODE_TEST,
			.flag = negated,
			.yes = yes,
			.no = no,
			.column = node->column,
	};
	uint16_t middle;

	while (node->code == FILTER_CODE_NOT) {
		node = node->left;
		negated = !negated;
	}
	if (node->code == FILTER_CODE_AND || node->code == FILTER_CODE_OR) {
		middle = new_label(generator);
		if ((node->code == FILTER_CODE_AND) != negated)
			emit_test(generator, node->left, negated, middle, no);
		else
			emit_test(generator, node->left, negated, yes, middle);
		filter_generate_put_label(generator, middle);
		emit_test(generator, node->right, negated, yes, no);
		return;
	}
	test.flag = negated;
	emit_value(generator, node);
	emit(generator, &test);
}

static void emit_program(struct generator *generator, const struct filter_node *root)
{
	struct filter_instruction end = {.code = FILTER_CODE_RETURN, .column = root->column};
	uint16_t yes, no;

	/* Constants, values to capture, and truths that need no jump. */
	if (root->sort != FILTER_SORT_TRUTH || root->code <= FILTER_CODE_TEXT) {
		emit_value(generator, root);
		emit(generator, &end);
		return;
	}
	yes = new_label(generator);
	no = new_label(generator);
	emit_test(generator, root, false, yes, no);
	filter_generate_put_label(generator, yes);
	end.code = FILTER_CODE_ACCEPT;
	emit(generator, &end);
	filter_generate_put_label(generator, no);
	end.code = FILTER_CODE_REJECT;
	emit(generator, &end);
}

/* ---- bytes ---- */

static void filter_generate_emit_value(uint8_t *to, uint64_t value, unsigned int size)
{
	for (; size; size--, value >>= 8)
		*to++ = (uint8_t)value;
}

static int write_program(struct generator *generator, void **ret_program, size_t *ret_size)
{
	const struct filter_tree *tree = generator->tree;
	size_t head = PROGRAM_HEADER + generator->nr * PROGRAM_INSTRUCTION;
	size_t total = head + tree->pool_size;
	uint8_t *bytes, *at;
	uint32_t i;

	if (total > FILTER_PROGRAM_MAX) {
		filter_fail(generator->error, 0, "the expression is too long");
		return -E2BIG;
	}
	bytes = calloc(1, total);
	if (!bytes) {
		filter_fail(generator->error, 0, "out of memory for the program");
		return -ENOMEM;
	}
	memcpy(bytes, "SIDF", 4);
	bytes[4] = PROGRAM_VERSION;
	filter_generate_emit_value(bytes + 6, generator->nr, 2);
	filter_generate_emit_value(bytes + 8, total, 4);
	for (i = 0, at = bytes + PROGRAM_HEADER; i < generator->nr;
			i++, at += PROGRAM_INSTRUCTION) {
		const struct filter_instruction *from = &generator->code[i];

		at[0] = from->code;
		at[1] = from->flag;
		if (from->code == FILTER_CODE_TEST) {
			filter_generate_emit_value(at + 2, generator->positions[from->yes], 2);
			filter_generate_emit_value(at + 4, generator->positions[from->no], 2);
		}
		filter_generate_emit_value(at + 6, from->column, 2);
		filter_generate_emit_value(at + 8, from->value, 8);
	}
	memcpy(bytes + head, tree->pool, tree->pool_size);
	*ret_program = bytes;
	*ret_size = total;
	return 0;
}

int filter_generate(const struct filter_tree *tree, const struct filter_node *root,
		void **ret_program, size_t *ret_size, struct filter_error *error)
{
	struct generator *generator = calloc(1, sizeof(*generator));
	int ret;

	if (!generator) {
		filter_fail(error, 0, "out of memory for the program");
		return -ENOMEM;
	}
	generator->tree = tree;
	generator->error = error;
	emit_program(generator, root);
	ret = generator->failed;
	if (!ret)
		ret = write_program(generator, ret_program, ret_size);
	free(generator);
	return ret;
}
