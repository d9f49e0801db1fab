/* SPDX-License-Identifier: MIT */
/*
 * How a program's events get to the kernel: the start with its refusals, the descriptor and its
 * number, requests that fail, and notices to recorders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"

/* ---- files of the kernel ---- */

static int open_error, second_error;
static const char *mounts_there; /* content of the file with mounts; NULL: none */
static unsigned int nr_opened;
static bool played_numbers; /* descriptors are numbers without files */
static int limits_error, moved_to;

static int played_open(const char *path, int flags)
{
	assert_int_equal(flags, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	called("%s;", path);
	errno = nr_opened++ ? second_error : open_error;
	if (!errno && played_numbers)
		return 0;
	return errno ? -1 : open("/dev/null", flags);
}

static int played_limit(int resource, struct rlimit *limit)
{
	if (!limits_error)
		return getrlimit(resource, limit);
	errno = limits_error;
	return -1;
}

static int played_move(int fd, int request, int least)
{
	assert_int_equal(request, F_DUPFD_CLOEXEC);
	if (!played_numbers)
		return fcntl(fd, request, least);
	called("move %d to %d;", fd, least);
	return moved_to;
}

static int played_close(int fd)
{
	if (!played_numbers)
		return close(fd);
	called("close %d;", fd);
	return 0;
}

static FILE *played_mounts(const char *path, const char *mode)
{
	assert_string_equal(path, "/proc/self/mounts");
	return mounts_there ? setmntent(mounts_there, mode) : NULL;
}

static int nr_requests, nr_remembered, request_error;
static unsigned long last_request;
static unsigned char last_asked[36];

static int played_ioctl(int fd, unsigned long request, void *asked)
{
	const uint32_t index = 4711;
	uint32_t size;

	assert_int_equal(fd, 5);
	assert_true(request && asked);
	memcpy(&size, asked, sizeof(size));
	assert_true(size <= sizeof(last_asked));
	memcpy(last_asked, asked, size);
	last_request = request;
	if (size == 28)
		memcpy((unsigned char *)asked + 24, &index, sizeof(index));
	nr_requests++;
	errno = request_error ? request_error : nr_requests > nr_remembered ? ENOENT : 0;
	return errno ? -1 : 0;
}

static int nr_pauses;

static long played_syscall(long number, const struct timespec *pause, void *remainder)
{
	assert_int_equal(number, SYS_nanosleep);
	assert_null(remainder);
	assert_int_equal(pause->tv_sec, 0);
	assert_int_equal(pause->tv_nsec, 1000000);
	nr_pauses++;
	return 0;
}

#define open played_open
#define setmntent played_mounts
#define ioctl(fd, request, asked) played_ioctl(fd, request, asked)
#define syscall(number, pause, remainder) played_syscall(number, pause, remainder)
#define getrlimit played_limit
#define fcntl played_move
#define close played_close
#include "tracers/user-events/tracefs.c"
#undef open
#undef getrlimit
#undef fcntl
#undef close
#undef setmntent
#undef ioctl
#undef syscall

/* ---- the start ---- */

static bool config_result, register_result, two_lines = true, debug;
static int descriptor_there;
static const char *variable;

static void begin(int fd, const struct kernel_config *config)
{
	called("begin %d %zu;", fd, config->nr_patterns);
}

static bool read_config(const char *text, const char *encoding, struct kernel_config *config,
		char *reason, size_t capacity)
{
	called("config %s %s;", text, encoding ? encoding : "-");
	*config = (struct kernel_config){
			.patterns = (struct pattern *)(uintptr_t)16, .nr_patterns = 3};
	assert_int_equal(capacity, 600);
	(void)snprintf(reason, capacity, "%s", two_lines ? "a reason\na hint" : "a reason");
	return config_result;
}

static int open_kernel(char *reason, size_t capacity)
{
	assert_int_equal(capacity, 600);
	(void)snprintf(reason, capacity, "no file");
	called("open;");
	return descriptor_there;
}

static const char *played_variable(const char *name)
{
	called("%s;", name);
	return variable;
}

static bool played_on(const char *name)
{
	assert_string_equal(name, "SIDE_DEBUG");
	return debug;
}

static void played_free(void *memory)
{
	assert_int_equal((uintptr_t)memory, 16);
	called("free;");
}

static int played_print(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int played_print(int fd, const char *format, ...)
{
	va_list arguments;
	char text[200];

	assert_int_equal(fd, STDERR_FILENO);
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("print %s;", text);
	return 0;
}

static void played_report(const char *sentence)
{
	called("say %s;", sentence);
}

static void played_come(struct side_event_description **events, uint32_t nr)
{
	assert_null(events);
	called("come %u;", nr);
}

static void played_go(struct side_event_description **events, uint32_t nr)
{
	assert_null(events);
	called("go %u;", nr);
}

#include <side/tracer-extensions.h>

static struct side_tracer_handle *played_register(
		void (*call)(enum side_tracer_notification what,
				struct side_event_description **events, uint32_t nr, void *user),
		void *user)
{
	assert_null(user);
	call(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, NULL, 7, NULL);
	call(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, NULL, 9, NULL);
	return register_result ? (struct side_tracer_handle *)(uintptr_t)1 : NULL;
}

static void played_bind(void)
{
	called("bind;");
}

static void played_hook(void *call)
{
	called("hook %d;", call == (void *)(uintptr_t)kernel_write);
}

static int played_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	called("fork %d;", !prepare && !parent && child == kernel_after_fork_in_child);
	return 0;
}

#define kernel_config_read read_config
#define kernel_open open_kernel
#define events_begin begin
#define events_add played_come
#define events_remove played_go
#define table_report played_report
#define environment_get played_variable
#define environment_is_on played_on
#define side_tracer_bind played_bind
#define side_kernel_hook played_hook
#define pthread_atfork played_atfork
#define free played_free
#define dprintf played_print
#define side_tracer_event_notification_register played_register
#include "tracers/user-events/start.c"
#undef kernel_config_read
#undef kernel_open
#undef events_begin
#undef events_add
#undef events_remove
#undef table_report
#undef environment_is_on
#undef pthread_atfork
#undef free
#undef dprintf

static void test_start(void **unused)
{
	(void)unused;
	variable = "native";
	assert_int_equal(side_kernel_begin("all"), SIDE_ERROR_INVAL);
	assert_called("bind;SIDE_USER_EVENTS_ENCODING;config all native;say a reason\na hint;free;");
	debug = true;
	assert_int_equal(side_kernel_begin("all"), SIDE_ERROR_INVAL);
	assert_called("bind;SIDE_USER_EVENTS_ENCODING;config all native;say a reason\na hint;"
		      "print side: cannot write events to the kernel: a reason\nhint: a hint\n;free;");
	two_lines = false;
	assert_int_equal(side_kernel_begin("all"), SIDE_ERROR_INVAL);
	assert_called("bind;SIDE_USER_EVENTS_ENCODING;config all native;say a reason;"
		      "print side: cannot write events to the kernel: a reason\n;free;");
	debug = false;
	config_result = true;
	descriptor_there = -ENOENT;
	variable = NULL;
	assert_int_equal(side_kernel_begin("all"), SIDE_ERROR_NOENT);
	assert_called("bind;SIDE_USER_EVENTS_ENCODING;config all -;open;say no file;free;");
	/* Zero is a valid descriptor. */
	descriptor_there = 0;
	assert_int_equal(side_kernel_begin("x"), SIDE_ERROR_NOMEM);
	assert_called("bind;SIDE_USER_EVENTS_ENCODING;config x -;open;begin 0 3;fork 1;hook 1;come 7;go 9;"
		      "say libside is out of memory, or the program is ending;");
	assert_int_equal(side_kernel_begin("x"), SIDE_ERROR_EXIST);
	assert_called("");
}

/* ---- the descriptor ---- */

static void check_open(int first, int second, const char *mounts, int result, const char *paths,
		const char *text)
{
	char reason[600] = "", path[] = "/tmp/side-begin-XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(write(fd, mounts ? mounts : "", mounts ? strlen(mounts) : 0),
			mounts ? strlen(mounts) : 0);
	close(fd);
	mounts_there = mounts ? path : NULL;
	open_error = first;
	second_error = second;
	nr_opened = 0;
	fd = kernel_open(reason, sizeof(reason));
	(void)unlink(path);
	if (fd >= 0)
		close(fd);
	assert_int_equal(fd < 0 ? fd : 0, result);
	assert_called(paths);
	assert_memory_equal(reason, text, strlen(text));
	if (!*text)
		assert_string_equal(reason, "");
}

