/* SPDX-License-Identifier: MIT */
/*
 * Blocks: short runs of scalars side by side become one operation with a sorted table.
 *
 * A decision for each scalar is what costs most in a mixed record, so the table is sorted by size
 * and each size has its loop. It is written over the runs it replaces, and only made when it fits
 * there: about when runs have fewer than four cells on average. Longer runs are faster as they are.
 */
#include "tracers/agent/plan/compile.h"

#define ENTRIES_PER_OP (sizeof(struct plan_op) / sizeof(struct plan_entry))

/* Offsets in entries have 16 bits. */
#define BYTES_MAX 65535
#define ARGS_MAX 4096

/* The same runs are written over while they are read, so what is needed of them is kept apart. */
#define RUNS_MAX 256

struct scalar_run {
	uint16_t label;
	uint8_t size;
	uint32_t count;
};

static const uint8_t group_sizes[PLAN_GROUP_COUNT] = {8, 4, 2, 1, 16, 0};

static struct plan_entry *fill_group(struct plan_entry *entry, unsigned int size,
		const struct scalar_run *runs, uint32_t run_count)
{
	uint32_t i, k, arg = 0, to = 0;

	for (i = 0; i < run_count; i++) {
		for (k = 0; k < runs[i].count; k++) {
			if (runs[i].size == size) {
				entry->label = runs[i].label;
				entry->to = (uint16_t)to;
				entry->arg = arg * (uint32_t)sizeof(struct side_arg);
				entry++;
			}
			to += runs[i].size;
			arg++;
		}
	}
	return entry;
}

static void plan_block_make(struct plan_op *op, const struct scalar_run *runs, uint32_t run_count,
		uint32_t args, uint32_t bytes)
{
	struct plan_entry *entry = (struct plan_entry *)(op + 1), *begin = entry;
	uint32_t group;

	*op = (struct plan_op){.code = PLAN_BLOCK, .count = args, .skip = run_count};
	for (group = 0; group < PLAN_GROUP_COUNT; group++) {
		entry = fill_group(begin, group_sizes[group], runs, run_count);
		op->groups[group] = (uint16_t)(entry - begin);
		begin = entry;
	}
	op->bytes = bytes;
}

/* The runs from `op` on, as many as a block may hold. Returns their number. */
static uint32_t collect_runs(const struct plan_op *op, struct scalar_run ret_runs[RUNS_MAX],
		uint32_t *ret_args, uint32_t *ret_bytes)
{
	uint32_t count;

	*ret_args = *ret_bytes = 0;
	for (count = 0; count < RUNS_MAX && op->code <= PLAN_SCALAR_16; count++, op++) {
		if (op->count > ARGS_MAX || *ret_args + op->count > ARGS_MAX ||
				*ret_bytes + op->count * op->size > BYTES_MAX)
			break;
		*ret_args += op->count;
		*ret_bytes += op->count * op->size;
		ret_runs[count] = (struct scalar_run){op->label, op->size, op->count};
	}
	return count;
}

void plan_block_runs(struct plan_body *body)
{
	struct plan_op *op = body->ops, *end = op + body->op_count - 1;
	struct scalar_run runs[RUNS_MAX];

	while (op != end) {
		uint32_t args, bytes, count = collect_runs(op, runs, &args, &bytes);

		if (count > 1 && 1 + (args + ENTRIES_PER_OP - 1) / ENTRIES_PER_OP <= count)
			plan_block_make(op, runs, count, args, bytes);
		op += count > 1 ? count : op->skip;
	}
}
