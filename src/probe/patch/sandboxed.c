/* SPDX-License-Identifier: MIT */
/*
 * Checks whether a signal handler can return under a seccomp filter that was installed before the
 * agent. Breakpoints need that if their handler cannot end without a system call (resume.c). A
 * filter can forbid that call (rt_sigreturn), and the process cannot query it. So a child tries it,
 * once: a copy of the process that the filter may kill. The child has its own handler, and writes
 * to no memory that it shares with its parent.
 */
#include "actions.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define RETURNED 7 /* the child's status */

/* If the filter makes the call return an error, the child exits with another status. */
void patch_sandboxed_returns(void) __attribute__((visibility("hidden")));
void patch_sandboxed_handler(int number) __attribute__((visibility("hidden")));
__asm__(".text\n"
	".globl patch_sandboxed_handler\n"
	".hidden patch_sandboxed_handler\n"
	".type patch_sandboxed_handler, @function\n"
	"patch_sandboxed_handler:\n"
	"	endbr64\n"
	"	ret\n"
	".size patch_sandboxed_handler, . - patch_sandboxed_handler\n"
	".globl patch_sandboxed_returns\n"
	".hidden patch_sandboxed_returns\n"
	".type patch_sandboxed_returns, @function\n"
	"patch_sandboxed_returns:\n"
	"	movl $15, %eax\n" /* rt_sigreturn */
	"	syscall\n"
	"	movl $60, %eax\n" /* exit */
	"	movl $1, %edi\n"
	"	syscall\n"
	"	hlt\n"
	".size patch_sandboxed_returns, . - patch_sandboxed_returns\n");

static _Noreturn void sandboxed_try(void)
{
	struct patch_action action = {
			.handler = (uint64_t)(uintptr_t)patch_sandboxed_handler,
			.flags = PATCH_SA_RESTORER,
			.restorer = (uint64_t)(uintptr_t)patch_sandboxed_returns,
	};

	/* No core dump if the filter kills the child. */
	patch_system_call(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
	if (!patch_exchange_action(SIGTRAP, &action, NULL)) {
		__asm__ volatile("int3" : : : "memory");
		patch_system_call(SYS_exit, RETURNED, 0, 0, 0, 0, 0);
	}
	patch_system_call(SYS_exit, 1, 0, 0, 0, 0, 0);
	__builtin_trap();
}

static bool sandboxed_child_returns(void)
{
	sigset_t all, before;
	int status = 0;
	long child;

	/* Signals to the whole process group must not reach the child. */
	sigfillset(&all);
	sigdelset(&all, SIGTRAP);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* Its exit sends no signal, and tracers of the program do not see it. */
	child = patch_system_call(SYS_clone, CLONE_UNTRACED, 0, 0, 0, 0, 0);
	if (!child)
		sandboxed_try();
	while (child > 0 &&
			patch_system_call(SYS_wait4, child, (long)&status, __WALL, 0, 0, 0) ==
					-EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == RETURNED;
}

bool patch_traps_return(void)
{
	static enum { UNKNOWN, RETURN, FATAL } found;

	if (found == UNKNOWN)
		found = patch_resumes() ||
						patch_system_call(SYS_prctl, PR_GET_SECCOMP, 0, 0,
								0, 0, 0) != SECCOMP_MODE_FILTER ||
						sandboxed_child_returns()
				? RETURN
				: FATAL;
	return found == RETURN;
}
