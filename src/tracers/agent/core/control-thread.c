/* SPDX-License-Identifier: MIT */
/*
 * Control by a thread: the armed process, and the thread that its next event starts.
 *
 * The thread waits for messages of the daemon. It has a descriptor table of its own: it keeps no
 * descriptor of the program open, and the program cannot close its descriptors. It blocks all
 * signals, and sleeps in read() until the daemon sends a message.
 *
 * The first event starts it and joins the sessions that began since the arrival. Its caller may
 * hold any lock, so the caller makes neither the thread nor the connection: a task beside it
 * (control-starter.c) takes a descriptor table of its own, connects, applies the daemon's first
 * message where that needs no lock, and only then creates the thread. The thread inherits that
 * table, the connection and the message, and completes what had to wait for a lock. The caller
 * waits for the first of these steps, which no lock of the program can stop, and for 100 ms at
 * most.
 *
 * The program may lock all its threads into a sandbox (seccomp with TSYNC) where a call that the
 * filter does not know is the end of the program. Nothing tells us. So the first that the thread
 * does when it wakes up is to read, by read() again, from a file of /proc that it has opened for
 * this before: if that says there is a new filter, the thread ends and says nothing. What remains
 * is a filter that comes while an exchange is under way.
 *
 * The thread has the rights (user, groups, capabilities) of the thread whose event started it. If
 * that one gives rights up before the C library knows of ours, which would then keep them, ours
 * ends and the next event starts another one.
 *
 * A program whose main() has ended by pthread_exit() ends with its last thread, which is not ours:
 * the C library counts threads, and ours is taken out of the count. One whose only thread ends by
 * the bare call (in the strict sandbox there is no other way) leaves us behind: every HEARTBEAT_S
 * we look.
 *
 * Where there is no private table (a container that forbids the calls), the descriptor is the
 * program's, too, and is checked before each use: is it still our socket?
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/futex.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/control-thread.h"
#include "protocol/protocol.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/control-changes.h"
#include "tracers/agent/core/control-daemon.h"
#include "tracers/agent/core/control-starter.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/late.h"
#include "tracers/agent/core/leases.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/update.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"

#define THREAD_NAME "side-control"
#define THREAD_STACK (64u << 10)
#define HEARTBEAT_S 5
#define FIRST_EXCHANGE_MS 2000 /* wait of a starter that may wait */
#define FIRST_QUESTION_MS 100  /* wait of an event for the task that asks the daemon */
#define STALLED_MS 5 /* without progress, the task that creates the thread may wait for a lock */
#define MAKER_NS 20000000 /* processor time: it waits for a lock and does not sleep */
#define LATER_EXCHANGE_MS 5000
#define RETRY_MS 1000    /* where nothing tells of the daemon's return */
#define RETRIES_MAX 50   /* of a socket that is there and has no listener yet, ... */
#define RETRY_STEP_MS 20 /* ... this long each */
#define STATUS_SIZE 4096

enum thread_state { THREAD_NONE, THREAD_STARTING, THREAD_TALKED, THREAD_GONE };

static struct {
	uint32_t state; /* enum thread_state; the starter waits for more than STARTING */
	size_t stack;   /* with what the C library takes of it */
	int starter;    /* the thread whose event started it */
	/* a futex, 1: the daemon was asked, with any result; events need not wait */
	uint32_t asked;
	bool is_first;   /* the current event has told the daemon that there is no thread */
	bool waited;     /* control_thread_settle() has waited for it as long as it may */
	uint32_t *count; /* the C library's, of threads that keep the process alive, or NULL */
	bool has_table;  /* the task that creates the thread has taken the table already */
	struct control_memory *memory; /* of the first exchange; NULL: none yet */
	/* its result: the size of the message in `memory`, 0: none yet, or a negative errno */
	int first;
	char state_of_maker;
	int socket;
	struct stat socket_is; /* what we know it by, where the table is shared */
	uint32_t greetings;    /* how often it was a new one */
	int status;            /* of /proc/thread-self/status, not read yet, or -1 */
	char sandbox[64];      /* the lines in it about sandboxes, ... */
	size_t sandbox_at;     /* ... and their last offset */
	bool rests;            /* it has given back what an exchange had needed */
} thread = {.socket = -1, .status = -1};

static void pause_ms(long ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	raw_call(SYS_nanosleep, &time, NULL);
}

/* ---- sandboxes ---- */

