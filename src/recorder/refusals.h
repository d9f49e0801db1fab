/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_REFUSALS_H
#define SIDE_RECORDER_REFUSALS_H

/*
 * Programs that are not recorded because a share or a limit is exhausted, and that ask again.
 *
 * Callers: connections, and the session's start and end. Main thread, without the session's lock.
 * refusals_report(): the drain thread, while the main thread waits for its end.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct connection;
struct session;
struct session_status;

/* A refused program that asks again. */
struct refusal {
	pid_t peer;
	uint64_t started; /* session_process_start() */
	uid_t uid;
	char *procname;
	const char *reason;
};

/* Main thread only. */
struct session_refusals {
	size_t nr_processes;  /* processes that were not recorded */
	char *first;          /* message about the first one */
	struct refusal *list; /* refused programs that still run */
	size_t nr;
};

/*
 * Records a refusal. Returns true if the process must be counted, because it was not counted
 * before.
 */
bool refusals_note(struct session *session, const struct connection *connection, const char *name,
		const char *reason, bool is_retry);
void refusals_remove(struct session *session, pid_t peer);
void refusals_free(struct session *session);
int refusals_status(struct session *session, struct session_status *status);
/* Reports the number of processes that were not recorded, in one message. */
void refusals_report(struct session *session);

#endif
