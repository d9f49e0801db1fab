/* SPDX-License-Identifier: MIT */
/*
 * Options, life and summary of a session.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "session/parts.h"

/* Descriptors of a living instance: pidfd, directory, metadata, side_session. Streams come on top. */
#define FILES_PER_INSTANCE 4
#define FILES_OF_OUR_OWN 64

/* ---- options ---- */

static int take_patterns(struct session *session, const struct session_options *options,
		struct session_error *error)
{
	size_t size = 0, i;
	char *at;

	if (options->nr_patterns > WIRE_PATTERNS_MAX)
		return session_fail(error, SESSION_ERROR_USAGE, EINVAL,
				"%zu patterns are more than %d", options->nr_patterns,
				WIRE_PATTERNS_MAX);
	for (i = 0; i < options->nr_patterns; i++) {
		struct pattern_error where;
		struct pattern pattern;

		if (pattern_parse(options->patterns[i], &pattern, &where)) {
			session_fail(error, SESSION_ERROR_USAGE, EINVAL, "bad pattern");
			pattern_error_text(error->text, sizeof(error->text), options->patterns[i],
					&where);
			return -EINVAL;
		}
		size += strlen(options->patterns[i]) + 1;
	}
	if (size > WIRE_MESSAGE_MAX / 2)
		return session_fail(error, SESSION_ERROR_USAGE, EINVAL,
				"the patterns together are longer than 32 KiB");
	session->patterns = at = malloc(size + 1);
	session->listed = calloc(options->nr_patterns + 1, sizeof(*session->listed));
	if (!at || !session->listed)
		return session_fail(error, SESSION_ERROR_FAILED, ENOMEM, "no memory");
	for (i = 0; i < options->nr_patterns; i++) {
		struct pattern_error where;

		pattern_parse(options->patterns[i], &session->listed[i], &where);
		at = stpcpy(at, options->patterns[i]) + 1;
	}
	session->nr_patterns = (uint32_t)options->nr_patterns;
	return 0;
}

static int take_environment(struct session *session, const struct session_options *options,
		struct session_error *error)
{
	size_t i;

	session->environment = calloc(options->nr_environment + 1, sizeof(char *));
	for (i = 0; session->environment && i < options->nr_environment; i++) {
		const char *equals = strchr(options->environment[i], '=');

		if (!equals || equals == options->environment[i])
			return session_fail(error, SESSION_ERROR_USAGE, EINVAL,
					"\"%s\" is not of the form NAME=VALUE",
					options->environment[i]);
		session->environment[i] = strdup(options->environment[i]);
		if (!session->environment[i])
			break;
		session->nr_environment++;
	}
	if (session->nr_environment < options->nr_environment || !session->environment)
		return session_fail(error, SESSION_ERROR_FAILED, ENOMEM, "no memory");
	return 0;
}

static uint64_t power_of_two_below(uint64_t value)
{
	return value ? 1ull << (63 - __builtin_clzll(value)) : 0;
}

/* What one process takes with rings of this size; 0: not a size that rings can have. */
static uint64_t process_memory(const struct session *session, uint64_t ring_size)
{
	struct ring_geometry geometry = {
			.rings = ring_possible_cpus(),
			.event_slots = EVENT_SLOTS,
			.size = ring_size,
			.clock = session->clock,
	};

	return ring_memory_size(&geometry);
}

static int take_memory_options(struct session *session, const struct session_options *options,
		struct session_error *error)
{
	uint64_t size = SESSION_RING_SUM_DEFAULT / ring_possible_cpus();

	if (size > SESSION_RING_MAX_DEFAULT)
		size = SESSION_RING_MAX_DEFAULT;
	size = power_of_two_below(options->ring_size ? options->ring_size : size);
	if (size < SESSION_RING_MIN && !options->ring_size)
		size = SESSION_RING_MIN;
	if (size < SESSION_RING_MIN || !process_memory(session, size))
		return session_fail(error, SESSION_ERROR_USAGE, EINVAL,
				"a buffer of %llu bytes a CPU is not between 64 KiB and 4 GiB",
				(unsigned long long)options->ring_size);
	session->ring_size = size;
	session->memory_limit =
			options->memory_limit ? options->memory_limit : SESSION_MEMORY_DEFAULT;
	if (process_memory(session, size) > session->memory_limit)
		return session_fail(error, SESSION_ERROR_USAGE, EINVAL,
				"a process with %llu KiB a CPU takes %llu KiB on this machine, "
				"more than "
				"the session's limit of %llu KiB",
				(unsigned long long)size / 1024,
				(unsigned long long)process_memory(session, size) / 1024,
				(unsigned long long)session->memory_limit / 1024);
	return 0;
}

