/* SPDX-License-Identifier: MIT */
/*
 * System calls of connections, of the runtime directory and of checks of contexts: the test answers
 * each call from a list, and compares each call with its arguments. Time passes only if the test
 * lets it pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "base/environment/environment.h"

/* ---- the simulated kernel ---- */

static uint64_t now_ns;  /* of the clock */
static uint64_t poll_ns; /* passes in each ppoll() */
static long answers[16]; /* results of the next calls, without those that close or unmap */
static unsigned int nr_answers, nr_answered;
static char calls[4096]; /* all calls in order */
static uint32_t user_id;
static unsigned int mode, owner;       /* of each path */
static const char *runtime, *of_login; /* variables of the environment */
static struct perf_event_mmap_page counter_page;
static struct msghdr sent; /* with the bytes and the descriptors of the message */
static unsigned char sent_control[64];
static char sent_bytes[16];
static void (*on_receive)(struct msghdr *header);

static void expect(unsigned int count, ...)
{
	va_list results;

	va_start(results, count);
	for (unsigned int i = 0; i < count; i++)
		answers[i] = va_arg(results, int);
	va_end(results);
	nr_answers = count;
	nr_answered = 0;
	*calls = '\0';
}

static __attribute__((format(printf, 1, 2))) void add_call(const char *format, ...)
{
	size_t used = strlen(calls);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(calls + used, sizeof(calls) - used, format, arguments);
	va_end(arguments);
}

static void assert_calls(const char *expected)
{
	assert_string_equal(calls, expected);
	assert_int_equal(nr_answered, nr_answers);
}

static void poll_call(const long *arguments)
{
	const struct pollfd *poll = (const void *)arguments[0];
	const long *left = (const void *)arguments[2];

	add_call("poll(%d,%#x,%ld,%ld.%09ld,%ld,%ld) ", poll->fd, (unsigned int)poll->events,
			arguments[1], left[0], left[1], arguments[3], arguments[4]);
	assert_int_equal(poll->revents, 0);
	now_ns += poll_ns;
}

static void send_call(const long *arguments)
{
	const struct msghdr *header = (const void *)arguments[1];

	add_call("send(%ld,%zu,%#lx) ", arguments[0], header->msg_iov->iov_len,
			(unsigned long)arguments[2]);
	assert_int_equal(header->msg_iovlen, 1);
	assert_null(header->msg_name);
	sent = *header;
	memcpy(sent_bytes, header->msg_iov->iov_base, header->msg_iov->iov_len);
	memcpy(sent_control, header->msg_control ? header->msg_control : "",
			header->msg_controllen);
}

static void receive_call(const long *arguments, long result)
{
	struct msghdr *header = (void *)arguments[1];

	add_call("receive(%ld,%zu,%#lx) ", arguments[0], header->msg_iov->iov_len,
			(unsigned long)arguments[2]);
	assert_int_equal(header->msg_iovlen, 1);
	assert_int_equal(header->msg_flags, 0);
	assert_int_equal(header->msg_controllen, CMSG_SPACE(4 * sizeof(int)));
	if (result < 0)
		header->msg_controllen = header->msg_flags = 99;
	else if (on_receive)
		on_receive(header);
	else
		header->msg_controllen = 0;
}

static void status_call(const long *arguments)
{
	struct statx *status = (void *)arguments[4];

	add_call("statx(%ld,%s,%#lx,%#lx) ", arguments[0], (const char *)arguments[1],
			(unsigned long)arguments[2], (unsigned long)arguments[3]);
	*status = (struct statx){.stx_mode = (uint16_t)mode, .stx_uid = owner};
}

static void perf_call(const long *arguments)
{
	const struct perf_event_attr *attributes = (const void *)arguments[0];

	add_call("perf(%u,%#llx,%d%d%d,%ld,%ld,%ld,%#lx) ", attributes->type,
			(unsigned long long)attributes->config, attributes->exclude_kernel,
			attributes->exclude_hv, attributes->exclude_user, arguments[1],
			arguments[2], arguments[3], (unsigned long)arguments[4]);
	assert_int_equal(attributes->size, sizeof(*attributes));
}

static long answer(void)
{
	assert_true(nr_answered < nr_answers);
	return answers[nr_answered++];
}

