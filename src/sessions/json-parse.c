/* SPDX-License-Identifier: MIT */
/*
 * Parses JSON strictly (RFC 8259) into objects of json-c.
 *
 * json-c's own parser does not check each allocation: without memory it ends the process, or
 * returns a truncated text. Here a failed allocation fails the call. Strings may have any bytes
 * from 0x20 on: json_read() has checked and restored them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/json.h"

struct json_parser {
	const char *at, *end;
	const char *why; /* NULL: no error yet */
	bool no_memory;
	unsigned int depth, depth_max;
};

static struct json_object *parser_value(struct json_parser *parser, bool *ret_is_good);

static bool parser_fail(struct json_parser *parser, const char *why)
{
	if (!parser->why)
		parser->why = why;
	return false;
}

static bool parser_no_memory(struct json_parser *parser)
{
	parser->no_memory = true;
	return parser_fail(parser, "out of memory");
}

static void parser_skip_space(struct json_parser *parser)
{
	while (parser->at < parser->end &&
			(*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n' ||
					*parser->at == '\r'))
		parser->at++;
}

static bool parser_take(struct json_parser *parser, char wanted)
{
	if (parser->at == parser->end || *parser->at != wanted)
		return false;
	parser->at++;
	return true;
}

/* Sets the error for a character that the grammar does not permit. */
static bool parser_unexpected(struct json_parser *parser, const char *why)
{
	return parser_fail(parser, parser->at == parser->end ? "the text ends too early" : why);
}

/* ---- strings ---- */

