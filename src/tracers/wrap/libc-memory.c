/* SPDX-License-Identifier: MIT */
/*
 * Emits calls of the allocator's functions as events of the provider "libc".
 *
 * To find the next malloc(), this library calls dlsym(), which may allocate memory itself. During
 * that call, the requests of the thread are served from a small static area, whose blocks are never
 * reused; free() and realloc() recognize them.
 *
 * The event of free() is emitted before the block is freed, the other events after the allocation.
 * In the trace, a block is therefore always freed before another thread gets its address.
 */
#include "tracers/wrap/memory.h"
#include "tracers/wrap/wrap.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

side_static_event(event_malloc, "libc", "malloc", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("size"), side_field_pointer("result"),
				side_field_pointer("caller")));
side_static_event(event_calloc, "libc", "calloc", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("count"), side_field_u64("size"),
				side_field_pointer("result"), side_field_pointer("caller")));
side_static_event(event_realloc, "libc", "realloc", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_pointer("ptr"), side_field_u64("size"),
				side_field_pointer("result"), side_field_pointer("caller")));
side_static_event(event_reallocarray, "libc", "reallocarray", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_pointer("ptr"), side_field_u64("count"),
				side_field_u64("size"), side_field_pointer("result"),
				side_field_pointer("caller")));
side_static_event(event_free, "libc", "free", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_pointer("ptr"), side_field_pointer("caller")));
side_static_event(event_posix_memalign, "libc", "posix_memalign", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("alignment"), side_field_u64("size"),
				side_field_pointer("ptr"), side_field_s32("result"),
				side_field_pointer("caller")));
side_static_event(event_aligned_alloc, "libc", "aligned_alloc", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("alignment"), side_field_u64("size"),
				side_field_pointer("result"), side_field_pointer("caller")));
side_static_event(event_memalign, "libc", "memalign", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("alignment"), side_field_u64("size"),
				side_field_pointer("result"), side_field_pointer("caller")));
side_static_event(event_valloc, "libc", "valloc", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("size"), side_field_pointer("result"),
				side_field_pointer("caller")));
side_static_event(event_pvalloc, "libc", "pvalloc", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("size"), side_field_pointer("result"),
				side_field_pointer("caller")));

/* The next definitions of the functions. NULL until wrap_memory_find_next_functions() has run. */
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
	void (*ignore_leak)(const void *); /* NULL without a leak sanitizer */
} next;
static bool next_found;

/* The address range of the dynamic linker. */
static struct {
	uintptr_t begin, size;
} linker;

static void wrap_memory_find_linker(void)
{
	const ElfW(Ehdr) *header =
			(const void *)getauxval(AT_BASE); // NOLINT(performance-no-int-to-ptr)
	const ElfW(Phdr) * part;

	if (!header)
		return;
	part = (const void *)((const char *)header + header->e_phoff);
	linker.begin = (uintptr_t)header;
	for (unsigned int i = 0; i < header->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && part[i].p_vaddr + part[i].p_memsz > linker.size)
			linker.size = part[i].p_vaddr + part[i].p_memsz;
}

/*
 * Tell the leak sanitizer to ignore a block of the dynamic linker. It ignores them by their caller,
 * because it cannot see all pointers to them; the caller that it sees is this library.
 */
static inline void *wrap_memory_ignore_linker_leak(void *result, const void *caller)
{
	if (__builtin_expect(next.ignore_leak != NULL, 0) && result &&
			(uintptr_t)caller - linker.begin < linker.size)
		next.ignore_leak(result);
	return result;
}

/* The area for requests during the lookup of the functions. */
static _Alignas(64) char early_area[64 * 1024];
static size_t early_used;

/* The size of each block precedes it, for realloc(). */
#define EARLY_HEADER 16

static bool wrap_memory_is_early(const void *ptr)
{
	return (uintptr_t)ptr - (uintptr_t)early_area < sizeof(early_area);
}

static size_t wrap_memory_early_size(const void *ptr)
{
	size_t size;

	memcpy(&size, (const char *)ptr - EARLY_HEADER, sizeof(size));
	return size;
}

