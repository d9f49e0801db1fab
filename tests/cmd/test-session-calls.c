/* SPDX-License-Identifier: MIT */
/*
 * Verbs of sessions with a daemon, a side-kernel and processes that the test plays: the events of
 * the kernel, the current session, and `side daemon`.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../called.h"
#include "../counted-json.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/side/session/helper-program.h"
#include "programs/common/message.h"
#include "sessions/json.h"
#include "protocol/runtime.h"

/* ---- what is printed, on both streams ---- */

static int printed_file, saved[2];

static void begin_output(bool is_json)
{
	const struct common_options common = {.json = is_json, .color = COLOR_NEVER};

	output_start(&common, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 10);
		assert_int_equal(dup2(printed_file, 1 + i), 1 + i);
	}
}

static void assert_output(const char *expected)
{
	static char text[8192];
	ssize_t size;

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dup2(saved[i], 1 + i), 1 + i);
		close(saved[i]);
	}
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	assert_string_equal(text, expected);
}

/* ---- the daemon ---- */

static const char *socket_path;
static const char *answers[8]; /* the daemon's answers, in order; NULL: an error */
static unsigned int nr_answers;
static int connect_status;
static enum error_kind connect_error;
static bool is_system;

static const char *played_path(const struct control_client *client)
{
	(void)client;
	return socket_path;
}

static struct json_object *next_answer(struct json_object *request)
{
	const char *text = answers[nr_answers++];

	called("ask %s", ask_text(request, "verb"));
	if (*ask_text(request, "session"))
		called(" %s", ask_text(request, "session"));
	called(";");
	return text ? json_tokener_parse(text) : NULL;
}

static int played_call(struct control_client *client, struct json_object *request, int timeout_ms,
		struct json_object **answer, struct error *error)
{
	(void)client;
	(void)error;
	assert_int_equal(timeout_ms, ASK_TIMEOUT_MS);
	*answer = next_answer(request);
	return *answer ? 0 : -1;
}

static int played_ask(struct ask *ask, struct json_object *request, int timeout_ms,
		struct json_object **answer)
{
	(void)ask;
	assert_int_equal(timeout_ms, ASK_TIMEOUT_MS);
	*answer = next_answer(request);
	json_object_put(request);
	return *answer ? COMMAND_DONE : 41;
}

static int played_connect(struct ask *ask, bool system, bool no_daemon)
{
	called("connect %d %d;", system, no_daemon);
	*ask = (struct ask){.system = is_system};
	return connect_status;
}

static int played_silently(struct ask *ask, bool system, struct error *error)
{
	called("silently %d;", system);
	*ask = (struct ask){.system = is_system};
	if (connect_status)
		error->kind = connect_error;
	return connect_status;
}

static void played_close(struct ask *ask)
{
	(void)ask;
	called("close;");
}

static int played_error(const struct error *error)
{
	called("error %d;", (int)error->kind);
	return 42;
}

