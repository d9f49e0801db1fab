/* SPDX-License-Identifier: MIT */
/*
 * Follows a function along all paths: a fact holds at an instruction if it holds on each path to
 * it.
 *
 * Where unknown paths may arrive (jump tables, exceptions, jumps from other functions), only the
 * frame is known.
 */
#include "calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Larger functions are not followed: people do not write them, and following takes long. */
#define CODE_MAX (1u << 20)
#define FRAME_MAX (128 << 10)
#define MEMORY_MAX (64u << 20)
/* Bytes below and above, if the size of the frame is not known. */
#define GUESSED_BELOW 1024
#define GUESSED_FRAME 8192

enum { MARK_BEGIN = 1, MARK_MEETING = 2, MARK_SEEN = 4, MARK_WAITS = 8, MARK_BLIND = 16 };

struct flow {
	struct image *image;
	uint64_t begin;
	const uint8_t *code;
	size_t size;
	const struct calls_flow_ops *ops;
	uint8_t *marks;
	struct calls_state **states; /* of the instructions where paths merge */
	size_t *waiting, nr_waiting;
	size_t nr_states;
	int64_t below;
	size_t memory;
	bool is_reporting;
};

static bool calls_flow_is_inside(const struct flow *flow, uint64_t address)
{
	return address >= flow->begin && address - flow->begin < flow->size;
}

/*
 * Decode all instructions in sequence: their starts, the targets of jumps, the size of the frame.
 */
static int calls_flow_follow(struct flow *flow)
{
	struct calls_step step;
	int64_t below = 512 + GUESSED_FRAME;

	for (size_t at = 0; at < flow->size; at += step.length ? step.length : 1) {
		calls_step(flow->code + at, flow->size - at, flow->begin + at, NULL, flow->image,
				&step);
		if (step.goes == GOES_NOT)
			continue;
		flow->marks[at] |= MARK_BEGIN;
		below += step.frame;
		if ((step.goes == GOES_MAYBE || step.goes == GOES_TO) &&
				calls_flow_is_inside(flow, step.target))
			flow->marks[step.target - flow->begin] |= MARK_MEETING;
		if (below > FRAME_MAX)
			return -E2BIG;
	}
	for (size_t at = 0; at < flow->size; at++) {
		if (at && flow->ops->entered(flow->ops->priv, flow->begin + at))
			flow->marks[at] |= MARK_MEETING | MARK_BLIND;
	}
	flow->below = below;
	return 0;
}

static void calls_flow_enqueue(struct flow *flow, size_t at)
{
	if (flow->marks[at] & MARK_WAITS)
		return;
	flow->marks[at] |= MARK_WAITS;
	flow->waiting[flow->nr_waiting++] = at;
}

static bool calls_flow_spend_budget(const struct flow *flow, size_t steps)
{
	if (*flow->ops->budget < steps)
		return false;
	*flow->ops->budget -= steps;
	return true;
}

/* A path reaches an instruction where paths merge. */
static int calls_flow_merge_at(struct flow *flow, size_t at, const struct calls_state *state)
{
	struct calls_state **known = &flow->states[at];

	if (flow->is_reporting)
		return 0;
	/* Comparing two frames takes time, too. */
	if (!calls_flow_spend_budget(flow, calls_state_size(state) / 64))
		return -E2BIG;
	if (!*known) {
		size_t size = calls_state_size(state);

		flow->memory += size;
		if (flow->memory > MEMORY_MAX)
			return -E2BIG;
		*known = malloc(size);
		if (!*known)
			return -ENOMEM;
		memcpy(*known, state, size);
		if (flow->marks[at] & MARK_BLIND)
			calls_leave_frame(*known);
		calls_flow_enqueue(flow, at);
	} else if (state->blind && !(*known)->blind) {
		flow->marks[at] |= MARK_BLIND;
		if (calls_leave_frame(*known))
			calls_flow_enqueue(flow, at);
	} else if (!state->blind && (*known)->blind) {
		memcpy(*known, state, calls_state_size(state));
		flow->marks[at] |= MARK_BLIND;
		calls_leave_frame(*known);
		calls_flow_enqueue(flow, at);
	} else if (calls_meet(*known, state)) {
		calls_flow_enqueue(flow, at);
	}
	return 0;
}

