/* SPDX-License-Identifier: MIT */
/*
 * A program that does not use tracing. It calls functions with known arguments, checks their
 * results, and checks that vector registers are unchanged after a call.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../check.h"

/* Called exactly as written: the caller must not know anything of the function. */
#ifdef __clang__
#define FUNCTION __attribute__((noinline, optnone))
#else
#define FUNCTION __attribute__((noinline, noclone, noipa))
#endif

struct record {
	int64_t number;
	const char *name;
	uint8_t bytes[8];
};

FUNCTION long add(int a, long b);
FUNCTION long add(int a, long b)
{
	return a + b * 3;
}

FUNCTION size_t greet(const char *name, const struct record *record);
FUNCTION size_t greet(const char *name, const struct record *record)
{
	return strlen(name) + (size_t)record->number;
}

FUNCTION int careless(const char *nowhere);
FUNCTION int careless(const char *nowhere)
{
	return nowhere != NULL;
}

FUNCTION double mean(double a, float b);
FUNCTION double mean(double a, float b)
{
	return (a + (double)b) / 2;
}

FUNCTION unsigned int down(unsigned int depth);
FUNCTION unsigned int down(unsigned int depth)
{
	unsigned int below = depth ? down(depth - 1) : 0;

	__asm__ volatile("" ::: "memory");
	return below + 1;
}

static jmp_buf back;

FUNCTION void leap(int how);
FUNCTION void leap(int how)
{
	longjmp(back, how + 1);
}

/* All 16 registers, each half, before and after calls that are probed. */
FUNCTION int keeps_vectors(void);
FUNCTION int keeps_vectors(void)
{
	static const char text[] = "0123456789abcdef0123456789ABCDEF";
	_Alignas(32) static uint8_t before[16][16], after[16][16];

	for (unsigned int i = 0; i < 16; i++)
		memcpy(before[i], text + i, 16);
	__asm__ volatile("lea %1, %%rbx\n\t"
			 "movaps (%%rbx), %%xmm0\n\tmovaps 16(%%rbx), %%xmm1\n\t"
			 "movaps 32(%%rbx), %%xmm2\n\tmovaps 48(%%rbx), %%xmm3\n\t"
			 "movaps 64(%%rbx), %%xmm4\n\tmovaps 80(%%rbx), %%xmm5\n\t"
			 "movaps 96(%%rbx), %%xmm6\n\tmovaps 112(%%rbx), %%xmm7\n\t"
			 "movaps 128(%%rbx), %%xmm8\n\tmovaps 144(%%rbx), %%xmm9\n\t"
			 "movaps 160(%%rbx), %%xmm10\n\tmovaps 176(%%rbx), %%xmm11\n\t"
			 "movaps 192(%%rbx), %%xmm12\n\tmovaps 208(%%rbx), %%xmm13\n\t"
			 "movaps 224(%%rbx), %%xmm14\n\tmovaps 240(%%rbx), %%xmm15\n\t"
			 "mov %%rsp, %%r12\n\tsub $256, %%rsp\n\tand $-16, %%rsp\n\t"
			 "mov $7, %%edi\n\tmov $8, %%esi\n\tcall add\n\t"
			 "mov $3, %%edi\n\tcall down\n\t"
			 "mov $0, %%edi\n\tcall careless\n\t"
			 "mov %%r12, %%rsp\n\tlea %0, %%rbx\n\t"
			 "movaps %%xmm0, (%%rbx)\n\tmovaps %%xmm1, 16(%%rbx)\n\t"
			 "movaps %%xmm2, 32(%%rbx)\n\tmovaps %%xmm3, 48(%%rbx)\n\t"
			 "movaps %%xmm4, 64(%%rbx)\n\tmovaps %%xmm5, 80(%%rbx)\n\t"
			 "movaps %%xmm6, 96(%%rbx)\n\tmovaps %%xmm7, 112(%%rbx)\n\t"
			 "movaps %%xmm8, 128(%%rbx)\n\tmovaps %%xmm9, 144(%%rbx)\n\t"
			 "movaps %%xmm10, 160(%%rbx)\n\tmovaps %%xmm11, 176(%%rbx)\n\t"
			 "movaps %%xmm12, 192(%%rbx)\n\tmovaps %%xmm13, 208(%%rbx)\n\t"
			 "movaps %%xmm14, 224(%%rbx)\n\tmovaps %%xmm15, 240(%%rbx)\n\t"
			 : "=m"(after)
			 : "m"(before)
			 : "memory", "cc", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
			 "r10", "r11", "r12", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
			 "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
			 "xmm14", "xmm15");
	return !memcmp(before, after, sizeof(before));
}

static void *worker(void *count)
{
	for (long i = 0; i < *(long *)count; i++)
		CHECK(add(1, i) == 1 + i * 3);
	return NULL;
}

static void run_threads(long count)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, worker, &count);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void run_fork(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		CHECK(add(1000, 1) == 1003);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
}

int main(int argc, char **argv)
{
	struct record record = {.number = 42, .name = "inner", .bytes = {1, 2, 3, 4, 5, 6, 7, 8}};
	long count = argc > 1 ? atol(argv[1]) : 10;
	volatile int round;

	for (long i = 0; i < count; i++)
		CHECK(add((int)i, -i) == i - i * 3);
	CHECK(greet("world", &record) == 47);
	CHECK(careless((const char *)16) == 1);
	CHECK(mean(1.5, 2.5f) == 2.0);
	CHECK(down(20) == 21);
	for (round = 0; round < 3; round++)
		if (!setjmp(back))
			leap(round);
	CHECK(keeps_vectors());
	run_threads(count);
	run_fork();
	return 0;
}
