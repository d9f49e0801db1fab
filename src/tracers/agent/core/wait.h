/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_WAIT_H
#define SIDE_TRACERS_AGENT_CORE_WAIT_H

/*
 * Limits of the time for which the program waits for daemons and recorders.
 *
 * A wait belongs to an occasion: the start of the program, a change of sessions, a library with
 * events, a fork. Callers: all of core that talks with a daemon or a recorder, and the results of
 * probes. Each function states which lock its caller holds. None of them is called in a probe hit.
 */

#include <stdbool.h>
#include <stdint.h>

#define AGENT_WAIT_MS 1000 /* all waits of one occasion together */

/* Set by start.c, and constant from then on. */
struct agent_wait {
	unsigned int timeout_factor; /* SIDE_TIMEOUT_FACTOR; 0: as 1 */
};

/* `timeout_ms`, multiplied by SIDE_TIMEOUT_FACTOR. Any context. */
unsigned int agent_scale_timeout(unsigned int timeout_ms);
/* Deadline of a wait that begins now: at the start or with the event lock; and without the lock. */
uint64_t agent_deadline(unsigned int timeout_ms);
uint64_t agent_deadline_unlocked(unsigned int timeout_ms);
/* In a forked child, which has one thread: the parent's occasions do not exist here. */
void agent_waits_forked(void);
/* The start of the program and the work of a forked child are occasions of their own. */
void agent_start_begins(void);
void agent_start_ends(void);
/*
 * With the event lock: an occasion ends at `deadline`, or (0) some time after its first wait
 * begins, which needs no clock. False: it is part of another occasion.
 */
bool agent_occasion_begins(uint64_t deadline);
void agent_occasion_ends(bool begun);

/*
 * With the event lock: a session has not answered in time, so nothing waits for it for some
 * seconds.
 */
void agent_stalled_note(const char *path);
void agent_stalled_forget(const char *path);
bool agent_is_stalled(const char *path);
/* The same, also if it has answered since then. */
bool agent_was_stalled(const char *path);
/* The control thread calls it without any lock: true if a stalled session answers again. */
bool agent_stalled_check(void);

#endif
