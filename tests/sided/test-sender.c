/* SPDX-License-Identifier: MIT */
/*
 * The process that sends the trace of a session: both of its sides, each command, message and
 * option, and each call that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "failing-json.h"
#include "isolate/isolate.h"
#include "relay/send.h"
#include "recorder/core/session.h"

/* ---- the calls of sender.c ---- */

static const char *failing; /* the function that fails, or NULL */
static jmp_buf exited;
static pid_t parent_process;
static pid_t fork_result;
static int kept_end = -1;         /* of the sending process, a duplicate */
static int child_end, parent_end; /* the descriptors of both processes */
static int nr_mapped;
static void *made;        /* the last result of calloc() */
static const int *script; /* of commands; 0: the end, -1: EINTR */
static const int *polls;  /* the results of poll() */
static struct send_status next_status;
static const struct send_options *installed;
static bool has_filter = true;

static bool fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0)
		return false;
	failing = NULL;
	errno = EMFILE;
	return true;
}

static int played_socketpair(int domain, int type, int protocol, int ends[2])
{
	assert_true(domain == AF_UNIX && type == (SOCK_SEQPACKET | SOCK_CLOEXEC) && !protocol);
	if (fails("socketpair") || socketpair(domain, type, protocol, ends))
		return -1;
	kept_end = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
	child_end = ends[1];
	parent_end = ends[0];
	return 0;
}

static pid_t played_fork(void)
{
	called("fork\n");
	return fork_result;
}

static void played_prctl(int option, uintptr_t value)
{
	called("prctl(%s)\n",
			option == PR_SET_PDEATHSIG && value == SIGKILL ? "death"
					: option == PR_SET_NAME &&
							!strcmp((char *)value, "sided-send")
					? "name"
					: "?");
}

static void __attribute__((noreturn)) played_exit(int status)
{
	called("exit(%d)\n", status);
	longjmp(exited, 1);
}

static ssize_t played_recv(int fd, void *bytes, size_t size, int flags)
{
	if (!script)
		return recv(fd, bytes, size, flags);
	assert_true(size == sizeof(int) && !flags);
	if (*script < 0) {
		errno = -*script++;
		return -1;
	}
	memcpy(bytes, script, sizeof(int));
	return *script++ ? (ssize_t)sizeof(int) : 0;
}

static ssize_t played_send(int fd, const void *bytes, size_t size, int flags)
{
	called("send(%s)\n",
			size == sizeof(int) ? flags == MSG_NOSIGNAL ? "order" : "?"
					: flags == (MSG_DONTWAIT | MSG_NOSIGNAL) ? "message"
										 : "?");
	return send(fd, bytes, size, flags | MSG_DONTWAIT);
}

static int played_poll(struct pollfd *one, nfds_t nr, int timeout)
{
	assert_true(nr == 1 && one->events == POLLIN && timeout == 200);
	called("poll %d\n", *polls);
	return *polls++;
}

static void *played_mmap(size_t size, int protection, int flags, int fd)
{
	assert_true(protection == (PROT_READ | PROT_WRITE) &&
			flags == (MAP_SHARED | MAP_ANONYMOUS) && fd == -1);
	if (fails("mmap"))
		return MAP_FAILED;
	nr_mapped++;
	return mmap(NULL, size, protection, flags, fd, 0);
}

static int played_munmap(void *address, size_t size)
{
	nr_mapped--;
	assert_int_equal(size, sizeof(struct session_rounds));
	return munmap(address, size);
}

static void *played_calloc(size_t count, size_t size)
{
	made = fails("calloc") ? NULL : calloc(count, size);
	return made;
}

static int played_start(const struct send_options *options, struct send **send, struct error *error)
{
	called("start(%s)\n", options->url);
	installed = options;
	if (fails("start")) {
		(void)snprintf(error->text, sizeof(error->text), "cannot start: %0300d", 7);
		return -EINVAL;
	}
	*send = (struct send *)(uintptr_t)8;
	return 0;
}

