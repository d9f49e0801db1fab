/* SPDX-License-Identifier: MIT */
/* Words of an expression, private to this room. */
#ifndef SIDE_FILTER_LEX_H
#define SIDE_FILTER_LEX_H

#include <stdarg.h>

#include "filter/filter.h"

enum filter_token_kind {
	FILTER_TOKEN_END,
	FILTER_TOKEN_INT,      /* number */
	FILTER_TOKEN_DOUBLE,   /* number: the bits */
	FILTER_TOKEN_STRING,   /* text, is_glob */
	FILTER_TOKEN_NAME,     /* text; quoted with ` or not */
	FILTER_TOKEN_CONTEXT,  /* text: a name as in `--context` */
	FILTER_TOKEN_OPERATOR, /* op */
};

/* Operators of one character are that character. */
enum filter_operator {
	FILTER_OP_OR = 256, /* || */
	FILTER_OP_AND,      /* && */
	FILTER_OP_EQUAL,
	FILTER_OP_UNEQUAL,
	FILTER_OP_LESS_EQUAL,
	FILTER_OP_GREATER_EQUAL,
	FILTER_OP_LEFT,
	FILTER_OP_RIGHT,
};

struct filter_token {
	enum filter_token_kind kind;
	unsigned int column; /* from 1 */
	unsigned int length; /* as it stands in the text */
	int op;
	bool is_glob;
	bool is_quoted; /* a name that is no keyword */
	uint64_t number;
	unsigned int size; /* of text */
	char text[FILTER_TEXT_MAX + 1];
};

struct filter_lexer {
	const char *text;
	size_t at;
	struct filter_token token; /* the current one */
	struct filter_error *error;
};

/* Say what is wrong at a column. Returns -EINVAL. */
int filter_fail(struct filter_error *error, unsigned int column, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

int filter_fail_list(struct filter_error *error, unsigned int column, const char *format,
		va_list list) __attribute__((format(printf, 3, 0)));

/* Adds the hint to an error that has its text already. Returns -EINVAL. */
int filter_hint_set(struct filter_error *error, const char *hint);

/* Read the next token into lexer->token. 0 or -EINVAL with the error filled in. */
int filter_lex(struct filter_lexer *lexer);

/* What the current token looks like in an error: `"=="`, `the end`. */
const char *filter_token_text(const struct filter_lexer *lexer, char *buffer, size_t size);

#endif /* SIDE_FILTER_LEX_H */
