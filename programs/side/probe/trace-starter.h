/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_TRACE_STARTER_H
#define PROGRAMS_SIDE_PROBE_TRACE_STARTER_H

/* Programs that start another one, which is the one to trace: env, nice, taskset, strace and others in `-c`. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The index of the traced program's first argument, and the name that finds the program (a path, or a name for PATH). `global`: the kernel
 * watches, so no recorder has to be in the program. 0 or an exit status; prints the error.
 */
int starter_follow(char *const *args, size_t count, bool global, size_t *ret_at,
		char ret_program[PATH_MAX]);

#endif /* PROGRAMS_SIDE_PROBE_TRACE_STARTER_H */
