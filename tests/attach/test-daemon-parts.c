/* SPDX-License-Identifier: MIT */
/*
 * `side attach --daemon` step by step: the socket by which a program reaches the daemon, how long
 * the command waits until a session has the program, and each message. The test includes the file
 * and replaces the daemon and the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/common/ask.h"
#include "programs/side/attach/attach.h"
#include "programs/common/command.h"
#include "programs/common/message.h"

#include "../check.h"
#include "../resources.h"

static char calls[16384];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(calls);

	va_start(arguments, format);
	(void)vsnprintf(calls + used, sizeof(calls) - used, format, arguments);
	va_end(arguments);
}

static bool called(const char *wanted)
{
	bool is_same = !strcmp(calls, wanted);

	if (!is_same)
		(void)fprintf(stderr, "%s\n", calls);
	*calls = '\0';
	return is_same;
}

/* ---- the daemon ---- */

static const char *rendezvous_path = "", *session_answer = "{}";
static int rendezvous_status, session_status, connect_status, answers_until_live;
static bool is_known;

static int played_connect(struct ask *ask, bool system, bool start)
{
	note("connect%s%s; ", system ? " system" : "", start ? " start" : "");
	ask->client = NULL;
	return connect_status;
}

static void played_close(struct ask *ask)
{
	(void)ask;
	note("close; ");
}

static const char *played_path(const struct control_client *client)
{
	CHECK(!client);
	return "/nowhere/side/control.sock";
}

static int played_call_with(struct ask *ask, struct json_object *request, int fd, int timeout,
		struct json_object **answer)
{
	(void)ask;
	CHECK(timeout == ASK_TIMEOUT_MS);
	note("%s%s; ", json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN),
			fd >= 0 ? " fd" : "");
	json_object_put(request);
	*answer = NULL;
	if (rendezvous_status)
		return rendezvous_status;
	*answer = json_object_new_object();
	json_object_object_add(*answer, "path", json_object_new_string(rendezvous_path));
	json_object_object_add(*answer, "known", json_object_new_boolean(is_known));
	return 0;
}

static int played_call(struct ask *ask, struct json_object *request, int timeout,
		struct json_object **answer)
{
	(void)ask;
	CHECK(timeout == ASK_TIMEOUT_MS);
	note("%s; ", json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN));
	json_object_put(request);
	*answer = NULL;
	if (session_status)
		return session_status;
	*answer = json_tokener_parse(
			answers_until_live && --answers_until_live ? "{}" : session_answer);
	return 0;
}

/* ---- the program ---- */

static struct inject_report answers[2];
static int request_status, place_status, listen_result;

static int played_request(
		struct attached *attached, const char *what, const char *path, bool only_if_loaded)
{
	static int next;

	CHECK(!only_if_loaded);
	next = !strcmp(what, "daemon") ? 0 : 1;
	note("request %s %s; ", what, path);
	attached->report = answers[next];
	return request_status;
}

static int played_place(struct attached *attached, const char *prefix, bool lasting)
{
	note("place %s%s; ", prefix, lasting ? " lasting" : "");
	if (!place_status)
		strcpy(attached->dir.theirs, "@side-door-7");
	return place_status;
}

static void played_forget(struct attached *attached)
{
	(void)attached;
	note("forget; ");
}

static int played_unreachable(const struct attached *attached)
{
	(void)attached;
	note("unreachable; ");
	return COMMAND_LOST;
}

