/* SPDX-License-Identifier: MIT */
/* The programs that run now and have libside in them, as /proc shows them. */
#ifndef PROGRAMS_SIDE_PROCESSES_RUNNING_H
#define PROGRAMS_SIDE_PROCESSES_RUNNING_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Those that we may look at, in the order of their numbers; free() them. 0 or a negative errno. */
int running_find(pid_t **pids, size_t *count);

/* Was the agent brought to it, in any way? */
bool running_has_recorder(pid_t pid);

/* The path of its libside.so, and of its program. False: the process has gone, or has none. */
bool running_library(pid_t pid, char path[PATH_MAX]);
bool running_program(pid_t pid, char path[PATH_MAX]);

/* The name of a process, as in ps; "" if it has gone. Returns @name. */
#define RUNNING_NAME_MAX 64
const char *running_name(pid_t pid, char name[RUNNING_NAME_MAX]);

#endif /* PROGRAMS_SIDE_PROCESSES_RUNNING_H */
