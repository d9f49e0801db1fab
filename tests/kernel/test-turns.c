/* SPDX-License-Identifier: MIT */
/*
 * The life of side-kernel with a simulated kernel, sessions and clock: arguments, which events are
 * enabled, turns, signals, when it ends; and its server with real connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t played_now;

static int played_clock(clockid_t id, struct timespec *now)
{
	assert_int_equal(id, CLOCK_MONOTONIC);
	now->tv_sec = (time_t)(played_now / 1000000000u);
	now->tv_nsec = (long)(played_now % 1000000000u);
	return 0;
}

#include "../failing-steps.h"

static unsigned int nr_sets;

static int counted_sigemptyset(sigset_t *set)
{
	nr_sets++;
	return sigemptyset(set);
}

/* One byte at a time. */
static ssize_t slow_recv(int fd, void *to, size_t size, int flags)
{
	assert_int_equal(flags, 0);
	assert_true(size > 0);
	return recv(fd, to, 1, flags);
}

static int failing_epoll_create1(int flags)
{
	return is_failing(EMFILE) ? -1 : epoll_create1(flags);
}

static int failing_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *interest)
{
	return is_failing(ENOSPC) ? -1 : epoll_ctl(epoll, operation, fd, interest);
}

static void *failing_calloc(size_t count, size_t size)
{
	return is_failing(ENOMEM) ? NULL : calloc(count, size);
}

static int failing_socket(int domain, int type, int protocol)
{
	return is_failing(ENFILE) ? -1 : socket(domain, type, protocol);
}

static int failing_bind(int fd, const struct sockaddr *address, socklen_t size)
{
	return is_failing(EADDRINUSE) ? -1 : bind(fd, address, size);
}

static int failing_listen(int fd, int backlog)
{
	assert_int_equal(backlog, 16);
	return is_failing(EOPNOTSUPP) ? -1 : listen(fd, backlog);
}

int kernel_main(int argc, char **argv);
#define main kernel_main
#define clock_gettime played_clock
#define sigemptyset counted_sigemptyset
#define signalfd failing_signalfd
#define epoll_create1 failing_epoll_create1
#define epoll_ctl failing_epoll_ctl
#include "programs/side-kernel/main.c"
#undef main
#undef clock_gettime
#undef sigemptyset
#undef signalfd
#undef epoll_create1
#undef epoll_ctl
#define calloc failing_calloc
#define socket(domain, type, protocol) failing_socket(domain, type, protocol)
#define bind failing_bind
#define listen failing_listen
#define recv slow_recv
#include "programs/side-kernel/server.c"
#undef calloc
#undef socket
#undef bind
#undef listen
#undef recv

/* ---- replaced functions ---- */

#include "../called-messages.h"
#include "../resources.h"

void output_start(const struct common_options *common, const char *verb)
{
	(void)common;
	assert_null(verb);
	called("start;");
}

static struct kernel_event events_there[4];
static bool on_there[4], wanted_there[4];
static int switch_result[4];
static size_t nr_there;
static int listen_result, create_result, refresh_result, notice_result;
static const char *listen_text = "", *listen_hint = "";
static const char *why_text = "";
static struct kernel_record *const the_record = (struct kernel_record *)(uintptr_t)0x1000;
static struct side_kernel_events *const the_events = (struct side_kernel_events *)(uintptr_t)0x2000;
static bool monotonic_there;
static bool reached_there;
static size_t nr_wanted;
static const char *place_there;
static enum change_state change_there;

void kernel_listen_each(struct kernel_record *record,
		void (*call)(void *user, const struct kernel_event *event, bool on), void *user)
{
	assert_ptr_equal(record, the_record);
	for (size_t i = 0; i < nr_there; i++)
		call(user, &events_there[i], on_there[i]);
}

bool events_wanted(const struct kernel_event *event)
{
	return wanted_there[event - events_there];
}

int kernel_listen_switch(struct kernel_record *record, const struct kernel_event *event, bool on,
		struct error *error)
{
	size_t i = (size_t)(event - events_there);

	assert_ptr_equal(record, the_record);
	assert_int_equal(error->code, 0);
	called("switch %zu %d;", i, on);
	if (!switch_result[i])
		on_there[i] = on;
	return switch_result[i];
}

bool kernel_listen_drain(struct kernel_record *record, bool losses)
{
	assert_ptr_equal(record, the_record);
	called("drain %d;", losses);
	return false;
}

int kernel_listen_choose(struct kernel_record *record, const struct kernel_record_choice *choices,
		size_t nr, struct error *error)
{
	assert_ptr_equal(record, the_record);
	assert_non_null(error);
	called("choose %zu %s;", nr, nr ? choices[0].pattern : "-");
	return 0;
}

bool kernel_listen_scan(struct kernel_record *record)
{
	assert_ptr_equal(record, the_record);
	called("look;");
	return refresh_result;
}

