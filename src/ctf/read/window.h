/* SPDX-License-Identifier: MIT */
/*
 * The part of a data stream file that is being decoded, copied into memory.
 *
 * A mapping would do the same with less code, but a file that is cut while it is read, or a disk
 * that fails, would then end the program with a signal. No descriptor stays open between two
 * loads: thousands of files are merged with one.
 */
#ifndef SIDE_CTF_READ_WINDOW_H
#define SIDE_CTF_READ_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "ctf/read/unzstd.h"

/*
 * What is loaded at once for each file, unless there are very many of them or a record needs more.
 * Tests make it small.
 */
#ifndef CTF_WINDOW_NORMAL
#define CTF_WINDOW_NORMAL ((size_t)256 << 10)
#define CTF_WINDOW_MIN ((size_t)16 << 10)
#endif
#define CTF_WINDOW_MAX ((size_t)256 << 20)

struct ctf_window {
	int dir_fd; /* Of `dir`, whatever its name is by now; or -1. */
	const char *dir;
	const char *name; /* Both outlive the window. */
	dev_t device;
	ino_t inode;
	uint64_t size; /* Of the file, as far as it is read. */
	size_t normal;
	uint8_t *bytes;
	size_t capacity;
	uint64_t at;          /* What is loaded: from this byte of the file on … */
	size_t count;         /* … so many. */
	bool shrunk;          /* The file has become shorter: size is what was left. */
	const char *unopened; /* Why its frames are not known and nothing is loaded, or NULL. */
	const char *why;      /* The error, as the end of a sentence. */
	struct ctf_unzstd *unzstd; /* Offsets are those of what is in the frames; or NULL. */
	uint64_t resume;           /* After -EIO: where to read on, behind what is damaged; or 0. */
};

/* The file as it was seen. Nothing of it is loaded. -ENOMEM. */
int ctf_window_start(struct ctf_window *window, int dir_fd, const char *dir, const char *name,
		const struct stat *stat);
void ctf_window_free(struct ctf_window *window);

/*
 * Load what stands from the byte `from` on: at least `wanted` bytes if the file has them. Returns
 * 0, -ENOMEM, or -EIO (why and resume are set).
 */
int ctf_window_load(struct ctf_window *window, uint64_t from, size_t wanted);

/* The file has this size now; if it is less than before, nothing changes. */
void ctf_window_extend(struct ctf_window *window, const struct stat *stat);

/* The size of the file now, if it has grown; else 0. What has been loaded stays. */
uint64_t ctf_window_grown(struct ctf_window *window);

#endif /* SIDE_CTF_READ_WINDOW_H */
