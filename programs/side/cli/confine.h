/* SPDX-License-Identifier: MIT */
/*
 * Confine the process to the files of one command before it reads a trace, which
 * any user may have written.
 */
#ifndef PROGRAMS_SIDE_CLI_CONFINE_H
#define PROGRAMS_SIDE_CLI_CONFINE_H

#include <stdbool.h>

/*
 * Enable the functions below. Programs that run several commands, such as tests,
 * must not call this.
 */
void confine_enable(void);

/*
 * Read below `input`, read and write below `output` (NULL: nothing is written), and no more. Call it with one thread, when all
 * helper processes are started and all other files are open. A second call has no effect.
 */
void confine(const char *input, const char *output);

/*
 * Permit all reads, but writes only below `output`: buffers name the trace that
 * their recorder has written.
 */
void confine_output(const char *output);

/*
 * Confine a sender. It may connect to other machines, and write below `input`: its
 * marks, or all files of a spool.
 */
void confine_sender(const char *input, const char *written, const char *url);

/*
 * Permit writes below `output`, and accept() on sockets that already listen.
 * False: the kernel supports no filter of system calls.
 */
bool confine_receiver(const char *output);

/* Permit reads below `input`, an absolute path, and changes of terminal settings. */
void confine_watcher(const char *input);

#endif /* PROGRAMS_SIDE_CLI_CONFINE_H */