static int played_print(const char *type, struct json_object *answer)
{
	called("print %s %s;", type,
			json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	return COMMAND_DONE;
}

/* ---- side-kernel ---- */

static const char *received[4]; /* pieces of its answer; NULL: the end */
static unsigned int nr_received, nr_sockets;
static bool no_socket, refuses, no_send;
static char *long_answer;

static int played_socket(int domain, int type, int protocol)
{
	assert_true(domain == AF_UNIX && type == (SOCK_STREAM | SOCK_CLOEXEC) && !protocol);
	if (no_socket)
		return -1;
	nr_sockets++;
	return 1000;
}

static int played_option(int fd, int level, int name, const void *value, socklen_t size)
{
	const struct timeval *time = value;

	assert_true(fd == 1000 && level == SOL_SOCKET && size == sizeof(*time));
	called("%s %ld.%06ld;", name == SO_RCVTIMEO ? "within" : "?", (long)time->tv_sec,
			(long)time->tv_usec);
	return 0;
}

static int played_connect_to(int fd, const void *address, socklen_t size)
{
	const struct sockaddr_un *where = address;

	assert_true(fd == 1000 && size == sizeof(*where) && where->sun_family == AF_UNIX);
	called("to %s;", where->sun_path);
	return refuses ? -1 : 0;
}

static ssize_t played_send(int fd, const void *text, size_t size, int flags)
{
	assert_true(fd == 1000 && flags == MSG_NOSIGNAL);
	called("send %.*s;", (int)size, (const char *)text);
	return no_send ? -1 : (ssize_t)size;
}

static ssize_t played_recv(int fd, char *to, size_t size, int flags)
{
	const char *piece = long_answer ? long_answer : received[nr_received++];
	size_t length = piece ? strlen(piece) : 0;

	assert_true(fd == 1000 && !flags);
	if (length > size)
		length = size;
	if (piece)
		memcpy(to, piece, length);
	if (long_answer)
		long_answer += length;
	return (ssize_t)length;
}

static int played_close_fd(int fd)
{
	if (fd != 1000)
		return close(fd);
	assert_true(nr_sockets > 0);
	nr_sockets--;
	return 0;
}

/* ---- its start ---- */

static int find_status, start_status;
static unsigned int nr_adds, add_fails_at;

static int played_find(const char *program, const char *what, char path[PATH_MAX])
{
	called("find %s %s;", program, what);
	strcpy(path, "/x/side-kernel");
	return find_status;
}

static bool played_add(char ***args, const char *option, const char *value)
{
	(void)args;
	called("add %s %s;", option, value ? value : "-");
	return ++nr_adds != add_fails_at;
}

static bool played_add_number(char ***args, const char *option, uint64_t number)
{
	(void)args;
	called("add %s %llu;", option, (unsigned long long)number);
	return ++nr_adds != add_fails_at;
}

static int played_start(char ***args, const char *variable, const char *value)
{
	(void)args;
	called("start %s=%s %s;", variable, value, getenv("SIDE_RUNTIME"));
	return start_status;
}

#define control_path played_path
#define control_call played_call
#define socket played_socket
#define setsockopt played_option
#define connect played_connect_to
#define send played_send
#define recv played_recv
#define close played_close_fd
#define helper_find played_find
#define helper_add played_add
#define helper_add_number played_add_number
#define helper_start played_start
#define helper_free(args) called("free;")
#include "programs/side/session/kernel-session.c"
#undef socket
#undef setsockopt
#undef connect
#undef send
#undef recv
#undef close

#define KERNEL(word) "to /run/x/kernel.sock;send " word "\n;"
#define WITHIN "within 60.000000;"

static void hear(const char *first, const char *second)
{
	received[0] = first;
	received[1] = second;
	received[2] = NULL;
	nr_received = 0;
}

static void test_call(void **unused)
{
	struct ask ask = {.system = false};
	char path[200], *text, *memory;
	struct json_object *answer;

	(void)unused;
	socket_path = "/run/x/control.sock";
	hear("{\"method\":", "\"perf\"}\n");
	answer = kernel_session_status(&ask);
	assert_string_equal(ask_text(answer, "method"), "perf");
	json_object_put(answer);
	assert_called(WITHIN KERNEL("status"));
	assert_int_equal(nr_sockets, 0);
	hear("{}\n", NULL);
	kernel_session_drain(&ask);
	assert_called(WITHIN KERNEL("drain"));
	hear("{}\n", NULL);
	assert_int_equal(kernel_session_refresh(&ask), COMMAND_DONE);
	assert_called(WITHIN KERNEL("look"));
	/* No answer, one that is no JSON, and one byte too long. */
	hear(NULL, NULL);
	assert_null(kernel_session_status(&ask));
	hear("{\"way\":", NULL);
	assert_null(kernel_session_status(&ask));
	*calls = '\0';
	memory = malloc(5000);
	assert_non_null(memory);
	for (size_t size = 4094; size <= 4095; size++) {
		memset(memory, ' ', size);
		memcpy(memory, "{\"way\":\"x\"}", 11);
		memory[size] = '\0';
		long_answer = memory;
		answer = kernel_session_status(&ask);
		assert_int_equal(answer != NULL, size == 4094);
		json_object_put(answer);
	}
	free(memory);
	long_answer = NULL;
	*calls = '\0';
	/* Failing calls. */
	no_send = true;
	hear("{}\n", NULL);
	assert_null(kernel_session_status(&ask));
	assert_int_equal(nr_received, 0);
	assert_called(WITHIN KERNEL("status"));
	no_send = false;
	refuses = true;
	assert_null(kernel_session_status(&ask));
	assert_called(WITHIN "to /run/x/kernel.sock;");
	refuses = false;
	no_socket = true;
	assert_null(kernel_session_status(&ask));
	assert_called("");
	no_socket = false;
	assert_int_equal(nr_sockets, 0);
	/* Paths: of 107 bytes at most. */
	socket_path = NULL;
	assert_null(kernel_session_status(&ask));
	socket_path = "control.sock";
	assert_null(kernel_session_status(&ask));
	assert_called("");
	memset(path, 'd', sizeof(path));
	path[0] = '/';
	strcpy(path + 96, "/control.sock");
	socket_path = path;
	assert_null(kernel_session_status(&ask));
	assert_called("");
	strcpy(path + 95, "/control.sock");
	hear("{}", NULL);
	text = path;
	answer = kernel_session_status(&ask);
	assert_non_null(answer);
	json_object_put(answer);
	assert_non_null(strstr(calls, "d/kernel.sock;send"));
	assert_memory_equal(strstr(calls, "to /"), "to /d", 5);
	assert_memory_equal(strstr(calls, "to /") + 3, text, 95);
	*calls = '\0';
	socket_path = "/run/x/control.sock";
}

/* How side-kernel is started, or that it runs. */
static void test_start_kernel(void **unused)
{
	struct parsed parsed = {.common.color = COLOR_NEVER};
	struct ask ask = {.system = false};
	struct json_object *request = json_tokener_parse("{}");
	size_t memory = 0;

	(void)unused;
	unsetenv("SIDE_RUNTIME");
	hear(NULL, NULL);
	assert_int_equal(kernel_session_prepare(&ask, &parsed, request), COMMAND_DONE);
	assert_called(WITHIN KERNEL("status") "find side-kernel kernel events;add /x/side-kernel -;"
					      "start SIDE_AGENT_KERNEL=1 /run/x;free;");
	assert_null(getenv("SIDE_RUNTIME"));
	setenv("SIDE_RUNTIME", "/before", 1);
	parsed.options.control.kernel_backend = 1;
	parsed.options.control.kernel_buffer = 123456789012;
	start_status = 43;
	hear(NULL, NULL);
	assert_int_equal(kernel_session_prepare(&ask, &parsed, request), 43);
	assert_called(WITHIN KERNEL(
			"status") "find side-kernel kernel events;add /x/side-kernel -;"
				  "add --method perf;add --buffer 123456789012;start SIDE_AGENT_KERNEL=1 /run/x;free;");
	assert_string_equal(getenv("SIDE_RUNTIME"), "/before");
	/* No memory is leaked. */
	for (int i = 0; i < 3; i++) {
		memory = i == 1 ? resources_memory() : memory;
		hear(NULL, NULL);
		assert_int_equal(kernel_session_prepare(&ask, &parsed, request), 43);
		*calls = '\0';
	}
	assert_int_equal(resources_memory(), memory);
	parsed.options.control.kernel_backend = 2;
	for (add_fails_at = 1; add_fails_at <= 3; add_fails_at++) {
		nr_adds = 0;
		hear(NULL, NULL);
		begin_output(false);
		assert_int_equal(kernel_session_prepare(&ask, &parsed, request), COMMAND_FAILED);
		assert_output("side: out of memory\n");
		assert_int_equal(nr_adds, add_fails_at);
		assert_non_null(strstr(calls, ";free;"));
		assert_null(strstr(calls, "start"));
		if (add_fails_at > 1)
			assert_non_null(strstr(calls, "add --method tracefs;"));
		*calls = '\0';
	}
	add_fails_at = 0;
	find_status = 44;
	hear(NULL, NULL);
	assert_int_equal(kernel_session_prepare(&ask, &parsed, request), 44);
	assert_called(WITHIN KERNEL("status") "find side-kernel kernel events;");
	find_status = start_status = 0;
	/* It runs already: options have no effect. */
	for (int i = 0; i < 3; i++) {
		parsed.options.control.kernel_backend = i == 1;
		parsed.options.control.kernel_buffer = i == 2;
		hear("{\"way\":\"tracefs\"}", NULL);
		begin_output(false);
		assert_int_equal(kernel_session_prepare(&ask, &parsed, request), COMMAND_DONE);
		assert_output(i ? "side: kernel events are already read through tracefs, for all sessions: `--kernel-method` and `--kernel-buffer` have no effect until no session records kernel events\n"
				: "");
		assert_called(WITHIN KERNEL("status"));
	}
	json_object_put(request);
	unsetenv("SIDE_RUNTIME");
}

/* Patterns that the kernel does not know. */
static void test_patterns(void **unused)
{
	static const struct {
		const char *answer;
		int status;
	} cases[] = {{"{\"known\":true}", COMMAND_DONE}, {"{\"known\":false}", COMMAND_FAILED},
			{"{\"other\":false}", COMMAND_DONE}, {NULL, COMMAND_DONE}};
	const struct parsed parsed = {.common.color = COLOR_NEVER};
	struct ask ask = {.system = false};
	struct json_object *request = json_tokener_parse(
			"{\"event\":[\"!kernel::a:b\",\"user:*\",\"kernel::sched:x\"]}");

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Each connection reads to the end of its answer. */
		received[0] = "{\"way\":\"perf\"}";
		received[1] = NULL;
		received[2] = cases[i].answer;
		received[3] = NULL;
		nr_received = 0;
		begin_output(false);
		assert_int_equal(kernel_session_prepare(&ask, &parsed, request), cases[i].status);
		assert_output(cases[i].status ? "side: no kernel trace event matches `sched:x`\nhint: `side list -k` lists the kernel's trace events\n"
					      : "");
		assert_called(WITHIN KERNEL("status") WITHIN KERNEL("knows sched:x"));
	}
	json_object_put(request);
}

