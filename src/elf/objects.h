/* SPDX-License-Identifier: MIT */
/*
 * Opens the images in a file: the file itself, or the members of a static archive. Reports a
 * damaged member and continues with the next one.
 */
#ifndef SIDE_ELF_OBJECTS_H
#define SIDE_ELF_OBJECTS_H

#include "elf/image.h"

struct objects_ops {
	/* @member: its name in the archive, NULL for the file itself. A result other than 0 ends
	   the walk. */
	int (*image)(void *priv, struct image *image, const char *member);
	/* Reports a member that cannot be read. Members that are not ELF files are skipped. */
	int (*broken)(void *priv, const struct error *error, const char *member);
	void *priv;
};

/* @path: of the file; paths of members of a thin archive are relative to its folder. Returns 0 or
   the result of a callback. */
int objects_read(int fd, const char *path, const struct objects_ops *ops);

#endif /* SIDE_ELF_OBJECTS_H */
