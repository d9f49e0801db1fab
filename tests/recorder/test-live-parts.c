/* SPDX-License-Identifier: MIT */
/*
 * Sessions without a command: the steps of their start and end, and changes and requests in
 * between. The test includes live.c, and plays the other parts of a session.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../called.h"
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
#include "ring/ring.h"

static const char *failing; /* the step that fails, or NULL */
static struct error the_error;
static struct session *current;
static bool lacks_session, lacks_service;
static uint64_t place_before, now_ms;
static int nr_locked;
static int nr_turns; /* turns with events; later ones have none */
static int turn_result;
static int nr_waits, wait_result; /* of the drain thread: the first waits time out */
static struct instance *finished;
static const char *output_before;
static bool is_adopted;

static int step(const char *name, struct error *error)
{
	called("%s ", name);
	if (!failing || strcmp(failing, name) != 0)
		return 0;
	return error ? error_set(error, -EIO, NULL, "no %s", name) : -EIO;
}

static struct session *played_allocate(void)
{
	struct session *session = lacks_session ? NULL : calloc(1, sizeof(*session));

	called("allocate ");
	if (session)
		session->loop.events.epoll = 41;
	current = session;
	return session;
}

static void played_destroy(struct session *session)
{
	called("destroy(%d) ", session->service != NULL);
	if (session->service)
		free(session->service->socket);
	free(session->service);
	free(session->buffers.path);
	free(session);
	current = NULL;
}

static void *played_calloc(size_t nr, size_t size)
{
	return lacks_service ? NULL : calloc(nr, size);
}

static int played_track(const struct session_track *track, size_t nr, struct session_track **copy,
		struct error *error)
{
	called("track(%zu) ", nr);
	*copy = NULL;
	if (step("tracks", error))
		return -EIO;
	*copy = (struct session_track *)(uintptr_t)track;
	return 0;
}

static void played_free_track(const struct session_track *track, size_t nr)
{
	called("free_track(%d,%zu) ", track ? track[0].exclude : -1, nr);
}

static int played_place(const char *state_dir, uid_t owner, struct error *error)
{
	called("place(%s,%u) ", state_dir, owner);
	if (step("place", error))
		return -EIO;
	current->state_dir = (struct state_directory *)(void *)current;
	current->buffers.path = strdup(state_dir);
	return 0;
}

static int played_output(const char *output, bool force, struct error *error)
{
	called("output(%s,%d) ", output ? output : "none", force);
	return step("output", error);
}

static int played_listener(const char *path, struct error *error)
{
	called("listen(%s) ", path);
	return step("listener", error);
}

static int played_save(uint64_t generation)
{
	called("save(%llu) ", (unsigned long long)generation);
	return failing && !strcmp(failing, "save") ? -EROFS : 0;
}

static int played_channels(size_t nr, struct error *error)
{
	called("channels(%zu) ", nr);
	return step("change", error);
}

__attribute__((format(printf, 2, 3))) static void played_report(
		bool is_error, const char *format, ...)
{
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("report(%d, %s) ", is_error, text);
}

static int played_turn(int timeout_ms)
{
	called("turn(%d) ", timeout_ms);
	now_ms += 10;
	if (turn_result)
		return turn_result;
	return nr_turns-- > 0 ? 2 : 0;
}

static int played_wait(uint32_t round, unsigned int timeout_ms)
{
	assert_true(round == 31 && timeout_ms == 10);
	called("wait ");
	return nr_waits-- > 0 ? -ETIMEDOUT : wait_result;
}

static struct instance *played_finished(void)
{
	struct instance *instance = finished;

	finished = NULL;
	return instance;
}

static void played_free_instance(struct instance *instance)
{
	called("free(%u) ", instance->number);
	instance->next = NULL;
}

static bool settles_badly;

static int settled(void *user)
{
	assert_ptr_equal(user, &the_error);
	called("settled ");
	return settles_badly ? -EPERM : 0;
}

