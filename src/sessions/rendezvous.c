/* SPDX-License-Identifier: MIT */
/* Creates sockets in the root directories and network namespaces of other programs. */
#include "sessions/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "protocol/protocol.h"

#define BACKLOG 1024

int rendezvous_open_root(pid_t pid)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int rendezvous_open_below(int root, const char *directory)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, root, directory, &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS)
		fd = openat(root, directory + 1, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int rendezvous_check_socket(pid_t pid, const char *name, struct stat *ret_status)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return stat(path, ret_status) ? -errno : 0;
}

int rendezvous_inspect(pid_t pid, struct rendezvous_view *ret_view)
{
	struct stat root = {0}, mounts = {0}, network = {0};
	int ret = rendezvous_check_socket(pid, "root", &root);

	if (!ret)
		ret = rendezvous_check_socket(pid, "ns/mnt", &mounts);
	if (!ret)
		ret = rendezvous_check_socket(pid, "ns/net", &network);
	if (!ret)
		*ret_view = (struct rendezvous_view){.device = root.st_dev,
				.inode = root.st_ino,
				.mounts = mounts.st_ino,
				.network = network.st_ino};
	return ret;
}

int rendezvous_open_dir(int root, const char *path)
{
	const char *name = strrchr(path, '/');
	char directory[RENDEZVOUS_PATH_SIZE], *last;

	if (*path != '/' || name == path || strcmp(name + 1, RENDEZVOUS_SOCKET) != 0 ||
			name - path >= (ptrdiff_t)sizeof(directory))
		return -EINVAL;
	memcpy(directory, path, (size_t)(name - path));
	directory[name - path] = 0;
	last = strrchr(directory, '/');
	if (strncmp(last + 1, RENDEZVOUS_PREFIX, strlen(RENDEZVOUS_PREFIX)) != 0)
		return -EINVAL;
	return rendezvous_open_below(root, directory);
}

/*
 * Creates a socket that every user can connect to: the directory restricts access, and the daemon
 * checks each peer. The mode is set from the beginning: a user who can write to the directory could
 * replace the socket by a link before a later chmod().
 */
static int make_socket(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;
	mode_t mask;

	if (fd < 0)
		return -errno;
	mask = umask(0111);
	error = bind(fd, (const struct sockaddr *)address, size) ? errno : 0;
	(void)umask(mask);
	if (!error)
		return fd;
	close(fd);
	return -error;
}

int rendezvous_listen_in(int dir)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, ret = 0;

	(void)unlinkat(dir, RENDEZVOUS_SOCKET "~", 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
			"/proc/self/fd/%d/" RENDEZVOUS_SOCKET "~", dir);
	fd = make_socket(&address, sizeof(address));
	if (fd < 0)
		return fd;
	if (listen(fd, BACKLOG) || renameat(dir, RENDEZVOUS_SOCKET "~", dir, RENDEZVOUS_SOCKET))
		ret = -errno;
	if (!ret)
		return fd;
	(void)unlinkat(dir, RENDEZVOUS_SOCKET "~", 0);
	close(fd);
	return ret;
}

int rendezvous_open_network(pid_t pid)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Enters the network namespace. *ret_own is the original one, to return to, or -1 if the thread is
 * in it already.
 */
static int go_to_network(int network, int *ret_own)
{
	struct stat theirs, ours;

	*ret_own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*ret_own < 0 || fstat(network, &theirs) || fstat(*ret_own, &ours))
		return -EPERM;
	if (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) {
		close(*ret_own);
		*ret_own = -1;
		return 0;
	}
	return setns(network, CLONE_NEWNET) ? -EPERM : 0;
}

int rendezvous_in_network(int network, int (*make)(void *user), void *user, int *ret_made)
{
	int own, ret = go_to_network(network, &own);

	if (!ret)
		*ret_made = make(user);
	if (own < 0)
		return ret;
	if (!ret)
		(void)setns(own, CLONE_NEWNET);
	close(own);
	return ret;
}

struct rendezvous_address {
	struct sockaddr_un address;
	socklen_t size;
};

static int listen_at_name(void *user)
{
	const struct rendezvous_address *name = user;
	int fd = make_socket(&name->address, name->size), ret;

	if (fd < 0 || !listen(fd, BACKLOG))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int rendezvous_listen_abstract(pid_t pid, const char *path)
{
	struct rendezvous_address name = {.address.sun_family = AF_UNIX};
	int network, ret, fd = -1;

	if (*path != '@' || strncmp(path + 1, RENDEZVOUS_PREFIX, strlen(RENDEZVOUS_PREFIX)) != 0 ||
			strlen(path) >= sizeof(name.address.sun_path))
		return -EINVAL;
	memcpy(name.address.sun_path, path, strlen(path));
	name.size = wire_socket_name(&name.address);
	network = rendezvous_open_network(pid);
	if (network < 0)
		return network;
	ret = rendezvous_in_network(network, listen_at_name, &name, &fd);
	close(network);
	return ret ? ret : fd;
}

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) ? -1 : value;
}

bool rendezvous_is_listener(int fd)
{
	return option_of(fd, SO_DOMAIN) == AF_UNIX && option_of(fd, SO_TYPE) == SOCK_SEQPACKET &&
			option_of(fd, SO_ACCEPTCONN) == 1;
}