static int played_nowhere(pid_t pid, const char *path)
{
	note("listen %d %s; ", pid, path);
	return listen_result < 0 ? listen_result : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int played_in(int dir)
{
	note("listen in %d; ", dir);
	return listen_result < 0 ? listen_result : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int played_failure(const struct attached *attached)
{
	(void)attached;
	note("failure; ");
	return COMMAND_NOT_PERMITTED;
}

static int played_why_not(const struct attached *attached, const char *what)
{
	(void)attached;
	note("why not: %s; ", what);
	return COMMAND_NOT_FOUND;
}

static void played_done(const struct attached *attached, const char *type, const char *sentence)
{
	(void)attached;
	note("done %s: %s; ", type, sentence);
}

static uint64_t played_user(pid_t pid)
{
	return (uint64_t)pid + 1000;
}

static int played_poll(struct pollfd *watched, nfds_t nr, int timeout)
{
	CHECK(!watched && !nr);
	note("wait %d; ", timeout);
	return 0;
}

#define ask_connect played_connect
#define ask_close played_close
#define ask_call played_call
#define ask_call_with played_call_with
#define control_path played_path
#define attach_request played_request
#define attach_dir_find played_place
#define attach_dir_forget played_forget
#define attach_dir_unreachable played_unreachable
#define attach_print_failure played_failure
#define attach_print_result_error played_why_not
#define attach_print_done played_done
#define attach_user_of played_user
#define rendezvous_listen_abstract played_nowhere
#define rendezvous_listen_in played_in
#define poll played_poll
#include "programs/side/attach/attach-daemon.c"
#undef poll

/* ---- output ---- */

static int printed_file = -1, printed_saved;

static void catch (void)
{
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	printed_saved = fcntl(2, F_DUPFD_CLOEXEC, 3);
	CHECK(printed_file >= 0 && printed_saved >= 0 && dup2(printed_file, 2) == 2);
}

static bool printed(const char *wanted)
{
	static char text[4096];
	ssize_t size;

	(void)fflush(stderr);
	CHECK(dup2(printed_saved, 2) == 2);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	CHECK(size >= 0);
	text[size] = '\0';
	close(printed_file);
	close(printed_saved);
	if (!strcmp(text, wanted))
		return true;
	(void)fprintf(stderr, "%s", text);
	return false;
}

static struct attach_options options;
static bool is_incidental;

static struct attached attach(void)
{
	return (struct attached){.options = &options,
			.pid = 55,
			.name = "kitchen",
			.incidental = is_incidental,
			.dir = {.parent = -1, .own = -1, .network = -1}};
}

static void reset(void)
{
	rendezvous_path = "";
	session_answer = "{}";
	rendezvous_status = session_status = connect_status = answers_until_live = 0;
	request_status = place_status = listen_result = 0;
	is_known = is_incidental = false;
	options = (struct attach_options){.daemon = true};
	answers[0] = answers[1] = (struct inject_report){.kind = INJECT_DONE};
	*calls = '\0';
}

static bool gives(int wanted, const char *wanted_calls, const char *wanted_text)
{
	struct attached attached = attach();
	int status;

	catch ();
	status = attach_give_to_daemon(&attached);
	return printed(wanted_text) && called(wanted_calls) && status == wanted;
}

/* ---- reasons ---- */

static void test_reasons(void)
{
	static const char socket[] = "/run/side/agents.sock";
	struct attached attached = attach();

	attached.report.result = -EISCONN;
	catch ();
	CHECK(attach_daemon_print_error(&attached, socket, false) == COMMAND_FAILED);
	CHECK(printed("side: 55 (kitchen) is connected to another daemon, not to the one in /run/side\nhint: `side detach -p PID` ends an attachment to the other daemon\nhint: `side attach -p PID` and `side trace -p PID` record it without a daemon\n"));
	attached.report.result = -EACCES;
	catch ();
	CHECK(attach_daemon_print_error(&attached, socket, true) == COMMAND_NOT_PERMITTED);
	CHECK(printed("side: 55 (kitchen) runs as user 1055, and the daemon in /run/side accepts only programs of its own user\nhint: use root's daemon, which accepts programs of all users, or the daemon of that user\n"));
	attached.report.result = -EPERM;
	catch ();
	CHECK(attach_daemon_print_error(&attached, socket, true) == COMMAND_NOT_PERMITTED);
	CHECK(printed("side: 55 (kitchen) cannot connect to the daemon in /run/side: it has entered a sandbox since side attached to it\nhint: `side attach -p PID` and `side trace -p PID` record it without the daemon\n"));
	attached.report.result = -EPIPE;
	strcpy(attached.dir.theirs, "@side-door-7");
	catch ();
	CHECK(attach_daemon_print_error(&attached, socket, true) == COMMAND_FAILED);
	CHECK(printed("side: 55 (kitchen) does not see the daemon's directory /run/side, and cannot connect through the rendezvous socket @side-door-7: Broken pipe\nhint: `side attach -p PID` and `side trace -p PID` record it without the daemon\n"));
	CHECK(attach_daemon_print_error(&attached, socket, false) == COMMAND_NOT_FOUND &&
			called("why not: cannot reach the daemon; "));
}

/* ---- the path to the daemon ---- */

static void test_sees(void)
{
	struct attached attached = attach();

	attached.pid = getpid();
	CHECK(attach_daemon_is_visible(&attached, "/etc/passwd") &&
			attach_daemon_is_visible(&attached, "/tmp") &&
			!attach_daemon_is_visible(&attached, "/nowhere"));
	attached.pid = INT_MAX;
	CHECK(!attach_daemon_is_visible(&attached, "/tmp"));
}

static void test_shut(void)
{
	static const struct {
		int result;
		bool is_shut;
	} cases[] = {{0, false}, {-ENOENT, true}, {-ENOTDIR, true}, {-EACCES, true}, {-EPERM, true},
			{-EALREADY, false}, {-ECONNREFUSED, false}, {ENOENT, false}};
	struct attached attached = attach();

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		attached.report = (struct inject_report){
				.kind = INJECT_DONE, .result = cases[i].result};
		CHECK(attach_daemon_is_unreachable(&attached) == cases[i].is_shut);
		attached.report.kind = INJECT_FAILED;
		CHECK(!attach_daemon_is_unreachable(&attached));
	}
}

#define ASKED "{\"version\":1,\"verb\":\"door\",\"pid\":55}; "
#define MADE \
	"place side-door- lasting; listen 55 @side-door-7; {\"version\":1,\"verb\":\"door\",\"pid\":55,\"path\":\"@side-door-7\"} fd; forget; "

/*
 * The program does not see the directory: it gets a rendezvous socket, or keeps the one that it
 * has.
 */
static void test_rendezvous(void)
{
	struct attached attached;
	struct ask ask;
	bool by_rendezvous;
	int fd;

	reset();
	CHECK(gives(COMMAND_DONE,
			"connect; " ASKED MADE
			"request door ; done attach: connected to the daemon:; close; ",
			""));
	reset();
	rendezvous_path = "/tmp/side-door-8/agents";
	CHECK(gives(COMMAND_DONE,
			"connect; " ASKED
			"request door /tmp/side-door-8/agents; done attach: connected to the daemon:; close; ",
			""));
	is_known = options.system = true;
	CHECK(gives(COMMAND_DONE,
			"connect system; " ASKED
			"request known /tmp/side-door-8/agents; done attach: connected to the daemon:; close; ",
			""));
	reset();
	answers[1].result = -EALREADY;
	CHECK(gives(COMMAND_DONE,
			"connect; " ASKED MADE
			"request door ; done attach: already connected to a daemon:; close; ",
			""));
	is_incidental = true;
	CHECK(gives(COMMAND_DONE, "connect; " ASKED MADE "request door ; close; ", ""));
	reset();
	is_incidental = true;
	CHECK(gives(COMMAND_DONE,
			"connect; " ASKED MADE
			"request door ; done attach: connected to the daemon:; close; ",
			""));
	/* Each step can fail. */
	reset();
	connect_status = COMMAND_NOT_EXECUTABLE;
	CHECK(gives(COMMAND_NOT_EXECUTABLE, "connect; ", ""));
	reset();
	rendezvous_status = COMMAND_LOST;
	CHECK(gives(COMMAND_LOST, "connect; " ASKED "close; ", ""));
	reset();
	place_status = COMMAND_LOST;
	CHECK(gives(COMMAND_LOST, "connect; " ASKED "place side-door- lasting; close; ", ""));
	reset();
	listen_result = -EPERM;
	CHECK(gives(COMMAND_LOST,
			"connect; " ASKED
			"place side-door- lasting; listen 55 @side-door-7; unreachable; close; ",
			""));
	listen_result = -EMFILE;
	CHECK(gives(COMMAND_FAILED,
			"connect; " ASKED
			"place side-door- lasting; listen 55 @side-door-7; close; ",
			"side: cannot create a socket where 55 (kitchen) sees it, @side-door-7: Too many open files\n"));
	reset();
	request_status = COMMAND_LOST;
	CHECK(gives(COMMAND_LOST, "connect; " ASKED MADE "request door ; close; ", ""));
	reset();
	answers[1].kind = INJECT_FAILED;
	CHECK(gives(COMMAND_NOT_PERMITTED, "connect; " ASKED MADE "request door ; failure; close; ",
			""));
	reset();
	answers[1].result = -ECONNREFUSED;
	CHECK(gives(COMMAND_FAILED, "connect; " ASKED MADE "request door ; close; ",
			"side: 55 (kitchen) does not see the daemon's directory /nowhere/side, and cannot connect through the rendezvous socket : Connection refused\nhint: `side attach -p PID` and `side trace -p PID` record it without the daemon\n"));
	/* In a directory that was created for it. */
	reset();
	attached = attach();
	attached.dir.parent = 5;
	attached.dir.own = 6;
	fd = attach_daemon_listen_at(&attached);
	CHECK(fd >= 0 && called("listen in 6; ") && !close(fd));
	/* A program that sees the directory but may not enter it gets a rendezvous socket, too. */
	attached = attach();
	attached.pid = getpid();
	by_rendezvous = true;
	CHECK(!attach_daemon_connect(&attached, &ask, "/tmp", &by_rendezvous) && !by_rendezvous &&
			called("request daemon /tmp; "));
	answers[0].result = -EACCES;
	rendezvous_path = "/d";
	CHECK(!attach_daemon_connect(&attached, &ask, "/tmp", &by_rendezvous) && by_rendezvous);
	CHECK(strstr(calls, "request daemon /tmp; {") && strstr(calls, "request door /d; "));
	*calls = '\0';
	request_status = COMMAND_LOST;
	CHECK(attach_daemon_connect(&attached, &ask, "/tmp", &by_rendezvous) == COMMAND_LOST &&
			!by_rendezvous && called("request daemon /tmp; "));
}

/* ---- its session ---- */

static bool has(const char *text, pid_t pid)
{
	struct json_object *object = json_tokener_parse(text);
	bool found = attach_daemon_records(object, pid);

	json_object_put(object);
	return found;
}

static void test_records(void)
{
	static const char one[] =
			"{\"processes\":[{\"pid\":54,\"live\":true},{\"pid\":55,\"live\":true},{\"pid\":56,\"live\":false}]}";

	CHECK(has(one, 54) && has(one, 55) && !has(one, 56) && !has(one, 57));
	CHECK(!has("{}", 54) && !has("{\"processes\":[]}", 54) && !has("{\"sessions\":[]}", 54));
	CHECK(has("{\"sessions\":[{\"processes\":[{\"pid\":54,\"live\":true}]},{\"processes\":[{\"pid\":55,\"live\":true}]}]}",
			      54) &&
			!has("{\"sessions\":[{\"processes\":[]},{\"processes\":[{\"pid\":55,\"live\":true}]}]}",
					55));
}

#define STATUS "{\"version\":1,\"verb\":\"status\",\"session\":\"web\"}; "

static void test_session(void)
{
	struct attached attached = attach();
	struct ask ask;
	size_t waits = 0;

	reset();
	options.session = "web";
	session_answer = "{\"processes\":[{\"pid\":55,\"live\":true}]}";
	CHECK(!attach_daemon_check_session(&attached, &ask) && called(STATUS));
	answers_until_live = 3;
	CHECK(!attach_daemon_check_session(&attached, &ask) &&
			called(STATUS "wait 50; " STATUS "wait 50; " STATUS));
	session_status = COMMAND_LOST;
	CHECK(attach_daemon_check_session(&attached, &ask) == COMMAND_LOST && called(STATUS));
	CHECK(gives(COMMAND_LOST, "connect; " STATUS "close; ", ""));
	session_status = 0;
	CHECK(gives(COMMAND_DONE,
			"connect; " STATUS ASKED MADE
			"request door ; done attach: connected to the daemon:; " STATUS "close; ",
			""));
	/* A session that does not get the program is abandoned after five seconds. */
	session_answer = "{}";
	catch ();
	CHECK(attach_daemon_check_session(&attached, &ask) == COMMAND_FAILED);
	CHECK(printed("side: the session web does not record 55 (kitchen): it is not started, or does not track it\nhint: `side status` shows what it tracks\nhint: `side start` starts it\n"));
	for (const char *at = calls; (at = strstr(at, "wait 50; ")); at++)
		waits++;
	CHECK(waits == 100);
}

int main(void)
{
	struct resources before = {0};

	output_start(&(struct common_options){.json = false}, "attach");
	for (int round = 0; round < 3; round++) {
		reset();
		test_reasons();
		test_sees();
		test_shut();
		test_rendezvous();
		test_records();
		test_session();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	return 0;
}