bool kernel_listen_is_notified(struct kernel_record *record)
{
	assert_ptr_equal(record, the_record);
	called("notices;");
	return notice_result;
}

void kernel_listen_seen(struct kernel_record *record)
{
	assert_ptr_equal(record, the_record);
	called("seen;");
}

void kernel_listen_wait(struct kernel_record *record, int fd, int timeout_ms)
{
	assert_ptr_equal(record, the_record);
	called("wait %d %d;", fd, timeout_ms);
}

bool kernel_listen_knows(const struct kernel_record *record, const char *pattern)
{
	assert_ptr_equal(record, the_record);
	called("knows %s;", pattern);
	return !strcmp(pattern, "sched:*");
}

uint32_t kernel_listen_filtered(const struct kernel_record *record)
{
	assert_ptr_equal(record, the_record);
	return 5;
}

void kernel_record_backend(
		const struct kernel_record *record, const char **backend, const char **why)
{
	assert_ptr_equal(record, the_record);
	*backend = "some way";
	*why = why_text;
}

int kernel_listen_open(const struct kernel_record_options *options,
		const struct kernel_listener *listener, struct kernel_record **record,
		struct error *error)
{
	assert_ptr_equal(listener->user, the_events);
	assert_int_equal(error->code, 0);
	called("open %d %llu;", (int)options->backend, (unsigned long long)options->buffer_size);
	*record = listen_result ? NULL : the_record;
	error->code = listen_result;
	(void)snprintf(error->text, sizeof(error->text), "%s", listen_text);
	(void)snprintf(error->hint, sizeof(error->hint), "%s", listen_hint);
	return listen_result;
}

