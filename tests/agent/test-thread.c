/* SPDX-License-Identifier: MIT */
/*
 * The control thread: how it reads /proc, its descriptors, how it talks and waits, how an event
 * starts it, and the task that creates it. The test includes the files, decides what each system
 * call returns, and notes each call in order.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/futex.h>

#include <cmocka.h>

#include <side/tracer-extensions.h>

#include "noted.h"

#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/control-changes.h"
#include "tracers/agent/core/control-daemon.h"
#include "tracers/agent/core/control-starter.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/control.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/late.h"
#include "tracers/agent/core/leases.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/update.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"
#include "protocol/protocol.h"

#define MS UINT64_C(1000000)

/* ---- what is called, in order ---- */

/* ---- system calls ---- */

static struct {
	const char *text[4]; /* of files, in the order in which they are read */
	unsigned int nr_texts, at_text;
	bool no_file, no_second_file;
	struct dirent64 entries[2][8];
	long entries_size[2];
	unsigned int nr_entries;
	int close_range, unshare, limit, capget[2], caps[2];
	unsigned int nr_capgets, nr_closed;
	int closed[256];
	long read_result, fcntl, ppoll[4], stat_result;
	unsigned int nr_polls, nr_sleeps, nr_wakes, nr_exits, nr_watches, watch_fails;
	long slept_ms;
	uint64_t blocked, task_ns;
	int inotify, pidfd, getfd;
	char path[64];
	ino_t inode;
} kernel;

static jmp_buf ended;
static unsigned int maker_seen = 77;
static uint64_t time_now;
static void (*while_sleeping)(void);

static uint64_t fake_time(unsigned int timeout_ms)
{
	return time_now + timeout_ms * MS;
}

static long fake_close(int fd)
{
	assert_true(kernel.nr_closed < 256);
	kernel.closed[kernel.nr_closed++] = fd;
	return 0;
}

static void fake_wire_close(int fd)
{
	if (fd >= 0)
		(void)fake_close(fd);
}

static long fake_read(const long *names)
{
	const char *text;
	size_t size;

	if (names[0] == 60)
		return kernel.read_result;
	text = kernel.at_text < kernel.nr_texts ? kernel.text[kernel.at_text++] : NULL;
	if (!text)
		return -EIO;
	size = strlen(text) < (size_t)names[2] ? strlen(text) : (size_t)names[2];
	memcpy((void *)names[1], text, size);
	return (long)size;
}

static long fake_open(const char *path)
{
	snprintf(kernel.path, sizeof(kernel.path), "%s", path);
	if (kernel.no_file || (kernel.no_second_file && kernel.at_text))
		return -ENOENT;
	return 30;
}

static long fake_call(long number, const long *names)
{
	switch (number) {
	case SYS_nanosleep:
		kernel.nr_sleeps++;
		kernel.slept_ms = ((const struct timespec *)names[0])->tv_sec * 1000 +
				((const struct timespec *)names[0])->tv_nsec / 1000000;
		time_now += (uint64_t)kernel.slept_ms * MS;
		if (while_sleeping)
			while_sleeping();
		return 0;
	case SYS_openat: return fake_open((const char *)names[1]);
	case SYS_read: return fake_read(names);
	case SYS_lseek: note_number("seek", names[0]); return 0;
	case SYS_exit: kernel.nr_exits++; longjmp(ended, 1);
	case SYS_capget:
		((struct __user_cap_data_struct *)names[1])[0].effective =
				(uint32_t)kernel.caps[kernel.nr_capgets];
		((struct __user_cap_data_struct *)names[1])[1].effective = 0;
		assert_int_equal(((const struct __user_cap_header_struct *)names[0])->pid,
				kernel.nr_capgets ? 77 : 0);
		return kernel.capget[kernel.nr_capgets++];
	case SYS_getdents64: {
		unsigned int i = kernel.nr_entries++;

		if (i >= 2 || !kernel.entries_size[i])
			return 0;
		memcpy((void *)names[1], kernel.entries[i], (size_t)kernel.entries_size[i]);
		return kernel.entries_size[i];
	}
	case SYS_prlimit64:
		((struct rlimit *)names[3])->rlim_cur = (rlim_t)kernel.limit;
		return kernel.limit < 0 ? -EPERM : 0;
	case SYS_close_range:
		assert_true(names[1] == (long)~0u && names[2] == CLOSE_RANGE_UNSHARE);
		note_number("range", names[0]);
		return kernel.close_range;
	case SYS_unshare: note("unshare"); return kernel.unshare;
	case SYS_fcntl:
		if (names[1] == F_SETFL)
			note_number("flags", names[2]);
		return kernel.fcntl;
	case SYS_setsockopt:
		assert_true(names[1] == SOL_SOCKET && names[2] == SO_RCVTIMEO &&
				((const struct timeval *)names[3])->tv_sec == 5);
		note("timeout");
		return 0;
	case SYS_futex:
		kernel.nr_wakes++;
		assert_true(names[1] == FUTEX_WAKE_PRIVATE && names[2] == INT32_MAX);
		return 0;
	case SYS_inotify_init1: return kernel.inotify;
	case SYS_inotify_add_watch:
		note((const char *)names[1]);
		assert_int_equal(names[2], IN_CREATE | IN_MOVED_TO | IN_ATTRIB);
		return kernel.nr_watches++ < kernel.watch_fails ? -ENOENT : 1;
	case SYS_ppoll:
		assert_true(((const struct timespec *)names[2])->tv_sec == 5 &&
				((const struct pollfd *)names[0])->fd == 60 && names[1] == 1);
		return kernel.ppoll[kernel.nr_polls++ & 3];
	case SYS_rt_sigprocmask: *(uint64_t *)names[2] = kernel.blocked; return 0;
	case SYS_clock_gettime:
		/* Without a task: the clock of number 0. */
		assert_true((int)names[0] == (int)(~maker_seen << 3 | 6) || names[0] == -2);
		*(struct timespec *)names[1] =
				(struct timespec){(time_t)(kernel.task_ns / 1000000000),
						(long)(kernel.task_ns % 1000000000)};
		return kernel.task_ns ? 0 : -EINVAL;
	case SYS_gettid: return 77;
	case SYS_getpid: return 4000;
	case SYS_prctl: return 0;
	case SYS_pidfd_open: assert_int_equal(names[0], 78); return kernel.pidfd;
	case SYS_pidfd_getfd: return kernel.getfd;
	case SYS_shutdown: note_number("shutdown", names[0]); return 0;
	default: abort();
	}
}

static int fake_fstat(int fd, struct stat *status)
{
	assert_int_equal(fd, 60);
	memset(status, 0, sizeof(*status));
	status->st_dev = 5;
	status->st_ino = kernel.inode;
	return (int)kernel.stat_result;
}

/* ---- the agent ---- */

