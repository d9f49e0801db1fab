/* SPDX-License-Identifier: MIT */
/*
 * A linked filter; private to this module.
 *
 *   struct filter_body, its operations, then moves, ranges and texts
 *
 * All parts are located by offsets, so the whole may be moved in memory. Operations work on a
 * stack; each test has two targets, both forwards. The test of one integer argument against
 * constants is a separate operation (FILTER_OP_RANGE_*), and a filter that consists of only one of
 * them is a separate function: nearly all filters are one or a few of them.
 *
 * A value that is not a plain argument is located by a list of *moves*: from the argument's scalar,
 * or from gathered memory, inwards, to a leaf that defines how to read it.
 */
#ifndef SIDE_FILTER_OP_H
#define SIDE_FILTER_OP_H

#include <side/abi/type-argument.h>
#include <side/abi/type-description.h>
#include <side/abi/visitor.h>

#include "filter/program.h"

/* The requested property of the element at the end of the moves. The first values are those of enum
   filter_ask. */
enum filter_goal {
	FILTER_GOAL_VALUE = FILTER_ASK_VALUE,
	FILTER_GOAL_LENGTH = FILTER_ASK_LENGTH,
	FILTER_GOAL_PRESENCE = FILTER_ASK_PRESENCE,
	FILTER_GOAL_TEXT, /* 1 if it equals the operation's text, or has it as a label; else 0 */
};

enum filter_move_code {
	/* From an argument. */
	FILTER_MOVE_STRUCT,   /* member `index` of `count` */
	FILTER_MOVE_ARRAY,    /* element `index` of `count` */
	FILTER_MOVE_VLA,      /* element `index` */
	FILTER_MOVE_VISITOR,  /* element `index` of `visitor`: the following moves run inside it */
	FILTER_MOVE_OPTIONAL, /* its value */
	FILTER_MOVE_VARIANT,  /* then the selector's leaf, options, FILTER_MOVE_NOTHING */
	/* for selectors begin to end: the following moves; else `skip` moves further */
	FILTER_MOVE_OPTION,
	FILTER_MOVE_NOTHING,
	FILTER_MOVE_GATHER,   /* to memory */
	FILTER_MOVE_DYNAMIC,  /* then `count` steps: by name or index, resolved by the values */
	FILTER_MOVE_VARIADIC, /* the same from the variadic part; needs no argument */
	FILTER_MOVE_NAME,     /* a step: text at `offset` of `count` bytes */
	FILTER_MOVE_INDEX,    /* a step: `index` */

	/* From memory. */
	FILTER_MOVE_AT,  /* access at `offset` */
	FILTER_MOVE_ADD, /* `offset` bytes further */
	/* element `index`, with distance `stride`; then the length's leaf */
	FILTER_MOVE_MEMORY_VLA,
	FILTER_MOVE_TEXTS, /* over `index` elements; then `count` levels of their types */
	FILTER_MOVE_LEVEL, /* an array of `count` of the next level, or strings of `size` */

	/* Leaves, the last move: from an argument or, with FILTER_IN_MEMORY, from memory. */
	FILTER_LEAF_INTEGER, /* with labels: `count` ranges at `ranges` */
	FILTER_LEAF_BOOL,
	FILTER_LEAF_FLOAT,
	FILTER_LEAF_TEXT,
	FILTER_LEAF_THING,  /* it has only presence */
	FILTER_LEAF_BITMAP, /* ranges of bits; with `index` array, VLA or one item (label) */
	FILTER_LEAF_COUNT,  /* elements of an array, VLA or visitor; memory: always `count` */
	FILTER_LEAF_LENGTH, /* memory: the length of a VLA */
};

enum filter_move_flags {
	FILTER_SIGNED = 1,
	FILTER_SWAP = 2,      /* foreign byte order */
	FILTER_POINTER = 4,   /* memory: follow the pointer at this address */
	FILTER_IN_MEMORY = 8, /* a leaf at base + offset */
	FILTER_LABELS = 16,   /* an enumeration: FILTER_GOAL_TEXT compares its labels */
};

