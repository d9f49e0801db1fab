/* SPDX-License-Identifier: MIT */
/*
 * The command line of the daemon, its start in the background, its signals, and the order of its
 * start and its end. The test includes main.c, and plays all its calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "programs/sided/sided.h"

int sided_main(int argc, char **argv);

/* ---- all that main.c calls ---- */

static const char *failing; /* the function that fails, or NULL */
static int failing_error;
static jmp_buf exited;
static pid_t fork_result;
static int ends_of[2] = {-1, -1};
static int byte_of_child = -1; /* what the daemon reports to the first process; -1: it ends */
static unsigned int nr_interrupts;
static uid_t user;
static struct rlimit files;
static sigset_t signals, blocked;
static const uint32_t *arrived; /* signals; 0: no more */
static struct daemon *opened;
static uint64_t now = 1000;

static int fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0)
		return 0;
	failing = NULL;
	errno = -failing_error;
	return failing_error;
}

static void arm(const char *name, int error)
{
	failing = name;
	failing_error = error;
}

static int step(const char *name)
{
	called("%s\n", name);
	return fails(name);
}

static void __attribute__((noreturn)) played_exit(int status)
{
	called("exit(%d)\n", status);
	longjmp(exited, 1);
}

static int played_pipe2(int ends[2], int flags)
{
	int ret;

	assert_int_equal(flags, O_CLOEXEC);
	if (fails("pipe2"))
		return -1;
	ret = pipe2(ends, flags);
	memcpy(ends_of, ends, sizeof(ends_of));
	return ret;
}

static pid_t played_fork(void)
{
	char byte = (char)byte_of_child;

	called("fork\n");
	if (fails("fork"))
		return -1;
	if (byte_of_child >= 0)
		assert_int_equal(write(ends_of[1], &byte, 1), 1);
	return fork_result;
}

static ssize_t played_read(int fd, void *bytes, size_t size)
{
	struct signalfd_siginfo info = {.ssi_signo = arrived ? *arrived : 0};

	if (nr_interrupts) {
		nr_interrupts--;
		errno = EINTR;
		return -1;
	}
	if (!arrived)
		return read(fd, bytes, size);
	assert_int_equal(size, sizeof(info));
	if (!*arrived++)
		return -1;
	memcpy(bytes, &info, sizeof(info));
	return sizeof(info);
}

static ssize_t played_write(int fd, const void *bytes, size_t size)
{
	assert_int_equal(size, 1);
	called("write(%d)\n", *(const char *)bytes);
	return fails("write") ? -1 : write(fd, bytes, size);
}

static int played_open(const char *path, int flags)
{
	assert_string_equal(path, "/dev/null");
	assert_int_equal(flags, O_RDWR | O_CLOEXEC);
	return fails("open") ? -1 : open(path, flags);
}

static int played_signalfd(int fd, const sigset_t *set, int flags)
{
	assert_true(fd == -1 && flags == (SFD_CLOEXEC | SFD_NONBLOCK));
	signals = *set;
	return fails("signalfd") ? -1 : 7;
}

static int played_sigprocmask(int how, const sigset_t *set)
{
	assert_int_equal(how, SIG_BLOCK);
	blocked = *set;
	return 0;
}

static int played_getrlimit(int which, struct rlimit *limit)
{
	assert_int_equal(which, RLIMIT_NOFILE);
	*limit = files;
	return fails("getrlimit") ? -1 : 0;
}

static int played_setrlimit(int which, const struct rlimit *limit)
{
	assert_int_equal(which, RLIMIT_NOFILE);
	files = *limit;
	return 0;
}

static int played_runtime_open(struct daemon *daemon, const char *directory, struct error *error)
{
	int ret = step("runtime_open");

	called("(%s)\n", directory ? directory : "none");
	opened = daemon;
	if (ret)
		(void)error_set_kind(error, ERROR_PERMISSION, ret, "be root", "no directory");
	return ret;
}

