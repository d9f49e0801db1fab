/* SPDX-License-Identifier: MIT */
/*
 * The daemon's door, for programs that do not see its directory: they have another root directory or other mounts. Whoever
 * attaches has put a socket of the daemon's into what the program sees (or a name into its network namespace), and names it here. Behind
 * it are the daemon and all its sessions (wire.h: PASS), so that is all that is ever needed: no descriptor of anything
 * outside comes in, but the connections that we make ourselves, from any thread and in forked children.
 *
 * Later somebody else might listen at that place: a program that shares the directory, when the daemon has gone. So we remember who
 * listened when we were told of it, by a thread that had been made here with the right to do anything; whom the kernel names
 * then, or root, is spoken to, and nobody else.
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
 * Written with the turn of control.h. Whoever loads a library may look at any time: the first byte of the path is stored last, and is what
 * says that there is a door.
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
	/* Release: who sees no door has seen the path that was. Pairs with agent_rendezvous(). */
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
