/* SPDX-License-Identifier: MIT */
/*
 * In a sandbox that permits write() and exit_group() only: sets registers, flags and modes,
 * executes a breakpoint, and compares all of them. Prints how often they were the same. With
 * "alternate", signals have an alternate stack. With "interrupted" there is no sandbox, but a timer
 * signal at any instruction, whose handler makes a backtrace.
 */
#include <execinfo.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define ROUNDS 4000
#define ROUNDS_INTERRUPTED 40000
#define INTERVAL_US 40
#define FRAMES 30
#define GENERAL 14 /* registers besides rsp and r15; r15 is the address of the state */
#define VECTORS 16
#define VECTOR_BYTES 32
#define FLAGS 0x200cd5u /* identification, direction, and the arithmetic flags */

struct state {
	uint64_t general[GENERAL], flags;
	uint8_t vectors[VECTORS][VECTOR_BYTES];
	uint32_t mode;
	uint16_t control, unused;
	double stack[3]; /* of the x87 */
};

static struct state before, after;
static uint64_t has_vectors;

/* A function for a breakpoint: there is no space for a jump. */
void tiny(void);
void execute(struct state *before, struct state *after);
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

#define EACH_GENERAL(does)                                                                         \
	does(0, rax) does(1, rbx) does(2, rcx) does(3, rdx) does(4, rsi) does(5, rdi) does(6, rbp) \
			does(7, r8) does(8, r9) does(9, r10) does(10, r11) does(11, r12)           \
					does(12, r13) does(13, r14)
#define EACH_VECTOR(does)                                                                        \
	does(0) does(1) does(2) does(3) does(4) does(5) does(6) does(7) does(8) does(9) does(10) \
			does(11) does(12) does(13) does(14) does(15)
#define LOAD_GENERAL(n, name) "	movq 8*" #n "(%r15), %" #name "\n"
#define STORE_GENERAL(n, name) "	movq %" #name ", 8*" #n "(%r15)\n"
#define LOAD_YMM(n) "	vmovdqu 120+32*" #n "(%r15), %ymm" #n "\n"
#define STORE_YMM(n) "	vmovdqu %ymm" #n ", 120+32*" #n "(%r15)\n"
#define LOAD_XMM(n) "	movdqu 120+32*" #n "(%r15), %xmm" #n "\n"
#define STORE_XMM(n) "	movdqu %xmm" #n ", 120+32*" #n "(%r15)\n"
_Static_assert(offsetof(struct state, flags) == 112 && offsetof(struct state, vectors) == 120 &&
				offsetof(struct state, mode) == 632 &&
				offsetof(struct state, control) == 636 &&
				offsetof(struct state, stack) == 640,
		"as below");
#define LOAD_VECTORS                                              \
	"	cmpq $0, has_vectors(%rip); je 1f\n" EACH_VECTOR( \
			LOAD_YMM) "	jmp 2f\n1:\n" EACH_VECTOR(LOAD_XMM) "2:\n"
#define STORE_VECTORS                                             \
	"	cmpq $0, has_vectors(%rip); je 1f\n" EACH_VECTOR( \
			STORE_YMM) "	jmp 2f\n1:\n" EACH_VECTOR(STORE_XMM) "2:\n"
#define LOAD_REGISTERS EACH_GENERAL(LOAD_GENERAL)
#define STORE_REGISTERS EACH_GENERAL(STORE_GENERAL)
/* clang-format off */
__asm__(".text\n"
	".globl execute\n"
	".type execute, @function\n"
	"execute:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	push %rsi\n"
	"	mov %rdi, %r15\n"
	"	fninit\n"
	"	fldcw 636(%r15); fldl 640(%r15); fldl 648(%r15); fldl 656(%r15)\n"
	"	ldmxcsr 632(%r15)\n"
	LOAD_VECTORS
	"	push 112(%r15)\n"
	LOAD_REGISTERS
	"	popfq\n"
	"	call tiny\n"
	"	mov 0(%rsp), %r15\n"
	STORE_REGISTERS
	"	pushfq; popq 112(%r15)\n"
	"	pushq $2; popfq\n"
	"	fstpl 656(%r15); fstpl 648(%r15); fstpl 640(%r15); fnstcw 636(%r15)\n"
	"	stmxcsr 632(%r15)\n"
	STORE_VECTORS
	"	pop %rsi\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	fninit; pushq $0x1f80; ldmxcsr (%rsp); add $8, %rsp\n"
	"	ret\n"
	".size execute, . - execute\n");
/* clang-format on */

static void fill(void *to, size_t size)
{
	for (uint8_t *at = to; size--; at++)
		*at = (uint8_t)(rand() >> 7);
}

static void choose(void)
{
	static const uint16_t roundings[] = {0, 0x400, 0x800, 0xc00};

	fill(&before, sizeof(before));
	before.flags = (before.flags & FLAGS) | 0x202;
	/* Floating-point exceptions are masked, and none is pending. */
	before.mode = 0x1f80 | (before.mode & 0xe000);
	before.control = 0x37f | roundings[before.control % 4];
	before.unused = 0;
	for (int i = 0; i < 3; i++)
		before.stack[i] = rand() / 3.0;
	if (!has_vectors)
		for (int i = 0; i < VECTORS; i++)
			memset(before.vectors[i] + 16, 0, 16);
}

static struct sock_filter few[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};

static void on_timer(int number)
{
	void *frames[FRAMES];

	(void)number;
	(void)backtrace(frames, FRAMES);
}

static bool interrupt(void)
{
	const struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	const struct itimerval interval = {{0, INTERVAL_US}, {0, INTERVAL_US}};

	/* The first backtrace loads the unwinder. */
	on_timer(0);
	return !sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &interval, NULL);
}

int main(int argc, char *argv[])
{
	bool is_interrupted = argc > 1 && !strcmp(argv[1], "interrupted");
	static char stack[65536], text[64];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const struct sock_fprog program = {sizeof(few) / sizeof(few[0]), few};
	unsigned int same = 0, rounds = is_interrupted ? ROUNDS_INTERRUPTED : ROUNDS;
	int size;

	has_vectors = __builtin_cpu_supports("avx");
	if (argc > 1 && !is_interrupted && sigaltstack(&alternate, NULL))
		return 3;
	if (is_interrupted ? !interrupt()
			   : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
							prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
									&program))
		return 4;
	for (unsigned int i = 0; i < rounds; i++) {
		choose();
		memset(&after, 0, sizeof(after));
		execute(&before, &after);
		same += !memcmp(&before, &after, sizeof(before));
	}
	size = snprintf(text, sizeof(text), "%u the same\n", same);
	syscall(SYS_write, 1, text, size);
	syscall(SYS_exit_group, 0);
}
