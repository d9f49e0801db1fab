/* SPDX-License-Identifier: MIT */
/*
 * Computes the value of a field at a hit, from registers, from memory that may be unmapped, and
 * from constants of the location.
 *
 * As in hit.c: runs in any thread and in signal handlers, with general registers only, and calls no
 * function of libc.
 */
#include "tracers/agent/probes/probes.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- registers ---- */

#define INSTRUCTION 16 /* rip */
#define IN_HIT(member) (1 + (uint8_t)offsetof(struct patch_hit, member))

int probe_fetch_offset(unsigned int reg, bool leaves)
{
	/* In the order of DWARF's register numbers. */
	static const uint8_t offsets[] = {IN_HIT(registers.rax), IN_HIT(registers.rdx),
			IN_HIT(registers.rcx), IN_HIT(registers.rbx), IN_HIT(registers.rsi),
			IN_HIT(registers.rdi), IN_HIT(registers.rbp), IN_HIT(stack),
			IN_HIT(registers.r8), IN_HIT(registers.r9), IN_HIT(registers.r10),
			IN_HIT(registers.r11), IN_HIT(registers.r12), IN_HIT(registers.r13),
			IN_HIT(registers.r14), IN_HIT(registers.r15), IN_HIT(address)};

	/* After a return, rip is the address that the function returns to. */
	if (leaves && reg == INSTRUCTION)
		return -1;
	return reg < sizeof(offsets) ? offsets[reg] - 1 : -1;
}

static uint64_t probes_fetch_register_value(
		const struct probes_event_hit *event_hit, unsigned int reg)
{
	const struct patch_hit *hit = event_hit->hit;
	int offset = probe_fetch_offset(reg, event_hit->layout->leaves);

	if (offset < 0 && reg == INSTRUCTION)
		return patch_return_address(hit->returns_to);
	if (offset >= 0)
		return *(const uint64_t *)(const void *)((const char *)hit + offset);
	/* lahf saved the low flags in the second byte, seto saved OF (bit 11) in the first. */
	return (hit->registers.flags >> 8 & 0xff) | (hit->registers.flags & 1) << 11;
}

/*
 * Vector registers still have their values at the hit, because the code in between uses general
 * registers only. The compiler does not know that this instruction reads them.
 */
