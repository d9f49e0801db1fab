/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_TAKEN_H
#define SIDE_PROBE_PATCH_TAKEN_H

/* Finds which imported addresses the code of an object takes, other than to call them. */

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATCH_TAKEN_MAX 256

struct patch_taken {
	uintptr_t slot;    /* the address of the imported address */
	void *replacement; /* for the caller */
	/*
	 * Result: an instruction other than a call or jump refers to it, so the code may store or
	 * compare what it reads.
	 */
	bool is_taken;
};

/* Sets `is_taken` of each, in the code of an object that dl_iterate_phdr() reports. */
void patch_taken_find(const struct dl_phdr_info *info, struct patch_taken *slots, size_t nr);

/*
 * Calls `each` with the address of the distance of each call and jump through the slots that are
 * taken.
 */
void patch_taken_calls(const struct dl_phdr_info *info, const struct patch_taken *slots, size_t nr,
		void (*each)(uintptr_t distance, const struct patch_taken *slot, void *user),
		void *user);

#endif /* SIDE_PROBE_PATCH_TAKEN_H */
