/* SPDX-License-Identifier: MIT */
/*
 * Events that appear and disappear.
 *
 * A batch appears: for each session, the events that a channel wants get plans and ids. The
 * consumer receives all their descriptions in one exchange, and the events that it accepts get a
 * callback. So the consumer knows each id before it is in a ring.
 *
 * A batch disappears: its owner guarantees that no thread is in a call of its events. Owners make
 * errors, so the memory is freed only some time later. It is not freed at all once the program
 * exits, when destructors run beside threads that still emit.
 *
 * All functions need libside's event lock.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/batch.h"
#include "abi/visit.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/describe.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/recovery.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/replaced.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/select.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/plan/plan.h"

#define RETIREMENT_MS 2000

/* Batches whose events are gone, oldest first. */
static struct agent_batch *retired, **retired_end = &retired;

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

/* Events of a newer ABI are no affair of ours: their owners run on without being recorded. */
static bool agent_batch_abi_is_known(const struct side_event_description *event)
{
	const struct side_event_state *state;

	if (!event || event->version != SIDE_EVENT_DESCRIPTION_ABI_VERSION)
		return false;
	state = side_ptr_get(event->state);
	if (!state || state->version != SIDE_EVENT_STATE_ABI_VERSION)
		return false;
	return side_ptr_get(event->provider_name) && side_ptr_get(event->event_name);
}

/* ---- memory of a batch ---- */

static void agent_batch_free_retired(uint64_t now)
{
	while (retired && retired->free_at <= now) {
		struct agent_batch *batch = retired;

		retired = batch->next;
		if (!retired)
			retired_end = &retired;
		agent_batch_free(batch);
	}
}

static void agent_batch_defer_free(struct agent_batch *batch)
{
	batch->next = NULL;
	batch->free_at = wire_deadline(RETIREMENT_MS);
	*retired_end = batch;
	retired_end = &batch->next;
}

/*
 * What the session wants of these events. First it is measured, with batch NULL; then the batch,
 * which has that much memory, is filled in.
 */
struct batch_selection {
	struct agent_session *session;
	struct agent_batch *batch;
	uint32_t nr;   /* events of channels */
	char *memory;  /* what is left */
	size_t needed; /* beside the events themselves */
};

/* The channels share the plan of an event. */
static struct plan *selection_plan(struct batch_selection *selection,
		struct side_event_description *event, size_t size)
{
	struct plan *plan = NULL;

	selection->needed += round_up(size, 16);
	if (!selection->batch || plan_build(event, selection->memory, size, &plan))
		return NULL;
	selection->memory += round_up(size, 16);
	return plan;
}

static void select_for(struct batch_selection *selection, struct agent_channel *channel,
		struct side_event_description *description, uint32_t at, struct plan *plan)
{
	/* Not in the array of the batch yet: the plans follow the last wanted event. */
	struct agent_event event = {
			.plan = plan,
			.channel = channel,
			.description = description,
			.position = at * WIRE_CHANNELS_MAX + channel->index,
	};
	size_t size = agent_select(channel, description, &event, selection->memory);

	if (!size)
		return;
	if (selection->batch) {
		selection->batch->events[selection->nr] = event;
		selection->memory += size;
	}
	selection->nr++;
	selection->needed += size;
}

/* `at`: its index in its batch. */
static void select_event(struct batch_selection *selection, struct side_event_description *event,
		uint32_t at)
{
	struct agent_session *session = selection->session;
	bool known = false;
	struct plan *plan = NULL;
	struct visit_error invalid;
	char error[256];
	ssize_t size = 0;
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++) {
		if (!agent_wants(&session->channels[i], event))
			continue;
		/*
		 * Check the whole description only if a channel wants the event: most events of a
		 * program are not recorded.
		 */
		if (!known && visit_description_check(event, 0, &invalid))
			return;
		if (!known)
			size = plan_size(event, error, sizeof(error));
		if (size < 0) {
			agent_debug("%s:%s cannot be recorded: %s",
					side_ptr_get(event->provider_name),
					side_ptr_get(event->event_name), error);
			return;
		}
		if (!known)
			plan = selection_plan(selection, event, (size_t)size);
		if (selection->batch && !plan)
			return;
		known = true;
		select_for(selection, &session->channels[i], event, at, plan);
	}
}