#define calloc(nr, size) played_calloc(nr, size)
#define geteuid() 6
#define session_allocate() played_allocate()
#define session_destroy(session) played_destroy(session)
#define session_fail_allocation(error) error_set(error, -ENOMEM, NULL, "no memory")
#define track_take(track, nr, copy, error) played_track(track, nr, copy, error)
#define track_free(track, nr) played_free_track(track, nr)
#define session_begin_clock(session, error) ((void)(session), step("clock", error))
#define channels_take(session, options, error) \
	((void)(session), (void)(options), step("channels", error))
#define trigger_take(session, options, error) \
	((void)(session), (void)(options), step("trigger", error))
#define probes_take(session, options, error) \
	((void)(session), (void)(options), step("probes", error))
#define session_take_format(session, options, error) \
	((void)(session), (void)(options), step("format", error))
#define rotate_take(session, options, error) \
	((void)(session), (void)(options), step("rotate", error))
#define memory_check(session, options, error) \
	((void)(session), (void)(options), step("memory", error))
#define state_directory_output(session) ((void)(session), output_before)
#define state_directory_is_adopted(session) ((void)(session), is_adopted)
#define state_directory_generation(session) ((void)(session), place_before)
#define state_directory_save(session, generation) ((void)(session), played_save(generation))
#define state_directory_open_session(session, state_dir, owner, error) \
	((void)(session), played_place(state_dir, owner, error))
#define state_directory_remove(session) ((void)(session), called("place_remove "))
#define output_create(session, output, force, error) \
	((void)(session), played_output(output, force, error))
#define output_lock(session) ((void)(session), called("lock_output "))
#define session_raise_files(session) ((void)(session), called("files "))
#define session_open_shares(session, error) ((void)(session), step("shares", error))
#define session_open_bells(session, error) ((void)(session), step("bells", error))
#define buffers_open(session, options, error) \
	((void)(session), (void)(options), step("buffers", error))
#define listener_open_at(session, path, error) ((void)(session), played_listener(path, error))
#define listener_close(session) ((void)(session), called("listener_close "))
#define connections_close(session) ((void)(session), called("connections_close "))
#define connections_forget(session, instance) \
	((void)(session), called("forget(%u) ", (instance)->number))
#define totals_read(session) ((void)(session), called("totals "))
#define adopt_all(session, error) ((void)(session), step("adopt", error))
#define adopt_new(session, all) ((void)(session), called("adopt_new(%d) ", all))
#define drain_start(session) ((void)(session), step("drain", NULL))
#define drain_stop(session) ((void)(session), called("drain_stop "))
#define drain_ask(session) ((void)(session), called("ask "), 31)
#define drain_wait(session, round, timeout_ms) ((void)(session), played_wait(round, timeout_ms))
#define drain_snapshot(session) ((void)(session), called("snapshot "))
#define drain_begin_snapshot(session) ((void)(session), called("begin "))
#define instances_take_finished(session) ((void)(session), played_finished())
#define instance_free(session, instance) ((void)(session), played_free_instance(instance))
#define run_turn(session, timeout_ms) ((void)(session), played_turn(timeout_ms))
#define channels_change(session, channels, nr, error) \
	((void)(session), (void)(channels), played_channels(nr, error))
#define probes_change(session, changed) ((void)(session), called("probes(%d) ", changed))
#define wire_deadline(ms) (now_ms + (ms))
#define report(session, is_error, ...) ((void)(session), played_report(is_error, __VA_ARGS__))
#define report_suppressed(session, ends) ((void)(session), called("suppressed(%d) ", ends))
#define pthread_mutex_lock(mutex) ((void)(mutex), nr_locked++)
#define pthread_mutex_unlock(mutex) ((void)(mutex), nr_locked--)
#include "recorder/live.c"
#undef calloc

static struct service service;
static struct session session_of_test;

