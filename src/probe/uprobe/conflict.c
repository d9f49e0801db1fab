/* SPDX-License-Identifier: MIT */
/*
 * Finds processes whose code differs from their file. The kernel reads the instruction of a probe
 * from the file: inside a jump that another tool has written there, the program would continue in
 * the middle of an instruction and crash. Breakpoints and calls that the kernel wrote are no
 * conflict.
 */
#include "parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define JUMP 5
#define LONG_JUMP 0xe9
#define BEFORE (2 * (JUMP - 1)) /* bytes that identify the owner of a change */
#define BREAKPOINT 0xcc
#define CALL 0xe8 /* written by the kernel over a long nop */
#define LONG_NOP 0x0f

/* A file with sides. */
struct conflict_file {
	const char *path;
	ino_t inode;
	int fd;
};

struct conflict_scan {
	const struct global *global;
	struct conflict_file *files;
	uint32_t nr_files;
	uint32_t *file_of; /* by side */
	struct error *error;
};

static int conflict_fail_reading(const struct conflict_scan *scan, int code, const char *path)
{
	return error_set(scan->error, code, "", "%.256s cannot be read: %s", path, strerror(-code));
}

static int conflict_add_file(struct conflict_scan *scan, uint32_t side)
{
	const char *path = scan->global->sides[side].path;
	struct conflict_file *file = scan->files;
	struct stat status;

	while (file < scan->files + scan->nr_files && strcmp(file->path, path) != 0)
		file++;
	scan->file_of[side] = (uint32_t)(file - scan->files);
	if (file < scan->files + scan->nr_files)
		return 0;
	*file = (struct conflict_file){
			.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
	if (file->fd < 0 || fstat(file->fd, &status)) {
		int code = -errno;

		if (file->fd >= 0)
			close(file->fd);
		return conflict_fail_reading(scan, code, path);
	}
	file->inode = status.st_ino;
	scan->nr_files++;
	return 0;
}

/*
 * True for the last bytes of a jump that ends before the location, such as a springboard between
 * functions.
 */
static bool conflict_is_earlier_jump(const unsigned char *memory, const unsigned char *file,
		uint64_t at, uint64_t before)
{
	for (uint64_t i = at < JUMP ? 0 : at - (JUMP - 1); i <= at; i++)
		if (memory[i] == LONG_JUMP && file[i] != LONG_JUMP && i + JUMP <= before)
			return true;
	return false;
}

/*
 * Returns 1 if the process has bytes at this location that are neither the file's nor the kernel's,
 * 0 if not, or the error of reading the file. A breakpoint may be the kernel's or a tracer's: in a
 * process with an agent it counts as the agent's.
 */
static int conflict_has_change(const struct conflict_scan *scan, pid_t pid,
		const struct global_side *side, uint64_t runtime, bool has_agent)
{
	unsigned char file[BEFORE + 1], memory[BEFORE + 1];
	uint64_t before = side->offset < BEFORE ? side->offset : BEFORE;
	struct iovec local = {memory, before + 1}, remote = {.iov_len = before + 1};
	uint64_t address = runtime - before;
	ssize_t got = pread(scan->files[scan->file_of[side->number]].fd, file, before + 1,
			(off_t)(side->offset - before));

	if (got < 0)
		return -errno;
	memcpy(&remote.iov_base, &(uintptr_t){(uintptr_t)address}, sizeof(void *));
	if (got != (ssize_t)before + 1 ||
			process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)before + 1)
		return 0;
	/* A jump over the location starts here at the earliest. */
	for (uint64_t i = before < JUMP ? 0 : before - (JUMP - 1); i < before; i++)
		if (memory[i] != file[i] && memory[i] != BREAKPOINT &&
				!conflict_is_earlier_jump(memory, file, i, before))
			return 1;
	if (memory[before] == file[before] || (memory[before] == CALL && file[before] == LONG_NOP))
		return 0;
	return memory[before] != BREAKPOINT || has_agent;
}