static void select_events(struct batch_selection *selection, struct side_event_description **events,
		uint32_t nr_events)
{
	uint32_t i;

	for (i = 0; i < nr_events; i++)
		if (agent_batch_abi_is_known(events[i]))
			select_event(selection, events[i], i);
}

int agent_batch_build(struct agent_session *session, struct side_event_description **events,
		uint32_t nr_events, struct agent_batch **ret_built)
{
	struct batch_selection selection = {.session = session};
	struct agent_batch *batch;
	size_t head_size, mapped;

	*ret_built = NULL;
	select_events(&selection, events, nr_events);
	if (!selection.nr)
		return 0;
	head_size = sizeof(*batch) + selection.nr * sizeof(batch->events[0]);
	mapped = head_size + selection.needed;
	batch = agent_pages_take(mapped);
	if (!batch)
		return -ENOMEM;
	batch->mapped = mapped;
	batch->key = events;
	selection = (struct batch_selection){
			.session = session,
			.batch = batch,
			.memory = (char *)batch + head_size,
	};
	select_events(&selection, events, nr_events);
	batch->nr_events = selection.nr;
	*ret_built = batch;
	return 0;
}

struct agent_batch *agent_batch_find(
		const struct agent_session *session, struct side_event_description **key)
{
	struct agent_batch *batch = session->batches;

	while (batch && batch->key != key)
		batch = batch->next;
	return batch;
}

/* ---- telling the consumer ---- */

/*
 * One at a time, because of the event lock. Kept after a change of rules, for the next one may come
 * soon.
 */
static struct visit_buffer stream_buffer;

static struct visit_buffer *take_stream(void)
{
	if (!stream_buffer.data)
		visit_buffer_pages(&stream_buffer);
	stream_buffer.size = 0;
	stream_buffer.error = 0;
	return &stream_buffer;
}

/* Not what a program with many events has needed once. */
static void give_stream(struct visit_buffer *stream)
{
	if (stream->capacity > WIRE_MESSAGE_MAX)
		visit_buffer_free(stream);
}

void agent_batches_trim(void)
{
	visit_buffer_free(&stream_buffer);
}

static bool append_contexts(
		struct visit_buffer *stream, const struct agent_event *event, uint32_t *ret_size)
{
	size_t begin = stream->size;
	uint32_t i;

	for (i = 0; i < event->nr_extra; i++)
		if (visit_buffer_append(
				    stream, event->extra[i].name, strlen(event->extra[i].name) + 1))
			return false;
	*ret_size = (uint32_t)(stream->size - begin);
	return true;
}

/* Append one event to the stream of descriptions, its id to be set. False: it cannot be encoded. */
static bool append_description(struct visit_buffer *stream, struct agent_event *event)
{
	struct wire_event_head head = {
			.channel = (uint16_t)event->channel->index,
			.nr_contexts = (uint16_t)event->nr_extra,
	};
	size_t begin = stream->size, at = begin + sizeof(head);
	struct visit_error error;
	char sentence[512];

	if (visit_buffer_append(stream, &head, sizeof(head)) ||
			!append_contexts(stream, event, &head.contexts_size))
		return false;
	if (!visit_description_encode(event->description, stream, &error)) {
		event->hash = agent_hash(stream->data + at, stream->size - at);
		head.size = (uint32_t)(stream->size - at - head.contexts_size);
		memcpy(stream->data + begin, &head, sizeof(head));
		return true;
	}
	agent_debug("an event cannot be described: %s",
			visit_error_sentence(&error, sentence, sizeof(sentence)));
	stream->size = begin;
	return false;
}

