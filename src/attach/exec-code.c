/* SPDX-License-Identifier: MIT */
/*
 * The code in which a program waits between its loader and its entry point.
 *
 * It is written to unused bytes of a code page, as that of code.c. The loader jumps to it instead of
 * the entry point, because AT_ENTRY of the auxiliary vector has its address.
 *
 *       entry    The thread adds 1 to AT_ENTRY, so the tracer sees that it has come. It waits
 *                without a system call, because a library can have set a filter that ends the
 *                program for one: until the tracer has set `permitted`, or `spins` rounds.
 *       wait     It adds 1 again: the tracer loads the agent. It sleeps until the tracer sets
 *                `released`, until the tracer's process does not exist any more, or until `rounds`
 *                pauses have passed.
 *       leave    It restores AT_ENTRY and its registers, and jumps to the entry point.
 *
 * The stack below the entry point's is unused, so the code uses it. A signal handler of a library
 * can run meanwhile.
 */
#include <stddef.h>

#include "attach/parts.h"

#if defined(__x86_64__) && defined(__LP64__)

/* The assembly below uses these offsets. */
#define EXEC_VALUE(name, at) \
	_Static_assert(offsetof(struct inject_exec_values, name) == (at), #name)
EXEC_VALUE(entry, 0);
EXEC_VALUE(slot, 8);
EXEC_VALUE(released, 16);
EXEC_VALUE(permitted, 20);
EXEC_VALUE(tracer, 24);
EXEC_VALUE(rounds, 28);
EXEC_VALUE(pause, 32);
EXEC_VALUE(spins, 48);
_Static_assert(sizeof(struct inject_exec_values) == 56, "values");

/* clang-format off */
__asm__(".pushsection .rodata.inject_exec_code, \"a\", @progbits\n"
	".p2align 4\n"
	"inject_exec_begin_of_code:\n"
	".fill 56, 1, 0\n"
	"inject_exec_entry:\n"
	"	endbr64\n"
	"	pushq %rax\n"
	"	pushq %rbx\n"
	"	pushq %rcx\n"
	"	pushq %rdx\n"
	"	pushq %rsi\n"
	"	pushq %rdi\n"
	"	pushq %r11\n"
	"	movq inject_exec_begin_of_code+8(%rip), %rax\n"
	"	leaq inject_exec_entry(%rip), %rcx\n"
	"	cmpq %rcx, (%rax)\n"
	"	jne 5f\n" /* not the vector any more: the tracer cannot come */
	"	incq (%rax)\n"
	"	movl inject_exec_begin_of_code+48(%rip), %ebx\n"
	"1:	cmpl $0, inject_exec_begin_of_code+16(%rip)\n"
	"	jne 4f\n"
	"	cmpl $0, inject_exec_begin_of_code+20(%rip)\n"
	"	jne 2f\n"
	"	pause\n"
	"	decl %ebx\n"
	"	jnz 1b\n"
	"	jmp 4f\n"
	"2:	incq (%rax)\n"
	"	movl inject_exec_begin_of_code+28(%rip), %ebx\n"
	"3:	cmpl $0, inject_exec_begin_of_code+16(%rip)\n"
	"	jne 4f\n"
	"	movl $35, %eax\n" /* nanosleep */
	"	leaq inject_exec_begin_of_code+32(%rip), %rdi\n"
	"	xorl %esi, %esi\n"
	"	syscall\n"
	"	testl $31, %ebx\n"
	"	jnz 6f\n"
	"	movl $62, %eax\n" /* kill(tracer, 0) */
	"	movl inject_exec_begin_of_code+24(%rip), %edi\n"
	"	xorl %esi, %esi\n"
	"	syscall\n"
	"	cmpl $-3, %eax\n" /* ESRCH */
	"	je 4f\n"
	"6:	decl %ebx\n"
	"	jnz 3b\n"
	"4:	movq inject_exec_begin_of_code+8(%rip), %rax\n"
	"	movq inject_exec_begin_of_code(%rip), %rcx\n"
	"	movq %rcx, (%rax)\n"
	"5:	popq %r11\n"
	"	popq %rdi\n"
	"	popq %rsi\n"
	"	popq %rdx\n"
	"	popq %rcx\n"
	"	popq %rbx\n"
	"	popq %rax\n"
	"	jmp *inject_exec_begin_of_code(%rip)\n"
	"inject_exec_end_of_code:\n"
	".popsection\n");
/* clang-format on */

#define EXEC_LABEL(name) extern const uint8_t name[] __attribute__((visibility("hidden")))
EXEC_LABEL(inject_exec_begin_of_code);
EXEC_LABEL(inject_exec_entry);
EXEC_LABEL(inject_exec_end_of_code);

struct inject_exec_code inject_exec_code_get(void)
{
	return (struct inject_exec_code){
			.bytes = inject_exec_begin_of_code,
			.size = (size_t)(inject_exec_end_of_code - inject_exec_begin_of_code),
			.entry = (size_t)(inject_exec_entry - inject_exec_begin_of_code),
	};
}

#else

struct inject_exec_code inject_exec_code_get(void)
{
	return (struct inject_exec_code){.bytes = NULL};
}
#endif
