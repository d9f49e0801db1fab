/* SPDX-License-Identifier: MIT */
/*
 * Raises SIGSEGV and SIGBUS in all ways that programs do, and prints what its handlers receive: a
 * test compares the output with and without probes that read memory in the functions called here.
 * Addresses are printed relative to known ones.
 *
 *	probe-agent-faults ROUNDS OUT
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define FUNCTION __attribute__((noinline, optnone))
#else
#define FUNCTION __attribute__((noinline, noclone, noipa))
#endif

#define PAGE 4096
#define MASK_BYTES 8
#define STACK 65536
#define CALLS 200

struct thing {
	uint64_t value;
	const char *name;
};

/* The function with the probe. */
FUNCTION int read_thing(const struct thing *thing, const char *name);
FUNCTION int read_thing(const struct thing *thing, const char *name)
{
	return (thing != NULL) + (name != NULL);
}

static struct thing *good;
static char *page, *other_stack;

/* Hits that load; the last argument is invalid. */
static void read_often(void)
{
	for (int i = 0; i < CALLS; i++)
		read_thing(good, good->name);
}

static unsigned long long blocked(void)
{
	unsigned long long mask = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, MASK_BYTES);
	return mask;
}

static const char *where(const void *address)
{
	const char *at = address;

	if (at >= page && at < page + PAGE)
		return "the page";
	if (at >= other_stack && at < other_stack + STACK)
		return "the other stack";
	return at ? "elsewhere" : "null";
}

/* ---- handlers ---- */

static sigjmp_buf back;
static enum { REPAIR, SKIP, JUMP } then;
static volatile unsigned int times;

/* movq $1, (%rax), with all registers set to known values; and the address after it. */
extern char faulty[], behind[];
void store(void *to);
__asm__(".pushsection .text\n"
	".type store, @function\n"
	"store:\n"
	"	mov %rdi, %rax\n"
	"	mov $11, %ecx\n	mov $12, %edx\n	mov $13, %esi\n	mov $14, %r8d\n	mov $15, %r9d\n"
	"	mov $16, %r10d\n	mov $17, %r11d\n"
	"	stc\n"
	"faulty:\n"
	"	movq $1, (%rax)\n"
	"behind:\n"
	"	ret\n"
	".popsection\n");

static void print_fault(int number, const siginfo_t *info, const ucontext_t *user)
{
	const greg_t *regs = user->uc_mcontext.gregs;
	unsigned long long saved;
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	memcpy(&saved, &user->uc_sigmask, sizeof(saved));
	printf("signal %d", number);
	if (info)
		printf(" code %d address %s+%ld", info->si_code,
				info->si_code > 0 ? where(info->si_addr) : "none",
				info->si_code > 0 && where(info->si_addr) == where(page)
						? (long)((char *)info->si_addr - page)
						: 0);
	if (info && info->si_code <= 0)
		printf(" by %s", info->si_pid == getpid() ? "itself" : "another");
	printf(" blocked %llx, was %llx, on %s, frame %lx", blocked(), saved, where((void *)frame),
			where((void *)frame) == where(other_stack)
					? (unsigned long)((uintptr_t)other_stack + STACK - frame)
					: 0);
	if (info && info->si_code > 0)
		printf(" at %s, %lld %lld %lld %lld %lld %lld %lld flags %llx error %llx trap %lld "
		       "cr2 %s",
				regs[REG_RIP] == (greg_t)(uintptr_t)faulty ? "the store"
									   : "elsewhere",
				regs[REG_RCX], regs[REG_RDX], regs[REG_RSI], regs[REG_R8],
				regs[REG_R9], regs[REG_R10], regs[REG_R11],
				(unsigned long long)regs[REG_EFL] & 0xcd5,
				(unsigned long long)regs[REG_ERR], regs[REG_TRAPNO],
				where((void *)(uintptr_t)regs[REG_CR2]));
	printf("\n");
}

static void go_on(ucontext_t *user)
{
	read_often();
	times++;
	if (then == JUMP)
		siglongjmp(back, 1);
	if (then == SKIP)
		user->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)behind;
	else
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void on_info(int number, siginfo_t *info, void *context)
{
	print_fault(number, info, context);
	go_on(context);
}

/* A handler with one argument receives no more. */
static void on_plain(int number)
{
	printf("signal %d, blocked %llx\n", number, blocked());
	read_often();
	times++;
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void set(int number, int flags, const int *masked)
{
	struct sigaction action = {.sa_flags = flags}, installed;

	if (flags & SA_SIGINFO)
		action.sa_sigaction = on_info;
	else
		action.sa_handler = on_plain;
	for (; masked && *masked; masked++)
		sigaddset(&action.sa_mask, *masked);
	printf("set %d", sigaction(number, &action, NULL));
	sigaction(number, NULL, &installed);
	printf(" %d %x %d\n", installed.sa_sigaction == action.sa_sigaction,
			(unsigned int)installed.sa_flags & ~0x4000000u,
			memcmp(&installed.sa_mask, &action.sa_mask, MASK_BYTES));
}

static void fault(void)
{
	mprotect(page, PAGE, PROT_NONE);
	read_thing((struct thing *)(void *)page, page);
	if (!sigsetjmp(back, 1))
		store(page + 24);
	printf("times %u blocked %llx\n", times, blocked());
	read_often();
}

/* ---- all ways ---- */

static void all_flags(void)
{
	static const int flags[] = {0, SA_SIGINFO, SA_SIGINFO | SA_NODEFER, SA_SIGINFO | SA_ONSTACK,
			SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER};
	static const int masked[] = {SIGUSR1, SIGBUS, SIGTERM, 0};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		for (then = REPAIR; then <= JUMP; then++) {
			set(SIGSEGV, flags[i], i & 1 ? masked : NULL);
			fault();
		}
		then = REPAIR;
		/* Any thread may receive a signal that is sent to the process. */
		if (gettid() == getpid())
			kill(getpid(), SIGSEGV);
		raise(SIGSEGV);
	}
	set(SIGBUS, SA_SIGINFO, masked);
	raise(SIGBUS);
}

