/* SPDX-License-Identifier: MIT */
/*
 * The life of side-uprobes with simulated probes, sessions and a simulated clock: arguments at
 * their limits, the command and its environment, signals, changes, the intervals of its checks, its
 * end, and its exit status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/event-loop.h"

static uint64_t played_now, played_step;

static int played_clock(clockid_t id, struct timespec *now)
{
	assert_int_equal(id, CLOCK_MONOTONIC);
	now->tv_sec = (time_t)(played_now / 1000000000u);
	now->tv_nsec = (long)(played_now % 1000000000u);
	played_now += played_step;
	return 0;
}

#include "../../failing-steps.h"

static unsigned int nr_sets;

static int failing_loop_open(struct event_loop *loop)
{
	return is_failing(EMFILE) ? -EMFILE : event_loop_open(loop);
}

static int failing_source_add(struct event_loop *loop, struct event_source *source, int fd,
		uint32_t events, event_source_fn *ready)
{
	assert_int_equal(events, EPOLLIN);
	return is_failing(ENOSPC) ? -ENOSPC : event_source_add(loop, source, fd, events, ready);
}

static int checked_turn(struct event_loop *loop, int timeout)
{
	assert_int_equal(timeout, 10);
	return event_loop_turn(loop, timeout);
}

static int checked_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	assert_int_equal(timeout, 0);
	return poll(fds, count, timeout);
}

static unsigned int nr_sleeps;

static int counted_nanosleep(const struct timespec *time, struct timespec *left)
{
	assert_int_equal(time->tv_sec, 0);
	assert_int_equal(time->tv_nsec, 2000000);
	assert_null(left);
	nr_sleeps++;
	return 0;
}

static int counted_sigemptyset(sigset_t *set)
{
	nr_sets++;
	return sigemptyset(set);
}

int uprobes_main(int argc, char **argv);
#define main uprobes_main
#define clock_gettime played_clock
#define signalfd failing_signalfd
#define event_loop_open failing_loop_open
#define event_source_add failing_source_add
#define event_loop_turn checked_turn
#define poll checked_poll
#define nanosleep counted_nanosleep
#define sigemptyset counted_sigemptyset
#include "programs/side-uprobes/main.c"
#undef main
#undef clock_gettime
#undef signalfd
#undef event_loop_open
#undef event_source_add
#undef event_loop_turn
#undef poll
#undef nanosleep
#undef sigemptyset

/* ---- replaced functions ---- */

#include "../../called-messages.h"
#include "../../resources.h"

void output_start(const struct common_options *common, const char *verb)
{
	assert_null(verb);
	called("start %d %d;", common->quiet, common->json);
}

static struct global *const the_global = (struct global *)(uintptr_t)0x1000;
static struct uprobes_events *const the_events = (struct uprobes_events *)(uintptr_t)0x2000;
static int open_result, events_result, watch_result, hits_fd = -1;
static const char *error_text = "", *error_hint = "", *why_text = "", *replaced[3];
static bool permission, wanted_events, wanted_session, turn_result;
static uint32_t nr_sides;
static enum global_backend used_way;
static uint64_t lost_there;
static enum change_state change_there;

static void fill_error(struct error *error)
{
	(void)snprintf(error->text, sizeof(error->text), "%s", error_text);
	(void)snprintf(error->hint, sizeof(error->hint), "%s", error_hint);
	error->kind = permission ? ERROR_PERMISSION : ERROR_FAILED;
}

int global_open(const struct global_options *options, struct global **global, struct error *error)
{
	called("open %zu;", options->nr_tables);
	*global = open_result ? NULL : the_global;
	if (open_result)
		fill_error(error);
	return open_result;
}

void global_close(struct global *global)
{
	called("close %d;", global == the_global);
}

const char *global_backend_name(enum global_backend backend)
{
	static const char *const names[] = {"uprobe_multi", "perf_event", "tracefs"};

	return names[backend];
}

enum global_backend global_used(const struct global *global)
{
	assert_ptr_equal(global, the_global);
	return used_way;
}

const char *global_why(const struct global *global)
{
	assert_ptr_equal(global, the_global);
	return why_text;
}

uint32_t global_nr_sides(const struct global *global)
{
	assert_ptr_equal(global, the_global);
	return nr_sides;
}

int global_watch(struct global *global, bool on, struct error *error)
{
	assert_ptr_equal(global, the_global);
	called("watch %d;", on);
	if (watch_result)
		fill_error(error);
	return watch_result;
}

const char *global_replaced(struct global *global)
{
	const char *path = replaced[0];

	assert_ptr_equal(global, the_global);
	replaced[0] = replaced[1];
	replaced[1] = NULL;
	return path;
}

int global_fd(const struct global *global)
{
	assert_ptr_equal(global, the_global);
	return hits_fd;
}

void events_hit(void *user, const struct global_hit *hit)
{
	(void)user;
	(void)hit;
}

void global_read(struct global *global, bool last, global_hit_fn *hit, void *user, uint64_t *lost)
{
	assert_ptr_equal(global, the_global);
	assert_ptr_equal(hit, events_hit);
	assert_ptr_equal(user, the_events);
	called("read %d;", last);
	*lost = lost_there;
}

int global_clean(void)
{
	called("clean;");
	return 0;
}

