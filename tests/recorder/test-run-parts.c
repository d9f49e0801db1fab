/* SPDX-License-Identifier: MIT */
/*
 * Starting a command and the loop that records it: each call, its order, each failure and its
 * message. The test includes spawn.c and run.c, and plays processes, signals, events and the other
 * parts of a session.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"
#include "protocol/protocol.h"
#include "recorder/connection.h"
#include "recorder/core/channels.h"
#include "recorder/core/exit-status.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/watch.h"
#include "recorder/drain.h"
#include "recorder/helper-process.h"
#include "recorder/listener.h"
#include "recorder/run-turn.h"
#include "recorder/session-state.h"
#include "recorder/spawn.h"
#include "recorder/storage/buffers.h"
#include "recorder/survivors.h"
#include "ring/ring.h"

#define COMMAND 4711
#define PIPE 50   /* and 51: its end for writing */
#define SOCKET 60 /* and 61 */
#define PIDFD 70

static struct session the_session;
static struct error the_error;
static const char *failing; /* the call that fails, or NULL */
static int failing_error;
static jmp_buf exits;

static bool fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0)
		return false;
	errno = failing_error;
	return true;
}

/* ---- processes ---- */

static const char *socket_variable, *asan_variable;
static bool lacks_memory;
static int nr_texts; /* that were printed and not freed */
static int first_socket = SOCKET;
static pid_t forked;
static int child_code;        /* the error that the child writes before it exits */
static ssize_t child_size;    /* number of bytes of it that are read */
static int nr_interrupts;     /* reads that a signal interrupts first */
static bool program_is_there; /* session_program() returns a program */
static int program_result, hold_result;

/* Other variables are not played: a file that tests/mutate has changed reads a variable itself. */
static char *played_getenv(const char *name)
{
	const char *value = !strcmp(name, WIRE_SOCKET_ENV) ? socket_variable
			: !strcmp(name, "ASAN_OPTIONS")    ? asan_variable
							   : getenv(name);

	return (char *)(uintptr_t)value;
}

static void played_setenv(const char *name, const char *value, int replace)
{
	called("%s%s=%s\n", replace ? "" : "keep ", name, value);
}

__attribute__((format(printf, 2, 3))) static int played_print(char **text, const char *format, ...)
{
	va_list arguments;
	int ret;

	if (lacks_memory) {
		*text = (char *)(uintptr_t)1;
		return -1;
	}
	va_start(arguments, format);
	ret = vasprintf(text, format, arguments);
	va_end(arguments);
	nr_texts++;
	return ret;
}

static void played_free(char *text)
{
	nr_texts--;
	free(text);
}

static pid_t played_fork(void)
{
	called("fork\n");
	return fails("fork") ? -1 : forked;
}

static void played_close(int fd)
{
	called("close(%d)\n", fd);
}

static int played_pipe(int ends[2], int flags)
{
	assert_int_equal(flags, O_CLOEXEC);
	ends[0] = PIPE;
	ends[1] = PIPE + 1;
	return fails("pipe") ? -1 : 0;
}

static int played_socketpair(int family, int type, int protocol, int ends[2])
{
	assert_true(family == AF_UNIX && type == (SOCK_STREAM | SOCK_CLOEXEC) && !protocol);
	if (fails("socketpair"))
		return -1;
	ends[0] = first_socket;
	ends[1] = SOCKET + 1;
	return 0;
}

static ssize_t played_send(int fd, const char *text, size_t size, int flags)
{
	assert_true(size == 1 && flags == MSG_NOSIGNAL);
	called("send(%d,%c)\n", fd, *text);
	return -1;
}

static long played_syscall(long number, pid_t pid, unsigned int flags)
{
	assert_true(number == SYS_pidfd_open && !flags);
	called("pidfd(%d)\n", pid);
	return fails("pidfd") ? -1 : PIDFD;
}

static void played_prctl(int option, unsigned long value)
{
	assert_int_equal(option, PR_SET_CHILD_SUBREAPER);
	called("reaper(%lu)\n", value);
}

/* Returns the name of the session's member that a call reads or fills. */
static const char *member(const void *at)
{
	const struct {
		const char *name;
		const void *at;
	} members[] = {{"child", &the_session.loop.old_child}, {"user", &the_session.loop.old_user},
			{"user2", &the_session.loop.old_user2},
			{"files", &the_session.files.old_number},
			{"file_size", &the_session.files.old_size},
			{"size_signal", &the_session.files.old_size_signal},
			{"mask", &the_session.loop.old_mask}};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (at == members[i].at)
			return members[i].name;
	return at ? "other" : "none";
}

static void played_action(int number, const struct sigaction *action, struct sigaction *former)
{
	const char *name = member(action);

	if (!strcmp(name, "other"))
		name = action->sa_handler == SIG_IGN ? "ignore" : "default";
	called("action(%d,%s,%s)\n", number, name, member(former));
}

static void played_limit(int resource, const struct rlimit *limit)
{
	called("limit(%d,%s)\n", resource, member(limit));
}

static uint64_t bits_of(const sigset_t *set)
{
	uint64_t bits = 0;

	for (int i = 1; i < 64; i++)
		if (sigismember(set, i))
			bits |= 1ull << i;
	return bits;
}

#define OURS                                                                                     \
	(1ull << SIGINT | 1ull << SIGTERM | 1ull << SIGHUP | 1ull << SIGQUIT | 1ull << SIGUSR1 | \
			1ull << SIGCHLD)