static void finish_description(struct visit_buffer *stream, size_t begin, uint32_t id)
{
	memcpy(stream->data + begin + offsetof(struct wire_event_head, id), &id, sizeof(id));
}

/* Events that stay silent are counted, once each, where the consumer finds it. */
static void count_failed(const struct agent_event *event)
{
	if (event->channel->producer)
		ring_count_lost(event->channel->producer, AGENT_LOST_SLOT, RING_LOST_OTHER);
}

/* Give ids to the events that have none, and gather what the consumer must hear. */
static void describe_new(struct agent_batch *batch, struct visit_buffer *stream)
{
	uint32_t i;

	for (i = 0; i < batch->nr_events; i++) {
		struct agent_event *event = &batch->events[i];
		struct agent_channel *channel = event->channel;
		size_t begin = stream->size;

		if (event->recorded || event->refused || !append_description(stream, event))
			continue;
		event->recorded = true;
		event->is_new = true;
		if (agent_recycled_ids_take(&channel->spares, event->hash, &event->id)) {
			stream->size = begin;
		} else if (channel->next_id < channel->session->config.max_events) {
			event->id = channel->next_id++;
			finish_description(stream, begin, event->id);
		} else {
			event->recorded = false;
			stream->size = begin;
			count_failed(event);
			agent_debug("more than %u events: further ones are not recorded",
					channel->session->config.max_events);
		}
	}
}

/* For a new consumer: all that is recorded, under the ids it has. */
static void describe_again(struct agent_batch *batch, struct visit_buffer *stream)
{
	uint32_t i;

	for (i = 0; i < batch->nr_events; i++) {
		struct agent_event *event = &batch->events[i];
		size_t begin = stream->size;

		if (!event->recorded)
			continue;
		event->recorded = append_description(stream, event);
		if (event->recorded)
			finish_description(stream, begin, event->id);
	}
}

static void mark_refused(void *user, const struct wire_refused *one)
{
	struct agent_batch *batch;
	uint32_t i;

	for (batch = user; batch; batch = batch->next) {
		for (i = 0; i < batch->nr_events; i++) {
			struct agent_event *event = &batch->events[i];

			if (!event->recorded || event->id != one->id ||
					event->channel->index != one->channel)
				continue;
			event->recorded = false;
			event->refused = true;
		}
	}
	agent_debug("the recorder refuses event %u of channel %u: %s", one->id, one->channel,
			wire_refusal_text(one->reason));
}

/*
 * A notification outside of any other work of the agent. While it waits for a recorder, another
 * thread can fork: only the batch is incomplete, and it is in no list yet. The child starts that
 * batch again (agent_batches_forked()).
 */
static struct {
	struct side_event_description **events; /* NULL: there is none */
	uint32_t nr_events;
	const int *thread; /* the address of its errno */
} notified;

static int agent_batch_send_stream(struct agent_session *session, struct agent_batch *list,
		const struct visit_buffer *stream)
{
	int ret = stream->error;

	if (ret || !stream->size)
		return ret;
	/* libside has noted what the tracer knows, and keeps its own lock. */
	if (notified.events)
		side_tracer_unlock();
	ret = agent_send_events(session, stream->data, stream->size, mark_refused, list);
	if (notified.events)
		side_tracer_lock();
	if (!ret)
		agent_recovery_add(session, stream->data, stream->size);
	return ret;
}

static void forget_new(struct agent_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->nr_events; i++) {
		struct agent_event *event = &batch->events[i];

		if (!event->is_new || !event->recorded)
			continue;
		event->recorded = false;
		count_failed(event);
	}
}

int agent_batches_introduce(struct agent_session *session, struct agent_batch *list)
{
	struct visit_buffer *stream = take_stream();
	struct agent_batch *batch;
	int ret;

	for (batch = list; batch; batch = batch->next)
		describe_new(batch, stream);
	ret = agent_batch_send_stream(session, list, stream);
	give_stream(stream);
	for (batch = list; batch && ret; batch = batch->next)
		forget_new(batch);
	if (ret)
		session->incomplete = true;
	return ret;
}

