/* SPDX-License-Identifier: MIT */
/*
 * `side send`, traces by the names of sessions, and events that a session does not find, with a
 * sender, daemons and programs that the test plays.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"
#include "../counted-json.h"
#include "../failing-calls.h"
#include "../resources.h"

#include <side/trace.h>

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/side/cli/confine.h"
#include "programs/side/processes/descriptions.h"
#include "programs/side/processes/process.h"
#include "programs/side/processes/running.h"
#include "programs/common/message.h"
#include "programs/side/relay/sending.h"
#include "programs/side/session/request.h"
#include "ctf/ctf.h"
#include "base/nearest/nearest.h"

/* ---- what is printed, on both streams ---- */

static int printed_file, saved[2];

static void begin_output(bool is_json, bool plan_is_gp_only)
{
	const struct common_options common = {
			.json = is_json, .quiet = plan_is_gp_only, .color = COLOR_NEVER};

	output_start(&common, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 10);
		assert_int_equal(dup2(printed_file, 1 + i), 1 + i);
	}
}

static void assert_output(const char *expected)
{
	static char text[16384];
	ssize_t size;

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dup2(saved[i], 1 + i), 1 + i);
		close(saved[i]);
	}
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	assert_string_equal(text, expected);
}

static char work[] = "/tmp/side-trace-calls-XXXXXX";

static const char *in_work(const char *name)
{
	static char paths[4][300];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", work, name);
	return path;
}

/* ---- send ---- */

static struct send *const the_send = (struct send *)(uintptr_t)0x1000;
static struct send_status final;
static int64_t steady;
static const char *turns; /* the event of each turn: a signal, a time, the end */
static bool is_connected, is_recorded;
static int check_result, start_result, resolver_result, open_result;

static int played_clock(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*now = (struct timespec){steady / 1000000000, steady % 1000000000};
	return 0;
}

static bool played_wait(struct send *send, int timeout_ms)
{
	assert_ptr_equal(send, the_send);
	assert_int_equal(timeout_ms, 0);
	return *turns == 'e';
}

static int played_signal(
		const sigset_t *signals, const siginfo_t *info, const struct timespec *time)
{
	sigset_t blocked;

	assert_null(info);
	assert_true(!time->tv_sec && time->tv_nsec == 100000000);
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (size_t i = 0; i < 3; i++) {
		int number = ((int[]){SIGINT, SIGTERM, SIGHUP})[i];

		assert_true(sigismember(signals, number) && sigismember(&blocked, number));
	}
	assert_false(sigismember(signals, SIGQUIT));
	switch (*turns++) {
	case 's': return SIGINT;
	case '1': steady += 1000000000; break;
	case '+': steady += 1; break;
	default: break;
	}
	return -1;
}

static void played_status(struct send *send, struct send_status *status)
{
	assert_ptr_equal(send, the_send);
	*status = (struct send_status){.connected = is_connected};
}

static void played_finish(struct send *send)
{
	assert_ptr_equal(send, the_send);
	called("finish;");
}

static void played_stop(struct send *send, struct send_status *status)
{
	assert_ptr_equal(send, the_send);
	called("stop %d;", status != NULL);
	if (status)
		*status = final;
}

static int played_check(const char *url, const bool *ctf1_only, struct error *error)
{
	assert_null(ctf1_only);
	called("check %s;", url);
	return check_result
			? error_set_kind(error, ERROR_USAGE, check_result, "a hint", "100 %% done")
			: 0;
}

static int played_start(const struct send_options *options, struct send **send, struct error *error)
{
	called("start %s %s %llu %llu %s %u %d;", options->dir, options->url,
			(unsigned long long)options->spool, (unsigned long long)options->timeout_ms,
			options->session ? options->session : "-", options->speed,
			options->resolver ? *options->resolver : -2);
	options->log_message(NULL, true, "100 % of it");
	options->log_message(NULL, false, "50 % of it");
	*send = the_send;
	if (start_result)
		strcpy(error->text, "100 % done");
	return start_result;
}

