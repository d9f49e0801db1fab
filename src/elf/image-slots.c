/* SPDX-License-Identifier: MIT */
/* Finds the slots in which a loaded file keeps the addresses of functions of other files. */
#include "elf/image.h"
#include "elf/image-parts.h"

#include <string.h>

bool image_is_object(const struct image *image)
{
	return image->header.e_type == ET_REL;
}

static bool image_slots_contains(const struct image *image, Elf_Scn *section,
		const GElf_Shdr *header, const char *name, size_t *index, uint64_t *ret_address)
{
	Elf_Scn *symbols = elf_getscn(image->elf, header->sh_link);
	Elf_Data *relocations = elf_getdata(section, NULL), *table;
	GElf_Shdr symbols_header;
	GElf_Rela relocation;
	GElf_Sym symbol;
	const char *found;

	if (!symbols || !relocations || !gelf_getshdr(symbols, &symbols_header) ||
			symbols_header.sh_type != SHT_DYNSYM)
		return false;
	table = elf_getdata(symbols, NULL);
	for (int i = 0; table && gelf_getrela(relocations, i, &relocation); i++) {
		if (!GELF_R_SYM(relocation.r_info) ||
				!gelf_getsym(table, (int)GELF_R_SYM(relocation.r_info), &symbol))
			continue;
		found = elf_strptr(image->elf, symbols_header.sh_link, symbol.st_name);
		if (!found || strcmp(found, name) || (*index)--)
			continue;
		*ret_address = relocation.r_offset;
		return true;
	}
	return false;
}

bool image_find_slot(struct image *image, const char *name, size_t index, uint64_t *ret_address)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA)
			continue;
		if (image_slots_contains(image, section, &header, name, &index, ret_address))
			return true;
	}
	return false;
}