/*
 * Relaxed: other threads see the event first through its callback's registration. The function
 * stays while there are no rings; the other order than in record_scalar() would give it none.
 */
static void agent_event_direct(struct agent_event *event, struct ring_producer *producer)
{
	uint8_t size = event->plan->scalar_size;
	ssize_t whole = plan_fixed_size(event->plan);

	if (producer && event->straight && !event->contexts && whole >= 0 && whole < UINT8_MAX) {
		event->timed_size = (uint8_t)whole;
		__atomic_store_n(&event->publish_timed,
				ring_choose_timed(producer, event->id, (size_t)whole),
				__ATOMIC_RELAXED);
	}
	if (producer && event->plan->kind == PLAN_KIND_SCALAR && event->contexts)
		__atomic_store_n(&event->publish_prefixed,
				ring_choose_prefixed(producer, event->id, size), __ATOMIC_RELAXED);
	else if (producer && event->plan->kind == PLAN_KIND_SCALAR)
		__atomic_store_n(&event->publish_scalar,
				ring_choose_scalar(producer, event->id, size), __ATOMIC_RELAXED);
	/*
	 * Compiler fence: the functions before the rings, because a signal handler can record here.
	 * record_scalar() loads them in the other order.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	__atomic_store_n(&event->producer, producer, __ATOMIC_RELAXED);
}

void agent_batch_redirect(struct agent_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->nr_events; i++) {
		struct agent_event *event = &batch->events[i];

		agent_event_direct(event, event->recorded ? event->channel->producer : NULL);
	}
}

/* ---- callbacks ---- */

void agent_event_register(struct agent_event *event)
{
	struct side_event_description *description = event->description;
	uint64_t key = event->channel->session->key;
	int ret;

	if (description->flags & SIDE_EVENT_FLAG_VARIADIC)
		ret = side_tracer_callback_variadic_register(
				description, event->callback_variadic, event, key);
	else
		ret = side_tracer_callback_register(description, event->callback, event, key);
	event->registered = ret == SIDE_ERROR_OK;
	if (!event->registered)
		agent_debug("cannot register a callback with libside: error %d", ret);
}

/* Each call reaches the old one or the new one. */
void agent_event_replace(struct agent_event *old, struct agent_event *event)
{
	struct side_event_description *description = event->description;
	uint64_t key = event->channel->session->key;
	int ret;

	if (description->flags & SIDE_EVENT_FLAG_VARIADIC)
		ret = side_tracer_callback_variadic_replace(description, old->callback_variadic,
				old, event->callback_variadic, event, key);
	else
		ret = side_tracer_callback_replace(
				description, old->callback, old, event->callback, event, key);
	event->registered = ret == SIDE_ERROR_OK;
	old->registered = !event->registered;
	if (!event->registered)
		agent_debug("cannot replace a callback in libside: error %d", ret);
}

void agent_event_unregister(struct agent_event *event)
{
	struct side_event_description *description = event->description;
	uint64_t key = event->channel->session->key;

	if (!event->registered)
		return;
	event->registered = false;
	if (description->flags & SIDE_EVENT_FLAG_VARIADIC)
		side_tracer_callback_variadic_unregister_async(
				description, event->callback_variadic, event, key);
	else
		side_tracer_callback_unregister_async(description, event->callback, event, key);
}

static void batch_appears(struct agent_session *session, struct side_event_description **events,
		uint32_t nr_events)
{
	struct agent_batch *batch;
	uint32_t i, nr_registered = 0;
	int ret;

	/* A session that was joined from within another tracer's notification of it knows it. */
	if (agent_batch_find(session, events))
		return;
	if (session->gone || agent_batch_build(session, events, nr_events, &batch)) {
		session->incomplete = true;
		return;
	}
	if (!batch)
		return;
	ret = agent_batches_introduce(session, batch);
	agent_batches_trim();
	if (ret) {
		agent_batch_free(batch);
		return;
	}
	batch->next = session->batches;
	session->batches = batch;
	agent_batch_redirect(batch);
	for (i = 0; i < batch->nr_events && !session->list_only; i++)
		if (batch->events[i].recorded) {
			agent_event_register(&batch->events[i]);
			nr_registered += batch->events[i].registered;
		}
	agent_debug("%u events of a batch of %u are recorded", nr_registered, nr_events);
}

static void batch_disappears(struct agent_session *session, struct side_event_description **events)
{
	struct agent_batch **at = &session->batches;
	struct agent_batch *batch;
	uint32_t i;

	while (*at && (*at)->key != events)
		at = &(*at)->next;
	batch = *at;
	if (!batch)
		return;
	*at = batch->next;
	if (atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed))
		return;
	for (i = 0; i < batch->nr_events; i++) {
		struct agent_event *event = &batch->events[i];

		agent_event_unregister(event);
		if (event->recorded)
			agent_recycled_ids_put(&event->channel->spares, event->hash, event->id);
	}
	agent_debug("%u events were unregistered", batch->nr_events);
	agent_batch_defer_free(batch);
}

