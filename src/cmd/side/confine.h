/* SPDX-License-Identifier: MIT */
/* Confine the process to the files of one command before it reads a trace, which can be anybody's. */
#ifndef SIDE_CMD_CONFINE_H
#define SIDE_CMD_CONFINE_H

#include <stdbool.h>

/* From now on confine() and confine_sender() have an effect. Not in programs that run several commands, as tests do. */
void confine_enable(void);

/*
 * Read below `input`, read and write below `output` (NULL: nothing is written), and no more. Call it with one thread, when all
 * helper processes are started and all other files are open. A second call has no effect.
 */
void confine(const char *input, const char *output);

/* Read everything, and write below `output` only: buffers name the trace that their recorder has written. */
void confine_output(const char *output);

/* The same for a sender, which connects to others, and writes its marks, or everything in a spool, below `input`. */
void confine_sender(const char *input, const char *written, const char *url);

/* Write below `output`, and accept connections at sockets that listen already. False: the kernel supports no filter of system calls. */
bool confine_receiver(const char *output);

/* Read below `input`, an absolute path, and set the terminal. */
void confine_watcher(const char *input);

#endif /* SIDE_CMD_CONFINE_H */
