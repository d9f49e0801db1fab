/* SPDX-License-Identifier: MIT */
/* Runs the main loop until the recording has ended. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "protocol/protocol.h"
#include "recorder/connection.h"
#include "recorder/core/channels.h"
#include "recorder/core/exit-status.h"
#include "recorder/core/instance-state.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/drain.h"
#include "recorder/helper-process.h"
#include "recorder/listener.h"
#include "recorder/run-turn.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/survivors.h"
#include "recorder/unrecorded-files.h"

#define TICK_MS 250

/*
 * True if every process that the command left behind has ended. They are children of the recorder,
 * because session_spawn() makes it their reaper. So this includes processes that have no agent, or
 * none yet.
 */
static bool record_run_reap_children(struct session *session)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		crash_note(session, pid, status);
	return pid < 0 && errno == ECHILD;
}

static bool record_run_has_ended(struct session *session)
{
	/* Relaxed: this thread has stored it, or it finds it in the next turn. */
	if (atomic_load_explicit(&session->drain.stop, memory_order_relaxed))
		return true;
	if (session->command.status == -1)
		return false;
	return (!session->wait_all || record_run_reap_children(session)) &&
			helper_process_is_over(session);
}

static void record_run_show_progress(struct session *session, uint64_t *next)
{
	uint64_t now = wire_deadline(0);

	if (!session->loop.progress || now < *next)
		return;
	*next = wire_deadline(TICK_MS);
	session->loop.progress(session->loop.progress_user,
			atomic_load_explicit(&session->drain.written, memory_order_relaxed),
			session->instances.nr,
			atomic_load_explicit(&session->drain.lost, memory_order_relaxed));
}

/* Handles all pending events, so that processes that have exited are not reported as running. */
static void record_run_drain_pending(struct session *session)
{
	int turns = 0;

	while (turns++ < 64 && run_turn(session, 0) > 0)
		;
}

static void report_survivors(struct session *session)
{
	unsigned int nr = session->loop.interrupted ? 0 : survivors_count(session);

	session->command.survivors = nr;
	if (nr)
		report(session, false,
				"%u process%s of the command still run%s; what %s from now on is not recorded\n`--wait` waits for all",
				nr, nr == 1 ? "" : "es", nr == 1 ? "s" : "",
				nr == 1 ? "it does" : "they do");
}

/* Reports why nothing was recorded, or why the listing is incomplete. */
static void report_silence(struct session *session)
{
	const char *verb = session->mode == SESSION_LIST ? "listed" : "recorded";

	if (session->instances.list && session->mode == SESSION_LIST &&
			!session->instances.list->listed)
		report(session, true,
				"the list may be incomplete: %s ended before its main() was reached",
				session->command.name);
	/* Refused processes have messages of their own. */
	if (session->instances.list || session->refusals.nr_processes) {
		unrecorded_files_report_command(session);
		return;
	}
	if (session->command.never_meets)
		report(session, true, "%s nothing: %s", verb, session->command.never_meets);
	else if (!session->loop.interrupted)
		report(session, true,
				"%s nothing: no process of %s has loaded the agent (SIDE_DEBUG=1 in the environment prints the reason)",
				verb, session->command.name);
}

int session_run(struct session *session, struct error *error)
{
	uint64_t next_progress = 0;
	int ret;

	if (!session->command.pid)
		return error_set_kind(
				error, ERROR_USAGE, -EINVAL, NULL, "missing command to record");
	ret = run_begin(session);
	while (!ret && !record_run_has_ended(session)) {
		ret = run_turn(session, TICK_MS);
		ret = ret < 0 ? ret : 0;
		record_run_show_progress(session, &next_progress);
	}
	helper_process_end(session);
	record_run_drain_pending(session);
	if (session->mode == SESSION_RECORD)
		report_survivors(session);
	report_silence(session);
	channels_report(session);
	listener_close(session);
	loading_end(session);
	connections_close(session);
	drain_stop(session);
	buffers_close(session);
	if (ret)
		return error_set_kind(error, report_error_kind(ret), ret, NULL,
				"cannot continue the recording: %s", strerror(-ret));
	return 0;
}
