/* SPDX-License-Identifier: MIT */
/*
 * Requests to the daemon over a connection that the test plays: which daemon is asked and started,
 * errors and their hints, the content of answers; the probes of a session as text; and the start of
 * programs of the same installation.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"
#include "../counted-json.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/side/session/status.h"
#include "recorder/core/session.h"
#include "protocol/runtime.h"

/* ---- what is printed, on both streams ---- */

static int printed_file, saved[2];

static void begin_output(bool is_json)
{
	const struct common_options common = {.json = is_json, .color = COLOR_NEVER};

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

/* ---- the connection ---- */

static struct control_client *const the_client = (struct control_client *)(uintptr_t)0x1000;
static int connect_results[2], call_result;
static unsigned int nr_connects, nr_answers;
static struct error next_error;
static const char *answers[2], *client_path, *runtime;

static int played_connect(enum control_where where, bool start, struct control_client **client,
		struct error *error)
{
	int ret = connect_results[nr_connects++];

	called("connect %s%s;",
			where == CONTROL_SYSTEM                 ? "system"
					: where == CONTROL_USER ? "user"
								: "any",
			start ? " start" : "");
	*client = the_client;
	if (ret)
		*error = next_error;
	return ret;
}

static void played_close(struct control_client *client)
{
	assert_ptr_equal(client, the_client);
	called("close;");
}

static const char *played_path(const struct control_client *client)
{
	assert_ptr_equal(client, the_client);
	return client_path;
}

static int played_runtime(char *path, size_t size, bool system, const char *file)
{
	(void)snprintf(path, size, "%s/%s%s", runtime, system ? "system/" : "", file);
	return *runtime ? 0 : -ENAMETOOLONG;
}

static int played_call(struct control_client *client, struct json_object *request, int timeout_ms,
		struct json_object **answer, struct error *error)
{
	const char *text = answers[nr_answers++];

	(void)error;
	assert_ptr_equal(client, the_client);
	called("call %s %s %d;", ask_text(request, "verb"), ask_text(request, "session"),
			timeout_ms);
	*answer = text ? json_tokener_parse(text) : NULL;
	return text ? 0 : -1;
}

static int played_call_with(struct control_client *client, struct json_object *request, int fd,
		int timeout_ms, struct json_object **answer, struct error *error)
{
	assert_ptr_equal(client, the_client);
	called("call %s %d %d;", ask_text(request, "verb"), fd, timeout_ms);
	if (call_result)
		*error = next_error;
	else
		*answer = json_tokener_parse("{\"a\":1}");
	return call_result;
}

#define control_connect played_connect
#define control_close played_close
#define control_path played_path
#define control_call played_call
#define control_call_with played_call_with
#define wire_runtime_path played_runtime
#include "programs/common/ask.c"

static struct error error_of(enum error_kind kind, const char *text, const char *hint)
{
	struct error error = {.kind = kind};

	snprintf(error.text, sizeof(error.text), "%s", text);
	snprintf(error.hint, sizeof(error.hint), "%s", hint);
	return error;
}

static void test_errors(void **unused)
{
	static const int statuses[] = {COMMAND_FAILED, COMMAND_FAILED, COMMAND_USAGE,
			COMMAND_NOT_PERMITTED, COMMAND_FAILED, COMMAND_FAILED, COMMAND_FAILED};
	struct error error;

	(void)unused;
	for (unsigned int kind = ERROR_NONE; kind <= ERROR_NOT_EXECUTABLE; kind++) {
		error = error_of((enum error_kind)kind, "100 % done", kind % 2 ? "a hint" : "");
		begin_output(false);
		assert_int_equal(message_library_error(&error), statuses[kind]);
		assert_output(kind % 2 ? "side: 100 % done\nhint: a hint\n" : "side: 100 % done\n");
	}
	error = error_of(ERROR_USAGE, "100 % done", "a hint");
	strcpy(error.input, "a == b");
	error.column = 6;
	begin_output(false);
	assert_int_equal(message_library_error(&error), COMMAND_USAGE);
	assert_output("side: 100 % done\n  a == b\n       ^\nhint: a hint\n");
	/* A daemon that names no column, and a condition that is empty. */
	error.column = 0;
	begin_output(false);
	assert_int_equal(message_library_error(&error), COMMAND_USAGE);
	assert_output("side: 100 % done\n  a == b\n  ^\nhint: a hint\n");
	*error.input = '\0';
	error.column = 1;
	begin_output(false);
	assert_int_equal(message_library_error(&error), COMMAND_USAGE);
	assert_output("side: 100 % done\n  \n  ^\nhint: a hint\n");
}

static void connecting(int first, int second)
{
	nr_connects = nr_answers = 0;
	connect_results[0] = first;
	connect_results[1] = second;
}

#define STARTED(process)                         \
	"side: started the daemon sided" process \
	", which records sessions; it does not find programs that started before it\n"

static void test_connect(void **unused)
{
	struct ask ask;

	(void)unused;
	/* Each member is set. */
	memset(&ask, 0xff, sizeof(ask));
	runtime = "/run";
	client_path = "/run/" WIRE_RUNTIME_CONTROL;
	begin_output(false);
	connecting(0, 0);
	assert_int_equal(ask_connect(&ask, false, false), COMMAND_DONE);
	assert_called("connect any;");
	assert_false(ask.system || ask.no_daemon);
	ask_close(&ask);
	assert_null(ask.client);
	ask_close(&ask);
	assert_called("close;");
	client_path = "/other/" WIRE_RUNTIME_CONTROL;
	connecting(0, 0);
	assert_int_equal(ask_connect(&ask, true, true), COMMAND_DONE);
	assert_called("connect system;");
	assert_true(ask.system && ask.no_daemon);
	runtime = "";
	connecting(0, 0);
	assert_int_equal(ask_connect(&ask, false, true), COMMAND_DONE);
	assert_true(ask.system && ask.no_daemon);
	assert_called("connect any;");
	connecting(0, 0);
	assert_int_equal(ask_connect_silently(&ask, false, NULL), COMMAND_DONE);
	assert_true(ask.system && ask.no_daemon);
	assert_called("connect any;");
	runtime = "/run";
	client_path = "/run/" WIRE_RUNTIME_CONTROL;
	connecting(0, 0);
	memset(&ask, 0, sizeof(ask));
	assert_int_equal(ask_connect_silently(&ask, true, NULL), COMMAND_DONE);
	assert_true(ask.no_daemon && !ask.system);
	assert_ptr_equal(ask.client, the_client);
	assert_called("connect system;");
	connecting(-1, 0);
	assert_int_equal(ask_connect_silently(&ask, true, NULL), COMMAND_FAILED);
	assert_null(ask.client);
	assert_called("connect system;");
	assert_output("");
	/* The user's own daemon is started if there is none. */
	next_error = error_of(ERROR_NOT_FOUND, "no daemon", "a hint");
	connecting(-1, 0);
	answers[0] = "{\"pid\":77}";
	begin_output(false);
	assert_int_equal(ask_connect(&ask, false, false), COMMAND_DONE);
	assert_output(STARTED(" (process 77)"));
	assert_called("connect any;connect user start;call ping  60000;");
	connecting(-1, 0);
	answers[0] = NULL;
	begin_output(false);
	assert_int_equal(ask_connect(&ask, false, false), COMMAND_DONE);
	assert_output(STARTED(""));
	assert_called("connect any;connect user start;call ping  60000;");
	connecting(-1, -1);
	begin_output(false);
	assert_int_equal(ask_connect(&ask, false, false), COMMAND_FAILED);
	assert_null(ask.client);
	assert_output("side: no daemon\nhint: a hint\n");
	assert_called("connect any;connect user start;");
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			next_error.kind = ERROR_PERMISSION;
		connecting(-1, 0);
		begin_output(false);
		assert_int_equal(ask_connect(&ask, i == 0, i == 1),
				i == 2 ? COMMAND_NOT_PERMITTED : COMMAND_FAILED);
		assert_null(ask.client);
		assert_output("side: no daemon\nhint: a hint\n");
		assert_called(i ? "connect any;" : "connect system;");
	}
}

