/* SPDX-License-Identifier: MIT */
/*
 * Programs into which the agent cannot be preloaded: files of both word sizes, with each program
 * header in turn, and files that grant privileges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"

/* The caller, and the status of the file. */
static uid_t user;
static gid_t group;
static mode_t mode;
static uid_t file_user;
static gid_t file_group;
static ssize_t capability;
static int stat_error;

static uid_t played_getuid(void)
{
	return user;
}

static gid_t played_getgid(void)
{
	return group;
}

static int played_fstat(int fd, struct stat *status)
{
	(void)fd;
	*status = (struct stat){.st_mode = mode, .st_uid = file_user, .st_gid = file_group};
	return stat_error;
}

static ssize_t played_fgetxattr(int fd, const char *name, void *value, size_t size)
{
	(void)fd;
	assert_string_equal(name, "security.capability");
	assert_null(value);
	assert_int_equal(size, 0);
	return capability;
}

#define getuid played_getuid
#define getgid played_getgid
#define fstat played_fstat
#define fgetxattr played_fgetxattr
#include "recorder/core/command.c"

#define STATIC "is statically linked, so the agent cannot be preloaded into it"
#define OTHER_SIZE "has another word size (32 or 64 bits) than the installed agent"
#define RIGHTS \
	"runs with more rights than its caller (set-user-ID, set-group-ID or file capabilities), so the loader does not preload the agent\nrun it as the user whose rights it gains"

static char folder[] = "/tmp/side-command-XXXXXX", path[64];

/* Writes an executable file with these bytes, and compares the message, without the path. */
static void check(const void *bytes, size_t size, const char *wanted)
{
	FILE *file = fopen(path, "we");
	char *sentence;

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0700), 0);
	sentence = session_never_meets(path);
	if (!wanted) {
		assert_null(sentence);
		return;
	}
	assert_non_null(sentence);
	assert_int_equal(strncmp(sentence, path, strlen(path)), 0);
	assert_int_equal(sentence[strlen(path)], ' ');
	assert_string_equal(sentence + strlen(path) + 1, wanted);
	free(sentence);
}

static void reset(void)
{
	user = 1000;
	group = 100;
	mode = 0755;
	file_user = 2000;
	file_group = 200;
	capability = -1;
	stat_error = 0;
}

#define HEADERS 5
#define AT 200  /* of the first program header */
#define EACH 72 /* its bytes, more than the structure has */

static struct {
	char bytes[AT + HEADERS * EACH];
} program;

/* The header `interpreter` names the loader. */
static void make(bool is_64, unsigned int interpreter)
{
	const Elf64_Ehdr of64 = {
			.e_ident = ELFMAG, .e_phoff = AT, .e_phnum = HEADERS, .e_phentsize = EACH};
	const Elf32_Ehdr of32 = {
			.e_ident = ELFMAG, .e_phoff = AT, .e_phnum = HEADERS, .e_phentsize = EACH};
	uint32_t type;

	memset(&program, 0x33, sizeof(program));
	if (is_64)
		memcpy(program.bytes, &of64, sizeof(of64));
	else
		memcpy(program.bytes, &of32, sizeof(of32));
	program.bytes[EI_CLASS] = is_64 ? ELFCLASS64 : ELFCLASS32;
	for (unsigned int i = 0; i < HEADERS; i++) {
		type = i == interpreter ? PT_INTERP : PT_LOAD;
		memcpy(program.bytes + AT + i * EACH, &type, sizeof(type));
	}
}

static void test_headers(void **unused)
{
	const bool is_64 = sizeof(void *) == 8;

	(void)unused;
	reset();
	for (unsigned int i = 0; i <= HEADERS; i++) {
		make(is_64, i);
		check(&program, sizeof(program), i < HEADERS ? NULL : STATIC);
		make(!is_64, i);
		check(&program, sizeof(program), OTHER_SIZE);
	}
	/* The program headers of the other word size. */
	for (unsigned int i = 0; i <= HEADERS; i++) {
		int fd;

		make(!is_64, i);
		check(&program, sizeof(program), OTHER_SIZE);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(has_loader(fd, (const unsigned char *)program.bytes), i < HEADERS);
		close(fd);
	}
}

/*
 * A file that ends too early may have a loader, and a file that is too short, or of another kind,
 * is for the kernel to refuse.
 */
static void test_truncated(void **unused)
{
	static const char script[] = "#!/bin/sh\nexit 3\n";
	const bool is_64 = sizeof(void *) == 8;

	(void)unused;
	reset();
	make(is_64, HEADERS);
	check(&program, sizeof(Elf32_Ehdr) - 1, NULL);
	check(&program, AT + (HEADERS - 1) * EACH + 3, NULL);
	check(&program, AT + (HEADERS - 1) * EACH + 4, STATIC);
	check(&program, EI_NIDENT - 1, NULL);
	check(script, sizeof(script) - 1, NULL);
	program.bytes[3] = 'G';
	check(&program, sizeof(program), NULL);
	assert_null(session_never_meets("/nowhere/program"));
}

static void test_rights(void **unused)
{
	static const struct {
		mode_t mode;
		uid_t user, file_user;
		gid_t group, file_group;
		ssize_t capability;
		int stat_error;
		bool gains;
	} cases[] = {{0755, 1000, 2000, 100, 200, -1, 0, false},
			{04755, 1000, 2000, 100, 200, -1, 0, true},
			{04755, 2000, 2000, 100, 200, -1, 0, false},
			{02755, 1000, 2000, 100, 200, -1, 0, true},
			{02755, 1000, 2000, 200, 200, -1, 0, false},
			/* This mode enables mandatory locks, and the program gets no group. */
			{02745, 1000, 2000, 100, 200, -1, 0, false},
			{0755, 1000, 2000, 100, 200, 20, 0, true},
			{0755, 1000, 2000, 100, 200, 1, 0, true},
			{0755, 1000, 2000, 100, 200, 0, 0, false},
			{0755, 0, 2000, 100, 200, 20, 0, false},
			{04755, 0, 2000, 100, 200, -1, 0, true},
			{06755, 1000, 2000, 100, 200, 20, -1, false}};

	(void)unused;
	make(sizeof(void *) == 8, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		user = cases[i].user;
		group = cases[i].group;
		mode = cases[i].mode;
		file_user = cases[i].file_user;
		file_group = cases[i].file_group;
		capability = cases[i].capability;
		stat_error = cases[i].stat_error;
		check(&program, sizeof(program), cases[i].gains ? RIGHTS : NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_headers),
			cmocka_unit_test(test_truncated),
			cmocka_unit_test(test_rights),
	};
	struct resources before;
	int failed;

	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(path, sizeof(path), "%s/program", folder);
	before = resources_now();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (resources_now().descriptors != before.descriptors) {
		fprintf(stderr, "the tests have left descriptors open\n");
		failed++;
	}
	unlink(path);
	rmdir(folder);
	return failed;
}