int events_open(const struct global *global, struct uprobes_events **events, struct error *error)
{
	assert_ptr_equal(global, the_global);
	called("events;");
	*events = events_result ? NULL : the_events;
	if (events_result)
		fill_error(error);
	return events_result;
}

void events_close(struct uprobes_events *events)
{
	called("free %d;", events == the_events);
}

bool events_wanted(const struct uprobes_events *events)
{
	assert_ptr_equal(events, the_events);
	return wanted_events;
}

void events_hello(const struct uprobes_events *events, const char *method, const char *reason)
{
	assert_ptr_equal(events, the_events);
	called("hello %s (%s);", method, reason);
}

void events_lost(const struct uprobes_events *events, uint64_t lost)
{
	assert_ptr_equal(events, the_events);
	called("lost %llu;", (unsigned long long)lost);
}

const char *events_name(const struct uprobes_events *events)
{
	assert_ptr_equal(events, the_events);
	return "prov:ev";
}

bool wanted_by_session(const char *session, bool system, const char *event, pid_t process)
{
	called("session %s %d %s %d;", session, system, event, (int)process);
	return wanted_session;
}

bool wanted_take_turn(const char *session, bool system, const char *event, pid_t process)
{
	called("turn %s %d %s %d;", session, system, event, (int)process);
	return turn_result;
}

void wanted_end_turn(void)
{
	called("end turn;");
}

void clock_check(void)
{
	called("clock;");
}

void change_open(void)
{
	called("changes;");
}

enum change_state change_get(void)
{
	return change_there;
}

void change_done(void)
{
	called("done;");
}

/* ---- arguments ---- */

static struct uprobes_work taken;

static bool take(const char *first, ...)
{
	static char *args[40] = {(char *)(uintptr_t) "side-uprobes"};
	va_list list;
	int nr = 1;

	memset(&taken, 0, sizeof(taken));
	taken.options.backend = -1;
	taken.ready = -1;
	va_start(list, first);
	for (const char *word = first; word; word = va_arg(list, const char *))
		args[nr++] = (char *)(uintptr_t)word;
	args[nr] = NULL;
	va_end(list);
	return uprobes_parse_args(&taken, args);
}

/* Passes the same option `count` times. */
static bool take_many(int count, const char *name, const char *value, const char *table)
{
	static char *args[2 * 70 + 4];
	int nr = 1;

	memset(&taken, 0, sizeof(taken));
	taken.ready = -1;
	args[0] = (char *)(uintptr_t) "side-uprobes";
	for (int i = 0; i < count; i++) {
		args[nr++] = (char *)(uintptr_t)name;
		args[nr++] = (char *)(uintptr_t)value;
	}
	if (table) {
		args[nr++] = (char *)(uintptr_t) "--table";
		args[nr++] = (char *)(uintptr_t)table;
	}
	args[nr] = NULL;
	return uprobes_parse_args(&taken, args);
}

static void test_arguments(void **unused)
{
	const struct global_filter *filter = &taken.options.filter;
	int fd = open("/dev/null", O_RDONLY), other = open("/dev/null", O_RDONLY);
	char text[16], ready[16];

	(void)unused;
	assert_true(fd > 2 && other > 2);
	(void)snprintf(text, sizeof(text), "%d", fd);
	(void)snprintf(ready, sizeof(ready), "%d", other);
	assert_true(take("--table", text, "--process", "17", "--pid", "19", "--pid", "23", "--uid",
			"29", "--cgroup", "12345678901234", "--comm", "a-name-that-is-too-long",
			"--by", "perf_event", "--ring", "8192", "--session", "web", "--system",
			"--duration", "99999999999", "--preload", "libs", "--ready", ready,
			"--quiet", "--json", "--", "true", "-x", NULL));
	assert_int_equal(taken.options.nr_tables, 1);
	assert_int_equal(taken.table_fds[0], fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(other, F_GETFD), FD_CLOEXEC);
	assert_int_equal(taken.options.process, 17);
	assert_int_equal(filter->nr_pids, 2);
	assert_int_equal(filter->pids[0], 19);
	assert_int_equal(filter->pids[1], 23);
	assert_int_equal(filter->nr_uids, 1);
	assert_int_equal(filter->uids[0], 29);
	assert_int_equal(filter->nr_cgroups, 1);
	assert_int_equal(filter->cgroups[0], 12345678901234);
	assert_int_equal(filter->nr_comms, 1);
	assert_string_equal(filter->comms[0], "a-name-that-is-");
	assert_int_equal(taken.options.backend, GLOBAL_PERF);
	assert_int_equal(taken.options.ring_size, 8192);
	assert_string_equal(taken.session, "web");
	assert_true(taken.system && taken.common.quiet && taken.common.json);
	assert_int_equal(taken.duration, 99999999999);
	assert_string_equal(taken.preload, "libs");
	assert_int_equal(taken.ready, other);
	assert_string_equal(taken.command[0], "true");
	assert_string_equal(taken.command[1], "-x");
	assert_true(take("--table", text, "--", NULL));
	assert_null(taken.command);
	assert_false(taken.system || taken.common.quiet || taken.common.json);
	assert_true(take("--table", text, "--by", "uprobe_multi", NULL));
	assert_int_equal(taken.options.backend, GLOBAL_MULTI);
	assert_true(take("--table", text, "--by", "tracefs", NULL));
	assert_int_equal(taken.options.backend, GLOBAL_TRACEFS);
	assert_false(take("--table", text, "--by", "other", NULL));
	/* A table, or an event to end and its session. */
	assert_true(take("--end", "e", "--session", "s", NULL));
	assert_string_equal(taken.end, "e");
	assert_false(take("--end", "e", NULL));
	assert_false(take("--session", "s", NULL));
	assert_false(take(NULL));
	assert_false(take("--table", "900", NULL));
	assert_false(take("--table", text, "--process", "0", NULL));
	assert_true(take("--table", text, "--process", "1", NULL));
	assert_false(take("--table", text, "--process", "-1", NULL));
	assert_false(take("--table", text, "--other", "x", NULL));
	assert_false(take("--table", text, "--ring", NULL));
	/* Each filter takes 64, and 64 tables are the most. */
	assert_true(take_many(64, "--pid", "5", text));
	assert_int_equal(filter->nr_pids, 64);
	assert_false(take_many(65, "--pid", "5", text));
	assert_true(take_many(64, "--uid", "5", text));
	assert_int_equal(filter->uids[63], 5);
	assert_false(take_many(65, "--uid", "5", text));
	assert_true(take_many(64, "--cgroup", "5", text));
	assert_int_equal(filter->cgroups[63], 5);
	assert_false(take_many(65, "--cgroup", "5", text));
	assert_true(take_many(64, "--comm", "c", text));
	assert_string_equal(filter->comms[63], "c");
	assert_false(take_many(65, "--comm", "c", text));
	assert_true(take_many(64, "--table", text, NULL));
	assert_int_equal(taken.options.nr_tables, 64);
	assert_false(take_many(65, "--table", text, NULL));
	close(fd);
	close(other);
}

