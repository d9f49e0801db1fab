/* SPDX-License-Identifier: MIT */
/*
 * Functions that change their return address: 4 bytes of data follow the call in each one's caller,
 * which the function returns and skips. They find the return address by the frame pointer, by other
 * pointers to the stack, and in code that they call or to which they jump at their end.
 */
	.macro helper name
	.type \name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm
	.macro end_helper name
	.cfi_endproc
	.size \name, . - \name
	.endm
	.macro begin name
	.globl \name
	helper \name
	.endm
	.macro end name
	end_helper \name
	.globl call_\name
	helper call_\name
	call \name
	.long 0x5eed
	ret
	end_helper call_\name
	.endm
	/*
	 * Returns the data after the call whose return address is at this operand, and skips the
	 * data.
	 */
	.macro change at:vararg
	mov \at, %rcx
	mov (%rcx), %eax
	addq $4, \at
	.endm

	.text
begin by_frame
	push %rbp
	.cfi_adjust_cfa_offset 8
	mov %rsp, %rbp
	sub $16, %rsp
	change 8(%rbp)
	leave
	ret
end by_frame

begin by_lea
	nopl 0(%rax)
	lea (%rsp), %rdx
	change (%rdx)
	ret
end by_lea

begin by_copy
	push %rbx
	.cfi_adjust_cfa_offset 8
	mov %rsp, %rbx
	change 8(%rbx)
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
end by_copy

begin by_sum
	nopl 0(%rax)
	lea -64(%rsp), %rcx
	add $80, %rcx
	mov %rcx, %r9
	sub $16, %r9
	change (%r9)
	ret
end by_sum

begin in_label
	call 1f
	ret
1:	change 8(%rsp)
	ret
end in_label

helper called
	nopl 0(%rax)
	change 8(%rsp)
	ret
end_helper called

begin in_called
	call called
	ret
end in_called

helper ended_in
	nopl 0(%rax)
	change (%rsp)
	ret
end_helper ended_in

helper passed_through
	nopl 0(%rax)
	jmp ended_in
end_helper passed_through

begin in_tail
	nopl 0(%rax)
	jmp ended_in
end in_tail

begin in_chain
	nopl 0(%rax)
	jmp passed_through
end in_chain

helper gets_pointer
	nopl 0(%rax)
	change (%rdi)
	ret
end_helper gets_pointer

begin by_pointer
	lea (%rsp), %rdi
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call gets_pointer
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
end by_pointer

	.section .note.GNU-stack, "", @progbits
