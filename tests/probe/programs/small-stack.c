/* SPDX-License-Identifier: MIT */
/* Calls a function on a coroutine's stack of 4 KiB with nothing behind it, and prints on stderr how much of it was used. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK 4096
#define CALLS 50
#define FILL 0xa5

long small_leaf(long value, const char *text);
__attribute__((noinline)) long small_leaf(long value, const char *text)
{
	__asm__ volatile("nop; nop; nop; nop; nop" ::"r"(text));
	return value + 1;
}

static ucontext_t out, in;
static volatile long sum;

static void run(void)
{
	for (long i = 0; i < CALLS; i++)
		sum += small_leaf(i, "a text of some length");
	swapcontext(&in, &out);
}

int main(void)
{
	unsigned char *memory = mmap(NULL, 3 * STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				      0),
		      *stack = memory + STACK;
	static size_t unused;

	mprotect(stack, STACK, PROT_READ | PROT_WRITE);
	memset(stack, FILL, STACK);
	getcontext(&in);
	in.uc_stack.ss_sp = stack;
	in.uc_stack.ss_size = STACK;
	in.uc_link = &out;
	makecontext(&in, run, 0);
	swapcontext(&out, &in);
	while (stack[unused] == FILL)
		unused++;
	fprintf(stderr, "used %zu\n", STACK - unused);
	printf("%ld\n", sum);
	return 0;
}
