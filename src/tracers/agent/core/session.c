/* SPDX-License-Identifier: MIT */
/* The state of the agent, and the walk through the sessions that record this process. */
#include <stddef.h>

#include "tracers/agent/core/session.h"
#include "tracers/agent/core/agent-state.h"

struct agent agent __attribute__((visibility("hidden")));

struct agent_session *agent_session_after(const struct agent_session *session)
{
	size_t i = session ? (size_t)(session - agent.process.sessions) + 1 : 0;

	while (i < AGENT_SESSIONS_MAX && agent.process.sessions[i].state != AGENT_SESSION_IN)
		i++;
	return i < AGENT_SESSIONS_MAX ? &agent.process.sessions[i] : NULL;
}
