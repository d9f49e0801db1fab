/* SPDX-License-Identifier: MIT */
/*
 * Batches of events from begin to end: memory, ids, the stream of descriptions, callbacks, and the
 * state after a failure of the recorder or of an allocation. The test includes the file, and
 * replaces plans, rings, the recorder and libside.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <side/tracer-extensions.h>

#include "../called.h"
#include "abi/visit.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/describe.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/recovery.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/replaced.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/select.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/plan/plan.h"

#define NR_EVENTS 4

static struct side_event_state states[NR_EVENTS];
static struct side_event_description described[NR_EVENTS];
static struct plan plans[NR_EVENTS];
static struct agent_session sessions[2];
static struct agent_channel channels[3];
static unsigned int nr_sessions;

static struct {
	bool no_memory, no_plan, is_main, has_spare, is_small;
	uint64_t now;
	int invalid, plan_error, encode_error, send_error, register_error;
	ssize_t fixed;                       /* size of each record */
	unsigned int wanted[3];              /* for each channel a bit for each event */
	size_t bytes;                        /* of a description, if not 0 */
	const struct wire_refused *refusals; /* the recorder's */
	unsigned int nr_refusals, nr_pages;
	void (*meanwhile)(void); /* called during the exchange with the recorder */
	char *memory;            /* of the last batch */
} played;

static int number_of(const struct side_event_description *event)
{
	return (int)(event - described);
}

static void see(const struct side_event_description *event, const struct side_arg_vec *arguments,
		void *priv, void *caller)
{
	(void)event;
	(void)arguments;
	(void)priv;
	(void)caller;
}

/* ---- memory ---- */

static void *play_take(size_t size)
{
	called("take %zu\n", size);
	if (played.no_memory)
		return NULL;
	played.nr_pages++;
	played.memory = aligned_alloc(64, (size + 63) / 64 * 64);
	assert_non_null(played.memory);
	return memset(played.memory, 0, size);
}

static void play_give(void *pages, size_t size)
{
	called("give %zu\n", size);
	played.nr_pages--;
	free(pages);
}

static uint64_t play_deadline(unsigned int ms)
{
	return played.now + ms;
}

/* ---- plans and selections ---- */

static int play_check(const struct side_event_description *event, unsigned int flags,
		struct visit_error *error)
{
	(void)error;
	assert_int_equal(flags, 0);
	called("check %d\n", number_of(event));
	return played.invalid;
}

/* The first one is a multiple of 16, the others are not. */
static ssize_t play_plan_size(
		const struct side_event_description *event, char *error, size_t error_size)
{
	assert_int_equal(error_size, 256);
	strcpy(error, "played");
	called("plan %d\n", number_of(event));
	return played.plan_error ? played.plan_error : 32 + number_of(event);
}

static int play_plan_build(const struct side_event_description *event, void *memory, size_t size,
		struct plan **plan)
{
	called("build %d at %td: %zu\n", number_of(event), (char *)memory - played.memory, size);
	*plan = &plans[number_of(event)];
	return played.no_plan ? -EINVAL : 0;
}

static ssize_t play_fixed_size(const struct plan *plan)
{
	assert_in_range(plan - plans, 0, NR_EVENTS - 1);
	return played.fixed;
}

static bool play_wants(
		const struct agent_channel *channel, const struct side_event_description *event)
{
	return played.wanted[channel - channels] >> number_of(event) & 1;
}

/* Channel 2 names the events, but does not record them. */
static size_t play_select(const struct agent_channel *channel,
		struct side_event_description *description, struct agent_event *event, char *memory)
{
	assert_true(event->channel == channel && event->description == description);
	called("select %d in %td", number_of(description), channel - channels);
	if (memory)
		called(" at %td with plan %td, place %u", memory - played.memory,
				event->plan - plans, event->position);
	called("\n");
	event->callback = see;
	return channel == &channels[2] ? 0 : (size_t)(16 * (channel - channels + 1));
}

/* ---- descriptions ---- */

static char small_memory[40];

static void play_buffer(struct visit_buffer *buffer)
{
	called("pages\n");
	if (played.is_small)
		visit_buffer_fixed(buffer, small_memory, sizeof(small_memory));
	else
		visit_buffer_pages(buffer);
}

static int play_encode(const struct side_event_description *event, struct visit_buffer *out,
		struct visit_error *error)
{
	static char bytes[70000];
	char text[16];

	memset(error, 0, sizeof(*error));
	(void)snprintf(text, sizeof(text), "event-%d", number_of(event));
	if (played.bytes)
		return visit_buffer_append(out, bytes, played.bytes);
	return visit_buffer_append(out, text, strlen(text)) ? -ENOSPC : played.encode_error;
}

