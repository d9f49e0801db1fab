/* SPDX-License-Identifier: MIT */
/*
 * Loads the agent into the program if a daemon or a static configuration exists. It does so before
 * main() and before the constructors of other objects that use the library, so that no event is
 * lost.
 *
 * Also loads the library that passes events to the kernel, if the environment asks for that.
 *
 * Without a daemon this costs one or two system calls, which check its possible sockets. The
 * remainder of the library does not depend on this file, because tests link it without a loader.
 *
 * src/protocol/runtime.h defines the paths of the sockets for all other users. They are repeated
 * here because the library depends on nothing but the C library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <side/kernel.h>

#include "base/environment/environment.h"
#include "base/inside/loaded-symbol.h"
#include "copies.h"
#include "export.h"
#include "functions.h"
#include "lifecycle.h"

#define AGENT "libside-agent.so"
#define KERNEL "libside-kernel.so"
#define VALIDATOR "libside-validate.so.0"

/* The library is in a namespace of dlmopen(), not in that of the program. */
static bool loader_is_apart;

static bool loader_path_exists(const char *directory, const char *below)
{
	char path[PATH_MAX];
	int size = snprintf(path, sizeof(path), "%s%s/agents.sock", directory, below);

	return size > 0 && size < (int)sizeof(path) && access(path, F_OK) == 0;
}

static bool loader_finds_daemon(void)
{
	const char *runtime = environment_get("SIDE_RUNTIME");
	const char *user = environment_get("XDG_RUNTIME_DIR");
	/* From the auxiliary vector: no system call. */
	unsigned long uid = getauxval(AT_EUID);
	char space[64];

	if (runtime && *runtime)
		return *runtime == '/' && loader_path_exists(runtime, "");
	if (loader_path_exists("/run/side", ""))
		return true;
	if (uid == 0)
		return false;
	if (user && *user == '/')
		return loader_path_exists(user, "/side");
	(void)snprintf(space, sizeof(space), "/run/user/%lu/side", uid);
	if (loader_path_exists(space, ""))
		return true;
	(void)snprintf(space, sizeof(space), "/tmp/side-%lu", uid);
	return loader_path_exists(space, "");
}

#ifdef LIBSIDE_STATIC

/*
 * A C library may lack these functions in static programs. If it has them, like the GNU C library,
 * the agent would load a second C library. Therefore nothing is loaded into a static program.
 */
#pragma weak dladdr
#pragma weak dlerror
#pragma weak dlsym

/*
 * Find dlopen() at run time: by its name, the linker would print a warning for each static program.
 */
static void *loader_open_library(const char *path, int flags)
{
	void *(*function)(const char *, int);
	void *found = dlsym(RTLD_DEFAULT, "dlopen");

	memcpy(&function, &found, sizeof(function));
	return function ? function(path, flags) : NULL;
}

static void *loader_open_in_first(const char *path, int flags)
{
	void *(*function)(Lmid_t, const char *, int);
	void *found = dlsym(RTLD_DEFAULT, "dlmopen");

	memcpy(&function, &found, sizeof(function));
	return function ? function(LM_ID_BASE, path, flags) : NULL;
}

static bool is_replaced(void)
{
	return false;
}

static bool loader_can_load(void)
{
	return &dladdr && &dlerror && &dlsym && environment_has_interpreter();
}