static int played_runtime_listen(struct error *error)
{
	int ret = step("runtime_listen");

	if (ret)
		(void)error_set_kind(error, ERROR_USAGE, ret, NULL, "no socket");
	return ret;
}

static int played_loop_run(struct daemon *daemon)
{
	called("loop_run(%d %d %u)\n", daemon->system, daemon->any_user, (unsigned int)daemon->uid);
	assert_true(daemon == opened && daemon->serial == 1 && daemon->lock_fd == -1 &&
			daemon->control_listener.fd == -1 && daemon->agents_listener.fd == -1);
	return fails("loop_run");
}

static int played_loop_watch(struct sided_watch *watch, int fd, uint32_t events,
		void (*ready)(struct daemon *, struct sided_watch *, uint32_t))
{
	assert_int_equal(events, EPOLLIN);
	watch->fd = fd;
	watch->ready = ready;
	return step("loop_watch");
}

__attribute__((format(printf, 2, 3))) static void played_print(
		const char *where, const char *format, ...)
{
	char text[2000];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("%s: %s", where, text);
}

static void played_timer(struct timer *timer, uint64_t in_ms,
		void (*expired)(struct daemon *, struct timer *))
{
	called("loop_timer(%llu)\n", (unsigned long long)in_ms);
	timer->base.is_set = true;
	timer->expired = expired;
}

static void played_unwatch(const struct sided_watch *watch)
{
	called("loop_unwatch(%s)\n",
			watch == &opened->control_listener                  ? "control"
					: watch == &opened->agents_listener ? "agents"
					: watch == &opened->signals         ? "signals"
									    : "?");
}

#undef sided_set_error
#define main sided_main
#define _exit(status) played_exit(status)
#define pipe2(ends, flags) played_pipe2(ends, flags)
#define fork() played_fork()
#define setsid() called("setsid\n")
#define read(fd, bytes, size) played_read(fd, bytes, size)
#define write(fd, bytes, size) played_write(fd, bytes, size)
#define open(path, flags) played_open(path, flags)
#define dup2(fd, copy) called("dup2(%d)\n", copy)
#define chdir(path) (called("chdir(%s)\n", path), fails("chdir"))
#define umask(mask) called("umask(%o)\n", mask)
#define geteuid() (user)
#define signalfd(fd, set, flags) played_signalfd(fd, set, flags)
#define sigprocmask(how, set, old) ((void)(old), played_sigprocmask(how, set))
#define signal(number, action) called("signal(%d %d)\n", number, (action) == SIG_IGN)
#define getrlimit(which, limit) played_getrlimit(which, limit)
#define setrlimit(which, limit) played_setrlimit(which, limit)
#define dprintf(fd, ...) played_print((fd) == STDERR_FILENO ? "log" : "?", __VA_ARGS__)
#define fprintf(to, ...) played_print((to) == stderr ? "err" : "?", __VA_ARGS__)
#define fputs(text, to) played_print((to) == stdout ? "out" : "?", "%.28s\n", text)
#define puts(text) played_print("out", "%s\n", text)
#define session_process() (called("session_process\n"), 47)
#define loop_open(daemon) ((void)(daemon), step("loop_open"))
#define loop_close(daemon) ((void)(daemon), step("loop_close"))
#define loop_run(daemon) played_loop_run(daemon)
#define loop_now() (now)
#define loop_timer(daemon, timer, in_ms, expired) \
	((void)(daemon), played_timer(timer, in_ms, expired))
#define loop_cancel(daemon, timer) \
	((void)(daemon), (timer)->base.is_set = false, step("loop_cancel"))
#define loop_watch(daemon, watch, fd, events, ready) \
	((void)(daemon), played_loop_watch(watch, fd, events, ready))
#define loop_unwatch(daemon, watch) ((void)(daemon), played_unwatch(watch))
#define clients_open(daemon) ((void)(daemon), step("clients_open"))
#define clients_close(daemon) ((void)(daemon), step("clients_close"))
#define programs_open(daemon) ((void)(daemon), step("programs_open"))
#define programs_close(daemon) ((void)(daemon), step("programs_close"))
#define programs_restore(daemon) ((void)(daemon), step("programs_restore"))
#define programs_poke(daemon, scope, late) \
	((void)(daemon), (void)(late), assert_true((scope) == SCOPE_ALL), step("programs_poke"))
