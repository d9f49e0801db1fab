/* SPDX-License-Identifier: MIT */
/*
 * The pager with processes, signals and a terminal that the test plays: which calls each of the
 * three processes makes, in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"

#include "printed.h"

#include "programs/common/command.h"

/* ---- the terminal ---- */

static bool is_terminal[3], no_tty, no_pipe;
static int nr_descriptors;

static int played_isatty(int fd)
{
	return is_terminal[fd];
}

static int played_open(const char *path, int flags)
{
	assert_string_equal(path, "/dev/tty");
	assert_int_equal(flags, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (no_tty)
		return -1;
	nr_descriptors++;
	return 0; /* descriptor 0 is one, too */
}

static int played_close(int fd)
{
	if (fd)
		called("close %d;", fd);
	nr_descriptors--;
	return 0;
}

static int played_pipe(int fds[2], int flags)
{
	assert_int_equal(flags, O_CLOEXEC);
	if (no_pipe)
		return -1;
	nr_descriptors += 2;
	fds[0] = 20;
	fds[1] = 21;
	return 0;
}

static int played_dup2(int from, int to)
{
	called("dup2 %d %d;", from, to);
	return to;
}

/* ---- processes ---- */

static pid_t forks[2], parent_now;
static unsigned int nr_forks, nr_interrupts;
static int statuses[2]; /* of the pager, and of the process that prints */
static jmp_buf left;
static bool no_child; /* no child to wait for */

static pid_t played_fork(void)
{
	called("fork;");
	return forks[nr_forks++];
}

__attribute__((noreturn)) static void played_exit(int code)
{
	called("exit %d;", code);
	longjmp(left, 1);
}

static int played_exec(const char *path, const char *first, const char *second, const char *third,
		const char *end)
{
	assert_string_equal(first, "sh");
	assert_string_equal(second, "-c");
	assert_null(end);
	called("exec %s %s %s %s;", path, third, getenv("LESS"), getenv("LV"));
	return -1;
}

static pid_t played_wait(pid_t pid, int *status, int flags)
{
	assert_int_equal(flags, 0);
	called("wait %d;", (int)pid);
	if (nr_interrupts) {
		nr_interrupts--;
		errno = EINTR;
		return -1;
	}
	if (no_child) {
		errno = ECHILD;
		return -1;
	}
	*status = statuses[pid == 32];
	return pid;
}

static pid_t played_getpid(void)
{
	return 30;
}

static pid_t played_getppid(void)
{
	return parent_now;
}

static int played_prctl(int option, int value)
{
	assert_int_equal(option, PR_SET_PDEATHSIG);
	called("death %d;", value);
	return 0;
}

/* ---- signals ---- */

static sigset_t before_mask;
static int pending_number;

static int played_mask(int how, const sigset_t *set, sigset_t *old)
{
	if (how == SIG_SETMASK) {
		assert_int_equal(sigismember(set, SIGUSR2), 1);
		assert_null(old);
		called("mask;");
		return 0;
	}
	assert_int_equal(how, SIG_BLOCK);
	called("block");
	for (int i = 1; i < 32; i++)
		if (sigismember(set, i) == 1)
			called(" %d", i);
	called(";");
	*old = before_mask;
	return 0;
}

static int played_pending(sigset_t *set)
{
	sigemptyset(set);
	if (pending_number < 0)
		return -1;
	if (pending_number)
		sigaddset(set, pending_number);
	return 0;
}

static int played_kill(pid_t pid, int number)
{
	called("kill %d %d;", (int)pid, number);
	errno = ESRCH;
	return -1;
}

static void (*played_signal(int number, void (*handler)(int)))(int)
{
	called("signal %d %s;", number,
			handler == SIG_IGN                   ? "ignored"
					: handler == SIG_DFL ? "default"
							     : "?");
	return SIG_DFL;
}

static void (*passed_handler)(int);

static int played_action(int number, const struct sigaction *action, struct sigaction *old)
{
	assert_null(old);
	called("action %d;", number);
	passed_handler = action->sa_handler;
	return 0;
}

static int played_raise(int number)
{
	called("raise %d;", number);
	return 0;
}

#define isatty played_isatty
#define open(path, flags) played_open(path, flags)
#define close played_close
#define pipe2 played_pipe
#define dup2 played_dup2
#define fork played_fork
#define _exit played_exit
#define execl played_exec
#define waitpid played_wait
#define getpid played_getpid
#define getppid played_getppid
#define prctl played_prctl
#define sigprocmask played_mask
#define sigpending played_pending
#define kill played_kill
#define signal played_signal
#define sigaction(number, action, old) played_action(number, action, old)
#define raise played_raise
#define output_set_paged() called("paged;")
#include "programs/side/cli/pager.c"
#undef open
#undef close
#undef sigaction
#undef fork
#undef dup2
#undef isatty

static char folder[] = "/tmp/side-test-pager-XXXXXX";

static void reset(void)
{
	is_terminal[1] = true;
	is_terminal[2] = false;
	no_tty = no_pipe = no_child = false;
	nr_forks = nr_interrupts = 0;
	forks[0] = 31;
	forks[1] = 32;
	statuses[0] = statuses[1] = 0;
	parent_now = 30;
	pending_number = 0;
	nr_descriptors = 0;
	setenv("TERM", "xterm", 1);
	setenv("SIDE_PAGER", "more -x", 1);
	unsetenv("PAGER");
	unsetenv("LESS");
	unsetenv("LV");
	sigemptyset(&before_mask);
	sigaddset(&before_mask, SIGUSR2);
	*calls = '\0';
}

static void start(bool is_refused)
{
	const struct common_options common = {.no_pager = is_refused};

	nr_forks = 0;
	if (!setjmp(left))
		pager_start(&common);
}

#define BLOCK "block 1 2 3 15;"

/* Nothing is started. */
static void assert_no_pager(void)
{
	start(false);
	assert_called("");
	assert_int_equal(nr_descriptors, 0);
}

static void test_wanted(void **unused)
{
	(void)unused;
	reset();
	start(true);
	assert_called("");
	is_terminal[1] = false;
	assert_no_pager();
	reset();
	unsetenv("TERM");
	assert_no_pager();
	setenv("TERM", "", 1);
	assert_no_pager();
	setenv("TERM", "dumb", 1);
	assert_no_pager();
	reset();
	no_tty = true;
	assert_no_pager();
	reset();
	setenv("SIDE_PAGER", "", 1);
	setenv("PAGER", "more -x", 1);
	assert_no_pager();
	setenv("SIDE_PAGER", "cat", 1);
	assert_no_pager();
	reset();
	no_pipe = true;
	assert_no_pager();
}

static void make_program(const char *name, mode_t mode)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void test_command(void **unused)
{
	char path[300], program[200];

	(void)unused;
	reset();
	assert_string_equal(pager_command(), "more -x");
	unsetenv("SIDE_PAGER");
	setenv("PAGER", "a|b", 1);
	assert_string_equal(pager_command(), "a|b");
	make_program("pg", 0700);
	make_program("plain", 0600);
	snprintf(path, sizeof(path), "/none:%s", folder);
	setenv("PATH", path, 1);
	setenv("PAGER", "pg", 1);
	assert_string_equal(pager_command(), "pg");
	snprintf(path, sizeof(path), "%s:/none", folder);
	setenv("PATH", path, 1);
	assert_string_equal(pager_command(), "pg");
	setenv("PAGER", "plain", 1);
	begin_output();
	assert_null(pager_command());
	assert_output("side: cannot run the pager `plain`: it was not found\n");
	snprintf(program, sizeof(program), "%s/pg", folder);
	setenv("PAGER", program, 1);
	setenv("PATH", "/none", 1);
	assert_string_equal(pager_command(), program);
	snprintf(program, sizeof(program), "%s/gone", folder);
	setenv("PAGER", program, 1);
	begin_output();
	assert_null(pager_command());
	snprintf(path, sizeof(path), "side: cannot run the pager `%s/gone`: it was not found\n",
			folder);
	assert_output(path);
	/* Without a variable: less, if it is there. */
	unsetenv("PAGER");
	assert_null(pager_command());
	make_program("less", 0700);
	snprintf(path, sizeof(path), "%s", folder);
	setenv("PATH", path, 1);
	assert_string_equal(pager_command(), "less");
	setenv("PATH", "", 1);
	assert_null(pager_command());
	unsetenv("PATH");
	assert_true(pager_is_in_path("env"));
	assert_false(pager_is_in_path("no-such-program"));
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = {"pg", "plain", "less"};

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		assert_int_equal(unlink(path), 0);
	}
}