static void played_finish(const struct send *send)
{
	called("finish(%d)\n", (int)(uintptr_t)send);
}

static void played_status(const struct send *send, struct send_status *status)
{
	called("status(%d)\n", (int)(uintptr_t)send);
	*status = next_status;
}

static int played_resolver(const char *url, int *socket)
{
	called("resolver(%s)\n", url);
	if (fails("resolver"))
		return -ENOBUFS;
	*socket = 9;
	return 0;
}

static bool played_parser(const struct isolate_limits *limits)
{
	assert_true(limits->connects && limits->terminals && !limits->accepts &&
			!limits->reads_all && !limits->nr_readable && limits->nr_writable <= 2);
	for (size_t i = 0; i < limits->nr_writable; i++)
		called("writable(%s)\n", limits->writable[i]);
	return has_filter;
}

#define socketpair(domain, type, protocol, ends) played_socketpair(domain, type, protocol, ends)
#define fork() played_fork()
#define getppid() parent_process
#define prctl(option, value) played_prctl(option, (uintptr_t)(value))
#define _exit(status) played_exit(status)
#define recv(fd, bytes, size, flags) played_recv(fd, bytes, size, flags)
#define send(fd, bytes, size, flags) played_send(fd, bytes, size, flags)
#define poll(one, nr, timeout) played_poll(one, nr, timeout)
#define mmap(address, size, protection, flags, fd, offset) \
	((void)(address), (void)(offset), played_mmap(size, protection, flags, fd))
#define munmap(address, size) played_munmap(address, size)
#define calloc(count, size) played_calloc(count, size)
#define send_start(options, send, error) played_start(options, send, error)
#define send_finish(send) played_finish(send)
#define send_status(send, status) played_status(send, status)
#define send_resolver(url, socket) played_resolver(url, socket)
#define isolate_parser(limits) played_parser(limits)
#include "programs/sided/sender.c"
#undef socketpair
#undef fork
#undef getppid
#undef prctl
#undef _exit
#undef recv
#undef send
#undef poll
#undef mmap
#undef munmap
#undef calloc
#undef send_start
#undef send_finish
#undef send_status
#undef send_resolver
#undef isolate_parser

void log_message(const char *format, ...)
{
	char text[300];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("say(%s)\n", text);
}

int isolate_sender(const struct session_owner *owner)
{
	called("isolate(%d)\n", owner ? (int)owner->uid : -1);
	return fails("isolate") ? -EPERM : 0;
}

static char folder[] = "/tmp/side-sender-XXXXXX";
static const struct session_owner owner = {.uid = 47, .gid = 48};
static struct definition definition = {
		.name = (char *)(uintptr_t) "one", .to = (char *)(uintptr_t) "net://host"};

static void close_end(void)
{
	close(kept_end);
	kept_end = -1;
}

static void reported(void *user, const char *text)
{
	called("%s: %s\n", (const char *)user, text);
}

static char me[] = "me";

/* ---- the process that records ---- */

static struct sender *make(void)
{
	struct sender *sender = NULL;

	fork_result = 4711;
	assert_int_equal(sender_make(&definition, folder, false, &owner, NULL, 0, &sender), 0);
	assert_non_null(sender);
	assert_called("fork\n");
	return sender;
}

