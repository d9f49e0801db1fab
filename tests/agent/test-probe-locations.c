/* SPDX-License-Identifier: MIT */
/*
 * The locations at which probes of tables are set: modules and their maps, specs, semaphores,
 * marks, and what each round sets, removes and settles. The test includes the file and replaces the
 * table, the mapped libraries and the code that changes other code.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../called.h"
#include "../resources.h"
#include "protocol/protocol.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/probes/probes.h"
#include "base/inside/raw.h"

#define NR_PROBES 4
#define NR_MODULES 2

/* Addresses in this memory are printed as distances from its begin. */
static unsigned char code[64];

static uint64_t at(uint64_t distance)
{
	return (uint64_t)(uintptr_t)code + distance;
}

static struct probe_table_probe probes[NR_PROBES];
static struct probe_table_module modules[NR_MODULES];
static struct base_library libraries[6];
static struct base_identity identities[6];
static uint32_t nr_libraries, nr_probes;

static struct {
	unsigned int failing, nr_takes; /* the allocation that fails */
	int libraries_error, set_error;
	bool no_steps[2], no_file, no_pages, has_retired, cannot_raise;
	enum probe_method method;
} played;

static void *play_take(struct agent_memory *memory, size_t size)
{
	return ++played.nr_takes == played.failing ? NULL : agent_memory_take(memory, size);
}

static uint32_t play_nr_probes(const struct probe_table *table)
{
	assert_non_null(table);
	return nr_probes;
}

static void play_probe(
		const struct probe_table *table, uint32_t index, struct probe_table_probe *probe)
{
	assert_non_null(table);
	assert_true(index < nr_probes);
	*probe = probes[index];
}

static uint32_t play_nr_modules(const struct probe_table *table)
{
	assert_non_null(table);
	return NR_MODULES;
}

static void play_module(
		const struct probe_table *table, uint32_t index, struct probe_table_module *module)
{
	assert_non_null(table);
	assert_true(index < NR_MODULES);
	*module = modules[index];
}

static int play_each(void (*each)(void *user, const struct base_library *library), void *user)
{
	for (uint32_t i = 0; i < nr_libraries; i++)
		each(user, &libraries[i]);
	return played.libraries_error;
}

static bool play_find(
		const struct base_library *library, struct base_identity *identity, uint64_t *bias)
{
	*identity = identities[library - libraries];
	*bias = library->base;
	return !played.no_file;
}

static bool play_semaphore(uint64_t address, bool raise)
{
	called("%s %d\n", raise ? "raise" : "lower", (int)(address - at(0)));
	return !played.cannot_raise;
}

static uintptr_t enabled[2] = {1, 1};
static struct probes_event table_events[2];
static struct probes_layout variants[2];

static const struct probes_layout *play_steps(struct probes_table *table,
		struct probes_event *event, const struct probes_spec_details *details, bool leaves)
{
	assert_true(table && details);
	assert_ptr_equal(event, &table_events[leaves]);
	called("steps %d\n", leaves);
	return played.no_steps[leaves] ? NULL : &variants[leaves];
}

static void play_change_user(struct patch *probe, void *user)
{
	called("user %d %s\n", (int)((uint64_t)(uintptr_t)probe - at(0)), user ? "some" : "none");
}

/* The probe at a location is the location's address. */
static int play_set(struct patch_setup *setups, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct patch_setup *one = &setups[i];

		assert_true(one->entry == probe_hit_entry && one->user);
		assert_true(one->exit == (one->flags & PATCH_EXIT ? probe_hit_exit : NULL));
		called("set %d flags %u\n", (int)(one->site->runtime - at(0)), one->flags);
		one->error = played.set_error;
		one->method = played.method;
		if (!played.set_error)
			one->patch = (struct patch *)(uintptr_t)one->site->runtime;
	}
	return 0;
}

static int play_remove(struct patch **removed, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		called("remove %d\n", (int)((uint64_t)(uintptr_t)removed[i] - at(0)));
	return 0;
}

static void play_settle(struct patch **settled, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		called("settle %d\n", (int)((uint64_t)(uintptr_t)settled[i] - at(0)));
}

