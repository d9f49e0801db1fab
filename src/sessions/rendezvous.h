/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_RENDEZVOUS_H
#define SIDE_SESSIONS_RENDEZVOUS_H

/*
 * Rendezvous sockets for programs that have another root directory, other mounts or another network
 * namespace. `side attach` creates them for a recording or for the daemon (protocol/protocol.h:
 * PASS), and a restarted daemon creates them again.
 *
 * A path is in the program's view: `DIRECTORY/side-door-XXXXXX/agents`, or @NAME, an abstract name
 * in its network namespace.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RENDEZVOUS_PATH_SIZE 108
#define RENDEZVOUS_PREFIX "side-door-" /* of its directory, or of an abstract name */
#define RENDEZVOUS_SOCKET "agents"

/*
 * Opens the root directory of a process, which stays usable after the process has exited. Returns a
 * descriptor or a negative errno.
 */
int rendezvous_open_root(pid_t pid);
/*
 * Opens a directory below it; links cannot leave the root. Returns a descriptor or a negative
 * errno.
 */
int rendezvous_open_below(int root, const char *directory);

/* Identifies the directories and networks that a process sees, to compare two processes. */
struct rendezvous_view {
	uint64_t device, inode; /* of the root directory */
	uint64_t mounts, network;
};
/* Fills in *ret_view. Returns 0 or a negative errno. */
int rendezvous_inspect(pid_t pid, struct rendezvous_view *ret_view);

/*
 * Opens the directory in a rendezvous path, below a root directory. Returns a descriptor or a
 * negative errno: -EINVAL if it is no such path.
 */
int rendezvous_open_dir(int root, const char *path);

/*
 * Creates the socket in this directory, and replaces one on which no process listens. Returns a
 * descriptor or a negative errno.
 */
int rendezvous_listen_in(int dir);
/* The same for an abstract name in the network namespace of this process. */
int rendezvous_listen_abstract(pid_t pid, const char *path);

/*
 * Calls `make` in that network namespace; other threads of this process stay where they are. Stores
 * its result in *ret_made. Returns -EPERM if entering is not permitted; then nothing was done.
 */
int rendezvous_in_network(int network, int (*make)(void *user), void *user, int *ret_made);
int rendezvous_open_network(pid_t pid);

/* True if this descriptor is a listening socket of the right type. Any process may have made it. */
bool rendezvous_is_listener(int fd);

#endif