static void test_open(void **unused)
{
	static const char first[] = "/sys/kernel/tracing/user_events_data;",
			  none[] = "the kernel has no user_events_data: ",
			  denied[] = "no permission to open user_events_data\n";

	(void)unused;
	check_open(0, 0, NULL, 0, first, "");
	check_open(EACCES, 0, "t /t tracefs rw 0 0\n", -EACCES, first, denied);
	check_open(EPERM, 0, "t /t tracefs rw 0 0\n", -EACCES, first, denied);
	check_open(ENOENT, 0, NULL, -ENOENT, first, none);
	check_open(ENOENT, 0, "p /p proc rw 0 0\n", -ENOENT, first, none);
	check_open(ENOENT, 0, "p /p proc rw 0 0\nt /t tracefs rw 0 0\nd /d debugfs rw 0 0\n", 0,
			"/sys/kernel/tracing/user_events_data;/t/user_events_data;", "");
	check_open(ENOENT, 0, "d /d debugfs rw 0 0\n", 0,
			"/sys/kernel/tracing/user_events_data;/d/tracing/user_events_data;", "");
	check_open(ENOENT, ENOENT, "t /t tracefs rw 0 0\nd /d debugfs rw 0 0\n", -ENOENT,
			"/sys/kernel/tracing/user_events_data;/t/user_events_data;/d/tracing/user_events_data;",
			none);
	check_open(ENOENT, EACCES, "t /t tracefs rw 0 0\n", -EACCES,
			"/sys/kernel/tracing/user_events_data;/t/user_events_data;", denied);
	check_open(ENOENT, EPERM, "t /t tracefs rw 0 0\n", -EACCES,
			"/sys/kernel/tracing/user_events_data;/t/user_events_data;", denied);
}