static bool has(const char *definition)
{
	struct json_object *object = json_tokener_parse(definition);
	bool found = kernel_session_has(object);

	json_object_put(object);
	return found;
}

static void test_has(void **unused)
{
	(void)unused;
	assert_false(has("{}"));
	assert_false(has("{\"channels\":[]}"));
	assert_false(has("{\"channels\":[{},{\"rules\":[]},{\"rules\":[{},{\"event\":[]}]}]}"));
	assert_false(has(
			"{\"channels\":[{\"rules\":[{\"event\":[\"!kernel::a:b\",\"user:*\"]}]}]}"));
	assert_true(has("{\"channels\":[{\"rules\":[{\"event\":[\"kernel::a:b\"]}]}]}"));
	assert_true(has("{\"channels\":[{},{\"rules\":[{},{\"event\":[\"user:*\",\"kernel::a:b\"]}]}]}"));
}

#define KERNEL_DEFINITION "{\"channels\":[{\"rules\":[{\"event\":[\"kernel::a:b\"]}]}]}"

static void test_ensure(void **unused)
{
	struct ask ask = {.system = false};

	(void)unused;
	nr_answers = 0;
	answers[0] = "{\"sessions\":[{\"definition\":{\"channels\":[]}},{\"name\":\"x\"}]}";
	assert_false(kernel_session_ensure(&ask, "mine"));
	assert_called("ask status mine;");
	nr_answers = 0;
	answers[0] = NULL;
	assert_false(kernel_session_ensure(&ask, NULL));
	assert_called("ask status;");
	nr_answers = 0;
	answers[0] = "{\"sessions\":[{\"definition\":" KERNEL_DEFINITION
		     "},{\"definition\":{\"channels\":[]}}]}";
	received[0] = "{\"way\":\"perf\"}";
	received[1] = NULL;
	received[2] = "{}";
	received[3] = NULL;
	nr_received = 0;
	assert_true(kernel_session_ensure(&ask, NULL));
	assert_called("ask status;" WITHIN KERNEL("status") WITHIN KERNEL("look"));
	/* It cannot be started. */
	nr_answers = 0;
	hear(NULL, NULL);
	find_status = 44;
	assert_true(kernel_session_ensure(&ask, NULL));
	assert_called("ask status;" WITHIN KERNEL("status") "find side-kernel kernel events;");
	nr_answers = 0;
	hear(NULL, NULL);
	find_status = 0;
	assert_true(kernel_session_ensure(&ask, "mine"));
	assert_called("ask status mine;" WITHIN KERNEL(
			"status") "find side-kernel kernel events;add /x/side-kernel -;"
				  "start SIDE_AGENT_KERNEL=1 /run/x;free;" WITHIN KERNEL("look"));
}