/* ---- sessions that a killed daemon left ---- */

static char work[] = "/tmp/side-ask-calls-XXXXXX";

static void touch(const char *name)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/%s", work, WIRE_RUNTIME_STATE, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fclose(file);
}

static void untouch(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s/%s", work, WIRE_RUNTIME_STATE, name);
	assert_int_equal(unlink(path), 0);
}

static void test_kept(void **unused)
{
	unsigned int before = resources_descriptors();
	char names[100], path[200];
	struct ask ask;

	(void)unused;
	runtime = work;
	assert_false(ask_kept_sessions(false, names, sizeof(names)));
	assert_string_equal(names, "");
	snprintf(path, sizeof(path), "%s/%s", work, WIRE_RUNTIME_STATE);
	assert_int_equal(mkdir(path, 0700), 0);
	touch("ab");
	touch(".json");
	touch("x.jso");
	assert_false(ask_kept_sessions(false, names, sizeof(names)));
	next_error = error_of(ERROR_NOT_FOUND, "no daemon", "a hint");
	connecting(-1, 0);
	begin_output(false);
	assert_int_equal(ask_connect_only(&ask, false), COMMAND_FAILED);
	assert_output("side: no daemon\nhint: a hint\n");
	touch("a.json");
	assert_true(ask_kept_sessions(false, names, sizeof(names)));
	assert_string_equal(names, "a");
	assert_false(ask_kept_sessions(true, names, sizeof(names)));
	connecting(-1, 0);
	begin_output(false);
	assert_int_equal(ask_connect_only(&ask, false), COMMAND_FAILED);
	assert_output("side: no daemon\nhint: `side daemon` starts it and restores its sessions: a\n");
	next_error.kind = ERROR_BUSY;
	connecting(-1, 0);
	begin_output(false);
	assert_int_equal(ask_connect_only(&ask, false), COMMAND_FAILED);
	assert_output("side: no daemon\nhint: a hint\n");
	connecting(0, 0);
	assert_int_equal(ask_connect_only(&ask, true), COMMAND_DONE);
	assert_called("connect any;connect any;connect any;connect system;");
	/* Several, in any order; a name that is too long is left out: ".json" and ", " count. */
	touch("bcd.json");
	assert_true(ask_kept_sessions(false, names, sizeof(names)));
	assert_true(!strcmp(names, "a, bcd") || !strcmp(names, "bcd, a"));
	untouch("a.json");
	assert_true(ask_kept_sessions(false, names, 12));
	assert_string_equal(names, "bcd");
	assert_false(ask_kept_sessions(false, names, 11));
	assert_string_equal(names, "");
	untouch("bcd.json");
	untouch("ab");
	untouch(".json");
	untouch("x.jso");
	/* Those of the system. */
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/system", work);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/system/%s", work, WIRE_RUNTIME_STATE);
	assert_int_equal(mkdir(path, 0700), 0);
	strcat(path, "/s.json");
	assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	next_error.kind = ERROR_NOT_FOUND;
	connecting(-1, 0);
	begin_output(false);
	assert_int_equal(ask_connect_only(&ask, true), COMMAND_FAILED);
	assert_output("side: no daemon\nhint: `systemctl start sided` starts it and restores its sessions: s\n");
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	*calls = '\0';
	assert_int_equal(resources_descriptors(), before);
}

