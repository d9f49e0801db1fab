/* SPDX-License-Identifier: MIT */
/*
 * The main functions of side and side-more with verbs that the test plays: which verb a command
 * line calls, in which program, with which preparations; and `side kernel status` with a kernel
 * that the test plays.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/common/command.h"
#include "programs/side/cli/confine.h"
#include "programs/side/list/kernel-table.h"
#include "programs/side/cli/more.h"
#include "programs/side/cli/pager.h"
#include "programs/common/progress.h"
#include "programs/side/processes/running.h"
#include "programs/common/message.h"
#include "programs/side/session/trace-of-session.h"
#include "programs/side/session/unmatched-rules.h"
#include "ctf/ctf.h"

/* ---- what is printed, on both streams ---- */

static int printed_file, saved[2];

static void begin_output(void)
{
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 10);
		assert_int_equal(dup2(printed_file, 1 + i), 1 + i);
	}
}

static const char *end_output(void)
{
	static char text[1 << 18];
	ssize_t size;

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dup2(saved[i], 1 + i), 1 + i);
		close(saved[i]);
	}
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	return text;
}

/* ---- the verbs ---- */

#define VERB(name)                                            \
	static int played_##name(const struct parsed *parsed) \
	{                                                     \
		called(#name " %d;", parsed->operand_count);  \
		return 40;                                    \
	}
static const char *session_words; /* second argument, where side-more reads it */

static int played_session(const struct parsed *parsed)
{
	called("session %d;", parsed->operand_count);
	session_words = parsed->args ? parsed->args[1] : NULL;
	return 40;
}

VERB(regenerate)
VERB(status)
VERB(save)
VERB(daemon)
VERB(record)
VERB(list)
VERB(attach)
VERB(detach)
VERB(recover)
VERB(adopt)
VERB(view)
VERB(expand)
VERB(report)
VERB(export)
VERB(top)
VERB(doctor)
VERB(complete)
VERB(probe)
VERB(kernel)
VERB(probe_enable)
VERB(probe_context)
VERB(probe_disable)
VERB(trace)
VERB(send)
VERB(receive)

static int trace_status;

static int played_load(const struct parsed *parsed, const void *load)
{
	called("load %d %d;", parsed->operand_count, load != NULL);
	return 40;
}

static int played_more(char **args)
{
	called("more");
	for (; *args; args++)
		called(" %s", *args);
	called(";");
	return 41;
}

static void played_pager(const struct common_options *common)
{
	called("pager %d;", common->json);
}

static int played_find(struct parsed *parsed)
{
	called("find %s;", parsed->operands[0] ? parsed->operands[0] : "-");
	return trace_status;
}

static int played_unmatched(const struct parsed *parsed)
{
	called("unmatched %s;", parsed->verb->name);
	return 42;
}

static bool is_due;

__attribute__((format(printf, 1, 2))) static void played_show(const char *format, ...)
{
	char text[300];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	called("show %s;", text);
}

#define cmd_session played_session
#define cmd_regenerate played_regenerate
#define cmd_status played_status
#define cmd_save played_save
#define cmd_daemon played_daemon
#define more_execute played_more
#define pager_start played_pager
#define main side_main
int side_main(int argc, char **argv);
#include "programs/side/main.c"
#undef main

#define cmd_record played_record
#define cmd_list played_list
#define cmd_attach played_attach
#define cmd_detach played_detach
#define cmd_recover played_recover
#define cmd_adopt played_adopt
#define cmd_view played_view
#define cmd_expand played_expand
#define cmd_report played_report
#define cmd_export played_export
#define cmd_top played_top
#define cmd_doctor played_doctor
#define cmd_complete played_complete
#define cmd_probe played_probe
#define cmd_kernel played_kernel
#define cmd_probe_enable played_probe_enable
#define cmd_probe_context played_probe_context
#define cmd_probe_disable played_probe_disable
#define cmd_load played_load
#define cmd_trace played_trace
#define cmd_send played_send
#define cmd_receive played_receive
#define session_trace played_find
#define session_unmatched played_unmatched
#define confine_enable() called("confine;")
#define progress_start(common) called("progress %d;", (common)->json)
#define progress_end() called("end;")
#define progress_is_due() (is_due)
#define progress_show played_show
#define ctf_reader_on_search(show) called("search %d;", (show) == side_more_show_search)
#define prctl(option, name) called("%d %s;", (option), (name))
#define main more_main
int more_main(int argc, char **argv);
#include "programs/side/main-more.c"
#undef main
#undef cmd_kernel
#undef prctl

typedef int main_fn(int argc, char **argv);

static int run_words(main_fn *function, const char *line)
{
	static char text[400];
	char *args[20];
	int nr = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		args[nr++] = word;
	args[nr] = NULL;
	return function(nr, args);
}

static void check(main_fn *function, const char *line, int status, const char *wanted,
		const char *printed)
{
	begin_output();
	assert_int_equal(run_words(function, line), status);
	assert_string_equal(end_output(), printed);
	assert_called(wanted);
}

static void test_side(void **unused)
{
	static const char *const sessions[] = {"create s", "set-session s", "start", "stop",
			"destroy", "enable-channel c", "disable-channel c", "track -p 1",
			"untrack -p 1", "snapshot", "rotate", "clear", "statedump",
			"enable-event a:b", "disable-event a:b", "add-context vpid",
			"enable-event --kernel sched:x"};
	static const char *const more[] = {"side record ls", "side view d", "side list",
			"side enable-event -p 5 --function f a:b",
			"side enable-event --exe /x --function f a:b", "side enable-event -p 5 a:b",
			"side enable-event --exe /x a:b", "side enable-event --function f a:b",
			"side enable-event --global a:b", "side add-context -p 5 vpid",
			"side disable-event -p 5 a:b", "side trace ls", "side doctor"};
	size_t memory = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
		char line[100];

		snprintf(line, sizeof(line), "side %s", sessions[i]);
		begin_output();
		assert_int_equal(run_words(side_main, line), 40);
		assert_string_equal(end_output(), "");
		assert_memory_equal(calls, "session ", 8);
		*calls = '\0';
		assert_memory_equal(session_words, sessions[i], strcspn(sessions[i], " "));
	}
	/* The arguments of side-more have the order of the command line. */
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		char wanted[200];

		snprintf(wanted, sizeof(wanted), "more %s;", more[i]);
		check(side_main, more[i], 41, wanted, "");
	}
	check(side_main, "side regenerate metadata", 40, "regenerate 1;", "");
	check(side_main, "side status", 40, "status 0;", "");
	check(side_main, "side save", 40, "save 0;", "");
	check(side_main, "side daemon", 40, "daemon 0;", "");
	check(side_main, "side version", 0, "", "side " SIDE_VERSION "\n");
	check(side_main, "side --version", 0, "", "side " SIDE_VERSION "\n");
	check(side_main, "side --json version", 0, "",
			"{\"schema\":1,\"type\":\"version\",\"program\":\"side\",\"version\":\"" SIDE_VERSION
			"\"}\n");
	check(side_main, "side --json", COMMAND_USAGE, "",
			"{\"schema\":1,\"type\":\"error\",\"status\":2,\"message\":\"missing verb\",\"hint\":\"write one, as in `side record ls`\",\"mend\":\"write one, as in `side record ls`\"}\n");
	check(side_main, "side help viwe", COMMAND_USAGE, "",
			"side: unknown verb or topic `viwe`\nhint: did you mean `side help view`?\n");
	check(side_main, "side help patern", COMMAND_USAGE, "",
			"side: unknown verb or topic `patern`\nhint: did you mean `side help patterns`?\n");
	check(side_main, "side help xyzzyx", COMMAND_USAGE, "",
			"side: unknown verb or topic `xyzzyx`\nhint: `side help` lists both\n");
	check(side_main, "side viwe", COMMAND_USAGE, "",
			"side: unknown verb `viwe`\nhint: did you mean `side view`?\n");
	/* malloc() keeps some free blocks. A block that is lost each time is more. */
	for (int i = 0; i < 200; i++) {
		memory = i == 99 ? resources_memory() : memory;
		begin_output();
		assert_int_equal(run_words(side_main, "side record -e a:b -e c:d ls"), 41);
		end_output();
		*calls = '\0';
	}
	assert_true(resources_memory() < memory + 2400);
	failing_arm(1);
	check(side_main, "side status", COMMAND_FAILED, "", "side: out of memory\n");
	assert_true(failing_has_failed());
}

