/* SPDX-License-Identifier: MIT */
/*
 * sandbox_permits() judges filters as the kernel does: the test draws random filters and installs
 * each in a child that then makes a call.
 *
 * SIDE_TEST_LONG=1 draws a hundred times as many.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracers/agent/context/sandbox.h"

#define FILTERS 1000
#define LENGTH_MAX 24
#define PERMITTED 7

static uint64_t state = 1;

static uint32_t draw(uint32_t limit)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % limit;
}

/* Near the number of the call, so that each branch is taken. */
static uint32_t draw_number(void)
{
	return draw(3)            ? SYS_getpid - 3 + draw(7)
			: draw(4) ? draw(400)
				  : (uint32_t)draw(1 << 30) * 4;
}

static uint32_t draw_action(void)
{
	static const uint32_t actions[] = {SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW,
			SECCOMP_RET_LOG, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_KILL_PROCESS,
			SECCOMP_RET_TRAP};

	return actions[draw(sizeof(actions) / sizeof(actions[0]))];
}

static struct sock_filter draw_instruction(uint32_t at, uint32_t length)
{
	static const uint16_t alu[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_XOR,
			BPF_LSH, BPF_RSH, BPF_NEG};
	static const uint16_t jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	uint16_t source = draw(3) ? BPF_K : BPF_X, code;
	uint32_t left = length - at - 2;

	switch (draw(9)) {
	case 0:
	case 1: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4 * draw(2));
	case 2: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, draw_number());
	case 3:
		return (struct sock_filter)BPF_STMT(
				BPF_LDX | (draw(2) ? BPF_IMM : BPF_W | BPF_LEN), draw_number());
	case 4: return (struct sock_filter)BPF_STMT(draw(2) ? BPF_ST : BPF_STX, draw(2));
	case 5:
		return (struct sock_filter)BPF_STMT(
				draw(2) ? BPF_MISC | BPF_TAX : BPF_MISC | BPF_TXA, 0);
	case 6:
		code = alu[draw(sizeof(alu) / sizeof(alu[0]))];
		return (struct sock_filter)BPF_STMT(
				BPF_ALU | code | (code == BPF_NEG ? BPF_K : source),
				code == BPF_LSH || code == BPF_RSH ? draw(32) : 1 + draw(1000));
	case 7:
		if (!left)
			return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, draw_action());
		return draw(6) ? (struct sock_filter)BPF_JUMP(BPF_JMP | jumps[draw(4)] | source,
						 draw_number(), (uint8_t)draw(left),
						 (uint8_t)draw(left))
			       : (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, draw(left));
	default: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	}
}

/* Returns 1: the kernel permits the call; 0: it does not; -1: it refuses the filter. */
static int ask_kernel(const struct sock_fprog *program)
{
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		abort();
	if (!child) {
		long pid = getpid(), got;

		prctl(PR_SET_DUMPABLE, 0);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program))
			_exit(2);
		/* The child reports the result by a fault, because no call may be permitted. */
		__asm__ volatile("syscall"
				 : "=a"(got)
				 : "a"(SYS_getpid), "D"(0L), "S"(0L), "d"(0L)
				 : "rcx", "r11", "memory");
		if (got == pid)
			__builtin_trap();
		*(volatile int *)0 = 1;
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return -1;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGILL;
}

/*
 * Memory, bounds and results that the drawn filters do not have, mostly because the kernel refuses
 * such filters.
 */
