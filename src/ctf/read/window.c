/* SPDX-License-Identifier: MIT */
/* Loads the part of a data stream file that is being decoded. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "ctf/compress.h"
#include "ctf/read/window.h"

/* Limit sizes so that their number of bits fits 64 bits. */
static uint64_t sane_size(off_t size)
{
	return (uint64_t)size < UINT64_C(1) << 60 ? (uint64_t)size : UINT64_C(1) << 60;
}

void ctf_window_free(struct ctf_window *window)
{
	free(window->bytes);
	window->bytes = NULL;
	window->capacity = window->count = 0;
	ctf_unzstd_free(window->unzstd);
	window->unzstd = NULL;
}

static int ctf_window_set_error(struct ctf_window *window, const char *why)
{
	window->why = why;
	window->count = 0;
	return -EIO;
}

/* Open the same file as before. Returns a descriptor, or -EIO. */
static int reopen(struct ctf_window *window)
{
	struct stat stat;
	char *path;
	int fd;

	if (window->dir_fd >= 0) {
		fd = openat(window->dir_fd, window->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	} else {
		if (asprintf(&path, "%s/%s", window->dir, window->name) < 0)
			return -ENOMEM;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		free(path);
	}
	if (fd < 0)
		return ctf_window_set_error(window, strerror(errno));
	if (fstat(fd, &stat)) {
		const char *why = strerror(errno);

		close(fd);
		return ctf_window_set_error(window, why);
	}
	if (stat.st_dev != window->device || stat.st_ino != window->inode) {
		close(fd);
		return ctf_window_set_error(window, "another file has replaced it");
	}
	return fd;
}

int ctf_window_start(struct ctf_window *window, int dir_fd, const char *dir, const char *name,
		const struct stat *stat)
{
	int fd, ret;

	*window = (struct ctf_window){
			.dir_fd = dir_fd,
			.dir = dir,
			.name = name,
			.device = stat->st_dev,
			.inode = stat->st_ino,
			.size = sane_size(stat->st_size),
			.normal = CTF_WINDOW_NORMAL,
	};
	if (!ctf_is_compressed(name, NULL))
		return 0;
	fd = reopen(window);
	if (fd < 0) {
		/* The first read reports the error. Without its frames, the file would be read as
		   plain records. */
		window->unopened = window->why;
		return fd == -ENOMEM ? fd : 0;
	}
	ret = ctf_unzstd_is_meant(fd, name);
	if (ret < 0)
		window->unopened = strerror(-ret);
	if (ret > 0) {
		window->unzstd = ctf_unzstd_create(fd, window->size);
		if (window->unzstd && ctf_unzstd_error(window->unzstd))
			window->unopened = strerror(ctf_unzstd_error(window->unzstd));
		else if (window->unzstd)
			window->size = ctf_unzstd_size(window->unzstd);
	}
	close(fd);
	return ret > 0 && !window->unzstd ? -ENOMEM : 0;
}

/* Keeps the first `kept` bytes. */
static int ctf_window_ensure_capacity(struct ctf_window *window, size_t size, size_t kept)
{
	uint8_t *bytes;

	if (size <= window->capacity)
		return 0;
	if (!kept) {
		free(window->bytes);
		window->bytes = NULL;
		window->capacity = 0;
	}
	bytes = realloc(window->bytes, size);
	if (!bytes)
		return -ENOMEM;
	window->bytes = bytes;
	window->capacity = size;
	return 0;
}

static int ctf_window_read_all(struct ctf_window *window, int fd, size_t size)
{
	ssize_t got;

	if (window->count >= size)
		return 0;
	got = io_read_at(fd, window->bytes + window->count, size - window->count,
			window->at + window->count);
	if (got < 0)
		return ctf_window_set_error(window, strerror((int)-got));
	window->count += (size_t)got;
	if (window->count < size) {
		window->shrunk = true;
		window->size = window->at + window->count;
	}
	return 0;
}

/*
 * The same as ctf_window_read_all() for the content of frames. Returns the bytes before a damage
 * first; the next call returns the error.
 */
static int decode_all(struct ctf_window *window, int fd, size_t size)
{
	size_t kept = window->count;

	while (window->count < size) {
		size_t got;
		int ret = ctf_unzstd_read(window->unzstd, fd, window->at + window->count,
				window->bytes + window->count, size - window->count, &got,
				&window->why, &window->resume);

		if (ret == -EIO && window->count > kept) {
			window->resume = 0;
			return 0;
		}
		if (ret == -EIO)
			window->count = 0;
		if (ret)
			return ret;
		if (!got) {
			window->shrunk = true;
			window->size = window->at + window->count;
			return 0;
		}
		window->count += got;
	}
	return 0;
}

/*
 * Move loaded bytes from `from` on to the front, if they come from frames. Returns their number.
 * Plain files are read again.
 */
static size_t ctf_window_retain(struct ctf_window *window, uint64_t from)
{
	size_t kept = 0;

	if (window->unzstd && from >= window->at && from < window->at + window->count) {
		kept = (size_t)(window->at + window->count - from);
		memmove(window->bytes, window->bytes + (from - window->at), kept);
	}
	return kept;
}

int ctf_window_load(struct ctf_window *window, uint64_t from, size_t wanted)
{
	uint64_t left = from < window->size ? window->size - from : 0;
	size_t size = wanted > window->normal ? wanted : window->normal;
	int fd, ret;

	if (window->unopened)
		return ctf_window_set_error(window, window->unopened);
	if (size > left)
		size = (size_t)left;
	window->count = ctf_window_retain(window, from);
	window->at = from;
	window->resume = 0;
	if (window->count > size)
		window->count = size;
	if (window->count == size)
		return 0;
	ret = ctf_window_ensure_capacity(window, size, window->count);
	if (ret)
		return ret;
	fd = reopen(window);
	if (fd < 0)
		return fd;
	ret = window->unzstd ? decode_all(window, fd, size) : ctf_window_read_all(window, fd, size);
	/* The kernel reads the next window from the disk while this one is being decoded. */
	if (!ret && size < left && !window->unzstd)
		(void)posix_fadvise(fd, (off_t)(from + size), (off_t)window->normal,
				POSIX_FADV_WILLNEED);
	close(fd);
	return ret;
}

void ctf_window_extend(struct ctf_window *window, const struct stat *stat)
{
	uint64_t size = sane_size(stat->st_size);
	int fd;

	if (window->shrunk || stat->st_dev != window->device || stat->st_ino != window->inode)
		return;
	if (!window->unzstd) {
		window->size = size > window->size ? size : window->size;
		return;
	}
	if (size <= ctf_unzstd_file_size(window->unzstd))
		return;
	fd = reopen(window);
	if (fd < 0)
		return;
	ctf_unzstd_grow(window->unzstd, fd, size);
	close(fd);
	size = ctf_unzstd_size(window->unzstd);
	window->size = size > window->size ? size : window->size;
}

static int ctf_window_stat_file(const struct ctf_window *window, struct stat *ret_stat)
{
	char *path;
	int ret;

	if (window->dir_fd >= 0)
		return fstatat(window->dir_fd, window->name, ret_stat, 0);
	if (asprintf(&path, "%s/%s", window->dir, window->name) < 0)
		return -1;
	ret = fstatat(AT_FDCWD, path, ret_stat, 0);
	free(path);
	return ret;
}

uint64_t ctf_window_grown(struct ctf_window *window)
{
	uint64_t size;
	struct stat stat;
	int fd;

	if (window->shrunk || ctf_window_stat_file(window, &stat) ||
			stat.st_dev != window->device || stat.st_ino != window->inode)
		return 0;
	size = sane_size(stat.st_size);
	if (!window->unzstd)
		return size > window->size ? size : 0;
	if (size <= ctf_unzstd_file_size(window->unzstd))
		return 0;
	fd = reopen(window);
	if (fd < 0)
		return 0;
	ctf_unzstd_grow(window->unzstd, fd, size);
	close(fd);
	size = ctf_unzstd_size(window->unzstd);
	return size > window->size ? size : 0;
}