static bool play_spare(struct agent_recycled_ids *spares, struct agent_hash hash, uint32_t *id)
{
	struct agent_hash wanted = agent_hash("vpid\0vtid\0event-1", 17);

	assert_true(spares == &channels[0].spares || spares == &channels[1].spares);
	if (!played.has_spare || hash.low != wanted.low || hash.high != wanted.high)
		return false;
	*id = 300;
	return true;
}

static void play_put(struct agent_recycled_ids *spares, struct agent_hash hash, uint32_t id)
{
	assert_true(hash.low == 1000 + id);
	called("spare %d of %d\n", (int)id, spares == &channels[1].spares);
}

static void play_forget(struct agent_recycled_ids *spares)
{
	called("forget %d\n", spares == &channels[1].spares);
}

static void play_lost(struct ring_producer *producer, uint32_t id, enum ring_loss reason)
{
	assert_ptr_equal(producer, &channels[0]);
	assert_true(id == AGENT_LOST_SLOT && reason == RING_LOST_OTHER);
	called("lost\n");
}

static int play_send(struct agent_session *session, const void *stream, size_t size,
		void (*refused)(void *user, const struct wire_refused *one), void *user)
{
	const char *at = stream, *end = at + size;
	struct wire_event_head head;

	assert_ptr_equal(session, &sessions[0]);
	called("send");
	while (at < end) {
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		called(" %u in %u: %u (%u) %.*s;", head.id, head.channel, head.nr_contexts,
				head.contexts_size, (int)(head.size < 100 ? head.size : 0),
				at + head.contexts_size);
		at += head.contexts_size + head.size;
	}
	called("\n");
	assert_ptr_equal(at, end);
	for (unsigned int i = 0; i < played.nr_refusals; i++)
		refused(user, &played.refusals[i]);
	if (played.meanwhile)
		played.meanwhile();
	return played.send_error;
}

static void play_recovery(struct agent_session *session, const void *stream, size_t size)
{
	assert_true(session == &sessions[0] && stream);
	called("recovery %zu\n", size);
}

/* ---- rings ---- */

static int timed_method, prefixed_method, scalar_method;

static void *play_method(const char *name, const struct ring_producer *producer, uint32_t id,
		size_t size, int *method)
{
	assert_ptr_equal(producer, &channels[0]);
	called("%s %u %zu\n", name, id, size);
	return method;
}

static ring_publish_timed *play_timed(
		const struct ring_producer *producer, uint32_t id, size_t size)
{
	return (ring_publish_timed *)play_method("timed", producer, id, size, &timed_method);
}

static ring_publish_prefixed *play_prefixed(
		const struct ring_producer *producer, uint32_t id, size_t size)
{
	return (ring_publish_prefixed *)play_method(
			"prefixed", producer, id, size, &prefixed_method);
}

static ring_publish_scalar *play_scalar(
		const struct ring_producer *producer, uint32_t id, size_t size)
{
	return (ring_publish_scalar *)play_method("cell", producer, id, size, &scalar_method);
}

/* ---- libside ---- */

static void see_variadic(const struct side_event_description *event,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	(void)variadic;
	see(event, arguments, priv, caller);
}

static int note_event(const char *name, struct side_event_description *event, bool is_right,
		const struct agent_event *one, uint64_t key)
{
	assert_true(is_right);
	assert_ptr_equal(one->description, event);
	assert_int_equal(key, one->channel->session->key);
	called("%s %d of %u\n", name, number_of(event), one->id);
	return played.register_error;
}