static long test_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	const long arguments[] = {a, b, c, d, e, f};
	long result;

	if (number == SYS_close) {
		add_call("close(%ld) ", a);
		return 0;
	}
	if (number == SYS_munmap) {
		add_call("munmap(%d,%ld) ", a == (long)&counter_page, b);
		return 0;
	}
	if (number == SYS_geteuid)
		return user_id;
	result = answer();
	if (number == SYS_mmap) {
		add_call("mmap(%ld,%ld,%#lx,%#lx,%ld,%ld) ", a, b, (unsigned long)c,
				(unsigned long)d, e, f);
		result = result ? result : (long)&counter_page;
	} else if (number == SYS_ppoll) {
		poll_call(arguments);
	} else if (number == SYS_sendmsg) {
		send_call(arguments);
	} else if (number == SYS_recvmsg) {
		receive_call(arguments, result);
	} else if (number == SYS_socket) {
		add_call("socket(%ld,%#lx,%ld) ", a, (unsigned long)b, c);
	} else if (number == SYS_connect) {
		const struct sockaddr_un *address = (const void *)b;

		add_call("connect(%ld,%d,%s%s,%ld) ", a, address->sun_family,
				*address->sun_path ? "" : "@",
				address->sun_path + !*address->sun_path, c);
	} else if (number == SYS_statx) {
		status_call(arguments);
	} else {
		assert_int_equal(number, SYS_perf_event_open);
		perf_call(arguments);
	}
	errno = result < 0 ? (int)-result : 4712;
	return result < 0 && result > -4096 ? -1 : result;
}

static int test_clock(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*now = (struct timespec){.tv_sec = (time_t)(now_ns / 1000000000),
			.tv_nsec = (long)(now_ns % 1000000000)};
	return 0;
}

static int test_stat(const char *path, struct stat *status)
{
	(void)status;
	add_call("stat(%s) ", path);
	errno = ENOENT;
	return (int)answer();
}

static int test_access(const char *path, int kind)
{
	add_call("access(%s,%d) ", path, kind);
	errno = ENOENT;
	return (int)answer();
}

static int test_munmap(const void *at, size_t size)
{
	add_call("unmapped(%d,%zu) ", at == &counter_page, size);
	return 0;
}

static const char *test_environment(const char *name)
{
	return !strcmp(name, "SIDE_RUNTIME")               ? runtime
			: !strcmp(name, "XDG_RUNTIME_DIR") ? of_login
							   : NULL;
}

