/* SPDX-License-Identifier: MIT */
/* Splits a text into arguments, as a shell does. */
#ifndef PROGRAMS_SIDE_CLI_SHELL_WORDS_H
#define PROGRAMS_SIDE_CLI_SHELL_WORDS_H

#include <stddef.h>

/*
 * Splits a text into arguments as a shell does: at blanks, with '...', "..." and \ as quotes.
 * Replaces no variables or globs. The result is one allocation that ends with NULL; the caller
 * frees it. NULL with errno: EINVAL if a quote has no end, or ENOMEM.
 */
char **shell_split(const char *text, size_t *ret_count);

/*
 * Returns the first argument that only a shell understands: a pipe, a redirection, another command.
 * NULL: none.
 */
const char *shell_syntax_in(const char *text);

#endif /* PROGRAMS_SIDE_CLI_SHELL_WORDS_H */