#define PLAY(name, type, right)                                                                    \
	static int play_##name(                                                                    \
			struct side_event_description *event, type call, void *priv, uint64_t key) \
	{                                                                                          \
		return note_event(#name, event, call == (right), priv, key);                       \
	}
PLAY(register, side_tracer_callback_func, see)
PLAY(register_variadic, side_tracer_callback_variadic_func, see_variadic)
PLAY(unregister, side_tracer_callback_func, see)
PLAY(unregister_variadic, side_tracer_callback_variadic_func, see_variadic)

static int play_replace(struct side_event_description *event, side_tracer_callback_func old_call,
		void *old, side_tracer_callback_func call, void *priv, uint64_t key)
{
	assert_true(old_call == see && ((struct agent_event *)old)->id == 9);
	return note_event("replace", event, call == see, priv, key);
}

static int play_replace_variadic(struct side_event_description *event,
		side_tracer_callback_variadic_func old_call, void *old,
		side_tracer_callback_variadic_func call, void *priv, uint64_t key)
{
	assert_true(old_call == see_variadic && ((struct agent_event *)old)->id == 9);
	return note_event("replace_variadic", event, call == see_variadic, priv, key);
}

static bool play_begins(uint64_t deadline)
{
	assert_int_equal(deadline, 0);
	errno = EIO;
	called("begin\n");
	return played.is_main;
}

static void play_ends(bool begun)
{
	assert_int_equal(begun, played.is_main);
	called("end\n");
}

static struct agent_session *play_after(const struct agent_session *session)
{
	ptrdiff_t next = session ? session - sessions + 1 : 0;

	return next < (ptrdiff_t)nr_sessions ? &sessions[next] : NULL;
}

static uint64_t play_over_begin(void)
{
	called("over\n");
	return 0;
}

#define agent_pages_take play_take
#define agent_pages_give play_give
#define wire_deadline play_deadline
#define visit_description_check play_check
#define plan_size play_plan_size
#define plan_build play_plan_build
#define plan_fixed_size play_fixed_size
#define agent_wants play_wants
#define agent_select play_select
#define visit_buffer_pages play_buffer
#define visit_description_encode play_encode
#define agent_recycled_ids_take play_spare
#define agent_recycled_ids_put play_put
#define agent_recycled_ids_forget play_forget
#define ring_count_lost play_lost
#define agent_send_events play_send
#define agent_recovery_add play_recovery
#define ring_choose_timed play_timed
#define ring_choose_prefixed play_prefixed
#define ring_choose_scalar play_scalar
#define side_tracer_callback_register play_register
#define side_tracer_callback_variadic_register play_register_variadic
#define side_tracer_callback_replace play_replace
#define side_tracer_callback_variadic_replace play_replace_variadic
#define side_tracer_callback_unregister_async play_unregister
#define side_tracer_callback_variadic_unregister_async play_unregister_variadic
#define side_tracer_lock() called("lock\n")
#define side_tracer_unlock() called("unlock\n")
#define side_tracer_synchronize() called("synchronize\n")
#define agent_occasion_begins play_begins
#define agent_occasion_ends play_ends
#define agent_bases_changed() called("bases\n")
#define agent_session_after play_after
#define agent_over_begin play_over_begin
#define agent_over_free() called("free over\n")
#include "tracers/agent/core/event.c"
#include "tracers/agent/core/batch.c"

/* ---- the environment ---- */

static const struct context_spec extra[] = {{.name = "vpid"}, {.name = "vtid"}};
static struct side_event_description *list[NR_EVENTS + 2];

static void reset(void)
{
	memset(&played, 0, sizeof(played));
	memset(sessions, 0, sizeof(sessions));
	memset(channels, 0, sizeof(channels));
	memset(described, 0, sizeof(described));
	memset(plans, 0, sizeof(plans));
	played.is_main = true;
	played.fixed = -1;
	for (uint32_t i = 0; i < NR_EVENTS; i++) {
		described[i].version = SIDE_EVENT_DESCRIPTION_ABI_VERSION;
		states[i].version = SIDE_EVENT_STATE_ABI_VERSION;
		side_ptr_set(described[i].state, &states[i]);
		side_ptr_set(described[i].provider_name, "provider");
		side_ptr_set(described[i].event_name, "event");
		list[i] = &described[i];
	}
	for (uint32_t i = 0; i < 3; i++) {
		channels[i].index = i;
		channels[i].session = &sessions[0];
		channels[i].producer = (struct ring_producer *)(void *)&channels[0];
	}
	sessions[0].channels = channels;
	sessions[0].nr_channels = 2;
	sessions[0].key = 77;
	sessions[0].config.max_events = 100;
	nr_sessions = 1;
	agent_batches_trim();
	*calls = '\0';
}

/* Makes a batch of its own, whose events have no ids yet. */
static struct agent_batch *make_batch(uint32_t nr)
{
	size_t size = sizeof(struct agent_batch) + nr * sizeof(struct agent_event);
	struct agent_batch *batch = agent_pages_take(size);

	batch->mapped = size;
	batch->nr_events = nr;
	for (uint32_t i = 0; i < nr; i++) {
		batch->events[i].channel = &channels[0];
		batch->events[i].description = &described[i];
		batch->events[i].plan = &plans[i];
		batch->events[i].callback = see;
	}
	*calls = '\0';
	return batch;
}

/* ---- making a batch ---- */

static void test_build(void **unused)
{
	struct agent_batch *batch = (void *)&played;
	const size_t head = sizeof(struct agent_batch), one = sizeof(struct agent_event);
	char wanted[1024];

	(void)unused;
	reset();
	sessions[0].nr_channels = 3;
	assert_int_equal(agent_batch_build(&sessions[0], list, NR_EVENTS, &batch), 0);
	assert_null(batch);
	assert_called("");
	/* Channel 2 does not record it in the end. */
	played.wanted[2] = 2;
	assert_int_equal(agent_batch_build(&sessions[0], list, NR_EVENTS, &batch), 0);
	assert_null(batch);
	assert_called("check 1\nplan 1\nselect 1 in 2\n");
	played.wanted[0] = 1 | 4;
	played.wanted[1] = 4;
	played.wanted[2] = 0;
	assert_int_equal(agent_batch_build(&sessions[0], list, NR_EVENTS, &batch), 0);
	/* Two plans of 32 and 34 bytes, and the memory of three events. */
	snprintf(wanted, sizeof(wanted),
			"check 0\nplan 0\nselect 0 in 0\ncheck 2\nplan 2\nselect 2 in 0\nselect 2 in 1\n"
			"take %zu\n"
			"check 0\nplan 0\nbuild 0 at %zu: 32\nselect 0 in 0 at %zu with plan 0, place 0\n"
			"check 2\nplan 2\nbuild 2 at %zu: 34\nselect 2 in 0 at %zu with plan 2, place %d\n"
			"select 2 in 1 at %zu with plan 2, place %d\n",
			head + 3 * one + 32 + 48 + 16 + 16 + 32, head + 3 * one,
			head + 3 * one + 32, head + 3 * one + 48, head + 3 * one + 96,
			2 * WIRE_CHANNELS_MAX, head + 3 * one + 112, 2 * WIRE_CHANNELS_MAX + 1);
	assert_called(wanted);
	assert_true(batch->nr_events == 3 && batch->key == list);
	assert_true(batch->mapped == head + 3 * one + 144);
	assert_true(batch->events[0].description == &described[0] &&
			batch->events[2].channel == &channels[1]);
	/* The memory is returned with its size. */
	batch->next = make_batch(0);
	agent_batches_free(batch);
	snprintf(wanted, sizeof(wanted), "give %zu\ngive %zu\n", head + 3 * one + 144, head);
	assert_called(wanted);
	assert_int_equal(played.nr_pages, 0);
	agent_batches_free(NULL);
	played.wanted[0] = 1;
	played.wanted[1] = 1;
	played.no_memory = true;
	assert_int_equal(agent_batch_build(&sessions[0], list, 1, &batch), -ENOMEM);
	assert_null(batch);
	*calls = '\0';
	played.no_memory = false;
	played.plan_error = -EINVAL;
	assert_int_equal(agent_batch_build(&sessions[0], list, 1, &batch), 0);
	assert_called("check 0\nplan 0\n");
	assert_null(batch);
	played.plan_error = 0;
	played.invalid = -EINVAL;
	assert_int_equal(agent_batch_build(&sessions[0], list, 1, &batch), 0);
	assert_called("check 0\n");
	assert_null(batch);
	/* No plan has a known size: the batch is empty. */
	played.invalid = 0;
	played.no_plan = true;
	assert_int_equal(agent_batch_build(&sessions[0], list, 1, &batch), 0);
	assert_int_equal(batch->nr_events, 0);
	agent_batches_free(batch);
}

static void test_known(void **unused)
{
	struct agent_batch *batch;

	(void)unused;
	for (int i = 0; i < 7; i++) {
		reset();
		played.wanted[0] = 1;
		switch (i) {
		case 0: break;
		case 1: list[0] = NULL; break;
		case 2: described[0].version++; break;
		case 3: side_ptr_set(described[0].state, NULL); break;
		case 4: states[0].version++; break;
		case 5: side_ptr_set(described[0].provider_name, NULL); break;
		default: side_ptr_set(described[0].event_name, NULL); break;
		}
		assert_int_equal(agent_batch_build(&sessions[0], list, 1, &batch), 0);
		assert_int_equal(batch != NULL, i == 0);
		agent_batches_free(batch);
	}
}

static void test_find(void **unused)
{
	struct agent_batch *one, *other;

	(void)unused;
	reset();
	one = make_batch(0);
	other = make_batch(0);
	assert_null(agent_batch_find(&sessions[0], list));
	sessions[0].batches = one;
	one->next = other;
	one->key = list + 1;
	other->key = list;
	assert_ptr_equal(agent_batch_find(&sessions[0], list), other);
	assert_ptr_equal(agent_batch_find(&sessions[0], list + 1), one);
	assert_null(agent_batch_find(&sessions[0], list + 2));
	agent_batches_free(one);
}

/* ---- descriptions ---- */

static void test_introduce(void **unused)
{
	const struct wire_refused refusals[] = {{1, 0, 1}, {0, 1, 1}, {7, 0, 1}};
	struct agent_batch *batch, *more;

	(void)unused;
	reset();
	batch = make_batch(4);
	more = make_batch(2);
	batch->next = more;
	batch->events[0].extra = batch->events[1].extra = extra;
	batch->events[0].nr_extra = 1;
	batch->events[1].nr_extra = 2;
	batch->events[2].recorded = true;
	batch->events[2].id = 7;
	batch->events[3].refused = true;
	more->events[0].channel = &channels[1];
	more->events[1].channel = &channels[1];
	more->events[1].recorded = true;
	more->events[1].id = 1;
	played.refusals = refusals;
	played.nr_refusals = 3;
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), 0);
	assert_called("pages\nsend 0 in 0: 1 (5) event-0; 1 in 0: 2 (10) event-1; 0 in 1: 0 (0) event-0;\n"
		      "recovery 84\n");
	assert_true(batch->events[0].recorded && batch->events[0].is_new);
	assert_true(batch->events[0].hash.low == agent_hash("vpid\0event-0", 12).low);
	assert_true(batch->events[0].hash.high == agent_hash("vpid\0event-0", 12).high);
	/* Only events with both this id and this channel are refused. */
	assert_true(!batch->events[1].recorded && batch->events[1].refused);
	assert_true(!batch->events[2].recorded && batch->events[2].refused);
	assert_true(!batch->events[3].recorded && batch->events[3].refused);
	assert_true(!more->events[0].recorded && more->events[0].refused);
	assert_true(more->events[1].recorded && !more->events[1].refused);
	assert_false(sessions[0].incomplete);
	assert_true(channels[0].next_id == 2 && channels[1].next_id == 1);
	/* No event is new: the recorder is not asked. */
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), 0);
	assert_called("");
	assert_non_null(stream_buffer.data);
	agent_batches_free(batch);
}

