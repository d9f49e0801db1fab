/* SPDX-License-Identifier: MIT */
/* Free what a session of this process has. */
#include <stddef.h>
#include <stdint.h>

#include "tracers/agent/core/session-end.h"
#include "ring/ring.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/recovery.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"

void agent_session_drop(struct agent_session *session)
{
	uint32_t i;

	agent_hang_up(session);
	agent_recovery_end(session);
	for (i = 0; i < session->nr_channels; i++) {
		agent_recycled_ids_forget(&session->channels[i].spares);
		if (session->channels[i].producer)
			ring_producer_unmap(session->channels[i].producer);
	}
	if (session->generation)
		agent_generation_free(session->generation);
	agent_memory_free(&session->memory);
	session->state = AGENT_SESSION_FREE;
}
