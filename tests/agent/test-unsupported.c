/* SPDX-License-Identifier: MIT */
/*
 * Reports to recorders that a program is not recorded, and control by a signal. The test includes
 * both files and replaces the connections, the limits of the process and the exchange with the
 * daemon.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include <side/builder.h>
#include <side/context.h>
#include <side/tracer-extensions.h>

#include "../called.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/control-daemon.h"
#include "tracers/agent/core/control-signal.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/control.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/unsupported.h"
#include "tracers/agent/core/libside.h"
#include "base/environment/environment.h"
#include "base/inside/raw.h"
#include "protocol/protocol.h"

static struct agent_session sessions[3];
static unsigned int nr_sessions;

static struct {
	int socket, sent, limit_error;
	long pid;
	rlim_t files;
	const char *paths;
	bool is_sandboxed, is_long;
} played;

static uint64_t play_deadline(unsigned int ms)
{
	assert_int_equal(ms, 100);
	return 4711;
}

static int play_connect(const char *path, uint64_t deadline)
{
	assert_int_equal(deadline, 4711);
	called("connect %s\n", strlen(path) < 100 ? path : "long");
	return played.socket;
}

static int play_session_connect(const struct agent_session *session, uint64_t deadline)
{
	assert_int_equal(deadline, 4711);
	called("session %td\n", session - sessions);
	return played.socket;
}

static int play_send(int socket, const void *message, size_t size, const int *fds, size_t nr_fds,
		uint64_t deadline)
{
	struct wire_unrecorded unrecorded;

	assert_true(!fds && !nr_fds && deadline == 4711);
	assert_int_equal(wire_decode_unrecorded(message, size, &unrecorded), 0);
	called("send %d: reason %u after %u of %s\n", socket, unrecorded.reason,
			unrecorded.elapsed_ms,
			strlen(unrecorded.name) < 100 ? unrecorded.name : "long");
	return played.sent;
}

static ssize_t play_receive(int socket, void *message, size_t capacity, int *fds, size_t *nr_fds,
		uint64_t deadline)
{
	assert_true(message && capacity == 1 && !fds && !nr_fds && deadline == 4711);
	called("receive %d\n", socket);
	return 0;
}

static void play_close(int fd)
{
	called("close %d\n", fd);
	errno = EIO;
}

static void play_names(char *procname, char *exe)
{
	strcpy(procname, "name");
	strcpy(exe, "/path/of/exe");
	if (!played.is_long)
		return;
	memset(exe, 'l', AGENT_NAME_SIZE - 1);
	exe[AGENT_NAME_SIZE - 1] = '\0';
}

static int play_getrlimit(unsigned int resource, struct rlimit *limit)
{
	assert_int_equal(resource, RLIMIT_NOFILE);
	limit->rlim_cur = played.files;
	return played.limit_error;
}

static long play_call(long number)
{
	assert_int_equal(number, SYS_getpid);
	return played.pid;
}

static const char *play_environment(const char *name)
{
	assert_string_equal(name, "SIDE_AGENT_SOCKET");
	return played.paths;
}

static bool play_sandboxed(void)
{
	return played.is_sandboxed;
}

static struct agent_session *play_after(const struct agent_session *session)
{
	ptrdiff_t next = session ? session - sessions + 1 : 0;

	return next < (ptrdiff_t)nr_sessions ? &sessions[next] : NULL;
}

#define wire_deadline play_deadline
#define wire_connect play_connect
#define wire_send play_send
#define wire_receive play_receive
#define wire_close play_close
#define agent_session_connect play_session_connect
#define agent_process_names play_names
#define getrlimit play_getrlimit
#undef raw_call
#define raw_call play_call
#define environment_get play_environment
#define agent_is_sandboxed play_sandboxed
#define agent_session_after play_after
#define side_tracer_lock() called("lock\n")
#define side_tracer_unlock() called("unlock\n")
#include "tracers/agent/core/unsupported.c"

static void reset(void)
{
	memset(&played, 0, sizeof(played));
	memset(sessions, 0, sizeof(sessions));
	for (int i = 0; i < 3; i++)
		(void)snprintf(sessions[i].path, sizeof(sessions[i].path), "/s%d", i);
	nr_sessions = 3;
	played.pid = 100;
	played.socket = 7;
	*calls = '\0';
}

#define SENT(reason) "send 7: reason " reason " after 0 of /path/of/exe\nreceive 7\nclose 7\n"

/* ---- reports ---- */

