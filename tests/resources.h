/* SPDX-License-Identifier: MIT */
/* Open files and mappings of this process, from /proc. A difference between the state after 1 round and after N rounds is a leak. */
#ifndef TESTS_RESOURCES_H
#define TESTS_RESOURCES_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct resources {
	unsigned long descriptors, mappings, bytes; /* bytes: of all mappings */
};

static inline struct resources resources_now(void)
{
	struct resources now = {0};
	DIR *directory = opendir("/proc/self/fd");
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end;

	if (!directory || !maps)
		abort();
	while (readdir(directory))
		now.descriptors++;
	while (fscanf(maps, "%lx-%lx%*[^\n]", &begin, &end) == 2) {
		now.mappings++;
		now.bytes += end - begin;
	}
	(void)fclose(maps);
	closedir(directory);
	return now;
}

/* Reports what differs. */
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
