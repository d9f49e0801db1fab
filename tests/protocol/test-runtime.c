/* SPDX-License-Identifier: MIT */
/* The runtime directory: which one is used, and which users may own it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/runtime.h"

static char path[300];

static void one_is_named(void **state)
{
	char longest[90];

	(void)state;
	setenv("SIDE_RUNTIME", "/somewhere", 1);
	assert_int_equal(wire_runtime_directory(path, sizeof(path), false), 0);
	assert_string_equal(path, "/somewhere");
	assert_int_equal(wire_runtime_directory(path, sizeof(path), true), -ENOENT);
	assert_int_equal(wire_runtime_directory(path, strlen("/somewhere"), false), -ENAMETOOLONG);
	assert_int_equal(wire_runtime_directory(path, strlen("/somewhere") + 1, false), 0);
	assert_int_equal(wire_runtime_directory(path, 0, false), -ENAMETOOLONG);
	assert_int_equal(wire_runtime_path(path, sizeof(path), false, WIRE_RUNTIME_AGENTS), 0);
	assert_string_equal(path, "/somewhere/agents.sock");
	/* A name that is not valid for a socket gives no path. */
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = 0;
	setenv("SIDE_RUNTIME", longest, 1);
	assert_int_equal(wire_runtime_path(path, sizeof(path), false, "seventeen-letters"), 0);
	assert_int_equal(wire_runtime_path(path, sizeof(path), false, "eighteen--letters!"),
			-ENAMETOOLONG);
	setenv("SIDE_RUNTIME", "relative", 1);
	assert_int_equal(wire_runtime_directory(path, sizeof(path), false), -EINVAL);
}

static void otherwise_the_users(void **state)
{
	char expected[64];

	(void)state;
	unsetenv("SIDE_RUNTIME");
	assert_int_equal(wire_runtime_directory(path, sizeof(path), true), 0);
	assert_string_equal(path, "/run/side");
	setenv("XDG_RUNTIME_DIR", "/run/of-mine", 1);
	assert_int_equal(wire_runtime_directory(path, sizeof(path), false), 0);
	assert_string_equal(path, geteuid() ? "/run/of-mine/side" : "/run/side");
	setenv("XDG_RUNTIME_DIR", "not/absolute", 1);
	errno = 4711;
	assert_int_equal(wire_runtime_directory(path, sizeof(path), false), 0);
	assert_int_equal(errno, 4711);
	snprintf(expected, sizeof(expected), "/run/user/%u", (unsigned int)geteuid());
	if (!access(expected, F_OK))
		strcat(expected, "/side");
	else
		snprintf(expected, sizeof(expected), "/tmp/side-%u", (unsigned int)geteuid());
	assert_string_equal(path, geteuid() ? expected : "/run/side");
}

static void only_ours_is_trusted(void **state)
{
	char directory[] = "/tmp/side-test-runtime-XXXXXX";
	char link[sizeof(directory) + 8];

	(void)state;
	assert_non_null(mkdtemp(directory));
	errno = 4711;
	assert_int_equal(wire_runtime_check(directory), 0);
	assert_int_equal(wire_runtime_check("/"), 0); /* root's */
	assert_int_equal(wire_runtime_check("/tmp"), -EPERM);
	assert_int_equal(wire_runtime_check("/nowhere/at/all"), -ENOENT);
	assert_int_equal(wire_runtime_check("/dev/null"), -ENOTDIR);
	assert_int_equal(errno, 4711);
	snprintf(link, sizeof(link), "%s.link", directory);
	assert_int_equal(symlink(directory, link), 0);
	assert_int_equal(wire_runtime_check(link), -ENOTDIR);
	unlink(link);
	chmod(directory, 0770);
	assert_int_equal(wire_runtime_check(directory), -EPERM);
	chmod(directory, 0755);
	assert_int_equal(wire_runtime_check(directory), 0);
	if (!geteuid()) {
		assert_int_equal(chown(directory, 1, 1), 0);
		assert_int_equal(wire_runtime_check(directory), -EPERM);
	}
	rmdir(directory);
}

static void names_of_sessions(void **state)
{
	static const char longest[] =
			"0123456789012345678901234567890123456789012345678901234567890123";
	static const char *const bad[] = {"", ".", "..", ".a", "-a", "a/b", "a b", "\xc3\xa4"};
	char too_long[sizeof(longest) + 1];
	size_t i;

	(void)state;
	assert_true(wire_session_name_valid("a"));
	assert_true(wire_session_name_valid("A-b_c.9"));
	assert_true(wire_session_name_valid(longest));
	snprintf(too_long, sizeof(too_long), "%sx", longest);
	assert_false(wire_session_name_valid(too_long));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(wire_session_name_valid(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(one_is_named),
			cmocka_unit_test(otherwise_the_users),
			cmocka_unit_test(only_ours_is_trusted),
			cmocka_unit_test(names_of_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