static int played_resolver(const char *url, int *socket)
{
	called("resolver %s;", url);
	*socket = resolver_result ? -1 : 1000;
	return resolver_result;
}

static int closed;

static int played_close(int fd)
{
	if (fd != 1000)
		return close(fd);
	closed++;
	return 0;
}

static void played_confine(const char *input, const char *written, const char *url)
{
	called("confine %s %s %s;", input, written, url);
}

static bool played_recorded(const char *dir)
{
	(void)dir;
	return is_recorded;
}

static int played_open(const char *dir, struct ctf_reader **reader, struct error *error)
{
	(void)error;
	called("open %s;", dir);
	*reader = NULL;
	return open_result;
}

static void played_reader_close(const struct ctf_reader *reader)
{
	(void)reader;
	called("closed;");
}

#define clock_gettime played_clock
#define send_wait played_wait
#define sigtimedwait played_signal
#define send_finish played_finish
#define send_stop played_stop
#define url_check(url, parts, error) played_check(url, parts, error)
#define send_start played_start
#define send_resolver played_resolver
#define confine_sender played_confine
#define ctf_is_recorded played_recorded
#define ctf_reader_open played_open
#define ctf_reader_close played_reader_close
#define close played_close
#define send_status(send, status) played_status(send, status)
#include "programs/side/relay/send.c"
#undef clock_gettime
#undef close

static void wait_through(
		const char *what, unsigned int signals, const char *left, const char *wanted)
{
	sigset_t before, after;

	turns = what;
	sigprocmask(SIG_SETMASK, NULL, &before);
	sending_wait(the_send, signals);
	sigprocmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
	assert_string_equal(turns, left);
	assert_called(wanted);
}

static void test_wait(void **unused)
{
	(void)unused;
	steady = 12345678901;
	assert_int_equal(clock_monotonic_ns(), 12345678901);
	wait_through("e", 2, "e", "");
	wait_through("--1e", 2, "e", "");
	wait_through("s-e", 2, "e", "finish;");
	wait_through("s-s-e", 2, "-e", "finish;");
	wait_through("s-e", 1, "-e", "");
	wait_through("s-s-s-e", 3, "-e", "finish;finish;");
	/* Five seconds to deliver the remainder, one without a connection. */
	is_connected = true;
	wait_through("s1111-1e", 2, "e", "finish;");
	wait_through("s1111-1-e", 2, "-e", "finish;");
	steady++;
	wait_through("s11111--e", 2, "--e", "finish;");
	is_connected = false;
	wait_through("s1-e", 2, "-e", "finish;");
	wait_through("s---e", 2, "e", "finish;");
}

static void test_sending_options(void **unused)
{
	static const uint64_t timeouts[][2] = {{0, 60000}, {1, 1}, {999999, 1}, {1000000, 1},
			{1999999, 1}, {2000000, 2}, {5000000000, 5000}};

	(void)unused;
	for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
		struct send_options options = sending_options("dir", "url", 7, timeouts[i][0]);

		assert_string_equal(options.dir, "dir");
		assert_string_equal(options.url, "url");
		assert_int_equal(options.spool, 7);
		assert_int_equal(options.timeout_ms, timeouts[i][1]);
	}
}

static void end_with(struct send_status status, const char *url, bool is_json, bool plan_is_gp_only,
		int result, const char *printed)
{
	begin_output(is_json, plan_is_gp_only);
	assert_int_equal(sending_end(&status, url, "the\tdir"), result);
	assert_output(printed);
}

#define AGAIN \
	"hint: `side send the\\x09dir tcp://h\\x09` sends it again (`side receive` accepts each packet once)\n"
#define RECORDED "the recorded data is in the\\x09dir\n"

