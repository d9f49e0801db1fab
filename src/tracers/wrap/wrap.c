/* SPDX-License-Identifier: MIT */
/* Common code of the wrapper libraries: finds the next definitions, recognizes tracers. */
#include "tracers/wrap/wrap.h"
#include "base/environment/environment.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

__thread int wrap_depth;

/* Code segments of tracers: filled before main(), then only read. */
#define TRACERS_MAX 16

static struct tracer_text {
	uintptr_t begin, end;
} tracers[TRACERS_MAX];
static unsigned int nr_tracers;

bool wrap_is_tracer(const void *address)
{
	/*
	 * Acquire: the ranges are visible up to their number. Pairs with the release in
	 * wrap_record_object().
	 */
	const unsigned int nr = __atomic_load_n(&nr_tracers, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; i < nr; i++) {
		if ((uintptr_t)address - tracers[i].begin < tracers[i].end - tracers[i].begin)
			return true;
	}
	return false;
}

/* Of a library that the agent has loaded into a running program; see WRAP_ATTACH(). */
static bool is_attached;
static bool (*is_own_thread)(void);
static void *(*find_in_agent)(const char *name);

static void *wrap_find_in(void *where, const char *name, const char *version)
{
	void *found = version ? dlvsym(where, name, version) : NULL;

	return found ? found : dlsym(where, name);
}

/* The definition of the first object, in the order of the program's search, that has one. */
static void *wrap_find_defined(const char *name, const char *version)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		void *handle = *map->l_name ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
		void *found = handle ? wrap_find_in(handle, name, version) : NULL;
		Dl_info info;

		if (handle)
			(void)dlclose(handle);
		if (found && dladdr(found, &info) && !strcmp(info.dli_fname, map->l_name))
			return found;
	}
	return NULL;
}

/*
 * The function that the program calls. If the executable has a fixed address and takes that of the
 * function, the loader returns the address of the executable's own jump to it (in its PLT), which
 * leads to the wrapper afterwards.
 */
static void *wrap_find_called(const char *name, const char *version)
{
	void *found = wrap_find_in(RTLD_DEFAULT, name, version), *extra = NULL;
	const ElfW(Sym) * symbol;
	Dl_info info;

	if (!found || !dladdr1(found, &info, &extra, RTLD_DL_SYMENT) || !extra)
		return found;
	symbol = extra;
	return symbol->st_shndx ? found : wrap_find_defined(name, version);
}

void *wrap_next(const char *name, const char *version)
{
	const int saved_errno = errno;
	void *next = find_in_agent ? find_in_agent(name) : NULL;

	if (!next)
		/* No library comes after one that was loaded later. */
		next = is_attached ? wrap_find_called(name, version)
				   : wrap_find_in(RTLD_NEXT, name, version);
	errno = saved_errno;
	return next;
}

static void wrap_record_segments(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
				nr_tracers == TRACERS_MAX)
			continue;
		tracers[nr_tracers].begin = info->dlpi_addr + segment->p_vaddr;
		tracers[nr_tracers].end = tracers[nr_tracers].begin + segment->p_memsz;
		/*
		 * Release: the range comes before the number. Pairs with the acquire in
		 * wrap_is_tracer().
		 */
		__atomic_store_n(&nr_tracers, nr_tracers + 1, __ATOMIC_RELEASE);
	}
}

static int wrap_record_object(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *base = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	(void)data;
	/*
	 * Wrapper libraries are not tracers: they make no calls of their own. A function of the C
	 * library that a wrapper called may jump to another wrapped function, whose return address
	 * is then in the wrapper.
	 */
	if (strncmp(base, "libside", strlen("libside")) ||
			!strncmp(base, "libside-wrap-", strlen("libside-wrap-")))
		return 0;
	wrap_record_segments(info);
	return 0;
}

void WRAP_OWN(bool begins)
{
	wrap_depth += begins ? WRAP_DEPTH_MAX : -WRAP_DEPTH_MAX;
}

/*
 * Starts the wrappers and the agent at the first wrapped call. Constructors of other libraries may
 * run before those of the wrappers and the agent, and call wrapped functions; the later
 * constructors then have nothing to do. Does nothing before the C library has set up its
 * environment.
 */
void wrap_start(void)
{
	static bool started;
	void *found;
	void (*start_recorder)(void);
	const int saved_errno = errno;

	/* Relaxed: a second thread does not wait for the first one. */
	if (!environment_is_ready() || __atomic_exchange_n(&started, true, __ATOMIC_RELAXED))
		return;
	dl_iterate_phdr(wrap_record_object, NULL);
	side_event_description_ptr_init();
	found = dlsym(RTLD_DEFAULT, "side_agent_start");
	memcpy(&start_recorder, &found, sizeof(found));
	if (start_recorder)
		start_recorder();
	errno = saved_errno;
}

/* ---- in a running program ---- */

bool wrap_is_own_thread(void)
{
	return is_own_thread && is_own_thread();
}

bool wrap_is_attached(void)
{
	return is_attached;
}

/* Defined by the linker: the begin and the end of the section. */
extern struct wrap_import imports_begin[] __asm__("__start_side_wrap_imports")
		__attribute__((visibility("hidden")));
extern struct wrap_import imports_end[] __asm__("__stop_side_wrap_imports")
		__attribute__((visibility("hidden")));

/* The object that contains the address `data`, if its name is not that of a tracer. */
static int wrap_record_tracer(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || (uintptr_t)data - begin >= segment->p_memsz)
			continue;
		wrap_record_segments(info);
		return 1;
	}
	return 0;
}

/*
 * Sets the addresses of the wrappers. The name of a wrapper in this code may lead to the real
 * function, which the loader finds first. Returns true if the program finds a wrapper first, so
 * this library was preloaded.
 */
static bool wrap_find_wrappers(void *handle)
{
	bool is_preloaded = false;

	for (struct wrap_import *import = imports_begin; import < imports_end; import++) {
		/* Wrappers of operators are not exported. */
		if (!import->wrapper)
			import->wrapper = dlsym(handle, import->name);
		is_preloaded |= dlsym(RTLD_DEFAULT, import->name) == import->wrapper;
	}
	return is_preloaded;
}

size_t WRAP_ATTACH(const struct wrap_agent *given, const struct wrap_import **ret_imports)
{
	const int saved_errno = errno;

	*ret_imports = imports_begin;
	if (!is_attached && wrap_find_wrappers(given->handle))
		return 0;
	if (!is_attached) {
		is_attached = true;
		is_own_thread = given->is_own_thread;
		find_in_agent = given->find;
		/* A library that was loaded from memory has no name that wrap_start() knows. */
		for (const void *const *tracer = given->tracers; *tracer; tracer++)
			if (!wrap_is_tracer(*tracer))
				dl_iterate_phdr(wrap_record_tracer, (void *)(uintptr_t)*tracer);
		for (const struct wrap_import *import = imports_begin; import < imports_end;
				import++)
			(void)import->next();
	}
	errno = saved_errno;
	return (size_t)(imports_end - imports_begin);
}

/* ---- start ---- */

/*
 * Runs before the constructor that registers this library's events, so that each event finds
 * the agent. That constructor has the earliest priority that compilers accept, so the section's name
 * places this one before it.
 */
static void wrap_loaded(void)
{
	wrap_start();
}

__attribute__((section(".init_array.00100"), used)) static void (*const loaded_first)(
		void) = wrap_loaded;
