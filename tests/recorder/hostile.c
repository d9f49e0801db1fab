/* SPDX-License-Identifier: MIT */
/*
 * A hostile process that sends invalid messages to the recorder. Each verb returns 0 if the
 * recorder reacts as it must; the test then checks the session.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

#include "../check.h"
#include "abi/visit.h"
#include "protocol/protocol.h"

side_static_event(ev_good, "hostile", "good", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("value")));

/* The timeout of the test for an answer of the recorder, enough for a busy machine. */
#define ANSWER_MS 60000

static unsigned char message[WIRE_MESSAGE_MAX];

static int dial(void)
{
	const char *path = getenv(WIRE_SOCKET_ENV);

	CHECK(path);
	return wire_connect(path, wire_deadline(ANSWER_MS));
}

static int report(int fd, const void *bytes, size_t size)
{
	return wire_send(fd, bytes, size, NULL, 0, wire_deadline(ANSWER_MS));
}

/* Checks that the recorder closes the connection within its timeout. */
static void expect_end(int fd)
{
	ssize_t size = wire_receive(
			fd, message, sizeof(message), NULL, NULL, wire_deadline(ANSWER_MS));

	CHECK(size == 0 || size == -ECONNRESET);
	wire_close(fd);
}

static ssize_t hello_message(uint64_t token, const char *procname)
{
	struct wire_hello hello = {
			.pid = 1, /* wrong; the recorder uses the kernel's number */
			.parent = 1,
			.token = token,
			.word_size = sizeof(void *),
			.procname = procname,
			.exe = "/hostile\n/exe",
	};

	return wire_encode_hello(message, sizeof(message), &hello);
}

static void hear_channel(int fd)
{
	int fds[WIRE_FDS_MAX];
	size_t nr_fds = WIRE_FDS_MAX;
	struct wire_channel channel;
	uint32_t nr_rules;
	ssize_t size = wire_receive(
			fd, message, sizeof(message), fds, &nr_fds, wire_deadline(ANSWER_MS));

	CHECK(size > 0 && nr_fds == WIRE_CHANNEL_FDS);
	CHECK(!wire_decode_channel(message, (size_t)size, &channel) && channel.nr_rules == 1);
	wire_close(fds[0]);
	for (nr_rules = channel.nr_rules; nr_rules; nr_rules--) {
		struct wire_rule rule;

		size = wire_receive(
				fd, message, sizeof(message), NULL, NULL, wire_deadline(ANSWER_MS));
		CHECK(size > 0 && !wire_decode_rule(message, (size_t)size, &rule));
	}
}

static int introduce(uint64_t token, const char *procname)
{
	int fds[WIRE_FDS_MAX];
	size_t nr_fds = WIRE_FDS_MAX;
	struct wire_config config;
	uint32_t nr_channels;
	int fd = dial();
	ssize_t size = hello_message(token, procname);

	CHECK(fd >= 0 && size > 0);
	CHECK(!report(fd, message, (size_t)size));
	size = wire_receive(fd, message, sizeof(message), fds, &nr_fds, wire_deadline(ANSWER_MS));
	CHECK(size > 0 && nr_fds == 0);
	CHECK(!wire_decode_config(message, (size_t)size, &config) && config.accepted);
	for (nr_channels = config.nr_channels; nr_channels; nr_channels--)
		hear_channel(fd);
	return fd;
}

static int send_events(int fd, uint64_t token, uint32_t sequence, bool last, const void *bytes,
		size_t size)
{
	struct wire_events events = {
			.token = token,
			.sequence = sequence,
			.last = last,
			.bytes = bytes,
			.size = (uint32_t)size,
	};
	ssize_t length = wire_encode_events(message, sizeof(message), &events);

	CHECK(length > 0);
	return report(fd, message, (size_t)length);
}

/* Encodes a valid description with this id, as in the stream. */
static size_t good_kind(uint32_t id, unsigned char *out, size_t capacity)
{
	struct wire_event_head head = {.id = id};
	struct visit_buffer buffer;
	size_t size;

	visit_buffer_fixed(&buffer, out, capacity);
	CHECK(!visit_buffer_append(&buffer, &head, sizeof(head)));
	CHECK(!visit_description_encode(&ev_good, &buffer, NULL));
	head.size = (uint32_t)(buffer.size - sizeof(head));
	memcpy(out, &head, sizeof(head));
	size = buffer.size;
	visit_buffer_free(&buffer);
	return size;
}

static struct wire_ack hear_ack(int fd)
{
	struct wire_ack ack;
	ssize_t size = wire_receive(
			fd, message, sizeof(message), NULL, NULL, wire_deadline(ANSWER_MS));

	CHECK(size > 0);
	CHECK(!wire_decode_ack(message, (size_t)size, &ack));
	return ack;
}

/* ---- */

