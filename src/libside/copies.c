/* SPDX-License-Identifier: MIT */
/*
 * Binds objects that use libside.so.0 to the copy of libside in the program (copies.h).
 *
 * The dynamic linker has filled the global offset tables of these objects with addresses in
 * libside.so.0. They are replaced by addresses of the copy before the constructors of these objects
 * run. A weak reference to a function that an older copy lacks becomes NULL.
 */
#include "copies.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export.h"
#include "registry.h"

#if defined(__x86_64__) && defined(__LP64__)

static const struct copy_table *used;
static uintptr_t holder; /* an address in the object that has the copy */

static const void *copies_find(const char *name)
{
	return used ? copy_find_function(used, name) : NULL;
}

struct copies_object {
	uintptr_t base, begin, end; /* of the mapping */
	uintptr_t relro, relro_end; /* pages that the loader has made read-only */
	const Elf64_Phdr *headers;
	unsigned int nr_headers;
	const Elf64_Dyn *dynamic;
	const Elf64_Sym *symbols;
	const char *names;
	const Elf64_Rela *tables[2];
	size_t sizes[2];
};

static bool copies_is_in(const struct copies_object *object, uintptr_t address)
{
	return address >= object->begin && address < object->end;
}

static void copies_read_segments(struct copies_object *ret_object, const struct dl_phdr_info *info)
{
	const uintptr_t pages = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);

	*ret_object = (struct copies_object){.base = info->dlpi_addr,
			.begin = UINTPTR_MAX,
			.headers = info->dlpi_phdr,
			.nr_headers = info->dlpi_phnum};
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *header = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + header->p_vaddr;
		uintptr_t end = begin + header->p_memsz;

		if (header->p_type == PT_DYNAMIC) {
			ret_object->dynamic = (const Elf64_Dyn *)begin;
		} else if (header->p_type == PT_GNU_RELRO) {
			/* The last page stays writable if it has other data, too. */
			ret_object->relro = begin & pages;
			ret_object->relro_end = end & pages;
		} else if (header->p_type == PT_LOAD) {
			ret_object->begin = begin < ret_object->begin ? begin : ret_object->begin;
			ret_object->end = end > ret_object->end ? end : ret_object->end;
		}
	}
}

/* Other C libraries have offsets in the dynamic section where glibc stores addresses. */
static uintptr_t copies_address(const struct copies_object *object, uintptr_t value)
{
	return value < object->base ? object->base + value : value;
}

static bool copies_read_dynamic(struct copies_object *object)
{
	for (const Elf64_Dyn *entry = object->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
		uintptr_t at = copies_address(object, entry->d_un.d_ptr);

		switch (entry->d_tag) {
		case DT_SYMTAB: object->symbols = (const Elf64_Sym *)at; break;
		case DT_STRTAB: object->names = (const char *)at; break;
		case DT_RELA: object->tables[0] = (const Elf64_Rela *)at; break;
		case DT_RELASZ: object->sizes[0] = entry->d_un.d_val; break;
		case DT_JMPREL: object->tables[1] = (const Elf64_Rela *)at; break;
		case DT_PLTRELSZ: object->sizes[1] = entry->d_un.d_val; break;
		}
	}
	return object->symbols && object->names;
}

/* ---- the copy, and libside.so.0 ---- */

static int copies_find_in_object(struct dl_phdr_info *info, size_t size, void *unused)
{
	uintptr_t notes;

	(void)size;
	(void)unused;
	used = copy_find(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &notes);
	holder = used ? notes : 0;
	return used != NULL;
}

static int copies_find_shared(struct dl_phdr_info *info, size_t size, void *user)
{
	static const char name[] = "libside.so.0";
	const char *slash = strrchr(info->dlpi_name ? info->dlpi_name : "", '/');
	struct copies_object *shared = user;

	(void)size;
	copies_read_segments(shared, info);
	/* The path may be that of a descriptor, or of a copy of the file. */
	if (slash && !strncmp(slash + 1, name, sizeof(name) - 1))
		return 1;
	for (const Elf64_Dyn *entry = copies_read_dynamic(shared) ? shared->dynamic : NULL;
			entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_SONAME && !strcmp(shared->names + entry->d_un.d_val, name))
			return 1;
	return 0;
}