static void test_pager(void **unused)
{
	(void)unused;
	reset();
	forks[0] = 0;
	start(false);
	assert_called(BLOCK "fork;mask;dup2 20 0;exec /bin/sh more -x FRX -c;exit 127;");
	setenv("LESS", "mine", 1);
	setenv("LV", "yours", 1);
	start(false);
	assert_called(BLOCK "fork;mask;dup2 20 0;exec /bin/sh more -x mine yours;exit 127;");
}

static void test_child(void **unused)
{
	(void)unused;
	reset();
	forks[1] = 0;
	start(false);
	assert_called(BLOCK "fork;fork;death 15;dup2 21 1;close 20;close 21;paged;mask;");
	assert_int_equal(nr_descriptors, 0);
	is_terminal[2] = true;
	start(false);
	assert_called(BLOCK "fork;fork;death 15;dup2 21 1;dup2 21 2;close 20;close 21;paged;mask;");
	parent_now = 1;
	start(false);
	assert_called(BLOCK "fork;fork;death 15;exit 143;");
}

#define PARENT BLOCK "fork;fork;close 20;close 21;"
#define IGNORES "signal 2 ignored;signal 3 ignored;action 15;action 1;mask;wait 31;wait 32;"

static void test_parent(void **unused)
{
	(void)unused;
	reset();
	start(false);
	assert_called(PARENT IGNORES "exit 0;");
	assert_int_equal(nr_descriptors, 0);
	assert_int_equal(pager_child, 32);
	errno = 55;
	passed_handler(15);
	assert_called("kill 32 15;");
	assert_int_equal(errno, 55);
	pager_child = 0;
	passed_handler(15);
	assert_called("");
	pending_number = SIGINT;
	statuses[1] = 7 << 8;
	start(false);
	assert_called(PARENT "kill 32 2;" IGNORES "exit 7;");
	pending_number = SIGQUIT;
	nr_interrupts = 1;
	start(false);
	assert_called(PARENT
			"signal 2 ignored;kill 32 3;signal 3 ignored;action 15;action 1;mask;wait 31;wait 31;wait 32;exit 7;");
	pending_number = -1;
	start(false);
	assert_called(PARENT IGNORES "exit 7;");
	pending_number = 0;
	/* The user quit the pager early. */
	statuses[1] = SIGPIPE;
	start(false);
	assert_called(PARENT IGNORES "exit 0;");
	statuses[1] = (128 + SIGPIPE) << 8;
	start(false);
	assert_called(PARENT IGNORES "exit 0;");
	statuses[1] = SIGSEGV;
	start(false);
	assert_called(PARENT IGNORES "signal 11 default;raise 11;exit 139;");
	/* No child to wait for. */
	no_child = true;
	start(false);
	assert_called(PARENT IGNORES "exit 0;");
	no_child = false;
	/* The pager cannot be run. */
	statuses[1] = 0;
	statuses[0] = 125 << 8;
	start(false);
	assert_called(PARENT IGNORES "exit 0;");
	statuses[0] = SIGTERM;
	start(false);
	assert_called(PARENT IGNORES "exit 0;");
	for (int code = 126; code < 128; code++) {
		statuses[0] = code << 8;
		begin_output();
		start(false);
		assert_output("side: cannot run the pager `more -x`\nhint: `--no-pager` prints without it\n");
		assert_called(PARENT IGNORES "exit 1;");
	}
}

/* Without memory for processes. */
static void test_no_processes(void **unused)
{
	(void)unused;
	reset();
	forks[0] = -1;
	start(false);
	assert_called(BLOCK "fork;close 20;close 21;mask;");
	reset();
	forks[1] = -1;
	start(false);
	assert_called(PARENT "mask;wait 31;");
	assert_int_equal(nr_descriptors, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_wanted, show_output),
			cmocka_unit_test_teardown(test_pager, show_output),
			cmocka_unit_test_teardown(test_child, show_output),
			cmocka_unit_test_teardown(test_parent, show_output),
			cmocka_unit_test_teardown(test_no_processes, show_output),
			cmocka_unit_test_teardown(test_command, show_output),
	};
	int ret;

	if (!mkdtemp(folder))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(folder);
	return ret;
}
