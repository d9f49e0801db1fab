/* SPDX-License-Identifier: MIT */
/*
 * The rendezvous socket of the daemon, for programs with another root directory or other mounts,
 * which do not see its directory.
 *
 * `side attach` makes a socket of the daemon visible to the program (or gives it a name in the
 * program's network namespace), and names it here. The daemon and all its sessions are behind it
 * (protocol.h: PASS). The process receives no descriptor from outside: each connection is its own,
 * from any thread and in forked children.
 *
 * After the daemon has exited, another program that shares the directory could listen on the name.
 * So the agent stores the ids of the listener at the time of the request, which came from a
 * privileged thread. It sends messages only to a listener with those ids, or to root.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "tracers/agent/core/rendezvous.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/session.h"
#include "base/inside/raw.h"

/*
 * Written with the turn (control-state.h). A thread that loads a library may read it at any time:
 * the first byte of the path is stored last, and shows that the socket is known.
 */
static struct {
	char path[AGENT_RENDEZVOUS_SIZE]; /* "": there is none */
	bool known;
	uid_t owner;
} rendezvous;

const char *agent_rendezvous(void)
{
	/* Acquire: the rest of the path. Pairs with the releases in agent_rendezvous_set(). */
	return __atomic_load_n(&rendezvous.path[0], __ATOMIC_ACQUIRE) ? rendezvous.path : NULL;
}

int agent_rendezvous_set(const char *path)
{
	size_t size = path ? strlen(path) : 0;

	if (size >= sizeof(rendezvous.path))
		return -ENAMETOOLONG;
	/*
	 * Release: a reader that finds no socket has finished with the old path. Pairs with
	 * agent_rendezvous().
	 */
	__atomic_store_n(&rendezvous.path[0], 0, __ATOMIC_RELEASE);
	rendezvous.known = false;
	if (!size)
		return 0;
	memcpy(rendezvous.path + 1, path + 1, size);
	/* Release: all of the new one. Pairs with agent_rendezvous(). */
	__atomic_store_n(&rendezvous.path[0], path[0], __ATOMIC_RELEASE);
	return 0;
}

static int check_owner(int socket)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t size = sizeof(peer);
	long ret = raw_call(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);

	if (ret)
		return (int)ret;
	if (!rendezvous.known) {
		rendezvous.owner = peer.uid;
		rendezvous.known = true;
	}
	return peer.uid == rendezvous.owner || !peer.uid ? 0 : -EPERM;
}

/* The answer says that it is with the session before anything else that we say to the daemon. */
static int agent_rendezvous_request_session(int socket, const char *session, uint64_t deadline)
{
	struct wire_pass pass = {.path = session};
	char message[256];
	ssize_t size = wire_encode_pass(message, sizeof(message), &pass);
	int ret = size < 0 ? (int)size
			   : wire_send(socket, message, (size_t)size, NULL, 0, deadline);

	if (ret)
		return ret;
	size = wire_receive(socket, message, sizeof(message), NULL, NULL, deadline);
	if (size <= 0)
		return size ? (int)size : -ECONNRESET;
	return wire_decode_pass(message, (size_t)size, &pass);
}

int agent_rendezvous_connect(const char *session, uint64_t deadline)
{
	int socket = wire_connect(rendezvous.path, deadline), ret;

	if (socket < 0)
		return socket;
	ret = check_owner(socket);
	if (!ret && session)
		ret = agent_rendezvous_request_session(socket, session, deadline);
	if (!ret)
		return socket;
	wire_close(socket);
	return ret;
}

/* What a daemon has told us of is where the daemon is. */
bool agent_session_by_rendezvous(const struct agent_session *session)
{
	return agent_rendezvous() && !session->is_explicit && !session->boot;
}

int agent_session_connect(const struct agent_session *session, uint64_t deadline)
{
	return agent_session_by_rendezvous(session)
			? agent_rendezvous_connect(session->path, deadline)
			: wire_connect(session->path, deadline);
}
