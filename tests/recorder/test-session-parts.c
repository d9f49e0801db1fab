/* SPDX-License-Identifier: MIT */
/*
 * Sessions of a command: the steps of their start and end, environment, clock, limits of the
 * process, and the summary. The test includes session.c, and plays the other parts of a session.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../called.h"
#include "abi/visit.h"
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

static const char *failing; /* the step that fails, or NULL */
static struct error the_error;
static int nr_locked;

static int step(const char *name, struct error *error)
{
	called("%s ", name);
	if (!failing || strcmp(failing, name) != 0)
		return 0;
	return error ? error_set(error, -EIO, NULL, "no %s", name) : -EIO;
}

static bool lacks_memory;

static char *played_strdup(const char *text)
{
	return lacks_memory ? NULL : strdup(text);
}

static struct rlimit files_limit, size_limit;
static bool has_no_limits;

static int played_getrlimit(int resource, struct rlimit *limit)
{
	*limit = resource == RLIMIT_NOFILE ? files_limit : size_limit;
	return has_no_limits ? -1 : 0;
}

static void played_setrlimit(int resource, const struct rlimit *limit)
{
	called("limit(%d,%lld,%lld) ", resource, (long long)limit->rlim_cur,
			(long long)limit->rlim_max);
}

static void played_action(int number, const struct sigaction *action, struct sigaction *former)
{
	called("action(%d,%d,%d) ", number, action->sa_handler == SIG_IGN, former != NULL);
}

static int64_t clock_difference; /* ns, of the second measurement */
static unsigned int nr_samples;

static int played_sample(enum ring_clock clock, struct ring_clock_sample *sample)
{
	assert_true(clock == RING_CLOCK_MONOTONIC);
	sample->ticks = 1000 + nr_samples++;
	return step("sample", NULL);
}

static int played_calibrate(const struct ring_clock_sample *begin,
		const struct ring_clock_sample *now, struct ring_clock_calibration *calibration)
{
	assert_true(begin->ticks == 1000 && (!now || now->ticks > 1000));
	*calibration = (struct ring_clock_calibration){.frequency = 1000000000,
			.offset_s = 50,
			.offset = (uint64_t)(500000000 + (now ? clock_difference : 0))};
	return step("calibrate", NULL);
}

#define strdup(text) played_strdup(text)
#define getrlimit(resource, limit) played_getrlimit(resource, limit)
#define setrlimit(resource, limit) played_setrlimit(resource, limit)
#define sigaction(number, action, former) played_action(number, action, former)
#define pthread_sigmask(how, set, former) ((void)(set), (void)(former), called("mask(%d) ", how))
#define pthread_mutex_lock(mutex) ((void)(mutex), nr_locked++)
#define pthread_mutex_unlock(mutex) ((void)(mutex), nr_locked--)
#define prctl(option, value) called("prctl(%d,%d) ", option, value)
#define close(fd) called("close(%d) ", fd)
/* Not a descriptor, so that close() closes none. */
#define event_loop_open(loop) ((loop)->epoll = 61, 0)
#define event_loop_close(loop) called("close(%d) ", (loop)->epoll)
#define ring_clock_choose() RING_CLOCK_MONOTONIC
#define ring_clock_sample(clock, sample) played_sample(clock, sample)
#define ring_clock_calibrate(clock, begin, now, calibration) \
	((void)(clock), played_calibrate(begin, now, calibration))
#define ring_possible_cpus() 3u
#define channels_take(session, options, error) \
	((void)(session), (void)(options), step("channels", error))
#define trigger_take(session, options, error) \
	((void)(session), (void)(options), step("trigger", error))
#define probes_take(session, options, error) \
	((void)(session), (void)(options), step("probes", error))
#define memory_check(session, options, error) \
	((void)(session), (void)(options), step("memory", error))
#define memory_least(session) ((void)(session), 1)
#define rotate_take(session, options, error) \
	((void)(session), (void)(options), step("rotate", error))
