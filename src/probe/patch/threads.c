/* SPDX-License-Identifier: MIT */
/*
 * Lists the threads of this process, reads their state, and stops threads for some microseconds.
 *
 * Only a tracer can stop a thread, and no thread can trace its own process. So a child does that,
 * which shares all memory and makes only system calls. It sends no signal when it exits, and no
 * wait() of the program reports it.
 */
#include "parts.h"

#include "base/inside/task.h"

#include <dirent.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILD_STACK 16384
#define STOP_TRIES 200
#define STOP_NS 100000
/* Internal to the kernel: restart the call unless a handler runs now. */
#define ERESTARTNOHAND 514
#define KERNEL_WORKER 0x4010 /* PF_IO_WORKER, PF_USER_WORKER; in no header */

/* ---- the state of threads ---- */

static bool patch_thread_has_worker_name(const char *line)
{
	return !strncmp(line, "Name:\tiou-", 10) || !strncmp(line, "Name:\tvhost-", 12);
}

/*
 * True for a thread that the kernel has added (io_uring, vhost): its flags are the seventh number
 * after the name.
 */
static bool patch_thread_is_worker(pid_t tid)
{
	char path[64], text[512] = "";
	unsigned int flags = 0;
	const char *remainder;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	stat = fopen(path, "re");
	remainder = stat && fgets(text, sizeof(text), stat) ? strrchr(text, ')') : NULL;
	if (stat)
		fclose(stat);
	return remainder && sscanf(remainder, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
			(flags & KERNEL_WORKER);
}

bool patch_thread_inspect(pid_t tid, struct patch_thread *ret_thread)
{
	char path[64], line[256];
	FILE *status;
	int error;

	*ret_thread = (struct patch_thread){.tid = tid};
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	status = fopen(path, "re");
	/* In the order of the lines. */
	while (status && fgets(line, sizeof(line), status)) {
		unsigned long long mask;
		unsigned int number;

		/*
		 * It never executes code of the program, and must continue to block all signals,
		 * because it would lose them.
		 */
		if (patch_thread_has_worker_name(line) && patch_thread_is_worker(tid))
			break;
		if (sscanf(line, "State: %c", &ret_thread->state) == 1)
			continue;
		if (sscanf(line, "TracerPid: %u", &number) == 1)
			ret_thread->traced = number != 0;
		else if (sscanf(line, "SigPnd: %llx", &mask) == 1)
			ret_thread->pending = mask;
		else if (sscanf(line, "SigBlk: %llx", &mask) == 1)
			ret_thread->blocked = mask;
		else if (sscanf(line, "Seccomp: %u", &number) == 1) {
			ret_thread->guarded = number != 0;
			break;
		}
	}
	error = status && !ferror(status) ? 0 : errno;
	if (status)
		fclose(status);
	/* The process may have no free descriptor. */
	if (error && error != ENOENT && error != ESRCH)
		*ret_thread = (struct patch_thread){.tid = tid,
				.state = '?',
				.traced = true,
				.guarded = true,
				.blocked = UINT64_MAX};
	return ret_thread->state != 0;
}

bool patch_threads_each(void (*visit)(pid_t tid, void *data), void *data)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	int error;

	if (!tasks)
		return false;
	while (errno = 0, (task = readdir(tasks)) != NULL) {
		if (task->d_name[0] != '.')
			visit((pid_t)strtol(task->d_name, NULL, 10), data);
	}
	error = errno;
	closedir(tasks);
	errno = error;
	return !error;
}

/* ---- in the child, which calls no function that may have a probe ---- */

struct stopping {
	const pid_t *threads;
	unsigned int count;
	patch_at_stop *at_stop;
	unsigned int stopped;
};

