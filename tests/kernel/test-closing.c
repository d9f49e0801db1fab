/* SPDX-License-Identifier: MIT */
/*
 * Small parts of the recorder of kernel events, on a simulated system: the process that closes many
 * events, programs that wait for the recorder, events that are found late, and bytes without
 * memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../called.h"

/* ---- the clock and the memory ---- */

static struct timespec clock_now;
static bool no_memory;

static int played_clock(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*now = clock_now;
	return 0;
}

static void *played_realloc(void *old, size_t size)
{
	return no_memory ? NULL : realloc(old, size);
}

#define clock_gettime played_clock
#define realloc played_realloc
#include "kernel-events/bytes.h"
#include "kernel-events/late.h"
#undef clock_gettime
#undef realloc

/* ---- processes ---- */

static jmp_buf after_end;
static long clones[2]; /* results of the first and the second clone() */
static unsigned int nr_clones;

static long played_syscall(long number, ...)
{
	va_list arguments;
	long with_timestamp[3];

	va_start(arguments, number);
	switch (number) {
	case SYS_clone:
		called("clone;");
		va_end(arguments);
		return clones[nr_clones++];
	case SYS_setsid: called("setsid;"); break;
	case SYS_close_range:
		with_timestamp[0] = va_arg(arguments, unsigned int);
		with_timestamp[1] = va_arg(arguments, unsigned int);
		assert_int_equal(va_arg(arguments, int), 0);
		called("range %ld %ld;", with_timestamp[0], with_timestamp[1]);
		break;
	case SYS_fcntl:
		with_timestamp[0] = va_arg(arguments, int);
		assert_int_equal(va_arg(arguments, int), F_SETFD);
		called("keep %ld %d;", with_timestamp[0], va_arg(arguments, int));
		break;
	case SYS_execve: {
		const char *path = va_arg(arguments, const char *);
		char *const *argv = va_arg(arguments, char *const *);
		char *const *variables = va_arg(arguments, char *const *);

		called("exec %s %s %d %d;", path, argv[0], argv[1] != NULL, variables[0] != NULL);
		break;
	}
	case SYS_exit_group:
		called("exit %d;", va_arg(arguments, int));
		va_end(arguments);
		longjmp(after_end, 1);
	default: fail();
	}
	va_end(arguments);
	return -1;
}

static int interrupts, wait_error, wait_status;

static pid_t played_wait(pid_t pid, int *status, int options)
{
	assert_int_equal(options, __WALL);
	called("wait %d;", (int)pid);
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	*status = wait_status;
	errno = wait_error;
	return wait_error ? -1 : pid;
}

static int played_close(int fd)
{
	called("close %d;", fd);
	return 0;
}

#define syscall played_syscall
#define waitpid played_wait
#define close played_close
#include "kernel-events/closing.c"
#undef syscall
#undef waitpid

static void play(long first, long second, int status)
{
	clones[0] = first;
	clones[1] = second;
	nr_clones = 0;
	wait_status = status;
	wait_error = 0;
	*calls = '\0';
}

static void test_process(void **unused)
{
	static const int fds[] = {0, 1, 5, 7, 300};
	int values[] = {3, 9, -2, 9};

	(void)unused;
	assert_true(kernel_close_compare_fds(&values[0], &values[1]) < 0);
	assert_true(kernel_close_compare_fds(&values[1], &values[2]) > 0);
	assert_int_equal(kernel_close_compare_fds(&values[1], &values[3]), 0);
	/* All except for these are closed. */
	play(0, 0, 0);
	if (!setjmp(after_end))
		kernel_close_hold_and_exit(fds, 5);
	assert_called("setsid;keep 0 0;keep 1 0;range 2 4;keep 5 0;range 6 6;keep 7 0;range 8 299;keep 300 0;"
		      "range 301 4294967295;exec /bin/true side-closes 0 0;exit 0;");
	/* In the intermediate process, and in the one that it starts. */
	play(0, 4711, 0);
	if (!setjmp(after_end))
		(void)kernel_close_move_to_child(fds, 5);
	assert_called("clone;clone;exit 0;");
	play(0, -1, 0);
	if (!setjmp(after_end))
		(void)kernel_close_move_to_child(fds, 5);
	assert_called("clone;clone;exit 1;");
	play(0, 0, 0);
	if (!setjmp(after_end))
		(void)kernel_close_move_to_child(fds, 1);
	assert_called("clone;clone;setsid;keep 0 0;range 1 4294967295;exec /bin/true side-closes 0 0;exit 0;");
	/* In this process. */
	play(4711, 0, 0);
	interrupts = 2;
	assert_true(kernel_close_move_to_child(fds, 5));
	assert_called("clone;wait 4711;wait 4711;wait 4711;");
	play(4711, 0, 1 << 8);
	assert_false(kernel_close_move_to_child(fds, 5));
	assert_called("clone;wait 4711;");
	play(4711, 0, 0);
	wait_error = ECHILD;
	assert_false(kernel_close_move_to_child(fds, 5));
	assert_called("clone;wait 4711;");
	play(-1, 0, 0);
	assert_false(kernel_close_move_to_child(fds, 5));
	assert_called("clone;");
}