void kernel_record_close(struct kernel_record *record)
{
	called("close %d;", record == the_record);
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

void events_hello(const struct side_kernel_events *events, const char *backend, const char *why)
{
	assert_ptr_equal(events, the_events);
	called("hello %s (%s);", backend, why);
}

void events_stats(const struct side_kernel_events *events, uint64_t *nr_recorded, uint64_t *lost)
{
	assert_ptr_equal(events, the_events);
	*nr_recorded = 17;
	*lost = 19;
}

void wanted_ask(struct side_kernel_selection *wanted)
{
	static struct kernel_record_choice choice = {.pattern = "sched:*"};

	called("ask;");
	*wanted = (struct side_kernel_selection){
			.choices = &choice, .nr = nr_wanted, .is_reached = reached_there};
}

void wanted_free(struct side_kernel_selection *wanted)
{
	called("unwant %zu;", wanted->nr);
	*wanted = (struct side_kernel_selection){.nr = 0};
}

bool selection_socket_dir(char *path, size_t size)
{
	assert_int_equal(size, 256);
	(void)snprintf(path, size, "%s", place_there ? place_there : "");
	return place_there;
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

int command_main(char **argv)
{
	called("command %s;", argv[1]);
	return 42;
}

/* ---- arguments ---- */

static bool take_words(struct side_kernel_work *work, const char *first, ...)
{
	char *argv[16] = {(char *)(uintptr_t) "side-kernel"};
	va_list list;
	int nr = 1;

	*work = (struct side_kernel_work){.ready = -1};
	va_start(list, first);
	for (const char *word = first; word; word = va_arg(list, const char *))
		argv[nr++] = (char *)(uintptr_t)word;
	va_end(list);
	return side_kernel_parse_args(work, argv);
}

static void test_arguments(void **unused)
{
	struct side_kernel_work work;
	char text[16], closed[16];
	int fd = open("/dev/null", O_RDONLY);

	(void)unused;
	assert_true(fd > 2);
	(void)snprintf(text, sizeof(text), "%d", fd);
	(void)snprintf(closed, sizeof(closed), "%d", 900);
	assert_true(take_words(&work, "--method", "perf", "--buffer", "123456789012", "--ready",
			text, NULL));
	assert_int_equal(work.options.backend, KERNEL_RECORD_PERF);
	assert_int_equal(work.options.buffer_size, 123456789012);
	assert_int_equal(work.ready, fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_true(take_words(&work, "--ready", text, "--method", "tracefs", NULL));
	assert_int_equal(work.options.backend, KERNEL_RECORD_TRACEFS);
	assert_true(take_words(&work, "--ready", text, "--method", "other", NULL));
	assert_int_equal(work.options.backend, KERNEL_RECORD_BEST);
	assert_false(take_words(&work, "--ready", NULL));
	assert_false(take_words(&work, "--method", "perf", NULL));
	assert_false(take_words(&work, NULL));
	assert_false(take_words(&work, "--ready", text, "--other", "x", NULL));
	assert_false(take_words(&work, "--ready", text, "--buffer", NULL));
	assert_false(take_words(&work, "--ready", "-1", NULL));
	assert_false(take_words(&work, "--ready", closed, NULL));
	close(fd);
}

/* ---- switching ---- */

static void test_switching(void **unused)
{
	struct side_kernel_work work = {.record = the_record,
			.events = the_events,
			.nr_enabled = 77,
			.nr_events = 78};
	char text[300], expected[300];

	(void)unused;
	nr_there = 4;
	memcpy(on_there, ((bool[]){true, false, true, false}), sizeof(on_there));
	memcpy(wanted_there, ((bool[]){true, true, false, false}), sizeof(wanted_there));
	side_kernel_switch_all(&work);
	assert_called("switch 1 1;switch 2 0;");
	assert_int_equal(work.nr_events, 4);
	assert_int_equal(work.nr_enabled, 2);
	side_kernel_switch_all(&work);
	assert_called("");
	assert_int_equal(work.nr_enabled, 2);
	/* An event that the kernel refuses stays disabled, and is tried again. */
	wanted_there[3] = true;
	switch_result[3] = -EINVAL;
	for (int i = 0; i < 2; i++) {
		side_kernel_switch_all(&work);
		assert_called("switch 3 1;");
		assert_int_equal(work.nr_enabled, 2);
	}
	switch_result[3] = 0;
	side_kernel_switch_all(&work);
	assert_called("switch 3 1;");
	assert_int_equal(work.nr_enabled, 3);
	why_text = "because";
	side_kernel_describe(&work, text, sizeof(text));
	(void)snprintf(expected, sizeof(expected),
			"\"method\":\"some way\",\"why\":\"because\",\"pid\":%d,\"events\":4,\"on\":3,\"filtered\":5,\"recorded\":17,\"lost\":19",
			(int)getpid());
	assert_string_equal(text, expected);
	why_text = "";
	assert_true(side_kernel_knows_pattern(&work, "sched:*"));
	assert_false(side_kernel_knows_pattern(&work, "x:*"));
	assert_called("knows sched:*;knows x:*;");
	nr_there = 0;
}

/* The kernel's clock is compared only if it differs from side's and something is recorded. */
static void test_draining(void **unused)
{
	struct side_kernel_work work = {.record = the_record, .monotonic = true, .nr_enabled = 1};

	(void)unused;
	side_kernel_drain_all(&work);
	assert_called("clock;drain 1;");
	side_kernel_drain(&work, false);
	assert_called("clock;drain 0;");
	work.nr_enabled = 0;
	side_kernel_drain_all(&work);
	assert_called("drain 1;");
	work.nr_enabled = 1;
	work.monotonic = false;
	side_kernel_drain_all(&work);
	assert_called("drain 1;");
}

static void test_looking(void **unused)
{
	struct side_kernel_work work = {
			.record = the_record, .last_need_ns = 5, .wanted = {.nr = 3}};

	(void)unused;
	played_now = 7000000001;
	reached_there = false;
	nr_wanted = 1;
	refresh_result = true;
	side_kernel_refresh_selection(&work);
	assert_called("ask;unwant 1;drain 1;");
	assert_int_equal(work.wanted.nr, 3);
	assert_int_equal(work.last_request_ns, 7000000001);
	assert_int_equal(work.last_need_ns, 5);
	assert_false(work.waits_for_dynamic_events);
	reached_there = true;
	side_kernel_refresh_selection(&work);
	assert_called("ask;unwant 3;choose 1 sched:*;look;drain 1;");
	assert_int_equal(work.wanted.nr, 1);
	assert_int_equal(work.last_need_ns, 7000000001);
	assert_true(work.waits_for_dynamic_events);
	played_now = 8000000002;
	nr_wanted = 0;
	refresh_result = false;
	side_kernel_refresh_selection(&work);
	assert_called("ask;unwant 1;choose 0 -;look;drain 1;");
	assert_int_equal(work.last_need_ns, 7000000001);
	assert_int_equal(work.last_request_ns, 8000000002);
	assert_false(work.waits_for_dynamic_events);
	/* An event that is wanted by then is enabled, with and without a daemon. */
	nr_there = 1;
	on_there[0] = false;
	wanted_there[0] = true;
	reached_there = false;
	side_kernel_refresh_selection(&work);
	assert_called("ask;unwant 0;drain 1;switch 0 1;");
	assert_int_equal(work.nr_enabled, 1);
	nr_there = 0;
}

static void test_sessions(void **unused)
{
	struct side_kernel_work work = {.record = the_record};

	(void)unused;
	reached_there = false;
	nr_wanted = 0;
	/*
	 * After more than two seconds, side-kernel asks the daemon, if no event is enabled or none
	 * is wanted.
	 */
	played_now = UINT64_C(102000000000);
	work.last_request_ns = UINT64_C(100000000000);
	work.last_need_ns = played_now;
	side_kernel_check_sessions(&work);
	assert_called("");
	played_now++;
	side_kernel_check_sessions(&work);
	assert_called("ask;unwant 0;drain 1;");
	assert_int_equal(work.last_request_ns, played_now);
	work.last_request_ns = 0;
	work.nr_enabled = 1;
	work.last_need_ns = 1;
	work.wanted.nr = 1;
	side_kernel_check_sessions(&work);
	assert_called("");
	assert_int_equal(work.last_need_ns, played_now);
	work.wanted.nr = 0;
	side_kernel_check_sessions(&work);
	assert_called("ask;unwant 0;drain 1;");
	work.wanted.nr = 1;
	work.nr_enabled = 0;
	work.last_request_ns = played_now - 1;
	/* Eight seconds without work. */
	work.last_need_ns = played_now - UINT64_C(8000000000);
	side_kernel_check_sessions(&work);
	assert_false(work.is_done);
	work.last_need_ns--;
	side_kernel_check_sessions(&work);
	assert_true(work.is_done);
	work.is_done = false;
	work.last_need_ns = played_now + 1;
	side_kernel_check_sessions(&work);
	assert_false(work.is_done);
	/* A signal that arrived earlier still ends it. */
	work.is_done = true;
	side_kernel_check_sessions(&work);
	assert_true(work.is_done);
	assert_called("");
}

/* ---- turns ---- */

static void test_signals(void **unused)
{
	struct side_kernel_work work = {.record = the_record};
	unsigned int before = resources_descriptors();
	sigset_t set, old;

	(void)unused;
	(void)sigprocmask(SIG_SETMASK, NULL, &old);
	assert_int_equal(side_kernel_block_signals(&work), 0);
	assert_int_equal(nr_sets, 1);
	assert_int_equal(resources_descriptors(), before + 2);
	assert_int_equal(fcntl(work.signal_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(work.epoll, F_GETFD), FD_CLOEXEC);
	(void)sigprocmask(SIG_SETMASK, NULL, &set);
	assert_true(sigismember(&set, SIGINT) && sigismember(&set, SIGTERM) &&
			sigismember(&set, CHANGE_SIGNAL));
	assert_false(sigismember(&set, SIGHUP) || sigismember(&set, SIGQUIT));
	assert_ptr_equal(signal(SIGHUP, SIG_DFL), SIG_IGN);
	side_kernel_read_signals(&work);
	assert_false(work.is_done);
	(void)kill(getpid(), CHANGE_SIGNAL);
	side_kernel_read_signals(&work);
	assert_false(work.is_done);
	(void)kill(getpid(), SIGTERM);
	(void)kill(getpid(), CHANGE_SIGNAL);
	side_kernel_read_signals(&work);
	assert_true(work.is_done);
	work.is_done = false;
	(void)kill(getpid(), SIGINT);
	side_kernel_read_signals(&work);
	assert_true(work.is_done);
	/* The signal of a change arrives after SIGINT, and does not cancel it. */
	work.is_done = false;
	(void)kill(getpid(), SIGINT);
	(void)kill(getpid(), CHANGE_SIGNAL);
	side_kernel_read_signals(&work);
	assert_true(work.is_done);
	assert_int_equal(side_kernel_epoll_add(&work, work.signal_fd), 0);
	assert_int_equal(side_kernel_epoll_add(&work, work.signal_fd), -EEXIST);
	(void)kill(getpid(), CHANGE_SIGNAL);
	{
		struct epoll_event ready;

		assert_int_equal(epoll_wait(work.epoll, &ready, 1, 0), 1);
		assert_int_equal(ready.data.fd, work.signal_fd);
		assert_int_equal(ready.events, EPOLLIN);
	}
	side_kernel_read_signals(&work);
	close(work.signal_fd);
	close(work.epoll);
	/* Without standard input, the signalfd or the epoll instance has descriptor 0. */
	{
		int input = dup(STDIN_FILENO);

		close(STDIN_FILENO);
		assert_int_equal(side_kernel_block_signals(&work), 0);
		assert_int_equal(work.signal_fd, STDIN_FILENO);
		close(work.signal_fd);
		close(work.epoll);
		signals_are_high = true;
		assert_int_equal(side_kernel_block_signals(&work), 0);
		signals_are_high = false;
		assert_int_equal(work.epoll, STDIN_FILENO);
		close(work.signal_fd);
		close(work.epoll);
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		close(input);
	}
	assert_int_equal(resources_descriptors(), before);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
}

static void test_changes(void **unused)
{
	struct side_kernel_work work = {.record = the_record};

	(void)unused;
	nr_there = 1;
	on_there[0] = false;
	wanted_there[0] = true;
	change_there = CHANGE_NONE;
	side_kernel_apply_change(&work);
	assert_called("");
	change_there = CHANGE_BEGINS;
	side_kernel_apply_change(&work);
	assert_called("drain 1;done;");
	change_there = CHANGE_ENDS;
	side_kernel_apply_change(&work);
	assert_called("drain 1;switch 0 1;done;");
	change_there = CHANGE_NONE;
	nr_there = 0;
}

static void test_turn(void **unused)
{
	struct side_kernel_work work = {
			.record = the_record, .epoll = 33, .signal_fd = -1, .wanted = {.nr = 1}};
	struct server server = {.fd = -1, .lock = -1};

	(void)unused;
	work.server = &server;
	played_now = work.last_request_ns = work.last_need_ns = 1000;
	notice_result = refresh_result = false;
	side_kernel_run_round(&work);
	assert_called("wait 33 100;drain 0;notices;seen;");
	notice_result = refresh_result = true;
	side_kernel_run_round(&work);
	assert_called("wait 33 100;drain 0;notices;look;seen;");
	assert_true(work.waits_for_dynamic_events);
	notice_result = refresh_result = false;
	side_kernel_run_round(&work);
	assert_called("wait 33 50;drain 0;notices;look;seen;");
	assert_false(work.waits_for_dynamic_events);
	nr_there = 1;
	on_there[0] = true;
	wanted_there[0] = false;
	side_kernel_run_round(&work);
	assert_called("wait 33 100;drain 0;notices;switch 0 0;seen;");
	nr_there = 0;
}

/* ---- life ---- */

static void test_open_kernel(void **unused)
{
	struct side_kernel_work work = {
			.options = {.backend = KERNEL_RECORD_PERF, .buffer_size = 99}};

	(void)unused;
	monotonic_there = true;
	assert_int_equal(side_kernel_open(&work), COMMAND_DONE);
	assert_called("clock;open 1 99;");
	assert_true(work.monotonic);
	assert_ptr_equal(work.record, the_record);
	monotonic_there = false;
	listen_text = "a reason";
	listen_hint = "a hint";
	listen_result = -EACCES;
	assert_int_equal(side_kernel_open(&work), COMMAND_NOT_PERMITTED);
	assert_called("clock;open 1 99;error 3 cannot record kernel events: a reason [a hint];");
	assert_false(work.monotonic);
	listen_result = -EPERM;
	listen_hint = "";
	assert_int_equal(side_kernel_open(&work), COMMAND_NOT_PERMITTED);
	assert_called("clock;open 1 99;error 3 cannot record kernel events: a reason [-];");
	listen_result = -ENOENT;
	assert_int_equal(side_kernel_open(&work), COMMAND_FAILED);
	assert_called("clock;open 1 99;error 1 cannot record kernel events: a reason [-];");
	listen_result = 0;
	create_result = -ENOMEM;
	assert_int_equal(side_kernel_open(&work), COMMAND_FAILED);
	assert_called("clock;error 1 out of memory [-];");
	create_result = 0;
}

static char folder[64];

static void test_open_server(void **unused)
{
	struct side_kernel_work work = {.epoll = epoll_create1(EPOLL_CLOEXEC),
			.signal_fd = eventfd(0, EFD_CLOEXEC)};
	unsigned int before = resources_descriptors();

	(void)unused;
	place_there = NULL;
	assert_int_equal(side_kernel_open_server(&work), COMMAND_FAILED);
	assert_called("error 1 cannot record kernel events: No such file or directory [-];");
	place_there = folder;
	assert_int_equal(side_kernel_open_server(&work), COMMAND_DONE);
	assert_called("");
	assert_false(work.is_done);
	assert_int_equal(side_kernel_epoll_add(&work, server_fd(work.server)), -EEXIST);
	assert_int_equal(side_kernel_epoll_add(&work, work.signal_fd), -EEXIST);
	assert_int_equal(resources_descriptors(), before + 2);
	server_close(work.server);
	assert_int_equal(resources_descriptors(), before);
	place_there = NULL;
	close(work.epoll);
	close(work.signal_fd);
}

/* Runs all of it in a child process, and returns its output. */
static int live(const char *backend, char *log, size_t size)
{
	int ready[2], out[2];
	char number[16], byte = 0;
	char *argv[] = {(char *)(uintptr_t) "side-kernel", (char *)(uintptr_t) "--ready", number,
			(char *)(uintptr_t)backend, (char *)(uintptr_t) "perf", NULL};
	pid_t child;
	ssize_t got;
	int status;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(out), 0);
	(void)snprintf(number, sizeof(number), "%d", ready[1]);
	child = fork();
	if (!child) {
		int code = dup2(out[1], 1) == 1 ? kernel_main(5, argv) : 99;
		bool closed = fcntl(ready[1], F_GETFD) < 0;
		char name[100] = "";

		(void)!readlink("/proc/self/fd/1", name, sizeof(name) - 1);
		called("%s %s;", closed ? "closed" : "open",
				strncmp(name, "/dev/null", 9) ? "own" : "null");
		(void)!write(out[1], calls, strlen(calls));
		_exit(code);
	}
	assert_true(child > 0);
	close(ready[1]);
	close(out[1]);
	got = read(out[0], log, size - 1);
	log[got > 0 ? got : 0] = '\0';
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (read(ready[0], &byte, 1) == 1)
		assert_int_equal(byte, '+');
	(void)snprintf(log + strlen(log), size - strlen(log), "%s", byte ? "+" : "-");
	close(ready[0]);
	close(out[0]);
	return WEXITSTATUS(status);
}

static void test_life(void **unused)
{
	char log[2000],
			*argv[] = {(char *)(uintptr_t) "side-kernel",
					(char *)(uintptr_t) "--record", NULL};

	(void)unused;
	assert_int_equal(kernel_main(2, argv), 42);
	assert_called("start;command --record;");
	assert_int_equal(live("--other", log, sizeof(log)), COMMAND_USAGE);
	assert_string_equal(log,
			"start;error 2 do not start this program by hand: side starts it [see `side enable-event --help`];open own;-");
	assert_int_equal(live("--method", log, sizeof(log)), COMMAND_FAILED);
	assert_string_equal(log,
			"start;error 1 cannot record kernel events: No such file or directory [-];close 0;free 0;unwant 0;open own;-");
	place_there = folder;
	/*
	 * Without requests, side-kernel ends after its timeout. The clock advances only when it is
	 * read.
	 */
	reached_there = false;
	listen_result = -EACCES;
	assert_int_equal(live("--method", log, sizeof(log)), COMMAND_NOT_PERMITTED);
	assert_string_equal(log,
			"start;clock;open 1 0;error 3 cannot record kernel events: a reason [-];close 0;free 1;unwant 0;open own;-");
	listen_result = 0;
	/* Another server is running already: clients ask that one. */
	{
		struct server_calls none = {.user = NULL};
		struct server *server;

		assert_int_equal(server_open(folder, &none, &server), 0);
		assert_int_equal(live("--method", log, sizeof(log)), COMMAND_DONE);
		assert_string_equal(log, "start;close 0;free 0;unwant 0;closed null;+");
		server_close(server);
	}
	place_there = NULL;
}

/* Each call of the start fails once. Nothing is left, so another server can start afterwards. */
static void test_failures(void **unused)
{
	static const char *const messages[] = {
			"start;error 1 cannot wait for signals [-];close 0;free 0;unwant 0;open own;-",
			"start;error 1 cannot wait for signals [-];close 0;free 0;unwant 0;open own;-",
			"start;error 1 cannot record kernel events: Cannot allocate memory [-];close 0;free 0;unwant 0;open own;-",
			"start;error 1 cannot record kernel events: Too many open files in system [-];close 0;free 0;unwant 0;open own;-",
			"start;error 1 cannot record kernel events: Address already in use [-];close 0;free 0;unwant 0;open own;-",
			"start;error 1 cannot record kernel events: Operation not supported [-];close 0;free 0;unwant 0;open own;-",
			"start;error 1 cannot record kernel events: No space left on device [-];close 0;free 0;unwant 0;open own;-",
			"start;error 1 cannot record kernel events: No space left on device [-];close 0;free 0;unwant 0;open own;-"};
	const struct server_calls none = {.user = NULL};
	unsigned int before = resources_descriptors();
	struct server *server;
	char log[2000];

	(void)unused;
	place_there = folder;
	for (failing_at = 1; failing_at <= 8; failing_at++) {
		failing_seen = 0;
		assert_int_equal(live("--method", log, sizeof(log)), COMMAND_FAILED);
		assert_string_equal(log, messages[failing_at - 1]);
	}
	place_there = NULL;
	/* The server alone. Each failure leaves the umask unchanged. */
	for (failing_at = 1; failing_at <= 4; failing_at++) {
		static const int results[] = {-ENOMEM, -ENFILE, -EADDRINUSE, -EOPNOTSUPP};

		failing_seen = 0;
		assert_int_equal(server_open(folder, &none, &server), results[failing_at - 1]);
		assert_int_equal(server != NULL, failing_at > 1);
		server_close(server);
		assert_int_equal(umask(022), 022);
		assert_int_equal(resources_descriptors(), before);
	}
	failing_at = 0;
}

/*
 * The start reports the method of recording, asks the daemon, and lets the waiting process
 * continue.
 */
static void test_start(void **unused)
{
	char log[2000];
	pid_t child;
	int ready[2], out[2], status;
	ssize_t got;
	char byte = 0;

	(void)unused;
	place_there = folder;
	why_text = "for a reason";
	played_now = 55;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(out), 0);
	child = fork();
	if (!child) {
		struct side_kernel_work work = {.ready = ready[1]};
		int code = side_kernel_start_recording(&work);

		called("%llu %d;", (unsigned long long)work.last_need_ns, work.is_done);
		(void)!write(out[1], calls, strlen(calls));
		_exit(code);
	}
	close(out[1]);
	close(ready[1]);
	got = read(out[0], log, sizeof(log) - 1);
	log[got > 0 ? got : 0] = '\0';
	assert_string_equal(log,
			"clock;open 0 0;note reading kernel events through some way: for a reason;hello some way (for a reason);"
			"ask;unwant 0;drain 1;changes;55 0;");
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, '+');
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(ready[0]);
	close(out[0]);
	why_text = "";
	place_there = NULL;
}

/* The terminal's descriptors become those of /dev/null, also if one of them was closed. */
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
			struct side_kernel_work work = {.ready = ready[1]};
			unsigned int before = resources_descriptors();
			bool is_right = true;
			int other = open("/dev/full", O_RDONLY | O_CLOEXEC);

			for (int fd = 0; fd < 3; fd++)
				(void)dup2(other, fd);
			close(other);
			if (closed >= 0)
				close(closed);
			side_kernel_notify_ready(&work);
			for (int fd = 0; fd < 3; fd++)
				is_right &= (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
			_exit(is_right && resources_descriptors() == before - 1 ? 5 : 6);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(WEXITSTATUS(status), 5);
		assert_int_equal(read(ready[0], &byte, 1), 1);
		assert_int_equal(byte, '+');
	}
	close(ready[0]);
	close(ready[1]);
}

