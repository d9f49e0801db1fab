/* SPDX-License-Identifier: MIT */
/*
 * Finds functions in which the stack pointer may point to data: a loop that walks an array by
 * `pop`, an exchange of stacks. A hit writes below the stack pointer, so inside such a function it
 * would overwrite the program's data. At the start of a function the stack pointer points to a
 * stack, because a call has just pushed the return address there.
 *
 * The stack pointer remains in its stack if it is changed by a distance, or gets back an address
 * that came from it: through registers that were copied from it, or through stack memory where such
 * a register was stored. All instructions of the function are read as one set, in no order, so a
 * register that holds such an address anywhere counts as one that holds it everywhere. A function
 * that gives the stack pointer any other value is one of these.
 */
#include "parts.h"
#include "x86-64.h"

#include <stdlib.h>

struct moves {
	struct x86_move *all;
	size_t count, capacity;
};

static bool x86_exchange_record_move(struct moves *moves, const struct x86_move *move)
{
	struct x86_move *all = code_grow(moves->all, moves->count, &moves->capacity, sizeof(*all));

	if (!all)
		return false;
	moves->all = all;
	all[moves->count++] = *move;
	return true;
}

/*
 * Collects the moves of a function. Returns 1 if the stack pointer gets a value other than an
 * offset from itself, else 0; negative if it is out of memory.
 */
static int read_moves(const struct code_file *file, const struct code_function *function,
		struct moves *moves)
{
	uint64_t at = function->address, end = at + function->size;
	bool is_claimed = false;

	while (at < end) {
		struct x86_move move[2];
		size_t size;
		const uint8_t *bytes = code_bytes(file, at, &size);
		unsigned int length = bytes ? x86_moves(bytes, size, move) : 0;

		if (!length)
			break;
		for (unsigned int i = 0; i < 2; i++) {
			if (move[i].kind == X86_MOVE_NONE)
				continue;
			if (!x86_exchange_record_move(moves, &move[i]))
				return -1;
			is_claimed |= move[i].kind != X86_MOVE_STORE &&
					move[i].to == X86_STACK_POINTER;
		}
		at += length;
	}
	return is_claimed;
}

/*
 * True if one of the registers in `stack` is stored on the stack. The caller's frame pointer does
 * not count: every function with a frame stores it.
 */
static bool is_stored(const struct moves *moves, unsigned int stack)
{
	for (size_t i = 0; i < moves->count; i++) {
		const struct x86_move *move = &moves->all[i];

		if (move->kind == X86_MOVE_STORE && move->from != X86_FRAME_POINTER &&
				(stack >> move->from & 1) && (stack >> move->to & 1))
			return true;
	}
	return false;
}

static bool is_of_stack(const struct x86_move *move, unsigned int stack, bool stored)
{
	if (move->from == X86_OTHER || !(stack >> move->from & 1))
		return false;
	return move->kind == X86_MOVE_COPY || stored;
}

/*
 * Registers that point to the stack at the start. A part that the compiler has moved out of its
 * function inherits the frame pointer of the function.
 */
static unsigned int at_begin(const struct moves *moves)
{
	unsigned int stack = 1u << X86_STACK_POINTER | 1u << X86_FRAME_POINTER;

	for (size_t i = 0; i < moves->count; i++) {
		if (moves->all[i].kind != X86_MOVE_STORE && moves->all[i].to == X86_FRAME_POINTER)
			stack = 1u << X86_STACK_POINTER;
	}
	return stack;
}

bool code_exchanges_stack(const struct code_file *file, const struct code_function *function)
{
	struct moves moves = {.all = NULL};
	int is_claimed = read_moves(file, function, &moves);
	unsigned int stack = at_begin(&moves), before;
	bool exchanges = is_claimed < 0;

	do {
		bool stored = is_stored(&moves, stack);

		before = stack;
		for (size_t i = 0; i < moves.count; i++) {
			const struct x86_move *move = &moves.all[i];

			if (move->kind != X86_MOVE_STORE && is_of_stack(move, stack, stored))
				stack |= 1u << move->to;
		}
	} while (stack != before);
	for (size_t i = 0; is_claimed > 0 && i < moves.count; i++) {
		const struct x86_move *move = &moves.all[i];

		exchanges |= move->kind != X86_MOVE_STORE && move->to == X86_STACK_POINTER &&
				!is_of_stack(move, stack, is_stored(&moves, stack));
	}
	free(moves.all);
	return exchanges;
}
