/* SPDX-License-Identifier: MIT */
/* One function for each method; test-list.py selects them by name. */
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
/* Four bytes, then seven: both are displaced. */
function site_jump
	sub $8, %rsp
	mov site_data(%rip), %rax
	add $8, %rsp
	ret
end site_jump

function site_one
site_called:
	mov $7, %eax
	ret
end site_one

/* Indirect branches must land on the first instruction: the jump is after it. */
function site_marked
	endbr64
	mov $7, %eax
	ret
end site_marked

function site_call
	sub $8, %rsp
	call site_called
	add $8, %rsp
	ret
end site_call

/* Three bytes, then padding between functions. */
function site_padding
	xor %eax, %eax
	ret
end site_padding

/* A branch to its third byte, and space for a jump nearby. */
function site_short
	mov %edi, %eax
1:	dec %eax
	jnz 1b
	ret
end site_short
	.skip 16, 0xcc

/* A branch to its second byte, and no space nearby: its bytes constrain the target of a jump. */
function site_punned
	push %rbx
1:	mov $-0x70001, %ebx
	dec %edi
	jnz 1b
	.skip 300, 0x90
	pop %rbx
	ret
end site_punned

/* The same, but the jump would lead into the middle of the file. */
function site_breakpoint
	push %rbx
1:	mov $0x0, %al
	add %al, (%rax)
	dec %edi
	jnz 1b
	.skip 300, 0x90
	pop %rbx
	ret
end site_breakpoint

/* A switch table contains the address of its third byte. */
function site_table
	mov %edi, %eax
site_table_case:
	lea site_cases(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
end site_table
	.skip 16, 0xcc

function site_system_call
	syscall
	ret
end site_system_call

/* The kernel restarts it, which it would not do with a copy. */
function site_restarted
1:	mov $7, %eax
2:	ret
	.long 0x53053053
3:	ret
end site_restarted
	.pushsection __rseq_cs, "aw"
	.balign 32
	.long 0, 0
	.quad 1b, 2b - 1b, 3b
	.popsection

/* The system call comes second. */
function site_late_system_call
	xor %eax, %eax
	syscall
	ret
end site_late_system_call
	.skip 16, 0xcc

/* Changes itself when it is called: see changed.c. */
function site_changed
	mov $9, %eax
	ret
end site_changed

	.weak site_alias
	.type site_alias, @function
	.set site_alias, site_one
	.size site_alias, 6

	.section .rodata
	.p2align 2
site_cases:
	.long site_table_case - site_cases
	.long site_table_case - site_cases
	.data
	.p2align 3
site_data:
	.quad 5
	.section .note.GNU-stack, "", @progbits