/* Follow a path up to the next instruction where paths merge. */
static int calls_flow_step(struct flow *flow, size_t at, struct calls_state *state)
{
	struct calls_step step;
	bool first = true;
	int ret = 0;

	while (at < flow->size) {
		uint64_t address = flow->begin + at;

		if (!first && (flow->marks[at] & MARK_MEETING))
			return calls_flow_merge_at(flow, at, state);
		first = false;
		if (!calls_flow_spend_budget(flow, 1))
			return -E2BIG;
		flow->marks[at] |= MARK_SEEN;
		calls_step(flow->code + at, flow->size - at, address, state, flow->image, &step);
		if (step.goes == GOES_NOT)
			return 0;
		if (flow->is_reporting && step.goes != GOES_ON &&
				(step.goes == GOES_CALL || step.slot ||
						!calls_flow_is_inside(flow, step.target)))
			flow->ops->leaves(flow->ops->priv, address, &step, state);
		if (step.goes == GOES_CALL)
			calls_called(state);
		if ((step.goes == GOES_TO || step.goes == GOES_MAYBE) &&
				calls_flow_is_inside(flow, step.target))
			ret = calls_flow_merge_at(flow, (size_t)(step.target - flow->begin), state);
		if (ret || step.goes == GOES_TO || step.goes == GOES_AWAY)
			return ret;
		at += step.length;
	}
	return 0;
}

static int calls_flow_drain_worklist(struct flow *flow, struct calls_state *scratch)
{
	int ret = 0;

	while (flow->nr_waiting && !ret) {
		size_t at = flow->waiting[--flow->nr_waiting];

		flow->marks[at] &= (uint8_t)~MARK_WAITS;
		memcpy(scratch, flow->states[at], calls_state_size(scratch));
		ret = calls_flow_step(flow, at, scratch);
	}
	return ret;
}

/*
 * Start at code that no known path reaches, with nothing known and the stack pointer anywhere in
 * the frame. Returns 1 if there is such code after *from, 0 if not, or a negative errno.
 */
static int calls_flow_start_blind(struct flow *flow, size_t *from)
{
	struct calls_state *state;
	int ret;

	while (*from < flow->size && (flow->marks[*from] & (MARK_BEGIN | MARK_SEEN)) != MARK_BEGIN)
		++*from;
	if (*from >= flow->size)
		return 0;
	state = calls_state_new(flow->below, 512);
	if (!state)
		return -ENOMEM;
	calls_leave_frame(state);
	state->blind = true;
	state->registers[CALLS_RSP].number = -flow->below + GUESSED_BELOW;
	flow->marks[*from] |= MARK_MEETING;
	ret = calls_flow_merge_at(flow, *from, state);
	free(state);
	return ret ? ret : 1;
}

static int calls_flow_run(struct flow *flow)
{
	struct calls_state *state, *scratch;
	size_t from = 0;
	int ret = calls_flow_follow(flow);

	if (ret)
		return ret;
	state = calls_state_new(flow->below, 512);
	scratch = calls_state_new(flow->below, 512);
	ret = state && scratch ? 0 : -ENOMEM;
	flow->marks[0] |= MARK_MEETING;
	if (!ret)
		ret = calls_flow_merge_at(flow, 0, state);
	if (!ret)
		ret = calls_flow_drain_worklist(flow, scratch);
	while (!ret && (ret = calls_flow_start_blind(flow, &from)) > 0)
		ret = calls_flow_drain_worklist(flow, scratch);
	flow->is_reporting = true;
	for (size_t at = 0; at < flow->size && !ret; at++) {
		if (!flow->states[at])
			continue;
		memcpy(scratch, flow->states[at], calls_state_size(scratch));
		ret = calls_flow_step(flow, at, scratch);
	}
	free(state);
	free(scratch);
	return ret;
}

int calls_follow(struct image *image, uint64_t begin, const uint8_t *code, size_t size,
		const struct calls_flow_ops *ops)
{
	struct flow flow = {.image = image, .begin = begin, .code = code, .size = size, .ops = ops};
	int ret = -ENOMEM;

	if (!size || size > CODE_MAX)
		return -E2BIG;
	flow.marks = calloc(size, sizeof(*flow.marks));
	flow.states = calloc(size, sizeof(struct calls_state *));
	flow.waiting = calloc(size, sizeof(*flow.waiting));
	if (flow.marks && flow.states && flow.waiting)
		ret = calls_flow_run(&flow);
	for (size_t at = 0; flow.states && at < size; at++)
		free(flow.states[at]);
	free(flow.marks);
	free(flow.states);
	free(flow.waiting);
	return ret;
}
