/* SPDX-License-Identifier: MIT */
/* The variables of a file: the name of the one that contains an address, from its symbol tables. */
#include <stdlib.h>
#include <string.h>

#include "base/inside/search.h"
#include "symbolize/module.h"

#define DATA_VARIABLES_MAX ((size_t)16 << 20)

struct data_variable {
	uint64_t begin, size;
	const char *name; /* points into the file's string table */
};

struct data_index {
	struct data_variable *variables; /* sorted by begin; of several, the largest first */
	size_t count;
};

void data_free(struct data_index *index)
{
	if (index)
		free(index->variables);
	free(index);
}

static int data_compare(const void *one, const void *other)
{
	const struct data_variable *left = one, *right = other;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return left->size < right->size ? 1 : left->size > right->size ? -1 : 0;
}

static bool data_add(struct data_index *index, const GElf_Sym *symbol, const char *name)
{
	size_t count = index->count;
	struct data_variable *grown;

	if (!(count & (count - 1))) { /* Grows at 0, 1, 2, 4, … */
		grown = reallocarray(index->variables, count ? count * 2 : 1, sizeof(*grown));
		if (!grown)
			return false;
		index->variables = grown;
	}
	index->variables[index->count++] =
			(struct data_variable){symbol->st_value, symbol->st_size, name};
	return index->count < DATA_VARIABLES_MAX;
}

static void data_read_table(
		struct data_index *index, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		int type = GELF_ST_TYPE(symbol.st_info);
		const char *name;

		if ((type != STT_OBJECT && type != STT_COMMON) || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && *name && !data_add(index, &symbol, name))
			return;
	}
}

static void data_read(struct data_index *index, Elf *elf)
{
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) &&
				(header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			data_read_table(index, elf, section, &header);
	}
}

static const struct data_index *data_get_index(struct module *module)
{
	struct data_index *index = module->data;

	if (index)
		return index;
	index = calloc(1, sizeof(*index));
	if (!index)
		return NULL;
	data_read(index, module->file.elf);
	data_read(index, module->debug.elf);
	if (index->count)
		qsort(index->variables, index->count, sizeof(*index->variables), data_compare);
	module->data = index;
	return index;
}

void data_find(struct module *module, uint64_t address, struct symbol *ret_symbol)
{
	const struct data_index *index = data_get_index(module);
	size_t low = index ? search_leading(i, index->count, index->variables[i].begin <= address)
			   : 0;

	/* Of several that begin before the address, the nearest that contains it. */
	for (size_t i = low; i-- > 0 && low - i <= 64;) {
		const struct data_variable *variable = &index->variables[i];

		if (address - variable->begin >= variable->size)
			continue;
		ret_symbol->function = module_readable(variable->name);
		ret_symbol->inside = address - variable->begin;
		return;
	}
}
