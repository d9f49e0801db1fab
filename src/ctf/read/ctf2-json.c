/* SPDX-License-Identifier: MIT */
/* Parses JSON text into a tree: RFC 8259, strictly, with limits. */
#include <string.h>

#include "ctf/read/ctf2-json.h"

/* A field class takes four levels; field classes may be nested 512 deep. */
#define JSON_DEPTH_MAX 2200

struct ctf2_json_parser {
	struct ctf_arena *arena;
	const char *at;
	const char *end;
	size_t memory_max;
	unsigned int depth;
	struct json_error *error;
};

static struct ctf2_json *parse_value(struct ctf2_json_parser *p);

static void *json_fail(struct ctf2_json_parser *p, const char *why)
{
	if (!p->error->at) {
		p->error->why = why;
		p->error->at = p->at;
	}
	return NULL;
}

static void *json_alloc(struct ctf2_json_parser *p, size_t size)
{
	void *memory;

	if (ctf_arena_used(p->arena) > p->memory_max)
		return json_fail(p, "it takes too much memory");
	memory = ctf_arena_alloc(p->arena, 1, size);
	return memory ? memory : json_fail(p, NULL);
}

static void skip_space(struct ctf2_json_parser *p)
{
	while (p->at < p->end &&
			(*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
		p->at++;
}

/* The next character that is not white space, 0 at the end. */
static char ctf2_json_peek(struct ctf2_json_parser *p)
{
	skip_space(p);
	return p->at < p->end ? *p->at : '\0';
}

/* ---- strings ---- */

static bool parse_hex(struct ctf2_json_parser *p, unsigned int *ret_code)
{
	*ret_code = 0;
	if (p->end - p->at < 4)
		return false;
	for (unsigned int i = 0; i < 4; i++) {
		char c = *p->at++;

		if (c >= '0' && c <= '9')
			*ret_code = *ret_code << 4 | (unsigned int)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			*ret_code = *ret_code << 4 | (unsigned int)((c | 0x20) - 'a' + 10);
		else
			return false;
	}
	return true;
}

static char *ctf2_json_write_utf8(char *to, unsigned int code)
{
	if (!code || (code >= 0xd800 && code < 0xe000))
		code = 0xfffd;
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

/* Parse behind a backslash and 'u': one code point, from two escapes if it is a surrogate pair. */
static bool parse_escaped_code(struct ctf2_json_parser *p, unsigned int *ret_code)
{
	const char *second;
	unsigned int low;

	if (!parse_hex(p, ret_code))
		return false;
	if (*ret_code < 0xd800 || *ret_code >= 0xdc00 || p->end - p->at < 6 || p->at[0] != '\\' ||
			p->at[1] != 'u')
		return true;
	second = p->at;
	p->at += 2;
	if (!parse_hex(p, &low))
		return false;
	if (low >= 0xdc00 && low < 0xe000)
		*ret_code = 0x10000 + ((*ret_code - 0xd800) << 10) + (low - 0xdc00);
	else
		p->at = second; /* A lone surrogate, followed by another escape. */
	return true;
}

static bool parse_escape(struct ctf2_json_parser *p, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	unsigned int code;
	const char *found;
	char c;

	if (p->at == p->end)
		return false;
	c = *p->at++;
	if (c == 'u') {
		if (!parse_escaped_code(p, &code))
			return false;
		*to = ctf2_json_write_utf8(*to, code);
		return true;
	}
	found = c ? strchr(from, c) : NULL;
	if (!found)
		return false;
	*(*to)++ = into[found - from];
	return true;
}

/* Parse a string at its quote. The text is never longer than its source: U+FFFD takes 3 bytes,
   \u0000 six. */
static const char *ctf2_json_parse_string(struct ctf2_json_parser *p)
{
	const char *begin = ++p->at, *scan = begin;
	char *text, *to;

	while (scan < p->end && *scan != '"')
		scan += *scan == '\\' && p->end - scan > 1 ? 2 : 1;
	if (scan >= p->end)
		return json_fail(p, "a string has no end");
	text = to = json_alloc(p, (size_t)(scan - begin) + 1);
	while (text && p->at < p->end && *p->at != '"') {
		if ((unsigned char)*p->at < 0x20)
			return json_fail(p, "control character in a string");
		if (*p->at != '\\') {
			*to++ = *p->at++;
			continue;
		}
		p->at++;
		if (!parse_escape(p, &to))
			return json_fail(p, "an escape sequence is wrong");
	}
	p->at++;
	return text;
}

/* ---- numbers ---- */

static bool ctf2_json_is_digit(const struct ctf2_json_parser *p)
{
	return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static bool skip_digits(struct ctf2_json_parser *p)
{
	bool some = ctf2_json_is_digit(p);

	while (ctf2_json_is_digit(p))
		p->at++;
	return some;
}

static bool ctf2_json_parse_number(struct ctf2_json_parser *p, struct ctf2_json *value)
{
	bool fits = true;

	value->kind = JSON_INTEGER;
	value->negative = *p->at == '-';
	p->at += value->negative;
	if (!ctf2_json_is_digit(p) ||
			(*p->at == '0' && p->end - p->at > 1 && p->at[1] >= '0' && p->at[1] <= '9'))
		return false;
	for (; ctf2_json_is_digit(p); p->at++)
		fits = fits && !__builtin_mul_overflow(value->number, 10, &value->number) &&
				!__builtin_add_overflow(
						value->number, *p->at - '0', &value->number);
	if (value->negative) {
		fits = fits && value->number <= UINT64_C(1) << 63;
		value->negative = value->number;
		value->number = 0 - value->number;
	}
	if (!fits)
		value->kind = JSON_NUMBER;
	if (p->at < p->end && *p->at == '.') {
		value->kind = JSON_NUMBER;
		p->at++;
		if (!skip_digits(p))
			return false;
	}
	if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
		value->kind = JSON_NUMBER;
		p->at++;
		if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
			p->at++;
		if (!skip_digits(p))
			return false;
	}
	return true;
}

/* ---- values ---- */

static bool parse_word(struct ctf2_json_parser *p, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0)
		return false;
	p->at += size;
	return true;
}

static bool parse_inner(struct ctf2_json_parser *p, struct ctf2_json *value, char close)
{
	struct ctf2_json **link = &value->first;

	p->at++;
	if (ctf2_json_peek(p) == close) {
		p->at++;
		return true;
	}
	for (;;) {
		const char *key = NULL;

		if (close == '}') {
			if (ctf2_json_peek(p) != '"')
				return json_fail(p, "a name is missing");
			key = ctf2_json_parse_string(p);
			if (!key)
				return false;
			if (ctf2_json_peek(p) != ':')
				return json_fail(p, "\":\" is missing");
			p->at++;
		}
		*link = parse_value(p);
		if (!*link)
			return false;
		(*link)->key = key;
		link = &(*link)->next;
		value->count++;
		if (ctf2_json_peek(p) == close)
			break;
		if (ctf2_json_peek(p) != ',')
			return json_fail(p, "\",\" is missing");
		p->at++;
	}
	p->at++;
	return true;
}

static struct ctf2_json *parse_value(struct ctf2_json_parser *p)
{
	struct ctf2_json *value = json_alloc(p, sizeof(*value));
	bool good;

	if (!value)
		return NULL;
	if (++p->depth > JSON_DEPTH_MAX)
		return json_fail(p, "it is nested too deep");
	ctf2_json_peek(p);
	value->begin = p->at;
	switch (ctf2_json_peek(p)) {
	case '{':
		value->kind = JSON_OBJECT;
		good = parse_inner(p, value, '}');
		break;
	case '[':
		value->kind = JSON_ARRAY;
		good = parse_inner(p, value, ']');
		break;
	case '"':
		value->kind = JSON_STRING;
		value->text = ctf2_json_parse_string(p);
		good = value->text;
		break;
	case 't':
		value->kind = JSON_TRUE;
		good = parse_word(p, "true");
		break;
	case 'f':
		value->kind = JSON_FALSE;
		good = parse_word(p, "false");
		break;
	case 'n': good = parse_word(p, "null"); break;
	default: good = p->at < p->end && ctf2_json_parse_number(p, value); break;
	}
	p->depth--;
	value->end = p->at;
	return good ? value : json_fail(p, "a value is missing");
}

struct ctf2_json *json_parse(struct ctf_arena *arena, const char *text, size_t size,
		size_t memory_max, struct json_error *error)
{
	struct ctf2_json_parser parser = {
			.arena = arena,
			.at = text,
			.end = text + size,
			.memory_max = memory_max,
			.error = error,
	};
	struct ctf2_json *value;

	*error = (struct json_error){0};
	value = parse_value(&parser);
	if (value && (ctf2_json_peek(&parser) || parser.at < parser.end))
		return json_fail(&parser, "unexpected data after it");
	return value;
}

const struct ctf2_json *json_member(const struct ctf2_json *object, const char *key)
{
	const struct ctf2_json *found = NULL;

	if (!object || object->kind != JSON_OBJECT)
		return NULL;
	for (const struct ctf2_json *member = object->first; member; member = member->next) {
		if (strcmp(member->key, key) == 0)
			found = member;
	}
	return found;
}
