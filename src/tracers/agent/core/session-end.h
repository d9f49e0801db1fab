/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_SESSION_END_H
#define SIDE_TRACERS_AGENT_CORE_SESSION_END_H

/*
 * The end of a session in this process.
 *
 * Callers: join.c, process.c and replaced.c, with libside's event lock. No thread may use the rings
 * and rules of the session any more, and its batches are freed already.
 */

struct agent_session;

/* Free all that the session has, and its slot. */
void agent_session_drop(struct agent_session *session);

#endif
