/* SPDX-License-Identifier: MIT */
/*
 * Mappings of memory that a program made with mmap() and mremap(), and has not unmapped.
 *
 * A part of a mapping can be unmapped or moved: each part that remains is a mapping of its own. A
 * new mapping replaces the mappings at its addresses.
 */
#ifndef SIDE_ANALYSIS_LEAKS_MAPPINGS_H
#define SIDE_ANALYSIS_LEAKS_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mappings that exist at the same time, in all processes of a trace. */
#define LEAKS_MAPPINGS_MAX 65536

struct leaks_mapping {
	uint64_t begin, end;
	int64_t ns;
	uint32_t image;
	uint32_t stack;
};

/* All zero is an empty table. */
struct leaks_mappings {
	struct leaks_mapping *items; /* by image and address; they do not overlap */
	size_t count, capacity;
	uint64_t refused; /* mappings beyond the limit */
};

/*
 * Removes the addresses from `begin` to `end`. Calls `removed` for each part, with the mapping that
 * it was part of. 0 or -ENOMEM.
 */
int leaks_mappings_remove(struct leaks_mappings *mappings, uint32_t image, uint64_t begin,
		uint64_t end,
		void (*removed)(void *user, const struct leaks_mapping *mapping, uint64_t bytes,
				bool is_whole),
		void *user);
/* Adds a mapping at addresses where there is none. 0 or -ENOMEM; beyond the limit, it is counted. */
int leaks_mappings_add(struct leaks_mappings *mappings, const struct leaks_mapping *mapping);
/* The mapping at an address, or NULL. */
const struct leaks_mapping *leaks_mappings_find(
		const struct leaks_mappings *mappings, uint32_t image, uint64_t address);
void leaks_mappings_free(struct leaks_mappings *mappings);

#endif /* SIDE_ANALYSIS_LEAKS_MAPPINGS_H */
