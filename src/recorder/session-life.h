/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_SESSION_LIFE_H
#define SIDE_RECORDER_SESSION_LIFE_H

/*
 * Steps in the start and the end of a session: with a command (session.c), live (live.c), or in
 * recovery.
 *
 * Main thread, without the session's lock.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>

#include "recorder/core/session.h"

/*
 * Resource limits of this process that a session raises, and restores at its end. Main thread only.
 */
struct session_files {
	struct rlimit old_number;
	struct rlimit old_size;
	struct sigaction old_size_signal; /* action of SIGXFSZ */
	uint32_t max_ended;               /* files that ended instances can keep open */
};

int session_take_format(struct session *session, const struct session_options *options,
		struct error *error);
void session_raise_files(struct session *session);
int session_open_bells(struct session *session, struct error *error);
/* Creates the shares of users. Call it when channels and limits are known. */
int session_open_shares(struct session *session, struct error *error);
/* Returns NULL with errno set on failure; session_fail_allocation() then fills in the error. */
struct session *session_allocate(void);
int session_fail_allocation(struct error *error);

#endif
