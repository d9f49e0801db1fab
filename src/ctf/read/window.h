/* SPDX-License-Identifier: MIT */
/*
 * The part of a data stream file that is being decoded, copied to memory.
 *
 * A mapping would be simpler, but then a file that is truncated while it is read, or a disk that
 * fails, would kill the program with SIGBUS. No descriptor stays open between two loads, so one
 * descriptor is enough to merge thousands of files.
 */
#ifndef SIDE_CTF_READ_WINDOW_H
#define SIDE_CTF_READ_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "ctf/read/unzstd.h"

/*
 * Size of a load for each file, unless there are very many files or a record needs more. Tests
 * define smaller sizes.
 */
#ifndef CTF_WINDOW_NORMAL
#define CTF_WINDOW_NORMAL ((size_t)256 << 10)
#define CTF_WINDOW_MIN ((size_t)16 << 10)
#endif
#define CTF_WINDOW_MAX ((size_t)256 << 20)

struct ctf_window {
	int dir_fd; /* Descriptor of `dir`, which may be renamed; or -1. */
	const char *dir;
	const char *name; /* Both outlive the window. */
	dev_t device;
	ino_t inode;
	uint64_t size; /* Size of the file, as far as it is read. */
	size_t normal;
	uint8_t *bytes;
	size_t capacity;
	uint64_t at;          /* The loaded part begins at this byte of the file. */
	size_t count;         /* Its size. */
	bool shrunk;          /* The file has shrunk: size is the remaining size. */
	const char *unopened; /* Why its frames are not known and nothing can be loaded, or NULL. */
	const char *why;      /* The error, as the end of a sentence. */
	struct ctf_unzstd *unzstd; /* If not NULL, offsets are those of the decompressed bytes. */
	uint64_t resume;           /* After -EIO: where to continue behind the damage; or 0. */
};

/* Initialize a window of a file, with the result of stat(). Loads nothing. 0 or -ENOMEM. */
int ctf_window_start(struct ctf_window *window, int dir_fd, const char *dir, const char *name,
		const struct stat *stat);
void ctf_window_free(struct ctf_window *window);

/*
 * Load the file from byte `from` on: at least `wanted` bytes if the file has them. 0, -ENOMEM, or
 * -EIO (why and resume are set).
 */
int ctf_window_load(struct ctf_window *window, uint64_t from, size_t wanted);

/* Set the new size of the file; a smaller size is ignored. */
void ctf_window_extend(struct ctf_window *window, const struct stat *stat);

/* The size of the file if it has grown; else 0. The loaded part does not change. */
uint64_t ctf_window_grown(struct ctf_window *window);

#endif /* SIDE_CTF_READ_WINDOW_H */
