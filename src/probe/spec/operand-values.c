/* SPDX-License-Identifier: MIT */
/*
 * Parses a value in operands of a marker:
 *
 *     [NAME=] argN | string(argN[, COUNT]) | bytes(argN, COUNT)      COUNT = NUMBER | argN
 *
 * Each location of the marker can have the operand at another address or in another register. So the
 * fetch of a value contains the operand's fetch at that location.
 */
#include "operand-values.h"

#include "spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STRING_DEFAULT 256
#define OPERAND_TEXT_MAX 256

static const char operand_hint[] =
		"write argN, `string(argN)`, `string(argN, argM)` or `bytes(argN, 16)`, with NAME= for the name of the field";

struct operand_parser {
	const char *at, *text;
	const struct value *operands;
	size_t count;
	struct error *error;
};

static size_t operand_name_length(const char *text)
{
	size_t length = 0;

	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return isdigit((unsigned char)*text) ? 0 : length;
}

/* Skips NAME= if the text begins with it. */
static const char *operand_skip_name(const char *text)
{
	size_t length = operand_name_length(text);

	return length && text[length] == '=' && text[length + 1] != '=' ? text + length + 1 : text;
}

/* Returns the length of "argN", or 0. */
static size_t operand_span(const char *text)
{
	size_t digits = strncmp(text, "arg", 3) ? 0 : strspn(text + 3, "0123456789");

	if (!digits || digits > 3 || text[3] == '0' || isalpha((unsigned char)text[3 + digits]) ||
			text[3 + digits] == '_')
		return 0;
	return 3 + digits;
}

/* Copies without spaces, which have no meaning here. False: too long. */
static bool operand_copy_text(char to[OPERAND_TEXT_MAX], const char *text)
{
	size_t used = 0;

	for (; *text; text++) {
		if (isspace((unsigned char)*text))
			continue;
		if (used + 1 == OPERAND_TEXT_MAX)
			return false;
		to[used++] = *text;
	}
	to[used] = '\0';
	return true;
}

bool operand_is_named(const char *text)
{
	char plain[OPERAND_TEXT_MAX] = "";
	const char *at;
	size_t length;

	if (!operand_copy_text(plain, text))
		return false;
	at = operand_skip_name(plain);
	/* Of any name: a misspelled one is no variable. */
	length = operand_name_length(at);
	return operand_span(length && at[length] == '(' ? at + length + 1 : at);
}

static int operand_set_error(struct operand_parser *parser, const char *what)
{
	return error_set(
			parser->error, -EINVAL, operand_hint, "%s in `%.128s`", what, parser->text);
}

/* Reads `argN`. Returns NULL after it has set the error. */
static const struct value *operand_parse_name(struct operand_parser *parser)
{
	size_t length = operand_span(parser->at);
	uint64_t number = 0;

	if (!length || !spec_number(parser->at + 3, length - 3, &number)) {
		(void)operand_set_error(parser, "there is no operand");
		return NULL;
	}
	if (number > parser->count) {
		(void)error_set(parser->error, -EINVAL,
				"`side probe list --sdt` lists the operands of markers",
				"the marker has no `arg%d`: it has %zu operands", (int)number,
				parser->count);
		return NULL;
	}
	parser->at += length;
	return &parser->operands[number - 1];
}

static int operand_check_integer(struct operand_parser *parser, const struct value *operand)
{
	return operand->type == PROBE_FIELD_FLOAT
			? operand_set_error(parser,
					  "a floating-point operand is used as an address or length")
			: 0;
}

/* Reads `, COUNT`: a number, or an operand whose fetch then comes before the address. */
static int operand_parse_count(struct operand_parser *parser, struct value *value)
{
	size_t length = strspn(parser->at, "0123456789abcdefABCDEFxX");
	const struct value *operand;
	uint64_t number;
	int ret;

	if (isdigit((unsigned char)*parser->at)) {
		if (!spec_number(parser->at, length, &number) || !number)
			return operand_set_error(parser, "the length is not a number");
		value->limit = (uint16_t)(number < PROBE_TABLE_TEXT_MAX ? number
									: PROBE_TABLE_TEXT_MAX);
		parser->at += length;
		return 0;
	}
	operand = operand_parse_name(parser);
	if (!operand)
		return -EINVAL;
	ret = operand_check_integer(parser, operand);
	if (ret)
		return ret;
	value->fetch = operand->fetch;
	return fetch_op(&value->fetch, PROBE_FETCH_LENGTH, 0, 0, 0);
}

static int operand_append(struct fetch *fetch, const struct fetch *more)
{
	int ret = 0;

	for (uint32_t i = 0; i < more->nr_ops && !ret; i++)
		ret = fetch_op(fetch, (enum probe_fetch_code)more->ops[i].code, more->ops[i].reg,
				more->ops[i].size, more->ops[i].value);
	return ret;
}

/* Reads `(argN)` or `(argN, COUNT)` after `string` or `bytes`. */
static int operand_parse_memory(struct operand_parser *parser, struct value *value)
{
	const struct value *operand = operand_parse_name(parser);
	bool is_counted;
	int ret;

	if (!operand)
		return -EINVAL;
	ret = operand_check_integer(parser, operand);
	if (ret)
		return ret;
	value->size = 1;
	value->limit = STRING_DEFAULT;
	/* The program's pointer may be invalid. */
	value->guarded = true;
	snprintf(value->name, sizeof(value->name), "%s", operand->name);
	is_counted = *parser->at == ',';
	parser->at += is_counted;
	if (is_counted)
		ret = operand_parse_count(parser, value);
	else if (value->type == PROBE_FIELD_BYTES)
		return operand_set_error(parser, "the number of bytes is missing");
	if (!ret)
		ret = operand_append(&value->fetch, &operand->fetch);
	if (ret == -E2BIG)
		return operand_set_error(parser, "there are too many operations");
	if (!ret && *parser->at++ != ')')
		return operand_set_error(parser, "a parenthesis is missing");
	return ret;
}

static int operand_parse(struct operand_parser *parser, struct value *value)
{
	bool is_text = !strncmp(parser->at, "string(", 7);

	if (!is_text && strncmp(parser->at, "bytes(", 6) != 0) {
		const size_t length = operand_name_length(parser->at);
		const struct value *operand;

		if (length && parser->at[length] == '(')
			return operand_set_error(parser, "operands have no such form");
		operand = operand_parse_name(parser);

		if (!operand)
			return -EINVAL;
		*value = *operand;
		return 0;
	}
	parser->at += is_text ? 7 : 6;
	value->type = is_text ? PROBE_FIELD_STRING : PROBE_FIELD_BYTES;
	return operand_parse_memory(parser, value);
}

int operand_value(const char *text, const struct value *operands, size_t count,
		struct value *ret_value, struct error *error)
{
	char plain[OPERAND_TEXT_MAX] = "", name[FETCH_NAME_MAX];
	struct operand_parser parser = {
			.text = text, .operands = operands, .count = count, .error = error};
	int ret;

	*ret_value = (struct value){.type = 0};
	if (!operand_copy_text(plain, text))
		return operand_set_error(&parser, "there are too many characters");
	parser.at = operand_skip_name(plain);
	snprintf(name, sizeof(name), "%.*s", parser.at > plain ? (int)(parser.at - plain - 1) : 0,
			plain);
	ret = operand_parse(&parser, ret_value);
	if (!ret && *parser.at)
		return operand_set_error(&parser, "there is text after the operand");
	if (!ret && *name)
		fetch_name(ret_value->name, name);
	return ret;
}
