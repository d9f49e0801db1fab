/* SPDX-License-Identifier: MIT */
/*
 * Reads an ELF file as the memory that a process would have, without running it: segments at their
 * addresses, with the relocations applied that need no other file. In an object file (.o), sections
 * that are loaded get consecutive addresses.
 *
 * The file is not trusted. With any content, each function ends with a result or an error, and the
 * memory that it uses stays in proportion to the size of the file.
 */
#ifndef SIDE_ELF_IMAGE_H
#define SIDE_ELF_IMAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;

/* Memory that contains pointers to descriptions. */
struct image_table {
	uint64_t address;
	uint64_t size;
};

/*
 * Open an image. The caller closes fd, after image_close(). @relocate: apply relocations; false for
 * a file that is mapped in a process, whose memory is relocated. Returns 0 or a negative errno with
 * half a sentence in @error ("it is not an ELF file"): -ENOEXEC if it is not an ELF file, -EINVAL
 * if it is damaged.
 */
int image_open(int fd, bool relocate, struct image **ret_opened, struct error *error);
/* The same for a file in memory, which must stay valid until image_close(). Applies relocations. */
int image_open_memory(
		const void *bytes, size_t size, struct image **ret_opened, struct error *error);
void image_close(struct image *image);

/* Copy memory of the image. 0, or -EFAULT if a part is not mapped. Has the type of the read
   function of struct visit_memory. */
int image_read(void *image, uint64_t address, void *to, size_t size);

/* All tables of the file; none if it has no events, or has no section headers. */
const struct image_table *image_tables(const struct image *image, size_t *ret_count);
bool image_has_sections(const struct image *image);
/* For a file without tables whose events are in another file: a sentence that names that file; else
   NULL. */
const char *image_elsewhere(const struct image *image);

unsigned int image_pointer_size(const struct image *image); /* 4 or 8 */
/* The descriptions in a file without section headers, which are in no table. */
const uint64_t *image_found(const struct image *image, size_t *ret_count);

uint8_t image_byte_order(const struct image *image); /* enum side_type_label_byte_order */
uint16_t image_machine(const struct image *image);   /* EM_… */

/* A part of the file that is mapped when it is loaded; segments are sorted by address. */
struct image_segment {
	uint64_t address;
	uint64_t memory_size;
	uint64_t offset;    /* in the file */
	uint64_t file_size; /* the remainder of memory_size is zero */
	bool writable;
};

/* The segments, valid until image_close(). */
const struct image_segment *image_segments(const struct image *image, size_t *ret_count);

/*
 * Get the text of a dynamic entry (DT_NEEDED, DT_RPATH, DT_RUNPATH), valid until image_close().
 * False: no such entry. @index counts entries of that tag from 0.
 */
bool image_dynamic_text(struct image *image, int64_t tag, size_t index, const char **ret_text);

/* A symbol that the file defines. */
struct image_symbol {
	uint64_t address;
	uint64_t size;
};

/*
 * Find a function or object in the dynamic symbol table, and with @all also in the full one, if
 * that was not stripped. False: the file does not define it.
 */
bool image_find_symbol(
		struct image *image, const char *name, bool all, struct image_symbol *ret_symbol);

/* True for an object file (.o), whose addresses this library assigned. */
bool image_is_object(const struct image *image);

/*
 * Find a slot in which the file keeps the address of a function or object that another file may
 * define. There may be several, counted by @index from 0. False: no more.
 */
bool image_find_slot(struct image *image, const char *name, size_t index, uint64_t *ret_address);

#endif /* SIDE_ELF_IMAGE_H */
