/* SPDX-License-Identifier: MIT */
/*
 * `side attach` and `side detach` step by step: requests to the program, the length of a recording,
 * and each message. The test includes the file and replaces the session, the program and the clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "programs/side/attach/attach.h"
#include "programs/common/command.h"
#include "programs/side/session/losses.h"
#include "programs/side/record/printing.h"
#include "programs/side/record/no-events.h"
#include "programs/common/message.h"
#include "sessions/rendezvous.h"
#include "recorder/core/live.h"
#include "recorder/core/probes.h"
#include "recorder/core/session.h"

#include "../check.h"
#include "../resources.h"

/* ---- calls ---- */

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

/* ---- the program ---- */

static struct inject_report answer; /* of the next request */
static int begin_error;

static int played_begin(const struct inject_request *request, pid_t *child)
{
	int ends[2];

	note("request %d %s %s %s '%s'%s%s; ", request->pid, request->agent, request->libside,
			request->function, request->argument,
			request->only_if_loaded ? " if there" : "",
			request->in_sandbox ? " in sandbox" : "");
	if (begin_error)
		return begin_error;
	CHECK(!pipe(ends) && !close(ends[1]));
	*child = 4711;
	return ends[0];
}

static void played_end(int fd, pid_t child, struct inject_report *report)
{
	CHECK(child == 4711 && !close(fd));
	note("answer; ");
	*report = answer;
}

/* ---- the session ---- */

static int turns_until_error = -1, answers_until_all, answers_error;
static bool are_no_answers;

static int played_turn(struct session *session, int timeout_ms, struct error *error)
{
	CHECK(session);
	note("turn %d; ", timeout_ms);
	if (!turns_until_error--) {
		*error = (struct error){.kind = ERROR_FAILED, .code = -EIO};
		(void)snprintf(error->text, sizeof(error->text), "the turn failed");
		return -EIO;
	}
	return 0;
}

static int played_fd(const struct session *session)
{
	CHECK(session);
	return -1;
}

static void played_messages(struct session *session)
{
	CHECK(session);
}

static int played_answers(struct session *session, struct session_probe_answer **list, size_t *nr)
{
	CHECK(session);
	note("answers; ");
	if (answers_error)
		return answers_error;
	*nr = are_no_answers ? 0 : 2;
	*list = calloc(2, sizeof(**list));
	(*list)[0].answered = true;
	(*list)[1].answered = !answers_until_all || !--answers_until_all;
	return 0;
}

static void played_answers_free(struct session_probe_answer *list, size_t nr)
{
	CHECK(nr == (are_no_answers ? 0 : 2));
	free(list);
}

static int played_kernel_start(struct attached *attached)
{
	(void)attached;
	note("kernel; ");
	return 0;
}

static void played_kernel_end(struct attached *attached)
{
	(void)attached;
	note("no kernel; ");
}

static int check_status;

static int check(void *user, struct session *session)
{
	CHECK(user == &check_status && session);
	note("look; ");
	return check_status;
}

/* ---- the clock ---- */

static uint64_t now_ns;
static int polls_until_signal = -1, polls_until_end = -1;

static int played_clock(clockid_t clock, struct timespec *time)
{
	CHECK(clock == CLOCK_MONOTONIC);
	*time = (struct timespec){.tv_sec = (time_t)(now_ns / 1000000000),
			.tv_nsec = (long)(now_ns % 1000000000)};
	return 0;
}

static int played_poll(struct pollfd *watched, nfds_t nr, int timeout_ms)
{
	for (nfds_t i = 0; i < nr; i++) {
		CHECK(watched[i].events == POLLIN);
		watched[i].revents = 0;
	}
	if (nr == 2) {
		watched[0].revents = POLLHUP;
		return 1;
	}
	CHECK(nr == 3 && watched[0].fd == 70 && watched[1].fd == 71 && watched[2].fd == -1);
	note("poll %d; ", timeout_ms);
	now_ns += (uint64_t)timeout_ms * 1000000;
	if (!polls_until_signal--)
		watched[0].revents = POLLIN;
	if (!polls_until_end--)
		watched[1].revents = POLLIN;
	return 0;
}

/* ---- files of the command ---- */