/* A few are closed one by one, in order; many are sorted first. */
static void test_many(void **unused)
{
	int fds[FEW + 1];
	char expected[1000];

	(void)unused;
	assert_int_equal(FEW, 32);
	for (int nr = FEW; nr <= FEW + 1; nr++) {
		for (int i = 0; i < nr; i++)
			fds[i] = 500 - 3 * i;
		play(4711, 0, 0);
		kernel_close_many(fds, (size_t)nr);
		*expected = '\0';
		if (nr > FEW)
			strcat(expected, "clone;wait 4711;");
		for (int i = 0; i < nr; i++)
			(void)snprintf(expected + strlen(expected),
					sizeof(expected) - strlen(expected), "close %d;",
					500 - 3 * (nr > FEW ? nr - 1 - i : i));
		assert_called(expected);
	}
	kernel_close_many(fds, 0);
	assert_called("");
}

/* ---- programs that wait ---- */

static int socket_result, nr_names_taken, listen_result, nr_callers;

static int played_socket(int domain, int type, int protocol)
{
	assert_int_equal(domain, AF_UNIX);
	assert_int_equal(type, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_int_equal(protocol, 0);
	return socket_result;
}

static int played_bind(int fd, const struct sockaddr *address, socklen_t size)
{
	const struct sockaddr_un *where = (const void *)address;

	assert_int_equal(size,
			offsetof(struct sockaddr_un, sun_path) + 1 + strlen(where->sun_path + 1));
	assert_int_equal(*where->sun_path, 0);
	called("bind %d %.*s;", fd, (int)(size - offsetof(struct sockaddr_un, sun_path)) - 1,
			where->sun_path + 1);
	return nr_names_taken-- > 0 ? -1 : 0;
}

static int played_listen(int fd, int nr)
{
	called("listen %d %d;", fd, nr);
	return listen_result;
}

/* Descriptors from 0 on. */
static int played_accept(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	static int next;

	assert_int_equal(fd, 0);
	assert_null(address);
	assert_null(size);
	assert_int_equal(flags, SOCK_CLOEXEC);
	if (!nr_callers)
		return -1;
	nr_callers--;
	return next++;
}

#define socket played_socket
#define bind played_bind
#define listen played_listen
#define accept4 played_accept
#include "kernel-events/notice.c"
#undef socket
#undef bind
#undef listen
#undef accept4
#undef close

static void check_open(int fd, int names_taken, int result, int notice, const char *expected)
{
	struct kernel_record record = {.notice = -1};

	socket_result = fd;
	nr_names_taken = names_taken;
	listen_result = result;
	kernel_notice_open(&record);
	assert_int_equal(record.notice, notice);
	assert_called(expected);
}

static void test_notice(void **unused)
{
	static struct kernel_record record;
	char expected[2000] = "";

	(void)unused;
	check_open(-1, 0, 0, -1, "");
	check_open(0, 0, 0, 0, "bind 0 side-user-events-0;listen 0 64;");
	check_open(7, 3, 0, 7,
			"bind 7 side-user-events-0;bind 7 side-user-events-1;bind 7 side-user-events-2;bind 7 side-user-events-3;listen 7 64;");
	check_open(7, 4, 0, -1,
			"bind 7 side-user-events-0;bind 7 side-user-events-1;bind 7 side-user-events-2;bind 7 side-user-events-3;close 7;");
	check_open(0, 1, -1, -1,
			"bind 0 side-user-events-0;bind 0 side-user-events-1;listen 0 64;close 0;");
	/* 64 programs at a time: the others stay in the queue. */
	record.notice = 0;
	assert_false(kernel_notice_take(&record));
	nr_callers = 63;
	assert_true(kernel_notice_take(&record));
	assert_int_equal(record.nr_waiting, 63);
	nr_callers = 2;
	assert_true(kernel_notice_take(&record));
	assert_int_equal(record.nr_waiting, KERNEL_WAITING_MAX);
	assert_int_equal(KERNEL_WAITING_MAX, 64);
	assert_int_equal(nr_callers, 1);
	kernel_notice_answer(&record);
	for (int i = 63; i >= 0; i--)
		(void)snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
				"close %d;", i);
	assert_called(expected);
	assert_int_equal(record.nr_waiting, 0);
	assert_true(kernel_notice_take(&record));
	assert_int_equal(record.waiting[0], 64);
	/* At the end all programs get an answer. */
	kernel_notice_close(&record);
	assert_called("close 64;close 0;");
	assert_int_equal(record.notice, -1);
	nr_callers = 1;
	assert_false(kernel_notice_take(&record));
	kernel_notice_close(&record);
	assert_called("");
}

