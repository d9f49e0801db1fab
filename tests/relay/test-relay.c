/* SPDX-License-Identifier: MIT */
/*
 * Commands to a relay daemon, as which the test acts: each byte of them, what each answer changes,
 * and each refusal.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"
#include "relay/sink.h"
#include "trace.h"

#define COMMANDS_MAX 64
#define HEAD 24
#define DATA_HEAD 32

enum command {
	ADD_STREAM = 1,
	CREATE_SESSION = 2,
	VERSION = 5,
	SEND_METADATA = 6,
	CLOSE_STREAM = 7,
	DATA_PENDING = 8,
	SEND_INDEX = 13,
	STREAMS_SENT = 16,
};

/* ---- a relay daemon ---- */

static int control_listener, data_listener, control, data;
static pthread_t daemon_thread;
static uint32_t major_version, answer_code;
static enum command refused_command,
		/*
		 * The daemon refuses one command, and closes the connection instead of an answer to
		 * the other.
		 */
		closing_command;
static uint32_t pending;
static uint64_t next_handle;
/* Written by the daemon's thread, read after it has answered or ended. */
static struct relay_command {
	uint32_t number;
	size_t size;
	unsigned char payload[9000];
} commands[COMMANDS_MAX];
static unsigned int nr_commands;

static int listen_at(char port[16])
{
	struct sockaddr_in address = {
			.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(address);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	(void)snprintf(port, 16, "%d", ntohs(address.sin_port));
	return fd;
}

static uint32_t code_of(enum command number)
{
	return htobe32(number == refused_command ? 11 : answer_code);
}

static void answer(uint32_t number)
{
	struct {
		uint64_t handle;
		uint32_t code;
	} __attribute__((packed)) handle = {htobe64(next_handle), code_of(number)};
	const uint32_t version[2] = {htobe32(major_version), htobe32(10)}, code = code_of(number);
	const uint32_t waits = htobe32(pending);

	switch (number) {
	case VERSION: (void)!write(control, version, sizeof(version)); break;
	case ADD_STREAM: next_handle++; /* fall through */
	case CREATE_SESSION: (void)!write(control, &handle, sizeof(handle)); break;
	case SEND_METADATA: break;
	case DATA_PENDING: (void)!write(control, &waits, sizeof(waits)); break;
	default: (void)!write(control, &code, sizeof(code));
	}
}

static void *serve(void *unused)
{
	unsigned char head[HEAD];

	(void)unused;
	control = accept4(control_listener, NULL, NULL, SOCK_CLOEXEC);
	data = accept4(data_listener, NULL, NULL, SOCK_CLOEXEC);
	while (recv(control, head, HEAD, MSG_WAITALL) == HEAD) {
		struct relay_command *command = &commands[nr_commands % COMMANDS_MAX];
		uint64_t size;

		memcpy(&size, head + 8, 8);
		memcpy(&command->number, head + 16, 4);
		command->number = be32toh(command->number);
		command->size = be64toh(size);
		if (command->size > sizeof(command->payload))
			abort();
		if (command->size)
			(void)recv(control, command->payload, command->size, MSG_WAITALL);
		nr_commands++;
		if (command->number == closing_command) {
			shutdown(control, SHUT_RDWR);
			break;
		}
		answer(command->number);
	}
	return NULL;
}

/* ---- the sink ---- */

static char root[] = "/tmp/side-relay-XXXXXX";
static struct sink *sink;
static struct error send_error;
static struct follow follow;
static struct follow_trace trace;
static struct follow_stream streams[2];
static struct ctf_writer *writer;

static void make_sink(void)
{
	sink = relay_create();
	assert_non_null(sink);
	assert_int_equal(sink->watch_fd, -1);
	assert_true(sink->ops->ctf1_only);
	assert_false(sink->ops->counts);
	assert_false(sink->ops->replaces);
	sink->session = "web";
	sink->timeout.stop_fd = -1;
	sink->url.kind = URL_RELAY;
	strcpy(sink->url.host, "127.0.0.1");
	memset(&send_error, 0, sizeof(send_error));
	control_listener = listen_at(sink->url.port);
	data_listener = listen_at(sink->url.data_port);
	nr_commands = 0;
	major_version = 2;
	answer_code = 10;
	refused_command = closing_command = 0;
	pending = 0;
	next_handle = 500;
	assert_int_equal(pthread_create(&daemon_thread, NULL, serve, NULL), 0);
}

static void end_daemon(void)
{
	sink->ops->close(sink);
	assert_int_equal(sink->watch_fd, -1);
	assert_int_equal(pthread_join(daemon_thread, NULL), 0);
	close(control);
	close(data);
	close(control_listener);
	close(data_listener);
}

static void free_sink(void)
{
	end_daemon();
	sink->ops->free(sink);
}

static uint64_t be64_at(const unsigned char *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return be64toh(number);
}

static uint32_t be32_at(const unsigned char *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return be32toh(number);
}

static const unsigned char *command_at(unsigned int index, enum command number, size_t size)
{
	assert_true(index < nr_commands);
	assert_int_equal(commands[index].number, number);
	assert_int_equal(commands[index].size, size);
	return commands[index].payload;
}

/* Checks web-DATE-TIME, and the part after it. */
static void check_path(const unsigned char *path, const char *end)
{
	char host[65] = "", expected[200];
	size_t size;

	gethostname(host, sizeof(host) - 1);
	(void)snprintf(expected, sizeof(expected), "%s/web-", host);
	size = strlen(expected);
	assert_memory_equal(path, expected, size);
	for (int i = 0; i < 15; i++)
		assert_true(i == 8 ? path[size + 8] == '-'
				   : path[size + i] >= '0' && path[size + i] <= '9');
	assert_string_equal((const char *)path + size + 15, end);
}

static void test_sessions(void **unused)
{
	static const unsigned char zeros[255];
	const unsigned char *payload;
	char host[65] = "";

	(void)unused;
	gethostname(host, sizeof(host) - 1);
	make_sink();
	assert_int_equal(sink->ops->open(sink, &send_error), 0);
	assert_true(sink->watch_fd >= 0);
	assert_int_equal(nr_commands, 2);
	payload = command_at(0, VERSION, 8);
	assert_int_equal(be32_at(payload), 2);
	assert_int_equal(be32_at(payload + 4), 10);
	payload = command_at(1, CREATE_SESSION, 255 + 64 + 8);
	assert_string_equal((const char *)payload, "web");
	assert_memory_equal(payload + 4, zeros, 251);
	assert_string_equal((const char *)payload + 255, host);
	assert_int_equal(be32_at(payload + 319), 1000000);
	assert_int_equal(be32_at(payload + 323), 0);
	free_sink();
}

static void refuse_session(uint32_t version, enum command refused, unsigned int count)
{
	char expected[200];

	make_sink();
	major_version = version;
	refused_command = refused;
	assert_int_equal(sink->ops->open(sink, &send_error), -EPROTO);
	(void)snprintf(expected, sizeof(expected),
			"the relay daemon at 127.0.0.1, port %s, does not create a session: the peer speaks another protocol",
			sink->url.port);
	assert_string_equal(send_error.text, expected);
	assert_int_equal(sink->watch_fd, -1);
	assert_int_equal(nr_commands, count);
	free_sink();
}

static void test_sessions_refused(void **unused)
{
	struct resources before;
	char expected[200], port[16];
	int fd;

	(void)unused;
	refuse_session(1, 0, 1);
	before = resources_now();
	refuse_session(3, 0, 1);
	refuse_session(2, CREATE_SESSION, 2);
	/* No daemon at either port. */
	for (int i = 0; i < 2; i++) {
		sink = relay_create();
		sink->timeout.stop_fd = -1;
		strcpy(sink->url.host, "127.0.0.1");
		fd = listen_at(port);
		close(listen_at(sink->url.data_port));
		strcpy(sink->url.port, i ? port : sink->url.data_port);
		assert_int_equal(sink->ops->open(sink, &send_error), -ECONNREFUSED);
		(void)snprintf(expected, sizeof(expected),
				"cannot reach 127.0.0.1, port %s: Connection refused",
				sink->url.data_port);
		assert_string_equal(send_error.text, expected);
		sink->ops->free(sink);
		close(fd);
	}
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

/* ---- streams of a trace ---- */

static void make_trace(void)
{
	static char path[100];

	(void)snprintf(path, sizeof(path), "%s/t", root);
	memset(&follow, 0, sizeof(follow));
	memset(&trace, 0, sizeof(trace));
	memset(streams, 0, sizeof(streams));
	writer = trace_create(path, CTF_FORMAT_1);
	trace.path = path;
	trace.name = (char *)(uintptr_t) "t";
	trace.counter = ctf_counter_create();
	assert_int_equal(ctf_counter_renew(trace.counter, path), 0);
	trace.streams = &streams[0];
	streams[0].next = &streams[1];
	follow.traces = &trace;
	for (uint32_t i = 0; i < 2; i++) {
		streams[i].trace = &trace;
		streams[i].plain = (char *)(uintptr_t)(i ? "ring_1" : "ring_0");
		streams[i].header_size = 84;
	}
}

static void free_trace(void)
{
	struct error error;
	char command[100];

	ctf_counter_free(trace.counter);
	assert_int_equal(ctf_writer_close(writer, &error), 0);
	(void)snprintf(command, sizeof(command), "rm -rf %s/*", root);
	assert_int_equal(system(command), 0);
}

static void open_sink(void)
{
	make_trace();
	make_sink();
	assert_int_equal(sink->ops->open(sink, &send_error), 0);
	sink->connections++;
	nr_commands = 0;
}

static void meet_both(void)
{
	assert_int_equal(sink->ops->meet(sink, &streams[0]), 0);
	assert_int_equal(sink->ops->meet(sink, &streams[1]), 0);
	trace.sent_metadata = 1;
	nr_commands = 0;
}

static void test_streams(void **unused)
{
	static const unsigned char zeros[16];
	const unsigned char *payload;
	char name[265];

	(void)unused;
	open_sink();
	assert_int_equal(sink->ops->meet(sink, &streams[1]), 0);
	assert_int_equal(nr_commands, 3);
	payload = command_at(0, ADD_STREAM, 264 + 4096 + 16);
	assert_string_equal((const char *)payload, "metadata");
	check_path(payload + 264, "/ust/pid/t");
	assert_memory_equal(payload + 264 + 4096, zeros, 16);
	payload = command_at(1, ADD_STREAM, 264 + 4096 + 16);
	assert_string_equal((const char *)payload, "ring_1");
	check_path(payload + 264, "/ust/pid/t");
	(void)command_at(2, STREAMS_SENT, 0);
	assert_true(trace.announced);
	assert_int_equal(trace.handle, 500);
	assert_int_equal(streams[1].handle, 501);
	/* The second stream: the trace is known. */
	assert_int_equal(sink->ops->meet(sink, &streams[0]), 0);
	assert_int_equal(nr_commands, 5);
	assert_int_equal(streams[0].handle, 502);
	/* The longest name of a stream, and one more character. */
	memset(name, 'n', 264);
	name[263] = '\0';
	streams[0].plain = name;
	assert_int_equal(sink->ops->meet(sink, &streams[0]), 0);
	assert_int_equal(nr_commands, 7);
	name[263] = 'n';
	name[264] = '\0';
	assert_int_equal(sink->ops->meet(sink, &streams[0]), -ENAMETOOLONG);
	assert_int_equal(nr_commands, 7);
	streams[0].plain = (char *)(uintptr_t) "ring_0";
	/* The longest name of a trace. */
	trace.name = malloc(5000);
	memset(trace.name, 'n', 5000);
	trace.name[4095 - strlen((const char *)command_at(1, ADD_STREAM, 264 + 4096 + 16) + 264) +
			1] = '\0';
	assert_int_equal(sink->ops->meet(sink, &streams[0]), 0);
	assert_int_equal(strlen((const char *)commands[7].payload + 264), 4095);
	strcat(trace.name, "n");
	assert_int_equal(sink->ops->meet(sink, &streams[0]), -ENAMETOOLONG);
	free(trace.name);
	free_sink();
	free_trace();
	/*
	 * Refused: the command for the metadata, for the stream, and the message that all streams
	 * were added.
	 */
	for (int i = 0; i < 2; i++) {
		open_sink();
		refused_command = i ? STREAMS_SENT : ADD_STREAM;
		assert_int_equal(sink->ops->meet(sink, &streams[0]), -EPROTO);
		assert_int_equal(nr_commands, i ? 3 : 1);
		assert_false(trace.announced);
		free_sink();
		free_trace();
	}
	/* On the second connection: another directory. */
	open_sink();
	end_daemon();
	sink->ops->free(sink);
	make_sink();
	sink->connections = 1;
	assert_int_equal(sink->ops->open(sink, &send_error), 0);
	sink->connections = 2;
	assert_int_equal(sink->ops->meet(sink, &streams[0]), 0);
	check_path(command_at(2, ADD_STREAM, 264 + 4096 + 16) + 264, "-2/ust/pid/t");
	free_sink();
	free_trace();
}

/* Checks a text of packets with at most 4,059 bytes each. */
static void check_metadata(
		unsigned int index, uint64_t handle, size_t size, const unsigned char uuid[16])
{
	const size_t most = 4096 - 37, nr = (size + most - 1) / most;
	const unsigned char *payload = command_at(index, SEND_METADATA, 12 + size + nr * 37);
	size_t done = 0;

	assert_int_equal(be64_at(payload), handle);
	assert_int_equal(be32_at(payload + 8), 0);
	payload += 12;
	for (size_t i = 0; i < nr; i++) {
		size_t piece = size - done < most ? size - done : most;
		uint32_t bits[2], magic;

		memcpy(&magic, payload, 4);
		assert_int_equal(magic, 0x75d11d57);
		assert_memory_equal(payload + 4, uuid, 16);
		memcpy(bits, payload + 24, 8);
		assert_int_equal(bits[0], (piece + 37) * 8);
		assert_int_equal(bits[1], (piece + 37) * 8);
		assert_memory_equal(payload + 32, ((unsigned char[]){0, 0, 0, 1, 8}), 5);
		for (size_t j = 0; j < piece; j++)
			assert_int_equal(payload[37 + j], 'a' + (done + j) % 23);
		payload += 37 + piece;
		done += piece;
	}
}

static void test_metadata(void **unused)
{
	const unsigned char *payload;
	unsigned char own[16], stored[16];
	char text[8200], uuid_text[60];

	(void)unused;
	open_sink();
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
	assert_int_equal(sink->ops->text(sink, &trace, true, text, 10), 0);
	assert_int_equal(sink->ops->text(sink, &trace, false, text, 10), -EAGAIN);
	meet_both();
	memcpy(stored, ctf_counter_trace(trace.counter)->uuid, 16);
	assert_int_equal(sink->ops->text(sink, &trace, false, text, 4059), 0);
	assert_int_equal(sink->ops->text(sink, &trace, false, text, 4060), 0);
	/* The next command is answered after both have arrived. */
	assert_int_equal(sink->ops->meet(sink, &streams[0]), 0);
	check_metadata(0, 500, 4059, stored);
	check_metadata(1, 500, 4060, stored);
	/* Without its classes. */
	ctf_counter_free(trace.counter);
	trace.counter = ctf_counter_create();
	assert_int_equal(sink->ops->text(sink, &trace, false, text, 10), -ENOMEM);
	assert_int_equal(ctf_counter_renew(trace.counter, trace.path), 0);
	/*
	 * On the second connection, the trace has its own UUID, also at the beginning of the text.
	 */
	sink->connections = 2;
	strcpy(text, "uuid = \"");
	for (int i = 0; i < 16; i++)
		(void)snprintf(text + strlen(text), 5, "%s%02x",
				i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", stored[i]);
	strcpy(uuid_text, text);
	nr_commands = 0;
	assert_int_equal(sink->ops->text(sink, &trace, false, text, 50), 0);
	trace.sent_metadata = 0;
	assert_int_equal(sink->ops->text(sink, &trace, false, text, 50), 0);
	assert_int_equal(sink->ops->meet(sink, &streams[0]), 0);
	assert_string_equal(text, uuid_text);
	payload = command_at(0, SEND_METADATA, 12 + 37 + 50);
	memcpy(own, payload + 12 + 4, 16);
	assert_memory_not_equal(own, stored, 16);
	assert_memory_equal(payload + 12 + 37, uuid_text, strlen(uuid_text));
	payload = command_at(1, SEND_METADATA, 12 + 37 + 50);
	assert_memory_equal(payload + 12 + 4, own, 16);
	assert_memory_equal(payload + 12 + 37, "uuid = \"", 8);
	assert_memory_not_equal(payload + 12 + 37, uuid_text, strlen(uuid_text));
	free_sink();
	free_trace();
}

/* ---- packets ---- */

static unsigned char packet_bytes[300];

static struct ctf_packet packet_of(uint32_t stream, size_t size)
{
	struct ctf_packet packet = {.bytes = packet_bytes,
			.capacity = sizeof(packet_bytes),
			.class_id = 7 + stream,
			.instance = 20 + stream,
			.begin = 3000 + stream,
			.end = 3500 + stream,
			.sequence = 60 + stream,
			.discarded = 40 + stream};

	memcpy(packet.uuid, ctf_counter_trace(trace.counter)->uuid, 16);
	ctf_packet_make_empty(&packet, size);
	return packet;
}

static void check_index(unsigned int index, uint64_t handle, uint64_t number, size_t size,
		const uint64_t values[6])
{
	const unsigned char *payload = command_at(index, SEND_INDEX, 80);

	assert_int_equal(be64_at(payload), handle);
	assert_int_equal(be64_at(payload + 8), number);
	assert_int_equal(be64_at(payload + 16), size * 8);
	assert_int_equal(be64_at(payload + 24), size * 8);
	for (int i = 0; i < 6; i++)
		assert_int_equal(be64_at(payload + 32 + 8 * i), values[i]);
}

static struct ctf_packet check_data(uint64_t handle, uint64_t number, size_t size)
{
	static unsigned char bytes[400];
	struct ctf_packet packet = {.bytes = bytes + DATA_HEAD, .size = size};

	assert_int_equal(recv(data, bytes, DATA_HEAD + size, MSG_WAITALL), DATA_HEAD + size);
	assert_int_equal(be64_at(bytes), 0);
	assert_int_equal(be64_at(bytes + 8), handle);
	assert_int_equal(be64_at(bytes + 16), number);
	assert_int_equal(be32_at(bytes + 24), size);
	assert_int_equal(be32_at(bytes + 28), 0);
	assert_int_equal(ctf_packet_parse(&packet), 0);
	return packet;
}

static int put_packet(uint32_t stream, size_t size)
{
	const struct ctf_packet packet = packet_of(stream, size);

	return sink->ops->packet(sink, &streams[stream], &packet, 5);
}

static void test_packets(void **unused)
{
	struct ctf_packet packet;

	(void)unused;
	open_sink();
	meet_both();
	streams[1].dropped_events = 30;
	assert_int_equal(put_packet(1, 100), 0);
	assert_int_equal(streams[1].sent, 1);
	assert_int_equal(streams[1].reported_dropped, 30);
	check_index(0, 502, 0, 100, (uint64_t[]){3001, 3501, 41, 8, 21, 61});
	packet = check_data(502, 0, 100);
	assert_memory_equal(packet.uuid, ctf_counter_trace(trace.counter)->uuid, 16);
	assert_int_equal(packet.sequence, 61);
	/* After two that were added. */
	streams[1].added = 2;
	assert_int_equal(put_packet(1, 120), 0);
	check_index(1, 502, 1, 120, (uint64_t[]){3001, 3501, 41, 8, 21, 63});
	packet = check_data(502, 1, 120);
	assert_int_equal(packet.sequence, 63);
	/* The index is refused. */
	refused_command = SEND_INDEX;
	assert_int_equal(put_packet(1, 100), -EPROTO);
	assert_int_equal(streams[1].sent, 2);
	(void)check_data(502, 2, 100);
	refused_command = 0;
	/* Its own UUID. */
	sink->connections = 2;
	assert_int_equal(put_packet(1, 100), 0);
	packet = check_data(502, 2, 100);
	assert_memory_not_equal(packet.uuid, ctf_counter_trace(trace.counter)->uuid, 16);
	assert_memory_equal(packet.uuid, trace.identity.own, 16);
	free_sink();
	free_trace();
}

/*
 * The first packet of a stream is empty: it gets the time up to which everything was sent, in ticks
 * or in nanoseconds.
 */
static void test_first_packets(void **unused)
{
	const int64_t second = 1000000000, origin = 1600000000 * second;
	static const struct {
		bool in_ticks;
		int64_t before;
		uint64_t time; /* of the packet, which is from 3000 to 3000 */
	} cases[] = {
			{true, 0, 3000},
			{true, 3000, 3000},
			{true, 3001, 3001},
			{true, INT64_MAX, 3000},
			/* Two ticks a nanosecond, less an offset of 50. */
			{false, 1525, 3000},
			{false, 1526, 3002},
			{false, -1, 3000},
	};
	struct ctf_packet packet;

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		open_sink();
		meet_both();
		sink->in_ticks = cases[i].in_ticks;
		sink->before = cases[i].before + (cases[i].in_ticks ? 0 : origin);
		packet = packet_of(0, 84);
		ctf_packet_set_times(&packet, 3000, 3000);
		assert_int_equal(sink->ops->packet(sink, &streams[0], &packet, 0), 0);
		check_index(0, 501, 0, 84,
				(uint64_t[]){cases[i].time, cases[i].time, 40, 7, 20, 60});
		packet = check_data(501, 0, 84);
		assert_int_equal(packet.begin, cases[i].time);
		/*
		 * The second packet keeps its time, and so does one with records, or with a
		 * duration.
		 */
		sink->before = 5000;
		sink->in_ticks = true;
		for (int j = 0; j < 3; j++) {
			streams[0].sent = j == 0;
			packet = packet_of(0, 84 + (j == 1));
			ctf_packet_set_times(&packet, 3000, 3000 + (j == 2));
			assert_int_equal(sink->ops->packet(sink, &streams[0], &packet, 0), 0);
			packet = check_data(501, j == 0, 84 + (j == 1));
			assert_int_equal(packet.begin, 3000);
			assert_int_equal(packet.end, 3000 + (j == 2));
		}
		free_sink();
		free_trace();
	}
}

static bool may_go(uint32_t stream, uint64_t end)
{
	struct ctf_packet packet = packet_of(stream, 84);

	packet.end = end;
	return sink->ops->may_go(sink, &streams[stream], &packet);
}

static void test_order(void **unused)
{
	struct ctf_packet packet;

	(void)unused;
	open_sink();
	sink->in_ticks = true;
	sink->horizon = INT64_MAX;
	assert_false(may_go(0, 5));
	meet_both();
	assert_true(may_go(0, 5));
	trace.sent_metadata = 0;
	assert_false(may_go(0, 5));
	trace.sent_metadata = 1;
	sink->horizon = 4000;
	assert_true(may_go(0, 4000));
	assert_false(may_go(0, 4001));
	sink->horizon = 0;
	assert_true(may_go(0, 4001));
	/*
	 * An empty packet reports the progress of the first stream that has sent a packet, with the
	 * time before.
	 */
	sink->before = 3600;
	streams[1].sent = 4;
	streams[1].added = 2;
	streams[1].reported_dropped = 100;
	streams[1].last = packet_of(1, 84);
	assert_int_equal(sink->ops->remind(sink, &follow), 0);
	assert_int_equal(streams[1].added, 3);
	check_index(0, 502, 4, 84, (uint64_t[]){3600, 3600, 141, 8, 21, 64});
	packet = check_data(502, 4, 84);
	assert_int_equal(packet.sequence, 64);
	assert_int_equal(packet.begin, 3600);
	/* Not before the last packet; not without a time; not for a trace that is complete. */
	sink->before = 3500;
	assert_int_equal(sink->ops->remind(sink, &follow), 0);
	sink->before = 0;
	assert_int_equal(sink->ops->remind(sink, &follow), 0);
	sink->before = 3600;
	trace.done = true;
	assert_int_equal(sink->ops->remind(sink, &follow), 0);
	assert_int_equal(nr_commands, 1);
	trace.done = false;
	sink->before = 3501;
	assert_int_equal(sink->ops->remind(sink, &follow), 0);
	assert_int_equal(nr_commands, 2);
	sink->ops->on_advanced(sink, &streams[1]);
	assert_int_equal(nr_commands, 2);
	free_sink();
	free_trace();
}

/* ---- acknowledgements, keep-alives, ends ---- */

static void test_pending(void **unused)
{
	const unsigned char *payload;

	(void)unused;
	open_sink();
	meet_both();
	for (uint32_t i = 0; i < 2; i++) {
		streams[i].sent = 4 + i;
		streams[i].at = (struct marks_position){100 + i, 5, 6};
	}
	pending = 1;
	assert_int_equal(sink->ops->flush(sink, &follow, false), 0);
	assert_int_equal(nr_commands, 2);
	for (uint32_t i = 0; i < 2; i++) {
		payload = command_at(i, DATA_PENDING, 16);
		assert_int_equal(be64_at(payload), 501 + i);
		assert_int_equal(be64_at(payload + 8), 3 + i);
		assert_int_equal(streams[i].delivered.offset, 0);
	}
	assert_int_equal(sink->ops->flush(sink, &follow, true), 0);
	assert_int_equal(nr_commands, 4);
	pending = 0;
	streams[0].sent = 0;
	assert_int_equal(sink->ops->flush(sink, &follow, false), 0);
	assert_int_equal(nr_commands, 5);
	assert_memory_equal(&streams[1].delivered, &streams[1].at, sizeof(streams[1].at));
	assert_int_equal(streams[0].delivered.offset, 0);
	/* All has arrived, or the trace is complete. */
	assert_int_equal(sink->ops->flush(sink, &follow, true), 0);
	streams[0].sent = 1;
	trace.done = true;
	assert_int_equal(sink->ops->flush(sink, &follow, true), 0);
	assert_int_equal(nr_commands, 5);
	trace.done = false;
	/* The daemon has closed the connection. */
	assert_int_equal(shutdown(control, SHUT_WR), 0);
	streams[0].sent = 0;
	assert_int_equal(sink->ops->flush(sink, &follow, false), -ECONNRESET);
	streams[0].sent = 1;
	assert_int_equal(sink->ops->flush(sink, &follow, false), -ECONNRESET);
	free_sink();
	free_trace();
}

static void test_signs_of_life(void **unused)
{
	(void)unused;
	open_sink();
	meet_both();
	sink->in_ticks = true;
	sink->horizon = 4000;
	streams[0].sent = 1;
	streams[0].last = packet_of(0, 84);
	streams[0].last.end = 3999;
	streams[0].at.offset = streams[0].size = 50;
	assert_int_equal(sink->ops->beat(sink, &follow), 0);
	assert_int_equal(nr_commands, 1);
	check_index(0, 501, UINT64_MAX, 0, (uint64_t[]){4000, 4000, 0, 7, 20, 0});
	assert_int_equal(streams[0].beaten, 4000);
	/* Once for each time. */
	assert_int_equal(sink->ops->beat(sink, &follow), 0);
	sink->horizon = 4001;
	streams[0].last.end = 4001;
	assert_int_equal(sink->ops->beat(sink, &follow), 0);
	streams[0].last.end = 4000;
	streams[0].size = 51;
	assert_int_equal(sink->ops->beat(sink, &follow), 0);
	streams[0].size = 50;
	trace.done = true;
	assert_int_equal(sink->ops->beat(sink, &follow), 0);
	trace.done = false;
	trace.announced = false;
	assert_int_equal(sink->ops->beat(sink, &follow), 0);
	trace.announced = true;
	sink->horizon = 0;
	assert_int_equal(sink->ops->beat(sink, &follow), 0);
	assert_int_equal(nr_commands, 1);
	sink->horizon = 4001;
	assert_int_equal(sink->ops->beat(sink, &follow), 0);
	assert_int_equal(nr_commands, 2);
	refused_command = SEND_INDEX;
	sink->horizon = 4002;
	assert_int_equal(sink->ops->beat(sink, &follow), -EPROTO);
	free_sink();
	free_trace();
}

static void check_close(unsigned int index, uint64_t handle, uint64_t last)
{
	const unsigned char *payload = command_at(index, CLOSE_STREAM, 16);

	assert_int_equal(be64_at(payload), handle);
	assert_int_equal(be64_at(payload + 8), last);
}

static void test_ends(void **unused)
{
	struct ctf_packet packet;

	(void)unused;
	open_sink();
	/* The daemon does not know the stream. */
	assert_int_equal(sink->ops->end_trace(sink, &trace), 0);
	assert_int_equal(nr_commands, 0);
	meet_both();
	streams[0].sent = 6;
	streams[1].sent = 8;
	streams[1].seen = true;
	streams[1].added = 2;
	streams[1].dropped_events = 33;
	streams[1].last = packet_of(1, 84);
	assert_int_equal(sink->ops->end_trace(sink, &trace), 0);
	assert_int_equal(nr_commands, 4);
	check_close(0, 501, 5);
	check_index(1, 502, 8, 84, (uint64_t[]){3501, 3501, 41 + 33, 8, 21, 61 + 3});
	packet = check_data(502, 8, 84);
	assert_int_equal(packet.discarded, 74);
	check_close(2, 502, 8);
	check_close(3, 500, UINT64_MAX);
	/* Reported already; an unknown stream. */
	streams[0].handle = 0;
	assert_int_equal(sink->ops->end_trace(sink, &trace), 0);
	assert_int_equal(nr_commands, 6);
	check_close(4, 502, 8);
	check_close(5, 500, UINT64_MAX);
	refused_command = CLOSE_STREAM;
	assert_int_equal(sink->ops->end_trace(sink, &trace), -EPROTO);
	assert_int_equal(nr_commands, 7);
	streams[1].dropped_events++;
	refused_command = SEND_INDEX;
	assert_int_equal(sink->ops->end_trace(sink, &trace), -EPROTO);
	assert_int_equal(nr_commands, 8);
	assert_int_equal(sink->ops->end(sink, &follow), 0);
	free_sink();
	free_trace();
}

/*
 * The daemon closes the connection instead of an answer: the error is that of the connection, not
 * of the protocol.
 */
static void test_closed(void **unused)
{
	static const enum command first[] = {VERSION, CREATE_SESSION},
				  later[] = {ADD_STREAM, STREAMS_SENT};

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		make_sink();
		closing_command = first[i];
		assert_int_equal(sink->ops->open(sink, &send_error), -ECONNRESET);
		assert_int_equal(nr_commands, i + 1);
		free_sink();
		open_sink();
		closing_command = later[i];
		assert_int_equal(sink->ops->meet(sink, &streams[0]), -ECONNRESET);
		assert_false(trace.announced);
		free_sink();
		free_trace();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_sessions),
			cmocka_unit_test(test_sessions_refused),
			cmocka_unit_test(test_closed),
			cmocka_unit_test(test_streams),
			cmocka_unit_test(test_metadata),
			cmocka_unit_test(test_packets),
			cmocka_unit_test(test_first_packets),
			cmocka_unit_test(test_order),
			cmocka_unit_test(test_pending),
			cmocka_unit_test(test_signs_of_life),
			cmocka_unit_test(test_ends),
	};
	int failed;

	(void)signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(root))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(root);
	return failed;
}
