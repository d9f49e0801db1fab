/* SPDX-License-Identifier: MIT */
/*
 * Compares all vector registers before and after a call, which is the first one of its thread: a
 * probe must not change them. Prints "whole", or which register was changed.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGISTERS 16
#define BYTES 32

/* Does nothing, but has space for a jump. */
__asm__(".pushsection .text\n.globl vectors_called\n.type vectors_called, @function\n"
	"vectors_called:\n.cfi_startproc\nmovl $1, %eax\nnop\nnop\nret\n.cfi_endproc\n"
	".size vectors_called, .-vectors_called\n.popsection\n");

struct registers {
	_Alignas(32) uint8_t bytes[REGISTERS][BYTES];
};

#define EACH(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

#define LOAD_AVX(n) "vmovdqa " #n "*32(%[from]), %%ymm" #n "\n"
#define STORE_AVX(n) "vmovdqa %%ymm" #n ", " #n "*32(%[to])\n"
#define LOAD(n) "movdqa " #n "*32(%[from]), %%xmm" #n "\n"
#define STORE(n) "movdqa %%xmm" #n ", " #n "*32(%[to])\n"
#define CLOBBERED                                                                               \
	"memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",    \
			"xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
			"xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

static void call_with(const struct registers *from, struct registers *to)
{
	if (__builtin_cpu_supports("avx2"))
		__asm__ volatile(EACH(LOAD_AVX) "call vectors_called\n" EACH(
						 STORE_AVX) "vzeroupper\n" ::[from] "r"(from),
				 [to] "r"(to)
				 : CLOBBERED);
	else
		__asm__ volatile(EACH(LOAD) "call vectors_called\n" EACH(STORE)::[from] "r"(from),
				 [to] "r"(to)
				 : CLOBBERED);
}

static void *run(void *number)
{
	size_t size = __builtin_cpu_supports("avx2") ? 32 : 16;
	struct registers before, after;

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < REGISTERS; i++)
			for (unsigned int j = 0; j < BYTES; j++)
				before.bytes[i][j] = (uint8_t)(1 + i * 7 + j * 3 + round +
						(uintptr_t)number);
		call_with(&before, &after);
		for (unsigned int i = 0; i < REGISTERS; i++) {
			if (!memcmp(before.bytes[i], after.bytes[i], size))
				continue;
			printf("register %u was changed in round %u\n", i, round);
			return (void *)1;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uintptr_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	void *changed = run(NULL), *result;
	int letter = 0;

	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		letter = getchar();
	}
	for (uintptr_t i = 0; i < threads && letter != EOF; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, (void *)i) || pthread_join(thread, &result))
			return 2;
		changed = result ? result : changed;
	}
	if (!changed)
		puts("whole");
	fflush(stdout);
	while (argc > 2 && letter != EOF)
		letter = getchar();
	return 0;
}
