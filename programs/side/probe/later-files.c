/* SPDX-License-Identifier: MIT */
/*
 * Finds the files of a library that a program has not loaded yet, as its dynamic linker does, or in
 * the usual directories of plugins and extensions.
 */
#include "executable.h"
#include "spec-options.h"

#include "base/io.h"
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
	int ret;       /* -ENOENT: none is found; 0; or another error that ends the search */
	char root[32]; /* prefix of paths that the process sees; "": it has our root directory */
};

/* ---- one file ---- */

static void later_add_file(struct later_search *search, const char *path, bool must_be_library)
{
	size_t root = strlen(search->root);
	struct error ignored;
	char *full = realpath(path, NULL);
	int ret;

	if (!full)
		return;
	/* In another root directory, links were followed as seen from here: keep the path. */
	ret = resolve_add_later(search->resolve, root ? path + root : full, root ? path : full,
			must_be_library ? search->error : &ignored);
	free(full);
	/* A name may also be that of a linker script, or of a library for another machine. */
	if (!ret || ret == -ENOMEM || (must_be_library && search->ret == -ENOENT))
		search->ret = ret == -ENOENT ? -EIO : ret;
}

/* ---- a path ---- */

static void later_add_paths(struct later_search *search)
{
	glob_t paths = {.gl_pathc = 0};
	char *pattern;
	int ret;

	if (asprintf(&pattern, "%s%s", search->root, search->library) < 0) {
		search->ret = error_set_no_memory(search->error);
		return;
	}
	ret = glob(pattern, 0, NULL, &paths);
	free(pattern);
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

/* The prefix of paths that a process with another root directory sees. */
static void later_find_root(struct later_search *search)
{
	pid_t pid = search->target->pid;

	if (pid && probe_has_other_root(pid) > 0)
		snprintf(search->root, sizeof(search->root), "/proc/%d/root", (int)pid);
}

int probe_find_later(void *user, struct resolve *resolve, const char *library, struct error *error)
{
	struct later_search search = {.target = user,
			.resolve = resolve,
			.library = library,
			.error = error,
			.ret = -ENOENT};

	later_find_root(&search);
	/* Another root directory has its own configuration of folders, and not our relative paths. */
	if (*search.root && *library != '/')
		return search.ret;
	if (strchr(library, '/'))
		later_add_paths(&search);
	else
		later_add_names(&search);
	return search.ret;
}