static bool has_turn = true, is_sandboxed, hopeless, has_lock = true, is_stalled, declined,
	    has_memory = true;
static int connect_result = 60, arrive_result, welcomed_result, complete_result, run_result = 1,
	   create_result;
static ssize_t receive_result;
static struct control_memory common_memory;
static enum control_changes changes_now;
static uint32_t task_runs;
static void (*work_seen)(void);

static bool fake_take(unsigned int timeout_ms)
{
	note_number("take", (long)timeout_ms);
	return has_turn;
}

static int fake_welcomed(int socket, struct control_memory *of, size_t size, bool may_wait,
		uint64_t deadline)
{
	assert_true(socket == 60 && of == &common_memory && may_wait);
	assert_int_equal(deadline, time_now + 5000 * MS);
	note_number("welcomed", (long)size);
	return welcomed_result;
}

static ssize_t fake_receive(
		int socket, void *message, size_t size, int *fds, size_t *nr_fds, uint64_t deadline)
{
	assert_true(socket == 60 && message == common_memory.message && size == WIRE_MESSAGE_MAX &&
			!fds && !nr_fds);
	note_number("receive", (long)((deadline - time_now) / MS));
	return receive_result;
}

static int fake_arrive(
		int socket, struct control_memory *of, enum wire_control mode, uint64_t deadline)
{
	(void)deadline;
	assert_true(socket == 60 && of == &common_memory && mode == WIRE_CONTROL_THREAD);
	note("arrive");
	return arrive_result;
}

static int fake_connect(uint64_t deadline)
{
	note_number("connect", (long)((deadline - time_now) / MS));
	return connect_result;
}

static int fake_refresh(enum wire_control mode, bool may_wait, unsigned int timeout_ms)
{
	char line[64];

	snprintf(line, sizeof(line), "refresh(%d,%d,%u)", (int)mode, may_wait, timeout_ms);
	note(line);
	return 0;
}

static int fake_run(void (*work)(void))
{
	work_seen = work;
	note("run");
	return run_result;
}

static bool fake_complete(void (*work)(void), uint64_t until)
{
	(void)until;
	note("complete");
	if (complete_result)
		work();
	return complete_result;
}

static unsigned int nr_waits, waits_end_after;
static void (*while_waiting)(void);

static bool fake_wait(const uint32_t *word, uint32_t value, int operation, uint64_t until)
{
	(void)word;
	(void)value;
	(void)operation;
	assert_true(until >= time_now);
	nr_waits++;
	time_now += MS;
	if (while_waiting)
		while_waiting();
	return nr_waits < waits_end_after;
}

static unsigned long thread_handle;

#undef raw_call
#define raw_call(...) CALL_OF_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_OF_SIX(number, a, b, c, d, e, f, ...)                                            \
	fake_call(number,                                                                     \
			(const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
					(long)(f)})
#define raw_close (void)fake_close
#define wire_close fake_wire_close
#define fstat fake_fstat
#define wire_deadline fake_time
#define wire_receive fake_receive
#define agent_scale_timeout(ms) (ms)
#define agent_is_sandboxed() (is_sandboxed)
#include "tracers/agent/core/control-state.c"
#define control_take_turn fake_take
#define control_give_turn() note("give")
#define control_connect fake_connect
#define control_send_arrival fake_arrive
#define control_welcomed fake_welcomed
#define control_try(of, size) note_number("try", (long)(size))
#define control_refresh fake_refresh
#define control_count_failure(error) note_number("failure", error)
#define control_is_hopeless() (hopeless)
#define control_memory_map() (has_memory ? &common_memory : NULL)
#define control_memory_unmap(of) ((void)(of), note("unmap"))
#define control_memory_trim(of) ((void)(of), note("rest"))
#define control_changes() (changes_now)
#define control_wait fake_wait
#define control_starter_prepare(data) ((void)(data), note("prepare"))
#define control_starter_forked() note("forked")
#define control_starter_run fake_run
#define control_starter_complete fake_complete
#define control_starter_running() (&task_runs)
#define control_starter_call(function) (note("call"), (function)())
#define agent_exchanges_trim() note("exchanges")
#define agent_batches_trim() note("batches")
#define agent_memory_trim() note("memory")
#define agent_probes_check() note("probes")
#define agent_probes_count_libside() note("count")
#define agent_leases_check() note("leases")
#define agent_stalled_check() (is_stalled)
#define agent_declined_due() (declined)
#define agent_late_pass(begun, certain) ((void)(begun), note_number("pass", certain))
#define agent_own_begin(own) ((void)(own), note("own"))
#define agent_own_end(own) ((void)(own), note("end"))
#define agent_own_control() (&thread_handle)
#define agent_own_control_begins() note("begins")
#define side_tracer_trylock() (has_lock)
#define side_tracer_unlock() note("unlock")
#define side_tracer_disarm() note("disarm")
#define side_tracer_arm(hook) ((void)(hook), note("arm"))
#define pthread_create(number, attributes, function, data)                                   \
	((void)(number), (void)(attributes), (void)(function), (void)(data), note("create"), \
			create_result)
#include "tracers/agent/core/control-thread.c"

static void begin(void)
{
	memset(&kernel, 0, sizeof(kernel));
	memset(&thread, 0, sizeof(thread));
	memset(&control, 0, sizeof(control));
	thread.socket = thread.status = -1;
	thread.starter = 77;
	kernel.limit = -1;
	*calls = '\0';
	time_now = 1000 * MS;
	while_sleeping = while_waiting = NULL;
	has_turn = has_lock = has_memory = true;
	is_sandboxed = hopeless = is_stalled = declined = false;
	connect_result = 60;
	arrive_result = welcomed_result = complete_result = create_result = 0;
	run_result = 1;
	receive_result = 0;
	changes_now = CONTROL_CHANGES_UNKNOWN;
	control.mode = WIRE_CONTROL_THREAD;
	control.pid = 4000;
	nr_waits = 0;
	waits_end_after = UINT32_MAX;
	task_runs = 0;
	work_seen = NULL;
}

static void set_text(unsigned int i, const char *text)
{
	kernel.text[i] = text;
	kernel.nr_texts = i + 1;
}

/* Whether the function ends the thread. */
#define ENDS(call) (setjmp(ended) ? true : ((call), false))

/* ---- sandboxes ---- */

#define STATUS(seccomp) "Name:\tx\nSeccomp:\t" seccomp "\nSeccomp_filters:\t0\nSpeculation:\tx\n"

