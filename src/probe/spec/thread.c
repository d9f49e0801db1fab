/* SPDX-License-Identifier: MIT */
/*
 * Compute addresses of thread-local variables.
 *
 * Variables of the program have an offset from the thread pointer that the linker determined. For a
 * library, the loader decides. It writes to the library's global offset table (GOT) either the
 * number of the library's thread-local block and the variable's offset in it, or the variable's
 * offset from the thread pointer. The relocations identify these entries.
 */
#include "fetch.h"
#include "parts.h"

#include <errno.h>

#define RELOCATIONS_MAX (1u << 22)

static bool spec_thread_find_segment(Elf *elf, GElf_Phdr *ret_segment)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(elf, (int)i, ret_segment) && ret_segment->p_type == PT_TLS)
			return true;
	}
	return false;
}

/* The program's block ends at the thread pointer, aligned as the segment requires. */
static int thread_in_program(const GElf_Phdr *segment, uint64_t offset, struct fetch *fetch)
{
	uint64_t align = segment->p_align > 1 ? segment->p_align : 1,
		 begin = segment->p_vaddr & (align - 1), size = segment->p_memsz + begin;

	if ((align & (align - 1)) || size < begin || size > INT32_MAX)
		return -ENOTSUP;
	size = ((size + align - 1) & ~(align - 1)) - begin;
	return fetch_op(fetch, PROBE_FETCH_THREAD, 0, 0, (int64_t)(offset - size));
}

struct relocations {
	uint64_t module, offset; /* addresses of table entries; 0: none */
	uint64_t from;           /* offset of the variable that the second entry is for */
};

/* Get the value of a symbol that this file defines. Others belong to other libraries. */
static bool symbol_is_here(
		Elf *elf, const GElf_Shdr *header, const GElf_Rela *rela, uint64_t *ret_value)
{
	Elf_Scn *section = elf_getscn(elf, header->sh_link);
	uint64_t number = GELF_R_SYM(rela->r_info);
	Elf_Data *data;
	GElf_Sym symbol;

	*ret_value = 0;
	if (!number)
		return true;
	data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || number > INT32_MAX || !gelf_getsym(data, (int)number, &symbol) ||
			symbol.st_shndx == SHN_UNDEF)
		return false;
	*ret_value = symbol.st_value;
	return true;
}

static void read_relocations(
		Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct relocations *ret_found)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < count && i < RELOCATIONS_MAX; i++) {
		GElf_Rela rela;
		uint64_t value;

		if (!gelf_getrela(data, (int)i, &rela))
			return;
		switch (GELF_R_TYPE(rela.r_info)) {
		case R_X86_64_DTPMOD64:
			if (!ret_found->module && symbol_is_here(elf, header, &rela, &value))
				ret_found->module = rela.r_offset;
			break;
		case R_X86_64_TPOFF64:
			if (ret_found->offset || !symbol_is_here(elf, header, &rela, &value))
				break;
			ret_found->offset = rela.r_offset;
			ret_found->from = value + (uint64_t)rela.r_addend;
			break;
		default: break;
		}
	}
}

static int thread_in_library(Elf *elf, uint64_t offset, struct fetch *fetch)
{
	struct fetch word = {.nr_ops = 0};
	struct relocations found = {.module = 0};
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int ret;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			read_relocations(elf, section, &header, &found);
	if (!found.module && !found.offset)
		return -ENOTSUP;
	ret = fetch_op(&word, PROBE_FETCH_MODULE, 0, 0,
			(int64_t)(found.offset ? found.offset : found.module));
	if (!ret)
		ret = fetch_op(&word, PROBE_FETCH_LOAD, 0, 8, 0);
	if (!ret && found.offset) {
		ret = fetch_op(fetch, PROBE_FETCH_THREAD, 0, 0, (int64_t)(offset - found.from));
		return ret ? ret : fetch_calculate(fetch, PROBE_SUM_PLUS, &word);
	}
	*fetch = word;
	if (!ret)
		ret = fetch_op(fetch, PROBE_FETCH_BLOCK, 0, 0, 0);
	return ret ? ret : fetch_add(fetch, (int64_t)offset);
}

int thread_variable(struct resolve_module *module, uint64_t offset, struct fetch *ret_fetch)
{
	Elf *elf = module_elf(module);
	GElf_Phdr segment;

	*ret_fetch = (struct fetch){.nr_ops = 0};
	if (!elf || !spec_thread_find_segment(elf, &segment) || offset >= segment.p_memsz)
		return -ENOTSUP;
	return module->executable ? thread_in_program(&segment, offset, ret_fetch)
				  : thread_in_library(elf, offset, ret_fetch);
}
