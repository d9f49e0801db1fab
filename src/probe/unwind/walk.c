/* SPDX-License-Identifier: MIT */
/*
 * Walks the stack from frame to frame. Compiled for general registers only, like all code that a
 * hit calls.
 *
 * Searching for a row among hundreds of thousands takes longer than all the remaining work, and
 * programs repeat their call paths. So rows that were found are cached by their address. Each cache
 * word is complete in itself: one atomic load decides whether the word belongs to the address, and
 * yields the row.
 *
 * Whole steps are cached too, if the caller has memory for them that no other walk uses meanwhile.
 * A step depends on the frame, the rows, the return address and the saved frame pointer. Each use
 * compares these values or reads them again, so an outdated step is never used.
 */
#include "unwind.h"
#include "base/inside/search.h"

#define WORD 8

/*
 * Offsets in the frame that the kernel writes before it calls a signal handler (struct ucontext).
 */
#define SIGNAL_FRAME_POINTER 120
#define SIGNAL_STACK_POINTER 160
#define SIGNAL_PROGRAM_COUNTER 168

/* Inlined into the loop, so that the state stays in registers. */
#define IN_LOOP static inline __attribute__((always_inline))

const struct unwind_module *unwind_find_module(
		const struct unwind_modules *modules, uint64_t address)
{
	size_t low = search_leading(i, modules->nr, modules->modules[i].start <= address);

	if (!low || address >= modules->modules[low - 1].end)
		return NULL;
	return &modules->modules[low - 1];
}

static __attribute__((noinline)) struct unwind_row walk_search_row(
		const struct unwind_modules *modules, uint64_t address)
{
	const struct unwind_module *module = unwind_find_module(modules, address);
	size_t low = search_leading(i, module ? module->nr_rows : 0,
			module->rows[i].at <= address - module->start);

	return low ? module->rows[low - 1] : (struct unwind_row){.kind = UNWIND_UNKNOWN};
}

/*
 * A cache word: the bits of the address that its index does not determine; distance, frame, kind;
 * and a bit that is always set, so that the word is not 0.
 */
#define PAGE_OFFSET_BITS 12
#define TAG_SHIFT 28
#define DISTANCE_SHIFT 12
#define FRAME_SHIFT 4
#define KIND_SHIFT 1
#define ADDRESS_BITS 48

_Static_assert(UNWIND_KNOWN == 1 << PAGE_OFFSET_BITS &&
				ADDRESS_BITS - PAGE_OFFSET_BITS == 64 - TAG_SHIFT,
		"no two addresses have the same place and the same rest");

IN_LOOP struct unwind_row walk_find_row(const struct unwind_modules *modules, uint64_t address)
{
	uint64_t remainder = address >> PAGE_OFFSET_BITS, known;
	struct unwind_row row;
	uint64_t *word;

	if (__builtin_expect(!modules->known || address >> ADDRESS_BITS, 0))
		return walk_search_row(modules, address);
	word = &modules->known[(address ^ remainder ^ remainder >> PAGE_OFFSET_BITS) %
			UNWIND_KNOWN];
	/*
	 * Relaxed: the word is complete in itself, and orders no other memory. It pairs with the
	 * store at the end of this function, in any thread.
	 */
	known = __atomic_load_n(word, __ATOMIC_RELAXED);
	if (__builtin_expect(known >> TAG_SHIFT == remainder && known, 1))
		return (struct unwind_row){.distance = (int16_t)(known >> DISTANCE_SHIFT),
				.frame = (uint8_t)(known >> FRAME_SHIFT),
				.kind = known >> KIND_SHIFT & 7};
	row = walk_search_row(modules, address);
	known = remainder << TAG_SHIFT | (uint64_t)(uint16_t)row.distance << DISTANCE_SHIFT |
			(uint64_t)row.frame << FRAME_SHIFT | (uint64_t)row.kind << KIND_SHIFT | 1;
	__atomic_store_n(word, known, __ATOMIC_RELAXED);
	return row;
}

IN_LOOP bool walk_read_word(
		const struct unwind_walk_state *walk, uint64_t address, uint64_t *ret_value)
{
	const struct unwind_memory *memory = walk->memory;

	if (address & (WORD - 1))
		return false;
	if (__builtin_expect(address - memory->low < memory->high - memory->low, 1)) {
		*ret_value = *(const volatile uint64_t *)(uintptr_t)address;
		return true;
	}
	return memory->read(memory->user, address, ret_value);
}

/* Goes to the caller; `base` is its stack pointer, directly above the return address. */
IN_LOOP bool walk_to_caller(struct unwind_walk_state *walk, uint64_t base, uint64_t frame)
{
	struct unwind_state *state = &walk->state;
	uint64_t pc;

	/* Stacks grow downwards, so each caller is at a higher address. */
	if (base <= state->stack || !walk_read_word(walk, base - WORD, &pc))
		return false;
	state->pc = walk->translate(pc);
	state->stack = base;
	state->frame = frame;
	state->exact = false;
	return state->pc != 0;
}

