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
	uint16_t own, caller;
	bool seen;
};

struct following {
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

static bool is_general(ZydisRegister reg)
{
	return ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR64;
}

static int32_t bounded(int64_t distance)
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
	return is_general(reg) ? state->others[ZydisRegisterGetId(reg)] : STACK_UNKNOWN;
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
	return from == STACK_UNKNOWN ? from : bounded(operand->mem.disp.value - from);
}

static void note_memory(struct following *following, const ZydisDecodedOperand *operand,
		const struct return_slot_state *state)
{
	int32_t distance = stack_get_offset(operand, state);
	int32_t size = operand->actions ? operand->size / 8 : STACK_WORD;

	if (distance != STACK_UNKNOWN && distance + size > 0 && distance < STACK_WORD) {
		if (operand->actions)
			following->use.return_address = true;
		else
			following->use.location = true;
	}
	if (distance >= STACK_WORD && distance < 2 * STACK_WORD)
		following->use.next_word = true;
	/* If the stack pointer is unknown, any stack memory may be the return address. */
	if (operand->mem.base == ZYDIS_REGISTER_RSP && state->stack == STACK_UNKNOWN)
		following->use.unknown = true;
	/* A frame pointer points to the caller's frame pointer, and the return address follows. */
	if (state->caller && operand->mem.base == state->caller &&
			operand->mem.disp.value == STACK_WORD)
		following->use.callers_frame = true;
}

/* `to` is the first operand, `from` the second one. */
static void stack_note_copy(struct following *following, const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct return_slot_state *state)
{
	if (decoded->mnemonic != ZYDIS_MNEMONIC_MOV || decoded->operand_count_visible != 2)
		return;
	if (stack_is_register(&operands[1], ZYDIS_REGISTER_RSP) &&
			!stack_is_register(&operands[0], ZYDIS_REGISTER_RBP) && !state->stack)
		following->use.location = true;
	if (stack_is_register(&operands[1], ZYDIS_REGISTER_RBP) && state->frame != STACK_UNKNOWN &&
			!stack_is_register(&operands[0], ZYDIS_REGISTER_RSP))
		following->use.gives_frame = true;
}

static void note_operands(struct following *following, const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct return_slot_state *state)
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
			note_memory(following, &operands[i], state);
	}
	stack_note_copy(following, decoded, operands, state);
	if (decoded->mnemonic == ZYDIS_MNEMONIC_POP && !state->stack)
		following->use.return_address = true;
}

