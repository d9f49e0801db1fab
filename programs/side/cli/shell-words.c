/* SPDX-License-Identifier: MIT */
/* Splits a text into arguments, for commands in a single argument and for stored command lines. */
#include "shell-words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Copies one argument to *to and advances *to beyond its NUL. Returns the end in `text`, or NULL if
 * a quote has no end.
 */
static const char *shell_copy_arg(const char *text, char **to)
{
	char quote = 0;

	for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
		if (quote && *text == quote)
			quote = 0;
		else if (!quote && (*text == '\'' || *text == '"'))
			quote = *text;
		else if (*text == '\\' && quote != '\'' && text[1])
			*(*to)++ = *++text;
		else
			*(*to)++ = *text;
	}
	*(*to)++ = '\0';
	return quote ? NULL : text;
}

/* Returns the end of the argument that begins at `text`. */
static const char *shell_skip_arg(const char *text)
{
	char quote = 0;

	for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
		if (quote && *text == quote)
			quote = 0;
		else if (!quote && (*text == '\'' || *text == '"'))
			quote = *text;
		else if (*text == '\\' && quote != '\'' && text[1])
			text++;
	}
	return text;
}

const char *shell_syntax_in(const char *text)
{
	for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
		if (strchr("|&;<>", *text) || ((*text == '1' || *text == '2') && text[1] == '>'))
			return text;
		text = shell_skip_arg(text);
	}
	return NULL;
}

char **shell_split(const char *text, size_t *ret_count)
{
	size_t length = strlen(text), most = length / 2 + 2;
	char **args = malloc(most * sizeof(*args) + length + 1), *to;

	*ret_count = 0;
	if (!args)
		return NULL;
	to = (char *)(args + most);
	for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
		args[(*ret_count)++] = to;
		text = shell_copy_arg(text, &to);
		if (!text) {
			free(args);
			errno = EINVAL;
			return NULL;
		}
	}
	args[*ret_count] = NULL;
	return args;
}
