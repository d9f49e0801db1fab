/* SPDX-License-Identifier: MIT */
/*
 * Convert location expressions of DWARF to fetch operations.
 *
 * DWARF expressions use a stack; fetch operations have one number, and can save a few. Each item of
 * the stack here is the sequence of operations that computes it. Most variables are in a register,
 * or at an offset from the frame, which needs one or two operations.
 */
#include "expression.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STACK_MAX 8
#define OPS_MAX 64

struct expression_state {
	const struct locate_frame *location;
	Dwarf_Attribute *attribute;
	struct expression_answer *answer;
	struct fetch stack[STACK_MAX];
	unsigned int used;
	bool in_base; /* while the address of the frame is computed */
	bool value;   /* the item on the stack is the value, not its address */
};

static struct fetch *expression_top(struct expression_state *state)
{
	return state->used ? &state->stack[state->used - 1] : NULL;
}

static int push_fetch(struct expression_state *state, const struct fetch *fetch)
{
	if (state->used == STACK_MAX)
		return -E2BIG;
	state->stack[state->used++] = *fetch;
	return 0;
}

static int spec_expression_push_value(struct expression_state *state, enum probe_fetch_code code,
		unsigned int reg, int64_t value)
{
	struct fetch fetch = {.nr_ops = 0};

	(void)fetch_op(&fetch, code, reg, 0, value);
	return push_fetch(state, &fetch);
}

static int push_register(struct expression_state *state, unsigned int number, int64_t offset)
{
	int ret;

	if (number >= FETCH_XMM0 && number < FETCH_XMM0 + 16)
		ret = spec_expression_push_value(state, PROBE_FETCH_VECTOR, number - FETCH_XMM0, 0);
	else if (number <= FETCH_RIP)
		ret = spec_expression_push_value(state, PROBE_FETCH_REGISTER, number, 0);
	else
		return -ENOTSUP;
	return ret ? ret : fetch_add(expression_top(state), offset);
}

/* ---- combine two items ---- */

static bool spec_expression_get_constant(const struct fetch *fetch, int64_t *ret_value)
{
	*ret_value = fetch->ops[0].value;
	return fetch->nr_ops == 1 && fetch->ops[0].code == PROBE_FETCH_CONSTANT;
}

/* Whether the item is a register plus a constant. */
static bool register_of(const struct fetch *fetch, unsigned int *ret_number, int64_t *ret_offset)
{
	*ret_number = fetch->ops[0].reg;
	*ret_offset = fetch->nr_ops == 2 ? fetch->ops[1].value : 0;
	return fetch->ops[0].code == PROBE_FETCH_REGISTER &&
			(fetch->nr_ops == 1 ||
					(fetch->nr_ops == 2 &&
							fetch->ops[1].code == PROBE_FETCH_ADD));
}

static int spec_expression_add_offset(struct fetch *left, struct fetch *right)
{
	unsigned int number;
	int64_t value;

	if (spec_expression_get_constant(left, &value) ||
			(register_of(left, &number, &value) &&
					!register_of(right, &number, &value) &&
					!spec_expression_get_constant(right, &value))) {
		struct fetch other = *left;

		*left = *right;
		*right = other;
	}
	if (spec_expression_get_constant(right, &value))
		return fetch_add(left, value);
	if (!register_of(right, &number, &value))
		return fetch_calculate(left, PROBE_SUM_PLUS, right);
	return fetch_op(left, PROBE_FETCH_ADD_REGISTER, number, 0, 0) ? -E2BIG
								      : fetch_add(left, value);
}

static int expression_combine(struct expression_state *state, enum probe_fetch_sum sum)
{
	struct fetch *left, *right;
	int64_t value;

	if (state->used < 2)
		return -EINVAL;
	right = expression_top(state);
	state->used--;
	left = expression_top(state);
	if (sum == PROBE_SUM_PLUS)
		return spec_expression_add_offset(left, right);
	if (sum == PROBE_SUM_MINUS && spec_expression_get_constant(right, &value))
		return fetch_add(left, (int64_t)(0 - (uint64_t)value));
	if (sum == PROBE_SUM_RIGHT && spec_expression_get_constant(right, &value) && value >= 0 &&
			value < 64)
		return fetch_op(left, PROBE_FETCH_SHIFT_RIGHT, 0, (unsigned int)value, 0);
	return fetch_calculate(left, sum, right);
}

