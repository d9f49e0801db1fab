/* SPDX-License-Identifier: MIT */
/* The part of a data stream file that is being decoded. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctf/window.h"

/* So that sizes in bits fit. */
static uint64_t sane_size(off_t size)
{
	return (uint64_t)size < UINT64_C(1) << 60 ? (uint64_t)size : UINT64_C(1) << 60;
}

void ctf_window_start(struct ctf_window *window, const char *dir, const char *name,
		const struct stat *stat)
{
	*window = (struct ctf_window){
			.dir = dir,
			.name = name,
			.device = stat->st_dev,
			.inode = stat->st_ino,
			.size = sane_size(stat->st_size),
			.normal = CTF_WINDOW_NORMAL,
	};
}

void ctf_window_free(struct ctf_window *window)
{
	free(window->bytes);
	window->bytes = NULL;
	window->room = window->count = 0;
}

static int fail(struct ctf_window *window, const char *why)
{
	window->why = why;
	window->count = 0;
	return -EIO;
}

/* A descriptor of the same file as before, or -EIO. */
static int reopen(struct ctf_window *window)
{
	struct stat stat;
	char *path;
	int fd;

	if (asprintf(&path, "%s/%s", window->dir, window->name) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	free(path);
	if (fd < 0)
		return fail(window, strerror(errno));
	if (fstat(fd, &stat) || stat.st_dev != window->device || stat.st_ino != window->inode) {
		close(fd);
		return fail(window, "another file has taken its place");
	}
	return fd;
}

static int make_room(struct ctf_window *window, size_t size)
{
	if (size <= window->room)
		return 0;
	ctf_window_free(window);
	window->bytes = malloc(size);
	if (!window->bytes)
		return -ENOMEM;
	window->room = size;
	return 0;
}

static int read_all(struct ctf_window *window, int fd, size_t size)
{
	while (window->count < size) {
		ssize_t got = pread(fd, window->bytes + window->count, size - window->count,
				(off_t)(window->at + window->count));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(window, strerror(errno));
		if (!got) {
			window->shrunk = true;
			window->size = window->at + window->count;
			return 0;
		}
		window->count += (size_t)got;
	}
	return 0;
}

int ctf_window_load(struct ctf_window *window, uint64_t from, size_t wanted)
{
	uint64_t left = from < window->size ? window->size - from : 0;
	size_t size = wanted > window->normal ? wanted : window->normal;
	int fd, ret;

	if (size > left)
		size = (size_t)left;
	window->at = from;
	window->count = 0;
	if (!size)
		return 0;
	ret = make_room(window, size);
	if (ret)
		return ret;
	fd = reopen(window);
	if (fd < 0)
		return fd;
	ret = read_all(window, fd, size);
	/* The next window comes from the disk while this one is being decoded. */
	if (!ret && size < left)
		(void)posix_fadvise(fd, (off_t)(from + size), (off_t)window->normal,
				POSIX_FADV_WILLNEED);
	close(fd);
	return ret;
}

uint64_t ctf_window_grown(const struct ctf_window *window)
{
	struct stat stat;
	char *path;
	int ret;

	if (window->shrunk || asprintf(&path, "%s/%s", window->dir, window->name) < 0)
		return 0;
	ret = fstatat(AT_FDCWD, path, &stat, 0);
	free(path);
	if (ret || stat.st_dev != window->device || stat.st_ino != window->inode)
		return 0;
	return sane_size(stat.st_size) > window->size ? sane_size(stat.st_size) : 0;
}