static void test_paths(void **unused)
{
	char path[WIRE_SESSION_PATH_MAX + 2];

	(void)unused;
	reset();
	assert_true(agent_libside_is_whole());
	agent_report_unrecorded(":/a:::b", 7);
	assert_called("connect /a\n" SENT("7") "connect b\n" SENT("7"));
	agent_report_unrecorded("", 7);
	agent_report_unrecorded(":", 7);
	assert_called("");
	/* The longest path, and one more byte. */
	memset(path, 'p', sizeof(path));
	path[WIRE_SESSION_PATH_MAX] = '\0';
	agent_report_unrecorded(path, 7);
	assert_called("connect long\n" SENT("7"));
	path[WIRE_SESSION_PATH_MAX] = 'p';
	path[WIRE_SESSION_PATH_MAX + 1] = '\0';
	agent_report_unrecorded(path, 7);
	assert_called("");
	/* The longest name fits. */
	played.is_long = true;
	agent_report_unrecorded("/a", 4);
	assert_called("connect /a\nsend 7: reason 4 after 0 of long\nreceive 7\nclose 7\n");
}

static void test_failing(void **unused)
{
	(void)unused;
	reset();
	/* 0 is a descriptor. */
	played.socket = 0;
	agent_report_unrecorded("/a", 7);
	assert_called("connect /a\nsend 0: reason 7 after 0 of /path/of/exe\nreceive 0\nclose 0\n");
	played.socket = -ENOENT;
	agent_report_unrecorded("/a:/b", 7);
	assert_called("connect /a\nconnect /b\n");
	played.socket = 7;
	played.sent = -EPIPE;
	agent_report_unrecorded("/a", 7);
	assert_called("connect /a\nsend 7: reason 7 after 0 of /path/of/exe\nclose 7\n");
}

static void limit(int error, const char *wanted)
{
	/* Another process: it has reported nothing yet. */
	played.pid++;
	agent_report_limit(&sessions[1], error);
	assert_called(wanted);
}

static void test_limits(void **unused)
{
	(void)unused;
	reset();
	limit(-ENOMEM, "connect /s1\n" SENT("4"));
	limit(-EMFILE, "connect /s1\n" SENT("5"));
	limit(-EIO, "connect /s1\n" SENT("12"));
	limit(-EPERM, "connect /s1\n" SENT("12"));
	limit(-ENOSYS, "connect /s1\n" SENT("12"));
	limit(-ENOENT, "");
	/* A message without its descriptors, in a process that may have 63 files, or 64. */
	played.files = 63;
	limit(-EPROTO, "connect /s1\n" SENT("5"));
	played.files = 64;
	limit(-EPROTO, "");
	played.files = 10;
	played.limit_error = -1;
	limit(-EPROTO, "");
	sessions[1].list_only = true;
	limit(-ENOMEM, "");
	sessions[1].list_only = false;
	sessions[1].boot = (const struct boot_session *)(const void *)sessions;
	limit(-ENOMEM, "");
	sessions[1].boot = NULL;
	/* One report of a process to each session. */
	limit(-ENOMEM, "connect /s1\n" SENT("4"));
	played.pid--;
	limit(-ENOMEM, "");
	agent_report_limit(&sessions[2], -ENOMEM);
	assert_called("connect /s2\n" SENT("4"));
	agent_report_limit(&sessions[2], -EMFILE);
	assert_called("");
	/* The longest path is compared completely. */
	memset(sessions[2].path, 'p', WIRE_SESSION_PATH_MAX);
	agent_report_limit(&sessions[2], -ENOMEM);
	agent_report_limit(&sessions[2], -ENOMEM);
	assert_called("connect long\n" SENT("4"));
	sessions[2].path[WIRE_SESSION_PATH_MAX - 1] = 'q';
	agent_report_limit(&sessions[2], -ENOMEM);
	assert_called("connect long\n" SENT("4"));
	limit(-ENOMEM, "connect /s1\n" SENT("4"));
}