static void bus(void)
{
	FILE *file = tmpfile();
	char *mapped = mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			fileno(file), 0);

	set(SIGBUS, SA_SIGINFO, NULL);
	then = SKIP;
	read_thing((struct thing *)(void *)mapped, mapped);
	store(mapped + 8);
	read_often();
	(void)mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			0);
	fclose(file);
	then = REPAIR;
}

/* Prints how a child ends. */
static void end_of(const char *name, void (*way)(void))
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		struct rlimit none = {0};

		setrlimit(RLIMIT_CORE, &none);
		read_often();
		way();
		fflush(stdout);
		_exit(9);
	}
	waitpid(child, &status, 0);
	printf("%s: signal %d exit %d\n", name, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
			WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void by_default(void)
{
	signal(SIGSEGV, SIG_DFL);
	mprotect(page, PAGE, PROT_NONE);
	store(page);
}

static void by_sent(void)
{
	signal(SIGSEGV, SIG_DFL);
	kill(getpid(), SIGSEGV);
}

static void by_ignored(void)
{
	printf("%d\n", signal(SIGSEGV, SIG_IGN) == SIG_ERR);
	read_often();
	kill(getpid(), SIGSEGV);
	printf("still there\n");
	fflush(stdout);
	mprotect(page, PAGE, PROT_NONE);
	store(page);
}

static void by_second(void)
{
	then = REPAIR;
	set(SIGSEGV, (int)(SA_SIGINFO | SA_RESETHAND), NULL);
	fault();
	printf("default again: %d\n", signal(SIGSEGV, SIG_DFL) == SIG_DFL);
	fflush(stdout);
	fault();
}

static void by_blocked(void)
{
	sigset_t set_of;

	set(SIGSEGV, SA_SIGINFO, NULL);
	sigemptyset(&set_of);
	sigaddset(&set_of, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set_of, NULL);
	kill(getpid(), SIGSEGV);
	read_often();
	fflush(stdout);
	mprotect(page, PAGE, PROT_NONE);
	store(page);
}

static void by_nested(void)
{
	set(SIGSEGV, SA_SIGINFO, NULL);
	then = SKIP;
	/* It faults again in its handler. */
	munmap(good, PAGE);
	fflush(stdout);
	fault();
}

static void on_overflow(int number, siginfo_t *info, void *context)
{
	static const char text[] = "overflow seen\n";

	(void)number;
	(void)context;
	read_often();
	if (info->si_code > 0)
		(void)!write(1, text, sizeof(text) - 1);
	_exit(3);
}

static FUNCTION int deeper(int depth)
{
	volatile char space[1024] = {0};

	space[depth & 1023] = (char)depth;
	read_thing(good, good->name);
	return depth < 0 ? 0 : deeper(depth + 1) + space[0];
}

static void by_overflow(void)
{
	struct sigaction action = {
			.sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct rlimit small = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};

	setrlimit(RLIMIT_STACK, &small);
	sigaction(SIGSEGV, &action, NULL);
	deeper(0);
}

static void by_overflow_plain(void)
{
	(void)signal(SIGSEGV, SIG_DFL);
	deeper(0);
}

/* Like a runtime that reads through null pointers intentionally: many faults, many hits. */
static void null_checks(void)
{
	unsigned int sum = 0;

	then = SKIP;
	for (int i = 0; i < 5; i++) {
		set(SIGSEGV, SA_SIGINFO | SA_ONSTACK, NULL);
		fault();
		sum += (unsigned int)read_thing(good, NULL);
	}
	printf("sum %u\n", sum);
	then = REPAIR;
}

static void *in_thread(void *argument)
{
	stack_t stack = {.ss_sp = argument, .ss_size = STACK};

	sigaltstack(&stack, NULL);
	read_often();
	all_flags();
	stack = (stack_t){.ss_flags = SS_DISABLE};
	sigaltstack(&stack, NULL);
	return NULL;
}

static void in_another_process(void)
{
	struct sigaction installed;
	int status = 0;
	pid_t child;

	set(SIGSEGV, SA_SIGINFO, NULL);
	child = vfork();
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	sigaction(SIGSEGV, NULL, &installed);
	printf("after vfork %d\n", installed.sa_sigaction == on_info);
	fault();
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	stack_t stack;
	pthread_t thread;

	if (argc > 2 && !freopen(argv[2], "w", stdout))
		return 1;
	good = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	good->value = 4711;
	good->name = strcpy((char *)(good + 1), "sixteen letters.");
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	other_stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack = (stack_t){.ss_sp = other_stack, .ss_size = STACK};
	for (unsigned int round = 0; round < rounds; round++) {
		sigaltstack(&stack, NULL);
		read_often();
		end_of("default", by_default);
		all_flags();
		bus();
		end_of("default", by_default);
		end_of("sent", by_sent);
		end_of("ignored", by_ignored);
		end_of("second", by_second);
		end_of("blocked", by_blocked);
		end_of("nested", by_nested);
		end_of("overflow", by_overflow);
		end_of("overflow by default", by_overflow_plain);
		null_checks();
		in_another_process();
		stack.ss_flags = SS_DISABLE;
		sigaltstack(&stack, NULL);
		stack.ss_flags = 0;
		pthread_create(&thread, NULL, in_thread, other_stack);
		pthread_join(thread, NULL);
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
	}
	return 0;
}