static void test_end(void **unused)
{
	char text[400];
	FILE *file;

	(void)unused;
	end_with((struct send_status){.packets = 1, .bytes = 2048}, "tcp://h\t", false, false,
			COMMAND_DONE, "side: delivered 1 packet, 2.0 KiB, to tcp://h\\x09\n");
	end_with((struct send_status){.packets = 1234, .bytes = 5, .events = 1}, "tcp://h\t", false,
			false, COMMAND_DONE,
			"side: delivered 1,234 packets, 5 bytes, 1 event, to tcp://h\\x09\n");
	end_with((struct send_status){.packets = 2, .bytes = 5, .events = 2}, "tcp://h\t", false,
			true, COMMAND_DONE, "");
	file = fopen(in_work("file"), "we");
	assert_non_null(file);
	fclose(file);
	snprintf(text, sizeof(text), "side: wrote 2 packets, 5 bytes, 3 events, to the file %s\n",
			in_work("file"));
	end_with((struct send_status){.packets = 2, .bytes = 5, .events = 3}, in_work("file"),
			false, false, COMMAND_DONE, text);
	snprintf(text, sizeof(text), "side: delivered 2 packets, 5 bytes, 3 events, to %s\n", work);
	end_with((struct send_status){.packets = 2, .bytes = 5, .events = 3}, work, false, false,
			COMMAND_DONE, text);
	assert_int_equal(unlink(in_work("file")), 0);
	end_with((struct send_status){.packets = 2,
				 .bytes = 3,
				 .events = 4,
				 .pending = 5,
				 .dropped_packets = 6,
				 .dropped_events = 7,
				 .connections = 8},
			"tcp://h\t", true, false, COMMAND_FAILED,
			"{\"schema\":1,\"type\":\"sent\",\"to\":\"tcp://h\\u0009\",\"packets\":2,\"bytes\":3,\"events\":4,\"pending\":5,\"dropped_packets\":6,\"dropped_events\":7,\"connections\":8}\n"
			"{\"schema\":1,\"type\":\"error\",\"status\":4,\"message\":\"lost 7 events in 6 packets: the receiver did not answer, and the spool was full\"}\n"
			"{\"schema\":1,\"type\":\"error\",\"status\":1,\"message\":\"not everything was delivered: 5 bytes remain, and the recorded data is in the\\\\x09dir\",\"hint\":\"`side send the\\\\x09dir tcp://h\\\\x09` sends it again (`side receive` accepts each packet once)\",\"mend\":\"`side send the\\\\x09dir tcp://h\\\\x09` sends it again (`side receive` accepts each packet once)\"}\n");
	/* With --quiet, lost data is printed, too. */
	end_with((struct send_status){.packets = 2, .dropped_packets = 1, .dropped_events = 1},
			"tcp://h\t", false, true, COMMAND_LOST,
			"side: lost 1 event in 1 packet: the receiver did not answer, and the spool was full\n");
	end_with((struct send_status){.failed = true}, "tcp://h\t", false, true, COMMAND_FAILED,
			"side: not everything was delivered: " RECORDED AGAIN);
	end_with((struct send_status){.pending = 3 << 20}, "tcp://h\t", false, true, COMMAND_FAILED,
			"side: not everything was delivered: 3.0 MiB remain, and " RECORDED AGAIN);
}

static int run_send(const char *url, uint64_t speed)
{
	char dir[300], target[300], *operands[] = {dir, target, NULL};
	const struct parsed parsed = {.operands = operands,
			.operand_count = 2,
			.options.send = {.session = "s",
					.spool = url[0] == 't' ? 9 : 0,
					.timeout = 7000000,
					.speed = speed}};
	sigset_t before, blocked;
	int ret;

	snprintf(dir, sizeof(dir), "%s", work);
	snprintf(target, sizeof(target), "%s", url);
	sigprocmask(SIG_SETMASK, NULL, &before);
	turns = "e";
	closed = 0;
	ret = cmd_send(&parsed);
	sigprocmask(SIG_SETMASK, &before, &blocked);
	if (ret != COMMAND_USAGE)
		assert_true(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM) &&
				sigismember(&blocked, SIGHUP));
	return ret;
}