/* Compares the beginning of the output. */
static void check_help(const char *line, int status, const char *wanted, const char *beginning)
{
	const char *printed;

	begin_output();
	assert_int_equal(run_words(side_main, line), status);
	printed = end_output();
	assert_true(strlen(printed) > strlen(beginning));
	assert_memory_equal(printed, beginning, strlen(beginning));
	assert_called(wanted);
}

static void test_help(void **unused)
{
	const char *printed;
	unsigned int verbs = 0, lines = 0;

	(void)unused;
	check_help("side --help", 0, "pager 0;", "side: ");
	check_help("side help", 0, "pager 0;", "side: ");
	check_help("side", COMMAND_USAGE, "", "side: ");
	check_help("side help view", 0, "pager 0;", "side view: ");
	check_help("side view --help", 0, "pager 0;", "side view: ");
	check_help("side help patterns", 0, "pager 0;", "patterns: ");
	check_help("side --color=always help patterns", 0, "pager 0;", "\033[1mpatterns\033[0m: ");
	check_help("side --color=always help view", 0, "pager 0;", "\033[1mside view\033[0m: ");
	check_help("side --color=always help", 0, "pager 0;", "\033[1mside\033[0m: ");
	check_help("side --json help view", 0, "pager 1;",
			"{\"schema\":1,\"type\":\"verb\",\"name\":\"view\"");
	begin_output();
	assert_int_equal(run_words(side_main, "side --json help"), 0);
	printed = end_output();
	for (const struct verb *verb = command_verbs; verb->name; verb++)
		verbs++;
	for (; *printed; printed++)
		lines += *printed == '\n';
	assert_int_equal(lines, verbs);
	assert_called("pager 1;");
}

