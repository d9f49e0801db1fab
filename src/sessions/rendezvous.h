/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_RENDEZVOUS_H
#define SIDE_SESSIONS_RENDEZVOUS_H

/*
 * Sockets where programs find them that have another root directory, other mounts or another network: made by whoever attaches, for
 * a recording or as a door of the daemon's (protocol/protocol.h: PASS), and made again by a daemon that is started again.
 *
 * A path is as the program sees it, DIRECTORY/side-door-XXXXXX/agents, or @NAME: a name in no directory, but in its network namespace.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RENDEZVOUS_PATH_SIZE 108
#define RENDEZVOUS_PREFIX "side-door-" /* of its directory, and of its name if it is in none */
#define RENDEZVOUS_SOCKET "agents"

/* A process's root directory, which stays open: it may end before we do. Or a negative errno. */
int rendezvous_open_root(pid_t pid);
/* A directory below it, where its links lead nowhere else. Or a negative errno. */
int rendezvous_open_below(int root, const char *directory);

/* What tells whether two programs see the same directories and names. */
struct rendezvous_view {
	uint64_t device, inode; /* of the root directory */
	uint64_t mounts, network;
};
/* 0 or a negative errno. */
int rendezvous_inspect(pid_t pid, struct rendezvous_view *view);

/* The directory of a door's path, below a root directory, or a negative errno: -EINVAL for what is no such path. */
int rendezvous_open_dir(int root, const char *path);

/* The socket in this directory, in the place of one to which nobody listens: who finds it gets through. A descriptor, or a negative errno. */
int rendezvous_listen_in(int dir);
/* A name in the network namespace of this process. Likewise. */
int rendezvous_listen_abstract(pid_t pid, const char *path);

/*
 * Call `make` as if we were in that network namespace; our other threads stay where they are. What it returns is put into *result. -EPERM: we
 * may not go there, and nothing was done.
 */
int rendezvous_in_network(int network, int (*make)(void *user), void *user, int *result);
int rendezvous_open_network(pid_t pid);

/* Does this descriptor listen, as a door does? Anybody may have made it. */
bool rendezvous_is_listener(int fd);

#endif