/* Zero is a valid descriptor, found at once or by a mount. */
static void test_moved(void **unused)
{
	char path[] = "/tmp/side-begin-XXXXXX", reason[600] = "";
	static const char mount[] = "t /t tracefs rw 0 0\nd /d debugfs rw 0 0\n";
	int fd = mkstemp(path);

	(void)unused;
	assert_int_equal(write(fd, mount, sizeof(mount) - 1), sizeof(mount) - 1);
	close(fd);
	mounts_there = path;
	played_numbers = true;
	limits_error = EPERM;
	moved_to = 100;
	open_error = second_error = 0;
	nr_opened = 0;
	assert_int_equal(kernel_open(reason, sizeof(reason)), 100);
	assert_called("/sys/kernel/tracing/user_events_data;move 0 to 100;close 0;");
	open_error = ENOENT;
	nr_opened = 0;
	assert_int_equal(kernel_open(reason, sizeof(reason)), 100);
	assert_called("/sys/kernel/tracing/user_events_data;/t/user_events_data;move 0 to 100;close 0;");
	/* The descriptor keeps its number if it cannot be moved. */
	moved_to = -1;
	nr_opened = 0;
	assert_int_equal(kernel_open(reason, sizeof(reason)), 0);
	assert_called("/sys/kernel/tracing/user_events_data;/t/user_events_data;move 0 to 100;");
	moved_to = 0;
	open_error = 0;
	nr_opened = 0;
	assert_int_equal(kernel_open(reason, sizeof(reason)), 0);
	assert_called("/sys/kernel/tracing/user_events_data;move 0 to 100;close 0;");
	assert_string_equal(reason, "");
	played_numbers = false;
	limits_error = 0;
	unlink(path);
}

