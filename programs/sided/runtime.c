/* SPDX-License-Identifier: MIT */
/*
 * The runtime directory: the daemon locks it, and creates its two sockets or gets them from
 * systemd. A socket gets its name only after listen(), so that each connect() succeeds.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/inside/descriptors.h"
#include "recorder/core/peer.h"
#include "sided.h"
#include "protocol/runtime.h"

#define LISTEN_FIRST 3
#define LISTEN_MOST 16
#define BACKLOG 1024
#define GROUPS_MAX 4096

static int sided_runtime_set_path_error(
		struct error *error, int code, const char *what, const char *path)
{
	return error_set(error, code, NULL, "cannot %s %s: %s", what, path, strerror(-code));
}

bool runtime_path(const struct daemon *daemon, char *path, size_t capacity, const char *format, ...)
{
	va_list arguments;
	int size = snprintf(path, capacity, "%s/", daemon->runtime);

	if (size < 0 || (size_t)size >= capacity)
		return false;
	va_start(arguments, format);
	capacity -= (size_t)size;
	size = vsnprintf(path + size, capacity, format, arguments);
	va_end(arguments);
	return size >= 0 && (size_t)size < capacity;
}

/* ---- the directory ---- */

static int sided_runtime_choose_directory(
		struct daemon *daemon, const char *requested, struct error *error)
{
	char path[256];
	const char *environment = getenv(WIRE_RUNTIME_ENV);
	int ret = 0;

	if (requested)
		snprintf(path, sizeof(path), "%s", requested);
	else if (daemon->system)
		snprintf(path, sizeof(path), "%s", environment ? environment : WIRE_RUNTIME_SYSTEM);
	else
		ret = wire_runtime_directory(path, sizeof(path), false);
	if (ret)
		return sided_runtime_set_path_error(error, ret, "use the runtime directory",
				environment ? environment : path);
	if (*path != '/')
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"the runtime directory %s is not an absolute path", path);
	if (strlen(path) >= sizeof(daemon->runtime))
		return error_set_kind(error, ERROR_USAGE, -ENAMETOOLONG,
				"name a shorter one with --runtime",
				"the runtime directory %s has more than %zu bytes, which is too long for the path of a socket",
				path, sizeof(daemon->runtime) - 1);
	strcpy(daemon->runtime, path);
	return 0;
}

/* Reports what is wrong with the directory: its owner or its mode. */
static int fail_trust(const char *path, struct error *error)
{
	char hint[512];
	struct stat status;

	if (lstat(path, &status))
		return sided_runtime_set_path_error(error, -errno, "use the directory", path);
	if (!status.st_uid || status.st_uid == geteuid()) {
		snprintf(hint, sizeof(hint), "`chmod go-w %s`", path);
		return error_set_kind(error, ERROR_PERMISSION, -EPERM, hint,
				"cannot use the directory %s: other users can write to it", path);
	}
	snprintf(hint, sizeof(hint), "`rm -r %s`, or name another one with --runtime", path);
	return error_set_kind(error, ERROR_PERMISSION, -EPERM, hint,
			"cannot use the directory %s: it belongs to user %u", path,
			(unsigned int)status.st_uid);
}

static int sided_runtime_make_directory(const char *path, mode_t mode, struct error *error)
{
	int ret;

	if (mkdir(path, mode) && errno != EEXIST)
		return sided_runtime_set_path_error(error, -errno, "make the directory", path);
	ret = wire_runtime_check(path);
	if (ret == -EPERM)
		return fail_trust(path, error);
	if (ret)
		return sided_runtime_set_path_error(error, ret, "use the directory", path);
	/* The umask may have removed permissions that other users need. */
	if (chmod(path, mode))
		return sided_runtime_set_path_error(error, -errno, "set the mode of", path);
	return 0;
}

static int make_directories(struct daemon *daemon, struct error *error)
{
	static const char *const below[] = {
			WIRE_RUNTIME_SESSIONS, WIRE_RUNTIME_STATE, WIRE_RUNTIME_STATE_DIRS};
	/*
	 * Programs of other users know the names in the directory of root's daemon, so they need
	 * not list it.
	 */
	mode_t mode = daemon->system ? 0755 : daemon->any_user ? 0711 : 0700;
	int ret = sided_runtime_make_directory(daemon->runtime, mode, error);
	char path[256];
	size_t i;

	for (i = 0; i < sizeof(below) / sizeof(*below) && !ret; i++) {
		if (!runtime_path(daemon, path, sizeof(path), "%s", below[i]))
			return -ENAMETOOLONG;
		/* Programs of other users need only the sockets of sessions. */
		ret = sided_runtime_make_directory(path, i ? 0700 : mode, error);
	}
	return ret;
}

