/* SPDX-License-Identifier: MIT */
/*
 * /etc/ld.so.preload: the list of libraries that the loader adds to each program. side has one line
 * in it, and changes nothing else.
 *
 * A rename replaces the file, so programs and a crash see a complete one.
 */
#ifndef PROGRAMS_SIDE_SYSTEM_PRELOAD_FILE_H
#define PROGRAMS_SIDE_SYSTEM_PRELOAD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"

#define PRELOAD_FILE "/etc/ld.so.preload"
#define PRELOAD_FILE_MAX (1u << 20) /* bytes; a larger file is refused */
/* The end of side's line. A loader replaces $LIB by the name of its own directory. */
#define PRELOAD_FILE_DIRECTORY "/side-preload"
#define PRELOAD_FILE_BELOW "/$LIB/side-preload/libside-system.so"
#define PRELOAD_FILE_LIBRARY PRELOAD_FILE_DIRECTORY PRELOAD_FILE_BELOW

struct preload_file {
	bool exists;
	struct stat status; /* if it exists */
	char *text;         /* terminated; may contain NUL bytes */
	size_t size;
};

/* A part of the text, without the end of the line. */
struct preload_line {
	size_t at, size;
};

/* Returns 0 or a negative errno. It is no error if the file does not exist. */
int preload_file_read(struct preload_file *ret_file, struct error *error);
void preload_file_free(struct preload_file *file);

/* Finds the first line of side from an offset on. */
bool preload_file_find(const struct preload_file *file, size_t from, struct preload_line *ret_line);
/* The library is named, but not in a line of its own. */
bool preload_file_is_mixed(const struct preload_file *file);

/*
 * Let one process at a time change the file. The caller closes the descriptor. Returns 0 or a
 * negative errno.
 */
int preload_file_lock(int *ret_fd, struct error *error);
/*
 * Add or remove the line, with the lock. preload_file_remove() removes the file if it becomes empty,
 * unless it was empty before preload_file_add(). Return 0 or a negative errno; then the file is
 * unchanged, or the change may be lost in a crash of the machine.
 */
int preload_file_add(const struct preload_file *file, const char *line, struct error *error);
int preload_file_remove(const struct preload_file *file, struct error *error);

#endif /* PROGRAMS_SIDE_SYSTEM_PRELOAD_FILE_H */