/* The number is 4095, or the last one if the hard limit is lower; the limit is restored. */
static void test_number(void **unused)
{
	static const struct {
		rlim_t now, most;
		int number;
	} limits[] = {{300, 4096, 4095}, {300, 4095, 299}, {4095, 4096, 4095}, {4096, 4096, 4095}};
	struct rlimit limit;

	(void)unused;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < 4096)
		skip();
	/*
	 * Each row lowers the upper limit, which only root can raise again: each row runs in a
	 * process of its own.
	 */
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			const struct rlimit wanted = {limits[i].now, limits[i].most};
			struct rlimit after;
			int fd;

			(void)setrlimit(RLIMIT_NOFILE, &wanted);
			open_error = 0;
			nr_opened = 0;
			fd = kernel_open(calls, 1);
			(void)getrlimit(RLIMIT_NOFILE, &after);
			_exit(fd != limits[i].number                                        ? 1
							: after.rlim_cur != wanted.rlim_cur ? 2
							: fcntl(fd, F_GETFD) != FD_CLOEXEC  ? 3
											    : 0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

static void check_unregister(int error, int remembered, int result, int requests, int pauses)
{
	int word = 0;

	request_error = error;
	nr_remembered = remembered;
	nr_requests = nr_pauses = 0;
	assert_int_equal(kernel_unregister(5, &word), result);
	assert_int_equal(nr_requests, requests);
	assert_int_equal(nr_pauses, pauses);
	assert_int_equal(last_request, _IOW('*', 2, void *));
}

static void check_register(int error, bool multi)
{
	static const char description[] = "x u8 y";
	int32_t index = -7;
	uint64_t word, text;
	uint16_t flags;
	int enabled;

	request_error = error;
	nr_remembered = 100;
	nr_requests = 0;
	assert_int_equal(kernel_register(5, &enabled, description, multi, &index), -error);
	assert_int_equal(index, error ? -7 : 4711);
	assert_int_equal(last_request, _IOWR('*', 0, void *));
	assert_int_equal(last_asked[0], 28);
	assert_int_equal(last_asked[4], 8 * sizeof(void *) - 1);
	assert_int_equal(last_asked[5], sizeof(void *));
	memcpy(&flags, last_asked + 6, sizeof(flags));
	memcpy(&word, last_asked + 8, sizeof(word));
	memcpy(&text, last_asked + 16, sizeof(text));
	assert_int_equal(flags, multi ? 2 : 0);
	assert_ptr_equal((void *)(uintptr_t)word, &enabled);
	assert_ptr_equal((const char *)(uintptr_t)text, description);
}

static void test_register(void **unused)
{
	(void)unused;
	check_register(0, false);
	check_register(0, true);
	check_register(EBUSY, false);
}

static void test_unregister(void **unused)
{
	(void)unused;
	check_unregister(EBADF, 0, -EBADF, 1, 0);
	check_unregister(0, 1, 0, 2, 0);
	check_unregister(0, 3, 0, 4, 2);
	/* Five seconds at most. */
	check_unregister(0, 100000, 0, 5001, 5000);
	assert_string_equal(kernel_register_reason(-EADDRINUSE),
			"the kernel already has an event of this name with other fields, or uses this address for another event");
}

/* ---- recorders ---- */

static struct timespec clock_now;
static int64_t clock_step; /* nanoseconds between two reads of the clock */
static int next_socket;
static bool connects[16], answers[16];
static uid_t owners[16];

static int played_clock(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*now = clock_now;
	clock_now.tv_nsec += clock_step;
	clock_now.tv_sec += clock_now.tv_nsec / 1000000000;
	clock_now.tv_nsec %= 1000000000;
	return 0;
}

static int played_socket(int domain, int type, int protocol)
{
	assert_int_equal(domain, AF_UNIX);
	assert_int_equal(type, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_int_equal(protocol, 0);
	errno = EMFILE;
	/* The last one fails; zero is a valid descriptor. */
	return next_socket < 3 ? next_socket++ : -1;
}

static int played_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	const struct sockaddr_un *where = (const void *)address;

	assert_int_equal(size,
			offsetof(struct sockaddr_un, sun_path) + 1 + strlen(where->sun_path + 1));
	assert_int_equal(*where->sun_path, 0);
	called("connect %d %.*s;", fd, (int)(size - offsetof(struct sockaddr_un, sun_path)) - 1,
			where->sun_path + 1);
	errno = ECONNREFUSED;
	return connects[fd] ? 0 : -1;
}

static int played_option(int fd, int level, int option, struct ucred *peer, socklen_t *size)
{
	assert_int_equal(level, SOL_SOCKET);
	assert_int_equal(option, SO_PEERCRED);
	assert_int_equal(*size, sizeof(*peer));
	*peer = (struct ucred){.uid = owners[fd]};
	errno = EINVAL;
	return answers[fd] ? 0 : -1;
}

static int played_poll(struct pollfd *poll, nfds_t nr, int timeout)
{
	assert_int_equal(nr, 1);
	assert_int_equal(poll->events, POLLIN);
	called("wait %d %d;", poll->fd, timeout);
	errno = EINTR;
	return -1;
}

static int played_end(int fd)
{
	called("close %d;", fd);
	errno = EIO;
	return -1;
}

#define clock_gettime played_clock
#define socket played_socket
#define connect played_connect
#define getsockopt played_option
#define poll(poll, nr, timeout) played_poll(poll, nr, timeout)
#define close played_end
#include "tracers/user-events/notice.c"
#undef clock_gettime
#undef socket
#undef connect
#undef getsockopt
#undef poll
#undef close

static void test_timeout(void **unused)
{
	static const struct {
		const char *text;
		int ms;
	} rows[] = {{NULL, 100}, {"0", 100}, {"1", 100}, {"2", 200}, {"3600", 360000},
			{"3601", 360000}, {"-5", 100}, {"12", 1200}};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		variable = rows[i].text;
		assert_int_equal(user_events_notice_timeout_ms(), rows[i].ms);
		assert_called(variable ? "SIDE_TIMEOUT_FACTOR;"
				       : "SIDE_TIMEOUT_FACTOR;SIDE_PATIENCE;");
	}
	variable = NULL;
}