/* ---- side daemon ---- */

static int pidfd_error, signal_error, poll_errors, poll_result;

static long played_syscall(long number, int first, ...)
{
	va_list list;

	va_start(list, first);
	if (number == SYS_pidfd_open) {
		called("pidfd %d %d;", first, va_arg(list, int));
		errno = pidfd_error;
		nr_sockets += !pidfd_error;
	} else {
		assert_int_equal(number, SYS_pidfd_send_signal);
		assert_int_equal(first, 1000);
		called("signal %d;", va_arg(list, int));
		assert_null(va_arg(list, void *));
		assert_int_equal(va_arg(list, int), 0);
		errno = signal_error;
	}
	va_end(list);
	return number == SYS_pidfd_open ? (pidfd_error ? -1 : 1000) : (signal_error ? -1 : 0);
}

static int played_poll(struct pollfd *files, nfds_t nr, int timeout_ms)
{
	assert_true(files->fd == 1000 && files->events == POLLIN && nr == 1);
	called("poll %d;", timeout_ms);
	errno = EINTR;
	return poll_errors-- > 0 ? -1 : poll_result;
}

#define syscall played_syscall
#define poll(files, nr, timeout_ms) played_poll(files, nr, timeout_ms)
#define close played_close_fd
#define ask_connect played_connect
#define ask_connect_silently played_silently
#define ask_close played_close
#define ask_call played_ask
#define message_library_error played_error
#define ask_print_json played_print
#define daemon_shut_down(parsed) daemon_stop(parsed)
#include "programs/side/session/daemon.c"
#undef syscall
#undef poll
#undef close

static void run_daemon(bool stops, bool is_json, int status, const char *output, const char *wanted)
{
	const struct parsed parsed = {.common = {.json = is_json, .color = COLOR_NEVER},
			.options.control = {.stop = stops, .system = true, .no_daemon = true}};

	nr_answers = 0;
	begin_output(is_json);
	assert_int_equal(cmd_daemon(&parsed), status);
	assert_output(output);
	assert_called(wanted);
	assert_int_equal(nr_sockets, 0);
}

#define STOP "silently 1;ask list;ask ping;pidfd 77 0;"

