/* SPDX-License-Identifier: MIT */
/*
 * Detects whether a function reads the register of an argument: on some path from its start, an
 * instruction reads the register before another instruction writes it.
 *
 * Callers pass the argument to such a function. If a compiler knows that the function does not use
 * the argument, it may leave any value in the register (LLVM does, for callers in the same file).
 *
 * The analysis follows branches, jumps to other functions, and calls: if a function passes the
 * argument on, its callee reads it. A call destroys the register, so reads after the call do not
 * count. Jumps through tables and calls into other files are not followed, and count as no read. A
 * variadic function saves all argument registers on its stack, including those that no caller sets;
 * this counts as no read either.
 */
#include "parts.h"
#include "x86-64.h"

#include <errno.h>
#include <stdlib.h>

#include <Zydis/Zydis.h>

#define INSTRUCTIONS_MAX 16384 /* instructions that are followed */
#define PROLOGUE_MAX 48        /* a variadic function tests al within so many instructions */
#define TABLE_SIZE (4 * INSTRUCTIONS_MAX) /* a power of two */

struct argument_step {
	uint64_t address;
	bool saves_all; /* this path is in a variadic function */
};

struct argument_walk {
	struct code_file *file;
	ZydisRegister wanted; /* the largest register that contains the argument */
	ZydisDecoder decoder;
	uint64_t entry; /* of the function, after an endbr64 */
	uint64_t *seen; /* a hash table of addresses; 0: empty */
	struct argument_step *todo;
	size_t nr_seen, nr_todo;
};

static void walk_add(struct argument_walk *walk, uint64_t address, bool saves_all)
{
	size_t at = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (TABLE_SIZE - 1);

	while (walk->seen[at] && walk->seen[at] != address)
		at = (at + 1) & (TABLE_SIZE - 1);
	if (walk->seen[at] || !address || walk->nr_seen == INSTRUCTIONS_MAX ||
			code_is_excluded(walk->file, address))
		return;
	walk->seen[at] = address;
	walk->nr_seen++;
	walk->todo[walk->nr_todo++] = (struct argument_step){address, saves_all};
}

static bool is_wanted_register(const struct argument_walk *walk, ZydisRegister reg)
{
	return reg != ZYDIS_REGISTER_NONE &&
			ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) ==
			walk->wanted;
}

/* True if the result does not depend on the value of the register. */
static bool x86_arguments_is_constant(
		const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands)
{
	unsigned int last = decoded->operand_count_visible;

	if ((decoded->mnemonic == ZYDIS_MNEMONIC_VPTERNLOGD ||
			    decoded->mnemonic == ZYDIS_MNEMONIC_VPTERNLOGQ) &&
			operands[last - 1].imm.value.u == 0xff)
		return true;
	if (last < 2 || operands[last - 1].type != ZYDIS_OPERAND_TYPE_REGISTER ||
			operands[last - 2].type != ZYDIS_OPERAND_TYPE_REGISTER ||
			operands[last - 1].reg.value != operands[last - 2].reg.value)
		return false;
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_SBB:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_PCMPEQB:
	case ZYDIS_MNEMONIC_PCMPEQD:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VPCMPEQB:
	case ZYDIS_MNEMONIC_VPCMPEQD: return true;
	default: return false;
	}
}

/*
 * Conversions, square roots and roundings of a scalar copy the upper part of the result from a
 * register: the first operand, or with VEX the second one. Arguments do not use this part, so
 * compilers choose any register for it.
 */
static bool merges_upper_part(const ZydisDecodedInstruction *decoded)
{
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_ROUNDSS:
	case ZYDIS_MNEMONIC_ROUNDSD:
	case ZYDIS_MNEMONIC_VSQRTSS:
	case ZYDIS_MNEMONIC_VSQRTSD:
	case ZYDIS_MNEMONIC_VRCPSS:
	case ZYDIS_MNEMONIC_VRSQRTSS:
	case ZYDIS_MNEMONIC_VROUNDSS:
	case ZYDIS_MNEMONIC_VROUNDSD:
	case ZYDIS_MNEMONIC_VRNDSCALESS:
	case ZYDIS_MNEMONIC_VRNDSCALESD: return true;
	default: return decoded->meta.category == ZYDIS_CATEGORY_CONVERT;
	}
}

/* Returns the index of the last operand that is not immediate. */
static unsigned int source_operand(
		const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands)
{
	unsigned int last = decoded->operand_count_visible;

	while (last > 1 && operands[last - 1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		last--;
	return last ? last - 1 : 0;
}

/* True if the instruction stores the register in the frame, as variadic functions do. */
static bool is_register_save(const struct argument_walk *walk,
		const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands)
{
	return decoded->operand_count_visible == 2 &&
			operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			operands[0].actions == ZYDIS_OPERAND_ACTION_WRITE &&
			operands[0].mem.index == ZYDIS_REGISTER_NONE &&
			!is_wanted_register(walk, operands[0].mem.base) &&
			operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			is_wanted_register(walk, operands[1].reg.value);
}

static void note_operand_access(const struct argument_walk *walk,
		const ZydisDecodedOperand *operand, bool *reads, bool *writes)
{
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		*reads |= is_wanted_register(walk, operand->mem.base) ||
				is_wanted_register(walk, operand->mem.index);
	} else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			is_wanted_register(walk, operand->reg.value)) {
		*reads |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) ||
				(operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE);
		*writes |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	}
}