static void test_find_sandbox(void **state)
{
	char text[256] = "x\nSeccomp:";

	(void)state;
	begin();
	assert_true(find_sandbox(STATUS("0")));
	assert_string_equal(thread.sandbox, "\nSeccomp:\t0\nSeccomp_filters:\t0\nSpec");
	assert_int_equal(thread.sandbox_at, 7);
	assert_true(is_same_sandbox(STATUS("0")));
	assert_false(is_same_sandbox(STATUS("2")));
	assert_true(is_same_sandbox(STATUS("2")));
	/* Elsewhere in the text, and truncated. */
	assert_true(is_same_sandbox(
			"Name:\tlonger\nSeccomp:\t2\nSeccomp_filters:\t0\nSpeculation:\tx\n"));
	assert_int_equal(thread.sandbox_at, 12);
	assert_false(is_same_sandbox("Name:\tlonger\nSeccomp:\t2\nSeccomp_fil"));
	assert_false(find_sandbox("Name:\tx\n") || find_sandbox("\nSeccomp:\t2\n") ||
			find_sandbox("\nSpec\n"));
	/* As many bytes as there is space for, and one more. */
	memset(text + strlen(text), 'y', 63 - 9 - 5);
	strcpy(text + 1 + 63 - 5, "\nSpec");
	assert_true(find_sandbox(text) && strlen(thread.sandbox) == 63);
	memset(text + 10, 'y', 64 - 9 - 5);
	strcpy(text + 1 + 64 - 5, "\nSpec");
	assert_false(find_sandbox(text));
}

static void test_watch_sandbox(void **state)
{
	(void)state;
	begin();
	set_text(0, STATUS("0"));
	watch_sandbox();
	assert_int_equal(thread.status, 30);
	assert_string_equal(kernel.path, "/proc/thread-self/status");
	are_calls("seek(30)");
	/* The same text, another text, no text. */
	set_text(1, STATUS("0"));
	set_text(2, STATUS("2"));
	assert_false(ENDS(check_sandbox()));
	are_calls("seek(30)");
	assert_true(ENDS(check_sandbox()) && kernel.nr_exits == 1 && thread.state == THREAD_GONE);
	are_calls("");
	thread.state = THREAD_TALKED;
	assert_true(ENDS(check_sandbox()) && kernel.nr_exits == 2);
	/* Without the file. */
	thread.status = -1;
	assert_false(ENDS(check_sandbox()));
	is_sandboxed = true;
	assert_true(ENDS(check_sandbox()) && kernel.nr_exits == 3);
	begin();
	watch_sandbox();
	assert_true(thread.status == -1 && kernel.nr_closed == 1 && kernel.closed[0] == 30);
	set_text(0, "nothing");
	watch_sandbox();
	assert_true(thread.status == -1 && kernel.nr_closed == 2);
	kernel.no_file = true;
	watch_sandbox();
	assert_true(thread.status == -1 && kernel.nr_closed == 2);
	kernel.no_file = false;
	control.shares_table = true;
	*kernel.path = '\0';
	watch_sandbox();
	assert_true(thread.status == -1 && !*kernel.path);
}

/* ---- credentials ---- */

#define RIGHTS(uid, size, groups, caps, mode)                                                    \
	"Name:\tx\nUid:\t" uid "\nGid:\t5\nFDSize:\t" size "\nGroups:\t" groups "\nNStgid:\t1\n" \
	"CapInh:\t" caps "\nSeccomp:\t" mode "\n"

static bool has_rights(const char *ours, const char *theirs)
{
	kernel.at_text = 0;
	set_text(0, ours);
	set_text(1, theirs);
	return has_rights_of_starter();
}

static void test_rights(void **state)
{
	static char text[STATUS_SIZE];
	const char *ours = RIGHTS("1", "64", "7 8", "0", "0");

	(void)state;
	begin();
	assert_true(has_rights(ours, ours));
	assert_string_equal(kernel.path, "/proc/self/task/77/status");
	assert_int_equal(kernel.nr_closed, 2);
	assert_true(has_rights(ours, RIGHTS("1", "256", "7 8", "0", "2")));
	assert_false(has_rights(ours, RIGHTS("2", "64", "7 8", "0", "0")));
	assert_false(has_rights(ours, RIGHTS("1", "64", "7 9", "0", "0")));
	assert_false(has_rights(ours, RIGHTS("1", "64", "7 8", "1", "0")));
	assert_false(has_rights(ours, RIGHTS("1", "64", "7", "0", "0")));
	assert_false(has_rights("x\n", "x\n"));
	/* Without /proc: by capabilities. */
	kernel.no_file = true;
	assert_true(has_rights_of_starter() && kernel.nr_capgets == 2);
	kernel.nr_capgets = 0;
	kernel.caps[1] = 1;
	assert_false(has_rights_of_starter());
	kernel.nr_capgets = 0;
	kernel.capget[1] = -ESRCH;
	assert_true(has_rights_of_starter());
	kernel.nr_capgets = 0;
	kernel.capget[0] = -EPERM;
	assert_false(has_rights_of_starter());
	assert_int_equal(kernel.nr_capgets, 1);
	kernel.no_file = false;
	kernel.no_second_file = true;
	kernel.capget[0] = 0;
	kernel.nr_capgets = 0;
	assert_true(has_rights(ours, ours) && kernel.nr_capgets == 2);
	/* An empty file counts as missing. */
	begin();
	set_text(0, "");
	assert_false(control_thread_read_text("/x", text));
	assert_int_equal(kernel.nr_closed, 1);
}

/* ---- descriptors ---- */

static void add_entry(unsigned int part, const char *name)
{
	struct dirent64 *entry =
			&kernel.entries[part][kernel.entries_size[part] / (long)sizeof(*entry)];

	entry->d_reclen = sizeof(*entry);
	strcpy(entry->d_name, name);
	kernel.entries_size[part] += (long)sizeof(*entry);
}

static bool is_closed(int fd)
{
	for (unsigned int i = 0; i < kernel.nr_closed; i++)
		if (kernel.closed[i] == fd)
			return true;
	return false;
}

static void test_table(void **state)
{
	(void)state;
	begin();
	add_entry(0, ".");
	add_entry(0, "..");
	add_entry(0, "2");
	add_entry(0, "3");
	add_entry(1, "30");
	add_entry(1, "117");
	close_each(3);
	assert_true(kernel.nr_closed == 3 && is_closed(3) && is_closed(117) && is_closed(30));
	assert_string_equal(kernel.path, "/proc/thread-self/fd");
	/* Without /proc: all up to the limit. */
	begin();
	kernel.no_file = true;
	close_each(3);
	assert_int_equal(kernel.nr_closed, 0);
	kernel.limit = 6;
	close_each(3);
	assert_true(kernel.nr_closed == 3 && is_closed(3) && is_closed(5) && !is_closed(6));
	begin();
	agent.debug.is_on = false;
	assert_true(own_table());
	are_calls("range(0)");
	assert_int_equal(kernel.nr_closed, 0);
	agent.debug.is_on = true;
	assert_true(own_table());
	agent.debug.is_on = false;
	are_calls("range(3)");
	assert_true(kernel.nr_closed == 2 && is_closed(0) && is_closed(1));
	begin();
	kernel.close_range = -ENOSYS;
	add_entry(0, "0");
	assert_true(own_table() && is_closed(0) && kernel.nr_closed == 2);
	are_calls("range(0) unshare");
	kernel.unshare = -EPERM;
	assert_false(own_table());
}

