/* SPDX-License-Identifier: MIT */
/*
 * Finds the files of a library that a program has not loaded yet, as its dynamic linker does, or in
 * the usual directories of plugins and extensions.
 */
#include "executable.h"
#include "spec-options.h"

#include "base/io.h"
#include "base/process-root.h"
#include "elf/image.h"
#include "elf/libraries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process can make its environment as large as its memory. */
#define ENVIRONMENT_MAX (1u << 20)
/* Directories below `lib` that are searched: lib/NAME/NAME/NAME/NAME. */
#define LIB_LEVELS 4

struct later_search {
	const struct probe_target *target;
	struct resolve *resolve;
	const char *library;
	struct error *error;
	int ret; /* -ENOENT: none is found; 0; or another error that ends the search */
	bool has_other_root;
};

/* ---- one file ---- */

static int later_open(const struct later_search *search, const char *path)
{
	int fd;

	if (search->has_other_root)
		return process_root_open(search->target->pid, path, O_RDONLY | O_NONBLOCK);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static void later_add_file(struct later_search *search, const char *path, bool must_be_library)
{
	/* realpath() follows links from our root directory. In another one, keep the path. */
	char *full = search->has_other_root ? strdup(path) : realpath(path, NULL);
	struct error ignored;
	int ret;

	if (!full)
		return;
	ret = resolve_add_later(search->resolve, full, later_open(search, full),
			must_be_library ? search->error : &ignored);
	free(full);
	/* A name may also be that of a linker script, or of a library for another machine. */
	if (!ret || ret == -ENOMEM || (must_be_library && search->ret == -ENOENT))
		search->ret = ret == -ENOENT ? -EIO : ret;
}

/* ---- a path ---- */

/* glob() passes nothing to its functions. */
static _Thread_local pid_t later_root_pid;

static void *later_root_open_folder(const char *path)
{
	int fd = process_root_open(later_root_pid, *path ? path : "/", O_RDONLY | O_DIRECTORY);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory && fd >= 0)
		close(fd);
	return directory;
}

static struct dirent *later_root_read_folder(void *directory)
{
	return readdir(directory);
}

static void later_root_close_folder(void *directory)
{
	(void)closedir(directory);
}

static int later_root_stat(const char *path, struct stat *ret_status)
{
	int ret = process_root_stat(later_root_pid, path, ret_status);

	if (ret)
		errno = -ret;
	return ret ? -1 : 0;
}

static void later_add_paths(struct later_search *search)
{
	glob_t paths = {.gl_opendir = later_root_open_folder,
			.gl_readdir = later_root_read_folder,
			.gl_closedir = later_root_close_folder,
			.gl_stat = later_root_stat,
			.gl_lstat = later_root_stat};
	int ret;

	later_root_pid = search->target->pid;
	ret = glob(search->library, search->has_other_root ? GLOB_ALTDIRFUNC : 0, NULL, &paths);
	if (ret == GLOB_NOSPACE)
		search->ret = error_set_no_memory(search->error);
	for (size_t i = 0; !ret && i < paths.gl_pathc; i++)
		later_add_file(search, paths.gl_pathv[i], paths.gl_pathc == 1);
	globfree(&paths);
}

/* ---- a name ---- */

static bool later_scan_folder(void *user, const char *folder)
{
	struct later_search *search = user;
	DIR *directory = opendir(folder);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char path[PATH_MAX];
		struct stat status;

		if (!resolve_is_library(entry->d_name, search->library) ||
				snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
						(int)sizeof(path) ||
				stat(path, &status) || !S_ISREG(status.st_mode))
			continue;
		later_add_file(search, path, false);
	}
	if (directory)
		closedir(directory);
	return search->ret != -ENOENT;
}

/* Scan a directory and those in it, down to a number of levels. Links are not followed. */
static void later_scan_tree(struct later_search *search, const char *folder, unsigned int levels)
{
	const struct dirent *entry;
	DIR *directory;

	(void)later_scan_folder(search, folder);
	directory = levels ? opendir(folder) : NULL;
	while (directory && (entry = readdir(directory))) {
		char path[PATH_MAX];

		if (entry->d_type == DT_DIR && *entry->d_name != '.' &&
				snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
						(int)sizeof(path))
			later_scan_tree(search, path, levels - 1);
	}
	if (directory)
		closedir(directory);
}

/* The directory of the program, and `lib` beside it: java has bin/../lib/server/libjvm.so. */
static void later_scan_beside(struct later_search *search, const char *program)
{
	const char *slash = strrchr(program, '/');
	char *folder = NULL;

	if (!slash || search->ret != -ENOENT)
		return;
	if (asprintf(&folder, "%.*s", slash == program ? 1 : (int)(slash - program), program) < 0) {
		search->ret = error_set_no_memory(search->error);
		return;
	}
	(void)later_scan_folder(search, folder);
	free(folder);
	if (search->ret != -ENOENT)
		return;
	if (asprintf(&folder, "%.*s/../lib", (int)(slash - program), program) < 0) {
		search->ret = error_set_no_memory(search->error);
		return;
	}
	later_scan_tree(search, folder, LIB_LEVELS);
	free(folder);
}

/*
 * The value of LD_LIBRARY_PATH with which the process was started; the caller frees it. NULL: none,
 * or not readable.
 */
static char *later_read_variable(pid_t pid)
{
	static const char name[] = "LD_LIBRARY_PATH=";
	char path[64], *text = malloc(ENVIRONMENT_MAX), *found = NULL;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	size = text ? io_read_text(path, text, ENVIRONMENT_MAX) : -1;
	for (char *at = text; size > 0 && at < text + size && !found; at += strlen(at) + 1) {
		if (!strncmp(at, name, sizeof(name) - 1))
			found = strdup(at + sizeof(name) - 1);
	}
	free(text);
	return found;
}

static void later_scan_folders(
		struct later_search *search, struct library_search *folders, const char *program)
{
	const struct probe_target *target = search->target;
	struct image *image = NULL;
	struct error ignored;
	char path[PATH_MAX], exe[64];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%s", program);
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)target->pid);
	length = target->pid ? readlink(exe, path, sizeof(path) - 1) : 0;
	if (length > 0)
		path[length] = '\0';
	fd = open(target->pid ? exe : program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !image_open(fd, false, &image, &ignored))
		library_each_folder(folders, image, path, later_scan_folder, search);
	image_close(image);
	if (fd >= 0)
		close(fd);
	later_scan_beside(search, path);
}

static void later_add_names(struct later_search *search)
{
	const struct probe_target *target = search->target;
	struct library_search *folders = library_search_open();
	char *variable = target->pid ? later_read_variable(target->pid) : NULL;

	if (!folders) {
		search->ret = error_set_no_memory(search->error);
	} else {
		if (target->pid)
			library_search_set_path(folders, variable);
		later_scan_folders(search, folders, target->exe ? target->exe : "");
	}
	library_search_close(folders);
	free(variable);
}

/* ---- both ---- */

int probe_find_later(void *user, struct resolve *resolve, const char *library, struct error *error)
{
	struct later_search search = {.target = user,
			.resolve = resolve,
			.library = library,
			.error = error,
			.ret = -ENOENT};

	search.has_other_root = search.target->pid && probe_has_other_root(search.target->pid) > 0;
	/* Another root directory has its own configuration of folders, and not our relative paths. */
	if (search.has_other_root && *library != '/')
		return search.ret;
	if (strchr(library, '/'))
		later_add_paths(&search);
	else
		later_add_names(&search);
	return search.ret;
}