/* ---- the command ---- */

static void test_environment(void **unused)
{
	static const char *const ours[] = {"SIDE_RING_PORTABLE", "SIDE_AGENT_SESSION",
			"SIDE_AGENT_SOCKET", "LD_PRELOAD"};
	const char *preloaded = getenv("LD_PRELOAD");
	char *saved = preloaded ? strdup(preloaded) : NULL, **environment, *preload;
	size_t before = 0, after = 0;

	(void)unused;
	for (size_t i = 0; i < 4; i++)
		(void)unsetenv(ours[i]);
	(void)setenv("LIFE_KEPT", "1", 1);
	while (environ[before])
		before++;
	for (size_t i = 0; i < 4; i++)
		(void)setenv(ours[i], "x", 1);
	environment = uprobes_make_environment(NULL, &preload);
	assert_non_null(environment);
	assert_null(preload);
	for (; environment[after]; after++)
		for (size_t i = 0; i < 4; i++)
			assert_int_not_equal(
					strncmp(environment[after], ours[i], strlen(ours[i])), 0);
	assert_int_equal(after, before);
	free(environment);
	environment = uprobes_make_environment("before.so", &preload);
	assert_string_equal(preload, "LD_PRELOAD=before.so");
	assert_ptr_equal(environment[before], preload);
	assert_null(environment[before + 1]);
	free(preload);
	free(environment);
	/* No argument after the end is read. */
	{
		char *const none[] = {NULL, (char *)(uintptr_t) "A=b", NULL};
		char **all = environ;

		environ = (char **)(uintptr_t)none;
		environment = uprobes_make_environment(NULL, &preload);
		environ = all;
		assert_non_null(environment);
		assert_null(environment[0]);
		free(environment);
	}
	for (size_t i = 0; i < 4; i++)
		(void)unsetenv(ours[i]);
	if (saved)
		(void)setenv("LD_PRELOAD", saved, 1);
	free(saved);
}

static void wait_for_child(struct uprobes_work *work)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)work->child, &info, WEXITED | WNOWAIT), 0);
	uprobes_check_command(work);
	assert_int_equal(work->child, 0);
	assert_true(work->is_done);
	work->is_done = false;
}