/* ---- questions ---- */

static struct json_object *request_of(const char *session, const char *channel)
{
	struct json_object *request = control_request("start", session);

	if (channel)
		ask_add(request, "channel", json_object_new_string(channel));
	return request;
}

static void ask_wrongly(
		const char *session, const char *channel, const char *printed, const char *wanted)
{
	struct ask ask = {.client = the_client};
	struct json_object *answer = NULL;

	nr_answers = 0;
	begin_output(false);
	assert_int_equal(ask_call(&ask, request_of(session, channel), 5, &answer), COMMAND_FAILED);
	assert_output(printed);
	assert_called(wanted);
	assert_null(answer);
}

static void test_questions(void **unused)
{
	struct ask ask = {.client = the_client};
	struct json_object *answer;

	(void)unused;
	call_result = 0;
	assert_int_equal(ask_call_with(&ask, request_of("s", NULL), 4, 5, &answer), COMMAND_DONE);
	assert_int_equal(ask_number(answer, "a"), 1);
	json_object_put(answer);
	assert_called("call start 4 5;");
	begin_output(false);
	assert_int_equal(ask_call(&ask, NULL, 5, &answer), COMMAND_FAILED);
	assert_null(answer);
	assert_output("side: out of memory\n");
	/* One member is missing: the request is not sent. */
	{
		struct json_object *request = request_of("s", NULL);

		ask_add(request, "x", NULL);
		assert_true(ask_is_cut_off());
		begin_output(false);
		assert_int_equal(ask_call(&ask, request, 5, &answer), COMMAND_FAILED);
		assert_output("side: out of memory\n");
		assert_false(ask_is_cut_off());
	}
	assert_called("");
	call_result = -1;
	next_error = error_of(ERROR_NOT_FOUND, "there is no session mien", "a hint");
	answers[0] = "{\"sessions\":[{\"name\":\"mine\"},{\"name\":\"other\"}]}";
	ask_wrongly("mien", NULL, "side: there is no session mien\nhint: did you mean `mine`?\n",
			"call start -1 5;call list  2000;");
	answers[0] = "{\"sessions\":[{\"name\":\"other\"}]}";
	ask_wrongly("mien", NULL, "side: there is no session mien\nhint: a hint\n",
			"call start -1 5;call list  2000;");
	answers[0] = NULL;
	ask_wrongly("mien", NULL, "side: there is no session mien\nhint: a hint\n",
			"call start -1 5;call list  2000;");
	ask_wrongly(NULL, NULL, "side: there is no session mien\nhint: a hint\n",
			"call start -1 5;");
	next_error.kind = ERROR_FAILED;
	ask_wrongly("mien", NULL, "side: there is no session mien\nhint: a hint\n",
			"call start -1 5;");
	next_error = error_of(ERROR_NOT_FOUND, "session s has no channel chanel", "a hint");
	answers[0] = "{\"sessions\":[{\"definition\":{\"channels\":[{\"channel\":\"x\"},{\"channel\":\"channel\"}]}}]}";
	ask_wrongly("s", "chanel",
			"side: session s has no channel chanel\nhint: did you mean `--channel channel`?\n",
			"call start -1 5;call status s 2000;");
	ask_wrongly("s", NULL, "side: session s has no channel chanel\nhint: a hint\n",
			"call start -1 5;");
	for (int i = 0; i < 3; i++) {
		answers[0] = ((const char *[]){
				"{}", "{\"sessions\":[]}", "{\"sessions\":[{}]}"})[i];
		ask_wrongly("s", "chanel", "side: session s has no channel chanel\nhint: a hint\n",
				"call start -1 5;call status s 2000;");
	}
	next_error = error_of(ERROR_NOT_FOUND, "something else", "a hint");
	ask_wrongly("s", "chanel", "side: something else\nhint: a hint\n", "call start -1 5;");
}

