/* SPDX-License-Identifier: MIT */
/*
 * Loads that may fault, and the handler of their faults. Only these loads are between patch_loads
 * and patch_loads_end; they have no frame and use no stack. A thread that faults there continues at
 * the landing and returns -1.
 */
#include <asm/unistd_64.h>

#define CODE_OF_INFO 8
#define RIP_OF_CONTEXT 168
/* struct patch_moved, and space that keeps the stack aligned */
#define MOVED_BYTES 48
#define MOVED_PATCH 32 /* faults.c checks all of these */

	.section .text.patch_loads, "ax", @progbits
	.p2align 6
patch_loads:

/* long patch_load_bytes(void *to, uint64_t from, size_t size): 0, or -1 */
	.globl patch_load_bytes
	.hidden patch_load_bytes
	.type patch_load_bytes, @function
patch_load_bytes:
	.cfi_startproc
	cmpq $8, %rdx
	jne .Lsize_4
	movq (%rsi), %rax
	movq %rax, (%rdi)
	xorl %eax, %eax
	ret
.Lsize_4:
	cmpq $4, %rdx
	jne .Lwords
	movl (%rsi), %eax
	movl %eax, (%rdi)
	xorl %eax, %eax
	ret
.Lwords:
	xorl %eax, %eax
.Lnext_word:
	leaq 8(%rax), %rcx
	cmpq %rdx, %rcx
	ja .Lrest
	movq (%rsi,%rax), %r8
	movq %r8, (%rdi,%rax)
	movq %rcx, %rax
	jmp .Lnext_word
.Lrest:
	cmpq %rdx, %rax
	jae .Ldone
	movzbl (%rsi,%rax), %ecx
	movb %cl, (%rdi,%rax)
	incq %rax
	jmp .Lrest
.Ldone:
	xorl %eax, %eax
	ret
	.cfi_endproc
	.size patch_load_bytes, . - patch_load_bytes

/*
 * long patch_load_text(char *to, uint64_t from, size_t size): returns the number of bytes before
 * the NUL, which is stored too; `size` if there is no NUL; or -1. Reads eight bytes at a time; the
 * lowest zero byte is found as the one that borrows.
 */
	.p2align 4
	.globl patch_load_text
	.hidden patch_load_text
	.type patch_load_text, @function
patch_load_text:
	.cfi_startproc
	xorl %eax, %eax
	movabsq $0x0101010101010101, %r8
	movabsq $0x8080808080808080, %r9
.Lnext_text:
	leaq 8(%rax), %rcx
	cmpq %rdx, %rcx
	ja .Lrest_of_text
	movq (%rsi,%rax), %r10
	movq %r10, (%rdi,%rax)
	movq %r10, %r11
	notq %r10
	subq %r8, %r11
	andq %r9, %r10
	andq %r10, %r11
	jnz .Lzero
	movq %rcx, %rax
	jmp .Lnext_text
.Lzero:
	bsfq %r11, %r11
	shrq $3, %r11
	addq %r11, %rax
	ret
.Lrest_of_text:
	cmpq %rdx, %rax
	jae .Lend_of_text
	movzbl (%rsi,%rax), %ecx
	movb %cl, (%rdi,%rax)
	testb %cl, %cl
	jz .Lend_of_text
	incq %rax
	jmp .Lrest_of_text
.Lend_of_text:
	ret
	.cfi_endproc
	.size patch_load_text, . - patch_load_text
patch_loads_end:

patch_loads_landing:
	.cfi_startproc
	movq $-1, %rax
	ret
	.cfi_endproc

/*
 * void patch_fault_arrives(int number, siginfo_t *info, void *context), called by the kernel. The
 * program's handler gets the same arguments, stack and return address as if the kernel had called
 * it.
 */
	.p2align 4
	.globl patch_fault_arrives
	.hidden patch_fault_arrives
	.type patch_fault_arrives, @function
patch_fault_arrives:
	.cfi_startproc
	leaq patch_loads(%rip), %rcx
	movq RIP_OF_CONTEXT(%rdx), %rax
	subq %rcx, %rax
	cmpq $patch_loads_end - patch_loads, %rax
	jae .Lnot_ours
	/* Not for a signal that a process has sent at that moment. */
	cmpl $0, CODE_OF_INFO(%rsi)
	jle .Lnot_ours
	leaq patch_loads_landing(%rip), %rax
	movq %rax, RIP_OF_CONTEXT(%rdx)
	ret
.Lnot_ours:
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	subq $MOVED_BYTES, %rsp
	.cfi_adjust_cfa_offset MOVED_BYTES
	movq %rsp, %rcx
	call patch_fault_behind
	cmpq $0, MOVED_PATCH(%rsp)
	jne .Lmoved
	addq $MOVED_BYTES, %rsp
	.cfi_adjust_cfa_offset -MOVED_BYTES
	popq %rdx
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	movq %rax, %r11
	xorl %eax, %eax
	testq %r11, %r11
	jz .Lno_handler
	jmp *%r11
.Lno_handler:
	ret
	/* A call, because the thread continues in the copy if the handler has changed nothing. */
.Lmoved:
	.cfi_adjust_cfa_offset MOVED_BYTES + 24
	movq MOVED_BYTES(%rsp), %rdx
	movq MOVED_BYTES + 8(%rsp), %rsi
	movq MOVED_BYTES + 16(%rsp), %rdi
	movq %rax, %r11
	xorl %eax, %eax
	call *%r11
	movq MOVED_BYTES(%rsp), %rdi
	movq %rsp, %rsi
	call patch_move_back
	addq $MOVED_BYTES + 24, %rsp
	.cfi_adjust_cfa_offset -(MOVED_BYTES + 24)
	ret
	.cfi_endproc
	.size patch_fault_arrives, . - patch_fault_arrives

/* Used if no restorer of the program is known. Unwinders recognize these bytes. */
	.p2align 4
	nop
	.globl patch_fault_returns
	.hidden patch_fault_returns
	.type patch_fault_returns, @function
patch_fault_returns:
	movq $__NR_rt_sigreturn, %rax
	syscall
	.size patch_fault_returns, . - patch_fault_returns

	.section .note.GNU-stack, "", @progbits
