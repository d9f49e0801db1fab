/* SPDX-License-Identifier: MIT */
/*
 * A live session and the programs that it records, in one process and one thread: the test plays
 * the programs.
 */
#ifndef TESTS_RECORDER_PLAYED_H
#define TESTS_RECORDER_PLAYED_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <side/trace.h>

#include "../check.h"
#include "ring/ring.h"
#include "recorder/core/live.h"
#include "abi/visit.h"
#include "protocol/protocol.h"

#define PLAYED_TURNS 64
#define PLAYED_LENGTH 256

side_static_event(played_event, "played", "value", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("value")));

struct played {
	int fd;
	uint64_t token;
	struct wire_config config; /* the last one received; `reason` is in `text` */
	char text[256];
	struct ring_producer *rings[WIRE_CHANNELS_MAX];
};

static unsigned char played_message[WIRE_MESSAGE_MAX];
static uint32_t played_pid = 4711;
static char played_work[] = "/tmp/side-played-XXXXXX";

static inline int played_remove_one(
		const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static inline void played_remove(const char *path)
{
	if (!access(path, F_OK))
		CHECK(!nftw(path, played_remove_one, 16, FTW_DEPTH | FTW_PHYS));
}

static inline const char *played_path(const char *name)
{
	static char paths[8][PLAYED_LENGTH];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, PLAYED_LENGTH, "%s/%s", played_work, name);
	return path;
}

static inline void played_begin(void)
{
	CHECK(mkdtemp(played_work));
}

static inline void played_end(void)
{
	played_remove(played_work);
}

static inline int played_send(int fd, ssize_t size)
{
	CHECK(size > 0);
	return wire_send(fd, played_message, (size_t)size, NULL, 0, 0);
}

/*
 * Returns the size of the next message, 0 after the end of the connection, or -EAGAIN if none came
 * within some turns.
 */
static inline ssize_t played_hear(struct session *session, int fd, int *ring_fd)
{
	ssize_t size = -EAGAIN;

	for (int turn = 0; turn < PLAYED_TURNS && size == -EAGAIN; turn++) {
		struct error error;
		int fds[WIRE_FDS_MAX];
		size_t nr = WIRE_FDS_MAX;

		size = wire_receive(fd, played_message, sizeof(played_message), fds, &nr, 0);
		if (size > 0 && nr) {
			CHECK(nr == 1 && ring_fd);
			*ring_fd = fds[0];
		}
		if (size == -EAGAIN)
			(void)session_turn(session, 0, &error);
	}
	return size == -ECONNRESET ? 0 : size;
}

/* Connects to the session. The session has the other end. */
static inline int played_connect(struct session *session)
{
	int ends[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	session_take_connection(session, ends[1]);
	return ends[0];
}

/* Reads CONFIG, CHANNEL and RULE. False: refused, or the connection ended. */
static inline bool played_hear_config(struct session *session, struct played *played)
{
	ssize_t size = played_hear(session, played->fd, NULL);
	uint32_t rules;

	played->config.accepted = false;
	played->text[0] = 0;
	if (size <= 0)
		return false;
	CHECK(!wire_decode_config(played_message, (size_t)size, &played->config));
	snprintf(played->text, sizeof(played->text), "%s", played->config.reason);
	for (uint32_t i = 0; i < played->config.nr_channels; i++) {
		struct wire_channel channel;
		struct wire_rule rule;
		int fd = -1;

		size = played_hear(session, played->fd, &fd);
		if (size <= 0)
			return false;
		CHECK(!wire_decode_channel(played_message, (size_t)size, &channel));
		CHECK(channel.index == i);
		if (fd >= 0) {
			CHECK(!ring_producer_map(fd, &played->rings[i]));
			close(fd);
		}
		for (rules = channel.nr_rules; rules; rules--) {
			size = played_hear(session, played->fd, NULL);
			if (size <= 0)
				return false;
			CHECK(!wire_decode_rule(played_message, (size_t)size, &rule));
			CHECK(rule.channel == i);
		}
	}
	return played->config.accepted;
}

static inline void played_close(struct played *played)
{
	if (played->fd >= 0)
		close(played->fd);
	played->fd = -1;
	for (uint32_t i = 0; i < WIRE_CHANNELS_MAX; i++)
		if (played->rings[i])
			ring_producer_unmap(played->rings[i]);
	memset(played->rings, 0, sizeof(played->rings));
}

static inline bool played_hello(struct session *session, struct played *played,
		const char *procname, uint64_t token, uint32_t features)
{
	const struct wire_hello hello = {.pid = played_pid,
			.parent = 42,
			.token = token,
			.word_size = sizeof(void *),
			.features = features,
			.control = WIRE_CONTROL_THREAD,
			.procname = procname,
			.exe = "/bin/played"};

	*played = (struct played){.fd = played_connect(session), .token = token};
	(void)played_send(played->fd,
			wire_encode_hello(played_message, sizeof(played_message), &hello));
	return played_hear_config(session, played);
}

/* Encodes an entry of EVENTS for `played_event`. Returns its size. */
static inline size_t played_kind(
		unsigned char *bytes, size_t space, uint32_t channel, uint32_t id, const char *name)
{
	struct wire_event_head head = {.channel = (uint16_t)channel, .id = id};
	struct side_event_description description = played_event;
	struct visit_buffer buffer;

	side_ptr_set(description.event_name, name);
	visit_buffer_fixed(&buffer, bytes, space);
	CHECK(!visit_buffer_append(&buffer, &head, sizeof(head)));
	CHECK(!visit_description_encode(&description, &buffer, NULL));
	head.size = (uint32_t)(buffer.size - sizeof(head));
	memcpy(bytes, &head, sizeof(head));
	space = buffer.size;
	visit_buffer_free(&buffer);
	return space;
}

/* Returns the answer; false: the connection ended. */
static inline bool played_describe(struct session *session, const struct played *played,
		uint32_t channel, uint32_t id, const char *name, struct wire_ack *ack)
{
	unsigned char kind[1024];
	const struct wire_events events = {.token = played->token,
			.last = true,
			.bytes = kind,
			.size = (uint32_t)played_kind(kind, sizeof(kind), channel, id, name)};
	ssize_t size;

	(void)played_send(played->fd,
			wire_encode_events(played_message, sizeof(played_message), &events));
	size = played_hear(session, played->fd, NULL);
	return size > 0 && !wire_decode_ack(played_message, (size_t)size, ack);
}

static inline int played_emit(
		const struct played *played, uint32_t channel, uint32_t id, uint32_t value)
{
	return ring_publish(played->rings[channel], id, &value, sizeof(value));
}

#endif