static int parser_hex(struct json_parser *parser)
{
	int number = 0;

	if (parser->end - parser->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char digit = *parser->at++;

		if (digit >= '0' && digit <= '9')
			number = number << 4 | (digit - '0');
		else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')
			number = number << 4 | ((digit | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return number;
}

static size_t put_character(char *to, uint32_t character)
{
	size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

	if (size == 1) {
		*to = (char)character;
		return 1;
	}
	for (size_t i = size; i-- > 1; character >>= 6)
		to[i] = (char)(0x80 | (character & 0x3f));
	*to = (char)(0xf00u >> size | character);
	return size;
}

/*
 * Decodes a character after \u, from two escapes if they are a pair; a lone surrogate becomes
 * U+FFFD.
 */
static bool parser_unicode(struct json_parser *parser, char *to, size_t *size)
{
	int first = parser_hex(parser), second;
	uint32_t character = (uint32_t)first;

	if (first < 0)
		return parser_unexpected(parser, "an escape of no four hexadecimal digits");
	if (first >> 10 == 0xd800 >> 10 && parser->end - parser->at >= 6 && parser->at[0] == '\\' &&
			parser->at[1] == 'u') {
		const char *before = parser->at;

		parser->at += 2;
		second = parser_hex(parser);
		if (second >> 10 == 0xdc00 >> 10)
			character = 0x10000u +
					((uint32_t)(first & 0x3ff) << 10 |
							(uint32_t)(second & 0x3ff));
		else
			parser->at = before;
	}
	if (character >> 11 == 0xd800 >> 11)
		character = 0xfffd;
	*size += put_character(to + *size, character);
	return true;
}

static bool parser_escape(struct json_parser *parser, char *to, size_t *size)
{
	static const char names[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char name;

	if (parser->at == parser->end)
		return parser_unexpected(parser, "");
	name = *parser->at++;
	if (name == 'u')
		return parser_unicode(parser, to, size);
	found = name ? strchr(names, name) : NULL;
	if (!found)
		return parser_fail(parser, "an unknown escape");
	to[(*size)++] = characters[found - names];
	return true;
}

/*
 * Parses a string after its opening quotation mark. The result is not longer than its source and
 * ends with a NUL; the caller frees it.
 */
static char *parser_text(struct json_parser *parser, size_t *ret_size)
{
	size_t most = 0, size = 0;
	bool good = true;
	char *text;

	while (parser->at + most < parser->end && parser->at[most] != '"')
		most += parser->at[most] == '\\' && parser->at + most + 1 < parser->end ? 2 : 1;
	text = malloc(most + 1);
	if (!text)
		parser_no_memory(parser);
	while (text && good && !parser_take(parser, '"')) {
		if (parser->at == parser->end || (unsigned char)*parser->at < ' ')
			good = parser_unexpected(parser, "a control character in a string");
		else if (parser_take(parser, '\\'))
			good = parser_escape(parser, text, &size);
		else
			text[size++] = *parser->at++;
	}
	if (!good) {
		free(text);
		return NULL;
	}
	if (text)
		text[size] = '\0';
	*ret_size = size;
	return text;
}

static struct json_object *parser_string(struct json_parser *parser)
{
	struct json_object *object = NULL;
	size_t size;
	char *text = parser_text(parser, &size);

	if (text) {
		object = json_object_new_string_len(text, (int)size);
		if (!object)
			parser_no_memory(parser);
	}
	free(text);
	return object;
}

/* ---- numbers and literals ---- */

static bool parser_digits(struct json_parser *parser)
{
	const char *begin = parser->at;

	while (parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9')
		parser->at++;
	return parser->at > begin || parser_unexpected(parser, "a number without digits");
}

/* Returns false if the number is not a 64-bit integer. */
static bool json_parse_get_integer(const char *digits, bool is_negative, uint64_t *ret_number)
{
	*ret_number = 0;
	for (; *digits >= '0' && *digits <= '9'; digits++)
		if (__builtin_mul_overflow(*ret_number, 10u, ret_number) ||
				__builtin_add_overflow(*ret_number, (unsigned int)(*digits - '0'),
						ret_number))
			return false;
	return !*digits && (!is_negative || *ret_number <= (uint64_t)1 << 63);
}

static struct json_object *number_object(const char *text)
{
	bool is_negative = *text == '-';
	uint64_t number;

	if (!json_parse_get_integer(text + is_negative, is_negative, &number))
		return json_object_new_double_s(strtod(text, NULL), text);
	if (is_negative)
		return json_object_new_int64((int64_t)(0 - number));
	return number > INT64_MAX ? json_object_new_uint64(number)
				  : json_object_new_int64((int64_t)number);
}

static struct json_object *parser_number(struct json_parser *parser)
{
	const char *begin = parser->at;
	struct json_object *object;
	char *text;
	bool good;

	(void)parser_take(parser, '-');
	/* No digit may follow a leading zero. */
	good = parser_take(parser, '0') || parser_digits(parser);
	if (good && parser_take(parser, '.'))
		good = parser_digits(parser);
	if (good && (parser_take(parser, 'e') || parser_take(parser, 'E'))) {
		(void)(parser_take(parser, '+') || parser_take(parser, '-'));
		good = parser_digits(parser);
	}
	if (!good)
		return NULL;
	text = strndup(begin, (size_t)(parser->at - begin));
	object = text ? number_object(text) : NULL;
	free(text);
	if (!object)
		parser_no_memory(parser);
	return object;
}

static bool parser_word(struct json_parser *parser, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(parser->end - parser->at) < size || memcmp(parser->at, word, size) != 0)
		return false;
	parser->at += size;
	return true;
}

/* ---- arrays and objects ---- */

static bool parser_member(struct json_parser *parser, struct json_object *object)
{
	struct json_object *value;
	size_t size;
	bool good;
	char *name;

	parser_skip_space(parser);
	if (!parser_take(parser, '"'))
		return parser_unexpected(parser, "the name of a member must be a string");
	name = parser_text(parser, &size);
	if (!name)
		return false;
	/* json-c terminates names with a NUL, so they cannot contain one. */
	good = strlen(name) == size || parser_fail(parser, "a NUL in the name of a member");
	parser_skip_space(parser);
	good = good &&
			(parser_take(parser, ':') ||
					parser_unexpected(parser, "a member without a colon"));
	value = good ? parser_value(parser, &good) : NULL;
	if (good && json_object_object_add(object, name, value))
		good = parser_no_memory(parser);
	if (!good)
		json_object_put(value);
	free(name);
	return good;
}

static bool parser_element(struct json_parser *parser, struct json_object *array)
{
	bool good;
	struct json_object *value = parser_value(parser, &good);

	if (good && json_object_array_add(array, value))
		good = parser_no_memory(parser);
	if (!good)
		json_object_put(value);
	return good;
}

static struct json_object *parser_container(struct json_parser *parser, bool is_object)
{
	struct json_object *object = is_object ? json_object_new_object() : json_object_new_array();
	const char end = is_object ? '}' : ']';
	bool good = object || parser_no_memory(parser), ended;

	parser->depth++;
	parser_skip_space(parser);
	ended = good && parser_take(parser, end);
	while (good && !ended) {
		good = is_object ? parser_member(parser, object) : parser_element(parser, object);
		parser_skip_space(parser);
		ended = good && parser_take(parser, end);
		if (good && !ended && !parser_take(parser, ','))
			good = parser_unexpected(parser, "a comma or the end was expected");
	}
	parser->depth--;
	if (good)
		return object;
	json_object_put(object);
	return NULL;
}

/* Returns NULL for the JSON null, too, so *ret_is_good reports success. */
static struct json_object *parser_value(struct json_parser *parser, bool *ret_is_good)
{
	struct json_object *object = NULL;
	bool is_null = false;

	parser_skip_space(parser);
	if (parser->depth >= parser->depth_max)
		parser_fail(parser, "nesting too deep");
	else if (parser_take(parser, '{'))
		object = parser_container(parser, true);
	else if (parser_take(parser, '['))
		object = parser_container(parser, false);
	else if (parser_take(parser, '"'))
		object = parser_string(parser);
	else if (parser->at < parser->end &&
			(*parser->at == '-' || (*parser->at >= '0' && *parser->at <= '9')))
		object = parser_number(parser);
	else if (parser_word(parser, "null"))
		is_null = true;
	else if (parser_word(parser, "true") || parser_word(parser, "false")) {
		object = json_object_new_boolean(parser->at[-2] == 'u');
		if (!object)
			parser_no_memory(parser);
	} else
		parser_unexpected(parser, "unexpected character");
	*ret_is_good = object || is_null;
	return object;
}

struct json_object *json_parse_text(const char *text, size_t size, struct error *error)
{
	return json_parse_deep(text, size, JSON_DEPTH_MAX, NULL, error);
}

struct json_object *json_parse_deep(const char *text, size_t size, unsigned int depth,
		size_t *ret_size, struct error *error)
{
	struct json_parser parser = {.at = text, .end = text + size, .depth_max = depth};
	struct json_object *object;
	bool good;

	object = parser_value(&parser, &good);
	if (parser.no_memory) {
		error_set_no_memory(error);
	} else if (!good) {
		error_set_kind(error, ERROR_USAGE, -EINVAL, NULL, "this is not JSON: byte %zu: %s",
				(size_t)(parser.at - text) + 1, parser.why);
	} else if (!json_object_is_type(object, json_type_object) ||
			(!ret_size && parser.at != parser.end)) {
		error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"this is not a single JSON object");
	} else {
		if (ret_size)
			*ret_size = (size_t)(parser.at - text);
		return object;
	}
	json_object_put(object);
	return NULL;
}