static void test_ids(void **unused)
{
	struct agent_batch *batch;

	(void)unused;
	reset();
	batch = make_batch(4);
	batch->events[1].extra = extra;
	batch->events[1].nr_extra = 2;
	played.has_spare = true;
	channels[0].next_id = 5;
	sessions[0].config.max_events = 7;
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), 0);
	/* One id is recycled, two are left, and the last event gets none. */
	assert_called("pages\nlost\nsend 5 in 0: 0 (0) event-0; 6 in 0: 0 (0) event-2;\nrecovery 46\n");
	assert_true(batch->events[1].id == 300 && batch->events[1].recorded);
	assert_true(batch->events[2].recorded && !batch->events[3].recorded);
	assert_int_equal(channels[0].next_id, 7);
	channels[0].producer = NULL;
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), 0);
	assert_called("");
	/* A description that cannot be encoded is left out, with all its bytes. */
	memset(batch->events, 0, sizeof(batch->events[0]));
	batch->events[0].channel = &channels[1];
	batch->events[0].description = &described[0];
	batch->nr_events = 1;
	played.encode_error = -EINVAL;
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), 0);
	assert_called("");
	assert_true(!batch->events[0].recorded && !batch->events[0].is_new);
	agent_batches_free(batch);
}

static void test_failing_recorder(void **unused)
{
	struct agent_batch *batch;

	(void)unused;
	reset();
	batch = make_batch(3);
	batch->next = make_batch(1);
	batch->events[0].recorded = true; /* from before */
	batch->events[2].refused = true;
	played.send_error = -EPIPE;
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), -EPIPE);
	assert_called("pages\nsend 0 in 0: 0 (0) event-1; 1 in 0: 0 (0) event-0;\nlost\nlost\n");
	assert_true(batch->events[0].recorded && !batch->events[1].recorded);
	assert_false(batch->next->events[0].recorded);
	assert_true(sessions[0].incomplete);
	/* No memory for the second description. */
	agent_batches_trim();
	sessions[0].incomplete = false;
	played.send_error = 0;
	played.is_small = true;
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), -ENOMEM);
	assert_called("pages\nlost\n");
	assert_false(batch->events[1].recorded || batch->next->events[0].recorded);
	assert_true(sessions[0].incomplete);
	memset(&stream_buffer, 0, sizeof(stream_buffer));
	agent_batches_free(batch);
}

