/* SPDX-License-Identifier: MIT */
/* Options, start, end and summary of a session. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "abi/visit.h"
#include "base/error.h"
#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/connection.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/libraries.h"
#include "recorder/core/log-limits.h"
#include "recorder/core/memory.h"
#include "recorder/core/probes.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/core/track.h"
#include "recorder/drain.h"
#include "recorder/listener.h"
#include "recorder/recovery/adopt.h"
#include "recorder/refusals.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/trigger.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/spawn.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/output.h"
#include "recorder/storage/state-directory.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

/*
 * Descriptors of a live instance: pidfd, directory, metadata, side_session; with rings in files
 * also those of the descriptions and of the journal. Streams are counted separately.
 */
#define FILES_PER_INSTANCE 6
#define FILES_OF_OUR_OWN 64
#define LIVE_MIN 16

/* ---- options ---- */

static int take_environment(
		struct session *session, const struct session_options *options, struct error *error)
{
	size_t i;

	session->spawn.environment = calloc(options->nr_environment + 1, sizeof(char *));
	for (i = 0; session->spawn.environment && i < options->nr_environment; i++) {
		const char *equals = strchr(options->environment[i], '=');

		if (!equals || equals == options->environment[i])
			return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
					"\"%s\" is not of the form NAME=VALUE",
					options->environment[i]);
		session->spawn.environment[i] = strdup(options->environment[i]);
		if (!session->spawn.environment[i])
			break;
		session->spawn.nr_environment++;
	}
	if (session->spawn.nr_environment < options->nr_environment || !session->spawn.environment)
		return error_set_no_memory(error);
	return 0;
}

int session_take_format(
		struct session *session, const struct session_options *options, struct error *error)
{
	session->output.format =
			options->format == SESSION_FORMAT_CTF2 ? CTF_FORMAT_2 : CTF_FORMAT_1;
	session->output.compress = options->compress;
	if (options->compress < 0 || options->compress > SESSION_COMPRESS_MAX)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"unknown compression level %d: levels are 1 to %d",
				options->compress, SESSION_COMPRESS_MAX);
	return 0;
}

/* ---- start and end ---- */

/*
 * Estimates the rings of a process whose files are open at the same time: most of many threads are
 * short-lived.
 */
static uint64_t rings_in_use(const struct session *session)
{
	uint64_t rings = 0, few = 4ull * ring_possible_cpus() + 16;
	uint32_t i;

	for (i = 0; i < session->nr_channels; i++)
		rings += session->channels[i].rings < few ? session->channels[i].rings : few;
	return rings + session->nr_channels;
}

/*
 * At the limit of the file size, a write must return an error instead of killing the recorder by
 * SIGXFSZ.
 */
static void raise_file_size(struct session *session)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct rlimit limit;

	sigaction(SIGXFSZ, &ignore, &session->files.old_size_signal);
	if (getrlimit(RLIMIT_FSIZE, &limit))
		limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
	session->files.old_size = limit;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Raises the limit of open files as far as allowed: each instance needs several. */
void session_raise_files(struct session *session)
{
	struct rlimit limit;
	uint64_t each = FILES_PER_INSTANCE + session->nr_channels + rings_in_use(session), ended,
		 live;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		limit.rlim_cur = limit.rlim_max = 1024;
	session->files.old_number = limit;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	raise_file_size(session);
	ended = LIMIT_OPEN_WRITERS * each;
	if (ended > limit.rlim_cur / 4)
		ended = limit.rlim_cur / 4;
	session->files.max_ended = (uint32_t)ended;
	ended += FILES_OF_OUR_OWN + LIMIT_CONNECTIONS;
	live = limit.rlim_cur > ended ? (limit.rlim_cur - ended) / each : 0;
	if (live < LIVE_MIN)
		live = LIVE_MIN;
	session->instances.max_live = live < LIMIT_INSTANCES ? (uint32_t)live : LIMIT_INSTANCES;
}

int session_open_bells(struct session *session, struct error *error)
{
	if (!ring_bells_create(&session->drain.bells))
		return 0;
	return error_set_no_memory(error);
}

/*
 * Creates shares with floors for a session that records programs of all users. In other sessions,
 * all programs belong to one user.
 */
int session_open_shares(struct session *session, struct error *error)
{
	uint32_t floors = session->service && session->service->any_user ? LIMIT_FLOORS : 0;
	struct shares *const all[] = {&session->connections.shares, &session->instances.shares,
			&session->memory.shares, &session->description_shares};
	size_t i;

	shares_init(&session->connections.shares, LIMIT_CONNECTIONS, floors, 0);
	shares_init(&session->instances.shares, session->instances.max_live, floors, 1);
	shares_init(&session->memory.shares, session->memory.limit, floors, memory_least(session));
	shares_init(&session->description_shares, LIMIT_SESSION_DESCRIPTIONS, floors, 0);
	if (floors)
		lines_init(&session->reports.lines, geteuid(), LIMIT_LINES_OF_OWNER,
				LIMIT_LINES_OF_USER, LIMIT_LINES_OF_PROCESS);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!shares_keep(all[i], geteuid()))
			return error_set_no_memory(error);
	return 0;
}

