/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SYMBOLIZE_SYMBOL_TABLE_H
#define SIDE_SYMBOLIZE_SYMBOL_TABLE_H

/* The functions or the variables of a file, by address. */

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_symbol {
	uint64_t begin, size;
	const char *name; /* points into the file's string table */
};

/* All zero is an empty table. */
struct symbol_table {
	struct table_symbol *symbols; /* sorted by begin, then by size, the largest first */
	size_t count;
};

/*
 * Adds the named symbols of a file whose type (STT_...) is wanted. `elf` may be NULL. If out of
 * memory, later symbols are missing. Call symbol_table_sort() after the last file.
 */
void symbol_table_read(struct symbol_table *table, Elf *elf, bool (*is_wanted)(int type));
void symbol_table_sort(struct symbol_table *table);
/* The symbol that contains the address, or NULL. */
const struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);
void symbol_table_free(struct symbol_table *table);

#endif
