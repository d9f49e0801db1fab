/* SPDX-License-Identifier: MIT */
/* Finds out whether a program exists, by its path or in PATH. */
#ifndef PROGRAMS_SIDE_CLI_PATH_SEARCH_H
#define PROGRAMS_SIDE_CLI_PATH_SEARCH_H

#include <stdbool.h>

/* True if execvp() would find a program of this name, by its path or in PATH. */
bool path_has_program(const char *name);

#endif /* PROGRAMS_SIDE_CLI_PATH_SEARCH_H */