#define PRINTED "side: 100 % of it\nside: 50 % of it\n"

static void test_send(void **unused)
{
	char expected[900];

	(void)unused;
	final = (struct send_status){.packets = 1, .bytes = 2048};
	is_recorded = true;
	begin_output(false, false);
	assert_int_equal(run_send("tcp://h", 4294967295), COMMAND_DONE);
	assert_output(PRINTED "side: delivered 1 packet, 2.0 KiB, to tcp://h\n");
	snprintf(expected, sizeof(expected),
			"check tcp://h;resolver tcp://h;confine %s %s tcp://h;start %s tcp://h 9 7 s 4294967295 1000;stop 1;",
			work, work, work);
	assert_called(expected);
	assert_int_equal(closed, 1);
	/* Files: each is created before the process is confined to it. */
	begin_output(false, true);
	assert_int_equal(run_send(in_work("file"), 0), COMMAND_DONE);
	assert_output("side: 100 % of it\n");
	assert_int_equal(access(in_work("file"), F_OK), 0);
	assert_int_equal(unlink(in_work("file")), 0);
	snprintf(expected, sizeof(expected),
			"check %s/file;resolver %s/file;confine %s %s/" SEND_MARKS
			" %s/file;start %s %s/file 0 7 s 0 1000;stop 1;",
			work, work, work, work, work, work, work);
	assert_called(expected);
	send_make_file("/none", in_work("file"));
	send_make_file(work, "-");
	assert_int_equal(access(in_work("file"), F_OK), -1);
	assert_int_equal(access("-", F_OK), -1);
	/* Directories that have no trace, and those with one that cannot be read. */
	for (int i = 0; i < 3; i++) {
		open_result = ((int[]){-ENOENT, -EBADMSG, 0})[i];
		is_recorded = false;
		begin_output(false, true);
		assert_int_equal(run_send("tcp://h", 0), i ? COMMAND_DONE : COMMAND_FAILED);
		snprintf(expected, sizeof(expected),
				i ? "side: 100 %% of it\n"
				  : "side: 100 %% of it\nside: there is no trace in %s\nhint: `side record -o DIR` makes one\n",
				work);
		assert_output(expected);
		assert_int_equal(closed, 1);
		assert_non_null(strstr(calls, i ? "stop 1;" : "stop 0;"));
		assert_int_equal(strstr(calls, "closed;") != NULL, i == 2);
		*calls = '\0';
	}
	is_recorded = true;
	for (int i = 0; i < 2; i++) {
		start_result = i ? -EIO : -EACCES;
		begin_output(false, true);
		assert_int_equal(
				run_send("tcp://h", 0), i ? COMMAND_FAILED : COMMAND_NOT_PERMITTED);
		assert_output("side: 100 % of it\nside: 100 % done\n");
		assert_int_equal(closed, 1);
	}
	start_result = 0;
	*calls = '\0';
	/* A failure before the start. */
	resolver_result = -EMFILE;
	begin_output(false, true);
	assert_int_equal(run_send("tcp://h", 0), COMMAND_FAILED);
	assert_output("side: cannot start the process that resolves tcp://h: Too many open files\n");
	assert_called("check tcp://h;resolver tcp://h;");
	resolver_result = 0;
	begin_output(false, true);
	failing_arm(1);
	assert_int_equal(run_send("tcp://h", 0), COMMAND_FAILED);
	assert_true(failing_has_failed());
	assert_output("side: out of memory\n");
	assert_int_equal(closed, 1);
	*calls = '\0';
	begin_output(false, true);
	assert_int_equal(run_send("tcp://h", 4294967296), COMMAND_USAGE);
	assert_output("side: this speed is not possible on a serial line\n");
	check_result = -EINVAL;
	begin_output(false, true);
	assert_int_equal(run_send("tcp://h", 0), COMMAND_USAGE);
	assert_output("side: 100 % done\nhint: a hint\n");
	assert_called("check tcp://h;check tcp://h;");
}

