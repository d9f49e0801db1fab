/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_CLI_SHELL_WORDS_H
#define PROGRAMS_SIDE_CLI_SHELL_WORDS_H

#include <stddef.h>

/*
 * The words of a text as a shell would take it apart: blanks between them, '...', "..." and \ keep what they hold as it is.
 * Nothing is replaced. One allocation, which ends with NULL; free() it. NULL with errno: EINVAL if a quote has no end, or ENOMEM.
 */
char **shell_split(const char *text, size_t *count);

/*
 * The first word of it that would be a shell's: a pipe, a redirection, another
 * command. NULL: there is none.
 */
const char *shell_syntax_in(const char *text);

#endif /* SIDE_CMD_WORDS_H */