/* ---- events that are found late ---- */

static void check_late(struct kernel_late *late, uint64_t ms, uint64_t found, uint64_t certain,
		uint64_t unsure)
{
	clock_now = (struct timespec){.tv_sec = (time_t)(ms / 1000),
			.tv_nsec = (long)(ms % 1000) * 1000000 + 999999};
	kernel_late_found(late, found);
	assert_int_equal(late->late, certain);
	assert_int_equal(late->unsure, unsure);
	assert_int_equal(kernel_late_all(late), certain + unsure);
}

static void test_late(void **unused)
{
	struct kernel_late late = {.late = 0};

	(void)unused;
	clock_now = (struct timespec){.tv_sec = 7, .tv_nsec = 123999999};
	assert_int_equal(clock_monotonic_ms(), 7123);
	check_late(&late, 7123, 0, 0, 0);
	check_late(&late, 8000, 2, 0, 2);
	assert_int_equal(late.since, 8000);
	/* Others keep the time of the first. */
	check_late(&late, 8300, 3, 0, 5);
	assert_int_equal(late.since, 8000);
	check_late(&late, 8499, 0, 0, 5);
	check_late(&late, 8500, 0, 5, 0);
	check_late(&late, 9000, 4, 5, 4);
	assert_int_equal(late.since, 9000);
	check_late(&late, 9600, 1, 9, 1);
	assert_int_equal(late.since, 9600);
	kernel_late_reported(&late);
	assert_int_equal(kernel_late_all(&late), 9);
	check_late(&late, 20000, 1, 9, 1);
}

/* ---- bytes ---- */

static void test_bytes(void **unused)
{
	struct byte_buffer bytes = {.data = NULL};
	uint8_t *at;

	(void)unused;
	bytes_put(&bytes, "x", 0);
	bytes_put_zeros(&bytes, 0);
	assert_null(bytes.data);
	no_memory = true;
	assert_null(bytes_grow(&bytes, 1));
	assert_true(bytes.failed);
	assert_int_equal(bytes.size, 0);
	bytes.failed = false;
	bytes_put(&bytes, "abc", 3);
	assert_true(bytes.failed);
	bytes.failed = false;
	bytes_put_zeros(&bytes, 3);
	assert_true(bytes.failed);
	assert_int_equal(bytes.size, 0);
	no_memory = bytes.failed = false;
	bytes_put(&bytes, "abc", 3);
	assert_int_equal(bytes.size, 3);
	assert_int_equal(bytes.capacity, 6);
	/* The memory is enough for three more, and not for four. */
	no_memory = true;
	at = bytes_grow(&bytes, 3);
	assert_ptr_equal(at, bytes.data + 3);
	memcpy(at, "def", 3);
	assert_int_equal(bytes.size, 6);
	assert_null(bytes_grow(&bytes, 1));
	assert_true(bytes.failed);
	assert_int_equal(bytes.size, 6);
	assert_memory_equal(bytes.data, "abcdef", 6);
	no_memory = false;
	bytes_put_zeros(&bytes, 2);
	assert_int_equal(bytes.capacity, 16);
	assert_memory_equal(bytes.data, "abcdef\0\0", 8);
	free(bytes.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_process),
			cmocka_unit_test(test_many),
			cmocka_unit_test(test_notice),
			cmocka_unit_test(test_late),
			cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
