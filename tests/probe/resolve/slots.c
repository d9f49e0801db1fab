/* SPDX-License-Identifier: MIT */
/*
 * For test-slots.py: calls whose return addresses are at known slots of the stack. The program
 * prints the addresses after its calls, which are labels in assembly: side does not watch functions
 * that read their return address.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

/*
 * `begin`: its offset in the section. All labels after calls but one have offsets whose bytes are
 * letters.
 */
#define FUNCTION(name, begin, body)                  \
	"\t.globl " #name "\n"                       \
	"\t.type " #name ", @function\n"             \
	"\t.org " #begin ", 0xcc\n" #name ":\n"      \
	"\t.cfi_startproc\n" body "\t.cfi_endproc\n" \
	"\t.size " #name ", . - " #name "\n"

#define FRAME                        \
	"\tpush %rbp\n"              \
	"\t.cfi_def_cfa_offset 16\n" \
	"\t.cfi_offset %rbp, -16\n"  \
	"\tmov %rsp, %rbp\n"         \
	"\t.cfi_def_cfa_register %rbp\n"

#define END                        \
	"\tpop %rbp\n"             \
	"\t.cfi_def_cfa %rsp, 8\n" \
	"\tret\n"

#define LABEL(name) "\t.globl " #name "\n" #name ":\n"

__asm__("\t.section watched, \"ax\", @progbits\n" FUNCTION(leaf, 0x4000,
		FRAME "\tlea 1(%rdi), %rax\n"
		      "\tnopl 0(%rax)\n" LABEL(leaf_inside) "\tnopl 0(%rax)\n" END) FUNCTION(middle,
		0x4141 - 9,
		FRAME "\tcall leaf\n" LABEL(behind_leaf) "\tadd $1, %rax\n" END) FUNCTION(outer,
		0x4241 - 9, FRAME "\tcall middle\n" LABEL(behind_middle) "\tadd $1, %rax\n" END)
		/* A watched tail call. */
		FUNCTION(tail, 0x4300,
				"\tadd $1, %rdi\n"
				"\tjmp leaf\n"
				"\tnopl 0(%rax)\n") FUNCTION(before_tail, 0x4341 - 9,
				FRAME "\tcall tail\n" LABEL(behind_tail) "\tadd $1, %rax\n" END)
		/* Text without a NUL, directly below the slot of the caller's return address. */
		FUNCTION(texts, 0x4441 - 16,
				"\tmovabs $0x6867666564636261, %rax\n"
				"\tpush %rax\n"
				"\t.cfi_def_cfa_offset 16\n"
				"\tcall leaf\n" LABEL(
						behind_text_leaf) "\tpop %rcx\n"
								  "\t.cfi_def_cfa_offset 8\n"
								  "\tret\n") FUNCTION(before_texts,
				0x4541 - 9,
				FRAME "\tcall texts\n" LABEL(behind_texts) "\tadd $1, %rax\n" END)
		/* A return address whose lowest byte is 0. */
		FUNCTION(aligned, 0x4600 - 9,
				FRAME "\tcall leaf\n" LABEL(behind_aligned) "\tadd $1, %rax\n" END)
		/* rdi recursive calls, so that side uses gates with many numbers. */
		FUNCTION(deep, 0x4741 - 21,
				FRAME
				"\tmov %rdi, %rax\n"
				"\ttest %rdi, %rdi\n"
				"\tjz 1f\n"
				"\tsub $1, %rdi\n"
				"\tcall deep\n" LABEL(behind_deep) "\tadd $1, %rax\n"
								   "1:\n" END) FUNCTION(before_deep,
				0x4841 - 9,
				FRAME "\tcall deep\n" LABEL(
						behind_first) "\tadd $1, %rax\n" END) "\t.text\n");

long outer(long n), before_tail(long n), before_texts(long n), aligned(long n), before_deep(long n);
extern const char behind_leaf[], behind_middle[], behind_tail[], behind_text_leaf[], behind_texts[],
		behind_aligned[], behind_deep[], behind_first[], leaf_inside[], leaf[];

#define PRINT(name) printf(#name " %" PRIuPTR "\n", (uintptr_t)name)

int main(void)
{
	long sum = 0;

	PRINT(behind_leaf);
	PRINT(behind_middle);
	PRINT(behind_tail);
	PRINT(behind_text_leaf);
	PRINT(behind_texts);
	PRINT(behind_aligned);
	PRINT(behind_deep);
	PRINT(behind_first);
	PRINT(leaf_inside);
	PRINT(leaf);
	for (long i = 0; i < 3; i++)
		sum += outer(i) + before_tail(i) + before_texts(i) + aligned(i);
	sum += before_deep(40);
	printf("sum %ld\n", sum);
	return 0;
}
