/* SPDX-License-Identifier: MIT */
/*
 * The list of programs that sessions have probes for: its lines, its limit, and each call that fails.
 * The test includes wanted.c. All files are in a directory of the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "base/io.h"
#include "protocol/runtime.h"

static const char *failing; /* the call that fails, or NULL */

static bool fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0)
		return false;
	errno = ENOSPC;
	return true;
}

static int played_write(int fd, const void *bytes, size_t size)
{
	return fails("write") ? -ENOSPC : io_write_all(fd, bytes, size);
}

#define open(path, flags, mode) (fails("open") ? -1 : open(path, flags, mode))
#define fchmod(fd, mode) (fails("fchmod") ? -1 : fchmod(fd, mode))
#define rename(from, to) (fails("rename") ? -1 : rename(from, to))
#define open_memstream(text, size) (fails("open_memstream") ? NULL : open_memstream(text, size))
#define strdup(text) (fails("strdup") ? NULL : strdup(text))
#define io_write_all(fd, bytes, size) played_write(fd, bytes, size)
#include "programs/sided/wanted.c" /* NOLINT(bugprone-suspicious-include): plays calls */
#undef open

static char work[] = "/tmp/side-wanted-XXXXXX";
static struct daemon the_daemon;
static unsigned int nr_logged;

bool runtime_path(const struct daemon *daemon, char *path, size_t capacity, const char *format, ...)
{
	return snprintf(path, capacity, "%s/%s", daemon->runtime, format) < (int)capacity;
}

void log_about(struct daemon *daemon, uid_t uid, const char *format, ...)
{
	(void)daemon;
	(void)uid;
	assert_non_null(format);
	nr_logged++;
}

#define PROBES 4

/* The definition of one session, whose probes have these targets. */
static struct definition_probe probes[PROBES];
static struct definition definition = {.probes = probes};
static struct session_entry entry = {.definition = &definition};

static void set_target(size_t i, uint32_t pid, char *exe)
{
	probes[i].target = (struct table_target){.pid = pid, .exe = exe};
}

/* Reads the list. -1: there is none. */
static ssize_t wanted_read(char *text, size_t capacity)
{
	char path[128];
	ssize_t size;

	snprintf(path, sizeof(path), "%s/" WIRE_RUNTIME_WANTED, work);
	size = io_read_text(path, text, capacity);
	return size < 0 ? -1 : size;
}

static void expect_list(const char *wanted)
{
	char text[WIRE_RUNTIME_WANTED_MAX + 16];
	ssize_t size;

	wanted_publish(&the_daemon);
	size = wanted_read(text, sizeof(text));
	if (!wanted) {
		assert_int_equal(size, -1);
		return;
	}
	assert_true(size >= 0);
	assert_string_equal(text, wanted);
}

static int set_up(void **state)
{
	(void)state;
	memset(&the_daemon, 0, sizeof(the_daemon));
	assert_true(strlen(work) < sizeof(the_daemon.runtime));
	strcpy(the_daemon.runtime, work);
	the_daemon.sessions = &entry;
	entry.uid = 0;
	definition.nr_probes = 0;
	nr_logged = 0;
	failing = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	failing = NULL;
	wanted_close(&the_daemon);
	return 0;
}

static void test_lines(void **state)
{
	static char perl[] = "/usr/bin/perl", odd[] = "/tmp/two\nlines";

	(void)state;
	expect_list(NULL);
	set_target(0, 0, perl);
	set_target(1, 0, perl);
	set_target(2, 4711, NULL);
	definition.nr_probes = 3;
	expect_list(":/usr/bin/perl\n");
	set_target(3, 0, odd);
	definition.nr_probes = 4;
	expect_list(":/usr/bin/perl\n:*\n");
	set_target(3, 0, NULL);
	expect_list(":/usr/bin/perl\n:*\n");
	/* A member of the group has only programs of its own. */
	the_daemon.system = true;
	entry.uid = 1000;
	definition.nr_probes = 1;
	expect_list("1000:/usr/bin/perl\n");
	definition.nr_probes = 0;
	expect_list(NULL);
	assert_int_equal(nr_logged, 0);
}

/* Makes a list of this size: ":", the path and a newline. */
static void set_size(char *path, size_t size)
{
	memset(path, 'a', size - 2);
	*path = '/';
	path[size - 2] = '\0';
	set_target(0, 0, path);
	definition.nr_probes = 1;
}

static void test_limit(void **state)
{
	static char path[WIRE_RUNTIME_WANTED_MAX], text[WIRE_RUNTIME_WANTED_MAX + 16];

	(void)state;
	set_size(path, WIRE_RUNTIME_WANTED_MAX);
	wanted_publish(&the_daemon);
	assert_int_equal(wanted_read(text, sizeof(text)), WIRE_RUNTIME_WANTED_MAX);
	set_size(path, WIRE_RUNTIME_WANTED_MAX + 1);
	expect_list(":*\n");
	failing = "strdup";
	free(the_daemon.wanted);
	the_daemon.wanted = NULL;
	expect_list(NULL);
	assert_int_equal(nr_logged, 1);
}

/* An old list is removed if the new one cannot be written; the next change writes it. */
static void test_failures(void **state)
{
	static const char *const names[] = {"open_memstream", "open", "write", "fchmod", "rename"};
	static char perl[] = "/usr/bin/perl", python[] = "/usr/bin/python3";

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		failing = NULL;
		set_target(0, 0, perl);
		definition.nr_probes = 1;
		expect_list(":/usr/bin/perl\n");
		set_target(0, 0, python);
		failing = names[i];
		expect_list(NULL);
		assert_int_equal(nr_logged, i + 1);
		failing = NULL;
		expect_list(":/usr/bin/python3\n");
	}
}

/* Without the lock, the file belongs to another daemon. */
static void test_close(void **state)
{
	static char perl[] = "/usr/bin/perl";
	char text[64];

	(void)state;
	set_target(0, 0, perl);
	definition.nr_probes = 1;
	expect_list(":/usr/bin/perl\n");
	the_daemon.lock_fd = -1;
	wanted_close(&the_daemon);
	assert_true(wanted_read(text, sizeof(text)) > 0);
	the_daemon.lock_fd = 0;
	wanted_close(&the_daemon);
	assert_int_equal(wanted_read(text, sizeof(text)), -1);
}

static int make_work(void **state)
{
	(void)state;
	return mkdtemp(work) ? 0 : -1;
}

static int remove_work(void **state)
{
	(void)state;
	return rmdir(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_close, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, make_work, remove_work);
}
