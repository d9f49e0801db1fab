/* SPDX-License-Identifier: MIT */
/*
 * A program that copies functions to memory far away, by a call that the compiler cannot resolve,
 * and calls the copies in several threads. With "wait", it waits for a line before it copies,
 * before it calls, and before it ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 4
#define CALLS 300

typedef int function(int);

__attribute__((noinline, noclone)) int copied_loop(int x)
{
	volatile int y = x;

	for (int i = 0; i < 3; i++)
		y += x;
	return y + 2;
}
__attribute__((noinline, noclone)) int copied_small(int x)
{
	return x * 3 + 1;
}
__attribute__((noinline, noclone)) int copied_large(int x)
{
	volatile int y[4];
	int sum = 0;

	for (int i = 0; i < 4; i++)
		y[i] = x + i;

	for (int i = 0; i < 4; i++)
		sum += y[i] * (i ^ x);
	return sum;
}
int copied_spin(int x), copied_nop(int x);
__asm__(".text\n.globl copied_spin\n.type copied_spin,@function\n.p2align "
	"4\ncopied_spin:\n.cfi_startproc\nxor %eax,%eax\n1: inc %eax\n"
	"cmp %edi,%eax\njl 1b\nret\n.cfi_endproc\n.size copied_spin,.-copied_spin\n"
	".globl copied_nop\n.type copied_nop,@function\n.p2align "
	"4\ncopied_nop:\n.cfi_startproc\nnop\n1: nop\nmov %edi,%eax\nadd $7,%eax\ncmp $-1,%edi\nje "
	"1b\nret\n"
	".cfi_endproc\n.size copied_nop,.-copied_nop\n.p2align 4,0xcc\n");

static function *const originals[] = {
		copied_loop, copied_small, copied_large, copied_spin, copied_nop};
#define COUNT (sizeof(originals) / sizeof(originals[0]))
static function *copies[COUNT];
static void *(*volatile copy_bytes)(void *to, const void *from, size_t size) = memcpy;

static void make_copies(void)
{
	for (size_t i = 0; i < COUNT; i++) {
		char *page = mmap((void *)(uintptr_t)(0x200000000000 + i * 0x1000000000), 4096,
				PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		copy_bytes(page + 3 + i, (const void *)(uintptr_t)originals[i], 96);
		mprotect(page, 4096, PROT_READ | PROT_EXEC);
		copies[i] = (function *)(uintptr_t)(page + 3 + i);
	}
}
static void *call_copies(void *unused)
{
	for (int x = 1; x < CALLS; x++)
		for (size_t i = 0; i < COUNT; i++)
			if (copies[i](x) != originals[i](x))
				return (void *)1;
	return unused;
}
static void pause_here(int wanted, const char *word)
{
	if (!wanted)
		return;
	puts(word);
	fflush(stdout);
	getchar();
}
int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	void *wrong = NULL;

	(void)argv;
	pause_here(argc > 1, "started");
	make_copies();
	pause_here(argc > 1, "copied");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, call_copies, NULL);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		wrong = result ? result : wrong;
	}
	pause_here(argc > 1, "called");
	printf("%s\n", wrong ? "wrong" : "right");
	return 0;
}
