/* SPDX-License-Identifier: MIT */
/* What the two files of the image share: image.c (memory), image-relocate.c (relocations). */
#ifndef SIDE_CMD_IMAGE_PARTS_H
#define SIDE_CMD_IMAGE_PARTS_H

#include "image.h"

#include <gelf.h>

struct patch {
	uint64_t address;
	uint64_t value;
};

struct image {
	int fd;
	uint64_t size; /* of the file */
	Elf *elf;
	GElf_Ehdr header;
	size_t nr_sections;
	size_t names; /* section with the names of sections */
	struct image_segment *segments;
	size_t nr_segments;
	struct patch *patches;
	size_t nr_patches, patches_room;
	uint64_t relocation_bytes;
	struct image_table *tables;
	size_t nr_tables;
	uint64_t *section_addresses; /* of an object file, by section index */
};

/* The bytes of the file, before any relocation; 0 or -EFAULT. */
int image_read_segments(const struct image *image, uint64_t address, void *to, size_t size);

/* Makes all patches. 0 or a negative errno with *error filled in. */
int image_relocate(struct image *image, struct image_error *error);

/* Fills in *error and returns @code. */
int image_fail(struct image_error *error, int code, const char *text);

#endif /* SIDE_CMD_IMAGE_PARTS_H */
