/* SPDX-License-Identifier: MIT */
#ifndef SIDE_CMD_WORDS_H
#define SIDE_CMD_WORDS_H

#include <stddef.h>

/*
 * The words of a text as a shell would take it apart: blanks between them, '...', "..." and \ keep what they hold as it is.
 * Nothing is replaced. One allocation, which ends with NULL; free() it. NULL: a quote has no end, or there is no memory.
 */
char **words_split(const char *text, size_t *count);

#endif /* SIDE_CMD_WORDS_H */
