/* SPDX-License-Identifier: MIT */
/*
 * Environment variables of trusted programs and of programs with AT_SECURE, and whether a program
 * has an interpreter.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/environment/environment.h"

extern char **environ;

static unsigned long secure, asked_for;
static unsigned int times_asked;
static ElfW(Phdr) headers[3];
static struct dl_phdr_info objects[2];
static size_t nr_objects = 2;

unsigned long __wrap_getauxval(unsigned long type);
int __wrap_dl_iterate_phdr(
		int (*found)(struct dl_phdr_info *info, size_t size, void *user), void *user);

unsigned long __wrap_getauxval(unsigned long type)
{
	asked_for = type;
	times_asked++;
	return secure;
}

/* Like the C library's function: continues until the callback returns a value other than 0. */
int __wrap_dl_iterate_phdr(
		int (*found)(struct dl_phdr_info *info, size_t size, void *user), void *user)
{
	int ret = 0;

	for (size_t i = 0; i < nr_objects && !ret; i++)
		ret = found(&objects[i], sizeof(objects[i]), user);
	return ret;
}

static char texts[][16] = {"AB=1", "A", "A=2=3", "A=4", "EMPTY=", "ZERO=0", "ZEROS=00",
		"NEGATIVE=-0", "ONE=1", "LAST=0x"};
static char *variables[] = {texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], texts[6],
		texts[7], texts[8], texts[9], NULL};

static void test_values(void **unused)
{
	(void)unused;
	environ = variables;
	assert_true(environment_is_ready());
	assert_string_equal(environment_get("A"), "2=3");
	assert_string_equal(environment_get("AB"), "1");
	assert_string_equal(environment_get("EMPTY"), "");
	assert_ptr_equal(environment_get("LAST"), variables[9] + 5);
	assert_null(environment_get("ABC"));
	assert_null(environment_get("LAS"));
	assert_null(environment_get("B"));
	/* getauxval() is called once, with the kernel's number of AT_SECURE. */
	assert_int_equal(times_asked, 1);
	assert_int_equal(asked_for, AT_SECURE);
	secure = 1;
	assert_string_equal(environment_get("AB"), "1");
	assert_int_equal(times_asked, 1);
}

static void test_switches(void **unused)
{
	(void)unused;
	environ = variables;
	assert_true(environment_is_on("ONE"));
	assert_true(environment_is_on("ZEROS"));
	assert_true(environment_is_on("NEGATIVE"));
	assert_true(environment_is_on("LAST"));
	assert_false(environment_is_on("ZERO"));
	assert_false(environment_is_on("EMPTY"));
	assert_false(environment_is_on("MISSING"));
}

static void test_no_environment(void **unused)
{
	(void)unused;
	environ = NULL;
	assert_false(environment_is_ready());
	assert_null(environment_get("A"));
	assert_false(environment_is_on("ONE"));
}

/* 0: the program sees no variable, and getauxval() is called once. */
static int run_secure(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		secure = 1;
		environ = variables;
		for (int i = 0; i < 2; i++)
			if (environment_get("A") || environment_is_on("ONE") || times_asked != 1)
				_exit(1);
		_exit(0);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The first object is the program: the interpreter of a library does not count. */
static void test_interpreter(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < 3; i++)
		headers[i].p_type = PT_LOAD;
	objects[0] = (struct dl_phdr_info){.dlpi_phdr = headers, .dlpi_phnum = 2};
	objects[1] = (struct dl_phdr_info){.dlpi_phdr = headers, .dlpi_phnum = 3};
	assert_false(environment_has_interpreter());
	headers[2].p_type = PT_INTERP;
	assert_false(environment_has_interpreter());
	objects[0].dlpi_phnum = 3;
	assert_true(environment_has_interpreter());
	headers[2].p_type = PT_LOAD;
	headers[0].p_type = PT_INTERP;
	objects[0].dlpi_phnum = 1;
	assert_true(environment_has_interpreter());
	objects[0].dlpi_phnum = 0;
	assert_false(environment_has_interpreter());
	nr_objects = 0;
	assert_false(environment_has_interpreter());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_values),
			cmocka_unit_test(test_switches),
			cmocka_unit_test(test_no_environment),
			cmocka_unit_test(test_interpreter),
	};
	char **before = environ;
	int ret = run_secure();

	if (ret)
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	environ = before;
	return ret;
}
