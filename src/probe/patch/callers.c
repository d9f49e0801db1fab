/* SPDX-License-Identifier: MIT */
/*
 * Where calls may come from whose return address may be replaced: code that is mapped from files. What a program has made
 * itself (Java and others that compile while they run) is found again by who made it, by the return addresses of its
 * calls: it looks through the stack for what it may throw away, and does not know ours. Such calls are made as without a
 * probe, and counted as not seen returning.
 *
 * A range is never moved, for probes point to those that they were called from last; one that is not mapped any more has no
 * size, which is stored first, and set last.
 */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX 4096
#define GATES 0 /* the first one: a function that another one ends in returns to that one's gate */

static struct patch_code ranges[RANGES_MAX];
static uint32_t nr_ranges = GATES + 1;
static bool still[RANGES_MAX];
const struct patch_code patch_no_code;

const struct patch_code *patch_caller(uint64_t address)
{
	/* Acquire: those ranges. Pairs with the release in add(). */
	uint32_t count = __atomic_load_n(&nr_ranges, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		if (patch_is_in(&ranges[i], address))
			return &ranges[i];
	}
	return NULL;
}

static void put(uint32_t at, uint64_t start, uint64_t size)
{
	still[at] = true;
	ranges[at].start = start;
	/* Release: the begin. A thread that sees the size of what was there before has seen it mapped. */
	__atomic_store_n(&ranges[at].size, size, __ATOMIC_RELEASE);
}

void patch_callers_gates(uint64_t start, uint64_t size)
{
	put(GATES, start, size);
}

bool patch_callers_wanted(void)
{
	return ranges[GATES].size != 0;
}

static void add(uint64_t start, uint64_t size)
{
	for (uint32_t i = GATES + 1; i < nr_ranges; i++) {
		if (ranges[i].start == start && (!ranges[i].size || ranges[i].size == size)) {
			put(i, start, size);
			return;
		}
	}
	if (nr_ranges == RANGES_MAX)
		return;
	put(nr_ranges, start, size);
	/* Release: the range. Pairs with the acquire in patch_caller(). */
	__atomic_store_n(&nr_ranges, nr_ranges + 1, __ATOMIC_RELEASE);
}

/* Shared mappings of files are how some write their code at one address and execute it at another. */
static bool is_of_file(const char *permissions, unsigned long inode)
{
	return permissions[2] == 'x' && permissions[3] == 'p' && inode;
}

void patch_callers_look(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t size = 0;

	if (!maps)
		return;
	memset(still, 0, sizeof(still));
	while (getline(&line, &size, maps) > 0) {
		unsigned long long start, end;
		char permissions[5];
		unsigned long inode;

		if (sscanf(line, "%llx-%llx %4s %*s %*s %lu", &start, &end, permissions, &inode) ==
						4 &&
				is_of_file(permissions, inode))
			add(start, end - start);
	}
	free(line);
	fclose(maps);
	for (uint32_t i = GATES + 1; i < nr_ranges; i++) {
		/* Relaxed: nothing is executed there any more. */
		if (!still[i])
			__atomic_store_n(&ranges[i].size, 0, __ATOMIC_RELAXED);
	}
}
