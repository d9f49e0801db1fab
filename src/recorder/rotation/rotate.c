/* SPDX-License-Identifier: MIT */
/*
 * Splits a long recording into chunks: directories that are each complete.
 *
 *     OUT/.chunk-0002-20240229-130405/   is being written
 *     OUT/chunk-0001-20240229-120000/    is finished: renamed when its last file was closed
 *
 * A chunk contains a whole trace of each process that recorded something meanwhile. A packet does
 * not depend on earlier packets, so a ring's next packet goes into a new trace, which describes the
 * event classes again: each record is in exactly one chunk. Loss counters restart in each trace,
 * with the losses since the last packet of the earlier trace.
 *
 * All state belongs to the drain thread, except requests and the members that the summary reads
 * with the lock held.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/clock.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/rotation/retain.h"
#include "recorder/rotation/rotate.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/state-directory.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

#define NAME_TRIES 1000
#define PERIOD_MIN_NS 1000000000ull
#define SIZE_MIN 65536
#define REMOVED ".removed-"

int rotate_take(struct session *session, const struct session_options *options, struct error *error)
{
	struct rotation *rotation = &session->rotation;

	rotation->size = options->rotation.size;
	rotation->period_ns = options->rotation.period_ns;
	rotation->on_request = options->rotation.on_request;
	rotation->chunks = rotation->size || rotation->period_ns || rotation->on_request;
	if (rotation->size && rotation->size < SIZE_MIN)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a chunk of %llu bytes (--rotate-size) is less than 64 KiB",
				(unsigned long long)rotation->size);
	if (rotation->period_ns && rotation->period_ns < PERIOD_MIN_NS)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a chunk cannot be shorter than a second (--rotate-every)");
	return retain_take(session, options, error);
}

/* ---- names ---- */

/* Returns the number in "chunk-NNNN-..." with an optional leading dot, or 0. */
static unsigned int rotate_parse_number(const char *name)
{
	unsigned int number;
	char dash;

	if (sscanf(name, "chunk-%u%c", &number, &dash) != 2 || dash != '-' || !number)
		return 0;
	return number;
}

/* Removes a chunk that a killed recorder had begun to remove. */
static void remove_leftover(const struct session *session, const char *name)
{
	char *path;

	if (strncmp(name, REMOVED, strlen(REMOVED)) != 0)
		return;
	if (asprintf(&path, "%s/%s", session->output.path, name) < 0)
		return;
	retain_remove_tree(path);
	free(path);
}

/*
 * Reads the existing numbers of chunks once in a session: earlier sessions may have recorded here.
 */
static void rotate_check(struct session *session)
{
	struct rotation *rotation = &session->rotation;
	DIR *dir = opendir(session->output.path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		unsigned int number = rotate_parse_number(entry->d_name + (*entry->d_name == '.'));

		if (number > rotation->number)
			rotation->number = number;
		remove_leftover(session, entry->d_name);
	}
	if (dir)
		closedir(dir);
	rotation->numbers_read = true;
}

/* Creates a hidden directory; its name without the dot is the final name. */
static int make_chunk(struct session *session, struct error *error)
{
	struct rotation *rotation = &session->rotation;
	time_t now = time(NULL);
	struct tm local;
	char stamp[32];
	int try, ret = -EEXIST;

	if (!rotation->numbers_read)
		rotate_check(session);
	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
	for (try = 0; try < NAME_TRIES && ret == -EEXIST; try++) {
		char *path;

		if (asprintf(&path, "%s/.chunk-%04u-%s", session->output.path, rotation->number + 1,
				    stamp) < 0)
			return -ENOMEM;
		ret = mkdir(path, CTF_DIRECTORY_MODE) ? -errno : 0;
		if (ret != -ENOSPC && ret != -EDQUOT)
			rotation->number++;
		if (!ret)
			rotation->path = path;
		else
			free(path);
	}
	if (ret)
		error_set(error, ret, NULL, "cannot make a chunk in %s: %s", session->output.path,
				strerror(-ret));
	return ret;
}