/* The memory of a stream is kept up to the size of a message. */
static void test_stream_memory(void **unused)
{
	struct agent_batch *batch;

	(void)unused;
	reset();
	batch = make_batch(1);
	played.bytes = 30000;
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), 0);
	assert_true(stream_buffer.data && stream_buffer.capacity <= WIRE_MESSAGE_MAX);
	batch->events[0].recorded = false;
	played.bytes = 70000;
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), 0);
	assert_null(stream_buffer.data);
	stream_buffer.capacity = WIRE_MESSAGE_MAX;
	stream_buffer.data = (unsigned char *)small_memory;
	give_stream(&stream_buffer);
	assert_non_null(stream_buffer.data);
	memset(&stream_buffer, 0, sizeof(stream_buffer));
	batch->events[0].recorded = false;
	assert_int_equal(agent_batches_introduce(&sessions[0], batch), 0);
	agent_batches_free(batch);
	agent_batches_trim();
	assert_null(stream_buffer.data);
}

static void test_send_again(void **unused)
{
	struct agent_batch *batch;

	(void)unused;
	reset();
	batch = make_batch(3);
	batch->next = make_batch(1);
	sessions[0].batches = batch;
	batch->events[0].recorded = batch->events[2].recorded = true;
	batch->next->events[0].recorded = true;
	batch->events[0].id = 4;
	batch->events[2].id = 6;
	batch->next->events[0].id = 8;
	assert_int_equal(agent_batches_send_again(&sessions[0]), 0);
	assert_called("forget 0\nforget 1\npages\nsend 4 in 0: 0 (0) event-0; 6 in 0: 0 (0) event-2;\nrecovery 46\n"
		      "send 8 in 0: 0 (0) event-0;\nrecovery 23\n");
	assert_null(stream_buffer.data);
	assert_true(batch->events[0].recorded && !batch->events[1].recorded);
	played.send_error = -EPIPE;
	assert_int_equal(agent_batches_send_again(&sessions[0]), -EPIPE);
	assert_called("forget 0\nforget 1\npages\nsend 4 in 0: 0 (0) event-0; 6 in 0: 0 (0) event-2;\n");
	assert_null(stream_buffer.data);
	/* An event that can no longer be described is not recorded. */
	played.encode_error = -EINVAL;
	played.send_error = 0;
	assert_int_equal(agent_batches_send_again(&sessions[0]), 0);
	assert_called("forget 0\nforget 1\npages\n");
	assert_false(batch->events[0].recorded || batch->next->events[0].recorded);
	agent_batches_free(batch);
}

