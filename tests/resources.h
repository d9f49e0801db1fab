/* SPDX-License-Identifier: MIT */
/*
 * Counts open files and mappings of this process, from /proc. A difference between the state after
 * 1 round and after N rounds is a leak.
 */
#ifndef TESTS_RESOURCES_H
#define TESTS_RESOURCES_H

#include <dirent.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct resources {
	unsigned long descriptors, mappings, bytes; /* bytes: of all mappings */
};

/*
 * Returns the number of entries of /proc/self/fd, including ".", ".." and the descriptor that reads
 * it.
 */
static inline unsigned int resources_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int count = 0;

	if (!directory)
		abort();
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/*
 * Returns the bytes of all blocks from malloc(). Constant with AddressSanitizer, which finds leaks
 * itself.
 */
static inline size_t resources_memory(void)
{
	return mallinfo2().uordblks;
}

static inline struct resources resources_now(void)
{
	struct resources now = {.descriptors = resources_descriptors()};
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end;

	if (!maps)
		abort();
	while (fscanf(maps, "%lx-%lx%*[^\n]", &begin, &end) == 2) {
		now.mappings++;
		now.bytes += end - begin;
	}
	(void)fclose(maps);
	return now;
}

/* Returns whether both are equal. Prints the differences. */
static inline bool resources_are_same(struct resources one, struct resources other)
{
	if (one.descriptors == other.descriptors && one.mappings == other.mappings &&
			one.bytes == other.bytes)
		return true;
	(void)fprintf(stderr,
			"descriptors %lu -> %lu, mappings %lu -> %lu, their bytes %lu -> %lu\n",
			one.descriptors, other.descriptors, one.mappings, other.mappings, one.bytes,
			other.bytes);
	return false;
}

#endif
