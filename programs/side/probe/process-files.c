/* SPDX-License-Identifier: MIT */
/* List the files that a process executes, as the process sees them. */
#include "list.h"

#include "programs/common/command.h"
#include "programs/common/message.h"

#include "recorder/core/session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct probe_process_mapping {
	uint64_t start, end, offset, inode;
	unsigned int major, minor;
	bool is_code;
	char *path; /* points into the line; empty: no file */
	/*
	 * the first page of the file is at `start`; its code was copied to pages without a file
	 * after it
	 */
	bool moved;
};

static bool parse_any(char *line, struct probe_process_mapping *ret_mapping)
{
	char flags[5];
	int path = 0;

	*ret_mapping = (struct probe_process_mapping){.start = 0};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
			    &ret_mapping->start, &ret_mapping->end, flags, &ret_mapping->offset,
			    &ret_mapping->major, &ret_mapping->minor, &ret_mapping->inode,
			    &path) != 7 ||
			!path)
		return false;
	ret_mapping->is_code = flags[2] == 'x';
	ret_mapping->path = line + path;
	ret_mapping->path[strcspn(ret_mapping->path, "\n")] = '\0';
	return true;
}

/* Returns false if the mapping is not code of a file. */
static bool probe_process_parse_mapping(char *line, struct probe_process_mapping *ret_mapping)
{
	return parse_any(line, ret_mapping) && ret_mapping->is_code && *ret_mapping->path == '/';
}

/*
 * Programs may move their code to other pages, such as huge pages. The mapping before it then
 * identifies the file.
 */
struct preceding_mapping {
	struct probe_process_mapping head; /* the first page of a file; its path is allocated */
	uint64_t end;
};

static bool parse_code(char *line, struct preceding_mapping *before,
		struct probe_process_mapping *ret_mapping)
{
	if (!parse_any(line, ret_mapping))
		return false;
	if (ret_mapping->is_code && before->head.path && ret_mapping->start == before->end &&
			(!*ret_mapping->path ||
					!strncmp(ret_mapping->path, "/anon_hugepage", 14))) {
		*ret_mapping = before->head;
		ret_mapping->moved = true;
		return true;
	}
	if (*ret_mapping->path != '/')
		return false;
	if (!ret_mapping->offset && !ret_mapping->is_code) {
		free(before->head.path);
		before->head = *ret_mapping;
		before->head.path = strdup(ret_mapping->path);
		before->end = ret_mapping->end;
	} else if (before->head.path && !strcmp(before->head.path, ret_mapping->path)) {
		before->end = ret_mapping->end;
	}
	return ret_mapping->is_code;
}

static int probe_process_open_same(const char *path, const struct probe_process_mapping *mapping)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat stat;

	if (fd >= 0 && !fstat(fd, &stat) && stat.st_ino == mapping->inode)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * Open the mapped file, if its path still leads to it: the path that the process sees, or ours if
 * the process has another root directory.
 */
static int probe_process_open_mapped(pid_t pid, const struct probe_process_mapping *mapping)
{
	char *path, exe[64];
	int fd;

	if (asprintf(&path, "/proc/%ld/root%s", (long)pid, mapping->path) < 0)
		return -1;
	fd = probe_process_open_same(path, mapping);
	free(path);
	/* Executed from memory (memfd), or deleted. */
	snprintf(exe, sizeof(exe), "/proc/%ld/exe", (long)pid);
	if (fd < 0)
		fd = probe_process_open_same(exe, mapping);
	if (fd < 0)
		fd = probe_process_open_same(mapping->path, mapping);
	if (fd < 0)
		message_note("%s is left out: the file that process %ld has mapped no longer exists",
				mapping->path, (long)pid);
	return fd;
}

static int probe_process_scan_mapping(pid_t pid, const struct probe_process_mapping *mapping,
		int memory, int (*each)(void *user, const struct probe_module *module), void *user)
{
	struct probe_module module = {.path = mapping->path, .memory = memory};
	struct error error;
	int fd = probe_process_open_mapped(pid, mapping), ret = 0;

	if (fd < 0)
		return 0;
	if (code_open_fd(fd, mapping->path, &module.code, &error))
		message_note("%s is left out: %s", mapping->path, error.text);
	else if (mapping->moved ? !code_bias_of_head(module.code, mapping->start, &module.bias)
				: !code_bias(module.code, mapping->start, mapping->offset,
						  &module.bias))
		ret = each(user, &module);
	code_close(module.code);
	close(fd);
	return ret;
}

static bool probe_process_path_is_known(char *const *paths, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(paths[i], path))
			return true;
	}
	return false;
}

