/* SPDX-License-Identifier: MIT */
/*
 * vfork().
 *
 * The child of a vfork() runs in its parent's memory, on its parent's thread-local storage, but the
 * kernel gives it no restartable sequences: publishing a record there would not be protected. So
 * the child marks itself, and its events are counted as lost until it executes another program or
 * exits. The parent then restores its mark. Nothing else of vfork() changes. (posix_spawn() and
 * similar functions do not come here, and run no code that emits.)
 *
 * The parent makes its entry among the threads of probes before the call: the child, whose thread
 * id ends with it, could not make one.
 *
 * Uses no other part of the agent, so that tests of probes can link it.
 */
#include <errno.h>

#include "tracers/agent/context/values.h"

#if defined(__x86_64__) && defined(__LP64__)
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	".p2align 4\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call agent_vfork_begins\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n" /* the child's use of the stack must not cost us the way back */
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_register %rip, %rsi\n"
	"	movq agent_vforked@gottpoff(%rip), %rdx\n"
	"	movl %fs:(%rdx), %r8d\n"
	"	movl $58, %eax\n" /* SYS_vfork */
	"	syscall\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	movl %r8d, %fs:(%rdx)\n"
	"	cmpq $-4095, %rax\n"
	"	jae 2f\n"
	"	ret\n"
	"1:	movl $1, %fs:(%rdx)\n" /* CONTEXT_VFORKED */
	"	ret\n"
	"2:	movl %eax, %edi\n"
	"	negl %edi\n"
	"	jmp agent_vfork_failed\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n"
	".globl __vfork\n"
	".set __vfork, vfork\n");

_Static_assert(CONTEXT_VFORKED == 1, "as above");

void agent_vfork_begins(void) __attribute__((visibility("hidden"), used));

void agent_vfork_begins(void)
{
	/* Acquire: what it uses. Pairs with the release in probes_start_clock(). */
	void (*begins)(void) = __atomic_load_n(&context_vfork_begins, __ATOMIC_ACQUIRE);

	if (begins)
		begins();
}

int agent_vfork_failed(int error) __attribute__((visibility("hidden"), used));

int agent_vfork_failed(int error)
{
	errno = error;
	return -1;
}
#endif