static uint64_t expected_signals = OURS;

static void played_mask(int how, const sigset_t *set, sigset_t *former)
{
	if (how == SIG_BLOCK)
		assert_true(bits_of(set) == expected_signals);
	called("mask(%d,%s,%s)\n", how, how == SIG_BLOCK ? "ours" : member(set), member(former));
}

static void played_exec(const char *file, char *const argv[])
{
	called("exec(%s,%s)\n", file, argv[1] ? argv[1] : "");
	errno = failing_error;
}

static ssize_t played_write(int fd, const int *code, size_t size)
{
	assert_int_equal(size, sizeof(*code));
	called("write(%d,%d)\n", fd, *code);
	return fails("write") ? 2 : (ssize_t)size;
}

static _Noreturn void played_exit(int status)
{
	called("exit(%d)\n", status);
	longjmp(exits, 1);
}

static void played_kill(pid_t pid, int number)
{
	called("kill(%d,%d)\n", pid, number);
}

static int wait_status;
static pid_t wait_results[8];
static unsigned int nr_waits;

static pid_t played_wait(pid_t pid, int *status, int flags)
{
	called("wait(%d,%d)\n", pid, flags);
	if (fails("wait"))
		return -1;
	if (status)
		*status = wait_status;
	if (pid > 0)
		return pid;
	pid = wait_results[nr_waits++];
	if (pid >= 0)
		return pid;
	errno = -pid;
	return -1;
}

static int played_program(const char *name, char path[PATH_MAX])
{
	assert_string_equal(name, the_session.command.name ? the_session.command.name : "x/y");
	strcpy(path, program_is_there ? "/there" : "");
	return program_result;
}

static char *played_never(const char *name)
{
	assert_string_equal(name, "command");
	return (char *)(uintptr_t) "never";
}

static int played_hold(void)
{
	called("hold\n");
	return hold_result;
}

static void played_helper_end(void)
{
	called("companion_end\n");
}

/* ---- events ---- */

static struct signalfd_siginfo infos[4];
static unsigned int nr_infos;
static struct recorder_watch *events_of_test[8];
static int nr_events; /* of each turn, or a negative error */
static int nr_turns;  /* turns with events; later ones have none */
static int nr_survivors;
static bool helper_over = true;
static uint64_t now_ms;
static int begin_result;

static ssize_t played_read(int fd, void *to, size_t size)
{
	if (nr_interrupts) {
		nr_interrupts--;
		errno = EINTR;
		return -1;
	}
	if (fd == 80) {
		assert_int_equal(size, sizeof(*infos));
		if (!nr_infos)
			return -1;
		memcpy(to, infos, size);
		memmove(infos, infos + 1, sizeof(infos) - sizeof(*infos));
		nr_infos--;
		return (ssize_t)size;
	}
	called("read(%d)\n", fd);
	if (fd == PIPE) {
		assert_int_equal(size, sizeof(child_code));
		memcpy(to, &child_code, sizeof(child_code));
		return child_size;
	}
	assert_true(fd == first_socket && size == 1);
	return child_size;
}

static int played_events(struct event_loop *loop, int timeout_ms)
{
	assert_ptr_equal(loop, &the_session.loop.events);
	assert_int_equal(the_session.loop.nr_ready, 0);
	called("turn(%d)\n", timeout_ms);
	if (nr_events < 0)
		return nr_events;
	if (nr_turns <= 0)
		return 0;
	nr_turns--;
	memcpy(the_session.loop.ready, events_of_test, sizeof(events_of_test));
	the_session.loop.nr_ready = (unsigned int)nr_events;
	return 0;
}

static int played_add(const struct recorder_watch *watch)
{
	called("add(%d,%d)\n", watch->fd,
			(watch == &the_session.loop.signals) +
					2 * (watch == &the_session.command.watch));
	return fails(watch->fd == PIDFD ? "add command" : "add") ? -errno : 0;
}

static int played_signalfd(int fd, const sigset_t *set, int flags)
{
	assert_true(fd == -1 && bits_of(set) == expected_signals &&
			flags == (SFD_CLOEXEC | SFD_NONBLOCK));
	return fails("signalfd") ? -1 : fails("signalfd 0") ? 0 : 80;
}

__attribute__((format(printf, 2, 3))) static void played_report(
		bool is_error, const char *format, ...)
{
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("report(%d, %s)\n", is_error, text);
}

static void played_watch(const char *name, const void *watch)
{
	called("%s(%d)\n", name, ((const struct recorder_watch *)watch)->fd);
}

static uint64_t played_deadline(unsigned int ms)
{
	return now_ms + ms;
}

static void played_progress(void *user, uint64_t bytes, size_t processes, uint64_t lost)
{
	assert_ptr_equal(user, &the_error);
	called("progress(%llu,%zu,%llu)\n", (unsigned long long)bytes, processes,
			(unsigned long long)lost);
}