static void verb_garbage(void)
{
	static const char text[] = "GET / HTTP/1.0\r\n\r\n";
	int pipes[2];
	unsigned int i, k;
	int fd, ret;

	fd = dial();
	CHECK(!report(fd, text, sizeof(text)));
	expect_end(fd);
	for (i = 0; i < 300; i++) {
		fd = dial();
		CHECK(fd >= 0);
		for (k = 0; k < 100; k++)
			message[k] = (unsigned char)(rand() >> 7);
		/* Sometimes a valid header, so that the recorder also parses what follows. */
		if (i % 2) {
			ssize_t size = hello_message(i, "x");

			message[16 + (unsigned int)rand() % ((unsigned int)size - 16)] ^= 1;
			report(fd, message, (size_t)size);
		} else {
			report(fd, message, 100);
		}
		wire_close(fd);
	}
	/* Descriptors that the recorder does not expect. */
	CHECK(!pipe(pipes));
	fd = dial();
	ret = wire_send(fd, message, (size_t)hello_message(77, "x"), pipes, 2, wire_deadline(1000));
	/* Linux 6.16 and later refuse them for the recorder. */
	CHECK(!ret || ret == -EPERM);
	if (ret)
		wire_close(fd);
	else
		expect_end(fd);
	/* HELLO twice, and a message that only the recorder sends. */
	fd = introduce(5, "twice");
	CHECK(!report(fd, message, (size_t)hello_message(6, "twice")));
	expect_end(fd);
	fd = dial();
	CHECK(!report(fd, message,
			(size_t)wire_encode_ack(
					message, sizeof(message), &(struct wire_ack){.last = 1})));
	expect_end(fd);
}

/*
 * Many connections without a message: a valid process can still connect, and the recorder closes
 * the silent ones.
 */
static void verb_mute(void)
{
	int fds[400];
	unsigned int i;
	int status = 0;
	pid_t child;

	for (i = 0; i < 400; i++) {
		fds[i] = dial();
		CHECK(fds[i] >= 0);
	}
	child = fork();
	if (!child) {
		/* The agent has sent HELLO again in the fork handler. */
		side_event(ev_good, side_arg_list(side_arg_u32(4711)));
		_exit(0);
	}
	waitpid(child, &status, 0);
	CHECK(status == 0);
	expect_end(fds[0]);
	expect_end(fds[399]);
}

static void verb_names(void)
{
	int fd = introduce(9, "../../\033[31m bad\nname");
	unsigned char kind[4096];
	struct wire_ack ack;

	CHECK(!send_events(fd, 9, 0, true, kind, good_kind(0, kind, sizeof(kind))));
	ack = hear_ack(fd);
	CHECK(ack.accepted == 1 && ack.nr_refused == 0);
	wire_close(fd);
}

static void verb_kinds(void)
{
	static unsigned char stream[3 << 20];
	unsigned char kind[4096];
	size_t good = good_kind(7, kind, sizeof(kind));
	struct wire_event_head head;
	struct wire_ack ack;
	uint32_t sequence = 0;
	size_t size = 0, at;
	int fd = introduce(11, "kinds");

	/* In turn: valid, duplicate id, id too high, invalid, too large, valid. */
	memcpy(stream, kind, good);
	memcpy(stream + good, kind, good);
	size = 2 * good;
	size += good_kind(0xfffffff0, stream + size, sizeof(kind));
	head = (struct wire_event_head){.id = 8, .size = 100};
	memcpy(stream + size, &head, sizeof(head));
	memset(stream + size + sizeof(head), 0x5a, 100);
	size += sizeof(head) + 100;
	head = (struct wire_event_head){.id = 9, .size = 2u << 20};
	memcpy(stream + size, &head, sizeof(head));
	size += sizeof(head) + (2u << 20);
	size += good_kind(10, stream + size, sizeof(kind));
	for (at = 0; at < size; sequence++) {
		size_t part = size - at < 60001 ? size - at : 60001;

		CHECK(!send_events(fd, 11, sequence, at + part == size, stream + at, part));
		at += part;
	}
	ack = hear_ack(fd);
	CHECK(ack.last && ack.accepted == 2 && ack.nr_refused == 4);
	CHECK(wire_ack_at(&ack, 0).id == 7);
	CHECK(wire_ack_at(&ack, 0).reason == WIRE_REFUSAL_DUPLICATE_ID);
	CHECK(wire_ack_at(&ack, 1).reason == WIRE_REFUSAL_TOO_MANY);
	CHECK(wire_ack_at(&ack, 2).reason == WIRE_REFUSAL_MALFORMED);
	CHECK(wire_ack_at(&ack, 3).reason == WIRE_REFUSAL_TOO_LARGE);

	/* A piece out of order; an end within a description; the token of another process. */
	CHECK(!send_events(fd, 11, 3, true, kind, good));
	expect_end(fd);
	fd = introduce(12, "kinds");
	CHECK(!send_events(fd, 12, 0, true, kind, good - 1));
	expect_end(fd);
	fd = dial();
	CHECK(!send_events(fd, 999, 0, true, kind, good));
	expect_end(fd);
}

