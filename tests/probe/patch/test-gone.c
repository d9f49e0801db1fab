/* SPDX-License-Identifier: MIT */
/*
 * Loads and unloads a library, each time at another address, with probes in it: test-gone LIBRARY.
 * Memory that was allocated for its sites is used again.
 */
#include "probe/code/code.h"
#include "probe/patch/patch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))
#define ROUNDS 1500
#define SETTLED 300
#define KEPT_BYTES 4096

static const char *const names[] = {"site_jump", "site_one", "site_call", "site_padding"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static unsigned int hits;

static HANDLER void on_hit(const struct patch_hit *hit)
{
	(*(unsigned int *)hit->user)++;
}

static int fail(const char *what, const char *which)
{
	printf("%s: %s\n", what, which);
	return 1;
}

static int read_sites(const char *path, struct probe_site *sites)
{
	const struct code_function *functions;
	struct error error;
	struct code_file *file;
	size_t count;

	if (code_open(path, &file, &error))
		return fail(error.text, path);
	count = code_functions(file, &functions);
	for (size_t i = 0; i < count; i++) {
		const char *name = code_name(file, &functions[i], 0);

		for (size_t k = 0; name && k < NAMES; k++) {
			if (!strcmp(name, names[k]))
				code_entry(file, &functions[i], &sites[k]);
		}
	}
	code_close(file);
	return 0;
}

static int round_of(const char *path, struct probe_site *sites, uint64_t *address)
{
	struct patch_setup setups[NAMES];
	struct patch *patches[NAMES];
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	unsigned int before = hits;

	if (!library)
		return fail("dlopen", dlerror());
	for (size_t i = 0; i < NAMES; i++) {
		sites[i].runtime = (uint64_t)(uintptr_t)dlsym(library, names[i]);
		setups[i] = (struct patch_setup){.site = &sites[i], .entry = on_hit, .user = &hits};
	}
	*address = sites[0].runtime;
	if (patch_set(setups, NAMES))
		return fail("no probe can be set", path);
	for (size_t i = 0; i < NAMES; i++) {
		int (*function)(void);

		*(void **)&function = (void *)(uintptr_t)sites[i].runtime;
		function();
		patches[i] = setups[i].patch;
	}
	/* site_call calls site_one. */
	if (hits - before != NAMES + 1)
		return fail("calls were not recorded", path);
	dlclose(library);
	if (patch_remove(patches, NAMES))
		return fail("probes cannot be removed", path);
	/* Keeps the addresses mapped, so that the library is loaded elsewhere the next time. */
	(void)mmap((void *)(*address & ~(uint64_t)(KEPT_BYTES - 1)), KEPT_BYTES, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return 0;
}

int main(int argc, char **argv)
{
	struct probe_site sites[NAMES];
	struct patch_stats settled = {0}, stats;
	uint64_t address, last = 0;
	unsigned int moved = 0;

	if (argc < 2 || read_sites(argv[1], sites))
		return 1;
	if (patch_start(false)) {
		printf("this kernel has no barrier for code: nothing can be tested\n");
		return 77;
	}
	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (round_of(argv[1], sites, &address))
			return 1;
		moved += address != last;
		last = address;
		if (i == SETTLED)
			patch_stats(&settled);
	}
	patch_stats(&stats);
	printf("%u rounds at %u addresses, %u hits, %llu bytes, %llu after %u rounds\n", ROUNDS,
			moved, hits, (unsigned long long)stats.bytes,
			(unsigned long long)settled.bytes, SETTLED);
	if (moved < ROUNDS / 2)
		return fail("it always comes at the same address", argv[1]);
	/*
	 * Fixed distances may need another arena of slots now and then, but no round needs one of
	 * its own.
	 */
	return stats.bytes > settled.bytes * 2 ? fail("memory is not used again", argv[1]) : 0;
}
