/* SPDX-License-Identifier: MIT */
/*
 * Calls a function on small stacks that end at a guard: of coroutines, in two threads, and of
 * signal handlers. Prints on stderr the greatest stack use of a hit at the start of the function,
 * and on how many alternate stacks the function was called; on stdout its results.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK 4096
#define CALLS 25
#define FILL 0xa5
#define SPACE (1024 + 256) /* for a hit, and for the handler itself */
#define CLASSICAL 2048

long small_leaf(long value, const char *text);
__attribute__((noinline)) long small_leaf(long value, const char *text)
{
	__asm__ volatile("nop; nop; nop; nop; nop" ::"r"(text));
	return value + 1;
}

static ucontext_t out, in;
static volatile long sum;
static volatile uintptr_t at_call;
static size_t most;

/*
 * Fills the stack up to the start of the function; the return address is the last word of the
 * program.
 */
#define CALL(value)                                                \
	do {                                                       \
		__asm__ volatile("mov %%rsp, %0" : "=r"(at_call)); \
		at_call -= sizeof(uintptr_t);                      \
		sum += small_leaf(value, "a text of some length"); \
	} while (0)

static void run(void)
{
	for (long i = 0; i < CALLS; i++)
		CALL(i);
	swapcontext(&in, &out);
}

static unsigned char *make_stack(size_t size)
{
	size_t whole = (size + STACK - 1) / STACK * STACK;
	unsigned char *memory = mmap(
			NULL, whole + 2 * STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(memory + STACK, whole, PROT_READ | PROT_WRITE);
	/* The guard is directly below it. */
	memset(memory + STACK, FILL, size);
	return memory + STACK;
}

static void measure(const unsigned char *stack)
{
	size_t unused = 0;

	while (stack[unused] == FILL)
		unused++;
	if (at_call - (uintptr_t)(stack + unused) > most)
		most = at_call - (uintptr_t)(stack + unused);
}

static void *run_coroutine(void *unused)
{
	unsigned char *stack = make_stack(STACK);

	(void)unused;
	getcontext(&in);
	in.uc_stack.ss_sp = stack;
	in.uc_stack.ss_size = STACK;
	in.uc_link = &out;
	makecontext(&in, run, 0);
	swapcontext(&out, &in);
	measure(stack);
	return NULL;
}

static unsigned char *alternate;
static volatile sig_atomic_t called;

static void handle(int number)
{
	uintptr_t pointer;

	(void)number;
	__asm__ volatile("mov %%rsp, %0" : "=r"(pointer));
	/* The remainder that the kernel leaves. */
	if (pointer - (uintptr_t)alternate < SPACE)
		return;
	CALL(0);
	called++;
}

static void run_handler(size_t size)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_size = size};

	alternate = stack.ss_sp = make_stack(size);
	if (sigaltstack(&stack, NULL))
		return;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	if (called)
		measure(alternate);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

int main(int argc, char **argv)
{
	size_t least = (size_t)sysconf(_SC_MINSIGSTKSZ);
	pthread_t thread;

	run_coroutine(NULL);
	pthread_create(&thread, NULL, run_coroutine, NULL);
	pthread_join(thread, NULL);
	if (argc > 1 && !strcmp(argv[1], "signals")) {
		/* On many machines the kernel stores more there. */
		if (least <= CLASSICAL)
			run_handler(CLASSICAL);
		run_handler(least);
		run_handler(least + SPACE);
	}
	fprintf(stderr, "used %zu\nhandlers %d\n", most, (int)called);
	printf("%ld\n", sum - called);
	return 0;
}
