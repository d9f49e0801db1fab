/* SPDX-License-Identifier: MIT */
/*
 * Unwind rows of modules in a traced program: rows of an unloaded module are freed. This test
 * defines the loaded modules; calls.c is unchanged.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../resources.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/context/values.h"
#include "tracers/agent/probes/probes.h"

#define ROUNDS 20
#define MODULES_MAX 4

static struct base_library modules[MODULES_MAX];
static unsigned int nr_modules;
extern const ElfW(Ehdr) __ehdr_start;

/* ---- replaces the agent ---- */

int base_each(void (*each)(void *user, const struct base_library *library), void *user)
{
	for (unsigned int i = 0; i < nr_modules; i++)
		each(user, &modules[i]);
	return 0;
}

bool context_may_ask(void)
{
	return false;
}

uint64_t patch_return_address(uint64_t address)
{
	return address;
}

void *probe_hit_memory(struct probes_block *block)
{
	(void)block;
	return NULL;
}

bool probe_read(void *to, uint64_t from, size_t size, const uint64_t *stack,
		struct patch_reading **reading)
{
	(void)to;
	(void)from;
	(void)size;
	(void)stack;
	(void)reading;
	return false;
}

bool probe_are_there(uint64_t from, size_t nr, void *memory)
{
	(void)from;
	(void)nr;
	(void)memory;
	return false;
}

bool probe_read_by_call(void *to, uint64_t from, size_t size)
{
	(void)to;
	(void)from;
	(void)size;
	return false;
}

void probe_hit_give_memory(struct probes_block *block)
{
	(void)block;
}

bool probe_is_first_thread(void)
{
	return true;
}

/* ---- the test ---- */

/* All of them are this program, at different times. */
static void load(unsigned int nr, uint64_t inode)
{
	nr_modules = nr;
	for (unsigned int i = 0; i < nr; i++)
		modules[i] = (struct base_library){.base = (uintptr_t)&__ehdr_start,
				.end = (uintptr_t)&__ehdr_start + 4096,
				.device = 1,
				.inode = inode + i};
	probe_calls_update(true);
}

static void free_retired(void)
{
	probe_calls_free_retired();
	assert_false(probe_calls_has_retired());
}

/* The kernel joins a new mapping with a neighbour, or not: their bytes count. */
static bool has_no_more(struct resources before)
{
	struct resources now = resources_now();

	before.mappings = now.mappings;
	return resources_are_same(before, now);
}

static void test_unloaded(void **unused)
{
	struct resources before;

	(void)unused;
	load(1, 1);
	free_retired();
	before = resources_now();
	for (uint64_t round = 0; round < ROUNDS; round++) {
		/*
		 * Another module replaces it; then a second and a third one are loaded and
		 * unloaded.
		 */
		load(1, 2 + round);
		assert_true(probe_calls_has_retired());
		free_retired();
		load(3, 2 + round);
		assert_true(probe_calls_has_retired());
		free_retired();
		load(1, 2 + round);
		assert_true(probe_calls_has_retired());
		free_retired();
		/* A repetition changes nothing. */
		load(1, 2 + round);
		assert_false(probe_calls_has_retired());
		assert_true(has_no_more(before));
	}
}

static void test_not_wanted(void **unused)
{
	struct resources before;

	(void)unused;
	nr_modules = 0;
	probe_calls_update(false);
	free_retired();
	before = resources_now();
	for (int round = 0; round < ROUNDS; round++) {
		load(3, 1);
		probe_calls_update(false);
		free_retired();
		assert_true(has_no_more(before));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_unloaded), cmocka_unit_test(test_not_wanted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
