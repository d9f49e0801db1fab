/* SPDX-License-Identifier: MIT */
/* The functions or the variables of a file, from its symbol tables. */
#include "symbolize/symbol-table.h"

#include <stdlib.h>

#include "base/inside/search.h"

#define SYMBOL_TABLE_MAX ((size_t)16 << 20)
#define SYMBOL_TABLE_STEPS 64 /* symbols before an address that are checked */

static int symbol_table_compare(const void *one, const void *other)
{
	const struct table_symbol *left = one, *right = other;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return left->size < right->size ? 1 : left->size > right->size ? -1 : 0;
}

/* False: the table is full, or out of memory. */
static bool symbol_table_add(struct symbol_table *table, const GElf_Sym *symbol, const char *name)
{
	size_t count = table->count;
	struct table_symbol *grown;

	if (!(count & (count - 1))) { /* Grows at 0, 1, 2, 4, … */
		grown = reallocarray(table->symbols, count ? count * 2 : 1, sizeof(*grown));
		if (!grown)
			return false;
		table->symbols = grown;
	}
	table->symbols[table->count++] =
			(struct table_symbol){symbol->st_value, symbol->st_size, name};
	return table->count < SYMBOL_TABLE_MAX;
}

static void symbol_table_read_section(struct symbol_table *table, Elf *elf, Elf_Scn *section,
		const GElf_Shdr *header, bool (*is_wanted)(int type))
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name;

		if (!is_wanted(GELF_ST_TYPE(symbol.st_info)) || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && *name && !symbol_table_add(table, &symbol, name))
			return;
	}
}

void symbol_table_read(struct symbol_table *table, Elf *elf, bool (*is_wanted)(int type))
{
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) &&
				(header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			symbol_table_read_section(table, elf, section, &header, is_wanted);
	}
}

void symbol_table_sort(struct symbol_table *table)
{
	if (table->count)
		qsort(table->symbols, table->count, sizeof(*table->symbols), symbol_table_compare);
}

const struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
	/* The first symbol that begins behind the address. */
	size_t low = search_leading(i, table->count, table->symbols[i].begin <= address);

	/* The nearest symbol that begins before the address and contains it. */
	for (size_t i = low; i-- > 0 && low - i <= SYMBOL_TABLE_STEPS;) {
		const struct table_symbol *symbol = &table->symbols[i];

		if (address - symbol->begin < symbol->size)
			return symbol;
	}
	return NULL;
}

void symbol_table_free(struct symbol_table *table)
{
	free(table->symbols);
	*table = (struct symbol_table){.count = 0};
}
