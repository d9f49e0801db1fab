/* SPDX-License-Identifier: MIT */
/* Decodes instructions of x86-64 with Zydis. */
#include "x86-64.h"

#include <string.h>

#include <Zydis/Zydis.h>

#define PREFIX_ADDRESS_SIZE 0x67

static const ZydisDecoder *x86_decoder(void)
{
	static ZydisDecoder made;
	static bool ready;

	/* Initializing it more than once is harmless: the result is always the same. */
	if (!ready) {
		ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ready = true;
	}
	return &made;
}

static bool x86_has_prefix(const ZydisDecodedInstruction *decoded, uint8_t value)
{
	for (unsigned int i = 0; i < decoded->raw.prefix_count; i++) {
		if (decoded->raw.prefixes[i].value == value)
			return true;
	}
	return false;
}

/* True if its memory operand is relative to the next instruction. */
static bool x86_is_relative_memory(const ZydisDecodedInstruction *decoded)
{
	return (decoded->attributes & ZYDIS_ATTRIB_HAS_MODRM) && decoded->raw.modrm.mod == 0 &&
			decoded->raw.modrm.rm == 5 && decoded->raw.disp.size == 32;
}

/*
 * Notes a displacement that may be an address: in a file with fixed addresses, tables and constants
 * have such addresses.
 */
static void x86_describe_displacement(
		const ZydisDecodedInstruction *decoded, struct x86_instruction *instruction)
{
	const bool modrm = decoded->attributes & ZYDIS_ATTRIB_HAS_MODRM;

	if (decoded->raw.disp.size < 32 || x86_is_relative_memory(decoded))
		return;
	instruction->displacement = decoded->raw.disp.size == 32
			? (uint32_t)decoded->raw.disp.value
			: (uint64_t)decoded->raw.disp.value;
	instruction->absolute = !modrm ||
			(decoded->raw.modrm.mod == 0 && decoded->raw.modrm.rm == 4 &&
					decoded->raw.sib.base == 5 && decoded->raw.sib.index == 4);
}

/* True if its operand uses the stack pointer, which a displaced call has changed already. */
static bool x86_uses_stack_pointer(const ZydisDecodedInstruction *decoded)
{
	if (decoded->raw.modrm.rm != 4)
		return false;
	if (decoded->raw.modrm.mod == 3)
		return !(decoded->attributes & ZYDIS_ATTRIB_HAS_REX) || !decoded->raw.rex.B;
	return decoded->raw.sib.base == 4 &&
			!((decoded->attributes & ZYDIS_ATTRIB_HAS_REX) && decoded->raw.rex.B);
}

/*
 * True for a mov to the stack pointer, in both encodings, unless from the frame pointer: that
 * points into the same stack.
 */
static bool x86_sets_stack(const ZydisDecodedInstruction *decoded)
{
	const bool rex = decoded->attributes & ZYDIS_ATTRIB_HAS_REX;

	if (!(decoded->attributes & ZYDIS_ATTRIB_HAS_MODRM))
		return false;
	if (decoded->opcode == 0x8b)
		return decoded->raw.modrm.reg == 4 && !(rex && decoded->raw.rex.R);
	return decoded->opcode == 0x89 && decoded->raw.modrm.mod == 3 &&
			decoded->raw.modrm.rm == 4 && !(rex && decoded->raw.rex.B) &&
			(decoded->raw.modrm.reg != 5 || (rex && decoded->raw.rex.R));
}

/* True for an xchg with the stack pointer, in all encodings. */
static bool x86_exchanges_stack(const ZydisDecodedInstruction *decoded)
{
	const bool rex = decoded->attributes & ZYDIS_ATTRIB_HAS_REX;

	if (!(decoded->attributes & ZYDIS_ATTRIB_HAS_MODRM))
		return decoded->opcode == 0x94 && !(rex && decoded->raw.rex.B);
	return x86_uses_stack_pointer(decoded) ||
			(decoded->raw.modrm.reg == 4 && !(rex && decoded->raw.rex.R));
}

/*
 * Notes memory at a distance from the stack or frame pointer. The bits of the base register are in
 * another prefix for each encoding (REX, VEX, EVEX), so the decoder interprets them. It does so
 * only where the low bits select one of the two registers.
 */
static void x86_describe_stack(const ZydisDecoderContext *context,
		const ZydisDecodedInstruction *decoded, struct x86_instruction *instruction)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const bool frame = decoded->raw.modrm.rm == 5 && decoded->raw.modrm.mod;
	const bool stack = decoded->raw.modrm.rm == 4 && decoded->raw.sib.base == 4;

	if (!(decoded->attributes & ZYDIS_ATTRIB_HAS_MODRM) || decoded->raw.modrm.mod == 3 ||
			!(frame || stack) ||
			!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(x86_decoder(), context, decoded,
					operands, decoded->operand_count_visible)))
		return;
	for (unsigned int i = 0; i < decoded->operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
				operand->mem.index != ZYDIS_REGISTER_NONE)
			continue;
		switch (ZydisRegisterGetId(operand->mem.base)) {
		case X86_STACK_POINTER: instruction->stack = STACK_POINTER; break;
		case X86_FRAME_POINTER: instruction->stack = STACK_FRAME; break;
		default: continue;
		}
		instruction->stack_distance = operand->mem.disp.value;
	}
}