#define BEGIN "15 side;confine;"
#define PREPARED "progress 0;search 1;"

static void test_more(void **unused)
{
	static const struct {
		const char *line, *calls;
	} cases[] = {
			{"record ls", PREPARED "record 1;"},
			{"list", PREPARED "pager 0;list 0;"},
			{"attach -p 5", PREPARED "attach 0;"},
			{"detach -p 5", PREPARED "detach 0;"},
			{"recover d", PREPARED "recover 1;"},
			{"adopt d", PREPARED "adopt 1;"},
			{"view d", "find d;" PREPARED "pager 0;view 1;"},
			{"view -f d", "find d;" PREPARED "view 1;"},
			{"view", "find -;" PREPARED "pager 0;view 0;"},
			{"expand d", "find d;" PREPARED "expand 1;"},
			{"report d", "find d;" PREPARED "pager 0;report 1;"},
			{"export d", "find d;" PREPARED "export 1;"},
			{"top", PREPARED "top 0;"},
			{"doctor", PREPARED "doctor 0;"},
			{"kernel status", PREPARED "kernel 1;"},
			{"enable-event a:b", PREPARED "probe_enable 1;"},
			{"add-context vpid", PREPARED "probe_context 1;"},
			{"disable-event a:b", PREPARED "probe_disable 1;"},
			{"load f", PREPARED "load 1 1;"},
			{"trace ls", PREPARED "trace 1;"},
			{"send d u", "find d;" PREPARED "send 2;"},
			{"receive d", PREPARED "receive 1;"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[100], wanted[200];

		snprintf(line, sizeof(line), "side %s", cases[i].line);
		snprintf(wanted, sizeof(wanted), BEGIN "%send;", cases[i].calls);
		check(more_main, line, 40, wanted, "");
	}
	trace_status = 43;
	check(more_main, "side view d", 43, BEGIN "find d;end;", "");
	trace_status = 0;
	check(more_main, "side-explain enable-event a:b", 42, BEGIN "unmatched enable-event;end;",
			"");
	check(more_main, "side status", COMMAND_USAGE, BEGIN PREPARED "end;",
			"side: this program does not have the verb `status`: `side` has it\nhint: run `side`\n");
	for (int i = 0; i < 3; i++)
		check(more_main,
				((const char *[]){"side", "side view --help", "side --version"})[i],
				COMMAND_USAGE, BEGIN "end;",
				"side: do not start this program by hand: `side` runs it for some of its verbs\nhint: run `side`\n");
	check(more_main, "side viwe", COMMAND_USAGE, BEGIN "end;",
			"side: unknown verb `viwe`\nhint: did you mean `side view`?\n");
	side_more_show_search("/a/b", 77);
	assert_called("");
	is_due = true;
	side_more_show_search("/a/b", 77);
	assert_called("show searched 77 directories, now /a/b;");
}

/* ---- side kernel status ---- */

static char work[] = "/tmp/side-main-calls-XXXXXX";
static const char *readable; /* the location whose file can be read */
static bool has_tracefs;
static int access_error;
static bool no_pids;
static int table_result;
static struct side_kernel_event_0 kernel_events[4];
static size_t nr_kernel_events;
static const char *problem_text;

static int played_access(const char *path, int mode)
{
	called("%s %d;", path, mode);
	errno = access_error;
	if (mode == F_OK)
		return has_tracefs ? 0 : -1;
	return readable && !strncmp(path, readable, strlen(readable)) &&
					path[strlen(readable)] == '/' &&
					!strcmp(path + strlen(readable), "/user_events_status")
			? 0
			: -1;
}

static int played_running(pid_t **pids, size_t *count)
{
	*count = 2;
	*pids = calloc(2, sizeof(**pids));
	if (no_pids) {
		free(*pids);
		return -ENOMEM;
	}
	(*pids)[0] = 11;
	(*pids)[1] = 22;
	return 0;
}

static int played_read(pid_t pid, const struct kernel_table_reader *reader)
{
	if (pid == 22)
		return table_result;
	for (size_t i = 0; i < nr_kernel_events; i++)
		reader->event(reader->user, pid, &kernel_events[i]);
	if (problem_text)
		reader->problem(reader->user, pid, problem_text, "a\thint");
	return 0;
}

static const char *played_name(pid_t pid, char name[RUNNING_NAME_MAX])
{
	snprintf(name, RUNNING_NAME_MAX, "prog%d", (int)pid);
	return name;
}

static int played_unknown(const struct verb *verb, const char *word, const char *const *args,
		const char *hint)
{
	called("unknown %s %s %s [%s];", verb->name, word, args[0], hint);
	assert_null(args[1]);
	return 44;
}

#define access played_access
#define running_find played_running
#define running_name played_name
#define kernel_table_read played_read
#define command_unknown_word played_unknown
#include "programs/side/list/kernel.c"
#undef access

static const struct verb kernel_verb = {.name = "kernel"};

static void run_kernel(bool is_json, int status, const char *printed)
{
	char word[] = "status", *operands[] = {word, NULL};
	const struct parsed parsed = {.verb = &kernel_verb,
			.operands = operands,
			.operand_count = 1,
			.common = {.json = is_json, .color = COLOR_NEVER}};

	output_start(&parsed.common, NULL);
	begin_output();
	assert_int_equal(cmd_kernel(&parsed), status);
	assert_string_equal(end_output(), printed);
}

#define PLACES \
	"/sys/kernel/tracing/user_events_status 4;/sys/kernel/debug/tracing/user_events_status 4;"
#define NONE \
	"side: no program writes events to the kernel\nhint: start one with SIDE_USER_EVENTS=all\n"

static void test_kernel(void **unused)
{
	char word[] = "state", *operands[] = {word, NULL};
	const struct parsed parsed = {
			.verb = &kernel_verb, .operands = operands, .operand_count = 1};

	(void)unused;
	assert_int_equal(cmd_kernel(&parsed), 44);
	assert_called("unknown kernel state status [did you mean `side kernel status`?];");
	access_error = ENOENT;
	run_kernel(false, COMMAND_FAILED,
			"side: tracefs is not mounted\nhint: `mount -t tracefs none /sys/kernel/tracing`\nhint: a container needs it mounted into it\n");
	assert_called(PLACES "/sys/kernel/tracing/events 0;");
	has_tracefs = true;
	run_kernel(false, COMMAND_FAILED,
			"side: the kernel has no user_events\nhint: use Linux 6.4 or later with CONFIG_USER_EVENTS\n");
	assert_called(PLACES "/sys/kernel/tracing/events 0;");
	for (int i = 0; i < 2; i++) {
		access_error = i ? EPERM : EACCES;
		run_kernel(false, COMMAND_NOT_PERMITTED,
				"side: no permission to read kernel events\nhint: run it as root\n");
		assert_called(PLACES);
	}
	access_error = ENOENT;
	readable = "/sys/kernel/debug/tracing";
	run_kernel(false, COMMAND_DONE, NONE);
	assert_called(PLACES);
	readable = "/sys/kernel/tracing";
	run_kernel(false, COMMAND_DONE, NONE);
	assert_called("/sys/kernel/tracing/user_events_status 4;");
	for (int i = 0; i < 3; i++) {
		table_result = ((int[]){-EPERM, -EACCES, -ENOENT})[i];
		run_kernel(false, COMMAND_DONE,
				i < 2 ? "side: some programs cannot be inspected\nhint: run as root to see all\n" NONE
				      : NONE);
	}
	no_pids = true;
	run_kernel(false, COMMAND_FAILED,
			"side: cannot find the programs that run: out of memory\n");
	no_pids = false;
	*calls = '\0';
}

static void put_file(const char *path, const char *text)
{
	char whole[500];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", work, path);
	for (char *slash = whole + strlen(work) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(whole, 0700);
		*slash = '/';
	}
	file = fopen(whole, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void event_is(struct side_kernel_event_0 *event, const char *name, const char *tracepoint)
{
	*event = (struct side_kernel_event_0){.state = SIDE_KERNEL_EVENT_REGISTERED, .written = 7};
	snprintf(event->name, sizeof(event->name), "%s", name);
	snprintf(event->tracepoint, sizeof(event->tracepoint), "%s", tracepoint);
}

static void test_kernel_events(void **unused)
{
	unsigned int before = resources_descriptors();
	struct kernel_view view = {.tracefs = work};
	char args[100];

	(void)unused;
	put_file("user_events_status",
			"p_open # Used by ftrace perf\np_opened # Used by bpf\np_close\nxp_open # Used by other\n"
			"q_open.1 # Used by ftrace\nq_open.2 # Used by perf ftrace\n\nActive: 3\n");
	put_file("instances/one/events/user_events/p_open/enable", "1\n");
	put_file("instances/two/events/user_events/p_open/enable", "0\n");
	put_file("instances/three/events/user_events/p_other/enable", "1\n");
	event_is(&kernel_events[0], "p:open", "p_open");
	event_is(&kernel_events[1], "q:\topen", "q_open");
	kernel_events[1].multi_format = kernel_events[1].eventheader = 1;
	kernel_events[1].cut = 2;
	kernel_events[1].lost = 3;
	event_is(&kernel_events[2], "r:bad", "r_bad");
	kernel_events[2].state = SIDE_KERNEL_EVENT_REFUSED;
	strcpy(kernel_events[2].reason, "a\treason");
	event_is(&kernel_events[3], "p:close", "p_close");
	output_start(&(const struct common_options){.color = COLOR_NEVER}, NULL);
	begin_output();
	for (int i = 0; i < 4; i++)
		side_kernel_view_show_event(&view, 10 + i, &kernel_events[i]);
	side_kernel_view_show_problem(&view, 9, "a\tproblem", "a\thint");
	assert_string_equal(end_output(),
			"p:open                   native      user_events:p_open                   prog10 10: 7 written; listeners: ftrace perf instance:one\n"
			"q:\\x09open               eventheader user_events_multi:q_open.*           prog11 11: 7 written (2 shortened), 3 lost; listeners: ftrace perf\n"
			"r:bad                    refused     -                                    prog12 12: 7 written; a\\x09reason\n"
			"p:close                  native      user_events:p_close                  prog13 13: 7 written; no listener\n"
			"side: prog9 (9) writes no events to the kernel: a\\x09problem\nhint: a\\x09hint\n");
	assert_int_equal(view.nr_events, 4);
	output_start(&(const struct common_options){.json = true, .color = COLOR_NEVER}, NULL);
	begin_output();
	side_kernel_view_show_event(&view, 10, &kernel_events[1]);
	side_kernel_view_show_event(&view, 10, &kernel_events[2]);
	view.tracefs = NULL;
	side_kernel_view_show_event(&view, 10, &kernel_events[0]);
	assert_string_equal(end_output(),
			"{\"schema\":1,\"type\":\"kernel_event\",\"event\":\"q:\\u0009open\",\"tracepoint\":\"user_events_multi:q_open.*\",\"state\":\"eventheader\",\"pid\":10,\"program\":\"prog10\",\"written\":7,\"cut\":2,\"lost\":3,\"listeners\":\"ftrace perf\",\"reason\":\"\"}\n"
			"{\"schema\":1,\"type\":\"kernel_event\",\"event\":\"r:bad\",\"tracepoint\":\"-\",\"state\":\"refused\",\"pid\":10,\"program\":\"prog10\",\"written\":7,\"cut\":0,\"lost\":0,\"listeners\":\"\",\"reason\":\"a\\u0009reason\"}\n"
			"{\"schema\":1,\"type\":\"kernel_event\",\"event\":\"p:open\",\"tracepoint\":\"user_events:p_open\",\"state\":\"native\",\"pid\":10,\"program\":\"prog10\",\"written\":7,\"cut\":0,\"lost\":0,\"listeners\":\"\",\"reason\":\"\"}\n");
	/* Programs with events, and with a problem. */
	nr_kernel_events = 1;
	problem_text = "a\tproblem";
	table_result = 0;
	run_kernel(false, COMMAND_DONE,
			"p:open                   native      user_events:p_open                   prog11 11: 7 written; no listener\n"
			"side: prog11 (11) writes no events to the kernel: a\\x09problem\nhint: a\\x09hint\n");
	/* Existing args are not added again. */
	*args = '\0';
	side_kernel_view_append_name(args, 6, "ab");
	side_kernel_view_append_name(args, 6, "b");
	assert_string_equal(args, "ab");
	side_kernel_view_append_name(args, 6, "cde");
	assert_string_equal(args, "ab cd");
	*calls = '\0';
	assert_int_equal(resources_descriptors(), before);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_side),
			cmocka_unit_test(test_help),
			cmocka_unit_test(test_more),
			cmocka_unit_test(test_kernel),
			cmocka_unit_test(test_kernel_events),
	};
	int ret;

	alarm(50);
	if (!mkdtemp(work))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return ret;
}