#define getenv(name) played_getenv(name)
#define setenv(name, value, replace) played_setenv(name, value, replace)
#define putenv(text) called("put(%s)\n", text)
#define asprintf(text, ...) played_print(text, __VA_ARGS__)
#define free(text) played_free(text)
#define fork() played_fork()
#define close(fd) played_close(fd)
#define pipe2(ends, flags) played_pipe(ends, flags)
#define socketpair(family, type, protocol, ends) played_socketpair(family, type, protocol, ends)
#define send(fd, text, size, flags) played_send(fd, text, size, flags)
#define syscall(number, pid, flags) played_syscall(number, pid, flags)
#define prctl(option, value) played_prctl(option, value)
#define sigaction(number, action, former) played_action(number, action, former)
#define setrlimit(resource, limit) played_limit(resource, limit)
#define pthread_sigmask(how, set, former) played_mask(how, set, former)
#define execvp(file, argv) played_exec(file, argv)
#define write(fd, code, size) played_write(fd, code, size)
#define read(fd, to, size) played_read(fd, to, size)
#define _exit(status) played_exit(status)
#define kill(pid, number) played_kill(pid, number)
#define waitpid(pid, status, flags) played_wait(pid, status, flags)
#define session_program(name, path) played_program(name, path)
#define session_never_meets(name) played_never(name)
#define helper_process_hold(session, error) ((void)(session), (void)(error), played_hold())
#define helper_process_end(session) ((void)(session), played_helper_end())
#include "recorder/spawn.c"
#undef free
#define event_loop_turn(loop, timeout_ms) played_events(loop, timeout_ms)
#define watch_add(session, watch) ((void)(session), played_add(watch))
#define signalfd(fd, set, flags) played_signalfd(fd, set, flags)
#define report(session, is_error, ...) ((void)(session), played_report(is_error, __VA_ARGS__))
#define connection_accept(session) called("accept(%d)\n", (session)->loop.events.epoll)
#define connection_ready(session, connection) \
	((void)(session), played_watch("ready", &(connection)->watch))
#define connection_peer_exited(session, watch) ((void)(session), played_watch("exited", watch))
#define crash_check(session, instance) ((void)(session), played_watch("crash", &(instance)->watch))
#define instance_end(session, instance) ((void)(session), played_watch("end", &(instance)->watch))
#define connections_expire(session) ((void)(session), called("expire\n"))
#define connections_free_closed(session) ((void)(session), called("free\n"))
#define connections_close(session) ((void)(session), called("connections_close\n"))
#define crash_note(session, pid, status) ((void)(session), called("note(%d,%d)\n", pid, status))
#define helper_process_is_over(session) ((void)(session), helper_over)
#define wire_deadline(ms) played_deadline(ms)
#define drain_start(session) ((void)(session), called("drain_start\n"), begin_result)
#define drain_stop(session) ((void)(session), called("drain_stop\n"))
#define drain_snapshot(session) ((void)(session), called("snapshot\n"))
#define session_rotate(session) ((void)(session), called("rotate\n"))
#define survivors_count(session) ((void)(session), (unsigned int)nr_survivors)
#define channels_report(session) ((void)(session), called("channels\n"))
#define listener_close(session) ((void)(session), called("listener_close\n"))
#define buffers_close(session) ((void)(session), called("buffers_close\n"))
#include "recorder/run-turn.c"
#include "recorder/run.c"
#undef close
#undef getenv

static char *text_of(const char *text)
{
	return (char *)(uintptr_t)text;
}

static int begin(void **state)
{
	(void)state;
	free(the_session.command.name);
	free(the_session.spawn.sockets);
	the_session = (struct session){.loop.events.epoll = 90,
			.mode = SESSION_RECORD,
			.spawn.preload = text_of("agent.so")};
	the_session.command.status = -1;
	the_session.command.watch.fd = the_session.loop.signals.fd = -1;
	strcpy(the_session.listener.path, "/s");
	the_error = (struct error){.kind = ERROR_NONE};
	failing = socket_variable = asan_variable = NULL;
	lacks_memory = false;
	forked = COMMAND;
	child_size = child_code = nr_interrupts = hold_result = begin_result = failing_error = 0;
	nr_events = nr_turns = nr_survivors = 0;
	nr_infos = nr_waits = 0;
	wait_status = 0;
	now_ms = 1000;
	helper_over = true;
	expected_signals = OURS;
	*calls = '\0';
	return 0;
}

static void fail_call(const char *name, int code)
{
	failing = name;
	failing_error = code;
}

static void check_error(enum error_kind kind, int code, const char *text, const char *hint)
{
	assert_string_equal(the_error.text, text);
	assert_string_equal(the_error.hint, hint);
	assert_int_equal(the_error.kind, kind);
	assert_int_equal(the_error.code, code);
	the_error = (struct error){.kind = ERROR_NONE};
}

/* ---- SIDE_AGENT_SOCKET ---- */

static void check_sockets(const char *outer, const char *expected)
{
	socket_variable = outer;
	assert_int_equal(spawn_sockets(&the_session, &the_error), 0);
	assert_string_equal(the_session.spawn.sockets, expected);
	free(the_session.spawn.sockets);
	the_session.spawn.sockets = NULL;
}

static void test_sockets(void **state)
{
	(void)state;
	assert_int_equal(WIRE_SESSIONS_MAX, 8);
	check_sockets(NULL, "/s");
	check_sockets("", "/s");
	check_sockets("/a", "/a:/s");
	check_sockets("/a:/b:/c:/d:/e:/f:/g", "/a:/b:/c:/d:/e:/f:/g:/s");
	socket_variable = "/a:/b:/c:/d:/e:/f:/g:/h";
	assert_int_equal(spawn_sockets(&the_session, &the_error), -E2BIG);
	check_error(ERROR_FAILED, -E2BIG,
			"cannot record: this process is already in 8 recordings, and at most 8 are possible",
			"");
	assert_null(the_session.spawn.sockets);
	the_session.mode = SESSION_LIST;
	check_sockets("/a:/b:/c:/d:/e:/f:/g:/h", "/s");
	lacks_memory = true;
	assert_int_equal(spawn_sockets(&the_session, &the_error), -ENOMEM);
	check_error(ERROR_FAILED, -ENOMEM, "out of memory", "");
	assert_null(the_session.spawn.sockets);
}

