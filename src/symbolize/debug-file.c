/* SPDX-License-Identifier: MIT */
/*
 * Finds the debug information of a file: by build id in the folders of debug files, by the debug
 * link beside the file and in these folders, and last from a server.
 *
 * A file is accepted only if its build id is that of the module, or, if the module has none, if its
 * checksum is the one in the debug link.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/module.h"

#define STANDARD_FOLDER "/usr/lib/debug"

struct debug_file_search {
	const struct module *module;
	const char *link; /* NULL: none */
	uint32_t sum;
	bool has_sum;
	struct symbols_file *found;
};

static bool debug_file_matches(
		const struct debug_file_search *search, const struct symbols_file *file)
{
	const struct module_name *name = &search->module->name;
	uint8_t id[SYMBOLS_BUILD_ID_MAX];
	uint32_t sum;
	size_t size;

	if (search->module->file.elf && file_inode(file) == file_inode(&search->module->file))
		return false;
	if (name->build_id_size) {
		size = file_build_id(file->elf, id);
		return size == name->build_id_size && !memcmp(id, name->build_id, size);
	}
	return search->has_sum && !file_sum(file->fd, &sum) && sum == search->sum;
}

static bool try_path(struct debug_file_search *search, char *path)
{
	bool found = path && file_open(search->found, path);

	free(path);
	if (found && !debug_file_matches(search, search->found)) {
		file_close(search->found);
		found = false;
	}
	return found;
}

static char *path_of_id(const char *folder, size_t length, const struct module_name *name)
{
	char hex[2 * SYMBOLS_BUILD_ID_MAX + 1] = "", *path;

	if (name->build_id_size < 2)
		return NULL;
	for (size_t i = 0; i < name->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", name->build_id[i]);
	if (asprintf(&path, "%.*s/.build-id/%.2s/%s.debug", (int)length, folder, hex, hex + 2) < 0)
		return NULL;
	return path;
}

static char *path_of_link(const char *folder, size_t length, const char *middle, const char *inside,
		const char *link)
{
	const char *slash = strrchr(inside, '/');
	char *path;

	if (asprintf(&path, "%.*s%.*s%s/%s", (int)length, folder, slash ? (int)(slash - inside) : 0,
			    inside, middle, link) < 0)
		return NULL;
	return path;
}

static bool debug_file_try_directory(
		struct debug_file_search *search, const char *folder, size_t length)
{
	const struct module_name *name = &search->module->name;

	if (!length)
		return false;
	if (try_path(search, path_of_id(folder, length, name)))
		return true;
	return search->link &&
			(try_path(search,
					 path_of_link(folder, length, "", name->path,
							 search->link)) ||
					try_path(search,
							path_of_link(folder, length, "", "",
									search->link)));
}

static bool try_folders(struct debug_file_search *search, const char *folders)
{
	while (folders) {
		size_t length = strcspn(folders, ":");

		if (debug_file_try_directory(search, folders, length))
			return true;
		folders = folders[length] ? folders + length + 1 : NULL;
	}
	return false;
}

static bool try_beside(struct debug_file_search *search)
{
	const char *path = search->module->name.path;

	return search->link && *path == '/' &&
			(try_path(search, path_of_link("", 0, "", path, search->link)) ||
					try_path(search,
							path_of_link("", 0, "/.debug", path,
									search->link)));
}

bool debug_find(const struct module *module, const struct symbols_options *options,
		struct symbols_file *found)
{
	struct debug_file_search search = {.module = module, .found = found};

	if (module->file.elf)
		search.link = file_debug_link(module->file.elf, &search.sum);
	search.has_sum = search.link != NULL;
	if (!search.link && module->name.debug_link && *module->name.debug_link)
		search.link = module->name.debug_link;
	/* The link must be a file name, so that it cannot leave the folder. */
	if (search.link && strchr(search.link, '/'))
		search.link = NULL;
	return try_folders(&search, options->path) || try_beside(&search) ||
			try_folders(&search, STANDARD_FOLDER) ||
			(options->debuginfod &&
					try_path(&search,
							fetch_debug_file(module->name.build_id,
									module->name.build_id_size)));
}
