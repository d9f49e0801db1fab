/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SYMBOLIZE_MODULE_H
#define SIDE_SYMBOLIZE_MODULE_H

/* One file with code, and its functions and lines. Private to the module symbolize. */

#include "symbolize/debuginfod.h"
#include "symbolize/symbols.h"
#include "symbolize/symbol-table.h"

#include <elfutils/libdw.h>
#include <gelf.h>

/* An open ELF file. */
struct symbols_file {
	int fd;
	Elf *elf;
};

/* The compressed symbols of a stripped file. */
struct mini_debug {
	Elf *elf; /* NULL: none */
	uint8_t *bytes;
};

/* Identifies a module in a trace. */
struct module_name {
	const char *path;
	uint64_t inode; /* 0: not known */
	uint8_t build_id[SYMBOLS_BUILD_ID_MAX];
	size_t build_id_size;
	const char *debug_link;
};

struct module {
	struct module *next;
	uint32_t number;
	struct module_name name; /* owns its strings */
	bool opened;
	bool first_known;
	uint64_t first;                  /* the address that is mapped at the base */
	struct symbols_file file, debug; /* elf NULL: no usable file */
	struct mini_debug mini;
	Dwarf *dwarf; /* NULL: no lines */
	struct symbol_table functions;
	struct symbol_table variables; /* read at the first lookup of one */
	bool has_variables;
	struct inlined_index *inlined; /* NULL: no address was looked up yet */
	struct member_index *members;  /* NULL: no variable was looked up yet */
};

/* Copies the name. NULL: out of memory. Opens no file. */
struct module *module_create(const struct module_name *name);
void module_free(struct module *module);
/* Call once, before the functions below. Opens the file and its debug file. */
void module_open(struct module *module, const struct symbols_options *options);

/* Convert an offset in the file to an address. False: no segment contains it. */
bool module_address(const struct module *module, uint64_t offset, uint64_t *ret_address);
/* Fill in the function, the line and the inlined functions of an address; all is malloc'ed. */
void module_find(struct module *module, uint64_t address, struct symbol *ret_symbol);
/* Fill in `function` and `inside` for an address of data; the name is malloc'ed. */
void module_find_variable(struct module *module, uint64_t address, struct symbol *ret_symbol);
/* The name without the version, demangled if it is mangled; malloc'ed. NULL: out of memory. */
char *module_readable(const char *name);
/* The unit of the debug information that has the code at the address. */
bool module_find_unit(Dwarf *dwarf, uint64_t address, Dwarf_Die *ret_unit);
/* An absolute path if possible; malloc'ed. Names are relative to the compiler's directory. */
char *module_whole_path(Dwarf_Die *unit, const char *file);

/* inlined.c: fills in the inlined functions of an address in this unit. */
void inlined_find(struct module *module, Dwarf_Die *unit, uint64_t address,
		struct symbol *ret_symbol);
void inlined_free(struct inlined_index *index);

/*
 * member.c: the name of the member or element that begins at this distance from the beginning of a
 * variable, such as ".lock" or "[3].lock"; "" for the variable itself. Malloc'ed; NULL: not known.
 */
char *member_find(struct module *module, uint64_t variable, uint64_t distance);
void member_index_free(struct member_index *index);

/* symbol.c */
#define SYMBOL_BYTES_MAX 16384
/*
 * Writes the inlined functions as bytes: for each its line, function and file. What does not fit is
 * left out, beginning with the outermost. Returns the number of bytes.
 */
size_t symbol_pack_inlined(const struct symbol *symbol, char bytes[SYMBOL_BYTES_MAX]);
/* Reads them. The bytes are not trusted: it stops at the first that is invalid. */
void symbol_unpack_inlined(struct symbol *symbol, const char *bytes, size_t size);
void symbol_free_inlined(struct symbol *symbol);

/* elf-file.c: false if it is no ELF file. */
bool file_open(struct symbols_file *file, const char *path);
void file_close(struct symbols_file *file);
/* Returns the size of the id, or 0. */
size_t file_build_id(Elf *elf, uint8_t id[SYMBOLS_BUILD_ID_MAX]);
/* The name in .gnu_debuglink, and the checksum that the file must have; NULL: none. */
const char *file_debug_link(Elf *elf, uint32_t *sum);
bool file_has_section(Elf *elf, const char *name);
/* Returns the raw bytes of the section, or NULL. */
Elf_Data *file_section_data(Elf *elf, const char *name);
uint64_t file_inode(const struct symbols_file *file);
/* CRC-32 of the whole file, as zlib computes it. 0 or a negative errno: the file cannot be read, or
   out of memory. */
int file_sum(int fd, uint32_t *ret_sum);

/* debug-file.c: opens the file with the debug information. */
bool debug_find(const struct module *module, const struct symbols_options *options,
		struct symbols_file *found);

/* mini-debug.c: elf NULL if the file has no usable compressed symbols. Close it before the file. */
void mini_debug_open(struct mini_debug *mini, Elf *elf);
void mini_debug_close(struct mini_debug *mini);

#endif
