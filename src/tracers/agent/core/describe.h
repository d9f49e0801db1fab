/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_DESCRIBE_H
#define SIDE_TRACERS_AGENT_CORE_DESCRIBE_H

/*
 * Descriptions of events for the recorder of a session. A session of a static configuration may
 * have no recorder yet: then they are stored for a later one.
 *
 * Caller: batch.c, with libside's event lock or as the only thread of a forked child.
 */
#include <stddef.h>

struct agent_session;
struct wire_refused;

/*
 * Send or store a stream of descriptions (protocol/protocol.h); calls `refused` for each event that
 * the recorder refuses. A negative errno: no event is accepted, and the session is `gone`.
 */
int agent_send_events(struct agent_session *session, const void *stream, size_t size,
		void (*refused)(void *user, const struct wire_refused *one), void *user);

#endif
