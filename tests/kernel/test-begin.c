/* SPDX-License-Identifier: MIT */
/*
 * How a program's events come to the kernel: the start with its refusals, the descriptor and its number, requests that fail, and recorders
 * that are told.
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

static char calls[2048];

static void called(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void called(const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(calls);

	va_start(arguments, format);
	(void)vsnprintf(calls + used, sizeof(calls) - used, format, arguments);
	va_end(arguments);
}

static void assert_called(const char *text)
{
	assert_string_equal(calls, text);
	*calls = '\0';
}

/* ---- files of the kernel ---- */

static int open_error, second_error;
static const char *mounts_there; /* file with mounts; NULL: none */
static unsigned int nr_opened;

static int played_open(const char *path, int flags)
{
	assert_int_equal(flags, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	called("%s;", path);
	errno = nr_opened++ ? second_error : open_error;
	return errno ? -1 : open("/dev/null", flags);
}

static FILE *played_mounts(const char *path, const char *mode)
{
	assert_string_equal(path, "/proc/self/mounts");
	return mounts_there ? setmntent(mounts_there, mode) : NULL;
}

static int nr_requests, nr_remembered, request_error;

static int played_ioctl(int fd, unsigned long request, void *asked)
{
	assert_int_equal(fd, 5);
	assert_true(request && asked);
	nr_requests++;
	errno = request_error ? request_error : nr_requests > nr_remembered ? ENOENT : 0;
	return errno ? -1 : 0;
}

static int nr_pauses;

static long played_syscall(long number, const struct timespec *pause, void *rest)
{
	assert_int_equal(number, SYS_nanosleep);
	assert_null(rest);
	assert_int_equal(pause->tv_sec, 0);
	assert_int_equal(pause->tv_nsec, 1000000);
	nr_pauses++;
	return 0;
}

#define open played_open
#define setmntent played_mounts
#define ioctl(fd, request, asked) played_ioctl(fd, request, asked)
#define syscall(number, pause, rest) played_syscall(number, pause, rest)
#include "kernel/tracefs.c"
#undef open
#undef setmntent
#undef ioctl
#undef syscall

/* ---- the start ---- */

static bool config_result, register_result;
static int descriptor_there;
static const char *variable;

static void begin(int fd, const struct kernel_config *config)
{
	called("begin %d %zu;", fd, config->nr_patterns);
}

static bool read_config(const char *text, const char *encoding, struct kernel_config *config,
		char *reason, size_t room)
{
	called("config %s %s;", text, encoding ? encoding : "-");
	*config = (struct kernel_config){.patterns = malloc(1), .nr_patterns = 3};
	(void)snprintf(reason, room, "a reason\na hint");
	return config_result;
}

static int open_kernel(char *reason, size_t room)
{
	(void)snprintf(reason, room, "no file");
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
	return false;
}

static void played_say(const char *sentence)
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
#define events_come played_come
#define events_go played_go
#define table_say played_say
#define environment_get played_variable
#define environment_is_on played_on
#define side_tracer_bind played_bind
#define side_kernel_hook played_hook
#define pthread_atfork played_atfork
#define side_tracer_event_notification_register played_register
#include "kernel/start.c"
#undef kernel_config_read
#undef kernel_open
#undef events_begin
#undef events_come
#undef events_go
#undef table_say
#undef environment_is_on
#undef pthread_atfork

static void test_start(void **unused)
{
	(void)unused;
	variable = "native";
	assert_int_equal(side_kernel_begin("all"), SIDE_ERROR_INVAL);
	assert_called("bind;SIDE_USER_EVENTS_ENCODING;config all native;say a reason\na hint;");
	config_result = true;
	descriptor_there = -ENOENT;
	variable = NULL;
	assert_int_equal(side_kernel_begin("all"), SIDE_ERROR_NOENT);
	assert_called("bind;SIDE_USER_EVENTS_ENCODING;config all -;open;say no file;");
	/* Zero is a descriptor. */
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

/* The number is 4095, or the last one where the limit is lower for good; the limit is as it was. */
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
	/* The upper limits are lowered from row to row, and nobody but root could raise them: each in a process of its own. */
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
}

static void test_unregister(void **unused)
{
	(void)unused;
	check_unregister(EBADF, 0, -EBADF, 1, 0);
	check_unregister(0, 1, 0, 2, 0);
	check_unregister(0, 3, 0, 4, 2);
	/* Not longer than five seconds. */
	check_unregister(0, 100000, 0, 5001, 5000);
	assert_string_equal(kernel_register_reason(-EADDRINUSE),
			"the kernel has this name with other fields, or this word already");
}

/* ---- recorders ---- */

#include "kernel/notice.c"

static void test_patience(void **unused)
{
	static const struct {
		const char *text;
		int ms;
	} rows[] = {{NULL, 100}, {"0", 100}, {"1", 100}, {"2", 200}, {"3600", 360000},
			{"3601", 360000}, {"-5", 100}, {"12", 1200}};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		variable = rows[i].text;
		assert_int_equal(patience_ms(), rows[i].ms);
		assert_called(variable ? "SIDE_TIMEOUT_FACTOR;"
				       : "SIDE_TIMEOUT_FACTOR;SIDE_PATIENCE;");
	}
	variable = NULL;
}

static void test_trust(void **unused)
{
	int fds[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_true(is_trusted(fds[0]));
	close(fds[0]);
	close(fds[1]);
	assert_false(is_trusted(fds[0]));
	/* Nothing is left open, and the error of the caller stays. */
	errno = EDOM;
	notice_tell();
	assert_int_equal(errno, EDOM);
	*calls = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_open),
			cmocka_unit_test(test_number),
			cmocka_unit_test(test_unregister),
			cmocka_unit_test(test_patience),
			cmocka_unit_test(test_trust),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
