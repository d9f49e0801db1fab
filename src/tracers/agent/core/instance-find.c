/* SPDX-License-Identifier: MIT */
/*
 * Finds the other copies of libside in the process, and their functions.
 *
 * A shared library of any name shows them as symbols; a copy of libside.a has a note that leads to
 * a table (libside/copies.h). The lists of the loader for debuggers have the objects of all
 * namespaces of dlmopen(); dl_iterate_phdr() has only those of one. A copy that is loaded later
 * announces itself with side_agent_note_copy(). Other implementations do not: the agent finds them
 * when the loader notifies it, else with the next change of a session or request of `side attach`.
 * The end of the process reports the others.
 *
 * Part of the shared library only: static programs have no loader.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "libside/copies.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/constructors.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/instance-find.h"
#include "tracers/agent/core/instances.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/unsupported.h"
#include "base/inside/loaded-symbol.h"
#include "base/inside/raw.h"

#define EXPORT __attribute__((visibility("default")))
#define INSTANCE_PATH_SIZE 4096

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
	int nr = dlinfo((void *)(uintptr_t)map, LOADED_DLINFO_HEADERS, (void *)&headers);

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

/* ---- implementations that do not announce themselves ---- */

/* An object that exports the functions of a copy which the agent does not know. */
struct instance_unknown {
	const struct link_map *map;
	Lmid_t space;
	char path[INSTANCE_PATH_SIZE];
};

/* With the control turn, or at the end of the process. */
static struct instance_unknown instance_unknown;

/* Copies that the agent could not use, and has reported. */
static const struct link_map *instances_refused[AGENT_INSTANCES_MAX];

static bool instance_is_refused(const struct link_map *map)
{
	for (size_t i = 0; i < AGENT_INSTANCES_MAX; i++)
		/* Relaxed: the pointer is only compared. */
		if (__atomic_load_n(&instances_refused[i], __ATOMIC_RELAXED) == map)
			return true;
	return false;
}

static void instance_refuse(const struct link_map *map)
{
	for (size_t i = 0; i < AGENT_INSTANCES_MAX; i++) {
		const struct link_map *none = NULL;

		/* Relaxed: as above. */
		if (!__atomic_compare_exchange_n(&instances_refused[i], &none, map, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		agent_report_copy(map->l_name);
		return;
	}
}

/* Copies of this implementation announce themselves. They have more functions than others. */
static bool instance_is_unknown(const struct link_map *map)
{
	const struct loaded_object object = loaded_read(map);
	const void *key = loaded_find(&object, "side_tracer_request_key");

	return key && map->l_name && *map->l_name && !loaded_find(&object, "side_tracer_forward") &&
			!agent_instance_is_known(key) && !instance_is_refused(map);
}

/*
 * The next object after `map` in the lists of all namespaces; NULL: begin, and end. Takes no lock
 * of the loader.
 */
static const struct link_map *instance_next_object(
		const struct loaded_namespace **space, const struct link_map *map)
{
	map = map ? map->l_next : NULL;
	while (!map) {
		*space = *space ? loaded_next(*space)
				: (const struct loaded_namespace *)(const void *)&_r_debug;
		if (!*space)
			break;
		map = (*space)->debug.r_map;
	}
	return map;
}

/* The first function of each library's list of constructors: the relocation adds the base to it. */
static bool instance_is_relocated(const struct link_map *map)
{
	const ElfW(Addr) *functions = NULL;

	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_INIT_ARRAY)
			functions = (const void *)(map->l_addr + entry->d_un.d_ptr);
	return functions && *functions >= map->l_addr;
}

static void instance_initialise(const struct link_map *map)
{
	const struct loaded_object object = loaded_read(map);
	const void *found = loaded_find(&object, "side_init");
	void (*init)(void);

	memcpy(&init, &found, sizeof(init));
	if (init)
		init();
}

/*
 * With the loader's lock. The constructors of the library at `base` follow: those of the libraries
 * on which it depends have run. Its own first events come from its constructors, so it is
 * initialised here. That happens once, as the specification requires.
 */
static void instances_meet_loaded(uintptr_t base)
{
	const struct loaded_namespace *space = NULL;
	const struct link_map *map = NULL;
	struct agent_own own;

	agent_own_begin(&own);
	while ((map = instance_next_object(&space, map))) {
		if (!instance_is_unknown(map) || !instance_is_relocated(map))
			continue;
		if (map->l_addr != base && agent_constructors_are_pending(map->l_addr))
			continue;
		instance_initialise(map);
		if (instance_meet(map))
			instance_refuse(map);
	}
	(void)dlerror();
	agent_own_end(&own);
}

void agent_instances_loaded(void)
{
	const struct loaded_namespace *space = NULL;
	const struct link_map *map = NULL;

	do
		map = instance_next_object(&space, map);
	while (map && !instance_is_unknown(map));
	if (map && !agent_constructors_watch(instances_meet_loaded))
		instances_meet_loaded(0);
}

/* The walk holds the lock with which the loader changes its lists. */
static int instance_find_unknown(struct dl_phdr_info *info, size_t size, void *user)
{
	struct instance_unknown *unknown = user;
	const struct loaded_namespace *space = NULL;
	const struct link_map *map = NULL;

	(void)info;
	(void)size;
	do
		map = instance_next_object(&space, map);
	while (map && (!instance_is_unknown(map) || strlen(map->l_name) >= sizeof(unknown->path)));
	unknown->map = map;
	if (map) {
		strcpy(unknown->path, map->l_name);
		if (dlinfo((void *)(uintptr_t)map, RTLD_DI_LMID, &unknown->space))
			unknown->space = LM_ID_BASE;
	}
	return 1;
}

/* The loader returns the object when all its constructors have run, and keeps it from now on. */
static void instance_meet_unknown(const struct instance_unknown *unknown)
{
	const struct link_map *map = dlmopen(
			unknown->space, unknown->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);

	if (map == unknown->map && instance_meet(map))
		instance_refuse(map);
}

/*
 * A forked child must not ask the loader: another thread of its parent may have held its lock. The
 * thread of `side attach` asks it anyway.
 */
static bool instances_may_ask(void)
{
	if (agent_is_sandboxed())
		return false;
	/* Relaxed: only the thread itself has stored its number. */
	return !control.forked ||
			atomic_load_explicit(&agent.own_process.borrowed, memory_order_relaxed) ==
			raw_call(SYS_gettid);
}

void agent_instances_follow(void)
{
	struct agent_own own;

	if (!instances_may_ask())
		return;
	agent_own_begin(&own);
	for (size_t i = 0; i < AGENT_INSTANCES_MAX; i++) {
		agent_objects_each(instance_find_unknown, &instance_unknown);
		if (!instance_unknown.map)
			break;
		instance_meet_unknown(&instance_unknown);
	}
	(void)dlerror();
	agent_own_end(&own);
}

void agent_instances_report(void)
{
	struct agent_own own;

	if (!instances_may_ask())
		return;
	agent_own_begin(&own);
	agent_objects_each(instance_find_unknown, &instance_unknown);
	if (instance_unknown.map)
		agent_report_copy(instance_unknown.path);
	agent_own_end(&own);
}