/* ---- clock ---- */

static void fill_clock(struct ctf_clock *clock, const struct ring_clock_calibration *calibration)
{
	*clock = (struct ctf_clock){
			.name = "monotonic",
			.description = "Unix time of the recording machine",
			.frequency = calibration->frequency,
			.offset_s = calibration->offset_s,
			.offset = calibration->offset,
			.precision = 1,
			.absolute = true,
	};
}

static int begin_clock(struct session *session, struct session_error *error)
{
	struct ring_clock_calibration calibration;
	int ret;

	session->clock = ring_clock_choose();
	ret = ring_clock_sample(session->clock, &session->begin);
	if (!ret)
		ret = ring_clock_calibrate(session->clock, &session->begin, NULL, &calibration);
	if (ret)
		return session_fail(error, session_error_kind_of(ret), ret,
				"cannot read the clock: %s", strerror(-ret));
	fill_clock(&session->ctf_clock, &calibration);
	return 0;
}

/* The clock's figures as of now, with all of the session to measure them by. */
int session_refined_clock(const struct session *session, struct ctf_clock *clock)
{
	struct ring_clock_calibration calibration;
	struct ring_clock_sample now;
	int ret = ring_clock_sample(session->clock, &now);

	if (!ret)
		ret = ring_clock_calibrate(session->clock, &session->begin, &now, &calibration);
	if (!ret)
		fill_clock(clock, &calibration);
	return ret;
}

/* ---- life ---- */

/* As many files as we may have: an instance needs a few. */
static void raise_files(struct session *session)
{
	struct rlimit limit;
	uint64_t each = FILES_PER_INSTANCE + ring_possible_cpus();
	uint64_t ended = LIMIT_OPEN_WRITERS * each + FILES_OF_OUR_OWN + LIMIT_CONNECTIONS;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		limit.rlim_cur = limit.rlim_max = 1024;
	session->old_files = limit;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	session->max_live = limit.rlim_cur > ended + each
			? (uint32_t)((limit.rlim_cur - ended) / each < LIMIT_INSTANCES
							  ? (limit.rlim_cur - ended) / each
							  : LIMIT_INSTANCES)
			: 16;
}

static int open_doorbell(struct session *session, struct session_error *error)
{
	int ret = ring_doorbell_create(&session->doorbell_fd);

	if (!ret)
		ret = ring_doorbell_map(session->doorbell_fd, &session->doorbell);
	if (ret)
		return session_fail(error, session_error_kind_of(ret), ret,
				"cannot make shared memory: %s", strerror(-ret));
	return 0;
}

static struct session *allocate(const struct session_options *options)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->mode = options->mode;
	session->wait_all = options->wait_all;
	session->epoll = session->doorbell_fd = session->runtime_fd = -1;
	session->listener.fd = session->signals.fd = session->command.watch.fd = -1;
	session->command.status = -1;
	session->instances_end = &session->instances;
	pthread_mutex_init(&session->lock, NULL);
	pthread_cond_init(&session->memory_back, NULL);
	if (gethostname(session->hostname, sizeof(session->hostname) - 1))
		strcpy(session->hostname, "unknown");
	session->message = malloc(WIRE_MESSAGE_MAX);
	session->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (session->message && session->epoll >= 0)
		return session;
	session_destroy(session);
	return NULL;
}

int session_create(const struct session_options *options, struct session **result,
		struct session_error *error)
{
	struct session *session;
	int ret;

