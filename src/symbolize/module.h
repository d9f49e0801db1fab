/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SYMBOLIZE_MODULE_H
#define SIDE_SYMBOLIZE_MODULE_H

/* One file with code, and what is known of the inside of it. Private to the room. */

#include "symbolize/symbols.h"

#include <elfutils/libdw.h>
#include <gelf.h>

/* A file that is open. */
struct symbols_file {
	int fd;
	Elf *elf;
};

/* What names a module in a trace. */
struct module_name {
	const char *path;
	uint64_t inode; /* 0: not known */
	uint8_t build_id[SYMBOLS_BUILD_ID_MAX];
	size_t build_id_size;
	const char *debug_link;
};

struct module_function {
	uint64_t begin, size;
	const char *name; /* in the file */
};

struct module {
	struct module *next;
	uint32_t number;
	struct module_name name; /* its texts are our own */
	bool opened;
	bool first_known;
	uint64_t first;                    /* the address that stands at the base */
	struct symbols_file file, debug;   /* elf NULL: there is none that may be used */
	Dwarf *dwarf;                      /* NULL: no lines */
	struct module_function *functions; /* sorted by begin */
	size_t count;
};

struct module *module_create(const struct module_name *name);
void module_free(struct module *module);
/* Once, before the following: reads what there is. */
void module_open(struct module *module, const struct symbols_options *options);

/* Offset in the file → address in it. */
bool module_address(const struct module *module, uint64_t offset, uint64_t *address);
/* The function and the line of an address; texts are malloc'ed. */
void module_find(const struct module *module, uint64_t address, struct symbol *symbol);

/* file.c: false when it is no ELF file. */
bool file_open(struct symbols_file *file, const char *path);
void file_close(struct symbols_file *file);
/* Bytes of the id, or 0. */
size_t file_build_id(Elf *elf, uint8_t id[SYMBOLS_BUILD_ID_MAX]);
/* The name in .gnu_debuglink, and the sum that the file must have; NULL: none. */
const char *file_debug_link(Elf *elf, uint32_t *sum);
bool file_has_section(Elf *elf, const char *name);
uint64_t file_inode(const struct symbols_file *file);
/* CRC-32 of the whole file, as zlib computes it. 0 or a negative errno: the file cannot be read, or there is no memory. */
int file_sum(int fd, uint32_t *ret_sum);

/* debug.c: opens the file with the debug information. */
bool debug_find(const struct module *module, const struct symbols_options *options,
		struct symbols_file *found);

/* fetch.c: a path, malloc'ed, or NULL. */
char *fetch_debug_file(const uint8_t *build_id, size_t size);

#endif