#define libraries_find(session, options, error) \
	((void)(session), (void)(options), step("libraries", error))
#define spawn_ignore_requests(session) ((void)(session), called("requests "))
#define listener_open(session, error) ((void)(session), step("listener", error))
#define spawn_sockets(session, error) ((void)(session), step("sockets", error))
#define ring_bells_create(bells) ((void)(bells), step("bells", NULL))
#define ring_bells_destroy(bells) ((void)(bells), called("bells_destroy "))
#define buffers_open(session, options, error) \
	((void)(session), (void)(options), step("buffers", error))
#define output_create(session, output, force, error) \
	((void)(session), called("output(%s,%d) ", (output), (force)), step("output", error))
#define output_lock(session) ((void)(session), called("lock_output "))
#define drain_stop(session) ((void)(session), called("drain_stop "))
#define connections_close(session) ((void)(session), called("connections "))
#define listener_close(session) ((void)(session), called("listener_close "))
#define trace_close(session, instance, error) \
	((void)(session), called("trace(%u) ", (instance)->number))
#define instance_free(session, instance) \
	((void)(session), called("instance(%u) ", (instance)->number))
#define buffers_close(session) ((void)(session), called("buffers_close "))
#define state_directory_close(session) ((void)(session), called("place_close "))
#define reports_free(session) ((void)(session), called("reports "))
#define channel_free(channel) called("channel(%u) ", (channel)->rings)
#define rotate_free(session) ((void)(session), called("rotate_free "))
#define trigger_free(session) ((void)(session), called("trigger_free "))
#define probes_free(session) ((void)(session), called("probes_free "))
#define track_free(track, nr) called("free_track(%d,%zu) ", (track)[0].exclude, (size_t)(nr))
#define adopt_forget(session) ((void)(session), called("adopt_forget "))
#define refusals_free(session) ((void)(session), called("refusals_free "))
#undef fail
#include "recorder/session.c"
#include "recorder/core/clock.c"
#undef strdup

#define FREED "reports rotate_free trigger_free probes_free refusals_free "
#define GONE \
	"drain_stop bells_destroy connections listener_close buffers_close place_close close(%d) " FREED

static int begin(void **state)
{
	(void)state;
	failing = NULL;
	lacks_memory = has_no_limits = false;
	files_limit = (struct rlimit){100, 4000};
	size_limit = (struct rlimit){200, 5000};
	nr_samples = 0;
	clock_difference = 0;
	the_error = (struct error){.kind = ERROR_USAGE};
	*calls = '\0';
	return 0;
}

static void check_error(enum error_kind kind, int code, const char *text)
{
	assert_string_equal(the_error.text, text);
	assert_int_equal(the_error.kind, kind);
	assert_int_equal(the_error.code, code);
}

/* ---- start and end ---- */

#define TAKEN "sample calibrate channels trigger probes memory rotate libraries "
#define RAISED "requests limit(7,4000,4000) action(25,1,1) limit(1,5000,5000) "

