/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_SESSION_LIFE_H
#define SIDE_RECORDER_SESSION_LIFE_H

/*
 * The beginning and the end of a session, for sessions with a command (session.c), without one (live.c), and for recoveries.
 *
 * Main thread, without the session's lock.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>

#include "recorder/core/session.h"

/* Limits of this process that a session raises, and restores at its end. The main thread's. */
struct session_files {
	struct rlimit old_number;
	struct rlimit old_size;
	struct sigaction old_size_signal; /* of SIGXFSZ */
	uint32_t max_ended;               /* files that ended instances keep open */
};

int session_take_format(struct session *session, const struct session_options *options,
		struct session_error *error);
void session_raise_files(struct session *session);
int session_open_bells(struct session *session, struct session_error *error);
/* With channels and limits: the shares of users. */
int session_open_shares(struct session *session, struct session_error *error);
/* NULL with errno, which session_fail_allocation() reports. */
struct session *session_allocate(void);
int session_fail_allocation(struct session_error *error);
/* What a session without a command has in addition (core/service.h). */
void service_free(struct session *session);

#endif
