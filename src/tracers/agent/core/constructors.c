/* SPDX-License-Identifier: MIT */
/*
 * Runs code before the constructors of libraries that the program loads.
 *
 * Until version 2.40, the GNU C library notifies debuggers of new libraries before it relocates
 * them. An import that is redirected at that time is overwritten. So the dynamic section of each
 * such library gets another function for DT_INIT, which the loader calls after the relocation and
 * before the library's constructors. That function restores the section, and calls the library's.
 *
 * The loader holds its lock from the notification until the constructors have run, so one thread at
 * a time is here.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracers/agent/core/constructors.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "base/inside/loaded-symbol.h"

#if defined(__x86_64__) && defined(__LP64__)

#define CONSTRUCTORS_MAX 16

typedef void constructor(int argc, char **argv, char **envp);

static struct watched_constructor {
	ElfW(Dyn) * entry; /* DT_INIT of the library; NULL: free */
	uintptr_t base;
	ElfW(Addr) original; /* what the entry contained */
	bool is_relro;       /* the loader makes the entry's page read-only */
	bool is_loaded;      /* the last walk has found it */
} watched[CONSTRUCTORS_MAX];

/* Of wrappers and of copies of libside. Entries stay. */
static constructors_function *callers[2];
enum { nr_callers = sizeof(callers) / sizeof(*callers) };

static void constructors_run(size_t which, int argc, char **argv, char **envp);

/* The loader passes nothing that names the library, so each has its own function. */
#define CONSTRUCTOR(number)                                                         \
	static void constructors_enter_##number(int argc, char **argv, char **envp) \
	{                                                                           \
		constructors_run(number, argc, argv, envp);                         \
	}

CONSTRUCTOR(0)
CONSTRUCTOR(1)
CONSTRUCTOR(2)
CONSTRUCTOR(3)
CONSTRUCTOR(4)
CONSTRUCTOR(5)
CONSTRUCTOR(6)
CONSTRUCTOR(7)
CONSTRUCTOR(8)
CONSTRUCTOR(9)
CONSTRUCTOR(10)
CONSTRUCTOR(11)
CONSTRUCTOR(12)
CONSTRUCTOR(13)
CONSTRUCTOR(14)
CONSTRUCTOR(15)

static constructor *const entries[CONSTRUCTORS_MAX] = {constructors_enter_0, constructors_enter_1,
		constructors_enter_2, constructors_enter_3, constructors_enter_4,
		constructors_enter_5, constructors_enter_6, constructors_enter_7,
		constructors_enter_8, constructors_enter_9, constructors_enter_10,
		constructors_enter_11, constructors_enter_12, constructors_enter_13,
		constructors_enter_14, constructors_enter_15};

static bool constructors_write(ElfW(Dyn) * entry, ElfW(Addr) value, int access_after)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *begin = (void *)((uintptr_t)&entry->d_un & ~(page - 1));

	if (mprotect(begin, page, PROT_READ | PROT_WRITE))
		return false;
	entry->d_un.d_ptr = value;
	if (access_after != (PROT_READ | PROT_WRITE))
		(void)mprotect(begin, page, access_after);
	return true;
}

static void constructors_run(size_t which, int argc, char **argv, char **envp)
{
	const struct watched_constructor library = watched[which];
	constructor *const original = (constructor *)(library.base + library.original);
	const int saved_errno = errno;

	watched[which].entry = NULL;
	/* System calls could end a program in a sandbox. */
	if (!agent_is_sandboxed()) {
		/* The loader has made the section read-only meanwhile. */
		if (library.is_relro)
			(void)constructors_write(library.entry, library.original, PROT_READ);
		else
			library.entry->d_un.d_ptr = library.original;
		for (size_t i = 0; i < nr_callers && callers[i]; i++)
			callers[i](library.base);
	}
	errno = saved_errno;
	original(argc, argv, envp);
}

/* ---- libraries that are not relocated ---- */

struct constructors_library {
	uintptr_t base;
	ElfW(Dyn) * dynamic, *init;
	const ElfW(Addr) * functions; /* of DT_INIT_ARRAY */
	uintptr_t relro, relro_end;   /* pages that the relocation makes read-only */
};

static void constructors_read_dynamic(struct constructors_library *library)
{
	const ElfW(Addr) *functions = NULL;
	ElfW(Xword) size = 0;

	for (ElfW(Dyn) *entry = library->dynamic; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_INIT)
			library->init = entry;
		else if (entry->d_tag == DT_INIT_ARRAY)
			functions = (const void *)(library->base + entry->d_un.d_ptr);
		else if (entry->d_tag == DT_INIT_ARRAYSZ)
			size = entry->d_un.d_val;
	}
	library->functions = size >= sizeof(*functions) ? functions : NULL;
}