/* Returns zeroed memory: the area is static and its blocks are never reused. */
static void *wrap_memory_early_alloc(size_t alignment, size_t size)
{
	size_t used, begin;

	if (alignment < 16)
		alignment = 16;
	if (size > sizeof(early_area) || alignment > sizeof(early_area)) {
		errno = ENOMEM;
		return NULL;
	}
	/*
	 * Relaxed: only the boundary is shared; no thread reads another thread's block through it.
	 */
	used = __atomic_load_n(&early_used, __ATOMIC_RELAXED);
	do {
		begin = ((uintptr_t)early_area + used + EARLY_HEADER + alignment - 1) / alignment *
						alignment -
				(uintptr_t)early_area;
		if (begin + size > sizeof(early_area)) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(&early_used, &used, begin + size, true,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	memcpy(early_area + begin - EARLY_HEADER, &size, sizeof(size));
	return early_area + begin;
}

static void *wrap_memory_next_malloc(void)
{
	void *address;

	memcpy(&address, &next.malloc, sizeof(address));
	return address;
}

static __thread bool finding __attribute__((tls_model("initial-exec")));

/* Returns false during the lookup by this thread: use the early area. */
static __attribute__((noinline, cold)) bool wrap_memory_find_next_slow(void)
{
	void *ignore_leak;

	if (finding)
		return false;
	finding = true;
	next.malloc = wrap_next("malloc", NULL);
	next.calloc = wrap_next("calloc", NULL);
	next.realloc = wrap_next("realloc", NULL);
	next.reallocarray = wrap_next("reallocarray", NULL);
	next.free = wrap_next("free", NULL);
	next.posix_memalign = wrap_next("posix_memalign", NULL);
	next.aligned_alloc = wrap_next("aligned_alloc", NULL);
	next.memalign = wrap_next("memalign", NULL);
	next.valloc = wrap_next("valloc", NULL);
	next.pvalloc = wrap_next("pvalloc", NULL);
	next.malloc_usable_size = wrap_next("malloc_usable_size", NULL);
	ignore_leak = dlsym(RTLD_DEFAULT, "__lsan_ignore_object");
	if (ignore_leak) {
		wrap_memory_find_linker();
		memcpy(&next.ignore_leak, &ignore_leak, sizeof(ignore_leak));
	}
	wrap_operators_start(wrap_memory_next_malloc());
	/*
	 * Release: the pointers come before the flag. Pairs with the acquire in
	 * wrap_memory_find_next_functions().
	 */
	__atomic_store_n(&next_found, true, __ATOMIC_RELEASE);
	finding = false;
	wrap_start();
	return true;
}

static inline bool wrap_memory_find_next_functions(void)
{
	/*
	 * Acquire: the pointers are visible if the flag is set. Pairs with the release in
	 * wrap_memory_find_next_slow().
	 */
	if (__builtin_expect(__atomic_load_n(&next_found, __ATOMIC_ACQUIRE), 1))
		return true;
	return wrap_memory_find_next_slow();
}

WRAP_EXPORT void *malloc(size_t size)
{
	WRAP_CALLER();
	void *result;

	if (!wrap_memory_find_next_functions())
		return wrap_memory_early_alloc(16, size);
	result = wrap_memory_ignore_linker_leak(next.malloc(size), wrap_caller);
	wrap_memory_last = result;
	WRAP_EMIT(event_malloc, side_arg_u64(size), side_arg_pointer(result),
			side_arg_pointer(wrap_caller));
	return result;
}

WRAP_EXPORT void *calloc(size_t count, size_t size)
{
	WRAP_CALLER();
	void *result;

	if (!wrap_memory_find_next_functions()) {
		if (size && count > SIZE_MAX / size) {
			errno = ENOMEM;
			return NULL;
		}
		return wrap_memory_early_alloc(16, count * size);
	}
	result = wrap_memory_ignore_linker_leak(next.calloc(count, size), wrap_caller);
	wrap_memory_last = result;
	WRAP_EMIT(event_calloc, side_arg_u64(count), side_arg_u64(size), side_arg_pointer(result),
			side_arg_pointer(wrap_caller));
	return result;
}

/* Move an early block into the program's heap. */
static void *wrap_memory_realloc_early(void *ptr, size_t size)
{
	void *result = wrap_memory_find_next_functions() ? next.malloc(size)
							 : wrap_memory_early_alloc(16, size);

	if (result) {
		const size_t old = wrap_memory_early_size(ptr);

		memcpy(result, ptr, old < size ? old : size);
	}
	return result;
}

WRAP_EXPORT void *realloc(void *ptr, size_t size)
{
	WRAP_CALLER();
	void *result;

	if (wrap_memory_is_early(ptr) || !wrap_memory_find_next_functions())
		return ptr ? wrap_memory_realloc_early(ptr, size)
			   : wrap_memory_early_alloc(16, size);
	result = wrap_memory_ignore_linker_leak(next.realloc(ptr, size), wrap_caller);
	WRAP_EMIT(event_realloc, side_arg_pointer(ptr), side_arg_u64(size),
			side_arg_pointer(result), side_arg_pointer(wrap_caller));
	return result;
}

WRAP_EXPORT void *reallocarray(void *ptr, size_t count, size_t size)
{
	WRAP_CALLER();
	void *result;

	if (wrap_memory_is_early(ptr) || !wrap_memory_find_next_functions()) {
		if (size && count > SIZE_MAX / size) {
			errno = ENOMEM;
			return NULL;
		}
		return ptr ? wrap_memory_realloc_early(ptr, count * size)
			   : wrap_memory_early_alloc(16, count * size);
	}
	result = next.reallocarray(ptr, count, size);
	WRAP_EMIT(event_reallocarray, side_arg_pointer(ptr), side_arg_u64(count),
			side_arg_u64(size), side_arg_pointer(result),
			side_arg_pointer(wrap_caller));
	return result;
}

WRAP_EXPORT void free(void *ptr)
{
	WRAP_CALLER();

	if (wrap_memory_is_early(ptr) || !wrap_memory_find_next_functions())
		return;
	WRAP_EMIT(event_free, side_arg_pointer(ptr), side_arg_pointer(wrap_caller));
	next.free(ptr);
}

WRAP_EXPORT int posix_memalign(void **ptr, size_t alignment, size_t size)
{
	WRAP_CALLER();
	int result;

	if (!wrap_memory_find_next_functions()) {
		*ptr = wrap_memory_early_alloc(alignment, size);
		return *ptr ? 0 : ENOMEM;
	}
	result = next.posix_memalign(ptr, alignment, size);
	wrap_memory_last = result ? NULL : *ptr;
	WRAP_EMIT(event_posix_memalign, side_arg_u64(alignment), side_arg_u64(size),
			side_arg_pointer(result ? NULL : *ptr), side_arg_s32(result),
			side_arg_pointer(wrap_caller));
	return result;
}

WRAP_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	WRAP_CALLER();
	void *result;

	if (!wrap_memory_find_next_functions())
		return wrap_memory_early_alloc(alignment, size);
	result = next.aligned_alloc(alignment, size);
	wrap_memory_last = result;
	WRAP_EMIT(event_aligned_alloc, side_arg_u64(alignment), side_arg_u64(size),
			side_arg_pointer(result), side_arg_pointer(wrap_caller));
	return result;
}

WRAP_EXPORT void *memalign(size_t alignment, size_t size)
{
	WRAP_CALLER();
	void *result;

	if (!wrap_memory_find_next_functions())
		return wrap_memory_early_alloc(alignment, size);
	result = next.memalign(alignment, size);
	wrap_memory_last = result;
	WRAP_EMIT(event_memalign, side_arg_u64(alignment), side_arg_u64(size),
			side_arg_pointer(result), side_arg_pointer(wrap_caller));
	return result;
}

WRAP_EXPORT void *valloc(size_t size)
{
	WRAP_CALLER();
	void *result;

	if (!wrap_memory_find_next_functions())
		return wrap_memory_early_alloc(4096, size);
	result = next.valloc(size);
	WRAP_EMIT(event_valloc, side_arg_u64(size), side_arg_pointer(result),
			side_arg_pointer(wrap_caller));
	return result;
}

WRAP_EXPORT void *pvalloc(size_t size)
{
	WRAP_CALLER();
	void *result;

	if (!wrap_memory_find_next_functions())
		return wrap_memory_early_alloc(4096, (size + 4095) / 4096 * 4096);
	result = next.pvalloc(size);
	WRAP_EMIT(event_pvalloc, side_arg_u64(size), side_arg_pointer(result),
			side_arg_pointer(wrap_caller));
	return result;
}

void wrap_memory_note_malloc(size_t size, const void *result, void *wrap_caller)
{
	WRAP_EMIT(event_malloc, side_arg_u64(size), side_arg_pointer(result),
			side_arg_pointer(wrap_caller));
}

void wrap_memory_note_aligned(size_t alignment, size_t size, const void *result, void *wrap_caller)
{
	WRAP_EMIT(event_aligned_alloc, side_arg_u64(alignment), side_arg_u64(size),
			side_arg_pointer(result), side_arg_pointer(wrap_caller));
}

void wrap_memory_note_free(const void *ptr, void *wrap_caller)
{
	WRAP_EMIT(event_free, side_arg_pointer(ptr), side_arg_pointer(wrap_caller));
}

/*
 * Emits no event, because it has no effect. Wrapped only because the next allocator does not know
 * early blocks.
 */
WRAP_EXPORT size_t malloc_usable_size(void *ptr)
{
	if (wrap_memory_is_early(ptr))
		return wrap_memory_early_size(ptr);
	return wrap_memory_find_next_functions() ? next.malloc_usable_size(ptr) : 0;
}

/* For programs that run already. Their malloc_usable_size() never sees early blocks. */
#define MEMORY_IMPORT(function)                                                          \
	static void *find_##function(void)                                               \
	{                                                                                \
		return wrap_memory_find_next_functions() ? (void *)next.function : NULL; \
	}                                                                                \
	WRAP_IMPORT(function, NULL, find_##function)

MEMORY_IMPORT(malloc)
MEMORY_IMPORT(calloc)
MEMORY_IMPORT(realloc)
MEMORY_IMPORT(reallocarray)
MEMORY_IMPORT(free)
MEMORY_IMPORT(posix_memalign)
MEMORY_IMPORT(aligned_alloc)
MEMORY_IMPORT(memalign)
MEMORY_IMPORT(valloc)
MEMORY_IMPORT(pvalloc)

/*
 * Check whether the program calls these wrappers. It does not if its executable contains an
 * allocator of its own or of a sanitizer.
 */
static __attribute__((constructor)) void wrap_memory_check_order(void)
{
	static const char here;
	void *called = dlsym(RTLD_DEFAULT, "malloc"), *found;
	Dl_info self, of_called;
	void (*note)(void);

	if (!called || !dladdr(&here, &self) || !dladdr(called, &of_called) ||
			self.dli_fbase == of_called.dli_fbase)
		return;
	found = dlsym(RTLD_DEFAULT, "side_agent_note_allocator");
	memcpy(&note, &found, sizeof(note));
	if (note)
		note();
}