/* ---- answers ---- */

static void test_members(void **unused)
{
	struct json_object *object = json_tokener_parse(
			"{\"text\":\"t\",\"null\":null,\"number\":5,\"negative\":-1,\"yes\":true,\"list\":[1]}");

	(void)unused;
	assert_string_equal(ask_text(object, "text"), "t");
	assert_string_equal(ask_text(object, "null"), "");
	assert_string_equal(ask_text(object, "none"), "");
	assert_int_equal(ask_number(object, "number"), 5);
	assert_int_equal(ask_number(object, "negative"), 0);
	assert_int_equal(ask_number(object, "none"), 0);
	assert_true(ask_flag(object, "yes"));
	assert_false(ask_flag(object, "null"));
	assert_false(ask_flag(object, "none"));
	assert_non_null(ask_list(object, "list"));
	assert_null(ask_list(object, "text"));
	assert_null(ask_list(object, "none"));
	ask_add_text(object, "texts", "a");
	ask_add_text(object, "texts", "b");
	assert_string_equal(json_object_to_json_string_ext(
					    ask_list(object, "texts"), JSON_C_TO_STRING_PLAIN),
			"[\"a\",\"b\"]");
	assert_false(ask_is_cut_off());
	json_object_put(object);
}

static void print_messages(const char *session, const char *expected)
{
	struct json_object *object = json_tokener_parse(session);

	assert_non_null(object);
	begin_output(false);
	ask_print_messages(object);
	assert_output(expected);
	json_object_put(object);
}

