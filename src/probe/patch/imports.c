/* SPDX-License-Identifier: MIT */
/*
 * Makes loaded objects call functions of side instead of the C library's, through their tables of
 * addresses (GOT), as the dynamic linker would for a preloaded library.
 */
#include "probe/patch/imports.h"
#include "probe/patch/stubs.h"
#include "probe/patch/taken.h"
#include "base/inside/raw.h"

#include <elf.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The dynamic section of an object. */
struct import_object {
	uintptr_t base, begin, end; /* of what is mapped */
	uintptr_t relro, relro_end; /* pages that the loader makes read-only after the relocation */
	bool is_read_only;          /* it has done so */
	const Elf64_Sym *symbols;
	const char *names;
	const Elf64_Rela *tables[2];
	size_t sizes[2];
	size_t relative; /* entries at the begin of the first table that have no symbol */
	const Elf64_Half *versions; /* of each symbol */
	const Elf64_Verneed *needed;
	size_t nr_needed;
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
		case DT_VERSYM: object->versions = (const Elf64_Half *)at; break;
		case DT_VERNEED: object->needed = (const Elf64_Verneed *)at; break;
		case DT_VERNEEDNUM: object->nr_needed = entry->d_un.d_val; break;
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

/*
 * Asks the kernel for an atomic change of a word that adds no bit to it. It refuses if the page is
 * read-only. Unlike a read of /proc/self/maps, this needs neither /proc nor time for each mapping.
 */
static bool patch_import_is_writable(uintptr_t at)
{
	const unsigned int operation = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0);

	return raw_call(SYS_futex, at, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL, at,
			       operation) >= 0;
}

/*
 * Another thread may be relocating the object: it must find the pages writable until it makes them
 * read-only itself. Imports that are bound to functions of side were relocated before.
 */
static bool patch_import_is_relocated(
		struct import_object *object, const struct patch_imports *imports)
{
	object->is_read_only = object->relro < object->relro_end &&
			!patch_import_is_writable(object->relro);
	return object->is_read_only || object->relro >= object->relro_end || imports->bound_only;
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
	bool protected = object->is_read_only && at >= object->relro && at < object->relro_end;

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

/* The version that an undefined symbol wants; NULL: none. */
static const char *patch_import_find_version(const struct import_object *object, size_t symbol)
{
	const Elf64_Verneed *file = object->needed;
	unsigned int version = object->versions ? object->versions[symbol] & 0x7fffu : 0;

	for (size_t i = 0; version > VER_NDX_GLOBAL && file && i < object->nr_needed; i++) {
		const Elf64_Vernaux *one = (const void *)((const char *)file + file->vn_aux);

		for (unsigned int j = 0; j < file->vn_cnt; j++) {
			if (one->vna_other == version)
				return object->names + one->vna_name;
			one = (const void *)((const char *)one + one->vna_next);
		}
		file = (const void *)((const char *)file + file->vn_next);
	}
	return NULL;
}

/* True if the slot is not bound to the function yet: it points to code of its object. */
static bool patch_import_will_be(const struct import_object *object, const Elf64_Rela *entry,
		uintptr_t now, const struct patch_import *function)
{
	const char *version;

	if (ELF64_R_TYPE(entry->r_info) != R_X86_64_JUMP_SLOT || now < object->begin ||
			now >= object->end)
		return false;
	if (!function->version)
		return true;
	version = patch_import_find_version(object, ELF64_R_SYM(entry->r_info));
	return version && !strcmp(version, function->version);
}

/* True if the object defines the function that was or will be called through the slot. */
static bool patch_import_is_definition(const struct import_object *object, const Elf64_Sym *symbol,
		const struct patch_import *function)
{
	const uintptr_t address = object->base + symbol->st_value;

	return address == (uintptr_t)function->real || address == (uintptr_t)function->replacement;
}

/* Returns the function that the slot must lead to instead; NULL: the slot stays. */
static const struct patch_import *patch_import_wanted(const struct import_object *object,
		const Elf64_Rela *entry, const struct patch_imports *imports)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(entry->r_info);
	const Elf64_Sym *symbol = &object->symbols[ELF64_R_SYM(entry->r_info)];
	void *const *slot = (void *const *)(object->base + entry->r_offset);
	const struct patch_import *function;
	uintptr_t now;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
			(symbol->st_shndx && !imports->definers))
		return NULL;
	function = patch_import_find(imports, object->names + symbol->st_name);
	if (!function)
		return NULL;
	if (symbol->st_shndx &&
			(function->spares_definer ||
					!patch_import_is_definition(object, symbol, function)))
		return NULL;
	/* Relaxed: only compared. */
	now = (uintptr_t)__atomic_load_n(slot, __ATOMIC_RELAXED);
	if (now == (uintptr_t)function->real ||
			(!imports->bound_only &&
					patch_import_will_be(object, entry, now, function)))
		return function;
	return NULL;
}