/* ---- In the child ---- */

#define VARIABLES(asan) "LD_PRELOAD=agent.so\n" asan WIRE_SOCKET_ENV "=/o:/s\nput(A=1)\nput(B=2)\n"
#define CHILD                                                                                  \
	"action(17,child,none)\naction(10,user,none)\naction(12,user2,none)\nlimit(7,files)\n" \
	"limit(1,file_size)\naction(25,size_signal,none)\nmask(2,mask,none)\nexec(command,one)\n"

static char *arguments[] = {NULL, NULL, NULL};

static void run_child(const int go[2])
{
	static char *environment[] = {NULL, NULL};

	environment[0] = text_of("A=1");
	environment[1] = text_of("B=2");
	arguments[0] = text_of("command");
	arguments[1] = text_of("one");
	the_session.spawn.environment = environment;
	the_session.spawn.nr_environment = 2;
	the_session.spawn.sockets = text_of("/o:/s");
	nr_texts = 0;
	if (!setjmp(exits))
		run_command(&the_session, arguments, PIPE + 1, go);
	the_session.spawn.sockets = NULL;
	assert_int_equal(nr_texts, 0);
}

static void test_child(void **state)
{
	static const int alone[2] = {-1, -1}, beside[2] = {SOCKET, SOCKET + 1},
			 first[2] = {0, SOCKET + 1};

	(void)state;
	failing_error = ENOENT;
	run_child(alone);
	assert_called(VARIABLES("ASAN_OPTIONS=verify_asan_link_order=0\n") CHILD
			"write(51,2)\nexit(127)\n");
	failing_error = EACCES;
	asan_variable = "";
	run_child(alone);
	assert_called(VARIABLES("ASAN_OPTIONS=verify_asan_link_order=0\n") CHILD
			"write(51,13)\nexit(126)\n");
	asan_variable = "a=1";
	fail_call("write", ENOENT);
	run_child(alone);
	assert_called(VARIABLES("ASAN_OPTIONS=a=1:verify_asan_link_order=0\n") CHILD
			"write(51,2)\nexit(126)\n");
	failing = NULL;
	asan_variable = "verify_asan_link_order=1";
	run_child(alone);
	assert_called(VARIABLES("") CHILD "write(51,2)\nexit(127)\n");
	asan_variable = NULL;
	lacks_memory = true;
	run_child(alone);
	assert_called(VARIABLES("") CHILD "write(51,2)\nexit(127)\n");
	/*
	 * The child waits for one byte, and does not execute the command if the other end is
	 * closed.
	 */
	nr_interrupts = 2;
	child_size = 1;
	run_child(beside);
	assert_int_equal(nr_interrupts, 0);
	assert_called("close(61)\nread(60)\n" VARIABLES("") CHILD "write(51,2)\nexit(127)\n");
	child_size = 0;
	run_child(beside);
	assert_called("close(61)\nread(60)\nexit(126)\n");
	first_socket = 0;
	run_child(first);
	assert_called("close(61)\nread(0)\nexit(126)\n");
	first_socket = SOCKET;
}

/* ---- In the parent ---- */

#define SIGNALS "mask(0,ours,mask)\naction(17,default,child)\n"

static int spawn(void)
{
	int ret;

	free(the_session.command.name);
	the_session.command = (struct traced_command){
			.status = -1, .watch.fd = -1, .helper = the_session.command.helper};
	the_session.loop.mask_is_ours = false;
	arguments[0] = text_of("command");
	ret = session_spawn(&the_session, arguments, &the_error);
	if (the_session.loop.mask_is_ours)
		assert_string_equal(the_session.command.never_meets, "never");
	return ret;
}

