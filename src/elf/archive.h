/* SPDX-License-Identifier: MIT */
/*
 * Reads the members of static archives (ar(5)) in order. Supports long names of GNU and BSD, and
 * thin archives, whose members are separate files. The file is not trusted: each step advances by
 * at least one header, so a loop over the members ends.
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
	uint64_t next;              /* offset of the next header */
	uint64_t names, names_size; /* of GNU's member "//"; 0: none yet */
};

struct archive_member {
	char name[ARCHIVE_NAME_MAX];
	bool outside;    /* of a thin archive: name is a path relative to the archive's folder */
	uint64_t offset; /* of its bytes; offset and size are not set if the member is outside */
	uint64_t size;
};

/* 0, or -EINVAL: the file is no archive. The caller closes @fd. */
int archive_open(int fd, struct archive *archive);

/* 1: *member is the next one, tables of the archive are skipped; 0: no more; -EINVAL: damaged. */
int archive_next(struct archive *archive, struct archive_member *member);

#endif /* SIDE_ELF_ARCHIVE_H */
