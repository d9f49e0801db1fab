/* SPDX-License-Identifier: MIT */
/*
 * Gets tables of probes for libraries that programs are loading, one library at a time.
 *
 * Several programs may load the same library at once. Each of them gets its answer when the tables
 * of its libraries exist, whichever program has reported them first.
 */
#include "recorder/loading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/format.h"
#include "protocol/protocol.h"
#include "recorder/connection-state.h"
#include "recorder/core/probes.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"

bool loading_is_for(struct session *session, struct instance *instance)
{
	const struct session_loads *loads = session->loading.loads;

	return loads && (!loads->are_wanted || loads->are_wanted(loads->user)) &&
			session->mode == SESSION_RECORD && instance->sends_loaded &&
			probes_select(session, instance);
}

/* Returns true if the tables of a library of this connection are being made now. */
static bool loading_begin_next(struct session *session, struct connection *connection)
{
	struct loading_paths *loading = &connection->loading;
	const struct session_loads *loads = session->loading.loads;
	int fd = -1;

	while (loading->left) {
		const char *path = loading->next;

		loading->next += strlen(path) + 1;
		loading->left--;
		if (loads->begin(loads->user, connection->peer, path, &fd) <= 0)
			continue;
		session->loading.is_busy = true;
		session->loading.watch = (struct recorder_watch){.kind = WATCH_LOADING, .fd = fd};
		if (!watch_add(session, &session->loading.watch))
			return true;
		loading_end(session);
	}
	return false;
}

static struct connection *loading_find_waiting(const struct session *session)
{
	struct connection *connection = session->connections.list;

	while (connection && !connection->loading.paths)
		connection = connection->next;
	return connection;
}

static void loading_continue(struct session *session)
{
	struct connection *connection;

	while (!session->loading.is_busy && (connection = loading_find_waiting(session))) {
		if (loading_begin_next(session, connection))
			return;
		free(connection->loading.paths);
		connection->loading.paths = NULL;
		session->loading.answer(session, connection);
	}
}

int loading_begin(struct session *session, struct connection *connection,
		const struct wire_loaded *loaded, loading_answer_fn *answer)
{
	struct loading_paths *loading = &connection->loading;

	loading->paths = malloc(loaded->size);
	if (!loading->paths)
		return -ENOMEM;
	memcpy(loading->paths, loaded->paths, loaded->size);
	loading->next = loading->paths;
	loading->left = loaded->nr_paths;
	session->loading.answer = answer;
	loading_continue(session);
	return 0;
}

void loading_ready(struct session *session)
{
	const struct session_loads *loads = session->loading.loads;
	struct session_table tables[SESSION_PROBES_MAX];
	struct error error;
	size_t nr;

	watch_remove(session, &session->loading.watch);
	session->loading.watch.fd = -1;
	session->loading.is_busy = false;
	nr = loads->finish(loads->user, tables, SESSION_PROBES_MAX);
	if (nr && probes_add(session, tables, nr, &error))
		report(session, true, "cannot set probes in a library that was loaded: %s",
				error.text);
	for (size_t i = 0; i < nr; i++)
		close(tables[i].fd);
	loading_continue(session);
}

/*
 * The program runs on without the probes. It gets them when it loads another library: its next
 * LOADED is answered with all tables.
 */
void loading_give_up(struct session *session, struct connection *connection)
{
	const struct instance *instance = connection->instance;

	if (!connection->loading.paths)
		return;
	report_instance(session, instance, true,
			"the probes of a library that process %d (%s) has loaded were not ready in time: its calls in the library are not recorded\n`SIDE_TIMEOUT_FACTOR=5` in its environment makes it wait 5 seconds instead of one",
			(int)instance->peer, instance->procname);
	free(connection->loading.paths);
	connection->loading.paths = NULL;
}

void loading_end(struct session *session)
{
	const struct session_loads *loads = session->loading.loads;

	if (!session->loading.is_busy)
		return;
	session->loading.is_busy = false;
	watch_remove(session, &session->loading.watch);
	session->loading.watch.fd = -1;
	(void)loads->finish(loads->user, NULL, 0);
}