static int library_error = -1, signals_error, watch_error;

static char *played_library(const char *name)
{
	char text[64];

	errno = library_error < 0 ? 0 : library_error;
	if (library_error >= 0 && !strcmp(name, "libside-agent.so"))
		return NULL;
	(void)snprintf(text, sizeof(text), "/lib/%s", name);
	return strdup(text);
}

static int played_signalfd(int fd, const sigset_t *signals, int flags)
{
	CHECK(fd == -1 && flags == SFD_CLOEXEC && sigismember(signals, SIGINT) &&
			sigismember(signals, SIGTERM) && sigismember(signals, SIGHUP) &&
			!sigismember(signals, SIGQUIT));
	if (!signals_error)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	errno = signals_error;
	return -1;
}

static long played_syscall(long number, pid_t pid, int flags)
{
	CHECK(number == SYS_pidfd_open && pid && !flags);
	if (!watch_error)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	errno = watch_error;
	return -1;
}

#define inject_begin played_begin
#define inject_end played_end
#define session_turn played_turn
#define session_fd played_fd
#define command_live_messages played_messages
#define session_probe_answers played_answers
#define session_probe_answers_free played_answers_free
#define attach_kernel_start played_kernel_start
#define attach_kernel_end played_kernel_end
#define session_library played_library
#define signalfd played_signalfd
#define syscall played_syscall
#define clock_gettime played_clock
#define poll(watched, nr, timeout) played_poll(watched, nr, timeout)
#include "programs/side/attach/attach.c"

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
static struct parsed parsed;
static char agent[] = "/lib/agent", libside[] = "/lib/side";

static struct attached attach(void)
{
	static int session;

	return (struct attached){.parsed = &parsed,
			.options = &options,
			.pid = 55,
			.name = "kitchen",
			.agent = agent,
			.libside = libside,
			.session = (struct session *)(void *)&session,
			.dir = {.parent = -1, .own = -1, .network = -1, .theirs = "/tmp/x/agents"},
			.signals = 70,
			.program = 71};
}

/* ---- requests ---- */

static void test_requests(void)
{
	struct attached attached = attach();

	CHECK(!attach_request(&attached, "record", "/tmp/x/agents", false) &&
			called("request 55 /lib/agent /lib/side side_agent_request 'record /tmp/x/agents'; turn 0; answer; "));
	attached.session = NULL;
	options.in_sandbox = true;
	CHECK(!attach_request(&attached, "detach", NULL, true) &&
			called("request 55 /lib/agent /lib/side side_agent_request 'detach' if there in sandbox; answer; "));
	options.in_sandbox = false;
	begin_error = -EMFILE;
	catch ();
	CHECK(attach_request(&attached, "detach", NULL, true) == COMMAND_FAILED);
	CHECK(printed("side: cannot start a process that attaches: Too many open files\n"));
	begin_error = 0;
	*calls = '\0';
	/* A session that cannot continue does not leave the attaching process. */
	attached = attach();
	turns_until_error = 0;
	catch ();
	CHECK(attach_request(&attached, "leave", "/x", true) == COMMAND_FAILED);
	CHECK(printed("side: the turn failed\n") &&
			called("request 55 /lib/agent /lib/side side_agent_request 'leave /x' if there; turn 0; answer; "));
	turns_until_error = -1;
}

static void test_failures(void)
{
	static const struct {
		enum inject_kind kind;
		int status;
	} cases[] = {{INJECT_DONE, COMMAND_DONE}, {INJECT_FAILED, COMMAND_FAILED},
			{INJECT_NOT_PERMITTED, COMMAND_NOT_PERMITTED},
			{INJECT_UNSUITABLE, COMMAND_FAILED}, {INJECT_GONE, COMMAND_FAILED}};
	struct attached attached = attach();

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		attached.report = (struct inject_report){.kind = cases[i].kind,
				.text = "cannot attach to 55 (kitchen): it is closed",
				.hint = "open it"};
		catch ();
		CHECK(attach_print_failure(&attached) == cases[i].status);
		CHECK(printed("side: cannot attach to 55 (kitchen): it is closed\nhint: open it\n"));
		catch ();
		CHECK(attach_print_detach_failure(&attached) == cases[i].status);
		CHECK(printed("side: cannot detach from 55 (kitchen): it is closed\nhint: open it\n"));
		strcpy(attached.report.text, "there is no process 55");
		catch ();
		CHECK(attach_print_detach_failure(&attached) == cases[i].status);
		CHECK(printed("side: there is no process 55\nhint: open it\n"));
	}
	attached.report.result = -EPERM;
	catch ();
	CHECK(attach_print_result_error(&attached, "cannot be detached") == COMMAND_FAILED);
	CHECK(printed("side: 55 (kitchen) cannot be detached: Operation not permitted\nhint: it is in a sandbox, or about to end\n"));
	attached.report.result = -EBUSY;
	catch ();
	CHECK(attach_print_result_error(&attached, "cannot be detached") == COMMAND_FAILED);
	CHECK(printed("side: 55 (kitchen) cannot be detached: Device or resource busy\n"));
}