static void session_free_shares(struct session *session)
{
	shares_free(&session->connections.shares);
	shares_free(&session->instances.shares);
	shares_free(&session->memory.shares);
	shares_free(&session->description_shares);
}

/* Frees the state that only a live session has (core/service.h). */
static void session_free_service(struct session *session)
{
	if (!session->service)
		return;
	track_free(session->service->track, session->service->nr_track);
	adopt_forget(session);
	free(session->service->socket);
	free(session->service);
	session->service = NULL;
}

struct session *session_allocate(void)
{
	struct session *session = calloc(1, sizeof(*session));
	int ret;

	if (!session)
		return NULL;
	session->loop.events.epoll = session->listener.directory_fd = session->buffers.fd = -1;
	session->output.lock = -1;
	session->listener.watch.fd = session->loop.signals.fd = session->command.watch.fd = -1;
	session->command.status = -1;
	session->instances.end = &session->instances.list;
	session->trace_hooks = &rotate_trace_hooks;
	pthread_mutex_init(&session->lock, NULL);
	pthread_cond_init(&session->memory.back, NULL);
	pthread_cond_init(&session->drain.round_done, NULL);
	if (gethostname(session->hostname, sizeof(session->hostname) - 1))
		strcpy(session->hostname, "unknown");
	/* Shares of a session that only reads; session_open_shares() replaces them. */
	shares_init(&session->description_shares, LIMIT_SESSION_DESCRIPTIONS, 0, 0);
	lines_init(&session->reports.lines, geteuid(), LIMIT_LINES, LIMIT_LINES, LIMIT_LINES);
	session->connections.message = malloc(WIRE_MESSAGE_MAX);
	ret = session->connections.message ? event_loop_open(&session->loop.events) : -ENOMEM;
	if (!ret)
		return session;
	session_destroy(session);
	errno = -ret;
	return NULL;
}

int session_fail_allocation(struct error *error)
{
	int code = errno;

	return error_set_kind(error, ERROR_FAILED, -code, NULL, "%s", error_strerror(code));
}

/* Checks all options before anything is started or created. */
static int record_session_apply_options(
		struct session *session, const struct session_options *options, struct error *error)
{
	int ret;

	session->mode = options->mode;
	session->wait_all = options->wait_all;
	session->drain.rounds = options->rounds;
	session->clock.monotonic = options->monotonic;
	session->loop.pass_on = options->pass_on;
	session->command.helper = options->helper;
	session->loading.loads = options->loads;
	ret = session_begin_clock(session, error);
	if (!ret)
		ret = channels_take(session, options, error);
	if (!ret)
		ret = trigger_take(session, options, error);
	if (!ret)
		ret = probes_take(session, options, error);
	if (!ret)
		ret = take_environment(session, options, error);
	if (!ret)
		ret = session_take_format(session, options, error);
	if (!ret && session->mode == SESSION_RECORD)
		ret = memory_check(session, options, error);
	if (!ret)
		ret = rotate_take(session, options, error);
	if (!ret)
		ret = libraries_find(session, options, error);
	return ret;
}

static int record_session_open_parts(
		struct session *session, const struct session_options *options, struct error *error)
{
	int ret;

	spawn_ignore_requests(session);
	session_raise_files(session);
	ret = session_open_shares(session, error);
	if (!ret)
		ret = listener_open(session, error);
	if (!ret)
		ret = spawn_sockets(session, error);
	if (ret || session->mode != SESSION_RECORD)
		return ret;
	ret = session_open_bells(session, error);
	if (!ret)
		ret = buffers_open(session, options, error);
	/* Last, so that a failure leaves no empty directory. */
	if (!ret)
		ret = output_create(session, options->output, options->force, error);
	if (!ret)
		output_lock(session);
	return ret;
}

int session_create(const struct session_options *options, struct session **ret_session,
		struct error *error)
{
	struct session *session;
	int ret;

	*ret_session = NULL;
	error_clear(error);
	session = session_allocate();
	if (!session)
		return session_fail_allocation(error);
	ret = record_session_apply_options(session, options, error);
	if (!ret)
		ret = record_session_open_parts(session, options, error);
	if (ret) {
		session_destroy(session);
		return ret;
	}
	*ret_session = session;
	return 0;
}

