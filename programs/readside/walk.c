/* SPDX-License-Identifier: MIT */
/*
 * Finds the files to read: from the command line, in directories, and the libraries that files
 * need.
 */
#include "readside.h"

#include "elf/libraries.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Limits loops of links and trees of unlimited depth. */
#define DEPTH_MAX 128

/* A file that source_read() reads: its image names the needed libraries. */
struct needing {
	struct readside_walk *walk;
	const char *path;
	char **libraries;
	size_t nr_libraries;
};

static int readside_walk_read_file(struct readside_walk *walk, const char *path);

/* True for the first visit of a file. Device and inode numbers are small enough to be combined. */
static bool readside_walk_visit_first(struct readside_walk *walk, const struct stat *status)
{
	uint64_t identity = (uint64_t)status->st_ino ^ (uint64_t)status->st_dev << 44;

	return addresses_add(&walk->visited, identity) != 0;
}

/* ---- libraries ---- */

static int readside_walk_add_libraries(struct needing *needing, struct image *image)
{
	struct readside_walk *walk = needing->walk;
	const char *name;

	if (!walk->search)
		walk->search = library_search_open();
	if (!walk->search)
		return -ENOMEM;
	errno = 0;
	for (size_t i = 0; image_dynamic_text(image, DT_NEEDED, i, &name); i++, errno = 0) {
		char *path = library_find(walk->search, image, needing->path, name);
		char **libraries;

		if (library_search_error(walk->search)) {
			free(path);
			return library_search_error(walk->search);
		}
		if (!path) {
			message_verbose("the library %s, which %s needs, was not found", name,
					needing->path);
			continue;
		}
		libraries = reallocarray(
				needing->libraries, needing->nr_libraries + 1, sizeof(*libraries));
		if (!libraries) {
			free(path);
			return -ENOMEM;
		}
		needing->libraries = libraries;
		libraries[needing->nr_libraries++] = path;
	}
	/* libelf reports a failed allocation or read in the same way as the end of the list. */
	return errno == ENOMEM || errno == EIO ? -errno : 0;
}

static int readside_walk_on_image(void *opaque, struct image *image, const char *path)
{
	struct needing *needing = opaque;
	const struct source_ops *ops = &needing->walk->ops;
	int result = ops->image ? ops->image(ops->priv, image, path) : 0;

	return result || !needing->walk->options->dynamic
			? result
			: readside_walk_add_libraries(needing, image);
}

static void readside_walk_on_image_end(void *opaque, struct image *image, const char *path)
{
	const struct needing *needing = opaque;
	const struct source_ops *ops = &needing->walk->ops;

	if (ops->image_end)
		ops->image_end(ops->priv, image, path);
}

static int readside_walk_on_event(void *opaque, struct readside_event *event)
{
	const struct needing *needing = opaque;

	return needing->walk->ops.event(needing->walk->ops.priv, event);
}

static void readside_walk_on_broken(void *opaque, const struct broken *broken)
{
	const struct needing *needing = opaque;

	/* Directories contain other files, too: do not report those. */
	if (broken->kind == BROKEN_FOREIGN && !needing->walk->named)
		message_verbose("skipped %s: %s", broken->path, broken->sentence);
	else
		needing->walk->ops.broken(needing->walk->ops.priv, broken);
}

/* Read a file, then the libraries that it needs, recursively. */
static int readside_walk_read_with_libraries(struct readside_walk *walk, const char *path)
{
	struct needing needing = {.walk = walk, .path = path};
	const struct source_ops ops = {readside_walk_on_event, readside_walk_on_broken,
			readside_walk_on_image, readside_walk_on_image_end, &needing};
	int result = source_read(path, &ops);

	for (size_t i = 0; i < needing.nr_libraries; i++) {
		if (!result)
			result = readside_walk_read_file(walk, needing.libraries[i]);
		free(needing.libraries[i]);
	}
	free(needing.libraries);
	return result;
}

static int readside_walk_read_file(struct readside_walk *walk, const char *path)
{
	struct stat status;

	if (!stat(path, &status) && S_ISREG(status.st_mode) &&
			!readside_walk_visit_first(walk, &status))
		return 0;
	return readside_walk_read_with_libraries(walk, path);
}

/* ---- directories ---- */

static int readside_walk_read_folder(
		struct readside_walk *walk, const char *path, unsigned int depth);

/* Skip anything but files and directories: the user did not name it. */
static int readside_walk_read_entry(
		struct readside_walk *walk, const char *path, const char *name, unsigned int depth)
{
	const struct readside_walk_options *options = walk->options;
	struct stat status;

	if (options->links ? stat(path, &status) : lstat(path, &status)) {
		message_verbose("skipped %s: %s", path, strerror(errno));
		return 0;
	}
	if (options->ignore && !fnmatch(options->ignore, name, 0))
		return 0;
	if (S_ISDIR(status.st_mode)) {
		if (!options->recursive || depth >= options->max_depth || depth >= DEPTH_MAX)
			return 0;
		return readside_walk_visit_first(walk, &status)
				? readside_walk_read_folder(walk, path, depth + 1)
				: 0;
	}
	if (!S_ISREG(status.st_mode) || (options->match && fnmatch(options->match, name, 0)))
		return 0;
	return readside_walk_read_file(walk, path);
}

static int readside_walk_is_shown(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

static int readside_walk_read_folder(
		struct readside_walk *walk, const char *path, unsigned int depth)
{
	struct dirent **entries;
	/* Sorted, so that the same directory gives the same listing. */
	int count = scandir(path, &entries, readside_walk_is_shown, alphasort), result = 0;

	if (count < 0) {
		const struct broken broken = {
				.path = path, .kind = BROKEN_FILE, .sentence = strerror(errno)};

		walk->ops.broken(walk->ops.priv, &broken);
		return 0;
	}
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		char *inner = NULL;

		if (!result && (walk->options->all || name[0] != '.')) {
			result = asprintf(&inner, "%s%s%s", path,
						 path[strlen(path) - 1] == '/' ? "" : "/", name) < 0
					? -ENOMEM
					: readside_walk_read_entry(walk, inner, name, depth);
			free(inner);
		}
		free(entries[i]);
	}
	free(entries);
	return result;
}

int walk_path(struct readside_walk *walk, const char *path)
{
	struct stat status;

	walk->named = stat(path, &status) || !S_ISDIR(status.st_mode);
	return walk->named ? readside_walk_read_file(walk, path)
			   : readside_walk_read_folder(walk, path, 0);
}

void walk_forget(struct readside_walk *walk)
{
	addresses_free(&walk->visited);
}

void walk_free(struct readside_walk *walk)
{
	addresses_free(&walk->visited);
	library_search_close(walk->search);
}
