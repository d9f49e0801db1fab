/* SPDX-License-Identifier: MIT */
/*
 * Functions with all kinds of instructions at their begin, to be probed. Each returns its argument
 * plus the number in its name.
 */
	.macro function name
	.globl \name
	.type \name, @function
	.p2align 4, 0xcc
\name:
	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size \name, . - \name
	.endm

	.text
/* One instruction of five bytes: no inner begin. */
function probed_one
	mov $1, %eax
	add %edi, %eax
	ret
end probed_one

/* Inner begins at 1, 2, 3 and 4: all bytes of the distance are fixed. */
function probed_five
	push %rbx
	.cfi_adjust_cfa_offset 8
	push %rbp
	.cfi_adjust_cfa_offset 8
	pop %rbp
	.cfi_adjust_cfa_offset -8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	nop
	lea 5(%rdi), %eax
	ret
end probed_five

/* At 3. */
function probed_three
	mov %rdi, %rax
	add $3, %rax
	ret
end probed_three

/* At 4, and of four bytes. */
function probed_four
	sub $8, %rsp
	lea 4(%rdi), %rax
	add $8, %rsp
	ret
end probed_four

/* At 2 and 4, as compilers begin functions that need many registers. */
function probed_two
	push %r12
	.cfi_adjust_cfa_offset 8
	push %r13
	.cfi_adjust_cfa_offset 8
	mov %rdi, %r12
	lea 2(%r12), %rax
	pop %r13
	.cfi_adjust_cfa_offset -8
	pop %r12
	.cfi_adjust_cfa_offset -8
	ret
end probed_two

/* Reads memory near itself. */
function probed_relative
	mov probed_number(%rip), %eax
	add %edi, %eax
	ret
end probed_relative

/* A call is displaced, and returns to the original code. */
function probed_call
	sub $8, %rsp
	call probed_one
	add $8, %rsp
	ret
end probed_call

function probed_padding
	xor %eax, %eax
	ret
end probed_padding

function probed_short
	mov %edi, %eax
1:	xor %ecx, %ecx
	jnz 1b
	ret
end probed_short
	.skip 16, 0xcc

/* The same. */
function probed_shorter
	lea 6(%rdi), %eax
1:	xor %ecx, %ecx
	jnz 1b
	ret
end probed_shorter
	.skip 16, 0xcc

/* The fixed distance leads to unmapped memory. */
function probed_punned
	push %rbx
	.cfi_adjust_cfa_offset 8
1:	mov $-0x270001, %ebx
	xor %ecx, %ecx
	jnz 1b
	lea (%rdi), %eax
	.skip 300, 0x90
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
end probed_punned

/* Ends like probed_one. */
function probed_tail
	add $100, %edi
	nop
	nop
	jmp probed_one
end probed_tail

/* Ends like probed_deep, which calls it with the argument minus one. */
function probed_tail_deep
	test %edi, %edi
	jz 1f
	jmp probed_deep
1:	xor %eax, %eax
	ret
end probed_tail_deep

function probed_deep
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	sub $1, %edi
	call probed_tail_deep
	add $1, %eax
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
end probed_deep

/* Stores all registers at (%rdi), the flags last. */
function probed_registers
	.byte 0x48, 0x8d, 0x64, 0x24, 0x00 /* lea 0(%rsp), %rsp */
	mov %rax, 0(%rdi)
	mov %rcx, 8(%rdi)
	mov %rdx, 16(%rdi)
	mov %rbx, 24(%rdi)
	mov %rsp, 32(%rdi)
	mov %rbp, 40(%rdi)
	mov %rsi, 48(%rdi)
	mov %rdi, 56(%rdi)
	mov %r8, 64(%rdi)
	mov %r9, 72(%rdi)
	mov %r10, 80(%rdi)
	mov %r11, 88(%rdi)
	mov %r12, 96(%rdi)
	mov %r13, 104(%rdi)
	mov %r14, 112(%rdi)
	mov %r15, 120(%rdi)
	pushfq
	popq 128(%rdi)
	/* What its caller has below its stack pointer, through rbx. */
	mov -128(%rsp), %rax
	mov %rax, 136(%rdi)
	mov -16(%rsp), %rax
	mov %rax, 144(%rdi)
	ret
end probed_registers

/*
 * probed_call_with(output, input): calls probed_registers with the registers of `input` in the same
 * order, except rsp and rdi, and with its flags; the red zone below the stack pointer has values.
 */
function probed_call_with
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsi, %rax
	mov 8(%rax), %rcx
	mov 16(%rax), %rdx
	mov 24(%rax), %rbx
	mov 40(%rax), %rbp
	mov 48(%rax), %rsi
	mov 64(%rax), %r8
	mov 72(%rax), %r9
	mov 80(%rax), %r10
	mov 88(%rax), %r11
	mov 96(%rax), %r12
	mov 104(%rax), %r13
	mov 112(%rax), %r14
	mov 120(%rax), %r15
	movq $0x1234567, -136(%rsp)
	movq $0x7654321, -24(%rsp)
	pushq 128(%rax)
	popfq
	mov 0(%rax), %rax
	call probed_registers
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	cld
	ret
end probed_call_with

/*
 * Calls probed_four. Surrounded by so much code without unwind data as V8's built-in functions
 * have.
 */
	.fill 8192, 1, 0xcc
	.globl probed_bare
	.type probed_bare, @function
probed_bare:
	sub $8, %rsp
	call probed_four
	add $8, %rsp
	ret
	.size probed_bare, . - probed_bare
	.fill 8192, 1, 0xcc

	.data
	.p2align 3
probed_number:
	.long 7
	.section .note.GNU-stack, "", @progbits
