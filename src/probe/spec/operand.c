/* SPDX-License-Identifier: MIT */
/*
 * Parses the operands of markers.
 *
 * Each is SIZE@OPERAND; SIZE is negative if the value is signed:
 *
 *     %reg   $number   $symbol   number   symbol   [symbol][+-number](%base[,%index[,scale]])
 *
 * A symbol cannot be combined with a base register other than %rip. Anything else that an assembler
 * may write is refused.
 *
 * The longest operand, such as -1@9(%rax,%rbx,8), needs five operations, so a fetch always has
 * space for it.
 */
#include "operand.h"

#include "spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct operand {
	const char *at, *end;
	struct resolve_module *module;
	int64_t size; /* negative: signed */
	bool is_float;
	struct value *value;
	struct error *error;
};

static int spec_operand_set_error(const struct operand *operand, const char *what)
{
	return error_set(operand->error, -EINVAL, "", "%s in the operand `%.*s` of the marker",
			what,
			(int)(operand->end - operand->at > 64 ? 64 : operand->end - operand->at),
			operand->at);
}

static bool spec_operand_accept_char(struct operand *operand, char letter)
{
	if (operand->at == operand->end || *operand->at != letter)
		return false;
	operand->at++;
	return true;
}

static size_t spec_operand_span(const struct operand *operand, const char *letters)
{
	size_t length = 0;

	while (operand->at + length < operand->end && strchr(letters, operand->at[length]))
		length++;
	return length;
}

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

static int spec_operand_read_number(struct operand *operand, bool minus, int64_t *ret_sum)
{
	size_t length = spec_operand_span(operand, DIGITS "abcdefABCDEFxX");
	uint64_t number;

	if (!spec_number(operand->at, length, &number))
		return spec_operand_set_error(operand, "there is no number");
	operand->at += length;
	*ret_sum = (int64_t)((uint64_t)*ret_sum + (minus ? 0 - number : number));
	return 0;
}

static int spec_operand_read_symbol(struct operand *operand, uint64_t *ret_address)
{
	size_t length = spec_operand_span(operand, LETTERS DIGITS ".$@");
	char name[512];

	if (length >= sizeof(name))
		return spec_operand_set_error(operand, "the name is too long");
	memcpy(name, operand->at, length);
	name[length] = '\0';
	if (!operand->module || !module_symbol(operand->module, name, ret_address))
		return error_set(operand->error, -ENOENT, "",
				"the symbol `%.128s` of the marker is not in its file", name);
	operand->at += length;
	return 0;
}

/* Parses a sum of numbers and at most one symbol. */
static int spec_operand_read_sum(struct operand *operand, int64_t *ret_sum, bool *ret_has_symbol)
{
	*ret_sum = 0;
	*ret_has_symbol = false;
	while (operand->at < operand->end && *operand->at != '(' && *operand->at != ' ') {
		bool minus = spec_operand_accept_char(operand, '-');
		uint64_t address = 0;

		if (!minus)
			(void)spec_operand_accept_char(operand, '+');
		if (spec_operand_span(operand, DIGITS)) {
			if (spec_operand_read_number(operand, minus, ret_sum))
				return -EINVAL;
		} else if (!minus && !*ret_has_symbol && spec_operand_span(operand, LETTERS ".")) {
			if (spec_operand_read_symbol(operand, &address))
				return -EINVAL;
			*ret_has_symbol = true;
			*ret_sum = (int64_t)((uint64_t)*ret_sum + address);
		} else {
			return spec_operand_set_error(operand, "there is an unknown character");
		}
	}
	return 0;
}

static int spec_operand_read_register(struct operand *operand, struct fetch_register *ret_register)
{
	size_t length = 1 + strspn(operand->at + 1, "abcdefghijklmnopqrstuvwxyz0123456789");

	if (length > (size_t)(operand->end - operand->at) ||
			!fetch_register_named(operand->at, length, ret_register))
		return spec_operand_set_error(operand, "there is no such register");
	operand->at += length;
	return 0;
}

