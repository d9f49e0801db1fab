/* SPDX-License-Identifier: MIT */
/*
 * The socket that agents find, in a directory that only we can enter.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "session/parts.h"

/* XDG_RUNTIME_DIR if it is there and its name leaves room, else TMPDIR or /tmp. */
static bool make_runtime(struct session *session)
{
	const char *const places[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i] || places[i][0] != '/' ||
				snprintf(session->runtime, sizeof(session->runtime),
						"%s/side-XXXXXX",
						places[i]) >= (int)sizeof(session->runtime))
			continue;
		if (mkdtemp(session->runtime))
			return true;
	}
	session->runtime[0] = 0;
	return false;
}

int listener_open(struct session *session, struct session_error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &session->listener};

	if (!make_runtime(session))
		return session_fail(error, session_error_kind_of(errno), errno,
				"cannot make a directory for the socket in XDG_RUNTIME_DIR, TMPDIR "
				"or /tmp: "
				"%s",
				strerror(errno));
	snprintf(session->socket_path, sizeof(session->socket_path), "%s/agent", session->runtime);
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
	if (session->socket_path[0])
		unlink(session->socket_path);
	if (session->runtime[0])
		rmdir(session->runtime);
	session->socket_path[0] = session->runtime[0] = 0;
}