static int begin(void **state)
{
	(void)state;
	service = (struct service){.generation = 7};
	session_of_test = (struct session){.service = &service, .loop.events.epoll = 41};
	session_of_test.buffers.path = (char *)(uintptr_t) "/place";
	the_error = (struct error){.kind = ERROR_USAGE};
	failing = output_before = NULL;
	lacks_session = lacks_service = settles_badly = is_adopted = false;
	place_before = 0;
	now_ms = 1000;
	nr_turns = turn_result = nr_waits = wait_result = 0;
	finished = NULL;
	*calls = '\0';
	return 0;
}

static int end_test(void **state)
{
	(void)state;
	assert_int_equal(nr_locked, 0);
	return 0;
}

static void check_error(enum error_kind kind, int code, const char *text)
{
	assert_string_equal(the_error.text, text);
	assert_int_equal(the_error.kind, kind);
	assert_int_equal(the_error.code, code);
}

/* ---- opening ---- */

#define TAKEN "allocate clock track(3) tracks channels trigger probes format rotate memory "
#define OPENED TAKEN "files shares bells place(/p,6) place listen(/s) listener "

static const struct session_track tracks[3] = {{.exclude = true}};

static int open_live(struct session_live *live, struct session_options *options)
{
	struct session *result = (struct session *)(void *)&service;
	int ret = session_open(options, live, &result, &the_error);

	assert_ptr_equal(result, ret ? NULL : current);
	if (ret)
		assert_null(current);
	return ret;
}

static void test_open(void **state)
{
	struct session_rounds *rounds = (struct session_rounds *)(uintptr_t)16;
	struct session_options options = {.mode = SESSION_RECORD, .rounds = rounds, .force = true};
	struct session_live live = {.socket = "/s",
			.state_dir = "/p",
			.owner = 9,
			.user = &the_error,
			.active = true,
			.any_user = true,
			.leave = true,
			.only = 55,
			.generation = 12,
			.track = tracks,
			.nr_track = 3};

	(void)state;
	place_before = 12;
	output_before = "/before";
	assert_int_equal(open_live(&live, &options), 0);
	assert_called(OPENED "output(/before,1) output lock_output save(13) totals adopt drain ");
	assert_int_equal(the_error.kind, ERROR_NONE);
	assert_true(current->service->generation == 13 && current->service->statedump == 13 &&
			current->service->active && current->service->any_user &&
			current->service->leave && current->service->only == 55 &&
			!current->service->is_owned && !current->service->boot &&
			current->service->owner == 9 && current->service->nr_track == 3 &&
			current->service->track == tracks && current->drain.rounds == rounds &&
			current->mode == SESSION_RECORD);
	assert_int_equal(session_fd(current), 41);
	played_destroy(current);
	/* Owned by another user, and not adopted. The first generation is 1. */
	live.settled = settled;
	live.generation = 0;
	live.active = live.any_user = live.leave = false;
	live.boot = true;
	options.output = "/own";
	options.force = false;
	place_before = 0;
	*calls = '\0';
	assert_int_equal(open_live(&live, &options), 0);
	assert_called(TAKEN "files shares bells place(/p,9) place listen(/s) listener settled "
			    "output(/own,0) output lock_output save(1) totals adopt drain ");
	assert_true(current->service->generation == 1 && !current->service->statedump &&
			!current->service->active && current->service->is_owned &&
			current->service->boot && !current->service->any_user &&
			!current->service->leave);
	played_destroy(current);
	/* Without a state directory. */
	live.state_dir = NULL;
	live.settled = NULL;
	live.active = true;
	is_adopted = true;
	*calls = '\0';
	assert_int_equal(open_live(&live, &options), 0);
	assert_called(TAKEN "files shares bells buffers listen(/s) listener output(/own,1) output "
			    "lock_output drain ");
	assert_int_equal(current->service->statedump, 1);
	played_destroy(current);
}