static void x86_describe_branch(const ZydisDecodedInstruction *decoded, uint64_t address,
		struct x86_instruction *instruction)
{
	struct probe_piece *piece = &instruction->piece;

	piece->target = address + decoded->length + decoded->raw.imm[0].value.u;
	if (decoded->mnemonic == ZYDIS_MNEMONIC_XBEGIN) {
		instruction->refused = "a transaction cannot be moved";
	} else if (decoded->raw.imm[0].size == 16) {
		instruction->refused = "a branch of 16 bits cannot be moved";
	} else if (decoded->meta.category == ZYDIS_CATEGORY_CALL) {
		piece->kind = PROBE_CALL;
		instruction->call = true;
	} else if (decoded->meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
		piece->kind = PROBE_BRANCH;
		instruction->ends = true;
	} else if (decoded->opcode >= 0xe0 && decoded->opcode <= 0xe3 &&
			decoded->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
		piece->kind = PROBE_COUNTER;
	} else if (decoded->meta.category == ZYDIS_CATEGORY_COND_BR) {
		piece->kind = PROBE_BRANCH_IF;
		piece->detail = decoded->opcode & 0xf;
	} else {
		instruction->refused = "an unknown branch instruction cannot be moved";
	}
}

static void x86_describe_indirect(
		const ZydisDecodedInstruction *decoded, struct x86_instruction *instruction)
{
	if (decoded->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) {
		instruction->refused = "a far branch cannot be moved";
	} else if (decoded->meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
		instruction->ends = true;
		instruction->indirect_jump = true;
	} else {
		instruction->call = true;
		instruction->piece.kind = PROBE_CALL_INDIRECT;
		instruction->piece.detail = decoded->raw.modrm.offset;
		if (x86_uses_stack_pointer(decoded))
			instruction->refused = "a call through the stack pointer cannot be moved";
	}
}

static void x86_describe_other(
		const ZydisDecodedInstruction *decoded, struct x86_instruction *instruction)
{
	/*
	 * The decoder counts xabort among the branches; outside of a transaction it does nothing.
	 */
	if (decoded->mnemonic == ZYDIS_MNEMONIC_XABORT)
		return;
	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_UNCOND_BR: x86_describe_indirect(decoded, instruction); break;
	case ZYDIS_CATEGORY_RET:
		instruction->ends = instruction->leaves = true;
		if (decoded->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			instruction->refused = "a far return cannot be moved";
		break;
	case ZYDIS_CATEGORY_SYSCALL: instruction->refused = "a system call cannot be moved"; break;
	case ZYDIS_CATEGORY_SYSRET:
		instruction->refused = "a privileged instruction cannot be moved";
		break;
	case ZYDIS_CATEGORY_INTERRUPT:
		instruction->ends = true;
		instruction->padding = decoded->mnemonic == ZYDIS_MNEMONIC_INT3;
		instruction->refused = instruction->padding ? "a breakpoint cannot be moved"
							    : "an interrupt cannot be moved";
		break;
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP: instruction->padding = true; break;
	default: break;
	}
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT: instruction->ends = true; break;
	case ZYDIS_MNEMONIC_ENDBR64:
		instruction->branch_mark = true;
		instruction->padding = false;
		break;
	case ZYDIS_MNEMONIC_NOP: instruction->padding = true; break;
	case ZYDIS_MNEMONIC_LEA: instruction->lea = true; break;
	case ZYDIS_MNEMONIC_POP: instruction->pop = true; break;
	case ZYDIS_MNEMONIC_MOV: instruction->moves_stack = x86_sets_stack(decoded); break;
	case ZYDIS_MNEMONIC_XCHG: instruction->moves_stack = x86_exchanges_stack(decoded); break;
	default: break;
	}
}

bool x86_decode(const uint8_t *bytes, size_t size, uint64_t address,
		struct x86_instruction *ret_instruction)
{
	ZydisDecoderContext context;
	ZydisDecodedInstruction decoded;

	memset(ret_instruction, 0, sizeof(*ret_instruction));
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
			    x86_decoder(), &context, bytes, size, &decoded)))
		return false;
	ret_instruction->piece.length = decoded.length;
	if (decoded.raw.imm[0].is_relative) {
		x86_describe_branch(&decoded, address, ret_instruction);
		return true;
	}
	x86_describe_other(&decoded, ret_instruction);
	x86_describe_stack(&context, &decoded, ret_instruction);
	x86_describe_displacement(&decoded, ret_instruction);
	if (decoded.raw.imm[0].size >= 32)
		ret_instruction->constant = decoded.raw.imm[0].value.u;
	if (x86_is_relative_memory(&decoded)) {
		if (ret_instruction->piece.kind == PROBE_COPIED)
			ret_instruction->piece.kind = PROBE_RELATIVE;
		ret_instruction->piece.field = decoded.raw.disp.offset;
		ret_instruction->piece.target =
				address + decoded.length + (uint64_t)decoded.raw.disp.value;
		if (x86_has_prefix(&decoded, PREFIX_ADDRESS_SIZE))
			ret_instruction->refused = "an address of 32 bits cannot be moved";
	}
	return true;
}

