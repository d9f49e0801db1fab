/* SPDX-License-Identifier: MIT */
/*
 * Whether all threads that have met a trap have come to its handler. When the bytes of all places are again what they were and each
 * thread has passed a barrier, none meets a trap any more; but one that has met one before may have lost the processor anywhere
 * on this way, and the kernel looks up the handler at its end only:
 *
 *	the trap → (a) the kernel makes it a signal → (b) takes that up and looks up its handler → the handler begins
 *
 * In (a) no thread sleeps. In (b) the signal is there to be seen (SigPnd), and it is taken up and its handler looked up in one
 * piece, unless a tracer comes in between. So a thread that sleeps, is stopped or has ended, and then has no such signal and no
 * tracer, has come by. (The state is read before the signals.)
 *
 * A thread that never sleeps is stopped by a tracer of ours: the kernel stops threads on their way back, in (b), before they take up
 * a signal. A trap of a blocked signal would have unblocked it, so those that are pending and blocked are the program's.
 *
 * The list of threads is right only if none has ended while it was read: then each of it is there still. New ones have met nothing.
 */
#include "parts.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_AT_ONCE 4096
#define LISTS 20
#define LOOKS 8
#define LOOK_US 500
#define STOPS 3

static struct {
	pid_t listed[THREADS_AT_ONCE];
	unsigned int count;
	pid_t left[THREADS_AT_ONCE]; /* of which it is not known */
	unsigned int nr_left;
	bool guarded;
} threads;

static bool has_trapped(const struct patch_thread *thread)
{
	return (thread->pending & ~thread->blocked & PATCH_TRAP_SIGNALS) != 0;
}

static bool has_arrived(pid_t tid)
{
	struct patch_thread thread;
	bool there = patch_thread_look(tid, &thread);

	threads.guarded |= thread.guarded;
	return !there || (strchr("STZX", thread.state) && !thread.traced && !has_trapped(&thread));
}

static void list(pid_t tid, void *data)
{
	(void)data;
	if (threads.count < THREADS_AT_ONCE)
		threads.listed[threads.count] = tid;
	threads.count++;
}

static bool all_are_there(void)
{
	for (unsigned int i = 0; i < threads.count; i++) {
		if (patch_system_call(SYS_tgkill, getpid(), threads.listed[i], 0, 0, 0, 0) ==
				-ESRCH)
			return false;
	}
	return true;
}

static bool list_all(void)
{
	for (unsigned int i = 0; i < LISTS; i++) {
		threads.count = 0;
		if (!patch_threads_each(list, NULL) || threads.count > THREADS_AT_ONCE)
			return false;
		if (all_are_there())
			return true;
	}
	return false;
}

static void look_at_left(void)
{
	unsigned int still = 0;

	for (unsigned int i = 0; i < threads.nr_left; i++) {
		if (!has_arrived(threads.left[i]))
			threads.left[still++] = threads.left[i];
	}
	threads.nr_left = still;
}

/* Looked at once more right before: one that waits in a system call now is not disturbed. */
static bool arrives_when_stopped(pid_t tid)
{
	struct patch_thread thread;

	for (unsigned int i = 0; i < STOPS; i++) {
		if (has_arrived(tid))
			return true;
		if (patch_threads_stop(&tid, 1, NULL) &&
				(!patch_thread_look(tid, &thread) ||
						(!thread.traced && !has_trapped(&thread))))
			return true;
	}
	return false;
}

bool patch_all_arrived(void)
{
	pid_t self = (pid_t)patch_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);

	if (!list_all())
		return false;
	threads.nr_left = 0;
	threads.guarded = false;
	for (unsigned int i = 0; i < threads.count; i++) {
		if (threads.listed[i] != self && !has_arrived(threads.listed[i]))
			threads.left[threads.nr_left++] = threads.listed[i];
	}
	for (unsigned int i = 0; threads.nr_left && i < LOOKS; i++) {
		usleep(LOOK_US);
		look_at_left();
	}
	/* Where system calls are filtered, who knows what happens to one that is not expected. */
	for (unsigned int i = 0; i < threads.nr_left; i++) {
		if (threads.guarded || !arrives_when_stopped(threads.left[i]))
			return false;
	}
	return true;
}
