/* SPDX-License-Identifier: MIT */
/*
 * Whether the return from a function can be seen. To see it, the return address of a call is replaced where the call has put
 * it. That must be the place; and the function must not look at it, as those do that return twice (setjmp,
 * getcontext, vfork), that ask who has called them (dlopen, dlsym), or that unwind.
 */
#include "parts.h"
#include "x86-64.h"

#include <string.h>

static const char no_frame[] =
		"the unwinder's data says nothing of it, so where it returns to is not known";
static const char no_call[] = "it is not begun by a call, as the unwinder's data says";
static const char looks[] = "it looks at its return address itself";
static const char go[] = "it is Go's, whose runtime looks at return addresses itself";
static const char never[] = "it never returns";
static const char twice[] = "it returns more than once";

/* Without the unwinder's data their names must do. */
static const char *const by_name[] = {"setjmp", "_setjmp", "__setjmp", "sigsetjmp", "__sigsetjmp",
		"vfork", "__vfork", "getcontext", "__getcontext", "swapcontext", "__swapcontext"};

static bool returns_twice(const struct code_file *file, const struct code_function *function)
{
	for (size_t i = 0; i < function->nr_names; i++) {
		const char *name = code_name(file, function, i);

		for (size_t k = 0; k < sizeof(by_name) / sizeof(by_name[0]); k++) {
			if (!strcmp(name, by_name[k]))
				return true;
		}
	}
	return false;
}

/* Its memory operand is the return address, or it takes that from the stack. */
static bool looks_at_return(const struct x86_instruction *instruction, const struct code_row *row)
{
	if (row->begin != CODE_BEGIN_PLAIN || !row->returns)
		return false;
	if (instruction->pop && row->reg == STACK_POINTER && row->offset == 8)
		return true;
	return instruction->stack && instruction->stack == row->reg &&
			instruction->stack_distance == row->offset - 8;
}

static bool may_return(
		const struct x86_instruction *instruction, const struct code_function *function)
{
	switch (instruction->piece.kind) {
	case PROBE_BRANCH:
	case PROBE_BRANCH_IF:
	case PROBE_COUNTER: return instruction->piece.target - function->address >= function->size;
	default: return instruction->leaves || instruction->indirect_jump;
	}
}

const char *code_no_exit(const struct code_file *file, const struct code_function *function)
{
	uint64_t at = function->address, end = at + function->size;
	bool returns = false, last_ends = false;
	struct code_rows rows;
	const struct code_row *row;
	bool known = code_rows_open(file, at, &rows);

	if (code_is_go(file, at))
		return go;
	if (returns_twice(file, function))
		return twice;
	if (!known && file->nr_frames)
		return no_frame;
	row = known ? code_rows_at(&rows, at) : NULL;
	if (row &&
			(row->begin != CODE_BEGIN_PLAIN || !row->returns ||
					row->reg != STACK_POINTER || row->offset != 8))
		return no_call;
	while (at < end) {
		struct x86_instruction instruction;
		size_t size;
		const uint8_t *bytes = code_bytes(file, at, &size);

		if (!bytes || !x86_decode(bytes, size, at, &instruction))
			return NULL;
		if (row && looks_at_return(&instruction, code_rows_at(&rows, at)))
			return looks;
		returns |= may_return(&instruction, function);
		last_ends = instruction.ends || instruction.call || instruction.padding;
		at += instruction.piece.length;
	}
	return returns || !last_ends ? NULL : never;
}
