/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_BATCH_H
#define SIDE_TRACERS_AGENT_CORE_BATCH_H

/* What batch.c and renew.c share: a batch from its making to its end. With the event lock. */

#include "tracers/agent/core/agent.h"

/* With plans, without ids; NULL when there is nothing to record in it. 0 or -ENOMEM. */
int agent_batch_build(struct agent_session *session, struct side_event_description **events,
		uint32_t nr_events, struct agent_batch **batch);
void agent_batches_free(struct agent_batch *list);
struct agent_batch *agent_batch_find(
		const struct agent_session *session, struct side_event_description **key);

/*
 * Give ids to those events of a list of batches that have none, and tell the consumer of them in one
 * exchange. When that fails they stay silent, and are counted.
 */
int agent_batches_introduce(struct agent_session *session, struct agent_batch *list);

/* Whether each event is recorded is known: their records go there from now on. */
void agent_batch_redirect(struct agent_batch *batch);

void agent_event_register(struct agent_event *event);
void agent_event_replace(struct agent_event *old, struct agent_event *event);
void agent_event_unregister(struct agent_event *event);

#endif
