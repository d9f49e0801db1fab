/* SPDX-License-Identifier: MIT */
/*
 * Finds gaps of the address space in which memory near code can be mapped: unmapped addresses into
 * which neither the heap nor a stack will grow.
 */
#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOWEST 0x10000ULL
#define HIGHEST 0x7ffffffff000ULL
/* The heap grows into the gap after it. */
#define HEAP_SPACE 0x10000000ULL
/*
 * The first thread's stack grows into the gap before it. So much of the gap is left free, in
 * addition to the stack limit.
 */
#define STACK_SPACE 0x40000000ULL

static struct patch_gap *gaps; /* sorted by address */
static size_t nr_gaps, gaps_capacity;
static bool gaps_known;

/* Inserts a gap unless it is too small for an arena. Returns whether it was inserted. */
static bool patch_gaps_insert(size_t at, uint64_t start, uint64_t end)
{
	struct patch_gap *more;

	if (start >= end || end - start < PATCH_ARENA_BYTES)
		return false;
	if (nr_gaps == gaps_capacity) {
		more = reallocarray(gaps, gaps_capacity ? gaps_capacity * 2 : 64, sizeof(*gaps));
		if (!more)
			return false;
		gaps = more;
		gaps_capacity = gaps_capacity ? gaps_capacity * 2 : 64;
	}
	memmove(gaps + at + 1, gaps + at, (nr_gaps - at) * sizeof(*gaps));
	gaps[at] = (struct patch_gap){start, end};
	nr_gaps++;
	return true;
}

void patch_gaps_cut(uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < nr_gaps; i++) {
		struct patch_gap gap = gaps[i];

		if (gap.end <= from || gap.start >= to)
			continue;
		memmove(gaps + i, gaps + i + 1, (--nr_gaps - i) * sizeof(*gaps));
		if (gap.start < from && patch_gaps_insert(i, gap.start, from))
			i++;
		if (gap.end > to && patch_gaps_insert(i, to, gap.end))
			i++;
		i--;
	}
}

/*
 * Returns the end of the part of the gap that the stack does not grow into. Kernels map libraries
 * below a gap of that size, so in a program that has mapped much memory, only this gap may be free
 * near the libraries.
 */
static uint64_t patch_gaps_below_stack(uint64_t stack)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > stack / 2 ||
			limit.rlim_cur + STACK_SPACE > stack)
		return 0;
	return (stack - limit.rlim_cur - STACK_SPACE) & ~(PATCH_PAGE - 1);
}

static void patch_gaps_read(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t last = LOWEST, heap = (uint64_t)syscall(SYS_brk, 0);
	char *line = NULL;
	size_t size = 0;

	nr_gaps = 0;
	while (maps && getline(&line, &size, maps) > 0) {
		unsigned long long start, end;

		if (sscanf(line, "%llx-%llx", &start, &end) != 2 || start >= HIGHEST)
			continue;
		if (start > last)
			patch_gaps_insert(nr_gaps, last,
					strstr(line, "[stack]") ? patch_gaps_below_stack(start)
								: start);
		last = end;
	}
	free(line);
	if (maps)
		fclose(maps);
	/* The heap may not have begun yet. */
	patch_gaps_cut(heap, heap + HEAP_SPACE);
	gaps_known = maps != NULL;
}

void patch_memory_scan(void)
{
	gaps_known = false;
}

size_t patch_gaps(void)
{
	if (!gaps_known)
		patch_gaps_read();
	return nr_gaps;
}

bool patch_gap(size_t index, struct patch_gap *ret_gap)
{
	if (index >= patch_gaps())
		return false;
	*ret_gap = gaps[index];
	return true;
}

void patch_gaps_forget(void)
{
	free(gaps);
	gaps = NULL;
	nr_gaps = gaps_capacity = 0;
	gaps_known = false;
}
