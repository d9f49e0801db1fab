/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_X86_64_H
#define SIDE_PROBE_CODE_X86_64_H

/* As the unwinder's data counts registers. */
#define STACK_FRAME 6
#define STACK_POINTER 7

/* One instruction of x86-64, as far as moving it and following it asks for. */

#include "probe/site.h"

#include <stddef.h>

struct x86_instruction {
	struct probe_piece piece; /* without `at` */
	bool call;
	bool ends;          /* what follows it is reached by jumps only */
	bool padding;       /* does nothing, or stops */
	bool branch_mark;   /* where indirect branches must land (endbr64) */
	bool lea;           /* takes the address piece.target */
	bool indirect_jump; /* goes to what a register or memory says */
	bool pop;           /* reads the top of the stack */
	bool leaves;        /* returns to the caller */
	bool moves_stack;   /* gives the stack pointer an address from elsewhere */
	uint8_t stack; /* its memory operand is this register, STACK_… , and the distance; 0: neither */
	int64_t stack_distance;
	uint64_t constant;     /* that may be an address; 0: none */
	uint64_t displacement; /* of its memory operand, that may be an address; 0: none */
	bool absolute;         /* and nothing is added to that */
	const char *refused;   /* why it cannot be moved; NULL: it can */
};

/* The first instruction of these bytes; false: there is none. */
bool x86_decode(const uint8_t *bytes, size_t size, uint64_t address,
		struct x86_instruction *instruction);

/* How many bytes of memory its explicit operand has; 0: it has none, or does not access it. */
unsigned int x86_memory_bytes(const uint8_t *bytes, size_t size);

/* The use that a function makes of return addresses on the stack. */
#define X86_STACK_CALLS 256
struct x86_stack_use {
	bool return_address; /* it reads or writes its own return address, or passes its location on */
	bool location;       /* it takes the location of that */
	bool callers_frame; /* it finds its caller's, by the frame pointer */
	bool gives_frame;   /* it passes its own frame pointer to others */
	bool unknown;       /* it may do any of that */
	bool next_word; /* it reads or writes the word above its own return address, such as an argument */
	size_t nr_shallow;
	struct x86_shallow_call {
		uint64_t target;
		bool tail;
	} shallow[X86_STACK_CALLS]; /* made while its own return address is on top of the stack */
};

struct code_file;
struct code_function;
/* -EINVAL: the analysis is not possible; -ENOMEM. */
int x86_stack_use(struct code_file *file, const struct code_function *function,
		struct x86_stack_use *use);

/* Registers, as instructions count them. */
#define X86_STACK_POINTER 4
#define X86_FRAME_POINTER 5
#define X86_OTHER 16 /* none of them, or several */

/* The move of a 64-bit address between general registers and memory. A change by an offset or a mask is not a move. */
struct x86_move {
	enum {
		X86_MOVE_NONE,
		X86_MOVE_COPY,  /* `to` becomes `from`, or an address at a distance from it */
		X86_MOVE_LOAD,  /* `to` becomes what is in memory at `from` */
		X86_MOVE_STORE, /* memory at `to` becomes `from` */
	} kind;
	uint8_t to, from;
};

/* The moves of the first instruction of these bytes, at most two. Returns its length; 0: no instruction. */
unsigned int x86_moves(const uint8_t *bytes, size_t size, struct x86_move moves[2]);

#endif /* SIDE_PROBE_CODE_X86_64_H */
