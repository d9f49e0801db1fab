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
 * NONE -> RUNNING (agent_start) -> STOPPING (agent_stop) -> ENDED (the thread, as its last action)
 * -> NONE (the stopping thread, after joining it). A detached thread goes from STOPPING to NONE
 * itself.
 */
enum agent_state {
	AGENT_NONE,
	AGENT_RUNNING,
	AGENT_STOPPING,
	AGENT_ENDED,
};

enum {
	PAUSE_MAX_MS = 2000,
};

/* Protected by the lock of the state dump. */
static enum agent_state state;
static pthread_t thread;
static uintptr_t identity;
static int number;
static bool detached; /* no thread joins it: it stopped itself, or took too long */
static unsigned int pauses;
static bool busy; /* runs a dump */

static void *agent_main(void *unused)
{
	struct side_statedump_request_handle *handle;

	(void)unused;
	/* Relaxed: the loop reads it again. */
	__atomic_store_n(&number, (int)syscall(SYS_gettid), __ATOMIC_RELAXED);
	(void)prctl(PR_SET_NAME, "side-statedump", 0, 0, 0);
	statedump_lock();
	identity = thread_identity();
	while (state == AGENT_RUNNING) {
		handle = pauses ? NULL : statedump_oldest(SIDE_STATEDUMP_MODE_AGENT_THREAD);
		if (!handle) {
			statedump_wait(-1);
			continue;
		}
		busy = true;
		statedump_run_one(handle);
		busy = false;
		statedump_changed();
	}
	identity = 0;
	state = detached ? AGENT_NONE : AGENT_ENDED;
	detached = false;
	statedump_changed();
	statedump_unlock();
	return NULL;
}

bool agent_runs(void)
{
	return state == AGENT_RUNNING;
}

bool agent_is_me(void)
{
	return identity == thread_identity();
}

/*
 * Reads the system call that the thread is in, with all arguments and registers: equal texts mean
 * the same wait.
 */
static bool agent_read_call(int tid, char text[AGENT_CALL_SIZE])
{
	char path[64];
	long fd, size;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = syscall(SYS_read, (int)fd, text, AGENT_CALL_SIZE - 1);
	(void)syscall(SYS_close, (int)fd);
	text[size > 0 ? size : 0] = 0;
	return size > 0;
}

int64_t agent_waits_for_lock(struct agent_sleep *sleep)
{
	char text[AGENT_CALL_SIZE];
	int saved_errno = errno, tid = __atomic_load_n(&number, __ATOMIC_RELAXED);
	/*
	 * If the state of the thread cannot be read, assume that it waits. Before it has stored its
	 * tid, it does not.
	 */
	bool known = tid && agent_read_call(tid, text);
	bool waits = tid && (!known || atoi(text) == SYS_futex);

	errno = saved_errno;
	if (!waits || (known && strcmp(text, sleep->call) != 0))
		sleep->since = monotonic_ms();
	strcpy(sleep->call, known ? text : "");
	return monotonic_ms() - sleep->since;
}

bool agent_start(void)
{
	sigset_t all, before;
	int error;

	while (state == AGENT_STOPPING || state == AGENT_ENDED) {
		if (agent_is_me())
			return false;
		statedump_wait(-1);
	}
	if (state == AGENT_RUNNING)
		return true;
	/*
	 * First, because creating a thread may be traced, and the tracer may ask for a dump
	 * meanwhile.
	 */
	state = AGENT_RUNNING;
	__atomic_store_n(&number, 0, __ATOMIC_RELAXED);
	/* No signal of the program may be delivered to a thread that the program does not know. */
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, agent_main, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		state = AGENT_NONE;
	return !error;
}

void agent_stop(int timeout_ms)
{
	int64_t end = monotonic_ms() + timeout_ms;
	int cancellable;
	pthread_t joined;

	if (state != AGENT_RUNNING)
		return;
	state = AGENT_STOPPING;
	statedump_changed();
	while (!agent_is_me() && state != AGENT_ENDED) {
		int64_t left = end - monotonic_ms();

		if (timeout_ms >= 0 && left <= 0)
			break;
		statedump_wait(timeout_ms >= 0 ? (int)left : -1);
	}
	if (state != AGENT_ENDED) {
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
	state = AGENT_NONE;
	statedump_changed();
}

void agent_pause(void)
{
	int64_t end = monotonic_ms() + PAUSE_MAX_MS;

	pauses++;
	while (busy && !agent_is_me()) {
		int64_t left = end - monotonic_ms();

		if (left <= 0)
			break;
		statedump_wait((int)left);
	}
}

void agent_resume(void)
{
	pauses--;
	statedump_changed();
}

void agent_forget(void)
{
	pauses = 0;
	if (agent_is_me())
		return;
	state = AGENT_NONE;
	identity = 0;
	detached = false;
	busy = false;
}
