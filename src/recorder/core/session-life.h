/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_SESSION_LIFE_H
#define RECORDER_SESSION_LIFE_H

/*
 * The beginning and the end of a session, for sessions with a command (session.c), without one (live.c), and for recoveries.
 *
 * Main thread. Without the session's lock; session_refined_clock() is the drain thread's.
 */
#include "ctf/ctf.h"
#include "recorder/core/session.h"
#include "ring/ring.h"

#define LIMIT_CLOCK_ERROR_NS \
	100000 /* by which a conversion of the clock may be off until it is replaced */

int session_begin_clock(struct session *session, struct session_error *error);
int session_take_format(struct session *session, const struct session_options *options,
		struct session_error *error);
void session_raise_files(struct session *session);
int session_open_bells(struct session *session, struct session_error *error);
/* With channels and limits: the shares of users. */
int session_open_shares(struct session *session, struct session_error *error);
/* The conversion of a trace that is closed now, in the drain thread. -ENODATA: the first one is exact enough. */
int session_refined_clock(struct session *session, struct ctf_clock *clock);
/* NULL with errno, which session_fail_allocation() reports. */
struct session *session_allocate(void);
int session_fail_allocation(struct session_error *error);
void session_fill_clock(struct ctf_clock *clock, const struct ring_clock_calibration *calibration);

#endif