/* -x, ~x and |x| are computed with a constant. */
static int expression_combine_constant(struct expression_state *state, unsigned int atom)
{
	struct fetch *one = expression_top(state), left = {.nr_ops = 0}, sign;
	int ret;

	if (!one)
		return -EINVAL;
	if (atom == DW_OP_not) {
		(void)fetch_op(&left, PROBE_FETCH_CONSTANT, 0, 0, -1);
		return fetch_calculate(one, PROBE_SUM_XOR, &left);
	}
	if (atom == DW_OP_neg) {
		(void)fetch_op(&left, PROBE_FETCH_CONSTANT, 0, 0, 0);
		ret = fetch_calculate(&left, PROBE_SUM_MINUS, one);
		*one = left;
		return ret;
	}
	/* |x| is (x ^ s) - s, where s is 0 or -1, as the sign. */
	(void)fetch_op(&left, PROBE_FETCH_CONSTANT, 0, 0, 63);
	sign = *one;
	ret = fetch_calculate(&sign, PROBE_SUM_RIGHT_SIGNED, &left);
	if (!ret)
		ret = fetch_calculate(one, PROBE_SUM_XOR, &sign);
	return ret ? ret : fetch_calculate(one, PROBE_SUM_MINUS, &sign);
}

static enum probe_fetch_sum sum_of(unsigned int atom)
{
	switch (atom) {
	case DW_OP_plus: return PROBE_SUM_PLUS;
	case DW_OP_minus: return PROBE_SUM_MINUS;
	case DW_OP_mul: return PROBE_SUM_TIMES;
	case DW_OP_div: return PROBE_SUM_DIVIDE;
	case DW_OP_mod: return PROBE_SUM_MODULO;
	case DW_OP_and: return PROBE_SUM_AND;
	case DW_OP_or: return PROBE_SUM_OR;
	case DW_OP_xor: return PROBE_SUM_XOR;
	case DW_OP_shl: return PROBE_SUM_LEFT;
	case DW_OP_shr: return PROBE_SUM_RIGHT;
	case DW_OP_shra: return PROBE_SUM_RIGHT_SIGNED;
	case DW_OP_eq: return PROBE_SUM_EQUAL;
	case DW_OP_ne: return PROBE_SUM_NOT_EQUAL;
	case DW_OP_lt: return PROBE_SUM_LESS;
	case DW_OP_le: return PROBE_SUM_LESS_EQUAL;
	case DW_OP_gt: return PROBE_SUM_GREATER;
	case DW_OP_ge: return PROBE_SUM_GREATER_EQUAL;
	default: return 0;
	}
}

/* ---- the frame ---- */

static int spec_expression_run(struct expression_state *state, Dwarf_Op *ops, size_t count);

/* Push the frame address of the function (CFA), as unwinding data defines it. */
static int push_frame(struct expression_state *state)
{
	for (size_t i = 0; i < 2; i++) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *ops;
		size_t count;
		int ret = -ENOTSUP;

		if (!state->location->debug->frames[i] ||
				dwarf_cfi_addrframe(state->location->debug->frames[i],
						state->location->address, &frame))
			continue;
		if (!dwarf_frame_cfa(frame, &ops, &count) && count)
			ret = spec_expression_run(state, ops, count);
		free(frame);
		state->value = false;
		if (!ret)
			return 0;
	}
	return -ENOTSUP;
}

static int expression_push_frame_base(struct expression_state *state, int64_t offset)
{
	Dwarf_Attribute attribute, *outer = state->attribute;
	Dwarf_Op *ops;
	size_t count;
	int ret;

	/* A frame base that uses the frame base would recurse forever. */
	if (state->in_base || !state->location->function ||
			!dwarf_attr_integrate(
					state->location->function, DW_AT_frame_base, &attribute) ||
			dwarf_getlocation_addr(
					&attribute, state->location->address, &ops, &count, 1) != 1)
		return -ENOTSUP;
	state->in_base = true;
	state->attribute = &attribute;
	ret = spec_expression_run(state, ops, count);
	state->attribute = outer;
	state->in_base = false;
	/* Here a register stands for its contents. */
	state->value = false;
	return ret || !state->used ? -ENOTSUP : fetch_add(expression_top(state), offset);
}