static bool play_has_retired(void)
{
	return played.has_retired;
}

static void *play_mmap(void *address, size_t size, int protection, int flags, int fd)
{
	assert_true(!address && fd == -1 && protection == (PROT_READ | PROT_WRITE));
	return played.no_pages ? NULL : raw_mmap(address, size, protection, flags, fd);
}

#define agent_memory_take play_take
#define probe_table_nr_probes play_nr_probes
#define probe_table_probe(table, index, probe) play_probe(table, index, probe)
#define probe_table_nr_modules play_nr_modules
#define probe_table_module(table, index, module) play_module(table, index, module)
#define base_each play_each
#define base_find play_find
#define probe_semaphore_change play_semaphore
#define probes_steps_make play_steps
#define patch_change_user play_change_user
#define patch_set play_set
#define patch_remove play_remove
#define patch_settle play_settle
#define probe_calls_has_retired play_has_retired
#define raw_mmap play_mmap
#include "tracers/agent/probes/sites.c"

#undef probe_table_probe
#undef probe_table_module

/* ---- the environment ---- */

static struct probe_fetch fetches[8];
static struct probes_spec_details *all_details[NR_PROBES];
static int errors[NR_PROBES];
static struct probes_table scene;

static void begin(void)
{
	memset(&played, 0, sizeof(played));
	memset(probes, 0, sizeof(probes));
	memset(modules, 0, sizeof(modules));
	memset(libraries, 0, sizeof(libraries));
	memset(identities, 0, sizeof(identities));
	memset(all_details, 0, sizeof(all_details));
	memset(table_events, 0, sizeof(table_events));
	memset(&scene, 0, sizeof(scene));
	scene.fetches = fetches;
	scene.details = all_details;
	scene.errors = errors;
	scene.events = table_events;
	for (int i = 0; i < 2; i++) {
		enabled[i] = 1;
		table_events[i].enabled = &enabled[i];
		variants[i] = (struct probes_layout){.event = &table_events[i], .leaves = i};
	}
	for (uint32_t i = 0; i < NR_PROBES; i++)
		probes[i] = (struct probe_table_probe){.entry = 0,
				.exit = PROBE_TABLE_NONE,
				.first_entry_fetch = 2,
				.first_exit_fetch = 5,
				.function = "function",
				.site = {.address = 10 * (i + 1), .nr_bytes = 3}};
	for (uint32_t i = 0; i < NR_MODULES; i++)
		modules[i] = (struct probe_table_module){.path = i ? "/b" : "/aa"};
	libraries[0] = (struct base_library){.path = "/aax", .path_size = 3, .base = at(0)};
	nr_libraries = 1;
	nr_probes = 1;
	played.method = PROBE_PUNNED;
	allowed = CONTEXT_HITS_ALL;
	frozen = false;
	*calls = '\0';
}

static void end(void)
{
	enabled[0] = enabled[1] = 0;
	for (struct probes_table *table = &scene; table; table = table->next)
		probes_locations_drop(table);
	probes_locations_quiesce();
	agent_memory_free(&scene.memory);
	agent_memory_free(&scene.lines);
	agent_memory_trim();
}

static void apply(const char *wanted)
{
	probes_locations_apply();
	assert_called(wanted);
}

/* ---- modules ---- */

static void find(struct mapped_modules *found)
{
	struct site_search search = {.table = &scene, .found = found};

	memset(found, 0, NR_MODULES * sizeof(*found));
	for (uint32_t i = 0; i < nr_libraries; i++)
		probes_site_check_library(&search, &libraries[i]);
}

