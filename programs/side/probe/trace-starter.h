/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_TRACE_STARTER_H
#define PROGRAMS_SIDE_PROBE_TRACE_STARTER_H

/*
 * Find the program to trace in a command that begins with env, nice, taskset, strace or similar
 * programs, for `-c`.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Get the index of the traced program's first argument, and the name that finds the program (a
 * path, or a name for PATH). `global`: the kernel watches, so no recorder has to be in the program.
 * Returns 0 or an exit status, after printing a message.
 */
int starter_follow(char *const *args, size_t count, bool global, size_t *ret_at,
		char ret_program[PATH_MAX]);

#endif /* PROGRAMS_SIDE_PROBE_TRACE_STARTER_H */
