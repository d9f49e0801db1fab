/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_INSTANCE_CREATE_H
#define SIDE_RECORDER_INSTANCE_CREATE_H

/*
 * Creates the instance of a process that connects.
 *
 * Callers: connections. Main thread, without the session's lock, which it takes.
 */

struct connection;
struct instance;
struct session;
struct wire_hello;

/*
 * Takes ownership of the pidfd. Returns the instance, with the descriptors of the channels' rings
 * in ring_fds (none in a listing), which the caller closes; or NULL with the reason, which is sent
 * to the program. Main thread, without the lock.
 */
struct instance *instance_create(struct session *session, const struct wire_hello *hello,
		const struct connection *connection, int pidfd, int *ring_fds,
		const char **ret_reason);

#endif
