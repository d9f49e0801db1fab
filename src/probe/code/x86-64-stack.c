/* SPDX-License-Identifier: MIT */
/*
 * What a function does with the return addresses on the stack, according to its instructions: for files without unwind data, and for facts that
 * unwind data does not contain.
 *
 * Follows all branches from the beginning, with the distances of the stack pointer and the frame pointer from the return address. For code that
 * only tables reach, it uses the frame pointer's distance alone.
 */
#include "parts.h"
#include "x86-64.h"

#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#define STACK_FUNCTION_MAX 65536 /* bytes of a function that are followed */
#define STACK_WORD 8
/* A distance that is not known. No function has so large a frame. */
#define STACK_UNKNOWN INT32_MIN

/* Before an instruction: how far below the return address the registers point. */
struct state {
	int32_t stack, frame;
	/* Registers that have the frame pointer and the caller's, as Zydis counts them; 0: none. */
	uint16_t own, caller;
	bool seen;
};

struct following {
	struct code_file *file;
	const struct code_function *function;
	const uint8_t *bytes;
	struct state *states; /* of each byte */
	uint32_t *todo;
	size_t nr_todo;
	ZydisDecoder decoder;
	struct x86_stack_use use;
};

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister wanted)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == wanted;
}

/* The distance of a memory operand from the return address; STACK_UNKNOWN: it is not on the stack, or the distance is unknown. */
static int32_t distance_of(const ZydisDecodedOperand *operand, const struct state *state)
{
	int32_t from = STACK_UNKNOWN;

	if (operand->mem.index != ZYDIS_REGISTER_NONE)
		return STACK_UNKNOWN;
	if (operand->mem.base == ZYDIS_REGISTER_RSP)
		from = state->stack;
	else if (operand->mem.base == ZYDIS_REGISTER_RBP)
		from = state->frame;
	return from == STACK_UNKNOWN ? from : (int32_t)operand->mem.disp.value - from;
}

static void note_memory(struct following *following, const ZydisDecodedOperand *operand,
		const struct state *state)
{
	int32_t distance = distance_of(operand, state);

	if (distance != STACK_UNKNOWN && distance > -STACK_WORD && distance < STACK_WORD)
		following->use.return_address = true;
	/* If the stack pointer is unknown, any stack memory may be the return address. */
	if (operand->mem.base == ZYDIS_REGISTER_RSP && state->stack == STACK_UNKNOWN)
		following->use.unknown = true;
	/* A frame pointer points to the caller's frame pointer, and the return address follows. */
	if (state->caller && operand->mem.base == state->caller &&
			operand->mem.disp.value == STACK_WORD)
		following->use.callers_frame = true;
}

/* `to` is the first operand, `from` the second one. */
static void note_copy(struct following *following, const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct state *state)
{
	if (decoded->mnemonic != ZYDIS_MNEMONIC_MOV || decoded->operand_count_visible != 2)
		return;
	if (is_register(&operands[1], ZYDIS_REGISTER_RSP) &&
			!is_register(&operands[0], ZYDIS_REGISTER_RBP) && !state->stack)
		following->use.return_address = true;
	if (is_register(&operands[1], ZYDIS_REGISTER_RBP) && state->frame != STACK_UNKNOWN &&
			!is_register(&operands[0], ZYDIS_REGISTER_RSP))
		following->use.gives_frame = true;
}

static void note_operands(struct following *following, const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct state *state)
{
	/* An address computation can move the stack pointer. */
	bool moves = decoded->mnemonic == ZYDIS_MNEMONIC_LEA &&
			is_register(&operands[0], ZYDIS_REGISTER_RSP);

	for (unsigned int i = 0; i < decoded->operand_count_visible && !moves; i++) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			note_memory(following, &operands[i], state);
	}
	note_copy(following, decoded, operands, state);
	if (decoded->mnemonic == ZYDIS_MNEMONIC_POP && !state->stack)
		following->use.return_address = true;
}

static bool has_constant(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* rsp is what is written. */
static int32_t written_stack(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct state *state)
{
	int32_t sign = decoded->mnemonic == ZYDIS_MNEMONIC_SUB ? 1 : -1, distance;

	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
		if (!has_constant(&operands[1]) || state->stack == STACK_UNKNOWN)
			return STACK_UNKNOWN;
		return state->stack + sign * (int32_t)operands[1].imm.value.s;
	case ZYDIS_MNEMONIC_LEA:
		distance = distance_of(&operands[1], state);
		return distance == STACK_UNKNOWN ? distance : -distance;
	case ZYDIS_MNEMONIC_MOV:
		return is_register(&operands[1], ZYDIS_REGISTER_RBP) ? state->frame : STACK_UNKNOWN;
	default: return STACK_UNKNOWN;
	}
}

