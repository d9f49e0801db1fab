/* SPDX-License-Identifier: MIT */
/*
 * Runs a linked filter.
 *
 * There are three functions, from fast to slow: one test of one integer argument (match_range_*),
 * several of them (match_ranges), and any filter (match_any). All of them first check that the
 * arguments can be those of the event.
 */
#include <errno.h>

#include "filter/memory.h"
#include "filter/text.h"

/* The first argument, or NULL if these cannot be the arguments of the event. */
static inline const struct side_arg *filter_run_args_of(
		const struct filter_body *body, const struct side_arg_vec *arguments)
{
	static const struct side_arg none;
	const struct side_arg *args;

	if (__builtin_expect(!arguments, 0))
		return body->nr_arguments ? NULL : &none;
	if (__builtin_expect(arguments->len != body->nr_arguments, 0))
		return NULL;
	args = side_ptr_get(arguments->sav);
	return __builtin_expect(!args, 0) && !body->nr_arguments ? &none : args;
}

static inline const struct filter_op *filter_run_branch_target(const struct filter_op *op, bool yes)
{
	return (const struct filter_op *)((const char *)op + (yes ? op->yes : op->no));
}

/* The argument that a range operation tests. */
static inline const struct side_arg *filter_run_arg_at(
		const struct filter_op *op, const struct side_arg *args)
{
	return (const struct side_arg *)((const char *)args + op->arg);
}