static void test_modules(void **unused)
{
	struct mapped_modules found[NR_MODULES];

	(void)unused;
	begin();
	libraries[1] = (struct base_library){.path = "/b", .path_size = 2, .base = 200};
	libraries[2] = (struct base_library){.path = "/bb", .path_size = 3, .base = 300};
	libraries[3] = (struct base_library){.path = "/ab", .path_size = 3, .base = 400};
	nr_libraries = 4;
	find(found);
	assert_true(found[0].nr == 1 && found[0].bias[0] == at(0) && !found[0].other[0]);
	assert_true(found[1].nr == 1 && found[1].bias[0] == 200);
	assert_true(is_found(&found[1], 200) && !is_found(&found[1], 0) &&
			!is_found(&found[1], 300));
	played.no_file = true;
	find(found);
	assert_true(!found[0].nr && !found[1].nr);
	played.no_file = false;
	/* With a build id the path does not count, but is noted. */
	modules[1].build_id_size = 3;
	memcpy(modules[1].build_id, "idx", 3);
	find(found);
	assert_int_equal(found[1].nr, 0);
	for (int i = 0; i < 4; i++) {
		identities[i].build_id_size = 3;
		memcpy(identities[i].build_id, "idx", 3);
	}
	identities[3].build_id_size = 2;
	identities[2].build_id[2] = 'y';
	find(found);
	assert_true(found[1].nr == 2 && found[1].bias[0] == at(0) && found[1].other[0] &&
			found[1].bias[1] == 200 && !found[1].other[1]);
	/* Another file has the path. */
	assert_false(found[1].is_replaced);
	modules[1].build_id[0] = 'z';
	find(found);
	assert_true(!found[1].nr && found[1].is_replaced);
	/* Four maps of one module, and no more. */
	begin();
	for (uint32_t i = 0; i < 5; i++)
		libraries[i] = (struct base_library){.path = "/aa", .path_size = 3, .base = i};
	nr_libraries = 5;
	find(found);
	assert_true(found[0].nr == 4 && found[0].bias[3] == 3);
	end();
}

/* ---- specs ---- */

static void test_hooks(void **unused)
{
	struct probes_spec_details *details;
	struct probes_spec *spec;
	static char name[300];

	(void)unused;
	begin();
	probes[0].flags = PROBE_ENTRY_ALL;
	probes[0].semaphore = 30;
	scene.reported = true;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_called("steps 0\n");
	details = all_details[0];
	spec = details->spec;
	assert_true(details->bias == at(0) && details->wants_all && !details->wants_trap &&
			!details->kernel && !details->ever_kernel && details->semaphore == at(30));
	assert_true(details->entry_fetches == fetches + 2 && !details->exit_fetches &&
			!scene.reported);
	assert_true(details->function == probes[0].function && details->function_bytes == 9);
	assert_true(details->location->address == at(10) &&
			details->location->site.runtime == at(10) &&
			details->location->specs == spec && !details->next_same);
	assert_true(spec->entry == &variants[0] && !spec->exit && spec->name_bytes == 9 &&
			spec->lines == 1 && spec->mark == 0);
	assert_string_equal(spec->name, "function");
	assert_ptr_equal(*probes_details_of(spec), details);
	assert_true(probes_locations_any());
	/* The same libraries: no change. */
	scene.reported = true;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_true(scene.reported && all_details[0] == details);
	assert_called("");
	/* Another file by that path, and none. */
	libraries[0].path = modules[0].path;
	libraries[0].path_size = (uint32_t)strlen(modules[0].path);
	modules[0].build_id_size = 3;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_true(!scene.reported && !all_details[0] && scene.errors[0] == -ENOTUNIQ);
	scene.reported = true;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_true(scene.reported && scene.errors[0] == -ENOTUNIQ);
	nr_libraries = 0;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_true(!scene.reported && !scene.errors[0]);
	nr_libraries = 1;
	modules[0].build_id_size = 0;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_called("steps 0\n");
	details = all_details[0];
	/* Another map of the module, then no map of the first one. */
	libraries[1] = libraries[0];
	libraries[1].base = at(100);
	nr_libraries = 2;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_called("steps 0\n");
	assert_true(!scene.reported && all_details[0]->next_same == details &&
			all_details[0]->bias == at(100));
	scene.reported = true;
	libraries[0].base = at(100);
	nr_libraries = 1;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_called("");
	assert_true(!scene.reported && all_details[0] && !all_details[0]->next_same &&
			all_details[0]->bias == at(100));
	played.libraries_error = -ENOMEM;
	nr_libraries = 0;
	assert_int_equal(probes_locations_find(&scene), -ENOMEM);
	assert_non_null(all_details[0]);
	end();
	assert_false(probes_locations_any());
	/* Names of 256 bytes are in the spec, longer ones are not. */
	begin();
	memset(name, 'n', 256);
	name[255] = '\0';
	probes[0].function = name;
	probes[0].exit = 1;
	probes[0].entry = PROBE_TABLE_NONE;
	probes[0].flags = PROBE_ENTRY_TRAP | PROBE_ENTRY_KERNEL;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_called("steps 1\n");
	spec = all_details[0]->spec;
	assert_true(spec->name_bytes == 256 && spec->lines == 5 && spec->exit == &variants[1] &&
			!spec->entry);
	assert_true(all_details[0]->exit_fetches == fetches + 5 && !all_details[0]->entry_fetches &&
			all_details[0]->wants_trap && !all_details[0]->wants_all &&
			all_details[0]->kernel && all_details[0]->ever_kernel &&
			!all_details[0]->semaphore);
	end();
	begin();
	name[255] = 'n';
	probes[0].function = name;
	assert_int_equal(probes_locations_find(&scene), 0);
	assert_true(all_details[0]->spec->name_bytes == 0 && all_details[0]->spec->lines == 1 &&
			all_details[0]->function_bytes == 257);
	end();
}

