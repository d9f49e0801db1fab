/* SPDX-License-Identifier: MIT */
/* Splits an expression into tokens; private to this module. */
#ifndef SIDE_FILTER_LEX_H
#define SIDE_FILTER_LEX_H

#include <stdarg.h>

#include "filter/filter.h"

enum filter_token_kind {
	FILTER_TOKEN_END,
	FILTER_TOKEN_INT,      /* number */
	FILTER_TOKEN_DOUBLE,   /* number: the bits */
	FILTER_TOKEN_STRING,   /* text, is_glob */
	FILTER_TOKEN_NAME,     /* text; with or without quotes (`) */
	FILTER_TOKEN_CONTEXT,  /* text: a name as in `--context` */
	FILTER_TOKEN_OPERATOR, /* op */
};

/* An operator of one character has the code of that character. */
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
	unsigned int length; /* in the text */
	int op;
	bool is_glob;
	bool is_quoted; /* a quoted name, which is never a keyword */
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

/* Store an error at a column. Returns -EINVAL. */
int filter_fail(struct filter_error *error, unsigned int column, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

int filter_fail_list(struct filter_error *error, unsigned int column, const char *format,
		va_list list) __attribute__((format(printf, 3, 0)));

/* Add the hint to an error that has its text. Returns -EINVAL. */
int filter_hint_set(struct filter_error *error, const char *hint);

/* Read the next token into lexer->token. 0 or -EINVAL with the error filled in. */
int filter_lex(struct filter_lexer *lexer);

/* Format the current token for an error: `"=="`, `the end`. Returns buffer. */
const char *filter_token_text(const struct filter_lexer *lexer, char *buffer, size_t size);

#endif /* SIDE_FILTER_LEX_H */
