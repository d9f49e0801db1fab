/* SPDX-License-Identifier: MIT */
/*
 * Writes the content of overwrite rings: at the end of a process to its own trace, and on request
 * to a directory of its own, OUT/snapshot-<n>/, which gets this name when it is complete.
 *
 * A snapshot with a state dump has two phases. The first copies the rings. Then the programs record
 * their state, which may overwrite records. The second phase adds what was recorded since the first.
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
#include "protocol/protocol.h"
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
/* A snapshot whose second phase is not requested within this time is published without it. */
#define LIMIT_STATE_REQUEST_MS 60000

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
 * Copies a window, or what follows *span if that is not empty, and stores it in *span. Returns 1 if
 * it copied something. Returns 0 if the ring has no new record; also if it is damaged or was
 * overwritten too fast, which it reports.
 */
static int copy_ring(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring, struct snapshot_ring_copy *copy, struct ring_span *span,
		struct ctf_span *ret_packet)
{
	struct instance_channel *of = &instance->channels[channel];
	const struct ring_span before = *span;
	int ret = -EAGAIN, tries;

	if (of->each[ring].damaged)
		return 0;
	for (tries = 0; tries < COPIES_MAX && ret == -EAGAIN; tries++)
		ret = before.size ? ring_consumer_snapshot_after(
						    of->rings, ring, copy->buffer, &before, span)
				  : ring_consumer_snapshot(of->rings, ring, copy->buffer, span);
	if (ret == -EAGAIN)
		report_instance(session, instance, true,
				"ring %s_%u of process %d (%s) was overwritten faster than it could be read\nuse a larger `--buffer-size`",
				of->channel->name, ring, (int)instance->peer, instance->procname);
	else if (ret < 0)
		trace_report_damage(session, instance, channel, ring);
	if (ret <= 0)
		return 0;
	*ret_packet = (struct ctf_span){
			.records = span->data,
			.size = span->size,
			.timestamp_begin = span->first_timestamp,
			.timestamp_end = span->end_timestamp,
			.events_discarded = ring_consumer_lost_total(of->rings, ring),
	};
	of->each[ring].overwritten = span->position;
	return 1;
}

/* ---- at the end of a process ---- */