static bool check_crafted(void)
{
	static const struct {
		const char *what;
		bool is_permitted;
		unsigned short length;
		struct sock_filter code[6];
	} crafted[] = {
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define RETURN BPF_STMT(BPF_RET | BPF_A, 0)
#define LOAD(value) BPF_STMT(BPF_LD | BPF_IMM, value)
#define LOAD_X(value) BPF_STMT(BPF_LDX | BPF_IMM, value)
#define DATA(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define EQUAL(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD)
			{"nothing", false, 0, {ALLOW}},
			{"no end", false, 1, {LOAD(SECCOMP_RET_ALLOW), RETURN}},
			{"last word", true, 2, {DATA(60), ALLOW}},
			{"behind it", false, 2, {DATA(64), ALLOW}},
			{"part of a word", false, 2, {DATA(2), ALLOW}},
			{"arguments are 0", true, 4, {DATA(16), EQUAL(0), KILL, ALLOW}},
			{"size of the data", true, 4,
					{BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), EQUAL(64), KILL,
							ALLOW}},
			{"last memory", true, 5,
					{LOAD(SECCOMP_RET_ALLOW), BPF_STMT(BPF_ST, 15), LOAD(0),
							BPF_STMT(BPF_LD | BPF_MEM, 15), RETURN}},
			{"store behind it", false, 2, {BPF_STMT(BPF_ST, 16), ALLOW}},
			{"load behind it", false, 2, {BPF_STMT(BPF_LD | BPF_MEM, 16), ALLOW}},
			{"memory of X", true, 6,
					{LOAD_X(SECCOMP_RET_ALLOW), BPF_STMT(BPF_STX, 1), LOAD_X(0),
							BPF_STMT(BPF_LDX | BPF_MEM, 1),
							BPF_STMT(BPF_MISC | BPF_TXA, 0), RETURN}},
			{"memory of A", true, 5,
					{LOAD(SECCOMP_RET_ALLOW), LOAD_X(5), BPF_STMT(BPF_ST, 0),
							BPF_STMT(BPF_LD | BPF_MEM, 0), RETURN}},
			{"unset memory", true, 4,
					{BPF_STMT(BPF_LD | BPF_MEM, 3), EQUAL(0), KILL, ALLOW}},
			{"division by 0", false, 4,
					{LOAD(5), LOAD_X(0), BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
							ALLOW}},
			{"shift to the left by 33", true, 4,
					{LOAD(SECCOMP_RET_ALLOW >> 1), LOAD_X(33),
							BPF_STMT(BPF_ALU | BPF_LSH | BPF_X, 0),
							RETURN}},
			{"shift to the right by 33", true, 4,
					{LOAD((uint32_t)SECCOMP_RET_ALLOW << 1), LOAD_X(33),
							BPF_STMT(BPF_ALU | BPF_RSH | BPF_X, 0),
							RETURN}},
			{"no operation", false, 2, {BPF_STMT(BPF_ALU | 0xb0, 1), ALLOW}},
			{"no mode", false, 2, {BPF_STMT(BPF_LD | BPF_IND, 0), ALLOW}},
			{"jump", true, 3, {BPF_STMT(BPF_JMP | BPF_JA, 1), KILL, ALLOW}},
			{"jump behind the end", false, 2, {BPF_STMT(BPF_JMP | BPF_JA, 1), ALLOW}},
			{"jump backwards", false, 2,
					{BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), ALLOW}},
			{"log", true, 1, {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG | 5)}},
			{"trace", false, 1, {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE)}},
	};

	for (size_t i = 0; i < sizeof(crafted) / sizeof(*crafted); i++) {
		struct sock_filter code[6];
		struct sock_fprog program = {crafted[i].length, code};

		memcpy(code, crafted[i].code, sizeof(code));
		if (sandbox_permits(&program, SYS_getpid) != crafted[i].is_permitted) {
			fprintf(stderr, "%s: not as it should be\n", crafted[i].what);
			return false;
		}
	}
	return true;
}

int main(void)
{
	const char *is_long = getenv("SIDE_TEST_LONG");
	unsigned int count = is_long && *is_long == '1' ? 100 * FILTERS : FILTERS, taken = 0,
		     permitted = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct sock_filter filter[LENGTH_MAX];
		uint32_t length = 3 + draw(LENGTH_MAX - 2);
		struct sock_fprog program = {(unsigned short)length, filter};
		int kernel, ours;

		filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
		for (uint32_t at = 1; at + 1 < length; at++)
			filter[at] = draw_instruction(at, length);
		filter[length - 1] = draw(4)
				? (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, draw_action())
				: (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
		kernel = ask_kernel(&program);
		ours = sandbox_permits(&program, SYS_getpid);
		if (kernel >= 0 && kernel != ours) {
			fprintf(stderr, "filter %u: the kernel says %d, we %d\n", i, kernel, ours);
			for (uint32_t at = 0; at < length; at++)
				fprintf(stderr, "%2u: %#06x %u %u %#x\n", at, filter[at].code,
						filter[at].jt, filter[at].jf, filter[at].k);
			return 1;
		}
		taken += kernel >= 0;
		permitted += kernel > 0;
	}
	printf("%u filters, %u of them taken by the kernel, %u permit the call\n", count, taken,
			permitted);
	if (!check_crafted())
		return 3;
	/* A filter that cannot be read permits nothing. */
	if (sandbox_permits(NULL, SYS_getpid) ||
			sandbox_permits(&(struct sock_fprog){4, NULL}, SYS_getpid))
		return 2;
	return taken < count / 10 || permitted < count / 50 || permitted == taken;
}
