/* SPDX-License-Identifier: MIT */
/* Finds traces: directories with a file "metadata". */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "ctf/ctf.h"
#include "ctf/read/find.h"

#define FIND_DEPTH_MAX 16
#define FIND_SHOW_EACH 64

struct ctf_trace_search {
	ctf_found_trace *found;
	void *context;
	bool growing;
	uint64_t nr_directories; /* directories read so far */
};

static ctf_search_show *find_show;

void ctf_reader_on_search(ctf_search_show *show)
{
	find_show = show;
}

/* Prefix of a chunk's name until it is finished (recorder/rotation/rotate.c). */
#define GROWING ".chunk-"

static bool is_hidden(const struct ctf_trace_search *search_for, const char *name)
{
	return *name == '.' &&
			(!search_for->growing || strncmp(name, GROWING, strlen(GROWING)) != 0);
}

static int ctf_find_compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int ctf_find_search_directory(struct ctf_trace_search *search_for, int parent_fd,
		const char *name, const char *path, unsigned int depth);

static int search_inside(struct ctf_trace_search *search_for, int fd, const char *path,
		struct dirent **names, int count, unsigned int depth)
{
	bool has_metadata = false;
	int ret = 0;

	for (int i = 0; i < count; i++)
		has_metadata |= strcmp(names[i]->d_name, "metadata") == 0;
	if (has_metadata)
		ret = search_for->found(search_for->context, fd, path, names, count);
	for (int i = 0; !ret && i < count && depth < FIND_DEPTH_MAX; i++) {
		const char *name = names[i]->d_name;
		char *inner;

		if (is_hidden(search_for, name) ||
				(names[i]->d_type != DT_DIR && names[i]->d_type != DT_UNKNOWN) ||
				/* LTTng's index files. */
				(has_metadata && strcmp(name, "index") == 0))
			continue;
		if (asprintf(&inner, "%s/%s", path, name) < 0)
			return -ENOMEM;
		ret = ctf_find_search_directory(search_for, fd, name, inner, depth + 1);
		free(inner);
	}
	return ret;
}

static int ctf_find_search_directory(struct ctf_trace_search *search_for, int parent_fd,
		const char *name, const char *path, unsigned int depth)
{
	int fd = openat(parent_fd, name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
	int error = fd < 0 ? errno : 0;
	struct dirent **names = NULL;
	int count, ret;

	if (++search_for->nr_directories > CTF_FIND_DIRECTORIES_MAX) {
		if (fd >= 0)
			close(fd);
		return -E2BIG;
	}
	if (find_show && search_for->nr_directories % FIND_SHOW_EACH == 0)
		find_show(path, search_for->nr_directories);
	if (fd < 0)
		/* A file is skipped. */
		return depth && !error_is_lack_of_resources(error) ? 0 : -error;
	count = scandirat(fd, ".", &names, NULL, ctf_find_compare_names);
	ret = count < 0 ? -errno : search_inside(search_for, fd, path, names, count, depth);
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	close(fd);
	return ret;
}

int ctf_find_traces(const char *dir, bool growing, ctf_found_trace *found, void *context,
		uint64_t *ret_nr_directories)
{
	struct ctf_trace_search search_for = {
			.found = found, .context = context, .growing = growing};
	int ret = ctf_find_search_directory(&search_for, AT_FDCWD, dir, dir, 0);

	if (ret_nr_directories)
		*ret_nr_directories = search_for.nr_directories;
	return ret;
}