/*
 * What the kernel watches: in the file that it knows, in this process, and not in the child of a
 * fork.
 */
static void test_kernel(void **unused)
{
	(void)unused;
	for (int i = 0; i < 4; i++) {
		begin();
		probes[0].flags = PROBE_ENTRY_KERNEL | (i == 1 ? PROBE_ENTRY_ELSEWHERE : 0);
		scene.inherited = i == 2;
		if (i == 3) {
			modules[0].build_id_size = identities[0].build_id_size = 1;
			modules[0].path = "/other";
		}
		assert_int_equal(probes_locations_find(&scene), 0);
		assert_true(all_details[0]->ever_kernel && all_details[0]->kernel == (i == 0));
		*calls = '\0';
		assert_int_equal(probes_locations_forked(&scene), i == 0);
		assert_true(scene.inherited && !all_details[0]->kernel &&
				all_details[0]->ever_kernel);
		assert_false(probes_locations_forked(&scene));
		end();
	}
}

static void test_no_memory(void **unused)
{
	unsigned int most;
	struct resources before;

	(void)unused;
	begin();
	agent_memory_trim();
	before = resources_now();
	probes[0].exit = 1;
	assert_int_equal(probes_locations_find(&scene), 0);
	most = played.nr_takes;
	/* The list of modules, the details, the spec, the table of locations, the location. */
	assert_int_equal(most, 5);
	end();
	for (unsigned int i = 1; i <= most; i++) {
		begin();
		probes[0].exit = 1;
		played.failing = i;
		assert_int_equal(probes_locations_find(&scene), i == 1 ? -ENOMEM : 0);
		assert_null(all_details[0]);
		if (i > 1)
			assert_int_equal(errors[0], -ENOMEM);
		played.failing = 0;
		assert_int_equal(probes_locations_find(&scene), 0);
		assert_true(all_details[0] && !errors[0]);
		end();
	}
	for (int i = 0; i < 2; i++) {
		begin();
		probes[0].exit = 1;
		played.no_steps[i] = true;
		assert_int_equal(probes_locations_find(&scene), 0);
		assert_true(!all_details[0] && errors[0] == -ENOMEM);
		end();
	}
	assert_int_equal(resources_now().bytes, before.bytes);
	begin();
	assert_int_equal(probes_locations_find(&scene), 0);
	*calls = '\0';
	played.no_pages = true;
	apply("");
	end();
}

/* ---- marks ---- */

