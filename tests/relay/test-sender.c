/* SPDX-License-Identifier: MIT */
/*
 * A sender of small traces: what arrives, each number of the status, each message, what a full
 * spool drops, where the next sender continues.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"
#include "relay/frame.h"
#include "relay/receive.h"
#include "relay/send.h"
#include "trace.h"

#define WAIT_MS 60000

static char root[] = "/tmp/side-sender-XXXXXX";
static char messages[4000];

static const char *path_of(const char *name)
{
	static char paths[4][300];
	static unsigned int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static void command(const char *text)
{
	assert_int_equal(setenv("ROOT", root, 1), 0);
	assert_int_equal(system(text), 0);
}

/* Called in the sender's thread; read after it has ended. */
static void report(void *user, bool is_error, const char *text)
{
	size_t used = strlen(messages);

	assert_ptr_equal(user, messages);
	(void)snprintf(messages + used, sizeof(messages) - used, "%s%s\n", is_error ? "" : "(",
			text);
}

static struct send_options options_of(const char *url)
{
	static char dir[300];

	(void)snprintf(dir, sizeof(dir), "%s/traces", root);
	*messages = '\0';
	return (struct send_options){
			.dir = dir, .url = url, .log_message = report, .user = messages};
}

static struct send_status send_all(const struct send_options *options)
{
	struct send_status status;
	struct error error;
	struct send *send;

	assert_int_equal(send_start(options, &send, &error), 0);
	assert_true(send_wait(send, WAIT_MS));
	send_stop(send, &status);
	assert_true(status.over);
	assert_false(status.connected);
	return status;
}

/* An empty packet, one of 10 events, and one of 7; the directory `traces` has one trace, `t`. */
static void make_trace(enum ctf_format format)
{
	struct ctf_writer *writer;
	struct ctf_stream *stream;
	struct error error;

	command("rm -rf $ROOT/* && mkdir $ROOT/traces");
	writer = trace_create(path_of("traces/t"), format);
	stream = trace_open_stream(writer, 3);
	trace_append(stream, 10, TRACE_TICK0 + 100, 0);
	trace_append(stream, 7, TRACE_TICK0 + 200, 2);
	assert_int_equal(ctf_writer_close(writer, &error), 0);
}

static uint64_t size_of(const char *name)
{
	struct stat status;

	assert_int_equal(stat(path_of(name), &status), 0);
	return (uint64_t)status.st_size;
}

static struct receive_summary receive_file(const char *name)
{
	const struct receive_options options = {.output = path_of("received")};
	static unsigned char bytes[1 << 20];
	struct receive_summary summary;
	struct receive_source *source;
	struct receive *receive;
	ssize_t got;
	int fd;

	command("rm -rf $ROOT/received; mkdir $ROOT/received");
	assert_int_equal(receive_create(&options, &receive), 0);
	source = receive_source_open(receive, false);
	fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		assert_int_equal(receive_bytes(source, bytes, (size_t)got), 0);
	close(fd);
	receive_source_close(source);
	receive_finish(receive, &summary);
	receive_destroy(receive);
	return summary;
}

static void check_status(const struct send_status *status, uint64_t packets, uint64_t bytes,
		uint64_t events, uint64_t pending, uint64_t pending_packets)
{
	assert_int_equal(status->packets, packets);
	assert_int_equal(status->bytes, bytes);
	assert_int_equal(status->events, events);
	assert_int_equal(status->pending, pending);
	assert_int_equal(status->pending_packets, pending_packets);
}

static void test_whole(void **unused)
{
	struct receive_summary summary;
	struct send_options options;
	struct send_status status;

	(void)unused;
	for (int format = 0; format < 2; format++) {
		make_trace(format ? CTF_FORMAT_2 : CTF_FORMAT_1);
		options = options_of(path_of("out"));
		status = send_all(&options);
		check_status(&status, 3, size_of("traces/t/ring_3"), 17, 0, 0);
		assert_int_equal(status.connections, 1);
		assert_false(status.failed);
		assert_int_equal(status.dropped_packets, 0);
		assert_true(status.since > 0);
		assert_string_equal(messages, "");
		assert_int_equal(access(path_of("traces/" SEND_MARKS), F_OK), -1);
		summary = receive_file("out");
		assert_int_equal(summary.sessions, 1);
		assert_int_equal(summary.unended, 0);
		assert_int_equal(summary.packets, 3);
		assert_int_equal(summary.events, 17);
		assert_int_equal(summary.lost_frames + summary.lost_packets + summary.lost_events +
						summary.garbage + summary.incomplete,
				0);
		command("cmp $ROOT/traces/t/metadata $ROOT/received/t/metadata && cmp $ROOT/traces/t/ring_3 $ROOT/received/t/ring_3");
	}
}

