/* SPDX-License-Identifier: MIT */
/*
 * Live sessions: programs connect to the socket, and the daemon changes what is recorded of them.
 * live.h describes the functions.
 *
 * The rules belong to the main thread. Each answer to a program is sent completely before anything
 * else is handled, so a change replaces the rules between two answers. A program can have older
 * rules; it sends its generation when it connects again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "protocol/protocol.h"
#include "recorder/connection.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/instance.h"
#include "recorder/core/live.h"
#include "recorder/core/memory.h"
#include "recorder/core/probes.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/core/totals.h"
#include "recorder/core/track.h"
#include "recorder/drain.h"
#include "recorder/listener.h"
#include "recorder/recovery/adopt.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/trigger.h"
#include "recorder/run-turn.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/output.h"
#include "recorder/storage/state-directory.h"

/* Turns at the close of a session, to handle exits that have happened already. */
#define LAST_TURNS 64
/* How often programs are answered while the caller waits for the disk. */
#define SERVE_EVERY_MS 10

/* ---- start ---- */

static int take_service(
		struct session *session, const struct session_live *live, struct error *error)
{
	struct service *service = session->service;
	int ret = track_take(live->track, live->nr_track, &service->track, error);

	if (ret)
		return ret;
	service->nr_track = (uint32_t)live->nr_track;
	service->any_user = live->any_user;
	service->is_owned = live->settled;
	service->owner = live->owner;
	service->boot = live->boot;
	service->leave = live->leave;
	service->only = live->only;
	service->active = live->active;
	service->generation = live->generation ? live->generation : 1;
	service->statedump = live->active ? service->generation : 0;
	return 0;
}

static int live_check_options(struct session *session, const struct session_options *options,
		const struct session_live *live, struct error *error)
{
	int ret;

	if (options->mode != SESSION_RECORD || !live->socket)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a session without a command needs a socket, and must record");
	session->mode = SESSION_RECORD;
	session->drain.rounds = options->rounds;
	session->loading.loads = options->loads;
	ret = session_begin_clock(session, error);
	if (!ret)
		ret = take_service(session, live, error);
	if (!ret)
		ret = channels_take(session, options, error);
	if (!ret)
		ret = trigger_take(session, options, error);
	if (!ret)
		ret = probes_take(session, options, error);
	if (!ret)
		ret = session_take_format(session, options, error);
	if (!ret)
		ret = rotate_take(session, options, error);
	return ret ? ret : memory_check(session, options, error);
}

/*
 * Uses the caller's output directory, else that of the earlier recorder. The caller's comes first,
 * because a program of the same user may have changed the saved path. Existing traces are kept.
 */
static int live_open_output(
		struct session *session, const struct session_options *options, struct error *error)
{
	const char *before = state_directory_output(session);

	return output_create(session, options->output ? options->output : before,
			options->force || state_directory_is_adopted(session), error);
}

static int live_open_parts(struct session *session, const struct session_options *options,
		const struct session_live *live, struct error *error)
{
	uid_t owner = live->settled ? live->owner : geteuid();
	int ret;

	session_raise_files(session);
	ret = session_open_shares(session, error);
	if (!ret)
		ret = session_open_bells(session, error);
	if (!ret)
		ret = live->state_dir ? state_directory_open_session(
							session, live->state_dir, owner, error)
				      : buffers_open(session, options, error);
	if (!ret)
		ret = listener_open_at(session, live->socket, error);
	if (!ret && live->settled && live->settled(live->user))
		ret = error_set(error, -EPERM, NULL,
				"cannot record as user %u: the daemon has no permission to become that user",
				(unsigned int)live->owner);
	if (!ret)
		ret = live_open_output(session, options, error);
	if (!ret)
		output_lock(session);
	return ret;
}

static struct session *allocate(void)
{
	struct session *session = session_allocate();

	if (!session)
		return NULL;
	session->service = calloc(1, sizeof(*session->service));
	if (session->service)
		return session;
	session_destroy(session);
	errno = ENOMEM;
	return NULL;
}

