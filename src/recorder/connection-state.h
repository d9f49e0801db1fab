/* SPDX-License-Identifier: MIT */
/* The connections of agents. Main thread only. */
#ifndef SIDE_RECORDER_CONNECTION_STATE_H
#define SIDE_RECORDER_CONNECTION_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/event-classes.h"
#include "recorder/core/outbox.h"
#include "recorder/core/shares.h"
#include "recorder/core/watch.h"

struct instance;
struct wire_refused;

/* The libraries of a LOADED, whose answer waits until all have been handled (loading.c). */
struct loading_paths {
	char *paths; /* NULL: none waits */
	const char *next;
	uint32_t left;
};

struct connection {
	struct recorder_watch watch;
	/* pidfd of the peer; -1: it had exited before the connection was accepted */
	struct recorder_watch process;
	struct connection *next;
	bool refuses_fds; /* result of peer_refuse_fds() */
	struct outbox outbox;
	uint64_t send_deadline; /* while messages are queued */
	bool is_introducing;    /* the queue contains the answer to its HELLO */
	pid_t peer;
	uid_t uid;
	gid_t gid;
	uint64_t hello_deadline;
	uint64_t deadline;
	struct instance *instance; /* set by its HELLO */

	/* The batch of descriptions that is arriving. */
	uint32_t sequence;
	uint32_t accepted;
	struct class_stream stream;
	struct wire_refused *refused;
	uint32_t nr_refused, refused_capacity;

	struct loading_paths loading;
};

struct session_connections {
	struct connection *list;
	struct connection *closed; /* closed, freed at the end of the turn */
	struct shares shares;
	unsigned char *message; /* buffer of WIRE_MESSAGE_MAX bytes */
};

#endif /* SIDE_RECORDER_CONNECTION_STATE_H */
