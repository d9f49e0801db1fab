/* SPDX-License-Identifier: MIT */
/* Starts, pauses and stops the thread that runs state dumps (statedump-agent.h). */
#include "statedump-agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lock.h"
#include "statedump-states.h"

/*
 * The wrappers recognize a call of the tracer by its return address, so the last call of a function
 * must not be a jump (a tail call has the return address of the caller).
 */
#define NO_TAIL_CALL() __asm__ volatile("")

/*
 * NONE -> RUNNING (statedump_thread_start) -> STOPPING (statedump_thread_stop) -> ENDED (the
 * thread, as its last action) -> NONE (the stopping thread, after joining it). A detached thread
 * goes from STOPPING to NONE itself.
 */
enum statedump_thread_state {
	THREAD_NONE,
	THREAD_RUNNING,
	THREAD_STOPPING,
	THREAD_ENDED,
};

enum {
	PAUSE_MAX_MS = 2000,
};

/* Protected by the lock of the state dump. */
static enum statedump_thread_state state;
static pthread_t thread;
static uintptr_t thread_id;
static int thread_tid;
static bool detached; /* no thread joins it: it stopped itself, or took too long */
static unsigned int nr_pauses;
static bool busy; /* runs a dump */

static void *statedump_thread_main(void *unused)
{
	struct side_statedump_request_handle *handle;

	(void)unused;
	/* Relaxed: the loop reads it again. */
	__atomic_store_n(&thread_tid, (int)syscall(SYS_gettid), __ATOMIC_RELAXED);
	(void)prctl(PR_SET_NAME, "side-statedump", 0, 0, 0);
	statedump_lock();
	thread_id = thread_identity();
	while (state == THREAD_RUNNING) {
		handle = nr_pauses ? NULL : statedump_oldest(SIDE_STATEDUMP_MODE_AGENT_THREAD);
		if (!handle) {
			statedump_wait(-1);
			continue;
		}
		busy = true;
		statedump_run_one(handle);
		busy = false;
		statedump_changed();
	}
	thread_id = 0;
	state = detached ? THREAD_NONE : THREAD_ENDED;
	detached = false;
	statedump_changed();
	statedump_unlock();
	return NULL;
}

bool statedump_thread_runs(void)
{
	return state == THREAD_RUNNING;
}

bool statedump_thread_is_me(void)
{
	return thread_id == thread_identity();
}

/*
 * Reads the system call that the thread is in, with all arguments and registers: equal texts mean
 * the same wait.
 */
static bool statedump_thread_read_call(int tid, char text[STATEDUMP_CALL_SIZE])
{
	char path[64];
	long fd, size;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = syscall(SYS_read, (int)fd, text, STATEDUMP_CALL_SIZE - 1);
	(void)syscall(SYS_close, (int)fd);
	text[size > 0 ? size : 0] = 0;
	return size > 0;
}

int64_t statedump_thread_lock_wait_ms(struct statedump_thread_sleep *sleep)
{
	char text[STATEDUMP_CALL_SIZE];
	int saved_errno = errno, tid = __atomic_load_n(&thread_tid, __ATOMIC_RELAXED);
	/*
	 * If the state of the thread cannot be read, assume that it waits. Before it has stored its
	 * tid, it does not.
	 */
	bool known = tid && statedump_thread_read_call(tid, text);
	bool waits = tid && (!known || atoi(text) == SYS_futex);

	errno = saved_errno;
	if (!waits || (known && strcmp(text, sleep->call) != 0))
		sleep->since = monotonic_ms();
	strcpy(sleep->call, known ? text : "");
	return monotonic_ms() - sleep->since;
}

bool statedump_thread_start(void)
{
	sigset_t all, before;
	int error;

	while (state == THREAD_STOPPING || state == THREAD_ENDED) {
		if (statedump_thread_is_me())
			return false;
		statedump_wait(-1);
	}
	if (state == THREAD_RUNNING)
		return true;
	/*
	 * First, because creating a thread may be traced, and the tracer may ask for a dump
	 * meanwhile.
	 */
	state = THREAD_RUNNING;
	__atomic_store_n(&thread_tid, 0, __ATOMIC_RELAXED);
	/* No signal of the program may be delivered to a thread that the program does not know. */
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, statedump_thread_main, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		state = THREAD_NONE;
	return !error;
}

void statedump_thread_stop(int timeout_ms)
{
	int64_t end = monotonic_ms() + timeout_ms;
	int cancellable;
	pthread_t joined;

	if (state != THREAD_RUNNING)
		return;
	state = THREAD_STOPPING;
	statedump_changed();
	while (!statedump_thread_is_me() && state != THREAD_ENDED) {
		int64_t left = end - monotonic_ms();

		if (timeout_ms >= 0 && left <= 0)
			break;
		statedump_wait(timeout_ms >= 0 ? (int)left : -1);
	}
	if (state != THREAD_ENDED) {
		detached = true;
		(void)pthread_detach(thread);
		NO_TAIL_CALL();
		return;
	}
	/* Without the lock, because the thread may need it to end. */
	joined = thread;
	statedump_unlock();
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
	(void)pthread_join(joined, NULL);
	(void)pthread_setcancelstate(cancellable, NULL);
	statedump_lock();
	state = THREAD_NONE;
	statedump_changed();
}

void statedump_thread_pause(void)
{
	int64_t end = monotonic_ms() + PAUSE_MAX_MS;

	nr_pauses++;
	while (busy && !statedump_thread_is_me()) {
		int64_t left = end - monotonic_ms();

		if (left <= 0)
			break;
		statedump_wait((int)left);
	}
}

void statedump_thread_resume(void)
{
	nr_pauses--;
	statedump_changed();
}

void statedump_thread_forget(void)
{
	nr_pauses = 0;
	if (statedump_thread_is_me())
		return;
	state = THREAD_NONE;
	thread_id = 0;
	detached = false;
	busy = false;
}
