/* SPDX-License-Identifier: MIT */
/*
 * Searches libraries in the order of ld.so(8): DT_RPATH (if there is no DT_RUNPATH),
 * LD_LIBRARY_PATH, DT_RUNPATH, the folders of /etc/ld.so.conf, the standard folders. The cache is
 * not read: it lists the contents of these folders. A library for another machine is skipped, as
 * the linker does.
 */
#include "elf/libraries.h"

#include "base/error.h"
#include "elf/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIGURATION "/etc/ld.so.conf"
/* Ends the recursion of a configuration that includes itself. */
#define INCLUDE_DEPTH_MAX 8

struct library_search {
	const char *environment;
	char **folders;
	size_t nr_folders;
	int error; /* negative errno of a directory or file that was skipped, or 0 */
};

static const char *const standard_folders[] = {"/lib", "/usr/lib", "/lib64", "/usr/lib64"};

/* Store an error that may hide an existing library. After other errors (no such file, not readable,
   no library) the search continues. */
static void elf_library_store_error(struct library_search *search, int error)
{
	if (error == EIO || error_is_lack_of_resources(error))
		search->error = -error;
}

static void add_folder(struct library_search *search, const char *folder)
{
	char **folders = reallocarray(search->folders, search->nr_folders + 1, sizeof(*folders));

	if (folders) {
		search->folders = folders;
		folders[search->nr_folders] = strdup(folder);
	}
	if (folders && folders[search->nr_folders])
		search->nr_folders++;
	else
		elf_library_store_error(search, ENOMEM);
}

static void read_configuration(struct library_search *search, const char *path, unsigned int depth)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t capacity = 0;

	if (!file) {
		elf_library_store_error(search, errno);
		return;
	}
	errno = 0;
	while (getline(&line, &capacity, file) > 0) {
		char *word = line + strspn(line, " \t");

		word[strcspn(word, "#\n")] = '\0';
		for (size_t length = strlen(word); length && strchr(" \t", word[length - 1]);)
			word[--length] = '\0';
		if (!strncmp(word, "include", 7) && strchr(" \t", word[7]) && word[7]) {
			glob_t files;
			int ret;

			if (depth == INCLUDE_DEPTH_MAX)
				continue;
			ret = glob(word + 8 + strspn(word + 8, " \t"), 0, NULL, &files);
			elf_library_store_error(search, ret == GLOB_NOSPACE ? ENOMEM : 0);
			if (ret)
				continue;
			for (size_t i = 0; i < files.gl_pathc; i++)
				read_configuration(search, files.gl_pathv[i], depth + 1);
			globfree(&files);
		} else if (*word == '/') {
			add_folder(search, word);
		}
	}
	elf_library_store_error(search, feof(file) ? 0 : errno);
	free(line);
	fclose(file);
}

struct library_search *library_search_open(void)
{
	struct library_search *search = calloc(1, sizeof(*search));

	if (!search)
		return NULL;
	search->environment = getenv("LD_LIBRARY_PATH");
	read_configuration(search, CONFIGURATION, 0);
	for (size_t i = 0; i < sizeof(standard_folders) / sizeof(standard_folders[0]); i++)
		add_folder(search, standard_folders[i]);
	return search;
}

void library_search_close(struct library_search *search)
{
	if (!search)
		return;
	for (size_t i = 0; i < search->nr_folders; i++)
		free(search->folders[i]);
	free(search->folders);
	free(search);
}

static bool elf_library_matches(
		struct library_search *search, const struct image *image, const char *path)
{
	struct image *library;
	struct error error;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool same = false;
	int ret;

	if (fd < 0) {
		elf_library_store_error(search, errno);
		return false;
	}
	ret = image_open(fd, false, &library, &error);
	elf_library_store_error(search, -ret);
	if (!ret) {
		same = image_machine(library) == image_machine(image) &&
				image_pointer_size(library) == image_pointer_size(image) &&
				image_byte_order(library) == image_byte_order(image);
		image_close(library);
	}
	close(fd);
	return same;
}

