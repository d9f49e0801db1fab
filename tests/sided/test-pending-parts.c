/* SPDX-License-Identifier: MIT */
/*
 * Pending probes: which program waits for them, how many are resolved at once, and which failures
 * are remembered. The test includes pending.c, and plays the loop, the log and side-more.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "played-loop.h"
#include "sessions/client.h"

static unsigned int nr_continued;
static bool prints, finishes;

static const char *loop_name(const struct sided_watch *watch)
{
	(void)watch;
	return "side-more";
}

void log_about(struct daemon *daemon, uid_t uid, const char *format, ...)
{
	char text[600];
	va_list arguments;

	(void)daemon;
	assert_int_equal(uid, 5);
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("log(%s) ", text);
}

static uint64_t now_ns = 1;

uint64_t loop_now(void)
{
	return now_ns;
}

void worker_continue_load(struct daemon *daemon, struct session_entry *of, uint64_t serial)
{
	(void)daemon;
	(void)of;
	called("continue(%llu) ", (unsigned long long)serial);
}

void agents_continue(struct daemon *daemon)
{
	(void)daemon;
	nr_continued++;
}

/* In the child: side-more fails with a message, or does not end. */
static int played_execv(const char *path, char *const *args)
{
	static const char message[] = "side: no such function\nhint: none\n";

	if (!strstr(path, "side-more") || strcmp(args[0], CONTROL_SET_PENDING) != 0 ||
			strcmp(args[3], "s") != 0)
		_exit(2);
	if (prints)
		(void)!write(STDERR_FILENO, message, sizeof(message) - 1);
	if (finishes)
		_exit(1);
	pause();
	_exit(3);
}

#define execv(path, args) played_execv(path, args)
#include "programs/sided/pending.c" /* NOLINT(bugprone-suspicious-include): plays side-more */
#undef execv

static struct daemon daemon_of_test;
static char own[PATH_MAX], name[] = "s", other[] = "/other";
static char event_name[] = "probe:e", *event_names[] = {event_name};
static struct definition_probe probes[LIMIT_RESOLUTIONS + 2];
static struct definition definition = {.name = name, .probes = probes};
static struct session_entry entry = {
		.definition = &definition, .state = SESSION_LIVE, .active = true, .uid = 5};
static struct sided_program program;

static void entry_destroy(struct daemon *daemon, struct sided_object *object)
{
	(void)daemon;
	(void)object;
}

static void begin(void)
{
	ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

	assert_true(size > 0);
	own[size] = '\0';
	memset(probes, 0, sizeof(probes));
	probes[0] = (struct definition_probe){.events = {event_names, 1}, .target.exe = other};
	probes[1] = (struct definition_probe){.events = {event_names, 1}, .target.exe = own};
	definition.nr_probes = 2;
	program = (struct sided_program){.pid = getpid(), .uid = 5, .exe = own};
	daemon_of_test.group = (gid_t)-1;
	daemon_of_test.sessions = &entry;
	object_init(&entry.object, entry_destroy);
	prints = finishes = true;
	nr_continued = 0;
}

static void end(void)
{
	pending_close(&daemon_of_test);
	assert_int_equal(daemon_of_test.nr_resolutions, 0);
	while (waitpid(-1, NULL, 0) > 0)
		;
	objects_free_unused(&daemon_of_test);
	assert_int_equal(entry.object.nr_refs, 1);
	*calls = '\0';
}

/* Waits for the end of the newest process. */
static void finish(void)
{
	struct sided_watch *watch = &daemon_of_test.resolutions->watch;
	struct pollfd polled = {.fd = watch->fd, .events = POLLIN};

	assert_int_equal(poll(&polled, 1, -1), 1);
	watch->ready(&daemon_of_test, watch, EPOLLIN);
}