static int spec_operand_add_index(struct operand *operand, struct fetch *fetch)
{
	struct fetch_register index;
	int64_t scale = 1;
	unsigned int shift;

	if (operand->at == operand->end || *operand->at != '%' ||
			spec_operand_read_register(operand, &index))
		return spec_operand_set_error(operand, "there is no index");
	if (spec_operand_accept_char(operand, ',')) {
		scale = 0;
		if (spec_operand_read_number(operand, false, &scale))
			return -EINVAL;
	}
	for (shift = 0; shift < 4 && scale != 1 << shift; shift++)
		;
	if (shift == 4 || index.bits != 64 || index.number >= FETCH_RIP)
		return spec_operand_set_error(operand, "there is no such index");
	(void)fetch_op(fetch, PROBE_FETCH_ADD_REGISTER, index.number, shift, 0);
	return 0;
}

/* Parses the terms between parentheses, after the opening one. */
static int spec_operand_read_address(
		struct operand *operand, struct fetch *fetch, int64_t sum, bool has_symbol)
{
	struct fetch_register base = {.number = FETCH_RIP};
	bool has_base = operand->at < operand->end && *operand->at == '%';

	if (has_base && spec_operand_read_register(operand, &base))
		return -EINVAL;
	if (has_base && (base.bits != 64 || base.number > FETCH_RIP))
		return spec_operand_set_error(operand, "there is no such base");
	/* The symbol is the address; (%rip) only shows how the instruction encodes it. */
	if (has_base && base.number == FETCH_RIP && !has_symbol)
		return spec_operand_set_error(operand, "the address is missing");
	if (has_base && base.number != FETCH_RIP && has_symbol)
		return spec_operand_set_error(operand, "there is a symbol with a base");
	if (has_base && base.number != FETCH_RIP) {
		(void)fetch_register(fetch, &base);
		(void)fetch_add(fetch, sum);
	} else {
		(void)fetch_op(fetch, has_symbol ? PROBE_FETCH_MODULE : PROBE_FETCH_CONSTANT, 0, 0,
				sum);
	}
	if (spec_operand_accept_char(operand, ',') && spec_operand_add_index(operand, fetch))
		return -EINVAL;
	return spec_operand_accept_char(operand, ')')
			? 0
			: spec_operand_set_error(operand, "a parenthesis is missing");
}

static int spec_operand_read_memory(struct operand *operand, struct fetch *fetch)
{
	unsigned int size = (unsigned int)(operand->size < 0 ? -operand->size : operand->size);
	const char *begin = operand->at;
	bool has_symbol;
	int64_t sum;

	if (spec_operand_read_sum(operand, &sum, &has_symbol))
		return -EINVAL;
	if (spec_operand_accept_char(operand, '(')) {
		if (spec_operand_read_address(operand, fetch, sum, has_symbol))
			return -EINVAL;
	} else if (operand->at == begin) {
		return spec_operand_set_error(operand, "there is no address");
	} else {
		(void)fetch_op(fetch, has_symbol ? PROBE_FETCH_MODULE : PROBE_FETCH_CONSTANT, 0, 0,
				sum);
	}
	(void)fetch_op(fetch, PROBE_FETCH_LOAD, 0, size, 0);
	return 0;
}

static int spec_operand_read_constant(struct operand *operand, struct fetch *fetch)
{
	const char *begin = operand->at;
	bool has_symbol;
	int64_t sum;

	if (spec_operand_read_sum(operand, &sum, &has_symbol))
		return -EINVAL;
	if (operand->at == begin)
		return spec_operand_set_error(operand, "there is no number");
	(void)fetch_op(fetch, has_symbol ? PROBE_FETCH_MODULE : PROBE_FETCH_CONSTANT, 0, 0, sum);
	return 0;
}

/*
 * Parses `-4@` or `8f@`. Markers of the first SDT version have no size: a value has 8 bytes then.
 */
