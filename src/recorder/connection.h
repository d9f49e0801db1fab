/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CONNECTION_H
#define SIDE_RECORDER_CONNECTION_H

/*
 * Messages of an agent, and the answers.
 *
 * Callers: the loop (run.c) and the life of a session. Main thread: connections are its own, and it never waits for a program or for the
 * disk. Without the session's lock.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/event-classes.h"
#include "recorder/core/outbox.h"
#include "recorder/core/shares.h"
#include "recorder/core/watch.h"

struct instance;
struct session;
struct wire_refused;

#define LIMIT_CONNECTIONS 512
#define LIMIT_HELLO_MS 3000       /* from accept to HELLO */
#define LIMIT_CONNECTION_MS 10000 /* a connection's whole life */
#define LIMIT_UNREAD_MS 3000      /* a peer that reads none of the messages that wait for it */
#define LIMIT_UNREAD (8u << 20)   /* bytes that wait for one connection, ... */
#define LIMIT_UNREAD_OF_USER (16u << 20) /* ... and for all of one user */

struct connection {
	struct recorder_watch watch;
	struct recorder_watch
			process; /* the pidfd of the peer; -1: it had exited before the connection was accepted */
	struct connection *next;
	bool refuses_fds; /* peer_refuse_fds() */
	struct outbox outbox;
	uint64_t send_deadline; /* while messages wait there */
	bool is_introducing;    /* the answer to its HELLO is among them */
	pid_t peer;
	uid_t uid;
	gid_t gid;
	uint64_t hello_deadline;
	uint64_t deadline;
	struct instance *instance; /* after its HELLO */

	/* The batch of descriptions that is arriving. */
	uint32_t sequence;
	uint32_t accepted;
	struct class_stream stream;
	struct wire_refused *refused;
	uint32_t nr_refused, refused_capacity;
};

/* The main thread's. */
struct session_connections {
	struct connection *list;
	struct connection *closed; /* freed at the end of the turn */
	struct shares shares;
	unsigned char *message; /* WIRE_MESSAGE_MAX */
};

void connection_accept(struct session *session);
void connection_ready(struct session *session, struct connection *connection);
/* The process at the other end has exited, and what it has sent is read. */
void connection_peer_exited(struct session *session, struct recorder_watch *process);
/* At the end of each turn: close late connections. */
void connections_expire(struct session *session);
/* Free the connections that this turn has closed. */
void connections_free_closed(struct session *session);
void connections_close(struct session *session);
/* Those of an instance that is freed. */
void connections_forget(struct session *session, const struct instance *instance);

#endif
