/* SPDX-License-Identifier: MIT */
/*
 * Programs that enter a sandbox (seccomp) which kills them for most system calls: sandbox KIND.
 * Each calls jumped(), a function with space for a jump, named(), another one with a string
 * argument, and tiny(), which has space for a breakpoint only, before the sandbox and inside it.
 * Prints the number of calls.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEFORE 5
#define AFTER 1000
#define THREADS 3
#define ALLOW(call)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define USE(filter) use((filter), sizeof(filter) / sizeof((filter)[0]))

static long jumps, tinies;
static int begin, ended;

__attribute__((noinline)) long jumped(long n)
{
	__asm__ volatile("nop;nop;nop;nop;nop" : "+r"(n));
	return n + 1;
}

__attribute__((noinline)) long named(long n, const char *text)
{
	__asm__ volatile("nop;nop;nop;nop;nop" : "+r"(n));
	return n + text[0];
}

/* Without padding after it, so no jump fits. */
void tiny(void);
__asm__(".text\n"
	".globl tiny\n"
	".type tiny, @function\n"
	"tiny:\n"
	"	ret\n"
	".size tiny, 1\n"
	".globl after_tiny\n"
	".type after_tiny, @function\n"
	"after_tiny:\n"
	"	ret\n"
	".size after_tiny, 1\n");

static void work(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		jumped(i);
		named(i, "text");
		tiny();
	}
	__atomic_fetch_add(&jumps, rounds, __ATOMIC_RELAXED);
	__atomic_fetch_add(&tinies, rounds, __ATOMIC_RELAXED);
}

static const struct sock_fprog *use(struct sock_filter *filter, size_t count)
{
	static struct sock_fprog program;

	program = (struct sock_fprog){(unsigned short)count, filter};
	return &program;
}

static struct sock_filter few[] = {LOAD, ALLOW(write), ALLOW(exit_group), ALLOW(exit), KILL};
static struct sock_filter partly[] = {
		LOAD, ALLOW(write), ALLOW(exit_group), ALLOW(exit), ALLOW(rt_sigreturn), KILL};
static struct sock_filter signals[] = {LOAD, ALLOW(write), ALLOW(exit_group), ALLOW(rt_sigaction),
		ALLOW(rt_sigprocmask), KILL};
static struct sock_filter with_return[] = {LOAD, ALLOW(write), ALLOW(exit_group),
		ALLOW(rt_sigreturn), ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(getpid),
		ALLOW(gettid), ALLOW(rt_tgsigqueueinfo), ALLOW(tgkill), KILL};
/* The program can set signal actions, but no mask. */
static struct sock_filter mixed[] = {
		LOAD, ALLOW(write), ALLOW(exit_group), ALLOW(exit), ALLOW(rt_sigaction), KILL};
/* Ranges, arithmetic and memory, as compilers of filters generate them. */
static struct sock_filter odd[] = {LOAD, BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 0), BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_LD | BPF_MEM, 3),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_rt_sigreturn, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_rt_sigreturn, 1, 0), KILL,
		BPF_STMT(BPF_JMP | BPF_JA, 1), KILL, BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
/* The system calls that the C library needs for a thread, and no other. */
static struct sock_filter threads[] = {LOAD, ALLOW(write), ALLOW(exit_group), ALLOW(exit),
		ALLOW(clone3), ALLOW(clone), ALLOW(mmap), ALLOW(mprotect), ALLOW(munmap),
		ALLOW(madvise), ALLOW(rseq), ALLOW(set_robust_list), ALLOW(futex),
		ALLOW(rt_sigprocmask), ALLOW(rt_sigaction), ALLOW(getrandom), ALLOW(brk), KILL};

/* Missing system calls are forbidden: this ends the program. */
static struct sock_filter without_return[] = {LOAD,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1), KILL,
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static struct sock_filter error_for_return[] = {LOAD,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

static int prctl_filter(const struct sock_fprog *program)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
}

/* By system calls that no library makes. */
static long bare_call(long number, long first, long second, long third)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(second), "d"(third)
			 : "rcx", "r11", "memory");
	return result;
}

static long bare_filter(const struct sock_fprog *program)
{
	return bare_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)program);
}

/* The child calls only functions in registers, and uses its own part of the stack. */
static int in_vfork(void)
{
	pid_t child = vfork();
	int status;

	if (!child) {
		if (bare_filter(USE(few)))
			bare_call(SYS_exit_group, 1, 0, 0);
		for (int i = 0; i < BEFORE; i++)
			tiny();
		bare_call(SYS_exit_group, 0, 0, 0);
	}
	return waitpid(child, &status, 0) != child || status;
}

static void *busy(void *unused)
{
	work(BEFORE);
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&begin, __ATOMIC_ACQUIRE))
		;
	work(AFTER);
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
	/* Waits for exit_group(): its own exit needs system calls. */
	for (;;)
		;
	return unused;
}

static volatile int handled;

static void on_signal(int number)
{
	handled += number == SIGUSR1;
}

