/* SPDX-License-Identifier: MIT */
/*
 * The functions of context-watch.c, signal-watch.c and start.c, for programs into which the agent was not preloaded.
 *
 * A preloaded library's functions come before those of the C library. One that the loader brings later
 * is asked by nobody. But what those functions notice has to be noticed: above all a sandbox, in which a
 * system call of ours would be the end of the program, and vfork(). So we do by hand what the dynamic
 * linker would have done: where an object's table of addresses has the C library's function, it gets
 * ours, which calls the C library's.
 *
 * Only what would go to the C library is turned: a program's own function of that name, or another
 * library's before the C library, stays. So do objects that are loaded later: what they call is not noticed.
 *
 * Part of the library only, like the functions themselves.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent.h"

#if defined(__x86_64__) && defined(__LP64__)

struct function {
	const char *name;
	void *ours, *real;
};

static struct function functions[] = {
		{.name = "clone"},
		{.name = "prctl"},
		{.name = "pthread_setname_np"},
		{.name = "pthread_sigmask"},
		{.name = "setegid"},
		{.name = "seteuid"},
		{.name = "setgid"},
		{.name = "setgroups"},
		{.name = "setns"},
		{.name = "setregid"},
		{.name = "setresgid"},
		{.name = "setresuid"},
		{.name = "setreuid"},
		{.name = "setuid"},
		{.name = "sigaction"},
		{.name = "signal"},
		{.name = "sigprocmask"},
		{.name = "syscall"},
		{.name = "unshare"},
		{.name = "vfork"},
		{.name = "__vfork"},
};
#define NR_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* What the dynamic section of an object says. */
struct object {
	uintptr_t base, begin, end; /* of what is mapped */
	uintptr_t relro, relro_end;
	const Elf64_Sym *symbols;
	const char *names;
	const Elf64_Rela *tables[2];
	size_t sizes[2];
	size_t relative; /* entries at the head of the first table that name nothing */
};

/* The loader has made addresses of these, except in objects that it did not load itself. */
static uintptr_t address(const struct object *object, uintptr_t value)
{
	return value < object->base ? object->base + value : value;
}

static bool read_dynamic(struct object *object, const Elf64_Dyn *entry)
{
	for (; entry->d_tag != DT_NULL; entry++) {
		uintptr_t at = address(object, entry->d_un.d_ptr);

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

static bool read_object(struct object *object, const struct dl_phdr_info *info)
{
	const Elf64_Dyn *dynamic = NULL;
	unsigned int i;

	*object = (struct object){.base = info->dlpi_addr, .begin = UINTPTR_MAX};
	for (i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *header = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + header->p_vaddr;
		uintptr_t end = begin + header->p_memsz;

		if (header->p_type == PT_DYNAMIC) {
			dynamic = (const Elf64_Dyn *)begin;
		} else if (header->p_type == PT_GNU_RELRO) {
			object->relro = begin;
			object->relro_end = end;
		} else if (header->p_type == PT_LOAD) {
			object->begin = begin < object->begin ? begin : object->begin;
			object->end = end > object->end ? end : object->end;
		}
	}
	return dynamic && read_dynamic(object, dynamic);
}

static const struct function *find_function(const char *name)
{
	size_t i;

	for (i = 0; i < NR_FUNCTIONS; i++)
		if (functions[i].ours && !strcmp(name, functions[i].name))
			return &functions[i];
	return NULL;
}

/* Pages that the loader has made read-only are writable for a moment. */
static void turn(const struct object *object, void **slot, void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)slot, begin = at & ~(page - 1);
	bool protected = at >= object->relro && at < object->relro_end;

	if (protected && mprotect((void *)begin, page, PROT_READ | PROT_WRITE))
		return;
	/* Release: whoever calls through it finds our functions' own pointers. */
	__atomic_store_n(slot, to, __ATOMIC_RELEASE);
	if (protected)
		(void)mprotect((void *)begin, page, PROT_READ);
}

static void turn_slot(const struct object *object, const Elf64_Rela *entry)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(entry->r_info);
	const Elf64_Sym *symbol = &object->symbols[ELF64_R_SYM(entry->r_info)];
	void **slot = (void **)(object->base + entry->r_offset);
	const struct function *function;
	uintptr_t now;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || symbol->st_shndx)
		return;
	function = find_function(object->names + symbol->st_name);
	if (!function)
		return;
	now = (uintptr_t)__atomic_load_n(slot, __ATOMIC_RELAXED);
	/* Not yet bound, it points to where it is bound, in the object itself. */
	if (now == (uintptr_t)function->real ||
			(type == R_X86_64_JUMP_SLOT && now >= object->begin && now < object->end))
		turn(object, slot, function->ours);
}

static int turn_object(struct dl_phdr_info *info, size_t size, void *user)
{
	uintptr_t self = (uintptr_t)&functions, libside = (uintptr_t)&side_call;
	struct object object;
	size_t table, i;

	(void)size;
	(void)user;
	if (!read_object(&object, info) || (self >= object.begin && self < object.end) ||
			(libside >= object.begin && libside < object.end))
		return 0;
	for (table = 0; table < 2; table++) {
		i = table ? 0 : object.relative;
		for (; object.tables[table] && i < object.sizes[table] / sizeof(Elf64_Rela); i++)
			turn_slot(&object, &object.tables[table][i]);
	}
	return 0;
}

/* Is anything to be turned? Not where we were preloaded, for there ours are the program's. */
static bool find_functions(void)
{
	void *handle, *first = dlsym(RTLD_DEFAULT, "unshare");
	bool any = false;
	Dl_info self, of_first;
	size_t i;

	if (!dladdr(&functions, &self) || !self.dli_fname)
		return false;
	/* Preloaded: found without an allocation, which a wrapped program would be said to have made. */
	if (first && dladdr(first, &of_first) && of_first.dli_fbase == self.dli_fbase)
		return false;
	handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (!handle)
		return false;
	for (i = 0; i < NR_FUNCTIONS; i++) {
		void *ours = dlsym(handle, functions[i].name);
		void *called = dlsym(RTLD_DEFAULT, functions[i].name);

		/* Ours calls the one behind us; the program's must be that one. */
		if (!ours || ours == called || called != dlsym(RTLD_NEXT, functions[i].name))
			continue;
		functions[i].real = called;
		functions[i].ours = ours;
		any = true;
	}
	(void)dlclose(handle);
	return any;
}

void agent_interpose(void)
{
	static bool begun, any;

	if (!begun)
		any = find_functions();
	begun = true;
	if (any)
		dl_iterate_phdr(turn_object, NULL);
	(void)dlerror();
}

#else
void agent_interpose(void) {}
#endif
