/* SPDX-License-Identifier: MIT */
/* Drop rights of a process before it reads data of other users, so that an error in its parsers does little harm. */
#ifndef SIDE_ISOLATE_H
#define SIDE_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>

enum isolate_network {
	ISOLATE_ACCEPTS, /* accepts connections at sockets that listen already */
	ISOLATE_NO_NETWORK,
};

/* Landlock: the process may write below these paths (ends with NULL) and nowhere else, and executes nothing. */
void isolate_files(const char *const *writable);

/* System calls that no recorder, receiver or parser needs: programs, processes, tracing, mounts and the like. Ends with NULL. */
extern const char *const isolate_refused[];

/* Both, and no new connection. False: the kernel supports no filter. */
bool isolate_process(const char *const *writable, enum isolate_network network);

/* What a parser may do from now on. Paths that do not exist are left out. */
struct isolate_limits {
	const char *const *readable; /* files, and directories with everything below them */
	size_t nr_readable;
	const char *const *
			writable; /* the same; also to read, and to create and remove files there */
	size_t nr_writable;
	bool connects; /* may connect to other machines, and set terminals */
};

/*
 * Landlock: no other file is opened, and no program executed. Seccomp: only the system calls of a parser, in this thread and
 * in those that it creates. False: the kernel supports no filter of system calls.
 */
bool isolate_parser(const struct isolate_limits *limits);

#endif /* SIDE_ISOLATE_H */