static void test_spawn(void **state)
{
	char *none[] = {NULL}, *empty[] = {text_of(""), NULL};

	(void)state;
	assert_int_equal(session_spawn(&the_session, NULL, &the_error), -EINVAL);
	check_error(ERROR_USAGE, -EINVAL, "missing command to record", "");
	assert_int_equal(session_spawn(&the_session, none, &the_error), -EINVAL);
	check_error(ERROR_USAGE, -EINVAL, "missing command to record", "");
	assert_int_equal(session_spawn(&the_session, empty, &the_error), -EINVAL);
	check_error(ERROR_USAGE, -EINVAL, "missing command to record", "");
	assert_called("");
	/* read() of the other end gets nothing: the command runs. */
	nr_interrupts = 1;
	assert_int_equal(spawn(), 0);
	assert_called(SIGNALS "fork\nclose(51)\nread(50)\nclose(50)\npidfd(4711)\n");
	assert_true(the_session.loop.mask_is_ours && the_session.command.pid == COMMAND &&
			the_session.command.watch.fd == PIDFD &&
			the_session.command.watch.kind == WATCH_COMMAND && !nr_interrupts);
	assert_string_equal(the_session.command.name, "command");
	assert_int_equal(session_spawn(&the_session, arguments, &the_error), -EBUSY);
	check_error(ERROR_USAGE, -EBUSY, "the session has a command already", "");
	/* An incomplete number does not count. */
	the_session.wait_all = true;
	child_code = ENOENT;
	child_size = 3;
	assert_int_equal(spawn(), 0);
	assert_called(SIGNALS "reaper(1)\nfork\nclose(51)\nread(50)\nclose(50)\npidfd(4711)\n");
	the_session.wait_all = false;
	/* Calls that fail. */
	child_size = 0;
	fail_call("pipe", EMFILE);
	assert_int_equal(spawn(), -EMFILE);
	check_error(ERROR_FAILED, -EMFILE, "cannot make a pipe: Too many open files", "");
	assert_called("");
	fail_call("fork", EAGAIN);
	assert_int_equal(spawn(), -EAGAIN);
	check_error(ERROR_FAILED, -EAGAIN,
			"cannot start a process: Resource temporarily unavailable", "");
	assert_called(SIGNALS "fork\nclose(51)\nclose(50)\n");
	fail_call("pidfd", ENOSYS);
	assert_int_equal(spawn(), -ENOSYS);
	check_error(ERROR_FAILED, -ENOSYS, "cannot watch the command: Function not implemented",
			"use Linux 5.3 or later");
	assert_called(SIGNALS
			"fork\nclose(51)\nread(50)\nclose(50)\npidfd(4711)\nkill(4711,9)\nwait(4711,0)\n");
	failing = NULL;
	/* The child could not run the command. */
	child_size = sizeof(child_code);
	child_code = E2BIG;
	assert_int_equal(spawn(), -E2BIG);
	check_error(ERROR_NOT_EXECUTABLE, -E2BIG, "cannot run command: Argument list too long", "");
	assert_called(SIGNALS
			"fork\nclose(51)\nread(50)\nclose(50)\nwait(4711,0)\ncompanion_end\n");
	child_code = EACCES;
	assert_int_equal(spawn(), -EACCES);
	check_error(ERROR_NOT_EXECUTABLE, -EACCES,
			"cannot run command: it is a directory, or you may not execute it (chmod +x)",
			"");
	child_code = ENOENT;
	program_result = -ENOENT;
	program_is_there = false;
	assert_int_equal(spawn(), -ENOENT);
	check_error(ERROR_NOT_FOUND, -ENOENT,
			"cannot run command: there is no such command in PATH", "");
	program_is_there = true;
	assert_int_equal(spawn(), -ENOENT);
	check_error(ERROR_NOT_EXECUTABLE, -ENOENT,
			"cannot run command: the interpreter that it names does not exist", "");
	program_result = 0;
	program_is_there = false;
	assert_int_equal(spawn(), -ENOENT);
	check_error(ERROR_NOT_EXECUTABLE, -ENOENT,
			"cannot run command: the interpreter that it names does not exist", "");
	program_result = -ENOENT;
	free(the_session.command.name);
	the_session.command.name = NULL;
	assert_int_equal(spawn_exec_error(&the_error, "x/y", ENOENT), -ENOENT);
	check_error(ERROR_NOT_FOUND, -ENOENT, "cannot run x/y: there is no such file", "");
	*calls = '\0';
}

static void test_helper_process(void **state)
{
	static const struct session_helper helper;

	(void)state;
	the_session.command.helper = &helper;
	assert_int_equal(spawn(), 0);
	assert_called(SIGNALS
			"fork\nclose(51)\npidfd(4711)\nclose(60)\nhold\nsend(61,+)\nclose(61)\n"
			"read(50)\nclose(50)\n");
	assert_true(the_session.command.watch.fd == PIDFD && the_session.command.pid == COMMAND);
	/* The helper process cannot hold the command. */
	hold_result = -EPERM;
	assert_int_equal(spawn(), -EPERM);
	assert_called(SIGNALS
			"fork\nclose(51)\npidfd(4711)\nclose(60)\nhold\nclose(61)\nwait(4711,0)\n"
			"companion_end\nclose(50)\n");
	hold_result = 0;
	fail_call("pidfd", ENOSYS);
	assert_int_equal(spawn(), -ENOSYS);
	assert_called(SIGNALS
			"fork\nclose(51)\npidfd(4711)\nkill(4711,9)\nwait(4711,0)\nclose(60)\nclose(61)\n"
			"close(50)\n");
	check_error(ERROR_FAILED, -ENOSYS, "cannot watch the command: Function not implemented",
			"use Linux 5.3 or later");
	fail_call("socketpair", ENFILE);
	assert_int_equal(spawn(), -ENFILE);
	check_error(ERROR_FAILED, -ENFILE, "cannot make a socket: Too many open files in system",
			"");
	assert_called("close(50)\nclose(51)\n");
	fail_call("fork", ENOMEM);
	assert_int_equal(spawn(), -ENOMEM);
	check_error(ERROR_FAILED, -ENOMEM, "cannot start a process: Cannot allocate memory", "");
	assert_called(SIGNALS "fork\nclose(51)\nclose(60)\nclose(61)\nclose(50)\n");
	first_socket = 0;
	assert_int_equal(spawn(), -ENOMEM);
	assert_called(SIGNALS "fork\nclose(51)\nclose(0)\nclose(61)\nclose(50)\n");
	failing = NULL;
	assert_int_equal(spawn(), 0);
	assert_called(SIGNALS
			"fork\nclose(51)\npidfd(4711)\nclose(0)\nhold\nsend(61,+)\nclose(61)\n"
			"read(50)\nclose(50)\n");
	first_socket = SOCKET;
	child_code = ENOEXEC;
	child_size = sizeof(child_code);
	assert_int_equal(spawn(), -ENOEXEC);
	check_error(ERROR_NOT_EXECUTABLE, -ENOEXEC, "cannot run command: Exec format error", "");
	assert_called(SIGNALS
			"fork\nclose(51)\npidfd(4711)\nclose(60)\nhold\nsend(61,+)\nclose(61)\n"
			"read(50)\nclose(50)\nwait(4711,0)\ncompanion_end\n");
}