#define PADDED(number, a, b, c, d, e, f, ...) \
	test_syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define syscall(...) PADDED(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define clock_gettime(clock, now) test_clock(clock, now)
#define stat(path, status) test_stat(path, status)
#define access(path, kind) test_access(path, kind)
#define munmap(at, size) test_munmap(at, size)
#define sysconf(name) ((name) == _SC_PAGESIZE ? page_bytes : -1)
#define environment_get(name) test_environment(name)
static long page_bytes = 16384;
#include "protocol/socket.c"        /* NOLINT(bugprone-suspicious-include): replaces system calls */
#include "protocol/runtime.c"       /* NOLINT(bugprone-suspicious-include) */
#include "protocol/context-check.c" /* NOLINT(bugprone-suspicious-include) */

/* ---- connections ---- */

static void deadlines(void **state)
{
	(void)state;
	now_ns = 5000000007;
	assert_int_equal(wire_deadline(0), 5000000007);
	assert_int_equal(wire_deadline(3), 5003000007);
	assert_int_equal(wire_deadline(UINT32_MAX), 5000000007 + 4294967295000000);
}

static void waiting(void **state)
{
	(void)state;
	now_ns = 1000;
	poll_ns = 0;
	/* Without waiting, whatever the deadline is. */
	expect(1, 1);
	assert_int_equal(wire_wait(7, 0), 0);
	assert_calls("poll(7,0x1,1,0.000000000,0,0) ");
	expect(1, -EBADF);
	assert_int_equal(wire_wait(7, 0), -EBADF);
	assert_calls("poll(7,0x1,1,0.000000000,0,0) ");
	/* The deadline is now, and one nanosecond later. */
	expect(1, 0);
	assert_int_equal(wire_wait(7, 1000), -ETIMEDOUT);
	assert_calls("poll(7,0x1,1,0.000000000,0,0) ");
	expect(2, -EINTR, 1);
	assert_int_equal(wire_wait(7, 1001), 0);
	assert_calls("poll(7,0x1,1,0.000000000,0,0) poll(7,0x1,1,0.000000001,0,0) ");
	/* Interrupted, too early, and at last an error: the timeout is the remainder. */
	poll_ns = 500000000;
	now_ns = 1;
	expect(4, 0, -EINTR, 0, -ENOMEM);
	assert_int_equal(wire_wait(7, 3000000002), -ENOMEM);
	assert_calls("poll(7,0x1,1,0.000000000,0,0) poll(7,0x1,1,2.500000001,0,0) poll(7,0x1,1,2.000000001,0,0) "
		     "poll(7,0x1,1,1.500000001,0,0) ");
	poll_ns = 0;
}

static void closing(void **state)
{
	(void)state;
	expect(0);
	wire_close(-1);
	wire_close(0);
	wire_close(5);
	assert_calls("close(0) close(5) ");
}

static void names_of_sockets(void **state)
{
	struct sockaddr_un address = {.sun_path = "/path"};

	(void)state;
	assert_int_equal(wire_socket_name(&address), sizeof(address));
	assert_string_equal(address.sun_path, "/path");
	strcpy(address.sun_path, "@name");
	assert_int_equal(wire_socket_name(&address), 2 + 5);
	assert_memory_equal(address.sun_path, "\0name", 6);
	memset(address.sun_path, 'n', sizeof(address.sun_path));
	address.sun_path[0] = '@';
	assert_int_equal(wire_socket_name(&address), 2 + 108);
}

#define SOCKET "socket(1,0x80805,0) "

static void connecting(void **state)
{
	char path[120];

	(void)state;
	now_ns = 1000;
	expect(2, 9, 0);
	assert_int_equal(wire_connect("/a", 0), 9);
	assert_calls(SOCKET "connect(9,1,/a,110) ");
	expect(2, 9, 0);
	assert_int_equal(wire_connect("@a", 0), 9);
	assert_calls(SOCKET "connect(9,1,@a,4) ");
	expect(2, 0, 0);
	assert_int_equal(wire_connect("/a", 0), 0);
	assert_calls(SOCKET "connect(0,1,/a,110) ");
	expect(1, -EMFILE);
	assert_int_equal(wire_connect("/a", 0), -EMFILE);
	assert_calls(SOCKET);
	expect(2, 9, -ECONNREFUSED);
	assert_int_equal(wire_connect("/a", 0), -ECONNREFUSED);
	assert_calls(SOCKET "connect(9,1,/a,110) close(9) ");
	/* 107 bytes, and no more. */
	memset(path, 'p', sizeof(path));
	path[108] = '\0';
	expect(0);
	assert_int_equal(wire_connect(path, 0), -ENAMETOOLONG);
	path[107] = '\0';
	expect(2, 9, 0);
	assert_int_equal(wire_connect(path, 0), 9);
	expect(0);
	assert_int_equal(wire_connect("", 0), -ENAMETOOLONG);
	/* A full queue: again after two milliseconds, if the deadline is not earlier. */
	poll_ns = 2000000;
	expect(6, 9, -EAGAIN, 0, -EINTR, 0, 0);
	assert_int_equal(wire_connect("/a", 1000 + 4000000), 9);
	assert_calls(SOCKET
			"connect(9,1,/a,110) poll(-1,0,0,0.002000000,0,0) connect(9,1,/a,110) poll(-1,0,0,0.002000000,0,0) "
			"connect(9,1,/a,110) ");
	now_ns = 1000;
	expect(2, 9, -EAGAIN);
	assert_int_equal(wire_connect("/a", 1000 + 1999999), -ETIMEDOUT);
	assert_calls(SOCKET "connect(9,1,/a,110) close(9) ");
	poll_ns = 0;
}

static void sending(void **state)
{
	const int fds[] = {11, 12, 13, 14, 15};
	const struct cmsghdr *cmsg = (const void *)sent_control;

	(void)state;
	now_ns = 1000;
	expect(1, 5);
	assert_int_equal(wire_send(3, "hello", 5, NULL, 0, 0), 0);
	assert_calls("send(3,5,0x4040) ");
	assert_memory_equal(sent_bytes, "hello", 5);
	assert_null(sent.msg_control);
	assert_int_equal(sent.msg_controllen, 0);
	/* Four descriptors, and no more. */
	for (unsigned int count = 1; count <= 4; count++) {
		expect(1, 5);
		assert_int_equal(wire_send(3, "hello", 5, fds, count, 0), 0);
		assert_int_equal(sent.msg_controllen, CMSG_SPACE(count * sizeof(int)));
		assert_int_equal(cmsg->cmsg_level, SOL_SOCKET);
		assert_int_equal(cmsg->cmsg_type, SCM_RIGHTS);
		assert_int_equal(cmsg->cmsg_len, CMSG_LEN(count * sizeof(int)));
		assert_memory_equal(CMSG_DATA(cmsg), fds, count * sizeof(int));
	}
	expect(0);
	assert_int_equal(wire_send(3, "hello", 5, fds, 5, 0), -EINVAL);
	assert_calls("");
	expect(1, 4);
	assert_int_equal(wire_send(3, "hello", 5, NULL, 0, 0), -EPROTO);
	expect(1, 0);
	assert_int_equal(wire_send(3, "", 0, NULL, 0, 0), 0);
	expect(1, 0);
	assert_int_equal(wire_send(3, "hello", 5, NULL, 0, 0), -EPROTO);
	/*
	 * Interrupted: again. A full socket: an error without a deadline, or again when it can
	 * accept a message.
	 */
	expect(2, -EINTR, -EPIPE);
	assert_int_equal(wire_send(3, "hello", 5, NULL, 0, 2000), -EPIPE);
	expect(1, -EAGAIN);
	assert_int_equal(wire_send(3, "hello", 5, NULL, 0, 0), -EAGAIN);
	expect(3, -EAGAIN, 1, 5);
	assert_int_equal(wire_send(3, "hello", 5, NULL, 0, 3000), 0);
	assert_calls("send(3,5,0x4040) poll(3,0x4,1,0.000002000,0,0) send(3,5,0x4040) ");
	expect(2, -EAGAIN, -EBADF);
	assert_int_equal(wire_send(3, "hello", 5, NULL, 0, 3000), -EBADF);
	expect(1, -EAGAIN);
	assert_int_equal(wire_send(3, "hello", 5, NULL, 0, 1000), -ETIMEDOUT);
}

/* The control data of the next message. */
static unsigned int received_fds, received_flags;
static int received_level, received_type;

static void receive(struct msghdr *header)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(header);

	header->msg_flags = (int)received_flags;
	cmsg->cmsg_level = received_level;
	cmsg->cmsg_type = received_type;
	cmsg->cmsg_len = CMSG_LEN(received_fds * sizeof(int));
	header->msg_controllen = CMSG_SPACE(received_fds * sizeof(int));
	for (unsigned int i = 0; i < received_fds; i++) {
		int fd = (int)(21 + i);

		memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd, sizeof(fd));
	}
}

