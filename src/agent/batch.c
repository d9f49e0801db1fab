/* SPDX-License-Identifier: MIT */
/*
 * Events that appear and disappear.
 *
 * A batch appears: its events that match the patterns get plans and ids, the consumer is sent all
 * their descriptions in one exchange, and those it accepts get our callback. So every id in a ring
 * is one that the consumer knew before.
 *
 * A batch disappears: its owner guarantees that nobody is in a call of its events. Its memory is
 * kept for a little while nevertheless, because owners err, and not freed at all once the program
 * exits, when destructors run beside threads that still emit.
 *
 * All of this runs under libside's event lock.
 */
#include <errno.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "agent/agent.h"
#include "wire/raw.h"

#include <sys/mman.h>

#define RETIREMENT_MS 2000

/* Batches whose events are gone, oldest last. */
static struct retired {
	struct agent_batch *batch;
	uint64_t free_at;
} retired[64];
static unsigned int nr_retired;

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

/* Events of a newer ABI are no affair of ours: their owners run on without being recorded. */
static bool is_wanted(const struct side_event_description *event)
{
	const struct side_event_state *state;

	if (!event || event->version != SIDE_EVENT_DESCRIPTION_ABI_VERSION)
		return false;
	state = side_ptr_get(event->state);
	if (!state || state->version != SIDE_EVENT_STATE_ABI_VERSION)
		return false;
	if (!side_ptr_get(event->provider_name) || !side_ptr_get(event->event_name))
		return false;
	return pattern_set_wants(agent.patterns, agent.nr_patterns,
			side_ptr_get(event->provider_name), side_ptr_get(event->event_name),
			(unsigned int)side_enum_get(event->loglevel));
}

/* ---- memory of a batch ---- */

static void batch_free(struct agent_batch *batch)
{
	raw_munmap(batch, batch->mapped);
}

static void free_retired(uint64_t now)
{
	while (nr_retired && retired[0].free_at <= now) {
		batch_free(retired[0].batch);
		nr_retired--;
		memmove(&retired[0], &retired[1], nr_retired * sizeof(retired[0]));
	}
}

static void retire(struct agent_batch *batch)
{
	uint64_t now = wire_deadline(0);

	free_retired(now);
	if (nr_retired == sizeof(retired) / sizeof(retired[0]))
		free_retired(retired[0].free_at);
	retired[nr_retired++] = (struct retired){
			.batch = batch,
			.free_at = wire_deadline(RETIREMENT_MS),
	};
}

/* What the plans of the wanted events need, and how many these are. */
static uint32_t measure(
		struct side_event_description **events, uint32_t nr_events, size_t *plans_size)
{
	char error[256];
	uint32_t nr = 0;
	uint32_t i;

	*plans_size = 0;
	for (i = 0; i < nr_events; i++) {
		ssize_t size;

		if (!is_wanted(events[i]))
			continue;
		size = plan_size(events[i], error, sizeof(error));
		if (size < 0)
			continue;
		*plans_size += round_up((size_t)size, 8);
		nr++;
	}
	return nr;
}

/* A batch with plans, without ids. NULL: nothing to record in it, or no memory. */
static struct agent_batch *batch_build(struct side_event_description **events, uint32_t nr_events)
{
	struct agent_batch *batch;
	char error[256];
	size_t plans_size, head_size, mapped;
	char *plans;
	uint32_t nr = measure(events, nr_events, &plans_size);
	uint32_t i;

	if (!nr)
		return NULL;
	head_size = round_up(sizeof(*batch) + nr * sizeof(batch->events[0]), 64);
	mapped = head_size + plans_size;
	batch = raw_mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!batch)
		return NULL;
	batch->mapped = mapped;
	batch->key = events;
	plans = (char *)batch + head_size;
	for (i = 0; i < nr_events && batch->nr_events < nr; i++) {
		struct agent_event *event = &batch->events[batch->nr_events];
		ssize_t size;

		if (!is_wanted(events[i]))
			continue;
		size = plan_size(events[i], error, sizeof(error));
		if (size < 0) {
			agent_debug("%s:%s cannot be recorded: %s",
					side_ptr_get(events[i]->provider_name),
					side_ptr_get(events[i]->event_name), error);
			continue;
		}
		if (plan_build(events[i], plans, (size_t)size, &event->plan))
			continue;
		event->description = events[i];
		plans += round_up((size_t)size, 8);
		batch->nr_events++;
	}
	return batch;
}

/* ---- telling the consumer ---- */

/* Append one event to the stream of descriptions, its id to be set. False: it cannot be encoded. */
static bool append_description(struct visit_buffer *stream, struct agent_event *event)
{
	struct wire_event_head head = {0};
	size_t begin = stream->size;
	struct visit_error error;
	char sentence[512];

	if (visit_buffer_append(stream, &head, sizeof(head)))
		return false;
	if (!visit_description_encode(event->description, stream, &error)) {
		begin += sizeof(head);
		event->hash = agent_hash(stream->data + begin, stream->size - begin);
		return true;
	}
	agent_debug("an event cannot be described: %s",
			visit_error_sentence(&error, sentence, sizeof(sentence)));
	stream->size = begin;
	return false;
}

static void finish_description(struct visit_buffer *stream, size_t begin, uint32_t id)
{
	struct wire_event_head head = {.id = id};

	head.size = (uint32_t)(stream->size - begin - sizeof(head));
	memcpy(stream->data + begin, &head, sizeof(head));
}

/*
 * Give ids to the events of a new batch, and gather what the consumer must hear. Returns how many
 * events find no id.
 */
