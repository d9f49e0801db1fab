/* SPDX-License-Identifier: MIT */
/*
 * Finds what a function does with the return addresses on the stack from its instructions: for
 * files without unwind data, and for facts that unwind data does not contain.
 *
 * Follows all branches from the start, with the distances of the stack pointer and the frame
 * pointer from the return address. For code that only tables reach, it uses the frame pointer's
 * distance alone.
 */
#include "parts.h"
#include "x86-64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#define STACK_FUNCTION_MAX 65536 /* bytes of a function that are followed */
#define STACK_WORD 8
/* An unknown distance: no function has so large a frame. */
#define STACK_UNKNOWN INT32_MIN
#define STACK_DISTANCE_MAX 0x10000000

#define REGISTERS 16
#define CHANGES_MAX (5 + REGISTERS) /* the first visit, and each value becoming unknown */

/* The state before an instruction: how far below the return address the registers point. */
struct return_slot_state {
	int32_t stack, frame;
	int32_t others[REGISTERS]; /* by number; the entries of rsp and rbp are unused */
	/*
	 * Registers (as Zydis numbers them) that hold the frame pointer, and the caller's; 0: none.
	 */
	uint16_t own_frame, caller_frame;
	bool seen;
};

struct stack_analysis {
	struct code_file *file;
	const struct code_function *function;
	const uint8_t *bytes;
	struct return_slot_state *states; /* one for each byte */
	uint32_t *todo;
	size_t nr_todo;
	ZydisDecoder decoder;
	struct x86_stack_use use;
};

static bool stack_is_register(const ZydisDecodedOperand *operand, ZydisRegister wanted)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == wanted;
}

static bool stack_is_general(ZydisRegister reg)
{
	return ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR64;
}

static int32_t stack_bound(int64_t distance)
{
	return distance > -STACK_DISTANCE_MAX && distance < STACK_DISTANCE_MAX ? (int32_t)distance
									       : STACK_UNKNOWN;
}

/* Returns how far below the return address a register points. */
static int32_t stack_operand_value(ZydisRegister reg, const struct return_slot_state *state)
{
	if (reg == ZYDIS_REGISTER_RSP)
		return state->stack;
	if (reg == ZYDIS_REGISTER_RBP)
		return state->frame;
	return stack_is_general(reg) ? state->others[ZydisRegisterGetId(reg)] : STACK_UNKNOWN;
}

/*
 * Returns the distance of a memory operand from the return address; STACK_UNKNOWN if it is not on
 * the stack, or the distance is unknown.
 */
static int32_t stack_get_offset(
		const ZydisDecodedOperand *operand, const struct return_slot_state *state)
{
	int32_t from = stack_operand_value(operand->mem.base, state);

	if (operand->mem.index != ZYDIS_REGISTER_NONE)
		return STACK_UNKNOWN;
	return from == STACK_UNKNOWN ? from : stack_bound(operand->mem.disp.value - from);
}

static void stack_note_memory(struct stack_analysis *analysis, const ZydisDecodedOperand *operand,
		const struct return_slot_state *state)
{
	int32_t distance = stack_get_offset(operand, state);
	int32_t size = operand->actions ? operand->size / 8 : STACK_WORD;

	if (distance != STACK_UNKNOWN && distance + size > 0 && distance < STACK_WORD) {
		if (operand->actions)
			analysis->use.return_address = true;
		else
			analysis->use.location = true;
	}
	if (distance >= STACK_WORD && distance < 2 * STACK_WORD)
		analysis->use.next_word = true;
	/* If the stack pointer is unknown, any stack memory may be the return address. */
	if (operand->mem.base == ZYDIS_REGISTER_RSP && state->stack == STACK_UNKNOWN)
		analysis->use.unknown = true;
	/* A frame pointer points to the caller's frame pointer, and the return address follows. */
	if (state->caller_frame && operand->mem.base == state->caller_frame &&
			operand->mem.disp.value == STACK_WORD)
		analysis->use.callers_frame = true;
}

/* `to` is the first operand, `from` the second one. */
static void stack_note_copy(struct stack_analysis *analysis, const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct return_slot_state *state)
{
	if (decoded->mnemonic != ZYDIS_MNEMONIC_MOV || decoded->operand_count_visible != 2)
		return;
	if (stack_is_register(&operands[1], ZYDIS_REGISTER_RSP) &&
			!stack_is_register(&operands[0], ZYDIS_REGISTER_RBP) && !state->stack)
		analysis->use.location = true;
	if (stack_is_register(&operands[1], ZYDIS_REGISTER_RBP) && state->frame != STACK_UNKNOWN &&
			!stack_is_register(&operands[0], ZYDIS_REGISTER_RSP))
		analysis->use.gives_frame = true;
}

