/* SPDX-License-Identifier: MIT */
/*
 * Sources of contexts: files and links of /proc, names and ids, and the path of the control group
 * with its two buffers. The test includes both files and replaces the system calls and the clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <cmocka.h>

#include "../called.h"
#include "tracers/agent/context/sources.h"
#include "tracers/agent/context/text.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"

static struct {
	long pid, tid, error, read_error, ids_error;
	size_t piece; /* bytes of each read, if not 0 */
	unsigned int interrupts;
	const char *text, *name, *link;
	uint32_t ids[3];
	bool is_foreign, cannot_ask;
	struct timespec now;
} played;

static long play_read(va_list list)
{
	int fd = va_arg(list, int);
	char *to = va_arg(list, char *);
	size_t size = va_arg(list, size_t), left;
	long offset = va_arg(list, long);

	assert_int_equal(fd, 7);
	called("read %zu at %ld\n", size, offset);
	if (played.interrupts) {
		played.interrupts--;
		return -EINTR;
	}
	if (played.read_error)
		return played.read_error;
	left = strlen(played.text) - (size_t)offset;
	size = size < left ? size : left;
	if (played.piece && size > played.piece)
		size = played.piece;
	memcpy(to, played.text + offset, size);
	return (long)size;
}

static long play_call(long number, ...)
{
	const char *path;
	va_list list;
	size_t size;
	long ret = 0;
	char *to;

	va_start(list, number);
	switch (number) {
	case SYS_getpid: ret = played.pid; break;
	case SYS_gettid: ret = played.tid; break;
	case SYS_openat:
		assert_int_equal(va_arg(list, int), AT_FDCWD);
		path = va_arg(list, const char *);
		assert_int_equal(va_arg(list, int), O_RDONLY | O_CLOEXEC | O_NOCTTY);
		called("open %s\n", path);
		ret = played.error ? played.error : 7;
		break;
	case SYS_pread64: ret = play_read(list); break;
	case SYS_prctl:
		assert_int_equal(va_arg(list, int), PR_GET_NAME);
		to = va_arg(list, char *);
		/* All bytes, which no kernel does. */
		memset(to, 'z', CONTEXT_COMM_SIZE);
		memcpy(to, played.name, strlen(played.name) < 16 ? strlen(played.name) + 1 : 16);
		break;
	case SYS_readlinkat:
		assert_int_equal(va_arg(list, int), AT_FDCWD);
		path = va_arg(list, const char *);
		to = va_arg(list, char *);
		size = va_arg(list, size_t);
		called("link %s\n", path);
		if (!played.link) {
			ret = -ENOENT;
			break;
		}
		ret = (long)(strlen(played.link) < size ? strlen(played.link) : size);
		memcpy(to, played.link, (size_t)ret);
		break;
	case SYS_getresuid:
	case SYS_getresgid:
		called("ids of %s\n", number == SYS_getresuid ? "user" : "group");
		for (int i = 0; i < 3; i++)
			*va_arg(list, uint32_t *) = played.ids[i];
		ret = played.ids_error;
		break;
	default: fail();
	}
	va_end(list);
	return ret;
}

static bool play_foreign(void)
{
	return played.is_foreign;
}

static int play_clock(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_MONOTONIC_COARSE);
	*now = played.now;
	return 0;
}

#undef raw_call
#define raw_call(...) play_call(__VA_ARGS__)
#define raw_close(fd) called("close %d\n", fd)
#define context_is_foreign play_foreign
#define context_may_ask() (!played.cannot_ask)
#define clock_gettime play_clock
#include "tracers/agent/context/sources.c"

#include "tracers/agent/context/cgroup.c"

static void reset(void)
{
	memset(&played, 0, sizeof(played));
	memset(&procname, 0, sizeof(procname));
	memset(paths, 0, sizeof(paths));
	version = writing = 0;
	next_check = 0;
	users_changed = false;
	played.pid = 500;
	played.tid = 501;
	played.text = "";
	played.name = "own";
	*calls = '\0';
}

static void test_files(void **unused)
{
	char to[9] = "";

	(void)unused;
	reset();
	played.text = "0123456789";
	assert_int_equal(context_sources_file("/f", to, 8), 8);
	assert_called("open /f\nread 8 at 0\nclose 7\n");
	assert_memory_equal(to, "01234567", 9);
	/* In pieces, until the end, and again after an interruption. */
	memset(to, 0, sizeof(to));
	played.text = "01234";
	played.piece = 2;
	played.interrupts = 1;
	assert_int_equal(context_sources_file("/f", to, 8), 5);
	assert_called("open /f\nread 8 at 0\nread 8 at 0\nread 6 at 2\nread 4 at 4\nread 3 at 5\nclose 7\n");
	assert_string_equal(to, "01234");
	played.read_error = -EIO;
	assert_int_equal(context_sources_file("/f", to, 8), -EIO);
	assert_called("open /f\nread 8 at 0\nclose 7\n");
	played.error = -ENOENT;
	assert_int_equal(context_sources_file("/f", to, 8), -ENOENT);
	assert_called("open /f\n");
	played.read_error = played.error = 0;
	played.text = "";
	assert_int_equal(context_sources_file("/f", to, 8), 0);
}

