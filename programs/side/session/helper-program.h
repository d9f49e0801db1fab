/* SPDX-License-Identifier: MIT */
/*
 * Helper programs that run in the background for sessions: side-uprobes (programs/side-uprobes) and
 * side-kernel (programs/side-kernel).
 */
#ifndef PROGRAMS_SIDE_SESSION_HELPER_PROGRAM_H
#define PROGRAMS_SIDE_SESSION_HELPER_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Add an option and its value to a command line, an allocated array that ends with NULL. False: out
 * of memory.
 */
bool helper_add(char ***args, const char *option, const char *value);
bool helper_add_number(char ***args, const char *option, uint64_t number);
void helper_free(char **args);

/*
 * Finds the program: in the installation, or in a build, where it is in the directory of its name.
 * Returns 0 or an exit status, after a message.
 */
int helper_find(const char *program, const char *what, char path[PATH_MAX]);

/*
 * Starts the program with the recorder, and with a variable (or NULL) in its environment, and waits
 * until it is ready. The program then writes a byte to the descriptor after `--ready`, and outlives
 * this process. Returns 0 or an exit status; the program has printed the reason.
 */
int helper_start(char ***args, const char *variable, const char *value);
/*
 * Starts the program for a recording without a daemon, whose recorder listens on `socket`. Returns
 * at once: the program writes a byte to *ret_ready when it is ready. It ends with the calling
 * process.
 */
int helper_begin(char ***args, const char *socket, int *ret_ready, pid_t *ret_child);

#endif /* PROGRAMS_SIDE_SESSION_HELPER_PROGRAM_H */
