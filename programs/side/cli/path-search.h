/* SPDX-License-Identifier: MIT */
#ifndef CMD_SIDE_PATH_SEARCH_H
#define CMD_SIDE_PATH_SEARCH_H

#include <stdbool.h>

/* Would execvp() find a program of this name? By its path, or in PATH. */
bool path_has_program(const char *name);

#endif /* CMD_SIDE_PATH_SEARCH_H */
