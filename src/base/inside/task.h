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

/* Nothing called the function in the task, so unwinding ends there. Only with unwind tables. */
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define TASK_UNWIND_BEGIN ".cfi_remember_state\n\t.cfi_undefined %%rip\n\t"
#define TASK_UNWIND_END ".cfi_restore_state\n\t"
#else
#define TASK_UNWIND_BEGIN ""
#define TASK_UNWIND_END ""
#endif

/*
 * Calls the function on the stack that ends at `stack`. Its result is the exit status of
 * the task. `flags` are those of clone(2): with CLONE_CHILD_CLEARTID, the kernel clears `running`
 * at the end; with CLONE_SETTLS, `tls` is the thread pointer of the task. Returns the id of the
 * task, or a negative errno. Does not set errno.
 */
static inline long task_start(long flags, int (*function)(void *), void *argument, char *stack,
		uint32_t *running, void *tls)
{
	register uint32_t *word __asm__("r10") = running;
	register void *thread_pointer __asm__("r8") = tls;
	register int (*in_task)(void *) __asm__("r9") = function;
	long ret = SYS_clone;

	/* clang-format off */
	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 TASK_UNWIND_BEGIN
			 "xorl %%ebp, %%ebp\n\t"
			 "movq %%rbx, %%rdi\n\t"
			 "call *%%r9\n\t"
			 "movl %%eax, %%edi\n\t"
			 "movl $60, %%eax\n\t" /* SYS_exit */
			 "syscall\n\t"
			 "hlt\n\t"
			 TASK_UNWIND_END
			 "1:"
			 : "+a"(ret)
			 : "D"(flags), "S"(stack), "d"(0L), "r"(word), "r"(thread_pointer),
			 "r"(in_task), "b"(argument)
			 : "rcx", "r11", "memory");
	/* clang-format on */
	return ret;
}

#endif

#endif /* SIDE_BASE_INSIDE_TASK_H */
