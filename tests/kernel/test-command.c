/* SPDX-License-Identifier: MIT */
/*
 * side-kernel as the command of one recording, with a simulated kernel: arguments, the command that
 * runs, its status, and its output.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Call number `failing_at` fails. Each function has an error of its own. */
static unsigned int failing_at, failing_seen;

static bool is_failing(int error)
{
	if (!failing_at || ++failing_seen != failing_at)
		return false;
	errno = error;
	return true;
}

static int failing_signalfd(int fd, const sigset_t *set, int flags)
{
	return is_failing(ENODEV) ? -1 : signalfd(fd, set, flags);
}

static int failing_epoll_create1(int flags)
{
	return is_failing(EMFILE) ? -1 : epoll_create1(flags);
}

static int failing_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *interest)
{
	return is_failing(ENOSPC) ? -1 : epoll_ctl(epoll, operation, fd, interest);
}

static pid_t failing_fork(void)
{
	return is_failing(EAGAIN) ? -1 : fork();
}

static void *failing_reallocarray(void *old, size_t count, size_t size)
{
	return is_failing(ENOMEM) ? NULL : reallocarray(old, count, size);
}

static long failing_syscall(long number, ...)
{
	long values[4] = {0};
	va_list arguments;

	if (is_failing(EPERM))
		return -1;
	va_start(arguments, number);
	values[0] = va_arg(arguments, int);
	values[1] = va_arg(arguments, int);
	va_end(arguments);
	return syscall(number, values[0], values[1], values[2], values[3]);
}

/* The output of a process that runs the command. */
static int exit_fd = -1;
static void write_calls(void);

static _Noreturn void noted_exit(int status)
{
	write_calls();
	_exit(status);
}

#define _exit noted_exit
#define signalfd failing_signalfd
#define epoll_create1 failing_epoll_create1
#define epoll_ctl failing_epoll_ctl
#define fork failing_fork
#define reallocarray failing_reallocarray
#define syscall failing_syscall
#include "programs/side-kernel/command.c"
#undef _exit
#undef signalfd
#undef epoll_create1
#undef epoll_ctl
#undef fork
#undef reallocarray
#undef syscall

/* ---- replaced functions ---- */

#include "../called-messages.h"

static void write_calls(void)
{
	if (exit_fd >= 0)
		(void)!write(exit_fd, calls, strlen(calls));
}

#include "../resources.h"

static int listen_result, create_result, nr_notices;
static uint64_t kinds_there, kinds_found;
static const char *why_text = "", *hint_text = "";
static bool monotonic_there;
static struct kernel_record *const the_record = (struct kernel_record *)(uintptr_t)0x1000;
static struct side_kernel_events *const the_events = (struct side_kernel_events *)(uintptr_t)0x2000;
static struct kernel_record_summary summary = {
		.backend = "some way", .why = "for a reason", .event_classes = 3, .plain = 5};

int kernel_listen_open(const struct kernel_record_options *options,
		const struct kernel_listener *listener, struct kernel_record **record,
		struct error *error)
{
	assert_ptr_equal(listener->user, the_events);
	assert_int_equal(error->code, 0);
	called("open %zu %s;", options->nr_choices, options->choices[0].pattern);
	*record = listen_result ? NULL : the_record;
	error->code = listen_result;
	(void)snprintf(error->text, sizeof(error->text), "a reason");
	(void)snprintf(error->hint, sizeof(error->hint), "%s", hint_text);
	return listen_result;
}

void kernel_record_backend(
		const struct kernel_record *record, const char **backend, const char **why)
{
	assert_ptr_equal(record, the_record);
	*backend = "some way";
	*why = why_text;
}

void kernel_record_close(struct kernel_record *record)
{
	called("close %d;", record == the_record);
}

bool kernel_listen_drain(struct kernel_record *record, bool losses)
{
	assert_ptr_equal(record, the_record);
	called("drain %d;", losses);
	return true;
}