/* Redirects the slots of a table. With `calls_only`, `taken` gets those that code may take. */
static void patch_import_turn_table(const struct import_object *object, size_t table,
		const struct patch_imports *imports, struct patch_taken *taken, size_t *nr_taken)
{
	const Elf64_Rela *entries = object->tables[table];
	const size_t nr = entries ? object->sizes[table] / sizeof(Elf64_Rela) : 0;

	for (size_t i = table ? 0 : object->relative; i < nr; i++) {
		const struct patch_import *function =
				patch_import_wanted(object, &entries[i], imports);
		const uintptr_t slot = object->base + entries[i].r_offset;

		if (!function)
			continue;
		if (!imports->calls_only || ELF64_R_TYPE(entries[i].r_info) == R_X86_64_JUMP_SLOT)
			patch_import_redirect_slot(object, (void **)slot, function->replacement);
		else if (*nr_taken < PATCH_TAKEN_MAX)
			taken[(*nr_taken)++] = (struct patch_taken){
					.slot = slot, .replacement = function->replacement};
		else if (imports->nr_left)
			++*imports->nr_left;
	}
}

static bool patch_import_is_excepted(
		const struct import_object *object, const struct patch_imports *imports)
{
	for (size_t i = 0; i < sizeof(imports->except) / sizeof(*imports->except); i++)
		if (imports->except[i] >= object->begin && imports->except[i] < object->end)
			return true;
	return false;
}

static void patch_import_turn_call(uintptr_t distance, const struct patch_taken *slot, void *user)
{
	size_t *nr_left = user;

	if (patch_stub_redirect(distance, slot->slot, slot->replacement) && nr_left)
		++*nr_left;
}

/* Replaces addresses that only calls use. If other code takes one, redirects its calls instead. */
static void patch_import_turn_calls(const struct import_object *object,
		const struct dl_phdr_info *info, const struct patch_imports *imports,
		struct patch_taken *taken, size_t nr_taken)
{
	bool any = false;

	patch_taken_find(info, taken, nr_taken);
	for (size_t i = 0; i < nr_taken; i++) {
		any |= taken[i].is_taken;
		if (!taken[i].is_taken)
			patch_import_redirect_slot(
					object, (void **)taken[i].slot, taken[i].replacement);
	}
	if (any)
		patch_taken_calls(info, taken, nr_taken, patch_import_turn_call, imports->nr_left);
}

/* Only code is read: an object may have taken the place of one that was unloaded. */
static void patch_import_restore_calls(
		const struct dl_phdr_info *info, const struct patch_imports *imports)
{
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *header = &info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		for (size_t j = 0; j < imports->count; j++)
			if (imports->functions[j].replacement)
				patch_stubs_restore(begin, begin + header->p_memsz,
						imports->functions[j].real);
	}
}

void patch_imports_replace(const struct dl_phdr_info *info, const struct patch_imports *imports)
{
	struct patch_taken taken[PATCH_TAKEN_MAX];
	struct import_object object;
	size_t nr_taken = 0;

	if (!patch_import_read_object(&object, info) || patch_import_is_excepted(&object, imports))
		return;
	if (!patch_import_is_relocated(&object, imports)) {
		if (imports->nr_pending)
			++*imports->nr_pending;
		return;
	}
	for (size_t table = 0; table < 2; table++)
		patch_import_turn_table(&object, table, imports, taken, &nr_taken);
	if (nr_taken)
		patch_import_turn_calls(&object, info, imports, taken, nr_taken);
	if (imports->bound_only)
		patch_import_restore_calls(info, imports);
}
