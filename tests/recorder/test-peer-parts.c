/* SPDX-License-Identifier: MIT */
/*
 * The process behind a connection, on kernels with and without SO_PEERPIDFD, and sessions that
 * cannot be allocated. The test plays calls.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "recorder/check.h"
#include "recorder/core/live.h"
#include "recorder/core/peer.h"
#include "recorder/recover.h"
#include "recorder/core/session.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int option_error, open_error, poll_result;
static const char *status_text; /* NULL: there is no such file */
static int opened = -1;

static int open_process(void)
{
	opened = memfd_create("process", MFD_CLOEXEC);
	return opened;
}

static int played_option(int socket, int level, int option, void *value, socklen_t *size)
{
	called("option %d %d;", socket, option == SO_PEERPIDFD);
	assert_int_equal(level, SOL_SOCKET);
	assert_int_equal(*size, sizeof(int));
	errno = option_error;
	if (option_error)
		return -1;
	*(int *)value = open_process();
	return 0;
}

static long played_syscall(long number, ...)
{
	va_list arguments;

	assert_int_equal(number, SYS_pidfd_open);
	va_start(arguments, number);
	called("open %d;", va_arg(arguments, pid_t));
	assert_int_equal(va_arg(arguments, int), 0);
	va_end(arguments);
	errno = open_error;
	return open_error ? -1 : open_process();
}

static FILE *played_fopen(const char *path, const char *mode)
{
	called("read %s;", path);
	assert_string_equal(mode, "re");
	return status_text ? fmemopen((void *)(uintptr_t)status_text, strlen(status_text), "r")
			   : NULL;
}

static int played_poll(struct pollfd *each, nfds_t nr, int timeout)
{
	assert_int_equal(each->fd, opened);
	assert_int_equal(each->events, POLLIN);
	assert_int_equal(nr, 1);
	assert_int_equal(timeout, 0);
	called("poll;");
	return poll_result;
}

#define getsockopt played_option
#define syscall(...) played_syscall(__VA_ARGS__)
#define fopen played_fopen
#define poll(each, nr, timeout) played_poll(each, nr, timeout)
#include "recorder/core/peer.c"
#undef getsockopt
#undef syscall
#undef fopen
#undef poll

/*
 * `expected`: 0 if there is a descriptor. It is the one that was opened, and no other remains open.
 */
static void check(pid_t pid, uid_t uid, int expected, const char *all)
{
	const struct ucred cred = {.pid = pid, .uid = uid, .gid = 9};
	unsigned int before = resources_descriptors();
	int fd = peer_open_process(33, &cred);

	assert_called(all);
	if (!expected) {
		assert_int_equal(fd, opened);
		assert_int_equal(close(fd), 0);
	} else {
		assert_int_equal(fd, expected);
	}
	assert_int_equal(resources_descriptors(), before);
}

/* Linux 6.5 and later. */
static void test_by_socket(void **unused)
{
	(void)unused;
	option_error = poll_result = 0;
	check(471, 1000, 0, "option 33 1;poll;");
	poll_result = 1;
	check(471, 1000, -ESRCH, "option 33 1;poll;");
	/* A failed poll() proves nothing. */
	poll_result = -1;
	check(471, 1000, 0, "option 33 1;poll;");
	poll_result = 0;
	option_error = EINVAL;
	check(471, 1000, -ESRCH, "option 33 1;");
	option_error = ESRCH;
	check(471, 1000, -ESRCH, "option 33 1;");
	option_error = EMFILE;
	check(471, 1000, -EMFILE, "option 33 1;");
}

#define BY_NUMBER "option 33 1;open 471;read /proc/471/status;"

