/* SPDX-License-Identifier: MIT */
/* Finds traces: directories with a file "metadata". */
#ifndef SIDE_CTF_READ_FIND_H
#define SIDE_CTF_READ_FIND_H

#include <dirent.h>
#include <stdint.h>
#include <stdbool.h>

/* Called for each trace, with the sorted names in its directory. A result other than 0 ends the
   search. */
typedef int ctf_found_trace(
		void *context, int dir_fd, const char *path, struct dirent **names, int count);

/*
 * Search `dir` and everything below it for traces; if `growing`, also in unfinished chunks. Returns
 * 0, the value of the callback, or a negative errno if `dir` cannot be read. -E2BIG: it has more
 * than CTF_FIND_DIRECTORIES_MAX directories. `*ret_nr_directories` is the number of directories
 * read; may be NULL.
 */
int ctf_find_traces(const char *dir, bool growing, ctf_found_trace *found, void *context,
		uint64_t *ret_nr_directories);

#endif /* SIDE_CTF_READ_FIND_H */
