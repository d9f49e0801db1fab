/* SPDX-License-Identifier: MIT */
/* Structures and functions that the files of the image share: image.c (memory), image-relocate.c
   (relocations) and headless.c (no section headers). */
#ifndef SIDE_ELF_IMAGE_PARTS_H
#define SIDE_ELF_IMAGE_PARTS_H

#include "base/error.h"

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_segment;
struct image_table;

struct image_patch {
	uint64_t address;
	uint64_t value;
};

struct image {
	int fd; /* -1: the file is in memory */
	const unsigned char *bytes;
	uint64_t size; /* of the file */
	Elf *elf;
	GElf_Ehdr header;
	size_t nr_sections;
	size_t names; /* section with the names of sections */
	struct image_segment *segments;
	size_t nr_segments;
	struct image_patch *patches;
	size_t nr_patches, patches_capacity;
	uint64_t relocation_bytes;
	struct image_table *tables;
	size_t nr_tables;
	const char *elsewhere;       /* why tables that the file should have are in another file */
	uint64_t *section_addresses; /* of an object file, by section index */
	uint64_t *found;             /* descriptions in a file without section headers */
	size_t nr_found;
};

/* Read bytes of the file, before any relocation. 0 or -EFAULT. */
int image_read_segments(const struct image *image, uint64_t address, void *to, size_t size);

/* Add all patches. 0 or a negative errno with *error filled in. */
int image_relocate(struct image *image, struct error *error);

/* Apply one relocation of a loaded file whose symbol has a known value (0: defined by another
   file). */
int image_relocate_plain(
		struct image *image, const GElf_Rela *relocation, bool in_place, uint64_t symbol);

/* Apply the relocations that the dynamic section of a file without section headers lists. 0 or a
   negative errno. */
int image_relocate_headless(struct image *image);

/* Find the descriptions of a file without section headers. 0 or a negative errno. */
int image_search(struct image *image);

/* Fill in *error and return @code. */
int image_fail(struct error *error, int code, const char *text);

#endif /* SIDE_ELF_IMAGE_PARTS_H */