static void stack_note_operands(struct stack_analysis *analysis,
		const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
		const struct return_slot_state *state)
{
	/* An address computation can move the stack pointer. */
	bool moves = decoded->mnemonic == ZYDIS_MNEMONIC_LEA &&
			stack_is_register(&operands[0], ZYDIS_REGISTER_RSP);
	/*
	 * Compilers copy the return address to the new frame of a function that aligns its stack.
	 * Only debuggers read the copy.
	 */
	bool aligns = decoded->mnemonic == ZYDIS_MNEMONIC_PUSH && state->stack == STACK_UNKNOWN &&
			operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			operands[0].mem.base != ZYDIS_REGISTER_RBP;

	for (unsigned int i = 0; i < decoded->operand_count_visible && !moves && !aligns; i++) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			stack_note_memory(analysis, &operands[i], state);
	}
	stack_note_copy(analysis, decoded, operands, state);
	if (decoded->mnemonic == ZYDIS_MNEMONIC_POP && !state->stack)
		analysis->use.return_address = true;
}

static bool stack_is_constant(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static bool stack_writes(const ZydisDecodedOperand *operand, ZydisRegister wanted)
{
	return stack_is_register(operand, wanted) &&
			(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
}

static bool stack_is_move_to_register(
		const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands)
{
	return decoded->mnemonic == ZYDIS_MNEMONIC_MOV && decoded->operand_count_visible == 2 &&
			operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

/* Returns the value that an instruction writes to its first operand, a register. */
static int32_t stack_written_value(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct return_slot_state *state)
{
	int64_t sign = decoded->mnemonic == ZYDIS_MNEMONIC_SUB ? 1 : -1;
	int32_t from = stack_operand_value(operands[0].reg.value, state), distance;

	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
		if (!stack_is_constant(&operands[1]) || from == STACK_UNKNOWN)
			return STACK_UNKNOWN;
		return stack_bound(from + sign * (int32_t)operands[1].imm.value.s);
	case ZYDIS_MNEMONIC_LEA:
		distance = stack_get_offset(&operands[1], state);
		return distance == STACK_UNKNOWN ? distance : -distance;
	case ZYDIS_MNEMONIC_MOV:
		return operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER
				? stack_operand_value(operands[1].reg.value, state)
				: STACK_UNKNOWN;
	default: return STACK_UNKNOWN;
	}
}

static void stack_forget_pointers(struct return_slot_state *state)
{
	for (unsigned int i = 0; i < REGISTERS; i++)
		state->others[i] = STACK_UNKNOWN;
}

/*
 * Updates the other registers that point to the stack. After a call none does, not even those that
 * the callee preserves: few functions use such a register across a call.
 */
static void stack_follow_pointers(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, struct return_slot_state *state)
{
	const struct return_slot_state before = *state;

	if (decoded->meta.category == ZYDIS_CATEGORY_CALL)
		stack_forget_pointers(state);
	for (unsigned int i = 0; i < decoded->operand_count; i++) {
		ZydisRegister reg = ZYDIS_REGISTER_NONE;

		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			reg = ZydisRegisterGetLargestEnclosing(
					ZYDIS_MACHINE_MODE_LONG_64, operands[i].reg.value);
		if (stack_is_general(reg))
			state->others[ZydisRegisterGetId(reg)] = STACK_UNKNOWN;
	}
	if (decoded->operand_count_visible == 2 &&
			operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			stack_is_general(operands[0].reg.value) &&
			stack_writes(&operands[0], operands[0].reg.value))
		state->others[ZydisRegisterGetId(operands[0].reg.value)] =
				stack_written_value(decoded, operands, &before);
}

/* True if it loads the word that the frame pointer points to. */
static bool stack_loads_caller(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct return_slot_state *state)
{
	if (!stack_is_move_to_register(decoded, operands) ||
			operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	if (state->own_frame && operands[1].mem.base == state->own_frame)
		return !operands[1].mem.disp.value && operands[1].mem.index == ZYDIS_REGISTER_NONE;
	return state->frame != STACK_UNKNOWN &&
			stack_get_offset(&operands[1], state) == -state->frame;
}

/* Updates the registers that hold frame pointers. */
static void stack_follow_frames(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, struct return_slot_state *state)
{
	const struct return_slot_state before = *state;

	if (decoded->operand_count_visible && before.own_frame &&
			stack_writes(&operands[0], before.own_frame))
		state->own_frame = 0;
	if (decoded->operand_count_visible && before.caller_frame &&
			stack_writes(&operands[0], before.caller_frame))
		state->caller_frame = 0;
	if (stack_loads_caller(decoded, operands, &before))
		state->caller_frame = (uint16_t)operands[0].reg.value;
	else if (stack_is_move_to_register(decoded, operands) && before.frame != STACK_UNKNOWN &&
			stack_is_register(&operands[1], ZYDIS_REGISTER_RBP) &&
			operands[0].reg.value != ZYDIS_REGISTER_RSP)
		state->own_frame = (uint16_t)operands[0].reg.value;
}

static struct return_slot_state stack_state_after(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, struct return_slot_state state)
{
	const struct return_slot_state before = state;
	bool known = before.stack != STACK_UNKNOWN, first = decoded->operand_count_visible > 0;

	stack_follow_pointers(decoded, operands, &state);
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		if (known)
			state.stack = stack_bound((int64_t)state.stack + STACK_WORD);
		return state;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		if (known)
			state.stack = stack_bound((int64_t)state.stack - STACK_WORD);
		if (first && stack_is_register(&operands[0], ZYDIS_REGISTER_RBP))
			state.frame = STACK_UNKNOWN;
		return state;
	case ZYDIS_MNEMONIC_LEAVE:
		state.stack = before.frame == STACK_UNKNOWN ? STACK_UNKNOWN
							    : before.frame - STACK_WORD;
		state.frame = STACK_UNKNOWN;
		return state;
	default: break;
	}
	stack_follow_frames(decoded, operands, &state);
	/* An exchange writes both operands. */
	for (unsigned int i = 1; i < decoded->operand_count_visible; i++) {
		if (stack_writes(&operands[i], ZYDIS_REGISTER_RSP))
			state.stack = STACK_UNKNOWN;
		if (stack_writes(&operands[i], ZYDIS_REGISTER_RBP))
			state.frame = STACK_UNKNOWN;
	}
	if (first && stack_writes(&operands[0], ZYDIS_REGISTER_RSP))
		state.stack = stack_written_value(decoded, operands, &before);
	if (first && stack_writes(&operands[0], ZYDIS_REGISTER_RBP))
		state.frame = decoded->mnemonic == ZYDIS_MNEMONIC_MOV &&
						stack_is_register(&operands[1], ZYDIS_REGISTER_RSP)
				? before.stack
				: STACK_UNKNOWN;
	return state;
}

/*
 * Merges two states. Returns true if the result has less information than before, or is the first
 * one.
 */
static bool stack_merge_states(
		struct return_slot_state *state, const struct return_slot_state *other)
{
	const struct return_slot_state before = *state;
	bool changed = false;

	if (!state->seen) {
		*state = *other;
		return true;
	}
	if (state->stack != other->stack)
		state->stack = STACK_UNKNOWN;
	if (state->frame != other->frame)
		state->frame = STACK_UNKNOWN;
	if (state->own_frame != other->own_frame)
		state->own_frame = 0;
	if (state->caller_frame != other->caller_frame)
		state->caller_frame = 0;
	for (unsigned int i = 0; i < REGISTERS; i++) {
		if (state->others[i] != other->others[i])
			state->others[i] = STACK_UNKNOWN;
		changed |= state->others[i] != before.others[i];
	}
	return changed || before.stack != state->stack || before.frame != state->frame ||
			before.own_frame != state->own_frame ||
			before.caller_frame != state->caller_frame;
}

static void stack_add_target(struct stack_analysis *analysis, uint64_t address,
		const struct return_slot_state *state)
{
	uint64_t at = address - analysis->function->address;

	/* The state of an instruction changes at most CHANGES_MAX times. */
	if (at < analysis->function->size && stack_merge_states(&analysis->states[at], state))
		analysis->todo[analysis->nr_todo++] = (uint32_t)at;
}

/* True if an argument register points to the return address. */
static bool stack_passes_location(const struct return_slot_state *state)
{
	static const ZydisRegister arguments[] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI,
			ZYDIS_REGISTER_RDX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,
			ZYDIS_REGISTER_R9};

	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		if (!stack_operand_value(arguments[i], state))
			return true;
	}
	return false;
}