bool kernel_listen_scan(struct kernel_record *record)
{
	assert_ptr_equal(record, the_record);
	called("look;");
	kinds_there += kinds_found;
	return false;
}

bool kernel_listen_is_notified(struct kernel_record *record)
{
	assert_ptr_equal(record, the_record);
	return nr_notices-- > 0;
}

void kernel_listen_seen(struct kernel_record *record)
{
	assert_ptr_equal(record, the_record);
	called("seen;");
}

void kernel_listen_wait(struct kernel_record *record, int fd, int timeout_ms)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	assert_ptr_equal(record, the_record);
	called("wait %d;", timeout_ms);
	(void)poll(&one, 1, timeout_ms);
}

uint64_t kernel_listen_classes(const struct kernel_record *record)
{
	assert_ptr_equal(record, the_record);
	return kinds_there;
}

const struct kernel_record_summary *kernel_listen_end(struct kernel_record *record)
{
	assert_ptr_equal(record, the_record);
	called("end;");
	return &summary;
}

int events_create(bool monotonic, struct side_kernel_events **events)
{
	assert_int_equal(monotonic, monotonic_there);
	*events = the_events;
	return create_result;
}

void events_free(struct side_kernel_events *events)
{
	called("free %d;", events == the_events);
}

bool events_choose_clock(struct kernel_record_options *options)
{
	(void)options;
	return monotonic_there;
}

void events_listener(struct side_kernel_events *events, struct kernel_listener *listener)
{
	*listener = (struct kernel_listener){.user = events};
}

void events_stats(const struct side_kernel_events *events, uint64_t *nr_recorded, uint64_t *lost)
{
	assert_ptr_equal(events, the_events);
	*nr_recorded = 17;
	*lost = 19;
}

void clock_check(void)
{
	called("clock;");
}

/* ---- arguments ---- */

static char *words_of[24];

static char **list(const char *first, ...)
{
	va_list arguments;
	int nr = 1;

	words_of[0] = (char *)(uintptr_t) "side-kernel";
	va_start(arguments, first);
	for (const char *word = first; word; word = va_arg(arguments, const char *))
		words_of[nr++] = (char *)(uintptr_t)word;
	va_end(arguments);
	words_of[nr] = NULL;
	return words_of;
}

static int take(struct side_kernel_command *command, char **argv)
{
	*command = (struct side_kernel_command){.status_fd = -1};
	return side_kernel_command_parse_args(command, argv);
}