static void test_first(void **unused)
{
	(void)unused;
	reset();
	agent_report_late_start(&sessions[2], 10, 345);
	assert_called("session 2\nsend 7: reason 10 after 345 of name\nreceive 7\nclose 7\n");
	played.socket = -ENOENT;
	agent_report_late_start(&sessions[0], 10, 345);
	assert_called("session 0\n");
}

static void test_notes(void **unused)
{
	static char library[AGENT_NAME_SIZE + 1];

	(void)unused;
	reset();
	errno = E2BIG;
	side_agent_note_allocator();
	assert_called("");
	played.paths = "/a";
	side_agent_note_allocator();
	assert_called("lock\nconnect /a\n" SENT("6") "unlock\n");
	assert_int_equal(errno, E2BIG);
	played.is_sandboxed = true;
	side_agent_note_allocator();
	assert_called("");
	played.is_sandboxed = false;
	sessions[0].list_only = true;
	sessions[2].boot = (const struct boot_session *)(const void *)sessions;
	agent_report_copy("libcopy.so");
	assert_called("lock\nconnect /s1\nsend 7: reason 9 after 0 of libcopy.so\nreceive 7\nclose 7\nunlock\n");
	/* The longest name, and one more byte. */
	memset(library, 'l', AGENT_NAME_SIZE - 1);
	agent_report_copy(library);
	assert_called("lock\nconnect /s1\nsend 7: reason 9 after 0 of long\nreceive 7\nclose 7\nunlock\n");
	library[AGENT_NAME_SIZE - 1] = 'l';
	agent_report_copy(library);
	assert_called("");
}

/* ---- control by a signal ---- */

static struct {
	unsigned int nr_turns; /* how often the turn is free */
	bool notes, loses, has_lock, is_due, turns_off;
	int result;
	void (*hook)(void);
} side;

static bool play_turn(unsigned int ms)
{
	assert_int_equal(ms, 0);
	called("turn\n");
	errno = EIO;
	if (!side.nr_turns)
		return false;
	side.nr_turns--;
	return true;
}

static bool play_note(void)
{
	called("note\n");
	side.nr_turns += !side.notes && !side.loses;
	return side.notes;
}

static int play_refresh(enum wire_control mode, bool may_wait, unsigned int ms)
{
	assert_true(mode == WIRE_CONTROL_SIGNAL && !may_wait && ms == AGENT_CONNECT_TIMEOUT_MS);
	called("refresh\n");
	if (side.turns_off)
		control.mode = WIRE_CONTROL_OFF;
	return side.result;
}

static bool play_trylock(void)
{
	called("trylock\n");
	return side.has_lock;
}

static void play_hook(void (*hook)(void))
{
	side.hook = hook;
}

/* If it fails, the returned action is that of an unused signal. */
static int play_sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
	if (before)
		*before = (struct sigaction){.sa_handler = SIG_DFL};
	return sigaction(signal, action, before);
}

#define sigaction(signal, action, before) play_sigaction(signal, action, before)
#define control_take_turn play_turn
#define control_note play_note
#define control_refresh play_refresh
#define control_arm_once() called("arm\n")
#define control_give_turn() called("give\n")
#define agent_probes_due() (side.is_due)
#define side_tracer_trylock play_trylock
#define side_tracer_unlock_hook play_hook
#include "tracers/agent/core/control-signal.c"

#undef sigaction

static void reset_control(void)
{
	reset();
	memset(&side, 0, sizeof(side));
	side.nr_turns = 1;
	side.has_lock = true;
	control.mode = WIRE_CONTROL_SIGNAL;
	control.pid = 100;
}

static void again(const char *wanted)
{
	errno = E2BIG;
	control_signal_again();
	assert_int_equal(errno, E2BIG);
	assert_called(wanted);
}

