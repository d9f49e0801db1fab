/* SPDX-License-Identifier: MIT */
/*
 * Libraries of one process at their limit, the memory for each, and maps that are read with
 * descriptor 0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "symbolize/address-space.c" /* NOLINT(bugprone-suspicious-include): reaches static functions */

static struct symbols all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void forget(void)
{
	for (size_t i = 0; i < all.nr_processes; i++) {
		free(all.processes[i].libraries);
		free(all.processes[i].mappings);
	}
	free(all.processes);
	while (all.modules) {
		struct known_module *module = all.modules;

		all.modules = module->next;
		free_known(module);
	}
	all = (struct symbols){.mutex = PTHREAD_MUTEX_INITIALIZER};
}

static const struct symbolized_process *load_one(int64_t ns, uint64_t base)
{
	const struct symbols_library library = {.path = "/lib/one", .base = base, .size = 0x1000};

	assert_int_equal(symbols_load(&all, 3, ns, &library), 0);
	assert_int_equal(all.nr_processes, 4);
	return &all.processes[3];
}

/* A loaded library is not loaded again. */
static void test_loaded_again(void **unused)
{
	(void)unused;
	assert_int_equal(load_one(5, 0x10000)->nr_libraries, 1);
	assert_int_equal(load_one(6, 0x10000)->nr_libraries, 1);
	assert_int_equal(load_one(7, 0x20000)->nr_libraries, 2);
	assert_int_equal(load_one(8, 0x20000)->nr_libraries, 2);
	assert_int_equal(load_one(8, 0x20800)->nr_libraries, 3);
	assert_int_equal(all.processes[3].libraries[1].until, 8);
	assert_int_equal(all.processes[3].libraries[2].until, INT64_MAX);
	forget();
}

/* Libraries beyond the limit are not kept. */
static void test_most_libraries(void **unused)
{
	struct loaded_library *libraries = calloc(SYMBOLS_LIBRARIES_MAX, sizeof(*libraries));
	struct symbolized_process *process = address_space_get_process(&all, 3);

	(void)unused;
	assert_true(libraries && process);
	assert_int_equal(SYMBOLS_LIBRARIES_MAX, 65536);
	process->libraries = libraries;
	process->nr_libraries = SYMBOLS_LIBRARIES_MAX - 1;
	assert_int_equal(load_one(5, 0x10000)->nr_libraries, SYMBOLS_LIBRARIES_MAX);
	assert_int_equal(libraries[SYMBOLS_LIBRARIES_MAX - 1].base, 0x10000);
	failing_arm(2); /* after the name */
	assert_int_equal(load_one(6, 0x20000)->nr_libraries, SYMBOLS_LIBRARIES_MAX);
	assert_false(failing_has_failed());
	assert_ptr_equal(process->libraries, libraries);
	forget();
}

/* Memory is only needed for 1, 2, 3, 5, 9, … items. */
static void test_growth(void **unused)
{
	void *items = NULL;

	(void)unused;
	for (size_t count = 0; count < 70; count++) {
		bool grows = count == 0 || count == 1 || count == 2 || count == 4 || count == 8 ||
				count == 16 || count == 32 || count == 64;

		uintptr_t before = (uintptr_t)items;

		failing_arm(grows ? 2 : 1);
		items = one_more(items, count, 24);
		assert_false(failing_has_failed());
		assert_true(grows || (uintptr_t)items == before);
		assert_non_null(items);
		memset((char *)items + count * 24, 0, 24);
	}
	free(items);
}

/* The file of the maps has descriptor 0, and is closed. */
static void test_first_descriptor(void **unused)
{
	char path[] = "/tmp/side-test-maps-XXXXXX";
	static const char line[] = "1000-2000 r-xp 00000000 08:01 77 /lib/one\n";
	int fd = mkstemp(path), kept = fcntl(0, F_DUPFD_CLOEXEC, 3);

	(void)unused;
	assert_true(fd >= 3 && kept >= 3);
	assert_int_equal(write(fd, line, sizeof(line) - 1), sizeof(line) - 1);
	close(fd);
	close(0);
	assert_int_equal(symbols_maps(&all, 2, path), 0);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	assert_int_equal(all.nr_processes, 3);
	assert_int_equal(all.processes[2].nr_mappings, 1);
	assert_int_equal(all.processes[2].mappings[0].module->name.inode, 77);
	/* A directory is not such a file. */
	assert_int_equal(symbols_maps(&all, 4, "/tmp"), 0);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	assert_int_equal(all.nr_processes, 3);
	assert_int_equal(dup2(kept, 0), 0);
	close(kept);
	unlink(path);
	forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_loaded_again),
			cmocka_unit_test(test_most_libraries),
			cmocka_unit_test(test_growth),
			cmocka_unit_test(test_first_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