#define RECEIVED "receive(3,8,0x40000040) "

static void assert_received(unsigned int fds, size_t space, ssize_t result, const char *expected)
{
	int got[5] = {-7, -7, -7, -7, -7};
	size_t count = space;

	received_fds = fds;
	expect(1, 6);
	assert_int_equal(wire_receive(3, sent_bytes, 8, got, &count, 0), result);
	assert_int_equal(count, result < 0 ? 0 : fds);
	assert_calls(expected);
	for (unsigned int i = 0; i < 5; i++)
		if (i >= space)
			assert_int_equal(got[i], -7);
		else if (result >= 0 && i < fds)
			assert_int_equal(got[i], 21 + i);
}

static void receiving(void **state)
{
	size_t count = 2;
	int got[2];

	(void)state;
	now_ns = 1000;
	on_receive = NULL;
	expect(1, 6);
	assert_int_equal(wire_receive(3, sent_bytes, 8, got, &count, 0), 6);
	assert_calls(RECEIVED);
	assert_int_equal(count, 0);
	expect(1, 0);
	assert_int_equal(wire_receive(3, sent_bytes, 8, NULL, NULL, 0), 0);
	expect(2, -EINTR, -ECONNRESET);
	assert_int_equal(wire_receive(3, sent_bytes, 8, NULL, NULL, 2000), -ECONNRESET);
	expect(1, -EAGAIN);
	assert_int_equal(wire_receive(3, sent_bytes, 8, NULL, NULL, 0), -EAGAIN);
	expect(3, -EAGAIN, 1, 6);
	assert_int_equal(wire_receive(3, sent_bytes, 8, NULL, NULL, 3000), 6);
	assert_calls(RECEIVED "poll(3,0x1,1,0.000002000,0,0) " RECEIVED);
	expect(2, -EAGAIN, -EBADF);
	assert_int_equal(wire_receive(3, sent_bytes, 8, NULL, NULL, 3000), -EBADF);
	/* Descriptors: as many as fit, or none; unwanted ones are closed. */
	on_receive = receive;
	received_level = SOL_SOCKET;
	received_type = SCM_RIGHTS;
	received_flags = MSG_CMSG_CLOEXEC;
	assert_received(2, 2, 6, RECEIVED);
	assert_received(1, 4, 6, RECEIVED);
	assert_received(4, 4, 6, RECEIVED);
	assert_received(3, 2, -EPROTO, RECEIVED "close(23) close(22) close(21) ");
	assert_received(1, 0, -EPROTO, RECEIVED "close(21) ");
	expect(1, 6);
	assert_int_equal(wire_receive(3, sent_bytes, 8, NULL, NULL, 0), -EPROTO);
	assert_calls(RECEIVED "close(21) ");
	/* Descriptors of a message without bytes are closed, too. */
	expect(1, 0);
	assert_int_equal(wire_receive(3, sent_bytes, 8, NULL, NULL, 0), -EPROTO);
	assert_calls(RECEIVED "close(21) ");
	/* A truncated message, and one without all of its descriptors. */
	received_flags = MSG_TRUNC;
	assert_received(2, 2, -EPROTO, RECEIVED "close(22) close(21) ");
	received_flags = MSG_CTRUNC;
	assert_received(1, 2, -EPROTO, RECEIVED "close(21) ");
	/* No descriptors. */
	received_flags = 0;
	received_type = SCM_RIGHTS + 1;
	count = 2;
	expect(1, 6);
	assert_int_equal(wire_receive(3, sent_bytes, 8, got, &count, 0), 6);
	assert_int_equal(count, 0);
	received_type = SCM_RIGHTS;
	received_level = SOL_SOCKET + 1;
	expect(1, 6);
	assert_int_equal(wire_receive(3, sent_bytes, 8, got, &count, 0), 6);
	assert_int_equal(count, 0);
	on_receive = NULL;
}