/* libside tells of a batch. */
void agent_batches_changed(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	struct agent_session *session;
	int saved_errno = errno;
	bool begun;

	(void)priv;
	/* From here on a fork waits again, until the notification ends or waits for a recorder. */
	side_tracer_lock();
	begun = agent_occasion_begins(0);
	if (begun && notification == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS) {
		notified.nr_events = nr_events;
		notified.thread = &errno;
		notified.events = events;
	}
	if (retired && !atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed))
		agent_batch_free_retired(wire_deadline(0));
	if (agent.rules.over)
		agent_over_free();
	agent_bases_changed();
	agent_each_session(session) {
		if (notification == SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS)
			batch_disappears(session, events);
		else
			batch_appears(session, events, nr_events);
	}
	if (begun)
		notified.events = NULL;
	agent_occasion_ends(begun);
	side_tracer_unlock();
	errno = saved_errno;
}

bool agent_batches_are_cut_off(void)
{
	/* If a signal handler in the notification has forked, that goes on in the child. */
	return notified.events && notified.thread != &errno;
}

void agent_batches_forked(void)
{
	struct side_event_description **events = notified.events;
	struct agent_session *session;

	notified.events = NULL;
	agent_each_session(session)
		batch_appears(session, events, notified.nr_events);
}

/*
 * In a forked child, whose consumer knows nothing yet: describe all events again, under the ids
 * they have. What is refused now stays silent in this process. Callbacks are all in place.
 */
int agent_batches_send_again(struct agent_session *session)
{
	struct agent_batch *batch;
	uint32_t i;
	int ret = 0;

	/* Ids of what the parent had and has no more mean nothing to it. */
	for (i = 0; i < session->nr_channels; i++)
		agent_recycled_ids_forget(&session->channels[i].spares);
	for (batch = session->batches; batch && !ret; batch = batch->next) {
		struct visit_buffer *stream = take_stream();

		describe_again(batch, stream);
		ret = agent_batch_send_stream(session, batch, stream);
		give_stream(stream);
	}
	agent_batches_trim();
	return ret;
}

void agent_batches_redirect(struct agent_session *session)
{
	struct agent_batch *batch;

	for (batch = session->batches; batch; batch = batch->next)
		agent_batch_redirect(batch);
}

/* Every callback off and all memory back. Not in a callback, nor in a notification. */
void agent_batches_forget(void)
{
	struct agent_session *session;

	agent_each_session(session)
		while (session->batches)
			batch_disappears(session, session->batches->key);
	agent_over_begin();
	side_tracer_synchronize();
	agent_batch_free_retired(UINT64_MAX);
	agent_over_free();
	agent_batches_trim();
}