static void test_refresh(void **unused)
{
	(void)unused;
	reset_control();
	again("turn\nrefresh\ntrylock\nunlock\ngive\n");
	/*
	 * No thread has the turn: the owner finds the note, or the handler takes the turn at the
	 * second attempt.
	 */
	side.notes = true;
	again("turn\nnote\n");
	side.notes = false;
	again("turn\nnote\nturn\nrefresh\ntrylock\nunlock\ngive\n");
	side.nr_turns = 1;
	side.result = -EBUSY;
	side.is_due = true;
	again("turn\nrefresh\ntrylock\narm\nunlock\ngive\n");
	side.nr_turns = 1;
	side.has_lock = false;
	again("turn\nrefresh\ntrylock\ngive\n");
	side.nr_turns = 1;
	side.turns_off = true;
	again("turn\nrefresh\ngive\n");
	/* It is off, belongs to another process, or is at its end. */
	side.nr_turns = 1;
	again("");
	control.mode = WIRE_CONTROL_SIGNAL;
	played.pid = 101;
	again("");
	played.pid = 100;
	atomic_store(&agent.process.is_exiting, true);
	again("");
	atomic_store(&agent.process.is_exiting, false);
	played.is_sandboxed = true;
	again("turn\ngive\n");
	assert_int_equal(control.mode, WIRE_CONTROL_OFF);
	/* The note was returned, and another thread was faster. */
	reset_control();
	side.nr_turns = 0;
	side.loses = true;
	again("turn\nnote\nturn\n");
}

static void test_install(void **unused)
{
	struct sigaction action, with_timestamp = {.sa_flags = SA_SIGINFO};

	(void)unused;
	reset_control();
	assert_true(control_signal_install(SIGUSR1));
	assert_true(side.hook == control_signal_again && control.noted == control_signal_again);
	assert_int_equal(sigaction(SIGUSR1, NULL, &action), 0);
	assert_true(action.sa_handler == handle_signal && (action.sa_flags & SA_RESTART));
	assert_true(sigismember(&action.sa_mask, SIGUSR2) &&
			!sigismember(&action.sa_mask, SIGTRAP) &&
			!sigismember(&action.sa_mask, SIGILL));
	errno = E2BIG;
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(errno, E2BIG);
	assert_called("turn\nrefresh\ntrylock\nunlock\ngive\n");
	/* Signals of the program, with either kind of handler. */
	side.hook = NULL;
	assert_false(control_signal_install(SIGUSR1));
	assert_int_equal(sigaction(SIGUSR2, &with_timestamp, NULL), 0);
	assert_false(control_signal_install(SIGUSR2));
	assert_false(control_signal_install(1000));
	assert_null(side.hook);
	assert_false(control_signal_install(SIGKILL));
	assert_true(signal(SIGUSR1, SIG_DFL) == handle_signal);
	assert_true(signal(SIGUSR2, SIG_DFL) == SIG_DFL);
}

static void test_numbers(void **unused)
{
	(void)unused;
	assert_int_equal(control_signal_number("1"), 1);
	assert_int_equal(control_signal_number("HUP"), 1);
	assert_int_equal(control_signal_number("SIGSYS"), 31);
	assert_int_equal(control_signal_number("9"), 0);
	assert_int_equal(control_signal_number("19"), 0);
	assert_int_equal(control_signal_number("RTMIN+1"), SIGRTMIN + 1);
	assert_int_equal(control_signal_number("RTMIN+0"), SIGRTMIN);
	assert_int_equal(control_signal_number("RTMIN+x"), 0);
	assert_int_equal(control_signal_number("RTMIN+1x"), 0);
	assert_int_equal(control_signal_number("RTMIN+"), 0);
	assert_int_equal(control_signal_number("/"), 0);
	assert_int_equal(control_signal_number(":"), 0);
	assert_int_equal(control_signal_number("1/"), 0);
	assert_int_equal(control_signal_number("1:"), 0);
	assert_int_equal(control_signal_number("012"), 12);
	assert_int_equal(control_signal_get_number("999"), 999);
	assert_int_equal(control_signal_get_number("1000"), 1000);
	assert_int_equal(control_signal_get_number("10000"), NSIG);
	assert_int_equal(control_signal_get_number(""), NSIG);
	assert_true(may_be(31) && !may_be(32) && may_be(SIGRTMIN) && !may_be(SIGRTMIN - 1));
	assert_true(may_be(NSIG - 1) && !may_be(NSIG) && !may_be(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_paths),
			cmocka_unit_test(test_failing),
			cmocka_unit_test(test_limits),
			cmocka_unit_test(test_first),
			cmocka_unit_test(test_notes),
			cmocka_unit_test(test_refresh),
			cmocka_unit_test(test_install),
			cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