static void test_done(void)
{
	struct attached attached = attach();

	attached.report = (struct inject_report){.thread = 56,
			.stops = 3,
			.stopped_ns = 1250000,
			.stopped_total_ns = 2500000,
			.total_ns = 71000000,
			.from_memory = true};
	output_start(&(struct common_options){.verbose = true}, "attach");
	catch ();
	attach_print_done(&attached, "attach", "recording");
	CHECK(printed("side: recording kitchen (process 55)\nside: thread 56 was stopped to load the agent: 3 stops, the longest 1.250 ms, all 2.500 ms; 71.0 ms in total\n"));
	attached.report.stops = 0;
	catch ();
	attach_print_done(&attached, "detach", "detached from");
	CHECK(printed("side: detached from kitchen (process 55)\n"));
	attached.report.stops = 3;
	output_start(&(struct common_options){.json = true}, "attach");
	catch ();
	attach_print_done(&attached, "attach", "recording");
	CHECK(printed("{\"schema\":1,\"type\":\"attach\",\"pid\":55,\"name\":\"kitchen\",\"loaded\":true,\"from_memory\":true,\"thread\":56,\"stops\":3,\"stopped_ns\":1250000,\"stopped_total_ns\":2500000,\"total_ns\":71000000}\n"));
	attached.report.was_loaded = true;
	attached.report.from_memory = false;
	catch ();
	attach_print_done(&attached, "detach", "detached from");
	CHECK(printed("{\"schema\":1,\"type\":\"detach\",\"pid\":55,\"name\":\"kitchen\",\"loaded\":false,\"from_memory\":false,\"thread\":56,\"stops\":3,\"stopped_ns\":1250000,\"stopped_total_ns\":2500000,\"total_ns\":71000000}\n"));
	output_start(&(struct common_options){.json = true, .quiet = true}, "attach");
	catch ();
	attach_print_done(&attached, "attach", "recording");
	CHECK(printed(""));
	output_start(&(struct common_options){.json = false}, "attach");
}

/* ---- the length of a recording ---- */

static bool goes_on(uint64_t duration_ns, int wanted, bool ended, const char *wanted_calls)
{
	struct attached attached = attach();
	bool program_ended = !ended;

	options.duration = duration_ns;
	now_ns = UINT64_C(7999999999);
	CHECK(attach_run_recording(&attached, &program_ended) == wanted && program_ended == ended);
	options.duration = 0;
	polls_until_signal = polls_until_end = turns_until_error = -1;
	return called(wanted_calls);
}

static void test_duration(void)
{
	CHECK(goes_on(450000000, COMMAND_DONE, false,
			"poll 200; turn 0; poll 200; turn 0; poll 50; turn 0; "));
	CHECK(goes_on(200000000, COMMAND_DONE, false, "poll 200; turn 0; "));
	/* Rounded up to whole milliseconds. */
	CHECK(goes_on(1000001, COMMAND_DONE, false, "poll 2; turn 0; "));
	CHECK(goes_on(1, COMMAND_DONE, false, "poll 1; turn 0; "));
	polls_until_signal = 2;
	CHECK(goes_on(0, COMMAND_DONE, false,
			"poll 200; turn 0; poll 200; turn 0; poll 200; turn 0; "));
	polls_until_end = 1;
	CHECK(goes_on(0, COMMAND_DONE, true, "poll 200; turn 0; poll 200; turn 0; "));
	/* The signal is the first reason. */
	polls_until_end = polls_until_signal = 0;
	CHECK(goes_on(0, COMMAND_DONE, false, "poll 200; turn 0; "));
	turns_until_error = 1;
	catch ();
	CHECK(goes_on(0, COMMAND_FAILED, false, "poll 200; turn 0; poll 200; turn 0; "));
	CHECK(printed("side: the turn failed\n"));
}

