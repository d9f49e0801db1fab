/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_X86_64_H
#define SIDE_PROBE_CODE_X86_64_H

/* Registers, by their DWARF numbers. */
#define STACK_FRAME 6
#define STACK_POINTER 7

/* One instruction of x86-64, with what is needed to move it and to follow control flow. */

#include "probe/site.h"

#include <stddef.h>

struct x86_instruction {
	struct probe_piece piece; /* without `at` */
	bool call;
	bool ends;          /* the instruction after it is reached by jumps only */
	bool padding;       /* does nothing, or traps */
	bool branch_mark;   /* a landing mark for indirect branches (endbr64) */
	bool lea;           /* takes the address piece.target */
	bool indirect_jump; /* jumps to an address in a register or in memory */
	bool pop;           /* reads the top of the stack */
	bool leaves;        /* returns to the caller */
	bool moves_stack;   /* sets the stack pointer to another address */
	/* the base register of its memory operand: STACK_FRAME or STACK_POINTER; 0: neither */
	uint8_t stack;
	int64_t stack_distance;
	uint64_t constant; /* an immediate value that may be an address; 0: none */
	/* the displacement of its memory operand, if it may be an address; 0: none */
	uint64_t displacement;
	bool absolute;       /* the displacement is the whole address */
	const char *refused; /* why it cannot be moved; NULL: it can be moved */
};

/* Decodes the first instruction of these bytes. Returns false if they are no instruction. */
bool x86_decode(const uint8_t *bytes, size_t size, uint64_t address,
		struct x86_instruction *ret_instruction);

/*
 * Returns the size in bytes of its explicit memory operand, or 0 if it has none or does not access
 * it.
 */
unsigned int x86_memory_bytes(const uint8_t *bytes, size_t size);

/* How a function uses return addresses on the stack. */
#define X86_STACK_CALLS 256
struct x86_stack_use {
	/* it reads or writes its own return address, or passes the address of it to other code */
	bool return_address;
	bool location; /* it takes the address of its own return address */
	/* it computes the address of its caller's return address from the frame pointer */
	bool callers_frame;
	bool gives_frame; /* it passes its own frame pointer to other code */
	bool unknown;     /* it may do any of these */
	/* it reads or writes the word above its own return address, such as an argument */
	bool next_word;
	size_t nr_shallow;
	struct x86_shallow_call {
		uint64_t target;
		bool tail;
	} shallow[X86_STACK_CALLS]; /* calls while its own return address is on top of the stack */
};

struct code_file;
struct code_function;
/* Returns 0, -EINVAL if the analysis is not possible, or -ENOMEM. */
int x86_stack_use(struct code_file *file, const struct code_function *function,
		struct x86_stack_use *ret_use);

/* Registers, by their numbers in instructions. */
#define X86_STACK_POINTER 4
#define X86_FRAME_POINTER 5
#define X86_OTHER 16 /* another register, or several */

/*
 * A move of a 64-bit address between general registers and memory. A change by an offset or a mask
 * is not a move.
 */
struct x86_move {
	enum {
		X86_MOVE_NONE,
		X86_MOVE_COPY,  /* `to` becomes `from`, or an address at a distance from it */
		X86_MOVE_LOAD,  /* `to` becomes the value in memory at `from` */
		X86_MOVE_STORE, /* memory at `to` becomes `from` */
	} kind;
	uint8_t to, from;
};

/*
 * Finds the moves of the first instruction of these bytes, at most two. Returns its length, or 0 if
 * there is no instruction.
 */
unsigned int x86_moves(const uint8_t *bytes, size_t size, struct x86_move ret_moves[2]);

#endif /* SIDE_PROBE_CODE_X86_64_H */
