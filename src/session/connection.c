/* SPDX-License-Identifier: MIT */
/*
 * What an agent says, and the answers. The kernel says who speaks (SO_PEERCRED): only our own user
 * and root are heard, and only the process itself may add to its instance. Whoever breaks the
 * protocol or takes too long is cut off, which costs nobody but itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/parts.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* An acknowledgement fits the socket's buffer unless the other side does not read. */
#define ACK_TIMEOUT_MS 100

static void connection_close(struct session *session, struct connection *connection)
{
	struct connection **at = &session->connections;

	while (*at != connection)
		at = &(*at)->next;
	*at = connection->next;
	session->nr_connections--;
	close(connection->watch.fd);
	free(connection->part);
	free(connection->refused);
	free(connection);
}

/* Who is at the other end? False: nobody we listen to. */
static bool is_welcome(int fd, pid_t *peer)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size))
		return false;
	*peer = cred.pid;
	return cred.pid > 0 && (cred.uid == geteuid() || cred.uid == 0);
}

/* All places taken: whoever has said nothing for the longest time goes. */
static void evict(struct session *session)
{
	struct connection *connection, *oldest = NULL;

	for (connection = session->connections; connection; connection = connection->next)
		if (!connection->instance)
			oldest = connection; /* the list is youngest first */
	if (oldest)
		connection_close(session, oldest);
}

void connection_accept(struct session *session)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct connection *connection;
	pid_t peer;
	int fd = accept4(session->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (session->nr_connections >= LIMIT_CONNECTIONS)
		evict(session);
	connection = calloc(1, sizeof(*connection));
	if (!connection || session->nr_connections >= LIMIT_CONNECTIONS || !is_welcome(fd, &peer))
		goto fail;
	connection->watch = (struct watch){.kind = WATCH_CONNECTION, .fd = fd};
	connection->peer = peer;
	connection->hello_deadline = wire_deadline(LIMIT_HELLO_MS);
	connection->deadline = wire_deadline(LIMIT_CONNECTION_MS);
	event.data.ptr = &connection->watch;
	if (epoll_ctl(session->epoll, EPOLL_CTL_ADD, fd, &event))
		goto fail;
	connection->next = session->connections;
	session->connections = connection;
	session->nr_connections++;
	return;
fail:
	free(connection);
	close(fd);
}

/* ---- HELLO ---- */

/* The kernel's handle of the process at the other end, which waits for us and so still lives. */
static int open_pidfd(const struct connection *connection)
{
	socklen_t size = sizeof(int);
	int fd;

	if (!getsockopt(connection->watch.fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) &&
			size == sizeof(int))
		return fd;
	return (int)syscall(SYS_pidfd_open, connection->peer, 0);
}

/* A client reads them at once; more than this in its socket's buffer is not our fault. */
#define CONFIG_TIMEOUT_MS 100

static int send_part(
		struct session *session, const struct connection *connection, ssize_t size, int fd)
{
	if (size < 0)
		return (int)size;
	return wire_send(connection->watch.fd, session->message, (size_t)size, &fd, fd >= 0,
			wire_deadline(CONFIG_TIMEOUT_MS));
}

static int send_config(struct session *session, const struct connection *connection,
		const struct instance *instance, const char *reason, int ring_fd)
{
	struct wire_channel channel = {.name = "ring", .nr_rules = 1};
	struct wire_rule rule = {
			.nr_patterns = session->nr_patterns, .patterns = session->patterns};
	struct wire_config config = {
			.accepted = instance != NULL,
			.reason = instance ? "" : reason,
			.flags = session->mode == SESSION_LIST ? WIRE_CONFIG_LIST_ONLY : 0,
	};
	int ret;

	if (instance) {
		config.instance = instance->number;
		config.clock = session->clock;
		config.max_events = LIMIT_EVENTS;
		config.max_description = LIMIT_DESCRIPTION;
		config.max_payload = (uint32_t)ring_payload_max(instance->geometry.size);
		config.nr_channels = ring_fd >= 0;
		config.frequency = session->ctf_clock.frequency;
		config.offset_s = session->ctf_clock.offset_s;
		config.offset = session->ctf_clock.offset;
		channel.ring_memory = instance->memory;
	}
	ret = send_part(session, connection,
			wire_encode_config(session->message, WIRE_MESSAGE_MAX, &config),
			ring_fd >= 0 ? session->doorbell_fd : -1);
	if (!ret && config.nr_channels)
		ret = send_part(session, connection,
				wire_encode_channel(session->message, WIRE_MESSAGE_MAX, &channel),
				ring_fd);
	if (!ret && config.nr_channels)
		ret = send_part(session, connection,
				wire_encode_rule(session->message, WIRE_MESSAGE_MAX, &rule), -1);
	return ret;
}