/* ---- probes ---- */

static void test_probes(void)
{
	const struct attach_recording recording = {
			.nr_probes = 2, .check = check, .user = &check_status};
	struct attached attached = attach();
	size_t turns = 0;

	attached.recording = &recording;
	CHECK(!attach_check_probes(&attached) && called("answers; kernel; look; "));
	answers_until_all = 3;
	CHECK(!attach_check_probes(&attached) &&
			called("answers; turn 10; answers; turn 10; answers; kernel; look; "));
	check_status = COMMAND_NOT_FOUND;
	CHECK(attach_check_probes(&attached) == COMMAND_NOT_FOUND &&
			called("answers; kernel; look; "));
	check_status = 0;
	/* A request that is never answered is abandoned after five seconds. */
	are_no_answers = true;
	CHECK(!attach_check_probes(&attached));
	are_no_answers = false;
	for (const char *at = calls; (at = strstr(at, "turn 10; ")); at++)
		turns++;
	CHECK(turns == 500);
	*calls = '\0';
	answers_error = -ENOMEM;
	catch ();
	CHECK(attach_check_probes(&attached) == COMMAND_FAILED);
	CHECK(printed("side: out of memory\n") && called("answers; "));
	answers_error = 0;
	turns_until_error = 0;
	answers_until_all = 2;
	catch ();
	CHECK(attach_check_probes(&attached) == COMMAND_FAILED);
	CHECK(printed("side: the turn failed\n") && called("answers; turn 10; "));
	turns_until_error = -1;
	answers_until_all = 0;
}

/* ---- a whole recording ---- */

static bool records(enum inject_kind kind, int result, int wanted, const char *wanted_calls,
		const char *wanted_text)
{
	struct attached attached = attach();
	int status;

	answer = (struct inject_report){.kind = kind, .result = result, .text = "it is closed"};
	now_ns = 1;
	catch ();
	status = attach_record_program(&attached);
	polls_until_end = polls_until_signal = -1;
	if (!printed(wanted_text) || !called(wanted_calls))
		return false;
	return status == wanted;
}

#define RECORD \
	"request 55 /lib/agent /lib/side side_agent_request 'record /tmp/x/agents'; turn 0; answer; "
#define LEAVE \
	"request 55 /lib/agent /lib/side side_agent_request 'leave /tmp/x/agents' if there; turn 0; answer; "

static void test_recordings(void)
{
	struct attached attached = attach();

	CHECK(records(INJECT_FAILED, 0, COMMAND_FAILED, RECORD, "side: it is closed\n"));
	CHECK(records(INJECT_NOT_PERMITTED, 0, COMMAND_NOT_PERMITTED, RECORD,
			"side: it is closed\n"));
	CHECK(records(INJECT_DONE, -EBUSY, COMMAND_FAILED, RECORD,
			"side: 55 (kitchen) has loaded the agent, but cannot be recorded: Device or resource busy\n"));
	polls_until_signal = 0;
	CHECK(records(INJECT_DONE, 0, COMMAND_DONE, RECORD "poll 200; turn 0; no kernel; " LEAVE,
			"side: recording kitchen (process 55)\n"));
	/* A program that has exited gets no request. */
	polls_until_end = 0;
	CHECK(records(INJECT_DONE, 0, COMMAND_DONE, RECORD "poll 200; turn 0; no kernel; ",
			"side: recording kitchen (process 55)\n"));
	attached.report = (struct inject_report){.text = "it is busy", .hint = "wait"};
	catch ();
	attach_print_not_informed(&attached);
	CHECK(printed("side: the recording has ended, but side could not tell the program to stop: it is busy\nhint: wait\nhint: run `side detach` to try again\n"));
	*attached.report.hint = '\0';
	catch ();
	attach_print_not_informed(&attached);
	CHECK(printed("side: the recording has ended, but side could not tell the program to stop: it is busy\nhint: run `side detach` to try again\n"));
}

