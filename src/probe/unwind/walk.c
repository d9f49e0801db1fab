/* SPDX-License-Identifier: MIT */
/* From frame to frame. Compiled for general registers only, as all that a hit calls. */
#include "unwind.h"

#define WORD 8

/* In what the kernel puts on the stack before it calls a signal's handler (struct ucontext). */
#define SIGNAL_FRAME_POINTER 120
#define SIGNAL_STACK_POINTER 160
#define SIGNAL_PROGRAM_COUNTER 168

struct walk {
	const struct unwind_modules *modules;
	unwind_read read;
	unwind_translate translate;
	void *user;
	struct unwind_state state;
};

static const struct unwind_module *find_module(
		const struct unwind_modules *modules, uint64_t address)
{
	size_t low = 0, high = modules->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (modules->modules[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= modules->modules[low - 1].end)
		return NULL;
	return &modules->modules[low - 1];
}

static const struct unwind_row *find_row(const struct unwind_modules *modules, uint64_t address)
{
	const struct unwind_module *module = find_module(modules, address);
	size_t low = 0, high = module ? module->nr_rows : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (module->rows[middle].at <= address - module->start)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &module->rows[low - 1] : NULL;
}

static bool read_word(const struct walk *walk, uint64_t address, uint64_t *value)
{
	return !(address & (WORD - 1)) && walk->read(walk->user, address, value);
}

/* To the caller, whose stack pointer that is behind the return address. */
static bool go_to(struct walk *walk, uint64_t begin, uint64_t frame)
{
	struct unwind_state *state = &walk->state;
	uint64_t pc;

	/* Stacks go on upwards. */
	if (begin <= state->stack || !read_word(walk, begin - WORD, &pc))
		return false;
	state->pc = walk->translate(pc);
	state->stack = begin;
	state->frame = frame;
	state->exact = false;
	return state->pc != 0;
}

static bool go_by_frame_pointer(struct walk *walk)
{
	uint64_t frame = walk->state.frame, next;

	return frame >= walk->state.stack && read_word(walk, frame, &next) &&
			go_to(walk, frame + 2 * WORD, next);
}

static bool go_out_of_signal(struct walk *walk)
{
	struct unwind_state *state = &walk->state;
	uint64_t from = state->stack;

	state->exact = true;
	return read_word(walk, from + SIGNAL_PROGRAM_COUNTER, &state->pc) &&
			read_word(walk, from + SIGNAL_STACK_POINTER, &state->stack) &&
			read_word(walk, from + SIGNAL_FRAME_POINTER, &state->frame) && state->pc;
}

static bool find_begin(struct walk *walk, const struct unwind_row *row, uint64_t *begin)
{
	const struct unwind_state *state = &walk->state;
	uint64_t distance = (uint64_t)(int64_t)row->distance * WORD;

	switch (row->kind) {
	case UNWIND_STACK: *begin = state->stack + distance; return true;
	case UNWIND_FRAME: *begin = state->frame + distance; return true;
	case UNWIND_SAVED: return read_word(walk, state->frame + distance, begin);
	case UNWIND_SLOT:
		*begin = state->stack + WORD +
				((state->pc & 15) >= (uint64_t)row->distance ? WORD : 0);
		return true;
	default: return false;
	}
}

static bool go_by_row(struct walk *walk, const struct unwind_row *row)
{
	uint64_t begin, frame = walk->state.frame;

	if (!find_begin(walk, row, &begin))
		return false;
	/* Who needs it, and it is not there, finds nothing at 0. */
	if (row->frame == UNWIND_FRAME_ITSELF) {
		if (!read_word(walk, frame, &frame))
			frame = 0;
	} else if (row->frame == UNWIND_FRAME_LOST) {
		frame = 0;
	} else if (row->frame != UNWIND_FRAME_SAME &&
			!read_word(walk, begin - (uint64_t)row->frame * WORD, &frame)) {
		frame = 0;
	}
	return go_to(walk, begin, frame);
}

/* At the begin of a function, of which nothing is known but that it was called. */
static bool is_called(const struct walk *walk, uint32_t nr)
{
	return !nr && walk->state.exact;
}

static bool go_up(struct walk *walk, uint32_t nr)
{
	const struct unwind_state *state = &walk->state;
	const struct unwind_row *row =
			find_row(walk->modules, state->exact ? state->pc : state->pc - 1);

	if (!row || row->kind == UNWIND_UNKNOWN)
		return is_called(walk, nr) ? go_to(walk, state->stack + WORD, state->frame)
					   : go_by_frame_pointer(walk);
	if (row->kind == UNWIND_LAST)
		return false;
	return row->kind == UNWIND_SIGNAL ? go_out_of_signal(walk) : go_by_row(walk, row);
}

uint32_t unwind_walk(const struct unwind_modules *modules, struct unwind_state state,
		unwind_read read, unwind_translate translate, void *user, uint64_t *to,
		uint32_t most)
{
	struct walk walk = {modules, read, translate, user, state};
	uint32_t nr = 0;

	/* A return is where it goes on, so that is the first one itself. */
	if (!state.exact && most)
		to[nr++] = state.pc;
	while (nr < most && go_up(&walk, nr))
		to[nr++] = walk.state.pc;
	return nr;
}
