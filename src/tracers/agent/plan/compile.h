/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_PLAN_COMPILE_H
#define SIDE_TRACERS_AGENT_PLAN_COMPILE_H

#include "tracers/agent/plan/op.h"

/*
 * The operations of a description, its end included. *size is that of the fields' bytes, or -1 when
 * it varies. With ops == NULL only the capacity that this takes is found, which may be more than the
 * count in the end.
 */
int plan_compile_ops(const struct side_event_description *description, struct plan_op *ops,
		uint32_t capacity, uint32_t *count, int64_t *size, char *error, size_t error_size);

/*
 * Turn short runs of scalars that stand side by side among the fields into blocks, in place.
 * (block.c)
 */
void plan_block_runs(struct plan_body *body);

#endif /* SIDE_TRACERS_AGENT_PLAN_COMPILE_H */