static void test_requests(void **state)
{
	sigset_t set;

	(void)state;
	set = session_signals(&the_session);
	assert_true(bits_of(&set) == OURS);
	spawn_ignore_requests(&the_session);
	assert_called("action(10,ignore,user)\naction(12,none,user2)\n");
	the_session.rotation.chunks = true;
	set = session_signals(&the_session);
	assert_true(bits_of(&set) == (OURS | 1ull << SIGUSR2));
	spawn_ignore_requests(&the_session);
	assert_called("action(10,ignore,user)\naction(12,ignore,user2)\n");
}

/* ---- The loop ---- */

static void come(unsigned int nr, const int *numbers, int code)
{
	memset(infos, 0, sizeof(infos));
	for (unsigned int i = 0; i < nr; i++)
		infos[i] = (struct signalfd_siginfo){
				.ssi_signo = (uint32_t)numbers[i], .ssi_code = code};
	nr_infos = nr;
	the_session.loop.signals.fd = 80;
	handle_signals(&the_session);
	assert_int_equal(nr_infos, 0);
}

static bool stops(void)
{
	return atomic_load(&the_session.drain.stop);
}

static void test_signals(void **state)
{
	static const int children[] = {SIGCHLD, SIGCHLD}, rotate[] = {SIGUSR2},
			 snapshot[] = {SIGUSR1}, interrupts[] = {SIGINT, SIGQUIT},
			 terminate[] = {SIGTERM, SIGHUP};
	static struct channel channels[2];

	(void)state;
	the_session.command.pid = COMMAND;
	come(2, children, 0);
	come(1, rotate, 0);
	assert_true(!the_session.loop.interrupts && !stops());
	assert_called("rotate\n");
	the_session.channels = channels;
	the_session.nr_channels = 2;
	come(1, snapshot, 0);
	assert_called("report(0, cannot make a snapshot: no channel has `--mode overwrite`)\n");
	channels[1].mode = RING_MODE_OVERWRITE;
	come(1, snapshot, 0);
	assert_called("snapshot\n");
	channels[1].mode = RING_MODE_DISCARD;
	channels[0].mode = RING_MODE_OVERWRITE;
	come(1, snapshot, 0);
	assert_called("snapshot\n");
	channels[0].mode = RING_MODE_DISCARD;
	channels[1].mode = RING_MODE_OVERWRITE;
	the_session.nr_channels = 1;
	come(1, snapshot, 0);
	assert_called("report(0, cannot make a snapshot: no channel has `--mode overwrite`)\n");
	the_session.mode = SESSION_LIST;
	come(1, snapshot, 0);
	assert_called("");
	assert_true(!the_session.loop.interrupts && !stops());
	/* One from the terminal reaches the command as well. The second one ends the recording. */
	come(1, interrupts, SI_KERNEL);
	assert_called("");
	assert_true(the_session.loop.interrupts == 1 && !stops() && !the_session.loop.interrupted);
	come(1, interrupts + 1, SI_KERNEL);
	assert_called("");
	assert_true(the_session.loop.interrupts == 2 && stops() && the_session.loop.interrupted);
	/* The command had ended before. */
	the_session.loop.interrupts = 0;
	the_session.command.status = 0;
	come(2, interrupts, SI_KERNEL);
	assert_false(the_session.loop.interrupted);
	assert_called("");
	the_session.loop.interrupts = 0;
	come(1, terminate, 0);
	assert_called("");
	/*
	 * SIGTERM and SIGHUP are passed on. SIGINT is passed on only if a user sent it and
	 * `pass_on` is set.
	 */
	the_session.command.status = -1;
	for (int i = 0; i < 2; i++) {
		the_session.loop.interrupts = 0;
		come(1, terminate + i, SI_KERNEL);
		assert_called(i ? "kill(4711,1)\n" : "kill(4711,15)\n");
	}
	the_session.loop.interrupts = 0;
	come(1, interrupts, SI_USER);
	assert_called("");
	the_session.loop.pass_on = true;
	the_session.loop.interrupts = 0;
	come(1, interrupts, SI_USER);
	assert_called("kill(4711,2)\n");
	the_session.loop.interrupts = 0;
	come(1, interrupts, 1);
	assert_called("");
	atomic_store(&the_session.drain.stop, false);
}

