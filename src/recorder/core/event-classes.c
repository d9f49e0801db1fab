/* SPDX-License-Identifier: MIT */
/*
 * Parses the stream in which processes describe their event classes, and keeps the classes until
 * the trace is complete.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/visit.h"
#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/description-file.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance-state.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/session-state.h"

/* ---- the stream ---- */

bool class_stream_is_whole(const struct class_stream *stream)
{
	return !stream->size && !stream->skip;
}

void class_stream_free(struct class_stream *stream)
{
	free(stream->pending);
	*stream = (struct class_stream){0};
}

static bool class_stream_append(
		struct class_stream *stream, const unsigned char *bytes, size_t size)
{
	if (stream->size + size > stream->capacity) {
		size_t capacity = (stream->size + size) * 2;
		unsigned char *pending = realloc(stream->pending, capacity);

		if (!pending)
			return false;
		stream->pending = pending;
		stream->capacity = capacity;
	}
	memcpy(stream->pending + stream->size, bytes, size);
	stream->size += size;
	return true;
}

/* Handles the complete entry in `pending`, or its head. */
static bool class_stream_handle_entry(struct class_stream *stream, class_visit *visit, void *user)
{
	struct wire_event_head head;

	memcpy(&head, stream->pending, sizeof(head));
	if (head.size > LIMIT_DESCRIPTION || head.contexts_size > WIRE_EVENT_CONTEXTS_BYTES_MAX) {
		stream->skip = (uint64_t)head.contexts_size + head.size;
		stream->size = 0;
		return visit(user, &head, NULL, WIRE_REFUSAL_TOO_LARGE);
	}
	if (stream->size < sizeof(head) + head.contexts_size + head.size)
		return true;
	stream->size = 0;
	return visit(user, &head, stream->pending + sizeof(head), WIRE_REFUSAL_NONE);
}

static size_t event_class_min(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

int class_stream_feed(struct class_stream *stream, const void *data, size_t left,
		class_visit *visit, void *user)
{
	const unsigned char *bytes = data;

	while (left) {
		struct wire_event_head head;
		size_t wanted, part;

		if (stream->skip) {
			part = event_class_min(stream->skip, left);
			stream->skip -= part;
			bytes += part;
			left -= part;
			continue;
		}
		wanted = sizeof(head);
		if (stream->size >= sizeof(head)) {
			memcpy(&head, stream->pending, sizeof(head));
			wanted += (size_t)head.contexts_size + head.size;
		}
		part = event_class_min(wanted - stream->size, left);
		if (!class_stream_append(stream, bytes, part))
			return -ENOMEM;
		bytes += part;
		left -= part;
		if (stream->size >= sizeof(head) && !class_stream_handle_entry(stream, visit, user))
			return -ENOMEM;
	}
	return 0;
}

/* ---- stored event classes ---- */

/* Returns the refusal for a failed step: `refusal`, or WIRE_REFUSAL_MEMORY if out of memory. */
static enum wire_refusal event_class_refusal_of(int ret, enum wire_refusal refusal)
{
	if (!ret)
		return WIRE_REFUSAL_NONE;
	return ret == -ENOMEM ? WIRE_REFUSAL_MEMORY : refusal;
}

/*
 * Checks that the consumer can write records of this event class, so that the program learns of a
 * refusal before it records the first event.
 */
static enum wire_refusal event_class_check_class(const struct visit_owned *owned)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct error error;
	struct ctf_type *type;
	int ret = -ENOMEM;

	if (arena)
		ret = ctf_type_from_description(arena, owned->desc, &type, &error);
	ctf_arena_destroy(arena);
	return event_class_refusal_of(ret, WIRE_REFUSAL_UNSUPPORTED);
}

static bool event_class_id_is_used(
		struct session *session, const struct instance_channel *channel, uint32_t id)
{
	bool taken;

