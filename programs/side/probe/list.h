/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_LIST_H
#define PROGRAMS_SIDE_PROBE_LIST_H

#include "probe/code/code.h"

#include <sys/types.h>

/*
 * List the functions that the glob selects (NULL: all) in a file, or in a process if `what` is a
 * number. Returns an exit status.
 */
int probe_list(const char *what, const char *glob);

/* List only the markers; `what` NULL: of all running programs. */
int probe_list_sdt(const char *what, const char *glob);
/* Returns the PID if the text is one; otherwise 0. */
pid_t probe_list_process(const char *what);

/* A file with code, and its addresses in a process. */
struct probe_module {
	const char *path;
	struct code_file *code;
	int memory;    /* of the process; -1: none */
	uint64_t bias; /* difference between addresses in the process and in the file */
};

/*
 * Check that the process sees /proc: the recorder in it finds mapped files there, and writes probes
 * through it. Returns 0 or an exit status.
 */
int probe_sees_proc(pid_t pid, const char *hint);
/*
 * When the process was started, in the kernel's ticks. 0: there is none; the next step reports
 * that. Returns an exit status.
 */
int probe_started(pid_t pid, uint64_t *ret_started);

/*
 * Call each() for each file that the process executes, until it does not return 0. Returns that
 * exit status.
 */
int probe_process(
		pid_t pid, int (*each)(void *user, const struct probe_module *module), void *user);

/*
 * Calls each() once for each file that any process executes, with a path to it. Returns an exit
 * status. `*ret_hidden` counts processes that cannot be inspected.
 */
int probe_running_files(
		int (*each)(void *user, const char *path), void *user, unsigned int *ret_hidden);

#endif /* PROGRAMS_SIDE_PROBE_LIST_H */
