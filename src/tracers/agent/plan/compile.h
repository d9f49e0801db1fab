/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_PLAN_COMPILE_H
#define SIDE_TRACERS_AGENT_PLAN_COMPILE_H

#include "tracers/agent/plan/op.h"

struct side_event_description;

/*
 * Compile the operations of a description, including PLAN_END. *ret_size is the number of bytes of
 * the fields, or -1 when it varies. With ops == NULL, only compute the capacity that is needed, which
 * may exceed the final count.
 */
int plan_compile_ops(const struct side_event_description *description, struct plan_op *ops,
		uint32_t capacity, uint32_t *ret_count, int64_t *ret_size, char *error,
		size_t error_size);

/*
 * Replace short runs of adjacent scalar fields by blocks, in place (block.c).
 */
void plan_block_runs(struct plan_body *body);

#endif /* SIDE_TRACERS_AGENT_PLAN_COMPILE_H */
