/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_PEER_H
#define SIDE_RECORDER_CORE_PEER_H

/*
 * The peer of a socket that any user can connect to: its process, and the descriptors that it can
 * send.
 *
 * A received descriptor is dangerous because closing it can block: a TCP socket with SO_LINGER
 * waits for data that its other end never reads, and a file of a FUSE file system waits for the
 * sender's own process. The kernel closes it in the thread that receives the message, or that
 * closes a socket with the message in its queue. So the loops of the recorder and of the daemon
 * never do either.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/*
 * Makes the kernel refuse messages with descriptors (Linux 6.16), also on sockets accepted later.
 * Returns false if the kernel does not support it.
 */
bool peer_refuse_fds(int socket);
/* True if the kernel refuses them on this socket already. Changes nothing. */
bool peer_refuses_fds(int socket);

/*
 * Receives one message without blocking. Returns its size, 0 at the end of the connection, or a
 * negative errno: -EAGAIN, or -EPROTO for a message that is too large or has descriptors, which
 * stays in the queue. Pass the result of peer_refuse_fds() as `refuses_fds`: if true, the kernel
 * has checked for descriptors.
 */
ssize_t peer_receive(int socket, void *message, size_t capacity, bool refuses_fds);

/* Closes the socket, whatever its queue contains, without blocking the caller. */
void peer_close(int socket, bool refuses_fds);
/* The same for a listening socket: connections that were not accepted have queues, too. */
void peer_close_listener(int socket, bool refuses_fds);

/*
 * Returns a pidfd of the process that made the connection, which was alive when the function
 * returned; -ESRCH if it has exited. A process id alone may belong to another process by now.
 */
int peer_open_process(int socket, const struct ucred *cred);
bool peer_has_exited(int pidfd);

#endif
