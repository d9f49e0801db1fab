/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_RECOVERY_H
#define SIDE_TRACERS_AGENT_CORE_RECOVERY_H

/*
 * The data that a core dump must hold, so that `side recover` finds the recording in it
 * (protocol/recovery.h).
 *
 * Callers: batch.c, join.c, session-end.c and update.c, with libside's event lock or as the only
 * thread of a forked child. Without memory for this data, recording continues.
 */

#include <stddef.h>

struct agent_session;

void agent_recovery_begin(struct agent_session *session);
void agent_recovery_add(struct agent_session *session, const void *stream, size_t size);
/* In a child, until it begins anew. */
void agent_recovery_void(struct agent_session *session);
void agent_recovery_end(struct agent_session *session);

#endif