static uint32_t describe_new(struct agent_batch *batch, struct visit_buffer *stream)
{
	uint32_t nr_failed = 0;
	uint32_t i;

	for (i = 0; i < batch->nr_events; i++) {
		struct agent_event *event = &batch->events[i];
		size_t begin = stream->size;

		if (!append_description(stream, event))
			continue;
		event->recorded = true;
		if (agent_spare_take(event->hash, &event->id)) {
			stream->size = begin;
		} else if (agent.next_id < agent.config.max_events) {
			event->id = agent.next_id++;
			finish_description(stream, begin, event->id);
		} else {
			event->recorded = false;
			stream->size = begin;
			nr_failed++;
		}
	}
	return nr_failed;
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

static void mark_refused(void *user, uint32_t id, uint32_t reason)
{
	struct agent_batch *batch = user;
	uint32_t i;

	for (i = 0; i < batch->nr_events; i++)
		if (batch->events[i].id == id)
			batch->events[i].recorded = false;
	agent_debug("event %u is refused: %s", id, wire_refusal_text(reason));
}

static int send_stream(struct agent_batch *batch, const struct visit_buffer *stream)
{
	if (stream->error || !stream->size)
		return stream->error;
	return agent_send_events(stream->data, stream->size, mark_refused, batch);
}

/* Events that stay silent are counted, once each, where the consumer finds it. */
static void count_failed(uint32_t nr_events)
{
	while (agent.producer && nr_events--)
		ring_count_lost(agent.producer, AGENT_LOST_SLOT, RING_LOST_OTHER);
}

/* ---- callbacks ---- */

static void event_register(struct agent_event *event)
{
	struct side_event_description *description = event->description;
	int ret;

	if (description->flags & SIDE_EVENT_FLAG_VARIADIC)
		ret = side_tracer_callback_variadic_register(
				description, agent_record_variadic, event, agent.key);
	else
		ret = side_tracer_callback_register(description, agent_record, event, agent.key);
	event->registered = ret == SIDE_ERROR_OK;
	if (!event->registered)
		agent_debug("libside refuses our callback: error %d", ret);
}

static void event_unregister(struct agent_event *event)
{
	struct side_event_description *description = event->description;

	if (!event->registered)
		return;
	event->registered = false;
	if (description->flags & SIDE_EVENT_FLAG_VARIADIC)
		side_tracer_callback_variadic_unregister_async(
				description, agent_record_variadic, event, agent.key);
	else
		side_tracer_callback_unregister_async(description, agent_record, event, agent.key);
}

/* Describe a new batch to the consumer. Whether it took note. */
static bool batch_introduce(struct agent_batch *batch)
{
	struct visit_buffer stream;
	uint32_t nr_failed;
	bool sent;

	visit_buffer_pages(&stream);
	nr_failed = describe_new(batch, &stream);
	if (nr_failed)
		agent_debug("more than %u events: the rest stays silent", agent.config.max_events);
	sent = !send_stream(batch, &stream);
	visit_buffer_free(&stream);
	count_failed(sent ? nr_failed : batch->nr_events);
	return sent;
}

static void batch_appears(struct side_event_description **events, uint32_t nr_events)
{
	struct agent_batch *batch = batch_build(events, nr_events);
	uint32_t i, nr_registered = 0;

	if (!batch)
		return;
	if (!batch_introduce(batch)) {
		batch_free(batch);
		return;
	}
	batch->next = agent.batches;
	agent.batches = batch;
	for (i = 0; i < batch->nr_events && !agent.list_only; i++)
		if (batch->events[i].recorded) {
			event_register(&batch->events[i]);
			nr_registered += batch->events[i].registered;
		}
	agent_debug("%u events of a batch of %u are recorded", nr_registered, nr_events);
}

static void batch_disappears(struct side_event_description **events)
{
	struct agent_batch **at = &agent.batches;
	struct agent_batch *batch;
	uint32_t i;

	while (*at && (*at)->key != events)
		at = &(*at)->next;
	batch = *at;
	if (!batch)
		return;
	*at = batch->next;
	if (atomic_load_explicit(&agent.exiting, memory_order_relaxed))
		return;
	for (i = 0; i < batch->nr_events; i++) {
		event_unregister(&batch->events[i]);
		if (batch->events[i].recorded)
			agent_spare_put(batch->events[i].hash, batch->events[i].id);
	}
	agent_debug("%u events are gone", batch->nr_events);
	retire(batch);
}

/* libside tells of a batch. */
void agent_batches_changed(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	int saved_errno = errno;

	(void)priv;
	if (nr_retired && !atomic_load_explicit(&agent.exiting, memory_order_relaxed))
		free_retired(wire_deadline(0));
	if (notification == SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS)
		batch_disappears(events);
	else if (!agent.gone)
		batch_appears(events, nr_events);
	errno = saved_errno;
}

/*
 * In a forked child, whose consumer knows nothing yet: describe all events again, under the ids
 * they have. What is refused now stays silent in this process. Callbacks are all in place.
 */
int agent_batches_send_again(void)
{
	struct agent_batch *batch;
	int ret = 0;

	/* Ids of what the parent had and has no more mean nothing to it. */
	agent_spare_forget();
	for (batch = agent.batches; batch && !ret; batch = batch->next) {
		struct visit_buffer stream;

		visit_buffer_pages(&stream);
		describe_again(batch, &stream);
		ret = send_stream(batch, &stream);
		visit_buffer_free(&stream);
	}
	return ret;
}

/* Every callback off and all memory back. Not in a callback, nor in a notification. */
void agent_batches_forget(void)
{
	while (agent.batches)
		batch_disappears(agent.batches->key);
	side_tracer_synchronize();
	free_retired(UINT64_MAX);
	agent_spare_forget();
}
