/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_EXECUTABLE_H
#define PROGRAMS_SIDE_PROBE_EXECUTABLE_H

/*
 * The file that `--exe` names, which may be in another mount namespace: /proc/PID/exe,
 * /proc/PID/root/...
 */

#include <limits.h>
#include <sys/types.h>

struct probe_exe {
	char path[PATH_MAX]; /* A path that leads to that file from here. */
	pid_t pid;           /* The process through which the path leads; 0: none. */
	pid_t runs;          /* The same process, if the file is its program; else 0. */
};

/* 0 or an exit status; prints the error. */
int probe_exe_find(const char *requested, struct probe_exe *ret_exe);
/* 1: the process has another root directory than this one, 0: the same. Or a negative errno. */
int probe_has_other_root(pid_t pid);

#endif /* PROGRAMS_SIDE_PROBE_EXECUTABLE_H */
