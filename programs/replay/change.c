/* SPDX-License-Identifier: MIT */
/*
 * Waits for the main thread at each change of the recorded events.
 *
 * The agent's thread calls the handler and waits for the main thread, which holds no lock that the
 * agent needs. It wakes the main thread with a signal; the main thread reads it from its signal
 * descriptor.
 */
#include "base/clock.h"
#include "replay.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The process that requested the change waits, too. */
#define TIMEOUT_S 5

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static enum change_state state;
static pthread_t main_thread;
static pid_t main_tid;

static void change_notify(bool after)
{
	struct timespec until;

	/*
	 * The main thread emitted an event and found the change itself: it must not wait for
	 * itself.
	 */
	if (pthread_equal(pthread_self(), main_thread))
		return;
	until = clock_timespec_from_ns(clock_realtime_ns() + TIMEOUT_S * CLOCK_NS_PER_S);
	pthread_mutex_lock(&lock);
	state = after ? CHANGE_ENDS : CHANGE_BEGINS;
	if (!syscall(SYS_tgkill, getpid(), main_tid, CHANGE_SIGNAL))
		while (state != CHANGE_NONE &&
				pthread_cond_timedwait(&done, &lock, &until) != ETIMEDOUT)
			;
	state = CHANGE_NONE;
	pthread_mutex_unlock(&lock);
}

void change_open(void)
{
	main_thread = pthread_self();
	main_tid = gettid();
	agent_notify_changes(change_notify);
}

enum change_state change_get(void)
{
	enum change_state current;

	pthread_mutex_lock(&lock);
	current = state;
	pthread_mutex_unlock(&lock);
	return current;
}

void change_done(void)
{
	pthread_mutex_lock(&lock);
	state = CHANGE_NONE;
	pthread_cond_signal(&done);
	pthread_mutex_unlock(&lock);
}
