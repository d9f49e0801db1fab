/* SPDX-License-Identifier: MIT */
/*
 * Static archives (ar(5)): their members, one after the other. Names in GNU's and BSD's way, thin
 * archives, whose members are files of their own. Nothing in the file is trusted: each step goes at
 * least a header further, so it ends.
 */
#ifndef SIDE_ELF_ARCHIVE_H
#define SIDE_ELF_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCHIVE_NAME_MAX 4096

struct archive {
	int fd;
	uint64_t size; /* of the file */
	bool thin;
	uint64_t next;              /* where the next header is */
	uint64_t names, names_size; /* of GNU's member "//"; 0: none yet */
};

struct archive_member {
	char name[ARCHIVE_NAME_MAX];
	bool outside;    /* of a thin archive: name is a path, from the archive's folder */
	uint64_t offset; /* of its bytes, and how many; not of one that is outside */
	uint64_t size;
};

/* 0, or -EINVAL: the file is no archive. @fd stays the caller's. */
int archive_open(int fd, struct archive *archive);

/* 1: the next member that is not a table of the archive's own; 0: there are no more; -EINVAL: damaged. */
int archive_next(struct archive *archive, struct archive_member *member);

#endif /* SIDE_ELF_ARCHIVE_H */