	pthread_mutex_lock(&session->lock);
	taken = id < channel->ids_capacity && channel->by_id[id];
	pthread_mutex_unlock(&session->lock);
	return taken;
}

static bool event_class_ensure_capacity(
		struct instance *instance, struct instance_channel *channel, uint32_t id)
{
	if (instance->nr_classes == instance->classes_capacity) {
		uint32_t capacity =
				instance->classes_capacity ? instance->classes_capacity * 2 : 32;
		struct event_class *classes =
				realloc(instance->classes, capacity * sizeof(*classes));

		if (!classes)
			return false;
		instance->classes = classes;
		instance->classes_capacity = capacity;
	}
	if (id >= channel->ids_capacity) {
		uint32_t capacity = channel->ids_capacity ? channel->ids_capacity : 32;
		uint32_t *by_id;

		while (capacity <= id)
			capacity *= 2;
		by_id = realloc(channel->by_id, capacity * sizeof(*by_id));
		if (!by_id)
			return false;
		memset(by_id + channel->ids_capacity, 0,
				(capacity - channel->ids_capacity) * sizeof(*by_id));
		channel->by_id = by_id;
		channel->ids_capacity = capacity;
	}
	return true;
}

static enum wire_refusal event_class_add(struct session *session, struct instance *instance,
		const struct event_class *event_class, size_t size)
{
	struct instance_channel *channel = &instance->channels[event_class->channel];
	enum wire_refusal refusal = WIRE_REFUSAL_NONE;

	pthread_mutex_lock(&session->lock);
	if (instance->state != INSTANCE_LIVE ||
			instance->description_bytes + size > LIMIT_INSTANCE_DESCRIPTIONS ||
			size > shares_left(&session->description_shares, instance->account)) {
		refusal = WIRE_REFUSAL_TOO_MANY;
	} else if (!event_class_ensure_capacity(instance, channel, event_class->id) ||
			!shares_take(&session->description_shares, instance->account, size)) {
		refusal = WIRE_REFUSAL_MEMORY;
	} else {
		instance->classes[instance->nr_classes++] = *event_class;
		channel->by_id[event_class->id] = instance->nr_classes;
		instance->description_bytes += size;
	}
	pthread_mutex_unlock(&session->lock);
	return refusal;
}

static void event_class_free(struct event_class *event_class)
{
	visit_owned_free(event_class->owned);
	context_list_free(&event_class->contexts);
}

static enum wire_refusal event_class_read_class(const struct wire_event_head *head,
		const void *bytes, struct event_class *event_class)
{
	struct visit_error error;
	int ret = visit_description_decode((const char *)bytes + head->contexts_size, head->size,
			&event_class->owned, &error);

	if (ret) {
		event_class->owned = NULL;
		return event_class_refusal_of(ret, WIRE_REFUSAL_MALFORMED);
	}
	ret = context_list_read(
			&event_class->contexts, bytes, head->nr_contexts, head->contexts_size);
	return ret ? event_class_refusal_of(ret, WIRE_REFUSAL_CONTEXT)
		   : event_class_check_class(event_class->owned);
}

/*
 * Checks a class whose records the consumer only counts. Stores nothing, because the consumer never
 * decodes such records.
 */
static enum wire_refusal event_class_check_counted(
		struct session *session, const struct wire_event_head *head, const void *bytes)
{
	struct event_class event_class = {.channel = head->channel, .id = head->id};
	enum wire_refusal refusal = event_class_read_class(head, bytes, &event_class);

	if (!refusal)
		channel_meet(&session->channels[head->channel], event_class.owned->desc);
	if (event_class.owned)
		event_class_free(&event_class);
	return refusal;
}