static int handle_hello(struct session *session, struct connection *connection, size_t size)
{
	struct wire_hello hello;
	const char *reason = NULL;
	struct instance *instance;
	int pidfd, ring_fd, ret;

	if (connection->instance || wire_decode_hello(session->message, size, &hello))
		return -EPROTO;
	pidfd = open_pidfd(connection);
	if (pidfd < 0)
		return -ESRCH;
	instance = instance_create(session, &hello, connection->peer, pidfd, &ring_fd, &reason);
	if (!instance) {
		char *name = instance_clean_name(hello.procname);

		report(session, true, "process %d (%s) is not recorded: %s", (int)connection->peer,
				name ? name : "?", reason);
		free(name);
	}
	ret = send_config(session, connection, instance, reason, ring_fd);
	if (ring_fd >= 0)
		close(ring_fd);
	if (!instance)
		return -ECONNREFUSED;
	connection->instance = instance;
	if (ret)
		instance_end(session, instance);
	return ret;
}

/* ---- EVENTS ---- */

static bool refuse(struct connection *connection, const struct wire_event_head *head,
		enum wire_refusal reason)
{
	if (connection->nr_refused == connection->room_refused) {
		uint32_t room = connection->room_refused ? connection->room_refused * 2 : 64;
		struct wire_refused *refused;

		if (room > 2 * LIMIT_EVENTS)
			return false;
		refused = realloc(connection->refused, room * sizeof(*refused));
		if (!refused)
			return false;
		connection->refused = refused;
		connection->room_refused = room;
	}
	connection->refused[connection->nr_refused++] = (struct wire_refused){
			.id = head->id, .channel = head->channel, .reason = (uint16_t)reason};
	return true;
}

static bool append_part(struct connection *connection, const unsigned char *bytes, size_t size)
{
	if (connection->part_size + size > connection->part_room) {
		size_t room = (connection->part_size + size) * 2;
		unsigned char *part = realloc(connection->part, room);

		if (!part)
			return false;
		connection->part = part;
		connection->part_room = room;
	}
	memcpy(connection->part + connection->part_size, bytes, size);
	connection->part_size += size;
	return true;
}

static size_t least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

/* Deal with the description that is complete in `part`, or with its head. False: out of memory. */
static bool take_part(struct session *session, struct connection *connection)
{
	enum wire_refusal refusal;
	struct wire_event_head head;

	memcpy(&head, connection->part, sizeof(head));
	if (head.size > LIMIT_DESCRIPTION || head.contexts_size > WIRE_EVENT_CONTEXTS_BYTES_MAX) {
		connection->skip = (uint64_t)head.contexts_size + head.size;
		connection->part_size = 0;
		return refuse(connection, &head, WIRE_REFUSAL_TOO_LARGE);
	}
	if (connection->part_size < sizeof(head) + head.contexts_size + head.size)
		return true;
	if (head.channel)
		refusal = WIRE_REFUSAL_CHANNEL;
	else if (head.contexts_size || head.nr_contexts)
		refusal = WIRE_REFUSAL_CONTEXT;
	else
		refusal = instance_add_kind(session, connection->instance, head.id,
				connection->part + sizeof(head), head.size);
	connection->part_size = 0;
	if (!refusal)
		connection->accepted++;
	return !refusal || refuse(connection, &head, refusal);
}

/* Cut the stream into descriptions. */
static int take_stream(struct session *session, struct connection *connection,
		const struct wire_events *events)
{
	const unsigned char *bytes = events->bytes;
	size_t left = events->size;

	while (left) {
		struct wire_event_head head;
		size_t wanted, part;

		if (connection->skip) {
			part = least(connection->skip, left);
			connection->skip -= part;
			bytes += part;
			left -= part;
			continue;
		}
		wanted = sizeof(head);
		if (connection->part_size >= sizeof(head)) {
			memcpy(&head, connection->part, sizeof(head));
			wanted += (size_t)head.contexts_size + head.size;
		}
		part = least(wanted - connection->part_size, left);
		if (!append_part(connection, bytes, part))
			return -ENOMEM;
		bytes += part;
		left -= part;
		if (connection->part_size >= sizeof(head) && !take_part(session, connection))
			return -ENOMEM;
	}
	return 0;
}

