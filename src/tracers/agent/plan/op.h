/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_PLAN_OP_H
#define SIDE_TRACERS_AGENT_PLAN_OP_H

/*
 * The operations of a plan, private to this folder.
 *
 * They are in one array in pre-order: the operations inside an operation follow it, and its next
 * sibling is `skip` operations further. There are two interpreters: one for *scalar* operations,
 * which read the arguments in order, and one for *memory* operations, which read memory relative to
 * a base pointer (gather types). A plan does not refer to its description.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/abi/type-argument.h>
#include <side/abi/visitor.h>

#include "tracers/agent/plan/plan-types.h"

/* Plans of more operations than this are never plain. */
#define PLAN_STEPS_MAX 64

/*
 * Operations of one plan at most: descriptions may share types, so a small one can unfold widely.
 */
#define PLAN_OPS_MAX (1u << 18)

enum plan_code {
	/*
	 * Cells whose bytes are copied as they are: `count` cells of one label and size. In an
	 * array the number of elements takes the place of `count`.
	 */
	PLAN_SCALAR_0 = 0,
	PLAN_SCALAR_1,
	PLAN_SCALAR_2,
	PLAN_SCALAR_4,
	PLAN_SCALAR_8,
	PLAN_SCALAR_16,

	/*
	 * Scalars of several kinds, `count` cells. Each has an entry behind the operation, sorted
	 * by size, so that there is a short loop for each size and no decision for each scalar.
	 */
	PLAN_BLOCK,

	/* One argument each, no operations inside. */
	PLAN_STRING,      /* UTF-8 */
	PLAN_GATHER_COPY, /* `count` bytes at base + offset */

	PLAN_END, /* of the plan; plain plans have only the operations above */

	PLAN_INTEGER,     /* extracted bits */
	PLAN_BOOL,        /* not a whole byte: 0 or 1 */
	PLAN_FLOAT16,     /* widened */
	PLAN_WIDE_STRING, /* converted to UTF-8 */
	PLAN_DYNAMIC,

	/* One cell each, with operations inside. */
	PLAN_STRUCT,      /* members; `count` arguments */
	PLAN_ARRAY,       /* the element; `count` elements */
	PLAN_VLA,         /* the element; length in `width` bytes */
	PLAN_VLA_VISITOR, /* the element; length in `width` bytes */
	PLAN_OPTIONAL,    /* the value */
	PLAN_VARIANT,     /* the selector; options */
	PLAN_SELECTOR,    /* inside a variant: copied; PLAN_INTEGER when it has extracted bits */
	PLAN_OPTION,      /* inside a variant: the type for selectors in begin ... end */
	PLAN_GATHER,      /* memory operations */

	/* Memory operations. */
	PLAN_MEMORY_COPY,    /* `count` bytes */
	PLAN_MEMORY_INTEGER, /* extracted bits */
	PLAN_MEMORY_BOOL,
	PLAN_MEMORY_FLOAT16,
	PLAN_MEMORY_STRING,      /* unit `size`; with PLAN_POINTER through a pointer, may be NULL */
	PLAN_MEMORY_DEREFERENCE, /* the operations inside, relative to the pointer at the offset */
	PLAN_MEMORY_ARRAY,       /* `count` elements, `stride` bytes apart */
	PLAN_MEMORY_STRINGS_ARRAY, /* `count` elements of consecutive strings */
	PLAN_MEMORY_VLA,           /* a length operation, then the element's; length in `width` */
	PLAN_MEMORY_LENGTH,
};

enum plan_flags {
	PLAN_SIGNED = 1,   /* integers: extend the sign */
	PLAN_SWAP = 2,     /* integers, floats, wide strings: foreign byte order */
	PLAN_POINTER = 4,  /* memory: follow the pointer that is there */
	PLAN_FLAT = 8,     /* memory VLA: the elements lie without gaps, copy them at once */
	PLAN_STRINGS = 16, /* memory VLA: the elements are strings one behind the other */
};

/* The groups of a block, in this order. */
enum plan_group {
	PLAN_GROUP_8,
	PLAN_GROUP_4,
	PLAN_GROUP_2,
	PLAN_GROUP_1,
	PLAN_GROUP_16,
	PLAN_GROUP_0,
};
#define PLAN_GROUP_COUNT 6

