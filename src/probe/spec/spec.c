/* SPDX-License-Identifier: MIT */
/*
 * Parse the text of a location: ADDR, SYMBOL, SYMBOL+OFFSET or FILE:LINE, with LIB: before it if it
 * is not in the program itself.
 *
 * Names of C++ and Rust also contain colons, but always two together. Types in them can contain
 * operators and glob characters, so nothing after a parenthesis is parsed.
 */
#include "spec.h"

#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int spec_parse_digit(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	if (letter >= 'a' && letter <= 'f')
		return letter - 'a' + 10;
	if (letter >= 'A' && letter <= 'F')
		return letter - 'A' + 10;
	return 16;
}

bool spec_number(const char *text, size_t length, uint64_t *ret_number)
{
	int base = 10;

	*ret_number = 0;
	if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
		length -= 2;
	} else if (length > 1 && text[0] == '0') {
		base = 8;
	}
	for (size_t i = 0; i < length; i++) {
		int value = spec_parse_digit(text[i]);

		if (value >= base ||
				__builtin_mul_overflow(*ret_number, (uint64_t)base, ret_number) ||
				__builtin_add_overflow(*ret_number, (uint64_t)value, ret_number))
			return false;
	}
	return length > 0;
}

/* Returns the length of the name before any types. */
static size_t spec_plain_length(const char *text)
{
	return strcspn(text, "(<");
}

/* Returns the first single colon, or NULL. */
static const char *spec_find_colon(const char *text)
{
	size_t length = spec_plain_length(text);

	for (size_t i = 0; i < length; i++) {
		if (text[i] != ':')
			continue;
		if (text[i + 1] != ':')
			return text + i;
		i++;
	}
	return NULL;
}

static bool spec_is_glob(const char *name)
{
	size_t length = spec_plain_length(name);
	const char *word = strstr(name, "operator");

	if (word && (size_t)(word - name) < length)
		length = (size_t)(word - name);
	return strcspn(name, "*?[") < length;
}

static bool spec_is_source(const char *name, size_t length)
{
	static const char *const ends[] = {".c", ".cc", ".cpp", ".cxx", ".C", ".c++", ".h", ".hh",
			".hpp", ".hxx", ".inc", ".rs", ".go", ".d", ".f", ".f90", ".s", ".S", ".m",
			".zig", ".y", ".l", ".tcc", ".ipp"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t size = strlen(ends[i]);

		if (length > size && !strncmp(name + length - size, ends[i], size))
			return true;
	}
	return false;
}

static int spec_store_text(char **ret_text, const char *text, size_t length, struct error *error)
{
	*ret_text = strndup(text, length);
	return *ret_text ? 0 : error_set_no_memory(error);
}

static int spec_parse_line(const char *text, const char *colon, struct parsed_spec *ret_spec,
		struct error *error)
{
	const char *number = colon + 1;

	ret_spec->kind = SPEC_LINE;
	if (!spec_number(number, strlen(number), &ret_spec->number) || !ret_spec->number ||
			ret_spec->number > INT32_MAX)
		return error_set(error, -EINVAL,
				"write FILE:LINE, as in `server.c:120`, or a function by its name alone, which means all that have it",
				"`%.128s` is not the number of a line", number);
	return spec_store_text(&ret_spec->name, text, (size_t)(colon - text), error);
}

static int spec_parse_symbol(const char *text, struct parsed_spec *ret_spec, struct error *error)
{
	const char *plus = strrchr(text, '+');
	size_t length = strlen(text);

	ret_spec->kind = SPEC_SYMBOL;
	if (plus && plus > text && plus[1] >= '0' && plus[1] <= '9') {
		if (!spec_number(plus + 1, strlen(plus + 1), &ret_spec->number))
			return error_set(error, -EINVAL,
					"offsets are octal (017), decimal or hexadecimal (0xf)",
					"`%.128s` is no offset", plus + 1);
		length = (size_t)(plus - text);
	}
	if (spec_store_text(&ret_spec->name, text, length, error))
		return -ENOMEM;
	ret_spec->glob = spec_is_glob(ret_spec->name);
	if (ret_spec->glob && ret_spec->number)
		return error_set(error, -EINVAL, "name one function",
				"`%.128s` may be many functions, and an offset is for one", text);
	return 0;
}

/* Parse what follows LIB:, or the whole text. */
static int spec_parse_location(const char *text, struct parsed_spec *ret_spec, struct error *error)
{
	const char *colon = spec_find_colon(text);

	if (colon && spec_is_source(text, (size_t)(colon - text)))
		return spec_parse_line(text, colon, ret_spec, error);
	if (*text >= '0' && *text <= '9') {
		ret_spec->kind = SPEC_ADDRESS;
		if (spec_number(text, strlen(text), &ret_spec->number))
			return 0;
		return error_set(error, -EINVAL,
				"numbers are octal (017), decimal or hexadecimal (0xf)",
				"`%.128s` is no address", text);
	}
	if (colon || !*text)
		return error_set(error, -EINVAL,
				"write ADDRESS, SYMBOL, SYMBOL+OFFSET, FILE:LINE, or LIBRARY: before one of them",
				"`%.128s` is no location of a program", text);
	return spec_parse_symbol(text, ret_spec, error);
}

int spec_parse(const char *text, struct parsed_spec *ret_spec, struct error *error)
{
	const char *colon;

	*ret_spec = (struct parsed_spec){.kind = SPEC_SYMBOL};
	if (strlen(text) > SPEC_TEXT_MAX)
		return error_set(error, -EINVAL, "",
				"the specification of the location is too long");
	colon = spec_find_colon(text);
	if (!colon || spec_is_source(text, (size_t)(colon - text)))
		return spec_parse_location(text, ret_spec, error);
	if (colon == text)
		return error_set(error, -EINVAL, "write LIBRARY:SYMBOL",
				"there is no name of a library before `%.128s`", text);
	if (spec_store_text(&ret_spec->library, text, (size_t)(colon - text), error))
		return -ENOMEM;
	return spec_parse_location(colon + 1, ret_spec, error);
}

void spec_free(struct parsed_spec *spec)
{
	free(spec->library);
	free(spec->name);
	*spec = (struct parsed_spec){.kind = SPEC_SYMBOL};
}