static void test_create(void **state)
{
	static const char *const steps[] = {"sample", "calibrate", "channels", "trigger", "probes",
			"memory", "rotate", "libraries", "listener", "sockets", "buffers",
			"output"};
	static const struct session_helper helper;
	struct session_rounds *rounds = (struct session_rounds *)(uintptr_t)16;
	struct session_options options = {.mode = SESSION_RECORD,
			.wait_all = true,
			.monotonic = true,
			.rounds = rounds,
			.helper = &helper,
			.output = "/o",
			.force = true};
	struct session *session;

	(void)state;
	assert_int_equal(session_create(&options, &session, &the_error), 0);
	assert_called(TAKEN RAISED
			"listener sockets bells buffers output(/o,1) output lock_output ");
	assert_int_equal(the_error.kind, ERROR_NONE);
	assert_true(session->mode == SESSION_RECORD && session->wait_all &&
			session->clock.monotonic && !session->loop.pass_on &&
			session->drain.rounds == rounds && session->command.helper == &helper);
	session_destroy(session);
	assert_non_null(strstr(calls, FREED "limit(7,100,4000) limit(1,200,5000) action(25,0,0) "));
	*calls = '\0';
	options.mode = SESSION_LIST;
	nr_samples = 0;
	options.pass_on = true;
	options.wait_all = options.monotonic = false;
	assert_int_equal(session_create(&options, &session, &the_error), 0);
	assert_called("sample calibrate channels trigger probes rotate libraries " RAISED
		      "listener sockets ");
	assert_true(session->mode == SESSION_LIST && session->loop.pass_on && !session->wait_all &&
			!session->clock.monotonic);
	session_destroy(session);
	options.mode = SESSION_RECORD;
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		char text[64];

		*calls = '\0';
		nr_samples = 0;
		failing = steps[i];
		assert_int_equal(session_create(&options, &session, &the_error), -EIO);
		assert_null(session);
		(void)snprintf(text, sizeof(text), i < 2 ? "cannot read the clock: %s" : "no %s",
				i < 2 ? "Input/output error" : steps[i]);
		check_error(ERROR_FAILED, -EIO, text);
		/* Only the steps of the end follow. */
		(void)snprintf(text, sizeof(text), "%s drain_stop ", steps[i]);
		assert_non_null(strstr(calls, text));
	}
	failing = "bells";
	nr_samples = 0;
	assert_int_equal(session_create(&options, &session, &the_error), -ENOMEM);
	check_error(ERROR_FAILED, -ENOMEM, "out of memory");
	failing = NULL;
	options.compress = SESSION_COMPRESS_MAX + 1;
	nr_samples = 0;
	assert_int_equal(session_create(&options, &session, &the_error), -EINVAL);
	options.compress = 0;
	errno = ENOMEM;
	assert_int_equal(session_fail_allocation(&the_error), -ENOMEM);
	check_error(ERROR_FAILED, -ENOMEM, "out of memory");
	errno = EMFILE;
	assert_int_equal(session_fail_allocation(&the_error), -EMFILE);
	check_error(ERROR_FAILED, -EMFILE, "Too many open files");
	*calls = '\0';
}

static struct service *live_service(struct session_track *track)
{
	struct service *service = calloc(1, sizeof(*service));

	assert_non_null(service);
	service->socket = strdup("/socket");
	service->track = track;
	service->nr_track = 3;
	return service;
}

static void test_destroy(void **state)
{
	static struct session_track track[3] = {{.exclude = true}};
	static struct instance second = {.number = 2}, first = {.number = 1, .next = &second};
	struct session *session = session_allocate();
	char expected[400];

	(void)state;
	assert_non_null(session);
	(void)snprintf(expected, sizeof(expected), GONE, session->loop.events.epoll);
	session_destroy(NULL);
	assert_called("");
	session_destroy(session);
	assert_called(expected);
	session = session_allocate();
	assert_non_null(session);
	session->instances.list = &first;
	session->channels = calloc(2, sizeof(*session->channels));
	assert_non_null(session->channels);
	session->channels[0].rings = 8;
	session->channels[1].rings = 9;
	session->nr_channels = 1;
	session->nr_all_channels = 2;
	session->loop.signals.fd = 0;
	session->command.watch.fd = 5;
	session->loop.events.epoll = 6;
	session->output.lock = 7;
	session->loop.mask_is_ours = true;
	session->files.old_number = (struct rlimit){30, 40};
	session->files.old_size = (struct rlimit){50, 60};
	session->command.name = strdup("name");
	session->spawn.environment = calloc(2, sizeof(char *));
	assert_non_null(session->spawn.environment);
	session->spawn.environment[0] = strdup("A=1");
	session->spawn.nr_environment = 1;
	session->service = live_service(track);
	session_free_service(session);
	assert_called("free_track(1,3) adopt_forget ");
	assert_null(session->service);
	session_free_service(session);
	assert_called("");
	session->service = live_service(track);
	session_destroy(session);
	assert_called("drain_stop bells_destroy connections listener_close trace(1) instance(1) trace(2) instance(2) "
		      "buffers_close place_close close(0) close(5) close(6) reports channel(8) channel(9) rotate_free "
		      "trigger_free probes_free free_track(1,3) adopt_forget close(7) refusals_free mask(2) action(17,0,0) "
		      "limit(7,30,40) limit(1,50,60) action(25,0,0) ");
	session = session_allocate();
	assert_non_null(session);
	session->loop.mask_is_ours = session->wait_all = true;
	session_destroy(session);
	assert_non_null(strstr(calls, "refusals_free prctl(36,0) mask(2) action(17,0,0) "));
	*calls = '\0';
}