/* The name of the session, in the first frame. */
static void check_session(
		const char *session, const char *fallback, const char *dir, const char *expected)
{
	struct send_options options = options_of(path_of("out"));
	struct frame_reader reader;
	unsigned char bytes[2000];
	struct relay_frame frame;
	char name[300];
	size_t used;
	int fd;

	options.session = session;
	options.fallback = fallback;
	if (dir)
		options.dir = dir;
	(void)unlink(path_of("out"));
	(void)send_all(&options);
	fd = open(path_of("out"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(framing_find(bytes, (size_t)read(fd, bytes, sizeof(bytes)), &used, &frame),
			FRAME_WHOLE);
	close(fd);
	assert_int_equal(frame.type, FRAME_HELLO);
	assert_int_equal(frame.sequence, 0);
	reader = (struct frame_reader){frame.payload + 8, frame.payload + frame.size, false};
	framing_get_name(&reader, name, sizeof(name));
	framing_get_name(&reader, name, sizeof(name));
	assert_string_equal(name, expected);
}

static void test_names(void **unused)
{
	char longest[300];

	(void)unused;
	make_trace(CTF_FORMAT_1);
	check_session(NULL, NULL, NULL, "traces");
	check_session("", "fall back", NULL, "fall_back");
	check_session("-A.z_9-", "unused", NULL, "_A.z_9-");
	check_session(".x/.b", NULL, NULL, "_b");
	check_session("a/b//", NULL, NULL, "b");
	check_session("/", NULL, NULL, "side");
	check_session(NULL, NULL, path_of("traces/"), "traces");
	memset(longest, 'n', 299);
	longest[299] = '\0';
	longest[201] = '\0';
	check_session(longest, NULL, NULL, longest + 1);
	check_session(longest + 1, NULL, NULL, longest + 1);
	assert_int_equal(chdir(root), 0);
	check_session(NULL, NULL, "traces", "traces");
	assert_int_equal(chdir("/"), 0);
}

static void test_refused(void **unused)
{
	struct resources before;
	struct send_options options;
	struct error error;
	struct send *send, *other;
	char expected[600];
	int socket;

	(void)unused;
	make_trace(CTF_FORMAT_1);
	before = resources_now();
	for (int round = 0; round < 3; round++) {
		options = options_of("tcp://host");
		assert_int_equal(send_start(&options, &send, &error), -EINVAL);
		options = options_of(path_of("out"));
		options.dir = path_of("none");
		assert_int_equal(send_start(&options, &send, &error), -ENOENT);
		(void)snprintf(expected, sizeof(expected),
				"cannot read %s: No such file or directory", options.dir);
		assert_string_equal(error.text, expected);
		options.dir = path_of("traces/t/ring_3");
		assert_int_equal(send_start(&options, &send, &error), -ENOTDIR);
		(void)snprintf(expected, sizeof(expected), "cannot read %s: Not a directory",
				options.dir);
		assert_string_equal(error.text, expected);
		/* Two senders with marks. */
		options = options_of(path_of("out"));
		options.marks = options.live = true;
		assert_int_equal(send_start(&options, &send, &error), 0);
		assert_int_equal(send_start(&options, &other, &error), -EBUSY);
		assert_string_equal(error.text,
				"cannot start a sender: another sender is running there");
		assert_false(send_wait(send, 0));
		assert_false(send_wait(send, 1));
		send_stop(send, NULL);
		send_stop(NULL, NULL);
	}
	assert_int_equal(resources_now().descriptors, before.descriptors);
	/* Only addresses of hosts need a process that resolves names. */
	assert_int_equal(send_resolver(path_of("out"), &socket), 0);
	assert_int_equal(socket, -1);
	assert_int_equal(send_resolver("-", &socket), 0);
	assert_int_equal(socket, -1);
	assert_int_equal(send_resolver("tcp://host", &socket), -EINVAL);
	assert_int_equal(socket, -1);
	assert_int_equal(send_resolver("tcp://localhost:9", &socket), 0);
	assert_true(socket >= 0);
	close(socket);
	assert_int_equal(send_resolver("net://localhost", &socket), 0);
	assert_true(socket >= 0);
	close(socket);
}

/* Traces that are not sent. */
static void test_not_sent(void **unused)
{
	struct send_options options;
	struct send_status status;
	char expected[400];
	uint64_t size;

	(void)unused;
	make_trace(CTF_FORMAT_1);
	command("sed -i 's/tracer_name = \"[^\"]*\"/tracer_name = \"other\"/' $ROOT/traces/t/metadata");
	options = options_of(path_of("out"));
	status = send_all(&options);
	check_status(&status, 0, 0, 0, 0, 0);
	assert_true(status.failed);
	assert_string_equal(messages, "cannot send t: it was not recorded by side\n");
	make_trace(CTF_FORMAT_1);
	command("printf 'no metadata };\n\n' > $ROOT/traces/t/metadata");
	options = options_of(path_of("out"));
	status = send_all(&options);
	assert_true(status.failed);
	assert_string_equal(messages, "cannot send t: it was not recorded by side\n");
	/* The last packet is cut. */
	make_trace(CTF_FORMAT_1);
	size = size_of("traces/t/ring_3");
	assert_int_equal(truncate(path_of("traces/t/ring_3"), (off_t)size - 1), 0);
	options = options_of(path_of("out"));
	options.timeout_ms = 1;
	status = send_all(&options);
	assert_true(status.failed);
	assert_int_equal(status.packets, 2);
	assert_int_equal(status.events, 10);
	size -= 84 + 7 * TRACE_RECORD;
	assert_int_equal(status.bytes, size);
	(void)snprintf(expected, sizeof(expected),
			"cannot send the remainder of t/ring_3: no complete packet at byte %d\n",
			(int)size);
	assert_memory_equal(messages, expected, strlen(expected));
}

/* The next sender with the same address continues where the last one stopped. */
static void test_marks(void **unused)
{
	struct receive_summary summary;
	struct send_options options;
	struct send_status status;
	struct ctf_writer *writer;
	struct ctf_stream *stream;
	struct error error;
	uint64_t size;

	(void)unused;
	make_trace(CTF_FORMAT_1);
	options = options_of(path_of("out"));
	options.marks = true;
	status = send_all(&options);
	check_status(&status, 3, size_of("traces/t/ring_3"), 17, 0, 0);
	/* Existing marks are used without the option. */
	options.marks = false;
	status = send_all(&options);
	size = size_of("traces/t/ring_3");
	check_status(&status, 3, size, 17, 0, 0);
	assert_int_equal(status.connections, 2);
	writer = trace_create(path_of("traces/u"), CTF_FORMAT_1);
	stream = trace_open_stream(writer, 1);
	trace_append(stream, 5, TRACE_TICK0 + 9, 0);
	assert_int_equal(ctf_writer_close(writer, &error), 0);
	status = send_all(&options);
	check_status(&status, 5, size + size_of("traces/u/ring_1"), 22, 0, 0);
	assert_int_equal(status.connections, 3);
	assert_string_equal(messages, "");
	summary = receive_file("out");
	assert_int_equal(summary.sessions, 1);
	assert_int_equal(summary.packets, 5);
	assert_int_equal(summary.events, 22);
	assert_int_equal(summary.traces, 2);
	assert_int_equal(summary.lost_frames + summary.lost_packets + summary.lost_events +
					summary.incomplete,
			0);
	/* Another address has its own marks. */
	options = options_of(path_of("other"));
	options.marks = true;
	status = send_all(&options);
	check_status(&status, 5, size + size_of("traces/u/ring_1"), 22, 0, 0);
	assert_int_equal(status.connections, 1);
}

/* ---- the receiver cannot be reached ---- */

static char *closed_port(void)
{
	struct sockaddr_in address = {
			.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(address);
	static char url[60];

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	(void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%d", ntohs(address.sin_port));
	return url;
}

static void test_unreachable(void **unused)
{
	struct send_options options;
	struct send_status status;
	char expected[600];
	const char *port;
	uint64_t size;

	(void)unused;
	make_trace(CTF_FORMAT_1);
	size = size_of("traces/t/ring_3");
	options = options_of(closed_port());
	port = strrchr(options.url, ':') + 1;
	options.timeout_ms = 1;
	status = send_all(&options);
	check_status(&status, 0, 0, 0, size, 3);
	assert_true(status.failed);
	assert_int_equal(status.connections, 0);
	(void)snprintf(expected, sizeof(expected),
			"cannot reach 127.0.0.1, port %s: Connection refused", port);
	assert_string_equal(status.why, expected);
	(void)snprintf(expected, sizeof(expected),
			"(cannot reach 127.0.0.1, port %s: Connection refused; side tries again\n"
			"%d bytes were not delivered to %s: cannot reach 127.0.0.1, port %s: Connection refused\n",
			port, (int)size, options.url, port);
	assert_string_equal(messages, expected);
	/* The sender is stopped. */
	options = options_of(options.url);
	options.live = true;
	{
		struct error error;
		struct send *send;

		assert_int_equal(send_start(&options, &send, &error), 0);
		do {
			send_status(send, &status);
		} while (!*status.why);
		assert_false(status.over);
		assert_false(status.connected);
		send_stop(send, &status);
	}
	assert_true(status.over);
	assert_true(status.failed);
	check_status(&status, 0, 0, 0, size, 3);
	/* A path that cannot be written is final. */
	options = options_of(path_of("none/out"));
	status = send_all(&options);
	assert_true(status.failed);
	(void)snprintf(expected, sizeof(expected),
			"%d bytes were not delivered to %s: cannot write to %s: No such file or directory\n",
			(int)size, options.url, options.url);
	assert_string_equal(messages, expected);
}

/* The spool has space for the last packet only. */
static void test_spool(void **unused)
{
	const uint64_t last = 84 + 7 * TRACE_RECORD, second = 84 + 10 * TRACE_RECORD;
	struct send_options options;
	struct send_status status;
	char expected[300];

	(void)unused;
	for (int is_known = 0; is_known < 2; is_known++) {
		make_trace(CTF_FORMAT_1);
		if (is_known)
			command("echo 1234 > $ROOT/traces/t/" CTF_USER_FILE);
		options = options_of(closed_port());
		options.spool = last;
		options.timeout_ms = 1;
		status = send_all(&options);
		check_status(&status, 0, 0, 0, last, 1);
		assert_int_equal(status.dropped_packets, 2);
		assert_int_equal(status.dropped_events, 10);
		assert_int_equal(status.dropped_bytes, 84 + second);
		assert_int_equal(status.nr_dropped_users, is_known);
		assert_int_equal(status.dropped_users[is_known ? 0 : SEND_SPOOL_USERS - 1].packets,
				2);
		assert_int_equal(status.dropped_users[is_known ? 0 : SEND_SPOOL_USERS - 1].events,
				10);
		assert_int_equal(status.dropped_users[is_known ? 0 : SEND_SPOOL_USERS - 1].bytes,
				84 + second);
		if (is_known)
			(void)snprintf(expected, sizeof(expected),
					"\nthe spool is full: dropping the oldest packets of programs of user 1234 until %s accepts data\n",
					options.url);
		else
			(void)snprintf(expected, sizeof(expected),
					"\nthe spool is full: dropping the oldest packets until %s accepts data\n",
					options.url);
		assert_non_null(strstr(messages, expected));
		assert_null(strstr(strstr(messages, expected) + 2, "the spool is full"));
	}
	/* With one byte less, the last packet is dropped, too. */
	make_trace(CTF_FORMAT_1);
	options = options_of(closed_port());
	options.spool = last - 1;
	options.timeout_ms = 1;
	status = send_all(&options);
	check_status(&status, 0, 0, 0, 0, 0);
	assert_int_equal(status.dropped_packets, 3);
	assert_int_equal(status.dropped_events, 17);
	assert_int_equal(status.dropped_bytes, 84 + second + last);
	/*
	 * The reverse case: after delivery, a full spool releases the space and removes the trace.
	 */
	make_trace(CTF_FORMAT_1);
	options = options_of(path_of("out"));
	options.spool = 1;
	status = send_all(&options);
	check_status(&status, 3, 84 + second + last, 17, 0, 0);
	assert_int_equal(status.dropped_packets, 0);
	assert_int_equal(access(path_of("traces/t"), F_OK), -1);
}

/* A trace is removed while a receiver is away. */
static void test_removed(void **unused)
{
	struct send_options options;
	struct send_status status;
	struct error error;
	struct send *send;
	char expected[400];
	uint64_t size;

	(void)unused;
	make_trace(CTF_FORMAT_1);
	size = size_of("traces/t/ring_3");
	options = options_of(closed_port());
	options.live = true;
	assert_int_equal(send_start(&options, &send, &error), 0);
	do {
		send_status(send, &status);
	} while (status.pending != size);
	command("rm -r $ROOT/traces/t");
	send_finish(send);
	do {
		send_status(send, &status);
	} while (status.pending);
	assert_true(status.failed);
	send_stop(send, &status);
	(void)snprintf(expected, sizeof(expected),
			"%d bytes of t were removed before they were delivered\n", (int)size);
	assert_non_null(strstr(messages, expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_whole),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_refused),
			cmocka_unit_test(test_not_sent),
			cmocka_unit_test(test_marks),
			cmocka_unit_test(test_unreachable),
			cmocka_unit_test(test_spool),
			cmocka_unit_test(test_removed),
	};
	int failed;

	if (!mkdtemp(root))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	command("rm -rf $ROOT");
	return failed;
}
