/* SPDX-License-Identifier: MIT */
/*
 * Locations of DWARF as operations that the agent can do, which has one number and no stack. What they say of
 * variables needs little more: a register or the frame, and an offset. What does not fit is refused with its reason.
 */
#include "locate.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STACK_MAX 8

struct reading {
	struct debug *debug;
	Dwarf_Die *function;
	uint64_t address;
	struct fetch stack[STACK_MAX];
	unsigned int used;
	bool in_base;
	bool value; /* what is on the stack is the value */
};

static int push(struct reading *reading, enum probe_fetch_code code, unsigned int reg,
		int64_t value)
{
	struct fetch *fetch = &reading->stack[reading->used];

	if (reading->used == STACK_MAX)
		return -E2BIG;
	reading->used++;
	fetch->nr_ops = 0;
	return fetch_op(fetch, code, reg, 0, value);
}

static int push_register(struct reading *reading, unsigned int number, int64_t offset)
{
	int ret;

	if (number > FETCH_RIP)
		return -ENOTSUP;
	ret = push(reading, PROBE_FETCH_REGISTER, number, 0);
	return ret ? ret : fetch_add(&reading->stack[reading->used - 1], offset);
}

static bool constant_of(const struct fetch *fetch, int64_t *value)
{
	*value = fetch->ops[0].value;
	return fetch->nr_ops == 1 && fetch->ops[0].code == PROBE_FETCH_CONSTANT;
}

/* A register and what is added to it. */
static bool register_of(const struct fetch *fetch, unsigned int *number, int64_t *offset)
{
	*number = fetch->ops[0].reg;
	*offset = fetch->nr_ops == 2 ? fetch->ops[1].value : 0;
	return fetch->ops[0].code == PROBE_FETCH_REGISTER &&
			(fetch->nr_ops == 1 ||
					(fetch->nr_ops == 2 &&
							fetch->ops[1].code == PROBE_FETCH_ADD));
}

/* Of the two on the top, one must be simple. */
static int add_two(struct reading *reading, bool minus)
{
	struct fetch *left = &reading->stack[reading->used - 2], *right = left + 1, other;
	unsigned int number;
	int64_t value;

	if (reading->used < 2)
		return -EINVAL;
	reading->used--;
	if (constant_of(right, &value))
		return fetch_add(left, minus ? (int64_t)(0 - (uint64_t)value) : value);
	if (minus)
		return -ENOTSUP;
	if (!register_of(right, &number, &value)) {
		other = *left;
		*left = *right;
		*right = other;
	}
	if (constant_of(right, &value))
		return fetch_add(left, value);
	if (!register_of(right, &number, &value))
		return -ENOTSUP;
	return fetch_op(left, PROBE_FETCH_ADD_REGISTER, number, 0, 0) ? -E2BIG
								      : fetch_add(left, value);
}

static int run(struct reading *reading, const Dwarf_Op *ops, size_t count);

/* Where the frame of the function is; by unwinders' data. */
static int push_frame(struct reading *reading)
{
	for (size_t i = 0; i < 2; i++) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *ops;
		size_t count;
		int ret = -ENOTSUP;

		if (!reading->debug->frames[i] ||
				dwarf_cfi_addrframe(reading->debug->frames[i], reading->address,
						&frame))
			continue;
		if (!dwarf_frame_cfa(frame, &ops, &count) && count)
			ret = run(reading, ops, count);
		free(frame);
		reading->value = false;
		if (!ret)
			return 0;
	}
	return -ENOTSUP;
}

static int push_base(struct reading *reading, int64_t offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;
	int ret;

	if (!reading->function ||
			!dwarf_attr_integrate(reading->function, DW_AT_frame_base, &attribute) ||
			dwarf_getlocation_addr(&attribute, reading->address, &ops, &count, 1) != 1)
		return -ENOTSUP;
	reading->in_base = true;
	ret = run(reading, ops, count);
	reading->in_base = false;
	/* A register here means what it holds. */
	reading->value = false;
	return ret || !reading->used ? -ENOTSUP
				     : fetch_add(&reading->stack[reading->used - 1], offset);
}