static void test_marks(void **unused)
{
	struct probes_location location = {.marks = 0};
	struct probes_spec_details *details;

	(void)unused;
	for (uint8_t i = 0; i < PATCH_MARKS; i++)
		assert_int_equal(probes_mark_take(&location), i);
	assert_int_equal(probes_mark_take(&location), PATCH_MARKS);
	assert_int_equal(location.marks, 0xffff);
	probes_marks_give(&location, 1 << 3 | 1 << 15);
	assert_int_equal(location.marks, 0x7ff7);
	assert_int_equal(probes_mark_take(&location), 3);
	assert_int_equal(probes_mark_take(&location), 15);
	/* A removed spec releases its own marks and those of its channels. */
	begin();
	assert_int_equal(probes_locations_find(&scene), 0);
	details = all_details[0];
	details->location->marks = 0xffff;
	details->marks[0] = 5;
	details->marks[WIRE_CHANNELS_MAX - 1] = 10;
	details->marks[1] = PROBES_MARKS_RETURNED;
	probes_locations_drop(&scene);
	assert_int_equal(details->location->marks, 0xffff & ~(1 | 1 << 4 | 1 << 9));
	for (int i = 0; i < WIRE_CHANNELS_MAX; i++)
		assert_int_equal(details->marks[i], PROBES_MARKS_RETURNED);
	end();
}

/* ---- rounds ---- */

static void test_rounds(void **unused)
{
	struct resources before;

	(void)unused;
	begin();
	apply("");
	nr_probes = 4;
	probes[1].exit = 1;
	probes[2].flags = PROBE_ENTRY_ALL;
	probes[3].flags = PROBE_ENTRY_TRAP;
	probes[3].semaphore = 50;
	assert_int_equal(probes_locations_find(&scene), 0);
	*calls = '\0';
	before = resources_now();
	/* In the order of their addresses. */
	apply("raise 50\nset 10 flags 0\nset 20 flags 2\nset 30 flags 1\nset 40 flags 4\n");
	assert_int_equal(resources_now().bytes, before.bytes);
	assert_true(all_details[1]->location->flags == 2 && all_details[1]->location->patch &&
			all_details[1]->location->method == PROBE_PUNNED &&
			!all_details[1]->location->error);
	apply("");
	/* The return is no longer wanted: the probe is set again. */
	enabled[1] = 0;
	apply("user 20 none\nremove 20\nset 20 flags 32\n");
	/* Nothing is wanted. */
	enabled[0] = 0;
	probes_locations_apply();
	assert_non_null(strstr(calls, "lower 50\n"));
	assert_non_null(strstr(calls, "user 40 none\n"));
	assert_non_null(strstr(calls, "remove 40\n"));
	assert_null(strstr(calls, "set"));
	assert_true(!all_details[0]->location->patch && !all_details[3]->location->patch);
	*calls = '\0';
	/* A semaphore that could not be incremented is not decremented. */
	enabled[0] = 1;
	nr_probes = 4;
	played.cannot_raise = true;
	played.set_error = -ENOSPC;
	probes_locations_apply();
	assert_non_null(strstr(calls, "raise 50\n"));
	assert_int_equal(all_details[0]->location->error, -ENOSPC);
	assert_null(all_details[0]->location->patch);
	*calls = '\0';
	enabled[0] = 0;
	apply("");
	end();
}

/* Two tables with a probe at the same location. */
static void test_shared_locations(void **unused)
{
	static struct probes_spec_details *other_details[NR_PROBES];
	struct probes_table other;
	struct probes_spec *first, *second;

	(void)unused;
	begin();
	other = scene;
	memset(other_details, 0, sizeof(other_details));
	other.details = other_details;
	assert_int_equal(probes_locations_find(&scene), 0);
	first = all_details[0]->spec;
	*calls = '\0';
	apply("set 10 flags 0\n");
	/* The newest spec is the first one, and the probe gets the new list. */
	assert_int_equal(probes_locations_find(&other), 0);
	assert_called("steps 0\nuser 10 some\n");
	second = other_details[0]->spec;
	assert_true(all_details[0]->location == other_details[0]->location &&
			second->next == first && all_details[0]->location->specs == second &&
			second->mark == 1);
	apply("");
	/* The last spec is removed: the data of the probe stays. Hits that may use it settle. */
	probes_locations_drop(&scene);
	assert_called("");
	assert_true(!second->next && !all_details[0] && other_details[0]->location->specs_removed);
	apply("settle 10\n");
	assert_false(other_details[0]->location->specs_removed);
	apply("");
	/* The last table. */
	probes_locations_drop(&other);
	assert_called("user 10 none\n");
	apply("user 10 none\nremove 10\n");
	end();
	agent_memory_free(&other.memory);
	agent_memory_free(&other.lines);
	agent_memory_trim();
}