/* ---- traces by the names of sessions ---- */

static const char *status_answers[2],
		*list_answers[2]; /* of the user's daemon, and of the system daemon */
static bool has_daemon[2];
static const char *current_name;
static unsigned int nr_open;

static int played_connect(struct ask *ask, bool system, struct error *error)
{
	(void)error;
	*ask = (struct ask){.system = system};
	nr_open += has_daemon[system];
	return has_daemon[system] ? 0 : -1;
}

static void played_ask_close(struct ask *ask)
{
	(void)ask;
	assert_true(nr_open-- > 0);
}

static bool is_system_asked;

static int played_call(const struct control_client *client, struct json_object *request,
		int timeout_ms, struct json_object **answer, struct error *error)
{
	bool lists = !strcmp(ask_text(request, "verb"), "list");
	const char *text = lists ? list_answers[is_system_asked] : status_answers[is_system_asked];

	(void)client;
	(void)error;
	called("%s %s %d;", ask_text(request, "verb"), ask_text(request, "session"), timeout_ms);
	*answer = text ? json_tokener_parse(text) : NULL;
	return text ? 0 : -1;
}

static bool played_current(const struct ask *ask, char name[ASK_NAME_MAX])
{
	(void)ask;
	if (current_name)
		strcpy(name, current_name);
	return current_name;
}

#define ask_connect_silently(ask, system, error) \
	(is_system_asked = (system), played_connect(ask, system, error))
#define ask_close played_ask_close
#define control_call played_call
#define current_read played_current
#undef ctf_reader_close
#include "programs/side/session/trace-of-session.c"
#undef control_call

static const struct verb view = {.name = "view", .missing = "name a trace"};

static int find_trace(struct parsed *parsed, const char *first, const char *second)
{
	static char texts[2][300];
	static char *operands[] = {texts[0], texts[1], NULL};

	snprintf(texts[0], sizeof(texts[0]), "%s", first ? first : "");
	snprintf(texts[1], sizeof(texts[1]), "%s", second ? second : "");
	*parsed = (struct parsed){
			.verb = &view, .operands = operands, .operand_count = !!first + !!second};
	return session_trace(parsed);
}

static void make_trace(const char *path)
{
	char whole[300];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", work, path);
	for (char *slash = whole + strlen(work) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(whole, 0700);
		*slash = '/';
	}
	file = fopen(whole, "we");
	assert_non_null(file);
	fclose(file);
}

static void test_sessions(void **unused)
{
	unsigned int before = resources_descriptors();
	struct parsed parsed;

	(void)unused;
	is_system_asked = false;
	has_daemon[0] = has_daemon[1] = true;
	status_answers[0] = "{\"sessions\":[{\"output\":\"/one\"},{\"output\":\"/two\"}]}";
	assert_int_equal(find_trace(&parsed, "mine", NULL), COMMAND_DONE);
	assert_string_equal(parsed.operands[0], "/one");
	assert_null(parsed.operands[1]);
	assert_called("status mine 10000;");
	assert_int_equal(find_trace(&parsed, "mine", "other"), COMMAND_DONE);
	assert_string_equal(parsed.operands[0], "/one");
	assert_string_equal(parsed.operands[1], "other");
	assert_int_equal(parsed.operand_count, 2);
	*calls = '\0';
	/* The system daemon is asked second. */
	for (int i = 0; i < 4; i++) {
		status_answers[0] = ((const char *[]){
				NULL, "{}", "{\"sessions\":[]}", "{\"sessions\":[{}]}"})[i];
		status_answers[1] = "{\"sessions\":[{\"output\":\"/three\"}]}";
		assert_int_equal(find_trace(&parsed, "mine", NULL), COMMAND_DONE);
		assert_string_equal(parsed.operands[0], "/three");
		assert_called("status mine 10000;status mine 10000;");
	}
	has_daemon[0] = false;
	assert_int_equal(find_trace(&parsed, "mine", NULL), COMMAND_DONE);
	assert_called("status mine 10000;");
	/* The current session. */
	current_name = "now";
	assert_int_equal(find_trace(&parsed, NULL, NULL), COMMAND_DONE);
	assert_string_equal(parsed.operands[0], "/three");
	assert_int_equal(parsed.operand_count, 1);
	assert_called("status now 10000;");
	current_name = NULL;
	begin_output(false, false);
	assert_int_equal(find_trace(&parsed, NULL, NULL), COMMAND_USAGE);
	assert_output("side: name a trace, and there is no current session\nhint: name the directory or the session of the trace\n");
	assert_called("");
	assert_int_equal(nr_open, 0);
	/* A path that exists. */
	has_daemon[0] = true;
	assert_int_equal(find_trace(&parsed, work, NULL), COMMAND_DONE);
	assert_string_equal(parsed.operands[0], work);
	/* An error other than a missing file. */
	make_trace("t/metadata");
	assert_int_equal(find_trace(&parsed, in_work("t/metadata/x"), NULL), COMMAND_DONE);
	assert_called("");
	assert_int_equal(resources_descriptors(), before);
}

