/* SPDX-License-Identifier: MIT */
/* Two processes are recorded, and one crashes: only that one is marked, with its first signal. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"
#include "recorder/core/exit-status.h"
#include "recorder/core/instance.h"
#include "recorder/core/session.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"

int main(void)
{
	struct session *session = session_allocate();
	static struct instance other = {.peer = 12}, again = {.peer = 11}, crashed = {.peer = 11};

	CHECK(session);
	/* Two entries of one process, which has called exec. */
	other.next_live = &again;
	crashed.next_live = &other;
	session->instances.live = &crashed;
	/* Crashes are no trigger. */
	crash_note(session, 11, SIGSEGV);
	CHECK(!crashed.crash && !again.crash && !other.crash);
	session->triggers.crash = true;
	/* Exits, and signals that are no crash. */
	crash_note(session, 11, 0);
	crash_note(session, 11, 1 << 8);
	crash_note(session, 11, SIGTERM);
	/* A process that is not recorded. */
	crash_note(session, 13, SIGSEGV);
	CHECK(!crashed.crash && !again.crash && !other.crash);
	crash_note(session, 11, SIGSEGV);
	CHECK(crashed.crash == SIGSEGV && again.crash == SIGSEGV && !other.crash);
	crash_note(session, 12, SIGABRT);
	crash_note(session, 11, SIGABRT);
	CHECK(crashed.crash == SIGSEGV && again.crash == SIGSEGV && other.crash == SIGABRT);
	session->instances.live = NULL;
	session_destroy(session);
	return 0;
}
