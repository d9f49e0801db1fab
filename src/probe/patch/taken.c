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

/* The result of a scan: `distance` of an instruction leads to the slot with this number. */
typedef void patch_taken_found(const uint8_t *distance, size_t slot, void *user);

struct taken_scan {
	const struct patch_taken *slots;
	size_t nr;
	uintptr_t first, last; /* of their addresses */
	patch_taken_found *found;
	void *user;
};

static void patch_taken_scan_code(
		const struct taken_scan *scan, const uint8_t *code, const uint8_t *end)
{
	const uint8_t *at = code + OPCODE_BYTES;

	for (; at + DISTANCE_BYTES <= end; at++) {
		uintptr_t address;
		int32_t distance;

		memcpy(&distance, at, sizeof(distance));
		/* An instruction with a constant behind the distance only compares with NULL. */
		address = (uintptr_t)(at + DISTANCE_BYTES) + (uintptr_t)(intptr_t)distance;
		if (address - scan->first > scan->last - scan->first)
			continue;
		for (size_t i = 0; i < scan->nr; i++)
			if (scan->slots[i].slot == address)
				scan->found(at, i, scan->user);
	}
}

static void patch_taken_scan(const struct dl_phdr_info *info, struct taken_scan *scan)
{
	scan->first = UINTPTR_MAX;
	scan->last = 0;
	for (size_t i = 0; i < scan->nr; i++) {
		const uintptr_t slot = scan->slots[i].slot;

		scan->first = slot < scan->first ? slot : scan->first;
		scan->last = slot > scan->last ? slot : scan->last;
	}
	for (unsigned int i = 0; scan->nr && i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *header = &info->dlpi_phdr[i];
		const uint8_t *code = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X) &&
				(header->p_flags & PF_R))
			patch_taken_scan_code(scan, code, code + header->p_filesz);
	}
}

static void patch_taken_note(const uint8_t *distance, size_t slot, void *user)
{
	struct patch_taken *slots = user;

	slots[slot].is_taken |= !patch_taken_is_call(distance);
}

void patch_taken_find(const struct dl_phdr_info *info, struct patch_taken *slots, size_t nr)
{
	struct taken_scan scan = {
			.slots = slots, .nr = nr, .found = patch_taken_note, .user = slots};

	patch_taken_scan(info, &scan);
}

struct taken_calls {
	const struct patch_taken *slots;
	void (*each)(uintptr_t distance, const struct patch_taken *slot, void *user);
	void *user;
};

static void patch_taken_visit(const uint8_t *distance, size_t slot, void *user)
{
	const struct taken_calls *calls = user;

	if (calls->slots[slot].is_taken && patch_taken_is_call(distance))
		calls->each((uintptr_t)distance, &calls->slots[slot], calls->user);
}

void patch_taken_calls(const struct dl_phdr_info *info, const struct patch_taken *slots, size_t nr,
		void (*each)(uintptr_t distance, const struct patch_taken *slot, void *user),
		void *user)
{
	struct taken_calls calls = {.slots = slots, .each = each, .user = user};
	struct taken_scan scan = {
			.slots = slots, .nr = nr, .found = patch_taken_visit, .user = &calls};

	patch_taken_scan(info, &scan);
}
