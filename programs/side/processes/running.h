/* SPDX-License-Identifier: MIT */
/* Finds running programs that use libside, through /proc. */
#ifndef PROGRAMS_SIDE_PROCESSES_RUNNING_H
#define PROGRAMS_SIDE_PROCESSES_RUNNING_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Finds the processes that we may inspect, sorted by number. The caller frees *ret_pids. Returns 0
 * or a negative errno.
 */
int running_find(pid_t **ret_pids, size_t *ret_count);

/* True if the process has loaded the agent, from any source. */
bool running_has_recorder(pid_t pid);

/*
 * The paths of the libside.so and of the executable of a process. False if it has none, or has
 * exited.
 */
bool running_library(pid_t pid, char path[PATH_MAX]);
bool running_program(pid_t pid, char path[PATH_MAX]);

/* The name of a process, as in ps; "" if it has exited. Returns `name`. */
#define RUNNING_NAME_MAX 64
const char *running_name(pid_t pid, char name[RUNNING_NAME_MAX]);

#endif /* PROGRAMS_SIDE_PROCESSES_RUNNING_H */
