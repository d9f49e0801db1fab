/* SPDX-License-Identifier: MIT */
/* Splits an expression into tokens: numbers, strings, names, contexts, operators. */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/lex.h"
#include "filter/suggest.h"

int filter_fail_list(
		struct filter_error *error, unsigned int column, const char *format, va_list list)
{
	if (error) {
		error->column = column;
		error->hint[0] = '\0';
		vsnprintf(error->text, sizeof(error->text), format, list);
	}
	return -EINVAL;
}

int filter_hint_set(struct filter_error *error, const char *hint)
{
	if (error)
		snprintf(error->hint, sizeof(error->hint), "%s", hint);
	return -EINVAL;
}

int filter_fail(struct filter_error *error, unsigned int column, const char *format, ...)
{
	va_list list;
	int ret;

	va_start(list, format);
	ret = filter_fail_list(error, column, format, list);
	va_end(list);
	return ret;
}

static bool filter_lex_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool filter_lex_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static bool filter_lex_is_name_char(char c)
{
	return filter_lex_is_letter(c) || filter_lex_is_digit(c);
}

static int digit_value(char c)
{
	if (filter_lex_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Copy a part of the text for an error, with `?` for control characters. */
static const char *filter_lex_format_token(const char *at, size_t length, char *buffer, size_t size)
{
	size_t capacity = size - 1;
	char *to = buffer;

	for (; length && capacity; length--, at++, capacity--)
		*to++ = (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at;
	*to = '\0';
	return buffer;
}

const char *filter_token_text(const struct filter_lexer *lexer, char *buffer, size_t size)
{
	const struct filter_token *token = &lexer->token;
	char shown[40];

	if (token->kind == FILTER_TOKEN_END)
		snprintf(buffer, size, "the end");
	else if (token->kind == FILTER_TOKEN_STRING)
		snprintf(buffer, size, "a string");
	else
		snprintf(buffer, size, "\"%s\"",
				filter_lex_format_token(lexer->text + token->column - 1,
						token->length, shown, sizeof(shown)));
	return buffer;
}

static int filter_lex_append_char(struct filter_lexer *lexer, unsigned int column, char c)
{
	struct filter_token *token = &lexer->token;

	if (token->size == FILTER_TEXT_MAX)
		return filter_fail(lexer->error, column, "longer than %d bytes", FILTER_TEXT_MAX);
	token->text[token->size++] = c;
	token->text[token->size] = '\0';
	return 0;
}

/* ---- numbers ---- */

static bool is_float_here(const char *at)
{
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X' || at[1] == 'b' || at[1] == 'B'))
		return false;
	while (filter_lex_is_digit(*at))
		at++;
	return *at == '.' || *at == 'e' || *at == 'E';
}

static int lex_float(struct filter_lexer *lexer)
{
	struct filter_token *token = &lexer->token;
	const char *begin = lexer->text + lexer->at, *at = begin;
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double number;

	if (!c_locale)
		return filter_fail(lexer->error, token->column, "out of memory to read a number");
	number = strtod_l(begin, NULL, c_locale);
	freelocale(c_locale);
	while (filter_lex_is_digit(*at))
		at++;
	if (*at == '.')
		at++;
	while (filter_lex_is_digit(*at))
		at++;
	if (*at == 'e' || *at == 'E') {
		at++;
		if (*at == '+' || *at == '-')
			at++;
		if (!filter_lex_is_digit(*at))
			return filter_fail(lexer->error, (unsigned int)(at - lexer->text) + 1,
					"expected digits of the exponent");
		while (filter_lex_is_digit(*at))
			at++;
	}
	if (filter_lex_is_name_char(*at) || *at == '.')
		return filter_fail(lexer->error, (unsigned int)(at - lexer->text) + 1,
				"unexpected character in a number");
	if (number > 1.7976931348623157e308)
		return filter_fail(lexer->error, token->column, "a number too large for a float");
	token->kind = FILTER_TOKEN_DOUBLE;
	memcpy(&token->number, &number, sizeof(number));
	lexer->at = (size_t)(at - lexer->text);
	return 0;
}

static int lex_integer(struct filter_lexer *lexer)
{
	struct filter_token *token = &lexer->token;
	const char *at = lexer->text + lexer->at;
	int base = 10;

	token->kind = FILTER_TOKEN_INT;
	token->number = 0;
	if (*at == '0') {
		base = 8;
		at++;
		if (*at == 'x' || *at == 'X')
			base = 16;
		else if (*at == 'b' || *at == 'B')
			base = 2;
		if (base != 8 && digit_value(*++at) >= base)
			return filter_fail(lexer->error, (unsigned int)(at - lexer->text) + 1,
					"expected a %s digit",
					base == 16 ? "hexadecimal" : "binary");
	}
	for (; digit_value(*at) < base; at++) {
		if (__builtin_mul_overflow(token->number, (uint64_t)base, &token->number) ||
				__builtin_add_overflow(token->number, (uint64_t)digit_value(*at),
						&token->number))
			return filter_fail(lexer->error, token->column,
					"a number that does not fit 64 bits");
	}
	/* Suffixes of C integers (u, l) are accepted and have no effect. */
	while (*at == 'u' || *at == 'U' || *at == 'l' || *at == 'L')
		at++;
	if (filter_lex_is_digit(*at))
		return filter_fail(lexer->error, (unsigned int)(at - lexer->text) + 1,
				"invalid digit in a number that is %s",
				base == 8 ? "octal, because it begins with 0" : "binary");
	if (filter_lex_is_name_char(*at))
		return filter_fail(lexer->error, (unsigned int)(at - lexer->text) + 1,
				"unexpected character in a number");
	lexer->at = (size_t)(at - lexer->text);
	return 0;
}

/* ---- strings and characters ---- */

/*
 * Parse an escape whose backslash is at `at`. Returns the character, or -1 with an error. Moves *at
 * behind it.
 */
static int filter_lex_parse_escape(struct filter_lexer *lexer, size_t *at)
{
	static const char names[] = "abefnrtv", values[] = "\a\b\033\f\n\r\t\v";
	size_t begin = *at;
	char c = lexer->text[begin + 1];
	const char *name;
	int high, low;

	*at += 2;
	if (c == 'x') {
		high = digit_value(lexer->text[begin + 2]);
		low = high < 16 ? digit_value(lexer->text[begin + 3]) : 16;
		*at += 2;
		if (low == 16)
			return filter_fail(lexer->error, (unsigned int)begin + 1,
					"expected two hexadecimal digits after \\x");
		if (!high && !low)
			return filter_fail(lexer->error, (unsigned int)begin + 1,
					"strings cannot contain NUL");
		return high * 16 + low;
	}
	name = c ? strchr(names, c) : NULL;
	if (name)
		return (unsigned char)values[name - names];
	if (!c)
		return filter_fail(lexer->error, (unsigned int)begin + 1,
				"expected a character after the backslash");
	if (filter_lex_is_name_char(c)) {
		filter_fail(lexer->error, (unsigned int)begin + 1, "unknown escape \"\\%c\"", c);
		return filter_hint_set(lexer->error, "write `\\\\` for a backslash");
	}
	return (unsigned char)c;
}

/*
 * Read a string. Stores a backslash before each literal * ? \, as globs need it. If there is no
 * wildcard in it, removes the backslashes.
 */
static int filter_lex_read_string(struct filter_lexer *lexer)
{
	struct filter_token *token = &lexer->token;
	size_t at = lexer->at + 1;
	unsigned int i, size = 0;
	int ret = 0, c;

	token->kind = FILTER_TOKEN_STRING;
	while (!ret && lexer->text[at] != '"') {
		unsigned int column = (unsigned int)at + 1;

		c = (unsigned char)lexer->text[at];
		if (!c)
			return filter_fail(lexer->error, token->column,
					"a string without a closing \"");
		if (c == '*' || c == '?') {
			token->is_glob = true;
			at++;
		} else {
			if (c != '\\')
				at++;
			else if ((c = filter_lex_parse_escape(lexer, &at)) < 0)
				return -EINVAL;
			if (c == '*' || c == '?' || c == '\\')
				ret = filter_lex_append_char(lexer, column, '\\');
		}
		if (!ret)
			ret = filter_lex_append_char(lexer, column, (char)c);
	}
	if (ret)
		return ret;
	lexer->at = at + 1;
	if (token->is_glob)
		return 0;
	for (i = 0; i < token->size; i++) {
		if (token->text[i] == '\\')
			i++;
		token->text[size++] = token->text[i];
	}
	token->text[size] = '\0';
	token->size = size;
	return 0;
}

/* 'x': the number of the character, which may have several bytes of UTF-8. */
static int lex_character(struct filter_lexer *lexer)
{
	struct filter_token *token = &lexer->token;
	size_t at = lexer->at + 1;
	int c = (unsigned char)lexer->text[at], more = 0;

	token->kind = FILTER_TOKEN_INT;
	if (c == '\'' || !c)
		return filter_fail(lexer->error, (unsigned int)at + 1,
				"expected a character between the quotes");
	if (c == '\\') {
		c = filter_lex_parse_escape(lexer, &at);
		if (c < 0)
			return -EINVAL;
		token->number = (uint64_t)c;
	} else {
		at++;
		if (c >= 0xc2 && c < 0xf5)
			more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
		token->number = (uint64_t)(more ? c & (0x3f >> more) : c);
		for (; more && (lexer->text[at] & 0xc0) == 0x80; more--, at++)
			token->number = token->number << 6 | (lexer->text[at] & 0x3f);
	}
	if (more || lexer->text[at] != '\'') {
		filter_fail(lexer->error, token->column, "a character without a closing '");
		return filter_hint_set(lexer->error, "write strings in \"\"");
	}
	lexer->at = at + 1;
	return 0;
}

/* ---- names ---- */

/* `any bytes` except the quote itself. */
static int lex_quoted(struct filter_lexer *lexer)
{
	struct filter_token *token = &lexer->token;
	size_t begin = lexer->at;
	int ret = 0;

	for (lexer->at++; !ret && lexer->text[lexer->at] != '`'; lexer->at++) {
		if (!lexer->text[lexer->at])
			return filter_fail(lexer->error, (unsigned int)begin + 1,
					"a name without a closing `");
		ret = filter_lex_append_char(
				lexer, (unsigned int)lexer->at + 1, lexer->text[lexer->at]);
	}
	lexer->at++;
	token->is_quoted = true;
	return ret;
}

static int lex_word(struct filter_lexer *lexer)
{
	int ret = 0;

	for (; !ret && filter_lex_is_name_char(lexer->text[lexer->at]); lexer->at++)
		ret = filter_lex_append_char(
				lexer, (unsigned int)lexer->at + 1, lexer->text[lexer->at]);
	return ret;
}

/* names with colons between them, and with hyphens in the names of performance counters */
static int lex_context_name(struct filter_lexer *lexer)
{
	const char *begin = lexer->text + lexer->at;
	bool hyphens = !strncmp(begin, "perf:", 5);
	int ret = 0;

	for (; !ret; lexer->at++) {
		const char *at = lexer->text + lexer->at;

		if (!filter_lex_is_name_char(*at) &&
				!((*at == ':' || (hyphens && *at == '-')) &&
						filter_lex_is_name_char(at[1])))
			break;
		ret = filter_lex_append_char(lexer, (unsigned int)lexer->at + 1, *at);
	}
	return ret;
}

/* $ctx.NAME is the context NAME, $app.PROVIDER:NAME is app:PROVIDER:NAME */
static int lex_context(struct filter_lexer *lexer)
{
	static const char *const roots[] = {"ctx", "app", NULL};
	struct filter_token *token = &lexer->token;
	char hint[FILTER_HINT_MAX];
	bool is_app;
	int ret;

	lexer->at++;
	ret = lex_word(lexer);
	if (ret)
		return ret;
	is_app = !strcmp(token->text, "app");
	if (!is_app && strcmp(token->text, "ctx") != 0) {
		filter_fail(lexer->error, token->column,
				"unknown \"$%.40s\": use $ctx.NAME or $app.PROVIDER:NAME",
				token->text);
		return filter_hint_set(lexer->error, filter_hint(token->text, roots, "$", hint));
	}
	if (lexer->text[lexer->at] != '.')
		return filter_fail(lexer->error, (unsigned int)lexer->at + 1,
				"expected a dot and the name of a context");
	lexer->at++;
	token->kind = FILTER_TOKEN_CONTEXT;
	token->size = 0;
	token->text[0] = '\0';
	if (is_app) {
		memcpy(token->text, "app:", 5);
		token->size = 4;
	}
	ret = lexer->text[lexer->at] == '`' ? lex_quoted(lexer) : lex_context_name(lexer);
	if (ret)
		return ret;
	if (token->size == (is_app ? 4 : 0))
		return filter_fail(lexer->error, (unsigned int)lexer->at + 1,
				is_app ? "expected PROVIDER:NAME of an application's context"
				       : "expected the name of a context");
	if (is_app && !strchr(token->text + 4, ':'))
		return filter_fail(lexer->error, (unsigned int)lexer->at + 1,
				"expected a colon and the name of the context");
	return 0;
}

/* ---- operators ---- */

static int lex_operator(struct filter_lexer *lexer)
{
	static const struct {
		char text[3];
		int op;
	} pairs[] = {
			{"||", FILTER_OP_OR},
			{"&&", FILTER_OP_AND},
			{"==", FILTER_OP_EQUAL},
			{"!=", FILTER_OP_UNEQUAL},
			{"<=", FILTER_OP_LESS_EQUAL},
			{">=", FILTER_OP_GREATER_EQUAL},
			{"<<", FILTER_OP_LEFT},
			{">>", FILTER_OP_RIGHT},
	};
	struct filter_token *token = &lexer->token;
	const char *at = lexer->text + lexer->at;
	char shown[8];
	size_t i;

	token->kind = FILTER_TOKEN_OPERATOR;
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (at[0] == pairs[i].text[0] && at[1] == pairs[i].text[1]) {
			token->op = pairs[i].op;
			lexer->at += 2;
			return 0;
		}
	}
	if (*at == '=') {
		filter_fail(lexer->error, token->column, "unknown operator \"=\"");
		return filter_hint_set(lexer->error, "did you mean `==`?");
	}
	if (!strchr("!<>&|^~+-*/%()[].,", *at))
		return filter_fail(lexer->error, token->column,
				*at == '$' ? "expected ctx or app after \"$\""
					   : "unexpected \"%s\"",
				filter_lex_format_token(at, 1, shown, sizeof(shown)));
	token->op = (unsigned char)*at;
	lexer->at++;
	return 0;
}

static int lex_any(struct filter_lexer *lexer)
{
	const char *at = lexer->text + lexer->at;

	if (!*at) {
		lexer->token.kind = FILTER_TOKEN_END;
		return 0;
	}
	if (filter_lex_is_digit(*at) || (*at == '.' && filter_lex_is_digit(at[1])))
		return is_float_here(at) ? lex_float(lexer) : lex_integer(lexer);
	if (*at == '"')
		return filter_lex_read_string(lexer);
	if (*at == '\'')
		return lex_character(lexer);
	if (*at == '$')
		return lex_context(lexer);
	lexer->token.kind = FILTER_TOKEN_NAME;
	if (*at == '`')
		return lex_quoted(lexer);
	if (filter_lex_is_letter(*at))
		return lex_word(lexer);
	return lex_operator(lexer);
}

int filter_lex(struct filter_lexer *lexer)
{
	struct filter_token *token = &lexer->token;
	int ret;

	while (lexer->text[lexer->at] && strchr(" \t\r\n", lexer->text[lexer->at]))
		lexer->at++;
	token->column = (unsigned int)lexer->at + 1;
	token->size = 0;
	token->text[0] = '\0';
	token->op = 0;
	token->is_glob = false;
	token->is_quoted = false;
	ret = lex_any(lexer);
	token->length = (unsigned int)lexer->at - (token->column - 1);
	return ret;
}