/* Returns the status of the stop; 0: it did not stop in time. */
static int patch_thread_wait_for_stop(pid_t thread)
{
	struct timespec pause = {.tv_nsec = STOP_NS};
	int status = 0;

	for (unsigned int i = 0; i < STOP_TRIES; i++) {
		if (patch_system_call(SYS_wait4, thread, (long)&status, WNOHANG | __WALL, 0, 0,
				    0) == thread)
			return WIFSTOPPED(status) ? status : 0;
		patch_system_call(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
	}
	return 0;
}

/* True for calls that return EINTR after any interruption, and have had no effect then. */
static bool patch_thread_may_restart_call(unsigned long long call)
{
	switch (call) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_io_getevents:
	case SYS_io_uring_enter:
	/*
	 * Of a socket with a timeout (SO_RCVTIMEO, SO_SNDTIMEO). If data was moved, the call
	 * returns its size instead.
	 */
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect: return true;
	default: return false;
	}
}

/*
 * The thread was running when it was stopped, but may have begun to wait at that moment. The kernel
 * restarts its call, unless a handler of the program runs: then the call must return EINTR. A
 * timeout of the call has just begun, so it may begin again.
 */
static void patch_thread_fix_interrupted_call(pid_t thread)
{
	struct user_regs_struct registers = {0};

	if (patch_system_call(SYS_ptrace, PTRACE_GETREGS, thread, 0, (long)&registers, 0, 0) ||
			(long long)registers.orig_rax < 0 || (long long)registers.rax != -EINTR ||
			!patch_thread_may_restart_call(registers.orig_rax))
		return;
	registers.rax = (unsigned long long)-ERESTARTNOHAND;
	patch_system_call(SYS_ptrace, PTRACE_SETREGS, thread, 0, (long)&registers, 0, 0);
}

/* Stops a thread. If it cannot be stopped, it is released when this child exits. */
static bool patch_thread_stop(pid_t thread, patch_at_stop *at_stop)
{
	int status;
	bool is_own_stop;

	/* If /proc belongs to another PID namespace, the thread id is that of another process. */
	if (patch_system_call(SYS_tgkill, patch_system_call(SYS_getppid, 0, 0, 0, 0, 0, 0), thread,
			    0, 0, 0, 0))
		return false;
	if (patch_system_call(SYS_ptrace, PTRACE_SEIZE, thread, 0, 0, 0, 0) ||
			patch_system_call(SYS_ptrace, PTRACE_INTERRUPT, thread, 0, 0, 0, 0))
		return false;
	status = patch_thread_wait_for_stop(thread);
	if (!status)
		return false;
	/* Otherwise a signal has arrived before, and is delivered. */
	is_own_stop = status >> 16 == PTRACE_EVENT_STOP;
	if (at_stop)
		at_stop(thread);
	if (is_own_stop)
		patch_thread_fix_interrupted_call(thread);
	patch_system_call(SYS_ptrace, PTRACE_DETACH, thread, 0, is_own_stop ? 0 : WSTOPSIG(status),
			0, 0);
	return is_own_stop;
}

static int patch_thread_stop_all(void *argument)
{
	struct stopping *stopping = argument;

	for (unsigned int i = 0; i < stopping->count; i++)
		stopping->stopped += patch_thread_stop(stopping->threads[i], stopping->at_stop);
	return 0;
}

/* ---- in the calling process ---- */

unsigned int patch_threads_stop(const pid_t *threads, unsigned int count, patch_at_stop *at_stop)
{
	static char stack[CHILD_STACK] __attribute__((aligned(16)));
	struct stopping stopping = {.threads = threads, .count = count, .at_stop = at_stop};
	sigset_t all, before;
	pid_t child;

	/* Signals to the whole process group must not reach the child. */
	sigfillset(&all);
	sigdelset(&all, SIGTRAP);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* This thread waits until the child has exited. */
	child = (pid_t)task_start(CLONE_VM | CLONE_VFORK, patch_thread_stop_all, &stopping,
			stack + sizeof(stack), NULL, NULL);
	while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return stopping.stopped;
}