/* Adopts what an earlier recorder has left. */
static int live_adopt_predecessor(struct session *session, struct error *error)
{
	struct service *service = session->service;
	uint64_t before = state_directory_generation(session);
	int ret;

	if (!session->state_dir)
		return 0;
	/* Programs have the rules of earlier generations already, so use a new one. */
	if (service->generation <= before)
		service->generation = before + 1;
	if (service->active)
		service->statedump = service->generation;
	ret = state_directory_save(session, service->generation);
	if (ret)
		return error_set_kind(error, report_error_kind(ret), ret, NULL,
				"cannot store a session in %s: %s", session->buffers.path,
				strerror(-ret));
	totals_read(session);
	return adopt_all(session, error);
}

int session_open(const struct session_options *options, const struct session_live *live,
		struct session **ret_session, struct error *error)
{
	struct session *session = allocate();
	int ret;

	*ret_session = NULL;
	error_clear(error);
	if (!session)
		return session_fail_allocation(error);
	ret = live_check_options(session, options, live, error);
	if (!ret)
		ret = live_open_parts(session, options, live, error);
	if (!ret)
		ret = live_adopt_predecessor(session, error);
	if (!ret) {
		ret = drain_start(session);
		if (ret)
			ret = error_set_kind(error, ERROR_FAILED, ret, NULL,
					"cannot start a thread to write the traces: %s",
					strerror(-ret));
	}
	if (ret)
		session_destroy(session);
	else
		*ret_session = session;
	return ret;
}

/* ---- operation ---- */

int session_fd(const struct session *session)
{
	return event_loop_fd(&session->loop.events);
}

/* Frees finished instances; totals.c keeps the sums of their statistics. */
static void free_finished(struct session *session)
{
	struct instance *instance = instances_take_finished(session), *next;

	for (; instance; instance = next) {
		next = instance->next;
		connections_forget(session, instance);
		instance_free(session, instance);
	}
}

int session_turn(struct session *session, int timeout_ms, struct error *error)
{
	int ret = run_turn(session, timeout_ms);

	adopt_new(session, false);
	error_clear(error);
	free_finished(session);
	if (ret < 0)
		return error_set_kind(error, report_error_kind(ret), ret, NULL,
				"cannot continue the recording: %s", strerror(-ret));
	return 0;
}

/* ---- changes ---- */

uint64_t session_generation(const struct session *session)
{
	return session->service->generation;
}

bool session_is_active(const struct session *session)
{
	return session->service->active;
}

/* Saves the generation, so that the next recorder of this state directory continues from it. */
static void note_generation(struct session *session)
{
	int ret = state_directory_save(session, session->service->generation);

	if (ret)
		report(session, true, "cannot write the generation of the rules to %s: %s",
				session->buffers.path, strerror(-ret));
}

uint64_t session_statedump(struct session *session)
{
	struct service *service = session->service;

	service->statedump = ++service->generation;
	note_generation(session);
	return service->generation;
}

int session_change(struct session *session, const struct session_channel *channels, size_t nr,
		bool active, const struct session_track *track, size_t nr_track,
		uint64_t *ret_generation, struct error *error)
{
	struct service *service = session->service;
	struct session_track *tracked;
	int ret;

	error_clear(error);
	*ret_generation = service->generation;
	ret = track_take(track, nr_track, &tracked, error);
	if (!ret) {
		ret = channels_change(session, channels, nr, error);
		if (ret)
			track_free(tracked, nr_track);
	}
	probes_change(session, !ret);
	if (ret)
		return ret;
	track_free(service->track, service->nr_track);
	service->track = tracked;
	service->nr_track = (uint32_t)nr_track;
	*ret_generation = ++service->generation;
	if (active && !service->active)
		service->statedump = service->generation;
	service->active = active;
	note_generation(session);
	return 0;
}

/* ---- requests ---- */

/* Waits for a round of the drain thread, and answers programs meanwhile. */
static int wait_for_round(struct session *session, unsigned int timeout_ms)
{
	uint64_t deadline = wire_deadline(timeout_ms);
	uint32_t round = drain_ask(session);
	int ret;

	do {
		ret = drain_wait(session, round, SERVE_EVERY_MS);
		if (ret == -ETIMEDOUT)
			run_turn(session, 0);
	} while (ret == -ETIMEDOUT && wire_deadline(0) < deadline);
	return ret;
}

