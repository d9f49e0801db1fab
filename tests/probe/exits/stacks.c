/* SPDX-License-Identifier: MIT */
/*
 * A program that copies parts of its stack away and back.
 *
 * usage: stacks once COROUTINES: coroutines that share one stack; each copy comes back once
 *        stacks often: a continuation that returns several times, in a program with a name that
 *        side knows (-DKNOWN)
 *        stacks late LIBRARY: the same, with a library that has this name and is loaded when the
 *        calls are open
 *        stacks refused CALLS: so many open calls, in a sandbox that refuses to read the memory of
 *        a process
 *        stacks thrown: calls that longjmp() leaves, more than are set aside
 *
 * Prints each function's calls and returns.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NI __attribute__((noinline, noclone))
#define DEPTH 8
#define AGAIN 5

struct part {
	char *from; /* the stack pointer, where the kept registers are */
	char *copy;
	size_t size;
};

static char *base; /* the end of what is copied */
static unsigned long called[DEPTH], returned[DEPTH];
static volatile unsigned long sum;

__attribute__((used)) void put_away(struct part *part)
{
	part->size = (size_t)(base - part->from);
	part->copy = realloc(part->copy, part->size);
	if (!part->copy)
		abort();
	memcpy(part->copy, part->from, part->size);
}

__attribute__((used)) void put_back(const struct part *part)
{
	memcpy(part->from, part->copy, part->size);
}

/*
 * Copies the stack from the caller's frame on, and returns 0. After resume() it returns 1. Neither
 * has unwind data: their returns are not watched.
 */
int put_aside(struct part *part);
void resume(const struct part *part) __attribute__((noreturn));
__asm__(".text\n"
	".globl put_aside, resume\n"
	".type put_aside, @function\n"
	"put_aside:\n"
	"\tpush %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
	"\tmov %rsp, (%rdi)\n"
	"\tsub $8, %rsp\n"
	"\tcall put_away\n"
	"\tadd $8, %rsp\n"
	"\txor %eax, %eax\n"
	"\tjmp 1f\n"
	".size put_aside, . - put_aside\n"
	".type resume, @function\n"
	"resume:\n"
	"\tmov %rdi, %rbx\n"
	"\tmov (%rbx), %rax\n"
	"\tcmp %rsp, %rax\n"
	"\tcmova %rsp, %rax\n"
	"\tlea -4096(%rax), %rsp\n"
	"\tand $-16, %rsp\n"
	"\tcall put_back\n"
	"\tmov (%rbx), %rsp\n"
	"\tmov $1, %eax\n"
	"1:\tpop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
	"\tret\n"
	".size resume, . - resume\n");

/* ---- coroutines ---- */

static struct part *parts, scheduler;
static unsigned long running;

static NI void pause_here(void)
{
	if (!put_aside(&parts[running]))
		resume(&scheduler);
}

#define LEVEL(n, next)                                                   \
	NI unsigned long level_##n(unsigned long x, void (*inner)(void)) \
	{                                                                \
		called[n]++;                                             \
		x = next;                                                \
		returned[n]++;                                           \
		return x + (n);                                          \
	}
LEVEL(0, (inner(), x * 3))
LEVEL(1, level_0(x + 1, inner) * 5)
LEVEL(2, level_1(x + 2, inner) ^ 7)
LEVEL(3, level_2(x + 3, inner) + level_0(x, inner))
LEVEL(4, level_3(x + 4, inner) * 11)
LEVEL(5, level_4(x + 5, inner) ^ 13)
LEVEL(6, level_5(x + 6, inner) * 17)
LEVEL(7, level_6(x + 7, inner) + 19)

/* The coroutine starts or continues, until it pauses or ends. */
static NI void go_on(unsigned long which)
{
	running = which;
	if (put_aside(&scheduler))
		return;
	if (parts[which].size)
		resume(&parts[which]);
	sum += level_7(which, pause_here);
	resume(&scheduler);
}

static NI void run_once(unsigned long count)
{
	parts = calloc(count, sizeof(*parts));
	if (!parts)
		abort();
	/* Each pauses twice. */
	for (volatile unsigned int round = 0; round < 3; round++)
		for (volatile unsigned long i = 0; i < count; i++)
			go_on(i);
}

/* ---- continuations ---- */

static struct part kept;
static const char *library;
static unsigned int times;

static NI void capture(void)
{
	if (library && !dlopen(library, RTLD_NOW))
		abort();
	library = NULL;
	if (kept.size)
		return;
	if (put_aside(&kept))
		times++;
}

static NI void run_often(void)
{
	sum += level_7(1, capture);
	/* Calls that may have taken their indices meanwhile. */
	for (unsigned int i = 0; i < 10; i++)
		sum += level_3(i, capture);
	if (times < AGAIN)
		resume(&kept);
}

#ifdef KNOWN
void Init_continuation(void);
void Init_continuation(void) {}
#endif

/* ---- abandoned calls ---- */

static jmp_buf target;

static NI void leave(void)
{
	longjmp(target, 1);
}

static NI void nothing(void) {}

static NI void run_thrown(void)
{
	for (volatile unsigned long i = 0; i < 20000; i++) {
		if (!setjmp(target))
			level_7(i, leave);
		sum += level_7(i, nothing);
	}
}

/* ---- many open calls ---- */

static struct sock_filter refuses[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static unsigned long open_calls;

static NI void go_deeper(void)
{
	if (!open_calls)
		return;
	open_calls--;
	sum += level_7(open_calls, go_deeper);
}

/* By a system call that no library makes. */
static NI void run_refused(unsigned long calls)
{
	const struct sock_fprog program = {sizeof(refuses) / sizeof(refuses[0]), refuses};
	long ret;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		abort();
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_seccomp), "D"((long)SECCOMP_SET_MODE_FILTER), "S"(0l),
			 "d"(&program)
			 : "rcx", "r11", "memory");
	if (ret)
		abort();
	for (volatile int i = 0; i < 2; i++) {
		open_calls = calls;
		go_deeper();
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	base = __builtin_frame_address(0);
	if (!strcmp(argv[1], "thrown")) {
		run_thrown();
	} else if (!strcmp(argv[1], "refused")) {
		run_refused(strtoul(argv[2], NULL, 10));
	} else if (!strcmp(argv[1], "once")) {
		run_once(strtoul(argv[2], NULL, 10));
	} else {
		library = argc > 2 ? argv[2] : NULL;
		run_often();
	}
	for (unsigned int i = 0; i < DEPTH; i++)
		printf("level_%u %lu %lu\n", i, called[i], returned[i]);
	printf("sum %lx, again %u\n", sum, times);
	return 0;
}
