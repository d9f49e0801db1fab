/* SPDX-License-Identifier: MIT */
/*
 * What is missing in a trace: records that rings refused, counted by ring, event and reason, and
 * bytes that found no room on the disk. It is noted in the trace (side:lost) and in the summary. What
 * a ring that overwrites has given up is no loss: that is what it is for.
 *
 * The counters are in memory that the traced program can write: more than LIMIT_LOSSES of them are
 * added up, so that nobody makes us keep as many as it likes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/parts.h"

struct lost_list {
	struct session *session;
	struct instance *instance;
	uint32_t channel;
	bool for_summary;
	bool incomplete; /* there was no memory */
	struct ctf_lost *lost;
	size_t nr, room;
	uint64_t rest; /* beyond the limit */
};

const char *losses_reason(uint32_t slot, enum ring_loss reason)
{
	if (slot == EVENT_SLOTS - 1 && reason == RING_LOST_OTHER)
		return "kind of event not enabled, the recorder did not answer in time";
	if (slot == EVENT_SLOTS - 1 && reason == RING_LOST_NESTED)
		return "forked child without rings yet";
	if (reason == RING_LOST_NESTED)
		return "in the child of a vfork(), before it ran a program";
	return ring_loss_name(reason);
}

static void note_for_summary(struct lost_list *list, const char *ring, const char *event,
		const char *reason, uint64_t count, bool in_bytes)
{
	report_loss(list->session, list->instance, ring, event ? event : "", reason, count,
			in_bytes);
	if (in_bytes)
		return;
	list->instance->lost += count;
	atomic_fetch_add_explicit(&list->session->lost, count, memory_order_relaxed);
}

/* Takes over the event's name. */
static void add_lost(struct lost_list *list, const char *ring, char *event, const char *reason,
		uint64_t count, bool in_bytes)
{
	struct ctf_lost lost = {
			.ring = strdup(ring),
			.event = event,
			.reason = strdup(reason),
			.count = count,
	};

	if (list->for_summary)
		note_for_summary(list, ring, event, reason, count, in_bytes);
	if (list->nr == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		struct ctf_lost *grown = realloc(list->lost, room * sizeof(*grown));

		if (grown) {
			list->lost = grown;
			list->room = room;
		}
	}
	if (list->nr < list->room && lost.ring && lost.event && lost.reason) {
		list->lost[list->nr++] = lost;
		return;
	}
	list->incomplete = true;
	free((void *)(uintptr_t)lost.ring);
	free(event);
	free((void *)(uintptr_t)lost.reason);
}

static void free_list(struct lost_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++) {
		free((void *)(uintptr_t)list->lost[i].ring);
		free((void *)(uintptr_t)list->lost[i].event);
		free((void *)(uintptr_t)list->lost[i].reason);
	}
	free(list->lost);
}

static void name_ring(const struct lost_list *list, uint32_t ring, char name[64])
{
	snprintf(name, 64, "%s_%u", list->instance->channels[list->channel].channel->name, ring);
}

static int visit_lost(void *data, uint32_t ring, uint32_t slot, const uint64_t *counts)
{
	struct lost_list *list = data;
	unsigned int reason;
	char name[64];

	name_ring(list, ring, name);
	for (reason = 0; reason < RING_LOSS_REASONS; reason++)
		if (list->nr >= LIMIT_LOSSES)
			list->rest += counts[reason];
		else if (counts[reason])
			add_lost(list, name, kinds_name(list->instance, list->channel, slot),
					losses_reason(slot, reason), counts[reason], false);
	return 0;
}

static void collect_channel(struct lost_list *list)
{
	struct instance *instance = list->instance;
	struct instance_channel *channel = &instance->channels[list->channel];
	char name[64], reason[128];
	uint32_t ring;

	for (ring = 0; ring < channel->geometry.rings; ring++) {
		if (ring_consumer_lost_total(channel->rings, ring))
			ring_consumer_lost_each(channel->rings, ring, visit_lost, list);
		if (!channel->each[ring].unwritten)
			continue;
		name_ring(list, ring, name);
		snprintf(reason, sizeof(reason), "bytes not written: %s",
				strerror(instance->unwritten_code));
		add_lost(list, name, strdup(""), reason, channel->each[ring].unwritten, true);
	}
}

static void add_rest(struct lost_list *list)
{
	if (list->rest)
		add_lost(list, "", strdup(""), "not told apart: there are too many kinds of losses",
				list->rest, false);
}

/* A last, empty packet carries the counter where it has moved since the last full one. */
static void write_discarded(struct session *session, struct instance *instance, uint32_t channel,
		uint64_t ticks, struct ctf_error *error)
{
	struct instance_channel *of = &instance->channels[channel];
	uint32_t ring;

	for (ring = 0; ring < of->geometry.rings; ring++) {
		struct ctf_span empty = {
				.timestamp_begin = ticks,
				.timestamp_end = ticks,
				.events_discarded = ring_consumer_lost_total(of->rings, ring),
		};
		int ret;

		if (empty.events_discarded <= of->each[ring].discarded)
			continue;
		ret = trace_append(session, instance, channel, ring, &empty, error);
		if (ret)
			trace_fail(session, instance, ret, error);
	}
}

void losses_end(struct session *session, struct instance *instance)
{
	struct lost_list list = {.session = session, .instance = instance, .for_summary = true};
	uint64_t ticks = session->recovers ? instance->last_ticks : ring_clock_now(session->clock);
	struct ctf_error error = {""};
	int ret = 0;

	for (; list.channel < instance->nr_channels; list.channel++) {
		write_discarded(session, instance, list.channel, ticks, &error);
		collect_channel(&list);
	}
	add_rest(&list);
	if (list.nr) {
		ret = trace_prepare(session, instance, &error);
		if (!ret)
			ret = ctf_writer_lost(instance->writer, ticks, list.lost, list.nr, &error);
	}
	if (ret)
		trace_fail(session, instance, ret, &error);
	free_list(&list);
}

int losses_write(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint64_t ticks, struct ctf_error *error)
{
	struct lost_list list = {.session = session, .instance = instance};
	int ret = 0;

	for (; list.channel < instance->nr_channels; list.channel++)
		if (channel_overwrites(instance->channels[list.channel].channel))
			collect_channel(&list);
	add_rest(&list);
	if (list.nr)
		ret = ctf_writer_lost(writer, ticks, list.lost, list.nr, error);
	free_list(&list);
	return ret;
}
