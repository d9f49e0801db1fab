/* SPDX-License-Identifier: MIT */
/*
 * Makes a running program call the functions of a wrapper library, and the real ones again.
 *
 * `side attach -w` has loaded the library, or the agent loads it for rules of a session. The addresses that the program's objects import are replaced
 * (probe/patch/imports.c). An address that an object's code also takes stays, because the program
 * could compare it with one that it has stored. The library is never unloaded: threads may be in
 * its functions, such as pthread_cond_wait().
 *
 * Threads that load libraries redirect the imports of those, too. They hold the loader's lock, so a
 * thread that holds the lock of patch_stubs_begin() must not ask the loader for a function.
 *
 * Part of the shared library only, like interpose.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/wrappers.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/constructors.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/interpose.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wrapper-file.h"
#include "base/inside/raw.h"
#include "protocol/pattern.h"
#include "protocol/wrapper-state.h"

/* Read by `side`, in the memory of the process. */
uint64_t side_agent_wrappers __attribute__((visibility("default")));

#if defined(__x86_64__) && defined(__LP64__)

#include "probe/patch/imports.h"
#include "probe/patch/patch.h"
#include "probe/patch/stubs.h"
#include "tracers/wrap/imports.h"

#define WRAPPERS_FUNCTIONS_MAX 256
#define WRAPPERS_NAME_SIZE 16
/* Of 1 ms, until other threads have relocated the libraries that they are loading. */
#define WRAPPERS_RELOCATION_TRIES 100

static struct wrapper {
	const char *name;
	const struct wrap_import *imports; /* NULL: not loaded */
	size_t nr;
	void *next[WRAPPERS_FUNCTIONS_MAX]; /* the real function of each; NULL: there is none */
	bool is_active;                     /* imports are redirected */
	enum wrapper_state state;           /* for rules of sessions; with the turn */
} wrappers[] = {{.name = "libc"}, {.name = "pthread"}};

#define NR_WRAPPERS (sizeof(wrappers) / sizeof(wrappers[0]))

/* ---- the library ---- */

static void *agent_handle;
static const void *agent_base;
/* Addresses in the agent, and in libside.so.0 even if the process uses the copy in the program. */
static const void *tracers[3];

static void *wrappers_find_in_agent(const char *name)
{
	void *found = dlsym(agent_handle, name);
	Dl_info info;

	return found && dladdr(found, &info) && info.dli_fbase == agent_base ? found : NULL;
}

static bool wrappers_find_agent(void)
{
	Dl_info self;

	if (agent_handle)
		return true;
	if (!dladdr(&wrappers, &self) || !self.dli_fname)
		return false;
	agent_base = self.dli_fbase;
	/* Not closed: the agent is never unloaded. */
	agent_handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (!agent_handle)
		return false;
	tracers[0] = &wrappers;
	tracers[1] = dlsym(agent_handle, "side_call");
	return true;
}

static int wrappers_load(struct wrapper *wrapper, void *handle)
{
	char name[sizeof(WRAP_ATTACH_PREFIX) + WRAPPERS_NAME_SIZE] = WRAP_ATTACH_PREFIX;
	struct wrap_agent given = {.handle = handle,
			.is_own_thread = patch_is_own,
			.find = wrappers_find_in_agent,
			.tracers = tracers};
	const struct wrap_import *imports;
	wrap_attach_function *attach;
	void *found;

	/* Relaxed: only threads with the turn store it. */
	if (__atomic_load_n(&wrapper->imports, __ATOMIC_RELAXED))
		return 0;
	strcat(name, wrapper->name);
	found = dlsym(handle, name);
	if (!found || !wrappers_find_agent())
		return -ENOSYS;
	memcpy(&attach, &found, sizeof(attach));
	wrapper->nr = attach(&given, &imports);
	if (!wrapper->nr || wrapper->nr > WRAPPERS_FUNCTIONS_MAX)
		return wrapper->nr ? -E2BIG : -EALREADY;
	for (size_t i = 0; i < wrapper->nr; i++)
		wrapper->next[i] = imports[i].next();
	/*
	 * Release: the functions. Pairs with the acquire in wrappers_turn_all(), in a thread that
	 * loads a library.
	 */
	__atomic_store_n(&wrapper->imports, imports, __ATOMIC_RELEASE);
	return 0;
}

/* ---- the imports of the program ---- */

static int wrappers_turn_object(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	patch_imports_replace(info, user);
	return 0;
}

/* With the lock of patch_stubs_begin(). Stacks of threads that load a library may be small. */
static const struct patch_import *wrappers_list_functions(const struct wrapper *wrapper, bool on)
{
	static struct patch_import functions[WRAPPERS_FUNCTIONS_MAX];

	for (size_t i = 0; i < wrapper->nr; i++) {
		const struct wrap_import *import = &wrapper->imports[i];
		void *next = wrapper->next[i];

		functions[i] = (struct patch_import){.name = import->name,
				.version = import->version,
				.spares_definer = import->spares_definer,
				.real = on ? next : import->wrapper,
				.replacement = !next ? NULL
						: on ? import->wrapper
						     : next};
	}
	return functions;
}