/* ---- the runtime directory ---- */

#define STATUS(path) "statx(-100," path ",0x100,0xb) "

static char path[128];

static void directories_of_users(void **state)
{
	(void)state;
	runtime = NULL;
	of_login = "/login";
	user_id = 0;
	expect(0);
	assert_int_equal(wire_runtime_directory(path, sizeof(path), false), 0);
	assert_string_equal(path, "/run/side");
	assert_int_equal(wire_runtime_own(path, sizeof(path)), 0);
	assert_string_equal(path, "/run/side");
	user_id = 4294967290;
	assert_int_equal(wire_runtime_directory(path, sizeof(path), true), 0);
	assert_string_equal(path, "/run/side");
	assert_int_equal(wire_runtime_directory(path, sizeof(path), false), 0);
	assert_string_equal(path, "/login/side");
	assert_calls("");
	/*
	 * Without a variable, with an empty one and with a relative one: the directory of the
	 * login.
	 */
	for (unsigned int i = 0; i < 3; i++) {
		static const char *const variables[] = {NULL, "", "relative"};

		of_login = runtime = variables[i];
		if (i == 2)
			runtime = "";
		errno = 4711;
		expect(1, 0);
		assert_int_equal(wire_runtime_directory(path, sizeof(path), false), 0);
		assert_string_equal(path, "/run/user/4294967290/side");
		assert_calls(STATUS("/run/user/4294967290"));
		assert_int_equal(errno, 4711);
	}
	expect(1, -ENOENT);
	assert_int_equal(wire_runtime_directory(path, sizeof(path), false), 0);
	assert_string_equal(path, "/tmp/side-4294967290");
	/* The user's own directory, whatever SIDE_RUNTIME is. */
	runtime = "/other";
	user_id = 10;
	expect(1, -ENOENT);
	assert_int_equal(wire_runtime_own(path, sizeof(path)), 0);
	assert_string_equal(path, "/tmp/side-10");
	assert_int_equal(errno, 4711);
	assert_int_equal(wire_runtime_own(path, 0), -ENAMETOOLONG);
	assert_int_equal(wire_runtime_directory(path, 0, false), -ENAMETOOLONG);
	assert_string_equal(path, "/tmp/side-10");
	assert_int_equal(wire_runtime_directory(path, sizeof(path), true), -ENOENT);
	assert_string_equal(path, "");
	runtime = "relative";
	assert_int_equal(wire_runtime_directory(path, sizeof(path), false), -EINVAL);
}

