/* SPDX-License-Identifier: MIT */
/* The names that a program imports from its libraries: the location `LIBRARY:$imports`. */
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int imports_compare(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static bool imports_is_wanted(const GElf_Sym *symbol)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx == SHN_UNDEF && symbol->st_name &&
			(type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* Reads one table of dynamic symbols. The names belong to the file. */
static int imports_read_table(
		Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct module_imports *imports)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data ? data->d_size / header->sh_entsize : 0;

	if (count > MODULE_IMPORTS_MAX)
		return -E2BIG;
	imports->names = calloc(count + 1, sizeof(*imports->names));
	if (!imports->names)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) || !imports_is_wanted(&symbol))
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && *name)
			imports->names[imports->count++] = name;
	}
	qsort(imports->names, imports->count, sizeof(*imports->names), imports_compare);
	return 0;
}

int module_imports_read(struct resolve_module *module, struct module_imports *ret_imports)
{
	Elf *elf = module_elf(module);
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM &&
				header.sh_entsize)
			return imports_read_table(elf, section, &header, ret_imports);
	}
	return 0;
}

bool module_imports_has(const struct module_imports *imports, const char *name)
{
	/* Symbol tables of debug files append the version: `memcpy@@GLIBC_2.14`. */
	char *plain = strndup(name, strcspn(name, "@"));
	bool found = plain && imports->count &&
			bsearch(&plain, imports->names, imports->count, sizeof(*imports->names),
					imports_compare);

	free(plain);
	return found;
}

void module_imports_free(struct module_imports *imports)
{
	free(imports->names);
	*imports = (struct module_imports){.names = NULL};
}