static int spec_operand_read_size(struct operand *operand)
{
	const char *at = memchr(operand->at, '@', (size_t)(operand->end - operand->at));
	bool minus;

	operand->size = 8;
	operand->is_float = false;
	if (!at || spec_operand_span(operand, DIGITS "-f") != (size_t)(at - operand->at))
		return 0;
	minus = spec_operand_accept_char(operand, '-');
	operand->size = 0;
	while (spec_operand_span(operand, DIGITS) && operand->size < 100)
		operand->size = operand->size * 10 + (*operand->at++ - '0');
	operand->is_float = spec_operand_accept_char(operand, 'f');
	if ((operand->size != 1 && operand->size != 2 && operand->size != 4 &&
			    operand->size != 8) ||
			!spec_operand_accept_char(operand, '@'))
		return spec_operand_set_error(operand, "there is no size that a value can have");
	if (minus)
		operand->size = -operand->size;
	return 0;
}

static int spec_operand_read(struct operand *operand)
{
	struct fetch *fetch = &operand->value->fetch;
	struct fetch_register reg;
	unsigned int bits;
	int ret;

	if (spec_operand_read_size(operand))
		return -EINVAL;
	bits = 8 * (unsigned int)(operand->size < 0 ? -operand->size : operand->size);
	if (operand->at < operand->end && *operand->at == '%') {
		ret = spec_operand_read_register(operand, &reg);
		if (!ret)
			(void)fetch_register(fetch, &reg);
	} else if (spec_operand_accept_char(operand, '$')) {
		ret = spec_operand_read_constant(operand, fetch);
	} else {
		ret = spec_operand_read_memory(operand, fetch);
	}
	if (ret)
		return -EINVAL;
	if (operand->at != operand->end)
		return spec_operand_set_error(operand, "there is an unknown character");
	operand->value->type = PROBE_FIELD_UNSIGNED;
	operand->value->size = 8;
	if (operand->is_float && bits >= 32) {
		operand->value->type = PROBE_FIELD_FLOAT;
		operand->value->size = (uint8_t)(bits / 8);
	} else if (operand->size < 0) {
		operand->value->type = PROBE_FIELD_SIGNED;
		if (bits < 64)
			(void)fetch_op(fetch, PROBE_FETCH_SIGN_EXTEND, 0, bits, 0);
	} else if (bits < 64) {
		(void)fetch_op(fetch, PROBE_FETCH_ZERO_EXTEND, 0, bits, 0);
	}
	return 0;
}

int operands_read(const char *text, struct resolve_module *module, struct value *ret_values,
		size_t *ret_count, struct error *error)
{
	for (*ret_count = 0;; (*ret_count)++) {
		struct operand operand = {.module = module, .error = error};

		text += strspn(text, " ");
		if (!*text)
			return 0;
		if (*ret_count == OPERANDS_MAX)
			return error_set(error, -E2BIG, "", "the marker has too many operands");
		operand.at = text;
		operand.end = text + strcspn(text, " ");
		operand.value = &ret_values[*ret_count];
		ret_values[*ret_count] = (struct value){.type = 0};
		snprintf(ret_values[*ret_count].name, sizeof(ret_values[*ret_count].name), "arg%zu",
				*ret_count + 1);
		if (spec_operand_read(&operand))
			return -EINVAL;
		text = operand.end;
	}
}

bool resolve_operand_type(const char **at, char ret_type[RESOLVE_TYPE_SIZE])
{
	struct operand operand = {.error = &(struct error){.code = 0}};

	*at += strspn(*at, " ");
	if (!**at)
		return false;
	operand.at = *at;
	operand.end = *at += strcspn(*at, " ");
	if (spec_operand_read_size(&operand))
		snprintf(ret_type, RESOLVE_TYPE_SIZE, "?");
	else
		snprintf(ret_type, RESOLVE_TYPE_SIZE, "%c%d",
				operand.is_float                   ? 'f'
						: operand.size < 0 ? 's'
								   : 'u',
				8 * abs((int)operand.size));
	return true;
}
