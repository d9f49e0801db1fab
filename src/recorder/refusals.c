/* SPDX-License-Identifier: MIT */
/*
 * Stores programs that are not recorded because a share or a limit is exhausted: their number, and
 * the names of those that still run.
 *
 * Such a program asks again, at growing intervals, until it is recorded. A program is counted once.
 * The entries of each user are limited. If a program has no entry, the flag WIRE_FEATURE_RETRY in
 * its message tells whether it was counted before. A program that lies changes only the count of
 * its own user.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/connection-state.h"
#include "recorder/core/leases.h"
#include "recorder/core/live.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/refusals.h"
#include "recorder/session-state.h"

#define REFUSALS_MAX 512

static void refusals_forget(struct session *session, size_t at)
{
	free(session->refusals.list[at].procname);
	session->refusals.list[at] = session->refusals.list[--session->refusals.nr];
}

static bool refusal_is_live(const struct refusal *refusal)
{
	return session_process_start(refusal->peer) == refusal->started;
}

static void refusals_prune(struct session *session)
{
	for (size_t i = session->refusals.nr; i-- > 0;)
		if (!refusal_is_live(&session->refusals.list[i]))
			refusals_forget(session, i);
}

void refusals_remove(struct session *session, pid_t peer)
{
	for (size_t i = session->refusals.nr; i-- > 0;)
		if (session->refusals.list[i].peer == peer)
			refusals_forget(session, i);
}

static bool refusals_has_space(struct session *session, uid_t uid)
{
	size_t nr = 0;

	for (size_t i = 0; i < session->refusals.nr; i++)
		nr += session->refusals.list[i].uid == uid;
	if (nr >= REFUSALS_OF_USER)
		refusals_prune(session);
	else if (session->refusals.nr < REFUSALS_MAX)
		return true;
	for (size_t i = nr = 0; i < session->refusals.nr; i++)
		nr += session->refusals.list[i].uid == uid;
	return nr < REFUSALS_OF_USER && session->refusals.nr < REFUSALS_MAX;
}

static void refusals_add(struct session *session, const struct refusal *refusal)
{
	struct refusal *list =
			realloc(session->refusals.list, (session->refusals.nr + 1) * sizeof(*list));

	if (!list)
		return;
	session->refusals.list = list;
	list[session->refusals.nr] = *refusal;
	list[session->refusals.nr].procname = strdup(refusal->procname ? refusal->procname : "?");
	session->refusals.nr += list[session->refusals.nr].procname != NULL;
}

bool refusals_note(struct session *session, const struct connection *connection, const char *name,
		const char *reason, bool is_retry)
{
	struct refusal refusal = {.peer = connection->peer,
			.started = session_process_start(connection->peer),
			.uid = connection->uid,
			.procname = (char *)(uintptr_t)name,
			.reason = reason};
	bool has_space;

	for (size_t i = 0; i < session->refusals.nr; i++) {
		struct refusal *known = &session->refusals.list[i];

		if (known->peer == refusal.peer && known->started == refusal.started) {
			known->reason = reason;
			return false;
		}
	}
	has_space = refusals_has_space(session, connection->uid);
	if (has_space)
		refusals_add(session, &refusal);
	/*
	 * Without an entry, a program that asks again was counted before, possibly by an earlier
	 * recorder.
	 */
	return has_space || !is_retry;
}

void refusals_free(struct session *session)
{
	for (size_t i = 0; i < session->refusals.nr; i++)
		free(session->refusals.list[i].procname);
	free(session->refusals.list);
	session->refusals.list = NULL;
	session->refusals.nr = 0;
}

int refusals_status(struct session *session, struct session_status *status)
{
	refusals_prune(session);
	status->refused = calloc(session->refusals.nr + 1, sizeof(*status->refused));
	if (!status->refused)
		return -ENOMEM;
	for (size_t i = 0; i < session->refusals.nr; i++) {
		const struct refusal *refusal = &session->refusals.list[i];
		struct session_status_refused *shown = &status->refused[i];

		*shown = (struct session_status_refused){.peer = refusal->peer,
				.uid = refusal->uid,
				.procname = strdup(refusal->procname),
				.reason = refusal->reason};
		status->nr_waiting++;
		if (!shown->procname)
			return -ENOMEM;
	}
	return 0;
}

void refusals_report(struct session *session)
{
	size_t nr = session->refusals.nr_processes;
	/*
	 * A live session has reported the first refusal when it happened, so one alone needs no
	 * summary.
	 */
	bool first_is_reported = session->service != NULL;

	if (!session->refusals.first || nr <= first_is_reported)
		return;
	if (nr == 1)
		report(session, true, "%s", session->refusals.first);
	else
		report(session, true, "%zu processes are not recorded, the first: %s", nr,
				session->refusals.first);
}