static void test_watched(void **unused)
{
	(void)unused;
	begin();
	probes[0].flags = PROBE_ENTRY_KERNEL;
	assert_int_equal(probes_locations_find(&scene), 0);
	*calls = '\0';
	/* The kernel watches it: only prepared (PATCH_OVER, PATCH_PREPARE). */
	played.set_error = -EALREADY;
	apply("set 10 flags 24\n");
	assert_true(all_details[0]->location->watched && all_details[0]->location->ready &&
			!all_details[0]->location->patch);
	apply("");
	played.set_error = -ENOSPC;
	all_details[0]->location->ready = false;
	apply("set 10 flags 24\n");
	assert_false(all_details[0]->location->ready);
	played.set_error = 0;
	assert_true(probes_locations_forked(&scene));
	apply("set 10 flags 8\n");
	assert_true(all_details[0]->location->patch && !all_details[0]->location->watched &&
			all_details[0]->location->ever_kernel);
	end();
}

/* Locations whose bytes cannot be read are not set. */
static void test_unmapped(void **unused)
{
	unsigned char *page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	assert_true(page != MAP_FAILED && !mprotect(page + 4096, 4096, PROT_NONE));
	begin();
	nr_probes = 3;
	libraries[0].base = (uint64_t)(uintptr_t)page;
	probes[0].site.address = 4094; /* its last byte cannot be read */
	probes[1].site.address = 4093;
	probes[2].site.address = 8192 - 3;
	assert_int_equal(probes_locations_find(&scene), 0);
	*calls = '\0';
	probes_locations_apply();
	assert_int_equal(all_details[0]->location->error, -EFAULT);
	assert_int_equal(all_details[1]->location->error, 0);
	assert_int_equal(all_details[2]->location->error, -EFAULT);
	assert_true(!all_details[0]->location->patch && all_details[1]->location->patch &&
			!all_details[2]->location->patch);
	*calls = '\0';
	end();
	munmap(page, 8192);
}

/* Another probe within the bytes of the jump: a breakpoint. */
static void test_crowded(void **unused)
{
	(void)unused;
	for (int distance = 1; distance < 8; distance++) {
		begin();
		nr_probes = 2;
		probes[0].site.pieces[0].length = 2;
		probes[0].site.patched = 5;
		probes[0].site.displaced = 6;
		probes[1].site.address = 10 + (uint64_t)distance;
		probes[1].site.pieces[0].length = 9;
		assert_int_equal(probes_locations_find(&scene), 0);
		*calls = '\0';
		probes_locations_apply();
		assert_int_equal(strstr(calls, "set 10 flags 4\n") != NULL,
				distance >= 2 && distance < 6);
		end();
	}
	assert_int_equal(site_bytes(&(struct probe_site){.patched = 7, .displaced = 6}), 7);
	assert_int_equal(site_bytes(&(struct probe_site){.patched = 6, .displaced = 7}), 7);
	assert_int_equal(site_bytes(&(struct probe_site){
					 .patched = 1, .displaced = 1, .method = PROBE_PUNNED}),
			PROBE_JUMP_BYTES);
	/* The location itself is not another probe, even if its instruction has no length. */
	begin();
	probes[0].site.patched = 5;
	assert_int_equal(probes_locations_find(&scene), 0);
	*calls = '\0';
	apply("set 10 flags 0\n");
	end();
}