int rotate_prepare(struct session *session, struct error *error)
{
	if (!session->rotation.chunks || session->rotation.path)
		return 0;
	return make_chunk(session, error);
}

/* ---- the end of a chunk ---- */

/* Makes the next packets of the instance go into a new trace. */
static void rotate_reset_streams(struct session *session, struct instance *instance)
{
	uint32_t i, number;

	for (i = 0; i < instance->nr_channels; i++) {
		struct instance_channel *channel = &instance->channels[i];

		for (number = 0; channel->each && number < channel->geometry.rings; number++) {
			struct instance_ring *ring = &channel->each[number];

			ring->stream = NULL;
			ring->discarded_before = ring->discarded;
		}
	}
	instance->nr_described = 0;
	instance->begin_ticks = ring_clock_now(session->clock.kind);
	pthread_mutex_lock(&session->lock);
	instance->maps.is_new = instance->maps.size > 0;
	pthread_mutex_unlock(&session->lock);
}

/*
 * Closes all traces. The current chunk gets the losses until now, if the disk has space for them.
 */
static void close_traces(struct session *session)
{
	struct ctf_clock clock;
	bool refined = !session_refined_clock(session, &clock);

	while (session->drain.writers) {
		struct instance *instance = session->drain.writers;
		bool goes_on = instance->channels[0].each;

		if (goes_on)
			losses_note(session, instance);
		trace_close(session, instance, refined ? &clock : NULL);
		if (goes_on)
			rotate_reset_streams(session, instance);
	}
}

/* Gives the finished chunk its final name. */
static int rotate_rename_directory(struct session *session)
{
	struct rotation *rotation = &session->rotation;
	const char *hidden = strrchr(rotation->path, '/') + 2;
	char *path;
	int ret;

	if (asprintf(&path, "%s/%s", session->output.path, hidden) < 0)
		return -ENOMEM;
	ret = rename(rotation->path, path) ? -errno : 0;
	if (!ret)
		retain_add(session, hidden, rotation->bytes);
	free(path);
	return ret;
}

/*
 * Removes a trace. It is renamed first, so that a later recorder recognizes it by its name after a
 * kill.
 */
static void rotate_delete_trace(struct session *session, const char *name)
{
	char *from = NULL, *to = NULL;
	int ret = -ENOMEM;

	if (asprintf(&from, "%s/%s", session->output.path, name) < 0)
		from = NULL;
	if (asprintf(&to, "%s/" REMOVED "%s", session->output.path, name + (*name == '.')) < 0)
		to = NULL;
	if (from && to)
		ret = rename(from, to) ? -errno : retain_remove_tree(to);
	if (ret == -ENOENT)
		ret = 0;
	if (ret)
		report(session, true, "cannot move %s: %s", from ? from : name, strerror(-ret));
	free(from);
	free(to);
}

static bool born(int directory, const char *name, struct statx_timestamp *ret_when)
{
	struct statx status;

	if (statx(directory, name, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH), STATX_BTIME,
			    &status) ||
			!(status.stx_mask & STATX_BTIME))
		return false;
	*ret_when = status.stx_btime;
	return true;
}

/*
 * True if the name has the form NAME-PID-NUMBER, optionally followed by -rN, and the trace is
 * younger than the state directory.
 */
