/* SPDX-License-Identifier: MIT */
/*
 * Calls place() through every form of unwind data: plain frames, large ones, frames of dynamic
 * size, aligned ones, through a linkage table, from callbacks of a library and of libc, in a signal
 * handler on another stack, in a thread, and on temporary stacks. Compiled without frame pointers.
 */
#include "called.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __clang__
#define FUNCTION __attribute__((noinline, optnone))
#else
#define FUNCTION __attribute__((noinline, noclone, noipa))
#endif

static volatile int total;

FUNCTION void place(int number);
FUNCTION void place(int number)
{
	total += number;
}

/* A probe whose return is watched may be between. */
FUNCTION int between(int number);
FUNCTION int between(int number)
{
	place(number);
	return total;
}

FUNCTION static int aligned(int number)
{
	_Alignas(64) char space[256];

	memset(space, number, sizeof(space));
	__asm__ volatile("" : : "r"(space) : "memory");
	return between(number) + space[number & 63];
}

FUNCTION static int large(int number)
{
	char space[40000];

	memset(space, number, sizeof(space));
	__asm__ volatile("" : : "r"(space) : "memory");
	return aligned(number) + space[number & 63];
}

FUNCTION static int many_registers(int depth)
{
	int a = total, b = depth * 3, c = a ^ b, d = c + 7;

	for (int i = 0; i < 3; i++) {
		a += large(depth);
		b ^= a + c;
		c += b * d;
	}
	return a + b + c + d;
}

FUNCTION static int back(int depth)
{
	if (depth <= 0)
		return many_registers(depth);
	return called_deeper(depth, back) + 1;
}

static int compare(const void *left, const void *right)
{
	place(2);
	return *(const int *)left - *(const int *)right;
}

static void on_signal(int number)
{
	between(number);
}

FUNCTION static void raise_somewhere(void)
{
	/* The probe is here, in the middle of a changed frame. */
	__asm__ volatile("push %%rbx\n\t.cfi_adjust_cfa_offset 8\n\tud2\n\tpop %%rbx\n\t"
			 ".cfi_adjust_cfa_offset -8"
			 :
			 :
			 : "memory");
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	(void)info;
	between(number);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

/* Deeper than the part of a stack that is checked at once, and shallow again. */
FUNCTION static int deep(int depth)
{
	char space[60000];

	memset(space, depth, sizeof(space));
	__asm__ volatile("" : : "r"(space) : "memory");
	return (depth ? deep(depth - 1) : between(7)) + space[depth];
}

/* On a stack that the program allocates, and that does not exist the next time. */
static ucontext_t outside, inside;

static void on_own_stack(void)
{
	aligned(6);
}

static void change_stacks(void)
{
	const size_t size = 131072;

	for (int i = 0; i < 3; i++) {
		char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

		getcontext(&inside);
		inside.uc_link = &outside;
		inside.uc_stack.ss_sp = stack;
		inside.uc_stack.ss_size = size;
		makecontext(&inside, on_own_stack, 0);
		swapcontext(&outside, &inside);
		munmap(stack, size);
		aligned(5);
	}
}

static void *in_thread(void *nothing)
{
	between(4);
	deep(3);
	change_stacks();
	deep(12);
	between(4);
	return nothing;
}

int main(void)
{
	static char stack[65536];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_ONSTACK | SA_SIGINFO};
	pthread_t thread;

	back(6);
	called_sorted(compare);
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGILL, &trap, NULL);
	raise(SIGUSR1);
	raise_somewhere();
	deep(2);
	deep(20);
	deep(1);
	change_stacks();
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	return total == 0;
}
