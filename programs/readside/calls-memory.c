/* SPDX-License-Identifier: MIT */
/* Stores what is known of the registers and the frame at one instruction of a function. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

const struct calls_value calls_unknown = {.kind = KNOWN_BYTES};

static uint8_t calls_memory_mask(unsigned int size)
{
	return size >= 8 ? 0xff : (uint8_t)((1u << size) - 1);
}

struct calls_value calls_constant(uint64_t number, unsigned int size)
{
	return (struct calls_value){KNOWN_BYTES, calls_memory_mask(size), (int64_t)number};
}

bool calls_is_constant(const struct calls_value *value, unsigned int size)
{
	uint8_t mask = calls_memory_mask(size);

	return value->kind == KNOWN_BYTES && (value->mask & mask) == mask;
}

/* Unknown bytes are zero, so that equal values can be compared. */
static uint64_t calls_memory_expand_mask(uint8_t mask)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < 8; i++)
		if (mask & (1u << i))
			bits |= 0xffull << (8 * i);
	return bits;
}

/* ---- the frame ---- */

static size_t calls_memory_frame_size(const struct calls_state *state)
{
	return (size_t)(state->below + state->above);
}

size_t calls_state_size(const struct calls_state *state)
{
	return sizeof(*state) + 2 * calls_memory_frame_size(state);
}

struct calls_state *calls_state_new(int64_t below, int64_t above)
{
	struct calls_state *state = calloc(1, sizeof(*state) + 2 * (size_t)(below + above));

	if (!state)
		return NULL;
	state->below = below;
	state->above = above;
	state->registers[CALLS_RSP].kind = KNOWN_STACK;
	state->registers[CALLS_RDI].kind = KNOWN_FIRST;
	return state;
}

static bool calls_memory_in_frame(const struct calls_state *state, int64_t at, unsigned int size)
{
	return at >= -state->below && at <= state->above - (int64_t)size;
}

struct calls_value calls_load(const struct calls_state *state, int64_t at, unsigned int size)
{
	struct calls_value value = calls_unknown;
	uint64_t number = 0;

	if (!calls_memory_in_frame(state, at, size))
		return value;
	for (unsigned int i = 0; size == 8 && i < state->nr_pointers; i++)
		if (state->pointers[i].at == at)
			return state->pointers[i].value;
	for (unsigned int i = 0; i < size; i++) {
		size_t offset = (size_t)(at + state->below) + i;

		if (!state->bytes[calls_memory_frame_size(state) + offset])
			continue;
		value.mask |= (uint8_t)(1u << i);
		number |= (uint64_t)state->bytes[offset] << (8 * i);
	}
	value.number = (int64_t)number;
	return value;
}

void calls_forget(struct calls_state *state, int64_t from, int64_t to)
{
	if (from < -state->below)
		from = -state->below;
	if (to > state->above)
		to = state->above;
	if (from >= to)
		return;
	memset(state->bytes + calls_memory_frame_size(state) + (size_t)(from + state->below), 0,
			(size_t)(to - from));
	for (unsigned int i = 0; i < state->nr_pointers;) {
		if (state->pointers[i].at + 8 > from && state->pointers[i].at < to)
			state->pointers[i] = state->pointers[--state->nr_pointers];
		else
			i++;
	}
}

void calls_forget_all(struct calls_state *state)
{
	calls_forget(state, -state->below, state->above);
}

void calls_store(struct calls_state *state, int64_t at, unsigned int size, struct calls_value value)
{
	calls_forget(state, at, at + (int64_t)size);
	if (!calls_memory_in_frame(state, at, size))
		return;
	if (value.kind != KNOWN_BYTES) {
		if (size == 8 && state->nr_pointers < CALLS_POINTERS) {
			state->pointers[state->nr_pointers].at = at;
			state->pointers[state->nr_pointers++].value = value;
		}
		return;
	}
	for (unsigned int i = 0; i < size; i++) {
		size_t offset = (size_t)(at + state->below) + i;

		if (!(value.mask & (1u << i)))
			continue;
		state->bytes[offset] = (uint8_t)((uint64_t)value.number >> (8 * i));
		state->bytes[calls_memory_frame_size(state) + offset] = 1;
	}
}

/* ---- merging of two paths ---- */

static bool calls_memory_is_frame(const struct calls_value *value)
{
	return value->kind == KNOWN_STACK || value->kind == KNOWN_ABOVE;
}

