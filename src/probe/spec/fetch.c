/* SPDX-License-Identifier: MIT */
/* Build the operations of a fetch, and find registers of x86-64 by name. */
#include "fetch.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fetch_op(struct fetch *fetch, enum probe_fetch_code code, unsigned int reg, unsigned int size,
		int64_t value)
{
	if (fetch->nr_ops == PROBE_TABLE_OPS_MAX)
		return -E2BIG;
	fetch->ops[fetch->nr_ops++] = (struct probe_fetch_op){.code = (uint8_t)code,
			.reg = (uint8_t)reg,
			.size = (uint8_t)size,
			.value = value};
	return 0;
}

int fetch_add(struct fetch *fetch, int64_t value)
{
	struct probe_fetch_op *last = fetch->nr_ops ? &fetch->ops[fetch->nr_ops - 1] : NULL;

	if (!value)
		return 0;
	if (last &&
			(last->code == PROBE_FETCH_ADD || last->code == PROBE_FETCH_CONSTANT ||
					last->code == PROBE_FETCH_MODULE)) {
		last->value = (int64_t)((uint64_t)last->value + (uint64_t)value);
		return 0;
	}
	return fetch_op(fetch, PROBE_FETCH_ADD, 0, 0, value);
}

/* Append the operations of `right` to those of `left`, saving the result of `left`. */
static int fetch_both(struct fetch *left, const struct fetch *right)
{
	int ret = fetch_op(left, PROBE_FETCH_PUSH, 0, 0, 0);

	for (uint32_t i = 0; i < right->nr_ops && !ret; i++) {
		if (left->nr_ops == PROBE_TABLE_OPS_MAX)
			return -E2BIG;
		left->ops[left->nr_ops++] = right->ops[i];
	}
	return ret;
}

int fetch_calculate(struct fetch *left, enum probe_fetch_sum sum, const struct fetch *right)
{
	int ret = fetch_both(left, right);

	return ret ? ret : fetch_op(left, PROBE_FETCH_CALCULATE, 0, (unsigned int)sum, 0);
}

int fetch_wide(struct fetch *low, const struct fetch *high)
{
	int ret = fetch_both(low, high);

	return ret ? ret : fetch_op(low, PROBE_FETCH_WIDE, 0, 0, 0);
}

bool fetch_needs_all(const struct fetch *fetch)
{
	for (uint32_t i = 0; i < fetch->nr_ops; i++) {
		const struct probe_fetch_op *op = &fetch->ops[i];

		if ((op->code == PROBE_FETCH_REGISTER || op->code == PROBE_FETCH_ADD_REGISTER) &&
				(op->reg == FETCH_RBX || (op->reg >= 12 && op->reg <= 15)))
			return true;
	}
	return false;
}

static const char *const old_names[8] = {"ax", "dx", "cx", "bx", "si", "di", "bp", "sp"};

