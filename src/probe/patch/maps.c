/* SPDX-License-Identifier: MIT */
/*
 * Reads the mappings of the process without the heap and its locks, because a child of fork() uses
 * it too.
 */
#include "parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_BYTES 160 /* of a line; longer ones are cut */

/* Parses START-END FLAGS …; returns false if the line has another form. */
static bool patch_maps_read_line(const char *line, struct patch_mapping *ret_mapping)
{
	char *at;

	ret_mapping->start = strtoull(line, &at, 16);
	ret_mapping->end = *at == '-' ? strtoull(at + 1, &at, 16) : 0;
	if (*at != ' ' || !at[1] || !at[2] || !at[3])
		return false;
	ret_mapping->readable = at[1] == 'r';
	ret_mapping->writable = at[2] == 'w';
	ret_mapping->executable = at[3] == 'x';
	ret_mapping->remainder = at + 4;
	return true;
}

static bool patch_maps_read_all(
		int maps, bool (*take)(const struct patch_mapping *mapping, void *user), void *user)
{
	char bytes[1024], line[LINE_BYTES + 1];
	struct patch_mapping mapping;
	size_t length = 0;
	ssize_t got;

	while ((got = read(maps, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (bytes[i] != '\n') {
				if (length < LINE_BYTES)
					line[length++] = bytes[i];
				continue;
			}
			line[length] = '\0';
			length = 0;
			if (patch_maps_read_line(line, &mapping) && !take(&mapping, user))
				return false;
		}
	}
	return got == 0;
}

bool patch_maps_each(bool (*take)(const struct patch_mapping *mapping, void *user), void *user)
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	bool complete;

	if (maps < 0)
		return false;
	complete = patch_maps_read_all(maps, take, user);
	close(maps);
	return complete;
}
