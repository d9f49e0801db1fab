/* SPDX-License-Identifier: MIT */
/* Finds running programs that use libside, through /proc. */
#include "running.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Finds the first mapped file with `file` in its path. Writes the path to ret_path unless that is
 * NULL.
 */
static bool running_find_mapped(pid_t pid, const char *file, char ret_path[PATH_MAX])
{
	char path[64], *line = NULL, *slash;
	size_t capacity = 0;
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	while (!found && getline(&line, &capacity, maps) > 0) {
		found = strstr(line, file) != NULL;
		slash = found && ret_path ? strchr(line, '/') : NULL;
		if (slash) {
			slash[strcspn(slash, "\n")] = '\0';
			(void)snprintf(ret_path, PATH_MAX, "%s", slash);
		}
	}
	free(line);
	fclose(maps);
	return found;
}

static bool running_has_mapped(pid_t pid, const char *file)
{
	return running_find_mapped(pid, file, NULL);
}

bool running_library(pid_t pid, char path[PATH_MAX])
{
	return running_find_mapped(pid, "/libside.so.", path);
}

bool running_program(pid_t pid, char path[PATH_MAX])
{
	char link[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/%ld/exe", (long)pid);
	size = readlink(link, path, PATH_MAX - 1);
	path[size > 0 ? size : 0] = '\0';
	return size > 0;
}

static int running_compare_pids(const void *one, const void *other)
{
	pid_t a = *(const pid_t *)one, b = *(const pid_t *)other;

	return a < b ? -1 : a > b;
}

int running_find(pid_t **ret_pids, size_t *ret_count)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int ret = 0;

	*ret_pids = NULL;
	*ret_count = 0;
	if (!proc)
		return -errno;
	while (!ret) {
		pid_t pid, *more;

		errno = 0;
		entry = readdir(proc);
		if (!entry) {
			ret = -errno;
			break;
		}
		pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid <= 0 || pid == getpid() || !running_has_mapped(pid, "/libside.so."))
			continue;
		more = reallocarray(*ret_pids, *ret_count + 1, sizeof(**ret_pids));
		if (!more) {
			ret = -ENOMEM;
			break;
		}
		*ret_pids = more;
		more[(*ret_count)++] = pid;
	}
	closedir(proc);
	if (*ret_count)
		qsort(*ret_pids, *ret_count, sizeof(**ret_pids), running_compare_pids);
	return ret;
}

bool running_has_recorder(pid_t pid)
{
	/* The agent was loaded from a file or from a memfd. */
	return running_has_mapped(pid, "/libside-agent.so") ||
			running_has_mapped(pid, "/memfd:libside-agent.so");
}

const char *running_name(pid_t pid, char name[RUNNING_NAME_MAX])
{
	char path[64];
	FILE *comm;

	*name = '\0';
	snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	comm = fopen(path, "re");
	if (comm && fgets(name, RUNNING_NAME_MAX, comm))
		name[strcspn(name, "\n")] = '\0';
	if (comm)
		fclose(comm);
	return name;
}
