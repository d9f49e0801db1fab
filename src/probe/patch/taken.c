/* SPDX-License-Identifier: MIT */
/*
 * Finds which imported addresses the code of an object takes, other than to call them.
 *
 * Code that only calls a function cannot notice that its address was replaced. Code that reads the
 * address can compare it with one that it stored before: libcurl compares a callback with fread().
 *
 * The scan does not decode instructions. It takes each four bytes for a distance, and checks
 * whether it leads to a slot. Bytes that are no distance are thus rarely taken for a reference. The
 * slot is then left alone, which is safe.
 */
#include "probe/patch/taken.h"

#include <elf.h>
#include <string.h>

#define DISTANCE_BYTES 4u
#define OPCODE_BYTES 2u

/* call *distance(%rip), jmp *distance(%rip) */
static bool patch_taken_is_call(const uint8_t *distance)
{
	return distance[-2] == 0xff && (distance[-1] == 0x15 || distance[-1] == 0x25);
}

static struct patch_taken *patch_taken_at(struct patch_taken *slots, size_t nr, uintptr_t address)
{
	for (size_t i = 0; i < nr; i++)
		if (slots[i].slot == address)
			return &slots[i];
	return NULL;
}

static void patch_taken_scan(const uint8_t *code, size_t size, struct patch_taken *slots, size_t nr,
		uintptr_t first, uintptr_t last)
{
	for (size_t i = OPCODE_BYTES; i + DISTANCE_BYTES <= size; i++) {
		struct patch_taken *slot;
		uintptr_t address;
		int32_t distance;

		memcpy(&distance, code + i, sizeof(distance));
		/* An instruction with a constant behind the distance only compares with NULL. */
		address = (uintptr_t)(code + i + DISTANCE_BYTES) + (uintptr_t)(intptr_t)distance;
		if (address - first > last - first)
			continue;
		slot = patch_taken_at(slots, nr, address);
		if (slot && !patch_taken_is_call(code + i))
			slot->is_taken = true;
	}
}

void patch_taken_find(const struct dl_phdr_info *info, struct patch_taken *slots, size_t nr)
{
	uintptr_t first = UINTPTR_MAX, last = 0;

	for (size_t i = 0; i < nr; i++) {
		first = slots[i].slot < first ? slots[i].slot : first;
		last = slots[i].slot > last ? slots[i].slot : last;
	}
	for (unsigned int i = 0; nr && i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X) &&
				(header->p_flags & PF_R))
			patch_taken_scan((const uint8_t *)(info->dlpi_addr + header->p_vaddr),
					header->p_filesz, slots, nr, first, last);
	}
}