/* ---- which function records ---- */

static void redirect(struct agent_batch *batch, const char *wanted)
{
	agent_batch_redirect(batch);
	assert_called(wanted);
}

static void test_redirect(void **unused)
{
	struct agent_batch *batch;
	struct agent_event *event;

	(void)unused;
	reset();
	batch = make_batch(1);
	event = batch->events;
	event->id = 5;
	plans[0].kind = PLAN_KIND_GP_ONLY;
	plans[0].scalar_size = 4;
	redirect(batch, "");
	assert_null(event->producer);
	event->recorded = true;
	redirect(batch, "");
	assert_ptr_equal(event->producer, channels[0].producer);
	/* Records of a fixed size below 255. */
	event->straight = true;
	redirect(batch, "");
	played.fixed = 0;
	redirect(batch, "timed 5 0\n");
	assert_true(event->publish_timed == (ring_publish_timed *)(void *)&timed_method);
	played.fixed = 254;
	redirect(batch, "timed 5 254\n");
	assert_int_equal(event->timed_size, 254);
	played.fixed = 255;
	redirect(batch, "");
	played.fixed = 8;
	event->straight = false;
	redirect(batch, "");
	event->straight = true;
	event->contexts = (const struct context_set *)(const void *)&played;
	redirect(batch, "");
	event->straight = false;
	plans[0].kind = PLAN_KIND_SCALAR;
	redirect(batch, "prefixed 5 4\n");
	assert_true(event->publish_prefixed == (ring_publish_prefixed *)(void *)&prefixed_method);
	event->contexts = NULL;
	redirect(batch, "cell 5 4\n");
	assert_true(event->publish_scalar == (ring_publish_scalar *)(void *)&scalar_method);
	event->straight = true;
	redirect(batch, "timed 5 8\ncell 5 4\n");
	event->contexts = (const struct context_set *)(const void *)&played;
	channels[0].producer = NULL;
	redirect(batch, "");
	assert_null(event->producer);
	/* The functions do not change. */
	assert_non_null(event->publish_scalar);
	event->contexts = NULL;
	redirect(batch, "");
	/* All batches of a session. */
	channels[0].producer = (struct ring_producer *)(void *)&channels[0];
	sessions[0].batches = make_batch(0);
	sessions[0].batches->next = batch;
	agent_batches_redirect(&sessions[0]);
	assert_called("timed 5 8\ncell 5 4\n");
	agent_batches_free(sessions[0].batches);
}

/* ---- callbacks ---- */

static void test_callbacks(void **unused)
{
	struct agent_batch *batch;
	struct agent_event *old, *event;

	(void)unused;
	reset();
	batch = make_batch(2);
	old = &batch->events[0];
	event = &batch->events[1];
	old->id = 9;
	event->id = 3;
	old->registered = true;
	agent_event_register(event);
	assert_called("register 1 of 3\n");
	assert_true(event->registered);
	agent_event_replace(old, event);
	assert_called("replace 1 of 3\n");
	assert_true(event->registered && !old->registered);
	played.register_error = SIDE_ERROR_NOMEM;
	agent_event_replace(old, event);
	assert_true(!event->registered && old->registered);
	agent_event_unregister(event);
	event->registered = true;
	agent_event_register(event);
	assert_false(event->registered);
	assert_called("replace 1 of 3\nregister 1 of 3\n");
	event->registered = true;
	agent_event_unregister(event);
	assert_called("unregister 1 of 3\n");
	assert_false(event->registered);
	/* The same with other fields at each call. */
	played.register_error = SIDE_ERROR_OK;
	described[1].flags = SIDE_EVENT_FLAG_VARIADIC;
	old->callback_variadic = event->callback_variadic = see_variadic;
	agent_event_register(event);
	agent_event_replace(old, event);
	assert_true(event->registered && !old->registered);
	agent_event_unregister(event);
	assert_called("register_variadic 1 of 3\nreplace_variadic 1 of 3\nunregister_variadic 1 of 3\n");
	agent_batches_free(batch);
}

