/* SPDX-License-Identifier: MIT */
/*
 * Emits calls of C++'s operators new and delete if the program's allocator has its own.
 *
 * The operators of libstdc++ call malloc() and free(), which libc-memory.c wraps. The operators of
 * jemalloc and other allocators do not. This library does not export operators: in a program that
 * loads C++ libraries later, it could not find the next definition. Instead, it replaces the
 * addresses of an allocator's operators in the tables of imported functions, once, before main().
 * In a program that runs already, the agent does so, and undoes it. Libraries that are loaded later
 * call the operators directly, without events.
 */
#include "tracers/wrap/memory.h"
#include "tracers/wrap/wrap.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

__thread const void *wrap_memory_last __attribute__((tls_model("initial-exec")));

#if defined(__x86_64__)

/* The functions of the allocator. [0]: for objects, [1]: for arrays. A word: size or alignment. */
static struct {
	void *(*new_plain[2])(size_t);
	void *(*new_nothrow[2])(size_t, const void *);
	void *(*new_aligned[2])(size_t, size_t);
	void *(*new_aligned_nothrow[2])(size_t, size_t, const void *);
	void (*delete_plain[2])(void *);
	void (*delete_word[4])(void *, size_t);
	void (*delete_nothrow[2])(void *, const void *);
	void (*delete_two[2])(void *, size_t, size_t);
	void (*delete_aligned_nothrow[2])(void *, size_t, const void *);
} operators_next;

/*
 * If the allocator's operator calls a wrapped function, that function emits the event: later calls
 * only call the operator. The operator may also throw an exception through these functions, so they
 * keep no state during its call.
 */
#define OPERATORS_NEW(function, params, call, note)                            \
	static void *function params                                           \
	{                                                                      \
		static bool is_wrapped;                                        \
		WRAP_CALLER();                                                 \
		void *result;                                                  \
                                                                               \
		/* Relaxed: every thread stores the same value. */             \
		if (__atomic_load_n(&is_wrapped, __ATOMIC_RELAXED))            \
			return operators_next.call;                            \
		wrap_memory_last = NULL;                                       \
		result = operators_next.call;                                  \
		if (!result || wrap_memory_last != result)                     \
			note;                                                  \
		else                                                           \
			/* Relaxed: as above. */                               \
			__atomic_store_n(&is_wrapped, true, __ATOMIC_RELAXED); \
		return result;                                                 \
	}

#define OPERATORS_NEW_ALL(i)                                                            \
	OPERATORS_NEW(operators_new_##i, (size_t size), new_plain[i](size),             \
			wrap_memory_note_malloc(size, result, wrap_caller))             \
	OPERATORS_NEW(operators_new_nothrow_##i, (size_t size, const void *tag),        \
			new_nothrow[i](size, tag),                                      \
			wrap_memory_note_malloc(size, result, wrap_caller))             \
	OPERATORS_NEW(operators_new_aligned_##i, (size_t size, size_t alignment),       \
			new_aligned[i](size, alignment),                                \
			wrap_memory_note_aligned(alignment, size, result, wrap_caller)) \
	OPERATORS_NEW(operators_new_aligned_nothrow_##i,                                \
			(size_t size, size_t alignment, const void *tag),               \
			new_aligned_nothrow[i](size, alignment, tag),                   \
			wrap_memory_note_aligned(alignment, size, result, wrap_caller))

OPERATORS_NEW_ALL(0)
OPERATORS_NEW_ALL(1)

/* The operators delete never throw. A free() inside of them is not recorded again. */
#define OPERATORS_DELETE(function, params, call)         \
	static void function params                      \
	{                                                \
		WRAP_CALLER();                           \
                                                         \
		wrap_memory_note_free(ptr, wrap_caller); \
		wrap_depth += WRAP_DEPTH_MAX;            \
		operators_next.call;                     \
		wrap_depth -= WRAP_DEPTH_MAX;            \
	}

