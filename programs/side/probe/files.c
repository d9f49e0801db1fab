/* SPDX-License-Identifier: MIT */
/*
 * List the files that a program executes: those of a process, or the program and all files that its
 * dynamic linker will load.
 */
#include "spec-options.h"

#include "elf/image.h"
#include "elf/libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 1024
#define PRELOAD_FILE "/etc/ld.so.preload"
#define PRELOAD_SEPARATORS ": \t\n"

struct probe_file_list {
	char *paths[FILES_MAX];
	size_t count;
	struct library_search *search;
};

/* Takes ownership of the path, which may be NULL. */
static void probe_files_add_path(struct probe_file_list *files, char *path)
{
	bool known = !path || files->count == FILES_MAX;

	for (size_t i = 0; i < files->count && !known; i++)
		known = !strcmp(files->paths[i], path);
	if (known)
		free(path);
	else
		files->paths[files->count++] = path;
}

/* If a library is not found, the dynamic linker will report it. */
static void add_needed(struct probe_file_list *files, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct error error;
	struct image *image;
	const char *name;

	if (fd < 0)
		return;
	if (!image_open(fd, false, &image, &error)) {
		for (size_t i = 0; image_dynamic_text(image, DT_NEEDED, i, &name); i++)
			probe_files_add_path(files, library_find(files->search, image, path, name));
		image_close(image);
	}
	close(fd);
}

/*
 * Add a list of libraries that the program's linker reads: names and paths, separated by blanks or
 * colons.
 */
static void probe_files_add_list(
		struct probe_file_list *files, struct image *image, const char *program, char *list)
{
	char *state, *name = strtok_r(list, PRELOAD_SEPARATORS, &state);

	for (; name; name = strtok_r(NULL, PRELOAD_SEPARATORS, &state))
		probe_files_add_path(files, library_find(files->search, image, program, name));
}

static void add_list_file(struct probe_file_list *files, struct image *image, const char *program)
{
	FILE *file = fopen(PRELOAD_FILE, "re");
	char *line = NULL;
	size_t size = 0;

	if (!file)
		return;
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "#")] = '\0';
		probe_files_add_list(files, image, program, line);
	}
	free(line);
	fclose(file);
}

/*
 * The libraries that the dynamic linker loads before those that a program needs, if the program
 * needs any.
 */
static void add_preloads(struct probe_file_list *files, const char *program)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *variable = getenv("LD_PRELOAD"), *needed;
	char *list = variable ? strdup(variable) : NULL;
	struct error error;
	struct image *image;

	if (fd >= 0 && !image_open(fd, false, &image, &error)) {
		if (image_dynamic_text(image, DT_NEEDED, 0, &needed)) {
			if (list)
				probe_files_add_list(files, image, program, list);
			add_list_file(files, image, program);
		}
		image_close(image);
	}
	if (fd >= 0)
		close(fd);
	free(list);
}

/* Add all files that the linker will load for the program, beginning with the program. */
static void find_files(struct probe_file_list *files, const char *program, bool preloads)
{
	files->paths[0] = strdup(program);
	files->count = files->paths[0] != NULL;
	if (preloads)
		add_preloads(files, program);
	for (size_t i = 0; i < files->count; i++)
		add_needed(files, files->paths[i]);
}

int probe_add_files(const struct probe_target *target, struct resolve *resolve, struct error *error)
{
	struct error ignored;
	struct probe_file_list *files;
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
		find_files(files, target->exe, target->preloads);
	for (size_t i = 0; i < files->count; i++) {
		/* The program was added before. */
		if (i)
			(void)resolve_add_file(resolve, files->paths[i], &ignored);
		free(files->paths[i]);
	}
	if (files->search)
		library_search_close(files->search);
	free(files);
	return 0;
}
