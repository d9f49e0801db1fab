/* SPDX-License-Identifier: MIT */
/*
 * Writes the trace files of an instance. A trace is begun with its first record: many processes
 * between a fork and an exec never record anything.
 *
 * For each packet, the records are checked first, then the event classes known by then are
 * described in the metadata, then the records are written. An agent emits an event class only after
 * the recorder acknowledged it, so the metadata always describes all records in the streams.
 *
 * When the disk is full, records wait in their rings (disk-full.c). After another error, the bytes
 * are counted as lost and the ring is released: later records may be written again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/visit.h"
#include "ctf/ctf.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/jit-map.h"
#include "recorder/storage/maps-file.h"
#include "recorder/storage/output.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

#define NAME_TRIES 100

static const uint32_t tracer_version[3] = {0, 1, 0};

/* Records a failed write, and reports it once for each process. */
void trace_fail(struct session *session, struct instance *instance, int code,
		const struct error *error)
{
	code = code < 0 ? -code : code;
	report_failure(session, code);
	/* Steps without a message of their own leave error->text empty. */
	if (!instance->unwritten_code)
		report_instance(session, instance, true,
				"records of process %d (%s) are lost: %s%s%s", (int)instance->peer,
				instance->procname, *error->text ? error->text : strerror(code),
				*error->hint ? "\n" : "", error->hint);
	instance->unwritten_code = code;
}

/* ---- metadata ---- */

static bool trace_filters_channel(const struct channel *channel)
{
	for (uint32_t i = 0; i < channel->nr_rules; i++)
		if (channel->rules[i].filter)
			return true;
	return false;
}

int trace_create(struct session *session, const struct instance *instance, const char *path,
		struct ctf_writer **ret_writer, struct error *error)
{
	struct ctf_channel_config channels[SESSION_CHANNELS_MAX];
	struct ctf_writer_config config = {
			.dir = path,
			.clock = instance->own_clock ? *instance->own_clock : session->clock.first,
			.hostname = session->hostname,
			.procname = instance->procname,
			.exe = instance->exe,
			.vpid = instance->pid,
			.forked_from = instance->is_forked ? instance->parent : 0,
			.version = {tracer_version[0], tracer_version[1], tracer_version[2]},
			.format = session->output.format,
			.compression = session->output.compress,
			.channels = channels,
			.nr_channels = instance->nr_channels,
			.counts = true,
	};
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++) {
		const struct channel *channel = instance->channels[i].channel;

		config.overwrites |= channel_overwrites(channel);
		config.filters |= trace_filters_channel(channel);
		channels[i] = (struct ctf_channel_config){
				.name = channel->name,
				.placement = channel->placement == RING_PER_THREAD ? CTF_PER_THREAD
										   : CTF_PER_CPU,
				.contexts = channel->contexts.specs,
				.nr_contexts = channel->contexts.nr,
		};
	}
	return ctf_writer_create(&config, ret_writer, error);
}

static void link_writer(struct session *session, struct instance *instance)
{
	instance->next_writer = session->drain.writers;
	instance->writer_at = &session->drain.writers;
	if (session->drain.writers)
		session->drain.writers->writer_at = &instance->next_writer;
	session->drain.writers = instance;
}

static void unlink_writer(struct instance *instance)
{
	*instance->writer_at = instance->next_writer;
	if (instance->next_writer)
		instance->next_writer->writer_at = instance->writer_at;
}

/*
 * Makes a name for the trace; each `try` gives another one. Traces of later recorders have a suffix
 * of their own.
 */
static int name_trace(const struct instance *instance, unsigned int try, char **ret_name)
{
	uint32_t life = journal_life(instance), number = instance->number + try * LIMIT_INSTANCES;
	int made;

	if (life > 1)
		made = asprintf(ret_name, "%s-%u-%u-r%u", instance->procname, instance->pid, number,
				life);
	else
		made = asprintf(ret_name, "%s-%u-%u", instance->procname, instance->pid, number);
	return made < 0 ? -ENOMEM : 0;
}

/* If the journal fails, no later recorder can continue this trace. */
static void begin_journal(struct session *session, struct instance *instance, const char *path)
{
	int ret = journal_begin_trace(session, instance, path);

	if (!ret)
		return;
	report_instance(session, instance, true,
			"the journal of process %d (%s) cannot be written: %s", (int)instance->peer,
			instance->procname, strerror(-ret));
	journal_close(instance);
}

/*
 * Writes the user's id for the relay process, which limits each user's share of its spool
 * (src/relay/spool.h). Traces without the file share one entry.
 */
