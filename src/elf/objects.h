/* SPDX-License-Identifier: MIT */
/*
 * The images in a file: the file itself, or the members of a static archive. What is broken is told
 * and does not keep the others from being read.
 */
#ifndef SIDE_ELF_OBJECTS_H
#define SIDE_ELF_OBJECTS_H

#include "elf/image.h"

struct objects_ops {
	/* @member: its name in the archive, NULL for the file itself. What is not 0 ends the walk. */
	int (*image)(void *priv, struct image *image, const char *member);
	/* What cannot be read; members that are no ELF files are passed over without a word. */
	int (*broken)(void *priv, const struct image_error *error, const char *member);
	void *priv;
};

/* @path: of the file, beside which the members of a thin archive are. 0 or what a function returned. */
int objects_read(int fd, const char *path, const struct objects_ops *ops);

#endif /* SIDE_ELF_OBJECTS_H */
