/* SPDX-License-Identifier: MIT */
/*
 * Verbs of sessions with a daemon and a side-kernel that the test plays: the requests, their
 * timeouts, and the output.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../called.h"
#include "../counted-json.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "printed.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/side/session/kernel-session.h"
#include "programs/side/cli/more.h"
#include "recorder/core/session.h"

/* ---- the daemon ---- */

static const char *answers[6]; /* NULL: an error, with status 31 and more */
static unsigned int nr_answers;
static int connect_status, which_status, prepare_status, write_status, print_status;

static int played_connect(struct ask *ask, bool system, bool no_daemon)
{
	called("connect %d %d;", system, no_daemon);
	*ask = (struct ask){.system = system};
	return connect_status;
}

static int played_call(struct ask *ask, struct json_object *request, int timeout_ms,
		struct json_object **answer)
{
	const char *text = answers[nr_answers++];

	(void)ask;
	called("ask %d %s;", timeout_ms,
			json_object_to_json_string_ext(request,
					JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(request);
	*answer = text ? json_tokener_parse(text) : NULL;
	return *answer ? COMMAND_DONE : 30 + (int)nr_answers;
}

static int played_which(const struct ask *ask, const char *operand, const char *option,
		char buffer[ASK_NAME_MAX], const char **name)
{
	(void)ask;
	called("which %s %s;", operand ? operand : "-", option ? option : "-");
	strcpy(buffer, "current");
	*name = operand ? operand : option ? option : buffer;
	return which_status;
}

static int played_print(const char *type, struct json_object *answer)
{
	called("print %s %s;", type,
			json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	return print_status;
}

static int played_write(const struct ask *ask, const char *name)
{
	(void)ask;
	called("write %s;", name);
	return write_status;
}

static int played_prepare(struct ask *ask, const struct parsed *parsed, struct json_object *request)
{
	(void)ask;
	(void)parsed;
	called("prepare %s;", ask_text(request, "verb"));
	return prepare_status;
}

static bool played_ensure(struct ask *ask, const char *session)
{
	(void)ask;
	called("ensure %s;", session);
	return false;
}

static void played_drain(struct ask *ask)
{
	(void)ask;
	called("drain;");
}

static int played_refresh(struct ask *ask)
{
	(void)ask;
	called("look;");
	return 0;
}

static void played_forget(const struct ask *ask, const char *name, bool is_noted)
{
	(void)ask;
	called("forget %s %d;", name, is_noted);
}

#define ask_connect played_connect
#define ask_close(ask) called("close;")
#define ask_call played_call
#define ask_which played_which
#define ask_print_json played_print
#define current_write played_write
#define current_try_write(ask, name) called("try %s;", name)
#define current_forget played_forget
#define kernel_session_prepare played_prepare
#define kernel_session_ensure played_ensure
#define kernel_session_drain played_drain
#define kernel_session_refresh played_refresh
#define more_explain(args) called("explain %s;", (args)[0])
#include "programs/side/session/sessions.c"

#include "programs/side/session/request.c"

/* ---- command lines ---- */

static char word[400];
static char *first = word;

/* Runs the verb of a command line and checks its status. */
static int run(const char *line)
{
	static char text[8192];
	char *arguments[64], *next = text;
	struct parse_error error;
	struct parsed parsed;
	int count = 0, status;

	snprintf(text, sizeof(text), "side %s", line);
	while (count < 63 && (arguments[count] = strsep(&next, " ")))
		count++;
	arguments[count] = NULL;
	memset(&error, 0, sizeof(error));
	if (parse_command_line(count, arguments, &parsed, &error)) {
		(void)fprintf(stderr, "%s\n", error.message);
		parsed_free(&parsed);
		return -1;
	}
	parsed.args = &first;
	parsed.common.json = parsed.common.json || printed_options.json;
	nr_answers = 0;
	status = parsed.verb->id == VERB_REGENERATE ? cmd_regenerate(&parsed)
						    : cmd_session(&parsed);
	parsed_free(&parsed);
	return status;
}

static void answer(const char *one, const char *two)
{
	memset(answers, 0, sizeof(answers));
	answers[0] = one;
	answers[1] = two;
}

static void reset(void)
{
	connect_status = which_status = prepare_status = write_status = print_status = 0;
	printed_options = (struct common_options){.color = COLOR_NEVER};
	snprintf(word, sizeof(word), "words");
	answer("{}", "{}");
	*calls = '\0';
}

static void assert_run(const char *line, int status, const char *expected, const char *printed)
{
	begin_output();
	assert_int_equal(run(line), status);
	assert_output(printed);
	assert_called(expected);
}

#define START "connect 0 0;"
/* Refused before a request to a daemon. */
#define REFUSED(line, printed) assert_run(line, COMMAND_USAGE, "", printed)

/* Returns the members of a request without the common ones ("verb":"x", ...). */
static const char *members(const char *line)
{
	char *at;

	begin_output();
	(void)run(line);
	(void)end_output();
	at = strstr(calls, ";ask ");
	assert_non_null(at);
	at = strstr(at, "\"verb\":");
	assert_non_null(at);
	at[strcspn(at, ";")] = '\0';
	return at;
}

#define MEMBERS(line, expected)                                   \
	do {                                                      \
		assert_string_equal(members(line), expected "}"); \
		*calls = '\0';                                    \
	} while (0)

/* ---- requests ---- */

static void test_requests(void **unused)
{
	char directory[PATH_MAX], expected[PATH_MAX + 200];

	(void)unused;
	reset();
	assert_non_null(getcwd(directory, sizeof(directory)));
	MEMBERS("start s", "\"verb\":\"start\",\"session\":\"s\"");
	MEMBERS("create", "\"verb\":\"create\"");
	MEMBERS("create --output /o --compress s",
			"\"verb\":\"create\",\"session\":\"s\",\"output\":\"/o\",\"compress\":3");
	MEMBERS("create --compress=7 --memory-limit 2K --rotate-every 3s --rotate-size 5K --keep-size 4K --keep-age 6s --keep-count 7 s",
			"\"verb\":\"create\",\"session\":\"s\",\"compress\":7,\"memory-limit\":2048,\"rotate-time\":3000000000,\"rotate-size\":5120,\"retain-size\":4096,\"retain-age\":6000000000,\"retain-chunks\":7");
	MEMBERS("create --snapshot-on crash --snapshot-on signal:USR1 s",
			"\"verb\":\"create\",\"session\":\"s\",\"trigger\":[\"crash\",\"signal:USR1\"]");
	snprintf(expected, sizeof(expected),
			"\"verb\":\"create\",\"session\":\"s\",\"output\":\"%s/a/b\"}", directory);
	assert_string_equal(members("create --output a/b s"), expected);
	*calls = '\0';
	MEMBERS("create --to tcp://host:1234 s",
			"\"verb\":\"create\",\"session\":\"s\",\"to\":\"tcp://host:1234\"");
	snprintf(expected, sizeof(expected),
			"\"verb\":\"create\",\"session\":\"s\",\"to\":\"%s/fifo\"}", directory);
	assert_string_equal(members("create --to fifo s"), expected);
	*calls = '\0';
	REFUSED("create --to - s",
			"side: cannot write to standard output: the daemon writes the trace, and does not have your standard output\nhint: write to a FIFO\n");
	REFUSED("create --memory-limit 9223372036854775808 s",
			"side: `--memory-limit 9223372036854775808` is too large\n");
	MEMBERS("create --memory-limit 9223372036854775807 s",
			"\"verb\":\"create\",\"session\":\"s\",\"memory-limit\":9223372036854775807");
	MEMBERS("track --pid 1,,2 --uid root,7 --gid root,8 --name a,b s",
			"\"verb\":\"track\",\"session\":\"s\",\"pid\":[\"1\",\"2\"],\"uid\":[\"0\",\"7\"],\"gid\":[\"0\",\"8\"],\"name\":[\"a,b\"]");
	MEMBERS("track --pid 1 s", "\"verb\":\"track\",\"session\":\"s\",\"pid\":[\"1\"]");
	MEMBERS("add-context --type c --type d e --session s",
			"\"verb\":\"add-context\",\"session\":\"s\",\"context\":[\"e\",\"c\",\"d\"]");
	MEMBERS("untrack --all s", "\"verb\":\"untrack\",\"session\":\"s\",\"all\":true");
	REFUSED("track --pid 1,x,2 s",
			"side: `--pid x` is not the number of a process\nhint: use `side track --name` for names\n");
	REFUSED("track --uid no-such-user s",
			"side: there is no user `no-such-user`\nhint: `getent passwd` lists them\n");
	REFUSED("track --gid no-such-group s",
			"side: there is no group `no-such-group`\nhint: `getent group` lists them\n");
	REFUSED("track s",
			"side: missing option: the processes to track\nhint: write `--pid`, `--uid`, `--gid`, `--name`, `--cgroup`, `--container` or `--all`\n");
	REFUSED("untrack s",
			"side: missing option: the processes to untrack\nhint: write `--pid`, `--uid`, `--gid`, `--name`, `--cgroup`, `--container` or `--all`\n");
	MEMBERS("enable-channel c",
			"\"verb\":\"enable-channel\",\"session\":\"current\",\"channel\":\"c\"");
	MEMBERS("add-context a b --session s",
			"\"verb\":\"add-context\",\"session\":\"s\",\"context\":[\"a\",\"b\"]");
	REFUSED("add-context --session s",
			"side: missing operand: the contexts to add\nhint: `side help contexts` lists them\n");
	/* In a directory that was removed. */
	{
		char gone[] = "/tmp/side-test-sessions-XXXXXX";

		assert_non_null(mkdtemp(gone));
		assert_int_equal(chdir(gone), 0);
		assert_int_equal(rmdir(gone), 0);
		assert_run("create --output a s", COMMAND_FAILED, "",
				"side: cannot find the directory a: No such file or directory\n");
		assert_int_equal(chdir(directory), 0);
	}
	begin_output();
	assert_int_equal(run("create --to http://x s"), COMMAND_USAGE);
	assert_int_equal(strncmp(end_output(), "side: ", 6), 0);
	assert_called("");
	assert_false(session_request_is_number(""));
	assert_false(session_request_is_number("1x"));
	assert_true(session_request_is_number("0123456789"));
}

static void test_patterns(void **unused)
{
	(void)unused;
	reset();
	MEMBERS("enable-event --session s", "\"verb\":\"enable-event\",\"session\":\"s\"");
	MEMBERS("enable-event a,b c, --session s",
			"\"verb\":\"enable-event\",\"session\":\"s\",\"event\":[\"a\",\"b\",\"c\"]");
	MEMBERS("enable-event --exclude x --exclude !y a --session s",
			"\"verb\":\"enable-event\",\"session\":\"s\",\"event\":[\"a\",\"!x\",\"!y\"]");
	MEMBERS("enable-event --loglevel warning a,!b --session s",
			"\"verb\":\"enable-event\",\"session\":\"s\",\"event\":[\"a@warning\",\"!b\"]");
	MEMBERS("enable-event --loglevel-only err --session s",
			"\"verb\":\"enable-event\",\"session\":\"s\",\"event\":[\"*@=err\"]");
	REFUSED("enable-event --loglevel-only err --loglevel err --session s",
			"side: `--loglevel` and `--loglevel-only` contradict each other\nhint: leave one of them out\n");
	REFUSED("enable-event --loglevel err a@debug --session s",
			"side: cannot use `--loglevel` with `a@debug`: the pattern has a log level\nhint: leave one of them out\n");
	MEMBERS("enable-event --loglevel err a\\@debug,!b@c --session s",
			"\"verb\":\"enable-event\",\"session\":\"s\",\"event\":[\"a\\\\@debug@err\",\"!b@c\"]");
	assert_true(session_request_has_level("@a"));
	assert_true(session_request_has_level("a\\@b@c"));
	assert_false(session_request_has_level("a\\@b"));
	assert_false(session_request_has_level("a"));
	assert_true(session_request_has_level("\\a@b"));
	MEMBERS("enable-event --context pid --context tid --channel c a --session s",
			"\"verb\":\"enable-event\",\"session\":\"s\",\"channel\":\"c\",\"event\":[\"a\"],\"event-context\":[\"pid\",\"tid\"]");
	REFUSED("enable-event --all a --session s",
			"side: cannot use `--all` with the pattern `a`\nhint: leave one of them out\n");
	REFUSED("disable-event --session s",
			"side: missing operand: the events to disable\nhint: name events, or write `--all`\n");
	MEMBERS("disable-event a --session s",
			"\"verb\":\"disable-event\",\"session\":\"s\",\"event\":[\"a\"]");
	MEMBERS("disable-event --pid 12 a,b c --session s",
			"\"verb\":\"disable-probe\",\"session\":\"s\",\"pid\":12,\"event\":[\"a,b\",\"c\"]");
	REFUSED("disable-event --pid 12 --session s",
			"side: missing operand: the events to disable\nhint: name events, or write `--all`\n");
}

static void test_kernel(void **unused)
{
	(void)unused;
	reset();
	MEMBERS("enable-event -k sched:a,!kernel::b --session s",
			"\"verb\":\"enable-event\",\"session\":\"s\",\"event\":[\"kernel::sched:a\",\"!kernel::b\"]");
	MEMBERS("enable-event -k --syscall open --session s",
			"\"verb\":\"enable-event\",\"session\":\"s\",\"event\":[\"kernel::syscalls:sys_enter_open\",\"kernel::syscalls:sys_exit_open\"]");
	MEMBERS("enable-event -k --all --session s",
			"\"verb\":\"enable-event\",\"session\":\"s\",\"event\":[\"kernel::*\"]");
	REFUSED("enable-event -k --session s",
			"side: missing operand: the kernel events to record\nhint: `side list -k` lists them\nhint: `--all` records thousands, which slow the machine down\n");
	REFUSED("enable-event -k --userspace a --session s",
			"side: cannot use `--kernel` with `--userspace`: they select different events\nhint: write two commands\n");
	REFUSED("enable-event -k --loglevel err a --session s",
			"side: kernel events have no log levels\nhint: leave it out\n");
	REFUSED("enable-event -k --loglevel-only err a --session s",
			"side: kernel events have no log levels\nhint: leave it out\n");
	REFUSED("enable-event --syscall a --session s",
			"side: cannot use `--syscall`, `--kernel-buffer` or `--kernel-method` without `--kernel`\nhint: write `--kernel`, too\n");
	REFUSED("enable-event --kernel-buffer 4M a --session s",
			"side: cannot use `--syscall`, `--kernel-buffer` or `--kernel-method` without `--kernel`\nhint: write `--kernel`, too\n");
	REFUSED("enable-event --kernel-method perf a --session s",
			"side: cannot use `--syscall`, `--kernel-buffer` or `--kernel-method` without `--kernel`\nhint: write `--kernel`, too\n");
	REFUSED("enable-event -k --context pid a --session s",
			"side: cannot record `--context pid` with kernel events: its value would be that of the program side-kernel\nhint: kernel events have the fields pid, tid and comm\n");
	REFUSED("enable-event -k --exe /x a --session s",
			"side: side cannot set probes in the kernel\nhint: create the probe with `perf probe`, then enable it as `probe:NAME`\n");
	REFUSED("enable-event -k --global a --session s",
			"side: side cannot set probes in the kernel\nhint: create the probe with `perf probe`, then enable it as `probe:NAME`\n");
	REFUSED("enable-event -k --pid 3 a --session s",
			"side: side cannot set probes in the kernel\nhint: create the probe with `perf probe`, then enable it as `probe:NAME`\n");
}

/* The longest pattern of each form, and one byte more. */
static void test_limits(void **unused)
{
	static const struct {
		const char *options;
		int extra; /* bytes that are added */
		bool is_exclusion;
		int most; /* beyond the text of a pattern */
	} cases[] = {{"", 0, false, 63}, {" --loglevel err", 4, false, 63}, {" -k", 8, false, 0},
			{" -k --syscall", 27, false, 0}, {" --exclude", 1, true, 7}};

	(void)unused;
	reset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (int more = 0; more < 2; more++) {
			char line[PATTERN_TEXT_MAX + 300], printed[300];
			int size = PATTERN_TEXT_MAX + cases[i].most - cases[i].extra + more;
			char *at = line +
					snprintf(line, sizeof(line), "enable-event --session s%s ",
							cases[i].options);

			memset(at, 'e', (size_t)size);
			at[size] = '\0';
			begin_output();
			assert_int_equal(run(line), more ? COMMAND_USAGE : COMMAND_DONE);
			snprintf(printed, sizeof(printed),
					"side: the pattern `%.128s…` is too long\n", at);
			if (more)
				assert_output(printed);
			else
				(void)end_output();
			*calls = '\0';
		}
	}
}

/* Each verb has a timeout of its own. */
static void test_times(void **unused)
{
	(void)unused;
	reset();
	answer("{\"session\":\"x\"}", NULL);
	assert_run("create", 0, START "ask 60000 {\"version\":1,\"verb\":\"create\"};try x;close;",
			"side: created session x\nhint: add events with `side enable-event`, then `side start` it\n");
}

/* ---- answers ---- */

static struct json_object *parse(const char *text)
{
	struct json_object *object = json_tokener_parse(text);

	assert_non_null(object);
	return object;
}

static void test_timeout(void **unused)
{
	static const struct {
		enum verb_id verb;
		const char *request;
		int ms;
	} cases[] = {{VERB_STOP, "{}", CONTROL_FOREVER}, {VERB_DESTROY, "{}", CONTROL_FOREVER},
			{VERB_SNAPSHOT, "{}", CONTROL_FOREVER},
			{VERB_ROTATE, "{}", CONTROL_FOREVER}, {VERB_START, "{}", 60000},
			{VERB_START, "{\"timeout\":1999999}", 60001},
			{VERB_START, "{\"timeout\":2000000}", 60002},
			{VERB_START, "{\"timeout\":2147423647999999}", 2147483647},
			{VERB_START, "{\"timeout\":2147423648000000}", CONTROL_FOREVER}};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct json_object *request = parse(cases[i].request);

		assert_int_equal(sessions_get_timeout(cases[i].verb, request), cases[i].ms);
		json_object_put(request);
	}
}

static void test_changes(void **unused)
{
	(void)unused;
	reset();
	assert_run("enable-channel c", 0,
			START
			"which - -;ask 60000 {\"version\":1,\"verb\":\"enable-channel\",\"session\":\"current\",\"channel\":\"c\"};close;",
			"side: session current now has this channel\n");
	answer("{\"changed\":false}", NULL);
	begin_output();
	assert_int_equal(run("enable-channel c"), 0);
	assert_output("side: session current: nothing to change\n");
	answer("{\"changed\":true}", NULL);
	begin_output();
	assert_int_equal(run("disable-channel c"), 0);
	assert_int_equal(run("disable-event e"), 0);
	assert_int_equal(run("add-context e"), 0);
	assert_int_equal(run("untrack --all s"), 0);
	assert_int_equal(run("track --all s"), 0);
	assert_int_equal(run("enable-event"), 0);
	assert_int_equal(run("enable-event a"), 0);
	assert_int_equal(run("enable-event a b"), 0);
	assert_int_equal(run("statedump s"), 0);
	assert_int_equal(run("clear s"), 0);
	assert_output("side: session current no longer records into this channel\n"
		      "side: session current no longer records these events\n"
		      "side: session current records these contexts from now on\n"
		      "side: session s applies the new tracking rules from now on\n"
		      "side: session s applies the new tracking rules from now on\n"
		      "side: session current records all events from now on\n"
		      "side: session current records a from now on\n"
		      "side: session current records a and others from now on\n"
		      "side: requested a state dump from the programs of session s\n"
		      "side: deleted what session s had recorded\n");
	*calls = '\0';
}

static void test_track(void **unused)
{
	char line[100];

	(void)unused;
	reset();
	snprintf(line, sizeof(line), "track --pid 4194999,%d,,0 --pid 99999999999999999999 s",
			(int)getpid());
	begin_output();
	assert_int_equal(run(line), 0);
	assert_output("side: session s applies the new tracking rules from now on\n"
		      "side: session s: there is no process 4194999\nhint: `side track --name NAME` selects programs that start later\n"
		      "side: session s: there is no process 0\nhint: `side track --name NAME` selects programs that start later\n"
		      "side: session s: there is no process 99999999999999999999\nhint: `side track --name NAME` selects programs that start later\n");
	*calls = '\0';
}

static void test_start(void **unused)
{
	(void)unused;
	reset();
	answer("{\"output\":\"/o p\",\"programs\":1}", NULL);
	assert_run("start s", 0,
			START
			"which s -;ensure s;ask 60000 {\"version\":1,\"verb\":\"start\",\"session\":\"s\"};explain words;close;",
			"side: session s records; view it with: side view '/o p'\n");
	answer("{\"programs\":0}", NULL);
	begin_output();
	assert_int_equal(run("start s"), 0);
	assert_output("side: session s: no running program has joined\nhint: programs that started before the daemon join with `side attach --daemon -p PID`\n");
	answer("{}", NULL);
	begin_output();
	assert_int_equal(run("start s"), 0);
	assert_output("");
	*calls = '\0';
}

#define MESSAGE "\"messages\":[\"told\"]"

static void test_stop(void **unused)
{
	(void)unused;
	reset();
	answer("{\"output\":\"/o\",\"recorded\":1,\"bytes\":2048,\"lost\":7,\"losses\":[{\"reason\":\"ring full\",\"count\":3},{\"reason\":\"disk\",\"count\":9,\"in_bytes\":true}]}",
			NULL);
	assert_run("stop s", 0,
			START
			"which s -;ask -1 {\"version\":1,\"verb\":\"stop\",\"session\":\"s\"};close;",
			"side: session s is stopped; see it with: side view /o\nside: it has recorded 1 event, 2.0 KiB\n"
			"side: 7 events were lost:\n  4 for reasons that only the traces contain\n  3 while a ring was full\nhint: `side report --losses` shows them\nhint: use a channel with a larger `--buffer-size`, or select fewer events\n");
	answer("{\"output\":\"/o\",\"lost\":7," MESSAGE "}", NULL);
	begin_output();
	assert_int_equal(run("stop s"), 0);
	assert_output("side: told\nside: session s is stopped; see it with: side view /o\n");
	/* With snapshots, events beside them only if there are some. */
	answer("{\"recorded\":0,\"snapshots\":1,\"snapshot-recorded\":5}", NULL);
	begin_output();
	assert_int_equal(run("stop s"), 0);
	assert_output("side: 1 snapshot has 5 events\n");
	answer("{\"recorded\":2,\"snapshots\":2,\"snapshot-recorded\":1}", NULL);
	begin_output();
	assert_int_equal(run("stop s"), 0);
	assert_output("side: it has recorded 2 events, 0 bytes\nside: 2 snapshots have 1 event in all\n");
	*calls = '\0';
}

#define DESTROYED "ask -1 {\"version\":1,\"verb\":\"destroy\",\"session\":\"s\"};"

static void test_destroy(void **unused)
{
	(void)unused;
	reset();
	answer("{\"output\":\"/o p\",\"seen\":0}", NULL);
	assert_run("destroy s", 0, START "which s -;" DESTROYED "forget s 1;close;",
			"side: session s is destroyed; it recorded nothing\n");
	/* The output exists, but is not accessible. */
	answer("{\"output\":\"/dev/null/x\",\"seen\":2,\"recorded\":3," MESSAGE "}", NULL);
	begin_output();
	assert_int_equal(run("destroy s"), 0);
	assert_output("side: told\nside: session s is destroyed; it recorded 3 events from 2 processes, 0 bytes, in /dev/null/x\n");
	answer("{\"output\":\"/no such\",\"seen\":3,\"recorded\":1234,\"bytes\":1,\"processes\":[{\"recorded\":0,\"lost\":0},{\"recorded\":0,\"lost\":1},{\"recorded\":1},{\"lost\":0}]}",
			NULL);
	begin_output();
	assert_int_equal(run("destroy s"), 0);
	assert_output("side: session s is destroyed; it recorded 1,234 events from 2 processes, 1 byte\n");
	answer("{\"output\":\"/\",\"seen\":1,\"recorded\":2,\"bytes\":3,\"lost\":4,\"losses\":["
	       "{\"process\":\"p\\t\",\"ring\":\"r\",\"event\":\"e\\t\",\"count\":1000,\"reason\":\"ring full\"},"
	       "{\"process\":\"q\",\"count\":2048,\"in_bytes\":true,\"reason\":\"disk\"}]}",
			NULL);
	begin_output();
	assert_int_equal(run("destroy s"), 0);
	assert_output("side: session s is destroyed; it recorded 2 events from 1 process, 3 bytes, in /\n"
		      "side: 1,000 events were lost while a ring was full\nhint: use a channel with a larger `--buffer-size`, or select fewer events\n"
		      "  p\\x09/r  e\\x09  1,000 (ring full)\n  q  events with unknown names  2.0 KiB (disk)\n");
	printed_options.quiet = true;
	begin_output();
	assert_int_equal(run("destroy s"), 0);
	assert_output("side: 1,000 events were lost while a ring was full\nhint: use a channel with a larger `--buffer-size`, or select fewer events\n");
	printed_options.quiet = false;
	/* More processes without events than the daemon saw. */
	answer("{\"output\":\"/\",\"seen\":1,\"processes\":[{\"recorded\":0},{\"recorded\":0}]}",
			NULL);
	begin_output();
	assert_int_equal(run("destroy s"), 0);
	assert_output("side: session s is destroyed; it recorded nothing\n");
	/* What was sent. */
	answer("{\"sending\":{\"packets\":1,\"bytes\":2048,\"to\":\"t\\t\"}}", NULL);
	begin_output();
	assert_int_equal(run("destroy s"), 0);
	assert_output("side: session s is destroyed; it recorded nothing\nside: delivered 1 packet, 2.0 KiB, to t\\x09\n");
	answer("{\"output\":\"/o\\t\",\"sending\":{\"packets\":2222,\"bytes\":0,\"to\":\"t\",\"dropped-packets\":1,\"dropped-events\":3333,\"failed\":true}}",
			NULL);
	begin_output();
	assert_int_equal(run("destroy s"), COMMAND_FAILED);
	assert_output("side: session s is destroyed; it recorded nothing\nside: delivered 2,222 packets, 0 bytes, to t\n"
		      "side: lost 3,333 events in 1 packet: the receiver did not answer, and the spool was full\n"
		      "side: not everything was delivered: the recorded data is in /o\\x09\n");
	answer("{\"sending\":{\"packets\":2,\"to\":\"t\",\"dropped-packets\":4444,\"dropped-events\":1}}",
			NULL);
	begin_output();
	assert_int_equal(run("destroy s"), 0);
	assert_output("side: session s is destroyed; it recorded nothing\nside: delivered 2 packets, 0 bytes, to t\n"
		      "side: lost 1 event in 4,444 packets: the receiver did not answer, and the spool was full\n");
	*calls = '\0';
	/* With --json it is part of the answer. */
	printed_options.json = true;
	answer("{\"sending\":{\"failed\":true}}", NULL);
	assert_run("destroy s", COMMAND_FAILED,
			START "which s -;" DESTROYED
			      "forget s 1;print destroy {\"sending\":{\"failed\":true}};close;",
			"");
	answer("{\"sending\":{\"failed\":false}}", NULL);
	begin_output();
	assert_int_equal(run("destroy s"), 0);
	answer("{}", NULL);
	assert_int_equal(run("destroy s"), 0);
	print_status = 17;
	answer("{\"sending\":{\"failed\":true}}", NULL);
	assert_int_equal(run("destroy s"), 17);
	assert_output("");
	*calls = '\0';
}

#define ASK_ALL START "ask 60000 {\"version\":1,\"verb\":\"status\"};"
#define ASK_DESTROY(name) \
	"ask -1 {\"version\":1,\"verb\":\"destroy\",\"session\":\"" name "\"};forget " name

static void test_several(void **unused)
{
	(void)unused;
	reset();
	answers[2] = "{}";
	assert_run("destroy a b c", 0,
			START ASK_DESTROY("a") " 1;" ASK_DESTROY("b") " 1;" ASK_DESTROY(
					"c") " 1;close;",
			"side: session a is destroyed; it recorded nothing\nside: session b is destroyed; it recorded nothing\nside: session c is destroyed; it recorded nothing\n");
	/* The worst status. */
	answers[1] = NULL;
	begin_output();
	assert_int_equal(run("destroy a b c"), 32);
	answers[0] = NULL;
	answers[2] = "{}";
	assert_int_equal(run("destroy a b c"), 32);
	answers[2] = NULL;
	assert_int_equal(run("destroy a b c"), 33);
	(void)end_output();
	*calls = '\0';
	answer("{}", NULL);
	assert_run("destroy", 0, START "which - -;" ASK_DESTROY("current") " 1;close;",
			"side: session current is destroyed; it recorded nothing\n");
	assert_run("destroy --session t", 0, START "which - t;" ASK_DESTROY("t") " 1;close;",
			"side: session t is destroyed; it recorded nothing\n");
	which_status = 25;
	assert_run("destroy", 25, START "which - -;close;", "");
	assert_run("start", 25, START "which - -;close;", "");
	which_status = 0;
	assert_run("destroy --session a b c", COMMAND_USAGE, START "close;",
			"side: cannot use `--session` with the name of another session\nhint: leave one of them out\n");
	assert_run("destroy --all a", COMMAND_USAGE, START "close;",
			"side: cannot use `--all` with the name of a session\nhint: leave one of them out\n");
	assert_run("destroy --all --session a", COMMAND_USAGE, START "close;",
			"side: cannot use `--all` with the name of a session\nhint: leave one of them out\n");
	/* All of them. */
	assert_run("destroy --all", 0, ASK_ALL "close;", "side: there are no sessions\n");
	answer("{\"sessions\":[]}", NULL);
	assert_run("destroy --all", 0, ASK_ALL "close;", "side: there are no sessions\n");
	answer("{\"sessions\":[{\"name\":\"a\"},{\"name\":\"b\"}]}", "{}");
	answers[2] = "{}";
	begin_output();
	assert_int_equal(run("destroy --all"), 0);
	assert_output("side: session a is destroyed; it recorded nothing\nside: session b is destroyed; it recorded nothing\n");
	*calls = '\0';
	answers[1] = NULL;
	begin_output();
	assert_int_equal(run("destroy --all"), 32);
	answers[2] = NULL;
	assert_int_equal(run("destroy --all"), 33);
	answers[0] = NULL;
	*calls = '\0';
	assert_int_equal(run("destroy --all"), 31);
	assert_called(ASK_ALL "close;");
	assert_null(strstr(end_output(), "no sessions"));
	assert_run("destroy --all", 31, ASK_ALL "close;", "");
	/* Two, and one that is named twice. */
	answer("{}", "{}");
	assert_run("destroy a b", 0, START ASK_DESTROY("a") " 1;" ASK_DESTROY("b") " 1;close;",
			"side: session a is destroyed; it recorded nothing\nside: session b is destroyed; it recorded nothing\n");
	assert_run("destroy --session a b", 0, START "which b a;" ASK_DESTROY("b") " 1;close;",
			"side: session b is destroyed; it recorded nothing\n");
}

static void test_paths(void **unused)
{
	(void)unused;
	reset();
	answer("{\"path\":\"/p q\",\"output\":\"/o\"}", NULL);
	assert_run("snapshot s", 0,
			START
			"which s -;drain;ask -1 {\"version\":1,\"verb\":\"snapshot\",\"session\":\"s\"};close;",
			"/p q\n");
	answer("{\"path\":\"p\",\"output\":\"/o\"}", NULL);
	assert_run("rotate s", 0,
			START
			"which s -;drain;ask -1 {\"version\":1,\"verb\":\"rotate\",\"session\":\"s\"};close;",
			"/o/p\n");
	answer("{\"path\":\"\",\"output\":\"/o\"}", NULL);
	begin_output();
	assert_int_equal(run("rotate s"), 0);
	answer("{\"path\":\"p\"}", NULL);
	assert_int_equal(run("rotate s"), 0);
	answer("{\"path\":\"p\",\"empty\":true," MESSAGE "}", NULL);
	assert_int_equal(run("snapshot s"), 0);
	fflush(NULL);
	assert_output("/o\np\nside: told\nside: session s: the snapshot is empty: no event is in the buffers of its programs\n");
	*calls = '\0';
}

static void test_events(void **unused)
{
	(void)unused;
	reset();
	/* Which ones are explained. */
	answer("{\"programs\":1}", NULL);
	begin_output();
	(void)run("enable-event a");
	assert_non_null(strstr(calls, "explain words;"));
	*calls = '\0';
	(void)run("disable-event a");
	assert_non_null(strstr(calls, "explain words;"));
	*calls = '\0';
	(void)run("enable-event --loglevel err");
	assert_non_null(strstr(calls, "explain words;"));
	*calls = '\0';
	(void)run("enable-event --loglevel-only err");
	assert_non_null(strstr(calls, "explain words;"));
	*calls = '\0';
	(void)run("enable-event --filter x>1");
	assert_non_null(strstr(calls, "explain words;"));
	*calls = '\0';
	answer("{\"programs\":1}", NULL);
	(void)run("enable-event a");
	assert_null(strstr(calls, "look;"));
	*calls = '\0';
	(void)run("enable-event --channel c");
	(void)run("enable-event");
	(void)run("enable-channel c");
	(void)run("enable-event -k sched:a");
	answer("{\"programs\":0}", NULL);
	(void)run("enable-event a");
	assert_null(strstr(calls, "explain"));
	*calls = '\0';
	(void)end_output();
	printed_options.quiet = true;
	answer("{\"programs\":1}", NULL);
	begin_output();
	(void)run("enable-event a");
	assert_null(strstr(calls, "explain"));
	*calls = '\0';
	/* side-kernel is asked before and after. */
	assert_int_equal(run("enable-event -k sched:a"), 0);
	assert_non_null(strstr(calls, ";prepare enable-event;ask 60000 "));
	assert_non_null(strstr(calls, "};look;close;"));
	*calls = '\0';
	assert_int_equal(run("disable-event -k sched:a"), 0);
	assert_null(strstr(calls, "prepare"));
	assert_non_null(strstr(calls, "};look;close;"));
	*calls = '\0';
	prepare_status = 19;
	assert_int_equal(run("enable-event -k sched:a"), 19);
	assert_null(strstr(calls, "ask"));
	(void)end_output();
	*calls = '\0';
}

static void test_other(void **unused)
{
	(void)unused;
	reset();
	connect_status = 18;
	assert_run("start --system --no-daemon s", 18, "connect 1 1;", "");
	assert_run("start --system s", 18, "connect 1 0;", "");
	assert_run("start --no-daemon s", 18, "connect 0 1;", "");
	connect_status = 0;
	answer(NULL, NULL);
	assert_run("start s", 31,
			START
			"which s -;ensure s;ask 60000 {\"version\":1,\"verb\":\"start\",\"session\":\"s\"};close;",
			"");
	assert_run("clear s", 31,
			START
			"which s -;ask 60000 {\"version\":1,\"verb\":\"clear\",\"session\":\"s\"};close;",
			"");
	/* Pending programs. */
	answer("{\"pending\":[{\"process\":\"p\",\"pid\":1}]}", NULL);
	begin_output();
	assert_int_equal(run("clear s"), COMMAND_PENDING);
	(void)end_output();
	*calls = '\0';
	/* The current session. */
	answer("{}", NULL);
#define SELECT START "ask 60000 {\"version\":1,\"verb\":\"status\",\"session\":\"s\"};"
	assert_run("set-session s", 0, SELECT "write s;close;",
			"side: session s is the current one\n");
	write_status = 16;
	assert_run("set-session s", 16, SELECT "write s;close;", "");
	answer(NULL, NULL);
	assert_run("set-session s", 31, SELECT "close;", "");
	write_status = 0;
	answer("{}", NULL);
	printed_options.json = true;
	assert_run("set-session s", 0, SELECT "write s;close;",
			"{\"schema\":1,\"type\":\"set-session\",\"session\":\"s\"}\n");
	printed_options.json = false;
	/* The syntax of lttng. */
	assert_run("regenerate statedump s", 0,
			START
			"which s -;ask 60000 {\"version\":1,\"verb\":\"statedump\",\"session\":\"s\"};close;",
			"side: requested a state dump from the programs of session s\n");
	assert_run("regenerate metadata s", COMMAND_USAGE, "",
			"side: not needed: the metadata of a trace is complete at any time, and the clock is measured again when a trace ends\n");
	begin_output();
	assert_int_equal(run("regenerate statedum s"), COMMAND_USAGE);
	assert_non_null(strstr(end_output(), "statedump"));
	assert_called("");
	/* What is printed does not arrive. */
	answer("{\"path\":\"/p\"}", NULL);
	begin_output();
	assert_non_null(freopen("/dev/full", "we", stdout));
	assert_int_equal(run("rotate s"), COMMAND_FAILED);
	clearerr(stdout);
	assert_output("side: cannot write to standard output: No space left on device\n");
	*calls = '\0';
}

/* Each allocation of a request fails: the error is reported, and no incomplete request is sent. */
static void test_memory(void **unused)
{
	size_t memory = 0;

	(void)unused;
	reset();
	for (int i = 0; i < 2; i++) {
		struct json_object *request = parse("{}");
		struct levels levels = {NULL, NULL, &(const struct control_options){.all = false}};

		begin_output();
		failing_arm(1);
		assert_int_equal(i ? session_request_add_patterns(request, "a", &levels)
				   : session_request_add_list_items(
						     request, "pid", "1", session_request_add_pid),
				COMMAND_FAILED);
		assert_true(failing_has_failed());
		assert_output("side: out of memory\n");
		assert_int_equal(json_object_object_length(request), 0);
		json_object_put(request);
	}
	/* All memory of a request is freed. The allocator's caches count as used: fill them first. */
	begin_output();
	for (int i = 0; i < 400; i++) {
		memory = i == 300 ? resources_memory() : memory;
		answer("{}", NULL);
		assert_int_equal(run("enable-event a,b,c --exclude d --session s"), 0);
		assert_int_equal(run("track --pid 1,1 s"), 0);
		assert_int_equal(run("create --to - s"), COMMAND_USAGE);
		*calls = '\0';
	}
	assert_int_equal(resources_memory(), memory);
	(void)end_output();
}

static int is_over(void **unused)
{
	(void)show_output(unused);
	return nr_objects;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_requests, is_over),
			cmocka_unit_test_teardown(test_patterns, is_over),
			cmocka_unit_test_teardown(test_kernel, is_over),
			cmocka_unit_test_teardown(test_limits, is_over),
			cmocka_unit_test_teardown(test_times, is_over),
			cmocka_unit_test_teardown(test_timeout, is_over),
			cmocka_unit_test_teardown(test_changes, is_over),
			cmocka_unit_test_teardown(test_track, is_over),
			cmocka_unit_test_teardown(test_start, is_over),
			cmocka_unit_test_teardown(test_stop, is_over),
			cmocka_unit_test_teardown(test_destroy, is_over),
			cmocka_unit_test_teardown(test_several, is_over),
			cmocka_unit_test_teardown(test_paths, is_over),
			cmocka_unit_test_teardown(test_events, is_over),
			cmocka_unit_test_teardown(test_other, is_over),
			cmocka_unit_test_teardown(test_memory, is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
