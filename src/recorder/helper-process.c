/* SPDX-License-Identifier: MIT */
/*
 * Waits for the helper that observes the command from outside. The session records the helper's
 * events as those of a program, so the main loop runs while the command waits. The command's
 * process exists already, because the helper needs its id.
 */
#include <errno.h>
#include <stdatomic.h>

#include "base/error.h"
#include "protocol/protocol.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/helper-process.h"
#include "recorder/run-turn.h"
#include "recorder/session-state.h"

#define STEP_MS 10
#define END_WAIT_MS 5000 /* timeout for the helper's end */

int helper_process_hold(struct session *session, struct error *error)
{
	const struct session_helper *helper = session->command.helper;
	int ret;

	if (!helper)
		return 0;
	ret = run_begin(session);
	if (ret)
		return error_set_kind(error, report_error_kind(ret), ret, NULL,
				"cannot start the recording: %s", strerror(-ret));
	ret = helper->begin(helper->user, session->command.pid, session->listener.path, error);
	while (!ret) {
		/* Relaxed: only this thread sets it. */
		if (atomic_load_explicit(&session->drain.stop, memory_order_relaxed))
			return error_set(error, -EINTR, NULL,
					"interrupted before the command began");
		ret = run_turn(session, STEP_MS);
		if (ret < 0)
			return error_set_kind(error, report_error_kind(ret), ret, NULL,
					"cannot continue the recording: %s", strerror(-ret));
		ret = helper->is_ready(helper->user, error);
	}
	return ret < 0 ? ret : 0;
}

bool helper_process_is_over(const struct session *session)
{
	const struct session_helper *helper = session->command.helper;

	return !helper || helper->is_over(helper->user, false);
}

void helper_process_end(struct session *session)
{
	const struct session_helper *helper = session->command.helper;
	uint64_t deadline = wire_deadline(END_WAIT_MS);

	while (helper && !helper->is_over(helper->user, true) && wire_deadline(0) < deadline)
		if (run_turn(session, STEP_MS) < 0)
			break;
}
