/* SPDX-License-Identifier: MIT */
/*
 * The functions of context/watch.c, signal-watch.c and start.c, for programs into which the agent
 * was not preloaded.
 *
 * Functions of a preloaded library precede those of the C library. Functions of a library that is
 * loaded later are not called. But the agent must see those calls: above all the begin of a
 * sandbox, in which a system call of the agent would end the program, and vfork(). So the imports
 * of loaded objects are redirected to the agent's functions (probe/patch/imports.c), which call the
 * C library's.
 *
 * Only imports that are bound to the C library are redirected: a function of that name in the
 * program, or in a library before the C library, stays. Calls of objects that are loaded later are
 * not seen, unless wrappers are active (wrappers.c).
 *
 * Part of the shared library only, like the functions themselves.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracers/agent/core/exec-preload.h"
#include "tracers/agent/core/interpose.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-threads.h"
#include "probe/patch/imports.h"
#include "probe/patch/stubs.h"

#if defined(__x86_64__) && defined(__LP64__)

static struct patch_import functions[] = {
		{.name = "chroot"},
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

/* Those of exec-watch.c, if the programs that this one starts are recorded. */
static struct patch_import execs[] = {
		{.name = "execv"},
		{.name = "execve"},
		{.name = "execvp"},
		{.name = "execvpe"},
		{.name = "posix_spawn"},
		{.name = "posix_spawnp"},
		/* The agent does not export these. */
		{.name = "execl"},
		{.name = "execle"},
		{.name = "execlp"},
};
#define EXECS_EXPORTED 6
#define NR_EXECS (sizeof(execs) / sizeof(execs[0]))

static uintptr_t
		in_libside; /* in libside.so.0, even if the process uses the copy in the program, whose calls are to be seen */

static int turn_object(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	patch_imports_replace(info, user);
	return 0;
}

/*
 * Must imports be redirected? Not if the agent was preloaded, because then the program calls its
 * functions already.
 */
static bool interpose_find(struct patch_import *imports, size_t nr)
{
	void *handle, *first = dlsym(RTLD_DEFAULT, "unshare");
	bool any = false;
	Dl_info self, of_first;
	size_t i;

	if (!dladdr(&functions, &self) || !self.dli_fname)
		return false;
	/*
	 * Preloaded: check that without an allocation, which the wrappers would record as one of
	 * the program.
	 */
	if (first && dladdr(first, &of_first) && of_first.dli_fbase == self.dli_fbase)
		return false;
	handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (!handle)
		return false;
	in_libside = (uintptr_t)dlsym(handle, "side_call");
	for (i = 0; i < nr; i++) {
		void *ours = imports[i].replacement ? imports[i].replacement
						    : dlsym(handle, imports[i].name);
		void *called = dlsym(RTLD_DEFAULT, imports[i].name);

		imports[i].replacement = NULL;
		/* Ours calls the one behind us; the program's must be that one. */
		if (!ours || ours == called || called != dlsym(RTLD_NEXT, imports[i].name))
			continue;
		imports[i].real = called;
		imports[i].replacement = ours;
		any = true;
	}
	(void)dlclose(handle);
	return any;
}

/* The functions of one table. */
struct interposed {
	struct patch_import *imports;
	size_t nr;
	bool was_searched;
	bool has_any; /* any of them must be redirected */
};

static void interpose_objects(struct interposed *interposed)
{
	struct agent_own own;

	agent_own_begin(&own);
	if (!interposed->was_searched)
		interposed->has_any = interpose_find(interposed->imports, interposed->nr);
	interposed->was_searched = true;
	if (interposed->has_any) {
		struct patch_imports imports = {.functions = interposed->imports,
				.count = interposed->nr,
				.except = {(uintptr_t)&functions, in_libside}};

		/* A thread that loads libraries may do the same for the wrappers. */
		patch_stubs_begin();
		agent_objects_each(turn_object, &imports);
		patch_stubs_end();
	}
	(void)dlerror();
	agent_own_end(&own);
}

void agent_interpose(void)
{
	static struct interposed interposed = {.imports = functions, .nr = NR_FUNCTIONS};

	interpose_objects(&interposed);
}

static void interpose_set_lists(void)
{
	typedef int list_function(const char *path, const char *first, ...);
	list_function *const lists[] = {exec_list, exec_list_with, exec_list_searching};

	_Static_assert(NR_EXECS == EXECS_EXPORTED + sizeof(lists) / sizeof(*lists), "in order");
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		memcpy(&execs[EXECS_EXPORTED + i].replacement, &lists[i], sizeof(lists[i]));
}

void agent_interpose_execs(void)
{
	static struct interposed interposed = {.imports = execs, .nr = NR_EXECS};

	if (!interposed.was_searched)
		interpose_set_lists();
	interpose_objects(&interposed);
}

#else
void agent_interpose(void) {}
void agent_interpose_execs(void) {}
#endif