/* ---- the server ---- */

static void serve_once(void *user)
{
	called("look %s;", (char *)user);
}

static void serve_drain(void *user)
{
	called("drain %s;", (char *)user);
}

static bool serve_knows(void *user, const char *pattern)
{
	called("knows %s %s;", (char *)user, pattern);
	return *pattern == 'y';
}

static size_t describe_size;

static void serve_describe(void *user, char *text, size_t size)
{
	describe_size = size;
	(void)snprintf(text, size, "\"user\":\"%s\"", (char *)user);
}

static const struct server_calls served = {.user = (void *)(uintptr_t) "me",
		.poll = serve_once,
		.drain = serve_drain,
		.knows = serve_knows,
		.describe = serve_describe};

static int connect_to(const char *where)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/kernel.sock", where);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void ask_server(struct server *server, const char *argv, size_t size, const char *expected)
{
	char text[4096];
	int fd = connect_to(folder);
	ssize_t got;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, argv, size), size);
	(void)shutdown(fd, SHUT_WR);
	server_turn(server);
	got = read(fd, text, sizeof(text) - 1);
	/* The server has closed the connection with unread bytes. */
	if (got < 0)
		got = 0;
	text[got] = '\0';
	assert_string_equal(text, expected);
	if (got)
		assert_int_equal(read(fd, text, 1), 0);
	close(fd);
}