static void test_arguments(void **unused)
{
	struct side_kernel_command command;
	int fd = open("/dev/null", O_RDONLY);
	char text[16];

	(void)unused;
	assert_true(fd >= 3);
	(void)snprintf(text, sizeof(text), "%d", fd);
	assert_int_equal(take(&command,
					 list("--record", text, "--method", "perf", "--buffer",
							 "123456789012", "--kernel", "a:*",
							 "--kernel-filter", "x > 1", "--kernel",
							 "b:*", "--", "true", "-x", NULL)),
			0);
	assert_int_equal(command.status_fd, fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(command.options.backend, KERNEL_RECORD_PERF);
	assert_int_equal(command.options.buffer_size, 123456789012);
	assert_int_equal(command.options.nr_choices, 2);
	assert_string_equal(command.options.choices[0].pattern, "a:*");
	assert_string_equal(command.options.choices[0].filter, "x > 1");
	assert_string_equal(command.options.choices[1].pattern, "b:*");
	assert_null(command.options.choices[1].filter);
	assert_string_equal(command.argv[0], "true");
	assert_string_equal(command.argv[1], "-x");
	assert_false(command.options.machine || command.wait_all || command.portable);
	assert_null(command.user_events);
	free(command.choices);
	assert_int_equal(take(&command,
					 list("--record", text, "--method", "tracefs", "--machine",
							 "yes", "--wait", "yes", "--portable",
							 "yes", "--user-events", "mine", "--kernel",
							 "a:*", NULL)),
			0);
	assert_int_equal(command.options.backend, KERNEL_RECORD_TRACEFS);
	assert_true(command.options.machine && command.wait_all && command.portable);
	assert_string_equal(command.user_events, "mine");
	assert_null(command.argv);
	free(command.choices);
	assert_int_equal(take(&command, list("--record", text, "--kernel", "a:*", "--", NULL)), 0);
	assert_null(command.argv);
	free(command.choices);
	/*
	 * A filter of nothing; no event; no descriptor; an option that is none, or that lacks its
	 * value.
	 */
	assert_int_equal(take(&command,
					 list("--record", text, "--kernel-filter", "x", "--kernel",
							 "a:*", NULL)),
			-EINVAL);
	assert_int_equal(take(&command, list("--record", text, NULL)), -EINVAL);
	assert_int_equal(take(&command, list("--record", "2", "--kernel", "a:*", NULL)), -EINVAL);
	free(command.choices);
	assert_int_equal(take(&command, list("--kernel", "a:*", NULL)), -EINVAL);
	free(command.choices);
	assert_int_equal(take(&command, list("--record", "900", "--kernel", "a:*", NULL)), -EBADF);
	free(command.choices);
	assert_int_equal(take(&command,
					 list("--record", text, "--kernel", "a:*", "--other", "x",
							 NULL)),
			-EINVAL);
	free(command.choices);
	assert_int_equal(
			take(&command, list("--record", text, "--kernel", "a:*", "--method", NULL)),
			-EINVAL);
	free(command.choices);
	close(fd);
	/* Descriptor 3 is the lowest that is accepted. */
	fd = open("/dev/null", O_RDONLY);
	assert_int_equal(take(&command, list("--record", "3", "--kernel", "a:*", NULL)),
			fcntl(3, F_GETFD) < 0 ? -EBADF : 0);
	free(command.choices);
	close(fd);
}

static void test_environment(void **unused)
{
	struct side_kernel_command command = {.portable = false};

	(void)unused;
	(void)setenv("SIDE_AGENT_KERNEL", "1", 1);
	(void)setenv("SIDE_RING_PORTABLE", "1", 1);
	(void)setenv("SIDE_USER_EVENTS", "ours", 1);
	command.portable = true;
	command.user_events = "theirs";
	side_kernel_command_restore_environment(&command);
	assert_null(getenv("SIDE_AGENT_KERNEL"));
	assert_string_equal(getenv("SIDE_RING_PORTABLE"), "1");
	assert_string_equal(getenv("SIDE_USER_EVENTS"), "theirs");
	command.portable = false;
	command.user_events = NULL;
	side_kernel_command_restore_environment(&command);
	assert_null(getenv("SIDE_RING_PORTABLE"));
	assert_null(getenv("SIDE_USER_EVENTS"));
}

/* ---- the kernel ---- */

static void test_open_kernel(void **unused)
{
	struct kernel_record_choice choice = {.pattern = "a:*"};
	struct side_kernel_command command = {.options = {.choices = &choice, .nr_choices = 1}};

	(void)unused;
	monotonic_there = true;
	assert_int_equal(side_kernel_command_open(&command), 0);
	assert_true(command.monotonic);
	assert_called("clock;open 1 a:*;");
	monotonic_there = false;
	why_text = "for a reason";
	assert_int_equal(side_kernel_command_open(&command), 0);
	assert_called("clock;open 1 a:*;note reading kernel events through some way: for a reason;");
	why_text = "";
	hint_text = "a hint";
	{
		static const struct {
			int code, status;
		} results[] = {{-EINVAL, COMMAND_USAGE}, {-EACCES, COMMAND_NOT_PERMITTED},
				{-EPERM, COMMAND_NOT_PERMITTED}, {-ENOENT, COMMAND_FAILED}};

		for (size_t i = 0; i < 4; i++) {
			char text[200];

			listen_result = results[i].code;
			assert_int_equal(side_kernel_command_open(&command), results[i].status);
			(void)snprintf(text, sizeof(text),
					"clock;open 1 a:*;error %d cannot record kernel events: a reason [a hint];",
					results[i].status);
			assert_called(text);
		}
	}
	hint_text = "";
	assert_int_equal(side_kernel_command_open(&command), COMMAND_FAILED);
	assert_called("clock;open 1 a:*;error 1 cannot record kernel events: a reason [-];");
	listen_result = 0;
	create_result = -ENOMEM;
	assert_int_equal(side_kernel_command_open(&command), COMMAND_FAILED);
	assert_called("clock;error 1 out of memory [-];");
	create_result = 0;
}

/*
 * An event that appears without a notice of its program is late, unless a notice arrives within
 * half a second.
 */
static void test_turn(void **unused)
{
	struct side_kernel_command command = {
			.record = the_record, .events = the_events, .epoll = -1};

	(void)unused;
	kinds_found = 3;
	kinds_there = 10;
	side_kernel_command_run_once(&command);
	assert_called("wait 50;drain 0;look;");
	assert_int_equal(command.late.unsure, 3);
	assert_int_equal(command.late.late, 0);
	kinds_found = 4;
	side_kernel_command_run_once(&command);
	assert_int_equal(command.late.unsure, 7);
	*calls = '\0';
	command.monotonic = true;
	nr_notices = 1;
	side_kernel_command_run_once(&command);
	assert_called("wait 50;clock;drain 0;look;seen;");
	assert_int_equal(command.late.unsure, 0);
	kinds_found = 2;
	side_kernel_command_run_once(&command);
	assert_called("wait 50;clock;drain 0;look;");
	/* Half a second later the events count as late. */
	command.late.since -= 499;
	{
		struct kernel_late late = command.late;

		late.since = clock_monotonic_ms() - KERNEL_LATE_DOUBT_MS;
		kernel_late_found(&late, 5);
		assert_int_equal(late.late, 2);
		assert_int_equal(late.unsure, 5);
		assert_int_equal(kernel_late_all(&late), 7);
		assert_true(clock_monotonic_ms() - late.since < KERNEL_LATE_DOUBT_MS);
		late.since = clock_monotonic_ms() - KERNEL_LATE_DOUBT_MS + 200;
		kernel_late_found(&late, 0);
		assert_int_equal(late.late, 2);
		assert_int_equal(late.unsure, 5);
	}
	{
		struct timespec now;
		uint64_t ms;

		clock_gettime(CLOCK_MONOTONIC, &now);
		ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
		assert_in_range(clock_monotonic_ms(), ms, ms + 60000);
	}
	kinds_found = 0;
}

static void test_finish(void **unused)
{
	struct side_kernel_command command = {.record = the_record,
			.events = the_events,
			.late = {.late = 2, .unsure = 9}};
	struct kernel_report report;
	int fds[2];

	(void)unused;
	assert_int_equal(pipe(fds), 0);
	command.status_fd = fds[1];
	command.report.status = 7;
	side_kernel_command_finish(&command);
	assert_called("end;");
	assert_int_equal(read(fds[0], &report, sizeof(report)), sizeof(report));
	assert_int_equal(report.status, 7);
	assert_int_equal(report.pid, getpid());
	assert_int_equal(report.event_classes, 3);
	assert_int_equal(report.events, 17);
	assert_int_equal(report.lost, 19);
	assert_int_equal(report.late, 11);
	assert_int_equal(report.plain, 5);
	assert_string_equal(report.backend, "some way");
	assert_string_equal(report.why, "for a reason");
	command.monotonic = true;
	side_kernel_command_finish(&command);
	assert_called("clock;end;");
	assert_int_equal(read(fds[0], &report, sizeof(report)), sizeof(report));
	command = (struct side_kernel_command){.status_fd = fds[1], .report = {.status = 3}};
	side_kernel_command_finish(&command);
	assert_called("");
	assert_int_equal(read(fds[0], &report, sizeof(report)), sizeof(report));
	assert_int_equal(report.status, 3);
	assert_int_equal(report.event_classes, 0);
	close(fds[0]);
	close(fds[1]);
}

static void test_status(void **unused)
{
	static char *argv[] = {(char *)(uintptr_t) "x", NULL};
	struct side_kernel_command command = {.report = {.status = 9}};

	(void)unused;
	assert_int_equal(side_kernel_command_exit_status(&command), 9);
	command.argv = argv;
	assert_int_equal(side_kernel_command_exit_status(&command), COMMAND_FAILED);
	command.ended.si_pid = 5;
	command.ended.si_code = CLD_EXITED;
	command.ended.si_status = 11;
	assert_int_equal(side_kernel_command_exit_status(&command), 11);
	command.ended.si_code = CLD_KILLED;
	assert_int_equal(side_kernel_command_exit_status(&command), 128 + 11);
	command.ended.si_code = CLD_DUMPED;
	assert_int_equal(side_kernel_command_exit_status(&command), 128 + 11);
}

/* Without a command, a signal decides whether the recording has ended. */
static void test_ended(void **unused)
{
	struct side_kernel_command command = {.pid = 0};

	(void)unused;
	assert_false(side_kernel_command_has_ended(&command));
	command.over = true;
	assert_true(side_kernel_command_has_ended(&command));
}

/* The message of a command that cannot be run, and its process without standard input. */
static void test_run(void **unused)
{
	static char *args[] = {(char *)(uintptr_t) "/none/such", (char *)(uintptr_t) "x", NULL};
	struct side_kernel_command command = {.argv = args, .signals = -1};
	int out[2], status, input = dup(STDIN_FILENO);
	char text[200] = "";
	pid_t child;

	(void)unused;
	(void)getrlimit(RLIMIT_NOFILE, &command.files);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		exit_fd = out[1];
		side_kernel_command_exec(&command);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), COMMAND_NOT_FOUND);
	assert_true(read(out[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(
			text, "error 127 cannot run /none/such: No such file or directory [-];");
	close(out[0]);
	close(out[1]);
	command.epoll = epoll_create1(EPOLL_CLOEXEC);
	close(STDIN_FILENO);
	assert_int_equal(side_kernel_command_start(&command), 0);
	assert_int_equal(command.pidfd, STDIN_FILENO);
	assert_int_equal(waitpid(command.pid, &status, 0), command.pid);
	assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	close(input);
	close(command.epoll);
}

/* ---- the whole command, in a child process ---- */

static struct kernel_report last_notice;

static int live(char *log, size_t size, void (*between)(pid_t child), const char *first, ...)
{
	int status_fd[2], out[2], status;
	char number[16],
			*argv[24] = {(char *)(uintptr_t) "side-kernel",
					(char *)(uintptr_t) "--record", number};
	va_list arguments;
	pid_t child;
	ssize_t got;
	int nr = 3;

	va_start(arguments, first);
	for (const char *word = first; word; word = va_arg(arguments, const char *))
		argv[nr++] = (char *)(uintptr_t)word;
	va_end(arguments);
	assert_int_equal(pipe2(status_fd, 0), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	(void)snprintf(number, sizeof(number), "%d", status_fd[1]);
	child = fork();
	if (!child) {
		unsigned int before = resources_descriptors();
		int code = command_main(argv);

		called("%u;", resources_descriptors() - before);
		(void)!write(out[1], calls, strlen(calls));
		_exit(code);
	}
	assert_true(child > 0);
	close(status_fd[1]);
	close(out[1]);
	if (between)
		between(child);
	got = read(out[0], log, size - 1);
	log[got > 0 ? got : 0] = '\0';
	assert_int_equal(waitpid(child, &status, 0), child);
	memset(&last_notice, 0, sizeof(last_notice));
	(void)!read(status_fd[0], &last_notice, sizeof(last_notice));
	close(status_fd[0]);
	close(out[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void send_term(pid_t child)
{
	char path[64], text[4096], *at;
	FILE *file;

	/* As soon as it is blocked. */
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
	for (bool blocked = false; !blocked; usleep(1000)) {
		file = fopen(path, "re");
		text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = '\0';
		if (file)
			(void)fclose(file);
		at = strstr(text, "SigBlk:");
		blocked = at && strtoull(at + 7, NULL, 16) >> (SIGTERM - 1) & 1;
	}
	(void)kill(child, SIGTERM);
}

static void test_life(void **unused)
{
	char log[4096];

	(void)unused;
	assert_int_equal(live(log, sizeof(log), NULL, "--other", "x", NULL), COMMAND_USAGE);
	assert_string_equal(log,
			"error 2 do not start this program by hand: side starts it [see `side record --help`];0;");
	/*
	 * If the request is invalid, the command does not run. If the kernel refuses the recording,
	 * it runs.
	 */
	listen_result = -EINVAL;
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "true", NULL),
			COMMAND_USAGE);
	assert_int_equal(last_notice.status, COMMAND_USAGE);
	assert_true(last_notice.pid > 0);
	listen_result = -EACCES;
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", NULL),
			COMMAND_NOT_PERMITTED);
	assert_int_equal(last_notice.status, COMMAND_NOT_PERMITTED);
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "/bin/sh", "-c",
					 "exit 23", NULL),
			23);
	assert_int_equal(last_notice.status, COMMAND_NOT_PERMITTED);
	assert_int_equal(last_notice.event_classes, 0);
	assert_string_equal(log,
			"clock;open 1 a:*;error 3 cannot record kernel events: a reason [-];close 0;free 1;3;");
	listen_result = 0;
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "/bin/sh", "-c",
					 "sleep 0.1; exit 24", NULL),
			24);
	assert_int_equal(last_notice.status, 0);
	assert_int_equal(last_notice.event_classes, 3);
	assert_int_equal(last_notice.events, 17);
	assert_non_null(strstr(log, "wait 50;drain 0;look;"));
	assert_non_null(strstr(log, "end;close 1;free 1;"));
	/*
	 * The command starts with the previous signal mask, and gets signals that other processes
	 * send.
	 */
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "/bin/sh", "-c",
					 "kill -TERM $$", NULL),
			128 + SIGTERM);
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "/bin/sh", "-c",
					 "kill -INT $PPID; exec sleep 10", NULL),
			128 + SIGINT);
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "/none/such", NULL),
			COMMAND_NOT_FOUND);
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "/dev/null", NULL),
			COMMAND_NOT_EXECUTABLE);
	/* Without a command a signal ends it. */
	assert_int_equal(live(log, sizeof(log), send_term, "--kernel", "a:*", NULL), 0);
	assert_int_equal(last_notice.event_classes, 3);
	/* There is no process, and so no descriptor of it. */
	assert_non_null(strstr(log, "end;close 1;free 1;2;"));
	/* With `--wait yes`, side-kernel waits for all processes that the command leaves behind. */
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--wait", "yes", "--",
					 "/bin/sh", "-c", "(sleep 0.3; rm -f \"$MARK\") & exit 25",
					 NULL),
			25);
	assert_int_equal(access(getenv("MARK"), F_OK), -1);
	/* The environment is the command's own. */
	(void)setenv("SIDE_AGENT_KERNEL", "1", 1);
	(void)setenv("SIDE_USER_EVENTS", "ours", 1);
	assert_int_equal(
			live(log, sizeof(log), NULL, "--kernel", "a:*", "--user-events", "theirs",
					"--", "/bin/sh", "-c",
					"test \"$SIDE_USER_EVENTS$SIDE_AGENT_KERNEL\" = theirs && exit 27",
					NULL),
			27);
	(void)unsetenv("SIDE_AGENT_KERNEL");
	(void)unsetenv("SIDE_USER_EVENTS");
	/* The limit of descriptors is the command's own. */
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "/bin/sh", "-c",
					 "test \"$(ulimit -n)\" = \"$FILES\" && exit 26", NULL),
			26);
}