static void test_socket(void **state)
{
	(void)state;
	begin();
	assert_false(socket_is_ours());
	control_thread_disconnect();
	assert_int_equal(kernel.nr_closed, 0);
	kernel.fcntl = O_RDWR | O_NONBLOCK;
	assert_int_equal(keep_socket(60), 0);
	assert_true(thread.socket == 60 && socket_is_ours());
	are_calls("flags(2) timeout");
	kernel.fcntl = -EBADF;
	assert_int_equal(keep_socket(60), 0);
	are_calls("timeout");
	/* In the table of the program another file may have taken its number. */
	control.shares_table = true;
	kernel.inode = 9;
	assert_int_equal(keep_socket(60), 0);
	assert_true(socket_is_ours());
	kernel.inode = 8;
	assert_false(socket_is_ours());
	control_thread_disconnect();
	assert_true(thread.socket == -1 && kernel.nr_closed == 0);
	thread.socket = 60;
	kernel.inode = 9;
	thread.socket_is.st_dev++;
	assert_false(socket_is_ours());
	thread.socket_is.st_dev--;
	kernel.stat_result = -1;
	assert_false(socket_is_ours());
	assert_int_equal(keep_socket(60), -EBADF);
	kernel.stat_result = 0;
	control_thread_disconnect();
	assert_true(thread.socket == -1 && kernel.nr_closed == 1);
	control.shares_table = false;
	thread.socket = 0;
	assert_true(socket_is_ours());
}

/* ---- the end of the program ---- */

#define STAT(state, threads) \
	"1 (a) b) " state " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 " threads " 0 0\n"

static void test_alone(void **state)
{
	uint32_t count = 5;

	(void)state;
	begin();
	set_text(0, STAT("S", "12"));
	assert_int_equal(task_state("/x"), 'S');
	set_text(1, "nothing");
	assert_int_equal(task_state("/x"), 0);
	set_text(2, "x)S");
	assert_int_equal(task_state("/x"), 0);
	assert_int_equal(task_state("/x"), 0);
	assert_int_equal(kernel.nr_closed, 4);
	kernel.at_text = 0;
	assert_int_equal(nr_threads(), 12);
	set_text(1, "1 (x) S 1 2");
	assert_int_equal(nr_threads(), 0);
	set_text(2, "");
	assert_int_equal(nr_threads(), 0);
	assert_int_equal(kernel.nr_closed, 7);
	kernel.no_file = true;
	assert_true(!task_state("/x") && !nr_threads() && kernel.nr_closed == 7);
	kernel.no_file = false;
	kernel.at_text = 0;
	set_text(0, STAT("Z", "2"));
	set_text(1, STAT("Z", "2"));
	assert_true(ENDS(end_if_alone()));
	kernel.at_text = 0;
	set_text(1, STAT("S", "2"));
	assert_false(ENDS(end_if_alone()));
	kernel.at_text = 0;
	set_text(0, STAT("Z", "3"));
	set_text(1, STAT("Z", "3"));
	assert_false(ENDS(end_if_alone()));
	count_thread(1);
	thread.count = &count;
	count_thread(-1u);
	assert_int_equal(count, 4);
}

/* ---- exchanges ---- */

static void test_hello(void **state)
{
	(void)state;
	begin();
	assert_int_equal(control_thread_send_hello(&common_memory, 70), 0);
	are_calls("connect(70) arrive flags(0) timeout");
	assert_true(control_thread_greetings() == 1 && control_thread_is_connected());
	begin();
	connect_result = -ENOENT;
	assert_int_equal(control_thread_send_hello(&common_memory, 70), -ENOENT);
	assert_true(!kernel.nr_closed && !control_thread_is_connected());
	begin();
	arrive_result = -EPIPE;
	assert_int_equal(control_thread_send_hello(&common_memory, 70), -EPIPE);
	assert_true(kernel.nr_closed == 1 && thread.socket == -1 && !control_thread_greetings());
	begin();
	control.shares_table = true;
	kernel.stat_result = -1;
	assert_int_equal(control_thread_send_hello(&common_memory, 70), -EBADF);
	assert_true(kernel.nr_closed == 1 && thread.socket == -1);
	/* Until a recorder listens: 50 attempts, 20 ms apart. */
	begin();
	connect_result = -ECONNREFUSED;
	assert_int_equal(control_thread_send_hello_soon(&common_memory), -ECONNREFUSED);
	assert_true(kernel.nr_sleeps == 50 && kernel.slept_ms == 20);
	connect_result = -EACCES;
	assert_int_equal(control_thread_send_hello_soon(&common_memory), -EACCES);
	assert_int_equal(kernel.nr_sleeps, 50);
	*calls = '\0';
	assert_int_equal(control_thread_send_hello_soon(&common_memory), -EACCES);
	are_calls("connect(5000)");
}

static void test_rest(void **state)
{
	(void)state;
	begin();
	control_thread_trim(&common_memory);
	are_calls("rest exchanges batches memory unlock");
	control_thread_trim(&common_memory);
	are_calls("");
	thread.rests = has_lock = false;
	control_thread_trim(&common_memory);
	are_calls("rest");
	assert_true(thread.rests);
}

static int obeyed(void)
{
	thread.socket = 60;
	*calls = '\0';
	return obey(&common_memory, 33);
}

static void test_obey(void **state)
{
	(void)state;
	begin();
	thread.rests = true;
	assert_int_equal(obey(&common_memory, 33), -EBADF);
	assert_true(!thread.rests && thread.socket == -1);
	are_calls("");
	thread.state = THREAD_STARTING;
	assert_int_equal(obeyed(), 0);
	are_calls("take(5000) welcomed(33) give failure(0) disarm");
	assert_true(thread.state == THREAD_TALKED && kernel.nr_wakes == 1);
	assert_int_equal(obeyed(), 0);
	are_calls("take(5000) welcomed(33) give failure(0)");
	welcomed_result = -EPROTO;
	assert_int_equal(obeyed(), -EPROTO);
	are_calls("take(5000) welcomed(33) give");
	control.mode = WIRE_CONTROL_OFF;
	assert_int_equal(obeyed(), -ECANCELED);
	are_calls("take(5000) give");
	control.mode = WIRE_CONTROL_THREAD;
	atomic_store(&agent.process.is_exiting, true);
	assert_int_equal(obeyed(), -ECANCELED);
	are_calls("take(5000) give");
	atomic_store(&agent.process.is_exiting, false);
	/* A share that is used up. */
	assert_false(is_retry_due());
	are_calls("");
	agent.update.nr_declined = 1;
	assert_false(is_retry_due());
	are_calls("take(5000) give");
	declined = true;
	assert_true(is_retry_due());
	agent.update.nr_declined = 0;
}