static void test_make(void **unused)
{
	static const char *const calls_of_all[] = {"calloc", "mmap", "socketpair"};
	unsigned int before = resources_descriptors();
	struct sender *sender = make();

	(void)unused;
	assert_string_equal(sender->to, "net://host");
	assert_int_equal(sender->pid, 4711);
	assert_true(sender_rounds(sender) == sender->rounds && !sender->rounds->begun);
	assert_null(sender_rounds(NULL));
	assert_int_equal(sender_fd(sender), sender->fd);
	sender_go(sender);
	assert_called("send(order)\n");
	{
		enum order order = 0;

		assert_int_equal(
				recv(kept_end, &order, sizeof(order), MSG_DONTWAIT), sizeof(order));
		assert_int_equal(order, ORDER_GO);
	}
	sender_free(sender);
	sender_free(NULL);
	close_end();
	assert_int_equal(resources_descriptors(), before);
	assert_int_equal(nr_mapped, 0);
	for (size_t i = 0; i < 3; i++) {
		failing = calls_of_all[i];
		sender = NULL;
		assert_int_equal(sender_make(&definition, folder, false, NULL, NULL, 0, &sender),
				i < 2 ? -ENOMEM : -EMFILE);
		assert_null(sender);
		assert_called("");
	}
	fork_result = -1;
	assert_int_equal(sender_make(&definition, folder, false, NULL, NULL, 0, &sender), -EAGAIN);
	assert_null(sender);
	assert_called("fork\n");
	close_end();
	assert_int_equal(resources_descriptors(), before);
	assert_int_equal(nr_mapped, 0);
}

static void put_message(const struct sender_message *message, size_t size)
{
	assert_int_equal(send(kept_end, message, size, MSG_DONTWAIT), size);
}

static void test_hear(void **unused)
{
	struct sender_message message = {.kind = MESSAGE_SENTENCE, .text = "a sentence"};
	struct sender *sender = make();

	(void)unused;
	assert_true(sender_hear(sender, reported, me));
	assert_called("");
	put_message(&message, sizeof(message));
	memset(message.text, 'x', sizeof(message.text));
	put_message(&message, sizeof(message));
	message.kind = MESSAGE_STATUS;
	message.status.packets = 5;
	memset(message.status.why, 'y', sizeof(message.status.why));
	put_message(&message, sizeof(message));
	assert_true(sender_hear(sender, reported, me));
	assert_int_equal(
			strlen(calls), strlen("me: a sentence\nme: \n") + sizeof(message.text) - 1);
	assert_memory_equal(calls, "me: a sentence\nme: xxx", 22);
	*calls = '\0';
	assert_int_equal(sender->status.packets, 5);
	assert_int_equal(strlen(sender->status.why), sizeof(sender->status.why) - 1);
	put_message(&message, sizeof(message) - 1);
	assert_false(sender_hear(sender, reported, me));
	close_end();
	assert_false(sender_hear(sender, reported, me));
	assert_called("");
	sender_free(sender);
}

static void test_finish(void **unused)
{
	struct sender_message message = {.kind = MESSAGE_SENTENCE, .text = "last"};
	struct sender *sender = make();

	(void)unused;
	put_message(&message, sizeof(message));
	message.kind = MESSAGE_STATUS;
	put_message(&message, sizeof(message));
	message.status.over = true;
	put_message(&message, sizeof(message));
	message.status.over = false;
	put_message(&message, sizeof(message));
	sender_finish(sender, reported, me);
	assert_called("send(order)\nme: last\n");
	assert_true(sender->rounds->begun == UINT64_MAX && sender->status.over &&
			!sender->status.failed);
	/* The last message was not read. */
	assert_true(sender_hear(sender, reported, me));
	assert_false(sender->status.over);
	close_end();
	/* The process exits before it has sent everything. */
	sender_finish(sender, reported, me);
	assert_called("send(order)\n");
	assert_true(sender->status.failed && !sender->status.over);
	sender_free(sender);
}

#define BEGIN \
	"{\"to\":\"net://host\",\"pid\":4711,\"connected\":true,\"since\":2,\"why\":\"w\",\"packets\":3,\"bytes\":4,\"events\":5,\"pending\":6,\"pending-packets\":7,\"dropped-packets\":8,\"dropped-events\":9,\"dropped-bytes\":10,\"dropped-users\":[{\"uid\":21,\"packets\":22,\"events\":23,\"bytes\":24},{\"packets\":32,\"events\":33,\"bytes\":34}],\"connections\":11,\"over\":true,\"failed\":true}"

