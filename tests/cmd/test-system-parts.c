/* SPDX-License-Identifier: MIT */
/*
 * The loaders of `side system`: which files are loaders, how many, and what is reported of the programs
 * that they start. The test includes loaders.c, and makes the files.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"

static char folder[] = "/tmp/side-test-system-XXXXXX";
static int timeout_ms = 60000;
static bool is_first; /* the next search finds the files; later ones find nothing */

/* Searches in the folder only. */
static int played_glob(
		const char *pattern, int flags, int (*failed)(const char *, int), glob_t *ret_found)
{
	char path[64];

	(void)pattern;
	if (!is_first)
		return GLOB_NOMATCH;
	is_first = false;
	snprintf(path, sizeof(path), "%s/*", folder);
	return glob(path, flags, failed, ret_found);
}

#define glob(pattern, flags, failed, found) played_glob(pattern, flags, failed, found)
#define LOADERS_TIMEOUT_MS timeout_ms
#include "programs/side/system/loaders.c" /* NOLINT(bugprone-suspicious-include): plays glob */
#undef glob

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* Makes a file with the head of a loader of this machine, `size` bytes long. */
static void make_loader(const char *name, uint16_t machine, unsigned char class, size_t size)
{
	static const char list[] = "/etc/ld.so.preload";
	Elf32_Ehdr head = {.e_machine = machine};
	int fd = open(in_folder(name), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = class;
	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, list, sizeof(list)), sizeof(list));
	assert_false(ftruncate(fd, (off_t)size));
	close(fd);
}

static void make_script(const char *name, const char *text)
{
	FILE *file = fopen(in_folder(name), "we");

	assert_non_null(file);
	fputs(text, file);
	assert_false(fclose(file));
	assert_false(chmod(in_folder(name), 0700));
}

static int find(struct loaders *ret_loaders, struct error *error)
{
	is_first = true;
	return loaders_find(ret_loaders, error);
}

static int empty_folder(void **state)
{
	glob_t found;

	(void)state;
	if (glob(in_folder("*"), 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
	return 0;
}

static void test_found(void **state)
{
	struct loaders loaders;
	struct error error;

	(void)state;
	assert_int_equal(find(&loaders, &error), -ENOENT);
	make_loader("a", EM_X86_64, ELFCLASS64, 4096);
	make_loader("b", EM_386, ELFCLASS32, 4096);
	make_loader("c", EM_X86_64, ELFCLASS32, 4096);
	make_loader("d", EM_AARCH64, ELFCLASS64, 4096);
	make_script("e", "no loader\n");
	assert_int_equal(find(&loaders, &error), 0);
	assert_int_equal(loaders.nr, 4);
	assert_string_equal(loaders.list[0].program, "libside-system.so");
	assert_string_equal(loaders.list[1].program, "libside-system-32.so");
	assert_null(loaders.list[2].program);
	assert_null(loaders.list[3].program);
	loaders_free(&loaders);
}

static void test_limits(void **state)
{
	struct loaders loaders;
	struct error error;
	char name[16];

	(void)state;
	for (unsigned int i = 0; i < LOADERS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		make_loader(name, EM_X86_64, ELFCLASS64, i ? 4096 : LOADERS_FILE_MAX);
	}
	assert_int_equal(find(&loaders, &error), 0);
	assert_int_equal(loaders.nr, LOADERS_MAX);
	loaders_free(&loaders);
	make_loader("more", EM_X86_64, ELFCLASS64, 4096);
	assert_int_equal(find(&loaders, &error), -E2BIG);
	assert_non_null(strstr(error.text, "more than 32"));
	unlink(in_folder("more"));
	unlink(in_folder("0"));
	make_loader("0", EM_X86_64, ELFCLASS64, LOADERS_FILE_MAX + 1);
	assert_int_equal(find(&loaders, &error), -EFBIG);
}

/* Runs a script instead of a loader. */
static int check(const char *script, struct error *error)
{
	struct loaders loaders = {.nr = 1};
	int ret;

	make_script("script", script);
	make_script("libside-system.so", "");
	loaders.list[0] = (struct loader){
			.path = strdup(in_folder("script")), .program = "libside-system.so"};
	ret = loaders_check(&loaders, folder, NULL, error);
	loaders_free(&loaders);
	unlink(in_folder("script"));
	return ret;
}

static void test_programs(void **state)
{
	char script[LOADERS_OUTPUT_MAX + 64];
	struct error error = {.kind = ERROR_NONE};

	(void)state;
	assert_int_equal(check("#!/bin/sh\nexit 0\n", &error), 0);
	assert_int_equal(check("#!/bin/sh\nexit 7\n", &error), -ELIBBAD);
	assert_non_null(strstr(error.text, "status 0x700"));
	assert_int_equal(check("#!/bin/sh\necho one >&2; echo two\n", &error), -ELIBBAD);
	assert_non_null(strstr(error.text, "prints: one"));
	assert_null(strstr(error.text, "two"));
	timeout_ms = 100;
	assert_int_equal(check("#!/bin/sh\nexec sleep 100\n", &error), -ETIMEDOUT);
	timeout_ms = 60000;
	assert_int_equal(check("#!/nothing\n", &error), -ENOENT);
	/* The kernel cannot execute it, so it starts no program. */
	assert_int_equal(check("\177ELF", &error), 0);
	/* Longer output is read, and cut. */
	for (size_t nr = LOADERS_OUTPUT_MAX - 1; nr <= LOADERS_OUTPUT_MAX; nr++) {
		snprintf(script, sizeof(script), "#!/bin/sh\nprintf %%0%zud 0\n", nr);
		assert_int_equal(check(script, &error), -ELIBBAD);
		assert_int_equal(strspn(strchr(error.text, ':') + 2, "0"), LOADERS_OUTPUT_MAX - 1);
	}
}

/* A loader without a library is refused, unless the kernel cannot execute it. */
static void test_without_library(void **state)
{
	struct loaders loaders = {.nr = 1};
	struct error error;

	(void)state;
	make_script("script", "#!/bin/sh\nexit 0\n");
	loaders.list[0].path = strdup(in_folder("script"));
	assert_int_equal(loaders_check(&loaders, folder, NULL, &error), -ELIBBAD);
	assert_non_null(strstr(error.text, "no library for the programs"));
	make_script("script", "\177ELF");
	assert_int_equal(loaders_check(&loaders, folder, NULL, &error), 0);
	loaders_free(&loaders);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)empty_folder(state);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup(test_found, empty_folder),
			cmocka_unit_test_setup(test_limits, empty_folder),
			cmocka_unit_test_setup(test_programs, empty_folder),
			cmocka_unit_test_setup(test_without_library, empty_folder),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
