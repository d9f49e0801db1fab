/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_BATCH_H
#define SIDE_TRACERS_AGENT_CORE_BATCH_H

/*
 * Events that appear and disappear: memory, ids and callbacks of the events of one notification.
 *
 * Callers: libside (agent_batches_changed()), join.c, renew.c, process.c and the control thread.
 * Hold libside's event lock, or be the only thread of the process (a forked child). Never call
 * these functions in a callback of an event. Those that exchange messages with a consumer wait for
 * it with a bound (wait.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/trace.h>

#include "tracers/agent/core/event.h"

struct agent_session;

/* With plans, without ids; NULL when the session wants none of the events. 0 or -ENOMEM. */
int agent_batch_build(struct agent_session *session, struct side_event_description **events,
		uint32_t nr_events, struct agent_batch **ret_built);
struct agent_batch *agent_batch_find(
		const struct agent_session *session, struct side_event_description **key);

/*
 * Give ids to those events of a list of batches that have none, and send the consumer their
 * descriptions in one exchange. If that fails, the events are not recorded, and are counted as
 * lost.
 */
int agent_batches_introduce(struct agent_session *session, struct agent_batch *list);

/* The consumer knows which of the events it records: their records go to the rings from now on. */
void agent_batch_redirect(struct agent_batch *batch);

void agent_event_register(struct agent_event *event);
void agent_event_replace(struct agent_event *old, struct agent_event *event);
void agent_event_unregister(struct agent_event *event);

/* libside's notification. */
void agent_batches_changed(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv);
int agent_batches_send_again(struct agent_session *session);

/* In a forked child: records of all events go to the child's rings from now on, or nowhere. */
void agent_batches_redirect(struct agent_session *session);
/*
 * In a forked child: was another thread of the parent in a notification? Then, with the event lock,
 * complete the batch of that one.
 */
bool agent_batches_are_cut_off(void);
void agent_batches_forked(void);
/* Free all batches of all sessions. */
void agent_batches_forget(void);
/* Unmap the memory that is kept for the next change. */
void agent_batches_trim(void);

#endif