static int heard(long result)
{
	thread.socket = 60;
	kernel.read_result = result;
	thread.rests = true;
	*calls = '\0';
	return control_thread_receive_update(&common_memory);
}

static void test_hear(void **state)
{
	(void)state;
	begin();
	assert_int_equal(control_thread_receive_update(&common_memory), -EBADF);
	assert_int_equal(heard(33), 0);
	are_calls("take(5000) welcomed(33) give failure(0)");
	assert_int_equal(heard(0), -ECONNRESET);
	assert_int_equal(heard(-EIO), -EIO);
	assert_int_equal(heard(-EINTR), 0);
	are_calls("");
	assert_int_equal(heard(-EAGAIN), 0);
	are_calls("probes leases");
	thread.rests = false;
	assert_int_equal(heard(-EAGAIN), 0);
	is_stalled = true;
	assert_int_equal(heard(-EAGAIN), -EAGAIN);
	assert_int_equal(heard(-EINTR), 0);
	is_stalled = false;
	agent.update.nr_declined = 1;
	declined = true;
	assert_int_equal(heard(-EAGAIN), -EAGAIN);
	agent.update.nr_declined = 0;
	control.mode = WIRE_CONTROL_OFF;
	assert_int_equal(heard(33), -ECANCELED);
	are_calls("");
	is_sandboxed = true;
	assert_true(ENDS(heard(33)));
}

static void test_places(void **state)
{
	(void)state;
	begin();
	kernel.inotify = 61;
	assert_int_equal(control_thread_watch_directories(), -1);
	assert_true(kernel.nr_closed == 1 && kernel.closed[0] == 61);
	control.nr_daemons = 2;
	strcpy(control.daemons[0], "name");
	strcpy(control.daemons[1], "/run/side/agents.sock");
	assert_int_equal(control_thread_watch_directories(), 61);
	are_calls("/run/side");
	assert_int_equal(kernel.nr_closed, 1);
	strcpy(control.daemons[0], "/own/agents.sock");
	kernel.watch_fails = 2;
	assert_int_equal(control_thread_watch_directories(), 61);
	are_calls("/own /run/side");
	kernel.watch_fails = 10;
	assert_int_equal(control_thread_watch_directories(), -1);
	assert_int_equal(kernel.nr_closed, 2);
	kernel.inotify = -EMFILE;
	*calls = '\0';
	assert_int_equal(control_thread_watch_directories(), -1);
	are_calls("");
	kernel.inotify = 61;
	control.shares_table = true;
	assert_int_equal(control_thread_watch_directories(), -1);
	assert_int_equal(kernel.nr_closed, 2);
	/* A change, a change that cannot be read, an error, and the end of the request. */
	begin();
	kernel.ppoll[1] = 1;
	kernel.read_result = 16;
	assert_true(wait_for_change(60));
	assert_int_equal(kernel.nr_polls, 2);
	kernel.nr_polls = 1;
	kernel.read_result = 0;
	assert_false(wait_for_change(60));
	kernel.nr_polls = 1;
	kernel.ppoll[1] = -EINTR;
	kernel.read_result = 16;
	assert_false(wait_for_change(60));
	kernel.nr_polls = 0;
	control.mode = WIRE_CONTROL_OFF;
	assert_true(wait_for_change(60));
	assert_int_equal(kernel.nr_polls, 1);
	is_sandboxed = true;
	assert_true(ENDS(wait_for_change(60)));
}

static void come_back(void)
{
	if (kernel.nr_sleeps == 2)
		connect_result = 60;
}

static void test_find_again(void **state)
{
	(void)state;
	begin();
	connect_result = -ENOENT;
	while_sleeping = come_back;
	find_again(&common_memory);
	/* Without a watch: each second. */
	assert_true(kernel.nr_sleeps == 2 && kernel.slept_ms == 1000 && thread.socket == 60);
	begin();
	control.nr_daemons = 1;
	strcpy(control.daemons[0], "/own/agents.sock");
	kernel.inotify = 60;
	connect_result = -ENOENT;
	kernel.ppoll[0] = kernel.ppoll[1] = -EINTR;
	while_sleeping = come_back;
	find_again(&common_memory);
	assert_true(kernel.nr_polls == 2 && kernel.nr_sleeps == 2 && is_closed(60));
	begin();
	control.mode = WIRE_CONTROL_OFF;
	find_again(&common_memory);
	are_calls("");
}

static long pauses[32];

static void keep_pause(void)
{
	if (kernel.nr_sleeps <= 32)
		pauses[kernel.nr_sleeps - 1] = kernel.slept_ms;
	if (kernel.nr_sleeps == 20)
		welcomed_result = -EACCES;
}

static void test_talk(void **state)
{
	(void)state;
	begin();
	thread.socket = 60;
	welcomed_result = -EPROTO;
	kernel.read_result = 33;
	while_sleeping = keep_pause;
	talk_for_ever(&common_memory, 5);
	/* A daemon that ends each connection at once: pauses that grow. */
	assert_true(pauses[0] == 0 && pauses[1] == 1 && pauses[2] == 2 && pauses[12] == 2048);
	assert_true(pauses[13] == 4096 && pauses[14] == 8192 && pauses[15] == 8192);
	assert_non_null(strstr(calls, "welcomed(5)"));
	assert_int_equal(thread.socket, -1);
	begin();
	thread.socket = 60;
	welcomed_result = -ECANCELED;
	talk_for_ever(&common_memory, 5);
	assert_true(kernel.nr_sleeps == 0 && kernel.nr_closed == 1);
}

static void test_ask(void **state)
{
	(void)state;
	begin();
	receive_result = 33;
	ask_first(70);
	are_calls("take(70) connect(70) arrive flags(0) timeout receive(70) try(33) give");
	assert_true(thread.first == 33 && thread.memory == &common_memory && thread.asked == 1 &&
			kernel.nr_wakes == 1);
	begin();
	receive_result = -ETIMEDOUT;
	ask_first(70);
	assert_true(thread.first == 0 && thread.socket == 60 && strstr(calls, "failure(-110)"));
	begin();
	ask_first(70);
	assert_true(thread.first == -ECONNRESET && thread.socket == -1);
	begin();
	receive_result = -EIO;
	ask_first(70);
	assert_int_equal(thread.first, -EIO);
	begin();
	connect_result = -ENOENT;
	ask_first(70);
	assert_int_equal(thread.first, -ENOENT);
	begin();
	has_turn = false;
	ask_first(70);
	assert_true(thread.first == -EBUSY && thread.asked == 1);
	begin();
	has_memory = false;
	ask_first(70);
	assert_true(thread.first == -ENOMEM && !thread.memory && thread.asked == 1);
	are_calls("");
	/* How the thread continues after each result. */
	begin_to_talk();
	are_calls("");
	thread.memory = &common_memory;
	thread.first = -EACCES;
	begin_to_talk();
	thread.first = -EPERM;
	begin_to_talk();
	are_calls("");
	thread.state = THREAD_STARTING;
	thread.first = -ENOENT;
	kernel.read_result = 33;
	welcomed_result = -ECANCELED;
	begin_to_talk();
	are_calls("disarm connect(5000) arrive flags(0) timeout take(5000) welcomed(33) give");
	thread.socket = 60;
	thread.first = 44;
	begin_to_talk();
	are_calls("take(5000) welcomed(44) give");
}