static bool has_constant(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static bool writes(const ZydisDecodedOperand *operand, ZydisRegister wanted)
{
	return stack_is_register(operand, wanted) &&
			(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
}

static bool is_move_to_register(
		const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands)
{
	return decoded->mnemonic == ZYDIS_MNEMONIC_MOV && decoded->operand_count_visible == 2 &&
			operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

/* Returns the value that an instruction writes to its first operand, a register. */
static int32_t written_value(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct return_slot_state *state)
{
	int64_t sign = decoded->mnemonic == ZYDIS_MNEMONIC_SUB ? 1 : -1;
	int32_t from = stack_operand_value(operands[0].reg.value, state), distance;

	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
		if (!has_constant(&operands[1]) || from == STACK_UNKNOWN)
			return STACK_UNKNOWN;
		return bounded(from + sign * (int32_t)operands[1].imm.value.s);
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

static void forget_pointers(struct return_slot_state *state)
{
	for (unsigned int i = 0; i < REGISTERS; i++)
		state->others[i] = STACK_UNKNOWN;
}

/*
 * Updates the other registers that point to the stack. After a call none does, not even those that
 * the callee preserves: few functions use such a register across a call.
 */
static void follow_pointers(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, struct return_slot_state *state)
{
	const struct return_slot_state before = *state;

	if (decoded->meta.category == ZYDIS_CATEGORY_CALL)
		forget_pointers(state);
	for (unsigned int i = 0; i < decoded->operand_count; i++) {
		ZydisRegister reg = ZYDIS_REGISTER_NONE;

		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			reg = ZydisRegisterGetLargestEnclosing(
					ZYDIS_MACHINE_MODE_LONG_64, operands[i].reg.value);
		if (is_general(reg))
			state->others[ZydisRegisterGetId(reg)] = STACK_UNKNOWN;
	}
	if (decoded->operand_count_visible == 2 &&
			operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			is_general(operands[0].reg.value) &&
			writes(&operands[0], operands[0].reg.value))
		state->others[ZydisRegisterGetId(operands[0].reg.value)] =
				written_value(decoded, operands, &before);
}

/* True if it loads the word that the frame pointer points to. */
static bool loads_caller(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct return_slot_state *state)
{
	if (!is_move_to_register(decoded, operands) ||
			operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	if (state->own && operands[1].mem.base == state->own)
		return !operands[1].mem.disp.value && operands[1].mem.index == ZYDIS_REGISTER_NONE;
	return state->frame != STACK_UNKNOWN &&
			stack_get_offset(&operands[1], state) == -state->frame;
}

/* Updates the registers that hold frame pointers. */
static void follow_frames(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, struct return_slot_state *state)
{
	const struct return_slot_state before = *state;

	if (decoded->operand_count_visible && before.own && writes(&operands[0], before.own))
		state->own = 0;
	if (decoded->operand_count_visible && before.caller && writes(&operands[0], before.caller))
		state->caller = 0;
	if (loads_caller(decoded, operands, &before))
		state->caller = (uint16_t)operands[0].reg.value;
	else if (is_move_to_register(decoded, operands) && before.frame != STACK_UNKNOWN &&
			stack_is_register(&operands[1], ZYDIS_REGISTER_RBP) &&
			operands[0].reg.value != ZYDIS_REGISTER_RSP)
		state->own = (uint16_t)operands[0].reg.value;
}

static struct return_slot_state stack_state_after(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, struct return_slot_state state)
{
	const struct return_slot_state before = state;
	bool known = before.stack != STACK_UNKNOWN, first = decoded->operand_count_visible > 0;

	follow_pointers(decoded, operands, &state);
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		if (known)
			state.stack = bounded((int64_t)state.stack + STACK_WORD);
		return state;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		if (known)
			state.stack = bounded((int64_t)state.stack - STACK_WORD);
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
	follow_frames(decoded, operands, &state);
	/* An exchange writes both operands. */
	for (unsigned int i = 1; i < decoded->operand_count_visible; i++) {
		if (writes(&operands[i], ZYDIS_REGISTER_RSP))
			state.stack = STACK_UNKNOWN;
		if (writes(&operands[i], ZYDIS_REGISTER_RBP))
			state.frame = STACK_UNKNOWN;
	}
	if (first && writes(&operands[0], ZYDIS_REGISTER_RSP))
		state.stack = written_value(decoded, operands, &before);
	if (first && writes(&operands[0], ZYDIS_REGISTER_RBP))
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
	if (state->own != other->own)
		state->own = 0;
	if (state->caller != other->caller)
		state->caller = 0;
	for (unsigned int i = 0; i < REGISTERS; i++) {
		if (state->others[i] != other->others[i])
			state->others[i] = STACK_UNKNOWN;
		changed |= state->others[i] != before.others[i];
	}
	return changed || before.stack != state->stack || before.frame != state->frame ||
			before.own != state->own || before.caller != state->caller;
}

static void stack_add_target(struct following *following, uint64_t address,
		const struct return_slot_state *state)
{
	uint64_t at = address - following->function->address;

	/* The state of an instruction changes at most CHANGES_MAX times. */
	if (at < following->function->size && stack_merge_states(&following->states[at], state))
		following->todo[following->nr_todo++] = (uint32_t)at;
}

/* True if an argument register points to the return address. */
static bool passes_location(const struct return_slot_state *state)
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
static void note_shallow(struct following *following, uint64_t target, bool tail)
{
	struct x86_stack_use *use = &following->use;

	if (use->nr_shallow < X86_STACK_CALLS)
		use->shallow[use->nr_shallow++] = (struct x86_shallow_call){target, tail};
}

static bool stack_is_inside(const struct following *following, uint64_t address)
{
	return address - following->function->address < following->function->size;
}

/* Returns whether control may continue after the call. */
static bool follow_call(struct following *following, uint64_t target, uint64_t next_address,
		const struct return_slot_state *next)
{
	struct return_slot_state state = *next;

	if (!state.stack)
		note_shallow(following, target, false);
	/*
	 * The target is a part of the function, which may read or change the return address of the
	 * function. It returns, or the call only pushes its own address.
	 */
	if (target == following->function->address || !stack_is_inside(following, target))
		return true;
	if (state.stack != STACK_UNKNOWN)
		state.stack = bounded((int64_t)state.stack + STACK_WORD);
	stack_add_target(following, target, &state);
	return target != next_address;
}

/* Follows one instruction from a state. Returns false if it cannot be decoded. */
static bool stack_step(
		struct following *following, uint32_t at, const struct return_slot_state *state)
{
	const struct code_function *function = following->function;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	struct x86_instruction instruction;
	struct return_slot_state next;
	bool goes_on;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&following->decoder, following->bytes + at,
			    function->size - at, &decoded, operands)) ||
			!x86_decode(following->bytes + at, function->size - at,
					function->address + at, &instruction))
		return false;
	note_operands(following, &decoded, operands, state);
	if (instruction.call && passes_location(state))
		following->use.return_address = true;
	next = stack_state_after(&decoded, operands, *state);
	goes_on = !instruction.ends;
	switch (instruction.piece.kind) {
	case PROBE_CALL:
		goes_on = follow_call(following, instruction.piece.target,
				function->address + at + decoded.length, &next);
		break;
	case PROBE_BRANCH:
	case PROBE_BRANCH_IF:
	case PROBE_COUNTER:
		if (!stack_is_inside(following, instruction.piece.target) && !next.stack)
			note_shallow(following, instruction.piece.target, true);
		stack_add_target(following, instruction.piece.target, &next);
		break;
	default: break;
	}
	if (goes_on)
		stack_add_target(following, function->address + at + decoded.length, &next);
	return true;
}

static bool stack_walk(struct following *following)
{
	while (following->nr_todo) {
		uint32_t at = following->todo[--following->nr_todo];

		if (!stack_step(following, at, &following->states[at]))
			return false;
	}
	return true;
}

/*
 * Follows code that no branch leads to, with the frame pointer if the function has set one before.
 */
static bool follow_others(struct following *following, int32_t frame)
{
	const uint64_t size = following->function->size;
	struct return_slot_state state = {.stack = STACK_UNKNOWN, .frame = frame, .seen = true};

	forget_pointers(&state);
	for (uint32_t at = 0; at < size;) {
		struct x86_instruction instruction;

		if (!x86_decode(following->bytes + at, size - at, following->function->address + at,
				    &instruction))
			return false;
		if (!following->states[at].seen && !instruction.padding) {
			stack_add_target(following, following->function->address + at, &state);
			if (!stack_walk(following))
				return false;
		}
		at += instruction.piece.length;
	}
	return true;
}

static int32_t usual_frame(const struct following *following)
{
	for (uint64_t i = 0; i < following->function->size; i++) {
		if (following->states[i].seen && following->states[i].frame != STACK_UNKNOWN)
			return following->states[i].frame;
	}
	return STACK_UNKNOWN;
}

static bool follow_function(struct following *following)
{
	struct return_slot_state begin = {.stack = 0, .frame = STACK_UNKNOWN, .seen = true};

	forget_pointers(&begin);
	ZydisDecoderInit(&following->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	stack_add_target(following, following->function->address, &begin);
	return stack_walk(following) && follow_others(following, usual_frame(following));
}

int x86_stack_use(struct code_file *file, const struct code_function *function,
		struct x86_stack_use *use)
{
	struct following following = {.file = file, .function = function};
	size_t size = 0;
	int ret = -EINVAL;

	following.bytes = code_bytes(file, function->address, &size);
	if (following.bytes && function->size && size >= function->size &&
			function->size <= STACK_FUNCTION_MAX) {
		following.states = calloc(function->size, sizeof(*following.states));
		following.todo = calloc(function->size * CHANGES_MAX + 1, sizeof(*following.todo));
		if (!following.states || !following.todo)
			ret = -ENOMEM;
		else if (follow_function(&following))
			ret = 0;
	}
	free(following.states);
	free(following.todo);
	*use = following.use;
	return ret;
}