/* Only a program that executes the file waits, and only for an active session that records it. */
static void test_programs(void **state)
{
	(void)state;
	begin();
	program.exe = NULL;
	assert_false(pending_begin(&daemon_of_test, &program));
	program.exe = other; /* the program reports another file than it executes */
	assert_false(pending_begin(&daemon_of_test, &program));
	program.exe = own;
	program.pid = INT_MAX;
	assert_false(pending_begin(&daemon_of_test, &program));
	program.pid = getpid();
	entry.active = false;
	assert_false(pending_begin(&daemon_of_test, &program));
	entry.active = true;
	entry.state = SESSION_DEFINED;
	assert_false(pending_begin(&daemon_of_test, &program));
	entry.state = SESSION_LIVE;
	daemon_of_test.system = true;
	program.uid = 6;
	assert_false(pending_begin(&daemon_of_test, &program));
	daemon_of_test.system = false;
	probes[1].table = 3;
	assert_false(pending_begin(&daemon_of_test, &program));
	assert_false(daemon_of_test.resolutions);
	end();
}

/* A failure is remembered until the session or the file changes. */
static void test_failure(void **state)
{
	(void)state;
	begin();
	assert_false(pending_delays(&daemon_of_test, &program));
	assert_true(pending_begin(&daemon_of_test, &program));
	assert_true(pending_begin(&daemon_of_test, &program) && daemon_of_test.nr_resolutions == 1);
	assert_true(pending_delays(&daemon_of_test, &program));
	assert_null(pending_failure(&daemon_of_test, &entry, own));
	finish();
	assert_int_equal(nr_continued, 1);
	assert_non_null(strstr(calls, "in session s: no such function) "));
	assert_string_equal(pending_failure(&daemon_of_test, &entry, own), "no such function");
	assert_false(pending_delays(&daemon_of_test, &program));
	assert_false(pending_begin(&daemon_of_test, &program));
	entry.generation++;
	assert_true(pending_begin(&daemon_of_test, &program));
	/* It has set another probe of the file. */
	entry.generation++;
	finish();
	assert_false(daemon_of_test.resolutions);
	assert_true(pending_begin(&daemon_of_test, &program));
	finish();
	assert_false(pending_begin(&daemon_of_test, &program));
	strcat(daemon_of_test.resolutions->file, "1");
	assert_true(pending_begin(&daemon_of_test, &program));
	/* The probe has its table before the process ends. */
	probes[1].table = 1;
	probes[1].file = daemon_of_test.resolutions->file;
	assert_false(pending_delays(&daemon_of_test, &program));
	finish();
	assert_false(daemon_of_test.resolutions);
	end();
}

/* A probe is resolved again if its file has changed, or is executed by another path. */
static void test_files(void **state)
{
	char file[FILE_IDENTITY_SIZE], former[] = "1:2:3:4:5.6";

	(void)state;
	begin();
	assert_true(file_identity_of_process(getpid(), file));
	probes[1].table = 3;
	probes[1].file = file;
	assert_false(pending_begin(&daemon_of_test, &program));
	probes[1].file = former;
	assert_true(pending_begin(&daemon_of_test, &program));
	assert_string_equal(daemon_of_test.resolutions->exe, own);
	probes[1].file = file;
	finish();
	assert_false(daemon_of_test.resolutions);
	/* The first probe is of another path of the file. */
	definition.nr_probes = 1;
	probes[0].table = 4;
	probes[0].file = former;
	assert_false(pending_begin(&daemon_of_test, &program));
	probes[0].file = file;
	assert_true(pending_begin(&daemon_of_test, &program));
	assert_string_equal(daemon_of_test.resolutions->exe, own);
	finish();
	assert_string_equal(pending_failure(&daemon_of_test, &entry, own), "no such function");
	assert_false(pending_begin(&daemon_of_test, &program));
	end();
}

/* Root does not resolve the probes of a member of the group. */
static void test_users(void **state)
{
	(void)state;
	begin();
	assert_ptr_equal(pending_find(&entry, own, ""), &probes[1]);
	probes[2] = probes[3] = probes[1];
	probes[2].target.of_user = true;
	definition.nr_probes = 4;
	assert_ptr_equal(pending_find(&entry, own, ""), &probes[2]);
	/* The group of the user is not known: nothing runs with group 0. */
	daemon_of_test.system = true;
	program.uid = 5;
	assert_true(pending_begin(&daemon_of_test, &program));
	finish();
	assert_string_equal(pending_failure(&daemon_of_test, &entry, own),
			"the process that reads the file has ended");
	daemon_of_test.system = false;
	end();
}