static void test_no_open(void **state)
{
	static const char *const steps[] = {"clock", "tracks", "channels", "trigger", "probes",
			"format", "rotate", "memory", "shares", "bells", "place", "listener",
			"output", "adopt"};
	struct session_options options = {.mode = SESSION_RECORD};
	struct session_live live = {.socket = "/s", .state_dir = "/p", .user = &the_error};
	char text[32], last[40];

	(void)state;
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		failing = steps[i];
		assert_int_equal(open_live(&live, &options), -EIO);
		(void)snprintf(text, sizeof(text), "no %s", steps[i]);
		check_error(ERROR_FAILED, -EIO, text);
		/* No later step is executed. */
		(void)snprintf(last, sizeof(last), "%s destroy(1) ", steps[i]);
		assert_true(strlen(calls) > strlen(last));
		assert_string_equal(calls + strlen(calls) - strlen(last), last);
		*calls = '\0';
	}
	failing = "drain";
	assert_int_equal(open_live(&live, &options), -EIO);
	check_error(ERROR_FAILED, -EIO,
			"cannot start a thread to write the traces: Input/output error");
	failing = "save";
	assert_int_equal(open_live(&live, &options), -EROFS);
	check_error(ERROR_PERMISSION, -EROFS,
			"cannot store a session in /p: Read-only file system");
	live.state_dir = NULL;
	failing = "buffers";
	assert_int_equal(open_live(&live, &options), -EIO);
	check_error(ERROR_FAILED, -EIO, "no buffers");
	failing = NULL;
	live.settled = settled;
	live.owner = 77;
	settles_badly = true;
	assert_int_equal(open_live(&live, &options), -EPERM);
	check_error(ERROR_PERMISSION, -EPERM,
			"cannot record as user 77: the daemon has no permission to become that user");
	*calls = '\0';
	live.socket = NULL;
	assert_int_equal(open_live(&live, &options), -EINVAL);
	check_error(ERROR_USAGE, -EINVAL,
			"a session without a command needs a socket, and must record");
	live.socket = "/s";
	options.mode = SESSION_LIST;
	assert_int_equal(open_live(&live, &options), -EINVAL);
	check_error(ERROR_USAGE, -EINVAL,
			"a session without a command needs a socket, and must record");
	assert_called("allocate destroy(1) allocate destroy(1) ");
	lacks_service = true;
	assert_int_equal(open_live(&live, &options), -ENOMEM);
	check_error(ERROR_FAILED, -ENOMEM, "no memory");
	assert_called("allocate destroy(0) ");
	lacks_session = true;
	assert_int_equal(open_live(&live, &options), -ENOMEM);
	assert_called("allocate ");
}

/* ---- turns, changes and requests ---- */

static void test_turn(void **state)
{
	struct instance second = {.number = 4}, first = {.number = 3, .next = &second};

	(void)state;
	finished = &first;
	nr_turns = 1;
	assert_int_equal(session_turn(&session_of_test, 17, &the_error), 0);
	assert_int_equal(the_error.kind, ERROR_NONE);
	assert_called("turn(17) adopt_new(0) forget(3) free(3) forget(4) free(4) ");
	turn_result = -EACCES;
	assert_int_equal(session_turn(&session_of_test, 0, &the_error), -EACCES);
	check_error(ERROR_PERMISSION, -EACCES, "cannot continue the recording: Permission denied");
	assert_called("turn(0) adopt_new(0) ");
}

