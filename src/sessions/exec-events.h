/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_EXEC_EVENTS_H
#define SIDE_SESSIONS_EXEC_EVENTS_H

/*
 * The kernel's reports of each process that has executed a file (the proc connector).
 *
 * They require CAP_NET_ADMIN, and the first namespaces of processes, users and networks.
 */

#include <sys/types.h>

/* Returns a descriptor, or a negative errno: -ETIMEDOUT if the kernel does not answer. */
int exec_events_open(void);
/*
 * Returns the next process that has executed a file, without waiting. Returns -EAGAIN if there is
 * none, -ENOBUFS if reports are lost, or another negative errno.
 */
pid_t exec_events_next(int fd);

#endif /* SIDE_SESSIONS_EXEC_EVENTS_H */
