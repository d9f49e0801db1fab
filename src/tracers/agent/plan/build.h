/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_PLAN_BUILD_H
#define SIDE_TRACERS_AGENT_PLAN_BUILD_H

/* What the two halves of the compiler share: the array of operations as it grows. */

#include <side/abi/type-description.h>

#include "tracers/agent/plan/op.h"

/* Sizes above this count as variable. */
#define PLAN_FIXED_MAX INT32_MAX

/*
 * With ops == NULL operations are only counted. `last` is the latest operation when it may be
 * joined with its next sibling, so that both passes join alike.
 */
struct plan_builder {
	struct plan_op *ops;
	uint32_t capacity;
	uint32_t count;
	uint32_t peak; /* of count: what is collapsed needs room first */
	struct plan_op last;
	uint32_t last_at; /* UINT32_MAX: none */
	unsigned int depth;
	const struct side_event_field *field; /* of the event, for messages */
	const char *message;
};

/* -errno with the sentence's tail noted. */
int plan_refuse(struct plan_builder *builder, int error, const char *message);

int plan_push(struct plan_builder *builder, const struct plan_op *op);
/* Operations inside the latest one follow; plan_close() ends them. */
int plan_open(struct plan_builder *builder, const struct plan_op *op, uint32_t *ret_index);
void plan_close(struct plan_builder *builder, uint32_t at);
/* Replace what was opened at `at`, and all inside, by one operation. */
int plan_collapse(struct plan_builder *builder, uint32_t at, const struct plan_op *op);
/* Whether exactly one operation, with nothing inside, follows the one opened at `at`. */
bool plan_has_single(const struct plan_builder *builder, uint32_t at);

/*
 * What an integer of these sizes needs: the fields size, shift, bits, flags. *ret_partial: not a
 * copy.
 */
int plan_describe_integer(struct plan_builder *builder, const struct side_type_integer *type,
		unsigned int offset_bits, struct plan_op *op, bool *ret_partial);
int plan_describe_bool(struct plan_builder *builder, const struct side_type_bool *type,
		unsigned int offset_bits, struct plan_op *op, bool *ret_partial);
int plan_check_float(struct plan_builder *builder, const struct side_type_float *type);
int plan_check_string(struct plan_builder *builder, const struct side_type_string *type);

static inline bool plan_is_integer(unsigned int label)
{
	return label >= SIDE_TYPE_U8 && label <= SIDE_TYPE_S128;
}

static inline int64_t plan_size_times(int64_t size, uint32_t count)
{
	if (size < 0 || (size && count > (uint64_t)PLAN_FIXED_MAX / (uint64_t)size))
		return -1;
	return size * count;
}

static inline int64_t plan_size_sum(int64_t a, int64_t b)
{
	return a < 0 || b < 0 || a + b > PLAN_FIXED_MAX ? -1 : a + b;
}

/* Sizes as plan_fixed_size() gives them: -1 when variable. */
int plan_compile_gather(
		struct plan_builder *builder, const struct side_type *type, int64_t *ret_size);

#endif /* SIDE_TRACERS_AGENT_PLAN_BUILD_H */
