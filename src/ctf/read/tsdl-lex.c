/* SPDX-License-Identifier: MIT */
/* Splits TSDL text into tokens. */
#include <errno.h>
#include <string.h>

#include "ctf/tsdl.h"

static bool is_word_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool tsdl_lex_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
	if (tsdl_lex_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Store side's comment in an event block: "side.event" and the JSON of the description. */
static void tsdl_lex_store_side_event(struct tsdl_lexer *lexer, const char *text, size_t size)
{
	static const char mark[] = " side.event ";
	size_t mark_size = sizeof(mark) - 1;

	if (size <= mark_size || memcmp(text, mark, mark_size) != 0)
		return;
	lexer->side_event = text + mark_size;
	lexer->side_event_size = size - mark_size;
}

/* False: a comment has no end. */
static bool tsdl_lex_skip_blanks(struct tsdl_lexer *lexer)
{
	while (lexer->at < lexer->end) {
		const char *at = lexer->at;
		size_t left = (size_t)(lexer->end - at);

		if (*at == '\n')
			lexer->line++;
		if (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r' || *at == '\f' ||
				*at == '\v') {
			lexer->at++;
		} else if (left >= 2 && at[0] == '/' && at[1] == '/') {
			const char *end = memchr(at, '\n', left);

			lexer->at = end ? end : lexer->end;
		} else if (left >= 2 && at[0] == '/' && at[1] == '*') {
			const char *end = left >= 4 ? memmem(at + 2, left - 2, "*/", 2) : NULL;

			if (!end)
				return false;
			tsdl_lex_store_side_event(lexer, at + 2, (size_t)(end - at) - 2);
			for (const char *c = at; c < end; c++)
				lexer->line += *c == '\n';
			lexer->at = end + 2;
		} else {
			break;
		}
	}
	return true;
}

/* Parse an escape sequence behind its backslash. Returns its byte. */
static char lex_escape(struct tsdl_lexer *lexer)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	char c = *lexer->at++;
	const char *found = c ? strchr(from, c) : NULL;
	unsigned int value = 0;

	if (found)
		return to[found - from];
	if (c >= '0' && c <= '7') {
		value = (unsigned int)(c - '0');
		for (int i = 0; i < 2 && lexer->at < lexer->end && *lexer->at >= '0' &&
				*lexer->at <= '7';
				i++)
			value = value * 8 + (unsigned int)(*lexer->at++ - '0');
		return (char)value;
	}
	if (c == 'x') {
		while (lexer->at < lexer->end && hex_value(*lexer->at) >= 0)
			value = value * 16 + (unsigned int)hex_value(*lexer->at++);
		return (char)value;
	}
	return c;
}

/* Parse a string or a character constant, which is a short string. */
static void tsdl_lex_string(struct tsdl_lexer *lexer, struct tsdl_token *token)
{
	const char mark = *lexer->at, *start = ++lexer->at, *end = start;
	char *text;
	size_t used = 0;

	while (end < lexer->end && *end != mark)
		end += *end == '\\' && end + 1 < lexer->end ? 2 : 1;
	token->kind = TSDL_BAD;
	if (end >= lexer->end)
		return;
	text = ctf_arena_alloc(lexer->arena, (size_t)(end - start) + 1, 1);
	if (!text) {
		lexer->is_out_of_memory = true;
		return;
	}
	while (lexer->at < end) {
		char c = *lexer->at++;

		lexer->line += c == '\n';
		text[used++] = c == '\\' ? lex_escape(lexer) : c;
	}
	lexer->at = end + 1;
	token->kind = TSDL_STRING;
	token->is_character = mark == '\'';
	token->text = text;
	token->size = used;
}

static void lex_number(struct tsdl_lexer *lexer, struct tsdl_token *token)
{
	unsigned int base = 10;
	uint64_t value = 0;
	bool fits = true;

	if (*lexer->at == '0') {
		base = 8;
		if (lexer->end - lexer->at >= 2 && (lexer->at[1] | 0x20) == 'x') {
			base = 16;
			lexer->at += 2;
		} else if (lexer->end - lexer->at >= 2 && (lexer->at[1] | 0x20) == 'b') {
			base = 2;
			lexer->at += 2;
		}
	}
	for (; lexer->at < lexer->end; lexer->at++) {
		int digit = hex_value(*lexer->at);

		if (digit < 0 || (unsigned int)digit >= base)
			break;
		fits &= !__builtin_mul_overflow(value, base, &value);
		fits &= !__builtin_add_overflow(value, (uint64_t)digit, &value);
	}
	while (lexer->at < lexer->end &&
			(((*lexer->at | 0x20) == 'u') || ((*lexer->at | 0x20) == 'l')))
		lexer->at++;
	token->kind = fits ? TSDL_NUMBER : TSDL_BAD;
	token->number = value;
}

void tsdl_lex(struct tsdl_lexer *lexer, struct tsdl_token *ret_token)
{
	bool blanks = tsdl_lex_skip_blanks(lexer);
	size_t left = (size_t)(lexer->end - lexer->at);

	*ret_token = (struct tsdl_token){.line = lexer->line, .text = lexer->at};
	if (!blanks) {
		ret_token->kind = TSDL_BAD;
	} else if (!left) {
		ret_token->kind = TSDL_END;
	} else if (is_word_start(*lexer->at)) {
		while (lexer->at < lexer->end &&
				(is_word_start(*lexer->at) || tsdl_lex_is_digit(*lexer->at)))
			lexer->at++;
		ret_token->kind = TSDL_WORD;
		ret_token->size = (size_t)(lexer->at - ret_token->text);
	} else if (tsdl_lex_is_digit(*lexer->at)) {
		lex_number(lexer, ret_token);
	} else if (*lexer->at == '"' || *lexer->at == '\'') {
		tsdl_lex_string(lexer, ret_token);
	} else if (left >= 2 && memcmp(lexer->at, ":=", 2) == 0) {
		ret_token->kind = TSDL_ASSIGN_TYPE;
		lexer->at += 2;
	} else if (left >= 3 && memcmp(lexer->at, "...", 3) == 0) {
		ret_token->kind = TSDL_RANGE;
		lexer->at += 3;
	} else {
		ret_token->kind = strchr("{}[]()<>;:,=.-+*", *lexer->at) && *lexer->at ? TSDL_PUNCT
										       : TSDL_BAD;
		ret_token->punct = *lexer->at++;
	}
}