/* Returns false if the disk is full; then call it again. */
static bool end_ring(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring, struct snapshot_ring_copy *copy)
{
	struct instance_ring *each = &instance->channels[channel].each[ring];
	struct ring_span span = {0};
	struct error error;
	struct ctf_span packet;
	int ret;

	error_clear(&error);
	if (each->window_written ||
			!copy_ring(session, instance, channel, ring, copy, &span, &packet))
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

/* ---- on request: the trace of one instance ---- */

/* One ring in a snapshot. */
struct snapshot_ring {
	struct ring_span span;     /* what was copied last; size 0: nothing yet */
	struct ctf_stream *stream; /* NULL: nothing was written */
};

/* The trace of one instance in a snapshot. */
struct snapshot_trace {
	struct snapshot_trace *next;
	struct instance *instance;
	struct ctf_writer *writer; /* NULL: nothing was written */
	uint32_t described;
	uint64_t ticks; /* end time */
	int ret;        /* the first error, and its message */
	struct error error;
	struct snapshot_ring rings[];
};

struct snapshot {
	struct session *session;
	struct snapshot_ring_copy copy;
	char *path; /* path while it is incomplete */
	uint64_t recorded;
	struct snapshot_trace *traces; /* open ones */
	uint64_t until;                /* end of the time to add a state dump */
	uint32_t files, max_files;     /* that the open ones have */
	uint32_t nr_without;           /* traces that were closed to have less files */
	char suffix[128], cause[256];  /* of a trigger; "": a request */
};

static bool has_flight_recorder(const struct instance *instance)
{
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		if (channel_overwrites(instance->channels[i].channel))
			return true;
	return false;
}

static uint32_t snapshot_count_rings(const struct instance *instance)
{
	uint32_t i, nr = 0;

	for (i = 0; i < instance->nr_channels; i++)
		nr += instance->channels[i].geometry.rings;
	return nr;
}

/* Creates the trace, or describes the events that the process described since then. */
static int snapshot_describe(struct snapshot *snapshot, struct snapshot_trace *trace)
{
	struct instance *instance = trace->instance;
	char *path;
	int ret = 0;

	if (!trace->writer) {
		if (asprintf(&path, "%s/%s-%u-%u", snapshot->path, instance->procname,
				    instance->pid, instance->number) < 0)
			return -ENOMEM;
		ret = trace_create(
				snapshot->session, instance, path, &trace->writer, &trace->error);
		free(path);
	}
	if (!ret)
		ret = trace_describe(snapshot->session, instance, trace->writer, &trace->described,
				&trace->error);
	return ret;
}

static void snapshot_count(struct snapshot *snapshot, uint64_t nr)
{
	snapshot->recorded += nr;
	atomic_fetch_add_explicit(&snapshot->session->snapshots.recorded, nr, memory_order_relaxed);
}

static int snapshot_copy_ring(struct snapshot *snapshot, struct snapshot_trace *trace,
		uint32_t channel, uint32_t ring, struct snapshot_ring *state)
{
	struct ctf_span packet;
	uint64_t before;
	int ret = 0;

	if (!copy_ring(snapshot->session, trace->instance, channel, ring, &snapshot->copy,
			    &state->span, &packet))
		return 0;
	/* Describe them after the copy: all records in the copy were described before. */
	if (!trace->writer || snapshot->until)
		ret = snapshot_describe(snapshot, trace);
	if (!ret && !state->stream)
		ret = ctf_writer_open_stream(trace->writer, channel, ring, packet.timestamp_begin,
				&state->stream, &trace->error);
	if (ret)
		return ret;
	before = ctf_stream_records(state->stream);
	ret = ctf_stream_append(state->stream, &packet, &trace->error);
	if (!ret)
		snapshot_count(snapshot, ctf_stream_records(state->stream) - before);
	if (packet.timestamp_end > trace->ticks)
		trace->ticks = packet.timestamp_end;
	return ret;
}

/* Writes what the rings have that the trace does not have yet. */
static void snapshot_copy_rings(struct snapshot *snapshot, struct snapshot_trace *trace)
{
	struct instance *instance = trace->instance;
	struct snapshot_ring *state = trace->rings;
	uint32_t i, ring;

	if (trace->ret)
		return;
	error_set_no_memory(&trace->error);
	for (i = 0; i < instance->nr_channels; i++) {
		const struct instance_channel *channel = &instance->channels[i];

		for (ring = 0; ring < channel->geometry.rings; ring++, state++) {
			if (!channel_overwrites(channel->channel))
				continue;
			trace->ret = copy_reserve(&snapshot->copy, channel->geometry.size)
					? snapshot_copy_ring(snapshot, trace, i, ring, state)
					: -ENOMEM;
			if (trace->ret)
				return;
		}
	}
}

static void snapshot_report_incomplete(struct session *session, struct instance *instance, int ret,
		const struct error *error)
{
	report_failure(session, ret);
	report_instance(session, instance, true,
			"the snapshot of process %d (%s) is not complete: %s%s%s",
			(int)instance->peer, instance->procname, error->text,
			*error->hint ? "\n" : "", error->hint);
}

/* Returns NULL if out of memory, which it reports. */
static struct snapshot_trace *snapshot_trace_begin(
		struct snapshot *snapshot, struct instance *instance)
{
	struct snapshot_trace *trace = calloc(1,
			sizeof(*trace) + snapshot_count_rings(instance) * sizeof(trace->rings[0]));
	struct error error;

	if (!trace) {
		error_set_no_memory(&error);
		snapshot_report_incomplete(snapshot->session, instance, -ENOMEM, &error);
		return NULL;
	}
	trace->instance = instance;
	snapshot_copy_rings(snapshot, trace);
	return trace;
}

/* Writes the losses, closes the trace and frees it. */
static void snapshot_trace_end(struct snapshot *snapshot, struct snapshot_trace *trace)
{
	struct session *session = snapshot->session;
	struct instance *instance = trace->instance;
	struct error ignored;
	struct ctf_clock clock;

	if (!trace->ret && trace->writer)
		trace->ret = losses_write(
				session, instance, trace->writer, trace->ticks, &trace->error);
	if (!trace->ret && trace->writer && !session_refined_clock(session, &clock))
		ctf_writer_set_clock(trace->writer, &clock, &ignored);
	if (trace->writer) {
		int closed = ctf_writer_close(trace->writer, trace->ret ? &ignored : &trace->error);

		trace->ret = trace->ret ? trace->ret : closed;
	}
	if (trace->ret)
		snapshot_report_incomplete(session, instance, trace->ret, &trace->error);
	free(trace);
}

/* ---- on request: the directory ---- */

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

/* Closes the trace, or keeps it open for a state dump. */
static void snapshot_store_trace(struct snapshot *snapshot, struct snapshot_trace *trace)
{
	uint32_t files = snapshot_count_rings(trace->instance) + TRACE_FILES;

	if (!snapshot->until || files > snapshot->max_files - snapshot->files) {
		snapshot->nr_without++;
		snapshot_trace_end(snapshot, trace);
		return;
	}
	snapshot->files += files;
	trace->next = snapshot->traces;
	snapshot->traces = trace;
}

/* Starts a snapshot and copies the rings. Returns 0 or a negative errno. */
static int snapshot_open(struct snapshot *snapshot, struct instance *active)
{
	struct session *session = snapshot->session;
	struct instance *instance;

	if (asprintf(&snapshot->path, "%s/.snapshot-%d%s", session->output.path, (int)getpid(),
			    snapshot->until ? "-state" : "") < 0) {
		snapshot->path = NULL;
		return -ENOMEM;
	}
	/* Remove the remainder of an earlier snapshot that failed for lack of space. */
	retain_remove_tree(snapshot->path);
	if (mkdir(snapshot->path, CTF_DIRECTORY_MODE))
		return -errno;
	for (instance = active; instance; instance = instance->next_active) {
		struct snapshot_trace *trace;

		/* The other rings must not overflow meanwhile. */
		trace_drain(session, instance);
		trace = has_flight_recorder(instance) ? snapshot_trace_begin(snapshot, instance)
						      : NULL;
		if (trace)
			snapshot_store_trace(snapshot, trace);
	}
	return 0;
}

/*
 * Gives the directory its name, also if it is empty, because the requester waits for it. Returns
 * the number, or 0 if there is none.
 */
static uint32_t snapshot_publish(struct snapshot *snapshot, const char *suffix, int ret)
{
	struct session *session = snapshot->session;
	char name[SESSION_SNAPSHOT_NAME_MAX];
	uint32_t number = 0;

	if (!ret)
		ret = snapshot_rename_directory(snapshot, suffix, &number, name);
	note_result(session, ret);
	snapshot_copy_free(&snapshot->copy);
	free(snapshot->path);
	if (ret)
		return 0;
	count_snapshot(session, name, snapshot->recorded);
	return number;
}

uint32_t snapshot_make(struct session *session, struct instance *active, const char *suffix)
{
	struct snapshot snapshot = {.session = session};
	int ret = snapshot_open(&snapshot, active);

	return snapshot_publish(&snapshot, suffix, ret);
}

/* ---- with a state dump ---- */

/* Takes the trace of this instance out of the snapshot; NULL: it has none. */
static struct snapshot_trace *snapshot_take_trace(
		struct snapshot *snapshot, const struct instance *instance)
{
	struct snapshot_trace **at = &snapshot->traces, *trace;

	while (*at && (*at)->instance != instance)
		at = &(*at)->next;
	trace = *at;
	if (trace)
		*at = trace->next;
	return trace;
}

static void snapshot_add_state(struct snapshot *snapshot, struct instance *instance)
{
	struct snapshot_trace *trace = snapshot_take_trace(snapshot, instance);

	/* A process that joined meanwhile is in the next snapshot. */
	if (!trace)
		return;
	snapshot_copy_rings(snapshot, trace);
	snapshot_trace_end(snapshot, trace);
}

static struct snapshot *snapshot_create(struct session *session, uint32_t max_files)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot) {
		note_result(session, -ENOMEM);
		return NULL;
	}
	snapshot->session = session;
	snapshot->until = wire_deadline(LIMIT_STATE_REQUEST_MS);
	snapshot->max_files = max_files;
	return snapshot;
}