/* Returns the number of objects that another thread relocates now, which stay as they are. */
static size_t wrappers_turn(struct wrapper *wrapper, bool on)
{
	size_t nr_left = 0, nr_pending = 0;
	struct patch_imports imports = {.count = wrapper->nr,
			.except = {(uintptr_t)tracers[0], (uintptr_t)tracers[1],
					(uintptr_t)wrapper->imports},
			.calls_only = on,
			.bound_only = !on,
			.definers = true,
			.nr_left = &nr_left,
			.nr_pending = &nr_pending};

	patch_stubs_begin();
	imports.functions = wrappers_list_functions(wrapper, on);
	agent_objects_each(wrappers_turn_object, &imports);
	patch_stubs_end();
	/* Relaxed: agent_wrappers_update() repeats if another thread has changed the sessions. */
	__atomic_store_n(&wrapper->is_active, on, __ATOMIC_RELAXED);
	agent_debug("wrapper %s: %s, %zu calls left, %zu objects pending", wrapper->name,
			on ? "on" : "off", nr_left, nr_pending);
	return nr_pending;
}

/* True if the pattern selects events of this provider, and names it without wildcards. */
static bool wrappers_is_named(const struct pattern *pattern, const char *provider)
{
	const size_t size = strlen(provider);

	return !pattern->exclude && !strncmp(pattern->glob, provider, size) &&
			pattern->glob[size] == ':';
}

static uint32_t wrappers_of_rule(const struct agent_rule *rule)
{
	uint32_t wanted = 0;

	for (uint32_t i = 0; i < rule->nr_patterns; i++)
		for (size_t which = 0; which < NR_WRAPPERS; which++)
			if (wrappers_is_named(&rule->patterns[i], wrappers[which].name))
				wanted |= 1u << which;
	return wanted;
}

/* With the event lock. The wrappers whose events the rules of a session of the daemon name. */
static uint32_t wrappers_of_rules(const struct agent_session *session)
{
	uint32_t wanted = 0;

	if (session->is_explicit || session->list_only)
		return 0;
	for (uint32_t i = 0; i < session->nr_channels; i++)
		for (const struct agent_rule *rule = session->channels[i].rules; rule;
				rule = rule->next)
			wanted |= wrappers_of_rule(rule);
	return wanted;
}

static uint32_t wrappers_wanted(bool by_rules)
{
	const struct agent_session *session;
	uint32_t wanted = 0;

	side_tracer_lock();
	agent_each_session(session)
		if (session->state == AGENT_SESSION_IN && !session->gone)
			wanted |= (by_rules ? 0 : session->wrappers) | wrappers_of_rules(session);
	side_tracer_unlock();
	return wanted;
}

/* Returns true if a wrapper is active. */
static bool wrappers_turn_all(uint32_t wanted, size_t *ret_nr_pending)
{
	bool any = false;

	*ret_nr_pending = 0;
	for (size_t i = 0; i < NR_WRAPPERS; i++) {
		const bool on = wanted >> i & 1;

		/* Acquire: pairs with the release in wrappers_load(). */
		if (!__atomic_load_n(&wrappers[i].imports, __ATOMIC_ACQUIRE))
			continue;
		/* Relaxed: as in wrappers_turn(). */
		if (on || __atomic_load_n(&wrappers[i].is_active, __ATOMIC_RELAXED))
			*ret_nr_pending += wrappers_turn(&wrappers[i], on);
		any |= on;
	}
	return any;
}

/* Threads of the program do so too, when they load libraries: the last one must be up to date. */
static bool wrappers_apply(size_t *ret_nr_pending)
{
	uint32_t wanted;
	bool any;

	do {
		wanted = wrappers_wanted(false);
		any = wrappers_turn_all(wanted, ret_nr_pending);
	} while (wrappers_wanted(false) != wanted);
	return any;
}

/* The agent's functions first: the wrappers then call them. */
static void wrappers_update_libraries(uintptr_t base)
{
	struct agent_own own;
	size_t nr_pending;

	(void)base;
	agent_own_begin(&own);
	agent_interpose();
	(void)wrappers_apply(&nr_pending);
	agent_own_end(&own);
}

static void wrappers_libraries_changed(void)
{
	if (!agent_constructors_watch(wrappers_update_libraries))
		wrappers_update_libraries(0);
}

/*
 * A library whose relocation began before the watch is redirected here. Without a pause in a
 * sandbox, which may not permit it.
 */
