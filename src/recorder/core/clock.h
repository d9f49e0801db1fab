/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_CLOCK_H
#define SIDE_RECORDER_CORE_CLOCK_H

/*
 * The clock of all traces of a session.
 *
 * session_begin_clock(): main thread, before the drain thread runs. session_refined_clock(): drain
 * thread. session_fill_clock(): any thread. No lock.
 */
#include <stdbool.h>

#include "ctf/ctf.h"
#include "recorder/core/session.h"
#include "ring/ring.h"

#define LIMIT_CLOCK_ERROR_NS \
	100000 /* tolerated error of the conversion; a larger one replaces the conversion */

/*
 * The clock, one for all traces. Constant while the drain thread runs, except the members marked
 * "drain thread".
 */
struct session_clock {
	enum ring_clock kind;
	struct ring_clock_sample begin;
	struct ctf_clock first;
	/* from a session that another recorder began: never corrected */
	bool is_inherited;
	struct ctf_clock corrected; /* used instead of `first` if is_corrected (drain thread) */
	bool is_corrected;          /* (drain thread) */
	/* the conversion of traces that were closed at the end (drain thread) */
	struct ctf_clock final;
	bool has_final; /* (drain thread) */
	bool monotonic; /* option: use CLOCK_MONOTONIC */
};

int session_begin_clock(struct session *session, struct error *error);
/*
 * Gets the conversion for a trace that the drain thread closes now. Returns -ENODATA if the first
 * conversion is still exact enough.
 */
int session_refined_clock(struct session *session, struct ctf_clock *ret_clock);
void session_fill_clock(
		struct ctf_clock *ret_clock, const struct ring_clock_calibration *calibration);

#endif
