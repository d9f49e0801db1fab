/* SPDX-License-Identifier: MIT */
/*
 * The search for a debug file: each path in its order, and which file is accepted. Files are
 * replaced by functions of this test.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "symbolize/debug-file.c" /* NOLINT(bugprone-suspicious-include): replaces the functions of file.c */

static char tried[4096];     /* the paths, one a line */
static const char *existing; /* the path of the only file; NULL: none */
static uint8_t existing_id[SYMBOLS_BUILD_ID_MAX];
static size_t existing_id_size;
static uint64_t existing_inode = 5;
static int file_sum_result;
static const char *own_link; /* of the program; NULL: none */
static unsigned int nr_open, nr_fetched;
static char elf_of_test[2];

bool file_open(struct symbols_file *file, const char *path)
{
	size_t used = strlen(tried);

	snprintf(tried + used, sizeof(tried) - used, "%s\n", path);
	*file = (struct symbols_file){.fd = -1};
	if (!existing || strcmp(existing, path) != 0)
		return false;
	*file = (struct symbols_file){.fd = 77, .elf = (Elf *)(void *)&elf_of_test[1]};
	nr_open++;
	return true;
}

void file_close(struct symbols_file *file)
{
	nr_open -= file->elf != NULL;
	*file = (struct symbols_file){.fd = -1};
}

size_t file_build_id(Elf *elf, uint8_t id[SYMBOLS_BUILD_ID_MAX])
{
	assert_ptr_equal(elf, &elf_of_test[1]);
	memcpy(id, existing_id, sizeof(existing_id));
	return existing_id_size;
}

uint64_t file_inode(const struct symbols_file *file)
{
	return file->fd == 77 ? existing_inode : 4;
}

int file_sum(int fd, uint32_t *ret_sum)
{
	assert_int_equal(fd, 77);
	*ret_sum = 0x1234;
	return file_sum_result;
}

const char *file_debug_link(Elf *elf, uint32_t *sum)
{
	assert_ptr_equal(elf, &elf_of_test[0]);
	*sum = own_link && !strcmp(own_link, "other sum") ? 0x1235 : 0x1234;
	return own_link;
}

char *fetch_debug_file(const uint8_t *build_id, size_t size)
{
	assert_int_equal(build_id[0], 0xab);
	assert_int_equal(size, 3);
	nr_fetched++;
	return strdup("/fetched");
}

static struct module module;
static struct symbols_options options;

static void reset(void)
{
	module = (struct module){.name = {.path = "/bin/folder/program",
						 .build_id = {0xab, 0xcd, 0x0f},
						 .build_id_size = 3,
						 .debug_link = "program.debug"}};
	options = (struct symbols_options){.path = NULL};
	memcpy(existing_id, module.name.build_id, sizeof(existing_id));
	existing_id_size = 3;
	existing_inode = 5;
	existing = own_link = NULL;
	nr_fetched = 0;
}

static bool search_for(const char *path)
{
	struct symbols_file found = {.fd = -2};
	bool ret;

	*tried = '\0';
	existing = path;
	ret = debug_find(&module, &options, &found);
	assert_int_equal(found.fd, ret ? 77 : *tried ? -1 : -2);
	assert_int_equal(nr_open, ret);
	nr_open = 0;
	return ret;
}

static void assert_tried(const char *paths)
{
	assert_false(search_for(NULL));
	assert_string_equal(tried, paths);
}

#define STANDARD_ID "/usr/lib/debug/.build-id/ab/cd0f.debug\n"
#define STANDARD_LINK "/usr/lib/debug/bin/folder/program.debug\n/usr/lib/debug/program.debug\n"
#define BESIDE "/bin/folder/program.debug\n/bin/folder/.debug/program.debug\n"

static void test_paths(void **unused)
{
	(void)unused;
	reset();
	assert_tried(BESIDE STANDARD_ID STANDARD_LINK);
	options.path = "/one::/second:";
	assert_tried("/one/.build-id/ab/cd0f.debug\n/one/bin/folder/program.debug\n/one/program.debug\n"
		     "/second/.build-id/ab/cd0f.debug\n/second/bin/folder/program.debug\n/second/program.debug\n" BESIDE
					STANDARD_ID STANDARD_LINK);
	options.path = "";
	assert_tried(BESIDE STANDARD_ID STANDARD_LINK);
	/* A link of the trace that is empty, missing, or leads out of the folder. */
	module.name.debug_link = "";
	assert_tried(STANDARD_ID);
	module.name.debug_link = NULL;
	assert_tried(STANDARD_ID);
	module.name.debug_link = "../program.debug";
	assert_tried(STANDARD_ID);
	/* The link of the program goes first. */
	module.name.debug_link = "program.debug";
	module.file.elf = (Elf *)(void *)elf_of_test;
	own_link = "own";
	assert_tried("/bin/folder/own\n/bin/folder/.debug/own\n" STANDARD_ID
		     "/usr/lib/debug/bin/folder/own\n/usr/lib/debug/own\n");
	own_link = NULL;
	assert_tried(BESIDE STANDARD_ID STANDARD_LINK);
	/* A path without a folder, and one that is relative. */
	module.name.path = "/program";
	assert_tried("/program.debug\n/.debug/program.debug\n" STANDARD_ID
		     "/usr/lib/debug/program.debug\n/usr/lib/debug/program.debug\n");
	module.name.path = "relative/program";
	assert_tried(STANDARD_ID
			"/usr/lib/debugrelative/program.debug\n/usr/lib/debug/program.debug\n");
	/* A build ID of two bytes at least names a file. */
	for (size_t size = 0; size < 3; size++) {
		reset();
		module.name.debug_link = "";
		module.name.build_id_size = size;
		assert_tried(size < 2 ? "" : "/usr/lib/debug/.build-id/ab/cd.debug\n");
	}
}