IN_LOOP bool walk_is_return_address(const struct unwind_walk_state *walk, uint64_t address)
{
	return !walk->memory->read_code ||
			unwind_is_return_address(walk->modules, walk->memory, address);
}

/* The frame pointer may be any number: it must lead to a higher part of the same stack. */
IN_LOOP bool walk_is_frame(const struct unwind_walk_state *walk, uint64_t frame)
{
	const struct unwind_memory *memory = walk->memory;
	uint64_t stack = walk->state.stack;

	return frame >= stack &&
			(frame < memory->stack_end || stack < memory->low ||
					stack >= memory->stack_end);
}

IN_LOOP bool walk_by_frame_pointer(struct unwind_walk_state *walk)
{
	uint64_t frame = walk->state.frame, next;

	return walk_is_frame(walk, frame) && walk_read_word(walk, frame, &next) &&
			walk_to_caller(walk, frame + 2 * WORD, next) &&
			walk_is_return_address(walk, walk->state.pc);
}

IN_LOOP bool walk_out_of_signal(struct unwind_walk_state *walk)
{
	struct unwind_state *state = &walk->state;
	uint64_t from = state->stack;

	state->exact = true;
	return walk_read_word(walk, from + SIGNAL_PROGRAM_COUNTER, &state->pc) &&
			walk_read_word(walk, from + SIGNAL_STACK_POINTER, &state->stack) &&
			walk_read_word(walk, from + SIGNAL_FRAME_POINTER, &state->frame) &&
			state->pc;
}

IN_LOOP bool walk_find_base(
		struct unwind_walk_state *walk, const struct unwind_row *row, uint64_t *ret_base)
{
	const struct unwind_state *state = &walk->state;
	uint64_t distance = (uint64_t)(int64_t)row->distance * WORD;

	switch (row->kind) {
	case UNWIND_STACK: *ret_base = state->stack + distance; return true;
	case UNWIND_FRAME: *ret_base = state->frame + distance; return true;
	case UNWIND_SAVED: return walk_read_word(walk, state->frame + distance, ret_base);
	case UNWIND_SLOT:
		*ret_base = state->stack + WORD +
				((state->pc & 15) >= (uint64_t)row->distance ? WORD : 0);
		return true;
	default: return false;
	}
}

IN_LOOP bool walk_by_row(struct unwind_walk_state *walk, const struct unwind_row *row)
{
	uint64_t base, frame = walk->state.frame;

	if (!walk_find_base(walk, row, &base))
		return false;
	/*
	 * If the frame pointer is not known, it becomes 0: a later rule that needs it then reads
	 * nothing.
	 */
	if (row->frame == UNWIND_FRAME_ITSELF) {
		if (!walk_read_word(walk, frame, &frame))
			frame = 0;
	} else if (row->frame == UNWIND_FRAME_LOST) {
		frame = 0;
	} else if (row->frame != UNWIND_FRAME_SAME &&
			!walk_read_word(walk, base - (uint64_t)row->frame * WORD, &frame)) {
		frame = 0;
	}
	return walk_to_caller(walk, base, frame);
}

/*
 * Whether the walk is at the start of a function without a row: the return address is at the top of
 * the stack. Only the first address may be there.
 */
IN_LOOP bool walk_is_at_entry(const struct unwind_walk_state *walk, uint32_t nr)
{
	uint64_t word;

	return !nr && walk->state.exact && walk_read_word(walk, walk->state.stack, &word) &&
			walk_is_return_address(walk, walk->translate(word));
}

IN_LOOP bool walk_up(struct unwind_walk_state *walk, uint32_t nr)
{
	const struct unwind_state *state = &walk->state;
	struct unwind_row row =
			walk_find_row(walk->modules, state->exact ? state->pc : state->pc - 1);

	if (row.kind == UNWIND_UNKNOWN)
		return walk_is_at_entry(walk, nr)
				? walk_to_caller(walk, state->stack + WORD, state->frame)
				: walk_by_frame_pointer(walk);
	if (row.kind == UNWIND_LAST)
		return false;
	return row.kind == UNWIND_SIGNAL ? walk_out_of_signal(walk) : walk_by_row(walk, &row);
}

/* ---- cached steps ---- */

IN_LOOP bool walk_is_readable(const struct unwind_memory *memory, uint64_t address)
{
	return address - memory->low < memory->high - memory->low;
}

