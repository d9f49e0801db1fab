/* SPDX-License-Identifier: MIT */
/*
 * Allocates memory in known chains of calls, and writes each chain to descriptor 3 as libgcc's
 * unwinder sees it: the reference for the context `backtrace`.
 *
 * One line for each allocation: its name, the address of the block, the return addresses of the
 * callers of the function that allocates. "-" instead of addresses: libgcc cannot unwind there.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define FRAMES 200

static void stacks_note(const char *name, const void *block, void *const *frames, int nr)
{
	char line[FRAMES * 20 + 100];
	int size = snprintf(line, sizeof(line), "%s %p", name, block);

	for (int i = 1; i < nr; i++)
		size += snprintf(line + size, sizeof(line) - (size_t)size, " %p", frames[i]);
	if (!nr)
		size += snprintf(line + size, sizeof(line) - (size_t)size, " -");
	line[size++] = '\n';
	if (write(3, line, (size_t)size) != size)
		_exit(9);
}

/* Also called by the library that is loaded later. */
void stacks_allocate(const char *name);

NOINLINE void stacks_allocate(const char *name)
{
	void *frames[FRAMES];
	void *block = malloc(77);

	stacks_note(name, block, frames, backtrace(frames, FRAMES));
}

/* In code that libgcc cannot unwind: the test knows what to expect. */
static NOINLINE void stacks_allocate_only(const char *name)
{
	stacks_note(name, malloc(77), NULL, 0);
}

/* ---- chains ---- */

static volatile int stacks_kept;

static NOINLINE void stacks_recurse(const char *name, int depth)
{
	volatile char used[40];

	used[0] = (char)depth;
	if (depth)
		stacks_recurse(name, depth - 1);
	else
		stacks_allocate(name);
	stacks_kept += used[0];
}

static const char *volatile stacks_compared;

static int stacks_compare(const void *one, const void *other)
{
	(void)one;
	(void)other;
	if (stacks_compared)
		stacks_allocate(stacks_compared);
	stacks_compared = NULL;
	return 0;
}

static void stacks_sort(void)
{
	int numbers[2] = {2, 1};

	stacks_compared = "callback";
	qsort(numbers, 2, sizeof(numbers[0]), stacks_compare);
}

static const char *volatile stacks_signal_name;

static void stacks_handle(int signal)
{
	(void)signal;
	stacks_allocate(stacks_signal_name);
}

static void stacks_signals(void)
{
	static char other[64 << 10];
	stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction action = {.sa_handler = stacks_handle};

	stacks_signal_name = "handler";
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	stacks_signal_name = "alternate";
	action.sa_flags = SA_ONSTACK;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void *stacks_thread(void *name)
{
	stacks_allocate(name);
	return NULL;
}

static void stacks_threads(void)
{
	static char name[] = "thread";
	pthread_t thread;

	pthread_create(&thread, NULL, stacks_thread, name);
	pthread_join(thread, NULL);
}

static ucontext_t stacks_main_context, stacks_other_context;

static void stacks_coroutine(void)
{
	stacks_recurse("coroutine", 3);
}

/* The stack ends with its mapping. */
static void stacks_coroutines(void)
{
	size_t size = 64 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	getcontext(&stacks_other_context);
	stacks_other_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = size};
	stacks_other_context.uc_link = &stacks_main_context;
	makecontext(&stacks_other_context, stacks_coroutine, 0);
	swapcontext(&stacks_main_context, &stacks_other_context);
}

/* Code that is made while the program runs: push %rbp; mov %rsp,%rbp; call *%rsi; pop; ret. */
static void stacks_generated(void)
{
	static const unsigned char keeps[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
	/* push %rbp; mov $-2,%rbp; call *%rsi; pop %rbp; ret */
	static const unsigned char breaks[] = {
			0x55, 0x48, 0xc7, 0xc5, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xd6, 0x5d, 0xc3};
	/*
	 * push %rbp; push %rsp; push %rsp; mov %rsp,%rbp; call *%rsi; add $16,%rsp; pop %rbp; ret:
	 * the frame pointer leads to an address of the stack.
	 */
	static const unsigned char misleads[] = {0x55, 0x54, 0x54, 0x48, 0x89, 0xe5, 0xff, 0xd6,
			0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
	/* As above with push %rsi; push %rsp: the frame pointer leads to a function. */
	static const unsigned char points[] = {0x55, 0x56, 0x54, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x48,
			0x83, 0xc4, 0x10, 0x5d, 0xc3};
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(const char *name, void (*function)(const char *));

	memcpy(code, keeps, sizeof(keeps));
	memcpy(code + 64, breaks, sizeof(breaks));
	memcpy(code + 128, misleads, sizeof(misleads));
	memcpy(code + 192, points, sizeof(points));
	memcpy(&call, &code, sizeof(call));
	call("generated", stacks_allocate_only);
	code += 64;
	memcpy(&call, &code, sizeof(call));
	call("broken", stacks_allocate_only);
	code += 64;
	memcpy(&call, &code, sizeof(call));
	call("misleading", stacks_allocate_only);
	code += 64;
	memcpy(&call, &code, sizeof(call));
	call("pointer", stacks_allocate_only);
}

static void stacks_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*call)(const char *, void (*)(const char *));

	if (!library)
		_exit(8);
	*(void **)&call = dlsym(library, "stacks_of_library");
	call("library", stacks_allocate);
	dlclose(library);
	library = dlopen(path, RTLD_NOW);
	*(void **)&call = dlsym(library, "stacks_of_library");
	call("again", stacks_allocate);
}

static void stacks_children(void)
{
	pid_t child = fork();

	if (!child) {
		stacks_recurse("child", 2);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* No call that reads memory is permitted any more. */
static void stacks_sandbox(void)
{
	struct sock_filter filter[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 310, 0, 1), /* process_vm_readv */
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(7);
	stacks_recurse("sandbox", 2);
}

/* The kernel kills the child in the call: its event must come before. */
static void stacks_killed(void)
{
	struct sock_filter filter[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 11, 0, 1), /* munmap */
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};
	pid_t child = fork();
	int status;

	if (!child) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			munmap(filter, 1234567);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
		_exit(6);
}

static __attribute__((constructor)) void stacks_early(void)
{
	stacks_allocate("constructor");
}

int main(int argc, char **argv)
{
	stacks_allocate("main");
	stacks_recurse("deep", 60);
	stacks_recurse("deeper", 150);
	stacks_sort();
	stacks_signals();
	stacks_threads();
	stacks_coroutines();
	stacks_generated();
	if (argc > 1)
		stacks_library(argv[1]);
	stacks_children();
	stacks_killed();
	stacks_sandbox();
	return stacks_kept == -1;
}
