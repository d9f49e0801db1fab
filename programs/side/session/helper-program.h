/* SPDX-License-Identifier: MIT */
/* Programs of ours that work in the background for sessions: side-uprobes (programs/side-uprobes) and side-kernel (programs/side-kernel). */
#ifndef PROGRAMS_SIDE_SESSION_HELPER_PROGRAM_H
#define PROGRAMS_SIDE_SESSION_HELPER_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A call: words that end with NULL. Two more; false: no memory. */
bool helper_add(char ***args, const char *option, const char *value);
bool helper_add_number(char ***args, const char *option, uint64_t number);
void helper_free(char **args);

/* Finds the program: installed, or in a build, where it has a folder of its own name. 0 or an exit status: reported. */
int helper_find(const char *program, const char *what, char path[PATH_MAX]);

/*
 * Start the program with the recorder, and with a variable (or NULL) in its environment, and wait
 * until it is ready. The program writes a byte to the descriptor after `--ready` then, and outlives
 * this process. 0 or an exit status: the program has printed the reason.
 */
int helper_start(char ***args, const char *variable, const char *value);
/*
 * The same for a recording without a daemon, whose recorder listens on `socket`. Returns at once:
 * the program writes a byte to *ready when it is ready. It ends with the calling process.
 */
int helper_begin(char ***args, const char *socket, int *ready, pid_t *child);

#endif /* PROGRAMS_SIDE_SESSION_HELPER_PROGRAM_H */