/* Reports why the lock failed. The file belongs to another daemon: do not change it. */
static int fail_lock(struct daemon *daemon, const char *path, int code, struct error *error)
{
	char pid[32] = "";
	ssize_t size = read(daemon->lock_fd, pid, sizeof(pid) - 1);

	close(daemon->lock_fd);
	daemon->lock_fd = -1;
	if (code != -EWOULDBLOCK)
		return sided_runtime_set_path_error(error, code, "lock", path);
	pid[size > 0 ? strspn(pid, "0123456789") : 0] = 0;
	return error_set_kind(error, ERROR_BUSY, -EBUSY,
			"use that daemon, or stop it first, or name another directory with --runtime",
			"a daemon serves %s already: process %s", daemon->runtime,
			*pid ? pid : "unknown");
}

static int sided_runtime_acquire_lock(struct daemon *daemon, struct error *error)
{
	char path[256], pid[32];

	runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_PID);
	daemon->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (daemon->lock_fd < 0)
		return sided_runtime_set_path_error(error, -errno, "open", path);
	if (flock(daemon->lock_fd, LOCK_EX | LOCK_NB))
		return fail_lock(daemon, path, -errno, error);
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(daemon->lock_fd, 0) ||
			pwrite(daemon->lock_fd, pid, strlen(pid), 0) != (ssize_t)strlen(pid))
		return sided_runtime_set_path_error(error, -errno, "write", path);
	return 0;
}

/* ---- sockets ---- */

static int sided_runtime_listen(struct daemon *daemon, const char *name, mode_t mode, gid_t group,
		int *ret_fd, struct error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[sizeof(address.sun_path)];
	int fd, ret = 0;

	if (!runtime_path(daemon, address.sun_path, sizeof(address.sun_path), "%s.new", name) ||
			!runtime_path(daemon, path, sizeof(path), "%s", name))
		return sided_runtime_set_path_error(
				error, -ENAMETOOLONG, "use the directory", daemon->runtime);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sided_runtime_set_path_error(
				error, -errno, "make a socket in", daemon->runtime);
	/* Set this before any program connects: connections inherit it from the listener. */
	if (!strcmp(name, WIRE_RUNTIME_AGENTS))
		daemon->agents_refuse_fds = peer_refuse_fds(fd);
	unlink(address.sun_path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
			(group != (gid_t)-1 && chown(address.sun_path, (uid_t)-1, group)) ||
			chmod(address.sun_path, mode) || listen(fd, BACKLOG) ||
			rename(address.sun_path, path))
		ret = -errno;
	if (ret) {
		close(fd);
		return sided_runtime_set_path_error(error, ret, "listen at", path);
	}
	*ret_fd = fd;
	return 0;
}

/* Gets the name of a listening socket below the runtime directory that still exists, or "". */
static void socket_name(const struct daemon *daemon, int fd, char *name, size_t capacity)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(address) - 1;
	size_t length;
	struct stat status;
	int type = 0;
	socklen_t type_size = sizeof(type);

	*name = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) || type != SOCK_SEQPACKET ||
			getsockname(fd, (struct sockaddr *)&address, &size) ||
			address.sun_family != AF_UNIX)
		return;
	/* The daemon binds sockets to a temporary name and renames them. */
	length = strlen(daemon->runtime);
	if (strncmp(address.sun_path, daemon->runtime, length) != 0 ||
			address.sun_path[length] != '/')
		return;
	snprintf(name, capacity, "%s", address.sun_path + length + 1);
	length = strlen(name);
	if (length > 4 && !strcmp(name + length - 4, ".new"))
		name[length - 4] = 0;
	if (!runtime_path(daemon, address.sun_path, sizeof(address.sun_path), "%s", name) ||
			lstat(address.sun_path, &status) || !S_ISSOCK(status.st_mode))
		*name = 0;
}

/* Takes the sockets that systemd passes, by socket activation or from its store. */
static void take_sockets(struct daemon *daemon, int *ret_control, int *ret_agents)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int nr = pid && count && strtol(pid, NULL, 10) == getpid() ? (int)strtol(count, NULL, 10)
								   : 0;
	char name[128];
	int fd;

	if (nr > LISTEN_MOST)
		nr = LISTEN_MOST;
	for (fd = LISTEN_FIRST; fd < LISTEN_FIRST + nr; fd++) {
		int *which = NULL;

		socket_name(daemon, fd, name, sizeof(name));
		if (!strcmp(name, WIRE_RUNTIME_CONTROL))
			which = ret_control;
		else if (!strcmp(name, WIRE_RUNTIME_AGENTS))
			which = ret_agents;
		if (!which || *which >= 0) {
			close(fd);
			continue;
		}
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		*which = fd;
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}