IN_LOOP uint64_t walk_load_word(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

/*
 * Most frames begin at a multiple of 16, so the frames of one walk rarely have the same index. A
 * frame that makes several calls in turn has several indexes, by the return address.
 */
IN_LOOP uint32_t walk_place_step(uint64_t pc, uint64_t stack)
{
	return (uint32_t)((pc ^ pc >> 2) % UNWIND_STEPS_CALLS * UNWIND_STEPS_FRAMES +
			(stack >> 4 ^ stack >> 11) % UNWIND_STEPS_FRAMES);
}

/*
 * Completes the rules for the frame pointer. Returns false if the step depends on more words: on a
 * signal's frame, or on a saved base.
 */
static bool walk_describe_step(const struct unwind_row *row, struct unwind_step *step)
{
	if (row->kind != UNWIND_UNKNOWN && row->kind != UNWIND_STACK && row->kind != UNWIND_FRAME &&
			row->kind != UNWIND_SLOT)
		return false;
	if (row->kind == UNWIND_UNKNOWN || row->frame == UNWIND_FRAME_ITSELF)
		step->slot = step->frame;
	else if (row->frame == UNWIND_FRAME_SAME)
		step->keep = -1;
	else if (row->frame != UNWIND_FRAME_LOST)
		step->slot = step->next_stack - (uint64_t)row->frame * WORD;
	if (row->kind == UNWIND_UNKNOWN || row->kind == UNWIND_FRAME ||
			row->frame == UNWIND_FRAME_ITSELF)
		step->depends = -1;
	return true;
}

/* An unfinished step has no caller, so no walk uses it. */
IN_LOOP struct unwind_step *walk_begin_step(const struct unwind_walk_state *walk)
{
	const struct unwind_state *from = &walk->state;
	struct unwind_step *step =
			&walk->memory->steps->steps[walk_place_step(from->pc, from->stack)];

	*step = (struct unwind_step){.pc = from->pc, .stack = from->stack, .frame = from->frame};
	return step;
}

/*
 * Whether a plain load can read both words of a step. The stack must contain the return address
 * itself, because a translated address depends on other memory, too.
 */
IN_LOOP bool walk_can_keep(const struct unwind_memory *memory, const struct unwind_step *step)
{
	return walk_is_readable(memory, step->next_stack - WORD) &&
			walk_load_word(step->next_stack - WORD) == step->next_pc &&
			step->slot % WORD == 0 &&
			(!step->slot || walk_is_readable(memory, step->slot));
}

/* Completes a step in the table, without a copy: a hit has little stack. */
static __attribute__((noinline)) void walk_keep_step(
		const struct unwind_walk_state *walk, struct unwind_step *step)
{
	const struct unwind_state *next = &walk->state;
	struct unwind_row row = walk_find_row(walk->modules, step->pc - 1);

	step->next_pc = next->pc;
	step->next_stack = next->stack;
	step->next = walk_place_step(next->pc, next->stack);
	if (!walk_describe_step(&row, step) || !walk_can_keep(walk->memory, step))
		step->next_stack = 0;
}

IN_LOOP bool walk_is_step(const struct unwind_memory *memory, const struct unwind_state *state,
		const struct unwind_step *step)
{
	return step->stack == state->stack && step->pc == state->pc &&
			!((step->frame ^ state->frame) & (uint64_t)step->depends) &&
			walk_is_readable(memory, step->next_stack - WORD) &&
			walk_load_word(step->next_stack - WORD) == step->next_pc &&
			(!step->slot || walk_is_readable(memory, step->slot));
}

/* A step from an exact address is not cached: the step is the first one, or follows a signal. */
IN_LOOP bool walk_has_steps(const struct unwind_walk_state *walk)
{
	return walk->memory->steps && !walk->state.exact;
}

/*
 * Follows cached steps up to the address `until`, or until a step is missing. Returns the number of
 * results. If `ret_addresses` is NULL, it only counts the results.
 */
IN_LOOP uint32_t walk_by_steps(struct unwind_walk_state *walk, uint64_t until,
		uint64_t *ret_addresses, uint32_t nr, uint32_t max)
{
	/* Copies, which the compiler keeps in registers. */
	const struct unwind_memory memory = *walk->memory;
	struct unwind_state state = walk->state;
	uint32_t place = walk_place_step(state.pc, state.stack);

	while (nr < max && state.pc != until) {
		const struct unwind_step *step = &memory.steps->steps[place];

		if (!walk_is_step(&memory, &state, step))
			break;
		state.pc = step->next_pc;
		state.stack = step->next_stack;
		place = step->next;
		state.frame = step->slot ? walk_load_word(step->slot)
					 : state.frame & (uint64_t)step->keep;
		if (ret_addresses)
			ret_addresses[nr] = state.pc;
		nr++;
	}
	walk->state = state;
	return nr;
}

/*
 * A hit has little stack. So the functions that need most of it are called in turn, not from each
 * other.
 */
static __attribute__((noinline)) bool walk_up_apart(struct unwind_walk_state *walk, uint32_t nr)
{
	return walk_up(walk, nr);
}

static __attribute__((noinline)) uint32_t walk_by_steps_apart(
		struct unwind_walk_state *walk, uint64_t *ret_addresses, uint32_t nr, uint32_t max)
{
	return walk_by_steps(walk, 0, ret_addresses, nr, max);
}

/* Makes a step and adds it to the cache. */
IN_LOOP bool walk_next_kept(struct unwind_walk_state *walk, uint32_t nr)
{
	struct unwind_step *step = walk->state.exact ? NULL : walk_begin_step(walk);

	if (!walk_up_apart(walk, nr))
		return false;
	if (step)
		walk_keep_step(walk, step);
	return true;
}

IN_LOOP bool walk_next(struct unwind_walk_state *walk, uint32_t nr)
{
	return walk->memory->steps ? walk_next_kept(walk, nr) : walk_up_apart(walk, nr);
}

static __attribute__((noinline)) uint32_t walk_collect_by_steps(
		struct unwind_walk_state *walk, uint64_t *ret_addresses, uint32_t nr, uint32_t max)
{
	while (nr < max) {
		uint32_t before = nr;

		if (walk_has_steps(walk))
			nr = walk_by_steps_apart(walk, ret_addresses, nr, max);
		if (nr != before)
			continue;
		if (!walk_next_kept(walk, nr))
			break;
		ret_addresses[nr++] = walk->state.pc;
	}
	return nr;
}

static __attribute__((noinline)) uint32_t walk_collect_by_rows(
		struct unwind_walk_state *walk, uint64_t *ret_addresses, uint32_t nr, uint32_t max)
{
	while (nr < max && walk_up(walk, nr))
		ret_addresses[nr++] = walk->state.pc;
	return nr;
}

IN_LOOP uint32_t walk_collect(
		struct unwind_walk_state *walk, uint64_t *ret_addresses, uint32_t nr, uint32_t max)
{
	return walk->memory->steps ? walk_collect_by_steps(walk, ret_addresses, nr, max)
				   : walk_collect_by_rows(walk, ret_addresses, nr, max);
}

uint32_t unwind_walk_in(struct unwind_walk_state *walk, uint64_t *ret_addresses, uint32_t max)
{
	uint32_t nr = 0;

	/* If the state is a return address, that is the first result. */
	if (!walk->state.exact && max)
		ret_addresses[nr++] = walk->state.pc;
	return walk_collect(walk, ret_addresses, nr, max);
}

uint32_t unwind_walk(const struct unwind_modules *modules, const struct unwind_state *state,
		const struct unwind_memory *memory, unwind_translate translate,
		uint64_t *ret_addresses, uint32_t max)
{
	struct unwind_walk_state walk = {modules, memory, translate, *state};

	return unwind_walk_in(&walk, ret_addresses, max);
}

static bool walk_is_hidden(const struct unwind_passed *passed, uint64_t address)
{
	for (size_t i = 0; i < passed->nr_hidden; i++)
		if (address - passed->hidden[i].start <
				passed->hidden[i].end - passed->hidden[i].start)
			return true;
	return false;
}

/* Only the first step of a walk may be at the start of a function. */
#define WALK_LATER 1

static bool walk_until(struct unwind_walk_state *walk, uint64_t until)
{
	for (uint32_t nr = 0; walk->state.pc != until; nr++) {
		if (walk_has_steps(walk))
			nr = walk_by_steps(walk, until, NULL, nr, UNWIND_PASSED_MAX);
		if (walk->state.pc == until)
			break;
		if (nr == UNWIND_PASSED_MAX || !walk_next(walk, WALK_LATER))
			return false;
	}
	return true;
}

uint32_t unwind_walk_past(const struct unwind_modules *modules, const struct unwind_state *state,
		const struct unwind_memory *memory, unwind_translate translate,
		const struct unwind_passed *passed, uint64_t *ret_addresses, uint32_t max)
{
	struct unwind_walk_state walk = {modules, memory, translate, *state};
	uint32_t nr = 0;

	if (!walk_until(&walk, passed->until))
		return 0;
	while (walk_is_hidden(passed, walk.state.pc))
		if (!(walk_has_steps(&walk) && walk_by_steps(&walk, 0, NULL, 0, 1)) &&
				!walk_next(&walk, WALK_LATER))
			return 0;
	if (max)
		ret_addresses[nr++] = walk.state.pc;
	if (walk_has_steps(&walk))
		nr = walk_by_steps(&walk, 0, ret_addresses, nr, max);
	return nr < max ? walk_collect(&walk, ret_addresses, nr, max) : nr;
}
