/* SPDX-License-Identifier: MIT */
/*
 * Proves that no thread is on its way to the handler of a trap. When all sites have their bytes
 * again and each thread has passed a barrier, no thread meets a trap any more. But a thread that
 * has met one before may have been preempted anywhere on the following path, and the kernel looks
 * up the handler only at its end:
 *
 *	trap → (a) the kernel makes it a signal → (b) it takes that up and looks up its handler
 *	     → the handler begins
 *
 * In (a) no thread sleeps. In (b) the signal is visible (SigPnd), and the kernel takes it up and
 * looks up its handler in one step, unless a tracer intervenes. So a thread has arrived if it
 * sleeps, is stopped or has ended, and has no such signal and no tracer. (The state is read before
 * the signals.)
 *
 * A thread that never sleeps is stopped by a tracer of side: the kernel stops threads on their way
 * out of the kernel, in (b), before they take up a signal. A trap would have unblocked its signal,
 * so signals that are pending and blocked come from the program.
 *
 * The list of threads is complete only if none of them has ended while it was read: so each is
 * checked afterwards. New threads have met no trap.
 */
#include "parts.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_AT_ONCE 4096
#define LISTS 20
#define SCANS_MAX 8
#define SCAN_EVERY_US 500
#define STOPS 3

static struct {
	pid_t listed[THREADS_AT_ONCE];
	unsigned int count;
	pid_t left[THREADS_AT_ONCE]; /* threads of which it is not known yet */
	unsigned int nr_left;
	bool guarded;
} threads;

static void patch_arrival_list_threads(pid_t tid, void *data)
{
	(void)data;
	if (threads.count < THREADS_AT_ONCE)
		threads.listed[threads.count] = tid;
	threads.count++;
}

static bool patch_arrival_all_exist(void)
{
	for (unsigned int i = 0; i < threads.count; i++) {
		if (patch_system_call(SYS_tgkill, getpid(), threads.listed[i], 0, 0, 0, 0) ==
				-ESRCH)
			return false;
	}
	return true;
}

static bool patch_arrival_list_all_threads(void)
{
	for (unsigned int i = 0; i < LISTS; i++) {
		threads.count = 0;
		if (!patch_threads_each(patch_arrival_list_threads, NULL) ||
				threads.count > THREADS_AT_ONCE)
			return false;
		if (patch_arrival_all_exist())
			return true;
	}
	return false;
}

/* Returns false if the property is false for a thread. */
static bool patch_arrival_check_threads(
		const pid_t *tids, unsigned int count, const struct patch_proof *proof)
{
	unsigned int nr_unknown = 0;

	for (unsigned int i = 0; i < count; i++) {
		enum patch_verdict shown = proof->check(tids[i], &threads.guarded);

		if (shown == PATCH_DISPROVED)
			return false;
		if (shown == PATCH_UNPROVED)
			threads.left[nr_unknown++] = tids[i];
	}
	threads.nr_left = nr_unknown;
	return true;
}

/*
 * Checks again right before each stop, so that a thread that waits in a system call by now is not
 * disturbed.
 */
static bool patch_arrival_check_stopped(pid_t tid, const struct patch_proof *proof)
{
	for (unsigned int i = 0; i < STOPS; i++) {
		enum patch_verdict shown = proof->check(tid, &threads.guarded);

		if (shown != PATCH_UNPROVED)
			return shown == PATCH_PROVED;
		if (patch_threads_stop(&tid, 1, proof->at_stop) && proof->was_proved(tid))
			return true;
	}
	return false;
}

bool patch_threads_prove(const struct patch_proof *proof)
{
	pid_t self = (pid_t)patch_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
	unsigned int others = 0;

	if (!patch_arrival_list_all_threads())
		return false;
	threads.guarded = false;
	for (unsigned int i = 0; i < threads.count; i++) {
		if (threads.listed[i] != self)
			threads.listed[others++] = threads.listed[i];
	}
	if (!patch_arrival_check_threads(threads.listed, others, proof))
		return false;
	for (unsigned int i = 0; threads.nr_left && i < SCANS_MAX; i++) {
		usleep(SCAN_EVERY_US);
		if (!patch_arrival_check_threads(threads.left, threads.nr_left, proof))
			return false;
	}
	/*
	 * Under a seccomp filter, the program might be killed at a system call that its filter does
	 * not expect.
	 */
	for (unsigned int i = 0; i < threads.nr_left; i++) {
		if (threads.guarded || !patch_arrival_check_stopped(threads.left[i], proof))
			return false;
	}
	return true;
}

/* ---- the proof for each thread ---- */

static bool patch_arrival_has_trapped(const struct patch_thread *thread)
{
	return (thread->pending & ~thread->blocked & PATCH_TRAP_SIGNALS) != 0;
}

static enum patch_verdict patch_arrival_has_arrived(pid_t tid, bool *guarded)
{
	struct patch_thread thread;
	bool there = patch_thread_inspect(tid, &thread);

	*guarded |= thread.guarded;
	return !there ||
					(strchr("STZX", thread.state) && !thread.traced &&
							!patch_arrival_has_trapped(&thread))
			? PATCH_PROVED
			: PATCH_UNPROVED;
}

/* The kernel stops a thread after (a). */
static bool patch_arrival_had_arrived(pid_t tid)
{
	struct patch_thread thread;

	return !patch_thread_inspect(tid, &thread) ||
			(!thread.traced && !patch_arrival_has_trapped(&thread));
}

bool patch_all_arrived(void)
{
	static const struct patch_proof proof = {.check = patch_arrival_has_arrived,
			.was_proved = patch_arrival_had_arrived};

	return patch_threads_prove(&proof);
}