/* Copies the rings, and keeps the snapshot open for its second phase. */
static void snapshot_begin_copy(struct snapshot *snapshot, struct instance *active)
{
	struct session *session = snapshot->session;
	int ret = snapshot_open(snapshot, active);

	if (!ret) {
		if (snapshot->nr_without)
			report(session, true,
					"the snapshot has no state dump of %u processes: too many files would be open\nraise the limit of open files with `ulimit -n`",
					snapshot->nr_without);
		session->snapshots.open = snapshot;
		return;
	}
	snapshot_publish(snapshot, "", ret);
	free(snapshot);
}

void snapshot_begin(struct session *session, struct instance *active, uint32_t max_files)
{
	struct snapshot *snapshot;

	snapshot_finish(session, active);
	snapshot = snapshot_create(session, max_files);
	if (snapshot)
		snapshot_begin_copy(snapshot, active);
}

void snapshot_begin_automatic(struct session *session, struct instance *active, const char *suffix,
		const char *cause)
{
	struct snapshot *snapshot = snapshot_create(session, session->snapshots.spare_files);

	if (!snapshot)
		return;
	snprintf(snapshot->suffix, sizeof(snapshot->suffix), "%s", suffix);
	snprintf(snapshot->cause, sizeof(snapshot->cause), "%s", cause);
	snapshot_begin_copy(snapshot, active);
	/* Release: the copy before the request. Pairs with session_wants_state(). */
	atomic_store_explicit(&session->snapshots.state_wanted, session->snapshots.open != NULL,
			memory_order_release);
}