static void test_change(void **state)
{
	static const struct session_track other[2] = {{.exclude = false}};
	uint64_t generation = 0;

	(void)state;
	service.track = (struct session_track *)(uintptr_t)tracks;
	service.nr_track = 3;
	assert_int_equal(session_generation(&session_of_test), 7);
	assert_int_equal(session_change(&session_of_test, NULL, 5, true, other, 2, &generation,
					 &the_error),
			0);
	assert_called("track(2) tracks channels(5) change probes(1) free_track(1,3) save(8) ");
	assert_true(generation == 8 && service.generation == 8 && service.statedump == 8 &&
			service.track == other && service.nr_track == 2);
	assert_true(session_is_active(&session_of_test));
	assert_int_equal(the_error.kind, ERROR_NONE);
	/* It was active before: no state dump. */
	assert_int_equal(session_change(&session_of_test, NULL, 5, true, other, 2, &generation,
					 &the_error),
			0);
	assert_true(generation == 9 && service.statedump == 8);
	assert_int_equal(session_change(&session_of_test, NULL, 5, false, other, 2, &generation,
					 &the_error),
			0);
	assert_true(generation == 10 && service.statedump == 8);
	assert_false(session_is_active(&session_of_test));
	*calls = '\0';
	failing = "change";
	assert_int_equal(session_change(&session_of_test, NULL, 6, true, tracks, 3, &generation,
					 &the_error),
			-EIO);
	assert_called("track(3) tracks channels(6) change free_track(1,3) probes(0) ");
	failing = "tracks";
	assert_int_equal(session_change(&session_of_test, NULL, 6, true, tracks, 3, &generation,
					 &the_error),
			-EIO);
	assert_called("track(3) tracks probes(0) ");
	assert_true(generation == 10 && service.generation == 10 && !service.active &&
			service.track == other);
	failing = "save";
	assert_int_equal(session_statedump(&session_of_test), 11);
	assert_called("save(11) report(1, cannot write the generation of the rules to /place: Read-only file system) ");
	assert_int_equal(service.statedump, 11);
	failing = NULL;
	assert_int_equal(session_statedump(&session_of_test), 12);
	assert_called("save(12) ");
}

static void test_requests(void **state)
{
	struct channel channels[2] = {{.mode = RING_MODE_OVERWRITE}, {.mode = RING_MODE_DISCARD}};
	char name[SESSION_SNAPSHOT_NAME_MAX];
	uint64_t recorded = 0, generation = 0;
	uint32_t number = 0;

	(void)state;
	wait_result = -EIO;
	assert_int_equal(session_flush(&session_of_test, 100), -EIO);
	assert_called("adopt_new(1) ask wait ");
	wait_result = 0;
	nr_waits = 2;
	assert_int_equal(session_flush(&session_of_test, 100), 0);
	assert_called("adopt_new(1) ask wait turn(0) wait turn(0) wait ");
	/* Each turn takes 10 ms here. */
	nr_waits = 100;
	assert_int_equal(session_flush(&session_of_test, 30), -ETIMEDOUT);
	assert_called("adopt_new(1) ask wait turn(0) wait turn(0) wait turn(0) ");
	nr_waits = 0;
	session_of_test.channels = channels;
	assert_int_equal(
			session_snapshot(&session_of_test, 100, &number, name, &recorded), -EINVAL);
	assert_called("");
	session_of_test.nr_channels = 2;
	session_of_test.snapshots.nr = 41;
	strcpy(session_of_test.snapshots.last, "last");
	session_of_test.snapshots.last_recorded = 42;
	assert_int_equal(session_snapshot(&session_of_test, 100, &number, name, &recorded), 0);
	assert_called("snapshot ask wait ");
	assert_true(number == 41 && recorded == 42 && !strcmp(name, "last"));
	assert_int_equal(session_begin_snapshot(&session_of_test, 100, &generation), 0);
	assert_true(generation == service.generation && service.statedump == generation);
	*calls = '\0';
	channels[0].mode = RING_MODE_DISCARD;
	assert_int_equal(session_begin_snapshot(&session_of_test, 100, &generation), -EINVAL);
	assert_int_equal(
			session_snapshot(&session_of_test, 100, &number, name, &recorded), -EINVAL);
	channels[1].mode = RING_MODE_OVERWRITE;
	session_of_test.nr_channels = 1;
	assert_int_equal(
			session_snapshot(&session_of_test, 100, &number, name, &recorded), -EINVAL);
	assert_called("");
	session_of_test.nr_channels = 2;
	wait_result = -EROFS;
	assert_int_equal(session_snapshot(&session_of_test, 100, &number, name, &recorded), -EROFS);
	session_of_test.snapshots.error = -ENOSPC;
	assert_int_equal(session_snapshot_error(&session_of_test), -ENOSPC);
	*calls = '\0';
}