static void test_limits(void **unused)
{
	(void)unused;
	begin();
	nr_probes = 2;
	assert_int_equal(probes_locations_find(&scene), 0);
	*calls = '\0';
	apply("set 10 flags 0\nset 20 flags 0\n");
	all_details[1]->location->method = PROBE_BREAKPOINT;
	/*
	 * Nothing is set or removed any more, except for changes without which the program would
	 * end.
	 */
	probes_locations_limit(CONTEXT_HITS_WITHOUT_CHANGES);
	assert_called("");
	enabled[0] = 0;
	apply("");
	enabled[0] = 1;
	probes_locations_limit(CONTEXT_HITS_WITHOUT_SIGNALS);
	assert_called("user 20 none\nremove 20\n");
	assert_true(all_details[0]->location->patch && !all_details[1]->location->patch &&
			all_details[1]->location->error == -ECANCELED);
	probes_locations_limit(CONTEXT_HITS_NONE);
	assert_called("user 10 none\nremove 10\n");
	apply("");
	probes_locations_limit(CONTEXT_HITS_ALL);
	assert_called("set 10 flags 0\nset 20 flags 0\n");
	end();
	/* Probes that the kernel sets may be prepared. */
	begin();
	probes[0].flags = PROBE_ENTRY_KERNEL;
	assert_int_equal(probes_locations_find(&scene), 0);
	*calls = '\0';
	probes_locations_limit(CONTEXT_HITS_WITHOUT_RETURN);
	assert_called("set 10 flags 24\n");
	end();
}

static void test_reads(void **unused)
{
	(void)unused;
	begin();
	nr_probes = 2;
	probes[1].exit = 1;
	assert_int_equal(probes_locations_find(&scene), 0);
	*calls = '\0';
	table_events[1].wants_reads = true;
	assert_false(probes_locations_read());
	apply("set 10 flags 0\nset 20 flags 2\n");
	assert_true(probes_locations_read());
	table_events[1].wants_reads = false;
	assert_false(probes_locations_read());
	table_events[0].wants_reads = true;
	assert_true(probes_locations_read());
	/* A hit may read retired memory. */
	played.has_retired = true;
	apply("");
	table_events[1].wants_calls = true;
	apply("settle 20\n");
	played.has_retired = false;
	apply("");
	played.has_retired = true;
	table_events[1].wants_calls = false;
	table_events[0].wants_calls = true;
	probes_locations_apply();
	assert_non_null(strstr(calls, "settle 10\n"));
	assert_non_null(strstr(calls, "settle 20\n"));
	*calls = '\0';
	end();
}

/* Adjacent locations have different buckets, over the whole table. */
static void test_buckets(void **unused)
{
	static struct probes_location *table[BUCKETS];
	struct probes_location **before = locations, **highest = table;
	static bool used[BUCKETS];
	unsigned int nr = 0;

	(void)unused;
	locations = table;
	for (uint64_t i = 0; i < 1000; i++) {
		struct probes_location **bucket = probes_site_hash_bucket(0x400000 + 16 * i);

		assert_in_range(bucket - table, 0, BUCKETS - 1);
		nr += !used[bucket - table];
		used[bucket - table] = true;
		highest = bucket > highest ? bucket : highest;
	}
	assert_true(nr > 800 && highest - table > BUCKETS * 3 / 4);
	locations = before;
}

static void test_sort(void **unused)
{
	static struct probes_location some[8];
	struct probes_location *list[8];
	uint32_t random = 1;

	(void)unused;
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < 8; i++) {
			random = random * 1103515245 + 12345;
			some[i].address = random >> 16 & 15;
			list[i] = &some[i];
		}
		probes_site_sort(list, (size_t)round % 9);
		for (size_t i = 0; i < 8; i++) {
			if (i && i < (size_t)round % 9)
				assert_true(list[i - 1]->address <= list[i]->address);
			for (size_t k = 0; k < i; k++)
				assert_ptr_not_equal(list[k], list[i]);
			if (i >= (size_t)round % 9)
				assert_ptr_equal(list[i], &some[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_modules),
			cmocka_unit_test(test_hooks),
			cmocka_unit_test(test_kernel),
			cmocka_unit_test(test_no_memory),
			cmocka_unit_test(test_marks),
			cmocka_unit_test(test_rounds),
			cmocka_unit_test(test_shared_locations),
			cmocka_unit_test(test_watched),
			cmocka_unit_test(test_unmapped),
			cmocka_unit_test(test_crowded),
			cmocka_unit_test(test_limits),
			cmocka_unit_test(test_reads),
			cmocka_unit_test(test_buckets),
			cmocka_unit_test(test_sort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
