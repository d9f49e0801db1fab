/* SPDX-License-Identifier: MIT */
/*
 * Detects files that are replaced while they are watched, as an upgrade does. The kernel's probes
 * belong to the file, not to the path: running processes are still watched, and processes that
 * start later execute another file.
 */
#include "parts.h"
#include "probe/uprobe/global.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct replaced_file {
	const char *path;
	dev_t device;
	ino_t inode;
	bool reported;
};

static bool uprobe_replaced_is_known(const struct global *global, const char *path)
{
	for (uint32_t i = 0; i < global->nr_files; i++)
		if (global->files[i].path && !strcmp(global->files[i].path, path))
			return true;
	return false;
}

int replaced_open(struct global *global, struct error *error)
{
	global->files = calloc(global->nr_sides + 1u, sizeof(*global->files));
	if (!global->files)
		return error_set_no_memory(error);
	for (uint32_t i = 0; i < global->nr_sides; i++) {
		const char *path = global->sides[i].path;
		struct stat status;

		if (uprobe_replaced_is_known(global, path) || stat(path, &status))
			continue;
		global->files[global->nr_files++] = (struct replaced_file){
				.path = path, .device = status.st_dev, .inode = status.st_ino};
	}
	return 0;
}

const char *global_replaced(struct global *global)
{
	for (uint32_t i = 0; i < global->nr_files; i++) {
		struct replaced_file *file = &global->files[i];
		struct stat status;

		/* If the file was only removed, no process can start it. */
		if (file->reported || stat(file->path, &status) ||
				(status.st_dev == file->device && status.st_ino == file->inode))
			continue;
		file->reported = true;
		return file->path;
	}
	return NULL;
}
