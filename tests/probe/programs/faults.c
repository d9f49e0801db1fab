/* SPDX-License-Identifier: MIT */
/*
 * Functions whose first instructions fault, each in several ways, and what a handler receives and
 * does: faults MODE
 *
 * The handler compares the address of the fault with a table of its own code, as runtimes do, and
 * prints its arguments relative to the function.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096

/*
 * The instruction that faults, the next one, and the one that returns -1, each as a distance from
 * the function: a jump might lead to an address in data, so no probe could be a jump over it.
 */
struct offsets {
	unsigned short at, next, fix;
};
#define FUNCTION(name, before, faulting, after)                                                   \
	long name(const void *p, long a);                                                         \
	extern const struct offsets name##_offsets;                                               \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n.p2align 4\n" #name          \
		":\n.cfi_startproc\n" before "\n.L" #name "_at: " faulting "\n.L" #name           \
		"_next: " after "\n ret\n nop\n nop\n.L" #name                                    \
		"_fix: mov $-1,%rax\n ret\n.cfi_endproc\n.size " #name ",.-" #name                \
		"\n.section .rodata\n.p2align 1\n" #name "_offsets: .short .L" #name "_at-" #name \
		",.L" #name "_next-" #name ",.L" #name "_fix-" #name "\n.text\n");
FUNCTION(first, "", "mov (%rdi),%rax", "add $1,%rax")
FUNCTION(second, "xor %eax,%eax", "add (%rdi),%rax", "add $2,%rax")
FUNCTION(third, "nop\n xor %eax,%eax", "add (%rdi),%al", "add $3,%rax")
FUNCTION(last, "xor %eax,%eax\n nop\n nop", "add (%rdi),%rax", "")
FUNCTION(longer, "", "movabs 0x10,%al", "mov $4,%eax")
FUNCTION(stores, "mov %rsi,%rax", "mov %rsi,(%rdi)", "add $5,%rax")
FUNCTION(calls, "mov %rsi,%rax", "call *(%rdi)", "add $6,%rax")
FUNCTION(wild, "nop", "call *%rdi", "add $7,%rax")
FUNCTION(divides, "mov %rsi,%rax", "divq (%rdi)", "add $8,%rax")
__asm__(".section .rodata\nfaults_zero: .byte 0\n.text\n");
FUNCTION(divides_first, "", "divb faults_zero(%rip)", "mov $9,%eax")
FUNCTION(undefined, "mov %rsi,%rax", "ud2", "add $10,%rax")
FUNCTION(vector, "nop", "movaps 8(%rdi),%xmm15", "mov $11,%eax")
FUNCTION(entered, "jmp 2f\n 2: nop", "mov (%rdi),%al", "mov $12,%eax")

static long add_one(void)
{
	return 1;
}
static long (*const add_ones[])(void) = {add_one, add_one};
static const unsigned long one[2] = {1, 1};