const char *fetch_register_name(unsigned int number)
{
	static const char *const names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
			"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

	if (number == 49)
		return "rflags";
	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

/* The eight oldest registers, which have names for their parts: ax, al, ah. */
static bool fetch_find_old_register(
		const char *name, size_t length, struct fetch_register *ret_found)
{
	for (unsigned int i = 0; i < 8; i++) {
		const char *old = old_names[i];

		ret_found->number = (uint8_t)i;
		ret_found->bits = 16;
		if (length == 2 && !memcmp(name, old, 2))
			return true;
		ret_found->bits = *name == 'r' ? 64 : 32;
		if (length == 3 && (*name == 'r' || *name == 'e') && !memcmp(name + 1, old, 2))
			return true;
		ret_found->bits = 8;
		if (i < 4 && length == 2 && *name == *old && (name[1] == 'l' || name[1] == 'h')) {
			ret_found->shift = name[1] == 'h' ? 8 : 0;
			return true;
		}
		if (i >= 4 && length == 3 && !memcmp(name, old, 2) && name[2] == 'l')
			return true;
	}
	return false;
}

static bool fetch_find_numbered_register(
		const char *name, size_t length, struct fetch_register *ret_found)
{
	unsigned int number, digits;
	bool vector = length > 3 && !memcmp(name, "xmm", 3);

	if (!vector && (length < 2 || *name != 'r'))
		return false;
	name += vector ? 3 : 1;
	length -= vector ? 3 : 1;
	for (number = digits = 0; digits < length && digits < 2 && isdigit(name[digits]); digits++)
		number = number * 10 + (unsigned int)(name[digits] - '0');
	if (!digits || number > 15 || (!vector && number < 8))
		return false;
	ret_found->number = (uint8_t)(vector ? FETCH_XMM0 + number : number);
	ret_found->bits = 64;
	if (length == digits)
		return true;
	if (vector || length != digits + 1)
		return false;
	ret_found->bits = name[digits] == 'd'                        ? 32
			: name[digits] == 'w'                        ? 16
			: name[digits] == 'b' || name[digits] == 'l' ? 8
								     : 0;
	return ret_found->bits;
}

bool fetch_register_named(const char *name, size_t length, struct fetch_register *ret_found)
{
	if (length && *name == '%') {
		name++;
		length--;
	}
	*ret_found = (struct fetch_register){.bits = 64};
	if (length < 2)
		return false;
	if (length == 3 && !memcmp(name, "rip", 3)) {
		ret_found->number = FETCH_RIP;
		return true;
	}
	if ((length == 6 && (!memcmp(name, "rflags", 6) || !memcmp(name, "eflags", 6))) ||
			(length == 5 && !memcmp(name, "flags", 5))) {
		ret_found->number = 49;
		return true;
	}
	if (fetch_find_numbered_register(name, length, ret_found))
		return true;
	*ret_found = (struct fetch_register){.bits = 64};
	return fetch_find_old_register(name, length, ret_found);
}

int fetch_register(struct fetch *fetch, const struct fetch_register *which)
{
	int ret;

	if (which->number >= FETCH_XMM0 && which->number < FETCH_XMM0 + 16)
		return fetch_op(fetch, PROBE_FETCH_VECTOR, which->number - FETCH_XMM0, 0, 0);
	ret = fetch_op(fetch, PROBE_FETCH_REGISTER, which->number, 0, 0);
	if (!ret && which->shift)
		ret = fetch_op(fetch, PROBE_FETCH_SHIFT_RIGHT, 0, which->shift, 0);
	if (!ret && which->bits < 64)
		ret = fetch_op(fetch, PROBE_FETCH_ZERO_EXTEND, 0, which->bits, 0);
	return ret;
}

void fetch_name(char name[FETCH_NAME_MAX], const char *text)
{
	size_t used = 0;

	for (; *text && used < FETCH_NAME_MAX - 8; text++) {
		/* No dots: in filters they separate the members of a structure. */
		bool letter = isalnum((unsigned char)*text) || *text == '_';

		if (!used && isdigit((unsigned char)*text))
			name[used++] = '_';
		if (letter)
			name[used++] = *text;
		else if (used && name[used - 1] != '_')
			name[used++] = '_';
	}
	while (used && name[used - 1] == '_')
		used--;
	if (!used)
		name[used++] = '_';
	name[used] = '\0';
}

bool fetch_is_of_kernel(const struct fetch *fetch)
{
	for (uint32_t i = 0; i < fetch->nr_ops; i++) {
		switch (fetch->ops[i].code) {
		case PROBE_FETCH_VECTOR:
		case PROBE_FETCH_EXTENDED:
		case PROBE_FETCH_HALF:
		case PROBE_FETCH_WIDE:
		case PROBE_FETCH_THREAD:
		case PROBE_FETCH_ERRNO:
		case PROBE_FETCH_BLOCK:
		case PROBE_FETCH_BACKTRACE: return false;
		case PROBE_FETCH_CALCULATE:
			if (fetch->ops[i].size > PROBE_SUM_XOR)
				return false;
			break;
		default: break;
		}
	}
	return true;
}