static bool writes(const ZydisDecodedOperand *operand, ZydisRegister wanted)
{
	return is_register(operand, wanted) && (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
}

static bool is_move_to_register(
		const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands)
{
	return decoded->mnemonic == ZYDIS_MNEMONIC_MOV && decoded->operand_count_visible == 2 &&
			operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

/* It loads the word that the frame pointer points to. */
static bool loads_caller(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, const struct state *state)
{
	if (!is_move_to_register(decoded, operands) ||
			operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	if (state->own && operands[1].mem.base == state->own)
		return !operands[1].mem.disp.value && operands[1].mem.index == ZYDIS_REGISTER_NONE;
	return state->frame != STACK_UNKNOWN && distance_of(&operands[1], state) == -state->frame;
}

/* Frame pointers that registers hold. */
static void follow_frames(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, struct state *state)
{
	const struct state before = *state;

	if (decoded->operand_count_visible && before.own && writes(&operands[0], before.own))
		state->own = 0;
	if (decoded->operand_count_visible && before.caller && writes(&operands[0], before.caller))
		state->caller = 0;
	if (loads_caller(decoded, operands, &before))
		state->caller = (uint16_t)operands[0].reg.value;
	else if (is_move_to_register(decoded, operands) && before.frame != STACK_UNKNOWN &&
			is_register(&operands[1], ZYDIS_REGISTER_RBP) &&
			operands[0].reg.value != ZYDIS_REGISTER_RSP)
		state->own = (uint16_t)operands[0].reg.value;
}

static struct state after(const ZydisDecodedInstruction *decoded,
		const ZydisDecodedOperand *operands, struct state state)
{
	const struct state before = state;
	bool known = before.stack != STACK_UNKNOWN, first = decoded->operand_count_visible > 0;

	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		if (known)
			state.stack += STACK_WORD;
		return state;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		if (known)
			state.stack -= STACK_WORD;
		if (first && is_register(&operands[0], ZYDIS_REGISTER_RBP))
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
	if (first && writes(&operands[0], ZYDIS_REGISTER_RSP))
		state.stack = written_stack(decoded, operands, &before);
	if (first && writes(&operands[0], ZYDIS_REGISTER_RBP))
		state.frame = decoded->mnemonic == ZYDIS_MNEMONIC_MOV &&
						is_register(&operands[1], ZYDIS_REGISTER_RSP)
				? before.stack
				: STACK_UNKNOWN;
	return state;
}

/* Merge two states. True: the result has less information than before, or is the first one. */
static bool join(struct state *state, const struct state *other)
{
	const struct state before = *state;

	if (!state->seen) {
		*state = *other;
		state->seen = true;
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
	return before.stack != state->stack || before.frame != state->frame ||
			before.own != state->own || before.caller != state->caller;
}

static void reach(struct following *following, uint64_t address, const struct state *state)
{
	uint64_t at = address - following->function->address;

	/* The state of an instruction changes at most five times. */
	if (at < following->function->size && join(&following->states[at], state))
		following->todo[following->nr_todo++] = (uint32_t)at;
}

static void note_call(struct following *following, uint64_t target)
{
	struct x86_stack_use *use = &following->use;

	if (use->nr_calls < X86_STACK_CALLS)
		use->calls[use->nr_calls++] = target;
	else
		use->more_calls = true;
}

/* One instruction at a state; false: it cannot be read. */
static bool follow(struct following *following, uint32_t at, const struct state *state)
{
	const struct code_function *function = following->function;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	struct x86_instruction instruction;
	struct state next;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&following->decoder, following->bytes + at,
			    function->size - at, &decoded, operands)) ||
			!x86_decode(following->bytes + at, function->size - at,
					function->address + at, &instruction))
		return false;
	note_operands(following, &decoded, operands, state);
	next = after(&decoded, operands, *state);
	switch (instruction.piece.kind) {
	case PROBE_CALL: note_call(following, instruction.piece.target); break;
	case PROBE_BRANCH:
	case PROBE_BRANCH_IF:
	case PROBE_COUNTER:
		if (instruction.piece.target - function->address >= function->size)
			note_call(following, instruction.piece.target);
		reach(following, instruction.piece.target, &next);
		break;
	default: break;
	}
	if (!instruction.ends)
		reach(following, function->address + at + decoded.length, &next);
	return true;
}

static bool follow_all(struct following *following)
{
	while (following->nr_todo) {
		uint32_t at = following->todo[--following->nr_todo];

		if (!follow(following, at, &following->states[at]))
			return false;
	}
	return true;
}

/* Code that no branch leads to: use the frame pointer, if the function has set one before. */
static bool follow_others(struct following *following, int32_t frame)
{
	const uint64_t size = following->function->size;
	const struct state state = {.stack = STACK_UNKNOWN, .frame = frame, .seen = true};

	for (uint32_t at = 0; at < size;) {
		struct x86_instruction instruction;

		if (!x86_decode(following->bytes + at, size - at, following->function->address + at,
				    &instruction))
			return false;
		if (!following->states[at].seen && !instruction.padding) {
			reach(following, following->function->address + at, &state);
			if (!follow_all(following))
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
	const struct state begin = {.stack = 0, .frame = STACK_UNKNOWN, .seen = true};

	ZydisDecoderInit(&following->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	reach(following, following->function->address, &begin);
	return follow_all(following) && follow_others(following, usual_frame(following));
}

bool x86_stack_use(struct code_file *file, const struct code_function *function,
		struct x86_stack_use *use)
{
	struct following following = {.file = file, .function = function};
	size_t size = 0;
	bool done = false;

	following.bytes = code_bytes(file, function->address, &size);
	if (following.bytes && function->size && size >= function->size &&
			function->size <= STACK_FUNCTION_MAX) {
		following.states = calloc(function->size, sizeof(*following.states));
		following.todo = calloc(function->size * 5 + 1, sizeof(*following.todo));
		done = following.states && following.todo && follow_function(&following);
	}
	free(following.states);
	free(following.todo);
	*use = following.use;
	return done;
}