static int run_constant(struct reading *reading, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(reading, PROBE_FETCH_CONSTANT, 0, op->atom - DW_OP_lit0);
	return push(reading, PROBE_FETCH_CONSTANT, 0, (int64_t)op->number);
}

static int run_load(struct reading *reading, unsigned int size)
{
	if (!reading->used || (size != 1 && size != 2 && size != 4 && size != 8))
		return -EINVAL;
	return fetch_op(&reading->stack[reading->used - 1], PROBE_FETCH_LOAD, 0, size, 0);
}

static int run_one(struct reading *reading, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(reading, op->atom - DW_OP_breg0, (int64_t)op->number);
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		unsigned int number = op->atom - DW_OP_reg0;

		reading->value = true;
		if (number >= FETCH_XMM0)
			return push(reading, PROBE_FETCH_VECTOR, number - FETCH_XMM0, 0);
		return push_register(reading, number, 0);
	}
	if ((op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) ||
			(op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts))
		return run_constant(reading, op);
	switch (op->atom) {
	case DW_OP_addr: return push(reading, PROBE_FETCH_MODULE, 0, (int64_t)op->number);
	case DW_OP_bregx:
		return push_register(reading, (unsigned int)op->number, (int64_t)op->number2);
	case DW_OP_call_frame_cfa: return push_frame(reading);
	case DW_OP_fbreg:
		/* A frame that is said by itself has no end. */
		if (reading->in_base)
			return -ENOTSUP;
		return push_base(reading, (int64_t)op->number);
	case DW_OP_plus: return add_two(reading, false);
	case DW_OP_minus: return add_two(reading, true);
	case DW_OP_plus_uconst:
		return reading->used
				? fetch_add(&reading->stack[reading->used - 1], (int64_t)op->number)
				: -EINVAL;
	case DW_OP_deref: return run_load(reading, 8);
	case DW_OP_deref_size: return run_load(reading, (unsigned int)op->number);
	case DW_OP_stack_value: reading->value = true; return 0;
	case DW_OP_nop: return 0;
	default: return -ENOTSUP;
	}
}

static int run(struct reading *reading, const Dwarf_Op *ops, size_t count)
{
	int ret = 0;

	if (count > 64)
		return -ENOTSUP;
	for (size_t i = 0; i < count && !ret; i++)
		ret = run_one(reading, &ops[i]);
	return ret;
}

/* Bits as the compiler has left them there, without a place in the program. */
static int locate_constant(Dwarf_Die *variable, struct located *located)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword number;

	if (!dwarf_attr_integrate(variable, DW_AT_const_value, &attribute) ||
			dwarf_formsdata(&attribute, &number))
		return -ENOENT;
	located->kind = LOCATED_VALUE;
	return fetch_op(&located->fetch, PROBE_FETCH_CONSTANT, 0, 0, number);
}

int locate(struct debug *debug, Dwarf_Die *variable, Dwarf_Die *function, uint64_t address,
		struct located *located, struct resolve_error *error)
{
	struct reading reading = {.debug = debug, .function = function, .address = address};
	const char *name = dwarf_diename(variable) ? dwarf_diename(variable) : "it";
	Dwarf_Attribute attribute;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	int ret;

	*located = (struct located){.kind = LOCATED_MEMORY};
	if (!locate_constant(variable, located))
		return 0;
	if (!dwarf_attr_integrate(variable, DW_AT_location, &attribute) ||
			dwarf_getlocation_addr(&attribute, address, &ops, &count, 1) != 1 || !count)
		return resolve_fail(error, -ENOENT,
				"ask for it at another place, or compile with -O0 or -Og",
				"the compiler has not kept `%.128s` at this place", name);
	ret = run(&reading, ops, count);
	if (ret || reading.used != 1)
		return resolve_fail(error, -ENOTSUP, "say it as TYPE:NAME:ADDR",
				"where `%.128s` is at this place is more than a probe can find",
				name);
	located->kind = reading.value ? LOCATED_VALUE : LOCATED_MEMORY;
	located->fetch = reading.stack[0];
	return 0;
}