static void test_stop(void **unused)
{
	(void)unused;
	poll_result = 1;
	answers[0] = "{\"sessions\":[{},{},{}]}";
	answers[1] = "{\"pid\":77}";
	run_daemon(true, false, 0,
			"side: stopped the daemon sided (process 77); its 3 sessions are kept and continue when it is started\nhint: `side daemon` starts it\n",
			STOP "signal 15;poll 60000;close;");
	run_daemon(true, true, 0,
			"{\"schema\":1,\"type\":\"daemon\",\"stopped\":true,\"pid\":77,\"sessions\":3}\n",
			STOP "signal 15;poll 60000;close;");
	answers[0] = "{\"sessions\":[{}]}";
	poll_errors = 2;
	run_daemon(true, false, 0,
			"side: stopped the daemon sided (process 77); its 1 session is kept and continues when it is started\nhint: `side daemon` starts it\n",
			STOP "signal 15;poll 60000;poll 60000;poll 60000;close;");
	answers[0] = "{}";
	run_daemon(true, false, 0,
			"side: stopped the daemon sided (process 77); it had no sessions\n",
			STOP "signal 15;poll 60000;close;");
	/* The daemon does not exit. */
	poll_result = 0;
	run_daemon(true, false, COMMAND_FAILED,
			"side: cannot stop the daemon sided (process 77): Connection timed out\n",
			STOP "signal 15;poll 60000;close;");
	poll_result = 1;
	/* The daemon has exited meanwhile, or belongs to another user. */
	pidfd_error = ESRCH;
	run_daemon(true, false, 0,
			"side: stopped the daemon sided (process 77); it had no sessions\n",
			STOP "close;");
	pidfd_error = EMFILE;
	run_daemon(true, false, COMMAND_FAILED,
			"side: cannot stop the daemon sided (process 77): Too many open files\n",
			STOP "close;");
	pidfd_error = 0;
	signal_error = ESRCH;
	run_daemon(true, false, 0,
			"side: stopped the daemon sided (process 77); it had no sessions\n",
			STOP "signal 15;close;");
	signal_error = EPERM;
	run_daemon(true, false, COMMAND_NOT_PERMITTED,
			"side: cannot stop the daemon sided (process 77): it belongs to another user\n",
			STOP "signal 15;close;");
	is_system = true;
	run_daemon(true, false, COMMAND_NOT_PERMITTED,
			"side: cannot stop the daemon sided (process 77): it belongs to another user\nhint: be root: `systemctl stop sided`\n",
			STOP "signal 15;close;");
	is_system = false;
	signal_error = EIO;
	run_daemon(true, false, COMMAND_FAILED,
			"side: cannot stop the daemon sided (process 77): Input/output error\n",
			STOP "signal 15;close;");
	signal_error = 0;
	/* Answers without a process. */
	answers[1] = "{}";
	run_daemon(true, false, COMMAND_FAILED,
			"side: cannot stop the daemon sided: its answer has no process\n",
			"silently 1;ask list;ask ping;close;");
	answers[1] = "{\"pid\":2147483648}";
	run_daemon(true, false, COMMAND_FAILED,
			"side: cannot stop the daemon sided: its answer has no process\n",
			"silently 1;ask list;ask ping;close;");
	answers[1] = "{\"pid\":2147483647}";
	run_daemon(true, false, 0,
			"side: stopped the daemon sided (process 2147483647); it had no sessions\n",
			"silently 1;ask list;ask ping;pidfd 2147483647 0;signal 15;poll 60000;close;");
	answers[1] = NULL;
	run_daemon(true, false, 41, "", "silently 1;ask list;ask ping;close;");
	answers[0] = NULL;
	run_daemon(true, false, 41, "", "silently 1;ask list;close;");
	/* No daemon, and one that refuses. */
	connect_status = -1;
	connect_error = ERROR_NOT_FOUND;
	run_daemon(true, false, 0, "side: no daemon runs, so none was stopped\n", "silently 1;");
	run_daemon(true, true, 0,
			"{\"schema\":1,\"type\":\"daemon\",\"stopped\":false,\"pid\":0,\"sessions\":0}\n",
			"silently 1;");
	connect_error = ERROR_PERMISSION;
	run_daemon(true, false, 42, "", "silently 1;error 3;");
	connect_status = 0;
}

static void test_daemon(void **unused)
{
	static const char ping[] = "{\"version\":\"9.8\",\"pid\":77,\"system\":true}";
	char word[] = "x", *operands[] = {word, NULL};
	const struct parsed unknown = {.operands = operands, .operand_count = 1};

	(void)unused;
	socket_path = "/run/x/con\ttrol.sock";
	answers[0] = ping;
	run_daemon(false, false, 0,
			"sided 9.8 of the system runs as process 77, at /run/x/con\\x09trol.sock\n",
			"connect 1 1;ask ping;close;");
	answers[0] = "{\"version\":\"9.8\",\"pid\":76}";
	run_daemon(false, false, 0,
			"sided 9.8 of this user runs as process 76, at /run/x/con\\x09trol.sock\n",
			"connect 1 1;ask ping;close;");
	socket_path = "/run/x/control.sock";
	run_daemon(false, true, 0, "",
			"connect 1 1;ask ping;print daemon {\"version\":\"9.8\",\"pid\":76,\"socket\":\"\\/run\\/x\\/control.sock\"};close;");
	answers[0] = NULL;
	run_daemon(false, false, 41, "", "connect 1 1;ask ping;close;");
	connect_status = 45;
	run_daemon(false, false, 45, "", "connect 1 1;");
	connect_status = 0;
	begin_output(false);
	assert_int_equal(cmd_daemon(&unknown), COMMAND_USAGE);
	assert_output("side: `side daemon` does not accept `x`\nhint: write `side daemon`\n");
	assert_called("");
}

