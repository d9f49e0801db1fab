/* SPDX-License-Identifier: MIT */
/*
 * Starts a task that shares memory with its caller, without the C library's clone().
 *
 * The function in the task may have no probe, and the agent wraps clone(). The kernel keeps all
 * registers that hold the operands.
 */
#ifndef SIDE_BASE_INSIDE_TASK_H
#define SIDE_BASE_INSIDE_TASK_H

#if defined(__x86_64__) && defined(__LP64__)

#include <stdint.h>
#include <sys/syscall.h>

/*
 * Calls the function on the stack that ends at `stack`. It never returns: it calls exit(2). `flags` are those of clone(2);
 * with CLONE_CHILD_CLEARTID, the kernel clears `running` at the end. Returns the id of the task, or
 * a negative errno. Does not set errno.
 */
static inline long task_start(
		long flags, int (*function)(void *), void *argument, char *stack, uint32_t *running)
{
	register uint32_t *word __asm__("r10") = running;
	register long no_tls __asm__("r8") = 0;
	register int (*in_task)(void *) __asm__("r9") = function;
	long ret = SYS_clone;

	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "movq %%rbx, %%rdi\n\t"
			 "call *%%r9\n\t"
			 "hlt\n"
			 "1:"
			 : "+a"(ret)
			 : "D"(flags), "S"(stack), "d"(0L), "r"(word), "r"(no_tls), "r"(in_task),
			 "b"(argument)
			 : "rcx", "r11", "memory");
	return ret;
}

#endif

#endif /* SIDE_BASE_INSIDE_TASK_H */
