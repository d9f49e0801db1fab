/* SPDX-License-Identifier: MIT */
/*
 * Threads that block the signals of traps. The kernel ends a program one of whose threads meets a trap in that state, so while
 * bytes change, no thread may be in it. Some are for good: jemalloc makes threads that block everything.
 *
 * Nobody can change the mask of another thread but a tracer, and no thread can be the tracer of its own process. So a child
 * that shares all memory, and does nothing but system calls, takes these two signals out of the masks of its parent's
 * threads, each of which stands still for some microseconds. It sends no signal when it ends, and no wait() of
 * the program's sees it.
 */
#include "parts.h"

#include <dirent.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GET_MASK 0x420a /* PTRACE_GETSIGMASK, which not all headers have */
#define SET_MASK 0x420b
#define MASK_BYTES 8
#define OURS (1ULL << (SIGTRAP - 1) | 1ULL << (SIGILL - 1))
#define CHILD_STACK 16384
#define STOP_TRIES 200
#define STOP_NS 100000
#define TRIES 100
#define TRY_US 1000
#define THREADS_AT_ONCE 1024

struct blockers {
	pid_t threads[THREADS_AT_ONCE];
	unsigned int count;
	bool guarded; /* system calls are filtered: who knows what happens to one that is not expected */
};

static void look_at(const char *thread, struct blockers *found)
{
	unsigned long long mask = 0;
	char path[300], line[256];
	unsigned int seccomp = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		/* The order in which they stand there. */
		if (sscanf(line, "SigBlk: %llx", &mask) != 1 &&
				sscanf(line, "Seccomp: %u", &seccomp) == 1)
			break;
	}
	if (status)
		fclose(status);
	found->guarded |= seccomp != 0;
	if ((mask & OURS) && found->count < THREADS_AT_ONCE)
		found->threads[found->count++] = (pid_t)strtol(thread, NULL, 10);
}

static void find(struct blockers *found)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;

	found->count = 0;
	found->guarded = false;
	while (tasks && (task = readdir(tasks))) {
		if (task->d_name[0] != '.')
			look_at(task->d_name, found);
	}
	if (tasks)
		closedir(tasks);
}

/* ---- in the child, which calls nothing that could have a probe ---- */

static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

static bool wait_for_stop(pid_t thread)
{
	struct timespec pause = {.tv_nsec = STOP_NS};
	int status = 0;

	for (unsigned int i = 0; i < STOP_TRIES; i++) {
		if (call(SYS_wait4, thread, (long)&status, WNOHANG | __WALL, 0) == thread)
			return WIFSTOPPED(status);
		call(SYS_nanosleep, (long)&pause, 0, 0, 0);
	}
	return false;
}

/* A thread that cannot be stopped is let go when this child ends. */
static void unblock(pid_t thread)
{
	uint64_t mask = 0;

	if (call(SYS_ptrace, PTRACE_SEIZE, thread, 0, 0))
		return;
	if (call(SYS_ptrace, PTRACE_INTERRUPT, thread, 0, 0) || !wait_for_stop(thread))
		return;
	if (!call(SYS_ptrace, GET_MASK, thread, MASK_BYTES, (long)&mask)) {
		mask &= ~OURS;
		call(SYS_ptrace, SET_MASK, thread, MASK_BYTES, (long)&mask);
	}
	call(SYS_ptrace, PTRACE_DETACH, thread, 0, 0);
}

static int unblock_all(void *argument)
{
	const struct blockers *found = argument;

	for (unsigned int i = 0; i < found->count; i++)
		unblock(found->threads[i]);
	call(SYS_exit, 0, 0, 0, 0);
	return 0;
}

/* ---- outside of it ---- */

static void ask_child(struct blockers *found)
{
	static char stack[CHILD_STACK] __attribute__((aligned(16)));
	sigset_t all, before;
	pid_t child;

	/* What is sent to the whole group of processes is not for the child. */
	sigfillset(&all);
	sigdelset(&all, SIGTRAP);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	child = clone(unblock_all, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, found);
	while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void patch_unblock_self(void)
{
	uint64_t ours = OURS;

	/* Not by way of libc: what that does may have a probe. */
	call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&ours, 0, MASK_BYTES);
}

bool patch_unblock(void)
{
	static struct blockers found;

	patch_unblock_self();
	for (unsigned int i = 0; i < TRIES; i++) {
		find(&found);
		if (!found.count)
			return true;
		/* libc blocks all signals for a moment when it makes threads and processes: so first wait. */
		if (i && !found.guarded)
			ask_child(&found);
		else
			usleep(TRY_US);
	}
	return false;
}