#define rendezvous_open_all(daemon) ((void)(daemon), step("doors_open"))
#define rendezvous_close_all(daemon) ((void)(daemon), step("doors_close"))
#define rendezvous_restore_all(daemon) ((void)(daemon), step("doors_restore"))
#define sessions_restore(daemon) ((void)(daemon), step("sessions_restore"))
#define pending_close(daemon) ((void)(daemon), step("pending_close"))
#define exec_attach_open(daemon) ((void)(daemon), step("exec_attach_open"))
#define exec_attach_close(daemon) ((void)(daemon), step("exec_attach_close"))
#define sessions_close(daemon) ((void)(daemon), step("sessions_close"))
#define agents_close(daemon) ((void)(daemon), step("agents_close"))
#define operations_close(daemon) ((void)(daemon), step("operations_close"))
#define handovers_close(daemon) ((void)(daemon), step("handovers_close"))
#define boot_adopt(daemon, file) \
	((void)(daemon), called("boot_adopt(%s)\n", (file) ? (file) : "none"))
#define runtime_open(daemon, directory, error) played_runtime_open(daemon, directory, error)
#define runtime_listen(daemon, error) ((void)(daemon), played_runtime_listen(error))
#define runtime_close(daemon) ((void)(daemon), step("runtime_close"))
#define isolate_daemon(daemon) ((void)(daemon), step("isolate_daemon"))
#define notify(text) called("notify(%s)\n", text)
#define workers_reap(daemon) ((void)(daemon), step("workers_reap"))
#include "programs/sided/main.c"
#undef main
#undef pipe2
#undef read
#undef write
#undef open
#undef dup2

/* ---- the command line ---- */

static int run_main(const char *one, const char *other, const char *third)
{
	char *argv[] = {(char *)(uintptr_t) "sided", (char *)(uintptr_t)one,
			(char *)(uintptr_t)other, (char *)(uintptr_t)third, NULL};
	int argc = 1;

	while (argv[argc])
		argc++;
	optind = 0;
	opterr = 0;
	files = (struct rlimit){.rlim_cur = 1000, .rlim_max = 20000};
	return sided_main(argc, argv);
}

static void test_options(void **unused)
{
	(void)unused;
	user = 5;
	assert_int_equal(run_main("--help", NULL, NULL), 0);
	assert_called("out: Usage: sided [--foreground] \n");
	assert_int_equal(run_main("--version", NULL, NULL), 0);
	assert_called("out: sided " SIDE_VERSION "\n");
	assert_int_equal(run_main("--nope", NULL, NULL), 2);
	assert_called("");
	assert_int_equal(run_main("--foreground", "first", "second"), 2);
	assert_called("err: sided: unexpected operand \"first\"\nhint: `sided --help`\n");
	assert_int_equal(run_main("--session-process", NULL, NULL), 47);
	assert_called("umask(77)\nsession_process\n");
	assert_int_equal(run_main("--system", "--foreground", NULL), 3);
	assert_called("umask(77)\nlog: sided: cannot use --system: it requires root; your own daemon needs no options\n");
	assert_int_equal(run_main("--output=x", "--foreground", NULL), 2);
	assert_called("umask(77)\nlog: sided: the output directory x is not an absolute path\n");
	assert_int_equal(run_main("--boot=y", "--foreground", NULL), 2);
	assert_called("umask(77)\nlog: sided: the configuration y is not an absolute path\n");
}

#define PARTS "loop_open\nclients_open\nprograms_open\ndoors_open\nsignal(13 1)\nloop_watch\n"
#define RESTORED \
	"programs_restore\nruntime_listen\ndoors_restore\nprograms_poke\nexec_attach_open\nisolate_daemon\nnotify(READY=1)\n"
