/* SPDX-License-Identifier: MIT */
/* The files that a process executes, as it sees them itself. */
#include "probe-list.h"

#include "command.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct mapping {
	uint64_t start, offset, inode;
	unsigned int major, minor;
	char *path; /* in the line */
};

/* false: not code of a file. */
static bool parse_mapping(char *line, struct mapping *mapping)
{
	char flags[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%*x %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->start,
			    flags, &mapping->offset, &mapping->major, &mapping->minor,
			    &mapping->inode, &path) != 6 ||
			flags[2] != 'x' || !path || line[path] != '/')
		return false;
	mapping->path = line + path;
	mapping->path[strcspn(mapping->path, "\n")] = '\0';
	return true;
}

/* Its file, if it is still the one that is mapped. */
static int open_mapped(pid_t pid, const struct mapping *mapping)
{
	struct stat stat;
	char *path;
	int fd = -1;

	if (asprintf(&path, "/proc/%ld/root%s", (long)pid, mapping->path) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	free(path);
	if (fd >= 0 && !fstat(fd, &stat) && stat.st_ino == mapping->inode)
		return fd;
	if (fd >= 0)
		close(fd);
	say_note("%s is left out: the file that process %ld has mapped is not there any more",
			mapping->path, (long)pid);
	return -1;
}

static int look_at(pid_t pid, const struct mapping *mapping, int memory,
		int (*each)(void *user, const struct probe_module *module), void *user)
{
	struct probe_module module = {.path = mapping->path, .memory = memory};
	struct code_error error;
	int fd = open_mapped(pid, mapping), ret = 0;

	if (fd < 0)
		return 0;
	if (code_open_fd(fd, mapping->path, &module.code, &error))
		say_note("%s is left out: %s", mapping->path, error.text);
	else if (!code_bias(module.code, mapping->start, mapping->offset, &module.bias))
		ret = each(user, &module);
	code_close(module.code);
	close(fd);
	return ret;
}

static bool known(char *const *paths, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(paths[i], path))
			return true;
	}
	return false;
}

static int walk(pid_t pid, FILE *maps, int memory,
		int (*each)(void *user, const struct probe_module *module), void *user)
{
	char **paths = NULL, *line = NULL;
	size_t count = 0, room = 0;
	int ret = 0;

	while (!ret && getline(&line, &room, maps) > 0) {
		struct mapping mapping;
		char **more;

		if (!parse_mapping(line, &mapping) || known(paths, count, mapping.path))
			continue;
		more = reallocarray(paths, count + 1, sizeof(*paths));
		if (!more)
			break;
		paths = more;
		paths[count] = strdup(mapping.path);
		if (!paths[count++])
			break;
		ret = look_at(pid, &mapping, memory, each, user);
	}
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
	free(line);
	return ret;
}

int probe_process(pid_t pid, int (*each)(void *user, const struct probe_module *module), void *user)
{
	char path[64];
	int memory, ret;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	maps = fopen(path, "re");
	snprintf(path, sizeof(path), "/proc/%ld/mem", (long)pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	if (!maps || memory < 0) {
		ret = errno;
		if (maps)
			fclose(maps);
		if (memory >= 0)
			close(memory);
		if (ret == EACCES || ret == EPERM)
			return say_error(COMMAND_NOT_PERMITTED, "run as its user, or as root",
					"cannot look at process %ld: %s", (long)pid, strerror(ret));
		return say_error(COMMAND_FAILED, "`ps` shows which there are",
				"cannot look at process %ld: %s", (long)pid,
				ret == ENOENT ? "there is none with that number" : strerror(ret));
	}
	ret = walk(pid, maps, memory, each, user);
	fclose(maps);
	close(memory);
	return ret;
}