static int open_status(void)
{
	return (int)raw_call(
			SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
}

/* False: not known. */
static bool read_status(char text[STATUS_SIZE])
{
	long size = raw_call(SYS_read, thread.status, text, STATUS_SIZE - 1);

	text[size > 0 ? size : 0] = 0;
	return size > 0;
}

/*
 * The lines about sandboxes, the mode and how many filters, with the begin of the next one. False:
 * not known.
 */
static bool find_sandbox(const char *text)
{
	static const char next[] = "\nSpec";
	const char *at = strstr(text, "\nSeccomp:"), *end = at ? strstr(at, next) : NULL;
	size_t size = end ? (size_t)(end - at) + sizeof(next) - 1 : 0;

	if (!size || size >= sizeof(thread.sandbox))
		return false;
	memcpy(thread.sandbox, at, size);
	thread.sandbox[size] = 0;
	thread.sandbox_at = (size_t)(at - text);
	return true;
}

/*
 * Is it what it was? Mostly it is where it was: to search the text took longer than half of writing
 * it.
 */
static bool is_same_sandbox(const char *text)
{
	size_t size = strlen(thread.sandbox);
	char before[sizeof(thread.sandbox)];

	if (strnlen(text, thread.sandbox_at + size) == thread.sandbox_at + size &&
			!memcmp(text + thread.sandbox_at, thread.sandbox, size))
		return true;
	memcpy(before, thread.sandbox, size + 1);
	return find_sandbox(text) && !strcmp(before, thread.sandbox);
}

static void watch_sandbox(void)
{
	char text[STATUS_SIZE];

	thread.status = control.shares_table ? -1 : open_status();
	if (thread.status >= 0 && read_status(text) && find_sandbox(text)) {
		raw_call(SYS_lseek, thread.status, 0L, SEEK_SET);
	} else {
		wire_close(thread.status);
		thread.status = -1;
	}
}

/* After each sleep, before any other call. Does not return where there is a sandbox. */
static void check_sandbox(void)
{
	char text[STATUS_SIZE];
	bool same;

	if (thread.status >= 0) {
		same = read_status(text) && is_same_sandbox(text);
		/* The kernel writes it anew for who reads from the beginning. */
		if (same)
			raw_call(SYS_lseek, thread.status, 0L, SEEK_SET);
	} else {
		same = !agent_is_sandboxed();
	}
	if (same)
		return;
	/*
	 * Release: what the thread has done. Pairs with the acquires in control_thread_spawn() and
	 * control_thread_end().
	 */
	__atomic_store_n(&thread.state, THREAD_GONE, __ATOMIC_RELEASE);
	/* By the bare call: of what a thread does at its end nothing may be forbidden here. */
	for (;;)
		raw_call(SYS_exit, 0);
}

/* ---- rights ---- */

/* The lines from `first` to `last`, both at the begin of a line. */
static size_t lines_between(
		const char *text, const char *first, const char *last, const char **ret_at)
{
	const char *begin = strstr(text, first), *end = begin ? strstr(begin, last) : NULL;

	*ret_at = begin;
	return end ? (size_t)(end - begin) : 0;
}

static bool are_same_lines(const char *one, const char *other, const char *first, const char *last)
{
	const char *at, *other_at;
	size_t size = lines_between(one, first, last, &at);

	return size && size == lines_between(other, first, last, &other_at) &&
			!memcmp(at, other_at, size);
}

static bool control_thread_read_text(const char *path, char text[STATUS_SIZE])
{
	long fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), size;

	if (fd < 0)
		return false;
	size = raw_call(SYS_read, (int)fd, text, STATUS_SIZE - 1);
	raw_close((int)fd);
	text[size > 0 ? size : 0] = 0;
	return size > 0;
}

/* Without /proc: compare the capabilities of both threads. */
static bool has_capabilities_of(int tid)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct ours[2], theirs[2];

	if (raw_call(SYS_capget, &head, ours))
		return false;
	head.pid = tid;
	/* A thread that has ended has given up no rights. */
	return raw_call(SYS_capget, &head, theirs) || !memcmp(ours, theirs, sizeof(ours));
}

static bool has_rights_of_starter(void)
{
	char ours[STATUS_SIZE], theirs[STATUS_SIZE], path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread.starter);
	if (!control_thread_read_text("/proc/thread-self/status", ours) ||
			!control_thread_read_text(path, theirs))
		return has_capabilities_of(thread.starter);
	/* The line between user and groups is the size of the descriptor table. */
	return are_same_lines(ours, theirs, "\nUid:", "\nFDSize:") &&
			are_same_lines(ours, theirs, "\nGroups:", "\nNStgid:") &&
			are_same_lines(ours, theirs, "\nCapInh:", "\nSeccomp:");
}

/* ---- descriptors ---- */

/* Where close_range() is missing: all descriptors that the table has. */
static void close_each(unsigned int first)
{
	struct rlimit limit = {.rlim_cur = 0};
	char entries[2048];
	long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/thread-self/fd",
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	     size, at;
	unsigned int number;

	while (fd >= 0 && (size = raw_call(SYS_getdents64, (int)fd, entries, sizeof(entries))) > 0)
		for (at = 0; at < size;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			number = (unsigned int)strtoul(entry->d_name, NULL, 10);
			if (*entry->d_name != '.' && number >= first && number != (unsigned int)fd)
				raw_close((int)number);
			at += entry->d_reclen;
		}
	wire_close((int)fd);
	if (fd >= 0 || raw_call(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit))
		return;
	for (number = first; number < limit.rlim_cur && number < 1u << 16; number++)
		raw_close((int)number);
}

/*
 * Close all descriptors of the program, in our table only; with SIDE_DEBUG, keep standard error.
 * False: no private table.
 */
static bool own_table(void)
{
	unsigned int first = agent.debug.is_on ? 3 : 0;

	if (raw_call(SYS_close_range, first, ~0u, CLOSE_RANGE_UNSHARE)) {
		if (raw_call(SYS_unshare, CLONE_FILES))
			return false;
		close_each(first);
	}
	if (first) {
		raw_close(0);
		raw_close(1);
	}
	return true;
}

static bool socket_is_ours(void)
{
	struct stat now;

	if (thread.socket < 0 || !control.shares_table)
		return thread.socket >= 0;
	return !fstat(thread.socket, &now) && now.st_dev == thread.socket_is.st_dev &&
			now.st_ino == thread.socket_is.st_ino;
}

static void control_thread_disconnect(void)
{
	if (socket_is_ours())
		raw_close(thread.socket);
	thread.socket = -1;
}

static int keep_socket(int socket)
{
	const struct timeval heartbeat = {.tv_sec = HEARTBEAT_S};
	long flags = raw_call(SYS_fcntl, socket, F_GETFL, 0);

	thread.socket = socket;
	if (flags >= 0)
		raw_call(SYS_fcntl, socket, F_SETFL, flags & ~O_NONBLOCK);
	raw_call(SYS_setsockopt, socket, SOL_SOCKET, SO_RCVTIMEO, &heartbeat, sizeof(heartbeat));
	return control.shares_table && fstat(socket, &thread.socket_is) ? -EBADF : 0;
}