/* An entry of the stream with the given contexts, valid or not. */
static size_t kind_with(unsigned char *out, uint32_t id, uint16_t channel, uint16_t nr_contexts,
		const char *contexts, uint32_t contexts_size)
{
	unsigned char kind[4096];
	size_t good = good_kind(id, kind, sizeof(kind));
	struct wire_event_head head;

	memcpy(&head, kind, sizeof(head));
	head.channel = channel;
	head.nr_contexts = nr_contexts;
	head.contexts_size = contexts_size;
	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), contexts, contexts_size);
	memcpy(out + sizeof(head) + contexts_size, kind + sizeof(head), good - sizeof(head));
	return good + contexts_size;
}

/*
 * Needs two channels: events of existing and missing channels, and with known and unknown contexts.
 */
static void verb_channels(void)
{
	static unsigned char stream[1 << 20], many[70000];
	static const struct {
		uint32_t id;
		uint16_t channel, nr_contexts;
		const char *contexts;
		uint32_t contexts_size;
		uint32_t reason; /* 0: accepted */
	} kinds[] = {
			{7, 0, 0, "", 0, 0},
			{7, 1, 0, "", 0, 0}, /* each channel has ids of its own */
			{7, 1, 0, "", 0, WIRE_REFUSAL_DUPLICATE_ID},
			{8, 2, 0, "", 0, WIRE_REFUSAL_CHANNEL},
			{8, 65535, 0, "", 0, WIRE_REFUSAL_CHANNEL},
			{8, 0, 2, "vtid\0procname", 14, 0},
			{9, 0, 1, "nobody", 7, WIRE_REFUSAL_CONTEXT},
			{9, 0, 2, "vtid", 5, WIRE_REFUSAL_CONTEXT},
			{9, 0, 1, "vtid\0vpid", 10, WIRE_REFUSAL_CONTEXT},
			{9, 0, 1, "vtid", 4, WIRE_REFUSAL_CONTEXT},
			{9, 0, 0, "vtid", 5, WIRE_REFUSAL_CONTEXT},
			{9, 0, 65535, "vtid", 5, WIRE_REFUSAL_CONTEXT},
			{9, 0, 1, (const char *)many, 65537, WIRE_REFUSAL_TOO_LARGE},
			{10, 1, 1, "vtid", 5, 0},
	};
	uint32_t sequence = 0, refused = 0, i;
	size_t size = 0, at;
	struct wire_ack ack;
	int fd = introduce(21, "channels");

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		size += kind_with(stream + size, kinds[i].id, kinds[i].channel,
				kinds[i].nr_contexts, kinds[i].contexts, kinds[i].contexts_size);
	for (at = 0; at < size; sequence++) {
		size_t part = size - at < 1237 ? size - at : 1237;

		CHECK(!send_events(fd, 21, sequence, at + part == size, stream + at, part));
		at += part;
	}
	ack = hear_ack(fd);
	CHECK(ack.last);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct wire_refused one;

		if (!kinds[i].reason)
			continue;
		CHECK(refused < ack.nr_refused);
		one = wire_ack_at(&ack, refused++);
		CHECK(one.id == kinds[i].id && one.channel == kinds[i].channel);
		CHECK(one.reason == kinds[i].reason);
	}
	CHECK(refused == ack.nr_refused && ack.accepted == i - refused);
	wire_close(fd);
}

/* Flipped bits in a valid description: it may be refused, but the recorder must not exit. */
static void verb_flips(void)
{
	unsigned char kind[4096];
	uint32_t id;
	uint64_t token = 1000;
	int fd = introduce(token, "flips");

	for (id = 0; id < 2000; id++) {
		size_t size = good_kind(id, kind, sizeof(kind));
		unsigned int flips = 1 + (unsigned int)rand() % 3;

		while (flips--)
			kind[sizeof(struct wire_event_head) +
					(unsigned int)rand() %
							(size - sizeof(struct wire_event_head))] ^=
					(unsigned char)(1u << rand() % 8);
		CHECK(!send_events(fd, token, 0, true, kind, size));
		hear_ack(fd);
	}
	wire_close(fd);
}

/* One process that connects as many: each new one replaces the previous one. */
static void verb_many(void)
{
	uint64_t token;

	for (token = 1; token <= 500; token++)
		wire_close(introduce(token, "many"));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} verbs[] = {
			{"garbage", verb_garbage},
			{"mute", verb_mute},
			{"names", verb_names},
			{"kinds", verb_kinds},
			{"channels", verb_channels},
			{"flips", verb_flips},
			{"many", verb_many},
	};
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(argv[1], verbs[i].name)) {
			side_event(ev_good, side_arg_list(side_arg_u32(1)));
			verbs[i].run();
			return 0;
		}
	return 2;
}