/* ---- the command line ---- */

static bool begins(const char *operand, const char *more, uint64_t pid, enum verb_id verb,
		int wanted, const char *wanted_text)
{
	static struct verb played;
	char one[64], other[64], *operands[] = {one, other, NULL};
	struct attached attached;
	sigset_t before;
	int status;

	played = (struct verb){.name = verb == VERB_ATTACH ? "attach" : "detach", .id = verb};
	(void)snprintf(one, sizeof(one), "%s", operand ? operand : "");
	(void)snprintf(other, sizeof(other), "%s", more ? more : "");
	parsed = (struct parsed){
			.verb = &played, .operands = operands, .operand_count = !!operand + !!more};
	options = (struct attach_options){.pid = pid};
	CHECK(!sigprocmask(SIG_BLOCK, NULL, &before));
	catch ();
	status = attach_open(&attached, &parsed, &options);
	CHECK(attached.dir.parent == -1 && attached.dir.own == -1 && attached.dir.network == -1 &&
			attached.printing.end_fd == -1);
	if (!status)
		note("%d %s %d %d; ", attached.pid, attached.agent, attached.signals >= 0,
				attached.program >= 0);
	attach_close(&attached);
	CHECK(!sigprocmask(SIG_SETMASK, &before, NULL));
	return printed(wanted_text) && status == wanted;
}

static void test_command_line(void)
{
	static const int none[] = {ESRCH, EINVAL, ENOENT, ENOSYS};

	CHECK(begins(NULL, NULL, 77, VERB_ATTACH, COMMAND_DONE, "") &&
			called("77 /lib/libside-agent.so 1 1; "));
	CHECK(begins("78", NULL, 0, VERB_DETACH, COMMAND_DONE, "") &&
			called("78 /lib/libside-agent.so 1 1; "));
	CHECK(begins("2147483647", NULL, 0, VERB_DETACH, COMMAND_DONE, "") &&
			called("2147483647 /lib/libside-agent.so 1 1; "));
	CHECK(begins("2147483648", NULL, 0, VERB_ATTACH, COMMAND_USAGE,
			"side: missing process to attach to\nhint: write `-p PID`\n"));
	CHECK(begins(NULL, NULL, 0, VERB_DETACH, COMMAND_USAGE,
			"side: missing process to detach from\nhint: write `-p PID`\n"));
	CHECK(begins("", NULL, 0, VERB_ATTACH, COMMAND_USAGE,
			"side: `side attach` does not accept ``\nhint: name the process by its number, or by `-p PID`\n"));
	CHECK(begins("7x", NULL, 0, VERB_ATTACH, COMMAND_USAGE,
			"side: `side attach` does not accept `7x`\nhint: name the process by its number, or by `-p PID`\n"));
	CHECK(begins("78", "79", 0, VERB_DETACH, COMMAND_USAGE,
			"side: `side detach` does not accept `79`\nhint: name the process by its number, or by `-p PID`\n"));
	CHECK(begins("78", NULL, 77, VERB_DETACH, COMMAND_USAGE,
			"side: `side detach` does not accept `78`\nhint: name the process by its number, or by `-p PID`\n"));
	library_error = 0;
	CHECK(begins("78", NULL, 0, VERB_ATTACH, COMMAND_FAILED,
			"side: libside-agent.so is not installed beside this program\nhint: reinstall it or name its directory in SIDE_LIB_DIR\n"));
	library_error = EMFILE;
	CHECK(begins("78", NULL, 0, VERB_ATTACH, COMMAND_FAILED,
			"side: cannot find libside-agent.so: Too many open files\n"));
	library_error = -1;
	signals_error = EMFILE;
	CHECK(begins("78", NULL, 0, VERB_ATTACH, COMMAND_FAILED,
			"side: cannot wait for signals: Too many open files\n"));
	signals_error = 0;
	watch_error = EMFILE;
	CHECK(begins("78", NULL, 0, VERB_ATTACH, COMMAND_FAILED,
			"side: cannot watch process 78: Too many open files\n"));
	/* The next step reports that there is no such program. */
	for (int i = 0; i < 4; i++) {
		watch_error = none[i];
		CHECK(begins("78", NULL, 0, VERB_ATTACH, COMMAND_DONE, "") &&
				called("78 /lib/libside-agent.so 1 0; "));
	}
	watch_error = 0;
}

