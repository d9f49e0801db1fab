/* SPDX-License-Identifier: MIT */
/*
 * Processes that share the memory of another one without being its threads, beside it or while it
 * waits: processes KIND. All call watched functions and check the results. Prints `right`, and how
 * often the process with its threads, and the others, have called deep().
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS 1000
#define STACK (1 << 18)
#define TLS_BELOW 16384
#define TLS_ABOVE 4096

__attribute__((noinline)) long leaf(long n)
{
	__asm__ volatile("");
	return n * 3 + 1;
}

__attribute__((noinline)) long deep(long n)
{
	volatile long below;

	if (!n)
		return leaf(n);
	below = deep(n - 1);
	return below + leaf(n);
}

static volatile long others, own, wrong, signals;

/* The number of calls of deep(). */
static long work(long rounds)
{
	long calls = 0;

	for (long i = 0; i < rounds; i++) {
		long n = i % 20, want = 3 * n * (n + 1) / 2 + n + 1;

		if (deep(n) != want)
			wrong++;
		calls += n + 1;
	}
	return calls;
}

static int child(void *unused)
{
	(void)unused;
	others += work(ROUNDS);
	/* Not by the C library, whose function would end the process with the threads. */
	syscall(SYS_exit, 3);
	return 0;
}

static char *new_memory(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/*
 * clone() without the C library, with a stack that starts at the function; it does not call
 * syscall() either.
 */
static long raw_clone(long flags, char *stack, void *tls)
{
	register long r8 __asm__("r8") = (long)tls;
	register long r10 __asm__("r10") = 0;
	long ret = SYS_clone;
	void **top = (void **)(stack - 16);

	*top = (void *)child;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "pop %%rax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "call *%%rax\n\t"
			 "hlt\n"
			 "1:"
			 : "+a"(ret)
			 : "D"(flags), "S"(top), "d"(0L), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
}

/* A copy of this thread's memory: each variable has another address and the same contents. */
static void *copied_tls(void)
{
	char *self = (char *)__builtin_thread_pointer(),
	     *memory = new_memory(TLS_BELOW + TLS_ABOVE);
	char *copy = memory + TLS_BELOW;
	uintptr_t begin = (uintptr_t)self - TLS_BELOW;
	size_t below = TLS_BELOW;

	/* The mapped part. */
	while (below && msync((void *)((begin + TLS_BELOW - below) & ~4095ul), 4096, MS_ASYNC))
		below -= 4096;
	memcpy(copy - below, self - below, below + 1024);
	memcpy(copy, &copy, sizeof(copy));
	memcpy(copy + 16, &copy, sizeof(copy));
	return copy;
}

static void await(int pid)
{
	int status;

	if (waitpid(pid, &status, __WALL) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
		wrong++;
}

static void beside(int pid)
{
	if (pid <= 0)
		wrong++;
	own += work(ROUNDS);
	await(pid);
	own += work(ROUNDS);
}

static void *thread(void *kind)
{
	char local[STACK];

	if (!strcmp(kind, "libc"))
		beside(clone(child, new_memory(STACK) + STACK, CLONE_VM | SIGCHLD, NULL));
	else if (!strcmp(kind, "inner")) {
		own += work(1000);
		memset(local, 0, sizeof(local));
		beside(clone(child, local + sizeof(local), CLONE_VM | SIGCHLD, NULL));
	} else if (!strcmp(kind, "raw"))
		beside(raw_clone(CLONE_VM | SIGCHLD, new_memory(STACK) + STACK, NULL));
	else if (!strcmp(kind, "files"))
		beside(raw_clone(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED,
				new_memory(STACK) + STACK, NULL));
	else if (!strcmp(kind, "tls"))
		beside(raw_clone(CLONE_VM | CLONE_SETTLS | SIGCHLD, new_memory(STACK) + STACK,
				copied_tls()));
	else if (!strcmp(kind, "vfork"))
		beside(raw_clone(
				CLONE_VM | CLONE_VFORK | SIGCHLD, new_memory(STACK) + STACK, NULL));
	return NULL;
}

/*
 * As a sanitizer does: a forked copy of the memory, whose thread calls no function of the C
 * library.
 */
static void copied(void)
{
	int pid;

	own += work(ROUNDS);
	pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		char *stack = new_memory(STACK);
		ucontext_t here, there;

		wrong = 0;
		getcontext(&there);
		there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK};
		there.uc_link = &here;
		makecontext(&there, (void (*)(void))work, 1, ROUNDS);
		swapcontext(&here, &there);
		_exit(wrong ? 1 : 3);
	}
	await(pid);
}

static ucontext_t main_context, contexts[16];

static void coroutine(void)
{
	for (int i = 0; i < 200; i++) {
		own += work(20);
		swapcontext(&contexts[i % 16], &main_context);
	}
}

static void on_signal(int number)
{
	(void)number;
	signals += work(5);
}

/* One thread on many stacks, including signal stacks, and a child. */
static void stacks(void)
{
	stack_t alternate = {.ss_sp = new_memory(STACK), .ss_size = STACK};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	int pid = (int)raw_clone(CLONE_VM | SIGCHLD, new_memory(STACK) + STACK, NULL);

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 16; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack = (stack_t){.ss_sp = new_memory(STACK), .ss_size = STACK};
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], coroutine, 0);
	}
	for (int i = 0; i < 16; i++) {
		swapcontext(&main_context, &contexts[i]);
		raise(SIGUSR1);
	}
	await(pid);
	own += signals;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "libc";
	pthread_t other;

	if (!strcmp(kind, "stacks")) {
		stacks();
	} else if (!strcmp(kind, "copied")) {
		copied();
	} else if (!strcmp(kind, "threads")) {
		pthread_create(&other, NULL, thread, "raw");
		pthread_join(other, NULL);
		thread("raw");
	} else {
		thread((void *)kind);
	}
	printf("%s %ld %ld\n", wrong ? "wrong" : "right", own, others);
	return wrong != 0;
}