static void test_json(void **unused)
{
	struct sender *sender = make();
	struct json_object *json;
	unsigned int nr = 0;

	(void)unused;
	sender->status = (struct send_status){.connected = true,
			.since = 2,
			.why = "w",
			.packets = 3,
			.bytes = 4,
			.events = 5,
			.pending = 6,
			.pending_packets = 7,
			.dropped_packets = 8,
			.dropped_events = 9,
			.dropped_bytes = 10,
			.connections = 11,
			.over = true,
			.failed = true};
	sender->status.dropped_users[1] = (struct send_dropped){21, 22, 23, 24};
	sender->status.dropped_users[2] = (struct send_dropped){25, 0, 26, 27};
	sender->status.dropped_users[SEND_SPOOL_USERS - 1] = (struct send_dropped){31, 32, 33, 34};
	json = sender_json(sender);
	assert_non_null(json);
	assert_string_equal(
			json_object_to_json_string_ext(json,
					JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			BEGIN);
	json_object_put(json);
	for (bool is_due = true; is_due; nr++) {
		failing_json = nr + 1;
		json = sender_json(sender);
		is_due = !failing_json;
		assert_int_equal(!json, is_due);
		json_object_put(json);
		failing_json = 0;
	}
	assert_true(nr > 25);
	sender->status = (struct send_status){.packets = 0};
	json = sender_json(sender);
	assert_non_null(json);
	assert_string_equal(
			json_object_to_json_string_ext(json,
					JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			"{\"to\":\"net://host\",\"pid\":4711,\"connected\":false,\"packets\":0,\"bytes\":0,\"pending\":0,\"pending-packets\":0,\"dropped-packets\":0,\"dropped-events\":0,\"dropped-bytes\":0,\"dropped-users\":[],\"connections\":0,\"over\":false,\"failed\":false}");
	json_object_put(json);
	close_end();
	sender_free(sender);
}

/* ---- the sending process ---- */

#define GO "isolate(47)\nresolver(net://host)\n"

/* The exit of the process frees all of it. */
static void end_child(void)
{
	struct sender *sender = made;

	(void)played_munmap(sender->rounds, sizeof(*sender->rounds));
	free(sender);
	close(child_end);
	close_end();
}

/* Returns when the process exits. */
static __attribute__((noinline)) void make_child(
		const struct session_owner *of, const int *closing, size_t nr_closing)
{
	struct sender *sender = NULL;

	if (!setjmp(exited))
		(void)sender_make(&definition, folder, false, of, closing, nr_closing, &sender);
}

/* From the fork to the end of the connection. */
static void test_child(void **unused)
{
	static const int orders[] = {ORDER_FINISH, -EINTR, ORDER_GO, -EINTR, ORDER_FINISH, 0};
	static const int ready[] = {0, 1, 0, 1, -1, 1};
	unsigned int before = resources_descriptors();
	struct sender_message message;
	int closing[2] = {dup(2), dup(2)};
	char expected[1000];

	(void)unused;
	fork_result = 0;
	parent_process = getpid();
	script = orders;
	polls = ready;
	next_status = (struct send_status){.packets = 7};
	make_child(&owner, closing, 2);
	script = NULL;
	(void)snprintf(expected, sizeof(expected),
			"fork\nprctl(death)\nprctl(name)\n" GO
			"writable(%s)\nstart(net://host)\npoll 0\nstatus(8)\nsend(message)\npoll 1\nstatus(8)\npoll 0\nstatus(8)\npoll 1\nfinish(8)\nstatus(8)\npoll -1\nstatus(8)\npoll 1\nexit(0)\n",
			folder);
	assert_called(expected);
	assert_true(fcntl(closing[0], F_GETFD) < 0 && fcntl(closing[1], F_GETFD) < 0);
	/*
	 * This process has closed the other end: only its own is left, where no message can arrive.
	 */
	assert_true(recv(kept_end, &message, sizeof(message), MSG_DONTWAIT) <= 0);
	end_child();
	/* Its parent has exited. */
	parent_process = 1;
	make_child(&owner, NULL, 0);
	assert_called("fork\nprctl(death)\nexit(0)\n");
	close(parent_end);
	end_child();
	parent_process = getpid();
	failing = "isolate";
	make_child(NULL, NULL, 0);
	assert_called("fork\nprctl(death)\nprctl(name)\nisolate(-1)\nsay(cannot start the sending process for net://host)\nexit(0)\n");
	end_child();
	assert_int_equal(resources_descriptors(), before);
	assert_int_equal(nr_mapped, 0);
}

static struct sender_state begin_sending(int ends[2])
{
	struct sender_state sending = {.definition = &definition, .output = folder};

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	sending.fd = ends[1];
	return sending;
}

static void test_begin(void **unused)
{
	struct sender_message message;
	int ends[2];
	struct sender_state sending = begin_sending(ends);

	char sentence[ERROR_TEXT_SIZE];

	(void)unused;
	/* The longest sentence arrives whole. */
	memset(sentence, 's', sizeof(sentence) - 1);
	sentence[sizeof(sentence) - 1] = '\0';
	sender_send_sentence(&sending, true, sentence);
	assert_called("send(message)\n");
	assert_int_equal(recv(ends[0], &message, sizeof(message), MSG_DONTWAIT), sizeof(message));
	assert_string_equal(message.text, sentence);
	sending.options.url = "u";
	failing = "start";
	sender_start_send(&sending);
	assert_called("start(u)\nsend(message)\nsend(message)\n");
	assert_int_equal(recv(ends[0], &message, sizeof(message), MSG_DONTWAIT), sizeof(message));
	assert_int_equal(message.kind, MESSAGE_SENTENCE);
	assert_int_equal(strncmp(message.text, "cannot start: 000", 17), 0);
	assert_int_equal(recv(ends[0], &message, sizeof(message), MSG_DONTWAIT), sizeof(message));
	assert_true(message.kind == MESSAGE_STATUS && message.status.over && message.status.failed);
	assert_int_equal(strncmp(message.status.why, "cannot start: 000", 17), 0);
	assert_null(sending.send);
	sender_start_send(&sending);
	assert_true(installed == &sending.options && sending.send == (struct send *)(uintptr_t)8);
	assert_called("start(u)\n");
	/* The command to finish arrives before there is anything to finish. */
	sending.send = NULL;
	script = (const int[]){ORDER_FINISH, ORDER_GO};
	assert_false(take_order(&sending));
	assert_true(take_order(&sending));
	script = NULL;
	assert_called("");
	close(ends[0]);
	close(ends[1]);
}

static void test_options(void **unused)
{
	static const struct {
		uint64_t timeout_ns, timeout_ms, spool, has;
		bool names_output;
	} cases[] = {{0, 60000, 0, 1u << 30, false}, {1, 1, 0, 0, true}, {1999999, 1, 0, 0, true},
			{2000000, 2, 5, 5, true}, {7000000000, 7000, 6, 6, false}};
	struct send_rounds rounds;
	struct definition of = definition;
	struct sender_state sending = {.definition = &of, .output = "/out"};

	(void)unused;
	of.speed = 9600;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		of.send_timeout_ns = cases[i].timeout_ns;
		of.spool = cases[i].spool;
		of.output = cases[i].names_output ? (char *)(uintptr_t) "/o" : NULL;
		set_options(&sending, i & 1, &rounds);
		assert_int_equal(sending.options.timeout_ms, cases[i].timeout_ms);
		assert_int_equal(sending.options.spool, cases[i].has);
		assert_int_equal(sending.options.no_files, i & 1);
	}
	assert_string_equal(sending.options.dir, "/out");
	assert_string_equal(sending.options.url, "net://host");
	assert_string_equal(sending.options.fallback, "one");
	assert_true(sending.options.live && sending.options.marks &&
			sending.options.rounds == &rounds && sending.options.speed == 9600 &&
			sending.options.resolver == &sending.resolver &&
			sending.options.log_message == sender_send_sentence &&
			sending.options.user == &sending && !sending.options.session);
}

static void check_isolated(const char *to, bool no_files, const char *expected)
{
	struct definition of = {.to = (char *)(uintptr_t)to};
	struct sender_state sending = {.definition = &of, .output = "/out"};
	char text[300];

	assert_int_equal(isolate(&sending, no_files, &owner), 0);
	(void)snprintf(text, sizeof(text), "isolate(47)\nresolver(%s)\nwritable(/out)\n%s", to,
			expected);
	assert_called(text);
	assert_int_equal(sending.resolver, 9);
}

static void test_isolate(void **unused)
{
	unsigned int before = resources_descriptors();
	struct sender_state sending = {.definition = &definition, .output = "/out"};
	char path[64], expected[100];
	struct stat status;
	mode_t mask = umask(022);

	(void)unused;
	check_isolated("net://host", false, "");
	check_isolated("/dev/none-of-these", false, "writable(/dev)\n");
	check_isolated("/dev/null", false, "writable(/dev/null)\n");
	(void)snprintf(path, sizeof(path), "%s/file", folder);
	check_isolated(path, true, "writable(/dev)\n");
	assert_int_equal(access(path, F_OK), -1);
	(void)snprintf(expected, sizeof(expected), "writable(%s)\n", path);
	check_isolated(path, false, expected);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0644);
	check_isolated(path, true, expected);
	(void)umask(mask);
	assert_int_equal(unlink(path), 0);
	has_filter = false;
	check_isolated("net://host", false,
			"say(cannot install a filter of system calls in the sending process)\n");
	has_filter = true;
	failing = "isolate";
	assert_int_equal(isolate(&sending, false, &owner), -EPERM);
	assert_called("isolate(47)\n");
	failing = "resolver";
	assert_int_equal(isolate(&sending, false, &owner), -ENOBUFS);
	assert_called("isolate(47)\nresolver(net://host)\n");
	assert_int_equal(resources_descriptors(), before);
	assert_int_equal(nr_mapped, 0);
}