static void capacities_of_paths(void **state)
{
	(void)state;
	runtime = NULL;
	user_id = 10;
	of_login = "/login";
	/* One byte for the NUL. */
	strcpy(path, "untouched");
	assert_int_equal(wire_runtime_own(path, 6), -ENAMETOOLONG);
	assert_string_equal(path, "");
	assert_int_equal(path[1], 'n');
	assert_int_equal(wire_runtime_own(path, 11), -ENAMETOOLONG);
	assert_int_equal(wire_runtime_own(path, 12), 0);
	assert_string_equal(path, "/login/side");
	assert_int_equal(wire_runtime_path(path, 16, false, "abcd"), -ENAMETOOLONG);
	assert_int_equal(wire_runtime_path(path, 17, false, "abcd"), 0);
	assert_string_equal(path, "/login/side/abcd");
	/* A part that does not fit: no later part is put at its position. */
	runtime = "/long/directory";
	assert_int_equal(wire_runtime_path(path, 16, false, "x"), -ENAMETOOLONG);
	assert_int_equal(wire_runtime_path(path, 15, false, "x"), -ENAMETOOLONG);
	runtime = NULL;
	/* The directory of the login does not fit, either: the kernel is not called. */
	of_login = NULL;
	expect(0);
	assert_int_equal(wire_runtime_own(path, 12), -ENAMETOOLONG);
	assert_calls("");
	expect(1, 0);
	assert_int_equal(wire_runtime_own(path, 13), -ENAMETOOLONG);
	expect(1, -ENOENT);
	assert_int_equal(wire_runtime_own(path, 13), 0);
	assert_string_equal(path, "/tmp/side-10");
}

static int check_of(unsigned int type_and_mode, unsigned int of)
{
	int ret;

	mode = type_and_mode;
	owner = of;
	errno = 4711;
	expect(1, 0);
	ret = wire_runtime_check("/dir");
	assert_calls(STATUS("/dir"));
	assert_int_equal(errno, 4711);
	return ret;
}

static void trusted_directories(void **state)
{
	(void)state;
	user_id = 10;
	assert_int_equal(check_of(S_IFDIR | 0755, 10), 0);
	assert_int_equal(check_of(S_IFDIR | 0755, 0), 0);
	assert_int_equal(check_of(S_IFDIR | 0755, 11), -EPERM);
	assert_int_equal(check_of(S_IFDIR | 0775, 10), -EPERM);
	assert_int_equal(check_of(S_IFDIR | 0757, 10), -EPERM);
	assert_int_equal(check_of(S_IFREG | 0700, 10), -ENOTDIR);
	expect(1, -EACCES);
	assert_int_equal(wire_runtime_check("/dir"), -EACCES);
}

/* ---- contexts ---- */

static const struct context_spec cycles = {.kind = CONTEXT_PERF,
		.name = "perf:thread:cycles",
		.perf_type = PERF_TYPE_RAW,
		.perf_config = 0x1c2};

static void mapped_counters(void **state)
{
	static const char opened[] = "perf(4,0x1c2,110,0,-1,-1,0x8) ";
	char expected[200];
	int error = 1;

	(void)state;
	counter_page.cap_user_rdpmc = 1;
	expect(2, 5, 0);
	assert_ptr_equal(context_perf_map(PERF_TYPE_RAW, 0x1c2, &error), &counter_page);
	assert_int_equal(error, 0);
	snprintf(expected, sizeof(expected), "%smmap(0,16384,0x1,0x1,5,0) close(5) ", opened);
	assert_calls(expected);
	expect(2, 5, -ENOMEM);
	assert_null(context_perf_map(PERF_TYPE_RAW, 0x1c2, &error));
	assert_int_equal(error, -EPERM);
	assert_calls(expected);
	counter_page.cap_user_rdpmc = 0;
	page_bytes = -1; /* unknown */
	expect(2, 0, 0);
	assert_null(context_perf_map(PERF_TYPE_RAW, 0x1c2, &error));
	assert_int_equal(error, -EOPNOTSUPP);
	snprintf(expected, sizeof(expected), "%smmap(0,4096,0x1,0x1,0,0) close(0) munmap(1,4096) ",
			opened);
	assert_calls(expected);
	page_bytes = 16384;
	expect(1, -EBUSY);
	assert_null(context_perf_map(PERF_TYPE_RAW, 0x1c2, &error));
	assert_int_equal(error, -EBUSY);
	assert_calls(opened);
}