/* Modulo the width of the integer, so that one comparison checks both ends of the range. */
#define IN_RANGE(bits, op, arg)                                                                 \
	((uint##bits##_t)((filter_unaligned(&(arg)->u)->u##bits & (uint##bits##_t)(op)->mask) - \
			 (uint##bits##_t)(op)->low) <= (uint##bits##_t)(op)->span)

#define MATCH_RANGE(bits)                                                                   \
	static bool match_range_##bits(const struct filter *filter,                         \
			const struct side_arg_vec *arguments,                               \
			const struct side_arg_dynamic_struct *variadic, const void *caller, \
			const struct filter_contexts *contexts)                             \
	{                                                                                   \
		const struct filter_body *body = (const struct filter_body *)filter;        \
		const struct side_arg *arg = filter_run_args_of(body, arguments);           \
                                                                                            \
		(void)variadic;                                                             \
		(void)caller;                                                               \
		(void)contexts;                                                             \
		if (__builtin_expect(!arg, 0))                                              \
			return false;                                                       \
		arg = filter_run_arg_at(body->ops, arg);                                    \
		if (__builtin_expect(arg->type.v != body->ops->label, 0))                   \
			return false;                                                       \
		return IN_RANGE(bits, body->ops, arg) != body->ops->negated;                \
	}

MATCH_RANGE(8)
MATCH_RANGE(16)
MATCH_RANGE(32)
MATCH_RANGE(64)

/* Test a range operation. An argument of another type is not in the range, negated or not. */
static inline bool test_range(const struct filter_op *op, const struct side_arg *arg)
{
	bool in;

	if (__builtin_expect(arg->type.v != op->label, 0))
		return false;
	switch (op->code) {
	case FILTER_OP_RANGE_1: in = IN_RANGE(8, op, arg); break;
	case FILTER_OP_RANGE_2: in = IN_RANGE(16, op, arg); break;
	case FILTER_OP_RANGE_4: in = IN_RANGE(32, op, arg); break;
	default: in = IN_RANGE(64, op, arg); break;
	}
	return in != op->negated;
}

static bool match_ranges(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts)
{
	const struct filter_body *body = (const struct filter_body *)filter;
	const struct side_arg *args = filter_run_args_of(body, arguments);
	const struct filter_op *op = body->ops;

	(void)variadic;
	(void)caller;
	(void)contexts;
	if (__builtin_expect(!args, 0))
		return false;
	while (op->code < FILTER_OP_ACCEPT)
		op = filter_run_branch_target(op, test_range(op, filter_run_arg_at(op, args)));
	return op->code == FILTER_OP_ACCEPT;
}

/* ---- any filter ---- */

static void push_constant(const struct filter_op *op, struct filter_value *ret_value)
{
	ret_value->kind = op->kind;
	ret_value->is_unsigned = op->is_unsigned;
	ret_value->u = op->value;
	ret_value->labels = NULL;
}

static void push_text(const struct filter_run *run, const struct filter_op *op,
		struct filter_value *ret_value)
{
	filter_value_text(ret_value, filter_at(run->body, op->text), op->size);
	ret_value->is_unsigned = op->is_glob;
}

/* Check and convert a value of a callback; an invalid one becomes FILTER_NONE. */
static void accept_foreign(struct filter_value *value, enum filter_goal goal)
{
	switch (value->kind) {
	case FILTER_INT: break;
	case FILTER_DOUBLE:
		if (goal == FILTER_GOAL_VALUE)
			return;
		break;
	case FILTER_WIDE: filter_set_wide(value, value->u, value->high, value->is_unsigned); break;
	case FILTER_STRING:
		value->is_unsigned = false; /* not a glob */
		if (value->unit_size != 1 && value->unit_size != 2 && value->unit_size != 4)
			break;
		if (goal == FILTER_GOAL_LENGTH)
			filter_value_unsigned(value, filter_text_length(value));
		return;
	default: break;
	}
	if (value->kind != FILTER_INT && value->kind != FILTER_WIDE)
		filter_set_none(value);
}

static void push_foreign(const struct filter_run *run, const struct filter_op *op,
		struct filter_value *ret_value)
{
	bool found = false;

	*ret_value = (struct filter_value){.kind = FILTER_NONE};
	if (op->code == FILTER_OP_BOUND)
		found = run->loader && run->loader->load(run->loader->user, op->index, ret_value);
	else if (run->contexts)
		found = run->contexts->load(run->contexts->user, op->index, run->caller, ret_value);
	if (op->goal == FILTER_GOAL_PRESENCE)
		filter_set_truth(ret_value, found);
	else if (!found)
		filter_set_none(ret_value);
	else
		accept_foreign(ret_value, op->goal);
}

/* Presence is never unknown: a missing value is not present. */
static inline __attribute__((always_inline)) void push_walk(const struct filter_run *run,
		const struct filter_op *op, struct filter_value *ret_value)
{
	if (!filter_walk(run, op, ret_value) && op->goal == FILTER_GOAL_PRESENCE)
		filter_set_truth(ret_value, 0);
}

/* Common integers are compared inline, others by filter_compare(). */
static inline int compare_constant(const struct filter_op *op, const struct filter_value *value)
{
	struct filter_value constant;

	if (value->kind == FILTER_INT && op->kind == FILTER_INT && !op->is_unsigned &&
			!(value->is_unsigned && value->s < 0)) {
		bool less = value->s < (int64_t)op->value;

		switch (op->inner) {
		case FILTER_CODE_EQUAL: return value->u == op->value;
		case FILTER_CODE_UNEQUAL: return value->u != op->value;
		case FILTER_CODE_LESS: return less;
		case FILTER_CODE_GREATER_EQUAL: return !less;
		case FILTER_CODE_LESS_EQUAL: return less || value->u == op->value;
		default: return !less && value->u != op->value;
		}
	}
	push_constant(op, &constant);
	return filter_compare(op->inner, value, &constant, NULL);
}

/* The result of a test; unknown is false, negated or not. */
static inline bool test_truth(const struct filter_op *op, int truth)
{
	return truth >= 0 && (bool)truth != op->negated;
}

/* The first element of the stack is for values that are tested at once. */
static inline __attribute__((always_inline)) bool run_on(const struct filter_run *run,
		struct filter_value *ret_value, struct filter_value *stack)
{
	const struct filter_op *op = run->body->ops + (ret_value ? run->body->begin : 0);
	struct filter_value *top = stack;
	bool yes;

	for (;;) {
		switch (op->code) {
		case FILTER_OP_LOAD: push_walk(run, op, ++top); break;
		case FILTER_OP_CONSTANT: push_constant(op, ++top); break;
		case FILTER_OP_TEXT: push_text(run, op, ++top); break;
		case FILTER_OP_CONTEXT:
		case FILTER_OP_BOUND: push_foreign(run, op, ++top); break;
		case FILTER_OP_UNARY: filter_unary(op->inner, top); break;
		case FILTER_OP_BINARY:
			top--;
			filter_binary(op->inner, top, top + 1);
			break;
		case FILTER_OP_COMPARE:
			top--;
			filter_set_truth(top, filter_compare(op->inner, top, top + 1, run->loader));
			break;
		case FILTER_OP_LOAD_TEST:
			push_walk(run, op, stack);
			op = filter_run_branch_target(op, test_truth(op, filter_truth(stack)));
			continue;
		case FILTER_OP_LOAD_COMPARE:
			push_walk(run, op, stack);
			op = filter_run_branch_target(
					op, test_truth(op, compare_constant(op, stack)));
			continue;
		case FILTER_OP_COMPARE_TEST:
			top -= 2;
			op = filter_run_branch_target(op,
					test_truth(op,
							filter_compare(op->inner, top + 1, top + 2,
									run->loader)));
			continue;
		case FILTER_OP_TEST:
			op = filter_run_branch_target(op, test_truth(op, filter_truth(top--)));
			continue;
		case FILTER_OP_ACCEPT:
		case FILTER_OP_REJECT:
			yes = op->code == FILTER_OP_ACCEPT;
			if (ret_value)
				filter_set_truth(ret_value, yes);
			return yes;
		case FILTER_OP_RETURN:
			if (ret_value)
				*ret_value = *top;
			return filter_truth(top) > 0;
		default:
			op = filter_run_branch_target(
					op, test_range(op, filter_run_arg_at(op, run->args)));
			continue;
		}
		op++;
	}
}

static __attribute__((noinline)) bool run_long(
		const struct filter_run *run, struct filter_value *ret_value)
{
	struct filter_value stack[FILTER_STACK_MAX + 1];

	return run_on(run, ret_value, stack);
}

static __attribute__((noinline)) bool run_in(const struct filter_run *run,
		struct filter_value *ret_value, struct filter_value *stack)
{
	return run_on(run, ret_value, stack);
}

/* Most filters keep no value. This saves stack: the program's stack may be small. */
static __attribute__((noinline)) bool run_short(
		const struct filter_run *run, struct filter_value *ret_value)
{
	struct filter_value value;

	return run_on(run, ret_value, &value);
}

bool filter_run_any(const struct filter_run *run, struct filter_value *ret_value)
{
	struct filter_value *stack = NULL;

	if (!run->body->keeps)
		return run_short(run, ret_value);
	if (run->contexts && run->contexts->memory)
		stack = run->contexts->memory();
	return stack ? run_in(run, ret_value, stack) : run_long(run, ret_value);
}

static bool filter_run_is_push(const struct filter_op *op)
{
	switch (op->code) {
	case FILTER_OP_LOAD:
	case FILTER_OP_CONSTANT:
	case FILTER_OP_TEXT:
	case FILTER_OP_CONTEXT:
	case FILTER_OP_BOUND: return true;
	default: return false;
	}
}

static bool match_any(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts)
{
	struct filter_run run = {
			.body = (const struct filter_body *)filter,
			.variadic = variadic,
			.caller = caller,
			.contexts = contexts,
	};

	run.args = filter_run_args_of(run.body, arguments);
	return run.args && filter_run_any(&run, NULL);
}

/* A bound filter cannot read arguments. */
static bool match_nothing(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts)
{
	(void)filter;
	(void)arguments;
	(void)variadic;
	(void)caller;
	(void)contexts;
	return false;
}

void filter_choose_function(struct filter_body *body, uint32_t nr_ops)
{
	const struct filter_op *op = body->ops;
	uint32_t i;

	body->keeps = false;
	for (i = 0; i < nr_ops; i++)
		body->keeps = body->keeps || filter_run_is_push(&op[i]);
	if (body->is_bound) {
		body->filter.matches = match_nothing;
		return;
	}
	body->filter.matches = match_any;
	if (body->begin) /* the other operations are for captures */
		nr_ops = body->begin;
	for (i = 0; i < nr_ops; i++) {
		if (op[i].code >= FILTER_OP_PLAIN)
			return;
	}
	body->filter.matches = match_ranges;
	if (op->code >= FILTER_OP_ACCEPT ||
			filter_run_branch_target(op, true)->code != FILTER_OP_ACCEPT ||
			filter_run_branch_target(op, false)->code != FILTER_OP_REJECT)
		return;
	switch (op->code) {
	case FILTER_OP_RANGE_1: body->filter.matches = match_range_8; break;
	case FILTER_OP_RANGE_2: body->filter.matches = match_range_16; break;
	case FILTER_OP_RANGE_4: body->filter.matches = match_range_32; break;
	default: body->filter.matches = match_range_64; break;
	}
}

int filter_evaluate(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts, struct filter_value *ret_value)
{
	struct filter_run run = {
			.body = (const struct filter_body *)filter,
			.variadic = variadic,
			.caller = caller,
			.contexts = contexts,
	};

	filter_set_none(ret_value);
	run.args = filter_run_args_of(run.body, arguments);
	if (run.body->is_bound || !run.args)
		return -ENODATA;
	filter_run_any(&run, ret_value);
	return ret_value->kind == FILTER_NONE ? -ENODATA : 0;
}

bool filter_bound_matches(const struct filter *filter, const struct filter_loader *loader)
{
	struct filter_run run = {
			.body = (const struct filter_body *)filter,
			.loader = loader,
	};

	return run.body->is_bound && filter_run_any(&run, NULL);
}

int filter_bound_evaluate(const struct filter *filter, const struct filter_loader *loader,
		struct filter_value *ret_value)
{
	struct filter_run run = {
			.body = (const struct filter_body *)filter,
			.loader = loader,
	};

	filter_set_none(ret_value);
	if (!run.body->is_bound)
		return -ENODATA;
	filter_run_any(&run, ret_value);
	return ret_value->kind == FILTER_NONE ? -ENODATA : 0;
}
