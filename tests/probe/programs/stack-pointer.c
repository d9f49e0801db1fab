/* SPDX-License-Identifier: MIT */
/*
 * Functions that use the stack pointer for their data, each on read-only memory, and functions that
 * change it as compilers do. The program calls all of them and prints the sum of their results.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FUNCTION(name, text)                                                                   \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n.p2align 4\n" #name ":\n" \
		".cfi_startproc\n" text "\n ret\n.cfi_endproc\n.size " #name ",.-" #name "\n");
#define LOOP " mov %rsi,%rcx\n xor %eax,%eax\n1: pop %r8\n add %r8,%rax\n dec %rcx\n jnz 1b\n"

/* The unwind data names another register. */
FUNCTION(data_described,
		" mov %rsp,%rdx\n.cfi_def_cfa_register %rdx\n mov %rdi,%rsp\n" LOOP
		" mov %rdx,%rsp\n.cfi_def_cfa_register %rsp\n")
/* The unwind data does not describe it. */
FUNCTION(data_moved, " mov %rsp,%r11\n mov %rdi,%rsp\n" LOOP " mov %r11,%rsp")
FUNCTION(data_exchanged, " xchg %rsp,%rdi\n" LOOP " mov %rdi,%rsp")
FUNCTION(data_address, " mov %rsp,%r11\n lea 8(%rdi),%rsp\n dec %rsi\n" LOOP " mov %r11,%rsp")
FUNCTION(data_loaded,
		" mov %rsp,%r11\n push %rdi\n mov %rdi,%r10\n sub $16,%r10\n mov %r10,%rax\n"
		" add $16,%rax\n mov %rax,%rsp\n" LOOP " mov %r11,%rsp")
FUNCTION(data_popped, " mov %rsp,%r11\n push %rdi\n pop %rsp\n" LOOP " mov %r11,%rsp")
FUNCTION(data_framed,
		" push %rbp\n.cfi_adjust_cfa_offset 8\n mov %rsp,%rbp\n.cfi_def_cfa_register "
		"%rbp\n mov %rdi,%rsp\n" LOOP " mov %rbp,%rsp\n pop %rbp\n.cfi_def_cfa %rsp,8\n")

/* As compilers write them. */
static __attribute__((noinline)) long stack_sized(const long *p, long n)
{
	long sum = 0;

	for (long k = 1; k < 3; k++) {
		long copy[n];

		memcpy(copy, p, (size_t)n * sizeof(*p));
		__asm__ volatile("" ::"r"(copy) : "memory");
		sum += copy[n - 1] + copy[k];
	}
	return sum;
}

static __attribute__((noinline)) long stack_aligned(const long *p, long n)
{
	_Alignas(128) long copy[32];

	memcpy(copy, p, sizeof(copy));
	__asm__ volatile("" ::"r"(copy) : "memory");
	return copy[n % 32];
}

typedef long function(const long *p, long n);
function data_described, data_moved, data_exchanged, data_address, data_loaded, data_popped,
		data_framed;

int main(void)
{
	static function *const functions[] = {data_described, data_moved, data_exchanged,
			data_address, data_loaded, data_popped, data_framed, stack_sized,
			stack_aligned};
	char *memory = mmap(
			NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long *array = (long *)(void *)(memory + 4096), around[400];

	for (int i = 0; i < 512; i++)
		array[i] = i * 3;
	mprotect(memory, 4096, PROT_NONE);
	for (size_t k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
		long check = 0;

		for (int i = 0; i < 400; i++)
			around[i] = i;
		check = functions[k](around + 300, 40);
		for (int i = 0; i < 400; i++)
			check += around[i];
		printf("%ld ", check);
		printf("%ld\n", functions[k](array, 500));
	}
	return 0;
}