/* ---- the current session ---- */

static char folder[] = "/tmp/side-session-calls-XXXXXX", own[64];
static int directory_result, check_result, own_result;
static const char *kept_names;
static bool is_elsewhere;

static int played_directory(char *path, size_t size, bool system)
{
	assert_false(system);
	(void)snprintf(path, size, "%s", is_elsewhere ? "/srv/side" : own);
	return directory_result;
}

static int played_own(char *path, size_t size)
{
	(void)snprintf(path, size, "%s", own);
	return own_result;
}

static int played_check(const char *path)
{
	assert_string_equal(path, own);
	assert_int_equal(access(path, F_OK), 0);
	return check_result;
}

static bool played_kept(bool system, char *names, size_t size)
{
	assert_false(system);
	if (kept_names)
		(void)snprintf(names, size, "%s", kept_names);
	return kept_names;
}

/* The test owns each directory but /srv/side. */
static int played_lstat(const char *path, struct stat *status)
{
	*status = (struct stat){.st_uid = geteuid() + !strcmp(path, "/srv/side")};
	return 0;
}

static int write_fails, close_fails, rename_fails;

static int played_dprintf(int fd, const char *format, const char *name)
{
	assert_string_equal(format, "%s\n");
	errno = ENOSPC;
	return write_fails ? -1 : dprintf(fd, "%s\n", name);
}

static int failing_close(int fd)
{
	int ret = close(fd);

	errno = EDQUOT;
	return close_fails ? -1 : ret;
}

static int failing_rename(const char *from, const char *to)
{
	errno = EISDIR;
	return rename_fails ? -1 : rename(from, to);
}

