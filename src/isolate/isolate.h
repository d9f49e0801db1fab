/* SPDX-License-Identifier: MIT */
/* Drop rights of a process before it reads data of other users, so that an error in its parsers does little harm. */
#ifndef SIDE_ISOLATE_H
#define SIDE_ISOLATE_H

#include <stdbool.h>

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

#endif /* SIDE_ISOLATE_H */
