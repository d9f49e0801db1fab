/* SPDX-License-Identifier: MIT */
/* Debug files from a server: the library that downloads is replaced by functions of this test. */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../failing-calls.h"

static unsigned int nr_loaded, nr_begun, nr_asked, nr_ended;
static const char *missing; /* a function that the library does not have */
static bool has_no_library, has_no_client;
static int found; /* the result of the search; 0: a descriptor of an open file */
static char client_of_test, library_of_test;
static const uint8_t id[20] = {1, 2, 3};

static void *test_begin(void)
{
	nr_begun++;
	return has_no_client ? NULL : &client_of_test;
}

static void test_end(void *client)
{
	assert_ptr_equal(client, &client_of_test);
	nr_ended++;
}

static int test_find(void *client, const unsigned char *build_id, int size, char **path)
{
	static char not_allocated[] = "/not/allocated";

	assert_ptr_equal(client, &client_of_test);
	assert_ptr_equal(build_id, id);
	assert_int_equal(size, 20);
	nr_asked++;
	*path = found ? not_allocated : strdup("/cache/file");
	return found ? found : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void *test_dlopen(const char *name, int flags)
{
	assert_string_equal(name, "libdebuginfod.so.1");
	assert_int_equal(flags, RTLD_NOW | RTLD_LOCAL);
	nr_loaded++;
	return has_no_library ? NULL : &library_of_test;
}

static void *test_dlsym(void *library, const char *name)
{
	assert_ptr_equal(library, &library_of_test);
	if (missing && !strcmp(name, missing))
		return NULL;
	if (!strcmp(name, "debuginfod_begin"))
		return (void *)(uintptr_t)test_begin;
	if (!strcmp(name, "debuginfod_end"))
		return (void *)(uintptr_t)test_end;
	assert_string_equal(name, "debuginfod_find_debuginfo");
	return (void *)(uintptr_t)test_find;
}

#define dlopen(name, flags) test_dlopen(name, flags)
#define dlsym(library, name) test_dlsym(library, name)
#include "symbolize/debuginfod.c" /* NOLINT(bugprone-suspicious-include): replaces the library */

static void assert_counts(
		unsigned int loaded, unsigned int begun, unsigned int asked, unsigned int ended)
{
	assert_int_equal(nr_loaded, loaded);
	assert_int_equal(nr_begun, begun);
	assert_int_equal(nr_asked, asked);
	assert_int_equal(nr_ended, ended);
	nr_loaded = nr_begun = nr_asked = nr_ended = 0;
}

static void test_not_asked(void **unused)
{
	static const char *const functions[] = {
			"debuginfod_begin", "debuginfod_end", "debuginfod_find_debuginfo"};

	(void)unused;
	/* The user has not set servers, or the file has no build ID: the library is not loaded. */
	unsetenv("DEBUGINFOD_URLS");
	assert_null(fetch_debug_file(id, 20));
	setenv("DEBUGINFOD_URLS", "", 1);
	assert_null(fetch_debug_file(id, 20));
	setenv("DEBUGINFOD_URLS", "x", 1);
	assert_null(fetch_debug_file(id, 0));
	assert_counts(0, 0, 0, 0);
	has_no_library = true;
	assert_null(fetch_debug_file(id, 20));
	has_no_library = false;
	assert_counts(1, 0, 0, 0);
	for (unsigned int i = 0; i < 3; i++) {
		missing = functions[i];
		assert_null(fetch_debug_file(id, 20));
		assert_counts(1, 0, 0, 0);
	}
	missing = NULL;
	has_no_client = true;
	assert_null(fetch_debug_file(id, 20));
	has_no_client = false;
	assert_counts(1, 1, 0, 0);
}

static void test_asked(void **unused)
{
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char *path;

	(void)unused;
	close(next);
	path = fetch_debug_file(id, 20);
	assert_non_null(path);
	assert_string_equal(path, "/cache/file");
	free(path);
	assert_counts(1, 1, 1, 1);
	/* The file that was open is closed: its number is free. */
	assert_int_equal(fcntl(next, F_GETFD), -1);
	found = -2;
	assert_null(fetch_debug_file(id, 20));
	assert_counts(1, 1, 1, 1);
	found = -1;
	assert_null(fetch_debug_file(id, 20));
	assert_counts(1, 1, 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_not_asked),
			cmocka_unit_test(test_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
