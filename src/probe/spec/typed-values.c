/* SPDX-License-Identifier: MIT */
/*
 * Parses TYPE:NAME:ADDR, where ADDR is the address of the value in memory.
 *
 *     ADDR = TERM { ("+" | "-") NUMBER }
 *     TERM = "%" REGISTER | NUMBER | SYMBOL | "(" ADDR ")" | "*" TERM
 *
 * `*` reads the pointer at an address. A register alone is the value itself, or for text and bytes
 * their address. So `s32:n:%edi` is an argument, `s32:n:%rdi+4` a member of the structure that it
 * points to, and `string:name:*(%rdi+0x10)` a text to which a member points.
 */
#include "typed-values.h"

#include "spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16
/*
 * Each term adds one operation: it reads a pointer, or adds the number after its parentheses. The
 * innermost term, a register or a symbol, adds a few more. So a fetch always has space for an ADDR.
 */
_Static_assert(DEPTH_MAX + 12 <= PROBE_TABLE_OPS_MAX, "operations of the deepest ADDR");
#define BACKTRACE_DEFAULT 32
#define STRING_DEFAULT 256
#define BYTES_DEFAULT 16

static const struct spec_type {
	const char *name;
	uint8_t type, size;
} types[] = {
		{"u8", PROBE_FIELD_UNSIGNED, 1},
		{"u16", PROBE_FIELD_UNSIGNED, 2},
		{"u32", PROBE_FIELD_UNSIGNED, 4},
		{"u64", PROBE_FIELD_UNSIGNED, 8},
		{"s8", PROBE_FIELD_SIGNED, 1},
		{"s16", PROBE_FIELD_SIGNED, 2},
		{"s32", PROBE_FIELD_SIGNED, 4},
		{"s64", PROBE_FIELD_SIGNED, 8},
		{"x8", PROBE_FIELD_HEX, 1},
		{"x16", PROBE_FIELD_HEX, 2},
		{"x32", PROBE_FIELD_HEX, 4},
		{"x64", PROBE_FIELD_HEX, 8},
		{"char", PROBE_FIELD_SIGNED, 1},
		{"short", PROBE_FIELD_SIGNED, 2},
		{"int", PROBE_FIELD_SIGNED, 4},
		{"long", PROBE_FIELD_SIGNED, 8},
		{"uint", PROBE_FIELD_UNSIGNED, 4},
		{"ulong", PROBE_FIELD_UNSIGNED, 8},
		{"uchar", PROBE_FIELD_UNSIGNED, 1},
		{"ushort", PROBE_FIELD_UNSIGNED, 2},
		{"uint8", PROBE_FIELD_UNSIGNED, 1},
		{"uint16", PROBE_FIELD_UNSIGNED, 2},
		{"uint32", PROBE_FIELD_UNSIGNED, 4},
		{"uint64", PROBE_FIELD_UNSIGNED, 8},
		{"int8", PROBE_FIELD_SIGNED, 1},
		{"int16", PROBE_FIELD_SIGNED, 2},
		{"int32", PROBE_FIELD_SIGNED, 4},
		{"int64", PROBE_FIELD_SIGNED, 8},
		{"size", PROBE_FIELD_UNSIGNED, 8},
		{"bool", PROBE_FIELD_BOOL, 1},
		{"float", PROBE_FIELD_FLOAT, 4},
		{"f32", PROBE_FIELD_FLOAT, 4},
		{"double", PROBE_FIELD_FLOAT, 8},
		{"f64", PROBE_FIELD_FLOAT, 8},
		{"pointer", PROBE_FIELD_HEX, 8},
		{"ptr", PROBE_FIELD_HEX, 8},
		{"string", PROBE_FIELD_STRING, 1},
		{"bytes", PROBE_FIELD_BYTES, 1},
};

static const char argument_hint[] =
		"types are u8 to u64, s8 to s64, x8 to x64 (shown in hexadecimal), int8 to int64, uint8_t to uint64_t, char, short, int, long, uint, ulong, bool, float, double, pointer, string and bytes, the last two also with a length: bytes[8]";