/* ---- options ---- */

static void end_environment(struct session *session)
{
	for (size_t i = 0; i < session->spawn.nr_environment; i++)
		free(session->spawn.environment[i]);
	free(session->spawn.environment);
	*session = (struct session){.loop.events.epoll = -1};
}

static void test_options(void **state)
{
	const char *list[] = {"A=1", "B="}, *wrong[] = {"A=1", "=B"}, *none[] = {"AB"};
	struct session session = {.loop.events.epoll = -1};
	struct session_options options = {.nr_environment = 2};

	(void)state;
	options.environment = (void *)list;
	assert_int_equal(take_environment(&session, &options, &the_error), 0);
	assert_true(session.spawn.nr_environment == 2 &&
			!strcmp(session.spawn.environment[0], "A=1") &&
			!strcmp(session.spawn.environment[1], "B=") &&
			!session.spawn.environment[2]);
	end_environment(&session);
	lacks_memory = true;
	assert_int_equal(take_environment(&session, &options, &the_error), -ENOMEM);
	check_error(ERROR_FAILED, -ENOMEM, "out of memory");
	end_environment(&session);
	lacks_memory = false;
	options.environment = (void *)wrong;
	assert_int_equal(take_environment(&session, &options, &the_error), -EINVAL);
	check_error(ERROR_USAGE, -EINVAL, "\"=B\" is not of the form NAME=VALUE");
	end_environment(&session);
	options.environment = (void *)none;
	options.nr_environment = 1;
	assert_int_equal(take_environment(&session, &options, &the_error), -EINVAL);
	check_error(ERROR_USAGE, -EINVAL, "\"AB\" is not of the form NAME=VALUE");
	end_environment(&session);
	for (int level = -1; level <= SESSION_COMPRESS_MAX + 1; level++) {
		bool is_good = level >= 0 && level <= SESSION_COMPRESS_MAX;
		char text[80];

		options.compress = level;
		options.format = level % 2 ? SESSION_FORMAT_CTF2 : SESSION_FORMAT_CTF1;
		assert_int_equal(session_take_format(&session, &options, &the_error),
				is_good ? 0 : -EINVAL);
		assert_true(session.output.compress == level &&
				session.output.format == (level % 2 ? CTF_FORMAT_2 : CTF_FORMAT_1));
		if (is_good)
			continue;
		(void)snprintf(text, sizeof(text),
				"unknown compression level %d: levels are 1 to %d", level,
				SESSION_COMPRESS_MAX);
		check_error(ERROR_USAGE, -EINVAL, text);
	}
}

/* ---- the clock ---- */

