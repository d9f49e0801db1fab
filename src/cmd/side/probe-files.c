/* SPDX-License-Identifier: MIT */
/* All files that a program executes: those of a process, or the program and what its linker will load. */
#include "probe-wish.h"

#include "elf/image.h"
#include "elf/libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 1024

struct files {
	char *paths[FILES_MAX];
	size_t count;
	struct library_search *search;
};

/* Takes the path, which may be NULL. */
static void add_path(struct files *files, char *path)
{
	bool known = !path || files->count == FILES_MAX;

	for (size_t i = 0; i < files->count && !known; i++)
		known = !strcmp(files->paths[i], path);
	if (known)
		free(path);
	else
		files->paths[files->count++] = path;
}

/* A library that is not found will be missed by the linker, too. */
static void add_needed(struct files *files, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct image_error error;
	struct image *image;
	const char *name;

	if (fd < 0)
		return;
	if (!image_open(fd, false, &image, &error)) {
		for (size_t i = 0; image_dynamic_text(image, DT_NEEDED, i, &name); i++)
			add_path(files, library_find(files->search, image, path, name));
		image_close(image);
	}
	close(fd);
}

/* All that the linker will load for the program, which is the first one. */
static void find_files(struct files *files, const char *program)
{
	files->paths[0] = strdup(program);
	files->count = files->paths[0] != NULL;
	for (size_t i = 0; i < files->count; i++)
		add_needed(files, files->paths[i]);
}

int probe_add_files(const struct probe_target *target, struct resolve *resolve,
		struct resolve_error *error)
{
	struct resolve_error ignored;
	struct files *files;
	int ret;

	if (target->pid)
		return resolve_add_process(resolve, target->pid, error);
	ret = resolve_add_file(resolve, target->exe, error);
	if (ret)
		return ret;
	files = calloc(1, sizeof(*files));
	if (!files)
		return 0;
	files->search = library_search_open();
	if (files->search)
		find_files(files, target->exe);
	for (size_t i = 0; i < files->count; i++) {
		/* The program is there already. */
		if (i)
			(void)resolve_add_file(resolve, files->paths[i], &ignored);
		free(files->paths[i]);
	}
	if (files->search)
		library_search_close(files->search);
	free(files);
	return 0;
}
