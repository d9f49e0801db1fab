/* SPDX-License-Identifier: MIT */
/*
 * Replaces imports while another thread relocates a library: the library is left alone until the
 * loader has made its tables read-only, and they stay read-only afterwards.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/patch/imports.h"
#include "imports-library.h"

#include "../../check.h"

#define OTHER_PID 4711

static const char *library;
static void *handle;
static struct patch_import function = {.name = "getppid"};
static size_t nr_pending;

static pid_t other_getppid(void)
{
	return OTHER_PID;
}

static void *address_of(pid_t (*of)(void))
{
	void *address;

	memcpy(&address, &of, sizeof(address));
	return address;
}

static int replace(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	/* The test calls the real function. */
	if (*info->dlpi_name)
		patch_imports_replace(info, user);
	return 0;
}

static void turn(bool on)
{
	struct patch_imports imports = {.functions = &function,
			.count = 1,
			.calls_only = on,
			.bound_only = !on,
			.nr_pending = &nr_pending};

	function.real = address_of(on ? getppid : other_getppid);
	function.replacement = address_of(on ? other_getppid : getppid);
	nr_pending = 0;
	dl_iterate_phdr(replace, &imports);
}

/* The loader calls the library's resolver, which waits for the test, during the relocation. */
static void *load(void *unused)
{
	handle = dlopen(library, RTLD_NOW);
	CHECK(handle);
	return unused;
}

static void **library_slot(void)
{
	const struct link_map *map = handle;
	const Elf64_Rela *entries = NULL;
	const Elf64_Sym *symbols = NULL;
	const char *names = NULL;
	size_t size = 0;

	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_RELA)
			entries = (const void *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_RELASZ)
			size = entry->d_un.d_val;
		else if (entry->d_tag == DT_SYMTAB)
			symbols = (const void *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_STRTAB)
			names = (const void *)entry->d_un.d_ptr;
	}
	for (size_t i = 0; i < size / sizeof(*entries); i++)
		if (!strcmp(names + symbols[ELF64_R_SYM(entries[i].r_info)].st_name, "getppid"))
			return (void **)(map->l_addr + entries[i].r_offset);
	return NULL;
}

static bool is_read_only(const void *address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end;
	bool is_found = false;
	char access[5];

	CHECK(maps);
	while (!is_found && fscanf(maps, "%lx-%lx %4s%*[^\n]", &begin, &end, access) == 3)
		is_found = (uintptr_t)address >= begin && (uintptr_t)address < end;
	CHECK(is_found && !fclose(maps));
	return !strcmp(access, "r--p");
}

static pid_t call_library(void)
{
	pid_t (*call)(void);
	void *found = dlsym(handle, "imports_library_call");

	CHECK(found);
	memcpy(&call, &found, sizeof(call));
	return call();
}

static void start_loading(pthread_t *ret_thread)
{
	char byte;

	CHECK(!pthread_create(ret_thread, NULL, load, NULL));
	CHECK(read(IMPORTS_LIBRARY_BEGUN, &byte, 1) == 1);
}

static void finish_loading(pthread_t thread)
{
	CHECK(write(IMPORTS_LIBRARY_GO_TEST, "", 1) == 1);
	CHECK(!pthread_join(thread, NULL));
}

static void test_relocation(void)
{
	pthread_t thread;

	start_loading(&thread);
	turn(true);
	CHECK(nr_pending == 1);
	turn(false);
	CHECK(nr_pending == 0);
	finish_loading(thread);
	CHECK(library_slot() && is_read_only(library_slot()));
	CHECK(call_library() == getppid());
}

static void test_after(void)
{
	turn(true);
	CHECK(nr_pending == 0);
	CHECK(is_read_only(library_slot()));
	CHECK(call_library() == OTHER_PID);
	turn(false);
	CHECK(is_read_only(library_slot()));
	CHECK(call_library() == getppid());
}

static void make_pipe(int in, int out)
{
	int ends[2];

	CHECK(!pipe(ends));
	CHECK(dup2(ends[0], in) == in);
	CHECK(dup2(ends[1], out) == out);
	CHECK(!close(ends[0]) && !close(ends[1]));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	library = argv[1];
	make_pipe(IMPORTS_LIBRARY_BEGUN, IMPORTS_LIBRARY_BEGUN_LIBRARY);
	make_pipe(IMPORTS_LIBRARY_GO, IMPORTS_LIBRARY_GO_TEST);
	test_relocation();
	test_after();
	for (int fd = IMPORTS_LIBRARY_BEGUN; fd <= IMPORTS_LIBRARY_GO_TEST; fd++)
		CHECK(!close(fd));
	CHECK(!dlclose(handle));
	return 0;
}