/* ---- notifications ---- */

#define INSERT SIDE_TRACER_NOTIFICATION_INSERT_EVENTS
#define REMOVE SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS

static void change(enum side_tracer_notification notification, const char *wanted)
{
	errno = E2BIG;
	agent_batches_changed(notification, list, 2, NULL);
	assert_int_equal(errno, E2BIG);
	assert_called(wanted);
}

static void is_waiting(void)
{
	static const int other_thread;

	assert_false(agent_batches_are_cut_off());
	assert_true(notified.events == list && notified.nr_events == 2);
	notified.thread = &other_thread;
	assert_true(agent_batches_are_cut_off());
	notified.thread = &errno;
}

static void test_changes(void **unused)
{
	const size_t size = sizeof(struct agent_batch) + sizeof(struct agent_event) + 48 + 16;
	const struct wire_refused refusal = {0, 0, 1};
	struct agent_batch *batch;
	char wanted[512], appears[256];

	(void)unused;
	reset();
	snprintf(appears, sizeof(appears),
			"check 1\nplan 1\nselect 1 in 0\ntake %zu\ncheck 1\nplan 1\nbuild 1 at %zu: 33\n"
			"select 1 in 0 at %zu with plan 1, place %d\npages\n",
			size, size - 64, size - 16, WIRE_CHANNELS_MAX);
	change(INSERT, "lock\nbegin\nbases\nend\nunlock\n");
	assert_null(sessions[0].batches);
	played.wanted[0] = 2;
	played.meanwhile = is_waiting;
	assert_null(notified.events);
	assert_false(agent_batches_are_cut_off());
	played.refusals = &refusal;
	played.nr_refusals = 1;
	snprintf(wanted, sizeof(wanted),
			"lock\nbegin\nbases\n%sunlock\nsend 0 in 0: 0 (0) event-1;\nlock\nrecovery 23\nend\nunlock\n",
			appears);
	change(INSERT, wanted);
	assert_non_null(sessions[0].batches);
	assert_null(stream_buffer.data);
	assert_null(notified.events);
	assert_false(sessions[0].batches->events[0].registered);
	agent_batches_free(sessions[0].batches);
	sessions[0].batches = NULL;
	*calls = '\0';
	played.nr_refusals = 0;
	channels[0].next_id = 0;
	snprintf(wanted, sizeof(wanted),
			"lock\nbegin\nbases\n%sunlock\nsend 0 in 0: 0 (0) event-1;\nlock\nrecovery 23\nregister 1 of 0\nend\nunlock\n",
			appears);
	change(INSERT, wanted);
	assert_true(sessions[0].batches->events[0].registered);
	/* It is known already. */
	change(INSERT, "lock\nbegin\nbases\nend\nunlock\n");
	/* Its end: the memory is kept for two seconds. */
	batch = sessions[0].batches;
	batch->events[0].hash.low = 1000;
	played.now = 5000;
	change(REMOVE, "lock\nbegin\nbases\nunregister 1 of 0\nspare 0 of 0\nend\nunlock\n");
	assert_true(!sessions[0].batches && retired == batch);
	played.now = 6999;
	change(REMOVE, "lock\nbegin\nbases\nend\nunlock\n");
	played.now = 7000;
	snprintf(wanted, sizeof(wanted), "lock\nbegin\ngive %zu\nbases\nend\nunlock\n", size);
	change(REMOVE, wanted);
	assert_null(retired);
	/* Inside another occasion nothing is noted, and the lock is kept. */
	played.is_main = false;
	played.meanwhile = NULL;
	snprintf(wanted, sizeof(wanted),
			"lock\nbegin\nbases\n%ssend 1 in 0: 0 (0) event-1;\nrecovery 23\nend\nunlock\n",
			appears);
	sessions[0].list_only = true;
	change(INSERT, wanted);
	assert_false(sessions[0].batches->events[0].registered);
	assert_true(sessions[0].batches->events[0].recorded);
	/* When the program ends, nothing is freed. */
	atomic_store(&agent.process.is_exiting, true);
	batch = sessions[0].batches;
	change(REMOVE, "lock\nbegin\nbases\nend\nunlock\n");
	assert_true(!sessions[0].batches && !retired);
	agent_batch_defer_free(batch);
	played.now = UINT64_MAX;
	change(REMOVE, "lock\nbegin\nbases\nend\nunlock\n");
	atomic_store(&agent.process.is_exiting, false);
	agent.rules.over = (struct agent_generation *)(void *)&played;
	snprintf(wanted, sizeof(wanted), "lock\nbegin\ngive %zu\nfree over\nbases\nend\nunlock\n",
			size);
	change(REMOVE, wanted);
	agent.rules.over = NULL;
	assert_int_equal(played.nr_pages, 0);
}

