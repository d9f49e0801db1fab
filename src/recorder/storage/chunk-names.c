/* SPDX-License-Identifier: MIT */
/* Parses names of chunks: "chunk-NNNN-...", with a leading dot while the chunk is written. */
#include <dirent.h>
#include <stdio.h>

#include "recorder/storage/chunk-names.h"

unsigned int chunk_number(const char *name)
{
	unsigned int number;
	char dash;

	if (sscanf(name + (*name == '.'), "chunk-%u%c", &number, &dash) != 2 || dash != '-')
		return 0;
	return number;
}

unsigned int chunk_last_number(const char *output)
{
	DIR *directory = opendir(output);
	struct dirent *entry;
	unsigned int last = 0;

	while (directory && (entry = readdir(directory)))
		if (chunk_number(entry->d_name) > last)
			last = chunk_number(entry->d_name);
	if (directory)
		closedir(directory);
	return last;
}