int session_flush(struct session *session, unsigned int timeout_ms)
{
	adopt_new(session, true);
	return wait_for_round(session, timeout_ms);
}

int session_begin_snapshot(
		struct session *session, unsigned int timeout_ms, uint64_t *ret_generation)
{
	int ret;

	if (!channels_any_overwrites(session))
		return -EINVAL;
	drain_begin_snapshot(session);
	ret = wait_for_round(session, timeout_ms);
	*ret_generation = ret ? session->service->generation : session_statedump(session);
	return ret;
}

int session_snapshot(struct session *session, unsigned int timeout_ms, uint32_t *ret_number,
		char name[SESSION_SNAPSHOT_NAME_MAX], uint64_t *ret_recorded)
{
	int ret;

	if (!channels_any_overwrites(session))
		return -EINVAL;
	drain_snapshot(session);
	ret = wait_for_round(session, timeout_ms);
	pthread_mutex_lock(&session->lock);
	*ret_number = session->snapshots.nr;
	memcpy(name, session->snapshots.last, SESSION_SNAPSHOT_NAME_MAX);
	*ret_recorded = session->snapshots.last_recorded;
	pthread_mutex_unlock(&session->lock);
	return ret;
}

bool session_wants_state(struct session *session)
{
	/* Acquire: the copy of the rings. Pairs with snapshot_begin_automatic(). */
	return atomic_exchange_explicit(
			&session->snapshots.state_wanted, false, memory_order_acquire);
}

int session_finish_snapshot(struct session *session, unsigned int timeout_ms)
{
	drain_finish_snapshot(session);
	return wait_for_round(session, timeout_ms);
}

int session_snapshot_error(struct session *session)
{
	int ret;

	pthread_mutex_lock(&session->lock);
	ret = session->snapshots.error;
	pthread_mutex_unlock(&session->lock);
	return ret;
}

bool session_take_message(struct session *session, struct session_message *ret_message)
{
	bool found;

	report_suppressed(session, false);
	pthread_mutex_lock(&session->lock);
	found = session->reports.nr_messages > 0;
	if (found) {
		*ret_message = session->reports.messages[0];
		session->reports.nr_messages--;
		memmove(&session->reports.messages[0], &session->reports.messages[1],
				session->reports.nr_messages *
						sizeof(session->reports.messages[0]));
	}
	pthread_mutex_unlock(&session->lock);
	return found;
}

/* ---- the end ---- */

/* Fills in *error with the first error message that the caller has not taken. */
static void live_report_failure(struct session *session, struct error *error)
{
	size_t i;

	if (session->reports.failure == ERROR_NONE)
		return;
	error_set_kind(error, session->reports.failure, -EIO, NULL,
			"some of the recording could not be written");
	for (i = 0; i < session->reports.nr_messages; i++) {
		if (!session->reports.messages[i].is_error)
			continue;
		error_set_kind(error, session->reports.failure, -EIO, NULL, "%s",
				session->reports.messages[i].text);
		return;
	}
}

static void live_stop(struct session *session, bool finish)
{
	int turns = 0;

	if (session->service->over)
		return;
	pthread_mutex_lock(&session->lock);
	session->service->over = true;
	pthread_mutex_unlock(&session->lock);
	/* Messages and exits until now are part of the recording. */
	while (finish && turns++ < LAST_TURNS && run_turn(session, 0) > 0)
		;
	listener_close(session);
	loading_end(session);
	connections_close(session);
	/* Programs that start from now on find no socket. */
	if (finish)
		adopt_new(session, true);
	if (session->service->leave && session->instances.live)
		finish = false;
	session->service->keep = !finish;
	drain_stop(session);
}

void session_finish(struct session *session)
{
	live_stop(session, true);
}

void session_close(struct session *session, bool finish, struct error *error)
{
	error_clear(error);
	if (!session)
		return;
	live_stop(session, finish);
	live_report_failure(session, error);
	if (!session->service->keep)
		state_directory_remove(session);
	session_destroy(session);
}