static void misspell(const char *installed, const char *printed)
{
	struct parsed parsed;
	char text[900];

	snprintf(text, sizeof(text), "%s", printed);
	begin_output(false, false);
	assert_int_equal(find_trace(&parsed, installed, NULL),
			*printed ? COMMAND_FAILED : COMMAND_DONE);
	assert_output(text);
	assert_string_equal(parsed.operands[0], installed);
}

static void test_misspelled(void **unused)
{
	unsigned int before = resources_descriptors();
	char text[900], installed[300], long_name[PATH_MAX + 10];
	struct parsed parsed;

	(void)unused;
	status_answers[0] = status_answers[1] = NULL;
	list_answers[0] = "{\"sessions\":[{\"name\":\"first\"}]}";
	list_answers[1] = "{\"sessions\":[{\"name\":\"second\"}]}";
	misspell("frist",
			"side: cannot view frist: No such file or directory\nhint: did you mean `first`?\n");
	assert_called("status frist 10000;status frist 10000;list  60000;list  60000;");
	misspell("secnd",
			"side: cannot view secnd: No such file or directory\nhint: did you mean `second`?\n");
	list_answers[1] = NULL;
	misspell("secnd", "");
	has_daemon[0] = has_daemon[1] = false;
	misspell("frist", "");
	*calls = '\0';
	/* Traces in directories: with metadata at most two levels below. */
	make_trace("traces/chess/metadata");
	make_trace("traces/cheap/1/metadata");
	make_trace("traces/cheat/1/2/metadata");
	make_trace("traces/cheek/1/2/3/metadata");
	make_trace("traces/chest/other");
	make_trace("traces/.chess/metadata");
	make_trace("traces/cheer/.1/metadata");
	make_trace("traces/chef");
	snprintf(installed, sizeof(installed), "%s/traces/chexs", work);
	snprintf(text, sizeof(text),
			"side: cannot view %s: No such file or directory\nhint: did you mean `%s/traces/chess`?\n",
			installed, work);
	misspell(installed, text);
	/* The slash that a shell adds does not count. */
	strcat(installed, "//");
	misspell(installed, text);
	for (int i = 0; i < 2; i++) {
		static const char *const near[][2] = {{"cheapp", "cheap"}, {"cheatt", "cheat"}};

		snprintf(installed, sizeof(installed), "%s/traces/%s", work, near[i][0]);
		snprintf(text, sizeof(text),
				"side: cannot view %s: No such file or directory\nhint: did you mean `%s/traces/%s`?\n",
				installed, work, near[i][1]);
		misspell(installed, text);
	}
	for (int i = 0; i < 4; i++) {
		static const char *const none[] = {"cheekkk", "chesttt", "cheerrr", "cheffff"};

		snprintf(installed, sizeof(installed), "%s/traces/%s", work, none[i]);
		misspell(installed, "");
	}
	assert_int_equal(nr_open, 0);
	/* Paths of 4095 bytes at most. */
	memset(long_name, '/', sizeof(long_name));
	long_name[PATH_MAX] = '\0';
	parsed = (struct parsed){.verb = &view};
	assert_int_equal(session_trace_refuse(&parsed, long_name), COMMAND_DONE);
	long_name[PATH_MAX - 1] = 'x';
	assert_int_equal(session_trace_refuse(&parsed, long_name), COMMAND_DONE);
	assert_called("");
	assert_int_equal(resources_descriptors(), before);
}