static void test_messages(void **state)
{
	struct session_message messages[3] = {{.text = (char *)(uintptr_t) "one"},
			{.text = (char *)(uintptr_t) "two", .is_error = true},
			{.text = (char *)(uintptr_t) "three", .is_error = true}};
	struct session_message message = {.text = NULL};

	(void)state;
	session_of_test.reports.messages = messages;
	live_report_failure(&session_of_test, &the_error);
	assert_int_equal(the_error.kind, ERROR_USAGE);
	session_of_test.reports.failure = ERROR_PERMISSION;
	live_report_failure(&session_of_test, &the_error);
	check_error(ERROR_PERMISSION, -EIO, "some of the recording could not be written");
	session_of_test.reports.nr_messages = 1;
	live_report_failure(&session_of_test, &the_error);
	check_error(ERROR_PERMISSION, -EIO, "some of the recording could not be written");
	session_of_test.reports.nr_messages = 3;
	live_report_failure(&session_of_test, &the_error);
	check_error(ERROR_PERMISSION, -EIO, "two");
	assert_true(session_take_message(&session_of_test, &message));
	assert_string_equal(message.text, "one");
	assert_called("suppressed(0) ");
	assert_true(session_take_message(&session_of_test, &message));
	assert_string_equal(message.text, "two");
	assert_true(session_take_message(&session_of_test, &message));
	assert_string_equal(message.text, "three");
	assert_false(session_take_message(&session_of_test, &message));
	assert_int_equal(session_of_test.reports.nr_messages, 0);
	*calls = '\0';
}

/* ---- the end ---- */

static struct session *opened(void)
{
	current = calloc(1, sizeof(*current));
	assert_non_null(current);
	current->service = calloc(1, sizeof(*current->service));
	assert_non_null(current->service);
	return current;
}

#define CLOSED "listener_close connections_close "

static void test_end(void **state)
{
	struct instance live = {.number = 1};
	unsigned int turns = 0;

	(void)state;
	session_close(NULL, true, &the_error);
	assert_int_equal(the_error.kind, ERROR_NONE);
	assert_called("");
	nr_turns = 1;
	session_close(opened(), true, &the_error);
	assert_called("turn(0) turn(0) " CLOSED "adopt_new(1) drain_stop place_remove destroy(1) ");
	session_close(opened(), false, &the_error);
	assert_called(CLOSED "drain_stop destroy(1) ");
	/* The session was finished before. */
	opened();
	session_finish(current);
	assert_called("turn(0) " CLOSED "adopt_new(1) drain_stop ");
	assert_true(current->service->over && !current->service->keep);
	current->reports.failure = ERROR_FAILED;
	session_close(current, false, &the_error);
	assert_called("place_remove destroy(1) ");
	check_error(ERROR_FAILED, -EIO, "some of the recording could not be written");
	/* Running programs keep the state directory. */
	for (int i = 0; i < 3; i++) {
		opened();
		current->service->leave = i != 1;
		current->instances.live = i == 2 ? NULL : &live;
		session_close(current, true, &the_error);
		assert_int_equal(the_error.kind, ERROR_NONE);
		assert_called(i ? "turn(0) " CLOSED
				  "adopt_new(1) drain_stop place_remove destroy(1) "
				: "turn(0) " CLOSED "adopt_new(1) drain_stop destroy(1) ");
	}
	/* At most 64 turns. */
	nr_turns = 1000;
	session_close(opened(), true, &the_error);
	for (const char *at = calls; (at = strstr(at, "turn(0)")) != NULL; at++)
		turns++;
	assert_int_equal(turns, 64);
	*calls = '\0';
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_open),
			TEST(test_no_open),
			TEST(test_turn),
			TEST(test_change),
			TEST(test_requests),
			TEST(test_messages),
			TEST(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