#define TEN \
	"side: 1 %\nside: 2\nside: 3\nside: 4\nside: 5\nside: 6\nside: 7\nside: 8\nside: 9\nside: 10\n"

static void test_messages(void **unused)
{
	(void)unused;
	print_messages("{}", "");
	print_messages("{\"messages\":[\"100 % done\",null,\"b\"],\"message-hints\":[null,\"h\",\"i\"]}",
			"side: 100 % done\nside: \nhint: h\nside: b\nhint: i\n");
	print_messages("{\"messages\":[\"1 %\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\"]}",
			TEN);
	print_messages("{\"messages\":[\"1 %\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\"]}",
			TEN "side: 1 more message\nhint: `--json` prints the first 100\n");
	print_messages("{\"messages-unkept\":2,\"messages\":[\"1 %\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\"]}",
			TEN "side: 5 more messages\nhint: `--json` prints the first 100\n");
	print_messages("{\"messages-of-users\":[{\"uid\":1001,\"count\":1},{\"count\":7}]}",
			"side: 1 more message about programs of user 1001: see the daemon's log\n"
			"side: 7 more messages about programs of other users: see the daemon's log\n");
}

static void test_pending(void **unused)
{
	struct json_object *answer = json_tokener_parse(
			"{\"unchanged\":[{\"name\":\"one\",\"pid\":11,\"why\":\"a % b\"}],"
			"\"pending\":[{\"name\":\"two\",\"pid\":22,\"why\":\"c\"},{\"name\":\"three\",\"pid\":33,\"why\":\"d\"}]}");

	(void)unused;
	begin_output(false);
	assert_int_equal(ask_pending(answer), COMMAND_PENDING);
	assert_output("side: one (process 11) is unchanged: a % b\nhint: run `side attach --daemon -p 11`: the program then makes the change\n"
		      "side: two (process 22) has not made the change yet: c\nhint: it makes the change when it continues\n"
		      "side: three (process 33) has not made the change yet: d\nhint: it makes the change when it continues\n");
	json_object_object_del(answer, "pending");
	begin_output(false);
	assert_int_equal(ask_pending(answer), COMMAND_DONE);
	assert_output("side: one (process 11) is unchanged: a % b\nhint: run `side attach --daemon -p 11`: the program then makes the change\n");
	json_object_put(answer);
}

static void test_json(void **unused)
{
	struct json_object *answer =
			json_tokener_parse("{\"ok\":true,\"a\":[1,{\"b\":\"c/d\"}],\"e\":null}");

	(void)unused;
	begin_output(true);
	assert_int_equal(ask_print_json("kind", answer), COMMAND_DONE);
	assert_output("{\"schema\":1,\"type\":\"kind\",\"a\":[1,{\"b\":\"c/d\"}],\"e\":null}\n");
	json_object_put(answer);
}

/* ---- the probes of a session ---- */

#include "programs/side/session/status-probes.c"