static void conflict_read_name(pid_t pid, char name[32])
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	if (global_tracefs_read(AT_FDCWD, path, name, 32))
		(void)snprintf(name, 32, "?");
	name[strcspn(name, "\n")] = 0;
}

static int conflict_check_mapping(const struct conflict_scan *scan, pid_t pid, uint64_t begin,
		uint64_t end, uint64_t offset, uint32_t file, bool has_agent)
{
	for (uint32_t i = 0; i < scan->global->nr_sides; i++) {
		const struct global_side *side = &scan->global->sides[i];
		char name[32];
		int ret;

		if (scan->file_of[i] != file || side->offset < offset ||
				side->offset - offset >= end - begin)
			continue;
		ret = conflict_has_change(
				scan, pid, side, begin + side->offset - offset, has_agent);
		if (ret < 0)
			return conflict_fail_reading(scan, ret, side->path);
		if (!ret)
			continue;
		conflict_read_name(pid, name);
		return error_set(scan->error, -EBUSY,
				"remove that probe first, or probe one program without `--global`",
				"the code of process %ld (%s) differs from its file at 0x%" PRIx64
				" of %.200s: %s; a uprobe there would end the program",
				(long)pid, name, side->address, side->path,
				has_agent ? "a recording of side, or another tool, has a probe there"
					  : "another tool has a probe there");
	}
	return 0;
}

static bool conflict_has_agent(pid_t pid)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	bool found = false;
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	maps = fopen(path, "re");
	while (maps && !found && getline(&line, &capacity, maps) > 0)
		found = strstr(line, "/libside-agent.so") != NULL;
	free(line);
	if (maps)
		(void)fclose(maps);
	return found;
}

static int conflict_check_line(const struct conflict_scan *scan, pid_t pid, const char *line)
{
	uint64_t begin, end, offset, inode;
	char rights[8];
	int ret = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*x:%*x %" SCNu64, &begin, &end,
			    rights, &offset, &inode) != 5 ||
			rights[2] != 'x' || !inode)
		return 0;
	/*
	 * For some file systems, the device in this line differs from that of stat(): compare the
	 * inode only.
	 */
	for (uint32_t i = 0; i < scan->nr_files && !ret; i++)
		if (scan->files[i].inode == inode)
			ret = conflict_check_mapping(
					scan, pid, begin, end, offset, i, conflict_has_agent(pid));
	return ret;
}

static int conflict_scan_process(const struct conflict_scan *scan, pid_t pid)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	int ret = 0;
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	maps = fopen(path, "re");
	while (maps && !ret && getline(&line, &capacity, maps) > 0)
		ret = conflict_check_line(scan, pid, line);
	free(line);
	if (maps)
		(void)fclose(maps);
	return ret;
}

static int conflict_scan_processes(const struct conflict_scan *scan)
{
	DIR *processes;
	struct dirent *entry;
	int ret = 0;

	if (scan->global->process)
		return conflict_scan_process(scan, scan->global->process);
	processes = opendir("/proc");
	while (processes && !ret && (entry = readdir(processes))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			ret = conflict_scan_process(scan, (pid_t)pid);
	}
	if (processes)
		closedir(processes);
	return ret;
}

int conflict_check(const struct global *global, struct error *error)
{
	struct conflict_scan scan = {.global = global, .error = error};
	int ret = 0;

	scan.files = calloc(global->nr_sides + 1u, sizeof(*scan.files));
	scan.file_of = calloc(global->nr_sides + 1u, sizeof(*scan.file_of));
	if (!scan.files || !scan.file_of) {
		free(scan.files);
		free(scan.file_of);
		return error_set_no_memory(error);
	}
	for (uint32_t i = 0; i < global->nr_sides && !ret; i++)
		ret = conflict_add_file(&scan, i);
	if (!ret)
		ret = conflict_scan_processes(&scan);
	for (uint32_t i = 0; i < scan.nr_files; i++)
		close(scan.files[i].fd);
	free(scan.files);
	free(scan.file_of);
	return ret;
}