static int probe_process_walk_maps(pid_t pid, FILE *maps, int memory,
		int (*each)(void *user, const struct probe_module *module), void *user)
{
	char **paths = NULL, *line = NULL;
	struct preceding_mapping before = {.end = 0};
	size_t count = 0, capacity = 0;
	int ret = 0;

	while (!ret && getline(&line, &capacity, maps) > 0) {
		struct probe_process_mapping mapping;
		char **more;

		if (!parse_code(line, &before, &mapping) ||
				probe_process_path_is_known(paths, count, mapping.path))
			continue;
		more = reallocarray(paths, count + 1, sizeof(*paths));
		if (!more)
			break;
		paths = more;
		paths[count] = strdup(mapping.path);
		if (!paths[count++])
			break;
		ret = probe_process_scan_mapping(pid, &mapping, memory, each, user);
	}
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
	free(before.head.path);
	free(paths);
	free(line);
	return ret;
}

int probe_started(pid_t pid, uint64_t *ret_started)
{
	*ret_started = session_process_start(pid);
	/* The next step reports that there is no such process. */
	if (*ret_started || errno == ENOENT || errno == ESRCH)
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED, NULL, "cannot read when process %d was started: %s",
			(int)pid, strerror(errno));
}

int probe_sees_proc(pid_t pid, const char *hint)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d/root/proc/self", pid);
	if (!lstat(path, &status) || errno != ENOENT)
		return COMMAND_DONE;
	/* `side attach` reports that there is no such process. */
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	if (lstat(path, &status))
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED, hint,
			"cannot probe process %d: it has no /proc below its root directory", pid);
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
			return message_error(COMMAND_NOT_PERMITTED, "run as its user, or as root",
					"cannot inspect process %ld: %s", (long)pid, strerror(ret));
		return message_error(COMMAND_FAILED, "`ps` lists the processes",
				"cannot inspect process %ld: %s", (long)pid,
				ret == ENOENT ? "no such process" : strerror(ret));
	}
	ret = probe_process_walk_maps(pid, maps, memory, each, user);
	fclose(maps);
	close(memory);
	return ret;
}

/* ---- all processes ---- */

struct probe_mapped_files {
	struct probe_mapped_file {
		uint64_t inode;
		unsigned int major, minor;
	} * known;
	size_t count, capacity;
	int (*each)(void *user, const char *path);
	void *user;
};

static bool probe_process_is_new(
		struct probe_mapped_files *files, const struct probe_process_mapping *mapping)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct probe_mapped_file *file = &files->known[i];

		if (file->inode == mapping->inode && file->major == mapping->major &&
				file->minor == mapping->minor)
			return false;
	}
	if (files->count == files->capacity) {
		size_t capacity = files->capacity ? 2 * files->capacity : 64;
		struct probe_mapped_file *more =
				reallocarray(files->known, capacity, sizeof(*more));

		if (!more)
			return false;
		files->known = more;
		files->capacity = capacity;
	}
	files->known[files->count++] = (struct probe_mapped_file){
			.inode = mapping->inode, .major = mapping->major, .minor = mapping->minor};
	return true;
}

/* Use our path if it leads to the same file, otherwise the path through the process. */
static int probe_process_report_file(const struct probe_mapped_files *files, pid_t pid,
		const struct probe_process_mapping *mapping)
{
	struct stat stat_here;
	char *path;
	int ret;

	if (!stat(mapping->path, &stat_here) && stat_here.st_ino == mapping->inode)
		return files->each(files->user, mapping->path);
	if (asprintf(&path, "/proc/%ld/root%s", (long)pid, mapping->path) < 0)
		return 0;
	/* A deleted file has no name. */
	ret = !stat(path, &stat_here) && stat_here.st_ino == mapping->inode
			? files->each(files->user, path)
			: 0;
	free(path);
	return ret;
}

/* -EACCES: this user may not inspect the process. */
static int walk_files(struct probe_mapped_files *files, pid_t pid)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	int ret = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	maps = fopen(path, "re");
	if (!maps)
		return errno == EACCES || errno == EPERM ? -EACCES : 0;
	while (!ret && getline(&line, &capacity, maps) > 0) {
		struct probe_process_mapping mapping;

		if (probe_process_parse_mapping(line, &mapping) &&
				probe_process_is_new(files, &mapping))
			ret = probe_process_report_file(files, pid, &mapping);
	}
	free(line);
	fclose(maps);
	return ret;
}

int probe_running_files(
		int (*each)(void *user, const char *path), void *user, unsigned int *ret_hidden)
{
	struct probe_mapped_files files = {.each = each, .user = user};
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	*ret_hidden = 0;
	if (!processes)
		return message_error(
				COMMAND_FAILED, NULL, "cannot read /proc: %s", strerror(errno));
	while (ret <= 0 && (entry = readdir(processes))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		ret = walk_files(&files, (pid_t)atoi(entry->d_name));
		*ret_hidden += ret < 0;
	}
	closedir(processes);
	free(files.known);
	return ret > 0 ? ret : 0;
}