#define CLOSED \
	"loop_cancel\noperations_close\nclients_close\npending_close\nexec_attach_close\nsessions_close\nagents_close\nprograms_close\ndoors_close\nhandovers_close\nloop_unwatch(control)\nloop_unwatch(agents)\nloop_unwatch(signals)\nruntime_close\nloop_close\n"

/* Resets the state as at the start of main(). */
static void forget(void)
{
	memset(opened, 0, sizeof(*opened));
	opened->lock_fd = opened->control_listener.fd = opened->agents_listener.fd = -1;
	opened->serial = 1;
}

static void test_run(void **unused)
{
	(void)unused;
	user = 5;
	assert_int_equal(run_main("--foreground", "--runtime=/r", "--output=/o"), 0);
	assert_called("umask(77)\nchdir(/)\n" PARTS
		      "runtime_open\n(/r)\nsessions_restore\nboot_adopt(none)\n" RESTORED
		      "loop_run(0 0 5)\nnotify(STOPPING=1)\n" CLOSED);
	assert_int_equal(opened->max_programs, 9400);
	assert_int_equal(files.rlim_cur, 20000);
	/* Root's daemon has programs of all users. */
	user = 0;
	forget();
	arm("loop_run", -EIO);
	assert_int_equal(run_main("--foreground", "--system", "--boot=/b"), 1);
	assert_called("umask(77)\nchdir(/)\n" PARTS
		      "runtime_open\n(none)\nsessions_restore\nboot_adopt(/b)\n" RESTORED
		      "loop_run(1 1 0)\nnotify(STOPPING=1)\nlog: sided: cannot continue: Input/output error\n" CLOSED);
	arm("chdir", -1);
	forget();
	assert_int_equal(run_main("--foreground", NULL, NULL), 0);
	assert_ptr_equal(
			strstr(calls, "umask(77)\nchdir(/)\nlog: sided: cannot leave the current directory\nloop_open\n"),
			calls);
	assert_non_null(strstr(calls, "loop_run(0 1 0)\n"));
	*calls = '\0';
	opened->any_user = false;
}

/* The first step that fails ends the daemon, with its own message. */
static void test_failed_steps(void **unused)
{
	static const char *const steps[] = {"loop_open", "clients_open", "programs_open",
			"doors_open", "loop_watch", "runtime_open", "sessions_restore",
			"runtime_listen"};
	static const char all[] = PARTS
			"runtime_open\n(none)\nsessions_restore\nboot_adopt(none)\nprograms_restore\nruntime_listen\n";
	char expected[2000];

	(void)unused;
	user = 5;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const char *last = strstr(all, steps[i]);
		const char *text = i < 5 ? "cannot start: Out of streams resources"
				: i == 5 ? "no directory\nhint: be root"
				: i == 6 ? ""
					 : "no socket";

		assert_non_null(last);
		arm(steps[i], -ENOSR);
		assert_int_equal(run_main("--foreground", NULL, NULL), i == 5 ? 3 : i == 7 ? 2 : 1);
		if (i == 6) {
			*calls = '\0';
			continue;
		}
		(void)snprintf(expected, sizeof(expected),
				"umask(77)\nchdir(/)\n%.*s\n%s" CLOSED "err: sided: %s\n",
				(int)(last - all) + (int)strlen(steps[i]), all,
				i == 5 ? "(none)\n" : "", text);
		assert_called(expected);
	}
	arm("signalfd", -EMFILE);
	assert_int_equal(run_main("--foreground", NULL, NULL), 1);
	assert_non_null(strstr(calls, "err: sided: cannot start: Too many open files\n"));
	*calls = '\0';
	/* Restored sessions stay saved. */
	opened->sessions = (struct session_entry *)(uintptr_t)1;
	arm("runtime_listen", -EIO);
	assert_int_equal(run_main("--foreground", NULL, NULL), 2);
	assert_null(strstr(calls, "sessions_close"));
	*calls = '\0';
	opened->sessions = NULL;
}

/* ---- into the background ---- */