static struct constructors_library constructors_read(const struct dl_phdr_info *info)
{
	const uintptr_t pages = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	struct constructors_library library = {.base = info->dlpi_addr};

	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC) {
			library.dynamic = (ElfW(Dyn) *)begin;
		} else if (segment->p_type == PT_GNU_RELRO) {
			library.relro = begin & pages;
			library.relro_end = (begin + segment->p_memsz) & pages;
		}
	}
	if (library.dynamic)
		constructors_read_dynamic(&library);
	return library;
}

/* Returns true if the library's constructors are watched. */
static bool constructors_is_watched(const struct constructors_library *library)
{
	for (size_t i = 0; i < CONSTRUCTORS_MAX; i++)
		if (watched[i].entry == library->init &&
				library->init->d_un.d_ptr + library->base == (uintptr_t)entries[i])
			return watched[i].is_loaded = true;
	return false;
}

static void constructors_watch_library(const struct constructors_library *library)
{
	const uintptr_t at = (uintptr_t)&library->init->d_un;
	const ElfW(Addr) original = library->init->d_un.d_ptr;
	size_t which = 0;

	while (which < CONSTRUCTORS_MAX && watched[which].entry)
		which++;
	if (which == CONSTRUCTORS_MAX)
		return;
	watched[which] = (struct watched_constructor){.entry = library->init,
			.base = library->base,
			.original = original,
			.is_loaded = true,
			.is_relro = at >= library->relro && at < library->relro_end};
	/* It is writable already, unless a linker made the section read-only. */
	if (!constructors_write(library->init, (uintptr_t)entries[which] - library->base,
			    PROT_READ | PROT_WRITE))
		watched[which].entry = NULL;
}

/*
 * The list of constructors is never written after the relocation, which adds the base to each.
 * Every compiler's support code puts one into a library.
 */
static int constructors_scan(struct dl_phdr_info *info, size_t size, void *user)
{
	const struct constructors_library library = constructors_read(info);
	bool *any = user;

	(void)size;
	/* The loader may notify again before the constructors run. */
	if (library.init && constructors_is_watched(&library)) {
		*any = true;
		return 0;
	}
	if (!library.base || !library.functions || *library.functions >= library.base)
		return 0;
	*any = true;
	if (library.init)
		constructors_watch_library(&library);
	return 0;
}

/* dl_iterate_phdr() has only the objects of this namespace. */
static void constructors_scan_namespaces(bool *ret_any)
{
	const struct loaded_namespace *space =
			(const struct loaded_namespace *)(const void *)&_r_debug;

	while (space && (space = loaded_next(space)))
		for (const struct link_map *map = space->debug.r_map; map; map = map->l_next) {
			struct dl_phdr_info info = {.dlpi_addr = map->l_addr};
			int nr = dlinfo((void *)(uintptr_t)map, LOADED_DLINFO_HEADERS,
					(void *)&info.dlpi_phdr);

			info.dlpi_phnum = nr > 0 ? (ElfW(Half))nr : 0;
			(void)constructors_scan(&info, sizeof(info), ret_any);
		}
	(void)dlerror();
}

static void constructors_add_caller(constructors_function *before)
{
	size_t i = 0;

	while (i < nr_callers && callers[i] && callers[i] != before)
		i++;
	if (i < nr_callers)
		callers[i] = before;
}

bool agent_constructors_are_pending(uintptr_t base)
{
	for (size_t i = 0; i < CONSTRUCTORS_MAX; i++)
		if (watched[i].entry && watched[i].base == base)
			return true;
	return false;
}

bool agent_constructors_watch(constructors_function *before)
{
	bool any = false;

	constructors_add_caller(before);
	if (agent_objects_are_stuck())
		return false;
	for (size_t i = 0; i < CONSTRUCTORS_MAX; i++)
		watched[i].is_loaded = false;
	agent_objects_each(constructors_scan, &any);
	constructors_scan_namespaces(&any);
	/* A library whose relocation failed has gone without its constructors. */
	for (size_t i = 0; i < CONSTRUCTORS_MAX; i++)
		if (!watched[i].is_loaded)
			watched[i].entry = NULL;
	return any;
}

#else

bool agent_constructors_watch(constructors_function *before)
{
	(void)before;
	return false;
}

bool agent_constructors_are_pending(uintptr_t base)
{
	(void)base;
	return false;
}

#endif