/* ---- the end of the program ---- */

/* The thread that ends without this has never been counted, as far as the C library can see. */
static void count_thread(uint32_t change)
{
	if (thread.count)
		(void)__atomic_add_fetch(thread.count, change, __ATOMIC_RELAXED);
}

/* The state of a task, a letter, from its line in /proc. */
static char task_state(const char *path)
{
	char text[512];
	long fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), size;
	const char *at;

	if (fd < 0)
		return 0;
	size = raw_call(SYS_read, (int)fd, text, sizeof(text) - 1);
	raw_close((int)fd);
	text[size > 0 ? size : 0] = 0;
	/* Behind the name, which may hold anything. */
	at = strrchr(text, ')');
	return at && at[1] == ' ' ? at[2] : 0;
}

/* How many threads the kernel counts: the nineteenth number behind the name. */
static unsigned long nr_threads(void)
{
	char text[1024];
	long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC), size;
	const char *at;
	unsigned int field;

	if (fd < 0)
		return 0;
	size = raw_call(SYS_read, (int)fd, text, sizeof(text) - 1);
	raw_close((int)fd);
	text[size > 0 ? size : 0] = 0;
	at = strrchr(text, ')');
	for (field = 2; at && field < 20; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtoul(at, NULL, 10) : 0;
}

/*
 * If only this thread and a main thread that has ended are left, end the process with the exit
 * status of the main thread.
 */
static void end_if_alone(void)
{
	while (nr_threads() == 2 && task_state("/proc/self/stat") == 'Z')
		raw_call(SYS_exit, 0);
}

/* ---- talking ---- */

/* Connect and say who we are; the answer comes like all others. */
static int control_thread_send_hello(struct control_memory *memory, unsigned int timeout_ms)
{
	uint64_t deadline = wire_deadline(agent_scale_timeout(timeout_ms));
	int socket = control_connect(deadline), ret;

	if (socket < 0)
		return socket;
	ret = control_send_arrival(socket, memory, WIRE_CONTROL_THREAD, deadline);
	if (!ret)
		ret = keep_socket(socket);
	if (ret) {
		raw_close(socket);
		thread.socket = -1;
	} else {
		/* Relaxed: a thread polls it until it changes. */
		__atomic_add_fetch(&thread.greetings, 1, __ATOMIC_RELAXED);
	}
	return ret;
}

/* No message came for a while: release memory, because the thread sleeps most of the time. */
static void control_thread_trim(struct control_memory *memory)
{
	if (thread.rests)
		return;
	thread.rests = true;
	control_memory_trim(memory);
	if (!side_tracer_trylock())
		return;
	agent_exchanges_trim();
	agent_batches_trim();
	agent_memory_trim();
	side_tracer_unlock();
}

/* Relaxed: the loop reads it again. */
static bool control_thread_is_needed(void)
{
	return __atomic_load_n(&control.mode, __ATOMIC_RELAXED) == WIRE_CONTROL_THREAD;
}

static void control_thread_set_state(enum thread_state state)
{
	/*
	 * Release: what the thread has done. Pairs with the acquire in wait_while_started() and
	 * control_thread_spawn().
	 */
	__atomic_store_n(&thread.state, state, __ATOMIC_RELEASE);
	raw_call(SYS_futex, &thread.state, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL);
}

/* From here on, events need not ask the daemon. */
static void first_word_is_heard(void)
{
	if (__atomic_load_n(&thread.state, __ATOMIC_RELAXED) != THREAD_STARTING)
		return;
	control_thread_set_state(THREAD_TALKED);
	side_tracer_disarm();
}

/*
 * Apply the message in `memory`. Returns 0, or the reason why the connection cannot be used any
 * more.
 */
static int obey(struct control_memory *memory, size_t size)
{
	uint64_t deadline;
	int ret = -ECANCELED;

	thread.rests = false;
	if (!socket_is_ours()) {
		thread.socket = -1;
		return -EBADF;
	}
	deadline = wire_deadline(agent_scale_timeout(LATER_EXCHANGE_MS));
	/* A fork may be in progress. At the exit of the program, change nothing. */
	while (!control_take_turn(HEARTBEAT_S * 1000))
		;
	if (!atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed) &&
			control.mode == WIRE_CONTROL_THREAD)
		ret = control_welcomed(thread.socket, memory, size, true, deadline);
	control_give_turn();
	if (!ret) {
		control_count_failure(0);
		first_word_is_heard();
	}
	return ret;
}

/* True if a session whose share was used up must be asked again. */
static bool is_retry_due(void)
{
	bool due;

	/* Relaxed: what is there now is seen at one of the next heartbeats. */
	if (!__atomic_load_n(&agent.update.nr_declined, __ATOMIC_RELAXED))
		return false;
	while (!control_take_turn(HEARTBEAT_S * 1000))
		;
	due = agent_declined_due();
	control_give_turn();
	return due;
}

/* Receive one message and apply it. */
static int control_thread_receive_update(struct control_memory *memory)
{
	long size;

	if (!socket_is_ours()) {
		thread.socket = -1;
		return -EBADF;
	}
	size = raw_call(SYS_read, thread.socket, memory->message, sizeof(memory->message));
	check_sandbox();
	if (size == -EAGAIN) {
		end_if_alone();
		control_thread_trim(memory);
		agent_probes_check();
		agent_leases_check();
	}
	if (!control_thread_is_needed())
		return -ECANCELED;
	/*
	 * A stalled session answers, or one must be asked again: send a new greeting, whose answer
	 * names all sessions.
	 */
	if (size == -EAGAIN && (agent_stalled_check() || is_retry_due()))
		return -EAGAIN;
	if (size == -EAGAIN || size == -EINTR)
		return 0;
	if (size <= 0)
		return size ? (int)size : -ECONNRESET;
	return obey(memory, (size_t)size);
}