static bool is_of_session(const struct session *session, int output, const char *name)
{
	static const char digits[] = "0123456789";
	struct statx_timestamp creation, trace;
	const char *end = name + strlen(name), *dash = strrchr(name, '-');
	char path[300];
	int i;

	if (dash && dash[1] == 'r' && dash[2] && !dash[2 + strspn(dash + 2, digits)])
		end = dash;
	for (i = 0; i < 2; i++) {
		const char *begin = end;

		while (begin > name && strchr(digits, begin[-1]))
			begin--;
		if (begin == end || begin - name < 2 || begin[-1] != '-')
			return false;
		end = begin - 1;
	}
	snprintf(path, sizeof(path), "%.255s/metadata", name);
	return !faccessat(output, path, F_OK, AT_SYMLINK_NOFOLLOW) &&
			born(session->buffers.fd, "", &creation) && born(output, name, &trace) &&
			(trace.tv_sec > creation.tv_sec ||
					(trace.tv_sec == creation.tv_sec &&
							trace.tv_nsec >= creation.tv_nsec));
}

/* Removes traces that killed recorders of this session have written. */
static void rotate_remove_leftovers(struct session *session)
{
	DIR *dir = opendir(session->output.path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.' && is_of_session(session, dirfd(dir), entry->d_name))
			rotate_delete_trace(session, entry->d_name);
	if (dir)
		closedir(dir);
}

/*
 * Removes everything recorded until now, except finished chunks. It closes the traces first, so
 * that the next packets begin new ones.
 */
static void rotate_discard_traces(struct session *session)
{
	struct rotation *rotation = &session->rotation;
	size_t i;

	close_traces(session);
	for (i = 0; i < rotation->nr_flat; i++) {
		rotate_delete_trace(session, rotation->flat[i]);
		free(rotation->flat[i]);
	}
	rotation->nr_flat = 0;
	if (rotation->path)
		rotate_delete_trace(session, strrchr(rotation->path, '/') + 1);
	if (state_directory_is_adopted(session))
		rotate_remove_leftovers(session);
	free(rotation->path);
	rotation->path = NULL;
	rotation->bytes = 0;
}

static void finish_chunk(struct session *session)
{
	struct rotation *rotation = &session->rotation;
	int ret;

	close_traces(session);
	ret = rotate_rename_directory(session);
	if (ret) {
		report_failure(session, ret);
		report(session, true, "cannot rename the chunk %s: %s", rotation->path,
				strerror(-ret));
	}
	free(rotation->path);
	rotation->path = NULL;
	rotation->bytes = 0;
}

/* Moves the traces of a session without chunks from OUT into the first chunk. */
static void rotate_collect(struct session *session)
{
	struct rotation *rotation = &session->rotation;
	struct error error = {.text = ""};
	size_t i;

	if (rotation->nr_flat && make_chunk(session, &error)) {
		report(session, true, "%s", error.text);
		return;
	}
	close_traces(session);
	for (i = 0; i < rotation->nr_flat; i++) {
		char *from = NULL, *to = NULL;

		if (asprintf(&from, "%s/%s", session->output.path, rotation->flat[i]) < 0)
			from = NULL;
		if (asprintf(&to, "%s/%s", rotation->path, rotation->flat[i]) < 0)
			to = NULL;
		if (from && to && rename(from, to))
			report(session, true, "cannot move the trace %s: %s", from,
					strerror(errno));
		free(from);
		free(to);
		free(rotation->flat[i]);
	}
	free(rotation->flat);
	rotation->flat = NULL;
	rotation->nr_flat = 0;
	rotation->chunks = true;
}

void rotate_note_flat(struct session *session, const char *directory)
{
	struct rotation *rotation = &session->rotation;
	char **grown;

	if (rotation->chunks || !session->service)
		return;
	grown = realloc(rotation->flat, (rotation->nr_flat + 1) * sizeof(*grown));
	if (!grown)
		return;
	rotation->flat = grown;
	grown[rotation->nr_flat] = strdup(directory);
	rotation->nr_flat += grown[rotation->nr_flat] != NULL;
}

/* ---- requests and limits ---- */

static void rotate(struct session *session)
{
	struct rotation *rotation = &session->rotation;

	if (!rotation->chunks)
		rotate_collect(session);
	if (rotation->path)
		finish_chunk(session);
	rotation->next = rotation->period_ns ? wire_deadline(0) + rotation->period_ns : 0;
	retain_apply(session);
}

void rotate_for(struct session *session, uint64_t bytes)
{
	const struct rotation *rotation = &session->rotation;

	if (rotation->size && rotation->path && rotation->bytes &&
			rotation->bytes + bytes > rotation->size && !full_waits(session))
		rotate(session);
}

const struct trace_hooks rotate_trace_hooks = {
		.prepare = rotate_prepare,
		.note = rotate_note_flat,
		.before_packet = rotate_for,
		.after_packet = retain_apply,
};

static uint32_t requests(const struct session *session)
{
	/* Acquire: everything published before the request. Pairs with session_rotate(). */
	return atomic_load_explicit(&session->rotation.wanted, memory_order_acquire);
}

uint32_t rotate_wanted(const struct session *session)
{
	return requests(session);
}

bool rotate_is_called(const struct session *session)
{
	return requests(session) != session->rotation.done;
}

void rotate_turn(struct session *session, uint32_t wanted)
{
	struct rotation *rotation = &session->rotation;
	bool asked = wanted != rotation->done;

	if (rotation->period_ns && !rotation->next)
		rotation->next = wire_deadline(0) + rotation->period_ns;
	/* Traces cannot be closed regularly while the disk is full. */
	if (!full_waits(session) &&
			(asked || (rotation->next && wire_deadline(0) >= rotation->next))) {
		/* Relaxed: the number of the request, which is stored after it, orders both. */
		if (asked &&
				atomic_exchange_explicit(&session->rotation.clear_wanted, false,
						memory_order_relaxed))
			rotate_discard_traces(session);
		else
			rotate(session);
		pthread_mutex_lock(&session->lock);
		rotation->done = wanted;
		pthread_mutex_unlock(&session->lock);
	}
	retain_apply(session);
}

int rotate_timeout(const struct session *session, int timeout_ms)
{
	const struct rotation *rotation = &session->rotation;
	uint64_t now = wire_deadline(0), ms;

	if (!rotation->next || full_waits(session))
		return timeout_ms;
	if (now >= rotation->next)
		return 0;
	ms = (rotation->next - now) / 1000000 + 1;
	return ms < (uint64_t)timeout_ms ? (int)ms : timeout_ms;
}

void rotate_end(struct session *session)
{
	if (session->rotation.path)
		finish_chunk(session);
	retain_apply(session);
	pthread_mutex_lock(&session->lock);
	session->rotation.done = requests(session);
	pthread_mutex_unlock(&session->lock);
}

void rotate_free(struct session *session)
{
	struct rotation *rotation = &session->rotation;
	size_t i;

	for (i = 0; i < rotation->nr_flat; i++)
		free(rotation->flat[i]);
	free(rotation->flat);
	free(rotation->path);
	retain_free(session);
}

/* ---- called by the main thread ---- */

uint32_t session_rotate(struct session *session)
{
	/* Release: pairs with requests(). */
	uint32_t ticket = atomic_fetch_add_explicit(
					  &session->rotation.wanted, 1, memory_order_release) +
			1;

	if (session->drain.bells)
		ring_bells_ring(session->drain.bells);
	return ticket;
}

uint32_t session_clear(struct session *session)
{
	/* Relaxed: the release in session_rotate() makes it visible. */
	atomic_store_explicit(&session->rotation.clear_wanted, true, memory_order_relaxed);
	return session_rotate(session);
}

bool session_rotated(struct session *session, uint32_t request, char *name, size_t capacity)
{
	const struct retention *retention = &session->retention;
	bool done;

	pthread_mutex_lock(&session->lock);
	/* The numbers can wrap around. */
	done = (int32_t)(session->rotation.done - request) >= 0;
	if (done && capacity)
		snprintf(name, capacity, "%s", retention->newest);
	pthread_mutex_unlock(&session->lock);
	return done;
}