static int open_sockets(struct daemon *daemon, struct error *error)
{
	int control = -1, agents = -1, ret = 0;

	take_sockets(daemon, &control, &agents);
	daemon->control_is_ours = control < 0;
	daemon->agents_is_ours = agents < 0;
	/* True for the socket of an earlier daemon, false for one of systemd. */
	daemon->agents_refuse_fds = agents >= 0 && peer_refuses_fds(agents);
	/*
	 * Open the socket for programs first: a client that can connect to the other one may start
	 * programs that need it.
	 */
	if (agents < 0)
		ret = sided_runtime_listen(daemon, WIRE_RUNTIME_AGENTS,
				daemon->any_user ? 0666 : 0600, (gid_t)-1, &agents, error);
	if (!ret && control < 0)
		ret = sided_runtime_listen(daemon, WIRE_RUNTIME_CONTROL,
				daemon->group != (gid_t)-1 ? 0660 : 0600, daemon->group, &control,
				error);
	if (ret)
		return ret;
	ret = loop_watch(daemon, &daemon->control_listener, control, EPOLLIN, clients_ready);
	if (!ret)
		ret = loop_watch(daemon, &daemon->agents_listener, agents, EPOLLIN, agents_ready);
	if (ret)
		return sided_runtime_set_path_error(error, ret, "listen in", daemon->runtime);
	if (daemon->control_is_ours)
		notify_store(control, "control");
	if (daemon->agents_is_ours)
		notify_store(agents, "agents");
	return 0;
}

int runtime_open(struct daemon *daemon, const char *directory, struct error *error)
{
	struct group *group = daemon->system ? getgrnam(WIRE_RUNTIME_GROUP) : NULL;
	int ret = sided_runtime_choose_directory(daemon, directory, error);

	daemon->group = group ? group->gr_gid : (gid_t)-1;
	if (!ret)
		ret = make_directories(daemon, error);
	return ret ? ret : sided_runtime_acquire_lock(daemon, error);
}

/* ---- the serial of the last change ---- */

/*
 * Publishes the serial. Programs read it before their first event, and do not connect if they know
 * this serial already (tracers/agent/core/control-changes.c). If it does not exist, they connect.
 */
void runtime_publish(struct daemon *daemon)
{
	char path[256], text[64];

	if (!runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_SERIAL))
		return;
	unlink(path);
	if (!daemon->identity &&
			getrandom(&daemon->identity, sizeof(daemon->identity), GRND_NONBLOCK) !=
					sizeof(daemon->identity)) {
		daemon->identity = 0;
		return;
	}
	snprintf(text, sizeof(text), "%016" PRIx64 "-%" PRIu64, daemon->identity, daemon->serial);
	/* After a failure it does not exist, and programs connect. */
	if (symlink(text, path))
		unlink(path);
}

int runtime_listen(struct daemon *daemon, struct error *error)
{
	runtime_publish(daemon);
	return open_sockets(daemon, error);
}

void runtime_close(struct daemon *daemon)
{
	char path[256];

	/* systemd keeps its own sockets, and those in its store. */
	if (daemon->control_is_ours && !getenv("NOTIFY_SOCKET")) {
		runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_CONTROL);
		unlink(path);
	}
	if (daemon->agents_is_ours && !getenv("NOTIFY_SOCKET")) {
		runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_AGENTS);
		unlink(path);
	}
	if (daemon->lock_fd >= 0) {
		runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_SERIAL);
		unlink(path);
		runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_PID);
		unlink(path);
		close(daemon->lock_fd);
	}
}

/* ---- peers ---- */

int runtime_peer(int fd, struct peer *ret_peer)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size))
		return -errno;
	*ret_peer = (struct peer){credentials.pid, credentials.uid, credentials.gid};
	return 0;
}

bool runtime_peer_in_group(int fd, const struct peer *peer, gid_t group)
{
	static gid_t groups[GROUPS_MAX];
	socklen_t size = sizeof(groups);
	size_t i;

	if (group == (gid_t)-1)
		return false;
	if (peer->gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

/* ---- systemd's protocol: a datagram ---- */

static void notify_with(const char *text, int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	DESCRIPTORS_CONTROL(1) control = {.bytes = {0}};
	char copy[256];
	struct iovec iov = {.iov_base = copy};
	struct msghdr message = {.msg_name = &address, .msg_iov = &iov, .msg_iovlen = 1};
	int socket_fd;

	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(address.sun_path))
		return;
	strcpy(address.sun_path, path);
	message.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (*path == '@')
		address.sun_path[0] = 0;
	snprintf(copy, sizeof(copy), "%s", text);
	iov.iov_len = strlen(copy);
	descriptors_attach(&message, control.bytes, &fd, fd >= 0);
	socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (socket_fd < 0)
		return;
	sendmsg(socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(socket_fd);
}

void notify(const char *text)
{
	notify_with(text, -1);
}

void notify_store(int fd, const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s", name);
	notify_with(text, fd);
}