/* ---- events that a session does not find ---- */

side_static_event(
		ev_open, "db", "open", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("rows")));
side_static_event(ev_close, "db", "close", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u32("rest")));
side_static_event(ev_dump, "side", "dump", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("rowz")));

static const char *request_text, *processes_text;
static int which_status, request_status;
static unsigned int nr_listed;

static int played_list(struct listing *listing, pid_t pid, bool may_have_ended)
{
	static struct listing_event events[] = {{.description = &ev_open},
			{.description = &ev_close}, {.description = &ev_dump}};

	assert_true(listing->is_silent && !may_have_ended);
	called("%d;", (int)pid);
	nr_listed++;
	if (pid >= 900)
		return COMMAND_FAILED;
	listing->events = events + (pid % 10 == 2);
	listing->nr_events = pid % 10 == 1 ? 1 : pid % 10 == 2 ? 2 : 0;
	return COMMAND_DONE;
}

static void played_listing_free(struct listing *listing)
{
	listing->events = NULL;
}

static const char *played_name(pid_t pid, char name[RUNNING_NAME_MAX])
{
	snprintf(name, RUNNING_NAME_MAX, "prog\t%d", (int)pid);
	return name;
}

static int played_which(const struct ask *ask, const char *operand, const char *option,
		char name[ASK_NAME_MAX], const char **session)
{
	(void)ask;
	assert_null(operand);
	assert_string_equal(option, "mine");
	strcpy(name, option);
	*session = name;
	return which_status;
}

static int played_request(
		const struct parsed *parsed, const char *session, struct json_object **request)
{
	(void)parsed;
	assert_string_equal(session, "mine");
	*request = request_status ? NULL : json_tokener_parse(request_text);
	return request_status;
}

static int played_ask(const struct ask *ask, struct json_object *request, int timeout_ms,
		struct json_object **answer)
{
	(void)ask;
	assert_string_equal(ask_text(request, "verb"), "list");
	assert_int_equal(timeout_ms, ASK_TIMEOUT_MS);
	json_object_put(request);
	*answer = processes_text ? json_tokener_parse(processes_text) : NULL;
	return processes_text ? 0 : COMMAND_FAILED;
}

#define process_list played_list
#define listing_free played_listing_free
#define running_name played_name
#define ask_which played_which
#define session_request played_request
#define ask_call played_ask
#include "programs/side/session/unmatched-rules.c"

static void search_for(
		const char *request, const char *programs, const char *wanted, const char *printed)
{
	static const struct verb verb = {.id = VERB_ENABLE_EVENT};
	const struct parsed parsed = {.verb = &verb, .options.control.session = "mine"};

	request_text = request;
	processes_text = programs;
	nr_listed = 0;
	begin_output(false, false);
	assert_int_equal(session_unmatched(&parsed), COMMAND_DONE);
	assert_output(printed);
	assert_called(wanted);
	assert_int_equal(nr_open, 0);
}

#define ONE "{\"processes\":[{\"pid\":11}]}"
#define TWO "{\"processes\":[{\"pid\":11},{\"pid\":12}]}"