#define PROBES                                                                                                                                                                           \
	"[{\"event\":[\"a:b\",\"c:\\td\"],\"probe\":\"--function f\\n\",\"pid\":77,\"state\":\"pending\",\"programs\":["                                                                 \
	"{\"name\":\"one\\t\",\"pid\":11,\"why\":\"reasons\"},{\"name\":\"two\",\"pid\":12},{\"name\":\"three\",\"pid\":13,\"answered\":true},"                                          \
	"{\"name\":\"four\",\"pid\":14,\"answered\":true,\"methods\":{\"jump\":1,\"padding\":2,\"short\":3,\"punned\":4000,\"breakpoint\":5,\"uprobe\":6},"                              \
	"\"absent\":7,\"resting\":8,\"refused\":9,\"cut\":10,\"lost\":11,\"unseen\":12,\"refusals\":[{\"first\":3,\"count\":1,\"why\":\"x\"},{\"first\":5,\"count\":4,\"why\":\"y\"}]}," \
	"{\"name\":\"five\",\"pid\":15,\"answered\":true,\"lost\":2}]},"                                                                                                                 \
	"{\"event\":[\"e:f\"],\"probe\":\"p\",\"exe\":\"/bin/x\\t\",\"state\":\"no table\"},{\"event\":[\"i:j\"],\"probe\":\"r\",\"exe\":\"/no/such\",\"state\":\"pending\"},{\"event\":[\"k:l\"],\"probe\":\"s\",\"exe\":\"/proc/self/exe\",\"state\":\"pending\"},{\"event\":[\"m:n\"],\"probe\":\"t\",\"exe\":\"/x\",\"state\":\"pending\",\"why\":\"no function\"},{\"event\":[\"o:p\"],\"probe\":\"u\",\"exe\":\"/no/such\"},{\"event\":[\"q:r\"],\"probe\":\"v\",\"exe\":\"/no/such\",\"table\":1},{\"event\":[\"g:h\"],\"probe\":\"q\"}]"

static void test_probes(void **unused)
{
	struct json_object *probes = json_tokener_parse(PROBES);

	(void)unused;
	assert_non_null(probes);
	begin_output(false);
	status_print_probes(probes, false);
	status_print_probes(NULL, false);
	assert_output("    a:b c:\\x09d  --function f\\x0a  in process 77  pending\n"
		      "      one\\x09 11: not set: reasons\n"
		      "      two 12: no answer yet\n"
		      "      three 13: nothing to set\n"
		      "      four 14: 1 by jump, 2 by jump into padding, 3 by short jump, 4,000 by punned jump, 5 by breakpoint, 6 by uprobe, "
		      "7 not loaded, 8 idle, 9 refused, 10 nested hits not recorded, 11 hits lost, 12 returns not recorded\n"
		      "        location 3: x\n"
		      "        location 5 to 8: y\n"
		      "      five 15: 2 hits lost\n"
		      "    e:f  p  in /bin/x\\x09  not resolved: enable it again\n"
		      "    i:j  r  in /no/such  pending: no such file\n"
		      "    k:l  s  in /proc/self/exe  pending: no process yet\n"
		      "    m:n  t  in /x  pending: no function\n"
		      "    o:p  u  in /no/such  pending: no such file\n"
		      "    q:r  v  in /no/such\n"
		      "    g:h  q  in all programs\n");
	json_object_put(probes);
	probes = json_tokener_parse(
			"[{\"event\":[\"a:b\"],\"probe\":\"p\",\"state\":\"no table\",\"programs\":[{\"name\":\"x\",\"pid\":1,\"why\":\"y\"},"
			"{\"name\":\"z\",\"pid\":2,\"answered\":true,\"absent\":3,\"refused\":4}]}]");
	begin_output(false);
	status_print_probes(probes, true);
	assert_output("    a:b  p  in all programs  \033[1;31mnot resolved: enable it again\033[0m\n"
		      "      x 1: \033[1;31mnot set: y\033[0m\n"
		      "      z 2: 3 not loaded, \033[1;31m4 refused\033[0m\n");
	json_object_put(probes);
}

/* ---- programs of ours ---- */

static const char *own_path, *executable;
static bool has_agent, no_pipe, no_fork;
static int exec_error;

static ssize_t played_readlink(const char *path, char *to, size_t size)
{
	assert_string_equal(path, "/proc/self/exe");
	assert_int_equal(size, PATH_MAX - 1);
	if (!own_path)
		return -1;
	memcpy(to, own_path, strlen(own_path));
	return (ssize_t)strlen(own_path);
}

static int played_access(const char *path, int mode)
{
	assert_int_equal(mode, X_OK);
	if (strlen(path) < 100)
		called("%s;", path);
	else
		called("%zu;", strlen(path));
	return executable && !strcmp(path, executable) ? 0 : -1;
}

