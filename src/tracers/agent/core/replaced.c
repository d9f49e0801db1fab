/* SPDX-License-Identifier: MIT */
/* Free replaced generations of rules once no thread can use them. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/replaced.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session-end.h"
#include "tracers/agent/core/session.h"

/* `grace` of a replaced generation whose grace period has not begun yet. */
#define NO_GRACE UINT64_MAX

void agent_generation_over(struct agent_generation *generation)
{
	generation->grace = NO_GRACE;
	generation->next = NULL;
	if (!agent.rules.over)
		agent.rules.over_end = &agent.rules.over;
	*agent.rules.over_end = generation;
	agent.rules.over_end = &generation->next;
}

/*
 * For all replaced generations that have no grace period yet. 0: there are none, or no thread can
 * be in a call.
 */
uint64_t agent_over_begin(void)
{
	struct agent_generation *generation = agent.rules.over;
	uint64_t grace;

	while (generation && generation->grace != NO_GRACE)
		generation = generation->next;
	if (!generation)
		return 0;
	grace = side_tracer_grace_begin();
	for (; generation; generation = generation->next)
		generation->grace = grace;
	return grace;
}

void agent_over_free(void)
{
	struct agent_generation *generation;

	/* Other threads call on while destructors run. */
	if (atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed) ||
			agent_is_sandboxed())
		return;
	while ((generation = agent.rules.over) != NULL) {
		if (generation->grace == NO_GRACE || !side_tracer_grace_passed(generation->grace))
			return;
		agent.rules.over = generation->next;
		agent_batches_free(generation->batches);
		if (generation->left) {
			generation->left->generation = NULL;
			agent_session_drop(generation->left);
		}
		agent_generation_free(generation);
	}
}
