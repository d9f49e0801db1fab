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

static uintptr_t
		in_libside; /* in libside.so.0, even if the process uses the copy in the program, whose calls are to be seen */

static int turn_object(struct dl_phdr_info *info, size_t size, void *user)
{
	const struct patch_imports imports = {.functions = functions,
			.count = NR_FUNCTIONS,
			.except = {(uintptr_t)&functions, in_libside}};

	(void)size;
	(void)user;
	patch_imports_replace(info, &imports);
	return 0;
}

/*
 * Must imports be redirected? Not if the agent was preloaded, because then the program calls its
 * functions already.
 */
static bool find_functions(void)
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
	for (i = 0; i < NR_FUNCTIONS; i++) {
		void *ours = dlsym(handle, functions[i].name);
		void *called = dlsym(RTLD_DEFAULT, functions[i].name);

		/* Ours calls the one behind us; the program's must be that one. */
		if (!ours || ours == called || called != dlsym(RTLD_NEXT, functions[i].name))
			continue;
		functions[i].real = called;
		functions[i].replacement = ours;
		any = true;
	}
	(void)dlclose(handle);
	return any;
}

void agent_interpose(void)
{
	static bool begun, any;
	struct agent_own own;

	agent_own_begin(&own);
	if (!begun)
		any = find_functions();
	begun = true;
	if (any) {
		/* A thread that loads libraries may do the same for the wrappers. */
		patch_stubs_begin();
		agent_objects_each(turn_object, NULL);
		patch_stubs_end();
	}
	(void)dlerror();
	agent_own_end(&own);
}

#else
void agent_interpose(void) {}
#endif
