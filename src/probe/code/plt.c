/* SPDX-License-Identifier: MIT */
/*
 * Reads the procedure linkage table (PLT): its entries forward the calls that the file makes of
 * functions in other files. An entry jumps to the address in a slot, and a relocation of the slot
 * names the function. Linkers lay out entries differently, so the entries are decoded.
 */
#include "parts.h"
#include "x86-64.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/search.h"

#define PLT_ENTRIES_MAX 65536
#define ENTRY_BYTES 16
#define ENTRY_INSTRUCTIONS 3 /* a landing mark, the number of the entry, and the jump */

struct plt_slot {
	uint64_t address;
	const char *name;
};

struct plt_reader {
	struct code_file *file;
	struct plt_slot *slots; /* in the order of their addresses */
	size_t nr_slots, slots_capacity;
	size_t nr_read; /* entries */
};

/* Returns the name of the function whose address the relocation writes, or NULL. */
static const char *plt_function(
		const struct code_file *file, const struct code_relocation *relocation)
{
	const struct code_function *function;

	if (relocation->type == R_X86_64_JUMP_SLOT || relocation->type == R_X86_64_GLOB_DAT)
		return relocation->name;
	if (relocation->type != R_X86_64_IRELATIVE)
		return NULL;
	function = code_function_at(file, relocation->target);
	return function && function->address == relocation->target ? code_name(file, function, 0)
								   : NULL;
}

static int plt_add_slot(void *user, const struct code_relocation *relocation)
{
	struct plt_reader *reader = user;
	const char *name = plt_function(reader->file, relocation);
	struct plt_slot *slots;

	if (!name)
		return 0;
	slots = code_grow(reader->slots, reader->nr_slots, &reader->slots_capacity, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	reader->slots = slots;
	slots[reader->nr_slots++] = (struct plt_slot){.address = relocation->address, .name = name};
	return 0;
}

static int plt_compare_slots(const void *one, const void *other)
{
	const struct plt_slot *left = one, *right = other;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* Returns the slot through which the entry jumps; 0: it jumps elsewhere. */
static uint64_t plt_find_slot(const struct code_file *file, uint64_t address, size_t entry_size)
{
	size_t size, at = 0;
	const uint8_t *bytes = code_bytes(file, address, &size);

	if (!bytes || size < entry_size)
		return 0;
	for (unsigned int i = 0; i < ENTRY_INSTRUCTIONS; i++) {
		struct x86_instruction instruction;

		if (!x86_decode(bytes + at, entry_size - at, address + at, &instruction))
			return 0;
		if (instruction.indirect_jump)
			return instruction.piece.field ? instruction.piece.target : 0;
		if (instruction.ends)
			return 0;
		at += instruction.piece.length;
	}
	return 0;
}

static const char *plt_slot_name(const struct plt_reader *reader, uint64_t slot)
{
	size_t low = search_leading(i, reader->nr_slots, reader->slots[i].address <= slot);

	return low && reader->slots[low - 1].address == slot ? reader->slots[low - 1].name : NULL;
}

static int plt_add_entry(struct code_file *file, uint64_t address, size_t size, const char *name)
{
	struct code_function *entries =
			code_grow(file->plt, file->nr_plt, &file->plt_capacity, sizeof(*entries));
	struct code_plt_name *names;

	if (!entries)
		return -ENOMEM;
	file->plt = entries;
	names = code_grow(file->plt_names, file->nr_plt, &file->plt_names_capacity, sizeof(*names));
	if (!names)
		return -ENOMEM;
	file->plt_names = names;
	if (asprintf(&names[file->nr_plt].full, "%s" CODE_PLT_SUFFIX, name) < 0)
		return -ENOMEM;
	names[file->nr_plt].plain = name;
	entries[file->nr_plt++] =
			(struct code_function){.address = address, .size = size, .nr_names = 1};
	return 0;
}

static int plt_read_section(struct plt_reader *reader, const struct code_section *section)
{
	struct code_file *file = reader->file;
	size_t entry_size = section->entry_size >= ENTRY_BYTES / 2 &&
					section->entry_size <= 2 * ENTRY_BYTES
			? section->entry_size
			: ENTRY_BYTES;
	int ret = 0;

	for (uint64_t at = 0; at + entry_size <= section->size && !ret &&
			code_executable(file, section->address + at) &&
			reader->nr_read < PLT_ENTRIES_MAX;
			at += entry_size) {
		const char *name = plt_slot_name(
				reader, plt_find_slot(file, section->address + at, entry_size));

		reader->nr_read++;
		if (name)
			ret = plt_add_entry(file, section->address + at, entry_size, name);
	}
	return ret;
}

int code_read_plt(struct code_file *file)
{
	struct plt_reader reader = {.file = file};
	int ret = code_each_relocation(file, plt_add_slot, &reader);

	if (reader.nr_slots)
		qsort(reader.slots, reader.nr_slots, sizeof(*reader.slots), plt_compare_slots);
	for (size_t i = 0; i < file->nr_sections && reader.nr_slots && !ret; i++) {
		if (!strncmp(file->sections[i].name, ".plt", 4))
			ret = plt_read_section(&reader, &file->sections[i]);
	}
	free(reader.slots);
	return ret;
}

void code_free_plt(struct code_file *file)
{
	for (size_t i = 0; i < file->nr_plt; i++)
		free(file->plt_names[i].full);
	free(file->plt_names);
	free(file->plt);
}

size_t code_plt(const struct code_file *file, const struct code_function **ret_entries)
{
	*ret_entries = file->plt;
	return file->nr_plt;
}

bool code_is_plt(const struct code_file *file, const struct code_function *function)
{
	uintptr_t distance = (uintptr_t)function - (uintptr_t)file->plt;

	return file->nr_plt && distance < file->nr_plt * sizeof(*function);
}

const char *code_plt_full_name(const struct code_file *file, const struct code_function *entry)
{
	return file->plt_names[entry - file->plt].full;
}

const char *code_plt_name(const struct code_file *file, const struct code_function *entry)
{
	return file->plt_names[entry - file->plt].plain;
}