/* ---- the daemon goes and comes ---- */

static int control_thread_watch_directories(void)
{
	long fd = control.shares_table ? -ENOSYS : raw_call(SYS_inotify_init1, IN_CLOEXEC);
	bool any = false;
	uint32_t i;

	for (i = 0; fd >= 0 && i < control.nr_daemons; i++) {
		char directory[CONTROL_PATH_SIZE], *name;

		memcpy(directory, control.daemons[i], sizeof(directory));
		name = strrchr(directory, '/');
		/* The name of a rendezvous socket may be in no directory. */
		if (!name)
			continue;
		*name = 0;
		any |= raw_call(SYS_inotify_add_watch, (int)fd, directory,
				       IN_CREATE | IN_MOVED_TO | IN_ATTRIB) >= 0;
	}
	if (any)
		return (int)fd;
	wire_close((int)fd);
	return -1;
}

/* Retry, because a socket appears a moment before its daemon listens on it. */
static int control_thread_send_hello_soon(struct control_memory *memory)
{
	int ret = -ENOENT, tries;

	for (tries = 0; tries < RETRIES_MAX; tries++) {
		ret = control_thread_send_hello(memory, LATER_EXCHANGE_MS);
		if (ret != -ECONNREFUSED)
			return ret;
		pause_ms(RETRY_STEP_MS);
		check_sandbox();
	}
	return ret;
}

/* False: the descriptor is of no use. */
static bool wait_for_change(int watched)
{
	char events[sizeof(struct inotify_event) + 256]
			__attribute__((aligned(__alignof__(struct inotify_event))));
	struct pollfd poll = {.fd = watched, .events = POLLIN};
	long ret;

	for (;;) {
		/* The bare call writes there what was left of it. */
		struct timespec heartbeat = {.tv_sec = HEARTBEAT_S};

		ret = raw_call(SYS_ppoll, &poll, 1, &heartbeat, NULL, 0);
		if (ret)
			break;
		/* Each time the waiting ends, first of all: is there a sandbox? */
		check_sandbox();
		end_if_alone();
		if (!control_thread_is_needed())
			return true;
	}
	check_sandbox();
	return ret > 0 && raw_call(SYS_read, watched, events, sizeof(events)) > 0;
}

/* Until there is a daemon again, or we are not wanted any more. */
static void find_again(struct control_memory *memory)
{
	int watched = control_thread_watch_directories();

	/* First tried, then slept: it may have come before we watched. */
	while (control_thread_is_needed() && control_thread_send_hello_soon(memory)) {
		if (watched < 0) {
			pause_ms(RETRY_MS);
			check_sandbox();
			watched = control_thread_watch_directories();
			continue;
		}
		if (!wait_for_change(watched))
			pause_ms(RETRY_MS);
		check_sandbox();
	}
	wire_close(watched);
}

/* ---- the thread ---- */

/* `size`: of the message that is in `memory` already; 0: none. */
static void talk_for_ever(struct control_memory *memory, size_t size)
{
	long pause = 0;

	for (;;) {
		int ret = size ? obey(memory, size) : control_thread_receive_update(memory);

		size = 0;
		if (!ret) {
			pause = 0;
			continue;
		}
		control_thread_disconnect();
		agent_debug("the daemon has exited: error %d", -ret);
		if (ret == -EACCES || ret == -ECANCELED)
			return;
		/* One that hangs up on us at once must not keep us busy. */
		pause_ms(pause);
		pause = pause ? (pause < RETRY_MS * 8 ? pause * 2 : pause) : 1;
		check_sandbox();
		find_again(memory);
	}
}

/* Events need not wait any more. */
static void have_asked(void)
{
	/* Release: what the exchange has done. Pairs with the acquire in wait_until_asked(). */
	__atomic_store_n(&thread.asked, 1, __ATOMIC_RELEASE);
	raw_call(SYS_futex, &thread.asked, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL);
}

/*
 * With the turn. The size of the daemon's first message, 0 if it has not come in time, or a
 * negative errno.
 */
static int ask_on_new_connection(struct control_memory *memory, unsigned int timeout_ms)
{
	uint64_t deadline = wire_deadline(agent_scale_timeout(timeout_ms));
	int ret = control_thread_send_hello(memory, timeout_ms);
	ssize_t size;

	if (ret)
		return ret;
	size = wire_receive(thread.socket, memory->message, sizeof(memory->message), NULL, NULL,
			deadline);
	if (size == -ETIMEDOUT) {
		control_count_failure(-ETIMEDOUT);
		return 0;
	}
	if (size > 0) {
		control_try(memory, (size_t)size);
		return (int)size;
	}
	control_thread_disconnect();
	return size ? (int)size : -ECONNRESET;
}

/*
 * The first exchange, without waiting for any lock: that is left to the thread. In the task that
 * creates the thread, or, where there is none, in the thread itself.
 */
static void ask_first(unsigned int timeout_ms)
{
	thread.memory = control_memory_map();
	thread.first = -ENOMEM;
	if (thread.memory && control_take_turn(timeout_ms)) {
		thread.first = ask_on_new_connection(thread.memory, timeout_ms);
		control_give_turn();
	} else if (thread.memory) {
		/* Another exchange is under way, or a fork: the thread tries again. */
		thread.first = -EBUSY;
	}
	have_asked();
}

static void begin_to_talk(void)
{
	struct control_memory *memory = thread.memory;
	int first = thread.first;

	if (!memory || first == -EACCES || first == -EPERM)
		return;
	if (first < 0) {
		/* The starter need not wait for a missing daemon. */
		first_word_is_heard();
		find_again(memory);
		first = 0;
	}
	talk_for_ever(memory, (size_t)first);
}

