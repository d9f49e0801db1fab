/* SPDX-License-Identifier: MIT */
/* Finding traces: directories that have a file "metadata". */
#ifndef CTF_FIND_H
#define CTF_FIND_H

#include <dirent.h>
#include <stdint.h>
#include <stdbool.h>

/* Called for each, with all that is in it, sorted by name. Another value than 0 ends the search. */
typedef int ctf_found_trace(
		void *context, int dir_fd, const char *path, struct dirent **names, int count);

/*
 * Look at `dir` and everything below it, and if `growing`, in chunks that are not finished. 0, what the function returned, or a negative errno when
 * `dir` cannot be read; -E2BIG: it has more than CTF_FIND_DIRECTORIES_MAX directories. *nr_directories, which may be
 * NULL: how many were read.
 */
int ctf_find_traces(const char *dir, bool growing, ctf_found_trace *found, void *context,
		uint64_t *nr_directories);

#endif /* CTF_FIND_H */