struct filter_move {
	uint8_t code;
	uint8_t size; /* bytes of storage, of a code unit */
	uint8_t bits;
	uint8_t shift;
	uint8_t flags;
	uint8_t item; /* bitmap: bits of an item */
	uint16_t label;
	uint32_t index;
	uint32_t count;
	union {
		uint64_t offset;
		int64_t begin;
		side_visitor_func visitor;
	};
	union {
		int64_t end;
		uint64_t stride;
		uint64_t ranges; /* offset in the body */
	};
	uint32_t skip;
	uint32_t padding;
};

/* A range of label values, or of bits. */
struct filter_range {
	uint64_t begin, end;
};

enum filter_op_code {
	/* The argument's integer of 1, 2, 4 or 8 bytes: ((it & mask) - low) <= span. */
	FILTER_OP_RANGE_1,
	FILTER_OP_RANGE_2,
	FILTER_OP_RANGE_4,
	FILTER_OP_RANGE_8,
	FILTER_OP_ACCEPT,
	FILTER_OP_REJECT,
	/* Filters without any of the operations below need no stack. */
	FILTER_OP_PLAIN,
	FILTER_OP_LOAD = FILTER_OP_PLAIN, /* push the element at the end of the moves */
	FILTER_OP_LOAD_TEST,              /* the same, and test it */
	FILTER_OP_LOAD_COMPARE,           /* the same, and test how it compares with the constant */
	FILTER_OP_CONSTANT,
	FILTER_OP_TEXT,
	FILTER_OP_CONTEXT, /* push context `index` */
	FILTER_OP_BOUND,   /* push the loader's value of handle `index` */
	FILTER_OP_UNARY,
	FILTER_OP_BINARY,
	FILTER_OP_COMPARE,
	FILTER_OP_COMPARE_TEST,
	FILTER_OP_TEST,
	FILTER_OP_RETURN,
};

struct filter_op {
	uint8_t code;
	uint8_t inner; /* enum filter_code of the calculation */
	uint8_t goal;  /* enum filter_goal */
	uint8_t negated;
	uint16_t label; /* FILTER_OP_RANGE_* */
	uint16_t padding;
	uint32_t yes, no; /* bytes from this operation */
	union {
		struct {
			uint64_t mask, low, span;
			uint32_t arg; /* bytes from the first argument */
		};
		struct {
			uint64_t value; /* constant */
			uint8_t kind;
			bool is_unsigned;
			bool is_glob;
			uint32_t text, size; /* FILTER_OP_TEXT, FILTER_GOAL_TEXT: offset, bytes */
			uint32_t moves;      /* offset */
			uint32_t arg_index;  /* the argument; UINT32_MAX: none */
		};
		int32_t index;
	};
};

/* The memory behind a struct filter pointer. */
struct filter_body {
	struct filter filter;
	uint32_t nr_arguments;
	uint16_t begin; /* the first operation of a capture; a match begins with the first of all */
	bool is_bound;
	bool keeps; /* it keeps values on a stack; other filters test each value at once */
	struct filter_op ops[];
};

static inline const void *filter_at(const struct filter_body *body, uint64_t offset)
{
	return (const char *)body + offset;
}

/* One evaluation. */
struct filter_run {
	const struct filter_body *body;
	const struct side_arg *args;
	const struct side_arg_dynamic_struct *variadic;
	const void *caller;
	const struct filter_contexts *contexts;
	const struct filter_loader *loader;
};

/* Follow an operation's moves. False: no value; *ret_value is FILTER_NONE then. */
bool filter_walk(const struct filter_run *run, const struct filter_op *op,
		struct filter_value *ret_value);

/* Choose the function for a filter whose operations are complete. */
void filter_choose_function(struct filter_body *body, uint32_t nr_ops);
/* Run a filter of any type. Returns its truth. Stores the value into *ret_value unless that is
   NULL. */
bool filter_run_any(const struct filter_run *run, struct filter_value *ret_value);

#endif /* SIDE_FILTER_OP_H */