void session_on_progress(struct session *session,
		void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost),
		void *user)
{
	session->loop.progress = progress;
	session->loop.progress_user = user;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void session_destroy(struct session *session)
{
	size_t i;

	if (!session)
		return;
	drain_stop(session);
	/* End the wait before any rings are unmapped. */
	ring_bells_destroy(session->drain.bells);
	session->drain.bells = NULL;
	loading_end(session);
	connections_close(session);
	listener_close(session);
	while (session->instances.list) {
		struct instance *next = session->instances.list->next;

		trace_close(session, session->instances.list, NULL);
		instance_free(session, session->instances.list);
		session->instances.list = next;
	}
	buffers_close(session);
	state_directory_close(session);
	close_fd(session->loop.signals.fd);
	close_fd(session->command.watch.fd);
	event_loop_close(&session->loop.events);
	reports_free(session);
	free(session->processes);
	for (i = 0; i < session->spawn.nr_environment; i++)
		free(session->spawn.environment[i]);
	free(session->spawn.environment);
	for (i = 0; i < session->nr_all_channels; i++)
		channel_free(&session->channels[i]);
	free(session->channels);
	rotate_free(session);
	trigger_free(session);
	probes_free(session);
	session_free_service(session);
	free(session->buffers.path);
	free(session->spawn.sockets);
	free(session->spawn.preload);
	close_fd(session->output.lock);
	free(session->output.path);
	free(session->totals.last);
	free(session->connections.message);
	free(session->command.name);
	free(session->command.never_meets);
	session_free_shares(session);
	refusals_free(session);
	leases_free(session);
	if (session->loop.mask_is_ours) {
		if (session->wait_all)
			prctl(PR_SET_CHILD_SUBREAPER, 0);
		pthread_sigmask(SIG_SETMASK, &session->loop.old_mask, NULL);
		sigaction(SIGCHLD, &session->loop.old_child, NULL);
	}
	if (session->files.old_number.rlim_max) {
		setrlimit(RLIMIT_NOFILE, &session->files.old_number);
		setrlimit(RLIMIT_FSIZE, &session->files.old_size);
		sigaction(SIGXFSZ, &session->files.old_size_signal, NULL);
	}
	pthread_cond_destroy(&session->memory.back);
	pthread_cond_destroy(&session->drain.round_done);
	pthread_mutex_destroy(&session->lock);
	free(session);
}

/* ---- summary ---- */

static struct session_process record_session_summarize_process(const struct instance *instance)
{
	struct session_process process = {
			.directory = instance->directory ? instance->directory : "",
			.procname = instance->procname,
			.exe = instance->exe,
			.pid = instance->pid,
			.parent = instance->parent,
			.events = instance->classes ? instance->nr_classes : instance->nr_names,
			.bytes = instance->bytes,
			.recorded = instance->recorded,
			.lost = instance->lost,
			.overwritten = instance->overwritten,
			.rings = instance->nr_streams,
	};
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		if (instance->channels[i].geometry.size > process.ring_size)
			process.ring_size = instance->channels[i].geometry.size;
	return process;
}

static void summarize_processes(struct session *session)
{
	struct session_summary *summary = &session->summary;
	const struct instance *instance;
	size_t i = 0;

	free(session->processes);
	session->processes = calloc(session->instances.nr + 1, sizeof(*session->processes));
	if (!session->processes)
		return;
	for (instance = session->instances.list; instance; instance = instance->next) {
		session->processes[i++] = record_session_summarize_process(instance);
		summary->bytes += instance->bytes;
		summary->recorded += instance->recorded;
		summary->overwritten += instance->overwritten;
	}
	summary->processes = session->processes;
	summary->nr_processes = i;
}

const struct session_summary *session_summary(struct session *session)
{
	struct session_summary *summary = &session->summary;
	size_t i;

	pthread_mutex_lock(&session->lock);
	*summary = (struct session_summary){
			.output = session->output.path,
			.status = session->command.status,
			.interrupted = session->loop.interrupted,
			.survivors = session->command.survivors,
			.nr_refused = session->refusals.nr_processes,
			.memory_peak = session->memory.peak,
			.snapshots = session->snapshots.nr,
			.snapshot_first = session->snapshots.first,
			.snapshot_last = session->snapshots.last,
			.snapshot_recorded = session->snapshots.recorded,
			.snapshot_first_recorded = session->snapshots.first_recorded,
			.snapshot_last_recorded = session->snapshots.last_recorded,
			.chunks = session->retention.made,
			.chunks_removed = session->retention.removed,
			.chunks_removed_bytes = session->retention.removed_bytes,
			.disk_full = session->full.times,
			.losses = session->reports.losses,
			.nr_losses = session->reports.nr_losses,
			.messages = session->reports.messages,
			.nr_messages = session->reports.nr_messages,
			.failure = session->reports.failure,
	};
	summary->lost = session->reports.losses_remainder;
	for (i = 0; i < session->reports.nr_losses; i++) {
		if (session->reports.losses[i].in_bytes)
			summary->unwritten += session->reports.losses[i].count;
		else
			summary->lost += session->reports.losses[i].count;
	}
	summarize_processes(session);
	pthread_mutex_unlock(&session->lock);
	return summary;
}

static const struct instance *record_session_get_process(
		const struct session *session, size_t process)
{
	const struct instance *instance = session->instances.list;

	while (instance && process--)
		instance = instance->next;
	return instance;
}

size_t session_nr_events(const struct session *session, size_t process)
{
	const struct instance *instance = record_session_get_process(session, process);

	return instance && instance->classes ? instance->nr_classes : 0;
}

const struct side_event_description *session_event(
		const struct session *session, size_t process, size_t event)
{
	const struct instance *instance = record_session_get_process(session, process);

	return instance && instance->classes && event < instance->nr_classes
			? instance->classes[event].owned->desc
			: NULL;
}
