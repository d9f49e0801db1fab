/* SPDX-License-Identifier: MIT */
#ifndef SIDE_CMD_TRACE_STARTER_H
#define SIDE_CMD_TRACE_STARTER_H

/* Programs that start another one, which is the one to trace: env, nice, taskset, strace and others in `-c`. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Where the traced program's words begin, and its name by which it is found (a path, or a word for PATH). `global`: the kernel watches,
 * so nothing has to be brought into the program. 0 or an exit status: said.
 */
int starter_follow(char *const *words, size_t count, bool global, size_t *ret_at,
		char ret_program[PATH_MAX]);

#endif /* SIDE_CMD_TRACE_STARTER_H */
