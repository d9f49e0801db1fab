/* SPDX-License-Identifier: MIT */
/*
 * All events of a session at once: when it begins, and when its rules have changed.
 *
 * All batches are built again by the new rules, beside those in use. An event that existed before
 * with the same contexts keeps its id, and is not sent to the consumer again. An event with other
 * contexts is a new one with a new id. Then the consumer receives the new descriptions. Only after
 * that the callbacks change, each in one step: a call reaches the old event or the new one, so no
 * record is missing or duplicated. The old batches stay until no thread can be in a call of them.
 */
#include <side/tracer-extensions.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracers/agent/core/renew.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/replaced.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"

struct renewal {
	struct agent_session *session;
	struct agent_batch *built;
	int error;
};

static void agent_renew_build_plan(
		struct side_event_description **events, uint32_t nr_events, void *user)
{
	struct renewal *renewal = user;
	struct agent_batch *batch;
	int ret;

	if (renewal->error)
		return;
	ret = agent_batch_build(renewal->session, events, nr_events, &batch);
	if (ret)
		renewal->error = ret;
	if (!batch)
		return;
	batch->next = renewal->built;
	renewal->built = batch;
}

static bool same_layout(const struct agent_event *a, const struct agent_event *b)
{
	uint32_t i;

	if (a->nr_extra != b->nr_extra)
		return false;
	for (i = 0; i < a->nr_extra; i++)
		if (!context_same(&a->extra[i], &b->extra[i]))
			return false;
	return true;
}

/* The id goes over to the new event. */
static void agent_renew_move_id(struct agent_event *old, struct agent_event *event)
{
	event->before = old;
	/* Relaxed: a hint, which calls may set at any time. */
	event->large = __atomic_load_n(&old->large, __ATOMIC_RELAXED);
	if (!same_layout(old, event))
		return;
	event->id = old->id;
	event->hash = old->hash;
	event->recorded = old->recorded;
	event->refused = old->refused;
	old->recorded = false;
}

/* Both have their events in the order of their places. */
static void keep_all(struct agent_batch *old, struct agent_batch *batch)
{
	uint32_t i, at = 0;

	for (i = 0; i < batch->nr_events; i++) {
		struct agent_event *event = &batch->events[i];

		while (at < old->nr_events && old->events[at].position < event->position)
			at++;
		if (at < old->nr_events && old->events[at].position == event->position)
			agent_renew_move_id(&old->events[at], event);
	}
}

static uint32_t begin_all(struct agent_batch *batch)
{
	uint32_t i, nr = 0;

	agent_batch_redirect(batch);
	for (i = 0; i < batch->nr_events; i++) {
		struct agent_event *event = &batch->events[i];

		if (!event->recorded)
			continue;
		if (event->before && event->before->registered)
			agent_event_replace(event->before, event);
		else
			agent_event_register(event);
		event->before = NULL;
		nr += event->registered;
	}
	return nr;
}

/* Unregister the events that no new event has replaced. */
static void end_all(struct agent_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->nr_events; i++) {
		struct agent_event *event = &batch->events[i];

		agent_event_unregister(event);
		if (event->recorded)
			agent_recycled_ids_put(&event->channel->spares, event->hash, event->id);
	}
}

/* The batches by the rules of the generation; NULL in *ret_built also when no event is wanted. */
static int build_all(struct agent_session *session, struct agent_generation *generation,
		struct agent_batch **ret_built)
{
	struct agent_generation *old = session->generation;
	struct renewal renewal = {.session = session};

	agent_generation_apply(session, generation);
	side_tracer_each_batch(agent_renew_build_plan, &renewal);
	if (renewal.error) {
		agent_batches_free(renewal.built);
		agent_generation_apply(session, old);
		renewal.built = NULL;
	}
	*ret_built = renewal.built;
	return renewal.error;
}

int agent_batches_renew(struct agent_session *session, struct agent_generation *generation)
{
	struct agent_generation *old = session->generation;
	struct agent_batch *built, *batch;
	uint32_t nr = 0;
	int ret = build_all(session, generation, &built);

	if (ret)
		return ret;
	for (batch = built; batch; batch = batch->next) {
		struct agent_batch *before = agent_batch_find(session, batch->key);

		if (before)
			keep_all(before, batch);
	}
	session->incomplete = false;
	ret = agent_batches_introduce(session, built);
	agent_probes_prepare_backtraces(session);
	for (batch = built; batch && !session->list_only; batch = batch->next)
		nr += begin_all(batch);
	for (batch = session->batches; batch; batch = batch->next)
		end_all(batch);
	if (old != generation) {
		old->batches = session->batches;
		agent_generation_over(old);
	} else {
		agent_batches_trim();
	}
	session->batches = built;
	agent_debug("%u events are recorded by %s", nr, session->path);
	return ret;
}

void agent_batches_leave(struct agent_session *session)
{
	struct agent_generation *generation = session->generation;
	struct agent_batch *batch;
	uint32_t i;

	for (batch = session->batches; batch; batch = batch->next)
		for (i = 0; i < batch->nr_events; i++)
			agent_event_unregister(&batch->events[i]);
	generation->batches = session->batches;
	generation->left = session;
	session->batches = NULL;
	agent_generation_over(generation);
}