static void test_thread(void **state)
{
	const char *ours = RIGHTS("1", "64", "7 8", "0", "0");
	uint32_t count = 5;

	(void)state;
	begin();
	thread.count = &count;
	set_text(0, ours);
	set_text(1, ours);
	connect_result = -EACCES;
	assert_null(control_thread(NULL));
	are_calls("begins range(0) take(2000) connect(2000) give unmap disarm");
	assert_true(control.thread == 77 && thread.state == THREAD_GONE && count == 6 &&
			!thread.memory && !control.shares_table);
	/*
	 * With other credentials than the thread that started it: the process starts another
	 * thread.
	 */
	begin();
	set_text(0, ours);
	set_text(1, RIGHTS("2", "64", "7 8", "0", "0"));
	thread.has_table = true;
	assert_null(control_thread(NULL));
	are_calls("begins unmap arm");
	assert_int_equal(thread.state, THREAD_GONE);
	begin();
	thread.count = &count;
	assert_int_equal(control_thread_create(), 0);
	are_calls("own create end");
	assert_int_equal(count, 5);
	create_result = EAGAIN;
	thread_handle = 5;
	assert_int_equal(control_thread_create(), -EAGAIN);
	assert_true(count == 5 && thread_handle == 0);
}

/* ---- the start ---- */

static void talk_later(void)
{
	if (kernel.nr_sleeps == 3)
		thread.state = THREAD_TALKED;
}

static void test_start(void **state)
{
	(void)state;
	for (uint32_t one = THREAD_NONE; one <= THREAD_GONE; one++) {
		begin();
		thread.state = one;
		thread.asked = control.thread = control.maker = 5;
		thread.starter = 0;
		thread.has_table = thread.waited = true;
		assert_int_equal(begin_start(), one == THREAD_NONE || one == THREAD_GONE);
		if (one == THREAD_STARTING || one == THREAD_TALKED)
			continue;
		assert_true(thread.state == THREAD_STARTING && thread.starter == 77 &&
				!thread.asked && !control.thread && !control.maker &&
				!thread.has_table && !thread.waited);
	}
	begin();
	while_sleeping = talk_later;
	assert_int_equal(control_thread_start(), 0);
	are_calls("own create end");
	assert_true(kernel.nr_sleeps == 3 && kernel.slept_ms == 1);
	control_thread_wake();
	are_calls("disarm");
	begin();
	create_result = EAGAIN;
	assert_int_equal(control_thread_start(), -EAGAIN);
	assert_int_equal(thread.state, THREAD_NONE);
	*calls = '\0';
	control_thread_wake();
	are_calls("own create end");
	begin();
	assert_int_equal(control_thread_start(), 0);
	are_calls("own create end failure(-110)");
	assert_int_equal(kernel.nr_sleeps, 2000);
	hopeless = true;
	assert_int_equal(control_thread_start(), 0);
	assert_int_equal(kernel.nr_sleeps, 2000);
}

static void on_signal(int signal)
{
	(void)signal;
}

static void test_handlers(void **state)
{
	struct sigaction action = {.sa_handler = on_signal}, before;

	(void)state;
	begin();
	assert_true(outside_handlers());
	sigaddset(&action.sa_mask, SIGUSR2);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	/* The handler's own signal, and one that its handler blocks. */
	kernel.blocked = 1ull << (SIGUSR1 - 1);
	assert_false(outside_handlers());
	kernel.blocked |= 1ull << (SIGUSR2 - 1);
	assert_false(outside_handlers());
	/* More signals are blocked than the mask of any handler blocks. */
	kernel.blocked |= 1ull << (SIGURG - 1);
	assert_true(outside_handlers());
	control.mask = 1ull << (SIGURG - 1);
	assert_false(outside_handlers());
	kernel.blocked = 1ull << (SIGUSR2 - 1);
	assert_true(outside_handlers());
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	kernel.blocked = 1ull << (SIGUSR1 - 1);
	assert_true(outside_handlers());
	action.sa_handler = SIG_IGN;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_true(outside_handlers());
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	/* Signal 63 is the last one that is checked. */
	action.sa_handler = on_signal;
	assert_int_equal(sigaction(63, &action, NULL), 0);
	kernel.blocked = 1ull << 62;
	assert_false(outside_handlers());
	signal(63, SIG_DFL);
	kernel.blocked = 0x123;
	control_remember_mask();
	assert_int_equal(control.mask, 0x123);
}

static void ask_later(void)
{
	if (nr_waits == 3)
		thread.asked = 1;
}

static void end_task(void)
{
	if (nr_waits == 3)
		task_runs = 0;
}

static void test_waits(void **state)
{
	(void)state;
	begin();
	while_waiting = ask_later;
	wait_until_asked(time_now + 100 * MS);
	assert_int_equal(nr_waits, 3);
	begin();
	waits_end_after = 4;
	wait_until_asked(time_now + 100 * MS);
	assert_true(nr_waits == 4 && thread.asked == 1);
	begin();
	task_runs = 1;
	while_waiting = end_task;
	wait_for_end_of_task(time_now + 100 * MS);
	assert_int_equal(nr_waits, 3);
	task_runs = 1;
	waits_end_after = 5;
	while_waiting = NULL;
	wait_for_end_of_task(time_now + 100 * MS);
	assert_int_equal(nr_waits, 5);
	begin();
	kernel.task_ns = 3000000007;
	assert_int_equal(task_time(77), 3000000007);
	kernel.task_ns = 0;
	assert_int_equal(task_time(77), 0);
	/* The state of the task that creates the thread. */
	control.maker = 77;
	assert_true(maker_sleeps(time_now));
	complete_result = 1;
	set_text(0, STAT("R", "2"));
	assert_false(maker_sleeps(time_now));
	assert_string_equal(kernel.path, "/proc/self/task/77/stat");
	set_text(1, STAT("S", "2"));
	assert_true(maker_sleeps(time_now));
	kernel.close_range = kernel.unshare = -EPERM;
	assert_true(maker_sleeps(time_now));
}

