/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_RENEW_H
#define SIDE_TRACERS_AGENT_CORE_RENEW_H

/*
 * All events of a session, when it begins, when its rules change, and when the process leaves it.
 *
 * Callers: join.c and update.c, with libside's event lock. Never in a callback of an event.
 */

struct agent_generation;
struct agent_session;

/*
 * Build all events of the session by the rules of a generation, which then replaces the session's
 * own. (For a session that begins, it is the session's own.) If memory is lacking, nothing has
 * changed, and the session's generation is another one than the argument. After other errors,
 * events are missing.
 */
int agent_batches_renew(struct agent_session *session, struct agent_generation *generation);
/*
 * Record no event of the session any more. The session ends together with its generation
 * (agent_generation_over()).
 */
void agent_batches_leave(struct agent_session *session);

#endif