static void test_server(void **unused)
{
	unsigned int before = resources_descriptors();
	struct server *server, *other;
	char path[400], argv[1100], long_place[400];
	struct stat status;
	pid_t child;
	int code;

	(void)unused;
	assert_int_equal(server_open(folder, &served, &server), 0);
	assert_int_equal(resources_descriptors(), before + 2);
	assert_int_equal(fcntl(server->lock, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(server->fd, F_GETFD), FD_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%s/kernel.sock", folder);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0660);
	(void)snprintf(path, sizeof(path), "%s/kernel.lock", folder);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(umask(022), 022);
	server_turn(server);
	ask_server(server, "look\n", 5, "{\"user\":\"me\"}\n");
	assert_called("look me;");
	/* The answer has 2048 bytes with its braces, its line and its zero. */
	assert_int_equal(describe_size, 2048 - 1 - 3);
	ask_server(server, "drain\n", 6, "{\"user\":\"me\"}\n");
	assert_called("drain me;");
	ask_server(server, "status\n", 7, "{\"user\":\"me\"}\n");
	assert_called("");
	ask_server(server, "knows yes no\n", 13, "{\"known\":true}\n");
	assert_called("knows me yes no;");
	ask_server(server, "knows no\n", 9, "{\"known\":false}\n");
	assert_called("knows me no;");
	ask_server(server, "knows\n", 6, "{\"user\":\"me\"}\n");
	assert_called("");
	/* Without a line there is no answer. */
	ask_server(server, "look", 4, "");
	assert_called("");
	memset(argv, 'y', sizeof(argv));
	memcpy(argv, "knows ", 6);
	argv[1022] = '\n';
	argv[1023] = '\0';
	ask_server(server, argv, 1023, "{\"known\":true}\n");
	assert_int_equal(strlen(calls), strlen("knows me ;") + 1016);
	*calls = '\0';
	argv[1022] = 'y';
	argv[1023] = '\n';
	ask_server(server, argv, 1024, "");
	assert_called("");
	/* Another process finds the address in use. Afterwards it is free. */
	child = fork();
	if (!child) {
		struct server *mine;
		int ret = server_open(folder, &served, &mine);

		_exit(ret == -EBUSY && mine->fd < 0 && resources_descriptors() == before + 2 ? 7
											     : 8);
	}
	assert_int_equal(waitpid(child, &code, 0), child);
	assert_int_equal(WEXITSTATUS(code), 7);
	(void)snprintf(path, sizeof(path), "%s/kernel.sock", folder);
	server_close(server);
	assert_int_equal(resources_descriptors(), before);
	assert_int_equal(access(path, F_OK), -1);
	child = fork();
	if (!child) {
		struct server *mine;

		_exit(server_open(folder, &served, &mine) ? 8 : 7);
	}
	assert_int_equal(waitpid(child, &code, 0), child);
	assert_int_equal(WEXITSTATUS(code), 7);
	/* A socket that a killed server has left. */
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(server_open(folder, &served, &other), 0);
	ask_server(other, "status\n", 7, "{\"user\":\"me\"}\n");
	server_close(other);
	server_close(NULL);
	/*
	 * Paths: /kernel.sock after 95 bytes is the longest address; /kernel.lock after 287 the
	 * longest lock.
	 */
	memset(long_place, '/', sizeof(long_place));
	memcpy(long_place, folder, strlen(folder));
	long_place[95] = '\0';
	assert_int_equal(server_open(long_place, &served, &other), 0);
	server_close(other);
	long_place[95] = '/';
	long_place[96] = '\0';
	assert_int_equal(server_open(long_place, &served, &other), -ENAMETOOLONG);
	assert_true(other->lock >= 0);
	server_close(other);
	long_place[96] = '/';
	long_place[287] = '\0';
	assert_int_equal(server_open(long_place, &served, &other), -ENAMETOOLONG);
	assert_true(other->lock >= 0);
	server_close(other);
	long_place[287] = '/';
	long_place[288] = '\0';
	assert_int_equal(server_open(long_place, &served, &other), -ENAMETOOLONG);
	assert_int_equal(other->lock, -ENAMETOOLONG);
	server_close(other);
	/* Without standard input the lock has its descriptor. */
	{
		int input = dup(STDIN_FILENO);

		close(STDIN_FILENO);
		assert_int_equal(server_open(folder, &served, &other), 0);
		assert_int_equal(other->lock, STDIN_FILENO);
		assert_true(other->fd > STDIN_FILENO);
		server_close(other);
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
		/* Or the socket has it. */
		other = calloc(1, sizeof(*other));
		assert_non_null(other);
		other->address.sun_family = AF_UNIX;
		other->calls = served;
		other->lock = -1;
		assert_int_equal(side_kernel_server_listen(other, folder), 0);
		assert_int_equal(server_fd(other), STDIN_FILENO);
		ask_server(other, "status\n", 7, "{\"user\":\"me\"}\n");
		server_close(other);
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
		assert_int_equal(access(path, F_OK), -1);
		/* Or a connection has it. */
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		assert_int_equal(server_open(folder, &served, &other), 0);
		{
			int asking = connect_to(folder);
			char text[64] = "";

			assert_true(asking >= 0);
			assert_int_equal(write(asking, "status\n", 7), 7);
			close(STDIN_FILENO);
			server_turn(other);
			assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
			assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
			assert_int_equal(read(asking, text, sizeof(text) - 1), 14);
			assert_string_equal(text, "{\"user\":\"me\"}\n");
			close(asking);
		}
		server_close(other);
		close(input);
	}
	assert_int_equal(server_open("/none", &served, &other), -ENOENT);
	server_close(other);
	assert_int_equal(resources_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_arguments),
			cmocka_unit_test(test_switching),
			cmocka_unit_test(test_draining),
			cmocka_unit_test(test_looking),
			cmocka_unit_test(test_sessions),
			cmocka_unit_test(test_signals),
			cmocka_unit_test(test_changes),
			cmocka_unit_test(test_turn),
			cmocka_unit_test(test_open_kernel),
			cmocka_unit_test(test_open_server),
			cmocka_unit_test(test_server),
			cmocka_unit_test(test_life),
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_failures),
			cmocka_unit_test(test_ready),
	};
	char path[100];
	int ret;

	/* A shell ignores it for what it starts in the background. */
	(void)signal(SIGINT, SIG_DFL);
	(void)umask(022);
	(void)snprintf(folder, sizeof(folder), "/tmp/side-turns-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)snprintf(path, sizeof(path), "%s/kernel.lock", folder);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/kernel.sock", folder);
	(void)unlink(path);
	(void)rmdir(folder);
	return ret;
}
