/* SPDX-License-Identifier: MIT */
/*
 * If the agent was not preloaded: which of its functions receive the calls of other objects. The
 * test replaces the loader.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "exec-lists.h"
#include "tracers/agent/core/interpose.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-threads.h"
#include "probe/patch/imports.h"

#include "../check.h"

static char objects[4], agent_has[64], others[64], libside_call; /* addresses */
static struct {
	bool own_is_unknown, has_no_name, is_preloaded, first_is_missing, first_is_unknown,
			cannot_open;
	const char *program_has, *agent_lacks; /* names of functions */
	unsigned int nr_closed, nr_opened, nr_errors, nr_begun, nr_ended, nr_each;
	struct patch_imports imports;
	unsigned int nr_turned;
} loader;

static unsigned int number_of(const char *name);

static int played_dladdr(const void *address, Dl_info *info);

static void *played_dlopen(const char *path, int flags)
{
	CHECK(!strcmp(path, "/agent.so") && flags == (RTLD_NOW | RTLD_NOLOAD));
	loader.nr_opened++;
	return loader.cannot_open ? NULL : objects;
}

static int played_dlclose(void *handle)
{
	CHECK(handle == objects);
	loader.nr_closed++;
	return 0;
}

static char *played_dlerror(void)
{
	loader.nr_errors++;
	return NULL;
}

static void *played_dlsym(void *handle, const char *name)
{
	if (!strcmp(name, "side_call")) {
		CHECK(handle == objects);
		return &libside_call;
	}
	if (handle == objects)
		return loader.agent_lacks && !strcmp(loader.agent_lacks, name)
				? NULL
				: &agent_has[number_of(name)];
	if (handle == RTLD_DEFAULT && !strcmp(name, "unshare") && loader.first_is_missing)
		return NULL;
	if (handle == RTLD_DEFAULT && loader.program_has && !strcmp(loader.program_has, name))
		return &others[60];
	CHECK(handle == RTLD_DEFAULT || handle == RTLD_NEXT);
	return &others[number_of(name)];
}

static void played_begin(struct agent_own *own)
{
	own->before = objects;
	loader.nr_begun++;
}

static void played_end(const struct agent_own *own)
{
	CHECK(own->before == objects);
	loader.nr_ended++;
}

static void played_turn(const struct dl_phdr_info *info, const struct patch_imports *imports)
{
	CHECK(info->dlpi_addr == 1000 + loader.nr_turned);
	loader.imports = *imports;
	loader.nr_turned++;
}

static int played_each(int (*call)(struct dl_phdr_info *info, size_t size, void *user), void *user)
{
	struct dl_phdr_info info = {.dlpi_addr = 1000};

	loader.nr_each++;
	CHECK(!call(&info, sizeof(info), user));
	info.dlpi_addr++;
	CHECK(!call(&info, sizeof(info), user));
	return 0;
}

#define dladdr played_dladdr
#define dlopen played_dlopen
#define dlclose played_dlclose
#define dlerror played_dlerror
#define dlsym played_dlsym
#define agent_own_begin played_begin
#define agent_own_end played_end
#define agent_objects_each played_each
#define patch_imports_replace played_turn
#include "tracers/agent/core/interpose.c"

static unsigned int number_of(const char *name)
{
	for (unsigned int i = 0; i < NR_FUNCTIONS; i++)
		if (!strcmp(functions[i].name, name))
			return i;
	CHECK(!"a function of the table");
	return 0;
}

static int played_dladdr(const void *address, Dl_info *info)
{
	*info = (Dl_info){.dli_fname = loader.has_no_name ? NULL : "/agent.so",
			.dli_fbase = &objects[1]};
	if (address == &functions)
		return !loader.own_is_unknown;
	CHECK(address == &others[number_of("unshare")]);
	info->dli_fbase = loader.is_preloaded ? &objects[1] : &objects[2];
	return !loader.first_is_unknown;
}

static void begin(void)
{
	memset(&loader, 0, sizeof(loader));
	in_libside = 0;
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		functions[i].replacement = functions[i].real = NULL;
}

/* Returns the number of functions of the agent that are used. */
static unsigned int nr_found(void)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		CHECK(!functions[i].replacement ||
				(functions[i].replacement == &agent_has[i] &&
						functions[i].real == &others[i]));
		CHECK(!functions[i].replacement == !functions[i].real);
		nr += functions[i].replacement != NULL;
	}
	return nr;
}

static void test_found(void)
{
	begin();
	CHECK(interpose_find(functions, NR_FUNCTIONS) && nr_found() == NR_FUNCTIONS &&
			loader.nr_opened == 1 && loader.nr_closed == 1 &&
			in_libside == (uintptr_t)&libside_call);
	begin();
	loader.first_is_missing = true;
	CHECK(interpose_find(functions, NR_FUNCTIONS) && nr_found() == NR_FUNCTIONS - 1);
	begin();
	loader.first_is_unknown = loader.is_preloaded = true;
	CHECK(interpose_find(functions, NR_FUNCTIONS) && nr_found() == NR_FUNCTIONS);
	/*
	 * Calls of a function that the program defines, or that the agent lacks, are not
	 * redirected.
	 */
	begin();
	loader.program_has = "chroot";
	CHECK(interpose_find(functions, NR_FUNCTIONS) && nr_found() == NR_FUNCTIONS - 1 &&
			!functions[0].replacement);
	begin();
	loader.agent_lacks = "__vfork";
	CHECK(interpose_find(functions, NR_FUNCTIONS) && nr_found() == NR_FUNCTIONS - 1 &&
			!functions[NR_FUNCTIONS - 1].replacement);
	/* No function is used. */
	begin();
	loader.is_preloaded = true;
	CHECK(!interpose_find(functions, NR_FUNCTIONS) && !nr_found() && !loader.nr_opened);
	begin();
	loader.own_is_unknown = true;
	CHECK(!interpose_find(functions, NR_FUNCTIONS) && !loader.nr_opened);
	begin();
	loader.has_no_name = true;
	CHECK(!interpose_find(functions, NR_FUNCTIONS) && !loader.nr_opened);
	begin();
	loader.cannot_open = true;
	CHECK(!interpose_find(functions, NR_FUNCTIONS) && loader.nr_opened == 1 &&
			!loader.nr_closed && !nr_found());
}

/* Functions are looked up once. The imports of objects are changed each time. */
static void test_turned(void)
{
	begin();
	for (unsigned int round = 1; round <= 2; round++) {
		loader.nr_turned = 0;
		agent_interpose();
		CHECK(loader.nr_opened == 1 && loader.nr_each == round && loader.nr_turned == 2 &&
				loader.nr_errors == round && loader.nr_begun == round &&
				loader.nr_ended == round);
		CHECK(loader.imports.functions == functions &&
				loader.imports.count == NR_FUNCTIONS &&
				loader.imports.except[0] == (uintptr_t)&functions &&
				loader.imports.except[1] == (uintptr_t)&libside_call);
	}
}

int main(void)
{
	CHECK(NR_FUNCTIONS < 60);
	test_found();
	test_turned();
	return 0;
}
