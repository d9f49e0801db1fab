/* SPDX-License-Identifier: MIT */
/*
 * Reports what a trace lacks: records that rings discarded, counted by ring, event and reason, and
 * bytes that could not be written to the disk. The trace (side:lost) and the summary contain these
 * losses. Records that an overwrite ring has overwritten are no loss: this is its purpose.
 *
 * The counters are in memory that the traced program can write. Counters beyond LIMIT_LOSSES are
 * added up, so that a program cannot make the recorder store any number of them.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/ctf.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/reported-losses.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

struct lost {
	uint64_t key;
	char *ring, *event, *reason;
	uint64_t count; /* since the process began */
	bool in_bytes;
};

struct lost_list {
	struct session *session;
	struct instance *instance;
	uint32_t channel;
	bool incomplete; /* out of memory */
	struct lost *lost;
	size_t nr, capacity;
	uint64_t remainder; /* losses beyond the limit */
};

const char *losses_reason(const struct instance *instance, uint32_t slot, enum ring_loss reason)
{
	/*
	 * Programs that record for others use this counter for losses in the kernel's buffers:
	 * agent_count_lost().
	 */
	bool of_kernel = !strcmp(instance->procname, SESSION_KERNEL_PROGRAM) ||
			!strcmp(instance->procname, SESSION_UPROBES_PROGRAM);

	if (of_kernel && reason == (slot == EVENT_SLOTS - 1 ? RING_LOST_BUSY : RING_LOST_OTHER))
		return SESSION_LOST_IN_KERNEL;
	if (slot == EVENT_SLOTS - 1 && reason == RING_LOST_OTHER)
		return SESSION_LOST_BY_KIND;
	if (slot == EVENT_SLOTS - 1 && reason == RING_LOST_NESTED)
		return SESSION_LOST_IN_CHILD;
	if (reason == RING_LOST_NESTED)
		return SESSION_LOST_IN_VFORK;
	return ring_loss_name(reason);
}

static uint64_t losses_event_key(
		const struct lost_list *list, uint32_t ring, uint32_t slot, unsigned int reason)
{
	return (uint64_t)list->channel << 48 | (uint64_t)ring << 32 | (uint64_t)slot << 8 | reason;
}

/* Reserved values for slots and reasons that do not exist. */
#define SLOT_NONE 0xffffffu
_Static_assert(SESSION_EVENT_BYTES == RING_PAYLOAD_MAX, "what users are told is what rings take");

#define REASON_UNWRITTEN 0xffu
#define KEY_PROCESSES (UINT64_MAX - 1)
#define KEY_REMAINDER UINT64_MAX

static void free_lost(const struct lost *lost)
{
	free(lost->ring);
	free(lost->event);
	free(lost->reason);
}

/* Takes ownership of the event's name. */
static void losses_add(struct lost_list *list, uint64_t key, const char *ring, char *event,
		const char *reason, uint64_t count, bool in_bytes)
{
	struct lost lost = {
			.key = key,
			.ring = strdup(ring),
			.event = event,
			.reason = strdup(reason),
			.count = count,
			.in_bytes = in_bytes,
	};

	if (list->nr == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 16;
		struct lost *grown = realloc(list->lost, capacity * sizeof(*grown));

		if (grown) {
			list->lost = grown;
			list->capacity = capacity;
		}
	}
	if (list->nr < list->capacity && lost.ring && lost.event && lost.reason) {
		list->lost[list->nr++] = lost;
		return;
	}
	list->incomplete = true;
	list->remainder += in_bytes ? 0 : count;
	free_lost(&lost);
}

static void free_list(struct lost_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		free_lost(&list->lost[i]);
	free(list->lost);
}

static void name_ring(const struct lost_list *list, uint32_t ring, char name[64])
{
	snprintf(name, 64, "%s_%u", list->instance->channels[list->channel].channel->name, ring);
}

static int losses_visit(void *data, uint32_t ring, uint32_t slot, const uint64_t *counts)
{
	struct lost_list *list = data;
	unsigned int reason;
	char name[64];

	name_ring(list, ring, name);
	for (reason = 0; reason < RING_LOSS_REASONS; reason++)
		if (list->nr >= LIMIT_LOSSES)
			list->remainder += counts[reason];
		else if (counts[reason])
			losses_add(list, losses_event_key(list, ring, slot, reason), name,
					classes_name(list->instance, list->channel, slot),
					losses_reason(list->instance, slot, reason), counts[reason],
					false);
	return 0;
}

static void collect_channel(struct lost_list *list)
{
	struct instance *instance = list->instance;
	struct instance_channel *channel = &instance->channels[list->channel];
	char name[64], reason[128];
	uint32_t ring;

	/*
	 * From a core dump: such a ring only counts events and discards all of them, which is no
	 * loss.
	 */
	if (channel->geometry.flags & RING_COUNTS)
		return;
	for (ring = 0; ring < channel->geometry.rings; ring++) {
		if (ring_consumer_lost_total(channel->rings, ring))
			ring_consumer_lost_each(channel->rings, ring, losses_visit, list);
		if (!channel->each[ring].unwritten)
			continue;
		name_ring(list, ring, name);
		snprintf(reason, sizeof(reason), CTF_LOST_BYTES "%s",
				strerror(instance->unwritten_code));
		losses_add(list, losses_event_key(list, ring, SLOT_NONE, REASON_UNWRITTEN), name,
				strdup(""), reason, channel->each[ring].unwritten, true);
	}
}