unsigned int x86_memory_bytes(const uint8_t *bytes, size_t size)
{
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(x86_decoder(), bytes, size, &decoded, operands)))
		return 0;
	for (unsigned int i = 0; i < decoded.operand_count_visible; i++) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
				operands[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
			return (operands[i].size + 7) / 8;
	}
	return 0;
}

/* ---- addresses in registers ---- */

static uint8_t x86_gp_register(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15
			? (uint8_t)(reg - ZYDIS_REGISTER_RAX)
			: X86_OTHER;
}

static bool x86_is_register(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			x86_gp_register(operand->reg.value) != X86_OTHER;
}

static uint8_t x86_base_register(const ZydisDecodedOperand *operand)
{
	return x86_gp_register(operand->mem.base);
}

/* Returns the effect of the second operand on the first one. */
static struct x86_move x86_move_of(const ZydisDecodedOperand *to, const ZydisDecodedOperand *from)
{
	struct x86_move move = {.kind = X86_MOVE_NONE};

	if (to->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			(to->reg.value == ZYDIS_REGISTER_ESP ||
					to->reg.value == ZYDIS_REGISTER_SP)) {
		move = (struct x86_move){X86_MOVE_COPY, X86_STACK_POINTER, X86_OTHER};
	} else if (x86_is_register(to)) {
		move.to = x86_gp_register(to->reg.value);
		move.kind = X86_MOVE_COPY;
		move.from = X86_OTHER;
		if (x86_is_register(from))
			move.from = x86_gp_register(from->reg.value);
		else if (from->type == ZYDIS_OPERAND_TYPE_MEMORY)
			move.from = x86_base_register(from);
		if (from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
				from->mem.type != ZYDIS_MEMOP_TYPE_AGEN)
			move.kind = X86_MOVE_LOAD;
	} else if (to->type == ZYDIS_OPERAND_TYPE_MEMORY && x86_is_register(from)) {
		move = (struct x86_move){X86_MOVE_STORE, x86_base_register(to),
				x86_gp_register(from->reg.value)};
		if (move.to == X86_OTHER)
			move.kind = X86_MOVE_NONE;
	}
	return move;
}

unsigned int x86_moves(const uint8_t *bytes, size_t size, struct x86_move ret_moves[2])
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;

	memset(ret_moves, 0, 2 * sizeof(*ret_moves));
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(x86_decoder(), bytes, size, &decoded, operands)))
		return 0;
	switch (decoded.mnemonic) {
	/* Changes by a distance, or uses of the frame pointer, which is checked where it is set. */
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_LEAVE:
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_RET: return decoded.length;
	case ZYDIS_MNEMONIC_PUSH:
		if (x86_is_register(&operands[0]))
			ret_moves[0] = (struct x86_move){X86_MOVE_STORE, X86_STACK_POINTER,
					x86_gp_register(operands[0].reg.value)};
		return decoded.length;
	case ZYDIS_MNEMONIC_POP:
		/* Other registers get back the values of the caller. */
		if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				operands[0].reg.value == ZYDIS_REGISTER_RSP)
			ret_moves[0] = (struct x86_move){
					X86_MOVE_LOAD, X86_STACK_POINTER, X86_STACK_POINTER};
		return decoded.length;
	case ZYDIS_MNEMONIC_XCHG: ret_moves[1] = x86_move_of(&operands[1], &operands[0]); break;
	default: break;
	}
	/* Other results in the same register are no stack addresses. */
	if (decoded.operand_count_visible &&
			(operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
		static const ZydisDecodedOperand other = {.type = ZYDIS_OPERAND_TYPE_UNUSED};
		bool moving = decoded.operand_count_visible > 1 &&
				(decoded.mnemonic == ZYDIS_MNEMONIC_MOV ||
						decoded.mnemonic == ZYDIS_MNEMONIC_LEA ||
						decoded.mnemonic == ZYDIS_MNEMONIC_XCHG ||
						decoded.meta.category == ZYDIS_CATEGORY_CMOV);

		ret_moves[0] = x86_move_of(&operands[0], moving ? &operands[1] : &other);
	}
	/* After an exchange, the value of the other register is unknown. */
	for (unsigned int i = 0; i < 2; i++) {
		if (decoded.mnemonic == ZYDIS_MNEMONIC_XCHG && ret_moves[i].to == X86_STACK_POINTER)
			ret_moves[i].from = X86_OTHER;
	}
	return decoded.length;
}