/* ---- single operations ---- */

/*
 * The value of an expression at the function's entry. If the location is the entry, that is its
 * value now.
 */
static int push_entry_value(struct expression_state *state, Dwarf_Op *op)
{
	Dwarf_Attribute inner, *outer = state->attribute;
	const char *name = NULL;
	Dwarf_Op *ops;
	size_t count;
	int ret;

	if (dwarf_getlocation_attr(state->attribute, op, &inner) ||
			dwarf_getlocation(&inner, &ops, &count) || !count)
		return -ENOTSUP;
	if (!state->location->entry) {
		if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
			name = fetch_register_name(ops[0].atom - DW_OP_reg0);
		state->answer->entry_value = name ? name : "another register";
		return -ENOTSUP;
	}
	state->attribute = &inner;
	ret = spec_expression_run(state, ops, count);
	state->attribute = outer;
	state->value = false;
	return ret;
}

/* An address or constant from a table of the unit. */
static int push_indexed(struct expression_state *state, Dwarf_Op *op)
{
	bool address = op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index;
	Dwarf_Attribute found;
	Dwarf_Addr value;
	Dwarf_Word number;

	if (dwarf_getlocation_attr(state->attribute, op, &found))
		return -ENOTSUP;
	if (!dwarf_formaddr(&found, &value))
		return spec_expression_push_value(state,
				address ? PROBE_FETCH_MODULE : PROBE_FETCH_CONSTANT, 0,
				(int64_t)value);
	return dwarf_formudata(&found, &number)
			? -ENOTSUP
			: spec_expression_push_value(
					  state, PROBE_FETCH_CONSTANT, 0, (int64_t)number);
}

/* Convert to a number type: all types fill the 64 bits, with or without sign extension. */
static int spec_expression_convert_type(struct expression_state *state, Dwarf_Op *op)
{
	Dwarf_Word size, encoding;
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	bool is_signed;

	if (!state->used)
		return -EINVAL;
	/* The generic type: an address. */
	if (!op->number)
		return 0;
	if (dwarf_getlocation_die(state->attribute, op, &type) ||
			dwarf_aggregate_size(&type, &size) || !size || size > 8 ||
			!dwarf_attr_integrate(&type, DW_AT_encoding, &attribute) ||
			dwarf_formudata(&attribute, &encoding) || encoding == DW_ATE_float ||
			encoding == DW_ATE_complex_float) {
		state->answer->reason = "it is converted to a type that is not an integer";
		return -ENOTSUP;
	}
	is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	if (size == 8)
		return 0;
	return fetch_op(expression_top(state),
			is_signed ? PROBE_FETCH_SIGN_EXTEND : PROBE_FETCH_ZERO_EXTEND, 0,
			8 * (unsigned int)size, 0);
}

static int spec_expression_load_memory(struct expression_state *state, uint64_t size)
{
	if (!state->used || (size != 1 && size != 2 && size != 4 && size != 8))
		return -EINVAL;
	return fetch_op(expression_top(state), PROBE_FETCH_LOAD, 0, (unsigned int)size, 0);
}

static int spec_expression_copy_stack_slot(struct expression_state *state, uint64_t below)
{
	if (below >= state->used)
		return -EINVAL;
	return push_fetch(state, &state->stack[state->used - 1 - below]);
}

/* Move the top item below the `count` - 1 items under it. */
static int spec_expression_rotate(struct expression_state *state, unsigned int count)
{
	struct fetch *lowest, moved;

	if (state->used < count)
		return -EINVAL;
	moved = *expression_top(state);
	lowest = &state->stack[state->used - count];
	memmove(lowest + 1, lowest, (count - 1) * sizeof(*lowest));
	*lowest = moved;
	return 0;
}

static int run_register(struct expression_state *state, unsigned int number)
{
	state->value = true;
	return push_register(state, number, 0);
}

/* Operations whose number encodes an operand. Returns false for other operations. */
static bool run_numbered(struct expression_state *state, const Dwarf_Op *op, int *ret_status)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		*ret_status = push_register(state, op->atom - DW_OP_breg0, (int64_t)op->number);
	else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*ret_status = run_register(state, op->atom - DW_OP_reg0);
	else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		*ret_status = spec_expression_push_value(
				state, PROBE_FETCH_CONSTANT, 0, op->atom - DW_OP_lit0);
	else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
		*ret_status = spec_expression_push_value(
				state, PROBE_FETCH_CONSTANT, 0, (int64_t)op->number);
	else
		return false;
	return true;
}