#define OPERATORS_DELETE_WORD(i)                                              \
	OPERATORS_DELETE(operators_delete_word_##i, (void *ptr, size_t word), \
			delete_word[i](ptr, word))

#define OPERATORS_DELETE_PLAIN(i)                                                              \
	OPERATORS_DELETE(operators_delete_##i, (void *ptr), delete_plain[i](ptr))              \
	OPERATORS_DELETE(operators_delete_nothrow_##i, (void *ptr, const void *tag),           \
			delete_nothrow[i](ptr, tag))                                           \
	OPERATORS_DELETE(operators_delete_two_##i, (void *ptr, size_t size, size_t alignment), \
			delete_two[i](ptr, size, alignment))                                   \
	OPERATORS_DELETE(operators_delete_aligned_nothrow_##i,                                 \
			(void *ptr, size_t alignment, const void *tag),                        \
			delete_aligned_nothrow[i](ptr, alignment, tag))

OPERATORS_DELETE_PLAIN(0)
OPERATORS_DELETE_PLAIN(1)
OPERATORS_DELETE_WORD(0)
OPERATORS_DELETE_WORD(1)
OPERATORS_DELETE_WORD(2)
OPERATORS_DELETE_WORD(3)

/* ENTRY(name, function of this library, member of operators_next) */
#define OPERATORS_EACH(ENTRY)                                                          \
	ENTRY(_Znwm, operators_new_0, new_plain[0])                                    \
	ENTRY(_Znam, operators_new_1, new_plain[1])                                    \
	ENTRY(_ZnwmRKSt9nothrow_t, operators_new_nothrow_0, new_nothrow[0])            \
	ENTRY(_ZnamRKSt9nothrow_t, operators_new_nothrow_1, new_nothrow[1])            \
	ENTRY(_ZnwmSt11align_val_t, operators_new_aligned_0, new_aligned[0])           \
	ENTRY(_ZnamSt11align_val_t, operators_new_aligned_1, new_aligned[1])           \
	ENTRY(_ZnwmSt11align_val_tRKSt9nothrow_t, operators_new_aligned_nothrow_0,     \
			new_aligned_nothrow[0])                                        \
	ENTRY(_ZnamSt11align_val_tRKSt9nothrow_t, operators_new_aligned_nothrow_1,     \
			new_aligned_nothrow[1])                                        \
	ENTRY(_ZdlPv, operators_delete_0, delete_plain[0])                             \
	ENTRY(_ZdaPv, operators_delete_1, delete_plain[1])                             \
	ENTRY(_ZdlPvm, operators_delete_word_0, delete_word[0])                        \
	ENTRY(_ZdaPvm, operators_delete_word_1, delete_word[1])                        \
	ENTRY(_ZdlPvSt11align_val_t, operators_delete_word_2, delete_word[2])          \
	ENTRY(_ZdaPvSt11align_val_t, operators_delete_word_3, delete_word[3])          \
	ENTRY(_ZdlPvRKSt9nothrow_t, operators_delete_nothrow_0, delete_nothrow[0])     \
	ENTRY(_ZdaPvRKSt9nothrow_t, operators_delete_nothrow_1, delete_nothrow[1])     \
	ENTRY(_ZdlPvmSt11align_val_t, operators_delete_two_0, delete_two[0])           \
	ENTRY(_ZdaPvmSt11align_val_t, operators_delete_two_1, delete_two[1])           \
	ENTRY(_ZdlPvSt11align_val_tRKSt9nothrow_t, operators_delete_aligned_nothrow_0, \
			delete_aligned_nothrow[0])                                     \
	ENTRY(_ZdaPvSt11align_val_tRKSt9nothrow_t, operators_delete_aligned_nothrow_1, \
			delete_aligned_nothrow[1])

static const struct operators_entry {
	const char *name;
	void *function; /* of this library */
	void *next;     /* a member of operators_next */
} operators_list[] = {
#define OPERATORS_ENTRY(name, function, member) {#name, (void *)(function), &operators_next.member},
		OPERATORS_EACH(OPERATORS_ENTRY)};

/* For programs that run already. wrap_operators_start() has found the real functions before. */
#define OPERATORS_IMPORT(its_name, function, member)                                        \
	static void *find_##function(void)                                                  \
	{                                                                                   \
		return (void *)operators_next.member;                                       \
	}                                                                                   \
	static struct wrap_import import_##function                                         \
			__attribute__((section("side_wrap_imports"), used, aligned(8))) = { \
					.name = #its_name,                                  \
					.wrapper = (void *)(function),                      \
					.next = find_##function,                            \
					.spares_definer = true,                             \
	};

OPERATORS_EACH(OPERATORS_IMPORT)

#define OPERATORS_NR (sizeof(operators_list) / sizeof(operators_list[0]))

/* ---- the tables of imported functions ---- */

/* The dynamic section of a module. Addresses are those of this process. */
struct operators_module {
	uintptr_t base, start, end;
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * relocations[2]; /* of functions; of all other symbols */
	size_t sizes[2];
	uintptr_t sealed, sealed_end; /* memory that is read-only after relocation */
	uintptr_t code, code_end;
};

#define OPERATORS_PAGE 4096UL

static bool operators_is_in(uintptr_t address, uintptr_t start, uintptr_t end)
{
	return address - start < end - start;
}

/* The C library relocates the pointers of a dynamic section, unless the section is read-only. */
static const void *operators_locate(const struct operators_module *module, uintptr_t pointer)
{
	uintptr_t address = pointer < module->base ? pointer + module->base : pointer;

	return operators_is_in(address, module->start, module->end)
			? (const void *)address // NOLINT(performance-no-int-to-ptr)
			: NULL;
}

static void operators_read_dynamic(struct operators_module *module, const ElfW(Dyn) * entry)
{
	for (; entry->d_tag != DT_NULL; entry++) {
		const void *pointer = operators_locate(module, entry->d_un.d_ptr);

		switch (entry->d_tag) {
		case DT_SYMTAB: module->symbols = pointer; break;
		case DT_STRTAB: module->names = pointer; break;
		case DT_JMPREL: module->relocations[0] = pointer; break;
		case DT_PLTRELSZ: module->sizes[0] = entry->d_un.d_val; break;
		case DT_RELA: module->relocations[1] = pointer; break;
		case DT_RELASZ: module->sizes[1] = entry->d_un.d_val; break;
		default: break;
		}
	}
}

static const struct operators_entry *operators_find(const char *name)
{
	if (name[0] != '_' || name[1] != 'Z' || (name[2] != 'n' && name[2] != 'd'))
		return NULL;
	for (size_t i = 0; i < OPERATORS_NR; i++)
		if (!strcmp(operators_list[i].name, name))
			return &operators_list[i];
	return NULL;
}

static void operators_store(const struct operators_module *module, void **slot, void *function)
{
	uintptr_t page = (uintptr_t)slot & ~(OPERATORS_PAGE - 1);
	bool is_sealed = operators_is_in((uintptr_t)slot, module->sealed, module->sealed_end);

	if (is_sealed &&
			mprotect((void *)page, OPERATORS_PAGE,
					PROT_READ | PROT_WRITE)) // NOLINT(performance-no-int-to-ptr)
		return;
	/* Relaxed: other threads may call either function, and read the slot without order. */
	__atomic_store_n(slot, function, __ATOMIC_RELAXED);
	if (is_sealed)
		mprotect((void *)page, OPERATORS_PAGE,
				PROT_READ); // NOLINT(performance-no-int-to-ptr)
}

/* The slot has the allocator's function, or code of the module that will resolve the function. */
static void operators_replace(const struct operators_module *module, const ElfW(Rela) * relocation)
{
	const ElfW(Sym) *symbol = &module->symbols[ELF64_R_SYM(relocation->r_info)];
	const struct operators_entry *entry = operators_find(module->names + symbol->st_name);
	void **slot = (void **)(module->base +
			relocation->r_offset); // NOLINT(performance-no-int-to-ptr)
	void *next;

	if (!entry)
		return;
	memcpy(&next, entry->next, sizeof(next));
	if (next &&
			(*slot == next ||
					(ELF64_R_TYPE(relocation->r_info) == R_X86_64_JUMP_SLOT &&
							operators_is_in((uintptr_t)*slot,
									module->code,
									module->code_end))))
		operators_store(module, slot, entry->function);
}

static void operators_replace_all(const struct operators_module *module)
{
	if (!module->symbols || !module->names)
		return;
	for (int table = 0; table < 2; table++) {
		const ElfW(Rela) *relocation = module->relocations[table];
		size_t nr = relocation ? module->sizes[table] / sizeof(*relocation) : 0;

		for (size_t i = 0; i < nr; i++) {
			uint64_t type = ELF64_R_TYPE(relocation[i].r_info);

			if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
				operators_replace(module, &relocation[i]);
		}
	}
}

static void operators_note_segment(struct operators_module *module, const ElfW(Phdr) * segment)
{
	uintptr_t start = module->base + segment->p_vaddr, end = start + segment->p_memsz;

	if (segment->p_type == PT_GNU_RELRO) {
		module->sealed = start & ~(OPERATORS_PAGE - 1);
		module->sealed_end = end & ~(OPERATORS_PAGE - 1);
	}
	if (segment->p_type != PT_LOAD)
		return;
	module->start = start < module->start ? start : module->start;
	module->end = end > module->end ? end : module->end;
	if (segment->p_flags & PF_X) {
		module->code = start;
		module->code_end = end;
	}
}

/* `data`: a function of the allocator, whose own calls of its operators are no events. */
static int operators_visit(struct dl_phdr_info *info, size_t size, void *data)
{
	struct operators_module module = {.base = info->dlpi_addr, .start = UINTPTR_MAX};
	const ElfW(Dyn) *dynamic = NULL;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		operators_note_segment(&module, segment);
		if (segment->p_type == PT_DYNAMIC)
			dynamic = (const void *)(module.base +
					segment->p_vaddr); // NOLINT(performance-no-int-to-ptr)
	}
	if (!dynamic || operators_is_in((uintptr_t)data, module.start, module.end) ||
			operators_is_in((uintptr_t)&operators_next, module.start, module.end))
		return 0;
	operators_read_dynamic(&module, dynamic);
	operators_replace_all(&module);
	return 0;
}

static void *operators_base(const void *address)
{
	Dl_info info;

	return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

void wrap_operators_start(void *next_malloc)
{
	void *allocator = operators_base(next_malloc), *libc = wrap_next("getpid", NULL);
	bool is_needed = false;

	if (!allocator || operators_base(libc) == allocator)
		return;
	/* The runtime of a sanitizer has operators of its own, and is not ready yet. */
	if (dlsym(RTLD_DEFAULT, "__sanitizer_get_heap_size"))
		return;
	/* Finds operators of the allocator. Operators of the executable remain unchanged. */
	for (size_t i = 0; i < OPERATORS_NR; i++) {
		void *called = dlsym(RTLD_DEFAULT, operators_list[i].name);

		if (operators_base(called) != allocator)
			continue;
		memcpy(operators_list[i].next, &called, sizeof(called));
		is_needed = true;
	}
	/* In a program that runs already, the agent replaces them, and restores them. */
	if (is_needed && !wrap_is_attached())
		dl_iterate_phdr(operators_visit, next_malloc);
}

#else

void wrap_operators_start(void *next_malloc)
{
	(void)next_malloc;
}

#endif
