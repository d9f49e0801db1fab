/* SPDX-License-Identifier: MIT */
/*
 * Calls functions while the base of thread-local memory is another one, as emulators and loaders of
 * foreign libraries set it: memory of zeros, of random bytes, without access, a copy of the
 * thread's own, and none. Prints the results of the functions, and whether the memory is unchanged.
 */
#include <asm/prctl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define HALF 16384
#define CALLS 5

long called(long value);
__asm__(".text\n.globl called\n.type called,@function\n.p2align 4\ncalled:\n.cfi_startproc\n lea "
	"1(%rdi),%rax\n nop\n nop\n nop\n"
	" cmp $5,%rax\n jne 1f\n nop\n1: add %rdi,%rax\n ret\n.cfi_endproc\n.size "
	"called,.-called\n");

/* Does not use the C library, whose errno is in that memory. */
static inline __attribute__((always_inline)) long prctl_base(long code, unsigned long value)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_arch_prctl), "D"(code), "S"(value)
			 : "rcx", "r11", "memory");
	return result;
}

static __attribute__((noinline, no_stack_protector)) long call_with(unsigned long base)
{
	unsigned long own = 0;
	long sum = 0;

	prctl_base(ARCH_GET_FS, (unsigned long)&own);
	prctl_base(ARCH_SET_FS, base);
	for (long i = 0; i < CALLS; i++)
		sum += called(i);
	prctl_base(ARCH_SET_FS, own);
	return sum;
}

static unsigned long sum_of(const unsigned char *bytes)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < 2 * (size_t)HALF; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static void use(const char *name, unsigned char *memory)
{
	unsigned long before = sum_of(memory);
	long sum = call_with((unsigned long)memory + HALF);

	printf("%s: %ld, %s\n", name, sum, sum_of(memory) == before ? "as it was" : "changed");
}

int main(int argc, char **argv)
{
	unsigned char *memory = mmap(
			NULL, 3 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long own = 0;

	prctl_base(ARCH_GET_FS, (unsigned long)&own);
	for (int round = 0; round < 3; round++) {
		/* The very first hit may be one of these. */
		if (argc < 2 || strcmp(argv[1], "late") != 0 || round)
			printf("own: %ld\n", call_with(own));
		use("zeros", memory);
		memset(memory, 0x5a, 2 * HALF);
		use("bytes", memory);
		for (size_t i = 0; i < 2 * HALF / sizeof(long); i++)
			((uint64_t *)(void *)memory)[i] = (uint64_t)memory + i % 64 * 8;
		use("pointers", memory);
		memset(memory, 0, 2 * HALF);
		*(uint64_t *)(void *)(memory + HALF) = *(uint64_t *)(void *)(memory + HALF + 16) =
				(uint64_t)memory + HALF;
		use("a block of another library", memory);
		memset(memory, 0, 2 * HALF);
		mprotect(memory, 3 * HALF, PROT_NONE);
		printf("no access: %ld\n", call_with((unsigned long)memory + HALF));
		mprotect(memory, 3 * HALF, PROT_READ | PROT_WRITE);
		printf("none: %ld\n", call_with(0));
	}
	return 0;
}