static void test_unmatched(void **unused)
{
	char many[4000] = "{\"processes\":[", wanted[400] = "";

	(void)unused;
	has_daemon[0] = false;
	search_for("{\"event\":[\"db:x\"]}", ONE, "", "");
	has_daemon[0] = true;
	/* There is nothing to search for, or the search is impossible. */
	search_for("{}", ONE, "", "");
	search_for("{\"event\":[]}", ONE, "", "");
	search_for("{\"event\":[\"kernel::a:b\"]}", ONE, "", "");
	search_for("{\"event\":[\"db:x\"]}", NULL, "", "");
	search_for("{\"event\":[\"db:x\"]}", "{}", "", "");
	search_for("{\"event\":[\"db:x\"]}",
			"{\"processes\":[{},{\"pid\":2147483648},{\"pid\":901}]}", "901;", "");
	/* All names are found: the remaining programs are not read. */
	search_for("{\"event\":[\"db:open\"]}", TWO, "11;", "");
	search_for("{\"event\":[\"db:open\",\"db:close\"]}", TWO, "11;12;", "");
	search_for("{\"event\":[\"!db:none\",\"db:open\"]}", TWO, "11;", "");
	search_for("{\"event\":[\"db:opne\"]}", ONE, "11;",
			"side: session mine: no event matches `db:opne` yet: prog\\x0911 has 1 event: db:open\nhint: did you mean `db:open`?\n");
	search_for("{\"event\":[\"db:open\",\"db:clsoe\"]}", TWO, "11;12;",
			"side: session mine: no event matches `db:clsoe` yet: the group of 2 programs that have joined has 2 events: db:close, db:open\nhint: did you mean `db:close`?\n");
	/* Filters. */
	search_for("{\"filter\":\"rows == 1\"}", TWO, "11;", "");
	search_for("{\"filter\":\"rest == 1\"}", TWO, "11;12;", "");
	search_for("{\"filter\":\"rowz == 1\"}", TWO, "11;12;",
			"side: session mine: the filter `rowz == 1` cannot be applied to any event yet: the event has no field \"rowz\"\nhint: did you mean `rows`?\n");
	search_for("{\"event\":[\"db:close\"],\"filter\":\"rows == 1\"}", TWO, "11;12;",
			"side: session mine: the filter `rows == 1` cannot be applied to any event yet: the event has no field \"rows\"\n");
	search_for("{\"event\":[\"db:none\"],\"filter\":\"rows == 1\"}", ONE, "11;",
			"side: session mine: no event matches `db:none` yet: prog\\x0911 has 1 event: db:open\nhint: did you mean `db:open`?\n");
	search_for("{\"filter\":\"rows ==\"}", ONE, "", "");
	which_status = 5;
	search_for("{\"event\":[\"db:x\"]}", ONE, "", "");
	which_status = 0;
	request_status = 5;
	search_for("{\"event\":[\"db:x\"]}", ONE, "", "");
	request_status = 0;
	/* At most 32 programs; programs that cannot be read do not count. */
	for (int i = 0; i < 40; i++) {
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "%s{\"pid\":%d}",
				i ? "," : "", i ? 100 + i * 10 : 950);
		if (i < 33)
			snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "%d;",
					i ? 100 + i * 10 : 950);
	}
	strcat(many, "]}");
	search_for("{\"event\":[\"db:open\"]}", many, wanted,
			"side: session mine: no event matches `db:open` yet: the group of 32 programs that have joined has no events\n");
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

static int no_object_is_left(void **unused)
{
	(void)unused;
	return nr_objects;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_wait, no_object_is_left),
			cmocka_unit_test_teardown(test_sending_options, no_object_is_left),
			cmocka_unit_test_teardown(test_end, no_object_is_left),
			cmocka_unit_test_teardown(test_send, no_object_is_left),
			cmocka_unit_test_teardown(test_sessions, no_object_is_left),
			cmocka_unit_test_teardown(test_misspelled, no_object_is_left),
			cmocka_unit_test_teardown(test_unmatched, no_object_is_left),
	};
	int ret;

	alarm(50);
	if (!mkdtemp(work) || chdir(work))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return ret;
}