/* A process that does not end is killed. */
static void test_late(void **state)
{
	(void)state;
	begin();
	prints = finishes = false;
	assert_true(pending_begin(&daemon_of_test, &program));
	assert_called("watch(side-more,1) timer(60000) ");
	loop_expire(&daemon_of_test, &daemon_of_test.resolutions->timer);
	finish();
	assert_string_equal(pending_failure(&daemon_of_test, &entry, own),
			"the process that reads the file has ended");
	end();
}

static bool start_other(void)
{
	return pending_run(&daemon_of_test, pending_add(&daemon_of_test, &entry, other, "1", 0),
			&probes[0]);
}

/* Failures make space for other processes; processes that run do not. */
static void test_space(void **state)
{
	(void)state;
	begin();
	for (unsigned int i = 0; i < LIMIT_RESOLUTIONS; i++) {
		finishes = i == 3;
		assert_true(start_other());
		if (finishes)
			finish();
	}
	finishes = false;
	assert_true(pending_begin(&daemon_of_test, &program));
	assert_int_equal(daemon_of_test.nr_resolutions, LIMIT_RESOLUTIONS);
	assert_false(start_other());
	end();
}

static void report_load(const char *path, uint64_t serial)
{
	struct json_object *report = json_object_new_object();

	assert_true(json_put_text(report, "loaded", path) && json_put_number(report, "pid", 7) &&
			json_put_number(report, "serial", serial));
	pending_begin_load(&daemon_of_test, &entry, report);
	json_object_put(report);
}

/* A library is read once for the same probes, unless its file is not known and time has passed. */
static void test_loads(void **state)
{
	static char library[] = "libx";

	(void)state;
	begin();
	probes[1].library = library;
	probes[1].table = 3;
	report_load("/lib/liby.so", 1);
	assert_called("continue(1) ");
	report_load("/no/libx.so", 2);
	finish();
	assert_called("watch(side-more,1) timer(60000) cancel release(side-more) continue(2) ");
	assert_string_equal(pending_load_failure(&daemon_of_test, &entry, &probes[1]),
			"no such function");
	assert_null(pending_load_failure(&daemon_of_test, &entry, &probes[0]));
	assert_null(pending_failure(&daemon_of_test, &entry, "/no/libx.so"));
	report_load("/no/libx.so", 3);
	assert_called("continue(3) ");
	now_ns += LIMIT_LOADED_MS * UINT64_C(1000000);
	prints = false;
	report_load("/no/libx.so", 4);
	finish();
	assert_called("watch(side-more,1) timer(60000) cancel release(side-more) continue(4) ");
	assert_null(pending_load_failure(&daemon_of_test, &entry, &probes[1]));
	probes[1].table = 4;
	report_load("/no/libx.so", 5);
	finish();
	assert_called("watch(side-more,1) timer(60000) cancel release(side-more) continue(5) ");
	assert_int_equal(daemon_of_test.nr_loaded, 1);
	for (unsigned int i = 0; i <= LIMIT_LOADED; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/no/libx-%u.so", i);
		report_load(path, 6);
		finish();
	}
	assert_int_equal(daemon_of_test.nr_loaded, LIMIT_LOADED);
	assert_int_equal(daemon_of_test.nr_resolutions, 0);
	end();
	assert_int_equal(daemon_of_test.nr_loaded, 0);
}

/* A process that cannot be watched is killed. */
static void test_unwatched(void **state)
{
	struct resources before = resources_now();

	(void)state;
	begin();
	failing_watch = "side-more";
	assert_false(pending_begin(&daemon_of_test, &program));
	failing_watch = NULL;
	assert_non_null(strstr(calls, "Too many open files"));
	end();
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_programs),
			cmocka_unit_test(test_failure),
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_users),
			cmocka_unit_test(test_late),
			cmocka_unit_test(test_space),
			cmocka_unit_test(test_loads),
			cmocka_unit_test(test_unwatched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
