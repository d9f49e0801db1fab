/* SPDX-License-Identifier: MIT */
/*
 * Writes the content of overwrite rings: at the end of a process to its own trace, and on request
 * to a directory of its own, OUT/snapshot-<n>/, which gets this name when it is complete.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/ctf.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/rotation/retain.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/snapshot.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

#define SNAPSHOTS_MAX 1000000
/* Attempts to copy a ring that the program overwrites faster than it can be copied. */
#define COPIES_MAX 20

/* Buffer for the copy of one ring: as large as the largest ring so far, mapped while needed. */
struct snapshot_ring_copy {
	void *buffer;
	size_t size;
};

static bool copy_reserve(struct snapshot_ring_copy *copy, size_t size)
{
	void *buffer;

	if (size <= copy->size)
		return true;
	buffer = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (buffer == MAP_FAILED)
		return false;
	if (copy->buffer)
		munmap(copy->buffer, copy->size);
	*copy = (struct snapshot_ring_copy){buffer, size};
	return true;
}

static void snapshot_copy_free(struct snapshot_ring_copy *copy)
{
	if (copy->buffer)
		munmap(copy->buffer, copy->size);
	*copy = (struct snapshot_ring_copy){0};
}

/*
 * Returns 1 if it copied a window. Returns 0 if the ring is empty; also if it is damaged or was
 * overwritten too fast, which it reports.
 */
static int copy_ring(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring, struct snapshot_ring_copy *copy, struct ctf_span *ret_packet)
{
	struct instance_channel *of = &instance->channels[channel];
	struct ring_span span;
	int ret = -EAGAIN, tries;

	if (of->each[ring].damaged)
		return 0;
	for (tries = 0; tries < COPIES_MAX && ret == -EAGAIN; tries++)
		ret = ring_consumer_snapshot(of->rings, ring, copy->buffer, &span);
	if (ret == -EAGAIN)
		report_instance(session, instance, true,
				"ring %s_%u of process %d (%s) was overwritten faster than it could be read\nuse a larger `--buffer-size`",
				of->channel->name, ring, (int)instance->peer, instance->procname);
	else if (ret < 0)
		trace_report_damage(session, instance, channel, ring);
	if (ret <= 0)
		return 0;
	*ret_packet = (struct ctf_span){
			.records = span.data,
			.size = span.size,
			.timestamp_begin = span.first_timestamp,
			.timestamp_end = span.end_timestamp,
			.events_discarded = ring_consumer_lost_total(of->rings, ring),
	};
	of->each[ring].overwritten = span.position;
	return 1;
}

/* ---- at the end of a process ---- */

/* Returns false if the disk is full; then call it again. */
static bool end_ring(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring, struct snapshot_ring_copy *copy)
{
	struct instance_ring *each = &instance->channels[channel].each[ring];
	struct error error;
	struct ctf_span packet;
	int ret;

	error_clear(&error);
	if (each->window_written || !copy_ring(session, instance, channel, ring, copy, &packet))
		return true;
	rotate_for(session, packet.size);
	ret = trace_append(session, instance, channel, ring, &packet, &error);
	if (ret && full_holds(session, ret))
		return false;
	each->window_written = true;
	instance->overwritten += each->overwritten;
	if (!ret)
		return true;
	each->unwritten += packet.size;
	trace_fail(session, instance, ret, &error);
	return true;
}

bool snapshot_end(struct session *session, struct instance *instance)
{
	struct snapshot_ring_copy copy = {0};
	bool done = true;
	uint32_t i, ring;

	for (i = 0; i < instance->nr_channels && done; i++) {
		const struct instance_channel *channel = &instance->channels[i];

		if (!channel_overwrites(channel->channel))
			continue;
		if (!copy_reserve(&copy, channel->geometry.size)) {
			struct error error;

			error_set(&error, -ENOMEM, NULL, "out of memory: cannot copy a ring");
			trace_fail(session, instance, -ENOMEM, &error);
			continue;
		}
		for (ring = 0; ring < channel->geometry.rings && done; ring++)
			done = end_ring(session, instance, i, ring, &copy);
	}
	snapshot_copy_free(&copy);
	return done;
}

/* ---- on request ---- */

struct snapshot {
	struct session *session;
	struct snapshot_ring_copy copy;
	char *path; /* path while it is incomplete */
	uint64_t recorded;
	bool any;
};

static bool has_flight_recorder(const struct instance *instance)
{
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		if (channel_overwrites(instance->channels[i].channel))
			return true;
	return false;
}

struct snapshot_state {
	struct ctf_writer *writer;
	uint64_t ticks; /* end time */
};

static int begin_picture(struct snapshot *snapshot, struct instance *instance,
		struct snapshot_state *picture, struct error *error)
{
	uint32_t described = 0;
	char *path;
	int ret;

	if (picture->writer)
		return 0;
	if (asprintf(&path, "%s/%s-%u-%u", snapshot->path, instance->procname, instance->pid,
			    instance->number) < 0)
		return -ENOMEM;
	ret = trace_create(snapshot->session, instance, path, &picture->writer, error);
	free(path);
	if (!ret)
		ret = trace_describe(
				snapshot->session, instance, picture->writer, &described, error);
	return ret;
}

static int snapshot_copy_ring(struct snapshot *snapshot, struct instance *instance,
		uint32_t channel, uint32_t ring, struct snapshot_state *picture,
		struct error *error)
{
	struct ctf_stream *stream;
	struct ctf_span packet;
	int ret;

