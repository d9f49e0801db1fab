/* SPDX-License-Identifier: MIT */
/*
 * Finds the other copies of libside in the process, and their functions.
 *
 * A shared library of any name shows them as symbols; a copy of libside.a has a note that leads to
 * a table (libside/copies.h). The lists of the loader for debuggers have the objects of all
 * namespaces of dlmopen(); dl_iterate_phdr() has only those of one. A copy that is loaded later
 * announces itself with side_agent_note_copy().
 *
 * Part of the shared library only: static programs have no loader.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "libside/copies.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/instance-find.h"
#include "tracers/agent/core/instances.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/unsupported.h"
#include "base/inside/loaded-symbol.h"

#define EXPORT __attribute__((visibility("default")))
#define INSTANCE_DLINFO_HEADERS 11 /* RTLD_DI_PHDR of glibc 2.36; older ones return an error */

/* For a copy of libside that starts, and whose function side_init() has this address. */
EXPORT void side_agent_note_copy(const char *library, void (*init)(void));

AGENT_LIBSIDE_DECLARE_WEAK(side_init)

struct instance_object {
	struct loaded_object loaded;
	const struct copy_table *table; /* of a copy of libside.a, or NULL */
};

static const void *instance_find_symbol(const struct instance_object *object, const char *name)
{
	return object->table ? copy_find_function(object->table, name)
			     : loaded_find(&object->loaded, name);
}

/* The first page of an object has its program headers. Returns their number, or 0. */
static unsigned int instance_first_page(const struct link_map *map, const ElfW(Phdr) * *ret_headers)
{
	const ElfW(Ehdr) * file;
	Dl_info info;

	if (!map->l_ld || !dladdr(map->l_ld, &info) || !info.dli_fbase)
		return 0;
	file = info.dli_fbase;
	if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
			file->e_phentsize != sizeof(ElfW(Phdr)) ||
			file->e_phoff + file->e_phnum * sizeof(ElfW(Phdr)) > 4096)
		return 0;
	*ret_headers = (const ElfW(Phdr) *)((uintptr_t)file + file->e_phoff);
	return file->e_phnum;
}

/* dladdr() reads all symbols of the object. So first ask C libraries that know the headers. */
static const struct copy_table *instance_find_table(const struct link_map *map)
{
	const ElfW(Phdr) *headers = NULL;
	uintptr_t notes;
	int nr = dlinfo((void *)(uintptr_t)map, INSTANCE_DLINFO_HEADERS, (void *)&headers);

	if (nr < 0) {
		(void)dlerror();
		nr = (int)instance_first_page(map, &headers);
	}
	return copy_find(map->l_addr, headers, (unsigned int)nr, &notes);
}

/* ---- copies ---- */

#define INSTANCE_FUNCTION(member, name, is_optional) \
	{#name, offsetof(struct agent_instance_functions, member), is_optional},

/* clang-format off */
static const struct {
	const char *name;
	size_t at;
	bool is_optional;
} instance_functions[] = {
	INSTANCE_FUNCTION(request_key, side_tracer_request_key, false)
	INSTANCE_FUNCTION(notification_register, side_tracer_event_notification_register, false)
	INSTANCE_FUNCTION(callback_register, side_tracer_callback_register, false)
	INSTANCE_FUNCTION(callback_unregister, side_tracer_callback_unregister, false)
	INSTANCE_FUNCTION(variadic_register, side_tracer_callback_variadic_register, false)
	INSTANCE_FUNCTION(variadic_unregister, side_tracer_callback_variadic_unregister, false)
	INSTANCE_FUNCTION(statedump_request, side_tracer_statedump_request, false)
	INSTANCE_FUNCTION(sandbox_begins, side_tracer_sandbox_begins, true)
	INSTANCE_FUNCTION(sandbox_failed, side_tracer_sandbox_failed, true)
};
/* clang-format on */

static bool instance_find_functions(const struct instance_object *object,
		struct agent_instance_functions *ret_functions)
{
	for (size_t i = 0; i < sizeof(instance_functions) / sizeof(*instance_functions); i++) {
		const void *found = instance_find_symbol(object, instance_functions[i].name);

		if (!found && !instance_functions[i].is_optional)
			return false;
		memcpy((char *)ret_functions + instance_functions[i].at, &found, sizeof(found));
	}
	return true;
}

/* This and other implementations may be unloaded; the agent's callbacks then stay in use. */
static void instance_pin(const struct link_map *map)
{
	Lmid_t space = LM_ID_BASE;

	if (map->l_name && *map->l_name && !dlinfo((void *)(uintptr_t)map, RTLD_DI_LMID, &space))
		(void)dlmopen(space, map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	(void)dlerror();
}

/* 0: the agent is its tracer now, or no other copy is in this object. */
static int instance_meet(const struct link_map *map)
{
	struct agent_instance_functions functions;
	struct instance_object object = {
			.loaded = loaded_read(map),
			.table = instance_find_table(map),
	};

	if (!instance_find_functions(&object, &functions))
		return -ENOENT;
	instance_pin(map);
	return agent_instance_add(
			map->l_name && *map->l_name ? map->l_name : "program", &functions);
}

/* The object that contains this function. */
static const struct link_map *instance_of_function(void (*function)(void))
{
	struct link_map *map = NULL;
	const void *address;
	Dl_info info;

	memcpy(&address, &function, sizeof(address));
	return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

void agent_instances_find(void)
{
	const struct link_map *used = instance_of_function(side_init);
	const struct loaded_namespace *space = dlsym(RTLD_DEFAULT, "_r_debug");

	for (; space; space = loaded_next(space))
		for (const struct link_map *map = space->debug.r_map; map; map = map->l_next) {
			int ret = map == used ? 0 : instance_meet(map);

			if (ret && ret != -ENOENT)
				agent_report_copy(map->l_name);
		}
	(void)dlerror();
}

EXPORT void side_agent_note_copy(const char *library, void (*init)(void))
{
	const struct link_map *map;
	int saved_errno = errno;

	if (!agent_libside_is_whole() || init == side_init || agent_is_sandboxed())
		return;
	map = instance_of_function(init);
	if (map && map != instance_of_function(side_init) && instance_meet(map))
		agent_report_copy(library);
	errno = saved_errno;
}
