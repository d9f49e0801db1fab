/* SPDX-License-Identifier: MIT */
/* Counts the threads and files of this process, as the kernel reports them. */
#ifndef TESTS_LIBSIDE_TASKS_H
#define TESTS_LIBSIDE_TASKS_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline int entries_of(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int count = 0;

	CHECK(folder);
	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

/* A joined thread may be listed for a moment, so wait for the expected number. */
static inline int tasks_count(void)
{
	int count = entries_of("/proc/self/task"), ms;

	for (ms = 0; ms < 100 && count > 1; ms++) {
		usleep(1000);
		count = entries_of("/proc/self/task");
	}
	return count;
}

static inline int files_count(void)
{
	return entries_of("/proc/self/fd");
}

/* Returns the number of threads with this name. */
static inline int tasks_named(const char *name)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300], line[64];
	int count = 0;

	CHECK(folder);
	while ((entry = readdir(folder))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!file)
			continue;
		if (fgets(line, sizeof(line), file)) {
			line[strcspn(line, "\n")] = '\0';
			count += !strcmp(line, name);
		}
		fclose(file);
	}
	closedir(folder);
	return count;
}

/* Waits until no thread has this name. */
static inline int tasks_without(const char *name)
{
	int ms;

	for (ms = 0; ms < 100 && tasks_named(name); ms++)
		usleep(1000);
	return !tasks_named(name);
}

#endif /* TESTS_LIBSIDE_TASKS_H */