static void test_links(void **unused)
{
	char text[128];

	(void)unused;
	reset();
	assert_int_equal(link_number("/l"), 0);
	played.link = "uts:[4026531838]";
	assert_int_equal(link_number("/l"), 4026531838);
	played.link = "500/task/90";
	assert_int_equal(link_number("/l"), 90);
	played.link = "no number";
	assert_int_equal(link_number("/l"), 0);
	played.link = "/1:2";
	assert_int_equal(link_number("/l"), 2);
	played.link = "12";
	assert_int_equal(link_number("/l"), 12);
	played.link = "]";
	assert_int_equal(link_number("/l"), 0);
	played.link = "";
	assert_int_equal(link_number("/l"), 0);
	/* 96 bytes of it. */
	memset(text, 'x', sizeof(text));
	strcpy(text + 93, "1234");
	played.link = text;
	assert_int_equal(link_number("/l"), 123);
	*calls = '\0';
}

static void test_values(void **unused)
{
	struct context_values values;
	char wanted[512] = "";

	(void)unused;
	reset();
	memset(&values, 0, sizeof(values));
	assert_int_equal(context_sources_read(0, &values, true), 0);
	assert_called("");
	played.link = "[77]";
	assert_int_equal(context_sources_read(CONTEXT_GROUP(IDS), &values, true), 0);
	assert_true(values.vpid == 500 && values.vtid == 501 && !values.tid);
	assert_called("");
	assert_int_equal(context_sources_read(CONTEXT_GROUP(TID), &values, true), 0);
	assert_int_equal(values.tid, 77);
	assert_called("link /proc/thread-self\n");
	/* A name without its terminator is truncated. */
	played.name = "0123456789abcdefghi";
	assert_int_equal(context_sources_read(CONTEXT_GROUP(THREAD_NAME), &values, true), 0);
	assert_string_equal(values.thread_name, "0123456789abcde");
	for (uint32_t i = 0; i < 3; i++)
		played.ids[i] = 7 + i;
	assert_int_equal(context_sources_read(CONTEXT_GROUP(UIDS), &values, true), 0);
	assert_true(values.uids[0] == 7 && values.uids[1] == 8 && values.uids[2] == 9 &&
			!values.gids[0]);
	assert_int_equal(context_sources_read(CONTEXT_GROUP(GIDS), &values, true), 0);
	assert_true(values.gids[0] == 7 && values.gids[2] == 9);
	assert_called("ids of user\nids of group\n");
	/* Ids that have no name yet in a new user namespace may change. */
	for (int i = 0; i < 3; i++) {
		played.ids[i] = OVERFLOW_ID;
		users_changed = false;
		assert_int_equal(context_sources_read(CONTEXT_GROUP(UIDS), &values, true), 0);
		context_users_changed();
		assert_int_equal(context_sources_read(CONTEXT_GROUP(UIDS), &values, true),
				CONTEXT_GROUP(UIDS));
		assert_int_equal(context_sources_read(CONTEXT_GROUP(GIDS), &values, true),
				CONTEXT_GROUP(GIDS));
		played.ids[i] = 3;
		assert_int_equal(context_sources_read(CONTEXT_GROUP(GIDS), &values, true), 0);
	}
	played.ids_error = -EFAULT;
	users_changed = false;
	(void)context_sources_read(CONTEXT_GROUP(UIDS), &values, true);
	assert_true(values.uids[0] == OVERFLOW_ID && values.uids[1] == OVERFLOW_ID &&
			values.uids[2] == OVERFLOW_ID);
	*calls = '\0';
	/* Each namespace, and only those that are requested. */
	for (int i = 0; i < 8; i++) {
		static const char *const names[] = {
				"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"};

		memset(&values, 0, sizeof(values));
		(void)context_sources_read(1u << (CONTEXT_GROUP_NAMESPACES + i), &values, true);
		for (int k = 0; k < 8; k++)
			assert_int_equal(values.namespaces[k], k == i ? 77 : 0);
		snprintf(wanted, sizeof(wanted), "link /proc/thread-self/ns/%s\n", names[i]);
		assert_called(wanted);
	}
}