/* Returns the length without the suffix of C's type names, `_t`. */
static size_t spec_argument_plain_length(const char *text, size_t length)
{
	bool known = length > 2 && !memcmp(text + length - 2, "_t", 2) &&
			(!strncmp(text, "int", 3) || !strncmp(text, "uint", 4) ||
					!strncmp(text, "size", 4));

	return known ? length - 2 : length;
}

/* Parses a type, also with a length, such as "bytes[8]". */
static bool spec_argument_parse_type(const char *text, size_t length, struct value *value)
{
	const char *bracket = memchr(text, '[', length);
	size_t name = bracket ? (size_t)(bracket - text) : spec_argument_plain_length(text, length);
	uint64_t limit = 0;

	if (bracket &&
			(text[length - 1] != ']' ||
					!spec_number(bracket + 1, length - name - 2, &limit) ||
					!limit || limit > PROBE_TABLE_TEXT_MAX))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		bool sized = types[i].type == PROBE_FIELD_STRING ||
				types[i].type == PROBE_FIELD_BYTES;

		if (strlen(types[i].name) != name || memcmp(types[i].name, text, name) != 0 ||
				(bracket && !sized))
			continue;
		value->type = types[i].type;
		value->size = types[i].size;
		value->limit = (uint16_t)limit;
		if (sized && !limit)
			value->limit = value->type == PROBE_FIELD_STRING ? STRING_DEFAULT
									 : BYTES_DEFAULT;
		return true;
	}
	return false;
}

/* ---- addresses ---- */

struct spec_argument_parser {
	const char *at, *text;
	struct resolve_module *module;
	struct fetch fetch;
	unsigned int depth;
	bool is_register_only; /* a register and nothing else */
	bool is_vector;        /* a vector register, which cannot be an address */
	struct error *error;
};

static int spec_argument_set_error(struct spec_argument_parser *parser, const char *what)
{
	static const char hint[] =
			"an ADDR is a register (%rdi), number or symbol, with offsets (%rdi+0x10); `*` before one, or before parentheses, reads the pointer there";

	if (parser->at == parser->text)
		return error_set(parser->error, -EINVAL, hint, "%s in the ADDR `%.64s`", what,
				parser->text);
	if (!*parser->at)
		return error_set(parser->error, -EINVAL, hint, "%s at the end of `%.64s`", what,
				parser->text);
	return error_set(parser->error, -EINVAL, hint, "%s at `%.64s` in `%.64s`", what, parser->at,
			parser->text);
}

static int spec_argument_read_sum(struct spec_argument_parser *parser);

