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

struct move_list {
	struct x86_move *all;
	size_t count, capacity;
};

static bool exchange_add_move(struct move_list *moves, const struct x86_move *move)
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
static int exchange_read_moves(const struct code_file *file, const struct code_function *function,
		struct move_list *moves)
{
	uint64_t at = function->address, end = at + function->size;
	bool sets_stack = false;

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
			if (!exchange_add_move(moves, &move[i]))
				return -1;
			sets_stack |= move[i].kind != X86_MOVE_STORE &&
					move[i].to == X86_STACK_POINTER;
		}
		at += length;
	}
	return sets_stack;
}

/*
 * True if one of the registers in `stack` is stored on the stack. The caller's frame pointer does
 * not count: every function with a frame stores it.
 */
static bool exchange_is_stored(const struct move_list *moves, unsigned int stack)
{
	for (size_t i = 0; i < moves->count; i++) {
		const struct x86_move *move = &moves->all[i];

		if (move->kind == X86_MOVE_STORE && move->from != X86_FRAME_POINTER &&
				(stack >> move->from & 1) && (stack >> move->to & 1))
			return true;
	}
	return false;
}

static bool exchange_is_of_stack(const struct x86_move *move, unsigned int stack, bool stored)
{
	if (move->from == X86_OTHER || !(stack >> move->from & 1))
		return false;
	return move->kind == X86_MOVE_COPY || stored;
}

/*
 * Registers that point to the stack at the start. A part that the compiler has moved out of its
 * function inherits the frame pointer of the function.
 */
static unsigned int exchange_initial_registers(const struct move_list *moves)
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
	struct move_list moves = {.all = NULL};
	int sets_stack = exchange_read_moves(file, function, &moves);
	unsigned int stack = exchange_initial_registers(&moves), before;
	bool exchanges = sets_stack < 0;

	do {
		bool stored = exchange_is_stored(&moves, stack);

		before = stack;
		for (size_t i = 0; i < moves.count; i++) {
			const struct x86_move *move = &moves.all[i];

			if (move->kind != X86_MOVE_STORE &&
					exchange_is_of_stack(move, stack, stored))
				stack |= 1u << move->to;
		}
	} while (stack != before);
	for (size_t i = 0; sets_stack > 0 && i < moves.count; i++) {
		const struct x86_move *move = &moves.all[i];

		exchanges |= move->kind != X86_MOVE_STORE && move->to == X86_STACK_POINTER &&
				!exchange_is_of_stack(
						move, stack, exchange_is_stored(&moves, stack));
	}
	free(moves.all);
	return exchanges;
}
