/* SPDX-License-Identifier: MIT */
/*
 * Unblocks the signals of traps in threads that block them. The kernel kills a program if one of
 * its threads meets a trap in that state, so no thread may block them while bytes change. Some
 * threads always block them: jemalloc creates threads that block all signals.
 *
 * Only a tracer can change the mask of another thread. So each of these threads is stopped for some
 * microseconds (threads.c), and the two signals are removed from its mask.
 */
#include "parts.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GET_MASK 0x420a /* PTRACE_GETSIGMASK, which some headers lack */
#define SET_MASK 0x420b
#define MASK_BYTES 8
#define TRIES 100
#define TRY_US 1000
#define THREADS_AT_ONCE 1024

struct blockers {
	pid_t threads[THREADS_AT_ONCE];
	unsigned int count;
	/* a seccomp filter applies, which may kill the program at an unexpected call */
	bool guarded;
};

static void patch_blocked_check_thread(pid_t tid, void *data)
{
	struct blockers *found = data;
	struct patch_thread thread;

	patch_thread_inspect(tid, &thread);
	found->guarded |= thread.guarded;
	if ((thread.blocked & PATCH_TRAP_SIGNALS) && found->count < THREADS_AT_ONCE)
		found->threads[found->count++] = tid;
}

/* Runs in the child of threads.c. */
static void patch_blocked_open_mask(pid_t thread)
{
	uint64_t mask = 0;

	if (patch_system_call(SYS_ptrace, GET_MASK, thread, MASK_BYTES, (long)&mask, 0, 0))
		return;
	mask &= ~PATCH_TRAP_SIGNALS;
	patch_system_call(SYS_ptrace, SET_MASK, thread, MASK_BYTES, (long)&mask, 0, 0);
}

void patch_unblock_self(void)
{
	uint64_t traps = PATCH_TRAP_SIGNALS;

	/* Not by a function of libc, which may have a probe. */
	patch_system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&traps, 0, MASK_BYTES, 0, 0);
}

bool patch_unblock(void)
{
	static struct blockers found;

	patch_unblock_self();
	for (unsigned int i = 0; i < TRIES; i++) {
		bool is_complete;

		found.count = 0;
		found.guarded = false;
		is_complete = patch_threads_each(patch_blocked_check_thread, &found);
		/* Without /proc, no thread can be listed, now or later. */
		if (!found.count && (is_complete || errno == ENOENT))
			return true;
		/*
		 * Libc blocks all signals for a moment when it creates threads and processes, so
		 * wait first.
		 */
		if (i && found.count && !found.guarded)
			patch_threads_stop(found.threads, found.count, patch_blocked_open_mask);
		else
			usleep(TRY_US);
	}
	return false;
}