/* ---- the objects ---- */

static int copies_rights(const struct copies_object *object, uintptr_t at)
{
	if (at >= object->relro && at < object->relro_end)
		return PROT_READ;
	for (unsigned int i = 0; i < object->nr_headers; i++) {
		const Elf64_Phdr *header = &object->headers[i];

		if (header->p_type == PT_LOAD &&
				at - object->base - header->p_vaddr < header->p_memsz)
			return (header->p_flags & PF_R ? PROT_READ : 0) |
					(header->p_flags & PF_W ? PROT_WRITE : 0) |
					(header->p_flags & PF_X ? PROT_EXEC : 0);
	}
	return PROT_NONE;
}

/* Make read-only pages writable during the store. */
static void copies_set(const struct copies_object *object, const void **slot, const void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)slot, begin = at & ~(page - 1);
	int rights = copies_rights(object, at);
	bool protected = !(rights & PROT_WRITE);

	if (!rights || (protected && mprotect((void *)begin, page, rights | PROT_WRITE)))
		return;
	/* Relaxed: no thread calls through it before the constructors that follow. */
	__atomic_store_n(slot, to, __ATOMIC_RELAXED);
	if (protected)
		(void)mprotect((void *)begin, page, rights);
}

static void copies_bind_slot(const struct copies_object *object, const struct copies_object *shared,
		const Elf64_Rela *entry)
{
	const uint64_t type = ELF64_R_TYPE(entry->r_info);
	const Elf64_Sym *symbol = &object->symbols[ELF64_R_SYM(entry->r_info)];
	const void **slot = (const void **)(object->base + entry->r_offset);
	const char *name = object->names + symbol->st_name;
	uintptr_t now;
	const void *to;
	bool bound;

	if (symbol->st_shndx || strncmp(name, "side_", 5) != 0 ||
			(type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
					type != R_X86_64_64))
		return;
	/* Relaxed: as in copies_set(). */
	now = (uintptr_t)__atomic_load_n(slot, __ATOMIC_RELAXED);
	bound = copies_is_in(shared, now);
	/* An unbound slot points to code in its own object. */
	if (!bound && !(type == R_X86_64_JUMP_SLOT && copies_is_in(object, now)))
		return;
	to = copies_find(name);
	if (type == R_X86_64_64 && to)
		to = (const void *)((uintptr_t)to + (uintptr_t)entry->r_addend);
	/* The name of an unbound slot may be defined by another library. */
	if (to || (bound && ELF64_ST_BIND(symbol->st_info) == STB_WEAK))
		copies_set(object, slot, to);
}

static int copies_bind_object(struct dl_phdr_info *info, size_t size, void *user)
{
	const struct copies_object *shared = user;
	struct copies_object object;

	(void)size;
	copies_read_segments(&object, info);
	if (object.begin == shared->begin || copies_is_in(&object, holder) ||
			!copies_read_dynamic(&object))
		return 0;
	for (size_t table = 0; table < 2; table++)
		for (size_t i = 0; object.tables[table] &&
				i < object.sizes[table] / sizeof(Elf64_Rela);
				i++)
			copies_bind_slot(&object, shared, &object.tables[table][i]);
	return 0;
}

EXPORT void side_tracer_bind(void)
{
	struct copies_object shared;

	if (used && dl_iterate_phdr(copies_find_shared, &shared))
		dl_iterate_phdr(copies_bind_object, &shared);
}

/*
 * Registers the events of an object that was loaded after the decision, and whose constructor runs
 * before any other use of this library.
 */
static struct side_events_register_handle *copies_register(
		struct side_event_description **events, uint32_t nr_events)
{
	struct side_events_register_handle *(*function)(struct side_event_description **, uint32_t);
	const void *address = copies_find("side_events_register");

	side_tracer_bind();
	memcpy(&function, &address, sizeof(function));
	return function ? function(events, nr_events) : NULL;
}

bool copies_decide(void)
{
	dl_iterate_phdr(copies_find_in_object, NULL);
	if (!used)
		return false;
	registry_redirect = copies_register;
	side_tracer_bind();
	return true;
}

#else
EXPORT void side_tracer_bind(void) {}

bool copies_decide(void)
{
	return false;
}
#endif