static void write_user(
		const struct session *session, const struct instance *instance, const char *trace)
{
	char path[PATH_MAX];
	int fd;

	/*
	 * A recording of a command has one user, so its trace needs no such file and stays equal to
	 * the receiver's copy.
	 */
	if (!session->drain.rounds || !session->service ||
			snprintf(path, sizeof(path), "%s/" CTF_USER_FILE, trace) >=
					(int)sizeof(path))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return;
	(void)dprintf(fd, "%u\n", (unsigned int)instance->account);
	close(fd);
}

static int begin_trace(struct session *session, struct instance *instance, struct error *error)
{
	int try, ret = session->trace_hooks->prepare(session, error);

	if (ret)
		return ret;
	ret = -EEXIST;
	/* With --force, traces of an earlier session may use the names. */
	for (try = 0; try < NAME_TRIES && ret == -EEXIST; try++) {
		char *directory = NULL, *path = NULL;

		if (name_trace(instance, (unsigned int)try, &directory))
			return -ENOMEM;
		if (asprintf(&path, "%s/%s", output_traces_path(session), directory) < 0) {
			free(directory);
			return -ENOMEM;
		}
		journal_expect_trace(session, instance, path);
		ret = trace_create(session, instance, path, &instance->writer, error);
		if (!ret)
			write_user(session, instance, path);
		if (!ret)
			begin_journal(session, instance, path);
		free(path);
		if (ret) {
			free(directory);
			continue;
		}
		link_writer(session, instance);
		session->trace_hooks->note(session, directory);
		pthread_mutex_lock(&session->lock);
		free(instance->directory);
		instance->directory = directory;
		pthread_mutex_unlock(&session->lock);
	}
	return ret;
}

/* Counts the bytes that the writer has written since the last call. */
void trace_count_bytes(struct session *session, struct instance *instance)
{
	uint64_t bytes = ctf_writer_bytes(instance->writer);

	instance->bytes += bytes - instance->writer_bytes;
	session->rotation.bytes += bytes - instance->writer_bytes;
	instance->writer_bytes = bytes;
}

/* Adds the event classes that are known now to the metadata. */
int trace_describe(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint32_t *nr_described, struct error *error)
{
	for (;;) {
		struct event_class kind = {0};
		bool more;
		int ret;

		pthread_mutex_lock(&session->lock);
		more = *nr_described < instance->nr_classes;
		if (more)
			kind = instance->classes[*nr_described];
		pthread_mutex_unlock(&session->lock);
		if (!more)
			return 0;
		ret = ctf_writer_add_event(writer, kind.channel, kind.id, kind.owned->desc,
				kind.contexts.specs, kind.contexts.nr, error);
		if (ret)
			return ret;
		++*nr_described;
	}
}

int trace_prepare(struct session *session, struct instance *instance, struct error *error)
{
	int ret = instance->writer ? 0 : begin_trace(session, instance, error);

	if (ret)
		return ret;
	maps_write(session, instance);
	return trace_describe(session, instance, instance->writer, &instance->nr_described, error);
}

/* ---- records ---- */

/*
 * Call before the ring is released. Without the note, a later recorder may write the packet twice;
 * this is reported.
 */
static void record_trace_log_packet(struct session *session, struct instance *instance,
		uint32_t channel, uint32_t ring, uint64_t position)
{
	int ret = journal_note(instance, channel, ring, position);

	if (!ret || instance->channels[channel].each[ring].unnoted)
		return;
	instance->channels[channel].each[ring].unnoted = true;
	report_instance(session, instance, true,
			"the journal of process %d (%s) cannot be written: %s", (int)instance->peer,
			instance->procname, strerror(-ret));
}

/* Counts a packet that was written to the file. */
static void count_packet(struct session *session, struct instance *instance, uint32_t channel,
		struct instance_ring *ring, uint64_t bytes, uint64_t records)
{
	struct instance_channel *of = &instance->channels[channel];

	atomic_fetch_add_explicit(&ring->written, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&of->written, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&instance->written, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&session->drain.written, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&ring->recorded, records, memory_order_relaxed);
	atomic_fetch_add_explicit(&of->recorded, records, memory_order_relaxed);
	atomic_fetch_add_explicit(&instance->recorded, records, memory_order_relaxed);
}