/* The length of $ORIGIN at the beginning of the entry, or 0. */
static size_t elf_library_origin(const char *entry, size_t length)
{
	static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};

	for (size_t i = 0; i < 2; i++) {
		size_t prefix = strlen(origins[i]);

		if (length >= prefix && !strncmp(entry, origins[i], prefix))
			return prefix;
	}
	return 0;
}

/*
 * The folder of an entry, with $ORIGIN at the beginning, the only useful position, replaced by the
 * folder of the file. The caller frees it. NULL: out of memory.
 */
static char *elf_library_entry_folder(
		struct library_search *search, const char *entry, size_t length, const char *path)
{
	size_t prefix = elf_library_origin(entry, length);
	const char *slash = strrchr(path, '/'), *origin = slash ? path : ".";
	int origin_length = slash ? (int)(slash - path) : 1;
	char *folder;

	/* The folder of a file in "/", if the entry does not continue with a slash of its own. */
	if (prefix && slash == path && entry[prefix] != '/')
		origin_length = 1;
	if (asprintf(&folder, "%.*s%.*s", prefix ? origin_length : 0, origin,
			    (int)(length - prefix), entry + prefix) >= 0)
		return folder;
	elf_library_store_error(search, ENOMEM);
	return NULL;
}

int library_search_error(const struct library_search *search)
{
	return search->error;
}

/* ---- folders ---- */

static bool elf_library_each_entry(struct library_search *search, const char *list,
		const char *separators, const char *path, library_folder_fn *each, void *user)
{
	bool is_done = false;

	while (list && !is_done) {
		size_t length = strcspn(list, separators);
		char *folder = elf_library_entry_folder(search, list, length, path);

		/* An empty entry is the current directory. */
		is_done = folder && each(user, *folder ? folder : ".");
		free(folder);
		list = list[length] ? list + length + 1 : NULL;
	}
	return is_done;
}

void library_search_set_path(struct library_search *search, const char *path)
{
	search->environment = path;
}

void library_each_folder(struct library_search *search, struct image *image, const char *path,
		library_folder_fn *each, void *user)
{
	const char *rpath = NULL, *runpath = NULL;
	bool is_done = false;

	image_dynamic_text(image, DT_RUNPATH, 0, &runpath);
	if (!runpath && image_dynamic_text(image, DT_RPATH, 0, &rpath))
		is_done = elf_library_each_entry(search, rpath, ":", path, each, user);
	if (!is_done && search->environment && *search->environment)
		is_done = elf_library_each_entry(
				search, search->environment, ":;", path, each, user);
	if (!is_done && runpath)
		is_done = elf_library_each_entry(search, runpath, ":", path, each, user);
	for (size_t i = 0; !is_done && i < search->nr_folders; i++)
		is_done = each(user, search->folders[i]);
}

/* ---- libraries ---- */

struct wanted_library {
	struct library_search *search;
	const struct image *image; /* the program */
	const char *name;
	char *found;
};

static bool elf_library_try_folder(void *user, const char *folder)
{
	struct wanted_library *wanted = user;
	char *path;

	if (asprintf(&path, "%s/%s", folder, wanted->name) < 0) {
		elf_library_store_error(wanted->search, ENOMEM);
		return false;
	}
	if (elf_library_matches(wanted->search, wanted->image, path))
		wanted->found = path;
	else
		free(path);
	return wanted->found;
}

static char *library_copy(struct library_search *search, const char *name)
{
	char *copy = strdup(name);

	elf_library_store_error(search, copy ? 0 : ENOMEM);
	return copy;
}

char *library_find(struct library_search *search, struct image *image, const char *path,
		const char *name)
{
	struct wanted_library wanted = {.search = search, .image = image, .name = name};

	if (strchr(name, '/'))
		return elf_library_matches(search, image, name) ? library_copy(search, name) : NULL;
	library_each_folder(search, image, path, elf_library_try_folder, &wanted);
	return wanted.found;
}