static const struct function {
	const char *name;
	long (*call)(const void *, long);
	const struct offsets *offsets;
	const void *good;
	bool any_memory; /* the handler may make the memory readable and retry */
} functions[] = {
#define ROW(name, good, any)                            \
	{                                               \
#name, name, &name##_offsets, good, any \
	}
		ROW(first, one, true),
		ROW(second, one, true),
		ROW(third, one, true),
		ROW(last, one, true),
		ROW(longer, NULL, false),
		ROW(stores, NULL, true),
		ROW(calls, add_ones, false),
		ROW(wild, NULL, false),
		ROW(divides, one, false),
		ROW(divides_first, NULL, false),
		ROW(undefined, NULL, false),
		ROW(vector, NULL, false),
		ROW(entered, one, true),
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static const struct function *now;
static char mode;
static char *page;
static sigjmp_buf back;
static unsigned int faults;
static greg_t stack; /* of the caller */

static void act(ucontext_t *user)
{
	greg_t *registers = user->uc_mcontext.gregs;
	greg_t at = (greg_t)now->call + now->offsets->at,
	       fix = (greg_t)now->call + now->offsets->fix;

	faults++;
	switch (mode) {
	case 't': /* the table */
		if (registers[REG_RIP] == at)
			registers[REG_RIP] = fix;
		else
			_exit(3);
		break;
	case 's': registers[REG_RIP] += now->offsets->next - now->offsets->at; break; /* skip it */
	case 'r': /* repair the cause, and retry */
		if (now->any_memory && faults < 3)
			mprotect(page, PAGE, faults < 2 ? PROT_NONE : PROT_READ | PROT_WRITE);
		else
			registers[REG_RIP] = fix;
		break;
	default: siglongjmp(back, 1);
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;
	greg_t *registers = user->uc_mcontext.gregs;
	bool of_code = number == SIGFPE || number == SIGILL;

	printf("%s: signal %d code %d at %+ld", now->name, number, info->si_code,
			(long)registers[REG_RIP] - (long)now->call);
	if (of_code)
		printf(", says %+ld", (long)info->si_addr - (long)now->call);
	else
		printf(", memory %+ld",
				(long)info->si_addr -
						(info->si_addr >= (void *)page ? (long)page : 0));
	printf(", stack %ld, rsi %lld\n", (long)(stack - registers[REG_RSP]), registers[REG_RSI]);
	act(user);
}

static void on_number(int number)
{
	printf("%s: signal %d\n", now->name, number);
	siglongjmp(back, number);
}

static void take(int number)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	struct {
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} raw = {on_fault, SA_SIGINFO | 0x4000000, NULL, 0};

	if (mode == 'j')
		action.sa_flags |= SA_ONSTACK | SA_NODEFER;
	if (mode == 'n') {
		signal(number, on_number);
	} else if (mode == 'w') {
		/* The kernel knows the handler before any probe is set. */
		sigaction(number, &action, NULL);
		syscall(SYS_rt_sigaction, number, NULL, &raw, 8);
		syscall(SYS_rt_sigaction, number, &raw, NULL, 8);
	} else {
		sigaction(number, &action, NULL);
	}
}

static void fault_in(const struct function *function, const void *with)
{
	now = function;
	faults = 0;
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	memset(page, 0, PAGE);
	mprotect(page, PAGE, PROT_NONE);
	stack = (greg_t)__builtin_frame_address(0);
	if (!sigsetjmp(back, 1))
		printf("%s: %ld\n", function->name, function->call(with, 77));
	else
		printf("%s: jumped out\n", function->name);
	if (function->good)
		printf("%s: %ld\n", function->name, function->call(function->good, 1000));
}

/* By default: dumps core, with the original address. */
static void end_in(const char *name)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		if (!strcmp(name, functions[i].name)) {
			printf("%#lx\n", (long)functions[i].call + functions[i].offsets->at);
			fflush(stdout);
			functions[i].call(functions[i].call == wild ? (void *)(1UL << 62)
								    : (void *)page,
					0);
		}
	}
}

int main(int argc, char **argv)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	static char alternate[65536];
	const stack_t own = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	char word[16];

	if (argc < 2)
		return 2;
	mode = argv[1][0];
	setvbuf(stdout, NULL, _IOLBF, 0);
	page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; mode == 'o' && i < FUNCTIONS; i++)
		printf("%s %#lx %d %d\n", functions[i].name, (long)functions[i].call,
				functions[i].offsets->at, functions[i].offsets->next);
	if (mode == 'o')
		return 0;
	if (mode == 'e') {
		end_in(argv[2]);
		return 4;
	}
	if (mode == 'j')
		sigaltstack(&own, NULL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		take(numbers[i]);
	if (mode == 'w') {
		mode = 't';
		printf("ready\n");
		if (!fgets(word, sizeof(word), stdin))
			return 2;
	}
	for (size_t i = 0; i < FUNCTIONS; i++)
		fault_in(&functions[i],
				functions[i].call == wild ? (void *)(1UL << 62) : (void *)page);
	return 0;
}