static void assert_refused(const struct context_spec *spec, const char *text, const char *hint)
{
	struct context_error error = {.column = 7};

	assert_false(context_check(spec, &error));
	assert_int_equal(error.column, 0);
	assert_string_equal(error.text, text);
	assert_string_equal(error.hint, hint);
}

static void missing_counters(void **state)
{
	static const struct {
		int codes[4];
		const char *text, *hint;
	} rows[] = {{{ENOENT, ENODEV, EINVAL, ENXIO},
				    "perf:thread:cycles cannot be recorded: this machine has no such counter (virtual machines often have none)",
				    "page-faults, context-switches and task-clock are counted by the kernel"},
			{{EACCES, EPERM, EACCES, EPERM},
					"perf:thread:cycles cannot be recorded: the kernel does not allow it",
					"sysctl kernel.perf_event_paranoid=2 (and a higher kernel.perf_event_mlock_kb, if many threads count)"},
			{{ENOSYS, ENOSYS, ENOSYS, ENOSYS},
					"perf:thread:cycles cannot be recorded: this kernel has no performance counters",
					""},
			{{EMFILE, EMFILE, EMFILE, EMFILE},
					"perf:thread:cycles cannot be recorded: Too many open files",
					""}};
	struct context_error error;
	struct context_spec software = cycles;

	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		expect(1, -rows[i / 4].codes[i % 4]);
		assert_refused(&cycles, rows[i / 4].text, rows[i / 4].hint);
	}
	counter_page.cap_user_rdpmc = 0;
	expect(2, 5, 0);
	assert_refused(&cycles,
			"perf:thread:cycles cannot be recorded: programs are not permitted to read it themselves here",
			"echo 1 > /sys/bus/event_source/devices/cpu/rdpmc");
	counter_page.cap_user_rdpmc = 1;
	expect(2, 5, 0);
	assert_true(context_check(&cycles, &error));
	assert_calls("perf(4,0x1c2,110,0,-1,-1,0x8) mmap(0,16384,0x1,0x1,5,0) close(5) unmapped(1,16384) ");
	/* A counter of the kernel is not opened. */
	software.perf_type = PERF_TYPE_SOFTWARE;
	expect(0);
	assert_true(context_check(&software, &error));
}

static void missing_files(void **state)
{
	struct context_spec spec = {.kind = CONTEXT_CGROUP_NS, .name = "cgroup_ns"};
	struct context_error error;

	(void)state;
	expect(1, 0);
	assert_true(context_check(&spec, &error));
	assert_calls("stat(/proc/self/ns/cgroup) ");
	expect(1, -1);
	assert_refused(&spec,
			"cgroup_ns cannot be recorded: /proc/self/ns/cgroup: No such file or directory (this kernel has no such namespaces, or /proc is not mounted)",
			"");
	spec = (struct context_spec){.kind = CONTEXT_UTS_NS, .name = "uts_ns"};
	expect(1, 0);
	assert_true(context_check(&spec, &error));
	assert_calls("stat(/proc/self/ns/uts) ");
	spec = (struct context_spec){.kind = CONTEXT_SGID, .name = "sgid"};
	expect(0);
	assert_true(context_check(&spec, &error));
	spec = (struct context_spec){.kind = CONTEXT_CGROUP, .name = "cgroup"};
	expect(1, 0);
	assert_true(context_check(&spec, &error));
	assert_calls("access(/proc/self/cgroup,4) ");
	expect(1, -1);
	assert_refused(&spec,
			"cgroup cannot be recorded: /proc/self/cgroup: No such file or directory (this kernel has no control groups, or /proc is not mounted)",
			"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(deadlines),
			cmocka_unit_test(waiting),
			cmocka_unit_test(closing),
			cmocka_unit_test(names_of_sockets),
			cmocka_unit_test(connecting),
			cmocka_unit_test(sending),
			cmocka_unit_test(receiving),
			cmocka_unit_test(directories_of_users),
			cmocka_unit_test(capacities_of_paths),
			cmocka_unit_test(trusted_directories),
			cmocka_unit_test(mapped_counters),
			cmocka_unit_test(missing_counters),
			cmocka_unit_test(missing_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
