/* SPDX-License-Identifier: MIT */
#ifndef SIDE_CMD_PROBE_LIST_H
#define SIDE_CMD_PROBE_LIST_H

#include "probe/code/code.h"

#include <sys/types.h>

/* The functions of a file, or of a process if the word is a number, that the glob selects; NULL: all. */
int probe_list(const char *what, const char *glob);

/* A file with code, and where it stands in a process. */
struct probe_module {
	const char *path;
	struct code_file *code;
	int memory;    /* of the process; -1: there is none */
	uint64_t bias; /* what is added to addresses of the file */
};

/* Calls for each file that the process executes; an exit status, the first that is not 0. */
int probe_process(
		pid_t pid, int (*each)(void *user, const struct probe_module *module), void *user);

#endif /* SIDE_CMD_PROBE_LIST_H */
