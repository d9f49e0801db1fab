/* SPDX-License-Identifier: MIT */
/*
 * Makes loaded objects call functions of side instead of the C library's, through their tables of
 * addresses (GOT), as the dynamic linker would for a preloaded library.
 */
#include "probe/patch/imports.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The dynamic section of an object. */
struct import_object {
	uintptr_t base, begin, end; /* of what is mapped */
	uintptr_t relro, relro_end; /* pages that the loader has made read-only */
	const Elf64_Sym *symbols;
	const char *names;
	const Elf64_Rela *tables[2];
	size_t sizes[2];
	size_t relative; /* entries at the begin of the first table that have no symbol */
};

/* The loader has replaced offsets by addresses, except in objects that it did not load itself. */
static uintptr_t patch_import_resolve_address(const struct import_object *object, uintptr_t value)
{
	return value < object->base ? object->base + value : value;
}

static bool patch_import_read_dynamic(struct import_object *object, const Elf64_Dyn *entry)
{
	for (; entry->d_tag != DT_NULL; entry++) {
		uintptr_t at = patch_import_resolve_address(object, entry->d_un.d_ptr);

		switch (entry->d_tag) {
		case DT_SYMTAB: object->symbols = (const Elf64_Sym *)at; break;
		case DT_STRTAB: object->names = (const char *)at; break;
		case DT_RELA: object->tables[0] = (const Elf64_Rela *)at; break;
		case DT_RELASZ: object->sizes[0] = entry->d_un.d_val; break;
		case DT_RELACOUNT: object->relative = entry->d_un.d_val; break;
		case DT_JMPREL: object->tables[1] = (const Elf64_Rela *)at; break;
		case DT_PLTRELSZ: object->sizes[1] = entry->d_un.d_val; break;
		}
	}
	return object->symbols && object->names;
}

static bool patch_import_read_object(
		struct import_object *ret_object, const struct dl_phdr_info *info)
{
	const uintptr_t pages = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	const Elf64_Dyn *dynamic = NULL;
	unsigned int i;

	*ret_object = (struct import_object){.base = info->dlpi_addr, .begin = UINTPTR_MAX};
	for (i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *header = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + header->p_vaddr;
		uintptr_t end = begin + header->p_memsz;

		if (header->p_type == PT_DYNAMIC) {
			dynamic = (const Elf64_Dyn *)begin;
		} else if (header->p_type == PT_GNU_RELRO) {
			/* The last page is writable if it contains other data too. */
			ret_object->relro = begin & pages;
			ret_object->relro_end = end & pages;
		} else if (header->p_type == PT_LOAD) {
			ret_object->begin = begin < ret_object->begin ? begin : ret_object->begin;
			ret_object->end = end > ret_object->end ? end : ret_object->end;
		}
	}
	return dynamic && patch_import_read_dynamic(ret_object, dynamic);
}

static const struct patch_import *patch_import_find(
		const struct patch_imports *imports, const char *name)
{
	for (size_t i = 0; i < imports->count; i++)
		if (imports->functions[i].replacement && !strcmp(name, imports->functions[i].name))
			return &imports->functions[i];
	return NULL;
}

/* Stores the address. Pages that the loader has made read-only are made writable meanwhile. */
static void patch_import_redirect_slot(const struct import_object *object, void **slot, void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)slot, begin = at & ~(page - 1);
	bool protected = at >= object->relro && at < object->relro_end;

	if (protected && mprotect((void *)begin, page, PROT_READ | PROT_WRITE))
		return;
	/*
	 * Release: the pointers that the functions of side use, before a thread calls through the
	 * slot. Pairs with compiled code, whose loads are ordered only by the dependency on the
	 * address.
	 */
	__atomic_store_n(slot, to, __ATOMIC_RELEASE);
	if (protected)
		(void)mprotect((void *)begin, page, PROT_READ);
}

static void patch_import_turn_slot(const struct import_object *object, const Elf64_Rela *entry,
		const struct patch_imports *imports)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(entry->r_info);
	const Elf64_Sym *symbol = &object->symbols[ELF64_R_SYM(entry->r_info)];
	void **slot = (void **)(object->base + entry->r_offset);
	const struct patch_import *function;
	uintptr_t now;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || symbol->st_shndx)
		return;
	function = patch_import_find(imports, object->names + symbol->st_name);
	if (!function)
		return;
	/* Relaxed: only compared. */
	now = (uintptr_t)__atomic_load_n(slot, __ATOMIC_RELAXED);
	/* Before it is bound, it points to code in the object that binds it. */
	if (now == (uintptr_t)function->real ||
			(type == R_X86_64_JUMP_SLOT && now >= object->begin && now < object->end))
		patch_import_redirect_slot(object, slot, function->replacement);
}

static bool patch_import_is_excepted(
		const struct import_object *object, const struct patch_imports *imports)
{
	for (size_t i = 0; i < sizeof(imports->except) / sizeof(*imports->except); i++)
		if (imports->except[i] >= object->begin && imports->except[i] < object->end)
			return true;
	return false;
}

void patch_imports_replace(const struct dl_phdr_info *info, const struct patch_imports *imports)
{
	struct import_object object;

	if (!patch_import_read_object(&object, info) || patch_import_is_excepted(&object, imports))
		return;
	for (size_t table = 0; table < 2; table++) {
		size_t i = table ? 0 : object.relative;

		for (; object.tables[table] && i < object.sizes[table] / sizeof(Elf64_Rela); i++)
			patch_import_turn_slot(&object, &object.tables[table][i], imports);
	}
}
