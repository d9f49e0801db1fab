/* SPDX-License-Identifier: MIT */
/*
 * An ELF file as the memory that it becomes, without running it: segments at their addresses, with
 * the relocations applied that do not need other files. For an object file (.o), sections that are
 * loaded get addresses in a row.
 *
 * Nothing in the file is trusted. Whatever stands in it, each function ends with a result or an
 * error, and memory stays in proportion to the size of the file.
 */
#ifndef SIDE_ELF_IMAGE_H
#define SIDE_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;

struct image_error {
	char text[256]; /* half a sentence: "it is not an ELF file" */
	bool foreign;   /* it is something else than ELF, not a broken ELF file */
};

/* A place in memory that holds pointers to descriptions. */
struct image_table {
	uint64_t address;
	uint64_t size;
};

/*
 * Both take over nothing: the caller closes fd, after image_close(). @relocate: apply relocations;
 * not wanted for what is mapped in a process, where it has been done.
 */
int image_open(int fd, bool relocate, struct image **image, struct image_error *error);
/* The same of a file that is in memory, which must stay until image_close(). With relocations. */
int image_open_memory(
		const void *bytes, size_t size, struct image **image, struct image_error *error);
void image_close(struct image *image);

/* Copy memory of the image; 0, or -EFAULT if it is not all there. For struct visit_memory. */
int image_read(void *image, uint64_t address, void *to, size_t size);

/* All tables of the file; none when it has no events, or was stripped of its section headers. */
const struct image_table *image_tables(const struct image *image, size_t *count);
bool image_has_sections(const struct image *image);
/* Of a file without tables, whose events are in another one: a sentence that says so and which; else NULL. */
const char *image_elsewhere(const struct image *image);

unsigned int image_pointer_size(const struct image *image); /* 4 or 8 */
/* Of a file without section headers: where its descriptions are. They are in no table. */
const uint64_t *image_found(const struct image *image, size_t *count);

uint8_t image_byte_order(const struct image *image); /* enum side_type_label_byte_order */
uint16_t image_machine(const struct image *image);   /* EM_… */

/* A part of the file that is mapped when it is loaded; sorted by address. */
struct image_segment {
	uint64_t address;
	uint64_t memory_size;
	uint64_t offset;    /* in the file */
	uint64_t file_size; /* the rest of memory_size is zero */
	bool writable;
};

const struct image_segment *image_segments(const struct image *image, size_t *count);

/*
 * What the dynamic section says, in its order: DT_NEEDED, DT_RPATH, DT_RUNPATH. Text is valid until
 * image_close(). False: there is no such entry. @index counts entries of that tag from 0.
 */
bool image_dynamic_text(struct image *image, int64_t tag, size_t index, const char **text);

/* A symbol that the file defines. */
struct image_symbol {
	uint64_t address;
	uint64_t size;
};

/*
 * Look for a function or object in the dynamic symbol table, and with @all in the full one, too, if
 * it was not stripped. False: the file does not define it.
 */
bool image_find_symbol(
		struct image *image, const char *name, bool all, struct image_symbol *symbol);

/* A file that is to be linked still (.o), whose addresses are ours. */
bool image_is_object(const struct image *image);

/*
 * Where the file keeps the address of a function or object that another file may define; there may be several,
 * counted by @index from 0. False: there are no more.
 */
bool image_find_slot(struct image *image, const char *name, size_t index, uint64_t *address);

#endif /* SIDE_ELF_IMAGE_H */
