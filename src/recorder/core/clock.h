/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_CLOCK_H
#define SIDE_RECORDER_CORE_CLOCK_H

/*
 * The clock of all traces of a session.
 *
 * session_begin_clock(): main thread, before the drain thread runs. session_refined_clock(): drain thread. session_fill_clock(): any thread.
 * No lock.
 */
#include <stdbool.h>

#include "ctf/ctf.h"
#include "recorder/core/session.h"
#include "ring/ring.h"

#define LIMIT_CLOCK_ERROR_NS \
	100000 /* by which a conversion of the clock may be off until it is replaced */

/* The clock, one for all traces. Constant while the drain thread runs, except its own members. */
struct session_clock {
	enum ring_clock kind;
	struct ring_clock_sample begin;
	struct ctf_clock first;
	bool is_inherited;          /* of a session that another recorder began: never corrected */
	struct ctf_clock corrected; /* instead of `first`; the drain thread's */
	bool is_corrected;          /* the drain thread's */
	struct ctf_clock final; /* with which traces were closed at the end; the drain thread's */
	bool has_final;         /* the drain thread's */
	bool monotonic;         /* an option: CLOCK_MONOTONIC */
};

int session_begin_clock(struct session *session, struct session_error *error);
/* The conversion of a trace that is closed now, in the drain thread. -ENODATA: the first one is exact enough. */
int session_refined_clock(struct session *session, struct ctf_clock *clock);
void session_fill_clock(struct ctf_clock *clock, const struct ring_clock_calibration *calibration);

#endif