static __attribute__((noinline)) int detach_or_exit(int *ready)
{
	return setjmp(exited) ? 1 : sided_daemonize(ready);
}

static void test_detach(void **unused)
{
	unsigned int before = resources_descriptors();
	char expected[40];
	int ready;

	(void)unused;
	/* In the first process, which exits with the status of the daemon. */
	fork_result = 5;
	for (byte_of_child = 3; byte_of_child >= 0; byte_of_child -= 3) {
		nr_interrupts = 2;
		assert_int_equal(detach_or_exit(&ready), 1);
		(void)snprintf(expected, sizeof(expected), "fork\nexit(%d)\n", byte_of_child);
		assert_called(expected);
		assert_int_equal(ready, -1);
		assert_int_equal(fcntl(ends_of[1], F_GETFD), -1);
		close(ends_of[0]);
	}
	byte_of_child = -1;
	assert_int_equal(detach_or_exit(&ready), 1);
	assert_called("fork\nexit(1)\n");
	close(ends_of[0]);
	/* In the second one. */
	fork_result = 0;
	assert_int_equal(detach_or_exit(&ready), 0);
	assert_called("fork\nsetsid\n");
	assert_int_equal(ready, ends_of[1]);
	assert_int_equal(fcntl(ends_of[0], F_GETFD), -1);
	close(ready);
	assert_int_equal(resources_descriptors(), before);
	arm("pipe2", -EMFILE);
	assert_int_equal(detach_or_exit(&ready), -EMFILE);
	assert_int_equal(ready, -1);
	arm("fork", -EAGAIN);
	assert_int_equal(run_main("--output=/o", NULL, NULL), 1);
	assert_called("umask(77)\nchdir(/)\nfork\nlog: sided: cannot start a process: Resource temporarily unavailable\n");
	close(ends_of[0]);
	close(ends_of[1]);
	assert_int_equal(resources_descriptors(), before);
	free(opened->output);
	opened->output = NULL;
}

static void test_terminal(void **unused)
{
	unsigned int before = resources_descriptors();
	char byte = 9;
	int ends[2];

	(void)unused;
	release_terminal(-1);
	assert_called("");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		if (i)
			arm(i == 1 ? "open" : "write", -EPIPE);
		release_terminal(ends[1]);
		assert_called(i == 0 ? "dup2(0)\ndup2(1)\ndup2(2)\nwrite(0)\n"
						: i == 1
						? "write(0)\n"
						: "dup2(0)\ndup2(1)\ndup2(2)\nwrite(0)\nlog: sided: the parent process has ended\n");
		assert_int_equal(fcntl(ends[1], F_GETFD), -1);
		assert_int_equal(read(ends[0], &byte, 1), i < 2);
		assert_int_equal(byte, 0);
		close(ends[0]);
		assert_int_equal(resources_descriptors(), before);
	}
}

static void test_fail(void **unused)
{
	static const enum error_kind classes[] = {
			ERROR_PERMISSION, ERROR_USAGE, ERROR_FAILED, ERROR_BUSY};
	static const int statuses[] = {3, 2, 1, 1};
	struct error error;
	char expected[100], byte;
	int ends[2];

	(void)unused;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	for (int i = 0; i < 4; i++) {
		(void)error_set_kind(&error, classes[i], -EIO, i & 1 ? "hint" : NULL, "text");
		assert_int_equal(sided_set_error(&error, -1), statuses[i]);
		assert_called(i & 1 ? "err: sided: text\nhint: hint\n" : "err: sided: text\n");
		assert_int_equal(sided_set_error(&error, ends[1]), statuses[i]);
		(void)snprintf(expected, sizeof(expected), "log: sided: text%s\nwrite(%d)\n",
				i & 1 ? "; hint" : "", statuses[i]);
		assert_called(expected);
		assert_int_equal(read(ends[0], &byte, 1), 1);
		assert_int_equal(byte, statuses[i]);
	}
	error.kind = ERROR_USAGE;
	arm("write", -EPIPE);
	assert_int_equal(sided_set_error(&error, ends[1]), 1);
	*calls = '\0';
	close(ends[0]);
	close(ends[1]);
}

