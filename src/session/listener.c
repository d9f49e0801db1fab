/* SPDX-License-Identifier: MIT */
/*
 * The socket that agents find.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "session/parts.h"

int listener_open(struct session *session, struct session_error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &session->listener};
	int ret = runtime_make(session);

	if (ret)
		return session_fail(error, session_error_kind_of(ret), ret,
				"cannot make a directory for the socket in XDG_RUNTIME_DIR, TMPDIR "
				"or /tmp: "
				"%s",
				strerror(-ret));
	memcpy(address.sun_path, session->socket_path, strlen(session->socket_path) + 1);
	session->listener.kind = WATCH_LISTENER;
	session->listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (session->listener.fd < 0 ||
			bind(session->listener.fd, (struct sockaddr *)&address, sizeof(address)) ||
			listen(session->listener.fd, LIMIT_CONNECTIONS) ||
			epoll_ctl(session->epoll, EPOLL_CTL_ADD, session->listener.fd, &event))
		return session_fail(error, session_error_kind_of(errno), errno,
				"cannot listen on %s: %s", session->socket_path, strerror(errno));
	return 0;
}

void listener_close(struct session *session)
{
	if (session->listener.fd >= 0)
		close(session->listener.fd);
	session->listener.fd = -1;
	runtime_remove(session);
}