static void grow_time(void)
{
	kernel.task_ns += 1000000;
	if (nr_waits == 7)
		thread.state = THREAD_TALKED;
}

static void grow_time_only(void)
{
	kernel.task_ns += 1000000;
}

static void test_wait_while_started(void **state)
{
	(void)state;
	begin();
	thread.state = THREAD_STARTING;
	control.maker = 77;
	kernel.task_ns = 5;
	while_waiting = grow_time;
	wait_while_started(time_now + 100 * MS);
	assert_int_equal(nr_waits, 7);
	/* More than 20 ms of processor time. */
	begin();
	thread.state = THREAD_STARTING;
	control.maker = 77;
	kernel.task_ns = 5;
	while_waiting = grow_time_only;
	wait_while_started(time_now + 100 * MS);
	assert_int_equal(nr_waits, 21);
	/* No time used: it waits, or sleeps, which is checked after the fifth time. */
	begin();
	thread.state = THREAD_STARTING;
	control.maker = 77;
	kernel.task_ns = 5;
	wait_while_started(time_now + 100 * MS);
	are_calls("complete");
	assert_int_equal(nr_waits, 5);
	begin();
	thread.state = THREAD_STARTING;
	control.maker = 77;
	kernel.task_ns = 5;
	complete_result = 1;
	set_text(0, STAT("R", "2"));
	set_text(1, STAT("S", "2"));
	wait_while_started(time_now + 100 * MS);
	are_calls("complete range(0) complete range(0)");
	assert_int_equal(nr_waits, 10);
	/* The thread exists: the wait lasts until the deadline, however long that is. */
	begin();
	thread.state = THREAD_STARTING;
	control.maker = 77;
	control.thread = 78;
	waits_end_after = 30;
	wait_while_started(time_now + 100 * MS);
	assert_int_equal(nr_waits, 30);
	are_calls("");
}

/* ---- events ---- */

static void event(enum control_changes changes)
{
	changes_now = changes;
	*calls = '\0';
	event_is_called();
}

static void test_events(void **state)
{
	(void)state;
	begin();
	is_sandboxed = true;
	event(CONTROL_CHANGED);
	are_calls("disarm unlock");
	has_lock = false;
	event(CONTROL_CHANGED);
	are_calls("");
	begin();
	control.pid = 1;
	event(CONTROL_CHANGED);
	control.pid = 4000;
	control.mode = WIRE_CONTROL_SYNC;
	event(CONTROL_CHANGED);
	are_calls("");
	control.mode = WIRE_CONTROL_SIGNAL;
	event(CONTROL_CHANGED);
	are_calls("take(0) disarm unlock refresh(3,1,1000) give");
	has_turn = false;
	event(CONTROL_CHANGED);
	are_calls("take(0)");
	atomic_store(&agent.process.is_exiting, true);
	event(CONTROL_CHANGED);
	are_calls("disarm unlock");
	atomic_store(&agent.process.is_exiting, false);
	/* The first event starts the thread. */
	begin();
	maker_seen = 1;
	waits_end_after = 1;
	event(CONTROL_CHANGES_UNKNOWN);
	are_calls("run disarm unlock pass(0)");
	assert_true(work_seen == create_beside && control.maker == 1 && thread.asked == 1 &&
			thread.state == THREAD_STARTING);
	/* Nothing has changed: no wait, until the daemon was asked. */
	begin();
	event(CONTROL_UNCHANGED);
	are_calls("run");
	event(CONTROL_UNCHANGED);
	are_calls("");
	thread.asked = 1;
	event(CONTROL_UNCHANGED);
	are_calls("disarm unlock");
	thread.state = THREAD_TALKED;
	waits_end_after = 1;
	event(CONTROL_CHANGED);
	are_calls("disarm unlock");
	/*
	 * No task can be created: the caller creates the thread, or the process runs on without
	 * one.
	 */
	begin();
	run_result = -ENOSYS;
	waits_end_after = 1;
	event(CONTROL_CHANGED);
	are_calls("run own create end disarm unlock pass(1)");
	begin();
	run_result = -EAGAIN;
	event(CONTROL_CHANGED);
	are_calls("run call take(0) refresh(1,0,100) give disarm unlock pass(1)");
	assert_true(control.mode == WIRE_CONTROL_SYNC && agent.control.mode == WIRE_CONTROL_SYNC &&
			thread.state == THREAD_NONE && thread.asked == 1);
	begin();
	run_result = -EAGAIN;
	has_turn = false;
	event(CONTROL_CHANGED);
	assert_true(control.mode == WIRE_CONTROL_THREAD && !thread.is_first &&
			thread.state == THREAD_NONE);
	are_calls("run call take(0) unlock pass(1)");
	/* A daemon that does not answer. */
	begin();
	hopeless = true;
	event(CONTROL_CHANGED);
	are_calls("run disarm unlock pass(1)");
	assert_int_equal(nr_waits, 0);
	agent.control.mode = 0;
	maker_seen = 77;
}

static void in_handler(enum control_changes changes)
{
	changes_now = changes;
	*calls = '\0';
	ask_in_handler(changes);
}

static void test_events_in_handlers(void **state)
{
	(void)state;
	begin();
	waits_end_after = 1;
	in_handler(CONTROL_CHANGES_UNKNOWN);
	are_calls("take(0) give run");
	assert_true(control.suspicions == 1 && work_seen == ask_beside && nr_waits == 1);
	in_handler(CONTROL_CHANGES_UNKNOWN);
	are_calls("");
	in_handler(CONTROL_UNCHANGED);
	are_calls("");
	nr_waits = 0;
	waits_end_after = 1;
	in_handler(CONTROL_CHANGED);
	are_calls("take(0) give run");
	assert_true(control.suspicions == 4 && nr_waits == 1);
	run_result = -ENOSYS;
	in_handler(CONTROL_CHANGED);
	are_calls("take(0) give run take(0) refresh(2,0,1000) give");
	run_result = 1;
	/* After 64 events in handlers the process behaves as in mode sync. */
	control.suspicions = 63;
	in_handler(CONTROL_UNCHANGED);
	are_calls("");
	nr_waits = 0;
	in_handler(CONTROL_UNCHANGED);
	are_calls("take(0) give run disarm unlock");
	assert_true(control.mode == WIRE_CONTROL_SYNC && agent.control.mode == WIRE_CONTROL_SYNC &&
			nr_waits == 0);
	begin();
	thread.state = THREAD_TALKED;
	in_handler(CONTROL_CHANGED);
	thread.state = THREAD_STARTING;
	in_handler(CONTROL_CHANGED);
	thread.state = THREAD_NONE;
	has_turn = false;
	in_handler(CONTROL_CHANGED);
	are_calls("take(0)");
	begin();
	ask_beside();
	are_calls("range(0) take(100) refresh(2,0,1000) give");
	assert_true(control.maker == 77 && thread.asked == 1 && !control.shares_table);
	has_turn = false;
	kernel.close_range = kernel.unshare = -EPERM;
	thread.asked = 0;
	ask_beside();
	assert_true(thread.asked == 1 && control.shares_table);
	agent.control.mode = 0;
}