static void test_failing_changes(void **unused)
{
	const size_t size = sizeof(struct agent_batch) + sizeof(struct agent_event) + 48 + 16;
	char wanted[512];

	(void)unused;
	reset();
	played.wanted[0] = 2;
	sessions[0].gone = true;
	change(INSERT, "lock\nbegin\nbases\nend\nunlock\n");
	assert_true(sessions[0].incomplete);
	sessions[0].gone = sessions[0].incomplete = false;
	played.no_memory = true;
	snprintf(wanted, sizeof(wanted),
			"lock\nbegin\nbases\ncheck 1\nplan 1\nselect 1 in 0\ntake %zu\nend\nunlock\n",
			size);
	change(INSERT, wanted);
	assert_true(sessions[0].incomplete && !sessions[0].batches);
	sessions[0].incomplete = played.no_memory = false;
	played.send_error = -EPIPE;
	agent_batches_changed(INSERT, list, 2, NULL);
	assert_true(sessions[0].incomplete && !sessions[0].batches && !stream_buffer.data);
	snprintf(wanted, sizeof(wanted), "lost\ngive %zu\nend\nunlock\n", size);
	assert_true(strlen(calls) > strlen(wanted));
	assert_string_equal(calls + strlen(calls) - strlen(wanted), wanted);
	assert_int_equal(played.nr_pages, 0);
}

/* Batches that end at different times: the oldest one is freed first. */
static void test_retired(void **unused)
{
	struct agent_batch *batch[3];

	(void)unused;
	reset();
	for (int i = 0; i < 3; i++) {
		batch[i] = make_batch((uint32_t)i);
		batch[i]->next = batch[0]; /* in the list that it was in */
		played.now = (uint64_t)(10 * i);
		agent_batch_defer_free(batch[i]);
	}
	assert_true(retired == batch[0] && batch[0]->next == batch[1]);
	agent_batch_free_retired(RETIREMENT_MS - 1);
	assert_ptr_equal(retired, batch[0]);
	agent_batch_free_retired(RETIREMENT_MS + 10);
	assert_true(retired == batch[2] && !batch[2]->next);
	assert_int_equal(played.nr_pages, 1);
	agent_batch_free_retired(UINT64_MAX);
	assert_true(!retired && retired_end == &retired);
	batch[0] = make_batch(1);
	agent_batch_defer_free(batch[0]);
	assert_ptr_equal(retired, batch[0]);
	agent_batch_free_retired(UINT64_MAX);
	assert_int_equal(played.nr_pages, 0);
}

/* A child that forks in a notification starts its batch again. */
static void test_forked(void **unused)
{
	(void)unused;
	reset();
	played.wanted[0] = 3;
	assert_false(agent_batches_are_cut_off());
	notified.events = list;
	notified.nr_events = 1;
	sessions[0].list_only = true;
	agent_batches_forked();
	assert_null(notified.events);
	assert_non_null(sessions[0].batches);
	assert_int_equal(sessions[0].batches->nr_events, 1);
	*calls = '\0';
	/* The end of all batches. */
	sessions[0].batches->next = make_batch(0);
	sessions[0].batches->next->key = list + 1;
	sessions[0].batches->events[0].hash.low = 1000;
	agent_batches_forget();
	assert_true(!sessions[0].batches && !retired);
	assert_int_equal(played.nr_pages, 0);
	assert_non_null(strstr(calls, "spare 0 of 0\nover\nsynchronize\ngive "));
	assert_non_null(strstr(calls, "free over\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_build),
			cmocka_unit_test(test_known),
			cmocka_unit_test(test_find),
			cmocka_unit_test(test_introduce),
			cmocka_unit_test(test_ids),
			cmocka_unit_test(test_failing_recorder),
			cmocka_unit_test(test_stream_memory),
			cmocka_unit_test(test_send_again),
			cmocka_unit_test(test_redirect),
			cmocka_unit_test(test_callbacks),
			cmocka_unit_test(test_changes),
			cmocka_unit_test(test_failing_changes),
			cmocka_unit_test(test_retired),
			cmocka_unit_test(test_forked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
