/* SPDX-License-Identifier: MIT */
/*
 * Threads that block the signals of traps. The kernel ends a program one of whose threads meets a trap in that state, so while
 * bytes change, no thread may be in it. Some are for good: jemalloc makes threads that block everything.
 *
 * Nobody can change the mask of another thread but a tracer: so each of these stands still for some microseconds (threads.c),
 * and these two signals are taken out of its mask.
 */
#include "parts.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GET_MASK 0x420a /* PTRACE_GETSIGMASK, which not all headers have */
#define SET_MASK 0x420b
#define MASK_BYTES 8
#define TRIES 100
#define TRY_US 1000
#define THREADS_AT_ONCE 1024

struct blockers {
	pid_t threads[THREADS_AT_ONCE];
	unsigned int count;
	bool guarded; /* system calls are filtered: who knows what happens to one that is not expected */
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

/* In the child of threads.c. */
static void open_mask(pid_t thread)
{
	uint64_t mask = 0;

	if (patch_system_call(SYS_ptrace, GET_MASK, thread, MASK_BYTES, (long)&mask, 0, 0))
		return;
	mask &= ~PATCH_TRAP_SIGNALS;
	patch_system_call(SYS_ptrace, SET_MASK, thread, MASK_BYTES, (long)&mask, 0, 0);
}

void patch_unblock_self(void)
{
	uint64_t ours = PATCH_TRAP_SIGNALS;

	/* Not by way of libc: what that does may have a probe. */
	patch_system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&ours, 0, MASK_BYTES, 0, 0);
}

bool patch_unblock(void)
{
	static struct blockers found;

	patch_unblock_self();
	for (unsigned int i = 0; i < TRIES; i++) {
		bool whole;

		found.count = 0;
		found.guarded = false;
		whole = patch_threads_each(patch_blocked_check_thread, &found);
		/* Without /proc nobody says it, ever. */
		if (!found.count && (whole || errno == ENOENT))
			return true;
		/* libc blocks all signals for a moment when it makes threads and processes: so first wait. */
		if (i && found.count && !found.guarded)
			patch_threads_stop(found.threads, found.count, open_mask);
		else
			usleep(TRY_US);
	}
	return false;
}