static void test_trust(void **unused)
{
	static const struct {
		bool answers;
		uid_t owner;
		bool is_trusted;
	} rows[] = {{true, 0, true}, {true, (uid_t)-3, false}, {false, 0, false}};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		answers[2] = rows[i].answers;
		owners[2] = rows[i].owner;
		assert_int_equal(user_events_notice_is_trusted(2), rows[i].is_trusted);
	}
	answers[2] = true;
	owners[2] = geteuid();
	assert_true(user_events_notice_is_trusted(2));
}

static void check_notify(int64_t step, const char *expected)
{
	next_socket = 0;
	clock_step = step;
	clock_now = (struct timespec){.tv_sec = 7, .tv_nsec = 950999999};
	*calls = '\0';
	errno = EDOM;
	notice_send();
	assert_int_equal(errno, EDOM);
	assert_called(expected);
}

static void test_notify(void **unused)
{
	static const char asks[] = "SIDE_TIMEOUT_FACTOR;SIDE_PATIENCE;";
	char expected[600];

	(void)unused;
	variable = NULL;
	assert_int_equal(KERNEL_NOTICE_MAX, 4);
	clock_now = (struct timespec){.tv_sec = 7, .tv_nsec = 950999999};
	clock_step = 0;
	assert_int_equal(clock_monotonic_ms(), 7950);
	/* A trusted recorder, a missing one, one of another user, and no descriptor. */
	connects[0] = true;
	connects[1] = false;
	connects[2] = true;
	answers[0] = answers[1] = answers[2] = true;
	owners[0] = owners[1] = 0;
	owners[2] = (uid_t)-3;
#define CONNECTS                                                             \
	"connect 0 side-user-events-0;connect 1 side-user-events-1;close 1;" \
	"connect 2 side-user-events-2;close 2;"
	(void)snprintf(expected, sizeof(expected), "%s" CONNECTS "wait 0 70;close 0;", asks);
	check_notify(30000000, expected);
	/* One millisecond is left, then no time. */
	(void)snprintf(expected, sizeof(expected), "%s" CONNECTS "wait 0 1;close 0;", asks);
	check_notify(99000000, expected);
	(void)snprintf(expected, sizeof(expected), "%s" CONNECTS "close 0;", asks);
	check_notify(100000000, expected);
	check_notify(130000000, expected);
	/* All recorders share the timeout: the second one gets the remainder of the first one. */
	owners[2] = 0;
	(void)snprintf(expected, sizeof(expected),
			"%sconnect 0 side-user-events-0;connect 1 side-user-events-1;close 1;"
			"connect 2 side-user-events-2;wait 0 80;close 0;wait 2 40;close 2;",
			asks);
	check_notify(20000000, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_open),
			cmocka_unit_test(test_moved),
			cmocka_unit_test(test_number),
			cmocka_unit_test(test_register),
			cmocka_unit_test(test_unregister),
			cmocka_unit_test(test_timeout),
			cmocka_unit_test(test_trust),
			cmocka_unit_test(test_notify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