static int spec_argument_read_register(struct spec_argument_parser *parser)
{
	size_t length = 1 + strspn(parser->at + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
	struct fetch_register reg;

	if (!fetch_register_named(parser->at, length, &reg))
		return spec_argument_set_error(parser, "there is no such register");
	(void)fetch_register(&parser->fetch, &reg);
	parser->is_vector = reg.number >= FETCH_XMM0 && reg.number < FETCH_XMM0 + 16;
	parser->is_register_only = true;
	parser->at += length;
	return 0;
}

/*
 * Returns the symbol in LIBRARY:SYMBOL, or the whole text. NULL: LIBRARY is not the probe's file,
 * and only its symbols have known addresses.
 */
static const char *spec_argument_after_library(
		const struct spec_argument_parser *parser, char *name)
{
	char *colon = strchr(name, ':');

	if (!colon || colon[1] == ':' || colon == name)
		return name;
	*colon = '\0';
	if (parser->module && module_is(parser->module, name))
		return colon + 1;
	*colon = ':';
	return NULL;
}

static int spec_argument_read_symbol(struct spec_argument_parser *parser)
{
	size_t length = strcspn(parser->at, "+-*() ");
	const char *symbol;
	uint64_t address;
	char name[512];

	if (!length || length >= sizeof(name))
		return spec_argument_set_error(parser, "a register, a number or a name is missing");
	memcpy(name, parser->at, length);
	name[length] = '\0';
	symbol = spec_argument_after_library(parser, name);
	if (!symbol)
		return error_set(parser->error, -ENOTSUP,
				"probe a function of that library, or a pointer that leads there",
				"`%.128s` is not in %s, where the probe is: it can read symbols of its own file only",
				name, parser->module ? parser->module->name : "the program");
	if (parser->module && module_thread_symbol(parser->module, symbol, &address)) {
		parser->at += length;
		return thread_variable(parser->module, address, &parser->fetch)
				? error_set(parser->error, -ENOTSUP,
						  "probe a location where it is in a register",
						  "`%.128s` is thread-local, and %s does not contain its location",
						  symbol, parser->module->name)
				: 0;
	}
	if (!parser->module || !module_symbol(parser->module, symbol, &address))
		return error_set(parser->error, -ENOENT, "registers are written with a %: %rdi",
				"%s has no symbol `%.128s`",
				parser->module ? parser->module->name : "the program", symbol);
	(void)fetch_op(&parser->fetch, PROBE_FETCH_MODULE, 0, 0, (int64_t)address);
	parser->at += length;
	return 0;
}

static int spec_argument_read_number(struct spec_argument_parser *parser, uint64_t *ret_number)
{
	size_t length = strspn(parser->at, "0123456789abcdefABCDEFxX");

	if (!spec_number(parser->at, length, ret_number))
		return spec_argument_set_error(parser,
				*parser->at == '0' && length > 1 && parser->at[1] != 'x'
						? "there is no number (one that begins with 0 is octal)"
						: length ? "there is no number that fits 64 bits"
							 : "there is no number");
	parser->at += length;
	return 0;
}

static int spec_argument_read_term(struct spec_argument_parser *parser)
{
	uint64_t number;

	if (parser->depth++ > DEPTH_MAX)
		return spec_argument_set_error(parser, "there are too many levels");
	parser->is_register_only = false;
	if (*parser->at == '*') {
		parser->at++;
		if (spec_argument_read_term(parser))
			return -EINVAL;
		if (parser->is_vector)
			return spec_argument_set_error(
					parser, "a vector register is not an address");
		parser->is_register_only = false;
		(void)fetch_op(&parser->fetch, PROBE_FETCH_LOAD, 0, 8, 0);
	} else if (*parser->at == '(') {
		parser->at++;
		if (spec_argument_read_sum(parser))
			return -EINVAL;
		if (*parser->at != ')')
			return spec_argument_set_error(parser, "a parenthesis is missing");
		parser->at++;
		parser->is_register_only = false;
	} else if (*parser->at == '%') {
		return spec_argument_read_register(parser);
	} else if (*parser->at >= '0' && *parser->at <= '9') {
		if (spec_argument_read_number(parser, &number))
			return -EINVAL;
		(void)fetch_op(&parser->fetch, PROBE_FETCH_CONSTANT, 0, 0, (int64_t)number);
	} else {
		return spec_argument_read_symbol(parser);
	}
	return 0;
}

static int spec_argument_read_sum(struct spec_argument_parser *parser)
{
	if (spec_argument_read_term(parser))
		return -EINVAL;
	while (*parser->at == '+' || *parser->at == '-') {
		bool minus = *parser->at++ == '-';
		uint64_t number;

		if (parser->is_vector)
			return spec_argument_set_error(
					parser, "a vector register is not an address");
		if (spec_argument_read_number(parser, &number))
			return -EINVAL;
		(void)fetch_add(&parser->fetch, (int64_t)(minus ? 0 - number : number));
		parser->is_register_only = false;
	}
	return 0;
}

static int spec_argument_read_address(const char *text, struct resolve_module *module,
		struct value *value, struct error *error)
{
	bool memory = value->type == PROBE_FIELD_STRING || value->type == PROBE_FIELD_BYTES;
	struct spec_argument_parser parser = {
			.at = text, .text = text, .module = module, .error = error};

	if (spec_argument_read_sum(&parser))
		return -EINVAL;
	if (*parser.at)
		return spec_argument_set_error(&parser, "there is text after the ADDR");
	if (parser.is_vector && memory)
		return spec_argument_set_error(&parser, "a vector register is not an address");
	/*
	 * Except for a register alone, the fetch so far computes an address: load the value from
	 * it. For text and bytes the agent needs the address itself.
	 */
	if (!parser.is_register_only && !memory)
		(void)fetch_op(&parser.fetch, PROBE_FETCH_LOAD, 0, value->size, 0);
	/* An address from the user may be invalid. */
	value->guarded = !parser.is_register_only || memory;
	value->fetch = parser.fetch;
	return 0;
}

bool spec_is_value(const char *text)
{
	const char *first = strchr(text, ':');
	struct value value;

	return first && first[1] != ':' && strchr(first + 1, ':') &&
			spec_argument_parse_type(text, (size_t)(first - text), &value);
}

/*
 * True if the text has the form TYPE:NAME:…, even with an unknown TYPE, so that the error names the
 * type. Names of variables never have this form.
 */
bool spec_seems_value(const char *text)
{
	size_t word = strspn(text,
			       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_[]"),
	       name = strcspn(text + word + (text[word] == ':'), ":");

	if (!word || text[word] != ':')
		return false;
	text += word + 1 + name;
	return *text == ':' && text[1] != ':' && (name || text[1] == '%');
}

int spec_value(const char *text, struct resolve_module *module, struct value *ret_value,
		struct error *error)
{
	const char *first = strchr(text, ':'), *second = first ? strchr(first + 1, ':') : NULL;
	char name[FETCH_NAME_MAX];

	*ret_value = (struct value){.type = 0};
	if (!second)
		return error_set(error, -EINVAL, "write TYPE:NAME:ADDR, as in `s32:n:%edi`",
				"`%.128s` does not have the form TYPE:NAME:ADDR", text);
	if (!spec_argument_parse_type(text, (size_t)(first - text), ret_value))
		return error_set(error, -EINVAL, argument_hint, "there is no type `%.*s`",
				(int)(first - text > 64 ? 64 : first - text), text);
	if (second == first + 1 || (size_t)(second - first) > sizeof(name))
		return error_set(error, -EINVAL, "write TYPE:NAME:ADDR, as in `s32:n:%edi`",
				"`%.128s` has no valid name for a field", text);
	memcpy(name, first + 1, (size_t)(second - first - 1));
	name[second - first - 1] = '\0';
	fetch_name(ret_value->name, name);
	return spec_argument_read_address(second + 1, module, ret_value, error);
}

/* ---- contexts ---- */

const char *spec_at_exit(const char *context)
{
	size_t length = sizeof(RESOLVE_AT_EXIT) - 1;

	return strncmp(context, RESOLVE_AT_EXIT, length) ? NULL : context + length;
}

bool resolve_is_context(const char *text)
{
	if (spec_at_exit(text))
		text = spec_at_exit(text);
	return !strcmp(text, "regs") || !strncmp(text, "reg:", 4) || !strcmp(text, "backtrace") ||
			spec_is_value(text);
}

static void spec_argument_hex_register(
		struct value *value, const char *name, const struct fetch_register *reg)
{
	*value = (struct value){.type = PROBE_FIELD_HEX, .size = 8};
	snprintf(value->name, sizeof(value->name), "%s", name);
	(void)fetch_register(&value->fetch, reg);
}

static size_t spec_argument_all_registers(struct value *values)
{
	size_t count = 0;

	for (unsigned int number = 0; number <= 49; number++) {
		const char *name = fetch_register_name(number);
		const struct fetch_register reg = {.number = (uint8_t)number, .bits = 64};

		if (name)
			spec_argument_hex_register(&values[count++], name, &reg);
	}
	return count;
}

int spec_context(const char *text, struct resolve_module *module, struct value *ret_values,
		size_t *ret_count, struct error *error)
{
	struct fetch_register reg;

	*ret_count = 1;
	if (!strcmp(text, "regs")) {
		*ret_count = spec_argument_all_registers(ret_values);
		return 0;
	}
	if (!strcmp(text, "backtrace")) {
		*ret_values = (struct value){.name = "backtrace",
				.type = PROBE_FIELD_BACKTRACE,
				.size = 8,
				.limit = BACKTRACE_DEFAULT};
		return fetch_op(&ret_values->fetch, PROBE_FETCH_BACKTRACE, 0, 0, 0);
	}
	if (strncmp(text, "reg:", 4) != 0)
		return spec_value(text, module, ret_values, error);
	if (!fetch_register_named(text + 4, strlen(text + 4), &reg))
		return error_set(error, -EINVAL,
				"they are rax to rdx, rsi, rdi, rbp, rsp, r8 to r15, rip, rflags, and xmm0 to xmm15",
				"there is no register `%.64s`", text + 4);
	spec_argument_hex_register(ret_values, text + 4 + (text[4] == '%'), &reg);
	return 0;
}