void agent_wrappers_update(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	size_t nr_pending;

	agent_probes_watch_libraries(
			wrappers_apply(&nr_pending) ? wrappers_libraries_changed : NULL);
	for (unsigned int i = 0; nr_pending && i < WRAPPERS_RELOCATION_TRIES; i++) {
		if (agent_is_sandboxed())
			return;
		raw_call(SYS_nanosleep, &pause, NULL);
		(void)wrappers_apply(&nr_pending);
	}
}

/* ---- rules of sessions ---- */

/* The thread of `side attach` calls the loader anyway. A forked child must not: see control.c. */
static bool wrappers_may_load(void)
{
	/* Only the thread itself has stored it: orders nothing. */
	return !control.forked ||
			atomic_load_explicit(&agent.own_process.borrowed, memory_order_relaxed) ==
			raw_call(SYS_gettid);
}

static enum wrapper_state wrappers_find_library(struct wrapper *wrapper)
{
	enum wrapper_state state;
	void *handle;
	int ret;

	/* Relaxed: only threads with the turn store it. */
	if (__atomic_load_n(&wrapper->imports, __ATOMIC_RELAXED))
		return WRAPPER_STATE_ACTIVE;
	if (wrapper->state == WRAPPER_STATE_PRELOADED)
		return WRAPPER_STATE_PRELOADED;
	if (!wrappers_may_load())
		return WRAPPER_STATE_FORKED;
	handle = agent_wrapper_file_load(wrapper->name, &state);
	if (!handle)
		return state;
	/* The agent's functions first: the wrappers then call them. */
	agent_interpose();
	ret = wrappers_load(wrapper, handle);
	if (ret == -EALREADY)
		return WRAPPER_STATE_PRELOADED;
	return ret ? WRAPPER_STATE_REFUSED : WRAPPER_STATE_ACTIVE;
}

static void wrappers_find_libraries(uint32_t wanted)
{
	uint64_t states = 0;

	for (size_t i = 0; i < NR_WRAPPERS; i++) {
		if (wanted >> i & 1)
			wrappers[i].state = wrappers_find_library(&wrappers[i]);
		if (wanted >> i & 1)
			states |= (uint64_t)wrappers[i].state << i * WRAPPER_STATE_BITS;
	}
	(void)dlerror();
	/* Relaxed: read by other processes. */
	__atomic_store_n(&side_agent_wrappers, states, __ATOMIC_RELAXED);
}

/* True if imports must be redirected, or restored. */
static bool wrappers_must_change(void)
{
	const uint32_t wanted = wrappers_wanted(false);

	for (size_t i = 0; i < NR_WRAPPERS; i++)
		/* Relaxed, both: as in wrappers_find_library(), and as in wrappers_turn(). */
		if (__atomic_load_n(&wrappers[i].imports, __ATOMIC_RELAXED) &&
				__atomic_load_n(&wrappers[i].is_active, __ATOMIC_RELAXED) !=
						(wanted >> i & 1))
			return true;
	return false;
}

void agent_wrappers_follow(void)
{
	struct agent_own own;
	uint32_t wanted;

	if (agent_is_sandboxed() ||
			/* Relaxed: as in update.c. */
			atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed))
		return;
	wanted = wrappers_wanted(true);
	/* Relaxed: only threads with the turn store it. */
	if (!wanted && !__atomic_load_n(&side_agent_wrappers, __ATOMIC_RELAXED))
		return;
	agent_own_begin(&own);
	wrappers_find_libraries(wanted);
	if (wrappers_must_change())
		agent_wrappers_update();
	agent_own_end(&own);
}

/* ---- the request ---- */

static int wrappers_want(const char *path, size_t which)
{
	struct agent_session *session;
	int ret = -ENOENT;

	side_tracer_lock();
	agent_each_session(session) {
		if (strcmp(session->path, path) != 0)
			continue;
		session->wrappers |= 1u << which;
		ret = 0;
	}
	side_tracer_unlock();
	return ret;
}

int agent_wrappers_add(const char *text)
{
	const size_t size = strcspn(text, " ");
	unsigned long long handle;
	size_t which = 0;
	char *end;
	int ret;

	while (which < NR_WRAPPERS &&
			(strlen(wrappers[which].name) != size ||
					memcmp(wrappers[which].name, text, size) != 0))
		which++;
	if (which == NR_WRAPPERS || !text[size])
		return -EINVAL;
	handle = strtoull(text + size + 1, &end, 16);
	if (!handle || *end != ' ')
		return -EINVAL;
	/* The agent's functions first: the wrappers then call them. */
	agent_interpose();
	ret = wrappers_load(&wrappers[which], (void *)(uintptr_t)handle);
	/* It was preloaded, so the program calls its functions already. */
	if (ret == -EALREADY)
		return 0;
	if (!ret)
		ret = wrappers_want(end + 1, which);
	if (!ret)
		agent_wrappers_update();
	return ret;
}

#else

int agent_wrappers_add(const char *text)
{
	(void)text;
	return -ENOSYS;
}

void agent_wrappers_update(void) {}

void agent_wrappers_follow(void) {}

#endif