static void make_files(void)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "%s/sub", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/sub/file", folder);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(access(path, F_OK), 0);
}

static bool has_files(void)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "%s/sub", folder);
	assert_int_equal(access(folder, F_OK), 0);
	return !access(path, F_OK);
}

/* The files of a session that keeps no trace are removed after they were sent. */
static void test_status(void **unused)
{
	struct definition of = definition;
	struct send_status status = {.over = true};
	struct sender_message message;
	int ends[2];
	struct sender_state sending = begin_sending(ends);

	(void)unused;
	sending.definition = &of;
	make_files();
	of.output = (char *)(uintptr_t) "/o";
	for (int i = 0; i < 5; i++) {
		status = (struct send_status){.over = i != 1,
				.failed = i == 2,
				.pending = i == 3,
				.bytes = 100 + (uint64_t)i};
		if (i)
			of.output = NULL;
		sender_send_status_message(&sending, &status);
		assert_called("send(message)\n");
		assert_int_equal(recv(ends[0], &message, sizeof(message), MSG_DONTWAIT),
				sizeof(message));
		assert_true(message.kind == MESSAGE_STATUS && message.status.bytes == status.bytes);
		assert_int_equal(has_files(), i < 4);
		/* Only once. */
		sender_send_status_message(&sending, &status);
		assert_called("");
	}
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_make),
			cmocka_unit_test(test_hear),
			cmocka_unit_test(test_finish),
			cmocka_unit_test(test_json),
			cmocka_unit_test(test_begin),
			cmocka_unit_test(test_options),
			cmocka_unit_test(test_isolate),
			cmocka_unit_test(test_status),
			cmocka_unit_test(test_child),
	};
	int failed;

	alarm(50);
	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(folder);
	return failed;
}