/* One scalar of a block. Several entries are in the space of one operation. */
struct plan_entry {
	uint16_t label;
	uint16_t to;  /* where in the block's bytes */
	uint32_t arg; /* where the argument is, in bytes from the block's first */
};

struct plan_op;
typedef ssize_t (*plan_step_func)(const struct plan_op *op, const struct side_arg *arg, uint8_t *to,
		const uint8_t *last, uint8_t *start, enum plan_reason *ret_reason);

struct plan_op {
	uint8_t code;   /* enum plan_code */
	uint8_t size;   /* bytes of storage, of a code unit */
	uint16_t label; /* that the argument must have */
	uint32_t count;
	union {
		struct {
			union {
				uint64_t offset; /* memory: from the base */
				int64_t begin;   /* option: selectors */
				side_visitor_func visitor;
			};
			union {
				int64_t end;
				struct {
					uint32_t stride;
					uint8_t shift;
					uint8_t bits;
					uint8_t flags; /* enum plan_flags */
					uint8_t width; /* bytes written: length, converted value */
				};
			};
		};
		struct {
			uint16_t groups[PLAN_GROUP_COUNT]; /* block: scalars in each */
			uint32_t bytes;                    /* run, block: of all cells */
		};
	};
	union {
		plan_step_func step; /* plain plans: code, as a function */
		uint64_t step_slot;  /* the same size on every host */
	};
	uint32_t skip;
	uint32_t padding;
};
_Static_assert(sizeof(struct plan_op) % sizeof(struct plan_entry) == 0,
		"entries replace operations");

/* The struct that a struct plan pointer refers to. */
struct plan_body {
	struct plan plan;
	uint32_t arg_count; /* arguments */
	uint32_t op_count;
	int64_t fixed_size;
	size_t mapped_size; /* 0: the memory is the caller's */
	bool variadic;
	uint32_t span_at; /* PLAN_KIND_SPAN: the operation that is not run */
	struct plan_op ops[];
};

/* The ways of serialize.c. */
ssize_t plan_serialize_any(const struct plan *plan, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity,
		enum plan_reason *ret_reason);
ssize_t plan_serialize_plain(const struct plan *plan, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity,
		enum plan_reason *ret_reason);
plan_serialize_func plan_serialize_run(unsigned int code);
plan_step_func plan_step(unsigned int code);

/* State of one serialisation beside the position, which is handed from function to function. */
struct plan_output {
	uint8_t *end;            /* of the buffer */
	const uint8_t *consumed; /* memory strings: where the next one begins */
	enum plan_reason reason;
};

/*
 * Each function below takes the position to write at and returns the position behind, or NULL with
 * output->reason set.
 */
uint8_t *plan_write_dynamic(struct plan_output *output, const struct side_arg *arg, uint8_t *to);
uint8_t *plan_write_variadic(struct plan_output *output,
		const struct side_arg_dynamic_struct *fields, uint8_t *to);
uint8_t *plan_write_null_string(struct plan_output *output, uint8_t *to);
uint8_t *plan_write_wide_string(struct plan_output *output, const void *from,
		unsigned int unit_size, bool swap, const uint8_t **ret_consumed, uint8_t *to);
uint8_t *plan_write_memory(struct plan_output *output, const struct plan_op *op,
		const struct plan_op *stop, const uint8_t *base, uint8_t *to);
uint8_t *plan_write_memory_vla(struct plan_output *output, const struct plan_op *op,
		const uint8_t *base, const uint8_t *length_base, uint8_t *to);
/* The same without the elements of a flat one, which *ret_span tells. */
uint8_t *plan_write_memory_vla_span(struct plan_output *output, const struct plan_op *op,
		const uint8_t *base, const uint8_t *length_base, uint8_t *to,
		struct plan_span *ret_span);

static inline uint8_t *plan_fail(struct plan_output *output, enum plan_reason reason)
{
	output->reason = reason;
	return NULL;
}

#endif /* SIDE_TRACERS_AGENT_PLAN_OP_H */
