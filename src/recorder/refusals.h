/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_REFUSALS_H
#define SIDE_RECORDER_REFUSALS_H

/*
 * Programs that are not recorded because a share or a limit is used up, and that ask again.
 *
 * Callers: connections and the life of a session. Main thread, without the session's lock. refusals_report(): when the main thread waits
 * for the end of the drain thread, by that one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct connection;
struct session;
struct session_status;

/* A program that is not recorded, and asks again. */
struct refusal {
	pid_t peer;
	uint64_t started; /* session_process_start() */
	uid_t uid;
	char *procname;
	const char *reason;
};

/* The main thread's. */
struct session_refusals {
	size_t nr_processes;  /* that are not recorded */
	char *first;          /* the message about the first one */
	struct refusal *list; /* of those that still run */
	size_t nr;
};

/* Whether the process must be counted: it was not counted before. */
bool refusals_note(struct session *session, const struct connection *connection, const char *name,
		const char *reason, bool again);
void refusals_remove(struct session *session, pid_t peer);
void refusals_free(struct session *session);
int refusals_status(struct session *session, struct session_status *status);
/* Report the number of processes that are not recorded, in one message. */
void refusals_report(struct session *session);

#endif