int trace_append(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t number, const struct ctf_span *span, struct error *error)
{
	struct instance_ring *ring = &instance->channels[channel].each[number];
	uint64_t begin = instance->begin_ticks, before = ring->discarded_before;
	struct ctf_span packet = *span;
	uint64_t records = 0;
	int ret = trace_prepare(session, instance, error);

	/* Rings from a core dump have no start time. */
	if (begin < ring->begin)
		begin = ring->begin;
	if (!begin || begin > span->timestamp_begin)
		begin = span->timestamp_begin;
	if (!ret && !ring->stream) {
		ret = ctf_writer_open_stream(
				instance->writer, channel, number, begin, &ring->stream, error);
		if (!ret && !ring->known)
			instance->nr_streams++;
		ring->known |= !ret;
	}
	packet.events_discarded -=
			before < packet.events_discarded ? before : packet.events_discarded;
	if (!ret) {
		records = ctf_stream_records(ring->stream);
		ret = ctf_stream_append(ring->stream, &packet, error);
	}
	if (ret)
		return ret;
	if (ring->held && span->events_discarded > ring->discarded)
		full_count(session, span->events_discarded - ring->discarded);
	ring->held = false;
	full_over(session);
	trace_count_bytes(session, instance);
	session->trace_hooks->after_packet(session);
	ring->discarded = span->events_discarded;
	if (span->timestamp_end > instance->last_ticks)
		instance->last_ticks = span->timestamp_end;
	count_packet(session, instance, channel, ring, span->size,
			ctf_stream_records(ring->stream) - records);
	/*
	 * The packet only counts losses. After a window it is truncated together with the window:
	 * see journal.c.
	 */
	if (!span->size && !ring->window_written)
		record_trace_log_packet(session, instance, channel, number,
				ring_consumer_position(instance->channels[channel].rings, number));
	return 0;
}

/* Returns false if the records must stay in the ring. */
static bool record_trace_write_span(struct session *session, struct instance *instance,
		uint32_t channel, uint32_t ring, const struct ring_span *span)
{
	struct instance_channel *of = &instance->channels[channel];
	struct error error;
	struct ctf_span packet = {
			.records = span->data,
			.size = span->size,
			.timestamp_begin = span->first_timestamp,
			.timestamp_end = span->end_timestamp,
			.events_discarded = ring_consumer_lost_total(of->rings, ring),
	};
	int ret;

	error_clear(&error);
	session->trace_hooks->before_packet(session, span->size);
	ret = trace_append(session, instance, channel, ring, &packet, &error);
	if (!ret)
		return true;
	of->each[ring].held = full_holds(session, ret);
	if (of->each[ring].held)
		return false;
	of->each[ring].unwritten += span->size;
	trace_fail(session, instance, ret, &error);
	return true;
}

void trace_report_damage(
		struct session *session, struct instance *instance, uint32_t channel, uint32_t ring)
{
	struct instance_channel *of = &instance->channels[channel];

	if (of->each[ring].damaged)
		return;
	of->each[ring].damaged = true;
	if (of->geometry.flags & RING_COUNTS)
		return; /* The rings come from a core dump. */
	report_instance(session, instance, true,
			"process %d (%s) has damaged its ring %s_%u (%s); later events in this ring are lost",
			(int)instance->peer, instance->procname, of->channel->name, ring,
			ring_consumer_error(of->rings, ring));
}

static bool drain_ring(
		struct session *session, struct instance *instance, uint32_t channel, uint32_t ring)
{
	struct instance_channel *of = &instance->channels[channel];
	struct ring_span span;
	int ret;

	if (of->each[ring].damaged)
		return false;
	if (full_waits(session)) {
		of->each[ring].held = true;
		return false;
	}
	ret = ring_consumer_peek(of->rings, ring, &span);
	if (ret < 0)
		trace_report_damage(session, instance, channel, ring);
	if (ret <= 0)
		return false;
	if (!record_trace_write_span(session, instance, channel, ring, &span))
		return false;
	record_trace_log_packet(session, instance, channel, ring, span.position + span.size);
	ring_consumer_release(of->rings, ring, &span);
	return true;
}

bool trace_drain(struct session *session, struct instance *instance)
{
	bool found = false;
	uint32_t i, ring;

	for (i = 0; i < instance->nr_channels; i++) {
		const struct instance_channel *channel = &instance->channels[i];

		if (channel_overwrites(channel->channel))
			continue;
		for (ring = 0; ring < channel->geometry.rings; ring++)
			found |= drain_ring(session, instance, i, ring);
	}
	return found;
}

/* ---- the end ---- */

void trace_close(struct session *session, struct instance *instance, const struct ctf_clock *clock)
{
	struct error error = {.text = ""};
	int ret;

	if (!instance->writer)
		return;
	/* Write lines that were read while the last records were written. */
	jit_map_read(session, instance);
	maps_write(session, instance);
	/* If the refined conversion cannot be written, the first one is exact enough. */
	if (clock && !instance->own_clock)
		ctf_writer_set_clock(instance->writer, clock, &error);
	trace_count_bytes(session, instance);
	unlink_writer(instance);
	ret = ctf_writer_close(instance->writer, &error);
	instance->writer = NULL;
	instance->writer_bytes = 0;
	if (ret)
		trace_fail(session, instance, ret, &error);
}