/* A library that contains this copy must stay loaded, as libside.so.0 does. */
static void loader_stay_loaded(void)
{
	Dl_info self;

	if (!loader_can_load())
		return;
	if (dladdr(AGENT, &self) && self.dli_fname && strchr(self.dli_fname, '/'))
		(void)loader_open_library(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
	(void)dlerror();
}

/* The directory where the libraries were installed, or else the loader's search path. */
static int loader_make_path(const char *name, char *path, size_t space)
{
	int size = snprintf(path, space, LIBSIDE_DIRECTORY "/%s", name);

	return access(path, F_OK) ? snprintf(path, space, "%s", name) : size;
}

#else

static bool loader_can_load(void)
{
	return true;
}

static bool is_replaced(void)
{
	return copies_decide();
}

/* The library is linked with the option nodelete. */
static void loader_stay_loaded(void) {}

static void *loader_open_library(const char *path, int flags)
{
	return dlopen(path, flags);
}

static void *loader_open_in_first(const char *path, int flags)
{
	return dlmopen(LM_ID_BASE, path, flags);
}

/* The directory of this library. */
static int loader_make_path(const char *name, char *path, size_t space)
{
	const char *end;
	Dl_info self;

	if (!dladdr(AGENT, &self) || !self.dli_fname)
		return 0;
	end = strrchr(self.dli_fname, '/');
	return end ? snprintf(path, space, "%.*s/%s", (int)(end - self.dli_fname), self.dli_fname,
				     name)
		   : snprintf(path, space, "%s", name);
}

#endif

static const char *loader_choose_path(const char *name, char *path, size_t space)
{
	const char *directory = environment_get("SIDE_LIB_DIR");
	int size = directory && *directory ? snprintf(path, space, "%s/%s", directory, name)
					   : loader_make_path(name, path, space);

	return size > 0 && size < (int)space ? path : NULL;
}

/* Returns the handle, or NULL after a message on stderr if SIDE_DEBUG is set. */
static void *loader_load_with(const char *name, void *(*open_library)(const char *, int))
{
	const char *path, *error;
	char space[PATH_MAX];
	void *handle;

	if (!loader_can_load()) {
		if (environment_is_on("SIDE_DEBUG"))
			dprintf(STDERR_FILENO,
					"side: %s cannot be loaded: the program is linked statically\n",
					name);
		return NULL;
	}
	(void)dlerror(); /* an error of this library must not appear as one of the program's */
	path = loader_choose_path(name, space, sizeof(space));
	handle = path ? open_library(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
	if (!path || handle)
		return handle;
	error = dlerror();
	if (error && environment_is_on("SIDE_DEBUG"))
		dprintf(STDERR_FILENO, "side: %s cannot be loaded: %s (is SIDE_LIB_DIR right?)\n",
				name, error);
	return NULL;
}

/* ---- other namespaces ---- */

/*
 * The function of the first object of that name in the namespace. The constructor runs with the
 * lock of the loader, or before the process has threads, so the lists do not change.
 */
static const void *loader_find_in(
		const struct loaded_namespace *space, const char *soname, const char *name)
{
	for (const struct link_map *map = space->debug.r_map; map; map = map->l_next) {
		struct loaded_object object = loaded_read(map);

		if (object.soname && !strcmp(object.soname, soname))
			return loaded_find(&object, name);
	}
	return NULL;
}

/*
 * In a namespace of dlmopen(), the library has a C library of its own, whose fork handlers the
 * program does not run. The program forks with the C library of the first namespace.
 */
static void loader_watch_forks(void)
{
	static const char name[] = "__register_atfork";
	const struct loaded_namespace *first = dlsym(RTLD_DEFAULT, "_r_debug");
	const void *own = dlsym(RTLD_DEFAULT, name);
	const void *found = first ? loader_find_in(first, "libc.so.6", name) : NULL;
	lifecycle_register_atfork_func function;

	memcpy(&function, &found, sizeof(function));
	loader_is_apart = found && found != own;
	if (loader_is_apart)
		(void)lifecycle_watch_forks(function);
}

/* ---- the agent of the process ---- */

/*
 * The function of the process's agent, which may be in another namespace, or loaded with
 * RTLD_LOCAL. NULL: there is no agent.
 */
static const void *loader_find_agent(void)
{
	const struct loaded_namespace *space = dlsym(RTLD_DEFAULT, "_r_debug");
	const void *found = NULL;

	for (; space && !found; space = loaded_next(space))
		found = loader_find_in(space, AGENT, "side_agent_note_copy");
	return found;
}

/*
 * The agent uses one copy of libside. It becomes a tracer of each other copy, or reports the
 * library that has it. True: the process has an agent, which knows this copy now.
 */
static bool loader_meets_agent(void)
{
	void (*note_copy)(const char *, void (*)(void));
	const void *found = loader_can_load() ? loader_find_agent() : NULL;
	Dl_info self;

	if (!found)
		return false;
	memcpy(&note_copy, &found, sizeof(note_copy));
	if (dladdr(AGENT, &self) && self.dli_fname)
		note_copy(self.dli_fname, side_init);
	return true;
}

static void loader_load_agent(void)
{
	/* If the agent is preloaded, its own constructor does everything. */
	if (loader_meets_agent())
		return;
	/* The agent starts threads, which only the C library of the program does correctly. */
	(void)loader_load_with(AGENT, loader_is_apart ? loader_open_in_first : loader_open_library);
}

static void *loader_load_library(const char *name)
{
	return loader_load_with(name, loader_open_library);
}

EXPORT int side_kernel_start(const char *events)
{
	int (*begin)(const char *text);
	void *library;

	if (!events || !*events)
		return SIDE_ERROR_INVAL;
	side_init();
	library = loader_load_library(KERNEL);
	*(void **)&begin = library ? dlsym(library, "side_kernel_begin") : NULL;
	return begin ? begin(events) : SIDE_ERROR_NOENT;
}

/* Load it if the environment asks for it; "0" does not. */
static void loader_load_kernel(void)
{
	if (environment_is_on("SIDE_USER_EVENTS"))
		(void)side_kernel_start(environment_get("SIDE_USER_EVENTS"));
}

/*
 * Reports a failure: the user asked for the validator, so silence would mean that there are no
 * errors.
 */
static void loader_load_validator(void)
{
	if (!environment_is_on("SIDE_VALIDATE"))
		return;
	side_init();
	if (!loader_load_library(VALIDATOR))
		dprintf(STDERR_FILENO,
				"side: cannot validate calls: " VALIDATOR
				" cannot be loaded\nhint: SIDE_DEBUG=1 prints the reason\n");
}

static __attribute__((LIBRARY_BEGIN)) void loader_run(void)
{
	const char *control;
	int saved_errno = errno;

	if (is_replaced())
		return;
	loader_stay_loaded();
	if (loader_can_load())
		loader_watch_forks();
	/* No daemon traces a program with more privileges than its caller. */
	if (getauxval(AT_SECURE))
		return;
	/* The validator guards the other tracers, so it is loaded first. */
	loader_load_validator();
	loader_load_kernel();
	errno = saved_errno;
	control = environment_get("SIDE_CONTROL");
	if (control && !strcmp(control, "off"))
		return;
	/* The agent is a tracer and needs an initialized library. */
	side_init();
	/* A static configuration of early boot (src/protocol/boot.h) needs no daemon. */
	if (environment_is_on("SIDE_BOOT") || loader_finds_daemon())
		loader_load_agent();
	else
		(void)loader_meets_agent();
	if (loader_can_load())
		(void)dlerror();
	errno = saved_errno;
}
