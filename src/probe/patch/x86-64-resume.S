/* SPDX-License-Identifier: MIT */
/*
 * Ends a handler of traps without a system call, which a sandbox may forbid. The last instruction
 * loads the program counter, the stack pointer and the flags at once, from the stack that the
 * handler runs on. So nothing is written to the program's own stack, and a signal at any
 * instruction finds either this code or the program.
 */
#define CONTEXT_R8 40
#define CONTEXT_R9 48
#define CONTEXT_R10 56
#define CONTEXT_R11 64
#define CONTEXT_R12 72
#define CONTEXT_R13 80
#define CONTEXT_R14 88
#define CONTEXT_R15 96
#define CONTEXT_RDI 104
#define CONTEXT_RSI 112
#define CONTEXT_RBP 120
#define CONTEXT_RBX 128
#define CONTEXT_RDX 136
#define CONTEXT_RAX 144
#define CONTEXT_RCX 152
#define CONTEXT_RSP 160
#define CONTEXT_RIP 168
#define CONTEXT_FLAGS 176
#define CONTEXT_CS 184
#define CONTEXT_SS 190
#define CONTEXT_FLOATING 224

	.text
	.p2align 4
/*
 * uint64_t patch_resume_flags(void): returns the flags. In assembly, because compilers do not
 * describe the stack between these two instructions to unwinders, which a signal handler may call
 * there.
 */
	.globl patch_resume_flags
	.hidden patch_resume_flags
	.type patch_resume_flags, @function
patch_resume_flags:
	.cfi_startproc
	pushfq
	.cfi_adjust_cfa_offset 8
	popq %rax
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size patch_resume_flags, . - patch_resume_flags

	.p2align 4
/*
 * void patch_resume(const ucontext_t *context, uint64_t components): trap.c checks what this relies
 * on.
 */
	.globl patch_resume
	.hidden patch_resume
	.type patch_resume, @function
patch_resume:
	.cfi_startproc
	.cfi_signal_frame
	/*
	 * The program's registers are in the context: DW_OP_breg5 and the distance; the stack
	 * pointer is the begin of the frame.
	 */
	.cfi_escape 0x0f, 4, 0x75, 0xa0, 1, 6
	.cfi_escape 0x10, 16, 3, 0x75, 0xa8, 1
	.cfi_escape 0x10, 0, 3, 0x75, 0x90, 1
	.cfi_escape 0x10, 1, 3, 0x75, 0x88, 1
	.cfi_escape 0x10, 2, 3, 0x75, 0x98, 1
	.cfi_escape 0x10, 3, 3, 0x75, 0x80, 1
	.cfi_escape 0x10, 4, 3, 0x75, 0xf0, 0
	.cfi_escape 0x10, 5, 3, 0x75, 0xe8, 0
	.cfi_escape 0x10, 6, 3, 0x75, 0xf8, 0
	.cfi_escape 0x10, 8, 2, 0x75, 0x28
	.cfi_escape 0x10, 9, 2, 0x75, 0x30
	.cfi_escape 0x10, 10, 2, 0x75, 0x38
	.cfi_escape 0x10, 11, 3, 0x75, 0xc0, 0
	.cfi_escape 0x10, 12, 3, 0x75, 0xc8, 0
	.cfi_escape 0x10, 13, 3, 0x75, 0xd0, 0
	.cfi_escape 0x10, 14, 3, 0x75, 0xd8, 0
	.cfi_escape 0x10, 15, 3, 0x75, 0xe0, 0
	movq CONTEXT_FLOATING(%rdi), %rcx
	movl %esi, %eax
	movq %rsi, %rdx
	shrq $32, %rdx
	xrstor64 (%rcx)
	movzwl CONTEXT_SS(%rdi), %eax
	pushq %rax
	pushq CONTEXT_RSP(%rdi)
	pushq CONTEXT_FLAGS(%rdi)
	movzwl CONTEXT_CS(%rdi), %eax
	pushq %rax
	pushq CONTEXT_RIP(%rdi)
	movq CONTEXT_R8(%rdi), %r8
	movq CONTEXT_R9(%rdi), %r9
	movq CONTEXT_R10(%rdi), %r10
	movq CONTEXT_R11(%rdi), %r11
	movq CONTEXT_R12(%rdi), %r12
	movq CONTEXT_R13(%rdi), %r13
	movq CONTEXT_R14(%rdi), %r14
	movq CONTEXT_R15(%rdi), %r15
	movq CONTEXT_RBP(%rdi), %rbp
	movq CONTEXT_RBX(%rdi), %rbx
	movq CONTEXT_RSI(%rdi), %rsi
	movq CONTEXT_RDX(%rdi), %rdx
	movq CONTEXT_RCX(%rdi), %rcx
	movq CONTEXT_RAX(%rdi), %rax
	movq CONTEXT_RDI(%rdi), %rdi
	/* All registers are the program's, except these, which are on the stack. */
	.cfi_escape 0x0f, 3, 0x77, 24, 6
	.cfi_escape 0x10, 16, 2, 0x77, 0
	.cfi_same_value 0
	.cfi_same_value 1
	.cfi_same_value 2
	.cfi_same_value 3
	.cfi_same_value 4
	.cfi_same_value 5
	.cfi_same_value 6
	.cfi_same_value 8
	.cfi_same_value 9
	.cfi_same_value 10
	.cfi_same_value 11
	.cfi_same_value 12
	.cfi_same_value 13
	.cfi_same_value 14
	.cfi_same_value 15
	iretq
	.cfi_endproc
	.size patch_resume, . - patch_resume

	.section .note.GNU-stack, "", @progbits