/* Changes signals as the sandbox permits. Returns 0, or the number of the failed check. */
static int change_signals(int can_return)
{
	struct sigaction action = {.sa_handler = on_signal}, before;
	sigset_t set, was;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	if (sigaction(SIGSEGV, &action, &before) || before.sa_handler != SIG_DFL ||
			sigaction(SIGUSR1, &action, NULL) || signal(SIGTRAP, SIG_IGN) == SIG_ERR ||
			signal(SIGTRAP, SIG_DFL) != SIG_IGN || sigprocmask(SIG_BLOCK, &set, &was) ||
			sigismember(&was, SIGTRAP) || pthread_sigmask(SIG_SETMASK, &was, &set) ||
			!sigismember(&set, SIGTRAP) || sigaction(SIGSEGV, &before, NULL))
		return 7;
	if (can_return)
		raise(SIGUSR1);
	return can_return && handled != 1 ? 8 : 0;
}

static void until(int count)
{
	while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < count)
		;
}

static void *brief(void *unused)
{
	work(AFTER);
	return unused;
}

/* Does not use the C library, which needs more system calls. */
static void finish(long before)
{
	char text[80];
	int size = snprintf(text, sizeof(text), "%ld %ld %ld\n", jumps, tinies, before);

	syscall(SYS_write, 1, text, size);
	syscall(SYS_exit_group, 0);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "filter";
	pthread_t thread[THREADS];
	int ret = 0, status;
	long before;

	/* Waits until a tracer has attached. */
	if (argc > 2 && strncmp(kind, "then-", 5) && getchar() == EOF)
		return 4;
	if (strcmp(kind, "first") && (argc < 3 || strncmp(kind, "then-", 5)))
		work(BEFORE);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* In a program that this one starts: the same file, without further arguments. */
	if (argc > 2 && !strncmp(kind, "then-", 5)) {
		if (prctl_filter(!strcmp(kind, "then-kill") ? USE(without_return)
						    : !strcmp(kind, "then-fail")
						    ? USE(error_for_return)
						    : USE(all)))
			return 5;
		execl("/proc/self/exe", argv[0], kind, NULL);
		return 6;
	}
	before = tinies;
	if (!strncmp(kind, "then-", 5))
		ret = 0;
	else if (!strcmp(kind, "filter") || !strcmp(kind, "crash") || !strcmp(kind, "first"))
		ret = prctl_filter(USE(few));
	else if (!strcmp(kind, "seccomp"))
		ret = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, USE(few));
	else if (!strcmp(kind, "prctl"))
		ret = (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, USE(few), 0, 0);
	else if (!strcmp(kind, "bare"))
		ret = (int)bare_filter(USE(few));
	else if (!strcmp(kind, "twice"))
		ret = prctl_filter(USE(all)) || prctl_filter(USE(few));
	else if (!strcmp(kind, "vfork"))
		ret = in_vfork();
	else if (!strcmp(kind, "mixed"))
		ret = prctl_filter(USE(mixed));
	else if (!strcmp(kind, "odd"))
		ret = prctl_filter(USE(odd));
	else if (!strcmp(kind, "permits"))
		ret = prctl_filter(USE(with_return));
	else if (!strcmp(kind, "partly"))
		ret = prctl_filter(USE(partly));
	else if (!strcmp(kind, "signals") || !strcmp(kind, "returns")) {
		ret = !strcmp(kind, "signals") ? prctl_filter(USE(signals))
					       : prctl_filter(USE(with_return));
		ret = ret ? ret : change_signals(kind[0] == 'r');
	} else if (!strcmp(kind, "fails"))
		ret = !prctl_filter(use(few, 0)) ||
				!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0xf000, USE(few));
	else if (!strcmp(kind, "strict"))
		ret = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (!strcmp(kind, "clock"))
		ret = prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	else if (!strcmp(kind, "threads")) {
		ret = prctl_filter(USE(threads));
		for (int i = 0; !ret && i < THREADS; i++)
			ret = pthread_create(thread + i, NULL, brief, NULL);
		for (int i = 0; !ret && i < THREADS; i++)
			ret = pthread_join(thread[i], NULL);
	} else if (!strcmp(kind, "sync")) {
		for (int i = 0; i < THREADS; i++)
			pthread_create(thread + i, NULL, busy, NULL);
		until(THREADS);
		before = tinies;
		ret = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				USE(few));
		__atomic_store_n(&begin, 1, __ATOMIC_RELEASE);
		until(2 * THREADS);
	} else if (!strcmp(kind, "child")) {
		if (fork()) {
			wait(&status);
			return status ? 1 : 0;
		}
		jumps = tinies = before = 0;
		ret = prctl_filter(USE(few));
	} else
		return 2;
	if (ret)
		return 3;
	work(AFTER);
	if (!strcmp(kind, "crash"))
		*(volatile int *)0 = 1;
	if (!strcmp(kind, "strict"))
		write(1, "strict\n", 7), syscall(SYS_exit, 0);
	finish(before);
}