uint32_t snapshot_files(const struct session *session)
{
	return session->snapshots.open ? session->snapshots.open->files : 0;
}

bool snapshot_finish(struct session *session, struct instance *active)
{
	struct snapshot *snapshot = session->snapshots.open;
	struct instance *instance;
	uint32_t number;

	if (!snapshot)
		return false;
	session->snapshots.open = NULL;
	for (instance = active; instance; instance = instance->next_active)
		snapshot_add_state(snapshot, instance);
	number = snapshot_publish(snapshot, snapshot->suffix, 0);
	if (number && *snapshot->cause)
		report(session, false, "snapshot-%u%s was made: %s", number, snapshot->suffix,
				snapshot->cause);
	free(snapshot);
	return true;
}

void snapshot_finish_automatic(struct session *session, struct instance *active)
{
	if (session->snapshots.open && *session->snapshots.open->cause)
		snapshot_finish(session, active);
}

void snapshot_instance_ends(struct session *session, struct instance *instance)
{
	if (session->snapshots.open)
		snapshot_add_state(session->snapshots.open, instance);
}

void snapshot_turn(struct session *session, struct instance *active, bool last)
{
	const struct snapshot *snapshot = session->snapshots.open;

	if (snapshot && (last || wire_deadline(0) >= snapshot->until))
		snapshot_finish(session, active);
}