static void *control_thread(void *unused)
{
	bool is_stale;

	(void)unused;
	agent_own_control_begins();
	raw_call(SYS_prctl, PR_SET_NAME, THREAD_NAME, 0, 0, 0);
	__atomic_store_n(&control.thread, (int)raw_call(SYS_gettid), __ATOMIC_RELAXED);
	if (!thread.has_table)
		control.shares_table = !own_table();
	is_stale = !has_rights_of_starter();
	if (!is_stale && !thread.memory)
		ask_first(FIRST_EXCHANGE_MS);
	/* Only now: the session's descriptors need the free ones. */
	watch_sandbox();
	if (!is_stale)
		begin_to_talk();
	control_thread_disconnect();
	wire_close(thread.status);
	control_memory_unmap(thread.memory);
	thread.memory = NULL;
	/* The C library takes it off once more. */
	count_thread(1);
	control_thread_set_state(THREAD_GONE);
	if (is_stale)
		control_arm_once();
	else
		side_tracer_disarm();
	return NULL;
}

static int create_detached(void)
{
	unsigned long *number = agent_own_control();
	sigset_t all, before;
	pthread_attr_t attributes;
	int ret = pthread_attr_init(&attributes);

	if (ret)
		return -ret;
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, thread.stack);
	sigfillset(&all);
	/* A probe may be a breakpoint, which ends a thread that blocks its signal. */
	sigdelset(&all, SIGTRAP);
	sigdelset(&all, SIGILL);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(number, &attributes, control_thread, NULL);
	if (!ret)
		count_thread(-1u);
	else
		/* Relaxed: no thread has it. */
		__atomic_store_n(number, 0, __ATOMIC_RELAXED);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return -ret;
}

/* The calls that this takes are not the program's. */
static int control_thread_create(void)
{
	struct agent_own own;
	int ret;

	agent_own_begin(&own);
	ret = create_detached();
	agent_own_end(&own);
	return ret;
}