static char *played_library(const char *name)
{
	assert_string_equal(name, "libside-agent.so");
	return has_agent ? strdup("/lib/agent.so") : NULL;
}

static int played_pipe(int ends[2])
{
	errno = EMFILE;
	return no_pipe ? -1 : pipe(ends);
}

static pid_t played_fork(void)
{
	errno = EAGAIN;
	return no_fork ? -1 : fork();
}

/*
 * In the child: write the arguments and environment of the program to the descriptor behind
 * `--ready`.
 */
static int played_exec(const char *path, char *const *args)
{
	static const char *const names[] = {"LD_PRELOAD", "SIDE_RING_PORTABLE", "SIDE_USER_EVENTS",
			"VARIABLE", "SIDE_AGENT_SOCKET", "SIDE_AGENT_SESSION"};
	int ready = -1, signal = 0;
	const char *option = "";

	*calls = '\0';
	if (exec_error) {
		errno = exec_error;
		return -1;
	}
	called("+%s", path);
	for (; *args; args++) {
		ready = atoi(*args);
		if (strcmp(option, "--ready") != 0)
			called(" %s", *args);
		option = *args;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		called(" %s", getenv(names[i]) ? getenv(names[i]) : "-");
	(void)prctl(PR_GET_PDEATHSIG, &signal);
	called(" %d %d", signal, getsid(0) == getpid());
	_exit(write(ready, calls, strlen(calls)) > 0 ? 0 : 9);
}

#define SIDE_LIBEXEC "../lib/side"
#define readlink played_readlink
#define access played_access
#define session_library played_library
#define pipe played_pipe
#define fork played_fork
#define execv played_exec
#define begin helper_begin_any
#include "programs/side/session/helper-program.c"
#undef readlink
#undef access
#undef pipe
#undef fork
#undef execv
#undef begin

static void test_find(void **unused)
{
	char path[PATH_MAX];
	static char long_path[PATH_MAX];

	(void)unused;
	own_path = "/opt/bin/side";
	executable = "/opt/bin/prog";
	assert_int_equal(helper_find("prog", "things", path), COMMAND_DONE);
	assert_string_equal(path, executable);
	assert_called("/opt/bin/prog;");
	executable = "/opt/bin/../lib/side/prog";
	assert_int_equal(helper_find("prog", "things", path), COMMAND_DONE);
	assert_string_equal(path, executable);
	assert_called("/opt/bin/prog;/opt/bin/../lib/side/prog;");
	executable = "/opt/bin/../prog/prog";
	assert_int_equal(helper_find("prog", "things", path), COMMAND_DONE);
	assert_string_equal(path, executable);
	assert_called("/opt/bin/prog;/opt/bin/../lib/side/prog;/opt/bin/../prog/prog;");
	for (int i = 0; i < 2; i++) {
		executable = NULL;
		own_path = i ? NULL : "/opt/bin/side";
		begin_output(false);
		assert_int_equal(helper_find("prog", "things", path), COMMAND_FAILED);
		assert_output("side: cannot record things: the program prog is not installed\nhint: install side again\n");
		assert_called(i ? ""
				: "/opt/bin/prog;/opt/bin/../lib/side/prog;/opt/bin/../prog/prog;");
	}
	/*
	 * Paths of PATH_MAX bytes are too long: first the second, then the third, then the first.
	 */
	for (int i = 0; i < 6; i++) {
		static const size_t lengths[] = {4078, 4079, 4082, 4083, 4090, 4091};
		static const char *const tried[] = {"4083;4095;4091;", "4084;4092;", "4087;4095;",
				"4088;", "4095;", ""};

		memset(long_path, 'd', sizeof(long_path));
		long_path[0] = '/';
		memcpy(long_path + lengths[i], "/x", 3);
		own_path = long_path;
		begin_output(false);
		assert_int_equal(helper_find("prog", "things", path), COMMAND_FAILED);
		assert_output("side: cannot record things: the program prog is not installed\nhint: install side again\n");
		assert_called(tried[i]);
	}
}

static void test_words(void **unused)
{
	char **args = NULL;

	(void)unused;
	assert_true(helper_add(&args, "a", NULL) && helper_add(&args, "b", "c"));
	assert_true(helper_add_number(&args, "d", UINT64_MAX));
	assert_string_equal(args[0], "a");
	assert_string_equal(args[1], "b");
	assert_string_equal(args[2], "c");
	assert_string_equal(args[3], "d");
	assert_string_equal(args[4], "18446744073709551615");
	assert_null(args[5]);
	helper_free(args);
	helper_free(NULL);
	/* Each failing allocation: the args so far are kept. */
	for (unsigned int i = 1; i <= 4; i++) {
		args = NULL;
		failing_arm(i);
		assert_false(helper_add(&args, "b", "c"));
		assert_true(failing_has_failed());
		helper_free(args);
	}
}

static void test_start(void **unused)
{
	unsigned int before;
	char **args = NULL, text[400];
	pid_t child = 0;
	int ready = 0, status;

	(void)unused;
	setenv("SIDE_USER_EVENTS", "1", 1);
	has_agent = true;
	before = resources_descriptors();
	assert_true(helper_add(&args, "/x/prog", "--method"));
	assert_int_equal(helper_begin(&args, "/sock", &ready, &child), COMMAND_DONE);
	assert_int_equal(fcntl(ready, F_GETFD), FD_CLOEXEC);
	text[read(ready, text, sizeof(text) - 1)] = '\0';
	assert_string_equal(
			text, "+/x/prog /x/prog --method --ready /lib/agent.so 1 - - /sock  15 1");
	assert_int_equal(read(ready, text, 1), 0);
	close(ready);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	helper_free(args);
	/* Without a parent whose death must end it. */
	args = NULL;
	assert_true(helper_add(&args, "/x/prog", NULL));
	assert_int_equal(helper_start(&args, "VARIABLE", "5"), COMMAND_DONE);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	helper_free(args);
	/* It cannot be executed: its status is that of the verb. */
	args = NULL;
	exec_error = ENOEXEC;
	assert_true(helper_add(&args, "/x/prog", NULL));
	begin_output(false);
	assert_int_equal(helper_start(&args, NULL, NULL), COMMAND_FAILED);
	assert_output("side: cannot run /x/prog: Exec format error\n");
	assert_int_equal(wait(&status), -1);
	exec_error = 0;
	no_fork = true;
	ready = 0;
	begin_output(false);
	assert_int_equal(helper_begin(&args, "/sock", &ready, &child), COMMAND_FAILED);
	assert_output("side: cannot start a process: Resource temporarily unavailable\n");
	assert_int_equal(ready, -1);
	no_fork = false;
	no_pipe = true;
	begin_output(false);
	assert_int_equal(helper_start(&args, NULL, NULL), COMMAND_FAILED);
	assert_output("side: cannot make a pipe: Too many open files\n");
	no_pipe = false;
	begin_output(false);
	failing_arm(1);
	assert_int_equal(helper_start(&args, NULL, NULL), COMMAND_FAILED);
	assert_true(failing_has_failed());
	assert_output("side: out of memory\n");
	helper_free(args);
	assert_int_equal(resources_descriptors(), before);
}

static int no_object_is_left(void **unused)
{
	(void)unused;
	return nr_objects;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_errors, no_object_is_left),
			cmocka_unit_test_teardown(test_connect, no_object_is_left),
			cmocka_unit_test_teardown(test_kept, no_object_is_left),
			cmocka_unit_test_teardown(test_questions, no_object_is_left),
			cmocka_unit_test_teardown(test_members, no_object_is_left),
			cmocka_unit_test_teardown(test_messages, no_object_is_left),
			cmocka_unit_test_teardown(test_pending, no_object_is_left),
			cmocka_unit_test_teardown(test_json, no_object_is_left),
			cmocka_unit_test_teardown(test_probes, no_object_is_left),
			cmocka_unit_test_teardown(test_find, no_object_is_left),
			cmocka_unit_test_teardown(test_words, no_object_is_left),
			cmocka_unit_test_teardown(test_start, no_object_is_left),
	};
	int ret;

	alarm(50);
	if (!mkdtemp(work))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(work);
	return ret;
}