static void test_by_number(void **unused)
{
	static const char *const owned[] = {"Name:\ta\nUid:\t1000\t2\t3\t4\nGid:\t5\n",
			"Name:\ta\nUid:\t1\t1000\t3\t4\n", "Name:\ta\nUid:\t1\t2\t1000\t4\n"};
	static const char *const others[] = {"Name:\ta\nUid:\t1\t2\t3\t1000\n",
			"Name:\ta\nUid:\t1000\t1000\n", "Name:\tUid: 1000 1000 1000\n",
			"Name:\ta\nGid:\t1000\t1000\t1000\n"};

	(void)unused;
	option_error = ENOPROTOOPT;
	open_error = poll_result = 0;
	for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++) {
		status_text = owned[i];
		check(471, 1000, 0, BY_NUMBER "poll;");
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		status_text = others[i];
		check(471, 1000, -ESRCH, BY_NUMBER);
	}
	status_text = NULL;
	check(471, 1000, -ESRCH, BY_NUMBER);
	/* Of root, which may have become another user. */
	check(471, 0, 0, "option 33 1;open 471;poll;");
	poll_result = 1;
	check(471, 0, -ESRCH, "option 33 1;open 471;poll;");
	poll_result = 0;
	check(1, 0, 0, "option 33 1;open 1;poll;");
	check(0, 0, -ESRCH, "option 33 1;");
	check(-1, 0, -ESRCH, "option 33 1;");
	open_error = EINVAL;
	check(471, 0, -ESRCH, "option 33 1;open 471;");
	open_error = ESRCH;
	check(471, 0, -ESRCH, "option 33 1;open 471;");
	open_error = ENFILE;
	check(471, 0, -ENFILE, "option 33 1;open 471;");
}

/* The longest text that is read: the line must end within it. */
static void test_long_status(void **unused)
{
	static char text[STATUS_SIZE + 64];
	size_t begin;

	(void)unused;
	option_error = ENOPROTOOPT;
	open_error = poll_result = 0;
	for (size_t cut = 0; cut < 2; cut++) {
		begin = STATUS_SIZE - 1 - strlen("\nUid:\t1\t2\t1000") + cut;
		memset(text, 'x', sizeof(text));
		strcpy(text + begin, "\nUid:\t1\t2\t1000\n");
		status_text = text;
		/* The last digit is missing: user 100. */
		check(471, 1000, cut ? -ESRCH : 0, cut ? BY_NUMBER : BY_NUMBER "poll;");
	}
}

/* ---- sessions ---- */

static int begin_each(unsigned int which, struct error *error)
{
	static struct session_options options;
	static struct session_recover_options recover;
	static struct session_live live;
	struct session *session = (struct session *)&options;
	int ret = 0;

	memset(error, 0x55, sizeof(*error));
	switch (which) {
	case 0: return session_check(&options, error);
	case 1: ret = session_create(&options, &session, error); break;
	case 2: ret = session_recover(&recover, &session, error); break;
	default: ret = session_open(&options, &live, &session, error); break;
	}
	assert_null(session);
	return ret;
}

static void test_allocation(void **unused)
{
	unsigned int before = resources_descriptors();
	struct error error;
	struct rlimit limit, none;

	(void)unused;
	for (unsigned int which = 0; which < 4; which++) {
		for (unsigned int number = 1; number <= 2; number++) {
			failing_arm(number);
			assert_true(begin_each(which, &error) < 0);
			assert_true(failing_has_failed());
			assert_int_equal(error.kind, ERROR_FAILED);
			assert_int_equal(error.code, -ENOMEM);
			assert_string_equal(error.text, "out of memory");
		}
		getrlimit(RLIMIT_NOFILE, &limit);
		none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
		setrlimit(RLIMIT_NOFILE, &none);
		assert_true(begin_each(which, &error) < 0);
		setrlimit(RLIMIT_NOFILE, &limit);
		assert_int_equal(error.kind, ERROR_FAILED);
		assert_int_equal(error.code, -EMFILE);
		assert_string_equal(error.text, "Too many open files");
		assert_int_equal(resources_descriptors(), before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_socket),
			cmocka_unit_test(test_by_number), cmocka_unit_test(test_long_status),
			cmocka_unit_test(test_allocation)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