/*
 * Notes a call with nothing on the stack between its return address and the function's; `tail`: a
 * jump, where both have the same return address.
 */
static void stack_note_shallow(struct stack_analysis *analysis, uint64_t target, bool tail)
{
	struct x86_stack_use *use = &analysis->use;

	if (use->nr_shallow < X86_STACK_CALLS)
		use->shallow[use->nr_shallow++] = (struct x86_shallow_call){target, tail};
}

static bool stack_is_inside(const struct stack_analysis *analysis, uint64_t address)
{
	return address - analysis->function->address < analysis->function->size;
}

/* Returns whether control may continue after the call. */
static bool stack_follow_call(struct stack_analysis *analysis, uint64_t target,
		uint64_t next_address, const struct return_slot_state *next)
{
	struct return_slot_state state = *next;

	if (!state.stack)
		stack_note_shallow(analysis, target, false);
	/*
	 * The target is a part of the function, which may read or change the return address of the
	 * function. It returns, or the call only pushes its own address.
	 */
	if (target == analysis->function->address || !stack_is_inside(analysis, target))
		return true;
	if (state.stack != STACK_UNKNOWN)
		state.stack = stack_bound((int64_t)state.stack + STACK_WORD);
	stack_add_target(analysis, target, &state);
	return target != next_address;
}