/*
 * Each call that prepares the recording fails once. Only a call that fails after fork() leaves a
 * process.
 */
static void test_failures(void **unused)
{
	static const char *const messages[] = {
			"error 2 do not start this program by hand: side starts it [see `side record --help`];0;",
			"error 1 cannot wait for signals [-];1;",
			"error 1 cannot wait for signals [-];1;",
			"error 1 cannot wait for signals [-];2;",
			"clock;open 1 a:*;error 1 cannot start a process: Resource temporarily unavailable [-];2;",
			"clock;open 1 a:*;error 1 cannot start a process: Operation not permitted [-];2;",
			"clock;open 1 a:*;error 1 cannot start a process: No space left on device [-];3;"};
	struct side_kernel_command command = {.epoll = -1, .signals = -1};
	struct kernel_record_choice *before;
	char log[4096];

	(void)unused;
	for (failing_at = 1; failing_at <= 7; failing_at++) {
		failing_seen = 0;
		assert_int_equal(
				live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "true", NULL),
				failing_at > 1 ? COMMAND_FAILED : COMMAND_USAGE);
		assert_string_equal(log, messages[failing_at - 1]);
		assert_int_equal(last_notice.pid, 0);
	}
	/* With no further call to fail, the command runs. */
	failing_seen = 0;
	assert_int_equal(live(log, sizeof(log), NULL, "--kernel", "a:*", "--", "/bin/sh", "-c",
					 "exit 29", NULL),
			29);
	/* Without memory for another choice, the earlier ones stay. */
	failing_at = 2;
	failing_seen = 0;
	assert_int_equal(side_kernel_command_add_choice(&command, false, "a:*"), 0);
	before = command.choices;
	assert_int_equal(side_kernel_command_add_choice(&command, false, "b:*"), -ENOMEM);
	assert_ptr_equal(command.choices, before);
	assert_int_equal(command.options.nr_choices, 1);
	assert_string_equal(command.choices[0].pattern, "a:*");
	free(command.choices);
	failing_at = 0;
	/* Other code has waited for the command: its status is unknown. */
	command = (struct side_kernel_command){.argv = words_of, .pid = getpid()};
	assert_true(side_kernel_command_has_ended(&command));
	assert_int_equal(side_kernel_command_exit_status(&command), COMMAND_FAILED);
}