static int send_acks(struct session *session, struct connection *connection)
{
	uint64_t deadline = wire_deadline(ACK_TIMEOUT_MS);
	uint32_t sent = 0;

	do {
		uint32_t nr = connection->nr_refused - sent;
		struct wire_ack ack = {0};
		ssize_t size;
		int ret;

		ack.nr_refused = nr < WIRE_ACK_REFUSALS_MAX ? nr : WIRE_ACK_REFUSALS_MAX;
		if (ack.nr_refused)
			ack.refused = connection->refused + sent;
		sent += ack.nr_refused;
		ack.last = sent == connection->nr_refused;
		ack.accepted = ack.last ? connection->accepted : 0;
		size = wire_encode_ack(session->message, WIRE_MESSAGE_MAX, &ack);
		if (size < 0)
			return (int)size;
		ret = wire_send(connection->watch.fd, session->message, (size_t)size, NULL, 0,
				deadline);
		if (ret)
			return ret;
	} while (sent < connection->nr_refused);
	return 0;
}

static void report_refusals(struct session *session, const struct connection *connection)
{
	const struct instance *instance = connection->instance;
	uint32_t i;

	for (i = 0; i < connection->nr_refused && i < 5; i++)
		report(session, true, "event %u of process %d (%s) is not recorded: %s",
				connection->refused[i].id, (int)instance->peer, instance->procname,
				wire_refusal_text(connection->refused[i].reason));
	if (i < connection->nr_refused)
		report(session, true, "%u more events of process %d (%s) are not recorded",
				connection->nr_refused - i, (int)instance->peer,
				instance->procname);
}

static int handle_events(struct session *session, struct connection *connection, size_t size)
{
	struct wire_events events;
	int ret;

	if (wire_decode_events(session->message, size, &events))
		return -EPROTO;
	if (!connection->instance)
		connection->instance = instance_find(session, events.token, connection->peer);
	if (!connection->instance || connection->instance->token != events.token ||
			events.sequence != connection->sequence)
		return -EPROTO;
	connection->sequence++;
	ret = take_stream(session, connection, &events);
	if (ret || !events.last)
		return ret;
	if (connection->part_size || connection->skip)
		return -EPROTO;
	report_refusals(session, connection);
	ret = send_acks(session, connection);
	connection->sequence = connection->accepted = connection->nr_refused = 0;
	/* The next batch on the first connection has its own time. */
	connection->deadline = wire_deadline(LIMIT_CONNECTION_MS);
	return ret;
}

/* ---- */

static int handle_bye(struct session *session, struct connection *connection, size_t size)
{
	struct wire_bye bye;

	if (wire_decode_bye(session->message, size, &bye) || !connection->instance ||
			connection->instance->token != bye.token)
		return -EPROTO;
	connection->instance->listed = true;
	return -ECONNRESET;
}

static int handle(struct session *session, struct connection *connection)
{
	ssize_t size = wire_receive(
			connection->watch.fd, session->message, WIRE_MESSAGE_MAX, NULL, NULL, 0);

	if (size == -EAGAIN)
		return 0;
	if (size <= 0)
		return -ECONNRESET;
	switch (wire_message_type(session->message, (size_t)size)) {
	case WIRE_HELLO: return handle_hello(session, connection, (size_t)size);
	case WIRE_EVENTS: return handle_events(session, connection, (size_t)size);
	case WIRE_BYE: return handle_bye(session, connection, (size_t)size);
	default: return -EPROTO;
	}
}

void connection_readable(struct session *session, struct connection *connection)
{
	if (handle(session, connection))
		connection_close(session, connection);
}

void connections_expire(struct session *session)
{
	struct connection *connection, *next;
	uint64_t now = wire_deadline(0);

	for (connection = session->connections; connection; connection = next) {
		next = connection->next;
		if (now > connection->deadline ||
				(!connection->instance && now > connection->hello_deadline))
			connection_close(session, connection);
	}
}

void connections_close(struct session *session)
{
	while (session->connections)
		connection_close(session, session->connections);
}