static int run_stack(struct expression_state *state, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_dup: return spec_expression_copy_stack_slot(state, 0);
	case DW_OP_over: return spec_expression_copy_stack_slot(state, 1);
	case DW_OP_pick: return spec_expression_copy_stack_slot(state, op->number);
	case DW_OP_swap: return spec_expression_rotate(state, 2);
	case DW_OP_rot: return spec_expression_rotate(state, 3);
	case DW_OP_drop: return state->used-- ? 0 : -EINVAL;
	default: return -ENOENT;
	}
}

/* A thread-local variable. */
static int expression_push_thread_variable(struct expression_state *state)
{
	struct fetch found;
	int64_t offset;

	if (!state->used)
		return -EINVAL;
	state->answer->thread_local = true;
	if (!spec_expression_get_constant(expression_top(state), &offset) || offset < 0 ||
			thread_variable(state->location->debug->owner, (uint64_t)offset, &found))
		return -ENOTSUP;
	state->answer->thread_local = false;
	*expression_top(state) = found;
	return 0;
}

static int expression_run_other(struct expression_state *state, Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_addr:
		return spec_expression_push_value(
				state, PROBE_FETCH_MODULE, 0, (int64_t)op->number);
	case DW_OP_addrx:
	case DW_OP_constx:
	case DW_OP_GNU_addr_index:
	case DW_OP_GNU_const_index: return push_indexed(state, op);
	case DW_OP_regx: return run_register(state, (unsigned int)op->number);
	case DW_OP_bregx:
		return push_register(state, (unsigned int)op->number, (int64_t)op->number2);
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type: return push_register(state, (unsigned int)op->number, 0);
	case DW_OP_call_frame_cfa: return push_frame(state);
	case DW_OP_fbreg: return expression_push_frame_base(state, (int64_t)op->number);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value: return push_entry_value(state, op);
	case DW_OP_plus_uconst:
		return state->used ? fetch_add(expression_top(state), (int64_t)op->number)
				   : -EINVAL;
	case DW_OP_deref: return spec_expression_load_memory(state, 8);
	case DW_OP_deref_size:
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type: return spec_expression_load_memory(state, op->number);
	case DW_OP_convert:
	case DW_OP_GNU_convert: return spec_expression_convert_type(state, op);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not: return expression_combine_constant(state, op->atom);
	case DW_OP_stack_value: state->value = true; return 0;
	case DW_OP_nop: return 0;
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address: return expression_push_thread_variable(state);
	default: state->answer->reason = "its location uses an unknown operation"; return -ENOTSUP;
	}
}

static int expression_run_one(struct expression_state *state, Dwarf_Op *op)
{
	int ret;

	if (run_numbered(state, op, &ret))
		return ret;
	if (sum_of(op->atom))
		return expression_combine(state, sum_of(op->atom));
	ret = run_stack(state, op);
	return ret == -ENOENT ? expression_run_other(state, op) : ret;
}

static int spec_expression_run(struct expression_state *state, Dwarf_Op *ops, size_t count)
{
	int ret = 0;

	if (count > OPS_MAX)
		return -ENOTSUP;
	for (size_t i = 0; i < count && !ret; i++)
		ret = expression_run_one(state, &ops[i]);
	return ret;
}

int expression_convert(const struct locate_frame *location, Dwarf_Attribute *attribute,
		Dwarf_Op *ops, size_t count, struct fetch *ret_fetch,
		struct expression_answer *ret_answer)
{
	struct expression_state *state = calloc(1, sizeof(*state));
	int ret;

	*ret_answer = (struct expression_answer){.is_value = false};
	if (!state) {
		location->debug->owner->debug_error = -ENOMEM;
		return -ENOMEM;
	}
	state->location = location;
	state->attribute = attribute;
	state->answer = ret_answer;
	ret = spec_expression_run(state, ops, count);
	/* Items below the top are intermediate results. */
	if (!ret && !state->used)
		ret = -EINVAL;
	if (!ret)
		*ret_fetch = *expression_top(state);
	ret_answer->is_value = state->value;
	free(state);
	return ret;
}