static void test_clock(void **state)
{
	struct session session = {.loop.events.epoll = -1};
	struct ctf_clock clock = {.offset = 1};

	(void)state;
	assert_int_equal(session_begin_clock(&session, &the_error), 0);
	assert_true(session.clock.first.offset == 500000000 && session.clock.first.offset_s == 50 &&
			session.clock.first.frequency == 1000000000 &&
			session.clock.first.absolute && session.clock.first.precision == 1);
	/* A difference within the limit, in both directions. */
	for (int i = 0; i < 2; i++) {
		clock_difference = i ? -LIMIT_CLOCK_ERROR_NS : LIMIT_CLOCK_ERROR_NS;
		assert_int_equal(session_refined_clock(&session, &clock), -ENODATA);
	}
	assert_int_equal(clock.offset, 1);
	for (int i = 0; i < 2; i++) {
		session.clock.is_corrected = false;
		clock_difference = i ? LIMIT_CLOCK_ERROR_NS + 1 : -LIMIT_CLOCK_ERROR_NS - 1;
		session.clock.is_inherited = true;
		assert_int_equal(session_refined_clock(&session, &clock), -ENODATA);
		session.clock.is_inherited = false;
		failing = i ? "sample" : "calibrate";
		assert_int_equal(session_refined_clock(&session, &clock), -ENODATA);
		failing = NULL;
		assert_int_equal(session_refined_clock(&session, &clock), 0);
		assert_true(clock.offset == (uint64_t)(500000000 + clock_difference) &&
				session.clock.is_corrected);
	}
	/* The corrected clock is kept, and later measurements are compared with it. */
	clock_difference += LIMIT_CLOCK_ERROR_NS;
	assert_int_equal(session_refined_clock(&session, &clock), 0);
	assert_int_equal(clock.offset, 500000000 + LIMIT_CLOCK_ERROR_NS + 1);
	clock_difference++;
	assert_int_equal(session_refined_clock(&session, &clock), 0);
	assert_int_equal(clock.offset, 500000000 + 2 * LIMIT_CLOCK_ERROR_NS + 2);
	assert_int_equal(session_clock(&session, &clock), RING_CLOCK_MONOTONIC);
	assert_int_equal(clock.offset, 500000000);
	session.clock.has_final = true;
	session.clock.final.offset = 77;
	assert_int_equal(session_clock(&session, &clock), RING_CLOCK_MONOTONIC);
	assert_int_equal(clock.offset, 77);
	*calls = '\0';
}

/* ---- limits ---- */

static void test_files(void **state)
{
	/* With 3 processors, at most 28 rings of a channel count as in use. */
	struct channel channels[3] = {{.rings = 27}, {.rings = 29}, {.rings = 1000}};
	struct session session = {.channels = channels, .nr_channels = 2};

	(void)state;
	assert_int_equal(rings_in_use(&session), 27 + 28 + 2);
	session.nr_channels = 3;
	assert_int_equal(rings_in_use(&session), 27 + 28 + 28 + 3);
	files_limit = (struct rlimit){10, 100000};
	session_raise_files(&session);
	assert_called("limit(7,100000,100000) action(25,1,1) limit(1,5000,5000) ");
	assert_true(session.files.old_number.rlim_cur == 10 &&
			session.files.old_number.rlim_max == 100000 &&
			session.files.old_size.rlim_cur == 200 &&
			session.files.old_size.rlim_max == 5000);
	has_no_limits = true;
	session_raise_files(&session);
	assert_called("limit(7,1024,1024) action(25,1,1) limit(1,-1,-1) ");
	assert_true(session.files.max_ended == 256 && session.instances.max_live == 16);
}

/* ---- the summary ---- */

static void progress(void *user, uint64_t bytes, size_t processes, uint64_t lost)
{
	(void)user;
	(void)bytes;
	(void)processes;
	(void)lost;
}