/* False: it is there already, or being started. */
static bool begin_start(void)
{
	/*
	 * Relaxed, and in the exchange too: who starts it gives nothing to the others but the word.
	 */
	uint32_t state = __atomic_load_n(&thread.state, __ATOMIC_RELAXED);

	if (state == THREAD_STARTING || state == THREAD_TALKED ||
			!__atomic_compare_exchange_n(&thread.state, &state, THREAD_STARTING, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	thread.starter = (int)raw_call(SYS_gettid);
	thread.has_table = false;
	__atomic_store_n(&thread.waited, false, __ATOMIC_RELAXED);
	__atomic_store_n(&control.maker, 0, __ATOMIC_RELAXED);
	/* Relaxed: no thread runs yet; the kernel orders its start. */
	__atomic_store_n(&thread.asked, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&control.thread, 0, __ATOMIC_RELAXED);
	return true;
}

static bool create_or_give_up(void)
{
	int ret = control_thread_create();

	if (!ret)
		return true;
	agent_debug("cannot start the control thread: error %d", -ret);
	/* Relaxed: there is no thread whose work could be read. */
	__atomic_store_n(&thread.state, THREAD_NONE, __ATOMIC_RELAXED);
	return false;
}

/* The thread runs and has handled the daemon's first message, or there is no thread. */
static bool control_thread_spawn(void)
{
	uint64_t deadline = wire_deadline(agent_scale_timeout(FIRST_EXCHANGE_MS));

	if (begin_start() && !create_or_give_up())
		return false;
	/*
	 * Acquire: what the thread has done. Pairs with the releases in control_thread_set_state()
	 * and check_sandbox(). The loop does not wait again for a daemon that never answers.
	 */
	while (__atomic_load_n(&thread.state, __ATOMIC_ACQUIRE) == THREAD_STARTING &&
			!control_is_hopeless()) {
		if (wire_deadline(0) >= deadline) {
			control_count_failure(-ETIMEDOUT);
			break;
		}
		pause_ms(1);
	}
	return true;
}

/* ---- the armed process ---- */

static uint64_t blocked_signals(void)
{
	uint64_t mask = 0;

	raw_call(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
	return mask;
}

/* Does the handler of this signal, if it has one, explain that these signals are blocked? */
static bool is_handler_of(int signal, uint64_t blocked)
{
	struct sigaction action;
	uint64_t mask;

	if (sigaction(signal, NULL, &action) || action.sa_handler == SIG_DFL ||
			action.sa_handler == SIG_IGN)
		return false;
	memcpy(&mask, &action.sa_mask, sizeof(mask));
	return !(blocked & ~(mask | 1ull << (signal - 1)));
}

/*
 * May a thread be made here? Not in a handler, which may have interrupted malloc(). That shows by
 * the signals that are blocked beside those of before: a handler's own, and what it has asked to be
 * blocked with it. More than any handler explains is a mask that the thread has chosen itself.
 */
static bool outside_handlers(void)
{
	uint64_t more = blocked_signals() & ~control.mask;
	int signal;

	for (signal = 1; signal < 64 && more >> (signal - 1); signal++)
		if (more >> (signal - 1) & 1 && is_handler_of(signal, more))
			return false;
	return true;
}

/*
 * Without waiting for the lock, which would be a system call. If it is taken, the next event tries
 * again.
 */
static void stop_listening(void)
{
	if (!side_tracer_trylock())
		return;
	side_tracer_disarm();
	side_tracer_unlock();
}

/*
 * For the task that asks the daemon, which waits for no lock of the program: 100 ms at most, and
 * only once.
 */
static void wait_until_asked(uint64_t until)
{
	/* Acquire: what the exchange has done. Pairs with the release in have_asked(). */
	while (!__atomic_load_n(&thread.asked, __ATOMIC_ACQUIRE))
		if (!control_wait(&thread.asked, 0, FUTEX_WAIT_PRIVATE, until))
			__atomic_store_n(&thread.asked, 1, __ATOMIC_RELAXED);
}

/* Wait until the task has ended: only then the program has no further thread. */
static void wait_for_end_of_task(uint64_t until)
{
	const uint32_t *word = control_starter_running();
	uint32_t runs;

	/* Relaxed: the kernel clears it, and orders nothing. */
	while ((runs = __atomic_load_n(word, __ATOMIC_RELAXED)) != 0 &&
			control_wait(word, runs, FUTEX_WAIT, until))
		;
}

/*
 * Processor time of a task of this process, which its descriptor-free clock has: ~number, 4 for one
 * task, 2 for time that it ran.
 */
static uint64_t task_time(int number)
{
	struct timespec time = {.tv_sec = 0};
	int clock = (int)(~(unsigned int)number << 3 | 6);

	if (raw_call(SYS_clock_gettime, clock, &time))
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* In a task of its own. */
static void read_state_of_maker(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
			__atomic_load_n(&control.maker, __ATOMIC_RELAXED));
	thread.state_of_maker = own_table() ? task_state(path) : 'S';
}

/* True also if the state cannot be read. */
static bool maker_sleeps(uint64_t until)
{
	return !control_starter_complete(read_state_of_maker, until) ||
			thread.state_of_maker == 'S';
}

/*
 * Mostly the thread runs and has done its work within a millisecond. If the program then closes its
 * descriptors, enters a sandbox, forks or ends, the thread sleeps. Do not wait longer if the task
 * that creates the thread sleeps, or takes far too long for that: it may wait for a lock that the
 * caller holds.
 */
static void wait_while_started(uint64_t until)
{
	uint64_t first = task_time(__atomic_load_n(&control.maker, __ATOMIC_RELAXED)), before = 0;
	unsigned int stalled = 0;

	/*
	 * Acquire: what the thread has done. Pairs with the release in control_thread_set_state().
	 * Relaxed: the loop reads the others again.
	 */
	while (__atomic_load_n(&thread.state, __ATOMIC_ACQUIRE) == THREAD_STARTING) {
		uint64_t now = task_time(__atomic_load_n(&control.maker, __ATOMIC_RELAXED));
		uint64_t next = wire_deadline(1);

		stalled = !__atomic_load_n(&control.thread, __ATOMIC_RELAXED) && now == before
				? stalled + 1
				: 0;
		before = now;
		if (stalled >= STALLED_MS) {
			if (maker_sleeps(until))
				return;
			stalled = 0;
		}
		if (!__atomic_load_n(&control.thread, __ATOMIC_RELAXED) && now > first + MAKER_NS)
			return;
		if (!control_wait(&thread.state, THREAD_STARTING, FUTEX_WAIT_PRIVATE,
				    next < until ? next : until))
			return;
	}
	wait_for_end_of_task(until);
}

/* In a task of its own, whose descriptors are not the program's. */
static void ask_beside(void)
{
	__atomic_store_n(&control.maker, (int)raw_call(SYS_gettid), __ATOMIC_RELAXED);
	control.shares_table = !own_table();
	if (control_take_turn(FIRST_QUESTION_MS)) {
		control_refresh(control.mode, false, AGENT_CONNECT_TIMEOUT_MS);
		control_give_turn();
	}
	have_asked();
}

/*
 * May this event in a handler ask the daemon? The first one, the last one, and those after a change
 * of a session.
 */
static bool may_ask_in_handler(bool last, enum control_changes changes)
{
	bool is_first = !control.suspicions++;

	return last || changes == CONTROL_CHANGED ||
			(is_first && changes == CONTROL_CHANGES_UNKNOWN);
}

/*
 * No thread here: the daemon is asked once, unless no session has changed. A program that says
 * nothing but in handlers must not pay for the question at each event; in the end it is as if it
 * had come in control mode sync.
 */
static void ask_in_handler(enum control_changes changes)
{
	bool last = control.suspicions >= CONTROL_SUSPICIONS_MAX;
	/*
	 * Acquire: what the thread has done. Pairs with the release in control_thread_set_state().
	 */
	uint32_t state = __atomic_load_n(&thread.state, __ATOMIC_ACQUIRE);

	/*
	 * The thread has a connection, or will have one: of two connections the daemon closes the
	 * older one.
	 */
	if (state == THREAD_STARTING || state == THREAD_TALKED)
		return;
	if (!may_ask_in_handler(last, changes) || !control_take_turn(0))
		return;
	if (last)
		agent.control.mode = control.mode = WIRE_CONTROL_SYNC;
	control_give_turn();
	__atomic_store_n(&thread.asked, 0, __ATOMIC_RELAXED);
	if (control_starter_run(ask_beside) > 0) {
		uint64_t until = wire_deadline(agent_scale_timeout(FIRST_QUESTION_MS));

		if (changes != CONTROL_UNCHANGED) {
			wait_until_asked(until);
			wait_for_end_of_task(until);
		}
	} else if (control_take_turn(0)) {
		control_refresh(control.mode, false, AGENT_CONNECT_TIMEOUT_MS);
		control_give_turn();
	}
	if (last)
		stop_listening();
}

/*
 * Mode signal: an event in which the probes can be set that a handler has heard of. Once, whatever
 * comes of it, for the signal comes again when there is more.
 */
static void control_thread_refresh_probes(void)
{
	if (!outside_handlers() || !control_take_turn(0))
		return;
	stop_listening();
	control_refresh(WIRE_CONTROL_SIGNAL, true, AGENT_CONNECT_TIMEOUT_MS);
	control_give_turn();
}

/*
 * True also if the task has ended and the thread still waits for the daemon: that was waited for
 * once.
 */
static bool is_settled(void)
{
	/*
	 * Relaxed: the kernel clears the first word, and orders nothing; the second one is an
	 * estimate. Acquire: what the thread has done. Pairs with the release in
	 * control_thread_set_state().
	 */
	return !__atomic_load_n(control_starter_running(), __ATOMIC_RELAXED) &&
			(__atomic_load_n(&thread.waited, __ATOMIC_RELAXED) ||
					__atomic_load_n(&thread.state, __ATOMIC_ACQUIRE) !=
							THREAD_STARTING);
}

void control_thread_settle(void)
{
	uint64_t deadline;

	/*
	 * A child in our memory waits for nothing of its parent's. In a sandbox no call may be
	 * made.
	 */
	if (is_settled() || agent_is_sandboxed() || control.pid != raw_call(SYS_getpid))
		return;
	deadline = wire_deadline(FIRST_QUESTION_MS);
	while (!is_settled()) {
		if (wire_deadline(0) >= deadline) {
			__atomic_store_n(&thread.waited, true, __ATOMIC_RELAXED);
			return;
		}
		pause_ms(1);
	}
}

/*
 * No thread can be created. The process behaves as in control mode sync, and tells the daemon,
 * which otherwise waits for it at each change. With the turn.
 */
static void become_sync(bool may_wait, unsigned int timeout_ms)
{
	if (control.mode != WIRE_CONTROL_THREAD)
		return;
	agent.control.mode = control.mode = WIRE_CONTROL_SYNC;
	if (!control_is_hopeless())
		control_refresh(WIRE_CONTROL_SYNC, may_wait, timeout_ms);
}

/*
 * In the task that creates the thread, which may wait. Its connection is not in the program's
 * descriptor table.
 */
static void go_on_without_thread(void)
{
	control_thread_disconnect();
	control_memory_unmap(thread.memory);
	thread.memory = NULL;
	while (!control_take_turn(AGENT_CONNECT_TIMEOUT_MS))
		;
	become_sync(true, AGENT_CONNECT_TIMEOUT_MS);
	control_give_turn();
	side_tracer_disarm();
}

/*
 * Beside the program, whose locks it may wait for. The state changes last: until then no event has
 * another thread started.
 */
static void create_beside(void)
{
	int ret;

	__atomic_store_n(&control.maker, (int)raw_call(SYS_gettid), __ATOMIC_RELAXED);
	control.shares_table = !own_table();
	thread.has_table = true;
	ask_first(FIRST_QUESTION_MS);
	ret = control_thread_create();
	if (!ret)
		return;
	agent_debug("cannot start the control thread: error %d", -ret);
	go_on_without_thread();
	control_thread_set_state(THREAD_NONE);
}

/*
 * In the event itself, which waits for nothing but the daemon. If another one talks with the
 * daemon, the next event tries again.
 */
static void control_thread_send_without_thread(void)
{
	thread.is_first = control_take_turn(0);
	if (!thread.is_first)
		return;
	become_sync(false, FIRST_QUESTION_MS);
	control_give_turn();
}

/*
 * Not if the thread has ended meanwhile, and wants another event to start a new one: it stores its
 * state first, and then arms.
 */
static void stop_listening_if_started(void)
{
	uint32_t state;

	if (!side_tracer_trylock())
		return;
	/*
	 * Acquire: what the thread has done. Pairs with the release in control_thread_set_state().
	 */
	state = __atomic_load_n(&thread.state, __ATOMIC_ACQUIRE);
	if (state == THREAD_STARTING || state == THREAD_TALKED)
		side_tracer_disarm();
	side_tracer_unlock();
}

/* False: the process goes on without a thread, and the daemon knows. */
static bool start_beside(void)
{
	int ret = control_starter_run(create_beside);

	if (ret > 0)
		__atomic_store_n(&control.maker, ret, __ATOMIC_RELAXED);
	if (ret == -ENOSYS)
		ret = control_thread_create();
	if (ret >= 0)
		return true;
	agent_debug("cannot start the control thread: error %d", -ret);
	control_starter_call(control_thread_send_without_thread);
	/* Relaxed: the release of the state below orders it. */
	__atomic_store_n(&thread.asked, 1, __ATOMIC_RELAXED);
	/*
	 * Release: the failure before the state. Pairs with the acquires in control_thread_spawn()
	 * and control_thread_end().
	 */
	__atomic_store_n(&thread.state, THREAD_NONE, __ATOMIC_RELEASE);
	return !thread.is_first;
}

/*
 * The caller may hold any lock: the allocator's, the loader's, one of its own. So it allocates
 * nothing, opens nothing and creates no thread. If no session has changed since the last exchange,
 * it does not wait either, and the process stays armed until the daemon was asked: a session that
 * begins meanwhile applies to the next event. Otherwise it waits until the daemon was asked for the
 * rules that apply to this event. After that the thread is responsible: no event asks again.
 */
static void start_from_event(enum control_changes changes)
{
	uint64_t until = wire_deadline(agent_scale_timeout(FIRST_QUESTION_MS));
	bool is_unchanged = changes == CONTROL_UNCHANGED;

	if (begin_start() && !start_beside()) {
		stop_listening();
		return;
	}
	/* Acquire: what the exchange has done. Pairs with the release in have_asked(). */
	if (is_unchanged && !__atomic_load_n(&thread.asked, __ATOMIC_ACQUIRE))
		return;
	if (!is_unchanged && !control_is_hopeless()) {
		wait_until_asked(until);
		wait_while_started(until);
	}
	stop_listening_if_started();
}

/*
 * If a session has changed and the event passes without it, note that. With a connection the daemon
 * itself waits for the process.
 */
static void ask_from_event(void)
{
	/*
	 * Acquire: what the thread has done. Pairs with the release in control_thread_set_state().
	 */
	bool is_connected = __atomic_load_n(&thread.state, __ATOMIC_ACQUIRE) == THREAD_TALKED;
	uint64_t begun = wire_deadline(0);
	enum control_changes changes = control_changes();

	if (outside_handlers())
		start_from_event(changes);
	else
		ask_in_handler(changes);
	if (changes != CONTROL_UNCHANGED && !is_connected)
		agent_late_pass(begun, changes == CONTROL_CHANGED);
}

/* libside: the next event of an armed process. */
static void event_is_called(void)
{
	/* Check this first: in a sandbox, no system call may be made. */
	if (agent_is_sandboxed()) {
		stop_listening();
		return;
	}
	/* A child that runs in our memory, or one that no handler of ours has prepared. */
	if (control.pid != raw_call(SYS_getpid))
		return;
	if (control.mode != WIRE_CONTROL_THREAD && control.mode != WIRE_CONTROL_SIGNAL)
		return;
	if (atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed)) {
		stop_listening();
		return;
	}
	if (control.mode == WIRE_CONTROL_SIGNAL) {
		control_thread_refresh_probes();
		return;
	}
	ask_from_event();
}

static int add_thread_data(struct dl_phdr_info *object, size_t size, void *user)
{
	size_t *total = user;
	uint32_t i;

	(void)size;
	for (i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_TLS)
			*total += object->dlpi_phdr[i].p_memsz + object->dlpi_phdr[i].p_align;
	return 0;
}

/* Bytes of the thread-local data of all loaded objects, in whole pages. */
static size_t control_thread_data(void)
{
	static size_t known; /* for a forked child that cannot walk */
	size_t data = 4096;

	if (agent_objects_are_stuck())
		return known ? known : 1u << 20;
	agent_objects_each(add_thread_data, &data);
	known = (data + 4095) & ~(size_t)4095;
	return known;
}

/* The C library puts thread-local data on the stack. Measured where the loader may be asked. */
static size_t stack_size(size_t data)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
	data += 1u << 20; /* sanitizers have large frames */
#endif
	return THREAD_STACK + data;
}

void control_thread_prepare(void)
{
	size_t data;

	/* Relaxed: one thread at a time attaches; a forked child finds all of it or nothing. */
	if (__atomic_load_n(&thread.stack, __ATOMIC_RELAXED))
		return;
	data = control_thread_data();
	control_starter_prepare(data);
	agent_probes_count_libside();
	thread.count = dlsym(RTLD_DEFAULT, "__nptl_nthreads");
	(void)dlerror();
	/*
	 * Release: everything that was prepared, before the size. Pairs with the acquire in
	 * control_thread_is_prepared().
	 */
	__atomic_store_n(&thread.stack, stack_size(data), __ATOMIC_RELEASE);
}

bool control_thread_is_prepared(void)
{
	/* Acquire: all that was prepared. Pairs with the release in control_thread_prepare(). */
	return __atomic_load_n(&thread.stack, __ATOMIC_ACQUIRE) != 0;
}

int control_thread_start(void)
{
	return control_thread_spawn() ? 0 : -EAGAIN;
}

void control_thread_wake(void)
{
	if (!control_thread_start())
		side_tracer_disarm();
}

/*
 * Its connection ends, though the descriptor is in a table of its own. Kernels before 6.9 cannot.
 */
static void wake_thread(void)
{
	int socket = __atomic_load_n(&thread.socket, __ATOMIC_RELAXED);
	long process, copy;

	if (socket < 0 || control.shares_table)
		return;
	process = raw_call(SYS_pidfd_open, control.thread, O_EXCL /* PIDFD_THREAD */);
	if (process < 0)
		return;
	copy = raw_call(SYS_pidfd_getfd, (int)process, socket, 0);
	if (copy >= 0) {
		raw_call(SYS_shutdown, (int)copy, SHUT_RDWR);
		raw_close((int)copy);
	}
	raw_close((int)process);
}

uint32_t control_thread_greetings(void)
{
	return __atomic_load_n(&thread.greetings, __ATOMIC_RELAXED);
}

bool control_thread_is_connected(void)
{
	/* Relaxed: no more than a moment's look at another thread's. */
	return __atomic_load_n(&thread.socket, __ATOMIC_RELAXED) >= 0;
}

void control_thread_end(void)
{
	uint64_t deadline = wire_deadline((HEARTBEAT_S + 1) * 1000);
	uint32_t state;

	wake_thread();
	/*
	 * Acquire: what the thread has done. Pairs with the releases in control_thread_set_state()
	 * and check_sandbox().
	 */
	do {
		state = __atomic_load_n(&thread.state, __ATOMIC_ACQUIRE);
		if (state == THREAD_NONE || state == THREAD_GONE)
			break;
		pause_ms(1);
	} while (wire_deadline(0) < deadline);
}

void control_remember_mask(void)
{
	control.mask = blocked_signals();
}

void control_arm(void)
{
	control_remember_mask();
	control.suspicions = 0;
	/* Release: what it uses. Pairs with the acquire in context_watch_wait_for_thread(). */
	__atomic_store_n(&context_thread_settles, control_thread_settle, __ATOMIC_RELEASE);
	side_tracer_arm(event_is_called);
}

void control_arm_once(void)
{
	side_tracer_arm(event_is_called);
}

void control_thread_forked(void)
{
	/* With a shared table the child has our socket. */
	if (control.shares_table)
		control_thread_disconnect();
	thread.socket = thread.status = -1;
	thread.state = THREAD_NONE;
	control.shares_table = thread.has_table = false;
	control.thread = control.maker = 0;
	/*
	 * Not unmapped: the parent's thread may have done that, and others may have mapped memory
	 * there since.
	 */
	thread.memory = NULL;
	control_starter_forked();
}
