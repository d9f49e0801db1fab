/* SPDX-License-Identifier: MIT */
/*
 * Finds instructions that are reachable from the entry of a file, for files that name no function:
 * nothing else shows where an instruction starts. The walk follows branches, calls, addresses that
 * `lea` takes, and pointers that the loader relocates. Everything that it finds is code, but it
 * does not find all code.
 */
#include "parts.h"
#include "x86-64.h"

#include <errno.h>
#include <stdlib.h>

struct reach_walk {
	struct code_file *file;
	uint64_t *waiting; /* addresses that were not followed yet */
	size_t count, capacity;
};

static int reach_add(struct reach_walk *walk, uint64_t address)
{
	uint64_t *waiting;

	if (!code_executable(walk->file, address))
		return 0;
	waiting = code_grow(walk->waiting, walk->count, &walk->capacity, sizeof(*waiting));
	if (!waiting)
		return -ENOMEM;
	walk->waiting = waiting;
	waiting[walk->count++] = address;
	return 0;
}

/* Returns true if it was not marked before. */
static bool reach_mark(const struct code_file *file, uint64_t address)
{
	struct code_segment *segment = code_executable(file, address);
	uint64_t at = segment ? address - segment->address : 0;
	bool is_new = segment && segment->reachable &&
			!(segment->reachable[at / 8] >> (at % 8) & 1);

	if (is_new)
		segment->reachable[at / 8] |= (uint8_t)(1u << (at % 8));
	return is_new;
}

static int reach_add_targets(
		struct reach_walk *walk, const struct x86_instruction *instruction, bool is_entry)
{
	switch (instruction->piece.kind) {
	case PROBE_BRANCH:
	case PROBE_BRANCH_IF:
	case PROBE_COUNTER:
	case PROBE_CALL: return reach_add(walk, instruction->piece.target);
	default: break;
	}
	if (instruction->lea && instruction->piece.field)
		return reach_add(walk, instruction->piece.target);
	/*
	 * At fixed addresses, the C library's entry code has the address of main() as a constant.
	 */
	if (is_entry && walk->file->fixed && instruction->constant)
		return reach_add(walk, instruction->constant);
	return 0;
}

/* Marks the instructions from an address to the first one that control does not continue after. */
static int reach_from(struct reach_walk *walk, uint64_t address, bool is_entry)
{
	while (reach_mark(walk->file, address)) {
		struct x86_instruction instruction;
		size_t size;
		const uint8_t *bytes = code_bytes(walk->file, address, &size);

		if (!bytes || !x86_decode(bytes, size, address, &instruction))
			return 0;
		if (reach_add_targets(walk, &instruction, is_entry))
			return -ENOMEM;
		if (instruction.ends)
			return 0;
		address += instruction.piece.length;
	}
	return 0;
}

static int reach_add_relocation(void *user, const struct code_relocation *relocation)
{
	struct reach_walk *walk = user;

	return code_executable(walk->file, relocation->address)
			? 0
			: reach_add(walk, relocation->target);
}

/* A walk that ran out of memory is incomplete: the next one starts again. */
static void reach_forget(struct code_file *file)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		free(file->segments[i].reachable);
		file->segments[i].reachable = NULL;
	}
}

static int reach_all(struct code_file *file)
{
	struct reach_walk walk = {.file = file};
	int ret = 0;

	for (size_t i = 0; i < file->nr_segments; i++) {
		struct code_segment *segment = &file->segments[i];

		if (!segment->executable)
			continue;
		segment->reachable = calloc(segment->size / 8 + 1, 1);
		if (!segment->reachable)
			ret = -ENOMEM;
	}
	if (!ret && code_executable(file, file->entry))
		ret = reach_from(&walk, file->entry, true);
	if (!ret)
		ret = code_each_relocation(file, reach_add_relocation, &walk);
	while (!ret && walk.count)
		ret = reach_from(&walk, walk.waiting[--walk.count], false);
	free(walk.waiting);
	if (ret)
		reach_forget(file);
	return ret;
}

int code_is_reachable(struct code_file *file, uint64_t address, bool *ret_is_reachable)
{
	const struct code_segment *segment = code_executable(file, address);
	int ret = 0;

	*ret_is_reachable = false;
	if (!segment)
		return 0;
	if (!file->has_reachable)
		ret = reach_all(file);
	if (ret)
		return ret;
	file->has_reachable = true;
	*ret_is_reachable = segment->reachable[(address - segment->address) / 8] >>
					((address - segment->address) % 8) &
			1;
	return 0;
}
