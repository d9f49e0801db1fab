/* SPDX-License-Identifier: MIT */
/*
 * Evaluate a seccomp filter for a system call: an interpreter of the classic BPF that the kernel
 * accepts for filters.
 *
 * The call has no arguments: a filter that checks arguments sees zeros, which is right for calls
 * that take none.
 */
#include "tracers/agent/context/sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/inside/raw.h"

#include <sys/uio.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0u
#endif

struct machine {
	uint32_t a, x;
	uint32_t memory[BPF_MEMWORDS];
	uint32_t data[sizeof(struct seccomp_data) / sizeof(uint32_t)];
};

/* The program's memory, which may be unmapped. */
static bool sandbox_read(void *to, const void *from, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

	return raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), &local, 1L, &remote, 1L, 0L) ==
			(long)size;
}

/* False: there is no such operation. */
static bool sandbox_compute(struct machine *machine, uint16_t code, uint32_t k)
{
	uint32_t operand = BPF_SRC(code) == BPF_X ? machine->x : k;

	switch (BPF_OP(code)) {
	case BPF_ADD: machine->a += operand; return true;
	case BPF_SUB: machine->a -= operand; return true;
	case BPF_MUL: machine->a *= operand; return true;
	case BPF_DIV: machine->a = operand ? machine->a / operand : 0; return operand != 0;
	case BPF_OR: machine->a |= operand; return true;
	case BPF_AND: machine->a &= operand; return true;
	case BPF_XOR: machine->a ^= operand; return true;
	/* As processors do it. */
	case BPF_LSH: machine->a <<= operand % 32; return true;
	case BPF_RSH: machine->a >>= operand % 32; return true;
	case BPF_NEG: machine->a = 0 - machine->a; return true;
	default: return false;
	}
}

static bool sandbox_load(
		const struct machine *machine, uint16_t code, uint32_t k, uint32_t *ret_value)
{
	switch (BPF_MODE(code)) {
	case BPF_ABS:
		if (k % sizeof(uint32_t) || k >= sizeof(machine->data))
			return false;
		*ret_value = machine->data[k / sizeof(uint32_t)];
		return true;
	case BPF_IMM: *ret_value = k; return true;
	case BPF_LEN: *ret_value = sizeof(machine->data); return true;
	case BPF_MEM:
		*ret_value = k < BPF_MEMWORDS ? machine->memory[k] : 0;
		return k < BPF_MEMWORDS;
	default: return false;
	}
}

static bool sandbox_jumps(const struct machine *machine, uint16_t code, uint32_t k)
{
	uint32_t operand = BPF_SRC(code) == BPF_X ? machine->x : k;

	switch (BPF_OP(code)) {
	case BPF_JEQ: return machine->a == operand;
	case BPF_JGT: return machine->a > operand;
	case BPF_JGE: return machine->a >= operand;
	default: return machine->a & operand;
	}
}

/* One instruction other than a jump or a return. */
static bool sandbox_step(struct machine *machine, const struct sock_filter *filter)
{
	switch (BPF_CLASS(filter->code)) {
	case BPF_LD: return sandbox_load(machine, filter->code, filter->k, &machine->a);
	case BPF_LDX: return sandbox_load(machine, filter->code, filter->k, &machine->x);
	case BPF_ST:
	case BPF_STX:
		if (filter->k >= BPF_MEMWORDS)
			return false;
		machine->memory[filter->k] =
				BPF_CLASS(filter->code) == BPF_ST ? machine->a : machine->x;
		return true;
	case BPF_ALU: return sandbox_compute(machine, filter->code, filter->k);
	case BPF_MISC:
		if (BPF_MISCOP(filter->code) == BPF_TAX)
			machine->x = machine->a;
		else
			machine->a = machine->x;
		return true;
	default: return false;
	}
}

/* Jumps go forward only, so the loop ends. */
static uint32_t sandbox_run(struct machine *machine, const struct sock_fprog *program)
{
	for (uint32_t at = 0; at < program->len; at++) {
		struct sock_filter filter;

		if (!sandbox_read(&filter, &program->filter[at], sizeof(filter)))
			break;
		if (BPF_CLASS(filter.code) == BPF_RET)
			return BPF_RVAL(filter.code) == BPF_A ? machine->a : filter.k;
		if (BPF_CLASS(filter.code) != BPF_JMP) {
			if (!sandbox_step(machine, &filter))
				break;
		} else if (BPF_OP(filter.code) == BPF_JA) {
			if (filter.k >= program->len - at)
				break;
			at += filter.k;
		} else {
			at += sandbox_jumps(machine, filter.code, filter.k) ? filter.jt : filter.jf;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

bool sandbox_permits(const struct sock_fprog *program, unsigned int call)
{
	struct seccomp_data data = {.nr = (int)call, .arch = ARCHITECTURE};
	struct machine machine = {0};
	struct sock_fprog copy;
	uint32_t action;

	if (!sandbox_read(&copy, program, sizeof(copy)))
		return false;
	memcpy(machine.data, &data, sizeof(data));
	action = sandbox_run(&machine, &copy) & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}