static void test_beside(void **state)
{
	(void)state;
	begin();
	receive_result = 33;
	create_beside();
	are_calls("range(0) take(100) connect(100) arrive flags(0) timeout receive(100) try(33) give own create end");
	assert_true(control.maker == 77 && thread.has_table && !control.shares_table);
	begin();
	receive_result = 33;
	create_result = EAGAIN;
	thread.state = THREAD_STARTING;
	create_beside();
	are_calls("range(0) take(100) connect(100) arrive flags(0) timeout receive(100) try(33) give own create end unmap take(1000) refresh(1,1,1000) give disarm");
	assert_true(thread.state == THREAD_NONE && thread.socket == -1 && !thread.memory &&
			control.mode == WIRE_CONTROL_SYNC);
	begin();
	hopeless = true;
	become_sync(true, 5);
	assert_int_equal(control.mode, WIRE_CONTROL_SYNC);
	are_calls("");
	hopeless = false;
	become_sync(true, 5);
	are_calls("");
	agent.control.mode = 0;
	/* It is not disarmed if the thread has ended in between. */
	for (uint32_t one = THREAD_NONE; one <= THREAD_GONE; one++) {
		begin();
		thread.state = one;
		stop_listening_if_started();
		are_calls(one == THREAD_STARTING || one == THREAD_TALKED ? "disarm unlock"
									 : "unlock");
	}
	has_lock = false;
	stop_listening_if_started();
	are_calls("");
}

/* ---- the end ---- */

static void settle_later(void)
{
	if (kernel.nr_sleeps == 3)
		task_runs = 0;
}

static void gone_later(void)
{
	if (kernel.nr_sleeps == 3)
		thread.state = THREAD_GONE;
}

static void test_end(void **state)
{
	(void)state;
	begin();
	assert_true(is_settled());
	task_runs = 1;
	assert_false(is_settled());
	is_sandboxed = true;
	control_thread_settle();
	control.pid = 1;
	is_sandboxed = false;
	control_thread_settle();
	assert_int_equal(kernel.nr_sleeps, 0);
	control.pid = 4000;
	while_sleeping = settle_later;
	control_thread_settle();
	assert_int_equal(kernel.nr_sleeps, 3);
	thread.state = THREAD_STARTING;
	assert_false(is_settled());
	control_thread_settle();
	assert_true(kernel.nr_sleeps == 103 && thread.waited && is_settled());
	/* Its connection is shut down, and it ends. */
	begin();
	control.thread = 78;
	thread.socket = 60;
	thread.state = THREAD_TALKED;
	kernel.pidfd = 40;
	kernel.getfd = 41;
	while_sleeping = gone_later;
	control_thread_end();
	are_calls("shutdown(41)");
	assert_true(kernel.nr_sleeps == 3 && kernel.nr_closed == 2 && is_closed(40) &&
			is_closed(41));
	begin();
	control.thread = 78;
	thread.socket = 60;
	kernel.pidfd = 40;
	kernel.getfd = -EPERM;
	control_thread_end();
	are_calls("");
	assert_true(kernel.nr_sleeps == 0 && kernel.nr_closed == 1);
	kernel.pidfd = -ENOSYS;
	thread.state = THREAD_TALKED;
	control_thread_end();
	assert_true(kernel.nr_sleeps == 6000 && kernel.nr_closed == 1);
	/* Whether the caller has the thread's own table of descriptors. */
	begin();
	assert_false(agent_control_has_table());
	control.thread = 77;
	assert_true(agent_control_has_table());
	control.shares_table = true;
	assert_false(agent_control_has_table());
	control.shares_table = false;
	control.thread = 0;
	control.maker = 77;
	assert_true(agent_control_has_table());
	thread.socket = thread.status = 60;
	thread.state = THREAD_TALKED;
	thread.memory = &common_memory;
	control_thread_forked();
	are_calls("forked");
	assert_true(!kernel.nr_closed && thread.socket == -1 && thread.status == -1 &&
			!thread.state && !thread.memory && !control.maker);
	thread.socket = 60;
	control.shares_table = true;
	thread.socket_is.st_dev = 5;
	control_thread_forked();
	assert_true(kernel.nr_closed == 1 && !control.shares_table);
}

static void test_prepare(void **state)
{
	size_t total = 0;
	const ElfW(Phdr) parts[] = {{.p_type = PT_LOAD, .p_memsz = 5},
			{.p_type = PT_TLS, .p_memsz = 100, .p_align = 16},
			{.p_type = PT_TLS, .p_memsz = 1000, .p_align = 64}};
	struct dl_phdr_info object = {.dlpi_phdr = parts, .dlpi_phnum = 2};

	(void)state;
	assert_int_equal(add_thread_data(&object, sizeof(object), &total), 0);
	assert_int_equal(total, 116);
	object.dlpi_phnum = 3;
	add_thread_data(&object, sizeof(object), &total);
	assert_int_equal(total, 116 + 116 + 1064);
	assert_int_equal(control_thread_data() % 4096, 0);
	assert_true(control_thread_data() >= 8192);
	begin();
	assert_false(control_thread_is_prepared());
	control_thread_prepare();
	are_calls("prepare count");
	assert_true(control_thread_is_prepared() && thread.stack >= 65536 + control_thread_data());
	control_thread_prepare();
	are_calls("");
	control.suspicions = 5;
	kernel.blocked = 7;
	control_arm();
	are_calls("arm");
	assert_true(control.suspicions == 0 && control.mask == 7 &&
			context_thread_settles == control_thread_settle);
	context_thread_settles = NULL;
	control_arm_once();
	are_calls("arm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_find_sandbox),
			cmocka_unit_test(test_watch_sandbox),
			cmocka_unit_test(test_rights),
			cmocka_unit_test(test_table),
			cmocka_unit_test(test_socket),
			cmocka_unit_test(test_alone),
			cmocka_unit_test(test_hello),
			cmocka_unit_test(test_rest),
			cmocka_unit_test(test_obey),
			cmocka_unit_test(test_hear),
			cmocka_unit_test(test_places),
			cmocka_unit_test(test_find_again),
			cmocka_unit_test(test_talk),
			cmocka_unit_test(test_ask),
			cmocka_unit_test(test_thread),
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_handlers),
			cmocka_unit_test(test_waits),
			cmocka_unit_test(test_wait_while_started),
			cmocka_unit_test(test_events),
			cmocka_unit_test(test_events_in_handlers),
			cmocka_unit_test(test_beside),
			cmocka_unit_test(test_end),
			cmocka_unit_test(test_prepare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
