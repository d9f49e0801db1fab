/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_PEER_H
#define SIDE_RECORDER_CORE_PEER_H

/*
 * The other end of a socket that any user can connect to: its process, and the descriptors that it may send.
 *
 * A descriptor is dangerous because closing it can block: a TCP socket with SO_LINGER waits for data that its other end
 * never reads, and a file of a FUSE file system waits for the sender's own process. The kernel closes it in the thread that receives
 * the message, or that closes a socket in whose queue the message is. So the loops of the recorder and of the daemon never do either.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Let the kernel refuse messages with descriptors (Linux 6.16), also on sockets accepted later. False: it cannot. */
bool peer_refuse_fds(int socket);
/* True if the kernel refuses them already. Changes nothing. */
bool peer_refuses_fds(int socket);

/*
 * One message, without waiting. Returns its size, 0 at the end of the connection, -EAGAIN, or -EPROTO for one that is too large or has
 * descriptors, which stays in the queue. With `refuses_fds`, as peer_refuse_fds() has returned it, the kernel has checked that.
 */
ssize_t peer_receive(int socket, void *message, size_t capacity, bool refuses_fds);

/* Close it with any content of its queue. */
void peer_close(int socket, bool refuses_fds);
/* The same for one that listens: connections that were not accepted have queues, too. */
void peer_close_listener(int socket, bool refuses_fds);

/*
 * A pidfd of the process that made the connection, which lived when this returned; -ESRCH: it has exited. A process id alone may belong to
 * another process by now.
 */
int peer_open_process(int socket, const struct ucred *cred);
bool peer_has_exited(int pidfd);

#endif