static __attribute__((noinline)) uint64_t probes_fetch_vector_value(unsigned int number, bool upper)
{
	_Alignas(16) uint64_t value[2] = {0, 0};

#define STORE(n) \
	case n: __asm__ volatile("movups %%xmm" #n ", %0" : "=m"(value)); break
	switch (number) {
		STORE(0);
		STORE(1);
		STORE(2);
		STORE(3);
		STORE(4);
		STORE(5);
		STORE(6);
		STORE(7);
		STORE(8);
		STORE(9);
		STORE(10);
		STORE(11);
		STORE(12);
		STORE(13);
		STORE(14);
		STORE(15);
	}
#undef STORE
	return value[upper];
}

/* ---- fetching ---- */

/* The first word of the control block is its own address. */
static const uint64_t *probes_fetch_thread_pointer(void)
{
	const uint64_t *pointer;

	__asm__ volatile("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

static uint64_t probes_fetch_extend(uint64_t value, unsigned int bits, bool is_signed)
{
	unsigned int remainder = 64 - bits;

	return is_signed ? (uint64_t)((int64_t)(value << remainder) >> remainder)
			 : value << remainder >> remainder;
}

static uint64_t probes_fetch_load_memory(
		struct probes_event_hit *event_hit, uint64_t from, unsigned int size)
{
	uint64_t value = 0;

	if (!probe_read_as_program(event_hit, &value, from, size)) {
		event_hit->unreadable |= UINT64_C(1) << event_hit->field;
		return 0;
	}
	return value;
}

/*
 * Rounds to the nearest number; if two are equally near, to the even one. `drop`: number of bits to
 * remove, at most 63.
 */
static uint64_t probes_fetch_round_off(uint64_t value, unsigned int drop)
{
	uint64_t remainder = value & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);

	value >>= drop;
	return value + (remainder > half || (remainder == half && (value & 1)));
}

/*
 * Converts a number of the x87, with 64 bits of fraction and 15 of exponent, to the bits of a
 * double.
 */
static uint64_t probes_fetch_to_double(uint64_t bits, uint64_t head)
{
	uint64_t sign = (head >> 15 & 1) << 63, infinite = UINT64_C(0x7ff) << 52;
	int64_t exponent = (int64_t)(head & 0x7fff) - 16383 + 1023;

	if ((head & 0x7fff) == 0x7fff)
		return sign | infinite | (bits << 1 ? UINT64_C(1) << 51 : 0);
	if (exponent >= 0x7ff)
		return sign | infinite;
	if (!bits || exponent < -52)
		return sign;
	/*
	 * The value is below the smallest number: more than half of it rounds up. probes_fetch_round_off()
	 * cannot drop so many bits.
	 */
	if (exponent == -52)
		return sign | (bits > UINT64_C(1) << 63);
	if (exponent <= 0)
		return sign | probes_fetch_round_off(bits, (unsigned int)(12 - exponent));
	/* A carry out of the fraction increments the exponent, which is correct. */
	return sign | (((uint64_t)exponent << 52) + probes_fetch_round_off(bits << 1 >> 1, 11));
}

static uint64_t probes_fetch_load_extended(struct probes_event_hit *event_hit, uint64_t from)
{
	uint64_t bits = probes_fetch_load_memory(event_hit, from, 8);

	return probes_fetch_to_double(bits, probes_fetch_load_memory(event_hit, from + 8, 2));
}

/*
 * Converts 16 bits, of which 5 are the exponent and 10 the fraction, to the bits of a float, which
 * can represent each such number.
 */
static uint64_t probes_fetch_half_to_float(uint64_t half)
{
	uint64_t sign = (half >> 15 & 1) << 31, fraction = half & 0x3ff;
	uint64_t exponent = half >> 10 & 0x1f;

	if (exponent == 0x1f)
		return sign | UINT64_C(0xff) << 23 | fraction << 13;
	if (!exponent && !fraction)
		return sign;
	/* Subnormal: shift until the highest bit becomes the implicit one. */
	for (exponent += !exponent; !(half >> 10 & 0x1f) && !(fraction & 0x400); exponent--)
		fraction <<= 1;
	return sign | (exponent + 127 - 15) << 23 | (fraction & 0x3ff) << 13;
}

/*
 * Returns the address to which the function returns. While side watches the return, the stack
 * contains the address of a gate instead.
 */
static uint64_t probes_fetch_return_address(struct probes_event_hit *event_hit)
{
	const struct patch_hit *hit = event_hit->hit;

	return patch_return_address(
			hit->call ? hit->returns_to
				  : probes_fetch_load_memory(event_hit, (uintptr_t)hit->stack, 8));
}

/* ---- thread-local variables ---- */

static int64_t errno_offset;

void probe_fetch_start(void)
{
	/* The C library is loaded with the program, so the offset is the same in each thread. */
	errno_offset = (int64_t)((uintptr_t)&errno - (uintptr_t)probes_fetch_thread_pointer());
}

/*
 * Gets a thread's block of variables of a module from the C library's vector (DTV). The second word
 * of the control block points to it. It has two words for each module; the first is the address of
 * the block, or all bits are set until the thread uses it. The entry before the vector has the
 * number of modules.
 */
static uint64_t probes_fetch_get_block(struct probes_event_hit *event_hit, uint64_t module)
{
	uint64_t list = probes_fetch_thread_pointer()[1], block = UINT64_MAX;

	if (module && module <= probes_fetch_load_memory(event_hit, list - 16, 8))
		block = probes_fetch_load_memory(event_hit, list + 16 * module, 8);
	if (block != UINT64_MAX && block)
		return block;
	event_hit->unreadable |= UINT64_C(1) << event_hit->field;
	return 0;
}

static uint64_t probes_fetch_start_value(
		struct probes_event_hit *event_hit, const struct probe_fetch_op *op)
{
	const struct patch_hit *hit = event_hit->hit;

	switch (op->code) {
	case PROBE_FETCH_CONSTANT: return (uint64_t)op->value;
	case PROBE_FETCH_VECTOR: return probes_fetch_vector_value(op->reg, op->value == 8);
	case PROBE_FETCH_MODULE: return (uint64_t)op->value + event_hit->details->bias;
	case PROBE_FETCH_SITE: return hit->address;
	case PROBE_FETCH_FUNCTION: return (uintptr_t)event_hit->details->function;
	case PROBE_FETCH_CALL: return hit->call;
	case PROBE_FETCH_DURATION: return event_hit->layout->leaves ? hit->elapsed : 0;
	case PROBE_FETCH_RETURN: return probes_fetch_return_address(event_hit);
	case PROBE_FETCH_UNREADABLE: return event_hit->unreadable;
	case PROBE_FETCH_THREAD:
		return (uint64_t)op->value + (uintptr_t)probes_fetch_thread_pointer();
	case PROBE_FETCH_ERRNO:
		return (uint64_t)errno_offset + (uintptr_t)probes_fetch_thread_pointer();
	default: return 0;
	}
}

static uint64_t probes_fetch_divide(int64_t left, int64_t right)
{
	/* INT64_MIN / -1 overflows and would raise SIGFPE: negate modulo 2^64 instead. */
	if (right == -1)
		return 0 - (uint64_t)left;
	return right ? (uint64_t)(left / right) : 0;
}

static uint64_t probes_fetch_shift_signed(int64_t left, uint64_t by)
{
	return (uint64_t)(left >> (by < 64 ? by : 63));
}

static uint64_t probes_fetch_calculate(unsigned int sum, uint64_t left, uint64_t right)
{
	int64_t signed_left = (int64_t)left, signed_right = (int64_t)right;

	switch (sum) {
	case PROBE_SUM_PLUS: return left + right;
	case PROBE_SUM_MINUS: return left - right;
	case PROBE_SUM_TIMES: return left * right;
	case PROBE_SUM_DIVIDE: return probes_fetch_divide(signed_left, signed_right);
	case PROBE_SUM_MODULO: return right ? left % right : 0;
	case PROBE_SUM_AND: return left & right;
	case PROBE_SUM_OR: return left | right;
	case PROBE_SUM_XOR: return left ^ right;
	case PROBE_SUM_LEFT: return right < 64 ? left << right : 0;
	case PROBE_SUM_RIGHT: return right < 64 ? left >> right : 0;
	case PROBE_SUM_RIGHT_SIGNED: return probes_fetch_shift_signed(signed_left, right);
	case PROBE_SUM_EQUAL: return left == right;
	case PROBE_SUM_NOT_EQUAL: return left != right;
	case PROBE_SUM_LESS: return signed_left < signed_right;
	case PROBE_SUM_LESS_EQUAL: return signed_left <= signed_right;
	case PROBE_SUM_GREATER: return signed_left > signed_right;
	case PROBE_SUM_GREATER_EQUAL: return signed_left >= signed_right;
	default: return 0;
	}
}

/*
 * probe_table_open() has checked that the saved numbers fit, and that none is used before it is
 * saved.
 */
uint64_t probe_fetch_value(struct probes_event_hit *event_hit, const struct probe_fetch *fetch)
{
	uint64_t value = 0, stack[PROBE_TABLE_ASIDE_MAX];
	unsigned int nr_stack = 0;

	event_hit->length = UINT64_MAX;
	event_hit->upper = 0;
	for (uint32_t i = 0; i < fetch->nr_ops; i++) {
		const struct probe_fetch_op *op = &fetch->ops[i];

		switch (op->code) {
		case PROBE_FETCH_REGISTER:
			value = probes_fetch_register_value(event_hit, op->reg);
			break;
		case PROBE_FETCH_ADD: value += (uint64_t)op->value; break;
		case PROBE_FETCH_ADD_REGISTER:
			value += probes_fetch_register_value(event_hit, op->reg) << op->size;
			break;
		case PROBE_FETCH_LOAD:
			value = probes_fetch_load_memory(event_hit, value, op->size);
			break;
		case PROBE_FETCH_SHIFT_RIGHT: value >>= op->size; break;
		case PROBE_FETCH_ZERO_EXTEND:
			value = probes_fetch_extend(value, op->size, false);
			break;
		case PROBE_FETCH_SIGN_EXTEND:
			value = probes_fetch_extend(value, op->size, true);
			break;
		case PROBE_FETCH_PUSH: stack[nr_stack++] = value; break;
		case PROBE_FETCH_CALCULATE:
			if (!nr_stack)
				return 0;
			value = probes_fetch_calculate(op->size, stack[--nr_stack], value);
			break;
		case PROBE_FETCH_LENGTH:
			event_hit->length = value;
			value = 0;
			break;
		case PROBE_FETCH_EXTENDED:
			value = probes_fetch_load_extended(event_hit, value);
			break;
		case PROBE_FETCH_HALF: value = probes_fetch_half_to_float(value); break;
		case PROBE_FETCH_WIDE:
			if (!nr_stack)
				return 0;
			event_hit->upper = value;
			value = stack[--nr_stack];
			break;
		case PROBE_FETCH_BLOCK: value = probes_fetch_get_block(event_hit, value); break;
		default: value = probes_fetch_start_value(event_hit, op); break;
		}
		/* Stop: the pointer could not be read, so there is nothing behind it. */
		if (event_hit->unreadable >> event_hit->field & 1)
			return 0;
	}
	return value;
}
