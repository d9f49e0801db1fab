/* SPDX-License-Identifier: MIT */
/*
 * The value of LD_PRELOAD: the locations and the order of libraries, and each refusal. The test
 * includes libraries.c, and plays the environment, the path of the executable, and the loader.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../called.h"
#include "recorder/core/libraries.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"

static char work[] = "/tmp/side-library-XXXXXX";
static struct error the_error;
static const char *list_variable, *preload_variable, *executable_of_test;
static bool loads;
static unsigned int
		nr_prints; /* the print with this number fails for lack of memory; 0: none fails */
static int access_error;

/* Other variables are not played: a file that tests/mutate has changed reads a variable itself. */
static char *played_getenv(const char *name)
{
	const char *value = !strcmp(name, "SIDE_LIB_DIR") ? list_variable
			: !strcmp(name, "LD_PRELOAD")     ? preload_variable
							  : getenv(name);

	return (char *)(uintptr_t)value;
}

static ssize_t played_link(const char *path, char *to, size_t size)
{
	assert_true(!strcmp(path, "/proc/self/exe") && size == PATH_MAX - 1);
	if (!executable_of_test)
		return -1;
	memset(to, 'x', size);
	memcpy(to, executable_of_test, strlen(executable_of_test));
	return (ssize_t)strlen(executable_of_test);
}

static void *played_load(const char *path, int flags)
{
	assert_int_equal(flags, RTLD_LAZY | RTLD_LOCAL);
	called("load(%s) ", path + strlen(work));
	return loads ? work : NULL;
}

__attribute__((format(printf, 2, 3))) static int played_print(char **text, const char *format, ...)
{
	va_list arguments;
	int ret;

	if (nr_prints && !--nr_prints) {
		*text = (char *)(uintptr_t)1;
		return -1;
	}
	va_start(arguments, format);
	ret = vasprintf(text, format, arguments);
	va_end(arguments);
	return ret;
}

static int played_access(const char *path, int mode)
{
	assert_int_equal(mode, R_OK);
	if (!access_error)
		return access(path, mode);
	errno = access_error;
	return -1;
}

#define getenv(name) played_getenv(name)
#define readlink(path, to, size) played_link(path, to, size)
#define dlopen(path, flags) played_load(path, flags)
#define dlclose(library) (called("close(%d) ", (library) != NULL), 0)
#define asprintf(text, ...) played_print(text, __VA_ARGS__)
#define access(path, mode) played_access(path, mode)
#include "recorder/core/libraries.c"
#undef getenv
#undef asprintf
#undef access

static struct session session_of_test;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static const char *in_work(const char *name)
{
	static char paths[8][PATH_MAX];
	static unsigned int next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(*paths), "%s/%s", work, name);
	return path;
}