static void test_turn(void **state)
{
	struct connection connection = {.watch = {.kind = WATCH_CONNECTION, .fd = 11},
			.process = {.kind = WATCH_PEER, .fd = 12}};
	struct instance instance = {.watch = {.kind = WATCH_INSTANCE, .fd = 13}};

	(void)state;
	the_session.listener.watch = (struct recorder_watch){.kind = WATCH_LISTENER, .fd = 10};
	the_session.command.watch = (struct recorder_watch){.kind = WATCH_COMMAND, .fd = 14};
	the_session.command.pid = COMMAND;
	the_session.loop.signals = (struct recorder_watch){.kind = WATCH_SIGNALS, .fd = 80};
	nr_events = -EBADF;
	assert_int_equal(run_turn(&the_session, 7), -EBADF);
	assert_called("turn(7)\n");
	/* Exits, in a turn without connections or messages. */
	nr_events = 3;
	nr_turns = 1;
	events_of_test[0] = &connection.process;
	events_of_test[1] = &instance.watch;
	events_of_test[2] = &the_session.command.watch;
	wait_status = 0x300;
	assert_int_equal(run_turn(&the_session, 8), 3);
	assert_called("turn(8)\nexited(12)\ncrash(13)\nend(13)\nwait(4711,0)\nclose(14)\nexpire\nfree\n");
	assert_true(the_session.command.status == 0x300 && the_session.command.watch.fd == -1);
	/*
	 * The command's watch is closed by then. A turn with a connection or a message delays
	 * exits, 63 times.
	 */
	nr_events = 4;
	events_of_test[0] = &the_session.command.watch;
	events_of_test[3] = &the_session.loop.signals;
	for (unsigned int i = 1; i < 64; i++) {
		nr_turns = 1;
		connection.watch.fd = 11;
		events_of_test[2] = i % 2 ? &connection.watch : &the_session.listener.watch;
		assert_int_equal(run_turn(&the_session, 0), 4);
		assert_called(i % 2 ? "turn(0)\nready(11)\nexpire\nfree\n"
				    : "turn(0)\naccept(90)\nexpire\nfree\n");
		assert_int_equal(the_session.loop.message_turns, i);
	}
	nr_turns = 1;
	assert_int_equal(run_turn(&the_session, 0), 4);
	assert_called("turn(0)\nready(11)\ncrash(13)\nend(13)\nexpire\nfree\n");
	assert_int_equal(the_session.loop.message_turns, 0);
	/* A turn without connections or messages resets the count. */
	nr_turns = 1;
	the_session.loop.message_turns = 5;
	nr_events = 2;
	assert_int_equal(run_turn(&the_session, 0), 2);
	assert_called("turn(0)\ncrash(13)\nend(13)\nexpire\nfree\n");
	assert_int_equal(the_session.loop.message_turns, 0);
	/* The command has ended and cannot be waited for. */
	the_session.command.watch.fd = 0;
	fail_call("wait", ECHILD);
	handle_watch(&the_session, &the_session.command.watch);
	assert_true(the_session.command.status == 0 && the_session.command.watch.fd == -1);
	assert_called("wait(4711,0)\nclose(0)\n");
}

static void test_over(void **state)
{
	(void)state;
	assert_false(record_run_has_ended(&the_session));
	the_session.command.status = 0;
	assert_true(record_run_has_ended(&the_session));
	helper_over = false;
	assert_false(record_run_has_ended(&the_session));
	helper_over = true;
	assert_called("");
	the_session.wait_all = true;
	wait_status = 9;
	nr_waits = 0;
	memcpy(wait_results, (const pid_t[]){31, 32, 0}, 3 * sizeof(pid_t));
	assert_false(record_run_has_ended(&the_session));
	assert_called("wait(-1,1)\nnote(31,9)\nwait(-1,1)\nnote(32,9)\nwait(-1,1)\n");
	nr_waits = 0;
	wait_results[0] = -EINTR;
	assert_false(record_run_has_ended(&the_session));
	nr_waits = 0;
	wait_results[0] = -ECHILD;
	assert_true(record_run_has_ended(&the_session));
	*calls = '\0';
	the_session.command.status = -1;
	atomic_store(&the_session.drain.stop, true);
	assert_true(record_run_has_ended(&the_session));
	assert_called("");
	atomic_store(&the_session.drain.stop, false);
}

static void test_begin(void **state)
{
	(void)state;
	the_session.command.watch.fd = PIDFD;
	assert_int_equal(run_begin(&the_session), 0);
	assert_called("add(80,1)\nadd(70,2)\ndrain_start\n");
	assert_true(the_session.loop.begun && the_session.loop.signals.fd == 80 &&
			the_session.loop.signals.kind == WATCH_SIGNALS);
	assert_int_equal(run_begin(&the_session), 0);
	assert_called("");
	the_session.loop.begun = false;
	begin_result = -EAGAIN;
	assert_int_equal(run_begin(&the_session), -EAGAIN);
	the_session.loop.begun = false;
	the_session.mode = SESSION_LIST;
	assert_int_equal(run_begin(&the_session), 0);
	assert_called("add(80,1)\nadd(70,2)\ndrain_start\nadd(80,1)\nadd(70,2)\n");
	the_session.mode = SESSION_RECORD;
	the_session.loop.begun = false;
	fail_call("add", ENOSPC);
	assert_int_equal(run_begin(&the_session), -ENOSPC);
	assert_called("add(80,1)\n");
	the_session.loop.begun = false;
	fail_call("add command", ENOMEM);
	assert_int_equal(run_begin(&the_session), -ENOMEM);
	assert_called("add(80,1)\nadd(70,2)\n");
	the_session.loop.begun = false;
	fail_call("signalfd", EMFILE);
	assert_int_equal(run_begin(&the_session), -EMFILE);
	assert_called("");
	the_session.loop.begun = false;
	begin_result = 0;
	fail_call("signalfd 0", 0);
	assert_int_equal(run_begin(&the_session), 0);
	assert_called("add(0,1)\nadd(70,2)\ndrain_start\n");
}

#define LAST "channels\nlistener_close\nconnections_close\ndrain_stop\nbuffers_close\n"
#define TURN "expire\nfree\n"
#define SETTLE "companion_end\nturn(0)\n" TURN
#define NOTHING \
	"report(1, recorded nothing: no process of command has loaded the agent (SIDE_DEBUG=1 in the environment prints the reason))\n"

