/* SPDX-License-Identifier: MIT */
/*
 * What watches the command from outside. It is recorded as a program of the session, so the session goes on while the command waits for
 * it: there is a process already, whose number it can be told.
 */
#include <errno.h>
#include <stdatomic.h>

#include "protocol/protocol.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/helper-process.h"
#include "recorder/run.h"
#include "recorder/session-state.h"

#define STEP_MS 10
#define END_WAIT_MS 5000 /* what was told to end */

int helper_process_hold(struct session *session, struct session_error *error)
{
	const struct session_helper *helper = session->command.helper;
	int ret;

	if (!helper)
		return 0;
	ret = run_begin(session);
	if (ret)
		return session_fail(error, session_error_kind_of(ret), ret,
				"the recording cannot begin: %s", strerror(-ret));
	ret = helper->begin(helper->user, session->command.pid, session->listener.path, error);
	while (!ret) {
		/* Relaxed: only we set it. */
		if (atomic_load_explicit(&session->drain.stop, memory_order_relaxed))
			return session_fail(error, SESSION_ERROR_FAILED, EINTR,
					"interrupted before the command began");
		ret = run_turn(session, STEP_MS);
		if (ret < 0)
			return session_fail(error, session_error_kind_of(ret), ret,
					"the recording cannot go on: %s", strerror(-ret));
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