/*
 * The command has ended when no child is left. A child that runs keeps it, regardless of the last
 * error.
 */
static void test_children(void **unused)
{
	struct side_kernel_command command = {.wait_all = true, .epoll = -1, .pidfd = -1};
	int ends[2];
	siginfo_t ended;
	pid_t child;

	(void)unused;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		char byte;

		close(ends[1]);
		_exit(read(ends[0], &byte, 1) != 0);
	}
	assert_true(child > 0);
	command.ended.si_pid = 4711;
	/* Processes that wait for its status come first. */
	assert_false(side_kernel_command_reap_children(&command));
	assert_true(command.is_end_visible);
	errno = ECHILD;
	assert_false(side_kernel_command_reap_children(&command));
	close(ends[1]);
	assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
	assert_true(side_kernel_command_reap_children(&command));
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_arguments),
			cmocka_unit_test(test_environment),
			cmocka_unit_test(test_open_kernel),
			cmocka_unit_test(test_turn),
			cmocka_unit_test(test_finish),
			cmocka_unit_test(test_status),
			cmocka_unit_test(test_life),
			cmocka_unit_test(test_failures),
			cmocka_unit_test(test_ended),
			cmocka_unit_test(test_run),
			cmocka_unit_test(test_children),
	};
	char mark[] = "/tmp/side-command-XXXXXX", files[32];
	struct rlimit limit;
	int fd = mkstemp(mark), ret;

	/* A shell ignores it for what it starts in the background. */
	(void)signal(SIGINT, SIG_DFL);
	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	close(fd);
	(void)snprintf(files, sizeof(files), "%llu", (unsigned long long)limit.rlim_cur);
	if (setenv("MARK", mark, 1) || setenv("FILES", files, 1))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(mark);
	return ret;
}