static bool attaches(const char *wanted)
{
	sigset_t before;
	int status;

	CHECK(!sigprocmask(SIG_BLOCK, NULL, &before));
	parsed.operand_count = 0;
	parsed.options.attach.pid = 78;
	catch ();
	status = cmd_attach(&parsed);
	CHECK(!sigprocmask(SIG_SETMASK, &before, NULL));
	return printed(wanted) && status == COMMAND_USAGE;
}

/* Options of a recording have no meaning for the daemon. */
static void test_conflicts(void)
{
	static const char wanted[] =
			"side: cannot use options of a recording with `--daemon` or `-s`: the daemon's sessions record the program\nhint: change the session by `side enable-event` and the like\n";

	for (int i = 0; i < 8; i++) {
		parsed.options.attach = (struct attach_options){.daemon = i & 1,
				.session = i & 1 ? NULL : "web",
				.output = i / 2 == 0 ? "out" : NULL,
				.channels = {.count = i / 2 == 1},
				.duration = i / 2 == 2,
				.print = i / 2 == 3};
		CHECK(attaches(wanted));
	}
}

static bool detaches(enum inject_kind kind, int result, int wanted, const char *text)
{
	sigset_t before;
	int status;

	CHECK(!sigprocmask(SIG_BLOCK, NULL, &before));
	parsed.operand_count = 0;
	parsed.options.attach = (struct attach_options){.pid = INT_MAX};
	answer = (struct inject_report){.kind = kind,
			.result = result,
			.text = "cannot attach to 5 (x): it is closed"};
	catch ();
	status = cmd_detach(&parsed);
	CHECK(!sigprocmask(SIG_SETMASK, &before, NULL));
	return printed(text) && status == wanted &&
			called("request 2147483647 /lib/libside-agent.so /lib/libside.so.0 side_agent_request 'detach' if there; answer; ");
}

static void test_detach(void)
{
	CHECK(detaches(INJECT_DONE, 0, COMMAND_DONE,
			"side: detached from ? (process 2147483647)\n"));
	CHECK(detaches(INJECT_DONE, -ENOENT, COMMAND_DONE,
			"side: ? (process 2147483647) is not attached: nothing to detach\n"));
	CHECK(detaches(INJECT_DONE, -EBUSY, COMMAND_FAILED,
			"side: 2147483647 (?) cannot be detached: Device or resource busy\n"));
	CHECK(detaches(INJECT_NOT_PERMITTED, 0, COMMAND_NOT_PERMITTED,
			"side: cannot detach from 5 (x): it is closed\n"));
}

static void test_name(void)
{
	struct attached attached = attach();
	char name[64] = "";
	FILE *file = fopen("/proc/self/comm", "re");

	CHECK(file && fgets(name, sizeof(name), file) && !fclose(file));
	name[strcspn(name, "\n")] = '\0';
	attached.pid = getpid();
	attach_read_name(&attached);
	CHECK(*name && !strcmp(attached.name, name));
	attached.pid = INT_MAX;
	attach_read_name(&attached);
	CHECK(!strcmp(attached.name, "?"));
}

/* A directory that is not empty stays. */
static void test_empty(void)
{
	char folder[] = "/tmp/side-attach-XXXXXX", file[64];
	int fd;

	CHECK(mkdtemp(folder));
	(void)snprintf(file, sizeof(file), "%s/x", folder);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && !close(fd) && !attach_is_empty(folder) && !unlink(file) &&
			attach_is_empty(folder) && access(folder, F_OK));
}

int main(void)
{
	struct resources before = {0};

	output_start(&(struct common_options){.json = false}, "attach");
	for (int round = 0; round < 3; round++) {
		test_requests();
		test_failures();
		test_done();
		test_duration();
		test_probes();
		test_recordings();
		test_command_line();
		test_conflicts();
		test_detach();
		test_name();
		test_empty();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	return 0;
}