	*result = NULL;
	*error = (struct session_error){.kind = SESSION_ERROR_NONE};
	session = allocate(options);
	if (!session)
		return session_fail(error, SESSION_ERROR_FAILED, ENOMEM, "no memory");
	raise_files(session);
	ret = take_patterns(session, options, error);
	if (!ret)
		ret = take_environment(session, options, error);
	if (!ret)
		ret = begin_clock(session, error);
	if (!ret && session->mode == SESSION_RECORD)
		ret = take_memory_options(session, options, error);
	if (!ret)
		ret = libraries_find(session, options, error);
	if (!ret)
		ret = listener_open(session, error);
	if (!ret && session->mode == SESSION_RECORD)
		ret = open_doorbell(session, error);
	/* Last, so that a failure leaves no empty directory. */
	if (!ret && session->mode == SESSION_RECORD)
		ret = output_create(session, options, error);
	if (ret) {
		session_destroy(session);
		return ret;
	}
	*result = session;
	return 0;
}

void session_on_progress(struct session *session,
		void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost),
		void *user)
{
	session->progress = progress;
	session->progress_user = user;
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
	connections_close(session);
	listener_close(session);
	while (session->instances) {
		struct instance *next = session->instances->next;

		trace_close(session, session->instances, NULL);
		instance_free(session, session->instances);
		session->instances = next;
	}
	if (session->doorbell)
		ring_doorbell_unmap(session->doorbell);
	close_fd(session->doorbell_fd);
	close_fd(session->signals.fd);
	close_fd(session->command.watch.fd);
	close_fd(session->epoll);
	reports_free(session);
	free(session->processes);
	for (i = 0; i < session->nr_environment; i++)
		free(session->environment[i]);
	free(session->environment);
	free(session->patterns);
	free(session->listed);
	free(session->preload);
	free(session->output);
	free(session->message);
	free(session->command.name);
	free(session->command.never_meets);
	if (session->mask_is_ours) {
		if (session->wait_all)
			prctl(PR_SET_CHILD_SUBREAPER, 0);
		pthread_sigmask(SIG_SETMASK, &session->old_mask, NULL);
		sigaction(SIGCHLD, &session->old_child, NULL);
	}
	if (session->old_files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &session->old_files);
	pthread_cond_destroy(&session->memory_back);
	pthread_mutex_destroy(&session->lock);
	free(session);
}

/* ---- summary ---- */

static void summarize_processes(struct session *session)
{
	struct session_summary *summary = &session->summary;
	const struct instance *instance;
	size_t i = 0;

	free(session->processes);
	session->processes = calloc(session->nr_instances + 1, sizeof(*session->processes));
	if (!session->processes)
		return;
	for (instance = session->instances; instance; instance = instance->next) {
		session->processes[i++] = (struct session_process){
				.directory = instance->directory ? instance->directory : "",
				.procname = instance->procname,
				.exe = instance->exe,
				.pid = instance->pid,
				.parent = instance->parent,
				.events = instance->nr_kinds,
				.bytes = instance->bytes,
				.lost = instance->lost,
				.ring_size = instance->geometry.size,
		};
		summary->bytes += instance->bytes;
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
			.output = session->output,
			.status = session->command.status,
			.interrupted = session->interrupted,
			.memory_peak = session->memory_peak,
			.losses = session->losses,
			.nr_losses = session->nr_losses,
			.messages = session->messages,
			.nr_messages = session->nr_messages,
			.failure = session->failure,
	};
	for (i = 0; i < session->nr_losses; i++) {
		if (session->losses[i].in_bytes)
			summary->unwritten += session->losses[i].count;
		else
			summary->lost += session->losses[i].count;
	}
	summarize_processes(session);
	pthread_mutex_unlock(&session->lock);
	return summary;
}

static const struct instance *process_at(const struct session *session, size_t process)
{
	const struct instance *instance = session->instances;

	while (instance && process--)
		instance = instance->next;
	return instance;
}

size_t session_nr_events(const struct session *session, size_t process)
{
	const struct instance *instance = process_at(session, process);

	return instance && instance->kinds ? instance->nr_kinds : 0;
}

const struct side_event_description *session_event(
		const struct session *session, size_t process, size_t event)
{
	const struct instance *instance = process_at(session, process);

	return instance && instance->kinds && event < instance->nr_kinds
			? instance->kinds[event].owned->desc
			: NULL;
}
