/* SPDX-License-Identifier: MIT */
/*
 * An instance's bytes on disk. A trace is begun when there is something to put into it: many
 * processes between a fork and an exec never say anything.
 *
 * Order: a record's bytes are looked at first, then the kinds of events that are known by then are
 * described, then the bytes are written. An agent emits a kind only after it was acknowledged, so the
 * metadata always knows what the streams hold.
 *
 * When the disk refuses, the bytes are counted as lost and the ring is freed for what comes, which
 * may find room again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/parts.h"

#define NAME_TRIES 100
/* At the end of a session a living process may write as fast as we read. */
#define PASSES_OF_THE_LIVING 4

static const uint32_t tracer_version[3] = {0, 1, 0};

/* Note that something could not be written, and say it once for each process. */
static void fail_writing(struct session *session, struct instance *instance, int code,
		const struct ctf_error *error)
{
	report_failure(session, code);
	if (!instance->unwritten_code)
		report(session, true, "records of process %d (%s) are lost: %s",
				(int)instance->peer, instance->procname, error->text);
	instance->unwritten_code = code < 0 ? -code : code;
}

static int begin_trace(struct session *session, struct instance *instance, struct ctf_error *error)
{
	struct ctf_writer_config config = {
			.clock = session->ctf_clock,
			.hostname = session->hostname,
			.procname = instance->procname,
			.exe = instance->exe,
			.vpid = instance->pid,
			.version = {tracer_version[0], tracer_version[1], tracer_version[2]},
	};
	int try, ret = -EEXIST;

	/* With --force, names of an earlier session may be taken. */
	for (try = 0; try < NAME_TRIES && ret == -EEXIST; try++) {
		char *directory = NULL, *path = NULL;

		if (asprintf(&directory, "%s-%u-%u", instance->procname, instance->pid,
				    instance->number + (unsigned int)try * LIMIT_INSTANCES) < 0)
			return -ENOMEM;
		if (asprintf(&path, "%s/%s", session->output, directory) < 0) {
			free(directory);
			return -ENOMEM;
		}
		config.dir = path;
		ret = ctf_writer_create(&config, &instance->writer, error);
		free(path);
		if (!ret)
			instance->directory = directory;
		else
			free(directory);
	}
	return ret;
}

/* Put the kinds that are known now into the metadata. */
static int describe_kinds(
		struct session *session, struct instance *instance, struct ctf_error *error)
{
	for (;;) {
		struct event_kind kind = {0};
		bool more;
		int ret;

		pthread_mutex_lock(&session->lock);
		more = instance->nr_described < instance->nr_kinds;
		if (more)
			kind = instance->kinds[instance->nr_described];
		pthread_mutex_unlock(&session->lock);
		if (!more)
			return 0;
		ret = ctf_writer_add_event(instance->writer, 0, kind.id, kind.owned->desc, NULL, 0,
				error);
		if (ret)
			return ret;
		instance->nr_described++;
	}
}

static int prepare(struct session *session, struct instance *instance, struct ctf_error *error)
{
	int ret = instance->writer ? 0 : begin_trace(session, instance, error);

	return ret ? ret : describe_kinds(session, instance, error);
}

static int append(struct session *session, struct instance *instance, uint32_t cpu,
		const struct ctf_span *span, struct ctf_error *error)
{
	int ret = prepare(session, instance, error);

	if (!ret && !instance->streams[cpu])
		ret = ctf_writer_open_stream(instance->writer, 0, cpu, instance->begin_ticks,
				&instance->streams[cpu], error);
	if (!ret)
		ret = ctf_stream_append(instance->streams[cpu], span, error);
	if (!ret)
		instance->discarded[cpu] = span->events_discarded;
	return ret;
}

static void write_span(struct session *session, struct instance *instance, uint32_t cpu,
		const struct ring_span *span)
{
	struct ctf_error error = {""};
	struct ctf_span packet = {
			.records = span->data,
			.size = span->size,
			.timestamp_begin = span->first_timestamp,
			.timestamp_end = span->end_timestamp,
			.events_discarded = ring_consumer_lost_total(instance->rings, cpu),
	};
	int ret = append(session, instance, cpu, &packet, &error);

	if (ret) {
		instance->unwritten[cpu] += span->size;
		fail_writing(session, instance, ret, &error);
		return;
	}
	atomic_fetch_add_explicit(&session->written, span->size, memory_order_relaxed);
}

static bool drain_ring(struct session *session, struct instance *instance, uint32_t cpu)
{
	struct ring_span span;
	int ret;

	if (instance->damaged[cpu])
		return false;
	ret = ring_consumer_peek(instance->rings, cpu, &span);
	if (ret < 0) {
		instance->damaged[cpu] = true;
		report(session, true,
				"process %d (%s) has damaged its ring %u (%s); what it recorded "
				"there "
				"afterwards is lost",
				(int)instance->peer, instance->procname, cpu,
				ring_consumer_error(instance->rings, cpu));
	}
	if (ret <= 0)
		return false;
	write_span(session, instance, cpu, &span);
	ring_consumer_release(instance->rings, cpu, &span);
	return true;
}

bool trace_drain(struct session *session, struct instance *instance)
{
	bool found = false;
	uint32_t cpu;

	for (cpu = 0; cpu < instance->geometry.rings; cpu++)
		found |= drain_ring(session, instance, cpu);
	return found;
}

/* ---- what was lost ---- */

struct lost_list {
	struct session *session;
	struct instance *instance;
	struct ctf_lost *lost;
	size_t nr, room;
};

