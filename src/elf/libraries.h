/* SPDX-License-Identifier: MIT */
/* Finds the libraries that a file needs where the dynamic linker would find them, without running
   the file. */
#ifndef SIDE_ELF_LIBRARIES_H
#define SIDE_ELF_LIBRARIES_H

#include <stdbool.h>

struct image;
struct library_search;

/* Reads LD_LIBRARY_PATH and /etc/ld.so.conf. NULL: out of memory. */
struct library_search *library_search_open(void);
void library_search_close(struct library_search *search);

/*
 * Find the library @name that @image (the file at @path) needs. Returns its path; free() it. NULL:
 * there is none for the image's machine.
 */
char *library_find(struct library_search *search, struct image *image, const char *path,
		const char *name);

/* Use this text instead of this process's LD_LIBRARY_PATH; NULL: none. It must remain valid. */
void library_search_set_path(struct library_search *search, const char *path);

/*
 * Call each() for each folder that library_find() searches, in its order, until each() returns
 * true.
 */
typedef bool library_folder_fn(void *user, const char *folder);
void library_each_folder(struct library_search *search, struct image *image, const char *path,
		library_folder_fn *each, void *user);

/*
 * The negative errno of a failed allocation, open or read, or 0. After such a failure, the search
 * may not have found an existing library.
 */
int library_search_error(const struct library_search *search);

#endif /* SIDE_ELF_LIBRARIES_H */