/* ---- signals and limits ---- */

static void test_signals(void **unused)
{
	static const uint32_t children[] = {SIGCHLD, SIGCHLD, 0},
			      stopping[] = {SIGCHLD, SIGTERM, 0};
	struct daemon daemon = {.stop = false};
	struct sided_watch watch = {.fd = 7};

	(void)unused;
	assert_int_equal(sided_watch_signals(&daemon), 0);
	assert_called("signal(13 1)\nloop_watch\n");
	assert_true(daemon.signals.fd == 7 && daemon.signals.ready == signals_ready);
	for (int number = 1; number < 32; number++) {
		bool is = number == SIGTERM || number == SIGINT || number == SIGHUP ||
				number == SIGCHLD;

		assert_int_equal(sigismember(&signals, number), is);
		assert_int_equal(sigismember(&blocked, number), is);
	}
	arm("signalfd", -EMFILE);
	assert_int_equal(sided_watch_signals(&daemon), -EMFILE);
	assert_called("signal(13 1)\n");
	arrived = children;
	signals_ready(&daemon, &watch, EPOLLIN);
	assert_called("workers_reap\nworkers_reap\n");
	assert_false(daemon.stop);
	arrived = stopping;
	signals_ready(&daemon, &watch, EPOLLIN);
	assert_called("workers_reap\n");
	assert_true(daemon.stop);
	arrived = NULL;
}

static void test_files(void **unused)
{
	static const struct {
		rlim_t max;
		size_t programs;
	} cases[] = {{1024, 256}, {2399, 599}, {2400, 600}, {2401, 600}, {2402, 601},
			{20000, 9400}};
	struct daemon daemon;

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		files = (struct rlimit){.rlim_cur = 10, .rlim_max = cases[i].max};
		sided_raise_file_limit(&daemon);
		assert_int_equal(files.rlim_cur, cases[i].max);
		assert_int_equal(files.rlim_max, cases[i].max);
		assert_int_equal(daemon.max_programs, cases[i].programs);
	}
	arm("getrlimit", -EINVAL);
	sided_raise_file_limit(&daemon);
	assert_int_equal(files.rlim_cur, 1024);
	assert_int_equal(daemon.max_programs, 256);
}

/* ---- the log ---- */

static void test_log(void **unused)
{
	static struct daemon daemon;
	char expected[3000] = "loop_timer(60000)\n";

	(void)unused;
	lines_init(&daemon.lines, 5, 3, 2, 0);
	for (int i = 0; i < 5; i++)
		log_about(&daemon, 5, "line %d", i);
	assert_called("loop_timer(60000)\nlog: sided: line 0\nlog: sided: line 1\nlog: sided: line 2\n");
	/* Users without an entry share one. */
	*expected = '\0';
	for (uid_t uid = 100; uid < 100 + LINES_USERS + 3; uid++)
		for (int i = 0; i < 3; i++)
			log_about(&daemon, uid, "of %u", (unsigned int)uid);
	*calls = '\0';
	sided_report_suppressed(&daemon, NULL);
	assert_non_null(strstr(calls,
			"log: sided: suppressed 2 messages about sessions of user 5: too many within a minute\n"));
	assert_non_null(strstr(calls,
			"log: sided: suppressed 1 messages about sessions of user 100: too many within a minute\n"));
	assert_non_null(strstr(calls, " messages about other users: too many within a minute\n"));
	*calls = '\0';
	sided_report_suppressed(&daemon, NULL);
	assert_called("");
	assert_true(daemon.suppressed.expired == sided_report_suppressed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_options),
			cmocka_unit_test(test_run),
			cmocka_unit_test(test_failed_steps),
			cmocka_unit_test(test_detach),
			cmocka_unit_test(test_terminal),
			cmocka_unit_test(test_fail),
			cmocka_unit_test(test_signals),
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_log),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
