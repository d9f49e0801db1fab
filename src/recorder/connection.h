/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CONNECTION_H
#define SIDE_RECORDER_CONNECTION_H

/*
 * Handles the messages of agents and answers them.
 *
 * Callers: the main loop (run-turn.c), and the session's start and end. Main thread only: it owns
 * the connections and never waits for a program or for the disk. Without the session's lock.
 */
#include "recorder/connection-state.h"

struct instance;
struct session;

#define LIMIT_CONNECTIONS 512
#define LIMIT_HELLO_MS 3000       /* from accept to HELLO */
#define LIMIT_CONNECTION_MS 10000 /* lifetime of a connection */
#define LIMIT_UNREAD_MS 3000      /* timeout of a peer that reads none of its queued messages */
#define LIMIT_UNREAD (8u << 20)   /* queued bytes of one connection */
#define LIMIT_UNREAD_OF_USER (16u << 20) /* queued bytes of all connections of one user */

void connection_accept(struct session *session);
void connection_ready(struct session *session, struct connection *connection);
/*
 * Call when the peer's process has exited: reads its remaining messages and closes the connection.
 */
void connection_peer_exited(struct session *session, struct recorder_watch *process);
/* Call at the end of each turn: closes connections whose deadline has passed. */
void connections_expire(struct session *session);
/* Frees the connections that were closed in this turn. */
void connections_free_closed(struct session *session);
void connections_close(struct session *session);
/* Call before the instance is freed: its connections no longer refer to it. */
void connections_forget(struct session *session, const struct instance *instance);

#endif
