/* SPDX-License-Identifier: MIT */
/*
 * Confines the process to the files of one command before it reads a trace, which any user may have
 * written.
 */
#ifndef PROGRAMS_SIDE_CLI_CONFINE_H
#define PROGRAMS_SIDE_CLI_CONFINE_H

#include <stdbool.h>

/*
 * Enables the functions below. Programs that run several commands, such as tests,
 * must not call it.
 */
void confine_enable(void);

/*
 * Permits reads below `input`, and reads and writes below `output`, which may be NULL. Call it with
 * one thread, when all helper processes are started and all other files are open. A second call has
 * no effect.
 */
void confine(const char *input, const char *output);

/* Permits reads below two paths, and no writes; otherwise as confine(). `second` may be NULL. */
void confine_readers(const char *first, const char *second);

/*
 * Permits all reads, but writes only below `output`: buffers contain the path of the trace that
 * their recorder has written.
 */
void confine_output(const char *output);

/*
 * Confines a sender. It may connect to other machines, and write below `input`: its marks, or all
 * files of a spool.
 */
void confine_sender(const char *input, const char *written, const char *url);

/*
 * Permits writes below `output`, and accept() on sockets that already listen. False if the kernel
 * supports no filter of system calls.
 */
bool confine_receiver(const char *output);

/*
 * Permits reads below two absolute paths, and changes of terminal settings. `second` may be NULL.
 */
void confine_watcher(const char *first, const char *second);

#endif /* PROGRAMS_SIDE_CLI_CONFINE_H */
