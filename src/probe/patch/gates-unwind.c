/* SPDX-License-Identifier: MIT */
/*
 * Completes the unwind data of gates. Every unwinder of the process finds it, present or future,
 * because it is in the .eh_frame of this object (x86-64-gates.S). The rules need addresses that are
 * known only at run time, so they are written there before the first exit is watched.
 *
 * The frame of a gate is between the watched function and its caller. It begins where the caller's
 * stack pointer is, so _Unwind_GetCFA() returns the same as without the gate. libgcc tells frames
 * apart by that address and by whether the next inner one is a signal frame. So the gate's frame is
 * a signal frame. Unwinders then look the caller up by the exact address, not by the byte before
 * it. Therefore the rules give the byte before the return address: an address within the call.
 */
#include "parts.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define TABLE_HEAD 12
/*
 * Bytes before the rules: length, distance to the CIE, begin, length of the code, no augmentation.
 */
#define ENTRY_HEAD 17
#define ENTRY_RANGE 12

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

static const Elf64_Phdr *gate_unwind_program_header(unsigned int index)
{
	return (const Elf64_Phdr *)(const void *)((const char *)&__ehdr_start +
			       __ehdr_start.e_phoff) +
			index;
}

/*
 * Addresses in the headers are relative to the file in a library, and absolute in a program with
 * fixed addresses.
 */
static uintptr_t gate_unwind_segment_address(const Elf64_Phdr *part)
{
	return (__ehdr_start.e_type == ET_DYN ? (uintptr_t)&__ehdr_start : 0) + part->p_vaddr;
}

static const uint8_t *gate_unwind_find_table(void)
{
	/* The form that all linkers write: a table of 4-byte distances from its begin. */
	static const uint8_t form[] = {1, 0x1b, 0x03, 0x3b};

	for (unsigned int i = 0; i < __ehdr_start.e_phnum; i++) {
		const uint8_t *table = (const uint8_t *)gate_unwind_segment_address(
				gate_unwind_program_header(i));

		if (gate_unwind_program_header(i)->p_type == PT_GNU_EH_FRAME &&
				!memcmp(table, form, sizeof(form)))
			return table;
	}
	return NULL;
}

/* The entry of x86-64-gates.S; NULL: the linker has changed it. */
static uint8_t *gate_unwind_find_entry(uint64_t begin)
{
	const uint8_t *table = gate_unwind_find_table();
	uint32_t count, length;

	if (!table)
		return NULL;
	memcpy(&count, table + 8, sizeof(count));
	for (uint32_t i = 0; i < count; i++) {
		int32_t row[2];
		uint8_t *entry;

		memcpy(row, table + TABLE_HEAD + (size_t)i * sizeof(row), sizeof(row));
		if ((uintptr_t)table + (uintptr_t)(intptr_t)row[0] != begin)
			continue;
		entry = (uint8_t *)((uintptr_t)table + (uintptr_t)(intptr_t)row[1]);
		memcpy(&length, entry, sizeof(length));
		return length + 4 >= ENTRY_HEAD + GATES_RULES_BYTES ? entry : NULL;
	}
	return NULL;
}

/* Restores the rights of the segment that contains the entry. */
static void gate_unwind_restore_rights(const uint8_t *entry, size_t size)
{
	uintptr_t from = (uintptr_t)entry & ~(uintptr_t)(GATES_PAGE - 1),
		  to = (uintptr_t)entry + size;

	for (unsigned int i = 0; i < __ehdr_start.e_phnum; i++) {
		const Elf64_Phdr *part = gate_unwind_program_header(i);

		if (part->p_type == PT_LOAD &&
				(uintptr_t)entry - gate_unwind_segment_address(part) <
						part->p_memsz)
			(void)mprotect((void *)from,
					(to - from + GATES_PAGE - 1) & ~(uintptr_t)(GATES_PAGE - 1),
					(part->p_flags & PF_R ? PROT_READ : 0) |
							(part->p_flags & PF_W ? PROT_WRITE : 0) |
							(part->p_flags & PF_X ? PROT_EXEC : 0));
	}
}

int patch_gates_publish(const struct patch_return *returns, uint32_t count)
{
	uint64_t first = (uintptr_t)patch_gates + GATES_PAGE;
	const uint32_t range = 1 + count * RETURN_BYTES;
	uint8_t rules[GATES_RULES_BYTES] = {0}, *entry = gate_unwind_find_entry(first - 1);
	struct patch_writer writer;
	int ret;

	if (!entry || patch_frames_gates(rules, first, returns) > sizeof(rules))
		return -ENOTSUP;
	patch_writer_open(&writer);
	ret = patch_write(&writer, (uintptr_t)entry + ENTRY_HEAD, rules, sizeof(rules));
	/* Written last: it makes unwinders read the rules. */
	if (!ret)
		ret = patch_write(&writer, (uintptr_t)entry + ENTRY_RANGE, &range, sizeof(range));
	if (writer.memory < 0)
		gate_unwind_restore_rights(entry, ENTRY_HEAD + sizeof(rules));
	writer.page = writer.memory < 0 ? 0 : writer.page;
	patch_writer_close(&writer);
	return ret;
}
