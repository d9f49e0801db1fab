/* SPDX-License-Identifier: MIT */
#ifndef SIDE_ATTACH_EXEC_H
#define SIDE_ATTACH_EXEC_H

/*
 * Load the agent into a program that executes a file, before its main() begins.
 *
 * The caller knows of the exec while the kernel delays it (fanotify). A process of its own seizes the
 * thread, and the caller then permits the exec. When the thread has executed the file, it is released
 * at once, but the loader finds the address of a short code instead of the program's entry point
 * (exec-code.c). The thread waits there, below main() and outside all libraries, while the agent is
 * loaded as by inject_begin().
 *
 * The program continues without the agent if this process is killed at any moment.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/inject-request.h"

/*
 * Returns true if the agent can be loaded into programs that execute this open file. Otherwise
 * writes the reason, "it is ...", or "" if the file cannot be read.
 */
bool inject_exec_suits(int file, char *ret_reason, size_t capacity);

struct inject_exec {
	pid_t thread; /* it executes the file, but cannot begin yet */
	dev_t device; /* of the file */
	ino_t inode;
	const struct inject_request *request; /* except its pid */
	/* a file that the program must see in its root directory; NULL: none */
	const char *visible;
	int unused; /* a descriptor that the process closes first, or -1 */
	bool after; /* the thread runs the file already: its first calls may be missed */
};

/*
 * Start attaching. Returns a descriptor or a negative errno. Unless `after`, the first byte says that
 * the exec may begin, also if attaching has failed; inject_end() reads the remainder. The process ends by itself
 * when the caller ends. The report is INJECT_GONE if the thread has executed no file, or another
 * one. It is INJECT_DONE with `was_loaded` if the program has loaded libside or the agent itself.
 */
int inject_exec_begin(const struct inject_exec *exec, pid_t *ret_child);

#endif /* SIDE_ATTACH_EXEC_H */