/* Each process counts as one: the number of its events is unknown. */
static void add_processes(struct lost_list *list)
{
	/* Relaxed: a statistics counter. */
	uint64_t count = __atomic_load_n(&list->instance->refused, __ATOMIC_RELAXED);

	if (count)
		losses_add(list, KEY_PROCESSES, "", strdup(""), SESSION_LOST_PROCESS, count, false);
}

static void losses_add_remainder(struct lost_list *list)
{
	uint64_t remainder = list->remainder;

	if (remainder)
		losses_add(list, KEY_REMAINDER, "", strdup(""),
				"other reasons: there are too many different reasons", remainder,
				false);
}

/* ---- into a trace ---- */

/* The list is sorted by key, because it was collected in this order. */
static void losses_store_reported(struct instance *instance, const struct lost_list *list)
{
	struct reported_loss *reported = calloc(list->nr + 1, sizeof(*reported));
	size_t i;

	if (!reported)
		return;
	for (i = 0; i < list->nr; i++)
		reported[i] = (struct reported_loss){list->lost[i].key, list->lost[i].count};
	free(instance->reported);
	instance->reported = reported;
	instance->nr_reported = list->nr;
	journal_write_losses(list->session, instance, reported, list->nr * sizeof(*reported));
}

/*
 * Writes the losses since the last report. Returns 1 if there were some, 0 if not, or a negative
 * errno.
 */
static int write_list(const struct lost_list *list, bool since, struct ctf_writer *writer,
		uint64_t ticks, struct error *error)
{
	struct ctf_lost *lost = calloc(list->nr + 1, sizeof(*lost));
	size_t nr = 0, i;
	int ret = lost ? 0 : -ENOMEM;

	for (i = 0; i < list->nr && lost; i++) {
		const struct lost *one = &list->lost[i];
		uint64_t before = since ? reported_losses_count(list->instance, one->key) : 0;

		if (one->count > before)
			lost[nr++] = (struct ctf_lost){
					one->ring, one->event, one->reason, one->count - before};
	}
	if (nr)
		ret = ctf_writer_lost(writer, ticks, lost, nr, error);
	free(lost);
	return ret;
}

/* True if there is a loss that was not reported yet. */
static bool losses_is_changed(const struct lost_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (list->lost[i].count > reported_losses_count(list->instance, list->lost[i].key))
			return true;
	return false;
}

/*
 * Writes a last, empty packet for each ring whose loss counter has changed since its last packet.
 */
static int write_discarded(struct session *session, struct instance *instance, uint32_t channel,
		uint64_t ticks, struct error *error)
{
	struct instance_channel *of = &instance->channels[channel];
	uint32_t ring;
	int ret = 0;

	if (of->geometry.flags & RING_COUNTS)
		return 0;
	for (ring = 0; ring < of->geometry.rings && !ret; ring++) {
		struct ctf_span empty = {
				.timestamp_begin = ticks,
				.timestamp_end = ticks,
				.events_discarded = ring_consumer_lost_total(of->rings, ring),
		};

		if (empty.events_discarded > of->each[ring].discarded)
			ret = trace_append(session, instance, channel, ring, &empty, error);
	}
	return ret;
}

/* Writes the losses to the trace, with the current time. */
static int losses_write_note(struct lost_list *list)
{
	struct session *session = list->session;
	struct instance *instance = list->instance;
	uint64_t ticks = session->recovers ? instance->last_ticks
					   : ring_clock_now(session->clock.kind);
	struct error error;
	int ret = 0;

	error_set_no_memory(&error);
	for (list->channel = 0; list->channel < instance->nr_channels && !ret; list->channel++)
		ret = write_discarded(session, instance, list->channel, ticks, &error);
	for (list->channel = 0; list->channel < instance->nr_channels; list->channel++)
		collect_channel(list);
	add_processes(list);
	losses_add_remainder(list);
	if (!ret && losses_is_changed(list)) {
		ret = trace_prepare(session, instance, &error);
		if (!ret)
			ret = write_list(list, true, instance->writer, ticks, &error);
		if (!ret)
			losses_store_reported(instance, list);
	}
	if (ret && full_holds(session, ret))
		return ret;
	if (ret)
		trace_fail(session, instance, ret, &error);
	return 0;
}

void losses_note(struct session *session, struct instance *instance)
{
	struct lost_list list = {.session = session, .instance = instance};

	losses_write_note(&list);
	free_list(&list);
}

/* ---- at the end ---- */

static void losses_summarize(struct lost_list *list)
{
	struct instance *instance = list->instance;
	size_t i;

	for (i = 0; i < list->nr; i++) {
		const struct lost *lost = &list->lost[i];

		report_loss(list->session, instance, lost->ring, lost->event, lost->reason,
				lost->count, lost->in_bytes);
		if (lost->in_bytes)
			continue;
		instance->lost += lost->count;
		atomic_fetch_add_explicit(
				&list->session->drain.lost, lost->count, memory_order_relaxed);
	}
}

bool losses_end(struct session *session, struct instance *instance)
{
	struct lost_list list = {.session = session, .instance = instance};
	bool done = !losses_write_note(&list);

	if (done)
		losses_summarize(&list);
	free_list(&list);
	return done;
}

int losses_write(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint64_t ticks, struct error *error)
{
	struct lost_list list = {.session = session, .instance = instance};
	int ret;

	for (; list.channel < instance->nr_channels; list.channel++)
		if (channel_overwrites(instance->channels[list.channel].channel))
			collect_channel(&list);
	losses_add_remainder(&list);
	ret = write_list(&list, false, writer, ticks, error);
	free_list(&list);
	return ret;
}