static char *kind_name(const struct instance *instance, uint32_t slot)
{
	const struct side_event_description *desc;
	char *name;

	if (slot >= instance->room_ids || slot >= EVENT_SLOTS - 1 || !instance->by_id[slot])
		return strdup("");
	desc = instance->kinds[instance->by_id[slot] - 1].owned->desc;
	if (asprintf(&name, "%s:%s", side_ptr_get(desc->provider_name),
			    side_ptr_get(desc->event_name)) < 0)
		return NULL;
	return name;
}

static const char *loss_reason(uint32_t slot, enum ring_loss reason)
{
	if (slot == EVENT_SLOTS - 1 && reason == RING_LOST_OTHER)
		return "kind of event not enabled, the recorder did not answer in time";
	if (slot == EVENT_SLOTS - 1 && reason == RING_LOST_NESTED)
		return "forked child without rings yet";
	if (reason == RING_LOST_NESTED)
		return "in the child of a vfork(), before it ran a program";
	return ring_loss_name(reason);
}

static void add_lost(struct lost_list *list, const char *ring, char *event, const char *reason,
		uint64_t count, bool in_bytes)
{
	report_loss(list->session, list->instance, ring, event ? event : "", reason, count,
			in_bytes);
	if (!in_bytes) {
		list->instance->lost += count;
		atomic_fetch_add_explicit(&list->session->lost, count, memory_order_relaxed);
	}
	if (list->nr == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		struct ctf_lost *lost = realloc(list->lost, room * sizeof(*lost));

		if (!lost) {
			free(event);
			return;
		}
		list->lost = lost;
		list->room = room;
	}
	list->lost[list->nr++] = (struct ctf_lost){
			.ring = strdup(ring),
			.event = event,
			.reason = strdup(reason),
			.count = count,
	};
}

static int visit_lost(void *data, uint32_t cpu, uint32_t slot, const uint64_t *counts)
{
	struct lost_list *list = data;
	char ring[32];
	unsigned int reason;

	snprintf(ring, sizeof(ring), "ring_%u", cpu);
	for (reason = 0; reason < RING_LOSS_REASONS; reason++)
		if (counts[reason])
			add_lost(list, ring, kind_name(list->instance, slot),
					loss_reason(slot, reason), counts[reason], false);
	return 0;
}

static void collect_lost(struct lost_list *list)
{
	struct instance *instance = list->instance;
	char ring[32], reason[128];
	uint32_t cpu;

	for (cpu = 0; cpu < instance->geometry.rings; cpu++) {
		ring_consumer_lost_each(instance->rings, cpu, visit_lost, list);
		if (!instance->unwritten[cpu])
			continue;
		snprintf(ring, sizeof(ring), "ring_%u", cpu);
		snprintf(reason, sizeof(reason), "bytes not written: %s",
				strerror(instance->unwritten_code));
		add_lost(list, ring, strdup(""), reason, instance->unwritten[cpu], true);
	}
}

/* A last, empty packet carries the counter where it has moved since the last full one. */
static void write_discarded(struct session *session, struct instance *instance, uint64_t now,
		struct ctf_error *error)
{
	uint32_t cpu;

	for (cpu = 0; cpu < instance->geometry.rings; cpu++) {
		struct ctf_span empty = {
				.timestamp_begin = now,
				.timestamp_end = now,
				.events_discarded = ring_consumer_lost_total(instance->rings, cpu),
		};
		int ret;

		if (empty.events_discarded <= instance->discarded[cpu])
			continue;
		ret = append(session, instance, cpu, &empty, error);
		if (ret)
			fail_writing(session, instance, ret, error);
	}
}

static void end_losses(struct session *session, struct instance *instance)
{
	struct lost_list list = {.session = session, .instance = instance};
	struct ctf_error error = {""};
	uint64_t now = ring_clock_now(session->clock);
	size_t i;
	int ret;

	write_discarded(session, instance, now, &error);
	collect_lost(&list);
	for (i = 0; i < list.nr; i++)
		if (!list.lost[i].ring || !list.lost[i].event || !list.lost[i].reason)
			goto out;
	if (list.nr) {
		ret = prepare(session, instance, &error);
		if (!ret)
			ret = ctf_writer_lost(instance->writer, now, list.lost, list.nr, &error);
		if (ret)
			fail_writing(session, instance, ret, &error);
	}
out:
	for (i = 0; i < list.nr; i++) {
		free((void *)(uintptr_t)list.lost[i].ring);
		free((void *)(uintptr_t)list.lost[i].event);
		free((void *)(uintptr_t)list.lost[i].reason);
	}
	free(list.lost);
}

/* Everything that was published, the losses, and the memory back. The files stay open. */
void trace_end(struct session *session, struct instance *instance)
{
	unsigned int pass;

	for (pass = 0; pass < PASSES_OF_THE_LIVING && trace_drain(session, instance); pass++)
		;
	end_losses(session, instance);
	ring_consumer_unmap(instance->rings);
	instance->rings = NULL;
	if (instance->writer)
		instance->bytes = ctf_writer_bytes(instance->writer);
	instance_forget_kinds(session, instance);
	pthread_mutex_lock(&session->lock);
	session->memory_used -= instance->memory;
	if (instance->state == INSTANCE_ENDED)
		session->memory_ended -= instance->memory;
	instance->memory = 0;
	instance->state = INSTANCE_CLOSED;
	pthread_cond_signal(&session->memory_back);
	pthread_mutex_unlock(&session->lock);
}

void trace_close(struct session *session, struct instance *instance, const struct ctf_clock *clock)
{
	struct ctf_error error = {""};
	int ret;

	if (!instance->writer)
		return;
	/* The first figures are good enough when the better ones find no room. */
	if (clock)
		ctf_writer_set_clock(instance->writer, clock, &error);
	instance->bytes = ctf_writer_bytes(instance->writer);
	ret = ctf_writer_close(instance->writer, &error);
	instance->writer = NULL;
	if (ret)
		fail_writing(session, instance, ret, &error);
}
