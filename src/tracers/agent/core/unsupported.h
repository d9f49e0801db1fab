/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_UNSUPPORTED_H
#define SIDE_TRACERS_AGENT_CORE_UNSUPPORTED_H

/*
 * Reports to recorders of why this program, or a part of its events, is not recorded.
 *
 * Callers: the start, the joining of sessions and late.c, at the start of the process or with
 * libside's event lock, as the reports share a buffer. Never in a sandbox, except
 * agent_libside_is_whole(), and never in a probe hit: the reports make connections, and wait for
 * each recorder with a bound.
 */

#include <stdbool.h>
#include <stdint.h>

struct agent_session;

/* Does the program's libside have all that the agent needs? Any context. */
bool agent_libside_is_whole(void);
/* `reason`: enum wire_unrecorded_reason. */
void agent_report_unrecorded(const char *paths, uint32_t reason);
/*
 * About `file`, which this process executes next; keeps the buffer. `paths` may be NULL. Any
 * context, the child of a vfork() too.
 */
void agent_report_started(const char *paths, uint32_t reason, const char *file);
/* The process cannot join this session. Report that if the reason is a limit of the process. */
void agent_report_limit(const struct agent_session *session, int error);
/*
 * Without the event lock: report to all sessions that the events of the copy of libside in this
 * library are not recorded.
 */
void agent_report_copy(const char *library);
/* With the event lock: this process is recorded, but for its events of that time. */
void agent_report_late_start(
		const struct agent_session *session, uint32_t reason, uint32_t elapsed_ms);

#endif