static bool calls_memory_merge_value(
		struct calls_value *to, const struct calls_value *other, int64_t lowest)
{
	struct calls_value old = *to;

	if (calls_memory_is_frame(to) || calls_memory_is_frame(other)) {
		int64_t number = lowest;

		if (to->kind == KNOWN_STACK && other->kind == KNOWN_STACK &&
				to->number == other->number)
			return false;
		/* A number that decreases once may decrease in each iteration of a loop. */
		if (to->kind == KNOWN_STACK && calls_memory_is_frame(other))
			number = to->number < other->number ? to->number : other->number;
		else if (to->kind == KNOWN_ABOVE && calls_memory_is_frame(other) &&
				other->number >= to->number)
			number = to->number;
		*to = (struct calls_value){KNOWN_ABOVE, 0, number};
	} else if (to->kind != other->kind) {
		*to = calls_unknown;
	} else if (to->kind == KNOWN_BYTES) {
		uint8_t mask = to->mask & other->mask;

		for (unsigned int i = 0; i < 8; i++)
			if ((((uint64_t)to->number ^ (uint64_t)other->number) >> (8 * i)) & 0xff)
				mask &= (uint8_t) ~(1u << i);
		to->mask = mask;
		to->number = (int64_t)((uint64_t)to->number & calls_memory_expand_mask(mask));
		return mask != old.mask;
	}
	return old.kind != to->kind || old.mask != to->mask || old.number != to->number;
}

static bool calls_memory_merge_pointers(struct calls_state *to, const struct calls_state *other)
{
	bool less = false;

	for (unsigned int i = 0; i < to->nr_pointers;) {
		struct calls_value there = calls_load(other, to->pointers[i].at, 8);

		less |= calls_memory_merge_value(&to->pointers[i].value, &there, -to->below);
		if (to->pointers[i].value.kind == KNOWN_BYTES)
			to->pointers[i] = to->pointers[--to->nr_pointers];
		else
			i++;
	}
	/*
	 * An address of the frame that is known only on the other path is still one of the frame.
	 */
	for (unsigned int i = 0; i < other->nr_pointers; i++) {
		bool has = false;

		for (unsigned int k = 0; k < to->nr_pointers && !has; k++)
			has = to->pointers[k].at == other->pointers[i].at;
		if (has || !calls_memory_is_frame(&other->pointers[i].value))
			continue;
		if (to->nr_pointers == CALLS_POINTERS) {
			less |= !to->escaped;
			to->escaped = true;
			continue;
		}
		calls_store(to, other->pointers[i].at, 8,
				(struct calls_value){KNOWN_ABOVE, 0, -to->below});
		less = true;
	}
	return less;
}

bool calls_meet(struct calls_state *to, const struct calls_state *other)
{
	size_t space = calls_memory_frame_size(to);
	bool less = !to->escaped && other->escaped;

	to->escaped |= other->escaped;
	for (unsigned int i = 0; i < CALLS_REGISTERS; i++) {
		less |= calls_memory_merge_value(
				&to->registers[i], &other->registers[i], -to->below);
		less |= calls_memory_merge_value(
				&to->vectors[i][0], &other->vectors[i][0], -to->below);
		less |= calls_memory_merge_value(
				&to->vectors[i][1], &other->vectors[i][1], -to->below);
	}
	for (size_t i = 0; i < space; i++) {
		if (to->bytes[space + i] &&
				(!other->bytes[space + i] || to->bytes[i] != other->bytes[i])) {
			to->bytes[space + i] = 0;
			less = true;
		}
	}
	return calls_memory_merge_pointers(to, other) || less;
}

bool calls_leave_frame(struct calls_state *state)
{
	size_t space = calls_memory_frame_size(state);
	bool less = state->nr_pointers || memchr(state->bytes + space, 1, space);

	for (unsigned int i = 0; i < CALLS_REGISTERS; i++) {
		struct calls_value *value = &state->registers[i];

		state->vectors[i][0] = state->vectors[i][1] = calls_unknown;
		/*
		 * RBP is a frame pointer if it has the value that the start of a function gives it.
		 */
		if (i == CALLS_RSP ||
				(i == CALLS_RBP && value->kind == KNOWN_STACK &&
						value->number == -8))
			continue;
		less |= value->kind != KNOWN_BYTES || value->mask;
		*value = calls_unknown;
	}
	calls_forget_all(state);
	less |= !state->escaped;
	state->escaped = true;
	return less;
}