static void make(const char *name)
{
	int fd = open(in_work(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	(void)close(fd);
}

static void make_directory(const char *name)
{
	assert_int_equal(mkdir(in_work(name), 0700), 0);
}

static int begin(void **state)
{
	(void)state;
	(void)nftw(work, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(mkdir(work, 0700), 0);
	make_directory("one");
	make_directory("two");
	list_variable = preload_variable = executable_of_test = NULL;
	loads = false;
	nr_prints = 0;
	access_error = 0;
	*calls = '\0';
	return 0;
}

static int find_libraries(const char *const *wrappers, size_t nr)
{
	const struct session_options options = {
			.wrappers = (void *)(uintptr_t)wrappers, .nr_wrappers = nr};

	free(session_of_test.spawn.preload);
	session_of_test.spawn.preload = NULL;
	the_error = (struct error){.kind = ERROR_NONE};
	return libraries_find(&session_of_test, &options, &the_error);
}

/* % stands for the directory of the test. */
static void check_preload(const char *format)
{
	char text[1024], *at = text;

	*text = '\0';
	for (; *format; format++) {
		if (*format == '%')
			at = stpcpy(at, work);
		else
			*at++ = *format;
		*at = '\0';
	}
	assert_string_equal(session_of_test.spawn.preload, text);
}

static void check_error(enum error_kind kind, int code, const char *text, const char *hint)
{
	assert_string_equal(the_error.text, text);
	assert_string_equal(the_error.hint, hint);
	assert_int_equal(the_error.kind, kind);
	assert_int_equal(the_error.code, code);
}

static void test_find(void **state)
{
	static const char *const wrappers[] = {"libc", "pthread"};
	char lists[300], *found;

	(void)state;
	(void)snprintf(lists, sizeof(lists), "::%s:%s", in_work("one"), in_work("two"));
	list_variable = lists;
	make("two/libside-agent.so");
	assert_int_equal(find_libraries(NULL, 0), 0);
	check_preload("%/two/libside-agent.so");
	make("one/libside-agent.so");
	make("one/libside-wrap-libc.so");
	make("two/libside-wrap-pthread.so");
	preload_variable = "";
	assert_int_equal(find_libraries(wrappers, 2), 0);
	check_preload("%/one/libside-agent.so:%/one/libside-wrap-libc.so:%/two/libside-wrap-pthread.so");
	assert_int_equal(find_libraries(wrappers, 1), 0);
	check_preload("%/one/libside-agent.so:%/one/libside-wrap-libc.so");
	/* The user's libraries come last, and each library of side is named once. */
	preload_variable = "a.so b.so";
	assert_int_equal(find_libraries(NULL, 0), 0);
	check_preload("%/one/libside-agent.so:a.so b.so");
	(void)snprintf(lists + 150, 150, "x.so %s", in_work("one/libside-agent.so"));
	preload_variable = lists + 150;
	assert_int_equal(find_libraries(wrappers, 1), 0);
	check_preload("%/one/libside-wrap-libc.so:x.so %/one/libside-agent.so");
	found = session_library("libside-agent.so");
	assert_non_null(found);
	assert_string_equal(found, in_work("one/libside-agent.so"));
	free(found);
	assert_null(session_library("none.so"));
}

/* Next to the executable: the build tree first, then the directories of the prefix. */
static void test_beside(void **state)
{
	char program[64];

	(void)state;
	(void)snprintf(program, sizeof(program), "%s/one/a/bin/side", work);
	make_directory("one/a");
	make_directory("one/a/bin");
	make_directory("one/a/lib");
	make_directory("one/src");
	make_directory("one/src/tracers");
	make_directory("one/src/tracers/agent");
	list_variable = "";
	executable_of_test = program;
	make("one/a/lib/libside-agent.so");
	assert_int_equal(find_libraries(NULL, 0), 0);
	check_preload("%/one/a/lib/libside-agent.so");
	make("one/src/tracers/agent/libside-agent.so");
	assert_int_equal(find_libraries(NULL, 0), 0);
	check_preload("%/one/src/tracers/agent/libside-agent.so");
	executable_of_test = "none";
	assert_true(find_libraries(NULL, 0) < 0);
	executable_of_test = NULL;
	assert_true(find_libraries(NULL, 0) < 0);
	check_error(ERROR_FAILED, -ENOENT, "libside-agent.so is not installed beside this program",
			"reinstall it, or name its directory in SIDE_LIB_DIR");
}

/* A directory whose $LIB each loader replaces by a name of its own. */
static void test_loaders(void **state)
{
	char lists[64];

	(void)state;
	(void)snprintf(lists, sizeof(lists), "%s", in_work("one"));
	list_variable = lists;
	make("one/libside-agent.so");
	make_directory("one/side-preload");
	assert_int_equal(find_libraries(NULL, 0), 0);
	check_preload("%/one/libside-agent.so");
	assert_called("load(/one/side-preload/$LIB/side-preload/libside-preload-empty.so) ");
	loads = true;
	assert_int_equal(find_libraries(NULL, 0), 0);
	check_preload("%/one/side-preload/$LIB/libside-agent.so:%/one/side-preload/$LIB/side-preload/libside-preload-64.so");
	assert_called("load(/one/side-preload/$LIB/side-preload/libside-preload-empty.so) close(1) ");
	/* Without memory for one of the names, the next best one is used. */
	nr_prints = 1;
	assert_int_equal(find_libraries(NULL, 0), 0);
	check_preload("%/one/libside-agent.so");
	nr_prints = 2;
	assert_int_equal(find_libraries(NULL, 0), -ENOMEM);
	check_error(ERROR_FAILED, -ENOMEM, "out of memory", "");
	nr_prints = 3;
	assert_int_equal(find_libraries(NULL, 0), 0);
	check_preload("%/one/side-preload/$LIB/libside-agent.so");
	nr_prints = 4;
	assert_int_equal(find_libraries(NULL, 0), -ENOMEM);
	check_error(ERROR_FAILED, -ENOMEM, "out of memory", "");
	nr_prints = 5;
	preload_variable = "a.so";
	assert_int_equal(find_libraries(NULL, 0), -ENOMEM);
	check_error(ERROR_FAILED, -ENOMEM, "out of memory", "");
	nr_prints = 0;
	*calls = '\0';
}

static void test_refused(void **state)
{
	static const char letters[] =
			"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789_-";
	const char *wrapper = letters + 1;
	char text[300], lists[64];

	(void)state;
	(void)snprintf(lists, sizeof(lists), "%s", in_work("one"));
	list_variable = lists;
	assert_int_equal(find_libraries(NULL, 0), -ENOENT);
	(void)snprintf(text, sizeof(text),
			"libside-agent.so is not in %s, which SIDE_LIB_DIR names", lists);
	check_error(ERROR_FAILED, -ENOENT, text, "correct SIDE_LIB_DIR, or `unset SIDE_LIB_DIR`");
	access_error = EACCES;
	assert_int_equal(find_libraries(NULL, 0), -EACCES);
	check_error(ERROR_FAILED, -EACCES, "cannot read libside-agent.so: Permission denied", "");
	access_error = ENOTDIR;
	assert_int_equal(find_libraries(NULL, 0), -ENOENT);
	access_error = 0;
	make("one/libside-agent.so");
	/* A name has at most 63 bytes. */
	assert_int_equal(strlen(wrapper), 63);
	(void)snprintf(text, sizeof(text), "one/libside-wrap-%s.so", wrapper);
	make(text);
	assert_int_equal(find_libraries(&wrapper, 1), 0);
	for (int i = 0; i < 4; i++) {
		wrapper = (const char *const[]){letters, "", "Libc", "a/b"}[i];
		assert_int_equal(find_libraries(&wrapper, 1), -EINVAL);
		(void)snprintf(text, sizeof(text),
				"\"%s\" is not the name of a wrapper (known ones are libc and pthread)",
				wrapper);
		check_error(ERROR_USAGE, -EINVAL, text, "");
	}
	wrapper = "none";
	list_variable = NULL;
	assert_true(fail_missing(&the_error, 0, wrapper, "w.so") == -ENOENT);
	the_error.hint[0] = '\0';
	check_error(ERROR_USAGE, -ENOENT,
			"there is no wrapper \"none\": w.so is not installed beside this program (known ones are libc and pthread)",
			"");
	/* LD_PRELOAD cannot carry this path. */
	make_directory("a b");
	make("a b/libside-agent.so");
	(void)snprintf(lists, sizeof(lists), "%s", in_work("a b"));
	list_variable = lists;
	assert_int_equal(find_libraries(NULL, 0), -EINVAL);
	(void)snprintf(text, sizeof(text),
			"the path %s/libside-agent.so has a blank or a colon in it, which LD_PRELOAD cannot carry",
			lists);
	check_error(ERROR_FAILED, -EINVAL, text,
			"install side in a directory without blanks and colons");
	*calls = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup(test_find, begin),
			cmocka_unit_test_setup(test_beside, begin),
			cmocka_unit_test_setup(test_loaders, begin),
			cmocka_unit_test_setup(test_refused, begin),
	};
	int ret;

	if (!mkdtemp(work))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	free(session_of_test.spawn.preload);
	(void)nftw(work, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return ret;
}