static void test_run(void **state)
{
	(void)state;
	assert_int_equal(session_run(&the_session, &the_error), -EINVAL);
	check_error(ERROR_USAGE, -EINVAL, "missing command to record", "");
	assert_called("");
	the_session.command.name = strdup("command");
	the_session.command.pid = COMMAND;
	the_session.command.watch = (struct recorder_watch){.kind = WATCH_COMMAND, .fd = PIDFD};
	the_session.loop.progress = played_progress;
	the_session.loop.progress_user = &the_error;
	atomic_store(&the_session.drain.written, 7);
	atomic_store(&the_session.drain.lost, 9);
	the_session.instances.nr = 8;
	nr_events = 1;
	nr_turns = 1;
	events_of_test[0] = &the_session.command.watch;
	assert_int_equal(session_run(&the_session, &the_error), 0);
	assert_called("add(80,1)\nadd(70,2)\ndrain_start\nturn(250)\nwait(4711,0)\nclose(70)\n" TURN
		      "progress(7,8,9)\n" SETTLE NOTHING LAST);
	/* If the loop fails, everything is closed as well. */
	the_session.command.status = -1;
	nr_events = -EBADF;
	nr_survivors = 1;
	the_session.instances.list = (struct instance *)(void *)&the_session;
	assert_int_equal(session_run(&the_session, &the_error), -EBADF);
	check_error(ERROR_FAILED, -EBADF, "cannot continue the recording: Bad file descriptor", "");
	assert_called("turn(250)\nprogress(7,8,9)\ncompanion_end\nturn(0)\n"
		      "report(0, 1 process of the command still runs; what it does from now on is not recorded\n`--wait` waits for all)\n" LAST);
	the_session.instances.list = NULL;
	the_session.loop.begun = false;
	nr_events = nr_survivors = 0;
	begin_result = -EPERM;
	assert_int_equal(session_run(&the_session, &the_error), -EPERM);
	check_error(ERROR_PERMISSION, -EPERM,
			"cannot continue the recording: Operation not permitted", "");
	assert_called("add(80,1)\nadd(-1,2)\ndrain_start\n" SETTLE NOTHING LAST);
}

/* At the end, events that keep coming are handled for 64 turns. */
static void test_settle(void **state)
{
	unsigned int turns = 0;

	(void)state;
	nr_events = 1;
	nr_turns = 1000;
	events_of_test[0] = &the_session.loop.signals;
	the_session.loop.signals = (struct recorder_watch){.kind = WATCH_SIGNALS, .fd = -1};
	record_run_drain_pending(&the_session);
	for (const char *at = calls; (at = strstr(at, "turn(0)")) != NULL; at++)
		turns++;
	assert_int_equal(turns, 64);
	assert_int_equal(nr_turns, 1000 - 64);
	*calls = '\0';
}

static void test_progress(void **state)
{
	uint64_t next = 0;

	(void)state;
	record_run_show_progress(&the_session, &next);
	assert_int_equal(next, 0);
	the_session.loop.progress = played_progress;
	the_session.loop.progress_user = &the_error;
	record_run_show_progress(&the_session, &next);
	assert_int_equal(next, 1250);
	assert_called("progress(0,0,0)\n");
	now_ms = 1249;
	record_run_show_progress(&the_session, &next);
	assert_called("");
	now_ms = 1250;
	record_run_show_progress(&the_session, &next);
	assert_called("progress(0,0,0)\n");
	assert_int_equal(next, 1500);
}

static void test_reports(void **state)
{
	struct instance instance = {.listed = false};

	(void)state;
	the_session.command.name = strdup("command");
	report_survivors(&the_session);
	assert_called("");
	nr_survivors = 2;
	report_survivors(&the_session);
	assert_called("report(0, 2 processes of the command still run; what they do from now on is not recorded\n`--wait` waits for all)\n");
	the_session.loop.interrupted = true;
	report_survivors(&the_session);
	report_silence(&the_session);
	assert_called("");
	the_session.command.never_meets = text_of("it is static");
	report_silence(&the_session);
	assert_called("report(1, recorded nothing: it is static)\n");
	the_session.loop.interrupted = false;
	the_session.refusals.nr_processes = 1;
	report_silence(&the_session);
	assert_called("");
	the_session.refusals.nr_processes = 0;
	the_session.instances.list = &instance;
	report_silence(&the_session);
	assert_called("");
	the_session.mode = SESSION_LIST;
	report_silence(&the_session);
	assert_called("report(1, the list may be incomplete: command ended before its main() was reached)\n");
	instance.listed = true;
	report_silence(&the_session);
	assert_called("");
	the_session.instances.list = NULL;
	report_silence(&the_session);
	assert_called("report(1, listed nothing: it is static)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup(test_sockets, begin),
			cmocka_unit_test_setup(test_child, begin),
			cmocka_unit_test_setup(test_spawn, begin),
			cmocka_unit_test_setup(test_helper_process, begin),
			cmocka_unit_test_setup(test_requests, begin),
			cmocka_unit_test_setup(test_signals, begin),
			cmocka_unit_test_setup(test_turn, begin),
			cmocka_unit_test_setup(test_over, begin),
			cmocka_unit_test_setup(test_begin, begin),
			cmocka_unit_test_setup(test_run, begin),
			cmocka_unit_test_setup(test_settle, begin),
			cmocka_unit_test_setup(test_progress, begin),
			cmocka_unit_test_setup(test_reports, begin),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	free(the_session.command.name);
	return ret;
}
