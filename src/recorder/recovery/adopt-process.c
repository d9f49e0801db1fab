/* SPDX-License-Identifier: MIT */
/*
 * Finds a process that has created its rings itself. It can have begun before /proc was mounted, or
 * in a pid namespace of its own, and another program can have its id now. The proof is that the
 * process has mapped the rings. A forked child has mapped its parent's rings, too, but has another
 * id.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "recorder/core/session.h"
#include "recorder/recovery/adopt-process.h"

/* Returns the process's id in its innermost namespace; 0 if it has exited. */
static uint32_t own_number(pid_t pid)
{
	char path[64], line[256];
	unsigned long number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *last;

		if (!strncmp(line, "Tgid:", 5))
			number = strtoul(line + 5, NULL, 10);
		if (strncmp(line, "NStgid:", 7) != 0)
			continue;
		last = strrchr(line, '\t');
		number = last ? strtoul(last + 1, NULL, 10) : number;
		break;
	}
	if (file)
		fclose(file);
	return (uint32_t)number;
}

static bool is_of_file(const char *line, const struct stat *file, const char *path)
{
	unsigned int major_number, minor_number;
	unsigned long long inode;
	int at = 0;

	if (sscanf(line, "%*x-%*x %*s %*x %x:%x %llu %n", &major_number, &minor_number, &inode,
			    &at) != 3 ||
			inode != file->st_ino)
		return false;
	if (major_number == major(file->st_dev) && minor_number == minor(file->st_dev))
		return true;
	/* On some file systems, the device number in /proc/PID/maps differs from that of stat(). */
	return path && at && !strncmp(line + at, path, strlen(path)) &&
			!strcmp(line + at + strlen(path), "\n");
}

int session_has_mapped(pid_t pid, const struct stat *file, const char *file_path)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	int found = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	while (!found && getline(&line, &capacity, maps) > 0)
		found = is_of_file(line, file, file_path);
	if (ferror(maps))
		found = -1;
	fclose(maps);
	free(line);
	return found;
}

pid_t adopt_find_mapper(const struct stat *file, uint32_t pid, pid_t likely)
{
	DIR *processes;
	struct dirent *entry;
	pid_t found = 0;
	int mapped = 0;

	if (likely > 0 && own_number(likely) == pid)
		mapped = session_has_mapped(likely, file, NULL);
	if (mapped > 0)
		return likely;
	processes = opendir("/proc");
	if (!processes)
		return -1;
	while (!found && (entry = readdir(processes))) {
		pid_t other = (pid_t)strtol(entry->d_name, NULL, 10);

		if (other > 0 && other != likely && own_number(other) == pid &&
				session_has_mapped(other, file, NULL) > 0)
			found = other;
	}
	closedir(processes);
	/*
	 * The recorder may not be allowed to read the process `likely`, such as process 1; then the
	 * result is unknown.
	 */
	return !found && mapped < 0 ? -1 : found;
}