/* Follows one instruction from a state. Returns false if it cannot be decoded. */
static bool stack_step(
		struct stack_analysis *analysis, uint32_t at, const struct return_slot_state *state)
{
	const struct code_function *function = analysis->function;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	struct x86_instruction instruction;
	struct return_slot_state next;
	bool continues;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&analysis->decoder, analysis->bytes + at,
			    function->size - at, &decoded, operands)) ||
			!x86_decode(analysis->bytes + at, function->size - at,
					function->address + at, &instruction))
		return false;
	stack_note_operands(analysis, &decoded, operands, state);
	if (instruction.call && stack_passes_location(state))
		analysis->use.return_address = true;
	next = stack_state_after(&decoded, operands, *state);
	continues = !instruction.ends;
	switch (instruction.piece.kind) {
	case PROBE_CALL:
		continues = stack_follow_call(analysis, instruction.piece.target,
				function->address + at + decoded.length, &next);
		break;
	case PROBE_BRANCH:
	case PROBE_BRANCH_IF:
	case PROBE_COUNTER:
		if (!stack_is_inside(analysis, instruction.piece.target) && !next.stack)
			stack_note_shallow(analysis, instruction.piece.target, true);
		stack_add_target(analysis, instruction.piece.target, &next);
		break;
	default: break;
	}
	if (continues)
		stack_add_target(analysis, function->address + at + decoded.length, &next);
	return true;
}

static bool stack_walk(struct stack_analysis *analysis)
{
	while (analysis->nr_todo) {
		uint32_t at = analysis->todo[--analysis->nr_todo];

		if (!stack_step(analysis, at, &analysis->states[at]))
			return false;
	}
	return true;
}

/*
 * Follows code that no branch leads to, with the frame pointer if the function has set one before.
 */
static bool stack_follow_unreached(struct stack_analysis *analysis, int32_t frame)
{
	const uint64_t size = analysis->function->size;
	struct return_slot_state state = {.stack = STACK_UNKNOWN, .frame = frame, .seen = true};

	stack_forget_pointers(&state);
	for (uint32_t at = 0; at < size;) {
		struct x86_instruction instruction;

		if (!x86_decode(analysis->bytes + at, size - at, analysis->function->address + at,
				    &instruction))
			return false;
		if (!analysis->states[at].seen && !instruction.padding) {
			stack_add_target(analysis, analysis->function->address + at, &state);
			if (!stack_walk(analysis))
				return false;
		}
		at += instruction.piece.length;
	}
	return true;
}

static int32_t stack_usual_frame(const struct stack_analysis *analysis)
{
	for (uint64_t i = 0; i < analysis->function->size; i++) {
		if (analysis->states[i].seen && analysis->states[i].frame != STACK_UNKNOWN)
			return analysis->states[i].frame;
	}
	return STACK_UNKNOWN;
}

static bool stack_follow_function(struct stack_analysis *analysis)
{
	struct return_slot_state begin = {.stack = 0, .frame = STACK_UNKNOWN, .seen = true};

	stack_forget_pointers(&begin);
	ZydisDecoderInit(&analysis->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	stack_add_target(analysis, analysis->function->address, &begin);
	return stack_walk(analysis) &&
			stack_follow_unreached(analysis, stack_usual_frame(analysis));
}

int x86_stack_use(struct code_file *file, const struct code_function *function,
		struct x86_stack_use *ret_use)
{
	struct stack_analysis analysis = {.file = file, .function = function};
	size_t size = 0;
	int ret = -EINVAL;

	analysis.bytes = code_bytes(file, function->address, &size);
	if (analysis.bytes && function->size && size >= function->size &&
			function->size <= STACK_FUNCTION_MAX) {
		analysis.states = calloc(function->size, sizeof(*analysis.states));
		analysis.todo = calloc(function->size * CHANGES_MAX + 1, sizeof(*analysis.todo));
		if (!analysis.states || !analysis.todo)
			ret = -ENOMEM;
		else if (stack_follow_function(&analysis))
			ret = 0;
	}
	free(analysis.states);
	free(analysis.todo);
	*ret_use = analysis.use;
	return ret;
}