static int played_open(const char *path, int flags, ...)
{
	if (flags & O_CREAT)
		assert_int_equal(flags, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
	else
		assert_int_equal(flags, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return open(path, flags, 0600);
}

#define open played_open
#define wire_runtime_directory played_directory
#define wire_runtime_own played_own
#define wire_runtime_check played_check
#define ask_kept_sessions played_kept
#define lstat played_lstat
#define dprintf played_dprintf
#define close failing_close
#define rename failing_rename
#define file current_file
#include "programs/side/session/current.c"
#undef open
#undef lstat
#undef dprintf
#undef close
#undef rename

static const char *file_in(const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/%s", own, name);
	return path;
}

static void put_file(const char *name, const char *text)
{
	FILE *stream = fopen(file_in(name), "we");

	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static void assert_file(const char *name, const char *text)
{
	char found[200] = "";
	struct stat status;
	FILE *stream = fopen(file_in(name), "re");

	assert_non_null(stream);
	found[fread(found, 1, sizeof(found) - 1, stream)] = '\0';
	fclose(stream);
	assert_string_equal(found, text);
	assert_int_equal(stat(file_in(name), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

#define SELECT "hint: name the session in each command: `-s NAME`\n"

static void test_current(void **unused)
{
	struct ask ask = {.system = false}, system = {.system = true};
	char name[ASK_NAME_MAX], long_name[ASK_NAME_MAX + 2], text[400];
	unsigned int before = resources_descriptors();
	struct stat status;
	int input;

	(void)unused;
	/* A file in the place of the directory. */
	snprintf(own, sizeof(own), "%s", folder);
	put_file("file", "");
	snprintf(own, sizeof(own), "%s/file/own", folder);
	begin_output(false);
	assert_false(current_read(&ask, name));
	assert_output("side: cannot read which session is the current one: Not a directory\n" SELECT);
	snprintf(own, sizeof(own), "%s/own", folder);
	begin_output(false);
	assert_false(current_read(&ask, name));
	assert_false(current_read_silently(&ask, name));
	assert_int_equal(stat(own, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	assert_int_equal(current_write(&ask, "one"), COMMAND_DONE);
	assert_file("current", "one\n");
	assert_true(current_read(&ask, name));
	assert_string_equal(name, "one");
	assert_false(current_read(&system, name));
	assert_int_equal(current_write(&system, "two"), COMMAND_DONE);
	assert_file("current-system", "two\n");
	is_elsewhere = true;
	current_try_write(&ask, "three");
	assert_file("current-srv-side", "three\n");
	assert_true(current_read_silently(&ask, name));
	assert_string_equal(name, "three");
	own_result = -ENOENT;
	assert_false(current_read_silently(&ask, name));
	own_result = 0;
	is_elsewhere = false;
	/* Names: 64 letters at most, in the first line. */
	memset(long_name, 'n', sizeof(long_name));
	long_name[64] = '\0';
	assert_int_equal(current_write(&ask, long_name), COMMAND_DONE);
	assert_true(current_read(&ask, name));
	assert_string_equal(name, long_name);
	long_name[64] = 'n';
	long_name[65] = '\0';
	put_file("current", long_name);
	assert_false(current_read(&ask, name));
	/* Without the end of the line, and with many more letters. */
	put_file("current", "ab");
	assert_true(current_read(&ask, name));
	assert_string_equal(name, "ab");
	for (int i = 0; i < 9; i++) {
		FILE *stream = fopen(file_in("current"), "ae");

		assert_non_null(stream);
		fputs(long_name, stream);
		fclose(stream);
	}
	assert_false(current_read(&ask, name));
	put_file("current", "four\nfive\n");
	assert_true(current_read(&ask, name));
	assert_string_equal(name, "four");
	put_file("current", "a/b\n");
	assert_false(current_read(&ask, name));
	put_file("current", "");
	assert_false(current_read(&ask, name));
	assert_output("");
	/* Failing calls leave the name of before, and no other file. */
	put_file("current", "six\n");
	for (int i = 0; i < 3; i++) {
		static const char *const reasons[] = {
				"No space left on device", "Disk quota exceeded", "Is a directory"};

		write_fails = i == 0;
		close_fails = i == 1;
		rename_fails = i == 2;
		begin_output(false);
		assert_int_equal(current_write(&ask, "seven"), COMMAND_FAILED);
		snprintf(text, sizeof(text),
				"side: cannot select the session seven: cannot write %s/current: %s\n" SELECT,
				own, reasons[i]);
		assert_output(text);
		begin_output(false);
		current_try_write(&ask, "seven");
		snprintf(text, sizeof(text),
				"side: session seven is not the current one: cannot write %s/current: %s\nhint: `-s seven` selects it\n",
				own, reasons[i]);
		assert_output(text);
		snprintf(text, sizeof(text), "current.%ld", (long)getpid());
		assert_int_equal(access(file_in(text), F_OK), -1);
	}
	write_fails = close_fails = rename_fails = 0;
	/* Another file of that name is left over. */
	put_file(text, "old");
	assert_int_equal(current_write(&ask, "eight"), COMMAND_DONE);
	assert_file("current", "eight\n");
	/* A directory of that name is in the way. */
	assert_int_equal(mkdir(file_in(text), 0700), 0);
	begin_output(false);
	assert_int_equal(current_write(&ask, "nine"), COMMAND_FAILED);
	snprintf(text, sizeof(text),
			"side: cannot select the session nine: cannot write %s/current: File exists\n" SELECT,
			own);
	assert_output(text);
	snprintf(text, sizeof(text), "current.%ld", (long)getpid());
	assert_int_equal(rmdir(file_in(text)), 0);
	/* Without standard input, the file gets descriptor 0. */
	input = dup(STDIN_FILENO);
	close(STDIN_FILENO);
	assert_int_equal(current_write(&ask, "eight"), COMMAND_DONE);
	assert_true(current_read(&ask, name));
	assert_string_equal(name, "eight");
	assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	close(input);
	check_result = -EACCES;
	begin_output(false);
	assert_false(current_read_silently(&ask, name));
	assert_false(current_read(&ask, name));
	assert_output("side: cannot read which session is the current one: Permission denied\n" SELECT);
	check_result = 0;
	directory_result = -ENAMETOOLONG;
	begin_output(false);
	assert_false(current_read(&ask, name));
	assert_output("side: cannot read which session is the current one: File name too long\n" SELECT);
	directory_result = 0;
	assert_int_equal(resources_descriptors(), before);
	/* A symbolic link is not followed, and a directory is refused. */
	assert_int_equal(unlink(file_in("current")), 0);
	assert_int_equal(symlink("current-system", file_in("current")), 0);
	begin_output(false);
	assert_false(current_read(&ask, name));
	assert_output("side: cannot read which session is the current one: Too many levels of symbolic links\n" SELECT);
	assert_int_equal(unlink(file_in("current")), 0);
	assert_int_equal(mkdir(file_in("current"), 0700), 0);
	begin_output(false);
	assert_false(current_read(&ask, name));
	assert_output("side: cannot read which session is the current one: Is a directory\n" SELECT);
	assert_int_equal(rmdir(file_in("current")), 0);
	assert_int_equal(resources_descriptors(), before);
}

static void test_forget(void **unused)
{
	struct ask ask = {.system = false};
	char name[ASK_NAME_MAX];

	(void)unused;
	begin_output(false);
	assert_int_equal(current_write(&ask, "one"), COMMAND_DONE);
	current_forget(&ask, "two", true);
	assert_true(current_read(&ask, name));
	kept_names = "a, b";
	current_forget(&ask, "one", false);
	assert_false(current_read(&ask, name));
	current_forget(&ask, "one", true);
	assert_output("");
	for (int i = 0; i < 3; i++) {
		static const char *const kept
				[] = {"a, b", "c\t", NULL},
			    *const printed[] = {
					    "side: there is no current session now\nhint: `side set-session NAME` selects one of these: a, b\n",
					    "side: there is no current session now\nhint: `side set-session c\\x09` selects the only one\n",
					    ""};

		kept_names = kept[i];
		assert_int_equal(current_write(&ask, "one"), COMMAND_DONE);
		begin_output(false);
		current_forget(&ask, "one", true);
		assert_output(printed[i]);
		assert_false(current_read(&ask, name));
	}
}

static void test_which(void **unused)
{
	struct ask ask = {.system = false};
	char memory[ASK_NAME_MAX];
	const char *name;

	(void)unused;
	assert_int_equal(ask_which(&ask, "a", NULL, memory, &name), COMMAND_DONE);
	assert_string_equal(name, "a");
	assert_int_equal(ask_which(&ask, NULL, "b", memory, &name), COMMAND_DONE);
	assert_string_equal(name, "b");
	assert_int_equal(ask_which(&ask, "a", "a", memory, &name), COMMAND_DONE);
	assert_string_equal(name, "a");
	begin_output(false);
	assert_int_equal(ask_which(&ask, "a", "b", memory, &name), COMMAND_USAGE);
	assert_output("side: cannot use two sessions: `a` and `--session b`\nhint: leave one of them out\n");
	kept_names = NULL;
	begin_output(false);
	assert_int_equal(ask_which(&ask, NULL, NULL, memory, &name), COMMAND_USAGE);
	assert_output("side: there is no current session\nhint: `side create` makes one\nhint: `side status --all` lists those that exist\n");
	kept_names = "a";
	begin_output(false);
	assert_int_equal(ask_which(&ask, NULL, NULL, memory, &name), COMMAND_USAGE);
	assert_output("side: there is no current session\nhint: `side set-session a` selects the only one\n");
	assert_int_equal(current_write(&ask, "now"), COMMAND_DONE);
	assert_int_equal(ask_which(&ask, NULL, NULL, memory, &name), COMMAND_DONE);
	assert_string_equal(name, "now");
	assert_ptr_equal(name, memory);
	assert_int_equal(unlink(file_in("current")), 0);
}

/* For each component of the path, the buffer is one byte too small. */
static void test_paths(void **unused)
{
	char path[40] = "/a\0xxxxxxxxxxxxx";

	(void)unused;
	assert_int_equal(current_session_append_name(path, 10, NULL), -ENAMETOOLONG);
	assert_string_equal(path, "/a/curren");
	strcpy(path, "/a");
	assert_int_equal(current_session_append_name(path, 11, NULL), 0);
	assert_string_equal(path, "/a/current");
	strcpy(path, "/a");
	assert_int_equal(current_session_append_name(path, 15, "/b/%d"), -ENAMETOOLONG);
	strcpy(path, "/a");
	assert_int_equal(current_session_append_name(path, 16, "/b/%d"), 0);
	assert_string_equal(path, "/a/current-b-%d");
	strcpy(path, "/a");
	assert_int_equal(current_session_append_name(path, 18, WIRE_RUNTIME_SYSTEM), 0);
	assert_string_equal(path, "/a/current-system");
}

static int no_object_is_left(void **unused)
{
	(void)unused;
	return nr_objects;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_call, no_object_is_left),
			cmocka_unit_test_teardown(test_start_kernel, no_object_is_left),
			cmocka_unit_test_teardown(test_patterns, no_object_is_left),
			cmocka_unit_test_teardown(test_has, no_object_is_left),
			cmocka_unit_test_teardown(test_ensure, no_object_is_left),
			cmocka_unit_test_teardown(test_stop, no_object_is_left),
			cmocka_unit_test_teardown(test_daemon, no_object_is_left),
			cmocka_unit_test_teardown(test_current, no_object_is_left),
			cmocka_unit_test_teardown(test_forget, no_object_is_left),
			cmocka_unit_test_teardown(test_which, no_object_is_left),
			cmocka_unit_test_teardown(test_paths, no_object_is_left),
	};
	int ret;

	(void)umask(022);
	if (!mkdtemp(folder))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(file_in("current-system"));
	(void)unlink(file_in("current-srv-side"));
	(void)rmdir(own);
	snprintf(own, sizeof(own), "%s", folder);
	(void)unlink(file_in("file"));
	(void)rmdir(folder);
	return ret;
}