static void test_longest_id(void **unused)
{
	char path[256] = "/usr/lib/debug/.build-id/00/";

	(void)unused;
	reset();
	module.name.debug_link = "";
	module.name.build_id_size = 64;
	for (unsigned int i = 0; i < 64; i++)
		module.name.build_id[i] = (uint8_t)(i * 3);
	for (unsigned int i = 1; i < 64; i++)
		snprintf(path + strlen(path), 3, "%02x", i * 3);
	strcat(path, ".debug\n");
	assert_tried(path);
}

static void test_accepted(void **unused)
{
	(void)unused;
	reset();
	/* The first one that fits ends the search. */
	assert_true(search_for("/usr/lib/debug/program.debug"));
	assert_string_equal(tried, BESIDE STANDARD_ID STANDARD_LINK);
	assert_true(search_for("/usr/lib/debug/bin/folder/program.debug"));
	assert_string_equal(tried, BESIDE STANDARD_ID "/usr/lib/debug/bin/folder/program.debug\n");
	assert_true(search_for("/usr/lib/debug/.build-id/ab/cd0f.debug"));
	assert_string_equal(tried, BESIDE STANDARD_ID);
	assert_true(search_for("/bin/folder/.debug/program.debug"));
	assert_string_equal(tried, BESIDE);
	assert_true(search_for("/bin/folder/program.debug"));
	assert_string_equal(tried, "/bin/folder/program.debug\n");
	options.path = "/one";
	assert_true(search_for("/one/program.debug"));
	assert_true(search_for("/one/bin/folder/program.debug"));
	assert_true(search_for("/one/.build-id/ab/cd0f.debug"));
	assert_string_equal(tried, "/one/.build-id/ab/cd0f.debug\n");
	/* Another build ID: of another size, and with another last byte. */
	existing_id_size = 2;
	assert_false(search_for("/one/program.debug"));
	existing_id_size = 4;
	assert_false(search_for("/one/program.debug"));
	existing_id_size = 3;
	existing_id[2]++;
	assert_false(search_for("/one/program.debug"));
	/* After it, bytes do not count. */
	existing_id[2]--;
	existing_id[3]++;
	assert_true(search_for("/one/program.debug"));
	/* The file itself, which counts only if it is open. */
	existing_inode = 4;
	assert_true(search_for("/one/program.debug"));
	module.file.elf = (Elf *)(void *)elf_of_test;
	assert_false(search_for("/one/program.debug"));
	existing_inode = 5;
	assert_true(search_for("/one/program.debug"));
	/*
	 * Without a build ID: by the sum beside the link, which the link of a trace does not have.
	 */
	module.name.build_id_size = 0;
	assert_false(search_for("/one/program.debug"));
	own_link = "own";
	assert_true(search_for("/one/own"));
	/* A file that cannot be read to its end has no sum. */
	file_sum_result = -EIO;
	assert_false(search_for("/one/own"));
	file_sum_result = 0;
	own_link = "other sum";
	assert_false(search_for("/one/other sum"));
	assert_int_equal(nr_fetched, 0);
}

static void test_server(void **unused)
{
	(void)unused;
	reset();
	options.debuginfod = true;
	assert_true(search_for("/bin/folder/program.debug"));
	assert_int_equal(nr_fetched, 0);
	assert_tried(BESIDE STANDARD_ID STANDARD_LINK "/fetched\n");
	assert_int_equal(nr_fetched, 1);
	assert_true(search_for("/fetched"));
	existing_id[0]++;
	assert_false(search_for("/fetched"));
}

static void test_failures(void **unused)
{
	(void)unused;
	reset();
	/* A path without memory is skipped. */
	for (unsigned int number = 1; number <= 6; number++) {
		failing_arm(number);
		assert_int_equal(search_for("/bin/folder/.debug/program.debug"), number != 2);
		assert_int_equal(failing_has_failed(), number <= 2);
	}
	failing_arm(3);
	assert_false(search_for("/usr/lib/debug/.build-id/ab/cd0f.debug"));
	assert_true(failing_has_failed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_paths),
			cmocka_unit_test(test_longest_id),
			cmocka_unit_test(test_accepted),
			cmocka_unit_test(test_server),
			cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