static void test_names(void **unused)
{
	struct context_values values = {.procname = "before"};

	(void)unused;
	reset();
	context_process.stamps[CONTEXT_GROUP_PROCNAME] = 5;
	/* The main thread knows the name; other threads read a file, once for each stamp. */
	context_sources_start(5);
	assert_int_equal(procname.stamp, UINT32_MAX);
	played.text = "of file\n";
	(void)context_sources_read(CONTEXT_GROUP(PROCNAME), &values, true);
	assert_string_equal(values.procname, "of file");
	assert_called("open /proc/self/comm\nread 16 at 0\nread 8 at 8\nclose 7\n");
	assert_int_equal(procname.stamp, 5);
	memset(&values, 0, sizeof(values));
	(void)context_sources_read(CONTEXT_GROUP(PROCNAME), &values, true);
	assert_string_equal(values.procname, "of file");
	assert_called("");
	context_process.stamps[CONTEXT_GROUP_PROCNAME] = 6;
	played.tid = 500;
	(void)context_sources_read(CONTEXT_GROUP(PROCNAME), &values, true);
	assert_string_equal(values.procname, "own");
	assert_called("");
	assert_int_equal(procname.stamp, 6);
	/* A child in the parent's memory keeps nothing. */
	context_process.stamps[CONTEXT_GROUP_PROCNAME] = 7;
	(void)context_sources_read(CONTEXT_GROUP(PROCNAME), &values, false);
	assert_int_equal(procname.stamp, 6);
	/* Without the file the name is as before. */
	played.tid = 501;
	played.error = -ENOENT;
	(void)context_sources_read(CONTEXT_GROUP(PROCNAME), &values, true);
	assert_string_equal(values.procname, "own");
	assert_int_equal(procname.stamp, 6);
	played.error = 0;
	played.text = "";
	(void)context_sources_read(CONTEXT_GROUP(PROCNAME), &values, true);
	assert_string_equal(values.procname, "own");
	/* While another thread writes it, it is not stored. */
	procname.stamp = 0;
	played.text = "other\n";
	(void)context_sources_read(CONTEXT_GROUP(PROCNAME), &values, true);
	assert_string_equal(values.procname, "other");
	assert_int_equal(procname.stamp, 0);
	assert_false(procname_take(7, values.procname));
	played.tid = 500;
	context_sources_start(9);
	assert_int_equal(procname.stamp, 9);
	assert_true(procname_take(9, values.procname));
	assert_string_equal(values.procname, "own");
	*calls = '\0';
}

/* ---- the control group ---- */

static void assert_path(const char *wanted, const char *wanted_calls)
{
	assert_string_equal(context_cgroup_poll(), wanted);
	assert_called(wanted_calls);
}

#define READ "open /proc/self/cgroup\nread 16384 at 0\n"

static void test_cgroup(void **unused)
{
	static char text[PATH_BYTES + 16];
	uint8_t bytes[16];

	(void)unused;
	reset();
	played.now = (struct timespec){.tv_sec = 5, .tv_nsec = 3};
	played.text = "0::/one\n";
	assert_path("/one", READ "read 16376 at 8\nclose 7\n");
	assert_true(version == 1 && next_check == UINT64_C(6000000003) && !writing);
	/* For a second it is not read again. */
	played.text = "0::/other\n";
	assert_path("/one", "");
	played.now = (struct timespec){.tv_sec = 6, .tv_nsec = 2};
	assert_path("/one", "");
	played.now.tv_nsec = 3;
	assert_path("/other", READ "read 16374 at 10\nclose 7\n");
	assert_int_equal(version, 2);
	/* The same path: the buffers do not change. */
	context_cgroup_changed();
	assert_path("/other", READ "read 16374 at 10\nclose 7\n");
	assert_int_equal(version, 2);
	/* A shorter path, without the remainder of the longer one. */
	played.text = "0::/o\n";
	context_cgroup_changed();
	assert_path("/o", READ "read 16378 at 6\nclose 7\n");
	assert_int_equal(paths[version & 1].text[3], 0);
	/* In a sandbox, a child, or while another thread reads it. */
	played.text = "0::/x\n";
	context_cgroup_changed();
	played.cannot_ask = true;
	assert_path("/o", "");
	played.cannot_ask = false;
	played.is_foreign = true;
	assert_path("/o", "");
	played.is_foreign = false;
	writing = 1;
	assert_path("/o", "");
	assert_true(writing == 1 && next_check == 0);
	next_check = 5;
	context_cgroup_forked();
	assert_true(writing == 0 && next_check == 0);
	played.error = -ENOENT;
	assert_path("/o", "open /proc/self/cgroup\n");
	/* No path, and one that is too long. */
	played.error = 0;
	context_cgroup_changed();
	played.text = "nothing\n";
	assert_path("", READ "read 16376 at 8\nclose 7\n");
	for (size_t size = PATH_BYTES - 1; size <= PATH_BYTES; size++) {
		memset(text, 'p', sizeof(text));
		memcpy(text, "0::", 3);
		strcpy(text + 3 + size, "\n");
		played.text = text;
		context_cgroup_changed();
		assert_int_equal(strlen(context_cgroup_poll()), size < PATH_BYTES ? size : 0);
	}
	*calls = '\0';
	/* Written with its terminator, if there is space for it. */
	played.text = "0::/one\n";
	context_cgroup_changed();
	for (size_t capacity = 0; capacity < 16; capacity++) {
		memset(bytes, 'z', sizeof(bytes));
		assert_ptr_equal(context_cgroup_write(bytes, bytes + capacity),
				capacity < 5 ? NULL : bytes + 5);
		if (capacity >= 5)
			assert_string_equal((const char *)bytes, "/one");
		if (capacity)
			assert_int_equal(bytes[capacity < 5 ? capacity : 5], 'z');
	}
	assert_called(READ "read 16376 at 8\nclose 7\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_links),
			cmocka_unit_test(test_values),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_cgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
