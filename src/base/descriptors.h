/* SPDX-License-Identifier: MIT */
/* Messages of Unix sockets that carry descriptors (SCM_RIGHTS), sent and received by programs. */
#ifndef SIDE_BASE_DESCRIPTORS_H
#define SIDE_BASE_DESCRIPTORS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/inside/descriptors.h"

#define DESCRIPTORS_AT_ONCE 8 /* that a message of a program has space for */

/*
 * Send a message with nr descriptors (0: none). `flags` as for sendmsg(); MSG_NOSIGNAL is added.
 * Continues after a signal. Returns what sendmsg() returned, or a negative errno: -E2BIG for more
 * than DESCRIPTORS_AT_ONCE.
 */
ssize_t descriptors_send(
		int socket, const void *bytes, size_t size, const int *fds, size_t nr, int flags);

struct descriptors_received {
	int fds[DESCRIPTORS_AT_ONCE]; /* close-on-exec; they belong to the caller */
	size_t nr;
	int flags; /* MSG_TRUNC, MSG_CTRUNC: the message or its descriptors did not fit */
};

/*
 * Receive a message and its descriptors. `flags` as for recvmsg(); MSG_CMSG_CLOEXEC is added.
 * Continues after a signal. Returns what recvmsg() returned, or a negative errno, without
 * descriptors then.
 */
ssize_t descriptors_receive(int socket, void *ret_bytes, size_t capacity, int flags,
		struct descriptors_received *ret_received);

/* Close all of them. */
void descriptors_close(struct descriptors_received *received);

#endif /* SIDE_BASE_DESCRIPTORS_H */
