/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_LATE_H
#define SIDE_TRACERS_AGENT_CORE_LATE_H

/*
 * Events that passed before this process joined a session, and the report of them to its recorder.
 *
 * Callers: control and the update of sessions. Except agent_late_forked() and agent_late_report(),
 * the functions may be called in any context: they store relaxed words, wait for nothing and make
 * no system call but the reading of a clock.
 */

#include <stdbool.h>
#include <stdint.h>

struct agent_session;

/*
 * An event, or the start of the process, ended its wait, which began at this time. `is_certain`: a
 * session has changed; otherwise that is not known. Does nothing if an exchange has applied all
 * sessions since then.
 */
void agent_late_pass(uint64_t begun, bool is_certain);
/*
 * The daemon has answered; the sessions of the answer are applied, or some of them; no daemon
 * exists.
 */
void agent_late_answered(void);
void agent_late_applied(bool all);
void agent_late_no_daemon(void);
/* In a forked child, which has one thread. */
void agent_late_forked(void);
/*
 * With the event lock: this session has been joined, or has other rules. Report events that it may
 * have missed.
 */
void agent_late_report(const struct agent_session *session);

#endif
