/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_LIST_H
#define PROGRAMS_SIDE_PROBE_LIST_H

#include "probe/code/code.h"

#include <sys/types.h>

/* The functions of a file, or of a process if the word is a number, that the glob selects; NULL: all. */
int probe_list(const char *what, const char *glob);

/* Their markers alone; NULL: of all that runs. */
int probe_list_sdt(const char *what, const char *glob);
/* The word as the number of a process; 0: it is none. */
pid_t probe_list_process(const char *what);

/* A file with code, and where it stands in a process. */
struct probe_module {
	const char *path;
	struct code_file *code;
	int memory;    /* of the process; -1: there is none */
	uint64_t bias; /* what is added to addresses of the file */
};

/* The recorder looks there for what the program has loaded, and writes probes by way of it. */
int probe_sees_proc(pid_t pid, const char *hint);
/* When the process was started, in the kernel's ticks. 0: there is none; the next step reports that. Returns an exit status. */
int probe_started(pid_t pid, uint64_t *ret_started);

/* Calls for each file that the process executes; an exit status, the first that is not 0. */
int probe_process(
		pid_t pid, int (*each)(void *user, const struct probe_module *module), void *user);

/*
 * Calls once for each file that some process executes, with a path to it; an exit status. Counts the processes that cannot be
 * looked at.
 */
int probe_running_files(
		int (*each)(void *user, const char *path), void *user, unsigned int *hidden);

#endif /* PROGRAMS_SIDE_PROBE_LIST_H */