/*
 * Returns whether the instruction reads the argument. Sets `*ret_writes` if it replaces the
 * argument, or a part of it, by another value.
 */
static bool instruction_reads(const struct argument_walk *walk,
		const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
		bool *ret_writes)
{
	unsigned int merged = merges_upper_part(decoded) ? source_operand(decoded, operands) : 0;
	bool reads = false;

	*ret_writes = false;
	for (unsigned int i = 0; i < decoded->operand_count; i++) {
		bool ignored = false;

		note_operand_access(walk, &operands[i], i < merged ? &ignored : &reads, ret_writes);
	}
	return reads && !x86_arguments_is_constant(decoded, operands);
}

static bool x86_arguments_decode(const struct argument_walk *walk, uint64_t address,
		struct x86_instruction *instruction, ZydisDecodedInstruction *decoded,
		ZydisDecodedOperand *operands)
{
	size_t size;
	const uint8_t *bytes = code_executable(walk->file, address)
			? code_bytes(walk->file, address, &size)
			: NULL;

	return bytes && x86_decode(bytes, size, address, instruction) &&
			ZYAN_SUCCESS(ZydisDecoderDecodeFull(
					&walk->decoder, bytes, size, decoded, operands));
}

/*
 * Callers of a variadic function pass the number of vector registers in al. The function tests al
 * before it saves these registers.
 */
static bool is_variadic(const struct argument_walk *walk, uint64_t begin)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	struct x86_instruction instruction;
	const struct argument_walk of_al = {.wanted = ZYDIS_REGISTER_RAX};
	bool writes = false;

	for (int i = 0; i < PROLOGUE_MAX; i++) {
		if (!x86_arguments_decode(walk, begin, &instruction, &decoded, operands))
			return false;
		if (decoded.mnemonic == ZYDIS_MNEMONIC_TEST &&
				operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				operands[0].reg.value == ZYDIS_REGISTER_AL)
			return true;
		(void)instruction_reads(&of_al, &decoded, operands, &writes);
		if (writes || instruction.piece.kind > PROBE_RELATIVE || instruction.ends)
			return false;
		begin += decoded.length;
	}
	return false;
}

/*
 * Follows one instruction, before which the register contains the argument. Returns true if the
 * instruction reads the register.
 */
static bool walk_instruction(struct argument_walk *walk, struct argument_step at)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	struct x86_instruction instruction;
	uint64_t target;
	bool writes = false;

	if (!x86_arguments_decode(walk, at.address, &instruction, &decoded, operands))
		return false;
	/* A long nop does not access its operands. */
	if (!instruction.padding && instruction_reads(walk, &decoded, operands, &writes) &&
			!(at.saves_all && is_register_save(walk, &decoded, operands)))
		return true;
	if (writes)
		return false;
	/*
	 * Only calls for profilers (__fentry__) are first in a function, because the stack is not
	 * aligned there. They preserve all arguments.
	 */
	if (instruction.call && at.address == walk->entry) {
		walk_add(walk, at.address + decoded.length, at.saves_all);
		return false;
	}
	if (instruction.branch_mark && at.address == walk->entry)
		walk->entry += decoded.length;
	target = instruction.piece.target;
	switch (instruction.piece.kind) {
	case PROBE_CALL: walk_add(walk, target, is_variadic(walk, target)); break;
	case PROBE_BRANCH: walk_add(walk, target, at.saves_all || is_variadic(walk, target)); break;
	case PROBE_BRANCH_IF:
	case PROBE_COUNTER: walk_add(walk, target, at.saves_all); break;
	default: break;
	}
	if (!instruction.ends && !instruction.call)
		walk_add(walk, at.address + decoded.length, at.saves_all);
	return false;
}

static bool walk_all(struct argument_walk *walk, uint64_t begin)
{
	walk->entry = begin;
	walk_add(walk, begin, false);
	while (walk->nr_todo) {
		if (walk_instruction(walk, walk->todo[--walk->nr_todo]))
			return true;
	}
	return false;
}

static int function_reads(struct code_file *file, uint64_t begin, ZydisRegister wanted)
{
	struct argument_walk walk = {.file = file,
			.wanted = ZydisRegisterGetLargestEnclosing(
					ZYDIS_MACHINE_MODE_LONG_64, wanted),
			.seen = calloc(TABLE_SIZE, sizeof(*walk.seen)),
			.todo = calloc(INSTRUCTIONS_MAX, sizeof(*walk.todo))};
	int found = -ENOMEM;

	ZydisDecoderInit(&walk.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (walk.seen && walk.todo)
		found = walk_all(&walk, begin);
	free(walk.seen);
	free(walk.todo);
	return found;
}

int code_reads_argument(struct code_file *file, uint64_t begin, unsigned int reg, bool vector)
{
	/* In the order of DWARF numbers. */
	static const ZydisRegister general[] = {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RDX,
			ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RSI,
			ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_RSP,
			ZYDIS_REGISTER_R8, ZYDIS_REGISTER_R9};

	if (reg >= (vector ? 8 : sizeof(general) / sizeof(general[0])))
		return 0;
	return function_reads(file, begin,
			vector ? (ZydisRegister)(ZYDIS_REGISTER_XMM0 + reg) : general[reg]);
}