	if (!copy_ring(snapshot->session, instance, channel, ring, &snapshot->copy, &packet))
		return 0;
	/* Begin it after the copy: all records in the copy were described before. */
	ret = begin_picture(snapshot, instance, picture, error);
	if (!ret)
		ret = ctf_writer_open_stream(picture->writer, channel, ring, packet.timestamp_begin,
				&stream, error);
	if (!ret)
		ret = ctf_stream_append(stream, &packet, error);
	if (!ret) {
		snapshot->recorded += ctf_stream_records(stream);
		atomic_fetch_add_explicit(&snapshot->session->snapshots.recorded,
				ctf_stream_records(stream), memory_order_relaxed);
	}
	if (packet.timestamp_end > picture->ticks)
		picture->ticks = packet.timestamp_end;
	return ret;
}

static int snapshot_copy_rings(struct snapshot *snapshot, struct instance *instance,
		struct snapshot_state *picture, struct error *error)
{
	uint32_t i, ring;
	int ret = 0;

	for (i = 0; i < instance->nr_channels && !ret; i++) {
		const struct instance_channel *channel = &instance->channels[i];

		if (!channel_overwrites(channel->channel))
			continue;
		if (!copy_reserve(&snapshot->copy, channel->geometry.size))
			return -ENOMEM;
		for (ring = 0; ring < channel->geometry.rings && !ret; ring++)
			ret = snapshot_copy_ring(snapshot, instance, i, ring, picture, error);
	}
	return ret;
}

static void take_instance(struct snapshot *snapshot, struct instance *instance)
{
	struct session *session = snapshot->session;
	struct error error, ignored;
	struct snapshot_state picture = {0};
	struct ctf_clock clock;
	int ret;

	error_set_no_memory(&error);
	ret = snapshot_copy_rings(snapshot, instance, &picture, &error);
	if (!ret && picture.writer)
		ret = losses_write(session, instance, picture.writer, picture.ticks, &error);
	if (!ret && picture.writer && !session_refined_clock(session, &clock))
		ctf_writer_set_clock(picture.writer, &clock, &ignored);
	if (picture.writer) {
		int closed = ctf_writer_close(picture.writer, ret ? &ignored : &error);

		snapshot->any = true;
		ret = ret ? ret : closed;
	}
	if (!ret)
		return;
	report_failure(session, ret);
	report_instance(session, instance, true,
			"the snapshot of process %d (%s) is not complete: %s%s%s",
			(int)instance->peer, instance->procname, error.text,
			*error.hint ? "\n" : "", error.hint);
}

/* Uses the first free number from 1: with --force, other snapshots may exist. */
static int snapshot_rename_directory(struct snapshot *snapshot, const char *suffix,
		uint32_t *ret_published, char name[SESSION_SNAPSHOT_NAME_MAX])
{
	struct session *session = snapshot->session;
	uint32_t number;
	int ret = -EEXIST;

	for (number = session->snapshots.nr + 1; number <= SNAPSHOTS_MAX && ret == -EEXIST;
			number++) {
		char *path;

		snprintf(name, SESSION_SNAPSHOT_NAME_MAX, "snapshot-%u%s", number, suffix);
		if (asprintf(&path, "%s/%s", session->output.path, name) < 0)
			return -ENOMEM;
		/*
		 * rename() never replaces a directory that is not empty; replacing an empty one
		 * loses nothing.
		 */
		ret = rename(snapshot->path, path) ? -errno : 0;
		if (ret == -ENOTEMPTY)
			ret = -EEXIST;
		*ret_published = number;
		free(path);
	}
	return ret;
}

static void count_snapshot(struct session *session, const char *name, uint64_t recorded)
{
	pthread_mutex_lock(&session->lock);
	if (!session->snapshots.nr++) {
		snprintf(session->snapshots.first, sizeof(session->snapshots.first), "%s", name);
		session->snapshots.first_recorded = recorded;
	}
	session->snapshots.last_recorded = recorded;
	snprintf(session->snapshots.last, sizeof(session->snapshots.last), "%s", name);
	pthread_mutex_unlock(&session->lock);
}

static void note_result(struct session *session, int ret)
{
	pthread_mutex_lock(&session->lock);
	session->snapshots.error = ret;
	pthread_mutex_unlock(&session->lock);
	if (!ret)
		return;
	report_failure(session, ret);
	report(session, true, "a snapshot could not be written to %s: %s", session->output.path,
			strerror(-ret));
}

uint32_t snapshot_make(struct session *session, struct instance *active, const char *suffix)
{
	struct snapshot snapshot = {.session = session};
	struct instance *instance;
	char name[SESSION_SNAPSHOT_NAME_MAX];
	uint32_t number = 0;
	int ret = 0;

	if (asprintf(&snapshot.path, "%s/.snapshot-%d", session->output.path, (int)getpid()) < 0) {
		note_result(session, -ENOMEM);
		return 0;
	}
	/* Remove the remainder of an earlier snapshot that failed for lack of space. */
	retain_remove_tree(snapshot.path);
	if (mkdir(snapshot.path, CTF_DIRECTORY_MODE))
		ret = -errno;
	for (instance = active; instance && !ret; instance = instance->next_active) {
		/* The other rings must not overflow meanwhile. */
		trace_drain(session, instance);
		if (has_flight_recorder(instance))
			take_instance(&snapshot, instance);
	}
	/* Publish it even if it is empty, because the requester waits for it. */
	if (!ret)
		ret = snapshot_rename_directory(&snapshot, suffix, &number, name);
	note_result(session, ret);
	snapshot_copy_free(&snapshot.copy);
	free(snapshot.path);
	if (ret)
		return 0;
	count_snapshot(session, name, snapshot.recorded);
	return number;
}