static void test_summary(void **state)
{
	struct side_event_description descriptions[2];
	struct visit_owned owned[2] = {{.desc = &descriptions[0]}, {.desc = &descriptions[1]}};
	struct event_class classes[2] = {{.owned = &owned[0]}, {.owned = &owned[1]}};
	struct instance_channel channels[3] = {
			{.geometry.size = 64}, {.geometry.size = 256}, {.geometry.size = 128}};
	struct instance second = {.number = 2,
					.nr_names = 91,
					.bytes = 10,
					.recorded = 20,
					.overwritten = 30},
			first = {.next = &second,
					.directory = (char *)(uintptr_t) "dir",
					.procname = (char *)(uintptr_t) "proc",
					.exe = (char *)(uintptr_t) "exe",
					.pid = 71,
					.parent = 72,
					.classes = classes,
					.nr_classes = 2,
					.nr_names = 92,
					.bytes = 73,
					.recorded = 74,
					.lost = 75,
					.overwritten = 76,
					.nr_streams = 77,
					.channels = channels,
					.nr_channels = 3};
	struct session_loss losses[3] = {
			{.count = 3}, {.count = 5, .in_bytes = true}, {.count = 7}};
	struct session session = {.instances.list = &first,
			.instances.nr = 2,
			.reports.losses = losses,
			.reports.nr_losses = 3,
			.reports.losses_remainder = 100,
			.refusals.nr_processes = 61,
			.memory.peak = 62,
			.snapshots.nr = 63,
			.loop.interrupted = true,
			.reports.failure = ERROR_PERMISSION};
	const struct session_summary *summary;

	(void)state;
	session.command.status = 65;
	session.snapshots.first_recorded = 66;
	session.snapshots.last_recorded = 67;
	session.retention.made = 68;
	session.retention.removed = 69;
	session.retention.removed_bytes = 70;
	session.full.times = 80;
	for (int round = 0; round < 2; round++) {
		summary = session_summary(&session);
		assert_int_equal(nr_locked, 0);
		assert_true(summary->nr_processes == 2 && summary->bytes == 83 &&
				summary->recorded == 94 && summary->overwritten == 106 &&
				summary->lost == 110 && summary->unwritten == 5);
	}
	assert_true(summary->status == 65 && summary->interrupted && summary->nr_refused == 61 &&
			summary->memory_peak == 62 && summary->snapshots == 63 &&
			summary->snapshot_first_recorded == 66 &&
			summary->snapshot_last_recorded == 67 && summary->chunks == 68 &&
			summary->chunks_removed == 69 && summary->chunks_removed_bytes == 70 &&
			summary->disk_full == 80 && summary->losses == losses &&
			summary->nr_losses == 3 && summary->failure == ERROR_PERMISSION);
	assert_string_equal(summary->processes[0].directory, "dir");
	assert_string_equal(summary->processes[0].procname, "proc");
	assert_string_equal(summary->processes[0].exe, "exe");
	assert_true(summary->processes[0].pid == 71 && summary->processes[0].parent == 72 &&
			summary->processes[0].events == 2 && summary->processes[0].bytes == 73 &&
			summary->processes[0].recorded == 74 && summary->processes[0].lost == 75 &&
			summary->processes[0].overwritten == 76 &&
			summary->processes[0].rings == 77 &&
			summary->processes[0].ring_size == 256);
	assert_string_equal(summary->processes[1].directory, "");
	assert_true(summary->processes[1].events == 91 && !summary->processes[1].ring_size);
	assert_int_equal(session_nr_events(&session, 0), 2);
	assert_int_equal(session_nr_events(&session, 1), 0);
	assert_int_equal(session_nr_events(&session, 2), 0);
	assert_ptr_equal(session_event(&session, 0, 0), &descriptions[0]);
	assert_ptr_equal(session_event(&session, 0, 1), &descriptions[1]);
	assert_null(session_event(&session, 0, 2));
	assert_null(session_event(&session, 1, 0));
	assert_null(session_event(&session, 2, 0));
	free(session.processes);
	session_on_progress(&session, progress, &session);
	assert_true(session.loop.progress == progress && session.loop.progress_user == &session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup(test_create, begin),
			cmocka_unit_test_setup(test_destroy, begin),
			cmocka_unit_test_setup(test_options, begin),
			cmocka_unit_test_setup(test_clock, begin),
			cmocka_unit_test_setup(test_files, begin),
			cmocka_unit_test_setup(test_summary, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
