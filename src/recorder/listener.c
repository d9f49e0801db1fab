/* SPDX-License-Identifier: MIT */
/* Opens and closes the socket that agents connect to. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "protocol/protocol.h"
#include "recorder/connection.h"
#include "recorder/core/peer.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/core/watch.h"
#include "recorder/listener.h"
#include "recorder/runtime.h"
#include "recorder/session-state.h"

/* Creates an unconnected socket. Returns 0 or an errno. */
static int listener_make(struct session *session)
{
	session->listener.watch.kind = WATCH_LISTENER;
	session->listener.watch.fd =
			socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (session->listener.watch.fd < 0)
		return errno;
	session->listener.refuses_fds = peer_refuse_fds(session->listener.watch.fd);
	return 0;
}

/* Listens, and adds the socket to the main loop. Returns 0, or -1 with errno set. */
static int listener_begin(struct session *session)
{
	int ret;

	if (listen(session->listener.watch.fd, LIMIT_CONNECTIONS))
		return -1;
	ret = watch_add(session, &session->listener.watch);
	if (!ret)
		return 0;
	errno = -ret;
	return -1;
}

int listener_open(struct session *session, struct error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int ret = runtime_make(session);

	if (ret)
		return error_set_kind(error, report_error_kind(ret), ret, NULL,
				"cannot make a directory for the socket in XDG_RUNTIME_DIR, TMPDIR or /tmp: %s",
				strerror(-ret));
	memcpy(address.sun_path, session->listener.path, strlen(session->listener.path) + 1);
	if (listener_make(session) ||
			bind(session->listener.watch.fd, (struct sockaddr *)&address,
					sizeof(address)) ||
			(session->listener.is_secret && chmod(session->listener.path, 0666)) ||
			listener_begin(session))
		return error_set_kind(error, report_error_kind(errno), -errno, NULL,
				"cannot listen on %s: %s", session->listener.path, strerror(errno));
	return 0;
}

static int listener_set_path_error(struct error *error, const char *path, int code)
{
	return error_set_kind(error, report_error_kind(code), -code, NULL,
			"cannot listen on %s: %s", path, strerror(code));
}

/*
 * Creates the file with this mode from the beginning: if other users can write to the directory,
 * one of them could replace it with a link before a later chmod(). The process's umask can change
 * because the drain thread, the only other thread that creates files, has not started.
 */
static int bind_with(int fd, const struct sockaddr_un *address, mode_t mode)
{
	mode_t mask = umask(~mode & 0777);
	int ret = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? errno : 0;

	(void)umask(mask);
	return ret;
}

/* Prepares the socket under another name, so that programs find a working socket at any time. */
static int listen_aside(struct session *session, const struct sockaddr_un *address)
{
	mode_t mode = session->service->any_user ? 0666 : 0600;
	int ret;

	ret = listener_make(session);
	if (ret)
		return ret;
	unlink(address->sun_path);
	ret = bind_with(session->listener.watch.fd, address, mode);
	if (ret)
		return ret;
	return listener_begin(session) ? errno : 0;
}

/*
 * Stores the identity of the socket after its rename, so that listener_close() never removes a
 * socket of another recorder.
 */
static int listener_store_socket_identity(struct session *session, const char *path)
{
	struct service *service = session->service;
	struct stat status;

	service->socket = strdup(path);
	if (!service->socket)
		return ENOMEM;
	if (lstat(path, &status))
		return errno;
	service->socket_device = status.st_dev;
	service->socket_inode = status.st_ino;
	return 0;
}

/* Listens on a name that is in no directory; it disappears with this process. */
static int listen_nowhere(struct session *session, const char *path, struct error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size;

	if (strlen(path) >= sizeof(address.sun_path))
		return listener_set_path_error(error, path, ENAMETOOLONG);
	memcpy(address.sun_path, path, strlen(path));
	size = wire_socket_name(&address);
	if (listener_make(session) ||
			bind(session->listener.watch.fd, (const struct sockaddr *)&address, size) ||
			listener_begin(session))
		return listener_set_path_error(error, path, errno);
	return 0;
}

int listener_open_at(struct session *session, const char *path, struct error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	int code;

	if (path[0] == '@')
		return listen_nowhere(session, path, error);

	/* Includes a byte for the temporary name. */
	if (path[0] != '/' || strlen(path) + 2 > sizeof(address.sun_path))
		return error_set_kind(error, ERROR_USAGE, -ENAMETOOLONG, NULL,
				"%s cannot be the path of a socket: it is absolute, and has at most %zu bytes",
				path, sizeof(address.sun_path) - 2);
	if (!lstat(path, &status) && !S_ISSOCK(status.st_mode))
		return listener_set_path_error(error, path, EEXIST);
	memcpy(stpcpy(address.sun_path, path), "~", 2);
	code = listen_aside(session, &address);
	if (!code && rename(address.sun_path, path))
		code = errno;
	if (code) {
		unlink(address.sun_path);
		return listener_set_path_error(error, path, code);
	}
	code = listener_store_socket_identity(session, path);
	return code ? listener_set_path_error(error, path, code) : 0;
}

static void remove_socket(const struct service *service)
{
	struct stat status;

	if (service->socket && !lstat(service->socket, &status) &&
			status.st_dev == service->socket_device &&
			status.st_ino == service->socket_inode)
		unlink(service->socket);
}

void listener_close(struct session *session)
{
	peer_close_listener(session->listener.watch.fd, session->listener.refuses_fds);
	session->listener.watch.fd = -1;
	if (session->service)
		remove_socket(session->service);
	runtime_remove(session);
}