static void run_shell(struct uprobes_work *work, const char *text)
{
	static char *args[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", NULL, NULL};

	args[2] = (char *)(uintptr_t)text;
	work->command = args;
	assert_int_equal(uprobes_start_command(work), 0);
	assert_true(work->child > 0);
}

static void test_command(void **unused)
{
	static char *missing[] = {(char *)(uintptr_t) "/none/such", NULL},
		    *wrong[] = {(char *)(uintptr_t) "/dev/null", NULL};
	struct uprobes_work work = {.status = 0};
	struct rlimit limit, now, lowered;
	char text[200];

	(void)unused;
	assert_int_equal(uprobes_start_command(&work), 0);
	assert_int_equal(work.child, 0);
	uprobes_check_command(&work);
	assert_false(work.is_done);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	lowered = (struct rlimit){.rlim_cur = 300, .rlim_max = limit.rlim_max};
	(void)setrlimit(RLIMIT_NOFILE, &lowered);
	uprobes_raise_file_limit(&work);
	assert_int_equal(work.command_file_limit.rlim_cur, 300);
	(void)getrlimit(RLIMIT_NOFILE, &now);
	assert_int_equal(now.rlim_cur, limit.rlim_max);
	/* The command starts with the original limit. side-uprobes restores the raised limit. */
	(void)snprintf(text, sizeof(text), "test $(ulimit -n) = 300 && exit 23");
	run_shell(&work, text);
	(void)getrlimit(RLIMIT_NOFILE, &now);
	assert_int_equal(now.rlim_cur, limit.rlim_max);
	wait_for_child(&work);
	assert_int_equal(work.status, 23);
	assert_called("");
	run_shell(&work, "kill -TERM $$");
	wait_for_child(&work);
	assert_int_equal(work.status, COMMAND_SIGNAL + SIGTERM);
	assert_called("note /bin/sh was killed by signal 15 (Terminated);");
	run_shell(&work, "kill -INT $$");
	wait_for_child(&work);
	assert_int_equal(work.status, COMMAND_SIGNAL + SIGINT);
	run_shell(&work, "kill -PIPE $$");
	wait_for_child(&work);
	assert_int_equal(work.status, COMMAND_SIGNAL + SIGPIPE);
	assert_called("");
	/* The command is still running. */
	run_shell(&work, "exec sleep 10");
	uprobes_check_command(&work);
	assert_true(work.child > 0 && !work.is_done);
	(void)kill(work.child, SIGINT);
	wait_for_child(&work);
	/* Another child process does not belong to the command. */
	{
		pid_t process = fork();

		if (!process)
			for (;;)
				pause();
		work.child = 0;
		uprobes_check_command(&work);
		assert_false(work.is_done);
		(void)kill(process, SIGKILL);
		assert_int_equal(waitpid(process, NULL, 0), process);
	}
	work.command = missing;
	work.child = 77;
	assert_int_equal(uprobes_start_command(&work), COMMAND_NOT_FOUND);
	assert_int_equal(work.child, 0);
	assert_called("error 127 cannot run /none/such: No such file or directory [-];");
	work.command = wrong;
	assert_int_equal(uprobes_start_command(&work), COMMAND_NOT_EXECUTABLE);
	assert_called("error 126 cannot run /dev/null: Permission denied [-];");
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- watching ---- */

static struct uprobes_work work_there(void)
{
	return (struct uprobes_work){.global = the_global,
			.events = the_events,
			.loop.epoll = -1,
			.signal_fd = -1,
			.process_fd = -1,
			.ready = -1};
}

static void test_watching(void **unused)
{
	struct uprobes_work work = work_there();

	(void)unused;
	why_text = "";
	assert_int_equal(uprobes_enable_probes(&work, false), 0);
	assert_called("");
	assert_int_equal(uprobes_enable_probes(&work, true), 0);
	assert_called("watch 1;");
	assert_true(work.is_enabled);
	assert_int_equal(uprobes_enable_probes(&work, true), 0);
	assert_called("");
	lost_there = 7;
	assert_int_equal(uprobes_enable_probes(&work, false), 0);
	assert_called("watch 0;clock;read 1;lost 7;");
	assert_false(work.is_enabled);
	/* Only new losses are reported. */
	uprobes_read_hits(&work, false);
	assert_called("clock;read 0;");
	lost_there = 12;
	uprobes_read_hits(&work, false);
	assert_called("clock;read 0;lost 5;");
	lost_there = 0;
	watch_result = -EPERM;
	error_text = "a %% text";
	error_hint = "a hint";
	permission = true;
	used_way = GLOBAL_TRACEFS;
	assert_int_equal(uprobes_enable_probes(&work, true), COMMAND_NOT_PERMITTED);
	assert_called("watch 1;error 3 a %% text [a hint];");
	error_text = "a text";
	assert_false(work.is_enabled);
	why_text = "no BPF";
	error_hint = "";
	permission = false;
	assert_int_equal(uprobes_enable_probes(&work, true), COMMAND_FAILED);
	assert_called("watch 1;error 1 tracefs: a text; no BPF [-];");
	watch_result = 0;
	why_text = "";
}

static void test_changes(void **unused)
{
	struct uprobes_work work = work_there();

	(void)unused;
	change_there = CHANGE_NONE;
	uprobes_apply_change(&work);
	assert_called("");
	change_there = CHANGE_BEGINS;
	uprobes_apply_change(&work);
	assert_called("done;");
	change_there = CHANGE_ENDS;
	wanted_events = true;
	uprobes_apply_change(&work);
	assert_called("watch 1;done;");
	change_there = CHANGE_BEGINS;
	uprobes_apply_change(&work);
	assert_called("clock;read 1;done;");
	change_there = CHANGE_ENDS;
	wanted_events = false;
	uprobes_apply_change(&work);
	assert_called("watch 0;clock;read 1;done;");
	change_there = CHANGE_NONE;
}

static void test_sessions(void **unused)
{
	struct uprobes_work work = work_there();

	(void)unused;
	played_now = UINT64_C(50000000000);
	wanted_session = false;
	uprobes_check_session(&work);
	assert_called("");
	work.session = "web";
	work.system = true;
	work.options.process = 0;
	/* Once a second. */
	work.last_session_check = played_now - 1000000000 + 1;
	uprobes_check_session(&work);
	assert_called("");
	work.last_session_check--;
	uprobes_check_session(&work);
	assert_called("session web 1 prov:ev 0;");
	assert_true(work.is_done);
	assert_int_equal(work.last_session_check, played_now);
	work.is_done = false;
	work.last_session_check = 0;
	wanted_session = true;
	uprobes_check_session(&work);
	assert_called("session web 1 prov:ev 0;");
	assert_false(work.is_done);
	/* While the event is recorded, the session is asked only if one process is selected. */
	work.last_session_check = 0;
	work.is_enabled = true;
	uprobes_check_session(&work);
	assert_called("");
	work.process_fd = 5;
	work.options.process = 4711;
	uprobes_check_session(&work);
	assert_called("session web 1 prov:ev 4711;");
	work.process_fd = 0;
	work.last_session_check = 0;
	uprobes_check_session(&work);
	assert_called("session web 1 prov:ev 4711;");
}

static void test_process(void **unused)
{
	struct uprobes_work work = work_there();
	int fds[2];

	(void)unused;
	uprobes_check_process(&work);
	assert_false(work.is_done);
	assert_int_equal(pipe(fds), 0);
	work.process_fd = fds[0];
	uprobes_check_process(&work);
	assert_false(work.is_done);
	assert_int_equal(write(fds[1], "x", 1), 1);
	uprobes_check_process(&work);
	assert_true(work.is_done);
	/* The pidfd may be descriptor 0. */
	{
		int input = dup(STDIN_FILENO);

		work.is_done = false;
		assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
		work.process_fd = STDIN_FILENO;
		uprobes_check_process(&work);
		assert_true(work.is_done);
		uprobes_close(&work);
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
		assert_called("free 1;close 1;end turn;");
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		close(input);
	}
	close(fds[0]);
	close(fds[1]);
}

static void test_files(void **unused)
{
	static const char message_format[] =
			"%s was replaced: programs that start now run another file, in which no location is watched";
	struct uprobes_work work = work_there();
	char one[300], two[300], expected[1500];

	(void)unused;
	replaced[0] = "/one";
	replaced[1] = "/two";
	used_way = GLOBAL_PERF;
	uprobes_check_files(&work, 17);
	assert_int_equal(work.last_file_check, 17);
	(void)snprintf(one, sizeof(one), message_format, "/one");
	(void)snprintf(two, sizeof(two), message_format, "/two");
	(void)snprintf(expected, sizeof(expected),
			"note %s; set the probes again;hello perf_event (%s);note %s; set the probes again;hello perf_event (%s);",
			one, one, two, two);
	assert_called(expected);
	uprobes_check_files(&work, 18);
	assert_called("");
}

/* ---- signals ---- */

static void test_signals(void **unused)
{
	struct uprobes_work work = work_there();
	unsigned int before = resources_descriptors();
	siginfo_t info;
	sigset_t old, set;

	(void)unused;
	(void)sigprocmask(SIG_SETMASK, NULL, &old);
	nr_sets = 0;
	assert_int_equal(uprobes_block_signals(&work), 0);
	assert_int_equal(nr_sets, 1);
	assert_int_equal(resources_descriptors(), before + 2);
	assert_int_equal(fcntl(work.signal_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(event_loop_fd(&work.loop), F_GETFD), FD_CLOEXEC);
	(void)sigprocmask(SIG_SETMASK, NULL, &set);
	assert_true(sigismember(&set, SIGINT) && sigismember(&set, SIGTERM) &&
			sigismember(&set, SIGHUP) && sigismember(&set, SIGCHLD) &&
			sigismember(&set, CHANGE_SIGNAL));
	assert_false(sigismember(&set, SIGQUIT));
	uprobes_read_signals(&work);
	assert_false(work.is_done);
	(void)kill(getpid(), SIGCHLD);
	(void)kill(getpid(), CHANGE_SIGNAL);
	uprobes_read_signals(&work);
	assert_false(work.is_done);
	for (size_t i = 0; i < 3; i++) {
		(void)kill(getpid(), ((const int[]){SIGINT, SIGTERM, SIGHUP})[i]);
		uprobes_read_signals(&work);
		assert_true(work.is_done);
		work.is_done = false;
	}
	/*
	 * With a command, signals go to the command, except those that the terminal has sent to it
	 * already.
	 */
	run_shell(&work, "exec sleep 10");
	(void)kill(getpid(), SIGINT);
	uprobes_read_signals(&work);
	assert_false(work.is_done);
	assert_int_equal(waitid(P_PID, (id_t)work.child, &info, WEXITED | WNOWAIT | WNOHANG), 0);
	(void)kill(getpid(), SIGTERM);
	uprobes_read_signals(&work);
	assert_false(work.is_done);
	wait_for_child(&work);
	assert_int_equal(work.status, COMMAND_SIGNAL + SIGTERM);
	*calls = '\0';
	uprobes_read_signals(&work);
	close(work.signal_fd);
	event_loop_close(&work.loop);
	/* Without standard input, the signalfd or the epoll instance has descriptor 0. */
	{
		int input = dup(STDIN_FILENO);

		close(STDIN_FILENO);
		assert_int_equal(uprobes_block_signals(&work), 0);
		assert_int_equal(work.signal_fd, STDIN_FILENO);
		close(work.signal_fd);
		event_loop_close(&work.loop);
		signals_are_high = true;
		assert_int_equal(uprobes_block_signals(&work), 0);
		signals_are_high = false;
		assert_int_equal(event_loop_fd(&work.loop), STDIN_FILENO);
		close(work.signal_fd);
		event_loop_close(&work.loop);
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		close(input);
	}
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
}

/* ---- turns ---- */

static void test_turn(void **unused)
{
	struct uprobes_work work = work_there();

	(void)unused;
	assert_int_equal(event_loop_open(&work.loop), 0);
	played_now = UINT64_C(60000000000);
	work.last_file_check = played_now;
	uprobes_run_round(&work);
	assert_called("");
	assert_false(work.is_done);
	work.is_enabled = true;
	uprobes_run_round(&work);
	assert_called("clock;read 0;");
	/*
	 * The loop sleeps before it reads hits, so that hits that come together are read together.
	 * Signals are not delayed.
	 */
	{
		int fds[2], signals[2];

		assert_int_equal(nr_sleeps, 0);
		assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
		assert_int_equal(pipe2(signals, O_CLOEXEC | O_NONBLOCK), 0);
		hits_fd = fds[0];
		work.signal_fd = signals[0];
		assert_int_equal(uprobes_add_sources(&work), 0);
		assert_int_equal(write(fds[1], "x", 1), 1);
		uprobes_run_round(&work);
		assert_called("clock;read 0;");
		assert_int_equal(nr_sleeps, 1);
		work.is_enabled = false;
		uprobes_run_round(&work);
		assert_int_equal(nr_sleeps, 1);
		work.is_enabled = true;
		/* Also if hits have arrived. */
		assert_int_equal(write(signals[1], "x", 1), 1);
		work.signal_fd = -1;
		uprobes_run_round(&work);
		assert_called("clock;read 0;");
		assert_int_equal(nr_sleeps, 1);
		event_source_close(&work.loop, &work.hits_source);
		uprobes_run_round(&work);
		assert_called("clock;read 0;");
		assert_int_equal(nr_sleeps, 1);
		event_source_close(&work.loop, &work.signals_source);
		close(fds[1]);
		close(signals[1]);
	}
	/* It ends exactly at the deadline. */
	work.is_enabled = false;
	work.end_ns = played_now + 1;
	uprobes_run_round(&work);
	assert_false(work.is_done);
	work.end_ns = played_now;
	uprobes_run_round(&work);
	assert_true(work.is_done);
	work.is_done = false;
	work.end_ns = 0;
	/* Files once a second. */
	replaced[0] = "/one";
	work.last_file_check = played_now - 999999999;
	uprobes_run_round(&work);
	assert_called("");
	work.last_file_check--;
	uprobes_run_round(&work);
	assert_non_null(strstr(calls, "note /one was replaced"));
	assert_int_equal(work.last_file_check, played_now);
	*calls = '\0';
	/* A session: changes, the request, and whether the session exists. */
	work.session = "web";
	work.last_session_check = played_now;
	change_there = CHANGE_BEGINS;
	wanted_events = true;
	uprobes_run_round(&work);
	assert_called("done;watch 1;clock;read 0;");
	change_there = CHANGE_NONE;
	wanted_events = false;
	uprobes_run_round(&work);
	assert_called("watch 0;clock;read 1;");
	wanted_events = true;
	watch_result = -EIO;
	error_text = "a text";
	error_hint = "";
	permission = false;
	uprobes_run_round(&work);
	assert_called("watch 1;error 1 a text [-];");
	assert_true(work.is_done);
	assert_int_equal(work.status, COMMAND_FAILED);
	watch_result = 0;
	work.is_done = false;
	work.last_session_check = 0;
	work.is_enabled = false;
	wanted_events = false;
	wanted_session = false;
	uprobes_run_round(&work);
	assert_called("session web 0 prov:ev 0;");
	assert_true(work.is_done);
	event_loop_close(&work.loop);
}

/* ---- the start ---- */

static void test_open_all(void **unused)
{
	struct uprobes_work work = work_there();
	int fds[2];

	(void)unused;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(event_loop_open(&work.loop), 0);
	work.signal_fd = fds[0];
	hits_fd = fds[1];
	assert_int_equal(uprobes_open_probes(&work), 0);
	assert_called("open 0;events;");
	assert_true(work.signals_source.is_added && work.signals_source.fd == fds[0] &&
			work.signals_source.ready == uprobes_signals_ready);
	assert_true(work.hits_source.is_added && work.hits_source.fd == fds[1] &&
			work.hits_source.ready == uprobes_hits_ready);
	/* The descriptors are registered already. */
	assert_int_equal(uprobes_open_probes(&work), COMMAND_FAILED);
	assert_called("open 0;events;error 1 cannot wait for hits [-];");
	error_text = "a text";
	error_hint = "a hint";
	permission = true;
	open_result = -EPERM;
	assert_int_equal(uprobes_open_probes(&work), COMMAND_NOT_PERMITTED);
	assert_called("open 0;error 3 a text [a hint];");
	open_result = 0;
	events_result = -ENOMEM;
	error_hint = "";
	permission = false;
	assert_int_equal(uprobes_open_probes(&work), COMMAND_FAILED);
	assert_called("open 0;events;error 1 a text [-];");
	events_result = 0;
	event_loop_close(&work.loop);
	close(fds[0]);
	close(fds[1]);
}

static void test_way(void **unused)
{
	struct uprobes_work work = work_there();

	(void)unused;
	why_text = "";
	used_way = GLOBAL_MULTI;
	nr_sides = 1;
	uprobes_print_backend(&work);
	assert_called("note 1 location is watched by uprobe_multi;");
	nr_sides = 501;
	why_text = "for a reason";
	uprobes_print_backend(&work);
	assert_called("note 501 locations are watched by uprobe_multi (for a reason);");
	used_way = GLOBAL_PERF;
	nr_sides = 500;
	uprobes_print_backend(&work);
	assert_called("note 500 locations are watched by perf_event (for a reason);");
	nr_sides = 501;
	uprobes_print_backend(&work);
	assert_called("note 501 locations are watched by perf_event (for a reason);note at the end the kernel removes them one by one, in up to a tenth of a second each;");
	why_text = "";
	nr_sides = 2;
}

static void test_end_other(void **unused)
{
	struct uprobes_work work = work_there();
	int fds[2];
	char byte = 0;

	(void)unused;
	assert_int_equal(pipe(fds), 0);
	work.session = "web";
	work.end = "a:b";
	work.options.process = 31;
	turn_result = false;
	work.ready = fds[1];
	assert_int_equal(uprobes_end_other(&work), COMMAND_FAILED);
	assert_called("turn web 0 a:b 31;error 1 another recorder of a:b is still running [-];");
	turn_result = true;
	assert_int_equal(uprobes_end_other(&work), 0);
	assert_called("turn web 0 a:b 31;end turn;");
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(byte, '+');
	/* The pipe to the waiting process may be descriptor 0. */
	{
		int input = dup(STDIN_FILENO);

		assert_int_equal(dup2(fds[1], STDIN_FILENO), STDIN_FILENO);
		work.ready = STDIN_FILENO;
		assert_int_equal(uprobes_end_other(&work), 0);
		assert_int_equal(read(fds[0], &byte, 1), 1);
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		close(input);
	}
	work.ready = -1;
	assert_int_equal(uprobes_end_other(&work), 0);
	work.ready = fds[0];
	assert_int_equal(uprobes_end_other(&work), COMMAND_FAILED);
	*calls = '\0';
	close(fds[0]);
	close(fds[1]);
}

/* Runs all of it in a child process. */
static int live(char *log, size_t size, bool *is_ready, const char *first, ...)
{
	int ready[2], out[2], status, nr = 1;
	char number[16], *args[32] = {(char *)(uintptr_t) "side-uprobes"}, byte = 0;
	va_list arguments;
	pid_t child;
	ssize_t got;

	va_start(arguments, first);
	for (const char *word = first; word; word = va_arg(arguments, const char *))
		args[nr++] = (char *)(uintptr_t)(strcmp(word, "@") ? word : number);
	va_end(arguments);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(out), 0);
	(void)snprintf(number, sizeof(number), "%d", ready[1]);
	child = fork();
	if (!child) {
		unsigned int before;
		int code, log_fd = fcntl(out[1], F_DUPFD_CLOEXEC, 100), hits[2];

		(void)dup2(log_fd, 1);
		(void)pipe2(hits, O_CLOEXEC);
		hits_fd = hits[0];
		before = resources_descriptors();
		code = uprobes_main(nr, args);
		called("%d%s;", (int)(resources_descriptors() - before),
				fcntl(1, F_GETFL) == fcntl(log_fd, F_GETFL) ? "" : " null");
		(void)!write(log_fd, calls, strlen(calls));
		_exit(code);
	}
	close(out[1]);
	close(ready[1]);
	got = read(out[0], log, size - 1);
	log[got > 0 ? got : 0] = '\0';
	assert_int_equal(waitpid(child, &status, 0), child);
	*is_ready = read(ready[0], &byte, 1) == 1 && byte == '+';
	close(out[0]);
	close(ready[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Each call of the preparation fails once. Everything that was opened is closed. */
static void test_failures(void **unused)
{
	static const char *const messages[] = {
			"start 0 0;start 0 0;clean;error 1 cannot wait for signals [-];free 0;close 0;end turn;0;",
			"start 0 0;start 0 0;clean;error 1 cannot wait for signals [-];free 0;close 0;end turn;0;",
			"start 0 0;start 0 0;clean;open 1;events;error 1 cannot wait for hits [-];free 1;close 1;end turn;0;",
			"start 0 0;start 0 0;clean;open 1;events;error 1 cannot wait for hits [-];free 1;close 1;end turn;0;"};
	char log[8192];
	bool is_ready;

	(void)unused;
	for (failing_at = 1; failing_at <= 4; failing_at++) {
		failing_seen = 0;
		assert_int_equal(live(log, sizeof(log), &is_ready, "--table", "0", "--ready", "@",
						 NULL),
				COMMAND_FAILED);
		assert_string_equal(log, messages[failing_at - 1]);
		assert_false(is_ready);
	}
	failing_at = 0;
}

/* The terminal's descriptors are replaced by /dev/null, even if one of them was closed. */
static void test_ready(void **unused)
{
	int ready[2], status;
	pid_t child;
	char byte = 0;

	(void)unused;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	for (int closed = -1; closed < 3; closed += 3) {
		child = fork();
		if (!child) {
			struct uprobes_work work = work_there();
			unsigned int before = resources_descriptors();
			bool is_right = true;
			int other = open("/dev/full", O_RDONLY | O_CLOEXEC);

			for (int fd = 0; fd < 3; fd++)
				(void)dup2(other, fd);
			close(other);
			work.process_fd = 5;
			work.ready = ready[1];
			if (closed >= 0)
				close(closed);
			uprobes_notify_ready(&work);
			for (int fd = 0; fd < 3; fd++)
				is_right &= (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
			is_right &= !work.is_done && resources_descriptors() == before - 1;
			/* The waiting process has exited. */
			work.ready = open("/dev/full", O_WRONLY | O_CLOEXEC);
			uprobes_notify_ready(&work);
			_exit(is_right && work.is_done ? 5 : 6);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(WEXITSTATUS(status), 5);
		assert_int_equal(read(ready[0], &byte, 1), 1);
		assert_int_equal(byte, '+');
	}
	close(ready[0]);
	close(ready[1]);
}

static void test_life(void **unused)
{
	char log[8192];
	bool is_ready;

	(void)unused;
	played_step = 0;
	played_now = 1;
	used_way = GLOBAL_MULTI;
	assert_int_equal(live(log, sizeof(log), &is_ready, "--other", NULL), COMMAND_USAGE);
	assert_string_equal(log,
			"start 0 0;error 2 do not start this program by hand: side starts it [see `side help probes`];0;");
	/* Ends another recorder. */
	turn_result = true;
	assert_int_equal(live(log, sizeof(log), &is_ready, "--end", "a:b", "--session", "web",
					 "--ready", "@", "--quiet", NULL),
			0);
	assert_string_equal(log, "start 0 0;start 1 0;turn web 0 a:b 0;end turn;0;");
	assert_true(is_ready);
	/* A command without a session. */
	lost_there = 9;
	assert_int_equal(live(log, sizeof(log), &is_ready, "--table", "0", "--json", "--",
					 "/bin/sh", "-c", "exit 21", NULL),
			21);
	assert_memory_equal(log,
			"start 0 0;start 0 1;clean;open 1;events;clock;watch 1;hello uprobe_multi ();note 2 locations are watched by uprobe_multi;clock;read 0;lost 9;",
			131);
	assert_non_null(strstr(log,
			"watch 0;clock;read 1;note 9 hits did not fit in the kernel buffer and are lost;free 1;close 1;end turn;"));
	lost_there = 0;
	/*
	 * Another recorder of the session does not end; and a session that does not request the
	 * event any more.
	 */
	turn_result = false;
	assert_int_equal(live(log, sizeof(log), &is_ready, "--table", "0", "--session", "web",
					 "--ready", "@", NULL),
			COMMAND_FAILED);
	assert_string_equal(log,
			"start 0 0;start 0 0;clean;open 1;events;clock;turn web 0 prov:ev 0;error 1 another recorder of prov:ev is still running [-];free 1;close 1;end turn;0;");
	assert_false(is_ready);
	turn_result = true;
	wanted_events = wanted_session = false;
	played_now = UINT64_C(1000000000);
	assert_int_equal(live(log, sizeof(log), &is_ready, "--table", "0", "--session", "web",
					 "--ready", "@", NULL),
			0);
	assert_true(is_ready);
	assert_string_equal(log,
			"start 0 0;start 0 0;clean;open 1;events;clock;turn web 0 prov:ev 0;hello uprobe_multi ();watch 1;changes;"
			"note 2 locations are watched by uprobe_multi;watch 0;clock;read 1;session web 0 prov:ev 0;free 1;close 1;end turn;-1 null;");
	/* A duration. */
	played_step = 1000;
	assert_int_equal(live(log, sizeof(log), &is_ready, "--table", "0", "--duration", "2000",
					 NULL),
			0);
	assert_non_null(strstr(log, "hello uprobe_multi ();note 2"));
	played_step = 0;
	/* A process that has exited: nothing is reported about it. */
	{
		pid_t process = fork();
		char number[16];

		if (!process)
			_exit(0);
		(void)snprintf(number, sizeof(number), "%d", (int)process);
		assert_int_equal(live(log, sizeof(log), &is_ready, "--table", "0", "--process",
						 number, NULL),
				0);
		assert_null(strstr(log, "locations"));
		assert_int_equal(waitpid(process, NULL, 0), process);
	}
	watch_result = -EIO;
	error_text = "a text";
	assert_int_equal(live(log, sizeof(log), &is_ready, "--table", "0", "--session", "web",
					 "--ready", "@", NULL),
			COMMAND_FAILED);
	assert_string_equal(log,
			"start 0 0;start 0 0;clean;open 1;events;clock;turn web 0 prov:ev 0;hello uprobe_multi ();watch 1;error 1 a text [-];free 1;close 1;end turn;0;");
	assert_false(is_ready);
	watch_result = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_arguments),
			cmocka_unit_test(test_environment),
			cmocka_unit_test(test_command),
			cmocka_unit_test(test_watching),
			cmocka_unit_test(test_changes),
			cmocka_unit_test(test_sessions),
			cmocka_unit_test(test_process),
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_signals),
			cmocka_unit_test(test_turn),
			cmocka_unit_test(test_open_all),
			cmocka_unit_test(test_way),
			cmocka_unit_test(test_end_other),
			cmocka_unit_test(test_life),
			cmocka_unit_test(test_failures),
			cmocka_unit_test(test_ready),
	};

	/* A shell makes its background processes ignore it. */
	(void)signal(SIGINT, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