enum wire_refusal classes_add(struct session *session, struct instance *instance,
		const struct wire_event_head *head, const void *bytes)
{
	struct event_class event_class = {.channel = head->channel, .id = head->id};
	enum wire_refusal refusal;

	if (head->channel >= instance->nr_all_channels)
		return WIRE_REFUSAL_CHANNEL;
	if (head->id >= LIMIT_EVENTS)
		return WIRE_REFUSAL_TOO_MANY;
	if (instance->channels[head->channel].channel->counts)
		return event_class_check_counted(session, head, bytes);
	if (event_class_id_is_used(session, &instance->channels[head->channel], head->id))
		return WIRE_REFUSAL_DUPLICATE_ID;
	refusal = event_class_read_class(head, bytes, &event_class);
	if (!refusal && !instance->own_channels)
		channel_meet(&session->channels[head->channel], event_class.owned->desc);
	/* For a listing, programs describe all their events. */
	if (!refusal && session->mode == SESSION_LIST &&
			!channel_wants(&session->channels[head->channel],
					event_class.owned->desc)) {
		event_class_free(&event_class);
		return WIRE_REFUSAL_NONE;
	}
	if (!refusal && buffers_note_class(instance, head, bytes))
		refusal = WIRE_REFUSAL_OUTPUT;
	if (!refusal)
		refusal = event_class_add(session, instance, &event_class, head->size);
	if (refusal && event_class.owned)
		event_class_free(&event_class);
	return refusal;
}

/* ---- names ---- */

char *classes_name(const struct instance *instance, uint32_t channel, uint32_t slot)
{
	const struct instance_channel *instance_channel = &instance->channels[channel];
	const struct side_event_description *desc;
	char *name;

	if (slot >= instance_channel->ids_capacity || slot >= EVENT_SLOTS - 1 ||
			!instance_channel->by_id[slot])
		return strdup("");
	desc = instance->classes[instance_channel->by_id[slot] - 1].owned->desc;
	if (asprintf(&name, "%s:%s", side_ptr_get(desc->provider_name),
			    side_ptr_get(desc->event_name)) < 0)
		return NULL;
	return name;
}

static int event_class_compare(const void *one, const void *other)
{
	const struct side_event_description *a, *b;
	int order;

	a = (*(const struct event_class *const *)one)->owned->desc;
	b = (*(const struct event_class *const *)other)->owned->desc;
	order = strcmp(side_ptr_get(a->provider_name), side_ptr_get(b->provider_name));
	return order ? order : strcmp(side_ptr_get(a->event_name), side_ptr_get(b->event_name));
}

/* Counts events, not classes: each channel that records an event has a class of its own. */
static uint32_t event_class_count_names(const struct instance *instance)
{
	const struct event_class **sorted;
	uint32_t nr = instance->nr_classes, i;

	if (instance->nr_channels < 2 || !nr)
		return nr;
	sorted = calloc(nr, sizeof(*sorted));
	if (!sorted)
		return nr;
	for (i = 0; i < nr; i++)
		sorted[i] = &instance->classes[i];
	qsort(sorted, nr, sizeof(*sorted), event_class_compare);
	nr = 1;
	for (i = 1; i < instance->nr_classes; i++)
		nr += event_class_compare(&sorted[i - 1], &sorted[i]) != 0;
	free(sorted);
	return nr;
}

/* The classes are not needed once the trace is complete. */
void classes_forget(struct session *session, struct instance *instance)
{
	uint32_t i;

	pthread_mutex_lock(&session->lock);
	if (instance->classes)
		instance->nr_names = event_class_count_names(instance);
	for (i = 0; instance->classes && i < instance->nr_classes; i++)
		event_class_free(&instance->classes[i]);
	free(instance->classes);
	instance->classes = NULL;
	instance->classes_capacity = 0;
	for (i = 0; i < instance->nr_channels; i++) {
		free(instance->channels[i].by_id);
		instance->channels[i].by_id = NULL;
		instance->channels[i].ids_capacity = 0;
	}
	shares_give_back(&session->description_shares, instance->account,
			instance->description_bytes);
	instance->description_bytes = 0;
	pthread_mutex_unlock(&session->lock);
}
